"""bench.py train --part counting|threads|memory: the rate of counting, two threads, and a corpus that fills memory."""

from __future__ import annotations

import json
import random
import string
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench_command import check_space
from bench_timing import Corpora, Report, fail, verdict
from bench_train import Measured, child_printing

COUNTING_TARGET, THREADS_TARGET, MEMORY_TARGET = 0.5, 1.6, 1.0
DOC_BYTES = 8000
VOWELS = "aeiou"
CONSONANTS = "".join(sorted(set(string.ascii_lowercase) - set(VOWELS)))
TOKENIZE = """
import json
from pyunitok.cli import cli
def tokenize(name):
    began = time.process_time()
    options = ["-m", "rwkv-world", "-o", {out!r}, "--threads", "{threads}", "--overwrite"]
    cli.main(["tokenize", name, *options], standalone_mode=False)
    return time.process_time() - began
tokenize({empty!r})
print(json.dumps({{"cpu": tokenize({path!r}) - tokenize({empty!r})}}))
"""
COUNT = """
import hashlib, json
from pyunitok.corpus import inputs
from pyunitok.corpus.reading import Reading, ReadingOptions
from pyunitok.train.counting import UnitCounter
from pyunitok.train.checks import MetaPieces
from pyunitok._c.train import CUT, Segmenter
from pyunitok.train.normalization import complete, normalizer
from pyunitok.train.sentencepiece import SentencePieceJob
from pyunitok.train.sources import Corpus
from pyunitok.train.specs import Specs
specs = Specs.parse({{"model_type": "unigram", "vocab_size": 32000}})
complete(specs)
rules, made, symbols = SentencePieceJob(specs, compat=False).rules(), normalizer(specs), MetaPieces(specs).symbols()
cpu_began = time.process_time()
reading = Reading(inputs.find([{path!r}]), options=ReadingOptions(threads={threads}))
def make(counter):
    return Segmenter(made, rules, counter, flags=CUT, max_line_bytes=1 << 27, symbols=symbols)
with UnitCounter(make, {max_memory}) as counter:
    Corpus(reading, hold=False).feed(counter, lambda done, total: None)
    cpu, n_bytes, n_runs = time.process_time() - cpu_began, counter.stats().n_bytes, counter.n_runs
    digests, n_units = [hashlib.sha256() for _ in range(3)], 0
    for units in counter.settle().chunks():
        n_units += len(units)
        for digest, array in zip(digests, (units.data, units.offsets[1:] - units.offsets[:-1], units.counts)):
            digest.update(array.tobytes())
digest = " ".join(digest.hexdigest() for digest in digests)
print(json.dumps({{"cpu": cpu, "n_bytes": n_bytes, "n_runs": n_runs, "n_units": n_units, "digest": digest}}))
"""
TRAIN = """
import hashlib, json
from pathlib import Path
from pyunitok.train.api import run
kept = {{}} if {kind!r} == "bytepiece" else {{"num_threads": 1}}  # the model says how many
trained = run([{path!r}], kind={kind!r}, vocab_size={size}, threads={threads}, max_memory={max_memory}, out={out!r},
              **kept)
phases = {{phase.name: phase.seconds for phase in trained.phases}}
digest = hashlib.sha256(Path({out!r}).read_bytes()).hexdigest()
print(json.dumps({{"phases": phases, "digest": digest, "n_bytes": trained.n_bytes}}))
"""


def scale(
    part: str, shared: Path | None, megabytes: int, kinds: tuple[str, ...], size: int, max_memory: int, n: int
) -> Report:
    """The table of a part."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "mixed.jsonl.zst")
        check_space(path.parent, megabytes * 1e6)
        n_bytes = write_corpus(path, Corpora.find(shared, None), megabytes * 1_000_000)
        if part == "counting":
            return counting(path, n_bytes, n)
        if part == "threads":
            return threads(path, n_bytes, kinds or ("unigram", "bpe", "bytepiece"), size, n)
        return memory(path, n_bytes, kinds or ("unigram",), size, max_memory)


def write_corpus(path: Path, corpora: Corpora, n_bytes: int) -> int:
    """JSON lines of all corpora in turn, over and over, each time under another permutation of the vowels and of the
    consonants, so that words keep being new; in bytes."""
    import zstandard

    texts = [corpora.read(name) for name in corpora.names]
    n_written = 0
    with path.open("wb") as file, zstandard.ZstdCompressor(level=3).stream_writer(file) as writer:
        for seed in range(1 << 20):
            for line in permuted(texts, random.Random(seed), is_first=seed == 0):
                writer.write(line)
                n_written += len(line)
                if n_written >= n_bytes:
                    return n_written
    raise AssertionError


def permuted(texts: list[bytes], rng: random.Random, *, is_first: bool) -> Iterator[bytes]:
    vowels, consonants = ("".join(rng.sample(letters, len(letters))) for letters in (VOWELS, CONSONANTS))
    table = bytes.maketrans((VOWELS + CONSONANTS).encode(), (vowels + consonants).encode())
    places, live = [0] * len(texts), list(range(len(texts)))
    while live:
        for k in list(live):
            end = texts[k].find(b"\n", places[k] + DOC_BYTES) + 1 or len(texts[k])
            document = texts[k][places[k] : end]
            places[k] = end
            if end == len(texts[k]):
                live.remove(k)
            text = (document if is_first else document.translate(table)).decode("utf-8", "replace")
            yield json.dumps({"text": text}, ensure_ascii=False).encode() + b"\n"


def counting(path: Path, n_bytes: int, n: int) -> Report:
    """Reading and counting beside reading and encoding, in processor time of one thread."""
    report = Report("train --part counting: processor time beside `tokenize` with RWKV World", n, clock="cpu")
    empty = path.with_name("empty.txt")
    empty.touch()
    common: dict[str, Any] = {"path": str(path), "out": str(path.with_name("ids.u16")), "empty": str(empty)}
    spilled = child_printing(COUNT.format(**common, threads=2, max_memory=n_bytes // 4))[1]
    for _ in range(n):
        tokenized = child_printing(TOKENIZE.format(**common, threads=1))[1]
        run, counted = child_printing(COUNT.format(**common, threads=1, max_memory=0))
        if counted["digest"] != spilled["digest"] or not spilled["n_runs"]:
            raise fail("the counts of one thread are not those of two that spill")
        ratio = tokenized["cpu"] / counted["cpu"]
        report.add(
            MB=round(counted["n_bytes"] / 1e6, 1), units=counted["n_units"], count_s=counted["cpu"],
            tokenize_s=tokenized["cpu"], rate=ratio, peak_MB=run.peak_mb, verdict=verdict(ratio >= COUNTING_TARGET),
        )  # fmt: skip
    return report


def train(path: Path, kind: str, size: int, *, threads: int, max_memory: int) -> tuple[Measured, dict[str, Any]]:
    out = str(path.with_name("m.model"))
    return child_printing(
        TRAIN.format(path=str(path), kind=kind, size=size, threads=threads, max_memory=max_memory, out=out)
    )


def threads(path: Path, n_bytes: int, kinds: tuple[str, ...], size: int, n: int) -> Report:
    """Whole trainings by the clock, phase by phase."""
    report = Report("train --part threads: seconds by the clock with one thread and with two", n)
    for kind in kinds:
        for _ in range(n):
            one, two = (train(path, kind, size, threads=k, max_memory=0) for k in (1, 2))
            if one[1]["digest"] != two[1]["digest"]:
                raise fail(f"{kind}: the model of two threads is not that of one")
            phases = one[1]["phases"]
            for name in phases:
                a, b = phases[name], two[1]["phases"][name]
                report.add(kind=kind, phase=name, one_s=a, two_s=b, times_faster=a / max(b, 1e-9), verdict="")
            faster = one[0].seconds / two[0].seconds
            report.add(
                kind=kind, phase="all", one_s=one[0].seconds, two_s=two[0].seconds, times_faster=faster,
                verdict=verdict(faster >= THREADS_TARGET),
            )  # fmt: skip
            cpu = two[0].cpu_seconds / one[0].cpu_seconds
            report.notes.append(f"{kind}: {n_bytes / 1e6:,.0f} MB; processor time of two threads {cpu:.2f} of one's")
    return report


def memory(path: Path, n_bytes: int, kinds: tuple[str, ...], size: int, max_memory: int) -> Report:
    """A training with two threads and a limit."""
    report = Report("train --part memory: a training with two threads within a limit", 1)
    for kind in kinds:
        run, trained = train(path, kind, size, threads=2, max_memory=max_memory)
        share = run.peak_mb * (1 << 20) / max_memory
        report.add(
            kind=kind, GB=n_bytes / 1e9, limit_MB=max_memory >> 20, peak_MB=run.peak_mb, share=share, s=run.seconds,
            cpu_s=run.cpu_seconds, verdict=verdict(share <= MEMORY_TARGET),
        )  # fmt: skip
        report.notes.append(f"{kind}: " + ", ".join(f"{name} {s:.1f} s" for name, s in trained["phases"].items()))
    return report
