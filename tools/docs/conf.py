"""Configuration of the documentation site: python -m sphinx -W -b html tools/docs OUT (run by check.py docs)."""

from __future__ import annotations

import re
import textwrap
from itertools import groupby
from typing import Any

import click

import pyunitok
from pyunitok.cli import cli

project = "pyunitok"
copyright = "the pyunitok developers"
version = release = pyunitok.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
nitpicky = False
suppress_warnings = ["myst.header"]
autodoc_typehints = "none"  # signatures already show the types; docstrings describe the parameters
autodoc_member_order = "bysource"
autodoc_mock_imports = ["datatrove", "ray"]
add_module_names = False
html_theme = "furo"
html_title = f"pyunitok {version}"
html_copy_source = False
templates_path: list[str] = []


def reformat(_app: Any, _kind: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """Turn a docstring into reStructuredText: `code` becomes literal, and indented lines keep their columns."""
    text = textwrap.dedent("\n".join(lines))
    ret: list[str] = []
    for indented, group in groupby(text.splitlines(), key=lambda line: line.startswith(" ") or None if line else None):
        block = list(group)
        if indented:
            ret += ["", ".. code-block:: text", "", *(f"   {line}" for line in block), ""]
        else:
            ret += [paragraph(line) for line in block]
    lines[:] = [*ret, ""]


def paragraph(line: str) -> str:
    """Escape characters outside `code` in a line of prose that reStructuredText would interpret."""
    parts = line.split("`")
    if len(parts) % 2 == 0:
        return re.sub(r"([\\*_|`<>:])", r"\\\1", line)
    escaped = [re.sub(r"([\\*_|<>:])", r"\\\1", part) if k % 2 == 0 else f"``{part}``" for k, part in enumerate(parts)]
    return "".join(escaped)


def help_of(command: click.Command, context: click.Context, level: int) -> list[str]:
    """A Markdown section for a command and one for each of its subcommands."""
    ret = ["", f"{'#' * level} {context.command_path}", "", "```text", command.get_help(context), "```"]
    if not isinstance(command, click.Group):
        return ret
    for name in command.list_commands(context):
        subcommand = command.get_command(context, name)
        assert subcommand is not None
        ret += help_of(subcommand, click.Context(subcommand, context, name, max_content_width=100), level + 1)
    return ret


def add_help(_app: Any, name: str, source: list[str]) -> None:
    """Generate the command reference from the help of each command."""
    if name == "commands":
        source[0] += "\n".join(help_of(cli, click.Context(cli, info_name="pyunitok", max_content_width=100), 2)) + "\n"


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", reformat)
    app.connect("source-read", add_help)
