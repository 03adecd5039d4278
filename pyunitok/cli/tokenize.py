"""The command tokenize."""

from __future__ import annotations

from pathlib import Path

import click

from pyunitok.cli.arguments import Size, load_model, model_option, parse_eod, parse_separator
from pyunitok.cli.report import Meter, report_done, report_formats


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
@click.option("--overwrite", is_flag=True, help="Replace OUT if it exists.")
def tokenize(
    inputs: tuple[str, ...], out: str, model: str | None, input_format: str, text_key: str, doc: str, eod: str | None,
    threads: int | None, block: int, max_line: int, max_memory: int, on_error: str, metadata: bool, overwrite: bool,
) -> None:  # fmt: skip
    """Tokenize files into OUT, a raw uint16 array.

    IN is a file (.zst, .gz or plain; text or JSONL), a directory, a glob pattern, or - for stdin; read in this order,
    directories by path. Hidden files in directories are left out. Files of many zstd frames are decompressed by all
    threads. Memory: --max-memory, besides the model, the longest line, and the window of a zstd frame of more than 64M.

    \b
    Example:
      pyunitok tokenize corpus.jsonl.zst -o ids.u16
      pyunitok tokenize books/ --doc '\\n\\n' -o ids.u16 --threads 4
      zstdcat corpus.zst | pyunitok tokenize - -o ids.u16 --doc line
    """
    from pyunitok.batch import available_cores
    from pyunitok.corpus import inputs as corpus_inputs
    from pyunitok.inspect import is_token_file
    from pyunitok.metadata import errors_path, metadata_path
    from pyunitok.outfile import check_target, partial_name
    from pyunitok.pipeline import Plan, tokenize
    from pyunitok.tokens import sidecars

    if out == "-":
        raise click.UsageError("OUT is three files and cannot be stdout; name a file")
    separator = parse_separator(doc)
    tokenizer = load_model(model)
    eod_id = parse_eod(eod, tokenizer)
    own = [Path(out), *sidecars(out), metadata_path(out), errors_path(out)]
    for path in own:
        check_target(path, overwrite=overwrite)
    partials = [str(partial_name(path)) for path in own]
    # A token file of an earlier run may lie among the inputs; anything else there must not be lost.
    own_names = list(map(str, own))
    earlier, others = (own_names, []) if is_token_file(out) else ([], own_names)
    sources = corpus_inputs.find(
        inputs, input_format=input_format, text_key=text_key, exclude=partials + earlier, refuse=others
    )
    report_formats(sources)
    plan = Plan(
        sources=sources, out=Path(out), tokenizer=tokenizer, eod_id=eod_id, separator=separator,
        text_key=text_key, threads=threads or available_cores(), block_bytes=block, max_line_bytes=max_line,
        max_memory_bytes=max_memory, skip_bad=on_error == "skip", metadata=metadata, overwrite=overwrite,
    )  # fmt: skip
    with Meter("tokenizing") as meter:
        manifest = tokenize(plan, meter.show)
    report_done(manifest, meter.seconds)
    n_skipped = sum(record.skipped for record in manifest.inputs)
    if n_skipped:
        click.echo(f"{n_skipped:,} bad lines were left out; {errors_path(out)} lists them", err=True)
        click.get_current_context().exit(3)
