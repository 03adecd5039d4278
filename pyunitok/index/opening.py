"""open_shards() maps an index: its manifest, token files and shards, of either kind."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from pyunitok._c.compact import Compact
from pyunitok.errors import ModelFormatError, OutputError
from pyunitok.index.compact import CompactShard, StoredIds, advise
from pyunitok.index.manifest import (
    INDEX_NAME,
    CompactOptions,
    IndexManifest,
    ShardRecord,
    resolved_path,
    shard_name,
    stored_tokens,
)
from pyunitok.index.shard import TOP_STEP, U32, IndexShard, Shard, n_ids, top_dtype
from pyunitok.tokens.array import TokenArray
from pyunitok.tokens.manifest import Manifest, StrPath, sidecars
from pyunitok.tokens.model import check_model, given_model
from pyunitok.tokens.opening import open as open_tokens


@dataclass
class OpenIndex:
    """A mapped index: its manifest, token files and shards, and the model given by the caller."""

    folder: Path
    manifest: IndexManifest
    arrays: list[TokenArray]
    shards: list[Any]  # Shards, all of the same kind
    model: Any = None


def open_shards(folder: StrPath, *, model: Any = None) -> OpenIndex:
    """Map an index. Raises OutputError if a file is missing, has the wrong size, or has changed since it was indexed.

    model  a Tokenizer or the path of its file; replaces the model that the token files name
    """
    folder = Path(folder)
    manifest = IndexManifest.read(folder)
    arrays = [_open_file(folder, manifest, k, model) for k in range(len(manifest.files))]
    rank = open_rank(folder, manifest)
    shards = [_open_shard(folder, manifest, k, arrays, rank) for k in range(len(manifest.shards))]
    for shard in shards:
        ids: Any = arrays[shard.file].ids
        if isinstance(ids, StoredIds):
            ids.append(shard.ids)
    return OpenIndex(folder, manifest, arrays, shards, model)


def _open_stored(folder: Path, manifest: IndexManifest, k: int, model: Any) -> TokenArray:
    """A token file whose tokens are in the shards of a compact index. open_shards() adds the shards."""
    if manifest.compact is None or manifest.compact.only_counts:
        raise OutputError(f"{folder}: its token files are missing")
    path, model = stored_tokens(folder, k), given_model(model)
    ends_path, manifest_path = sidecars(path)
    tokens = Manifest.read(manifest_path)
    if model is not None:
        check_model(tokens, model, str(folder))
    ends = _map(ends_path, np.dtype("<u8"), tokens.documents)
    ids = StoredIds(np.dtype(manifest.dtype), tokens.tokens)
    if len(ends) and int(ends[-1]) != len(ids):
        raise OutputError(f"{ends_path}: the last document ends at token {ends[-1]}, but there are {len(ids)}")
    return StoredTokens(path, ids, ends, tokens, model)


class StoredTokens(TokenArray):
    """A token file that is stored in a compact index."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _stored_again, (str(self._absolute.parent), int(self.path.name.partition(".")[0]), self._given)


def _stored_again(folder: str, k: int, model: Any) -> TokenArray:
    return open_shards(folder, model=model).arrays[k]


def is_index(path: StrPath) -> bool:
    """Whether the path is the folder of an index."""
    return (Path(path) / INDEX_NAME).is_file()


def digest_of(array: TokenArray) -> str | None:
    """A digest that identifies a version of a token file: the XXH64 of the hashes in its manifest."""
    if array.manifest is None:
        return None
    digests = [*array.manifest.hash.get("tokens", []), *array.manifest.hash.get("ends", [])]
    return xxhash.xxh64_hexdigest("".join(map(str, digests)).encode())


def _open_file(folder: Path, manifest: IndexManifest, k: int, model: Any) -> TokenArray:
    record = manifest.files[k]
    path = resolved_path(record.path, folder)
    try:
        array = _open_stored(folder, manifest, k, model) if record.stored else open_indexable(path, model)
    except FileNotFoundError:
        raise OutputError(
            f"{folder}: the token file {path} is missing; an index needs the token files that it was built from"
        ) from None
    found = (array.ids.dtype, len(array.ids), len(array), digest_of(array))
    if found != (np.dtype(manifest.dtype), record.tokens, record.documents, record.digest):
        raise OutputError(f"{folder}: {path} has changed since it was indexed; build the index again")
    return array


def open_indexable(path: StrPath, model: Any) -> TokenArray:
    """Open a token file. If the file has no manifest, its ids have the smallest dtype that fits the model."""
    model = given_model(model)
    is_wide = model is not None and model.vocab_size > n_ids(np.dtype("<u2"))
    return open_tokens(path, model=model, dtype="uint32" if is_wide else "uint16")


def open_rank(folder: Path, manifest: IndexManifest) -> U32 | None:
    """The ranks of all ids; None if suffixes compare by id. Raises OutputError if the file is damaged."""
    if manifest.order == "id":
        return None
    path, dtype = folder / manifest.rank_name, np.dtype(manifest.dtype)
    rank = np.array(_map(path, dtype, n_ids(dtype)))
    if xxhash.xxh64_hexdigest(rank.tobytes()) != manifest.rank_hash:
        raise OutputError(f"{path}: these are not the ranks that the index was sorted by (the XXH64 does not match)")
    if not np.array_equal(np.sort(rank), np.arange(len(rank))):
        raise OutputError(f"{path}: a rank occurs twice")
    return rank.astype(np.uint32)


def _open_shard(
    folder: Path, manifest: IndexManifest, number: int, arrays: list[TokenArray], rank: U32 | None
) -> Shard:
    record = manifest.shards[number]
    array = arrays[record.file]
    _check_range(folder, number, record, array)
    n, last = record.tokens, record.first_document + record.documents
    if manifest.compact is not None:
        if rank is None:
            raise OutputError(f"{folder}: a compact index must have the order \"bytes\"")
        return _open_compact(folder, manifest.compact, number, record, array, rank)

    def mapped(suffix: str, dtype: np.dtype[Any], count: int) -> Any:
        return _map(folder / shard_name(number, suffix), dtype, count)

    dtype = array.ids.dtype
    first = mapped(".first", np.dtype("<u8"), n_ids(dtype) + 1)
    if int(first[0]) != 0 or int(first[-1]) != n or np.any(first[1:] < first[:-1]):
        raise OutputError(f"{folder / shard_name(number, '.first')}: the bucket starts are damaged")
    return IndexShard(
        ids=array.ids[record.begin : record.begin + n],
        sa=mapped(".sa", np.dtype("<u4"), n),
        first=first,
        top=mapped(".top", top_dtype(dtype), -(-n // TOP_STEP)),
        left=mapped(".left", dtype, n) if manifest.left else None,
        ends=array.ends[record.first_document : last],
        rank=rank,
        begin=record.begin,
        first_document=record.first_document,
        number=number,
        file=record.file,
        name=str(folder / shard_name(number, ".sa")),
    )


def _open_compact(
    folder: Path, options: CompactOptions, number: int, record: ShardRecord, array: TokenArray, rank: U32
) -> CompactShard:
    path = folder / shard_name(number, ".compact")
    try:
        image = np.memmap(path, np.uint8, "r") if path.stat().st_size else np.empty(0, np.uint8)
        advise(image, "MADV_RANDOM")
        compact = Compact(image)
    except FileNotFoundError:
        raise OutputError(f"{path} is missing from the index") from None
    except ModelFormatError as error:
        raise OutputError(f"{path}: {error}") from None
    found = (compact.n, compact.n_symbols, compact.block, compact.locate_every, compact.extract_every)
    if found != (record.tokens, len(rank), options.block, options.locate_every, options.extract_every):
        raise OutputError(f"{path} belongs to another index, or is damaged")
    last = record.first_document + record.documents
    return CompactShard(
        compact=compact, ends=array.ends[record.first_document : last], rank=rank,
        ids=None if isinstance(array, StoredTokens) else array.ids[record.begin : record.begin + record.tokens],
        begin=record.begin, first_document=record.first_document, number=number, file=record.file, name=str(path),
    )  # fmt: skip


def _check_range(folder: Path, number: int, record: ShardRecord, array: TokenArray) -> None:
    """Raise OutputError unless the shard's documents span its tokens."""
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
        raise OutputError(
            f"{path} has {size} bytes, not {count * dtype.itemsize}; it is truncated or belongs to another index"
        )
    return np.memmap(path, dtype, "r") if size else np.empty(0, dtype)
