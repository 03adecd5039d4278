"""The command tokenize: its arguments and messages; pyunitok/job.py does the work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from pyunitok.cli.arguments import SampleOf, ShardOf, Size, load_model, model_option, parse_separator
from pyunitok.cli.export import FORMATS, export_options
from pyunitok.cli.report import Listener, report_formats, report_left_out, report_survey


@click.command()
@click.argument("inputs", metavar="IN...", nargs=-1, required=True)
@click.option(
    "-o", "--out", metavar="OUT", required=True,
    help="The token file; OUT.ends and OUT.json are written beside it. A URL is uploaded to once OUT is complete.",
)  # fmt: skip
@model_option
@click.option(
    "--input-format", type=click.Choice(["auto", "text", "jsonl", "parquet"]), default="auto", show_default=True,
    help="auto decides by the name, else by the first bytes: Parquet's magic number, or a JSON object with the key.",
)  # fmt: skip
@click.option(
    "--text-key", default="text", show_default=True,
    help="JSONL, Parquet: the field or column with the text. a.b means b inside a; a\\.b is a single name.",
)  # fmt: skip
@click.option(
    "--doc", default="file", show_default=True, metavar="file|line|SEPARATOR",
    help="Text: how files are divided into documents. A separator may contain \\n, \\t, \\0, \\xHH and \\\\.",
)  # fmt: skip
@click.option("--eod", metavar="ID|none", help="The id after each document; the model's own by default.")
@click.option(
    "--dtype", type=click.Choice(["uint16", "uint32"]), default="uint16", show_default=True,
    help="Type of the ids in OUT. A model with larger ids is refused.",
)  # fmt: skip
@click.option(
    "--sample", type=SampleOf(), metavar="alpha=A,seed=S",
    help="Sample a segmentation of each document: alpha=0.1,seed=1[,nbest=N][,method=lattice|viterbi|dropout].",
)  # fmt: skip
@click.option("--threads", type=click.IntRange(1), help="Number of threads; by default one per core.")
@click.option("--block", type=Size(), default="1M", show_default=True, help="Text that each thread reads at a time.")
@click.option("--max-line", type=Size(), default="256M", show_default=True, help="JSONL: the longest line accepted.")
@click.option(
    "--max-memory", type=Size(), default="1G", show_default=True, help="Limit for blocks, frames, and unwritten ids."
)
@click.option(
    "--on-error", type=click.Choice(["raise", "skip", "skip-file"]), default="raise", show_default=True,
    help="On a bad JSON line, raise stops; skip leaves it out, lists it in OUT.errors.jsonl and exits with 3. On a "
    "damaged file both stop; skip-file leaves it out as a whole.",
)  # fmt: skip
@click.option(
    "--include", metavar="PATTERN", multiple=True,
    help="Read only files in directories whose names match: --include '*.md'. May be repeated.",
)  # fmt: skip
@click.option(
    "--exclude", metavar="PATTERN", multiple=True,
    help="Leave out files whose names match; with a slash, whose paths end so: 'tests/*.txt'. May be repeated.",
)  # fmt: skip
@click.option("--metadata", is_flag=True, help="Keep each document's file, line and JSON fields in OUT.meta.jsonl.zst.")
@click.option(
    "--shard", type=ShardOf(), metavar="I/N",
    help="Tokenize only the I-th of N contiguous ranges of about equal size. I counts from 0 to N-1, as in Slurm's "
    "--array=0-7. OUT becomes OUT.I-of-N; `pyunitok merge` joins the shards.",
)  # fmt: skip
@click.option(
    "--ray", metavar="ADDRESS|auto|local",
    help="Divide the work among the machines of a Ray cluster. --threads is then per task, 1 by default.",
)  # fmt: skip
@click.option("--unit", type=Size(), help="With --ray: bytes of input per task; chosen automatically by default.")
@click.option("--keep-parts", is_flag=True, help="With --ray: leave the parts in OUT.parts, for `pyunitok merge`.")
@click.option("--verify", is_flag=True, help="Decode each block and compare it with its text.")
@click.option("--format", "to", type=click.Choice(FORMATS), help="Write the files of another tool, named after OUT.")
@export_options
@click.option("--keep-tokens", is_flag=True, help="With --format: also keep OUT and OUT.ends.")
@click.option(
    "--verify-resume", is_flag=True,
    help="When resuming, check the hashes of everything written so far; by default, of the last 64M of each file.",
)  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Start again, and replace OUT if it exists.")
@click.option(
    "--spool", metavar="FOLDER", type=click.Path(file_okay=False),
    help="If OUT is a URL: the folder for OUT until it is uploaded; by default in the system's temporary folder.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Show what would be read and written, and write nothing.")
@click.option("--stats-json", metavar="FILE", help="Write bytes, documents, tokens and seconds of each input to FILE.")
def tokenize(
    inputs: tuple[str, ...], out: str, model: str | None, doc: str, eod: str | None, block: int, max_line: int,
    max_memory: int, unit: int | None, to: str | None, dry_run: bool, stats_json: str | None, base: str | None,
    val_fraction: float, shards: int, shard_tokens: int, eot: int | None, token_dtype: str | None, rename_ids: bool,
    **options: Any,
) -> None:  # fmt: skip
    """Tokenize files into OUT, a raw array of ids.

    IN is a file (text or JSONL, plain or .zst, .gz, .bz2, .xz; or Parquet), a directory, a glob pattern, - for stdin,
    or the URL of a file or directory (s3://, gs://, hf://, https://, …). Inputs are read in the given order, the files
    of a directory sorted by path. In directories, hidden files are ignored, and files that are not text are left out
    and listed. A file of many zstd frames is decompressed by all threads. Memory use: --max-memory, plus the model, the
    longest line, and the window of each zstd frame above 64M.

    Running the same command again resumes an interrupted run; the output is byte-identical.

    With --ray, all machines of the cluster must see IN and OUT under these paths. The parts are kept in OUT.parts until
    they are joined. OUT is byte-identical to that of a run without Ray.

    With --format, OUT is exported into its own folder, as `pyunitok export` does, and then removed; OUT.json stays.

    \b
    Example:
      pyunitok tokenize corpus.jsonl.zst -o ids.u16
      pyunitok tokenize 's3://bucket/wiki/*.parquet' --text-key text -o ids.u16
      pyunitok tokenize books/ --doc '\\n\\n' -o ids.u16 --threads 4
      zstdcat corpus.zst | pyunitok tokenize - -o ids.u16 --doc line
      pyunitok tokenize books/ -o ids.u16 -m t5.model --sample alpha=0.1,seed=1
      pyunitok tokenize corpus/ -o ids.u16 --shard $SLURM_ARRAY_TASK_ID/8
      pyunitok tokenize corpus/ -o data/corpus --format megatron
      pyunitok tokenize /shared/corpus/ -o /shared/ids.u16 --ray auto
    """
    from pyunitok.disk.reports import check_report, write_report
    from pyunitok.job import Job, Options

    if stats_json:
        check_report(Path(stats_json))
    separator = parse_separator(doc)
    tokenizer = load_model(model)
    format_options = {
        "name": base, "val_fraction": val_fraction, "shards": shards, "shard_tokens": shard_tokens, "eot": eot,
        "token_dtype": token_dtype, "rename_ids": rename_ids,
    }  # fmt: skip
    chosen = Options(
        separator=separator, eod=parse_eod(eod), block_bytes=block, max_line_bytes=max_line,
        max_memory_bytes=max_memory, unit_bytes=unit, format=to, format_options=given(format_options), **options,
    )  # fmt: skip
    job = Job(inputs, out, tokenizer, chosen)
    report_left_out(job.left_out)
    report_formats(job.plan.sources)
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
    """Those of export_options that were given."""
    source = click.get_current_context().get_parameter_source
    is_given = {name: source("base" if name == "name" else name) is not ParameterSource.DEFAULT for name in options}
    return {name: value for name, value in options.items() if is_given[name]}


def parse_eod(eod: str | None) -> int | str | None:
    """An id, "model" or None as Options take it."""
    if eod is None or eod == "none":
        return "model" if eod is None else None
    if not (eod.isascii() and eod.isdecimal() and len(eod) < 8):
        raise click.UsageError(f"--eod takes an id or none, not {eod!r}")
    return int(eod)
