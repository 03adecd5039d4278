"""JsonlReader at every block size compared with json.loads, and invalid lines."""

import json
import math
import tracemalloc

import pytest
import streams
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import longest as oracle

from pyunitok.corpus import jsonl
from pyunitok.corpus.json_text import key_path
from pyunitok.corpus.jsonl import JsonlReader
from pyunitok.errors import InputError

MAX_LINE = 1 << 20


def read(data, key="text", block_bytes=1000, split=len, max_line=MAX_LINE):
    reader = JsonlReader(streams.Bytes(data), key, split, max_line)
    docs, n_bytes = streams.read_documents(reader, block_bytes)
    assert n_bytes == len(data)
    return docs


TEXTS = ["", "a", "two\nlines", "吾輩は猫である。", "😀" * 9, '\x00\u2028\\"/', "long " * 30, "é"]
LINES = b"".join(
    json.dumps({"id": i, "text": text, "meta": {"text": None}}, ensure_ascii=i % 2 == 0).encode() + end
    for i, (text, end) in enumerate(zip(TEXTS * 2, [b"\n", b"\r\n", b"\n\n", b"\n \t\n"] * 4, strict=True))
)


@pytest.mark.parametrize("batch_bytes", [1, 40, 300, 1 << 18])
@pytest.mark.parametrize("ending", [b"", b'{"text":"no newline at the end"}', b"\n\n", b"  \r\n "])
def test_every_block_size(monkeypatch, batch_bytes, ending):
    monkeypatch.setattr(jsonl, "BATCH_BYTES", batch_bytes)
    monkeypatch.setattr(jsonl, "MAX_DOCS", 4)
    for bom in (b"", b"\xef\xbb\xbf"):
        data = bom + LINES + ending
        want = oracle.documents_of_jsonl(data, ["text"])
        for block_bytes in [*range(1, 200), 1000, 10_000]:
            assert read(data, block_bytes=block_bytes, split=streams.split_at_multiples(3)) == want


@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(st.text(max_size=40), st.sampled_from(["", " ", "\r", "\n", "\n\r\n", "  \n\n"]), st.booleans()),
        max_size=12,
    ),
    st.integers(1, 90),
    st.integers(0, 9),
)
def test_any(lines, block_bytes, seed):
    data = "\n".join(
        json.dumps({"a": 1, "text": text} if plain else {"text": text, "b": [{}]}, ensure_ascii=plain) + end
        for text, end, plain in lines
    ).encode()
    want = [text.encode() for text, _, _ in lines]
    assert oracle.documents_of_jsonl(data, ["text"]) == want
    assert read(data, block_bytes=block_bytes, split=streams.split_sometimes(seed)) == want


def test_empty_and_blank_files():
    for data in (b"", b"\n", b" \r\n\t", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"):
        assert read(data) == []


def test_keys():
    assert key_path("text") == ["text"]
    assert key_path("a.b") == ["a", "b"]
    assert key_path(r"a\.b.c") == ["a.b", "c"]
    assert read(b'{"a":{"c":1,"b":"x"},"b":2}', "a.b") == [b"x"]
    assert read(rb'{"a.b":"x"}', r"a\.b") == [b"x"]
    assert read('{"本文 1":"x"}'.encode(), "本文 1") == [b"x"]
    assert read(rb'{"\u0074ext":"x"}') == [b"x"]
    assert read(b'{"text":"x","text":"y"}') == [b"y"]


BAD = {
    b'{"text":"a"': "byte 11: the line ends inside the object",
    b'{"text":"a': "byte 10: the line ends inside a string",
    b"plain": "byte 0: expected an object",
    b' ["text"]': "byte 1: expected an object",
    b'{"text":null}': "byte 8: the field 'text' is null, not a string",
    b'{"text": -1}': "byte 9: the field 'text' is a number, not a string",
    b'{"text":NaN}': "byte 8: the field 'text' is a number, not a string",
    b'{"text":["a"]}': "byte 8: the field 'text' is an array, not a string",
    b'{"txt":"a"}': "the object has no field 'text' (--text-key)",
    b'{"text":"a"} {"text":"b"}': "byte 13: trailing characters",
    b'{"text":"a"}{"text":"b"}': "byte 12: trailing characters",
    b'{"text":"\xff"}': "byte 9: the text is not valid UTF-8",
    '{"text":"café中'.encode() + b'\xed\xa0\x80"}': "byte 17: the text is not valid UTF-8",
    rb'{"text":"ab\ud800"}': r"byte 11: the text has a lone surrogate (\ud800)",
    rb'{"text":"\ud800\u0041"}': r"byte 9: the text has a lone surrogate (\ud800)",
    rb'{"text":"\ud800\ud800\udc00"}': r"byte 9: the text has a lone surrogate (\ud800)",
    rb'{"text":"\udc00","x":"\ud800"}': r"byte 9: the text has a lone surrogate (\udc00)",
    b'{"text":"a","x":nan}': "byte 16: expected a value",
    b'{"text":"a","x":-}': "byte 17: expected a digit",
    b'{"text":"a","x":1.}': "byte 18: expected a digit",
    b'{"text":"a","x":01}': "byte 17: expected a comma",
    b'{"text":"a",}': "byte 12: expected a field name",
    b'{"text" "a"}': "byte 8: expected a colon",
    b'{"text":"a\tb"}': "byte 10: a control character",
    b'{"text":"a\\xb"}': "byte 10: this backslash",
    b'{"x":"a\\u12g4","text":""}': "byte 7: this backslash",
    b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b',"text":"a"}': "byte 516: more than 512 nested objects and arrays",
    b'{"text":': "byte 8: the line ends inside the object",
}


@pytest.mark.parametrize(("line", "says"), BAD.items(), ids=[str(line[:30]) for line in BAD])
@pytest.mark.parametrize("before", [0, 3])
def test_bad_lines_are_named(line, says, before):
    data = b'{"text":"x"}\n' * before + b"\n" + line + b'\n{"text":"y"}\n'
    with pytest.raises(InputError) as caught:
        read(data)
    assert f"test: line {before + 2}: {says}" in str(caught.value)
    assert "--on-error skip" in str(caught.value)


def test_an_object_on_two_lines_and_two_objects_on_one_line():
    # The number of values equals the number of lines.
    for data in (b'{"text":"a"}{"text":"b"}\n{"text":\n"c"}\n', b'{"text":"a"}{"text":"b"}\n{"x":{}\n,"text":"c"}\n'):
        with pytest.raises(InputError, match="line 1:"):
            read(data)


def test_constants_that_python_writes():
    """Python's json writes NaN and Infinity, which JSON forbids. Regression: they were rejected."""
    for value in (math.nan, math.inf, -math.inf):
        assert read(json.dumps({"score": value, "text": "a", "x": [value]}).encode()) == [b"a"]


def test_a_name_may_contain_any_character():
    """Regression: a backslash or quote in --text-key caused a traceback."""
    for name in ("\\", '"', "\n", "", "\x7f", "é", "\\n", "a\\"):
        for ensure_ascii in (True, False):
            assert read(json.dumps({"text": "b", name: "a"}, ensure_ascii=ensure_ascii).encode(), name) == [b"a"]


def test_lone_surrogate_elsewhere_does_not_matter():
    data = b'{"text":"a\\ud83d\\ude00","x":"\\ud800"}\n{"x":"\\udc00","text":"b","n":12e999}\n{"text":"c"}\n'
    assert read(data) == ["a😀".encode(), b"b", b"c"]


@pytest.mark.parametrize("batch_bytes", [1, 7, 1 << 18])
def test_max_line_bytes(monkeypatch, batch_bytes):
    monkeypatch.setattr(jsonl, "BATCH_BYTES", batch_bytes)
    line = b'{"text":"abc"}'
    for ending in (b"\n", b""):
        data = line + b"\n" + line + ending
        assert read(data, max_line=len(line)) == [b"abc"] * 2
        with pytest.raises(InputError, match=f"test: line 2: longer than {len(line)} bytes"):
            read(line + b"\n " + line + ending, max_line=len(line))


def test_endless_line_in_bounded_memory():
    class Endless(streams.Bytes):
        def readinto(self, buffer):
            buffer[:] = b"{" * len(buffer)
            return len(buffer)

    tracemalloc.start()
    with pytest.raises(InputError, match="line 1: longer than 3000000 bytes"):
        streams.read_documents(JsonlReader(Endless(b""), "text", len, 3_000_000), 1000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8_000_000


def test_long_line_then_short_ones():
    texts = ["x" * 3_000_000, *(["y" * 100] * 50_000), "z" * 1_000_000]
    data = b"".join(json.dumps({"text": text}).encode() + b"\n" for text in texts)
    assert read(data, block_bytes=1 << 16, max_line=1 << 22) == [text.encode() for text in texts]
