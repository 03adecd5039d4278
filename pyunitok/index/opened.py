"""Index and open_index(): an index of token files, opened for questions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from pyunitok.errors import LimitError, count
from pyunitok.index.batches import BatchSearch
from pyunitok.index.hits import Count
from pyunitok.index.manifest import shard_name
from pyunitok.index.plan import Limits
from pyunitok.index.search import MAX_WORK, Text
from pyunitok.index.sequences import Query
from pyunitok.index.shard import open_shards
from pyunitok.tokens import page
from pyunitok.tokens.manifest import StrPath

PREFETCH_BYTES = 16 << 20  # asked for at once


class Index(BatchSearch):
    """An open index. Make it with open_index(); safe to use from several threads.

    About text, whatever the tokens (search.py): count, find, context, documents, by_source, next, previous
    About tokens (sequences.py): count_tokens, find_tokens, next, previous, prob, infgram_prob, infgram_next, ngrams,
        sample, count(all_of=)
    Texts against the corpus (overlap.py): overlap, spans
    The same of many queries at once, arrays in, arrays out (batches.py): count_batch, find_batch, next_batch, ...
    Itself: n_tokens, n_documents, text_bytes, locate, source, inputs, metadata, tokenizer, prefetch

    Pickles hold the path, the model that was given and max_work: a worker that gets a copy opens the same folder.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (str(self._absolute), self._given, self.max_work)

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
        """How often a text occurs: see TextSearch.count. Or, with all_of, how often several things occur together: see
        TokenSearch.count_all_of."""
        if (query is None) == (all_of is None) or (within is not None and all_of is None):
            raise LimitError("count takes a text, or all_of= and maybe within=")
        if all_of is not None:
            return self.count_all_of(all_of, within)
        assert query is not None
        return super().count(query, max_work=max_work)

    def prefetch(self, max_bytes: int | None = None) -> int:
        """Ask the system to read the index into memory: the small tables, then shard by shard while they fit into
        max_bytes, by default half of this machine's memory. How many bytes that is; 0 where the system cannot.

        Without it the first searches wait for the disk. Takes as long as reading does: for a thread of its own.
        """
        if not hasattr(os, "posix_fadvise"):
            return 0
        left = limit = Limits(max_bytes).memory
        numbers = range(len(self.shards))
        tables = [self.folder / shard_name(k, suffix) for k in numbers for suffix in (".first", ".top")]
        ranges = [(path, 0, path.stat().st_size) for path in tables]
        for k, shard in enumerate(self.shards):
            ranges += [
                (path, 0, path.stat().st_size)
                for suffix in (".sa", ".left")
                if (path := self.folder / shard_name(k, suffix)).exists()
            ]
            ranges.append((self.arrays[shard.file].path, 2 * shard.begin, 2 * len(shard)))
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
    """Open what `pyunitok index` made. Everything is mapped into memory; nothing is read before it is used.

    model     a Tokenizer or the path of its file, instead of the one that the token files name
    max_work  where a search gives up and says `approx`: about a nanosecond a unit, for one query in one shard

    OutputError if the folder holds no index, or one that is damaged or does not fit its token files.
    """
    return Index(open_shards(folder, model=model), max_work=max_work)


def _reopen(folder: str, model: Any, max_work: int) -> Index:
    """What a pickle of an Index calls."""
    return open_index(folder, model=model, max_work=max_work)
