"""zstd, gzip, bzip2, xz and plain streams: complete, truncated at every byte, damaged, in short reads; bombs."""

import bz2
import gzip
import lzma
import random
import struct
import sys
import tracemalloc
import zlib

import pytest
import streams
import xxhash
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from pyunitok.corpus.frames import FrameError, FrameScanner, parse_header
from pyunitok.corpus.raw_file import RawFile
from pyunitok.corpus.stream import decompressed
from pyunitok.errors import InputError

TEXT = b"".join(b"%d bottles of beer on the wall, " % i for i in range(60))


def frame(data, level=3, window_log=None, **options):
    options = {"write_checksum": True, "write_content_size": True} | options
    parameters = zstandard.ZstdCompressionParameters.from_level(level, window_log=window_log or 0, **options)
    return zstandard.ZstdCompressor(compression_params=parameters).compress(data)


def frame_of_blocks(data, block_bytes, **options):
    """A frame of unknown content size, with a block for every block_bytes bytes."""
    parameters = zstandard.ZstdCompressionParameters.from_level(3, write_checksum=True, **options)
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    out = b""
    for i in range(0, len(data), block_bytes):
        out += compressor.compress(data[i : i + block_bytes])
        out += compressor.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    return out + compressor.flush()


def skippable(content, low=0):
    return struct.pack("<II", 0x184D2A50 + low, len(content)) + content


def seekable(pieces):
    """The seekable format: a frame for each piece, and a seek table in a skippable frame."""
    frames = [frame(piece, write_checksum=False) for piece in pieces]
    table = b"".join(
        struct.pack("<III", len(f), len(p), xxhash.xxh64_intdigest(p) & 0xFFFFFFFF)
        for f, p in zip(frames, pieces, strict=True)
    )
    return b"".join(frames) + skippable(table + struct.pack("<IBI", len(frames), 0x80, 0x8F92EAB1), 14)


PARTS = [TEXT[:700], TEXT[700:701], TEXT[701:]]
ZST = {
    "one": (frame(TEXT), TEXT),
    "empty frame": (frame(b""), b""),
    "empty frame, no sizes": (frame_of_blocks(b"", 1), b""),
    "raw block": (frame(bytes(range(256)) * 2), bytes(range(256)) * 2),
    "rle block": (frame(b"x" * 300_000), b"x" * 300_000),
    "content of 2-byte size": (frame(TEXT[:300], write_checksum=False), TEXT[:300]),
    "many": (b"".join(map(frame, PARTS)), TEXT),
    "no checksums": (b"".join(frame(part, write_checksum=False) for part in PARTS), TEXT),
    "many blocks, size unknown": (frame_of_blocks(TEXT, 100), TEXT),
    "tiny blocks": (frame_of_blocks(TEXT[:300], 1), TEXT[:300]),
    "window of 2 GiB": (frame_of_blocks(TEXT, 1000, window_log=31), TEXT),
    "empty frames between": (frame(b"") + frame(PARTS[0]) + frame(b"") * 3 + frame(TEXT[700:]) + frame(b""), TEXT),
    "skippable first": (skippable(b"hello", 3) + frame(TEXT), TEXT),
    "skippable middle": (frame(PARTS[0]) + skippable(b"") + skippable(b"x" * 99, 15) + frame(TEXT[700:]), TEXT),
    "skippable last": (frame(TEXT) + skippable(b"\x28\xb5\x2f\xfd"), TEXT),
    "skippable only": (skippable(b"abc"), b""),
    "pzstd": (b"".join(skippable(struct.pack("<I", len(frame(p)))) + frame(p) for p in PARTS), TEXT),
    "seekable": (seekable(PARTS), TEXT),
}


def stream_of(data, compression, tmp_path=None, odd=None):
    """A stream over `data`; if a seed `odd` is given, the underlying file returns pieces of random sizes."""
    if odd is not None:
        raw = RawFile.__new__(RawFile)
        raw.name, raw.position, raw._ahead, raw._end, raw._file = "test", 0, b"", None, streams.OddFile(data, odd)
        raw._unchanged = None
    else:
        path = tmp_path / "test"
        path.write_bytes(data)
        raw = RawFile(str(path))
    return decompressed(raw, compression)


@pytest.mark.parametrize("name", ZST)
def test_zst(name, tmp_path):
    data, want = ZST[name]
    assert (
        zstandard.ZstdDecompressor(max_window_size=2**31).stream_reader(data, read_across_frames=True).read()
        == want
    )
    for size in (1, 7, 100, 131072, 1 << 20):
        if size * 50_000 < len(want):
            continue
        assert streams.read_all(stream_of(data, "zst", tmp_path), size) == want
        assert streams.read_all(stream_of(data, "zst", odd=size), size) == want
    stream = stream_of(data, "zst", tmp_path)
    streams.read_all(stream, 100_000)
    assert stream.compressed_position() == len(data)


@pytest.mark.parametrize("name", [name for name in ZST if name != "window of 2 GiB"])
def test_zst_cut_at_every_byte(name):
    data, want = ZST[name]
    boundaries = frame_ends(data)
    check_cut(data, "zst", boundaries, want)


def check_cut(data, kind, ends, want):
    """Assert that a stream truncated anywhere except at `ends` raises an error that names the byte at which it ends."""
    for n in range(len(data)):
        stream = stream_of(data[:n], kind, odd=n)
        if n in ends:
            assert want.startswith(streams.read_all(stream, 1000))
            continue
        with pytest.raises(InputError, match=rf"^test: byte {n}: (the file ends inside|empty)"):
            streams.read_all(stream, 1000)


def frame_ends(data):
    """The end of each frame, found by decompressing frame by frame with zstandard."""
    ends, rest = set(), data
    while rest:
        if rest[1:4] == b"\x2a\x4d\x18":
            rest = rest[8 + struct.unpack("<I", rest[4:8])[0] :]
        else:
            one = zstandard.ZstdDecompressor(max_window_size=2**31).decompressobj()
            one.decompress(rest)
            assert one.eof
            rest = one.unused_data
        ends.add(len(data) - len(rest))
    return ends


def test_zst_flipped_bits():
    data, want, n_refused = frame(PARTS[0]) + frame_of_blocks(TEXT[700:], 300), TEXT, 0
    for at in range(len(data)):
        for bit in range(8):
            damaged = bytearray(data)
            damaged[at] ^= 1 << bit
            try:
                got = streams.read_all(stream_of(bytes(damaged), "zst", odd=at), 1000)
            except InputError as error:
                assert str(error).startswith("test: byte ")
                n_refused += 1
            else:
                assert got == want  # for example, the header requests a larger window than necessary
    assert n_refused > 7.8 * len(data)


def test_zst_corrupt_frame_is_named(tmp_path):
    frames = [frame(part) for part in (TEXT[:500], TEXT[500:600], TEXT[600:])]
    for i in range(3):
        damaged = bytearray(frames[i])
        damaged[-1] ^= 1  # the checksum
        data = b"".join([*frames[:i], bytes(damaged), *frames[i + 1 :]])
        at = len(b"".join(frames[:i]))
        for size in (1, 100, 1 << 20):
            with pytest.raises(InputError, match=f"in the frame that begins at byte {at} "):
                streams.read_all(stream_of(data, "zst", tmp_path), size)


def test_zst_garbage():
    good = frame(TEXT)
    for garbage in (b"\n", b"\0", b"garbage", b"\x28\xb5\x2f\xfe....", b"\x50\x2a\x4d\x19...."):
        for data, at in ((garbage + good, 0), (good + garbage, len(good)), (good + garbage + good, len(good))):
            with pytest.raises(InputError, match=f"test: byte {at}: no zstd frame begins here"):
                streams.read_all(stream_of(data, "zst", odd=1), 1000)


def test_zst_dictionary_and_window():
    dictionary = zstandard.train_dictionary(1000, [b"%d bottles of beer " % i * 9 for i in range(500)])
    data = frame(TEXT) + zstandard.ZstdCompressor(dict_data=dictionary).compress(TEXT)
    with pytest.raises(InputError, match=f"byte {len(frame(TEXT))}: .* needs dictionary {dictionary.dict_id()};"):
        streams.read_all(stream_of(data, "zst", odd=1), 1000)
    huge = b"\x28\xb5\x2f\xfd\x00" + bytes([22 << 3]) + b"\x01\0\0"
    with pytest.raises(InputError, match=r"byte 0: .* window of 4294967296 bytes"):
        streams.read_all(stream_of(huge, "zst", odd=1), 1000)


def test_zst_bomb(tmp_path):
    """Reads 100 MB of zeros in 64 KiB buffers: neither Python's memory nor that of the process grows."""
    path = tmp_path / "bomb.zst"
    path.write_bytes(frame(bytes(100_000_000)))
    check_bomb(path, "zst")


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz"])
def test_member_bomb(kind, tmp_path):
    path = tmp_path / f"bomb.{kind}"
    path.write_bytes({"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}[kind](bytes(1_000_000)) * 100)
    check_bomb(path, kind)


def check_bomb(path, compression):
    stream = decompressed(RawFile(str(path)), compression)
    buffer = memoryview(bytearray(1 << 16))
    before = peak_rss()
    tracemalloc.start()
    total = 0
    while n := stream.readinto(buffer):
        total += n
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total == 100_000_000
    assert peak < (12_000_000 if compression == "xz" else 3_000_000)  # xz -6 has a dictionary of 8 MiB
    assert peak_rss() - before < 20_000


def peak_rss():
    """The peak memory of this process in KiB; 0 if it is not available."""
    if sys.platform != "linux":
        return 0
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@settings(max_examples=150)
@given(st.sampled_from(sorted(ZST)), st.integers(0, 2**30))
def test_scanner_at_any_chunking(name, seed):
    data = ZST[name][0]
    chance = random.Random(seed)
    ends, at, scanner = set(), 0, FrameScanner()
    while at < len(data):
        chunk = data[at : at + chance.randint(1, 40)]
        used = scanner.feed(chunk)
        at += used
        assert scanner.done or used == len(chunk)
        if scanner.done:
            ends.add(at)
            scanner = FrameScanner()
    assert scanner.n_bytes == 0
    assert ends == frame_ends(data)


@given(st.binary(max_size=40), st.integers(1, 40))
def test_scanner_on_any_bytes(data, size):
    for start in (b"", b"\x28\xb5\x2f\xfd", b"\x28\xb5\x2f\xfd\x00\x00"):
        scanner = FrameScanner()
        whole = start + data
        try:
            for i in range(0, len(whole), size):
                if not scanner.done:
                    scanner.feed(whole[i : i + size])
        except FrameError as error:
            assert 0 <= error.at <= len(whole)


def test_headers_match_zstandard():
    for data, _ in ZST.values():
        if data[1:4] != b"\x2a\x4d\x18":
            header, want = parse_header(data[:18]), zstandard.get_frame_parameters(data)
            assert header.window_bytes == want.window_size
            assert header.dictionary_id == want.dict_id
            assert header.has_checksum == want.has_checksum
            unknown = want.content_size == zstandard.CONTENTSIZE_UNKNOWN
            assert header.content_bytes == (None if unknown else want.content_size)


# ------------------------------------------------------------------------------------ gzip, bzip2, xz, plain

COMPRESS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
DECODER = {
    "gz": lambda: zlib.decompressobj(31),
    "bz2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ),
}
MEMBERS = {
    f"{kind} {name}": (kind, data, want)
    for kind, compress in COMPRESS.items()
    for name, data, want in [
        ("one", compress(TEXT), TEXT),
        ("empty member", compress(b""), b""),
        ("many", b"".join(map(compress, PARTS)), TEXT),
        ("empty between", compress(PARTS[0]) + compress(b"") * 3 + compress(TEXT[700:]) + compress(b""), TEXT),
        ("padding", compress(PARTS[0]) + bytes(700) + compress(TEXT[700:]) + bytes(300_000), TEXT),
        ("long", compress(TEXT * 3000), TEXT * 3000),
    ]
}
MEMBERS["gz stored"] = ("gz", gzip.compress(TEXT, 0), TEXT)
NOISE = random.Random(1).randbytes(250_000)
MEMBERS["bz2 blocks"] = ("bz2", bz2.compress(NOISE, 1), NOISE)
MEMBERS["xz sha256"] = ("xz", lzma.compress(TEXT, check=lzma.CHECK_SHA256), TEXT)
MEMBERS["xz no check"] = ("xz", lzma.compress(TEXT, check=lzma.CHECK_NONE), TEXT)


@pytest.mark.parametrize("name", MEMBERS)
def test_members(name, tmp_path):
    kind, data, want = MEMBERS[name]
    for size in (1, 7, 1000, 1 << 20):
        if len(want) // size > 20_000:
            continue
        assert streams.read_all(stream_of(data, kind, tmp_path), size) == want
        if len(data) < 10_000:
            assert streams.read_all(stream_of(data, kind, odd=size), size) == want
    stream = stream_of(data, kind, tmp_path)
    streams.read_all(stream, 100_000)
    assert stream.compressed_position() == len(data)


@pytest.mark.parametrize("kind", COMPRESS)
def test_members_cut_at_every_byte(kind):
    _, data, _ = MEMBERS[f"{kind} many"]
    ends, rest = set(), data
    while rest:
        member = DECODER[kind]()
        member.decompress(rest)
        rest = member.unused_data
        ends.add(len(data) - len(rest))
    assert len(ends) == 3
    check_cut(data, kind, ends, TEXT)


@pytest.mark.parametrize("kind", COMPRESS)
def test_members_corrupt(kind):
    data = COMPRESS[kind](PARTS[0])
    first_protected = {"gz": 10, "bz2": 4, "xz": 0}[kind]  # earlier bytes are flags, a time, a level
    n_same = 0
    for at in range(first_protected, len(data)):
        damaged = bytearray(data + data)
        damaged[len(data) + at] ^= 1
        stream = stream_of(bytes(damaged), kind, odd=at)
        if kind == "bz2" and at == len(data) - 1:  # the last bits are padding
            n_same += streams.read_all(stream, 1000) == PARTS[0] * 2
            continue
        with pytest.raises(InputError, match=rf"test: byte \d+: .*(member|stream) that begins at byte {len(data)}"):
            streams.read_all(stream, 1000)
    assert n_same == (kind == "bz2")
    with pytest.raises(InputError, match=f"begins at byte {len(data)}"):
        streams.read_all(stream_of(data + b"garbage", kind, odd=1), 1000)


def test_xz_padding_must_be_complete():
    data = lzma.compress(TEXT)
    for n in range(1, 9):
        stream = stream_of(data + bytes(n) + data, "xz", odd=n)
        if n % 4 == 0:
            assert streams.read_all(stream, 1000) == TEXT * 2
            continue
        with pytest.raises(InputError, match=f"byte {len(data) + n}: {n} zero bytes"):
            streams.read_all(stream, 1000)


def test_xz_dictionary_is_bounded():
    """A stream with a dictionary of 4 GiB - 1 is rejected without allocating it."""
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0}]
    data = bytearray(lzma.compress(TEXT, filters=filters))
    data[16] = 40  # the dictionary size in the block header: 2^32 - 1
    data[12 + 8 : 12 + 12] = zlib.crc32(bytes(data[12 : 12 + 8])).to_bytes(4, "little")
    with pytest.raises(InputError, match="needs more than"):
        streams.read_all(stream_of(bytes(data), "xz", odd=1), 1000)


def test_plain(tmp_path):
    for data in (b"", TEXT):
        for size in (1, 7, 5000):
            assert streams.read_all(stream_of(data, "none", tmp_path), size) == data
            assert streams.read_all(stream_of(data, "none", odd=size), size) == data


def test_missing_and_unreadable(tmp_path):
    with pytest.raises(InputError, match="nothing: cannot be opened: No such file"):
        RawFile(str(tmp_path / "nothing"))
    with pytest.raises(InputError):
        RawFile(str(tmp_path)).read(1)
