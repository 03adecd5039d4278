"""Provides functions for the scripts that write tables in csrc/text."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

END = 0x110000  # one past the last code point
SURROGATES = range(0xD800, 0xE000)


def target(name: str) -> Path:
    return Path(__file__).resolve().parent.parent / "csrc" / "text" / name


def wrapped(items: Iterable[str]) -> list[str]:
    """The items, joined into lines of at most 110 columns."""
    rows, row = [], "   "
    for item in items:
        if len(row) + 1 + len(item) > 110:
            rows.append(row)
            row = "   "
        row += " " + item
    return [*rows, row]


def require_unicode(found: str) -> None:
    """Exit unless unicodedata2 has Unicode 16."""
    if found != "16.0.0":
        raise SystemExit(f"unicodedata2 has Unicode {found}; install unicodedata2==16.0.0")


def main(target: Path, render: Callable[[], str]) -> None:
    """Write the file or, with --check, exit with 1 if it differs."""
    text = render()
    if sys.argv[1:] == ["--check"]:
        sys.exit(target.read_text() != text)
    target.write_text(text)
