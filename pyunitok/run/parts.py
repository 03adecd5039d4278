"""tokenize_in_parts() divides a run among several machines: it plans units, finds existing parts, and joins all parts.

    OUT.parts/plan.json                 the run's identity and its units (units.py)
    OUT.parts/0/OUT.0-of-5              a finished part; OUT.0-of-5.ends, .json … next to it
    OUT.parts/attempts/                 parts being written; useless after their worker has stopped

         plan ──▶ parts, on any machine ──▶ join ──▶ OUT, OUT.ends, OUT.json …; OUT.parts is removed

The driver reads only the names and sizes of the inputs. One of its threads joins finished parts, in order, while other
parts are being made. A driver may be killed at any time: the next one finds the plan and the parts, and joins again
from the first part.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import xxhash

from pyunitok.corpus.source import Source, total_bytes
from pyunitok.disk.outfile import OutputLock, make_folder, partial_name, write_whole
from pyunitok.disk.url import is_url
from pyunitok.errors import InputError, OutputError
from pyunitok.run import changes, merge
from pyunitok.run.identity import Identity
from pyunitok.run.output import EXTRA, Output, find, parts_folder
from pyunitok.run.plan import SILENT, Callbacks, Plan, Progress, Start, describe_model
from pyunitok.run.units import (
    ATTEMPT,
    ATTEMPTS,
    Each,
    Unit,
    UnitContext,
    check_units,
    default_unit_bytes,
    each,
    find_part,
    make_part,
    plan_units,
)
from pyunitok.tokens.manifest import ERRORS_SUFFIX, Manifest

PLAN_NAME = "plan.json"
SHOW_SECONDS = 0.2  # the time between progress reports of the join
LOOKUP_THREADS = 16  # threads that find existing parts on slow file systems


@dataclass(frozen=True)
class Planned:
    """The contents of plan.json. replaces: whether the run may replace an older OUT."""

    run: Identity
    replaces: bool
    units: list[Unit]

    def write(self, folder: Path) -> None:
        values = self.run.to_json() | {"replaces": self.replaces, "units": [unit.to_json() for unit in self.units]}
        write_whole(folder / PLAN_NAME, json.dumps(values | {"xxh64": _digest(values)}).encode())

    @classmethod
    def read(cls, folder: Path) -> Planned | None:
        """Read plan.json; None if the file does not exist. Raises OutputError if it is damaged."""
        try:
            values = json.loads((folder / PLAN_NAME).read_bytes())
            if values.pop("xxh64", None) != _digest(values):
                raise ValueError("its XXH64 does not match")
            run = Identity.from_json(values)
            units = [Unit.from_json(index, item) for index, item in enumerate(values["units"])]
            check_units(units, len(run.inputs))
            if not isinstance(values["replaces"], bool):
                raise TypeError("a field has the wrong type")
            return cls(run, values["replaces"], units)
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, AttributeError, OSError, RecursionError) as error:
            raise OutputError(f"{folder / PLAN_NAME}: damaged ({error}); --overwrite starts again") from error


def _digest(values: dict[str, Any]) -> str:
    return xxhash.xxh64_hexdigest(json.dumps(values, sort_keys=True).encode())


def tokenize_in_parts(plan: Plan, each: Each = each, callbacks: Callbacks = SILENT) -> Manifest:
    """Like pipeline.tokenize, but `each` runs the units, with options.n_threads threads per unit.

    If options.unit_bytes is None, it is chosen from the sizes of the inputs; see units.plan_units. With
    options.keep_parts, the parts, each a token file, are kept, and the manifest has no hashes. After all parts have
    been made, on_merge is called while the last parts are joined.

    Also raises InputError if an input is a pipe, and OutputError if OUT.parts belongs to another run or another driver
    is using it.
    """
    _check(plan)
    plan = replace(plan, out=plan.out.absolute(), model=plan.model or describe_model(plan.tokenizer))
    overwrite, keep_parts = plan.options.overwrite, plan.options.keep_parts
    folder, run = parts_folder(plan.out), plan.identity()
    lock = OutputLock(folder)
    try:
        _check_folder(folder, overwrite)
        planned = None if overwrite else Planned.read(folder)
        replaces = overwrite or (planned is not None and planned.replaces)
        finished = _finished(plan.out, run, replaces)
        if finished is not None:
            callbacks.on_start(Start(finished.bytes, finished.documents, complete=True))
        else:
            planned = _planned(plan, folder, planned, each)
            work = UnitContext.of(plan, folder, planned.units)
            make = partial(_make_parts, work, plan.sources, planned.units, each, callbacks)
            if keep_parts:
                make(lambda _: None)
                finished = _manifest(work, run)
            else:
                finished = _make_and_join(work, make, run, replaces, callbacks)
        if not keep_parts:
            _remove(folder, plan.out)
        return finished
    finally:
        _remove_attempts(folder)  # all tasks have ended
        lock.release()


def _check(plan: Plan) -> None:
    """Check everything that can be checked before anything is written."""
    plan.check()
    if plan.shard:
        raise OutputError("a shard of a run cannot be divided again; remove the shard option")
    for source in plan.sources:
        if source.opened is not None or (source.size_bytes is None and not is_url(source.path)):
            raise InputError(f"{source.name}: other machines cannot read a pipe; name a file")


def _check_folder(folder: Path, overwrite: bool) -> None:
    """Raise OutputError if OUT.parts is a link, or if it may belong to the user, because it contains files but no
    plan."""
    for path in (folder, folder / ATTEMPTS, folder / PLAN_NAME):
        if path.is_symlink():
            raise OutputError(f"{path} is a symbolic link, and its target would be overwritten; remove it")
    if overwrite or not folder.exists() or (folder / PLAN_NAME).exists():
        return
    if not folder.is_dir():
        raise OutputError(f"{folder} is not a folder, but the run needs this name for its parts; move it")
    if any(path.name != partial_name(folder / PLAN_NAME).name for path in folder.iterdir()):
        raise OutputError(
            f"{folder} holds files but no {PLAN_NAME}, so they may be yours; move the folder away, or use --overwrite,"
            " which removes only parts"
        )


def _finished(out: Path, run: Identity, replaces: bool) -> Manifest | None:
    """The manifest if this run is finished. Raises OutputError if a different OUT exists."""
    found = find(out, run, overwrite=replaces)
    if found is None or isinstance(found, Manifest):
        return found
    if found.manifest is None:
        raise OutputError(
            f"{out} was started on one machine; run the same command without --ray to resume it, or use --overwrite"
            " to start again"
        )
    with Output(out, run) as output:  # finishes an interrupted commit
        return output.finished


def _planned(plan: Plan, folder: Path, planned: Planned | None, each: Each) -> Planned:
    """The existing plan, or a new one. Raises OutputError if another run is in progress."""
    unit_bytes = plan.options.unit_bytes or default_unit_bytes(plan.sources)
    run = plan.identity()
    run = Identity(run.options | {"unit": unit_bytes}, run.inputs)
    if planned is not None:
        differences = changes.with_options_of(planned.run, run).differences(run)
        if differences:
            raise OutputError(
                f"{folder} was started by another command ({'; '.join(differences)}); --overwrite starts again"
            )
        if planned.run.differences(run):
            planned = _replanned(planned, plan, run, unit_bytes, each)
            planned.write(folder)
    else:
        units = plan_units(plan, unit_bytes, each)
        _remove(folder, plan.out)
        make_folder(folder)
        planned = Planned(run, plan.options.overwrite, units)
        planned.write(folder)
    (folder / ATTEMPTS).mkdir(exist_ok=True)
    return planned


def _replanned(planned: Planned, plan: Plan, run: Identity, unit_bytes: int, each: Each) -> Planned:
    """Plan the units again, because changed options (see changes.py) may require the line numbers of the units.
    find_part() rejects parts that the new options would have changed."""
    units = plan_units(plan, unit_bytes, each)
    then, now = ([(unit.first, unit.end, unit.part) for unit in some] for some in (planned.units, units))
    if then != now:
        raise OutputError(f"{parts_folder(plan.out)}: its units do not match the inputs; --overwrite starts again")
    return Planned(run, planned.replaces, units)


def _remove(folder: Path, out: Path) -> None:
    """Remove the parts and the plan from OUT.parts, and the folder itself unless other files are there.

    The plan is removed last, because a folder with files but no plan may belong to the user.
    """
    if folder.is_symlink() or not folder.is_dir():
        return
    is_part = re.compile(re.escape(out.name) + r"\.\d+-of-\d+(\.|$)")
    for numbered in folder.glob("[0-9]*"):
        if not numbered.is_symlink() and numbered.is_dir():
            for path in numbered.iterdir():
                if is_part.match(path.name):
                    path.unlink()
            _remove_empty(numbered)
    _remove_attempts(folder)
    for path in (partial_name(folder / PLAN_NAME), folder / PLAN_NAME):
        path.unlink(missing_ok=True)
    _remove_empty(folder)


def _remove_attempts(folder: Path) -> None:
    """Remove the files of unfinished parts."""
    attempts = folder / ATTEMPTS
    if folder.is_symlink() or attempts.is_symlink() or not attempts.is_dir():
        return
    for path in attempts.iterdir():
        if ATTEMPT.fullmatch(path.name):
            shutil.rmtree(path, ignore_errors=True)
    _remove_empty(attempts)


def _remove_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):  # if the folder is not empty
        folder.rmdir()


def _make_parts(
    work: UnitContext, sources: Sequence[Source], units: Sequence[Unit], each: Each, callbacks: Callbacks,
    on_part: Callable[[int], None],
) -> None:  # fmt: skip
    """Make all missing parts. on_part is called with the number of each part once it exists."""
    progress = Progress(compressed_total=total_bytes(sources))
    items = [(unit, sources[unit.first : unit.end]) for unit in units]
    with ThreadPoolExecutor(LOOKUP_THREADS) as pool:
        found = list(pool.map(partial(find_part, work), items))
    for number, counts in enumerate(found):
        if counts is not None:
            progress.add(counts)
            on_part(number)
    callbacks.on_start(Start(progress.bytes, progress.documents, compressed=progress.compressed))
    missing = [number for number, counts in enumerate(found) if counts is None]
    for k, counts in each(make_part, work, [items[number] for number in missing]):
        progress.add(counts)
        on_part(missing[k])
        callbacks.on_progress(progress)


def _make_and_join(
    work: UnitContext, make: Callable[[Callable[[int], None]], None], run: Identity, replaces: bool,
    callbacks: Callbacks,
) -> Manifest:
    extra = EXTRA if work.plan.options.metadata else [ERRORS_SUFFIX]
    with Output(work.plan.out, run, overwrite=replaces, extra=extra) as output, _Join(work, output) as join:
        make(join.add)
        manifest = _manifest(work, run)
        join.finish(manifest.tokens * work.plan.id_bytes + manifest.documents * 8, callbacks.on_merge)
        output.commit(manifest)
    return manifest


def _manifest(work: UnitContext, run: Identity) -> Manifest:
    """The manifest of the joined parts, without hashes. Raises OutputError if the parts do not match."""
    parts = merge.open_parts([work.path_of(index) for index in range(work.n_units)], work.plan.out)
    return replace(merge.combined([part.manifest for part in parts]), run=run.options)


class _Join:
    """Joins parts in order, in a thread. A context manager that cancels queued parts on exit."""

    def __init__(self, work: UnitContext, output: Output) -> None:
        self._work = work
        self._joiner = merge.Joiner(output, has_metadata=work.plan.options.metadata)
        self._pool = ThreadPoolExecutor(1, "join")
        self._finished: set[int] = set()
        self._next = 0
        self._joining: deque[Future[None]] = deque()

    def __enter__(self) -> _Join:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def add(self, number: int) -> None:
        """Queue a finished part. Raises the error if joining an earlier part has failed."""
        self._finished.add(number)
        while self._next in self._finished:
            self._finished.remove(self._next)
            self._joining.append(self._pool.submit(self._append, self._next))
            self._next += 1
        while self._joining and self._joining[0].done():
            self._joining.popleft().result()

    def finish(self, n_bytes: int, on_merge: Callable[[Progress], None]) -> None:
        """Wait until all parts are joined. n_bytes: their total size, for progress."""
        progress = self._joiner.progress
        progress.compressed_total = n_bytes
        while self._joining:
            wait([self._joining[0]], SHOW_SECONDS)
            on_merge(progress)
            if self._joining[0].done():
                self._joining.popleft().result()
        self._joiner.end()

    def _append(self, number: int) -> None:
        part = merge.open_part(self._work.path_of(number), self._work.plan.out)
        self._joiner.append(part)
