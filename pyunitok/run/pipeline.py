"""tokenize(): corpus files through threads into a token file, in constant memory.

    corpus/workers.py ──▶ blocks, encoded in threads, in order ──▶ output.py: ids, ends, hashes ──▶ commit
        (encoding.py)                                                  └─▶ journal.py, now and then

corpus/reading.py says how much memory reading takes; output.py, how an interrupted run is resumed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

import pyunitok
from pyunitok.batch import available_cores
from pyunitok.corpus.block import Split, whole
from pyunitok.corpus.inputs import Source
from pyunitok.corpus.position import BEGINNING, Position
from pyunitok.corpus.reading import BLOCK_BYTES, MAX_LINE_BYTES, MAX_MEMORY_BYTES, Reading, Room
from pyunitok.corpus.workers import Result, Workers
from pyunitok.disk.output import Output
from pyunitok.errors import OutputError
from pyunitok.interrupts import Interrupts
from pyunitok.run.encoding import Encoded, Encoder
from pyunitok.run.shard import Shard
from pyunitok.run.tally import Progress, Tally
from pyunitok.sampling import Sample
from pyunitok.tokenizer import Tokenizer
from pyunitok.tokens.manifest import Manifest
from pyunitok.tokens.metadata import ERRORS_SUFFIX, METADATA_SUFFIX, ErrorsFile, MetadataFile

UINT16 = np.dtype("<u2")


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
    max_memory_bytes: int = MAX_MEMORY_BYTES  # see reading.Room
    overwrite: bool = False
    skip_bad: bool = False  # leave out bad JSON lines and list them in OUT.errors.jsonl
    metadata: bool = False  # write OUT.meta.jsonl.zst
    verify: bool = False  # decode each block and compare, before its ids are handed on
    dtype: np.dtype[Any] = UINT16  # of the ids in the file
    sample: Sample | None = None  # draw a sample of each document instead of encoding it
    shard: Shard | None = None  # the sources are this part of all
    before: Position = BEGINNING  # where the first source starts, if it is a range of its file
    model: dict[str, Any] | None = None  # what the manifest says of the model, where the tokenizer came from elsewhere

    @property
    def split(self) -> Split:
        """Where a document may be divided."""
        is_whole = self.sample is not None and self.sample.needs_whole(self.tokenizer)
        is_whole |= self.verify and not self.tokenizer.lossless  # a part decodes otherwise than the whole
        return whole if is_whole else self.tokenizer.split

    @property
    def reading(self) -> Reading:
        """How the inputs are read."""
        return Reading(
            self.sources, self.separator, self.text_key, self.split, self.skip_bad, self.metadata, self.threads,
            self.block_bytes, self.max_line_bytes, self.max_memory_bytes, result_bytes=self.dtype.itemsize,
        )  # fmt: skip

    def sampling_of(self, source: int, document: int) -> Any:
        """What the encoder needs to sample documents of a source, from this number on; None to encode them."""
        return self.sample and self.sample.of(self.tokenizer, self.first_input + source, document)

    @property
    def first_input(self) -> int:
        """The number, in the whole run, of the first source here."""
        return self.shard.first_input if self.shard else 0


@dataclass(frozen=True)
class Start:
    """Where a run begins: how much of the work an earlier, equal run has done. `complete`: all of it."""

    bytes: int = 0
    documents: int = 0
    complete: bool = False


def tokenize(
    plan: Plan,
    on_progress: Callable[[Progress], None] | None = None,
    on_start: Callable[[Start], None] | None = None,
) -> Manifest:
    """Carry out the plan, or what is left of it; the token file's manifest.

    A run that was interrupted, whatever by, is gone on with: the files become what they would have been. Where this
    very plan was carried out before, nothing is written. plan.overwrite begins anew.

    on_progress is called after each block, on_start once before the first, both from this thread.

    InputError names the file and the line or byte where an input is broken, or is not what it was; what was written
    until then stays in OUT.partial. OutputError if OUT exists or is another run's, and says what differs; or if it
    cannot be written. LimitError if the plan's memory is too little.
    """
    check_ids(plan)
    Room.of(plan.reading)  # before anything is written
    tally = Tally(plan)
    model = plan.model or describe_model(plan.tokenizer)
    on_start = on_start or (lambda _: None)
    extra = [METADATA_SUFFIX] * plan.metadata + [ERRORS_SUFFIX] * plan.skip_bad
    opened = Output(plan.out, tally.identity(), overwrite=plan.overwrite, extra=extra)
    with Interrupts() as interrupts, opened as output:
        if output.finished is not None:
            tally.check_pipes(output.finished)
            on_start(Start(output.finished.bytes, output.finished.documents, complete=True))
            return output.finished
        if output.progress is not None:
            tally.restore(output.progress)
        on_start(Start(tally.progress.bytes, tally.progress.documents))
        writer = Writer(plan, tally, output)
        try:
            _write_blocks(plan, writer, interrupts, on_progress)
        except Exception:
            raise
        except BaseException:  # Ctrl-C, SIGTERM: no fault of what was written so far
            if tally.whole and tally.progress.bytes > output.safe_bytes:
                writer.checkpoint(wait=True)
            raise
        writer.finish()
        manifest = _manifest(plan, model, tally)
        output.commit(manifest)
    return manifest


def check_ids(plan: Plan) -> None:
    """Every id must fit the file, the eod's too."""
    largest = int(np.iinfo(plan.dtype).max)
    if plan.tokenizer.vocab_size - 1 > largest:
        raise OutputError(
            f"the ids of {plan.tokenizer.name} go up to {plan.tokenizer.vocab_size - 1} and do not fit {plan.dtype};"
            " --dtype uint32 writes a file that they fit"
        )
    if plan.eod_id is not None and not 0 <= plan.eod_id <= min(largest, int(np.iinfo(plan.tokenizer.dtype).max)):
        raise OutputError(f"the eod id {plan.eod_id} is not within the ids of the model and of the file")


class Writer:
    """Blocks into the output's files, and checkpoints of them."""

    def __init__(self, plan: Plan, tally: Tally, output: Output) -> None:
        self._plan, self._output = plan, output
        self.tally = tally
        begun = output.partial(METADATA_SUFFIX) if output.progress else None
        self._metadata = MetadataFile(output.files[METADATA_SUFFIX], begun) if plan.metadata else None
        self._errors = ErrorsFile(output.files[ERRORS_SUFFIX]) if plan.skip_bad else None

    def append(self, result: Result[Encoded]) -> None:
        output, tally, encoded = self._output, self.tally, result.value
        with tally.adding(result):
            output.ids.write(encoded.ids[: encoded.n_ids].view(np.uint8).data)
            output.ends.write((encoded.ends + tally.progress.tokens).view(np.uint8).data)
            if self._metadata is not None:
                self._metadata.append(result.metadata)
            if self._errors is not None:
                for bad in result.bad:
                    self._errors.append(self._plan.sources[result.source].name, bad.line, bad.error)

    def checkpoint_if_due(self) -> None:
        if self._output.is_due(self.tally.progress.bytes):
            self.checkpoint()

    def checkpoint(self, *, wait: bool = False) -> None:
        if self._metadata is not None:
            self._metadata.flush()
        self._output.checkpoint(self.tally.to_json(), wait=wait)

    def finish(self) -> None:
        """After the last block: what still waits."""
        if self._metadata is not None:
            self._metadata.end()


def _write_blocks(
    plan: Plan, writer: Writer, interrupts: Interrupts, on_progress: Callable[[Progress], None] | None
) -> None:
    """All blocks from the tally's position on."""
    tally = writer.tally
    encoder = Encoder(plan, tally.position)
    reading = replace(plan.reading, sources=tally.sources)
    with Workers(reading, encoder, tally.position, encoder.carry) as workers:
        for result in workers.results():
            with interrupts.held():
                writer.append(result)
                writer.checkpoint_if_due()
            encoder.reuse(result.value)
            if on_progress:
                on_progress(tally.progress)


def describe_model(tokenizer: Tokenizer) -> dict[str, Any]:
    """What the manifest says of the model; read before the run, which may take days."""
    file_sha256 = hashlib.sha256(Path(tokenizer.path).read_bytes()).hexdigest() if tokenizer.path else None
    return {
        "name": tokenizer.name,
        "path": str(Path(tokenizer.path).resolve()) if tokenizer.path else None,
        "sha256": tokenizer.sha256,
        "file_sha256": file_sha256,
    }


def _manifest(plan: Plan, model: dict[str, Any], tally: Tally) -> Manifest:
    progress = tally.progress
    return Manifest(
        model=model,
        eod=plan.eod_id,
        tokens=progress.tokens,
        documents=progress.documents,
        bytes=progress.bytes,
        inputs=tally.finished_records(),
        hash={},
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        pyunitok=pyunitok.__version__,
        dtype=plan.dtype.str,
        algorithm=plan.tokenizer.algorithm,
        sample=plan.sample.to_json() if plan.sample else None,
        run=tally.identity().options,
        shard=plan.shard.to_json() if plan.shard else None,
    )
