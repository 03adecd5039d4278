"""Byte-level BPE with a pre-tokenizer pattern, merged exactly as the BpeTrainer of tokenizers 0.23.3 merges.

    texts ─▶ pieces of the pattern, counted ─▶ merges of bytes ─▶ a model with the pattern

Each document is one text. Documents are divided between blocks only where, for this pattern, doing so provably
changes no piece, so neither block size nor threads change the result.

    ids   the special tokens   then the 256 bytes, in the order of their characters   then the pieces, best first

Special tokens in the texts are treated as text: the pattern splits them. If merges spell a special token, the last
of these merges makes that token, with its id, as in BpeTrainer. Such a model also finds that token in texts, as its
tokenizer.json does.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from pyunitok._c.library import MODEL_FLAGS
from pyunitok._c.text import Pattern
from pyunitok._c.train import Counter, SegmentStats, Splitter, Units
from pyunitok.errors import OptionError, TrainingError
from pyunitok.model.tokenizer import Tokenizer, from_vocabulary
from pyunitok.packed import ranges
from pyunitok.train import byte_level, merging
from pyunitok.train.counting import UnitCounter
from pyunitok.train.options import Option
from pyunitok.train.sources import TextSource
from pyunitok.train.trained import Rows, Trained
from pyunitok.train.trainer import Training
from pyunitok.vocab import byte_level as characters
from pyunitok.vocab import patterns
from pyunitok.vocab.huggingface import file, writer
from pyunitok.vocab.vocabulary import CONTROL, NORMAL, Vocabulary

END_OF_TEXT = "<|endoftext|>"
_SECTION = "Byte-level BPE with a pattern"
OPTIONS = [
    Option(
        "pattern", "Train as Hugging Face's BpeTrainer does: gpt2, cl100k, llama3, qwen2, o200k, or a regular"
        " expression whose matches are the words. Implies --byte-level. Of the options in the sections after Inputs,"
        " only --special-tokens and --min-frequency can be given with it; --compat and --set cannot.",
        metavar="NAME|REGEX", section=_SECTION,
    ),
    Option(
        "special_tokens", "Special tokens, which get the first ids: a,b,c. They count toward --vocab-size. Texts that"
        f" contain them are merged as by BpeTrainer. Default: {END_OF_TEXT}.", metavar="TOKENS", section=_SECTION,
    ),
]  # fmt: skip
_ALLOWED = {"pattern", "special_tokens", "min_frequency", "byte_level", "to"}
_ORDER = sorted(range(256), key=characters.CHARACTERS.__getitem__)  # the bytes in the order of their symbols
_MIN_FREQUENCY = 1
_PART_BYTES = 1 << 18


class PatternOptions(NamedTuple):
    """special: the special tokens; min_frequency: merge no pair with a lower count."""

    parts: bytes
    special: list[str]
    min_frequency: int = _MIN_FREQUENCY


def is_wanted(has_merges: bool, given: Mapping[str, Any]) -> bool:
    """Whether a pattern is given. Raises OptionError if the model has no merges, or if special tokens are given without
    a pattern.

    has_merges  see specs.ModelType
    """
    if given.get("pattern") is None:
        if given.get("special_tokens") is not None:
            raise OptionError("special_tokens requires pattern; with only byte_level, use control_symbols")
        return False
    if not has_merges:
        raise OptionError("pattern is for bpe models")
    return True


def read(given: Mapping[str, Any], all_options: Sequence[Option], vocab_size: int) -> PatternOptions:
    """The options. Raises OptionError, which names an option that conflicts with `pattern`."""
    defaults = {item.name: item.default for item in all_options}
    for name, value in given.items():
        if name not in _ALLOWED and value != defaults.get(name):
            allowed = ", ".join(sorted(_ALLOWED - {"pattern"}))
            raise OptionError(f"{name} cannot be given with pattern; only {allowed} can")
    parts = patterns.check(patterns.parts_for_tokenizers(given["pattern"]), "pattern")
    special = _names(given.get("special_tokens", END_OF_TEXT))
    needed = 256 + len(special)
    if vocab_size < needed:
        raise TrainingError(f"vocab_size is {vocab_size}, but bytes and special tokens alone need {needed}")
    return PatternOptions(parts, special, max(1, given.get("min_frequency", _MIN_FREQUENCY)))


def _names(value: str | Sequence[str]) -> list[str]:
    """A list, or comma-separated values in which double quotes protect commas."""
    names = next(csv.reader([value]), []) if isinstance(value, str) else list(value)
    for name in names:
        if not name or len(name.encode()) == 1:
            raise OptionError(f"the special token {name!r} must have at least two bytes")
        if name in characters.CHARACTERS:
            raise OptionError(f"the special token {name!r} is the name of a byte in byte-level BPE; use another name")
    return list(dict.fromkeys(names))


def run(training: Training, options: PatternOptions, to: str | None) -> Trained:
    if training.out is not None:
        byte_level.format_of(training.out, to)  # raises an error before training starts
    pattern = Pattern(options.parts)
    source = training.source(hold=False, split=pattern.last_cut)
    units, stats, left_out = _counted(training, pattern, source)
    if not len(units):
        raise TrainingError("there is no text to train on: every text is empty")
    _check_special(units, options.special)
    n_words, counted = len(units), [units]
    del units  # so that the trainer can free them
    vocabulary = _merged(training, counted, options)
    training.clock("save", 0, 0)
    tokenizer = byte_level.save(vocabulary, training, to)
    n_special = len(options.special)
    learned = vocabulary.pieces[n_special + 256 :]
    notes: Rows = [("text", f"{stats.n_bytes:,} bytes, {n_words:,} distinct words")]
    if left_out[0]:
        n_units, n, least = left_out
        rare = f"{n_units:,} words seen fewer than {least} times ({n:,} in total)"
        notes.append(("rare", f"{rare} were left out to stay within --max-memory"))
    return training.trained(
        tokenizer, learned, {"learned": len(learned), "byte": 256, "control": n_special}, notes, [], stats.n_bytes,
        source, n_merges=len(learned), first_merges=partial(first_merges, vocabulary, n_special),
    )  # fmt: skip


def _counted(
    training: Training, pattern: Pattern, source: TextSource
) -> tuple[Units, SegmentStats, tuple[int, int, int]]:
    """The pieces of all texts, from the checkpoint or the source."""
    checkpoint, clock = training.checkpoint, training.clock
    if (saved := checkpoint.load("counts")) is not None:
        arrays, (values, left_out) = saved
        source.sample += arrays["sample"].items()
        return arrays["units"], SegmentStats(**values), tuple(left_out)

    def make(counter: Counter) -> Splitter:
        return Splitter(pattern, counter)

    with UnitCounter(make, training.max_memory, checkpoint.folder) as counter:
        source.feed(counter, lambda done, total: clock("count", done, total), training.reading.options.n_threads)
        stats = counter.stats()
        clock("sort", 0, 0)
        units = counter.finish(sort=False)
        left_out = counter.left_out
    sample = Units.pack(source.sample, [0] * len(source.sample))
    checkpoint.save("counts", (vars(stats), left_out), units=units, sample=sample)
    return units, stats, left_out


def _bytes_named(special: Sequence[str]) -> dict[bytes, str]:
    """bytes -> special token, for each token that is also the byte-level name of these bytes, so that merges could
    make it."""
    names = [name for name in special if not {*name} - {*characters.CHARACTERS}]
    return {characters.bytes_of(name): name for name in names}


def _check_special(units: Units, special: Sequence[str]) -> None:
    """Raise TrainingError if words contain bytes whose name in byte-level BPE is a special token: " a" for "Ġa"."""
    tokens = {token: name for token, name in _bytes_named(special).items() if token != name.encode()}
    for begin, end in ranges(units.offsets, _PART_BYTES):
        first = int(units.offsets[begin])
        data = units.data[first : units.offsets[end]].tobytes()
        for token, name in tokens.items():
            at = -1
            while (at := data.find(token, at + 1)) >= 0:
                unit = int(np.searchsorted(units.offsets, first + at, "right")) - 1
                if first + at + len(token) <= units.offsets[unit + 1]:
                    word = units.data[units.offsets[unit] : units.offsets[unit + 1]][:64].tobytes()
                    raise TrainingError(
                        f"in byte-level BPE, the special token {name!r} is also the name of the bytes {token!r};"
                        f" the word {word!r} contains them, so merges could make the token; rename it"
                    )


def _seen(units: Units) -> list[int]:
    """The distinct bytes that occur in the units, in the order of their symbols."""
    total = np.zeros(256, np.int64)
    for begin in range(0, len(units.data), _PART_BYTES):  # bincount() converts each byte to an 8-byte integer
        total += np.bincount(units.data[begin : begin + _PART_BYTES], minlength=256)
    return [byte for byte in _ORDER if total[byte]]


def _merged(training: Training, counted: list[Units], options: PatternOptions) -> Vocabulary:
    """The model of the merges in these units. counted: a list that contains only the units, and is emptied."""
    seen = _seen(counted[0])
    n_special = len(options.special)
    reserved = {token: options.special.index(name) for token, name in _bytes_named(options.special).items()}
    trainer = merging.merge(
        None, counted, training.sizes[0] - n_special - 256, min_count=options.min_frequency,
        threads=training.reading.options.n_threads, checkpoint=training.checkpoint,
        progress=lambda done, total: training.clock("merge", done, total), reserved=[*reserved],
    )  # fmt: skip
    merged = trainer.pieces().items()
    learned = [piece for piece in merged if piece not in reserved]
    pieces = [*(name.encode() for name in options.special), *(bytes([byte]) for byte in _ORDER), *learned]
    # The first symbols are the bytes that occur in the units; then each merge makes one symbol.
    ids_of_bytes = [n_special + _ORDER.index(byte) for byte in seen]
    new_ids = count(n_special + 256)
    made = np.array([reserved[piece] if piece in reserved else next(new_ids) for piece in merged], np.int64)
    ids = np.concatenate((np.array(ids_of_bytes, np.int64), made))
    sides = ids[trainer.merges()[0].astype(np.int64)]
    merges = np.concatenate((sides[:, 0], sides[:, 1], made))
    return _pack(pieces, n_special, merges, options.parts)


def _pack(pieces: list[bytes], n_special: int, merges: Any, parts: bytes) -> Vocabulary:
    names = [piece.decode() for piece in pieces[:n_special]]
    eod_id = None if not names else names.index(END_OF_TEXT) if END_OF_TEXT in names else 0
    types = np.array([CONTROL] * n_special + [NORMAL] * (len(pieces) - n_special), np.uint8)
    ret = Vocabulary.pack(
        pieces, np.arange(len(pieces), dtype=np.int64), eod_id=eod_id,
        eod_piece=None if eod_id is None else names[eod_id], name="byte-level bpe", kind="bpe",
        flags=characters.flags_of("bpe") | MODEL_FLAGS["pattern"], types=types, merges=merges, pattern=parts,
        special={} if eod_id is None else {"eos": eod_id},
    )  # fmt: skip
    if (merges < n_special).any():  # in C, no merge makes a CONTROL piece; in a tokenizer.json, an added token may
        as_read = file.read(writer.write(ret), ret.name)
        return replace(as_read, eod_id=ret.eod_id, eod_piece=ret.eod_piece, special=ret.special)
    return ret


def first_merges(vocabulary: Vocabulary, n_special: int, n_pieces: int) -> Tokenizer:
    """The model with its first n_pieces learned pieces."""
    assert vocabulary.merges is not None
    end = n_special + 256 + n_pieces
    merges = vocabulary.merges.reshape(3, -1)
    last = np.flatnonzero(merges[2] == end - 1)  # not n_pieces - 1: some merges make special tokens
    kept = np.ascontiguousarray(merges[:, : last[0] + 1 if len(last) else None]).reshape(-1)
    return from_vocabulary(_pack(vocabulary.pieces[:end], n_special, kept, vocabulary.pattern))

