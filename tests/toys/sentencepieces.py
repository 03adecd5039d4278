"""SentencePiece models: the files in the shared data, and small models built here."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from conftest import SHARED
from oracle.bpe import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED  # noqa: F401

from pyunitok.vocab import sentencepiece_proto

UNIGRAM, BPE, WORD, CHAR = 1, 2, 3, 4
KINDS = {"unigram": UNIGRAM, "bpe": BPE, "word": WORD, "char": CHAR}
# The errors of sentencepiece. Messages that would quote invalid UTF-8 become UnicodeDecodeError, a ValueError.
REFUSALS = (RuntimeError, ValueError)
SPACE = "\u2581".encode()


def load_reference(data: bytes) -> Any:
    """sentencepiece's processor for a model file, or None if sentencepiece rejects the file."""
    spm = pytest.importorskip("sentencepiece")
    if not data:  # the constructor treats an empty model_proto as a missing argument and loads nothing
        return None
    try:
        return spm.SentencePieceProcessor(model_proto=data)
    except REFUSALS:
        return None


def shared_paths() -> list[Path]:
    """All SentencePiece models in the shared data; empty if the data is absent."""
    folders = [SHARED / "data/models/spm", SHARED / "data/models/spm-trained"]
    return sorted(path for folder in folders for path in folder.glob("*.model"))


# Large models, and small models that differ from others only in their pieces.
SLOW = {
    "chatglm_ice_text", "kerashub_t5_test_vocab", "llmjp_llm-jp-tokenizer-100k.ver3.1", "mistral03", "nerdstash_v2",
    "pegasus_sp_test", "rinna_google_sp_ja", "sp_test_model", "en_bpe_suffix", "en_char_bf", "en_uni_1k", "ja_char",
}  # fmt: skip


def shared_params() -> list[Any]:
    """shared_paths() for parametrize, with the models of SLOW marked as slow."""
    marks = {True: [pytest.mark.slow], False: []}
    return [pytest.param(path, id=path.stem, marks=marks[path.stem in SLOW]) for path in shared_paths()]


def make(
    pieces: Iterable[tuple[bytes, float, int]] = (), *, usual: bool = True, model_type: int = UNIGRAM, **trainer: Any
) -> Any:
    """A ModelProto of (piece, score, type); `usual` puts <unk>, <s> and </s> before them."""
    proto = sentencepiece_proto.message("ModelProto")()
    first = [(b"<unk>", 0.0, UNKNOWN), (b"<s>", 0.0, CONTROL), (b"</s>", 0.0, CONTROL)] if usual else []
    if trainer.get("byte_fallback"):
        first += [(b"<0x%02X>" % byte, 0.0, BYTE) for byte in range(256)]
    for piece, score, type_ in [*first, *pieces]:
        proto.pieces.add(piece=piece, score=score, type=type_)
    proto.trainer_spec.model_type = model_type
    for name, value in trainer.items():
        setattr(proto.trainer_spec, name, value)
    return proto


def charsmap(rules: Mapping[bytes, bytes]) -> bytes:
    """A precompiled charsmap of keys without NUL: a double array with a block of 256 units for each node."""
    if not rules:
        return b""
    nodes: dict[bytes, int] = {b"": 1}  # prefix of a key -> block of its children
    for key in sorted(rules):
        for n_bytes in range(1, len(key) + 1):
            nodes.setdefault(key[:n_bytes], len(nodes) + 1)
    replacements = b"".join(value + b"\0" for value in rules.values())
    starts = dict(zip(rules, accumulate((len(value) + 1 for value in rules.values()), initial=0), strict=False))
    units = [0] * (256 * (len(nodes) + 1))
    for i in range(1, len(units)):
        units[i] = i & 0xFF ^ 0xFF  # a label that never matches, and the offset 0, which is within bounds
    for prefix, block in nodes.items():
        at = 256 * nodes[prefix[:-1]] ^ prefix[-1] if prefix else 0
        units[at] = (at ^ 256 * block) << 10 | (prefix in rules) << 8 | (prefix[-1] if prefix else 0)
        if prefix in rules:
            units[256 * block] = 1 << 31 | starts[prefix]
    return struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + replacements
