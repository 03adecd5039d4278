"""SentencePieceProcessor has the methods of sentencepiece 0.2.3, and those of 0.1 and 0.2.0 that 0.2.3 dropped."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyunitok.compat.sentencepiece import arguments, text
from pyunitok.compat.sentencepiece.engine import Engine
from pyunitok.compat.sentencepiece.errors import read_file
from pyunitok.compat.sentencepiece.immutable import ImmutableNBestSentencePieceText
from pyunitok.compat.sentencepiece.processor import (
    CurrentProcessor,
    decode_as,
    encode_as,
    nbest_encode_as,
    sample_encode_as,
)
from pyunitok.compat.sentencepiece.results import IMMUTABLE, computed, convert, with_positions
from pyunitok.compat.sentencepiece.rewriting import parse_options
from pyunitok.compat.sentencepiece.spelling import in_both_spellings
from pyunitok.vocab.vocabulary import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED

_FLAGS = ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")
_BOOLEANS = {"1": True, "true": True, "True": True, "0": False, "false": False, "False": False}


def _sample_and_score_as(kind: Any) -> Any:
    return lambda self, input, num_samples=None, alpha=None, **kwargs: self.sample_encode_and_score(
        input, kind, num_samples=num_samples, alpha=alpha, **kwargs
    )


@in_both_spellings
class SentencePieceProcessor(CurrentProcessor):
    """Replaces sentencepiece.SentencePieceProcessor, with the same arguments, results and exceptions.

    >>> sp = SentencePieceProcessor(model_file="llama2.model")
    >>> sp.encode("Hello world", return_type=str)
    ['▁Hello', '▁world']

    The constructor's arguments are the defaults for encode. Methods that exist in 0.2.3 behave as in 0.2.3, all others
    as in 0.2.0. Most methods have two spellings, such as encode_as_ids and EncodeAsIds. Threads may share a processor.
    """

    # ------------------------------------------------------------------------------------------- vocabularies ---

    def set_vocabulary(self, valid_vocab: Iterable[str | bytes]) -> bool:
        """Restrict encoding to these pieces, single characters, and all unknown, control, user-defined and byte pieces.

        Unlike in 0.2.0, byte pieces remain enabled, and the score of unknown characters is derived from the enabled
        pieces only.
        """
        if not self._loaded.model.kind.sampling:
            raise RuntimeError("Vocabulary constraint is only enabled in subword units.")
        valid = set(arguments.texts_of(valid_vocab))

        def type_of(piece: bytes, type_: int) -> int:
            if type_ in (CONTROL, UNKNOWN, USER_DEFINED, BYTE) or piece == b"\0":
                return type_
            return NORMAL if piece in valid or len(piece.decode("utf-8", "replace")) == 1 else UNUSED

        return self._retype(type_of)

    def reset_vocabulary(self) -> bool:
        """Encode with all pieces again."""
        return self._retype(lambda piece, type_: NORMAL if type_ == UNUSED and piece != b"\0" else type_)

    def load_vocabulary(self, filename: Any, threshold: int) -> bool:
        """Call set_vocabulary with those pieces in a file of "PIECE<tab>COUNT" lines whose count is >= threshold."""
        valid = []
        for line in read_file(filename).decode("utf-8", "surrogateescape").splitlines():
            piece, _, frequency = line.partition("\t")
            if not piece:
                raise RuntimeError(f"{filename}: a line has no piece")
            try:
                is_frequent = int(frequency.partition("\t")[0] or 1) >= threshold
            except ValueError:
                raise RuntimeError(f"{filename}: Could not parse the frequency of {piece!r}") from None
            if is_frequent:
                valid.append(piece.encode("utf-8", "surrogateescape"))
        return self.set_vocabulary(valid)

    def _retype(self, type_of: Any) -> bool:
        def change(proto: Any) -> None:
            for piece in proto.pieces:
                piece.type = type_of(piece.piece, piece.type)

        return self._change(change)

    def override_normalizer_spec(self, **kwargs: Any) -> bool:
        """Change add_dummy_prefix, remove_extra_whitespaces or escape_whitespaces of the loaded model."""

        def change(proto: Any) -> None:
            for name, value in kwargs.items():
                if name not in _FLAGS:
                    raise RuntimeError(f"cannot override {name}; only {', '.join(_FLAGS)} can be overridden")
                if str(value) not in _BOOLEANS:
                    raise RuntimeError(f"{name} must be True or False, not {value!r}")
                setattr(proto.normalizer_spec, name, _BOOLEANS[str(value)])

        return self._change(change)

    def _change(self, change: Any) -> bool:
        """Apply `change` to a copy of the model's proto, and load the result."""
        model = self._loaded.model
        proto = type(model.proto).FromString(self._loaded.serialize())
        change(proto)
        self._engine = Engine.read(proto.SerializeToString(), model.name)
        return True

    # ----------------------------------------------------------------------------------------------- options ----

    def set_encode_extra_options(self, extra_option: str) -> bool:
        """Set options for all subsequent calls of encode: "bos", "eos", "reverse" and "unk", separated by ":"."""
        self._encode_options = ()
        self._encode_options = parse_options(extra_option, self._loaded)
        return True

    def set_decode_extra_options(self, extra_option: str) -> bool:
        """Like set_encode_extra_options, but for the input of decode."""
        self._decode_options = ()
        self._decode_options = parse_options(extra_option, self._loaded)
        return True

    # ------------------------------------------------------------------------------------ samples and scores ----

    def sample_encode_and_score(
        self, input: Any, out_type: Any = None, add_bos: bool | None = None, add_eos: bool | None = None,
        reverse: bool | None = None, emit_unk_piece: bool | None = None, num_samples: int | None = None,
        alpha: float | None = None, wor: bool | None = None, include_best: bool | None = None,
    ) -> Any:  # fmt: skip
        """Draw num_samples tokenizations (default 1) with p ~ exp(alpha * score); alpha defaults to 1.0.

        Returns (tokens, log probability) pairs or an NBestSentencePieceText; for a list of texts, one result per text.

        wor           draw without replacement
        include_best  include the best tokenization; requires wor
        """
        kind = self._return_type if out_type is None else out_type
        rewriting = self._rewriting(add_bos, add_eos, reverse, emit_unk_piece)
        n = 1 if num_samples is None else arguments.number(num_samples, "num_samples")
        if n <= 0:
            raise RuntimeError("num_samples must be positive")
        if include_best and not wor:
            raise RuntimeError('When include_best is True, We must specify "wor = True".')
        alpha = arguments.float32_of(1.0 if alpha is None else alpha, "alpha")

        def encode(item: Any) -> Any:
            found = rewriting.engine.sample_and_score(
                arguments.text_of(item), n, alpha, replacement=not wor, include_best=bool(include_best)
            )
            if kind in (int, str):
                results = convert(computed(found), rewriting, kind)
                return [(result, encoded.score) for result, encoded in zip(results, found, strict=True)]
            encoded = with_positions(computed(found), rewriting)
            if kind == "immutable_proto":
                return ImmutableNBestSentencePieceText(encoded)
            if kind not in ("serialized_proto", "proto"):
                raise RuntimeError(f"unknown output type {kind}")
            return text.serialize_nbest(encoded)

        return [encode(item) for item in input] if isinstance(input, list) else encode(input)

    sample_encode_and_score_as_ids = _sample_and_score_as(int)
    sample_encode_and_score_as_pieces = _sample_and_score_as(str)
    sample_encode_and_score_as_serialized_proto = _sample_and_score_as("serialized_proto")
    sample_encode_and_score_as_immutable_proto = _sample_and_score_as("immutable_proto")

    def calculate_entropy(self, input: Any, alpha: float, num_threads: int | None = None) -> Any:
        """The entropy, in nats, of the distribution of tokenizations with p ~ exp(alpha * score)."""
        engine, alpha = self._loaded, arguments.float32_of(alpha, "alpha")
        texts = input if isinstance(input, list) else [input]
        ret = [engine.entropy(arguments.text_of(item), alpha) for item in texts]
        return ret if isinstance(input, list) else ret[0]

    # ------------------------------------------------------------------------------------------------ protos ----

    encode_as_serialized_proto = encode_as("serialized_proto")
    sample_encode_as_serialized_proto = sample_encode_as("serialized_proto")
    nbest_encode_as_serialized_proto = nbest_encode_as("serialized_proto")
    decode_ids_as_serialized_proto = decode_pieces_as_serialized_proto = decode_as("serialized_proto")

    # These return an ImmutableSentencePieceText (nbest: ImmutableNBestSentencePieceText), or a list for a batch.
    encode_as_immutable_proto = encode_as(IMMUTABLE)
    sample_encode_as_immutable_proto = sample_encode_as(IMMUTABLE)
    nbest_encode_as_immutable_proto = nbest_encode_as(IMMUTABLE)
    decode_ids_as_immutable_proto = decode_pieces_as_immutable_proto = decode_as(IMMUTABLE)
