"""The pipeline with SentencePiece models: documents that span blocks, resuming inside one, uint32, detokenize."""

from __future__ import annotations

import json
import random
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from test_cli import pyunitok as command
from test_resume import run_crash
from toys.sentencepieces import BPE, CHAR, NORMAL, SPACE, UNIGRAM, USER_DEFINED, WORD, charsmap, make

import pyunitok
from pyunitok import Tokenizer
from pyunitok._c import library
from pyunitok._c import scratch as c_scratch

pytest.importorskip("google.protobuf")
EXPENSIVE = settings().max_examples >= 1000
SYMBOLS = ["th", "the", "e", "cat", "日", "日本", "x", "ing", "é"]
KINDS = {"unigram": UNIGRAM, "bpe": BPE, "word": WORD, "char": CHAR}
RULES = {"Ｔ".encode(): b"t", "e\u0301".encode(): "é".encode(), b"\t": b" ", b"\n": b" "}
WORDS = ["the", "cat", " ", " the", "日本", "日", "Ｔhe", "e\u0301", "\t", "\n", "   ", "Z", "<sep>", "x" * 40, "▁"]


def model_file(folder: Path, kind: str, *, byte_fallback: bool = True, more: int = 0) -> Path:
    """A model with rules, a user-defined symbol, ties, and `more` pieces that do not occur in any text."""
    letters = [letter for symbol in SYMBOLS for letter in symbol]
    pieces = {piece.encode(): (piece.encode(), -0.5 * len(piece) - k % 3, NORMAL) for k, piece in enumerate(SYMBOLS)}
    pieces |= {letter.encode(): (letter.encode(), -7.5, NORMAL) for letter in letters if letter.encode() not in pieces}
    pieces |= {SPACE + piece: (SPACE + piece, score + 0.25, NORMAL) for piece, score, _ in list(pieces.values())}
    pieces |= {SPACE: (SPACE, -2.0, NORMAL), b"<sep>": (b"<sep>", 0.0, USER_DEFINED)}
    items = [*((b"\x01" + str(k).encode(), -20.0, NORMAL) for k in range(more)), *pieces.values()]
    options = {"byte_fallback": True} if byte_fallback else {}
    proto = make(items, model_type=KINDS[kind], **options)
    proto.normalizer_spec.precompiled_charsmap = charsmap(RULES)
    path = folder / "toy.model"
    path.write_bytes(proto.SerializeToString())
    return path


def text_of(seed: int, n_bytes: int) -> bytes:
    rng, out = random.Random(seed), bytearray()
    while len(out) < n_bytes:
        out += "".join(rng.choices(WORDS, k=500)).encode()
        if rng.random() < 0.1:
            out += b"\xff\0\xe6\x97"
    return bytes(out[:n_bytes])


def restored(folder: Path, name: str = "back.txt") -> bytes:
    """The text of the token file "ids", which is verified first."""
    command(folder, "verify", "ids", "-m", "toy.model")
    command(folder, "detokenize", "ids", "-m", "toy.model", "-o", name)
    return (folder / name).read_bytes()


def ids_in(path: Path, dtype: str = "<u2") -> list[int]:
    return np.fromfile(path, dtype).tolist()


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_small_buffer_does_not_change_the_state(kind: str, tmp_path: Path) -> None:
    """Regression: after a retry with a larger buffer, the state contained the spaces held by the first attempt."""
    tok = Tokenizer.from_file(model_file(tmp_path, kind))
    for text in (text_of(2, 60_000), b"a b " * 15_000, b" a b" * 15_000, b"the a " * 10_000):
        k, state, out = tok.codec.split(text[:30_000]), c_scratch.State(), []
        for part, is_last in ((text[:k], False), (text[k:], True)):
            out += encode_with_growing_buffer(tok, part, state, open_start=is_last, open_end=not is_last)
        assert out == tok.encode(text).tolist()


def encode_with_growing_buffer(tok: Tokenizer, part: bytes, state: c_scratch.State, **is_open: bool) -> list[int]:
    data, offsets, ends = np.frombuffer(part, np.uint8), np.array([0, len(part)], np.int64), np.empty(2, np.int64)
    for n_tries in range(1, 200):
        ids = np.empty(1000 * n_tries, tok.dtype)
        try:
            n = tok.codec.new_scratch().encode_batch(data, offsets, ids, ends, state=state, **is_open)
        except library.CapacityError:
            continue
        assert n_tries > 1 or not part
        return ids[:n].tolist()
    raise AssertionError


@pytest.mark.parametrize("kind", list(KINDS))
def test_one_long_document(kind: str, tmp_path: Path) -> None:
    tok = Tokenizer.from_file(model_file(tmp_path, kind))
    text = text_of(1, 5_000_000 if EXPENSIVE else 400_000)
    (tmp_path / "a.txt").write_bytes(text)
    expected = [*tok.encode(text).tolist(), tok.eod_id]
    with tok.codec.scratch() as scratch:
        assert scratch.encode_spans(text)[:, 0].tolist() == expected[:-1]
    for threads, block in [("1", "1M"), ("2", "5K"), ("4", "64K")] if EXPENSIVE else [("1", "60K"), ("3", "3K")]:
        command(tmp_path, "tokenize", "a.txt", "-m", "toy.model", "-o", "ids", "--threads", threads, "--block", block,
                "--overwrite")  # fmt: skip
        assert ids_in(tmp_path / "ids") == expected
    assert restored(tmp_path) == tok.decode_bytes(expected[:-1])


@pytest.mark.parametrize("kind", list(KINDS))
def test_tiny_blocks(kind: str, tmp_path: Path) -> None:
    tok = Tokenizer.from_file(model_file(tmp_path, kind, byte_fallback=kind == "bpe"))
    docs = [text_of(seed, n) for seed, n in enumerate([20_000, 1, 0, 300, 5_000])]
    for k, doc in enumerate(docs):
        (tmp_path / f"{k}.txt").write_bytes(doc)
    expected = [id_ for doc in docs for id_ in [*tok.encode(doc).tolist(), tok.eod_id]]
    files = [f"{k}.txt" for k in range(len(docs))]
    for threads, block in [("1", "50"), ("4", "1K")]:
        command(tmp_path, "tokenize", *files, "-m", "toy.model", "-o", "ids", "--threads", threads, "--block", block,
                "--overwrite", "--verify")  # fmt: skip
        assert ids_in(tmp_path / "ids") == expected
    array = pyunitok.open(tmp_path / "ids", model=tok)
    assert [array.text_bytes(k) for k in range(len(docs))] == [tok.decode_bytes(tok.encode(doc)) for doc in docs]


def test_json_lines(tmp_path: Path) -> None:
    tok = Tokenizer.from_file(model_file(tmp_path, "unigram"))
    docs = [text_of(seed, n).decode("utf-8", "replace") for seed, n in enumerate([300_000, 0, 10, 4_000])]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": doc}) + "\n" for doc in docs))
    expected = [id_ for doc in docs for id_ in [*tok.encode(doc).tolist(), tok.eod_id]]
    for threads, block in [("1", "1M"), ("3", "3K")]:
        command(tmp_path, "tokenize", "a.jsonl", "-m", "toy.model", "-o", "ids", "--threads", threads, "--block", block,
                "--overwrite", "--verify")  # fmt: skip
        assert ids_in(tmp_path / "ids") == expected
    back = [json.loads(line)["text"] for line in restored(tmp_path, "back.jsonl").splitlines()]
    assert back == [tok.decode(tok.encode(doc)) for doc in docs]


@pytest.mark.skipif(sys.platform != "linux", reason="requires signals")
@pytest.mark.parametrize("kind", ["unigram", "word"])
@pytest.mark.parametrize("sample", [(), ("--sample", "alpha=0.2,seed=3")])
def test_resume_inside_a_document(kind: str, sample: tuple[str, ...], tmp_path: Path) -> None:
    """The journal contains the encoder's state: the sum of scores, the spaces, and whether the last id is unknown."""
    if kind == "word" and sample:
        pytest.skip("word models do not support sampling")
    tok = Tokenizer.from_file(model_file(tmp_path, kind, byte_fallback=False))
    text = text_of(3, 400_000)
    (tmp_path / "a.txt").write_bytes(text)
    line = ["tokenize", "a.txt", "-m", "toy.model", "-o", "ids", "--threads", "2", "--block", "4K", *sample]

    stopped = run_crash(tmp_path, {"command": line, "checkpoints": 3})
    assert stopped.returncode == -signal.SIGKILL, stopped.stderr.decode()
    assert (tmp_path / "ids.partial").stat().st_size > 2000
    done = run_crash(tmp_path, {"command": line})
    assert done.returncode == 0 and b"resuming after" in done.stderr, done.stderr.decode()
    how = {"alpha": 0.2, "seed": 3}
    assert ids_in(tmp_path / "ids") == [*(tok.sample(text, **how) if sample else tok.encode(text)).tolist(), tok.eod_id]


# ---------------------------------------------------------------------------------------------------------- uint32 ---


def test_ids_over_65535(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = model_file(tmp_path, "unigram", more=66_000)
    tok, small = Tokenizer.from_file(path), Tokenizer.from_file(model_file(tmp_path_factory.mktemp("small"), "unigram"))
    assert tok.dtype == np.uint32 and tok.vocab_size > 66_000
    docs = [text_of(seed, n) for seed, n in enumerate([50_000, 3, 0, 700])]
    for doc in docs:
        ids = tok.encode(doc)
        assert ids.dtype == np.uint32
        n_special = 3 + 256
        moved = [id_ + 66_000 if id_ >= n_special else id_ for id_ in small.encode(doc).tolist()]
        assert ids.tolist() == moved
        assert tok.decode_bytes(ids) == small.decode_bytes(small.encode(doc))
    for k, doc in enumerate(docs):
        (tmp_path / f"{k}.txt").write_bytes(doc)
    files = [f"{k}.txt" for k in range(len(docs))]
    line = ["tokenize", *files, "-m", "toy.model", "-o", "ids", "--block", "1K", "--threads", "3"]
    refused = command(tmp_path, *line, "--dtype", "uint16", code=1).stderr.decode()
    assert "uint16" in refused and "--dtype uint32" in refused
    assert not list(tmp_path.glob("ids*"))
    done = command(tmp_path, *line, "--verify").stderr.decode()
    assert f"the ids are uint32, because toy has ids up to {tok.vocab_size - 1:,}" in done
    assert "already complete" in command(tmp_path, *line, "--dtype", "uint32").stderr.decode()
    expected = [[*tok.encode(doc).tolist(), tok.eod_id] for doc in docs]
    assert ids_in(tmp_path / "ids", "<u4") == [id_ for ids in expected for id_ in ids]
    array = pyunitok.open(tmp_path / "ids", model=tok)
    assert array.ids.dtype == np.uint32 and [ids.tolist() for ids in array] == expected
    assert restored(tmp_path) == b"".join(tok.decode_bytes(tok.encode(doc)) for doc in docs)
    command(tmp_path, "export", "ids", "--to", "npy", "-o", "exported")
    exported = np.load(tmp_path / "exported/ids.npy")
    assert exported.dtype == np.uint32 and exported.tolist() == array.ids.tolist()


def test_uint32_of_a_small_model(tmp_path: Path) -> None:
    tok = Tokenizer.from_file(model_file(tmp_path, "bpe"))
    text = text_of(9, 30_000)
    (tmp_path / "a.txt").write_bytes(text)
    line = ["tokenize", "a.txt", "-m", "toy.model", "-o", "ids", "--dtype", "uint32", "--block", "2K"]
    command(tmp_path, *line, "--verify")
    assert ids_in(tmp_path / "ids", "<u4") == [*tok.encode(text).tolist(), tok.eod_id]
    assert restored(tmp_path) == tok.decode_bytes(tok.encode(text))
