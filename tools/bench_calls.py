"""bench.py single, load and start: times calls with one short text, the opening of models, and fresh processes."""

from __future__ import annotations

import pickle
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import bench_texts
from bench_encode import Model, chosen, models_option
from bench_peers import module_of
from bench_processes import command, run
from bench_timing import Bench, Report, Seconds, at_most, benchmark, fail, pin_to_one_core, ratio, verdict

from pyunitok import Tokenizer
from pyunitok.compat import sentencepiece as shim

TEXT = "The quick brown fox jumps over the lazy dog, and the cat sat on the mat while it rained 42 times."
PROBE = "吾輩は猫である。 The quick brown fox\n"
CALLS, STRING_BYTES, STRINGS = 2000, 100, 10_000
SINGLE_TARGET, CALLS_TARGET, LOAD_TARGET, NATIVE_TARGET = 1.0, 1.1, 1.0, 1 / 30
START_TARGET, SHORT_RUN_TARGET_MS = 1.5, 150

# By name: a function, and the arguments of its calls. The peer comes first.
Calls = Mapping[str, tuple[Callable[[Any], Any], Sequence[Any]]]


def compare(bench: Bench, report: Report, cells: Mapping[str, str], calls: Calls, target: float,
            of: Callable[[Any], Any] = lambda result: result) -> None:  # fmt: skip
    """Add a row with the times of the calls, after checking that of(result) is the same for all of them."""
    results = [[_plain(of(function(item))) for item in arguments] for function, arguments in calls.values()]
    if any(result != results[0] for result in results):
        raise fail(f"{', '.join(cells.values())}: results differ")
    seconds = bench.interleave({name: partial(many, *call) for name, call in calls.items()})
    add_times(report, cells, seconds, target, len(results[0]))


def _plain(result: Any) -> Any:
    return result.tolist() if hasattr(result, "tolist") else result


def many(function: Callable[[Any], Any], arguments: Iterable[Any]) -> Any:
    """Call the function with each argument; return the last result, which the timing loop frees untimed."""
    for argument in arguments:
        result = function(argument)
    return result


def add_times(report: Report, cells: Mapping[str, str], seconds: Seconds, target: float, n: int = 1) -> None:
    """Add a row with µs per call (ms if n is 1) and the ratios to the peer. The target applies to the last ratio."""
    peer, *_ = seconds
    unit, scale = ("us", 1e6 / n) if n > 1 else ("ms", 1e3)
    times = {f"{name}_{unit}": statistics.median(items) * scale for name, items in seconds.items()}
    ratios = {f"{name}_ratio": ratio(items, seconds[peer]) for name, items in seconds.items() if name != peer}
    report.add(**cells, **times, **ratios, **at_most([*ratios.values()][-1], target))


def openers(bench: Bench, models: Iterable[str]) -> Iterator[tuple[Model, dict[str, Callable[[str], Any]]]]:
    """Each chosen model, with functions that open it. "shim" is pyunitok.compat.sentencepiece."""
    spm = module_of("sentencepiece")
    for model in chosen(bench, models):
        yield model, {"sentencepiece": spm.SentencePieceProcessor, "shim": shim.SentencePieceProcessor,
                      "Tokenizer": Tokenizer.from_file}  # fmt: skip


@benchmark(5, models_option)
def single(bench: Bench, models: tuple[str, ...]) -> Report:
    """Time single calls: encode() of 100-byte strings compared with pyrwkv-tokenizer.

    Encodes 10,000 strings of each corpus, and one string 10,000 times. `inner` is the compiled object inside
    pyrwkv's class; calling it directly saves a Python call. With --model, encode, decode and other methods are
    compared with sentencepiece.
    """
    if models:
        return _calls_of_models(bench, models)
    tokenizer, theirs = Tokenizer.from_file("rwkv-world"), module_of("pyrwkv-tokenizer").RWKVTokenizer()
    report, n_strings = bench.report("single: encode() of 100-byte strings, one core"), 0
    pin_to_one_core()
    for name in bench_texts.names(bench):
        parts = bench_texts.documents(bench_texts.read(bench, name), STRING_BYTES)[:STRINGS]
        for which, raw in ((name, parts), (f"{name}, one string", parts[:1] * STRINGS)):
            strings = [part.decode() for part in raw]
            compare(bench, report, {"strings": which}, {
                "pyrwkv": (theirs.encode, strings), "inner": (theirs.tokenizer.encode, strings),
                "bytes": (tokenizer.encode, raw), "str": (tokenizer.encode, strings),
            }, SINGLE_TARGET)  # fmt: skip
            n_strings += len(raw)
    report.notes.append(f"ids: {n_strings:,} strings, 0 different from pyrwkv")
    return report


def _calls_of_models(bench: Bench, models: Iterable[str]) -> Report:
    report = bench.report(f"single: {CALLS:,} calls, compared with sentencepiece, one core")
    pin_to_one_core()
    for model, opens in openers(bench, models):
        opened = {name: opener(model.path) for name, opener in opens.items()}
        ids = list(opened["sentencepiece"].encode(TEXT))
        measured: dict[str, tuple[str, Any]] = {  # the name of a method, and its argument
            "encode": ("encode", TEXT), "as pieces": ("encode_as_pieces", TEXT),
            "decode of 5 ids": ("decode", ids[:5]), "decode of all": ("decode", ids),
            "id_to_piece": ("id_to_piece", ids[2]),
            "piece_to_id": ("piece_to_id", opened["sentencepiece"].id_to_piece(ids[2])),
        }  # fmt: skip
        for call, (method, argument) in measured.items():
            calls = {name: (getattr(theirs, method), [argument] * CALLS) for name, theirs in opened.items()}
            compare(bench, report, {"model": model.name, "call": call}, calls, CALLS_TARGET)
    return report


@benchmark(7, models_option)
def load(bench: Bench, models: tuple[str, ...]) -> Report:
    """Time opening a native and a text vocabulary, compared with the constructor of pyrwkv-tokenizer.

    Fresh processes import the module before timing starts; imports triggered by opening are timed. With --model,
    that model is opened, also from a pickle, and compared with sentencepiece.
    """
    report = bench.report("load: a model ready to encode, one core")

    def step(cells: Mapping[str, str], calls: Calls, target: float) -> None:
        compare(bench, report, cells, calls, target, of=lambda model: model.encode(PROBE))

    if models:
        pin_to_one_core()
        for model, opens in openers(bench, models):
            encoders = {name: partial(encode_first, opener) for name, opener in opens.items()}
            for what, functions in (("open", opens), ("open and encode", encoders)):
                calls = {name: (function, [model.path]) for name, function in functions.items()}
                step({"model": model.name, "step": what}, calls, LOAD_TARGET)
            pickles = {name: (pickle.loads, [pickle.dumps(opener(model.path))]) for name, opener in opens.items()}
            step({"model": model.name, "step": "unpickle"}, pickles, LOAD_TARGET)
        return report
    theirs = module_of("pyrwkv-tokenizer").RWKVTokenizer
    with bench.folder(1e7) as folder:
        native = str(folder / "rwkv.unitok")
        Tokenizer.from_file("rwkv-world").save(native)
        ours = {"text": (Tokenizer.from_file, ["rwkv-world"]), "native": (Tokenizer.from_file, [native])}
        step({"where": "same process"}, {"pyrwkv": (lambda _: theirs(), [None]), **ours}, NATIVE_TARGET)
        lines = {"pyrwkv": ("import pyrwkv_tokenizer as p", "p.RWKVTokenizer()")}
        lines |= {name: ("from pyunitok import Tokenizer", f"Tokenizer.from_file({path!r})")
                  for name, (_, [path]) in ours.items()}  # fmt: skip
        timer = "process_time" if bench.clock == "cpu" else "perf_counter"
        fresh = {name: partial(_fresh, timer, *pair) for name, pair in lines.items()}
        add_times(report, {"where": "fresh processes"}, bench.interleave(fresh, is_own=True), NATIVE_TARGET)
    return report


def encode_first(opener: Callable[[str], Any], path: str) -> Any:
    """Open a model and encode a text, which builds the encoder."""
    opened = opener(path)
    opened.encode(TEXT)
    return opened


def _fresh(timer: str, imports: str, call: str) -> float:
    code = f"from time import {timer} as now; {imports}; t = now(); x = {call}; print(now() - t)"
    return float(run([sys.executable, "-c", code]))


@benchmark(15)
def start(bench: Bench) -> Report:
    """Time fresh processes: `pyunitok --help` compared with `import click`, and tokenizing 20 bytes."""
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
        report.add(process=name, ms=statistics.median(times) * 1e3, least_ms=min(times) * 1e3, to_import_click=part,
                   **at_most(part, target))  # fmt: skip
    extra = (min(seconds["pyunitok tokenize"]) - min(seconds["pyunitok --help"])) * 1e3
    ok = verdict(extra <= SHORT_RUN_TARGET_MS)
    report.notes.append(f"tokenize: {extra:.0f} ms more than --help; target {SHORT_RUN_TARGET_MS} ms: {ok}")
    return report
