"""Decides whether a resumed run may change --on-error and --max-line. It may if the output so far would be the same.

    raise ──▶ skip ◀──▶ skip-file      with "raise" a bad line ends the run; the resumed run may skip it
      ▲         │            │
      └─────────┴────────────┘         "raise" only if nothing was skipped so far; "skip" only if no file was skipped

--max-line may be raised unless a line was skipped because of its length. It may not be lowered, because a longer line
may have been written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyunitok.corpus.reading import MAX_LINE_BYTES
from pyunitok.errors import OutputError, count
from pyunitok.run.identity import Identity
from pyunitok.run.journal import Journal
from pyunitok.tokens.manifest import ERRORS_SUFFIX, Manifest

ON_ERROR, LONGEST = "on error", "longest line"
MAY_CHANGE = (ON_ERROR, LONGEST)
LIMIT = "max_line_bytes"  # a field of a shard's manifest
TOO_LONG = re.compile(r"(byte \d+: )?longer than \d+ bytes")  # matches a message of corpus/json_text.py


def differences(journal: Journal, now: Identity, errors: Path) -> list[str]:
    """The reasons why the journal's run cannot be resumed as `now`; empty if it can.

    errors  the unfinished OUT.errors.jsonl
    """
    if journal.manifest is not None or not can_change(journal.run, now):
        return journal.run.differences(now, journal.n_inputs_read)
    try:
        changed = _Written.of_journal(journal, errors).differences(now.options)
    except (ValueError, TypeError, LookupError) as error:
        changed = [f"the journal is damaged: {error}"]
    return with_options_of(journal.run, now).differences(now, journal.n_inputs_read) + changed


def differences_of_part(finished: Manifest, now: Identity, errors: Path) -> list[str]:
    """Like differences(), but for a finished shard. Empty if the new options would have produced the same output."""
    before = Identity.of_manifest(finished)
    if not can_change(before, now):
        return before.differences(now)
    return with_options_of(before, now).differences(now) + differences_of_options(finished, now.options, errors)


def differences_of_options(finished: Manifest, options: dict[str, Any], errors: Path) -> list[str]:
    """The reasons why a shard's output might have been different with these options."""
    return _Written.of_manifest(finished, errors).differences(options)


def common(all_options: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The options of the undivided run, whose shards may have different values of the options in MAY_CHANGE."""
    if all([one.get(name) for name in MAY_CHANGE] == [all_options[0].get(name) for name in MAY_CHANGE]
           for one in all_options):  # fmt: skip
        return all_options[0]
    order = ("raise", "skip", "skip-file")
    on_error = max((options.get(ON_ERROR, "raise") for options in all_options), key=order.index)
    limits = [options[LONGEST] for options in all_options if options.get(LONGEST) is not None]
    return all_options[0] | {ON_ERROR: on_error, LONGEST: max(limits, default=None)}


def can_change(before: Identity, now: Identity) -> bool:
    return ON_ERROR in before.options and ON_ERROR in now.options


def with_options_of(before: Identity, now: Identity) -> Identity:
    """The earlier run with the new values of the options in MAY_CHANGE."""
    return replace(before, options=before.options | {name: now.options.get(name) for name in MAY_CHANGE})


def limit_so_far(progress: dict[str, Any]) -> int:
    """The highest line limit of a run so far."""
    limit = progress[LONGEST]
    if type(limit) is not int:
        raise ValueError("the longest line is not a number")
    return limit


@dataclass(frozen=True)
class _Written:
    """The output of a run so far.

    on_error, longest  the run's options
    limit              the highest line limit so far; 0 if nothing was read
    n_lines, n_files   skipped lines and files
    errors, n_listed   the file that lists the skipped lines and files, and the number of its bytes that are valid
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
        """The reasons why these options might have produced a different output."""
        is_, limit = options.get(ON_ERROR), options.get(LONGEST)
        found = []
        if self.on_error != is_ and (self.n_files or (self.n_lines and is_ == "raise")):
            left_out = count(self.n_files, "file") if self.n_files else count(self.n_lines, "line")
            found.append(f"{ON_ERROR}: was {self.on_error}, now {is_}, but the output omits {left_out}")
        if limit not in (None, self.limit, self.longest) and self.limit:
            if limit < self.limit:
                why = "longer lines may have been written"
                found.append(f"--max-line: was {self.limit}, now {limit}, but {why}")
            elif self._any_too_long():
                found.append(f"--max-line: was {self.limit}, now {limit}, but longer lines were skipped")
        return found

    def _any_too_long(self) -> bool:
        """Whether a line was skipped because of its length."""
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
