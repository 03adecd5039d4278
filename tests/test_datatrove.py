"""The datatrove pipeline step, run by datatrove; skipped if datatrove is not installed."""

import pytest

import pyunitok
from pyunitok.run.merge import merge
from pyunitok.tokens.verify import verify

pytestmark = pytest.mark.ray
data = pytest.importorskip("datatrove.data")


@pytest.mark.parametrize("eod", ["model", None])
def test_a_pipeline(toy, tmp_path, monkeypatch, eod):
    from datatrove.executor import LocalPipelineExecutor

    from pyunitok import datatrove

    toy.save(tmp_path / "toy.utk")
    monkeypatch.setattr(datatrove, "BATCH_BYTES", 50)
    documents = [data.Document(text="the である\n" * (k % 4), id=str(k)) for k in range(60)]
    passed = []

    def shard_of(_, rank, world_size):
        yield from documents[rank * 20 : rank * 20 + 20]

    def after(stream, rank, world_size):
        for document in stream:
            passed.append(document)
            yield document

    step = datatrove.Tokenize(tmp_path / "tokens", tmp_path / "toy.utk", eod)
    for _ in range(2):  # a rank that runs again starts from the beginning
        LocalPipelineExecutor([shard_of, step, after], tasks=3, logging_dir=str(tmp_path / "log"), workers=1,
                              skip_completed=False).run()  # fmt: skip
    assert passed == documents * 2
    parts = sorted((tmp_path / "tokens").glob("*.u16"))
    assert [path.name for path in parts] == ["0.u16", "1.u16", "2.u16"]
    assert not list((tmp_path / "tokens").glob("*.partial"))
    merge(parts, tmp_path / "ids")
    array = pyunitok.open(tmp_path / "ids", model=tmp_path / "toy.utk")
    end = [300] if eod else []
    assert [ids.tolist() for ids in array] == [[*toy.encode(doc.text).tolist(), *end] for doc in documents]
    assert array.eod_id == (300 if eod else None)
    assert verify(array, array.tokenizer) == []
