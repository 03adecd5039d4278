"""Defines the n-best and sampling methods of Tokenizer, and the arguments of `tokenize --sample`."""

from __future__ import annotations

import math
import os
from dataclasses import asdict, dataclass
from typing import Any

from pyunitok._c import scratch as c_scratch
from pyunitok.errors import OptionError
from pyunitok.model.codec import Codec
from pyunitok.packed import Ids, Packed, as_bytes

NBEST_MAX = 1024


@dataclass(frozen=True)
class Sample:
    """The arguments of Tokenizer.sample() that `tokenize --sample` sets."""

    alpha: float
    seed: int
    nbest: int = -1
    method: str | None = None

    def of(self, tokenizer: TokenizerSampling, source: int, document: int) -> Any:
        """The argument `sampling` for the documents of a source, the first of which is number `document`. Raises
        OptionError like sample()."""
        return how(
            tokenizer.codec, self.alpha, self.seed, nbest=self.nbest, method=self.method, source=source,
            document=document,
        )  # fmt: skip

    def needs_whole(self, tokenizer: TokenizerSampling) -> bool:
        """Whether documents must be complete to be sampled."""
        return self.nbest > 1 or "dropout" in (self.method, *tokenizer.codec.model.kind.sampling)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def check(codec: Codec) -> None:
    """Raise OptionError for models that encode by the rules of a tokenizer.json."""
    if codec.rules is not None:
        raise OptionError(
            "models of tokenizer.json support neither sampling nor n-best; use the SentencePiece model that they were"
            " converted from"
        )


def how(
    codec: Codec, alpha: float, seed: int | None, *, nbest: int = -1, method: str | None = None, source: int = 0,
    document: int = 0,
) -> Any:  # fmt: skip
    """The argument `sampling` of c_scratch.Scratch.encode_batch. Raises OptionError if the model does not support
    it."""
    seed = int.from_bytes(os.urandom(8), "little") if seed is None else seed
    method = _checked(codec, method, alpha, seed, nbest)
    return c_scratch.sampling(method, alpha, seed, n_best=nbest, source=source, document=document)


def _checked(codec: Codec, method: str | None, alpha: float, seed: int, nbest: int) -> str:
    """Check the arguments and return the method to use."""
    check(codec)
    kind = codec.model.kind
    if not kind.sampling:
        raise OptionError(f"{kind.title} models encode a text in only one way, so they cannot be sampled")
    method = method or kind.sampling[0]
    if nbest > 1 and method == "lattice":
        method = "nbest"
    if method not in kind.sampling:
        listed = " or ".join(name for name in kind.sampling if name != "nbest")
        raise OptionError(f"the method for this {kind.title} model must be {listed}, not {method!r}")
    if not math.isfinite(alpha):
        raise OptionError(f"alpha must be a finite number, not {alpha}")
    if method == "dropout" and not 0 <= alpha <= 1:
        raise OptionError(f"alpha must be within 0..1 for BPE, not {alpha}: it is a probability")
    if not 0 <= seed < 1 << 64:
        raise OptionError(f"seed must be within 0..2**64 - 1, not {seed}")
    if method == "nbest" and nbest > NBEST_MAX:
        raise OptionError(f"nbest must be at most {NBEST_MAX}, not {nbest}")
    return method


def nbest_spans(codec: Codec, data: bytes, n: int) -> list[c_scratch.Path]:
    """The n best paths as (int64[n, 4], score): id, begin and end in the text, end in the normalized text."""
    check(codec)
    with codec.scratch() as scratch:
        return scratch.nbest(data, n)


def sample_spans(
    codec: Codec, data: bytes, n: int, *, alpha: float, seed: int | None = None, replacement: bool = True,
    include_best: bool = False, source: int = 0, document: int = 0,
) -> list[c_scratch.Path]:  # fmt: skip
    """Sampled paths: sample_and_score() explains the arguments, and nbest_spans() the result."""
    drawing = how(codec, alpha, seed, method="lattice", source=source, document=document)
    with codec.scratch() as scratch:
        return scratch.sample_paths(data, n, drawing, distinct=not replacement, include_best=include_best)


class TokenizerSampling:
    """Encodings other than the best one. sample() explains the arguments that methods share."""

    codec: Codec

    def sample(
        self, text: str | bytes, *, alpha: float, seed: int | None = None, nbest: int = -1,
        method: str | None = None, source: int = 0, document: int = 0,
    ) -> Ids:  # fmt: skip
        """dtype[n]: the ids of a random segmentation of the text.

        alpha     Unigram: a path has the probability p ~ exp(alpha * score); BPE: the probability of skipping a merge
        seed      a sample depends only on (seed, source, document) and the text; None: a new random seed each time
        nbest     -1: any path; n: one of the n best; 0 and 1: the best (encode)
        method    "lattice" (exact; SentencePiece, BytePiece 0.5 and later), "viterbi" (BytePiece as first published: a
                  path replaces another with probability sigmoid(alpha * (its score - the other's))), "dropout" (BPE);
                  None: the default of the model
        source, document  the numbers of the input and of the document in it, as in `tokenize --sample`

        Raises OptionError if the model does not support the request. Time: O(n * pieces that match at a position).
        Source: Kudo, "Subword regularization", 2018; Provilkov et al., "BPE-dropout", 2020; kexue.fm/archives/9768.
        """
        data = as_bytes(text)
        codec = self.codec
        if nbest in (0, 1):
            return codec.encode(data)
        drawing = how(codec, alpha, seed, nbest=nbest, method=method, source=source, document=document)
        packed = Packed.from_documents([data])
        with codec.scratch() as scratch:
            return scratch.encode_documents(packed.data, packed.offsets, sampling=drawing)[0]

    def nbest(self, text: str | bytes, n: int, *, scores: bool = False) -> list[Any]:
        """The ids of the n best segmentations of the text, best first; with `scores`, pairs (ids, score).

        For SentencePiece's Unigram models, the results equal those of sentencepiece, including ties and scores.
        1 <= n <= 1024; fewer are returned if the text has fewer segmentations.
        """
        found = nbest_spans(self.codec, as_bytes(text), n)
        paths = [(spans[:, 0].astype(self.codec.dtype), score) for spans, score in found]
        return paths if scores else [ids for ids, _ in paths]

    def sample_and_score(
        self, text: str | bytes, n: int, *, alpha: float, seed: int | None = None, replacement: bool = True,
        include_best: bool = False, source: int = 0, document: int = 0,
    ) -> list[tuple[Ids, float]]:  # fmt: skip
        """n samples of a SentencePiece Unigram model as (ids, score).

        With replacement, the score is the logarithm of the sample's probability. Without it, the samples are distinct,
        and the score is the logarithm of the probability of being drawn; with include_best, the first sample is the
        best path, with score 0.
        Equals sample_encode_and_score of sentencepiece 0.1 and 0.2.0, except that without replacement, if a text has at
        most n paths, all of them are returned; sentencepiece omits one.
        """
        paths = sample_spans(
            self.codec, as_bytes(text), n, alpha=alpha, seed=seed, replacement=replacement, include_best=include_best,
            source=source, document=document,
        )  # fmt: skip
        return [(spans[:, 0].astype(self.codec.dtype), score) for spans, score in paths]

    def entropy(self, text: str | bytes, *, alpha: float) -> float:
        """The entropy in nats of p ~ exp(alpha * score) over all segmentations of a text (SentencePiece Unigram)."""
        check(self.codec)
        with self.codec.scratch() as scratch:
            return scratch.entropy(as_bytes(text), alpha)
