"""Exports: independent readers read every format, tokens are linked if possible, and only complete files remain."""

import errno
import gzip
import json
import os
import struct
from itertools import chain
from pathlib import Path

import commands
import numpy as np
import pytest
import readers
from hypothesis import given
from hypothesis import strategies as st
from test_cli import pyunitok as command
from toys import tokenfiles

import pyunitok
from pyunitok.disk.outfile import OutFile
from pyunitok.errors import OutputError
from pyunitok.export import FORMATS, Options, default_name, export, files, infini_gram, megatron, module, separated
from pyunitok.export.datatrove import humanised
from pyunitok.tokens import array as token_array
from pyunitok.tokens.metadata import MetadataFile

IDS16 = st.one_of(st.integers(0, 3), st.integers(0xFEF0, 0xFFFE), st.sampled_from([0xFF, 0x1FF, 0xFEFF]))
IDS32 = st.one_of(st.integers(0, 3), st.integers(0, (1 << 31) - 1))


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """Use small chunks, so that they end at every kind of position, and do not wait for the disk."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setattr(separated, "CHUNK_TOKENS", 7)
    for module_ in (token_array, infini_gram, megatron):
        monkeypatch.setattr(module_, "RUN_DOCS", 3)


@st.composite
def token_files(draw):
    """(documents, eod, dtype); there may be empty documents, no documents, or no eod."""
    dtype = draw(st.sampled_from(["<u2", "<u4"]))
    ids = IDS16 if dtype == "<u2" else IDS32
    docs = draw(st.lists(st.lists(ids, max_size=12), max_size=9))
    return docs, draw(st.none() | ids), dtype


def write_example(tmp_path_factory, example, **more):
    docs, eod, dtype = example
    folder = tmp_path_factory.mktemp("export")
    return tokenfiles.write(folder / "ids", docs, eod=eod, dtype=dtype, **more), folder / "to"


def with_eod(docs, eod):
    return [[*doc, *([] if eod is None else [eod])] for doc in docs]


def joined(docs):
    return list(chain.from_iterable(docs))


@given(token_files())
def test_megatron(tmp_path_factory, example):
    array, folder = write_example(tmp_path_factory, example)
    export(array, "megatron", folder)
    assert readers.megatron(folder, "ids") == with_eod(*example[:2])


@given(token_files(), st.sampled_from([0, 0.01, 0.3, 0.5, 0.99]))
def test_nanogpt(tmp_path_factory, example, fraction):
    docs, eod, dtype = example
    array, folder = write_example(tmp_path_factory, example)
    if dtype == "<u4" or (fraction and len(docs) < 2):
        with pytest.raises(OutputError, match="nanoGPT reads only uint16" if dtype == "<u4" else "at least two"):
            export(array, "nanogpt", folder, Options("x", val_fraction=fraction))
        return
    export(array, "nanogpt", folder, Options("x", val_fraction=fraction))
    train, val = readers.nanogpt(folder)
    full = with_eod(docs, eod)
    assert train + val == joined(full)
    assert (folder / "val.bin").exists() == bool(fraction)
    if fraction:
        enough = [d for d in range(1, len(docs)) if sum(map(len, full[d:])) >= fraction * len(array.ids)]
        d = max(enough, default=1)
        assert train == joined(full[:d])


@given(token_files(), st.integers(1, 20))
def test_llmc(tmp_path_factory, example, limit):
    docs, eod, _ = example
    array, folder = write_example(tmp_path_factory, example)
    eot = 9 if eod is None else eod
    export(array, "llm.c", folder, Options("x", shard_tokens=limit, eot=None if eod is not None else 9))
    shards = readers.llmc(folder, "x")
    stream = [id_ for doc in docs for id_ in [eot, *doc]]
    assert joined(shards) == stream
    assert all(len(shard) <= limit for shard in shards)
    starts = set(np.cumsum([0, *(len(doc) + 1 for doc in docs)]).tolist())
    at = 0
    for shard in shards:  # each holds as many complete documents as fit; only a document that is too long is cut
        end = at + len(shard)
        within = [start for start in starts if at < start <= at + limit]
        assert end in starts or not within
        if end in starts and end < len(stream):
            assert end == max(within)
        at = end


@given(token_files())
def test_datatrove(tmp_path_factory, example):
    array, folder = write_example(tmp_path_factory, example)
    export(array, "datatrove", folder)
    docs, lines = readers.datatrove(folder, "ids")
    assert docs == with_eod(*example[:2])
    assert lines[0] == f"toy|{array.ids.dtype.itemsize}" and lines[1] == str(len(array.ids)) and len(lines) == 3


@given(token_files(), st.integers(0, 9))
def test_dolma(tmp_path_factory, example, cut):
    cut = min(cut, len(example[0]))
    inputs = [("a.txt", cut), ('b, "100 %d".txt', len(example[0]) - cut)]
    array, folder = write_example(tmp_path_factory, example, inputs=inputs)
    export(array, "dolma", folder)
    docs, rows = readers.dolma(folder, "ids", array.ids.dtype)
    assert docs == with_eod(*example[:2])
    assert [row[2:] for row in rows] == [
        [str(d), inputs[d >= cut][0], str(d + 1 - (cut if d >= cut else 0))] for d in range(len(docs))
    ]
    assert gzip.decompress((folder / "ids.csv.gz").read_bytes()).count(b"\r\n") == len(docs)


@given(token_files(), st.integers(1, 4), st.booleans(), st.integers(0, 9))
def test_infini_gram(tmp_path_factory, example, shards, wide, cut):
    docs, _, dtype = example
    cut = min(cut, len(docs))
    inputs = [("a.txt", cut), ("100 %d é.txt", len(docs) - cut)]
    array, folder = write_example(tmp_path_factory, example, inputs=inputs)
    wide = wide or dtype == "<u4"
    options = Options("x", shards=shards, token_dtype="uint32" if wide else None)
    exported = export(array, "infini-gram", folder, options)
    found, lines = readers.infini_gram(folder, shards, "<u4" if wide else "<u2")
    assert found == docs
    assert lines == [
        {"path": inputs[d >= cut][0], "linenum": d - (cut if d >= cut else 0), "metadata": {}} for d in range(len(docs))
    ]
    n_false = 0 if wide else sum(map(readers.false_separators, docs))
    notes = [note for note in exported.notes if "AND queries" in note]
    assert len(notes) == (n_false > 0)
    assert not notes or f"takes {n_false:,} pairs" in notes[0]


@given(st.lists(st.lists(IDS16, max_size=9), min_size=1, max_size=9), st.data())
def test_infini_gram_rejects_its_separator(tmp_path_factory, docs, data):
    d = data.draw(st.integers(0, len(docs) - 1))
    k = data.draw(st.integers(0, len(docs[d])))
    docs[d].insert(k, 65535)
    eod = data.draw(st.sampled_from([None, 0, 65535]))  # an eod of 65535 is harmless, because the separator replaces it
    array, folder = write_example(tmp_path_factory, (docs, eod, "<u2"))
    with pytest.raises(OutputError, match=rf"document {d}, token {k}: id 65535 is .*--token-dtype uint32"):
        export(array, "infini-gram", folder)
    assert not list(folder.iterdir())
    export(array, "infini-gram", folder, Options("x", token_dtype="uint32"))
    assert readers.infini_gram(folder, 1, "<u4")[0] == docs


@given(st.lists(st.lists(IDS16, max_size=9), max_size=9), st.sampled_from([None, 0, 0xFF05]))
def test_infini_gram_with_renamed_ids(tmp_path_factory, docs, eod):
    array, folder = write_example(tmp_path_factory, (docs, eod, "<u2"))
    exported = export(array, "infini-gram", folder, Options("x", rename_ids=True))
    table = np.load(folder / "renamed.npy")
    assert np.array_equal(table[table], np.arange(65536))
    found = readers.infini_gram(folder, 1, "<u2")[0]
    assert [table[doc].tolist() for doc in found] == docs
    assert not any(map(readers.false_separators, found)) and max(joined(found), default=0) < 0xFF00
    assert not any("AND queries" in note for note in exported.notes)


def test_renaming_requires_unused_ids(tmp_path):
    array = tokenfiles.write(tmp_path / "ids", [list(range(1, 0xFF00)), [0xFF00], [0xFF01]])
    with pytest.raises(OutputError, match="uses 2 ids of 65280 or more, but only 1 smaller"):
        export(array, "infini-gram", tmp_path / "to", Options("x", rename_ids=True))
    array = tokenfiles.write(tmp_path / "ids", [[1]], dtype="<u4")
    with pytest.raises(OutputError, match="requires 2-byte ids"):
        export(array, "infini-gram", tmp_path / "to", Options("x", rename_ids=True))


def test_metadata(tmp_path):
    array = tokenfiles.write(tmp_path / "ids", [[1, 2], [], [3]], eod=0)
    fields = [{"id": 'a"1', "url": "x\ny"}, {}, {"id": 7}]
    files_ = ["a,b.jsonl", "a,b.jsonl", "é.jsonl"]
    kept = MetadataFile(OutFile(tmp_path / "ids.meta.jsonl.zst"))
    of = [{"file": files_[d], "line": 2 * d + 1, "metadata": fields[d]} for d in range(3)]
    kept.append([json.dumps(line).encode() for line in of])
    kept.end()
    kept._file.finish()
    export(array, "dolma", tmp_path / "to")
    rows = readers.dolma(tmp_path / "to", "ids", "<u2")[1]
    assert [row[2:] for row in rows] == [['a"1', "a,b.jsonl", "1"], ["1", "a,b.jsonl", "3"], ["7", "é.jsonl", "5"]]
    export(array, "infini-gram", tmp_path / "to", Options("x", shards=2))
    lines = readers.infini_gram(tmp_path / "to", 2, "<u2")[1]
    assert lines == [{"path": files_[d], "linenum": 2 * d, "metadata": fields[d]} for d in range(3)]
    array = tokenfiles.write(tmp_path / "ids", [[1, 2]], eod=0)
    with pytest.raises(OutputError, match="describes 3 documents"):
        export(array, "dolma", tmp_path / "other")


@given(token_files())
def test_tokengrams_and_npy(tmp_path_factory, example):
    array, folder = write_example(tmp_path_factory, example)
    export(array, "tokengrams", folder)
    export(array, "npy", folder)
    assert np.fromfile(folder / "ids.bin", example[2]).tolist() == joined(with_eod(*example[:2]))
    saved, ends = np.load(folder / "ids.npy"), np.load(folder / "ids.ends.npy")
    assert (saved.tolist(), saved.dtype) == (array.ids.tolist(), array.ids.dtype)
    assert (ends.tolist(), ends.dtype) == (array.ends.tolist(), np.uint64)
    np.save(folder / "reference", np.array(array.ids))
    assert (folder / "reference.npy").read_bytes() == (folder / "ids.npy").read_bytes()


def test_megatron_rejects_ids_beyond_int32(tmp_path):
    array = tokenfiles.write(tmp_path / "ids", [[1, 2], [3, 1 << 31]], eod=0, dtype="<u4")
    with pytest.raises(OutputError, match=r"id 2147483648 at token 4, in document 1"):
        export(array, "megatron", tmp_path / "to")
    assert not list((tmp_path / "to").iterdir())


def test_megatron_rejects_a_document_of_2_to_the_31(tmp_path):
    n = 1 << 31
    array = tokenfiles.write(tmp_path / "ids", [[1], [2]])
    with (tmp_path / "ids").open("ab") as file:
        file.truncate(2 * (n + 1))  # a hole, which takes no space
    np.array([1, n + 1], "<u8").tofile(tmp_path / "ids.ends")
    manifest = json.loads((tmp_path / "ids.json").read_text())
    manifest["tokens"] = manifest["inputs"][0]["tokens"] = n + 1
    (tmp_path / "ids.json").write_text(json.dumps(manifest))
    array = pyunitok.open(tmp_path / "ids")
    with pytest.raises(OutputError, match=r"document 1 has 2147483648 tokens"):
        export(array, "megatron", tmp_path / "to")


@pytest.mark.parametrize("to", ["megatron", "datatrove", "dolma", "infini-gram"])
def test_damaged_ends_are_rejected(tmp_path, to):
    array = tokenfiles.write(tmp_path / "ids", [[1], [2, 3], [4]], eod=0)
    np.array([2, 9, 7], "<u8").tofile(tmp_path / "ids.ends")
    array = pyunitok.open(tmp_path / "ids")
    with pytest.raises(OutputError, match=r"document 1 spans tokens 2 to 9; the \.ends file is damaged"):
        export(array, to, tmp_path / "to")


@pytest.mark.parametrize("n", [0, 1, 9, 10, 999, 1000, 1235, 9994, 9999, 99950, 999499, 999500, 10**9, 1234567890123])
def test_counts_are_formatted_as_in_datatrove(n):
    humanize = pytest.importorskip("humanize")
    assert humanised(n) == humanize.metric(n, unit="T")


# ------------------------------------------------------------------------------------------------- links and copies


def methods(exported) -> dict[str, str]:
    return {written.path.name: written.how for written in exported.files}


LINKED = {
    "megatron": "ids.bin", "nanogpt": "train.bin", "datatrove": "ids_00000_unshuffled.ds", "dolma": "ids.npy",
    "tokengrams": "ids.bin",
}  # fmt: skip


@pytest.mark.parametrize(("to", "name"), LINKED.items())
def test_tokens_are_linked(tmp_path, to, name):
    array = tokenfiles.write(tmp_path / "ids.u16", [[1, 2], [3]], eod=0)
    assert methods(export(array, to, tmp_path / "to"))[name] == "linked"
    assert (tmp_path / "to" / name).stat().st_ino == (tmp_path / "ids.u16").stat().st_ino
    export(array, to, tmp_path / "to", overwrite=True)  # rename() has no effect if both names are links to one file
    assert not list((tmp_path / "to").glob("*.partial"))
    assert methods(export(array, to, tmp_path / "to", overwrite=True, copy=True))[name] == "copied"
    assert (tmp_path / "to" / name).read_bytes() == (tmp_path / "ids.u16").read_bytes()
    assert (tmp_path / "to" / name).stat().st_ino != (tmp_path / "ids.u16").stat().st_ino


def test_symbolic_links_are_resolved(tmp_path):
    tokenfiles.write(tmp_path / "real", [[1]], eod=0)
    for suffix in ("", ".ends", ".json"):
        (tmp_path / f"ids{suffix}").symlink_to(tmp_path / f"real{suffix}")
    export(pyunitok.open(tmp_path / "ids"), "tokengrams", tmp_path / "to")
    assert not (tmp_path / "to/ids.bin").is_symlink()


@pytest.mark.parametrize("code", [errno.EXDEV, errno.EPERM, errno.EMLINK])
@pytest.mark.parametrize("kernel", ["copy_file_range", "cannot", "absent", "short"])
def test_tokens_are_copied_if_links_fail(tmp_path, monkeypatch, code, kernel):
    def refuse(*_, **__):
        raise OSError(code, "no")

    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(files, "_reflink", lambda *_: False)
    if kernel == "cannot":
        monkeypatch.setattr(os, "copy_file_range", refuse, raising=False)
    elif kernel == "absent":
        monkeypatch.delattr(os, "copy_file_range", raising=False)
    elif kernel == "short":
        original = getattr(os, "copy_file_range", None) or pytest.skip("os.copy_file_range is not available")
        monkeypatch.setattr(os, "copy_file_range", lambda a, b, n, **at: original(a, b, min(n, 3), **at))
    array = tokenfiles.write(tmp_path / "ids", [[k] * 9 for k in range(9)], eod=0)
    assert methods(export(array, "datatrove", tmp_path / "to"))["ids_00000_unshuffled.ds"] == "copied"
    assert readers.datatrove(tmp_path / "to", "ids")[0] == [[*[k] * 9, 0] for k in range(9)]
    export(array, "llm.c", tmp_path / "to", Options("x", shard_tokens=20))
    pairs = [[0, *[k] * 9, 0, *[k + 1] * 9] for k in (0, 2, 4, 6)]
    assert readers.llmc(tmp_path / "to", "x") == [*pairs, [0, *[8] * 9]]


def test_another_file_system(tmp_path):
    other = Path("/dev/shm")
    if not other.is_dir() or other.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("no second file system")
    import shutil
    import tempfile

    target = Path(tempfile.mkdtemp(dir=other))
    try:
        array = tokenfiles.write(tmp_path / "ids", [[1, 2]], eod=0)
        assert methods(export(array, "tokengrams", target)) == {"ids.bin": "copied"}
        assert (target / "ids.bin").read_bytes() == (tmp_path / "ids").read_bytes()
    finally:
        shutil.rmtree(target)


def test_a_failed_reflink_is_harmless(tmp_path):
    (tmp_path / "a").write_bytes(b"x")
    done = files._reflink(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b").exists() == done


@pytest.mark.parametrize("to", FORMATS)
def test_existing_files_are_kept(tmp_path, to):
    array = tokenfiles.write(tmp_path / "ids.u16", [[1, 2], [3]], eod=0)
    name = module(to).names(Options(default_name(array.path)))[-1]
    (tmp_path / "to").mkdir()
    (tmp_path / "to" / name).write_bytes(b"dear")
    (tmp_path / "to" / "other").write_bytes(b"stays")
    with pytest.raises(OutputError, match="exists; --overwrite"):
        export(array, to, tmp_path / "to")
    assert (tmp_path / "to" / name).read_bytes() == b"dear"
    assert {path.name for path in (tmp_path / "to").iterdir()} == {name, "other"}
    exported = export(array, to, tmp_path / "to", overwrite=True)
    names = {path.name for path in (tmp_path / "to").iterdir()}
    assert {written.path.name for written in exported.files} | {"other"} == names


def test_the_token_file_itself_is_never_replaced(tmp_path):
    array = tokenfiles.write(tmp_path / "ids.bin", [[1, 2]], eod=0)
    before = (tmp_path / "ids.bin").read_bytes()
    for overwrite in (False, True):
        with pytest.raises(OutputError, match="belongs to the token file itself"):
            export(array, "tokengrams", tmp_path, overwrite=overwrite)
    export(array, "tokengrams", tmp_path, Options("other"))
    assert (tmp_path / "ids.bin").read_bytes() == before


@pytest.mark.parametrize("to", FORMATS)
def test_a_failed_export_leaves_no_files(tmp_path, monkeypatch, to):
    array = tokenfiles.write(tmp_path / "ids.u16", [[1, 2], [3]], eod=0)
    folder = tmp_path / "to"
    monkeypatch.setattr(files.Folder, "commit", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        export(array, to, folder)
    assert not list(folder.iterdir())


def test_files_of_another_index(tmp_path):
    array = tokenfiles.write(tmp_path / "ids", [[1, 2], [3], [4]], eod=0)
    export(array, "infini-gram", tmp_path / "to", Options("x", shards=2))
    (tmp_path / "to/table.0").write_bytes(b"of other tokens")
    with pytest.raises(OutputError, match=r"exists|belongs to the index of another token file"):
        export(array, "infini-gram", tmp_path / "to")
    export(array, "infini-gram", tmp_path / "to", overwrite=True)
    assert {path.name for path in (tmp_path / "to").iterdir()} == set(infini_gram.names(Options("x")))
    export(array, "llm.c", tmp_path / "to", Options("[x]", shard_tokens=2))
    export(array, "llm.c", tmp_path / "to", Options("[x]"), overwrite=True)
    assert [path.name for path in (tmp_path / "to").glob("*.bin")] == ["[x]_000000.bin"]


# --------------------------------------------------------------------------------------------------- the command


def test_the_command(tmp_path):
    tokenfiles.write(tmp_path / "ids.u16", [[1, 2], [3]], eod=0)
    done = command(tmp_path, "export", "ids.u16", "--to", "megatron", "-o", "a/b")
    assert b"a/b/ids.bin: linked, 10 bytes" in done.stderr and b"a/b/ids.idx: written, 82 bytes" in done.stderr
    assert readers.megatron(tmp_path / "a/b", "ids") == [[1, 2, 0], [3, 0]]
    assert b"--overwrite" in command(tmp_path, "export", "ids.u16", "--to", "megatron", "-o", "a/b", code=1).stderr
    done = command(tmp_path, "export", "ids.u16", "--to", "llm.c", "-o", "a", "--name", "c", "--shard-tokens", "3")
    assert readers.llmc(tmp_path / "a", "c") == [[0, 1, 2], [0, 3]]
    assert struct.unpack_from("<3i", (tmp_path / "a/c_000000.bin").read_bytes()) == (20240520, 1, 3)
    done = command(tmp_path, "export", "ids.u16", "--to", "npy", "-o", "a", "--shards", "2", code=1)
    assert b"--shards does not apply to npy" in done.stderr
    done = command(tmp_path, "export", "ids.u16", "--to", "llm.c", "-o", "a", "--eot", "70000", code=1)
    assert b"--eot 70000 does not fit in uint16" in done.stderr


MADE_UP = """
import sys, types
from pyunitok import export

def write(array, folder, options):
    with folder.write(f"{options.name}.txt") as file:
        file.write(" ".join(map(str, array.ids)).encode())
    return [f"a share of {options.val_fraction}"]

export.FORMATS["made-up"] = types.SimpleNamespace(
    TAKES=("val_fraction",), names=lambda options: [f"{options.name}.txt"], export=write
)
from pyunitok.cli import main
main()
"""


def test_one_row_adds_a_format(tmp_path):
    """A row in FORMATS is enough for the choices, the help and both commands."""
    tokenfiles.write(tmp_path / "ids.u16", [[1, 2], [3]], eod=0)
    (tmp_path / "a.txt").write_text("a")

    def run(*arguments, code=0):
        done = commands.python(tmp_path, "-c", MADE_UP, *arguments, text=True)
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    assert "note: a share of 0.5" in run("export", "ids.u16", "--to", "made-up", "-o", "to", "--val-fraction", "0.5")
    assert (tmp_path / "to/ids.txt").read_text() == "1 2 0 3 0"
    run("tokenize", "a.txt", "-o", "b", "--format", "made-up")
    assert (tmp_path / "b.txt").exists() and not (tmp_path / "b").exists()
    for name in ("export", "tokenize"):
        printed = "".join(run(name, "--help").split())  # lines may break at the hyphen
        assert "made-up" in printed and "nanogpt,made-up:putthelastdocuments" in printed
    rejected = run("export", "ids.u16", "--to", "made-up", "-o", "to", "--shards", "2", code=1)
    assert "--shards does not apply to made-up" in rejected
