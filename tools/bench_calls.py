"""single and load of bench.py with --model: calls of one text and opening, beside sentencepiece, by Tokenizer and shim.

The shim is pyunitok.compat.sentencepiece. Results are compared before a figure is taken.
"""

from __future__ import annotations

import pickle
import statistics
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click
from bench_timing import Report, fail, interleave, one_core, ratio, shared_root, verdict

from pyunitok import Tokenizer
from pyunitok.compat import sentencepiece as shim

TEXT = "The quick brown fox jumps over the lazy dog, and the cat sat on the mat while it rained 42 times."
CALLS = 2000
CALLS_TARGET, LOAD_TARGET = 1.1, 1.0

models_option = click.option(
    "--model", "models", multiple=True, metavar="NAME|FILE", help="Beside sentencepiece, this .model file of its kind."
)


def find(names: Iterable[str], shared: Path | None) -> list[Path]:
    """Files, or names of files of the shared data."""
    folder = shared_root(shared) / "data" / "models" / "spm"
    found = [path if (path := Path(name)).exists() else folder / f"{name}.model" for name in names]
    for path in found:
        if not path.exists():
            raise click.ClickException(f"no model {path}")
    return found


def reference() -> Any:
    try:
        import sentencepiece
    except ImportError:
        raise click.ClickException("this needs its peer: pip install sentencepiece") from None
    return sentencepiece


# ------------------------------------------------------------------------------------------------------ calls ---


def calls_of(processor: Any, ids: list[int], piece: str) -> dict[str, Callable[[], Any]]:
    """What is measured, of sentencepiece or of the shim."""
    return {
        "encode": lambda: processor.encode(TEXT),
        "as pieces": lambda: processor.encode(TEXT, out_type=str),
        "decode of 5 ids": lambda: processor.decode(ids[:5]),
        "decode of all": lambda: processor.decode(ids),
        "id_to_piece": lambda: processor.id_to_piece(ids[2]),
        "piece_to_id": lambda: processor.piece_to_id(piece),
    }


def calls_of_tokenizer(tok: Tokenizer, ids: list[int], piece: str) -> dict[str, Callable[[], Any]]:
    return {
        "encode": lambda: tok.encode(TEXT),
        "as pieces": lambda: tok.encode_as_pieces(TEXT),
        "decode of 5 ids": lambda: tok.decode(ids[:5]),
        "decode of all": lambda: tok.decode(ids),
        "id_to_piece": lambda: tok.id_to_piece(ids[2]),
        "piece_to_id": lambda: tok.piece_to_id(piece),
    }


def many(call: Callable[[], Any]) -> None:
    for _ in range(CALLS):
        call()


def calls(models: Iterable[str], shared: Path | None, n: int, clock: str, as_json: bool) -> None:
    spm = reference()
    report = Report(f"single: one call each, {CALLS:,} times, beside sentencepiece, one core", n, clock)
    with one_core():
        for path in find(models, shared):
            theirs, ours = (m.SentencePieceProcessor(model_file=str(path)) for m in (spm, shim))
            ids = theirs.encode(TEXT)
            piece = theirs.id_to_piece(ids[2])
            tables = {
                "sentencepiece": calls_of(theirs, ids, piece), "shim": calls_of(ours, ids, piece),
                "Tokenizer": calls_of_tokenizer(Tokenizer.from_file(path), ids, piece),
            }  # fmt: skip
            for name in tables["sentencepiece"]:
                results = [list(r) if hasattr(r := table[name](), "tolist") else r for table in tables.values()]
                if any(result != results[0] for result in results):
                    raise fail(f"{path.stem}: {name}: results differ")
                timed = {key: partial(many, table[name]) for key, table in tables.items()}
                add(report, {"model": path.stem, "call": name}, interleave(timed, n, clock=clock), CALLS_TARGET, CALLS)
    report.show(as_json)


def add(report: Report, cells: Mapping[str, str], seconds: Mapping[str, list[float]], target: float, n: int) -> None:
    """A row: nanoseconds of each of n calls, or milliseconds of one, and ratios to sentencepiece's."""
    unit, scale = ("ns", 1e9 / n) if n > 1 else ("ms", 1e3)
    times = {f"{name}_{unit}": statistics.median(items) * scale for name, items in seconds.items()}
    peers = {name: ratio(items, seconds["sentencepiece"]) for name, items in seconds.items() if name != "sentencepiece"}
    ratios = {f"{name}_ratio": value for name, value in peers.items()}
    report.add(**cells, **times, **ratios, target=target, verdict=verdict(max(peers.values()) <= target))


# ------------------------------------------------------------------------------------------------------- load ---


def load(models: Iterable[str], n: int, clock: str, as_json: bool) -> None:
    spm = reference()
    report = Report("load: SentencePiece models opened, beside sentencepiece, one core", n, clock)
    with one_core():
        for path in find(models, None):
            openers: dict[str, Callable[[], Any]] = {
                "sentencepiece": partial(spm.SentencePieceProcessor, model_file=str(path)),
                "shim": partial(shim.SentencePieceProcessor, model_file=str(path)),
                "Tokenizer": partial(Tokenizer.from_file, path),
            }
            if len({tuple(opener().encode(TEXT)) for opener in openers.values()}) != 1:
                raise fail(f"{path.stem}: ids differ")
            pickles = {name: pickle.dumps(opener()) for name, opener in openers.items()}
            steps: dict[str, dict[str, Callable[[], Any]]] = {
                "open": openers,
                "open and encode": {name: partial(encode_first, opener) for name, opener in openers.items()},
                "unpickle": {name: partial(pickle.loads, data) for name, data in pickles.items()},
            }
            for step, timed in steps.items():
                add(report, {"model": path.stem, "step": step}, interleave(timed, n, clock=clock), LOAD_TARGET, 1)
    report.notes.append("open and encode: with the first text encoded, for which the encoder is built")
    report.show(as_json)


def encode_first(opener: Callable[[], Any]) -> Any:
    opened = opener()
    return opened, opened.encode(TEXT)
