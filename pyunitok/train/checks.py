"""Checks options as sentencepiece 0.2.3 does, and lists the pieces that are not learned: unknown, control, user-defined
and byte pieces."""

from __future__ import annotations

from pyunitok.errors import TrainingOptionError
from pyunitok.train.specs import Specs
from pyunitok.vocab.vocabulary import BYTE, CONTROL, UNKNOWN, USER_DEFINED

SPACE = "\u2581".encode()
BYTE_PIECES = [b"<0x%02X>" % byte for byte in range(256)]
_RANGES = {
    "character_coverage": (0.98, 1.0), "max_sentencepiece_length": (1, 512), "num_sub_iterations": (1, 10),
    "num_threads": (1, 1024), "shrinking_factor": (0.5, 0.95), "max_sentence_length": (10, 1 << 30),
}  # fmt: skip


def check(specs: Specs, *, has_pretokenizer: bool = False, auto_coverage_in_unigram: bool = False) -> None:
    """Raise TrainingOptionError, which names an invalid option and its valid values."""
    spec, kind = specs.trainer, specs.kind
    _require(spec.vocab_size > 0, f"vocab_size is {spec.vocab_size}; it must be positive")
    _require(not (kind.is_subword and spec.use_all_vocab), "use_all_vocab is for word and char models only")
    if spec.seed_sentencepieces_file:
        _require(kind.has_scores, "seed_sentencepieces_file is for unigram models only")
    for name, (low, high) in _RANGES.items():
        value = getattr(spec, name)
        is_within = low <= (round(value, 6) if isinstance(value, float) else value) <= high
        _require(is_within, f"{name} is {value:g}; it must be within {low}..{high}")
    n = spec.input_sentence_size
    _require(not 0 < n <= 100, f"input_sentence_size is {n}; it must be 0 or over 100")
    for name in ("unk_piece", "bos_piece", "eos_piece", "pad_piece"):
        _require(bool(getattr(spec, name)), f"{name} must not be empty")
    is_known = spec.input_format in (b"", b"text", b"tsv")
    _require(is_known, f"input_format is {spec.input_format.decode()!r}; it must be text or tsv")
    if has_pretokenizer or spec.pretokenization_delimiter:
        _require(kind.is_subword, "a pretokenizer is for unigram and bpe models only")
        is_one = not (has_pretokenizer and spec.pretokenization_delimiter)
        _require(is_one, "give a pretokenizer or a pretokenization_delimiter, not both")
    if spec.auto_character_coverage:
        _require(kind.is_subword, "auto_character_coverage is for unigram and bpe models only")
        is_possible = auto_coverage_in_unigram or not kind.has_scores
        _require(is_possible, "auto_character_coverage in unigram models requires prune=sparse, without compat")
        _require(spec.byte_fallback, "auto_character_coverage requires byte_fallback")
        _require(not spec.required_chars, "auto_character_coverage and required_chars cannot be combined")
    _require(specs.normalizer.escape_whitespaces, "escape_whitespaces must be on to train a model")


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise TrainingOptionError(message)


class MetaPieces(dict[int, tuple[bytes, int]]):
    """Pieces that are not learned: id -> (piece, type)."""

    def __init__(self, specs: Specs) -> None:
        super().__init__()
        spec = specs.trainer
        self._vocab_size, self._unk = spec.vocab_size, spec.unk_piece
        for role in ("unk", "bos", "eos", "pad"):
            self._place(role, getattr(spec, f"{role}_id"), getattr(spec, f"{role}_piece"))
        if not spec.byte_fallback and not any(type_ == UNKNOWN for _, type_ in self.values()):
            raise TrainingOptionError(f"{spec.unk_piece.decode()} must have an id (unk_id), unless byte_fallback is on")
        self._given: set[bytes] = set()
        self._roles = {
            getattr(spec, f"{role}_piece"): getattr(spec, f"{role}_id")
            for role in ("pad", "eos", "bos") if getattr(spec, f"{role}_id") >= 0
        }  # fmt: skip
        for piece in spec.control_symbols:
            self._add(piece, CONTROL)
        for piece in spec.user_defined_symbols:
            self._add(piece, USER_DEFINED)
            if specs.kind.is_word and not piece.startswith(SPACE):
                self._add(SPACE + piece, USER_DEFINED)
        if spec.byte_fallback:
            for piece in BYTE_PIECES:
                self._add(piece, BYTE)

    def _place(self, role: str, id_: int, piece: bytes) -> None:
        if id_ < 0:
            return
        is_unknown = piece == self._unk
        if id_ >= self._vocab_size:
            raise TrainingOptionError(f"{role}_id is {id_}, which is not below vocab_size ({self._vocab_size})")
        if id_ in self:
            other = self[id_][0].decode("utf-8", "replace")
            raise TrainingOptionError(f"{role}_id is {id_}, which {other} already has")
        if is_unknown and any(type_ == UNKNOWN for _, type_ in self.values()):
            raise TrainingOptionError(f"{role}_piece is the same as unk_piece")
        self[id_] = piece, UNKNOWN if is_unknown else CONTROL

    def _add(self, piece: bytes, type_: int) -> None:
        name = piece.decode("utf-8", "replace")
        if piece in self._given:
            raise TrainingOptionError(f"the symbol {name} is defined twice")
        self._given.add(piece)
        if piece == self._unk:
            raise TrainingOptionError(f"{name} is the unknown piece and cannot be a control or user-defined symbol")
        if piece in self._roles:
            self[self._roles[piece]] = piece, type_
            return
        id_ = 0
        while id_ in self:
            id_ += 1
        self[id_] = piece, type_

    def symbols(self) -> list[bytes]:
        """The pieces that are not learned, which are boundaries in texts."""
        return [piece for piece, _ in self.values() if piece]
