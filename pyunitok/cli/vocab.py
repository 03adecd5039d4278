"""Implements the `vocab` command."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from pyunitok.cli.arguments import SIZE
from pyunitok.cli.progress import PhaseBar
from pyunitok.corpus import inputs
from pyunitok.corpus.reading import Reading, ReadingOptions
from pyunitok.corpus.sniff import NotTextError
from pyunitok.disk.reports import check_report, write_report
from pyunitok.errors import InputError, printable
from pyunitok.tokens.corpus_counts import FileCount, count_files
from pyunitok.tokens.model import open_model
from pyunitok.train.editing import edit_vocabulary
from pyunitok.vocab import lists
from pyunitok.vocab.diff import diff as compare
from pyunitok.vocab.listing import select
from pyunitok.vocab.lists import escape

SHOWN = 5  # number of pieces shown per line


class Vocab(click.Group):
    """Rewords errors that suggest --exclude or --input-format, because these commands lack those options."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except NotTextError as error:
            raise InputError(f"{error.plain}; remove it from the inputs") from None


@click.group(cls=Vocab)
def vocab() -> None:
    """Edit, compare and list vocabularies.

    \b
    Examples:
      pyunitok vocab edit rwkv-world -o mine.txt --add names.txt --add-emoji --remove-unused corpus/
      pyunitok vocab diff rwkv-world mine.txt
      pyunitok vocab list rwkv-world --longest 10
    """


json_option = click.option("--json", "json_path", metavar="FILE", help="Write the report to FILE as JSON; - is stdout.")


@vocab.command()
@click.argument("base", metavar="BASE")
@click.option("-o", "--out", metavar="OUT", help="NAME.txt (RWKV text), NAME.json (RWKV JSON) or NAME.utk (native).")
@click.option(
    "--to", type=click.Choice(["rwkv", "rwkv-json", "native"]),
    help="The format of OUT; by default, inferred from its name.",
)  # fmt: skip
@click.option("--add", "add", multiple=True, metavar="FILE", help="Add the pieces in FILE, one per line.")
@click.option("--add-emoji", is_flag=True, help="Add every emoji (requires the emoji package).")
@click.option("--add-kaomoji", is_flag=True, help="Add kaomoji (requires the kaomoji-dataset package, CC BY 4.0).")
@click.option("--max-kaomoji", type=click.IntRange(1), help="Maximum number of kaomoji; by default, all.")
@click.option("--add-words", multiple=True, metavar="CORPUS", help="Add words of CORPUS, a file or a folder.")
@click.option("--script", multiple=True, metavar="NAME", help="With --add-words: Latin, Cyrillic, Japanese, …")
@click.option(
    "--max", "max_words", type=click.IntRange(1), default=1000, show_default=True, help="Maximum number of words."
)
@click.option("--remove", multiple=True, metavar="FILE", help="Remove the pieces in FILE.")
@click.option("--remove-unused", multiple=True, metavar="CORPUS", help="Remove pieces that CORPUS never uses.")
@click.option("--max-id", type=click.IntRange(0), default=65535, show_default=True, help="Maximum id of new pieces.")
@click.option("--no-escapes", is_flag=True, help="Read backslashes in FILE literally.")
@click.option(
    "--text", "texts", multiple=True, metavar="FILE", help="Count the tokens of FILE before and after the changes."
)
@click.option("--text-key", default="text", show_default=True, help="JSONL, Parquet: the field with the text.")
@click.option("--threads", type=click.IntRange(1), help="Number of threads; by default, one per core.")
@click.option(
    "--max-memory", type=SIZE, default="2G", show_default=True, help="Memory for word counts; more counts go to disk."
)
@click.option("--dry-run", is_flag=True, help="Print the report without writing OUT.")
@click.option("--overwrite", is_flag=True, help="Replace OUT if it exists.")
@json_option
def edit(
    base: str, out: str | None, to: str | None, add: Sequence[str], add_emoji: bool, add_kaomoji: bool,
    max_kaomoji: int | None, remove: Sequence[str], no_escapes: bool, dry_run: bool, json_path: str | None,
    **options: Any,
) -> None:  # fmt: skip
    """Add and remove pieces of a greedy vocabulary.

    BASE is an RWKV World text or JSON file, a native file, or rwkv-world.

    Remaining pieces keep their ids. New pieces take unused ids in ascending order, then the ids of removed pieces.
    Pieces are added in this order: files, emoji, kaomoji, words. Single bytes and the end of document are never
    removed.

    Each line of FILE is a piece, including spaces. \\n \\t \\r \\0 \\\\ \\x80 \\u3042 are escapes as in Python; any
    other backslash is literal.

    \b
    Examples:
      pyunitok vocab edit rwkv-world -o mine.txt --add names.txt --text sample.txt
      pyunitok vocab edit rwkv-world -o ja.txt --remove-unused ja/ --add-words ja/ --script Japanese --max 5000
      pyunitok vocab edit rwkv-world --dry-run --add-emoji --add-kaomoji --max-kaomoji 500 --remove-unused corpus/
    """
    _check_json(json_path)
    if out is None and not dry_run:
        raise click.UsageError("OUT is missing; use -o OUT or --dry-run")
    additions = [lists.from_file(path, escapes=not no_escapes) for path in add]
    additions += [lists.emoji()] if add_emoji else []
    additions += [lists.kaomoji(max_kaomoji)] if add_kaomoji else []
    removals = [lists.from_file(path, escapes=not no_escapes) for path in remove]
    with PhaseBar() as bar:
        report = edit_vocabulary(
            base, None if dry_run else out, to=to, add=additions, remove=removals, progress=bar.show, **options
        )
    if _write_json(json_path, report.to_json()):
        return
    _show(_edit_rows(report.edited))
    _show_texts(report.texts)
    if not dry_run:
        click.echo(f"{'written':<16} {out}")


def _edit_rows(edited: Any) -> list[tuple[str, str]]:
    before, after = edited.n_before, len(edited.vocabulary.ids)
    rows = [("pieces", f"{before:,} before, {after:,} after; {edited.n_free:,} ids up to {edited.max_id:,} are free")]
    for origin in dict.fromkeys(origin for _, _, origin in edited.added):
        added = [(piece, id_) for piece, id_, where in edited.added if where == origin]
        pieces, ids = zip(*added, strict=True)
        rows.append(("added", f"{_sample(pieces)}, ids {_ids(ids)}: {origin}"))
    if edited.removed:
        rows.append(("removed", _sample([piece for piece, _ in edited.removed])))
    for name, what in (("existing", "already existed"), ("repeated", "listed twice"), ("no_room", "did not fit")):
        pairs = getattr(edited, name)
        for origin in dict.fromkeys(origin for _, origin in pairs):
            rows.append((what, f"{_sample([piece for piece, where in pairs if where == origin])}: {origin}"))
    for name, what in (("kept", "not removable"), ("wanted", "not removed"), ("not_found", "not found")):
        if pieces := getattr(edited, name):
            rows.append((what, _sample(pieces) + " (also listed to be added)" * (name == "wanted")))
    return rows


def _sample(pieces: Sequence[bytes]) -> str:
    shown = "  ".join(map(escape, pieces[:SHOWN]))
    return f"{len(pieces):,} ({shown}{'  …' if len(pieces) > SHOWN else ''})"


def _ids(ids: Sequence[int]) -> str:
    return str(ids[0]) if len(ids) == 1 else f"{min(ids)} to {max(ids)}"


def _show(rows: Sequence[tuple[str, str]]) -> None:
    for name, value in rows:
        click.echo(f"{name:<16} {printable(value)}")


def _show_texts(texts: Sequence[FileCount]) -> None:
    for text in texts:
        before, after = text.n_tokens
        change = f"{after - before:+,}, {(after - before) / before:+.2%}" if before else "empty"
        _show([("tokens", f"{before:,} before, {after:,} after ({change}): {text.name}")])


def _check_json(path: str | None) -> None:
    """Raise OutputError, before any work is done, if the report cannot be written."""
    if path and path != "-":
        check_report(Path(path))


def _write_json(path: str | None, values: Any) -> bool:
    """Write the report; return whether it went to stdout."""
    text = json.dumps(values, indent=1, ensure_ascii=False)
    if path == "-":
        click.echo(text)
    elif path:
        write_report(Path(path), text.encode() + b"\n")
    return path == "-"


@vocab.command()
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--text", "texts", multiple=True, metavar="FILE", help="Count the tokens of FILE with both models.")
@click.option("--text-key", default="text", show_default=True, help="JSONL, Parquet: the field with the text.")
@click.option("--threads", type=click.IntRange(1), help="Number of threads; by default, one per core.")
@click.option("--limit", type=click.IntRange(0), default=20, show_default=True, help="Lines per list; 0 means all.")
@json_option
def diff(
    a: str, b: str, texts: Sequence[str], text_key: str, threads: int | None, limit: int, json_path: str | None
) -> None:
    """Compare two models of any kind: pieces that only one has, and pieces whose ids differ.

    \b
    Example:
      pyunitok vocab diff rwkv-world mine.txt --text sample.txt
    """
    _check_json(json_path)
    models = [open_model(a), open_model(b)]
    found, counts = compare(models[0].pieces(), models[1].pieces()), list[Any]()
    if texts:
        sources = inputs.find(texts, text_key=text_key)
        with PhaseBar() as bar:
            reading = Reading(sources, ReadingOptions(text_key=text_key, threads=threads))
            counts = count_files(reading, models, lambda done, total: bar.show("texts", done, total))
    if _write_json(json_path, {**found.to_json(), "texts": [count.to_json() for count in counts]}):
        return
    numbers = f"{len(found.only_a):,} only in A, {len(found.only_b):,} only in B"
    _show([("pieces", f"{found.n_same:,} identical, {numbers}, {len(found.changed):,} with different ids")])
    for name, pairs in (("only in A", found.only_a), ("only in B", found.only_b)):
        _show_limited([(name, f"{id_:>6}  {escape(piece)}") for piece, id_ in pairs], limit)
    changed = [
        ("different id", f"{_joined(ids_a)} -> {_joined(ids_b)}  {escape(piece)}")
        for piece, ids_a, ids_b in found.changed
    ]
    _show_limited(changed, limit)
    _show_texts(counts)


def _joined(ids: Sequence[int]) -> str:
    return ",".join(map(str, ids))


def _show_limited(rows: Sequence[tuple[str, str]], limit: int) -> None:
    _show(rows[:limit] if limit else rows)
    if limit and len(rows) > limit:
        click.echo(f"{'':<16} and {len(rows) - limit:,} more; --limit and --json show them")


@vocab.command("list")
@click.argument("model", metavar="MODEL")
@click.option("--longest", type=click.IntRange(1), metavar="N", help="List the N longest pieces, longest first.")
@click.option("--regex", "pattern", metavar="PATTERN", help="List only pieces that contain a match.")
@click.option("--script", multiple=True, metavar="NAME", help="List only pieces with a character of this script.")
@click.option("--min-bytes", type=click.IntRange(1), default=1, help="List only pieces of at least this many bytes.")
@click.option("--not-utf8", is_flag=True, help="List only pieces that are not valid UTF-8.")
@click.option("--plain", is_flag=True, help="Print only the pieces, in the format of `vocab edit --add`.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def list_(model: str, plain: bool, as_json: bool, **options: Any) -> None:
    """List the id, the length in bytes and the text of each piece of a model.

    \b
    Examples:
      pyunitok vocab list rwkv-world --longest 10
      pyunitok vocab list rwkv-world --script Cyrillic --plain > cyrillic.txt
    """
    for id_, piece in select(open_model(model).pieces(), **options):
        if as_json:
            text = {"id": id_, "bytes": len(piece), "piece": escape(piece), "text": piece.decode("utf-8", "replace")}
            click.echo(json.dumps(text, ensure_ascii=False))
        elif plain:
            click.echo(escape(piece))
        else:
            click.echo(printable(f"{id_:>6} {len(piece):>4}  {escape(piece)}"))
