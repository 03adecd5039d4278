"""Cleaner finds benchmark items in a block, and produces the block's parts of CLEAN and of the report. Thread-safe.

    block ──▶ n-grams ──▶ Matches of contaminated documents ──▶ edits ──▶ Written
                                └──────────────▶ lines of the report
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from pyunitok.clean.benchmarks import Items
from pyunitok.clean.matching import Int64s, Matcher, Matches, pieces_outside
from pyunitok.clean.rules import Rule
from pyunitok.corpus.block import Block
from pyunitok.corpus.formats import FORMATS
from pyunitok.corpus.rewriting import Edits, Rewriter, Written, compressed
from pyunitok.corpus.source import Source

FIELD = "contamination"  # the field that action="mark" adds
MAX_SHOWN_BYTES = 1000  # the maximum length of the matched text in a report
_NOTHING = np.empty(0, np.int64)


@dataclass
class Cleaned:
    """The result for one block.

    written     the block's part of CLEAN; None if no corpus is written
    report      compressed lines of the report
    texts       the indices of the item texts that were found, each once per document
    benchmarks  the indices of the benchmarks that were found, each once per document
    affected    the number of contaminated documents
    grams       the indices of the n-grams that were found, each once per document
    continued   the units of items that were found after these n-grams, once per document (see Rule.mismatches)
    """

    written: Written | None = None
    report: bytes = b""
    texts: Int64s = field(default_factory=lambda: _NOTHING)
    benchmarks: Int64s = field(default_factory=lambda: _NOTHING)
    affected: int = 0
    grams: Int64s = field(default_factory=lambda: _NOTHING)
    continued: Int64s = field(default_factory=lambda: _NOTHING)


class Cleaner:
    """Cleans the blocks of a corpus.

    rewriters   one for each source
    is_written  whether CLEAN is written, or only the report
    report      the compression of the report; None: no report
    totals      the result of the first pass, as CleanState.totals; empty if there was no such pass
    """

    def __init__(
        self, items: Items, rule: Rule, matcher: Matcher, sources: Sequence[Source],
        rewriters: Sequence[Rewriter], is_written: bool, report: str | None, totals: Int64s,
    ) -> None:  # fmt: skip
        self._items, self._rule, self._matcher = items, rule, matcher
        self._sources, self._rewriters, self._report = sources, rewriters, report
        self._benchmark = np.array(items.benchmark, np.int64)
        self._is_written = is_written
        self._ignored, self._least_shares = _NOTHING, matcher.least_shares
        if len(totals) and rule.max_common is not None:
            self._ignored = np.flatnonzero(totals > rule.max_common)
        elif len(totals):
            self._least_shares = np.where(self._is_affected(totals)[self._benchmark], matcher.least_shares, np.inf)
        self._counts_grams = rule.max_common is None

    def _is_affected(self, found: Int64s) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """bool[benchmarks]: whether a benchmark's share of contaminated items exceeds set_share. found: the number of
        documents in which each text was found."""
        items, n = np.array(self._items.items), len(self._items.benchmarks)
        benchmark_of = dict(zip(self._items.items, self._items.benchmark, strict=True))
        sizes = np.bincount([*benchmark_of.values()], minlength=n)
        hit = [benchmark_of[item] for item in np.unique(items[found > 0]).tolist()]
        return np.bincount(hit, minlength=n) > (self._rule.set_share or 0) * sizes

    def count(self, block: Block) -> Cleaned:
        """Find items for the first pass. Sets only `grams` or, with set_share, only `texts`."""
        hits = self._matcher.find_in(block)
        if self._rule.set_share is None:
            return Cleaned(grams=_grams_of(hits))
        return Cleaned(texts=self._matcher.matches(hits, self._least_shares).texts if len(hits) else _NOTHING)

    def clean(self, block: Block) -> Cleaned:
        ret = Cleaned()
        if block.source >= len(self._sources):  # the final block, which follows all sources and has no documents
            return ret
        hits = self._matcher.find_in(block)
        if self._counts_grams:
            ret.grams = _grams_of(hits)
            ret.continued = self._matcher.continued(block.data, block.offsets, hits)
        if len(self._ignored):
            hits = hits[~np.isin(hits["gram"], self._ignored)]
        edits = Edits()
        if len(hits):
            found = self._matcher.matches(hits, self._least_shares)
            documents, firsts = np.unique(found.documents, return_index=True)
            bounds = [*firsts.tolist(), len(found)]
            ret.affected, ret.texts = len(documents), found.texts
            pairs = np.unique(np.stack((found.documents, self._benchmark[found.texts])), axis=1)
            ret.benchmarks = pairs[1]
            if self._report is not None:
                ret.report = compressed(b"".join(self._report_lines(block, found)), self._report)
            if self._is_written:
                edits = self._edits(block, found, documents.tolist(), bounds)
        if self._is_written:
            ret.written = self._rewriters[block.source].rewritten(block, edits)
        return ret

    def _edits(self, block: Block, found: Matches, documents: list[int], bounds: list[int]) -> Edits:
        """The edits to each contaminated document. The matches of documents[k] begin at bounds[k]."""
        if self._rule.action == "drop":
            return Edits(dict.fromkeys(documents, ()))
        parts = zip(documents, bounds[:-1], bounds[1:], strict=True)
        if self._rule.action == "mark":
            described = self._described(found)
            return Edits(values={n: described[a:b] for n, a, b in parts})
        return Edits({n: self._pieces(_text(block, n), found.ranges_of(a, b)) for n, a, b in parts})

    def _pieces(self, text: bytes, ranges: Int64s) -> list[str]:
        pieces = pieces_outside(text, ranges, self._rule.cut_around, 1)
        if len(pieces) > self._rule.max_pieces:
            return []
        return [piece for piece in pieces if len(piece) >= self._rule.min_piece]

    def _described(self, found: Matches) -> list[dict[str, Any]]:
        """A record of each match, for the report and for the field that action="mark" adds."""
        items, values = self._items, zip(found.texts.tolist(), found.shares.tolist(), found.longest_runs.tolist(),
                                         strict=True)  # fmt: skip
        return [
            {"benchmark": items.benchmarks[items.benchmark[text]], "item": items.labels[items.items[text]],
             "field": items.fields[text], "share": round(share, 4), "longest_run": longest_run}
            for text, share, longest_run in values
        ]  # fmt: skip

    def _report_lines(self, block: Block, found: Matches) -> Iterator[bytes]:
        source, documents = self._sources[block.source], found.documents.tolist()
        ids = self._rewriters[block.source].ids_of(block, documents) if FORMATS[source.format].has_fields else []
        numbers = range(block.first_document, block.first_document + block.n_docs)
        starts, all_numbers = block.offsets, numbers if block.numbers is None else block.numbers.tolist()
        begins, ends, offsets = found.begins.tolist(), found.ends.tolist(), found.offsets.tolist()
        for k, (document, described) in enumerate(zip(documents, self._described(found), strict=True)):
            place = {"file": source.name, "document": all_numbers[document]} | ({"id": ids[k]} if ids else {})
            longest = max(range(offsets[k], offsets[k + 1]), key=lambda n: ends[n] - begins[n])
            begin, end, at = begins[longest], ends[longest], int(starts[document])
            shown = block.data[at + begin : at + min(end, begin + MAX_SHOWN_BYTES)].tobytes().decode("utf-8", "replace")
            yield _json(place | described | {"begin": begin, "end": end, "text": shown}) + b"\n"


def _grams_of(hits: np.ndarray[Any, Any]) -> Int64s:
    """The n-grams in `hits`, each once per document."""
    order = np.lexsort((hits["gram"], hits["document"]))
    documents, grams = hits["document"][order], hits["gram"][order]
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = (documents[1:] != documents[:-1]) | (grams[1:] != grams[:-1])
    ret: Int64s = grams[is_first]
    return ret


def _text(block: Block, document: int) -> bytes:
    text: bytes = block.data[int(block.offsets[document]) : int(block.offsets[document + 1])].tobytes()
    return text


def _json(values: dict[str, Any]) -> bytes:
    """A JSON line. Lone surrogates, which labels and file names may contain, are escaped."""
    try:
        return msgspec.json.encode(values, enc_hook=str)
    except UnicodeEncodeError:
        return json.dumps(values, separators=(",", ":"), default=str).encode()
