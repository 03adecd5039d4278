"""Options that change on resume: the output equals that of an uninterrupted run, or the change is rejected."""

import json
from pathlib import Path

import pytest
from crash import timeless
from toys.plans import in_parts, make_plan

import pyunitok
from pyunitok.corpus import inputs
from pyunitok.errors import InputError, OutputError
from pyunitok.run.merge import merge
from pyunitok.run.parts import parts_folder

SUFFIXES = ("", ".ends", ".errors.jsonl")
LONG = 5000  # bytes of the long line


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """in/0.jsonl is valid, 1.jsonl has a bad line, and 2.jsonl has a long line."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pyunitok.run.output.CHECKPOINT_BYTES", 1)
    monkeypatch.setattr("pyunitok.run.output.CHECKPOINT_SHARE", 0)
    Path("in").mkdir()
    good = [json.dumps({"text": f"the cat {k}", "n": k}) for k in range(200)]
    Path("in/0.jsonl").write_text("\n".join(good) + "\n")
    Path("in/1.jsonl").write_text("\n".join([*good, "no", *good]) + "\n")
    Path("in/2.jsonl").write_text("\n".join([*good, json.dumps({"text": "x" * (LONG - 12)}), *good]) + "\n")
    return tmp_path


class Stopped(Exception):
    pass


def run(toy, out="ids", on_error="raise", max_line=1 << 20, stop=None, **options):
    """stop: interrupt the run after this many bytes of input."""

    def on_progress(progress):
        if stop is not None and progress.bytes > stop:
            raise Stopped

    return pyunitok.tokenize(
        options.pop("inputs", "in"), out, toy, on_error=on_error, max_line_bytes=max_line, block_bytes=700, threads=2,
        on_progress=on_progress, metadata=True, **options,
    )  # fmt: skip


def check_equal(out="ids", expected="whole", suffixes=(*SUFFIXES, ".meta.jsonl.zst")):
    for suffix in suffixes:
        files = [Path(name + suffix) for name in (out, expected)]
        assert files[0].exists() == files[1].exists(), suffix
        assert not files[0].exists() or files[0].read_bytes() == files[1].read_bytes(), suffix
    assert timeless(Path(f"{out}.json")) == timeless(Path(f"{expected}.json"))
    assert not list(Path().glob(f"{out}*.partial"))


GOOD = 5000  # bytes before the first bad line
BAD = 15_000  # bytes before the long line


@pytest.mark.parametrize(
    "changes",
    [
        [("raise", 1 << 20, None), ("skip", 1 << 20, None)],
        [("raise", 1 << 20, GOOD), ("skip-file", 1 << 20, None)],
        [("raise", 1000, GOOD), ("skip", 1 << 20, None)],
        [("skip", 1000, GOOD), ("raise", 1000, None), ("skip", 1000, None)],
        [("skip", 1000, GOOD), ("raise", 1000, None), ("skip", 1 << 20, BAD), ("skip-file", 1 << 20, None)],
        [("skip", 1000, BAD), ("skip", 1 << 21, None)],
        [("skip-file", 1000, BAD), ("skip", 1 << 21, BAD), ("skip", 1 << 22, None)],
    ],
)
def test_allowed_changes(folder, toy, changes):
    *_, (on_error, max_line, _) = changes
    run(toy, "whole", on_error, max_line)
    for number, (on_error, max_line, stop) in enumerate(changes):
        before = Path("ids.partial").read_bytes() if number else b""
        try:
            run(toy, "ids", on_error, max_line, stop)
        except (Stopped, InputError):
            assert Path("ids.partial").read_bytes().startswith(before)
    assert Path("ids").read_bytes().startswith(before)
    check_equal()


@pytest.mark.parametrize(
    ("was", "now", "message"),
    [
        (("skip", 1 << 20, BAD), ("raise", 1 << 20), "on error: was skip, now raise, but the output omits 1 line"),
        (("skip", 1 << 20, GOOD), ("skip", 1 << 19), "--max-line: was 1048576, now 524288"),
        (("raise", 1 << 20, GOOD), ("skip", 1 << 19), "--max-line: was 1048576, now 524288"),
        (("skip", 1000, 2 * BAD), ("skip", 1 << 19), "--max-line: .*longer lines were skipped"),
        (("skip", 1000, GOOD), ("skip", 1000, "text"), 'text key: was "text", now "x"'),
    ],
)
def test_rejected_changes(folder, toy, was, now, message):
    """The files do not change, and a compatible command resumes the run."""
    with pytest.raises(Stopped):
        run(toy, "ids", *was)
    existing = {path: path.read_bytes() for path in Path().glob("ids*")}
    with pytest.raises(OutputError, match=message):
        run(toy, "ids", *now[:2], text_key="x" if len(now) > 2 else "text")
    assert {path: path.read_bytes() for path in Path().glob("ids*")} == existing
    was = ("skip", 1 << 20) if was[0] == "raise" else was
    run(toy, "whole", *was[:2])
    run(toy, "ids", *was[:2])
    check_equal()


# ------------------------------------------------------------------------------------------------- shards and parts

N_SHARDS = 3


def run_shards(toy, on_error, max_line, out="ids"):
    """Run all shards and return the number that failed."""
    n_failed = 0
    for k in range(N_SHARDS):
        try:
            run(toy, out, on_error, max_line, shard=(k, N_SHARDS))
        except InputError:
            n_failed += 1
    return n_failed


def merge_shards(out="ids"):
    merge([Path(f"{out}.{k}-of-{N_SHARDS}") for k in range(N_SHARDS)], Path(out))


@pytest.mark.parametrize("again", [True, False])
def test_shards(folder, toy, again):
    """Finished shards are kept, whether or not their command is repeated."""
    assert run_shards(toy, "raise", 1000) == 2
    first = Path("ids.0-of-3").stat().st_mtime_ns
    if again:
        assert run_shards(toy, "skip", 1 << 20) == 0
    else:
        run(toy, "ids", "skip", 1 << 20, shard=(1, N_SHARDS))
        run(toy, "ids", "raise", 1 << 20, shard=(2, N_SHARDS))
    assert Path("ids.0-of-3").stat().st_mtime_ns == first
    merge_shards()
    run(toy, "whole", "skip", 1 << 20)
    check_equal(suffixes=SUFFIXES)


def test_incompatible_shards_are_rejected(folder, toy):
    run_shards(toy, "skip", 1000)
    with pytest.raises(OutputError, match=r"ids\.1-of-3 exists.*on error: was skip, now raise, but the output omits"):
        run(toy, "ids", "raise", 1000, shard=(1, N_SHARDS))
    with pytest.raises(OutputError, match=r"ids\.2-of-3 exists.*--max-line: was 1000, now 2000, but longer lines"):
        run(toy, "ids", "skip", 2000, shard=(2, N_SHARDS))
    run(toy, "ids", "skip", 2000, shard=(1, N_SHARDS))
    run(toy, "ids", "raise", 500, shard=(0, N_SHARDS))
    run(toy, "ids", "skip", 2000, shard=(0, N_SHARDS), overwrite=True)
    with pytest.raises(OutputError, match=r"ids\.2-of-3 does not match the other shards: --max-line"):
        merge_shards()
    run(toy, "ids", "skip", 2000, shard=(2, N_SHARDS), overwrite=True)
    merge_shards()
    run(toy, "whole", "skip", 2000)
    check_equal(suffixes=SUFFIXES)


def run_in_parts(toy, on_error, max_line, each=None, **options):
    plan = make_plan(
        inputs.find(["in"]), Path("ids").absolute(), toy, toy.eod_id, threads=1, block_bytes=700, metadata=True,
        on_error=on_error, max_line_bytes=max_line, **options,
    )  # fmt: skip
    return in_parts(plan, *([each] if each else []), unit_bytes=1000)


def test_parts(folder, toy):
    """A bad line and a long line, each after several parts. Existing parts are kept."""
    with pytest.raises(InputError, match="line 201"):
        run_in_parts(toy, "raise", 1000)
    existing = {path: path.stat().st_mtime_ns for path in parts_folder(Path("ids")).glob("0/*-of-*")}
    assert len(existing) > 10
    killed = dict(existing)

    def stopping(function, shared, items):
        from pyunitok.run.units import each, make_part

        for k, result in each(function, shared, items):
            yield k, result
            if function is make_part and k == 3:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_in_parts(toy, "skip", 1 << 20, stopping)
    with pytest.raises(OutputError, match="on error: was skip, now raise, but the output omits 1 line"):
        run_in_parts(toy, "raise", 1 << 20)
    assert {path: path.stat().st_mtime_ns for path in killed} == existing
    run_in_parts(toy, "skip", 1 << 20)
    run(toy, "whole", "skip", 1 << 20)
    check_equal(suffixes=SUFFIXES)
    assert run_in_parts(toy, "skip", 1 << 20).documents > 0
