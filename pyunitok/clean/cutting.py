"""Cuts ranges out of a corpus: chooses the bytes to remove, and writes the rest.

    repeats ─ cut ─▶ cuts ─ remove ─▶ text and ends of the next round
                       └─── include ─▶ all cuts so far, as ranges of the original text

Everything is streamed in text order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pyunitok._c import anchors as c_anchors
from pyunitok._c.anchors import Int64s
from pyunitok.clean.matching import joined_ranges
from pyunitok.clean.records import Ranges, RangesWriter, removed_before, widened
from pyunitok.clean.repeats import Memory, OnStep, Texts
from pyunitok.clean.workspace import Workspace, in_order
from pyunitok.corpus.words import word_rules
from pyunitok.run.plan import Progress

CHUNK = 1 << 16  # the number of ranges or documents processed at a time


def cut(
    space: Workspace, name: str, corpus: Texts, repeats: Ranges, how: str, max_share: float | None, min_left: int,
    n_threads: int, on_step: OnStep,
) -> dict[str, Any]:  # fmt: skip
    """Shrink the repeats to the ranges to remove, and write these ranges to the file `name`. `how`: a key of CUTS."""
    progress = Progress(compressed_total=corpus.n_bytes)
    limit = 2.0 if max_share is None else max_share

    def chunks() -> Iterator[Int64s]:
        """Yields the ranges in chunks, each of which contains all ranges of its documents. A range may continue in the
        next document."""
        begin = 0
        while begin < len(repeats):
            end, document_end = min(begin + CHUNK, len(repeats)), 0
            while (last := int(repeats.ends[end - 1])) > document_end:
                document_end = int(corpus.ends[np.searchsorted(corpus.ends, last - 1, "right")])
                end = int(np.searchsorted(repeats.begins, document_end, "left"))
            yield repeats.slice(begin, end)
            begin = end

    def cut_chunk(ranges: Int64s) -> Int64s:
        return c_anchors.cut(word_rules(), how, corpus.text, corpus.ends, ranges, limit, min_left)

    with RangesWriter(space, name) as writer:
        for ranges, cuts in in_order(n_threads, cut_chunk, chunks()):
            writer.add(cuts)
            corpus.release()
            progress.bytes = progress.compressed = int(ranges[-1, 1])
            on_step("cutting", progress)
    return {"n": writer.n, "bytes": writer.n_bytes}


def remove(
    space: Workspace, number: int, corpus: Texts, cuts: Ranges, memory: Memory, on_step: OnStep
) -> dict[str, Any]:
    """Write the text without the cuts, and the ends of its documents, as text-NUMBER and ends-NUMBER."""
    progress, n_removed, n_written = Progress(compressed_total=corpus.n_bytes), 0, 0
    with space.new_file(f"text-{number}") as text, space.new_file(f"ends-{number}") as ends:
        for begin, end in corpus.parts(0, len(corpus.ends), memory.task_bytes):
            at, to = corpus.begin(begin), int(corpus.ends[end - 1])
            ranges = cuts.between(at, to)
            ranges = np.clip(ranges, at, to) - at
            left = c_anchors.removed(corpus.text[at:to], 0, to - at, ranges)
            text.write(left.data)
            places = corpus.ends[begin:end] - at
            ends.write((places + at - n_removed - removed_before(ranges, places)).tobytes())
            n_removed += to - at - len(left)
            n_written += len(left)
            if to // memory.batch_bytes > progress.bytes // memory.batch_bytes:
                corpus.release()
            progress.bytes = progress.compressed = to
            on_step("removing", progress)
    return {"bytes": n_written}


def include(space: Workspace, name: str, corpus: Texts, ends: Int64s, before: Ranges, cuts: Ranges) -> dict[str, Any]:
    """Write all cuts so far, as ranges of the original text.

    corpus  the text that earlier rounds left
    ends    the ends of the documents in the original text
    before  the cuts of earlier rounds, in the original text
    cuts    the cuts of this round, in `corpus`
    """
    with RangesWriter(space, name) as writer:
        for begin in range(0, len(ends), CHUNK):
            end = min(begin + CHUNK, len(ends))
            at, to = (int(ends[k - 1]) if k else 0 for k in (begin, end))
            own = cuts.between(corpus.begin(begin), corpus.begin(end)) - corpus.begin(begin)
            both = widened(before.between(at, to) - at, own)
            writer.add(joined_ranges(np.concatenate(both)) + at)
    return {"n": writer.n, "bytes": writer.n_bytes}
