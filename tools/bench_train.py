"""bench.py train: trainers beside sentencepiece, tokenizers and bytepiece: CPU time and memory of a process each."""

from __future__ import annotations

import compileall
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import click
from bench_greedy import compare_longest
from bench_timing import ROOT, Corpora, Report, fail, json_option, n_option, shared_option, verdict

from pyunitok.cli.arguments import Size

TEXTS = {"en": "en_prose,en_web", "mixed": None, "zh": "zh,zh_classical", "ja": "ja"}
TARGETS = {  # times faster, part of the memory
    ("unigram", "sentencepiece"): (5.0, 0.5), ("bpe", "sentencepiece"): (2.0, 0.5), ("bpe", "tokenizers"): (3.0, 0.5),
    ("bytepiece", "bytepiece"): (30.0, 0.25),
}  # fmt: skip
OURS = """
import pyunitok
pyunitok.train({path!r}, kind={kind!r}, vocab_size={size}, threads={threads}, hard_vocab_limit=False, out={out!r},
               normalization_rule_name="nmt_nfkc", {more})
"""
SENTENCEPIECE = """
import sentencepiece
sentencepiece.SentencePieceTrainer.train(input={path!r}, model_prefix={prefix!r}, model_type={kind!r},
    vocab_size={size}, num_threads={threads}, hard_vocab_limit=False, minloglevel=2,
    normalization_rule_name="nmt_nfkc", {more})
"""
TOKENIZERS = """
import os
os.environ["RAYON_NUM_THREADS"] = "{threads}"
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
tokenizer.normalizer = normalizers.NFKC()
tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
tokenizer.train([{path!r}], trainers.BpeTrainer(vocab_size={size}, special_tokens=["<unk>"], show_progress=False,
                max_token_length=16))
tokenizer.save({out!r})
"""
OURS_BYTEPIECE = """
import pyunitok
pyunitok.train({path!r}, kind="bytepiece", vocab_size={size}, threads={threads}, out={out!r}, compat={compat!r})
"""
BYTEPIECE = """
import re
import bytepiece
with open({path!r}, encoding="utf-8", newline="") as file:
    documents = re.findall(r"(?:[^\\n]*\\n+){{1,100}}|[^\\n]+", file.read())
trainer = bytepiece.Trainer(max_vocab_size={size})
trainer.train(documents)
trainer.save({out!r})
"""
# ru_maxrss would also be that of the process which starts this one: its memory is this one's until Python runs.
MEASURED = """
import json, re, resource
used = resource.getrusage(resource.RUSAGE_SELF)
with open("/proc/self/status") as file:
    peak_kib = int(re.search(r"VmHWM:\\s+([0-9]+)", file.read())[1])
print(json.dumps([used.ru_utime + used.ru_stime, time.monotonic() - began, peak_kib / 1024]))
"""


@dataclass(frozen=True)
class Measured:
    """A training."""

    cpu_seconds: float
    seconds: float
    peak_mb: float


def child(code: str, output: IO[str] | None = None) -> Measured:
    """Runs Python code in a process. output: gets what it prints, with a line of what it took."""
    wrapped = "import time\nbegan = time.monotonic()\n" + code + MEASURED
    # As in the command: numpy's linear algebra would start a thread a core, each of which spins for 40 ms.
    env = {"OPENBLAS_NUM_THREADS": "1", **os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", wrapped], capture_output=True, text=True, env=env)
    if done.returncode:
        raise fail(done.stderr[-2000:])
    if output is not None:
        output.write(done.stdout)
    return Measured(*json.loads(done.stdout.strip().splitlines()[-1]))


def child_printing(code: str) -> tuple[Measured, dict[str, Any]]:
    """The same of code that prints a line of JSON last; what that says."""
    with tempfile.TemporaryFile("w+") as file:
        measured = child(code, file)
        file.seek(0)
        return measured, json.loads(file.read().strip().splitlines()[-2])


def least(code: str, n: int) -> Measured:
    """Of n runs the one that took least."""
    return min((child(code) for _ in range(n)), key=lambda run: run.cpu_seconds)


@click.command()
@shared_option
@n_option(1)
@click.option(
    "--part", type=click.Choice(["peers", "greedy", "counting", "threads", "memory"]), default="peers",
    show_default=True, help="peers, greedy: beside other trainers; the others: mixed JSON lines in a .zst, here alone.",
)
@click.option("--max-memory", type=Size(), default="2G", show_default=True, help="--part memory: the limit.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(["unigram", "bpe", "bytepiece"]), help="Only this.")
@click.option("--text", "texts", multiple=True, type=click.Choice(list(TEXTS)), help="Only this.")
@click.option("--file", "file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="This text instead.")
@click.option("--megabytes", type=click.IntRange(1), default=20, show_default=True, help="Of text, as far as there is.")
@click.option("--vocab-size", type=click.IntRange(300), default=32000, show_default=True)
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True, help="Of every trainer.")
@json_option
def train(
    shared: Path | None, n: int, part: str, max_memory: int, kinds: tuple[str, ...], texts: tuple[str, ...],
    file: Path | None, megabytes: int, vocab_size: int, threads: int, as_json: bool,
) -> None:  # fmt: skip
    """Train 32k models with sentencepiece, tokenizers (BPE), and here, from the same file.

    Faster is by CPU time at one thread, so that neighbours do not count, and by the clock at more. `compat` rows are
    checked to be byte for byte sentencepiece's model (with one thread).

    bytepiece runs only where --kind names it, since it takes half a minute for 2 MB; always with one worker, and its
    model is checked to be ours at any number of threads.

    greedy is about density: bytes per token of unseen text, by vocabularies of `longest` and by as many pieces of
    sentencepiece's BPE, all encoded greedily.

    The other parts use the corpora over and over, with their letters permuted each time. counting: processor time of
    reading and counting beside that of `tokenize`, whose counts must be those of two threads that spill. threads: whole
    trainings by the clock with one thread and with two, whose models must be the same. memory: a training with two
    threads and --max-memory, 5 GB for example.
    """
    if part not in ("peers", "greedy"):
        from bench_train_scale import scale

        scale(part, shared, megabytes, kinds, vocab_size, max_memory, n).show(as_json)
        return
    compileall.compile_dir(ROOT / "pyunitok", quiet=1)  # the peers are installed, and so compiled
    report = Report(f"train: {vocab_size} pieces, {threads} threads", n)
    for name in [file.name] if file else texts or TEXTS:
        read = file.read_bytes() if file else Corpora.find(shared, TEXTS[name]).round_robin()
        text = read[: megabytes * 1_000_000]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "text.txt")
            path.write_bytes(text[: text.rfind(b"\n") + 1])
            if part == "greedy":
                compare_longest(report, name, path, vocab_size)
                continue
            for kind in kinds or ("unigram", "bpe"):
                comparison = compare_bytepiece if kind == "bytepiece" else compare
                comparison(report, name, kind, path, vocab_size, threads, n)
    report.show(as_json)


def compare(report: Report, name: str, kind: str, path: Path, size: int, threads: int, n: int) -> None:
    prefix, out = path.with_name("m"), path.with_name("m.model")
    common = {"path": str(path), "kind": kind, "size": size, "threads": threads, "out": str(out), "prefix": str(prefix)}
    long_lines = "max_sentence_length=1 << 20"
    peers = {"sentencepiece": least(SENTENCEPIECE.format(**common, more=long_lines), n)}
    theirs = out.read_bytes()
    runs = {"compat": least(OURS.format(**common, more=f"compat='sentencepiece', {long_lines}"), n)}
    if threads == 1 and pieces_of(out.read_bytes()) != pieces_of(theirs):
        raise fail(f"{name}, {kind}: the compatible model is not sentencepiece's")
    runs["own"] = least(OURS.format(**common, more=""), n)
    if kind == "bpe":
        peers["tokenizers"] = least(TOKENIZERS.format(**common), n)
    add_rows(report, name, kind, path, threads, peers, runs)


def compare_bytepiece(report: Report, name: str, kind: str, path: Path, size: int, threads: int, n: int) -> None:
    out = path.with_name("m.model")
    common = {"path": str(path), "size": size, "threads": threads, "out": str(out)}
    peers = {"bytepiece": least(BYTEPIECE.format(**common), n)}
    theirs, runs = out.read_bytes(), {"compat": least(OURS_BYTEPIECE.format(**common, compat="bytepiece"), n)}
    if out.read_bytes() != theirs:
        raise fail(f"{name}: the compatible model is not bytepiece's")
    runs["own"] = least(OURS_BYTEPIECE.format(**common, compat=None), n)
    add_rows(report, name, kind, path, threads, peers, runs)


def add_rows(
    report: Report, name: str, kind: str, path: Path, threads: int, peers: dict[str, Measured],
    runs: dict[str, Measured],
) -> None:  # fmt: skip
    """A row for every run beside every peer."""
    megabytes = path.stat().st_size / 1e6
    for peer, theirs_ in peers.items():
        for mode, run in runs.items():
            faster = theirs_.cpu_seconds / run.cpu_seconds if threads == 1 else theirs_.seconds / run.seconds
            memory = run.peak_mb / theirs_.peak_mb
            least_faster, most_memory = TARGETS[kind, peer]
            report.add(
                text=name, MB=round(megabytes, 1), kind=kind, mode=mode, peer=peer, cpu_s=run.cpu_seconds,
                peer_cpu_s=theirs_.cpu_seconds, times_faster=faster, peak_MB=run.peak_mb, peer_MB=theirs_.peak_mb,
                memory=memory, verdict=verdict(faster >= least_faster and memory <= most_memory),
            )  # fmt: skip


def pieces_of(data: bytes) -> list[tuple[bytes, float]]:
    from pyunitok.vocab import sentencepiece_proto

    proto = sentencepiece_proto.message("ModelProto").FromString(data)
    return [(piece.piece, piece.score) for piece in proto.pieces]
