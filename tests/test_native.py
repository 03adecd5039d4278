"""Native files: a saved model opens as the same model; damaged, truncated and hostile files cause a clear error."""

from __future__ import annotations

import contextlib
import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xxhash
from conftest import ENGINES, fewer
from hypothesis import given
from hypothesis import strategies as st
from oracle import longest as oracle
from toys.models import BYTES
from toys.vocabularies import Case, cases

from pyunitok import CpuError, IdError, ModelFormatError, Tokenizer, VocabularyError
from pyunitok._c import library
from pyunitok._c import model as c_model
from pyunitok.vocab import native
from pyunitok.vocab.vocabulary import About

TEXT = "the cat 猫である aaaab \0".encode() * 3
HEADER_BYTES = 64


def small(**how: Any) -> Tokenizer:
    return Tokenizer.from_pieces([*BYTES, "the", " the", "である", b"\xe3\x81", b"aaaa"], eod=300, name="small", **how)


def file_of(tok: Tokenizer) -> bytearray:
    return native.write(tok.codec.model, tok.codec.about)


def sign(data: bytearray) -> bytearray:
    """Set the correct checksum, as the author of a hostile file would."""
    data[16:24] = xxhash.xxh64_intdigest(bytes(data[24:])).to_bytes(8, "little")
    return data


def read(data: bytes, engine: str = "double-array") -> tuple[c_model.Model, About]:
    aligned = np.frombuffer(bytearray(data), np.uint8)
    return native.read(aligned, "file", engine=engine, cpu=None)


def refused(data: bytes, *words: str) -> None:
    with pytest.raises(ModelFormatError) as error:
        read(data)
    for word in ("file: ", *words):
        assert word in str(error.value)


@given(cases(max_texts=3), st.sampled_from(ENGINES), st.sampled_from(ENGINES))
@fewer(3)
def test_save_and_load(tmp_path_factory: pytest.TempPathFactory, case: Case, engine: Any, other: Any) -> None:
    path = tmp_path_factory.mktemp("native") / "model.utk"
    tok = case.tokenizer(engine=engine, name="любое имя")
    tok.save(path)
    again = Tokenizer.from_file(path, engine=other)
    assert (again.name, again.path, again.engine) == ("любое имя", str(path), other)
    assert (again.sha256, again.vocab_size, again.fallback_id) == (tok.sha256, tok.vocab_size, case.fallback)
    assert again.pieces() == tok.pieces()
    for text in case.texts:
        assert again.encode(text).tolist() == case.ids(text)
    again.save(path)  # overwrites the mapped file
    assert again.encode(case.texts[0]).tolist() == case.ids(case.texts[0])
    assert path.read_bytes() == bytes(file_of(tok))
    assert [file.name for file in path.parent.iterdir()] == ["model.utk"]


def test_file_is_the_same_for_every_engine() -> None:
    """The file does not depend on the time, the machine or the engine."""
    assert file_of(small()) == file_of(small(engine="hat")) == file_of(small(cpu="portable"))


def test_every_header_bit_and_many_others() -> None:
    good = file_of(small())
    rng = random.Random(1)
    places = [*range(HEADER_BYTES), *rng.sample(range(len(good)), 600), *range(len(good) - 80, len(good))]
    for at in places:
        bad = bytearray(good)
        bad[at] ^= 1 << rng.randrange(8)
        refused(bad)


def test_every_truncation() -> None:
    good = bytes(file_of(small()))
    rng = random.Random(2)
    lengths = [*range(200), *rng.sample(range(len(good)), 300), *range(len(good) - 80, len(good))]
    for n in lengths:
        refused(good[:n])
        if n >= 32:
            refused(sign(bytearray(good[:n])))  # with a correct checksum
    refused(good + b"\0")


def works(tok: Tokenizer, text: bytes) -> None:
    """Assert that every method accepts the text."""
    ids = tok.encode(text)
    assert all(id_ < tok.vocab_size for id_ in ids.tolist())
    assert tok.encode_with_offsets(text)[0].tolist() == ids.tolist()
    assert 0 <= tok.codec.split(text) <= len(text)
    with contextlib.suppress(IdError):  # an id may have no piece
        tok.decode_bytes(ids)
        tok.encode_as_pieces(text)


def hostile(data: bytearray) -> None:
    """Assert that the file is rejected with a clear error, or that its model encodes and decodes any text."""
    for engine in ENGINES:
        try:
            model, about = read(sign(data), engine)
        except ModelFormatError:
            continue
        tok = Tokenizer(model, about)
        for text in (TEXT, bytes(range(256))):
            works(tok, text)
            assert len(tok.encode(text)) <= len(text)
            assert tok.encode_with_offsets(text)[1][-1, 1] == len(text)
        for id_ in range(0, tok.vocab_size, 7):
            piece = tok.codec.model.piece(id_)
            assert piece is None or tok.piece_to_id(piece[:60]) in (None, *range(tok.vocab_size))
        assert len(tok.sha256) == 64 and len(repr(tok)) > 10


@pytest.mark.parametrize("seed", range(10))
def test_hostile_changes(seed: int) -> None:
    """Each section is damaged equally often, whatever its size, and the checksum is corrected."""
    rng = random.Random(seed)
    good = file_of(small())
    sections = list_sections(good)
    for _ in range(20):
        bad = bytearray(good)
        for _ in range(rng.choice([1, 1, 2, 20])):
            begin, end = rng.choice(sections)
            at = rng.randrange(begin, end)
            noise = rng.randbytes(rng.choice([1, 4, 8]))
            new = rng.choice([b"\0", b"\xff", b"\xff" * 4, b"\0" * 8, b"\x7f\xff", noise])
            bad[at : at + len(new)] = new[: len(bad) - at]
        hostile(bad)


def list_sections(data: bytes) -> list[tuple[int, int]]:
    """The (begin, end) of the header, double array, cuts, piece lengths, pieces and JSON."""
    image, n_ids, n_units = (int.from_bytes(data[at : at + 4], "little") for at in (24, 32, 52))
    units = HEADER_BYTES + 8 * n_units
    pieces = image - (int.from_bytes(data[56:64], "little") + 7) // 8 * 8
    lengths = pieces - (n_ids + 7) // 8 * 8
    bounds = [0, HEADER_BYTES, units, lengths, pieces, image, len(data)]
    return list(pairwise(bounds))


@given(st.binary(max_size=200))
def test_hostile_header(header: bytes) -> None:
    good = file_of(small())
    hostile(bytearray(native.MAGIC + header + bytes(24)))
    hostile(bytearray(bytes(good[:24]) + header[:40] + bytes(good[24 + len(header[:40]) :])))


@pytest.mark.parametrize(
    "about, word",
    [
        (b"", "Expecting value"),
        (b"{", "Expecting"),
        (b"[]", "expected an object"),
        (b"{}", "name"),
        (b'{"name": 5}', "name"),
        (b'{"name": "a", "eod_piece": 5}', "end-of-document piece"),
        (b'{"name": "a"} x', "Extra data"),
        (b"\xff", "utf-8"),
        (b"[" * 100_000, "recursion"),
        (b"1" * 10_000, "digits"),
        (b'{"name": "\\ud800", "eod_piece": null}', "surrogate"),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_invalid_descriptions(about: bytes, word: str) -> None:
    """Regression: 10,000 digits raised an error without the file's name; a lone surrogate failed when saving."""
    good = bytes(file_of(small()))
    image = int.from_bytes(good[24:32], "little")
    refused(sign(bytearray(good[:image] + about)), word)


def test_a_description_without_an_eod_piece() -> None:
    """Regression: reading such a file raised a KeyError."""
    good = bytes(file_of(small()))
    image = int.from_bytes(good[24:32], "little")
    assert read(sign(bytearray(good[:image] + b'{"name": "a", "more": 1}')))[1].eod_piece is None


def test_versions() -> None:
    for at, value, word in ((8, 1, "version"), (8, 9, "version"), (12, 9, "kind")):
        data = file_of(small())
        data[at] = value
        refused(sign(data), word, f"byte {at}")


def test_recognition_and_description() -> None:
    data = file_of(small())
    image = int.from_bytes(data[24:32], "little")
    assert json.loads(bytes(data[image:])) == {"name": "small", "eod_piece": "<eod>"}
    assert native.looks_native(bytes(data[:4096])) and image % 8 == 0
    assert sign(bytearray(data)) == data


# ----------------------------------------------------------------------------------------------- from_file -----


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"\0", b"\x89UTK", native.MAGIC, native.MAGIC + bytes(100), b"hello", b"\xff" * 5000, b"{}", b"[1]"),
        *(b"257 'ab' 2", b'{"a": 1}', b'{"a": "b"}', b"1 'a' 1\n" * 3, b"\xef\xbb\xbf1 'a' 1", b"PK\x03\x04", b"\n"),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_no_model(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "some-model"
    path.write_bytes(content)
    for engine in ENGINES:
        with pytest.raises((ModelFormatError, VocabularyError), match="some-model"):
            Tokenizer.from_file(path, engine=engine)


@given(st.binary(max_size=100))
@fewer(2)
def test_random_file(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("random") / "some-model"
    path.write_bytes(content)
    with pytest.raises((ModelFormatError, VocabularyError), match="some-model"):
        Tokenizer.from_file(path)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nothing-here"):
        Tokenizer.from_file(tmp_path / "nothing-here")
    with pytest.raises(ModelFormatError, match="there is no model in this folder"):
        Tokenizer.from_file(tmp_path)


def test_from_file_takes_str_and_path(tmp_path: Path) -> None:
    small().save(str(tmp_path / "m"))
    assert Tokenizer.from_file(str(tmp_path / "m")).sha256 == Tokenizer.from_file(tmp_path / "m").sha256
    missing = [cpu for cpu in library.CPUS if not library.cpu_supported(cpu)]
    with pytest.raises(CpuError, match="instruction set"):
        Tokenizer.from_file(tmp_path / "m", cpu=missing[0])
    for wrong in ({"engine": "trie"}, {"cpu": "mmx"}):
        with pytest.raises(ValueError, match="must be"):
            Tokenizer.from_file(tmp_path / "m", **wrong)


def test_rwkv(tmp_path: Path, rwkv: Tokenizer) -> None:
    path = tmp_path / "rwkv.utk"
    rwkv.save(path)
    again = Tokenizer.from_file(path)
    assert again.sha256 == rwkv.sha256 and again.eod_id == 0 and again.id_to_piece(0) == "<|endoftext|>"
    pieces = {item.tobytes(): i for i, item in enumerate(again.pieces()) if len(item)}
    text = b"".join(random.Random(1).sample(list(pieces), 3000))
    for engine in ENGINES:
        assert Tokenizer.from_file(path, engine=engine).encode(text).tolist() == oracle.longest_prefix(pieces, text)


def test_a_trie_that_is_not_a_tree() -> None:
    """In a trie with a cycle or shared children, a walk might never end, or encoding could take quadratic time."""
    data = file_of(small())
    n_units = int(np.frombuffer(data[52:56], "<u4")[0])
    units = np.frombuffer(bytes(data[64 : 64 + 8 * n_units]), "<u8").copy()

    def child(base: int, label: int) -> int:
        return base ^ label

    a = child(256, ord("a"))
    aa = child(int(units[a]) >> 32, ord("a"))
    aaa = child(int(units[aa]) >> 32, ord("a"))
    aaaa = child(int(units[aaa]) >> 32, ord("a"))
    assert int(units[aaaa]) >> 9 & 0x7FFFFF, "the piece aaaa ends here"

    def with_bases(**bases: int) -> bytearray:
        changed = units.copy()
        for name, base in bases.items():
            at = {"a": a, "aaaa": aaaa}[name]
            changed[at] = (int(changed[at]) & 0xFFFFFFFF) | base << 32
        return sign(data[:64] + bytearray(changed.tobytes()) + data[64 + 8 * n_units :])

    refused(with_bases(aaaa=256), "same children")  # a child leads back to the root
    refused(with_bases(aaaa=int(units[a]) >> 32), "same children")  # leads back to aa, which is already a child of a
    refused(with_bases(a=0, aaaa=int(units[a]) >> 32), "cycle")  # aa, aaa, aaaa, aa …, not reachable from the root
    read(with_bases())
