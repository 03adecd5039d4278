"""Plan: what a tokenizing run is to do, decided before anything is read; Start, Progress, Callbacks: what it tells."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyunitok.corpus.block import Split, whole
from pyunitok.corpus.position import BEGINNING, Position
from pyunitok.corpus.reading import MemoryBudget, Reading
from pyunitok.corpus.source import Source
from pyunitok.errors import OptionError, OutputError
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.run.identity import Identity
from pyunitok.run.options import DTYPES, TokenizeOptions
from pyunitok.run.shard import RunShard


@dataclass(frozen=True)
class Plan:
    """What to do, decided before anything is read.

    sources    the inputs, or those of this shard
    shard      which part of the whole run the sources are
    before     where the first source starts, if it is a range of its file
    resumable  keep a journal; without one an unfinished OUT is worthless, and a small one is finished sooner
    model      the manifest's description of the model, where the tokenizer came from elsewhere
    """

    options: TokenizeOptions
    sources: Sequence[Source]
    out: Path
    tokenizer: Tokenizer
    shard: RunShard | None = None
    before: Position = BEGINNING
    resumable: bool = True
    model: dict[str, Any] | None = None

    @property
    def split(self) -> Split:
        """Where a document may be divided."""
        sample, verify = self.options.sample, self.options.verify
        is_whole = sample is not None and sample.needs_whole(self.tokenizer)
        is_whole |= verify and not self.tokenizer.lossless  # a part may be decoded differently from the document
        return whole if is_whole else self.tokenizer.codec.split

    @property
    def reading(self) -> Reading:
        """How the inputs are read."""
        limit = self.options.max_memory_bytes - self.rules_memory_bytes
        options = replace(self.options, max_memory_bytes=limit)
        return Reading(self.sources, options, self.split, result_bytes=self.id_bytes)

    @property
    def eod_id(self) -> int | None:
        """The id after each document. OptionError if it should be the model's, which has none."""
        if not isinstance(self.options.eod, str):
            return self.options.eod
        if self.tokenizer.eod_id is None:
            raise OptionError("this model has no eod id; choose one (--eod ID) or give --eod none")
        return int(self.tokenizer.eod_id)

    @property
    def dtype(self) -> str:
        """The type of the ids in the file, as NumPy writes it."""
        return DTYPES[self.options.dtype]

    @property
    def memory_factor(self) -> int:
        """Memory that a document takes while it is encoded, beyond that of the C library, for each of its bytes."""
        rules = self.tokenizer.codec.rules
        return rules.memory_factor if rules else 0

    @property
    def rules_memory_bytes(self) -> int:
        """The share of max_memory_bytes for this."""
        return self.options.max_memory_bytes // 2 if self.memory_factor else 0

    @property
    def id_bytes(self) -> int:
        """The size of an id in the file."""
        return int(self.dtype[-1])

    @property
    def separator_text(self) -> str | None:
        """The separator as JSON holds it."""
        separator = self.options.separator
        return None if separator is None else separator.decode("utf-8", "surrogateescape")

    @property
    def first_input(self) -> int:
        """The number, in the whole run, of the first source here."""
        return self.shard.first_input if self.shard else 0

    def sampling_of(self, source: int, document: int) -> Any:
        """What the encoder needs to sample documents of a source, from this number on; None to encode them."""
        sample = self.options.sample
        return sample and sample.of(self.tokenizer, self.first_input + source, document)

    def identity(self) -> Identity:
        """What decides the output."""
        options = self.options
        decisive: dict[str, Any] = {
            "model sha256": self.tokenizer.sha256,
            "algorithm": self.tokenizer.algorithm,
            "eod": self.eod_id,
            "dtype": self.dtype,
            "separator": self.separator_text,
            "text key": options.text_key,
            "metadata": options.metadata,
            "on error": options.on_error,
            "longest line": options.max_line_bytes if options.skip_bad else None,  # longer ones are skipped
        }
        decisive |= {"sample": options.sample.to_json()} if options.sample else {}
        decisive |= self.shard.options() if self.shard else {}
        return Identity.of(decisive, [source.file for source in self.sources])

    def check(self) -> None:
        """Check all that can be known before anything is written.

        OutputError if the model's ids do not fit the file, OptionError if the eod does not or the model cannot sample
        this way, LimitError if the memory is too little.
        """
        largest = 256**self.id_bytes - 1
        if self.tokenizer.vocab_size - 1 > largest:
            raise OutputError(
                f"the ids of {self.tokenizer.name} go up to {self.tokenizer.vocab_size - 1} and do not fit"
                f" uint{8 * self.id_bytes}; --dtype uint32 writes a file that they fit"
            )
        largest = min(largest, 256 ** int(self.tokenizer.codec.model.info.id_bytes) - 1)
        eod_id = self.eod_id
        if eod_id is not None and not 0 <= eod_id <= largest:
            raise OptionError(f"the eod id {eod_id} is not within 0..{largest}, the ids that the file can hold")
        try:
            if self.options.sample:
                self.tokenizer.sample(b"a", **self.options.sample.to_json())
        except ValueError as error:
            raise OptionError(f"this sample cannot be drawn: {error}") from error
        MemoryBudget.of(self.reading)


@dataclass(frozen=True)
class Start:
    """How much of the work an earlier, equal run has done. `complete`: all of it.

    compressed  bytes of the stored files that need not be read again
    """

    bytes: int = 0
    documents: int = 0
    complete: bool = False
    compressed: int = 0


@dataclass
class Progress:
    """How far a run is.

    bytes             of decompressed inputs
    text_bytes        of the documents' text
    tokens            written, as are documents
    compressed        bytes of the stored files that were read
    compressed_total  their sizes added up; None: unknown, as of a pipe
    """

    bytes: int = 0
    text_bytes: int = 0
    tokens: int = 0
    documents: int = 0
    compressed: int = 0
    compressed_total: int | None = None


@dataclass(frozen=True)
class Callbacks:
    """Functions that a run calls, all from the thread that started it.

    on_start     once before the first block
    on_progress  after each block
    on_merge     while the parts of a run on a cluster are joined
    on_upload    (url, bytes) before each file is uploaded
    """

    on_start: Callable[[Start], None] = lambda _: None
    on_progress: Callable[[Progress], None] = lambda _: None
    on_merge: Callable[[Progress], None] = lambda _: None
    on_upload: Callable[[str, int], None] = lambda _url, _n_bytes: None


SILENT = Callbacks()


def describe_model(tokenizer: Tokenizer) -> dict[str, Any]:
    """The manifest's description of the model; made before the run, which may take days."""
    path = Path(tokenizer.path).resolve() if tokenizer.path else None
    return {
        "name": tokenizer.name,
        "path": path and str(path),
        "sha256": tokenizer.sha256,
        "file_sha256": path and hashlib.sha256(path.read_bytes()).hexdigest(),
    }
