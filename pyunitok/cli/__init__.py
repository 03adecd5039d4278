"""Runs the commands of the command line. Each is imported when it is called, so that `--help` stays fast."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
import warnings
from collections.abc import MutableMapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click

from pyunitok import __version__
from pyunitok.disk.url import redacted
from pyunitok.errors import ClusterWarning, InputWarning, ModelWarning, OptionError, UnitokError, printable

EXIT_ERROR, EXIT_USAGE, EXIT_SIGINT, EXIT_SIGPIPE, EXIT_SIGTERM = 1, 2, 130, 141, 143


# Lets `pyunitok --help` list the commands without importing them. A test compares these texts with each command's help.
COMMANDS = {
    "convert": "Convert a model to another file format.",
    "decode": "Decode IDS, or each line of stdin, and print the text.",
    "decontaminate": "Remove documents that contain benchmark items from a corpus.",
    "deduplicate": "Remove repeated text from a corpus.",
    "detokenize": "Decode a token file back to text.",
    "duplicates": "List repeated text in an index, or remove it.",
    "encode": "Encode TEXT, or each line of stdin, and print the ids.",
    "export": "Export a token file in another tool's format.",
    "index": "Build a search index (sharded suffix arrays) over token files.",
    "inspect": "Describe a model file, a folder that contains one, or a token file.",
    "merge": "Concatenate finished token files in the given order.",
    "search": "Count and find text in an index, regardless of token boundaries.",
    "serve": "Serve a search page for an index.",
    "stats": "Show token file statistics: bytes per token, document lengths, inputs, frequent and unused pieces.",
    "tokenize": "Tokenize files into OUT, a raw array of ids.",
    "trace": "Show which parts of FILE also occur in an index, and in which documents.",
    "train": "Train a model.",
    "verify": "Check the integrity of a token file or an index.",
    "vocab": "Edit, compare and list vocabularies.",
}


class LazyGroup(click.Group):
    """A group that creates its commands on demand. click-man requests all commands through `commands`."""

    @property
    def commands(self) -> MutableMapping[str, click.Command]:
        context = click.Context(self)
        found = ((name, self.get_command(context, name)) for name in self.list_commands(context))
        return {name: command for name, command in found if command is not None}

    @commands.setter
    def commands(self, _: Any) -> None:
        """Ignored: click.Group assigns only the commands that its decorators add, and this group has none."""


class Commands(LazyGroup):
    """Imports each command from the module of the same name when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = "encode" if cmd_name == "decode" else cmd_name
        command: click.Command = getattr(import_module(f"pyunitok.cli.{module}"), cmd_name)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = get_close_matches(args[0], COMMANDS, n=1)
            ctx.fail(f"unknown command {args[0]!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="pyunitok", message="pyunitok %(version)s")
def cli() -> None:
    """Turn text corpora into arrays of uint16 token ids, quickly and exactly.

    \b
    Example:
      pyunitok tokenize corpus.jsonl.zst -o ids.u16
      python -c "import numpy; print(numpy.memmap('ids.u16', dtype='<u2')[:10])"
    """


class Terminated(BaseException):
    """Raised on SIGTERM."""


def _on_sigterm(*_: object) -> None:
    raise Terminated


def _show_warning(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
    """Print this package's own warnings without the source line that issued them."""
    if issubclass(category, ClusterWarning | InputWarning | ModelWarning):
        click.echo(f"warning: {printable(redacted(str(message)), lines=True)}", err=True)
    else:
        _show_other(message, category, *place, **more)


_show_other = warnings.showwarning


STDOUT = "standard output"


class ClosedPipe(BaseException):
    """The reader of standard output has exited, as in `| head`."""


class _Stdout(io.FileIO):
    """Adds the name of standard output to errors, because "No space left on device" does not name a file."""

    def write(self, data: Any) -> int | None:  # type: ignore[override]
        try:
            return super().write(data)
        except BrokenPipeError:
            raise ClosedPipe from None
        except OSError as error:
            error.filename = STDOUT
            raise


def _wrapped(stdout: Any) -> Any:
    """Rebuild sys.stdout on top of _Stdout, unless it is a terminal or the calling program has replaced it."""
    is_replaced: bool = stdout is not sys.__stdout__
    if is_replaced or stdout.isatty():
        return stdout
    raw = _Stdout(stdout.fileno(), "wb", closefd=False)
    is_buffered = isinstance(stdout.buffer, io.BufferedWriter)  # false with PYTHONUNBUFFERED
    return io.TextIOWrapper(
        io.BufferedWriter(raw) if is_buffered else raw,
        stdout.encoding, stdout.errors, write_through=not is_buffered,
    )  # fmt: skip


def main() -> None:
    """Run the command and exit.

    Exit codes: 0 success, 1 error, 2 usage, 3 finished but skipped bad records, 130 SIGINT, 141 broken pipe, 143
    SIGTERM.
    """
    # OpenBLAS would start one thread per core, each of which spins for 40 ms. No command uses linear algebra.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    signal.signal(signal.SIGTERM, _on_sigterm)
    warnings.showwarning = _show_warning
    if sys.stdout is None:  # the caller closed it
        click.echo("error: stdout is closed", err=True)
        sys.exit(EXIT_ERROR)
    sys.stdout = _wrapped(sys.stdout)
    try:
        code = cli.main(standalone_mode=False)  # the code that a command passed to exit()
        sys.stdout.flush()
        if code:
            sys.exit(code)
    except click.ClickException as error:
        if isinstance(error, click.UsageError) and error.ctx is not None:
            click.echo(f"{error.ctx.get_usage()}\nTry '{error.ctx.command_path} --help' for help.\n", err=True)
        message = error.format_message().replace("\n\t", " ")  # click lists choices on separate lines
        click.echo(f"error: {printable(redacted(message), lines=True)}", err=True)
        sys.exit(error.exit_code)
    except OptionError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(EXIT_USAGE)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(EXIT_SIGINT)
    except Terminated:
        click.echo("terminated", err=True)
        sys.exit(EXIT_SIGTERM)
    except ClosedPipe:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # discards the rest of the buffer
        sys.exit(EXIT_SIGPIPE)
    except (UnitokError, OSError, MemoryError, UnicodeError) as error:
        what = printable(redacted(str(error)), lines=True) or type(error).__name__
        if isinstance(error, OSError) and error.filename is not None and error.strerror:
            what = printable(redacted(f"{os.fsdecode(error.filename)}: {error.strerror}"))
        click.echo(f"error: {what}", err=True)
        sys.exit(EXIT_ERROR)
    except Exception as error:
        if os.environ.get("PYUNITOK_TRACEBACK"):
            raise
        what = printable(redacted(str(error)), lines=True)
        click.echo(f"error: {type(error).__name__}: {what}", err=True)
        click.echo("This is a bug in pyunitok. Set PYUNITOK_TRACEBACK=1 to get a traceback for a bug report.", err=True)
        sys.exit(EXIT_ERROR)
    finally:
        gc.freeze()  # skips the final garbage collection, which takes a fifth of the time of a short run
