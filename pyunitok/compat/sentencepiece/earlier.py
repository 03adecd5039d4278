"""SentencePieceProcessor: what 0.2.3 has, and what sentencepiece 0.1 and 0.2.0 had beyond that."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyunitok.compat.sentencepiece import arguments, text
from pyunitok.compat.sentencepiece.engine import Engine
from pyunitok.compat.sentencepiece.errors import read_file
from pyunitok.compat.sentencepiece.immutable import ImmutableNBestSentencePieceText
from pyunitok.compat.sentencepiece.processor import CurrentProcessor
from pyunitok.compat.sentencepiece.results import IMMUTABLE, Given, convert, with_places
from pyunitok.compat.sentencepiece.rewriting import parse_options
from pyunitok.compat.sentencepiece.spelling import in_both_spellings
from pyunitok.vocab.vocabulary import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED

_FLAGS = ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")
_BOOLEANS = {"1": True, "true": True, "True": True, "0": False, "false": False, "False": False}


@in_both_spellings
class SentencePieceProcessor(CurrentProcessor):
    """sentencepiece.SentencePieceProcessor, on top of pyunitok.Tokenizer: the same arguments, results and exceptions.

    >>> sp = SentencePieceProcessor(model_file="llama2.model")
    >>> sp.encode("Hello world", return_type=str)
    ['▁Hello', '▁world']

    The arguments of the constructor are the defaults of encode; see there. What 0.2.3 has follows its rules, the rest
    those of 0.2.0. Every method has both spellings: encode_as_ids, EncodeAsIds. Threads may share it.
    """

    # ------------------------------------------------------------------------------------------- vocabularies ---

    def set_vocabulary(self, valid_vocab: Iterable[str | bytes]) -> bool:
        """Encode with these pieces only, single characters, and pieces of other types.

        Unlike in 0.2.0 byte pieces stay what they are, and an unknown character costs what it would in a model of
        the pieces that are left.
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
        """set_vocabulary of the pieces in a file, one a line, a tab and how often it was seen: `threshold` or more."""
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
                    raise RuntimeError(f"{name} cannot be changed: only {', '.join(_FLAGS)} can")
                if str(value) not in _BOOLEANS:
                    raise RuntimeError(f"{name} is True or False, not {value!r}")
                setattr(proto.normalizer_spec, name, _BOOLEANS[str(value)])

        return self._change(change)

    def _change(self, change: Any) -> bool:
        """Load the model that `change` makes of a copy of this one's proto."""
        model = self._loaded.model
        proto = type(model.proto).FromString(self._loaded.serialize())
        change(proto)
        self._engine = Engine.read(proto.SerializeToString(), model.name)
        return True

    # ----------------------------------------------------------------------------------------------- options ----

    def set_encode_extra_options(self, extra_option: str) -> bool:
        """What is done to all tokens from now on: "bos", "eos", "reverse", "unk", several with ":" between them."""
        self._encode_options = ()
        self._encode_options = parse_options(extra_option, self._loaded)
        return True

    def set_decode_extra_options(self, extra_option: str) -> bool:
        """As set_encode_extra_options, done to what is given to decode."""
        self._decode_options = ()
        self._decode_options = parse_options(extra_option, self._loaded)
        return True

    # ------------------------------------------------------------------------------------ samples and scores ----

    def sample_encode_and_score(
        self, input: Any, out_type: Any = None, add_bos: bool | None = None, add_eos: bool | None = None,
        reverse: bool | None = None, emit_unk_piece: bool | None = None, num_samples: int | None = None,
        alpha: float | None = None, wor: bool | None = None, include_best: bool | None = None,
    ) -> Any:  # fmt: skip
        """num_samples (1) tokenizations of a text, drawn with probabilities ~ exp(alpha * score), alpha 1.0; or of each
        of a list of texts: (tokens, logarithm of the probability) pairs, or one NBestSentencePieceText.

        wor: without replacement. include_best: the best one among them, for which wor must be set.
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
                results = convert(Given(found), rewriting, kind)
                return [(result, encoded.score) for result, encoded in zip(results, found, strict=True)]
            encoded = with_places(Given(found), rewriting)
            if kind == "immutable_proto":
                return ImmutableNBestSentencePieceText(encoded)
            if kind not in ("serialized_proto", "proto"):
                raise RuntimeError(f"unknown output type {kind}")
            return text.serialize_nbest(encoded)

        return [encode(item) for item in input] if isinstance(input, list) else encode(input)

    def sample_encode_and_score_as_ids(
        self, input: Any, num_samples: Any = None, alpha: Any = None, **kwargs: Any
    ) -> Any:
        return self.sample_encode_and_score(input, int, num_samples=num_samples, alpha=alpha, **kwargs)

    def sample_encode_and_score_as_pieces(
        self, input: Any, num_samples: Any = None, alpha: Any = None, **kwargs: Any
    ) -> Any:
        return self.sample_encode_and_score(input, str, num_samples=num_samples, alpha=alpha, **kwargs)

    def sample_encode_and_score_as_serialized_proto(
        self, input: Any, num_samples: Any = None, alpha: Any = None, **kwargs: Any
    ) -> Any:
        return self.sample_encode_and_score(input, "serialized_proto", num_samples=num_samples, alpha=alpha, **kwargs)

    def sample_encode_and_score_as_immutable_proto(
        self, input: Any, num_samples: Any = None, alpha: Any = None, **kwargs: Any
    ) -> Any:
        return self.sample_encode_and_score(input, "immutable_proto", num_samples=num_samples, alpha=alpha, **kwargs)

    def calculate_entropy(self, input: Any, alpha: float, num_threads: int | None = None) -> Any:
        """The entropy, in nats, of the tokenizations of a text with probabilities ~ exp(alpha * score)."""
        engine, alpha = self._loaded, arguments.float32_of(alpha, "alpha")
        texts = input if isinstance(input, list) else [input]
        ret = [engine.entropy(arguments.text_of(item), alpha) for item in texts]
        return ret if isinstance(input, list) else ret[0]

    # ------------------------------------------------------------------------------------------------ protos ----

    def encode_as_serialized_proto(self, input: Any, **kwargs: Any) -> Any:
        return self.encode(input, return_type="serialized_proto", **kwargs)

    def sample_encode_as_serialized_proto(
        self, input: Any, nbest_size: Any = None, alpha: Any = None, **kwargs: Any
    ) -> Any:
        return self.encode(
            input, return_type="serialized_proto", nbest_size=nbest_size, alpha=alpha, enable_sampling=True, **kwargs
        )

    def nbest_encode_as_serialized_proto(self, input: Any, nbest_size: Any = None, **kwargs: Any) -> Any:
        return self.nbest_encode(input, nbest_size=nbest_size, return_type="serialized_proto", **kwargs)

    def decode_ids_as_serialized_proto(self, input: Any, **kwargs: Any) -> Any:
        return self.decode(input, return_type="serialized_proto", **kwargs)

    decode_pieces_as_serialized_proto = decode_ids_as_serialized_proto

    def encode_as_immutable_proto(self, input: Any, **kwargs: Any) -> Any:
        """A ImmutableSentencePieceText, or a list of them."""
        return self.encode(input, return_type=IMMUTABLE, **kwargs)

    def sample_encode_as_immutable_proto(
        self, input: Any, nbest_size: int | None = None, alpha: float | None = None, **kwargs: Any
    ) -> Any:
        return self.encode(
            input, return_type=IMMUTABLE, nbest_size=nbest_size, alpha=alpha, enable_sampling=True, **kwargs
        )

    def nbest_encode_as_immutable_proto(self, input: Any, nbest_size: int | None = None, **kwargs: Any) -> Any:
        """A ImmutableNBestSentencePieceText, or a list of them."""
        return self.nbest_encode(input, nbest_size=nbest_size, return_type=IMMUTABLE, **kwargs)

    def decode_ids_as_immutable_proto(self, input: Any, **kwargs: Any) -> Any:
        return self.decode(input, return_type=IMMUTABLE, **kwargs)

    decode_pieces_as_immutable_proto = decode_ids_as_immutable_proto
