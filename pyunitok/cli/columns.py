"""Prints ids in columns with their pieces below them, coloured on a terminal:

    32762 15424  47
    The   ␣quick .
"""

from __future__ import annotations

import os
import shutil
import sys
import unicodedata
from collections.abc import Iterator

import click

_COLOURS = ("cyan", "yellow", "green", "magenta")
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}


def columns(ids: list[str], pieces: list[str]) -> Iterator[str]:
    """Yield a line of ids, then a line of pieces, wrapped to the terminal's width if stdout is a terminal."""
    on_terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if on_terminal else 1 << 62
    coloured = on_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    cells = [shown(piece) for piece in pieces]
    if len(ids) != len(cells):  # columns need one id per piece
        yield from (" ".join(ids), "|".join(cells))
        return
    begin = 0
    while begin < len(ids) or begin == 0:
        end, used = begin, 0
        while end < len(ids) and (end == begin or used + _width_of(ids[end], cells[end]) <= width):
            used += _width_of(ids[end], cells[end]) + 1
            end += 1
        yield " ".join(ids[k].ljust(_width_of(ids[k], cells[k])) for k in range(begin, end)).rstrip(" ")
        yield " ".join(_cell(cells[k], ids[k], k, coloured) for k in range(begin, end)).rstrip(" ")
        begin = max(end, begin + 1)


def _cell(cell: str, id_: str, k: int, coloured: bool) -> str:
    shown = click.style(cell, fg="black", bg=_COLOURS[k % len(_COLOURS)]) if coloured else cell
    return shown + " " * (_width_of(id_, cell) - _width(cell))


def _width_of(id_: str, cell: str) -> int:
    return max(len(id_), _width(cell))


def shown(piece: str) -> str:
    """Make spaces and control characters visible, and escape characters that the terminal cannot encode."""
    parts = []
    for c in piece:
        if c == " ":
            parts.append("\u2423")
        elif c in _ESCAPES:
            parts.append(_ESCAPES[c])
        elif unicodedata.category(c) in ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"):
            parts.append(f"\\x{ord(c):02x}" if ord(c) < 0x100 else f"\\u{{{ord(c):x}}}")
        else:
            parts.append(c)
    text = "".join(parts)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _width(text: str) -> int:
    """Return the number of terminal columns: two per wide character, none per combining mark."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text)
