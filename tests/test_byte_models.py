"""Byte-level models with patterns: the ids match the oracle and tiktoken, in batches and streams."""

from __future__ import annotations

import random
from itertools import pairwise

import byte_models
import numpy as np
import pytest
import tiktoken
from byte_models import GPT2
from conftest import CPUS, fewer
from hypothesis import given
from hypothesis import strategies as st
from oracle.byte_level import ByteModel

from pyunitok._c.library import ENCODE_SLACK
from pyunitok._c.model import Model
from pyunitok._c.scratch import Scratch, sampling
from pyunitok._c.text import Pattern
from pyunitok._lib import lib
from pyunitok.errors import UnitokError
from pyunitok.vocab.vocabulary import CONTROL, NORMAL, pack

CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
    r"|\s+(?!\S)|\s"
)
DEEPSEEK = (
    r"o\p{N}{1,3}", "o[一-龥぀-ゟ゠-ヿ]+",
    r"o[!-/:-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
)  # fmt: skip
PATTERNS = {
    "gpt2": ("o" + GPT2,), "cl100k": ("t" + CL100K,), "deepseek": DEEPSEEK, "digits": (r"o\p{N}", "o" + GPT2),
    "gaps": ("oa+|本",), "all": (r"o[\s\S]+",),
}  # fmt: skip
ALPHABET = "ab's.( \n\r\t1é本語、。\u3000\u00a0🎉\u0301Ж\x00"
TEXTS = st.lists(
    st.sampled_from(ALPHABET).map(str.encode) | st.sampled_from([b"\xe6", b"\x9c", b"\xac\xe8", b"\xff", b"\xf0\x9f"])
    | st.sampled_from(["  b", "'s", "\r\n\n", "本語", "111"]).map(str.encode), max_size=60,
).map(b"".join)  # fmt: skip


class Toy:
    """A random model with merges of pieces that occur in texts, and pieces that no merge creates."""

    def __init__(self, seed: int, pattern: str, listed: bool, ignore_merges: bool, absent: bool) -> None:
        rng = random.Random(seed)
        self.parts = "\0".join(PATTERNS[pattern]).encode()
        pieces = [bytes([k]) for k in range(256) if not (listed and absent and k in b"b.\x9c")]
        merges: list[tuple[bytes, bytes]] = []
        text = [byte for byte in (ALPHABET * 3).encode() if bytes([byte]) in pieces]
        for _ in range(rng.choice([3, 30, 120])):
            begin = rng.randrange(len(text) - 6)
            joined = bytes(text[begin : begin + rng.randint(2, 6)])
            at = rng.randrange(1, len(joined))
            left, right = (joined[:at], joined[at:]) if rng.random() < 0.4 else rng.sample(pieces[-40:], 2)
            if left in pieces and right in pieces and left + right not in pieces:
                pieces.append(left + right)
                merges.append((left, right))
        rng.shuffle(merges)
        extra = [] if not ignore_merges else ["本語".encode(), b"ab", b" a", "a本".encode(), b"'s", b"aab"]
        pieces += [piece for piece in extra if piece not in pieces]
        ids = {piece: k for k, piece in enumerate(pieces)}
        ranks = {merge: k for k, merge in enumerate(merges)} if listed else None
        self.oracle = ByteModel(ids, ranks, ignore_merges)
        self.flags = lib.UNITOK_BYTES | lib.UNITOK_PATTERN | lib.UNITOK_LISTED_MERGES * listed
        self.flags |= lib.UNITOK_IGNORE_MERGES * ignore_merges
        sides = [*(ids[a] for a, _ in merges), *(ids[b] for _, b in merges), *(ids[a + b] for a, b in merges)]
        self.merges = np.array(sides, np.int64) if listed else None

    def build(self, cpu: str | None = None) -> Model:
        ids = np.array([*self.oracle.ids.values(), 300_000], np.int64)  # a control piece, never matched
        return Model.new(
            *pack([*self.oracle.ids, b"<|end|>"]), ids, kind="bpe", flags=self.flags, scores=-ids.astype(np.float64),
            types=np.array([NORMAL] * (len(ids) - 1) + [CONTROL], np.uint8), eod_id=None, merges=self.merges,
            pattern=self.parts, cpu=cpu,
        )  # fmt: skip

    def expected(self, text: bytes) -> list[int]:
        bounds = Pattern(self.parts).split(text).tolist()
        return [id_ for a, b in pairwise(bounds) for id_ in self.oracle.encode(text[a:b])]


TOYS = st.builds(Toy, st.integers(0, 1 << 30), st.sampled_from(list(PATTERNS)), *[st.booleans()] * 3)


def stream(model: Model, text: bytes, block: int) -> list[int]:
    """Encode the text in blocks, as a stream."""
    scratch, pending, ids = Scratch(model), b"", []
    for at in range(0, len(text), block):
        pending += text[at : at + block]
        cut = model.split(pending)
        ids += scratch.encode_list(pending[:cut])
        pending = pending[cut:]
    return ids + scratch.encode_list(pending)


@fewer(2)
@given(TOYS, TEXTS, st.integers(1, 40))
def test_ids_match_the_oracle(toy: Toy, text: bytes, block: int) -> None:
    expected = toy.expected(text)
    for cpu in CPUS:
        model = toy.build(cpu)
        scratch = Scratch(model)
        assert scratch.encode_list(text) == expected, cpu
        assert scratch.encode_list(text) == expected, cpu  # from the memo
        assert scratch.encode_list(text * 90) == toy.expected(text * 90), cpu
    assert stream(model, text, block) == expected
    spans = scratch.encode_spans(text)
    assert spans[:, 0].tolist() == expected
    loaded = Model.load(bytes(model.save()), engine="double-array", cpu=None)
    assert Scratch(loaded).encode_list(text) == expected and loaded.spec()["pattern"] == toy.parts


@fewer(2)
@given(TOYS, TEXTS)
def test_batches_and_dropout(toy: Toy, text: bytes) -> None:
    """Adjacent documents do not complete each other's characters. With alpha = 1, no pair merges and bytes remain."""
    model = toy.build()
    scratch, cuts = Scratch(model), np.linspace(0, len(text), 4).astype(np.int64)
    ids, ends = np.empty(len(text) + ENCODE_SLACK, model.dtype), np.empty(4, np.int64)
    scratch.encode_batch(np.frombuffer(text, np.uint8), cuts, ids, ends)
    for k in range(3):
        assert ids[ends[k] : ends[k + 1]].tolist() == toy.expected(text[cuts[k] : cuts[k + 1]])
    for alpha in (0, 1):
        one = np.array([0, len(text)], np.int64)
        how = sampling("dropout", alpha, 7)
        scratch.encode_batch(np.frombuffer(text, np.uint8), one, ids, ends[:2], sampling=how)
        alone = [toy.oracle.ids[bytes([b])] for b in text if bytes([b]) in toy.oracle.ids]
        assert ids[: ends[1]].tolist() == (alone if alpha else toy.expected(text))


@given(TEXTS)
def test_ids_match_tiktoken(text: bytes) -> None:
    """Compares valid UTF-8 only, because tiktoken encodes other bytes only with a private function."""
    string = text.decode(errors="ignore")
    toy = Toy(3, "cl100k", False, True, False)
    reference = tiktoken.Encoding("toy", pat_str=CL100K, mergeable_ranks=dict(toy.oracle.ids), special_tokens={})
    model = byte_models.of_ranks(dict(toy.oracle.ids), CL100K)
    assert Scratch(model).encode_list(string.encode()) == reference.encode_ordinary(string)


def test_long_texts_in_linear_time() -> None:
    """Encodes segments that have no cuts and are too long for the memo and for one chunk."""
    for pattern in PATTERNS:
        toy = Toy(5, pattern, True, False, False)
        scratch = Scratch(toy.build())
        for text in (b"a" * 20_000, b" " * 20_000 + b"x", b"." * 9000 + b"\n" * 9000, "本".encode() * 7000):
            short = toy.expected(text[:600])
            assert scratch.encode_list(text[:600]) == short
            assert len(scratch.encode_list(text)) >= len(short)
            assert scratch.encode_list(text) == scratch.encode_spans(text)[:, 0].tolist()


def test_invalid_specs() -> None:
    toy = Toy(1, "gpt2", True, False, False)
    image = toy.build().save()
    with pytest.raises(ValueError, match="PATTERN needs BYTES"):
        toy.flags &= ~lib.UNITOK_BYTES
        toy.build()
    toy = Toy(1, "gpt2", True, False, False)
    toy.parts = b""
    with pytest.raises(ValueError, match="size of the pattern"):
        toy.build()
    toy.parts = b"o("
    with pytest.raises((UnitokError, ValueError)):
        toy.build()
    for n_bytes in range(0, len(image), 97):
        with pytest.raises((UnitokError, ValueError)):
            Model.load(bytes(image[:n_bytes]), engine="double-array", cpu=None)

