"""FolderConfig reads the settings in the small JSON files of a model folder without tokenizer.json.

    tokenizer_config.json     tokenizer_class, added_tokens_decoder {id: token}, bos_token and other roles; "pyunitok",
                              parts of a tokenizer.json that no tokenizer_class implies, written by convert
    added_tokens.json         {token: id}
    special_tokens_map.json   bos_token and other roles
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyunitok.errors import ModelFormatError
from pyunitok.vocab.huggingface.fields import Fields
from pyunitok.vocab.huggingface.writer import PARTS

_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
_ROLES = ("bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token")
# tokenizer_class without "Fast": the name of the pattern, and whether texts are normalized to NFC
_CLASSES: dict[str, tuple[str, bool]] = {
    "GPT2Tokenizer": ("gpt2", False), "RobertaTokenizer": ("gpt2", False), "BartTokenizer": ("gpt2", False),
    "CodeGenTokenizer": ("gpt2", False), "WhisperTokenizer": ("gpt2", False), "LongformerTokenizer": ("gpt2", False),
    "BlenderbotTokenizer": ("gpt2", False), "GPTNeoXTokenizer": ("gpt2", True), "Qwen2Tokenizer": ("qwen2", True),
    "QWenTokenizer": ("qwen2", False), "TikTokenTokenizer": ("kimi", False),
}  # fmt: skip


@dataclass(frozen=True)
class FolderConfig:
    """pattern: a name in patterns.PATTERNS, or None. tokens: the added tokens, with the fields that they have in a
    tokenizer.json. parts: fields of a tokenizer.json, or empty.
    """

    pattern: str | None = None
    is_nfc: bool = False
    add_prefix_space: bool = False
    tokens: tuple[dict[str, Any], ...] = ()
    names: tuple[str, ...] = ()
    parts: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> FolderConfig:
        """Read the files of a folder. Raises ModelFormatError or VocabularyError, which names a damaged file and its
        field."""
        config = _load(folder / "tokenizer_config.json")
        kind = config.string("tokenizer_class", "").removesuffix("Fast")
        pattern, is_nfc = _CLASSES.get(kind, (None, False))
        names = dict.fromkeys([*_names(config), *_names(_load(folder / "special_tokens_map.json"))])
        tokens = list(_decoder_tokens(config))
        known = {token["content"] for token in tokens}
        added = _load(folder / "added_tokens.json")
        tokens += [_token(text, added.integer(text), {}) for text in added.values if text not in known]
        own = config.child("pyunitok").values if config.has("pyunitok") else {}
        return cls(
            pattern, is_nfc, config.boolean("add_prefix_space", False), tuple(tokens), tuple(names),
            {key: own.get(key) for key in PARTS} if own else {},
        )  # fmt: skip

    def added_tokens(self, ids: Mapping[str, int]) -> list[dict[str, Any]]:
        """The added tokens; `ids` is {piece: id} of the vocabulary."""
        listed = {token["content"] for token in self.tokens}
        named = [_token(name, ids[name], {}) for name in self.names if name in ids and name not in listed]
        return [*self.tokens, *named]

    def special_tokens(self) -> dict[str, int] | None:
        """{text: id} of the tokens for which the files contain an id; None if there are none."""
        return {token["content"]: token["id"] for token in self.tokens} or None


def _load(path: Path) -> Fields:
    """The object in the file; an empty one if the file does not exist."""
    if not path.is_file():
        return Fields({}, f"{path}: ")
    try:
        return Fields(json.loads(path.read_bytes()), f"{path}: ")
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"{path}: not a valid JSON file: {error}") from None


def _names(fields: Fields) -> Iterator[str]:
    """The special tokens that a file names."""
    more = fields.values.get("additional_special_tokens")
    for value in [*map(fields.values.get, _ROLES), *(more if isinstance(more, list) else [])]:
        name = value.get("content") if isinstance(value, dict) else value
        if isinstance(name, str) and name:
            yield name


def _decoder_tokens(config: Fields) -> Iterator[dict[str, Any]]:
    table = config.child("added_tokens_decoder") if config.has("added_tokens_decoder") else Fields({}, config.where)
    for digits in table.values:
        if not (digits.isascii() and digits.isdigit() and len(digits) <= 10):
            table.refuse("expected an id", digits[:64])
        token = table.child(digits)
        content = token.string("content")
        if not content:
            token.refuse("the token is empty", "content")
        yield _token(content, int(digits), {flag: token.boolean(flag, flag == "special") for flag in _FLAGS})


def _token(content: str, id_: int, flags: Mapping[str, bool]) -> dict[str, Any]:
    return {"id": id_, "content": content, **{flag: flags.get(flag, flag == "special") for flag in _FLAGS}}
