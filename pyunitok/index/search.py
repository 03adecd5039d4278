"""Index: exact answers about the text of an index. open_index() opens one; see also sequences.py and overlap.py."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pyunitok import _ffi_search
from pyunitok.errors import LimitError, OutputError
from pyunitok.index.hits import Count, Found, Hit, Hits, Int64s, Places, shuffled
from pyunitok.index.pieces import PieceTables
from pyunitok.index.shard import OpenIndex, Shard
from pyunitok.packed import Packed, as_bytes
from pyunitok.tokenizer import Tokenizer
from pyunitok.tokens.array import TokenArray

Text = str | bytes
Order = Literal["rank", "text", "random"]

MAX_WORK = 2_000_000_000  # for one query and shard, about a nanosecond a unit
MAX_RUNS = 1 << 60
MAX_SCANNED = 1_000_000  # hits that by_source and following look at, before they take a sample


@dataclass(frozen=True)
class Context:
    """The text around a hit: bytes of the document, cut between characters (but for the hit, which can begin and end
    inside one)."""

    before: bytes
    match: bytes
    after: bytes

    def shown(self) -> tuple[str, str, str]:
        """The same as text, with \\xNN for bytes that are not UTF-8."""
        parts = (self.before, self.match, self.after)
        before, match, after = (part.decode("utf-8", "backslashreplace") for part in parts)
        return before, match, after


@dataclass(frozen=True)
class SourceCount:
    """How often a query occurs in one input of a token file.

    file   the number of the token file in the index
    path   of the input; None if the token file has no manifest
    """

    file: int
    path: str | None
    hits: int
    documents: int
    approx: bool


@dataclass
class DocumentHits:
    """Which documents have a query: int64[n] numbers, ascending, and int64[n] counts in each."""

    documents: Int64s
    counts: Int64s
    approx: bool

    def __len__(self) -> int:
        return len(self.documents)


class TextSearch:
    """The part of Index that answers about text.

    A query is text: str (as UTF-8) or bytes. Counts are of all its occurrences in the documents, overlapping ones
    included, whatever the tokens: inside a token, across tokens, from and to the middle of one; never across documents.
    Models that normalize (SentencePiece) answer about their normalized text, as decoding shows it: see `normalizes`.
    An unknown character is no text, and nothing that spans it is found.

    Results that say `approx` were cut short by max_work, about a nanosecond a unit for one query in one shard, and are
    lower bounds. All methods may be called from several threads at once.
    """

    shards: list[Shard]

    def __init__(self, opened: OpenIndex, *, max_work: int = MAX_WORK) -> None:
        """For open_index."""
        self.folder = opened.folder
        self.manifest = opened.manifest
        self.arrays: list[TokenArray] = opened.arrays
        self.shards = opened.shards
        self.max_work = max_work
        self.c = [_c_shard(shard, opened.manifest.eod, opened.folder) for shard in self.shards]
        self._file_bounds = np.cumsum([0, *map(len, self.arrays)])  # documents before each token file
        self._tables: PieceTables | None = None
        self._lock = threading.Lock()

    # ------------------------------------------------------------------------------------------- the whole index ---

    @property
    def n_tokens(self) -> int:
        """How many tokens there are, the eod of each document included."""
        return sum(len(shard) for shard in self.shards)

    @property
    def n_documents(self) -> int:
        """How many documents there are. They are numbered from 0 through all token files."""
        return int(self._file_bounds[-1])

    @property
    def tokenizer(self) -> Tokenizer:
        """The model that made the token files."""
        return self.arrays[0].tokenizer

    @property
    def normalizes(self) -> bool:
        """Whether answers are about normalized text, which may differ from what was tokenized."""
        return not self.tokenizer.lossless

    @property
    def eod(self) -> int | None:
        """The id at the end of each document."""
        return self.manifest.eod

    @property
    def tables(self) -> PieceTables:
        """The text of each id. Made when first asked for: some tenths of a second."""
        if self._tables is None:
            with self._lock:
                if self._tables is None:
                    if not self.shards:
                        raise OutputError(f"{self.folder}: an index without tokens")
                    tables = PieceTables(self.tokenizer, self.shards[0].ranks)
                    for shard in self.c:
                        shard.lend_inside(tables.c)
                    self._tables = tables
        return self._tables

    def locate(self, document: int) -> tuple[TokenArray, int]:
        """The token file that a document of the index is in, and its number there. IndexError."""
        if not 0 <= document < self.n_documents:
            raise IndexError(f"document {document} of {self.n_documents} in {self.folder}")
        file = int(np.searchsorted(self._file_bounds, document, "right")) - 1
        return self.arrays[file], document - int(self._file_bounds[file])

    def text_bytes(self, document: int) -> bytes:
        """A document, decoded."""
        array, number = self.locate(document)
        return array.text_bytes(number)

    def source(self, document: int) -> str | None:
        """The path of the input that a document came from; None if the token file has no manifest."""
        array, number = self.locate(document)
        if array.manifest is None:
            return None
        bounds = np.cumsum([record.documents for record in array.manifest.inputs])
        return array.manifest.inputs[int(np.searchsorted(bounds, number, "right"))].path

    def metadata(self, document: int) -> dict[str, Any] | None:
        """The document's metadata, where it was kept (tokenize --metadata): see tokens.metadata.Metadata; or None."""
        array, number = self.locate(document)
        try:
            with self._lock:  # a Metadata is not for several threads at once
                return array.metadata(number)
        except OutputError:
            return None

    # ------------------------------------------------------------------------------------------------- counting ---

    def count(self, query: Text, *, max_work: int | None = None) -> Count:
        """How often a text occurs. The empty text: 0. Typically 10 to 100 µs a shard in memory."""
        text, tables, work = as_bytes(query), self.tables.c, self.max_work if max_work is None else max_work
        if len(self.c) == 1:
            return Count(*self.c[0].count_one(tables, text, work))
        counts = [shard.count_one(tables, text, work) for shard in self.c]
        return Count(sum(count for count, _ in counts), any(approx for _, approx in counts))

    def count_batch(
        self, queries: Iterable[Text] | Packed, *, max_work: int | None = None
    ) -> tuple[Int64s, np.ndarray[Any, np.dtype[np.bool_]]]:
        """int64[n] counts of many texts, and bool[n], True where one is a lower bound."""
        packed = queries if isinstance(queries, Packed) else Packed.from_documents(map(as_bytes, queries))
        work, tables = self.max_work if max_work is None else max_work, self.tables.c
        counts, approx = np.zeros(len(packed), np.int64), np.zeros(len(packed), np.uint8)
        for shard in self.c:
            more, some = shard.count_text(tables, packed.data, packed.offsets, work)
            counts += more
            approx |= some
        return counts, approx.astype(np.bool_)

    # -------------------------------------------------------------------------------------------------- finding ---

    def find(
        self, query: Text, limit: int = 10, offset: int = 0, order: Order = "rank", seed: int = 0, *,
        max_work: int | None = None,
    ) -> Hits:  # fmt: skip
        """Occurrences number offset to offset + limit - 1 of a text.

        order  "rank"    that of the index: the fastest; hits on one page are often alike, as neighbours in the index
                         have the same text after them
               "text"    by document and byte: looks at all occurrences
               "random"  a shuffle drawn by `seed`, each occurrence once through all pages
        """
        self._check_page(limit, offset, order)
        text = as_bytes(query)
        if order == "rank":
            count = self.count(text, max_work=max_work)
            found = self.find_all(text, max_hits=offset + limit, max_work=max_work)
            total, approx = max(int(count), found.total), count.approx or found.approx
        else:
            found = self.find_all(text, max_work=max_work)
            total, approx = found.total, found.approx
        places = page_of(found, limit, offset, order, seed)
        return self.hits_at(places, len(text), total, approx)

    def find_all(self, query: Text, *, max_hits: int = MAX_RUNS, max_work: int | None = None) -> Found:
        """All occurrences, or at least max_hits of them, in runs of the suffix arrays; 24 bytes a run."""
        text, tables, work = as_bytes(query), self.tables.c, self.max_work if max_work is None else max_work
        runs, approx, n = [], False, 0
        for shard in self.c:
            part, some = shard.find_text(tables, text, max(0, max_hits - n), work)
            runs.append(part)
            approx |= some
            n += int((part["hi"] - part["lo"]).sum())
        return Found(runs, [shard.sa for shard in self.shards], approx)

    def hits_at(self, places: Places, n_bytes: int, total: int, approx: bool = False) -> Hits:
        """Hits of n_bytes each at these places, with documents and byte ranges. O(tokens before the hits in their
        documents)."""
        documents, begins = np.empty(len(places.tokens), np.int64), np.empty(len(places.tokens), np.int64)
        for number in np.unique(places.shards).tolist():
            mask = places.shards == number
            documents[mask], begins[mask] = self._bytes_at(number, places.tokens[mask], places.skips[mask])
        ends = begins + n_bytes
        begins = np.maximum(begins, 0)  # -1: tokens from the start of a document, whose first space is dropped
        return Hits(places.shards, places.tokens, places.skips, documents, begins, ends, total, approx)

    def _documents_at(self, number: int, tokens: Int64s) -> Int64s:
        """int64[n]: the documents of tokens of a shard, numbered in the shard."""
        shard = self.shards[number]
        positions = tokens.astype(np.uint64) + np.uint64(shard.begin)
        numbers: Int64s = np.searchsorted(shard.ends, positions, "right").astype(np.int64)
        return numbers

    def _document_begins(self, number: int, documents: Int64s) -> Int64s:
        """int64[n]: the first token of documents of a shard."""
        shard = self.shards[number]
        ends: Int64s = shard.ends[np.maximum(documents - 1, 0)].astype(np.int64) - np.int64(shard.begin)
        ends[documents == 0] = 0
        return ends

    def first_document(self, number: int) -> int:
        """The number in the index of the first document of a shard."""
        shard = self.shards[number]
        return int(self._file_bounds[shard.file]) + shard.first_document

    def _bytes_at(self, number: int, tokens: Int64s, skips: Int64s) -> tuple[Int64s, Int64s]:
        """int64[n] documents of the index and int64[n] bytes in them, of places in a shard."""
        shard, tables = self.shards[number], self.tables
        documents = self._documents_at(number, tokens)
        begins = self._document_begins(number, documents)
        dropped = tables.drops_space[shard.ids[begins]] if len(begins) else np.empty(0, np.uint8)
        order = np.argsort(tokens, kind="stable")  # so that a long document is read through once, not for every hit
        sorted_tokens, sorted_docs = tokens[order], documents[order]
        starts = begins[order].copy()
        same = np.flatnonzero(sorted_docs[1:] == sorted_docs[:-1]) + 1
        starts[same] = sorted_tokens[same - 1]
        steps = _ffi_search.sizes_of(shard.ids, tables.sizes, starts, sorted_tokens)
        sums = np.cumsum(steps)
        is_first = np.ones(len(steps), np.bool_)
        is_first[same] = False
        base = np.maximum.accumulate(np.where(is_first, sums - steps, 0)) if len(steps) else sums
        sizes = np.empty(len(tokens), np.int64)
        sizes[order] = sums - base
        return documents + self.first_document(number), sizes + skips - dropped

    def _check_page(self, limit: int, offset: int, order: str) -> None:
        if limit < 0 or offset < 0:
            raise LimitError(f"limit and offset must be at least 0, not {limit} and {offset}")
        if order not in ("rank", "text", "random"):
            raise LimitError(f"order must be 'rank', 'text' or 'random', not {order!r}")

    # ------------------------------------------------------------------------------------------------- around hits ---

    def context(self, hit: Hit, before: int = 40, after: int = 40) -> Context:
        """The hit with up to `before` and `after` characters of its document on either side. O(before + after)."""
        shard, tables = self.shards[hit.shard], self.tables
        document = int(self._documents_at(hit.shard, np.array([hit.token]))[0])
        first = int(self._document_begins(hit.shard, np.array([document]))[0])
        end = int(shard.ends[document]) - shard.begin - (self.eod is not None)
        n_bytes = hit.end - hit.begin
        left, at = [tables.text_of(int(shard.ids[hit.token]))[: hit.skip]], hit.token
        size = hit.skip
        while at > first and size < 4 * (before + 1):
            at -= 1
            left.append(self.decoded(int(shard.ids[at])))
            size += len(left[-1])
        text = b"".join(reversed(left))
        if at == first and tables.drops_space[shard.ids[first]]:
            text = text[1:]
        right, at, size = [], hit.token, -hit.skip
        while at < end and size < n_bytes + 4 * (after + 1):
            right.append(self.decoded(int(shard.ids[at])))
            size += len(right[-1])
            at += 1
        rest = b"".join(right)[hit.skip :]
        return Context(_last_characters(text, before), rest[:n_bytes], _first_characters(rest[n_bytes:], after))

    def decoded(self, id_: int) -> bytes:
        """What an id adds to a decoded document."""
        tables = self.tables
        text = tables.text_of(id_)
        if text or not tables.sizes[id_]:
            return text
        return self.tokenizer.decode_bytes([id_])

    def documents(self, query: Text, *, max_work: int | None = None) -> DocumentHits:
        """The documents that a text occurs in, and how often. Looks at all occurrences."""
        found = self.find_all(query, max_work=max_work)
        parts = []
        for number in range(len(self.shards)):
            counts: dict[str, Any] = {"documents": np.empty(0, np.int64), "counts": np.empty(0, np.int64)}
            for tokens, _ in found.chunks(number):
                documents, n = np.unique(self._documents_at(number, tokens), return_counts=True)
                merged, inverse = np.unique(np.concatenate((counts["documents"], documents)), return_inverse=True)
                sums = np.zeros(len(merged), np.int64)
                np.add.at(sums, inverse, np.concatenate((counts["counts"], n)))
                counts = {"documents": merged, "counts": sums}
            parts.append((counts["documents"] + self.first_document(number), counts["counts"]))
        parts.sort(key=lambda part: int(part[0][0]) if len(part[0]) else 0)
        empty = [np.empty(0, np.int64)]
        documents = np.concatenate([part[0] for part in parts] + empty)
        return DocumentHits(documents, np.concatenate([part[1] for part in parts] + empty), found.approx)

    def by_source(self, query: Text, *, max_work: int | None = None) -> list[SourceCount]:
        """How often a text occurs in each input that the token files were made from, inputs without it left out; in
        their order."""
        found = self.documents(query, max_work=max_work)
        ret = []
        for file, array in enumerate(self.arrays):
            first = int(self._file_bounds[file])
            sizes = [len(array)] if array.manifest is None else [record.documents for record in array.manifest.inputs]
            paths = [None] if array.manifest is None else [record.path for record in array.manifest.inputs]
            bounds = np.cumsum([first, *sizes])
            at = np.searchsorted(found.documents, bounds)
            for path, (begin, end) in zip(paths, pairwise(at.tolist()), strict=True):
                if begin < end:
                    hits = int(found.counts[begin:end].sum())
                    ret.append(SourceCount(file, path, hits, end - begin, found.approx))
        return ret


def _c_shard(shard: Shard, eod: int | None, folder: Path) -> _ffi_search.Shard:
    try:
        return _ffi_search.Shard(
            ids=shard.ids, sa=shard.sa, first=shard.first, top=shard.top, left=shard.left, rank=shard.ranks,
            ends=shard.ends, begin=shard.begin, eod=eod,
        )  # fmt: skip
    except ValueError as error:
        raise OutputError(f"{folder}: shard {shard.number}: {error}") from None


def page_of(found: Found, limit: int, offset: int, order: str, seed: int) -> Places:
    """Where occurrences number offset to offset + limit - 1 are, in one of ORDERS."""
    numbers = np.arange(offset, max(offset, min(offset + limit, found.total)), dtype=np.int64)
    if order == "text":
        return found.first_in_text(offset, len(numbers))
    return found.places(shuffled(numbers, found.total, seed) if order == "random" and len(numbers) else numbers)


def _first_characters(text: bytes, n: int) -> bytes:
    """The first n characters; a byte that is part of none counts as one."""
    at = 0
    for _ in range(n):
        if at >= len(text):
            break
        at = _character_end(text, at)
    return text[:at]


def _last_characters(text: bytes, n: int) -> bytes:
    at = len(text)
    for _ in range(n):
        if at <= 0:
            return text
        begin = at - 1
        while begin > 0 and at - begin < 4 and text[begin] & 0xC0 == 0x80:
            begin -= 1
        at = begin if _character_end(text, begin) == at else at - 1
    return text[at:]


def _character_end(text: bytes, at: int) -> int:
    """Where the character that begins at byte `at` ends; one byte on if none begins there."""
    lead = text[at]
    n = 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    rest = text[at + 1 : at + n]
    return at + n if len(rest) == n - 1 and all(byte & 0xC0 == 0x80 for byte in rest) else at + 1
