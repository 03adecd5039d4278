"""The headline table: `bench.py report` runs HEADLINES and writes the results as Markdown, CSV and a plot."""

from __future__ import annotations

import csv
import json
import shlex
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from bench_timing import ROOT, cli, column, fail, machine


@dataclass(frozen=True)
class Headline:
    """A row of the report. The benchmark compares our results with the peer's, and times both alternately.

    title    the name of the measurement
    command  the arguments of bench.py; {gpt2} is the file of --gpt2
    where    cells that identify the benchmark's row
    value    the column with our value, in `unit`
    unit     the unit of `value`
    ratio    the column with the factor by which ours is better; empty if there is no peer
    peer     the name of the peer
    is_time  whether lower values are better
    of_peer  whether the column `value` is the peer's
    """

    title: str
    command: str
    where: dict[str, str]
    value: str
    unit: str
    ratio: str = ""
    peer: str = ""
    is_time: bool = False
    of_peer: bool = False

    def measured(self, rows: list[dict[str, Any]]) -> tuple[float, float, float]:
        """Our value, the peer's, and the ratio. Without a peer, all three are our value."""
        of_value, of_ratio = column(self.value), column(self.ratio or self.value)
        found = [row for row in rows if self.where.items() <= row.items() and row[of_ratio]]
        if len(found) != 1:
            hint = f"; is {self.peer} installed?" if self.peer else ""
            raise fail(f"bench.py {self.command}: {len(found)} rows match {self.where}{hint}")
        value, ratio = found[0][of_value], found[0][of_ratio]
        if not self.peer:
            return value, value, value
        factor = ratio if self.is_time else 1 / ratio
        return (value / factor, value, ratio) if self.of_peer else (value, value * factor, ratio)


def encoding(title: str, model: str, corpus: str, peer: str) -> Headline:
    command = f"encode --model {model} --corpora {corpus}"
    return Headline(title, command, {"corpus": corpus, "peer": peer}, "warm MB/s", "MB/s", "x warm", peer)


def byte_level(title: str, text: str) -> Headline:
    command = "bytelevel -m {gpt2}"
    return Headline(title, command, {"text": text}, "cold_MBps", "MB/s", "x_cold", "gigatoken")


def training(title: str, kind: str) -> Headline:
    command = f"train --part peers --kind {kind} --text en --megabytes 16"
    row = {"kind": kind, "mode": "own", "peer": "sentencepiece"}
    return Headline(title, command, row, "s", "s", "times faster", "sentencepiece", is_time=True)


HEADLINES = [
    Headline("unitok-v1, 17 kinds of text", "vocabularies", {"corpus": "mean of 17"}, "bytes per token",
             "bytes per token", "denser", "RWKV World"),
    encoding("RWKV World, English", "longest", "en_web", "pyrwkv-tokenizer"),
    encoding("RWKV World, Japanese", "longest", "ja", "pyrwkv-tokenizer"),
    encoding("T5 (Unigram), English", "t5_base", "en_web", "sentencepiece"),
    encoding("Llama 2 (BPE), English", "llama2", "en_web", "sentencepiece"),
    encoding("BytePiece 80k, English", "bytepiece_80k", "en_web", "bytepiece"),
    byte_level("GPT-2 (byte-level BPE), English", "English"),
    byte_level("GPT-2, Chinese, Japanese and Korean", "CJK"),
    Headline("tokenize, .zst, 2 threads", "tokenize", {"what": "command minus start-up"}, "MBps", "MB/s"),
    Headline("tokenize, JSON lines, 2 threads", "pipelines", {"pipeline": "datatrove"}, "ktokens per s", "k tokens/s",
             "ours to it", "datatrove", of_peer=True),
    Headline("memory to tokenize a stream of 20 GB", "stream --gigabytes 20", {}, "highest_MB", "MB", is_time=True),
    Headline("decontaminate, JSON lines, 10⁶ n-grams, 2 threads", "decontaminate", {"what": "datatrove"}, "MBps",
             "MB/s", "ours_to_it", "datatrove", of_peer=True),
    Headline("deduplicate, JSON lines, 2 threads", "deduplicate", {}, "MBps", "MB/s"),
    Headline("suffix sorting, 25 M tokens", "suffix --part sort", {"what": "sort, against pydivsufsort"}, "Mtokens s",
             "M tokens/s", "ratio", "pydivsufsort"),
    Headline("compact index, all corpora", "compact --part size", {"what": "all corpora"}, "bytes_per_byte",
             "bytes per byte of text"),
    Headline("counting a phrase in a compact index of 32 M tokens", "compact", {"what": "compact"}, "mean_us", "µs"),
    training("training Unigram, 32,000 pieces, 16 MB of English", "unigram"),
    training("training BPE, 32,000 pieces, 16 MB of English", "bpe"),
]  # fmt: skip
HEADER = ["benchmark", "pyunitok", "peer", "ratio"]


def rows_of(command: str, shared: Path) -> list[dict[str, Any]]:
    """The rows that a benchmark prints."""
    words = [sys.executable, str(ROOT / "tools/bench.py"), *shlex.split(command), "--shared", str(shared), "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise fail(f"bench.py {command}: {(done.stdout + done.stderr).strip().splitlines()[-1]}")
    ret: list[dict[str, Any]] = json.loads(done.stdout)["rows"]
    return ret


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


@cli.command()
@click.option("--runs", type=click.IntRange(1), default=3, show_default=True, help="Runs of each benchmark.")
@click.option("--only", metavar="TEXT", default="", help="Measure only rows whose title contains TEXT.")
@click.option("--out", type=click.Path(path_type=Path), default="report", show_default=True, help="Folder to write.")
@click.option("--gpt2", type=click.Path(exists=True, path_type=Path), help="GPT-2's tokenizer.json, for two rows.")
@click.option("--shared", type=click.Path(path_type=Path), envvar="PYUNITOK_SHARED", default=ROOT.parent / "shared")
def report(runs: int, only: str, out: Path, gpt2: Path | None, shared: Path) -> None:
    """Write the headline table to report.md, report.csv and report.svg.

    Values are medians of the runs. The spread of a ratio is the range from its smallest to its largest value. Use an
    idle machine. The peers must be installed; for datatrove, set PYUNITOK_PEERS (see `bench.py pipelines --help`).
    """
    out.mkdir(parents=True, exist_ok=True)
    cells, ratios, missing = list[list[str]](), dict[str, list[float]](), list[str]()
    for row in (row for row in HEADLINES if only in row.title):
        if "{gpt2}" in row.command and gpt2 is None:
            click.echo(f"{row.title}: left out; use --gpt2 FILE", err=True)
            continue
        command = row.command.format(gpt2=gpt2)
        click.echo(f"{row.title}: python tools/bench.py {command}", err=True)
        try:
            found = [row.measured(rows_of(command, shared)) for _ in range(runs)]
        except click.ClickException as error:
            click.echo(f"{row.title}: left out: {error.message}", err=True)
            missing.append(row.title)
            continue
        ours, theirs, ratio = (statistics.median(values) for values in zip(*found, strict=True))
        compared = ["", ""]
        if row.peer:
            ratios[row.title] = [one[2] for one in found]
            spread = f"{number(min(ratios[row.title]))} to {number(max(ratios[row.title]))}"
            compared = [f"{row.peer}, {number(theirs)} {row.unit}", f"{number(ratio)} × ({spread})"]
        cells.append([row.title, f"{number(ours)} {row.unit}", *compared])
    about = "; ".join(f"{name} {value}" for name, value in machine().items())
    lines = [f"| {' | '.join(line)} |" for line in (HEADER, ["---"] * len(HEADER), *cells)]
    (out / "report.md").write_text("\n".join([about, "", *lines]) + "\n", encoding="utf-8")
    with (out / "report.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([HEADER, *cells])
    plot(ratios, out / "report.svg")
    click.echo("\n".join(lines))
    if missing:
        raise fail(", ".join(missing))


def plot(ratios: dict[str, list[float]], path: Path) -> None:
    """Plot the ratios as bars on a logarithmic scale, with their spread."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 1 + 0.4 * len(ratios)), layout="constrained")
    axes = figure.subplots()
    medians = [statistics.median(values) for values in ratios.values()]
    low = [median - min(values) for median, values in zip(medians, ratios.values(), strict=True)]
    high = [max(values) - median for median, values in zip(medians, ratios.values(), strict=True)]
    axes.barh(list(ratios), medians, xerr=[low, high], color="#3b6ea5")
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlabel("times the peer")
    axes.invert_yaxis()
    figure.savefig(path)
