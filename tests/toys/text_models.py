"""Small random SentencePiece models of all kinds and flags, texts of their pieces, and several ways to encode them."""

from __future__ import annotations

import math
import random
from itertools import pairwise
from typing import Any

import numpy as np

from pyunitok import Tokenizer
from pyunitok._c import library
from pyunitok._c import scratch as c_scratch
from pyunitok.vocab import sentencepiece
from pyunitok.vocab.vocabulary import Vocabulary
from toys.sentencepieces import CONTROL, KINDS, NORMAL, SPACE, UNUSED, USER_DEFINED, charsmap, load_reference, make

ALPHABETS = ["ab", "abc", "aé日", "ab▁", "ab😀c▁日", "a b", "ab.c,", "日本語で", "жяa ", "<0x41>ab", "aA\n"]
SCORES = {
    "distinct": lambda rng: -12 * rng.random(),
    "tied": lambda rng: -float(rng.randrange(4)),
    "equal": lambda rng: -1.1,
    "tiny": lambda rng: -1e-6 * rng.randrange(1, 9),
    "mixed": lambda rng: rng.choice([-0.0, 0.0, 1.5, -1.5, 2.0, -2.0, rng.uniform(-5, 5)]),
    "positive": lambda rng: float(rng.randrange(9)) / 8,
    "huge": lambda rng: -rng.choice([999.5, 20_000.25, 33_333.3, 99_999.9, 100_000.0, 100_000.1, 250_000.0]),
    "wide": lambda rng: -(10.0 ** rng.uniform(-7, 6)),
    "zero": lambda rng: 0.0,
    "not finite": lambda rng: rng.choice([-math.inf, math.inf, math.nan, -math.nan, -1.0, 0.0, -2.0]),
}
FLAGS = ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")
RULES = [
    {"A": "a", "B": "b"}, {"é": "e", "日本": "本", "a\n": "b"}, {"\t": " ", "\n": " ", "a": "aa"},
    {"aa": "", "b": "  a ", "ab": "c"}, {"\u3000": " ", "ｂ": "b", "b\u0301": "日", "日": "\u2581"},
    {"c": "x y", "ж": "a▁"},
]  # fmt: skip


def toy(rng: random.Random, kind: str) -> tuple[Any, str]:
    """A random ModelProto, and the characters of its pieces."""
    scores = [name for name in SCORES if name != "not finite" or kind != "unigram"]
    alphabet, score = rng.choice(ALPHABETS), SCORES[rng.choice(scores)]
    unused, user = rng.choice([0, 0, 0.1, 0.4]), rng.choice([0, 0, 0.05, 0.3])
    pieces: dict[bytes, tuple[bytes, float, int]] = {}
    texts: list[str] = list(alphabet)
    if rng.random() < 0.8:  # most models know most characters
        texts += [character for character in alphabet if rng.random() < 0.9]
    for _ in range(rng.choice([1, 3, 8, 20, 60])):
        text = "".join(rng.choice(alphabet) for _ in range(rng.choice([1, 2, 2, 2, 3, 4, 7])))
        if rng.random() < 0.5:  # chains of merges
            text = rng.choice(texts) + rng.choice([*texts, *alphabet])
        if rng.random() < 0.3:
            text = rng.choice(["▁" + text, text + "▁"])
        if rng.random() < 0.03:
            text *= rng.choice([5, 17, 33])
        texts.append(text[:120])
    for text in texts:
        r = rng.random()
        type_ = UNUSED if r < unused else USER_DEFINED if r < unused + user else NORMAL
        pieces.setdefault(text.encode(), (text.encode(), score(rng), type_))
    if rng.random() < 0.2:
        pieces.setdefault(b"<sep>", (b"<sep>", 0.0, CONTROL))
        texts.append("<sep>")
    if rng.random() < 0.15:
        half = rng.choice([b"\xe6\x97", b"\xe6", b"\xf0\x9f\x98"])
        pieces.setdefault(half, (half, score(rng), rng.choice([NORMAL, USER_DEFINED])))  # half a character
    byte_fallback = rng.random() < 0.3
    options = {"byte_fallback": True} if byte_fallback else {}
    if rng.random() < 0.2:
        options["treat_whitespace_as_suffix"] = True
    if rng.random() < 0.2:
        options["unk_surface"] = rng.choice([b"", b"?", "日".encode()])
    items = [item for item in pieces.values() if not (byte_fallback and item[0].startswith(b"<0x"))]
    rng.shuffle(items)
    proto = make(items, model_type=KINDS[kind], **options)
    usual = rng.random() < 0.3
    for flag in FLAGS:
        setattr(proto.normalizer_spec, flag, usual or rng.random() < 0.5)
    if rng.random() < 0.3:
        rules = {key.encode(): value.encode() for key, value in rng.choice(RULES).items()}
        proto.normalizer_spec.precompiled_charsmap = charsmap(rules)
        alphabet += "".join(key for key in map(bytes.decode, rules))
    return proto, alphabet


def text_of(rng: random.Random, proto: Any, alphabet: str) -> bytes:
    """A text of the model's pieces and characters, spaces, unknown characters and invalid UTF-8."""
    pieces = [piece.piece for piece in proto.pieces if piece.type in (NORMAL, USER_DEFINED, UNUSED)] or [b"a"]
    strange = [b" ", b" ", b"  ", SPACE, b"\0", b"\xff", b"\x80", b"\xe6\x97", b"\xf0\x9f\x98"]
    strange += ["Ж".encode(), b"Z", b"\n", b"<s>"]
    strangeness = rng.choice([0, 0.1, 0.3])

    def part() -> bytes:
        r = rng.random()
        if r < strangeness:
            return rng.choice(strange)
        if r < 0.6:
            return rng.choice(pieces).replace(SPACE, rng.choice([b" ", b" ", SPACE]))
        return rng.choice(alphabet).encode()

    text = b"".join(part() for _ in range(rng.choice([0, 1, 2, 3, 5, 9, 20, 40, 70, 150, 600])))
    if rng.random() < 0.15:
        text = part() * rng.choice([15, 16, 31, 32, 33, 200, 3000]) + text
    if rng.random() < 0.05:
        text = text * (rng.choice([5000, 20_000]) // (len(text) + 1) + 1)
    return text


def tokenizer(proto: Any, *, cpu: str | None = None, ids: Any = None) -> Tokenizer:
    """The Tokenizer of a ModelProto, with `ids` instead of 0, 1, 2, …"""
    vocabulary = sentencepiece.read(proto.SerializeToString(), "toy").vocabulary()
    if ids is not None:
        vocabulary = Vocabulary(**{**vars(vocabulary), "ids": np.array(ids, np.int64)})
    return Tokenizer(vocabulary.build(engine="double-array", cpu=cpu), vocabulary.about("toy"))


def reference(proto: Any) -> Any:
    return load_reference(proto.SerializeToString())


def encode_plain(tok: Tokenizer, texts: list[bytes]) -> list[list[int]]:
    """Encode without cuts or the memo."""
    scratch = tok.codec.new_scratch()
    return [scratch.encode_spans(text)[:, 0].tolist() for text in texts]


def encode(tok: Tokenizer, texts: list[bytes], *, scratch: Any = None) -> list[list[int]]:
    """Encode as one batch."""
    data = np.frombuffer(b"".join(texts), np.uint8)
    offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    ids, ends = np.empty(4 * len(data) + 4096, tok.dtype), np.empty(len(texts) + 1, np.int64)
    while True:
        try:
            (scratch or tok.codec.new_scratch()).encode_batch(data, offsets, ids, ends)
            return [ids[begin:end].tolist() for begin, end in pairwise(ends)]
        except library.CapacityError:
            ids = np.empty(2 * len(ids), tok.dtype)


def encode_in_parts(tok: Tokenizer, rng: random.Random, text: bytes, block: int, *, sampling: Any = None) -> list[int]:
    """Encode block by block, as a stream: up to the last safe split, carrying the rest over to the next block."""
    state, scratch, pending, out, n_parts = c_scratch.State(), tok.codec.new_scratch(), b"", [], 0
    bounds = [0]
    while bounds[-1] < len(text):
        bounds.append(bounds[-1] + rng.randrange(1, 2 * block))
    blocks = [text[begin:end] for begin, end in pairwise(bounds)]
    for k, more in enumerate([*blocks, b""]):
        pending += more
        last = k == len(blocks)
        n = len(pending) if last else tok.codec.split(pending)
        assert 0 <= n <= len(pending)
        if n == 0 and not last:
            continue
        ids, ends = np.empty(40 * n + 4096, tok.dtype), np.empty(2, np.int64)
        scratch.encode_batch(
            np.frombuffer(pending[:n], np.uint8), np.array([0, n], np.int64), ids, ends, open_start=n_parts > 0,
            open_end=not last, state=state, sampling=sampling,
        )  # fmt: skip
        state = c_scratch.State(state.hexadecimal())
        out += ids[: ends[1]].tolist()
        pending, n_parts = pending[n:], n_parts + 1
    return out

