"""BytePiece .model files: reading valid and invalid files, NFC, and ids compared with bytepiece."""

from __future__ import annotations

import base64
import json
import random
import sys
import unicodedata
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import CPUS, decompressed, fewer, find_shared
from hypothesis import given
from hypothesis import strategies as st
from oracle import unigram as oracle_unigram

from pyunitok import Tokenizer
from pyunitok._c import library
from pyunitok.cli import cli
from pyunitok.errors import ModelFormatError, VocabularyError
from pyunitok.packed import Packed
from pyunitok.vocab import bytepiece, nfc, rwkv

Values = dict[str, list[Any]]
BYTES: Values = {base64.b64encode(bytes([byte])).decode(): [byte + 3, "", 1] for byte in range(256)}


def key(piece: bytes) -> str:
    return base64.b64encode(piece).decode()


def load_reference() -> Any:
    library = pytest.importorskip("bytepiece")
    if __import__("ahocorasick").unicode:
        pytest.skip("bytepiece requires pyahocorasick built with AHOCORASICK_BYTES=1")
    return library


def make(values: Values, cpu: str | None = None) -> Tokenizer:
    vocabulary = bytepiece.read(json.dumps(values).encode(), "toy.model")
    return Tokenizer(vocabulary.build(engine="double-array", cpu=cpu), vocabulary.about("toy"))


@given(
    st.dictionaries(
        st.binary(min_size=1) | st.text(min_size=1).map(lambda text: text.encode("utf-8", "replace")),
        st.tuples(st.integers(0, 1 << 40), st.integers(0, 1 << 63) | st.floats(0, 1e300)),
        min_size=1,
    )
)
@fewer(2)
def test_write_matches_json_dumps(entries: bytepiece.Entries) -> None:
    expected = json.dumps(bytepiece.to_json(entries), indent=4, ensure_ascii=False)
    assert bytepiece.write(entries) == expected.encode()


def toy(seed: int) -> Values:
    """A model with few letters and many ties. Its pieces contain newlines, spaces and characters of up to 4 bytes."""
    draw = random.Random(seed)
    alphabet = [*"ab \n", "é", "e", "\u0301", "猫", "😀"]
    counts = {bytes([byte]): draw.choice([1, 1, 2, 8, 100]) for byte in range(256)}
    for _ in range(60):
        counts["".join(draw.choices(alphabet, k=draw.randint(2, 6))).encode()] = draw.choice([1, 2, 8, 100])
    return {key(piece): [i + 3, "", count] for i, (piece, count) in enumerate(counts.items())}


# ------------------------------------------------------------------------------------------------------ files ----


def test_a_file_of_two_pieces(tmp_path: Path) -> None:
    path = tmp_path / "toy.model"
    path.write_text(json.dumps(BYTES | {key(b"th"): [259, "th", 50], key(b"the"): [700, "the", 60]}))
    tokenizer = Tokenizer.from_file(path)
    assert tokenizer.encode("the th").tolist() == [700, 35, 259]
    assert (tokenizer.vocab_size, tokenizer.kind, tokenizer.lossless) == (701, "unigram", False)
    assert (tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id, tokenizer.eod_id) == (0, 1, 2, 2)
    assert [tokenizer.id_to_piece(id_) for id_ in (0, 1, 2, 259)] == ["<pad>", "<bos>", "<eos>", "th"]
    assert tokenizer.decode([0, 1, 700, 2]) == "the"
    with pytest.raises(UnicodeDecodeError):
        tokenizer.decode([0xE9 + 3])


def test_scores_match_the_reference() -> None:
    library = load_reference()
    for name in ("bytepiece_80k", "bytepiece.plus.40k"):
        path = find_shared(f"models/bytepiece/{name}.model")
        values = json.loads(path.read_bytes())
        vocabulary = bytepiece.vocabulary_of(bytepiece.parse(values, "x"), "x")
        automaton = library.Tokenizer(str(path))._automaton
        assert vocabulary.scores is not None
        assert [automaton.get(base64.b64decode(piece))[1] for piece in values] == vocabulary.scores[3:].tolist()


ODD = {
    "a count that is not an integer": {key(b"ab"): [300, "", 2.5]},
    "a count of 0": {key(b"ab"): [300, "", 0]},
    "a negative count": {key(b"ab"): [300, "", -3]},
    "a count that is true": {key(b"ab"): [300, "", True]},
    "a large count": {key(b"ab"): [300, "", 2**63 + 1]},
    "no text": {key(b"ab"): [300, 5]},
    "only one number": {key(b"ab"): [300]},
    "base64 with a space": {"YW Ji": [300, "", 9]},
    "a repeated piece": {"YWI=": [300, "", 9], "YW!I=": [301, "", 70]},
    "gaps between ids": {key(b"ab"): [70000, "", 9]},
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_odd_files_match_the_reference(name: str) -> None:
    reference = load_reference().Tokenizer(BYTES | ODD[name])
    tokenizer = make(BYTES | ODD[name])
    for text in ("", "ab", "abcab", "xaby\nab"):
        assert tokenizer.encode(text).tolist() == reference.encode(text)


INVALID = {
    "not a list": ({key(b"ab"): 300}, "not \\[id, text, count\\]"),
    "an empty list": ({key(b"ab"): []}, "not \\[id, text, count\\]"),
    "broken base64": ({"YWJ": [300, "", 9]}, "[Ii]ncorrect padding"),
    "a key that is not ASCII": ({"é": [300, "", 9]}, "ASCII"),
    "an empty piece": ({"": [300, "", 9]}, "empty"),
    "an id that another piece has": ({key(b"ab"): [100, "", 9]}, "id 100 already belongs to b'a'"),
    "a special id": ({key(b"ab"): [1, "", 9]}, "<bos>"),
    "an id that is not a number": ({key(b"ab"): ["300", "", 9]}, "the id"),
    "an id that is true": ({key(b"ab"): [True, "", 9]}, "the id"),
    "a negative id": ({key(b"ab"): [-1, "", 9]}, "the id"),
    "a large id": ({key(b"ab"): [1 << 40, "", 9]}, "the id"),
    "a count that is a string": ({key(b"ab"): [300, "", "9"]}, "the count"),
    "an infinite count": ({key(b"ab"): [300, "", float("inf")]}, "the count"),
    "a count that is NaN": ({key(b"ab"): [300, "", float("nan")]}, "the count"),
    "a count of 2**64": ({key(b"ab"): [300, "", 2**64]}, "the count"),
    "counts whose sum exceeds 2**64": ({key(b"ab"): [300, "", 2**64 - 1]}, "the sum"),
    "a byte with count 0": ({key(b"a"): [100, "", 0]}, "byte 0x61 has count 0"),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_files_are_rejected(name: str, tmp_path: Path) -> None:
    more, words = INVALID[name]
    path = tmp_path / "toy.model"
    path.write_text(json.dumps(BYTES | more))
    with pytest.raises(VocabularyError, match=words) as caught:
        Tokenizer.from_file(path)
    assert str(path) in str(caught.value)


def test_a_missing_byte_is_rejected() -> None:
    values = {piece: value for piece, value in BYTES.items() if piece != key(b"\xff")}
    with pytest.raises(VocabularyError, match="byte 0xff has no piece"):
        make(values)


def test_recognition() -> None:
    data = json.dumps(BYTES, indent=4).encode()
    assert bytepiece.looks_like_json(data[:100])
    assert not rwkv.looks_like_json(data[:100])
    assert not bytepiece.looks_like_json(b'{"a": 1}')
    assert not bytepiece.looks_like_json(b'{"added_tokens": [{"id": 0}]}')


@given(st.data())
def test_damaged_files_are_rejected_or_loaded(data: st.DataObject) -> None:
    text = bytearray(json.dumps(BYTES | {key(b"the"): [300, "the", 9]}).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        text[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    try:
        vocabulary = bytepiece.read(bytes(text), "toy.model")
        vocabulary.build(engine="double-array", cpu=None)
    except VocabularyError as error:
        assert "toy.model" in str(error)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
)


@given(_JSON)
def test_any_json_is_rejected_or_loaded(value: Any) -> None:
    with pytest.raises(VocabularyError):  # pieces for single bytes are missing
        bytepiece.read(json.dumps(value).encode(), "toy.model")
    with nullcontext() if _is_entry(value) else pytest.raises(VocabularyError):
        bytepiece.read(json.dumps(BYTES | {key(b"the"): value}).encode(), "toy.model")


def _is_entry(value: Any) -> bool:
    return (
        isinstance(value, list) and len(value) > 0 and type(value[0]) is int and 258 < value[0] <= library.WIDE_ID_MAX
        and isinstance(value[-1], int | float) and abs(value[-1]) < 2**63 and sum([256, value[-1]]) > 0
    )  # fmt: skip


def test_native_round_trip(tmp_path: Path) -> None:
    tokenizer = make(toy(1))
    tokenizer.save(tmp_path / "toy.unitok")
    again = Tokenizer.from_file(tmp_path / "toy.unitok")
    text = "abe\u0301 猫\n\nab"
    assert again.encode(text).tolist() == tokenizer.encode(text).tolist()
    assert again.codec.about.count_total == tokenizer.codec.about.count_total
    assert again.eod_id == 2


def test_a_native_file_with_another_preparation_is_rejected() -> None:
    tokenizer = make(BYTES)
    about = type(tokenizer.codec.about)("toy", prepare={"nfd": True})
    with pytest.raises(ModelFormatError, match="prepare"):
        Tokenizer(tokenizer.codec.model, about)


# -------------------------------------------------------------------------------------------------------- NFC ----


def test_nfc_boundaries_do_not_compose_or_reorder() -> None:
    for character in map(chr, range(0xA0, sys.maxunicode + 1)):
        if nfc._begins_anew(character):
            assert unicodedata.normalize("NFC", character) == character
            for before in ("a", "\u1100", "\uac00", "\u0915", "\u0b47", "\U00011131"):
                assert unicodedata.normalize("NFC", before + character) == before + character


_TEXT = st.text(st.sampled_from([*"ae \n1é각猫😀", *"\u0301\u0323\u0958\u11a8\u0344"]))


@given(st.lists(_TEXT | st.text(max_size=3)).map("".join))
def test_nfc_matches_unicodedata(text: str) -> None:
    assert nfc.normalize(text.encode()) == unicodedata.normalize("NFC", text).encode()


@given(st.lists(_TEXT.map(str.encode) | st.binary(max_size=2)).map(b"".join))
def test_invalid_bytes_are_kept_and_separate_the_text(text: bytes) -> None:
    expected = unicodedata.normalize("NFC", text.decode("utf-8", "surrogateescape"))
    assert nfc.normalize(text) == expected.encode("utf-8", "surrogateescape")
    normalized, begins, ends = nfc.normalize_with_offsets(text)
    assert normalized == nfc.normalize(text)
    assert begins[0] == 0 and begins[-1] == len(text) and (ends[:-1] > begins[:-1]).all()
    for begin, end, byte in zip(begins[:-1].tolist(), ends[:-1].tolist(), normalized, strict=True):
        assert text[begin:end] == bytes([byte]) or unicodedata.normalize(
            "NFC", text[begin:end].decode("utf-8", "surrogateescape")
        ) != text[begin:end].decode("utf-8", "surrogateescape")


@given(_TEXT, _TEXT)
def test_a_split_is_a_normalization_boundary(left: str, right: str) -> None:
    text = (left + "\n" + right).encode()
    size = nfc.split(text)
    assert nfc.normalize(text[:size]) + nfc.normalize(text[size:]) == nfc.normalize(text)
    assert size == 0 or (text[size - 1 : size] == b"\n" and text[size : size + 1] != b"\n")
    assert size > 0 or "\n" not in text.decode().rstrip("\n")[:-1] or text.decode().lstrip("\n").count("\n") == 0


# ------------------------------------------------------------------------------------------------------- ids ----


def chunks(text: str) -> list[bytes]:
    """The parts of a text that bytepiece encodes separately, found one character at a time."""
    ret, chunk = [], ""
    for character in unicodedata.normalize("NFC", text):
        if chunk.endswith("\n") and character != "\n":
            ret.append(chunk.encode())
            chunk = ""
        chunk += character
    return [*ret, chunk.encode()]


def slow_ids(tokenizer: Tokenizer, text: str) -> list[int]:
    spec = tokenizer.codec.model.spec()
    data, bounds = spec["data"].tobytes(), spec["offsets"].tolist()
    pieces = {
        data[bounds[k] : bounds[k + 1]]: (id_, score)
        for k, (id_, score, type_) in enumerate(zip(spec["ids"].tolist(), spec["scores"], spec["types"], strict=True))
        if type_ == 1
    }
    return [id_ for chunk in chunks(text) for id_, _ in oracle_unigram.bytepiece(pieces, chunk)]


_LETTERS = st.lists(st.sampled_from(["a", "b", " ", "\n", "é", "e", "\u0301", "猫", "😀", "\n\n", "aaaa"]), max_size=80)


@given(st.integers(0, 30), _LETTERS.map("".join), st.sampled_from(CPUS))
def test_ids_match_the_oracle(seed: int, text: str, cpu: str) -> None:
    tokenizer = make(toy(seed), cpu)
    ids = tokenizer.encode(text).tolist()
    assert ids == slow_ids(tokenizer, text)
    assert tokenizer.decode(ids) == unicodedata.normalize("NFC", text) == tokenizer.normalize(text)
    assert tokenizer.count(text) == len(ids)
    spanned, spans = tokenizer.encode_with_offsets(text)
    assert spanned.tolist() == ids
    for id_, (begin, end) in zip(ids, spans.tolist(), strict=True):
        covered = unicodedata.normalize("NFC", text[begin:end]).encode()
        assert tokenizer.id_to_bytes(id_) in covered


@given(st.integers(0, 5), st.lists(_LETTERS.map("".join), max_size=6), st.integers(1, 3))
def test_batches_and_parts(seed: int, docs: list[str], threads: int) -> None:
    tokenizer = make(toy(seed))
    expected = [tokenizer.encode(doc).tolist() for doc in docs]
    assert [ids.tolist() for ids in tokenizer.encode_batch(docs, threads)] == expected
    packed = Packed.from_documents(doc.encode() for doc in docs)
    assert [ids.tolist() for ids in tokenizer.encode_batch(packed)] == expected
    for doc, ids in zip(docs, expected, strict=True):
        data = doc.encode()
        size = tokenizer.codec.split(data)
        assert tokenizer.encode(data[:size]).tolist() + tokenizer.encode(data[size:]).tolist() == ids


def test_a_newline_restarts_on_every_cpu() -> None:
    """Regression: a newline was joined to the following text, so `##` + `#` was encoded without a restart."""
    pieces = {b"##": 100, b"\t#": 3, b"\x0b#": 3, b"a#": 3, b"\n\n": 9, b".\n\n": 9, b" macro": 9, "\t中".encode(): 2}
    pieces |= {bytes([a, b]): 2 for a in range(9, 120, 7) for b in range(32, 120, 5)}
    values = BYTES | {key(piece): [300 + i, "", n] for i, (piece, n) in enumerate(pieces.items())}
    texts = ["a macro.\n\n### R", "x\n###", "\n中中", "\n\n\n中", "中\n中\n", "\n", "\n#", "ab\n\t###\n###"]
    expected = [slow_ids(make(values), text) for text in texts]
    for cpu in CPUS:
        tokenizer = make(values, cpu)
        assert [tokenizer.encode(text * n).tolist() for text in texts for n in (1, 40)] == [
            x for text, e in zip(texts, expected, strict=True) for x in (e, slow_ids(tokenizer, text * 40))
        ]


@given(st.integers(0, 3), st.lists(st.binary(max_size=6) | st.sampled_from([b"\n", b"\n\x80", b"ab"]), max_size=20))
def test_any_bytes_encode_the_same_on_every_cpu(seed: int, parts: list[bytes]) -> None:
    text = b"".join(parts)
    found = [make(toy(seed), cpu) for cpu in CPUS]
    ids = [tokenizer.encode(text).tolist() for tokenizer in found]
    assert all(other == ids[0] for other in ids)
    assert found[0].decode_bytes(ids[0]) == nfc.normalize(text)
    assert found[0].codec.new_scratch().encode_spans(text)[:, 0].tolist() == ids[0]


def test_text_may_become_longer_in_nfc() -> None:
    """U+0958 has three bytes, but six in NFC, and each byte becomes one id."""
    tokenizer = make(BYTES)
    text = "\u0958" * 3000
    assert tokenizer.count(text) == 18000 == len(tokenizer.encode(text))
    assert len(tokenizer.encode_batch([text, text], 2).data) == 36000


def test_ids_do_not_depend_on_the_block_size(tmp_path: Path) -> None:
    """Documents are split after newlines and verified in NFC, which may make them longer."""
    path, model = tmp_path / "corpus.txt", tmp_path / "toy.model"
    model.write_text(json.dumps(toy(2)))
    text = "".join(random.Random(4).choices(["ab", " ", "\n", "e\u0301", "\u0958", "猫", "a\n\n"], k=40_000))
    path.write_text(text)
    for out, options in (("a", []), ("b", ["--block", "64K", "--threads", "3"]), ("c", ["--block", "64K", "--verify"])):
        arguments = ["tokenize", str(path), "-m", str(model), "-o", str(tmp_path / out), "--doc", "file", *options]
        result = CliRunner().invoke(cli, arguments)
        assert result.exit_code == 0, result.output
    expected = [*Tokenizer.from_file(model).encode(text).tolist(), 2]
    for out in "abc":
        assert np.fromfile(tmp_path / out, "<u2").tolist() == expected
    assert CliRunner().invoke(cli, ["verify", str(tmp_path / "b"), str(path)]).exit_code == 0


@fewer(2)
@given(st.integers(0, 40), st.lists(_LETTERS.map("".join), min_size=3, max_size=3))
def test_ids_match_the_reference(seed: int, texts: list[str]) -> None:
    library = load_reference()
    values = toy(seed)
    tokenizer, reference = make(values), library.Tokenizer(values)
    for text in texts:
        ids = reference.encode(text)
        assert tokenizer.encode(text).tolist() == ids
        assert tokenizer.decode(ids) == reference.decode(ids)


CORPORA = ("ar", "code", "de", "emoji", "en_prose", "en_web", "hi", "ja", "json", "ko", "logs", "multi", "ru", "zh")


@pytest.mark.parametrize("model", ["bytepiece_80k", "bytepiece.plus.40k"])
def test_real_text(model: str) -> None:
    library = load_reference()
    path = find_shared(f"models/bytepiece/{model}.model")
    tokenizer, reference = Tokenizer.from_file(path), library.Tokenizer(str(path))
    for name in CORPORA:
        text = decompressed(find_shared(f"corpora/{name}.txt.zst"), 40_000).decode(errors="ignore")
        for doc in (text[:4000], text[4000:20000], unicodedata.normalize("NFD", text[20000:24000])):
            assert tokenizer.encode(doc).tolist() == reference.encode(doc)
