"""tokenize(): corpus files through threads into a token file, in constant memory.

    corpus/workers.py ──▶ blocks, encoded in threads, in order ──▶ output.py: ids, ends, hashes ──▶ commit
        (encoding.py)                                                  └─▶ journal.py, now and then

corpus/reading.py says how much memory reading takes; output.py, how an interrupted run is resumed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pyunitok.corpus.workers import Result, Workers
from pyunitok.errors import OutputError, UnitokError
from pyunitok.interrupts import Interrupts
from pyunitok.run.encoding import Encoded, Encoder
from pyunitok.run.journal import journal_path
from pyunitok.run.output import Output
from pyunitok.run.plan import Plan, Progress, Start, describe_model
from pyunitok.run.tally import Tally
from pyunitok.tokens.manifest import Manifest
from pyunitok.tokens.metadata import ERRORS_SUFFIX, METADATA_SUFFIX, ErrorsFile, MetadataFile


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
    plan.check()
    tally = Tally(plan)
    model = plan.model or describe_model(plan.tokenizer)
    on_start = on_start or (lambda _: None)
    extra = [METADATA_SUFFIX] * plan.metadata + [ERRORS_SUFFIX] * plan.skip_bad
    opened = Output(plan.out, plan.identity(), overwrite=plan.overwrite, extra=extra)
    with Interrupts() as interrupts, opened as output:
        if output.finished is not None:
            tally.check_pipes(output.finished)
            on_start(Start(output.finished.bytes, output.finished.documents, complete=True))
            return output.finished
        if output.progress is not None:
            _restore(plan, tally, output)
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


def _restore(plan: Plan, tally: Tally, output: Output) -> None:
    """Resume from the last checkpoint. OutputError where it does not fit this run's inputs or the files."""
    try:
        tally.restore(output.progress or {})
        sizes = {"": tally.progress.tokens * plan.dtype.itemsize, ".ends": tally.progress.documents * 8}
        for suffix, n_bytes in sizes.items():
            if output.files[suffix].n_bytes != n_bytes:
                raise ValueError(f"{n_bytes} bytes counted, and {output.files[suffix].n_bytes} written")
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        if isinstance(error, UnitokError):
            raise
        raise OutputError(f"{journal_path(plan.out)}: damaged ({error}); --overwrite starts again") from None


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


def _manifest(plan: Plan, model: dict[str, Any], tally: Tally) -> Manifest:
    return Manifest.of(
        tally.finished_records(),
        model=model,
        eod=plan.eod_id,
        dtype=plan.dtype.str,
        algorithm=plan.tokenizer.algorithm,
        sample=plan.sample.to_json() if plan.sample else None,
        run=plan.identity().options,
        shard=plan.shard.to_json() if plan.shard else None,
    )
