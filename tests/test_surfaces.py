"""The text of SentencePiece's ids in C, against the oracle and against sentencepiece itself."""

from __future__ import annotations

from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import oracle_sentencepiece as oracle
import pytest
import zstandard
from conftest import find_shared
from hypothesis import example, given
from hypothesis import strategies as st
from sentencepieces import BPE, CONTROL, NORMAL, REFUSALS, SPACE, UNUSED, USER_DEFINED, make, shared_paths

from pyunitok import _ffi
from pyunitok.errors import IdError, VocabularyError
from pyunitok.vocab import sentencepiece

PIECES = [SPACE, SPACE + b"a", b"a", SPACE + SPACE + b"b", b"c" + SPACE, b" ", "\u00e9".encode(), SPACE * 3, b"ab"]


def toy(
    *, dummy_prefix: bool, remove_extra: bool, byte_fallback: bool, unknown: bytes, surface: bytes | None
) -> Any:
    types = [NORMAL, NORMAL, USER_DEFINED, NORMAL, NORMAL, NORMAL, UNUSED, NORMAL, CONTROL]
    pieces = [(piece, -1.0, type_) for piece, type_ in zip(PIECES, types, strict=True)]
    proto = make(pieces, model_type=BPE, byte_fallback=byte_fallback)
    proto.pieces[0].piece = unknown
    proto.normalizer_spec.add_dummy_prefix, proto.normalizer_spec.remove_extra_whitespaces = dummy_prefix, remove_extra
    if surface is not None:
        proto.trainer_spec.unk_surface = surface
    return proto


TOYS = st.builds(
    toy, dummy_prefix=st.booleans(), remove_extra=st.booleans(), byte_fallback=st.booleans(),
    unknown=st.sampled_from([b"<unk>", SPACE + b"<unk>"]), surface=st.sampled_from([None, b"", b"?", SPACE + b" "]),
)  # fmt: skip


def build(model: sentencepiece.SentencePieceModel) -> _ffi.Surfaces:
    return _ffi.Surfaces(model.pieces, model.types, model.flags, model.unk_surface)


def expect(model: sentencepiece.SentencePieceModel, ids: list[int], raw: bool = False) -> bytes:
    spec = model.proto.normalizer_spec
    return oracle.decode(
        model.pieces, model.types.tolist(), ids, dummy_prefix=spec.add_dummy_prefix,
        remove_extra=spec.remove_extra_whitespaces, unknown_surface=model.unk_surface, raw=raw,
    )  # fmt: skip


SPACED_UNKNOWN = toy(dummy_prefix=True, remove_extra=False, byte_fallback=True, unknown=SPACE + b"?", surface=b"")
BYTES_OF = [list("\u00e9\u732b\U0001f600a".encode()), [0xE2, 0x96, 0x81], [0xFF, 0xE7, 0x8C], [0xED, 0xA0, 0x80]]


@given(TOYS, st.lists(st.lists(st.integers(0, 300), max_size=8), max_size=4), st.sampled_from([[], *BYTES_OF]))
@example(SPACED_UNKNOWN, [[0, 259]], [])  # the unknown piece's space is the dummy prefix, though its surface is empty
def test_against_oracle_and_reference(proto: Any, documents: list[list[int]], spelled: list[int]) -> None:
    data = proto.SerializeToString()
    model = sentencepiece.read(data, "toy.model")
    if model.byte_fallback:
        documents = [*documents, [3 + byte for byte in spelled], [3 + 256, *(3 + byte for byte in spelled), 3 + 257]]
    documents = [[id_ % len(model.pieces) for id_ in ids] for ids in documents]
    offsets = np.cumsum([0, *map(len, documents)])
    ids = np.array(list(chain.from_iterable(documents)), np.uint32)
    surfaces = build(model)
    for raw in (False, True):
        out, bounds = surfaces.decode_batch(ids, offsets, raw=raw, separator=b"|")
        expected = [expect(model, document, raw) for document in documents]
        assert out.tobytes() == b"".join(text + b"|" for text in expected)
        assert bounds.tolist() == np.cumsum([0, *(len(text) + 1 for text in expected)]).tolist()
    shorter, _ = surfaces.decode_batch(ids, offsets, drop_last=True)
    assert shorter.tobytes() == b"".join(expect(model, document[:-1]) for document in documents)
    try:
        import sentencepiece as spm
    except ImportError:
        return
    reference = spm.SentencePieceProcessor(model_proto=data)
    for document in documents:
        try:
            theirs = reference.decode(document, return_type=bytes)
        except REFUSALS:
            continue
        assert expect(model, document) == theirs


@pytest.mark.parametrize("path", shared_paths(), ids=lambda path: path.stem)
def test_shared_models(path: Path) -> None:
    """Ids of real text, and random ids."""
    spm = pytest.importorskip("sentencepiece")
    reference = spm.SentencePieceProcessor(model_proto=path.read_bytes())
    model = sentencepiece.read(path.read_bytes(), str(path))
    surfaces, random = build(model), np.random.default_rng(7)
    documents = [random.integers(0, len(model.pieces), 50).tolist() for _ in range(100)]
    for corpus in ("multi", "code", "emoji"):
        packed = find_shared(f"corpora/{corpus}.txt.zst").read_bytes()
        text = zstandard.ZstdDecompressor().stream_reader(packed).read(100_000).decode(errors="ignore")
        documents += reference.encode(text.splitlines()[:300])
    offsets = np.cumsum([0, *map(len, documents)])
    out, bounds = surfaces.decode_batch(np.array(list(chain.from_iterable(documents)), np.uint32), offsets)
    texts = [out[i:j].tobytes() for i, j in pairwise(bounds)]
    if model.denormalization is not None:
        denormalizer = _ffi.Normalizer(model.denormalization.charsmap, [], model.denormalization.flags)
        texts = [denormalizer.normalize(text) for text in texts]
    assert texts == [reference.decode(ids, return_type=bytes) for ids in documents]


def test_an_id_without_piece_is_named() -> None:
    surfaces = _ffi.Surfaces([b"a"], np.ones(1, np.uint8), 0, b"")
    with pytest.raises(IdError, match="id 1 at position 2"):
        surfaces.decode_batch(np.array([0, 0, 1], np.uint32), np.array([0, 3]))


def test_a_byte_piece_that_is_none_is_named() -> None:
    with pytest.raises(VocabularyError, match="no byte piece"):
        _ffi.Surfaces([b"<0x4g>"], np.full(1, 6, np.uint8), 0, b"")
