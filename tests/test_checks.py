"""tools/check.py: what it finds in the sources."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
check = pytest.importorskip("check")


def test_includes_point_downwards() -> None:
    check.check_includes()


@pytest.mark.parametrize(
    ("room", "included", "is_right"),
    [
        ("encoders", "text/cut.h", True), ("encoders", "encoders/bpe.h", True), ("ground", "unitok.h", True),
        ("train", "suffix/sort.h", True), ("text", "encoders/bpe.h", False), ("suffix", "train/bpe.h", False),
        ("model", "unitok.h", False), ("model", "bpe.h", False), ("attic", "ground/common.h", False),
        ("model", "train/bpe.h", False),
    ],
)  # fmt: skip
def test_an_include(tmp_path: Path, room: str, included: str, is_right: bool) -> None:
    folder = tmp_path / "csrc" / room
    folder.mkdir(parents=True)
    (folder / "file.c").write_text(f'#include <stdint.h>\n  # include "{included}"\n')
    if is_right:
        check.check_includes(tmp_path)
    else:
        with pytest.raises(check.Failed, match=f"{room}/file.c: .*{included}"):
            check.check_includes(tmp_path)
