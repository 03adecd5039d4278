"""The summary of a training run, and its page."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from test_train_sentencepiece import text

from pyunitok.cli.train import train as command
from pyunitok.errors import OutputError
from pyunitok.train import report_page, trained
from pyunitok.train.api import run

LINES = text(11, 900)
KINDS = ["unigram", "bpe", "char", "word", "longest"]


@pytest.mark.parametrize("kind", ["bpe", *(pytest.param(k, marks=pytest.mark.slow) for k in KINDS if k != "bpe")])
def test_page(tmp_path: Path, kind: str) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "a.txt").write_text("\n".join(LINES))
    arguments = [kind, str(tmp_path / "a.txt"), "-o", str(tmp_path / "m"), "--vocab-size", "350"]
    done = CliRunner().invoke(command, [*arguments, "--report", str(tmp_path / "r.html")], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    page = (tmp_path / "r.html").read_text()
    for shown in ("<svg role=img", "Longest pieces", "bytes per token", "Time and memory", "currentColor"):
        assert shown in page
    assert "http" not in page and page_colours(page).isdisjoint({"#000000", "#ffffff", "black", "white"})
    assert f"<dd>{kind}, pyunitok " in page and "<dd>--vocab-size 350</dd>" in page


def page_colours(page: str) -> set[str]:
    """The colours of the charts. Black would be invisible on the dark page, and white on the light one."""
    return set(re.findall(r"(?:fill|stroke): ([#\w]+)", page))


def test_options_on_the_page(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "a.txt").write_text("\n".join(LINES))
    arguments = ["longest", str(tmp_path / "a.txt"), "-o", str(tmp_path / "m"), "--vocab-size", "300", "--equal-bytes"]
    arguments += ["--weight", f"{tmp_path}/a.txt=2", "--no-leading-spaces", "--report", str(tmp_path / "r.html")]
    done = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    page = (tmp_path / "r.html").read_text()
    assert f"<dd>--vocab-size 300 --no-leading-spaces --weight {tmp_path}/a.txt=2.0 --equal-bytes</dd>" in page
    assert "<code> " in page  # a piece with its leading space


@pytest.mark.parametrize("kind", KINDS)
def test_curve(kind: str) -> None:
    """The curve ends at the bytes per token of the model or, for Unigram, near it, because of the last round."""
    options: dict[str, Any] = {} if kind == "longest" else {"normalization_rule_name": "identity"}
    got = run(iter(LINES), kind=kind, vocab_size=350, **options)
    curve = got.curve()
    if kind in ("char", "word"):
        assert not curve
    else:
        texts = got.sample if kind == "bpe" else [line.encode() for line in LINES]
        n_tokens = sum(len(got.tokenizer.encode(text)) for text in texts)
        assert curve[-1][1] == pytest.approx(sum(map(len, texts)) / n_tokens, rel=0.1)
        assert len(curve) > 1 or kind == "unigram"


def test_vocabularies_worse_than_a_smaller_one_are_not_drawn() -> None:
    sizes = [trained.MeasuredSize(*pair) for pair in ((5, 90), (3, 100), (7, 95), (9, 80), (9, 70), (11, 70))]
    assert [(s.n_pieces, s.n_tokens) for s in trained._best_sizes(sizes)] == [(3, 100), (5, 90), (9, 70)]


@pytest.mark.parametrize("options", [{}, {"compat": "sentencepiece"}, {"byte_level": True}], ids=str)
def test_curve_of_merges_matches_the_models(options: dict[str, Any]) -> None:
    """Each point of the curve is the bytes per token of a model of that many pieces, and the last point is the final
    model, even with characters outside the alphabet, runs of equal characters and lines too long for sentencepiece."""
    letters = "".join(map(chr, range(0x4E00, 0x4E80)))
    lines = [*LINES, *(letters[k : k + 3] for k in range(len(letters))), "aaaa aaaaaaa " * 9, "a long line " * 500]
    given = {} if "byte_level" in options else {"normalization_rule_name": "identity", "character_coverage": 0.995}
    got = run(iter(lines * 2), kind="bpe", vocab_size=600, **given, **options)
    curve = got.curve()
    assert curve[-1] == (got.tokenizer.vocab_size, got.in_sample.n_bytes / got.in_sample.n_tokens)
    n_pieces, density = curve[len(curve) // 2]
    smaller = run(iter(lines * 2), kind="bpe", vocab_size=n_pieces, **given, **options)
    n_tokens = sum(len(smaller.tokenizer.encode(text)) for text in got.sample)
    assert density == sum(map(len, got.sample)) / n_tokens


def test_unknown_characters(tmp_path: Path) -> None:
    """The share counts characters, not tokens, even with byte fallback."""
    known, strange = "abc " * 4000, "\u4e00\u4e8c\u4e09\u56db"
    (tmp_path / "a.txt").write_text("\n".join([known] * 8 + [strange]))
    for options in ({}, {"byte_fallback": True}):
        got = run(tmp_path / "a.txt", kind="bpe", vocab_size=280, **options)  # type: ignore[arg-type]
        (line,) = [item for item in got.sample[0].decode().split("\n") if item == strange]
        assert got.in_sample.n_unknown == len(line)
        assert got.in_sample.n_chars > got.in_sample.n_unknown


def test_the_longest_pieces_and_types() -> None:
    got = run(iter(LINES), kind="bpe", vocab_size=700, user_defined_symbols=["wxyz" * 9], byte_fallback=True)
    rows = dict(got.rows())
    assert rows["longest"].startswith(repr("wxyz" * 9))
    assert "256 byte" in rows["pieces"] and "1 user-defined" in rows["pieces"] and "1 unknown" in rows["pieces"]
    assert Counter(piece.type for piece in got.proto.pieces)[1] == got.types["learned"]


def test_peaks_of_phases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each phase has its own peak, even after a phase with a higher one; a peak that is a new maximum is exact.

    The time before the first report belongs to the first phase.
    """
    in_use, highest, now = [10], [10], [0.0]
    monkeypatch.setattr(trained, "_in_use", lambda: in_use[0])
    monkeypatch.setattr(trained, "_highest", lambda: highest[0])
    monkeypatch.setattr(trained.time, "monotonic", lambda: now[0])
    clock = trained.Clock(lambda *_: None)

    def step(phase: str, seconds: float, memory: int, record: int) -> None:
        clock(phase, 0, 0)
        now[0] += seconds
        in_use[0], highest[0] = memory, record

    now[0] += 3
    step("count", 1, 50, 80)
    step("count", 1, 40, 80)
    step("merge", 2, 30, 80)
    step("save", 1, 20, 80)
    clock.end()
    assert [(p.name, p.seconds, p.peak_bytes) for p in clock.phases()] == [
        ("count", 5, 80), ("merge", 2, 40), ("save", 1, 30)
    ]  # fmt: skip


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is raised before any work."""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    arguments = ["bpe", "no such file", "-o", str(tmp_path / "m"), "--vocab-size", "350", "--report", "r.html"]
    with pytest.raises(OutputError, match=r"pyunitok\[plot\]"):
        CliRunner().invoke(command, arguments, catch_exceptions=False)


def test_a_page_of_a_tiny_model(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    got: Any = run(iter(["a"]), kind="longest", vocab_size=257)
    report_page.write(got, tmp_path / "r.html", "m")
    assert (tmp_path / "r.html").stat().st_size > 1000
