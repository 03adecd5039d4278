"""build_index() builds suffix arrays of token files on disk, shard by shard, on several threads, and can be resumed.

    plan ──▶ plan.json.partial ──▶ each shard: read, sort, write │ sync, rename, NNNNN.json.partial ──▶ index.json
                                                                 └ while the next shard is sorted

A shard is done once its NNNNN.json.partial exists; this file is written after the shard's files have been synced and
renamed. Rerunning the command skips shards that are done. After the last shard, index.json is written, and then the
working files are removed. The contents of a shard depend only on its tokens and the order.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, cast

import numpy as np

import pyunitok
from pyunitok._c.suffix import suffix_rank
from pyunitok.disk.hashing import ChunkHash
from pyunitok.disk.outfile import OutFile, OutputLock, give_name, partial_name, sync_folder, write_whole
from pyunitok.errors import LimitError, OutputError
from pyunitok.index.compact import compact_file
from pyunitok.index.manifest import (
    INDEX_NAME,
    CompactOptions,
    IndexManifest,
    ShardRecord,
    resolved_path,
    shard_name,
)
from pyunitok.index.opening import is_index, open_indexable, open_rank, open_shards
from pyunitok.index.plan import Limits, bytes_per_token, plan_conversion, plan_index
from pyunitok.index.shard import CHUNK, n_ids, top_of
from pyunitok.index.stored import drop_token_files, was_dropped
from pyunitok.index.suffix import suffix_array, symbols_before
from pyunitok.model.batch import threads_or_cores
from pyunitok.run.cluster import Cluster, connected
from pyunitok.run.units import Each
from pyunitok.tokens.manifest import StrPath
from pyunitok.tokens.model import Model, given_model

PLAN_NAME = "plan.json"
SHARD_FILE = re.compile(r"\d{5,}\.(sa|first|top|left|compact)")
OWN_FILE = re.compile(
    r"(\d{5,}\.(sa|first|top|left|compact|json|words|tokens\.(ends|json|meta\.jsonl\.zst|errors\.jsonl))|plan\.json|lexicon\.words|fields\.columns|rank\.u(16|32)|index\.json)(\.partial){0,2}"
)

Array = np.ndarray[Any, Any]


@dataclass
class IndexProgress:
    """`tokens` of `total` tokens are sorted and written; `shards` of `n_shards` shards are done, including `resumed`
    shards that an earlier run finished."""

    tokens: float
    total: int
    shards: int
    n_shards: int
    resumed: int


class _StoppedError(Exception):
    """Another shard failed, or the user pressed Ctrl-C."""


def build_index(
    tokens: StrPath | Iterable[StrPath], folder: StrPath, *, order: str = "bytes", left: bool = False,
    compact: CompactOptions | None = None, max_memory_bytes: int | None = None, shard_tokens: int | None = None,
    threads: int | None = None, add: bool = False, overwrite: bool = False, drop_tokens: bool = False,
    model: Model = None, ray: str | None = None, on_progress: Callable[[IndexProgress], None] | None = None,
) -> IndexManifest:  # fmt: skip
    """Index token files for search, as `pyunitok index` does; open_index() opens the folder. Returns the manifest.

    tokens            one or more token files; the index refers to them by their paths. With compact, `tokens` can also
                      be the folder of an index of suffix arrays, which is converted without sorting again
    folder            the folder of the index; it takes 4 bytes per token, or 6 with left
    order             "bytes": sort by the bytes of the tokens, for the fastest text search; "id": sort by ids
    left              also store the token before each suffix
    compact           build compact indexes with these options instead of suffix arrays: about 1.1 bytes per token
    max_memory_bytes  memory for sorting; by default half of the machine's memory
    shard_tokens      maximum size of a shard; by default, two shards fit in memory at once
    threads           maximum number of shards to sort at the same time; all cores by default
    add               add the files to the index in the folder; its existing shards, order and columns do not change
    overwrite         replace the index in the folder
    drop_tokens       with compact: once built, store the token files in the index, compare all tokens, and remove the
                      files; `tokens` can also be the folder of the index itself
    model             replaces the model that the token files name
    ray               the address of a Ray cluster that builds the shards: "auto", "local" or HOST:PORT
    on_progress       called from the calling thread

    Repeating the call resumes an interrupted build and does not change a finished index. With add, repeating the last
    addition has no effect. Raises OutputError if the token files are incompatible or the folder contains a different
    index, and LimitError if there is too little memory or a document does not fit in a shard.

        pyunitok.build_index(["a.u16", "b.u16"], "idx")
    """
    paths = [tokens] if isinstance(tokens, str | os.PathLike) else list(tokens)
    limits, n_threads, given = Limits(max_memory_bytes, shard_tokens), threads_or_cores(threads), given_model(model)
    _check_options(compact, order, left)
    if not paths:
        raise ValueError("no token files to index")
    Path(folder).mkdir(parents=True, exist_ok=True)
    lock = OutputLock(Path(folder) / INDEX_NAME)
    try:
        if drop_tokens and not overwrite and was_dropped(Path(folder), paths):
            return _dropped(Path(folder), given, on_progress)
        if not (drop_tokens and _is_itself(Path(folder), paths)):
            inputs = _Inputs(paths, Path(folder), given, limits)
            manifest = _build(inputs, order, left, compact, add, overwrite, n_threads, ray, on_progress)
        return _dropped(Path(folder), given, on_progress) if drop_tokens else manifest
    finally:
        lock.release()


def _build(
    inputs: _Inputs, order: str, left: bool, compact: CompactOptions | None, add: bool, overwrite: bool, threads: int,
    ray: str | None, on_progress: Callable[[IndexProgress], None] | None,
) -> IndexManifest:  # fmt: skip
    if add or not overwrite:
        _clean_up(inputs.folder)
    existing = _existing(inputs.folder, add, overwrite)
    plan, rank = inputs.plan(order, left, compact, existing)
    if existing is not None and inputs.were_added(existing):
        return existing
    if not add and (inputs.folder / INDEX_NAME).exists():
        return _already_there(inputs.folder, plan)
    _begin(inputs.folder, plan, rank, existing, overwrite)
    work = BuildContext(inputs.folder.resolve(), plan, inputs.source)
    with contextlib.nullcontext() if ray is None else connected(ray):
        each = None if ray is None else Cluster(1)
        _build_shards(work, len(existing.shards) if existing else 0, inputs.limits, threads, each, on_progress)
    return _commit(inputs.folder, plan)


def _dropped(folder: Path, model: Any, on_progress: Callable[[IndexProgress], None] | None) -> IndexManifest:
    """Drop the token files; progress counts the tokens that have been compared."""
    found = IndexManifest.read(folder)
    n, show = len(found.shards), on_progress or (lambda _: None)
    return drop_token_files(
        folder, model=model, on_share=lambda share: show(IndexProgress(share * found.tokens, found.tokens, n, n, 0))
    )


def _is_itself(folder: Path, paths: Sequence[StrPath]) -> bool:
    return is_index(folder) and [Path(path).resolve() for path in paths] == [folder.resolve()]


def _check_options(compact: CompactOptions | None, order: str, left: bool) -> None:
    if compact is None:
        return
    compact.check()
    if left or order != "bytes":
        raise LimitError("a compact index requires the order \"bytes\" and cannot have the column `left`")


@dataclass
class _Inputs:
    """The token files to index, or the folder of an index to convert; in this case, `source` is that folder."""

    paths: Sequence[StrPath]
    folder: Path
    model: Any
    limits: Limits
    source: Path | None = None

    def __post_init__(self) -> None:
        if _is_itself(self.folder, self.paths):
            raise OutputError(f"{self.folder} is an index, which cannot be converted in place; choose another folder")

    def plan(
        self, order: str, left: bool, compact: CompactOptions | None, existing: IndexManifest | None
    ) -> tuple[IndexManifest, Array | None]:
        """Returns the manifest of the index without the hashes of shards, and the ranks (None for order "id"). Sets
        the memory per token."""
        if is_index(self.paths[0]):
            return self._conversion(compact, existing)
        dtype = np.dtype(existing.dtype) if existing else open_indexable(self.paths[0], self.model).ids.dtype
        size = bytes_per_token(dtype, existing.compact if existing else compact)
        self.limits = replace(self.limits, bytes_per_token=size)
        if existing is not None and self.were_added(existing):
            return existing, None
        return plan_index(
            self.paths, self.folder, order=order, left=left, limits=self.limits, model=self.model, existing=existing,
            compact=compact,
        )  # fmt: skip

    def _conversion(
        self, compact: CompactOptions | None, existing: IndexManifest | None
    ) -> tuple[IndexManifest, Array | None]:
        source = Path(self.paths[0])
        if compact is None or existing is not None or len(self.paths) > 1 or self.limits.shard_tokens is not None:
            raise LimitError(
                f"{source} is an index, which can only be converted to a compact index, without --add, --shard-tokens"
                f" or other inputs: pyunitok index {source} -o NEW --compact"
            )
        self.source = source.resolve()
        opened = open_shards(source, model=self.model)
        self.limits = replace(self.limits, bytes_per_token=bytes_per_token(np.dtype(opened.manifest.dtype), compact))
        return plan_conversion(opened, self.folder, compact)

    def were_added(self, found: IndexManifest) -> bool:
        """Whether an earlier call added these token files: they are the last files of the index, unchanged, and adding
        them now would result in the same shards."""
        n = len(found.files) - len(self.paths)
        last = [resolved_path(file.path, self.folder) for file in found.files[max(n, 0) :]]
        if n < 1 or last != [Path(path).resolve() for path in self.paths]:
            return False
        before = replace(found, files=found.files[:n], shards=[shard for shard in found.shards if shard.file < n])
        plan, _ = plan_index(
            self.paths, self.folder, order=found.order, left=found.left, limits=self.limits, model=self.model,
            existing=before,
        )  # fmt: skip
        return _same_plan(found, plan)


# --------------------------------------------------------------------------------------------------- begin and end


def _existing(folder: Path, add: bool, overwrite: bool) -> IndexManifest | None:
    """Returns the manifest of the index that files are added to, or None without add. With overwrite but not add,
    removes the old index."""
    if overwrite and not add:
        if is_index(folder) and any(file.stored for file in IndexManifest.read(folder).files):
            raise OutputError(
                f"{folder} stores the only copy of its token files; restore them with `pyunitok export --to tokens`, "
                "or remove the folder"
            )
        (folder / INDEX_NAME).unlink(missing_ok=True)  # first, because index.json names the files removed next
        sync_folder(folder)
        for path in folder.iterdir():
            if OWN_FILE.fullmatch(path.name):
                path.unlink()
    return IndexManifest.read(folder) if add else None


def _same_plan(a: IndexManifest, b: IndexManifest) -> bool:
    def bare(manifest: IndexManifest) -> dict[str, Any]:
        shards = [replace(shard, hash={}) for shard in manifest.shards]
        files = [replace(file, stored=False) for file in manifest.files]
        values = asdict(replace(manifest, files=files, shards=shards, created="", pyunitok="", rank_hash=None))
        values["model"] = manifest.model.get("sha256")
        return values

    return bare(a) == bare(b)


def _already_there(folder: Path, plan: IndexManifest) -> IndexManifest:
    """The manifest of the finished index. Raises OutputError if this call would build a different index."""
    found = IndexManifest.read(folder)
    if not _same_plan(found, plan):
        raise OutputError(
            f"{folder} already holds an index of different files or with different options; use --add to add files to "
            "it, or --overwrite to replace it"
        )
    return found


def _begin(
    folder: Path, plan: IndexManifest, rank: Array | None, existing: IndexManifest | None, overwrite: bool
) -> None:
    """Write the plan unless it already exists. Raises OutputError if the folder contains the plan of a different
    command."""
    path = partial_name(folder / PLAN_NAME)
    if path.exists():
        if _same_plan(IndexManifest.parse(path.read_bytes(), str(path)), plan):
            return
        if not (overwrite and existing):
            raise OutputError(
                f"{folder} holds an unfinished index of different files or with different options; repeat the first "
                "command to resume it, or use --overwrite to start over"
            )
    for found in folder.iterdir():
        if existing is None and SHARD_FILE.fullmatch(found.name):
            raise OutputError(f"{found} exists; --overwrite removes the files of an index")
        if found.match("*.json.partial"):
            found.unlink()  # left by an interrupted --add, which starts over
    if rank is not None and existing is None:
        write_whole(folder / plan.rank_name, rank.astype(plan.dtype).tobytes())
    write_whole(path, plan.to_json())  # last, because the plan makes the run resumable
    sync_folder(folder)


def _commit(folder: Path, plan: IndexManifest) -> IndexManifest:
    """Write index.json, then remove the working files."""
    done = [number for number in range(len(plan.shards)) if _record_path(folder, number).exists()]
    for number in done:
        plan.shards[number] = _read_record(folder, number)
    old = IndexManifest.read(folder) if (folder / INDEX_NAME).exists() else None
    for number, shard in enumerate(old.shards if old else []):
        plan.shards[number] = shard
    plan.created = datetime.now(timezone.utc).isoformat(timespec="seconds")
    plan.pyunitok = pyunitok.__version__
    write_whole(folder / INDEX_NAME, plan.to_json())
    sync_folder(folder)
    _clean_up(folder)
    return plan


def _clean_up(folder: Path) -> None:
    """Remove the working files of a complete index, including those that a killed run did not remove."""
    path = partial_name(folder / PLAN_NAME)
    if not path.exists() or not (folder / INDEX_NAME).exists():
        return
    if _same_plan(IndexManifest.read(folder), IndexManifest.parse(path.read_bytes(), str(path))):
        for record in folder.glob("*.json.partial"):
            if record != path:
                record.unlink()
        path.unlink()


def _record_path(folder: Path, number: int) -> Path:
    return partial_name(folder / shard_name(number, ".json"))


def _read_record(folder: Path, number: int) -> ShardRecord:
    path = _record_path(folder, number)
    try:
        return ShardRecord(**json.loads(path.read_bytes()))
    except (ValueError, TypeError) as error:
        raise OutputError(f"{path} is damaged ({error}); remove it to rebuild the shard") from None


# -------------------------------------------------------------------------------------------------------- shards


def _build_shards(
    work: BuildContext, n_kept: int, limits: Limits, threads: int, each: Each | None,
    on_progress: Callable[[IndexProgress], None] | None,
) -> None:  # fmt: skip
    folder, plan = work.folder, work.plan
    new = range(n_kept, len(plan.shards))
    waiting = [number for number in new if not _record_path(folder, number).exists()]
    waiting.sort(key=lambda number: -plan.shards[number].tokens)  # largest first, to keep all threads busy to the end
    done = sum(plan.shards[number].tokens for number in new if number not in set(waiting))
    total, resumed = sum(plan.shards[number].tokens for number in new), len(new) - len(waiting)
    progress = IndexProgress(done, total, resumed, len(new), resumed)
    show = on_progress or (lambda _: None)
    show(progress)
    if not waiting:
        return
    sizes = {number: plan.shards[number].tokens for number in waiting}
    if each is None:
        at_once = limits.at_once(max(sizes.values()), threads)
        on_threads(
            lambda number, on_share: write_shard(work, number, on_share).finish, sizes, at_once, progress, show
        )
        return
    for k, _ in each(build_shard, work, waiting):
        progress.shards += 1
        progress.tokens += sizes[waiting[k]]
        show(progress)


@dataclass
class BuildContext:
    """The data that all shards share. It is pickled to be sent to other machines.

    source  the folder of an index with the same shards; its suffix arrays are used instead of sorting
    """

    folder: Path
    plan: IndexManifest
    source: Path | None = None


def on_threads(
    function: Callable[[int, Callable[[float], None]], Callable[[], None] | None], sizes: dict[int, int], at_once: int,
    progress: IndexProgress, on_progress: Callable[[IndexProgress], None],
) -> None:  # fmt: skip
    """Call function(number, on_share) for each number in `sizes`, on at_once threads.

    sizes     for each number, the number of tokens to process, which on_progress reports
    function  reports its completed share by calling on_share(0 to 1); may return another function,
              which waits for the disk while the thread starts its next call

    An exception in one call, or Ctrl-C, stops the others at their next call of on_share.
    """
    stop, resumed, shares, local = threading.Event(), progress.tokens, dict.fromkeys(sizes, 0.0), threading.local()

    def build(number: int) -> Future[None]:
        def on_share(share: float) -> None:
            if stop.is_set():
                raise _StoppedError
            shares[number] = share * sizes[number]

        on_share(0.0)
        finish = function(number, on_share)
        shares[number] = sizes[number]
        before, local.finishing = getattr(local, "finishing", None), finishing.submit(finish or (lambda: None))
        if before:
            before.result()  # bounds the number of unfinished writes
        return cast("Future[None]", local.finishing)

    with ThreadPoolExecutor(at_once, "sync") as finishing, ThreadPoolExecutor(at_once, "index") as pool:
        sorting = {pool.submit(build, number) for number in sizes}
        waiting: set[Future[Any]] = set(sorting)
        try:
            while waiting:
                done, waiting = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in done:
                    if future in sorting:
                        waiting.add(future.result())
                    else:
                        future.result()
                        progress.shards += 1
                progress.tokens = resumed + sum(shares.values())
                on_progress(progress)
        finally:
            stop.set()
            for future in sorting:
                future.cancel()


def build_shard(work: BuildContext, number: int) -> None:
    """Sort one shard and write its files. Idempotent: repeating it on any machine produces identical files."""
    write_shard(work, number).finish()


@dataclass
class WrittenShard:
    """A shard whose files are written under partial names but not yet synced."""

    folder: Path
    number: int
    record: ShardRecord
    files: list[OutFile]

    def finish(self) -> None:
        try:
            for file in self.files:
                file.sync()
        finally:
            self.close()
        for file in self.files:
            give_name(file.path.with_suffix(""))
        sync_folder(self.folder)
        write_whole(_record_path(self.folder, self.number), json.dumps(asdict(self.record)).encode())

    def close(self) -> None:
        for file in self.files:
            file.close()


def write_shard(work: BuildContext, number: int, on_share: Callable[[float], None] = lambda _: None) -> WrittenShard:
    """Sort one shard and write its files under partial names."""
    folder, record = work.folder, replace(work.plan.shards[number])
    rank = open_rank(folder, work.plan)
    path = resolved_path(work.plan.files[record.file].path, folder)
    ranks, first, digests = read_ranks(path, record.begin, record.tokens, rank, np.dtype(work.plan.dtype))
    compact, rows = work.plan.compact, None

    def on_sorted(share: float) -> None:
        on_share(0.8 * share)

    if work.source is not None:
        sa = _sorted_before(work.source, number, digests)
    elif compact is not None:
        sa, rows = symbols_before(ranks, compact.rows_every, len(first) - 1, on_sorted)
    else:
        sa = suffix_array(ranks, on_progress=on_sorted)
    if compact is not None:
        columns = {".compact": compact_file(ranks, sa, compact, lambda share: on_share(0.8 + 0.2 * share), rows)}
    else:
        columns = {".sa": _chunks(sa), ".first": iter([first]), ".top": iter([top_of(ranks, sa, None)])}
    if work.plan.left:
        columns[".left"] = _left_chunks(ranks, sa, rank)
    record.hash = {"ids": digests}
    written = WrittenShard(folder, number, record, [])
    try:
        for suffix, chunks in columns.items():
            written.files.append(OutFile(partial_name(folder / shard_name(number, suffix))))
            record.hash[suffix] = _write(written.files[-1], chunks)
        return written
    except BaseException:
        written.close()
        raise


def read_ranks(
    path: Path, begin: int, n: int, rank: Array | None, dtype: np.dtype[Any]
) -> tuple[Array, Array, list[str]]:
    """Returns (the ranks of the n tokens from `begin` on, for each rank the number of tokens with a lower rank, the
    XXH64 of each 64 MiB of the tokens).

    The file is read rather than mapped, because mapped pages would count towards the memory of this process.
    """
    ranks, counts, digest = np.empty(n, dtype), np.zeros(n_ids(dtype), np.uint64), ChunkHash()
    with path.open("rb", buffering=0) as file:
        file.seek(dtype.itemsize * begin)
        for at in range(0, n, CHUNK):
            part = ranks[at : at + CHUNK]
            view = part.view(np.uint8).data
            while len(view):
                n_bytes = file.readinto(view)
                if not n_bytes:
                    raise OutputError(f"{path} ends before token {begin + n}; the file has changed since it was opened")
                digest.update(view[:n_bytes])
                view = view[n_bytes:]
            wrong = suffix_rank(part, rank, counts)
            if wrong >= 0:
                raise OutputError(
                    f"{path}: token {begin + at + wrong} is {part[wrong]}, but an index can hold ids up to "
                    f"{len(counts) - 1:,}"
                )
    first = np.concatenate((np.zeros(1, np.uint64), np.cumsum(counts))).astype("<u8")
    return ranks, first, digest.state().all_digests()


def _sorted_before(source: Path, number: int, digests: list[str]) -> Array:
    """The suffix array of a shard of the index in the folder `source`. Raises OutputError if the array is damaged or
    belongs to tokens with different hashes."""
    record, path = IndexManifest.read(source).shards[number], source / shard_name(number, ".sa")
    sa, digest = np.fromfile(path, "<u4"), ChunkHash()
    for chunk in _chunks(sa):
        digest.update(chunk.view(np.uint8).data)
    if len(sa) != record.tokens or [digests, digest.state().all_digests()] != [record.hash["ids"], record.hash[".sa"]]:
        raise OutputError(f"{path} or its token file is damaged; run `pyunitok verify` for details")
    return sa


def _chunks(array: Array) -> Iterator[Array]:
    return (array[at : at + CHUNK] for at in range(0, len(array), CHUNK))


def _left_chunks(ranks: Array, sa: Array, rank: Array | None) -> Iterator[Array]:
    ids = (np.arange(n_ids(ranks.dtype)) if rank is None else np.argsort(rank)).astype(ranks.dtype)
    for part in _chunks(sa):
        yield ids[ranks[part.astype(np.int64) - 1]]  # index -1 is the last token


def _write(file: OutFile, chunks: Iterator[Array]) -> list[str]:
    """Write the chunks. Returns the XXH64 of each 64 MiB of the file."""
    for chunk in chunks:
        file.write(np.ascontiguousarray(chunk).view(np.uint8).data)
    return file.save().all_digests()
