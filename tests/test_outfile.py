"""Append-only files: their bytes and hashes do not depend on interruptions."""

import errno
import os

import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from pyunitok.disk import hashing, outfile
from pyunitok.disk.hashing import ChunkHash, Hashed
from pyunitok.disk.outfile import OutFile
from pyunitok.errors import OutputError


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(hashing, "HASH_CHUNK_BYTES", 3 << 12)
    monkeypatch.setattr(outfile, "BUFFER_BYTES", 1 << 12)
    monkeypatch.setattr(outfile, "DIRECT_FROM_BYTES", 1 << 13)


def digests_of(data):
    return [xxhash.xxh64_hexdigest(data[k : k + (3 << 12)]) for k in range(0, len(data), 3 << 12)]


STEPS = st.lists(st.tuples(st.sampled_from("wwwsk"), st.integers(0, 9000)), max_size=30)


@given(STEPS)
def test_stopped_anywhere(tmp_path_factory, steps):
    """w: write, s: save and sync, k: get killed, then resume from the last save."""
    path = tmp_path_factory.mktemp("out") / "file"
    file, saved = OutFile(path), Hashed()
    data = b""
    for k, (step, n) in enumerate(steps):
        if step == "w":
            piece = bytes([k + 1]) * n
            assert file.write(memoryview(piece)) == n
            data += piece
        elif step == "s":
            saved = file.save()
            file.sync()
            assert saved.n_bytes == len(data)
            assert path.read_bytes()[: len(data)] == data
            assert saved.all_digests() == digests_of(data)
        else:
            file.close()
            data = data[: saved.n_bytes]
            file = OutFile(path, saved)
        assert file.n_bytes == len(data)
    assert file.finish() == digests_of(data)
    assert path.read_bytes() == data


def test_at_most_one_chunk_is_read_again(tmp_path, monkeypatch):
    file = OutFile(tmp_path / "file")
    file.write(memoryview(os.urandom(10 * (3 << 12) + 5000)))
    state = file.save()
    file.close()
    n_read, read = [], os.read
    monkeypatch.setattr(os, "read", lambda fd, n: (n_read.append(n), read(fd, n))[1])
    OutFile(tmp_path / "file", state).close()
    assert 5000 <= sum(n_read) <= 3 << 12


def test_other_bytes_are_rejected(tmp_path):
    path = tmp_path / "file"
    file = OutFile(path)
    file.write(memoryview(bytes(20_000)))
    state = file.save()
    file.close()
    path.write_bytes(bytes(19_999) + b"x")
    with pytest.raises(OutputError, match=r"bytes 12288 to 20000 are not those that were written.*--overwrite"):
        OutFile(path, state)
    path.write_bytes(bytes(19_999))
    with pytest.raises(OutputError, match=r"19999 bytes, but 20000 were written.*--overwrite"):
        OutFile(path, state)
    path.unlink()
    with pytest.raises(OutputError, match=r"is missing.*--overwrite"):
        OutFile(path, state)
    assert not path.exists()


def test_a_disk_that_does_not_sync(tmp_path, monkeypatch):
    def fsync(fd):
        raise OSError(errno.EIO, "Input/output error")

    file = OutFile(tmp_path / "file")
    file.write(memoryview(b"x"))
    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OutputError, match="cannot be synced to disk: Input/output error"):
        file.sync()
    with pytest.raises(OutputError, match="cannot be synced to disk"):
        file.finish()
    file.close()


@given(st.lists(st.integers(0, 30_000), max_size=6), st.integers(0, 100_000))
def test_hashes_in_parts(sizes, seed):
    data = bytes(seed % 251 + k % 3 for k in range(sum(sizes)))
    whole, at = ChunkHash(), 0
    for size in sizes:
        whole.update(memoryview(data)[at : at + size])
        at += size
        state = whole.state()
        assert state.all_digests() == digests_of(data[:at])
        assert Hashed.from_all(at, digests_of(data[:at])) == state
        again = ChunkHash(state.digests)
        again.update(memoryview(data)[state.rest_at : at])
        assert again.state() == state


@pytest.mark.parametrize("kind", ["symbolic link", "hard link", "not a regular file"])
@pytest.mark.parametrize("name", ["x.partial", "x.lock.partial"])
def test_writes_do_not_follow_links(tmp_path, kind, name):
    """Regression: the targets of links were overwritten or truncated."""
    target, partial = tmp_path / "dear", tmp_path / name
    target.write_bytes(b"dear")
    {"symbolic link": partial.symlink_to, "hard link": partial.hardlink_to}.get(kind, lambda _: os.mkfifo(partial))(
        target
    )
    writers = [lambda: outfile.OutputLock(tmp_path / "x")]
    if name == "x.partial":
        writers = [lambda: OutFile(partial), lambda: OutFile(partial, Hashed()),
                   lambda: outfile.write_whole(tmp_path / "x", b"new")]  # fmt: skip
    for write in writers:
        with pytest.raises(OutputError, match=f"{name} is .*{kind}|{name} is {kind}"):
            write()
    assert target.read_bytes() == b"dear"
    assert not (tmp_path / "x").exists()


def test_a_dangling_link(tmp_path):
    """Opening the link would create its target."""
    (tmp_path / "x.partial").symlink_to(tmp_path / "gone")
    with pytest.raises(OutputError, match="symbolic link"):
        OutFile(tmp_path / "x.partial")
    assert not (tmp_path / "gone").exists()
