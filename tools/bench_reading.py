"""bench.py reading and pipelines: times `pyunitok tokenize` on many kinds of files, and compares it with datatrove and
dolma.

Megatron-LM's tools/preprocess_data.py is left out: no package on PyPI contains it, and its repository imports triton.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle, islice
from pathlib import Path

import click
import numpy as np
from bench_peers import EOS, EOS_ID, PEERS, Ids, Pipeline, opened
from bench_processes import command, manifest, run
from bench_texts import documents, json_lines, mixed, write_frames
from bench_timing import Bench, Report, at_least, at_most, benchmark, fail, less, ratio, speed, volume

WORLD = "rwkv-world"
THREADS_TARGET, JSONL_TARGET, PIPELINES_TARGET = 1.8, 1.25, 10
FRAME_BYTES, ONE_FRAME = 4 << 20, 1 << 60
DOC_CHARACTERS, DOC_BYTES = 3000, 4096


@benchmark(
    3, *volume(3),
    click.option("--files", type=click.IntRange(1), default=10_000, show_default=True, help="Number of small files."),
)  # fmt: skip
def reading(bench: Bench, gigabytes: float, threads: int, files: int) -> Report:
    """Tokenize the same documents as text and JSON lines, in one frame, many frames and many files.

    The text is that of all corpora, mixed in slices of 1 MB and repeated. A document has 3,000 characters, and its
    newlines become spaces. The time for an empty input of the same format is subtracted. All outputs must be equal.
    """
    text = mixed(bench).decode("utf-8", "ignore").replace("\n", " ").replace("\r", " ")
    docs = [text[at : at + DOC_CHARACTERS] for at in range(0, len(text), DOC_CHARACTERS)]
    n_times = max(1, round(gigabytes * 1e9 / len(text.encode())))
    with bench.folder(gigabytes * 3e9) as folder:
        plain = "".join(doc + "\n" for doc in docs).encode() * n_times
        lines, escaped = (b"".join(json_lines(docs, ensure_ascii=ascii)) * n_times for ascii in (False, True))
        kinds = {
            "text, many frames": write_frames(folder / "many.txt.zst", plain, FRAME_BYTES),
            "text, one frame": write_frames(folder / "one.txt.zst", plain, ONE_FRAME),
            "text, small files": _write_small(folder / "small", docs * n_times, files),
            "JSON lines": write_frames(folder / "u.jsonl.zst", lines, FRAME_BYTES),
            "JSON lines, escaped": write_frames(folder / "a.jsonl.zst", escaped, FRAME_BYTES),
        }
        out, model, outputs = folder / "ids.u16", folder / "model", set[str]()
        run([*command(), "convert", WORLD, str(model)])

        def tokenize(path: Path, k: int) -> partial[str]:
            argv = [*command(), "tokenize", "-m", str(model), "-o", str(out), "--overwrite", "--threads", str(k)]
            return partial(run, [*argv, *([] if ".jsonl" in path.name else ["--doc", "line"]), str(path)])

        functions = {f"{kind} {k}": tokenize(path, k) for kind, path in kinds.items() for k in (1, threads)}
        for function in functions.values():
            function()
            outputs.add(str([manifest(out)[name] for name in ("hash", "tokens", "documents")]))
        if len(outputs) != 1:
            raise fail("different kinds of files give different tokens")
        for kind, name in (("text", "empty.txt.zst"), ("JSON", "empty.jsonl.zst")):
            functions[kind] = tokenize(write_frames(folder / name, b"", FRAME_BYTES), 1)
        seconds = bench.interleave(functions)
    report = bench.report(f"reading: {len(plain) / 1e9:.2f} GB of text, {len(docs) * n_times:,} documents")
    walls = {(kind, k): less(seconds[f"{kind} {k}"], seconds[kind[:4]]) for kind in kinds for k in (1, threads)}
    for (kind, k), wall in walls.items():
        faster, to_text = ratio(walls[kind, 1], wall), ratio(wall, walls["text, many frames", k])
        of_text = at_most(to_text, JSONL_TARGET if kind == "JSON lines" else None)
        report.add(
            what=kind, threads=k, s=statistics.median(wall), MBps=speed(len(plain), wall), to_one_thread=faster,
            **at_least(faster, THREADS_TARGET if k > 1 else None), to_text=to_text,
            **{f"text_{name}": cell for name, cell in of_text.items()},
        )  # fmt: skip
    report.notes.append(f"start-up, subtracted: {statistics.median(seconds['text']):.3f} s; all outputs are equal")
    return report


def _write_small(folder: Path, docs: list[str], n_files: int) -> Path:
    folder.mkdir()
    step = -(-len(docs) // n_files)
    for number, at in enumerate(range(0, len(docs), step)):
        text = "".join(doc + "\n" for doc in docs[at : at + step]).encode()
        write_frames(folder / f"{number:06}.txt.zst", text, ONE_FRAME)
    return folder


@benchmark(
    3, *volume(0.4),
    click.option("-m", "--model", type=click.Path(exists=True, path_type=Path), help="Our model; Llama 2 by default."),
    click.option("--peer-model", type=click.Path(exists=True, path_type=Path), help="Its tokenizer.json."),
    click.option("--peer-python", "peer_pythons", multiple=True, envvar="PYUNITOK_PEERS", metavar="NAME=PYTHON",
                 help="Python with datatrove or dolma installed; PYUNITOK_PEERS may list several."),
    click.option("--megabytes", type=float, default=6.0, show_default=True, help="Text for each peer."),
)  # fmt: skip
def pipelines(bench: Bench, gigabytes: float, threads: int, model: Path | None, peer_model: Path | None,
              peer_pythons: tuple[str, ...], megabytes: float) -> Report:  # fmt: skip
    """Tokenize JSON lines in .zst, compared with datatrove and dolma, in tokens per second.

    The documents are slices of 4 KB, taken from all corpora in turn. The peers are slow and tokenize only a sample. The
    time for one document per process is subtracted. On the sample, each id must occur equally often in all outputs.
    """
    ours = model or bench.models / "spm" / "llama2.model"
    theirs = peer_model or bench.models / "hf" / "kitoken_llama2.json"
    if not ours.exists() or not theirs.exists():
        raise click.ClickException(f"{ours} or {theirs} is missing; use --model and --peer-model")
    report = bench.report(f"pipelines: JSON lines in .zst, {threads} threads or processes, {ours.name}")
    peers = dict(_installed(dict(given.split("=", 1) for given in peer_pythons), report.notes))
    # dolma strips texts, and both peers encode the text of a special token as that token.
    texts = (document.decode().strip() for document in documents(mixed(bench), DOC_BYTES))
    lines = list(json_lines(t for t in texts if t and not any(s in t for s in ("<unk>", "<s>", EOS))))
    n_bytes = sum(map(len, lines))
    with bench.folder(gigabytes * 1.2e9) as folder:
        _write_dealt(folder / "start", lines[:1] * threads, threads)
        _write_dealt(folder / "part", lines[:: max(1, n_bytes // int(megabytes * 1e6))], threads)
        n_lines = max(threads, round(gigabytes * 1e9 / n_bytes * len(lines)))
        _write_dealt(folder / "all", list(islice(cycle(lines), n_lines)), threads)
        tokenize = partial(_ours, ours, threads, folder / "ours.u16")
        expected = np.array(tokenize(folder / "part"))
        runs: dict[str, tuple[Callable[[Path], object], Path]] = {"pyunitok": (tokenize, folder / "all")}
        n_tokens = {"pyunitok": len(tokenize(folder / "all"))} | dict.fromkeys(peers, len(expected))
        for name, (pipeline, python) in peers.items():
            there = partial(_theirs, pipeline, python, theirs, threads, folder / f"{name}_out")
            _compare(name, expected, there(folder / "part"))
            runs[name] = there, folder / "part"
        functions = {name: partial(function, where) for name, (function, where) in runs.items()}
        functions |= {f"{name}, start": partial(function, folder / "start") for name, (function, _) in runs.items()}
        seconds = bench.interleave(functions)
    rates = {name: [n / max(s, 1e-3) for s in less(seconds[name], seconds[f"{name}, start"])]
             for name, n in n_tokens.items()}  # fmt: skip
    for name, n in n_tokens.items():
        times = ratio(rates["pyunitok"], rates[name])
        report.add(
            pipeline=name, start_s=statistics.median(seconds[f"{name}, start"]), s=statistics.median(seconds[name]),
            Mtokens=n / 1e6, ktokens_per_s=statistics.median(rates[name]) / 1e3, ours_to_it=times,
            **at_least(times, PIPELINES_TARGET if name in peers else None),
        )  # fmt: skip
    if peers:
        report.notes.append(f"verified: the same {len(expected):,} ids as each peer, in any order")
    return report


def _write_dealt(folder: Path, lines: list[bytes], n_files: int) -> None:
    folder.mkdir()
    for k in range(n_files):
        write_frames(folder / f"{k}.jsonl.zst", b"".join(lines[k::n_files]), FRAME_BYTES)


def _ours(model: Path, threads: int, out: Path, folder: Path) -> Ids:
    argv = [*command(), "tokenize", str(folder), "-o", str(out), "-m", str(model), "--eod", str(EOS_ID)]
    run([*argv, "--overwrite", "--threads", str(threads)])
    return np.memmap(out, "<u2", mode="r")


def _theirs(peer: Pipeline, python: str, model: Path, processes: int, out: Path, folder: Path) -> list[Ids]:
    """The ids of each file. Earlier output is removed first, because dolma skips files that exist."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    script = out.with_name(f"run_{out.name}.py")  # the script must not have the name of a module that it imports
    script.write_text(peer.script)
    run([python, str(script), str(folder), str(out), str(model), str(processes)], _peer_environment(out))
    return [np.memmap(path, "<u2", mode="r") for path in sorted(out.glob(peer.ids))]


def _peer_environment(tmp: Path) -> dict[str, str]:
    """An environment without this process's PYTHONPATH, and with one thread per process."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return kept | {"RAYON_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TMPDIR": str(tmp)}


def _compare(peer: str, ours: Ids, theirs: list[Ids]) -> None:
    """Compare how often each id occurs: dolma shuffles documents."""
    counts = (np.bincount(ids, minlength=1 << 16) for ids in (ours, np.concatenate(theirs)))
    if len(wrong := np.flatnonzero(np.not_equal(*counts))):
        raise fail(f"{peer}: the count of id {wrong[0]} differs from ours")


def _installed(pythons: dict[str, str], notes: list[str]) -> Iterator[tuple[str, tuple[Pipeline, str]]]:
    """The pipelines that are installed. Notes give their versions and name the missing pipelines."""
    if unknown := pythons.keys() - PEERS.keys():
        raise click.BadParameter(f"{', '.join(unknown)}: no such peer", param_hint="--peer-python")
    for name in ("datatrove", "dolma"):
        python, pipeline = pythons.get(name, sys.executable), opened(name)
        say = f"import {pipeline.needs}; from importlib.metadata import version; print(version({name!r}))"
        try:
            notes.append(f"{name} {run([python, '-c', say], _peer_environment(Path('/tmp'))).strip()}")
            yield name, (pipeline, python)
        except (click.ClickException, OSError):
            notes.append(f"{name} left out: {python} lacks one of {pipeline.needs}; use --peer-python")
