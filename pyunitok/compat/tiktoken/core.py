"""Implements tiktoken's class Encoding with the C library, and get_encoding(), which creates an Encoding by name."""

from __future__ import annotations

import operator
import re
import threading
from collections.abc import Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from typing import Any, Literal, NoReturn

import numpy as np

from pyunitok._c import library
from pyunitok._c.text import Pattern
from pyunitok.compat.tiktoken import registry
from pyunitok.compat.tiktoken.models import encoding_name_for_model
from pyunitok.compat.tiktoken.unstable import Unstable
from pyunitok.model.batch import documents_of, encode_batch
from pyunitok.model.codec import Codec
from pyunitok.vocab import patterns, ranks

Special = Literal["all"] | AbstractSet[str]
Disallowed = Literal["all"] | Collection[str]
_NONE: AbstractSet[str] = frozenset()


class Encoding:
    """Replaces tiktoken.Encoding. Threads may share an Encoding."""

    def __init__(
        self, name: str, *, pat_str: str, mergeable_ranks: dict[bytes, int], special_tokens: dict[str, int],
        explicit_n_vocab: int | None = None,
    ) -> None:  # fmt: skip
        """
        pat_str           the regular expression that divides texts
        mergeable_ranks   {piece: rank}; the lowest rank merges first
        special_tokens    {text: id}
        explicit_n_vocab  the expected number of ranks and special tokens; None: not checked

        Raises PatternError if C does not support the pattern, or VocabularyError, which names an invalid piece or rank.
        """
        self.name = name
        self._pat_str, self._mergeable_ranks, self._special_tokens = pat_str, mergeable_ranks, special_tokens
        self.max_token_value = max(max(mergeable_ranks.values()), max(special_tokens.values(), default=0))
        if explicit_n_vocab:
            assert len(mergeable_ranks) + len(special_tokens) == explicit_n_vocab
            assert self.max_token_value == explicit_n_vocab - 1
        self._special_token_values = set(special_tokens.values())
        pattern = patterns.check(b"t" + pat_str.encode(), name)
        vocabulary = ranks.vocabulary(mergeable_ranks, pattern, {}, name)
        self._codec = Codec(vocabulary.build(), vocabulary.about(name))
        special = {id_: token.encode() for token, id_ in ranks.with_one_name(special_tokens).items()}
        self._decoder = special | {rank: piece for piece, rank in mergeable_ranks.items()}

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    # ---------------------------------------------------------------------------------------------- encoding ---

    def encode_ordinary(self, text: str) -> list[int]:
        """The ids of a text, in which special tokens are encoded as plain text."""
        return self._codec.encode_list(_utf8(text))

    def encode(
        self, text: str, *, allowed_special: Special = _NONE, disallowed_special: Disallowed = "all"
    ) -> list[int]:
        """The ids of a text.

        allowed_special     the special tokens to find in the text, or "all"
        disallowed_special  raise ValueError if the text contains one of these special tokens; "all": those that are not
                            allowed. Special tokens in neither list are encoded as plain text
        """
        allowed = self._check(text, allowed_special, disallowed_special)
        return self._encode(text, allowed)[0]

    def encode_to_numpy(
        self, text: str, *, allowed_special: Special = _NONE, disallowed_special: Disallowed = "all"
    ) -> np.ndarray[Any, np.dtype[np.uint32]]:
        """Like encode, but returns a uint32 array. Raises UnicodeEncodeError for a lone surrogate."""
        allowed = self._check(text, allowed_special, disallowed_special)
        if not allowed:
            return self._codec.encode(text.encode()).astype(np.uint32)
        text.encode()
        return np.array(self._encode(text, allowed)[0], np.uint32)

    def encode_ordinary_batch(self, text: list[str], *, num_threads: int = 8) -> list[list[int]]:
        """encode_ordinary() of each text, in num_threads threads."""
        packed = encode_batch(self._codec, documents_of(list(map(_utf8, text))), num_threads)
        ids, bounds = packed.data.tolist(), packed.offsets.tolist()
        return [ids[begin:end] for begin, end in pairwise(bounds)]

    def encode_batch(
        self, text: list[str], *, num_threads: int = 8, allowed_special: Special = _NONE,
        disallowed_special: Disallowed = "all",
    ) -> list[list[int]]:  # fmt: skip
        """encode() of each text, in num_threads threads."""
        allowed: AbstractSet[str] = _NONE
        for item in text:
            allowed = self._check(item, allowed_special, disallowed_special)
        if not allowed:
            return self.encode_ordinary_batch(text, num_threads=num_threads)
        with ThreadPoolExecutor(num_threads) as pool:
            return list(pool.map(lambda item: self._encode(item, allowed)[0], text))

    def encode_with_unstable(
        self, text: str, *, allowed_special: Special = _NONE, disallowed_special: Disallowed = "all"
    ) -> tuple[list[int], list[list[int]]]:
        """The tokens that appended text cannot change, and the token sequences that may follow them, in no particular
        order."""
        allowed = self._check(text, allowed_special, disallowed_special)
        text.encode()
        tokens, last_part = self._encode(text, allowed)
        stable, completions = self._unstable.split_stable(tokens, last_part)
        return stable, list(map(list, completions))

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """The id of a piece or special token. Raises KeyError if there is none."""
        piece = text_or_bytes.encode() if isinstance(text_or_bytes, str) else text_or_bytes
        id_ = self._mergeable_ranks.get(piece)
        if id_ is None:
            id_ = self._special_tokens.get(piece.decode("utf-8", "replace"))
        if id_ is None:
            raise KeyError(piece)
        return id_

    def _check(self, text: str, allowed: Special, disallowed: Disallowed) -> AbstractSet[str]:
        """The allowed special tokens. Raises ValueError if the text contains a disallowed one."""
        if allowed == "all":
            allowed = self.special_tokens_set
        if disallowed == "all":
            disallowed = self.special_tokens_set - allowed
        if disallowed and (match := _special_token_regex(frozenset(disallowed)).search(text)):
            raise_disallowed_special_token(match.group())
        return allowed

    def _encode(self, text: str, allowed: AbstractSet[str]) -> tuple[list[int], bytes]:
        """The ids, and the text after the last special token."""
        tokens: list[int] = []
        done, found = 0, allowed & self.special_tokens_set
        for match in _special_token_regex(frozenset(found)).finditer(text) if found else ():
            if done < match.start():
                tokens += self._codec.encode_list(_utf8(text[done : match.start()]))
            tokens.append(self._special_tokens[match.group()])
            done = match.end()
        last = _utf8(text[done:] if done else text)
        return tokens + self._codec.encode_list(last) if tokens else self._codec.encode_list(last), last

    def _encode_single_piece(self, text_or_bytes: str | bytes) -> list[int]:
        """The ids of a text that is encoded as one piece, without the pattern."""
        return self._unstable.single_piece(
            text_or_bytes.encode() if isinstance(text_or_bytes, str) else text_or_bytes
        )

    def _encode_only_native_bpe(self, text: str) -> list[int]:
        """The ids of a text that the C library divides by the pattern and encodes piece by piece."""
        data, tokens = text.encode(), []
        for begin, end in pairwise([0, *Pattern(b"t" + self._pat_str.encode()).split(data).tolist()]):
            tokens += self._encode_single_piece(data[begin:end]) if begin < end else []
        return tokens

    def _encode_bytes(self, text: bytes) -> list[int]:
        """The ids of bytes that may be invalid UTF-8."""
        return self._unstable.encode_bytes(bytes(text))

    @cached_property
    def _unstable(self) -> Unstable:
        without = ranks.FLAGS & ~library.MODEL_FLAGS["pattern"] & ~library.MODEL_FLAGS["ignore_merges"]
        vocabulary = ranks.vocabulary(self._mergeable_ranks, b"", {}, self.name)
        plain = replace(vocabulary, flags=without)
        merges = Codec(plain.build(), plain.about(self.name))
        pattern = Pattern(b"t" + self._pat_str.encode())

        def last_piece(text: bytes) -> bytes:
            return text[int(pattern.split(text)[-2]) :]

        return Unstable(
            self._mergeable_ranks, self._decoder, self._codec.encode_list, merges.encode_list, last_piece
        )

    # ---------------------------------------------------------------------------------------------- decoding ---

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """The bytes of a sequence of ids. Raises KeyError for an id without a piece, OverflowError for one that is not
        a uint32, and TypeError for one that is not an integer."""
        try:
            return b"".join(map(self._decoder.__getitem__, tokens))
        except KeyError as error:
            _check_ids(tokens)
            raise KeyError(f"Invalid token for decoding: {error.args[0]}") from None

    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        """The text of a sequence of ids. `errors` has the same meaning as for bytes.decode."""
        return self.decode_bytes(tokens).decode("utf-8", errors)

    def decode_single_token_bytes(self, token: int) -> bytes:
        """The bytes of one id, which may be a special token. Errors are those of decode_bytes."""
        return self.decode_tokens_bytes([token])[0]

    def decode_tokens_bytes(self, tokens: Sequence[int]) -> list[bytes]:
        """The bytes of each id. Errors are those of decode_bytes."""
        try:
            return list(map(self._decoder.__getitem__, tokens))
        except KeyError as error:
            _check_ids(error.args)
            raise

    def decode_with_offsets(self, tokens: Sequence[int]) -> tuple[str, list[int]]:
        """The text, and the offset of each token in characters. A token that begins within a character has the offset
        of that character. Raises UnicodeDecodeError for invalid UTF-8."""
        pieces = self.decode_tokens_bytes(tokens)
        n_characters, offsets = 0, []
        for piece in pieces:
            offsets.append(max(0, n_characters - (0x80 <= piece[0] < 0xC0)))
            n_characters += sum(not 0x80 <= byte < 0xC0 for byte in piece)
        return b"".join(pieces).decode(), offsets

    def decode_batch(
        self, batch: Sequence[Sequence[int]], *, errors: str = "replace", num_threads: int = 8
    ) -> list[str]:
        """decode() of each sequence; num_threads is ignored."""
        return list(map(partial(self.decode, errors=errors), batch))

    def decode_bytes_batch(self, batch: Sequence[Sequence[int]], *, num_threads: int = 8) -> list[bytes]:
        """decode_bytes() of each sequence; num_threads is ignored."""
        return list(map(self.decode_bytes, batch))

    # ---------------------------------------------------------------------------------------- the vocabulary ---

    def token_byte_values(self) -> list[bytes]:
        """All pieces except special tokens, sorted."""
        return sorted(self._mergeable_ranks)

    @property
    def eot_token(self) -> int:
        return self._special_tokens["<|endoftext|>"]

    @cached_property
    def special_tokens_set(self) -> set[str]:
        return set(self._special_tokens)

    def is_special_token(self, token: int) -> bool:
        assert isinstance(token, int)
        return token in self._special_token_values

    @property
    def n_vocab(self) -> int:
        """1 + the largest id."""
        return self.max_token_value + 1

    # ---------------------------------------------------------------------------------------------- pickling ---

    def __getstate__(self) -> object:
        """Encodings from get_encoding() are pickled by name, others by value."""
        if self is ENCODINGS.get(self.name):
            return self.name
        return {
            "name": self.name, "pat_str": self._pat_str, "mergeable_ranks": self._mergeable_ranks,
            "special_tokens": self._special_tokens,
        }  # fmt: skip

    def __setstate__(self, value: Any) -> None:
        if isinstance(value, str):
            self.__dict__ = get_encoding(value).__dict__
        else:
            self.__init__(**value)  # type: ignore[misc]


ENCODINGS: dict[str, Encoding] = {}
_lock = threading.Lock()


def get_encoding(encoding_name: str) -> Encoding:
    """The encoding of that name, created on first use. Raises ValueError if the name is unknown or its file is
    missing."""
    if not isinstance(encoding_name, str):
        raise ValueError(f"expected the name of an encoding, not {type(encoding_name).__name__}")
    with _lock:
        if encoding_name not in ENCODINGS:
            ENCODINGS[encoding_name] = Encoding(**registry.arguments_of(encoding_name))
        return ENCODINGS[encoding_name]


def encoding_for_model(model_name: str) -> Encoding:
    """The encoding of one of OpenAI's models. Raises KeyError for an unknown model; other errors are those of
    get_encoding."""
    return get_encoding(encoding_name_for_model(model_name))


def _utf8(text: str) -> bytes:
    """The bytes of a text. Surrogate pairs are joined, and lone surrogates become U+FFFD."""
    if not isinstance(text, str):
        raise TypeError(f"expected a string, not {type(text).__name__}")
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _check_ids(tokens: Iterable[Any]) -> None:
    """Raise TypeError for a token that is not an integer, or OverflowError for one that is not a uint32."""
    for token in tokens:
        if not 0 <= operator.index(token) < 1 << 32:
            raise OverflowError(f"{token} is not the id of a token, which is a number from 0 to {(1 << 32) - 1}")


@lru_cache(maxsize=128)
def _special_token_regex(tokens: frozenset[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, sorted(tokens, key=len, reverse=True))))  # the longest token matches


def raise_disallowed_special_token(token: str) -> NoReturn:
    raise ValueError(
        f"Encountered text corresponding to disallowed special token {token!r}.\n"
        f"To encode it as a special token, pass it to `allowed_special`: allowed_special={{{token!r}, ...}}.\n"
        "To encode it as normal text, pass disallowed_special=(enc.special_tokens_set - "
        f"{{{token!r}}}).\n"
        "To disable this check for all special tokens, pass `disallowed_special=()`.\n"
    )
