"""The sample corpus of the tests never changes, and csrc/text/pair_weights.h is generated from it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def test_the_sample_is_frozen() -> None:
    data = (ROOT / "tests" / "data" / "sample.jsonl.zst").read_bytes()
    assert hashlib.sha256(data).hexdigest() == "8ab209ab4561ee779cbdb674da4f007b517b6033ea1cb16f5b96aebb1d11ab8f"


def test_the_pair_weights_match_the_sample() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "tools")
        import pair_weights

        assert pair_weights.TARGET.read_text() == pair_weights.render(), "run tools/pair_weights.py"
