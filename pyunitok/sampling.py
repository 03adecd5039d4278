"""Sampling: n-best and random encodings, which Tokenizer inherits; Sample: what `tokenize --sample` asks for."""

from __future__ import annotations

import secrets
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pyunitok import _ffi
from pyunitok._ffi import Ids
from pyunitok.packed import as_bytes


@dataclass(frozen=True)
class Sample:
    """How `tokenize --sample` draws: the arguments of Sampling.sample()."""

    alpha: float
    seed: int
    nbest: int = -1
    method: str | None = None

    def of(self, tokenizer: Sampling, source: int, document: int) -> Any:
        """What the encoder takes for documents of a source, from this number on. ValueError as sample()."""
        return tokenizer.sampling(
            self.alpha, self.seed, nbest=self.nbest, method=self.method, source=source, document=document
        )

    def needs_whole(self, tokenizer: Sampling) -> bool:
        """Whether a sample is drawn of a whole document, and not part by part."""
        return self.nbest > 1 or self.method == "dropout" or tokenizer.kind == "bpe"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class Sampling:
    """Other ways to encode a text than the best one. The arguments that methods share are explained at sample()."""

    @property
    def kind(self) -> str:
        raise NotImplementedError

    @property
    def dtype(self) -> np.dtype[Any]:
        raise NotImplementedError

    def scratch(self) -> AbstractContextManager[_ffi.Scratch]:
        raise NotImplementedError

    def encode(self, text: str | bytes) -> Ids:
        raise NotImplementedError

    def sample(
        self, text: str | bytes, *, alpha: float, seed: int | None = None, nbest: int = -1,
        method: str | None = None, source: int = 0, document: int = 0,
    ) -> Ids:  # fmt: skip
        """dtype[n]: the ids of a random way to cut the text into pieces.

        alpha     Unigram: a path has the probability p ~ exp(alpha * score); BPE: the chance that a merge is left out
        seed      a sample depends on (seed, source, document) and the text alone; None: another one each time
        nbest     -1: any path; n: one of the n best; 0 and 1: the best (encode)
        method    "lattice" (exact; SentencePiece, BytePiece 0.5 and later), "viterbi" (BytePiece as first published:
                  accepts with sigmoid(alpha * difference)), "dropout" (BPE); None takes what the model has
        source, document  of which input, and which of its documents, this is: as `tokenize --sample` numbers them

        ValueError where the model has no such method. O(n * pieces that match at a position).
        Source: Kudo, "Subword regularization", 2018; Provilkov et al., "BPE-dropout", 2020; kexue.fm/archives/9768.
        """
        data = as_bytes(text)
        if nbest in (0, 1):
            return self.encode(data)
        offsets, id_offsets = np.array([0, len(data)], np.int64), np.empty(2, np.int64)
        how = self.sampling(alpha, seed, nbest=nbest, method=method, source=source, document=document)
        room = _ffi.room_for(len(data))
        with self.scratch() as scratch:
            while True:
                ids: Ids = np.empty(room, self.dtype)
                try:
                    n = scratch.encode_batch(np.frombuffer(data, np.uint8), offsets, ids, id_offsets, sampling=how)
                    sampled: Ids = ids[:n].copy()
                    return sampled
                except _ffi.RoomError:
                    room *= 2

    def sampling(
        self, alpha: float, seed: int | None, *, nbest: int = -1, method: str | None = None, source: int = 0,
        document: int = 0,
    ) -> Any:  # fmt: skip
        """What _ffi.Scratch.encode_batch takes to sample; the arguments are those of sample()."""
        if method is None:
            method = "dropout" if self.kind == "bpe" else "lattice"
        if nbest > 1 and method == "lattice":
            method = "nbest"
        seed = secrets.randbits(64) if seed is None else seed
        return _ffi.sampling(method, alpha, seed, n_best=nbest, source=source, document=document)

    def nbest(self, text: str | bytes, n: int, *, scores: bool = False) -> list[Any]:
        """The ids of the n best ways to cut the text into pieces, best first; with `scores`, pairs (ids, score).

        For SentencePiece's Unigram models, equal to sentencepiece's, ties and scores included. 1 <= n <= 1024; fewer
        come where there are fewer.
        """
        paths = [(spans[:, 0].astype(self.dtype), score) for spans, score in self.nbest_spans(text, n)]
        return paths if scores else [ids for ids, _ in paths]

    def nbest_spans(self, text: str | bytes, n: int) -> list[_ffi.Path]:
        """Like nbest, as (int64[n, 4], score): id, begin and end in the text's bytes, end in the normalized text."""
        with self.scratch() as scratch:
            return scratch.nbest(as_bytes(text), n)

    def sample_and_score(
        self, text: str | bytes, n: int, *, alpha: float, seed: int | None = None, replacement: bool = True,
        include_best: bool = False, source: int = 0, document: int = 0,
    ) -> list[tuple[Ids, float]]:  # fmt: skip
        """n samples of a SentencePiece Unigram model as (ids, score).

        With replacement, the score is the logarithm of the sample's probability. Without, the samples differ, and it is
        the logarithm of the probability to be among those drawn; with include_best the first is the best path, with
        the score 0. The same as sample_encode_and_score of sentencepiece 0.1 and 0.2.0, with one exception: where a
        text has no more than n paths, without replacement, all of them come back here; sentencepiece loses one.
        """
        paths = self.sample_spans(
            text, n, alpha=alpha, seed=seed, replacement=replacement, include_best=include_best, source=source,
            document=document,
        )  # fmt: skip
        return [(spans[:, 0].astype(self.dtype), score) for spans, score in paths]

    def sample_spans(
        self, text: str | bytes, n: int, *, alpha: float, seed: int | None = None, replacement: bool = True,
        include_best: bool = False, source: int = 0, document: int = 0,
    ) -> list[_ffi.Path]:  # fmt: skip
        """Like sample_and_score, with spans as nbest_spans gives them."""
        how = self.sampling(alpha, seed, method="lattice", source=source, document=document)
        with self.scratch() as scratch:
            return scratch.sample_paths(
                as_bytes(text), n, how, distinct=not replacement, include_best=include_best
            )

    def entropy(self, text: str | bytes, *, alpha: float) -> float:
        """Of p ~ exp(alpha * score) over all ways to cut the text, in nats; SentencePiece's Unigram models."""
        with self.scratch() as scratch:
            return scratch.entropy(as_bytes(text), alpha)
