"""What may change when a run is resumed: --on-error and --max-line, unless what was written would have been different.

    raise ──▶ skip ◀──▶ skip-file      a bad line ends the run; the next one skips it
      ▲         │            │
      └─────────┴────────────┘         as long as nothing was skipped, or no file left out

A longer line is allowed unless one was skipped for its length. A shorter limit is not: a line that is written already
may be longer.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyunitok.corpus.reading import MAX_LINE_BYTES
from pyunitok.run.identity import Identity
from pyunitok.run.journal import Journal
from pyunitok.tokens.manifest import ERRORS_SUFFIX

ON_ERROR, LONGEST = "on error", "longest line"
TOO_LONG = re.compile(r"(byte \d+: )?longer than \d+ bytes")  # corpus/json_text.py writes it


def differences(journal: Journal, now: Identity, errors: Path) -> list[str]:
    """Why the journal's run cannot be resumed as `now`, a phrase for each reason; none if it can.

    errors  OUT.errors.jsonl while it is unfinished
    """
    before = journal.run
    if journal.manifest is not None or ON_ERROR not in before.options or ON_ERROR not in now.options:
        return before.differences(now, journal.n_inputs_read)
    taken = {name: now.options.get(name) for name in (ON_ERROR, LONGEST)}
    same = replace(before, options=before.options | taken)
    try:
        changed = _on_error(journal, now) + _longest(journal, now, errors)
    except (OSError, ValueError, TypeError, LookupError) as error:
        changed = [f"{errors} or the journal is damaged: {error}"]
    return same.differences(now, journal.n_inputs_read) + changed


def limit_so_far(progress: dict[str, Any]) -> int:
    """The longest line that a run may have read. Journals of earlier versions do not say; there it is the default."""
    limit = progress.get(LONGEST, MAX_LINE_BYTES)
    if type(limit) is not int:
        raise ValueError("the longest line is not a number")
    return limit


def _on_error(journal: Journal, now: Identity) -> list[str]:
    was, is_ = journal.run.options.get(ON_ERROR), now.options.get(ON_ERROR)
    counts = journal.progress.get("counts", [])
    n_lines, n_files = sum(item[4] for item in counts), sum(item[6] is not None for item in counts)
    if was == is_ or not (n_files or (n_lines and is_ == "raise")):
        return []
    left_out = f"{n_files} files were left out" if n_files else f"{n_lines} lines were skipped"
    return [f"{ON_ERROR}: {was} then, {is_} now, and {left_out}"]


def _longest(journal: Journal, now: Identity, errors: Path) -> list[str]:
    limit, before = now.options.get(LONGEST), _limit_of(journal)
    if limit in (None, before, journal.run.options.get(LONGEST)) or not journal.progress["bytes"]:
        return []
    if limit < before:
        return [f"--max-line: {before} then, {limit} now, and lines that are written already may be longer"]
    if _any_too_long(errors, journal):
        return [f"--max-line: {before} then, {limit} now, and longer lines were skipped"]
    return []


def _limit_of(journal: Journal) -> int:
    before = journal.run.options.get(LONGEST)
    return limit_so_far(({} if before is None else {LONGEST: before}) | journal.progress)


def _any_too_long(errors: Path, journal: Journal) -> bool:
    """Whether a line was skipped for its length."""
    n_left = journal.files[ERRORS_SUFFIX].n_bytes if ERRORS_SUFFIX in journal.files else 0
    if not n_left:
        return False
    with errors.open("rb") as file:
        for line in file:
            n_left -= len(line)
            if n_left < 0:
                break
            if TOO_LONG.match(json.loads(line)["error"]):
                return True
    return False
