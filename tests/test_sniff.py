"""Sniffing: compressed data with any suffix, files that are not text, and files skipped in directories."""

import bz2
import gzip
import io
import lzma
import os
import random
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
import streams
import zstandard

from pyunitok.corpus import stream
from pyunitok.corpus.inputs import find
from pyunitok.corpus.reading import InputBlocks, Reading
from pyunitok.corpus.sniff import share_invalid, why_not_text
from pyunitok.errors import InputError, InputWarning

TEXT = b"the quick brown fox jumps over the lazy dog\n" * 50
PACKED = {
    "zst": zstandard.compress(TEXT), "gz": gzip.compress(TEXT), "bz2": bz2.compress(TEXT), "xz": lzma.compress(TEXT)
}


def archive():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("word/document.xml", "<w>text</w>")
    return file.getvalue()


NOT_TEXT = {
    "a.docx": (archive(), "a ZIP archive"),
    "b.png": (b"\x89PNG\r\n\x1a\n" + bytes(100), "a .png file"),
    "picture": (b"\x89PNG\r\n\x1a\n" + bytes(100), "a PNG image"),
    "utf16.txt": ("text".encode("utf-16"), "UTF-16 text"),
    "utf16le.txt": (TEXT.decode().encode("utf-16-le"), "UTF-16 text, or numbers"),
    "utf16be.txt": (TEXT.decode().encode("utf-16-be"), "UTF-16 text, or numbers"),
    "random": (random.Random(1).randbytes(1000), "binary data"),
    "random.txt": (random.Random(2).randbytes(100_000), "binary data"),
    "ids": (np.arange(1000, dtype="<u2").tobytes(), "binary data"),
    "large ids": (np.random.default_rng(0).integers(0, 65536, 5000, np.uint16).tobytes(), "binary data"),
    "floats": (np.random.default_rng(0).random(1000, np.float32).tobytes(), "binary data"),
    "made.pdf.txt": (b"%PDF-1.7\n", "a PDF document"),
}
TEXTS = {
    "empty": b"",
    "ascii": TEXT,
    "latin-1": "é".encode("latin-1") * 100,
    "koi8": "съешь ещё этих мягких французских булок".encode("koi8-r") * 9,
    "shift-jis": "日本語の文章です。".encode("shift-jis") * 9,
    "gbk": "中文文本".encode("gbk") * 30,
    "iso-2022-jp": "日本語".encode("iso-2022-jp") * 30,
    "separated by NUL": b"a document\0another one\0" * 30,
    "colours": b"\x1b[31mred\x1b[0m\n" * 30,
    "pages": b"page\f\n" * 30,
    "a control character": TEXT + b"\x01",
    "BZh": b"BZh9 is how bzip2 files begin",
    "PK": b"PK is a name",
}


@pytest.mark.parametrize("name", NOT_TEXT)
def test_not_text(tmp_path, name):
    content, what = NOT_TEXT[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=f"{name}: {what}.*, not (UTF-8 )?text.*; .*(--input-format text|iconv)"):
        find([str(tmp_path / name)])
    assert find([str(tmp_path / name)], input_format="text")[0].is_forced


@pytest.mark.parametrize("name", TEXTS)
def test_text(tmp_path, name):
    (tmp_path / name).write_bytes(TEXTS[name])
    assert why_not_text(TEXTS[name]) is None
    assert find([str(tmp_path / name)])[0].format == "text"


@pytest.mark.parametrize("name", ["plain.txt", "noname", "a.jsonl", "a.gz", "a.xz"])
@pytest.mark.parametrize("compression", PACKED)
def test_compression_by_content(tmp_path, compression, name):
    """Regression: compressed data with another suffix was tokenized as if it were text."""
    path = tmp_path / name
    path.write_bytes(PACKED[compression])
    for options in ({}, {"input_format": "text"}):
        (source,) = find([str(path)], **options)
        assert source.compression == compression
        assert streams.read_all(stream.open(source), 1000) == TEXT


@pytest.mark.parametrize("name", NOT_TEXT)
def test_not_text_that_was_compressed(tmp_path, name):
    """Compressed data that is not text is detected when the file is read."""
    path = tmp_path / "a.txt.zst"
    path.write_bytes(zstandard.compress(NOT_TEXT[name][0]))
    with pytest.raises(InputError, match=r"a\.txt\.zst: .*, not (UTF-8 )?text"):
        list(InputBlocks(Reading(find([str(path)]))).blocks())
    assert list(InputBlocks(Reading(find([str(path)], input_format="text"))).blocks())


def test_only_text_in_directories_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d").mkdir()
    for name, (content, _) in NOT_TEXT.items():
        (tmp_path / "d" / name).write_bytes(content)
    for name in ("a.md", "b", "c.txt"):
        (tmp_path / "d" / name).write_bytes(TEXT)
    (tmp_path / "d/link").symlink_to("nowhere")
    os.mkfifo(tmp_path / "d/pipe")
    for argument in ("d", "d/*"):
        for options in ({}, {"input_format": "text"}):
            left_out = []
            sources = find([argument], left_out=left_out, **options)
            assert [source.path for source in sources] == ["d/a.md", "d/b", "d/c.txt"]
            reasons = {one.path: one.reason for one in left_out}
            assert set(reasons) == {f"d/{name}" for name in NOT_TEXT} | {"d/link", "d/pipe"}
            assert reasons["d/link"] == "a dangling symbolic link" and reasons["d/pipe"] == "not a regular file"
            assert reasons["d/picture"] == "a PNG image, not text"


def test_a_directory_without_text(tmp_path):
    (tmp_path / "a.png").write_bytes(b"x")
    (tmp_path / "b.png").write_bytes(b"x")
    with pytest.raises(InputError, match=r"no text to read; left out: .*a\.png \(a \.png file, not text\), and 1 more"):
        find([str(tmp_path)])


def test_earlier_token_files_are_skipped(tmp_path):
    for name in ("ids", "ids.ends", "ids.meta.jsonl.zst", "ids.sa", "other.json", "other.ends"):
        (tmp_path / name).write_bytes(b"text")
    (tmp_path / "ids.json").write_text('{"pyunitok": "1.0"}')
    (tmp_path / "other").write_bytes(b"text")
    left_out = []
    assert [Path(source.path).name for source in find([str(tmp_path)], left_out=left_out)] == ["other", "other.json"]
    assert {Path(one.path).name: one.reason for one in left_out}["ids"] == "a token file"


def test_patterns(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("d/a.md", "d/b.txt", "d/tests/c.txt", "d/tests/d.md", "e.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(TEXT)
    (tmp_path / "d/x.dat").write_bytes(NOT_TEXT["random"][0])

    def paths(*arguments, **options):
        return [source.path for source in find(arguments, **options)]

    assert paths("d", include=["*.md"]) == ["d/a.md", "d/tests/d.md"]
    assert paths("d", include=["tests/*"]) == ["d/tests/c.txt", "d/tests/d.md"]
    assert paths("d", include=["*.md", "b.*"], exclude=["d.md"]) == ["d/a.md", "d/b.txt"]
    assert paths("d", "e.txt", include=["*.md"], exclude=["tests/*"]) == ["d/a.md", "e.txt"]
    with pytest.raises(InputError, match="--include and --exclude leave no files"):
        paths("e.txt", exclude=["*.txt"])
    assert paths("d", include=["*.dat"], input_format="text") == ["d/x.dat"]
    with pytest.raises(InputError, match=r"left out: d/x\.dat"):
        paths("d", include=["*.dat"])


def test_warning_for_text_in_another_encoding(tmp_path):
    for k in range(5):
        (tmp_path / f"{k}.txt").write_bytes("дом ".encode("koi8-r") * 100)
    (tmp_path / "utf8.txt").write_bytes("дом ".encode() * 20_000)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        list(InputBlocks(Reading(find([str(tmp_path)]))).blocks())
    messages = [str(one.message) for one in caught if one.category is InputWarning]
    assert len(messages) == 3
    assert "0.txt: 75% of the first 400 bytes are not valid UTF-8" in messages[0]
    assert "further files like this are not reported" in messages[2]


def test_share_invalid():
    assert share_invalid(b"") == share_invalid(TEXT) == 0
    for cut in range(4):
        assert share_invalid("a😀".encode()[: 5 - cut]) == 0
    assert share_invalid(b"\xff" * 100) == 1
