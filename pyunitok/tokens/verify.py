"""verify() checks a token file against its manifest, in parallel: hashes, ends, ids, eods, counts, metadata.

verify_text.py compares the decoded tokens with the inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import xxhash

from pyunitok.disk.hashing import HASH_CHUNK_BYTES
from pyunitok.errors import OutputError
from pyunitok.model.batch import threads_or_cores
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.tokens.array import TokenArray
from pyunitok.tokens.manifest import Manifest, sidecars
from pyunitok.tokens.metadata import Metadata, metadata_path

CHUNK_DOCS = 1 << 20
MAX_PROBLEMS = 20  # the maximum number of problems reported per token file


@dataclass
class _Task:
    """A unit of work: check() yields problems; n_bytes is for progress."""

    n_bytes: int
    check: Callable[[], Iterator[str]]


def verify(
    array: TokenArray, tokenizer: Tokenizer | None, *, threads: int | None = None,
    on_bytes: Callable[[int], None] = lambda _: None,
) -> list[str]:  # fmt: skip
    """The problems of a token file, one sentence each, at most MAX_PROBLEMS; an empty list if it is intact.

    tokenizer  the model to check ids against; None skips this check
    on_bytes   called from any thread with the number of bytes of OUT and OUT.ends just checked

    Raises OutputError if the file has no manifest. Reads every byte once. Memory: a few MiB per thread, and the mapped
    file.
    """
    manifest, n_threads = array.manifest, threads_or_cores(threads)
    if manifest is None:
        raise OutputError(f"{array.path} has no manifest to check it against")
    problems = list(_consistency(array, manifest))
    tasks = [*hash_checks(array.path, array.ids, manifest.hash.get("tokens"), _id_check(array, tokenizer))]
    tasks += hash_checks(sidecars(array.path)[0], array.ends, manifest.hash.get("ends"))
    tasks.append(_Task(0, lambda: _metadata(array)))
    tasks += [_Task(0, lambda d=d: _ends(array, d)) for d in range(0, len(array), CHUNK_DOCS)]  # type: ignore[misc]

    def work(task: _Task) -> list[str]:
        found = []
        for problem in task.check():
            found.append(problem)
            if len(found) == MAX_PROBLEMS:
                break
        on_bytes(task.n_bytes)
        return found

    with ThreadPoolExecutor(n_threads) as pool:
        for found in pool.map(work, tasks):
            problems += found
    return problems[:MAX_PROBLEMS]


def _consistency(array: TokenArray, manifest: Manifest) -> Iterator[str]:
    described = sidecars(array.path)[1]
    if manifest.hash.get("algorithm") != "xxh64" or manifest.hash.get("chunk_bytes") != HASH_CHUNK_BYTES:
        yield f"{described}: the hashes are not XXH64 of chunks of {HASH_CHUNK_BYTES} bytes"
    for name in ("tokens", "documents", "bytes"):
        total, parts = getattr(manifest, name), sum(getattr(record, name) for record in manifest.inputs)
        if total != parts:
            yield f"{described}: the file has {total} {name}, but its inputs have {parts}"
    at = document = 0
    for record in manifest.inputs:
        document += record.documents
        end = int(array.ends[document - 1]) if 0 < document <= len(array) else 0
        if end - at != record.tokens:
            yield f"{described}: {record.path} has {record.tokens} tokens, but its documents have {end - at}"
        at = end


def hash_checks(
    name: object, data: np.ndarray[Any, Any], digests: Any, check_ids: Callable[[int, int], Iterator[str]] | None = None
) -> Iterator[_Task]:
    """Tasks that check the number of hashes and, for each chunk of a file, the hash and, while the chunk is cached, the
    ids."""
    raw = data.view(np.uint8)
    expected = digests if isinstance(digests, list) else []
    n_chunks = -(-len(raw) // HASH_CHUNK_BYTES)

    def count() -> Iterator[str]:
        if len(expected) != n_chunks:
            yield f"{name}: the manifest has {len(expected)} hashes for {n_chunks} chunks"

    yield _Task(0, count)
    for k in range(n_chunks):
        begin, end = k * HASH_CHUNK_BYTES, min((k + 1) * HASH_CHUNK_BYTES, len(raw))

        def check(k: int = k, begin: int = begin, end: int = end) -> Iterator[str]:
            found = xxhash.xxh64_hexdigest(raw[begin:end].data)
            if k < len(expected) and found != expected[k]:
                yield f"{name}: bytes {begin} to {end} have changed (XXH64 {found}, not {expected[k]})"
            if check_ids:
                yield from check_ids(begin // data.itemsize, end // data.itemsize)

        yield _Task(end - begin, check)


def _id_check(array: TokenArray, tokenizer: Tokenizer | None) -> Callable[[int, int], Iterator[str]] | None:
    """A function that checks that the ids in a range of tokens are in the vocabulary."""
    if tokenizer is None:
        return None
    known = np.diff(tokenizer.pieces().offsets) > 0
    for special in (tokenizer.eod_id, tokenizer.fallback_id, array.eod_id):
        if special is not None and special < len(known):
            known[special] = True
    # With --eod, the eod need not be in the vocabulary; it occurs only at document ends, where _ends checks it.
    foreign_eod = array.eod_id if array.eod_id is not None and array.eod_id >= len(known) else None
    holes = np.flatnonzero(~known)

    def check(begin: int, end: int) -> Iterator[str]:
        for at in range(begin, end, 1 << 20):
            part = array.ids[at : min(at + (1 << 20), end)]
            if part.max() < len(known) and not len(holes):
                continue
            wrong = part >= len(known)
            if foreign_eod is not None:
                wrong &= part != foreign_eod
            if len(holes):
                wrong |= ~known[np.minimum(part, len(known) - 1)] & (part < len(known))
            for k in np.flatnonzero(wrong)[:MAX_PROBLEMS].tolist():
                d = int(np.searchsorted(array.ends, np.uint64(at + k), "right"))
                yield f"{array.path}: document {d}, token {at + k}: id {part[k]} is not in {tokenizer.name}"

    return check


def _metadata(array: TokenArray) -> Iterator[str]:
    """Check that the metadata sidecar, if any, has a line for each document and intact frames."""
    path = metadata_path(array.path)
    if not path.exists():
        return
    try:
        kept = Metadata(path)
        if len(kept) != len(array):
            yield f"{path} describes {len(kept)} documents, but {array.path} has {len(array)}"
        first = 0
        for _, n_lines in kept.frames():
            kept.line(first)  # decompresses the frame, which checks it
            first += n_lines
    except OutputError as error:
        yield str(error)


def _ends(array: TokenArray, first: int) -> Iterator[str]:
    """Check the CHUNK_DOCS documents from `first` on: that their ends increase, and that the eod precedes each end."""
    path, eod = sidecars(array.path)[0], array.eod_id
    ends = array.ends[first : first + CHUNK_DOCS].astype(np.int64)
    before = np.concatenate((array.ends[first - 1 : first].astype(np.int64) if first else [0], ends[:-1]))
    wrong = (ends < before + (eod is not None)) | (ends > len(array.ids)) | (ends < 0)
    for k in np.flatnonzero(wrong)[:MAX_PROBLEMS].tolist():
        yield f"{path}: document {first + k} spans tokens {before[k]} to {ends[k]} of {len(array.ids)}"
    if eod is None:
        return
    last = np.flatnonzero(~wrong)
    found = array.ids[ends[last] - 1]
    for k in np.flatnonzero(found != eod)[:MAX_PROBLEMS].tolist():
        d, at = first + int(last[k]), int(ends[last[k]]) - 1
        yield f"{array.path}: document {d} ends with id {found[k]} at token {at}, not with the eod {eod}"
