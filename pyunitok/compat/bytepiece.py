"""Stands in for bytepiece 0.6.3: `from pyunitok.compat import bytepiece`, the same calls, the same pieces and ids.

Samples are drawn from the same distribution, not by the same generator: they depend on the seed and on how many this
Tokenizer drew before, where bytepiece has one generator for the whole process.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from pyunitok._c.train import Units
from pyunitok.errors import VocabularyError
from pyunitok.model import tokenizer as engine
from pyunitok.train import bytepiece as trainer
from pyunitok.train.lines import batched
from pyunitok.train.sources import SuppliedBatches
from pyunitok.vocab import bytepiece as format_
from pyunitok.vocab import convert, forms
from pyunitok.vocab.vocabulary import Vocabulary

__version__ = "0.6.3"  # of the package that this replaces
_N_SPECIAL = len(format_.SPECIAL_PIECES)


def normalize(text: str, maxlen: int = 0, isolate_digits: bool = False) -> list[bytes]:
    """The text in NFC, as the parts that are tokenized one by one: each ends with a run of newlines.

    maxlen          parts have at most so many characters before up to 100 newlines; 0: no limit
    isolate_digits  a digit is a part of its own
    """
    most, newlines = (f"{{0,{maxlen}}}", "{1,100}") if maxlen > 0 else ("*", "+")
    some = f"{{1,{maxlen}}}" if maxlen > 0 else "+"
    other = r"[^\n\d]" if isolate_digits else "."
    parts = rf"{other}{most}\n{newlines}|{other}{some}"
    if isolate_digits:
        parts = rf"\d|{parts}"
    return [part.encode() for part in re.findall(parts, forms.normalize("NFC", text))]


class Tokenizer:
    """bytepiece.Tokenizer over a pyunitok.Tokenizer, which is `tokenizer`."""

    def __init__(self, pieces: str | os.PathLike[str] | Mapping[str, list[Any]], seed: int | None = None) -> None:
        """pieces: a .model file, or what json.load gives of one. Raises VocabularyError, FileNotFoundError."""
        if isinstance(pieces, Mapping):
            vocabulary = format_.vocabulary_of(format_.parse(dict(pieces), "pieces"), "pieces")
            self.tokenizer = engine.from_vocabulary(vocabulary)
        else:
            self.tokenizer = engine.Tokenizer.from_file(Path(pieces))
        self.vocab_size = int(self.tokenizer.codec.model.info.n_pieces)
        self._seed, self._n_samples = secrets.randbits(64), 0
        self.set_seed(seed)

    def set_seed(self, seed: int | None) -> None:
        """Samples drawn from here on depend on this number; None leaves them as they are."""
        if seed is not None:
            self._seed, self._n_samples = int(seed) % (1 << 32), 0

    @cached_property
    def _id2piece(self) -> dict[int, bytes | str]:
        spec = self.tokenizer.codec.model.spec()
        data, bounds = spec["data"].tobytes(), spec["offsets"].tolist()
        pieces: list[bytes | str] = [data[i:j] for i, j in pairwise(bounds)]
        pieces[:_N_SPECIAL] = format_.SPECIAL_PIECES
        return dict(zip(spec["ids"].tolist(), pieces, strict=True))

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
        """The pieces of a text. alpha: below 0 the best ones; else a sample, p ~ exp(alpha * score)."""
        pieces: Any = map(self._id2piece.__getitem__, self._ids(text, alpha))
        found: list[bytes] | Iterator[bytes] = pieces if iter else list(pieces)
        return found

    def encode(
        self, text: str, add_bos: bool = False, add_eos: bool = False, alpha: float = -1, iter: bool = False
    ) -> list[int] | Iterator[int]:
        """The ids of a text, between <bos> and <eos> if asked for; alpha as in tokenize."""
        ids = [1] * bool(add_bos) + self._ids(text, alpha) + [2] * bool(add_eos)
        return (id_ for id_ in ids) if iter else ids

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids; those up to 2 and invalid UTF-8 are left out. KeyError for an unknown id."""
        pieces: list[bytes] = [self._id2piece[id_] for id_ in ids if id_ > 2]  # type: ignore[misc]
        return b"".join(pieces).decode(errors="ignore")

    def piece_to_id(self, p: bytes | str) -> int:
        """KeyError if it is not a piece. Pieces are bytes; "<pad>", "<bos>" and "<eos>" are str."""
        return self._piece2id[p]

    def id_to_piece(self, i: int) -> bytes | str:
        """KeyError if the id is unknown."""
        return self._id2piece[i]

    def pieces_to_ids(self, pieces: Iterable[bytes | str]) -> list[int]:
        return [self._piece2id[piece] for piece in pieces]

    def ids_to_pieces(self, ids: Iterable[int]) -> list[bytes | str]:
        return [self._id2piece[id_] for id_ in ids]

    def convert_to_sentencepiece(self, path: str | os.PathLike[str]) -> None:
        """Write a SentencePiece model: see pyunitok.vocab.convert for what it cannot hold."""
        vocabulary = Vocabulary.of(self.tokenizer.codec.model, self.tokenizer.codec.about)
        convert.write(path, convert.sentencepiece_from_bytepiece(vocabulary).SerializeToString())


class Trainer:
    """bytepiece.Trainer: the same pieces, ids and counts, sooner and in less memory.

    order may be 7 at most; the texts are iterated over once; `workers` are threads. Its fault is here as well: after a
    rare character a line falls into single bytes (see pyunitok.train.bytepiece).
    """

    def __init__(
        self, order: int = 6, max_vocab_size: int | list[int] = 10000, max_piece_length: float = 36,
        min_count: int = 2, isolate_digits: bool = False, ensure_unicode: bool = True,
    ) -> None:  # fmt: skip
        """Sizes include <pad>, <bos> and <eos>. A list of sizes makes a model of each."""
        self.order, self.max_piece_length, self.min_count = order, max_piece_length, min_count
        self.isolate_digits, self.ensure_unicode = isolate_digits, ensure_unicode
        sizes = max_vocab_size if isinstance(max_vocab_size, list) else [max_vocab_size]
        self.max_vocab_size = sorted(sizes, reverse=True)
        self.pieces: list[dict[bytes, int]] = []  # of each size, once trained

    def train(self, texts: Iterable[str], workers: int = 1, batch_size: int = 1000) -> None:
        """OptionError for sizes below 259 and orders beyond 7, TrainingError if there is no text."""
        options = trainer.BytePieceOptions(
            order=self.order, max_vocab_size=tuple(self.max_vocab_size), max_piece_length=self.max_piece_length,
            min_count=self.min_count, isolate_digits=self.isolate_digits, ensure_unicode=self.ensure_unicode,
            compat=True,
        )  # fmt: skip
        job = trainer.BytePieceJob(options, threads=max(1, workers))
        models = job.run(SuppliedBatches(batched(_checked(texts), max(1, batch_size)), whole=False))
        self.pieces = [dict(zip(model.items(), model.counts.tolist(), strict=True)) for model in models]

    def dump(self, pieces: Mapping[bytes, int]) -> dict[str, list[Any]]:
        """What a .model file of these pieces and counts holds."""
        return format_.to_json(_numbered(pieces))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `path`; of several sizes, PATH.SIZE each."""
        several = len(self.pieces) > 1
        for pieces, size in zip(self.pieces, self.max_vocab_size, strict=False):
            name = f"{os.fspath(path)}.{size}" if several else path
            convert.write(name, format_.write(_numbered(pieces)))


def _checked(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"expected str, not {type(text).__name__}")
        yield text


def convert_to_bytepiece(pieces: Mapping[bytes | str, int], path: str | os.PathLike[str]) -> None:
    """Write a .model file of these pieces and counts, and of the single bytes that are missing.

    A piece that other pieces beat in its own text can never be used: it is left out and its count goes to them.
    """
    counts = {piece if isinstance(piece, bytes) else piece.encode(): int(count) for piece, count in pieces.items()}
    for byte in range(256):
        if counts.setdefault(bytes([byte]), 1) < 1:
            raise VocabularyError(f"byte 0x{byte:02x} has the count {counts[bytes([byte])]}; it must be 1 at least")
    kept = sorted(piece for piece, count in counts.items() if count >= 1)
    if b"" in kept:
        raise VocabularyError("a piece is empty")
    units = Units.pack(kept, [counts[piece] for piece in kept])
    vocabulary = trainer.WeightedPieces(units, 1, lambda done, total: None)
    vocabulary.drop_unused()
    convert.write(path, format_.write(trainer.entries(vocabulary.pieces())))


def _numbered(counts: Mapping[bytes, int]) -> format_.Entries:
    ordered = sorted(counts.items(), key=lambda item: (len(item[0]), item[0]))
    return {piece: (i + _N_SPECIAL, count) for i, (piece, count) in enumerate(ordered)}
