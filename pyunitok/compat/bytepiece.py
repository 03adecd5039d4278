"""Replaces bytepiece 0.6.3, with the same interface, pieces and ids: `from pyunitok.compat import bytepiece`.

Samples have the same distribution but come from a different random generator. A sample depends on the seed and on how
many samples this Tokenizer has already drawn, whereas bytepiece has one generator per process.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from pyunitok._c.train import Units
from pyunitok.errors import VocabularyError
from pyunitok.model import tokenizer as engine
from pyunitok.train import bytepiece as trainer
from pyunitok.train.lines import batched
from pyunitok.train.sources import SuppliedBatches
from pyunitok.vocab import bytepiece as format_
from pyunitok.vocab import convert, nfc
from pyunitok.vocab.vocabulary import Vocabulary

__version__ = "0.6.3"  # the version of bytepiece that this module replaces
_N_SPECIAL = len(format_.SPECIAL_PIECES)


def normalize(text: str, maxlen: int = 0, isolate_digits: bool = False) -> list[bytes]:
    """Normalize a text to NFC and split it, after each run of newlines, into parts that are tokenized separately.

    maxlen          the maximum number of characters in a part, not counting up to 100 newlines at its end; 0: no limit
    isolate_digits  make each digit a separate part
    """
    most, newlines = (f"{{0,{maxlen}}}", "{1,100}") if maxlen > 0 else ("*", "+")
    some = f"{{1,{maxlen}}}" if maxlen > 0 else "+"
    other = r"[^\n\d]" if isolate_digits else "."
    parts = rf"{other}{most}\n{newlines}|{other}{some}"
    if isolate_digits:
        parts = rf"\d|{parts}"
    return [part.encode() for part in re.findall(parts, nfc.normalize_text(text))]


class Tokenizer:
    """Replaces bytepiece.Tokenizer. The attribute `tokenizer` is the underlying pyunitok.Tokenizer."""

    def __init__(self, pieces: str | os.PathLike[str] | Mapping[str, list[Any]], seed: int | None = None) -> None:
        """pieces: a .model file, or its parsed JSON. Raises VocabularyError or FileNotFoundError."""
        if isinstance(pieces, Mapping):
            vocabulary = format_.vocabulary_of(format_.parse(dict(pieces), "pieces"), "pieces")
            self.tokenizer = engine.from_vocabulary(vocabulary)
        else:
            self.tokenizer = engine.Tokenizer.from_file(Path(pieces))
        self.vocab_size = int(self.tokenizer.codec.model.info.n_pieces)
        self._seed, self._n_samples = secrets.randbits(64), 0
        self.set_seed(seed)

    def set_seed(self, seed: int | None) -> None:
        """Seed all subsequent samples. None has no effect."""
        if seed is not None:
            self._seed, self._n_samples = int(seed) % (1 << 32), 0

    @property
    def _vocabulary(self) -> Vocabulary:
        return Vocabulary.of(self.tokenizer.codec.model, self.tokenizer.codec.about)

    @cached_property
    def _id2piece(self) -> dict[int, bytes | str]:
        pieces: list[bytes | str] = [*format_.SPECIAL_PIECES, *self._vocabulary.pieces[_N_SPECIAL:]]
        return dict(zip(self._vocabulary.ids.tolist(), pieces, strict=True))

    @cached_property
    def _piece2id(self) -> dict[bytes | str, int]:
        return {piece: id_ for id_, piece in self._id2piece.items()}

    def _ids(self, text: str, alpha: float) -> list[int]:
        if not isinstance(text, str):
            raise TypeError(f"expected str, not {type(text).__name__}")
        if alpha < 0:
            return self.tokenizer.encode(text).tolist()  # type: ignore[no-any-return]
        number, self._n_samples = self._n_samples, self._n_samples + 1
        return self.tokenizer.sample(  # type: ignore[no-any-return]
            text, alpha=alpha, seed=self._seed, method="lattice", document=number
        ).tolist()

    def tokenize(self, text: str, alpha: float = -1, iter: bool = False) -> list[bytes] | Iterator[bytes]:
        """Split a text into pieces: the best path if alpha is negative, else a sample with p ~ exp(alpha * score)."""
        pieces: Any = map(self._id2piece.__getitem__, self._ids(text, alpha))
        found: list[bytes] | Iterator[bytes] = pieces if iter else list(pieces)
        return found

    def encode(
        self, text: str, add_bos: bool = False, add_eos: bool = False, alpha: float = -1, iter: bool = False
    ) -> list[int] | Iterator[int]:
        """The ids of a text, optionally with <bos> and <eos>. tokenize() explains alpha."""
        ids = [1] * bool(add_bos) + self._ids(text, alpha) + [2] * bool(add_eos)
        return (id_ for id_ in ids) if iter else ids

    def decode(self, ids: Iterable[int]) -> str:
        """Decode ids, dropping ids up to 2 and invalid UTF-8. Raises KeyError for an unknown id."""
        pieces: list[bytes] = [self._id2piece[id_] for id_ in ids if id_ > 2]  # type: ignore[misc]
        return b"".join(pieces).decode(errors="ignore")

    def piece_to_id(self, p: bytes | str) -> int:
        """The id of a piece: bytes, or the str "<pad>", "<bos>" or "<eos>". Raises KeyError for anything else."""
        return self._piece2id[p]

    def id_to_piece(self, i: int) -> bytes | str:
        """The piece of an id. Raises KeyError if the id is unknown."""
        return self._id2piece[i]

    def pieces_to_ids(self, pieces: Iterable[bytes | str]) -> list[int]:
        return [self._piece2id[piece] for piece in pieces]

    def ids_to_pieces(self, ids: Iterable[int]) -> list[bytes | str]:
        return [self._id2piece[id_] for id_ in ids]

    def convert_to_sentencepiece(self, path: str | os.PathLike[str]) -> None:
        """Write a SentencePiece model. pyunitok.vocab.convert lists the differences."""
        convert.write(path, convert.sentencepiece_from_bytepiece(self._vocabulary).SerializeToString())


class Trainer:
    """Replaces bytepiece.Trainer. Produces the same pieces, ids and counts, but is faster and uses less memory.

    order must be at most 7. train() iterates over the texts only once, and `workers` is a number of threads. A bug in
    bytepiece is reproduced: after a very rare character, the rest of the line is split into single bytes (see
    pyunitok.train.bytepiece).
    """

    def __init__(
        self, order: int = 6, max_vocab_size: int | list[int] = 10000, max_piece_length: float = 36,
        min_count: int = 2, isolate_digits: bool = False, ensure_unicode: bool = True,
    ) -> None:  # fmt: skip
        """Sizes include <pad>, <bos> and <eos>. Given a list of sizes, train() trains one model of each size."""
        self.order, self.max_piece_length, self.min_count = order, max_piece_length, min_count
        self.isolate_digits, self.ensure_unicode = isolate_digits, ensure_unicode
        sizes = max_vocab_size if isinstance(max_vocab_size, list) else [max_vocab_size]
        self.max_vocab_size = sorted(sizes, reverse=True)
        self.pieces: list[dict[bytes, int]] = []  # one dict per size; empty before train()

    def train(self, texts: Iterable[str], workers: int = 1, batch_size: int = 1000) -> None:
        """Train a model of each size. Raises OptionError for a size below 259 or an order above 7, TrainingError if
        there is no text."""
        options = trainer.BytePieceOptions(
            order=self.order, max_vocab_size=tuple(self.max_vocab_size), max_piece_length=self.max_piece_length,
            min_count=self.min_count, isolate_digits=self.isolate_digits, ensure_unicode=self.ensure_unicode,
            compat=True,
        )  # fmt: skip
        job = trainer.BytePieceJob(options, threads=max(1, workers))
        models = job.run(SuppliedBatches(batched(_checked(texts), max(1, batch_size)), whole=False))
        self.pieces = list(map(trainer.counts_of, models))

    def dump(self, pieces: Mapping[bytes, int]) -> dict[str, list[Any]]:
        """The JSON of a .model file with these pieces and counts."""
        return format_.to_json(trainer.entries(pieces))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to `path`, or each of several models to PATH.SIZE."""
        several = len(self.pieces) > 1
        for pieces, size in zip(self.pieces, self.max_vocab_size, strict=False):
            name = f"{os.fspath(path)}.{size}" if several else path
            convert.write(name, format_.write(trainer.entries(pieces)))


def _checked(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"expected str, not {type(text).__name__}")
        yield text


def convert_to_bytepiece(pieces: Mapping[bytes | str, int], path: str | os.PathLike[str]) -> None:
    """Write a .model file with these pieces and counts, and add missing single bytes.

    A piece is dropped if it is never used, because shorter pieces score better; its count is then added to the counts
    of the shorter pieces.
    """
    counts = {piece if isinstance(piece, bytes) else piece.encode(): int(count) for piece, count in pieces.items()}
    for byte in range(256):
        if counts.setdefault(bytes([byte]), 1) < 1:
            raise VocabularyError(f"byte 0x{byte:02x} has count {counts[bytes([byte])]}; it must be at least 1")
    kept = sorted(piece for piece, count in counts.items() if count >= 1)
    if b"" in kept:
        raise VocabularyError("a piece is empty")
    units = Units.pack(kept, [counts[piece] for piece in kept])
    vocabulary = trainer.WeightedPieces(units, 1, lambda done, total: None)
    vocabulary.drop_unused()
    convert.write(path, format_.write(trainer.entries(trainer.counts_of(vocabulary.pieces()))))
