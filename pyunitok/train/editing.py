"""edit_vocabulary() adds listed pieces and the words of a corpus, and removes pieces that a corpus never uses."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pyunitok.corpus import inputs
from pyunitok.corpus.reading import Reading, ReadingOptions
from pyunitok.errors import InputError, OptionError
from pyunitok.model.tokenizer import Tokenizer, from_vocabulary
from pyunitok.tokens.corpus_counts import FileCount, count_files, count_uses
from pyunitok.train.words import Word, rank_words
from pyunitok.vocab import edit
from pyunitok.vocab.lists import PieceList

Progress = Callable[[str, int, int], None]  # phase, done, total (0: unknown)


@dataclass(frozen=True)
class Report:
    """The result of an edit.

    edited  the vocabulary, and what happened to each piece
    words   the words that add_words found, best first
    texts   the number of tokens of each text before and after
    """

    edited: edit.Edited
    words: list[Word]
    texts: list[FileCount]

    @property
    def vocabulary(self) -> Any:
        return self.edited.vocabulary

    def tokenizer(self) -> Tokenizer:
        """The model of the edited vocabulary."""
        return from_vocabulary(self.edited.vocabulary)

    def to_json(self) -> dict[str, Any]:
        return {**self.edited.to_json(), "texts": [text.to_json() for text in self.texts]}


def edit_vocabulary(
    base: str | os.PathLike[str], out: str | os.PathLike[str] | None = None, *, add: Sequence[PieceList] = (),
    remove: Sequence[PieceList] = (), add_words: Sequence[str] = (), script: Sequence[str] = (), max_words: int = 1000,
    remove_unused: Sequence[str] = (), max_id: int = edit.MAX_ID, to: str | None = None, texts: Sequence[str] = (),
    overwrite: bool = False, separator: bytes | None = None, text_key: str = "text", threads: int | None = None,
    max_memory: int = 0, progress: Progress = lambda phase, done, total: None,
) -> Report:  # fmt: skip
    """Edit the vocabulary in a file ("rwkv-world": the installed one), and write it to `out`, if given.

    add            pieces to add, in this order: see vocab.lists
    add_words      a corpus (as for `tokenize`); its max_words best words in `script` are added after the lists
    remove         pieces to remove
    remove_unused  a corpus; pieces that it never uses are removed
    max_id         the largest id for new pieces; see vocab.edit for the order in which ids are assigned
    to             the format of out, one of vocab.edit.FORMATS; by default inferred from its name
    texts          files whose tokens are counted before and after
    overwrite      replace out if it exists; never the base itself
    max_memory     bytes for counting words; further counts go to disk

    The words are ranked under the base vocabulary. Raises VocabularyError, OptionError, InputError or OutputError.
    """
    options = ReadingOptions(separator=separator, text_key=text_key, threads=threads)
    if bool(add_words) != bool(script):
        raise OptionError("add_words and script (--add-words, --script) must be given together")
    if out is not None:
        to = edit.format_of(out, to)
        edit.check_out(base, out, overwrite=overwrite)

    def reading(paths: Sequence[str]) -> Reading:
        return Reading(inputs.find(paths, text_key=text_key), options)

    def shown(phase: str) -> Callable[[int, int], None]:
        return lambda done, total: progress(phase, done, total)

    vocabulary, model, about = edit.read(base)
    before = Tokenizer(model, about)
    words: list[Word] = []
    lists, removals = list(add), list(remove)
    if add_words:
        words = rank_words(
            reading(add_words), before, script, max_words, max_memory=max_memory, progress=shown("words")
        )
        lists.append(PieceList("words", [word.piece for word in words]))
    if remove_unused:
        uses = count_uses(reading(remove_unused), before, shown("uses"))
        if not uses.any():
            raise InputError(f"{', '.join(remove_unused)}: contains no text, so all pieces would be unused")
        removals.append(PieceList("unused", _unused(before, uses)))
    report = Report(edit.edit(vocabulary, add=lists, remove=removals, max_id=max_id), words, [])
    after = report.tokenizer()
    if texts:
        report.texts.extend(count_files(reading(texts), [before, after], shown("texts")))
    if out is not None:
        assert to is not None
        edit.save(report.vocabulary, Path(out), to)
    return report


def _unused(tokenizer: Tokenizer, uses: np.ndarray[Any, np.dtype[np.int64]]) -> list[bytes]:
    """The unused pieces, except single bytes and special pieces, which cannot be removed."""
    pieces = tokenizer.pieces()
    special = (tokenizer.eod_id, tokenizer.fallback_id)
    sizes = np.diff(pieces.offsets)
    unused = np.flatnonzero((sizes > 1) & (uses == 0)).tolist()
    return [pieces[id_].tobytes() for id_ in unused if id_ not in special]
