"""decontaminate() removes documents that contain benchmark text from a corpus, or reports them.

    1. count      only for rules that require it: count the documents that contain each n-gram, or each text of an item
    2. clean      workers find items in each block and clean it (cleaner.py); the main thread writes in order

The corpus is read again for step 2. A journal (output.py) makes both steps resumable from their last checkpoint; the
output is byte-identical. A run stopped by a signal or an error writes a last checkpoint. parts.py describes runs on
several machines.
"""

from __future__ import annotations

import contextlib
import json
import os
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
import zstandard

from pyunitok.clean import parts
from pyunitok.clean.benchmarks import Items, read_items
from pyunitok.clean.cleaner import FIELD, Cleaner
from pyunitok.clean.files import CleanFiles, rewriter_of
from pyunitok.clean.matching import Int64s, Matcher
from pyunitok.clean.output import CleanOutput
from pyunitok.clean.parts import CleanPart
from pyunitok.clean.rules import PRESETS, Rule
from pyunitok.clean.run import ERRORS, REPORT, CleanRun, OnProgress
from pyunitok.clean.state import CleanState, Summary
from pyunitok.corpus import inputs as corpus_inputs
from pyunitok.corpus.compressions import by_suffix
from pyunitok.corpus.formats import FORMATS
from pyunitok.corpus.pipe import PipeStream
from pyunitok.corpus.reading import ReadingOptions
from pyunitok.corpus.rewriting import Rewriter
from pyunitok.corpus.source import total_bytes
from pyunitok.disk.outfile import OutputLock, check_target, make_folder, write_whole
from pyunitok.disk.url import is_url
from pyunitok.errors import InputError, OptionError, OutputError
from pyunitok.interrupts import Interrupts
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.run import cluster
from pyunitok.run.identity import Identity
from pyunitok.run.journal import journal_path, to_hashed
from pyunitok.run.options import check_address
from pyunitok.run.output import parts_folder
from pyunitok.run.plan import SILENT, Callbacks, Progress, Start
from pyunitok.run.shard import take
from pyunitok.run.units import Each, change_folder, default_unit_bytes
from pyunitok.tokens.manifest import ERRORS_SUFFIX, MAX_SHARDS, StrPath
from pyunitok.tokens.model import Model, open_model


def decontaminate(
    inputs: StrPath | Iterable[StrPath], out: StrPath | None, against: StrPath | Iterable[StrPath], *,
    field: str | Sequence[str] = (), against_format: str = "fields", preset: str | None = None, model: Model = None,
    report: StrPath | None = None, overwrite: bool = False, input_format: str = "auto",
    include: Iterable[str] = (), exclude: Iterable[str] = (), reading: ReadingOptions | None = None,
    shard: tuple[int, int] | None = None, ray: str | None = None,
    on_progress: Callable[[Progress], None] | None = None, **rule: Any,
) -> Summary:  # fmt: skip
    """Remove contaminated documents from a corpus, as `pyunitok decontaminate` does.

    inputs          files, directories, patterns or URLs of JSON lines, Parquet or text, in any compression
    out             CLEAN: a file if the corpus is one file, otherwise a folder; None with action="report"
    against         files of benchmark items, in the format against_format: see clean/benchmarks.py
    field           the fields to compare, for against_format="fields"
    preset          the rule of a paper (see clean/rules.py)
    rule            fields of Rule; these override the preset or, without a preset, the default Rule
    model           the model for unit="tokens"
    report          a file for hits, JSON lines; compressed if its name ends in .zst, .gz, .bz2 or .xz
    reading         text_key, separator, threads and other options for reading the corpus
    shard           (i, n): clean only range i, counted from 0, of n contiguous ranges of the files; see
                    Summary.waits_for. The last shard to finish returns the result of all shards
    ray             run on the Ray cluster at this address, "auto" or "local"

    Unchanged JSON lines are copied to CLEAN, and blank lines are dropped. Parquet files keep their columns and row
    groups. In text files, the separator follows every document.

    Repeating the call resumes an interrupted run. Raises OptionError, InputError and OutputError, like tokenize().

        found = pyunitok.decontaminate("crawl/", "clean/", "mmlu.jsonl", field=["question"], report="hits.jsonl.zst")
        print(found.documents_affected, found.table())
    """
    values: dict[str, Any] = dict(PRESETS[preset]) if preset else {}
    job = Decontamination(
        [inputs] if isinstance(inputs, str | os.PathLike) else inputs, out,
        [against] if isinstance(against, str | os.PathLike) else against,
        Rule(**(values | rule)), fields=[field] if isinstance(field, str) else field, against_format=against_format,
        model=model, report=report, overwrite=overwrite, input_format=input_format, include=include, exclude=exclude,
        reading=reading or ReadingOptions(), shard=shard, ray=ray,
    )  # fmt: skip
    return job.run(Callbacks(SILENT.on_start, on_progress or SILENT.on_progress))


class Decontamination:
    """One call to decontaminate(). The constructor checks the arguments; run() does the work. Pickling omits the
    matcher.

    files  the files of the corpus and of CLEAN
    part   the part that this call processes: the complete corpus unless `shard` is given
    """

    def __init__(
        self, inputs: Iterable[StrPath], out: StrPath | None, against: Iterable[StrPath], rule: Rule, *,
        fields: Sequence[str], against_format: str, model: Model, report: StrPath | None, overwrite: bool,
        input_format: str, include: Iterable[str], exclude: Iterable[str], reading: ReadingOptions,
        shard: tuple[int, int] | None = None, ray: str | None = None,
    ) -> None:  # fmt: skip
        rule.check()
        _check_options(rule, out, report, model, shard, ray)
        self.rule, self._overwrite, self._ray = rule, overwrite, ray
        self._reading = reading if ray is None else replace(reading, threads=reading.threads or 1)  # threads per task
        self._out, self._report = (None if path is None else Path(path) for path in (out, report))
        self.files = CleanFiles.find(
            [os.fspath(path) for path in inputs], self._out, input_format=input_format, text_key=reading.text_key,
            include=include, exclude=exclude, own=parts.own_files(self.base, self._report),
        )  # fmt: skip
        self._check_sources()
        self._cwd = str(Path.cwd())
        self.part = self._part(*shard) if shard else self._whole()
        self.tokenizer: Tokenizer | None = open_model(model) if rule.unit == "tokens" else None
        self.items: Items = read_items(
            [os.fspath(path) for path in against], against_format, fields, paragraphs=rule.paragraphs
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "matcher"}

    @cached_property
    def matcher(self) -> Matcher:
        return Matcher(self.items, self.rule, self.tokenizer)

    @property
    def base(self) -> Path:
        """The path from which the names of the journal and the result of an undivided run are derived."""
        base = self._out or self._report
        assert base is not None
        return base

    @property
    def unfinished(self) -> Path:
        """The journal of an interrupted run, or the folder of its parts."""
        return journal_path(self.part.base) if self._ray is None else self._parts_folder

    @property
    def _parts_folder(self) -> Path:
        return parts_folder(self.base)

    @property
    def _totals_path(self) -> Path:
        folder = self._parts_folder if self._ray else self.base.parent
        return folder / (self.base.name + ".totals")

    def _check_sources(self) -> None:
        for source in self.files.sources:
            is_divided = self._ray is not None and source.size_bytes is None
            if source.opened is not None and self.rule.passes > 1:
                raise OptionError(
                    f"{source.name}: a pipe can be read only once, but this rule needs two passes; use --max-common"
                    " none without --set-share, or name a file"
                )
            if is_divided:
                raise InputError(f"{source.name}: other machines cannot read a pipe; name a file")
            if self.rule.action == "mark" and not FORMATS[source.format].has_fields:
                raise OptionError(f"{source.name}: --action mark adds a field, but text files have no fields")
        corpus_inputs.check_separator(self.files.sources, self._reading.separator)

    # -------------------------------------------------------------------------------------------------- parts

    def _whole(self) -> CleanPart:
        return CleanPart(self.files.sources, self.files.targets, self.base, self._reports(self.base, self._report))

    def _part(self, index: int, count: int, folder: Path | None = None) -> CleanPart:
        """A part. Its files are in `folder` or, if this is None, next to the final files."""
        sources, shard = take(self.files.sources, index, count)
        base = parts.named_in(folder, self.base, index, count)
        report = parts.named_in(folder, self._report, index, count) if self._report else None
        targets = self.files.targets[shard.first_input : shard.first_input + len(sources)]
        return CleanPart(sources, targets, base, self._reports(base, report), shard)

    def _reports(self, base: Path, report: Path | None) -> dict[str, Path]:
        ret = {} if report is None else {REPORT: report}
        if self._reading.skip_bad:
            ret[ERRORS] = base.with_name(base.name + ERRORS_SUFFIX)
        return ret

    def _siblings(self, part: CleanPart) -> list[CleanPart]:
        """All parts of the run."""
        assert part.shard is not None
        folder = self._parts_folder if self._ray else None
        return [self._part(k, part.shard.count, folder) for k in range(part.shard.count)]

    def _identity(self, part: CleanPart) -> Identity:
        reading = self._reading
        rule = json.loads(json.dumps(asdict(self.rule)))
        options: dict[str, Any] = {f"rule {name}": value for name, value in rule.items()}
        options |= {
            "benchmarks": self.items.sha, "unicode": unicodedata.unidata_version, "text key": reading.text_key,
            "separator": reading.separator and reading.separator.decode("utf-8", "surrogateescape"),
            "block": reading.block_bytes, "longest line": reading.max_line_bytes, "on error": reading.on_error,
            "model sha256": self.tokenizer and self.tokenizer.sha256,
            "report": None if self._report is None else str(self._report),
        }  # fmt: skip
        options |= part.shard.options() if part.shard else {}
        return Identity.of(options, [source.file for source in part.sources])

    @cached_property
    def _run(self) -> str:
        """The hash of the undivided run's identity."""
        return xxhash.xxh64_hexdigest(json.dumps(self._identity(self._whole()).to_json()).encode())

    # ---------------------------------------------------------------------------------------------- the run

    def run(self, callbacks: Callbacks = SILENT, on_count: OnProgress = SILENT.on_progress) -> Summary:
        """Decontaminate, or finish an interrupted run. on_count is called after each block of the first of two passes,
        and callbacks.on_progress after each block of the last pass."""
        if self._ray is not None:
            with cluster.connected(self._ray):
                return self.run_in_parts(cluster.Cluster(self._reading.n_threads), callbacks, on_count)
        if self.part.shard is None:
            return self.run_part(self.part, callbacks, on_count)
        siblings = self._siblings(self.part)
        if finished := self._begin_parts(siblings):
            return finished
        summary = self.run_part(self.part, callbacks, on_count)
        if not summary.waits_for:
            with contextlib.suppress(OutputError):  # another process is merging the parts
                return self._join(siblings) or summary
        return summary

    def run_part(
        self, part: CleanPart, callbacks: Callbacks = SILENT, on_count: OnProgress = SILENT.on_progress
    ) -> Summary:
        """Like run(), but for one part."""
        field = FIELD if self.rule.action == "mark" else None
        pairs = zip(part.sources, part.targets, strict=True)
        rewriters = [rewriter_of(source, target, self._reading, field) for source, target in pairs]
        opened = CleanOutput(
            part.base, part.targets, part.reports, self._identity(part), overwrite=self._overwrite,
            writer_of=lambda number, state: rewriters[number].file_writer(state),
        )  # fmt: skip
        with Interrupts() as interrupts, opened as output:
            if output.finished is not None:
                self._check_pipes(part, output.finished)
                return Summary(**output.finished["summary"] | {"is_complete_already": True})
            state = self._state(part, output.progress)
            run = CleanRun(part.sources, self._reading, state, output, interrupts)
            done = state.progress
            callbacks.on_start(Start(done.bytes, state.read, compressed=done.compressed))
            with run.last_checkpoint():
                if not state.is_counted:
                    run.read(self._cleaner(part, rewriters).count, on_count)
                    state.begin_cleaning(self.rule)
                    if part.shard:
                        parts.write_array(part.counts_path, self._run, state.totals)
                    run.checkpoint()
                totals = self._totals(part, state)
                if isinstance(totals, list):
                    empty = CleanState.new(self.items, self.matcher).summary(self.items, self.matcher, self.rule)
                    return replace(empty, waits_for=totals)
                cleaner = self._cleaner(part, rewriters, totals)
                run.read(cleaner.clean, callbacks.on_progress, whole_rows=self._out is not None or bool(self._report))
            summary = state.summary(self.items, self.matcher, self.rule)
            result = {**self._result(summary), "state": run.finish()}
            output.commit(result | ({parts.RUN: self._run} if part.shard else {}))
        return summary

    def _result(self, summary: Summary) -> dict[str, Any]:
        """The values in CLEAN.json that are intended for users."""
        items, tested = self.items, set(np.array(self.items.items)[self.matcher.is_tested].tolist())
        untestable: dict[str, list[str]] = {name: [] for name in items.benchmarks}
        for item, benchmark in dict(zip(items.items, items.benchmark, strict=True)).items():
            if item not in tested:
                untestable[items.benchmarks[benchmark]].append(items.labels[item])
        return {"summary": asdict(summary), "table": summary.table(), "untestable": untestable}

    def _state(self, part: CleanPart, progress: dict[str, Any] | None) -> CleanState:
        if progress is None:
            state = CleanState.new(self.items, self.matcher)
            state.is_counted = self.rule.passes == 1
            return state
        try:
            return CleanState.restored(self.items, self.matcher, progress)
        except (ValueError, TypeError, KeyError, zstandard.ZstdError) as error:
            raise OutputError(f"{part.base}: its journal is damaged ({error}); --overwrite starts again") from None

    @staticmethod
    def _check_pipes(part: CleanPart, finished: dict[str, Any]) -> None:
        """Raise InputError if the data in a pipe differ from the data that the finished run read."""
        for number, source in enumerate(part.sources):
            if source.opened is not None:
                PipeStream(source.opened, to_hashed(finished["state"]["pipes"][str(number)])).drain()

    def _cleaner(self, part: CleanPart, rewriters: Sequence[Rewriter], totals: Int64s | None = None) -> Cleaner:
        report = None if self._report is None else by_suffix(self._report.suffix).name
        return Cleaner(self.items, self.rule, self.matcher, part.sources, rewriters, self._out is not None, report,
                       np.empty(0, np.int64) if totals is None else totals)  # fmt: skip

    def _totals(self, part: CleanPart, state: CleanState) -> Int64s | list[int]:
        """The result of the first pass over the corpus, or a list of the parts that have not finished this pass."""
        if self.rule.passes == 1 or part.shard is None:
            return state.totals
        return self._all_totals(self._siblings(part))

    def _all_totals(self, siblings: Sequence[CleanPart]) -> Int64s | list[int]:
        return parts.totals_of(siblings, self._totals_path, self._run)

    # ------------------------------------------------------------------------------------- several machines

    def _begin_parts(self, siblings: Sequence[CleanPart]) -> Summary | None:
        """The result of all parts, if it exists. Raises OutputError if the result belongs to a different run, or if a
        file with the name of a report exists although no part has begun."""
        whole = self._whole()
        if self._overwrite:
            whole.result_path.unlink(missing_ok=True)
        if not whole.result_path.exists():
            if not any(part.has_begun for part in siblings):
                for path in whole.reports.values():
                    check_target(path, overwrite=self._overwrite)
            return None
        parts.remove_files(siblings, self._totals_path)  # in case _join was interrupted before it removed these files
        opened = CleanOutput(whole.base, whole.targets, whole.reports, self._identity(whole), overwrite=False)
        with opened as output:
            assert output.finished is not None
            return Summary(**output.finished["summary"] | {"is_complete_already": True})

    def _state_in(self, values: dict[str, Any]) -> CleanState:
        return CleanState.restored(self.items, self.matcher, values["state"])

    def _join(self, siblings: Sequence[CleanPart]) -> Summary | None:
        """Merge the results of all parts; None if some parts are unfinished. Raises OutputError if another process is
        merging them."""
        whole = self._whole()
        lock = OutputLock(self.base)
        try:
            state = CleanState.new(self.items, self.matcher)
            for part in siblings:
                found = parts.read_result(part.result_path, self._run, self._state_in)
                if found is None:
                    return None
                state.include(found)
            summary = state.summary(self.items, self.matcher, self.rule)
            parts.join_reports(siblings, whole.reports)
            result = {"run": self._identity(whole).to_json(), **self._result(summary), "state": state.to_json()}
            write_whole(whole.result_path, json.dumps(result, indent=1).encode() + b"\n")
            parts.remove_files(siblings, self._totals_path)
            return summary
        finally:
            lock.release()

    def run_in_parts(self, each: Each, callbacks: Callbacks, on_count: OnProgress) -> Summary:
        """Like run(), but uses `each` to clean parts of the corpus."""
        folder, whole, count = self._parts_folder, self._whole(), self._n_units
        siblings = [self._part(index, count, folder) for index in range(count)]
        if finished := self._begin_parts(siblings):
            return finished
        make_folder(folder, parents=True)
        if self._overwrite:
            parts.remove_files([*siblings, whole], self._totals_path)
            for path in [*whole.targets, *(journal_path(part.base) for part in siblings)]:
                if path is not None:
                    path.unlink(missing_ok=True)
            self._overwrite = False
        callbacks.on_start(Start())
        if self.rule.passes > 1 and isinstance(self._all_totals(siblings), list):
            self._run_each(each, on_count)
            self._all_totals(siblings)  # writes the sum of all counts, which every part reads
        self._run_each(each, callbacks.on_progress)
        summary = self._join(siblings)
        assert summary is not None
        with contextlib.suppress(OSError):  # the folder may contain other files
            folder.rmdir()
        return summary

    @property
    def _n_units(self) -> int:
        """The number of parts on a cluster, which depends only on the sizes of the files."""
        sources = self.files.sources
        n_bytes = sum(source.size_bytes or 0 for source in sources)
        return max(1, min(len(sources), n_bytes // default_unit_bytes(sources)))

    def _run_each(self, each: Each, on_progress: OnProgress) -> None:
        progress = Progress(compressed_total=total_bytes(self.files.sources))
        count = self._n_units
        for _, counts in each(_run_task, self, [(index, count) for index in range(count)]):
            progress.add(counts)
            on_progress(progress)

    def run_unit(self, index: int, count: int) -> Progress:
        """Clean a part, or count its n-grams, on a machine of a cluster."""
        part = self._part(index, count, self._parts_folder)
        change_folder(self._cwd, part.sources)
        self.run_part(part)
        n_bytes = sum(source.size_bytes or 0 for source in part.sources)
        return Progress(bytes=n_bytes, compressed=n_bytes)


def _run_task(job: Decontamination, unit: tuple[int, int]) -> Progress:
    return job.run_unit(*unit)


def _check_options(
    rule: Rule, out: StrPath | None, report: StrPath | None, model: Model, shard: tuple[int, int] | None,
    ray: str | None,
) -> None:  # fmt: skip
    """Raise OptionError if options conflict."""
    if (rule.action == "report") != (out is None):
        raise OptionError("--action report writes no corpus, so omit OUT; all other actions require OUT")
    if out is None and report is None:
        raise OptionError("name a file for the report, because no corpus is written")
    if model is not None and rule.unit != "tokens":
        raise OptionError("a model (-m) requires --unit tokens")
    if rule.unit == "tokens" and model is None:
        raise OptionError("--unit tokens requires a model (-m)")
    for path in (out, report):
        if path is not None and is_url(os.fspath(path)):
            raise OptionError(f"{path}: outputs must be local files")
    if shard and not 0 <= shard[0] < shard[1] <= MAX_SHARDS:
        raise OptionError(f"a shard must be I/N with I from 0 to N - 1, and N at most {MAX_SHARDS:,}")
    if ray is not None:
        check_address(ray)
        if shard:
            raise OptionError("--ray already divides the run; remove --shard")
