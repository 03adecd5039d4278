"""Read-ahead: bytes and errors do not depend on threads or timing, and memory is limited."""

import gzip
import random
import threading
from pathlib import Path

import pytest
import streams
from hypothesis import given
from hypothesis import strategies as st
from test_zst import TEXT, ZST, frame, frame_of_blocks, skippable

from pyunitok.corpus import frame_source, members, zst
from pyunitok.corpus import readahead as readahead_module
from pyunitok.corpus import stream as stream_module
from pyunitok.corpus.inputs import find
from pyunitok.corpus.position import BEGINNING, Position
from pyunitok.corpus.readahead import MIN_CHUNK_COST, ReadAhead
from pyunitok.errors import InputError

MAX_FRAME = 3000


@pytest.fixture(autouse=True)
def small(monkeypatch):
    for module in (readahead_module, zst):
        monkeypatch.setattr(module, "STREAM_BYTES", 700)
    monkeypatch.setattr(readahead_module, "ENOUGH_CHUNKS", 1)
    monkeypatch.setattr(zst, "GROUP_BYTES", 500)
    monkeypatch.setattr(zst, "ONLY_FRAME_BYTES", 1500)
    for module in (frame_source, members, zst):
        monkeypatch.setattr(module, "CHUNK_BYTES", 1000)


def opened(paths, limit_bytes=1 << 20, enough_bytes=1 << 20, max_frame_bytes=MAX_FRAME):
    sources = find([str(path) for path in paths], input_format="text")
    ret = ReadAhead(
        limit_bytes,
        enough_bytes,
        len(paths),
        lambda k: stream_module.open_readahead(sources[k], BEGINNING, ret, max_frame_bytes),
    )
    return ret


def do_one(ahead) -> bool:
    """Run one task, if there is any, as an idle thread would."""
    with ahead.changed:
        task = ahead.claim()
    if task is not None:
        task()
    return task is not None


def read(ahead, n_streams, size, chance=None):
    """Read all streams, `size` bytes at a time, with a random amount of work done ahead."""
    out = []
    for k in range(n_streams):
        stream = ahead.take(k)
        data, error = outcome(stream, size, ahead, chance)
        assert error is None
        stream.close()
        out.append(data)
    assert ahead.held == 0
    return out


FRAMES = st.lists(
    st.tuples(st.sampled_from(["sized", "unsized", "skippable", "bare"]), st.integers(0, 2000), st.integers(1, 900)),
    max_size=9,
)


def file_of(frames, text):
    """A file that consists of these frames, and its decompressed text."""
    out, at = [], 0
    for kind, size, block_bytes in frames:
        if kind == "skippable":
            out.append(skippable(text[:size]))
            continue
        part = text[at : at + size]
        at += len(part)
        out.append(
            frame_of_blocks(part, block_bytes) if kind == "unsized" else frame(part, write_checksum=kind == "sized")
        )
    return b"".join(out), text[:at]


@given(
    st.lists(FRAMES, min_size=1, max_size=4), st.integers(1, 3000), st.integers(0, 2**30),
    st.sampled_from([1, 50_000, 1 << 20]),
)  # fmt: skip
def test_any_frames_and_any_order_of_work(tmp_path_factory, files, size, seed, limit_bytes):
    folder = tmp_path_factory.mktemp("frames")
    paths, want = [], []
    for k, frames in enumerate(files):
        data, text = file_of(frames or [("sized", 0, 1)], TEXT)
        paths.append(folder / f"{k}.zst")
        paths[-1].write_bytes(data)
        want.append(text)
    for chance in (None, random.Random(seed)):
        assert read(opened(paths, limit_bytes), len(paths), size, chance) == want


@pytest.mark.parametrize("name", [name for name in ZST if len(ZST[name][1]) < 10_000])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_threads(name, n_threads, tmp_path):
    data, want = ZST[name]
    paths = [tmp_path / f"{k}.zst" for k in range(5)]
    for path in paths:
        path.write_bytes(data * 20)
    ahead = opened(paths, 30_000)
    stop = False

    def help_out():
        while not stop:
            with ahead.changed:
                task = ahead.claim()
                if task is None:
                    ahead.changed.wait(0.01)
            if task is not None:
                task()

    threads = [threading.Thread(target=help_out) for _ in range(n_threads)]
    for thread in threads:
        thread.start()
    try:
        assert read(ahead, 5, 997) == [want * 20] * 5
    finally:
        stop = True
        for thread in threads:
            thread.join()


def outcome(stream, size, ahead=None, chance=None):
    """Read to the end or to an error; return the text that was read, and the error or None."""
    data, buffer = bytearray(), bytearray(size)
    try:
        while True:
            for _ in range(chance.choice((0, 0, 1, 3, 9, 30)) if chance else 0):
                do_one(ahead)
            n = stream.readinto(memoryview(buffer))
            data += buffer[:n]
            if n < size:
                return bytes(data), None
    except InputError as error:
        return bytes(data), str(error)


@pytest.mark.parametrize("kind", ["flip", "cut", "garbage"])
def test_damage_causes_the_same_error_after_the_same_bytes(kind, tmp_path):
    parts = [TEXT[k : k + 300] for k in range(0, len(TEXT), 300)]
    frames = [frame_of_blocks(part, 100) if k % 3 else frame(part) for k, part in enumerate(parts)]
    data, chance = b"".join(frames), random.Random(1)
    path = tmp_path / "a.zst"
    for at in range(0, len(data), 7):
        damaged = bytearray(data)
        if kind == "flip":
            damaged[at] ^= 1 << at % 8
        elif kind == "cut":
            del damaged[at:]
        else:
            damaged[at:at] = b"garbage"
        path.write_bytes(bytes(damaged))
        ahead = opened([path])
        alone, helped = outcome(opened([path]).take(0), 100), outcome(ahead.take(0), 100, ahead, chance)
        assert alone[1] == helped[1]
        for text, error in (alone, helped):
            n_sound = whole_before(frames, at) // 100 * 100
            assert text[:n_sound] == TEXT[:n_sound]  # as with any decoder, part of the corrupt frame may have been read
            if error is None:
                assert TEXT.startswith(text)
            else:
                assert error.startswith(f"{path}: byte ")


def whole_before(frames, at):
    """The decompressed size of the frames that end before byte `at` of the file."""
    n_bytes = n_text = 0
    for one in frames:
        n_bytes += len(one)
        if n_bytes > at:
            break
        n_text += 300
    return min(n_text, len(TEXT))


def test_waiting_data_stays_within_the_limit(tmp_path):
    path = tmp_path / "a.zst"
    path.write_bytes(b"".join(frame(random.Random(k).randbytes(2000)) for k in range(100)))
    ahead = opened([path] * 3, limit_bytes=60_000)
    ahead.take(0)
    while do_one(ahead):
        assert ahead.held < 60_000 + 2 * MAX_FRAME + MIN_CHUNK_COST
    assert ahead.held >= 60_000
    ahead = opened([path] * 3, limit_bytes=600_000, enough_bytes=20_000)
    stream = ahead.take(0)
    while do_one(ahead):
        pass
    assert 20_000 <= sum(len(chunk.data) for chunk in stream.queue) < 20_000 + MAX_FRAME


def test_the_next_files_are_opened_before_they_are_needed(tmp_path):
    paths = [tmp_path / f"{k}.zst" for k in range(5)]
    for path in paths:
        path.write_bytes(frame(TEXT[:100]))
    ahead = opened(paths)
    open_files = Path("/proc/self/fd")
    n_open = len(list(open_files.iterdir())) if open_files.exists() else 0
    while do_one(ahead):
        pass
    if n_open:  # files that were read to the end have been closed
        assert len(list(open_files.iterdir())) <= n_open
    for path in paths:
        path.unlink()
    assert read(ahead, 5, 1000) == [TEXT[:100]] * 5


def test_a_missing_file_is_reported_in_order(tmp_path):
    paths = [tmp_path / f"{k}.txt" for k in range(3)]
    for path in paths:
        path.write_bytes(TEXT)
    ahead = opened(paths)
    paths[1].unlink()
    while do_one(ahead):
        pass
    assert streams.read_all(ahead.take(0), 100) == TEXT
    with pytest.raises(InputError, match=r"1\.txt: cannot be opened"):
        streams.read_all(ahead.take(1), 100)


def test_frame_buffers_are_reused_within_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(readahead_module, "MAX_SPARE_BYTES", 5000)
    sizes, text = [2400, 600, 1800] * 20, TEXT * 2
    (tmp_path / "a.zst").write_bytes(b"".join(frame(text[:size]) for size in sizes))
    made = []
    monkeypatch.setattr(readahead_module, "bytearray", lambda n=0: made.append(n) or bytearray(n), raising=False)
    ahead = opened([tmp_path / "a.zst"], limit_bytes=20_000, enough_bytes=5000)
    stream, parts, most_spare = ahead.take(0), [], 0
    while True:
        while do_one(ahead):
            pass
        assert ahead.held <= 20_000 + 2 * MIN_CHUNK_COST
        buffer = bytearray(500)
        n = stream.readinto(memoryview(buffer))
        parts.append(bytes(buffer[:n]))
        most_spare = max(most_spare, sum(map(len, ahead.spare)))
        if n < 500:
            break
    assert b"".join(parts) == b"".join(text[:size] for size in sizes)
    assert 0 < most_spare <= 5000
    assert len([n for n in made if n]) < len(sizes) // 2


def test_failing_workers_leave_no_thread_waiting(tmp_path, monkeypatch):
    (tmp_path / "a.zst").write_bytes(frame(TEXT[:1000]) * 5)

    def fail(*_):
        raise MemoryError("no")

    monkeypatch.setattr(zst, "_decompress_into", fail)
    with pytest.raises(MemoryError):
        read(opened([tmp_path / "a.zst"]), 1, 100, random.Random(1))


@given(FRAMES, st.integers(0, 10_000), st.booleans())
def test_places(tmp_path_factory, frames, n_bytes, help_out):
    path = tmp_path_factory.mktemp("places") / "a.zst"
    data, text = file_of([*frames, ("sized", 1, 1)], TEXT)
    path.write_bytes(data)
    (source,) = find([str(path)], input_format="text")
    ahead = opened([path])
    stream = ahead.take(0)
    while help_out and do_one(ahead):
        pass
    n_bytes = min(n_bytes, len(text))
    buffer = bytearray(n_bytes)
    assert stream.readinto(memoryview(buffer)) == n_bytes
    file_at, file_bytes = stream.place(n_bytes)
    again = ReadAhead(1)
    rest = stream_module.open_readahead(source, Position(0, file_at=file_at, file_bytes=file_bytes), again, MAX_FRAME)
    assert file_bytes <= n_bytes
    assert streams.read_all(rest, 100) == text[file_bytes:]
    if all(kind in ("sized", "bare") for kind, _, _ in frames):  # other frames may be streamed, several per chunk
        assert n_bytes - file_bytes <= zst.GROUP_BYTES + 2000


@pytest.mark.parametrize("suffix", ["txt", "txt.gz"])
def test_streams_that_are_not_zstd_frames(suffix, tmp_path):
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(gzip.compress(TEXT * 9) if suffix.endswith("gz") else TEXT * 9)
    for chance in (None, random.Random(3)):
        assert read(opened([path] * 2), 2, 333, chance) == [TEXT * 9] * 2
    stream = opened([path]).take(0)
    buffer = bytearray(5000)
    stream.readinto(memoryview(buffer))
    assert stream.place(5000) == ((5000, 5000) if suffix == "txt" else (0, 0))
