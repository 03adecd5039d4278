"""CleanState is the progress of a run, which the journal stores; Summary is the result."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import zstandard

from pyunitok.clean.benchmarks import Items
from pyunitok.clean.cleaner import Cleaned
from pyunitok.clean.matching import Int64s, Matcher
from pyunitok.clean.rules import Rule
from pyunitok.corpus.position import BEGINNING, Position
from pyunitok.corpus.workers import Result
from pyunitok.disk.hashing import Hashed
from pyunitok.run.journal import to_hashed
from pyunitok.run.plan import Progress

ARRAYS, NUMBERS = ("totals", "counts", "continued", "texts", "n_documents"), ("read", "affected", "written", "skipped")


@dataclass
class Summary:
    """The result of a run.

    benchmarks           the names of the benchmarks
    items, testable      for each benchmark, the number of items, and of items that are long enough to compare
    contaminated         for each benchmark, the number of contaminated items
    documents            for each benchmark, the number of documents that contain one of its items
    documents_read       the number of documents in the corpus
    documents_affected   the number of contaminated documents
    documents_written    the number of documents in CLEAN
    skipped              the number of lines that could not be read
    is_complete_already  the run was finished by an earlier call
    waits_for            the shards whose first pass is unfinished; until these are finished, this shard cannot
                         continue, and the other values are 0
    """

    benchmarks: list[str]
    items: list[int]
    testable: list[int]
    contaminated: list[int] = field(default_factory=list)
    documents: list[int] = field(default_factory=list)
    documents_read: int = 0
    documents_affected: int = 0
    documents_written: int = 0
    skipped: int = 0
    is_complete_already: bool = False
    waits_for: list[int] = field(default_factory=list)

    def table(self) -> list[dict[str, Any]]:
        """One row per benchmark."""
        columns = ("benchmarks", "items", "testable", "contaminated", "documents")
        names = ("benchmark", *columns[1:])
        rows = zip(*(getattr(self, column) for column in columns), strict=True)
        return [dict(zip(names, row, strict=True)) for row in rows]


@dataclass
class CleanState:
    """The progress of a run.

    position        where reading resumes, in step 1 or 2
    counts          int64[units]: the number of documents that contain each n-gram, at the unit that identifies it
    continued       int64[units]: the number of documents in which each unit follows an n-gram (Rule.mismatches)
    totals          the result of step 1: the number of documents that contain each n-gram or, with set_share, in which
                    each text was found; empty before step 1 is complete
    is_counted      step 1 is complete
    texts           the number of documents in which each text of an item was found
    n_documents     for each benchmark, the number of documents that contain one of its items
    pipes           the hash of the data read from each pipe, indexed by the number of the input
    is_consistent   False while a block is being added, and after an error while adding one
    """

    position: Position
    totals: Int64s
    counts: Int64s
    continued: Int64s
    texts: Int64s
    n_documents: Int64s
    progress: Progress
    is_counted: bool = False
    is_consistent: bool = True
    pipes: dict[int, Hashed] = field(default_factory=dict)
    read: int = 0
    affected: int = 0
    written: int = 0
    skipped: int = 0

    @classmethod
    def new(cls, items: Items, matcher: Matcher) -> CleanState:
        n_units = matcher.grams.n_units
        counts, continued, texts, n_documents = (
            np.zeros(n, np.int64) for n in (n_units, n_units, len(items.texts), len(items.benchmarks))
        )
        return cls(BEGINNING, np.zeros(0, np.int64), counts, continued, texts, n_documents, Progress())

    @classmethod
    def restored(cls, items: Items, matcher: Matcher, values: dict[str, Any]) -> CleanState:
        """The inverse of to_json(). Raises ValueError, TypeError, KeyError or ZstdError if the values are damaged."""
        state = cls.new(items, matcher)
        state.position = Position.from_json(values["position"])
        state.is_counted = bool(values["is_counted"])
        for name in ARRAYS:
            array = decoded(values[name])
            if array.shape != getattr(state, name).shape and name != "totals":
                raise ValueError(f"{name} has the wrong size")
            setattr(state, name, array)
        for name in NUMBERS:
            setattr(state, name, int(values[name]))
        state.pipes = {int(number): to_hashed(hashed) for number, hashed in values["pipes"].items()}
        state.progress = Progress(bytes=int(values["bytes"]), compressed=int(values["compressed"]))
        return state

    def to_json(self) -> dict[str, Any]:
        arrays = {name: encoded(getattr(self, name)) for name in ARRAYS}
        numbers = {name: getattr(self, name) for name in NUMBERS}
        place = {"position": self.position.to_json(), "is_counted": self.is_counted}
        pipes = {"pipes": {str(number): asdict(hashed) for number, hashed in self.pipes.items()}}
        return {"bytes": self.progress.bytes, "compressed": self.progress.compressed} | place | arrays | numbers | pipes

    @property
    def is_writing(self) -> bool:
        return self.is_counted

    def begin_cleaning(self, rule: Rule) -> None:
        """Return to the beginning of the inputs after step 1."""
        self.is_counted, self.position, self.progress = True, BEGINNING, Progress()
        self.totals = self.counts if rule.max_common is not None else self.texts
        self.counts, self.texts = np.zeros_like(self.counts), np.zeros_like(self.texts)

    def add(self, result: Result[Cleaned]) -> None:
        """Count the results for a block, and move the position past it."""
        cleaned = result.value
        np.add.at(self.counts, cleaned.grams, 1)
        np.add.at(self.continued, cleaned.continued, 1)
        np.add.at(self.texts, cleaned.texts, 1)
        np.add.at(self.n_documents, cleaned.benchmarks, 1)
        if self.is_counted:
            self.read += result.n_ended
            self.affected += cleaned.affected
            self.written += cleaned.written.n_docs if cleaned.written else 0
            self.skipped += len(result.bad)
        self.progress.bytes += result.source_bytes + sum(ending.source_bytes for ending in result.endings)
        self.progress.text_bytes += result.text_bytes
        self.progress.compressed = result.compressed
        self.position = result.after

    def include(self, other: CleanState) -> None:
        """Add the counts of a different part of the corpus."""
        self.totals = self.totals + other.totals if len(self.totals) else other.totals
        for name in (*ARRAYS[1:], *NUMBERS):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def summary(self, items: Items, matcher: Matcher, rule: Rule) -> Summary:
        benchmark_of = dict(zip(items.items, items.benchmark, strict=True))

        def per_benchmark(texts: Iterable[int]) -> list[int]:
            n = Counter(benchmark_of[item] for item in {items.items[text] for text in texts})
            return [n[k] for k in range(len(items.benchmarks))]

        return Summary(
            items.benchmarks, per_benchmark(range(len(items.items))),
            per_benchmark(np.flatnonzero(matcher.is_tested).tolist()), per_benchmark(self._contaminated(matcher, rule)),
            self.n_documents.tolist(), self.read, self.affected, self.written, self.skipped,
        )  # fmt: skip

    def _contaminated(self, matcher: Matcher, rule: Rule) -> list[int]:
        """The numbers of the contaminated texts."""
        if rule.item_share is None:
            return list(np.flatnonzero(self.texts).tolist())
        counts = self.counts if rule.max_common is None else self.totals
        return list(np.flatnonzero(matcher.shares_found(counts, self.continued) >= rule.item_share).tolist())


def encoded(array: Int64s) -> str:
    return base64.b64encode(zstandard.compress(array.astype("<i8").tobytes())).decode()


def decoded(text: str) -> Int64s:
    return np.frombuffer(zstandard.decompress(base64.b64decode(text)), "<i8").astype(np.int64)
