"""The libraries that bench_models.py measures beside ours: how each opens a model file, and its calls."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Texts = Sequence[str]
Encode = Callable[[Texts], Any]  # texts to a sequence of ids for each

PACKAGES = {
    "sentencepiece": "sentencepiece==0.2.3", "tokenizers": "tokenizers==0.23.3", "gigatoken": "gigatoken==0.10.0",
    "bytepiece": "bytepiece==0.6.3, and pyahocorasick built from its source with AHOCORASICK_BYTES=1",
}  # fmt: skip


class Absent(Exception):
    """This peer is not installed, or cannot open such a model; says so."""


@dataclass(frozen=True)
class Peer:
    """Another library with a model open.

    calls    its ways to encode many texts; the fastest counts
    renew    for one that remembers what it met: forgets it, untimed, so that it has met only what we have met
    is_slow  times a share of the documents only
    sample   (texts, alpha) to the ids of a sample of each, where it can
    """

    name: str
    calls: Mapping[str, Encode]
    renew: Callable[[], None] | None = None
    is_slow: bool = True
    sample: Callable[[Texts, float], Any] | None = None


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise Absent(f"{name} is not here: pip install {PACKAGES[name]}") from None


def sentencepiece(path: Path) -> Peer:
    processor = _module("sentencepiece").SentencePieceProcessor(model_file=str(path))

    def sample(texts: Texts, alpha: float) -> Any:
        return processor.encode(list(texts), enable_sampling=True, nbest_size=-1, alpha=alpha, num_threads=1)

    return Peer(
        "sentencepiece",
        {
            "encode(list)": lambda texts: processor.encode(list(texts), out_type=int, num_threads=1),
            "encode": lambda texts: [processor.encode(text, out_type=int) for text in texts],
        },
        sample=sample,
    )


def gigatoken(path: Path) -> Peer:
    """It takes a tokenizer.json or a .model of BPE with byte fallback. It remembers what it met; the target names this
    call."""
    library = _module("gigatoken")
    opened = [library.Tokenizer(str(path))]

    def renew() -> None:
        opened[0] = library.Tokenizer(str(path))

    return Peer(
        "gigatoken", {"encode_batch": lambda texts: opened[0].encode_batch(list(texts), parallel=False)},
        renew=renew, is_slow=False,
    )  # fmt: skip


def tokenizers(path: Path) -> Peer:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    tokenizer = _module("tokenizers").Tokenizer.from_file(str(path))

    def batch(texts: Texts) -> list[list[int]]:
        return [encoding.ids for encoding in tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    return Peer("tokenizers", {"encode_batch_fast": batch})


def bytepiece(path: Path) -> Peer:
    _check_automaton()
    tokenizer = _module("bytepiece").Tokenizer(str(path))
    return Peer(
        "bytepiece", {"encode": lambda texts: [tokenizer.encode(text) for text in texts]},
        sample=lambda texts, alpha: [tokenizer.encode(text, alpha=alpha) for text in texts],
    )  # fmt: skip


def _check_automaton() -> None:
    """pyahocorasick takes bytes only where it was built to; without, bytepiece fails at its first piece."""
    try:
        module = importlib.import_module("ahocorasick")
    except ImportError:
        raise Absent(f"bytepiece is not here: pip install {PACKAGES['bytepiece']}") from None
    if module.unicode:
        raise Absent("bytepiece needs a pyahocorasick built from its source with AHOCORASICK_BYTES=1")


OPEN: dict[str, Callable[[Path], Peer]] = {
    "sentencepiece": sentencepiece, "gigatoken": gigatoken, "tokenizers": tokenizers, "bytepiece": bytepiece,
}  # fmt: skip
