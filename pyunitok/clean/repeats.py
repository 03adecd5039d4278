"""TextRepeats finds the repeated ranges of a text, in bounded memory.

    documents ─ find ─▶ anchors ─ group ─▶ pairs ──────────────────────────────┐
    (text, ends)          (by hash)  └───▶ marks ─ find ─▶ windows ─ group ─▶ pairs ─ verify ─▶ ranges
                                           (by place)       (by hash)          (by place)

csrc/unitok_clean.h defines anchors and windows. Each list between two steps is a file of records (records.py), of which
threads read a few buckets at a time. `find` reads the text from beginning to end. So does `verify`, because pairs are
ordered by place, but it also reads the text that each window is compared with, which can be anywhere. Every range has
been compared byte by byte, so the result depends neither on hashes nor on the seed.

Memory: a bucket with more records than memory allows is grouped in pieces. Equal anchors may then be in different
pieces, so all are marked; windows that remain in each piece are grouped again.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from pyunitok._c import anchors as c_anchors
from pyunitok._c.anchors import DOCUMENTS, GRAMS, MARKS_PER_BYTE, RECORD, WINDOWS, Anchors, Int64s, Records
from pyunitok.clean.matching import joined_ranges
from pyunitok.clean.records import (
    BUCKETS,
    HASH_SHIFT,
    RangesWriter,
    RecordReader,
    RecordWriter,
    bucket_ranges,
    place_shift,
)  # fmt: skip
from pyunitok.clean.workspace import SharedFolder, Space, Workspace, in_order
from pyunitok.corpus.words import word_rules
from pyunitok.packed import Bytes
from pyunitok.run.cluster import Cluster
from pyunitok.run.plan import Progress

MAX_TASK_BYTES = 4 << 20  # the maximum bytes of text for one call
MAX_TASK_RECORDS = 1 << 17
MAX_BATCH_BYTES = 64 << 20
CLUSTER_TASK_BYTES = 1 << 30  # the maximum bytes of text for one task of a cluster, unless a document is longer
OnStep = Callable[[str, Progress], None]


@dataclass(frozen=True)
class Memory:
    """How max_memory_bytes is divided.

    task_bytes     bytes of text that one call searches
    batch_bytes    bytes of records that have not been written yet
    group_records  the maximum number of records that one call groups or verifies; each takes twelve times 24 bytes
    task_records   the number of records that one call groups or verifies, unless a bucket has more: few enough to fit
                   in the cache, because clearing and reading main memory takes longer than sorting
    """

    task_bytes: int
    batch_bytes: int
    group_records: int

    @property
    def task_records(self) -> int:
        return min(MAX_TASK_RECORDS, self.group_records)

    @classmethod
    def of(cls, max_memory_bytes: int, n_threads: int) -> Memory:
        share = max_memory_bytes // n_threads
        return cls(
            min(MAX_TASK_BYTES, max(share // 128, 1 << 12)), min(MAX_BATCH_BYTES, max(max_memory_bytes // 16, 1 << 12)),
            max(share // 16 // RECORD.itemsize, 64),
        )  # fmt: skip


@dataclass(frozen=True)
class Texts:
    """The concatenation of all documents. The files are opened when they are needed.

    number   the files are text-NUMBER and ends-NUMBER in the workspace
    n_bytes  the size of the text
    first    the first position from which repeats are removed; earlier documents are only used for comparison
    """

    space: Space
    number: int
    n_bytes: int
    n_documents: int
    first: int

    @cached_property
    def text(self) -> Bytes:
        return self.space.mapped(f"text-{self.number}", np.uint8, self.n_bytes)

    @cached_property
    def ends(self) -> Int64s:
        """int64[n_documents]: the end of each document."""
        return self.space.mapped(f"ends-{self.number}", np.int64, self.n_documents)

    def release(self) -> None:
        """Unmap the pages of the files that were read. The pages stay in the system's cache."""
        for name in ("text", "ends"):
            release(self.__dict__.get(name))

    def begin(self, document: int) -> int:
        return int(self.ends[document - 1]) if document else 0

    def parts(self, begin: int, end: int, n_bytes: int) -> Iterator[tuple[int, int]]:
        """Divide the documents begin..end - 1 into ranges with at most n_bytes of text, or with one longer document."""
        while begin < end:
            to = int(np.searchsorted(self.ends, self.begin(begin) + n_bytes, "right"))
            to = min(max(to, begin + 1), end)
            yield begin, to
            begin = to


Part = tuple[int, int, Int64s]  # a range of documents, and the marks in them


def _parts(corpus: Texts, begin: int, end: int, memory: Memory) -> Iterator[Part]:
    """Divide a range of documents into parts without marks."""
    nothing = np.empty(0, np.int64)
    for first, last in corpus.parts(begin, end, memory.task_bytes):
        yield first, last, nothing


def _found(anchors: Anchors, kind: int, corpus: Texts, part: Part) -> Records:
    begin, end, marks = part
    at, to = corpus.begin(begin), int(corpus.ends[end - 1])
    offsets = np.concatenate(([at], corpus.ends[begin:end])) - at
    return anchors.find(kind, corpus.text[at:to], offsets, at, marks)


@dataclass(frozen=True)
class _FindTask:
    """The values that the tasks of a cluster share.

    arguments  the arguments of Anchors
    """

    corpus: Texts
    kind: int
    name: str
    arguments: tuple[int, int, bool]
    memory: Memory


def _found_on_machine(task: _FindTask, item: tuple[int, tuple[int, int]]) -> int:
    """Write the records found in a range of documents to the file NAME.NUMBER. Returns the number of records."""
    number, (begin, end) = item
    n_units, seed, has_words = task.arguments
    anchors = Anchors(n_units, seed, word_rules() if has_words else None)
    corpus = replace(task.corpus)  # opens the files again
    with RecordWriter(corpus.space, f"{task.name}.{number}", HASH_SHIFT, task.memory.batch_bytes) as writer:
        for part in _parts(corpus, begin, end, task.memory):
            writer.add(_found(anchors, task.kind, corpus, part))
            corpus.release()
    return writer.n


def release(array: np.ndarray[Any, Any] | None) -> None:
    """Unmap the pages of a memory map that were read. The pages stay in the system's cache."""
    mapped = getattr(array, "_mmap", None)
    if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


class TextRepeats:
    """Finds the repeats of one corpus.

    prefix      the prefix of the names of files and steps in the workspace
    all_copies  count the first copy as a repeat, too, and allow copies to overlap
    on_step     called with (name of the step, its progress) after each part of the step
    machines    the cluster that finds anchors; the workspace must have the same path on all machines
    """

    def __init__(
        self, space: Workspace, prefix: str, corpus: Texts, anchors: Anchors, memory: Memory, n_threads: int, *,
        n_units: int, all_copies: bool, on_step: OnStep, machines: Cluster | None = None,
    ) -> None:  # fmt: skip
        self._space, self._prefix, self._corpus, self._anchors = space, prefix, corpus, anchors
        self._memory, self._n_threads, self._on_step = memory, n_threads, on_step
        self._all_copies, self._n_units, self._machines = all_copies, n_units, machines
        self._place_shift = place_shift(corpus.n_bytes)
        self._mark_shift = place_shift(corpus.n_bytes * MARKS_PER_BYTE)

    def find(self) -> dict[str, Any]:
        """Find repeated windows. Returns the numbers of ranges ("n"), of bytes in the ranges, and of windows that
        repeat. The ranges are written to the workspace as PREFIX-repeats."""
        step, name = self._space.step, self._name
        grams = step(name("find"), lambda: self._find_all(GRAMS, name("grams")))
        found = step(name("group"), lambda: self._group(GRAMS, name("grams"), grams["n"]), [name("grams")])
        names = {name("pairs"): found["pairs"]}
        if found["marks"]:
            windows = step(
                name("find again"), lambda: self._find(WINDOWS, name("windows"), self._marked_parts(found["marks"]))
            )
            more = step(
                name("group again"), lambda: self._group(WINDOWS, name("windows"), windows["n"], name("more")),
                [name("windows"), name("marks")],
            )  # fmt: skip
            names[name("more")] = more["pairs"]
        return step(name("compare"), lambda: self._verify(GRAMS, names), names)

    def find_documents(self) -> dict[str, Any]:
        """Find documents that equal earlier ones. Returns the same values as find()."""
        step, name = self._space.step, self._name
        documents = step(name("find"), lambda: self._find_all(DOCUMENTS, name("documents")))
        found = step(
            name("group"), lambda: self._group(DOCUMENTS, name("documents"), documents["n"]), [name("documents")]
        )
        names = {name("pairs"): found["pairs"]}
        return step(name("compare"), lambda: self._verify(DOCUMENTS, names), names)

    def _name(self, name: str) -> str:
        return f"{self._prefix} {name}" if " " in name else f"{self._prefix}-{name}"

    def _writer(self, name: str, shift: int) -> RecordWriter:
        return RecordWriter(self._space, name, shift, self._memory.batch_bytes)

    # -------------------------------------------------------------------------------------------------- find

    def _find_all(self, kind: int, name: str) -> dict[str, Any]:
        """Find and write the records of one kind in all documents."""
        corpus = self._corpus
        if self._machines is None:
            return self._find(kind, name, _parts(corpus, 0, corpus.n_documents, self._memory))
        files = SharedFolder(corpus.space.path("").resolve())
        task = _FindTask(replace(corpus, space=files), kind, name, self._anchors.arguments, self._memory)
        items = list(enumerate(corpus.parts(0, corpus.n_documents, CLUSTER_TASK_BYTES)))
        n, progress = [0] * len(items), Progress(compressed_total=corpus.n_bytes)
        for number, found in self._machines(_found_on_machine, task, items):
            n[number] = found
            begin, end = items[number][1]
            progress.bytes += int(corpus.ends[end - 1]) - corpus.begin(begin)
            progress.compressed = progress.bytes
            self._on_step("finding repeats", progress)
        return {"n": n}

    def _marked_parts(self, n_marks: int) -> Iterator[Part]:
        """The ranges of documents that contain marks, and the marks in each range."""
        corpus, last = self._corpus, 0
        with RecordReader(self._space, self._name("marks"), n_marks) as reader:
            rest = np.empty(0, np.int64)
            for low, high in bucket_ranges(reader.counts, self._memory.task_records):
                marks = np.concatenate((rest, np.sort(reader.read(low, high)["key"].astype(np.int64))))
                # A document that continues past these buckets waits until its remaining marks have been read.
                at = corpus.n_bytes if high == BUCKETS else (high << self._mark_shift) // MARKS_PER_BYTE
                stop = corpus.n_documents if high == BUCKETS else int(np.searchsorted(corpus.ends, at, "right"))
                for begin, end in corpus.parts(last, stop, self._memory.task_bytes):
                    among = np.searchsorted(marks, self._first_marks(corpus.begin(begin), int(corpus.ends[end - 1])))
                    if among[0] < among[1]:
                        yield begin, end, marks[among[0] : among[1]]
                last = max(last, stop)
                rest = marks[np.searchsorted(marks, self._first_marks(corpus.begin(last))[0]) :]

    @staticmethod
    def _first_marks(*places: int) -> list[int]:
        """The smallest mark at each place."""
        return [place * MARKS_PER_BYTE for place in places]

    def _find(self, kind: int, name: str, parts: Iterable[Part]) -> dict[str, Any]:
        corpus = self._corpus
        progress = Progress(compressed_total=corpus.n_bytes)

        def found(part: Part) -> Records:
            return _found(self._anchors, kind, corpus, part)

        with self._writer(name, HASH_SHIFT) as writer:
            for (_, end, _), records in in_order(self._n_threads, found, parts):
                writer.add(records)
                if int(corpus.ends[end - 1]) // self._memory.batch_bytes > progress.bytes // self._memory.batch_bytes:
                    corpus.release()
                progress.bytes = progress.compressed = int(corpus.ends[end - 1])
                self._on_step("finding repeats", progress)
        return {"n": writer.n}

    # ------------------------------------------------------------------------------------------------- group

    def _group(self, kind: int, name: str, n: int | list[int], pairs_name: str = "") -> dict[str, Any]:
        """Write the pairs and marks among the records of a file, or of the files of a cluster."""
        n_all = n if isinstance(n, int) else sum(n)
        progress = Progress(compressed_total=n_all * RECORD.itemsize)
        with ExitStack() as stack:
            reader = stack.enter_context(RecordReader(self._space, name, n))
            pairs = stack.enter_context(self._writer(pairs_name or self._name("pairs"), self._place_shift))
            marks = stack.enter_context(self._writer(self._name("marks"), self._mark_shift)) if kind == GRAMS else None
            ranges = bucket_ranges(reader.counts, self._memory.task_records)

            def grouped(part: tuple[int, int]) -> list[tuple[Records, Int64s]]:
                return list(self._grouped(kind, reader, *part))

            for (low, high), parts in in_order(self._n_threads, grouped, ranges):
                for found, marked in parts:
                    pairs.add(found)
                    if marks is not None and len(marked):
                        records = np.zeros(len(marked), RECORD)
                        records["key"] = marked
                        marks.add(records)
                progress.bytes += int(reader.counts[low:high].sum()) * RECORD.itemsize
                progress.compressed = progress.bytes
                self._on_step("grouping", progress)
        return {"pairs": pairs.n, "marks": marks.n if marks is not None else 0}

    def _grouped(self, kind: int, reader: RecordReader, low: int, high: int) -> Iterator[tuple[Records, Int64s]]:
        """(pairs, marks) among the records of some buckets."""
        limit, options = self._memory.group_records, {"all_copies": self._all_copies, "mark_all": False}
        if int(reader.counts[low:high].sum()) <= limit:
            yield self._anchors.group(kind, reader.read(low, high), self._corpus.first, **options)[:2]
            return
        options["mark_all"] = kind == GRAMS
        rest: list[Records] = []
        for piece in reader.pieces(low, high, limit):
            pairs, marks, kept = self._anchors.group(kind, piece, self._corpus.first, **options)
            rest.append(kept.copy())
            yield pairs, marks
        if kind != GRAMS:
            yield self._anchors.group(kind, np.concatenate(rest), self._corpus.first, **options)[:2]

    # ------------------------------------------------------------------------------------------------ verify

    def _verify(self, kind: int, names: dict[str, int]) -> dict[str, Any]:
        """Compare the text of pairs, and write the ranges that are equal."""
        corpus, n_windows, rest = self._corpus, 0, np.empty((0, 2), np.int64)
        has_starts = kind != DOCUMENTS and not self._anchors.has_words
        more = self._n_units - 1 if has_starts else 0
        progress = Progress(compressed_total=sum(names.values()) * RECORD.itemsize)
        with ExitStack() as stack:
            readers = [stack.enter_context(RecordReader(self._space, name, n)) for name, n in names.items()]
            writer = stack.enter_context(RangesWriter(self._space, self._name("repeats")))
            counts = np.sum([reader.counts for reader in readers], axis=0)

            def compared(part: tuple[int, int]) -> Int64s:
                pairs = np.concatenate([reader.read(*part) for reader in readers])
                c_anchors.sort(pairs)
                return self._anchors.verify(kind, corpus.text, corpus.ends, pairs)

            for (low, high), found in in_order(
                self._n_threads, compared, bucket_ranges(counts, self._memory.task_records)
            ):
                if not has_starts:
                    found = np.unique(found, axis=0)
                    n_windows += len(found)
                rest = joined_ranges(np.concatenate((rest, found)))
                # Later windows begin at most n_units before the next bucket.
                stop = np.iinfo(np.int64).max if high == BUCKETS else (high << self._place_shift) - self._n_units
                n = _complete(rest, more, stop)
                ranges, rest = rest[:n], rest[n:]
                if has_starts:
                    n_windows += int((ranges[:, 1] - ranges[:, 0]).sum())
                    ranges = joined_ranges(np.add(ranges, (0, more)))
                writer.add(ranges)
                corpus.release()
                progress.bytes += int(counts[low:high].sum()) * RECORD.itemsize
                progress.compressed = progress.bytes
                self._on_step("comparing", progress)
        return {"n": writer.n, "bytes": writer.n_bytes, "windows": n_windows}


def _complete(ranges: Int64s, more: int, stop: int) -> int:
    """How many of the ascending ranges, counted from the first, are complete: even with `more` added to their ends,
    they touch neither the remaining ranges nor ranges that begin at or after `stop`."""
    n = int(np.searchsorted(ranges[:, 1], stop - more, "left"))
    if n == len(ranges):
        return n
    touches = ranges[1 : n + 1, 0] <= ranges[:n, 1] + more
    apart = np.flatnonzero(~touches)
    return int(apart[-1]) + 1 if len(apart) else 0
