"""The command tokenize."""

from __future__ import annotations

import json
from pathlib import Path

import click

from pyunitok.cli.arguments import ShardOf, Size, load_model, model_option, parse_eod, parse_separator
from pyunitok.cli.report import Meter, Resuming, report_formats, report_survey


@click.command()
@click.argument("inputs", metavar="IN...", nargs=-1, required=True)
@click.option("-o", "--out", metavar="OUT", required=True, help="The token file; OUT.ends and OUT.json lie beside it.")
@model_option
@click.option(
    "--input-format", type=click.Choice(["auto", "text", "jsonl"]), default="auto", show_default=True,
    help="auto goes by the name, else takes JSONL if the first line is an object with the key.",
)  # fmt: skip
@click.option(
    "--text-key", default="text", show_default=True,
    help="JSONL: the field with the text; a.b is b inside a, a\\.b one name.",
)  # fmt: skip
@click.option(
    "--doc", default="file", show_default=True, metavar="file|line|SEPARATOR",
    help="Text: what a document is. A separator may be written with \\n, \\t, \\0, \\xHH and \\\\.",
)  # fmt: skip
@click.option("--eod", metavar="ID|none", help="The id after each document; the model's own by default.")
@click.option("--threads", type=click.IntRange(1), help="Cores to use; all of them by default.")
@click.option("--block", type=Size(), default="1M", show_default=True, help="Text read at a time, for each thread.")
@click.option("--max-line", type=Size(), default="256M", show_default=True, help="JSONL: the longest line accepted.")
@click.option("--max-memory", type=Size(), default="1G", show_default=True, help="For blocks, frames and ids waiting.")
@click.option(
    "--on-error", type=click.Choice(["raise", "skip"]), default="raise", show_default=True,
    help="At a bad JSON line: stop, or list it in OUT.errors.jsonl and exit with 3. A damaged file always stops.",
)  # fmt: skip
@click.option("--metadata", is_flag=True, help="Keep file, line and JSON fields of documents: OUT.meta.jsonl.zst.")
@click.option(
    "--shard", type=ShardOf(), metavar="I/N",
    help="Only the I-th of N contiguous ranges of the inputs, of about equal sizes; I from 0 to N-1, as Slurm's array "
    "jobs count by --array=0-7. OUT becomes OUT.I-of-N; `pyunitok merge` joins them.",
)  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Start again, and replace OUT if it exists.")
@click.option("--dry-run", is_flag=True, help="Say what would be read and written, and write nothing.")
@click.option("--stats-json", metavar="FILE", help="Write bytes, documents, tokens and seconds of each input there.")
def tokenize(
    inputs: tuple[str, ...], out: str, model: str | None, input_format: str, text_key: str, doc: str, eod: str | None,
    threads: int | None, block: int, max_line: int, max_memory: int, on_error: str, metadata: bool,
    shard: tuple[int, int] | None, overwrite: bool, dry_run: bool, stats_json: str | None,
) -> None:  # fmt: skip
    """Tokenize files into OUT, a raw uint16 array.

    IN is a file (.zst, .gz or plain; text or JSONL), a directory, a glob pattern, or - for stdin; read in this order,
    directories by path. Hidden files in directories are left out. Files of many zstd frames are decompressed by all
    threads. Memory: --max-memory, besides the model, the longest line, and the window of a zstd frame of more than 64M.

    The same command again goes on where an interrupted one stopped, to the same bytes.

    \b
    Example:
      pyunitok tokenize corpus.jsonl.zst -o ids.u16
      pyunitok tokenize books/ --doc '\\n\\n' -o ids.u16 --threads 4
      zstdcat corpus.zst | pyunitok tokenize - -o ids.u16 --doc line
      pyunitok tokenize corpus/ -o ids.u16 --shard $SLURM_ARRAY_TASK_ID/8
    """
    from pyunitok.batch import available_cores
    from pyunitok.corpus import inputs as corpus_inputs
    from pyunitok.inspect import is_token_file
    from pyunitok.journal import journal_path
    from pyunitok.metadata import errors_path
    from pyunitok.outfile import check_target
    from pyunitok.output import own_files
    from pyunitok.pipeline import Plan, tokenize
    from pyunitok.shard import shard_name, take
    from pyunitok.tally import statistics

    if out == "-":
        raise click.UsageError("OUT is three files and cannot be stdout; name a file")
    separator = parse_separator(doc)
    tokenizer = load_model(model)
    eod_id = parse_eod(eod, tokenizer)
    target = shard_name(out, *shard) if shard else Path(out)
    mine = own_files(target)
    for path in mine.finished:
        check_target(path, overwrite=True)
    # Of this run, and of the other shards of this run.
    outs = [shard_name(out, index, shard[1]) for index in range(shard[1])] if shard else [target]
    others = [path for name in outs if name != target for path in own_files(name).all]
    # A token file of an earlier run may lie among the inputs; anything else there must not be lost.
    is_ours = is_token_file(target) or journal_path(target).exists()
    sources = corpus_inputs.find(
        inputs, input_format=input_format, text_key=text_key,
        exclude=map(str, [*mine.unfinished, *others, *(mine.finished if is_ours else [])]),
        refuse=map(str, [] if is_ours else mine.finished),
    )  # fmt: skip
    part = None
    if shard:
        sources, part = take(sources, *shard)
    report_formats(sources)
    plan = Plan(
        sources=sources, out=target, tokenizer=tokenizer, eod_id=eod_id, separator=separator,
        text_key=text_key, threads=threads or available_cores(), block_bytes=block, max_line_bytes=max_line,
        max_memory_bytes=max_memory, skip_bad=on_error == "skip", metadata=metadata, overwrite=overwrite, shard=part,
    )  # fmt: skip
    if dry_run:
        report_survey(plan)
        return
    with Meter("tokenizing") as meter, Resuming(target, overwrite) as resuming:
        manifest = tokenize(plan, meter.show, resuming.on_start)
    resuming.report_done(manifest, meter.seconds)
    if stats_json:
        Path(stats_json).write_text(json.dumps(statistics(manifest), indent=1) + "\n")
    n_skipped = sum(record.skipped for record in manifest.inputs)
    if n_skipped:
        click.echo(f"{n_skipped:,} bad lines were left out; {errors_path(target)} lists them", err=True)
        click.get_current_context().exit(3)
