"""Implements the `train` command. The table of trainers defines its subcommands, with their options and help."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from pyunitok import __version__
from pyunitok.cli import LazyGroup
from pyunitok.cli.arguments import SIZE, Parsed, parse_separator
from pyunitok.cli.progress import PhaseBar
from pyunitok.cli.sections import Sectioned
from pyunitok.disk.reports import check_report
from pyunitok.disk.url import redacted, shown
from pyunitok.run.options import CHOICES
from pyunitok.tokens.page import require_plots
from pyunitok.train import report_page
from pyunitok.train.api import MAX_VOCAB_SIZE, outputs, run
from pyunitok.train.options import Option
from pyunitok.train.trained import Trained
from pyunitok.train.trainer import Trainer
from pyunitok.train.trainers import TRAINERS

INPUT_OPTIONS = "input-format text-key doc include exclude"


class Trainers(LazyGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(TRAINERS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return _command(TRAINERS[cmd_name]) if cmd_name in TRAINERS else None


@click.group(cls=Trainers)
def train() -> None:
    """Train a model.

    \b
    Examples:
      pyunitok train unigram corpus.jsonl.zst -o en.model --vocab-size 32000
      pyunitok train bpe books/ -o books.model --vocab-size 16000 --byte-fallback
      pyunitok train longest corpus.jsonl.zst -o world.txt --vocab-size 65536
      pyunitok train bytepiece corpus.jsonl.zst -o zh.model --vocab-size 32000
    """


def _command(row: Trainer) -> click.Command:
    sections = {"Inputs": INPUT_OPTIONS}
    for option in row.options:
        if option.section:
            name = (option.flag or option.name).replace("_", "-")
            sections[option.section] = f"{sections.get(option.section, '')} {name}"
    parameters = [*_common(row), *map(_parameter, row.options)]
    return Sectioned(row.name, params=parameters, callback=partial(_train, row), help=row.help, sections=sections)


def _common(row: Trainer) -> list[click.Parameter]:
    """Make the options that all trainers share."""
    ret: list[click.Parameter] = [
        click.Argument(["inputs"], metavar="IN...", nargs=-1, required=True),
        click.Option(["-o", "--out"], metavar="NAME", required=True, help=row.out_help),
        click.Option(
            ["--vocab-size"], type=click.IntRange(1, MAX_VOCAB_SIZE), required=True,
            help="Number of pieces, including symbols.",
        ),
        click.Option(
            ["--input-format"], type=click.Choice(CHOICES["input_format"]), default="auto",
            show_default=True, help="As in `pyunitok tokenize`.",
        ),
        click.Option(
            ["--text-key"], default="text", show_default=True, help="JSONL, Parquet: the field with the text."
        ),
        click.Option(
            ["--include"], metavar="PATTERN", multiple=True, help="In directories, read only files matching PATTERN."
        ),
        click.Option(
            ["--exclude"], metavar="PATTERN", multiple=True, help="In directories, skip files matching PATTERN."
        ),
        click.Option(
            ["--doc"], default="file", show_default=True, metavar="file|line|SEPARATOR",
            help="Text: how to split files into documents.",
        ),
        click.Option(["--threads"], type=click.IntRange(1), help="Number of threads; by default, one per core."),
        click.Option(["--max-memory"], type=SIZE, default="2G", show_default=True, help=row.memory_help),
        click.Option(["--overwrite"], is_flag=True, help="Replace the model if it exists."),
        click.Option(
            ["--checkpoint"], metavar="DIR",
            help="Save the result of each phase in DIR. Run the same command again to resume.",
        ),
        click.Option(["--report"], metavar="FILE.html", help="Write the summary, with charts, as an HTML page."),
    ]  # fmt: skip
    if row.takes_sizes:
        ret.append(click.Option(
            ["--also-size", "also"], type=click.IntRange(1), multiple=True, metavar="N",
            help="Also make a model of this size. May be repeated. The models are then named NAME.N.",
        ))  # fmt: skip
    if row.takes_settings:
        ret.append(click.Option(
            ["--set", "more"], multiple=True, metavar="NAME=VALUE",
            help="Set another spm_train option, as in unk_id=3. input_format=tsv reads lines of TEXT<tab>COUNT.",
        ))  # fmt: skip
    return ret


def _parameter(option: Option) -> click.Option:
    flag = "--" + (option.flag or option.name).replace("_", "-")
    settings: dict[str, Any] = {"help": option.help, "default": option.default, "hidden": option.is_hidden}
    if option.type is bool:
        flag += f"/--no-{flag[2:]}" * option.is_pair
        settings |= {"is_flag": True, "show_default": option.is_pair and option.default is not None}
    else:
        settings |= {"type": _type(option), "metavar": option.metavar, "show_default": option.default is not None}
    if option.collect is not None:
        settings |= {"multiple": True, "default": (), "show_default": False}
    return click.Option([flag, option.name], **settings)


def _type(option: Option) -> Any:
    if isinstance(option.type, tuple):
        return click.Choice(option.type)
    if option.least is not None or option.most is not None:
        return click.IntRange(option.least, option.most)
    return option.type if option.type in (str, int, float) else Parsed(option.type)


def _naming(options: dict[str, Any]) -> dict[str, Any]:
    """The options that determine which files are written."""
    return {name: options[name] for name in ("byte_level", "pattern") if name in options}


def _train(row: Trainer, also: tuple[int, ...] = (), more: tuple[str, ...] = (), **options: Any) -> None:
    out, page = Path(options["out"]), options.pop("report")
    if also:
        options["vocab_size"] = [options["vocab_size"], *also]
    files = outputs(row.name, out, options["vocab_size"], **_naming(options))
    names = " and ".join([str(files[0]), *(file.name for file in files[1:])])
    if page is not None:
        check_report(Path(page))
        require_plots()
    for option in row.options:
        if option.collect is not None:
            options[option.name] = option.collect(options[option.name])
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    settings = [pair.partition("=") for pair in more]
    for name, equals, _ in settings:
        if not equals:
            raise click.UsageError(f"--set {name!r} has no value; use --set NAME=VALUE")
    given["separator"] = parse_separator(given.pop("doc"))

    def write_page(trained: Trained) -> None:
        report_page.write(trained, Path(page), str(out), _how(row.name))

    with PhaseBar() as bar:
        trained = run(
            list(given.pop("inputs")), kind=row.name, progress=bar.show,
            settings={name: value for name, _, value in settings},
            report=None if page is None else (Path(page), write_page), **given,
        )  # fmt: skip
    if trained is None:
        click.echo(f"already complete: {names}", err=True)
        return
    for name, value in [*trained.rows(), ("written", names)]:
        click.echo(f"{name:<14} {value}")
    if page is not None:
        click.echo(f"{'report':<14} {page}")


def _how(kind: str) -> list[tuple[str, str]]:
    """Return the inputs and options from the command line, for the report."""
    context = click.get_current_context()
    given = []
    for option in context.command.params:
        name, value = str(option.name), context.params.get(str(option.name))
        on_line = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if not isinstance(option, click.Option) or not on_line or name in ("out", "report", "overwrite", "checkpoint"):
            continue
        if isinstance(value, bool):
            given.append(option.opts[0] if value else (option.secondary_opts or option.opts)[0])
            continue
        for item in value if option.multiple and value else [value]:
            given.append(f"{option.opts[0]} {'='.join(map(str, item)) if isinstance(item, tuple) else item}")
    inputs = ", ".join(map(shown, context.params["inputs"]))
    return [("kind", f"{kind}, pyunitok {__version__}"), ("inputs", inputs), ("options", redacted(" ".join(given)))]
