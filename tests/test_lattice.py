"""The n-best oracle compared with sentencepiece, including ties and float32 sums; nbest() compared with all paths."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from conftest import fewer
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle import lattice as oracle
from toys.sentencepieces import NORMAL, USER_DEFINED, make
from toys.text_models import reference, tokenizer

pytest.importorskip("sentencepiece")

# Few letters and few scores produce many paths and many ties.
SCORES = st.sampled_from([-1.0, -2.0, -3.0, -0.1]) | st.floats(-20, 0, width=32)
PIECES = st.dictionaries(st.text("abc猫", min_size=1, max_size=4), SCORES, min_size=1, max_size=25)
TEXTS = st.text("abc猫", min_size=1, max_size=12)


def model(pieces: dict[str, float], user_defined: set[str]) -> Any:
    """A ModelProto of these pieces that does not change the text."""
    types = [USER_DEFINED if piece in user_defined else NORMAL for piece in pieces]
    items = zip(map(str.encode, pieces), pieces.values(), types, strict=True)
    proto = make(items)
    proto.normalizer_spec.add_dummy_prefix = proto.normalizer_spec.remove_extra_whitespaces = False
    return proto


def shown(path: oracle.Path, text: str) -> list[tuple[str, bool]]:
    """The pieces as sentencepiece shows them, and whether each is unknown. Adjacent unknown characters are joined."""
    ret: list[tuple[str, bool]] = []
    for edge in path:
        here = (text[edge.begin : edge.end], edge.piece is None)
        if here[1] and ret and ret[-1][1]:
            ret[-1] = (ret[-1][0] + here[0], True)
        else:
            ret.append(here)
    return ret


@given(PIECES, st.sets(st.integers(0, 24), max_size=3), TEXTS, st.integers(2, 60))
@fewer(2)
def test_the_oracle_matches_the_reference(pieces: dict[str, float], chosen: set[int], text: str, n: int) -> None:
    user_defined = {piece for k, piece in enumerate(pieces) if k in chosen}
    normal = [score for piece, score in pieces.items() if piece not in user_defined]
    assume(normal)
    scores = {p: oracle.user_defined_score(p) if p in user_defined else score for p, score in pieces.items()}
    lattice = oracle.edges(scores, oracle.unknown_score(normal), text)
    want = reference(model(pieces, user_defined)).NBestEncode(text, nbest_size=n, out_type="proto").nbests
    got = oracle.nbest(lattice, len(text), n)
    assert len(got) == len(want)
    for (path, score), entry in zip(got, want, strict=True):
        assert [(x.piece, x.id == 0) for x in entry.pieces] == shown(path, text)
        assert float(score) == entry.score


@given(PIECES, st.text("abc猫", min_size=1, max_size=7), st.sampled_from([0.0, 0.3, 1.0, 2.5]))
def test_paths_and_probabilities_by_brute_force(pieces: dict[str, float], text: str, alpha: float) -> None:
    """n-best lists all paths by score; samples and entropy follow p ~ exp(alpha * score)."""
    pieces = dict.fromkeys(text, -5.0) | pieces  # every character is known
    lattice = oracle.edges(pieces, -1e9, text)
    all_paths = list(oracle.paths(lattice, len(text)))
    tok, names = tokenizer(model(pieces, set())), list(pieces)
    found = tok.nbest(text, 1024, scores=True)
    cuts = [tuple(names[id_ - 3] for id_ in ids.tolist()) for ids, _ in found]
    assert sorted(cuts) == sorted(tuple(text[edge.begin : edge.end] for edge in path) for path in all_paths)
    for (_, better), (_, worse) in itertools.pairwise(found):
        assert worse <= better + 1e-4
    probabilities = oracle.probabilities(all_paths, alpha)
    assert math.isclose(math.fsum(probabilities), 1)
    assert math.isclose(tok.entropy(text, alpha=alpha), oracle.entropy(all_paths, alpha), abs_tol=1e-3)
    known = {tuple(text[e.begin : e.end] for e in path): p for path, p in zip(all_paths, probabilities, strict=True)}
    for ids, score in tok.sample_and_score(text, 5, alpha=alpha, seed=1):
        assert math.isclose(score, math.log(known[tuple(names[id_ - 3] for id_ in ids.tolist())]), abs_tol=1e-3)


@given(PIECES, st.text("abc猫", max_size=7), st.floats(0, 3))
def test_the_oracle_of_the_older_sampler(pieces: dict[str, float], text: str, alpha: float) -> None:
    """test_text_sampling.py compares samples with these probabilities, which belong to existing paths and sum to 1."""
    lattice = oracle.edges(pieces, -30.0, text)
    assume(len(lattice) <= 14)
    drawn = oracle.viterbi_probabilities(lattice, len(text), alpha)
    assert set(drawn) <= set(oracle.paths(lattice, len(text)))
    assert math.isclose(math.fsum(drawn.values()), 1)
