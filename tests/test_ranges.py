"""Dividing a file into ranges, which must add up to the file, and finding where its frames begin."""

import io
import json
import struct

import pytest
import streams
from hypothesis import given
from hypothesis import strategies as st
from oracle import longest as oracle
from test_readahead import FRAMES, file_of
from test_zst import PARTS, TEXT, ZST, frame, frame_ends, seekable, skippable
from toys.plans import make_plan

from pyunitok.corpus import ranges as ranges_module
from pyunitok.corpus import stream as stream_module
from pyunitok.corpus.frame_index import frame_begins, read_table, scan
from pyunitok.corpus.inputs import find
from pyunitok.corpus.jsonl import JsonlReader
from pyunitok.corpus.ranges import Range, open_range, plan_ranges
from pyunitok.corpus.text import TextReader
from pyunitok.errors import InputError


def documents(source, separator):
    stream = stream_module.open(source)
    if source.format == "jsonl":
        reader = JsonlReader(stream, "text", len, 1 << 20)
    else:
        reader = TextReader(stream, separator, len)
    ret = streams.read_documents(reader, 1000).documents
    stream.close()
    return ret


def check(path, separator, n_bytes, want):
    (source,) = find([str(path)], input_format="jsonl" if "jsonl" in path.name else "text")
    parts = plan_ranges(source, separator, n_bytes)
    assert parts[0].begin == 0 and parts[-1].end is None
    assert [part.end for part in parts[:-1]] == [part.begin for part in parts[1:]]
    assert [doc for part in parts for doc in documents(open_range(source, part, separator), separator)] == want


@given(
    st.text("ab\n", max_size=200).map(str.encode), st.text("ab\n", min_size=1, max_size=4).map(str.encode),
    st.integers(1, 100), st.integers(1, 40), st.sampled_from(["none", "zst"]), st.integers(1, 9),
)  # fmt: skip
def test_text(tmp_path_factory, data, separator, n_bytes, frame_bytes, compression, chunk_bytes):
    path = tmp_path_factory.mktemp("ranges") / ("a.txt" if compression == "none" else "a.txt.zst")
    parts = [data[k : k + frame_bytes] for k in range(0, len(data), frame_bytes)] or [b""]
    path.write_bytes(data if compression == "none" else b"".join(map(frame, parts)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranges_module, "CHUNK_BYTES", chunk_bytes)
        check(path, separator, n_bytes, oracle.documents_of_text(data, separator)[0])


@given(st.lists(st.text(max_size=30), max_size=12), st.integers(1, 60), st.integers(1, 300), st.booleans())
def test_json_lines(tmp_path_factory, texts, frame_bytes, n_bytes, bom):
    path = tmp_path_factory.mktemp("ranges") / "a.jsonl.zst"
    data = b"\xef\xbb\xbf" * bom + b"\n\n".join(
        json.dumps({"text": text}, ensure_ascii=False).encode() for text in texts
    )
    path.write_bytes(b"".join(frame(data[k : k + frame_bytes]) for k in range(0, max(len(data), 1), frame_bytes)))
    check(path, b"\n", n_bytes, [text.encode() for text in texts])


def test_a_file_that_cannot_be_divided(tmp_path):
    (tmp_path / "a.txt.zst").write_bytes(frame(TEXT) * 3)
    (source,) = find([str(tmp_path / "a.txt.zst")])
    assert plan_ranges(source, None, 1) == [Range()]
    assert open_range(source, Range(), None) is source
    assert len(plan_ranges(source, b" ", 1)) == 3
    assert len(plan_ranges(source, b" ", 1 << 20)) == 1


def test_a_range_through_the_pipeline(toy, tmp_path):
    from test_position import blocks_of, joined

    lines = b"".join(b"%d the aaa\n" % k for k in range(500))
    (tmp_path / "a.txt.zst").write_bytes(b"".join(frame(lines[k : k + 333]) for k in range(0, len(lines), 333)))
    (source,) = find([str(tmp_path / "a.txt.zst")])
    whole = joined(blocks_of(make_plan([source], tmp_path / "ids", toy, 300, b"\n")))
    parts = [open_range(source, part, b"\n") for part in plan_ranges(source, b"\n", 150)]
    assert len(parts) > 2
    plan = make_plan(parts, tmp_path / "ids", toy, 300, b"\n", threads=2, block_bytes=100)
    assert joined(blocks_of(plan))[:2] == whole[:2]
    damaged = bytearray((tmp_path / "a.txt.zst").read_bytes())
    damaged[-1] ^= 1
    (tmp_path / "a.txt.zst").write_bytes(damaged)
    with pytest.raises(InputError, match=r"a\.txt\.zst"):
        last = open_range(source, Range(frame_begins(source.path)[-1]), b"\n")
        blocks_of(make_plan([last], tmp_path / "ids", toy))


# ----------------------------------------------------------------------------------------------- beginnings of frames


@pytest.mark.parametrize("name", ZST)
def test_scan(name, tmp_path):
    data = ZST[name][0]
    begins = [at for at in [0, *sorted(frame_ends(data))[:-1]] if data[at + 1 : at + 4] != b"\x2a\x4d\x18"]
    assert scan(io.BytesIO(data), "test") == begins
    (tmp_path / "a.zst").write_bytes(data)
    assert frame_begins(str(tmp_path / "a.zst")) == begins
    table = read_table(io.BytesIO(data))
    assert table == (begins if name == "seekable" else None)


@given(FRAMES)
def test_scan_any_frames(frames):
    data, _ = file_of(frames, TEXT)
    ends = [0, *sorted(frame_ends(data))]
    assert scan(io.BytesIO(data), "test") == [at for at in ends[:-1] if data[at + 1 : at + 4] != b"\x2a\x4d\x18"]


def test_scan_names_damage():
    data = frame(TEXT) + frame(TEXT[:50])
    for n in range(len(data)):
        if n not in (0, len(frame(TEXT))):
            with pytest.raises(InputError, match="test: byte"):
                scan(io.BytesIO(data[:n]), "test")
    with pytest.raises(InputError, match=f"byte {len(data)}: no zstd frame begins here"):
        scan(io.BytesIO(data + b"x"), "test")


def test_false_and_damaged_tables(tmp_path):
    data = seekable(PARTS)
    begins = scan(io.BytesIO(data), "test")
    n_table = 3 * 12 + 9
    for at in range(len(data) - n_table - 8, len(data)):
        for bit in range(8):
            damaged = bytearray(data)
            damaged[at] ^= 1 << bit
            table = read_table(io.BytesIO(bytes(damaged)))
            assert table is None or table == begins  # changes to the table's checksum have no effect
    sizes = [len(frame(part, write_checksum=False)) for part in PARTS]
    for entries in (
        [(sizes[0] + sizes[1], len(PARTS[0]) + len(PARTS[1])), (sizes[2], len(PARTS[2]))],  # two frames in one entry
        [(0, 0), *zip(sizes, map(len, PARTS), strict=True)],
        [*zip(sizes[:2], map(len, PARTS[:2]), strict=True)],
        [(size, 1) for size in sizes],
    ):
        table = b"".join(struct.pack("<II", *entry) for entry in entries) + struct.pack(
            "<IBI", len(entries), 0, 0x8F92EAB1
        )
        lying = data[: sum(sizes)] + skippable(table, 14)
        assert read_table(io.BytesIO(lying)) is None
        (tmp_path / "a.zst").write_bytes(lying)
        assert frame_begins(str(tmp_path / "a.zst")) == begins
