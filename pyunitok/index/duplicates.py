"""Find the repeated spans of an index, or write a token file without them.

    shard 0 ─┐  merge of the suffix    a temporary file of       marks in text order,       spans ─▶ dups.jsonl.zst
    shard 1 ─┼───────────────────────▶ records (40 bytes ──────▶ one shard at a time ────┬─▶
    shard 2 ─┘  arrays (repeats.c)     each)                                             └─▶ other tokens ─▶ OUT

A window is min_tokens consecutive tokens of one document, excluding its eod. It is repeated if the same tokens form
another window, in any document. Repeated windows that overlap or touch form a span.

Memory: 5 bytes per token of the largest shard, and about 10 MB. Including the pages of the index and of the records,
measured memory is about 21 bytes per token (5.1 GB for 242 million tokens). Temporary disk space next to the output: at
most 40 bytes per repeated window.
"""

from __future__ import annotations

import json
import os
import struct
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import zstandard

from pyunitok._c import repeats as c_repeats
from pyunitok.disk.outfile import new_file
from pyunitok.errors import LimitError, OutputError
from pyunitok.index.hits import Int64s
from pyunitok.index.opened import Index, open_index
from pyunitok.run.identity import Identity
from pyunitok.run.output import Output
from pyunitok.tokens.manifest import ERRORS_SUFFIX, METADATA_SUFFIX, InputRecord, Manifest, StrPath
from pyunitok.tokens.metadata import MetadataFile, metadata_path
from pyunitok.tokens.model import Model

STEP = 1 << 20  # suffixes between checks for Ctrl-C
DOCUMENTS_AT_ONCE = 1 << 16

OnProgress = Callable[[float], None]
Records = np.ndarray[Any, Any]  # dtype c_repeats.REPEAT


@dataclass(frozen=True)
class Repeats:
    """The result of duplicates().

    spans     the number of repeated spans written; None with drop=True
    tokens    the number of tokens in the spans, or of tokens dropped
    manifest  the manifest of the token file, with drop=True
    """

    spans: int | None
    tokens: int
    manifest: Manifest | None = None


def duplicates(
    index: StrPath | Index, out: StrPath, min_tokens: int = 50, *, drop: bool = False, overwrite: bool = False,
    model: Model = None, on_progress: Callable[[float], None] | None = None,
) -> Repeats:  # fmt: skip
    """Find text that occurs more than once in an index, or drop it, as `pyunitok duplicates` does.

    index        the folder of an index, or an open Index
    out          the JSON Lines file to write, one object per repeated span; compressed if its name ends in .zst
    min_tokens   the minimum length of a span
    drop         write a token file to `out` instead: all documents, except for tokens that repeat earlier text
    overwrite    replace `out` if it exists
    model        replaces the model that the token files name
    on_progress  called with the completed share, from the calling thread

    Memory: about 21 bytes per token of the index. Raises OutputError if `out` exists.

        pyunitok.duplicates("idx", "unique.u16", drop=True).manifest
    """
    opened = index if isinstance(index, Index) else open_index(index, model=model)
    if drop:
        manifest, n = drop_repeats(opened, Path(out), min_tokens, overwrite=overwrite, on_progress=on_progress)
        return Repeats(None, n, manifest)
    return Repeats(*write_repeats(opened, Path(out), min_tokens, overwrite=overwrite, on_progress=on_progress))


@dataclass
class RepeatedSpans:
    """The repeated spans of one shard in text order; int64[n] each.

    documents               document numbers in the index
    begins, ends            token ranges within the documents
    byte_begins, byte_ends  byte ranges within the decoded documents
    occurrences             the count of the most frequent window in the span
    later                   the number of tokens of the span in windows that repeat earlier text without overlapping it
    """

    documents: Int64s
    begins: Int64s
    ends: Int64s
    byte_begins: Int64s
    byte_ends: Int64s
    occurrences: Int64s
    later: Int64s

    def __len__(self) -> int:
        return len(self.documents)

    def records(self) -> Iterator[dict[str, Any]]:
        """Yields the spans as JSON objects."""
        columns = (column.tolist() for column in vars(self).values())
        for document, begin, end, a, b, n, later in zip(*columns, strict=True):
            where = {"document": document, "tokens": [begin, end], "bytes": [a, b]}
            yield where | {"occurrences": n, "later_tokens": later}


@dataclass
class _Marks:
    """For each token of one shard: how often the window that begins there occurs (0 means once), and whether it repeats
    an earlier window."""

    number: int
    counts: np.ndarray[Any, np.dtype[np.uint32]]
    later: np.ndarray[Any, np.dtype[np.uint8]]


def repeated_spans(
    index: Index, min_tokens: int = 50, *, scratch: Path | None = None, on_progress: OnProgress | None = None
) -> Iterator[RepeatedSpans]:
    """All repeated spans of at least min_tokens tokens, shard by shard.

    scratch      the folder for temporary files; by default that of the system
    on_progress  called with the completed share, 0 to 1
    """
    for marks in _marks(index, min_tokens, scratch, on_progress):
        yield _spans_of(index, marks, min_tokens)


def write_repeats(
    index: Index, out: Path, min_tokens: int = 50, *, overwrite: bool = False, on_progress: OnProgress | None = None
) -> tuple[int, int]:
    """Write all repeated spans to a JSON Lines file, compressed if its name ends in .zst. Returns the number of spans
    and of the tokens in them. Raises OutputError if the file exists."""
    n_spans = n_tokens = 0
    with new_file(out, overwrite=overwrite) as file:
        is_zst = out.suffix == ".zst"
        sink: Any = zstandard.ZstdCompressor(level=3).stream_writer(file, closefd=False) if is_zst else file
        for spans in repeated_spans(index, min_tokens, scratch=out.parent, on_progress=on_progress):
            for record in spans.records():
                sink.write(json.dumps(record).encode() + b"\n")
            n_spans += len(spans)
            n_tokens += int((spans.ends - spans.begins).sum())
        if is_zst:
            sink.close()
    return n_spans, n_tokens


def drop_repeats(
    index: Index, out: Path, min_tokens: int = 50, *, overwrite: bool = False, on_progress: OnProgress | None = None
) -> tuple[Manifest, int]:
    """Write a token file of all documents of the index, dropping windows that repeat earlier text. Returns its manifest
    and the number of tokens dropped.

    An earlier copy of every dropped token remains. If a window begins or ends inside a character, that character is
    kept. Documents keep their order, number and metadata; a document that consists of repeats becomes empty. Metadata
    is kept if all token files have it. An interrupted run starts over.

    Raises OutputError if `out` exists and was written with different options, or if a token file has no manifest.
    """
    expected = 0
    for number, shard in enumerate(index.shards):
        if index.first_document(number) < expected:
            raise OutputError(f"{index.folder}: the shards are not in document order; build the index again")
        expected = index.first_document(number) + len(shard.ends)
    parts = [array.manifest for array in index.arrays]
    manifests = [part for part in parts if part is not None]
    if len(manifests) != len(parts) or not manifests:
        raise OutputError(f"{index.folder}: a token file has no manifest; recreate the file with `pyunitok tokenize`")
    has_metadata = all(metadata_path(array.path).exists() for array in index.arrays)
    run = {"command": "duplicates", "min_tokens": min_tokens, "index_tokens": index.n_tokens}
    inputs = [record for manifest in manifests for record in manifest.inputs]
    extra = [METADATA_SUFFIX] if has_metadata else [ERRORS_SUFFIX]
    identity = Identity.of(run, [record.file for record in inputs])
    with Output(out, identity, overwrite=overwrite, extra=extra) as output:
        if output.finished is not None:
            return output.finished, index.n_tokens - output.finished.tokens
        sizes = _write_kept(index, output, min_tokens, out.parent, on_progress)
        if has_metadata:
            metadata = MetadataFile(output.files[METADATA_SUFFIX])
            for array in index.arrays:
                metadata.append_file(metadata_path(array.path))
            metadata.end()
        first = manifests[0]
        records = _records(inputs, sizes)
        manifest = Manifest.of(
            records, model=first.model, eod=first.eod, dtype=first.dtype, algorithm=first.algorithm,
            sample=first.sample, run=run,
        )  # fmt: skip
        output.commit(manifest)
    return manifest, index.n_tokens - manifest.tokens


# ------------------------------------------------------------------------------------------------------- finding ---


def _marks(
    index: Index, min_tokens: int, scratch: Path | None, on_progress: OnProgress | None
) -> Iterator[_Marks]:
    if min_tokens < 1:
        raise LimitError(f"min_tokens must be at least 1, not {min_tokens}")
    with _Spilled(len(index.shards), scratch) as spilled:
        shards = [shard.restored().searcher(index.eod) for shard in index.shards]
        repeats, done, total = c_repeats.RepeatFinder(shards, min_tokens), 0, max(1, index.n_tokens)
        while done < index.n_tokens:
            records, done = repeats.step(STEP)
            for number in np.unique(records["shard"]).tolist():
                spilled.append(number, records[records["shard"] == number])
            if on_progress:
                on_progress(done / total)
        for number, shard in enumerate(shards):
            counts, later = np.zeros(shard.n, np.uint32), np.zeros(shard.n, np.uint8)
            for records in spilled.of(number):
                c_repeats.mark_repeats(shard, number, min_tokens, records, counts, later)
            yield _Marks(number, counts, later)


class _Spilled:
    """The records of all shards in one unnamed temporary file, which cannot outlive the process.

    The file is a sequence of chunks, each of one shard:

        [ offset of the shard's previous chunk, or -1 | number of records | records ... ]
    """

    HEAD = struct.Struct("<qq")

    def __init__(self, n_shards: int, folder: Path | None) -> None:
        self._folder = folder or Path(tempfile.gettempdir())
        self._last = [-1] * n_shards  # the offset of each shard's last chunk
        try:
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - __exit__ closes it
        except OSError as error:
            raise self._unwritable(error) from error

    def __enter__(self) -> _Spilled:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def append(self, shard: int, records: Records) -> None:
        try:
            begin = self._file.seek(0, os.SEEK_END)
            self._file.write(self.HEAD.pack(self._last[shard], len(records)))
            self._file.write(records.tobytes())
        except OSError as error:
            raise self._unwritable(error) from error
        self._last[shard] = begin

    def of(self, shard: int) -> Iterator[Records]:
        """Yields all records of a shard, last chunk first; the order does not affect the marks."""
        begin = self._last[shard]
        while begin >= 0:
            self._file.seek(begin)
            begin, n = self.HEAD.unpack(self._file.read(self.HEAD.size))
            yield np.frombuffer(self._file.read(n * c_repeats.REPEAT.itemsize), c_repeats.REPEAT)

    def _unwritable(self, error: OSError) -> OutputError:
        return OutputError(f"{self._folder}: cannot write a temporary file: {error.strerror}")


def _ranges(starts: Int64s, documents: Int64s, n: int) -> tuple[Int64s, Int64s, Int64s]:
    """Merges windows of n tokens that overlap or touch within one document. Returns the begins and ends of the ranges,
    and the index in `starts` of each range's first window."""
    is_new = np.ones(len(starts), np.bool_)
    is_new[1:] = (starts[1:] > starts[:-1] + n) | (documents[1:] != documents[:-1])
    at = np.flatnonzero(is_new)
    last = np.append(at, len(starts))[1:] - 1
    return starts[at], starts[last] + n, at


def _spans_of(index: Index, marks: _Marks, n: int) -> RepeatedSpans:
    starts = np.flatnonzero(marks.counts)
    documents = index.documents_at(marks.number, starts)
    begins, ends, at = _ranges(starts, documents, n)
    occurrences = np.maximum.reduceat(marks.counts[starts], at).astype(np.int64) if len(at) else begins
    later = np.flatnonzero(marks.later)
    later_begins, later_ends, _ = _ranges(later, index.documents_at(marks.number, later), n)
    owner = np.searchsorted(begins, later_begins, "right") - 1
    later_tokens = np.zeros(len(begins), np.int64)
    np.add.at(later_tokens, owner, later_ends - later_begins)
    first = index._bounds_at(marks.number, begins)[1]
    numbers, byte_begins = index._bytes_at(marks.number, begins, np.zeros_like(begins))
    sizes = index.c[marks.number].sizes(index.tables.sizes, begins, ends)
    byte_ends, byte_begins = byte_begins + sizes, np.maximum(byte_begins, 0)
    return RepeatedSpans(
        numbers, begins - first, ends - first, byte_begins, byte_ends, occurrences, later_tokens
    )


# ------------------------------------------------------------------------------------------------------ dropping ---


def _write_kept(
    index: Index, output: Output, n: int, scratch: Path, on_progress: OnProgress | None
) -> tuple[Int64s, Int64s]:
    """Write the remaining tokens. Returns the document ends, int64[documents + 1], in tokens and in bytes of text."""
    ends, bytes_, done = [np.zeros(1, np.int64)], [np.zeros(1, np.int64)], 0

    def write_ends(tokens: Int64s, n_bytes: Int64s) -> None:
        """Append documents whose ends are given relative to the end of the last document written."""
        if not len(tokens):
            return
        ends.append(ends[-1][-1] + tokens)
        bytes_.append(bytes_[-1][-1] + n_bytes)
        output.ends.write(ends[-1].astype("<u8").view(np.uint8).data)

    def write_empty(documents: int) -> None:
        write_ends(np.zeros(documents, np.int64), np.zeros(documents, np.int64))

    for marks in _marks(index, n, scratch, on_progress):
        shard, first = index.shards[marks.number], index.first_document(marks.number)
        write_empty(first - done)  # documents without tokens may not belong to any shard
        done = first + len(shard.ends)
        kept = _kept(index, marks, n)
        bounds = np.concatenate(([0], shard.ends.astype(np.int64) - shard.begin))
        if bool((np.diff(bounds) < 0).any()):
            raise shard.damaged()
        for at in range(0, len(bounds) - 1, DOCUMENTS_AT_ONCE):
            some = bounds[at : at + DOCUMENTS_AT_ONCE + 1]
            mask, ids = kept[some[0] : some[-1]], shard.ids[some[0] : some[-1]]
            ids = np.ascontiguousarray(ids[mask])
            output.ids.write(ids.view(np.uint8).data)
            sums = np.concatenate(([0], np.cumsum(mask)))[some - some[0]]
            sizes = np.concatenate(([0], np.cumsum(index.tables.sizes[ids].astype(np.int64))))[sums]
            write_ends(sums[1:], sizes[1:])
    write_empty(index.n_documents - done)
    return np.concatenate(ends), np.concatenate(bytes_)


def _kept(index: Index, marks: _Marks, n: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """bool[tokens]: whether a token is outside all windows that repeat earlier text, or part of a character that
    crosses the edge of one."""
    shard, tables = index.shards[marks.number], index.tables
    starts = np.flatnonzero(marks.later)
    begins, ends, _ = _ranges(starts, index.documents_at(marks.number, starts), n)
    inner = np.array([text[:1] != b"" and text[0] & 0xC0 == 0x80 for text in tables.texts], np.bool_)
    # Whether an id begins inside a character.
    inner = np.append(inner, np.zeros(len(tables.sizes) - len(inner), np.bool_))
    kept = np.ones(len(shard), np.bool_)
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        while begin < end and inner[shard.ids[begin]]:
            begin += 1
        while end > begin and end < len(shard) and inner[shard.ids[end]]:
            end -= 1
        kept[begin:end] = False
    return kept


def _records(inputs: list[InputRecord], sizes: tuple[Int64s, Int64s]) -> list[InputRecord]:
    """The input records, updated to the tokens and text bytes that remain of each input."""
    ret, at = [], 0
    for record in inputs:
        tokens, n_bytes = (int(bounds[at + record.documents] - bounds[at]) for bounds in sizes)
        at += record.documents
        ret.append(replace(record, tokens=tokens, text_bytes=n_bytes, xxh64=None, seconds=None, abridged=True))
    return ret
