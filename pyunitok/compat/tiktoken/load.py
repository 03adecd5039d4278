"""Reads and writes files of ranks as tiktoken.load does, but never from the network."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from pyunitok.disk.outfile import write_whole
from pyunitok.vocab import tiktoken


def load_tiktoken_bpe(tiktoken_bpe_file: str | os.PathLike[str], expected_hash: str | None = None) -> dict[bytes, int]:
    """The ranks in a local file. Raises ValueError if its SHA-256 is not `expected_hash`, or VocabularyError, which
    names a bad line."""
    data = Path(tiktoken_bpe_file).read_bytes()
    if expected_hash and hashlib.sha256(data).hexdigest() != expected_hash:
        raise ValueError(
            f"{tiktoken_bpe_file}: its SHA-256 is not {expected_hash}; the file is damaged, or is a different one"
        )
    return tiktoken.parse(data, os.fspath(tiktoken_bpe_file))


def dump_tiktoken_bpe(bpe_ranks: Mapping[bytes, int], tiktoken_bpe_file: str | os.PathLike[str]) -> None:
    """Write a file of ranks, in ascending order."""
    write_whole(Path(tiktoken_bpe_file), tiktoken.write_ranks(bpe_ranks))
