"""unigram, bpe and bytepiece of bench.py: models with scores, beside the libraries whose files they are.

    a corpus, in documents of 8 KB    |  first half  | second half |
    cold                               memo emptied >  timed
    warm                 memo emptied >  encoded     >  timed         as in the middle of a corpus; what targets are for

Before a figure of a model and corpus is taken, ids are compared on every document that is timed.
"""

from __future__ import annotations

import functools
import re
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import bench_peers
import click
import numpy as np
from bench_peers import Absent, Peer
from bench_timing import (
    SAMPLE,
    Corpora,
    Report,
    clock_option,
    corpora_option,
    documents,
    fail,
    interleave,
    json_option,
    n_option,
    one_core,
    ratio,
    shared_option,
    verdict,
    warm_up,
)

from pyunitok import Packed, Tokenizer
from pyunitok._c import library
from pyunitok.errors import UnitokError

Targets = Mapping[str, float]  # by corpus

MIXED = "mixed"  # all corpora in turn
CORPORA = ("en_web", "en_prose", "code", "zh", "ja", "ru")
IDENTITY: Targets = {"en_web": 12, "en_prose": 12, "code": 12, "zh": 6, "ja": 6, "ru": 4}
NMT_NFKC: Targets = {"en_web": 8, "en_prose": 8, "code": 4, "zh": 4, "ja": 4, "ru": 4}
BPE: Targets = dict.fromkeys(CORPORA, 50)
GIGATOKEN: Targets = {"en_web": 4, "code": 6, "zh": 2}
BYTEPIECE: Targets = {"en_prose": 25, "en_web": 25, "zh": 35}


@dataclass(frozen=True)
class Model:
    """A file below data/models, or anywhere; and the peers to measure beside it, each with its targets."""

    path: str
    peers: Mapping[str, Targets]

    @property
    def name(self) -> str:
        return Path(self.path).name.removesuffix(".model")


UNIGRAM_MODELS = (
    Model("spm-trained/en_uni_4k_bf_identity.model", {"sentencepiece": IDENTITY}),
    Model("spm/llmjp_llm-jp-tokenizer-100k.ver3.1.model", {"sentencepiece": IDENTITY}),
    Model("spm/t5_base.model", {"sentencepiece": NMT_NFKC}),
    Model("spm/xlnet_base_cased.model", {"sentencepiece": NMT_NFKC}),
    Model("hf/llmjp_v2.1_50k.json", {"tokenizers": {}}),
)
BPE_MODELS = (
    Model("spm/llama2.model", {"sentencepiece": BPE, "gigatoken": GIGATOKEN}),
    Model("spm/mistral03.model", {"sentencepiece": BPE, "gigatoken": GIGATOKEN}),
    Model("hf/kitoken_llama2.json", {"tokenizers": {}, "gigatoken": GIGATOKEN}),
)
BYTEPIECE_MODELS = (
    Model("bytepiece/bytepiece_80k.model", {"bytepiece": BYTEPIECE}),
    Model("bytepiece/bytepiece.plus.40k.model", {"bytepiece": BYTEPIECE}),
)

# -------------------------------------------------------------------------------------------------- options ---


@dataclass(frozen=True)
class Settings:
    """The options that the commands share."""

    shared: Path | None
    corpora: str | None
    models: tuple[str, ...]
    n: int
    doc_bytes: int
    megabytes: float
    share: int
    same: bool
    clock: str
    as_json: bool
    sizes: str | None = None
    levels: bool = False

    @property
    def cpus(self) -> list[str | None]:
        """The instruction sets to measure; None: the best."""
        return [name for name in library.CPUS if library.cpu_supported(name)] if self.levels else [None]

    def of_sizes(self, texts: Corpora) -> Iterator[tuple[str, bytes, Settings]]:
        """What to measure: each corpus in each size that it has; in larger ones all corpora in turn, as one text."""
        sizes = [float(size) for size in self.sizes.split(",")] if self.sizes else [self.megabytes]
        for size in sizes:
            settings, n_found = replace(self, megabytes=size), 0
            for name in texts.names:
                text = texts.read(name)
                if len(text) >= 0.9e6 * size or not self.sizes:
                    n_found += 1
                    yield name, text, settings
            if not n_found:
                yield MIXED, Corpora.find(self.shared, None).round_robin()[: int(size * 1e6)], settings

    def texts(self, names: Sequence[str]) -> Corpora:
        """Those of `names` that are here, or those asked for; the sample where there are none."""
        found = Corpora.find(self.shared, self.corpora)
        if self.corpora:
            return found
        return replace(found, names=tuple(name for name in names if name in found.names) or (SAMPLE,))

    def report(self, title: str) -> Report:
        return Report(f"{title}, documents of {self.doc_bytes:,} bytes, one core", self.n, self.clock)


def model_options(command: Callable[[Settings], None], *more: Callable[[Any], Any]) -> Callable[..., None]:
    """The options of Settings, in the order in which --help shows them, and `more`."""

    @functools.wraps(command)
    def call(**given: Any) -> None:
        command(Settings(**given))

    options = (
        shared_option,
        corpora_option,
        click.option("--model", "models", multiple=True, metavar="NAME|FILE", help="Only these models; or a file."),
        n_option(5),
        click.option("--doc-bytes", type=click.IntRange(1), default=8192, show_default=True, help="Size of documents."),
        click.option("--megabytes", type=float, default=8.0, show_default=True, help="At most so much of a corpus."),
        click.option("--share", type=click.IntRange(1), default=8, show_default=True,
                     help="Slow peers are timed on 1 document in so many."),
        click.option("--same", is_flag=True, help="Warm up on the very documents that are timed, not on those before."),
        clock_option,
        json_option,
        *more,
    )  # fmt: skip
    wrapped: Callable[..., None] = call
    for option in reversed(options):
        wrapped = option(wrapped)
    return wrapped


def encode_options(command: Callable[[Settings], None]) -> Callable[..., None]:
    return model_options(
        command,
        click.option("--sizes", metavar="MB,...", help="These sizes instead of --megabytes, such as 1,8,64; where no "
                     "corpus is that large, all of them in turn."),
        click.option("--levels", is_flag=True, help="Every instruction set that this processor has."),
    )  # fmt: skip


def chosen(models: Iterable[Model], settings: Settings) -> list[Model]:
    """Those that are asked for, each with the path of its file."""
    folder = Corpora.find(settings.shared, None).folder.parent / "models"
    known = {model.name: replace(model, path=str(folder / model.path)) for model in models}
    found: list[Model] = []
    for name in settings.models or known:
        if name not in known and not Path(name).exists():
            raise click.ClickException(f"no model {name}; there are {', '.join(known)}, or give a file")
        found.append(known.get(name) or Model(name, {peer_of(Path(name)): {}}))
    return found


def peer_of(path: Path) -> str:
    """Whose a model file is: BytePiece's begins with an object of lists, tokenizers' is another JSON."""
    with path.open("rb") as file:
        head = file.read(100)
    if not head.startswith(b"{"):
        return "sentencepiece"
    return "bytepiece" if re.match(rb'\{\s*"[^"]*"\s*:\s*\[', head) else "tokenizers"


def opened(model: Model, report: Report, cpu: str | None = None) -> tuple[Tokenizer, list[Peer]] | None:
    """Ours and its peers; None, with a note, where the file is absent, no model of ours, or has no peer here."""
    if not Path(model.path).exists():
        report.notes.append(f"left out: {model.path} is not here")
        return None
    try:
        tokenizer = Tokenizer.from_file(model.path, cpu=cpu)
    except UnitokError as error:
        report.notes.append(f"left out: {error}")
        return None
    peers: list[Peer] = []
    for name in model.peers:
        try:
            peers.append(bench_peers.OPEN[name](Path(model.path)))
        except Absent as absent:
            report.notes.append(f"{model.name} beside {name}: left out, {absent}")
    return (tokenizer, peers) if peers else None


# -------------------------------------------------------------------------------------------- verification ---


def check_ids(where: str, first: int, step: int, ours: Iterable[Any], theirs: Iterable[Any], peer: str) -> None:
    """Fails where ids differ, naming the document (the first is number `first`, the next `step` later) and the id."""
    for k, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        a, b = np.asarray(mine, np.int64), np.asarray(other, np.int64)
        if np.array_equal(a, b):
            continue
        n = min(len(a), len(b))
        at = int(np.argmax(np.append(a[:n] != b[:n], True)))
        here, there = (str(ids[at]) if at < len(ids) else "the end" for ids in (a, b))
        raise fail(f"{where}, document {first + k * step}, position {at}: {here} here, {there} of {peer}")


# ------------------------------------------------------------------------------------------------- encoding ---


@dataclass(frozen=True)
class Work:
    """One model on one corpus: what is encoded before (warm), and what is timed, from document `first` on."""

    model: Model
    corpus: str
    tokenizer: Tokenizer
    before: list[bytes]
    timed: list[bytes]
    first: int
    share: int

    @classmethod
    def of(cls, model: Model, tokenizer: Tokenizer, corpus: str, text: bytes, settings: Settings) -> Work:
        n_docs = max(2, int(settings.megabytes * 1e6) // settings.doc_bytes)
        docs = documents(text, settings.doc_bytes)[:n_docs]
        half = len(docs) // 2
        timed = docs[half:]
        return cls(model, corpus, tokenizer, timed if settings.same else docs[:half], timed, half, settings.share)

    @property
    def where(self) -> str:
        return f"{self.model.name} on {self.corpus}"

    def for_peer(self, peer: Peer) -> list[str]:
        return [doc.decode() for doc in self.timed[:: self.share if peer.is_slow else 1]]

    def check(self, peer: Peer, ours: Iterable[Packed]) -> None:
        """Fails unless every list of ids of the timed documents, and every call of the peer, is the same."""
        texts = [doc.decode() for doc in self.timed]
        first, *others = peer.calls.values()
        expected = first(texts)
        for packed in ours:
            check_ids(self.where, self.first, 1, packed, expected, peer.name)
        step = self.share if peer.is_slow else 1
        for call in others:
            there = f"{peer.name}'s other call"
            check_ids(self.where, self.first, step, expected[::step], call(texts[::step]), there)


def n_bytes_of(texts: Iterable[str | bytes]) -> int:
    return sum(len(text.encode() if isinstance(text, str) else text) for text in texts)


def measure(work: Work, peers: list[Peer], report: Report, settings: Settings) -> None:
    """A row for each peer."""
    ours = partial(work.tokenizer.encode_batch, work.timed, threads=1)
    before: dict[str, Callable[[], object]] = {
        "cold": partial(warm_up, work.tokenizer, []), "warm": partial(warm_up, work.tokenizer, work.before)
    }  # fmt: skip
    results = []
    for prepare in before.values():
        prepare()
        results.append(ours())
    functions: dict[str, Callable[[], object]] = {"cold": ours, "warm": ours}
    first_half = [doc.decode() for doc in work.before]
    for peer in peers:
        work.check(peer, results)
        for name, call in peer.calls.items():
            functions[f"{peer.name} {name}"] = partial(call, work.for_peer(peer))
            if peer.renew:
                before[f"{peer.name} {name}"] = partial(_renewed, peer.renew, call, first_half)
    del results
    seconds = interleave(functions, settings.n, before=before, clock=settings.clock)
    n_bytes = n_bytes_of(work.timed)
    for peer in peers:
        call_name = min(peer.calls, key=lambda name: statistics.median(seconds[f"{peer.name} {name}"]))
        theirs = per_byte(seconds[f"{peer.name} {call_name}"], n_bytes_of(work.for_peer(peer)))
        cold, warm = (per_byte(seconds[name], n_bytes) for name in ("cold", "warm"))
        times, target = ratio(theirs, warm), work.model.peers[peer.name].get(work.corpus)
        report.add(
            model=work.model.name, corpus=work.corpus, cpu=work.tokenizer.cpu, MB=settings.megabytes,
            cold_MBps=speed(cold), warm_MBps=speed(warm), peer=peer.name, call=call_name,
            peer_MBps=speed(theirs), x_cold=ratio(theirs, cold), x_warm=times,
            x_of_minima=min(theirs) / min(warm), target=target, verdict=met(times, target),
        )  # fmt: skip


def _renewed(renew: Callable[[], None], call: Callable[[Sequence[str]], Any], texts: Sequence[str]) -> None:
    renew()
    call(texts)


def per_byte(seconds: Iterable[float], n_bytes: int) -> list[float]:
    return [second / n_bytes for second in seconds]


def speed(seconds_per_byte: Iterable[float]) -> float:
    """MB/s of the median."""
    return 1e-6 / statistics.median(seconds_per_byte)


def met(value: float, target: float | None) -> str | None:
    return None if target is None else verdict(value >= target)


def _encode(title: str, models: Iterable[Model], names: Sequence[str], settings: Settings) -> None:
    report, n_documents, measured = settings.report(f"{title}: encode_batch(threads=1)"), 0, 0
    texts = settings.texts(names)
    for model in chosen(models, settings):
        for cpu in settings.cpus:
            both = opened(model, report, cpu)
            if both is None:
                break
            tokenizer, peers = both
            with one_core():
                for corpus, text, sized in settings.of_sizes(texts):
                    work = Work.of(model, tokenizer, corpus, text, sized)
                    measure(work, peers, report, sized)
                    n_documents += len(work.timed)
        else:
            measured += 1
    report.notes.insert(0, f"ids: {n_documents:,} documents of {measured} models, 0 different from the peers'")
    met_before = "these very documents" if settings.same else "the first half of a corpus"
    report.notes.append(f"`warm`: the memo has met {met_before}, as has that of a peer; `cold`: nothing")
    show(report, settings)


def show(report: Report, settings: Settings) -> None:
    """With what the commands have to say alike."""
    peers = ", ".join(f"{name} {_version(name)}" for name in bench_peers.PACKAGES)
    halves = f"timed on the second half of a corpus, slow peers on 1 in {settings.share} documents of it"
    report.notes += [f"peers: {peers}", halves]
    report.show(settings.as_json)


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


@click.command()
@encode_options
def unigram(settings: Settings) -> None:
    """Unigram models beside sentencepiece, and those in a tokenizer.json beside tokenizers."""
    _encode("unigram", UNIGRAM_MODELS, CORPORA, settings)


@click.command()
@encode_options
def bpe(settings: Settings) -> None:
    """BPE of the Llama 2 type beside sentencepiece and gigatoken, in a tokenizer.json beside tokenizers."""
    _encode("bpe", BPE_MODELS, CORPORA, settings)


@click.command()
@encode_options
def bytepiece(settings: Settings) -> None:
    """BytePiece models beside bytepiece."""
    _encode("bytepiece", BYTEPIECE_MODELS, ("en_prose", "en_web", "zh", "code"), settings)
