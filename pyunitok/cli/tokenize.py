"""The command tokenize."""

from __future__ import annotations

from pathlib import Path

import click

from pyunitok.cli.arguments import Size, load_model, model_option, parse_eod, parse_separator
from pyunitok.cli.report import Meter, Resuming, report_formats


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
@click.option("--verify", is_flag=True, help="Decode each block and compare it with its text.")
@click.option("--overwrite", is_flag=True, help="Replace OUT if it exists.")
def tokenize(
    inputs: tuple[str, ...], out: str, model: str | None, input_format: str, text_key: str, doc: str, eod: str | None,
    threads: int | None, block: int, max_line: int, verify: bool, overwrite: bool,
) -> None:  # fmt: skip
    """Tokenize files into OUT, a raw uint16 array.

    IN is a file (.zst, .gz or plain; text or JSONL), a directory, a glob pattern, or - for stdin; read in this order,
    directories by path. Hidden files in directories are left out.

    \b
    Example:
      pyunitok tokenize corpus.jsonl.zst -o ids.u16
      pyunitok tokenize books/ --doc '\\n\\n' -o ids.u16 --threads 4
      zstdcat corpus.zst | pyunitok tokenize - -o ids.u16 --doc line
    """
    from pyunitok.batch import available_cores
    from pyunitok.corpus import inputs as corpus_inputs
    from pyunitok.inspect import is_token_file
    from pyunitok.journal import journal_path
    from pyunitok.outfile import check_target, lock_path, partial_name
    from pyunitok.pipeline import Plan, tokenize
    from pyunitok.tokens import sidecars

    if out == "-":
        raise click.UsageError("OUT is three files and cannot be stdout; name a file")
    separator = parse_separator(doc)
    tokenizer = load_model(model)
    eod_id = parse_eod(eod, tokenizer)
    own = [Path(out), *sidecars(out)]
    for path in own:
        check_target(path, overwrite=True)
    unfinished = [journal_path(Path(out)), lock_path(Path(out)), *map(partial_name, own)]
    # A token file of an earlier run may lie among the inputs; anything else there must not be lost.
    earlier, others = (own, []) if is_token_file(out) or journal_path(Path(out)).exists() else ([], own)
    sources = corpus_inputs.find(
        inputs, input_format=input_format, text_key=text_key, exclude=map(str, unfinished + earlier),
        refuse=map(str, others),
    )  # fmt: skip
    report_formats(sources)
    plan = Plan(
        sources=sources, out=Path(out), tokenizer=tokenizer, eod_id=eod_id, separator=separator,
        text_key=text_key, threads=threads or available_cores(), block_bytes=block, max_line_bytes=max_line,
        overwrite=overwrite, verify=verify,
    )  # fmt: skip
    with Meter("tokenizing") as meter, Resuming(Path(out), overwrite) as resuming:
        manifest = tokenize(plan, meter.show, resuming.on_start)
    resuming.report_done(manifest, meter.seconds)
