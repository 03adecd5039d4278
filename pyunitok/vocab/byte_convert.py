"""Converts byte-level BPE to the formats of other tools: tokenizer.json, tiktoken's ranks, vocab.json with merges.txt.

    from                      to tokenizer.json              to tiktoken                     to vocab.json, merges.txt
    ranks (ranks.py)          with last merges (merges.py)   yes                             with last merges
    a list of merges          huggingface/writer.py          if ids are in merge order       yes
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from pyunitok._c.kinds import KINDS
from pyunitok._c.library import MODEL_FLAGS
from pyunitok.errors import PatternError, VocabularyError, count
from pyunitok.vocab import byte_level, merges, patterns, ranks, tiktoken
from pyunitok.vocab.huggingface import pre_tokenizers, writer
from pyunitok.vocab.vocabulary import NORMAL, Vocabulary

_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
_TOKEN = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
_CLASSES = {"gpt2": "GPT2Tokenizer", "qwen2": "Qwen2Tokenizer"}  # {pattern: the transformers class that uses it}


def has_ranks(vocabulary: Vocabulary) -> bool:
    """Whether the ids determine the merges, as in tiktoken."""
    wanted = MODEL_FLAGS["bytes"] | MODEL_FLAGS["ignore_merges"] | MODEL_FLAGS["listed_merges"]
    return vocabulary.flags & wanted == wanted & ~MODEL_FLAGS["listed_merges"]


def _special_tokens(vocabulary: Vocabulary) -> dict[str, int]:
    """{text: id} of the special or added tokens."""
    prepare = vocabulary.prepare or {}
    tokens: dict[str, int] = prepare.get("special_tokens") or {
        token["content"]: token["id"] for token in prepare.get("added_tokens") or []
    }
    return tokens


def _normal_pieces(vocabulary: Vocabulary) -> dict[bytes, int]:
    assert vocabulary.types is not None
    rows = zip(vocabulary.pieces, vocabulary.ids.tolist(), vocabulary.types.tolist(), strict=True)
    return {piece: id_ for piece, id_, type_ in rows if type_ == NORMAL}


# ---------------------------------------------------------------------------------------------- tokenizer.json ----


def huggingface_json(vocabulary: Vocabulary) -> bytes:
    """A tokenizer.json that gives the same ids. Raises VocabularyError if the pattern cannot be translated."""
    if not has_ranks(vocabulary):
        return writer.write(vocabulary)
    name = f"cannot convert {vocabulary.name} to a tokenizer.json"
    try:
        regexes = patterns.tokenizers_regexes(vocabulary.pattern)
    except ValueError as error:
        raise VocabularyError(f"{name}: its pattern cannot be translated: {error}") from None
    pieces, special = _normal_pieces(vocabulary), ranks.with_one_name(_special_tokens(vocabulary))
    shown = byte_level.shown
    names = {shown(piece): id_ for piece, id_ in pieces.items()}
    if clash := next((token for token, id_ in special.items() if names.get(token, id_) != id_), None):
        raise VocabularyError(f"{name}: the special token {clash!r} is also a piece")
    steps = pre_tokenizers.written(regexes)
    document = {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": id_, "content": token, **_TOKEN} for token, id_ in special.items()],
        "normalizer": {"type": "NFC"} if (vocabulary.prepare or {}).get("nfc") else None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*steps, _BYTE_LEVEL]},
        "post_processor": None, "decoder": _BYTE_LEVEL,
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": True,
            "vocab": dict(sorted((names | special).items(), key=lambda item: item[1])),
            "merges": [[shown(left), shown(right)] for left, right in merges.by_rank(pieces, pieces).values()],
        },
    }  # fmt: skip
    return json.dumps(document, ensure_ascii=False, indent=1).encode()


def huggingface_notes(vocabulary: Vocabulary) -> Sequence[str]:
    prepare = vocabulary.prepare or {}
    notes: list[str] = []
    if not ranks.is_ranks(vocabulary):
        return notes
    if prepare["cuts"]:
        notes.append(
            "the format cannot represent Kimi's cuts in very long texts and runs, so such texts may get different ids"
        )
    elif prepare["nfc"]:
        notes.append("tokenizers uses the NFC of Unicode 9.0, so a few rare characters get different ids")
    special = _special_tokens(vocabulary)
    kept = ranks.with_one_name(special)
    if lost := [repr(token) for token in special if token not in kept]:
        notes.append(f"only the first special token of each id is kept; lost: {', '.join(lost)}")
    return notes


# ------------------------------------------------------------------------------------------------- tiktoken ----


def tiktoken_ranks(vocabulary: Vocabulary) -> bytes:
    """A file of ranks. Raises VocabularyError if tiktoken would merge in a different order."""
    name = f"cannot convert {vocabulary.name} to a tiktoken file"
    _check_bytes(vocabulary, name)
    pieces = _normal_pieces(vocabulary)
    if not has_ranks(vocabulary):
        pieces = _ranks_of_list(vocabulary, pieces, name)
    if missing := [byte for byte in range(256) if bytes([byte]) not in pieces]:
        raise VocabularyError(f"{name}: byte 0x{missing[0]:02x} has no piece, but tiktoken requires all 256")
    return tiktoken.write_ranks(pieces)


def tiktoken_notes(vocabulary: Vocabulary) -> Sequence[str]:
    """Notes on what the file does not contain."""
    pattern = patterns.shown(vocabulary.pattern)
    notes = ["the file does not contain the pattern; pass it with --pattern or pattern= when opening the file"]
    if not _is_readable(pattern):
        notes = ["the file does not contain the pattern, and --pattern cannot express it"]
    elif re.search(r"\$|\}\+", pattern) and not vocabulary.pattern.startswith(b"t"):
        notes[0] += " (tiktoken interprets `$` and `{m,n}+` differently)"
    notes[0] += f": {pattern}"
    if special := _special_tokens(vocabulary):
        shown = ", ".join(f"{token!r}: {id_}" for token, id_ in [*special.items()][:8])
        more = f" and {len(special) - 8} more" if len(special) > 8 else ""
        notes.append(f"the file does not contain the special tokens: {shown}{more}")
    prepare = vocabulary.prepare or {}
    normalizer = "NFC" if prepare.get("nfc") else (prepare.get("normalizer") or {}).get("type")
    if normalizer:
        notes.append(f"the file does not contain the normalizer ({normalizer}), so some texts get different ids")
    if _has_prefix_space(prepare.get("pre_tokenizer")):
        notes.append("the file does not contain add_prefix_space, so most texts get a different first id")
    if (prepare.get("post_processor") or {"type": "ByteLevel"}).get("type") != "ByteLevel":
        notes.append("the file does not contain the template of special tokens that add_special adds")
    return notes


def _is_readable(pattern: str) -> bool:
    try:
        patterns.check(patterns.parts_for_tiktoken(pattern), "")
    except PatternError:
        return False
    return " then " not in pattern


def _has_prefix_space(step: Any) -> bool:
    """Whether the pre-tokenizer `step`, or a step inside it, adds a space."""
    if not isinstance(step, dict):
        return False
    return bool(step.get("add_prefix_space")) or any(map(_has_prefix_space, step.get("pretokenizers") or []))


def _check_bytes(vocabulary: Vocabulary, name: str) -> None:
    is_bpe = KINDS[vocabulary.kind].byte_level_flag == "listed_merges"
    if not is_bpe or not vocabulary.flags & MODEL_FLAGS["bytes"]:
        raise VocabularyError(
            f"{name}: the model must be byte-level BPE that the C library supports, not {vocabulary.kind}"
        )


def _ranks_of_list(vocabulary: Vocabulary, pieces: dict[bytes, int], name: str) -> dict[bytes, int]:
    """The pieces that can occur in encoded text. Raises VocabularyError if their ids do not imply the model's
    merges."""
    listed = _listed(vocabulary)
    own = merges.by_list(listed, pieces)
    special = {token.encode() for token in _special_tokens(vocabulary)}
    pieces = {piece: id_ for piece, id_ in pieces.items() if piece in own or piece not in special}
    ids = [pieces[piece] for piece in own]
    for (before, after), piece in zip(pairwise(ids), [*own][1:], strict=False):
        if after < before:
            raise VocabularyError(
                f"{name}: tiktoken merges in the order of the ids, but the merge that creates {piece!r} (id {after})"
                f" comes after the one that creates id {before}"
            )
    if not vocabulary.flags & MODEL_FLAGS["ignore_merges"]:
        pieces = {piece: id_ for piece, id_ in pieces.items() if len(piece) == 1 or piece in own}
    implied = merges.by_rank(pieces, pieces)
    if implied != own:
        piece = next(piece for piece in pieces if implied.get(piece) != own.get(piece))
        raise VocabularyError(f"{name}: tiktoken would merge {piece!r} (id {pieces[piece]}) from a different pair")
    return pieces


def _listed(vocabulary: Vocabulary) -> dict[merges.Pair, int]:
    """{(left, right): rank} from the list of merges; for a repeated merge, the rank of its last occurrence."""
    if vocabulary.merges is None:
        return {}
    pieces = dict(zip(vocabulary.ids.tolist(), vocabulary.pieces, strict=True))
    lefts, rights, _ = vocabulary.merges.reshape(3, -1).tolist()
    return {(pieces[left], pieces[right]): rank for rank, (left, right) in enumerate(zip(lefts, rights, strict=True))}


# ------------------------------------------------------------------------------- vocab.json and merges.txt ----


def vocab_merges(vocabulary: Vocabulary) -> dict[str, bytes]:
    """The files of a folder: vocab.json, merges.txt and tokenizer_config.json."""
    _check_bytes(vocabulary, f"cannot convert {vocabulary.name} to vocab.json and merges.txt")
    document = json.loads(huggingface_json(vocabulary))
    model: dict[str, Any] = document["model"]
    tokens = {str(token["id"]): {k: v for k, v in token.items() if k != "id"} for token in document["added_tokens"]}
    more = {token["content"]: int(id_) for id_, token in tokens.items() if token["content"] not in model["vocab"]}
    lines = ["#version: 0.2", *(merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"])]
    kind = _class_of(vocabulary)
    config: dict[str, Any] = {"tokenizer_class": kind}
    if kind is None:
        config = {"pyunitok": {key: document[key] for key in writer.PARTS}}
    elif _has_prefix_space(document["pre_tokenizer"]):
        config["add_prefix_space"] = True
    return {
        "vocab.json": json.dumps(model["vocab"] | more, ensure_ascii=False).encode(),
        "merges.txt": "".join(line + "\n" for line in lines).encode(),
        "tokenizer_config.json": json.dumps(config | {"added_tokens_decoder": tokens}, indent=1).encode(),
    }


def vocab_merges_notes(vocabulary: Vocabulary) -> Sequence[str]:
    """Notes on what the files do not contain."""
    notes = [*huggingface_notes(vocabulary)]
    if _class_of(vocabulary) is None:
        pattern = patterns.shown(vocabulary.pattern)
        notes.append(f"only pyunitok reads the pattern from tokenizer_config.json; pass it to other tools: {pattern}")
    if vocabulary.flags & MODEL_FLAGS["ignore_merges"]:
        pieces = _normal_pieces(vocabulary)
        made = merges.by_rank(pieces, pieces) if has_ranks(vocabulary) else merges.by_list(_listed(vocabulary), pieces)
        special = {token.encode() for token in _special_tokens(vocabulary)}
        if lost := sum(len(piece) > 1 and piece not in made and piece not in special for piece in pieces):
            notes.append(f"ignore_merges is lost, so {count(lost, 'piece')} that no merge creates can no longer match")
    return notes


def _class_of(vocabulary: Vocabulary) -> str | None:
    """The transformers class that has the pattern and the normalizer of the model, or None."""
    prepare = vocabulary.prepare or {}
    is_nfc = bool(prepare.get("nfc")) or prepare.get("normalizer") == {"type": "NFC"}
    if not vocabulary.pattern or (prepare.get("normalizer") and not is_nfc):
        return None
    try:
        regexes = patterns.tokenizers_regexes(vocabulary.pattern)
    except ValueError:
        return None
    found = next((name for name in _CLASSES if list(patterns.PATTERNS[name].parts) == regexes), None)
    return _CLASSES[found] if found is not None and is_nfc == (found == "qwen2") else None
