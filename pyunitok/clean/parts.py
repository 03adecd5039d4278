"""The parts of a corpus that is cleaned on several machines, and the merging of their results into one.

    CLEAN.0-of-4.journal.partial      part 0 is unfinished
    CLEAN.0-of-4.counts               the result of part 0's first pass (state.totals)
    CLEAN.totals                      the sum of the counts of all parts, once all of these exist
    CLEAN.0-of-4.json, HITS.0-of-4    the result and the report of part 0
    CLEAN.json, HITS                  the result and report of all parts, whose files are then removed

With --shard, these files are next to CLEAN and HITS; with --ray, they are in CLEAN.parts until the run is complete. A
part consists of complete files of the corpus, so the files in CLEAN are the same as after an undivided run.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import zstandard

from pyunitok.clean.matching import Int64s
from pyunitok.clean.state import decoded, encoded
from pyunitok.corpus.compressions import by_suffix
from pyunitok.corpus.rewriting import empty
from pyunitok.corpus.source import Source
from pyunitok.disk.outfile import new_file, write_whole
from pyunitok.errors import OutputError
from pyunitok.run.journal import journal_path
from pyunitok.run.output import parts_folder
from pyunitok.run.shard import RunShard, shard_suffix

T = TypeVar("T")
RUN = "all parts"  # the key of the undivided run's hash in the files of its parts


@dataclass(frozen=True)
class CleanPart:
    """The inputs and outputs of one part, or of an undivided run.

    base     the prefix of the names of the journal and the result
    reports  name of a report -> its path
    shard    None: the run is undivided
    """

    sources: Sequence[Source]
    targets: Sequence[Path | None]
    base: Path
    reports: dict[str, Path]
    shard: RunShard | None = None

    @property
    def result_path(self) -> Path:
        return self.base.with_name(self.base.name + ".json")

    @property
    def has_begun(self) -> bool:
        """Whether a journal, result or counts of this part exist."""
        return any(path.exists() for path in (journal_path(self.base), self.result_path, self.counts_path))

    @property
    def counts_path(self) -> Path:
        return self.base.with_name(self.base.name + ".counts")


def named_in(folder: Path | None, path: Path, index: int, count: int) -> Path:
    """The path of a part's file; `path` is the path of the same file in an undivided run."""
    return (folder or path.parent) / (path.name + shard_suffix(index, count))


def own_files(base: Path, report: Path | None) -> list[Path]:
    """The files, apart from CLEAN, that a run and its parts may have left. They are never read as inputs."""
    found = [path for path in parts_folder(base).rglob("*") if path.is_file()]
    for path, suffixes in ((base, r"\.(json|errors\.jsonl|counts|totals)"), (report or base, "")):
        named = re.compile(re.escape(path.name) + rf"(\.\d+-of-\d+)?({suffixes})")
        beside = path.parent.iterdir() if path.parent.is_dir() else ()
        found += [file for file in beside if named.fullmatch(file.name) and file.is_file() and file != base]
    return found + ([report] if report else [])


def write_array(path: Path, run: str, array: Int64s) -> None:
    write_whole(path, json.dumps({RUN: run, "array": encoded(array)}).encode())


def read_array(path: Path, run: str) -> Int64s | None:
    """The array in a part's file; None if the file is missing or belongs to a different run."""
    return read_result(path, run, lambda values: decoded(values["array"]))


def read_result(path: Path, run: str, of: Callable[[dict[str, Any]], T]) -> T | None:
    """Call `of` with the JSON in a part's file, and return the result; None if the file is missing or belongs to a
    different run. Raises OutputError if the file is damaged."""
    try:
        values = json.loads(path.read_bytes())
        return of(values) if values[RUN] == run else None
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError, OSError, zstandard.ZstdError) as error:
        raise OutputError(f"{path} is damaged ({error}); remove it, and run this part again") from None


def totals_of(parts: Sequence[CleanPart], path: Path, run: str) -> Int64s | list[int]:
    """The sum of the counts of all parts, which is read from the file at `path` or written to it. If the counts of some
    parts are missing, returns a list of the numbers of these parts."""
    found = read_array(path, run)
    if found is not None:
        return found
    if missing := [k for k, part in enumerate(parts) if not part.counts_path.exists()]:
        return missing
    counts = [read_array(part.counts_path, run) for part in parts]
    if missing := [k for k, array in enumerate(counts) if array is None]:
        return missing
    ret: Int64s = np.sum([array for array in counts if array is not None], axis=0)
    write_array(path, run, ret)
    return ret


def join_reports(parts: Sequence[CleanPart], reports: dict[str, Path]) -> None:
    """Concatenate the reports of all parts, in order, into one file for each report."""
    for name, path in reports.items():
        with new_file(path) as into:
            for part in parts:
                with part.reports[name].open("rb") as file:
                    shutil.copyfileobj(file, into, 1 << 20)
            if not into.tell():
                into.write(empty(by_suffix(path.suffix).name))


def remove_files(parts: Sequence[CleanPart], totals: Path) -> None:
    """Remove the files that are not needed once the result of all parts exists."""
    for part in parts:
        for path in (part.result_path, part.counts_path, *part.reports.values()):
            path.unlink(missing_ok=True)
    totals.unlink(missing_ok=True)
