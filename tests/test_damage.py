"""Inputs damaged during a run, outputs that change between runs, and corrupt journals: finished work is kept, and
damage is detected."""

import contextlib
import gzip
import json
import os
import random
import re
from dataclasses import replace
from pathlib import Path

import commands
import pytest
import xxhash
import zstandard

import pyunitok
from pyunitok import InputError, OutputError
from pyunitok.run import output
from pyunitok.run.journal import Journal, journal_path
from pyunitok.run.pipeline import Writer

SUFFIXES = ("", ".ends", ".meta.jsonl.zst", ".errors.jsonl")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """in/0.jsonl.zst to 3.jsonl.zst, in which some lines have no text, and in/4.txt.gz and 5.txt.gz."""
    monkeypatch.chdir(tmp_path)
    rng = random.Random(5)
    Path("in").mkdir()
    for k in range(4):
        texts = ["the である " * rng.randrange(90) for _ in range(300)]
        lines = [json.dumps({"text": text, "n": n} if n % 50 else {"no": n}) + "\n" for n, text in enumerate(texts)]
        write(f"in/{k}.jsonl.zst", "".join(lines).encode())
    for k in (4, 5):
        write(f"in/{k}.txt.gz", "\n".join("the cat " * rng.randrange(90) for _ in range(300)).encode())
    return tmp_path


def write(path, data):
    pack = zstandard.ZstdCompressor().compress if path.endswith(".zst") else gzip.compress
    pieces = [data[at : at + 20_000] for at in range(0, len(data), 20_000)] or [b""]
    Path(path).write_bytes(b"".join(map(pack, pieces)))


def cut(path):
    data = Path(path).read_bytes()
    Path(path).write_bytes(data[: len(data) * 2 // 3])
    return data


def run(toy, out="ids", on_error="skip", **options):
    started = []
    options = {"separator": "\n", "metadata": True, "threads": 2, "block_bytes": 3000} | options
    manifest = pyunitok.tokenize("in", out, toy, on_error=on_error, on_start=started.append, **options)
    return manifest, started[0]


def contents(out):
    """The contents of all output files."""
    found = {suffix: Path(out + suffix) for suffix in SUFFIXES}
    return {suffix: path.read_bytes() for suffix, path in found.items() if path.exists()}


def test_a_truncated_input_is_replaced(folder, toy):
    """Regression: the run could not resume ('begun by another command'), and some finished work had not been saved."""
    whole, _ = run(toy, "whole")
    data = cut("in/4.txt.gz")
    with pytest.raises(InputError, match=r"in/4\.txt\.gz"):
        run(toy)
    done = Journal.read(journal_path(Path("ids"))).progress
    assert done["position"]["source"] == 4
    Path("in/4.txt.gz").write_bytes(data)
    Path("in/5.txt.gz").touch()  # not reached yet, so it may change, too
    manifest, start = run(toy)
    assert start.bytes == sum(record.bytes for record in whole.inputs[:4])
    assert contents("ids") == contents("whole")
    assert [record.documents for record in manifest.inputs] == [record.documents for record in whole.inputs]
    assert manifest.text_bytes == whole.text_bytes


def test_an_input_that_has_not_changed_is_not_read_again(folder, toy, monkeypatch):
    """After a network failure, the run resumes inside the file."""
    run(toy, "whole")
    append = Writer.append

    def fail(writer, result):
        if result.source == 2 and writer.tally.position.bytes > 60_000:
            raise InputError("the network is gone")
        append(writer, result)

    monkeypatch.setattr(Writer, "append", fail)
    with pytest.raises(InputError, match="network"):
        run(toy)
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    position = Journal.read(journal_path(Path("ids"))).progress["position"]
    assert position["source"] == 2 and position["bytes"] > 60_000
    _, start = run(toy)
    assert start.bytes == sum(r.bytes for r in pyunitok.open("whole").manifest.inputs[:2]) + position["bytes"]
    assert contents("ids") == contents("whole")


@pytest.mark.parametrize("change", ["other", "gone", "more"])
def test_inputs_that_change_after_the_position(folder, toy, change):
    data = cut("in/3.jsonl.zst")
    with pytest.raises(InputError):
        run(toy)
    if change == "other":
        write("in/3.jsonl.zst", b'{"text": "the other"}\n' * 50)
    elif change == "gone":
        for name in ("3.jsonl.zst", "4.txt.gz", "5.txt.gz"):
            Path("in", name).unlink()
    else:
        Path("in/3.jsonl.zst").write_bytes(data)
        write("in/9.txt.gz", b"the last")
    run(toy)
    run(toy, "whole", separator=None if change == "gone" else "\n")  # a new run without text inputs rejects a separator
    assert contents("ids") == contents("whole")


def test_inputs_that_change_before_the_position(folder, toy):
    cut("in/3.jsonl.zst")
    with pytest.raises(InputError):
        run(toy)
    write("in/1.jsonl.zst", b'{"text": "the other"}\n')
    with pytest.raises(OutputError, match=r"input 2: was in/1\.jsonl\.zst .*, now in/1\.jsonl\.zst "):
        run(toy)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("block_bytes", [700, 1 << 20])
def test_damaged_files_are_skipped(folder, toy, threads, block_bytes):
    """Damaged files are listed, and the output contains none of their text."""
    kept = folder / "kept"
    kept.mkdir()
    for name in ("1.jsonl.zst", "3.jsonl.zst", "5.txt.gz"):
        cut(f"in/{name}")
        Path("in", name).rename(kept / name)
    run(toy, "whole")
    for name in ("1.jsonl.zst", "3.jsonl.zst", "5.txt.gz"):
        (kept / name).rename(Path("in", name))
    with pytest.raises(InputError):
        run(toy, "ids", threads=threads, block_bytes=block_bytes)
    manifest, _ = run(toy, "ids", "skip-file", threads=threads, block_bytes=block_bytes)
    found, expected = contents("ids"), contents("whole")
    listed = [json.loads(line) for line in found.pop(".errors.jsonl").splitlines()]
    assert [item for item in listed if item["line"] is not None] == [
        json.loads(line) for line in expected.pop(".errors.jsonl").splitlines()
    ]
    left_out = [item for item in listed if item["line"] is None]
    assert [item["file"] for item in left_out] == ["in/1.jsonl.zst", "in/3.jsonl.zst", "in/5.txt.gz"]
    assert all(item["file"] in item["error"] for item in left_out)
    assert found == expected
    assert [record.path for record in manifest.inputs if record.error] == [item["file"] for item in left_out]
    assert all(record.documents == record.tokens == 0 for record in manifest.inputs if record.error)
    assert run(toy, "ids", "skip-file")[1].complete


@contextlib.contextmanager
def interrupted_after(is_over):
    """Interrupt the run inside the `with` statement after the first block for which is_over(tally) is true."""
    append = Writer.append

    def stop(writer, result):
        append(writer, result)
        if is_over(writer.tally):
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Writer, "append", stop)
        yield


def test_damaged_files_in_an_interrupted_run(folder, toy):
    cut("in/1.jsonl.zst")
    cut("in/3.jsonl.zst")
    run(toy, "whole", "skip-file")
    for stop_at in (40_000, 150_000, 250_000, 400_000):
        with interrupted_after(lambda tally, stop_at=stop_at: tally.progress.bytes > stop_at):
            run(toy, "ids", "skip-file")
    run(toy, "ids", "skip-file")
    assert contents("ids") == contents("whole")


def test_killed_while_rolling_back(folder, toy, monkeypatch):
    """If a run is killed before it writes the journal or before it truncates the files, the next run does both."""
    cut("in/1.jsonl.zst")
    run(toy, "whole", "skip-file")

    class Killed(BaseException):
        pass

    def kill(*_):
        raise Killed

    for place in ("state_at", "cut"):
        monkeypatch.setattr(f"pyunitok.disk.outfile.OutFile.{place}", kill)
        monkeypatch.setattr(Writer, "last_checkpoint", lambda _: None)
        with pytest.raises(Killed):
            run(toy, "ids", "skip-file")
        monkeypatch.undo()
        monkeypatch.chdir(folder)
    run(toy, "ids", "skip-file")
    assert contents("ids") == contents("whole")


def test_a_damaged_pipe_is_an_error(folder, toy):
    import threading

    os.mkfifo("in.fifo")
    data = gzip.compress(b"the " * 9999)[:-20]
    feeder = threading.Thread(target=lambda: Path("in.fifo").write_bytes(data))
    feeder.start()
    with pytest.raises(InputError, match=r"in\.fifo"):
        pyunitok.tokenize("in.fifo", "ids", toy, on_error="skip-file", input_format="text")
    feeder.join()


def test_a_run_without_progress_leaves_no_files(folder, toy):
    """If no progress was saved, no run could resume from the files."""
    cut("in/0.jsonl.zst")
    Path("in/0.jsonl.zst").write_bytes(b"(\xb5/\xfd damaged")
    with pytest.raises(InputError):
        run(toy)
    assert not list(folder.glob("ids*"))


# ------------------------------------------------------------------------------------- outputs and journals that change


@pytest.fixture
def interrupted(folder, toy, monkeypatch):
    monkeypatch.setattr("pyunitok.disk.hashing.HASH_CHUNK_BYTES", 2_000)
    monkeypatch.setattr(output, "HASH_CHUNK_BYTES", 2_000)
    run(toy, "whole")
    data = cut("in/3.jsonl.zst")
    with pytest.raises(InputError):
        run(toy)
    Path("in/3.jsonl.zst").write_bytes(data)
    return folder


@pytest.mark.parametrize("suffix", ["", ".ends", ".meta.jsonl.zst"])
def test_a_byte_flipped_in_an_earlier_chunk(interrupted, toy, suffix):
    """Regression: only `verify` detected it. By default, a resumed run checks only the last chunk of each file."""
    path = Path(f"ids{suffix}.partial")
    if path.stat().st_size < 2_000:
        pytest.skip("the file has only one chunk")
    data = bytearray(path.read_bytes())
    data[77] ^= 1
    path.write_bytes(data)
    with pytest.raises(OutputError, match=rf"{re.escape(str(path))}: bytes 0 to 2000 are not those that were written"):
        run(toy, verify_resume=True)
    data[77] ^= 1
    path.write_bytes(data)
    run(toy, verify_resume=True)
    assert contents("ids") == contents("whole")


def rewrite_journal(change):
    """Change the state in the journal, and update the checksum."""
    path = journal_path(Path("ids"))
    _, run_line, state_line = path.read_bytes().splitlines()
    state = json.loads(state_line)
    change(state)
    body = run_line + b"\n" + json.dumps(state).encode() + b"\n"
    path.write_bytes(b"pyunitok journal 2 " + xxhash.xxh64_hexdigest(body).encode() + b"\n" + body)


def shift(name, by):
    def change(state):
        position = state["progress"]["position"]
        position[name] += by

    return change


def more_tokens(state):
    state["progress"]["counts"][0][3] += 1


def more_documents(state):
    state["progress"]["counts"][0][2] += 1
    state["progress"]["counts"][0][4] -= 1


def shorter_file(state):
    state["files"][""] = {"n_bytes": 0, "digests": [], "rest": ""}


def fewer_hashes(state):
    state["files"][""]["digests"].pop()


def state_of_the_encoder(state):
    state["progress"]["position"] |= {"inside": 5, "state": "ff" * 40}


def past_the_end(state):
    """Position and counts agree, but are past the end of a plain file; see test_a_position_past_the_end."""
    for values in (state["progress"]["position"], state["progress"]):
        values["bytes"] += 10**6
    state["progress"]["counts"][-1][0] += 10**6


def fewer_counts(state):
    state["progress"]["counts"].pop(0)


CHANGES = [
    shift("source", 1), shift("source", 100), shift("bytes", 1), shift("documents", -1), shift("source", -1),
    more_tokens, more_documents, shorter_file, fewer_hashes, state_of_the_encoder, fewer_counts,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_rewritten_journal(interrupted, toy, change):
    """Regression: some changes led to a wrong result without an error."""
    rewrite_journal(change)
    with pytest.raises(OutputError, match="ids"):
        run(toy)


def test_a_position_past_the_end(folder, toy):
    Path("in/0.txt").write_bytes(b"the cat\n" * 9000)
    with interrupted_after(lambda tally: tally.progress.bytes > 20_000):
        pyunitok.tokenize("in/0.txt", "ids", toy, separator="\n", threads=1, block_bytes=3000)
    rewrite_journal(past_the_end)
    with pytest.raises(OutputError, match="past the end of an input"):
        pyunitok.tokenize("in/0.txt", "ids", toy, separator="\n")


def test_mutated_journals(interrupted, toy):
    """Whatever value a field has, the run is rejected or its result is correct. Regression: there were tracebacks."""
    path, rng = journal_path(Path("ids")), random.Random(3)
    kept = {file: file.read_bytes() for file in interrupted.glob("ids*")}
    state = json.loads(kept[interrupted / path].splitlines()[2])

    def places(value, at=()):
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, inner in items:
            yield (*at, key)
            yield from places(inner, (*at, key))

    whole = contents("whole")
    for place in rng.sample(list(places(state)), 40):
        wrong = rng.choice([None, -1, 0, 1, 1.5, "", "x", [], {}, True, 1 << 80, [[]], {"": 0}])

        def change(values, place=place, wrong=wrong):
            for key in place[:-1]:
                values = values[key]
            values[place[-1]] = wrong

        rewrite_journal(change)
        try:
            run(toy, block_bytes=1 << 20)
        except (OutputError, InputError):
            pass
        else:
            assert {**contents("ids"), ".errors.jsonl": 0} == {**whole, ".errors.jsonl": 0}, (place, wrong)
        for file in interrupted.glob("ids*"):
            file.unlink()
        for file, data in kept.items():
            file.write_bytes(data)


def test_the_journal_of_another_version(interrupted, toy):
    path = journal_path(Path("ids"))
    path.write_bytes(path.read_bytes().replace(b"journal 2 ", b"journal 1 ", 1))
    with pytest.raises(OutputError, match="the journal has version 1, but this pyunitok resumes only version 2"):
        run(toy)
    assert replace(run(toy, overwrite=True)[0], created="", inputs=[]).documents


def test_the_command_lists_partial_files_and_says_how_to_resume(folder, toy):
    """Regression: failed runs left .partial files without a message."""
    toy.save("toy")

    def run_command(*options):
        arguments = ["tokenize", "in", "-o", "ids", "-m", "toy", "--on-error", "skip", *options]
        done = commands.run(folder, *arguments)
        return done.returncode, done.stderr.decode()

    cut("in/3.jsonl.zst")
    code, text = run_command()
    assert code == 1 and "progress is kept in ids.*partial; run the same command to resume, or delete them" in text
    assert sorted(path.name for path in folder.glob("ids*")) == [
        "ids.ends.partial", "ids.errors.jsonl.partial", "ids.journal.partial", "ids.partial"
    ]  # fmt: skip
    code, text = run_command("--on-error", "skip-file", "--overwrite")
    assert code == 3 and "skipped 18 bad lines and 1 damaged file; see ids.errors.jsonl" in text


def test_a_file_with_a_damaged_beginning_is_skipped(toy, tmp_path, monkeypatch):
    """Regression: the run stopped if it reached the damage while inferring the format."""
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_bytes(b"the")
    Path("b.zst").write_bytes(zstandard.ZstdCompressor().compress(b"the of " * 1000)[:-9])
    with pytest.raises(InputError, match=r"b\.zst: byte .*: the file ends inside"):
        pyunitok.tokenize(["a.txt", "b.zst"], "ids", toy)
    manifest = pyunitok.tokenize(["a.txt", "b.zst"], "ids", toy, on_error="skip-file")
    assert [bool(record.error) for record in manifest.inputs] == [False, True]
