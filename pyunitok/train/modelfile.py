"""Makes the files of a SentencePiece trainer: the .model, as sentencepiece 0.2.3 serializes it, and the .vocab."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyunitok.errors import TrainingError
from pyunitok.train.checks import MetaPieces
from pyunitok.train.specs import Specs
from pyunitok.vocab import sentencepiece_proto

Piece = tuple[bytes, float]


def assemble(specs: Specs, meta: MetaPieces, pieces: Sequence[Piece]) -> Any:
    """A ModelProto: the meta pieces at their ids, the others in order at the remaining ids."""
    spec = specs.trainer
    proto = sentencepiece_proto.message("ModelProto")()
    seen: set[bytes] = set()
    waiting = iter(pieces)
    n_taken = 0
    for id_ in range(spec.vocab_size):
        if id_ in meta:
            piece, type_ = meta[id_]
            if len(proto.pieces) != id_:
                raise TrainingError(
                    f"only {len(proto.pieces)} pieces come before {piece.decode('utf-8', 'replace')}, whose id is {id_}"
                )
            proto.pieces.add(piece=piece, score=0.0, type=type_)
        elif (item := next(waiting, None)) is not None:
            piece, score = item
            proto.pieces.add(piece=piece, score=score)
            n_taken += 1
        else:
            continue
        if not piece or piece in seen:
            name = piece.decode("utf-8", "replace")
            raise TrainingError(f"the piece {name!r} is empty or occurs twice: as a symbol and as a piece of the text")
        seen.add(piece)
    if n_taken != len(pieces):
        raise TrainingError(f"{len(pieces)} pieces do not fit in a vocabulary of {spec.vocab_size}")
    check_size(specs, len(proto.pieces))
    proto.trainer_spec.CopyFrom(spec)
    if not spec.hard_vocab_limit or specs.kind.ignores_limit:
        proto.trainer_spec.vocab_size = len(proto.pieces)
    proto.normalizer_spec.CopyFrom(specs.normalizer)
    if specs.denormalizer.normalization_rule_tsv:
        proto.denormalizer_spec.CopyFrom(specs.denormalizer)
    return proto


def check_size(specs: Specs, n_pieces: int) -> None:
    """Raise TrainingError if hard_vocab_limit requires a different number of pieces."""
    spec = specs.trainer
    if spec.hard_vocab_limit and not specs.kind.ignores_limit and n_pieces != spec.vocab_size:
        raise TrainingError(
            f"vocab_size is too high ({spec.vocab_size}) for this text: set it to {n_pieces} or less, or turn"
            " hard_vocab_limit off to get a smaller model"
        )


def vocabulary_text(proto: Any) -> bytes:
    """The text of the .vocab file: a line for each piece, followed by a tab and its score unless the spec omits
    scores."""
    with_scores = proto.trainer_spec.vocabulary_output_piece_score
    lines = [piece.piece + (b"\t%b" % f"{piece.score:g}".encode() if with_scores else b"") for piece in proto.pieces]
    return b"".join(line + b"\n" for line in lines)
