"""Decoding as SentencePiece does, against the oracle and against sentencepiece itself."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from conftest import find_shared
from hypothesis import example, given
from hypothesis import strategies as st
from oracle import sentencepiece as oracle
from toys.sentencepieces import BPE, CONTROL, NORMAL, REFUSALS, SPACE, UNUSED, USER_DEFINED, make, shared_paths

from pyunitok import IdError, Packed, Tokenizer
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


def build(model: sentencepiece.SentencePieceModel) -> Tokenizer:
    vocabulary = model.vocabulary()
    return Tokenizer(vocabulary.build(engine="double-array", cpu=None), vocabulary.about("toy"))


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
    tok = build(model)
    for ids in documents:
        assert tok.decode_bytes(ids) == expect(model, ids, raw=True)
        assert tok.decode(ids, errors="replace").encode() == expect(model, ids)
    packed = Packed(np.array(list(chain.from_iterable(documents)), tok.dtype), np.cumsum([0, *map(len, documents)]))
    assert [item.tobytes() for item in tok.decode_batch(packed)] == [expect(model, ids, raw=True) for ids in documents]
    if all(documents):
        shorter, _ = tok.model.decode_batch(packed.data, packed.offsets, drop_last=True, separator=b"|")
        assert shorter.tobytes() == b"".join(expect(model, ids[:-1], raw=True) + b"|" for ids in documents)
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
    tok, random = build(model), np.random.default_rng(7)
    documents = [random.integers(0, len(model.pieces), 50).tolist() for _ in range(100)]
    for corpus in ("multi", "code", "emoji"):
        packed = find_shared(f"corpora/{corpus}.txt.zst").read_bytes()
        text = zstandard.ZstdDecompressor().stream_reader(packed).read(100_000).decode(errors="ignore")
        documents += reference.encode(text.splitlines()[:300])
    assert [tok.decode(ids, errors="replace") for ids in documents] == reference.decode(documents)


def test_an_id_without_piece_is_named() -> None:
    tok = build(sentencepiece.read(make([(b"a", 0.0, NORMAL)]).SerializeToString(), "toy.model"))
    with pytest.raises(IdError, match="id 9 at position 2"):
        tok.decode([0, 0, 9])
