"""Rewriting post-processes tokens: reverses them, adds bos and eos, replaces unknown pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from pyunitok.compat.sentencepiece.engine import Engine
from pyunitok.compat.sentencepiece.text import EncodedText, Token

_Item = TypeVar("_Item")
OPTIONS = {"bos": "bos", "eos": "eos", "reverse": "reverse", "unk": "unk", "unk_piece": "unk"}


def parse_options(options: str, engine: Engine) -> tuple[str, ...]:
    """Parse options like "bos:eos:reverse:unk". Raises RuntimeError for an unknown option or a symbol without an id."""
    ret = []
    for name in options.split(":") if options else []:
        if name not in OPTIONS:
            raise RuntimeError(f'unknown option "{name}"; the options are {", ".join(OPTIONS)}')
        option = OPTIONS[name]
        if (option == "bos" and engine.model.bos_id < 0) or (option == "eos" and engine.model.eos_id < 0):
            raise RuntimeError(f"the model has no id for {option}")
        ret.append(option)
    return tuple(ret)


def apply(options: Sequence[str], items: list[_Item], bos: _Item, eos: _Item) -> list[_Item]:
    """Apply options, except "unk", to ids, pieces or tokens."""
    for option in options:
        if option == "reverse":
            items = items[::-1]
        elif option == "bos":
            items = [bos, *items]
        elif option == "eos":
            items = [*items, eos]
    return items


def apply_to_pieces(options: Sequence[str], engine: Engine, pieces: list[bytes]) -> list[bytes]:
    if not options:
        return pieces
    if "unk" in options:
        pieces = [engine.unknown_piece if engine.is_unknown(engine.find(piece)) else piece for piece in pieces]
    model = engine.model
    return apply(options, pieces, model.pieces[model.bos_id], model.pieces[model.eos_id])


@dataclass
class Rewriting:
    """Applies the options of SetEncodeExtraOptions, then the flags, which are arguments of encode."""

    engine: Engine
    options: tuple[str, ...] = ()
    add_bos: bool = False
    add_eos: bool = False
    reverse: bool = False
    emit_unk_piece: bool = False

    def ids(self, ids: list[int]) -> list[int]:
        """The rewritten ids. Raises ValueError if the model lacks a symbol to add."""
        model = self.engine.model
        ids = apply(self.options, ids, model.bos_id, model.eos_id)
        return apply(self._checked_flags(), ids, model.bos_id, model.eos_id)

    def pieces(self, pieces: list[bytes]) -> list[bytes]:
        """The rewritten pieces. Raises ValueError like ids()."""
        pieces = apply_to_pieces(self.options, self.engine, pieces)
        flags = self._checked_flags()
        if self.emit_unk_piece:
            unk_id = self.engine.model.unk_id
            if unk_id < 0:
                raise ValueError("the model has no unknown piece")
            pieces = [self._piece(unk_id) if self.engine.find(piece) == unk_id else piece for piece in pieces]
        return apply(flags, pieces, self._piece(self.engine.model.bos_id), self._piece(self.engine.model.eos_id))

    def check_text(self) -> None:
        """Raises RuntimeError if a flag is set, because texts with positions do not support the flags."""
        if self.add_bos or self.add_eos or self.reverse or self.emit_unk_piece:
            raise RuntimeError("add_bos, add_eos, reverse, and emit_unk_piece is not supported in proto API")

    def text(self, encoded: EncodedText) -> EncodedText:
        """The rewritten text. Applies only the options, because check_text() rejects the flags."""
        if not self.options:
            return encoded
        model, tokens, end = self.engine.model, encoded.tokens, len(encoded.text)
        if "unk" in self.options:
            unknown = self.engine.unknown_piece
            tokens = [t._replace(piece=unknown) if self.engine.is_unknown(t.id) else t for t in tokens]
        bos = Token(self._piece(model.bos_id), model.bos_id, 0, 0, None)
        eos = Token(self._piece(model.eos_id), model.eos_id, end, end, None)
        return EncodedText.of(encoded.text, apply(self.options, tokens, bos, eos), encoded.score)

    def _piece(self, id_: int) -> bytes:
        return self.engine.model.pieces[id_]

    def _checked_flags(self) -> tuple[str, ...]:
        """The flags as options. Raises ValueError if the model lacks a symbol to add."""
        if self.add_bos and self.engine.model.bos_id < 0:
            raise ValueError("BOS token is not defined as a control symbol in this model.")
        if self.add_eos and self.engine.model.eos_id < 0:
            raise ValueError("EOS token is not defined as a control symbol in this model.")
        return ("reverse",) * bool(self.reverse) + ("bos",) * bool(self.add_bos) + ("eos",) * bool(self.add_eos)
