"""The table of model kinds. Each kind in csrc/model/ has a row here, and no other module compares kind names."""

from __future__ import annotations

from typing import NamedTuple

from pyunitok._lib import lib


class Kind(NamedTuple):
    """The properties of a kind of model that the rest of the package uses.

    number            its UNITOK_KIND_ constant in csrc/unitok.h
    algorithm         the name and version of the encoding, recorded in manifests because it determines the ids
    title             the name in messages
    summary           the description in `pyunitok inspect`
    sampling          sampling methods, the default first; empty if each text has only one encoding
    model_type        the value in SentencePiece's TrainerSpec; 0 if SentencePiece has no such models
    byte_level_flag   the flag, besides `bytes`, of models whose symbols are bytes; "" if no such models exist
    has_spec          the model has scores, types and normalization (see Model.spec()), not just pieces and ids
    carries_state     the encoder needs a State to continue within a document
    falls_back_whole  byte pieces spell a complete unknown word instead of only an unknown character
    """

    number: int
    name: str
    algorithm: str
    title: str
    summary: str
    sampling: tuple[str, ...] = ()
    model_type: int = 0
    byte_level_flag: str = ""
    has_spec: bool = True
    carries_state: bool = True
    falls_back_whole: bool = False


KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            lib.UNITOK_KIND_LONGEST, "longest", "longest-prefix 1", "greedy longest-prefix",
            "greedy longest prefix with UTF-8 byte fallback", has_spec=False, carries_state=False,
        ),
        Kind(
            lib.UNITOK_KIND_UNIGRAM, "unigram", "unigram 1", "Unigram", "Unigram: the path with the best score",
            ("lattice", "nbest", "viterbi"), model_type=1, byte_level_flag="float64",
        ),
        Kind(
            lib.UNITOK_KIND_BPE, "bpe", "bpe 1", "BPE", "BPE: the best pair merges first", ("dropout",), model_type=2,
            byte_level_flag="listed_merges",
        ),
        Kind(
            lib.UNITOK_KIND_WORD, "word", "word 1", "word", "each word is a token", model_type=3, falls_back_whole=True
        ),
        Kind(lib.UNITOK_KIND_CHAR, "char", "char 1", "character", "each character is a token", model_type=4),
    )
}  # fmt: skip


def by_model_type(model_type: int) -> Kind:
    return next(kind for kind in KINDS.values() if kind.model_type == model_type)
