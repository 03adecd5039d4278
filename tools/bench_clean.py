"""bench.py decontaminate: times the command and datatrove's filter on JSON lines; both must drop the same documents.
bench.py deduplicate: times the command on JSON lines with repeated paragraphs.
"""

from __future__ import annotations

import json
import random
import shutil
import statistics
import string
from collections.abc import Callable
from functools import partial
from pathlib import Path

import click
from bench_processes import command, run, usage
from bench_timing import Bench, Report, benchmark, fail, less, ratio, speed, volume

N_WORDS, ITEM_WORDS, N = 50_000, 40, 13
DATATROVE = f"""
import json, os, sys
import numpy as np
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.decont.n_grams import NGramsDecontConfig, NGramsDecontFilter
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter
from datatrove.utils.hashing import create_hash_func
folder, items, out = sys.argv[1:]
config = NGramsDecontConfig(n_grams={N})
hashed = create_hash_func(config.hash_config)
if __name__ == "__main__":
    texts = [json.loads(line)["q"].split() for line in open(items)]
    grams = {{hashed(" ".join(words[k : k + {N}])) for words in texts for k in range(len(words) - {N - 1})}}
    os.makedirs(out + "/index")
    np.array(list(grams), config.hash_config.np_descr).tofile(out + "/index/b.index.hashes")
    writer = JsonlWriter(out + "/clean", compression=None)
    steps = [JsonlReader(folder), NGramsDecontFilter(out + "/index", config), writer]
    LocalPipelineExecutor(steps, tasks=1, workers=1, logging_dir=out + "/logs").run()
"""


@benchmark(
    3, *volume(0.2),
    click.option("--grams", type=int, default=1_000_000, show_default=True, help="N-grams of the benchmark."),
    click.option("--hits", type=float, default=0.01, show_default=True, help="Share of documents with an item."),
    click.option("--megabytes", type=float, default=2.0, show_default=True, help="Text for datatrove."),
    click.option("--peer-python", "peer_pythons", multiple=True, envvar="PYUNITOK_PEERS", metavar="datatrove=PYTHON",
                 help="Python with datatrove, spacy, orjson and xxhash<4."),
)  # fmt: skip
def decontaminate(bench: Bench, gigabytes: float, threads: int, grams: int, hits: float, megabytes: float,
                  peer_pythons: tuple[str, ...]) -> Report:  # fmt: skip
    """Drop documents that contain 13 words of an item. The words are random, and normalization does not change them.

    The time for one document is subtracted. datatrove processes only part of the corpus and of the items.
    """
    peer_python = dict(given.split("=", 1) for given in peer_pythons).get("datatrove")
    rng = random.Random(1)
    words = ["".join(rng.choices(string.ascii_lowercase, k=rng.randint(2, 10))) for _ in range(N_WORDS)]
    items = [" ".join(rng.choices(words, k=ITEM_WORDS)) for _ in range(grams // (ITEM_WORDS - N + 1))]
    with bench.folder(gigabytes * 2.2e9) as folder:
        sizes = {"start": 0, "part": round(megabytes * 1e6), "all": round(gigabytes * 1e9)}
        kept = {name: _write(folder / name, rng, words, items, hits, size) for name, size in sizes.items()}
        (folder / "items.jsonl").write_text("".join(json.dumps({"q": item}) + "\n" for item in items))
        ours = partial(_ours, folder, threads)
        for name in sizes:
            ours(name)
            if _ids(folder / "ours.jsonl") != kept[name]:
                raise fail("the command does not keep exactly the documents without items")
        functions: dict[str, Callable[[], object]] = {"all": partial(ours, "all"), "start": partial(ours, "start")}
        if peer_python:
            for name in ("start", "part"):
                functions[f"datatrove {name}"] = partial(_theirs, folder, peer_python, name)
                functions[f"datatrove {name}"]()
            found = [id_ for path in sorted((folder / "datatrove/clean").iterdir()) for id_ in _ids(path)]
            if found != kept["part"]:
                raise fail("datatrove keeps different documents")
        seconds = bench.interleave(functions)
        argv = _command(folder, threads, "all")
        peak = usage(argv).peak_bytes
    report = bench.report(f"decontaminate: {gigabytes} GB of JSON lines, {threads} threads, {grams:,} n-grams")
    rates = {"pyunitok": (sizes["all"], less(seconds["all"], seconds["start"]))}
    if peer_python:
        rates["datatrove"] = sizes["part"], less(seconds["datatrove part"], seconds["datatrove start"])
    for name, (n_bytes, times) in rates.items():
        per_byte = [s / n_bytes for s in times]
        ours_per_byte = [s / sizes["all"] for s in rates["pyunitok"][1]]
        report.add(what=name, s=statistics.median(times), MBps=speed(n_bytes, times),
                   ours_to_it=ratio(per_byte, ours_per_byte))  # fmt: skip
    report.notes.append(f"verified: the documents that are kept; peak memory {peak / 1e6:.0f} MB")
    return report


@benchmark(
    3, *volume(0.2),
    click.option("--hits", type=float, default=0.3, show_default=True, help="Share of documents with a paragraph."),
)  # fmt: skip
def deduplicate(bench: Bench, gigabytes: float, threads: int, hits: float) -> Report:
    """Remove repeated paragraphs from documents of random words. The time for one document is subtracted."""
    rng = random.Random(1)
    words = ["".join(rng.choices(string.ascii_lowercase, k=rng.randint(2, 10))) for _ in range(N_WORDS)]
    paragraphs = [" ".join(rng.choices(words, k=ITEM_WORDS)) for _ in range(1000)]
    with bench.folder(gigabytes * 6e9) as folder:
        sizes = {"start": 0, "all": round(gigabytes * 1e9)}
        argv = {
            name: [*command(), "deduplicate", str(folder / name / "c.jsonl"), "-o", str(folder / name / "out.jsonl"),
                   "--threads", str(threads), "--overwrite"]
            for name in sizes
        }  # fmt: skip
        for name, size in sizes.items():
            _write(folder / name, rng, words, paragraphs, hits, size)
            run(argv[name])
        before, after = ((folder / "all" / name).read_text() for name in ("c.jsonl", "out.jsonl"))
        if any(after.count(one) != min(1, before.count(one)) for one in paragraphs[:20]):
            raise fail("a paragraph does not remain exactly once")
        seconds = bench.interleave({name: partial(run, argv[name]) for name in sizes})
        peak = usage(argv["all"]).peak_bytes
    report = bench.report(f"deduplicate: {gigabytes} GB of JSON lines, {threads} threads")
    times = less(seconds["all"], seconds["start"])
    report.add(what="pyunitok", s=statistics.median(times), MBps=speed(sizes["all"], times))
    report.notes.append(f"verified: one copy of each paragraph; peak memory {peak / 1e6:.0f} MB")
    return report


def _write(folder: Path, rng: random.Random, words: list[str], items: list[str], hits: float, size: int) -> list[str]:
    """Write at least one document; return the ids of those without items."""
    folder.mkdir()
    kept, n_bytes = list[str](), 0
    with (folder / "c.jsonl").open("w") as file:
        while n_bytes < size or not kept:
            text = " ".join(rng.choices(words, k=rng.randint(50, 800)))
            if rng.random() < hits:
                text += f" {rng.choice(items)}"
            else:
                kept.append(str(n_bytes))
            n_bytes += file.write(json.dumps({"id": str(n_bytes), "text": text}) + "\n")
    return kept


def _command(folder: Path, threads: int, name: str) -> list[str]:
    return [*command(), "decontaminate", str(folder / name / "c.jsonl"), "-o", str(folder / "ours.jsonl"), "--against",
            str(folder / "items.jsonl"), "--field", "q", "--max-common", "none", "--threads", str(threads),
            "--overwrite"]  # fmt: skip


def _ours(folder: Path, threads: int, name: str) -> None:
    run(_command(folder, threads, name))


def _theirs(folder: Path, python: str, name: str) -> None:
    out, script = folder / "datatrove", folder / "run_datatrove.py"
    shutil.rmtree(out, ignore_errors=True)
    script.write_text(DATATROVE)
    run([python, str(script), str(folder / name), str(folder / "items.jsonl"), str(out)], {"HF_HUB_OFFLINE": "1"})


def _ids(path: Path) -> list[str]:
    return [json.loads(line)["id"] for line in path.read_bytes().splitlines()]
