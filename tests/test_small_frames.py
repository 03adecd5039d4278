"""Many small zstd frames; errors in damaged frames do not depend on grouping or threads."""

import random
import struct

import pytest
import xxhash
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from test_zst import TEXT, frame, frame_of_blocks, skippable

from pyunitok.corpus import frame_source, zst
from pyunitok.corpus.frames import FrameScanner
from pyunitok.corpus.raw_file import RawFile
from pyunitok.corpus.readahead import ReadAheadStream
from pyunitok.errors import InputError

CHECKSUM_OF_NOTHING = struct.pack("<I", xxhash.xxh64_intdigest(b"") & 0xFFFFFFFF)


def read(path, data, chunk_bytes=1 << 18, max_frame_bytes=1 << 26):
    """The text of a file up to its first error, and that error or None."""
    path.write_bytes(data)
    frame_source.CHUNK_BYTES, before = chunk_bytes, frame_source.CHUNK_BYTES
    try:
        stream = ReadAheadStream(zst.ZstdFrames(RawFile(str(path)), max_frame_bytes), "test")
        out, buffer = bytearray(), bytearray(1)
        try:
            while stream.readinto(memoryview(buffer)):
                out += buffer
        except InputError as error:
            return bytes(out), str(error).removeprefix(f"{path}: ")
        return bytes(out), None
    finally:
        frame_source.CHUNK_BYTES = before


def block_begins(data):
    """The positions at which the blocks of a frame begin."""
    scanner, at, begins = FrameScanner(), 0, []
    while not scanner.done:
        if scanner.header is not None:
            begins.append(scanner.block_at)
        at = scanner.feed(data, at, 1)
    return begins

SMALL = {
    "empty": frame(b""),
    "empty, size unknown": frame(b"", write_content_size=False),
    "empty, no checksum": frame(b"", write_checksum=False),
    "empty, window of 2 GiB": b"\x28\xb5\x2f\xfd\x04\xa8\x01\0\0" + CHECKSUM_OF_NOTHING,
    "skippable": skippable(b"abc"),
    "skippable, empty": skippable(b"", 15),
    "short": frame(b"abc"),
    "short, size unknown": frame(TEXT[:300], write_content_size=False),
    "no checksum": frame(TEXT[:400], write_checksum=False),
    "2-byte size": frame(TEXT[:1000]),
    "run-length block": b"\x28\xb5\x2f\xfd\x00\x58\x2b\0\0x",
    "several blocks": frame_of_blocks(TEXT[:300], 100),
    "window of 16 MiB": frame_of_blocks(TEXT[:300], 300, window_log=24),
}
BROKEN = {
    "wrong checksum": frame(TEXT[:300])[:-1] + b"\0",
    "empty, wrong checksum": frame(b"")[:-1] + b"\0",
    "window above 2 GiB": b"\x28\xb5\x2f\xfd\x00\xa9\x01\0\0",
    "stated size too small": b"\x28\xb5\x2f\xfd\x20\x02\x19\0\0abc",
    "stated size too large": b"\x28\xb5\x2f\xfd\x20\x04\x19\0\0abc",
    "empty, stated size too large": b"\x28\xb5\x2f\xfd\x20\x04\x01\0\0",
    "empty, stated size far too large": b"\x28\xb5\x2f\xfd\xa0\0\0\x90\0\x01\0\0",
    "stated size 0": b"\x28\xb5\x2f\xfd\x20\x00\x19\0\0abc",
    "reserved block": b"\x28\xb5\x2f\xfd\x00\x58\x1f\0\0abc",
    "reserved bit": b"\x28\xb5\x2f\xfd\x08\x58\x19\0\0abc",
    "block too large": b"\x28\xb5\x2f\xfd\x00\x58\x03\0\x11x",
}


def read_apart(path, frames):
    """Decompress each frame alone; return the bytes up to the first error, and whether there was one."""
    out = b""
    for data in frames:
        if data[1:4] == b"\x2a\x4d\x18":
            continue
        try:
            decoder = zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()
            text = decoder.decompress(data)
            size = zstandard.frame_content_size(data)
            if not decoder.eof or size not in (-1, len(text)):
                return out, True
            out += text
        except zstandard.ZstdError:
            return out, True
    return out, False


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("frames") / "x.zst"


@settings(max_examples=150)
@given(st.data())
def test_small_frames(path, data):
    names = data.draw(st.lists(st.sampled_from(sorted(SMALL)), min_size=1, max_size=40))
    frames = [SMALL[name] for name in names]
    if data.draw(st.booleans()):
        frames.insert(data.draw(st.integers(0, len(frames))), BROKEN[data.draw(st.sampled_from(sorted(BROKEN)))])
    chunk_bytes = data.draw(st.sampled_from((1, 7, 20, 100, 1 << 18)))
    max_frame_bytes = data.draw(st.sampled_from((100, 1 << 20, 1 << 26)))
    want, fails = read_apart(path, frames)
    got = read(path, b"".join(frames), chunk_bytes, max_frame_bytes)
    assert (got[1] is not None) == fails
    # The read that detects an error returns nothing, so the last byte may be missing. If a frame is streamed, its text
    # is returned before its checksum is checked.
    assert got[0] == want or (fails and (got[0] + want[-1:]).startswith(want))


@pytest.mark.parametrize("name", BROKEN)
def test_error_does_not_depend_on_threads(path, name):
    """The error is in the same frame whether one thread streams the frames or several decompress them in one call."""
    for before in (b"", SMALL["short"], SMALL["empty"] * 3 + SMALL["no checksum"]):
        results = [read(path, before + BROKEN[name] + SMALL["short"], 1 << 18, most) for most in (1, 1 << 20, 1 << 26)]
        for _, error in results:
            at = int(error.removeprefix("byte ").partition(":")[0])
            assert len(before) <= at < len(before) + len(BROKEN[name])


def test_content_size_is_compared_in_a_stream(path):
    """Regression: two frames that each state 9 MiB but hold 11 bytes were read as 22 bytes if frames were streamed."""
    one = b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", 9 << 20) + b"\x58\0\0hello world\x01\0\0"
    for most in (1 << 20, 1 << 26):
        _, error = read(path, one + one, max_frame_bytes=most)
        assert error == (
            "byte 0: corrupt zstd data, in the frame that begins at byte 0"
            " (its header states 9437184 bytes; the frame has 11)"
        )


def test_many_frames_with_large_windows(path):
    """Regression: each empty frame added a level of recursion."""
    one = b"\x28\xb5\x2f\xfd\x00\x88" + b"\0\0\0" + b"\x01\0\0"
    assert read(path, one * 1500 + frame(b"abc")) == (b"abc", None)


@pytest.mark.parametrize("max_frame_bytes", [1, 1 << 26])
@pytest.mark.parametrize("sized", [True, False])
def test_corrupt_block_is_named(path, max_frame_bytes, sized):
    """Regression: the error named the frame's last byte, or the end of the last read."""
    text = random.Random(5).randbytes(360_000).hex().encode()
    before, good = frame(b"before"), frame(text, write_content_size=sized)
    blocks = block_begins(good)
    assert len(blocks) > 4
    for number in (0, 1, 3):
        damaged = bytearray(before + good + frame(b"behind"))
        at = len(before) + blocks[number]
        damaged[at + 3 : at + 40] = b"\xff" * 37
        _, error = read(path, bytes(damaged), max_frame_bytes=max_frame_bytes)
        assert error.startswith(
            f"byte {at}: corrupt zstd data, in the block that begins here, in the frame that begins at byte"
            f" {len(before)} ("
        )
