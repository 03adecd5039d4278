"""Repeated spans of an index: where they are, and the token file without them.

    shard 0 ─┐  merge of the suffix    a temporary file of       each shard in turn         spans ─▶ dups.jsonl.zst
    shard 1 ─┼───────────────────────▶ records (40 bytes ──────▶ back into the text's ───┬─▶
    shard 2 ─┘  arrays (repeats.c)     each)                     order                   └─▶ what is left ─▶ OUT

A window is min_tokens tokens of one document, without its eod. It is repeated where the same tokens are another window,
of any document. Repeated windows that overlap or touch make a span. Memory: 5 bytes a token of the largest shard and
some 10 MB of its own; with the pages of the index and of the records that it reads, about 21 bytes a token were
measured (5.1 GB for 242 million tokens). Disk, beside the output, while it works: at most 40 bytes for each repeated
window.
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
from pyunitok._c import search as c_search
from pyunitok.disk.outfile import new_file
from pyunitok.errors import LimitError, OutputError
from pyunitok.index.hits import Int64s
from pyunitok.index.opened import Index, open_index
from pyunitok.run.identity import Identity
from pyunitok.run.output import Output
from pyunitok.tokens.manifest import ERRORS_SUFFIX, METADATA_SUFFIX, InputRecord, Manifest, StrPath
from pyunitok.tokens.metadata import MetadataFile, metadata_path
from pyunitok.tokens.model import Model

STEP = 1 << 20  # suffixes passed between two looks at the keyboard
DOCUMENTS_AT_ONCE = 1 << 16

OnProgress = Callable[[float], None]
Records = np.ndarray[Any, Any]  # of c_repeats.REPEAT


@dataclass(frozen=True)
class Repeats:
    """What duplicates() found.

    spans     how many repeated spans were written; None with drop=True
    tokens    how many tokens are in the spans, or were dropped
    manifest  of the token file, with drop=True
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
    out          the file to write: a JSON object for each repeated span, a line each, compressed if the name ends in
                 .zst
    min_tokens   shortest span
    drop         write a token file to `out` instead: all documents, without what has occurred before
    overwrite    replace OUT if it exists
    model        instead of the one that the token files name
    on_progress  called with the share that is done, from this thread

    Memory: about 21 bytes for each token of the index. OutputError if OUT exists.

        pyunitok.duplicates("idx", "unique.u16", drop=True).manifest
    """
    opened = index if isinstance(index, Index) else open_index(index, model=model)
    if drop:
        manifest, n = drop_repeats(opened, Path(out), min_tokens, overwrite=overwrite, on_progress=on_progress)
        return Repeats(None, n, manifest)
    return Repeats(*write_repeats(opened, Path(out), min_tokens, overwrite=overwrite, on_progress=on_progress))


@dataclass
class RepeatedSpans:
    """Spans of one shard, in the order of the text; int64[n] each.

    documents    their numbers in the index
    begins, ends in tokens of the document
    byte_begins, byte_ends  in the decoded document
    occurrences  of the most frequent of the windows in it
    later        how many of its tokens are in a window that has occurred before (without overlap)
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
        """As JSON objects."""
        columns = (
            self.documents, self.begins, self.ends, self.byte_begins, self.byte_ends, self.occurrences, self.later,
        )  # fmt: skip
        for document, begin, end, a, b, n, later in zip(*(column.tolist() for column in columns), strict=True):
            where = {"document": document, "tokens": [begin, end], "bytes": [a, b]}
            yield where | {"occurrences": n, "later_tokens": later}


@dataclass
class _Marks:
    """Of one shard, by token: how often the window occurs that begins there (0: once), and whether it has before."""

    number: int
    counts: np.ndarray[Any, np.dtype[np.uint32]]
    later: np.ndarray[Any, np.dtype[np.uint8]]


def repeated_spans(
    index: Index, min_tokens: int = 50, *, scratch: Path | None = None, on_progress: OnProgress | None = None
) -> Iterator[RepeatedSpans]:
    """All repeated spans of at least min_tokens tokens, shard by shard.

    scratch      a folder for temporary files; by default the system's
    on_progress  called with the share that is done, 0 to 1
    """
    for marks in _marks(index, min_tokens, scratch, on_progress):
        yield _spans_of(index, marks, min_tokens)


def write_repeats(
    index: Index, out: Path, min_tokens: int = 50, *, overwrite: bool = False, on_progress: OnProgress | None = None
) -> tuple[int, int]:
    """Write all repeated spans to a file, a JSON object a line, compressed where its name ends in .zst; how many spans
    there are, and tokens in them. OutputError if the file exists."""
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
    """Write a token file of all documents of the index without the windows that have occurred before: its manifest, and
    how many tokens are gone.

    Of every token that goes, an earlier copy stays. No character is cut: where a window begins or ends inside of one,
    that character stays whole. Documents keep their order, number and metadata; one that was all repeats is empty.
    Metadata is kept where all token files have it. An interrupted run starts again.

    OutputError where OUT exists and was made otherwise, or a token file has no manifest.
    """
    expected = 0
    for number, shard in enumerate(index.shards):
        if index.first_document(number) < expected:
            raise OutputError(f"{index.folder}: its shards are not in the order of the documents")
        expected = index.first_document(number) + len(shard.ends)
    parts = [array.manifest for array in index.arrays]
    manifests = [part for part in parts if part is not None]
    if len(manifests) != len(parts) or not manifests:
        raise OutputError(f"{index.folder}: a token file without a manifest; tokenize writes one")
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
        repeats, done, total = c_repeats.RepeatFinder(index.c, min_tokens), 0, max(1, index.n_tokens)
        while done < index.n_tokens:
            records, done = repeats.step(STEP)
            for number in np.unique(records["shard"]).tolist():
                spilled.append(number, records[records["shard"] == number])
            if on_progress:
                on_progress(done / total)
        for number, shard in enumerate(index.c):
            counts, later = np.zeros(shard.n, np.uint32), np.zeros(shard.n, np.uint8)
            for records in spilled.of(number):
                c_repeats.mark_repeats(shard, number, min_tokens, records, counts, later)
            yield _Marks(number, counts, later)


class _Spilled:
    """Records of all shards in one temporary file, which has no name: it is gone with the process, however that ends.

    The file is a sequence of chunks, each of one shard:

        [ where the shard's chunk before it begins, or -1 | records that follow | records ... ]
    """

    HEAD = struct.Struct("<qq")

    def __init__(self, n_shards: int, folder: Path | None) -> None:
        self._folder = folder or Path(tempfile.gettempdir())
        self._last = [-1] * n_shards  # where the last chunk of each shard begins
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
        """All records of a shard, the last ones first, which makes no difference to the marks."""
        begin = self._last[shard]
        while begin >= 0:
            self._file.seek(begin)
            begin, n = self.HEAD.unpack(self._file.read(self.HEAD.size))
            yield np.frombuffer(self._file.read(n * c_repeats.REPEAT.itemsize), c_repeats.REPEAT)

    def _unwritable(self, error: OSError) -> OutputError:
        return OutputError(f"{self._folder}: a temporary file cannot be written: {error.strerror}")


def _ranges(starts: Int64s, documents: Int64s, n: int) -> tuple[Int64s, Int64s, Int64s]:
    """Windows of n tokens that overlap or touch, in one document, joined: begins, ends, and where each range's windows
    begin in `starts`."""
    is_new = np.ones(len(starts), np.bool_)
    is_new[1:] = (starts[1:] > starts[:-1] + n) | (documents[1:] != documents[:-1])
    at = np.flatnonzero(is_new)
    last = np.append(at, len(starts))[1:] - 1
    return starts[at], starts[last] + n, at


def _spans_of(index: Index, marks: _Marks, n: int) -> RepeatedSpans:
    starts = np.flatnonzero(marks.counts)
    documents = index._documents_at(marks.number, starts)
    begins, ends, at = _ranges(starts, documents, n)
    occurrences = np.maximum.reduceat(marks.counts[starts], at).astype(np.int64) if len(at) else begins
    later = np.flatnonzero(marks.later)
    later_begins, later_ends, _ = _ranges(later, index._documents_at(marks.number, later), n)
    owner = np.searchsorted(begins, later_begins, "right") - 1
    later_tokens = np.zeros(len(begins), np.int64)
    np.add.at(later_tokens, owner, later_ends - later_begins)
    first = index._bounds_at(marks.number, begins)[1]
    numbers, byte_begins = index._bytes_at(marks.number, begins, np.zeros_like(begins))
    sizes = c_search.sizes_of(index.shards[marks.number].ids, index.tables.sizes, begins, ends)
    byte_ends, byte_begins = byte_begins + sizes, np.maximum(byte_begins, 0)
    return RepeatedSpans(
        numbers, begins - first, ends - first, byte_begins, byte_ends, occurrences, later_tokens
    )


# ------------------------------------------------------------------------------------------------------ dropping ---


def _write_kept(
    index: Index, output: Output, n: int, scratch: Path, on_progress: OnProgress | None
) -> tuple[Int64s, Int64s]:
    """Write the tokens that stay; int64[documents + 1] where documents end, in tokens and in bytes of text."""
    ends, bytes_, done = [np.zeros(1, np.int64)], [np.zeros(1, np.int64)], 0

    def write_ends(tokens: Int64s, n_bytes: Int64s) -> None:
        """Of the next documents, counted from the end of those before."""
        if not len(tokens):
            return
        ends.append(ends[-1][-1] + tokens)
        bytes_.append(bytes_[-1][-1] + n_bytes)
        output.ends.write(ends[-1].astype("<u8").view(np.uint8).data)

    def write_empty(documents: int) -> None:
        write_ends(np.zeros(documents, np.int64), np.zeros(documents, np.int64))

    for marks in _marks(index, n, scratch, on_progress):
        shard, first = index.shards[marks.number], index.first_document(marks.number)
        write_empty(first - done)  # documents without tokens can be in no shard
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
    """bool[tokens]: what is in no window that has occurred before, and what the characters there need."""
    shard, tables = index.shards[marks.number], index.tables
    starts = np.flatnonzero(marks.later)
    begins, ends, _ = _ranges(starts, index._documents_at(marks.number, starts), n)
    inner = np.array([text[:1] != b"" and text[0] & 0xC0 == 0x80 for text in tables.texts], np.bool_)
    inner = np.append(inner, np.zeros(65536 - len(inner), np.bool_))  # ids that begin inside a character
    kept = np.ones(len(shard), np.bool_)
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        while begin < end and inner[shard.ids[begin]]:
            begin += 1
        while end > begin and end < len(shard) and inner[shard.ids[end]]:
            end -= 1
        kept[begin:end] = False
    return kept


def _records(inputs: list[InputRecord], sizes: tuple[Int64s, Int64s]) -> list[InputRecord]:
    """The inputs, with the tokens and the text that are left of each."""
    ret, at = [], 0
    for record in inputs:
        tokens, n_bytes = (int(bounds[at + record.documents] - bounds[at]) for bounds in sizes)
        at += record.documents
        ret.append(replace(record, tokens=tokens, text_bytes=n_bytes, xxh64=None, seconds=None, abridged=True))
    return ret
