"""bench.py sample: times random encodings and compares them with the peers.

Random ids cannot be compared with a peer's. Instead, two properties are verified: the pieces of every sample, ours or
the peer's, join to the normalized text; and encode() gives the peer's ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from bench_encode import Model, Work, add_notes, decoded, docs_options, models_option, opened, per_byte, works
from bench_peers import Encoder
from bench_texts import SAMPLE
from bench_timing import Bench, Report, at_least, benchmark, fail, pin_to_one_core, ratio, speed

from pyunitok import Tokenizer

SEED = 1
UNKNOWN = b"<\xff>"  # not valid UTF-8, so no text contains it
MODELS = (
    Model("t5", "spm/t5_base.model", {"sentencepiece": dict.fromkeys(("en_web", "en_prose", "code"), 15)}),
    Model("llmjp", "spm/llmjp_llm-jp-tokenizer-100k.ver3.1.model",
          {"sentencepiece": dict.fromkeys(("en_web", "code", "zh", "ja", "ru"), 15)}),
    Model("bytepiece", "bytepiece/bytepiece_80k.model",
          {"bytepiece": dict.fromkeys(("en_prose", "en_web", "zh", "code"), 20)}),
    Model("bpe", "spm/llama2.model", {"sentencepiece": dict.fromkeys(("en_web", "code", "zh"), 0)}),
)  # fmt: skip


def surfaces(tokenizer: Tokenizer) -> list[bytes]:
    """The bytes of normalized text that each id stands for; UNKNOWN for the unknown id, which stands for any bytes."""
    model, ret = tokenizer.codec.model, list[bytes]()
    for id_ in range(tokenizer.vocab_size):
        piece = model.piece(id_) or b""
        ret.append(bytes.fromhex(piece[3:5].decode()) if model.is_byte(id_) else piece)
    if tokenizer.unk_id is not None:
        ret[tokenizer.unk_id] = UNKNOWN
    return ret


def is_cut_of(text: bytes, ids: Iterable[int], by_id: Sequence[bytes]) -> bool:
    """Whether the pieces join to the text; an unknown id stands for one or more bytes."""
    first, *others = b"".join(by_id[id_] for id_ in ids).split(UNKNOWN)
    if not others:
        return text == first
    end = len(first)
    for known in others[:-1]:
        at = text.find(known, end + 1)
        if at < 0:
            return False
        end = at + len(known)
    return text.startswith(first) and text.endswith(others[-1]) and len(text) - len(others[-1]) > end


def _check_cuts(work: Work, docs: Iterable[bytes], ids: Iterable[Any], step: int, who: str) -> None:
    by_id = surfaces(work.tokenizer)
    for k, (doc, sample) in enumerate(zip(docs, ids, strict=True)):
        if not is_cut_of(work.tokenizer.normalize(doc).encode(), np.asarray(sample).tolist(), by_id):
            raise fail(f"{work.where}, document {work.first + k * step}: a sample of {who} does not join to the text")


def measure(bench: Bench, work: Work, name: str, peer: Encoder, alpha: float, report: Report) -> None:
    tokenizer, docs = work.tokenizer, work.timed[:: work.share]
    texts = decoded(docs)

    def samples() -> list[Any]:
        return [tokenizer.sample(doc, alpha=alpha, seed=SEED, document=k) for k, doc in enumerate(work.timed)]

    if peer.sample is None:
        raise fail(f"{name} does not sample")
    ours, theirs = samples(), list(peer.sample(texts, alpha))
    _check_cuts(work, work.timed, ours, 1, "ours")
    _check_cuts(work, docs, theirs, work.share, name)
    n_ours, n_theirs = (sum(map(len, rows)) for rows in (ours[:: work.share], theirs))
    del ours, theirs
    seconds = bench.interleave({"ours": samples, "peer": partial(peer.sample, texts, alpha)})
    ours_per, theirs_per = per_byte(seconds["ours"], work.timed), per_byte(seconds["peer"], docs)
    times, target = ratio(theirs_per, ours_per), work.model.peers[name].get(work.corpus) or None
    report.add(
        model=work.model.name, corpus=work.corpus, method=tokenizer.codec.model.kind.sampling[0], alpha=alpha,
        sample_MBps=speed(1, ours_per), peer=name, peer_MBps=speed(1, theirs_per), x=times, **at_least(times, target),
        ids_of_peers=n_ours / n_theirs,
    )  # fmt: skip


@benchmark(5, models_option, *docs_options)
def sample(bench: Bench, models: tuple[str, ...], **docs: Any) -> Report:
    """Time sampling over all paths and BPE dropout, compared with sentencepiece and bytepiece; one call per document.

    `ids of peers` is our number of ids divided by the peer's, about 1 if the distributions are equal.
    """
    report, n_documents = bench.report(f"sample: documents of {docs['doc_bytes']:,} bytes, one core"), 0
    pin_to_one_core()
    for model, tokenizer, peers in opened(bench, models, report, MODELS):
        [(name, peer)] = peers.items()
        for work in works(bench, model, tokenizer, model.peers[name] or [SAMPLE], **docs):
            work.check(name, peer, [tokenizer.encode_batch(work.timed, threads=1)])
            for alpha in (0.1,) if model.kind in ("bpe", "file") else (0.1, 1.0):
                measure(bench, work, name, peer, alpha, report)
            n_documents += len(work.timed)
    report.notes.insert(0, f"ids of encode: {n_documents:,} documents, 0 different from the peers'; samples join")
    add_notes(report, docs["share"])
    return report
