"""Byte-level models: BPE and Unigram whose symbols are the 256 bytes. Texts are not normalized.

    units ─▶ a character for each byte ─▶ the usual trainer of the kind ─▶ pieces ─▶ bytes again

Training cuts units as for other models, so pieces stay within words and scripts. A piece consists of complete
characters or is part of one (see UNITOK_RULE_BYTE_LEVEL). Encoding does not cut texts, so a piece may match
across a position at which training cuts.

    ids   0 <|endoftext|>   1… control symbols   then the 256 bytes, in order   then the pieces, best first
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from pyunitok._c import train as c_train
from pyunitok._c.train import Units
from pyunitok._c.train_bpe import BpeTrainer
from pyunitok.errors import OptionError, TrainingError
from pyunitok.model.tokenizer import Tokenizer, from_vocabulary
from pyunitok.packed import Bytes
from pyunitok.train.alphabet import Alphabet
from pyunitok.train.modelfile import Piece
from pyunitok.train.specs import Specs
from pyunitok.train.trainer import Training
from pyunitok.vocab import byte_level
from pyunitok.vocab import native as native_file
from pyunitok.vocab.huggingface import writer
from pyunitok.vocab.vocabulary import CONTROL, NORMAL, Vocabulary

END_OF_TEXT = b"<|endoftext|>"
FORMATS = ("native", "huggingface")
_SPACE = np.frombuffer("\u2581".encode(), np.uint8)
_MAPPED = [character.encode() for character in byte_level.CHARACTERS]
_SIZES = np.array([len(item) for item in _MAPPED], np.int64)
_FIRSTS = np.array([item[0] for item in _MAPPED], np.uint8)
_LASTS = np.array([item[-1] for item in _MAPPED], np.uint8)
_SWITCHES = ("user_defined_symbols", "byte_fallback", "auto_character_coverage")
_NOT = ("unk_id", "bos_id", "eos_id", "pad_id", "required_chars", "character_coverage", *_SWITCHES)


def prepare(specs: Specs) -> None:
    """Set the options that byte-level models need. Raises OptionError, which names an option that conflicts."""
    spec, normalizer = specs.trainer, specs.normalizer
    if not specs.kind.is_subword:
        raise OptionError("byte_level is for unigram and bpe models")
    for name in _NOT:
        if getattr(spec, name) if name in _SWITCHES else spec.HasField(name):
            raise OptionError(f"{name} cannot be combined with byte_level, whose symbols are exactly the 256 bytes")
    named = normalizer.HasField("name") and normalizer.name != b"identity"
    if named or normalizer.normalization_rule_tsv or normalizer.precompiled_charsmap:
        raise OptionError("texts are not normalized with byte_level: leave out the normalization rules")
    for name in ("add_dummy_prefix", "remove_extra_whitespaces"):
        if normalizer.HasField(name) and getattr(normalizer, name):
            raise OptionError(f"texts are not normalized with byte_level: leave out {name}")
        setattr(normalizer, name, False)
    normalizer.name = b"identity"
    if not spec.HasField("allow_whitespace_only_pieces"):
        spec.allow_whitespace_only_pieces = True
    needed = 256 + len(controls(specs))
    if spec.vocab_size < needed:
        raise TrainingError(f"vocab_size is {spec.vocab_size}, but bytes and symbols alone need {needed}")


def controls(specs: Specs) -> list[bytes]:
    """The control symbols, which encoding never produces, in the order of their ids."""
    return list(dict.fromkeys([END_OF_TEXT, *specs.trainer.control_symbols]))


def mapped(units: Units) -> Units:
    """The units in which each byte is replaced by a character, and U+2581 by the character of a space."""
    data = units.data.copy()
    spaces = np.flatnonzero((data[:-2] == _SPACE[0]) & (data[1:-1] == _SPACE[1]) & (data[2:] == _SPACE[2]))
    data[spaces] = ord(" ")
    sizes = _SIZES[data]
    sizes[spaces + 1] = sizes[spaces + 2] = 0
    ends: Any = np.concatenate(([0], np.cumsum(sizes)))
    out: Bytes = np.empty(int(ends[-1]), np.uint8)
    kept = sizes > 0
    out[ends[1:][kept] - 1] = _LASTS[data[kept]]  # overwritten with the same byte if the character has one byte
    out[ends[:-1][kept]] = _FIRSTS[data[kept]]
    return Units(out, ends[units.offsets], units.counts)


def alphabet(units: Units) -> Alphabet:
    """All 256 characters, whether or not they occur in the mapped units."""
    by_char = c_train.count_chars(units)
    return Alphabet({ord(c): int(by_char[ord(c)]) for c in byte_level.CHARACTERS}, None, 1.0)


# ---------------------------------------------------------------------------------------------------- models ----


def of_merges(trainer: BpeTrainer, n_characters: int, special: list[bytes]) -> Vocabulary:
    """The model of the trainer's merges. n_characters: the number of distinct characters in the trainer's units, whose
    symbols precede the symbols of the merges."""
    names = [item.decode() for item in trainer.pieces().items()]
    symbols, _ = trainer.merges()
    first_byte, first_merge = len(special), len(special) + 256
    sides = symbols.astype(np.int64) - n_characters + first_merge
    for side, edge in ((0, 0), (1, -1)):  # a symbol of one character is the first or the last of the piece
        for k in np.flatnonzero(symbols[:, side] < n_characters).tolist():
            sides[k, side] = first_byte + byte_level.bytes_of(names[k][edge])[0]
    made = np.arange(first_merge, first_merge + len(names), dtype=np.int64)
    merges = np.concatenate((sides[:, 0], sides[:, 1], made))
    pieces = [bytes([byte]) for byte in range(256)] + list(map(byte_level.bytes_of, names))
    return _pack("bpe", pieces, special, merges=merges)


def first_merges(vocabulary: Vocabulary, n_special: int, n_merges: int) -> Tokenizer:
    """The BPE model after its first n_merges merges."""
    pieces = vocabulary.pieces
    assert vocabulary.merges is not None
    merges = vocabulary.merges.reshape(3, -1)[:, :n_merges].reshape(-1)
    end = n_special + 256 + n_merges
    return from_vocabulary(_pack("bpe", pieces[n_special:end], pieces[:n_special], merges=merges))


def of_scores(scored: list[Piece], special: list[bytes]) -> Vocabulary:
    """The Unigram model of these pieces of mapped units, which include the 256 bytes."""
    scores = {byte_level.bytes_of(piece.decode()): score for piece, score in scored}
    others = [piece for piece in scores if len(piece) > 1]
    pieces = [bytes([byte]) for byte in range(256)] + others
    lowest = min(scores.values())
    values = [lowest] * len(special) + [scores[piece] for piece in pieces]
    return _pack("unigram", pieces, special, scores=np.array(values, np.float64))


def _pack(kind: str, pieces: list[bytes], special: list[bytes], **more: Any) -> Vocabulary:
    types = np.array([CONTROL] * len(special) + [NORMAL] * len(pieces), np.uint8)
    return Vocabulary.pack(
        [*special, *pieces], np.arange(len(special) + len(pieces), dtype=np.int64), eod_id=0,
        eod_piece=special[0].decode(), name=f"byte-level {kind}", kind=kind, flags=byte_level.flags_of(kind),
        types=types, special={"eos": 0}, **more,
    )  # fmt: skip


def format_of(out: str | os.PathLike[str], to: str | None) -> str:
    """`to`, or the format inferred from the name of the file."""
    suffix = Path(out).suffix.lower()
    to = to or {".json": "huggingface", ".utk": "native", ".unitok": "native"}.get(suffix)
    if to not in FORMATS:
        raise OptionError(
            f"{os.fspath(out)}: name a byte-level model NAME.json (Hugging Face's tokenizer.json) or NAME.utk (native);"
            " SentencePiece's format cannot represent it"
        )
    return to


def save(vocabulary: Vocabulary, training: Training, to: str | None) -> Tokenizer:
    """Return the model, and write its file if `training.out` is set."""
    if training.out is None:
        return from_vocabulary(vocabulary)
    if format_of(training.out, to) == "huggingface":
        return training.write({training.out: writer.write(vocabulary)})
    return training.write({training.out: native_file.write(vocabulary.build(), vocabulary.about(training.out.stem))})
