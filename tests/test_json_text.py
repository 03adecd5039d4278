"""The string field of JSON lines: unescaping against json.loads, many lines against one by one, and what remains."""

import json

import numpy as np
import pytest
import streams
from hypothesis import given
from hypothesis import strategies as st

from pyunitok import _ffi
from pyunitok.corpus.json_text import TextField, count_blank, find_line_ends
from pyunitok.corpus.jsonl import JsonlReader
from pyunitok.errors import InputError

# Pieces of which JSON strings are made, right and wrong.
ESCAPES = r"\n \/ \" \\ \q \u00e9 \u0000 \uD83D\uDE00 \ud83d \udE00 \u12 \u12g4 xxxxxxxxx"
PIECES = st.sampled_from([*'aé吾😀\x7f\u2028/"\\\x1f\n', *ESCAPES.split()])


def loads(string: bytes) -> bytes | None:
    """The text of a JSON string by Python's own parser; None if it has none in UTF-8."""
    try:
        return json.loads(string.decode()).encode()
    except (ValueError, AttributeError):  # UnicodeError is a ValueError
        return None


def unescape(joined: bytes, n_strings: int) -> list[bytes]:
    out, offsets = np.empty(len(joined), np.uint8), np.empty(n_strings + 1, np.int64)
    n = _ffi.json_unescape(joined, n_strings, out, offsets)
    return [out[offsets[i] : offsets[i + 1]].tobytes() for i in range(n)]


@given(st.lists(PIECES, max_size=9).map("".join))
def test_pieces_as_python_reads_them(content):
    string = b'"' + content.encode() + b'"'
    want = loads(string)
    got = unescape(string, 1)
    if want is not None:
        assert got == [want]
    elif got:  # it ends before the last quote, and something else follows
        assert (len(string) > 2 and loads(string[: string.index(b'"', 1) + 1]) == got[0]) or '"' in content


@given(st.lists(st.text(max_size=50), max_size=6), st.lists(st.booleans(), min_size=6, max_size=6))
def test_any_text_comes_back(texts, plain):
    strings = [json.dumps(text, ensure_ascii=p).encode() for text, p in zip(texts, plain, strict=False)]
    assert unescape(b"".join(strings), len(texts)) == [text.encode() for text in texts]
    assert unescape(b"".join(strings) + b'"', len(texts) + 1) == [text.encode() for text in texts]


@given(st.binary(max_size=12))
def test_any_bytes_as_python_reads_them(content):
    want = loads(b'"' + content + b'"')
    got = unescape(b'"' + content + b'"', 1)
    if b'"' not in content:
        assert got == ([] if want is None else [want])


def test_unescape_checks_its_arrays():
    for out, offsets in (
        (np.empty(2, np.uint8), np.empty(2, np.int64)),
        (np.empty(3, np.uint8), np.empty(1, np.int64)),
    ):
        with pytest.raises(ValueError):
            _ffi.json_unescape(b'"a"', 1, out, offsets)


LINES = st.sampled_from(
    [
        b'{"text":"a"}',
        b'{"n":1,"text":"\\u00e9\\n","x":{"text":2}}',
        b' {"text":"b"} ',
        b'{"text":"c"}\r',
        b"",
        b" \r",
        b'{"text":1,"text":"y"}',
        b'{"text":"\\ud800","text":"y"}',
        b'{"text":"\xff","text":"y"}',
        b'{"x":"\\ud800","text":"z"}',
        b'{"text":"\\ud800"}',
        b'{"text":"\xff"}',
        b'{"text":null}',
        b"{}",
        b"{",
        b'{"text":',
        b'"c"}',
        b'{"text":"a"}{"text":"b"}',
    ]
)


@given(st.lists(LINES, max_size=8), st.integers(1, 400), st.booleans())
def test_texts_and_bad_lines_do_not_depend_on_their_neighbours(lines, block_bytes, metadata):
    field, want, bad = TextField("text"), [], []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            want.append((number, field.of_line(line.strip())))
        except ValueError as error:
            bad.append((number, str(error)))
    data = b"\n".join(lines)
    reader = JsonlReader(streams.Bytes(data), "text", streams.split_at_multiples(3), 1000, skip=True, metadata=metadata)
    got = streams.read_documents(reader, block_bytes)
    assert got.documents == [text for _, text in want]
    assert [(one.line, one.error) for one in got.bad] == bad
    assert got.n_bytes == len(data)
    if metadata:
        assert [json.loads(line)["line"] for line in got.metadata] == [number for number, _ in want]
        assert {json.loads(line)["file"] for line in got.metadata} <= {"test"}
    # A document's number counts those that were left out.
    numbers = sorted([(number, True) for number, _ in want] + [(number, False) for number, _ in bad])
    assert got.numbers == [k for k, (_, good) in enumerate(numbers) if good]
    if bad:
        with pytest.raises(InputError, match=f"test: line {bad[0][0]}: "):
            streams.read_documents(JsonlReader(streams.Bytes(data), "text", len, 1000), block_bytes)


@pytest.mark.parametrize("block_bytes", [7, 60, 1000])
def test_lines_that_are_too_long_are_left_out(block_bytes):
    lines = [
        b'{"text":"a"}',
        b'{"text":"' + b"b" * 500 + b'"}',
        b" " * 200,
        b'{"text":"c"}',
        b"d" * 5000,
        b'{"text":"e"}',
    ]
    for ending in (b"", b"\n", b"\n" + b"f" * 300):
        data = b"\n".join(lines) + ending
        got = streams.read_documents(JsonlReader(streams.Bytes(data), "text", len, 100, skip=True), block_bytes)
        assert got.documents == [b"a", b"c", b"e"]
        assert [one.line for one in got.bad] == [2, 3, 5, 7][: 3 + (len(ending) > 1)]
        assert all("longer than 100 bytes" in one.error for one in got.bad)
        assert got.n_bytes == len(data)


RESTS = {
    (b'{"text":"a"}', "text"): {},
    (b'{"id": 1, "text": "a", "meta": {"x": [1, 2], "text": "b"}}', "text"): {
        "id": 1,
        "meta": {"x": [1, 2], "text": "b"},
    },
    (b'{"a": {"b": "t", "c": 1}, "d": 2}', "a.b"): {"a": {"c": 1}, "d": 2},
    (b'{"a": {"b": "t"}, "d": 2}', "a.b"): {"d": 2},
    (rb'{"a.b": "t", "d": "\u00e9"}', r"a\.b"): {"d": "é"},
    (b'{"text": "t", "n": 12345678901234567890123, "f": 1.50}', "text"): {"n": 12345678901234567890123, "f": 1.5},
    (b'{"text": "t", "x": "\\ud800", "y": 1}', "text"): {"x": "\ud800", "y": 1},
    (b'{"a": {"b": "t"}, "x": "\\ud800"}', "a.b"): {"x": "\ud800"},
    (b'{"a": {"b": "t", "c": 1}, "x": "\\ud800"}', "a.b"): {"a": {"c": 1}, "x": "\ud800"},
    (b'{"text": "t", "x": "\xff"}', "text"): {"x": "\ufffd"},
}


@pytest.mark.parametrize(("line", "key"), RESTS)
def test_rest_of_line(line, key):
    rest = TextField(key).rest_of_line(line)
    assert json.loads(rest) == RESTS[line, key]
    assert b" " not in rest and b"\n" not in rest


def test_numbers_stay_as_they_are_written():
    assert TextField("text").rest_of_line(b'{"text":"", "f": 1.50, "e": 1E999}') == b'{"f":1.50,"e":1E999}'


@given(st.lists(LINES, max_size=8).map(b"\n".join))
def test_line_ends(data):
    array = np.frombuffer(data, np.uint8)
    ends = find_line_ends(array, len(data)).tolist()
    assert len(ends) == data.count(b"\n") + (len(data) > 0 and not data.endswith(b"\n"))
    if ends:
        parts = [data[a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True)]
        assert b"".join(parts) == data
        assert count_blank(array, np.array(ends)) == sum(not part.strip() for part in parts)
