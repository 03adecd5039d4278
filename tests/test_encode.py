"""Encoding compared with the oracle: every engine and instruction set, with or without memo, batches and threads."""

from __future__ import annotations

import itertools
import os
import pickle
import random
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from conftest import CPUS, ENGINES, fewer
from hypothesis import example, given
from hypothesis import strategies as st
from oracle import longest as oracle
from toys.models import BYTES
from toys.vocabularies import CHUNK, EDGES, Case, cases, texts_of, vocabularies

from pyunitok import Packed, Tokenizer
from pyunitok._c import library
from pyunitok._c import model as c_model
from pyunitok._c import scratch as c_scratch


def models(tokenizer: Tokenizer) -> Iterator[tuple[str, c_model.Model]]:
    """The same model for every engine and every instruction set of this machine."""
    image = np.frombuffer(tokenizer.codec.model.save(), np.uint8)
    for engine, cpu in itertools.product(ENGINES, CPUS):
        yield f"{engine}, {cpu}", c_model.Model.load(image, engine=engine, cpu=cpu)


def encode_all(model: c_model.Model, texts: list[bytes], **how: Any) -> list[list[int]]:
    """All texts in one call to the C library."""
    packed = Packed.from_documents(texts)
    ids = np.empty(len(packed.data) + len(texts) + library.ENCODE_SLACK, np.uint16)
    ends = np.empty(len(texts) + 1, np.int64)
    n = c_scratch.Scratch(model).encode_batch(packed.data, packed.offsets, ids, ends, **how)
    return [ids.tolist() for ids in Packed(ids[:n], ends)]


def encode_plain(model: c_model.Model, texts: list[bytes]) -> list[list[int]]:
    """Encode without cuts or the memo."""
    scratch = c_scratch.Scratch(model)
    return [scratch.encode_spans(text)[:, 0].tolist() for text in texts]


def check(case: Case) -> None:
    expected = [case.ids(text) for text in case.texts]
    for name, model in models(case.tokenizer()):
        scratch = c_scratch.Scratch(model)
        for text, ids in zip(case.texts, expected, strict=True):
            assert scratch.encode(text).tolist() == ids, name
        for text, ids in zip(case.texts, expected, strict=True):  # the memo now contains the segments
            assert scratch.encode(text).tolist() == ids, name
            assert scratch.count(text) == len(ids), name
        assert encode_all(model, case.texts) == expected, name
        assert encode_plain(model, case.texts) == expected, name
        assert encode_all(model, case.texts, eod_id=9) == [[*ids, 9] for ids in expected], name
        open_end = encode_all(model, case.texts, eod_id=9, open_end=True)
        assert open_end == [[*ids, 9] for ids in expected[:-1]] + expected[-1:], name


@given(cases())
def test_any_vocabulary(case: Case) -> None:
    check(case)


@given(cases(max_texts=30), st.integers(1, 5))
@fewer(2)
def test_batches(case: Case, threads: int) -> None:
    expected = [case.ids(text) for text in case.texts]
    tok = case.tokenizer()
    for docs in (case.texts, iter(case.texts), Packed.from_documents(case.texts)):
        packed = tok.encode_batch(docs, threads=threads)
        assert [ids.tolist() for ids in packed] == expected
        assert (packed.data.dtype, packed.offsets.dtype) == (np.uint16, np.int64)
        assert packed.offsets[0] == 0 and packed.offsets[-1] == len(packed.data)


@given(cases(max_texts=1))
def test_spans(case: Case) -> None:
    (text,) = case.texts
    for engine in ENGINES:
        ids, spans = case.tokenizer(engine=engine).encode_with_offsets(text)
        assert ids.tolist() == case.ids(text)
        assert spans.tolist() == [list(span) for span in oracle.spans(case.pieces, text, case.fallback)]


@given(cases(max_texts=3))
def test_decode(case: Case) -> None:
    tok = case.tokenizer()
    for text in case.texts:
        assert tok.decode_bytes(tok.encode(text)) == oracle.decode(case.pieces, case.ids(text), case.fallback)
        assert not tok.lossless or tok.decode_bytes(tok.encode(text)) == text
    assert tok.lossless == all(byte in case.pieces for byte in BYTES)
    back = tok.decode_bytes_batch(tok.encode_batch(case.texts))
    assert [item.tobytes() for item in back] == [tok.decode_bytes(tok.encode(text)) for text in case.texts]


@given(st.data())
def test_split(data: st.DataObject) -> None:
    """Later text does not change the ids before a split, and a text twice as long as the longest piece has a split."""
    case = data.draw(vocabularies())
    text, more = data.draw(texts_of(case)), data.draw(texts_of(case))
    tok = case.tokenizer(engine=data.draw(st.sampled_from(ENGINES)))
    k = tok.codec.split(text)
    assert 0 <= k <= len(text)
    assert k > 0 or len(text) < max(1, 2 * tok.max_piece_bytes)
    assert tok.encode(text[:k]).tolist() + tok.encode(text[k:] + more).tolist() == case.ids(text + more)


@given(cases(max_texts=1))
def test_cuts_are_boundaries(case: Case) -> None:
    """Dividing the text at a position that no piece can span does not change the ids."""
    text = case.texts[0][:100]
    for i in oracle.cuts(case.pieces, text):
        assert case.ids(text[:i]) + case.ids(text[i:]) == case.ids(text)


@given(st.data())
@fewer(3)
def test_stream(data: st.DataObject) -> None:
    """Encoding a document in blocks of any size, each cut by split(), gives the ids of the complete document."""
    case = data.draw(vocabularies())
    text = b"".join(data.draw(st.lists(texts_of(case), max_size=3)))
    tok, block = case.tokenizer(), data.draw(st.integers(1, 500))
    ids: list[int] = []
    pending = b""
    for begin in range(0, len(text), block):
        pending += text[begin : begin + block]
        k = tok.codec.split(pending)
        ids += tok.encode(pending[:k]).tolist()
        pending = pending[k:]
    assert ids + tok.encode(pending).tolist() == case.ids(text)


@pytest.mark.parametrize("symbol", [b"a", b" ", b"\0", b"\x80", b"\xbf", b"\xe3", b"\xff", b"ab", "猫".encode(), b"a "])
def test_every_length(symbol: bytes) -> None:
    """Encodes texts of every length up to three 64-byte words, and around the size of a chunk."""
    extra = [symbol * 2, symbol * 3 + b"x", symbol * 20, b" " + symbol, symbol + b" "]
    pieces = {piece: i for i, piece in enumerate(dict.fromkeys([*BYTES, *extra]))}
    run = symbol * (CHUNK + 80)
    lengths = [*range(200), *range(CHUNK - 70, CHUNK + 70)]
    texts = [run[:n] for n in lengths] + [run[:n] + b" x" for n in lengths]
    case = Case(pieces, None, [symbol], texts)
    expected = [case.ids(text) for text in texts]
    for name, model in models(case.tokenizer()):
        assert encode_all(model, texts) == expected, name


@pytest.mark.parametrize("n_bytes", EDGES)
def test_segments_of_edge_lengths(n_bytes: int) -> None:
    """Encodes segments of 15, 16, 31, 32 … bytes and 7, 8, 15, 16 … ids twice; some differ only in the last byte."""
    extra = [b"aa", b"ab", b"aab", b"a\0", b"\0\0", b"bbbb"]
    pieces = {piece: i for i, piece in enumerate([*BYTES, *extra])}
    rng = random.Random(n_bytes)
    segments = [bytes(rng.choices(b"ab\0", k=n_bytes)) for _ in range(60)]
    segments += [segment[:-1] + b"\0" for segment in segments] + [segment[:-1] for segment in segments]
    text = b" ".join(segments + segments)
    check(Case(pieces, None, [b"a"], [text, b" ".join(rng.sample(segments, len(segments)))]))


def test_the_memo_evicts_entries() -> None:
    """Encodes more different segments than the memo has entries, and then all of them again."""
    rng = random.Random(7)
    tok = Tokenizer.from_pieces([*BYTES, b"12", b"123", b"01", b"77777"])
    words = [b"%d" % rng.randrange(10 ** rng.choice([3, 9, 18, 30])) for _ in range(150_000)]
    text = b" ".join(words)
    expected = encode_plain(tok.codec.model, [text])[0]
    for _ in range(2):
        assert tok.encode(text).tolist() == expected
    for cpu in CPUS:
        other = Tokenizer.from_pieces([*BYTES, b"12", b"123", b"01", b"77777"], cpu=cpu)
        assert other.cpu == cpu
        assert np.array_equal(other.encode(text), expected)


def test_many_short_documents() -> None:
    """Regression: documents without an eod raised "a buffer is too small"."""
    tok = Tokenizer.from_pieces(BYTES)
    for n_docs in (16, 17, 100, 10_000):
        for doc in (b"", b"a", "é"):
            for threads in (1, 2, 5):
                packed = tok.encode_batch([doc] * n_docs, threads=threads)
                assert len(packed) == n_docs
                assert packed[-1].tolist() == packed[0].tolist() == tok.encode(doc).tolist()


def test_empty_batches() -> None:
    tok = Tokenizer.from_pieces(BYTES)
    for docs in ([], Packed.from_documents([]), iter(())):
        assert len(tok.encode_batch(docs)) == 0
    assert [len(ids) for ids in tok.encode_batch([b"", b"", b"ab", b""], threads=3)] == [0, 0, 2, 0]
    assert len(tok.encode(b"")) == tok.count("") == 0
    ids, spans = tok.encode_with_offsets("")
    assert len(ids) == 0 and spans.shape == (0, 2)


def test_a_packed_whose_first_offset_is_not_0() -> None:
    tok = Tokenizer.from_pieces(BYTES)
    docs = Packed(np.frombuffer(b"skipped, one, two, unused", np.uint8), np.array([9, 13, 13, 18]))
    assert [bytes(ids.tolist()) for ids in tok.encode_batch(docs)] == [b"one,", b"", b" two,"[:5]]


def test_groups_and_threads_cover_everything() -> None:
    """Encodes several megabytes, which are divided into groups and among threads."""
    rng = random.Random(3)
    tok = Tokenizer.from_pieces([*BYTES, b"the", b" the", b"  ", b"ab"])
    docs = [b"the ab  " * rng.choice([0, 1, 2, 100, 5000, 150_000]) for _ in range(60)]
    expected = [tok.encode(doc) for doc in docs]
    for threads in (None, 1, 2, 3, 5, 100):
        assert tok.encode_batch(docs, threads=threads) == tok.encode_batch(Packed.from_documents(docs), threads=1)
        assert all(np.array_equal(a, b) for a, b in zip(tok.encode_batch(docs, threads=threads), expected, strict=True))


# ------------------------------------------------------------------------------------------------- RWKV World ---


def test_known_sentence(rwkv: Tokenizer) -> None:
    assert rwkv.encode("吾輩は猫である。").tolist() == [11080, 17065, 10139, 14398, 58552, 10080]


def test_prefix_that_is_not_a_token(rwkv: Tokenizer) -> None:
    """A known wrong algorithm extends a match by one character at a time, and stops at a prefix that is not a token."""
    assert rwkv.encode("である").tolist() == [rwkv.piece_to_id("である")]
    assert rwkv.piece_to_id(" " * 127) is None
    assert rwkv.encode(" " * 128).tolist() == [rwkv.piece_to_id(" " * 128)]
    for n in range(1, 300):
        assert rwkv.decode_bytes(rwkv.encode(b" " * n)) == b" " * n
    tok = Tokenizer.from_pieces([*BYTES, "である", b" " * 128], engine="hat")
    assert tok.encode("である").tolist() == [256]
    assert tok.encode(b" " * 129).tolist() == [257, 32]


@given(st.data())
@fewer(2)
def test_rwkv_vocabulary(rwkv: Tokenizer, data: st.DataObject) -> None:
    pieces = rwkv_pieces(rwkv)
    some = st.sampled_from(list(pieces))
    part = some | some | st.binary(max_size=5) | st.text(max_size=5).map(str.encode)
    text = b"".join(data.draw(st.lists(part, max_size=60)))
    expected = oracle.longest_prefix(pieces, text)
    for name, model in rwkv_models(rwkv):
        assert encode_all(model, [text, text]) == [expected, expected], name
    assert rwkv.decode_bytes(expected) == text


_RWKV: dict[str, Any] = {}


def rwkv_pieces(tok: Tokenizer) -> dict[bytes, int]:
    if "pieces" not in _RWKV:
        _RWKV["pieces"] = {item.tobytes(): i for i, item in enumerate(tok.pieces()) if len(item)}
    return _RWKV["pieces"]


def rwkv_models(tok: Tokenizer) -> list[tuple[str, c_model.Model]]:
    if "models" not in _RWKV:
        _RWKV["models"] = list(models(tok))
    return _RWKV["models"]


@pytest.mark.parametrize("seed", range(4))
def test_rwkv_noise(rwkv: Tokenizer, seed: int) -> None:
    """Compares all models, with and without the memo, on random bytes, damaged UTF-8 and random tokens."""
    rng = random.Random(seed)
    pieces = rwkv_pieces(rwkv)
    salad = b"".join(rng.choices(list(pieces), k=4000))
    damaged = bytearray(salad)
    for _ in range(400):
        damaged[rng.randrange(len(damaged))] = rng.randrange(256)
    texts = [rng.randbytes(20_000), salad, bytes(damaged), bytes(rng.choices(b"\xe3\x81\x82\xf0\x9f ", k=20_000))]
    expected = [oracle.longest_prefix(pieces, text) for text in texts]
    for name, model in rwkv_models(rwkv):
        assert encode_all(model, texts) == expected, name
        assert encode_plain(model, texts) == expected, name


def seconds(tok: Tokenizer, text: bytes) -> float:
    begin = time.process_time()
    tok.count(text)
    return time.process_time() - begin


RUNS = [b"a", b" ", b"\0", b"\x80", b"\xbf", b"\xe3", b"\xff", b"\n", "あ".encode(), b"ab", b"'s"]


@pytest.mark.parametrize("symbol", RUNS, ids=str)
def test_linear_rwkv(rwkv: Tokenizer, symbol: bytes) -> None:
    """10^7 bytes of one symbol take about 100 times as long as 10^5 bytes, and yield the correct ids."""
    n = 10**7 // len(symbol)
    ids = rwkv.encode(symbol * n)
    start = oracle.longest_prefix(rwkv_pieces(rwkv), symbol * 2000)
    sure = 2000 * len(symbol) // 128 - 1  # these ids do not depend on the end of the text
    assert ids[:sure].tolist() == start[:sure]
    assert rwkv.decode_bytes(ids) == symbol * n
    small = min(seconds(rwkv, symbol * (n // 100)) for _ in range(5))
    large = min(seconds(rwkv, symbol * n) for _ in range(2))
    assert large < 100 * small * 5 + 0.2, f"{large / small:.0f} times as long"


@pytest.mark.parametrize("engine", ENGINES)
def test_linear_toy(engine: Any) -> None:
    """Each walk follows a long piece to its last byte, but the time is still linear in the length of the text."""
    tok = Tokenizer.from_pieces([*BYTES, b"a" * 50 + b"b"], engine=engine)
    ids = tok.encode(b"a" * 10**6)
    assert len(ids) == 10**6 and int(ids.min()) == int(ids.max()) == 97
    small = min(seconds(tok, b"a" * 10**5) for _ in range(3))
    assert seconds(tok, b"a" * 10**6) < 10 * small * 5 + 0.2
    assert tok.codec.split(b"a" * 10**6) == 10**6 - 50


# ------------------------------------------------------------------------------------------------ Python side ---


@given(st.text())
@example("a\u0301😀\0é")
def test_character_spans(text: str) -> None:
    tok = Tokenizer.from_pieces([*BYTES, "é", b"\xc3\xa9\xc3", b"a\xcc", b"\x80\xf0\x9f", "😀", "ab"])
    ids, spans = tok.encode_with_offsets(text)
    _, byte_spans = tok.encode_with_offsets(text.encode())
    assert ids.tolist() == tok.encode(text).tolist()
    at = list(itertools.accumulate((len(c.encode()) for c in text), initial=0))  # where characters begin, in bytes
    for (begin, end), (first, last) in zip(spans.tolist(), byte_spans.tolist(), strict=True):
        assert at[begin] <= first < at[begin + 1]  # the span covers the characters that the token touches
        assert at[end - 1] < last <= at[end]


@given(st.binary(max_size=60))
def test_any_bytes_like(text: bytes) -> None:
    tok = Tokenizer.from_pieces([*BYTES, b"ab"])
    expected = tok.encode(text).tolist()
    wide = bytes(b for byte in text for b in (byte, 0))
    for same in (bytearray(text), memoryview(text), memoryview(wide)[::2], np.frombuffer(text, np.uint8)):
        assert tok.encode(same).tolist() == expected
        assert tok.count(same) == len(expected)
        assert tok.encode_batch([same])[0].tolist() == expected
        assert tok.encode_with_offsets(same)[0].tolist() == expected


@pytest.mark.parametrize("text", [None, 5, ["a"], 1.5, object()])
def test_wrong_type(text: Any) -> None:
    tok = Tokenizer.from_pieces(BYTES)
    for call in (tok.encode, tok.count, tok.encode_with_offsets, lambda x: tok.encode_batch([x])):
        with pytest.raises(TypeError, match="expected str or bytes"):
            call(text)
    assert tok.encode("still works").tolist() == list(b"still works")


def test_ids_are_not_text() -> None:
    """Regression: encode(ids), called instead of decode(ids), encoded the memory of an int64 array as text."""
    tok = Tokenizer.from_pieces(BYTES)
    for array in (np.array([1, 2, 3]), np.array([1, 2], np.uint16), np.array([1.0])):
        with pytest.raises(TypeError, match="uint8"):
            tok.encode(array)
    for docs in ("one document", b"one document"):
        with pytest.raises(TypeError, match="many documents"):
            tok.encode_batch(docs)
    with pytest.raises(TypeError, match="uint8"):
        tok.encode_batch(tok.encode_batch(["a"]))


def test_lone_surrogates() -> None:
    tok = Tokenizer.from_pieces(BYTES)
    for call in (tok.encode, tok.count, tok.encode_with_offsets, lambda x: tok.encode_batch(["a", x]), tok.piece_to_id):
        with pytest.raises(UnicodeEncodeError) as error:
            call("ab\ud800c")
        assert error.value.start == 2
    assert tok.encode("\U0010fc00").tolist() == [0xF4, 0x8F, 0xB0, 0x80]


class Text(str):
    pass


def test_subclass_of_str() -> None:
    tok = Tokenizer.from_pieces([*BYTES, "é"])
    assert tok.encode(Text("é!")).tolist() == [256, 33]
    assert tok.encode_with_offsets(Text("é!"))[1].tolist() == [[0, 1], [1, 2]]


def test_the_result_belongs_to_the_caller() -> None:
    """Later calls, and changes to the text, do not change the ids that encode() returned."""
    tok = Tokenizer.from_pieces(BYTES)
    text = bytearray(b"abc")
    ids = tok.encode(text)
    text[0] = 0
    tok.encode(b"xyz" * 3000)
    tok.encode(b"xyz")
    assert ids.tolist() == [97, 98, 99] and ids.flags.owndata and ids.flags.writeable and ids.dtype == np.uint16


def test_threads_share_a_tokenizer() -> None:
    tok = Tokenizer.from_pieces([*BYTES, b"the", b" the", b"ing", "猫"])
    rng = random.Random(5)
    texts = [b" ".join(rng.choices([b"the", b"thing", "猫".encode(), b"x"], k=rng.randrange(400))) for _ in range(200)]
    expected = [tok.encode(text).tolist() for text in texts]

    def work(seed: int) -> None:
        for i in random.Random(seed).choices(range(len(texts)), k=1500):
            assert tok.encode(texts[i]).tolist() == expected[i]
            assert tok.count(texts[i]) == len(expected[i])

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork() -> None:
    tok = Tokenizer.from_pieces([*BYTES, b"the", b" the"])
    text = b"the cat and the dog" * 1000
    expected = tok.encode(text).tolist()
    pid = os.fork()
    if pid == 0:  # after a failed assertion, the child would run the remaining tests
        same = tok.encode(text).tolist() == expected
        same = same and tok.encode_batch([text] * 4, threads=2)[3].tolist() == expected
        os._exit(0 if same else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert tok.encode(text).tolist() == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_pickle(engine: Any) -> None:
    tok = Tokenizer.from_pieces([*BYTES, b"the", b"\xe3\x81"], eod=300, name="ours", engine=engine)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(tok, protocol))
        assert (again.engine, again.name, again.eod_id, again.sha256) == (engine, "ours", 300, tok.sha256)
        assert again.encode("the thing").tolist() == tok.encode("the thing").tolist()
        assert again.id_to_piece(300) == tok.id_to_piece(300)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_batches_of_large_and_small_documents(threads):
    tok = Tokenizer.from_pieces([*BYTES, "the", " the", "である"])
    large = [b"the cat and the dog " * 400, b"", "である ".encode() * 1000, bytes(range(256)) * 20, b"x"]
    small = [b"the", b"", b"cat the"] * 50
    for docs in (large, small, large + small, [b""] * 7, []):
        expected = [tok.encode(document).tolist() for document in docs]
        assert [ids.tolist() for ids in tok.encode_batch(docs, threads=threads)] == expected
        assert [ids.tolist() for ids in tok.encode_batch(Packed.from_documents(docs), threads=threads)] == expected
