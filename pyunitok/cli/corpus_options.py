"""Defines the options of the commands that read a corpus and write a cleaned one."""

from __future__ import annotations

import click

from pyunitok.cli.arguments import SIZE, Command
from pyunitok.corpus.formats import FORMATS


def running_options(command: Command) -> Command:
    """Adds --threads, --max-memory and --overwrite to a command."""
    for option in (
        click.option("--overwrite", is_flag=True, help="Start over and replace CLEAN if it exists."),
        click.option(
            "--max-memory", "max_memory_bytes", type=SIZE, default="1G", show_default=True, help="Memory budget."
        ),
        click.option("--threads", type=click.IntRange(1), help="Number of threads; by default, one per core."),
    ):
        command = option(command)
    return command


def reading_options(command: Command) -> Command:
    """Adds the options of the Inputs section, which determine how the corpus is read."""
    for option in (
        click.option(
            "--on-error", type=click.Choice(["raise", "skip"]), default="raise", show_default=True,
            help="Stop at a bad line, or skip it, list it in CLEAN.errors.jsonl and exit with 3.",
        ),
        click.option(
            "--max-line", "max_line_bytes", type=SIZE, default="256M", show_default=True,
            help="JSONL: maximum line length.",
        ),
        click.option(
            "--exclude", metavar="PATTERN", multiple=True, help="In directories, skip files matching PATTERN."
        ),
        click.option(
            "--include", metavar="PATTERN", multiple=True, help="In directories, read only files matching PATTERN."
        ),
        click.option(
            "--doc", metavar="file|line|SEPARATOR", default="file", show_default=True,
            help="Text: how to split files into documents.",
        ),
        click.option(
            "--input-format", type=click.Choice(["auto", *FORMATS]), default="auto", show_default=True,
            help="The format of the corpus.",
        ),
        click.option(
            "--text-key", default="text", show_default=True, help="The JSON field with the text; a.b is field b of a."
        ),
    ):  # fmt: skip
        command = option(command)
    return command


INPUTS = "text-key input-format doc include exclude max-line on-error"  # the options of reading_options
