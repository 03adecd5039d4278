"""bench.py bytelevel: byte-level BPE with pre-tokenizer patterns, compared with gigatoken, tokenizers and tiktoken.

    texts of a family  ─▶ documents ─▶  cold   empty memo >  timed
                                        warm                 timed again, on the same documents

Ids are compared with tokenizers, or with tiktoken for a file of ranks, before a model is timed.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import bench_texts
import click
import numpy as np
import zstandard
from bench_calls import TEXT, encode_first
from bench_encode import check_ids, decoded, peer_of, per_byte, warm_up
from bench_peers import Encoder, available, module_of
from bench_processes import command, manifest, run, usage
from bench_timing import Bench, Report, at_least, at_most, benchmark, fail, less, pin_to_one_core, ratio, speed, version

from pyunitok import Packed, Tokenizer

FAMILIES = {
    "English": ("en_web", "en_prose"), "code": ("code",), "other alphabets": ("de", "fr", "ru", "ar", "hi"),
    "CJK": ("zh", "ja", "ko"),
}  # fmt: skip
COLD_TARGETS = {"English": 2.0, "code": 2.0, "other alphabets": 2.0, "CJK": 3.0}  # × gigatoken
WARM_TARGETS = {"English": 1.0}
OPEN_TARGET, FIRST_TARGET, MODEL_TARGET_MB = 0.5, 1.0, 60
EXTRA_TARGET_NS, TOKENIZE_TARGET_MB = 1.6, 150
SLICE_BYTES = 1 << 20
PEER_NAMES = ("gigatoken", "tokenizers", "tiktoken")
STATES = (
    "cold: an empty memo that is not allocated yet; the model's tables exist. gigatoken is a new object, opened"
    " untimed. tokenizers and tiktoken keep the state left by the comparison of ids: a cache of 10,000 words",
    "warm: the same documents again, directly after the cold pass",
)


@benchmark(
    3,
    click.option("-m", "--model", "models", multiple=True, required=True, metavar="FILE",
                 type=click.Path(exists=True, path_type=Path), help="A tokenizer.json or a file of ranks."),
    click.option("--pattern", metavar="NAME|REGEX", help="For files of ranks unknown to pyunitok."),
    click.option("--text", "files", multiple=True, metavar="FAMILY=FILE,...",
                 help="Measure these files, plain or .zst, instead of the corpora."),
    click.option("--part", type=click.Choice(["speed", "open", "tokenize"]), default="speed", show_default=True),
    click.option("--megabytes", type=float, default=16, show_default=True, help="Text per family."),
    click.option("--doc-bytes", type=click.IntRange(1), default=8192, show_default=True, help="Size of documents."),
    click.option("--share", type=click.IntRange(1), default=8, show_default=True,
                 help="Time tokenizers and tiktoken on one document in SHARE."),
    click.option("--repeat", type=click.IntRange(1), default=4, show_default=True,
                 help="tokenize: repeat the text this many times."),
)  # fmt: skip
def bytelevel(
    bench: Bench, models: Sequence[Path], pattern: str | None, files: Sequence[str], part: str, megabytes: float,
    doc_bytes: int, share: int, repeat: int,
) -> Report:  # fmt: skip
    """Compare byte-level BPE models with gigatoken, tokenizers and tiktoken on one core.

    speed: encoding of four families of text, cold and warm. open: opening, the first sentence, and memory. tokenize:
    `pyunitok tokenize` of JSON lines in .zst with one thread, compared with encoding alone.
    """
    report = bench.report(f"bytelevel --part {part}: documents of {doc_bytes:,} bytes, one core")
    pin_to_one_core()
    for path in models:
        if part == "open":
            measure_opening(bench, path, pattern, report)
            continue
        tokenizer = Tokenizer.from_file(path, pattern=pattern if _is_ranks(path) else None)
        families = {name: bench_texts.documents(text, doc_bytes) for name, text in texts(bench, files, megabytes)}
        if part == "tokenize":
            measure_tokenize(bench, path, pattern, tokenizer, families, repeat, report)
            continue
        peers = opened_peers(report.notes, path, pattern)
        for name, docs in families.items():
            measure(bench, path, tokenizer, name, docs, peers, share, report)
    if part == "speed":
        report.notes += [*STATES, f"tokenizers and tiktoken are timed on 1 in {share} documents"]
    if part != "tokenize":
        report.notes.append("peers: " + ", ".join(f"{name} {version(name)}" for name in PEER_NAMES))
    return report


def _is_ranks(path: Path) -> bool:
    return peer_of(path) == "tiktoken"


# ------------------------------------------------------------------------------------------------------- texts ---


def texts(bench: Bench, files: Iterable[str], megabytes: float) -> Iterator[tuple[str, bytes]]:
    """The families with their texts: those of --text or --corpora, else FAMILIES."""
    parts: dict[str, list[Callable[[], bytes]]] = {}
    for option in files:
        name, equals, paths = option.partition("=")
        if not equals:
            raise click.UsageError(f"--text {option}: expected FAMILY=FILE,...")
        parts[name] = [partial(_read, Path(path)) for path in paths.split(",")]
    if not parts:
        found = bench_texts.names(bench)
        families = FAMILIES if bench.corpora is None and found != [bench_texts.SAMPLE] else {k: (k,) for k in found}
        parts = {name: [partial(bench_texts.read, bench, each) for each in names if each in found]
                 for name, names in families.items()}  # fmt: skip
    for name, readers in parts.items():
        slices = bench_texts.in_turn((read() for read in readers), SLICE_BYTES)
        text = b"".join(bench_texts.limited(slices, int(megabytes * 1e6)))
        if text:
            yield name, text.decode("utf-8", "ignore").encode()


def _read(path: Path) -> bytes:
    if path.suffix != ".zst":
        return path.read_bytes()
    with zstandard.open(path, "rb") as file:
        return bytes(file.read())


# ------------------------------------------------------------------------------------------------------- speed ---


def opened_peers(notes: list[str], path: Path, pattern: str | None) -> dict[str, Encoder]:
    """The peers that are installed and can represent the model. The first one gives the reference ids."""
    if _is_ranks(path):
        return dict(available(notes, ["tiktoken"], path, pattern))
    return dict(available(notes, ["tokenizers"], path)) | dict(available(notes, ["gigatoken", "tiktoken"], path))


def measure(bench: Bench, path: Path, tokenizer: Tokenizer, family: str, docs: list[bytes],
            peers: Mapping[str, Encoder], share: int, report: Report) -> None:  # fmt: skip
    """Add a row for a family of text."""
    ours = partial(tokenizer.encode_batch, docs, threads=1)
    functions: dict[str, Callable[[], object]] = {"cold": ours, "warm": ours}
    before: dict[str, Callable[[], object]] = {"cold": partial(warm_up, tokenizer, [])}
    check(path, family, ours(), docs, peers, report)
    for name, peer in peers.items():
        given: list[Any] = docs if name == "gigatoken" else decoded(docs[::share])  # gigatoken is faster with bytes
        for call_name, call in peer.calls.items():
            functions[f"{name} {call_name}"] = partial(call, given)
            if peer.renew:
                before[f"{name} {call_name}"] = peer.renew
                functions[f"{name} {call_name}, warm"] = partial(call, given)
    seconds = bench.interleave(functions, before)
    n_bytes = sum(map(len, docs))
    cold, warm = (per_byte(seconds[name], docs) for name in ("cold", "warm"))
    cells: dict[str, Any] = {"cold_MBps": speed(1, cold), "warm_MBps": speed(1, warm)}
    giga_cold, giga_warm = (_fastest(seconds, peers, "gigatoken", docs, suffix) for suffix in ("", ", warm"))
    states = (("cold", cold, giga_cold, COLD_TARGETS), ("warm", warm, giga_warm, WARM_TARGETS))
    for state, mine, theirs, targets in states:
        times = ratio(theirs, mine) if theirs else None
        target = at_least(times, targets.get(family)) if times else {"target": None, "verdict": None}
        cells |= {f"gigatoken_{state}": speed(1, theirs) if theirs else None, f"x_{state}": times}
        cells |= {f"{state}_{name}": value for name, value in target.items()}
    for name in ("tokenizers", "tiktoken"):
        theirs = _fastest(seconds, peers, name, docs[::share], "")
        cells |= {name: speed(1, theirs) if theirs else None, f"x_{name}": ratio(theirs, cold) if theirs else None}
    report.add(model=path.stem, text=family, MB=n_bytes / 1e6, **cells)


def check(path: Path, family: str, ours: Packed, docs: list[bytes], peers: Mapping[str, Encoder],
          report: Report) -> None:  # fmt: skip
    """Fail unless our ids are those of the reference. Note how many documents the other peers encode differently."""
    where, texts = f"{path.stem} on {family}", decoded(docs)
    for name, peer in peers.items():
        theirs = next(iter(peer.calls.values()))(texts)
        if name == next(iter(peers)) and name != "gigatoken":
            check_ids(where, 0, 1, ours, theirs, name)
            report.notes.append(f"ids: {where}: {len(docs):,} documents, 0 different from {name} {version(name)}")
        elif n := sum(not np.array_equal(a, np.asarray(b)) for a, b in zip(ours, theirs, strict=True)):
            report.notes.append(f"ids: {where}: {name} encodes {n:,} of {len(docs):,} documents differently")


def _fastest(seconds: Mapping[str, list[float]], peers: Mapping[str, Encoder], name: str, docs: list[bytes],
             suffix: str) -> list[float]:  # fmt: skip
    """Seconds per byte of the peer's fastest call; [] if the peer is missing."""
    times = [seconds[f"{name} {call}{suffix}"] for call in peers[name].calls] if name in peers else []
    return per_byte(min(times, key=statistics.median), docs) if times else []


# ------------------------------------------------------------------------------------- opening, first sentence ---

# Prints by how many bytes the process grows when it opens a model and encodes a sentence (Linux only).
_RESIDENT = """
import gc, resource
{imports}
def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
before = resident()
model = {call}
model.encode({text!r})
print(resident() - before)
"""


def measure_opening(bench: Bench, path: Path, pattern: str | None, report: Report) -> None:
    """Add a row with the time to open a model, the time to open it and encode a sentence, and its memory."""
    own_pattern = pattern if _is_ranks(path) else None
    opener = partial(Tokenizer.from_file, pattern=own_pattern)
    functions: dict[str, Callable[[], object]] = {
        "open": partial(opener, path), "first": partial(encode_first, opener, str(path)),
    }  # fmt: skip
    calls = {"ours": ("from pyunitok import Tokenizer", f"Tokenizer.from_file({str(path)!r}, pattern={own_pattern!r})")}
    if not _is_ranks(path):
        try:
            theirs = module_of("tokenizers").Tokenizer.from_file
            functions |= {"theirs": partial(theirs, str(path)), "their first": partial(encode_first, theirs, str(path))}
            calls["tokenizers"] = ("from tokenizers import Tokenizer", f"Tokenizer.from_file({str(path)!r})")
        except click.ClickException as absent:
            report.notes.append(f"left out: {absent.message}")
    seconds = bench.interleave(functions)
    ms = {name: statistics.median(times) * 1e3 for name, times in seconds.items()}
    cells: dict[str, Any] = {}
    for what, mine, other, limit in (("open", "open", "theirs", OPEN_TARGET),
                                     ("first", "first", "their first", FIRST_TARGET)):  # fmt: skip
        part = ratio(seconds[mine], seconds[other]) if other in seconds else None
        target = at_most(part, limit) if part else {"target": None, "verdict": None}
        cells |= {f"{what}_ms": ms[mine], f"tokenizers_{what}": ms.get(other), f"{what}_ratio": part}
        cells |= {f"{what}_{name}": value for name, value in target.items()}
    megabytes = {name: int(run([sys.executable, "-c", _RESIDENT.format(imports=imports, call=call, text=TEXT)])) / 1e6
                 for name, (imports, call) in calls.items()}  # fmt: skip
    tokenizer = opener(path)
    report.add(
        model=path.stem, pieces=tokenizer.vocab_size, **cells, tables_MB=tokenizer.memory_bytes / 1e6,
        process_MB=megabytes["ours"], **at_most(tokenizer.memory_bytes / 1e6, MODEL_TARGET_MB),
        tokenizers_process_MB=megabytes.get("tokenizers"),
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------- the command -------


def measure_tokenize(bench: Bench, path: Path, pattern: str | None, tokenizer: Tokenizer,
                     families: Mapping[str, list[bytes]], repeat: int, report: Report) -> None:  # fmt: skip
    """Add a row with the time of the command beyond start-up and encoding, and its peak memory."""
    docs = [doc for family in families.values() for doc in family] * repeat
    n_bytes = sum(map(len, docs))
    groups = [Packed.from_documents(docs[at : at + 128]) for at in range(0, len(docs), 128)]

    def encode() -> int:
        return sum(len(tokenizer.encode_batch(group, threads=1).data) for group in groups)

    with bench.folder(n_bytes * 1.5) as folder:
        lines, empty, out = folder / "docs.jsonl.zst", folder / "empty.jsonl", folder / "ids"
        bench_texts.write_zst(lines, bench_texts.json_lines(decoded(docs)))
        empty.touch()
        argv = [*command(), "tokenize", "-m", str(path), "-o", str(out), "--overwrite", "--threads", "1"]
        argv += ["--eod", "none"]
        argv += ["--pattern", pattern] if pattern and _is_ranks(path) else []
        peak = usage([*argv, str(lines)]).peak_bytes / 1e6
        check_tokens(out, tokenizer, docs)
        functions: dict[str, Callable[[], Any]] = {
            "start": partial(run, [*argv, str(empty)]), "command": partial(run, [*argv, str(lines)]), "encode": encode,
        }  # fmt: skip
        seconds = bench.interleave(functions, {"encode": partial(warm_up, tokenizer, [])})
    running, limit = less(seconds["command"], seconds["start"]), TOKENIZE_TARGET_MB + tokenizer.memory_bytes / 1e6
    extra = statistics.median(less(running, seconds["encode"])) / n_bytes * 1e9
    report.add(
        model=path.stem, MB=n_bytes / 1e6, start_s=statistics.median(seconds["start"]),
        command_ns_per_byte=statistics.median(running) / n_bytes * 1e9,
        encoding=statistics.median(seconds["encode"]) / n_bytes * 1e9, extra=extra, **at_most(extra, EXTRA_TARGET_NS),
        peak_MB=peak, at_most_MB=limit, memory=at_most(peak, limit)["verdict"],
    )  # fmt: skip


def check_tokens(out: Path, tokenizer: Tokenizer, docs: Sequence[bytes]) -> None:
    """Fail unless the command's output consists of the ids of the documents."""
    expected = tokenizer.encode_batch(docs, threads=1).data
    if not np.array_equal(np.fromfile(out, manifest(out)["dtype"]), expected):
        raise fail(f"{out.name}: the command's ids are not those of encode_batch")
