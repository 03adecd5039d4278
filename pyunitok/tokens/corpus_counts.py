"""Counts the tokens of each file of a corpus, or how often each id occurs, without writing a token file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from pyunitok.corpus.block import Block, whole
from pyunitok.corpus.reading import Reading
from pyunitok.corpus.source import total_bytes
from pyunitok.corpus.workers import Result, Workers
from pyunitok.model.batch import PackedDocuments, encode_batch
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.packed import Packed

T = TypeVar("T")
Progress = Callable[[int, int], None]  # compressed bytes read, and their total (0 if unknown)
Uses = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class FileCount:
    """A file, the size of its text in bytes, and its number of tokens under each model."""

    name: str
    n_bytes: int
    n_tokens: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        return {"file": self.name, "bytes": self.n_bytes, "tokens": list(self.n_tokens)}


def count_files(reading: Reading, tokenizers: Sequence[Tokenizer], progress: Progress) -> list[FileCount]:
    """Count the tokens of each file under each model. Reads the files once per model."""
    sizes = np.zeros(len(reading.sources), np.int64)
    columns = []
    for tokenizer in tokenizers:
        counts, sizes = np.zeros_like(sizes), np.zeros_like(sizes)

        def work(block: Block, tokenizer: Tokenizer = tokenizer) -> int:
            return len(_ids(block, tokenizer))

        for result in _results(reading, tokenizer, work, progress):
            if result.source < len(sizes):  # the last block belongs to no file
                counts[result.source] += result.value
                sizes[result.source] += result.text_bytes
        columns.append(counts.tolist())
    rows = zip(*columns, strict=True)
    names = [source.name for source in reading.sources]
    return [FileCount(name, size, row) for name, size, row in zip(names, sizes.tolist(), rows, strict=True)]


def count_uses(reading: Reading, tokenizer: Tokenizer, progress: Progress) -> Uses:
    """int64[vocab_size]: how often each id occurs in the corpus."""
    uses = np.zeros(tokenizer.vocab_size, np.int64)

    def work(block: Block) -> tuple[Uses, Uses]:
        ids, counts = np.unique(_ids(block, tokenizer), return_counts=True)
        return ids.astype(np.int64), counts

    for result in _results(reading, tokenizer, work, progress):
        ids, counts = result.value
        uses[ids] += counts
    return uses


def _results(
    reading: Reading, tokenizer: Tokenizer, work: Callable[[Block], T], progress: Progress
) -> Iterator[Result[T]]:
    """The results of all blocks. Long documents are divided only if the model keeps no state between parts."""
    codec = tokenizer.codec
    divided = replace(reading, split=whole if codec.model.kind.carries_state or codec.rules else codec.split)
    with Workers(divided, work) as workers:
        for result in workers.results():
            yield result
            progress(result.compressed, total_bytes(reading.sources) or 0)


def _ids(block: Block, tokenizer: Tokenizer) -> np.ndarray[Any, Any]:
    packed = Packed(block.data, block.offsets[: block.n_docs + 1])
    return encode_batch(tokenizer.codec, PackedDocuments(packed), 1).data
