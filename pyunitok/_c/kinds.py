"""The kinds of models, a row each. A kind of csrc/model/ needs a row here, and no other module knows it by name."""

from __future__ import annotations

from typing import NamedTuple

from pyunitok._lib import lib


class Kind(NamedTuple):
    """What the rest of the package needs to know about a kind of model.

    number            its UNITOK_KIND_ in csrc/unitok.h
    algorithm         what decides the ids, and a version: manifests record it, as other ids are not comparable
    title             for messages
    summary           for `pyunitok inspect`
    sampling          methods of sampling, the default first; none: a text can be encoded in one way only
    model_type        its number in SentencePiece's TrainerSpec; 0: SentencePiece has no such models
    byte_level_flag   set in models whose symbols are bytes, beside `bytes`; "": there are no such models
    has_spec          the model has scores, types and normalization, see Model.spec(); else it is pieces and ids alone
    carries_state     the encoder needs a State to continue within a document
    falls_back_whole  byte pieces spell a complete unknown word, not a character
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
            "greedy longest prefix, UTF-8 byte fallback", has_spec=False, carries_state=False,
        ),
        Kind(
            lib.UNITOK_KIND_UNIGRAM, "unigram", "unigram 1", "Unigram", "Unigram: the best path by score",
            ("lattice", "nbest", "viterbi"), model_type=1, byte_level_flag="float64",
        ),
        Kind(
            lib.UNITOK_KIND_BPE, "bpe", "bpe 1", "BPE", "BPE: the best pair merges first", ("dropout",), model_type=2,
            byte_level_flag="listed_merges",
        ),
        Kind(
            lib.UNITOK_KIND_WORD, "word", "word 1", "word", "every word a token", model_type=3, falls_back_whole=True
        ),
        Kind(lib.UNITOK_KIND_CHAR, "char", "char 1", "character", "every character a token", model_type=4),
    )
}  # fmt: skip


def by_number(number: int) -> Kind:
    return next(kind for kind in KINDS.values() if kind.number == number)


def by_model_type(model_type: int) -> Kind:
    return next(kind for kind in KINDS.values() if kind.model_type == model_type)
