"""TokenSearch, the part of Index that answers queries about sequences of tokens: their counts and neighbours,
probabilities, n-grams and samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pyunitok._c import search as c_search
from pyunitok._c.search import Tokens
from pyunitok.errors import IdError, LimitError
from pyunitok.index.hits import Count, Hits, Int64s, Occurrences, Places, in_text_order
from pyunitok.index.search import MAX_SCANNED, Order, Text, TextSearch
from pyunitok.index.shard import n_ids
from pyunitok.model.ids import as_ids
from pyunitok.packed import Packed, as_bytes

Query = Text | Sequence[int] | Tokens
Parts = tuple[Int64s, Int64s, Int64s]  # parts of tokens: the id, and the part's first byte and end in its text

MAX_CONTEXT = 256  # the maximum tokens in the context of an ∞-gram
MAX_DRAWS = 64  # attempts to draw an occurrence that is followed by a token
SUFFIXES_PER_STEP = 1 << 22  # suffixes that ngrams reads between checks for Ctrl-C
NGRAM_CAPACITY = 1 << 16


@dataclass
class Distribution:
    """The tokens or texts that follow or precede a query, most frequent first.

    texts   list[bytes]; b"" stands for the end or start of a document
    ids     uint16[n] or uint32[n], as in the index, if the query was tokens; None if it was text
    counts  int64[n]
    total   the sum of all counts, including those omitted by a limit
    approx  True if the counts are scaled from a sample, or the search was cut short
    """

    texts: list[bytes]
    ids: Tokens | None
    counts: Int64s
    total: int
    approx: bool = False

    def __len__(self) -> int:
        return len(self.texts)

    def first(self, limit: int | None) -> Distribution:
        """The `limit` most frequent entries."""
        ids = None if self.ids is None else self.ids[:limit]
        return replace(self, texts=self.texts[:limit], ids=ids, counts=self.counts[:limit])


@dataclass(frozen=True)
class Probability:
    """The probability p = count / total of a token after the last `context` tokens of a prompt.

    count  how often the token follows these tokens
    total  how often any token follows them; if 0, p is nan
    """

    p: float
    count: int
    total: int
    context: int


@dataclass
class Ngrams:
    """Sequences of n tokens, most frequent first: ids[k, n], uint16 or uint32 as in the index, and int64[k] counts."""

    ids: Tokens
    counts: Int64s

    def __len__(self) -> int:
        return len(self.counts)


class TokenSearch(TextSearch):
    """The part of Index that answers queries about sequences of tokens.

    Queries are sequences of ids, or text, which the model encodes first; only next, previous and count_all_of search
    for the text itself. Sequences can contain the eod of the token files. If there is no eod, sequences continue into
    the next document."""

    def ids(self, query: Query) -> Tokens:
        """The tokens of a query, of the dtype of the index. Raises IdError for ids that no index can contain."""
        if isinstance(query, str | bytes):
            return self.tokenizer.encode(as_bytes(query)).astype(self.dtype)
        ids = np.ascontiguousarray(as_ids(query, self.dtype), self.dtype)
        if len(ids) and int(ids.max()) >= n_ids(self.dtype):
            raise IdError(f"id {ids.max()} at position {ids.argmax()} is not within 0..{n_ids(self.dtype) - 1}")
        return ids

    # ------------------------------------------------------------------------------------------ counting, finding ---

    def count_tokens(self, query: Query) -> int:
        """How often a sequence of tokens occurs; n_tokens for the empty sequence. Takes a few µs per shard."""
        ids = self.ids(query)
        return sum(hi - lo for lo, hi in (shard.tokens_of(ids) for shard in self.c))

    def count_tokens_batch(self, queries: Iterable[Query] | Packed) -> Int64s:
        """int64[n]: how often each sequence occurs; takes 2 µs each. `queries` is an iterable, or a Packed of the
        index's dtype."""
        packed = self._packed(queries)
        return self._count_windows(packed.data, packed.offsets[:-1].copy(), packed.offsets[1:].copy())

    def _packed(self, queries: Iterable[Query] | Packed) -> Packed:
        if isinstance(queries, Packed):
            if queries.data.dtype != self.dtype:
                raise TypeError(f"expected a Packed of {self.dtype}, not of {queries.data.dtype}")
            return queries
        items = [self.ids(query) for query in queries]
        offsets = np.cumsum([0, *map(len, items)], dtype=np.int64)
        return Packed(np.concatenate([*items, np.empty(0, self.dtype)]), offsets)

    def _count_windows(self, ids: Tokens, begins: Int64s, ends: Int64s) -> Int64s:
        """int64[n]: how often ids[begins[k]:ends[k]] occurs."""
        counts = np.zeros(len(begins), np.int64)
        for shard in self.c:
            lo, hi = shard.tokens(ids, begins, ends)
            counts += hi - lo
        return counts

    def find_tokens(
        self, query: Query, limit: int = 10, offset: int = 0, order: Order = "rank", seed: int = 0
    ) -> Hits:
        """Like find, but for a sequence of tokens."""
        self.check_page(limit, offset, order)
        ids = self.ids(query)
        places, total, _ = self._tokens_page(ids, limit, offset, order, seed)
        return self.hits_at(places, int(self.tables.sizes[ids].sum()), total)

    def _tokens_page(self, ids: Tokens, limit: int, offset: int, order: Order, seed: int) -> tuple[Places, int, bool]:
        found = self._found(ids)
        n_bytes = int(self.tables.sizes[ids].sum())
        return self._page_of(found, n_bytes, limit, offset, order, seed), found.total, False

    def _found(self, ids: Tokens) -> Occurrences:
        runs = [np.array([(*shard.tokens_of(ids), 0, 0)], c_search.RUN) for shard in self.c]
        return Occurrences(runs, self.shards)

    def count_all_of(
        self, all_of: Sequence[Sequence[Query]], within: int | None = None, *, max_work: int | None = None
    ) -> Count:
        """Count those occurrences of the rarest clause for which every other clause has a match in the same document,
        at most `within` tokens before or after.

        all_of    clauses of alternative terms: [["cat", "dog"], ["house"]] means (cat or dog) and house. A term is
                  text, which is also found inside tokens, or a sequence of ids
        max_work  the budget of each term that is text

        Reads all occurrences of every term, which take 8 bytes of memory each. infini-gram's count_cnf returns the same
        count for two clauses in a single document, but can miss occurrences if there are several documents: it rejects
        an occurrence if the nearest matches on both sides are within range, but one is in another document.
        """
        if not all_of or not all(all_of):
            raise LimitError("all_of needs at least one clause, and every clause at least one term")
        approx, clauses = False, []
        for clause in all_of:
            terms = [
                self.find_all(t, max_work=max_work) if isinstance(t, str | bytes) else self._found(self.ids(t))
                for t in clause
            ]
            approx |= any(term.approx for term in terms)
            clauses.append(terms)
        clauses.sort(key=lambda terms: sum(term.total for term in terms))
        return Count(sum(self._together(number, clauses, within) for number in range(len(self.shards))), approx)

    def _together(self, number: int, clauses: list[list[Occurrences]], within: int | None) -> int:
        """The result of count_all_of for one shard."""
        places = []
        for terms in clauses:
            parts = [tokens for term in terms for tokens, _ in term.chunks(number)]
            places.append(np.sort(np.concatenate([*parts, np.empty(0, np.int64)])))
        rare, reach = places[0], np.iinfo(np.int64).max if within is None else within
        documents = self.documents_at(number, rare)
        good = np.ones(len(rare), np.bool_)
        for others in places[1:]:
            if not len(others):
                return 0
            at = np.searchsorted(others, rare)
            near = np.zeros(len(rare), np.bool_)
            for side in (np.minimum(at, len(others) - 1), np.maximum(at - 1, 0)):
                near |= (np.abs(others[side] - rare) <= reach) & (self.documents_at(number, others[side]) == documents)
            good &= near
        return int(np.count_nonzero(good))

    # -------------------------------------------------------------------------------------------------- neighbours ---

    def next(self, query: Query, limit: int | None = None) -> Distribution:
        """The distribution of the text that follows a query. For ids, this is the exact distribution of the next token,
        in time linear in the number of distinct next tokens. For text, it is the distribution of the rest of the token
        in which an occurrence ends, or of the next token if it ends at a token boundary; if there are more than a
        million occurrences, it is estimated from occurrences at equal distances in index order."""
        if isinstance(query, str | bytes):
            return self._around(as_bytes(query), self._after).first(limit)
        ids = self.ids(query)
        counts = np.zeros(n_ids(self.dtype), np.int64)
        for shard in self.c:
            tokens, n = shard.next(*shard.tokens_of(ids), len(ids))
            counts[tokens] += n
        return self._distribution(counts).first(limit)

    def previous(self, query: Query, limit: int | None = None) -> Distribution:
        """Like next, but for the text before the query. For ids, the time is linear in the number of occurrences; the
        column `left` of the index makes this faster."""
        if isinstance(query, str | bytes):
            return self._around(as_bytes(query), self._before).first(limit)
        ids = self.ids(query)
        counts = np.zeros(n_ids(self.dtype), np.int64)
        for shard in self.c:
            shard.previous(*shard.tokens_of(ids), counts)
        return self._distribution(counts).first(limit)

    def _distribution(self, counts: Int64s) -> Distribution:
        found = np.flatnonzero(counts)
        ids: Tokens = found[np.argsort(-counts[found], kind="stable")].astype(self.dtype)
        texts = [self.decoded(id_) for id_ in ids.tolist()]
        return Distribution(texts, ids, counts[ids], int(counts.sum()))

    def _around(self, text: bytes, side: Callable[[int, Int64s, Int64s, int], Parts]) -> Distribution:
        found = self.find_all(text)
        n = min(found.total, self.sample_size(found.total, MAX_SCANNED) or MAX_SCANNED)
        sums: dict[bytes, int] = {}
        for number, tokens, skips in found.sampled(n):
            for (id_, begin, end), count in _counted(*side(number, *in_text_order(tokens, skips), len(text))):
                item = self.decoded(id_)[begin : end or None] if id_ >= 0 else b""
                sums[item] = sums.get(item, 0) + count
        items = sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))
        scale = found.total / n if n else 1
        counts = np.array([round(count * scale) for _, count in items], np.int64)
        return Distribution([item for item, _ in items], None, counts, found.total, found.approx or n < found.total)

    def _after(self, number: int, tokens: Int64s, skips: Int64s, n_bytes: int) -> Parts:
        """The bytes after each hit, as (ids, begins, ends). An id of -1 stands for the end of the document,
        and an end of 0 for the end of the id's text."""
        shard, tables = self.shards[number], self.tables
        last, used = self.c[number].ends_of(tables.c, tokens, skips, n_bytes)
        ends = self._bounds_at(number, tokens)[2] - (self.eod is not None)
        is_done = used >= tables.lengths[shard.ids[shard.checked(last)]]
        at = last + is_done
        ids = shard.ids[np.clip(at, 0, len(shard) - 1)].astype(np.int64)
        ids[at >= ends] = -1
        return ids, np.where(is_done, 0, used), np.zeros_like(ids)

    def _before(self, number: int, tokens: Int64s, skips: Int64s, n_bytes: int) -> Parts:
        """Like _after, but for the bytes before the hit."""
        shard = self.shards[number]
        firsts = self._bounds_at(number, tokens)[1]
        at = tokens - (skips == 0)
        ids = shard.ids[np.maximum(at, 0)].astype(np.int64)
        begins = ((at == firsts) & (self.tables.drops_space[ids] == 1)).astype(np.int64)
        ids[(at < firsts) | ((skips > 0) & (begins == skips))] = -1
        return ids, begins, skips

    # ----------------------------------------------------------------------------------------------- probabilities ---

    def prob(self, prompt: Query, token: int) -> Probability:
        """The probability of `token` after the prompt, and how often it follows the prompt."""
        ids = self.ids(prompt)
        return self._probability(ids, token, len(ids))

    def infgram_prob(self, prompt: Query, token: int) -> Probability:
        """Like prob, but after the longest suffix of the prompt that occurs with a token after it (an ∞-gram)."""
        ids = self.ids(prompt)
        return self._probability(ids, token, self.longest_context(ids))

    def infgram_next(self, prompt: Query, limit: int | None = None) -> tuple[int, Distribution]:
        """Returns (context length in tokens, distribution): like next, but after the longest suffix of the prompt that
        occurs with a token after it."""
        ids = self.ids(prompt)
        n = self.longest_context(ids)
        return n, self.next(ids[len(ids) - n :], limit)

    def _probability(self, ids: Tokens, token: int, context: int) -> Probability:
        suffix = ids[len(ids) - context :]
        total = self._followed(suffix)
        count = self.count_tokens(np.append(suffix, self.ids([token])))
        return Probability(count / total if total else float("nan"), count, total, context)

    def _followed(self, ids: Tokens) -> int:
        """How often a sequence occurs with a token after it, that is, not at the end of a shard."""
        return self.count_tokens(ids) - self._at_end(ids)

    def _at_end(self, ids: Tokens) -> int:
        """How many shards end with a sequence."""
        return sum(len(s.ids) >= len(ids) > 0 and np.array_equal(s.ids[-len(ids) :], ids) for s in self.shards)

    def longest_context(self, prompt: Query) -> int:
        """The length of the longest suffix of the prompt, at most 256 tokens, that occurs with a token after it."""
        ids = self.ids(prompt)
        n = min(len(ids), MAX_CONTEXT)
        begins = np.arange(len(ids) - 1, len(ids) - 1 - n, -1, dtype=np.int64)
        counts = self._count_windows(ids, begins, np.full(n, len(ids), np.int64))
        best = int(np.count_nonzero(counts))  # counts do not increase with the length of the suffix
        while best and not self._followed(ids[len(ids) - best :]):
            best -= 1
        return best

    def sample(
        self, prompt: Query, n: int = 20, *, context: int = MAX_CONTEXT, seed: int | Sequence[int] = 0
    ) -> Tokens:
        """A random continuation of the prompt by at most n tokens. Each token is drawn from the distribution after the
        longest suffix of the preceding tokens, at most `context` tokens, that occurs. Stops after an eod."""
        rng = np.random.default_rng(seed)
        ids = self.ids(prompt)
        begin = len(ids)
        for _ in range(n):
            tail = ids[max(0, len(ids) - context) :]
            tail = tail[len(tail) - self.longest_context(tail) :]
            found = self._found(tail)
            if not found.total:
                break
            ids = np.append(ids, self._drawn_next(found, len(tail), rng))
            if ids[-1] == self.eod:
                break
        return ids[begin:]

    def _drawn_next(self, found: Occurrences, n_tokens: int, rng: np.random.Generator) -> np.unsignedinteger[Any]:
        """The token after a random hit of n_tokens tokens that is not at the end of its shard. In an intact shard, at
        most one hit is at the end."""
        for _ in range(MAX_DRAWS):
            place = found.places(rng.integers(0, found.total, 1))
            shard, at = self.shards[int(place.shards[0])], int(place.tokens[0]) + n_tokens
            if at < len(shard):
                ret: np.unsignedinteger[Any] = shard.ids[at]
                return ret
        raise shard.damaged()

    # ----------------------------------------------------------------------------------------------------- n-grams ---

    def ngrams(
        self, n: int, min_count: int = 2, limit: int | None = None, *,
        on_progress: Callable[[float], None] | None = None,
    ) -> Ngrams:  # fmt: skip
        """All sequences of n tokens within documents that occur at least min_count times. Scans the suffix
        arrays once, at tens of millions of suffixes per second, and holds the result in memory."""
        if n < 1 or min_count < 1:
            raise LimitError(f"n and min_count must be at least 1, not {n} and {min_count}")
        least = -(-min_count // max(1, len(self.c)))  # the average per shard; at least one shard reaches it
        parts = [np.empty((0, n), self.dtype)]
        for number, shard in enumerate(shard.restored() for shard in self.shards):
            at, c = 0, shard.searcher(self.eod)
            while at < len(shard):
                at, positions, _ = c.ngrams(n, least, at, SUFFIXES_PER_STEP, NGRAM_CAPACITY)
                grams = shard.ids[shard.checked(positions.astype(np.int64) + n - 1)[:, None] + np.arange(1 - n, 1)]
                parts.append(grams if self.eod is None else grams[(grams != self.eod).all(axis=1)])
                if on_progress:
                    on_progress((number + at / len(shard)) / len(self.shards))
        grams = np.concatenate(parts)
        if len(self.shards) > 1:
            grams = np.unique(grams, axis=0)
        begins = np.arange(len(grams), dtype=np.int64) * n
        counts = self._count_windows(np.ascontiguousarray(grams).reshape(-1), begins, begins + n)
        order = np.argsort(-counts, kind="stable")
        order = order[counts[order] >= min_count][:limit]
        return Ngrams(grams[order], counts[order])


def _counted(ids: Int64s, begins: Int64s, ends: Int64s) -> list[tuple[tuple[int, int, int], int]]:
    """The distinct rows of these columns with their counts."""
    bits = max(int(column.max(initial=0)) for column in (begins, ends)).bit_length()  # <= 22, as ids take up to 19
    packed = ((ids + 1) << 2 * bits) | (begins << bits) | ends
    values, counts = np.unique(packed, return_counts=True)
    mask = (1 << bits) - 1
    rows = zip((values >> 2 * bits).tolist(), (values >> bits & mask).tolist(), (values & mask).tolist(), strict=True)
    return [((a - 1, b, c), n) for (a, b, c), n in zip(rows, counts.tolist(), strict=True)]

