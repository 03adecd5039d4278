"""Tokenizer: text to ids and back. The class that everything else here is built around."""

from __future__ import annotations

import codecs
import hashlib
import json
import operator
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pyunitok import _ffi
from pyunitok._ffi import Ids, Offsets
from pyunitok.errors import IdError, ModelFormatError, VocabularyError
from pyunitok.packed import Packed, as_bytes
from pyunitok.sampling import Sampling
from pyunitok.vocab import nfc
from pyunitok.vocab.vocabulary import NORMAL, USER_DEFINED, About

if TYPE_CHECKING:
    from pyunitok.vocab.huggingface.preparation import Preparation

Engine = Literal["double-array", "hat"]


def _show_bytes(error: UnicodeError) -> tuple[str, int]:
    """Shows bytes that are no valid UTF-8 as <0xE3>, as SentencePiece names its byte pieces."""
    assert isinstance(error, UnicodeDecodeError)
    return "".join(f"<0x{byte:02X}>" for byte in error.object[error.start : error.end]), error.end


def _replace_bytes(error: UnicodeError) -> tuple[str, int]:
    """U+FFFD for each byte that is no valid UTF-8, as SentencePiece; "replace" makes one for several."""
    assert isinstance(error, UnicodeDecodeError)
    return "\ufffd" * (error.end - error.start), error.end


def _bytes_of(error: UnicodeError) -> tuple[bytes, int]:
    """The bytes that lone surrogates stand for, U+DC00 + byte: see prepare/decoders.py."""
    assert isinstance(error, UnicodeEncodeError)
    return bytes(ord(c) & 0xFF for c in error.object[error.start : error.end]), error.end


codecs.register_error("pyunitok.show", _show_bytes)
codecs.register_error("pyunitok.bytes", _bytes_of)
codecs.register_error("pyunitok.replace", _replace_bytes)

_SPACE = "\u2581".encode()
ALGORITHMS = {"longest": "longest-prefix", "unigram": "unigram", "bpe": "bpe", "char": "char", "word": "word"}


class Tokenizer(Sampling):
    """A model and what is needed to use it. Immutable: shared by threads, survives fork, pickles by content.

    >>> tok = Tokenizer.from_pieces([bytes([b]) for b in range(256)] + ["th", "the"])
    >>> tok.encode("the thing").tolist()
    [257, 32, 256, 105, 110, 103]
    >>> tok.decode([257, 33])
    'the!'

    model  the C model, for the rooms of this package
    name   the vocabulary's; path: the file it came from, or None
    """

    def __init__(self, model: _ffi.Model, about: About, *, path: str | None = None) -> None:
        """For from_file, from_pieces and default, which are how a Tokenizer is made."""
        self.model = model
        self.about = about
        self._scratches: list[_ffi.Scratch] = []  # idle ones; append and pop are atomic
        self._sha256: str | None = None
        self._denormalizer: _ffi.Normalizer | None = None
        self._preparation: Preparation | None = None
        self._is_nfc = about.prepare == nfc.PREPARE
        if about.prepare is not None and not self._is_nfc:
            from pyunitok.vocab.huggingface import (
                preparation,  # models of Hugging Face only: it takes a while to import
            )

            try:
                self._preparation = preparation.Preparation(about, model)
            except VocabularyError as error:
                raise ModelFormatError(f"what is to prepare texts (`prepare`) is wrong: {error}") from None
        self.name = about.name
        self.path = path

    # ------------------------------------------------------------------------------------------------- making ---

    @classmethod
    def from_file(
        cls, path: str | os.PathLike[str], *, engine: Engine = "double-array", cpu: str | None = None
    ) -> Tokenizer:
        """Open a model file, recognised by its content: native, RWKV World text or JSON, SentencePiece,
        BytePiece, Hugging Face's tokenizer.json.

        engine  "double-array" (the default) or, for greedy longest prefix, "hat"; the same ids
        cpu     None for the best that this processor has, or "portable", "sse2", "avx2", "avx512", "neon"; the same ids

        Raises FileNotFoundError, VocabularyError or ModelFormatError (naming file and line or byte), CpuError.
        A native file is mapped into memory, not read: replace it by a new file, never overwrite it in place.
        """
        from pyunitok.vocab import open_model

        model, about = open_model(Path(path), engine=engine, cpu=cpu)
        return cls(model, about, path=os.fspath(path))

    @classmethod
    def default(cls, *, engine: Engine = "double-array", cpu: str | None = None) -> Tokenizer:
        """The RWKV World vocabulary of the installed distribution pyrwkv-tokenizer (`pip install 'pyunitok[rwkv]'`)."""
        from pyunitok.vocab import rwkv

        tokenizer = cls.from_file(rwkv.find_installed(), engine=engine, cpu=cpu)
        tokenizer.name = "rwkv-world"
        return tokenizer

    @classmethod
    def from_pieces(
        cls,
        pieces: Mapping[bytes, int] | Mapping[str, int] | Iterable[str | bytes],
        *,
        eod: int | str | bytes | None = None,
        fallback: int | str | bytes | None = None,
        name: str = "pieces",
        engine: Engine = "double-array",
        cpu: str | None = None,
    ) -> Tokenizer:
        """A greedy longest-prefix tokenizer over these pieces.

        pieces    {piece: id}, or pieces with the ids 0, 1, 2, …; str stands for its UTF-8 bytes
        eod       the id that ends documents (a piece, or an id that may have none), or None
        fallback  what a byte becomes that no piece covers; needed only where one of the 256 bytes is no piece

        Raises VocabularyError, naming the piece, for an empty or repeated piece, an id that is repeated or not within
        0..4194303, and a byte without a piece.
        """
        from pyunitok.vocab.vocabulary import Vocabulary

        items = [as_bytes(piece) for piece in pieces]
        numbers = pieces.values() if isinstance(pieces, Mapping) else range(len(items))
        try:
            ids = np.array([operator.index(number) for number in numbers], np.int64)
        except OverflowError:
            raise VocabularyError(f"{name}: an id is not within 0..{_ffi.WIDE_ID_MAX}") from None

        def id_of(special: int | str | bytes | None, role: str) -> int | None:
            if special is None:
                return None
            if not isinstance(special, str | bytes):
                if not 0 <= operator.index(special) <= _ffi.WIDE_ID_MAX:
                    raise VocabularyError(f"{name}: the {role} {special} is not within 0..{_ffi.WIDE_ID_MAX}")
                return operator.index(special)
            piece = as_bytes(special)
            if piece not in items:
                raise VocabularyError(f"{name}: the {role} {special!r} is none of the pieces")
            return int(ids[items.index(piece)])

        eod_id, fallback_id = id_of(eod, "eod"), id_of(fallback, "fallback")
        eod_piece = None if eod_id is None else "<eod>"
        vocabulary = Vocabulary.pack(
            items, ids, eod_id=eod_id, eod_piece=eod_piece, fallback_id=fallback_id, name=name
        )
        return cls(vocabulary.build(engine=engine, cpu=cpu), vocabulary.about(name))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the native form: it opens by memory-mapping, with nothing to rebuild."""
        from pyunitok.vocab import native

        native.save(path, self.model, self.about)

    def __reduce__(self) -> tuple[Any, ...]:
        from pyunitok.vocab import native

        image = bytes(native.write(self.model, self.about))
        return _unpickle, (image, self.path, self.engine)

    # ----------------------------------------------------------------------------------------------- encoding ---

    def encode(self, text: str | bytes, *, special: bool = True, add_special: bool = False) -> Ids:
        """dtype[n]: the ids of one document. Any bytes encode; a str with a lone surrogate raises UnicodeEncodeError.

        The reference of the model's format decides them: RWKV's TRIE_TOKENIZER, sentencepiece, bytepiece, tokenizers.
        O(n). For models of Hugging Face, which alone have such tokens and a template:
            special      False: special tokens in the text are text (encode_special_tokens of tokenizers)
            add_special  True: the ids of the file's template around those of the text
        """
        if not special or add_special:
            return self._encode_special(text, special, add_special)
        data = text.encode() if text.__class__ is str else as_bytes(text)
        try:  # self.scratch() spelled out: this path is measured in nanoseconds
            scratch = self._scratches.pop()
        except IndexError:
            scratch = self.new_scratch()
        ids: Ids = scratch.encode(data)
        self._scratches.append(scratch)
        return ids

    def _encode_special(self, text: str | bytes, special: bool, add_special: bool) -> Ids:
        if self._preparation is None:
            return self.encode(text)
        with self.scratch() as scratch:
            ids: Any = self._preparation.encode(scratch, as_bytes(text), special=special)
        template = self._preparation.template
        sides = (template.before, template.after) if add_special else ((), ())
        ret: Ids = np.concatenate((np.array(sides[0], self.dtype), ids, np.array(sides[1], self.dtype)))
        return ret

    def count(self, text: str | bytes) -> int:
        """len(encode(text)), without making the array. Raises as encode."""
        with self.scratch() as scratch:
            return scratch.count(as_bytes(text))

    def encode_batch(self, docs: Iterable[str | bytes] | Packed, threads: int | None = None) -> Packed:
        """The ids of many documents: item i is dtype[...], what encode(docs[i]) gives.

        docs     str, bytes, or a Packed of uint8
        threads  at most so many; None: one for every MiB of text, up to the cores at hand

        Raises UnicodeEncodeError as encode; TypeError for what is no text.
        """
        if threads is not None and threads < 1:
            raise ValueError(f"threads must be at least 1, not {threads}")
        if isinstance(docs, str | bytes):
            raise TypeError("encode_batch takes many documents; for one, use encode")
        from pyunitok import batch

        documents = docs if isinstance(docs, Packed) else map(as_bytes, docs)
        return batch.encode_batch(self, batch.documents_of(documents), threads)

    def encode_as_pieces(self, text: str | bytes) -> list[str]:
        """The pieces of a text. Invalid UTF-8 shows as <0xE3>; an unknown character shows as itself. Hugging Face: what
        tokenizers has as `tokens`; there, BPE shows the unknown piece."""
        data = as_bytes(text)
        if self._preparation is not None:
            with self.scratch() as scratch:
                return self._preparation.tokens(scratch, data)
        if not self.normalizes:
            return [self.id_to_piece(id_) for id_ in self.encode(data).tolist()]
        with self.scratch() as scratch:
            spans = scratch.encode_spans(data)
        normalized, ends = self.model.normalize(data), spans[:, 3].tolist()
        parts = [normalized[begin:end].decode("utf-8", "pyunitok.show") for begin, end in pairwise([0, *ends])]
        pairs = zip(spans[:, 0].tolist(), parts, strict=True)
        return [self.id_to_piece(id_) if self.model.is_byte(id_) else part for id_, part in pairs]

    def encode_with_offsets(self, text: str | bytes) -> tuple[Ids, Offsets]:
        """dtype[n] ids and int64[n, 2] spans: token k comes from text[spans[k, 0] : spans[k, 1]].

        Spans count bytes for bytes, characters for str; a token that begins or ends inside a character has all of it in
        its span. SentencePiece models give sentencepiece's spans: some are empty, and of the byte pieces of
        a character only the last has it. Slower than encode, and O(n) memory.
        """
        data = as_bytes(text)
        with self.scratch() as scratch:
            table = scratch.encode_spans(data)
        spans = table[:, 1:3].copy()
        if isinstance(text, str):
            begun = np.zeros(len(data) + 2, np.int64)  # [i]: characters that begin before byte i
            np.cumsum((np.frombuffer(data, np.uint8) & 0xC0) != 0x80, out=begun[1:-1])
            empty = spans[:, 0] == spans[:, 1]
            begins = np.where(empty, begun[spans[:, 0]], begun[spans[:, 0] + 1] - 1)
            spans = np.stack((begins, begun[spans[:, 1]]), axis=1)
        return table[:, 0].astype(self.dtype), spans

    def normalize(self, text: str | bytes) -> str:
        """The text that is encoded: SentencePiece's normalization, with U+2581 for spaces; BytePiece's NFC; that of a
        tokenizer.json, as for a text without added tokens; RWKV's as it is."""
        data = as_bytes(text)
        if self._preparation is not None:
            return self._preparation.normalize(data.decode("utf-8", "pyunitok.replace"))
        if self._is_nfc:
            data = nfc.normalize(data)
        return (self.model.normalize(data) if self.normalizes else data).decode("utf-8", "replace")

    def split(self, text: bytes | bytearray | memoryview) -> int:
        """How much of an unfinished document can be encoded now, whatever follows: see unitok_split in csrc/unitok.h.

        Where the model keeps nothing from one part to the next (greedy longest prefix), encode(text[:k]) followed by
        encode(text[k:] + more) is encode(text + more); others carry a _ffi.State. 0: not yet.
        """
        if self._preparation is not None:
            return 0
        return nfc.split(text) if self._is_nfc else self.model.split(text)

    # ----------------------------------------------------------------------------------------------- decoding ---

    def decode(
        self, ids: Iterable[int], errors: Literal["strict", "replace"] = "strict", *, skip_special: bool = True
    ) -> str:
        """The text of any sequence of ids. "strict" raises UnicodeDecodeError for bytes that are no UTF-8,
        "replace" puts U+FFFD there (for SentencePiece models one a byte, as it does); IdError.

        skip_special  models of Hugging Face: special tokens decode to nothing (skip_special_tokens of tokenizers)
        """
        if self._preparation is not None and errors == "replace":
            return self._decode_prepared(ids, skip_special, "\ufffd")
        if self._preparation is not None:
            return self._decode_prepared(ids, skip_special, None).encode("utf-8", "pyunitok.bytes").decode()
        if errors == "replace" and self.normalizes:
            array = as_ids(ids, self.dtype)
            parts = self.model.decode_batch(array, self.model.bounds_of_runs(array))
            spelled = "".join(part.tobytes().decode("utf-8", "pyunitok.replace") for part in Packed(*parts))
            return self.denormalize(spelled.encode()).decode()
        return self.decode_bytes(ids).decode("utf-8", errors)

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The bytes of any sequence of ids. IdError names the first id that has no piece, and its position.

        An eod id without a piece decodes to nothing, a fallback id without one to U+FFFD. SentencePiece: the first
        space goes if the model adds or removes such, byte pieces are their bytes, control symbols nothing; then the
        model's denormalizer, if it has one. Hugging Face: what the file's decoders make of them, no special tokens.
        """
        array = as_ids(ids, self.dtype)
        return self.decode_documents(array, np.array([0, len(array)], np.int64))[0].tobytes()

    def decode_batch(self, ids: Packed) -> Packed:
        """Many sequences of ids (a Packed of dtype, offsets [n + 1]) to a Packed of uint8, offsets [n + 1].

        IdError as decode_bytes; its position counts over all the ids.
        """
        if not isinstance(ids, Packed) or ids.data.dtype != self.dtype:
            raise TypeError(f"expected a Packed of {self.dtype}")
        return Packed(*self.decode_documents(ids.data, ids.offsets))

    def decode_documents(
        self, ids: Ids, offsets: Offsets, *, drop_last: bool = False, separator: bytes = b""
    ) -> tuple[_ffi.Bytes, Offsets]:
        """The bytes of many documents, as _ffi.Model.decode_batch: all that is decoded to bytes goes through here.

        Internal. A document must be whole where decodes_whole says so.
        """
        if self._preparation is None and self.about.denormalization is None:
            return self.model.decode_batch(ids, offsets, drop_last=drop_last, separator=separator)
        data, bounds = self.model.decode_batch(ids, offsets, drop_last=drop_last)  # names an id without a meaning
        if self._preparation is None:
            parts = [self.denormalize(data[a:b].tobytes()) + separator for a, b in pairwise(bounds.tolist())]
        else:
            ends = (offsets[1:] - drop_last).tolist()
            items = [ids[begin:end].tolist() for begin, end in zip(offsets.tolist(), ends, strict=False)]
            texts = [self._preparation.decode(item, True) for item in items]
            parts = [text.encode("utf-8", "pyunitok.bytes") + separator for text in texts]
        packed = Packed.from_documents(parts)
        return packed.data, packed.offsets

    def reference(self, text: bytes) -> bytes:
        """What decode_bytes(encode(text)) must give, to verify by.

        The text, where the model is lossless. Its normalized form with spaces for U+2581, where that is certain to come
        back. Else what encoding and decoding leave of it: unknown characters, for instance, are lost.
        """
        if self.lossless:
            return text
        if self._is_nfc:
            return nfc.normalize(text)
        if not self._keeps_normalized:
            return self.decode_bytes(self.encode(text))
        spaced = self.model.normalize(text).replace(_SPACE, b" ")
        if self.model.info.flags & _ffi.MODEL_FLAGS["remove_extra_whitespaces"]:
            spaced = spaced.lstrip(b" ")
        elif self.model.info.flags & _ffi.MODEL_FLAGS["add_dummy_prefix"]:
            spaced = spaced.removeprefix(b" ")
        return self.denormalize(spaced)

    @cached_property
    def _keeps_normalized(self) -> bool:
        """Whether every normalized text comes back from its ids, U+2581 as a space.

        Byte pieces spell what no piece covers, but U+2581 that they spell does not become a space: so it must be a
        piece, and words, which are spelled whole, are out. Where spaces are removed, the decoder takes one U+2581 off
        each piece that a text begins with: so none may begin with two.
        """
        flags, known = self.model.info.flags, _ffi.MODEL_FLAGS
        is_plain = self.normalizes and self._preparation is None and self.kind != "word"
        if not is_plain or not flags & known["byte_fallback"] or not flags & known["escape_whitespaces"]:
            return False
        spec = self.model.spec()
        data, bounds = spec["data"].tobytes(), spec["offsets"].tolist()
        types = [t for t, a, b in zip(spec["types"], bounds, bounds[1:], strict=False) if data[a:b] == _SPACE]
        if not set(types) & {NORMAL, USER_DEFINED}:
            return False
        return not flags & known["remove_extra_whitespaces"] or not any(data.startswith(2 * _SPACE, a) for a in bounds)

    def _decode_prepared(self, ids: Iterable[int], skip_special: bool, broken: str | None) -> str:
        """With `broken` for each byte that is part of no character; None: as a lone surrogate."""
        assert self._preparation is not None
        array = as_ids(ids, self.dtype)
        self.model.decode_batch(array, np.array([0, len(array)], np.int64))  # names an id without a meaning
        text = self._preparation.decode(array.tolist(), skip_special)
        return text if broken is None else re.sub("[\udc00-\udcff]", broken, text)

    def denormalize(self, data: bytes) -> bytes:
        if self.about.denormalization is None:
            return data
        if self._denormalizer is None:
            charsmap, flags = self.about.denormalization
            self._denormalizer = _ffi.Normalizer(charsmap, [], flags)
        return self._denormalizer.normalize(data)

    # ---------------------------------------------------------------------------------------------- vocabulary ---

    @property
    def vocab_size(self) -> int:
        """1 + the largest id, eod and fallback included: the rows that an embedding needs."""
        return int(self.model.info.n_ids)

    def __len__(self) -> int:
        return self.vocab_size

    @property
    def eod_id(self) -> int | None:
        """The id that ends documents, or None."""
        return None if self.model.info.eod_id < 0 else int(self.model.info.eod_id)

    @property
    def fallback_id(self) -> int | None:
        """What a byte becomes that no piece covers; None if every byte has a piece."""
        return None if self.model.info.fallback_id < 0 else int(self.model.info.fallback_id)

    @property
    def kind(self) -> str:
        """How it encodes: "longest", "unigram", "bpe", "char" or "word"."""
        return next(name for name, number in _ffi.KINDS.items() if number == self.model.info.kind)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of its ids: uint16, or uint32 where the largest does not fit."""
        return self.model.dtype

    @property
    def algorithm(self) -> str:
        """What decides the ids, with a version: tokens made by another are not comparable."""
        return f"{ALGORITHMS[self.kind]} 1"

    @property
    def normalizes(self) -> bool:
        """Whether texts are normalized before they are encoded."""
        return self.kind != "longest" and not self.model.info.flags & _ffi.MODEL_FLAGS["bytes"]

    @property
    def decodes_whole(self) -> bool:
        """Whether the ids of a document must be decoded together: for SentencePiece, the first space is not as others;
        denormalizers and the decoders of a tokenizer.json see the whole text."""
        return self._preparation is not None or self.normalizes

    @property
    def lossless(self) -> bool:
        """Whether decode_bytes(encode(x)) == x for every x. No SentencePiece model is: U+2581 comes back
        as a space; nor BytePiece: what comes back is in Unicode's form NFC."""
        return self.kind == "longest" and all(self.model.find(bytes([byte])) >= 0 for byte in range(256))

    @property
    def unk_id(self) -> int | None:
        """What an unknown character becomes, or None."""
        return self.about.special.get("unk")

    @property
    def bos_id(self) -> int | None:
        """Beginning of sentence, or None."""
        return self.about.special.get("bos")

    @property
    def eos_id(self) -> int | None:
        """End of sentence, or None."""
        return self.about.special.get("eos")

    @property
    def pad_id(self) -> int | None:
        """Padding, or None."""
        return self.about.special.get("pad")

    @property
    def engine(self) -> str:
        """What finds the longest piece: "double-array" or "hat"."""
        return next(name for name, number in _ffi.ENGINES.items() if number == self.model.info.engine)

    @property
    def cpu(self) -> str:
        """The instruction set in use."""
        return next(name for name, number in _ffi.CPUS.items() if number == self.model.info.cpu)

    @property
    def memory_bytes(self) -> int:
        """What the model holds; each thread that encodes holds some 4 MiB more, for Unigram 16 MiB."""
        return int(self.model.info.memory_bytes)

    @property
    def max_piece_bytes(self) -> int:
        """The longest piece."""
        return int(self.model.info.max_piece_bytes)

    def pieces(self) -> Packed:
        """A Packed of uint8 by id; empty for an id that has no piece."""
        return Packed(*self.model.pieces())

    @property
    def sha256(self) -> str:
        """Of the vocabulary itself (pieces, ids, special ids), whichever file it came from."""
        if self._sha256 is None:
            digest = hashlib.sha256(f"pyunitok {self.kind} 1\n".encode())
            if self.kind == "longest":
                data, offsets = self.model.pieces()
                digest.update(np.array([self.model.info.eod_id, self.model.info.fallback_id], "<i8").tobytes())
                digest.update(offsets.astype("<i8").tobytes())
                digest.update(data.tobytes())
            else:
                digest.update(memoryview(self.model.save())[_ffi.CHECKED_FROM :])
                digest.update(json.dumps(self.about.to_json() | {"name": ""}, sort_keys=True).encode())
            self._sha256 = digest.hexdigest()
        return self._sha256

    def id_to_bytes(self, id_: int) -> bytes:
        """The bytes that an id stands for; empty for an eod that is no piece. IdError if it has no meaning."""
        piece = self.model.piece(id_) if 0 <= id_ < self.vocab_size else None
        return self.decode_bytes([id_]) if piece is None else piece

    def id_to_piece(self, id_: int) -> str:
        """The piece as text; bytes that are no valid UTF-8 show as <0xE3>. IdError if the id has no meaning."""
        if id_ == self.eod_id and self.model.piece(id_) is None:
            return self.about.eod_piece or "<eod>"
        return self.id_to_bytes(id_).decode("utf-8", "pyunitok.show")

    def piece_to_id(self, piece: str | bytes) -> int | None:
        """The id of exactly this piece, or None. A str may also be what id_to_piece shows: <0xE3>, the eod's name."""
        id_ = self.model.find(as_bytes(piece))
        if id_ < 0 and isinstance(piece, str):
            if piece == self.about.eod_piece:
                return self.eod_id
            id_ = self.model.find(_unshow(piece))
        return None if id_ < 0 else id_

    def __repr__(self) -> str:
        return f"Tokenizer({self.name!r}, vocab_size={self.vocab_size}, engine={self.engine!r}, cpu={self.cpu!r})"

    def new_scratch(self) -> _ffi.Scratch:
        """What a thread needs to encode. For the rooms of this package."""
        if self._preparation is not None:
            from pyunitok.vocab.huggingface import preparation

            return preparation.Scratch(self.model, self._preparation)
        return nfc.Scratch(self.model) if self._is_nfc else _ffi.Scratch(self.model)

    @contextmanager
    def scratch(self) -> Iterator[_ffi.Scratch]:
        """What a thread needs to encode: an idle one, or new. For the rooms of this package."""
        try:
            scratch = self._scratches.pop()
        except IndexError:
            scratch = self.new_scratch()
        try:
            yield scratch
        finally:
            self._scratches.append(scratch)


def as_ids(ids: Iterable[int], dtype: np.dtype[Any]) -> Ids:
    """dtype[n] from any sequence of integers; IdError names the first that does not fit, and its position."""
    array = ids if isinstance(ids, np.ndarray) else _array_of(ids)
    if array.dtype == dtype and array.ndim == 1:
        return np.ascontiguousarray(array)
    if isinstance(ids, np.ndarray) and (array.dtype.kind == "O" or array.size == 0):
        array = _array_of(array.tolist())  # objects may be no integers; an empty array is float64 unless told otherwise
    if array.ndim != 1 or array.dtype.kind not in "iuO":
        raise TypeError(f"ids must be a sequence of integers, not {array.dtype}{list(array.shape)}")
    largest = np.iinfo(dtype).max
    wrong = np.flatnonzero((array < 0) | (array > largest))
    if len(wrong):
        raise IdError(f"id {array[wrong[0]]} at position {wrong[0]}: ids lie within 0..{largest}")
    return array.astype(dtype)


def _array_of(ids: Iterable[int]) -> np.ndarray[Any, Any]:
    items: Sequence[int] = ids if isinstance(ids, list | tuple | range) else list(ids)
    for position, item in enumerate(items):
        if not isinstance(item, int | np.integer):
            raise TypeError(f"ids must be integers; position {position} holds {type(item).__name__}")
    return np.array(items, object)


def _unshow(piece: str) -> bytes:
    """The bytes of a piece as id_to_piece shows it: <0xE3> stands for the byte."""
    parts = re.split(r"<0x([0-9A-F]{2})>", piece)
    return b"".join(bytes.fromhex(part) if k % 2 else part.encode() for k, part in enumerate(parts))


def _unpickle(image: bytes, path: str | None, engine: str) -> Tokenizer:
    from pyunitok.vocab import native

    # The copy is aligned, which the bytes inside a pickle need not be.
    model, about = native.read(np.frombuffer(bytearray(image), np.uint8), "pickle", engine=engine, cpu=None)
    return Tokenizer(model, about, path=path)
