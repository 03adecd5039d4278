"""On real corpora, every set of options yields models that are byte-identical to those of sentencepiece.

Each set is tested on 100 KB of one corpus. PYUNITOK_ALL_CORPORA=1 tests all of them on a megabyte of eight corpora,
which takes about 15 minutes.
"""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import pytest
import zstandard
from conftest import find_shared
from train_options import AUTOMATIC, SETS, reference, trained

from pyunitok.errors import TrainingError

ALL = bool(os.environ.get("PYUNITOK_ALL_CORPORA"))
CORPORA = ["en_prose", "de", "ja", "zh", "ru", "hi", "code", "multi"]


KINDS = ["unigram", "bpe", "word", "char"]
CASES = [
    (corpus, name, kind)
    for name in [*SETS, "automatic"]
    for kind in KINDS
    for k, corpus in enumerate(CORPORA)
    if ALL or k == zlib.crc32(f"{name} {kind}".encode()) % len(CORPORA)
]


@pytest.mark.slow
@pytest.mark.parametrize("corpus, name, kind", CASES)
def test_models_match_sentencepiece(corpus: str, name: str, kind: str, tmp_path: Path) -> None:
    packed = find_shared(f"corpora/{corpus}.txt.zst").read_bytes()
    text = zstandard.ZstdDecompressor().decompressobj().decompress(packed)
    path = tmp_path / "text.txt"
    path.write_bytes(text[: text.index(b"\n", 1_000_000 if ALL else 100_000) + 1])
    chosen = AUTOMATIC if name == "automatic" else SETS[name]
    base = {"model_type": kind, "vocab_size": 6000, "hard_vocab_limit": False, "max_sentence_length": 20_000}
    options = {**base, **chosen}
    expected = reference({**options, "input": [str(path)]})
    if isinstance(expected, str):
        with pytest.raises(TrainingError):
            trained(options, path)
    else:
        assert trained(options, path).SerializeToString() == expected.SerializeToString()
