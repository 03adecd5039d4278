"""Replaces the sentencepiece package, version 0.2.3.

    import pyunitok.compat.sentencepiece as spm

    sp = spm.SentencePieceProcessor(model_file="llama2.model")
    sp.encode("Hello world")            # [15043, 3186]

It also supports features of 0.1 and 0.2.0 that 0.2.3 dropped: sample_encode_and_score, calculate_entropy,
set_vocabulary, override_normalizer_spec, extra options, and immutable protos.
"""

from __future__ import annotations

from pyunitok.compat.sentencepiece.arguments import number
from pyunitok.compat.sentencepiece.earlier import SentencePieceProcessor
from pyunitok.compat.sentencepiece.engine import seeds
from pyunitok.compat.sentencepiece.immutable import (
    ImmutableNBestSentencePieceText,
    ImmutableSentencePieceText,
    ImmutableSentencePieceText_ImmutableSentencePiece,
)
from pyunitok.compat.sentencepiece.normalizer import SentencePieceNormalizer, set_data_dir
from pyunitok.compat.sentencepiece.threads import ThreadPool
from pyunitok.compat.sentencepiece.trainer import SentencePieceTrainer

__version__ = "0.2.3"
__all__ = [
    "ImmutableNBestSentencePieceText",
    "ImmutableSentencePieceText",
    "ImmutableSentencePieceText_ImmutableSentencePiece",
    "SentencePieceNormalizer",
    "SentencePieceProcessor",
    "SentencePieceTrainer",
    "SetDataDir",
    "SetMinLogLevel",
    "SetNBestTimeout",
    "SetRandomGeneratorSeed",
    "ThreadPool",
    "set_data_dir",
    "set_min_log_level",
    "set_nbest_timeout",
    "set_random_generator_seed",
]


def set_random_generator_seed(seed: int) -> None:
    """Seed all subsequent samples; 0 <= seed < 2**32. With several threads, samples depend on the order of calls."""
    if not 0 <= number(seed, "seed") < 1 << 32:
        raise TypeError(f"seed must be in 0..{2**32 - 1}, not {seed}")
    seeds.seed(seed)


def set_min_log_level(level: int) -> None:
    """Has no effect, because nothing is logged. Raises TypeError if `level` is not an integer."""
    number(level, "level")


def set_nbest_timeout(timeout_ms: int) -> None:
    """Has no effect: n-best search limits the number of hypotheses, not time. Raises TypeError for a non-integer."""
    number(timeout_ms, "timeout_ms")


SetRandomGeneratorSeed = set_random_generator_seed
SetDataDir = set_data_dir
SetNBestTimeout = set_nbest_timeout
SetMinLogLevel = set_min_log_level
