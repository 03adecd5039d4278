"""TextSearch, the part of Index that answers queries about text. See also sequences.py and overlap.py."""

from __future__ import annotations

import operator
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from pyunitok._c import search as c_search
from pyunitok.errors import LimitError, OutputError
from pyunitok.index.context import Context, Contexts
from pyunitok.index.hits import MAX_SORTED, ORDERS, SIDE_ORDERS, Count, Hit, Hits, Int64s, Occurrences, Places, shuffled
from pyunitok.index.inputs import IndexInputs
from pyunitok.index.opening import OpenIndex
from pyunitok.index.pieces import PieceTables
from pyunitok.index.shard import Searcher, Shard, n_ids
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.packed import Packed, as_bytes
from pyunitok.tokens.array import TokenArray

T = TypeVar("T")
Text = str | bytes
Order = Literal["rank", "text", "random", "R1", "L1"]

MAX_WORK = 2_000_000_000  # the default budget of one query in one shard, in units of about a nanosecond
MAX_RUNS = 1 << 60
PARALLEL_TOKENS = 1 << 30  # larger compact indexes are searched on several threads
MAX_THREADS = 32  # more than the cores: the threads overlap their waits for the disk
SORT_CHARS = 40  # the number of characters next to a hit that "R1" and "L1" compare
MAX_SCANNED = 1_000_000  # the sample size of next, previous and by_source
MAX_LOCATED = 100_000  # the sample size of these and documents() in a compact index; takes about a second


@dataclass(frozen=True)
class SourceCount:
    """How often a query occurs in one input of a token file.

    file   the number of the token file in the index
    path   the path of the input; None if the token file has no manifest
    """

    file: int
    path: str | None
    hits: int
    documents: int
    approx: bool


class SourceCounts(list[SourceCount]):
    """How often a query occurs in each input. approx equals that of every SourceCount, if there are any."""

    def __init__(self, counts: Iterable[SourceCount], approx: bool) -> None:
        super().__init__(counts)
        self.approx = approx


def sources_of(inputs: IndexInputs, numbers: Int64s, hits: Int64s, documents: Int64s, approx: bool) -> SourceCounts:
    """The counts of the inputs with these numbers."""
    rows = zip(numbers.tolist(), hits.tolist(), documents.tolist(), strict=True)
    return SourceCounts((SourceCount(inputs.files[k], inputs.paths[k], n, d, approx) for k, n, d in rows), approx)


@dataclass(frozen=True)
class DocumentCount:
    """How often a query occurs in a document of the index."""

    document: int
    count: int


@dataclass
class DocumentHits:
    """The documents that contain a query: ascending numbers and counts, int64[n] each. Also a sequence of
    DocumentCount, which pandas.DataFrame() accepts.

    approx       True if the search was cut short, or only a sample of the occurrences was read
    n_sampled    the size of the sample, to which `documents` is limited and from which `counts` are estimated; None if
                 all occurrences were read
    n_documents  the number of documents, which is an estimate if there is a sample
    """

    documents: Int64s
    counts: Int64s
    approx: bool
    n_sampled: int | None = None
    n_documents: int = -1

    def __post_init__(self) -> None:
        if self.n_documents < 0:
            self.n_documents = len(self.documents)

    def most_frequent(self) -> DocumentHits:
        """The same documents, those with most occurrences first."""
        order = np.argsort(-self.counts, kind="stable")
        return replace(self, documents=self.documents[order], counts=self.counts[order])

    def __len__(self) -> int:
        return len(self.documents)

    def __getitem__(self, i: int) -> DocumentCount:
        i = operator.index(i)
        return DocumentCount(int(self.documents[i]), int(self.counts[i]))

    def __iter__(self) -> Iterator[DocumentCount]:
        return map(DocumentCount, self.documents.tolist(), self.counts.tolist())


class TextSearch:
    """The part of Index that answers queries about text.

    A query is bytes, or str, which is encoded as UTF-8. All occurrences within documents count, including those that
    overlap each other and those that begin or end inside a token. For models that normalize (SentencePiece), results
    refer to the normalized text, as decoding returns it; see `normalizes`. Unknown characters do not match any query.

    If `approx` is set, max_work cut the search short, and the result is a lower bound. max_work is the budget of one
    query in one shard, in units of about a nanosecond. All methods are thread-safe.
    """

    shards: list[Shard]

    def __init__(self, opened: OpenIndex, *, max_work: int = MAX_WORK) -> None:
        """Internal: use open_index()."""
        self.folder = opened.folder
        self.manifest = opened.manifest
        self.dtype = np.dtype(opened.manifest.dtype)  # the type of the ids
        self.arrays: list[TokenArray] = opened.arrays
        self.shards = opened.shards
        self.max_work = max_work
        self._absolute, self._given = opened.folder.absolute(), opened.model
        self.c = [_c_shard(shard, opened.manifest.eod, opened.folder) for shard in self.shards]
        self._file_bounds = np.cumsum([0, *map(len, self.arrays)])  # documents before each token file
        self.inputs = IndexInputs(self.arrays)
        self._tables: PieceTables | None = None
        self._lock = threading.Lock()
        is_parallel = opened.manifest.compact is not None and self.n_tokens > PARALLEL_TOKENS
        self._threads = min(len(self.c), MAX_THREADS) if is_parallel else 1
        self._pool: tuple[int, ThreadPoolExecutor] | None = None  # (process id, its pool)

    # ------------------------------------------------------------------------------------ properties and documents ---

    @property
    def n_tokens(self) -> int:
        """The number of tokens, including the eod of each document."""
        return sum(len(shard) for shard in self.shards)

    @property
    def n_documents(self) -> int:
        """The number of documents. They are numbered consecutively across all token files."""
        return int(self._file_bounds[-1])

    @property
    def tokenizer(self) -> Tokenizer:
        """The model of the token files."""
        return self.arrays[0].tokenizer

    @property
    def normalizes(self) -> bool:
        """Whether results refer to normalized text, which can differ from the original text."""
        return not self.tokenizer.lossless

    @property
    def eod(self) -> int | None:
        """The id at the end of each document."""
        return self.manifest.eod

    @property
    def only_counts(self) -> bool:
        """Whether the index was built with --count-only. Queries that need the places of hits raise LimitError."""
        return self.manifest.compact is not None and self.manifest.compact.only_counts

    @property
    def tables(self) -> PieceTables:
        """The text of each id, built on first use in a few tenths of a second."""
        if self._tables is None:
            with self._lock:
                if self._tables is None:
                    no_ranks = np.arange(n_ids(self.dtype), dtype=np.uint32)  # for an index without tokens
                    ranks = self.shards[0].ranks if self.shards else no_ranks
                    tables = PieceTables(self.tokenizer, ranks, self.eod if self._only_separates() else None)
                    for shard in self.c:
                        shard.attach_inside(tables.c)
                    self._tables = tables
        return self._tables

    def _only_separates(self) -> bool:
        """Whether the eod occurs only at the ends of documents. Some models have a piece for the eod, so encoding a
        text can produce it."""
        return self.eod is not None and all(shard.frequency(self.eod) == len(shard.ends) for shard in self.shards)

    def locate(self, document: int) -> tuple[TokenArray, int]:
        """The token file that contains a document of the index, and the document's number there."""
        if not 0 <= document < self.n_documents:
            raise IndexError(f"document {document} is out of range: {self.folder} has {self.n_documents}")
        file = int(np.searchsorted(self._file_bounds, document, "right")) - 1
        return self.arrays[file], document - int(self._file_bounds[file])

    def text_bytes(self, document: int) -> bytes:
        """The decoded document."""
        array, number = self.locate(document)
        return array.text_bytes(number)

    def source(self, document: int) -> str | None:
        """The path of the input that a document came from; None if the token file has no manifest."""
        self.locate(document)  # IndexError
        return self.inputs.paths[int(self.inputs.of(np.array([document]))[0])]

    def metadata(self, document: int) -> dict[str, Any] | None:
        """The document's metadata, as in tokens.metadata.Metadata; None unless `tokenize --metadata` stored it."""
        array, number = self.locate(document)
        try:
            with self._lock:  # Metadata is not thread-safe
                return array.metadata(number)
        except OutputError:
            return None

    # ------------------------------------------------------------------------------------------------- counting ---

    def count(self, query: Text, *, max_work: int | None = None) -> Count:
        """How often a text occurs; 0 for the empty text. Typically takes 10 to 100 µs per shard in memory."""
        text, tables, work = as_bytes(query), self.tables.c, self.max_work if max_work is None else max_work
        if len(self.c) == 1:
            return Count(*self.c[0].count_one(tables, text, work))
        counts = list(self._of_shards(lambda shard: shard.count_one(tables, text, work)))
        return Count(sum(count for count, _ in counts), any(approx for _, approx in counts))

    def count_batch(
        self, queries: Iterable[Text] | Packed, *, max_work: int | None = None
    ) -> tuple[Int64s, np.ndarray[Any, np.dtype[np.bool_]]]:
        """Returns the counts of many texts, int64[n], and whether each count is a lower bound, bool[n]."""
        packed = queries if isinstance(queries, Packed) else Packed.from_documents(map(as_bytes, queries))
        work, tables = self.max_work if max_work is None else max_work, self.tables.c
        counts, approx = np.zeros(len(packed), np.int64), np.zeros(len(packed), np.uint8)
        for more, some in self._of_shards(lambda c: c.count_text(tables, packed.data, packed.offsets, work)):
            counts += more
            approx |= some
        return counts, approx.astype(np.bool_)

    def _of_shards(self, function: Callable[[Searcher], T]) -> Iterator[T]:
        """The results of function(shard) for each shard."""
        if self._threads == 1:
            return map(function, self.c)
        if self._pool is None or self._pool[0] != os.getpid():  # threads do not survive a fork
            self._pool = os.getpid(), ThreadPoolExecutor(self._threads, "search")
        return self._pool[1].map(function, self.c)

    # -------------------------------------------------------------------------------------------------- finding ---

    def find(
        self, query: Text, limit: int = 10, offset: int = 0, order: Order = "rank", seed: int = 0, *,
        max_work: int | None = None,
    ) -> Hits:  # fmt: skip
        """Occurrences offset to offset + limit - 1 of a text, in the given order.

        order  "rank"      the order of the index, the fastest; hits on a page are often similar, because occurrences
                           that are adjacent in the index are followed by similar text
               "text"      by document and byte; reads all occurrences
               "random"    shuffled by `seed`; every occurrence appears once over all pages
               "R1", "L1"  by the words after or before the hit, nearest word first; only the first 10,000 occurrences
                           in "rank" order are sorted and returned
        """
        self.check_page(limit, offset, order)
        text = as_bytes(query)
        places, total, approx = self._page(text, limit, offset, order, seed, max_work)
        return self.hits_at(places, len(text), total, approx)

    def _page(
        self, text: bytes, limit: int, offset: int, order: Order, seed: int, max_work: int | None
    ) -> tuple[Places, int, bool]:
        """Returns (places, total, approx) of a page of find()."""
        if order == "rank" or order in SIDE_ORDERS:
            count = self.count(text, max_work=max_work)
            most = MAX_SORTED if order in SIDE_ORDERS else offset + limit
            found = self.find_all(text, max_hits=most, max_work=max_work)
            total, approx = max(int(count), found.total), count.approx or found.approx
        else:
            found = self.find_all(text, max_work=max_work)
            total, approx = found.total, found.approx
        return self._page_of(found, len(text), limit, offset, order, seed), total, approx

    def _page_of(self, found: Occurrences, n_bytes: int, limit: int, offset: int, order: Order, seed: int) -> Places:
        """The places of occurrences offset to offset + limit - 1 in the given order."""
        numbers = np.arange(offset, max(offset, min(offset + limit, found.total)), dtype=np.int64)
        if order == "text":
            return found.first_in_text(offset, len(numbers))
        if order in SIDE_ORDERS:
            places = found.places(np.arange(min(found.total, MAX_SORTED), dtype=np.int64))
            contexts = self.context_batch(self.hits_at(places, n_bytes, len(places.tokens)), SORT_CHARS, SORT_CHARS)
            words = [context.words(order) for context in contexts]
            chosen = sorted(range(len(words)), key=words.__getitem__)[offset : offset + limit]
            return Places(places.shards[chosen], places.tokens[chosen], places.skips[chosen])
        return found.places(shuffled(numbers, found.total, seed) if order == "random" and len(numbers) else numbers)

    def find_all(self, query: Text, *, max_hits: int = MAX_RUNS, max_work: int | None = None) -> Occurrences:
        """All occurrences, or at least max_hits of them, as runs of the suffix arrays. A run takes 24 bytes, and there
        is at most one per 25 units of max_work."""
        text, tables, work = as_bytes(query), self.tables.c, self.max_work if max_work is None else max_work
        runs, approx, n = [], False, 0
        for shard in self.c:
            part, some = shard.find_text(tables, text, max(0, max_hits - n), work)
            runs.append(part)
            approx |= some
            n += int((part["hi"] - part["lo"]).sum())
        return Occurrences(runs, self.shards, approx)

    def hits_at(self, places: Places, n_bytes: int | Int64s, total: int, approx: bool = False) -> Hits:
        """The hits at these places, with their documents and byte ranges. Each hit is n_bytes (or n_bytes[k]) long.
        Takes time linear in the number of tokens that precede the hits in their documents."""
        documents, begins = np.empty(len(places.tokens), np.int64), np.empty(len(places.tokens), np.int64)
        for number in np.unique(places.shards).tolist():
            mask = places.shards == number
            documents[mask], begins[mask] = self._bytes_at(number, places.tokens[mask], places.skips[mask])
        ends = begins + n_bytes
        begins = np.maximum(begins, 0)  # -1 at the start of a document if decoding drops its first space
        return Hits(places.shards, places.tokens, places.skips, documents, begins, ends, total, approx)

    def documents_at(self, number: int, tokens: Int64s) -> Int64s:
        """int64[n]: the document of each token of a shard, numbered within the shard."""
        shard = self.shards[number]
        positions = shard.checked(tokens).astype(np.uint64) + np.uint64(shard.begin)
        numbers: Int64s = np.searchsorted(shard.ends, positions, "right").astype(np.int64)
        if len(numbers) and int(numbers.max()) >= len(shard.ends):
            raise shard.damaged()
        return numbers

    def _bounds_at(self, number: int, tokens: Int64s) -> tuple[Int64s, Int64s, Int64s]:
        """int64[n] each: the document of each token of a shard, and the tokens of the shard at which that document
        begins and ends, eod included."""
        shard, documents = self.shards[number], self.documents_at(number, tokens)
        ends = shard.ends[documents].astype(np.int64) - np.int64(shard.begin)
        begins = shard.ends[np.maximum(documents - 1, 0)].astype(np.int64) - np.int64(shard.begin)
        begins[documents == 0] = 0
        if not bool(((begins >= 0) & (begins <= tokens) & (tokens < ends) & (ends <= len(shard))).all()):
            raise shard.damaged()
        return documents, begins, ends

    def first_document(self, number: int) -> int:
        """The number in the index of the first document of a shard."""
        shard = self.shards[number]
        return int(self._file_bounds[shard.file]) + shard.first_document

    def _bytes_at(self, number: int, tokens: Int64s, skips: Int64s) -> tuple[Int64s, Int64s]:
        """int64[n] each: the document of each place in a shard, numbered in the index, and the byte offset in that
        document."""
        shard, tables = self.shards[number], self.tables
        documents, begins, _ = self._bounds_at(number, tokens)
        dropped = tables.drops_space[shard.ids[begins]]
        order = np.argsort(tokens, kind="stable")  # reads a long document once, not once per hit
        sorted_tokens, sorted_docs = tokens[order], documents[order]
        starts = begins[order].copy()
        same = np.flatnonzero(sorted_docs[1:] == sorted_docs[:-1]) + 1
        starts[same] = sorted_tokens[same - 1]
        steps = self.c[number].sizes(tables.sizes, starts, sorted_tokens)
        sums = np.cumsum(steps)
        is_first = np.ones(len(steps), np.bool_)
        is_first[same] = False
        base = np.maximum.accumulate(np.where(is_first, sums - steps, 0)) if len(steps) else sums
        sizes = np.empty(len(tokens), np.int64)
        sizes[order] = sums - base
        return documents + self.first_document(number), sizes + skips - dropped

    def check_page(self, limit: int, offset: int, order: str) -> None:
        """Raise LimitError unless these are valid arguments of find()."""
        if limit < 0 or offset < 0:
            raise LimitError(f"limit and offset must be at least 0, not {limit} and {offset}")
        if order not in ORDERS:
            raise LimitError(f"order must be one of {', '.join(ORDERS)}, not {order!r}")

    # ---------------------------------------------------------------------------------------------------- context ---

    def context(self, hit: Hit, before: int = 40, after: int = 40) -> Context:
        """The hit with up to `before` and `after` characters of its document on either side, in O(before + after)
        time."""
        row = np.array([[hit.shard], [hit.token], [hit.skip], [hit.document], [hit.begin], [hit.end]])
        hits = Hits(row[0], row[1], row[2], row[3], row[4], row[5], 1, False)
        return self.context_batch(hits, before, after)[0]

    def context_batch(self, hits: Hits, before: int = 40, after: int = 40) -> Contexts:
        """The contexts of many hits. Takes a few µs per hit."""
        if before < 0 or after < 0:
            raise LimitError(f"before and after must be at least 0, not {before} and {after}")
        tables, parts = self.tables, [np.empty(0, np.uint8)]
        bounds, n_bytes = np.empty((len(hits), 4), np.int64), 0
        for number in np.unique(hits.shards).tolist():
            mask, shard = hits.shards == number, self.shards[number]
            wanted = np.empty(int(np.count_nonzero(mask)), c_search.HIT)
            wanted["token"], wanted["skip"] = hits.tokens[mask], hits.skips[mask]
            wanted["n_bytes"] = hits.ends[mask] - hits.begins[mask]
            _, wanted["begin"], ends = self._bounds_at(number, hits.tokens[mask])
            wanted["end"] = ends - (self.eod is not None)
            wanted["dropped"] = tables.drops_space[shard.ids[wanted["begin"]]]
            found, edges = self.c[number].contexts(
                tables.decoded_data, tables.decoded_offsets, wanted, before, after
            )
            bounds[mask] = np.stack((edges[:-1:3], edges[1::3], edges[2::3], edges[3::3]), axis=1) + n_bytes
            parts.append(found)
            n_bytes += len(found)
        return Contexts(np.concatenate(parts), bounds)

    def decoded(self, id_: int) -> bytes:
        """The bytes that an id adds to a decoded document."""
        decoded = self.tables.decoded
        return decoded[id_] if id_ < len(decoded) else b""

    def documents(
        self, query: Text, *, max_work: int | None = None, max_hits: int | None = None
    ) -> DocumentHits:  # fmt: skip
        """The documents in which a text occurs, with counts. Reads all occurrences or, if there are more than
        max_hits, a random sample of that size. By default, max_hits is 100,000 in a compact index, otherwise
        unlimited."""
        found = self.find_all(query, max_work=max_work)
        n = self.sample_size(found.total, max_hits)
        if n is None:
            return self._documents_of(found)
        sample = self._documents_of(found, shuffled(np.arange(n), found.total, 0))
        counts = np.maximum(1, np.rint(sample.counts * (found.total / n))).astype(np.int64)
        return DocumentHits(sample.documents, counts, True, n, _estimated(sample.counts, n, found.total))

    def sample_size(self, n_hits: int, max_hits: int | None = None) -> int | None:
        """How many of n_hits occurrences by_source() and documents() read; None for all."""
        most = max_hits
        if self.manifest.compact is not None:
            most = MAX_LOCATED if max_hits is None else min(max_hits, MAX_LOCATED)
        return most if most is not None and n_hits > most else None

    def _documents_of(self, found: Occurrences, numbers: Int64s | None = None) -> DocumentHits:
        """The documents of all occurrences, or of those with these numbers."""
        sample = None if numbers is None else found.places(numbers)
        parts = []
        for number in range(len(self.shards)):
            documents, counts = np.empty((2, 0), np.int64)
            drawn = None if sample is None else sample.tokens[sample.shards == number]
            for tokens in (tokens for tokens, _ in found.chunks(number)) if drawn is None else [drawn]:
                more, n = np.unique(self.documents_at(number, np.sort(tokens)), return_counts=True)
                documents, inverse = np.unique(np.concatenate((documents, more)), return_inverse=True)
                sums = np.zeros(len(documents), np.int64)
                np.add.at(sums, inverse, np.concatenate((counts, n)))
                counts = sums
            parts.append(np.stack((documents + self.first_document(number), counts)))
        parts.sort(key=lambda part: int(part[0, 0]) if part.size else 0)
        documents, counts = np.concatenate([np.empty((2, 0), np.int64), *parts], axis=1)
        return DocumentHits(documents, counts, found.approx)

    def by_source(
        self, query: Text, *, max_work: int | None = None, max_hits: int | None = None
    ) -> SourceCounts:  # fmt: skip
        """How often a text occurs in each input of the token files, in input order, omitting inputs without the text.

        If there are more than max_hits occurrences, a sample of at most a million (in a compact index, 100,000) is
        counted. In this case, hits are estimates, documents counts only the documents in the sample, and approx is
        True.
        """
        return sources_of(self.inputs, *self._sources(query, max_work, max_hits))

    def _sources(
        self, query: Text, max_work: int | None, max_hits: int | None = None
    ) -> tuple[Int64s, Int64s, Int64s, bool]:
        """Returns, int64[n] each, the inputs, the occurrences in each, and the documents with occurrences in each; and
        approx."""
        runs = self.find_all(query, max_work=max_work)
        n_sampled = self.sample_size(runs.total, max_hits)
        is_sample = n_sampled is not None
        found = self._documents_of(runs, None if n_sampled is None else runs.spaced(min(n_sampled, MAX_SCANNED)))
        inputs, starts = np.unique(self.inputs.of(found.documents), return_index=True)
        hits = np.add.reduceat(found.counts, starts) if len(starts) else starts
        if is_sample:
            hits = np.rint(hits * (runs.total / max(1, hits.sum()))).astype(np.int64)
        return inputs, hits, np.diff(np.append(starts, len(found.documents))), found.approx or is_sample


def _estimated(counts: Int64s, n_sampled: int, n_hits: int) -> int:
    """An estimate of how many documents have occurrences. A random sample of n_sampled of the n_hits occurrences has
    counts[k] occurrences in document k.

    Adds an estimate of how many documents the sample missed, computed from the numbers of documents with one and with
    two occurrences in the sample: the lower bound of Chao and Lin (2012) for sampling without replacement.
    """
    once, twice = (int(np.count_nonzero(counts == k)) for k in (1, 2))
    share = n_sampled / n_hits
    if once == 0 or share >= 1:
        return len(counts)
    missed = once * once / (2 * twice * n_sampled / max(1, n_sampled - 1) + once * share / (1 - share))
    return len(counts) + round(missed)


def _c_shard(shard: Shard, eod: int | None, folder: Path) -> Searcher:
    try:
        return shard.searcher(eod)
    except ValueError as error:
        raise OutputError(f"{folder}: shard {shard.number}: {error}") from None
