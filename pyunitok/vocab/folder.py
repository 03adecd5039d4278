"""Finds the file to read in a published model folder, and the settings in the folder's other files."""

from __future__ import annotations

from pathlib import Path

from pyunitok.errors import ModelFormatError
from pyunitok.vocab import tiktoken, vocab_merges
from pyunitok.vocab.folder_config import FolderConfig
from pyunitok.vocab.patterns import ReadOptions

_HEAD_BYTES = 4096
_EXPECTED = (
    "tokenizer.json, tekken.json, a file of ranks (*.tiktoken, tiktoken.model or tokenizer.model), vocab.json with"
    " merges.txt, or tokenizer.model"
)


def find(folder: Path, options: ReadOptions) -> tuple[Path, ReadOptions]:
    """The model's file (the first that exists, in the order of _EXPECTED), and `options` completed by
    tokenizer_config.json.

    Raises ModelFormatError if the folder contains no model, or several files of ranks.
    """
    for name in ("tokenizer.json", "tekken.json"):
        if (folder / name).is_file():
            return folder / name, options
    if ranks := _ranks(folder):
        if len(ranks) > 1:
            names = ", ".join(path.name for path in ranks)
            raise ModelFormatError(f"{folder}: the folder contains several files of ranks ({names}); pass one of them")
        config = FolderConfig.read(folder)
        pattern = options.pattern or (None if tiktoken.is_known(ranks[0].read_bytes()) else config.pattern)
        tokens = config.special_tokens() if options.special_tokens is None else options.special_tokens
        return ranks[0], ReadOptions(pattern, tokens)
    for name, _ in vocab_merges.NAMES:
        if vocab_merges.pair_of(folder / name):
            return folder / name, options
    if (folder / "tokenizer.model").is_file():
        return folder / "tokenizer.model", options
    raise ModelFormatError(f"{folder}: there is no model in this folder; expected {_EXPECTED}")


def _ranks(folder: Path) -> list[Path]:
    candidates = [*sorted(folder.glob("*.tiktoken")), folder / "tiktoken.model", folder / "tokenizer.model"]
    return [path for path in candidates if path.is_file() and tiktoken.looks_like_ranks(_head(path))]


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD_BYTES)
