"""Pre-tokenizer patterns in C, compared with tokenizers, tiktoken and the oracle."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import zstandard
from conftest import find_shared
from hypothesis import assume, example, given
from hypothesis import strategies as st
from oracle import pattern as oracle
from toys.patterns import ATOMS, CHAINS, TIKTOKEN, UNSUPPORTED, hard_text

from pyunitok._c.text import Pattern
from pyunitok.errors import PatternError, VocabularyError

tokenizers = pytest.importorskip("tokenizers")
pre_tokenizers = tokenizers.pre_tokenizers
SANITIZED = bool(os.environ.get("PYUNITOK_SANITIZED"))
CORPORA = [
    "ar", "code", "de", "emoji", "en_prose", "en_web", "fr", "hi", "ja", "json", "ko", "logs", "math", "multi", "ru",
    "zh", "zh_classical",
]  # fmt: skip
# All scalar values, and the subset up to the last ideographs plus a few others.
SCALARS = "".join(chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000)
MOST_SCALARS = SCALARS[:0x32400] + "".join(map(chr, [*range(0xE0000, 0xE0200), 0xF0000, 0xFFFFD, 0x10FFFF]))


def compiled(*parts: str) -> Pattern:
    """Compile a chain of regexes, each preceded by the letter of its dialect."""
    return Pattern(b"\0".join(part.encode() for part in parts))


def pieces(pattern: Pattern, text: bytes) -> list[bytes]:
    offsets = pattern.split(text).tolist()
    assert offsets[0] == 0 and offsets[-1] == len(text)
    return [text[a:b] for a, b in pairwise(offsets)]


def reference(regexes: list[str]) -> Any:
    splits = [pre_tokenizers.Split(tokenizers.Regex(regex), "isolated") for regex in regexes]
    return pre_tokenizers.Sequence(splits)


def reference_pieces(pre_tokenizer: Any, text: str) -> list[bytes]:
    return [piece.encode() for piece, _ in pre_tokenizer.pre_tokenize_str(text)]


def assert_equal(got: list[bytes], wanted: list[bytes], text: str) -> None:
    if got == wanted:
        return
    at = next(i for i, pair in enumerate(zip([*got, b""], [*wanted, b""], strict=False)) if pair[0] != pair[1])
    raise AssertionError(f"piece {at}: {got[at - 1 : at + 2]}, not {wanted[at - 1 : at + 2]}, in {text[:200]!r}")


# ------------------------------------------------------------------------------------------------------- Characters

QUICK_CLASSES = [r"\p{L}", r"\p{N}", r"\p{M}", r"\p{P}", r"\p{Han}", r"\s", r"\w", r"[\w]"]
CLASSES = [
    r"\p{S}", r"\p{Z}", r"\p{C}", r"\p{Lu}", r"\p{Ll}", r"\p{Lt}", r"\p{Lm}", r"\p{Lo}", r"\p{Mn}", r"\p{Mc}",
    r"\p{Me}", r"\p{Nd}", r"\p{Nl}", r"\p{No}",
    r"\p{Pc}", r"\p{Pd}", r"\p{Ps}", r"\p{Pe}", r"\p{Pi}",
    r"\p{Pf}", r"\p{Po}",
    r"\p{Sm}", r"\p{Sc}", r"\p{Sk}", r"\p{So}", r"\p{Zs}", r"\p{Zl}", r"\p{Zp}", r"\p{Cc}", r"\p{Cf}", r"\p{Co}",
    r"\p{Cn}", r"\d", r"[\d]", r"[\s]", r"\W", r"\S", r"\D", r"[^\w]", r"\P{L}", r"\p{^L}", r"\p{Letter}",
    r"\p{uppercase letter}", r"\p{Decimal_Number}", r"\p{White_Space}", r"\p{Space}", r"\p{Digit}",
    r"\p{Other_Punctuation}", r"\p{Control}", r"\p{Hiragana}", r"\p{Katakana}", r"\p{Hangul}", r"\p{Latin}",
    r"\p{Greek}", r"\p{Cyrillic}", r"\p{Arabic}", r"\p{Hebrew}", r"\p{Devanagari}", r"\p{Thai}", r"[[:space:]]",
    r"[[:digit:]]", r"[[:cntrl:]]", r"[[:ascii:]]", r"[[:xdigit:]]", ".", r"[\s\S]", "(?i:s)", "(?i:k)", "(?i:[^k-s])",
    r"[\p{L}&&[^\p{Lu}\p{Han}]]", r"[^\p{L}&&\p{Lu}]",
]  # fmt: skip


def check_class(regex: str, text: str) -> None:
    """Compare the runs of characters inside and outside the class."""
    runs = rf"(?:{regex})+"
    assert_equal(pieces(compiled("o" + runs), text.encode()), reference_pieces(reference([runs]), text), regex)


@pytest.mark.parametrize("regex", QUICK_CLASSES)
def test_classes(regex: str) -> None:
    check_class(regex, MOST_SCALARS)


@pytest.mark.slow
@pytest.mark.parametrize("regex", CLASSES)
def test_more_classes(regex: str) -> None:
    check_class(regex, MOST_SCALARS)


@pytest.mark.slow
@pytest.mark.parametrize("regex", QUICK_CLASSES)
def test_classes_of_all_characters(regex: str) -> None:
    check_class(regex, SCALARS)


@pytest.mark.parametrize(
    ("pre_tokenizer", "regex"),
    [
        (pre_tokenizers.Digits(individual_digits=True), r"\p{HfNumeric}"),
        (pre_tokenizers.Digits(individual_digits=False), r"\p{HfNumeric}+"),
        (pre_tokenizers.Punctuation("isolated"), r"\p{HfPunctuation}"),
        (pre_tokenizers.Punctuation("contiguous"), r"\p{HfPunctuation}+"),
    ],
)
def test_classes_of_other_pre_tokenizers(pre_tokenizer: Any, regex: str) -> None:
    text = MOST_SCALARS
    assert_equal(pieces(compiled("o" + regex), text.encode()), reference_pieces(pre_tokenizer, text), regex)


def test_byte_level_is_a_chain_of_one() -> None:
    """ByteLevel uses GPT-2's regex. It replaces the bytes of pieces, so pieces are compared by position."""
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    text = hard_text(random.Random(3), 3000)
    wanted = [text[a:b].encode() for _, (a, b) in byte_level.pre_tokenize_str(text)]
    assert_equal(pieces(compiled("o" + CHAINS["gpt2"][0]), text.encode()), wanted, text)


# --------------------------------------------------------------------------------------------------------- Families


def corpus_texts(n_bytes: int) -> Iterator[str]:
    for name in CORPORA:
        with zstandard.open(find_shared(f"corpora/{name}.txt.zst"), "rb") as file:
            yield file.read(n_bytes).decode(errors="ignore")


def check_chain(name: str, texts: Iterator[str]) -> None:
    pattern, wanted = compiled(*("o" + regex for regex in CHAINS[name])), reference(CHAINS[name])
    for text in texts:
        assert_equal(pieces(pattern, text.encode()), reference_pieces(wanted, text), text)


def hard_texts(seed: int, n_texts: int) -> Iterator[str]:
    rng = random.Random(seed)
    return (hard_text(rng, rng.choice([3, 10, 300])) for _ in range(n_texts))


@pytest.mark.parametrize("name", CHAINS)
def test_chain_on_hard_texts(name: str) -> None:
    check_chain(name, hard_texts(1, 200))


@pytest.mark.slow
@pytest.mark.parametrize("name", CHAINS)
def test_chain_on_many_hard_texts(name: str) -> None:
    check_chain(name, hard_texts(random.randrange(1 << 30), 10_000))


@pytest.mark.parametrize("name", CHAINS)
def test_chain_on_real_texts(name: str) -> None:
    check_chain(name, corpus_texts(8000))


@pytest.mark.slow
@pytest.mark.parametrize("name", CHAINS)
def test_chain_on_more_real_texts(name: str) -> None:
    check_chain(name, corpus_texts(500_000))


# ---------------------------------------------------------------------------------------------------------- tiktoken


def tiktoken_pieces(regex: str, text: str, vocabulary: list[bytes]) -> list[bytes]:
    """tiktoken returns tokens, not pieces; a piece becomes one token if it is in the vocabulary, otherwise several."""
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {bytes([i]): i for i in range(256)}
    for piece in vocabulary:
        ranks.setdefault(piece, len(ranks))
    encoding = tiktoken.Encoding("test", pat_str=regex, mergeable_ranks=ranks, special_tokens={})
    return [encoding.decode_single_token_bytes(i) for i in encoding.encode_ordinary(text)]


def check_tiktoken(regex: str, text: str) -> None:
    got = pieces(compiled("t" + regex), text.encode())
    assert_equal(got, tiktoken_pieces(regex, text, got), text)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["w", "s", "d", *(rf"p{{{name}}}" for name in (*"LNMPSZC", "Lu", "Lt", "Lo", "Han"))])
def test_tiktoken_classes(name: str) -> None:
    check_tiktoken(rf"\{name}+|\{name[0].upper()}{name[1:]}+", SCALARS)


@pytest.mark.parametrize("name", TIKTOKEN)
def test_tiktoken_on_hard_texts(name: str) -> None:
    for text in hard_texts(2, 100):
        check_tiktoken(TIKTOKEN[name], text)


@pytest.mark.slow
@pytest.mark.parametrize("name", TIKTOKEN)
def test_tiktoken_on_more_texts(name: str) -> None:
    for text in [*hard_texts(random.randrange(1 << 30), 3000), *corpus_texts(300_000)]:
        check_tiktoken(TIKTOKEN[name], text)


def test_tiktoken_comparison_finds_differences() -> None:
    """The comparison above detects pieces that tiktoken does not produce, here those of another dialect."""
    got = pieces(compiled(r"o\p{N}{1,3}+|\D"), b"1234567")
    assert got == [b"1234567"]
    assert tiktoken_pieces(r"\p{N}{1,3}+|\D", "1234567", got) != got
    check_tiktoken(r"\p{N}{1,3}+|\D", "1234567")


@pytest.mark.parametrize(
    ("regex", "text", "onig", "tiktoken"),
    [
        (r"\d{1,3}+|\D", b"12345", [b"12345"], [b"123", b"45"]),
        (r"a+$|[\s\S]", b"aa\naa", [b"aa", b"\n", b"aa"], [b"a", b"a", b"\n", b"aa"]),
        (r"a(?i)b|C|.|\n", b"aBacC", [b"aB", b"ac", b"C"], [b"aB", b"a", b"c", b"C"]),
        (r"[a\w]+|[\s\S]", "x\u200cy".encode(), [b"x", "\u200c".encode(), b"y"], ["x\u200cy".encode()]),
        (r"\w+|[\s\S]", "a²".encode(), ["a²".encode()], [b"a", "²".encode()]),
    ],
)
def test_dialects_differ(regex: str, text: bytes, onig: list[bytes], tiktoken: list[bytes]) -> None:
    assert pieces(compiled("o" + regex), text) == onig == reference_pieces(reference([regex]), text.decode())
    assert pieces(compiled("t" + regex), text) == tiktoken == tiktoken_pieces(regex, text.decode(), tiktoken)


# --------------------------------------------------------------------------------------------------- Random patterns

ONE = st.sampled_from([
    "a", "b", "c", " ", r"\s", r"\S", "[ab]", "[^a]", r"\p{L}", r"\p{Lu}", ".", r"[\s\S]", "é", "[a-c&&[^b]]",
    "[^a&&[a-c]]", r"\n", r"[^\s\p{L}]", r"[\p{L}&&\p{Lu}]", r"\d", "1", r"\w", r"\W", "[b[c1]]", "[^[^a]]",
    r"[a\s]", r"\x{e9}", "[a-]",
])  # fmt: skip
FOLDED = st.sampled_from(
    ["(?i:a)", "(?i:b)", "(?i:'s)", "(?i:ab)", "(?i:[a-c])", "(?i:k)", "(?i:[^a])", "(?i)b", "(?i)k|a"]
)
QUANTIFIERS = st.sampled_from(["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,2}", "{1,}", "{2,}?", "{1,2}?"])
SEVERAL = st.sampled_from(["{1,2}+", "{2}+"])  # Oniguruma reads + as a second quantifier
LOOKAHEADS = st.sampled_from(["(?=a)", "(?!a)", r"(?!\S)", r"(?=\s|$)", "(?=a|b)", "(?!(?:a|b)+)", "$", "(?![^a])"])
ATOMIC = st.sampled_from(["a*+", "a++", r"\s?+", "[ab]++", "(?>a+)", r"(?>\p{L}*)", "(?>b)", "(?>a{1,2})"])
REGEXES = st.recursive(
    st.one_of(ONE, ONE, FOLDED, LOOKAHEADS, ATOMIC, st.builds(str.__add__, ONE, QUANTIFIERS)),
    lambda inner: st.one_of(
        st.builds(str.__add__, inner, inner),
        st.builds("(?:{}|{})".format, inner, inner),
        st.builds("({})".format, inner),
        st.builds("(?:{}){}".format, inner, st.one_of(QUANTIFIERS, SEVERAL)),
        st.builds("{}|{}".format, inner, inner),
    ),
    max_leaves=8,
)
TEXTS = st.text(st.sampled_from("abcABkKs'ſ\u212a \n\réÉ1\t½\u0301\u200d"), max_size=14)
BYTES = st.lists(
    st.one_of(TEXTS.map(str.encode), st.sampled_from([b"\xff", b"\xe9", b"\xc3", b"\xed\xa0\x80", b"\xf0\x9f", b"\0"])),
    max_size=6,
).map(b"".join)


def compiled_or_skipped(part: str) -> Pattern:
    try:
        return compiled(part)
    except PatternError:
        assume(False)
        raise


@given(REGEXES, st.lists(TEXTS, min_size=4, max_size=8))
@example("(?:ab|a){1,3}b", ["aababb"])
@example(r"\s+$", ["   a  ", "a  \n b"])
def test_random_patterns_match_tokenizers(regex: str, texts: list[str]) -> None:
    pattern = compiled_or_skipped("o" + regex)
    try:
        wanted = reference([regex])
    except Exception:  # Oniguruma also rejects some repeated lookaheads
        assume(False)
    for text in texts:
        assert_equal(pieces(pattern, text.encode()), reference_pieces(wanted, text), text)


@given(REGEXES, TEXTS)
def test_random_patterns_match_tiktoken(regex: str, text: str) -> None:
    regex += r"|[\s\S]"  # no gaps
    pattern = compiled_or_skipped("t" + regex)
    got = pieces(pattern, text.encode())
    assert_equal(got, tiktoken_pieces(regex, text, got), text)


@given(st.lists(REGEXES, min_size=1, max_size=3), BYTES)
def test_random_patterns_match_the_oracle(regexes: list[str], text: bytes) -> None:
    parts = ["o" + regex for regex in regexes]
    try:
        pattern = compiled(*parts)
    except PatternError:
        assume(False)
    assert pieces(pattern, text) == oracle.pieces(parts, text)


@given(st.lists(st.one_of(st.sampled_from(ATOMS).map(str.encode), BYTES), max_size=10).map(b"".join))
@pytest.mark.parametrize("name", ["gpt2", "o200k", "dsv3", "deepseek-coder"])
def test_invalid_utf8(name: str, text: bytes) -> None:
    """Each byte that is not part of a character is treated as U+FFFD."""
    parts = ["o" + regex for regex in CHAINS[name]]
    assert pieces(compiled(*parts), text) == oracle.pieces(parts, text)


def test_oracle_knows_the_dialects() -> None:
    assert oracle.pieces([r"o\d{1,3}+|\D"], b"12345") == [b"12345"]
    assert oracle.pieces([r"t\d{1,3}+|\D"], b"12345") == [b"123", b"45"]
    assert oracle.pieces(["o(?:a|b)+c|[ab]"], b"ab\xffabc") == [b"a", b"b", b"\xff", b"abc"]


# ------------------------------------------------------------------------------------------------------------ Errors


@pytest.mark.parametrize(
    ("parts", "item", "position", "words"),
    [
        ("oa", None, None, ""),
        ("", 0, -1, "dialect"),
        ("xa", 0, -1, "dialect"),
        ("oa\0", 1, -1, "dialect"),
        ("oa\0o(b", 1, 0, ") is missing"),
        ("oa)", 0, 1, "has no matching ("),
        ("o[a", 0, 0, "] is missing"),
        ("oa[]", 0, 2, "empty"),
        ("o[z-a]", 0, 1, "range"),
        ("o[a-b-c]", 0, 4, "hyphen"),
        (r"o[\s-z]", 0, 3, "hyphen"),
        ("oa**", 0, 2, "quantifier"),
        ("o*a", 0, 0, "nothing to repeat"),
        ("oa{,3}", 0, 1, "numbers"),
        ("oa{3,2}", 0, 1, "numbers"),
        ("o(?:a|b)++", 0, 8, "possessive"),
        ("o(?:a?)*", 0, 6, "empty"),
        (r"o\p{Nope}", 0, 0, "property"),
        (r"o\b", 0, 0, "escape"),
        (r"o(a)\1", 0, 3, "escape"),
        ("o(?<=a)b", 0, 0, "group"),
        ("o^a", 0, 0, "^"),
        ("oa*", 0, -1, "empty string"),
        (r"o[^\s\S]", 0, -1, "nothing"),
        ("ia", 0, -1, "between its matches"),
        ("ta+|b", 0, -1, "between its matches"),
        ("o(?:ab)+c|ab", 0, -1, "quadratic"),
        ("o(?i:é)", 0, 4, "ASCII"),
        ("o(?i:ss)", 0, 5, "(?i)"),
        ("o(?:a{100}){100}", 0, -1, "too complex"),
        ("o" + "a" * 20000, 0, -1, "too long"),
        ("\0".join(["oa"] * 9), 8, -1, "too many parts"),
        ("o" + "|".join(map(chr, range(0x4E00, 0x4F00))), 0, -1, "too many classes"),
    ],
)  # fmt: skip
def test_errors_state_the_position(parts: str, item: int | None, position: int, words: str) -> None:
    if item is None:
        Pattern(parts.encode())
        return
    with pytest.raises(PatternError) as caught:
        Pattern(parts.encode())
    assert words in str(caught.value)
    assert (caught.value.item, caught.value.position) == (item, position)  # type: ignore[attr-defined]
    assert isinstance(caught.value, VocabularyError)


def test_invalid_utf8_in_a_pattern() -> None:
    with pytest.raises(PatternError, match="UTF-8"):
        Pattern(b"o\xff")


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_unsupported(name: str) -> None:
    regex, words = UNSUPPORTED[name]
    with pytest.raises(PatternError, match=words):
        compiled("o" + regex)


@pytest.mark.parametrize("name", ["cl100k", "qwen2", "qwen35", "o200k", "tekken", "kimi", "gpt2"])
def test_families_leave_no_gaps(name: str) -> None:
    """The matches leave no gaps, so Removed with invert is equivalent to Isolated."""
    compiled(*("i" + regex for regex in CHAINS[name]))


# -------------------------------------------------------------------------------------------------------------- Time

BURSTS: dict[str, Callable[[int], str]] = {
    "letters": lambda n: "a" * n,
    "capitals": lambda n: "A" * n,
    "spaces": lambda n: " " * n + "x",
    "lines": lambda n: "\n" * n + "x",
    "line and spaces": lambda n: "x\n" + " " * n + "x",
    "spaces and lines": lambda n: (" " * 1000 + "\n") * (n // 1000) + " " * 1000 + "x",
    "ideographs": lambda n: "中" * n,
    "digits": lambda n: "1" * n,
    "marks": lambda n: "\u0301" * n,
    "quotes": lambda n: "'" * n,
    "sentinels": lambda n: "<sentinel:" * (n // 10) + "1" * n,
    "letters and spaces": lambda n: "a " * (n // 2),
    "letter groups": lambda n: "A" * 8 * (n // 8),
}


@pytest.mark.skipif(SANITIZED, reason="measures time")
@pytest.mark.parametrize("name", CHAINS)
def test_time_is_linear(name: str) -> None:
    """Splitting takes seconds; in quadratic time, it would take minutes."""
    pattern = compiled(*("o" + regex for regex in CHAINS[name]))
    start = time.process_time()
    for burst in BURSTS.values():
        pattern.split(burst(300_000).encode())
    assert time.process_time() - start < 5


@pytest.mark.skipif(SANITIZED, reason="measures time")
def test_compile_time() -> None:
    def seconds(parts: list[str]) -> float:
        times = []
        for _ in range(5):
            start = time.process_time()
            compiled(*parts)
            times.append(time.process_time() - start)
        return min(times)

    assert seconds(["o" + CHAINS["o200k"][0]]) < 0.005
    assert max(seconds(["o" + regex for regex in chain]) for chain in CHAINS.values()) < 0.05


def test_memory() -> None:
    for name in ("gpt2", "cl100k", "o200k", "dsv3"):
        assert compiled(*("o" + regex for regex in CHAINS[name])).memory_bytes < 64 << 10


def test_split_returns_offsets() -> None:
    offsets = compiled(r"o\p{L}+").split("ab 12 é".encode())
    assert offsets.dtype == np.int64 and offsets.tolist() == [0, 2, 6, 8]
    assert compiled("oa").split(b"").tolist() == [0]
