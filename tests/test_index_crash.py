"""After a kill or a failed write, indexing resumes; the output is byte-identical to that of an uninterrupted run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import commands
import numpy as np
import pytest

pytest.importorskip("resource")
import crash_index

CRASH = Path(crash_index.__file__)
N_TOKENS, DOCUMENT = 30_000, 100
OPTIONS = {"order": "id", "left": True, "threads": 2, "shard_tokens": 5000}  # six shards


def crashed(folder: Path, spec: dict[str, Any]) -> Any:
    ids = np.random.default_rng(1).integers(1, 40, N_TOKENS).astype("<u2")
    ids[DOCUMENT - 1 :: DOCUMENT] = 0
    ids.tofile(folder / "ids.u16")
    np.arange(DOCUMENT, N_TOKENS + 1, DOCUMENT, dtype="<u8").tofile(folder / "ids.u16.ends")
    done = commands.python(folder, str(CRASH), json.dumps(spec | {"options": OPTIONS}), text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("kills", [25, 80])
def test_killed_at_random_times(tmp_path: Path, kills: int) -> None:
    result = crashed(tmp_path, {"kills": kills})
    assert result["killed"] == kills and result["wrong"] == 0
    assert result["whole"] > 0 and result["resumed"] > 0


def test_writes_that_fail(tmp_path: Path) -> None:
    """The file size limits stop the writing of the plan, a shard's record, its tables or its suffix array."""
    limits = [0, 1, 100, 500, 1000, 9999, 10_000, 19_999, 20_000, 400_000, 524_295, 524_296]
    result = crashed(tmp_path, {"limits": limits})
    assert result == {"failed": 11, "wrong": []}
