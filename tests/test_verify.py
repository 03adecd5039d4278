"""verify: every kind of damage is detected and located; intact files pass with blocks and batches of any size."""

import gzip
import json
import os
import re
from dataclasses import replace

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from test_cli import pyunitok as command
from test_pipeline import run
from toys import tokenfiles
from toys.models import BYTES

import pyunitok
from pyunitok._c import scratch as c_scratch
from pyunitok.corpus import inputs
from pyunitok.errors import IdError, InputError, ModelFormatError, OutputError
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.tokens import verify_text as module
from pyunitok.tokens.verify import verify
from pyunitok.tokens.verify_text import sources_of, verify_text

PIECES = [*BYTES, b"the", b" the", b"aa", b"\n\n"]


@pytest.fixture(scope="module")
def toy():
    return Tokenizer.from_pieces(PIECES, eod=300)


@pytest.fixture
def folder(tmp_path, toy):
    """A folder with three inputs in "in", the token file "ids", and the model file "toy"."""
    toy.save(tmp_path / "toy")
    corpus = tmp_path / "in"
    corpus.mkdir()
    (corpus / "a.txt").write_bytes(b"the cat|and the dog||the end")
    (corpus / "b.jsonl").write_text('{"text": "the aaa"}\n\n{"text": ""}\n{"text": "x"}\n')
    (corpus / "c.txt.gz").write_bytes(gzip.compress(b"the|"))
    run(Tokenizer.from_file(tmp_path / "toy"), [corpus], tmp_path / "ids", separator=b"|")
    return tmp_path


def compare(array, paths=None, **options):
    found = None if paths is None else inputs.find(paths)
    return verify_text(array, array.tokenizer, sources_of(array.manifest.inputs, found), **options)


def change(path, at, value, dtype="<u2"):
    items = np.fromfile(path, dtype)
    items[at] = value
    items.tofile(path)


def test_an_intact_file_passes(folder):
    seen = []
    array = pyunitok.open(folder / "ids")
    assert verify(array, array.tokenizer, on_bytes=seen.append) == []
    assert sum(seen) == array.ids.nbytes + array.ends.nbytes
    seen.clear()
    assert compare(array, on_bytes=seen.append) is None
    assert sum(seen) == sum(len(array.text_bytes(d)) for d in range(len(array)))


@pytest.mark.parametrize(
    ("name", "at", "value", "faults"),
    [
        ("ids", 0, 257, ["ids: bytes 0 to", "XXH64"]),
        ("ids", 1, 299, ["ids: bytes 0 to", "document 0, token 1: id 299 is not in"]),
        ("ids", 1, 60000, ["document 0, token 1: id 60000 is not in"]),
        ("ids", 5, 7, ["document 0 ends with id 7 at token 5, not with the eod 300"]),
        ("ids.ends", 0, 5, ["ids.ends: bytes 0 to", "document 0 ends with id 116 at token 4"]),
        ("ids.ends", 1, 6, ["document 1 spans tokens 6 to 6"]),
        ("ids.ends", 1, 1 << 40, ["document 1 spans tokens 6 to 1099511627776", "document 2 spans"]),
        ("ids.ends", 1, (1 << 64) - 1, ["document 1 spans tokens 6 to -1"]),
    ],
)
def test_damage(folder, name, at, value, faults):
    change(folder / name, at, value, "<u8" if name.endswith("ends") else "<u2")
    array = pyunitok.open(folder / "ids")
    found = verify(array, array.tokenizer)
    for fault in faults:
        assert any(fault in sentence for sentence in found), found
    done = command(folder, "verify", "ids", code=1)
    assert faults[0].encode() in done.stderr and b"ids: damaged" in done.stderr


@pytest.mark.parametrize(
    ("field", "value", "fault"),
    [
        ("bytes", 1, "1 bytes, but its inputs have"),
        ("hash", {}, "the hashes are not XXH64"),
        ("inputs", 1, "in/b.jsonl has 7 tokens, but its documents have 8"),
    ],
)
def test_a_manifest_that_does_not_match(folder, field, value, fault):
    manifest = json.loads((folder / "ids.json").read_text())
    if field == "inputs":
        first, second = manifest["inputs"][:2]  # the sum remains the same
        second["tokens"] -= 1
        first["tokens"] += 1
    else:
        manifest[field] = value
    (folder / "ids.json").write_text(json.dumps(manifest))
    array = pyunitok.open(folder / "ids")
    found = verify(array, None)
    assert any(fault in sentence for sentence in found), found


@pytest.mark.slow
def test_chunks_of_64_mib(tmp_path):
    array = tokenfiles.write(tmp_path / "ids", [[1] * (40 << 20)])
    manifest = json.loads((tmp_path / "ids.json").read_text())
    import xxhash

    data = (tmp_path / "ids").read_bytes()
    manifest["hash"]["tokens"] = [xxhash.xxh64_hexdigest(data[k : k + (64 << 20)]) for k in (0, 64 << 20)]
    (tmp_path / "ids.json").write_text(json.dumps(manifest))
    assert verify(pyunitok.open(tmp_path / "ids"), None) == []
    change(tmp_path / "ids", 39 << 20, 2)
    (fault,) = verify(pyunitok.open(tmp_path / "ids"), None)
    assert "bytes 67108864 to 83886080 have changed" in fault
    assert array.manifest is not None


def test_metadata(tmp_path, toy):
    (tmp_path / "a.jsonl").write_text("".join(f'{{"text": "{k}", "id": {k}}}\n' for k in range(9000)))
    array = run(toy, [tmp_path / "a.jsonl"], tmp_path / "ids", metadata=True)
    assert verify(array, toy) == []
    path = tmp_path / "ids.meta.jsonl.zst"
    whole = path.read_bytes()
    path.write_bytes(whole[:200] + bytes([whole[200] ^ 1]) + whole[201:])
    assert any("ids.meta.jsonl.zst" in fault for fault in verify(array, toy))
    path.write_bytes(whole[:-1])
    assert any("not a complete metadata file" in fault for fault in verify(array, toy))
    path.write_bytes(whole)
    array = run(toy, [tmp_path / "a.jsonl"], tmp_path / "other")
    path.rename(tmp_path / "other.meta.jsonl.zst")
    assert verify(array, toy) == []


def test_an_eod_that_the_model_lacks(tmp_path, toy):
    (tmp_path / "a.txt").write_bytes(b"the")
    array = run(toy, [tmp_path / "a.txt"], tmp_path / "ids", eod=777)
    assert verify(array, toy) == []
    assert compare(array) is None


# ------------------------------------------------------------------------------------------ against the inputs


def test_differences_are_named(folder):
    array, text = pyunitok.open(folder / "ids"), folder / "in/a.txt"
    text.write_bytes(b"the cat|and tha dog||the end")
    assert compare(array) == (
        f"{text}: document 1 (document 1 of {folder}/ids): byte 6: the text continues with b'a dog', "
        "but the tokens continue with b'e dog' at token 9 (id 257)"
    )
    text.write_bytes(b"the cat|and the|dog||the end")
    assert "document 1 (document 1 of" in compare(array) and "the text ends after 7 bytes" in compare(array)
    text.write_bytes(b"the cat|and the dog||the end|")
    assert compare(array) is None  # no document follows a separator at the end
    text.write_bytes(b"the cat|and the dog||the end||")
    assert re.search(r"a\.txt: document 4 \(.* has fewer\)", compare(array))


def test_an_input_with_fewer_or_more_documents(tmp_path, toy):
    (tmp_path / "a.txt").write_bytes(b"a|b|c")
    array = run(toy, [tmp_path / "a.txt"], tmp_path / "ids", separator=b"|")
    for text, fault in [
        (b"a|b", "document 2 (document 2 of"),
        (b"a|b|c|d", "has fewer)"),
        (b"a|b|c|", None),
        (b"a|b|c||", "has fewer)"),
        (b"a|b|cc", "document 2"),
        (b"a|b||", "document 2"),
        (b"", "document 0"),
    ]:
        (tmp_path / "a.txt").write_bytes(text)
        found = compare(array)
        assert (found is None) == (fault is None) and (fault or "") in (found or ""), (text, found)


texts = st.lists(st.text(st.sampled_from("a| thé\n"), max_size=40).map(str.encode), min_size=1, max_size=4)


@given(texts, st.sampled_from([None, b"|", b"aa"]), st.sampled_from([None, 300, 97]), st.integers(1, 9), st.data())
def test_any_corpus(tmp_path_factory, toy, corpus, separator, eod, batch, data):
    """An intact file passes. If one byte of an input changes, the first difference is reported."""
    folder = tmp_path_factory.mktemp("verify")
    for k, text in enumerate(corpus):
        (folder / f"{k}.txt").write_bytes(text)
    array = run(toy, [folder], folder / "ids", separator=separator, eod=eod)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BATCH_IDS", batch)
        patch.setattr(module, "BLOCK_BYTES", data.draw(st.integers(1, 50)))
        assert verify(array, toy) == []
        assert compare(array, threads=2) is None
        k = data.draw(st.integers(0, len(corpus) - 1))
        at = data.draw(st.integers(0, len(corpus[k])))
        text = corpus[k][:at] + data.draw(st.sampled_from([b"", b"x", b"xy", b"|"])) + corpus[k][at + 1 :]
        (folder / f"{k}.txt").write_bytes(text)
        other = run(toy, [folder / f"{j}.txt" for j in range(len(corpus))], folder / "other",
                    separator=separator, eod=eod)  # fmt: skip
        docs = [[a.text_bytes(d) for d in range(len(a))] for a in (array, other)]
        fault = compare(array, threads=2)
    assert (fault is None) == (docs[0] == docs[1])
    if fault and len(docs[0]) == len(docs[1]):
        d = next(d for d in range(len(docs[0])) if docs[0][d] != docs[1][d])
        assert f"(document {d} of" in fault, (docs, fault)


def test_long_documents_compressed(tmp_path, toy, monkeypatch):
    monkeypatch.setattr(module, "BATCH_IDS", 1000)
    text = b"".join(b"%d the cat " % k for k in range(30000))
    with (tmp_path / "a.txt.zst").open("wb") as file:
        for k in range(0, len(text), 50000):
            file.write(zstandard.compress(text[k : k + 50000]))
    array = run(toy, [tmp_path / "a.txt.zst"], tmp_path / "ids")
    assert compare(array) is None
    change(tmp_path / "ids", 70000, ord("#"))
    fault = compare(pyunitok.open(tmp_path / "ids", model=toy))
    assert "document 0 (document 0 of" in fault and "token 70000 (id 35)" in fault
    at = int(fault.split("byte ")[1].split(":")[0])
    assert at == len(toy.decode_bytes(array.ids[:70000])) or array.ids[70000] == ord("#")


def test_bad_lines_that_were_skipped(tmp_path, toy):
    (tmp_path / "a.jsonl").write_text('{"text": "the"}\n{"text": 1}\n{"text": "dog"}\n')
    array = run(toy, [tmp_path / "a.jsonl"], tmp_path / "ids", on_error="skip")
    assert len(array) == 2 and compare(array) is None
    (tmp_path / "a.jsonl").write_text('{"text": "the"}\n{"text": "cat"}\n{"text": "dog"}\n')
    assert "a.jsonl: document 1" in compare(array)


def test_parquet(tmp_path, toy):
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    parquet.write_table(pyarrow.table({"text": ["the", "", "dog" * 99]}), tmp_path / "a.parquet")
    array = run(toy, [tmp_path / "a.parquet"], tmp_path / "ids")
    assert len(array) == 3 and compare(array) is None
    parquet.write_table(pyarrow.table({"text": ["the", "", "dog" * 98]}), tmp_path / "a.parquet")
    assert "a.parquet: document 2" in compare(array)


def test_an_id_without_a_piece(folder):
    change(folder / "ids", 1, 60000)
    array = pyunitok.open(folder / "ids")
    with pytest.raises(IdError, match="document 0, token 1: id 60000"):
        compare(array)


def test_a_model_that_is_not_lossless(tmp_path):
    lossy = Tokenizer.from_pieces(["the", " ", "a"], fallback="a", eod=9)
    (tmp_path / "a.txt").write_bytes(b"the the|xa|the")
    array = run(lossy, [tmp_path / "a.txt"], tmp_path / "ids", separator=b"|", eod=9)
    assert compare(array) is None
    (tmp_path / "a.txt").write_bytes(b"the the|xya|the")
    assert "document 1" in compare(array)


def test_moved_inputs(folder):
    array = pyunitok.open(folder / "ids")
    (folder / "in").rename(folder / "moved")
    with pytest.raises(InputError, match="No such file"):
        compare(array)
    moved = [str(folder / "moved" / name) for name in ("a.txt", "b.jsonl", "c.txt.gz")]
    assert compare(array, moved) is None
    with pytest.raises(InputError, match="2 inputs given, but the manifest has 3"):
        compare(array, moved[:2])
    done = command(folder, "verify", "ids", "moved")
    assert b"ids: intact" in done.stderr and b"bytes of text compared" in done.stderr
    (folder / "moved/a.txt").write_bytes(b"the cat|and the fox||the end")
    assert b"the text continues with b'fox'" in command(folder, "verify", "ids", "moved", code=1).stderr
    assert b"error" in command(folder, "verify", "ids", "--inputs", code=1).stderr
    command(folder, "verify", "ids", "--inputs", "moved", code=2)


def test_stdin_cannot_be_read_again(folder):
    command(folder, "tokenize", "-", "-o", "piped", "-m", "toy", stdin=b"the cat")
    assert b"ids: intact" in command(folder, "verify", "ids").stderr
    assert b"pass the inputs" in command(folder, "verify", "piped", "--inputs", code=1).stderr
    (folder / "same").write_bytes(b"the cat")
    assert b"piped: intact" in command(folder, "verify", "piped", "same").stderr
    assert b"piped: intact" in command(folder, "verify", "piped", "-", stdin=b"the cat").stderr


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("reference://x.json", "pass them on the command line"),  # fsspec would run code that x.json contains
        ("http://127.0.0.1:9/a.txt", "pass them on the command line"),
        ("file:///etc/passwd", "pass them on the command line"),
        ("fifo", "is not a regular file"),
        ("/dev/zero", "not a regular file"),
        ("in", "not a regular file"),
        ("gone.txt", "No such file"),
        ("a\0b", "null"),
    ],
)
def test_inputs_that_a_hostile_manifest_names(folder, monkeypatch, path, message):
    monkeypatch.chdir(folder)
    os.mkfifo("fifo")
    array = pyunitok.open("ids")
    array.manifest.inputs[0] = replace(array.manifest.inputs[0], path=path)
    with pytest.raises(InputError, match=message):
        sources_of(array.manifest.inputs)


@pytest.mark.parametrize("path", ["fifo", "/dev/zero"])
def test_a_model_that_a_hostile_manifest_names(folder, path):
    """Opening a FIFO would block, and reading /dev/zero would never end."""
    os.mkfifo(folder / "fifo")
    array = pyunitok.open(folder / "ids")
    array.manifest.model["path"] = str(folder / path)
    with pytest.raises(ModelFormatError, match="is missing; pass it"):
        _ = array.tokenizer


def test_without_its_model(folder):
    (folder / "toy").unlink()
    done = command(folder, "verify", "ids")
    assert b"ids are not checked" in done.stderr and b"ids: intact" in done.stderr
    assert b"is missing; pass it" in command(folder, "verify", "ids", "--inputs", code=1).stderr


# ------------------------------------------------------------------------------------------------ while tokenizing


@given(texts, st.sampled_from([None, b"|", b"aa"]), st.sampled_from([None, 300, 97]), st.integers(1, 60))
def test_tokenize_with_verify(tmp_path_factory, toy, corpus, separator, eod, block_bytes):
    folder = tmp_path_factory.mktemp("verify")
    for k, text in enumerate(corpus):
        (folder / f"{k}.txt").write_bytes(text)
    options = {"separator": separator, "eod": eod, "block_bytes": block_bytes, "threads": 2}
    array = run(toy, [folder], folder / "ids", verify=True, **options)
    assert compare(array) is None


@pytest.mark.parametrize("block_bytes", [64, 1 << 16])
@pytest.mark.parametrize(("document", "byte"), [(0, 0), (0, 8000), (3, 5), (9, 0), (9, 2999)])
@pytest.mark.parametrize("suffix", ["txt", "jsonl", "parquet"])
def test_wrong_ids_are_detected(tmp_path, toy, monkeypatch, block_bytes, document, byte, suffix):
    docs = [b"the cat " * 1500, b"", b"dog", b"the end", *[b"x"] * 5, b"y" * 3000]
    docs[document] = docs[document][:byte] + b"Q" + docs[document][byte + 1 :]
    name = f"a.{suffix}"
    lines = [json.dumps({"text": doc.decode()}).encode() for doc in docs]
    if suffix == "parquet":
        table = pytest.importorskip("pyarrow").table({"text": [doc.decode() for doc in docs]})
        pytest.importorskip("pyarrow.parquet").write_table(table, tmp_path / name)
    else:
        (tmp_path / name).write_bytes(b"|".join(docs) if suffix == "txt" else b"\n".join(lines))
    whole = c_scratch.Scratch.encode_batch

    def err(self, data, offsets, ids, id_offsets, **options):
        n = whole(self, data, offsets, ids, id_offsets, **options)
        ids = np.asarray(ids)
        ids[:n][ids[:n] == ord("Q")] = ord("#")
        return n

    monkeypatch.setattr(c_scratch.Scratch, "encode_batch", err)
    options = {"separator": b"|", "block_bytes": block_bytes}
    with pytest.raises(OutputError) as raised:
        run(toy, [tmp_path / name], tmp_path / "ids", verify=True, **options)
    message = str(raised.value)
    assert f"{name}: document {document}: byte {byte}: the text continues with b'Q" in message
    assert "its tokens decode to b'#" in message
    assert not (tmp_path / "ids").exists()
    run(toy, [tmp_path / name], tmp_path / "ids", **options)


def test_verify_and_models_that_are_not_lossless(tmp_path):
    lossy = Tokenizer.from_pieces(["the", " ", "a"], fallback="a", eod=9)
    (tmp_path / "a.txt").write_bytes(b"the the|xa|the" * 99)
    run(lossy, [tmp_path / "a.txt"], tmp_path / "ids", separator=b"|", eod=9, verify=True, block_bytes=32)
