"""Implements the `tokenize` command."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from pyunitok.cli.arguments import SAMPLE, SHARD, SIZE, model_option, parse_separator
from pyunitok.cli.export_options import export_options
from pyunitok.cli.report import Listener, report_dtype, report_formats, report_left_out, report_survey
from pyunitok.cli.sections import Sectioned
from pyunitok.disk.reports import check_report, write_report
from pyunitok.export import FORMATS
from pyunitok.export import Options as ExportOptions
from pyunitok.job import Job
from pyunitok.run.options import CHOICES, TokenizeOptions
from pyunitok.tokens.model import open_model

SECTIONS = {
    "Inputs": "include exclude max-line on-error metadata",
    "Ids": "eod dtype sample verify",
    "Several machines": "shard ray unit keep-parts",
    "Export options":
        "format name copy keep-tokens val-fraction shard-tokens eot shards token-dtype rename-ids",
    "Rarely needed": "block verify-resume spool stats-json",
}  # fmt: skip


@click.command(cls=Sectioned, sections=SECTIONS)
@click.argument("inputs", metavar="IN...", nargs=-1, required=True)
@click.option(
    "-o", "--out", metavar="OUT", required=True,
    help="The path or URL of the token file to write, with OUT.ends and OUT.json.",
)  # fmt: skip
@model_option
@click.option(
    "--input-format", type=click.Choice(CHOICES["input_format"]), default="auto", show_default=True,
    help="auto infers the format from the file name or the first bytes.",
)  # fmt: skip
@click.option(
    "--text-key", default="text", show_default=True,
    help="JSONL, Parquet: the field with the text; a.b is field b of a; a\\.b is the field 'a.b'.",
)  # fmt: skip
@click.option(
    "--doc", "separator", default="file", show_default=True, metavar="file|line|SEPARATOR",
    callback=lambda _context, _option, doc: parse_separator(doc),
    help="Text: how to split files into documents; a separator may contain \\n, \\t, \\xHH, ….",
)  # fmt: skip
@click.option("--threads", type=click.IntRange(1), help="Number of threads; by default, one per core.")
@click.option(
    "--max-memory", "max_memory_bytes", type=SIZE, default="1G", show_default=True,
    help="Memory for text, decompressed frames and unwritten ids.",
)  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Start over and replace OUT if it exists.")
@click.option("--dry-run", is_flag=True, help="Show what would be read and written without writing anything.")
@click.option(
    "--include", metavar="PATTERN", multiple=True,
    help="In directories, read only files matching PATTERN, such as '*.md'. May be repeated.",
)  # fmt: skip
@click.option(
    "--exclude", metavar="PATTERN", multiple=True,
    help="In directories, skip files matching PATTERN by name or path suffix, such as 'tests/*.txt'. May be repeated.",
)  # fmt: skip
@click.option(
    "--max-line", "max_line_bytes", type=SIZE, default="256M", show_default=True, help="JSONL: maximum line length."
)
@click.option(
    "--on-error", type=click.Choice(CHOICES["on_error"]), default="raise", show_default=True,
    help="Stop at a bad line, or skip it, list it in OUT.errors.jsonl and exit with 3. skip-file also skips damaged"
    " files.",
)  # fmt: skip
@click.option("--metadata", is_flag=True, help="Save each document's file, line and JSON fields in OUT.meta.jsonl.zst.")
@click.option(
    "--eod", metavar="ID|none", help="The id after each document; by default, the model's eod.",
    callback=lambda _context, _option, eod: parse_eod(eod),
)  # fmt: skip
@click.option(
    "--dtype", type=click.Choice(CHOICES["dtype"]), default="auto", show_default=True,
    help="Type of the ids; auto: uint16 if every id of the model fits, otherwise uint32.",
)  # fmt: skip
@click.option(
    "--sample", type=SAMPLE, metavar="alpha=A,seed=S",
    help="Sample a segmentation of each document. Also: nbest=N, method=lattice|viterbi|dropout.",
)  # fmt: skip
@click.option("--verify", is_flag=True, help="Decode each block and compare the result with its text.")
@click.option(
    "--shard", type=SHARD, metavar="I/N",
    help="Tokenize shard I of N, counted from 0, into OUT.I-of-N, for `pyunitok merge`.",
)  # fmt: skip
@click.option(
    "--ray", metavar="auto|local|ADDRESS",
    help="Run on a Ray cluster whose machines share IN and OUT. --threads is per task; by default, 1.",
)  # fmt: skip
@click.option("--unit", "unit_bytes", type=SIZE, help="With --ray: bytes of input per task.")
@click.option("--keep-parts", is_flag=True, help="With --ray: leave the parts in OUT.parts, for `pyunitok merge`.")
@click.option(
    "--format", type=click.Choice(list(FORMATS)), metavar="TOOL",
    help=f"Export OUT for {', '.join(FORMATS)}.",
)  # fmt: skip
@export_options
@click.option("--keep-tokens", is_flag=True, help="With --format: keep OUT and OUT.ends.")
@click.option(
    "--block", "block_bytes", type=SIZE, default="1M", show_default=True, help="Bytes of text per block of work."
)
@click.option(
    "--verify-resume", is_flag=True,
    help="When resuming, verify all existing output, not only the last 64M of each file.",
)  # fmt: skip
@click.option(
    "--spool", metavar="FOLDER", type=click.Path(file_okay=False),
    help="Folder for OUT until it is uploaded to its URL; by default, the temporary folder.",
)  # fmt: skip
@click.option("--stats-json", metavar="FILE", help="Write bytes, documents, tokens and seconds of each input to FILE.")
def tokenize(
    inputs: tuple[str, ...], out: str, model: str | None, dry_run: bool, stats_json: str | None, **options: Any
) -> None:
    """Tokenize files into OUT, a raw array of ids.

    IN is a text, JSONL or Parquet file (plain, .zst, .gz, .bz2 or .xz), a directory, a glob pattern, a URL (s3://,
    gs://, hf://, https://), or - for stdin. Inputs are read in the given order. Directories are read in path order;
    hidden files and binary files in them are skipped.

    To resume an interrupted run, run the same command again; the output is byte-identical.

    \b
    Examples:
      pyunitok tokenize corpus.jsonl.zst -o ids.u16
      pyunitok tokenize 's3://bucket/wiki/*.parquet' --text-key text -o ids.u16
      pyunitok tokenize books/ --doc '\\n\\n' -o ids.u16 --threads 4
      pyunitok tokenize corpus/ -o ids.u16 --shard $SLURM_ARRAY_TASK_ID/8
      pyunitok tokenize corpus/ -o data/corpus --format megatron
    """
    if stats_json:
        check_report(Path(stats_json))
    format_options = given({field.name: options.pop(field.name) for field in fields(ExportOptions)})
    job = Job(inputs, out, open_model(model), TokenizeOptions(format_options=format_options, **options))
    report_left_out(job.left_out)
    report_formats(job.plan.sources)
    report_dtype(job.plan)
    if dry_run:
        report_survey(job)
        return
    with Listener(job) as listener:
        manifest = job.run(listener.callbacks)
    listener.report_done(manifest)
    if stats_json:
        write_report(Path(stats_json), json.dumps(manifest.statistics(), indent=1).encode() + b"\n")
    if listener.report_skipped(manifest):
        click.get_current_context().exit(3)


def given(options: dict[str, Any]) -> dict[str, Any]:
    """Select the options that the user passed."""
    source = click.get_current_context().get_parameter_source
    return {name: value for name, value in options.items() if source(name) is not ParameterSource.DEFAULT}


def parse_eod(eod: str | None) -> int | str | None:
    """Parse --eod into an id, None, or "model" for the model's own eod."""
    if eod is None or eod == "none":
        return "model" if eod is None else None
    if not (eod.isascii() and eod.isdecimal() and len(eod) < 8):
        raise click.UsageError(f"--eod {eod!r} is invalid; use an id or none")
    return int(eod)
