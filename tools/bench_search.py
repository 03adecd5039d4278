"""bench.py search: compares counts with the decoded text and with infini-gram, and times counts and the search page."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from bench_peers import available
from bench_processes import command, environment, run
from bench_texts import documents, english, json_lines, mixed, random_slices, write_zst
from bench_timing import Bench, Report, benchmark, fail, pin_to_one_core, ratio, verdict

import pyunitok
from pyunitok import Packed, open_index
from pyunitok.index.opened import Index

# For some of these models, the text contains unknown characters, which no query matches.
MODELS = ("rwkv-world", "spm/llama2.model", "spm/t5_base.model", "bytepiece/bytepiece.plus.40k.model")
PARTS = ("exact", "latency", "peer", "page")
EXACT_BYTES, N_EXACT, N_LATENCY, N_PEER, N_PAGE = 20_000_000, 10_000, 6000, 2000, 50
N_REGEX = 20  # queries per model that are also counted with a regular expression; each takes a second
PEER_BYTES, TOKEN_BYTES = 24_000_000, 3
MAX_WORK = 1 << 50
MEDIAN_TARGET, P99_TARGET, PAGE_TARGET = 100e-6, 3e-3, 150e-3
UNKNOWN_SURFACE = " \u2047 ".encode()


def indexed(docs: Iterable[bytes], folder: Path, *options: str, model: str = "rwkv-world") -> Index:
    """Tokenize the documents into folder/ids and build an index over them."""
    write_zst(folder / "text.jsonl.zst", json_lines(doc.decode("utf-8", "ignore") for doc in docs))
    ids, index = str(folder / "ids"), str(folder / "index")
    run([*command(), "tokenize", str(folder / "text.jsonl.zst"), "-o", ids, "-m", model, "--overwrite"])
    run([*command(), "index", ids, "-o", index, "--overwrite", *options])
    return open_index(index)


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
    """The duration of each call in seconds, and the results."""
    seconds, results = [], []
    for query in queries:
        started = bench.now()
        results.append(function(query))
        seconds.append(bench.now() - started)
    return seconds, results


def overlapping(text: bytes, query: bytes) -> int:
    """The number of occurrences of `query`, including overlapping ones; faster than a regular expression."""
    if not any(query.startswith(query[k:]) for k in range(1, len(query))):  # occurrences cannot overlap
        return text.count(query)
    n, at = 0, text.find(query)
    while at >= 0:
        n, at = n + 1, text.find(query, at + 1)
    return n


def check_exact(bench: Bench, report: Report, model: str, docs: list[bytes], folder: Path) -> None:
    """Count random substrings of 1 to 64 bytes in the index and in the decoded text."""
    index, tokens = indexed(docs, folder, model=model), pyunitok.open(folder / "ids")
    decoded = [part.tobytes() for part in tokens.tokenizer.decode_bytes_batch(list(tokens))]
    if tokens.tokenizer.unk_id is not None:
        decoded = [part.replace(UNKNOWN_SURFACE, b"\xff") for part in decoded]
    whole, rng, queries = b"\xff".join(decoded), random.Random(7), list[bytes]()
    while len(queries) < N_EXACT:
        at = rng.randrange(len(whole) - 64)
        query = whole[at : at + rng.randrange(1, 65)]
        queries += [query] if b"\xff" not in query else []
    seconds, counts = timed(bench, partial(index.count, max_work=MAX_WORK), queries)
    for k, (query, found) in enumerate(zip(queries, counts, strict=True)):
        expected = overlapping(whole, query)
        if k < N_REGEX and len(re.findall(b"(?=" + re.escape(query) + b")", whole)) != expected:
            raise fail("the count of the regular expression differs")
        if found != expected:
            raise fail(f"{model}: {query!r} the index counts {found}, the text has {expected}")
    add(report, f"exact, 0 wrong: {Path(model).name}", index.n_tokens, seconds, True)


def phrases(text: str, n: int, seed: int = 3) -> list[str]:
    """Phrases that occur in the text; their lengths cycle through 1 to 6 words."""
    rng, words, ret = random.Random(seed), list(re.finditer(r"[A-Za-z]+", text)), list[str]()
    while len(ret) < n:
        k, at = len(ret) % 6 + 1, rng.randrange(len(words) - 6)
        phrase = text[words[at].start() : words[at + k - 1].end()]
        if re.fullmatch(r"[A-Za-z]+( [A-Za-z]+)*", phrase):
            ret.append(phrase)
    return ret


def measure_latency(bench: Bench, report: Report, docs: list[bytes], n_bytes: int, texts: list[bytes]) -> None:
    """Time one call after another, with the index in memory; the overhead of Python is included."""
    for options in (["--left"], []):
        with bench.folder(3 * n_bytes) as folder:
            index = indexed(random_slices(docs, n_bytes), folder, *options)
            timed(bench, index.count, texts)
            seconds, _ = timed(bench, index.count, texts)
        ok = np.median(seconds) <= MEDIAN_TARGET and np.percentile(seconds, 99) <= P99_TARGET
        add(report, f"count {' '.join(options)}", index.n_tokens, seconds, bool(ok))


def measure_peer(bench: Bench, report: Report, docs: list[bytes], folder: Path) -> None:
    """Compare count_tokens with infini-gram's count: one call per query, and all queries in one call."""
    index, tokens = indexed(random_slices(docs, PEER_BYTES), folder), pyunitok.open(folder / "ids")
    rng, queries, eod = random.Random(5), list[list[int]](), int(tokens.eod_id or 0)
    while len(queries) < N_PEER:
        at = rng.randrange(len(tokens.ids) - 8)
        query = tokens.ids[at : at + rng.randrange(1, 8)].tolist()
        queries += [query] if eod not in query else []
    packed = Packed(np.concatenate(queries).astype(np.uint16), np.cumsum([0, *map(len, queries)], dtype=np.int64))
    for _, engine in available(report.notes, ["infini-gram"], folder / "ids", folder / "engine"):
        calls: dict[str, Callable[[], list[int]]] = {
            "infini-gram's count": partial(_counts_of, engine, queries),
            "count_tokens": lambda: [index.count_tokens(query) for query in queries],
            "count_tokens_batch": lambda: index.count_tokens_batch(packed).tolist(),
        }  # fmt: skip
        if any(call() != calls["count_tokens"]() for call in calls.values()):
            raise fail("infini-gram's counts differ from ours")
        seconds = bench.interleave(calls)
        for what, target in zip(calls, (None, 1.0, 5.0), strict=True):
            times = ratio(seconds["infini-gram's count"], seconds[what])
            each = [s / N_PEER for s in seconds[what]]
            add(report, what, index.n_tokens, each, None if target is None else times >= target, times)


def _counts_of(engine: Any, queries: list[list[int]]) -> list[int]:
    return [engine.count(query)["count"] for query in queries]


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
    """Index n_bytes of documents drawn at random from the text, and drop the files from the page cache."""
    indexed(random_slices(documents(text), n_bytes), folder, "--shard-tokens", SHARD_TOKENS, model="unitok-v1")
    for path in filter(Path.is_file, folder.rglob("*")):
        with path.open("rb") as written:
            os.fsync(written.fileno())
            os.posix_fadvise(written.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return folder / "index"


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
    """Time each query once when the files are not in memory, and then n times when they are."""
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
    latency  phrases of 1 to 6 words from the English corpora, counted in an index of all corpora, on one core
    peer     sequences of 1 to 7 tokens, one per call and in a batch, over the same tokens
    page     `pyunitok serve` in chromium, from Enter to the first frame that shows the count
    """
    report, chosen, text = bench.report("search: counts in suffix arrays"), parts or PARTS, mixed(bench)
    docs = documents(text)
    for model in MODELS if "exact" in chosen else ():
        path = str(bench.models / model) if "/" in model else model
        if "/" not in model or Path(path).exists():
            with bench.folder(3 * EXACT_BYTES) as folder:
                check_exact(bench, report, path, docs[: EXACT_BYTES // len(docs[0])], folder)
    if "page" in chosen and shutil.which("chromium"):
        with bench.folder(3.5e6 * megabytes) as folder:
            queries = page_queries(phrases(english(bench), N_PAGE), text.decode("utf-8", "ignore"))
            measure_page(report, build(text, megabytes * 1_000_000, folder), queries, bench.n)
    pin_to_one_core()
    if "latency" in chosen:
        texts = [phrase.encode() for phrase in phrases(english(bench), N_LATENCY)]
        measure_latency(bench, report, docs, int(tokens * 1e6 * TOKEN_BYTES), texts)
    if "peer" in chosen:
        with bench.folder(10 * PEER_BYTES) as folder:
            measure_peer(bench, report, docs, folder)
    report.notes.append("verified: counts are those of the decoded text, of infini-gram, and of open_index (page)")
    return report
