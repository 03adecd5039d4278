"""bench.py encode and vocabularies: compares models with the libraries that they were made for, or with each other.

    a corpus in documents             |  first half  | second half |
    cold                               memo emptied >  timed
    warm                 memo emptied >  encoded     >  timed         as in the middle of a corpus; targets apply here

The ids of every timed document are compared before a model is timed on a corpus.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import bench_texts
import click
import numpy as np
import zstandard
from bench_peers import PEERS, Encoder, available
from bench_timing import Bench, Report, at_least, benchmark, fail, pin_to_one_core, ratio, speed, version

from pyunitok import Packed, Tokenizer, vocab
from pyunitok._c import library
from pyunitok.errors import UnitokError

Targets = Mapping[str, float]  # by corpus

CORPORA = ("en_web", "en_prose", "code", "zh", "ja", "ru", "de")
WORLD: Targets = {"en_web": 10, "code": 10, "en_prose": 9, "zh": 7, "ko": 7, "ja": 6, "ru": 4}
IDENTITY: Targets = {"en_web": 12, "en_prose": 12, "code": 12, "zh": 6, "ja": 6, "ru": 4}
NMT_NFKC: Targets = {"en_web": 8, "en_prose": 8, "code": 4, "zh": 4, "ja": 4, "ru": 4}
BPE: Targets = dict.fromkeys(CORPORA, 50)
GIGATOKEN: Targets = {"en_web": 4, "code": 6, "zh": 2}
BYTEPIECE: Targets = {"en_prose": 25, "en_web": 25, "zh": 35}


@dataclass(frozen=True)
class Model:
    """A file (relative to data/models) or a built-in name, and the peers to compare it with and their targets."""

    kind: str
    path: str
    peers: Mapping[str, Targets]

    @property
    def name(self) -> str:
        return Path(self.path).name.removesuffix(".model")


MODELS = (
    Model("longest", "rwkv-world", {"pyrwkv-tokenizer": WORLD}),
    Model("unigram", "spm-trained/en_uni_4k_bf_identity.model", {"sentencepiece": IDENTITY}),
    Model("unigram", "spm/llmjp_llm-jp-tokenizer-100k.ver3.1.model", {"sentencepiece": IDENTITY}),
    Model("unigram", "spm/t5_base.model", {"sentencepiece": NMT_NFKC}),
    Model("unigram", "spm/xlnet_base_cased.model", {"sentencepiece": NMT_NFKC}),
    Model("unigram", "hf/llmjp_v2.1_50k.json", {"tokenizers": {}}),
    Model("bpe", "spm/llama2.model", {"sentencepiece": BPE, "gigatoken": GIGATOKEN}),
    Model("bpe", "spm/mistral03.model", {"sentencepiece": BPE, "gigatoken": GIGATOKEN}),
    Model("bpe", "hf/kitoken_llama2.json", {"tokenizers": {}, "gigatoken": GIGATOKEN}),
    Model("bytepiece", "bytepiece/bytepiece_80k.model", {"bytepiece": BYTEPIECE}),
    Model("bytepiece", "bytepiece/bytepiece.plus.40k.model", {"bytepiece": BYTEPIECE}),
)

PEER_OF = {  # by format
    "SentencePiece": "sentencepiece", "tokenizer.json": "tokenizers", "BytePiece": "bytepiece", "tiktoken": "tiktoken",
}  # fmt: skip

models_option = click.option(
    "--model", "models", multiple=True, metavar="KIND|NAME|FILE",
    help="longest, unigram, bpe, bytepiece; a model in data/models; or a file.",
)  # fmt: skip
docs_options = (
    click.option("--doc-bytes", type=click.IntRange(1), default=8192, show_default=True, help="Size of documents."),
    click.option("--megabytes", type=float, metavar="MB", help="Use only the first MB megabytes of each corpus."),
    click.option("--share", type=click.IntRange(1), default=8, show_default=True,
                 help="Time slow peers on one document in SHARE."),
)  # fmt: skip


def chosen(bench: Bench, models: Iterable[str], table: Sequence[Model] = MODELS) -> Iterator[Model]:
    """The rows of the table with these kinds or names, and rows for files, all with complete paths."""
    placed = [replace(row, path=str(bench.models / row.path)) if "/" in row.path else row for row in table]
    for name in models or dict.fromkeys(row.kind for row in table):
        rows = [row for row in placed if name in (row.kind, row.name)]
        if not rows and not Path(name).exists():
            known = ", ".join(row.name for row in placed)
            raise click.ClickException(f"no model {name}; give a file, or one of {known}")
        yield from rows or [Model("file", name, {peer_of(Path(name)): {}})]


def peer_of(path: Path) -> str:
    data = path.read_bytes()
    return next(PEER_OF[reader.name] for reader in vocab.READERS if reader.recognises(data))


def opened(bench: Bench, models: Iterable[str], report: Report, table: Sequence[Model] = MODELS,
           cpus: Sequence[str | None] = (None,)) -> Iterator[tuple[Model, Tokenizer, dict[str, Encoder]]]:  # fmt: skip
    """The chosen models with our tokenizer and the peers. A missing file or peer is left out with a note."""
    for model in chosen(bench, models, table):
        for cpu in cpus:
            try:
                tokenizer = Tokenizer.from_file(model.path, cpu=cpu)
            except (UnitokError, OSError) as error:
                report.notes.append(f"left out: {error}")
                break
            if peers := dict(available(report.notes, list(model.peers), Path(model.path))):
                yield model, tokenizer, peers


def warm_up(tokenizer: Tokenizer, docs: Sequence[bytes | str]) -> None:
    """Empty the memo and fill it from the documents, as in the middle of a corpus."""
    tokenizer.codec.scratches.clear()
    if docs:
        tokenizer.encode_batch(docs, threads=1)


def check_ids(where: str, first: int, step: int, ours: Iterable[Any], theirs: Iterable[Any], peer: str) -> None:
    """Fail if ids differ, and name the document (numbered first, first + step, …) and the position."""
    for k, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        a, b = np.asarray(mine, np.int64), np.asarray(other, np.int64)
        if np.array_equal(a, b):
            continue
        n = min(len(a), len(b))
        at = int(np.argmax(np.append(a[:n] != b[:n], True)))
        here, there = (str(ids[at]) if at < len(ids) else "the end" for ids in (a, b))
        raise fail(f"{where}, document {first + k * step}, position {at}: {here}, but {there} from {peer}")


@dataclass(frozen=True)
class Work:
    """One model on one corpus: the documents that warm it up, and the timed ones, which begin with number `first`."""

    model: Model
    corpus: str
    tokenizer: Tokenizer
    before: list[bytes]
    timed: list[bytes]
    first: int
    share: int

    @property
    def where(self) -> str:
        return f"{self.model.name} on {self.corpus}"

    def step(self, peer: Encoder) -> int:
        return self.share if peer.is_slow else 1

    def check(self, name: str, peer: Encoder, ours: Iterable[Packed]) -> None:
        """Fail unless every result of ours equals the peer's results, whichever way the peer is called."""
        texts, step = decoded(self.timed), self.step(peer)
        first, *others = peer.calls.values()
        expected = first(texts)
        for packed in ours:
            check_ids(self.where, self.first, 1, packed, expected, name)
        for call in others:
            check_ids(self.where, self.first, step, expected[::step], call(texts[::step]), f"{name}'s other call")


def works(bench: Bench, model: Model, tokenizer: Tokenizer, corpora: Iterable[str], *, doc_bytes: int,
          megabytes: float | None, share: int, cold: bool = False, again: int = 0) -> Iterator[Work]:  # fmt: skip
    for corpus in bench_texts.names(bench, corpora):
        docs = bench_texts.documents(bench_texts.read(bench, corpus), doc_bytes)
        docs = docs[: max(2, int(megabytes * 1e6) // doc_bytes)] if megabytes else docs
        half = 0 if cold else len(docs) // 2
        before, timed = (docs[half:], docs[half:] * again) if again else (docs[:half], docs[half:])
        yield Work(model, corpus, tokenizer, before, timed, half, share)


def decoded(docs: Iterable[bytes]) -> list[str]:
    return [doc.decode() for doc in docs]


def per_byte(seconds: Iterable[float], docs: Iterable[bytes]) -> list[float]:
    n_bytes = sum(map(len, docs))
    return [second / n_bytes for second in seconds]


def measure(bench: Bench, work: Work, peers: Mapping[str, Encoder], report: Report) -> None:
    """Add a row for each peer."""
    tokenizer, text = work.tokenizer, b"".join(work.timed)
    ours = partial(tokenizer.encode_batch, work.timed, threads=1)
    texts, before_texts = decoded(work.timed), decoded(work.before)
    compressed = zstandard.ZstdCompressor(3).compress(text)
    functions: dict[str, Callable[[], object]] = {
        "cold": ours, "warm": ours, "str": partial(tokenizer.encode_batch, texts, threads=1),
        "zstd": partial(zstandard.ZstdDecompressor().decompress, compressed),
    }  # fmt: skip
    before: dict[str, Callable[[], object]] = {
        "cold": partial(warm_up, tokenizer, []), "warm": partial(warm_up, tokenizer, work.before),
        "str": partial(warm_up, tokenizer, before_texts),
    }  # fmt: skip
    if functions["zstd"]() != text:
        raise fail(f"{work.corpus}: zstd returns a different text")
    results: list[Any] = []
    for name, prepare in before.items():
        prepare()
        results.append(functions[name]())
    for name, peer in peers.items():
        work.check(name, peer, results)
        for call_name, call in peer.calls.items():
            functions[f"{name} {call_name}"] = partial(call, texts[:: work.step(peer)])
            if peer.renew:
                before[f"{name} {call_name}"] = partial(_renewed, peer.renew, call, before_texts)
    bytes_per_token = len(text) / len(results[0].data)
    del results
    seconds = bench.interleave(functions, before)
    cold, warm, as_str, zstd = (per_byte(seconds[name], work.timed) for name in ("cold", "warm", "str", "zstd"))
    for name, peer in peers.items():
        call_name = min(peer.calls, key=lambda call: statistics.median(seconds[f"{name} {call}"]))
        theirs = per_byte(seconds[f"{name} {call_name}"], work.timed[:: work.step(peer)])
        times, target = ratio(theirs, warm), work.model.peers[name].get(work.corpus)
        report.add(
            model=work.model.name, corpus=work.corpus, cpu=tokenizer.cpu, MB=len(text) / 1e6,
            bytes_per_token=bytes_per_token, cold_MBps=speed(1, cold), warm_MBps=speed(1, warm),
            str_MBps=speed(1, as_str), peer=name, call=call_name, peer_MBps=speed(1, theirs),
            x_cold=ratio(theirs, cold), x_warm=times, x_str=ratio(theirs, as_str), **at_least(times, target),
            of_zstd=ratio(zstd, warm),
        )  # fmt: skip


def _renewed(renew: Callable[[], object], call: Callable[[list[str]], Any], texts: list[str]) -> None:
    renew()
    call(texts)


def add_notes(report: Report, share: int) -> None:
    report.notes.append("peers: " + ", ".join(f"{name} {version(name)}" for name in PEERS))
    report.notes.append(f"slow peers are timed on 1 in {share} documents")


@benchmark(
    5, models_option, *docs_options,
    click.option("--levels", is_flag=True, help="Measure every instruction set that this processor supports."),
    click.option("--cold", is_flag=True, help="Time the complete corpus, starting with an empty memo."),
    click.option("--again", type=int, default=0, help="In one call, encode AGAIN copies of text seen before."),
)  # fmt: skip
def encode(bench: Bench, models: tuple[str, ...], levels: bool, cold: bool, again: int, **docs: Any) -> Report:
    """Compare encoding on one core with the models' own libraries and with zstd decompression.

    The second half of each corpus is timed: cold with an empty memo, and warm after encoding the first half. Peers that
    have a cache also encode the first half.
    """
    report, n_documents = bench.report(f"encode: documents of {docs['doc_bytes']:,} bytes, one core"), 0
    cpus = [name for name in library.CPUS if library.cpu_supported(name)] if levels else [None]
    pin_to_one_core()
    for model, tokenizer, peers in opened(bench, models, report, cpus=cpus):
        corpora = bench_texts.names(bench) if model.kind == "longest" else CORPORA
        for work in works(bench, model, tokenizer, corpora, cold=cold, again=again, **docs):
            measure(bench, work, peers, report)
            n_documents += len(work.timed)
    n_models = len({row["model"] for row in report.rows})
    report.notes.insert(0, f"ids: {n_documents:,} documents of {n_models} models, 0 different from the peers'")
    if n_models:
        seen = f"{again} copies of {'a complete' if cold else 'half a'} corpus, seen before" if again else \
            "from an empty memo" if cold else "the second half of a corpus; warm: after the first half"  # fmt: skip
        report.notes.insert(1, f"timed: {seen}")
    add_notes(report, docs["share"])
    return report


# --------------------------------------------------------------------------------------------- vocabularies ---

DEFAULTS = ("unitok-v1", "rwkv-world")
MEAN, WORST = 0.95, 0.7  # targets for the ratio to the speed of RWKV World: for the geometric mean and for each corpus


@benchmark(
    5,
    click.option("-m", "--model", "names", metavar="MODEL", multiple=True,
                 help="Compare this model instead of unitok-v1; a second one replaces rwkv-world."),
)  # fmt: skip
def vocabularies(bench: Bench, names: tuple[str, ...]) -> Report:
    """Compare the speed and density of two greedy vocabularies on one core, in documents of 16 KB.

    The second half of each corpus is timed, after the first half. The last row contains the geometric means of speeds
    and ratios, and the harmonic means of bytes per token.
    """
    if len(names) > 2:
        raise click.UsageError("give at most two models")
    worst, mean = (WORST, MEAN) if len(names) < 2 else (None, None)
    names += DEFAULTS[len(names) :]
    models = [Tokenizer.from_file(name) for name in names]
    report = bench.report(f"vocabularies: {models[0].name} compared with {models[1].name}, one core")

    pin_to_one_core()
    for name in bench_texts.names(bench):
        docs = bench_texts.documents(bench_texts.read(bench, name))
        half = len(docs) // 2
        n_bytes, rates = sum(map(len, docs[half:])), []
        for model in models:
            packed = model.encode_batch(docs, threads=1)
            if model.decode_bytes(packed.data) != b"".join(docs):
                raise fail(f"{name}: the tokens of {model.name} do not decode to the text")
            rates.append(n_bytes / len(packed.data[packed.offsets[half] :]))
        functions = {k: partial(models[int(k)].encode_batch, docs[half:], threads=1) for k in "01"}
        seconds = bench.interleave(functions, {k: partial(warm_up, models[int(k)], docs[:half]) for k in "01"})
        speeds = [speed(n_bytes, seconds[k]) for k in "01"]
        add(report, name, speeds, ratio(seconds["1"], seconds["0"]), rates, worst)
    if len(report.rows) > 1:
        summarize(report, mean)
    return report


def add(report: Report, name: str, speeds: Sequence[float], part: float, rates: Sequence[float],
        target: float | None) -> None:  # fmt: skip
    """Add a row with the MB/s and bytes per token of both models, and the ratios of the first to the second."""
    report.add(
        corpus=name, MBps=speeds[0], other_MBps=speeds[1], ratio=part, **at_least(part, target),
        bytes_per_token=rates[0], other=rates[1], denser=rates[0] / rates[1],
    )  # fmt: skip


def summarize(report: Report, target: float | None) -> None:
    """Add a row with the means, and a note with the slowest and the least dense corpus."""
    rows = list(report.rows)

    *speeds, part = (statistics.geometric_mean(map(itemgetter(name), rows)) for name in ("MB/s", "other MB/s", "ratio"))
    rates = [statistics.harmonic_mean([*map(itemgetter(name), rows)]) for name in ("bytes per token", "other")]
    add(report, f"mean of {len(rows)}", speeds, part, rates, target)
    slow, sparse = (min(rows, key=itemgetter(name)) for name in ("ratio", "denser"))
    report.notes.append(
        f"slowest relative to the other: {slow['corpus']}, {slow['ratio']:.2f}; "
        f"least dense: {sparse['corpus']}, {sparse['denser']:.3f}"
    )
