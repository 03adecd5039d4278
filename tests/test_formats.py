"""The tables of input formats and compressions: one row adds a format."""

from __future__ import annotations

import codecs
import gzip
from pathlib import Path

import commands

MADE_UP = """
import io
from pyunitok.corpus.compressions import COMPRESSIONS, Compression
from pyunitok.corpus.formats import FORMATS, Format
from pyunitok.corpus.readahead import Streamed
from pyunitok.corpus.text import TextReader

class Changed:
    def __init__(self, stream, change):
        self.name, self._stream, self._change = stream.name, stream, change
        self.compressed_position, self.close = stream.compressed_position, stream.close

    def readinto(self, buffer):
        n = self._stream.readinto(buffer)
        buffer[:n] = self._change(bytes(buffer[:n]))
        return n

CAPITALS, LETTERS = bytes(range(65, 91)), bytes(range(97, 123))
ROTATED = bytes.maketrans(CAPITALS + LETTERS, CAPITALS[13:] + CAPITALS[:13] + LETTERS[13:] + LETTERS[:13])
FORMATS["rot13"] = Format("rot13", "ROT13", (".rot13",), lambda stream, source, reading, start, check_start, _:
    TextReader(Changed(stream, lambda text: text.translate(ROTATED)), reading.options.separator, reading.split, start))
COMPRESSIONS["swapped"] = Compression("swapped", "swapped", lambda raw, *_:
    Streamed(Changed(raw, bytes.swapcase)), (".swap",))

from pyunitok.cli import main
main()
"""
TEXT = "A short text\nof Two lines\n"


def test_one_row_adds_a_format_or_a_compression(tmp_path: Path) -> None:
    rotated = codecs.encode(TEXT, "rot13")
    (tmp_path / "a.rot13").write_text(rotated)
    (tmp_path / "b.rot13.gz").write_bytes(gzip.compress(rotated.encode()))
    (tmp_path / "c.rot13.swap").write_text(rotated.swapcase())
    (tmp_path / "d").write_text(rotated)

    def run(*arguments: str) -> str:
        done = commands.python(tmp_path, "-c", MADE_UP, *arguments, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    assert "reading a.rot13 as rot13 (its name ends in .rot13)" in run("tokenize", "a.rot13", "-o", "a.u16")
    assert run("detokenize", "a.u16", "-o", "-").startswith(TEXT)
    run("tokenize", "b.rot13.gz", "c.rot13.swap", "--doc", "line", "-o", "b.u16")
    assert run("detokenize", "b.u16", "-o", "-").startswith(TEXT * 2)
    run("tokenize", "d", "--input-format", "rot13", "-o", "d.u16")
    assert (tmp_path / "d.u16").read_bytes() == (tmp_path / "a.u16").read_bytes()
    assert "auto|text|jsonl|parquet|rot13" in run("tokenize", "--help")
    assert "rot13" in run("inspect", "a.u16")
