"""Index, and open_index(), which opens an index of token files for queries."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from pyunitok.errors import LimitError, count
from pyunitok.index.batches import BatchSearch
from pyunitok.index.fields import FieldIndex
from pyunitok.index.hits import Count
from pyunitok.index.manifest import shard_name
from pyunitok.index.opening import open_shards
from pyunitok.index.plan import Limits
from pyunitok.index.search import MAX_WORK, Text
from pyunitok.index.sequences import Query
from pyunitok.index.stored import restore_token_files
from pyunitok.tokens import page
from pyunitok.tokens.manifest import StrPath

PREFETCH_BYTES = 128 << 10  # per request: Linux reads no more than its read-ahead size, 128 KB by default


class Index(BatchSearch):
    """An open index, returned by open_index(). All methods are thread-safe.

    Text queries (search.py): count, find, context, documents, by_source, next, previous
    Token queries (sequences.py): count_tokens, find_tokens, next, previous, prob, infgram_prob, infgram_next, ngrams,
        sample, count(all_of=)
    Comparing texts with the corpus (overlap.py): overlap, spans
    Words (words.py): words.count, words.find, words.next, words.frequencies, ...
    Many queries per call (batches.py): count_batch, find_batch, next_batch, ...
    Properties and documents: n_tokens, n_documents, text_bytes, locate, source, inputs, metadata, tokenizer, prefetch,
        restore_tokens

    A pickle contains the path, the `model` argument and max_work; unpickling opens the folder again.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(open_index, model=self._given, max_work=self.max_work), (str(self._absolute),)

    def __repr__(self) -> str:
        sizes = (count(n, name) for n, name in self._sizes())
        return f"Index({str(self.folder)!r}, {', '.join(sizes)})"

    def _repr_html_(self) -> str:
        rows = [(f"{name}s", f"{n:,}") for n, name in self._sizes()]
        model = str(self.manifest.model.get("name") or "unnamed")
        return page.summary(f"Index {self.folder}", [*rows, ("order", self.manifest.order), ("model", model)])

    def _sizes(self) -> list[tuple[int, str]]:
        return [
            (self.n_documents, "document"), (self.n_tokens, "token"), (len(self.shards), "shard"),
            (len(self.arrays), "token file"),
        ]  # fmt: skip

    def count(
        self, query: Text | None = None, *, all_of: Sequence[Sequence[Query]] | None = None, within: int | None = None,
        max_work: int | None = None,
    ) -> Count:  # fmt: skip
        """Count the occurrences of a text (see TextSearch.count) or, with all_of, the places where several terms occur
        together (see TokenSearch.count_all_of)."""
        if (query is None) == (all_of is None) or (within is not None and all_of is None):
            raise LimitError("count takes either a text or all_of=; within= requires all_of=")
        if all_of is not None:
            return self.count_all_of(all_of, within, max_work=max_work)
        assert query is not None
        return super().count(query, max_work=max_work)

    @cached_property
    def fields(self) -> FieldIndex:
        """The stored fields of documents, and the conditions on them."""
        return FieldIndex(self)

    def restore_tokens(self, out: StrPath, *, overwrite: bool = False) -> list[Path]:
        """Restore the token files of a compact index byte for byte, even if they were dropped, as `pyunitok export --to
        tokens` does. Returns their paths.

        out  the token file; if there are several, a folder, in which they keep their names
        """
        return restore_token_files(self.folder, Path(out), overwrite=overwrite)

    def prefetch(self, max_bytes: int | None = None) -> int:
        """Ask the system to read the index into memory: first the small tables, and then one shard after another, up to
        max_bytes (by default, half of this machine's memory). Returns the number of bytes requested, or 0 if the system
        does not support prefetching.

        Without prefetching, the first searches wait for the disk. The call can take as long as reading the index, so
        run it in a thread.
        """
        if not hasattr(os, "posix_fadvise"):
            return 0
        left = limit = Limits(max_bytes).memory
        numbers, size = range(len(self.shards)), self.dtype.itemsize
        tables = [self.folder / shard_name(k, suffix) for k in numbers for suffix in (".first", ".top")]
        ranges = [(path, 0, path.stat().st_size) for path in tables if path.exists()]
        for k, shard in enumerate(self.shards):
            ranges += [
                (path, 0, path.stat().st_size)
                for suffix in (".sa", ".left", ".compact")
                if (path := self.folder / shard_name(k, suffix)).exists()
            ]
            if self.manifest.compact is None:
                ranges.append((self.arrays[shard.file].path, size * shard.begin, size * len(shard)))
        for path, begin, size in ranges:
            if size > left:
                break
            left -= size
            with path.open("rb") as file:
                for at in range(0, size, PREFETCH_BYTES):
                    n_bytes = min(PREFETCH_BYTES, size - at)
                    os.posix_fadvise(file.fileno(), begin + at, n_bytes, os.POSIX_FADV_WILLNEED)
        return limit - left


def open_index(folder: StrPath, *, model: Any = None, max_work: int = MAX_WORK) -> Index:
    """Open an index that `pyunitok index` built. All files are memory-mapped and read on demand.

    model     a Tokenizer or the path of its file; replaces the model that the token files name
    max_work  the budget of one query in one shard, in units of about a nanosecond; a search that exceeds it stops and
              sets `approx`

    Raises OutputError if the folder contains no index, or if the index is damaged or does not match its token files.
    """
    return Index(open_shards(folder, model=model), max_work=max_work)
