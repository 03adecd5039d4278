"""deduplicate() removes repeated text from a corpus.

    1. read      the texts of OTHER and of the corpus ──▶ text-0, the concatenation of all documents
    2. whole     with --documents: documents that equal an earlier one ──▶ cuts
    3. repeats   windows of the text that repeat (repeats.py) ──▶ ranges ──▶ whole words, in documents ──▶ cuts
    4. count     the text without the cuts ──▶ windows that still repeat; with --repeat, step 3 again until none is left
    5. write     the corpus is read again and written without the cuts

            corpus   │ a.jsonl          │ b.jsonl            │
            text-0   │ doc │ doc │ doc  │ doc │ doc          │       positions are bytes in all texts
            cuts         ├──┤       ├──┤   ├───┤                     positions in text-0
            text-1   │ doc │ doc │  │ doc │doc         │

    keep first   removes a byte if it is in a window that occurred earlier, and that first occurrence does not overlap
                 the window
    keep none    removes a byte if it is in a window that occurs elsewhere, as in Lee et al. 2021 (arXiv 2107.06499), so
                 no copy is kept

Steps 1 to 4 write to a workspace (workspace.py) and resume after the last finished step; step 5 resumes from its last
checkpoint (output.py). The output is byte-identical, and depends on neither threads nor memory.

Disk: the workspace holds the texts twice, plus about 24 bytes for every 34 bytes of text if windows are 100 bytes.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pyunitok._c.anchors import CUTS, MAX_UNITS, Anchors, Int64s
from pyunitok._c.anchors import removed as without
from pyunitok.clean.cutting import cut, include, remove
from pyunitok.clean.files import CleanFiles, rewriter_of
from pyunitok.clean.output import CleanOutput
from pyunitok.clean.records import Ranges, removed_before
from pyunitok.clean.repeats import Memory, OnStep, TextRepeats, Texts
from pyunitok.clean.run import ERRORS, REPORT, CleanRun
from pyunitok.clean.workspace import Workspace
from pyunitok.corpus import inputs as corpus_inputs
from pyunitok.corpus.block import Block
from pyunitok.corpus.compressions import by_suffix
from pyunitok.corpus.position import BEGINNING, Position
from pyunitok.corpus.reading import Reading, ReadingOptions
from pyunitok.corpus.rewriting import Edits, Rewriter, Written, compressed
from pyunitok.corpus.source import Source, total_bytes
from pyunitok.corpus.words import word_rules
from pyunitok.corpus.workers import Result, Workers
from pyunitok.disk.hashing import Hashed
from pyunitok.disk.outfile import partial_name
from pyunitok.disk.url import is_url
from pyunitok.errors import InputError, OptionError, OutputError
from pyunitok.interrupts import Interrupts
from pyunitok.run import cluster
from pyunitok.run.identity import Identity
from pyunitok.run.journal import journal_path
from pyunitok.run.plan import Progress
from pyunitok.tokens.manifest import ERRORS_SUFFIX, StrPath

KEEP = ("first", "none")
MAX_ROUNDS = 100
COUNTS = ("read", "affected", "written", "skipped", "removed_bytes")


@dataclass(frozen=True, kw_only=True)
class Duplicates:
    """Defines repeats, and what to do with them.

    min_bytes   the size of windows; None: min_words if given, otherwise 100
    min_words   windows consist of words instead: see corpus/words.py. Their bytes are compared, so case and the
                characters between words matter
    keep        "first": keep the first copy. "none": remove all copies, even overlapping ones
    cut         "char", "word" or "line": ranges are shrunk to complete characters, words or lines
    max_share   drop a document if more than this share of its bytes repeats
    min_left    drop a cut document if fewer than this many bytes remain
    documents   first drop documents that equal an earlier one
    repeat      remove repeats again until no window repeats, or nothing more can be cut
    """

    min_bytes: int | None = None
    min_words: int | None = None
    keep: str = "first"
    cut: str = "word"
    max_share: float | None = None
    min_left: int = 0
    documents: bool = False
    repeat: bool = False

    @property
    def n_units(self) -> int:
        return self.min_words or self.min_bytes or 100

    def check(self) -> None:
        """Raise OptionError if a value is out of range."""
        for name, value, values in (("keep", self.keep, KEEP), ("cut", self.cut, tuple(CUTS))):
            if value not in values:
                raise OptionError(f"{name} must be one of {', '.join(values)}, not {value!r}")
        if self.min_bytes is not None and self.min_words is not None:
            raise OptionError("min_bytes and min_words are mutually exclusive; use one of them")
        for name in ("min_bytes", "min_words"):
            value = getattr(self, name)
            if value is not None and not 1 <= value <= MAX_UNITS:
                raise OptionError(f"{name} must be 1 to {MAX_UNITS}, not {value}")
        if self.max_share is not None and not 0 <= self.max_share <= 1:
            raise OptionError(f"max_share must be 0 to 1, not {self.max_share}")
        if self.min_left < 0:
            raise OptionError(f"min_left must be at least 0, not {self.min_left}")


def deduplicate(
    inputs: StrPath | Iterable[StrPath], out: StrPath, *, against: StrPath | Iterable[StrPath] = (),
    ranges: StrPath | None = None, tmp: StrPath | None = None, overwrite: bool = False, input_format: str = "auto",
    include: Iterable[str] = (), exclude: Iterable[str] = (), reading: ReadingOptions | None = None,
    ray: str | None = None, on_step: OnStep = lambda _name, _progress: None, **options: Any,
) -> Deduplicated:  # fmt: skip
    """Remove repeated text from a corpus, as `pyunitok deduplicate` does.

    inputs          files, directories, patterns or URLs of JSON lines, Parquet or text, in any compression
    out             CLEAN: a file if the corpus is one file, otherwise a folder
    against         another corpus, whose text counts as an earlier copy
    ranges          a file for the removed ranges of each document, JSON lines; compressed if its name ends in .zst,
                    .gz, .bz2 or .xz
    tmp             the folder for temporary files; by default that of CLEAN
    reading         text_key, separator, threads, max_memory_bytes and other options for reading the corpus
    ray             find repeats on the Ray cluster at this address, "auto" or "local", whose machines share tmp
    on_step         called with the name of the current step and its Progress
    options         fields of Duplicates, such as min_bytes=100

    Documents of which nothing remains are dropped; documents without text are kept. Repeating the call resumes an
    interrupted run. Raises OptionError, InputError and OutputError like pyunitok.tokenize().

        found = pyunitok.deduplicate("crawl/", "clean/", min_bytes=100, documents=True)
        print(found.removed_bytes, found.windows_left)
    """
    job = Deduplication(
        [inputs] if isinstance(inputs, str | os.PathLike) else inputs, out,
        [against] if isinstance(against, str | os.PathLike) else against, Duplicates(**options), ranges=ranges,
        tmp=tmp, overwrite=overwrite, input_format=input_format, include=include, exclude=exclude,
        reading=reading or ReadingOptions(), ray=ray,
    )  # fmt: skip
    return job.run(on_step)


@dataclass(frozen=True)
class Deduplicated:
    """The result of a run.

    read, affected, written   the numbers of documents in the corpus, of documents cut or dropped, and of documents in
                              CLEAN
    skipped                   the number of lines that could not be read
    bytes, removed_bytes      the numbers of bytes of text in the corpus, and of bytes removed
    windows                   the number of windows that repeated
    windows_left              the number of windows that still repeat, because cuts join text that was not adjacent, and
                              shrunk ranges leave some repeated text
    rounds                    the number of times that repeats were removed
    is_complete_already       the run was finished by an earlier call
    """

    read: int
    affected: int
    written: int
    skipped: int
    bytes: int
    removed_bytes: int
    windows: int
    windows_left: int
    rounds: int
    is_complete_already: bool = False


class Deduplication:
    """Checks the arguments of deduplicate(); run() does the work.

    files  the files of the corpus and of CLEAN
    """

    def __init__(
        self, inputs: Iterable[StrPath], out: StrPath, against: Iterable[StrPath], options: Duplicates, *,
        ranges: StrPath | None, tmp: StrPath | None, overwrite: bool, input_format: str, include: Iterable[str],
        exclude: Iterable[str], reading: ReadingOptions, ray: str | None = None,
    ) -> None:  # fmt: skip
        options.check()
        for path in (out, ranges, tmp):
            if path is not None and is_url(os.fspath(path)):
                raise OptionError(f"{path}: outputs must be local files")
        self.options, self._reading, self._overwrite, self._ray = options, reading, overwrite, ray
        self.base = Path(out)
        self._ranges = None if ranges is None else Path(ranges)
        self._folder = partial_name((Path(tmp) if tmp else self.base.parent) / f"{self.base.name}.work")
        names: dict[str, Any] = {
            "input_format": input_format, "text_key": reading.text_key, "include": include, "exclude": exclude,
        }  # fmt: skip
        own = [self._ranges] if self._ranges else []
        self.files = CleanFiles.find([os.fspath(path) for path in inputs], self.base, own=own, **names)
        self._against = [os.fspath(path) for path in against]
        self.others: Sequence[Source] = []
        if self._against:
            self.others = corpus_inputs.find(
                self._against, own=[str(path) for path in (self.base, *own)], refuse=[str(self.base)], **names
            )
        for source in (*self.others, *self.files.sources):
            if source.opened is not None:
                raise InputError(f"{source.name}: a pipe cannot be read twice; name a file")
        corpus_inputs.check_separator([*self.others, *self.files.sources], reading.separator)

    @property
    def has_journal(self) -> bool:
        """Whether an interrupted run can be resumed."""
        return journal_path(self.base).exists() or self._folder.exists()

    @cached_property
    def _identity(self) -> Identity:
        reading = self._reading
        options: dict[str, Any] = asdict(self.options) | {
            "against": len(self.others), "text key": reading.text_key, "unicode": unicodedata.unidata_version,
            "separator": reading.separator and reading.separator.decode("utf-8", "surrogateescape"),
            "block": reading.block_bytes, "longest line": reading.max_line_bytes, "on error": reading.on_error,
            "ranges": None if self._ranges is None else str(self._ranges),
        }  # fmt: skip
        return Identity.of(options, [source.file for source in (*self.others, *self.files.sources)])

    def run(self, on_step: OnStep = lambda _name, _progress: None) -> Deduplicated:
        """Deduplicate, or finish an interrupted run."""
        pairs = zip(self.files.sources, self.files.targets, strict=True)
        rewriters = [rewriter_of(source, target, self._reading) for source, target in pairs]
        reports = {} if self._ranges is None else {REPORT: self._ranges}
        if self._reading.skip_bad:
            reports[ERRORS] = self.base.with_name(self.base.name + ERRORS_SUFFIX)
        opened = CleanOutput(
            self.base, self.files.targets, reports, self._identity, overwrite=self._overwrite,
            writer_of=lambda number, state: rewriters[number].file_writer(state),
        )  # fmt: skip
        with Interrupts() as interrupts, opened as output:
            if output.finished is not None:
                return Deduplicated(**output.finished["summary"] | {"is_complete_already": True})
            with Workspace(self._folder, self.base, self._identity, overwrite=self._overwrite) as space:
                try:
                    rounds = _Rounds(self, space, on_step)
                    with contextlib.nullcontext() if self._ray is None else cluster.connected(self._ray):
                        rounds.run()
                except KeyError as error:
                    raise space.damaged(error) from error
                state = _State.of(self, output.progress)
                cutter = _Cutter(self, rounds, rewriters)
                run = CleanRun(self.files.sources, self._reading, state, output, interrupts)
                with run.last_checkpoint():
                    run.read(cutter.cut, lambda progress: on_step("writing", progress), whole_rows=True)
                numbers = {name: getattr(state, name) for name in COUNTS}
                summary = Deduplicated(
                    **numbers, bytes=rounds.text_bytes, windows=rounds.windows, windows_left=rounds.windows_left,
                    rounds=rounds.n_rounds,
                )  # fmt: skip
                output.commit({"summary": asdict(summary)})
                space.remove()
        return summary


class _Rounds:
    """Steps 1 to 4, which find all cuts.

    cuts       all cuts, as ranges of text-0
    ends       int64[documents of OTHER and the corpus]: the end of each document in text-0
    first_of   the number of the first document in each input of the corpus, and at the end the number of all documents
    """

    def __init__(self, job: Deduplication, space: Workspace, on_step: OnStep) -> None:
        self._job, self._space, self._on_step, self._options = job, space, on_step, job.options
        reading = job._reading
        self._n_threads = reading.n_threads
        self._machines = None if job._ray is None else cluster.Cluster(1)
        self._memory = Memory.of(reading.max_memory_bytes, self._n_threads)
        seed = space.step("seed", lambda: {"seed": secrets.randbits(63)})["seed"]
        rules = word_rules() if self._options.min_words else None
        self._anchors = Anchors(self._options.n_units, int(seed), rules)
        self.windows = self.windows_left = self.n_rounds = self.text_bytes = 0

    def run(self) -> None:
        space, n_others = self._space, len(self._job.others)
        read = space.step("read", self._read)
        firsts = np.concatenate(([0], np.cumsum(read["documents"], dtype=np.int64)))
        self.first_of, self._n_documents = firsts[n_others:].tolist(), int(firsts[-1])
        self.ends: Int64s = space.mapped("ends-0", np.int64, self._n_documents)
        self._first = int(self.ends[self.first_of[0] - 1]) if self.first_of[0] else 0
        self.text_bytes = int(read["bytes"]) - self._first
        corpus = self._corpus(0, read["bytes"])
        self.cuts = Ranges(np.empty(0, np.int64), np.empty(0, np.int64))
        number = 0
        if self._options.documents:
            found = self._finder("whole", corpus).find_documents()
            self.cuts = Ranges.opened(space, "whole-repeats", found["n"])
            if found["n"]:
                corpus, number = self._next(corpus, self.cuts, number), 1
        self._remove_repeats(corpus, number)

    def _remove_repeats(self, corpus: Texts, number: int) -> None:
        while True:
            found = self._finder(f"round-{number}", corpus).find()
            self.windows_left = int(found["windows"])
            self.windows = self.windows or self.windows_left
            if not found["n"] or (self.n_rounds and not self._options.repeat) or self.n_rounds == MAX_ROUNDS:
                return
            cuts, all_cuts = self._cut(corpus, number, found["n"])
            if not len(cuts):
                return
            self.n_rounds += 1
            self.cuts = all_cuts
            corpus, number = self._next(corpus, cuts, number), number + 1

    def _corpus(self, number: int, n_bytes: int) -> Texts:
        return Texts(self._space, number, n_bytes, self._n_documents, self._first)

    def _finder(self, prefix: str, corpus: Texts) -> TextRepeats:
        return TextRepeats(
            self._space, prefix, corpus, self._anchors, self._memory, self._n_threads, n_units=self._options.n_units,
            all_copies=self._options.keep == "none" and prefix != "whole", on_step=self._on_step,
            machines=self._machines,
        )  # fmt: skip

    def _cut(self, corpus: Texts, number: int, n_repeats: int) -> tuple[Ranges, Ranges]:
        """The cuts of a round, as ranges of this round's text, and all cuts so far, as ranges of text-0."""
        space, options = self._space, self._options
        repeats = Ranges.opened(space, f"round-{number}-repeats", n_repeats)
        done = space.step(
            f"round-{number} cut",
            lambda: cut(space, f"cuts-{number}", corpus, repeats, options.cut, options.max_share, options.min_left,
                        self._n_threads, self._on_step),
        )  # fmt: skip
        cuts = Ranges.opened(space, f"cuts-{number}", done["n"])
        if not number:
            return cuts, cuts
        done = space.step(f"round-{number} include", lambda: include(
            space, f"all-{number}", corpus, self.ends, self.cuts, cuts
        ))  # fmt: skip
        return cuts, Ranges.opened(space, f"all-{number}", done["n"])

    def _next(self, corpus: Texts, cuts: Ranges, number: int) -> Texts:
        """Write the text without the cuts, and open it."""
        unused = [f"text-{number}", *([f"ends-{number}"] if number else [])]
        done = self._space.step(
            f"round-{number} remove",
            lambda: remove(self._space, number + 1, corpus, cuts, self._memory, self._on_step), unused,
        )  # fmt: skip
        return self._corpus(number + 1, done["bytes"])

    # ------------------------------------------------------------------------------------------------ read

    def _read(self) -> dict[str, Any]:
        """Write the text of all documents, and the end of each document. A skipped document has no text."""
        sources = [*self._job.others, *self._job.files.sources]
        n_documents, n_bytes = [0] * len(sources), 0
        progress = Progress(compressed_total=total_bytes(sources))
        with (
            self._space.new_file("text-0") as text, self._space.new_file("ends-0") as ends,
            Workers(Reading(sources, self._job._reading), _texts_of) as workers,
        ):  # fmt: skip
            for result in workers.results():
                data, sizes = result.value
                text.write(data)
                ends.write((n_bytes + np.cumsum(sizes)).tobytes())
                n_bytes += len(data)
                if len(sizes):
                    n_documents[result.source] += len(sizes)
                progress.bytes += result.source_bytes
                progress.compressed = result.compressed
                self._on_step("reading", progress)
        return {"documents": n_documents, "bytes": n_bytes}


def _texts_of(block: Block) -> tuple[bytes, Int64s]:
    """The text of a block, and the sizes of its documents."""
    data: bytes = block.data[: int(block.offsets[block.n_docs])].tobytes()
    return data, _sizes_of(block)


def _sizes_of(block: Block) -> Int64s:
    """The sizes of a block's documents, including skipped ones, which have no text."""
    sizes = np.zeros(block.n_docs + len(block.bad), np.int64)
    numbers = np.arange(block.n_docs) if block.numbers is None else block.numbers - block.first_document
    sizes[numbers] = np.diff(block.offsets[: block.n_docs + 1])
    return sizes


# ------------------------------------------------------------------------------------------------------------ write


@dataclass(frozen=True)
class _Cleaned:
    """The result for one block: the output, the number of affected documents, and the number of removed bytes."""

    written: Written | None = None
    report: bytes = b""
    affected: int = 0
    removed_bytes: int = 0


class _Cutter:
    """Writes blocks of the corpus without the cuts; threads may share it."""

    def __init__(self, job: Deduplication, rounds: _Rounds, rewriters: Sequence[Rewriter]) -> None:
        self._sources, self._rewriters, self._cuts = job.files.sources, rewriters, rounds.cuts
        self._ends, self._first_of = rounds.ends, rounds.first_of
        self._report = None if job._ranges is None else by_suffix(job._ranges.suffix).name

    def cut(self, block: Block) -> _Cleaned:
        if block.source >= len(self._sources):  # the final block, which follows all sources and has no documents
            return _Cleaned()
        offsets = block.offsets[: block.n_docs + 1]
        begin, n_bytes = self._begin_of(block), int(offsets[-1])
        cuts = np.clip(self._cuts.between(begin, begin + n_bytes) - begin, 0, n_bytes)
        left = without(block.data, 0, n_bytes, cuts).tobytes()
        places = offsets - removed_before(cuts, offsets)  # the documents are left[places[k]:places[k + 1]]
        affected = np.flatnonzero(np.diff(places) < np.diff(offsets))
        texts: dict[int, Sequence[str]] = {}
        for document in affected.tolist():
            text = left[places[document] : places[document + 1]]
            texts[document] = [text.decode("utf-8", "surrogateescape")] if text else []
        written = self._rewriters[block.source].rewritten(block, Edits(texts))
        report = b""
        if self._report is not None:
            report = compressed(b"".join(self._line(block, document, cuts) for document in texts), self._report)
        return _Cleaned(written, report, len(texts), n_bytes - len(left))

    def _begin_of(self, block: Block) -> int:
        """The position of a block in text-0. Raises InputError if a document's size has changed since it was read."""
        first = self._first_of[block.source] + block.first_document
        after = first + block.n_docs + len(block.bad)
        if after <= self._first_of[block.source + 1]:
            ends: Int64s = np.concatenate(([self._ends[first - 1] if first else 0], self._ends[first:after]))
            if np.array_equal(np.diff(ends), _sizes_of(block)):
                return int(ends[0])
        name = self._sources[block.source].name
        raise InputError(f"{name}: the file has changed since it was read; --overwrite starts again")

    def _line(self, block: Block, document: int, cuts: Int64s) -> bytes:
        """The line of the report for a document; `cuts` are the cuts of its block."""
        name, (begin, end) = self._sources[block.source].name, block.offsets[document : document + 2].tolist()
        number = block.first_document + document if block.numbers is None else int(block.numbers[document])
        own = np.clip(cuts[(cuts[:, 1] > begin) & (cuts[:, 0] < end)], begin, end) - begin
        values = {"file": name, "document": number, "bytes": end - begin, "ranges": own.tolist()}
        return json.dumps(values).encode() + b"\n"


@dataclass
class _State:
    """The progress of writing; the RunState of step 5."""

    position: Position = BEGINNING
    progress: Progress = field(default_factory=Progress)
    pipes: dict[int, Hashed] = field(default_factory=dict)
    is_consistent: bool = True
    read: int = 0
    affected: int = 0
    written: int = 0
    skipped: int = 0
    removed_bytes: int = 0

    @classmethod
    def of(cls, job: Deduplication, values: dict[str, Any] | None) -> _State:
        """The state at the beginning, or the state restored from to_json(). Raises OutputError if the values are
        damaged."""
        if values is None:
            return cls()
        try:
            numbers: dict[str, Any] = {name: int(values[name]) for name in COUNTS}
            progress = Progress(bytes=int(values["bytes"]), compressed=int(values["compressed"]))
            return cls(Position.from_json(values["position"]), progress, **numbers)
        except (ValueError, TypeError, KeyError) as error:
            raise OutputError(f"{job.base}: its journal is damaged ({error}); --overwrite starts again") from None

    @property
    def is_writing(self) -> bool:
        return True

    def add(self, result: Result[_Cleaned]) -> None:
        cleaned = result.value
        self.read += result.n_ended
        self.affected += cleaned.affected
        self.written += cleaned.written.n_docs if cleaned.written else 0
        self.skipped += len(result.bad)
        self.removed_bytes += cleaned.removed_bytes
        self.progress.bytes += result.source_bytes + sum(ending.source_bytes for ending in result.endings)
        self.progress.text_bytes += result.text_bytes
        self.progress.compressed = result.compressed
        self.position = result.after

    def to_json(self) -> dict[str, Any]:
        numbers = {name: getattr(self, name) for name in COUNTS}
        place = {"bytes": self.progress.bytes, "compressed": self.progress.compressed}
        return place | {"position": self.position.to_json()} | numbers
