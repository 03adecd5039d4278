"""Divides the help of commands with many options into sections. The common options come first."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import click


class Sectioned(click.Command):
    """`sections` maps a heading to option names. All other options are listed first, under "Options"."""

    def __init__(self, *arguments: Any, sections: Mapping[str, str], **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.sections = {heading: names.split() for heading, names in sections.items()}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [parameter for parameter in self.get_params(ctx) if isinstance(parameter, click.Option)]
        rows = {name_of(option): option.get_help_record(ctx) for option in options}
        apart = {name for names in self.sections.values() for name in names}
        common = [name for name in rows if name not in apart]
        for heading, names in {"Options": common, **self.sections}.items():
            shown = [_shortened(row) for name in names if (row := rows.get(name))]  # hidden options have no row
            if shown:
                with formatter.section(heading):
                    formatter.write_dl(shown)


def name_of(option: click.Option) -> str:
    """Return the option's longest name without dashes."""
    return max(option.opts, key=len).removeprefix("--")


def _shortened(row: tuple[str, str]) -> tuple[str, str]:
    """Write --x / --no-x as --[no-]x, and drop obvious ranges such as x>=1."""
    name, text = row
    name = re.sub(" (INTEGER|FLOAT)( RANGE)?$", " N", re.sub(r"^--(\S+) / --no-\1", r"--[no-]\1", name))
    text = re.sub(r"(?<=[ \[])(x>=[01]|1<=x<=\d{5,})(; |(?=\]))", "", text)
    return name, re.sub(r"(  \[|; )\]$", lambda found: "]" if found[1] == "; " else "", text)
