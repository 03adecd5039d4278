"""The progress bar: its contents, its width, and the bytes that a resumed run counts."""

import io
import os
import re
import sys

import pytest

from pyunitok.cli import progress as module
from pyunitok.cli.progress import Meter, make_bar
from pyunitok.run.plan import Progress, Start


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def shown(monkeypatch):
    """A function of (columns, start, *steps). Returns the last line of the bar, the seconds counted, and all output."""

    def run(columns, start, *steps, what="text"):
        import tqdm.std

        terminal, now = Terminal(), [0.0]
        monkeypatch.setattr(module.sys, "stderr", terminal)
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr("time.monotonic", lambda: now[0])
        monkeypatch.setattr(tqdm.std, "time", lambda: now[0])
        monkeypatch.setattr(tqdm.std.tqdm, "_time", lambda _: now[0], raising=False)
        meter = Meter("tokenizing", what)
        with meter:
            now[0] = 5.0  # finding the inputs is not counted
            meter.begin(start)
            for step in steps:
                now[0] += 10
                meter.show(step)
            bar = str(meter._bar) if meter._bar is not None else ""
        return bar, meter.seconds, terminal.getvalue()

    return run


STEPS = [Progress(n * 10**8 + 10**9, n * 10**8, n * 10**7, n, n * 10**7 + 10**8, 10**9) for n in range(1, 6)]


def test_a_resumed_run_counts_only_its_own_bytes(shown):
    """Regression: the rate and the remaining time included the work of an earlier run."""
    bar, seconds, _ = shown(80, Start(10**9, 5, compressed=10**8), *STEPS)
    assert "text 10 MB/s" in bar  # 10^8 bytes in 10 seconds
    assert "150M/1.00G, 14:10 left" in bar  # this run read 50 MB in 50 seconds; 850 MB are left
    assert seconds == 50


def test_the_bar_fits_80_columns(shown):
    bar, _, _ = shown(80, Start(), *STEPS)
    assert len(bar) <= 80
    assert bar.startswith("tokenizing  15%|") and bar.endswith("MB/s")
    assert len(re.search(r"\|(.*)\|", bar)[1]) >= 10
    assert len(re.findall("MB/s", bar)) == 1
    assert "bytes/token" not in bar and "bytes/token" in shown(120, Start(), *STEPS)[0]
    assert "ids " in shown(80, Start(), *STEPS, what="ids")[0]


def test_the_first_block_of_a_resumed_run(shown):
    """Regression: the bar showed "00:00 left"."""
    bar, _, _ = shown(80, Start(10**9, 5, compressed=10**8), STEPS[0])
    assert "14:50 left" in bar
    none = Progress(10**9, 0, 1, 1, 10**8, 10**9)
    assert "? left" in shown(80, Start(10**9, 5, compressed=10**8), none)[0]


def test_a_narrow_bar_shows_the_rate(shown):
    bar, _, _ = shown(50, Start(), *STEPS)
    assert len(bar) <= 50 and bar == "tokenizing  15%, 04:43 left, text 30 MB/s"


@pytest.mark.skipif(sys.platform == "win32", reason="requires pseudo-terminals")
@pytest.mark.parametrize("columns", [0, 50])
def test_a_terminal_of_unknown_size(columns, monkeypatch):
    """Regression: tqdm shows nothing at a width of 0 columns, which serial consoles and some containers report."""
    import fcntl
    import pty
    import struct
    import termios

    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("LINES", raising=False)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", columns and 24, columns, 0, 0))
    with os.fdopen(theirs, "w") as terminal, monkeypatch.context() as patch:
        patch.setattr(module.sys, "stderr", terminal)
        bar = make_bar(desc="indexing", total=10)
        bar.delay = 0
        bar.update(5)
        bar.refresh()
        bar.close()
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    assert "indexing:  50%" in shown
    assert max(map(len, shown.split("\r"))) == (columns or 80) - 1


def test_an_input_of_unknown_length(shown):
    steps = [Progress(10**7, 10**7, 1, 1, 10**6, None)] * 2
    bar, _, _ = shown(80, Start(), *steps)
    assert bar == "tokenizing 1.00M, 00:20 so far, text 0 MB/s"


def test_the_bar_is_cleared_when_it_is_closed(shown):
    """Regression: a hint printed afterwards was appended to the bar."""
    _, _, written = shown(80, Start(), *STEPS)
    assert written == "" or written.endswith("\r")


def test_no_bar_without_a_terminal(monkeypatch):
    file = io.StringIO()
    monkeypatch.setattr(module.sys, "stderr", file)
    with Meter("tokenizing") as meter:
        meter.show(STEPS[0])
    assert file.getvalue() == ""
