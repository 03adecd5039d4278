"""Stores token files in compact indexes: drop_token_files() removes the files, and restore_token_files() restores them.

    DIR/00000.tokens.ends             the sidecars of token file 0, unchanged
    DIR/00000.tokens.json
    DIR/00000.tokens.meta.jsonl.zst   these two only if they exist
    DIR/00000.tokens.errors.jsonl
    DIR/00000.compact                 the tokens of the file

    copy the sidecars ──▶ decode and compare all tokens ──▶ index.json marks the files as stored ──▶ remove them

The index reads the token files until index.json is replaced, and then its own copies, so a run can be killed at any
moment. Repeating the command removes the remaining files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pyunitok.disk.outfile import OutFile, check_target, give_name, partial_name, sync_folder, write_whole
from pyunitok.errors import OutputError
from pyunitok.index.compact import CompactShard
from pyunitok.index.manifest import INDEX_NAME, IndexedFile, IndexManifest, resolved_path, stored_tokens
from pyunitok.index.opening import OpenIndex, is_index, open_shards
from pyunitok.index.shard import CHUNK
from pyunitok.tokens.manifest import ERRORS_SUFFIX, METADATA_SUFFIX, StrPath

SIDECARS = (".ends", METADATA_SUFFIX, ERRORS_SUFFIX, ".json")  # the manifest is written and removed last
BUFFER_BYTES = 4 << 20

OnShare = Callable[[float], None]


def drop_token_files(folder: Path, *, model: Any = None, on_share: OnShare = lambda _: None) -> IndexManifest:
    """Store the token files of a compact index in the index, and remove them. Returns the new manifest.

    on_share  called with the share of the tokens compared so far

    Raises OutputError, before anything is removed, if a token file has no manifest, if another index refers to it, or
    if the index does not contain exactly its tokens.
    """
    index = open_shards(folder, model=model)
    manifest = index.manifest
    if manifest.compact is None or manifest.compact.only_counts:
        raise OutputError(f"{folder}: only a compact index built without --count-only can store its token files")
    new = [k for k, file in enumerate(manifest.files) if not file.stored]
    for k in new:
        path = resolved_path(manifest.files[k].path, folder)
        if index.arrays[k].manifest is None:
            raise OutputError(f"{path} has no manifest, so it cannot be restored; keep it")
        _check_unshared(path, folder)
    n_done, total = 0, sum(manifest.files[k].tokens for k in new)
    for k in new:
        for n in _compared(index, k):
            n_done += n
            on_share(n_done / max(1, total))
        _copy_sidecars(resolved_path(manifest.files[k].path, folder), stored_tokens(folder, k), overwrite=True)
    manifest = replace(manifest, files=[replace(file, stored=True) for file in manifest.files])
    write_whole(folder / INDEX_NAME, manifest.to_json())
    sync_folder(folder)
    for k, file in enumerate(manifest.files):
        _remove(folder, k, file)
    return manifest


def was_dropped(folder: Path, paths: Sequence[StrPath]) -> bool:
    """Whether an index stores these token files, or all of its token files if `paths` is its own folder."""
    if not is_index(folder):
        return False
    files = [file for file in IndexManifest.read(folder).files if file.stored]
    wanted = {Path(path).resolve() for path in paths}
    return bool(files) and (
        wanted == {folder.resolve()} or wanted == {resolved_path(file.path, folder) for file in files}
    )


def restore_token_files(folder: Path, out: Path, *, overwrite: bool = False, on_share: OnShare = lambda _: None
                        ) -> list[Path]:  # fmt: skip
    """Write the token files of a compact index, byte for byte, with their sidecars. Returns their paths.

    out  the token file; if there are several, a folder, in which they keep their names

    Raises OutputError if a file exists, or if the tokens do not match the hashes in the manifest of the token file.
    """
    index = open_shards(folder)
    if index.manifest.compact is None:
        raise OutputError(f"{folder} is not a compact index, so it still uses its token files")
    names = [Path(file.path).name for file in index.manifest.files]
    if len(names) > 1:
        if len(set(names)) < len(names):
            names = [f"{k}-{name}" for k, name in enumerate(names)]
        out.mkdir(parents=True, exist_ok=True)
    targets = [out] if len(names) == 1 else [out / name for name in names]
    for target in targets:
        for suffix in ("", *SIDECARS):
            check_target(target.with_name(target.name + suffix), overwrite=overwrite)
    n_done, total = 0, max(1, index.manifest.tokens)
    for k, target in enumerate(targets):
        file = OutFile(partial_name(target))
        try:
            for ids in _tokens(index, k):
                file.write(np.ascontiguousarray(ids).view(np.uint8).data)
                n_done += len(ids)
                on_share(n_done / total)
            found = index.arrays[k].manifest
            if found is None or file.finish() != found.hash.get("tokens"):
                raise OutputError(f"{folder}: the tokens of {target.name} are damaged; run `pyunitok verify {folder}`")
        finally:
            file.close()
        give_name(target)
        _copy_sidecars(index.arrays[k].path, target, overwrite=overwrite)
    return targets


# --------------------------------------------------------------------------------------------------------- parts ---


def _shards(index: OpenIndex, k: int) -> Iterator[CompactShard]:
    """The shards of a token file. Raises OutputError unless they contain all tokens of the file in order."""
    at = 0
    for shard in index.shards:
        if shard.file == k:
            if shard.begin != at:
                break
            at += len(shard)
            yield shard
    if at != index.manifest.files[k].tokens:
        raise OutputError(f"{index.folder}: its shards do not contain all tokens of {index.manifest.files[k].path}")


def _tokens(index: OpenIndex, k: int) -> Iterator[Any]:
    """The tokens of a token file, as stored in the index."""
    for shard in _shards(index, k):
        ids = shard.own_ids()
        for at in range(0, len(shard), CHUNK):
            yield ids[at : at + CHUNK]


def _compared(index: OpenIndex, k: int) -> Iterator[int]:
    """Compares a token file with the index, and yields the size of each part that is equal. Raises OutputError at the
    first difference."""
    at, array = 0, index.arrays[k]
    for ids in _tokens(index, k):
        if not np.array_equal(ids, array.ids[at : at + len(ids)]):
            raise OutputError(f"{index.folder} does not contain the tokens of {array.path}; run `pyunitok verify`")
        at += len(ids)
        yield len(ids)


def _check_unshared(path: Path, folder: Path) -> None:
    """Raise OutputError if another index, in the folder of the token file or next to this index, refers to the file."""
    near = {path.parent, folder.resolve().parent}
    for other in sorted(found.parent for parent in near for found in parent.glob(f"*/{INDEX_NAME}")):
        if other.resolve() != folder.resolve() and path in _needed_by(other):
            raise OutputError(f"{other} is an index of {path}, too; remove that index before using --drop-tokens")


def _needed_by(folder: Path) -> Iterable[Path]:
    try:
        files = IndexManifest.read(folder).files
    except OutputError:
        return []
    return [resolved_path(file.path, folder) for file in files if not file.stored]


def _copy_sidecars(source: Path, target: Path, *, overwrite: bool) -> None:
    """Copies the sidecars that exist. A copy gets its final name once it is on disk and equals the original."""
    for suffix in SIDECARS:
        path, copy = source.with_name(source.name + suffix), target.with_name(target.name + suffix)
        if not path.exists():
            if overwrite:
                copy.unlink(missing_ok=True)
            continue
        file = OutFile(partial_name(copy))
        try:
            for part in _parts(path):
                file.write(memoryview(part))
            file.finish()
        finally:
            file.close()
        if not all(a == b for a, b in zip(_parts(path), _parts(partial_name(copy)), strict=True)):
            raise OutputError(f"{copy} differs from {path}; the disk is damaged, or another program changed the file")
        give_name(copy)
    sync_folder(target.parent)


def _parts(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while part := file.read(BUFFER_BYTES):
            yield part


def _remove(folder: Path, k: int, file: IndexedFile) -> None:
    """Removes a stored token file and its sidecars. The manifest is removed last, because it identifies the file if the
    run is killed. A file that now has a different manifest is kept."""
    path = resolved_path(file.path, folder)
    manifest, copy = (where.with_name(where.name + ".json") for where in (path, stored_tokens(folder, k)))
    if not manifest.exists() or manifest.read_bytes() != copy.read_bytes():
        return
    for suffix in ("", *SIDECARS):
        Path(f"{os.fspath(path)}{suffix}").unlink(missing_ok=True)
    sync_folder(path.parent)
