"""Prints messages to the user: how inputs are read, where a run resumes, how to resume it, and a summary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pyunitok.cli.progress import Meter
from pyunitok.errors import count, printable
from pyunitok.job import Job
from pyunitok.run.journal import journal_path
from pyunitok.run.output import parts_folder
from pyunitok.run.plan import Callbacks, Plan
from pyunitok.run.survey import survey
from pyunitok.tokens.metadata import errors_path


def report_left_out(left_out: Any) -> None:
    """List the files in directories that will not be read, grouped by reason."""
    reasons: dict[str, list[str]] = {}
    for one in left_out:
        reasons.setdefault(one.reason, []).append(one.path)
    for reason, paths in reasons.items():
        more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
        click.echo(f"skipping {', '.join(map(printable, paths[:3]))}{more} ({printable(reason)})", err=True)


def report_formats(sources: Any) -> None:
    """Print one line for each format and each reason for choosing that format, with the first such file."""
    if not sources:
        click.echo("this shard is empty: there are more shards than inputs", err=True)
    decided: dict[tuple[str, str], list[str]] = {}
    for source in sources:
        decided.setdefault((source.format, source.reason), []).append(source.path)
    for (format_, reason), paths in decided.items():
        more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
        click.echo(f"reading {printable(paths[0])}{more} as {format_} ({printable(reason)})", err=True)


def report_dtype(plan: Plan) -> None:
    """Print one line if uint32 was selected because the ids do not fit in uint16."""
    if plan.options.dtype == "auto" and plan.id_bytes > 2:
        largest = plan.tokenizer.vocab_size - 1
        click.echo(f"the ids are uint32, because {printable(plan.tokenizer.name)} has ids up to {largest:,}", err=True)


def report_survey(job: Job) -> None:
    """For --dry-run: print each input and the expected output to stdout."""
    plan = job.plan
    found = survey(plan)
    for source in plan.sources:
        size = "unknown" if source.size_bytes is None else f"{source.size_bytes:,}"
        path, reason = printable(source.path), printable(source.reason)
        click.echo(f"{size:>18}  {source.format}, {source.compression}  {path}  ({reason})")
    sizes = [source.size_bytes for source in plan.sources]
    total = "of unknown size" if None in sizes else f"of {sum(n or 0 for n in sizes):,} bytes"
    click.echo(f"would read {count(len(sizes), 'input')} {total}")
    click.echo(f"would write {', '.join(map(printable, job.outputs()))} ({found.begins})")
    if found.text_bytes is not None and found.tokens is not None:
        n_bytes = found.tokens * plan.id_bytes
        click.echo(f"about {found.text_bytes:,} bytes of text, {found.tokens:,} tokens, {n_bytes:,} bytes of output")


class Listener:
    """A context manager that reports on a running `tokenize` job.

        start ──▶ bar ──▶ merge bar ──▶ uploads, exports ──▶ report_done
                   └─▶ if the job stops, how to resume it
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._meter, self._merging = Meter("tokenizing"), Meter("merging", "ids")
        self._start: Any = None

    @property
    def callbacks(self) -> Callbacks:
        return Callbacks(self._on_start, self._meter.show, self._on_merge, self._on_upload)

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        self._meter.close()
        self._merging.close()
        if kind is not None:
            self._report_resume(kind)

    def report_done(self, manifest: Any) -> None:
        if self._job.exported:
            report_export(self._job.exported)
        documents, tokens = count(manifest.documents, "document"), count(manifest.tokens, "token")
        counts = f"{documents}, {manifest.text_bytes:,} bytes of text, {tokens}"
        if self._start.complete:
            click.echo(f"already complete: {printable(self._name())}, {counts}", err=True)
        else:
            rate = (manifest.bytes - self._start.bytes) / max(self._meter.seconds, 1e-9) / 1e6
            read = "" if manifest.bytes == manifest.text_bytes else f" (from {manifest.bytes:,} bytes of input)"
            ratio = manifest.bytes_per_token or 0.0
            click.echo(f"{counts}, {ratio:.3f} bytes/token, {rate:.0f} MB/s{read}", err=True)
        if self._job.plan.options.keep_parts:
            out = self._job.plan.out
            folder = printable(parts_folder(out))
            click.echo(f"to merge the parts, run: pyunitok merge {folder} -o {printable(out)}", err=True)

    def report_skipped(self, manifest: Any) -> bool:
        """Report skipped lines and files; return whether there were any."""
        n_lines: int = sum(record.skipped for record in manifest.inputs)
        n_files = sum(record.error is not None for record in manifest.inputs)
        skipped = [count(n_lines, "bad line")] * (n_lines > 0) + [count(n_files, "damaged file")] * (n_files > 0)
        if skipped:
            click.echo(f"skipped {' and '.join(skipped)}; see {printable(errors_path(self._name()))}", err=True)
        return bool(skipped)

    def _name(self) -> str:
        return self._job.spool.url if self._job.spool else str(self._job.plan.out)

    def _on_start(self, start: Any) -> None:
        self._start = start
        self._meter.begin(start)
        if start.bytes and not start.complete:
            click.echo(f"resuming after {count(start.documents, 'document')}, {start.bytes:,} bytes of input", err=True)

    def _on_merge(self, progress: Any) -> None:
        self._meter.close()
        self._merging.show(progress)

    def _on_upload(self, url: str, n_bytes: int) -> None:
        self._meter.close()
        click.echo(f"uploading {printable(url)}, {n_bytes:,} bytes", err=True)

    def _report_resume(self, kind: Any) -> None:
        """Say how to resume a job that stopped."""
        job, out = self._job, self._job.plan.out
        command = "the same command" + " without --overwrite" * job.plan.options.overwrite
        if self._start is None:
            return
        parts = parts_folder(out)
        if parts.exists():
            click.echo(f"finished parts are kept in {printable(parts)}; run {command} to resume", err=True)
        elif journal_path(out).exists():
            report_kept(out, command)
        elif job.spool and out.exists() and not issubclass(kind, Exception):
            click.echo(job.spool.advice(), err=True)


def report_kept(out: Path, command: str) -> None:
    """Say how to resume a run that has a journal."""
    files = f"{printable(out)}.*partial"
    click.echo(f"progress is kept in {files}; run {command} to resume, or delete them to start over", err=True)


def report_export(exported: Any) -> None:
    """Print one line per file, then the notes."""
    for written in exported.files:
        click.echo(f"{printable(written.path)}: {written.how}, {written.n_bytes:,} bytes", err=True)
    for note in exported.notes:
        click.echo(f"note: {note}", err=True)
