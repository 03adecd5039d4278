"""Models do not depend on threads, even if units are so long that their probabilities must be scaled."""

from __future__ import annotations

import random
import threading
from pathlib import Path
from typing import Any

import pytest

import pyunitok
from pyunitok._c.sharing import share_out


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_every_thread_has_an_item(threads: int) -> None:
    """If there are as many items as threads, all run simultaneously; the calling thread takes one."""
    met: list[int] = []
    meeting = threading.Barrier(threads, timeout=20)
    share_out(range(threads), threads, lambda thread, item: met.append(meeting.wait()))
    assert sorted(met) == list(range(threads))


def test_long_units_of_many_lengths(tmp_path: Path) -> None:
    rng = random.Random(3)
    letters = [chr(0x4E00 + k) for k in range(300)]
    lines = ["".join(rng.choices(letters, k=rng.choice([3, 40, 900]))) for _ in range(500)]
    models = []
    for threads in (1, 2, 3):
        path = tmp_path / f"{threads}.model"
        options = {"vocab_size": 500, "threads": threads, "max_sentence_length": 1 << 20}
        pyunitok.train(iter(lines), kind="unigram", out=path, **options)
        tok = pyunitok.Tokenizer.from_file(path)
        models.append((tok.pieces().data.tobytes(), tok.codec.model.spec()["scores"].tolist()))
    assert models[0] == models[1] == models[2]


@pytest.mark.parametrize("options", [
    {}, {"compat": "sentencepiece"}, {"byte_level": True}, {"auto_character_coverage": True, "byte_fallback": True},
    {"max_memory": 1 << 16},
], ids=lambda options: " ".join(options) or "default")  # fmt: skip
def test_bpe(options: dict[str, Any], tmp_path: Path) -> None:
    """Each thread counts some of the files."""
    rng = random.Random(5)
    words = ["".join(rng.choices("abcde\u00e9\u6771\u4eac", k=rng.randint(1, 9))) for _ in range(400)]
    (tmp_path / "texts").mkdir()
    for k in range(40):
        lines = [" ".join(rng.choices(words, k=12)) for _ in range(20)]
        (tmp_path / "texts" / f"{k}.txt").write_text("\n".join(lines), encoding="utf-8")
    models = set()
    suffix = ".json" if options.get("byte_level") else ".model"
    options = {"kind": "bpe", "vocab_size": 300, "num_threads": 1, **options}
    for threads in (1, 2, 3, 8):
        out = tmp_path / f"{threads}{suffix}"
        pyunitok.train(tmp_path / "texts", out=out, threads=threads, **options)
        models.add(out.read_bytes())
    assert len(models) == 1
