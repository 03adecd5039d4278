"""The tables of an index shard, and the order of ids by their bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import suffix as oracle

from pyunitok import Tokenizer
from pyunitok.index.order import byte_rank, token_bytes
from pyunitok.index.shard import TOP_STEP, TOP_TOKENS, IndexShard, n_ids

IDS = st.lists(st.integers(0, 65535) | st.integers(0, 3), max_size=60)


@given(IDS, st.booleans(), st.sampled_from([np.uint16, np.uint32]))
def test_tables_of_a_shard(ids: list[int], by_rank: bool, dtype: Any) -> None:
    n = n_ids(np.dtype(dtype))
    rank = np.arange(n, dtype=np.uint32)[::-1].copy() if by_rank else None
    ranks = [n - 1 - k for k in range(n)] if by_rank else list(range(n))
    sa = oracle.suffix_array(ids, ranks)
    shard = IndexShard.from_arrays(np.array(ids, dtype), np.array(sa, np.uint32), rank=rank)
    assert shard.left is not None
    assert shard.left.tolist() == [ids[i - 1] for i in sa]
    assert int(shard.first[-1]) == len(ids)
    for id_ in set(ids):
        begin, end = int(shard.first[ranks[id_]]), int(shard.first[ranks[id_] + 1])
        assert sorted(sa[begin:end]) == [i for i in range(len(ids)) if ids[i] == id_]
    for j, (position, first) in enumerate(shard.top.tolist()):
        i = sa[j * TOP_STEP]
        expected = [ranks[id_] for id_ in ids[i : i + TOP_TOKENS]]
        assert position == i and list(first) == expected + [0] * (TOP_TOKENS - len(expected))


def test_the_sample_has_every_4096th_suffix() -> None:
    ids = np.random.default_rng(1).integers(0, 500, 10_000).astype(np.uint16)
    sa = np.array(sorted(range(len(ids)), key=lambda i: ids[i : i + 8].tolist()), np.uint32)
    shard = IndexShard.from_arrays(ids, sa, left=False)
    assert shard.top["position"].tolist() == sa[[0, 4096, 8192]].tolist() and shard.left is None


def test_byte_rank_orders_ids_by_their_bytes(rwkv: Tokenizer) -> None:
    known = token_bytes(rwkv)
    for n in (65536, 262144):
        rank = byte_rank(rwkv, n)
        assert sorted(rank.tolist()) == list(range(n))
        by_rank = sorted(range(len(known)), key=lambda id_: int(rank[id_]))
        assert [known[id_] for id_ in by_rank] == sorted(known)


@pytest.mark.parametrize("name", ["llama2.model", "t5_base.model", "xlnet_base_cased.model"])
def test_token_bytes_of_sentencepiece_models_are_their_decoded_text(shared: Path, name: str) -> None:
    model = Tokenizer.from_file(shared / "models/spm" / name)
    known = token_bytes(model)
    ids = model.encode("Some words, and more.")
    assert b"".join(known[id_] for id_ in ids).lstrip() == model.decode_bytes(ids)
