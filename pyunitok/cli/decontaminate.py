"""Implements the `decontaminate` command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from pyunitok.clean.benchmarks import FORMATS as AGAINST_FORMATS
from pyunitok.clean.decontaminate import Decontamination
from pyunitok.clean.rules import ACTIONS, PRESETS, UNITS, Rule
from pyunitok.clean.state import Summary
from pyunitok.cli.arguments import SHARD, Parsed, model_option, parse_separator
from pyunitok.cli.corpus_options import INPUTS, reading_options, running_options
from pyunitok.cli.progress import Meter
from pyunitok.cli.report import report_formats, report_kept, report_left_out
from pyunitok.cli.sections import Sectioned
from pyunitok.cli.tokenize import given
from pyunitok.corpus.reading import ReadingOptions
from pyunitok.disk.reports import check_report, write_report
from pyunitok.errors import count, printable
from pyunitok.run.plan import Callbacks, Progress, Start

SECTIONS = {
    "Benchmarks": "against field against-format",
    "Rule": "preset unit length min-units min-share set-share max-common model pattern",
    "Action": "action cut-around min-piece max-pieces",
    "Several machines": "shard ray",
    "Inputs": INPUTS,
}
RULE = ("unit", "n", "min_units", "min_share", "max_common", "set_share",
        "action", "cut_around", "min_piece", "max_pieces")  # fmt: skip


def _parse_limit(text: str) -> int:
    if text == "none":
        return 0
    if not (text.isascii() and text.isdecimal()) or int(text) == 0:
        raise ValueError(f"{text!r} is not a valid number of documents; use 1 or more, or none")
    return int(text)


@click.command(cls=Sectioned, sections=SECTIONS)
@click.argument("inputs", metavar="CORPUS...", nargs=-1, required=True)
@click.option("-o", "--out", metavar="CLEAN", type=click.Path(), help="Output file, or a folder for several inputs.")
@click.option("--report", metavar="HITS", type=click.Path(), help="Write a JSON line per document and item to HITS.")
@click.option("--json", "json_path", metavar="FILE", help="Write the table as JSON to FILE.")
@running_options
@click.option("--against", metavar="BENCH", multiple=True, required=True, help="A benchmark file. May be repeated.")
@click.option("--field", metavar="NAMES", multiple=True, help="The fields to compare, such as question,answer.")
@click.option(
    "--against-format", type=click.Choice(list(AGAINST_FORMATS)), default="fields", show_default=True,
    help="fields: JSON lines with --field; text: an item per line; others: files of that tool.",
)  # fmt: skip
@click.option("--preset", type=click.Choice(list(PRESETS)), help="Use the rule of a paper; other options override it.")
@click.option("--unit", type=click.Choice(UNITS), default="words", show_default=True, help="The units of n-grams.")
@click.option(
    "-n", "--length", "n", type=click.IntRange(1), default=13, show_default=True, help="Number of units in an n-gram."
)
@click.option(
    "--min-units", type=click.IntRange(1), help="Minimum size of items compared in full; by default, 8, or n if n < 8."
)
@click.option(
    "--min-share", type=click.FloatRange(0, 1), default=0.0, show_default=True,
    help="Act on a document only if it contains this share of an item.",
)  # fmt: skip
@click.option(
    "--max-common", type=Parsed(_parse_limit, "number"), default="10", show_default=True, metavar="N|none",
    help="Ignore n-grams that occur in more than N documents; requires a second pass.",
)  # fmt: skip
@click.option(
    "--set-share", type=click.FloatRange(0, 1), metavar="SHARE",
    help="Act only on benchmarks with more than this share of their items found; requires a second pass.",
)  # fmt: skip
@click.option(
    "--action", type=click.Choice(ACTIONS), default="drop", show_default=True,
    help="Drop contaminated documents, cut the n-grams out, mark the JSON lines, or only report.",
)  # fmt: skip
@click.option(
    "--cut-around", type=click.IntRange(0), default=200, show_default=True,
    help="cut: characters removed on each side of an n-gram.",
)  # fmt: skip
@click.option("--min-piece", type=click.IntRange(0), default=200, show_default=True,
              help="cut: drop pieces with fewer characters than this.")  # fmt: skip
@click.option(
    "--max-pieces", type=click.IntRange(1), default=10, show_default=True,
    help="cut: drop documents with more pieces than this.",
)
@model_option
@click.option("--shard", type=SHARD, metavar="I/N",
              help="Clean shard I of N, counted from 0. With --max-common, run all shards twice.")  # fmt: skip
@click.option("--ray", metavar="auto|local|ADDRESS",
              help="Run on a Ray cluster whose machines share CORPUS and CLEAN. --threads is per task.")  # fmt: skip
@reading_options
def decontaminate(
    inputs: tuple[str, ...], out: str | None, report: str | None, json_path: str | None, against: tuple[str, ...],
    field: tuple[str, ...], against_format: str, preset: str | None, model: Any, input_format: str, doc: str,
    include: tuple[str, ...], exclude: tuple[str, ...], overwrite: bool, shard: tuple[int, int] | None,
    ray: str | None, **options: Any,
) -> None:  # fmt: skip
    """Remove documents that contain benchmark items from a corpus.

    CORPUS is JSONL, Parquet or text (plain, .zst, .gz, .bz2 or .xz), a URL, or - for stdin. CLEAN has the same names,
    formats and compression, unless it is one file whose name ends differently; the remaining JSON lines are copied byte
    for byte, and Parquet keeps its columns. Words are compared without regard to case, punctuation or spacing, and
    every match is verified. Items with fewer than n words are compared in full, or counted as untestable.

    To resume an interrupted run, run the same command again; the output is byte-identical.

    \b
    Examples:
      pyunitok decontaminate crawl/ --against mmlu.jsonl --field question -o clean/ --report hits.jsonl.zst
      pyunitok decontaminate c.jsonl.zst --against bench/ --against-format decon --preset gpt3 -o clean.jsonl.zst
      pyunitok decontaminate c.jsonl --against q.txt --against-format text --action report --report hits.jsonl
    """
    if json_path:
        check_report(Path(json_path))
    rule: dict[str, Any] = dict(PRESETS[preset]) if preset else {}
    rule |= given({name: options[name] for name in RULE})
    if "max_common" in rule:
        rule["max_common"] = rule["max_common"] or None
    reading = ReadingOptions(
        separator=parse_separator(doc),
        **{name: value for name, value in options.items() if name not in RULE},
    )
    fields = [name for names in field for name in names.split(",") if name]
    job = Decontamination(
        inputs, out, against, Rule(**rule), fields=fields, against_format=against_format, model=model, report=report,
        overwrite=overwrite, input_format=input_format, include=include, exclude=exclude, reading=reading,
        shard=shard, ray=ray,
    )  # fmt: skip
    report_left_out(job.files.left_out)
    report_formats(job.part.sources)
    with _Listener(job, "the same command" + " without --overwrite" * overwrite) as listener:
        summary = job.run(Callbacks(listener.begin, listener.show), listener.show_count)
    if summary.waits_for:
        shards = ", ".join(map(str, summary.waits_for[:20])) + ", …" * (len(summary.waits_for) > 20)
        click.echo(f"this shard has been counted; run the command again once these are, too: {shards}", err=True)
        return
    _print(summary)
    if json_path:
        write_report(Path(json_path), json.dumps(summary.table(), indent=1).encode() + b"\n")
    if summary.skipped:
        click.echo(f"skipped {count(summary.skipped, 'line')}", err=True)
        click.get_current_context().exit(3)


class _Listener:
    """A context manager that shows the progress of both passes and, if the job stops, how to resume it."""

    def __init__(self, job: Decontamination, command: str) -> None:
        self._job, self._command = job, command
        self._counting, self._cleaning = Meter("counting"), Meter("decontaminating")
        self._is_counting = False

    def __enter__(self) -> _Listener:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        self._counting.close()
        self._cleaning.close()
        if kind is None or not self._job.unfinished.exists():
            return
        if self._job.unfinished.is_dir():
            folder = printable(self._job.unfinished)
            click.echo(f"finished parts are kept in {folder}; run {self._command} to resume", err=True)
        else:
            report_kept(self._job.part.base, self._command)

    def begin(self, start: Start) -> None:
        self._counting.begin(start)
        self._cleaning.begin(start)
        if start.bytes:
            click.echo(f"resuming after {start.bytes:,} bytes of input", err=True)

    def show_count(self, progress: Progress) -> None:
        self._is_counting = True
        self._counting.show(progress)

    def show(self, progress: Progress) -> None:
        if self._is_counting:
            self._is_counting = False
            self._counting.close()
            self._cleaning.begin(Start())
        self._cleaning.show(progress)


def _print(summary: Summary) -> None:
    """Print the table and a summary of the documents."""
    rows: list[tuple[str, ...]] = [("benchmark", "items", "testable", "contaminated", "documents")]
    rows += [tuple(printable(value) if isinstance(value, str) else f"{value:,}" for value in row.values())
             for row in summary.table()]  # fmt: skip
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        click.echo("  ".join(cells))
    done = "already complete: " if summary.is_complete_already else ""
    click.echo(
        f"{done}{summary.documents_affected:,} of {count(summary.documents_read, 'document')} affected,"
        f" {summary.documents_written:,} written", err=True,
    )  # fmt: skip
