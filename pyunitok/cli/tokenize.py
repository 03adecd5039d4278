"""The command tokenize."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from pyunitok.cli.arguments import SampleOf, ShardOf, Size, load_model, model_option, parse_eod, parse_separator
from pyunitok.cli.cluster import check_ray, tokenize_on_ray
from pyunitok.cli.export import FORMATS, export_options
from pyunitok.cli.report import Meter, Resuming, report_export, report_formats, report_survey


@click.command()
@click.argument("inputs", metavar="IN...", nargs=-1, required=True)
@click.option(
    "-o", "--out", metavar="OUT", required=True,
    help="The token file; OUT.ends and OUT.json lie beside it. A URL is uploaded to when all is done: see --spool.",
)  # fmt: skip
@model_option
@click.option(
    "--input-format", type=click.Choice(["auto", "text", "jsonl", "parquet"]), default="auto", show_default=True,
    help="auto goes by the name, else by the first bytes: Parquet's mark, or a JSON object with the key.",
)  # fmt: skip
@click.option(
    "--text-key", default="text", show_default=True,
    help="JSONL, Parquet: the field or column with the text; a.b is b inside a, a\\.b one name.",
)  # fmt: skip
@click.option(
    "--doc", default="file", show_default=True, metavar="file|line|SEPARATOR",
    help="Text: what a document is. A separator may be written with \\n, \\t, \\0, \\xHH and \\\\.",
)  # fmt: skip
@click.option("--eod", metavar="ID|none", help="The id after each document; the model's own by default.")
@click.option(
    "--dtype", type=click.Choice(["uint16", "uint32"]), default="uint16", show_default=True,
    help="Of the ids in OUT. A model with larger ids than fit is refused.",
)  # fmt: skip
@click.option(
    "--sample", type=SampleOf(), metavar="alpha=A,seed=S",
    help="Draw one of the ways to cut each document: alpha=0.1,seed=1[,nbest=N][,method=lattice|viterbi|dropout].",
)  # fmt: skip
@click.option("--threads", type=click.IntRange(1), help="Cores to use; all of them by default.")
@click.option("--block", type=Size(), default="1M", show_default=True, help="Text read at a time, for each thread.")
@click.option("--max-line", type=Size(), default="256M", show_default=True, help="JSONL: the longest line accepted.")
@click.option("--max-memory", type=Size(), default="1G", show_default=True, help="For blocks, frames and ids waiting.")
@click.option(
    "--on-error", type=click.Choice(["raise", "skip"]), default="raise", show_default=True,
    help="A bad JSON line: stop; or leave it out, list it in OUT.errors.jsonl, exit with 3. Damaged files always stop.",
)  # fmt: skip
@click.option("--metadata", is_flag=True, help="Keep file, line and JSON fields of documents: OUT.meta.jsonl.zst.")
@click.option(
    "--shard", type=ShardOf(), metavar="I/N",
    help="Only the I-th of N contiguous ranges of the inputs, of about equal sizes; I from 0 to N-1, as Slurm's array "
    "jobs count by --array=0-7. OUT becomes OUT.I-of-N; `pyunitok merge` joins them.",
)  # fmt: skip
@click.option(
    "--ray", "address", metavar="ADDRESS|auto|local",
    help="Divide the work among the machines of a Ray cluster; --threads is of each task then, 1 by default.",
)  # fmt: skip
@click.option("--unit", type=Size(), help="With --ray: of the inputs for each task; by their sizes by default.")
@click.option("--keep-parts", is_flag=True, help="With --ray: leave the parts in OUT.parts, for `pyunitok merge`.")
@click.option("--verify", is_flag=True, help="Decode each block and compare it with its text.")
@click.option("--format", "to", type=click.Choice(FORMATS), help="Leave another tool's files, named after OUT.")
@export_options
@click.option("--keep-tokens", is_flag=True, help="With --format: leave OUT and OUT.ends too.")
@click.option("--overwrite", is_flag=True, help="Start again, and replace OUT if it exists.")
@click.option(
    "--spool", metavar="FOLDER", type=click.Path(file_okay=False),
    help="OUT is a URL: where it is made before it is uploaded; in the system's temporary folder by default.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Say what would be read and written, and write nothing.")
@click.option("--stats-json", metavar="FILE", help="Write bytes, documents, tokens and seconds of each input there.")
def tokenize(
    inputs: tuple[str, ...], out: str, model: str | None, input_format: str, text_key: str, doc: str, eod: str | None,
    dtype: str, sample: Any, threads: int | None, block: int, max_line: int, max_memory: int, on_error: str,
    metadata: bool, verify: bool,
    shard: tuple[int, int] | None, address: str | None, unit: int | None, keep_parts: bool, overwrite: bool,
    dry_run: bool, stats_json: str | None, spool: str | None, to: str | None, base: str | None, copy: bool,
    keep_tokens: bool, **options: Any,
) -> None:  # fmt: skip
    """Tokenize files into OUT, a raw array of ids.

    IN is a file (text or JSONL, plain or .zst, .gz, .bz2, .xz; or Parquet), a directory, a glob pattern, - for stdin,
    or a URL of such a thing (s3://, gs://, hf://, https://, …); read in this order, directories by path. Hidden files
    in directories are left out. Files of many zstd frames are decompressed by all threads. Memory: --max-memory,
    besides the model, the longest line, and the window of a zstd frame of more than 64M.

    The same command again goes on where an interrupted one stopped, to the same bytes.

    With --ray, all machines of the cluster must see IN and OUT by these paths; the parts lie in OUT.parts until they
    are joined. The bytes of OUT are the same.

    With --format, OUT is exported as `pyunitok export` does, into its own folder, and then removed; OUT.json stays.

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
    import numpy as np

    from pyunitok.batch import available_cores
    from pyunitok.corpus import inputs as corpus_inputs
    from pyunitok.disk.outfile import check_target
    from pyunitok.disk.remote import is_url, without_file_scheme
    from pyunitok.export.direct import Direct, named
    from pyunitok.run.journal import journal_path
    from pyunitok.run.output import own_files
    from pyunitok.run.parts import files_of_parts
    from pyunitok.run.pipeline import tokenize
    from pyunitok.run.plan import Plan
    from pyunitok.run.shard import shard_suffix, take
    from pyunitok.run.tally import Tally
    from pyunitok.run.upload import Spool, own_urls, tokenize_to
    from pyunitok.tokens.inspect import is_token_file
    from pyunitok.tokens.metadata import errors_path

    if out == "-":
        raise click.UsageError("OUT is three files and cannot be stdout; name a file")
    out = without_file_scheme(out)
    if spool and not is_url(out):
        raise click.UsageError("--spool is for an OUT that is a URL")
    check_ray(address, out, shard, unit, keep_parts, to)
    separator = parse_separator(doc)
    tokenizer = load_model(model)
    eod_id = parse_eod(eod, tokenizer)
    suffixes = [shard_suffix(index, shard[1]) for index in range(shard[1])] if shard else [""]
    outs = [out + suffix for suffix in suffixes]
    name = outs[shard[0] if shard else 0]
    place = Spool(name, Path(spool) if spool else None) if is_url(name) else None
    target = place.out if place else Path(name)
    mine = own_files(target)
    for path in mine.finished:
        check_target(path, overwrite=True)
    direct = None
    chosen = named(target, base, **options)
    if to:
        if place:
            raise click.UsageError("--format writes local files, and OUT is a URL")
        direct = Direct(target, to, chosen, copy=copy, keep=keep_tokens, overwrite=overwrite)
        direct.check()
    elif chosen != named(target, None) or copy or keep_tokens:
        raise click.UsageError("options of exports need --format")
    # Of this run, and of the other shards of this run.
    others = [path for other in outs if other != name for path in own_urls(other) or own_files(Path(other)).all]
    # A token file of an earlier run may lie among the inputs; anything else there must not be lost.
    is_ours = is_token_file(target) or journal_path(target).exists()
    sources = corpus_inputs.find(
        inputs, input_format=input_format, text_key=text_key,
        exclude=map(str, [
            *mine.unfinished, *files_of_parts(target), *others, *own_urls(name), *(mine.finished if is_ours else []),
        ]),
        refuse=map(str, [] if is_ours else mine.finished),
    )  # fmt: skip
    part = None
    if shard:
        sources, part = take(sources, *shard)
    report_formats(sources)
    threads = threads or (1 if address else available_cores())
    plan = Plan(
        sources=sources, out=target, tokenizer=tokenizer, eod_id=eod_id, separator=separator,
        text_key=text_key, threads=threads, block_bytes=block, max_line_bytes=max_line,
        max_memory_bytes=max_memory, skip_bad=on_error == "skip", metadata=metadata, verify=verify, overwrite=overwrite,
        shard=part, dtype=np.dtype(dtype), sample=sample,
    )  # fmt: skip
    if dry_run:
        report_survey(plan, place)
        return
    if direct:
        tally = Tally(plan)
        finished = direct.finished(plan.identity())
        if finished:
            tally.check_pipes(finished)
            click.echo(f"already complete: {target} as {to}", err=True)
            return
    with Meter("tokenizing") as meter, Resuming(target, overwrite, place) as resuming:
        if place:
            manifest = tokenize_to(place, plan, meter.show, resuming.on_start, resuming.on_file)
        elif address:
            manifest = tokenize_on_ray(plan, address, unit, keep_parts, meter, resuming)
        else:
            manifest = tokenize(plan, meter.show, resuming.on_start)
    resuming.report_done(manifest, meter.seconds)
    if direct:
        report_export(direct.make())
    if stats_json:
        Path(stats_json).write_text(json.dumps(manifest.statistics(), indent=1) + "\n")
    n_skipped = sum(record.skipped for record in manifest.inputs)
    if n_skipped:
        click.echo(f"{n_skipped:,} bad lines were left out; {errors_path(target)} lists them", err=True)
        click.get_current_context().exit(3)
