"""Writes a tokenizer.json for byte-level models and for models that were read from one. For a byte-level model:

    pre-tokenizer   a Split for each regex of the model's pattern, then ByteLevel without its own pattern. If the model
                    has no pattern and no piece crosses a space, there is one Split, at spaces
    model           BPE or Unigram; vocab/byte_level.py maps the bytes of its pieces to characters
    decoder         ByteLevel
"""

from __future__ import annotations

import re
from math import inf, nextafter
from typing import Any

import numpy as np

from pyunitok._c.library import MODEL_FLAGS
from pyunitok.errors import VocabularyError
from pyunitok.vocab import byte_level, json_text, patterns
from pyunitok.vocab.huggingface import pre_tokenizers
from pyunitok.vocab.vocabulary import CONTROL, NORMAL, Vocabulary

# Splits texts into words, because the BPE of `tokenizers` is slow for long segments.
SPLIT_REGEX = " *[^ ]+| +"
# The parts of a tokenizer.json, except the model and the tokens.
PARTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
_OPTIONS = {"add_prefix_space": False, "trim_offsets": True, "use_regex": False}
_CROSSES = re.compile(rb"[^ ] ")
_FLOAT = re.compile(r"(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?")


def write(vocabulary: Vocabulary) -> bytes:
    """The contents of the file. The vocabulary must be from train/byte_level.py or from file.read().

    In the latter case, everything except the model is copied from the original file, including added tokens.
    """
    prepare = vocabulary.prepare or {}
    if "json" in prepare:
        text: str = prepare["json"]
        return text.encode()
    pieces, ids = vocabulary.pieces, vocabulary.ids.tolist()
    assert vocabulary.types is not None
    is_control = (vocabulary.types == CONTROL).tolist()
    is_bytes = _has(vocabulary, "bytes")
    is_shown = (is_bytes & (vocabulary.types == NORMAL)).tolist()
    names = [byte_level.shown(piece) if s else piece.decode() for piece, s in zip(pieces, is_shown, strict=True)]
    added = [
        {"id": id_, "content": name, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
         "special": True}
        for id_, name, c in zip(ids, names, is_control, strict=True) if c
    ]  # fmt: skip
    pre_tokenizer: dict[str, Any] = {"type": "ByteLevel", **_OPTIONS}
    has_merges = _has(vocabulary, "listed_merges")
    if splits := _splits(vocabulary, pieces):
        pre_tokenizer = {"type": "Sequence", "pretokenizers": [*splits, pre_tokenizer]}
    document: dict[str, Any] = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
        "pre_tokenizer": pre_tokenizer, "post_processor": None, "decoder": {"type": "ByteLevel", **_OPTIONS},
    }  # fmt: skip
    own = dict(zip(ids, names, strict=True))
    if vocabulary.prepare is not None:
        document.update((key, prepare.get(key)) for key in PARTS)
        document["added_tokens"] = prepare.get("added_tokens") or []
        if is_bytes:
            own = {id_: name for id_, name in own.items() if id_ not in prepare.get("outside", ())}
            own |= {prepare["empty_id"]: ""} if "empty_id" in prepare else {}
        else:  # omit the pieces that file._pack() added for tokens outside the model
            more = {token["id"] for token in document["added_tokens"]}
            own = {id_: name for id_, name, c in zip(ids, names, is_control, strict=True) if not (c and id_ in more)}
    model = (_bpe if has_merges else _unigram)(vocabulary, own)
    return json_text.dump(document | {"model": model}, indent=1)


def _splits(vocabulary: Vocabulary, pieces: list[bytes]) -> list[dict[str, Any]]:
    """The pre-tokenizers before ByteLevel. Raises VocabularyError if the pattern cannot be written."""
    if vocabulary.pattern:
        try:
            regexes = patterns.tokenizers_regexes(vocabulary.pattern)
        except ValueError as error:
            raise VocabularyError(f"cannot convert {vocabulary.name} to a tokenizer.json: {error}") from None
        return pre_tokenizers.written(regexes)
    has_split = _has(vocabulary, "listed_merges") and not crosses_spaces(pieces)
    return pre_tokenizers.written([SPLIT_REGEX] if has_split else [])


def _has(vocabulary: Vocabulary, flag: str) -> bool:
    return bool(vocabulary.flags & MODEL_FLAGS[flag])


def _bpe(vocabulary: Vocabulary, names: dict[int, str]) -> dict[str, Any]:
    merges = np.zeros(0, np.int64) if vocabulary.merges is None else vocabulary.merges
    lefts, rights, _ = merges.reshape(3, -1).tolist()
    missing = (vocabulary.prepare or {}).get("missing_unknown")
    return {
        "type": "BPE", "dropout": None, "unk_token": names.get(vocabulary.special.get("unk", -1), missing),
        "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": _has(vocabulary, "merge_unknown"),
        "byte_fallback": _has(vocabulary, "byte_fallback"), "ignore_merges": _has(vocabulary, "ignore_merges"),
        "vocab": {name: id_ for id_, name in names.items()},
        "merges": [[names[left], names[right]] for left, right in zip(lefts, rights, strict=True)],
    }  # fmt: skip


def _unigram(vocabulary: Vocabulary, names: dict[int, str]) -> dict[str, Any]:
    assert vocabulary.scores is not None
    prepare, unknown = vocabulary.prepare or {}, vocabulary.special.get("unk")
    scores = dict(zip(vocabulary.ids.tolist(), vocabulary.scores.tolist(), strict=True))
    if unknown is not None:  # restore the score that file._pack() replaced with the lowest score
        scores[unknown] = prepare.get("unknown_score", 0.0)
    vocab = [
        [names.get(id_, ""), _number(scores.get(id_, 0.0)) if prepare else scores[id_]]
        for id_ in range(1 + max(names, default=-1))
    ]
    return {"type": "Unigram", "unk_id": unknown, "vocab": vocab, "byte_fallback": prepare.get("byte_fallback", False)}


def crosses_spaces(pieces: list[bytes]) -> bool:
    return any(map(_CROSSES.search, pieces))


def _number(score: float) -> float:
    """A number whose repr serde_json reads as this score."""
    near = (score, nextafter(score, inf), nextafter(score, -inf))
    return next((x for x in near if serde_float(repr(x)) == score), score)


def serde_float(text: str) -> float:
    """Parse a JSON number as serde_json does, which `tokenizers` uses.

    serde_json rounds the digits to a float, then multiplies or divides by a power of ten. The result may be off by one
    ulp.
    """
    match = _FLOAT.fullmatch(text)
    assert match is not None
    digits, exponent = match[2] + (match[3] or ""), int((match[4] or "0")[:9]) - len(match[3] or "")
    digits = digits.lstrip("0") or "0"
    significand = int(digits[:20])
    n_digits = 20
    while significand > 0xFFFFFFFFFFFFFFFF or n_digits > len(digits):  # drop digits beyond 64 bits
        n_digits -= 1
        significand = int(digits[:n_digits])
    exponent += len(digits) - n_digits
    value = float(significand)
    while exponent < -308 and value:
        value, exponent = value / 1e308, exponent + 308
    if value and exponent > 308:
        raise ValueError(f"the number {text[:40]} is out of range")
    if value:
        value = value * float(f"1e{exponent}") if exponent >= 0 else value / float(f"1e{-exponent}")
    return -value if match[1] else value
