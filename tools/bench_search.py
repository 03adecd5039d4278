"""bench.py search: exactness of counts against the decoded text; latency of counts and of the page; infini-gram."""

from __future__ import annotations

import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bench_page
import click
import numpy as np
from bench_command import check_space, temporary_option
from bench_timing import (
    Corpora,
    Report,
    clock_option,
    documents,
    fail,
    interleave,
    json_option,
    n_option,
    one_core,
    ratio,
    shared_option,
    shared_root,
    verdict,
    vocabulary,
)

from pyunitok import Packed, Tokenizer
from pyunitok._c import search as c_search
from pyunitok.index.order import byte_rank
from pyunitok.index.pieces import PieceTables
from pyunitok.index.shard import IndexShard
from pyunitok.index.suffix import suffix_array

MODELS = {  # with unknown characters, which no text matches
    "rwkv-world": None,
    "llama2": "spm/llama2.model",
    "t5": "spm/t5_base.model",
    "bytepiece": "bytepiece/bytepiece.plus.40k.model",
}
PARTS = ("exact", "latency", "peer", "page")
MAX_WORK = 1 << 50
N_PAGE = 50
N_REGEX = 20  # queries of each model that a regular expression counts, too: a second each
MEDIAN_TARGET_US, P99_TARGET_MS = 100, 3
UNKNOWN_SURFACE = " \u2047 ".encode()


class Corpus:
    """Documents of one model as one shard in memory, as an index has it."""

    def __init__(self, tokenizer: Tokenizer, docs: list[bytes], eod: int, n_tokens: int = 0, seed: int = 1) -> None:
        """n_tokens: so many, the documents over and over, each time in another order; 0: each once."""
        encoded = tokenizer.encode_batch(docs, threads=2)
        parts: list[Any] = []
        rng, sizes, total = np.random.default_rng(seed), list[int](), 0
        while not parts or total < n_tokens:
            for k in rng.permutation(len(docs)).tolist() if n_tokens else range(len(docs)):
                ids = encoded[k]
                parts += [ids.astype(np.uint16), np.array([eod], np.uint16)]
                sizes.append(len(ids) + 1)
                total += len(ids) + 1
                if n_tokens and total >= n_tokens:
                    break
        self.ids = np.concatenate(parts)
        self.encoded, self.tokenizer, self.eod = encoded, tokenizer, eod
        rank = byte_rank(tokenizer)
        started = time.perf_counter()
        sa = suffix_array(self.ids, rank=rank)
        self.sort_seconds = time.perf_counter() - started
        shard = IndexShard.from_arrays(self.ids, sa, rank=rank, ends=np.cumsum(sizes))
        self.shard, self.tables = shard, PieceTables(tokenizer, shard.ranks)
        self.open(has_left=True)

    def open(self, *, has_left: bool) -> None:
        """With or without the column `left`."""
        shard = self.shard
        self.c = c_search.SearchShard(
            ids=shard.ids, sa=shard.sa, first=shard.first, top=shard.top, left=shard.left if has_left else None,
            rank=shard.ranks, ends=shard.ends, begin=0, eod=self.eod,
        )  # fmt: skip
        self.c.lend_inside(self.tables.c)

    def count(self, text: bytes) -> int:
        return self.c.count_one(self.tables.c, text, MAX_WORK)[0]


def eod_of(tokenizer: Tokenizer) -> int:
    eod = tokenizer.eod_id if tokenizer.eod_id is not None else tokenizer.eos_id
    return int(eod if eod is not None else tokenizer.vocab_size)


def overlapping(text: bytes, query: bytes) -> int:
    """Occurrences of `query`, overlapping ones included: the regular expression's count, in less time."""
    borders = any(query.startswith(query[k:]) for k in range(1, len(query)))
    if not borders:  # occurrences cannot overlap
        return text.count(query)
    n, at = 0, text.find(query)
    while at >= 0:
        n, at = n + 1, text.find(query, at + 1)
    return n


def check_exact(name: str, tokenizer: Tokenizer, text: bytes, n_queries: int, report: Report) -> None:
    """Count random substrings of 1 to 64 bytes, and compare."""
    corpus = Corpus(tokenizer, documents(text), eod_of(tokenizer))
    decoded = [part.tobytes() for part in tokenizer.decode_bytes_batch(corpus.encoded)]
    if tokenizer.unk_id is not None:  # an unknown character is no text, and shows as this
        decoded = [part.replace(UNKNOWN_SURFACE, b"\xff") for part in decoded]
    whole = b"\xff".join(decoded)
    rng, wrong, seconds, n_found = random.Random(7), 0, [], 0
    for k in range(n_queries):
        query = b"\xff"
        while b"\xff" in query:
            at = rng.randrange(len(whole) - 64)
            query = whole[at : at + rng.randrange(1, 65)]
        started = time.perf_counter()
        found = corpus.count(query)
        seconds.append(time.perf_counter() - started)
        expected = overlapping(whole, query)
        if k < N_REGEX:
            expected_too = len(re.findall(b"(?=" + re.escape(query) + b")", whole))
            if expected_too != expected:
                raise fail("the regular expression and the plain count differ")
        wrong += found != expected
        n_found += found
    if wrong:
        raise fail(f"{name}: {wrong} of {n_queries} counts differ")
    report.add(
        what=f"exact: {name}", tokens=len(corpus.ids), queries=n_queries, wrong=wrong, occurrences=n_found,
        median_us=statistics.median(seconds) * 1e6, p99_us=float(np.percentile(seconds, 99)) * 1e6,
        max_us=max(seconds) * 1e6, verdict=verdict(wrong == 0),
    )  # fmt: skip


def phrases(text: str, n: int, seed: int = 3) -> list[bytes]:
    """Phrases of 1 to 6 words, as they stand in the text: their lengths in turn."""
    rng = random.Random(seed)
    words = list(re.finditer(r"[A-Za-z]+", text))
    ret: list[bytes] = []
    while len(ret) < n:
        k, at = len(ret) % 6 + 1, rng.randrange(len(words) - 6)
        phrase = text[words[at].start() : words[at + k - 1].end()]
        if re.fullmatch(r"[A-Za-z]+( [A-Za-z]+)*", phrase):
            ret.append(phrase.encode())
    return ret


def english_of(corpora: Corpora) -> str:
    names = [name for name in corpora.names if name.startswith("en_") or name == "sample"]
    return b"".join(map(corpora.read, names)).decode("utf-8", "ignore")


def measure_latency(corpus: Corpus, texts: list[bytes], clock: str, what: str, report: Report) -> None:
    """One call after another, Python included, from warm memory."""
    now = time.process_time if clock == "cpu" else time.perf_counter
    for text in texts:
        corpus.count(text)
    by_words: dict[int, list[float]] = {}
    for text in texts:
        started = now()
        corpus.count(text)
        by_words.setdefault(text.count(b" ") + 1, []).append(now() - started)
    everything = [seconds for part in by_words.values() for seconds in part]
    for words, seconds in [*sorted(by_words.items()), (0, everything)]:
        median, p99 = statistics.median(seconds) * 1e6, float(np.percentile(seconds, 99)) * 1e6
        is_met = median <= MEDIAN_TARGET_US and p99 <= P99_TARGET_MS * 1e3
        report.add(
            what=f"count, {what}: {words} words" if words else f"count, {what}: 1 to 6 words", tokens=len(corpus.ids),
            queries=len(seconds), wrong=None, occurrences=None, median_us=median, p99_us=p99, max_us=max(seconds) * 1e6,
            verdict=None if words else verdict(is_met),
        )  # fmt: skip


def infini_gram(ids: np.ndarray[Any, Any], eod: int, folder: Path) -> Any:
    """Its engine over the same tokens, indexed by itself; None where it is not installed."""
    try:
        from infini_gram.engine import InfiniGramEngine
    except ImportError:
        return None
    stream = ids.copy()
    stream[stream == eod] = 0xFFFF  # its separator
    np.concatenate((np.array([0xFFFF], np.uint16), stream[:-1])).tofile(folder / "tokenized.0")
    starts = np.concatenate(([0], np.flatnonzero(stream[:-1] == 0xFFFF) + 1))
    (starts.astype("<u8") * 2).tofile(folder / "offset.0")
    argv = ["-m", "infini_gram.indexing", "--data_dir", folder, "--save_dir", folder, "--mem", "4", "--cpus", "2"]
    argv += ["--shards", "1", "--token_dtype", "u16", "--ulimit", "1024"]
    done = subprocess.run([sys.executable, *map(str, argv)], capture_output=True, text=True)
    if not (folder / "table.0").exists():
        raise fail(f"infini-gram's indexing failed: {done.stderr[-500:]}")
    return InfiniGramEngine(str(folder), eos_token_id=eod, vocab_size=65535, version=4, token_dtype="u16")


def measure_peer(corpus: Corpus, n_queries: int, n: int, clock: str, report: Report) -> None:
    """count_tokens beside infini-gram's count: one call a query, and all in one call."""
    rng = random.Random(5)
    queries: list[Any] = []
    while len(queries) < n_queries:
        at = rng.randrange(len(corpus.ids) - 8)
        query = corpus.ids[at : at + rng.randrange(1, 8)]
        if corpus.eod not in query:
            queries.append(query)
    lists = [query.tolist() for query in queries]
    packed = Packed(np.concatenate(queries), np.cumsum([0, *map(len, queries)], dtype=np.int64))
    begins, ends = packed.offsets[:-1].copy(), packed.offsets[1:].copy()
    with tempfile.TemporaryDirectory() as folder:
        engine = infini_gram(corpus.ids, corpus.eod, Path(folder))
        if engine is None:
            report.notes.append("infini-gram is not installed: not compared")
            return

        def ours() -> list[int]:
            ret = []
            for query in lists:
                lo, hi = corpus.c.tokens_of(np.array(query, np.uint16))
                ret.append(hi - lo)
            return ret

        def batch() -> Any:
            lo, hi = corpus.c.tokens(packed.data, begins, ends)
            return hi - lo

        def theirs() -> list[int]:
            return [engine.count(query)["count"] for query in lists]

        if ours() != theirs() or batch().tolist() != ours():
            raise fail("infini-gram's counts differ from ours")
        calls: dict[str, Callable[[], object]] = {"ours": ours, "batch": batch, "theirs": theirs}
        seconds = interleave(calls, n, clock=clock)
        for what, key, target in (("count_tokens", "ours", 1.0), ("count_tokens_batch", "batch", 5.0)):
            times = ratio(seconds["theirs"], seconds[key])
            us = statistics.median(seconds[key]) / n_queries * 1e6
            report.add(
                what=f"{what}: {times:.1f} x infini-gram", tokens=len(corpus.ids), queries=n_queries, wrong=0,
                occurrences=None, median_us=us, p99_us=None, max_us=None, verdict=verdict(times >= target),
            )  # fmt: skip
        us = statistics.median(seconds["theirs"]) / n_queries * 1e6
        report.add(
            what="infini-gram count", tokens=len(corpus.ids), queries=n_queries, wrong=None, occurrences=None,
            median_us=us, p99_us=None, max_us=None, verdict=None,
        )  # fmt: skip


@click.command()
@shared_option
@n_option(5)
@click.option("--part", "parts", multiple=True, type=click.Choice(PARTS), help="Only this; may be given several times.")
@click.option("--megabytes", type=click.IntRange(1), default=20, show_default=True, help="exact: of text.")
@click.option("--queries", type=click.IntRange(1), default=10_000, show_default=True, help="exact: a model.")
@click.option("--model", "models", multiple=True, type=click.Choice(list(MODELS)), help="exact: only these.")
@click.option("--tokens", type=click.IntRange(1), default=32_000_000, show_default=True, help="latency: how many.")
@click.option("--peer-tokens", type=click.IntRange(1), default=8_000_000, show_default=True, help="peer: how many.")
@click.option("--page-megabytes", type=click.IntRange(1), default=1000, show_default=True, help="page: of text.")
@temporary_option
@clock_option
@json_option
def search(
    shared: Path | None, n: int, parts: tuple[str, ...], megabytes: int, queries: int, models: tuple[str, ...],
    tokens: int, peer_tokens: int, page_megabytes: int, tmp: str | None, clock: str, as_json: bool,
) -> None:  # fmt: skip
    """Search in suffix arrays: whether counts of text are exact, how long they take, and infini-gram beside it.

    exact    random substrings of 1 to 64 bytes of all corpora in turn, counted in the index and in the decoded text
    latency  phrases of 1 to 6 words of the English corpora, over RWKV World tokens of all corpora, repeated in other
             orders until there are enough; one core
    peer     sequences of 1 to 7 tokens, one call each and in a batch, over the same tokens
    page     `pyunitok serve` in chromium: from Enter to the first frame that shows the count, of 50 texts; cold: the
             server has just started, and the files are not in memory; both cores
    """
    report = Report("search: counts in suffix arrays, in memory, one core", n, clock)
    chosen = parts or PARTS
    corpora = Corpora.find(shared, None)
    text = corpora.round_robin()
    if "exact" in chosen:
        for name in models or MODELS:
            model = MODELS[name]
            path = vocabulary() if model is None else shared_root(shared) / "data" / "models" / model
            part = documents(text, megabytes * 1_000_000)[0]
            check_exact(name, Tokenizer.from_file(path), part, queries, report)
    tokenizer = Tokenizer.from_file(vocabulary())
    with one_core():
        if "latency" in chosen:
            corpus = Corpus(tokenizer, documents(text), 0, tokens)
            report.notes.append(f"sorting {len(corpus.ids):,} tokens took {corpus.sort_seconds:.1f} s")
            texts = phrases(english_of(corpora), 6000)
            for what, has_left in (("--left", True), ("no --left", False)):
                corpus.open(has_left=has_left)
                measure_latency(corpus, texts, clock, what, report)
            del corpus
        if "peer" in chosen:
            small = Corpus(tokenizer, documents(text), 0, peer_tokens)
            measure_peer(small, 2000, n, clock, report)
    if "page" in chosen and bench_page.has_browser():
        with tempfile.TemporaryDirectory(dir=tmp) as name:
            check_space(Path(name), 3.5e6 * page_megabytes)
            folder = bench_page.build(corpora, page_megabytes, Path(name))
            queried = bench_page.queries(english_of(corpora), text.decode("utf-8", "ignore"), N_PAGE)
            bench_page.measure_page(folder, queried, n, report)
    report.notes.append("verified: counts are those of the decoded text (exact), and infini-gram's (peer)")
    report.show(as_json)


