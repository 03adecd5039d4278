"""Opens real byte-level model files without the package's readers, so that tests cover only the C library."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pyunitok._c.model import Model
from pyunitok._lib import lib
from pyunitok.vocab.byte_level import CHARACTERS
from pyunitok.vocab.vocabulary import CONTROL, NORMAL, pack

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
# Rust's char::is_numeric follows a later version of Unicode than the patterns do
DIGIT = r"[\p{N}\x{11DE0}-\x{11DE9}\x{16FF4}-\x{16FF6}]"
BYTES = {character: byte for byte, character in enumerate(CHARACTERS)}


def parts(step: dict[str, Any]) -> Iterator[str]:
    """The parts of the pattern for one step of a pre-tokenizer."""
    match step["type"]:
        case "Sequence":
            for each in step["pretokenizers"]:
                yield from parts(each)
        case "ByteLevel":
            if step.get("use_regex", True):
                yield "o" + GPT2
        case "Split":
            yield ("i" if step["behavior"] == "Removed" and step["invert"] else "o") + step["pattern"]["Regex"]
        case "Digits":
            yield "o" + DIGIT + ("" if step["individual_digits"] else "+")
        case other:
            raise NotImplementedError(other)


def of_tokenizer_json(path: Path, cpu: str | None = None) -> Model:
    """The model of a tokenizer.json without its normalizer and added tokens."""
    values = json.loads(path.read_bytes())
    model, vocab = values["model"], values["model"]["vocab"]
    pieces, types = [], []
    for string in vocab:
        in_bytes = all(character in BYTES for character in string)
        pieces.append(bytes(BYTES[character] for character in string) if in_bytes else string.encode())
        types.append(NORMAL if in_bytes else CONTROL)
    pairs = [merge.split(" ") if isinstance(merge, str) else merge for merge in model["merges"]]
    merges = [*(vocab[a] for a, b in pairs), *(vocab[b] for a, b in pairs), *(vocab[a + b] for a, b in pairs)]
    flags = lib.UNITOK_BYTES | lib.UNITOK_PATTERN | lib.UNITOK_LISTED_MERGES
    flags |= lib.UNITOK_IGNORE_MERGES if model.get("ignore_merges") else 0
    return Model.new(
        *pack(pieces), np.array(list(vocab.values()), np.int64), kind="bpe", flags=flags,
        types=np.array(types, np.uint8), eod_id=None, merges=np.array(merges, np.int64), cpu=cpu,
        pattern="\0".join(parts(values["pre_tokenizer"])).encode(),
    )  # fmt: skip


def ranks_of(path: Path) -> dict[bytes, int]:
    lines = (line.split() for line in path.read_bytes().splitlines())
    return {b64decode(piece): int(rank) for piece, rank in lines}


def of_ranks(ranks: dict[bytes, int], pattern: str, cpu: str | None = None) -> Model:
    """The model of a .tiktoken file without special tokens."""
    ids = np.array(list(ranks.values()), np.int64)
    return Model.new(
        *pack(list(ranks)), ids, kind="bpe", flags=lib.UNITOK_BYTES | lib.UNITOK_PATTERN | lib.UNITOK_IGNORE_MERGES,
        scores=-ids.astype(np.float64), types=np.full(len(ids), NORMAL, np.uint8), eod_id=None, cpu=cpu,
        pattern=("t" + pattern).encode(),
    )  # fmt: skip
