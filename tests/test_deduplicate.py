"""Removing repeats from a corpus: compared with their definition, and resumed after each step."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import random
import signal
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from commands import run
from conftest import decompressed, fewer
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import deduplicate as oracle

from pyunitok import InputError, OptionError, OutputError, deduplicate
from pyunitok._c import anchors as c_anchors
from pyunitok._c.anchors import RECORD, Anchors
from pyunitok.clean import cutting, output, repeats, workspace
from pyunitok.clean import deduplicate as deduplicate_module
from pyunitok.clean import records as records_module
from pyunitok.clean.matching import joined_ranges
from pyunitok.clean.records import BUCKETS, Ranges, RecordReader, RecordWriter
from pyunitok.clean.repeats import Memory, TextRepeats, Texts
from pyunitok.clean.workspace import Workspace
from pyunitok.corpus.reading import ReadingOptions
from pyunitok.corpus.words import word_rules
from pyunitok.run.identity import Identity

TINY = Memory(40, 200, 7)
PHRASE = "The quick brown fox jumps over the lazy dog while the cat sleeps on the warm mat, and nobody knows why. "
PARTS = [b"a", b"b", b"ab ", b" ", b"c", b"\n", b"\0", "ß".encode(), "あ".encode(), b"e\xcc\x81", b"\xff", b"\xe3\x81",
         b"the same words ", b"x" * 30]  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def without_sync() -> Iterator[None]:
    """Skips syncing temporary files to disk, which takes most of the time of small runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@st.composite
def corpora(draw: st.DrawFn) -> list[bytes]:
    """Documents made of a few different parts; some documents contain a piece of another document."""
    among = draw(st.lists(st.sampled_from(PARTS), min_size=1, max_size=len(PARTS), unique=True))
    documents = draw(st.lists(st.lists(st.sampled_from(among), max_size=40).map(b"".join), min_size=1, max_size=7))
    for _ in range(draw(st.integers(0, 4))):
        source, target = (draw(st.integers(0, len(documents) - 1)) for _ in range(2))
        text, places = documents[source], sorted(draw(st.integers(0, len(documents[source]))) for _ in range(2))
        at = draw(st.integers(0, len(documents[target])))
        documents[target] = documents[target][:at] + text[places[0] : places[1]] + documents[target][at:]
    return documents


def valid(documents: list[bytes]) -> list[bytes]:
    return [text.decode("utf-8", "ignore").encode() for text in documents]


UNITS = st.one_of(
    st.tuples(st.just("bytes"), st.sampled_from([1, 2, 3, 4, 5, 8, 13, 20])),
    st.tuples(st.just("words"), st.sampled_from([1, 2, 3, 4, 6])),
)


def found_in(
    folder: Path, documents: list[bytes], n: int, unit: str, keep: str, n_before: int, memory: Memory, threads: int
) -> tuple[list[list[tuple[int, int]]], int]:
    """(the ranges of each document, the windows) that TextRepeats finds."""
    ends = list(accumulate(map(len, documents)))
    with Workspace(folder, folder, Identity({}, []), overwrite=True) as space:
        for name, data in (("text-0", b"".join(documents)), ("ends-0", np.array(ends, np.int64).tobytes())):
            with space.new_file(name) as file:
                file.write(data)
        corpus = Texts(space, 0, ends[-1], len(ends), ends[n_before - 1] if n_before else 0)
        anchors = Anchors(n, 7, word_rules() if unit == "words" else None)
        finder = TextRepeats(
            space, "x", corpus, anchors, memory, threads, n_units=n, all_copies=keep == "none",
            on_step=lambda _name, _progress: None,
        )  # fmt: skip
        found = finder.find()
        ranges = Ranges.opened(space, "x-repeats", found["n"])
        ret = []
        for begin, end in zip([0, *ends[:-1]], ends, strict=True):
            inside = np.clip(ranges.between(begin, end), begin, end) - begin if begin < end else np.empty((0, 2))
            ret.append([(int(a), int(b)) for a, b in inside])
        assert sum(b - a for pairs in ret for a, b in pairs) == found["bytes"]
        return ret, found["windows"]


@given(corpora(), UNITS, st.sampled_from(["first", "none"]), st.sampled_from([TINY, Memory.of(1 << 30, 2)]),
       st.integers(1, 3), st.data())  # fmt: skip
def test_repeats_are_those_of_the_definition(tmp_path_factory, documents, window, keep, memory, threads, data):
    unit, n = window
    n_before = data.draw(st.integers(0, len(documents) - 1))
    found = found_in(tmp_path_factory.mktemp("x"), documents, n, unit, keep, n_before, memory, threads)
    expected = oracle.repeated(documents, n, unit, keep, n_before)
    assert found == (oracle.joined(expected, len(documents)), len(expected))


@given(corpora(), st.sampled_from(["char", "word", "line"]), st.sampled_from([2.0, 0.5, 0.0]),
       st.sampled_from([0, 3, 30]), st.data())  # fmt: skip
def test_cuts_are_those_of_the_definition(documents, cut, max_share, min_left, data):
    text = b"".join(documents)
    ends = list(accumulate(map(len, documents)))
    places = data.draw(st.lists(st.integers(0, len(text)), max_size=8, unique=True).map(sorted))
    ranges = joined_ranges(np.array(places[: len(places) // 2 * 2], np.int64).reshape(-1, 2))
    expected = []
    for begin, end in zip([0, *ends[:-1]], ends, strict=True):
        inside = [(max(a, begin) - begin, min(b, end) - begin) for a, b in ranges.tolist() if a < end and b > begin]
        cuts = oracle.removed(text[begin:end], inside, cut, max_share if inside else 2.0, min_left)
        expected += [(a + begin, b + begin) for a, b in cuts]
    array = np.frombuffer(text, np.uint8)
    found = c_anchors.cut(word_rules(), cut, array, np.array(ends, np.int64), ranges, max_share, min_left)
    assert [tuple(pair) for pair in found.tolist()] == expected
    kept = b"".join(text[a:b] for a, b in zip([0, *found[:, 1].tolist()], [*found[:, 0].tolist(), len(text)],
                                              strict=True))  # fmt: skip
    assert c_anchors.removed(array, 0, len(text), found).tobytes() == kept


@fewer(3)
@given(corpora().map(valid), UNITS, st.data())
def test_the_output_is_that_of_the_definition(tmp_path_factory, documents, window, data):
    folder, (unit, n) = tmp_path_factory.mktemp("x"), window
    options: dict[str, Any] = {
        "keep": data.draw(st.sampled_from(["first", "none"])),
        "cut": data.draw(st.sampled_from(["char", "word", "line"])),
        "min_left": data.draw(st.sampled_from([0, 3, 30])),
    }
    max_share, whole, repeat = data.draw(st.tuples(st.sampled_from([None, 0.5, 0.2]), st.booleans(), st.booleans()))
    n_before = data.draw(st.integers(0, len(documents) - 1))
    middle = data.draw(st.integers(n_before, len(documents)))
    lines = [json.dumps({"id": k, "text": text.decode()}) + "\n" for k, text in enumerate(documents)]
    (folder / "in").mkdir()
    for path, some in (("old.jsonl", lines[:n_before]), ("in/1.jsonl", lines[n_before:middle]),
                       ("in/2.jsonl", lines[middle:])):  # fmt: skip
        (folder / path).write_text("".join(some))
    reading = ReadingOptions(
        threads=data.draw(st.integers(1, 3)), block_bytes=data.draw(st.sampled_from([64, 1 << 20]))
    )
    with pytest.MonkeyPatch.context() as patch:
        if data.draw(st.booleans()):
            patch.setattr(Memory, "of", lambda *_: TINY)
        patch.setattr(cutting, "CHUNK", data.draw(st.sampled_from([1, 2, 1 << 16])))
        found = deduplicate(
            folder / "in", folder / "out", against=[folder / "old.jsonl"] if n_before else [], max_share=max_share,
            documents=whole, repeat=repeat, ranges=folder / "ranges.jsonl", reading=reading,
            **options | ({"min_words": n} if unit == "words" else {"min_bytes": n}),
        )  # fmt: skip
    expected, n_left = oracle.clean(
        documents, n, unit, max_share=2.0 if max_share is None else max_share, whole=whole, n_before=n_before,
        repeat=repeat, **options,
    )  # fmt: skip
    old = documents[n_before:]
    written = [json.loads(line) for k in (1, 2) for line in (folder / f"out/{k}.jsonl").read_bytes().splitlines()]
    kept = [k for k, text in enumerate(expected) if text or not old[k]]
    assert written == [{"id": n_before + k, "text": expected[k].decode()} for k in kept]
    assert (found.windows_left, found.written) == (n_left, len(kept))
    assert found.removed_bytes == sum(map(len, old)) - sum(map(len, expected))
    assert found.affected == sum(a != b for a, b in zip(expected, old, strict=True))
    for line in (folder / "ranges.jsonl").read_bytes().splitlines():
        record = json.loads(line)
        k = record["document"] + (middle - n_before if record["file"].endswith("2.jsonl") else 0)
        assert oracle.without(old[k], record["ranges"]) == expected[k] and record["bytes"] == len(old[k])
        assert record["ranges"]
    assert not list(folder.rglob("*partial*"))


# ------------------------------------------------------------------------------------------------------ the command


def document(k: int) -> str:
    """Every fifth document contains the phrase; document 50 equals document 40."""
    k = 40 if k == 50 else k
    middle = PHRASE * (k % 5 == 0)
    return f"Document {k} begins {'with nothing special ' * (k % 3)}here {k}. {middle}{k * k} ends."


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    lines = [json.dumps({"id": k, "text": document(k), "n": 1.50}).encode() + b"\n" for k in range(300)]
    (tmp_path / "in/a").mkdir(parents=True)
    frames = [zstandard.compress(b"".join(lines[k : k + 50])) for k in range(0, 200, 50)]
    (tmp_path / "in/a/x.jsonl.zst").write_bytes(b"".join(frames))
    (tmp_path / "in/y.jsonl").write_bytes(b"".join(lines[200:]))
    (tmp_path / "in/empty.jsonl").touch()
    return tmp_path


def clean(folder: Path, *arguments: str, inputs: str = "in", out: str = "clean", code: int = 0) -> Any:
    done = run(folder, "deduplicate", inputs, "-o", out, *arguments)
    assert done.returncode == code, done.stderr.decode()
    return done


def test_command(corpus: Path) -> None:
    done = clean(corpus, "--documents", "--ranges", "ranges.jsonl.zst", "--json", "summary.json")
    lines = decompressed(corpus / "in/a/x.jsonl.zst").splitlines(keepends=True)
    written = decompressed(corpus / "clean/a/x.jsonl.zst").splitlines(keepends=True)
    assert written[:5] == lines[:5]  # the first copy of the phrase, and lines without it
    assert json.loads(written[5])["text"] == document(5).replace(" " + PHRASE, "")  # two words do not become one
    assert [json.loads(line)["id"] for line in written] == [*range(50), *range(51, 200)]
    assert all(json.loads(line)["n"] == 1.5 for line in written)
    ranges = [json.loads(line) for line in decompressed(corpus / "ranges.jsonl.zst").splitlines()]
    assert {len(record["ranges"]) for record in ranges} == {1}
    assert ranges[9] == {"file": "in/a/x.jsonl.zst", "document": 50, "bytes": len(document(50)),
                         "ranges": [[0, len(document(50))]]}  # fmt: skip
    summary = json.loads((corpus / "summary.json").read_bytes())
    n_removed = sum(end - begin for record in ranges for begin, end in record["ranges"])
    assert (summary["read"], summary["written"], summary["affected"]) == (300, 299, 59)
    assert summary["removed_bytes"] == n_removed and summary["windows_left"] == 0
    assert f"{n_removed:,} of {summary['bytes']:,} bytes of text removed".encode() in done.stdout
    assert b"already complete" in clean(corpus, "--documents", "--ranges", "ranges.jsonl.zst").stdout
    assert b"keep: was \"first\", now \"none\"" in clean(corpus, "--keep", "none", code=1).stderr


def test_a_byte_order_mark_is_dropped(corpus: Path) -> None:
    """Regression: it became three spaces."""
    lines = (corpus / "in/y.jsonl").read_bytes()
    clean(corpus, inputs="in/y.jsonl", out="one.jsonl")
    (corpus / "in/y.jsonl").write_bytes(b"\xef\xbb\xbf" + lines)
    clean(corpus, inputs="in/y.jsonl", out="two.jsonl")
    assert (corpus / "two.jsonl").read_bytes() == (corpus / "one.jsonl").read_bytes()


def test_against_and_all_copies(corpus: Path) -> None:
    (corpus / "old.jsonl").write_text(json.dumps({"text": "Before. " + PHRASE}))
    clean(corpus, "--against", "old.jsonl", inputs="in/y.jsonl", out="one.jsonl")
    clean(corpus, "--keep", "none", inputs="in/y.jsonl", out="two.jsonl")
    lines = (corpus / "in/y.jsonl").read_bytes().splitlines(keepends=True)
    for name in ("one.jsonl", "two.jsonl"):
        written = (corpus / name).read_bytes().splitlines(keepends=True)
        assert len(written) == 100 and PHRASE[:-1] not in "".join(map(bytes.decode, written))
        assert [line for k, line in enumerate(written) if k % 5] == [line for k, line in enumerate(lines) if k % 5]


def test_ranges_of_a_document_are_cut_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: if the ranges of a document were in two chunks, max_share was applied to each chunk separately, and
    the document was kept."""
    texts = ["the same words ", "the same words bthe same words "]
    (tmp_path / "c.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    monkeypatch.setattr(cutting, "CHUNK", 1)
    deduplicate(tmp_path / "c.jsonl", tmp_path / "out.jsonl", min_bytes=1, cut="char", max_share=0.5)
    assert (tmp_path / "out.jsonl").read_bytes() == b'{"text":"the samword"}\n'


def test_windows_within_a_word_remain(corpus: Path) -> None:
    word = "".join(random.Random(1).choices("abcdefgh", k=300))
    (corpus / "long.jsonl").write_text("".join(json.dumps({"text": f"{k} {word}{k}"}) + "\n" for k in range(2)))
    left = b"windows that still repeat: 202, previously 202; "  # windows of the word and the space before it
    assert left + b"--repeat removes more" in clean(corpus, inputs="long.jsonl", out="once.jsonl").stdout
    done = clean(corpus, "--repeat", inputs="long.jsonl", out="more.jsonl")
    assert left + b"they contain no complete word" in done.stdout


def test_text_and_parquet(corpus: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = [document(k) for k in range(60)]
    (corpus / "c.txt").write_text("\n".join(texts))
    pq.write_table(pa.table({"text": texts, "id": range(60)}), corpus / "c.parquet", row_group_size=7)
    clean(corpus, "--doc", "line", inputs="c.txt", out="clean.txt")
    clean(corpus, inputs="c.parquet", out="clean.parquet")
    found = pq.read_table(corpus / "clean.parquet").to_pydict()
    assert found["id"] == [*range(50), *range(51, 60)]
    assert [text for text in found["text"] if PHRASE in text] == [texts[0]]
    assert (corpus / "clean.txt").read_text() == "".join(f"{text}\n" for text in found["text"])


def test_bad_lines(corpus: Path) -> None:
    lines = (corpus / "in/y.jsonl").read_bytes().splitlines(keepends=True)
    (corpus / "in/y.jsonl").write_bytes(b"".join([*lines[:7], b"{}\n", b"\n", *lines[7:9], b"no\n", *lines[9:]]))
    assert b"y.jsonl: line 8" in clean(corpus, code=1).stderr
    assert not list(corpus.glob("clean*"))
    done = clean(corpus, "--on-error", "skip", code=3)
    assert b"skipped 2 lines" in done.stderr
    bad = [json.loads(line) for line in (corpus / "clean.errors.jsonl").read_bytes().splitlines()]
    assert [record["line"] for record in bad] == [8, 12]
    (corpus / "in/y.jsonl").write_bytes(b"".join(lines))
    clean(corpus, out="again")
    assert (corpus / "clean/y.jsonl").read_bytes() == (corpus / "again/y.jsonl").read_bytes()


@pytest.mark.parametrize("options", [
    {"min_bytes": 5, "min_words": 5}, {"min_bytes": 0}, {"min_bytes": 1 << 20}, {"keep": "last"}, {"cut": "page"},
    {"max_share": 1.5}, {"min_left": -1}, {"tmp": "s3://bucket"},
])  # fmt: skip
def test_wrong_options(corpus: Path, options: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        deduplicate(corpus / "in", corpus / "clean", **options)
    assert not (corpus / "clean").exists()


def test_too_little_memory(corpus: Path) -> None:
    """Regression: the message advised --block, which only `tokenize` has."""
    message = clean(corpus, "--max-memory", "1M", code=1).stderr
    assert b"more than the limit of 1048576 (--max-memory); raise it" in message and b"--block" not in message


def test_what_cannot_be_read(corpus: Path) -> None:
    os.mkfifo(corpus / "pipe")
    file = corpus / "in/y.jsonl"
    for arguments, message in (({"inputs": file, "against": corpus / "none"}, "no such file"),
                               ({"inputs": file, "out": file}, "is both")):  # fmt: skip
        with pytest.raises(InputError, match=message):
            deduplicate(**{"out": corpus / "clean"} | arguments)
    done = run(corpus, "deduplicate", "-", "-o", "clean", stdin=b'{"text":"a"}')
    assert done.returncode == 1 and b"a pipe cannot be read twice" in done.stderr


@pytest.mark.parametrize("options", [{}, {"keep": "none", "cut": "char"}, {"min_words": 5, "repeat": True}])
def test_threads_and_memory_change_nothing(corpus: Path, monkeypatch: pytest.MonkeyPatch, options: Any) -> None:
    found = set()
    for k, (threads, memory) in enumerate([(1, None), (2, TINY), (7, Memory(1 << 12, 1 << 12, 100)), (3, None)]):
        with monkeypatch.context() as patch:
            if memory:
                patch.setattr(Memory, "of", lambda *_, memory=memory: memory)
            reading = ReadingOptions(threads=threads, max_memory_bytes=1 << 28)
            summary = deduplicate(
                corpus / "in", corpus / f"out{k}", ranges=corpus / f"ranges{k}", reading=reading, **options
            )
        files = sorted(path for path in (corpus / f"out{k}").rglob("*") if path.is_file())
        found.add((summary, *(path.read_bytes() for path in [*files, corpus / f"ranges{k}"])))
    assert len(found) == 1


@pytest.mark.parametrize("options", [{"documents": True, "repeat": True, "min_bytes": 30}, {"min_words": 5}], ids=str)
def test_on_a_cluster(corpus: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]) -> None:
    """Tasks run in any order, one of them twice, with pickled arguments. Without the cluster, an interrupted run
    resumes."""
    whole = deduplicate(corpus / "in", corpus / "whole", **options)
    monkeypatch.setattr(repeats, "CLUSTER_TASK_BYTES", 3000)
    monkeypatch.setattr(deduplicate_module.cluster, "connected", lambda _: contextlib.nullcontext())
    n_tasks, n_left = [], [1 << 30]

    def each(function: Any, shared: Any, items: Any) -> Iterator[tuple[int, int]]:
        n_tasks.append(len(items))
        for number in [*range(len(items)), 0][::-1]:
            if not n_left[0]:
                raise KeyboardInterrupt
            n_left[0] -= 1
            yield number, function(pickle.loads(pickle.dumps(shared)), items[number])

    monkeypatch.setattr(deduplicate_module.cluster, "Cluster", lambda _: each)
    assert deduplicate(corpus / "in", corpus / "clean", ray="local", **options) == whole
    assert min(n_tasks) > 3
    n_left[0] = 3
    with pytest.raises(KeyboardInterrupt):
        deduplicate(corpus / "in", corpus / "again", ray="local", **options)
    assert deduplicate(corpus / "in", corpus / "again", **options) == whole
    for path in (corpus / "whole").rglob("*.*"):
        for name in ("clean", "again"):
            assert path.read_bytes() == (corpus / name / path.relative_to(corpus / "whole")).read_bytes()
    assert not list(corpus.rglob("*.partial"))


def test_a_file_that_changes_meanwhile(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find = TextRepeats.find

    def changed(self: TextRepeats) -> Any:
        path = corpus / "in/y.jsonl"
        text, time = path.read_bytes(), path.stat().st_mtime_ns
        path.write_bytes(text.replace(b"here", b"her", 1).replace(b"1.5", b"1.50", 1))
        os.utime(path, ns=(time, time))
        return find(self)

    monkeypatch.setattr(TextRepeats, "find", changed)
    with pytest.raises(InputError, match=r"y\.jsonl: the file has changed since it was read"):
        deduplicate(corpus / "in", corpus / "clean")


# -------------------------------------------------------------------------------------------------------- resuming


def killed_run(corpus: Path, options: dict[str, Any], kill_at: int) -> bool:
    """Kill a run after its kill_at-th step or checkpoint. Returns False if it finishes first."""
    n_left = kill_at
    journal_write, checkpoint = workspace.Journal.write, output.CleanOutput.checkpoint

    def killed(function: Any) -> Any:
        def wrapped(*arguments: Any) -> None:
            nonlocal n_left
            function(*arguments)
            n_left -= 1
            if not n_left:
                os.kill(os.getpid(), signal.SIGKILL)

        return wrapped

    pid = os.fork()
    if pid == 0:
        try:
            workspace.Journal.write = killed(journal_write)
            output.CleanOutput.checkpoint = killed(checkpoint)
            output.CHECKPOINT_SECONDS = 0
            deduplicate(corpus / "in", corpus / "clean", **options)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


@pytest.mark.parametrize("options", [{"documents": True, "repeat": True, "cut": "char", "min_bytes": 30}, {}], ids=str)
def test_killed_runs_resume(corpus: Path, options: dict[str, Any]) -> None:
    """A run is killed repeatedly, each time after one more step; the last run writes what an uninterrupted run does."""
    options = options | {"reading": ReadingOptions(block_bytes=1 << 12, threads=2)}
    whole = deduplicate(corpus / "in", corpus / "whole", ranges=corpus / "w", **options)
    options["ranges"] = corpus / "r"
    n_kills, writing = 0, 0
    while writing < 5:  # kills while CLEAN is being written
        assert killed_run(corpus, options, 2)
        n_kills += 1
        writing += (corpus / "clean.journal.partial").exists()
    assert n_kills > 10
    assert deduplicate(corpus / "in", corpus / "clean", **options) == whole
    for name in ("a/x.jsonl.zst", "y.jsonl", "empty.jsonl"):
        assert (corpus / "clean" / name).read_bytes() == (corpus / "whole" / name).read_bytes()
    assert (corpus / "r").read_bytes() == (corpus / "w").read_bytes()
    assert not list(corpus.rglob("*partial*"))


def test_unfinished_runs_of_another_command(corpus: Path) -> None:
    assert killed_run(corpus, {}, 3)
    with pytest.raises(OutputError, match='keep: was "first", now "none"'):
        deduplicate(corpus / "in", corpus / "clean", keep="none")
    journal = corpus / "clean.work.partial/journal.partial"
    damaged = bytearray(journal.read_bytes())
    damaged[-3] ^= 1
    journal.write_bytes(damaged)
    with pytest.raises(OutputError, match="XXH64 does not match"):
        deduplicate(corpus / "in", corpus / "clean")
    deduplicate(corpus / "in", corpus / "clean", keep="none", overwrite=True)
    assert not list(corpus.rglob("*partial*"))


@pytest.mark.parametrize("steps", [{"read": 1}, {"read": {"documents": [-1]}}, {"read": {"documents": [1]}}, [],
                                   {"seed": {}}, {"read": {"documents": [200, 0, 100], "bytes": 5}},
                                   {"read": {"documents": [1 << 62, 1 << 62, 9], "bytes": 5}}])  # fmt: skip
def test_hostile_journals(corpus: Path, steps: Any) -> None:
    """A journal with the correct hash but wrong contents."""
    assert killed_run(corpus, {}, 2)
    path = corpus / "clean.work.partial/journal.partial"
    journal = workspace.Journal.read(path)
    assert journal is not None
    journal.progress["steps"] = journal.progress["steps"] | steps if isinstance(steps, dict) else steps
    journal.write(path)
    with pytest.raises(OutputError, match="--overwrite starts again"):
        deduplicate(corpus / "in", corpus / "clean")


def test_a_truncated_temporary_file(corpus: Path) -> None:
    assert killed_run(corpus, {}, 3)
    with (corpus / "clean.work.partial/round-0-grams").open("r+b") as file:
        file.truncate(100)
    with pytest.raises(OutputError, match="--overwrite starts again"):
        deduplicate(corpus / "in", corpus / "clean")


@settings(max_examples=20)
@given(st.integers(1, 300), st.integers(1, 100), st.sampled_from(["first", "none"]))
def test_long_runs(tmp_path_factory, n_bytes, n, keep):
    """A run of one repeated byte, alone and again in a second document."""
    documents = [b"a" * n_bytes, b"b" + b"a" * n_bytes]
    found = found_in(tmp_path_factory.mktemp("x"), documents, n, "bytes", keep, 0, TINY, 2)
    expected = oracle.repeated(documents, n, "bytes", keep)
    assert found == (oracle.joined(expected, 2), len(expected))


@pytest.mark.parametrize(("batch", "sizes"), [(1000, [2] * 96 + [3] * 22 + [2]), (2, [2] * 130)])
def test_runs_of_records_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int, sizes: list[int]) -> None:
    """Whatever the sizes of its runs, a file of records keeps the order of the records in each bucket."""
    monkeypatch.setattr(records_module, "SMALL_RUN", 2)
    written = np.zeros(260, RECORD)
    written["key"], written["place"] = np.random.default_rng(5).integers(0, BUCKETS, 260), np.arange(260)
    with Workspace(tmp_path, tmp_path, Identity({}, []), overwrite=True) as space:
        with RecordWriter(space, "x", 0, batch * RECORD.itemsize) as writer:
            for part in np.split(written, [1, 1, 50, 57, 201]):
                writer.add(part)
        with RecordReader(space, "x", writer.n) as reader:
            found = np.concatenate([reader.read(k, k + 1).copy() for k in range(BUCKETS)])
        index = np.fromfile(space.path("x.index"), np.int64).reshape(-1, BUCKETS + 1)
    assert np.array_equal(found, written[np.argsort(written["key"], kind="stable")])
    assert (index[:, -1] - index[:, 0]).tolist() == sizes


def test_a_large_document(tmp_path: Path) -> None:
    """One document of 3 MB, larger than all buffers, with repeats near its ends."""
    random = np.random.default_rng(3)
    text = random.integers(97, 123, 3_000_000, np.uint8).tobytes()
    text = text[:500] + b"Z" + text[1_000_000:] + b"Z" + text[:450] + b"Y"
    memory = Memory(1 << 16, 1 << 16, 1000)
    ranges, n_windows = found_in(tmp_path, [text, text[700:900]], 100, "bytes", "first", 0, memory, 3)
    assert ranges == [[(len(text) - 451, len(text) - 1)], [(0, 200)]] and n_windows == 351 + 101


def test_steps_report_their_progress(corpus: Path) -> None:
    steps: dict[str, list[tuple[int, int | None]]] = {}

    def on_step(name: str, progress: Any) -> None:
        steps.setdefault(name, []).append((progress.compressed, progress.compressed_total))

    deduplicate(corpus / "in", corpus / "clean", on_step=on_step)
    assert list(steps) == ["reading", "finding repeats", "grouping", "comparing", "cutting", "removing", "writing"]
    assert all(done <= total for values in steps.values() for done, total in values)
    assert all(max(values)[0] > 0 for values in steps.values())
