"""Divides a run into units, the tasks for a cluster. Each unit writes one part of the output.

    inputs   [ a.jsonl.zst, large           | b | c | d, small | e.parquet ]
    units    [ frames 0-9 | 10-19 | 20-29   |   b c d          | e         ]    0, 1, 2, 3, 4: the order of the output

A unit is a range of a file (corpus/ranges.py), a complete file, or several small files. Its part is a token file and a
shard of the run (shard.py), so merge.py can join the parts and check that none is missing.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import xxhash

from pyunitok.corpus.position import BEGINNING, Position
from pyunitok.corpus.ranges import (
    UNCOUNTED,
    Range,
    counted,
    described_range,
    followed_by,
    open_range,
    plan_ranges,
    separator_of,
)
from pyunitok.corpus.source import Source
from pyunitok.disk.outfile import make_folder, sync_folder
from pyunitok.disk.url import is_url
from pyunitok.errors import InputError, OutputError
from pyunitok.run.output import find, own_files
from pyunitok.run.pipeline import tokenize
from pyunitok.run.plan import Plan, Progress
from pyunitok.run.shard import RunShard, shard_suffix
from pyunitok.tokens.manifest import Manifest

# The default number of units: units are then large enough that startup costs little, and small enough to repeat.
N_UNITS = 4096
MIN_UNIT_BYTES, MAX_UNIT_BYTES = 64 << 20, 4 << 30
ATTEMPTS = "attempts"  # the folder for parts being written
ATTEMPT = re.compile(r"\d+\.[0-9a-f]{32}")
FOLDER_PARTS = 1000  # the number of parts per folder, because file systems are slow with a million names

WHOLE = Range()

Item = TypeVar("Item")
Result = TypeVar("Result")


class Each(Protocol):
    """Calls function(shared, item) for each item, on any machine and in any order. Yields the number and result of each
    finished item. Raises the first error."""

    def __call__(
        self, function: Callable[[Any, Item], Result], shared: Any, items: Sequence[Item]
    ) -> Iterator[tuple[int, Result]]: ...


def each(function: Callable[[Any, Item], Result], shared: Any, items: Sequence[Item]) -> Iterator[tuple[int, Result]]:
    """The Each of a single process: one item after another."""
    for number, item in enumerate(items):
        yield number, function(shared, item)


@dataclass(frozen=True)
class Unit:
    """The documents of one task: sources[first:end], or a range of sources[first].

    index   from 0, in the order of the output
    before  the position where the range starts, or UNCOUNTED
    """

    index: int
    first: int
    end: int
    part: Range = WHOLE
    before: Position = BEGINNING

    def to_json(self) -> list[Any]:
        before = None if self.before == UNCOUNTED else self.before.to_json()
        return [self.first, self.end, self.part.begin, self.part.end, before]

    @classmethod
    def from_json(cls, index: int, values: list[Any]) -> Unit:
        first, end, begin, stop, before = values
        return cls(index, first, end, Range(begin, stop), Position.from_json(before) if before else UNCOUNTED)


def check_units(units: Sequence[Unit], n_sources: int) -> None:
    """Raise ValueError unless the units cover all sources, each once and in order."""
    at = (0, 0)  # the source, and the byte in it, where the next unit must begin
    for unit in units:
        begin, end = unit.part.begin, unit.part.end
        for number in (unit.first, unit.end, begin, 0 if end is None else end):
            if type(number) is not int or number < 0:
                raise ValueError(f"a field of unit {unit.index} is not a number")
        n_sources_here = unit.end - unit.first
        if (unit.first, begin) != at or n_sources_here < 1 or (unit.part != WHOLE and n_sources_here != 1):
            raise ValueError(f"unit {unit.index} does not follow the unit before it")
        if end is not None and end <= begin:
            raise ValueError(f"unit {unit.index} is empty")
        at = (unit.end, 0) if end is None else (unit.first, end)
    if at != (n_sources, 0):
        raise ValueError("units are missing")


def default_unit_bytes(sources: Sequence[Source]) -> int:
    """The default unit size in bytes of the stored files; depends only on their sizes."""
    total = sum(source.size_bytes or 0 for source in sources)
    return max(MIN_UNIT_BYTES, min(MAX_UNIT_BYTES, total // N_UNITS))


def plan_units(plan: Plan, n_bytes: int, each: Each = each) -> list[Unit]:
    """All units of a run, each of about n_bytes of the stored files.

    Scans large files for zstd frames. If line numbers are required (metadata, skipped lines), reads these files once to
    count lines. With sampling, no file is divided, because samples depend on document numbers in the input. Raises
    InputError if a file cannot be read.
    """
    divided = {} if plan.options.sample else _ranges(plan, n_bytes, each)
    units: list[Unit] = []
    n_free = 0  # bytes left for small files in the last unit
    for number, source in enumerate(plan.sources):
        size = n_bytes if source.size_bytes is None else source.size_bytes + 1
        if number in divided:
            n_free = 0
            for part, before in divided[number]:
                units.append(Unit(len(units), number, number + 1, part, before))
        elif size <= n_free:
            n_free -= size
            units[-1] = replace(units[-1], end=number + 1)
        else:
            n_free = n_bytes - size
            units.append(Unit(len(units), number, number + 1))
    return units


def _ranges(plan: Plan, n_bytes: int, each: Each) -> dict[int, list[tuple[Range, Position]]]:
    """The ranges of each divided source, and the position where each range starts."""
    large = [number for number, source in enumerate(plan.sources) if (source.size_bytes or 0) > n_bytes]
    separators = {number: separator_of(plan.sources[number], plan.options.separator) for number in large}
    items = [(plan_ranges, plan.sources[number], separators[number], n_bytes) for number in large]
    parts = {large[k]: found for k, found in each(_call_in, str(Path.cwd()), items) if len(found) > 1}
    pairs = [(number, part) for number in sorted(parts) for part in parts[number]]
    if not (plan.options.metadata or plan.options.skip_bad):
        starts = [UNCOUNTED if part.begin else BEGINNING for _, part in pairs]
    else:
        counts = [(counted, plan.sources[number], part, separators[number]) for number, part in pairs]
        found = dict(each(_call_in, str(Path.cwd()), counts))
        starts = list[Position]()
        for k, (_, part) in enumerate(pairs):
            starts.append(followed_by(starts[-1], found[k - 1]) if part.begin else BEGINNING)
    divided: dict[int, list[tuple[Range, Position]]] = {}
    for (number, part), start in zip(pairs, starts, strict=True):
        divided.setdefault(number, []).append((part, start))
    return divided


def _call_in(cwd: str, item: tuple[Callable[..., Result], Source, Any, Any]) -> Result:
    """Call a function with a source and further arguments, in the driver's directory."""
    function, source, *arguments = item
    change_folder(cwd, [source])
    return function(source, *arguments)


# --------------------------------------------------------------------------------------------------------- parts


@dataclass(frozen=True)
class UnitContext:
    """Values shared by all units of a run.

    plan        the plan without its sources
    folder      the folder for the parts; all machines must see it
    n_units     the number of units
    all_inputs  see RunShard
    cwd         the directory for relative paths
    """

    plan: Plan
    folder: Path
    n_units: int
    all_inputs: str
    cwd: str

    @classmethod
    def of(cls, plan: Plan, folder: Path, units: Sequence[Unit]) -> UnitContext:
        listed = [[source.path, source.size_bytes, source.format] for source in plan.sources]
        divided = [[unit.first, unit.end, unit.part.begin, unit.part.end] for unit in units]
        digest = xxhash.xxh64_hexdigest(json.dumps([listed, divided]).encode())
        return cls(replace(plan, sources=()), folder, len(units), digest, str(Path.cwd()))

    def path_of(self, index: int) -> Path:
        """The path of a unit's part."""
        n_digits = len(str((self.n_units - 1) // FOLDER_PARTS))
        name = self.plan.out.name + shard_suffix(index, self.n_units)
        return self.folder / f"{index // FOLDER_PARTS:0{n_digits}}" / name


def find_part(work: UnitContext, item: tuple[Unit, Sequence[Source]]) -> Progress | None:
    """The counts of the unit's part, if it is finished. Raises OutputError if the part belongs to another run."""
    unit, sources = item
    path = work.path_of(unit.index)
    if not path.exists():
        return None
    described = [described_range(source, unit.part) for source in sources]
    found = find(path, _plan_of(work, unit, described).identity())
    assert isinstance(found, Manifest)
    return _counts(found)


def make_part(work: UnitContext, item: tuple[Unit, Sequence[Source]]) -> Progress:
    """Make a unit's part. Several workers may make the same part at once, because they write the same bytes.

    The part is written under a unique name and renamed when complete, so a worker that was wrongly presumed lost does
    no harm. Raises InputError and OutputError like pipeline.tokenize.
    """
    unit, sources = item
    found = find_part(work, item)
    if found:
        return found
    change_folder(work.cwd, sources)
    path = work.path_of(unit.index)
    attempt = work.folder / ATTEMPTS / f"{unit.index}.{uuid.uuid4().hex}"
    if path.parent.is_symlink():
        raise OutputError(f"{path.parent} is a symbolic link, and its target would be overwritten; remove it")
    make_folder(attempt)
    make_folder(path.parent)
    try:
        manifest = _tokenize(work, unit, sources, attempt / path.name)
        _rename_all(attempt / path.name, path)
    finally:
        shutil.rmtree(attempt, ignore_errors=True)
    return _counts(manifest)


def _tokenize(work: UnitContext, unit: Unit, sources: Sequence[Source], out: Path) -> Manifest:
    try:
        return tokenize(replace(_plan_of(work, unit, _opened(work, unit, sources)), out=out))
    except InputError:
        if unit.before != UNCOUNTED:
            raise
    # Count the lines before the range, and read the range again, so that the error names the line.
    before = counted(sources[0], Range(0, unit.part.begin), separator_of(sources[0], work.plan.options.separator))
    unit = replace(unit, before=followed_by(BEGINNING, before))
    plan = _plan_of(work, unit, _opened(work, unit, sources))
    return tokenize(replace(plan, out=out, options=replace(plan.options, overwrite=True)))


def _opened(work: UnitContext, unit: Unit, sources: Sequence[Source]) -> list[Source]:
    return [open_range(source, unit.part, separator_of(source, work.plan.options.separator)) for source in sources]


def _plan_of(work: UnitContext, unit: Unit, sources: Sequence[Source]) -> Plan:
    span = None if unit.part == WHOLE else (unit.part.begin, unit.part.end)
    shard = RunShard(unit.index, work.n_units, unit.first, work.all_inputs, span)
    options = replace(work.plan.options, overwrite=False)
    return replace(work.plan, options=options, sources=sources, shard=shard, before=unit.before, resumable=False)


def change_folder(cwd: str, sources: Sequence[Source]) -> None:
    """Change to the driver's directory if a path is relative."""
    if any(not (is_url(source.path) or Path(source.path).is_absolute()) for source in sources):
        try:
            os.chdir(cwd)
        except OSError as error:
            raise InputError(f"{cwd}: cannot be opened: {error.strerror}; use absolute paths for inputs") from error


def _rename_all(made: Path, path: Path) -> None:
    """Rename the finished files, the token file last."""
    for file in own_files(made).finished[::-1]:
        if file.exists():
            file.replace(path.with_name(path.name + file.name.removeprefix(made.name)))
    sync_folder(path.parent)


def _counts(manifest: Manifest) -> Progress:
    compressed = sum(record.size_bytes or 0 for record in manifest.inputs)
    return Progress(manifest.bytes, manifest.text_bytes, manifest.tokens, manifest.documents, compressed)
