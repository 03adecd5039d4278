"""Reads OpenAI's named encodings from local files."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pyunitok.compat.tiktoken.load import load_tiktoken_bpe
from pyunitok.vocab.patterns import PATTERNS

_URL = "https://openaipublic.blob.core.windows.net/encodings/"
_END, _PROMPT_END = "<|endoftext|>", "<|endofprompt|>"
_HARMONY = {
    200002: "return", 200003: "constrain", 200005: "channel", 200006: "start", 200007: "end", 200008: "message",
    200012: "call", 200018: "endofprompt",
}  # fmt: skip


class _Row(NamedTuple):
    """The file of an encoding, its SHA-256, the pattern, the special tokens, and the expected number of ids."""

    file: str
    sha256: str
    pattern: str
    special_tokens: Mapping[str, int]
    n_vocab: int | None = None


_R50K = ("r50k_base.tiktoken", "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930", "r50k")
_P50K = ("p50k_base.tiktoken", "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069", "p50k")
_O200K = ("o200k_base.tiktoken", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d", "o200k")
_ROWS = {
    "gpt2": _Row(*_R50K, {_END: 50256}, 50257),  # gpt2's own files contain the same ranks in a different format
    "r50k_base": _Row(*_R50K, {_END: 50256}, 50257),
    "p50k_base": _Row(*_P50K, {_END: 50256}, 50281),
    "p50k_edit": _Row(
        *_P50K, {_END: 50256, "<|fim_prefix|>": 50281, "<|fim_middle|>": 50282, "<|fim_suffix|>": 50283}
    ),
    "cl100k_base": _Row(
        "cl100k_base.tiktoken", "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7", "cl100k",
        {_END: 100257, "<|fim_prefix|>": 100258, "<|fim_middle|>": 100259, "<|fim_suffix|>": 100260,
         _PROMPT_END: 100276},
    ),
    "o200k_base": _Row(*_O200K, {_END: 199999, _PROMPT_END: 200018}),
    "o200k_harmony": _Row(
        *_O200K,
        {"<|startoftext|>": 199998, _END: 199999,
         **{f"<|{_HARMONY.get(id_, f'reserved_{id_}')}|>": id_ for id_ in range(200000, 201088)},
         "<|reserved_200018|>": 200018},
    ),
}  # fmt: skip


def list_encoding_names() -> list[str]:
    return list(_ROWS)


def arguments_of(encoding_name: str) -> dict[str, Any]:
    """The arguments of Encoding for that name. Raises ValueError if the name is unknown or its file is missing."""
    if encoding_name not in _ROWS:
        raise ValueError(f"unknown encoding {encoding_name}; the known ones are {', '.join(_ROWS)}")
    row = _ROWS[encoding_name]
    return {
        "name": encoding_name, "pat_str": PATTERNS[row.pattern].tiktoken or PATTERNS[row.pattern].parts[0],
        "mergeable_ranks": load_tiktoken_bpe(_find(row.file), row.sha256),
        "special_tokens": dict(row.special_tokens), "explicit_n_vocab": row.n_vocab,
    }  # fmt: skip


def _find(file: str) -> Path:
    folders = [os.environ[name] for name in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR") if os.environ.get(name)]
    folders = folders or [str(Path(tempfile.gettempdir(), "data-gym-cache"))]
    key = hashlib.sha1((_URL + file).encode(), usedforsecurity=False).hexdigest()
    for folder in folders:
        for name in (key, file):
            if Path(folder, name).is_file():
                return Path(folder, name)
    raise ValueError(
        f"{file} is not in {' or '.join(folders)}, and is never downloaded; save {_URL}{file} there under its own"
        f" name or as {key}, and set TIKTOKEN_CACHE_DIR to the folder"
    )
