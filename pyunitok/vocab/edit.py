"""edit() adds pieces to a greedy vocabulary and removes others. Remaining pieces keep their ids.

    base    e: end of document, #: used, .: free         e # # # # # # . # . . | max_id
    remove  o: freed                                     e # o # # o # . # . . |
    add     first the free ids, then the freed ids       e # 4 # # 5 # 1 # 2 3 |

Free ids, and then freed ids, are assigned in ascending order. The id of a removed piece is reused only when no free id
is left.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from pyunitok._c import library
from pyunitok._c import model as c_model
from pyunitok._c.kinds import KINDS
from pyunitok.disk.outfile import check_folder, check_target, write_whole
from pyunitok.errors import OptionError, OutputError, VocabularyError
from pyunitok.vocab import known, native, open_model, rwkv
from pyunitok.vocab.lists import PieceList, escape
from pyunitok.vocab.vocabulary import About, Vocabulary

MAX_ID = 65535  # so that ids remain uint16
_WRITERS: dict[str, Callable[[Vocabulary], bytes | bytearray]] = {
    "rwkv": rwkv.write_text,
    "rwkv-json": rwkv.write_json,
    "native": lambda vocabulary: native.write(vocabulary.build(), vocabulary.about(vocabulary.name)),
}
FORMATS = tuple(_WRITERS)
_SUFFIXES = {".txt": "rwkv", ".json": "rwkv-json", ".utk": "native", ".unitok": "native"}


@dataclass
class Edited:
    """The edited vocabulary, and the outcome for each listed piece.

    added      (piece, id, origin)
    removed    (piece, its former id)
    existing   to be added, but already in the base
    repeated   to be added, but already listed
    no_room    to be added, but no id was left
    kept       to be removed, but required: single bytes, and the ids for end of document and unknown bytes
    wanted     to be removed, but also listed to be added, so not removed
    not_found  to be removed, but not in the base
    n_free     the number of unused ids up to max_id
    """

    vocabulary: Vocabulary
    n_before: int
    max_id: int
    added: list[tuple[bytes, int, str]] = field(default_factory=list)
    removed: list[tuple[bytes, int]] = field(default_factory=list)
    existing: list[tuple[bytes, str]] = field(default_factory=list)
    repeated: list[tuple[bytes, str]] = field(default_factory=list)
    no_room: list[tuple[bytes, str]] = field(default_factory=list)
    kept: list[bytes] = field(default_factory=list)
    wanted: list[bytes] = field(default_factory=list)
    not_found: list[bytes] = field(default_factory=list)
    n_free: int = 0

    def to_json(self) -> dict[str, Any]:
        """Pieces are escaped by lists.escape()."""
        return {
            "pieces_before": self.n_before, "pieces": len(self.vocabulary.ids), "max_id": self.max_id,
            "ids_left": self.n_free,
            "added": [{"id": id_, "piece": escape(piece), "from": origin} for piece, id_, origin in self.added],
            "removed": [{"id": id_, "piece": escape(piece)} for piece, id_ in self.removed],
            **{
                name: [{"piece": escape(piece), "from": origin} for piece, origin in getattr(self, name)]
                for name in ("existing", "repeated", "no_room")
            },
            **{name: list(map(escape, getattr(self, name))) for name in ("kept", "wanted", "not_found")},
        }  # fmt: skip


def edit(
    base: Vocabulary, *, add: Sequence[PieceList] = (), remove: Sequence[PieceList] = (), max_id: int = MAX_ID
) -> Edited:
    """Remove pieces, then add pieces in the order of the lists.

    max_id  the largest id for new pieces; existing pieces may have larger ids

    Raises VocabularyError if the base is not a greedy vocabulary, or a piece is empty.
    """
    check_greedy(base)
    if not 0 <= max_id <= library.WIDE_ID_MAX:
        raise OptionError(f"max_id must be in 0..{library.WIDE_ID_MAX}, not {max_id}")
    before = dict(zip(base.pieces, base.ids.tolist(), strict=True))
    special = {id_ for id_ in (base.eod_id, base.fallback_id) if id_ is not None}
    ret = Edited(base, len(before), max_id)
    after = dict(before)
    listed = {piece for pieces in add for piece in pieces.pieces}
    for piece in dict.fromkeys(chain.from_iterable(pieces.pieces for pieces in remove)):
        id_ = before.get(piece)
        if id_ is None:
            ret.not_found.append(piece)
        elif len(piece) == 1 or id_ in special:
            ret.kept.append(piece)
        elif piece in listed:
            ret.wanted.append(piece)
        else:
            del after[piece]
            ret.removed.append((piece, id_))
    free_ids = _free_ids({*before.values(), *special}, [id_ for _, id_ in ret.removed], max_id)
    _add(ret, add, after, free_ids)
    ret.n_free = sum(1 for _ in free_ids)
    ret.vocabulary = _packed(base, after)
    return ret


def _free_ids(taken: set[int], freed: list[int], max_id: int) -> Iterator[int]:
    """The ids for new pieces, in the order of their assignment."""
    yield from (id_ for id_ in range(max_id + 1) if id_ not in taken)
    yield from sorted(id_ for id_ in freed if id_ <= max_id)


def _add(ret: Edited, add: Sequence[PieceList], after: dict[bytes, int], free_ids: Iterator[int]) -> None:
    in_base, seen = set(after), set()
    for pieces in add:
        for piece in pieces.pieces:
            if not piece:
                raise VocabularyError(f"{pieces.origin}: a piece is empty")
            if piece in seen:
                ret.repeated.append((piece, pieces.origin))
            elif piece in in_base:
                ret.existing.append((piece, pieces.origin))
            elif (id_ := next(free_ids, None)) is None:
                ret.no_room.append((piece, pieces.origin))
            else:
                after[piece] = id_
                ret.added.append((piece, id_, pieces.origin))
            seen.add(piece)


def _packed(base: Vocabulary, pieces: dict[bytes, int]) -> Vocabulary:
    ordered = sorted(pieces, key=pieces.__getitem__)
    return Vocabulary.pack(
        ordered, np.array([pieces[piece] for piece in ordered], np.int64), eod_id=base.eod_id,
        eod_piece=base.eod_piece, fallback_id=base.fallback_id, name=base.name,
    )  # fmt: skip


def check_greedy(vocabulary: Vocabulary) -> None:
    """Raise VocabularyError if the vocabulary cannot be edited."""
    if KINDS[vocabulary.kind].has_spec or vocabulary.prepare:
        raise VocabularyError(
            f"{vocabulary.name}: only greedy longest-prefix vocabularies (RWKV World text and JSON, native) can be"
            f" edited, but this is {vocabulary.kind}, in which the score or merges of a piece depend on other pieces"
        )


# ---------------------------------------------------------------------------------------------------- files ----


def read(base: str | os.PathLike[str]) -> tuple[Vocabulary, c_model.Model, About]:
    """Read a vocabulary to edit."""
    model, about = open_model(known.locate(base))
    vocabulary = Vocabulary.of(model, about)
    check_greedy(vocabulary)
    return vocabulary, model, about


def format_of(out: str | os.PathLike[str], to: str | None = None) -> str:
    """One of FORMATS: `to`, or the format inferred from the name of the file."""
    if to is None:
        to = _SUFFIXES.get(Path(out).suffix.lower())
        if to is None:
            raise OptionError(
                f"{os.fspath(out)}: cannot infer the format from the name; use a name that ends in .txt (RWKV text),"
                f" .json (RWKV JSON) or .utk (native), or --to {'|'.join(FORMATS)}"
            )
    if to not in FORMATS:
        raise OptionError(f"the format must be one of {', '.join(FORMATS)}, not {to!r}")
    return to


def check_out(base: str | os.PathLike[str], out: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Raise OutputError if the result cannot be written to `out`. Must be called before any work."""
    check_target(Path(out), overwrite=overwrite)
    check_folder(Path(out))
    if Path(out).exists() and known.locate(base).samefile(out):
        raise OutputError(f"{os.fspath(out)} is also the base; name another file")


def written(vocabulary: Vocabulary, to: str) -> bytes | bytearray:
    """The contents of a file in one of FORMATS. Raises VocabularyError, which says what the format cannot represent."""
    return _WRITERS[to](vocabulary)


def save(vocabulary: Vocabulary, out: str | os.PathLike[str], to: str) -> None:
    write_whole(Path(out), written(replace(vocabulary, name=Path(out).stem), to))
