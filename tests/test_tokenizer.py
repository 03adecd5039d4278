"""Tokenizer: construction, ids and pieces, decoding, named vocabularies."""

from __future__ import annotations

import hashlib
import json
import operator
import pickle
import re
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import commands
import numpy as np
import pytest
from conftest import CPUS, ENGINES
from hypothesis import given
from hypothesis import strategies as st
from oracle import longest as oracle
from toys import models
from toys.models import BYTES
from toys.vocabularies import Case, vocabularies

from pyunitok import CpuError, IdError, Packed, Tokenizer, VocabularyError
from pyunitok._c import library
from pyunitok.vocab import known, native
from pyunitok.vocab import rwkv as rwkv_module
from pyunitok.vocab.vocabulary import Vocabulary

WORDS = [b"the", " the", "猫", b"\xe3\x81", " " * 128]


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return Tokenizer.from_pieces([*BYTES, *WORDS], eod=300)


# --------------------------------------------------------------------------------------------- from_pieces -----


def test_types_of_pieces() -> None:
    listed = Tokenizer.from_pieces([*BYTES, "ab", "猫"])
    same = [
        Tokenizer.from_pieces(iter([*BYTES, b"ab", "猫".encode()])),
        Tokenizer.from_pieces({piece: i for i, piece in enumerate([*BYTES, b"ab", "猫"])}),
        Tokenizer.from_pieces({piece: np.int64(i) for i, piece in reversed(list(enumerate([*BYTES, "ab", "猫"])))}),
        Tokenizer.from_pieces([bytearray(piece) for piece in [*BYTES, b"ab", "猫".encode()]]),
    ]
    assert len({tok.sha256 for tok in [listed, *same]}) == 1
    assert (listed.eod_id, listed.fallback_id, listed.lossless, len(listed)) == (None, None, True, 258)
    assert listed.max_piece_bytes == 3 and listed.memory_bytes > 0


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "pieces, how, words",
    [
        ([*BYTES, b""], {}, ["piece 256", "empty"]),
        ([*BYTES, "ab", b"ab"], {}, ["piece 257", "b'ab'", "twice"]),
        ({"ab": 1, b"ab": 2}, {"fallback": 0}, ["b'ab'", "twice"]),
        ({"ab": 1, "cd": 1}, {"fallback": 0}, ["b'cd'", "id 1", "another piece has the same id"]),
        ({"ab": 4194304}, {"fallback": 0}, ["b'ab'", "4194304", "0..4194303"]),
        ({"ab": -1}, {"fallback": 0}, ["b'ab'", "-1", "0..4194303"]),
        ({"ab": 2**63}, {"fallback": 0}, ["0..4194303"]),
        ({"ab": -(2**70)}, {"fallback": 0}, ["0..4194303"]),
        (BYTES[:65] + BYTES[66:], {}, ["no piece", "byte 65"]),
        ([], {}, ["no piece", "byte 0"]),
        (BYTES, {"eod": "<eod>"}, ["eod", "'<eod>'", "not one of the pieces"]),
        (BYTES, {"fallback": b"ab"}, ["fallback", "b'ab'", "not one of the pieces"]),
        (BYTES, {"eod": 4194304}, ["eod", "0..4194303"]),
        (BYTES, {"eod": -1}, ["eod", "0..4194303"]),
        (BYTES, {"fallback": -1}, ["fallback", "0..4194303"]),
        (BYTES, {"eod": 2**80}, ["eod", "0..4194303"]),
        (BYTES, {"fallback": -(2**80)}, ["fallback", "0..4194303"]),
        ([*BYTES, b"x" * (2**20 + 1)], {}, ["piece 256", "too long"]),
    ],
    ids=lambda value: repr(value)[-30:],
)
def test_refused(engine: Any, pieces: Any, how: dict[str, Any], words: list[str]) -> None:
    """Regression: an eod of -1 meant none, and an eod of 2**80 raised an OverflowError."""
    with pytest.raises(VocabularyError) as error:
        Tokenizer.from_pieces(pieces, engine=engine, **how)
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize("pieces", [[1, 2, 3], b"abc", [None], {"a": 1.5}, {"a": "1"}, {"a": None}], ids=repr)
def test_pieces_of_a_wrong_type(pieces: Any) -> None:
    """Regression: from_pieces([3]) created a piece of three NULs, and {"a": 1.5} and {"a": "1"} meant id 1."""
    with pytest.raises(TypeError):
        Tokenizer.from_pieces(pieces, fallback=9)


@pytest.mark.parametrize("how", [{"eod": 1.5, "fallback": 9}, {"fallback": []}], ids=repr)
def test_ids_of_a_wrong_type(how: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        Tokenizer.from_pieces(["a"], **how)


def test_surrogates_and_names() -> None:
    with pytest.raises(UnicodeEncodeError):
        Tokenizer.from_pieces([*BYTES, "\ud800"])
    for how in ({"engine": "trie"}, {"engine": None}, {"cpu": "mmx"}, {"cpu": ""}):
        with pytest.raises(ValueError, match="must be"):
            Tokenizer.from_pieces(BYTES, **how)
    for cpu in library.CPUS:
        if cpu in CPUS:
            assert Tokenizer.from_pieces(BYTES, cpu=cpu).cpu == cpu
        else:
            with pytest.raises(CpuError, match="instruction set"):
                Tokenizer.from_pieces(BYTES, cpu=cpu)
    assert Tokenizer.from_pieces(BYTES).cpu == CPUS[-1]


def test_all_ids_in_use() -> None:
    pieces = [*BYTES, *(b"%06d" % i for i in range(65_536 - 256))]
    for engine in ENGINES:
        tok = Tokenizer.from_pieces(pieces, engine=engine)
        assert len(tok) == 65_536
        assert tok.encode(b"065279" + b"x").tolist() == [65_535, 120]
        assert tok.decode([65_535, 0xFF], "replace") == "065279\ufffd"


@pytest.mark.parametrize("engine", ENGINES)
def test_fallback(engine: Any) -> None:
    own = Tokenizer.from_pieces(["猫", "a"], fallback=7, engine=engine)
    assert own.encode("a猫b").tolist() == [1, 0, 7]
    assert own.encode("は").tolist() == [7, 7, 7]
    assert own.decode([1, 7, 0]) == "a\ufffd猫"
    assert own.encode_as_pieces("ab") == ["a", "\ufffd"]
    assert (own.fallback_id, own.lossless, len(own)) == (7, False, 8)
    piece = Tokenizer.from_pieces(["a", "?"], fallback="?", engine=engine)
    assert piece.encode("a?b").tolist() == [0, 1, 1]
    assert piece.decode(piece.encode("a?b")) == "a??"
    assert piece.piece_to_id("b") is None
    unused = Tokenizer.from_pieces(BYTES, fallback=300, engine=engine)
    assert unused.encode(bytes(range(256))).tolist() == list(range(256)) and unused.lossless
    nothing = Tokenizer.from_pieces([], fallback=0, engine=engine)
    assert nothing.encode("abc").tolist() == [0, 0, 0] and nothing.max_piece_bytes == 0
    assert len(nothing.encode_batch(["ab", "", "c"]).data) == 3


def test_eod(tok: Tokenizer) -> None:
    assert tok.eod_id == 300 and len(tok) == 301
    assert tok.decode([97, 300, 98]) == "ab" and tok.id_to_bytes(300) == b""
    assert tok.id_to_piece(300) == "<eod>" and tok.piece_to_id("<eod>") == 300
    assert 300 not in tok.encode("<eod>")
    for eod in ("|", b"|", 124):
        piece = Tokenizer.from_pieces(BYTES, eod=eod)
        assert (piece.eod_id, piece.decode([97, 124]), piece.id_to_piece(124)) == (124, "a|", "|")
    none = Tokenizer.from_pieces(BYTES)
    assert none.eod_id is None and none.piece_to_id("<eod>") is None


def test_sha256_depends_on_the_vocabulary(tmp_path: Path) -> None:
    pieces = {piece: i for i, piece in enumerate([*BYTES, b"the", "猫".encode()], 1)}
    lines = "".join(f"{i} {piece!r} {len(piece)}\n" for piece, i in pieces.items())
    (tmp_path / "v.txt").write_text(lines, encoding="utf-8")
    (tmp_path / "crlf.txt").write_bytes("\r\n".join([*reversed(lines.splitlines()), ""]).encode())
    ours = Tokenizer.from_pieces(pieces, eod=0)
    ours.save(tmp_path / "v.utk")
    files = [Tokenizer.from_file(tmp_path / name, engine=e) for name in ("v.txt", "crlf.txt", "v.utk") for e in ENGINES]
    assert {tok.sha256 for tok in files} == {ours.sha256}
    others = [Tokenizer.from_pieces(pieces, eod=e, fallback=f) for e, f in ((1, None), (None, None), (0, 0), (0, 1))]
    moved = Tokenizer.from_pieces({piece: i % 258 + 1 for piece, i in pieces.items()}, eod=0)
    joined = Tokenizer.from_pieces({**pieces, b"the!": pieces[b"the"], b"the": 300}, eod=0)
    assert len({tok.sha256 for tok in [ours, *others, moved, joined]}) == 7


# -------------------------------------------------------------------------------------------- ids and pieces ---


@given(vocabularies())
def test_ids_and_pieces(case: Case) -> None:
    tok = case.tokenizer()
    piece_of = {id_: piece for piece, id_ in case.pieces.items()}
    assert {i: item.tobytes() for i, item in enumerate(tok.pieces()) if len(item)} == piece_of
    assert len(tok.pieces()) == len(tok) == tok.vocab_size == max([case.fallback or 0, *piece_of, -1]) + 1
    for id_, piece in piece_of.items():
        assert tok.id_to_bytes(id_) == piece
        assert tok.piece_to_id(piece) == id_
        assert b"<0x" in piece or tok.piece_to_id(tok.id_to_piece(id_)) == id_
        if piece[:-1] not in case.pieces:
            assert tok.piece_to_id(piece[:-1]) is None
        if piece + b"a" not in case.pieces:
            assert tok.piece_to_id(piece + b"a") is None


def test_shown_pieces(tok: Tokenizer) -> None:
    assert tok.id_to_piece(259) == "<0xE3><0x81>" and tok.piece_to_id("<0xE3><0x81>") == 259
    assert tok.id_to_piece(0xFF) == "<0xFF>" and tok.piece_to_id("<0xFF>") == 0xFF
    assert tok.id_to_piece(0) == "\0" and tok.piece_to_id("<0x00>") == 0
    assert tok.encode_as_pieces("は the") == ["<0xE3><0x81>", "<0xAF>", " the"]
    for missing in ("", b"", "<0x>", "<0xGG>", "<0xe3>", "th", "thee", b"\xe3\x81\xaf", "は"):
        assert tok.piece_to_id(missing) is None
    literal = Tokenizer.from_pieces([*BYTES, "<0xFF>"])
    assert literal.piece_to_id("<0xFF>") == 256 and literal.piece_to_id(b"\xff") == 255


@pytest.mark.parametrize("id_", [-1, 261, 299, 301, 65535, 65536, 2**40, -(2**80)])
def test_id_without_a_piece(tok: Tokenizer, id_: int) -> None:
    for call in (tok.id_to_piece, tok.id_to_bytes):
        with pytest.raises(IdError, match=f"id {id_} at position 0"):
            call(id_)


def test_every_rwkv_id(rwkv: Tokenizer) -> None:
    assert (len(rwkv), rwkv.eod_id, rwkv.lossless, rwkv.fallback_id) == (65530, 0, True, None)
    assert rwkv.id_to_piece(0) == "<|endoftext|>" and rwkv.piece_to_id("<|endoftext|>") == 0
    assert rwkv.encode("<|endoftext|>").tolist() != [0]
    wrong = []
    for id_ in range(1, 65530):
        piece = rwkv.id_to_bytes(id_)
        if rwkv.piece_to_id(piece) != id_ or rwkv.piece_to_id(rwkv.id_to_piece(id_)) != id_:
            wrong.append(id_)
        if rwkv.encode(piece).tolist() != [id_] or rwkv.decode_bytes([id_]) != piece:
            wrong.append(id_)
    assert not wrong
    assert [rwkv.id_to_bytes(b + 1) for b in range(256)] == BYTES


@pytest.mark.parametrize("arguments", [(), ("t5.model",), (Path("t5.model"), None), ({b"a": 0},)], ids=repr)
def test_calling_the_class(arguments: Any) -> None:
    """Regression: the error was "missing 2 required positional arguments: 'model' and 'about'"."""
    with pytest.raises(TypeError, match=r"default\(\), Tokenizer\.from_file\(path\) or Tokenizer\.from_p"):
        Tokenizer(*arguments)


def test_repr(tok: Tokenizer) -> None:
    assert repr(tok) == f"Tokenizer('pieces', vocab_size=301, engine='double-array', cpu='{CPUS[-1]}')"


# -------------------------------------------------------------------------------------------------- decoding ---


@given(st.lists(st.integers(0, 260)))
def test_decode_any_sequence(tok: Tokenizer, ids: list[int]) -> None:
    pieces = {piece if isinstance(piece, bytes) else piece.encode(): i for i, piece in enumerate([*BYTES, *WORDS])}
    expected = oracle.decode(pieces, ids)
    narrow = np.int16 if max(ids, default=0) < 2**15 else np.int32
    kinds: list[Any] = [
        ids, tuple(ids), iter(ids), (i for i in ids), np.array(ids, object), [np.uint16(i) for i in ids]
    ]
    for dtype in (np.uint16, np.int32, np.uint32, np.int64, np.uint64, narrow, ">u2", ">i8"):
        kinds.append(np.array(ids, dtype))
    kinds += [np.repeat(np.array(ids, np.uint16), 2)[::2], np.array(ids[::-1], np.uint16)[::-1]]
    for kind in kinds:
        assert tok.decode_bytes(kind) == expected
    assert tok.decode(ids, "replace") == expected.decode("utf-8", "replace")
    assert tok.decode_bytes_batch(Packed(np.array(ids, np.uint16), np.array([0, len(ids)])))[0].tobytes() == expected


def test_decode_ranges_and_nothing(tok: Tokenizer) -> None:
    assert tok.decode(range(97, 100)) == "abc"
    for nothing in ([], (), range(0), iter(()), np.array([], np.uint16), np.array([], np.int64), np.array([]), {}):
        assert tok.decode(nothing) == "" and tok.decode_bytes(nothing) == b""
    assert tok.decode([True, False]) == "\1\0"  # bool is a subclass of int
    read_only = np.array([97], np.uint16)
    read_only.flags.writeable = False
    assert tok.decode(read_only) == "a"


class Tensor:
    """Resembles torch's tensors: an iterable of tensors with __array__, and __index__ if it holds a single number."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.values

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Any:
        return map(Tensor, self.values)

    def __index__(self) -> int:
        return int(self.values.item()) if self.values.dtype.kind in "iu" else operator.index("not an integer")


def torch_tensor(values: Any) -> Any:
    return pytest.importorskip("torch").tensor(values)


@pytest.mark.parametrize("make", [Tensor, torch_tensor])
def test_decode_tensors(tok: Tokenizer, make: Any) -> None:
    """Regression: decode(torch.tensor(...)) failed with "ids must be integers; position 0 holds Tensor"."""
    ids = tok.encode("the cat 猫").tolist()
    kinds = [make(ids), list(make(ids)), tuple(make(ids))]
    for kind in kinds:
        assert tok.decode(kind) == "the cat 猫" and tok.decode_bytes(kind) == "the cat 猫".encode()
    assert tok.decode_batch(kinds) == ["the cat 猫"] * 3
    assert tok.decode_batch(make([[97, 98], [99, 100]])) == ["ab", "cd"]
    assert tok.decode(make([])) == ""  # torch makes this a float32 tensor
    with pytest.raises(IdError, match="id 70000 at position 1"):
        tok.decode(make([97, 70000]))
    with pytest.raises(TypeError, match="ids must be a sequence of integers, not float"):
        tok.decode(make([1.5]))
    with pytest.raises(TypeError, match="ids must be a sequence of integers, not int64"):
        tok.decode(make([[97]]))


def test_decode_arrow_arrays(tok: Tokenizer) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    assert tok.decode(pyarrow.array([97, 98], pyarrow.uint16())) == tok.decode(pyarrow.array([97, 98])) == "ab"


def test_decoding_does_not_import_torch() -> None:
    code = "import sys, pyunitok; pyunitok.Tokenizer.default().decode((97, 98)); assert 'torch' not in sys.modules"
    commands.python(commands.ROOT, "-c", code, check=True)


@pytest.mark.parametrize("id_", [261, 299, 301, 65535, 65536, -1, 2**31, 2**63, 2**64, -(2**63) - 1, 10**30])
def test_decode_names_id_and_position(tok: Tokenizer, id_: int) -> None:
    kinds: list[Any] = [[97, 98, id_, 261], (97, 98, id_), iter([97, 98, id_]), np.array([97, 98, id_], object)]
    if -(2**63) <= id_ < 2**63:
        kinds.append(np.array([97, 98, id_]))
    if 0 <= id_ < 2**16:
        kinds.append(np.array([97, 98, id_], np.uint16))
    for kind in kinds:
        with pytest.raises(IdError, match=f"id {id_} at position 2"):
            tok.decode_bytes(kind)
    with pytest.raises(IndexError):
        tok.decode([id_])
    with pytest.raises(ValueError, match=f"id {id_} at position 0"):
        tok.decode([id_])


@pytest.mark.parametrize(
    "ids",
    [
        *(5, None, "97", ["a"], [97, None], [1.0], [97, 1.5], [[97]], np.array([1.5]), np.array(["a"]), np.array([1j])),
        *(np.array([97, 1.5], object), np.array([97, None], object), np.array([[97]]), np.array([[97]], np.uint16)),
    ],
    ids=repr,
)
def test_decode_rejects_other_types(tok: Tokenizer, ids: Any) -> None:
    """Regression: 1.5 in an object array was decoded as 1."""
    with pytest.raises(TypeError):
        tok.decode(ids)


def test_decode_invalid_utf8(tok: Tokenizer) -> None:
    with pytest.raises(UnicodeDecodeError):
        tok.decode([0xE3])
    assert tok.decode([0xE3, 97], errors="replace") == "\ufffda"
    assert tok.decode([0xE7, 0x8C, 0xAB]) == "猫"
    assert tok.decode_bytes([0xE3]) == b"\xe3"


def test_decode_bytes_batch(tok: Tokenizer) -> None:
    docs = ["the cat", "", "猫", " the" * 500]
    packed = tok.encode_batch(docs)
    assert [item.tobytes().decode() for item in tok.decode_bytes_batch(packed)] == docs
    late = Packed(packed.data, packed.offsets[1:])
    assert [item.tobytes().decode() for item in tok.decode_bytes_batch(late)] == tok.decode_batch(late) == docs[1:]
    with pytest.raises(IdError, match="id 299 at position 1"):
        tok.decode_bytes_batch(Packed(np.array([97, 299], np.uint16), np.array([0, 1, 2])))
    with pytest.raises(TypeError):
        tok.decode_bytes_batch(Packed(np.array([97, 98]), np.array([0, 2])))


def test_decode_batch(tok: Tokenizer) -> None:
    docs = ["the", "", "thé\n", "cat"]
    packed = tok.encode_batch(docs)
    assert tok.decode_batch(packed) == tok.decode_batch([ids.tolist() for ids in packed]) == docs
    assert tok.decode_batch(iter([[97], (98, 99), np.array([100])])) == ["a", "bc", "d"]
    assert tok.decode_batch([]) == [] and len(tok.decode_bytes_batch([])) == 0
    assert tok.decode_batch([[255]], "replace") == ["\ufffd"]
    with pytest.raises(UnicodeDecodeError):
        tok.decode_batch([[255]])
    with pytest.raises(IdError, match="sequence 1: id 70000 at position 1"):
        tok.decode_batch([[97], [98, 70000]])
    with pytest.raises(TypeError, match=r"sequence 0: .*position 1 is of type str"):
        tok.decode_batch([[97, "b"]])  # type: ignore[list-item]


def test_names_of_other_tools(tok: Tokenizer) -> None:
    vocabulary = tok.get_vocab()
    assert tok.n_vocab == tok.vocab_size == len(tok)
    assert all(tok.token_to_id(piece) == id_ for piece, id_ in vocabulary.items()) and "the" in vocabulary
    assert tok.id_to_token(vocabulary["the"]) == "the"
    assert tok.id_to_token(10**6) is None and tok.id_to_token(-1) is None
    assert "the" in tok and b"the" in tok and "no piece" not in tok and 5 not in tok
    assert tok("the").tolist() == tok.encode("the").tolist()
    assert [ids.tolist() for ids in tok(["the", "a"])] == [tok.encode("the").tolist(), [97]]


def test_equality_is_by_content(tok: Tokenizer) -> None:
    named = [("x y", "a"), ("x y", "b"), ("z!", "a")]
    a, b, c = (Tokenizer.from_pieces([*BYTES, more], name=name) for more, name in named)
    assert a == b == pickle.loads(pickle.dumps(a)) and hash(a) == hash(b)
    assert a != c and a != "a" and {a: 1}[b] == 1


def test_dir_shows_only_the_public_names(tok: Tokenizer) -> None:
    shown = {name for name in dir(tok) if not name.startswith("_")}
    assert shown == {
        "algorithm", "bos_id", "codec", "count", "cpu", "decode", "decode_batch", "decode_bytes", "decode_bytes_batch",
        "default", "dtype", "encode", "encode_as_pieces", "encode_batch", "encode_with_offsets", "engine", "entropy",
        "eod_id", "eos_id", "fallback_id", "from_file", "from_pieces",
            "from_pretrained", "get_vocab", "id_to_bytes", "id_to_piece",
        "id_to_token",
        "kind", "lossless", "max_piece_bytes", "memory_bytes", "n_vocab", "name", "nbest", "normalize", "pad_id",
        "path", "piece_to_id", "pieces", "prefix_range", "read_options", "sample",
            "sample_and_score", "save", "sha256", "token_to_id",
        "unk_id", "vocab_size",
    }  # fmt: skip


def test_encode_batch_names_the_document(tok: Tokenizer) -> None:
    with pytest.raises(TypeError, match="document 2: "):
        tok.encode_batch(["a", b"b", 5])  # type: ignore[list-item]
    with pytest.raises(UnicodeEncodeError, match=r"\(document 1\)"):
        tok.encode_batch(["a", "b\ud800"])


# --------------------------------------------------------------------------------------------------- default ---


def test_default() -> None:
    """Later releases must not change the pieces and their ids."""
    tok = Tokenizer.default(engine="hat")
    assert (tok.name, tok.path, tok.engine, tok.vocab_size, tok.eod_id) == ("unitok-v1", None, "hat", 65_280, 0)
    assert tok == Tokenizer.default() == Tokenizer.from_file("unitok-v1") == pickle.loads(pickle.dumps(tok))
    golden = json.loads((Path(__file__).parent / "golden/unitok-v1.json").read_text(encoding="utf-8"))
    pieces = b"".join(len(piece).to_bytes(2, "little") + piece for piece in map(tok.id_to_bytes, range(tok.vocab_size)))
    assert hashlib.sha256(pieces).hexdigest() == golden["pieces_sha256"]
    assert tok.sha256 == golden["sha256"] and tok.encode(golden["text"]).tolist() == golden["ids"]


def test_default_is_reproducible(tmp_path: Path) -> None:
    """The file can be regenerated. It also contains the cut tables, which may change in a release, unlike the ids."""
    tok = Tokenizer.default()
    pieces = [tok.id_to_bytes(id_) for id_ in range(1, tok.vocab_size)]
    ids, eod, name = np.arange(1, tok.vocab_size), tok.id_to_piece(0), "unitok-v1"
    vocabulary = Vocabulary.pack(pieces, ids, eod_id=0, eod_piece=eod, fallback_id=None, name=name)
    native.save(tmp_path / "again.utk", vocabulary.build(engine="double-array", cpu=None), vocabulary.about(name))
    assert (tmp_path / "again.utk").read_bytes() == known.FILE.read_bytes()


def test_default_pieces() -> None:
    """Multi-byte pieces are sorted, are complete characters or part of one, and have at most 3 digits in a row."""
    tok = Tokenizer.default()
    pieces = [tok.id_to_bytes(id_) for id_ in range(tok.vocab_size)]
    assert tok.id_to_piece(0) == "<|endoftext|>" and 0 not in tok.encode("a<|endoftext|>\n")  # never encoded
    assert pieces[0] == b"" and pieces[1:257] == [bytes([byte]) for byte in range(256)]
    assert pieces[257:] == sorted(set(pieces[257:]))
    assert not any(re.search(rb"\d{4}", piece) for piece in pieces)
    assert {b" " * n for n in [*range(1, 33), 64, 128]} <= set(pieces)
    for piece in pieces[257:]:
        lead = piece[0]
        size = 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
        if lead & 0xC0 == 0x80 or len(piece) < size:  # part of one character
            assert len(piece) < 4 and all(byte & 0xC0 == 0x80 for byte in piece[1:]), piece
        else:
            piece.decode()


def test_prefix_range() -> None:
    tok = Tokenizer.default()
    pieces = [tok.id_to_bytes(id_) for id_ in range(tok.vocab_size)]
    for prefix in ("", "t", "the", " the ", "\u00e9", "猫", b"\xe3", b"\xff", "\x00\x00", pieces[-1], "no such piece"):
        data = prefix.encode() if isinstance(prefix, str) else prefix
        expected = [id_ for id_ in range(257, len(pieces)) if pieces[id_].startswith(data)]
        assert list(tok.prefix_range(prefix)) == expected
    with pytest.raises(VocabularyError, match="order"):
        Tokenizer.from_pieces([*BYTES, "b2", "a2"]).prefix_range("a")


def test_rwkv_world_by_name(rwkv: Tokenizer) -> None:
    try:
        path = rwkv_module.find_installed()
    except VocabularyError as error:
        pytest.skip(str(error))
    was_imported = "pyrwkv_tokenizer" in sys.modules  # a different test may have imported it
    tok = Tokenizer.from_file("rwkv-world", engine="hat")
    assert (tok.name, tok.path, tok.engine, tok.sha256) == ("rwkv-world", str(path), "hat", rwkv.sha256)
    assert ("pyrwkv_tokenizer" in sys.modules) == was_imported  # found, not imported


@pytest.mark.parametrize("spec", [None, ModuleSpec("p", None), ModuleSpec("p", None, origin="nowhere/__init__.py")])
def test_rwkv_world_is_not_installed(monkeypatch: pytest.MonkeyPatch, spec: Any) -> None:
    monkeypatch.setattr(rwkv_module, "find_spec", lambda name: spec)
    with pytest.raises(VocabularyError, match=r"pip install 'pyunitok\[rwkv\]'"):
        Tokenizer.from_file("rwkv-world")


def test_hash_of_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hash never changes, and a different file in its place has a different hash."""
    tok = Tokenizer.default()
    assert tok.sha256 == "e5d4454747e8e6068a040beb807326bc335b3d0312288d1d8ae11969e78efc63"
    tok.save(tmp_path / "copy.utk")
    assert Tokenizer.from_file(tmp_path / "copy.utk").sha256 == tok.sha256
    other = models.greedy(eod=None)
    other.save(tmp_path / "other.utk")
    monkeypatch.setattr(known, "FILE", tmp_path / "other.utk")
    assert Tokenizer.default().sha256 == other.sha256


def test_import_is_lazy() -> None:
    """`import pyunitok` loads neither NumPy nor the C library until a name is used."""
    code = "import sys, pyunitok; names = {'numpy', 'pyunitok._lib'}; assert not names & set(sys.modules)\n"
    code += "pyunitok.Tokenizer; assert 'pyunitok._lib' in sys.modules"
    commands.python(commands.ROOT, "-c", code, check=True)
