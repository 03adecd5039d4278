"""SentencePiece's normalization in C, compared with the oracle and with sentencepiece."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from conftest import CPUS, decompressed, fewer, find_shared
from hypothesis import example, given
from hypothesis import strategies as st
from oracle.sentencepiece import Normalizer as Oracle
from oracle.sentencepiece import charsmap_rules
from toys.sentencepieces import CHAR, REFUSALS, USER_DEFINED, charsmap, load_reference, make, shared_params

from pyunitok._c import library
from pyunitok._c import text as c_text
from pyunitok.errors import VocabularyError
from pyunitok.vocab import sentencepiece

SPACE = "\u2581".encode()
# Keys, replacements, symbols and texts consist of the same atoms, so that keys match. NUL comes last.
ATOMS = [
    *(c.encode() for c in " abAe\n\t猫かgéян한각\u0301\u3099\u0308\u093cन\u2581\u2581\u3000\ufffd😀𐐀"),
    b"  ", b"\xe2", b"\x96", b"\x81", b"\xe2\x96", b"\x96\x81", b"\xe3", b"\xff", b"\xed\xa0\x80", b"\xf0\x9f",
    b"\xc0\x80", b"\xf4\x90\x80\x80", b"hello", b"word ", b"\0",
]  # fmt: skip
STRINGS = st.lists(st.sampled_from(ATOMS[:-1]), min_size=1, max_size=4).map(b"".join)
WHOLE = st.text(st.sampled_from(" abe\n猫かé\u0301\u3099\u2581\u3000😀"), min_size=1, max_size=4).map(str.encode)
TEXTS = st.lists(st.one_of(st.sampled_from(ATOMS), STRINGS), max_size=40).map(b"".join)
NAMES = ["add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces", "whitespace_as_suffix"]


@dataclass
class Case:
    rules: dict[bytes, bytes]
    symbols: list[bytes]
    flags: dict[str, bool]

    def build(self, cpu: str | None = None) -> c_text.Normalizer:
        flags = sum(library.MODEL_FLAGS[name] for name, is_set in self.flags.items() if is_set)
        return c_text.Normalizer(charsmap(self.rules), self.symbols, flags, cpu)

    def oracle(self) -> Oracle:
        return oracle_of(self.rules, self.symbols, self.flags)

    def reference(self) -> Any:
        """A sentencepiece processor with these rules."""
        pieces = [(symbol, 0.0, USER_DEFINED) for symbol in dict.fromkeys(self.symbols)]
        proto = make(pieces, model_type=CHAR, treat_whitespace_as_suffix=self.flags["whitespace_as_suffix"])
        for name in NAMES[:3]:
            setattr(proto.normalizer_spec, name, self.flags[name])
        proto.normalizer_spec.precompiled_charsmap = charsmap(self.rules)
        return load_reference(proto.SerializeToString())


def oracle_of(rules: dict[bytes, bytes], symbols: list[bytes], flags: dict[str, bool]) -> Oracle:
    prefix, remove, escape, suffix = (flags[name] for name in NAMES)
    return Oracle(rules, symbols, dummy_prefix=prefix, remove_extra=remove, escape=escape, suffix=suffix)


def cases(strings: st.SearchStrategy[bytes]) -> st.SearchStrategy[Case]:
    replacements = st.one_of(strings, st.sampled_from([b"", b" ", b"  ", SPACE, SPACE + b" "]))
    flags = st.fixed_dictionaries({name: st.booleans() for name in NAMES})
    return st.builds(Case, st.dictionaries(strings, replacements, max_size=8), st.lists(strings, max_size=5), flags)


CASES = st.one_of(cases(STRINGS), cases(WHOLE))


def flag_set(*names: str) -> dict[str, bool]:
    return {name: name in names for name in NAMES}


def compact(verbatim: bytes, escape: bool) -> bytes:
    return verbatim.replace(SPACE, b" ") if escape else verbatim


@given(CASES, TEXTS)
@example(Case({b"\x01": b""}, [], flag_set(*NAMES[:3])), b"\x01")  # only the dummy prefix, which is removed
@example(Case({}, [], flag_set(*NAMES[:3])), b" \xe2\x96\x81 a " + 3 * SPACE)
@example(Case({b"x": b"\xe2\x96", b"y": b"\x81"}, [], flag_set(*NAMES[:3])), b"axyxyx" + SPACE)
@example(Case({b"x": b"\xe2\x96", b"y": b"\x81"}, [], flag_set(*NAMES[:3])), b"axyxy")
@example(Case({b"a" * k: b"%d" % k for k in range(1, 41)}, [], flag_set()), b"a" * 100)
@example(Case({}, [b"a" * k for k in range(1, 80, 1)], flag_set()), b"a" * 200 + b"b")
def test_against_oracle_and_reference(case: Case, text: bytes) -> None:
    normalizer = case.build()
    expected, offsets = case.oracle().normalize(text)
    out, found = normalizer.normalize_with_offsets(text)
    assert (out, found.tolist()) == (expected, offsets)
    assert normalizer.normalize(text) == expected
    assert case.reference().normalize(text, with_offsets=True) == (expected, offsets)


@given(CASES, TEXTS)
def test_compact_form(case: Case, text: bytes) -> None:
    normalizer, escape = case.build(), case.flags["escape_whitespaces"]
    whole = all(map(is_whole, [*case.rules.values(), *case.symbols]))
    assert normalizer.is_compact == (whole or not escape)
    expected = normalizer.normalize(text)
    if normalizer.is_compact:
        assert normalizer.normalize(text, compact=True) == compact(expected, escape)
        out, offsets = normalizer.normalize_with_offsets(text, compact=True)
        assert out == compact(expected, escape)
        longer, theirs = normalizer.normalize_with_offsets(text)
        if len(offsets):
            assert offsets.tolist() == [theirs[i] for i in character_starts(longer, escape)]
    else:
        assert normalizer.normalize(text, compact=True) == expected


def is_whole(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def character_starts(text: bytes, escape: bool) -> list[int]:
    """For each byte of the compact form, and for its end, the position in the verbatim form."""
    ret, i = [], 0
    while i < len(text):
        ret.append(i)
        i += 3 if escape and text.startswith(SPACE, i) else 1
    return [*ret, len(text)]


@given(
    CASES, TEXTS, st.lists(st.integers(0, 200)), st.sampled_from([0, 0, 1, 7, 1000]), st.booleans(),
    st.sampled_from(CPUS),
)  # fmt: skip
@example(Case({}, [], flag_set(*NAMES[:3])), b"a" + SPACE * 400 + b"b" + SPACE * 300, [], 0, False, CPUS[-1])
@example(Case({}, [], flag_set(*NAMES[:3])), b"a" + SPACE * 400 + b"b" + SPACE * 300, [], 0, True, CPUS[-1])
@example(Case({b"x": b"\xe2", b"y": b"\x96\x81"}, [], flag_set(*NAMES[:3])), b"a" + b"xy" * 200, [], 0, False, CPUS[0])
@example(Case({b" ": b"b"}, [], flag_set(*NAMES[:3])), b"a " * 40, [], 0, False, CPUS[0])
@example(Case({b"\x01": b"", b"\n": b" "}, [], flag_set(*NAMES[:3])), b"a\n\x01 \n\x01b", [], 0, False, CPUS[0])
def test_part_by_part(case: Case, text: bytes, cuts: list[int], capacity: int, verbatim: bool, cpu: str) -> None:
    normalizer = case.build(cpu)
    bounds = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    parts = [text[i:j] for i, j in pairwise(bounds)]
    expected = normalizer.normalize(text, compact=not verbatim)
    for feed in (parts, [bytes([byte]) for byte in text], [text]):
        assert b"".join(normalizer.normalize_parts(feed, compact=not verbatim, capacity=capacity)) == expected


@given(CASES, TEXTS)
def test_split_points(case: Case, text: bytes) -> None:
    """No item spans a split point, whatever text follows."""
    normalizer, oracle = case.build(), case.oracle()
    k = normalizer.split(text)
    longest = max([4, *map(len, case.rules), *map(len, case.symbols)])
    assert 0 <= k <= len(text)
    assert k > 0 or len(text) < longest or len(text) == 1
    for more in (b"", b"\x81", *case.rules, *case.symbols):
        at = 0
        while at < k:
            at += oracle.item(text + more, at)[1]
        assert at == k


SLICES = [0, 3_000_000]


def slices_of(path: Path) -> list[bytes]:
    text = decompressed(path, 6_000_000)
    whole = [text[at : at + 20_000] for at in SLICES]
    return [*whole, *b"".join(whole).splitlines(keepends=True)[:500]]


def check_parts(charsmap: bytes, symbols: list[bytes], flags: int, text: bytes, expected: bytes) -> None:
    """Normalize part by part in both forms with every instruction set. `expected` is the verbatim form."""
    escape = bool(flags & library.MODEL_FLAGS["escape_whitespaces"])
    for cpu in CPUS:
        normalizer = c_text.Normalizer(charsmap, symbols, flags, cpu)
        data = b"".join(normalizer.normalize_parts([text], compact=True, capacity=1000))
        assert data == compact(expected, escape), cpu
    assert b"".join(normalizer.normalize_parts([text], compact=False)) == expected


def shared_case(path: Path) -> tuple[c_text.Normalizer, sentencepiece.SentencePieceModel, list[bytes]]:
    model = sentencepiece.read(path.read_bytes(), str(path))
    symbols = [piece for piece, type_ in zip(model.pieces, model.types, strict=True) if type_ == USER_DEFINED]
    return c_text.Normalizer(model.normalization.charsmap, symbols, model.flags), model, symbols


@pytest.mark.parametrize("path", shared_params())
def test_corpora_against_the_reference(path: Path) -> None:
    """Every model normalizes part of every corpus: lines, and longer texts that may begin or end inside a character."""
    normalizer, model, _ = shared_case(path)
    reference = load_reference(path.read_bytes())
    escape = bool(model.flags & library.MODEL_FLAGS["escape_whitespaces"])
    for corpus in sorted(find_shared("corpora").glob("*.txt.zst")):
        for i, text in enumerate(slices_of(corpus)):
            expected = reference.normalize(text)
            assert normalizer.normalize(text) == expected, corpus
            assert b"".join(normalizer.normalize_parts([text], capacity=1000)) == compact(expected, escape), corpus
            if i % 50 < 2:
                ours = normalizer.normalize_with_offsets(text)
                assert (ours[0], ours[1].tolist()) == reference.normalize(text, with_offsets=True), corpus


@pytest.mark.parametrize("name", ["spm/t5_base", "spm/marian_nmt_joint", "spm-trained/en_uni_nmt_nfkc_cf_user"])
def test_shared_charsmaps(name: str) -> None:
    """Normalizes a text made of many keys from real charsmaps."""
    normalizer, model, symbols = shared_case(find_shared(f"models/{name}.model"))
    rules = charsmap_rules(model.normalization.charsmap)
    keys = sorted(rules)[:: 1 + len(rules) // 5000]
    text = b"".join(key + b"a e" + other for key, other in zip(keys, reversed(keys), strict=True))
    is_set = {name: bool(model.flags & library.MODEL_FLAGS[name]) for name in NAMES}
    expected, offsets = oracle_of(rules, symbols, is_set).normalize(text)
    out, found = normalizer.normalize_with_offsets(text)
    assert (out, found.tolist()) == (expected, offsets)
    check_parts(model.normalization.charsmap, symbols, model.flags, text, expected)


@pytest.mark.parametrize("name", ["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "nfc", "identity"])
def test_named_rules(name: str) -> None:
    """Normalizes every character below U+20000, alone and before a combining character."""
    spm = pytest.importorskip("sentencepiece")
    try:
        reference = spm.SentencePieceNormalizer(rule_name=name)
    except REFUSALS:
        pytest.skip(f"this version of sentencepiece has no rules named {name}")
    normalization = normalization_of(reference)
    normalizer = c_text.Normalizer(normalization.charsmap, [], normalization.flags)
    characters = [chr(c) for c in range(0x20000) if not 0xD800 <= c < 0xE000]
    for between in ("", "\u0301", "\u3099", " ", "\u2581"):
        text = between.join(characters).encode()
        expected = reference.normalize(text)
        assert normalizer.normalize(text) == expected
        check_parts(normalization.charsmap, [], normalization.flags, text, expected)


def normalization_of(reference: Any) -> sentencepiece.Normalization:
    spec = sentencepiece.sentencepiece_proto.message("NormalizerSpec")()
    spec.ParseFromString(reference.serialized_normalizer_spec())
    return sentencepiece.read_normalization(spec, "rules")


@given(cases(WHOLE), TEXTS)
@fewer(4)
def test_rules_compiled_by_the_reference(case: Case, text: bytes) -> None:
    """The reference's compiler shares branches and packs units, unlike toys.sentencepieces.charsmap()."""
    spm = pytest.importorskip("sentencepiece")
    try:
        reference = spm.SentencePieceNormalizer(norm_map=list(case.rules.items()))
    except REFUSALS:
        return  # the compiler rejects rules that other rules undo
    normalization = normalization_of(reference)
    normalizer = c_text.Normalizer(normalization.charsmap, [], normalization.flags)
    out, offsets = normalizer.normalize_with_offsets(text)
    assert (out, offsets.tolist()) == reference.normalize(text, with_offsets=True)


# ----------------------------------------------------------------------------------------- Broken charsmaps ----

GOOD = charsmap({b"a": b"b", b"ab": b"  "})
BROKEN = [
    ("truncated", GOOD[:4]),
    ("larger than the charsmap", struct.pack("<I", len(GOOD)) + GOOD[4:]),
    ("not a multiple of 1024", struct.pack("<I", 1028) + GOOD[4:]),
    ("does not end with NUL", GOOD + b"x"),
    ("root of .* is invalid", GOOD[:4] + b"\1" + GOOD[5:]),
    ("root of .* is invalid", GOOD[:4] + bytes(4) + GOOD[8:]),
    ("points outside", GOOD[:8] + struct.pack("<I", (1 << 20) << 10 | 5) + GOOD[12:]),
    ("a replacement outside the charsmap", GOOD[:8] + struct.pack("<I", 1 << 31 | 100) + GOOD[12:]),
    ("has no replacement", GOOD[:8] + struct.pack("<I", 1 << 8 | 5) + GOOD[12:]),
]


def load_normalizer(blob: bytes) -> Any:
    spm = pytest.importorskip("sentencepiece")
    spec = sentencepiece.sentencepiece_proto.message("NormalizerSpec")(precompiled_charsmap=blob)
    try:
        return spm.SentencePieceNormalizer(normalizer_spec=spec.SerializeToString())
    except REFUSALS:
        return None


@pytest.mark.parametrize(("problem", "blob"), BROKEN)
def test_broken_charsmap(problem: str, blob: bytes) -> None:
    proto = make([(b"a", 0.0, USER_DEFINED)])
    proto.normalizer_spec.precompiled_charsmap = blob
    with pytest.raises(VocabularyError, match=rf"toy\.model: .*{problem}"):
        sentencepiece.read(proto.SerializeToString(), "toy.model")
    proto.normalizer_spec.precompiled_charsmap = b""
    proto.denormalizer_spec.precompiled_charsmap = blob
    with pytest.raises(VocabularyError, match=rf"toy\.model: .*{problem}"):
        sentencepiece.read(proto.SerializeToString(), "toy.model")


LABELS = b"ab \xe6\x97\xa5\xc3\xa9\xf0\x9f\x98\x80"


def shared(n_blocks: int, labels: list[int], first_leaf: int) -> bytes:
    """A charsmap whose keys are all strings of `labels` up to a certain length. All nodes of a level have the same
    children, so a few units encode very many keys."""
    units = [unit & 0xFF ^ 0xFF for unit in range(256 * n_blocks)]
    units[0] = 256 << 10
    for block in range(1, n_blocks - 1):
        for label in labels:
            unit = 256 * block + label
            units[unit] = (unit ^ 256 * (block + 1)) << 10 | label | (0x100 if block >= first_leaf else 0)
    for block in range(first_leaf + 1, n_blocks):
        units[256 * block] = 1 << 31
    trie = struct.pack(f"<{len(units)}I", *units)
    return struct.pack("<I", len(trie)) + trie + b"x\0"


def test_a_cycle_is_rejected() -> None:
    """sentencepiece follows the cycle to the end of the text; pyunitok requires every key to end."""
    blob = bytearray(shared(4, [ord("a")], 1))
    at = 2 * 256 + ord("a")
    struct.pack_into("<I", blob, 4 + 4 * at, (at ^ 256) << 10 | ord("a"))  # a, aaa, aaaaa, …
    with pytest.raises(VocabularyError, match="cycle"):
        c_text.Normalizer(bytes(blob), [], 0)


@given(CASES, TEXTS, st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), max_size=3))
def test_damaged_charsmap(case: Case, text: bytes, changes: list[tuple[int, int]]) -> None:
    blob = bytearray(charsmap(case.rules))
    for at, value in changes:
        if blob:
            blob[at % len(blob)] = value
    reference = load_normalizer(bytes(blob))
    flags = library.MODEL_FLAGS
    try:
        normalizer = c_text.Normalizer(bytes(blob), [], sum(flags[name] for name in NAMES[:3]))
    except VocabularyError as error:
        assert "cycle" in str(error) or expects_refusal(reference, text)
        return
    expected, offsets = reference.normalize(text, with_offsets=True)
    out, found = normalizer.normalize_with_offsets(text)
    assert (out, found.tolist()) == (expected, offsets)
    assert b"".join(normalizer.normalize_parts([text], compact=False, capacity=1)) == expected


@given(st.lists(st.sampled_from(LABELS), min_size=1, max_size=9), TEXTS, st.integers(1, 6))
def test_shared_nodes(labels: list[int], text: bytes, first_leaf: int) -> None:
    blob = shared(8, labels, first_leaf)
    out, found = c_text.Normalizer(blob, [], 7).normalize_with_offsets(text)
    expected, offsets = load_normalizer(blob).normalize(text, with_offsets=True)
    assert (out, found.tolist()) == (expected, offsets)
    assert b"".join(c_text.Normalizer(blob, [], 7).normalize_parts([text], compact=False, capacity=1)) == expected


def test_more_keys_than_can_be_counted() -> None:
    """Regression: opening 255^5 keys in 7 KB took a minute: every key was visited for each pair of characters."""
    for n_blocks in (7, 200):
        text = "hello wé 日本 😀".encode() + bytes(range(256))
        blob = shared(n_blocks, list(range(1, 256)), n_blocks - 3)
        assert c_text.Normalizer(blob, [], 7).normalize(text) == load_normalizer(blob).normalize(text)


def test_a_cycle_without_keys() -> None:
    """This charsmap is from sentencepiece's reload test: all units are zero, so each is its own child for NUL."""
    blob = bytearray(1029)
    blob[1] = blob[5] = 4
    text = b"ab\0\0\0c  d\0"
    assert c_text.Normalizer(bytes(blob), [], 7).normalize(text) == load_normalizer(bytes(blob)).normalize(text)


def test_a_key_of_more_than_4096_bytes_is_rejected() -> None:
    c_text.Normalizer(shared(4098, [ord("a")], 4096), [], 7)
    with pytest.raises(VocabularyError, match="a key longer than 4096 bytes"):
        c_text.Normalizer(shared(4099, [ord("a")], 4097), [], 7)
    c_text.Normalizer(b"", [b"a" * 4096], 7)
    with pytest.raises(VocabularyError, match="a user-defined piece is longer than 4096 bytes"):
        c_text.Normalizer(b"", [b"b", b"a" * 4097], 7)


def expects_refusal(reference: Any, text: bytes) -> bool:
    if reference is None:
        return True
    try:
        reference.normalize(text or b"a")
    except REFUSALS:
        return True
    return False


def test_all_bytes() -> None:
    text = bytes(range(256)) * 2
    for flags in range(16):
        is_set = {name: bool(flags >> i & 1) for i, name in enumerate(NAMES)}
        case = Case({b"a": b" ", b"\xc3\xa9": b"e"}, [b"b"], is_set)
        assert case.build().normalize(text) == case.oracle().normalize(text)[0]
