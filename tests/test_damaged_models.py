"""Damaged and hostile files of byte-level BPE: tokenizer.json, tekken.json, .tiktoken, and folders with vocab.json.

Each reader must either raise a pyunitok error that names the file or return a model that can encode.
"""

from __future__ import annotations

import copy
import json
import random
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import fewer
from hypothesis import given
from hypothesis import strategies as st
from toys import rank_files
from toys.rank_files import SPECIAL

from pyunitok import Tokenizer
from pyunitok.errors import UnitokError

GOLDEN = sorted((Path(__file__).parent / "golden" / "byte_level").glob("*.json"))
JUNK: list[Any] = [
    None, True, False, 0, -1, 1, 255, 256, 1 << 22, 1 << 31, 1 << 63, -(1 << 63), 10**30, 0.5, 1e308, float("inf"),
    float("nan"), "", " ", "a", "Ġ", "\x00", "\ud800", "日本", "ByteLevel", "Split", "BPE", "(" * 300, "a{99999}",
    r"\p{X}", "=" * 9, "YQ==", [], [[]], [None], ["a", "b"], [["a", "b", "c"]], {}, {"": 0}, {"a": -1}, {"type": "NFC"},
    {"Regex": "["}, {"String": ""}, {"type": "Sequence", "pretokenizers": [{"type": "Sequence", "pretokenizers": []}]},
    {"id": 0, "content": "<x>"}, {"id": "0", "content": 1},
]  # fmt: skip
TEXTS = ["the and <|endoftext|> 日本\r\n 123", "", "\x00\ud7ff"]


def opens_or_refuses(path: Path, named: Path | None = None, **options: Any) -> None:
    """Opens and uses a model, or raises one of our errors with the name of the file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tokenizer = Tokenizer.from_file(path, **options)
        except UnitokError as error:
            assert (named or path).name in str(error), error
            return
        for text in TEXTS:
            try:
                ids = tokenizer.encode(text)
                tokenizer.decode(ids, "replace")
                tokenizer.encode_with_offsets(text)
            except UnitokError:  # the library to which a file is delegated may reject a text
                return


def nodes(value: Any) -> Iterator[tuple[Any, Any]]:
    """The (container, key) of values in a JSON document, at most 40 from each container."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    for key in [*keys][:40]:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from nodes(value[key])


def changed(document: Any, rng: random.Random) -> Any:
    """A document in which some values are replaced, removed, copied or renamed."""
    document = copy.deepcopy(document)
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        container, key = rng.choice([*nodes(document)] or [({}, "")])
        how = rng.randrange(6)
        if how < 3:
            container[key] = copy.deepcopy(rng.choice(JUNK))
        elif how == 3 and key in container if isinstance(container, dict) else how == 3:
            del container[key]
        elif how == 4:
            other, name = rng.choice([*nodes(document)] or [({"": 0}, "")])
            container[key] = copy.deepcopy(other[name])
        elif isinstance(container, dict):
            container[rng.choice(["", "a", "type", "Ġa", "\ud800"])] = container.get(key)
        else:
            container.append(copy.deepcopy(container[rng.randrange(len(container))]) if container else None)
    return document


def damaged(data: bytes, rng: random.Random) -> bytes:
    """A copy of `data` in which a few bytes are replaced, inserted or removed; it may also be truncated."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(out))
        out[at : at + rng.choice([0, 1, 1, 3])] = rng.choice([b'"', b"\n", b"[", b"{", b"}", b":", b"0", b" ", b"\xff"])
    return bytes(out[: rng.choice([len(out), len(out), rng.randrange(len(out))])])


@pytest.mark.parametrize("source", GOLDEN, ids=lambda path: path.stem)
@fewer(30)
@given(seed=st.integers(0, 2**32))
def test_tokenizer_json(tmp_path_factory: pytest.TempPathFactory, source: Path, seed: int) -> None:
    rng, path = random.Random(seed), tmp_path_factory.getbasetemp() / "hostile.json"
    document = json.loads(source.read_bytes())
    for _ in range(12):
        path.write_text(json.dumps(changed(document, rng)))
        opens_or_refuses(path)
    path.write_bytes(damaged(source.read_bytes(), rng))
    opens_or_refuses(path)


@given(seed=st.integers(0, 2**32))
def test_tekken(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    rng, path = random.Random(seed), tmp_path_factory.getbasetemp() / "tekken.json"
    named = [{"rank": 0, "token_str": "<unk>"}, {"rank": 2, "token_str": "</s>"}]
    document = rank_files.tekken(special_tokens=named)
    for _ in range(6):
        path.write_text(json.dumps(changed(document, rng)))
        opens_or_refuses(path)
    path.write_bytes(damaged(json.dumps(document).encode(), rng))
    opens_or_refuses(path)


@given(seed=st.integers(0, 2**32))
def test_ranks(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    rng, path = random.Random(seed), tmp_path_factory.getbasetemp() / "hostile.tiktoken"
    for _ in range(6):
        path.write_bytes(damaged(rank_files.lines(), rng))
        opens_or_refuses(path, pattern="gpt2", special_tokens=SPECIAL)


@given(seed=st.integers(0, 2**32))
def test_folders(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    rng, folder = random.Random(seed), tmp_path_factory.getbasetemp() / "hostile-folder"
    level = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}
    config = {
        "added_tokens_decoder": {"11": {"content": "<x>", "special": True}}, "tokenizer_class": "GPT2Tokenizer",
        "add_prefix_space": False, "bos_token": {"content": "<x>"}, "additional_special_tokens": ["<x>"],
        "pyunitok": {"pre_tokenizer": level, "normalizer": {"type": "NFC"}, "decoder": None, "post_processor": None},
    }  # fmt: skip
    files = {"tokenizer_config": config, "added_tokens": {"<x>": 11}, "special_tokens_map": {"eos_token": "<x>"}}
    for _ in range(6):
        rank_files.write_vocab_merges(folder, **files)
        victim = rng.choice(sorted(folder.iterdir()))
        if victim.suffix == ".json" and rng.random() < 0.7:
            victim.write_text(json.dumps(changed(json.loads(victim.read_bytes()), rng)))
        else:
            victim.write_bytes(damaged(victim.read_bytes(), rng))
        opens_or_refuses(folder, folder)


@pytest.mark.parametrize("data", [
    b"[" * 100_000, b'{"a":' * 100_000, b'{"model":' + b"[" * 100_000, b'{"model":{"type":"BPE","vocab":{"a":1e999}}}',
    b'{"config":{"pattern":"a"},"vocab":[]}', b"\xef\xbb\xbf{}", b"null", b"{}", b'{"model":null}', b"",
    b'{"model":{"type":"BPE","vocab":{"a":' + b"9" * 5000 + b'},"merges":[]}}',
    b'{"config":{"default_num_special_tokens":' + b"9" * 5000 + b',"default_vocab_size":1,"pattern":""},"vocab":[]}',
])  # fmt: skip
def test_extreme_documents(tmp_path: Path, data: bytes) -> None:
    for name in ("tokenizer.json", "tekken.json"):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(UnitokError, match=name):
            Tokenizer.from_file(tmp_path / name)
    rank_files.write_vocab_merges(tmp_path / "folder")
    for name in ("vocab.json", "tokenizer_config.json"):
        (tmp_path / "folder" / name).write_bytes(data)
        opens_or_refuses(tmp_path / "folder", tmp_path / "folder")
