"""Rules from papers: shares by units, n-grams and IDF, folded tokens, thresholds, and the effect of each preset."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import fewer
from hypothesis import given
from hypothesis import strategies as st
from oracle import grams as oracle

from pyunitok import OptionError, Tokenizer
from pyunitok import decontaminate as run_decontaminate
from pyunitok.clean.benchmarks import Items
from pyunitok.clean.folding import folded
from pyunitok.clean.matching import Matcher
from pyunitok.clean.rules import MEASURES, PRESETS, Rule
from pyunitok.packed import Packed

WORDS = [f"word{k}" for k in range(200)]


def words(begin: int, end: int) -> str:
    return " ".join(WORDS[begin:end])


def clean(folder: Path, items: list[Any], texts: list[str], field: str = "question", **options: Any) -> Any:
    """The summary, and the texts of CLEAN if it is written."""
    lines = [{"eval_key": "b", field: item} | ({"id": k} if field != "question" else {"eval_instance_index": k})
             if isinstance(item, str) else item for k, item in enumerate(items)]  # fmt: skip
    (folder / "b.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "c.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    out = None if PRESETS.get(options.get("preset", ""), {}).get("action") == "report" else folder / "o.jsonl"
    how = {"against_format": "decon"} if field == "question" else {"field": field}
    found = run_decontaminate(folder / "c.jsonl", out, folder / "b.jsonl", **how, report=folder / "h.jsonl",
                              overwrite=True, **options)  # fmt: skip
    kept = [json.loads(line)["text"] for line in out.read_bytes().splitlines()] if out else []
    return found, kept


UNITS = st.lists(st.sampled_from("abcd"), max_size=12)


@fewer(2)
@given(items=st.lists(UNITS, min_size=1, max_size=4), texts=st.lists(UNITS, min_size=1, max_size=3),
       n=st.integers(1, 4), measure=st.sampled_from(MEASURES))  # fmt: skip
def test_shares_like_the_definition(items, texts, n, measure):
    packed = Packed.from_documents(" ".join(item).encode() for item in items)
    count = len(items)
    rule = Rule(n=n, min_units=1, measure=measure, max_common=None)
    matcher = Matcher(Items(packed, ["b"], [0] * count, [*range(count)], ["x"] * count, ["q"] * count, ""), rule, None)
    searched = Packed.from_documents(" ".join(text).encode() for text in texts)
    found = matcher.matches(matcher.find(searched.data, searched.offsets), matcher.least_shares)

    def grams(units, size):
        return [tuple(units[k : k + size]) for k in range(len(units) - size + 1)]

    sets = [set(grams(item, min(n, len(item)))) if item else set() for item in items]
    expected, everywhere = {}, []
    for t, item in enumerate(items):
        size = min(n, len(item))
        weight = {gram: max(math.log(count / sum(gram in one for one in sets)), 1e-9) if measure == "idf" else 1
                  for gram in sets[t]}  # fmt: skip
        occurring = [set(grams(text, size)) & sets[t] if item else set() for text in texts]
        for d, common in enumerate([*occurring, set().union(*occurring)]):
            at = [k for k, gram in enumerate(grams(item, size)) if gram in common] if item else []
            covered = len({u for k in at for u in range(k, k + size)})
            share = covered / max(len(item), 1)
            if measure != "units":
                share = sum(weight[gram] for gram in common) / max(sum(weight.values()), 1e-30)
            if common and d < len(texts):
                expected[d, t] = share
            if d == len(texts):
                n_grams = max(len(grams(item, size)), 1)
                in_all = covered / max(len(item), 1) if measure == "units" else len(at) / n_grams
                everywhere.append(in_all if item else -1)
    pairs = zip(found.documents.tolist(), found.texts.tolist(), strict=True)
    assert dict(zip(pairs, found.shares.tolist(), strict=True)) == pytest.approx(expected)
    hits = matcher.find(searched.data, searched.offsets)
    counts = np.bincount(hits["gram"], minlength=matcher.grams.n_units)
    assert matcher.shares_found(counts, np.zeros_like(counts)).tolist() == pytest.approx(everywhere)


@fewer(2)
@given(items=st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=20), min_size=1, max_size=3),
       changes=st.lists(st.lists(st.integers(0, 19), max_size=6), min_size=1, max_size=4),
       n=st.integers(1, 4), mismatches=st.integers(0, 3))  # fmt: skip
def test_mismatches_like_the_definition(items, changes, n, mismatches):
    """Documents are items with some letters changed. Each byte is a token of the model."""
    texts = [["x" if k in changed else letter for k, letter in enumerate(items[number % len(items)])]
             for number, changed in enumerate(changes)]  # fmt: skip
    tokenizer = Tokenizer.from_pieces([bytes([k]) for k in range(256)])
    packed = Packed.from_documents("".join(item).encode() for item in items)
    count = len(items)
    rule = Rule(unit="tokens", n=n, max_common=None, action="report", item_share=0.5, mismatches=mismatches)
    rule.check()
    values = Items(packed, ["b"], [0] * count, [*range(count)], ["x"] * count, ["q"] * count, "")
    matcher = Matcher(values, rule, tokenizer)
    searched = Packed.from_documents("".join(text).encode() for text in texts)
    hits = matcher.find(searched.data, searched.offsets)
    counts = np.bincount(hits["gram"], minlength=matcher.grams.n_units)
    continued = np.bincount(matcher.continued(searched.data, searched.offsets, hits), minlength=len(counts))
    expected = []
    for item in items:
        size = min(n, len(item)) if len(item) >= rule.least_units else 0
        found = set().union(*(oracle.continued(item, text, size, mismatches) for text in texts)) if size else None
        expected.append(-1 if found is None else len(found) / len(item))
    assert matcher.shares_found(counts, continued).tolist() == pytest.approx(expected)
    assert (continued <= len(texts)).all()


PIECES = st.lists(st.sampled_from(["A", "é", "É", " ", "\t\n", ",", "“", "”", "’", "—", "„", "z1", "日", "\xa0"]),
                  max_size=9)  # fmt: skip


@given(st.lists(PIECES.map("".join), max_size=5))
def test_folding(texts):
    """Folding puts one space before each word; apart from case, every other byte equals the byte that it comes from."""
    packed = Packed.from_documents(text.encode() for text in texts)
    data, offsets, places = folded(packed.data, packed.offsets)
    for k, text in enumerate(texts):
        spaced = "".join(" " if c in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~‘’“”— \t\n" else c for c in text)
        lowered = "".join(c.lower() if c.isascii() else c for c in spaced)
        words_ = [word for word in lowered.split(" ") if word]
        assert data[offsets[k] : offsets[k + 1]].tobytes().decode() == "".join(f" {word}" for word in words_)
    of_words = data != 32
    assert packed.data[places[of_words]].tobytes().lower() == data[of_words].tobytes()
    assert (np.diff(places) >= 0).all()


def test_gpt3(tmp_path):
    """Cuts 13-grams and 200 characters on each side; drops pieces below 200 characters, and documents in more than 10
    pieces; ignores common n-grams."""
    item = words(0, 13)
    filler = "filler text here. " * 30
    both = filler + item.upper().replace(" ", ", ") + " " + filler
    found, kept = clean(tmp_path, [item, words(20, 32)], [both, words(20, 32), filler * 2], preset="gpt3")
    assert found.table()[0] == {"benchmark": "b", "items": 2, "testable": 1, "contaminated": 1, "documents": 1}
    assert json.loads((tmp_path / "o.jsonl.json").read_bytes())["untestable"] == {"b": ["1"]}
    sizes = [len(filler) - 200, len(filler) + 1 - 200, len(words(20, 32)), len(filler) * 2]
    assert [len(text) for text in kept] == sizes
    for n_pieces, n_kept in ((10, 10), (11, 0)):
        text = (item + " ").join([filler * 2] * n_pieces)
        assert len(clean(tmp_path, [item], [text], preset="gpt3")[1]) == n_kept
    short = ("x " * 205 + item + " ") * 11  # dropped pieces count too
    assert clean(tmp_path, [item], [short], preset="gpt3", min_piece=1000)[1] == []
    assert len(clean(tmp_path, [item], [item] * 11, preset="gpt3")[1]) == 11
    assert len(clean(tmp_path, [item], [item] * 10, preset="gpt3")[1]) == 0


def test_tulu3(tmp_path):
    """An item is contaminated if 8-grams cover more than half of it. Only benchmarks with more than 2 % of such items
    affect documents."""
    item = words(0, 20)
    texts = [words(0, 10) + " no", words(0, 11) + " no", words(3, 10)]
    assert clean(tmp_path, [item], texts, preset="tulu3")[1] == [texts[0], texts[2]]
    for n_others, n_kept in ((48, 1), (49, 2)):  # 1 of 49 is more than 2 %, and 1 of 50 is not
        others = [" ".join(f"w{k}x{i}" for i in range(20)) for k in range(n_others)]
        found, kept = clean(tmp_path, [item, *others], [item, "clean"], preset="tulu3")
        assert len(kept) == n_kept
        assert found.documents_affected == 2 - n_kept
    with pytest.raises(OptionError, match="max_common None"):
        clean(tmp_path, [item], texts, preset="tulu3", max_common=10)


def test_tulu3_in_shards(tmp_path):
    """Which benchmarks are affected depends on all shards."""
    (tmp_path / "in").mkdir()
    items = [" ".join(f"w{k}x{i}" for i in range(20)) for k in range(100)]
    (tmp_path / "b.jsonl").write_text("".join(json.dumps({"q": item}) + "\n" for item in items))
    for k in range(3):  # each shard has one contaminated item: together 3 %
        (tmp_path / f"in/{k}.txt").write_text(f"clean {k}\n{items[k]}\nmore\n")
    options = {"field": "q", "preset": "tulu3", "reading": run_reading(b"\n")}
    whole = run_decontaminate(tmp_path / "in", tmp_path / "whole", tmp_path / "b.jsonl", **options)
    assert (whole.documents_affected, whole.documents_written) == (3, 6)
    for k in (0, 1, 2, 0, 1):
        found = run_decontaminate(tmp_path / "in", tmp_path / "o", tmp_path / "b.jsonl", shard=(k, 3), **options)
    assert found == whole
    for k in range(3):
        assert (tmp_path / f"o/{k}.txt").read_bytes() == f"clean {k}\nmore\n".encode()


def run_reading(separator: bytes) -> Any:
    from pyunitok.corpus.reading import ReadingOptions

    return ReadingOptions(separator=separator)


def test_olmo(tmp_path):
    """Drops documents that contain a complete paragraph of at least 13 words."""
    item = words(0, 14) + "\n" + words(20, 30) + "\n" + words(40, 60)
    texts = [words(0, 14), words(0, 13), words(20, 30), "a\n" + words(40, 60) + "\nb", words(40, 59)]
    found, kept = clean(tmp_path, [item], texts, preset="olmo", field="text")
    assert kept == [texts[1], texts[2], texts[4]]
    assert found.table()[0] == {"benchmark": "b", "items": 1, "testable": 1, "contaminated": 1, "documents": 2}


def test_palm(tmp_path):
    """An item is contaminated if at least 70 % of its 8-grams occur anywhere in the corpus."""
    items = [words(0, 17), words(20, 37)]  # 10 8-grams each
    texts = [words(0, 10), words(4, 15), words(20, 33)]  # 3 + 4 8-grams of the first, 6 of the second
    found, _ = clean(tmp_path, items, texts, preset="palm", field="q")
    assert found.contaminated == [1]


def test_llama2(tmp_path):
    """An item is contaminated if matches with the corpus cover at least 80 % of its tokens. A match begins with a
    10-gram and ends before the fifth token that differs. Requires a model."""
    items = [words(0, 10), words(20, 30), words(100, 120), words(120, 140)]
    texts = [words(0, 9) + " no", words(20, 26) + " no " + words(26, 30)]
    found, _ = clean(tmp_path, items, texts, preset="llama2", field="q", model="unitok-v1")
    assert found.contaminated == [1]
    # A word is two tokens; changing its number changes one. A match that ends at the fifth change covers 31 of 40.
    differ = [re.sub(r"10[58]|11[14]", "99", words(100, 120)), re.sub(r"12[58]|13[147]", "99", words(120, 140))]
    found, _ = clean(tmp_path, items, [*texts, *differ], preset="llama2", field="q", model="unitok-v1")
    assert found.contaminated == [2]
    with pytest.raises(OptionError, match="requires a model"):
        clean(tmp_path, items, texts, preset="llama2", field="q")


def test_decon(tmp_path):
    """80 % of a long question, or all of a short one, must match. Ignores case, punctuation, answers and passages."""
    long, short = words(0, 60), "one two three four five six seven eight nine ten eleven twelve"
    items = [{"eval_key": "b", "question": long, "passage": words(100, 160)},
             {"eval_key": "b", "question": short}, {"eval_key": "b", "question": "one two three"}]  # fmt: skip
    texts = [
        words(0, 52).upper().replace(" ", ", "), words(0, 45), words(100, 160), short.title() + ".", "x; " + short,
        short.replace("two", "2"), "one two three",
    ]  # fmt: skip
    found, kept = clean(tmp_path, items, texts, preset="decon", model="unitok-v1", min_item=10, perfect=(14, 100))
    assert kept == [texts[1], texts[2], texts[5], texts[6]]
    assert found.table()[0] == {"benchmark": "b", "items": 3, "testable": 2, "contaminated": 2, "documents": 3}
    hits = [json.loads(line) for line in (tmp_path / "h.jsonl").read_bytes().splitlines()]
    assert [hit["text"].strip() for hit in hits] == [texts[0], texts[3][:-1], short]
    assert clean(tmp_path, items, texts, preset="decon", model="unitok-v1")[0].table()[0]["testable"] == 1


def test_thresholds():
    rule = Rule(**PRESETS["decon"])
    shares = rule.least_shares(np.array([1, 20, 35, 50, 1000]))
    assert shares.tolist() == pytest.approx([1, 1, 0.9, 0.8, 0.8])
    assert Rule(min_share=0.3).least_shares(np.array([1, 99])).tolist() == [0.3, 0.3]


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_valid(name):
    Rule(**PRESETS[name]).check()
    assert (PRESETS[name]["action"] == "report") == (name in ("palm", "llama2"))
