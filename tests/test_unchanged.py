"""A file that changes while it is being read is an error; names that would confuse a terminal are escaped."""

import gzip
import lzma
import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
import zstandard

from pyunitok.corpus import inputs, members, stream
from pyunitok.corpus.raw_file import RawFile
from pyunitok.errors import InputError, UnitokError, printable

TEXT = b"".join(b"line %d\n" % i for i in range(200_000))
PACKED = {
    ".txt": TEXT,
    ".txt.gz": gzip.compress(TEXT),
    ".txt.zst": b"".join(zstandard.compress(TEXT[at : at + 100_000]) for at in range(0, len(TEXT), 100_000)),
}


def shrink(path):
    os.truncate(path, path.stat().st_size // 2)


def shrink_a_little(path):
    os.truncate(path, path.stat().st_size - 1)


def grow(path):
    with path.open("ab") as file:
        file.write(b"more\n")


def vanish(path):
    path.unlink()


def replace(path):
    other = path.with_name("other")
    other.write_bytes(b"other\n")
    other.replace(path)


def touch(path):
    os.utime(path, ns=(0, 0))


CHANGES = [shrink, shrink_a_little, grow, vanish, replace, touch]


def read_to_end(source, at_first):
    opened = stream.open(source)
    buffer = memoryview(bytearray(1000))
    opened.readinto(buffer)
    at_first()
    while opened.readinto(buffer):
        pass
    opened.close()


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("suffix", PACKED)
def test_changed_while_read(tmp_path, suffix, change):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(PACKED[suffix])
    (source,) = inputs.find([str(path)])
    read_to_end(source, lambda: None)
    with pytest.raises(InputError, match=f"{path}: (changed|deleted or replaced) while it was being read"):
        read_to_end(source, lambda: change(path))


@pytest.mark.parametrize("change", CHANGES)
def test_changed_before_it_was_opened(tmp_path, change):
    path = tmp_path / "a.txt"
    path.write_bytes(TEXT)
    (source,) = inputs.find([str(path)])
    change(path)
    with pytest.raises(InputError, match=f"{path}: (changed while it was being read|cannot be opened)"):
        stream.open(source)


def test_changed_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    from pyunitok.corpus.reading import InputBlocks, Reading

    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pa.table({"text": ["text"] * 100}), path)
    found = inputs.find([str(path)])
    for change in (lambda _: None, touch):
        corpus = InputBlocks(Reading(found))
        block = corpus.new_block()
        corpus._open(found[0])
        change(path)
        if change is touch:
            with pytest.raises(InputError, match=f"{path}: changed while it was being read: it was modified"):
                corpus._reader.fill(block)
        else:
            corpus._reader.fill(block)
        corpus.close()


def test_xz_dictionary(tmp_path):
    """Regression: a dictionary of 1.5 GiB was allocated, regardless of --max-memory."""
    data = bytearray(lzma.compress(b"abc", filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 16}]))
    data[16] = 37  # the dictionary size: 1.5 GiB
    data[20:24] = struct.pack("<I", zlib.crc32(bytes(data[12:20])))
    path = tmp_path / "a.xz"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"a.xz: byte 0: .* needs more than 1073741824 bytes .*--max-memory"):
        stream.decompressed(RawFile(str(path)), "xz").readinto(memoryview(bytearray(10)))
    ample = members.xz(RawFile(str(path)), 4 << 30)
    assert ample.readinto(memoryview(bytearray(10))) == 3


def test_a_file_named_minus(tmp_path, monkeypatch):
    """Regression: the file was read as stdin."""
    (tmp_path / "-").write_bytes(b"text")
    monkeypatch.chdir(tmp_path)
    for argument in ("*", "?", "[-]", "**", "."):
        (source,) = inputs.find([argument], input_format="text")
        assert source.path == "./-"
        assert stream.open(source).readinto(memoryview(bytearray(10))) == 4


def test_printable():
    assert printable("a\x1b[31m\tb\n\x7f\x9b\u202e") == r"a\x1b[31m\x09b\x0a\x7f\x9b\u202e"
    assert printable("a\nb", lines=True) == "a\nb"
    assert printable(os.fsdecode(b"caf\xe9")) == r"caf\xe9"
    assert printable("caf\u00e9 \U0001f600 \u4e2d") == "caf\u00e9 \U0001f600 \u4e2d"
    assert str(UnitokError("x\x1b]0;title\x07: no")) == r"x\x1b]0;title\x07: no"


@pytest.mark.parametrize("command", [["tokenize", "-o", "ids.u16"], ["verify"], ["inspect"]])
def test_names_are_escaped_on_the_terminal(tmp_path, command):
    name = "\x1b[31mred\x07.txt"
    (tmp_path / name).write_bytes(b"text\n")
    program = [sys.executable, "-c", "from pyunitok.cli import main; main()"]
    folder = str(Path(printable.__code__.co_filename).parents[1])
    for argument in (name, name + ".missing"):
        done = subprocess.run(
            [*program, *command, argument], capture_output=True, cwd=tmp_path, env=os.environ | {"PYTHONPATH": folder}
        )
        said = done.stdout + done.stderr
        assert b"red" in said
        assert b"\x1b[31mred" not in said and b"\x07" not in said
