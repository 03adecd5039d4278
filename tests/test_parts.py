"""Runs in parts in one process: the joined output equals that of an undivided run, despite crashes and damage."""

import bz2
import json
import os
import shutil
import time
from pathlib import Path

import crash
import pytest
from test_zst import frame
from toys.plans import in_parts, make_plan

import pyunitok
from pyunitok.corpus import inputs
from pyunitok.corpus.ranges import UNCOUNTED, Range, counted, followed_by
from pyunitok.corpus.source import Source
from pyunitok.disk.outfile import OutputLock
from pyunitok.errors import InputError, OutputError
from pyunitok.model.codec import Codec
from pyunitok.model.sampling import Sample
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.run import merge as merge_module
from pyunitok.run import parts as parts_module
from pyunitok.run import units as units_module
from pyunitok.run.merge import finished_parts, merge
from pyunitok.run.parts import parts_folder
from pyunitok.run.pipeline import tokenize
from pyunitok.run.plan import Callbacks, Plan
from pyunitok.run.units import MAX_UNIT_BYTES, MIN_UNIT_BYTES, default_unit_bytes, each, make_part, plan_units
from pyunitok.tokens.metadata import errors_path

UNIT = 300


def frames(data: bytes, n_bytes: int) -> bytes:
    return b"".join(frame(data[k : k + n_bytes]) for k in range(0, len(data), n_bytes))


def json_lines(n: int) -> bytes:
    return b"\r\n".join(
        json.dumps({"text": f"the {k} である\n" * (k % 7), "n": k}, ensure_ascii=k % 2 == 0).encode() + b"\n" * (k % 3)
        for k in range(n)
    )


@pytest.fixture
def corpus(tmp_path) -> Path:
    """Inputs of all kinds: divided, undivided, empty, small; with separators at their ends and across frames."""
    (tmp_path / "in").mkdir()
    text = b"".join(b"the %d\n\n\naa" % k + b"\n" * (k % 5) for k in range(150))
    files = {
        "0.jsonl.zst": frames(b"\xef\xbb\xbf" + json_lines(150), 333),
        "1.txt.zst": frames(text, 71),
        "2.txt": text + b"one long end" * 200,
        "3.txt": b"",
        "4.txt": b"\n\n",
        "5.txt.bz2": bz2.compress(text),
        "6.jsonl": json_lines(25) + b"\n\n\n",
        "7.txt": b"x" * 2000 + b"\n\n",
        "8.txt": b"the",
    }
    for name, data in files.items():
        (tmp_path / "in" / name).write_bytes(data)
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"text": ["the", "", "である"] * 50}), tmp_path / "in/9.parquet")
    return tmp_path


def plan_of(toy, corpus, name, **options) -> Plan:
    sources = inputs.find([str(corpus / "in")])
    return make_plan(sources, corpus / name, toy, **{"eod": 300, "separator": b"\n\n", "threads": 1} | options)


def check_equal(corpus: Path, model, name: str = "ids", whole: str = "whole") -> None:
    """Compare the files of two runs. Metadata is compared after decompression: its frames depend on the clock."""
    for suffix in ("", ".ends", ".errors.jsonl"):
        files = [corpus / f"{k}{suffix}" for k in (name, whole)]
        assert files[0].exists() == files[1].exists()
        assert not files[0].exists() or files[0].read_bytes() == files[1].read_bytes(), suffix
    assert crash.timeless(corpus / f"{name}.json") == crash.timeless(corpus / f"{whole}.json")
    arrays = [pyunitok.open(corpus / k, model=model) for k in (name, whole)]
    if (corpus / f"{whole}.meta.jsonl.zst").exists():
        assert list(arrays[0].all_metadata) == list(arrays[1].all_metadata)
    assert not list(corpus.glob(f"{name}.*partial")) and not parts_folder(corpus / name).exists()


def check_run(corpus: Path, model, **options) -> None:
    """Run in parts, and compare the files with those of an undivided run."""
    in_parts(plan_of(model, corpus, "ids", **options), unit_bytes=UNIT)
    tokenize(plan_of(model, corpus, "whole"))
    check_equal(corpus, model)


@pytest.mark.parametrize("unit_bytes", [120, UNIT, 5000, None])
@pytest.mark.parametrize("options", [{}, {"metadata": True, "on_error": "skip"}, {"separator": None, "eod": None}])
def test_parts_equal_the_undivided_run(toy, corpus, unit_bytes, options):
    with (corpus / "in/6.jsonl").open("ab") as file:
        file.write(b'{"text":1}\nno\n' * 30 * bool(options.get("on_error")))
    manifest = tokenize(plan_of(toy, corpus, "whole", **options))
    plan = plan_of(toy, corpus, "ids", **options)
    n_units = len(plan_units(plan, unit_bytes or default_unit_bytes(plan.sources)))
    assert n_units > 20 if unit_bytes == UNIT and "separator" not in options else n_units
    made = in_parts(plan, unit_bytes=unit_bytes)
    check_equal(corpus, toy)
    assert made.hash == manifest.hash
    started = []
    tokenize(plan, Callbacks(on_start=started.append))  # finds a finished run, on one machine
    in_parts(plan, unit_bytes=7, on_start=started.append)  # … and on a cluster
    assert [start.complete for start in started] == [True, True]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="requires /proc")
def test_units_cost_little(toy, corpus, monkeypatch):
    """Regression: each part wrote a useless journal, synced its files nine times, and started with an empty scratch."""
    plan, synced, made = plan_of(toy, corpus, "ids"), [], []
    attempts, fsync, new_scratch = parts_folder(corpus / "ids") / "attempts", os.fsync, Codec.new_scratch

    def sync(fd):
        path = Path(f"/proc/self/fd/{fd}").readlink()
        if attempts in (path.parent, path.parent.parent):
            synced.append(path.name)
        fsync(fd)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(Codec, "new_scratch", lambda codec: made.append(codec) or new_scratch(codec))
    toy.codec.scratches.clear()
    in_parts(plan, unit_bytes=UNIT)
    n_units = sum(".json." in name for name in synced)
    assert n_units > 20 and len(synced) == 4 * n_units  # each unit syncs three files and a folder
    assert not any("journal" in name for name in synced)
    assert len(made) <= plan.options.n_threads


def test_units(toy, corpus):
    plan = plan_of(toy, corpus, "ids")
    units = plan_units(plan, UNIT)
    assert [unit.index for unit in units] == list(range(len(units)))
    covered = [number for unit in units for number in range(unit.first, unit.end) if not unit.part.begin]
    assert covered == list(range(len(plan.sources)))
    assert sum(unit.part.begin > 0 and unit.before == UNCOUNTED for unit in units) > 20
    small = [unit for unit in units if unit.end - unit.first > 1]
    names = [Path(plan.sources[number].path).name for unit in small for number in range(unit.first, unit.end)]
    assert len(small) == 1 and names == ["3.txt", "4.txt", "5.txt.bz2"]
    sampled = plan_units(plan_of(toy, corpus, "ids", sample=Sample(0.1, 1)), UNIT)
    assert all(unit.part == Range() for unit in sampled)
    assert default_unit_bytes(plan.sources) == MIN_UNIT_BYTES
    source = Source("x", "text", "none", 1 << 50)
    assert default_unit_bytes([source]) == MAX_UNIT_BYTES


@pytest.mark.parametrize("name", ["0.jsonl.zst", "1.txt.zst", "6.jsonl", "7.txt"])
def test_counting(corpus, name):
    (source,) = inputs.find([str(corpus / "in" / name)])
    separator = b"\n" if "jsonl" in name else b"\n\n"
    whole = counted(source, Range(), separator)
    bounds = units_module.plan_ranges(source, separator, 100)
    assert len(bounds) > 5
    start = followed_by(pyunitok.corpus.position.BEGINNING, counted(source, bounds[0], separator))
    for part in bounds[1:]:
        before = counted(source, Range(0, part.begin), separator)
        assert (before.bytes, before.documents, before.lines) == (start.bytes, start.documents, start.lines)
        start = followed_by(start, counted(source, part, separator))
    assert (whole.bytes, whole.documents, whole.lines) == (start.bytes, start.documents, start.lines)


def test_samples_equal_those_of_the_undivided_run(corpus):
    pytest.importorskip("sentencepiece")
    from sentencepiece import sentencepiece_model_pb2

    proto = sentencepiece_model_pb2.ModelProto()
    proto.pieces.add(piece="<unk>", score=0, type=2)
    for piece in ("t", "h", "e", "th", "he", "the", "▁", "a", "aa", "x", "xx", "xxx", "\n", "\n\n"):
        proto.pieces.add(piece=piece, score=-1 - len(piece) / 7)
    (corpus / "toy.model").write_bytes(proto.SerializeToString())
    model = Tokenizer.from_file(corpus / "toy.model")
    options = {"sample": Sample(0.3, 7), "eod": None}
    plain = tokenize(plan_of(model, corpus, "plain", eod=None))
    whole = tokenize(plan_of(model, corpus, "whole", **options))
    assert whole.hash != plain.hash
    in_parts(plan_of(model, corpus, "ids", **options), unit_bytes=UNIT)
    check_equal(corpus, model)


def failing_after(n: int, error: BaseException):
    def each_until(function, shared, items):
        for k, result in each(function, shared, items):
            yield k, result
            if function is make_part and k + 1 == n:
                raise error

    return each_until


def test_a_killed_driver_is_resumed(toy, corpus):
    tokenize(plan_of(toy, corpus, "whole", metadata=True))
    plan = plan_of(toy, corpus, "ids", metadata=True)
    with pytest.raises(KeyboardInterrupt):
        in_parts(plan, failing_after(5, KeyboardInterrupt()), unit_bytes=UNIT)
    folder = parts_folder(corpus / "ids")
    assert len(finished_parts(folder)) == 5
    there = {path: path.stat().st_mtime_ns for path in finished_parts(folder)}
    # As if the run had been killed while renaming one part and writing another.
    finished_parts(folder)[4].unlink()
    (folder / f"attempts/7.{'0' * 32}").mkdir(parents=True)
    done, started = [], []

    def counting(function, shared, items):
        for k, result in each(function, shared, items):
            done.append(items[k][0].index)
            yield k, result
        assert {p: p.stat().st_mtime_ns for p in list(there)[:4]} == dict(list(there.items())[:4])

    in_parts(plan, counting, unit_bytes=UNIT, on_start=started.append)
    assert done[0] == 4 and started[0].documents > 0
    check_equal(corpus, toy)


def test_parts_are_joined_while_others_run(toy, corpus, monkeypatch):
    joined, n_joined_early, merging = [], [], []
    append = merge_module.Joiner.append
    monkeypatch.setattr(merge_module.Joiner, "append", lambda *given: (append(*given), joined.append(given[1].path))[0])

    def slow_each(function, shared, items):
        """The fourth-to-last part takes as long as joining the parts before it."""
        for k, result in each(function, shared, items):
            if function is make_part and k == len(items) - 4:
                deadline = time.monotonic() + 30
                while len(joined) < k and time.monotonic() < deadline:
                    time.sleep(0.01)
                n_joined_early.append(len(joined))
            yield k, result

    tokenize(plan_of(toy, corpus, "whole", metadata=True))
    plan = plan_of(toy, corpus, "ids", metadata=True)

    def merge(progress):
        merging.append((progress.bytes, progress.compressed_total))

    in_parts(plan, slow_each, unit_bytes=UNIT, on_merge=merge)
    check_equal(corpus, toy)
    assert n_joined_early == [len(joined) - 4] and n_joined_early[0] > 10
    n_bytes = sum((corpus / name).stat().st_size for name in ("ids", "ids.ends"))
    assert merging[-1] == (n_bytes, n_bytes)


def test_a_join_that_fails(toy, corpus, monkeypatch):
    """The error stops the run; the next run continues with the existing parts."""

    def fail(*_):
        raise OutputError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(merge_module.Joiner, "append", fail)
        with pytest.raises(OutputError, match="no space left"):
            in_parts(plan_of(toy, corpus, "ids"), unit_bytes=UNIT)
    assert not list(corpus.glob("ids.*partial")) and finished_parts(parts_folder(corpus / "ids"))
    check_run(corpus, toy)


def test_killed_during_the_join(toy, corpus, monkeypatch):
    tokenize(plan_of(toy, corpus, "whole"))
    plan = plan_of(toy, corpus, "ids")
    (corpus / "ids").write_bytes(b"older")
    (corpus / "ids.json").write_bytes(b"older")

    def killed(*_):
        raise KeyboardInterrupt

    places = [(parts_module.merge, "open_parts"), (parts_module.Output, "commit"), (parts_module.Output, "_name")]
    for owner, name in [*places, (parts_module, "_remove")]:
        original = getattr(owner, name)
        monkeypatch.setattr(owner, name, killed)
        with pytest.raises(KeyboardInterrupt):
            if name == "open_parts":
                in_parts(plan_of(toy, corpus, "ids", overwrite=True), unit_bytes=UNIT)
            else:
                in_parts(plan, failing_after(1, AssertionError("a part was computed again")), unit_bytes=UNIT)
        monkeypatch.setattr(owner, name, original)
    in_parts(plan, failing_after(1, AssertionError("a part was computed again")), unit_bytes=UNIT)
    check_equal(corpus, toy)


def test_changes_that_are_rejected(toy, corpus):
    plan = plan_of(toy, corpus, "ids")
    with pytest.raises(KeyboardInterrupt):
        in_parts(plan, failing_after(3, KeyboardInterrupt()), unit_bytes=UNIT)
    for options, message in [
        ({"eod": 301}, r"ids\.parts was started by another command \(eod: was 300, now 301\); --overwrite"),
        ({"separator": b"x"}, 'separator: was "\\\\n\\\\n", now "x"'),
    ]:
        with pytest.raises(OutputError, match=message):
            in_parts(plan_of(toy, corpus, "ids", **options), unit_bytes=UNIT)
    with pytest.raises(OutputError, match="unit: was 300, now 301"):
        in_parts(plan, unit_bytes=UNIT + 1)
    lock = OutputLock(parts_folder(corpus / "ids"))
    with pytest.raises(OutputError, match=r"ids\.parts: another process is writing it"):
        in_parts(plan, unit_bytes=UNIT)
    lock.release()
    with (corpus / "in/8.txt").open("ab") as file:
        file.write(b"!")
    with pytest.raises(OutputError, match=r"input 9: .*8\.txt \(text, compression none, 3 bytes, .*, now "):
        in_parts(plan_of(toy, corpus, "ids"), unit_bytes=UNIT)
    (parts_folder(corpus / "ids") / "plan.json").write_bytes(b"{")
    with pytest.raises(OutputError, match=r"plan\.json: damaged .*; --overwrite starts again"):
        in_parts(plan_of(toy, corpus, "ids"), unit_bytes=UNIT)
    check_run(corpus, toy, overwrite=True)
    with pytest.raises(OutputError, match="exists, and was made by another command"):
        in_parts(plan_of(toy, corpus, "ids", eod=None), unit_bytes=UNIT)
    with pytest.raises(InputError, match="other machines cannot read a pipe"):
        in_parts(make_plan([Source("-", "text", "none")], corpus / "x", toy, 300))
    assert not parts_folder(corpus / "x").exists()


def test_started_on_one_machine(toy, corpus, monkeypatch):
    monkeypatch.setattr("pyunitok.run.output.CHECKPOINT_BYTES", 1)
    monkeypatch.setattr("pyunitok.run.output.CHECKPOINT_SHARE", 0)

    def stop(progress):
        if progress.bytes > 3000:
            raise KeyboardInterrupt

    plan = plan_of(toy, corpus, "ids", block_bytes=500)
    with pytest.raises(KeyboardInterrupt):
        tokenize(plan, Callbacks(on_progress=stop))
    with pytest.raises(OutputError, match="ids was started on one machine; run the same command without --ray"):
        in_parts(plan, unit_bytes=UNIT)


def test_errors_name_the_line_of_the_file(toy, corpus):
    lines = json_lines(170).splitlines(keepends=True)
    lines.insert(150, b"no\n")
    path = corpus / "in/0.jsonl.zst"
    path.write_bytes(frames(b"".join(lines), 500))
    with pytest.raises(InputError) as expected:
        tokenize(plan_of(toy, corpus, "whole"))
    with pytest.raises(InputError) as found:
        in_parts(plan_of(toy, corpus, "ids"), unit_bytes=UNIT)
    assert str(found.value) == str(expected.value)
    assert f"{path}: line 151: " in str(found.value)
    assert not list(parts_folder(corpus / "ids").glob("attempts/*"))


def test_keep_parts(toy, corpus):
    tokenize(plan_of(toy, corpus, "whole", metadata=True, on_error="skip"))
    plan = plan_of(toy, corpus, "ids", metadata=True, on_error="skip")
    manifest = in_parts(plan, unit_bytes=UNIT, keep_parts=True)
    assert not (corpus / "ids").exists() and manifest.tokens > 0
    folder = parts_folder(corpus / "ids")
    for path in finished_parts(folder)[:3]:
        assert len(pyunitok.open(path, model=toy)) == pyunitok.open(path, model=toy).manifest.documents
    merge(finished_parts(folder), corpus / "ids")
    shutil.rmtree(folder)
    check_equal(corpus, toy)
    assert errors_path(corpus / "ids").exists() == errors_path(corpus / "whole").exists()


def test_many_parts_are_stored_in_folders(toy, corpus, monkeypatch):
    monkeypatch.setattr(units_module, "FOLDER_PARTS", 7)
    tokenize(plan_of(toy, corpus, "whole"))
    in_parts(plan_of(toy, corpus, "ids"), unit_bytes=100, keep_parts=True)
    folder = parts_folder(corpus / "ids")
    assert max(len(list(one.glob("*-of-*.json"))) for one in folder.iterdir()) == 7
    paths = finished_parts(folder)
    assert [pyunitok.open(path, model=toy).manifest.shard["index"] for path in paths] == list(range(len(paths)))
    in_parts(plan_of(toy, corpus, "ids"), failing_after(1, AssertionError()), unit_bytes=100)
    check_equal(corpus, toy)


def interrupted(plan: Plan, n: int = 3) -> Path:
    """The folder OUT.parts of a run that stopped after n parts."""
    with pytest.raises(KeyboardInterrupt):
        in_parts(plan, failing_after(n, KeyboardInterrupt()), unit_bytes=UNIT)
    return parts_folder(plan.out)


@pytest.mark.parametrize("overwrite", [False, True])
def test_foreign_files_in_parts_are_kept(toy, corpus, overwrite):
    """Regression: a run removed any folder OUT.parts that had no plan."""
    tokenize(plan_of(toy, corpus, "whole"))
    folder = parts_folder(corpus / "ids")
    for name in ("thesis.txt", "0/notes", "attempts/mine/1", "attempts/7.x"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"mine")
    there = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    plan = plan_of(toy, corpus, "ids", overwrite=overwrite)
    if overwrite:
        in_parts(plan, unit_bytes=UNIT)
        assert (corpus / "ids").read_bytes() == (corpus / "whole").read_bytes()
        in_parts(plan_of(toy, corpus, "whole"))
    else:
        with pytest.raises(OutputError, match=r"ids\.parts holds files but no plan\.json"):
            in_parts(plan, unit_bytes=UNIT)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == there


@pytest.mark.parametrize("name", ["", "attempts", "0", "plan.json"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_links_in_parts_are_rejected(toy, corpus, name, overwrite):
    target = corpus / "target"
    (target / "attempts").mkdir(parents=True)
    for file in ("attempts/0." + "0" * 32, "ids.0-of-5", "plan"):
        (target / file).write_bytes(b"mine")
    there = {path: path.read_bytes() for path in target.rglob("*") if path.is_file()}
    plan = plan_of(toy, corpus, "ids", overwrite=overwrite)
    folder = parts_folder(corpus / "ids")
    if name:
        interrupted(plan_of(toy, corpus, "ids"))
        shutil.rmtree(folder / name) if (folder / name).is_dir() else (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(target / "plan" if name == "plan.json" else target)
    with pytest.raises(OutputError, match="is a symbolic link"):
        in_parts(plan, unit_bytes=UNIT)
    assert (folder / name).is_symlink()
    assert {path: path.read_bytes() for path in target.rglob("*") if path.is_file()} == there


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("change", ["removed", "repeated", "swapped", "last", "range", "type", "replaces"])
def test_a_changed_plan_is_rejected(toy, corpus, change, signed):
    """Regression: with a removed or repeated unit, a run wrote 794 or 806 of 800 documents and exited with status 0."""
    folder = interrupted(plan_of(toy, corpus, "ids"), 1)
    shutil.rmtree(folder / "0")
    values = json.loads((folder / "plan.json").read_bytes())
    units = values["units"]
    if change == "removed":
        del units[4]
    elif change == "last":
        units.pop()
    elif change == "repeated":
        units.insert(4, units[4])
    elif change == "swapped":
        units[4], units[5] = units[5], units[4]
    elif change == "range":
        units[4][3] += 7
    elif change == "type":
        units[4][1] = "1"
    else:
        values["replaces"] = 1
    digest = values.pop("xxh64")
    values["xxh64"] = parts_module._digest(values) if signed else digest
    (folder / "plan.json").write_text(json.dumps(values))
    with pytest.raises(OutputError, match=r"plan\.json: damaged .*; --overwrite starts again"):
        in_parts(plan_of(toy, corpus, "ids"), unit_bytes=UNIT)
    check_run(corpus, toy, overwrite=True)


def test_killed_while_parts_are_removed(toy, corpus, monkeypatch):
    """The plan is removed last, because it shows that the folder belongs to the run."""
    tokenize(plan_of(toy, corpus, "whole"))
    plan = plan_of(toy, corpus, "ids")
    original, left = Path.unlink, []

    def unlink(path, missing_ok=False):
        if "ids.parts/" in str(path) and "attempts" not in str(path):
            if not left:
                raise KeyboardInterrupt
            left.pop()
        original(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", unlink)
    for n in range(1000):
        left[:] = [None] * n
        try:
            in_parts(plan, unit_bytes=2000)
            break
        except KeyboardInterrupt:
            continue
    assert n > 5
    check_equal(corpus, toy)
