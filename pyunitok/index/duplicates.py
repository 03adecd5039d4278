"""duplicates() finds the repeated spans of an index, or writes a token file without them.

    shards ─▶ tokens, ends ─ windows.py ─▶ repeated windows ─┬─ joined ─▶ spans ────────▶ dups.jsonl.zst
              (temporary files)            in text order     └─ later ──▶ other tokens ─▶ OUT

A window is min_tokens consecutive tokens of one document, excluding its eod. It is repeated if the same tokens form
another window, in any document. Repeated windows that overlap or touch form a span.

The suffix arrays are not read. The memory used does not depend on the size of the index. Temporary files next to the
output contain the tokens, 8 bytes per document, and the records of windows.py.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from pyunitok._c.anchors import Int64s
from pyunitok._c.windows import Ids
from pyunitok.clean.records import Ranges, RangesWriter
from pyunitok.clean.repeats import release
from pyunitok.clean.workspace import TemporaryFiles
from pyunitok.corpus.compressions import by_suffix
from pyunitok.corpus.rewriting import compressed, empty
from pyunitok.disk.outfile import new_file
from pyunitok.errors import LimitError, OutputError
from pyunitok.index.opened import Index, open_index
from pyunitok.index.windows import OnShare, RepeatedWindows
from pyunitok.model.batch import threads_or_cores
from pyunitok.run.identity import Identity
from pyunitok.run.output import Output
from pyunitok.tokens.manifest import ERRORS_SUFFIX, METADATA_SUFFIX, InputRecord, Manifest, StrPath
from pyunitok.tokens.metadata import MetadataFile, metadata_path
from pyunitok.tokens.model import Model

STEP = 1 << 20  # tokens between checks for Ctrl-C
WINDOWS_AT_ONCE = 1 << 17
FRAME_BYTES = 1 << 20  # lines that are compressed at once
MAX_MEMORY_BYTES = 1 << 30
COPIED, FOUND = 0.05, 0.9  # the completed share once the tokens are copied, and once all windows are found


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
    model: Model = None, max_memory_bytes: int = MAX_MEMORY_BYTES, threads: int | None = None,
    on_progress: OnShare | None = None,
) -> Repeats:  # fmt: skip
    """Find text that occurs more than once in an index, or drop it, as `pyunitok duplicates` does.

    index             the folder of an index, or an open Index
    out               the JSON Lines file to write, one object per repeated span; its name determines the compression
    min_tokens        the minimum length of a span
    drop              write a token file to `out` instead: all documents, except for tokens that repeat earlier text
    overwrite         replace `out` if it exists
    model             replaces the model that the token files name
    max_memory_bytes  the memory budget; the result does not depend on it
    threads           by default, one per core
    on_progress       called with the completed share, from the calling thread

    Raises OutputError if `out` exists.

        pyunitok.duplicates("idx", "unique.u16", drop=True).manifest
    """
    opened = index if isinstance(index, Index) else open_index(index, model=model)
    work: Any = {"max_memory_bytes": max_memory_bytes, "threads": threads, "on_progress": on_progress}
    if drop:
        manifest, n = drop_repeats(opened, Path(out), min_tokens, overwrite=overwrite, **work)
        return Repeats(None, n, manifest)
    return Repeats(*write_repeats(opened, Path(out), min_tokens, overwrite=overwrite, **work))


@dataclass
class RepeatedSpans:
    """Repeated spans in text order; int64[n] each.

    documents               document numbers in the index
    begins, ends            token ranges within the documents
    byte_begins, byte_ends  byte ranges within the decoded documents
    occurrences             the count of the most frequent window in the span
    later                   the number of the span's tokens in windows that repeat earlier text and do not overlap it
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


def repeated_spans(
    index: Index, min_tokens: int = 50, *, scratch: Path | None = None, max_memory_bytes: int = MAX_MEMORY_BYTES,
    threads: int | None = None, on_progress: OnShare | None = None,
) -> Iterator[RepeatedSpans]:  # fmt: skip
    """All repeated spans of at least min_tokens tokens, in text order; at least one item for each shard.

    scratch      the folder for temporary files; by default, the system's
    on_progress  called with the completed share, 0 to 1
    """
    with TemporaryFiles(scratch or Path(tempfile.gettempdir())) as files:
        corpus = _Corpus(index, min_tokens, files, max_memory_bytes, threads, on_progress)
        joiner = _Joiner()
        for number, windows, is_end in corpus.repeats():
            yield corpus.spans_of(number, joiner.add(windows, is_end))


def write_repeats(
    index: Index, out: Path, min_tokens: int = 50, *, overwrite: bool = False, **work: Any
) -> tuple[int, int]:
    """Write all repeated spans to a JSON Lines file, compressed if its name ends in .zst, .gz, .bz2 or .xz. Returns the
    number of spans and the number of tokens in them. work: the other arguments of repeated_spans. Raises OutputError if
    the file exists."""
    n_spans = n_tokens = 0
    compression, lines = by_suffix(out.suffix).name, bytearray()
    with new_file(out, overwrite=overwrite) as file:
        for spans in repeated_spans(index, min_tokens, scratch=out.parent, **work):
            for record in spans.records():
                lines += json.dumps(record).encode() + b"\n"
            if len(lines) >= FRAME_BYTES:
                file.write(compressed(bytes(lines), compression))
                lines.clear()
            n_spans += len(spans)
            n_tokens += int((spans.ends - spans.begins).sum())
        file.write(compressed(bytes(lines), compression) if n_spans else empty(compression))
    return n_spans, n_tokens


def drop_repeats(
    index: Index, out: Path, min_tokens: int = 50, *, overwrite: bool = False,
    max_memory_bytes: int = MAX_MEMORY_BYTES, threads: int | None = None, on_progress: OnShare | None = None,
) -> tuple[Manifest, int]:  # fmt: skip
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
        with TemporaryFiles(out.parent) as files:
            corpus = _Corpus(index, min_tokens, files, max_memory_bytes, threads, on_progress)
            records = corpus.write_kept(output, inputs)
        if has_metadata:
            metadata = MetadataFile(output.files[METADATA_SUFFIX])
            for array in index.arrays:
                metadata.append_file(metadata_path(array.path))
            metadata.end()
        first = manifests[0]
        manifest = Manifest.of(
            records, model=first.model, eod=first.eod, dtype=first.dtype, algorithm=first.algorithm,
            sample=first.sample, run=run,
        )  # fmt: skip
        output.commit(manifest)
    return manifest, index.n_tokens - manifest.tokens


BEGIN, END, DOCUMENT, OCCURRENCES, FRESH = range(5)  # the columns of windows and spans; see _Joiner
Bools = np.ndarray[Any, np.dtype[np.bool_]]


class _Corpus:
    """A copy of the tokens of all shards, in a temporary file, and the windows that repeat in these tokens.

    starts  [0..shards]: the index of each shard's first token in the copy, and the number of all tokens
    """

    def __init__(
        self, index: Index, min_tokens: int, files: TemporaryFiles, max_memory_bytes: int, threads: int | None,
        on_progress: OnShare | None,
    ) -> None:  # fmt: skip
        if min_tokens < 1:
            raise LimitError(f"min_tokens must be at least 1, not {min_tokens}")
        self._index, self._files, self._min_tokens = index, files, min_tokens
        self._on_share: OnShare = on_progress or (lambda _share: None)
        self.starts = np.cumsum([0, *map(len, index.shards)]).tolist()
        self._documents = np.cumsum([0, *(len(shard.ends) for shard in index.shards)]).tolist()
        self._copy()
        self._windows = RepeatedWindows(
            files, self._ids, self._ends, int(index.eod is not None), min_tokens, max_memory_bytes,
            threads_or_cores(threads), lambda share: self._on_share(COPIED + (FOUND - COPIED) * share),
        )  # fmt: skip

    def _copy(self) -> None:
        """Write the tokens and the document ends of all shards. Raises OutputError if the ends are damaged."""
        n_tokens = self.starts[-1]
        with self._files.new_file("tokens") as tokens, self._files.new_file("ends") as ends_file:
            for shard, start in zip(self._index.shards, self.starts, strict=False):
                for at in range(0, len(shard), STEP):
                    tokens.write(np.ascontiguousarray(shard.ids[at : at + STEP]).data)
                    self._on_share(COPIED * (start + at) / n_tokens)
                ends = shard.ends.astype(np.int64) - shard.begin
                if len(ends) and (ends[0] < 0 or ends[-1] != len(shard) or bool((np.diff(ends) < 0).any())):
                    raise shard.damaged()
                ends_file.write((ends + start).data)
        self._ids = self._files.mapped("tokens", self._index.dtype, n_tokens)
        self._ends: Int64s = self._files.mapped("ends", np.int64, self._documents[-1])

    def repeats(self) -> Iterator[tuple[int, Int64s, bool]]:
        """Yields (shard, windows, whether the shard is complete), in text order. `windows` is int64[n, 5], with the
        columns of _Joiner."""
        number, last_end = 0, 0
        for repeats in self._windows:
            while len(repeats):
                n = int(np.searchsorted(repeats["key"][:WINDOWS_AT_ONCE], self.starts[number + 1]))
                begins, firsts = (repeats[name][:n].astype(np.int64) for name in ("key", "place"))
                is_later = firsts + self._min_tokens <= begins
                fresh = np.zeros(n, np.int64)
                later = begins[is_later]
                before = np.concatenate(([last_end], later[:-1] + self._min_tokens))[: len(later)]
                fresh[is_later] = np.minimum(later + self._min_tokens - before, self._min_tokens)
                last_end = int(later[-1]) + self._min_tokens if len(later) else last_end
                documents = np.searchsorted(self._ends, begins, "right")
                columns = (begins, begins + self._min_tokens, documents, repeats["value"][:n].astype(np.int64), fresh)
                repeats = repeats[n:]
                is_end = len(repeats) > 0 and int(repeats["key"][0]) >= self.starts[number + 1]
                yield number, np.stack(columns, axis=1), is_end
                number += is_end
            release(self._ends)
        for rest in range(number, len(self.starts) - 1):
            yield rest, np.empty((0, 5), np.int64), True

    def spans_of(self, number: int, spans: Int64s) -> RepeatedSpans:
        index, start = self._index, self.starts[number]
        begins, ends = spans[:, BEGIN] - start, spans[:, END] - start
        first = index._bounds_at(number, begins)[1]
        numbers, byte_begins = index._bytes_at(number, begins, np.zeros_like(begins))
        sizes = index.c[number].sizes(index.tables.sizes, begins, ends)
        byte_ends, byte_begins = byte_begins + sizes, np.maximum(byte_begins, 0)
        counts = spans[:, OCCURRENCES].copy(), spans[:, FRESH].copy()
        return RepeatedSpans(numbers, begins - first, ends - first, byte_begins, byte_ends, *counts)

    # ---------------------------------------------------------------------------------------------------- dropping ---

    def write_kept(self, output: Output, inputs: list[InputRecord]) -> list[InputRecord]:
        """Write the tokens outside later windows, and the document ends. Returns the input records, updated to
        the tokens and bytes of text that remain."""
        dropped, left = self._dropped(), _Left(output, inputs)
        for number, (begin, end) in enumerate(pairwise(self.starts)):
            left.add_empty(self._index.first_document(number))  # documents without tokens may not belong to any shard
            documents = self._ends[self._documents[number] : self._documents[number + 1]]
            for at in range(begin, max(end, begin + 1), STEP):
                to = min(at + STEP, end)
                kept = np.ones(to - at, np.bool_)
                for a, b in np.clip(dropped.between(at, to) - at, 0, to - at).tolist():
                    kept[a:b] = False
                n = int(np.searchsorted(documents, to, "right"))
                ids = np.ascontiguousarray(self._ids[at:to][kept])
                left.add(ids, kept, documents[:n] - at, self._index.tables.sizes)
                documents = documents[n:]
                for array in (self._ids, self._ends, dropped.begins, dropped.ends):
                    release(array)
                self._on_share(FOUND + (1 - FOUND) * to / max(1, self.starts[-1]))
        left.add_empty(self._index.n_documents)
        return left.records()

    def _dropped(self) -> Ranges:
        """Write the ranges of tokens to drop: later windows, except any character that a window would cut."""
        texts = self._index.tables.texts
        is_inner = np.zeros(len(self._index.tables.sizes), np.bool_)  # whether an id begins inside a character
        is_inner[: len(texts)] = [text[:1] != b"" and text[0] & 0xC0 == 0x80 for text in texts]
        joiner = _Joiner()
        with RangesWriter(self._files, "dropped") as writer:
            for number, windows, is_end in self.repeats():
                is_last = is_end and number == len(self.starts) - 2
                ranges = joiner.add(windows[windows[:, FRESH] > 0], is_last)
                begins, ends, document_ends = ranges[:, BEGIN], ranges[:, END], self._ends[ranges[:, DOCUMENT]]
                while len(at := self._among(is_inner, begins, begins < ends)):
                    begins[at] += 1
                while len(at := self._among(is_inner, ends, (begins < ends) & (ends < document_ends))):
                    ends[at] -= 1
                writer.add(ranges[begins < ends, : END + 1])
        return Ranges.opened(self._files, "dropped", writer.n)

    def _among(self, is_inner: Bools, places: Int64s, is_tested: Bools) -> Int64s:
        """The indices k for which is_tested[k] is set and the id at places[k] begins inside a character."""
        at = np.flatnonzero(is_tested)
        ret: Int64s = at[is_inner[self._ids[places[at]]]]
        return ret


class _Joiner:
    """Joins windows of consecutive tokens into spans: rows of int64[n, 5].

    BEGIN, END   the tokens of the span
    DOCUMENT     the document that contains it
    OCCURRENCES  the count of the window, or of the most frequent window in the span
    FRESH        the number of tokens in windows that repeat earlier text and do not overlap it; a token in several
                 such windows counts for the first of them
    """

    def __init__(self) -> None:
        self._rest = np.empty((0, 5), np.int64)

    def add(self, windows: Int64s, is_end: bool) -> Int64s:
        """Returns the complete spans. Unless is_end, the last one may continue, so it is not returned yet."""
        rows = np.concatenate((self._rest, windows))
        is_first = np.ones(len(rows), np.bool_)
        is_first[1:] = (rows[1:, BEGIN] > rows[:-1, END]) | (rows[1:, DOCUMENT] != rows[:-1, DOCUMENT])
        firsts = np.flatnonzero(is_first)
        spans = rows[firsts]
        if len(rows):
            spans[:, END] = rows[np.append(firsts[1:], len(rows)) - 1, END]
            spans[:, OCCURRENCES] = np.maximum.reduceat(rows[:, OCCURRENCES], firsts)
            spans[:, FRESH] = np.add.reduceat(rows[:, FRESH], firsts)
        n = len(spans) if is_end else max(0, len(spans) - 1)
        self._rest = spans[n:]
        return spans[:n]


class _Left:
    """Writes the tokens of each document that are not dropped.

    inputs  the input records of all documents
    """

    def __init__(self, output: Output, inputs: list[InputRecord]) -> None:
        self._output, self._inputs = output, inputs
        self._documents = np.cumsum([record.documents for record in inputs])  # each input's end
        self._tokens, self._bytes = np.zeros(len(inputs), np.int64), np.zeros(len(inputs), np.int64)
        self._n_documents = 0
        self._n = self._last = np.zeros(2, np.int64)  # (tokens, bytes) written: all, up to the last document end

    def add(self, ids: Ids, kept: Bools, ends: Int64s, sizes: Ids) -> None:
        """Write tokens. kept: which of the original tokens are written; ends: the document ends among the
        original tokens; sizes: the bytes of each id."""
        self._output.ids.write(ids.view(np.uint8).data)
        tokens = np.concatenate(([0], np.cumsum(kept)))
        n_bytes = np.concatenate(([0], np.cumsum(sizes[ids].astype(np.int64))))
        self._end(np.stack((tokens[ends], n_bytes[tokens[ends]])) + self._n[:, None])
        self._n = self._n + np.array((tokens[-1], n_bytes[-1]))

    def add_empty(self, n_documents: int) -> None:
        """Write empty documents until there are n_documents."""
        while self._n_documents < n_documents:
            self._end(np.repeat(self._n[:, None], min(STEP, n_documents - self._n_documents), axis=1))

    def _end(self, ends: Int64s) -> None:
        """Write document ends, int64[2, n], in tokens and in bytes."""
        n = ends.shape[1]
        self._output.ends.write(ends[0].astype("<u8").view(np.uint8).data)
        own = np.searchsorted(self._documents, np.arange(self._n_documents, self._n_documents + n), "right")
        tokens, n_bytes = np.diff(ends, prepend=self._last[:, None])
        np.add.at(self._tokens, own, tokens)
        np.add.at(self._bytes, own, n_bytes)
        self._n_documents += n
        if n:
            self._last = ends[:, -1]

    def records(self) -> list[InputRecord]:
        """The input records, updated to the tokens and bytes of text that remain."""
        return [
            replace(record, tokens=tokens, text_bytes=n_bytes, xxh64=None, seconds=None, abridged=True)
            for record, tokens, n_bytes in zip(self._inputs, self._tokens.tolist(), self._bytes.tolist(), strict=True)
        ]
