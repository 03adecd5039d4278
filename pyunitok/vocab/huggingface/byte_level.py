"""tokenizer.json of byte-level models: written, and read where nothing but bytes is looked at.

    pre-tokenizer   ByteLevel without its pattern; before it may stand a Split at spaces, if no piece crosses one
    model           BPE or Unigram with pieces for all 256 bytes, each a character as in vocab/byte_level.py
    decoder         ByteLevel

Texts then go to C as they are: see UNITOK_BYTES in csrc/unitok.h. Files with GPT-2's pattern, which needs Unicode's
tables of letters, are refused.
"""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from pyunitok.vocab import byte_level
from pyunitok.vocab.huggingface.fields import Fields, flatten, optional
from pyunitok.vocab.vocabulary import CONTROL, NORMAL, Vocabulary, split

# What a word is to BPE of tokenizers, which is slow for long ones.
SPLIT = {"type": "Split", "pattern": {"Regex": " *[^ ]+| +"}, "behavior": "Isolated", "invert": False}
PARTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")  # of a tokenizer.json, besides model and tokens
_OPTIONS = {"add_prefix_space": False, "trim_offsets": True, "use_regex": False}
_CROSSES = re.compile(rb"[^ ] ")


def write(vocabulary: Vocabulary) -> bytes:
    """The complete file. Of a vocabulary from train/byte_level.py, or from read(): then what stood around the model in
    that file, tokens included, is written as it was."""
    pieces = split(vocabulary.data, vocabulary.offsets)
    assert vocabulary.types is not None
    is_control = (vocabulary.types == CONTROL).tolist()
    names = [piece.decode() if c else byte_level.shown(piece) for piece, c in zip(pieces, is_control, strict=True)]
    ids = vocabulary.ids.tolist()
    pre_tokenizer: dict[str, Any] = {"type": "ByteLevel", **_OPTIONS}
    if vocabulary.kind == "bpe":
        model = _bpe(vocabulary, dict(zip(ids, names, strict=True)))
        if not _crosses_spaces(pieces):
            pre_tokenizer = {"type": "Sequence", "pretokenizers": [SPLIT, pre_tokenizer]}
    else:
        assert vocabulary.scores is not None and ids == list(range(len(ids)))
        scored = [list(pair) for pair in zip(names, vocabulary.scores.tolist(), strict=True)]
        model = {"type": "Unigram", "unk_id": None, "vocab": scored, "byte_fallback": False}
    added = [
        {"id": id_, "content": name, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
         "special": True}
        for id_, name, c in zip(ids, names, is_control, strict=True) if c
    ]  # fmt: skip
    document = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
        "pre_tokenizer": pre_tokenizer, "post_processor": None,
        "decoder": {"type": "ByteLevel", **_OPTIONS}, "model": model,
    }  # fmt: skip
    if vocabulary.prepare is not None:
        document.update((key, vocabulary.prepare.get(key)) for key in PARTS)
        document["added_tokens"] = vocabulary.prepare.get("added_tokens") or []
    return json.dumps(document, ensure_ascii=False, indent=1).encode()


def _bpe(vocabulary: Vocabulary, names: dict[int, str]) -> dict[str, Any]:
    merges = np.zeros(0, np.int64) if vocabulary.merges is None else vocabulary.merges
    lefts, rights, _ = merges.reshape(3, -1).tolist()
    return {
        "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
        "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
        "vocab": {name: id_ for id_, name in names.items()},
        "merges": [[names[left], names[right]] for left, right in zip(lefts, rights, strict=True)],
    }  # fmt: skip


def _crosses_spaces(pieces: list[bytes]) -> bool:
    return any(map(_CROSSES.search, pieces))


# --------------------------------------------------------------------------------------------------- reading ----


def looks_byte_level(document: Fields) -> bool:
    """Whether a tokenizer.json has a pre-tokenizer of this kind."""
    parts = flatten(optional(document, "pre_tokenizer"), "pretokenizers")
    return any(part.values.get("type") == "ByteLevel" for part in parts)


def check(document: Fields, pieces: list[bytes]) -> None:
    """Refuses what is done to texts beyond bytes."""
    if document.has("normalizer"):
        document.refuse("it is not supported before a ByteLevel pre-tokenizer", "normalizer")
    *before, last = flatten(optional(document, "pre_tokenizer"), "pretokenizers")
    if last.string("type") != "ByteLevel":
        last.refuse("after ByteLevel nothing is supported", "type")
    if last.boolean("add_prefix_space", True):
        last.refuse("true is not supported", "add_prefix_space")
    if last.boolean("use_regex", True):
        last.refuse("GPT-2's pattern is not supported", "use_regex")
    for part in before:
        if part.values != SPLIT:
            part.refuse("only a Split at spaces is supported before ByteLevel", "type")
        if _crosses_spaces(pieces):
            part.refuse("it is not supported where pieces go across spaces", "pattern")
    decoders = flatten(optional(document, "decoder"), "decoders")
    if [part.values.get("type") for part in decoders] != ["ByteLevel"]:
        document.refuse("ByteLevel is needed here", "decoder")


def vocabulary_of(
    document: Fields, *, kind: str, pieces: list[str], ids: list[int], scores: list[float] | None,
    merges: list[tuple[int, int, int]], added: list[tuple[str, int]], name: str, **more: Any,
) -> Vocabulary:  # fmt: skip
    """Of the parts of a file. added: tokens that texts may hold; they match nothing in the model."""
    tokens = {id_: content for content, id_ in added}
    found: list[bytes] = []
    for piece, id_ in zip(pieces, ids, strict=True):
        try:
            found.append(piece.encode() if id_ in tokens else byte_level.bytes_of(piece))
        except KeyError:
            document.refuse(f"{piece[:40]!r} is not made of characters that stand for bytes", "model.vocab")
    check(document, [piece for piece, id_ in zip(found, ids, strict=True) if id_ not in tokens])
    types = [CONTROL if id_ in tokens else NORMAL for id_ in ids]
    known = set(ids)
    extra = [(content.encode(), id_) for id_, content in tokens.items() if id_ not in known]
    least = min(scores) if scores else 0.0
    return Vocabulary.pack(
        [*found, *(content for content, _ in extra)], np.array([*ids, *(id_ for _, id_ in extra)], np.int64),
        name=name, kind=kind, flags=byte_level.flags_of(kind),
        types=np.array([*types, *[CONTROL] * len(extra)], np.uint8),
        scores=None if scores is None else np.array([*scores, *[least] * len(extra)], np.float64),
        merges=np.array(merges, np.int64).reshape(-1, 3).T.reshape(-1).copy() if kind == "bpe" else None, **more,
    )  # fmt: skip
