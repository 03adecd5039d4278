"""IndexShard: a suffix array over a run of documents with its small tables; open_shards() maps those of an index.

    ids     the tokens of the shard's documents, n of them, as in the token file
    sa      sa[r] is where the r-th smallest suffix of `ids` begins
    first   first[k] suffixes begin with a token of rank < k: those of rank k are sa[first[k]:first[k + 1]]
    top     top[j] describes suffix r = 4096 * j: its position and the ranks of its first 8 tokens (0 past the end)
    left    left[r] is the token before suffix r: ids[sa[r] - 1], and ids[n - 1] where sa[r] is 0
    ends    where the documents end in the token file: document first_document + d of it is
            ids[ends[d - 1] - begin : ends[d] - begin], the first one from 0

Suffixes compare token by token, by the rank of each id (its own number in order "id"); where one is a prefix of the
other, the shorter is smaller. They run on past the ends of documents to the end of the shard.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from pyunitok.errors import OutputError
from pyunitok.index.manifest import RANK_NAME, IndexManifest, ShardRecord, resolved_path, shard_name
from pyunitok.tokens.array import TokenArray
from pyunitok.tokens.manifest import StrPath
from pyunitok.tokens.opening import open as open_tokens

U16 = np.ndarray[Any, np.dtype[np.uint16]]
U32 = np.ndarray[Any, np.dtype[np.uint32]]
U64 = np.ndarray[Any, np.dtype[np.uint64]]

N_RANKS = 65536
TOP_STEP = 4096
TOP_TOKENS = 8
TOP_DTYPE = np.dtype([("position", "<u4"), ("ranks", "<u2", (TOP_TOKENS,))])
CHUNK = 1 << 20  # tokens that numpy works on at a time


@dataclass
class IndexShard:
    """See the head of this file. Arrays are read-only, and memory maps where the shard comes from an index.

    rank            uint16[65536], the rank of each id; None where suffixes compare by id
    begin           the shard's first token in the token file
    first_document  the shard's first document in the token file
    number          of the shard in its index
    file            of the token file in the index
    name            the path of its suffix array, for messages
    """

    ids: U16
    sa: U32
    first: U64
    top: np.ndarray[Any, Any]
    left: U16 | None
    ends: U64
    rank: U16 | None = None
    begin: int = 0
    first_document: int = 0
    number: int = 0
    file: int = 0
    name: str = "a shard in memory"

    def __len__(self) -> int:
        return len(self.ids)

    def frequency(self, id_: int) -> int:
        """How many tokens are that id."""
        rank = int(self.ranks[id_])
        return int(self.first[rank + 1]) - int(self.first[rank])

    def positions(self, ranks: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        """int64[n]: sa[ranks]. OutputError where one is not a token of the shard."""
        ret = self.sa[ranks].astype(np.int64)
        return self.checked(ret)

    def checked(self, tokens: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, np.dtype[np.int64]]:
        """`tokens`. OutputError where one is not a token of the shard: searches trust no byte of a file."""
        if len(tokens) and not 0 <= int(tokens.min()) <= int(tokens.max()) < len(self.ids):
            raise self.damaged()
        return tokens

    def damaged(self) -> OutputError:
        return OutputError(f"{self.name} is damaged, or its tokens are: pyunitok verify says more")

    @cached_property
    def ranks(self) -> U16:
        """The rank of each id: `rank`, or the identity."""
        return np.arange(N_RANKS, dtype=np.uint16) if self.rank is None else self.rank

    @classmethod
    def from_arrays(cls, ids: Any, sa: Any, *, rank: Any = None, ends: Any = None, left: bool = True) -> IndexShard:
        """A shard in memory, all tables made here. ends: of its documents, in `ids`; by default all is one."""
        ids, sa = np.ascontiguousarray(ids, np.uint16), np.ascontiguousarray(sa, np.uint32)
        rank = None if rank is None else np.ascontiguousarray(rank, np.uint16)
        ends = np.array([len(ids)] if ends is None else ends, np.uint64)
        column = left_of(ids, sa) if left else None
        return cls(ids, sa, first_of(ids, rank), top_of(ids, sa, rank), column, ends, rank)


def first_of(ids: U16, rank: U16 | None) -> U64:
    """uint64[65537]: bucket starts, see IndexShard."""
    counts = np.zeros(N_RANKS, np.int64)
    for at in range(0, len(ids), CHUNK):
        part = ids[at : at + CHUNK]
        counts += np.bincount(part if rank is None else rank[part], minlength=N_RANKS)
    return np.concatenate(([0], np.cumsum(counts))).astype("<u8")


def top_of(ids: U16, sa: U32, rank: U16 | None) -> np.ndarray[Any, Any]:
    """The sample of suffixes, see IndexShard."""
    ret = np.zeros(-(-len(sa) // TOP_STEP), TOP_DTYPE)
    ret["position"] = sa[::TOP_STEP]
    for k in range(TOP_TOKENS if len(ids) else 0):
        at = ret["position"].astype(np.int64) + k
        tokens = ids[np.minimum(at, len(ids) - 1)]
        ret["ranks"][:, k] = np.where(at < len(ids), tokens if rank is None else rank[tokens], 0)
    return ret


def left_of(ids: U16, sa: U32) -> U16:
    """The token before each suffix, see IndexShard."""
    ret = np.empty(len(sa), "<u2")
    for at in range(0, len(sa), CHUNK):
        ret[at : at + CHUNK] = ids[sa[at : at + CHUNK].astype(np.int64) - 1]  # -1 is the last token
    return ret


@dataclass
class OpenIndex:
    """An index, mapped: its manifest, the token files, an IndexShard for each record, and the model that was given."""

    folder: Path
    manifest: IndexManifest
    arrays: list[TokenArray]
    shards: list[IndexShard]
    model: Any = None


def open_shards(folder: StrPath, *, model: Any = None) -> OpenIndex:
    """Map an index. OutputError if a file is missing, has the wrong size, or changed after it was indexed.

    model  a Tokenizer or the path of its file, instead of the one that the token files name
    """
    folder = Path(folder)
    manifest = IndexManifest.read(folder)
    arrays = [_open_file(folder, manifest, k, model) for k in range(len(manifest.files))]
    rank = open_rank(folder, manifest)
    shards = [_open_shard(folder, manifest, k, arrays, rank) for k in range(len(manifest.shards))]
    return OpenIndex(folder, manifest, arrays, shards, model)


def digest_of(array: TokenArray) -> str | None:
    """What tells a token file from another version of it: XXH64 of the hashes in its manifest."""
    if array.manifest is None:
        return None
    digests = [*array.manifest.hash.get("tokens", []), *array.manifest.hash.get("ends", [])]
    return xxhash.xxh64_hexdigest("".join(map(str, digests)).encode())


def _open_file(folder: Path, manifest: IndexManifest, k: int, model: Any) -> TokenArray:
    record = manifest.files[k]
    path = resolved_path(record.path, folder)
    try:
        array = open_tokens(path, model=model, dtype="uint16")
    except FileNotFoundError:
        raise OutputError(
            f"{folder}: its token file {path} is gone; an index needs the token files that it was built from"
        ) from None
    if len(array.ids) != record.tokens or len(array) != record.documents or digest_of(array) != record.digest:
        raise OutputError(f"{folder}: {path} has changed since it was indexed; build the index again")
    if array.ids.dtype != np.dtype("<u2"):
        raise OutputError(f"{path}: ids of {array.ids.dtype}; an index is over uint16")
    return array


def open_rank(folder: Path, manifest: IndexManifest) -> U16 | None:
    """The ranks of all ids; None where ids are their own. OutputError for a file that is damaged."""
    if manifest.order == "id":
        return None
    path = folder / RANK_NAME
    rank = np.array(_map(path, np.dtype("<u2"), N_RANKS))
    if xxhash.xxh64_hexdigest(rank.tobytes()) != manifest.rank_hash:
        raise OutputError(f"{path}: not the ranks that the index was sorted by (their XXH64 differs)")
    if not np.array_equal(np.bincount(rank, minlength=N_RANKS), np.ones(N_RANKS)):
        raise OutputError(f"{path}: a rank occurs twice")
    return rank


def _open_shard(
    folder: Path, manifest: IndexManifest, number: int, arrays: list[TokenArray], rank: U16 | None
) -> IndexShard:
    record = manifest.shards[number]
    array = arrays[record.file]
    _check_range(folder, number, record, array)
    n, last = record.tokens, record.first_document + record.documents

    def mapped(suffix: str, dtype: np.dtype[Any], count: int) -> Any:
        return _map(folder / shard_name(number, suffix), dtype, count)

    first = mapped(".first", np.dtype("<u8"), N_RANKS + 1)
    if int(first[0]) != 0 or int(first[-1]) != n or np.any(first[1:] < first[:-1]):
        raise OutputError(f"{folder / shard_name(number, '.first')}: bucket starts are damaged")
    return IndexShard(
        ids=array.ids[record.begin : record.begin + n],
        sa=mapped(".sa", np.dtype("<u4"), n),
        first=first,
        top=mapped(".top", TOP_DTYPE, -(-n // TOP_STEP)),
        left=mapped(".left", np.dtype("<u2"), n) if manifest.left else None,
        ends=array.ends[record.first_document : last],
        rank=rank,
        begin=record.begin,
        first_document=record.first_document,
        number=number,
        file=record.file,
        name=str(folder / shard_name(number, ".sa")),
    )


def _check_range(folder: Path, number: int, record: ShardRecord, array: TokenArray) -> None:
    """OutputError unless the shard's documents span its tokens."""
    d, last = record.first_document, record.first_document + record.documents
    begin = int(array.ends[d - 1]) if d else 0
    end = int(array.ends[last - 1]) if last else 0
    if (begin, end) != (record.begin, record.begin + record.tokens):
        raise OutputError(
            f"{folder}: shard {number} covers tokens {record.begin} to {record.begin + record.tokens}, but its "
            f"documents span {begin} to {end} in {array.path}"
        )


def _map(path: Path, dtype: np.dtype[Any], count: int) -> np.ndarray[Any, Any]:
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        raise OutputError(f"{path} is missing from the index") from None
    if size != count * dtype.itemsize:
        raise OutputError(f"{path} has {size} bytes, not {count * dtype.itemsize}: truncated, or from another index")
    return np.memmap(path, dtype, "r") if size else np.empty(0, dtype)
