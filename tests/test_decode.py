"""SentencePiece's decoding, compared with the oracle and with sentencepiece."""

from __future__ import annotations

import io
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import decompressed, find_shared
from hypothesis import example, given
from hypothesis import strategies as st
from oracle import sentencepiece as oracle
from oracle.bpe import CONTROL, NORMAL, UNUSED, USER_DEFINED
from test_pipeline import run
from toys.sentencepieces import BPE, KINDS, REFUSALS, SPACE, charsmap, load_reference, make, shared_params

from pyunitok import IdError, Packed, Tokenizer
from pyunitok.corpus.inputs import find
from pyunitok.model.tokenizer import from_vocabulary
from pyunitok.tokens import detokenize as detokenize_module
from pyunitok.tokens.detokenize import detokenize
from pyunitok.tokens.verify_text import sources_of, verify_text
from pyunitok.vocab import sentencepiece

PIECES = [SPACE, SPACE + b"a", b"a", SPACE + SPACE + b"b", b"c" + SPACE, b" ", "\u00e9".encode(), SPACE * 3, b"ab"]


def toy(*, dummy_prefix: bool, remove_extra: bool, byte_fallback: bool, unknown: bytes, surface: bytes | None) -> Any:
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
    return from_vocabulary(model.vocabulary())


def expect(model: sentencepiece.SentencePieceModel, ids: list[int], raw: bool = False) -> bytes:
    spec = model.proto.normalizer_spec
    return oracle.decode(
        model.pieces, model.types.tolist(), ids, dummy_prefix=spec.add_dummy_prefix,
        remove_extra=spec.remove_extra_whitespaces, unknown_surface=model.unk_surface, raw=raw,
    )  # fmt: skip


SPACED_UNKNOWN = toy(dummy_prefix=True, remove_extra=False, byte_fallback=True, unknown=SPACE + b"?", surface=b"")
EMPTY_UNKNOWN = toy(dummy_prefix=False, remove_extra=False, byte_fallback=True, unknown=b"<unk>", surface=b"")
BYTES_OF = [list("\u00e9\u732b\U0001f600a".encode()), [0xE2, 0x96, 0x81], [0xFF, 0xE7, 0x8C], [0xED, 0xA0, 0x80]]


def test_a_long_unknown_surface_is_read() -> None:
    """Regression: a surface of more than 64 KB, which sentencepiece accepts, raised "a defect of pyunitok"."""
    surface = b"?" * 70_000
    proto = toy(dummy_prefix=False, remove_extra=False, byte_fallback=False, unknown=b"<unk>", surface=surface)
    model = sentencepiece.read(proto.SerializeToString(), "toy")
    assert build(model).decode_bytes([0, 1, 0]) == expect(model, [0, 1, 0])
    assert len(expect(model, [0])) >= len(surface)


@given(TOYS, st.lists(st.lists(st.integers(0, 300), max_size=8), max_size=4), st.sampled_from([[], *BYTES_OF]))
# The unknown piece with an empty surface separates two bytes that would otherwise spell U+0080.
@example(EMPTY_UNKNOWN, [[197, 0, 131]], [])
@example(SPACED_UNKNOWN, [[0, 259]], [])  # the unknown piece gets the dummy prefix, although its surface is empty
def test_against_the_oracle_and_sentencepiece(proto: Any, documents: list[list[int]], spelled: list[int]) -> None:
    data = proto.SerializeToString()
    model = sentencepiece.read(data, "toy.model")
    if model.trainer.byte_fallback:
        documents = [*documents, [3 + byte for byte in spelled], [3 + 256, *(3 + byte for byte in spelled), 3 + 257]]
    documents = [[id_ % len(model.pieces) for id_ in ids] for ids in documents]
    tok = build(model)
    for ids in documents:
        assert tok.decode_bytes(ids) == expect(model, ids, raw=True)
        assert tok.decode(ids, errors="replace").encode() == expect(model, ids)
    packed = Packed(np.array(list(chain.from_iterable(documents)), tok.dtype), np.cumsum([0, *map(len, documents)]))
    found = [item.tobytes() for item in tok.decode_bytes_batch(packed)]
    assert found == [expect(model, ids, raw=True) for ids in documents]
    if all(documents):
        shorter, _ = tok.codec.model.decode_batch(packed.data, packed.offsets, drop_last=True, separator=b"|")
        assert shorter.tobytes() == b"".join(expect(model, ids[:-1], raw=True) + b"|" for ids in documents)
    reference = load_reference(data)
    for document in documents:
        try:
            theirs = reference.decode(document, return_type=bytes)
        except REFUSALS:
            continue
        assert expect(model, document) == theirs


@pytest.mark.parametrize("path", shared_params())
def test_shared_models(path: Path) -> None:
    """Decodes ids of real text, and random ids."""
    reference = load_reference(path.read_bytes())
    model = sentencepiece.read(path.read_bytes(), str(path))
    tok, random = build(model), np.random.default_rng(7)
    documents = [random.integers(0, len(model.pieces), 50).tolist() for _ in range(100)]
    for corpus in ("multi", "code", "emoji"):
        text = decompressed(find_shared(f"corpora/{corpus}.txt.zst"), 100_000).decode(errors="ignore")
        documents += reference.encode(text.splitlines()[:300])
    assert [tok.decode(ids, errors="replace") for ids in documents] == reference.decode(documents)


def test_an_id_without_a_piece_is_named() -> None:
    tok = build(sentencepiece.read(make([(b"a", 0.0, NORMAL)]).SerializeToString(), "toy.model"))
    with pytest.raises(IdError, match="id 9 at position 2"):
        tok.decode([0, 0, 9])


# ---------------------------------------------------------------------------------- decoding methods and verify ----


@st.composite
def any_model(draw: st.DrawFn) -> Any:
    """Models with or without a piece U+2581, pieces that begin with two U+2581, spaces as suffixes, a denormalizer."""
    kind = draw(st.sampled_from(list(KINDS.values())))
    texts = draw(st.lists(st.sampled_from([*PIECES, b"b", SPACE * 2, b"a" + SPACE]), unique=True, max_size=6))
    types = st.sampled_from([NORMAL, NORMAL, USER_DEFINED, UNUSED])
    pieces = [(b"x", -1.0, NORMAL), *((text, -1.0 - k, draw(types)) for k, text in enumerate(texts))]
    proto = make(
        pieces, model_type=kind, byte_fallback=draw(st.booleans()),
        treat_whitespace_as_suffix=draw(st.booleans()), allow_whitespace_only_pieces=draw(st.booleans()),
    )  # fmt: skip
    spec = proto.normalizer_spec
    spec.add_dummy_prefix, spec.remove_extra_whitespaces = draw(st.booleans()), draw(st.booleans())
    spec.escape_whitespaces = draw(st.sampled_from([True, True, False]))
    if draw(st.booleans()):
        proto.denormalizer_spec.precompiled_charsmap = charsmap({b"ab": b"AB", b"a": b"A", b"b b": b"bbb"})
        proto.denormalizer_spec.add_dummy_prefix = proto.denormalizer_spec.escape_whitespaces = False
        proto.denormalizer_spec.remove_extra_whitespaces = draw(st.booleans())
    return proto


WORDS = st.sampled_from(["a", "b", "ab", " ", "  ", "\u2581", "\u00e9", "x", "\u732b", "b b"])
TEXTS = st.lists(WORDS, max_size=8).map("".join)
BARE_BYTES = make([(b"a", -1.0, NORMAL), (b"b", -1.0, NORMAL)], byte_fallback=True)  # U+2581 is not a piece


@example(proto=BARE_BYTES, texts=["a b c"])
@example(proto=make([(SPACE, -1.0, NORMAL), (SPACE * 2, -1.0, NORMAL)], byte_fallback=True), texts=["\u2581\u2581a"])
@given(any_model(), st.lists(TEXTS, min_size=1, max_size=4))
def test_all_decoding_methods_agree(proto: Any, texts: list[str]) -> None:
    """Compares the results of every method, the text that verify expects, and the results of sentencepiece.

    Regression: verify rejected correct ids if byte pieces spelled U+2581 or the model had a denormalizer.
    """
    data = proto.SerializeToString()
    tokenizer, reference = build(sentencepiece.read(data, "toy")), load_reference(data)
    ids = [tokenizer.encode(text) for text in texts]
    one_by_one = [tokenizer.decode_bytes(item) for item in ids]
    assert one_by_one == [tokenizer.codec.reference(text.encode()) for text in texts]
    packed = Packed(np.concatenate(ids), np.cumsum([0, *map(len, ids)]))
    assert [item.tobytes() for item in tokenizer.decode_bytes_batch(packed)] == one_by_one
    decoded, offsets = tokenizer.codec.decode_documents(packed.data, packed.offsets, separator=b"|")
    assert decoded.tobytes() == b"".join(item + b"|" for item in one_by_one) and offsets[-1] == len(decoded)
    for item, decoded in zip(ids, one_by_one, strict=True):
        text = decoded.decode("utf-8", "replace")
        assert tokenizer.decode(item, "replace") == reference.decode(item.tolist()) == text


@pytest.mark.parametrize("text", ["a b c\n\nab", "  b", "\u2581"])
@pytest.mark.parametrize("denormalizes", [False, True])
def test_verify_and_detokenize_accept_correct_ids(text: str, denormalizes: bool, tmp_path: Path) -> None:
    proto = make([(b"a", -1.0, NORMAL), (b"b", -1.0, NORMAL)], byte_fallback=True)
    if denormalizes:
        proto.denormalizer_spec.precompiled_charsmap = charsmap({b"a": b"A"})
    (tmp_path / "toy.model").write_bytes(proto.SerializeToString())
    (tmp_path / "in.txt").write_text(text)
    tokenizer = Tokenizer.from_file(tmp_path / "toy.model")
    array = run(tokenizer, [tmp_path / "in.txt"], tmp_path / "ids", verify=True, eod=2)
    assert verify_text(array, tokenizer, sources_of(array.manifest.inputs, find([str(tmp_path / "in.txt")]))) is None
    out = io.BytesIO()
    detokenize(array, tokenizer, out, lambda n: None)
    assert out.getvalue() == array.text_bytes(0) == tokenizer.decode_bytes(tokenizer.encode(text))


def test_a_long_document_is_decoded_as_one_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: the document's ids are decoded in batches, and each batch lost its first space."""
    monkeypatch.setattr(detokenize_module, "BATCH_IDS", 3)
    (tmp_path / "toy.model").write_bytes(make([(SPACE + b"a", -1.0, NORMAL)]).SerializeToString())
    (tmp_path / "in.txt").write_text("a a a a a a a")
    tokenizer = Tokenizer.from_file(tmp_path / "toy.model")
    array = run(tokenizer, [tmp_path / "in.txt"], tmp_path / "ids", eod=2)
    out = io.BytesIO()
    detokenize(array, tokenizer, out, lambda n: None)
    assert out.getvalue() == b"a a a a a a a"


@pytest.mark.parametrize("path", shared_params())
def test_shared_models_verify(path: Path) -> None:
    """Regression: for marian_nmt_joint, which has a denormalizer, 'Uchecked by' was compared with 'Checked by'."""
    tokenizer, reference = Tokenizer.from_file(path), load_reference(path.read_bytes())
    for text in ["A", "Checked by  the\tQUICK \u2581 brown", "a b c", " \u00e9\u732b\U0001f600", ""]:
        ids = tokenizer.encode(text)
        expected = reference.decode(ids.tolist())
        assert tokenizer.codec.reference(text.encode()).decode("utf-8", "replace") == expected
        decoded, _ = tokenizer.codec.decode_documents(ids, np.array([0, len(ids)]))
        assert decoded.tobytes().decode("utf-8", "replace") == expected
