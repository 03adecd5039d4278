"""Answers the document-field queries of the `search` command."""

from __future__ import annotations

from typing import Any

import click

from pyunitok.index import field_answers
from pyunitok.index.word_query import WordOptions

FIELD_SECTION = "where by facets"
FIELD_QUERIES = ("by", "facets")
FILTERED = ("hits", "count", "documents", *FIELD_QUERIES)
OPTIONS = (
    click.option(
        "--where", metavar="CONDITION", multiple=True,
        help="Search only documents that meet this condition, such as lang=de or 'year>=1990'. May be repeated; all"
        " conditions must hold.",
    ),
    click.option(
        "--by", metavar="FIELD", help="Count hits per value of FIELD (@file: per input file), also per million words."
    ),
    click.option("--facets", is_flag=True, help="List the most frequent values of all stored fields among the hits."),
)  # fmt: skip


def field_options(command: Any) -> Any:
    """Adds OPTIONS to a command."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def is_about_fields(options: dict[str, Any], query: str) -> bool:
    return bool(options["where"]) or query in FIELD_QUERIES


def answer_fields(
    index: Any, query: str, text: Any, words: WordOptions | None, options: dict[str, Any]
) -> dict[str, Any]:
    """The answer, as JSON, to a query with --where, --by or --facets. `text` is str for words, otherwise bytes."""
    where, offset, limit = options["where"], options["offset"], options["limit"]
    if query not in FILTERED:
        raise click.UsageError(f"--where cannot be combined with --{query.replace('_', '-')}")
    if isinstance(text, list):
        raise click.UsageError("--ids cannot be combined with --where, --by or --facets")
    if query == "by":
        return field_answers.groups(index, text, options["by"], where, words)
    if query == "facets":
        return field_answers.most_frequent(index, text, (), where, words, limit)
    if query == "count":
        return field_answers.filtered_count(index, text, where, words)
    if query == "documents":
        return field_answers.filtered_documents(index, text, where, words, offset, limit)
    keys = ("limit", "offset", "sort", "seed", "before", "after")
    return field_answers.filtered_hits(index, text, where, words, **{key: options[key] for key in keys})
