"""Reads and writes BytePiece's .model files: a JSON object {base64 of a piece: [id, the piece as text, its count]}.

    "dGhl": [1204, "the", 91203]        only the first and last values are used; the text is for human readers

The ids 0, 1, 2 are <pad>, <bos>, <eos>, which files do not list. The score of a piece is log(count) - log(sum of all
counts), computed with NumPy, as in bytepiece 0.6.3. Like bytepiece, the reader ignores invalid base64 characters, uses
the last entry of a duplicate piece, and never matches a piece whose count is not positive. It rejects files that
bytepiece loads but cannot use:

    two pieces share an id, or an id is 0, 1 or 2      the ids could not be decoded
    a single byte has no piece or no positive count    bytepiece hangs on texts that contain the byte
    a piece is empty
"""

from __future__ import annotations

import binascii
import json
import re
from base64 import b64decode, b64encode
from typing import Any

import numpy as np

from pyunitok._c import library
from pyunitok.errors import VocabularyError
from pyunitok.packed import Scores
from pyunitok.vocab import json_text
from pyunitok.vocab.vocabulary import CONTROL, NORMAL, PREPARE_NFC, UNUSED, Vocabulary

SPECIAL = {"pad": 0, "bos": 1, "eos": 2}
SPECIAL_PIECES = ("<pad>", "<bos>", "<eos>")
FLAGS = sum(library.MODEL_FLAGS[name] for name in ("float64", "bytes", "restart_after_newline"))
COUNT_MAX = 2**64  # np.log does not support larger integers

Count = int | float
Entries = dict[bytes, tuple[int, Count]]  # piece: (id, count)


def looks_like_json(head: bytes) -> bool:
    """Whether `head` begins an object whose first value is a list that begins with a number."""
    return re.match(json_text.FIRST_KEY + rb"\[\s*-?[0-9]", head, re.DOTALL) is not None


def read(data: bytes, name: str) -> Vocabulary:
    """The vocabulary in a file's bytes. Raises VocabularyError, which names the file and the piece."""
    return vocabulary_of(parse(json_text.load(json_text.decode(data, name), name), name), name)


def parse(values: Any, name: str) -> Entries:
    """The entries of the JSON object, each validated."""
    if not isinstance(values, dict):
        raise VocabularyError(f"{name}: not a JSON object of {{base64: [id, text, count]}}")
    entries: Entries = {}
    for key, value in values.items():
        try:
            piece = b64decode(key)
            entries[piece] = _parse_value(value)
            if not piece:
                raise ValueError("the piece is empty")
        except (ValueError, binascii.Error) as error:
            raise VocabularyError(f"{name}: piece {key[:64]!a}: {error}") from None
    return entries


def _parse_value(value: object) -> tuple[int, Count]:
    if not isinstance(value, list) or not value:
        raise ValueError("the value is not [id, text, count]")
    id_, count = value[0], value[-1]
    if type(id_) is not int or not 0 <= id_ <= library.WIDE_ID_MAX:
        raise ValueError(f"the id is not in 3..{library.WIDE_ID_MAX}")
    if id_ < len(SPECIAL_PIECES):
        raise ValueError(f"id {id_} is reserved for {SPECIAL_PIECES[id_]}")
    if not isinstance(count, int | float) or not -COUNT_MAX < count < COUNT_MAX:  # also rejects NaN
        raise ValueError("the count is not a number below 2**64")
    return id_, count


def vocabulary_of(entries: Entries, name: str, flags: int = FLAGS) -> Vocabulary:
    """The vocabulary: <pad>, <bos> and <eos>, then the pieces with their scores."""
    ids = [id_ for id_, _ in entries.values()]
    _check_ids(entries, name)
    for byte in range(256):
        entry = entries.get(bytes([byte]))
        if entry is None or entry[1] <= 0:
            what = "has no piece" if entry is None else f"has count {entry[1]}"
            raise VocabularyError(f"{name}: byte 0x{byte:02x} {what}, so some texts could not be encoded")
    counts = [count for _, count in entries.values()]
    total = sum(counts)
    if not 0 < total < COUNT_MAX:
        raise VocabularyError(f"{name}: the sum of the counts is not between 0 and 2**64")
    scores, unused = scores_of(counts, total)
    n_special = len(SPECIAL_PIECES)
    return Vocabulary.pack(
        [*(piece.encode() for piece in SPECIAL_PIECES), *entries], np.array([*SPECIAL.values(), *ids], np.int64),
        eod_id=SPECIAL["eos"], eod_piece=SPECIAL_PIECES[2], name=name, kind="unigram", flags=flags,
        scores=np.concatenate((np.zeros(n_special), scores)),
        types=np.concatenate((np.full(n_special, CONTROL), np.where(unused, UNUSED, NORMAL))).astype(np.uint8),
        special=SPECIAL, prepare=PREPARE_NFC, count_total=total,
    )  # fmt: skip


def _check_ids(entries: Entries, name: str) -> None:
    owners: dict[int, bytes] = {}
    for piece, (id_, _) in entries.items():
        if id_ in owners:
            raise VocabularyError(f"{name}: piece {piece[:64]!r}: id {id_} already belongs to {owners[id_][:64]!r}")
        owners[id_] = piece


def scores_of(counts: list[Count], total: Count) -> tuple[Scores, np.ndarray[Any, np.dtype[np.bool_]]]:
    """(scores, unused): float64[n] and bool[n]. Pieces without a positive count are unused, and their scores are 0."""
    numbers = np.array([float(count) for count in counts])
    unused = numbers <= 0
    scores = np.log(np.where(unused, 1, numbers)) - np.log(total)
    scores[unused] = 0
    return scores, unused


# ------------------------------------------------------------------------------------------------ writing ----


def is_bytepiece(vocabulary: Vocabulary) -> bool:
    """Whether the model encodes as BytePiece does."""
    return vocabulary.flags == FLAGS and vocabulary.prepare == PREPARE_NFC


def counted(vocabulary: Vocabulary) -> Entries:
    """The entries from which the scores were computed. Raises VocabularyError if they cannot be recovered exactly."""
    name, total = f"cannot convert {vocabulary.name} to a BytePiece model", vocabulary.count_total
    if not is_bytepiece(vocabulary):
        raise VocabularyError(f"{name}: only BytePiece models are supported, but this is {vocabulary.kind}")
    if total is None or vocabulary.scores is None or vocabulary.types is None:
        raise VocabularyError(f"{name}: the counts behind its scores are unknown")
    n_special = len(SPECIAL_PIECES)
    scores, unused = vocabulary.scores[n_special:], vocabulary.types[n_special:] == UNUSED
    numbers = np.where(unused, 0, np.rint(np.exp(scores + np.log(total))))
    counts: list[Count] = [int(number) for number in numbers.tolist()]
    if sum(counts) != total or not np.array_equal(scores_of(counts, total)[0], scores):
        raise VocabularyError(f"{name}: its counts are not integers from 0 to about 10**14")
    ids = vocabulary.ids.tolist()[n_special:]
    return dict(zip(vocabulary.pieces[n_special:], zip(ids, counts, strict=True), strict=True))


def to_json(entries: Entries) -> dict[str, list[Any]]:
    """The JSON object of a .model file."""
    return {
        b64encode(piece).decode(): [id_, piece.decode(errors="ignore"), count]
        for piece, (id_, count) in entries.items()
    }


def write(entries: Entries) -> bytes:
    """A .model file as bytepiece writes it."""
    return json.dumps(to_json(entries), indent=4, ensure_ascii=False).encode()
