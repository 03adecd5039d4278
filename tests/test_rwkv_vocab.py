"""RWKV vocabulary files: literals compared with ast.literal_eval, errors that name the line, hostile files."""

from __future__ import annotations

import ast
import dataclasses
import io
import json
import random
import tokenize
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest
from conftest import find_shared
from hypothesis import example, given
from hypothesis import strategies as st
from toys.models import BYTES

from pyunitok.errors import ModelWarning, VocabularyError
from pyunitok.vocab import rwkv
from pyunitok.vocab.vocabulary import Vocabulary

WORDS = ["the", " the", "  ", "\t\n", "it's", '"', "'\"", "\\n", "日本", "é", "\u2028", "\U0001f600", "\x00\x7f"]
PIECES = BYTES + [w.encode() for w in WORDS if len(w.encode()) > 1] + [b"\xe6\x97", b"'\xff\"\\", b" " * 128]


def literal(piece: bytes) -> str:
    """A piece as a literal of the published file: a str if the bytes are valid UTF-8, otherwise bytes."""
    try:
        return repr(piece.decode())
    except UnicodeDecodeError:
        return repr(piece)


def text_file(pieces: list[bytes], end: str = "\n") -> bytes:
    return "".join(f"{i} {literal(p)} {len(p)}{end}" for i, p in enumerate(pieces, 1)).encode()


def with_lines(*lines: str, end: str = "\n") -> bytes:
    """The 256 single bytes on lines 1..256, then these lines."""
    return text_file(BYTES, end) + "".join(line + end for line in lines).encode("utf-8", "surrogatepass")


def pieces_of(vocabulary: Vocabulary) -> list[bytes]:
    data, offsets = vocabulary.data.tobytes(), vocabulary.offsets.tolist()
    return [data[i:j] for i, j in pairwise(offsets)]


def slow_read(data: bytes) -> dict[int, bytes]:
    """The definition of the format: parse each line with ast.literal_eval."""
    ret = {}
    for line in data.decode().removesuffix("\n").split("\n"):
        token_id, rest = line.removesuffix("\r").split(" ", 1)
        token = ast.literal_eval(rest.rsplit(" ", 1)[0])
        ret[int(token_id)] = token.encode() if isinstance(token, str) else token
    return ret


def fails(data: bytes, *words: str) -> None:
    with pytest.raises(VocabularyError) as error:
        rwkv.read_text(data, "v.txt")
    for word in ("v.txt", *words):
        assert word in str(error.value)


def shared_file(name: str) -> Path:
    return find_shared(f"models/rwkv/{name}")


# -------------------------------------------------------------------------------------------------- text ----


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("final", [True, False])
def test_read_text(end: str, final: bool) -> None:
    data = text_file(PIECES, end)
    vocabulary = rwkv.read_text(data if final else data.removesuffix(end.encode()), "v.txt")
    assert pieces_of(vocabulary) == PIECES
    assert vocabulary.ids.tolist() == list(range(1, len(PIECES) + 1))
    assert (vocabulary.data.dtype, vocabulary.offsets.dtype, vocabulary.ids.dtype) == ("u1", "i8", "i8")
    assert (vocabulary.eod_id, vocabulary.eod_piece, vocabulary.fallback_id) == (0, "<|endoftext|>", None)
    assert vocabulary.name == "v.txt"


def test_lines_in_any_order_with_gaps() -> None:
    lines = text_file(PIECES).decode().splitlines(keepends=True)
    lines.append("65535 'last' 4\n")
    random.Random(1).shuffle(lines)
    data = "".join(lines).encode()
    vocabulary = rwkv.read_text(data, "v.txt")
    assert dict(zip(vocabulary.ids.tolist(), pieces_of(vocabulary), strict=True)) == slow_read(data)


@pytest.mark.parametrize("name", ["rwkv_vocab_v20230424.txt", "rwkv_vocab_v20230424_crlf_pypi_rwkv.txt"])
def test_published_file(name: str) -> None:
    data = shared_file(name).read_bytes()
    vocabulary = rwkv.read_text(data, name)
    pieces = pieces_of(vocabulary)
    assert dict(zip(vocabulary.ids.tolist(), pieces, strict=True)) == slow_read(data)
    assert len(pieces) == 65529
    assert sum(len(p) > 1 and literal(p).startswith("b") for p in pieces) == 358  # as the docstring of rwkv.py says
    assert rwkv.looks_like_text(data[:4096])
    assert rwkv.write_text(vocabulary) == data.replace(b"\r\n", b"\n")


@given(st.lists(st.one_of(st.text(min_size=2, max_size=8), st.binary(min_size=2, max_size=8)), max_size=8))
@example(["''", '""', "'\"", "\\'", '\\"', "\\\\", "' '", "1 'a' 1", "\x85\x85", "\x1a\x1a", "\x0c\x0c"])
def test_any_repr(tokens: list[str | bytes]) -> None:
    unique = {t.encode() if isinstance(t, str) else t: t for t in tokens}
    lines = [f"{i} {t!r} {len(p)}" for i, (p, t) in enumerate(unique.items(), 300)]
    assert pieces_of(rwkv.read_text(with_lines(*lines), "v.txt"))[256:] == list(unique)


@pytest.mark.filterwarnings("ignore:invalid escape sequence", "ignore:invalid octal escape sequence")
@given(
    st.sampled_from(["", "b"]),
    st.sampled_from("'\""),
    st.lists(
        st.one_of(
            st.characters(codec="utf-8", exclude_characters="\n"),
            st.sampled_from(["\\n", "\\t", "\\r", "\\\\", "\\'", '\\"', "\\a", "\\b", "\\f", "\\v", "\\0", "\\7"]),
            st.sampled_from(["\\12", "\\377", "\\0001", "\\x00", "\\xfF", "\\x7f1", "'", '"', "\\", " ", "\r"]),
            st.sampled_from(["\\u00e9", "\\u3042", "\\U0001F600", "\\ud800", "\\U00110000", "\\x1", "\\u12"]),
        ),
        min_size=1,
    ),
)
@example("", "'", ["\0"])
@example("", "'", ["a", "\r"])
@example("", "'", ["\\", "\r"])
@example("", "'", ["it", "\\'", "s"])
@example("b", "'", ["\\u00e9"])
@example("b", '"', ["é"])
def test_any_literal(prefix: str, quote: str, parts: list[str]) -> None:
    """A literal is read as Python reads it, or rejected for a documented reason."""
    source = prefix + quote + "ab" + "".join(parts) + quote
    try:
        token = ast.literal_eval(source)
        expected = token.encode() if isinstance(token, str) else token
    except (SyntaxError, ValueError):  # UnicodeEncodeError is a ValueError
        expected = b""
    if not expected or "\r" in source or next(tokenize.generate_tokens(io.StringIO(source).readline)).string != source:
        # not a literal, several literals, a literal with a comment, or a literal on several lines
        fails(with_lines(f"300 {source} 5"), "line 257")
        return
    data = with_lines(f"300 {source} {len(expected)}")
    unknown_escape = prefix == "b" and ("\\u" in source or "\\U" in source)
    try:
        assert pieces_of(rwkv.read_text(data, "v.txt"))[256:] == [expected]
    except VocabularyError as error:
        assert "unsupported escape" in str(error) and ("\\" in source)
        assert unknown_escape or has_unknown_escape(source)


def has_unknown_escape(source: str) -> bool:
    body = source.replace("\\\\", "")
    return any(a == "\\" and b not in "abfnrtvxuU01234567'\"" for a, b in pairwise(body))


MALFORMED = [
    "", "300", "300 'ab'", "300 ab 2", "300 xabx 2", "300x'ab' 2", "300 'ab'x2", " 'ab' 2", "300 'ab' ",
    "300 'ab' 000002x", "300 'ab 2", "300 'ab\" 2", "300 'a'b' 3", "300 'ab''cd' 4", "300 'ab' 'cd' 4",
    "300  'ab' 2", "300 'ab'  2", "300 'ab' 2 ", " 300 'ab' 2", "300 'ab' -2", "300 'ab' 2.0", "300 u'ab' 2",
    "300 r'ab' 2", "300 '''ab''' 2", "300 ('ab') 2", "300 'a'+'b' 2", "300 __import__('os').getpid() 2",
    "300 'a\0b' 3", "300 'a\rb' 3", "300 'ab\\' 3", "٣٠٠ 'ab' 2", "300 'ab' ٢",
]  # fmt: skip


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "line, word",
    [
        *((line, "expected `id") for line in MALFORMED),
        ("123456 'ab' 2", "id 123456 is not in 1..65535"),
        ("300 b'é' 2", "ASCII"),
        ("300 'a\\d' 3", "unsupported escape"),
        ("300 '\\400' 2", "unsupported escape"),
        ("300 '\\N{DIGIT ONE}' 1", "unsupported escape"),
        ("300 b'\\u00e9' 6", "unsupported escape"),
        ("300 '\\x4' 3", "unsupported escape"),
        ("300 '\\U00110000' 4", "unsupported escape"),
        ("300 '\\ud83d\\ude00' 4", "U+D83D"),
        ("300 'ab' 3", "has 2 bytes, not 3"),
        ("300 '日本' 2", "has 6 bytes, not 2"),
        ("300 'ab' " + "9" * 5000, "has 2 bytes, not 999"),
        ("300 '' 0", "empty"),
        ("300 b'' 0", "empty"),
        ("0 'ab' 2", "<|endoftext|>"),
        ("000000 'ab' 2", "<|endoftext|>"),
        ("-1 'ab' 2", "id -1 is not in 1..65535"),
        ("65536 'ab' 2", "id 65536 is not in 1..65535"),
        ("9" * 5000 + " 'ab' 2", "is not in 1..65535"),
        ("-" + "9" * 5000 + " 'ab' 2", "is not in 1..65535"),
        ("18446744073709551916 'ab' 2", "is not in 1..65535"),  # the id is 300 + 2**64
        ("4 'ab' 2", "id 4 is also on line 4"),
        ("300 'a' 1", "is also on line 98"),
        ("300 b'a' 1", "is also on line 98"),
        ('300 "\\x61" 1', "is also on line 98"),
    ],
)
def test_bad_line(line: str, word: str, end: str) -> None:
    fails(with_lines("299 'fine' 4", line, "301 'fine, too' 9", end=end), "line 258", word)


def test_first_bad_line_is_named() -> None:
    fails(with_lines("300 'ab' 3", "301 'ab' 4"), "line 257")


def test_leading_zeros_are_digits() -> None:
    vocabulary = rwkv.read_text(with_lines("00300 'ab' 02", "0000000301 'cd' 0000002"), "v.txt")
    assert vocabulary.ids[256:].tolist() == [300, 301]


def test_missing_byte() -> None:
    fails(text_file(BYTES[:65] + BYTES[66:]), "1 of the 256 single bytes have no token: 0x41")
    fails(text_file(BYTES[:-9]), "9 of the 256", "0xf7, 0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, ...")
    fails(b"", "256 of the 256")


def test_not_utf8() -> None:
    fails(with_lines("300 'ab' 2") + b"301 '\xff' 1\n", "line 258", "invalid UTF-8")


def test_message_is_short() -> None:
    with pytest.raises(VocabularyError) as error:
        rwkv.read_text(b"x" * 10**6, "v.txt")
    assert len(str(error.value)) < 150


# ----------------------------------------------------------------------------------------------- hostile ----


@given(st.binary(max_size=200))
def test_random_bytes(data: bytes) -> None:
    for read in (rwkv.read_text, rwkv.read_json):
        with pytest.raises(VocabularyError, match=r"v\.bin"):
            read(data, "v.bin")


@given(st.text("0123456789 '\"\\bxu\r\n\0{}[]:,-", max_size=60))
def test_random_lines(text: str) -> None:
    for read in (rwkv.read_text, rwkv.read_json):
        with pytest.raises(VocabularyError, match=r"v\.bin"):
            read(text.encode(), "v.bin")


@given(st.data())
def test_damaged(data: st.DataObject) -> None:
    """A truncated file, or one with a changed byte, is rejected or read as slow_read() reads it."""
    good = text_file(PIECES, data.draw(st.sampled_from(["\n", "\r\n"])))
    at = data.draw(st.integers(0, len(good) - 1))
    bad = good[:at] if data.draw(st.booleans()) else good[:at] + data.draw(st.binary(max_size=2)) + good[at + 1 :]
    try:
        vocabulary = rwkv.read_text(bad, "v.txt")
    except VocabularyError:
        return
    assert dict(zip(vocabulary.ids.tolist(), pieces_of(vocabulary), strict=True)) == slow_read(bad)


@pytest.mark.parametrize(
    "data",
    [b"\0" * 1000, b"\n" * 1000, b"\r\n" * 1000, b"'" * 10**6, b"1 '" + b"\\" * 10**6, b"1 '" + b"\\x41" * 10**5],
    ids=["NULs", "LFs", "CRLFs", "quotes", "backslashes", "escapes"],
)
def test_degenerate(data: bytes) -> None:
    fails(data)


# -------------------------------------------------------------------------------------------------- JSON ----

ASCII = {chr(b): b + 1 for b in range(128)}


def json_file(**more: object) -> bytes:
    return json.dumps(ASCII | more, indent=1).encode()  # byte b is on line b + 2


def test_read_json() -> None:
    vocabulary = rwkv.read_json(json_file(the=300, 日本=301, é=302), "v.json")
    found = dict(zip(vocabulary.ids.tolist(), pieces_of(vocabulary), strict=True))
    assert found == {b + 1: bytes([b]) for b in range(256)} | {300: b"the", 301: "日本".encode(), 302: "é".encode()}
    assert (vocabulary.eod_id, vocabulary.eod_piece, vocabulary.fallback_id) == (0, "<|endoftext|>", None)


def test_published_file_as_json() -> None:
    text = rwkv.read_text(shared_file("rwkv_vocab_v20230424.txt").read_bytes(), "v.txt")
    pairs = {
        piece.decode(): token_id
        for token_id, piece in zip(text.ids.tolist(), pieces_of(text), strict=True)
        if not literal(piece).startswith("b")
    }
    vocabulary = rwkv.read_json(json.dumps(pairs, ensure_ascii=False).encode(), "v.json")
    assert len(vocabulary.ids) == 65529 - 358
    assert set(zip(vocabulary.ids.tolist(), pieces_of(vocabulary), strict=True)) <= set(
        zip(text.ids.tolist(), pieces_of(text), strict=True)
    )


@pytest.mark.parametrize(
    "data, words",
    [
        (b"", ["line 1", "invalid JSON"]),
        (b'{"a": 1,\n"b" 2}', ["line 2", "invalid JSON"]),
        (b'{"a": 1,\n"b": 2', ["line 2", "invalid JSON"]),
        (b'{"a": \xff}', ["line 1", "invalid UTF-8"]),
        (b'["a", 1]', ["not a JSON object"]),
        (b"[]", ["not a JSON object"]),
        (b"17", ["not a JSON object"]),
        (b"null", ["not a JSON object"]),
        (b"{}", ["128 of the 256", "0x00"]),
        (b"[" * 10**5, ["v.json"]),
        (b'{"a":' * 10**5, ["v.json"]),
        (b'{"a": ' + b"9" * 5000 + b"}", ["v.json"]),
        (b'{"a": ' + b"9" * 4000 + b"}", ["line 1", "id of more than 18 digits is not in 1..65535"]),
        (json_file(ab=0), ["line 130", "<|endoftext|>"]),
        (json_file(ab=-1), ["line 130", "id -1 is not in"]),
        (json_file(ab=65536), ["line 130", "id 65536 is not in"]),
        (json_file(ab="300"), ["line 130", "not an id"]),
        (json_file(ab=300.0), ["line 130", "not an id"]),
        (json_file(ab=True), ["line 130", "not an id"]),
        (json_file(ab=None), ["line 130", "not an id"]),
        (json_file(ab=float("nan")), ["line 130", "not an id"]),
        (json_file(ab=[300], cd=301), ["line 130", "not an id"]),
        (json_file(ab={"x": 1}, cd=301), ["line 130", "not an id"]),
        (b'{"1": "a", "2": "b"}', ["line 1", "{token: id}"]),  # the reverse, as in web-rwkv
        (json_file(ab=300, cd=300), ["line 131", "id 300 is also on line 130"]),
        (json_file(ab=97), ["line 130", "id 97 is also on line 98"]),
        (json_file(ab=129), ["line 130", "byte 0x80"]),
        (json_file(**{"\x80": 129}), ["line 130", "byte 0x80"]),
        (json_file(**{"ab": 300, '"\\"': 256}), ["line 131", "byte 0xff"]),
        (json_file(**{"\ud800": 300}), ["line 130", "U+D800"]),
        (json_file(zz=300).replace(b'"zz"', b'"a"'), ["line 130", "also on line 99"]),
        (json_file().replace(b'"A"', b'"AA"'), ["1 of the 256", "0x41"]),
    ],
)
def test_bad_json(data: bytes, words: list[str]) -> None:
    with pytest.raises(VocabularyError) as error:
        rwkv.read_json(data, "v.json")
    for word in ("v.json", *words):
        assert word in str(error.value)


def test_an_empty_token_is_ignored_with_a_warning() -> None:
    """Regression: the vocabulary that nanotokenizer ships was rejected."""
    with pytest.warns(ModelWarning, match="v.json, line 130: ignored an empty token"):
        vocabulary = rwkv.read_json(json_file(**{"": 300, "ab": 301}), "v.json")
    assert dict(zip(pieces_of(vocabulary), vocabulary.ids.tolist(), strict=True)) == {
        **{bytes([b]): b + 1 for b in range(256)}, b"ab": 301,
    }  # fmt: skip
    with pytest.warns(ModelWarning), pytest.raises(VocabularyError, match="line 132: id 301 is also on line 131"):
        rwkv.read_json(json_file(**{"": 300, "ab": 301, "cd": 301}), "v.json")


# ------------------------------------------------------------------------------------------- recognition ----


def test_recognition() -> None:
    text, from_json = text_file(PIECES), json_file()
    assert rwkv.looks_like_text(text) and not rwkv.looks_like_text(from_json)
    assert rwkv.looks_like_json(from_json) and not rwkv.looks_like_json(text)
    assert rwkv.looks_like_json(b' {\n"\\"" :\n1')
    others = [b"", b"{}", b'{"version": "1.0"}', b'{"AA==": [0, "a", 1]}', b"\x0a\x0e\x0a\x05<unk>", b"IQ== 0\n"]
    for head in others:
        assert not rwkv.looks_like_text(head) and not rwkv.looks_like_json(head)


@pytest.mark.skipif(find_spec("pyrwkv_tokenizer") is None, reason="pyrwkv-tokenizer is not installed")
def test_find_installed() -> None:
    path = rwkv.find_installed()
    assert len(rwkv.read_text(path.read_bytes(), str(path)).ids) == 65529


@pytest.mark.parametrize("spec", [None, ModuleSpec("p", None), ModuleSpec("p", None, origin="nowhere/__init__.py")])
def test_find_installed_says_how_to_install(monkeypatch: pytest.MonkeyPatch, spec: ModuleSpec | None) -> None:
    monkeypatch.setattr(rwkv, "find_spec", lambda name: spec)
    with pytest.raises(VocabularyError, match=r"pip install 'pyunitok\[rwkv\]'"):
        rwkv.find_installed()


# ----------------------------------------------------------------------------------------------- writing ----


def test_write_text_is_the_inverse() -> None:
    data = text_file(PIECES)
    assert rwkv.write_text(rwkv.read_text(data, "v.txt")) == data


def test_write_text_rejects_vocabularies_that_it_cannot_represent() -> None:
    good = rwkv.read_text(text_file(PIECES), "v.txt")
    shifted = dataclasses.replace(good, ids=good.ids - 1)
    for bad, word in [
        (shifted, "id 0"),
        (dataclasses.replace(good, ids=good.ids + 65535), "is not in 1..65535"),
        (dataclasses.replace(good, eod_id=7), "end of document"),
        (dataclasses.replace(good, fallback_id=7), "fallback"),
        (dataclasses.replace(good, ids=good.ids[1:], offsets=good.offsets[1:]), "0x00"),
    ]:
        with pytest.raises(VocabularyError, match=word):
            rwkv.write_text(bad)
