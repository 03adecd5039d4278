"""bench.py pipelines: `pyunitok tokenize` on JSON lines beside the tokenizing commands of datatrove and dolma.

Megatron-LM's tools/preprocess_data.py is not here: the script is in no package of PyPI (megatron-core has the dataset
classes alone), and its repository at present imports triton, for GPUs, before it reads a line.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt
from bench_command import check_space, temporary_option
from bench_timing import (
    Corpora,
    Report,
    command,
    corpora_option,
    documents,
    fail,
    interleave,
    json_option,
    n_option,
    run,
    shared_option,
    shared_root,
    verdict,
)

PIPELINES_TARGET = 10
DOC_BYTES, FRAME_BYTES = 4096, 4 << 20
EOS, EOS_ID = "</s>", 2  # Llama-2's
SPECIAL = ("<unk>", "<s>", EOS)  # the peers make one token of these, wherever they stand; SentencePiece does not
SHORTEST = 1e-3  # s: of tiny inputs, less start-up, nothing may be left


@dataclass(frozen=True)
class Peer:
    """A pipeline that reads {folder}/*.jsonl.zst in `processes` processes and writes ids, uint16, below {out}."""

    name: str
    needs: str  # modules
    code: str  # {} as in its arguments: folder, out, model, processes
    ids: str  # a pattern of the files of ids below {out}


PEERS = (
    Peer(
        "datatrove", "datatrove, tokenizers, orjson, zstandard", f"""
import sys
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.tokens import DocumentTokenizer
folder, out, model, processes = sys.argv[1:]
if __name__ == "__main__":
    steps = [JsonlReader(folder), DocumentTokenizer(out, model, eos_token="{EOS}", shuffle_documents=False)]
    LocalPipelineExecutor(steps, tasks=int(processes), workers=int(processes), logging_dir=out + "/logs").run()
""", "*.ds",
    ),
    Peer(
        "dolma", "dolma, backports.zstd", f"""
import sys
from dolma.cli.__main__ import main
folder, out, model, processes = sys.argv[1:]
if __name__ == "__main__":
    main(["tokens", "--documents", folder + "/*.jsonl.zst", "--destination", out, "--tokenizer.name_or_path", model,
        "--tokenizer.eos_token_id", "{EOS_ID}", "--tokenizer.pad_token_id", "{EOS_ID}", "--dtype", "uint16",
        "--processes", processes, "--work_dir.output", out + "/work"])
""", "*.npy",
    ),
)  # fmt: skip


@click.command()
@shared_option
@corpora_option
@n_option(3)
@click.option("-m", "--model", type=click.Path(exists=True, path_type=Path), help="Ours; Llama-2's by default.")
@click.option("--peer-model", type=click.Path(exists=True, path_type=Path), help="The same, as tokenizer.json.")
@click.option(
    "--peer-python", "peer_pythons", multiple=True, envvar="PYUNITOK_PEERS", metavar="NAME=PYTHON",
    help="The Python that has datatrove, or dolma; this one by default. In PYUNITOK_PEERS with spaces between.",
)  # fmt: skip
@click.option("--gigabytes", type=float, default=0.4, show_default=True, help="Text for pyunitok.")
@click.option("--megabytes", type=float, default=6.0, show_default=True, help="Text for each peer, part of the same.")
@click.option("--threads", type=click.IntRange(1), default=2, show_default=True, help="And processes of the peers.")
@temporary_option
@json_option
def pipelines(
    shared: Path | None, corpora: str | None, n: int, model: Path | None, peer_model: Path | None,
    peer_pythons: tuple[str, ...], gigabytes: float, megabytes: float, threads: int, tmp: str | None, as_json: bool,
) -> None:  # fmt: skip
    """`pyunitok tokenize` of JSON lines in .zst, in tokens a second, beside datatrove's and dolma's commands.

    Documents of 4 KB of all corpora in turn. The peers are slow: they get a part of the documents, spread over all of
    them, and we get as much as --gigabytes says. From each wall time that of one document a process is taken off. On
    the peers' part all give the same number of each id; an eos ends each document.
    """
    models = shared_root(shared) / "data" / "models"
    ours, theirs = model or models / "spm" / "llama2.model", peer_model or models / "hf" / "kitoken_llama2.json"
    if not ours.exists() or not theirs.exists():
        raise click.ClickException(f"{ours} or {theirs} is not there; see --model and --peer-model")
    peers, notes = _installed(dict(_pair(given) for given in peer_pythons))
    lines = _lines(Corpora.find(shared, corpora).round_robin())
    with tempfile.TemporaryDirectory(dir=tmp) as name:
        folder = Path(name)
        check_space(folder, gigabytes * 1.2e9)
        part = _spread(lines, int(megabytes * 1e6))
        _write_files(folder / "start", lines[:1] * threads, threads)
        _write_files(folder / "part", part, threads)
        n_lines = max(threads, round(gigabytes * 1e9 / sum(map(len, lines)) * len(lines)))
        _write_files(folder / "all", islice(cycle(lines), n_lines), threads)
        tokenize = partial(_ours, ours, threads, folder / "ours.u16")
        expected = tokenize(folder / "part")
        functions: dict[str, Callable[[], object]] = {
            "pyunitok, start": partial(tokenize, folder / "start"),
            "pyunitok": partial(tokenize, folder / "all"),
        }
        for peer, python in peers:
            there = partial(_theirs, peer, python, theirs, threads, folder / peer.name)
            _compare(peer, expected, there(folder / "part"))
            functions[f"{peer.name}, start"] = partial(there, folder / "start")
            functions[peer.name] = partial(there, folder / "part")
        n_tokens = {peer.name: len(expected) for peer, _ in peers} | {"pyunitok": len(tokenize(folder / "all"))}
        seconds = interleave(functions, n)
    report = Report(f"pipelines: JSON lines in .zst, {threads} threads or processes, {ours.name}", n, notes=notes)
    for who in ("pyunitok", *(peer.name for peer, _ in peers)):
        _add(report, who, n_tokens, seconds)
    if peers:
        report.notes.append(f"verified: the same {len(expected):,} ids as each peer, whatever their order")
    report.show(as_json)


def _add(report: Report, who: str, n_tokens: dict[str, int], seconds: dict[str, list[float]]) -> None:
    rates = {}
    for name in (who, "pyunitok"):
        turns = zip(seconds[name], seconds[f"{name}, start"], strict=True)
        rates[name] = [n_tokens[name] / max(all_of_it - start, SHORTEST) for all_of_it, start in turns]
    times = statistics.median(a / b for a, b in zip(rates["pyunitok"], rates[who], strict=True))
    compared = who != "pyunitok"
    report.add(
        pipeline=who, start_s=statistics.median(seconds[f"{who}, start"]), s=statistics.median(seconds[who]),
        Mtokens=n_tokens[who] / 1e6, ktokens_per_s=statistics.median(rates[who]) / 1e3,
        ours_to_it=times if compared else None, target=PIPELINES_TARGET if compared else None,
        verdict=verdict(times >= PIPELINES_TARGET) if compared else None,
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------- the inputs ---


def _lines(text: bytes) -> list[bytes]:
    """Documents as JSON lines. dolma strips its texts, so all are stripped here."""
    texts = (document.decode().strip() for document in documents(text, DOC_BYTES))
    kept = (text for text in texts if text and not any(special in text for special in SPECIAL))
    rows = ({"id": str(k), "text": text} for k, text in enumerate(kept))
    return [json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows]


def _spread(lines: list[bytes], n_bytes: int) -> list[bytes]:
    """About n_bytes of them, evenly from the whole."""
    return lines[:: max(1, sum(map(len, lines)) // max(n_bytes, 1))]


def _write_files(folder: Path, lines: Iterable[bytes], n_files: int) -> None:
    """The lines, dealt to files of zstd frames of about FRAME_BYTES."""
    import zstandard

    folder.mkdir()
    compressor, rest = zstandard.ZstdCompressor(3), iter(lines)
    n_lines = n_files * FRAME_BYTES // DOC_BYTES
    while some := list(islice(rest, n_lines)):
        for k in range(n_files):
            with (folder / f"{k}.jsonl.zst").open("ab") as file:
                file.write(compressor.compress(b"".join(some[k::n_files])))


# -------------------------------------------------------------------------------------------------- the runs ---


def _ours(model: Path, threads: int, out: Path, folder: Path) -> npt.NDArray[np.uint16]:
    argv = [*command(), "tokenize", str(folder), "-o", str(out), "-m", str(model), "--eod", str(EOS_ID)]
    run([*argv, "--overwrite", "--threads", str(threads)])
    return np.memmap(out, "<u2", mode="r")


def _theirs(
    peer: Peer, python: str, model: Path, processes: int, out: Path, folder: Path
) -> list[npt.NDArray[np.uint16]]:
    """Its ids, file by file. What it wrote before is removed first: dolma leaves out what it did already."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    script = out.with_name(f"run_{peer.name}.py")  # not the name of a module that it imports
    script.write_text(peer.code)
    _in_peer([python, str(script), str(folder), str(out), str(model), str(processes)], peer, out)
    return [np.memmap(path, "<u2", mode="r") for path in sorted(out.glob(peer.ids))]


def _in_peer(argv: Sequence[str], peer: Peer, tmp: Path | None = None) -> str:
    """Runs it without the pyunitok of this process in reach, each process of it on one thread."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"RAYON_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"} | ({"TMPDIR": str(tmp)} if tmp else {})
    done = subprocess.run(argv, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise click.ClickException(f"{peer.name} ended with {done.returncode}:\n{done.stderr.strip()[-2000:]}")
    return done.stdout


def _compare(peer: Peer, ours: npt.NDArray[np.uint16], theirs: list[npt.NDArray[np.uint16]]) -> None:
    """dolma shuffles documents, so how often each id is there is compared."""
    n_ids = sum(map(len, theirs))
    wrong = np.flatnonzero(_histogram([ours]) != _histogram(theirs))
    if len(wrong):
        raise fail(f"{peer.name}: {n_ids:,} ids, ours {len(ours):,}; the first that is not as frequent is {wrong[0]}")


def _histogram(parts: list[npt.NDArray[np.uint16]]) -> npt.NDArray[np.intp]:
    return np.bincount(np.concatenate(parts), minlength=1 << 16)


def _pair(given: str) -> tuple[str, str]:
    name, equals, python = given.partition("=")
    if not equals or name not in (peer.name for peer in PEERS):
        raise click.BadParameter(f"{given} is not NAME=PYTHON of {' or '.join(peer.name for peer in PEERS)}")
    return name, python


def _installed(pythons: dict[str, str]) -> tuple[list[tuple[Peer, str]], list[str]]:
    """The peers that can be run with the Python for each, and notes: their versions, and which are left out."""
    found, notes = [], []
    for peer in PEERS:
        python = pythons.get(peer.name, sys.executable)
        say = f"import {peer.needs}; from importlib.metadata import version as v; "
        say += f"print(v('{peer.name}'), v('tokenizers'))"
        try:
            about = _in_peer([python, "-c", say], peer).split()
        except (click.ClickException, OSError):
            notes.append(f"{peer.name} left out: {python} has not all of {peer.needs}; see --peer-python")
        else:
            found.append((peer, python))
            notes.append(f"{peer.name} {about[0]} with tokenizers {about[1]}")
    notes.append("Megatron's preprocess_data.py left out: on PyPI there is megatron-core alone, without it")
    return found, notes
