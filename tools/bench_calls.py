"""bench.py single, load and start: calls with one short text, opening models, and fresh processes.

The shim is pyunitok.compat.sentencepiece. Results are compared before a figure is taken.
"""

from __future__ import annotations

import pickle
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import bench_texts
from bench_encode import chosen, models_option
from bench_peers import module_of
from bench_processes import command, run
from bench_timing import Bench, Report, Seconds, benchmark, fail, interleave, less, one_core, ratio, verdict

from pyunitok import Tokenizer
from pyunitok.compat import sentencepiece as shim

TEXT = "The quick brown fox jumps over the lazy dog, and the cat sat on the mat while it rained 42 times."
PROBE = "吾輩は猫である。 The quick brown fox\n"
CALLS, STRING_BYTES, STRINGS = 2000, 100, 10_000
SINGLE_TARGET, CALLS_TARGET, LOAD_TARGET, NATIVE_TARGET = 1.0, 1.1, 1.0, 1 / 30
START_TARGET, SHORT_RUN_TARGET_MS = 1.5, 150


def many(function: Callable[[Any], Any], arguments: Iterable[Any]) -> None:
    for argument in arguments:
        function(argument)


def add(report: Report, cells: Mapping[str, str], seconds: Seconds, peer: str, n: int, target: float) -> None:
    """A row with µs of each of n calls, or ms of one, and the ratios to the peer's; the last of ours has the target."""
    unit, scale = ("us", 1e6 / n) if n > 1 else ("ms", 1e3)
    times = {f"{name}_{unit}": statistics.median(items) * scale for name, items in seconds.items()}
    ratios = {f"{name}_ratio": ratio(items, seconds[peer]) for name, items in seconds.items() if name != peer}
    report.add(**cells, **times, **ratios, target=target, verdict=verdict(list(ratios.values())[-1] <= target))


# -------------------------------------------------------------------------------------------------- single ---


@benchmark(5, models_option)
def single(bench: Bench, models: tuple[str, ...]) -> Report:
    """Time single calls: encode() of 100-byte strings beside pyrwkv-tokenizer.

    A loop over 10,000 strings of each corpus, and over one string 10,000 times. `inner` is the compiled object inside
    pyrwkv's class, which saves a Python call. With --model: encode, decode and others beside sentencepiece.
    """
    if models:
        return _calls(bench, models)
    tokenizer, theirs = Tokenizer.from_file("rwkv-world"), module_of("pyrwkv-tokenizer").RWKVTokenizer()
    report, n_strings = bench.report("single: encode() of 100-byte strings, one core"), 0
    with one_core():
        for name in bench_texts.names(bench):
            parts = bench_texts.documents(bench_texts.read(bench, name), STRING_BYTES)[:STRINGS]
            strings = [part.decode() for part in parts]
            for which, items in ((name, strings), (f"{name}, one string", strings[:1] * STRINGS)):
                raw = [item.encode() for item in items]
                encodes: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
                    "pyrwkv": (theirs.encode, items), "inner": (theirs.tokenizer.encode, items),
                    "bytes": (tokenizer.encode, raw), "str": (tokenizer.encode, items),
                }  # fmt: skip
                results = [[list(encode(item)) for item in given] for encode, given in encodes.values()]
                if any(result != results[0] for result in results):
                    raise fail(f"{which}: ids differ")
                n_strings += len(items)
                seconds = bench.interleave({key: partial(many, *pair) for key, pair in encodes.items()})
                add(report, {"strings": which}, seconds, "pyrwkv", len(items), SINGLE_TARGET)
    report.notes.append(f"ids: {n_strings:,} strings, 0 different from pyrwkv")
    return report


def calls_of(model: Any, ids: list[int], piece: str) -> dict[str, Callable[[], Any]]:
    """The measured calls of sentencepiece, of the shim, or of our Tokenizer."""
    pieces = model.encode_as_pieces if isinstance(model, Tokenizer) else partial(model.encode, out_type=str)
    return {
        "encode": lambda: model.encode(TEXT),
        "as pieces": lambda: pieces(TEXT),
        "decode of 5 ids": lambda: model.decode(ids[:5]),
        "decode of all": lambda: model.decode(ids),
        "id_to_piece": lambda: model.id_to_piece(ids[2]),
        "piece_to_id": lambda: model.piece_to_id(piece),
    }


def openers(bench: Bench, models: Iterable[str]) -> Iterator[tuple[str, dict[str, Callable[[], Any]]]]:
    """Of each model its name, and what opens it."""
    spm = module_of("sentencepiece")
    for model in chosen(bench, models):
        opens: dict[str, Callable[[], Any]] = {
            "sentencepiece": partial(spm.SentencePieceProcessor, model_file=model.path),
            "shim": partial(shim.SentencePieceProcessor, model_file=model.path),
            "Tokenizer": partial(Tokenizer.from_file, model.path),
        }
        if len({tuple(opener().encode(TEXT)) for opener in opens.values()}) != 1:
            raise fail(f"{model.name}: ids differ")
        yield model.name, opens


def _calls(bench: Bench, models: Iterable[str]) -> Report:
    report = bench.report(f"single: {CALLS:,} calls, beside sentencepiece, one core")
    with one_core():
        for model, opens in openers(bench, models):
            opened = {name: opener() for name, opener in opens.items()}
            ids = opened["sentencepiece"].encode(TEXT)
            piece = opened["sentencepiece"].id_to_piece(ids[2])
            tables = {name: calls_of(ours, ids, piece) for name, ours in opened.items()}
            for call in tables["sentencepiece"]:
                results = [list(r) if hasattr(r := table[call](), "tolist") else r for table in tables.values()]
                if any(result != results[0] for result in results):
                    raise fail(f"{model}: {call}: results differ")
                functions = {name: partial(_repeat, table[call]) for name, table in tables.items()}
                seconds = bench.interleave(functions)
                add(report, {"model": model, "call": call}, seconds, "sentencepiece", CALLS, CALLS_TARGET)
    return report


def _repeat(call: Callable[[], Any]) -> None:
    for _ in range(CALLS):
        call()


# ---------------------------------------------------------------------------------------------------- load ---


@benchmark(7, models_option)
def load(bench: Bench, models: tuple[str, ...]) -> Report:
    """Open a model: native and text vocabulary beside the constructor of pyrwkv-tokenizer.

    Fresh processes import the module first, untimed; imports made by opening count. With --model: opening it, also
    from a pickle, beside sentencepiece.
    """
    report = bench.report("load: a model ready to encode, one core")
    if models:
        with one_core():
            for name, opens in openers(bench, models):
                pickles = {which: pickle.dumps(opener()) for which, opener in opens.items()}
                steps: dict[str, dict[str, Callable[[], Any]]] = {
                    "open": opens,
                    "open and encode": {which: partial(encode_first, opener) for which, opener in opens.items()},
                    "unpickle": {which: partial(pickle.loads, data) for which, data in pickles.items()},
                }
                for step, functions in steps.items():
                    seconds = bench.interleave(functions)
                    add(report, {"model": name, "step": step}, seconds, "sentencepiece", 1, LOAD_TARGET)
        return report
    theirs = module_of("pyrwkv-tokenizer").RWKVTokenizer
    timer = "process_time" if bench.clock == "cpu" else "perf_counter"
    with bench.folder(1e7) as folder, one_core():
        native = str(folder / "rwkv.unitok")
        Tokenizer.from_file("rwkv-world").save(native)
        ours, models_ = "from pyunitok import Tokenizer", {"text": "rwkv-world", "native": native}
        here = {"pyrwkv": theirs} | {name: partial(Tokenizer.from_file, model) for name, model in models_.items()}
        if len({tuple(opener().encode(PROBE)) for opener in here.values()}) != 1:
            raise fail("the models give different ids")
        lines = {"pyrwkv": ("import pyrwkv_tokenizer as p", "p.RWKVTokenizer()")}
        lines |= {name: (ours, f"Tokenizer.from_file({model!r})") for name, model in models_.items()}
        fresh = {name: partial(_fresh, timer, *pair) for name, pair in lines.items()}
        add(report, {"where": "same process"}, bench.interleave(here), "pyrwkv", 1, NATIVE_TARGET)
        seconds = interleave(fresh, bench.n, clock="own")
        add(report, {"where": "fresh processes"}, seconds, "pyrwkv", 1, NATIVE_TARGET)
    return report


def encode_first(opener: Callable[[], Any]) -> Any:
    """Open a model and encode a first text, which builds the encoder."""
    opened = opener()
    return opened, opened.encode(TEXT)


def _fresh(timer: str, imports: str, call: str) -> float:
    code = f"from time import {timer} as now; {imports}; t = now(); x = {call}; print(now() - t)"
    return float(run([sys.executable, "-c", code]))


# --------------------------------------------------------------------------------------------------- start ---


@benchmark(15)
def start(bench: Bench) -> Report:
    """Time fresh processes: `pyunitok --help` beside `import click`, and tokenizing 20 bytes."""
    report = bench.report("start: fresh processes")
    with bench.folder(1e6) as folder:
        short = folder / "short.txt"
        short.write_text("twenty bytes of text")
        functions = {
            "pyunitok tokenize": [*command(), "tokenize", str(short), "-o", str(folder / "short.u16"), "--overwrite"],
            "import numpy": [sys.executable, "-c", "import numpy"],
            "pyunitok --help": [*command(), "--help"],
            "import click": [sys.executable, "-c", "import click"],
            "nothing": [sys.executable, "-c", ""],
        }
        if "tokenize" not in run(functions["pyunitok --help"]):
            raise fail("pyunitok --help does not mention tokenize")
        seconds = bench.interleave({name: partial(run, argv) for name, argv in functions.items()})
    for name, times in seconds.items():
        part, target = ratio(times, seconds["import click"]), START_TARGET if name == "pyunitok --help" else None
        ok = verdict(part <= target) if target else None
        report.add(process=name, ms=statistics.median(times) * 1e3, to_import_click=part, target=target, verdict=ok)
    extra = statistics.median(less(seconds["pyunitok tokenize"], seconds["pyunitok --help"])) * 1e3
    ok = verdict(extra <= SHORT_RUN_TARGET_MS)
    report.notes.append(f"tokenize: {extra:.0f} ms more than --help; target {SHORT_RUN_TARGET_MS} ms: {ok}")
    return report
