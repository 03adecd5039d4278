"""Reads and writes RWKV World vocabularies (text or JSON), and finds the installed copy of the published one.

The text form has one token per line. Lines end with LF or CRLF, which is optional after the last line:

    257 '\\t\\t' 2              id, Python literal of a str or bytes, number of bytes
    10987 b'\\xe0\\xa4' 2       a str stands for its UTF-8 bytes; invalid UTF-8 requires bytes

The JSON form is an object {token: id}. Its keys must be valid UTF-8, so it omits the bytes 128..255, which have the ids
129..256 as in the text form. It also omits longer pieces that are not valid UTF-8 (358 of the published 65,529), so
texts that contain these pieces get different ids.
Id 0 is reserved for `<|endoftext|>`, which neither form lists. Tokens with id 0 are rejected.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pyunitok._c.kinds import KINDS
from pyunitok.errors import ModelWarning, VocabularyError
from pyunitok.vocab import json_text
from pyunitok.vocab.vocabulary import Vocabulary

EOD_ID = 0
EOD_PIECE = "<|endoftext|>"
ID_MAX = 65535
DISTRIBUTION, PACKAGE = "pyrwkv-tokenizer", "pyrwkv_tokenizer"
FILE_NAME = "rwkv_vocab_v20230424.txt"

_Bytes = np.ndarray[Any, np.dtype[np.uint8]]
_Positions = np.ndarray[Any, np.dtype[np.int64]]
_Flags = np.ndarray[Any, np.dtype[np.bool_]]
_LineOf = Callable[[int], int]  # piece index -> line, called for messages only


def looks_like_text(head: bytes) -> bool:
    """Whether `head` looks like the start of the text form, even if invalid."""
    return re.match(rb"[0-9]+ b?['\"]", head) is not None


def looks_like_json(head: bytes) -> bool:
    """Whether `head` looks like the start of the JSON form: an object whose first value is a number."""
    return re.match(json_text.FIRST_KEY + rb"-?[0-9]", head, re.DOTALL) is not None


def find_installed() -> Path:
    """Find the published vocabulary in pyrwkv-tokenizer, without importing it."""
    advice = "to get the RWKV World vocabulary, run: pip install 'pyunitok[rwkv]'"
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise VocabularyError(f"{DISTRIBUTION} is not installed; {advice}")
    path = Path(spec.origin).with_name(FILE_NAME)
    if not path.is_file():
        raise VocabularyError(f"{DISTRIBUTION} is installed without {FILE_NAME}; {advice}")
    return path


# -------------------------------------------------------------------------------------------------- text ----


def read_text(data: bytes, name: str) -> Vocabulary:
    """Read the text form. NumPy parses all lines without escapes at once; the others are parsed one by one."""
    json_text.decode(data, name)
    lines = _scan(data)
    ids = lines.ids
    pieces = [data[i:j] for i, j in zip((lines.opens + 1).tolist(), lines.closes.tolist(), strict=True)]
    for i in np.flatnonzero(~lines.plain).tolist():
        try:
            ids[i], pieces[i] = _parse_line(data[lines.starts[i] : lines.ends[i]].decode())
        except ValueError as error:
            raise VocabularyError(f"{name}, line {i + 1}: {error}") from None
    return _build(pieces, ids, name, lambda i: i + 1)


class _Lines(NamedTuple):
    """One entry per line. Positions are byte offsets in the file.

    A plain line is valid, and its piece is the text between the quotes. Any other line contains an escape, is a bytes
    literal, or is invalid; only its start and end are meaningful, and _parse_line() must parse it.
    """

    starts: _Positions
    ends: _Positions  # where the line ends, before its CR or LF
    ids: _Positions
    opens: _Positions  # the opening quote
    closes: _Positions  # the closing quote
    plain: _Flags


def _scan(data: bytes) -> _Lines:
    text = np.frombuffer(data + bytes(8), np.uint8)  # the zeros terminate numbers at both ends of the text
    starts, ends = _find_lines(text[: len(data)])
    ids, n_id_digits = _read_numbers(text, starts, 1)
    lengths, n_length_digits = _read_numbers(text, ends - 1, -1)
    opens = starts + n_id_digits + 1
    closes = ends - n_length_digits - 2
    plain = (ids != EOD_ID) & (ids <= ID_MAX) & (lengths > 0)  # missing digits read as 0
    plain &= (text[opens - 1] == ord(" ")) & (text[closes + 1] == ord(" "))
    plain &= (text[opens] == text[closes]) & _is_quote(text[opens]) & (closes - opens - 1 == lengths)
    lines = _Lines(starts, ends, ids, opens, closes, plain)
    plain[_not_plain(text[: len(data)], lines)] = False
    return lines


def _find_lines(text: _Bytes) -> tuple[_Positions, _Positions]:
    """The start and end of every line. The last line may lack its LF."""
    ends = np.flatnonzero(text == ord("\n"))
    if len(text) and text[-1] != ord("\n"):
        ends = np.append(ends, len(text))
    starts = np.zeros_like(ends)
    starts[1:] = ends[:-1] + 1
    ends = ends - ((ends > starts) & (text[ends - 1] == ord("\r")))
    return starts, ends


def _read_numbers(text: _Bytes, places: _Positions, step: int) -> tuple[_Positions, _Positions]:
    """(values, digit counts) of the numbers, of up to 5 digits, that start (step 1) or end (step -1) at `places`."""
    values = np.zeros_like(places)
    n_digits = np.zeros_like(places)
    going = np.ones(len(places), np.bool_)
    for i in range(5):
        digits = text[places + i * step] - np.uint8(ord("0"))  # wraps around, so other bytes are above 9
        going &= digits <= 9
        longer = values * 10 + digits if step > 0 else values + digits * np.int64(10**i)
        values = np.where(going, longer, values)
        n_digits += going
    return values, n_digits


def _not_plain(text: _Bytes, lines: _Lines) -> _Positions:
    """The lines with a backslash, a CR, a NUL, or another quote of the same type between their quotes."""
    special = _is_quote(text) | (text == ord("\\")) | (text == ord("\r")) | (text == 0)
    special[lines.opens[lines.plain]] = False
    special[lines.closes[lines.plain]] = False
    places = np.flatnonzero(special)
    owners = np.searchsorted(lines.starts, places, "right") - 1
    same_quote = text[places] == text[lines.opens[owners].clip(0, len(text) - 1)]
    wrong = (places < lines.closes[owners]) & (same_quote | ~_is_quote(text[places]))
    ret: _Positions = owners[wrong]
    return ret


def _is_quote(text: _Bytes) -> _Flags:
    ret: _Flags = (text == ord("'")) | (text == ord('"'))
    return ret


_LINE = re.compile(
    r"(-?[0-9]+) "
    r"(b?)(?:'([^'\\\r\0]*(?:\\[^\r\0][^'\\\r\0]*)*)'|\"([^\"\\\r\0]*(?:\\[^\r\0][^\"\\\r\0]*)*)\")"
    r" ([0-9]+)"
)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|[0-7]{1,3}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPED = dict(zip("abfnrtv\\'\"", "\a\b\f\n\r\t\v\\'\"", strict=True))


def _parse_line(line: str) -> tuple[int, bytes]:
    """(id, piece) of any line, given without its line end. Raises ValueError, which says why the line is invalid."""
    match = _LINE.fullmatch(line)
    if match is None:
        raise ValueError(f"expected `id 'token' length`: {_shown(line)}")
    token_id = _check_id(_small_int(match[1]), match[1])
    body = match[3] if match[3] is not None else match[4]
    piece = _unescape_bytes(body) if match[2] else _encode(_unescape(body, "xuU"))
    if not piece:
        raise ValueError("the token is empty")
    if len(piece) != _small_int(match[5]):
        raise ValueError(f"the token {_shown(piece)} has {len(piece)} bytes, not {_short(match[5])}")
    return token_id, piece


def _unescape(body: str, numeric: str) -> str:
    """Unescape the inside of a literal as Python does. `numeric` lists its \\x-like escapes.

    Raises ValueError for \\N{...}, octal escapes above \\377 and unknown escapes: repr() never writes them, and Python
    deprecates the last two.
    """

    def replace(match: re.Match[str]) -> str:
        escape = match[1]
        if escape in _ESCAPED:
            return _ESCAPED[escape]
        if escape[0] in "01234567" and int(escape, 8) <= 0o377:
            return chr(int(escape, 8))
        if escape[0] in numeric and len(escape) > 1 and int(escape[1:], 16) <= 0x10FFFF:
            return chr(int(escape[1:], 16))
        raise ValueError(f"unsupported escape in the literal: {_shown(match[0])}")

    return _ESCAPE.sub(replace, body)


def _unescape_bytes(body: str) -> bytes:
    if not body.isascii():
        raise ValueError("a bytes literal may contain only ASCII")
    return _unescape(body, "x").encode("latin-1")


def write_text(vocabulary: Vocabulary) -> bytes:
    """The text form. Reads the result back to reject vocabularies that the form cannot represent."""
    name = f"cannot convert {vocabulary.name} to an RWKV vocabulary"
    _check_expressible(vocabulary, name)
    items = zip(vocabulary.ids.tolist(), vocabulary.pieces, strict=True)
    lines = [f"{id_} {_literal(piece)} {len(piece)}\n" for id_, piece in items]
    ret = "".join(lines).encode()
    read_text(ret, name)
    return ret


def _literal(piece: bytes) -> str:
    try:
        return repr(piece.decode())
    except UnicodeDecodeError:
        return repr(piece)


# -------------------------------------------------------------------------------------------------- JSON ----


def read_json(data: bytes, name: str) -> Vocabulary:
    """Read the JSON form, and add the bytes 128..255, which it cannot represent."""
    text = json_text.decode(data, name)
    listed = _load_pairs(text, name)
    pairs = [(token, value) for token, value in listed if token]
    places = [i for i, (token, _) in enumerate(listed) if token]
    pieces = []
    ids = np.zeros(len(pairs) + 128, np.int64)

    def line_of(index: int) -> int:
        return _line_of_pair(text, places[index])

    if len(pairs) < len(listed):
        line = _line_of_pair(text, next(i for i, (token, _) in enumerate(listed) if not token))
        message = f"{name}, line {line}: ignored an empty token, which matches nothing"
        warnings.warn(ModelWarning(message), stacklevel=2)
    for i, (token, value) in enumerate(pairs):
        try:
            piece, ids[i] = _parse_pair(token, value)
        except ValueError as error:
            raise VocabularyError(f"{name}, line {line_of(i)}: {error}") from None
        pieces.append(piece)
    taken = np.flatnonzero((ids > 128) & (ids <= 256))
    if len(taken):
        i = int(taken[0])
        raise VocabularyError(
            f"{name}, line {line_of(i)}: id {ids[i]} is reserved for byte 0x{ids[i] - 1:02x}, "
            f"but the file assigns it to {_shown(pieces[i])}"
        )
    pieces += [bytes([b]) for b in range(128, 256)]
    ids[len(pairs) :] = np.arange(129, 257)
    return _build(pieces, ids, name, line_of)


def _load_pairs(text: str, name: str) -> list[tuple[str, object]]:
    """The (key, value) pairs of the object, including duplicates."""
    pairs: list[tuple[str, object]] = json_text.load(text, name, object_pairs_hook=list)
    if not text.lstrip().startswith("{"):
        raise VocabularyError(f"{name}: not a JSON object of {{token: id}}")
    return pairs


def _parse_pair(token: str, value: object) -> tuple[bytes, int]:
    if type(value) is not int:  # isinstance() would accept bool
        raise ValueError(f"the value of {_shown(token)} is not an id; the file must have the form {{token: id}}")
    digits = str(value) if abs(value) < 10**18 else "of more than 18 digits"  # str() rejects huge ints
    return _encode(token), _check_id(value, digits)


def _line_of_pair(text: str, index: int) -> int:
    """The line of pair `index`. No earlier value may contain a string, so that all strings before the pair are keys."""
    for i, match in enumerate(re.finditer(r'"[^"\\]*(?:\\.[^"\\]*)*"', text)):
        if i == index:
            return text.count("\n", 0, match.start()) + 1
    raise AssertionError("there are as many keys as pairs")


def write_json(vocabulary: Vocabulary) -> bytes:
    """The JSON form, one token per line. Reads the result back to reject vocabularies that the form cannot
    represent."""
    name = f"cannot convert {vocabulary.name} to RWKV's JSON"
    _check_expressible(vocabulary, name)
    lines = []
    for id_, piece in zip(vocabulary.ids.tolist(), vocabulary.pieces, strict=True):
        if len(piece) == 1 and piece[0] >= 128:
            if id_ != piece[0] + 1:
                raise VocabularyError(f"{name}: byte 0x{piece[0]:02x} must have id {piece[0] + 1}, not {id_}")
            continue
        try:
            lines.append(f"{json.dumps(piece.decode(), ensure_ascii=False)}: {id_}")
        except UnicodeDecodeError:
            raise VocabularyError(
                f"{name}: token {_shown(piece)} (id {id_}) is not valid UTF-8, as JSON requires; use the text form"
            ) from None
    ret = ("{\n" + ",\n".join(lines) + "\n}\n").encode()
    read_json(ret, name)
    return ret


# -------------------------------------------------------------------------------------------------- both ----


def _build(pieces: list[bytes], ids: _Positions, name: str, line_of: _LineOf) -> Vocabulary:
    """Build the vocabulary from pieces that are individually valid. Raises VocabularyError if they conflict."""
    unique = set(pieces)
    if len(unique) != len(pieces):
        first, second = _find_duplicate(pieces)
        shown = _shown(pieces[second])
        raise VocabularyError(f"{name}, line {line_of(second)}: {shown} is also on line {line_of(first)}")
    if len(ids) and np.bincount(ids).max() > 1:
        first, second = _find_duplicate(ids.tolist())
        raise VocabularyError(
            f"{name}, line {line_of(second)}: id {ids[second]} is also on line {line_of(first)}"
        )
    _check_bytes(unique, name)
    return Vocabulary.pack(pieces, ids, eod_id=EOD_ID, eod_piece=EOD_PIECE, fallback_id=None, name=name)


def _check_expressible(vocabulary: Vocabulary, name: str) -> None:
    if KINDS[vocabulary.kind].has_spec:
        raise VocabularyError(
            f"{name}: the format requires a greedy longest-prefix model, but this is {vocabulary.kind}"
        )
    if vocabulary.eod_id not in (None, EOD_ID):
        raise VocabularyError(f"{name}: the end of document must have id {EOD_ID}, not {vocabulary.eod_id}")
    if vocabulary.fallback_id is not None:
        raise VocabularyError(f"{name}: fallback ids are not supported")


def _check_bytes(pieces: set[bytes], name: str) -> None:
    missing = [f"0x{b:02x}" for b in range(256) if bytes([b]) not in pieces]
    if missing:
        listed = ", ".join(missing[:8]) + (", ..." if len(missing) > 8 else "")
        raise VocabularyError(f"{name}: {len(missing)} of the 256 single bytes have no token: {listed}")


def _find_duplicate(items: Sequence[bytes | int]) -> tuple[int, int]:
    seen: dict[bytes | int, int] = {}
    for i, item in enumerate(items):
        if item in seen:
            return seen[item], i
        seen[item] = i
    raise AssertionError("the caller knows that there is a duplicate")


def _check_id(value: int, digits: str) -> int:
    if value == EOD_ID:
        raise ValueError(f"id {EOD_ID} is reserved for {EOD_PIECE}")
    if not 0 < value <= ID_MAX:
        raise ValueError(f"id {_short(digits)} is not in 1..{ID_MAX}")
    return value


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"the token contains a lone surrogate, U+{ord(text[error.start]):04X}") from None


def _small_int(digits: str) -> int:
    """int() of the first 18 digits, because int() rejects strings of thousands of digits."""
    sign = -1 if digits.startswith("-") else 1
    return sign * int(digits.lstrip("-0")[:18] or "0")


def _shown(item: str | bytes) -> str:
    """The item as an ASCII literal, for messages."""
    return _short(ascii(item[:80]))


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
