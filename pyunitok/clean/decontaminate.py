"""decontaminate() removes documents that contain text of benchmarks from a corpus, or reports them.

    1. count      if n-grams in many documents are to be ignored: in how many documents does each n-gram occur?
    2. clean      workers find items in each block and compress what remains; the main thread writes it in order

The corpus is read again for step 2. A journal (output.py) makes both resumable from their last checkpoint, and the
output is byte-identical. A run that is stopped by a signal or an error makes a last checkpoint.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import zstandard

from pyunitok.clean.benchmarks import Items, read_items
from pyunitok.clean.matching import Int64s, Match, Matcher, joined_ranges, pieces_outside
from pyunitok.clean.output import CleanOutput
from pyunitok.clean.rules import PRESETS, Rule
from pyunitok.corpus import inputs as corpus_inputs
from pyunitok.corpus.block import Block
from pyunitok.corpus.compressions import by_suffix
from pyunitok.corpus.json_text import key_path
from pyunitok.corpus.paths import LeftOut
from pyunitok.corpus.position import BEGINNING, Position
from pyunitok.corpus.reading import Reading, ReadingOptions
from pyunitok.corpus.rewriting import compressed, lines_of, parsed, whole_lines, with_field, with_text
from pyunitok.corpus.source import Source, total_bytes
from pyunitok.corpus.workers import Result, Workers
from pyunitok.disk.url import is_url
from pyunitok.errors import InputError, OptionError, OutputError
from pyunitok.interrupts import Interrupts
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.run.identity import Identity
from pyunitok.run.plan import SILENT, Callbacks, Progress, Start
from pyunitok.tokens.manifest import ERRORS_SUFFIX, StrPath
from pyunitok.tokens.model import Model, open_model

MAX_SHOWN_BYTES = 1000  # of the matched text in a report
REPORT, ERRORS = "report", "errors"


def decontaminate(
    inputs: StrPath | Iterable[StrPath], out: StrPath | None, against: StrPath | Iterable[StrPath], *,
    field: str | Sequence[str] = (), against_format: str = "fields", preset: str | None = None, model: Model = None,
    report: StrPath | None = None, overwrite: bool = False, input_format: str = "auto",
    include: Iterable[str] = (), exclude: Iterable[str] = (), reading: ReadingOptions | None = None,
    on_progress: Callable[[Progress], None] | None = None, **rule: Any,
) -> Summary:  # fmt: skip
    """Compare a corpus with benchmarks, as `pyunitok decontaminate` does, and write what is not contaminated.

    inputs          files, directories or patterns of JSON lines or text, in any compression
    out             CLEAN: a file if the corpus is one file, otherwise a folder; None with action="report"
    against         files of benchmark items, in the format against_format: see clean/benchmarks.py
    field           the fields to compare, for against_format="fields"
    preset          the rule of a paper: see clean/rules.py; `rule` changes it, or the default, by fields of Rule
    model           the model for unit="tokens"
    report          a file for hits, JSON lines; compressed if its name ends in .zst, .gz, .bz2 or .xz
    reading         text_key, separator, threads and other options for reading the corpus

    In CLEAN, JSON lines that are not changed are copied, and blank lines are left out. Every document of a text file
    is followed by the separator.

    Repeating the call resumes an interrupted run. OptionError, InputError and OutputError as for pyunitok.tokenize().

        found = pyunitok.decontaminate("crawl/", "clean/", "mmlu.jsonl", field=["question"], report="hits.jsonl.zst")
        print(found.documents_affected, found.table())
    """
    values: dict[str, Any] = dict(PRESETS[preset]) if preset else {}
    job = Decontamination(
        [inputs] if isinstance(inputs, str | os.PathLike) else inputs, out,
        [against] if isinstance(against, str | os.PathLike) else against,
        Rule(**(values | rule)), fields=[field] if isinstance(field, str) else field, against_format=against_format,
        model=model, report=report, overwrite=overwrite, input_format=input_format, include=include, exclude=exclude,
        reading=reading or ReadingOptions(),
    )  # fmt: skip
    return job.run(Callbacks(SILENT.on_start, on_progress or SILENT.on_progress))


@dataclass
class Summary:
    """The result of a run.

    benchmarks           the names
    items, testable      items of each benchmark, and those long enough to be compared
    contaminated         contaminated items of each benchmark
    documents            documents with an item of each benchmark
    documents_read       documents of the corpus
    documents_affected   contaminated documents
    documents_written    documents in CLEAN
    skipped              lines that could not be read
    is_complete_already  the run was finished by an earlier call
    """

    benchmarks: list[str]
    items: list[int]
    testable: list[int]
    contaminated: list[int] = field(default_factory=list)
    documents: list[int] = field(default_factory=list)
    documents_read: int = 0
    documents_affected: int = 0
    documents_written: int = 0
    skipped: int = 0
    is_complete_already: bool = False

    def table(self) -> list[dict[str, Any]]:
        """One row per benchmark."""
        columns = ("benchmarks", "items", "testable", "contaminated", "documents")
        names = ("benchmark", *columns[1:])
        rows = zip(*(getattr(self, column) for column in columns), strict=True)
        return [dict(zip(names, row, strict=True)) for row in rows]


@dataclass
class _Cleaned:
    """The result of a worker for one block.

    data       compressed bytes of CLEAN
    report     compressed lines of the report
    n_written  documents in `data`
    hits       contaminated documents: the texts of items in each
    grams      n-grams, once for each document that contains them
    """

    data: bytes = b""
    report: bytes = b""
    n_written: int = 0
    hits: list[list[int]] = field(default_factory=list)
    grams: Int64s = field(default_factory=lambda: np.empty(0, np.int64))


class Decontamination:
    """Checks the arguments of decontaminate(); run() does the work.

    sources   the files of the corpus
    left_out  files in directories that are not read
    """

    def __init__(
        self, inputs: Iterable[StrPath], out: StrPath | None, against: Iterable[StrPath], rule: Rule, *,
        fields: Sequence[str], against_format: str, model: Model, report: StrPath | None, overwrite: bool,
        input_format: str, include: Iterable[str], exclude: Iterable[str], reading: ReadingOptions,
    ) -> None:  # fmt: skip
        rule.check()
        if (rule.action == "report") != (out is None):
            raise OptionError("action report writes no corpus, so it needs no OUT; all other actions do")
        if out is None and report is None:
            raise OptionError("name a file for the report, because no corpus is written")
        if model is not None and rule.unit != "tokens":
            raise OptionError("a model is for unit tokens")
        if rule.unit == "tokens" and model is None:
            raise OptionError("unit tokens requires a model (-m)")
        self.rule, self._reading, self._overwrite = rule, reading, overwrite
        self.left_out: list[LeftOut] = []
        self._out, self._report = (None if path is None else Path(path) for path in (out, report))
        for path in (out, report):
            if path is not None and is_url(os.fspath(path)):
                raise OptionError(f"{path}: outputs must be local files")
        self.sources, names = self._find([os.fspath(path) for path in inputs], input_format, include, exclude)
        self._targets = self._named(names)
        self._check_sources()
        self.tokenizer: Tokenizer | None = open_model(model) if rule.unit == "tokens" else None
        self.items: Items = read_items([os.fspath(path) for path in against], against_format, fields)
        self.matcher = Matcher(self.items, rule, self.tokenizer)
        self._ignored = np.zeros(0, np.int64)

    def _find(
        self, given: list[str], input_format: str, include: Iterable[str], exclude: Iterable[str]
    ) -> tuple[list[Source], list[Path]]:
        """The files of the corpus, and their names in CLEAN: relative to the folder that was named."""
        sources, names = list[Source](), list[Path]()
        own = [str(path) for path in (self._report,) if path is not None]
        if self._out is not None and self._out.is_dir():
            own += [str(path) for path in self._out.rglob("*") if path.is_file()]
        refuse = [str(self._out)] if self._out is not None else []
        for argument in given:
            found = corpus_inputs.find(
                [argument], input_format=input_format, text_key=self._reading.text_key, include=include,
                exclude=exclude, own=own, refuse=refuse, left_out=self.left_out,
            )  # fmt: skip
            sources += found
            is_folder = not is_url(argument) and Path(argument).is_dir()
            names += [Path(s.path).relative_to(argument) if is_folder else Path(Path(s.path).name) for s in found]
        return sources, names

    def _named(self, names: list[Path]) -> list[Path | None]:
        """The file of each input in CLEAN. OptionError if two inputs would have the same."""
        if self._out is None:
            return [None] * len(names)
        if len(names) == 1 and not self._out.is_dir():
            return [self._out]
        if twice := [name for name, n in Counter(names).items() if n > 1]:
            raise OptionError(f"several inputs would be written to {self._out / twice[0]}; name a folder above them")
        return [self._out / name for name in names]

    def _check_sources(self) -> None:
        for source in self.sources:
            if source.opened is not None:
                raise InputError(f"{source.name}: a pipe cannot be decontaminated; name a file")
            if source.format == "parquet":
                raise InputError(f"{source.name}: Parquet files cannot be decontaminated; convert them to JSON lines")
            if source.format == "text" and self.rule.action == "mark":
                raise OptionError(f"{source.name}: action mark adds a field to JSON lines, but this is text")
        corpus_inputs.check_separator(self.sources, self._reading.separator)

    # ---------------------------------------------------------------------------------------------- the run

    @property
    def base(self) -> Path:
        """Names the journal and the result."""
        base = self._out or self._report
        assert base is not None
        return base

    def identity(self) -> Identity:
        reading = self._reading
        options: dict[str, Any] = {f"rule {name}": value for name, value in asdict(self.rule).items()}
        options |= {
            "benchmarks": self.items.sha, "unicode": unicodedata.unidata_version, "text key": reading.text_key,
            "separator": reading.separator and reading.separator.decode("utf-8", "surrogateescape"),
            "block": reading.block_bytes, "longest line": reading.max_line_bytes, "on error": reading.on_error,
            "model sha256": self.tokenizer and self.tokenizer.sha256,
            "report": None if self._report is None else str(self._report),
        }  # fmt: skip
        return Identity.of(options, [source.file for source in self.sources])

    def run(self, callbacks: Callbacks = SILENT, on_count: Callable[[Progress], None] = SILENT.on_progress) -> Summary:
        """Decontaminate, or finish an interrupted run. on_count is called after each block of the first of two passes,
        and callbacks.on_progress after each block of the last one."""
        base = self.base
        reports = {} if self._report is None else {REPORT: self._report}
        if self._reading.skip_bad:
            reports[ERRORS] = base.with_name(base.name + ERRORS_SUFFIX)
        opened = CleanOutput(base, self._targets, reports, self.identity(), overwrite=self._overwrite)
        with Interrupts() as interrupts, opened as output:
            if output.finished is not None:
                return Summary(**output.finished["summary"] | {"is_complete_already": True})
            state = _State.of(self, output.progress)
            done = state.progress
            callbacks.on_start(Start(done.bytes, state.read, compressed=done.compressed))
            try:
                if self.rule.max_common is not None and not state.is_counted:
                    self._read(state, output, interrupts, self._count, self._add_counts, on_count)
                    state.is_counted, state.position, state.progress = True, BEGINNING, Progress()
                    output.checkpoint(state.to_json())
                self._ignored = np.flatnonzero(state.counts > (self.rule.max_common or np.iinfo(np.int64).max))
                self._read(state, output, interrupts, self._work, self._write, callbacks.on_progress)
            except BaseException:
                # The output so far is valid. If the checkpoint fails too, raise the first error.
                if state.is_consistent and state.progress.bytes > output.safe_bytes:
                    with contextlib.suppress(OutputError):
                        output.checkpoint(state.to_json())
                raise
            summary = state.summary(self)
            output.commit({"summary": asdict(summary), "table": summary.table()})
        return summary

    def _read(
        self, state: _State, output: CleanOutput, interrupts: Interrupts, work: Callable[[Block], _Cleaned],
        add: Callable[[_State, CleanOutput, Result[_Cleaned]], None], on_progress: Callable[[Progress], None],
    ) -> None:  # fmt: skip
        """Work on all blocks from the state's position on, and add the results in order."""
        state.progress.compressed_total = total_bytes(self.sources)
        with Workers(Reading(self.sources, self._reading), work, state.position) as workers:
            for result in workers.results():
                with interrupts.held():
                    state.is_consistent = False
                    add(state, output, result)
                    state.is_consistent = True
                    if output.is_due(state.progress.bytes):
                        output.checkpoint(state.to_json())
                on_progress(state.progress)

    def _count(self, block: Block) -> _Cleaned:
        return _Cleaned(grams=self._grams_of(self._hits(block)))

    @staticmethod
    def _add_counts(state: _State, _: CleanOutput, result: Result[_Cleaned]) -> None:
        np.add.at(state.counts, result.value.grams, 1)
        state.advance(result)

    def _write(self, state: _State, output: CleanOutput, result: Result[_Cleaned]) -> None:
        cleaned = result.value
        if result.source < len(self.sources):
            output.write(result.source, cleaned.data)
            if self._report is not None:
                output.report(REPORT, cleaned.report)
            for bad in result.bad:
                record = {"file": self.sources[result.source].name, "line": bad.line, "error": bad.error}
                output.report(ERRORS, json.dumps(record).encode() + b"\n")
        state.add(self, result)
        for ending in result.endings:
            output.end(ending.source)

    # ------------------------------------------------------------------------------------------- one block

    def _hits(self, block: Block) -> np.ndarray[Any, Any]:
        return self.matcher.find(block.data, block.offsets[: block.n_docs + 1])

    @staticmethod
    def _grams_of(hits: np.ndarray[Any, Any]) -> Int64s:
        """The n-grams of hits, once for each document."""
        pairs = np.unique(np.stack((hits["document"], hits["gram"]), axis=1), axis=0)
        grams: Int64s = pairs[:, 1]
        return grams

    def _work(self, block: Block) -> _Cleaned:
        """Find the items in a block, and compress what remains of it."""
        hits = self._hits(block)
        ret = _Cleaned(grams=self._grams_of(hits) if self.rule.max_common is None else np.empty(0, np.int64))
        hits = hits[~np.isin(hits["gram"], self._ignored)]
        found: dict[int, list[Match]] = {}
        documents, firsts = np.unique(hits["document"], return_index=True)
        for document, grams in zip(documents.tolist(), np.split(hits, firsts[1:]), strict=False):
            kept = [hit for hit in self.matcher.matches_of(grams) if hit.share >= self.rule.min_share]
            if kept:
                found[document] = kept
        ret.hits = [[hit.text for hit in kept] for kept in found.values()]
        if block.source >= len(self.sources):
            return ret
        source = self.sources[block.source]
        is_json = source.format == "jsonl"
        if not found and self._out is None:
            return ret
        if not found and is_json and (whole := whole_lines(block)) is not None:
            ret.n_written, ret.data = block.n_docs, compressed(whole, source.compression)
            return ret
        lines = lines_of(block, self._reading.max_line_bytes) if is_json else list(block.texts())
        if self._report is not None:
            report_lines = b"".join(self._report_lines(block, found, lines))
            ret.report = compressed(report_lines, by_suffix(self._report.suffix).name)
        if self._out is not None:
            kept_lines = self._remaining(block, found, lines, is_json)
            ret.n_written = len(kept_lines)
            end = b"\n" if is_json else self._reading.separator or b""
            ret.data = compressed(b"".join(part for line in kept_lines for part in (line, end)), source.compression)
        return ret

    def _remaining(
        self, block: Block, found: dict[int, list[Match]], lines: list[bytes], is_json: bool
    ) -> list[bytes]:
        """The lines or texts to write."""
        kept: list[bytes] = []
        path = key_path(self._reading.text_key)
        for number, line in enumerate(lines):
            if number not in found:
                kept.append(line)
            elif self.rule.action == "mark":
                kept.append(with_field(line, "contamination", [self._described(hit) for hit in found[number]]))
            elif self.rule.action == "cut":
                pieces = self._pieces(self._text(block, number), found[number])
                kept += [with_text(line, path, piece) if is_json else piece.encode("utf-8", "surrogateescape")
                         for piece in pieces]  # fmt: skip
        return kept

    def _pieces(self, text: bytes, hits: list[Match]) -> list[str]:
        ranges = joined_ranges(np.concatenate([hit.ranges for hit in hits]))
        pieces = pieces_outside(text, ranges, self.rule.cut_around, self.rule.min_piece)
        return pieces if len(pieces) <= self.rule.max_pieces else []

    @staticmethod
    def _text(block: Block, document: int) -> bytes:
        text: bytes = block.data[int(block.offsets[document]) : int(block.offsets[document + 1])].tobytes()
        return text

    def _described(self, hit: Match) -> dict[str, Any]:
        items, text = self.items, hit.text
        return {
            "benchmark": items.benchmarks[items.benchmark[text]], "item": items.labels[items.items[text]],
            "field": items.fields[text], "share": round(hit.share, 4), "longest_run": hit.longest_run,
        }  # fmt: skip

    def _report_lines(self, block: Block, found: dict[int, list[Match]], lines: list[bytes]) -> Iterable[bytes]:
        source = self.sources[block.source]
        for document, hits in found.items():
            text = self._text(block, document)
            number = block.first_document + document if block.numbers is None else int(block.numbers[document])
            place: dict[str, Any] = {"file": source.name, "document": number}
            if source.format == "jsonl":
                place["id"] = parsed(lines[document]).get("id")
            for hit in hits:
                begin, end = max(hit.ranges.tolist(), key=lambda pair: pair[1] - pair[0])
                shown = text[begin : min(end, begin + MAX_SHOWN_BYTES)].decode("utf-8", "replace")
                record = place | self._described(hit) | {"begin": begin, "end": end, "text": shown}
                yield json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


# ------------------------------------------------------------------------------------------------------------ state


@dataclass
class _State:
    """What a run has read and found. The journal stores it.

    position        where reading resumes, in step 1 or 2
    counts          int64[units]: in how many documents each n-gram occurs
    is_counted      step 1 is done
    texts           in how many documents each text of an item was found
    n_documents     documents with an item of each benchmark
    is_consistent   False while a block is being added, and after an error while adding one
    """

    position: Position
    counts: Int64s
    is_counted: bool
    texts: Int64s
    n_documents: Int64s
    progress: Progress
    is_consistent: bool = True
    read: int = 0
    affected: int = 0
    written: int = 0
    skipped: int = 0

    @classmethod
    def of(cls, job: Decontamination, values: dict[str, Any] | None) -> _State:
        """The state at the beginning, or that of to_json(). OutputError if the values are damaged."""
        state = cls(
            BEGINNING, np.zeros(job.matcher.grams.n_units, np.int64), False,
            np.zeros(len(job.items.texts), np.int64), np.zeros(len(job.items.benchmarks), np.int64), Progress(),
        )  # fmt: skip
        if values is None:
            return state
        try:
            state.position = Position.from_json(values["position"])
            state.is_counted = bool(values["is_counted"])
            for name in ("counts", "texts", "n_documents"):
                array = _decoded(values[name])
                if array.shape != getattr(state, name).shape:
                    raise ValueError(f"{name} has the wrong size")
                setattr(state, name, array)
            for name in ("read", "affected", "written", "skipped"):
                setattr(state, name, int(values[name]))
            state.progress = Progress(bytes=int(values["bytes"]), compressed=int(values["compressed"]))
        except (ValueError, TypeError, KeyError, zstandard.ZstdError) as error:
            raise OutputError(f"{job.base}: its journal is damaged ({error}); --overwrite starts again") from None
        return state

    def to_json(self) -> dict[str, Any]:
        arrays = {name: _encoded(getattr(self, name)) for name in ("counts", "texts", "n_documents")}
        numbers = {name: getattr(self, name) for name in ("read", "affected", "written", "skipped")}
        place = {"position": self.position.to_json(), "is_counted": self.is_counted}
        return {"bytes": self.progress.bytes, "compressed": self.progress.compressed} | place | arrays | numbers

    def add(self, job: Decontamination, result: Result[_Cleaned]) -> None:
        """Count a block."""
        cleaned = result.value
        if job.rule.max_common is None:
            np.add.at(self.counts, cleaned.grams, 1)
        for texts in cleaned.hits:
            self.texts[texts] += 1
            self.n_documents[list({job.items.benchmark[text] for text in texts})] += 1
        self.read += result.n_ended
        self.affected += len(cleaned.hits)
        self.written += cleaned.n_written
        self.skipped += len(result.bad)
        self.advance(result)

    def advance(self, result: Result[_Cleaned]) -> None:
        """Move the position past a block."""
        self.progress.bytes += result.source_bytes + sum(ending.source_bytes for ending in result.endings)
        self.progress.text_bytes += result.text_bytes
        self.progress.compressed = result.compressed
        self.position = result.after

    def summary(self, job: Decontamination) -> Summary:
        items, sizes = job.items, job.matcher.sizes
        benchmark_of = dict(zip(items.items, items.benchmark, strict=True))
        names = range(len(items.benchmarks))

        def per_benchmark(texts: Iterable[int]) -> list[int]:
            n = Counter(benchmark_of[item] for item in {items.items[text] for text in texts})
            return [n[k] for k in names]

        return Summary(
            items.benchmarks, per_benchmark(range(len(items.items))), per_benchmark(np.flatnonzero(sizes).tolist()),
            per_benchmark(self._contaminated(job)), self.n_documents.tolist(), self.read, self.affected, self.written,
            self.skipped,
        )  # fmt: skip

    def _contaminated(self, job: Decontamination) -> list[int]:
        """The contaminated texts."""
        if job.rule.item_share is None:
            return list(np.flatnonzero(self.texts).tolist())
        matcher = job.matcher
        occurs = np.zeros(matcher.grams.n_units, np.bool_)
        for gram in np.flatnonzero(self.counts).tolist():
            occurs[list(matcher.places_of(gram))] = True
        before = np.concatenate(([0], np.cumsum(occurs)))
        starts = matcher.grams.starts
        n_grams = np.where(matcher.sizes > 0, np.diff(starts) - matcher.sizes + 1, 1)
        shares = (before[starts[1:]] - before[starts[:-1]]) / n_grams
        return list(np.flatnonzero((matcher.sizes > 0) & (shares >= job.rule.item_share)).tolist())


def _encoded(array: Int64s) -> str:
    return base64.b64encode(zstandard.compress(array.astype("<i8").tobytes())).decode()


def _decoded(text: str) -> Int64s:
    return np.frombuffer(zstandard.decompress(base64.b64decode(text)), "<i8").astype(np.int64)
