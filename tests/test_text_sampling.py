"""Samples of SentencePiece models: their distribution matches an enumeration, and they depend only on the seed."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import CPUS
from oracle import lattice as oracle
from test_cli import pyunitok as command
from toys.sentencepieces import BPE, NORMAL, UNIGRAM, make
from toys.text_models import encode_in_parts, tokenizer

from pyunitok import Tokenizer
from pyunitok._c import scratch as c_scratch
from pyunitok.model import sampling

pytest.importorskip("google.protobuf")
N_DRAWN = 4000
SCORES = {"a": -1.0, "b": -1.5, "ab": -2.0, "ba": -2.6, "aba": -3.5, "c": -4.0, "abc": -6.0}
TEXTS = ["abab", "abcab", "baZba", "cab"]


def lattice_model() -> Tokenizer:
    proto = make([(piece.encode(), score, NORMAL) for piece, score in SCORES.items()], model_type=UNIGRAM)
    proto.normalizer_spec.add_dummy_prefix = False
    return tokenizer(proto)


def edges(text: str) -> list[oracle.Edge]:
    floats = {piece: float(np.float32(score)) for piece, score in SCORES.items()}
    return oracle.edges(floats, oracle.unknown_score(list(floats.values())), text)


def ids_of(tok: Tokenizer, path: oracle.Path) -> tuple[int, ...]:
    return tuple(tok.unk_id if edge.piece is None else tok.piece_to_id(edge.piece) for edge in path)  # type: ignore[misc]


def fits(drawn: Counter[Any], wanted: dict[Any, float]) -> None:
    """A chi-square test over the outcomes expected at least five times, and all other outcomes combined."""
    n = sum(drawn.values())
    assert not set(drawn) - {key for key, p in wanted.items() if p > 0}
    assert math.isclose(math.fsum(wanted.values()), 1, rel_tol=1e-6)
    common = {key: p for key, p in wanted.items() if n * p >= 5}
    cells = [(drawn[key], n * p) for key, p in common.items()]
    rest = n * (1 - math.fsum(common.values()))
    if rest > 1:
        cells.append((n - sum(drawn[key] for key in common), rest))
    chi2, df = sum((got - want) ** 2 / want for got, want in cells), len(cells) - 1
    # Wilson and Hilferty: the cube root of chi2 / df is nearly normal; it exceeds 4.5 deviations 3 times in a million.
    assert df == 0 or ((chi2 / df) ** (1 / 3) - (1 - 2 / (9 * df))) / math.sqrt(2 / (9 * df)) < 4.5, (chi2, df, cells)


def draws(tok: Tokenizer, text: str, **how: Any) -> Counter[tuple[int, ...]]:
    return Counter(tuple(tok.sample(text, seed=1, document=k, **how).tolist()) for k in range(N_DRAWN))


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("alpha", [0.0, 0.4, 1.0, 3.0])
def test_lattice(text: str, alpha: float) -> None:
    tok, paths = lattice_model(), list(oracle.paths(edges(text), len(text)))
    wanted = dict(zip((ids_of(tok, path) for path in paths), oracle.probabilities(paths, alpha), strict=True))
    fits(draws(tok, text, alpha=alpha), wanted)


@pytest.mark.parametrize("text", TEXTS)
def test_nbest(text: str) -> None:
    tok = lattice_model()
    best = [path for path, _ in oracle.nbest(edges(text), len(text), 4)]
    wanted = dict(zip((ids_of(tok, path) for path in best), oracle.probabilities(best, 0.7), strict=True))
    fits(draws(tok, text, alpha=0.7, nbest=4), wanted)
    assert draws(tok, text, alpha=0.7, nbest=1) == Counter({tuple(tok.encode(text).tolist()): N_DRAWN})


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("alpha", [0.4, 2.0])
def test_viterbi(text: str, alpha: float) -> None:
    tok = lattice_model()
    wanted = oracle.viterbi_probabilities(edges(text), len(text), alpha)
    fits(draws(tok, text, alpha=alpha, method="viterbi"), {ids_of(tok, path): p for path, p in wanted.items()})


@pytest.mark.parametrize("text", TEXTS)
def test_scores_and_entropy(text: str) -> None:
    tok, paths = lattice_model(), list(oracle.paths(edges(text), len(text)))
    chances = dict(zip((ids_of(tok, path) for path in paths), oracle.probabilities(paths, 0.6), strict=True))
    assert math.isclose(tok.entropy(text, alpha=0.6), oracle.entropy(paths, 0.6), rel_tol=1e-5, abs_tol=1e-7)
    scored = tok.sample_and_score(text, N_DRAWN, alpha=0.6, seed=3)
    fits(Counter(tuple(ids.tolist()) for ids, _ in scored), chances)
    for ids, score in scored:
        assert math.isclose(score, math.log(chances[tuple(ids.tolist())]), rel_tol=1e-4, abs_tol=1e-5)


@pytest.mark.parametrize("include_best", [False, True])
def test_without_replacement(include_best: bool) -> None:
    tok, text = lattice_model(), "abcab"
    n_paths = len({ids_of(tok, path) for path in oracle.paths(edges(text), len(text))})
    for seed in range(20):
        for n in (2, 3, n_paths, n_paths + 5):
            drawn = tok.sample_and_score(text, n, alpha=0.5, seed=seed, replacement=False, include_best=include_best)
            ids = [tuple(item.tolist()) for item, _ in drawn]
            assert len(ids) == len(set(ids)) == min(n, n_paths)
            if include_best:
                assert ids[0] == tuple(tok.encode(text).tolist()) and drawn[0][1] == 0


def test_pairs_without_replacement() -> None:
    """Each pair of paths is drawn with the probability found by enumeration."""
    tok, text = lattice_model(), "abab"
    paths = list(oracle.paths(edges(text), len(text)))
    p = dict(zip((ids_of(tok, path) for path in paths), oracle.probabilities(paths, 0.5), strict=True))
    pairs = {frozenset((x, y)): p[x] * p[y] / (1 - p[x]) + p[y] * p[x] / (1 - p[y]) for x in p for y in p if x != y}
    drawn = Counter(
        frozenset(tuple(ids.tolist()) for ids, _ in tok.sample_and_score(text, 2, alpha=0.5, seed=k, replacement=False))
        for k in range(N_DRAWN)
    )
    fits(drawn, pairs)


# --------------------------------------------------------------------------------------------------------- dropout ---

MERGES = {"ab": -1.0, "bc": -2.0, "abc": -3.0, "ca": -4.0, "abca": -5.0}


def bpe_model() -> Tokenizer:
    pieces = [*((c.encode(), -50.0, NORMAL) for c in "abc"), *((m.encode(), s, NORMAL) for m, s in MERGES.items())]
    proto = make(pieces, model_type=BPE)
    proto.normalizer_spec.add_dummy_prefix = False
    return tokenizer(proto)


def dropout_probabilities(symbols: tuple[str, ...], alpha: float) -> dict[tuple[str, ...], float]:
    """As in sentencepiece, pairs are queued by score, then position. The first pair in the queue is dropped
    permanently with probability alpha; otherwise it is merged, and the merge adds new pairs."""
    ret: Counter[tuple[str, ...]] = Counter()

    def go(parts: tuple[tuple[int, str], ...], queue: frozenset[tuple[int, str, str]], p: float) -> None:
        places = {at: k for k, (at, _) in enumerate(parts)}
        live = [
            pair for pair in queue
            if pair[0] in places and places[pair[0]] + 1 < len(parts)
            and parts[places[pair[0]]][1] == pair[1] and parts[places[pair[0]] + 1][1] == pair[2]
        ]  # fmt: skip
        if not live:
            ret[tuple(text for _, text in parts)] += p
            return
        pair = min(live, key=lambda x: (-MERGES[x[1] + x[2]], x[0]))
        rest = frozenset(x for x in live if x != pair)
        if alpha:
            go(parts, rest, p * alpha)
        k = places[pair[0]]
        merged = (*parts[:k], (pair[0], pair[1] + pair[2]), *parts[k + 2 :])
        go(merged, rest | pairs_at(merged, k - 1) | pairs_at(merged, k), p * (1 - alpha))

    def pairs_at(parts: tuple[tuple[int, str], ...], k: int) -> frozenset[tuple[int, str, str]]:
        if k < 0 or k + 1 >= len(parts) or parts[k][1] + parts[k + 1][1] not in MERGES:
            return frozenset()
        return frozenset([(parts[k][0], parts[k][1], parts[k + 1][1])])

    start = tuple(enumerate(symbols))
    go(start, frozenset().union(*(pairs_at(start, k) for k in range(len(start)))), 1.0)
    return dict(ret)


@pytest.mark.parametrize("text", ["abc", "abcab", "abcabca", "cabab"])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.8, 1.0])
def test_dropout(text: str, alpha: float) -> None:
    tok = bpe_model()
    wanted = dropout_probabilities(tuple(text), alpha)
    fits(
        draws(tok, text, alpha=alpha),
        {tuple(tok.piece_to_id(part) for part in parts): p for parts, p in wanted.items()},
    )


# --------------------------------------------------------------------------------- samples are reproducible ---


def corpus_of(rng: random.Random) -> list[bytes]:
    parts = ["ab", "a", "c", " b", " ", "é", "bab "]
    return ["".join(rng.choices(parts, k=rng.choice([0, 3, 50, 900]))).encode() for _ in range(30)]


@pytest.mark.parametrize(
    "model_type, how",
    [(UNIGRAM, {}), (UNIGRAM, {"method": "viterbi"}), (UNIGRAM, {"nbest": 5}), (BPE, {})],
    ids=["lattice", "viterbi", "nbest", "dropout"],
)
def test_samples_depend_only_on_the_document(model_type: int, how: dict[str, Any], tmp_path: Path) -> None:
    pieces = [(p.encode(), s, NORMAL) for p, s in {**SCORES, "▁b": -2.0, "▁": -1.0}.items()]
    proto = make(pieces, model_type=model_type, byte_fallback=True)
    (tmp_path / "toy.model").write_bytes(proto.SerializeToString())
    docs = corpus_of(random.Random(5))
    (tmp_path / "a.txt").write_bytes(b"".join(doc + b"\n" for doc in docs[:11]))
    (tmp_path / "b.txt").write_bytes(b"".join(doc + b"\n" for doc in docs[11:]))
    tok = tokenizer(proto)
    sources = [0] * 11 + [1] * (len(docs) - 11)
    numbers = [*range(11), *range(len(docs) - 11)]
    alone = [
        tok.sample(doc, alpha=0.2, seed=7, source=s, document=n, **how).tolist()
        for doc, s, n in zip(docs, sources, numbers, strict=True)
    ]
    for cpu in CPUS:
        other = tokenizer(proto, cpu=cpu)
        again = [
            other.sample(doc, alpha=0.2, seed=7, source=s, document=n, **how).tolist()
            for doc, s, n in reversed(list(zip(docs, sources, numbers, strict=True)))
        ]
        assert again[::-1] == alone
    sample = ",".join(["alpha=0.2", "seed=7", *(f"{name}={value}" for name, value in how.items())])
    line = ["tokenize", "a.txt", "b.txt", "-m", "toy.model", "--doc", "line", "--eod", "2", "--sample", sample]
    expected = [id_ for ids in alone for id_ in [*ids, 2]]
    for threads, block in [("1", "1M"), ("3", "100"), ("2", "1K"), ("4", "37")]:
        command(tmp_path, *line, "-o", "ids", "--threads", threads, "--block", block, "--overwrite")
        assert np.fromfile(tmp_path / "ids", "<u2").tolist() == expected
    for k in range(3):
        command(tmp_path, *line, "-o", "parts", "--shard", f"{k}/3", "--block", "100")
    shards = sorted(path.name for path in tmp_path.glob("parts*") if path.name.endswith("-of-3"))
    command(tmp_path, "merge", *shards, "-o", "merged")
    assert (tmp_path / "merged").read_bytes() == (tmp_path / "ids").read_bytes()


def test_bad_records_do_not_change_samples(tmp_path: Path) -> None:
    pieces = [(p.encode(), s, NORMAL) for p, s in SCORES.items()]
    (tmp_path / "toy.model").write_bytes(make(pieces, byte_fallback=True).SerializeToString())
    lines = [json.dumps({"text": doc.decode()}) for doc in corpus_of(random.Random(6))]
    lines[4], lines[17] = '{"text": 5}', "{"
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    files = set()
    for threads, block in [("1", "1M"), ("3", "300"), ("2", "5K")]:
        command(
            tmp_path, "tokenize", "a.jsonl", "-m", "toy.model", "-o", "ids", "--sample", "alpha=0.2,seed=1",
            "--on-error", "skip", "--threads", threads, "--block", block, "--overwrite", code=3,
        )  # fmt: skip
        files.add((tmp_path / "ids").read_bytes())
    assert len(files) == 1


def test_a_sample_in_parts_equals_the_sample_of_the_document() -> None:
    tok = tokenizer(make([(p.encode(), s, NORMAL) for p, s in SCORES.items()], byte_fallback=True))
    text = b" ".join(corpus_of(random.Random(8)))
    whole = tok.sample(text, alpha=0.3, seed=1, document=5).tolist()
    how = sampling.how(tok.codec, 0.3, 1, document=5)
    for block in (50, 1000):
        assert encode_in_parts(tok, random.Random(block), text, block, sampling=how) == whole
    dropout = c_scratch.sampling("dropout", 0.1, 1)
    with pytest.raises(ValueError, match="complete documents"):
        encode_in_parts(tok, random.Random(1), text, 100, sampling=dropout)
