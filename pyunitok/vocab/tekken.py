"""Reads tekken.json, the vocabulary file of Mistral's newer models: a JSON object.

    config          pattern, default_vocab_size, default_num_special_tokens
    special_tokens  [{"rank": 0, "token_str": "<unk>", ...}, ...]; missing in the first versions
    vocab           [{"rank": 0, "token_bytes": base64, "token_str": ...}, ...]; may have unused entries at the end

The special tokens have the first ids, so the id of a piece is its rank plus their number. Ids without a listed special
token are named <SPECIAL_k>. Merges and patterns are as in tiktoken. mistral-common never matches special tokens in a
text; here they match, as in the same model's tokenizer.json.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from typing import Any

from pyunitok._c import library
from pyunitok.errors import ModelFormatError
from pyunitok.vocab import patterns, ranks
from pyunitok.vocab.huggingface.fields import Fields
from pyunitok.vocab.patterns import ReadOptions
from pyunitok.vocab.vocabulary import Vocabulary

_FIRST_KEY = re.compile(rb'\s*\{\s*"(?:config|vocab|special_tokens|version|type|image|audio|multimodal)"\s*:')
_HEAD_BYTES = 1 << 16
# For files without special_tokens, indexed by id.
_SPECIAL_TOKENS = (
    "<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]",
    "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]",
)  # fmt: skip


def looks_like_json(data: bytes) -> bool:
    """Whether the beginning or the end of the file contains keys that occur only in a tekken.json."""
    if _FIRST_KEY.match(data) is None:
        return False
    return b'"default_num_special_tokens"' in data[:_HEAD_BYTES] + data[-_HEAD_BYTES:] or (
        b'"token_bytes"' in data[:_HEAD_BYTES]
    )


def read(data: bytes, name: str, options: ReadOptions) -> Vocabulary:
    """The vocabulary in a file's bytes. Raises ModelFormatError or VocabularyError, which names the file and the
    field."""
    try:
        document = Fields(json.loads(data), f"{name}: ")
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"{name}: not a valid tekken.json: {error}") from None
    config = document.child("config")
    n_special = config.integer("default_num_special_tokens")
    n_ids = config.integer("default_vocab_size")
    if not n_special <= n_ids <= library.WIDE_ID_MAX + 1:
        config.refuse(f"{n_ids} is less than the number of special tokens, or too large", "default_vocab_size")
    pieces = _pieces(document, n_ids - n_special, n_special)
    tokens = _special_tokens(document, n_special)
    if options.special_tokens is not None:
        tokens = ranks.checked_special_tokens(options.special_tokens, name)
    pattern = b"t" + config.string("pattern").encode()
    if options.pattern:
        pattern = patterns.parts_for_tiktoken(options.pattern)
    return ranks.vocabulary(pieces, patterns.check(pattern, name), tokens, name)


def _pieces(document: Fields, n_pieces: int, first_id: int) -> dict[bytes, int]:
    entries = document.list("vocab")
    if len(entries) < n_pieces:
        document.refuse(f"expected at least {n_pieces} pieces; found {len(entries)}", "vocab")
    ret: dict[bytes, int] = {}
    for rank, entry in enumerate(entries[:n_pieces]):
        try:
            piece = b64decode(entry["token_bytes"], validate=True)
            is_valid = entry["rank"] == rank and piece not in ret and piece != b""
        except (ValueError, KeyError, TypeError):
            is_valid = False
        if not is_valid:
            _refuse_piece(Fields(entry, f"{document.path('vocab')}[{rank}]"), rank)
        ret[piece] = first_id + rank
    return ret


def _refuse_piece(fields: Fields, rank: int) -> None:
    if fields.integer("rank") != rank:
        fields.refuse(f"expected {rank}, because pieces must be in the order of their ranks", "rank")
    fields.string("token_bytes")
    fields.refuse("not base64, empty, or a duplicate of an earlier piece", "token_bytes")


def _special_tokens(document: Fields, n_special: int) -> dict[str, int]:
    stated: Any = enumerate(_SPECIAL_TOKENS[:n_special])
    if document.has("special_tokens"):
        listed = document.children("special_tokens")
        stated = ((fields.integer("rank"), fields.string("token_str")) for fields in listed)
    names: dict[int, str] = {}
    texts: set[str] = set()
    for id_, token in stated:
        if id_ in names or id_ >= n_special or not token or token in texts:
            problem = f"{token[:64]!r}, rank {id_}: empty, a duplicate, or not in 0..{n_special - 1}"
            document.refuse(problem, "special_tokens")
        names[id_] = token
        texts.add(token)
    ret = {names.get(id_, f"<SPECIAL_{id_}>"): id_ for id_ in range(n_special)}
    if len(ret) < n_special:
        document.refuse("a token has the default name of another id", "special_tokens")
    return ret
