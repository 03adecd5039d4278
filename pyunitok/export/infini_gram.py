"""Exports for infini-gram: tokenized.N, offset.N, metadata.N and metaoff.N, from which its script builds table.N.

    tokenized.N   FFFF a b c FFFF d e        a separator before each document, in place of our eod; uint16 or uint32
    offset.N      u64 for each document: the byte in tokenized.N at which its separator begins
    metadata.N    a line of JSON for each document       metaoff.N   u64: the byte at which its line begins

Shards are ranges of consecutive documents with about equal numbers of tokens, so document numbers are those of the
token file (infini-gram sorts shards by name, so this holds for up to ten of them).

The separator is not a token, so no id may be 65,535. For queries that join terms with AND, infini-gram searches for the
separator byte by byte: an id of 65,280 or more followed by one whose low byte is FF looks like a separator,

    id 65,283 = FF03   id 511 = 01FF      in the file   03 [FF  FF] 01

and hits that span it are not counted. The export reports the number of such pairs. Two options avoid them:

--rename-ids swaps every used id from 65,280 on with an unused smaller one. Files do not grow, but queries and answers
must be translated with renamed.npy, a table uint16[65536] that is its own inverse. The export fails if
too few smaller ids are unused.

--token-dtype uint32 writes every id in four bytes. Ids do not change, and 65,535 is allowed; but tokenized.N doubles in
size (9 bytes per token instead of 7 with the table), and the indexing of infini-gram 2.6 takes 34 GB of memory for each
of its --cpus, because it counts in 2^32 buckets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pyunitok.errors import OutputError
from pyunitok.export.files import Folder
from pyunitok.export.options import Options
from pyunitok.export.origins import json_lines
from pyunitok.export.separated import Separated
from pyunitok.tokens.array import RUN_DOCS, TokenArray
from pyunitok.tokens.counting import count_ids

TAKES = ("shards", "token_dtype", "rename_ids")
RENAMED = "renamed.npy"
KINDS = ("tokenized", "offset", "metadata", "metaoff")
WORDS = (*KINDS, "table", "unigram")  # infini-gram recognizes files by these words, anywhere in a path


@dataclass
class Scan:
    """Finds, chunk by chunk, the ids in a stream that infini-gram may mistake for separators.

    n_false  number of false separators
    """

    n_false: int = 0
    _last: int = 0

    def add(self, tokens: np.ndarray[Any, Any], at: np.ndarray[Any, Any]) -> int | None:
        """Scan the next chunk, whose separators are at `at`; return the position of a token with the separator's id, or
        None."""
        high = np.flatnonzero(tokens >= 0xFF00)
        wrong = None
        if np.count_nonzero(tokens[high] == 0xFFFF) > len(at):
            wrong = int(np.setdiff1d(high[tokens[high] == 0xFFFF], at)[0])
        if len(tokens):
            # A pair that ends in a true separator is harmless: a hit that spans it also spans the separator.
            before = high[(tokens[high] != 0xFFFF) & (high + 1 < len(tokens))]
            after = tokens[before + 1]
            self.n_false += int(np.count_nonzero((after & 0xFF == 0xFF) & (after != 0xFFFF)))
            first = int(tokens[0])
            self.n_false += 0xFF00 <= self._last < 0xFFFF and first & 0xFF == 0xFF and first != 0xFFFF
            self._last = int(tokens[-1])
        return wrong


def names(options: Options) -> list[str]:
    shards = [f"{kind}.{k}" for k in range(options.shards) for kind in KINDS]
    return [RENAMED, *shards] if options.rename_ids else shards


def export(array: TokenArray, folder: Folder, options: Options) -> list[str]:
    """Raises OutputError, naming the document and position, if an id equals the separator."""
    dtype = np.dtype({"uint16": "<u2", "uint32": "<u4"}.get(options.token_dtype or "", array.ids.dtype.str))
    if dtype.itemsize < array.ids.dtype.itemsize:
        raise OutputError(f"{array.path} has 4-byte ids, so --token-dtype must be uint32")
    folder.discard(_left_over(folder.path, options), "belongs to the index of another token file")
    for _ in array.runs():
        pass
    table = None
    if options.rename_ids:
        if dtype.itemsize != 2:
            raise OutputError("--rename-ids requires 2-byte ids; 4-byte ids have no false separators")
        table = renaming(array)
        with folder.write(RENAMED) as file:
            np.save(file, table)
    stream, scan = Separated(array, int(np.iinfo(dtype).max)), Scan()
    n_docs = len(array)
    targets = [len(array.ids) * k // options.shards for k in range(options.shards)]
    cuts = [int(np.searchsorted(array.ends, np.uint64(target))) for target in targets]
    for k, (first, stop) in enumerate(zip(cuts, [*cuts[1:], n_docs], strict=True)):
        begin = int(stream.starts(first, first + 1)[0]) if first < n_docs else len(stream)
        end = int(stream.starts(stop, stop + 1)[0]) if stop < n_docs else len(stream)
        with folder.write(f"tokenized.{k}") as file:
            for position, tokens, at in stream.chunks(begin, end, dtype):
                if table is not None:
                    tokens = table[tokens]
                wrong = scan.add(tokens, at) if dtype.itemsize == 2 else _separators(tokens, at, stream.separator)
                if wrong is not None:
                    _refuse(array, stream, position + wrong)
                file.write(tokens)
        with folder.write(f"offset.{k}") as file:
            for d in range(first, stop, RUN_DOCS):
                starts = stream.starts(d, min(d + RUN_DOCS, stop)) - begin
                file.write((starts * dtype.itemsize).astype("<u8"))
        _write_metadata(array, folder, k, first, stop)
    return list(_notes(folder.path, dtype, scan.n_false, options))


def renaming(array: TokenArray) -> np.ndarray[Any, np.dtype[np.uint16]]:
    """uint16[65536], its own inverse: swaps each used id from 0xFF00 on with an unused smaller one."""
    used = count_ids(array.ids) > 0
    high = np.flatnonzero(used[0xFF00:0xFFFF]) + 0xFF00
    free = np.flatnonzero(~used[:0xFF00])[::-1]
    if len(free) < len(high):
        raise OutputError(
            f"{array.path} uses {len(high)} ids of 65280 or more, but only {len(free)} smaller ids are unused;"
            " use --token-dtype uint32"
        )
    table = np.arange(65536, dtype="<u2")
    table[high], table[free[: len(high)]] = free[: len(high)], high
    return table


def _separators(tokens: np.ndarray[Any, Any], at: np.ndarray[Any, Any], separator: int) -> int | None:
    found = np.flatnonzero(tokens == separator)
    return int(np.setdiff1d(found, at)[0]) if len(found) > len(at) else None


def _refuse(array: TokenArray, stream: Separated, position: int) -> None:
    d = stream.first_at(position + 1) - 1
    k = position - int(stream.starts(d, d + 1)[0]) - 1
    more = "; --token-dtype uint32 allows it" if stream.separator == 0xFFFF else ""
    raise OutputError(f"{array.path}: document {d}, token {k}: id {stream.separator} is infini-gram's separator{more}")


def _write_metadata(array: TokenArray, folder: Folder, k: int, first: int, stop: int) -> None:
    with folder.write(f"metadata.{k}") as lines, folder.write(f"metaoff.{k}") as offsets:
        n_bytes = 0
        for d in range(first, stop, RUN_DOCS):
            for text in json_lines(array, d, min(d + RUN_DOCS, stop)):
                lines.write(text)
                ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n")) + 1
                offsets.write((n_bytes + np.concatenate((ends[:0], [0], ends[:-1]))).astype("<u8"))
                n_bytes += len(text)


def _left_over(folder: Path, options: Options) -> Iterator[Path]:
    """Files of an older index that infini-gram would read together with the new files: tables and further shards."""
    own = set(names(options))
    for path in folder.iterdir():
        if re.fullmatch(rf"({'|'.join(WORDS)})\.\d+", path.name) and path.name not in own:
            yield path


def _notes(folder: Path, dtype: np.dtype[Any], n_false: int, options: Options) -> Iterator[str]:
    width = "" if dtype.itemsize == 2 else " --token_dtype u32"
    yield (
        f"build its table: python -m infini_gram.indexing --data_dir D --save_dir D --mem GIB"
        f" --shards {options.shards}{width}, where D is {folder.resolve()}"
    )
    if n_false:
        yield (
            f"infini-gram mistakes {n_false:,} pairs of ids (65,280 or more, then one with the low byte FF)"
            " for separators in AND queries and misses hits that span them; --rename-ids or --token-dtype uint32 avoids"
            " this"
        )
    if options.rename_ids:
        yield f"ids are renamed: translate queries and answers with numpy.load({RENAMED!r})[ids]"
    found = next((word for word in WORDS if word in str(folder.resolve().parent / folder.name)), None)
    if found:
        yield f"the folder's path contains {found!r}, by which infini-gram recognizes its files; move it before use"
