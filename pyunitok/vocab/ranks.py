"""Defines rank models, as in tiktoken: adjacent pieces merge if their concatenation is a piece, the lowest id first.

    text ─▶ NFC? ─▶ cuts? ─▶ split at special tokens ─▶ C: pattern, merges ─▶ ids

RankRules performs the steps before C, for models that have any. Special tokens are matched leftmost and longest first;
their ids must not belong to other pieces. About.prepare stores the settings:

    {"format": "ranks 1", "special_tokens": {"<|endoftext|>": 50256}, "nfc": false, "cuts": false}
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from pyunitok._c import library
from pyunitok._c import model as c_model
from pyunitok.errors import OptionError, VocabularyError
from pyunitok.packed import Bytes, Ids, Offsets
from pyunitok.vocab import nfc, utf8
from pyunitok.vocab.huggingface.added_tokens import AddedToken, finder
from pyunitok.vocab.huggingface.division import Divider
from pyunitok.vocab.huggingface.fields import Fields
from pyunitok.vocab.huggingface.scratch import RulesScratch, WholeTexts
from pyunitok.vocab.vocabulary import CONTROL, NORMAL, About, Vocabulary, split

FORMAT = "ranks 1"
FLAGS = sum(library.MODEL_FLAGS[name] for name in ("bytes", "pattern", "ignore_merges"))
# Kimi's tokenizer cuts a text after every 400,000 characters. It then cuts each run of spaces, and each run without
# spaces, after every 25,000 characters.
CHUNK_CHARACTERS, RUN_CHARACTERS = 400_000, 25_000
_CHARACTER_BYTES = 4
_LONG_RUN = re.compile(rf"\S{{{RUN_CHARACTERS + 1},}}|\s{{{RUN_CHARACTERS + 1},}}")
_ROLES = {
    "bos": ("<|begin_of_text|>", "[BOS]", "<s>"), "eos": ("<|endoftext|>", "<|end_of_text|>", "[EOS]", "</s>"),
    "pad": ("<|finetune_right_pad_id|>", "<|finetune_right_pad|>", "[PAD]", "<pad>"), "unk": ("[UNK]", "<unk>"),
}  # fmt: skip


def vocabulary(
    ranks: Mapping[bytes, int], pattern: bytes, special_tokens: Mapping[str, int], name: str, *,
    apply_nfc: bool = False, cuts: bool = False,
) -> Vocabulary:  # fmt: skip
    """The vocabulary of these pieces. An empty piece, which matches nothing, is omitted.

    If several special tokens share an id, as in o200k_harmony, each is encoded as that id, which decodes to the first.
    Raises VocabularyError, which names a repeated id, an id that is too large, or a byte without a piece.
    """
    items = [(piece, id_) for piece, id_ in ranks.items() if piece]
    named = [(token.encode(), id_) for token, id_ in with_one_name(special_tokens).items()]
    more = [(token, id_) for token, id_ in named if ranks.get(token) != id_]
    pieces, ids = [piece for piece, _ in items + more], [id_ for _, id_ in items + more]
    _check_ids(pieces, ids, name)
    known = set(ranks)
    if missing := [byte for byte in range(256) if bytes([byte]) not in known]:
        raise VocabularyError(f"{name}: byte 0x{missing[0]:02x} has no piece, so some texts could not be encoded")
    special = {
        role: special_tokens[found] for role, names in _ROLES.items()
        if (found := next((token for token in names if token in special_tokens), None)) is not None
    }  # fmt: skip
    eod_id = special.get("eos")
    prepare = {"format": FORMAT, "special_tokens": dict(special_tokens), "nfc": apply_nfc, "cuts": cuts}
    numbers = np.array(ids, np.int64)
    return Vocabulary.pack(
        pieces, numbers, eod_id=eod_id, name=name, kind="bpe", flags=FLAGS, pattern=pattern, special=special,
        eod_piece=next((token for token, id_ in special_tokens.items() if id_ == eod_id), None),
        scores=-numbers.astype(np.float64),
        types=np.array([NORMAL] * len(items) + [CONTROL] * len(more), np.uint8),
        prepare=prepare if special_tokens or apply_nfc or cuts else None,
    )  # fmt: skip


def with_one_name(special_tokens: Mapping[str, int]) -> dict[str, int]:
    """{text: id} with only the first text of each id."""
    first: dict[int, str] = {}
    for token, id_ in special_tokens.items():
        first.setdefault(id_, token)
    return {token: id_ for id_, token in first.items()}


def _check_ids(pieces: list[bytes], ids: list[int], name: str) -> None:
    if pieces and not 0 <= min(ids) <= max(ids) <= library.WIDE_ID_MAX:
        wrong = max(ids) if max(ids) > library.WIDE_ID_MAX else min(ids)
        raise VocabularyError(f"{name}: id {wrong} is not within 0..{library.WIDE_ID_MAX}")
    if len(set(ids)) < len(ids):
        owners: dict[int, bytes] = {}
        for piece, id_ in zip(pieces, ids, strict=True):
            if id_ in owners:
                raise VocabularyError(f"{name}: {owners[id_][:64]!r} and {piece[:64]!r} have the same id, {id_}")
            owners[id_] = piece


def is_ranks(about: About | Vocabulary) -> bool:
    """Whether RankRules encodes texts for this model."""
    return (about.prepare or {}).get("format") == FORMAT


def checked_special_tokens(tokens: Any, name: str) -> dict[str, int]:
    """The special tokens that the caller passed. Raises OptionError, which names an invalid one."""
    if not isinstance(tokens, Mapping):
        raise OptionError(f"{name}: special_tokens must be a mapping of texts to ids, not {type(tokens).__name__}")
    for token, id_ in tokens.items():
        if not isinstance(token, str) or not token or type(id_) is not int:
            raise OptionError(f"{name}: special_tokens must map non-empty strings to ids, not {token!r} to {id_!r}")
        try:
            token.encode()
        except UnicodeEncodeError:
            raise OptionError(f"{name}: the special token {token!r} contains a lone surrogate") from None
    return dict(tokens)


def cut(data: bytes) -> Iterator[bytes]:
    """The parts into which Kimi's tokenizer cuts a text. Spaces are the characters that str.isspace() accepts."""
    if len(data) <= RUN_CHARACTERS:
        yield data
        return
    text = utf8.escaped(data)
    for begin in range(0, len(text), CHUNK_CHARACTERS):
        chunk, done = text[begin : begin + CHUNK_CHARACTERS], 0
        for run in _LONG_RUN.finditer(chunk):
            for place in range(run.start() + RUN_CHARACTERS, run.end(), RUN_CHARACTERS):
                yield utf8.unescaped(chunk[done:place])
                done = place
        yield utf8.unescaped(chunk[done:])


def split_at_chunk(data: bytes) -> int:
    """The length of the prefix of an unfinished text that consists of complete chunks of cut(); may be 0."""
    text = utf8.escaped(data)
    n = (len(text) - _CHARACTER_BYTES) // CHUNK_CHARACTERS * CHUNK_CHARACTERS  # the last character may be incomplete
    return len(utf8.unescaped(text[:n])) if n > 0 else 0


class RankRules(WholeTexts):
    """See huggingface.scratch.TextRules."""

    memory_factor = 0  # as for other C models
    warning = ""

    def __init__(self, about: About, model: c_model.Model) -> None:
        """Raise VocabularyError if the settings are damaged."""
        self._model = model
        self.kind, self.algorithm, self.summary = model.kind.name, model.kind.algorithm, model.kind.summary
        fields = Fields(about.prepare, f"{about.name}: ")
        self._is_nfc, self._is_cut = fields.boolean("nfc", False), fields.boolean("cuts", False)
        tokens = fields.child("special_tokens")
        added = [AddedToken(token, tokens.integer(token), special=True) for token in tokens.values]
        self._special = frozenset(token.id for token in added)
        if "" in tokens.values or max(self._special, default=0) >= model.info.n_ids:
            fields.refuse("a token is empty, or its id has no piece", "special_tokens")
        self._finder = finder(added, normalized=False)

    @cached_property
    def _pieces(self) -> list[bytes]:
        return split(*self._model.pieces())

    # ---------------------------------------------------------------------------------------------- encoding ---

    def split(self, text: Any) -> int:
        if self._is_cut:
            return split_at_chunk(bytes(text))
        return self._divider.last(text)

    @cached_property
    def _divider(self) -> Divider:
        return Divider(self._model, [self._finder], nfc.is_kept_around if self._is_nfc else None)

    def is_plain(self, data: Bytes, offsets: Offsets) -> bool:
        text = data[int(offsets[0]) : int(offsets[-1])]
        if self._finder and self._finder.matches(text):
            return False
        if self._is_cut and np.diff(offsets).max(initial=0) > RUN_CHARACTERS:
            return False
        return not self._is_nfc or not (text & 0x80).any()

    def encode(self, scratch: RulesScratch, data: bytes, *, special: bool = True, add_special: bool = False) -> Ids:
        if self._is_nfc:
            data = nfc.normalize(data)
        texts = list(cut(data)) if self._is_cut else [data]
        ids: list[Any] = [self._encode_part(scratch, text, special) for text in texts]
        ret: Ids = ids[0] if len(ids) == 1 else np.concatenate(ids)
        return ret

    def _encode_part(self, scratch: RulesScratch, text: bytes, special: bool) -> Ids:
        if not special or self._finder is None or not self._finder.matches(text):
            return scratch.encode_by_c(text)
        offsets = np.array([0, len(text)], np.int64)
        found = self._finder.split(np.frombuffer(text, np.uint8), offsets, hide_special=False)
        return scratch.encode_divided(found)[0]

    def tokens(self, scratch: RulesScratch, data: bytes) -> list[str]:
        return [utf8.shown(self._pieces[id_]) for id_ in self.encode(scratch, data).tolist()]

    def spans(self, scratch: RulesScratch, data: bytes) -> Offsets:
        """A piece spans its own bytes or, if NFC changes the text, the original characters of these bytes."""
        ids = self.encode(scratch, data).astype(np.int64)
        ends = np.cumsum(np.fromiter((len(self._pieces[id_]) for id_ in ids.tolist()), np.int64, len(ids)))
        begins = np.concatenate(([0], ends[:-1]))[: len(ids)]
        if self._is_nfc and nfc.normalize(data) is not data:
            _, first, last = nfc.normalize_with_offsets(data)
            begins, ends = first[begins], last[ends - 1]
        return np.column_stack((ids, begins, ends))

    def normalize(self, text: str) -> str:
        return nfc.normalize_text(text) if self._is_nfc else text

    # ---------------------------------------------------------------------------------------------- decoding ---

    def bytes_of(self, piece: bytes) -> bytes:
        return piece

    def decode(self, ids: list[int], skip_special: bool) -> str:
        kept = [id_ for id_ in ids if id_ not in self._special] if skip_special else ids
        return utf8.escaped(b"".join(map(self._pieces.__getitem__, kept)))

    def decode_replaced(self, ids: list[int], skip_special: bool) -> str:
        return utf8.unescaped(self.decode(ids, skip_special)).decode("utf-8", "replace")
