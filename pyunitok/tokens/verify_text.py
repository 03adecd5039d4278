"""verify_text() checks that a token file decodes to the bytes of its inputs. Both sides are streams:

    inputs ──▶ readers (threads) ──▶ documents ──┐
                                                 ├─▶ compare bytes and document ends
    tokens ──▶ decoders (threads) ─▶ documents ──┘

The two sides are independent: documents that are read end at separators and file ends, and decoded documents end where
OUT.ends says.
"""

from __future__ import annotations

import stat
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import numpy as np

from pyunitok.corpus.block import Block, anywhere
from pyunitok.corpus.formats import FORMATS
from pyunitok.corpus.raw_file import STDIN
from pyunitok.corpus.reading import BLOCK_BYTES, Reading, ReadingOptions
from pyunitok.corpus.source import Source
from pyunitok.corpus.workers import Workers
from pyunitok.disk.url import is_url
from pyunitok.errors import IdError, InputError, count
from pyunitok.model.batch import threads_or_cores
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.packed import Bytes, Offsets
from pyunitok.tokens.array import TokenArray
from pyunitok.tokens.batches import Batch, batches
from pyunitok.tokens.manifest import InputRecord
from pyunitok.tokens.verify_block import reference_of

BATCH_IDS = 1 << 19
SHOWN_BYTES = 12  # the length of excerpts in messages
MANIFEST = "according to the manifest"


@dataclass(frozen=True)
class Stretch:
    """Consecutive bytes of one side. Its last document may continue in the next stretch.

    ends  the offsets in `data` at which documents end
    """

    data: Bytes
    ends: Offsets


def sources_of(records: Sequence[InputRecord], found: Sequence[Source] | None = None) -> list[Source]:
    """The inputs of a manifest, which are read in the same way as for tokenizing.

    found  the files to read, in the order of the manifest; None means the files that the manifest names. Because
           manifests are untrusted, only local regular files that they name are read.

    Raises InputError if the numbers of files and inputs differ, or if a file cannot be read again.
    """
    if any(record.format not in FORMATS for record in records):
        raise InputError("the documents came from another program instead of files and cannot be read again")
    if found is None:
        sizes = [0 if record.abridged else _local_size(record.path) for record in records]  # 0: not read
        return [
            Source(r.path, r.format, r.compression, size, reason=MANIFEST)
            for r, size in zip(records, sizes, strict=True)
        ]
    if len(found) != len(records):
        raise InputError(f"{count(len(found), 'input')} given, but the manifest has {len(records)}")
    return [replace(s, format=r.format, reason=MANIFEST) for s, r in zip(found, records, strict=True)]


def _local_size(path: str) -> int:
    """The size in bytes of an input that a manifest names."""
    if path == STDIN:
        raise InputError("an input was stdin, which cannot be read again; pass the inputs as arguments")
    if is_url(path):
        raise InputError(f"the manifest names {path}; to read URLs, pass them on the command line")
    try:
        status = Path(path).stat()
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read again: {getattr(error, 'strerror', None) or error}") from error
    if not stat.S_ISREG(status.st_mode):
        raise InputError(f"{path} is not a regular file and cannot be read again; pass the inputs as arguments")
    return status.st_size


def verify_text(
    array: TokenArray, tokenizer: Tokenizer, sources: Sequence[Source], *, threads: int | None = None,
    on_bytes: Callable[[int], None] = lambda _: None,
) -> str | None:  # fmt: skip
    """The first difference between the inputs and the decoded tokens, as a sentence; None if there is none.

    sources   one source per input of the manifest, in order
    on_bytes  called with the number of bytes just compared

    Inputs that `duplicates --drop` has abridged are not compared. Raises InputError if an input cannot be read; IdError
    if an id is not in the vocabulary. Memory: a few blocks and batches per thread, and, for models that are not
    lossless, the longest document.
    """
    assert array.manifest is not None
    records = array.manifest.inputs
    threads = threads_or_cores(threads)
    first = 0
    key = lambda k: (records[k].format, records[k].text_key, records[k].separator, records[k].abridged)  # noqa: E731
    with ThreadPoolExecutor(threads) as pool:
        for _, group in groupby(range(len(records)), key):
            numbers = [k for k in group if records[k].error is None]
            if not numbers:
                continue
            stop = first + sum(records[k].documents for k in numbers)
            if records[numbers[0]].abridged:
                first = stop
                continue
            read = [sources[k] for k in numbers]
            reading = _reading([records[k] for k in numbers], read, threads)
            place = _Place(array, tokenizer, [records[k] for k in numbers], [source.name for source in read], first)
            with Workers(reading, _copy) as readers:
                texts = _texts((result.value for result in readers.results()), tokenizer)
                problem = _compare(texts, _decoded(array, tokenizer, first, stop, pool, threads), place, on_bytes)
            if problem:
                return problem
            first = stop
    return None


def _reading(records: list[InputRecord], sources: list[Source], threads: int) -> Reading:
    """The Reading of inputs that share format, text key and separator."""
    record = records[0]
    options = ReadingOptions(
        separator=None if record.separator is None else record.separator.encode("utf-8", "surrogateescape"),
        text_key=record.text_key or "text",
        on_error="skip" if any(other.skipped for other in records) else "raise",
        threads=threads,
        block_bytes=BLOCK_BYTES,
    )
    return Reading(sources, options, split=anywhere)


def _copy(block: Block) -> Stretch:
    """Copy the documents of a block."""
    bounds = block.offsets[: block.n_docs + 1]
    return Stretch(block.data[: bounds[-1]].copy(), bounds[1 : len(bounds) - block.open_end].copy())


def _texts(parts: Iterator[Stretch], tokenizer: Tokenizer) -> Iterator[Stretch]:
    """The expected decoding of the documents read."""
    reference = reference_of(tokenizer)
    if reference is None:
        yield from parts
        return
    begun: list[bytes] = []
    for part in parts:
        at, data = 0, part.data.tobytes()
        for end in part.ends.tolist():
            begun.append(data[at:end])
            text = np.frombuffer(reference(b"".join(begun)), np.uint8)
            yield Stretch(text, np.array([len(text)], np.int64))
            begun, at = [], end
        begun.append(data[at:])


def _decoded(
    array: TokenArray, tokenizer: Tokenizer, first: int, stop: int, pool: ThreadPoolExecutor, threads: int
) -> Iterator[Stretch]:
    """Decode documents first..stop-1, a few batches ahead of the consumer."""
    ahead: deque[Future[Stretch]] = deque()
    for batch in batches(array, first, stop, tokenizer, BATCH_IDS):
        ahead.append(pool.submit(_decode, array, tokenizer, batch))
        if len(ahead) > 2 * threads:
            yield ahead.popleft().result()
    while ahead:
        yield ahead.popleft().result()


def _decode(array: TokenArray, tokenizer: Tokenizer, batch: Batch) -> Stretch:
    bounds, open_end, drop_last = batch
    ids = np.ascontiguousarray(array.ids[bounds[0] : bounds[-1]])
    try:
        data, offsets = tokenizer.codec.decode_documents(ids, bounds - bounds[0], drop_last=drop_last)
    except IdError as error:
        at = int(bounds[0]) + int(getattr(error, "position", 0))
        where = f"{array.path}: document {array.locate(at)}, token {at}"
        raise IdError(f"{where}: id {array.ids[at]} is not in the vocabulary") from error
    return Stretch(data, offsets[1 : len(offsets) - open_end])


@dataclass(frozen=True)
class _Place:
    """Describes positions in the decoded stream of some inputs, whose first document is `first`."""

    array: TokenArray
    tokenizer: Tokenizer
    records: Sequence[InputRecord]
    names: Sequence[str]
    first: int

    def document(self, d: int) -> str:
        """Describes document d of these inputs: its input, its number in the input and in the token file."""
        k = d
        for record, name in zip(self.records, self.names, strict=True):
            if k < record.documents:
                return f"{name}: document {k} (document {self.first + d} of {self.array.path})"
            k -= record.documents
        return f"{self.names[-1]}: document {k + self.records[-1].documents} ({self.array.path} has fewer)"

    def token(self, d: int, byte: int) -> str:
        """Describes the token of document d that decodes to this byte."""
        begin, end = self.array.bounds(self.first + d)
        for at in range(begin, end, BATCH_IDS):
            ids = np.ascontiguousarray(self.array.ids[at : min(at + BATCH_IDS, end)])
            sizes = self.tokenizer.codec.decode_documents(ids, np.arange(len(ids) + 1))[1]
            if byte < sizes[-1]:
                k = int(np.searchsorted(sizes, byte, "right")) - 1
                return f"token {at + k} (id {ids[k]})"
            byte -= int(sizes[-1])
        return f"token {end}"


class _Side:
    """A stream of stretches, consumed a few bytes at a time.

    data     the unread bytes of the current stretch
    n_bytes  the number of bytes consumed
    ends     the document ends that have been read but not yet compared, as offsets in the stream
    """

    def __init__(self, parts: Iterator[Stretch]) -> None:
        self._parts = parts
        self.data = np.empty(0, np.uint8)
        self.n_bytes = 0
        self.ends = np.empty(0, np.int64)

    def refill(self) -> bool:
        """Ensure that `data` is not empty. Returns False at the end of the stream."""
        while not len(self.data):
            part = next(self._parts, None)
            if part is None:
                return False
            self.data = part.data
            self.ends = np.concatenate((self.ends, part.ends + self.n_bytes))
        return True

    def end_after(self, at: int) -> int:
        """The end of an excerpt from `at` that does not extend beyond the current document."""
        end = min(at + SHOWN_BYTES, self.n_bytes + len(self.data))
        return min(end, int(self.ends[0])) if len(self.ends) else end


def _compare(
    texts: Iterator[Stretch], decoded: Iterator[Stretch], place: _Place, on_bytes: Callable[[int], None]
) -> str | None:
    """The first difference; see verify_text."""
    text, own = _Side(texts), _Side(decoded)
    d = start = 0  # the current document and its start
    while True:
        more = text.refill(), own.refill()
        n = min(len(text.data), len(own.data))
        differs = text.data[:n] != own.data[:n]
        same = not differs.any()
        at = text.n_bytes + (n if same else int(differs.argmax()))
        # All ends up to byte b are known once byte b of a stream has been read.
        known = at if same and all(more) else at + 1 if not same or any(more) else at + 2
        k = _first_unequal(text.ends, own.ends)
        if any(len(side.ends) > k and side.ends[k] < known for side in (text, own)):
            start = int(text.ends[k - 1]) if k else start
            after = [f"after {side.ends[k] - start} bytes" if len(side.ends) > k else "later" for side in (text, own)]
            return f"{place.document(d + k)}: the text ends {after[0]}, but the tokens end {after[1]}"
        passed = int(np.searchsorted(text.ends[:k], at, "right"))
        if passed:
            d, start = d + passed, int(text.ends[passed - 1])
            text.ends, own.ends = text.ends[passed:], own.ends[passed:]
        if not same:
            shown = [side.data[at - side.n_bytes : side.end_after(at) - side.n_bytes].tobytes() for side in (text, own)]
            return (
                f"{place.document(d)}: byte {at - start}: the text continues with {shown[0]!r}, "
                f"but the tokens continue with {shown[1]!r} at {place.token(d, at - start)}"
            )
        if not all(more):
            if not any(more):
                return None
            end = "the tokens end, but the text continues" if more[0] else "the text ends, but the tokens continue"
            return f"{place.document(d)}: byte {at - start}: {end}"
        for side in (text, own):
            side.data, side.n_bytes = side.data[n:], side.n_bytes + n
        on_bytes(n)


def _first_unequal(a: Offsets, b: Offsets) -> int:
    n = min(len(a), len(b))
    wrong = np.flatnonzero(a[:n] != b[:n])
    return int(wrong[0]) if len(wrong) else n
