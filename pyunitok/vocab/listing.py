"""select() filters the pieces of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyunitok.errors import OptionError
from pyunitok.packed import Packed
from pyunitok.vocab import scripts, utf8
from pyunitok.vocab.vocabulary import split

MAX_SECONDS = 1  # timeout for matching one piece, because some patterns take exponential time


def select(
    pieces: Packed, *, longest: int | None = None, pattern: str | None = None, script: Sequence[str] = (),
    min_bytes: int = 1, not_utf8: bool = False,
) -> list[tuple[int, bytes]]:  # fmt: skip
    """(id, piece) for the Tokenizer.pieces() that pass all filters, in the order of their ids.

    longest    return only the n longest pieces, longest first
    pattern    the piece contains a match of this regular expression (of the regex package); invalid bytes count as
               U+FFFD
    script     the piece contains a character of one of these Unicode scripts
    min_bytes  the piece has at least n bytes
    not_utf8   the piece is not valid UTF-8
    """
    wanted = [_compiled(pattern)] if pattern is not None else []
    wanted += [scripts.characters(script)] if script else []
    found = []
    for id_, piece in enumerate(split(pieces.data, pieces.offsets)):
        if len(piece) < max(1, min_bytes) or (not_utf8 and utf8.is_valid(piece)):
            continue
        text = piece.decode("utf-8", "replace") if wanted else ""
        try:
            if all(test.search(text, timeout=MAX_SECONDS) for test in wanted):
                found.append((id_, piece))
        except TimeoutError:
            raise OptionError(
                f"{pattern!r} takes more than {MAX_SECONDS} s to match piece {id_} ({text!r}); simplify the pattern"
            ) from None
    return found if longest is None else sorted(found, key=lambda item: (-len(item[1]), item[0]))[:longest]


def _compiled(pattern: str) -> Any:
    regex = scripts.regex()
    try:
        return regex.compile(pattern)
    except regex.error as error:
        raise OptionError(f"{pattern!r} is not a regular expression: {error}") from None
