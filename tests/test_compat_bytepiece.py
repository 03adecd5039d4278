"""pyunitok.compat.bytepiece compared with bytepiece 0.6.3: every call, on toy models and on published models."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conftest import fewer, find_shared
from hypothesis import given
from hypothesis import strategies as st
from test_bytepiece import BYTES, key, load_reference, toy

from pyunitok.compat import bytepiece
from pyunitok.errors import VocabularyError

TEXT = "abe\u0301 猫\n\nab b\n a"


def both(values: dict[str, list[Any]]) -> tuple[Any, Any]:
    return load_reference().Tokenizer(values), bytepiece.Tokenizer(values)


def test_public_names() -> None:
    theirs = load_reference()
    for name in ("Tokenizer", "Trainer", "normalize", "convert_to_bytepiece", "__version__"):
        assert hasattr(theirs, name) and hasattr(bytepiece, name)
    public = {name for name in vars(theirs.Tokenizer) if not name.startswith("_")}
    assert public <= set(dir(bytepiece.Tokenizer))


@given(st.integers(0, 20))
def test_every_call(seed: int) -> None:
    theirs, ours = both(toy(seed))
    assert ours.vocab_size == theirs.vocab_size
    ids = theirs.encode(TEXT)
    for options in ({}, {"add_bos": True}, {"add_eos": True}, {"add_bos": True, "add_eos": True}):
        assert ours.encode(TEXT, **options) == theirs.encode(TEXT, **options)
        assert list(ours.encode(TEXT, iter=True, **options)) == ours.encode(TEXT, **options)
    assert ours.tokenize(TEXT) == theirs.tokenize(TEXT) == list(ours.tokenize(TEXT, iter=True))
    assert ours.decode([1, *ids, 2, 0]) == theirs.decode([1, *ids, 2, 0])
    assert ours.decode(iter(ids[1:-1])) == theirs.decode(ids[1:-1])
    assert ours.ids_to_pieces([0, *ids]) == theirs.ids_to_pieces([0, *ids])
    pieces = ["<eos>", *theirs.tokenize(TEXT)]
    assert ours.pieces_to_ids(pieces) == theirs.pieces_to_ids(pieces)
    for id_ in range(theirs.vocab_size):
        assert ours.id_to_piece(id_) == theirs.id_to_piece(id_)
        assert ours.piece_to_id(ours.id_to_piece(id_)) == id_


def test_unknown_ids_and_pieces_raise_the_same_errors() -> None:
    for tokenizer in both(BYTES):
        for call in (
            lambda t: t.decode([99999]), lambda t: t.id_to_piece(99999), lambda t: t.piece_to_id(b"no piece"),
            lambda t: t.piece_to_id("a"), lambda t: t.ids_to_pieces([3, -1]), lambda t: t.pieces_to_ids(["<unk>"]),
        ):  # fmt: skip
            with pytest.raises(KeyError):
                call(tokenizer)
        with pytest.raises(TypeError):
            tokenizer.encode(b"bytes")
        with pytest.raises(UnicodeEncodeError):
            tokenizer.encode("\ud800")
        assert tokenizer.decode([0xE9 + 3, 0x61 + 3]) == "a"


@given(st.text(st.sampled_from("a1٣é\u0301\n 猫"), max_size=40), st.integers(0, 4), st.booleans())
def test_normalize(text: str, maxlen: int, isolate_digits: bool) -> None:
    theirs = load_reference().normalize
    assert bytepiece.normalize(text) == theirs(text)
    assert bytepiece.normalize(text, maxlen, isolate_digits) == theirs(text, maxlen, isolate_digits)


def test_samples_follow_their_distribution() -> None:
    """A chi-square test over all segmentations of a text, with probabilities from the reference's scores."""
    pieces = {b"ab": 9, b"bc": 5, b"abc": 3, b"ca": 4}
    values = BYTES | {key(piece): [300 + i, "", count] for i, (piece, count) in enumerate(pieces.items())}
    tokenizer, alpha, n = bytepiece.Tokenizer(values, seed=7), 0.3, 4000
    total = sum(value[-1] for value in values.values())

    def ways(text: bytes) -> list[tuple[tuple[bytes, ...], float]]:
        if not text:
            return [((), 0.0)]
        found = [(text[:k], text[k:]) for k in range(1, len(text) + 1) if key(text[:k]) in values]
        return [
            ((piece, *rest), math.log(values[key(piece)][-1] / total) + score)
            for piece, left in found
            for rest, score in ways(left)
        ]

    weights = {way: math.exp(alpha * score) for way, score in ways(b"abcab")}
    counts = Counter(tuple(tokenizer.tokenize("abcab", alpha=alpha)) for _ in range(n))
    assert set(counts) <= set(weights)
    expected = {way: n * weight / sum(weights.values()) for way, weight in weights.items()}
    chi_square = sum((counts[way] - mean) ** 2 / mean for way, mean in expected.items())
    assert chi_square < 2.5 * len(weights)


def test_seeds() -> None:
    values = toy(3)
    first, second = bytepiece.Tokenizer(values, seed=5), bytepiece.Tokenizer(values)
    second.set_seed(5)
    drawn = [first.encode(TEXT, alpha=0.1) for _ in range(20)]
    assert [second.encode(TEXT, alpha=0.1) for _ in range(20)] == drawn
    assert len({tuple(ids) for ids in drawn}) > 1
    first.set_seed(None)
    first.set_seed(5)
    assert list(first.encode(TEXT, alpha=0.1, iter=True)) == drawn[0]
    assert all(b"".join(first.tokenize(TEXT, alpha=0.0)).decode() == first.decode(first.encode(TEXT)) for _ in range(9))


def test_convert_to_sentencepiece_is_byte_identical(tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece")
    more = {key(piece.encode()): [259 + i, "", 7 + i] for i, piece in enumerate(("é b", "th", "猫"))}
    theirs, ours = both(BYTES | more)
    theirs.convert_to_sentencepiece(str(tmp_path / "theirs.model"))
    ours.convert_to_sentencepiece(tmp_path / "ours.model")
    assert (tmp_path / "ours.model").read_bytes() == (tmp_path / "theirs.model").read_bytes()


_PIECES = st.dictionaries(st.text("ab 猫", min_size=1, max_size=4), st.integers(0, 50), max_size=12)


@fewer(4)
@given(_PIECES)
def test_convert_to_bytepiece_is_exact(tmp_path_factory: pytest.TempPathFactory, pieces: dict[str, int]) -> None:
    theirs, folder = load_reference(), tmp_path_factory.mktemp("convert")
    single = {piece: max(1, count) if len(piece.encode()) == 1 else count for piece, count in pieces.items()}
    theirs.convert_to_bytepiece(single, str(folder / "theirs.model"))
    bytepiece.convert_to_bytepiece(single, folder / "ours.model")
    assert json.loads((folder / "ours.model").read_bytes()) == json.loads((folder / "theirs.model").read_bytes())


@pytest.mark.parametrize("pieces, message", [({"": 1}, "empty"), ({"a": 0}, "byte 0x61 has count 0")])
def test_convert_to_bytepiece_rejects_pieces(tmp_path: Path, pieces: dict[bytes | str, int], message: str) -> None:
    with pytest.raises(VocabularyError, match=message):
        bytepiece.convert_to_bytepiece(pieces, tmp_path / "m.model")


def test_a_published_model() -> None:
    path = find_shared("models/bytepiece/bytepiece_80k.model")
    theirs, ours = load_reference().Tokenizer(str(path)), bytepiece.Tokenizer(str(path), seed=1)
    text = "苏剑林于2023年发布了BytePiece。\n\nIt is a Unigram tokenizer, e\u0301crit en Python.\n"
    assert ours.tokenize(text) == theirs.tokenize(text)
    assert ours.encode(text, add_bos=True) == theirs.encode(text, add_bos=True)
    assert ours.vocab_size == theirs.vocab_size
    assert b"".join(ours.tokenize(text, alpha=0.2)) == b"".join(theirs.tokenize(text))
