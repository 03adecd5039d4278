"""pyunitok convert: the reference tools open its outputs and give the same ids; unsuitable models are rejected."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import find_shared
from test_bytepiece import BYTES, key, load_reference, toy
from toys import models, sentencepieces

from pyunitok import Tokenizer
from pyunitok._c import library
from pyunitok.cli import cli
from pyunitok.errors import ModelFormatError, OutputError, VocabularyError
from pyunitok.vocab import bytepiece, sentencepiece
from pyunitok.vocab.convert import FORMATS, convert

TEXTS = ["", "the quick  brown fox", "猫 é e\u0301\nｔｈｅ 🙂 ▁x\n\n", "the@x <s> </s> <unk> 1,234.5"]


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(cli, ["convert", *map(str, arguments)])


def round_trip(path: Path, tmp_path: Path, to: str) -> Path:
    native, back = tmp_path / "a.unitok", tmp_path / "b.model"
    for source, target, format_ in ((path, native, "native"), (native, back, to)):
        result = run(source, target, "--to", format_)
        assert (result.exit_code, result.exception) == (0, None)
    return back


@pytest.mark.parametrize("path", sentencepieces.shared_params())
def test_sentencepiece_through_native(path: Path, tmp_path: Path) -> None:
    spm = pytest.importorskip("sentencepiece")
    back = round_trip(path, tmp_path, "sentencepiece")
    before = sentencepiece.read(path.read_bytes(), "before").vocabulary()
    after = sentencepiece.read(back.read_bytes(), "after").vocabulary()
    for name in ("kind", "flags", "charsmap", "unknown_surface", "special", "denormalization", "eod_id", "eod_piece"):
        assert getattr(before, name) == getattr(after, name)
    for name in ("data", "offsets", "ids", "scores", "types"):
        assert np.array_equal(getattr(before, name), getattr(after, name))
    theirs, ours = (spm.SentencePieceProcessor(model_file=str(p)) for p in (path, back))
    ids = theirs.encode(TEXTS)
    assert ours.encode(TEXTS) == ids
    assert ours.decode(ids) == theirs.decode(ids)
    assert [ours.unk_id(), ours.bos_id(), ours.eos_id(), ours.pad_id()] == [
        theirs.unk_id(), theirs.bos_id(), theirs.eos_id(), theirs.pad_id()
    ]  # fmt: skip


def test_a_sentencepiece_file_keeps_unknown_fields(tmp_path: Path) -> None:
    proto = sentencepieces.make([(sentencepieces.SPACE + b"a", -1.0, sentencepieces.NORMAL)])
    path, target = tmp_path / "toy.model", tmp_path / "out.model"
    path.write_bytes(proto.SerializeToString() + b"\xc2\x0c\x03new")  # field 200, which is not declared
    assert run(path, target, "--to", "sentencepiece").exit_code == 0
    assert target.read_bytes() == path.read_bytes()


def test_a_role_without_a_piece_stays_unset(tmp_path: Path) -> None:
    """If bos_piece is not a piece, the control piece <s> does not take its role."""
    proto = sentencepieces.make([(b"a", -1.0, sentencepieces.NORMAL)])  # make() adds <s>
    proto.trainer_spec.bos_piece = b"<other>"
    path = tmp_path / "toy.model"
    path.write_bytes(proto.SerializeToString())
    assert Tokenizer.from_file(path).bos_id is None
    assert Tokenizer.from_file(round_trip(path, tmp_path, "sentencepiece")).bos_id is None


@pytest.mark.parametrize("name", [pytest.param("bytepiece_80k", marks=pytest.mark.slow), "bytepiece.plus.40k"])
def test_bytepiece_through_native(name: str, tmp_path: Path) -> None:
    path = find_shared(f"models/bytepiece/{name}.model")
    back = round_trip(path, tmp_path, "bytepiece")
    assert json.loads(back.read_bytes()) == json.loads(path.read_bytes())
    assert Tokenizer.from_file(back).sha256 == Tokenizer.from_file(path).sha256
    theirs = load_reference().Tokenizer(str(back))
    assert [theirs.encode(text) for text in TEXTS] == [Tokenizer.from_file(path).encode(t).tolist() for t in TEXTS]


def test_bytepiece_as_sentencepiece(tmp_path: Path) -> None:
    spm = pytest.importorskip("sentencepiece")
    pieces = [*("the quick brown fox, 猫 e é" * 2).split(), "th", " the", " fox"]
    pieces = sorted({piece for piece in pieces if len(piece.encode()) > 1})
    values = BYTES | {key(piece.encode()): [259 + i, "", 50 + i] for i, piece in enumerate(pieces)}
    path, target = tmp_path / "toy.model", tmp_path / "sp.model"
    path.write_text(json.dumps(values))
    result = run(path, target, "--to", "sentencepiece")
    assert result.exit_code == 0
    assert result.output.count("note: ") == 3
    processor, tokenizer = spm.SentencePieceProcessor(model_file=str(target)), Tokenizer.from_file(path)
    for text in ("the quick brown fox", "猫 the é 猫", "Zebra 1,2\t\x01"):
        assert processor.encode(text) == tokenizer.encode(text).tolist()


def test_bytepiece_pieces_that_sentencepiece_does_not_support(tmp_path: Path) -> None:
    for piece, words in ((b"a\xc3", "not valid UTF-8"), ("▁".encode(), "duplicate of piece")):
        path = tmp_path / "toy.model"
        path.write_text(json.dumps(BYTES | {key(piece): [259, "", 50]}))
        result = run(path, tmp_path / "out.model", "--to", "sentencepiece")
        assert isinstance(result.exception, VocabularyError)
        assert words in str(result.exception)
        assert not (tmp_path / "out.model").exists()
    path.write_text(json.dumps(BYTES | {key(b"ab"): [400, "", 50]}))
    with pytest.raises(VocabularyError, match="without gaps"):
        convert(path, tmp_path / "out.model", "sentencepiece")


def test_rwkv(rwkv_path: Path, tmp_path: Path) -> None:
    back = round_trip(rwkv_path, tmp_path, "rwkv")
    assert Tokenizer.from_file(back).sha256 == Tokenizer.from_file(rwkv_path).sha256
    library = pytest.importorskip("pyrwkv_tokenizer")
    tokenizer = Tokenizer.from_file(rwkv_path)
    theirs = library.RWKVTokenizer(vocab_filepath=str(back))
    for text in TEXTS:
        assert theirs.encode(text) == tokenizer.encode(text).tolist()


def test_unsuitable_models_are_rejected(tmp_path: Path) -> None:
    greedy = tmp_path / "greedy.unitok"
    models.greedy(eod=256).save(greedy)
    unigram = tmp_path / "unigram.model"
    unigram.write_bytes(sentencepieces.make([(b"a", -1.0, sentencepieces.NORMAL)]).SerializeToString())
    byte_model = tmp_path / "byte.model"
    byte_model.write_text(json.dumps(toy(1)))
    for source, to, words in (
        (greedy, "sentencepiece", "greedy longest prefix"),
        (greedy, "bytepiece", "BytePiece"),
        (greedy, "rwkv", "the end of document must have id 0"),
        (unigram, "rwkv", "this is unigram"),
        (unigram, "bytepiece", "BytePiece"),
        (byte_model, "rwkv", "this is unigram"),
    ):
        result = run(source, tmp_path / "out", "--to", to)
        assert isinstance(result.exception, VocabularyError), (source, to)
        assert words in str(result.exception)
        assert not (tmp_path / "out").exists()
    formats = "native, sentencepiece, bytepiece, rwkv, huggingface"
    with pytest.raises(ValueError, match=f"the format must be one of {formats}"):
        convert(greedy, tmp_path / "out", "json")
    assert len(FORMATS) == 7


def test_only_overwrite_replaces_an_existing_file(tmp_path: Path) -> None:
    """Regression: any file was replaced silently, even the source."""
    source, target = tmp_path / "a.unitok", tmp_path / "b.txt"
    models.greedy(eod=256).save(source)
    before = source.read_bytes()
    target.write_text("precious")
    result = run(source, target)
    assert isinstance(result.exception, OutputError) and "--overwrite" in str(result.exception)
    assert target.read_text() == "precious"
    assert run(source, target, "--overwrite").exit_code == 0
    assert Tokenizer.from_file(target) == Tokenizer.from_file(source)
    (tmp_path / "link").symlink_to(source)
    for same in (source, tmp_path / "link"):
        result = run(source, same, "--overwrite")
        assert isinstance(result.exception, OutputError) and "is also the source" in str(result.exception)
    assert source.read_bytes() == before


def test_a_source_that_is_not_a_file(tmp_path: Path) -> None:
    """Regression: the error was '[Errno 2]', and a pipe blocked until another process wrote to it."""
    os.mkfifo(tmp_path / "pipe")
    for name, message in ("missing", "the model file"), ("pipe", "the model file"), (".", "no model in this folder"):
        done = run(tmp_path / name, tmp_path / "out")
        assert isinstance(done.exception, ModelFormatError) and message in str(done.exception)
    assert not (tmp_path / "out").exists()


def test_the_installed_vocabulary_is_converted_by_name(tmp_path: Path) -> None:
    pytest.importorskip("pyrwkv_tokenizer")
    assert run("rwkv-world", tmp_path / "a.unitok").exit_code == 0
    converted = Tokenizer.from_file(tmp_path / "a.unitok")
    assert converted == Tokenizer.from_file("rwkv-world") and converted.name == "rwkv-world"
    result = run("missing.model", tmp_path / "b.unitok")
    assert isinstance(result.exception, ModelFormatError)


def test_counts_that_are_not_integers_are_rejected() -> None:
    values = BYTES | {key(b"ab"): [300, "", 2.5]}
    vocabulary = bytepiece.read(json.dumps(values).encode(), "toy")
    with pytest.raises(VocabularyError, match="are not integers"):
        bytepiece.counted(vocabulary)
    del values[key(b"ab")]
    vocabulary = bytepiece.read(json.dumps(values).encode(), "toy")
    assert bytepiece.counted(vocabulary) == bytepiece.parse(values, "toy")
    assert library.MODEL_FLAGS["bytes"] & vocabulary.flags
