"""Outputs at URLs are written locally, uploaded when complete (OUT last), and resumed after the store has failed."""

import json
import os
import sys
import threading
from pathlib import Path

import commands
import pytest
from test_remote import Unreliable, store  # noqa: F401 (a fixture)
from toys import models
from toys.plans import make_plan

import pyunitok
from pyunitok.corpus import inputs
from pyunitok.errors import InputError, OutputError
from pyunitok.run import upload as upload_module
from pyunitok.run.pipeline import tokenize
from pyunitok.run.plan import Callbacks
from pyunitok.run.upload import Spool, tokenize_to

pytest.importorskip("fsspec")
pytestmark = pytest.mark.usefixtures("store")
URL = "unreliable://bucket/ids.u16"
NAMES = ["/bucket/ids.u16", "/bucket/ids.u16.ends", "/bucket/ids.u16.json"]


@pytest.fixture
def corpus(tmp_path):
    """A function that tokenizes the same text to a URL and returns whether the output was already complete."""
    tok = models.greedy("the", " the")
    (tmp_path / "a.txt").write_bytes(b"the cat and the dog\n" * 500)

    def plan(out, **options):
        options = {"eod": 300, "threads": 1, "separator": b"\n"} | options
        return make_plan(inputs.find([str(tmp_path / "a.txt")]), out, tok, **options)

    def run(url=URL, **options):
        spool, starts = Spool(url, tmp_path / "spool"), []
        tokenize_to(spool, plan(spool.out, **options), Callbacks(on_start=starts.append))
        return starts[0].complete

    def want(**options):
        out = tmp_path / "want"
        tokenize(plan(out, **options))
        files = [out, Path(f"{out}.ends")]
        contents = [file.read_bytes() for file in files]
        for file in [*files, Path(f"{out}.json")]:
            file.unlink()
        return contents

    run.folder, run.plan, run.want = tmp_path, plan, want
    return run


def far():
    return {name: file.getvalue() for name, file in Unreliable.store.items()}


def puts():
    return [what[1].rpartition("ids.u16")[2] for what in Unreliable.log if what[0] == "put"]


def test_upload(corpus):
    assert corpus() is False
    assert sorted(far()) == NAMES
    assert [far()[name] for name in NAMES[:2]] == corpus.want()
    manifest = json.loads(far()[NAMES[2]])
    assert manifest["documents"] == 500
    assert puts() == [".ends.partial", ".json.partial", ".partial"], "OUT last"
    assert list((corpus.folder / "spool").iterdir()) == []
    assert not [name for name in far() if "probe" in name]


def test_stores_receive_final_names_only(corpus, monkeypatch):
    monkeypatch.setattr(upload_module, "ATOMIC_STORES", {"unreliable"})
    corpus()
    assert puts() == [".ends", ".json", ""]
    assert sorted(far()) == NAMES


def test_a_complete_output_is_detected_without_the_spool(corpus):
    corpus()
    before, Unreliable.log[:] = far(), []
    assert corpus() is True
    assert (far(), puts()) == (before, [])
    another = rf"^{URL} exists, and was made by another command \(eod: was 300, now none\)"
    with pytest.raises(OutputError, match=another):
        corpus(eod=None)
    assert list((corpus.folder / "spool").iterdir()) == []
    (corpus.folder / "a.txt").write_bytes(b"another")
    with pytest.raises(OutputError, match=r"was made by another command .*a\.txt"):
        corpus()
    assert far() == before
    assert corpus(overwrite=True) is False
    assert [far()[name] for name in NAMES[:2]] == corpus.want()


def test_foreign_files_are_not_replaced(corpus):
    Unreliable().pipe("/bucket/ids.u16", b"precious")
    with pytest.raises(OutputError, match="exists; --overwrite replaces it"):
        corpus()
    Unreliable().pipe("/bucket/ids.u16.json", b"{}")
    with pytest.raises(OutputError, match=r"ids\.u16\.json: not a valid manifest"):
        corpus()
    assert far()["/bucket/ids.u16"] == b"precious"
    corpus(overwrite=True)
    assert far()["/bucket/ids.u16"] == corpus.want()[0]


def test_a_damaged_upload(corpus):
    corpus()
    Unreliable().pipe("/bucket/ids.u16.ends", b"12345678")
    with pytest.raises(OutputError, match=r"ids\.u16\.ends does not have the 4000 bytes that its manifest records"):
        corpus()


def test_transient_errors(corpus):
    Unreliable.failures["put"] = [OSError(5, "reset")] * 4 + [None] + [TimeoutError()] * 3
    corpus()
    assert [far()[name] for name in NAMES[:2]] == corpus.want()


@pytest.mark.parametrize("n_arrived", [0, 1, 2])
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_failed_upload_is_resumed(corpus, n_arrived, overwrite, monkeypatch):
    """The spool is kept, OUT does not exist, and repeating the command only uploads, even after --overwrite."""
    if overwrite:
        Unreliable().pipe("/bucket/ids.u16", b"old")
    Unreliable.failures["put"] = [None] * n_arrived + [OSError(5, "reset")] * 5
    with pytest.raises(OutputError, match=r"reset; the finished files are in .*spool.*: run the same command"):
        corpus(overwrite=overwrite)
    assert "/bucket/ids.u16" not in far(), "neither the old file nor a part of the new one"
    (folder,) = (corpus.folder / "spool").iterdir()
    left = {path.name for path in folder.iterdir()} - {"replaces"}
    assert left == {Path(name).name for name in NAMES}
    monkeypatch.setattr("pyunitok.run.pipeline._write_blocks", None)  # no work is repeated
    assert corpus() is True
    assert sorted(name for name in far() if not name.endswith(".partial")) == NAMES
    assert not folder.exists()


def test_interrupted_work_is_resumed_in_the_spool(corpus):
    """After an interrupt, the output stays in the spool, and other commands are rejected."""
    def stop(_):
        raise KeyboardInterrupt

    spool = Spool(URL, corpus.folder / "spool")
    with pytest.raises(KeyboardInterrupt):
        tokenize_to(spool, corpus.plan(spool.out, block_bytes=1000), Callbacks(on_progress=stop))
    assert far() == {}
    with pytest.raises(OutputError, match="unfinished, and was started by another command"):
        corpus(separator=None)
    assert corpus() is False
    assert [far()[name] for name in NAMES[:2]] == corpus.want()


def test_errors_of_the_store_are_detected_before_any_work(corpus, monkeypatch):
    def refuse(self, path, *_, **__):
        raise PermissionError(f"not {path}")

    monkeypatch.setattr(Unreliable, "pipe_file", refuse)
    monkeypatch.setattr("pyunitok.run.pipeline._write_blocks", None)
    with pytest.raises(OutputError, match=rf"^{URL}: cannot be written: not "):
        corpus()


def test_two_processes_with_one_url(corpus):
    spool = Spool(URL, corpus.folder / "spool")
    with spool.locked(), pytest.raises(OutputError, match="another process is writing it"):
        corpus()
    corpus()


def test_permanent_failure_of_the_listing(corpus):
    Unreliable.failures["info"] = [OSError(5, "down")] * 5
    with pytest.raises(OutputError, match=rf"^{URL}: cannot be written: .*down"):
        corpus()


def test_invalid_urls(tmp_path):
    with pytest.raises(OutputError, match="is a folder; name a file"):
        Spool("unreliable://bucket/", tmp_path)
    with pytest.raises(InputError, match="nonsense:// is not supported"):
        Spool("nonsense://bucket/x", tmp_path)
    Unreliable().pipe("/bucket/x/y", b"")
    with pytest.raises(OutputError, match="is a folder"):
        Spool("unreliable://bucket/x", tmp_path)._size("")
    with pytest.raises(OutputError, match="must be local to be memory-mapped; download it"):
        pyunitok.open(URL)


@pytest.mark.skipif(sys.platform == "win32", reason="requires POSIX pipes")
def test_a_pipe_is_compared_on_resume(corpus):
    """The bytes of a pipe are compared with those of the finished run, even if its output is at a URL."""
    fifo = corpus.folder / "fifo"
    os.mkfifo(fifo)
    tok = models.greedy()

    def run(data):
        writer = threading.Thread(target=fifo.write_bytes, args=(data,))
        writer.start()
        spool, starts = Spool(URL, corpus.folder / "spool"), []
        plan = make_plan(inputs.find([str(fifo)], input_format="text"), spool.out, tok, 300)
        try:
            tokenize_to(spool, plan, Callbacks(on_start=starts.append))
        finally:
            writer.join()
        return starts[0].complete

    assert run(b"text") is False
    assert run(b"text") is True
    with pytest.raises(InputError, match="not the input of the interrupted run"):
        run(b"test")


def test_spools_are_separate_and_private(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    first, second = Spool("unreliable://a/ids"), Spool("unreliable://b/ids")
    assert first.folder != second.folder
    assert Spool("unreliable:///a/ids").folder == first.folder, "another spelling of the same URL"
    assert not first.folder.exists(), "the folder is created when there is work to do"
    if sys.platform != "win32":
        parent = first.folder.parent
        assert parent.stat().st_mode & 0o777 == 0o700
        monkeypatch.setattr(os, "getuid", lambda: 54321)
        (tmp_path / "pyunitok-54321").symlink_to(parent)
        with pytest.raises(OutputError, match="belongs to another user; name another folder with --spool"):
            Spool("unreliable://a/ids")


def test_command(tmp_path):
    """Files at memory:// exist only in the process of the command, so only its messages are tested."""
    models.greedy().save(tmp_path / "toy")
    (tmp_path / "a.txt").write_bytes(b"text")

    def command(*arguments):
        return commands.python(tmp_path, "-m", "pyunitok", "tokenize", "-m", "toy", "a.txt", *arguments, text=True)

    done = command("-o", "memory://bucket/ids.u16", "--spool", "spool")
    assert done.returncode == 0, done.stderr
    assert "uploading memory://bucket/ids.u16.ends, 8 bytes" in done.stderr
    assert "uploading memory://bucket/ids.u16, 10 bytes" in done.stderr
    assert command("-o", "x.u16", "--spool", "spool").returncode == 2
    done = command("-o", "memory://bucket/ids.u16", "--shard", "1/2", "--spool", "spool")
    assert "uploading memory://bucket/ids.u16.1-of-2," in done.stderr
    done = command("-o", "memory://bucket/ids.u16", "--spool", "spool", "--dry-run")
    assert "would write memory://bucket/ids.u16, memory://bucket/ids.u16.ends, " in done.stdout
    assert list((tmp_path / "spool").iterdir()) == []
    done = command("-o", f"file://{tmp_path}/y.u16")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "y.u16").stat().st_size == 10
