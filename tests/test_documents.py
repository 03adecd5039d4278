"""Documents: positions, ranges, texts, chunks and windows of one or more token files, compared with lists."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toys import models, tokenfiles

import pyunitok
from pyunitok.errors import OutputError
from pyunitok.tokens.several import TokenArrays

TOY = models.greedy()
DOCS = st.lists(st.lists(st.integers(0, 255), max_size=6), max_size=8)


def make(folder, files, eod):
    """Write token files; return their documents as an open object and as lists."""
    arrays = [tokenfiles.write(folder / f"ids{k}", docs, eod=eod) for k, docs in enumerate(files)]
    for k, array in enumerate(arrays):
        array.manifest.model["sha256"] = TOY.sha256
        (folder / f"ids{k}.json").write_bytes(array.manifest.to_json())
    paths = [array.path for array in arrays]
    wanted = [[*doc, *([] if eod is None else [eod])] for docs in files for doc in docs]
    return pyunitok.open(paths[0] if len(paths) == 1 else paths, model=TOY), wanted


@given(st.lists(DOCS, min_size=1, max_size=3), st.sampled_from([None, 300]), st.data())
def test_documents_match_lists(tmp_path_factory, files, eod, data):
    docs, wanted = make(tmp_path_factory.mktemp("docs"), files, eod)
    assert len(docs) == len(wanted)
    assert [ids.tolist() for ids in docs] == wanted
    assert [docs[k].tolist() for k in range(-len(wanted), len(wanted))] == wanted * 2
    assert docs.lengths.tolist() == list(map(len, wanted))
    owner = [d for d, doc in enumerate(wanted) for _ in doc]
    assert docs.n_tokens == len(owner)
    assert docs.locate(np.arange(len(owner))).tolist() == owner
    assert [docs.locate(at) for at in range(len(owner))] == owner
    texts = [bytes(id_ for id_ in doc if id_ < 256) for doc in wanted]
    assert [item.tobytes() for item in docs.texts_bytes()] == texts
    assert docs.texts(errors="replace") == [text.decode("utf-8", "replace") for text in texts]
    assert [docs.text_bytes(k) for k in range(len(docs))] == texts

    numbers = st.lists(st.integers(-len(wanted), len(wanted) - 1), max_size=9) if wanted else st.just([])
    chosen = data.draw(st.slices(len(wanted)) | numbers)
    picked = wanted[chosen] if isinstance(chosen, slice) else [wanted[k] for k in chosen]
    assert [ids.tolist() for ids in docs[chosen]] == picked
    assert [item.tobytes() for item in docs.texts_bytes(chosen)] == [bytes(i for i in d if i < 256) for d in picked]
    begins, ends = docs.bounds(chosen)
    assert (ends - begins).tolist() == list(map(len, picked))
    assert docs.locate(begins[ends > begins]).tolist() == [
        k for k in np.arange(len(wanted))[chosen].tolist() if wanted[k]
    ]
    mask = data.draw(st.lists(st.booleans(), min_size=len(wanted), max_size=len(wanted)))
    assert [ids.tolist() for ids in docs[np.array(mask, bool)]] == [d for d, m in zip(wanted, mask, strict=True) if m]

    size = data.draw(st.integers(1, 12))
    seen = []
    for first, packed in docs.chunks(size):
        assert first == len(seen)
        assert len(packed) == 1 or len(packed.data) <= size
        seen += [ids.tolist() for ids in packed]
    assert seen == wanted


@given(st.lists(DOCS, min_size=1, max_size=3), st.integers(1, 7), st.integers(1, 9), st.data())
def test_windows(tmp_path_factory, files, n, stride, data):
    docs, _ = make(tmp_path_factory.mktemp("docs"), files, 300)
    streams = [[id_ for doc in one for id_ in (*doc, 300)] for one in files]
    wanted = [s[at : at + n] for s in streams for at in range(0, len(s) - n + 1, stride)]
    windows = docs.windows(n, stride)
    assert len(windows) == len(wanted)
    assert [ids.tolist() for ids in windows] == wanted
    assert [windows[k].tolist() for k in range(len(wanted))] == wanted
    assert windows[:].tolist() == wanted and windows[:].shape == (len(wanted), n)
    assert [ids.tolist() for ids in docs.windows(n)] == [
        s[at : at + n] for s in streams for at in range(0, len(s) - n + 1, n)
    ]
    if wanted:
        chosen = data.draw(st.lists(st.integers(-len(wanted), len(wanted) - 1), max_size=9))
        assert windows[chosen].tolist() == [wanted[k] for k in chosen]
        assert windows[-1].tolist() == wanted[-1]
        again = pickle.loads(pickle.dumps(windows))
        assert again[chosen].tolist() == [wanted[k] for k in chosen]
    with pytest.raises(IndexError):
        windows[len(wanted)]


def test_views_are_not_copied(tmp_path):
    docs, _ = make(tmp_path, [[[1, 2], [3], [4]]], 300)
    for view in (docs[1], docs[1:3].data, docs.windows(2)[1], next(docs.chunks())[1].data):
        assert np.shares_memory(view, docs.ids)
        assert not view.flags.writeable
    assert not np.shares_memory(docs[[0, 2]].data, docs.ids)


def test_numbers_and_shapes(tmp_path):
    docs, _ = make(tmp_path, [[[1, 2], [], [4]], [[5]]], None)
    assert docs.locate(np.uint64(2)) == 2 and isinstance(docs.locate(np.int32(2)), int)
    assert docs.locate([[0, 1], [2, 3]]).tolist() == [[0, 0], [2, 3]]
    assert docs.locate(np.array([3], np.uint16)).dtype == np.int64
    assert docs.bounds(3) == (3, 4) and docs.bounds(-1) == (3, 4)
    assert docs.locate([]).tolist() == [] and len(docs[[]]) == 0
    one = docs.files[0]
    for wrong in (-1, 4, [0, 4], np.array([2**63], np.uint64)):
        with pytest.raises(IndexError, match="token"):
            docs.locate(wrong)
        with pytest.raises(IndexError, match="token"):
            one.locate(wrong)
    for wrong in (4, -5, [0, 4], np.zeros(3, bool)):
        with pytest.raises(IndexError):
            docs[wrong]
    for wrong in ("a", 1.0, [1.0]):
        with pytest.raises(TypeError):
            docs[wrong]
    for n, stride in ((0, 1), (1, 0), (-1, None)):
        with pytest.raises(ValueError, match="must be at least 1"):
            docs.windows(n, stride)


def test_files_that_do_not_match(tmp_path):
    a = tokenfiles.write(tmp_path / "a", [[1]], eod=300)
    for name, options, message in (("b", {"eod": None}, "its eod is None, not 300"), ("c", {"dtype": "<u4"}, "dtype")):
        b = tokenfiles.write(tmp_path / name, [[1]], **({"eod": 300} | options))
        with pytest.raises(OutputError, match=f"{name} does not match .*a: .*{message}"):
            TokenArrays([a, b])
    with pytest.raises(OutputError, match="no token file given"):
        pyunitok.open([])
    with pytest.raises(OutputError, match="no such token file"):
        pyunitok.open([tmp_path / "a", tmp_path / "gone"])


def test_several_files_have_metadata_and_pickle(tmp_path):
    docs, wanted = make(tmp_path, [[[1], [2]], [[3]]], 300)
    again = pickle.loads(pickle.dumps(docs))
    assert [ids.tolist() for ids in again] == wanted
    with pytest.raises(OutputError, match="ids1 has no metadata"):
        docs.metadata(2)
    assert "2 files, 3 documents" in repr(docs)
