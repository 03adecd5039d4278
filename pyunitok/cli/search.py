"""Implements the `search` command."""

from __future__ import annotations

import csv
import json
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from pyunitok.cli.arguments import model_override_option, parse_separator
from pyunitok.cli.search_fields import FIELD_QUERIES, FIELD_SECTION, answer_fields, field_options, is_about_fields
from pyunitok.cli.search_statistics import STATISTIC_SECTION, statistic_options
from pyunitok.cli.search_words import ONLY_WORDS, SECTION, answer_words, is_about_words, word_options
from pyunitok.cli.sections import Sectioned
from pyunitok.errors import UnitokError, printable
from pyunitok.errors import count as counted
from pyunitok.index import text_answers
from pyunitok.index.concordance import Line, aligned, as_record, concordance, spreadsheet_cell
from pyunitok.index.hit_metadata import metadata_of, rows_of_hits
from pyunitok.index.hits import Hit
from pyunitok.index.opened import open_index
from pyunitok.vocab.utf8 import readable

WITHOUT_TEXT = ("all_of", "ngrams", "overlap", "spans", "word_ngrams", "keyness")
FILE = click.Path(exists=True, dir_okay=False)
SECTIONS = {
    "Other queries with TEXT": "count documents by-source next previous prob infgram infgram-next sample",
    "Queries without TEXT": "all-of within ngrams min-count overlap window unit spans span-bytes normalize",
    "Words (requires index --words)": SECTION,
    "Fields (requires index --fields)": FIELD_SECTION,
    "Word statistics": STATISTIC_SECTION,
}


class _Quoting(Sectioned):
    """Suggests quotes if TEXT was passed as several arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            if not error.message.startswith("Got unexpected extra argument"):
                raise
            words = [arg for arg in given if not arg.startswith("-")]
            text = f"pyunitok search {shlex.quote(words[0])} {shlex.quote(' '.join(words[1:]))}"
            raise click.UsageError(f"TEXT must be one argument; quote it: {text}", ctx) from None


@click.command(cls=_Quoting, sections=SECTIONS)
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False))
@click.argument("text", required=False)
@click.option("--count", is_flag=True, help="Print only the number of occurrences of TEXT.")
@click.option("--documents", is_flag=True, help="List the documents that contain TEXT, most frequent first.")
@click.option("--by-source", is_flag=True, help="Count the occurrences of TEXT in each input file.")
@click.option("--next", "next_", is_flag=True, help="List the tokens that follow TEXT.")
@click.option("--previous", is_flag=True, help="List the tokens that precede TEXT.")
@click.option("--prob", metavar="TOKEN", type=int, help="Show the count and probability of this id after TEXT.")
@click.option(
    "--infgram", metavar="TOKEN", type=int, help="Like --prob, but for the longest suffix of TEXT in the index."
)
@click.option("--infgram-next", is_flag=True, help="Like --next, but for the longest suffix of TEXT in the index.")
@click.option(
    "--all-of", metavar="A|B", multiple=True, help="Count places that match A or B. May be repeated; all must match."
)
@click.option("--within", type=click.IntRange(0), help="With --all-of: maximum distance between matches, in tokens.")
@click.option("--ngrams", metavar="N", type=click.IntRange(1), help="List the most frequent sequences of N tokens.")
@click.option(
    "--min-count", type=click.IntRange(1), default=2, show_default=True,
    help="Minimum count in lists of n-grams, collocations and keywords.",
)
@click.option("--sample", metavar="N", type=click.IntRange(1), help="Continue TEXT with N sampled tokens.")
@click.option(
    "--overlap", metavar="FILE", type=FILE, help="For each line of FILE, count the windows that occur in the index."
)
@click.option("--window", type=click.IntRange(1), default=13, show_default=True, help="With --overlap: window size.")
@click.option(
    "--unit", type=click.Choice(["words", "bytes", "tokens"]), default="words", show_default=True,
    help="With --overlap: unit of --window.",
)
@click.option("--spans", metavar="FILE", type=FILE, help="List the longest spans of FILE that occur in the index.")
@click.option(
    "--span-bytes", type=click.IntRange(1), default=24, show_default=True, help="With --spans: minimum length in bytes."
)
@click.option(
    "--normalize", is_flag=True,
    help="With --overlap and --spans: compare words, ignoring case and everything between words. Requires index "
    "--words.",
)
@word_options
@field_options
@statistic_options
@click.option("--limit", type=click.IntRange(0), default=20, show_default=True, help="Maximum number of results.")
@click.option("--offset", type=click.IntRange(0), default=0, help="Number of results to skip.")
@click.option(
    "--sort", type=click.Choice(["rank", "text", "random", "R1", "L1"]), default="rank", show_default=True,
    help="Order of hits: index order, text order, random, or by the word after (R1) or before (L1); R1 and L1 sort only"
    " the first 10,000 hits.",
)
@click.option("--seed", type=int, default=0, help="Seed for --sort random and --sample.")
@click.option("--before", type=click.IntRange(0), default=40, show_default=True, help="Characters shown before a hit.")
@click.option("--after", type=click.IntRange(0), default=40, show_default=True, help="Characters shown after a hit.")
@click.option("--ids", "is_ids", is_flag=True, help="Read TEXT as token ids: '13866 17799' is ' of the'.")
@click.option("--escapes", is_flag=True, help=r"Interpret \n, \t, \\ and \xNN in TEXT.")
@click.option("--queries", metavar="FILE", type=FILE, help="Read one TEXT per line of FILE, and write JSON lines.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
@click.option("--csv", "as_csv", is_flag=True, help="Write comma-separated values with a header line.")
@model_override_option
def search(
    folder: str, text: str | None, queries: str | None, as_json: bool, as_csv: bool, model: Any, **options: Any
) -> None:  # fmt: skip
    """Count and find text in an index, regardless of token boundaries.

    \b
    Examples:
      pyunitok search idx "first train"
      pyunitok search idx "the " --count
      pyunitok search idx " of " --next --limit 10
      pyunitok search idx "fox" --sort L1 --json
      pyunitok search idx --overlap test_set.txt --window 13 --unit words
      pyunitok search idx --queries phrases.txt --count
      pyunitok search idx -i "the [0-3] fox|dog"
      pyunitok search idx --wildcards "walk*" --word-list
      pyunitok search idx "fox" --where lang=de --where "year>=1990"
      pyunitok search idx -i "fox" --by year
      pyunitok search idx -i "fox" --collocations --near 3
    """
    options["next"] = options.pop("next_")
    if options["within"] is not None and not options["all_of"]:
        raise click.UsageError("--within requires --all-of")
    if options["all_of"]:
        options["count"] = False  # --all-of always counts
    given = [name for name in (*ANSWERS, *ONLY_WORDS, *FIELD_QUERIES) if options.get(name) not in (False, None, ())]
    flags = [f"--{name.replace('_', '-')}" for name in given] + ["--json"] * as_json + ["--csv"] * as_csv
    if len(given) > 1 or (as_json and as_csv):
        first, second = flags[:2] if len(given) > 1 else flags[-2:]
        raise click.UsageError(f"{second} cannot be combined with {first}")
    query = given[0] if given else "hits"
    if queries and (text is not None or as_csv or query in WITHOUT_TEXT):
        raise click.UsageError("--queries cannot be combined with TEXT, --csv or a query without TEXT")
    if (text is None and not queries) != (query in WITHOUT_TEXT) and query != "word_list":
        raise click.UsageError("TEXT is missing" if text is None else f"{flags[0]} does not accept TEXT")
    if options["normalize"] and (query not in ("overlap", "spans") or options["unit"] != "words"):
        raise click.UsageError("--normalize requires --overlap with --unit words, or --spans")
    index = open_index(folder, model=model)
    if queries:
        for number, line in enumerate(Path(queries).read_bytes().splitlines(), 1):
            try:
                answer = _answer(index, query, line.decode("utf-8", "surrogateescape"), options)
            except UnitokError as error:
                raise type(error)(f"{queries}: line {number}: {error}") from error
            click.echo(as_text({"query": readable(line), **answer}))
        return
    answer = _answer(index, query, text, options)
    if as_json:
        click.echo(as_text(answer, indent=1))
    elif as_csv:
        _write_csv(answer)
    elif query == "hits":
        _show_hits(answer, options["before"])
    else:
        _show(answer)


def _answer(index: Any, query: str, text: str | None, options: dict[str, Any]) -> dict[str, Any]:
    if is_about_words(options, query):
        return answer_words(index, query, text, options)
    query_text = None if text is None else _parse(text, options)
    if is_about_fields(options, query):
        return answer_fields(index, query, query_text, None, options)
    return ANSWERS[query](index, query_text, options)


def _parse(text: str, options: dict[str, Any]) -> Any:
    """Parse TEXT into bytes, or into ids with --ids."""
    if options["is_ids"]:
        words = text.replace(",", " ").split()
        if not all(word.isascii() and word.isdecimal() for word in words):
            raise click.UsageError(f"--ids requires a list of ids, not {text!r}")
        return [int(word) for word in words]
    data = text.encode("utf-8", "surrogateescape")
    if options["escapes"]:
        data = (parse_separator(text) if text not in ("file", "line") else data) or b""
    return data


# ------------------------------------------------------------------------------------------------- answers as JSON ---


def _hits(index: Any, query: Any, options: dict[str, Any]) -> dict[str, Any]:
    keys = ("limit", "offset", "sort", "seed", "before", "after")
    lines, total, approx = concordance(index, query, **{key: options[key] for key in keys})
    answer: dict[str, Any] = {"count": total, "approx": approx, "hits": [as_record(index, line) for line in lines]}
    metadata = metadata_of(index, (line.hit.document for line in lines))
    return answer | ({"metadata": metadata} if metadata else {})


def _count(index: Any, query: Any, _: dict[str, Any]) -> dict[str, Any]:
    if isinstance(query, bytes):
        count = index.count(query)
        return {"count": int(count), "approx": count.approx}
    return {"count": index.count_tokens(query), "approx": False}


def _page(rows: list[Any], options: dict[str, Any]) -> list[Any]:
    return rows[options["offset"] : options["offset"] + options["limit"]]


def _documents(index: Any, query: Any, options: dict[str, Any]) -> dict[str, Any]:
    found = index.documents(_only_text(query)).most_frequent()
    pairs = _page(list(zip(found.documents.tolist(), found.counts.tolist(), strict=True)), options)
    rows = [{"document": d, "count": n, "source": index.source(d)} for d, n in pairs]
    answer = {"count": int(found.counts.sum()), "approx": found.approx, "n_documents": found.n_documents}
    if found.n_sampled is not None:
        answer |= {"count": int(index.count(query)), "sampled": found.n_sampled}
    return answer | {"documents": rows}


def _by_source(index: Any, query: Any, options: dict[str, Any]) -> dict[str, Any]:
    found = index.by_source(_only_text(query))
    rows = [{"source": source.path, "count": source.hits, "documents": source.documents} for source in found]
    answer = {"count": sum(source.hits for source in found), "approx": found.approx}
    n_sampled = index.sample_size(answer["count"])
    return answer | ({} if n_sampled is None else {"sampled": n_sampled}) | {"sources": _page(rows, options)}


def _only_text(query: Any) -> bytes:
    if not isinstance(query, bytes):
        raise click.UsageError("--ids cannot be combined with --documents or --by-source")
    return query


def _neighbours(name: str) -> Callable[[Any, Any, dict[str, Any]], dict[str, Any]]:
    def answer(index: Any, query: Any, options: dict[str, Any]) -> dict[str, Any]:
        found = getattr(index, name)(query)
        return {"count": found.total, "approx": found.approx, name: _page(_shares(found), options)}

    return answer


def _infgram_next(index: Any, query: Any, options: dict[str, Any]) -> dict[str, Any]:
    n, found = index.infgram_next(query)
    rows = _page(_shares(found), options)
    return {"context": n, "count": found.total, "approx": found.approx, "infgram_next": rows}


def _shares(found: Any) -> list[dict[str, Any]]:
    """Convert a Distribution to rows."""
    ids = [None] * len(found) if found.ids is None else found.ids.tolist()
    rows: list[dict[str, Any]] = []
    for id_, text, count in zip(ids, found.texts, found.counts.tolist(), strict=True):
        row = {"text": readable(text), "count": count, "share": count / found.total}
        rows.append(row if id_ is None else {"id": id_, **row})
    return rows


def _probability(name: str) -> Callable[[Any, Any, dict[str, Any]], dict[str, Any]]:
    def answer(index: Any, query: Any, options: dict[str, Any]) -> dict[str, Any]:
        found = getattr(index, "prob" if name == "prob" else "infgram_prob")(query, options[name])
        p = found.p if found.total else None
        return {"p": p, "count": found.count, "total": found.total, "context": found.context}

    return answer


def _all_of(index: Any, _: Any, options: dict[str, Any]) -> dict[str, Any]:
    clauses = [[_parse(term, options) for term in clause.split("|")] for clause in options["all_of"]]
    return text_answers.all_of(index, clauses, options["within"])


def _ngrams(index: Any, _: Any, options: dict[str, Any]) -> dict[str, Any]:
    return text_answers.ngrams(index, options["ngrams"], options["min_count"], options["offset"], options["limit"])


def _sample(index: Any, query: Any, options: dict[str, Any]) -> dict[str, Any]:
    ids = index.sample(query, options["sample"], seed=options["seed"]).tolist()
    return {"text": readable(b"".join(map(index.tables.text_of, ids))), "ids": ids}


def _overlap(index: Any, _: Any, options: dict[str, Any]) -> dict[str, Any]:
    lines = Path(options["overlap"]).read_bytes().splitlines()
    chosen = (options["window"], options["unit"], options["normalize"])
    return text_answers.overlap(index, lines, *chosen)


def _spans(index: Any, _: Any, options: dict[str, Any]) -> dict[str, Any]:
    text = Path(options["spans"]).read_bytes()
    chosen = (options["span_bytes"], options["whole_words"], options["normalize"], options["offset"], options["limit"])
    return text_answers.spans(index, text, *chosen)


def as_text(answer: dict[str, Any], indent: int | None = None) -> str:
    """Dump as JSON. Lone surrogates, which metadata can contain, are escaped because UTF-8 cannot encode them."""
    text = json.dumps(answer, ensure_ascii=False, indent=indent)
    return re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text)


ANSWERS: dict[str, Callable[[Any, Any, dict[str, Any]], dict[str, Any]]] = {
    "hits": _hits, "count": _count, "documents": _documents, "by_source": _by_source, "next": _neighbours("next"),
    "previous": _neighbours("previous"), "prob": _probability("prob"), "infgram": _probability("infgram"),
    "infgram_next": _infgram_next, "all_of": _all_of, "ngrams": _ngrams, "sample": _sample, "overlap": _overlap,
    "spans": _spans,
}  # fmt: skip


# ----------------------------------------------------------------------------------------------------------- output ---


def _rows(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the table in an answer, or the answer as a single row if it has no table."""
    if "hits" in answer:
        return rows_of_hits(answer)
    tables = [value for value in answer.values() if isinstance(value, list) and all(isinstance(v, dict) for v in value)]
    return tables[0] if tables else [answer]


# The CSV headers of empty tables.
_COLUMNS: dict[str, tuple[str, ...]] = {
    "hits": ("document", "begin", "end", "source", "before", "match", "after"),
    "documents": ("document", "count", "source"), "sources": ("source", "count", "documents"),
    "next": ("text", "count", "share"), "previous": ("text", "count", "share"),
    "infgram_next": ("id", "text", "count", "share"), "ngrams": ("text", "count", "ids"),
    "overlap": ("line", "short", "windows", "found", "share", "most_frequent", "document"),
    "spans": ("begin", "end", "count", "document", "source", "text"),
    **dict.fromkeys(ONLY_WORDS, ("text", "count", "share")),
    "collocations": ("text", "count"), "keyness": ("text", "count"), "parts": ("part", "words", "count"),
    "groups": ("value", "count", "documents", "words", "per_million"),
    "facets": ("field", "value", "count", "documents"),
}  # fmt: skip


def _write_csv(answer: dict[str, Any]) -> None:
    rows = _rows(answer)
    # Rows have different keys if only some documents have metadata.
    columns = list(dict.fromkeys(key for row in rows for key in row))
    out = csv.DictWriter(sys.stdout, columns or _COLUMNS[list(answer)[-1]], lineterminator="\n")
    out.writeheader()
    for row in rows:
        out.writerow({key: spreadsheet_cell(value) for key, value in row.items()})


def _amount(answer: dict[str, Any]) -> str:
    n, sampled = answer["count"], answer.get("sampled")
    text = f"{'at least ' if answer['approx'] and not sampled else ''}{n:,} occurrence{'s' * (n != 1)}"
    if "n_documents" in answer:
        text += f" in {'about ' if sampled else ''}{counted(answer['n_documents'], 'document')}"
    return text + (f"; estimated from {sampled:,} occurrences" if sampled else "")


def _show_hits(answer: dict[str, Any], before: int) -> None:
    lines = [
        Line(Hit(0, 0, 0, hit["document"], hit["begin"], hit["end"]), hit["before"], hit["match"], hit["after"])
        for hit in answer["hits"]
    ]
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for place, left, match, right in aligned(lines, before, width):
        click.echo(f"{click.style(place, dim=True)}  {left}{click.style(match, fg='red', bold=True)}{right}")
    click.echo(_amount(answer), err=True)


def _show(answer: dict[str, Any]) -> None:
    rows = _rows(answer)
    if rows and rows[0] is answer:
        if set(answer) == {"count", "approx"}:
            click.echo(f"{'at least ' if answer['approx'] else ''}{answer['count']}")
            return
        width = max(map(len, answer))
        for name, value in answer.items():
            click.echo(f"{name:<{width}}  {_cell(value)}")
        return
    table = [list(rows[0]), *([_cell(value) for value in row.values()] for row in rows)] if rows else []
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    if "count" in answer:
        click.echo(_amount(answer), err=True)
    if "lines_short" in answer:
        click.echo(_overlap_summary(answer), err=True)


def _overlap_summary(answer: dict[str, Any]) -> str:
    window, n_short = f"{answer['window']} {answer['unit']}", answer["lines_short"]
    n_found = answer["lines_found"]
    share = "shares" if n_found == 1 else "share"
    summary = f"{n_found:,} of {counted(answer['lines'], 'line')} {share} {window} with the corpus"
    if n_short:
        summary += f"; skipped {counted(n_short, 'line')} shorter than {window} (use a smaller --window)"
    if answer["approx"]:
        summary += "; some searches reached the work limit, so counts are lower bounds"
    return summary


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    if isinstance(value, list):
        return " ".join(map(str, value))
    if value is None:
        return "-"
    return printable(repr(value) if isinstance(value, str) and value != value.strip() else value)
