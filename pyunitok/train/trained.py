"""The result of a training run: the model, its density on held-out text, and the time and memory of each phase."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pyunitok.model.tokenizer import Tokenizer

Progress = Callable[[str, int, int], None]  # phase, done, total (0: unknown)
Rows = list[tuple[str, str]]
MEASURE_SECONDS = 0.05  # the interval between measurements of the memory in use
N_LONGEST = 5
N_SIZES = 12  # points on the curve of a BPE model


def silent(phase: str, done: int, total: int) -> None:
    """Reports nothing."""


@dataclass(frozen=True)
class Phase:
    """A phase of a training run. peak_bytes: the peak memory of the process during the phase, sampled 20 times a
    second; exact if it is the highest so far."""

    name: str
    seconds: float
    peak_bytes: int


@dataclass(frozen=True)
class MeasuredSize:
    """The size of an intermediate vocabulary, and the number of tokens in the complete text under that vocabulary."""

    n_pieces: int
    n_tokens: int


@dataclass(frozen=True)
class InSample:
    """Statistics of the sample under the model. n_unknown: the number of characters that are not in any piece; counts:
    how often each id occurs."""

    n_bytes: int
    n_tokens: int
    n_chars: int
    n_unknown: int
    counts: np.ndarray[Any, np.dtype[np.int64]]


@dataclass
class Trained:
    """A trained model, and its statistics.

    pieces   the learned pieces as text appears in them, without the types below
    types    how many pieces there are of each type
    notes    rows about the text: its size, and what was left out
    sizes    intermediate vocabularies, if training measured any on its text
    n_bytes  the size of the text that was trained on
    sample   texts to measure density on: held out from training if possible
    normalize     normalizes a line; None for byte-level models, which have no unknown characters
    first_merges  BPE: returns the model after the first n merges, which a smaller vocab_size would give
    n_merges      BPE: the number of merges
    """

    tokenizer: Tokenizer
    pieces: list[bytes]
    types: dict[str, int]
    notes: Rows
    phases: list[Phase]
    sizes: list[MeasuredSize]
    n_bytes: int
    sample: list[bytes]
    is_held_out: bool
    proto: Any = None  # the ModelProto, if there is one
    job: Any = None  # the SentencePieceJob that trained the model, if one did
    normalize: Callable[[bytes], bytes] | None = None
    n_wanted: int = 0  # requested number of pieces, including symbols; 0: unknown
    first_merges: Callable[[int], Tokenizer] | None = None
    n_merges: int = 0

    @cached_property
    def in_sample(self) -> InSample:
        """Computed lazily: most callers only need the tokenizer."""
        ids, n_chars, n_unknown = self.tokenizer.encode_batch(self.sample).data, 0, 0
        if self.normalize is not None:
            n_chars, n_unknown = _unknown(self.normalize, self.sample, self.pieces)
        counts = np.bincount(ids, minlength=self.tokenizer.vocab_size)
        return InSample(sum(map(len, self.sample)), len(ids), n_chars, n_unknown, counts)

    def curve(self) -> list[tuple[int, float]]:
        """(number of pieces, bytes per token) for smaller vocabularies; empty if there are none. Smaller BPE
        vocabularies are measured on the sample; others were measured during training."""
        if self.first_merges is None:
            return [(size.n_pieces, self.n_bytes / size.n_tokens) for size in _best_sizes(self.sizes)]
        ret, n_bytes = [], sum(map(len, self.sample))
        sizes = np.geomspace(max(1, self.n_merges // 100), max(1, self.n_merges), N_SIZES)
        for n in np.unique(sizes.round().astype(np.int64)).tolist():
            tokenizer = self.first_merges(n)
            n_tokens = len(tokenizer.encode_batch(self.sample).data)
            if n_tokens:
                ret.append((tokenizer.vocab_size, n_bytes / n_tokens))
        return ret

    @property
    def n_pieces(self) -> int:
        """The number of pieces, including symbols."""
        return sum(self.types.values())

    def rows(self) -> Rows:
        """The summary for the terminal."""
        ret = self.facts()
        longest = sorted(self.pieces, key=lambda piece: (-len(piece), piece))[:N_LONGEST]
        ret.append(("longest", "  ".join(repr(piece.decode("utf-8", "replace")) for piece in longest)))
        for phase in self.all_phases():
            ret.append((phase.name, f"{phase.seconds:.1f} s, at most {phase.peak_bytes / (1 << 20):,.0f} MiB"))
        return ret

    def facts(self) -> Rows:
        """The part of the summary that the report does not show as tables."""
        types = ", ".join(f"{count:,} {name}" for name, count in self.types.items() if count)
        ret = [("pieces", f"{self.n_pieces:,}: {types}"), *self.notes]
        if self.n_pieces < self.n_wanted:
            ret.insert(1, ("fewer", f"{self.n_wanted:,} were requested; the text yields no more"))
        if self.in_sample.n_tokens:
            density = self.in_sample.n_bytes / self.in_sample.n_tokens
            of = self.sample_name()
            ret.append(("density", f"{density:.3f} bytes per token{self._unknown_shares()}, in {of}"))
        return ret

    def sample_name(self) -> str:
        return f"{self.in_sample.n_bytes:,} bytes {'held out' if self.is_held_out else 'of the text itself'}"

    def all_phases(self) -> list[Phase]:
        """The phases and their sum."""
        seconds, peak = sum(p.seconds for p in self.phases), max((p.peak_bytes for p in self.phases), default=0)
        return [*self.phases, Phase("total", seconds, peak)]

    def _unknown_shares(self) -> str:
        """The shares of unknown characters and tokens; empty for byte-level models, which have none."""
        if self.normalize is None:
            return ""
        characters = self.in_sample.n_unknown / max(1, self.in_sample.n_chars)
        id_ = self.tokenizer.unk_id
        tokens = 0.0 if id_ is None else int(self.in_sample.counts[id_]) / self.in_sample.n_tokens
        return f", {characters:.3%} of characters and {tokens:.3%} of tokens unknown"


def _best_sizes(sizes: list[MeasuredSize]) -> list[MeasuredSize]:
    """The vocabularies sorted by size. Leaves out a vocabulary that needs at least as many tokens as a smaller one,
    which greedy training can produce."""
    ret: list[MeasuredSize] = []
    for size in sorted(sizes, key=lambda size: (size.n_pieces, size.n_tokens)):
        if size.n_tokens and (not ret or size.n_tokens < ret[-1].n_tokens):
            ret.append(size)
    return ret


def _unknown(normalize: Callable[[bytes], bytes], sample: Sequence[bytes], pieces: Sequence[bytes]) -> tuple[int, int]:
    """(number of characters in the normalized sample, number of these characters that are not in any piece)."""
    text = b"".join(normalize(line) for item in sample for line in item.split(b"\n")).decode("utf-8", "replace")
    known = set(b" ".join(pieces).decode("utf-8", "ignore"))
    characters, counts = np.unique(np.array(list(text), "U1"), return_counts=True)
    unknown = [character not in known for character in characters.tolist()]
    return len(text), int(counts[unknown].sum())


class Clock:
    """Measures the time and the memory of each phase, and forwards progress.

    A phase begins when the previous one ends. The first one begins when the clock is made, because a phase may report
    its progress for the first time when it is almost complete.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress, self._name = progress, ""
        self._began = self._measured = time.monotonic()
        self._highest = _highest()
        self._seconds: dict[str, float] = {}
        self._peaks: dict[str, int] = {}

    def __call__(self, phase: str, done: int, total: int) -> None:
        name = phase.partition(",")[0]
        if name != self._name:
            self.end()
            self._name = name
            self._measure()
        elif time.monotonic() - self._measured > MEASURE_SECONDS:
            self._measure()
        self._progress(phase, done, total)

    def _measure(self) -> None:
        self._measured = time.monotonic()
        self._peaks[self._name] = max(self._peaks.get(self._name, 0), _in_use())

    def end(self) -> None:
        """End the current phase, if there is one."""
        if not self._name:
            return
        self._measure()
        highest = _highest()
        if highest > self._highest:
            self._peaks[self._name] = max(self._peaks[self._name], highest)
        self._highest = highest
        now = time.monotonic()
        self._seconds[self._name] = self._seconds.get(self._name, 0) + now - self._began
        self._began, self._name = now, ""

    def phases(self) -> list[Phase]:
        return [Phase(name, seconds, self._peaks[name]) for name, seconds in self._seconds.items()]


def _highest() -> int:
    """The peak memory of the process so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _in_use() -> int:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:  # not Linux
        return _highest()
