"""bench.py words: times trace and queries about words and fields, in an index that stores words and fields."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from bench_processes import command, run
from bench_texts import documents, mixed, random_slices, write_zst
from bench_timing import Bench, Report, benchmark, fail, pin_to_one_core, verdict

from pyunitok import open_index
from pyunitok.corpus.words import words_of
from pyunitok.index.groups import count_by, facets
from pyunitok.index.opened import Index
from pyunitok.index.trace import trace
from pyunitok.index.word_query import WordOptions
from pyunitok.index.word_statistics import collocations, key_words

DOCUMENT_BYTES, TOKEN_BYTES, CHECKED_BYTES = 4096, 3.4, 2_000_000
BILLION, MILLION, SAMPLE, TRACED = 10**9, 10**6, 100_000, 500
FOLDED = WordOptions(ignore_case=True)
WILD = WordOptions(ignore_case=True, wildcards=True)
REGEX = WordOptions(ignore_case=True, regex=True)
PHRASES = {  # query: (options, an equivalent pattern over folded words, each followed by a space)
    "of the": (FOLDED, "of the "), "as well as the": (FOLDED, "as well as the "),
    "*ing": (WILD, r"\S*ing "), "un*ed of": (WILD, r"un\S*ed of "), "*ou*": (WILD, r"\S*ou\S* "),
    "[a-z]+ing": (REGEX, "[a-z]+ing "), "walk(s|ed|ing)?": (REGEX, "walk(s|ed|ing)? "),
    "the [0-3] of": (FOLDED, r"the (?=(?:\S+ ){0,3}of )"),
}  # fmt: skip


def lines(bench: Bench, n_bytes: int) -> Iterator[bytes]:
    """Documents drawn at random from all corpora, with fields."""
    for k, part in enumerate(random_slices(documents(mixed(bench), DOCUMENT_BYTES), n_bytes)):
        fields = {"year": 1990 + k % 30, "kind": ("news", "web", "book")[k % 3]}
        yield json.dumps({"text": part.decode("utf-8", "ignore"), **fields}).encode() + b"\n"


def indexed(bench: Bench, n_bytes: int, folder: Path) -> Index:
    write_zst(folder / "text.jsonl.zst", lines(bench, n_bytes))
    ids, index = str(folder / "ids"), str(folder / "index")
    run([*command(), "tokenize", str(folder / "text.jsonl.zst"), "-o", ids, "-m", "unitok-v1", "--metadata"])
    run([*command(), "index", ids, "-o", index, "--words", "--fields", "year,kind"])
    return open_index(index)


def check(index: Index, texts: list[str]) -> None:
    """Compare the answers with counts over the words of the texts."""
    words = [[word.casefold() for word in words_of(text.encode())] for text in texts]
    joined = "\n".join("".join(f"{word} " for word in part) for part in words)
    for query, (options, pattern) in PHRASES.items():
        expected = len(re.findall(rf"(?<!\S)(?={pattern})", joined))
        if index.words.count(query, options) != expected:
            raise fail(f"{query!r}: the index counts {index.words.count(query, options)}, the text has {expected}")
    near: Counter[str] = Counter()
    for part in words:
        for at in (k for k, word in enumerate(part) if word == "the"):
            near.update(part[max(0, at - 5) : at] + part[at + 1 : at + 6])
    found = {row["text"].casefold(): row["count"] for row in collocations(index, "the", options=FOLDED).rows}
    if found != {word: n for word, n in near.items() if n >= 3}:
        raise fail("the collocates of 'the' differ")
    groups = [Counter(word for part in words[k::3] for word in part) for k in range(3)]
    rows = key_words(index, ["kind=news"], against=["kind=web"], options=FOLDED).rows
    if {row["text"].casefold(): (row["count"], row["reference"]) for row in rows} != {
        word: (n, groups[1][word]) for word, n in groups[0].items() if n >= 3
    }:
        raise fail("the keywords differ")
    shares = [sum(word == "the" for part in words[k::3] for word in part) for k in range(3)]
    kinds = {row.value: row.hits for row in facets(index, "the", ["kind"], words=FOLDED)[0].rows}
    if kinds != dict(zip(("news", "web", "book"), shares, strict=True)):
        raise fail("the facets of 'the' differ")
    text = texts[len(texts) // 2][:2000]
    for span in trace(index, text).spans:
        if span.count != sum(len(re.findall(f"(?={re.escape(span.text.decode())})", one)) for one in texts):
            raise fail("the spans of trace differ")


def frequent(index: Index, n: int) -> str:
    """The most frequent words that together occur at least n times, as a query with alternatives."""
    chosen, total = list[str](), 0
    for row in index.words.frequencies(options=FOLDED, limit=100).rows:
        if total < n:
            chosen.append(row.text)
            total += row.count
    return "|".join(chosen)


@benchmark(
    5,
    click.option("--tokens", default=20.0, show_default=True, help="Millions of tokens of the index."),
    click.option("--index", "folder", type=click.Path(path_type=Path, exists=True), help="Measure this index instead."),
)  # fmt: skip
def words(bench: Bench, tokens: float, folder: Path | None) -> Report:
    """Query words and fields on one core, with the index in memory: medians in ms, also scaled to 10^9 tokens.

    Queries that read hits or words are scaled: collocations and facets to 10^6 hits, and all others linearly. An index
    given by --index needs words and the fields `year` and `kind`.
    """
    report = bench.report("words: queries about words and fields")
    with bench.folder(10e6 + tokens * 1e6 * TOKEN_BYTES * 5) as temporary:
        (temporary / "checked").mkdir()
        small = indexed(bench, CHECKED_BYTES, temporary / "checked")
        check(small, [small.text_bytes(k).decode() for k in range(small.n_documents)])
        index = open_index(folder) if folder else indexed(bench, int(tokens * 1e6 * TOKEN_BYTES), temporary)
        pin_to_one_core()
        measure(bench, report, index)
    report.notes.append("verified: all answers for a small index equal counts over the words of its texts")
    return report


def measure(bench: Bench, report: Report, index: Index) -> None:
    linear = max(1.0, BILLION / index.n_tokens)
    many = frequent(index, min(MILLION, index.words.n_words // 20))
    by_hits = MILLION / int(index.words.count(many, FOLDED))
    rng, ids = random.Random(2), list[int]()
    while len(ids) < TRACED:
        array, number = index.locate(rng.randrange(index.n_documents))
        ids += np.asarray(array[number])[50:90].tolist()
    text = index.tokenizer.decode_bytes(np.array(ids[:TRACED], np.uint32))
    rows: dict[str, tuple[Callable[[], object], float, float]] = {  # what: (function, factor, target in ms)
        f"count -i: {query}": (partial(index.words.count, query, options), 1, 5)
        for query, (options, _) in PHRASES.items() if options is FOLDED and "[" not in query
    }  # fmt: skip
    rows |= {
        f"count: {query}": (partial(index.words.count, query, options), linear if "[0-3]" in query else 1, 500)
        for query, (options, _) in PHRASES.items() if options is not FOLDED or "[" in query
    }  # fmt: skip
    news, web = ["kind=news"], ["kind=web"]
    rows |= {
        "collocations of 10^6 hits": (partial(collocations, index, many, options=FOLDED, limit=20), by_hits, 2000),
        "... of a sample of 10^5": (
            partial(collocations, index, many, options=FOLDED, limit=20, max_hits=SAMPLE), 1, 300),
        "keyness of two groups": (partial(key_words, index, news, against=web, limit=20), linear, 2000),
        "facets of 10^6 hits": (partial(facets, index, many, words=FOLDED), by_hits, 300),
        "... by one field": (partial(count_by, index, many, "year", words=FOLDED), by_hits, 300),
        f"trace of {TRACED} tokens": (partial(trace, index, text), 1, 50),
        "... with normalize": (partial(trace, index, text, normalize=True), 1, 50),
    }  # fmt: skip
    seconds = bench.interleave({what: function for what, (function, _, _) in rows.items()})
    for what, (_, factor, target) in rows.items():
        ms = 1e3 * float(np.median(seconds[what]))
        cells: dict[str, Any] = {"ms": ms, "at_10^9": ms * factor, "target": float(target)}
        report.add(what=what, tokens=index.n_tokens, **cells, verdict=verdict(ms * factor <= target))
