"""Rewriting: post-process tokens: reverse them, add bos and eos, replace unknown pieces."""

from __future__ import annotations

from dataclasses import dataclass

from pyunitok.compat.sentencepiece.engine import Engine
from pyunitok.compat.sentencepiece.text import EncodedText, Token

OPTIONS = {"bos": "bos", "eos": "eos", "reverse": "reverse", "unk": "unk", "unk_piece": "unk"}


def parse_options(options: str, engine: Engine) -> tuple[str, ...]:
    """Parse options like "bos:eos:reverse:unk". RuntimeError for an unknown option or a symbol without an id."""
    ret = []
    for name in options.split(":") if options else []:
        if name not in OPTIONS:
            raise RuntimeError(f'option "{name}" is not available: there are {", ".join(OPTIONS)}')
        option = OPTIONS[name]
        if (option == "bos" and engine.model.bos_id < 0) or (option == "eos" and engine.model.eos_id < 0):
            raise RuntimeError(f"the model has no id for {option}")
        ret.append(option)
    return tuple(ret)


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
        """ValueError if the model lacks a symbol to add."""
        model = self.engine.model
        for option in self.options:
            if option == "reverse":
                ids = ids[::-1]
            elif option == "eos":
                ids = [*ids, model.eos_id]
            elif option == "bos":
                ids = [model.bos_id, *ids]
        if not (self.add_bos or self.add_eos or self.reverse):
            return ids
        self._check()
        ids = ids[::-1] if self.reverse else ids
        return [model.bos_id] * bool(self.add_bos) + ids + [model.eos_id] * bool(self.add_eos)

    def pieces(self, pieces: list[bytes]) -> list[bytes]:
        """Like ids()."""
        for option in self.options:
            if option == "reverse":
                pieces = pieces[::-1]
            elif option == "eos":
                pieces = [*pieces, self._piece(self.engine.model.eos_id)]
            elif option == "bos":
                pieces = [self._piece(self.engine.model.bos_id), *pieces]
            else:
                find, unknown = self.engine.find, self.engine.unknown_piece
                pieces = [unknown if self.engine.is_unknown(find(piece)) else piece for piece in pieces]
        if not (self.add_bos or self.add_eos or self.reverse or self.emit_unk_piece):
            return pieces
        self._check()
        if self.emit_unk_piece:
            unk_id = self.engine.model.unk_id
            if unk_id < 0:
                raise ValueError("the model has no unknown piece")
            pieces = [self._piece(unk_id) if self.engine.find(piece) == unk_id else piece for piece in pieces]
        pieces = pieces[::-1] if self.reverse else pieces
        bos = [self._piece(self.engine.model.bos_id)] if self.add_bos else []
        return bos + pieces + ([self._piece(self.engine.model.eos_id)] if self.add_eos else [])

    def check_text(self) -> None:
        """RuntimeError if a flag is set that texts with positions do not support."""
        if self.add_bos or self.add_eos or self.reverse or self.emit_unk_piece:
            raise RuntimeError("add_bos, add_eos, reverse, and emit_unk_piece is not supported in proto API")

    def text(self, encoded: EncodedText) -> EncodedText:
        """Applies the options only, because check_text() rejects the flags."""
        if not self.options:
            return encoded
        model, tokens, end = self.engine.model, encoded.tokens, len(encoded.text)
        for option in self.options:
            if option == "reverse":
                tokens = tokens[::-1]
            elif option == "eos":
                tokens = [*tokens, Token(self._piece(model.eos_id), model.eos_id, end, end, None)]
            elif option == "bos":
                tokens = [Token(self._piece(model.bos_id), model.bos_id, 0, 0, None), *tokens]
            else:
                unknown = self.engine.unknown_piece
                tokens = [t._replace(piece=unknown) if self.engine.is_unknown(t.id) else t for t in tokens]
        return EncodedText.of(encoded.text, tokens, encoded.score)

    def _piece(self, id_: int) -> bytes:
        return self.engine.model.pieces[id_]

    def _check(self) -> None:
        if self.add_bos and self.engine.model.bos_id < 0:
            raise ValueError("BOS token is not defined as a control symbol in this model.")
        if self.add_eos and self.engine.model.eos_id < 0:
            raise ValueError("EOS token is not defined as a control symbol in this model.")
