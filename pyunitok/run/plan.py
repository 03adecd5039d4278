"""Plan: what a tokenizing run is to do, decided before anything is read; and Start and Progress, what it says of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyunitok.corpus.block import Split, whole
from pyunitok.corpus.position import BEGINNING, Position
from pyunitok.corpus.reading import BLOCK_BYTES, MAX_LINE_BYTES, MAX_MEMORY_BYTES, MemoryBudget, Reading
from pyunitok.corpus.source import Source
from pyunitok.errors import OptionError, OutputError
from pyunitok.model.batch import available_cores
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.run.identity import Identity

if TYPE_CHECKING:
    from pyunitok.model.sampling import Sample
    from pyunitok.run.shard import Shard


@dataclass(frozen=True)
class Plan:
    """What to do, decided before anything is read."""

    sources: Sequence[Source]
    out: Path
    tokenizer: Tokenizer
    eod_id: int | None
    separator: bytes | None = None  # text: None makes each file one document
    text_key: str = "text"
    threads: int = field(default_factory=available_cores)
    block_bytes: int = BLOCK_BYTES
    max_line_bytes: int = MAX_LINE_BYTES
    max_memory_bytes: int = MAX_MEMORY_BYTES  # see reading.MemoryBudget
    overwrite: bool = False
    skip_bad: bool = False  # leave out bad JSON lines and list them in OUT.errors.jsonl
    skip_files: bool = False  # with skip_bad: leave out damaged files too, whole
    resumable: bool = True  # keep a journal; without one an unfinished OUT is worthless, and a small one done sooner
    verify_resume: bool = False  # read all that an interrupted run has written, and compare it with its hashes
    metadata: bool = False  # write OUT.meta.jsonl.zst
    verify: bool = False  # decode each block and compare, before its ids are written
    dtype: str = "<u2"  # of the ids in the file, as numpy writes it; or "<u4"
    sample: Sample | None = None  # draw a sample of each document instead of encoding it
    shard: Shard | None = None  # the sources are this part of all
    before: Position = BEGINNING  # where the first source starts, if it is a range of its file
    model: dict[str, Any] | None = None  # what the manifest says of the model, where the tokenizer came from elsewhere

    @property
    def split(self) -> Split:
        """Where a document may be divided."""
        is_whole = self.sample is not None and self.sample.needs_whole(self.tokenizer)
        is_whole |= self.verify and not self.tokenizer.lossless  # a part may decode otherwise than the whole
        return whole if is_whole else self.tokenizer._core.split

    @property
    def reading(self) -> Reading:
        """How the inputs are read."""
        return Reading(
            self.sources, self.separator, self.text_key, self.split, self.skip_bad, self.metadata, self.threads,
            self.block_bytes, self.max_line_bytes, self.max_memory_bytes, result_bytes=self.id_bytes,
        )  # fmt: skip

    @property
    def id_bytes(self) -> int:
        """Of an id in the file."""
        return int(self.dtype[-1])

    @property
    def separator_text(self) -> str | None:
        """The separator as JSON holds it."""
        return None if self.separator is None else self.separator.decode("utf-8", "surrogateescape")

    @property
    def first_input(self) -> int:
        """The number, in the whole run, of the first source here."""
        return self.shard.first_input if self.shard else 0

    def sampling_of(self, source: int, document: int) -> Any:
        """What the encoder needs to sample documents of a source, from this number on; None to encode them."""
        return self.sample and self.sample.of(self.tokenizer, self.first_input + source, document)

    def identity(self) -> Identity:
        """What decides the output."""
        options: dict[str, Any] = {
            "model sha256": self.tokenizer.sha256,
            "algorithm": self.tokenizer.algorithm,
            "eod": self.eod_id,
            "dtype": self.dtype,
            "separator": self.separator_text,
            "text key": self.text_key,
            "metadata": self.metadata,
            "on error": "skip-file" if self.skip_files else "skip" if self.skip_bad else "raise",
            "longest line": self.max_line_bytes if self.skip_bad else None,  # longer ones are skipped
        }
        options |= {"sample": self.sample.to_json()} if self.sample else {}
        options |= self.shard.options() if self.shard else {}
        return Identity.of(options, [source.file for source in self.sources])

    def check(self) -> None:
        """What can be said before anything is written: OutputError if an id, the eod's too, does not fit the file;
        LimitError if the memory is too little; OptionError if the model cannot sample this way."""
        largest = 256**self.id_bytes - 1
        if self.tokenizer.vocab_size - 1 > largest:
            raise OutputError(
                f"the ids of {self.tokenizer.name} go up to {self.tokenizer.vocab_size - 1} and do not fit"
                f" uint{8 * self.id_bytes}; --dtype uint32 writes a file that they fit"
            )
        largest = min(largest, 256 ** int(self.tokenizer._core.model.info.id_bytes) - 1)
        if self.eod_id is not None and not 0 <= self.eod_id <= largest:
            raise OptionError(f"the eod id {self.eod_id} is not within 0..{largest}, the ids that the file can hold")
        try:
            if self.sample:
                self.tokenizer.sample(b"a", **self.sample.to_json())
        except ValueError as error:
            raise OptionError(f"this sample cannot be drawn: {error}") from error
        MemoryBudget.of(self.reading)


@dataclass(frozen=True)
class Start:
    """Where a run begins: how much of the work an earlier, equal run has done. `complete`: all of it.

    compressed  bytes of the files themselves that need not be read again
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
    compressed        bytes of the files themselves that were read
    compressed_total  of how many; None: unknown, as of a pipe
    """

    bytes: int = 0
    text_bytes: int = 0
    tokens: int = 0
    documents: int = 0
    compressed: int = 0
    compressed_total: int | None = None


def describe_model(tokenizer: Tokenizer) -> dict[str, Any]:
    """What the manifest says of the model; read before the run, which may take days."""
    file_sha256 = None
    if tokenizer.path:
        import hashlib  # only now: it loads OpenSSL

        file_sha256 = hashlib.sha256(Path(tokenizer.path).read_bytes()).hexdigest()
    return {
        "name": tokenizer.name,
        "path": str(Path(tokenizer.path).resolve()) if tokenizer.path else None,
        "sha256": tokenizer.sha256,
        "file_sha256": file_sha256,
    }
