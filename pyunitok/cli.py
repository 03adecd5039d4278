"""The command line: each command checks its arguments, calls the library, and reports; imports wait until needed."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import click

DEFAULT_MODEL = "rwkv-world"
EXIT_ERROR, EXIT_SIGINT, EXIT_SIGTERM = 1, 130, 143


class Size(click.ParamType[int]):
    """Bytes, with an optional K, M or G (powers of 1024)."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        text = value.strip().upper().removesuffix("IB").removesuffix("B")
        factor = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:], 1)
        digits = text[:-1] if factor > 1 else text
        if not digits.isdecimal() or int(digits) == 0:
            self.fail(f"{value!r} is no size; try 1M or 262144", param, ctx)
        return int(digits) * factor


model_option = click.option(
    "-m", "--model", metavar="MODEL", help=f"A model file, or {DEFAULT_MODEL} (the default): the RWKV World vocabulary."
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="pyunitok", message="pyunitok %(version)s")
def cli() -> None:
    """Turn text corpora into uint16 token arrays, exactly and fast.

    \b
    Example:
      pyunitok tokenize corpus.jsonl.zst -o ids.u16
      python -c "import numpy; print(numpy.memmap('ids.u16', dtype='<u2')[:10])"
    """


@cli.command()
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
@click.option("--overwrite", is_flag=True, help="Replace OUT if it exists.")
def tokenize(
    inputs: tuple[str, ...], out: str, model: str | None, input_format: str, text_key: str, doc: str, eod: str | None,
    threads: int | None, block: int, max_line: int, overwrite: bool,
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
    from pyunitok.outfile import check_target, partial_name
    from pyunitok.pipeline import Plan, tokenize
    from pyunitok.tokens import sidecars

    if out == "-":
        raise click.UsageError("OUT is three files and cannot be stdout; name a file")
    separator = parse_separator(doc)
    tokenizer = load_model(model)
    eod_id = parse_eod(eod, tokenizer)
    own = [Path(out), *sidecars(out)]
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
        overwrite=overwrite,
    )  # fmt: skip
    with Meter("tokenizing") as meter:
        manifest = tokenize(plan, meter.show)
    report_done(manifest, meter.seconds)


@cli.command()
@click.argument("tokens", metavar="OUT", type=click.Path(exists=True, dir_okay=False))
@click.option("-o", "--out", metavar="TEXT", required=True, help="The file to write, or - for stdout.")
@click.option("-m", "--model", metavar="MODEL", help="Instead of the model that the manifest names.")
@click.option("--overwrite", is_flag=True, help="Replace TEXT if it exists.")
def detokenize(tokens: str, out: str, model: str | None, overwrite: bool) -> None:
    """Turn a token file back into its text: exactly the original bytes for text input.

    JSONL input comes back as lines that hold the text alone. Several inputs come back one after another.

    \b
    Example:
      pyunitok detokenize ids.u16 -o - | head -c 300
    """
    import pyunitok
    from pyunitok.detokenize import detokenize
    from pyunitok.outfile import OutFile, check_target, partial_name
    from pyunitok.pipeline import Progress
    from pyunitok.tokens import sidecars

    target = Path(out)
    if out != "-":
        check_target(target, overwrite=overwrite)
        own = [path for path in (Path(tokens), *sidecars(tokens)) if path.exists()]
        if target.exists() and any(map(target.samefile, own)):
            raise click.UsageError(f"{out} belongs to the token file itself; name another file")
    array = pyunitok.open(tokens, dtype="uint16", model=load_model(model) if model else None)
    tokenizer = array.tokenizer
    if not tokenizer.lossless:
        click.echo("note: this model is not lossless; what it had no piece for is lost", err=True)
    if out == "-":
        detokenize(array, tokenizer, sys.stdout.buffer, lambda _: None)
        sys.stdout.buffer.flush()
        return
    partial = OutFile(partial_name(target))
    progress = Progress(compressed_total=array.manifest.bytes if array.manifest else None)
    with Meter("detokenizing") as meter, closing(partial):

        def on_bytes(n: int) -> None:
            progress.bytes += n
            progress.compressed += n
            meter.show(progress)

        detokenize(array, tokenizer, partial, on_bytes)
        partial.finish()
    partial.path.replace(target)


@cli.command()
@click.argument("text", nargs=-1)
@model_option
@click.option("--pieces", is_flag=True, help="The pieces too, coloured on a terminal.")
def encode(text: tuple[str, ...], model: str | None, pieces: bool) -> None:
    """Show the ids of TEXT, or of each line of stdin.

    On a terminal the pieces stand above their ids; with --pieces they do everywhere.

    \b
    Example:
      pyunitok encode "The quick brown fox"
    """
    tokenizer = load_model(model)
    for line in [os.fsencode(" ".join(text))] if text else (line.removesuffix(b"\n") for line in stdin()):
        if pieces or sys.stdout.isatty():
            shown = tokenizer.encode_as_pieces(line)
            colours = ("cyan", "yellow", "green", "magenta")
            click.echo("".join(click.style(piece, fg="black", bg=colours[k % 4]) for k, piece in enumerate(shown)))
        click.echo(" ".join(map(str, tokenizer.encode(line).tolist())))


@cli.command()
@click.argument("ids", nargs=-1)
@model_option
def decode(ids: tuple[str, ...], model: str | None) -> None:
    """Show the text of IDS, or of each line of ids on stdin.

    \b
    Example:
      pyunitok decode 11080 17065 10139 14398 58552 10080
    """
    tokenizer = load_model(model)
    for line in [list(ids)] if ids else (line.decode("ascii", "replace").split() for line in stdin()):
        try:
            numbers = [int(word) for word in (part for item in line for part in item.replace(",", " ").split())]
        except ValueError:
            raise click.UsageError(f"not an id among {' '.join(map(str, line))!r}") from None
        click.echo(tokenizer.decode_bytes(numbers))


@cli.command()
@click.argument("path", metavar="MODEL|OUT")
def inspect(path: str) -> None:
    """Say what a model file or a token file is.

    \b
    Example:
      pyunitok inspect rwkv-world
      pyunitok inspect ids.u16
    """
    from pyunitok import inspect as about

    if path == DEFAULT_MODEL or not about.is_token_file(path):
        rows = about.model_rows(load_model(path))
    else:
        rows = about.token_rows(path)
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        click.echo(f"{name:<{width}}  {value}")


def stdin() -> Any:
    """Lines of bytes."""
    if sys.stdin is None:
        raise click.UsageError("stdin is closed: give what to work on as an argument")
    return sys.stdin.buffer


def load_model(model: str | None) -> Any:
    """The Tokenizer that -m names."""
    from pyunitok import Tokenizer

    if model in (None, DEFAULT_MODEL):
        return Tokenizer.default()
    if not model or not Path(model).is_file():
        raise click.ClickException(f"there is no model file {model!r}; -m takes a file, or {DEFAULT_MODEL}")
    return Tokenizer.from_file(model)


def parse_eod(eod: str | None, tokenizer: Any) -> int | None:
    if eod == "none":
        return None
    if eod is None:
        if tokenizer.eod_id is None:
            raise click.UsageError("this model has no eod id; name one (--eod ID) or say --eod none")
        return int(tokenizer.eod_id)
    if not (eod.isascii() and eod.isdecimal()) or int(eod) > 65535:
        raise click.UsageError(f"--eod takes an id within 0..65535 or none, not {eod!r}")
    return int(eod)


def parse_separator(doc: str) -> bytes | None:
    """The bytes between documents; None where a file is one document."""
    import re

    if doc in ("file", "line"):
        return None if doc == "file" else b"\n"
    if not doc:
        raise click.UsageError("--doc takes file, line or a separator, not nothing")
    named = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\"}
    parts = re.split(r"\\(x[0-9a-fA-F]{2}|[ntr0\\])", doc)
    return b"".join(
        os.fsencode(part) if k % 2 == 0 else named.get(part) or bytes.fromhex(part[1:]) for k, part in enumerate(parts)
    )


def report_formats(sources: list[Any]) -> None:
    """One line for each way that a format was decided, with the first file it was decided for."""
    decided: dict[tuple[str, str], list[str]] = {}
    for source in sources:
        decided.setdefault((source.format, source.reason), []).append(source.path)
    for (format_, reason), paths in decided.items():
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        click.echo(f"reading {paths[0]}{more} as {format_} ({reason})", err=True)


def report_done(manifest: Any, seconds: float) -> None:
    rate = manifest.bytes / max(seconds, 1e-9) / 1e6
    ratio = manifest.bytes / manifest.tokens if manifest.tokens else 0.0
    click.echo(
        f"{manifest.documents:,} documents, {manifest.bytes:,} bytes, {manifest.tokens:,} tokens, "
        f"{ratio:.3f} bytes/token, {rate:.0f} MB/s",
        err=True,
    )


class Meter:
    """A progress bar on a terminal, nothing elsewhere; and the seconds it took."""

    def __init__(self, label: str) -> None:
        from time import monotonic

        self._label, self._clock = label, monotonic
        self._started = monotonic()
        self._bar: Any = None
        self.seconds = 0.0

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = self._clock() - self._started
        if self._bar is not None:
            self._bar.close()

    def show(self, progress: Any) -> None:
        if not sys.stderr.isatty():
            return
        if self._bar is None:
            from tqdm import tqdm

            self._bar = tqdm(
                total=progress.compressed_total, desc=self._label, unit="B", unit_scale=True, leave=False, delay=0.5
            )
        seconds = max(self._clock() - self._started, 1e-9)
        text = f"{progress.bytes / seconds / 1e6:.0f} MB/s of text"
        if progress.tokens:
            text += f", {progress.bytes / progress.tokens:.2f} bytes/token"
        self._bar.set_postfix_str(text, refresh=False)
        self._bar.update(progress.compressed - self._bar.n)


class Terminated(BaseException):
    """SIGTERM arrived."""


def _on_sigterm(*_: object) -> None:
    raise Terminated


def main() -> None:
    """The entry point: 0 all was done, 1 error, 2 usage, 130 and 143 interrupted."""
    from pyunitok.errors import UnitokError

    signal.signal(signal.SIGTERM, _on_sigterm)
    if sys.stdout is None:  # closed by the caller
        click.echo("error: stdout is closed", err=True)
        sys.exit(EXIT_ERROR)
    try:
        cli.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(EXIT_SIGINT)
    except Terminated:
        click.echo("terminated", err=True)
        sys.exit(EXIT_SIGTERM)
    except (UnitokError, OSError, MemoryError, UnicodeError) as error:
        click.echo(f"error: {error or type(error).__name__}", err=True)
        sys.exit(EXIT_ERROR)
