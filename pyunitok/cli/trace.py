"""Implements the `trace` command."""

from __future__ import annotations

import sys
from typing import Any

import click

from pyunitok.cli.arguments import model_override_option
from pyunitok.cli.search import as_text
from pyunitok.errors import count, printable
from pyunitok.index.opened import open_index
from pyunitok.index.trace import SNIPPET, Trace, as_json
from pyunitok.index.trace import trace as traced


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False))
@click.argument("file", metavar="FILE", type=click.File("rb"))
@click.option(
    "--span-bytes", type=click.IntRange(1), default=24, show_default=True, help="Minimum length of a span in bytes."
)
@click.option("--part-words", is_flag=True, help="Allow spans to begin and end inside a word.")
@click.option(
    "--normalize", is_flag=True,
    help="Compare words, ignoring case and everything between words. Requires index --words.",
)
@click.option(
    "--max-spans", metavar="N", type=click.IntRange(0),
    help="Keep the N rarest spans. Default: a twentieth of the tokens of FILE, at least 10.",
)  # fmt: skip
@click.option(
    "--max-documents", type=click.IntRange(0), default=10, show_default=True, help="Documents shown for each span."
)
@click.option(
    "--context", type=click.IntRange(0), default=250, show_default=True,
    help="With --json: characters on either side of a span.",
)  # fmt: skip
@click.option("--seed", type=int, default=42, show_default=True, help="Seed for selecting documents.")
@click.option("--json", "as_json_", is_flag=True, help="Write JSON with the field names of OLMoTrace.")
@model_override_option
def trace(
    folder: str, file: Any, span_bytes: int, part_words: bool, normalize: bool, max_spans: int | None,
    max_documents: int, context: int, seed: int, as_json_: bool, model: Any,
) -> None:  # fmt: skip
    """Show which parts of FILE also occur in an index, and in which documents.

    FILE is a text, such as the answer of a language model; - is stdin. Spans are as long as possible and match byte for
    byte. The rarest spans are shown. A match does not prove that the text comes from that document.

    \b
    Examples:
      pyunitok trace idx answer.txt
      pyunitok trace idx - --json < answer.txt
      pyunitok trace idx answer.txt --normalize
    """
    if part_words and normalize:
        raise click.UsageError("--normalize cannot be combined with --part-words")
    index = open_index(folder, model=model)
    found = traced(
        index, file.read(), min_bytes=span_bytes, whole_words=not part_words, max_spans=max_spans,
        max_documents=max_documents, context=context if as_json_ else SNIPPET, seed=seed, normalize=normalize,
    )  # fmt: skip
    if as_json_:
        click.echo(as_text(as_json(index, found), indent=1))
        return
    _show(index, found)
    sys.stdout.flush()
    kept = "" if found.n_found == len(found.spans) else f"; the rarest {len(found.spans)} are shown"
    doubt = "; some may be missing or too short" if found.approx else ""
    click.echo(f"{count(found.n_found, 'span')}{kept}{doubt}", err=True)


def _show(index: Any, found: Trace) -> None:
    for span in found.spans:
        times = f"{'at least ' if span.approx else ''}{count(span.count, 'occurrence')}"
        click.echo(f"bytes {span.begin}-{span.end}, {times}: {_flat(span.text.decode('utf-8', 'backslashreplace'))}")
        for line in span.lines:
            source = index.source(line.hit.document) or ""
            around = f"{line.before}[{line.match}]{line.after}"
            click.echo(f"    {line.hit.document}:{line.hit.begin} {printable(source)}  …{_flat(around)}…")


def _flat(text: str) -> str:
    return printable(text.replace("\n", "⏎"))
