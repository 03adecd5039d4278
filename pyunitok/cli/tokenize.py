"""The command tokenize."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from pyunitok.cli.arguments import ShardOf, Size, load_model, model_option, parse_eod, parse_separator
from pyunitok.cli.export import FORMATS, export_options
from pyunitok.cli.report import Meter, Resuming, report_export, report_formats, report_survey


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
@click.option(
    "--shard", type=ShardOf(), metavar="I/N",
    help="Only the I-th of N contiguous ranges of the inputs, of about equal sizes; I from 0 to N-1, as Slurm's array "
    "jobs count by --array=0-7. OUT becomes OUT.I-of-N; `pyunitok merge` joins them.",
)  # fmt: skip
@click.option("--verify", is_flag=True, help="Decode each block and compare it with its text.")
@click.option("--format", "to", type=click.Choice(FORMATS), help="Leave another tool's files, named after OUT.")
@export_options
@click.option("--keep-tokens", is_flag=True, help="With --format: leave OUT and OUT.ends too.")
@click.option("--overwrite", is_flag=True, help="Start again, and replace OUT if it exists.")
@click.option("--dry-run", is_flag=True, help="Say what would be read and written, and write nothing.")
@click.option("--stats-json", metavar="FILE", help="Write bytes, documents, tokens and seconds of each input there.")
def tokenize(
    inputs: tuple[str, ...], out: str, model: str | None, input_format: str, text_key: str, doc: str, eod: str | None,
    threads: int | None, block: int, max_line: int, verify: bool, shard: tuple[int, int] | None, overwrite: bool,
    dry_run: bool, stats_json: str | None, to: str | None, name: str | None, copy: bool, keep_tokens: bool,
    **options: Any,
) -> None:  # fmt: skip
    """Tokenize files into OUT, a raw uint16 array.

    IN is a file (.zst, .gz or plain; text or JSONL), a directory, a glob pattern, or - for stdin; read in this order,
    directories by path. Hidden files in directories are left out.

    The same command again goes on where an interrupted one stopped, to the same bytes.

    With --format, OUT is exported as `pyunitok export` does, into its own folder, and then removed; OUT.json stays.

    \b
    Example:
      pyunitok tokenize corpus.jsonl.zst -o ids.u16
      pyunitok tokenize books/ --doc '\\n\\n' -o ids.u16 --threads 4
      zstdcat corpus.zst | pyunitok tokenize - -o ids.u16 --doc line
      pyunitok tokenize corpus/ -o ids.u16 --shard $SLURM_ARRAY_TASK_ID/8
      pyunitok tokenize corpus/ -o data/corpus --format megatron
    """
    from pyunitok.batch import available_cores
    from pyunitok.corpus import inputs as corpus_inputs
    from pyunitok.export.direct import Direct, named
    from pyunitok.inspect import is_token_file
    from pyunitok.journal import journal_path
    from pyunitok.outfile import check_target
    from pyunitok.output import own_files
    from pyunitok.pipeline import Plan, tokenize
    from pyunitok.shard import shard_name, take
    from pyunitok.tally import Tally, statistics
    from pyunitok.tokens import sidecars

    if out == "-":
        raise click.UsageError("OUT is three files and cannot be stdout; name a file")
    separator = parse_separator(doc)
    tokenizer = load_model(model)
    eod_id = parse_eod(eod, tokenizer)
    target = shard_name(out, *shard) if shard else Path(out)
    for path in (target, *sidecars(target)):
        check_target(path, overwrite=True)
    direct = None
    chosen = named(target, name, **options)
    if to:
        direct = Direct(target, to, chosen, copy=copy, keep=keep_tokens, overwrite=overwrite)
        direct.check()
    elif chosen != named(target, None) or copy or keep_tokens:
        raise click.UsageError("options of exports need --format")
    # Of this run, and of the other shards of this run.
    outs = [shard_name(out, index, shard[1]) for index in range(shard[1])] if shard else [target]
    mine = own_files(target)
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
        overwrite=overwrite, verify=verify, shard=part,
    )  # fmt: skip
    if dry_run:
        report_survey(plan)
        return
    if direct:
        tally = Tally(plan)
        finished = direct.finished(tally.identity())
        if finished:
            tally.check_pipes(finished)
            click.echo(f"already complete: {target} as {to}", err=True)
            return
    with Meter("tokenizing") as meter, Resuming(target, overwrite) as resuming:
        manifest = tokenize(plan, meter.show, resuming.on_start)
    resuming.report_done(manifest, meter.seconds)
    if direct:
        report_export(direct.make())
    if stats_json:
        Path(stats_json).write_text(json.dumps(statistics(manifest), indent=1) + "\n")
