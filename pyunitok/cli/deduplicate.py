"""Implements the `deduplicate` command."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from pyunitok._c.anchors import CUTS
from pyunitok.clean.deduplicate import KEEP, Deduplicated, Deduplication, Duplicates
from pyunitok.cli.arguments import SIZE, parse_separator
from pyunitok.cli.corpus_options import INPUTS, reading_options, running_options
from pyunitok.cli.progress import Meter
from pyunitok.cli.report import report_formats, report_kept, report_left_out
from pyunitok.cli.sections import Sectioned
from pyunitok.corpus.reading import ReadingOptions
from pyunitok.disk.reports import check_report, write_report
from pyunitok.errors import count
from pyunitok.run.plan import Progress, Start

SECTIONS = {
    "Repeats": "min-bytes min-words keep against documents repeat",
    "Cuts": "cut max-share min-left",
    "Inputs": INPUTS,
}
REPEATS = ("min_bytes", "min_words", "keep", "cut", "max_share", "min_left", "documents", "repeat")


@click.command(cls=Sectioned, sections=SECTIONS)
@click.argument("inputs", metavar="CORPUS...", nargs=-1, required=True)
@click.option("-o", "--out", metavar="CLEAN", type=click.Path(), required=True,
              help="Output file, or a folder for several inputs.")  # fmt: skip
@click.option("--ranges", metavar="FILE", type=click.Path(),
              help="Write a JSON line with the removed bytes of each document to FILE.")  # fmt: skip
@click.option("--json", "json_path", metavar="FILE", help="Write the summary as JSON to FILE.")
@click.option("--tmp", metavar="FOLDER", type=click.Path(),
              help="Folder for temporary files, 3 bytes per byte of text; by default, next to CLEAN.")  # fmt: skip
@click.option("--ray", metavar="auto|local|ADDRESS",
              help="Find repeats on a Ray cluster whose machines share the temporary files.")  # fmt: skip
@running_options
@click.option("--min-bytes", type=SIZE, metavar="N", help="Minimum size of a repeat. Default: 100.")
@click.option("--min-words", type=click.IntRange(1), metavar="N",
              help="Minimum size of a repeat in words, which must match byte for byte.")  # fmt: skip
@click.option("--keep", type=click.Choice(KEEP), default="first", show_default=True,
              help="Keep the first copy, or remove all copies.")  # fmt: skip
@click.option("--against", metavar="OTHER", multiple=True,
              help="Also remove what this corpus contains. May be repeated.")  # fmt: skip
@click.option("--documents", is_flag=True, help="First drop documents that are identical to an earlier one.")
@click.option("--repeat", is_flag=True, help="Remove repeats again until none is left.")
@click.option("--cut", type=click.Choice(list(CUTS)), default="word", show_default=True,
              help="Shrink repeats to complete characters, words or lines.")  # fmt: skip
@click.option("--max-share", type=click.FloatRange(0, 1), metavar="SHARE",
              help="Drop a document if more than this share of its bytes repeats.")  # fmt: skip
@click.option("--min-left", type=SIZE, metavar="N", help="Drop a document if cutting leaves fewer bytes than this.")
@reading_options
def deduplicate(
    inputs: tuple[str, ...], out: str, ranges: str | None, json_path: str | None, tmp: str | None, overwrite: bool,
    against: tuple[str, ...], input_format: str, doc: str, include: tuple[str, ...], exclude: tuple[str, ...],
    ray: str | None, **options: Any,
) -> None:  # fmt: skip
    """Remove repeated text from a corpus.

    CORPUS is JSONL, Parquet or text (plain, .zst, .gz, .bz2 or .xz). CLEAN has the same names, formats and
    compression; the suffix of a single file may name a different compression. Unchanged JSON lines are copied byte for
    byte, and other fields are kept. Every repeat of at least --min-bytes is found, whatever the size of the corpus, and
    verified byte by byte.

    To resume an interrupted run, run the same command again; the output is byte-identical.

    \b
    Examples:
      pyunitok deduplicate crawl/ -o clean/ --documents --ranges removed.jsonl.zst
      pyunitok deduplicate new.jsonl.zst --against old.jsonl.zst --min-words 50 -o clean.jsonl.zst
      pyunitok deduplicate c.jsonl --keep none --cut line --min-left 200 -o clean.jsonl --tmp /scratch
    """
    if json_path:
        check_report(Path(json_path))
    values = {name: options.pop(name) for name in REPEATS}
    values["min_left"] = values["min_left"] or 0
    job = Deduplication(
        inputs, out, against, Duplicates(**values), ranges=ranges, tmp=tmp, overwrite=overwrite,
        input_format=input_format, include=include, exclude=exclude,
        reading=ReadingOptions(separator=parse_separator(doc), **options), ray=ray,
    )  # fmt: skip
    report_left_out(job.files.left_out)
    report_formats(job.files.sources)
    with _StepMeter(job, "the same command" + " without --overwrite" * overwrite) as listener:
        summary = job.run(listener.show)
    _print(summary, f"they contain no complete {values['cut']}" if values["repeat"] else "--repeat removes more")
    if json_path:
        write_report(Path(json_path), json.dumps(asdict(summary), indent=1).encode() + b"\n")
    if summary.skipped:
        click.echo(f"skipped {count(summary.skipped, 'line')}", err=True)
        click.get_current_context().exit(3)


class _StepMeter:
    """A context manager that shows the progress of each step and, if the job stops, how to resume it."""

    def __init__(self, job: Deduplication, command: str) -> None:
        self._job, self._command = job, command
        self._step, self._meter = "", Meter("")

    def __enter__(self) -> _StepMeter:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        self._meter.close()
        if kind is not None and self._job.has_journal:
            report_kept(self._job.base, self._command)

    def show(self, step: str, progress: Progress) -> None:
        if step != self._step:
            self._meter.close()
            self._step, self._meter = step, Meter(step)
            self._meter.begin(Start())
        self._meter.show(progress)


def _print(summary: Deduplicated, hint: str) -> None:
    done = "already complete: " if summary.is_complete_already else ""
    share = summary.removed_bytes / summary.bytes if summary.bytes else 0
    click.echo(
        f"{done}{summary.removed_bytes:,} of {count(summary.bytes, 'byte')} of text removed ({share:.1%}), in"
        f" {summary.affected:,} of {count(summary.read, 'document')}; {summary.written:,} written"
    )
    if summary.windows_left:
        click.echo(f"windows that still repeat: {summary.windows_left:,}, previously {summary.windows:,}; {hint}")
