"""Replaces rwkv.rwkv_tokenizer, BlinkDL's tokenizer scripts, and pyrwkv_tokenizer.

    from pyunitok.compat.rwkv import TRIE_TOKENIZER

    tokenizer = TRIE_TOKENIZER("rwkv_vocab_v20230424.txt")
    tokenizer.encode("Hello")           # [33155]
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from pyunitok.errors import IdError
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.vocab import rwkv, utf8

_NUL = 1  # the id of a NUL byte in every RWKV World vocabulary


class TRIE_TOKENIZER:
    """BlinkDL's tokenizer for RWKV World models. It reads a vocabulary file and returns lists of int.

    idx2token, token2idx  {id: bytes} and {bytes: id}
    tokenizer             the underlying pyunitok.Tokenizer
    """

    def __init__(self, file_name: str | os.PathLike[str]) -> None:
        """Raises FileNotFoundError, or VocabularyError, which names the line."""
        self.tokenizer = Tokenizer.from_file(file_name)

    @cached_property
    def idx2token(self) -> dict[int, bytes]:
        pieces = (piece.tobytes() for piece in self.tokenizer.pieces())
        return {id_: piece for id_, piece in enumerate(pieces) if piece}

    @cached_property
    def token2idx(self) -> dict[bytes, int]:
        return {piece: id_ for id_, piece in self.idx2token.items()}

    def encodeBytes(self, src: bytes) -> list[int]:
        """The ids of bytes, which need not be valid UTF-8."""
        if isinstance(src, str):
            raise TypeError("encodeBytes takes bytes; for a str, use encode")
        ids: list[int] = self.tokenizer.encode(src).tolist()
        return ids

    def decodeBytes(self, tokens: Iterable[int]) -> bytes:
        """Decode ids to bytes. Raises KeyError for an id without a token, including 0."""
        array = np.fromiter(tokens, np.int64)
        try:
            if self.tokenizer.eod_id is not None and (array == self.tokenizer.eod_id).any():
                self.idx2token[self.tokenizer.eod_id]
            return self.tokenizer.decode_bytes(array)
        except IdError as error:
            raise KeyError(str(error)) from None

    def encode(self, src: str) -> list[int]:
        """The ids of a str. Raises UnicodeEncodeError if it contains a lone surrogate."""
        return self.encodeBytes(src.encode("utf-8"))

    def decode(self, tokens: Iterable[int]) -> str:
        """Decode ids to text. As in rwkv, the result is one U+FFFD if an id is unknown or the bytes are invalid
        UTF-8."""
        try:
            return self.decodeBytes(tokens).decode("utf-8")
        except (UnicodeDecodeError, KeyError):
            return "\ufffd"

    def printTokens(self, tokens: Iterable[int]) -> None:
        """Print each token with its id."""
        for id_ in tokens:
            token = self.idx2token[id_]
            try:
                shown: str | bytes = token.decode("utf-8")
            except UnicodeDecodeError:
                shown = token
            print(f"{shown!r}{id_}", end=" ")
        print()


class RWKV_TOKENIZER(TRIE_TOKENIZER):
    """An older name for TRIE_TOKENIZER."""


class WorldTokenizer:
    """Replaces pyrwkv_tokenizer's WorldTokenizer, which reads a vocabulary file. Raises exceptions, never panics.

    tokenizer  the underlying pyunitok.Tokenizer
    """

    def __init__(self, vocab_filepath: str | os.PathLike[str]) -> None:
        self.tokenizer = Tokenizer.from_file(vocab_filepath)

    def encode(self, word: str) -> list[int]:
        """The ids of a text."""
        if not isinstance(word, str):
            raise TypeError(f"expected str, not {type(word).__name__}")
        ids: list[int] = self.tokenizer.encode(word).tolist()
        return ids

    def encode_batch(self, word_list: Sequence[str]) -> list[list[int]]:
        """Encode many texts with several threads."""
        if isinstance(word_list, str) or not all(isinstance(word, str) for word in word_list):
            raise TypeError("expected a sequence of str")
        return [ids.tolist() for ids in self.tokenizer.encode_batch(word_list)]

    def decode(self, vec: Sequence[int]) -> str:
        """Decode ids to text; id 0 becomes NUL. Raises IdError for an id without a token, or UnicodeDecodeError."""
        if isinstance(vec, str | bytes):
            raise TypeError("expected a sequence of ids")
        ids = np.array([_NUL if id_ == 0 else id_ for id_ in vec], object)
        return self.tokenizer.decode(ids)

    def vocab_size(self) -> int:
        """One more than the largest id that has a token."""
        return 1 + max(id_ for id_, piece in enumerate(self.tokenizer.pieces()) if len(piece))

    def get_vocab(self) -> dict[str, int]:
        """{token: id} for the tokens that are valid UTF-8."""
        pieces = (piece.tobytes() for piece in self.tokenizer.pieces())
        return {piece.decode(): id_ for id_, piece in enumerate(pieces) if piece and utf8.is_valid(piece)}


class RWKVTokenizer:
    """pyrwkv_tokenizer's RWKVTokenizer: a WorldTokenizer with the published vocabulary or another file."""

    def __init__(self, name: str = "WorldTokenizer", vocab_filepath: str | os.PathLike[str] | None = None) -> None:
        """Raises ValueError for any other name, VocabularyError if no file is given and pyrwkv-tokenizer is missing."""
        if name != "WorldTokenizer":
            raise ValueError(f"The {name} is not supported.")
        if vocab_filepath is None:
            vocab_filepath = rwkv.find_installed()
        self.vocab_filepath = os.fspath(vocab_filepath)
        self.tokenizer = WorldTokenizer(vocab_filepath)

    def encode(self, text: str) -> list[int]:
        return self.tokenizer.encode(text)

    def encode_batch(self, text_list: Sequence[str]) -> list[list[int]]:
        return self.tokenizer.encode_batch(text_list)

    def decode(self, tokens_ids: Sequence[int]) -> str:
        return self.tokenizer.decode(tokens_ids)

    def vocab_size(self) -> int:
        return self.tokenizer.vocab_size()

    def get_vocab(self) -> dict[str, int]:
        return self.tokenizer.get_vocab()
