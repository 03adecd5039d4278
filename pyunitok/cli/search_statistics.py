"""Answers the queries of the `search` command for word statistics."""

from __future__ import annotations

from typing import Any

import click

from pyunitok.errors import LimitError
from pyunitok.index import statistic_answers
from pyunitok.index.statistics import MEASURES
from pyunitok.index.word_query import WordOptions
from pyunitok.index.word_statistics import KEYNESS

STATISTIC_SECTION = "collocations near keyness dispersion parts measure"
STATISTICS = ("collocations", "keyness", "dispersion")
OPTIONS = (
    click.option("--collocations", is_flag=True, help="List the words that occur near TEXT."),
    click.option(
        "--near", metavar="N", type=click.IntRange(1, 25), default=5, show_default=True,
        help="With --collocations: maximum distance in words on either side.",
    ),
    click.option(
        "--keyness", metavar="REFERENCE",
        help="List the words that are more frequent in the index than in REFERENCE: an index, or a condition on"
        " fields. With --where, only documents that meet its conditions are compared.",
    ),
    click.option("--dispersion", is_flag=True, help="Show how evenly TEXT is distributed over the corpus."),
    click.option(
        "--parts", metavar="N|FIELD", default="100", show_default=True,
        help="With --dispersion: the number of parts, or a field whose values are the parts.",
    ),
    click.option(
        "--measure", type=click.Choice([*MEASURES, *(name for name in KEYNESS if name not in MEASURES)]),
        help="How to rank --collocations (default: log_dice) or --keyness (default: log_likelihood).",
    ),
)  # fmt: skip


def statistic_options(command: Any) -> Any:
    """Adds OPTIONS to a command."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def answer_statistics(
    index: Any, query: str, text: str | None, chosen: WordOptions, options: dict[str, Any]
) -> dict[str, Any]:
    """The answer, as JSON, to one of the queries in STATISTICS."""
    order = (options["min_count"], options["offset"], options["limit"])
    if query == "dispersion":
        return statistic_answers.spread(index, text or "", chosen, options["parts"])
    if query == "collocations":
        window = (options["near"], options["near"], options["measure"] or "log_dice")
        return statistic_answers.collocates(index, text or "", chosen, *window, *order)
    reference = statistic_answers.reference(options["keyness"])
    try:
        measure = options["measure"] or "log_likelihood"
        return statistic_answers.keys(index, options["where"], reference, chosen, measure, *order)
    except LimitError as error:
        if "measure" not in str(error):
            raise
        raise click.UsageError(str(error)) from None
