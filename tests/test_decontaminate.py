"""Removing benchmark items from a corpus: which documents are found, what is written, and resuming."""

from __future__ import annotations

import contextlib
import gzip
import json
import lzma
import os
import pickle
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest
import zstandard
from commands import python, run, run_forked
from conftest import decompressed, fewer, heed_interrupts
from hypothesis import given
from hypothesis import strategies as st
from oracle import grams as oracle

from pyunitok import InputError, OptionError, OutputError, deduplicate
from pyunitok import decontaminate as run_decontaminate
from pyunitok.clean import decontaminate as decontaminate_module
from pyunitok.clean import output
from pyunitok.clean.matching import joined_ranges, pieces_outside
from pyunitok.clean.state import CleanState
from pyunitok.corpus.compressions import COMPRESSIONS, by_suffix
from pyunitok.corpus.reading import ReadingOptions

QUESTION = "The quick brown fox jumps over the lazy dog while the cat sleeps on the warm mat."
SHORT = "one two three four five six seven eight nine"
FILLER = "Some ordinary text of document number {} without anything from a benchmark. "


def document(i: int) -> str:
    text = FILLER.format(i) * (1 + i % 40)
    return text + QUESTION.upper() + FILLER.format(i) * 10 if i % 97 == 5 else text


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Two folders of JSON lines: one compressed in several frames, one plain with unusual JSON formatting."""
    lines = [json.dumps({"id": i, "text": document(i), "score": 1.50}).encode() for i in range(1500)]
    (tmp_path / "in/a").mkdir(parents=True)
    frames = [zstandard.compress(b"".join(line + b"\n" for line in lines[k : k + 100])) for k in range(0, 1500, 100)]
    (tmp_path / "in/a/x.jsonl.zst").write_bytes(b"".join(frames))
    odd = [b'{ "text" : "caf\\u00e9 \\ud83d\\ude00", "n": 1e400, "z":[ ] }\r', b"  ", lines[5], b'{"text":""}']
    (tmp_path / "in/x.jsonl").write_bytes(b"\n".join(odd))
    items = [{"id": "q1", "question": QUESTION, "answer": "yes"}, {"id": "q2", "question": SHORT, "answer": "no"}]
    (tmp_path / "bench.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    return tmp_path


def clean(folder: Path, *arguments: str, out: str = "clean", code: int = 0):
    fields = ["--against", "bench.jsonl", "--field", "question,answer"]
    done = run(folder, "decontaminate", "in", *fields, "-o", out, *arguments)
    assert done.returncode == code, done.stderr.decode()
    return done


def test_inputs_without_documents(tmp_path):
    """Regression: the end of an input without documents was written after the next input's first block."""
    line = b'{"text":"a"}\n'
    (tmp_path / "in").mkdir()
    for name, text in (("1", b""), ("2", line), ("3", b"\n"), ("4", b""), ("5", line + b"\n"), ("6", b"")):
        (tmp_path / "in" / f"{name}.jsonl").write_bytes(text)
    (tmp_path / "bench.jsonl").write_text('{"question":"q","answer":"a"}')
    clean(tmp_path)
    written = {path.name: path.read_bytes() for path in (tmp_path / "clean").iterdir()}
    assert written == {f"{k}.jsonl": line if k in (2, 5) else b"" for k in range(1, 7)}


@pytest.mark.parametrize("command", ["decontaminate", "deduplicate"])
def test_compressed_files_without_documents(tmp_path, command):
    """Regression: such a file, or a report without lines, had 0 bytes, which neither pyunitok nor gzip can read."""
    text = json.dumps({"text": QUESTION + SHORT}).encode() + b"\n"
    (tmp_path / "in").mkdir()
    for name, row in COMPRESSIONS.items():
        for suffix in row.suffixes[:1] if name != "none" else [""]:
            (tmp_path / f"in/a.jsonl{suffix}").write_bytes(row.compress(text))
            (tmp_path / f"in/b.jsonl{suffix}").write_bytes(row.compress(b""))
    (tmp_path / "bench.jsonl").write_bytes(text)
    actions = ("--against", "bench.jsonl", "--field", "text")
    if command == "deduplicate":
        actions = ("--against", "bench.jsonl", "--documents")
    report = "--report" if command == "decontaminate" else "--ranges"
    for source, target, hits in (("in", "clean", "all.xz"), ("clean", "again", "none.xz")):
        done = run(tmp_path, command, source, *actions, "-o", target, report, hits)
        assert done.returncode == 0, done.stderr.decode()
    for path in (tmp_path / "again").iterdir():
        assert path.read_bytes() == (tmp_path / "clean" / path.name).read_bytes()
        assert path.read_bytes() == by_suffix(path.suffix).compress(b"")
    assert len(list((tmp_path / "again").iterdir())) == 10
    assert len(lzma.decompress((tmp_path / "all.xz").read_bytes()).splitlines()) == 5
    assert lzma.decompress((tmp_path / "none.xz").read_bytes()) == b""


@pytest.mark.parametrize("suffix", [".zst", ".gz", ""])
def test_the_name_of_the_output_determines_its_compression(tmp_path, suffix):
    """Regression: c.jsonl.gz was not compressed if the corpus was not."""
    text = b'{"text":"one"}\n{"text":"two"}\n'
    (tmp_path / f"in.jsonl{suffix}").write_bytes(by_suffix(suffix).compress(text))
    (tmp_path / "bench.jsonl").write_bytes(text)
    for name, row in COMPRESSIONS.items():
        out = tmp_path / f"c.jsonl{'' if name == 'none' else row.suffixes[0]}"
        run_decontaminate(tmp_path / f"in.jsonl{suffix}", out, tmp_path / "bench.jsonl", field="text")
        assert out.read_bytes() == row.compress(text)
        out.unlink()
        deduplicate(tmp_path / f"in.jsonl{suffix}", out, overwrite=True)
        assert out.read_bytes() == row.compress(text)


def test_file_names_that_are_not_utf8(tmp_path):
    """Regression: the report named the file without the bytes that are not UTF-8."""
    name = os.fsdecode(b"\xff.jsonl")
    (tmp_path / name).write_text(json.dumps({"text": QUESTION}) + "\n")
    run_decontaminate(tmp_path, tmp_path / "clean", tmp_path / name, field="text", report=tmp_path / "h.json")
    assert json.loads((tmp_path / "h.json").read_bytes())["file"] == str(tmp_path / name)


def test_drop(corpus):
    done = clean(corpus, "--report", "hits.jsonl.zst", "--max-common", "none", "--json", "table.json")
    lines = decompressed(corpus / "in/a/x.jsonl.zst").splitlines(keepends=True)
    kept = [line for i, line in enumerate(lines) if i % 97 != 5]
    assert decompressed(corpus / "clean/a/x.jsonl.zst") == b"".join(kept)
    odd = (corpus / "in/x.jsonl").read_bytes().split(b"\n")
    assert (corpus / "clean/x.jsonl").read_bytes() == odd[0] + b"\n" + odd[3] + b"\n"
    hits = [json.loads(line) for line in decompressed(corpus / "hits.jsonl.zst").splitlines()]
    assert [hit["id"] for hit in hits] == [*range(5, 1500, 97), 5]
    assert {hit["share"] for hit in hits} == {1.0}
    assert {hit["longest_run"] for hit in hits} == {17}
    for hit in hits[:-1]:
        text = json.loads(lines[hit["id"]])["text"].encode()
        assert text[hit["begin"] : hit["end"]].decode() == hit["text"] == QUESTION.upper()[:-1]
    table = json.loads((corpus / "table.json").read_bytes())
    assert table == [{"benchmark": "bench", "items": 2, "testable": 2, "contaminated": 1, "documents": 17}]
    result = json.loads((corpus / "clean.json").read_bytes())
    assert (result["table"], result["untestable"]) == (table, {"bench": []})
    assert b"bench" in done.stdout
    assert b"17 of 1,503 documents affected, 1,486 written" in done.stderr
    assert b"already complete" in clean(corpus, "--report", "hits.jsonl.zst", "--max-common", "none").stderr
    assert clean(corpus, "-n", "12", code=1).stderr.count(b"--overwrite")


def test_threads_do_not_matter(corpus):
    for threads in ("1", "4"):
        clean(corpus, "--threads", threads, "--report", f"h{threads}.jsonl.gz", out=f"clean{threads}")
    for name in ("a/x.jsonl.zst", "x.jsonl"):
        assert (corpus / "clean1" / name).read_bytes() == (corpus / "clean4" / name).read_bytes()
    assert gzip.decompress((corpus / "h1.jsonl.gz").read_bytes()) == gzip.decompress(
        (corpus / "h4.jsonl.gz").read_bytes()
    )


def test_common_grams_are_ignored(corpus):
    """The question is in 17 documents, so a limit of 16 ignores its n-grams, and a limit of 17 does not."""
    assert b"0 of 1,503 documents" in clean(corpus, "--max-common", "16").stderr
    assert b"17 of 1,503 documents" in clean(corpus, "--max-common", "17", "--overwrite").stderr


def test_cut(corpus):
    clean(corpus, "--action", "cut", "--max-common", "none", "--cut-around", "30", "--min-piece", "100")
    found = [json.loads(line) for line in decompressed(corpus / "clean/a/x.jsonl.zst").splitlines()]
    pieces = [values for values in found if values["id"] == 102]
    whole = document(102)
    at = whole.index(QUESTION.upper())
    assert [piece["text"] for piece in pieces] == [whole[: at - 30], whole[at + len(QUESTION) - 1 + 30 :]]
    assert {piece["score"] for piece in pieces} == {1.5}
    assert [values["text"] for values in found if values["id"] == 101] == [document(101)]


def test_mark(corpus):
    clean(corpus, "--action", "mark", "--max-common", "none")
    lines = decompressed(corpus / "in/a/x.jsonl.zst").splitlines()
    marked = decompressed(corpus / "clean/a/x.jsonl.zst").splitlines()
    assert len(marked) == len(lines)
    for i, (before, after) in enumerate(zip(lines, marked, strict=True)):
        if i % 97 == 5:
            found = json.loads(after).pop("contamination")
            assert [one["item"] for one in found] == ["q1"]
            assert after.startswith(before[:-1])
        else:
            assert after == before


def test_report_only(corpus):
    arguments = ["--against", "bench.jsonl", "--field", "question"]
    done = run(corpus, "decontaminate", "in", *arguments, "--action", "report", "--report", "h.jsonl")
    assert done.returncode == 0
    assert run(corpus, "decontaminate", "in", *arguments, "--action", "report").returncode == 2
    assert run(corpus, "decontaminate", "in", *arguments, "--action", "report", "-o", "c").returncode == 2
    palm = run(corpus, "decontaminate", "in", *arguments, "--preset", "palm", "--report", "p.jsonl", "--json", "t.json")
    assert palm.returncode == 0
    assert json.loads((corpus / "t.json").read_bytes())[0]["contaminated"] == 1


def test_tokens(corpus):
    clean(corpus, "--unit", "tokens", "-m", "unitok-v1", "-n", "6", "--max-common", "none", "--report", "h.jsonl")
    assert (corpus / "h.jsonl").read_bytes() == b""  # the corpus has the question in capitals
    (corpus / "bench.jsonl").write_text(json.dumps({"question": QUESTION.upper(), "answer": ""}))
    clean(corpus, "--unit", "tokens", "-m", "unitok-v1", "-n", "6", "--max-common", "none", "--report", "h.jsonl",
          "--overwrite")  # fmt: skip
    hits = [json.loads(line) for line in (corpus / "h.jsonl").read_bytes().splitlines()]
    assert len(hits) == 17
    assert all(hit["text"] in QUESTION.upper() and len(hit["text"]) > 40 for hit in hits)


def test_text_files(tmp_path):
    (tmp_path / "c.txt").write_bytes(b"first\n\n" + QUESTION.encode() + b"\n\nthird\xff")
    (tmp_path / "q.txt").write_text(QUESTION + "\n\n")
    done = run(tmp_path, "decontaminate", "c.txt", "--doc", r"\n\n", "--against", "q.txt", "--against-format", "text",
               "-o", "clean.txt")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "clean.txt").read_bytes() == b"first\n\nthird\xff\n\n"


def test_long_lines(corpus):
    """Lines longer than a block are copied byte for byte, or removed if they are contaminated."""
    lines = [json.dumps({"text": f"word{k} " * 30_000 + QUESTION * (k == 1), "k": k}).encode() for k in range(3)]
    (corpus / "long.jsonl").write_bytes(b"\n".join(lines))
    found = run_decontaminate(corpus / "long.jsonl", corpus / "out.jsonl", corpus / "bench.jsonl", field="question",
                              reading=ReadingOptions(block_bytes=1 << 16))  # fmt: skip
    assert found.documents_affected == 1
    assert (corpus / "out.jsonl").read_bytes() == lines[0] + b"\n" + lines[2] + b"\n"


def test_bad_lines(corpus):
    lines = [b'{"text":"a"}', b"no", b" " * 50, b'{"text":"b","more":[1 , 2]}', b'{"text":1}', b'{"text":"c"}']
    (corpus / "in/x.jsonl").write_bytes(b"\n".join(lines))
    assert b"x.jsonl: line 2" in clean(corpus, code=1).stderr
    clean(corpus, "--on-error", "skip", "--max-line", "30", "--exclude", "a/*", "--overwrite", code=3)
    kept = lines[0] + b"\n" + lines[3] + b"\n" + lines[5] + b"\n"
    assert (corpus / "clean").read_bytes() == kept
    errors = [json.loads(line) for line in (corpus / "clean.errors.jsonl").read_bytes().splitlines()]
    assert [error["line"] for error in errors] == [2, 3, 5]


@pytest.mark.parametrize("action", ["drop", "cut", "mark"])
def test_hostile_lines(corpus, action):
    """Contaminated lines that Python's or msgspec's parsers reject, or whose fields repeat."""
    text = json.dumps(QUESTION + " x" * 300).encode()
    others = [b'"a":NaN', b'"a":"\xff\xfe"', b'"a":"\\ud800"', b'"a":' + b"9" * 5000, b'"a":' + b"[" * 500 + b"]" * 500,
              b'"text":1', b'"id":{"b":-Infinity}', b'"contamination":[]']  # fmt: skip
    lines = [b"{%b,\"text\":%b } \r" % (other, text) for other in others]
    (corpus / "in/x.jsonl").write_bytes(b"\n".join(lines))
    found = run_decontaminate(corpus / "in/x.jsonl", corpus / "o.jsonl", corpus / "bench.jsonl", field="question",
                              action=action, max_common=None, report=corpus / "h.jsonl")  # fmt: skip
    assert found.documents_affected == len(lines)
    written = (corpus / "o.jsonl").read_bytes().splitlines()
    assert len(written) == (0 if action == "drop" else len(lines))
    for line in written:
        values = json.loads(line.decode("utf-8", "replace"), parse_int=str)
        assert (action == "mark") == (QUESTION in values["text"])
        assert action == "cut" or values["contamination"][0]["item"] == "q1"
    assert len((corpus / "h.jsonl").read_bytes().splitlines()) == len(lines)


UNITS = st.lists(st.sampled_from(["a", "b", "c", "A", "ß", "ss", "日", "-", "."]), max_size=30).map(" ".join)


@fewer(4)
@given(items=st.lists(UNITS, min_size=1, max_size=4), texts=st.lists(UNITS, max_size=8), n=st.integers(1, 5),
       max_common=st.one_of(st.none(), st.integers(1, 3)), min_share=st.sampled_from([0.0, 0.5, 1.0]))  # fmt: skip
def test_like_the_oracle(tmp_path_factory, items, texts, n, max_common, min_share):
    """The dropped documents match the definition."""
    folder = tmp_path_factory.mktemp("oracle")
    (folder / "b.jsonl").write_text("".join(json.dumps({"q": item}) + "\n" for item in items))
    (folder / "c.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    units = [oracle.words(item.encode()) for item in items]
    documents = [oracle.words(text.encode()) for text in texts]
    in_documents = [{hit[4] for hit in oracle.find(units, [document], n, 1)} for document in documents]
    ignored = {gram for found in in_documents for gram in found
               if max_common is not None and sum(gram in other for other in in_documents) > max_common}  # fmt: skip
    first: dict = {}
    kept = []
    for found, text in zip(in_documents, texts, strict=True):
        is_dropped, start = False, 0
        for words in units:
            size, covered = min(n, len(words)), set()
            for gram, place in oracle.grams([words], n, 1) if words else ():
                number = first.setdefault(gram, start + place)
                if number in found - ignored:
                    covered |= set(range(place, place + size))
            is_dropped |= bool(covered) and len(covered) / len(words) >= min_share
            start += len(words)
        if not is_dropped:
            kept.append(text)
    found = run_decontaminate(folder / "c.jsonl", folder / "o.jsonl", folder / "b.jsonl", field="q", n=n, min_units=1,
                              max_common=max_common, min_share=min_share)  # fmt: skip
    assert [json.loads(line)["text"] for line in (folder / "o.jsonl").read_bytes().splitlines()] == kept
    assert found.documents_affected == len(texts) - len(kept)


@pytest.mark.parametrize("kill_at", [1, 2, 3, 5, 8])
def test_killed_runs_resume(corpus, monkeypatch, kill_at):
    """A run is killed after a checkpoint; the next one writes what an uninterrupted run does."""
    arguments = {"field": "question", "report": corpus / "h.jsonl.zst", "max_common": 20,
                 "reading": ReadingOptions(block_bytes=1 << 16, threads=2)}  # fmt: skip
    whole = run_decontaminate(corpus / "in", corpus / "whole", corpus / "bench.jsonl", **arguments | {
        "report": corpus / "w.jsonl.zst"})  # fmt: skip
    monkeypatch.setattr(output, "CHECKPOINT_SECONDS", 0)
    checkpoint, n_left = output.CleanOutput.checkpoint, kill_at

    def killed(self, progress):
        nonlocal n_left
        checkpoint(self, progress)
        n_left -= 1
        if not n_left:
            os.kill(os.getpid(), signal.SIGKILL)

    pid = os.fork()
    if pid == 0:
        output.CleanOutput.checkpoint = killed
        run_decontaminate(corpus / "in", corpus / "clean", corpus / "bench.jsonl", **arguments)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    assert (corpus / "clean.journal.partial").exists()
    with pytest.raises(OutputError, match="rule n: was 13, now 12"):
        run_decontaminate(corpus / "in", corpus / "clean", corpus / "bench.jsonl", **arguments | {"n": 12})
    resumed = run_decontaminate(corpus / "in", corpus / "clean", corpus / "bench.jsonl", **arguments)
    assert resumed == whole
    for name in ("a/x.jsonl.zst", "x.jsonl"):
        assert (corpus / "clean" / name).read_bytes() == (corpus / "whole" / name).read_bytes()
    assert (corpus / "h.jsonl.zst").read_bytes() == (corpus / "w.jsonl.zst").read_bytes()
    left = sorted(path.name for path in corpus.rglob("*.partial"))
    assert left == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize(("max_common", "is_cleaning"), [("none", True), ("5", False), ("5", True)])
def test_signals(corpus, number, code, max_common, is_cleaning):
    """A signal triggers a final checkpoint, in either pass, and the message says how to resume."""
    command = ["decontaminate", "in", "--against", "bench.jsonl", "--field", "question", "-o", "clean",
               "--max-common", max_common, "--threads", "1"]  # fmt: skip
    program = f"""if True:
        import os, signal
        from pyunitok.cli import main
        from pyunitok.clean.state import CleanState
        add = CleanState.add
        def added(self, result):
            add(self, result)
            if bool(self.read) == {is_cleaning}:
                os.kill(os.getpid(), {int(number)})
        CleanState.add = added
        main()"""
    done = python(corpus, "-c", program, *command, preexec_fn=heed_interrupts)
    assert done.returncode == code, done.stderr
    assert b"progress is kept in clean.*partial; run the same command to resume" in done.stderr
    state = json.loads((corpus / "clean.journal.partial").read_bytes().splitlines()[2])["progress"]
    assert bool(state["read"]) == is_cleaning
    assert state["is_counted"] == is_cleaning
    assert state["position"]["bytes"] or state["position"]["source"]
    done = run(corpus, *command)
    assert done.returncode == 0, done.stderr
    assert b"resuming after" in done.stderr
    assert run(corpus, *command[:7], "whole", *command[8:]).returncode == 0
    for name in ("a/x.jsonl.zst", "x.jsonl"):
        assert (corpus / "clean" / name).read_bytes() == (corpus / "whole" / name).read_bytes()
    assert not list(corpus.rglob("*.partial"))


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize(
    "options", [{"max_common": None}, {"max_common": 8}, {"max_common": 1}, {"preset": "palm", "report": "h"}]
)
def test_shards_make_the_same_output(corpus, n, options):
    """All shards together produce the files, report and table of one run, whatever the order of the shards."""
    for k in range(3):
        lines = [json.dumps({"text": document(100 * k + i)}) for i in range(70)]
        (corpus / f"in/{k}.jsonl.gz").write_bytes(gzip.compress(("\n".join(lines) + "\nbad\n").encode()))
    out = None if "preset" in options else "clean"
    options = options | {"field": "question", "reading": ReadingOptions(on_error="skip")}

    def clean_in(folder, out_name=out, **more):
        return run_decontaminate(corpus / "in", out_name and folder / out_name, corpus / "bench.jsonl",
                                 **options | {"report": folder / "h.jsonl.zst"} | more)  # fmt: skip

    folders = [corpus / "one", corpus / "shards"]
    for folder in folders:
        folder.mkdir()
    whole = clean_in(folders[0])
    order = [*range(n)][::-1]
    found = [clean_in(folders[1], shard=(k, n)) for k in order]
    if options.get("max_common") is not None and n > 1:
        assert [one.waits_for for one in found[:-1]] == [[*range(k)] for k in order[:-1]]
        assert not list(folders[1].glob("clean.json"))
        found = [found[-1], *(clean_in(folders[1], shard=(k, n)) for k in order[:-1])]
    assert found[-1] == whole
    assert sum(one.documents_read for one in found[:-1]) <= whole.documents_read
    names = sorted(path.relative_to(folders[0]) for path in folders[0].rglob("*") if path.is_file())
    assert names == sorted(path.relative_to(folders[1]) for path in folders[1].rglob("*") if path.is_file())
    for name in names:
        if name.suffix == ".json":  # contains file names, which differ
            both = [json.loads((folder / name).read_bytes()) for folder in folders]
            assert both[0]["table"] == both[1]["table"]
        else:
            assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes(), name
    (folders[1] / f"{out or 'h.jsonl.zst'}.0-of-{n}.json").write_text("{}")  # as if a run was killed while joining
    assert clean_in(folders[1], shard=(0, n)).is_complete_already
    assert names == sorted(path.relative_to(folders[1]) for path in folders[1].rglob("*") if path.is_file())
    with pytest.raises(OutputError, match="was made by another command"):
        clean_in(folders[1], shard=(0, n), n=12)
    if out:
        assert not clean_in(folders[1], shard=(0, n), overwrite=True).is_complete_already
    if out:
        (corpus / "mine.zst").write_bytes(b"mine")
        with pytest.raises(OutputError, match=r"mine\.zst exists"):
            clean_in(folders[1], shard=(0, n), report=corpus / "mine.zst", overwrite=False, out_name="other")
        assert (corpus / "mine.zst").read_bytes() == b"mine"
    with pytest.raises(OptionError, match="shard must be"):
        clean_in(folders[1], shard=(n, n))


def test_own_files_are_not_inputs(corpus):
    """CLEAN, the reports and shards' files in the corpus folder are not read; files with similar names are inputs."""
    for name in ("clean.jsonl", "clean.0-of-2x.jsonl", "hits.jsonl.old"):
        (corpus / "in" / name).write_text('{"text":"mine"}\n')
    (corpus / "in/clean").mkdir()
    command = ["decontaminate", "in", "-o", "in/clean", "--against", "bench.jsonl", "--field", "question", "--report",
               "in/hits.jsonl", "--on-error", "skip"]  # fmt: skip
    for k in (0, 1, 0):
        done = run(corpus, *command, "--shard", f"{k}/2")
        assert done.returncode == 0, done.stderr
    done = run(corpus, *command)
    assert b"already complete" in done.stderr and b"of 1,506 documents" in done.stderr
    assert (corpus / "in/clean/clean.jsonl").read_bytes() == b'{"text":"mine"}\n'


def test_the_command_with_shards(corpus):
    """The first round names the shards whose counts are missing; damaged counts cause an error that names the file."""
    done = clean(corpus, "--shard", "1/2")
    assert b"this shard has been counted; run the command again once these are, too: 0\n" in done.stderr
    assert not done.stdout
    counts = corpus / "clean.1-of-2.counts"
    good = counts.read_bytes()
    for wrong in (b"", b"[]", good[:-9], good.replace(b'"array": "', b'"array": "x')):
        counts.write_bytes(wrong)
        assert b"clean.1-of-2.counts is damaged" in clean(corpus, "--shard", "0/2", code=1).stderr
    counts.write_bytes(good)
    assert b"of 1,500 documents" in clean(corpus, "--shard", "0/2").stderr
    assert b"of 1,503 documents" in clean(corpus, "--shard", "1/2").stderr
    assert b"already complete" in clean(corpus, "--shard", "1/2").stderr


@pytest.mark.parametrize("max_common", [None, 8])
def test_parts_of_a_cluster_make_the_same_output(corpus, monkeypatch, max_common):
    """Tasks run in any order, some of them twice, and in other processes, which receive a pickled job."""
    monkeypatch.setattr(decontaminate_module, "default_unit_bytes", lambda _: 2000)
    for k in range(4):
        shutil.copy(corpus / "in/x.jsonl", corpus / f"in/{k}.jsonl")
    options = {"field": "question", "max_common": max_common, "report": corpus / "h.jsonl"}
    whole = run_decontaminate(corpus / "in", corpus / "whole", corpus / "bench.jsonl", **options | {
        "report": corpus / "w.jsonl"})  # fmt: skip
    stop_after = [2, 3, 99]

    def each(function, shared, items):
        job = pickle.loads(pickle.dumps(shared))
        for number in [*range(len(items)), 0][::-1]:
            if not stop_after[0]:
                stop_after.pop(0)
                raise KeyboardInterrupt
            stop_after[0] -= 1
            yield number, function(job, items[number])

    monkeypatch.setattr(decontaminate_module.cluster, "connected", lambda _: contextlib.nullcontext())
    monkeypatch.setattr(decontaminate_module.cluster, "Cluster", lambda _: each)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            run_decontaminate(corpus / "in", corpus / "clean", corpus / "bench.jsonl", ray="local", **options)
        assert (corpus / "clean.parts").is_dir()
    seen = []
    found = run_decontaminate(corpus / "in", corpus / "clean", corpus / "bench.jsonl", ray="local", **options,
                              on_progress=lambda progress: seen.append(progress.bytes))  # fmt: skip
    assert found == whole
    assert seen == sorted(seen) and len(seen) > 2
    for path in (corpus / "whole").rglob("*.*"):
        assert path.read_bytes() == (corpus / "clean" / path.relative_to(corpus / "whole")).read_bytes()
    assert (corpus / "h.jsonl").read_bytes() == (corpus / "w.jsonl").read_bytes()
    assert not (corpus / "clean.parts").exists()
    assert run_decontaminate(corpus / "in", corpus / "clean", corpus / "bench.jsonl", ray="local", **options
                             ).is_complete_already  # fmt: skip
    stop_after[0] = 99
    again = run_decontaminate(corpus / "in", corpus / "clean", corpus / "bench.jsonl", ray="local", **options,
                              overwrite=True)  # fmt: skip
    assert again == whole
    with pytest.raises(OptionError, match="remove --shard"):
        run_decontaminate(corpus / "in", corpus / "c", corpus / "bench.jsonl", ray="local", shard=(0, 2), **options)


def test_pipes(corpus):
    """A pipe is read only once; a command that is repeated or resumed verifies that its contents have not changed."""
    data = decompressed(corpus / "in/a/x.jsonl.zst")
    command = ["decontaminate", "-", "--against", "bench.jsonl", "--field", "question", "-o", "clean.jsonl"]
    done = run(corpus, *command, stdin=data)
    assert done.returncode == 2 and b"--max-common none" in done.stderr
    command += ["--max-common", "none", "--input-format", "jsonl"]
    assert run(corpus, *command, stdin=data).returncode == 0
    kept = [line for i, line in enumerate(data.splitlines(keepends=True)) if i % 97 != 5]
    assert (corpus / "clean.jsonl").read_bytes() == b"".join(kept)
    assert b"already complete" in run(corpus, *command, stdin=data).stderr
    changed = run_forked(corpus, *command, stdin=data.replace(b"ordinary", b"Ordinary"))
    assert changed.returncode == 1 and b"not the input of the interrupted run" in changed.stderr
    both = run_forked(corpus, *command, "--overwrite", "in/x.jsonl", stdin=data)
    assert both.returncode == 1 and b"has no name in the folder" in both.stderr


def test_interrupted_pipes(corpus, monkeypatch):
    data = decompressed(corpus / "in/a/x.jsonl.zst")
    command = ["decontaminate", "-", "--against", "bench.jsonl", "--field", "question", "-o", "clean.jsonl",
               "--max-common", "none", "--threads", "1", "--input-format", "jsonl"]  # fmt: skip
    add = CleanState.add

    def interrupted(self, result):
        add(self, result)
        raise KeyboardInterrupt

    monkeypatch.setattr(CleanState, "add", interrupted)
    assert run_forked(corpus, *command, stdin=data).returncode == 130
    monkeypatch.setattr(CleanState, "add", add)
    assert not (corpus / "clean.jsonl.journal.partial").exists()  # in the middle of adding a block
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore SIGINT
        CleanState.add = lambda self, result: (add(self, result), signal.raise_signal(signal.SIGINT))
        os._exit(run(corpus, *command, stdin=data).returncode)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 130
    assert (corpus / "clean.jsonl.journal.partial").exists()
    changed = run_forked(corpus, *command, stdin=data.replace(b"number 3 ", b"number 4 "))
    assert changed.returncode == 1 and b"not the input of the interrupted run" in changed.stderr
    assert run_forked(corpus, *command, stdin=data).returncode == 0
    kept = [line for i, line in enumerate(data.splitlines(keepends=True)) if i % 97 != 5]
    assert (corpus / "clean.jsonl").read_bytes() == b"".join(kept)


def test_urls(corpus):
    """Files at URLs have the same names in CLEAN as in their folder."""
    pytest.importorskip("fsspec")
    import fsspec

    memory = fsspec.filesystem("memory")
    for name in ("a/x.jsonl.zst", "x.jsonl"):
        memory.pipe_file(f"/crawl/{name}", (corpus / "in" / name).read_bytes())
    clean(corpus)
    for k, argument in enumerate(["memory://crawl", "memory://crawl/**/*.jsonl*"]):
        run_decontaminate(argument, corpus / f"u{k}", corpus / "bench.jsonl", field=["question", "answer"])
        for name in ("a/x.jsonl.zst", "x.jsonl"):
            assert (corpus / f"u{k}" / name).read_bytes() == (corpus / "clean" / name).read_bytes()


def test_damaged_journals(corpus, monkeypatch):
    monkeypatch.setattr(output.CleanOutput, "commit", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run_decontaminate(corpus / "in", corpus / "clean", corpus / "bench.jsonl", field="question")
    journal = corpus / "clean.journal.partial"
    journal.write_bytes(journal.read_bytes()[:-9])
    with pytest.raises(OutputError, match="damaged"):
        run_decontaminate(corpus / "in", corpus / "clean", corpus / "bench.jsonl", field="question")


FORMATS = {
    "decon": {"eval_key": "mmlu", "eval_instance_index": 7, "split": "test", "question": QUESTION, "answer": "4"},
    "lm-eval": {"doc_id": 3, "doc": {"question": QUESTION, "choices": ["a"]}, "target": "B", "resps": [["x"]]},
    "lighteval": {"query": QUESTION, "choices": ["no", "yes"], "gold_index": 1},
}


@pytest.mark.parametrize("name", FORMATS)
def test_benchmark_formats(corpus, name):
    (corpus / "b.jsonl").write_text(json.dumps(FORMATS[name]) + "\n")
    found = run_decontaminate(corpus / "in", None, corpus / "b.jsonl", against_format=name, action="report",
                              report=corpus / "h.jsonl", max_common=None)  # fmt: skip
    assert found.documents_affected == 17
    assert found.benchmarks == ["mmlu" if name == "decon" else "b"]
    for bad in (b"[]", b"{}", b"{", b"\xff", b'{"doc":1,"query":2,"eval_key":3}', b"[" * 100_000):
        (corpus / "bad.jsonl").write_bytes(b"\n" + bad)
        with pytest.raises(InputError, match=r"line 2|no items|not text"):
            run_decontaminate(corpus / "in", None, corpus / "bad.jsonl", against_format=name, action="report",
                              report=corpus / "h2.jsonl")  # fmt: skip


def test_names_and_options(corpus):
    (corpus / "in/b").mkdir()
    (corpus / "in/b/x.jsonl").write_bytes(b'{"text":"a"}\n')
    common = {"against": corpus / "bench.jsonl", "field": "question"}
    with pytest.raises(OptionError, match=r"several inputs would be written to .*x\.jsonl"):
        run_decontaminate([corpus / "in/x.jsonl", corpus / "in/b/x.jsonl"], corpus / "o", **common)
    with pytest.raises(InputError, match="both an input and the output"):
        run_decontaminate(corpus / "in/x.jsonl", corpus / "in/x.jsonl", **common)
    (corpus / "taken.jsonl").write_bytes(b"mine")
    with pytest.raises(OutputError, match="exists"):
        run_decontaminate(corpus / "in/x.jsonl", corpus / "taken.jsonl", **common)
    for wrong in ({"unit": "letters"}, {"n": 0}, {"min_share": 2.0}, {"max_common": 0}, {"min_units": 14},
                  {"unit": "tokens"}, {"model": "unitok-v1"}, {"field": ()}):  # fmt: skip
        with pytest.raises(OptionError):
            run_decontaminate(corpus / "in", corpus / "o", **common | wrong)
    assert not (corpus / "o").exists()
    assert (corpus / "taken.jsonl").read_bytes() == b"mine"


@given(st.text(max_size=60), st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=4),
       st.integers(0, 5), st.integers(0, 5))  # fmt: skip
def test_pieces(text, places, around, min_piece):
    """Pieces are the runs of characters that are not removed."""
    data, bounds = text.encode("utf-8", "replace"), [0]
    text = data.decode()
    for character in text:
        bounds.append(bounds[-1] + len(character.encode()))
    spans = sorted({(min(a, b), max(a, b)) for a, b in places if a != b and max(a, b) <= len(text)})
    removed = {k for a, b in spans for k in range(a - around, b + around)}
    ranges = joined_ranges(np.array([(bounds[a], bounds[b]) for a, b in spans], np.int64).reshape(-1, 2))
    runs, run_ = [], ""
    for k, character in enumerate(text):
        if k in removed:
            runs.append(run_)
            run_ = ""
        else:
            run_ += character
    runs.append(run_)
    assert pieces_outside(data, ranges, around, min_piece) == [r for r in runs if r and len(r) >= min_piece]
