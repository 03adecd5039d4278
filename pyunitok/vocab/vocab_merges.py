"""Reads vocab.json and merges.txt, the older files of byte-level BPE: {piece: id}, and a line for each merge.

    vocab.json   {"!": 0, "\\"": 1, …, "Ġthe": 262, …}    a character for each byte of a piece: see byte_level.py
    merges.txt   #version: 0.2                             the first line, optional
                 Ġ t                                       the first merge has the lowest rank

Together with a pattern they form the model of a tokenizer.json, so the reader converts them to a tokenizer.json. The
pattern comes from the caller, or from "tokenizer_class" or "pyunitok" in tokenizer_config.json; the default is GPT-2's.
Special tokens come from the caller, or from tokenizer_config.json, added_tokens.json and special_tokens_map.json in the
same folder; if these files list no special tokens, <|endoftext|> is the only special token.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pyunitok.errors import ModelFormatError, VocabularyError
from pyunitok.vocab import patterns, ranks
from pyunitok.vocab.folder_config import FolderConfig
from pyunitok.vocab.huggingface import file as huggingface
from pyunitok.vocab.huggingface import pre_tokenizers
from pyunitok.vocab.huggingface.fields import Fields
from pyunitok.vocab.patterns import ReadOptions
from pyunitok.vocab.vocabulary import Vocabulary

NAMES = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"))
_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
_DEFAULT_SPECIAL = "<|endoftext|>"


def pair_of(path: Path) -> tuple[Path, Path] | None:
    """The two files if `path` is one of them, otherwise None. The names may have a prefix: gpt2-vocab.json.

    Raises ModelFormatError if `path` is an existing list of merges without its vocabulary.
    """
    for vocab, merges in NAMES:
        for own, other in ((vocab, merges), (merges, vocab)):
            if not path.name.endswith(own):
                continue
            twin = path.with_name(path.name.removesuffix(own) + other)
            if twin.is_file():
                return (path, twin) if own == vocab else (twin, path)
            if own == merges and path.is_file():
                raise ModelFormatError(f"{path}: its vocabulary is missing; expected {twin.name} in the same folder")
    return None


def read(vocab_path: Path, merges_path: Path, options: ReadOptions) -> Vocabulary:
    """Read the two files. Raises VocabularyError or ModelFormatError, which names the file and the line or field."""
    name = str(vocab_path)
    try:
        vocab = Fields(json.loads(vocab_path.read_bytes()), f"{name}: ")
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"{name}: not a valid JSON file: {error}") from None
    ids = {piece: vocab.integer(piece) for piece in vocab.values}
    merges = _merges(merges_path.read_bytes(), str(merges_path), ids)
    config = FolderConfig.read(vocab_path.parent)
    pattern = options.pattern or config.pattern or "gpt2"
    regexes = patterns.parts_for_tokenizers(pattern)
    patterns.check(regexes, name)
    tokens = config.added_tokens(ids) or [_added(t, ids[t]) for t in (_DEFAULT_SPECIAL,) if t in ids]
    if options.special_tokens is not None:
        given = ranks.checked_special_tokens(options.special_tokens, name)
        tokens = [_added(token, id_) for token, id_ in given.items()]
    splits = pre_tokenizers.written(part[1:] for part in regexes.decode().split("\0"))
    level = _BYTE_LEVEL | {"add_prefix_space": config.add_prefix_space}
    if pattern == "gpt2":  # after a Split, ByteLevel would add a space to every piece
        splits, level = [], level | {"use_regex": True}
    document = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": sorted(tokens, key=lambda t: t["id"]),
        "normalizer": {"type": "NFC"} if config.is_nfc else None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*splits, level]},
        "post_processor": None, "decoder": _BYTE_LEVEL,
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "",
            "end_of_word_suffix": "", "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
            "vocab": ids, "merges": merges,
        },
    }  # fmt: skip
    if options.pattern is None:
        document |= config.parts
    return huggingface.read(json.dumps(document).encode(), name)


def _added(content: str, id_: int) -> dict[str, Any]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": id_, "content": content, **flags, "special": True}


def _merges(data: bytes, name: str, ids: dict[str, int]) -> list[list[str]]:
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError as error:
        raise VocabularyError(f"{name}, line {data.count(bytes([10]), 0, error.start) + 1}: invalid UTF-8") from None
    ret = []
    for number, line in enumerate(lines, 1):
        pair = line.removesuffix("\r").split(" ")
        if line.startswith("#version") or pair == [""]:
            continue
        if len(pair) != 2 or not all(pair):
            raise VocabularyError(
                f"{name}, line {number}: expected two pieces separated by a space; found {line[:64]!r}"
            )
        left, right = pair
        if left not in ids or right not in ids or left + right not in ids:
            missing = next(piece for piece in (left, right, left + right) if piece not in ids)
            raise VocabularyError(f"{name}, line {number}: {missing[:64]!r} is not in the vocabulary")
        ret.append(pair)
    return ret
