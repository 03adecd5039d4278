"""Benchmarks: python tools/bench.py COMMAND. Each verifies what it times, before it prints a figure.

longest, trie, single and load measure the library in this process, and so do unigram, bpe and bytepiece
(bench_models.py) and sample (bench_sample.py); start, tokenize and rss (bench_command.py), stream (bench_stream.py),
pipelines (bench_pipelines.py), checkpoints (bench_resume.py) and reading (bench_reading.py) the command line from
outside; suffix (bench_suffix.py) sorts suffixes, search (bench_search.py) searches them in memory and
in the browser (bench_page.py); train (bench_train.py) trains models, and density (bench_density.py) looks at what
they make of unseen text; vocabularies (bench_vocabularies.py) compares the default vocabulary with RWKV World.
The corpora are not part of the repository: without them there is the sample.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import bench_calls
import bench_command
import bench_density
import bench_models
import bench_pipelines
import bench_reading
import bench_resume
import bench_sample
import bench_search
import bench_stream
import bench_suffix
import bench_train
import bench_vocabularies
import click
import numpy as np
from bench_timing import (
    Corpora,
    Report,
    clock_option,
    corpora_option,
    cpu_option,
    documents,
    fail,
    interleave,
    json_option,
    n_option,
    one_core,
    peer,
    ratio,
    run,
    shared_option,
    verdict,
    vocabulary,
    warm_up,
)

from pyunitok import Packed, Tokenizer
from pyunitok._c import library
from pyunitok._c import model as c_model
from pyunitok._c import scratch as c_scratch
from pyunitok._lib import ffi, lib
from pyunitok.packed import Ids

# Times as fast as pyrwkv-tokenizer, documents given as bytes.
TARGETS = {"en_web": 10, "code": 10, "en_prose": 9, "zh": 7, "ko": 7, "ja": 6, "ru": 4}
# What the prototypes reached, in parts of the speed of zstd -3 decompression; ours is to reach so much of theirs.
PROTOTYPES = {
    "en_web": 0.43, "en_prose": 0.53, "code": 0.42, "zh": 0.34, "ja": 0.38, "ru": 0.23, "ko": 0.42, "de": 0.33,
}  # fmt: skip
PROTOTYPE_SHARE = 0.85
NATIVE_LOAD_TARGET, TEXT_LOAD_TARGET = 1 / 30, 1.0
SINGLE_BYTES, SINGLE_STRINGS = 100, 10_000


class Commands(click.Group):
    """`encode` is another name of `longest`."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, "longest" if cmd_name == "encode" else cmd_name)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Measure pyunitok beside its peers, interleaved in one run; compare ratios, not megabytes."""


def different(ours: Packed, theirs: list[Any]) -> list[int]:
    """The documents whose ids differ."""
    pairs = zip(ours, theirs, strict=True)
    return [k for k, (a, b) in enumerate(pairs) if len(a) != len(b) or not np.array_equal(a, np.asarray(b, np.int64))]


@cli.command()
@shared_option
@corpora_option
@n_option(5)
@cpu_option
@click.option("--levels", is_flag=True, help="Every instruction set that this processor has.")
@click.option("--cold", is_flag=True, help="Time the whole of each corpus, from an empty memo.")
@click.option("--again", type=click.IntRange(1), help="Time what both have met, so many times over in one call.")
@clock_option
@json_option
def longest(
    shared: Path | None,
    corpora: str | None,
    n: int,
    cpu: str | None,
    levels: bool,
    cold: bool,
    again: int | None,
    clock: str,
    as_json: bool,
) -> None:
    """encode_batch of 16 KB documents on one core, beside pyrwkv-tokenizer and beside zstd decompression.

    pyrwkv is its faster call: encode_batch, or a loop of encode. What is timed is the second half of each corpus;
    before every timed call the same function encodes the first half, so that both are as warm as in the middle of a
    corpus, and our memo, emptied before that, has met no document that is timed; with --again it has met them all.
    `of prototype` compares our share of zstd's speed with what the study of prototypes reached.
    """
    import zstandard

    texts = Corpora.find(shared, corpora)
    names = [name for name in library.CPUS if library.cpu_supported(name)] if levels else [cpu]
    tokenizers = [Tokenizer.from_file(vocabulary(), cpu=name) for name in names]
    theirs = peer().RWKVTokenizer()
    report = Report("longest: encode_batch(threads=1), RWKV World, 16 KB documents, one core", n, clock)
    n_documents = 0
    with one_core():
        for name in texts.names:
            text = texts.read(name)
            as_bytes = documents(text)
            as_str = [document.decode() for document in as_bytes]
            half = 0 if cold else len(as_bytes) // 2  # where what is timed begins
            if again:
                as_bytes, as_str = as_bytes[half:] * (1 + again), as_str[half:] * (1 + again)
                half = len(as_bytes) // (1 + again)
            text = b"".join(as_bytes[half:])
            expected = theirs.encode_batch(as_str)
            if [theirs.encode(document) for document in as_str[:20]] != expected[:20]:
                raise fail(f"{name}: the peer's encode and encode_batch differ")
            compressed, decompressor = zstandard.ZstdCompressor(3).compress(text), zstandard.ZstdDecompressor()
            if decompressor.decompress(compressed) != text:
                raise fail(f"{name}: zstd gives back another text")
            functions: dict[str, Callable[[], object]] = {
                "batch": partial(theirs.encode_batch, as_str[half:]),
                "loop": lambda docs=as_str[half:]: [theirs.encode(document) for document in docs],  # type: ignore[misc]
                "zstd": partial(decompressor.decompress, compressed),
            }
            before: dict[str, Callable[[], object]] = {"batch": partial(theirs.encode_batch, as_str[:half])}
            before["loop"] = before["batch"]
            for tokenizer in tokenizers:
                for given, docs in (("bytes", as_bytes), ("str", as_str)):
                    wrong = different(tokenizer.encode_batch(docs, threads=1), expected)
                    if wrong:
                        raise fail(f"{name}, {given}, {tokenizer.cpu}: {len(wrong)} documents differ, first {wrong[0]}")
                    functions[f"{given} {tokenizer.cpu}"] = partial(tokenizer.encode_batch, docs[half:], threads=1)
                    before[f"{given} {tokenizer.cpu}"] = partial(warm_up, tokenizer, docs[:half])
            n_documents += len(as_bytes)
            n_tokens = sum(map(len, expected[half:]))
            del expected
            seconds = interleave(functions, n, before=before, clock=clock)
            for tokenizer in tokenizers:
                _add_longest(report, name, tokenizer.cpu, len(text), n_tokens, seconds)
    report.notes.append(f"ids: {n_documents:,} documents of {len(texts.names)} corpora, 0 different from pyrwkv")
    report.notes.append(_how_warm(cold, again))
    report.show(as_json)


def _how_warm(cold: bool, again: int | None) -> str:
    if again:
        return f"warmed on what is timed, which is {'a whole' if cold else 'half a'} corpus {again} times over"
    return "from an empty memo" if cold else "warmed on the first half of a corpus, timed on the second"


def _add_longest(
    report: Report, name: str, cpu: str, n_bytes: int, n_tokens: int, seconds: dict[str, list[float]]
) -> None:
    pyrwkv = min(seconds["batch"], seconds["loop"], key=statistics.median)
    ours, ours_str, zstd = seconds[f"bytes {cpu}"], seconds[f"str {cpu}"], seconds["zstd"]
    times, share = ratio(pyrwkv, ours), ratio(zstd, ours)
    target, prototype = TARGETS.get(name), PROTOTYPES.get(name)

    def speed(times: list[float]) -> float:
        return n_bytes / statistics.median(times) / 1e6

    report.add(
        corpus=name, cpu=cpu, bytes_per_token=n_bytes / n_tokens, pyrwkv_MBps=speed(pyrwkv), bytes_MBps=speed(ours),
        x_pyrwkv=times, target=target, verdict=verdict(times >= target) if target else None,
        str_MBps=speed(ours_str), str_x_pyrwkv=ratio(pyrwkv, ours_str), zstd_MBps=speed(zstd), of_zstd=share,
        prototype=prototype, of_prototype=f"{share / prototype:.0%}" if prototype else None,
        at_least_85=verdict(share >= PROTOTYPE_SHARE * prototype) if prototype else None,
    )  # fmt: skip


@cli.command()
@shared_option
@corpora_option
@n_option(5)
@clock_option
@json_option
def trie(shared: Path | None, corpora: str | None, n: int, clock: str, as_json: bool) -> None:
    """The double array and the HAT-trie on the real vocabulary: build, memory, longest-prefix speed.

    The speed is the engine's alone: no cuts, no memo.
    """
    from pyunitok.vocab import rwkv

    texts = Corpora.find(shared, corpora)
    path = vocabulary()
    vocab = rwkv.read_text(path.read_bytes(), str(path))

    hat = _Hat(vocab.data, vocab.offsets, vocab.ids)
    hat.insert()
    n_pieces, piece_bytes = len(vocab.ids), int(vocab.offsets[-1])
    pieces = [vocab.data[a:b].tobytes() for a, b in pairwise(vocab.offsets.tolist())]
    walked = hat.walk()
    if walked != sorted(pieces):
        raise fail("the ordered walk is not the sorted vocabulary")
    models = {engine: vocab.build(engine=engine, cpu=None) for engine in library.ENGINES}
    numbers = vocab.ids.tolist()
    if any(model.find(piece) != id_ for model in models.values() for piece, id_ in zip(pieces, numbers, strict=True)):
        raise fail("an engine does not find a piece under its id")
    report = Report(f"trie: {n_pieces:,} pieces of {piece_bytes:,} bytes, one core", n, clock)
    with one_core():
        functions: dict[str, Callable[[], object]] = {
            "HAT-trie: insert all": hat.insert,
            "HAT-trie: ordered walk": hat.walk_only,
            "model: double array, cuts, checks": partial(vocab.build, engine="double-array", cpu=None),
            "model: the same and the HAT-trie": partial(vocab.build, engine="hat", cpu=None),
            "Tokenizer from the text file": partial(Tokenizer.from_file, path),
        }
        memory = {"HAT-trie: insert all": hat.memory_bytes()}
        memory["model: double array, cuts, checks"] = int(models["double-array"].info.trie_bytes)
        for name, times in interleave(functions, n, clock=clock).items():
            held = memory.get(name)
            report.add(
                what=name, corpus=None, ms=statistics.median(times) * 1e3, trie_bytes=held,
                bytes_per_piece=held / n_pieces if held else None, double_array_MBps=None, HAT_MBps=None, ratio=None,
            )  # fmt: skip
        tokenizer = Tokenizer.from_file(path)
        for name in texts.names:
            text = texts.read(name)
            packed = Packed.from_documents(documents(text))
            encoded = {engine: _walk(model, packed) for engine, model in models.items()}
            whole = tokenizer.encode_batch(packed, threads=1).data
            if not all(np.array_equal(ids, whole) for ids, _ in encoded.values()):
                raise fail(f"{name}: the engines alone and the whole encoder do not give the same ids")
            seconds = interleave({engine: again for engine, (_, again) in encoded.items()}, n, clock=clock)
            double, hat_trie = seconds["double-array"], seconds["hat"]
            report.add(
                what="longest prefix", corpus=name, ms=None, trie_bytes=None, bytes_per_piece=None,
                double_array_MBps=len(text) / statistics.median(double) / 1e6,
                HAT_MBps=len(text) / statistics.median(hat_trie) / 1e6, ratio=ratio(hat_trie, double),
            )  # fmt: skip
    report.notes.append("verified: every piece has its id; the walk is sorted; both engines and encode_batch agree")
    report.show(as_json)


class _Hat:
    """The C HAT-trie, with the vocabulary to put into it."""

    def __init__(self, data: Any, offsets: Any, ids: Any) -> None:
        self._keys = library.pointer(data), library.pointer(offsets), library.pointer(ids)
        self._n, self._n_bytes = len(ids), int(offsets[-1])
        self._handle: Any = None
        self._out = np.empty(self._n_bytes, np.uint8), np.empty(self._n + 1, np.int64), np.empty(self._n, np.int64)

    def insert(self) -> None:
        ret, error = ffi.new("unitok_hat **"), ffi.new("unitok_error *")
        library.check(lib.unitok_hat_new(ret, error), error)
        self._handle = ffi.gc(ret[0], lib.unitok_hat_free)
        unique = lib.UNITOK_HAT_UNIQUE
        library.check(lib.unitok_hat_insert(self._handle, *self._keys, self._n, unique, error), error)

    def walk_only(self) -> None:
        ret, error = ffi.new("unitok_hat_walk **"), ffi.new("unitok_error *")
        library.check(lib.unitok_hat_walk_new(self._handle, ffi.NULL, 0, ret, error), error)
        data, offsets, values = (library.pointer(array, writable=True) for array in self._out)
        n = lib.unitok_hat_walk_next(ret[0], data, self._n_bytes, offsets, values, self._n)
        lib.unitok_hat_walk_free(ret[0])
        if n != self._n:
            raise fail("the walk does not give all keys")

    def walk(self) -> list[bytes]:
        self.walk_only()
        data, offsets = self._out[0].tobytes(), self._out[1].tolist()
        return [data[a:b] for a, b in pairwise(offsets)]

    def memory_bytes(self) -> int:
        return int(lib.unitok_hat_memory_bytes(self._handle))


def _walk(model: c_model.Model, packed: Packed) -> tuple[Ids, Callable[[], Any]]:
    """The ids that the engine gives alone, and a function that does it again."""
    scratch, texts = c_scratch.Scratch(model), [text.tobytes() for text in packed]

    def again() -> Any:
        return [scratch.encode_spans(text) for text in texts]

    return np.concatenate(again())[:, 0].astype(np.uint16), again


@cli.command()
@shared_option
@corpora_option
@n_option(5)
@cpu_option
@bench_calls.models_option
@clock_option
@json_option
def single(
    shared: Path | None, corpora: str | None, n: int, cpu: str | None, models: tuple[str, ...], clock: str,
    as_json: bool,
) -> None:  # fmt: skip
    """encode() of strings of 100 bytes, one call each, beside pyrwkv-tokenizer's encode.

    A loop over 10,000 strings of each corpus, and over one string 10,000 times; ns a call, the loop included.
    `inner` is the compiled object inside pyrwkv's class: one Python call less. With --model: encode, decode and others
    beside sentencepiece.
    """
    if models:
        bench_calls.calls(models, shared, n, clock, as_json)
        return
    texts = Corpora.find(shared, corpora)
    tokenizer = Tokenizer.from_file(vocabulary(), cpu=cpu)
    theirs = peer().RWKVTokenizer()
    report = Report(f"single: encode() of {SINGLE_BYTES}-byte strings, one core", n, clock)
    n_strings = 0
    with one_core():
        for name in texts.names:
            strings = [part.decode() for part in documents(texts.read(name), SINGLE_BYTES)[:SINGLE_STRINGS]]
            for which, items in ((name, strings), (f"{name}, one string", strings[:1] * SINGLE_STRINGS)):
                raw = [item.encode() for item in items]
                encodes: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
                    "pyrwkv": (theirs.encode, items), "inner": (theirs.tokenizer.encode, items),
                    "str": (tokenizer.encode, items), "bytes": (tokenizer.encode, raw),
                }  # fmt: skip
                results = [[list(encode(item)) for item in given] for encode, given in encodes.values()]
                if any(result != results[0] for result in results):
                    raise fail(f"{which}: ids differ")
                n_strings += len(items)

                def loop(encode: Callable[[Any], Any], given: list[Any]) -> None:
                    for item in given:
                        encode(item)

                seconds = interleave({key: partial(loop, *pair) for key, pair in encodes.items()}, n, clock=clock)
                ns = {key: statistics.median(times) / len(items) * 1e9 for key, times in seconds.items()}
                slower = ratio(seconds["str"], seconds["pyrwkv"])
                report.add(
                    strings=which, pyrwkv_ns=ns["pyrwkv"], inner_ns=ns["inner"], str_ns=ns["str"],
                    bytes_ns=ns["bytes"], str_to_pyrwkv=slower, target=1.0, verdict=verdict(slower <= 1.0),
                    str_to_inner=ratio(seconds["str"], seconds["inner"]),
                )  # fmt: skip
    report.notes.append(f"ids: {n_strings:,} strings, 0 different from pyrwkv")
    report.show(as_json)


@cli.command()
@n_option(7)
@bench_calls.models_option
@clock_option
@json_option
def load(n: int, models: tuple[str, ...], clock: str, as_json: bool) -> None:
    """Opening a model: native and text vocabulary, beside pyrwkv-tokenizer's constructor.

    In fresh processes the module is imported first and not counted, but what opening a model imports is. With --model:
    opening it, also from a pickle, beside sentencepiece.
    """
    if models:
        bench_calls.load(models, n, clock, as_json)
        return
    theirs, path = peer().RWKVTokenizer, vocabulary()
    report = Report("load: a model ready to encode, one core", n, clock)
    with tempfile.TemporaryDirectory() as folder, one_core():
        native = Path(folder) / "rwkv.unitok"
        Tokenizer.from_file(path).save(native)
        probe = "吾輩は猫である。 The quick brown fox\n"
        ids = {tuple(tokenizer.encode(probe)) for tokenizer in (
            theirs(), Tokenizer.from_file(path), Tokenizer.from_file(native))}  # fmt: skip
        if len(ids) != 1:
            raise fail("the models give different ids")
        here: dict[str, Callable[[], object]] = {
            "pyrwkv": theirs, "native": partial(Tokenizer.from_file, native), "text": partial(Tokenizer.from_file, path)
        }  # fmt: skip
        timer = "process_time" if clock == "cpu" else "perf_counter"
        timed = "from time import {} as now; {}; t = now(); {}; print(now() - t)"
        ours = "from pyunitok import Tokenizer"
        fresh = {
            "pyrwkv": ("import pyrwkv_tokenizer as p", "x = p.RWKVTokenizer()"),
            "native": (ours, f"x = Tokenizer.from_file({str(native)!r})"),
            "text": (ours, f"x = Tokenizer.from_file({str(path)!r})"),
        }
        seconds = {
            "same process": interleave(here, n, clock=clock),
            "fresh processes": {name: list[float]() for name in fresh},
        }
        for turn in range(n + 1):
            for name, lines in fresh.items():
                elapsed = float(run([sys.executable, "-c", timed.format(timer, *lines)]))
                if turn:
                    seconds["fresh processes"][name].append(elapsed)
    for where, times in seconds.items():
        for name, target in (("native", NATIVE_LOAD_TARGET), ("text", TEXT_LOAD_TARGET)):
            part = ratio(times[name], times["pyrwkv"])
            report.add(
                model=name, where=where, ms=statistics.median(times[name]) * 1e3,
                pyrwkv_ms=statistics.median(times["pyrwkv"]) * 1e3, ratio=round(part, 4), times_faster=1 / part,
                target=round(target, 4), verdict=verdict(part <= target),
            )  # fmt: skip
    report.show(as_json)


for _command in (
    bench_models.unigram, bench_models.bpe, bench_models.bytepiece, bench_sample.sample, bench_command.start,
    bench_command.tokenize, bench_command.rss, bench_stream.stream, bench_pipelines.pipelines, bench_reading.reading,
    bench_resume.checkpoints, bench_search.search, bench_suffix.suffix, bench_train.train, bench_density.density,
    bench_vocabularies.vocabularies,
):  # fmt: skip
    cli.add_command(_command)

if __name__ == "__main__":
    cli()
