"""merge() joins finished token files into one.

    part 0   [ ids ][ ends ]  ─▶  OUT       [ ids of part 0 | ids of part 1 | … ]
    part 1   [ ids ][ ends ]  ─▶  OUT.ends  [ ends of part 0 | ends of part 1 + tokens of part 0 | … ]

Each part's hashes are verified while it is read. If the parts are all shards of a run, the output is byte-identical to
that of the undivided run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pyunitok.corpus.source import InputFile
from pyunitok.disk.hashing import HASH_CHUNK_BYTES, ChunkHash
from pyunitok.errors import OutputError
from pyunitok.run import changes
from pyunitok.run.identity import Identity
from pyunitok.run.journal import journal_path
from pyunitok.run.output import EXTRA, Output
from pyunitok.run.plan import Progress
from pyunitok.run.shard import SHARD_OPTIONS
from pyunitok.tokens.manifest import ERRORS_SUFFIX, METADATA_SUFFIX, InputRecord, Manifest, StrPath, sidecars
from pyunitok.tokens.metadata import MetadataFile, errors_path, metadata_path

READ_BYTES = 4 << 20


@dataclass(frozen=True)
class Part:
    """A finished token file to join."""

    path: Path
    manifest: Manifest
    has_metadata: bool

    @property
    def n_bytes(self) -> int:
        """The size of OUT and OUT.ends."""
        return sum(self.manifest.sizes().values())


def merge(
    parts: Iterable[StrPath], out: StrPath, *, overwrite: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> Manifest:  # fmt: skip
    """Join finished token files in the given order, as `pyunitok merge` does. Returns the manifest (OUT.json).

    parts        token files with the same model, eod and dtype; if they are shards, all shards of the run, in order.
                 A folder OUT.parts, as kept by tokenize(ray=..., keep_parts=True), stands for the parts in it
    out          OUT, with OUT.ends and OUT.json next to it
    overwrite    replace OUT if it exists
    on_progress  called after each 4 MiB, in the calling thread

    Each part's hashes are verified while it is read. The parts are not removed. Repeating the call does nothing if OUT
    is finished. Raises OutputError, before anything is written, if a part is not finished or the parts do not match.

        pyunitok.merge(["ids.u16.0-of-2", "ids.u16.1-of-2"], "ids.u16")
    """
    return join(parts_of(parts), Path(out), overwrite=overwrite, on_progress=on_progress)[0]


def parts_of(arguments: Iterable[StrPath]) -> list[Path]:
    """The parts named by the arguments of merge()."""
    return [path for part in map(Path, arguments) for path in (finished_parts(part) if part.is_dir() else [part])]


def finished_parts(folder: Path) -> list[Path]:
    """The parts in OUT.parts, in order."""
    found = folder.glob("[0-9]*/*-of-*.json")
    return sorted(path.with_suffix("") for path in found if re.search(r"\.\d+-of-\d+\.json$", path.name))


def join(
    paths: Sequence[Path], out: Path, *, overwrite: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> tuple[Manifest, bool]:  # fmt: skip
    """Join the parts in this order. Returns the manifest of OUT, and whether it already existed.

    Raises OutputError, before anything is written, if a part is not finished, the parts do not match, or they are not
    all shards of a run in order; the message names the part and the difference. Also raises OutputError if a part's
    bytes do not match its hashes.

    Memory: a few buffers of 4 MiB. An interrupted merge starts again; an interrupted commit is completed.
    """
    parts = open_parts(paths, out)
    merged = combined([part.manifest for part in parts])
    run = Identity.of({"command": "merge"}, [_identity(part) for part in parts])
    opened = Output(
        out, run, overwrite=overwrite, extra=EXTRA if parts[0].has_metadata else [ERRORS_SUFFIX],
        differences=lambda finished: _differences(finished, merged),
    )  # fmt: skip
    with opened as output:
        if output.finished is not None:
            return output.finished, True
        joiner = Joiner(output, has_metadata=parts[0].has_metadata)
        joiner.progress.compressed_total = sum(part.n_bytes for part in parts)
        for part in parts:
            joiner.append(part, on_progress)
        joiner.end()
        output.commit(merged)
    return merged, False


def open_parts(paths: Sequence[Path], out: Path) -> list[Part]:
    """Open the parts. Raises OutputError if they cannot be joined in this order; see join()."""
    if not paths:
        raise OutputError("there are no parts to merge")
    parts = [open_part(path, out) for path in paths]
    for part in parts[1:]:
        _check_match(parts[0], part)
    _check_shards(parts)
    if parts[0].manifest.shard:
        _check_changes(parts)
    return parts


class Joiner:
    """Appends parts to an empty output and verifies their hashes.

    progress  in bytes of OUT and OUT.ends; the caller sets compressed_total
    """

    def __init__(self, output: Output, *, has_metadata: bool) -> None:
        self.progress = Progress()
        self._output = output
        self._metadata = MetadataFile(output.files[METADATA_SUFFIX]) if has_metadata else None

    def append(self, part: Part, on_progress: Callable[[Progress], None] | None = None) -> None:
        _append(self._output, part, self.progress, on_progress or (lambda _: None))
        if errors_path(part.path).exists():
            self._output.files[ERRORS_SUFFIX].write(memoryview(errors_path(part.path).read_bytes()))
        if self._metadata is not None:
            self._metadata.append_file(metadata_path(part.path))

    def end(self) -> None:
        """Complete the output. Must be called after the last part."""
        if self._metadata is not None:
            self._metadata.end()


def open_part(path: Path, out: Path) -> Part:
    """Open a part. Raises OutputError if it is not a finished token file, or is OUT itself."""
    if path.exists() and out.exists() and path.samefile(out):
        raise OutputError(f"{path} is both an input and the output; name another output")
    if journal_path(path).exists():
        raise OutputError(f"{path} is not finished; repeat the command that was writing it to resume")
    manifest_path = sidecars(path)[1]
    if not path.exists() or not manifest_path.exists():
        raise OutputError(f"{path}: not a finished token file; it and {manifest_path.name} must exist")
    part = Part(path, Manifest.read(manifest_path), metadata_path(path).exists())
    part.manifest.check_sizes(path)
    if part.manifest.hash.get("chunk_bytes") != HASH_CHUNK_BYTES:
        raise OutputError(f"{manifest_path}: the hashes are not those of chunks of {HASH_CHUNK_BYTES} bytes")
    return part


# Properties that all parts must share, by their names in messages.
_OF_PARTS: dict[str, Callable[[Part], Any]] = {
    "model sha256": lambda part: part.manifest.model.get("sha256"),
    "algorithm": lambda part: part.manifest.algorithm,
    "dtype": lambda part: part.manifest.dtype,
    "eod": lambda part: part.manifest.eod,
    "metadata": lambda part: part.has_metadata,
    "number of shards": lambda part: part.manifest.shard and part.manifest.shard["count"],
}
# Properties that all shards must share in addition.
_OF_SHARDS: dict[str, Callable[[Part], Any]] = {
    "options": lambda part: _fixed_options(part.manifest),
    "inputs of all shards": lambda part: part.manifest.shard and part.manifest.shard["all_inputs"],
}


def _check_match(first: Part, part: Part) -> None:
    common = _OF_PARTS | (_OF_SHARDS if first.manifest.shard else {})
    differ = [
        f"{name} {_shown(value_of(part))} instead of {_shown(value_of(first))}"
        for name, value_of in common.items()
        if value_of(first) != value_of(part)
    ]
    if differ:
        raise OutputError(f"{part.path} does not match {first.path}: {'; '.join(differ)}")


def _shown(value: Any) -> Any:
    return "none" if value is None else value


def _check_shards(parts: Sequence[Part]) -> None:
    """Raise OutputError if the parts are shards, but not all shards of a run in order."""
    if parts[0].manifest.shard is None:
        return
    count, seen = parts[0].manifest.shard["count"], dict[int, Part]()
    for part in parts:
        assert part.manifest.shard is not None  # see _check_match
        index = part.manifest.shard["index"]
        if index in seen:
            raise OutputError(f"{part.path} and {seen[index].path} are both shard {index}/{count}")
        seen[index] = part
    missing = [str(index) for index in range(count) if index not in seen]
    if missing:
        more = f" and {len(missing) - 9} more" if len(missing) > 9 else ""
        raise OutputError(f"missing shards (of {count}): {', '.join(missing[:9])}{more}")
    for place, (index, part) in enumerate(seen.items()):
        if index != place:
            raise OutputError(f"{part.path} is shard {index}/{count}, not shard {place}; list the shards in order")


def _whole_run(manifests: Sequence[Manifest]) -> dict[str, Any] | None:
    """The options of the undivided run, from its shards' manifests."""
    options = changes.common([manifest.run or {} for manifest in manifests])
    return {name: value for name, value in options.items() if name not in SHARD_OPTIONS} or None


def _fixed_options(manifest: Manifest) -> dict[str, Any]:
    """The options that must be equal in all shards."""
    may_differ = (*SHARD_OPTIONS, *changes.MAY_CHANGE)
    return {name: value for name, value in (manifest.run or {}).items() if name not in may_differ}


def _check_changes(parts: Sequence[Part]) -> None:
    """Raise OutputError if the options of the complete run might have changed a shard's output; see changes.py."""
    options = changes.common([part.manifest.run or {} for part in parts])
    for part in parts:
        if not part.manifest.run:
            continue
        if differ := changes.differences_of_options(part.manifest, options, errors_path(part.path)):
            raise OutputError(f"{part.path} does not match the other shards: {'; '.join(differ)}; recreate it")


def combined(manifests: Sequence[Manifest]) -> Manifest:
    """The manifest of the joined file, without hashes."""
    first = manifests[0]
    return Manifest.of(
        _records(manifests),
        model=first.model,
        eod=first.eod,
        dtype=first.dtype,
        algorithm=first.algorithm,
        sample=first.sample,
        run=_whole_run(manifests) if first.shard else None,
    )


def _records(manifests: Sequence[Manifest]) -> list[InputRecord]:
    """The records of all inputs. The records of ranges of a file are joined into one."""
    records: list[InputRecord] = []
    for manifest in manifests:
        part = (manifest.shard or {}).get("range")
        if part and part[0]:
            records[-1] = _joined(records[-1], *manifest.inputs)
        else:
            records += manifest.inputs
    return records


def _joined(begin: InputRecord, rest: InputRecord) -> InputRecord:
    """The record of the beginning of a file, extended by the record of the next range, which may be empty."""
    names = ("size_bytes", "bytes", "documents", "tokens", "skipped", "text_bytes")
    added: dict[str, Any] = {name: (getattr(begin, name) or 0) + (getattr(rest, name) or 0) for name in names}
    added["seconds"] = None
    if begin.seconds is not None and rest.seconds is not None:
        added["seconds"] = round(begin.seconds + rest.seconds, 3)
    if rest.bytes:
        added["ends_with_separator"] = rest.ends_with_separator
    return replace(begin, **added)


def _identity(part: Part) -> InputFile:
    status = part.path.stat()
    return InputFile(str(part.path), "tokens", "none", status.st_size, status.st_mtime_ns)


def _differences(finished: Manifest, merged: Manifest) -> list[str]:
    """How a finished OUT differs from the join of these parts."""
    names = ("model", "eod", "dtype", "algorithm", "tokens", "documents", "bytes", "run")
    differ = [f"{name}: {_shown(getattr(finished, name))} instead of {_shown(getattr(merged, name))}" for name in names
              if getattr(finished, name) != getattr(merged, name)]  # fmt: skip
    return differ or ([] if finished.inputs == merged.inputs else ["inputs"])


def _append(output: Output, part: Part, progress: Progress, on_progress: Callable[[Progress], None]) -> None:
    """Append one part's ids and ends, and verify their hashes."""
    base = output.ids.n_bytes // np.dtype(part.manifest.dtype).itemsize

    def count(n_bytes: int) -> None:
        progress.add(Progress(bytes=n_bytes, compressed=n_bytes))
        on_progress(progress)

    for piece in _pieces(part.path, part.manifest.hash["tokens"]):
        output.ids.write(piece)
        count(len(piece))
    last = 0
    ends_path = sidecars(part.path)[0]
    for piece in _pieces(ends_path, part.manifest.hash["ends"]):
        ends = np.frombuffer(piece, "<u8")
        last = int(ends[-1])
        output.ends.write((ends + np.uint64(base)).view(np.uint8).data)
        count(len(piece))
    if part.manifest.documents and last != part.manifest.tokens:
        raise OutputError(f"{ends_path}: the last document ends at {last}, not at {part.manifest.tokens}")


def _pieces(path: Path, digests: list[str]) -> Iterator[memoryview]:
    """A file's bytes, in one reused buffer. Raises OutputError as soon as a chunk does not match its hash."""
    buffer = memoryview(bytearray(READ_BYTES))
    hashed, n_checked = ChunkHash(), 0

    def check(found: list[str]) -> int:
        for k in range(n_checked, max(len(found), n_checked)):
            if found[k : k + 1] != digests[k : k + 1]:
                begin, end = k * HASH_CHUNK_BYTES, min((k + 1) * HASH_CHUNK_BYTES, hashed.n_bytes)
                raise OutputError(f"{path}: damaged: the XXH64 of bytes {begin} to {end} does not match; recreate it")
        return len(found)

    with path.open("rb", buffering=0) as file:
        while n_read := file.readinto(buffer):
            hashed.update(buffer[:n_read])
            n_checked = check(hashed.digests)
            yield buffer[:n_read]
    check(hashed.state().all_digests())
