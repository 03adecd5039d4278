"""CurrentProcessor has the methods of SentencePieceProcessor in sentencepiece 0.2.3."""

from __future__ import annotations

import os
from typing import Any

from pyunitok.compat.sentencepiece import arguments
from pyunitok.compat.sentencepiece.decode_arguments import Binding, decode_any
from pyunitok.compat.sentencepiece.engine import Engine, Sampling
from pyunitok.compat.sentencepiece.errors import FileError, ModelError, read_file
from pyunitok.compat.sentencepiece.results import (
    IMMUTABLE,
    RETURN_TYPES,
    WITH_POSITIONS,
    as_nbest,
    convert,
    nbest_of,
    of_texts,
    with_positions,
)
from pyunitok.compat.sentencepiece.rewriting import Rewriting
from pyunitok.compat.sentencepiece.spelling import in_both_spellings
from pyunitok.compat.sentencepiece.text import normalized_as
from pyunitok.compat.sentencepiece.threads import threads_of
from pyunitok.compat.sentencepiece.vocabulary import ProcessorVocabulary
from pyunitok.errors import ModelFormatError, VocabularyError

KINDS = (int, str, "numpy", "proto")  # return types of ..._as_ids, ..._as_pieces, ..._as_numpy and ..._as_proto


def encode_as(kind: Any) -> Any:
    """An encode_as_... method: calls encode() with this return type."""
    return lambda self, input, **kwargs: self.encode(input, return_type=kind, **kwargs)


def sample_encode_as(kind: Any) -> Any:
    return lambda self, input, nbest_size=None, alpha=None, **kwargs: self.encode(
        input, nbest_size=nbest_size, alpha=alpha, return_type=kind, enable_sampling=True, **kwargs
    )


def nbest_encode_as(kind: Any) -> Any:
    return lambda self, input, nbest_size=None, **kwargs: self.nbest_encode(
        input, nbest_size=nbest_size, return_type=kind, **kwargs
    )


def parallel_encode_as(kind: Any) -> Any:
    return lambda self, input, **kwargs: self.parallel_encode(input, return_type=kind, **kwargs)


def decode_as(kind: Any) -> Any:
    return lambda self, input, **kwargs: self.decode(input, return_type=kind, **kwargs)


@in_both_spellings
class CurrentProcessor(ProcessorVocabulary):
    """The base of SentencePieceProcessor in earlier.py, which adds the methods of earlier versions."""

    def __init__(
        self, model_file: Any = None, model_proto: Any = None, out_type: Any = None, add_bos: bool = False,
        add_eos: bool = False, reverse: bool = False, emit_unk_piece: bool = False, enable_sampling: bool = False,
        nbest_size: int = -1, alpha: float = 0.1, num_threads: int = -1, return_type: Any = None,
    ) -> None:  # fmt: skip
        self._engine = None
        self._return_type = self._resolve(return_type, out_type, int)
        self._add_bos, self._add_eos, self._reverse = add_bos, add_eos, reverse
        self._emit_unk_piece, self._enable_sampling = emit_unk_piece, enable_sampling
        self._nbest_size, self._alpha, self._num_threads = nbest_size, alpha, num_threads
        self._encode_options: tuple[str, ...] = ()
        self._decode_options: tuple[str, ...] = ()
        if model_file or model_proto:
            self.load(model_file=model_file, model_proto=model_proto)

    Init = __init__

    # ------------------------------------------------------------------------------------------------ loading ---

    @classmethod
    def from_file(cls, model_file: Any, **kwargs: Any) -> Any:
        """Create a processor from a model file; kwargs are the other arguments of the constructor."""
        processor = cls._without_model(kwargs)
        processor.load_from_file(model_file)
        return processor

    @classmethod
    def from_proto(cls, model_proto: Any, **kwargs: Any) -> Any:
        """Like from_file, but from a ModelProto or its bytes."""
        processor = cls._without_model(kwargs)
        processor.load_from_serialized_proto(model_proto)
        return processor

    @classmethod
    def _without_model(cls, kwargs: dict[str, Any]) -> Any:
        if "model_file" in kwargs or "model_proto" in kwargs:
            raise ValueError("from_file and from_proto do not accept model_file and model_proto as keywords")
        return cls(**kwargs)

    def load(self, model_file: Any = None, model_proto: Any = None) -> bool:
        """Load a file or a proto, and return True. Raises FileError or ModelError, both of which are RuntimeErrors."""
        if model_file and model_proto:
            raise ValueError("model_file and model_proto must be exclusive.")
        if model_proto:
            return self.load_from_serialized_proto(model_proto)
        if not model_file:
            raise ValueError("Either model_file or model_proto must be specified.")
        return self.load_from_file(model_file)

    def load_from_file(self, filename: Any) -> bool:
        """See load."""
        if not filename:
            raise FileError("model file path should not be empty.")
        return self._load(read_file(filename), os.fsdecode(filename))

    def load_from_serialized_proto(self, serialized: Any) -> bool:
        """See load."""
        if hasattr(serialized, "SerializeToString"):
            serialized = serialized.SerializeToString()
        if not isinstance(serialized, bytes):
            raise TypeError(f"a serialized model must be bytes, not {type(serialized).__name__}")
        return self._load(serialized, "model_proto")

    def _load(self, data: bytes, name: str) -> bool:
        self._engine = None
        try:
            self._engine = Engine.read(data, name)
        except (ModelFormatError, VocabularyError) as error:
            raise ModelError(str(error)) from None
        return True

    def serialized_model_proto(self) -> bytes:
        """The serialized model; b"" if none is loaded."""
        return self._engine.serialize() if self._engine else b""

    def __getstate__(self) -> dict[str, Any]:
        state = {key: value for key, value in self.__dict__.items() if key != "_engine"}
        return state | {"model_proto": self.serialized_model_proto()}

    def __setstate__(self, state: Any) -> None:
        """`state` may be just the serialized model, as in pickles from sentencepiece before 0.2.2."""
        values = dict(state) if isinstance(state, dict) else {"model_proto": state}
        CurrentProcessor.__init__(self)
        model = values.pop("model_proto")
        if model:
            self.load_from_serialized_proto(model)
        self.__dict__.update(values)

    # ----------------------------------------------------------------------------------------------- encoding ---

    def encode(
        self, input: Any, add_bos: bool | None = None, add_eos: bool | None = None, reverse: bool | None = None,
        emit_unk_piece: bool | None = None, enable_sampling: bool | None = None, nbest_size: int | None = None,
        alpha: float | None = None, num_threads: int | None = None, thread_pool: Any = None, return_type: Any = None,
        out_type: Any = None, return_bytes: bool | None = None,
    ) -> Any:  # fmt: skip
        """The tokens of a text (str or bytes), or of a list of texts.

        return_type      int: ids; str, bytes: pieces; "numpy": int32[n]; "proto", "serialized_proto": a
                         SentencePieceText; "offset_mapping": a dict of ids, pieces and offsets
        out_type         an alias of return_type
        add_bos, add_eos, reverse, emit_unk_piece   modify the tokens; not supported for protos and mappings
        enable_sampling  draw one of the nbest_size best tokenizations, or of all if nbest_size is negative, with
                         p ~ exp(alpha * score); BPE: skip merges with probability alpha
        num_threads      for lists; negative: automatic. thread_pool: a ThreadPool to use instead
        return_bytes     return a mapping with bytes and byte offsets instead of str; None: do so if the text is bytes
        """
        is_usual = (
            input.__class__ is str and add_bos is None and add_eos is None and reverse is None
            and emit_unk_piece is None and enable_sampling is None and nbest_size is None and alpha is None
            and num_threads is None and thread_pool is None and return_bytes is None
            and (return_type is None or out_type is None)
        )  # fmt: skip
        if is_usual and (usual := self._encode_usual(input, return_type if out_type is None else out_type)) is not None:
            return usual
        kind = self._resolve(return_type, out_type)
        if return_bytes is not None and kind != "offset_mapping":
            raise ValueError("return_bytes is only supported when return_type='offset_mapping'")
        rewriting = self._rewriting(add_bos, add_eos, reverse, emit_unk_piece)
        enable_sampling = self._enable_sampling if enable_sampling is None else enable_sampling
        nbest_size = self._nbest_size if nbest_size is None else nbest_size
        alpha = self._alpha if alpha is None else alpha
        if enable_sampling is True and (nbest_size in (None, 0, 1) or alpha is None):
            raise ValueError("enable_sampling requires alpha, and nbest_size > 1 or nbest_size = -1 (sample from all)")
        is_batch = isinstance(input, list)
        num_threads = self._num_threads if num_threads is None else num_threads
        threads = threads_of(num_threads, thread_pool if is_batch else None)
        nbest, alpha = arguments.number(nbest_size, "nbest_size"), arguments.float32_of(alpha, "alpha")
        if kind in WITH_POSITIONS:
            rewriting.check_text()
        texts = arguments.texts_of(input) if is_batch else [arguments.text_of(input)]
        if return_bytes is None:
            return_bytes = isinstance(input[0] if is_batch and input else input, bytes)
        found = of_texts(rewriting.engine, texts, threads, Sampling(nbest, alpha) if enable_sampling else None)
        ret = convert(found, rewriting, kind, as_bytes=bool(return_bytes))
        return ret if is_batch else ret[0]

    def _encode_usual(self, text: str, kind: Any) -> Any:
        """A fast path for one text with default options. Returns None if encode must use the general path."""
        engine = self._engine
        if (
            engine is None or self._encode_options or self._enable_sampling or self._add_bos or self._add_eos
            or self._reverse or self._emit_unk_piece or self._num_threads.__class__ is not int
            or self._nbest_size.__class__ is not int or self._alpha.__class__ is not float
        ):  # fmt: skip
            return None
        if kind is None:
            kind = self._return_type
        try:
            return engine.ids_of(text) if kind is int else engine.strings_of(text) if kind is str else None
        except UnicodeEncodeError:
            return None

    def nbest_encode(
        self, input: Any, add_bos: bool | None = None, add_eos: bool | None = None, reverse: bool | None = None,
        emit_unk_piece: bool | None = None, nbest_size: int | None = None, return_type: Any = None,
        out_type: Any = None,
    ) -> Any:  # fmt: skip
        """The nbest_size best tokenizations of each text, best first. The other arguments are those of encode."""
        kind = self._resolve(return_type, out_type)
        rewriting = self._rewriting(add_bos, add_eos, reverse, emit_unk_piece)
        nbest_size = self._nbest_size if nbest_size is None else nbest_size
        n = 1 if nbest_size <= 0 else nbest_size

        def encode(text_: Any) -> Any:
            if kind == "offset_mapping":
                raise ValueError(f"unknown return_type={kind}")
            if kind in WITH_POSITIONS:
                rewriting.check_text()
            found = nbest_of(rewriting.engine, arguments.text_of(text_), arguments.number(n, "nbest_size"))
            if kind not in WITH_POSITIONS:
                return convert(found, rewriting, kind)
            return as_nbest(with_positions(found, rewriting), kind)

        return [encode(item) for item in input] if isinstance(input, list) else encode(input)

    def parallel_encode(
        self, input: Any, add_bos: bool | None = None, add_eos: bool | None = None, reverse: bool | None = None,
        emit_unk_piece: bool | None = None, chunk_len: int | None = None, num_threads: int | None = None,
        thread_pool: Any = None, return_type: Any = None, out_type: Any = None,
    ) -> Any:  # fmt: skip
        """Like encode. chunk_len, in characters, is validated but otherwise ignored. sentencepiece splits texts into
        chunks, so the tokens that it returns at chunk boundaries may differ from those that its encode returns."""
        kind = self._resolve(return_type, out_type)
        rewriting = self._rewriting(add_bos, add_eos, reverse, emit_unk_piece)
        threads = threads_of(self._num_threads if num_threads is None else num_threads, thread_pool)
        if not isinstance(chunk_len, int) or chunk_len <= 0:
            raise ValueError("chunk_len must be positive.")
        is_batch = isinstance(input, list)
        if kind == "offset_mapping" and not (is_batch and not input):
            raise ValueError(f"unknown return_type={kind}")
        texts = [arguments.text_of(item) for item in (input if is_batch else [input])]
        if not texts:
            return []
        ret = convert(of_texts(rewriting.engine, texts, threads), rewriting, kind)
        return ret if is_batch else ret[0]

    encode_as_ids, encode_as_pieces, encode_as_numpy, encode_as_proto = map(encode_as, KINDS)
    encode_as_offset_mapping = encode_as("offset_mapping")
    sample_encode_as_ids, sample_encode_as_pieces, sample_encode_as_numpy, sample_encode_as_proto = map(
        sample_encode_as, KINDS
    )
    nbest_encode_as_ids, nbest_encode_as_pieces, nbest_encode_as_numpy, nbest_encode_as_proto = map(
        nbest_encode_as, KINDS
    )
    parallel_encode_as_ids, parallel_encode_as_pieces, parallel_encode_as_numpy, parallel_encode_as_proto = map(
        parallel_encode_as, KINDS
    )
    tokenize = encode

    # ----------------------------------------------------------------------------------------------- decoding ---

    def decode(
        self, input: Any, return_type: Any = None, out_type: Any = None, num_threads: int | None = None,
        thread_pool: Any = None, return_bytes: bool | None = None,
    ) -> Any:  # fmt: skip
        """Decode an id, a piece, a sequence or array of ids or pieces, or a sequence of sequences.

        return_type   str (the default; invalid UTF-8 becomes U+FFFD), bytes, or a proto or mapping as in encode
        return_bytes  return a mapping with bytes and byte offsets

        Raises IndexError for an id that is not in the model. If the pieces are bytes, the result is bytes.
        """
        is_usual = (
            input.__class__ is list and input and return_type is None and out_type is None and num_threads is None
            and thread_pool is None and return_bytes is None and not self._decode_options
        )  # fmt: skip
        if is_usual and self._engine is not None and self._num_threads.__class__ is int:
            text = self._engine.text_of(input)
            if text is not None:
                return text
        kind = self._resolve(return_type, out_type, str)
        if return_bytes is not None and kind != "offset_mapping":
            raise ValueError("return_bytes is only supported when return_type='offset_mapping'")
        threads_of(self._num_threads if num_threads is None else num_threads, thread_pool)
        if kind in (int, "numpy"):
            raise ValueError(f"unknown return_type={kind} or input type")
        return decode_any(self._engine, input, kind, self._decode_options, bool(return_bytes))

    def decode_ids(self, input: Any, return_type: Any = None, **kwargs: Any) -> Any:
        return self.decode(input, return_type=return_type, **kwargs)

    decode_pieces = decode_ids
    decode_ids_as_proto = decode_pieces_as_proto = decode_as("proto")
    detokenize = decode

    # -------------------------------------------------------------------------------------------- normalizing ---

    def normalize(self, input: Any, with_offsets: bool | None = None) -> Any:
        """Normalize a text or a list of texts, as encode does.

        with_offsets  return (text, offsets). The offsets are the input positions of each byte (for bytes) or character
                      (for str) of the result, and of the end of the result
        """

        def normalize(value: Any) -> Any:
            data = arguments.text_of(value)
            if self._engine is None and not with_offsets:
                return value[:0]
            engine = self._loaded
            return normalized_as(value, data, engine.normalize_with_offsets if with_offsets else engine.normalize)

        return [normalize(item) for item in input] if isinstance(input, list) else normalize(input)

    # ------------------------------------------------------------------------------------------------- common ---

    @property
    def _processor(self) -> Binding:
        return Binding(self._loaded, self._decode_options)

    def _resolve(self, return_type: Any, out_type: Any, default: Any = None) -> Any:
        """The type to return. Raises ValueError if it is invalid or if both arguments are given."""
        if out_type is not None and return_type is not None:
            raise ValueError("Cannot specify both out_type and return_type. Use return_type instead.")
        kind = out_type if return_type is None else return_type
        if kind is None:
            kind = self._return_type if default is None else default
        if kind == "immutable_proto":
            raise ValueError("immutable_proto: use return_type='proto', or a method such as encode_as_immutable_proto")
        if kind is not IMMUTABLE and kind not in RETURN_TYPES:
            raise ValueError(f"Invalid return_type: {kind}. Must be one of {RETURN_TYPES}")
        return kind

    def _rewriting(self, add_bos: Any, add_eos: Any, reverse: Any, emit_unk_piece: Any) -> Rewriting:
        """The Rewriting for a call; None stands for the value passed to the constructor."""
        return Rewriting(
            self._loaded, self._encode_options,
            self._add_bos if add_bos is None else add_bos,
            self._add_eos if add_eos is None else add_eos,
            self._reverse if reverse is None else reverse,
            self._emit_unk_piece if emit_unk_piece is None else emit_unk_piece,
        )  # fmt: skip
