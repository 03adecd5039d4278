"""Encodes by the greedy longest prefix, finds cuts, decodes, and reads the documents of text and JSON lines files."""

from __future__ import annotations

import json
from collections.abc import Mapping


def longest_prefix(pieces: Mapping[bytes, int], text: bytes, fallback: int | None = None) -> list[int]:
    """The ids of the longest pieces, from left to right. A byte at which no piece begins becomes `fallback`."""
    lengths = sorted(set(map(len, pieces)), reverse=True)
    ids, i = [], 0
    while i < len(text):
        for n_bytes in lengths:
            piece = text[i : i + n_bytes]  # shorter at the end of the text
            if piece in pieces:
                ids.append(pieces[piece])
                n_bytes = len(piece)
                break
        else:
            if fallback is None:
                raise ValueError(f"no piece begins at byte {i}")
            ids.append(fallback)
            n_bytes = 1
        i += n_bytes
    return ids


def spans(pieces: Mapping[bytes, int], text: bytes, fallback: int | None = None) -> list[tuple[int, int]]:
    """The (begin, end) of each token of longest_prefix(), in bytes."""
    piece_of = {id_: piece for piece, id_ in pieces.items()}
    ret, i = [], 0
    for id_ in longest_prefix(pieces, text, fallback):
        piece = piece_of.get(id_, b"")
        n_bytes = len(piece) if piece and text.startswith(piece, i) else 1
        ret.append((i, i + n_bytes))
        i += n_bytes
    return ret


def cuts(pieces: Mapping[bytes, int], text: bytes) -> set[int]:
    """The positions inside the text that no piece can span, whatever precedes and follows the text.

    A piece could span position i if it covers i and agrees with all bytes of the text that it covers. Its bytes
    before and after the text may be anything.
    """
    ret = set()
    for i in range(1, len(text)):
        overlaps = ((piece, i - k) for piece in pieces for k in range(1, len(piece)))
        if not any(_agrees(piece, text, begin) for piece, begin in overlaps):
            ret.add(i)
    return ret


def _agrees(piece: bytes, text: bytes, begin: int) -> bool:
    skipped = max(0, -begin)
    seen = text[begin + skipped : begin + len(piece)]
    return piece[skipped : skipped + len(seen)] == seen


def decode(pieces: Mapping[bytes, int], ids: list[int], fallback: int | None = None, eod: int | None = None) -> bytes:
    """The joined pieces. If `fallback` has no piece, it becomes U+FFFD; if `eod` has none, it is skipped."""
    piece_of = {id_: piece for piece, id_ in pieces.items()}
    ret = []
    for id_ in ids:
        if id_ in piece_of:
            ret.append(piece_of[id_])
        elif id_ == fallback:
            ret.append("\N{REPLACEMENT CHARACTER}".encode())
        elif id_ != eod:
            raise IndexError(f"id {id_} has no piece")
    return b"".join(ret)


def documents_of_text(data: bytes, separator: bytes | None) -> tuple[list[bytes], bool | None]:
    """The documents of a text file, and whether it ends with the separator (None if `separator` is None)."""
    if separator is None:
        return [data], None
    if not data:
        return [], False
    docs = data.split(separator)  # separators are leftmost and do not overlap
    ends = docs[-1] == b""
    return docs[:-1] if ends else docs, ends


def documents_of_jsonl(data: bytes, path: list[str]) -> list[bytes]:
    """The documents of a JSON lines file. Raises ValueError("(line N)") at an invalid line."""
    docs = []
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line.strip(b" \t\r\n"):
            continue
        try:
            value = json.loads(line.decode())
            for name in path:
                value = value[name]
            docs.append(value.encode())
        except Exception as error:
            raise ValueError(f"(line {number})") from error
    return docs
