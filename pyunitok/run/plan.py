"""Plan contains everything that a tokenizing run needs. Start, Progress and Callbacks report its progress."""

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
    """A tokenizing run, planned before anything is read.

    sources    the inputs of the run or of this shard
    shard      the shard, if this is one shard of a larger run
    before     where the first source starts, if it is a range of its file
    resumable  keep a journal; without one, an unfinished OUT cannot be resumed, but a small OUT is finished sooner
    model      the manifest's description of the model; None: made from the tokenizer
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
        """The function that decides where a document may be divided."""
        sample, verify = self.options.sample, self.options.verify
        is_whole = sample is not None and sample.needs_whole(self.tokenizer)
        is_whole |= verify and not self.tokenizer.lossless  # the parts may decode differently from the document
        return whole if is_whole else self.tokenizer.codec.split

    @property
    def reading(self) -> Reading:
        """How the inputs are read."""
        limit = self.options.max_memory_bytes - self.rules_memory_bytes
        options = replace(self.options, max_memory_bytes=limit)
        return Reading(self.sources, options, self.split, result_bytes=self.id_bytes)

    @property
    def eod_id(self) -> int | None:
        """The id after each document. Raises OptionError if the model's eod id is requested but the model has none."""
        if not isinstance(self.options.eod, str):
            return self.options.eod
        if self.tokenizer.eod_id is None:
            raise OptionError("this model has no eod id; choose one (--eod ID) or use --eod none")
        return int(self.tokenizer.eod_id)

    @property
    def dtype(self) -> str:
        """The type of the ids in the file, in NumPy's notation; "auto" selects uint16 if every id fits."""
        if self.options.dtype == "auto":
            return DTYPES["uint16" if self.tokenizer.vocab_size <= 65_536 else "uint32"]
        return DTYPES[self.options.dtype]

    @property
    def memory_factor(self) -> int:
        """Bytes of memory per byte of a document being encoded, not counting the memory of the C library."""
        rules = self.tokenizer.codec.rules
        return rules.memory_factor if rules else 0

    @property
    def rules_memory_bytes(self) -> int:
        """The share of max_memory_bytes for documents being encoded."""
        return self.options.max_memory_bytes // 2 if self.memory_factor else 0

    @property
    def id_bytes(self) -> int:
        """The size of an id in the file."""
        return int(self.dtype[-1])

    @property
    def separator_text(self) -> str | None:
        """The separator as a string for JSON."""
        separator = self.options.separator
        return None if separator is None else separator.decode("utf-8", "surrogateescape")

    @property
    def first_input(self) -> int:
        """The number of the first source in the undivided run."""
        return self.shard.first_input if self.shard else 0

    def sampling_of(self, source: int, document: int) -> Any:
        """The encoder's parameters for sampling the documents of a source from `document` on; None: do not sample."""
        sample = self.options.sample
        return sample and sample.of(self.tokenizer, self.first_input + source, document)

    def identity(self) -> Identity:
        """Everything that determines the output."""
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
            "longest line": options.max_line_bytes if options.skip_bad else None,  # longer lines are skipped
        }
        decisive |= {"sample": options.sample.to_json()} if options.sample else {}
        decisive |= self.shard.options() if self.shard else {}
        return Identity.of(decisive, [source.file for source in self.sources])

    def check(self) -> None:
        """Check everything that can be checked before anything is written.

        Raises OutputError if the model's ids do not fit in the dtype, OptionError if the eod id does not fit or the
        model does not support this sampling, LimitError if max_memory_bytes is too low.
        """
        largest = 256**self.id_bytes - 1
        if self.tokenizer.vocab_size - 1 > largest:
            raise OutputError(
                f"the ids of {self.tokenizer.name} go up to {self.tokenizer.vocab_size - 1} and do not fit in"
                f" uint{8 * self.id_bytes}; omit --dtype or use --dtype uint32"
            )
        largest = min(largest, 256 ** int(self.tokenizer.codec.model.info.id_bytes) - 1)
        eod_id = self.eod_id
        if eod_id is not None and not 0 <= eod_id <= largest:
            raise OptionError(f"the eod id {eod_id} is outside 0..{largest}, the ids that the file can hold")
        try:
            if self.options.sample:
                self.tokenizer.sample(b"a", **self.options.sample.to_json())
        except ValueError as error:
            raise OptionError(f"the model cannot sample this way: {error}") from error
        MemoryBudget.of(self.reading)


@dataclass(frozen=True)
class Start:
    """How much of the run earlier calls have already done.

    complete    the run is complete
    compressed  bytes of the stored files that need not be read again
    """

    bytes: int = 0
    documents: int = 0
    complete: bool = False
    compressed: int = 0


@dataclass
class Progress:
    """The progress of a run.

    bytes              bytes of the decompressed inputs
    text_bytes         bytes of the documents' text
    tokens, documents  written so far
    compressed         bytes of the stored files
    compressed_total   the total size of the stored files; None: unknown, for example with a pipe
    """

    bytes: int = 0
    text_bytes: int = 0
    tokens: int = 0
    documents: int = 0
    compressed: int = 0
    compressed_total: int | None = None

    def add(self, counts: Progress) -> None:
        """Add all counts except compressed_total."""
        for name in ("bytes", "text_bytes", "tokens", "documents", "compressed"):
            setattr(self, name, getattr(self, name) + getattr(counts, name))


@dataclass(frozen=True)
class Callbacks:
    """Functions that a run calls, all in the thread that started it.

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
    """The manifest's description of the model, made at the beginning because a run may take days."""
    path = Path(tokenizer.path).resolve() if tokenizer.path else None
    values = {
        "name": tokenizer.name,
        "path": path and str(path),
        "sha256": tokenizer.sha256,
        "file_sha256": hashlib.sha256(path.read_bytes()).hexdigest() if path and path.is_file() else None,
    }
    options = tokenizer.read_options.to_json()
    return values | ({"read_options": options} if options else {})
