"""Counting the units of lines, compared with a plain implementation of the rules; more units than a cache holds."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyunitok._c import library
from pyunitok._c import text as c_text
from pyunitok._c import train as c_train
from pyunitok.train import counting
from pyunitok.vocab import charsmap

SPLIT = ("split_by_whitespace", "split_by_script")
FLAG_NAMES = ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")
FLAGS = sum(library.MODEL_FLAGS[name] for name in FLAG_NAMES)
NMT_NFKC = charsmap.named("nmt_nfkc", None)
LINES = st.lists(st.text("ab  \u2581\u2585é\u0301жя東カ。ﾊﾞ１09.,<s>|\x1f\u3000", max_size=40), max_size=6)


@given(st.lists(st.dictionaries(st.binary(max_size=3), st.integers(1, 1 << 50), max_size=30), max_size=5))
def test_counters_joined(tables: list[dict[bytes, int]]) -> None:
    """The counts of several threads are added together."""
    counters = [c_train.Counter() for _ in tables]
    for counter, table in zip(counters, tables, strict=True):
        counter.add(c_train.Units.pack(list(table), list(table.values())))
    units = counting.joined(counters)
    assert len(set(units.items())) == len(units)
    expected: Counter[bytes] = Counter()
    for table in tables:
        expected.update(table)
    assert dict(zip(units.items(), units.counts.tolist(), strict=True)) == expected


def normalizer(rules: bytes | None = NMT_NFKC) -> c_text.Normalizer:
    return c_text.Normalizer(rules or b"", [], FLAGS)


def counted(lines: list[str], rules: c_train.Rules, **options: Any) -> Counter[bytes]:
    segmenter = c_train.Segmenter(
        normalizer(), rules, c_train.Counter(), flags=c_train.CUT, max_line_bytes=1 << 24, **options
    )
    data = np.frombuffer("\n".join(lines).encode(), np.uint8)
    segmenter.add(data, np.array([0, len(data)], np.int64))
    units = segmenter.counter.export()
    return Counter(dict(zip(units.items(), units.counts.tolist(), strict=True)))


def plainly(lines: list[str], rules: c_train.Rules, symbols: tuple[bytes, ...], delimiter: bytes) -> Counter[bytes]:
    """Cut between two characters if no piece may contain the pair; next to a space, a digit counts as a letter."""
    units: Counter[bytes] = Counter()
    for line in lines:
        text = b"" if "\u2585" in line else normalizer().normalize(line.encode())
        replaced, at = b"", 0
        while at < len(text):
            found = max((symbol for symbol in symbols if text.startswith(symbol, at)), key=len, default=b"")
            replaced += b"\x1f" if found else text[at : at + 1]
            at += len(found) or 1
        text = replaced.replace(delimiter, b"\x1f") if delimiter else replaced
        unit = ""
        for c in text.decode():
            pair = unit[-1:] + c
            if "\u2581" in pair:
                pair = "".join("a" if x.isdigit() else x for x in pair)
            if unit and not c_train.allowed(rules, pair.encode()):
                units[unit.encode()] += 1
                unit = ""
            unit += c
        if unit:
            units[unit.encode()] += 1
    return units


FLAG_SETS = st.sampled_from([(), ("split_by_number",), ("split_digits",), ("whitespace_as_suffix",)])


@given(FLAG_SETS, LINES)
def test_units_match_the_rules(flags: tuple[str, ...], lines: list[str]) -> None:
    rules = c_train.Rules({*SPLIT, *flags}, 16)
    lines = "\n".join(lines).split("\n")
    assert counted(lines, rules) == plainly(lines, rules, (), b"")


@given(LINES, st.sampled_from(["|", "a b", "a\u2581b", "\u2581", "カ"]))
def test_symbols_and_delimiters(lines: list[str], delimiter: str) -> None:
    rules = c_train.Rules({*SPLIT}, 16)
    symbols = (b"<s>", "\u2581a".encode(), b"b b", "é\u2581".encode(), "\u2581\u2581".encode())
    got = counted(lines, rules, symbols=symbols, delimiter=delimiter.encode())
    assert got == plainly("\n".join(lines).split("\n"), rules, symbols, delimiter.encode())


def test_a_symbol_that_ends_inside_a_character() -> None:
    rules = c_train.Rules({*SPLIT}, 16)
    with pytest.raises(ValueError, match="invalid UTF-8 once normalized"):
        counted(["ab c"], rules, symbols=(b"b\xe2",))


def test_more_words_than_the_cache_holds() -> None:
    rng = np.random.default_rng(5)
    words = [f"w{n:b}".replace("0", "o").replace("1", "i") for n in range(150_000)]
    chosen = [words[int(i)] for i in np.minimum(rng.pareto(0.4, 300_000) * 20, 149_999)]
    got = counted([" ".join(chosen)], c_train.Rules({*SPLIT}, 16))
    assert got == Counter(f"\u2581{word}".encode() for word in chosen)


@pytest.mark.parametrize("n", [14, 15, 16, 17, 1364, 1365, 1366, 5000])
def test_long_units(n: int) -> None:
    rules = c_train.Rules({"split_by_script"}, 16)
    got = counted(["a " * n + "b", "a " * n + "b", "c"], rules)
    assert got == {("\u2581" + "a\u2581" * n + "b").encode(): 2, "\u2581c".encode(): 1}


def test_counting_continues_after_reading() -> None:
    segmenter = c_train.Segmenter(
        None, c_train.Rules({*SPLIT}, 16), c_train.Counter(), flags=c_train.CUT, max_line_bytes=100
    )
    for expected in (2, 4):
        segmenter.add(np.frombuffer(b"a\na", np.uint8), np.array([0, 3], np.int64))
        assert segmenter.counter.export().counts.tolist() == [expected]
    segmenter.counter.clear()
    segmenter.add(np.frombuffer(b"a", np.uint8), np.array([0, 1], np.int64))
    assert segmenter.counter.export().counts.tolist() == [1]


COUNTS = st.dictionaries(st.text("ab\u2581é\u2585\x1f", max_size=5), st.integers(0, 9), max_size=12)


def packed(units: dict[str, int]) -> c_train.Units:
    keys = sorted(unit.encode() for unit in units)
    return c_train.Units.pack(keys, [units[key.decode()] for key in keys])


def as_dict(units: c_train.Units) -> dict[bytes, int]:
    assert units.items() == sorted(set(units.items()))
    return dict(zip(units.items(), units.counts.tolist(), strict=True))


@given(COUNTS, COUNTS)
def test_merging(a: dict[str, int], b: dict[str, int]) -> None:
    expected = {key.encode(): a.get(key, 0) + b.get(key, 0) for key in a.keys() | b.keys()}
    assert as_dict(c_train.merge(packed(a), packed(b))) == expected


@given(COUNTS, st.booleans())
def test_folding_in_place(units: dict[str, int], all_kept: bool) -> None:
    keep = np.ones(c_train.CODE_POINTS, np.uint8)
    keep[ord("é")] = 0
    counter = c_train.Counter()
    c_train.fold(packed(units), None if all_kept else keep, c_train.FOLD_CUT, counter)
    counter.sort()
    assert as_dict(c_train.fold_sorted(packed(units), None if all_kept else keep)) == as_dict(counter.export())


def test_first_runs_of_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: if threads spilled for the first time simultaneously, the counts of one were lost."""
    write, barrier = counting.Runs.write, threading.Barrier(4, timeout=20)

    def write_together(runs: counting.Runs, blocks: Any) -> None:
        barrier.wait()
        write(runs, blocks)

    monkeypatch.setattr(counting.Runs, "write", write_together)
    rules, data = c_train.Rules({"split_by_whitespace"}, 16), np.frombuffer("\u2581ab".encode(), np.uint8)

    def make(counter: c_train.Counter) -> c_train.Segmenter:
        return c_train.Segmenter(None, rules, counter, flags=c_train.CUT, max_line_bytes=100)

    with counting.UnitCounter(make, max_memory=1) as counter:
        offsets = np.array([0, len(data)], np.int64)
        threads = [threading.Thread(target=counter.add, args=(data, offsets)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        (units,) = counter.settle().chunks()
    assert units.counts.tolist() == [4]
