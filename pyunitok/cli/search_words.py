"""Answers the word queries of the `search` command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from pyunitok.cli.search_fields import FIELD_QUERIES, answer_fields, is_about_fields
from pyunitok.cli.search_statistics import STATISTICS, answer_statistics
from pyunitok.index import word_answers
from pyunitok.index.word_query import WordOptions

SECTION = (
    "ignore-case whole-words ignore-accents wildcards regex next-words previous-words word-list word-ngrams"
)
MODES = ("ignore_case", "whole_words", "ignore_accents", "wildcards", "regex")
OPTIONS = (
    click.option("-i", "--ignore-case", is_flag=True, help="Find the words of TEXT, ignoring case."),
    click.option(
        "-w", "--whole-words", is_flag=True,
        help="Find the words of TEXT as complete words, whatever separates them. With --spans: begin and end spans at "
        "word boundaries.",
    ),
    click.option("--ignore-accents", is_flag=True, help="Find the words of TEXT, ignoring accents."),
    click.option("--wildcards", is_flag=True, help="In the words of TEXT, * matches any text and ? any character."),
    click.option("--regex", is_flag=True, help="Each item of TEXT is a regular expression for a complete word."),
    click.option("--next-words", is_flag=True, help="List the words that follow TEXT."),
    click.option("--previous-words", is_flag=True, help="List the words that precede TEXT."),
    click.option("--word-list", is_flag=True, help="List the most frequent words, or those that match TEXT."),
    click.option(
        "--word-ngrams", metavar="N", type=click.IntRange(1, 16), help="List the most frequent sequences of N words."
    ),
)  # fmt: skip


def word_options(command: Any) -> Any:
    """Adds OPTIONS to a command."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def is_about_words(options: dict[str, Any], query: str) -> bool:
    """Whether a query is about words, because it always is or because an option for words was given."""
    return query in ONLY_WORDS or (query != "spans" and any(options[name] for name in MODES))


def answer_words(index: Any, query: str, text: str | None, options: dict[str, Any]) -> dict[str, Any]:
    """The answer, as JSON, to a query about words."""
    if query not in WORD_ANSWERS and query not in STATISTICS and query not in FIELD_QUERIES:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in MODES if options[name])
        raise click.UsageError(f"--{query.replace('_', '-')} cannot be combined with {flags}")
    if options["is_ids"] or options["escapes"]:
        raise click.UsageError("--ids and --escapes cannot be combined with queries about words")
    chosen = WordOptions(**{name: options[name] for name in MODES if name != "whole_words"})
    if query in STATISTICS and not (options["where"] and query != "keyness"):
        return answer_statistics(index, query, text, chosen, options)
    if is_about_fields(options, query):
        return answer_fields(index, query, text, chosen, options)
    return WORD_ANSWERS[query](index, text, chosen, options)


def _hits(index: Any, text: str, chosen: WordOptions, options: dict[str, Any]) -> dict[str, Any]:
    keys = ("limit", "offset", "sort", "seed", "before", "after")
    return word_answers.hits(index, text, chosen, **{key: options[key] for key in keys})


def _list(name: str) -> Callable[..., dict[str, Any]]:
    def answer(index: Any, text: str | None, chosen: WordOptions, options: dict[str, Any]) -> dict[str, Any]:
        return word_answers.lists(index, name, text, chosen, options["offset"], options["limit"])

    return answer


def _documents(index: Any, text: str, chosen: WordOptions, options: dict[str, Any]) -> dict[str, Any]:
    return word_answers.documents(index, text, chosen, options["offset"], options["limit"])


def _by_source(index: Any, text: str, chosen: WordOptions, options: dict[str, Any]) -> dict[str, Any]:
    return word_answers.by_source(index, text, chosen, options["offset"], options["limit"])


def _count(index: Any, text: str, chosen: WordOptions, _: dict[str, Any]) -> dict[str, Any]:
    return word_answers.count(index, text, chosen)


def _ngrams(index: Any, _: Any, chosen: WordOptions, options: dict[str, Any]) -> dict[str, Any]:
    limit = options["offset"] + options["limit"]
    return word_answers.ngrams(index, options["word_ngrams"], options["min_count"], options["offset"], limit)


ONLY_WORDS = ("next_words", "previous_words", "word_list", "word_ngrams", *STATISTICS)
WORD_ANSWERS: dict[str, Callable[..., dict[str, Any]]] = {
    "hits": _hits, "count": _count, "documents": _documents, "by_source": _by_source,
    "next_words": _list("next_words"), "previous_words": _list("previous_words"), "word_list": _list("word_list"),
    "word_ngrams": _ngrams,
}  # fmt: skip
