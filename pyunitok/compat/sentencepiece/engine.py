"""Engine is a loaded model with the operations of sentencepiece's C++ library, based on pyunitok.Tokenizer."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from pyunitok._c import library
from pyunitok._c import text as c_text
from pyunitok.compat.sentencepiece.alignment import align
from pyunitok.compat.sentencepiece.text import EncodedText
from pyunitok.model.sampling import nbest_spans, sample_spans
from pyunitok.model.tokenizer import from_vocabulary
from pyunitok.packed import Offsets
from pyunitok.vocab import sentencepiece, utf8
from pyunitok.vocab.vocabulary import BYTE, UNKNOWN, USER_DEFINED

NBEST_MAX = 512
SPACE = "\u2581".encode()
_NO_PIECE = 0  # the type of an id that is not in the model

seeds = random.Random()  # generates one seed per sample; SetRandomGeneratorSeed reseeds it


@dataclass(frozen=True)
class Sampling:
    """nbest: sample from that many best tokenizations, or from all if negative. Ignored by BPE models, which use
    BPE-dropout."""

    nbest: int
    alpha: float


class Engine:
    """A loaded model. Immutable; threads may share it."""

    def __init__(self, model: sentencepiece.SentencePieceModel) -> None:
        vocabulary = model.vocabulary()
        self.model = model
        self.tokenizer = from_vocabulary(vocabulary)
        self.types: list[int] = model.types.tolist()
        self.n_pieces = len(self.types)
        self.strips_space = bool(
            model.flags & (library.MODEL_FLAGS["add_dummy_prefix"] | library.MODEL_FLAGS["remove_extra_whitespaces"])
        )
        self.removes_spaces = bool(model.flags & library.MODEL_FLAGS["remove_extra_whitespaces"])
        self._normalizer: c_text.Normalizer | None = None

    @classmethod
    def read(cls, data: bytes, name: str) -> Engine:
        return cls(sentencepiece.read(data, name, is_built=True))

    @cached_property
    def find(self) -> Callable[[bytes], int]:
        """Maps a piece to its id, or to the unknown id."""
        return self.model.tables.find

    @cached_property
    def is_text(self) -> bool:
        """Whether all pieces and the surface of the unknown piece are valid UTF-8."""
        data, offsets = self.model.packed
        starts = data[offsets[:-1]]
        has_split_character = ((starts & 0xC0) == 0x80).any()
        return not has_split_character and utf8.is_valid(data.tobytes()) and utf8.is_valid(self.model.unk_surface)

    def type_of(self, id_: int) -> int:
        return self.types[id_] if 0 <= id_ < len(self.types) else _NO_PIECE

    def is_unknown(self, id_: int) -> bool:
        return id_ == self.model.unk_id or self.type_of(id_) == UNKNOWN

    @property
    def unknown_piece(self) -> bytes:
        """The name of the unknown piece, which need not be in the vocabulary."""
        name: bytes = self.model.trainer.unk_piece or b"<unk>"
        return name

    @cached_property
    def pieces(self) -> list[str]:
        """The pieces, indexed by id. Raises UnicodeDecodeError if one is not valid UTF-8."""
        if not self.is_text:
            return [piece.decode() for piece in self.model.pieces]
        data, offsets = self.model.packed
        n_begun = np.cumsum((data & 0xC0) != 0x80)  # [i]: characters that begin in bytes 0..i
        bounds = n_begun[offsets[1:] - 1].tolist() if len(data) else []
        text = data.tobytes().decode()
        return [text[begin:end] for begin, end in pairwise([0, *bounds])]

    @cached_property
    def scores(self) -> list[float]:
        """The scores, indexed by id."""
        scores: list[float] = self.model.scores.tolist()
        return scores

    @cached_property
    def ids_by_text(self) -> dict[str, int]:
        """find() as a dict whose keys are str, without unknown pieces."""
        if not self.is_text:
            return {}
        found = dict(zip(self.pieces, range(self.n_pieces), strict=True))
        if len(found) < self.n_pieces or "\0" in found:  # rare: duplicate or disabled pieces
            tables = self.model.tables
            found = {piece.decode(): id_ for table in (tables.texts, tables.marks) for piece, id_ in table.items()}
        unknown = {self.model.unk_id, *np.flatnonzero(self.model.types == UNKNOWN).tolist()} - {-1}
        for id_ in unknown:
            if found.get(self.pieces[id_]) == id_:
                del found[self.pieces[id_]]
        return found

    def texts_by_ids(self, ids: list[Any]) -> list[str] | None:
        """The pieces with these ids; None if an id is invalid."""
        try:
            table = self.pieces
            return [table[id_] for id_ in ids] if not ids or min(ids) >= 0 else None
        except (TypeError, ValueError, IndexError):
            return None

    def ids_by_texts(self, pieces: list[Any]) -> list[int] | None:
        """The ids of pieces; None if a piece is unknown or not a str."""
        try:
            return list(map(self.ids_by_text.__getitem__, pieces))
        except (KeyError, TypeError):
            return None

    # ------------------------------------------------------------------------------------ one text, a few ids ----

    def ids_of(self, text: str) -> list[int]:
        """The ids of one text. Raises UnicodeEncodeError for a lone surrogate."""
        return self.tokenizer.codec.encode_list(text.encode())

    def strings_of(self, text: str) -> list[str] | None:
        """The pieces of one text; None unless is_text. Raises UnicodeEncodeError for a lone surrogate."""
        if not self.is_text:
            return None
        ids, table = self.ids_of(text), self.pieces
        ret = [table[id_] for id_ in ids]
        if self.model.unknown_id in ids:
            for k, piece in self._unknown_pieces(text.encode(), ids):
                ret[k] = piece.decode()
        return ret

    def _unknown_pieces(self, text: bytes, ids: list[int]) -> list[tuple[int, bytes]]:
        """(index, text) of the unknown pieces among the ids of a text."""
        unknown, codec = self.model.unknown_id, self.tokenizer.codec
        tokens = [k for k, id_ in enumerate(ids) if id_ == unknown]
        with codec.scratch() as scratch:
            bounds = [0, *scratch.encode_spans(text)[:, 3].tolist()]
        normalized = codec.model.normalize(text)
        return [(k, normalized[bounds[k] : bounds[k + 1]]) for k in tokens]

    def text_of(self, items: list[Any]) -> str | None:
        """Decode a short list of ids or pieces. Returns None if this fails or requires the general decoder."""
        codec = self.tokenizer.codec
        if not codec.decodes_few or not self.is_text:
            return None
        try:
            if items[0].__class__ is str:
                items = list(map(self.ids_by_text.__getitem__, items))
            data = codec.model.decode_few(items)
        except (KeyError, TypeError):
            return None
        return None if data is None else replace_invalid(data).decode()

    def serialize(self) -> bytes:
        """The contents of a model file. Pieces that sentencepiece.read() disabled are marked as UNUSED."""
        proto, types = self.model.proto, self.types
        if any(piece.type != type_ for piece, type_ in zip(proto.pieces, types, strict=True)):
            proto = type(proto).FromString(proto.SerializeToString())
            for piece, type_ in zip(proto.pieces, types, strict=True):
                piece.type = type_
        data: bytes = proto.SerializeToString()
        return data

    # ----------------------------------------------------------------------------------------------- encoding ---

    def ids(self, texts: Sequence[bytes], threads: int, sampling: Sampling | None = None) -> list[list[int]]:
        """The ids of many texts. If `threads` is negative, the number of threads is chosen automatically."""
        if sampling is not None:
            return [self._sample_ids(text, sampling) for text in texts]
        if len(texts) == 1:
            return [self.tokenizer.encode(texts[0]).tolist()]
        packed = self.tokenizer.encode_batch(texts, None if threads < 0 else max(1, threads))
        ids: list[int] = packed.data.tolist()
        return [ids[begin:end] for begin, end in pairwise(packed.offsets.tolist())]

    def encoded(self, texts: Iterable[bytes], sampling: Sampling | None = None) -> list[EncodedText]:
        """Texts with their tokens and token positions."""
        if sampling is not None:
            return [self._sample(text, sampling) for text in texts]
        with self.tokenizer.codec.scratch() as scratch:
            return [self._place(text, scratch.encode_spans(text)) for text in texts]

    def pieces_of(self, texts: Sequence[bytes], threads: int, sampling: Sampling | None = None) -> list[list[bytes]]:
        if sampling is not None:
            return [item.pieces for item in self.encoded(texts, sampling)]
        all_ids = self.ids(texts, threads)
        return [self._pieces_of(text, ids) for text, ids in zip(texts, all_ids, strict=True)]

    def _pieces_of(self, text: bytes, ids: list[int]) -> list[bytes]:
        """The pieces with these ids; each unknown piece is replaced by its text."""
        table = self.model.pieces
        ret = [table[id_] for id_ in ids]
        if self.model.unknown_id in ids:
            for k, piece in self._unknown_pieces(text, ids):
                ret[k] = piece
        return ret

    def _place(self, text: bytes, spans: Offsets, score: float | None = None) -> EncodedText:
        normalized = self.tokenizer.codec.model.normalize(text)
        ids, begins, ends, piece_ends = spans.T.tolist()
        pieces = [normalized[begin:end] for begin, end in pairwise([0, *piece_ends])]
        surfaces: list[bytes | None] = [text[begin:end] for begin, end in zip(begins, ends, strict=True)]
        for k in np.flatnonzero(self.model.types[spans[:, 0]] == BYTE).tolist():
            if len(pieces[k]) == 1 and begins[k] == ends[k] and self._is_inside(normalized, piece_ends[k]):
                surfaces[k] = None
            pieces[k] = self.model.pieces[ids[k]]
        return EncodedText(text, pieces, ids, begins, ends, surfaces, score)

    def _is_inside(self, normalized: bytes, at: int) -> bool:
        """Whether byte pieces that end at `at` end inside a character or, in word models, inside a word."""
        if at == len(normalized):
            return False
        if not self.model.kind.falls_back_whole:
            return normalized[at] & 0xC0 == 0x80
        return not normalized.startswith(SPACE, at)  # words begin there even with treat_whitespace_as_suffix

    # ---------------------------------------------------------------------------------- n-best and sampling ------

    def _check_sampling(self, sampling: Sampling) -> None:
        if not np.isfinite(sampling.alpha) or sampling.alpha < 0:
            raise RuntimeError(f"alpha must be finite and at least 0, not {sampling.alpha}")
        if sampling.nbest > NBEST_MAX:
            raise RuntimeError(f"nbest_size must be at most {NBEST_MAX}, not {sampling.nbest}")
        if not self.model.kind.sampling:
            raise _unavailable("SampleEncode", self.model)

    def _sample_ids(self, text: bytes, sampling: Sampling) -> list[int]:
        self._check_sampling(sampling)
        nbest = sampling.nbest if "nbest" in self.model.kind.sampling else -1
        ids: list[int] = self.tokenizer.sample(
            text, alpha=sampling.alpha, seed=seeds.getrandbits(63), nbest=nbest
        ).tolist()
        return ids

    def _sample(self, text: bytes, sampling: Sampling) -> EncodedText:
        """Like _sample_ids, but with token positions."""
        self._check_sampling(sampling)
        if "lattice" not in self.model.kind.sampling:
            normalized, offsets = self.normalize_with_offsets(text)
            return self._place(text, align(self.model, self._sample_ids(text, sampling), normalized, offsets))
        if sampling.nbest in (0, 1):
            return self.encoded([text])[0]
        if sampling.nbest < 0:
            seed = seeds.getrandbits(63)
            return self._place(text, sample_spans(self.tokenizer.codec, text, 1, alpha=sampling.alpha, seed=seed)[0][0])
        paths = nbest_spans(self.tokenizer.codec, text, sampling.nbest)
        scores = np.array([score for _, score in paths]) * sampling.alpha
        (chosen,) = seeds.choices(paths, np.exp(scores - scores.max()).tolist())
        return self._place(text, chosen[0])

    def check_lattice(self, what: str) -> None:
        """Raises RuntimeError unless this is a Unigram model, because other models have no lattice."""
        if "lattice" not in self.model.kind.sampling:
            raise _unavailable(what, self.model)

    def _check_nbest(self, n: int) -> None:
        if n > NBEST_MAX:
            raise RuntimeError(f"nbest_size must be at most {NBEST_MAX}, not {n}")
        self.check_lattice("NBestEncode")

    def nbest_ids(self, text: bytes, n: int) -> list[list[int]]:
        self._check_nbest(n)
        return [ids.tolist() for ids in self.tokenizer.nbest(text, n)]

    def nbest(self, text: bytes, n: int) -> list[EncodedText]:
        """The n best tokenizations with scores, best first. For n = 1 the score is 0, as in sentencepiece."""
        self._check_nbest(n)
        found = nbest_spans(self.tokenizer.codec, text, n)
        return [self._place(text, spans, score if n > 1 else 0.0) for spans, score in found]

    def sample_and_score(
        self, text: bytes, n: int, alpha: float, *, replacement: bool, include_best: bool
    ) -> list[EncodedText]:
        """n samples, with log probabilities as scores."""
        self.check_lattice("SampleEncodeAndScore")
        found = sample_spans(
            self.tokenizer.codec, text, n, alpha=alpha, seed=seeds.getrandbits(63), replacement=replacement,
            include_best=include_best,
        )  # fmt: skip
        return [self._place(text, spans, score) for spans, score in found]

    def entropy(self, text: bytes, alpha: float) -> float:
        self.check_lattice("CalculateEntropy")
        return float(np.float32(self.tokenizer.entropy(text, alpha=alpha)))

    # ----------------------------------------------------------------------------------------------- decoding ---

    def denormalize(self, text: bytes) -> bytes:
        return self.tokenizer.codec.denormalize(text)

    # -------------------------------------------------------------------------------------------- normalizing ---

    def normalize(self, text: bytes) -> bytes:
        return self.tokenizer.codec.model.normalize(text)

    def normalize_with_offsets(self, text: bytes) -> tuple[bytes, list[int]]:
        if self._normalizer is None:
            symbols = [p for p, t in zip(self.model.pieces, self.types, strict=True) if t == USER_DEFINED]
            flags = self.model.flags
            self._normalizer = c_text.Normalizer(self.model.normalization.charsmap, symbols, flags)
        normalized, offsets = self._normalizer.normalize_with_offsets(text)
        return normalized, offsets.tolist()


def replace_invalid(text: bytes) -> bytes:
    """Replace each invalid byte with U+FFFD, because byte pieces can spell invalid UTF-8."""
    return text if text.isascii() or utf8.is_valid(text) else utf8.replaced(text).encode()


def _unavailable(what: str, model: sentencepiece.SentencePieceModel) -> RuntimeError:
    return RuntimeError(f"{what} is not available for the current model, which is of type {model.kind.name}")
