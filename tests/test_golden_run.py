"""Token files and interrupted runs in tests/golden/run: every later version must read and resume them, or reject them.

    model.utk       a Unigram model, native
    in/             the inputs
    whole/ids …     the token file made from them, with all its sidecars
    begun/ids …     the same run, interrupted in the middle of a long document: the .partial files and the journal

`python tests/test_golden_run.py` recreates the folder. Use it only if a format has changed on purpose; then move the
old files to a separate folder, and test how they are rejected.
"""

import json
import os
import random
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from test_damage import interrupted_after

sys.path.insert(0, str(Path(__file__).parent))

import pyunitok
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.run.journal import Journal, journal_path
from pyunitok.tokens.metadata import Metadata, metadata_path

GOLDEN = Path(__file__).parent / "golden/run"
OPTIONS = {"separator": "\n", "metadata": True, "on_error": "skip", "threads": 1, "block_bytes": 4000, "eod": 2}
STAMP = 1_700_000_000_123_456_789  # the modification time of the inputs


@pytest.fixture
def folder(tmp_path, monkeypatch):
    shutil.copytree(GOLDEN, tmp_path / "run")
    monkeypatch.chdir(tmp_path / "run")
    stamp()
    return tmp_path / "run"


def stamp():
    for path in Path("in").iterdir():
        os.utime(path, ns=(STAMP, STAMP))


def contents(out):
    """The bytes, metadata and skipped lines of a token file, without the messages, whose wording may change."""
    left_out = [json.loads(line) for line in Path(f"{out}.errors.jsonl").read_text().splitlines()]
    data = [Path(f"{out}{suffix}").read_bytes() for suffix in ("", ".ends")]
    return *data, list(Metadata(metadata_path(out))), [(item["file"], item["line"]) for item in left_out]


def test_a_token_file_is_read(folder):
    array = pyunitok.open("whole/ids", model="model.utk")
    manifest = array.manifest
    assert (manifest.documents, manifest.tokens) == (len(array), len(array.ids))
    assert manifest.text_bytes < manifest.input_bytes == sum(path.stat().st_size for path in Path("in").iterdir())
    lines = [json.loads(line) for line in Path("in/a.jsonl").read_text().splitlines()]
    texts = [line["text"] for line in lines if "text" in line]
    texts += Path("in/b.txt").read_text().removesuffix("\n").split("\n")
    assert [array.text(i) for i in range(len(array))] == texts
    metadata = Metadata(metadata_path("whole/ids"))
    assert len(metadata) == len(array) and metadata[3]["metadata"] == {"n": 4}
    listed = [json.loads(line) for line in Path("whole/ids.errors.jsonl").read_text().splitlines()]
    assert [item["line"] for item in listed] == [k + 1 for k, line in enumerate(lines) if "text" not in line]


def test_a_finished_run_is_recognised(folder):
    started = []
    manifest = pyunitok.tokenize("in", "whole/ids", "model.utk", **OPTIONS, on_start=started.append)
    assert started[0].complete and manifest == pyunitok.open("whole/ids", model="model.utk").manifest


def test_a_new_run_is_byte_identical(folder):
    pyunitok.tokenize("in", "today", "model.utk", **OPTIONS)
    assert contents("today") == contents("whole/ids")


def test_an_interrupted_run_is_resumed(folder):
    position = Journal.read(journal_path(Path("begun/ids"))).progress["position"]
    assert position["inside"] > 0 and position["state"]  # inside a document, with the encoder's state
    started = []
    pyunitok.tokenize("in", "begun/ids", "model.utk", **OPTIONS, verify_resume=True, on_start=started.append)
    assert started[0].bytes > 0 and not started[0].complete
    assert contents("begun/ids") == contents("whole/ids")


def make():
    """Recreate the folder."""
    from toys import sentencepieces

    from pyunitok.vocab import sentencepiece

    rng = random.Random(1)
    shutil.rmtree(GOLDEN, ignore_errors=True)
    (GOLDEN / "in").mkdir(parents=True)
    os.chdir(GOLDEN)
    words = ["the", "ten", "net", "teeth", "seen", "である", "eth"]
    letters = sorted(set("".join(words)))
    items = [(text.encode(), -float(k + 1), 1) for k, text in enumerate(["▁the", "▁te", "et", "▁", *words, *letters])]
    proto = sentencepieces.make(items, model_type=1)
    proto.normalizer_spec.add_dummy_prefix = True
    proto.normalizer_spec.escape_whitespaces = True
    vocabulary = sentencepiece.read(proto.SerializeToString(), "toy").vocabulary()
    Tokenizer(vocabulary.build(engine="double-array", cpu=None), vocabulary.about("toy")).save("model.utk")

    def text(n):
        return " ".join(rng.choice(words) for _ in range(n))

    lines = [json.dumps({"text": text(rng.randrange(30)), "n": k} if k % 9 else {"n": k}) for k in range(60)]
    Path("in/a.jsonl").write_text("\n".join(lines) + "\n")
    Path("in/b.txt").write_text("\n".join([text(9), "".join(rng.choice(words) for _ in range(9000)), text(9)]) + "\n")
    stamp()
    for name in ("whole", "begun"):
        Path(name).mkdir()
    pyunitok.tokenize("in", "whole/ids", "model.utk", **OPTIONS)
    manifest = json.loads(Path("whole/ids.json").read_bytes())
    manifest["model"]["path"] = None  # specific to this machine
    Path("whole/ids.json").write_text(json.dumps(manifest, indent=1) + "\n")
    with interrupted_after(lambda tally: tally.position.inside > 10_000):
        pyunitok.tokenize("in", "begun/ids", "model.utk", **OPTIONS)
    assert np.fromfile("whole/ids", "<u2").max() < 100


if __name__ == "__main__":
    make()
