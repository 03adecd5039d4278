"""SentencePiece models to test with: those of the shared data, and small ones made here."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from conftest import SHARED

from pyunitok.vocab import sentencepiece_proto

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
UNIGRAM, BPE, WORD, CHAR = 1, 2, 3, 4
SPACE = "\u2581".encode()


def shared_paths() -> list[Path]:
    """Every SentencePiece model of the shared data; none where that is absent."""
    folders = [SHARED / "data/models/spm", SHARED / "data/models/spm-trained"]
    return sorted(path for folder in folders for path in folder.glob("*.model"))


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
