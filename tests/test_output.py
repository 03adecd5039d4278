"""When checkpoints are due, and checkpoints that fail."""

import time

import pytest

from pyunitok.errors import OutputError
from pyunitok.run import output
from pyunitok.run.identity import Identity
from pyunitok.run.journal import Journal, journal_path
from pyunitok.run.output import CHECKPOINT_BYTES, CHECKPOINT_SECONDS, CHECKPOINT_SHARE, Output

RUN = Identity({"eod": 1}, [])


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def test_checkpoints_are_due_by_bytes_and_by_seconds_but_not_too_often(tmp_path, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(output, "monotonic", clock)
    with Output(tmp_path / "ids", RUN) as out:
        assert not out.is_due(CHECKPOINT_BYTES - 1)
        assert out.is_due(CHECKPOINT_BYTES)
        clock.now = CHECKPOINT_SECONDS
        assert out.is_due(0)
        sync = out.ids.sync
        monkeypatch.setattr(out.ids, "sync", lambda: (setattr(clock, "now", clock.now + 2), sync()))  # a sync takes 2 s
        out.checkpoint({"bytes": 1000}, wait=True)
        began = CHECKPOINT_SECONDS
        clock.now = began + 2 * CHECKPOINT_SHARE - 1
        assert not out.is_due(2 * CHECKPOINT_BYTES)
        clock.now = began + 2 * CHECKPOINT_SHARE
        assert out.is_due(0)
    assert Journal.read(journal_path(tmp_path / "ids")).progress == {"bytes": 1000}
    with Output(tmp_path / "ids", RUN) as out:
        assert out.safe_bytes == 1000
        assert not out.is_due(CHECKPOINT_BYTES + 999)
        assert out.is_due(CHECKPOINT_BYTES + 1000)


def test_no_second_checkpoint_while_one_is_running(tmp_path, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(output, "monotonic", clock)
    with Output(tmp_path / "ids", RUN) as out:
        hold = [True]
        sync = out.ends.sync

        def slow():
            while hold:
                time.sleep(0.001)
            sync()

        monkeypatch.setattr(out.ends, "sync", slow)
        out.checkpoint({"bytes": 1})
        clock.now = 10 * CHECKPOINT_SECONDS
        assert not out.is_due(10 * CHECKPOINT_BYTES)
        assert not journal_path(tmp_path / "ids").exists()
        hold.clear()
        deadline = time.monotonic() + 30
        while not journal_path(tmp_path / "ids").exists() and time.monotonic() < deadline:
            time.sleep(0.001)


def test_a_checkpoint_that_failed_ends_the_run(tmp_path, monkeypatch):
    """The journal is not replaced, and the previous one stays valid."""
    with Output(tmp_path / "ids", RUN) as out:
        out.ids.write(memoryview(b"12"))
        out.checkpoint({"bytes": 1}, wait=True)
        out.ids.write(memoryview(b"34"))

        def sync():
            raise OutputError("cannot be synced to disk")

        monkeypatch.setattr(out.ids, "sync", sync)
        out.checkpoint({"bytes": 2})
        with pytest.raises(OutputError, match="cannot be synced to disk"):
            out.checkpoint({"bytes": 3})
    assert Journal.read(journal_path(tmp_path / "ids")).progress == {"bytes": 1}
    with Output(tmp_path / "ids", RUN) as out:
        assert out.ids.n_bytes == 2


def test_a_run_that_fails_during_its_first_checkpoint_can_be_resumed(tmp_path, monkeypatch):
    """Regression: the files were removed because the journal, written a moment later, did not exist yet."""
    def fail():
        with Output(tmp_path / "ids", RUN) as out:
            out.ids.write(memoryview(b"12"))
            sync = out.ids.sync
            monkeypatch.setattr(out.ids, "sync", lambda: (time.sleep(0.1), sync()))
            out.checkpoint({"bytes": 1})
            raise OutputError("the disk is full")

    with pytest.raises(OutputError, match="the disk is full"):
        fail()
    with Output(tmp_path / "ids", RUN) as out:
        assert (out.progress, out.ids.n_bytes) == ({"bytes": 1}, 2)


def test_a_small_run_writes_no_journal_before_its_commit(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(output.Journal, "write", lambda journal, *_: written.append(journal.manifest))
    with Output(tmp_path / "ids", RUN) as out:
        for n_bytes in range(0, CHECKPOINT_BYTES, CHECKPOINT_BYTES // 7):
            assert not out.is_due(n_bytes)
    assert written == []
