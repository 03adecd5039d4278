"""sample of bench.py: random encodings, beside the peers' and beside our own Viterbi without a memo.

Samples have no peer to be equal to. What is verified: each is a way to cut the normalized text into pieces, the
peer's too; a batch draws what Tokenizer.sample draws; encode and the Viterbi that is timed give the peer's ids.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import click
import numpy as np
from bench_models import (
    BPE_MODELS,
    BYTEPIECE_MODELS,
    CORPORA,
    UNIGRAM_MODELS,
    Model,
    Settings,
    Work,
    check_ids,
    chosen,
    met,
    model_options,
    n_bytes_of,
    opened,
    per_byte,
    show,
    speed,
)
from bench_peers import Peer
from bench_timing import SAMPLE, Report, fail, interleave, one_core, ratio

from pyunitok import Packed, Tokenizer
from pyunitok._c import library
from pyunitok.model import sampling

SENTENCEPIECE_TARGET, BYTEPIECE_TARGET, VITERBI_TARGET = 15, 20, 0.8
SEED = 1


@dataclass(frozen=True)
class Plan:
    """What a model is sampled with: the corpora, the alphas, and the least times as fast as its peer."""

    model: Model
    corpora: Sequence[str]
    alphas: Sequence[float]
    target: float | None


LLMJP, T5 = UNIGRAM_MODELS[1], UNIGRAM_MODELS[2]
PLANS = (
    Plan(T5, ("en_web", "en_prose", "code"), (0.1, 1.0), SENTENCEPIECE_TARGET),
    Plan(LLMJP, ("en_web", "code", "zh", "ja", "ru"), (0.1, 1.0), SENTENCEPIECE_TARGET),
    Plan(BYTEPIECE_MODELS[0], ("en_prose", "en_web", "zh", "code"), (0.1, 1.0), BYTEPIECE_TARGET),
    Plan(BPE_MODELS[0], ("en_web", "code", "zh"), (0.1,), None),
)

# -------------------------------------------------------------------------------------------- verification ---


def surfaces(tokenizer: Tokenizer) -> list[bytes | None]:
    """By id, the bytes of normalized text that it stands for; None for the unknown, which is any."""
    ret: list[bytes | None] = []
    for id_ in range(tokenizer.vocab_size):
        piece = tokenizer.codec.model.piece(id_)
        ret.append(bytes.fromhex(piece[3:5].decode()) if piece and tokenizer.codec.model.is_byte(id_) else piece)
    if tokenizer.unk_id is not None:
        ret[tokenizer.unk_id] = None
    return ret


def is_cut_of(text: bytes, ids: Iterable[int], by_id: Sequence[bytes | None]) -> bool:
    """Whether these pieces, one after the other, are the text; an unknown is one byte or more."""
    runs: list[list[bytes]] = [[]]  # of known pieces; between two lies an unknown
    for id_ in ids:
        surface = by_id[id_]
        if surface is None:
            runs.append([])
        else:
            runs[-1].append(surface)
    first, *others = (b"".join(run) for run in runs)
    if not others:
        return text == first
    end = len(first)
    for run in others[:-1]:
        at = text.find(run, end + 1)
        if at < 0:
            return False
        end = at + len(run)
    return text.startswith(first) and text.endswith(others[-1]) and len(text) - len(others[-1]) > end


def _check_cuts(work: Work, docs: Iterable[bytes], ids: Iterable[Any], step: int, who: str) -> None:
    by_id = surfaces(work.tokenizer)
    for k, (doc, sample) in enumerate(zip(docs, ids, strict=True)):
        if not is_cut_of(work.tokenizer.normalize(doc).encode(), np.asarray(sample).tolist(), by_id):
            number = work.first + k * step
            raise fail(f"{work.where}, document {number}: a sample of {who} is no cut of the text, from position 0 on")


# ------------------------------------------------------------------------------------------------- measuring ---


class Batch:
    """The timed documents as the scratch of an encoder takes them, with room for the ids."""

    def __init__(self, work: Work) -> None:
        self._docs, self._packed = work.timed, Packed.from_documents(work.timed)
        n_docs = len(work.timed)
        self._ids = np.empty(2 * len(self._packed.data) + 64 * n_docs + library.ENCODE_SLACK, work.tokenizer.dtype)
        self._offsets = np.empty(n_docs + 1, np.int64)
        self._scratch = work.tokenizer.codec.new_scratch()

    def run(self, **how: Any) -> None:
        self._scratch.encode_batch(self._packed.data, self._packed.offsets, self._ids, self._offsets, **how)

    def viterbi(self) -> list[Any]:
        """The ids of each document by its best path, without cuts and memo."""
        return [self._scratch.encode_spans(doc)[:, 0] for doc in self._docs]

    def ids(self) -> Iterator[Any]:
        """Of each document, as the last run left them."""
        return (self._ids[begin:end] for begin, end in itertools.pairwise(self._offsets.tolist()))


def measure(work: Work, peer: Peer, alpha: float, target: float | None, report: Report, settings: Settings) -> None:
    """One row; fails before it times where something is not as it should be."""
    tokenizer, batch = work.tokenizer, Batch(work)
    how = sampling.how(tokenizer.codec, alpha, SEED)

    def samples() -> list[Any]:
        return [tokenizer.sample(doc, alpha=alpha, seed=SEED, document=k) for k, doc in enumerate(work.timed)]

    sample, texts = peer.sample, work.for_peer(peer)
    if sample is None:
        raise fail(f"{peer.name} does not sample")
    check_ids(work.where, work.first, 1, batch.viterbi(), tokenizer.encode_batch(work.timed, threads=1), "encode")
    batch.run(sampling=how)
    ours, theirs = samples(), list(sample(texts, alpha))
    check_ids(f"{work.where}, alpha {alpha}", work.first, 1, batch.ids(), ours, "Tokenizer.sample")
    _check_cuts(work, work.timed, ours, 1, "ours")
    _check_cuts(work, work.timed[:: work.share], theirs, work.share, peer.name)
    n_ours, n_theirs = (sum(map(len, rows)) for rows in (ours[:: work.share], theirs))
    del ours, theirs
    functions: dict[str, Callable[[], object]] = {
        "ours": samples, "peer": partial(sample, texts, alpha),
        "batch": partial(batch.run, sampling=how), "viterbi": batch.viterbi,
    }  # fmt: skip
    seconds = interleave(functions, settings.n, clock=settings.clock)
    n_bytes = n_bytes_of(work.timed)
    per = {name: per_byte(taken, n_bytes_of(texts) if name == "peer" else n_bytes) for name, taken in seconds.items()}
    times, of_viterbi = ratio(per["peer"], per["ours"]), ratio(per["viterbi"], per["batch"])
    methods = tokenizer.codec.model.kind.sampling
    viterbi_target = VITERBI_TARGET if "viterbi" in methods else None
    report.add(
        model=work.model.name, corpus=work.corpus, method=methods[0],
        alpha=alpha, sample_MBps=speed(per["ours"]), peer=peer.name, peer_MBps=speed(per["peer"]), x=times,
        x_of_minima=min(per["peer"]) / min(per["ours"]), target=target, verdict=met(times, target),
        ids_of_peers=n_ours / n_theirs, batch_MBps=speed(per["batch"]), x_batch=ratio(per["peer"], per["batch"]),
        viterbi_MBps=speed(per["viterbi"]), of_viterbi=of_viterbi, viterbi_target=viterbi_target,
        viterbi_verdict=met(of_viterbi, viterbi_target),
    )  # fmt: skip


@click.command()
@model_options
def sample(settings: Settings) -> None:
    """Samples over all paths and BPE-dropout, beside sentencepiece and bytepiece, and beside our Viterbi without memo.

    `sample` is a loop of Tokenizer.sample; `batch` draws the same in one call; `viterbi` encodes one document a call,
    without cuts and memo. `ids of peers` compares how many ids the samples have: the same distribution gives 1.
    """
    report = settings.report("sample: Tokenizer.sample")
    plans = {plan.model.name: plan for plan in PLANS}
    n_documents = 0
    for model in chosen([plan.model for plan in PLANS], settings):
        both = opened(model, report)
        if both is None:
            continue
        tokenizer, peers = both
        plan = plans.get(model.name) or Plan(model, CORPORA, (0.1,), None)
        texts = settings.texts(plan.corpora)
        with one_core():
            for corpus in texts.names:
                work = Work.of(model, tokenizer, corpus, texts.read(corpus), settings)
                work.check(peers[0], [tokenizer.encode_batch(work.timed, threads=1)])
                for alpha in plan.alphas:
                    target = None if corpus == SAMPLE else plan.target
                    measure(work, peers[0], alpha, target, report, settings)
                n_documents += len(work.timed)
    report.notes.insert(0, f"ids of encode: {n_documents:,} documents, 0 different from the peers'; samples are cuts")
    show(report, settings)
