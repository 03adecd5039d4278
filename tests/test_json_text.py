"""The text field of JSON lines compared with json.loads, at every CPU level and block boundary; metadata."""

import json
import random

import numpy as np
import pytest
import streams
from hypothesis import given, settings
from hypothesis import strategies as st

from pyunitok._c import library
from pyunitok._c import text as c_text
from pyunitok.corpus.json_rest import RestOfLine
from pyunitok.corpus.json_text import TextField, key_path
from pyunitok.corpus.jsonl import JsonlReader
from pyunitok.errors import CpuError, InputError

CPUS = [cpu for cpu in library.CPUS if library.cpu_supported(cpu)]


def loads(line: bytes, path: list[str]) -> bytes | None:
    """The text of a line according to Python's parser; None if it has no valid text."""
    try:
        value = json.loads(line.decode("utf-8", "surrogateescape"))
        if not isinstance(value, dict):
            return None
        for name in path:
            value = value[name]
        return value.encode()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):  # UnicodeError is a ValueError
        return None


def read_line(line: bytes, key: str) -> tuple[bytes | None, str]:
    """The text and the error message, which must be equal at every CPU level."""
    got = set()
    for cpu in CPUS:
        try:
            got.add((TextField(key, cpu=cpu).of_line(line), ""))
        except ValueError as error:
            got.add((None, str(error)))
    assert len(got) == 1, got
    return got.pop()


# Valid and invalid parts of lines.
ESCAPES = r"\n \/ \" \\ \q \u00e9 \u0000 \uD83D\uDE00 \ud83d \udE00 \u12 \u12g4 xxxxxxxxx"
CHARACTERS = [*'aé吾😀\x7f\u2028/"\\\x1f', "x" * 64]
TEXTS = st.lists(st.sampled_from([*CHARACTERS, *ESCAPES.split()]), max_size=9).map("".join)
PLAIN = st.text(max_size=80)
WORDS = """1 -0 0.5 1e5 -1.25E-7 01 1. - .5 1e true false null nul NaN -NaN Infinity -Infinity +1 {} [] [,] {"a"} ""
 "text" [[{}]] {"text":"x"} {"a":{"text":""}}"""
NAMES = st.sampled_from(["text", "a", "b", "te\\u0078t", "\\u0061", "é", "text2", "\\ud800", ""])


def strings(contents):
    return contents.map(lambda content: f'"{content}"')


def objects(values):
    return st.lists(st.tuples(NAMES, st.sampled_from([":", ": ", "\t:\r"]), values), max_size=4).map(
        lambda items: "{" + ", ".join(f'"{name}"{colon}{value}' for name, colon, value in items) + "}"
    )


VALUES = st.recursive(
    strings(TEXTS) | PLAIN.map(json.dumps) | st.sampled_from(WORDS.split()),
    lambda values: objects(values) | st.lists(values, max_size=3).map(lambda items: "[" + ",".join(items) + "]"),
    max_leaves=12,
)
CHANGES = st.lists(st.tuples(st.integers(0, 10_000), st.binary(max_size=3)), min_size=1, max_size=2)
KEYS = st.sampled_from(["text", "a.text", "a.b", "a.a.a", "é", "text2"])


@settings(max_examples=300)
@given(objects(VALUES), KEYS)
def test_objects_match_json_loads(line, key):
    data = line.encode("utf-8", "surrogatepass")
    assert read_line(data, key)[0] == loads(data, key_path(key))


@settings(max_examples=300)
@given(objects(VALUES), KEYS, CHANGES)
def test_damaged_objects_match_json_loads(line, key, changes):
    data = line.encode("utf-8", "surrogatepass")
    for at, put in changes:
        at %= len(data) + 1
        data = data[:at] + put + data[at + len(put) // 2 :]
    data = data.replace(b"\n", b" ")
    text, message = read_line(data, key)
    assert text == loads(data, key_path(key))
    assert text is not None or message


@pytest.mark.parametrize("special", ['"', "\\\\", "\\u00e9", "é", "中", "😀", "\x00", "\x1f", "\xff", "\xc3", "\ud800"])
def test_every_position_of_a_block_boundary(special):
    """Puts a special byte at each position of blocks of 8 to 64 bytes, and at various distances from the end."""
    special = special.encode("latin-1") if special in "\xff\xc3" else special.encode("utf-8", "surrogatepass")
    for n_before in range(80):
        for n_behind in (0, 1, 7, 31, 63, 64, 70):
            line = b'{"text":"' + b"x" * n_before + special + b"y" * n_behind + b'"}'
            want = loads(line, ["text"])
            text, message = read_line(line, "text")
            assert text == want
            if want is None and b"trailing" not in message.encode():
                assert message.startswith(("byte", "expected"))


@settings(max_examples=200)
@given(st.integers(0, 1 << 32), st.sampled_from([0, 1, 2, 3]))
def test_utf8(seed, kind):
    """Parses long texts of characters of every length, unchanged and with one changed byte."""
    chance = random.Random(seed)
    ranges = [(0x20, 0x7F), (0x80, 0x7FF), (0x800, 0xD7FF), (0xE000, 0xFFFF), (0x10000, 0x10FFFF)]
    text = "".join(chr(chance.randint(*chance.choice(ranges))) for _ in range(chance.randint(0, 150)))
    data = bytearray(text.replace('"', "").replace("\\", "").encode())
    if kind and data:
        at = chance.randrange(len(data))
        if kind == 1:
            data[at] = chance.choice([0x80, 0xBF, 0xC0, 0xC1, 0xC2, 0xE0, 0xED, 0xF0, 0xF4, 0xF5, 0xFF, 0x41])
        elif kind == 2:
            del data[at]
        else:
            del data[at:]
    line = b'{"text":"%b"}' % bytes(data)
    text, message = read_line(line, "text")
    try:
        want = bytes(data).decode().encode()
    except UnicodeDecodeError as error:
        assert text is None
        assert message.startswith(f"byte {9 + error.start}: the text is not valid UTF-8")
    else:
        assert text == want


def test_arrays_are_checked():
    lines = c_text.JsonLines([b"text"], 100)
    data = np.frombuffer(b'{"text":"a"}', np.uint8)
    for out, offsets, at in ((11, 2, 0), (12, 0, 0), (12, 2, 13), (12, 2, -1)):
        place = lines.new_place()
        place.at = at
        with pytest.raises(ValueError, match="too small"):
            lines.read(data, np.empty(out, np.uint8), np.empty(offsets, np.int64), place)
    for cpu in set(library.CPUS) - set(CPUS):
        with pytest.raises(CpuError):
            c_text.JsonLines([b"text"], 100, cpu)


LINES = st.sampled_from([
    b'{"text":"a"}', b'{"n":1,"text":"\\u00e9\\n","x":{"text":2}}', b' {"text":"b"} ', b'{"text":"c"}\r', b"", b" \r",
    b'{"text":1,"text":"y"}', b'{"text":"\\ud800","text":"y"}', b'{"text":"\xff","text":"y"}',
    b'{"x":"\\ud800","text":"z"}', b'{"text":"\\ud800"}', b'{"text":"\xff"}', b'{"text":null}', b"{}", b"{",
    b'{"text":', b'"c"}', b'{"text":"a"}{"text":"b"}',
])  # fmt: skip


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
    # Document numbers count skipped documents.
    numbers = sorted([(number, True) for number, _ in want] + [(number, False) for number, _ in bad])
    assert got.numbers == [k for k, (_, good) in enumerate(numbers) if good]
    if bad:
        with pytest.raises(InputError, match=f"test: line {bad[0][0]}: "):
            streams.read_documents(JsonlReader(streams.Bytes(data), "text", len, 1000), block_bytes)


@pytest.mark.parametrize("block_bytes", [7, 60, 1000])
def test_lines_that_are_too_long_are_skipped(block_bytes):
    lines = [
        b'{"text":"a"}', b'{"text":"' + b"b" * 500 + b'"}', b" " * 200, b'{"text":"c"}', b"d" * 5000, b'{"text":"e"}'
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
    (b'{"id": 1, "text": "a", "meta": {"x": [1, 2], "text": "b"}}', "text"):
        {"id": 1, "meta": {"x": [1, 2], "text": "b"}},
    (b'{"a": {"b": "t", "c": 1}, "d": 2}', "a.b"): {"a": {"c": 1}, "d": 2},
    (b'{"a": {"b": "t"}, "d": 2}', "a.b"): {"d": 2},
    (rb'{"a.b": "t", "d": "\u00e9"}', r"a\.b"): {"d": "é"},
    (b'{"text": "t", "n": 12345678901234567890123, "f": 1.50}', "text"): {"n": 12345678901234567890123, "f": 1.5},
    (b'{"text": "t", "x": "\\ud800", "y": 1}', "text"): {"x": "\ud800", "y": 1},
    (b'{"a": {"b": "t"}, "x": "\\ud800"}', "a.b"): {"x": "\ud800"},
    (b'{"a": {"b": "t", "c": 1}, "x": "\\ud800"}', "a.b"): {"a": {"c": 1}, "x": "\ud800"},
    (b'{"text": "t", "x": "\xff"}', "text"): {"x": "\ufffd"},
    (b'{"text": "t", "\xff": "NaN", "y": [NaN, -Infinity]}', "text"): {"\ufffd": "NaN", "y": [None, None]},
    (rb'{"text": "t", "\ud800": "\\ud800\ud800\ud800\udc00"}', "text"): {"\ud800": "\\ud800\ud800\U00010000"},
}  # fmt: skip


@pytest.mark.parametrize(("line", "key"), RESTS)
def test_rest_of_line(line, key):
    rest = RestOfLine(key_path(key)).of_line(line)
    assert json.loads(rest) == RESTS[line, key]
    assert b" " not in rest and b"\n" not in rest


def test_numbers_keep_their_spelling():
    rest = RestOfLine(["text"])
    assert rest.of_line(b'{"text":"", "f": 1.50, "e": 1E999}') == b'{"f":1.50,"e":1E999}'
    # Regression: with a lone surrogate on the line, 5000 digits caused a traceback, and 1e400 became Infinity.
    line = b'{"text":"","n":%b,"e": 1e400,"x":"\\ud800"}' % (b"7" * 5000)
    assert rest.of_line(line) == b'{"n":%b,"e":1e400,"x":"\\ud800"}' % (b"7" * 5000)


@given(st.lists(LINES, max_size=8).map(b"\n".join), st.booleans(), st.sampled_from([3, 1000]))
def test_count(data, at_end, most):
    lines = data.split(b"\n")
    kept = lines if at_end else lines[:-1]
    if kept and not kept[-1] and at_end:
        kept = kept[:-1]
    place = TextField("text", most).count(np.frombuffer(data, np.uint8), at_end=at_end)
    assert place.n_lines == len(kept)
    assert place.n_docs == sum(len(line) > most or bool(line.strip()) for line in kept)
    assert place.at == (len(data) if at_end else data.rfind(b"\n") + 1)
