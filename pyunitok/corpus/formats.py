"""Contains the table of input formats. To add one, write a module and add a row; no other code compares their names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyunitok.corpus import jsonl, parquet
from pyunitok.corpus.block import DocumentReader
from pyunitok.corpus.jsonl import JsonlReader
from pyunitok.corpus.parquet import ParquetReader
from pyunitok.corpus.parquet_rows import ParquetRewriter
from pyunitok.corpus.rewriting import JsonlRewriter, Rewriter, TextRewriter
from pyunitok.corpus.text import TextReader


@dataclass(frozen=True)
class Format:
    """A file format for documents.

    name          the name in manifests and for --input-format
    title         the name in messages
    suffixes      file name suffixes, ignoring the suffix of a compression
    reader        (opened, source, reading, start, check_start, budget_bytes) → reader of a ByteStream or, if
                  `seekable`, of a file. check_start(bytes) rejects files that are not text; budget_bytes is the memory
                  budget for seekable files
    magics        first bytes that identify the format; empty for text formats
    sniff         (first line, text_key) → whether the file has this format, and why or why not
    has_text_key  whether --text-key applies; if not, the separator (--doc) applies
    seekable      the reader requires the stored file, not a stream, and also has compressed_position() and close();
                  such files can be neither compressed nor divided
    separator     the separator between documents, if the format defines one
    n_buffers     block-sized buffers per reading thread
    needs         (an optional module, what to do if it is missing)
    rewriter      (file if `seekable`, source, reading options, name of the field for marks, or None) → Rewriter;
                  None: files in this format cannot be written
    has_fields    whether documents have fields besides the text; edits can add one
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    reader: Callable[..., DocumentReader]
    rewriter: Callable[..., Rewriter] | None = None
    magics: tuple[bytes, ...] = ()
    sniff: Callable[[bytes, str], tuple[bool, str]] | None = None
    has_text_key: bool = False
    seekable: bool = False
    separator: bytes | None = None
    n_buffers: int = 1
    needs: tuple[str, str] | None = None
    has_fields: bool = True


TEXT = Format(
    "text", "text",
    (".txt", ".text", ".md", ".rst", ".tex", ".log", ".csv", ".tsv", ".html", ".htm", ".xml"),
    lambda stream, source, reading, start, check_start, _: TextReader(
        stream, reading.options.separator, reading.split, start,
        metadata=reading.options.metadata, check_start=check_start,
    ),
    rewriter=lambda _file, source, options, _field: TextRewriter(options.separator, source.compression),
    has_fields=False,
)  # fmt: skip
FORMATS = {
    row.name: row
    for row in (
        TEXT,
        Format(
            "jsonl", "JSON lines", (".jsonl", ".ndjson"),
            lambda stream, source, reading, start, _check_start, _: JsonlReader(
                stream, reading.options.text_key, reading.split, reading.options.max_line_bytes, start,
                skip=reading.options.skip_bad, metadata=reading.options.metadata,
            ),
            rewriter=lambda _, source, options, field: JsonlRewriter(
                options.text_key, options.max_line_bytes, source.compression, field
            ),
            sniff=jsonl.sniff, has_text_key=True, separator=b"\n", n_buffers=2,
        ),
        Format(
            "parquet", "Parquet", (".parquet", ".pq"),
            lambda file, source, reading, start, _check_start, budget_bytes: ParquetReader(
                file, source.name, reading.options.text_key, reading.split, start, skip=reading.options.skip_bad,
                metadata=reading.options.metadata, whole_rows=reading.whole_rows, budget_bytes=budget_bytes,
                max_memory_bytes=reading.options.max_memory_bytes,
            ),
            rewriter=lambda file, source, options, field: ParquetRewriter(file, source.name, options.text_key, field),
            magics=(b"PAR1", b"PARE"),  # PARE: the footer is encrypted
            has_text_key=True, seekable=True, needs=("pyarrow.parquet", parquet.NEEDS_PYARROW),
        ),
    )
}  # fmt: skip


def by_suffix(suffix: str) -> Format | None:
    return next((row for row in FORMATS.values() if suffix in row.suffixes), None)


def by_magic(start: bytes) -> Format | None:
    return next((row for row in FORMATS.values() if start.startswith(row.magics)), None)


def by_first_line(start: bytes, text_key: str) -> tuple[Format, str]:
    """The format of a file with this first line, and the reason; text by default."""
    if row := by_magic(start):
        return row, f"it begins with {start[:4].decode('latin-1')}"
    why = ""
    for row in FORMATS.values():
        if row.sniff is not None:
            matches, why = row.sniff(start, text_key)
            if matches:
                return row, why
    return TEXT, why
