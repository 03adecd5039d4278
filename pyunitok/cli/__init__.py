"""The command line: each command checks its arguments, calls the library, and reports; imports wait until needed."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
import warnings
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click

from pyunitok import __version__
from pyunitok.disk.url import redacted
from pyunitok.errors import ClusterWarning, InputWarning, ModelWarning, OptionError, UnitokError, printable

EXIT_ERROR, EXIT_USAGE, EXIT_SIGINT, EXIT_SIGPIPE, EXIT_SIGTERM = 1, 2, 130, 141, 143


# For `pyunitok --help`, which then imports no command; a test holds these to what the commands themselves say.
COMMANDS = {
    "convert": "Write the model IN as OUT, in another format.",
    "decode": "Show the text of IDS, or of each line of ids on stdin.",
    "detokenize": "Turn a token file back into its text.",
    "duplicates": "Find text that occurs more than once in an index, or drop it.",
    "encode": "Show the ids of TEXT, or of each line of stdin.",
    "export": "Write a token file for another tool.",
    "index": "Index token files for search: build suffix arrays in shards of whole documents.",
    "inspect": "Describe a model file or a token file.",
    "merge": "Join finished token files in the given order.",
    "search": "Count and find any text in an index, however it was tokenized.",
    "serve": "Search an index in the browser.",
    "stats": "Show statistics of a token file: bytes per token, document lengths, inputs, frequent and unused pieces.",
    "tokenize": "Tokenize files into OUT, a raw array of ids.",
    "train": "Train a model on texts.",
    "verify": "Check that a token file (hashes, document ends, ids, counts) or an index (hashes, order, tables) is "
    "intact.",
    "vocab": "Edit, compare and list vocabularies.",
}


class Commands(click.Group):
    """Each command is imported when it is called, from the module of its name."""

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
            ctx.fail(f"there is no command {args[0]!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="pyunitok", message="pyunitok %(version)s")
def cli() -> None:
    """Turn text corpora into uint16 token arrays, exactly and fast.

    \b
    Example:
      pyunitok tokenize corpus.jsonl.zst -o ids.u16
      python -c "import numpy; print(numpy.memmap('ids.u16', dtype='<u2')[:10])"
    """


class Terminated(BaseException):
    """SIGTERM arrived."""


def _on_sigterm(*_: object) -> None:
    raise Terminated


def _show_warning(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
    """A warning of ours is for the user: without the line of code that raised it."""
    if issubclass(category, ClusterWarning | InputWarning | ModelWarning):
        click.echo(f"warning: {printable(redacted(str(message)), lines=True)}", err=True)
    else:
        _show_other(message, category, *place, **more)


_show_other = warnings.showwarning


STDOUT = "standard output"


class ClosedPipe(BaseException):
    """Nobody reads standard output any more, as after `| head`."""


class _Stdout(io.FileIO):
    """Standard output, whose errors name it: otherwise a full disk behind it says that it is full, not where."""

    def write(self, data: Any) -> int | None:  # type: ignore[override]
        try:
            return super().write(data)
        except BrokenPipeError:
            raise ClosedPipe from None
        except OSError as error:
            error.filename = STDOUT
            raise


def _named(stdout: Any) -> Any:
    """sys.stdout, rebuilt over a _Stdout; what a program that calls main() has put there instead stays."""
    is_own: bool = stdout is sys.__stdout__
    if not is_own or stdout.isatty():
        return stdout
    raw = _Stdout(stdout.fileno(), "wb", closefd=False)
    is_buffered = isinstance(stdout.buffer, io.BufferedWriter)  # not with PYTHONUNBUFFERED
    return io.TextIOWrapper(
        io.BufferedWriter(raw) if is_buffered else raw,
        stdout.encoding, stdout.errors, write_through=not is_buffered,
    )  # fmt: skip


def main() -> None:
    """The entry point: 0 all was done, 1 error, 2 usage, 3 bad records were left out, 130 and 143 interrupted,
    141 nobody read standard output to its end."""
    # numpy's linear algebra, which no command uses, would start a thread a core, and each would spin for 40 ms.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    signal.signal(signal.SIGTERM, _on_sigterm)
    warnings.showwarning = _show_warning
    if sys.stdout is None:  # closed by the caller
        click.echo("error: stdout is closed", err=True)
        sys.exit(EXIT_ERROR)
    sys.stdout = _named(sys.stdout)
    try:
        code = cli.main(standalone_mode=False)  # of a command that called exit(); else what it returned
        sys.stdout.flush()
        if code:
            sys.exit(code)
    except click.ClickException as error:
        if isinstance(error, click.UsageError) and error.ctx is not None:
            click.echo(f"{error.ctx.get_usage()}\nTry '{error.ctx.command_path} --help' for help.\n", err=True)
        message = error.format_message().replace("\n\t", " ")  # of choices, which click puts in lines
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
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for what is still in the buffer
        sys.exit(EXIT_SIGPIPE)
    except (UnitokError, OSError, MemoryError, UnicodeError) as error:
        what = printable(redacted(str(error)), lines=True) or type(error).__name__
        if isinstance(error, OSError) and error.filename == STDOUT:
            what = f"{STDOUT}: cannot be written: {error.strerror}"
        elif isinstance(error, OSError) and error.filename is not None and error.strerror:
            what = printable(redacted(f"{os.fsdecode(error.filename)}: {error.strerror}"))
        click.echo(f"error: {what}", err=True)
        sys.exit(EXIT_ERROR)
    except Exception as error:
        if os.environ.get("PYUNITOK_TRACEBACK"):
            raise
        what = printable(redacted(str(error)), lines=True)
        click.echo(f"error: {type(error).__name__}: {what}", err=True)
        click.echo("This is a defect of pyunitok. PYUNITOK_TRACEBACK=1 shows where; please report it.", err=True)
        sys.exit(EXIT_ERROR)
    finally:
        gc.freeze()  # a last search for cycles in all objects would take a fifth of a short run
