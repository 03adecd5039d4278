"""A model does not depend on threads, also where units are so long that their probabilities must be scaled."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import pytest

import pyunitok
from pyunitok.train.sharing import share_out


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_every_thread_has_an_item(threads: int) -> None:
    """As many items as threads are all worked on at a time, by this thread too."""
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
        models.append((tok.pieces().data.tobytes(), tok._core.model.scores()[1].tolist()))
    assert models[0] == models[1] == models[2]
