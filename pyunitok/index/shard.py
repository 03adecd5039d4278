"""IndexShard: a suffix array over consecutive documents, and its small tables. open_shards() maps an index.

    ids     the n tokens of the shard's documents, as in the token file
    sa      sa[r] is the start of the r-th smallest suffix of `ids`
    first   first[k] suffixes begin with a token of rank < k; the suffixes sa[first[k]:first[k + 1]] begin with rank k
    top     top[j] describes suffix r = 4096 * j: its position and the ranks of its first 8 tokens (0 past the end)
    left    left[r] is the token before suffix r: ids[sa[r] - 1], or ids[n - 1] if sa[r] is 0
    ends    document ends in the token file: document first_document + d is
            ids[ends[d - 1] - begin : ends[d] - begin], and ids[: ends[0] - begin] for d = 0

Suffixes compare token by token, by the rank of each id; in order "id", the rank is the id itself. A prefix of another
suffix is smaller. Suffixes extend across document ends to the end of the shard.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pyunitok._c.compact import CompactSearch
from pyunitok._c.search import ID_COUNTS, TOP_TOKENS, SearchShard, Tokens
from pyunitok.errors import OutputError

U32 = np.ndarray[Any, np.dtype[np.uint32]]
U64 = np.ndarray[Any, np.dtype[np.uint64]]

Searcher = SearchShard | CompactSearch

TOP_STEP = 4096
CHUNK = 1 << 20  # tokens per NumPy operation, to bound temporary memory


@dataclass(kw_only=True)
class Shard:
    """The interface that queries use for both kinds of shard: IndexShard, and CompactShard in compact.py.

    ids             the tokens: an array, or an object that is read like one
    first           first[k] suffixes begin with a token of rank < k
    ends            document ends, see the top of this file
    rank            uint32[n_ids], the rank of each id; None if suffixes compare by id
    begin           the shard's first token in the token file
    first_document  the shard's first document in the token file
    number          the shard's number in its index
    file            the number of the token file in the index
    name            the path of the file with the suffixes, for messages
    """

    ids: Any
    first: Any
    ends: U64
    rank: U32 | None = None
    begin: int = 0
    first_document: int = 0
    number: int = 0
    file: int = 0
    name: str = "a shard in memory"

    def searcher(self, eod: int | None) -> Searcher:
        """The object that searches the shard with the C library. Raises ValueError if the shard is damaged."""
        raise NotImplementedError

    def restored(self) -> IndexShard:
        """The shard as a suffix array: itself, or a copy in memory."""
        raise NotImplementedError

    def _positions(self, ranks: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Like positions(), but without checking the result."""
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.ids)

    def frequency(self, id_: int) -> int:
        """How often an id occurs."""
        rank = int(self.ranks[id_])
        return int(self.first[rank + 1]) - int(self.first[rank])

    def positions(self, ranks: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        """int64[n]: where the suffixes of these ranks begin. Raises OutputError if a position is not in the shard."""
        return self.checked(self._positions(ranks))

    def checked(self, tokens: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Returns `tokens`. Raises OutputError if a token is not in the shard: searches must not trust the files."""
        if len(tokens) and not 0 <= int(tokens.min()) <= int(tokens.max()) < len(self.ids):
            raise self.damaged()
        return tokens

    def damaged(self) -> OutputError:
        return OutputError(f"{self.name} or its token file is damaged; run `pyunitok verify` for details")

    @cached_property
    def ranks(self) -> U32:
        """The rank of each id: `rank`, or the identity if it is None."""
        return np.arange(n_ids(self.ids.dtype), dtype=np.uint32) if self.rank is None else self.rank


@dataclass(kw_only=True)
class IndexShard(Shard):
    """A shard with a suffix array; the top of this file describes the arrays. Arrays are read-only; in an index on
    disk, they are memory maps."""

    ids: Tokens
    sa: U32
    first: U64
    top: np.ndarray[Any, Any]
    left: Tokens | None

    def searcher(self, eod: int | None) -> SearchShard:
        return SearchShard(
            ids=self.ids, sa=self.sa, first=self.first, top=self.top, left=self.left, rank=self.ranks, ends=self.ends,
            begin=self.begin, eod=eod,
        )  # fmt: skip

    def restored(self) -> IndexShard:
        return self

    def _positions(self, ranks: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        ret: np.ndarray[Any, np.dtype[np.int64]] = self.sa[ranks].astype(np.int64)
        return ret

    @classmethod
    def from_arrays(cls, ids: Any, sa: Any, *, rank: Any = None, ends: Any = None, left: bool = True) -> IndexShard:
        """Build a shard in memory with all its tables. `ends` are document ends in `ids`; by default, `ids` is a single
        document."""
        ids = np.asarray(ids)
        ids = np.ascontiguousarray(ids, np.uint32 if ids.dtype == np.uint32 else np.uint16)
        sa = np.ascontiguousarray(sa, np.uint32)
        rank = None if rank is None else np.ascontiguousarray(rank, np.uint32)
        ends = np.array([len(ids)] if ends is None else ends, np.uint64)
        column = left_of(ids, sa) if left else None
        return cls(
            ids=ids, sa=sa, first=first_of(ids, rank), top=top_of(ids, sa, rank), left=column, ends=ends, rank=rank
        )


def n_ids(dtype: np.dtype[Any]) -> int:
    """The number of ids in the tables of an index: 65,536 for uint16 and 262,144 for uint32."""
    return ID_COUNTS[dtype.itemsize]


def top_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """A record of the column `top` of an index with ids of this dtype."""
    return np.dtype([("position", "<u4"), ("ranks", f"<u{dtype.itemsize}", (TOP_TOKENS,))])


def first_of(ids: Tokens, rank: U32 | None) -> U64:
    """The column `first`, uint64[n_ids + 1] bucket starts."""
    counts = np.zeros(n_ids(ids.dtype), np.int64)
    for at in range(0, len(ids), CHUNK):
        part = ids[at : at + CHUNK]
        counts += np.bincount(part if rank is None else rank[part], minlength=len(counts))
    return np.concatenate(([0], np.cumsum(counts))).astype("<u8")


def top_of(ids: Tokens, sa: U32, rank: U32 | None) -> np.ndarray[Any, Any]:
    """The column `top`, a sample of suffixes."""
    ret = np.zeros(-(-len(sa) // TOP_STEP), top_dtype(ids.dtype))
    ret["position"] = sa[::TOP_STEP]
    for k in range(TOP_TOKENS if len(ids) else 0):
        at = ret["position"].astype(np.int64) + k
        tokens = ids[np.minimum(at, len(ids) - 1)]
        ret["ranks"][:, k] = np.where(at < len(ids), tokens if rank is None else rank[tokens], 0)
    return ret


def left_of(ids: Tokens, sa: U32) -> Tokens:
    """The column `left`, the token before each suffix."""
    ret = np.empty(len(sa), ids.dtype)
    for at in range(0, len(sa), CHUNK):
        ret[at : at + CHUNK] = ids[sa[at : at + CHUNK].astype(np.int64) - 1]  # index -1 is the last token
    return ret
