"""Options that may change when a run is resumed: --on-error and --max-line, unless they would have changed the output.

    raise ──▶ skip ◀──▶ skip-file      a bad line ends the run; the next one skips it
      ▲         │            │
      └─────────┴────────────┘         as long as nothing was skipped, or no file left out

A higher --max-line is allowed unless a line was skipped for its length. A lower one is not: a line that was written
already may be longer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyunitok.corpus.reading import MAX_LINE_BYTES
from pyunitok.errors import OutputError
from pyunitok.run.identity import Identity
from pyunitok.run.journal import Journal
from pyunitok.tokens.manifest import ERRORS_SUFFIX, Manifest

ON_ERROR, LONGEST = "on error", "longest line"
MAY_CHANGE = (ON_ERROR, LONGEST)
LIMIT = "max_line_bytes"  # in a shard's manifest
TOO_LONG = re.compile(r"(byte \d+: )?longer than \d+ bytes")  # corpus/json_text.py writes it


def differences(journal: Journal, now: Identity, errors: Path) -> list[str]:
    """Why the journal's run cannot be resumed as `now`, a phrase for each reason; none if it can.

    errors  OUT.errors.jsonl while it is unfinished
    """
    if journal.manifest is not None or not can_change(journal.run, now):
        return journal.run.differences(now, journal.n_inputs_read)
    try:
        changed = _Written.of_journal(journal, errors).differences(now.options)
    except (ValueError, TypeError, LookupError) as error:
        changed = [f"the journal is damaged: {error}"]
    return changed_to(journal.run, now).differences(now, journal.n_inputs_read) + changed


def differences_of_part(finished: Manifest, now: Identity, errors: Path) -> list[str]:
    """Like differences() for a finished shard, which stays if the changed options would not have changed its output."""
    before = Identity.of_manifest(finished)
    if not can_change(before, now):
        return before.differences(now)
    return changed_to(before, now).differences(now) + fits(finished, now.options, errors)


def fits(finished: Manifest, options: dict[str, Any], errors: Path) -> list[str]:
    """Why a shard's output might have been different with these options."""
    return _Written.of_manifest(finished, errors).differences(options)


def common(all_options: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The options of the whole run; its shards may have been made with different values of MAY_CHANGE."""
    if all([one.get(name) for name in MAY_CHANGE] == [all_options[0].get(name) for name in MAY_CHANGE]
           for one in all_options):  # fmt: skip
        return all_options[0]
    order = ("raise", "skip", "skip-file")
    on_error = max((options.get(ON_ERROR, "raise") for options in all_options), key=order.index)
    limits = [options[LONGEST] for options in all_options if options.get(LONGEST) is not None]
    return all_options[0] | {ON_ERROR: on_error, LONGEST: max(limits, default=None)}


def can_change(before: Identity, now: Identity) -> bool:
    return ON_ERROR in before.options and ON_ERROR in now.options


def changed_to(before: Identity, now: Identity) -> Identity:
    """The earlier run with the current values of MAY_CHANGE."""
    return replace(before, options=before.options | {name: now.options.get(name) for name in MAY_CHANGE})


def limit_so_far(progress: dict[str, Any]) -> int:
    """The longest line that a run may have read."""
    limit = progress[LONGEST]
    if type(limit) is not int:
        raise ValueError("the longest line is not a number")
    return limit


@dataclass(frozen=True)
class _Written:
    """The output of a run so far.

    on_error, longest  the run's options
    limit              the longest line that it may have read; 0: it has read nothing
    n_lines, n_files   skipped lines and files
    errors, n_listed   the file that lists them, and how many bytes of it count
    """

    on_error: str
    longest: int | None
    limit: int
    n_lines: int
    n_files: int
    errors: Path
    n_listed: int

    @classmethod
    def of_journal(cls, journal: Journal, errors: Path) -> _Written:
        options, progress = journal.run.options, journal.progress
        counts, limit = progress["counts"], limit_so_far(progress) if progress["bytes"] else 0
        n_listed = journal.files[ERRORS_SUFFIX].n_bytes if ERRORS_SUFFIX in journal.files else 0
        n_lines, n_files = sum(item[4] for item in counts), sum(item[6] is not None for item in counts)
        return cls(options[ON_ERROR], options.get(LONGEST), limit, n_lines, n_files, errors, n_listed)

    @classmethod
    def of_manifest(cls, finished: Manifest, errors: Path) -> _Written:
        options = finished.run or {}
        longest = options.get(LONGEST)
        limit = (finished.shard or {}).get(LIMIT) or longest or MAX_LINE_BYTES
        n_lines = sum(record.skipped for record in finished.inputs)
        n_files = sum(record.error is not None for record in finished.inputs)
        n_listed = errors.stat().st_size if n_lines and errors.exists() else 0
        return cls(options.get(ON_ERROR, "raise"), longest, limit if finished.bytes else 0, n_lines, n_files, errors,
                   n_listed)  # fmt: skip

    def differences(self, options: dict[str, Any]) -> list[str]:
        """A phrase for each reason why other options might have given another output."""
        is_, limit = options.get(ON_ERROR), options.get(LONGEST)
        found = []
        if self.on_error != is_ and (self.n_files or (self.n_lines and is_ == "raise")):
            left_out = f"{self.n_files} files were left out" if self.n_files else f"{self.n_lines} lines were skipped"
            found.append(f"{ON_ERROR}: {self.on_error} then, {is_} now, and {left_out}")
        if limit not in (None, self.limit, self.longest) and self.limit:
            if limit < self.limit:
                why = "lines that are written already may be longer"
                found.append(f"--max-line: {self.limit} then, {limit} now, and {why}")
            elif self._any_too_long():
                found.append(f"--max-line: {self.limit} then, {limit} now, and longer lines were skipped")
        return found

    def _any_too_long(self) -> bool:
        """Whether a line was skipped for its length."""
        n_left = self.n_listed
        if not n_left:
            return False
        try:
            with self.errors.open("rb") as file:
                for line in file:
                    n_left -= len(line)
                    if n_left < 0:
                        break
                    if TOO_LONG.match(json.loads(line)["error"]):
                        return True
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise OutputError(f"{self.errors}: damaged ({error}); --overwrite starts again") from error
        return False
