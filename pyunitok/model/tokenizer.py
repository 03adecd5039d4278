"""Tokenizer converts text to ids and back."""

from __future__ import annotations

import hashlib
import json
import operator
import os
import struct
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from pyunitok._c import library
from pyunitok._c import model as c_model
from pyunitok.errors import ModelFormatError, VocabularyError
from pyunitok.model import batch
from pyunitok.model.codec import Codec, Errors
from pyunitok.model.ids import as_batch, as_ids
from pyunitok.model.pieces import TokenizerPieces
from pyunitok.model.sampling import TokenizerSampling
from pyunitok.packed import Ids, Offsets, Packed, as_bytes
from pyunitok.vocab import known, native, open_model, utf8
from pyunitok.vocab.huggingface.scratch import RulesScratch
from pyunitok.vocab.patterns import NO_OPTIONS, ReadOptions
from pyunitok.vocab.vocabulary import About, Vocabulary

Engine = Literal["double-array", "hat"]


class Tokenizer(TokenizerSampling, TokenizerPieces):
    """A model, ready for use. Immutable: threads may share it; it survives a fork and pickles by content.

    >>> tok = Tokenizer.from_pieces([bytes([b]) for b in range(256)] + ["th", "the"])
    >>> tok.encode("the thing").tolist()
    [257, 32, 256, 105, 110, 103]
    >>> tok.decode([257, 33])
    'the!'

    name          the name of the vocabulary
    path          the file or folder that it came from, or None
    read_options  the pattern and the special tokens that from_file was given
    codec         for use by other modules of this package; it may change in any release
    """

    def __init__(
        self, model: c_model.Model | None = None, about: About | None = None, *, path: str | None = None,
        read_options: ReadOptions = NO_OPTIONS,
    ) -> None:  # fmt: skip
        """Called only by from_file, from_pieces and default; use these to create a Tokenizer."""
        if not isinstance(model, c_model.Model) or about is None:
            raise TypeError(
                "create a Tokenizer with Tokenizer.default(), Tokenizer.from_file(path) or "
                "Tokenizer.from_pieces(pieces)"
            )
        self.codec = Codec(model, about)
        self.name = about.name
        self.path = path
        self.read_options = read_options

    # ------------------------------------------------------------------------------------------------- making ---

    @classmethod
    def from_file(
        cls, path: str | os.PathLike[str], *, pattern: str | None = None,
        special_tokens: Mapping[str, int] | None = None, engine: Engine = "double-array", cpu: str | None = None,
    ) -> Tokenizer:  # fmt: skip
        """Open a model file: native, RWKV World text or JSON, SentencePiece, BytePiece, Hugging Face's tokenizer.json,
        tiktoken's ranks, tekken.json, or vocab.json with merges.txt; or a folder that contains one. The format is
        detected from the content. If no file has that name, "unitok-v1" means default(), and "rwkv-world" the
        vocabulary of the pyrwkv-tokenizer package.

        Two options supply settings that some files, such as tiktoken's, do not contain (published files are
        recognised):
            pattern         the pre-tokenizer: gpt2, cl100k, llama3, qwen2, o200k, … (PATTERNS in vocab/patterns.py), or
                            a regular expression in tiktoken's dialect
            special_tokens  {text: id}; encode() finds them in texts

        engine  "double-array" (the default) or, for greedy longest prefix, "hat"; the ids do not depend on it
        cpu     the instruction set: "portable", "sse2", "avx2", "avx512" or "neon"; None: the best that this processor
                supports; the ids do not depend on it

        Raises FileNotFoundError; VocabularyError or ModelFormatError, naming the file and the line or byte; CpuError.
        A native file is memory-mapped: to replace it, rename a new file over it; never overwrite it in place.
        """
        found = known.find(path)
        if found == known.FILE:
            return cls.default(engine=engine, cpu=cpu)
        options = ReadOptions(pattern, special_tokens)
        model, about = open_model(found or Path(path), options=options, engine=engine, cpu=cpu)
        if found:
            about = replace(about, name=os.fspath(path))
        return cls(model, about, path=os.fspath(found or path), read_options=options)

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str], **options: Any) -> Tokenizer:
        """Open the model in a local folder; nothing is downloaded. Options and errors are those of from_file.

        The model is the first of these that exists: tokenizer.json; tekken.json; a file of ranks (*.tiktoken,
        tiktoken.model, tokenizer.model); vocab.json with merges.txt; a SentencePiece tokenizer.model. The special
        tokens and the pattern of files of ranks and vocab.json come from tokenizer_config.json and similar files.
        """
        if not Path(folder).is_dir():
            raise ModelFormatError(f"{os.fspath(folder)!r} is not a folder; models are read from local folders only")
        return cls.from_file(folder, **options)

    @classmethod
    def default(cls, *, engine: Engine = "double-array", cpu: str | None = None) -> Tokenizer:
        """The vocabulary unitok-v1, which this package includes. Its ids never change."""
        return cls(*open_model(known.FILE, engine=engine, cpu=cpu))

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

        pieces    {piece: id}, or pieces that get the ids 0, 1, 2, …; a str stands for its UTF-8 bytes
        eod       the piece or id that ends documents, or None; an id need not have a piece
        fallback  the piece or id for bytes that no piece covers; required unless all 256 bytes are pieces

        Raises VocabularyError, naming the piece, for an empty or repeated piece, an id that is repeated or not within
        0..4194303, and a byte without a piece.
        """
        items = [as_bytes(piece) for piece in pieces]
        numbers = pieces.values() if isinstance(pieces, Mapping) else range(len(items))
        try:
            ids = np.array([operator.index(number) for number in numbers], np.int64)
        except OverflowError:
            raise VocabularyError(f"{name}: an id is not within 0..{library.WIDE_ID_MAX}") from None

        def id_of(special: int | str | bytes | None, role: str) -> int | None:
            if special is None:
                return None
            if not isinstance(special, str | bytes):
                if not 0 <= operator.index(special) <= library.WIDE_ID_MAX:
                    raise VocabularyError(f"{name}: the {role} {special} is not within 0..{library.WIDE_ID_MAX}")
                return operator.index(special)
            piece = as_bytes(special)
            if piece not in items:
                raise VocabularyError(f"{name}: the {role} {special!r} is not one of the pieces")
            return int(ids[items.index(piece)])

        eod_id, fallback_id = id_of(eod, "eod"), id_of(fallback, "fallback")
        eod_piece = None if eod_id is None else "<eod>"
        vocabulary = Vocabulary.pack(
            items, ids, eod_id=eod_id, eod_piece=eod_piece, fallback_id=fallback_id, name=name
        )
        return cls(vocabulary.build(engine=engine, cpu=cpu), vocabulary.about(name))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a native file, which can be memory-mapped and opens without building tables."""
        native.save(path, self.codec.model, self.codec.about)

    def __reduce__(self) -> tuple[Any, ...]:
        image = bytes(native.write(self.codec.model, self.codec.about))
        return _unpickle, (image, self.path, self.engine)

    # ----------------------------------------------------------------------------------------------- encoding ---

    def encode(self, text: str | bytes, *, special: bool = True, add_special: bool = False) -> Ids:
        """dtype[n]: the ids of one document. Accepts any bytes; a str with a lone surrogate raises UnicodeEncodeError.

        The ids equal those of the reference for the model's format: RWKV's TRIE_TOKENIZER, sentencepiece, bytepiece or
        tokenizers. Time: O(n). Only for Hugging Face models:
            special      False: encode special tokens in the text as plain text (encode_special_tokens of tokenizers)
            add_special  True: apply the file's template, which adds ids before and after the ids of the text
        """
        if not special or add_special:
            return self._encode_special(text, special, add_special)
        return self.codec.encode(text.encode() if text.__class__ is str else as_bytes(text))

    def _encode_special(self, text: str | bytes, special: bool, add_special: bool) -> Ids:
        rules = self.codec.rules
        if rules is None:
            return self.encode(text)
        with self.codec.scratch() as scratch:
            return rules.encode(cast(RulesScratch, scratch), as_bytes(text), special=special, add_special=add_special)

    def __call__(self, text: Any) -> Any:
        """encode() of a text; encode_batch() of a list of texts."""
        return self.encode(text) if isinstance(text, str | bytes) else self.encode_batch(text)

    def count(self, text: str | bytes) -> int:
        """len(encode(text)), without creating the array. Raises the same errors as encode."""
        with self.codec.scratch() as scratch:
            return scratch.count(as_bytes(text))

    def encode_batch(self, docs: Iterable[str | bytes] | Packed, threads: int | None = None) -> Packed:
        """The ids of many documents: item i equals encode(docs[i]).

        docs     an iterable of str or bytes, or a Packed of uint8
        threads  the maximum number of threads; None: one per MiB of text, up to the available cores

        Raises UnicodeEncodeError like encode, and TypeError for anything but text; both name the document.
        """
        batch.check_threads(threads)
        if isinstance(docs, str | bytes):
            raise TypeError("encode_batch takes many documents; for one, use encode")
        return batch.encode_batch(self.codec, batch.documents_of(docs), threads)

    def encode_as_pieces(self, text: str | bytes) -> list[str]:
        """The pieces of a text. Invalid UTF-8 is shown as <0xE3>, and an unknown character as itself. Hugging Face:
        the `tokens` of tokenizers, in which BPE models show the unknown piece instead."""
        codec, data = self.codec, as_bytes(text)
        if codec.rules is not None:
            with codec.scratch() as scratch:
                return codec.rules.tokens(cast(RulesScratch, scratch), data)
        ids = codec.encode_list(data)
        if not codec.normalizes or codec.model.info.unknown_id not in ids:
            try:
                return [codec.shown[id_] for id_ in ids]
            except KeyError:
                return [self.id_to_piece(id_) for id_ in ids]
        with codec.scratch() as scratch:
            spans = scratch.encode_spans(data)
        normalized, ends = codec.model.normalize(data), spans[:, 3].tolist()
        parts = [utf8.shown(normalized[begin:end]) for begin, end in pairwise([0, *ends])]
        pairs = zip(spans[:, 0].tolist(), parts, strict=True)
        return [self.id_to_piece(id_) if codec.model.is_byte(id_) else part for id_, part in pairs]

    def encode_with_offsets(self, text: str | bytes) -> tuple[Ids, Offsets]:
        """dtype[n] ids and int64[n, 2] spans: token k comes from text[spans[k, 0] : spans[k, 1]].

        Spans count bytes if the text is bytes, and characters if it is str; the span of a token that begins or ends
        inside a character includes the complete character. SentencePiece models return sentencepiece's spans: some are
        empty, and only the last byte piece of a character has a nonempty span. Models of tokenizer.json return the
        spans of tokenizers, which must be installed unless the model is byte-level. Slower than encode, with O(n)
        memory.
        """
        data = as_bytes(text)
        with self.codec.scratch() as scratch:
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
        """The text as the model encodes it. SentencePiece: normalized, with U+2581 for spaces; BytePiece: in NFC;
        tokenizer.json: normalized as a text without added tokens; RWKV: unchanged."""
        return self.codec.normalize(as_bytes(text))

    # ----------------------------------------------------------------------------------------------- decoding ---

    def decode(self, ids: Iterable[int], errors: Errors = "strict", *, skip_special: bool = True) -> str:
        """The text of any sequence, array or tensor of integers. Raises IdError like decode_bytes. For invalid UTF-8,
        "strict" raises UnicodeDecodeError and "replace" inserts U+FFFD (for SentencePiece models one per byte, as in
        sentencepiece).

        skip_special  Hugging Face models: special tokens decode to nothing (skip_special_tokens of tokenizers)
        """
        if ids.__class__ is list and self.codec.decodes_few:  # faster for a few ids
            data = self.codec.model.decode_few(ids)
            if data is not None:
                try:
                    return data.decode()
                except UnicodeDecodeError:
                    if errors == "strict":
                        raise
        return self.codec.decode_text(as_ids(ids, self.dtype), errors, skip_special)

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The bytes of any sequence of ids. Raises IdError, which names the first id without a piece, and its position.

        An eod id without a piece decodes to nothing, a fallback id without a piece to U+FFFD. SentencePiece: the first
        space is removed if the model adds or removes such spaces, byte pieces decode to their bytes, and control
        symbols decode to nothing; then the model's denormalizer applies, if it has one. Hugging Face: the file's
        decoders apply, and special tokens decode to nothing.
        """
        return self.codec.decode_bytes(as_ids(ids, self.dtype))

    def decode_batch(
        self, batch: Packed | Iterable[Iterable[int]], errors: Errors = "strict", *, skip_special: bool = True
    ) -> list[str]:
        """The texts of many sequences of ids: a Packed of dtype, lists or arrays. Arguments and errors as in decode."""
        items = as_batch(batch, self.dtype)
        return [self.codec.decode_text(np.ascontiguousarray(ids), errors, skip_special) for ids in items]

    def decode_bytes_batch(self, batch: Packed | Iterable[Iterable[int]]) -> Packed:
        """Like decode_batch, but returns a Packed of uint8. The position in an IdError counts the ids of all items."""
        items = as_batch(batch, self.dtype)
        return Packed(*self.codec.decode_documents(items.data, items.offsets))

    # ------------------------------------------------------------------------------------------------ the model ---

    @property
    def kind(self) -> str:
        """"longest", "unigram", "bpe", "char" or "word"; for a tokenizer.json also "wordpiece" or "wordlevel"."""
        return self.codec.rules.kind if self.codec.rules else self.codec.model.kind.name

    @property
    def algorithm(self) -> str:
        """The algorithm that determines the ids, with a version. Ids of different algorithms are not comparable."""
        return self.codec.rules.algorithm if self.codec.rules else self.codec.model.kind.algorithm

    @property
    def lossless(self) -> bool:
        """Whether decode_bytes(encode(x)) == x for every x. False for SentencePiece models, which decode U+2581 to a
        space, and for BytePiece models, which decode to NFC."""
        return self.codec.lossless

    @property
    def engine(self) -> str:
        """The data structure that finds the longest piece: "double-array" or "hat"."""
        return next(name for name, number in library.ENGINES.items() if number == self.codec.model.info.engine)

    @property
    def cpu(self) -> str:
        """The instruction set in use."""
        return next(name for name, number in library.CPUS.items() if number == self.codec.model.info.cpu)

    @property
    def memory_bytes(self) -> int:
        """The memory that the model uses. Each thread that encodes uses about 4 MiB more (16 MiB for Unigram), which
        the Tokenizer keeps for later calls."""
        self.codec.model.complete()
        return int(self.codec.model.info.memory_bytes)

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of the vocabulary (pieces, ids, special ids), whichever file it came from."""
        model, about = self.codec.model, self.codec.about
        digest = hashlib.sha256(f"pyunitok {self.kind} 1\n".encode())
        if model.kind.has_spec:
            digest.update(memoryview(model.save())[library.CHECKED_FROM :])
            digest.update(json.dumps(about.to_json() | {"name": ""}, sort_keys=True).encode())
        else:
            data, offsets = model.pieces()
            digest.update(struct.pack("<2q", model.info.eod_id, model.info.fallback_id))
            digest.update(offsets.astype("<i8").data)
            digest.update(data.data)
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        """Whether `other` has the same vocabulary and therefore produces the same ids for every text."""
        return self is other or (isinstance(other, Tokenizer) and self.sha256 == other.sha256)

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __repr__(self) -> str:
        return f"Tokenizer({self.name!r}, vocab_size={self.vocab_size}, engine={self.engine!r}, cpu={self.cpu!r})"


def from_vocabulary(vocabulary: Vocabulary, path: str | None = None) -> Tokenizer:
    """The Tokenizer of a vocabulary; path: the file that it came from, if any."""
    return Tokenizer(vocabulary.build(), vocabulary.about(vocabulary.name), path=path)


def _unpickle(image: bytes, path: str | None, engine: str) -> Tokenizer:
    # The copy is aligned, which the bytes inside a pickle need not be.
    model, about = native.read(np.frombuffer(bytearray(image), np.uint8), "pickle", engine=engine, cpu=None)
    return Tokenizer(model, about, path=path)
