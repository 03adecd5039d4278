"""bench.py search: exact counts against the decoded text; latency of counts and of the page; infini-gram."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import numpy as np
from bench_peers import available
from bench_processes import command, environment, run
from bench_texts import documents, english, mixed, random_slices, write_zst
from bench_timing import Bench, Report, benchmark, fail, pin_to_one_core, ratio, verdict

from pyunitok import Packed, Tokenizer, open_index
from pyunitok._c import search as c_search
from pyunitok.index.order import byte_rank
from pyunitok.index.pieces import PieceTables
from pyunitok.index.shard import IndexShard
from pyunitok.index.suffix import suffix_array

# In some, characters are unknown; no query matches them.
MODELS = ("rwkv-world", "spm/llama2.model", "spm/t5_base.model", "bytepiece/bytepiece.plus.40k.model")
PARTS = ("exact", "latency", "peer", "page")
EXACT_BYTES, N_EXACT, N_LATENCY, N_PEER, N_PAGE = 20_000_000, 10_000, 6000, 2000, 50
N_REGEX = 20  # queries per model that a regular expression also counts, which takes a second each
PEER_TOKENS = 8_000_000
MAX_WORK = 1 << 50
MEDIAN_TARGET, P99_TARGET, PAGE_TARGET = 100e-6, 3e-3, 150e-3
UNKNOWN_SURFACE = " \u2047 ".encode()


class TokenCorpus:
    """Documents tokenized by one model, as one shard of an index in memory."""

    def __init__(self, tokenizer: Tokenizer, docs: list[bytes], n_tokens: int = 0) -> None:
        """With n_tokens, the documents are repeated, each time in another order, up to that number."""
        ends = (tokenizer.eod_id, tokenizer.eos_id, tokenizer.vocab_size)
        self.eod = next(int(end) for end in ends if end is not None)
        self.encoded = tokenizer.encode_batch(docs, threads=2)
        with_eod = [np.append(ids, self.eod).astype(np.uint16) for ids in self.encoded]
        rng, parts = np.random.default_rng(1), list(with_eod)
        while sum(map(len, parts)) < n_tokens:
            parts += [with_eod[k] for k in rng.permutation(len(docs))]
        if n_tokens:
            parts = parts[: int(np.searchsorted(np.cumsum([*map(len, parts)]), n_tokens)) + 1]
        self.ids, rank = np.concatenate(parts), byte_rank(tokenizer)
        sa = suffix_array(self.ids, rank=rank)
        self.shard = IndexShard.from_arrays(self.ids, sa, rank=rank, ends=np.cumsum([len(part) for part in parts]))
        self.tables = PieceTables(tokenizer, self.shard.ranks)
        self.open(has_left=True)

    def open(self, *, has_left: bool) -> None:
        """With or without the column `left`."""
        shard = self.shard
        self.c = c_search.SearchShard(
            ids=shard.ids, sa=shard.sa, first=shard.first, top=shard.top, left=shard.left if has_left else None,
            rank=shard.ranks, ends=shard.ends, begin=0, eod=self.eod,
        )  # fmt: skip
        self.c.attach_inside(self.tables.c)

    def count(self, text: bytes) -> int:
        return self.c.count_one(self.tables.c, text, MAX_WORK)[0]


def add(report: Report, what: str, n_tokens: int, seconds: list[float], ok: bool | None, times: float | None = None
        ) -> None:  # fmt: skip
    """Add a row with the latency of queries in µs."""
    us = np.array(seconds) * 1e6
    report.add(
        what=what, tokens=n_tokens, queries=len(us), median_us=float(np.median(us)),
        p99_us=float(np.percentile(us, 99)), max_us=float(us.max()), x_infini_gram=times,
        verdict=None if ok is None else verdict(ok),
    )  # fmt: skip


def timed(bench: Bench, function: Callable[[bytes], int], queries: list[bytes]) -> tuple[list[float], list[int]]:
    """The seconds of each call, and the results."""
    seconds, results = [], []
    for query in queries:
        started = bench.now()
        results.append(function(query))
        seconds.append(bench.now() - started)
    return seconds, results


def overlapping(text: bytes, query: bytes) -> int:
    """The number of occurrences of `query`, overlapping ones included; faster than a regular expression."""
    if not any(query.startswith(query[k:]) for k in range(1, len(query))):  # occurrences cannot overlap
        return text.count(query)
    n, at = 0, text.find(query)
    while at >= 0:
        n, at = n + 1, text.find(query, at + 1)
    return n


def check_exact(bench: Bench, report: Report, name: str, tokenizer: Tokenizer, text: bytes) -> None:
    """Count random substrings of 1 to 64 bytes in the index and in the decoded text."""
    corpus = TokenCorpus(tokenizer, documents(text))
    decoded = [part.tobytes() for part in tokenizer.decode_bytes_batch(corpus.encoded)]
    if tokenizer.unk_id is not None:
        decoded = [part.replace(UNKNOWN_SURFACE, b"\xff") for part in decoded]
    whole, rng, queries = b"\xff".join(decoded), random.Random(7), list[bytes]()
    while len(queries) < N_EXACT:
        at = rng.randrange(len(whole) - 64)
        query = whole[at : at + rng.randrange(1, 65)]
        queries += [query] if b"\xff" not in query else []
    seconds, counts = timed(bench, corpus.count, queries)
    for k, (query, found) in enumerate(zip(queries, counts, strict=True)):
        expected = overlapping(whole, query)
        if k < N_REGEX and len(re.findall(b"(?=" + re.escape(query) + b")", whole)) != expected:
            raise fail("the count of the regular expression differs")
        if found != expected:
            raise fail(f"{name}: {query!r} the index counts {found}, the text has {expected}")
    add(report, f"exact, 0 wrong: {name}", len(corpus.ids), seconds, True)


def phrases(text: str, n: int, seed: int = 3) -> list[str]:
    """Phrases of 1 to 6 words, in turn, that occur in the text."""
    rng, words, ret = random.Random(seed), list(re.finditer(r"[A-Za-z]+", text)), list[str]()
    while len(ret) < n:
        k, at = len(ret) % 6 + 1, rng.randrange(len(words) - 6)
        phrase = text[words[at].start() : words[at + k - 1].end()]
        if re.fullmatch(r"[A-Za-z]+( [A-Za-z]+)*", phrase):
            ret.append(phrase)
    return ret


def measure_latency(bench: Bench, report: Report, corpus: TokenCorpus, texts: list[bytes]) -> None:
    """Time one call after another in warm memory; the overhead of Python is included."""
    for what, has_left in (("with --left", True), ("without --left", False)):
        corpus.open(has_left=has_left)
        timed(bench, corpus.count, texts)
        seconds, _ = timed(bench, corpus.count, texts)
        ok = np.median(seconds) <= MEDIAN_TARGET and np.percentile(seconds, 99) <= P99_TARGET
        add(report, f"count {what}", len(corpus.ids), seconds, bool(ok))


def measure_peer(bench: Bench, report: Report, corpus: TokenCorpus) -> None:
    """count_tokens beside infini-gram's count: one call per query, and all queries in one call."""
    rng, queries = random.Random(5), list[Any]()
    while len(queries) < N_PEER:
        at = rng.randrange(len(corpus.ids) - 8)
        query = corpus.ids[at : at + rng.randrange(1, 8)]
        if corpus.eod not in query:
            queries.append(query)
    lists = [query.tolist() for query in queries]
    packed = Packed(np.concatenate(queries), np.cumsum([0, *map(len, queries)], dtype=np.int64))
    begins, ends = packed.offsets[:-1].copy(), packed.offsets[1:].copy()
    with bench.folder(1e9) as folder:
        for _, engine in available(report.notes, ["infini-gram"], corpus.ids, corpus.eod, folder):

            def ours() -> list[int]:
                found = (corpus.c.tokens_of(np.array(query, np.uint16)) for query in lists)
                return [hi - lo for lo, hi in found]

            def batch() -> Any:
                lo, hi = corpus.c.tokens(packed.data, begins, ends)
                return (hi - lo).tolist()

            def theirs(engine: Any = engine) -> list[int]:
                return [engine.count(query)["count"] for query in lists]

            if ours() != theirs() or batch() != ours():
                raise fail("infini-gram's counts differ from ours")
            calls: dict[str, Callable[[], object]] = {"ours": ours, "batch": batch, "theirs": theirs}
            seconds = bench.interleave(calls)
            for what, key, target in (("count_tokens", "ours", 1.0), ("count_tokens_batch", "batch", 5.0),
                                      ("infini-gram count", "theirs", None)):  # fmt: skip
                times, each = ratio(seconds["theirs"], seconds[key]), [s / N_PEER for s in seconds[key]]
                add(report, what, len(corpus.ids), each, None if target is None else times >= target, times)


# ------------------------------------------------------------------------------------------------- the page ---

SHARD_TOKENS = "64M"
FREQUENT = ["the", "e", " ", "a", " the ", "of the", "in", "的"]
ABSENT = ["qwxzvkj", "the the of of", "zzzzzzzzzz", "日本語xyz", "th e", "An absent phrase of six words"]
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync"]

# Types a text, presses Enter and returns the milliseconds until the first frame that shows the count.
_ENTER = """(text) => new Promise((resolve) => {
  const box = document.getElementById("q"), count = document.getElementById("count");
  box.value = text;
  const asked = performance.now();
  new MutationObserver((_, observer) => {
    if (!/occurrence/.test(count.textContent)) return;
    observer.disconnect();
    requestAnimationFrame(() => resolve(performance.now() - asked));
  }).observe(count, { childList: true, characterData: true, subtree: true });
  box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
})"""


def build(text: bytes, n_bytes: int, folder: Path) -> Path:
    """Index n_bytes of the text, with its parts drawn at random; a line is a document."""
    write_zst(folder / "text.txt.zst", random_slices(documents(text), n_bytes))
    run([*command(), "tokenize", str(folder / "text.txt.zst"), "-o", str(folder / "ids.u16"), "--doc", "\\n"])
    run([*command(), "index", str(folder / "ids.u16"), "-o", str(folder / "idx"), "--shard-tokens", SHARD_TOKENS])
    for path in filter(Path.is_file, folder.rglob("*")):
        with path.open("rb") as written:  # drop the file from memory
            os.fsync(written.fileno())
            os.posix_fadvise(written.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return folder / "idx"


def page_queries(words: list[str], text: str) -> list[str]:
    """Frequent and absent texts, phrases, and random substrings."""
    rng, ret = random.Random(11), FREQUENT + ABSENT
    while len(ret) < N_PAGE:
        begin = rng.randrange(len(text) - 40)
        query = words[len(ret)] if len(ret) % 3 else text[begin : begin + rng.randrange(2, 25)]
        if query.isprintable() and query.strip() and query not in ret:
            ret.append(query)
    rng.shuffle(ret)
    return ret


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server in a separate process."""
    argv, env = [*command(), "serve", str(folder), "--port", "0"], environment() | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            found = re.search(r"http://\S+", server.stdout.readline())
            if not found:
                raise fail("the server did not start")
            yield found[0]
        finally:
            server.terminate()


def measure_page(report: Report, folder: Path, texts: list[str], n: int) -> None:
    """Time each query once when the files are not in memory, and then n times warm."""
    from playwright.sync_api import sync_playwright

    seconds: dict[str, list[float]] = {"cold": [], "warm": []}
    shown: dict[str, str] = {}
    with served(folder) as address, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(address)
        for turn in range(n + 1):
            for text in texts:
                seconds["warm" if turn else "cold"].append(page.evaluate(_ENTER, text) / 1e3)
                shown[text] = page.inner_text("#count b")
                page.wait_for_selector("#view:not(.loading)")  # so that the next query finds the server idle
        browser.close()
    index = open_index(folder)
    for text, found in shown.items():
        expected = int(index.count(text))
        if "at least" in found or int(re.sub(r"\D", "", found)) != expected:
            raise fail(f"{text!r}: the page shows {found}, not {expected}")
    for what, taken in seconds.items():
        add(report, f"page, {what}: Enter to the count", index.n_tokens, taken, max(taken) <= PAGE_TARGET)


@benchmark(
    5,
    click.option("--part", "parts", multiple=True, type=click.Choice(PARTS), help="Run only this part; repeatable."),
    click.option("--tokens", default=32.0, show_default=True, help="latency: millions of tokens."),
    click.option("--megabytes", type=click.IntRange(1), default=1000, show_default=True, help="page: text size."),
)  # fmt: skip
def search(bench: Bench, parts: tuple[str, ...], tokens: float, megabytes: int) -> Report:
    """Search suffix arrays: exact counts, their latency, infini-gram, and the page.

    exact    random substrings of 1 to 64 bytes, counted in the index and in the decoded text
    latency  phrases of 1 to 6 words of the English corpora, in tokens of all corpora; one core
    peer     sequences of 1 to 7 tokens, one per call and in a batch, over the same tokens
    page     `pyunitok serve` in chromium, from Enter to the first frame that shows the count
    """
    report, chosen, text = bench.report("search: counts in suffix arrays, in memory"), parts or PARTS, mixed(bench)
    if "exact" in chosen:
        for model in MODELS:
            path = str(bench.models / model) if "/" in model else model
            if "/" not in model or Path(path).exists():
                check_exact(bench, report, model, Tokenizer.from_file(path), documents(text, EXACT_BYTES)[0])
    if "page" in chosen and shutil.which("chromium"):
        with bench.folder(3.5e6 * megabytes) as folder:
            queries = page_queries(phrases(english(bench), N_PAGE), text.decode("utf-8", "ignore"))
            measure_page(report, build(text, megabytes * 1_000_000, folder), queries, bench.n)
    pin_to_one_core()
    if "latency" in chosen or "peer" in chosen:
        tokenizer, texts = Tokenizer.from_file("rwkv-world"), phrases(english(bench), N_LATENCY)
    if "latency" in chosen:
        corpus = TokenCorpus(tokenizer, documents(text), int(tokens * 1e6))
        measure_latency(bench, report, corpus, [phrase.encode() for phrase in texts])
    if "peer" in chosen:
        measure_peer(bench, report, TokenCorpus(tokenizer, documents(text), PEER_TOKENS))
    report.notes.append("verified: counts are those of the decoded text, of infini-gram, and of open_index (page)")
    return report
