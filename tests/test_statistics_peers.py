"""Compares the word statistics of a real corpus to those of other tools, where the definitions are the same.

    conc                  collocations: its MI has no factor for the window, and its log-likelihood compares the windows
                          with the rest of the corpus, as keyness does, instead of all four cells of the table.
                          Keyness: its log ratio replaces a frequency of 0 in the reference corpus
    association-measures  collocations: its log-likelihood is undefined for words that overlapping windows count more
                          often than they occur
    corpus-dispersion     dispersion: no difference

The tools are given the words that pyunitok finds, because each divides texts differently. conc uses spaCy, which finds
543,089 words in these 3 MB of prose instead of 543,549: it divides "cannot" and joins "mr.", "'s", "n't" and "o'clock".
Tests are skipped if a tool is not installed (pip install conc association-measures corpus-dispersion).
"""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import decompressed, find_shared
from test_fields import make

from pyunitok import open_index
from pyunitok.corpus.words import words_of
from pyunitok.index.field_build import add_fields
from pyunitok.index.statistics import keyness
from pyunitok.index.word_build import add_words
from pyunitok.index.word_query import WordOptions
from pyunitok.index.word_statistics import collocations, dispersion, key_words

N_BYTES, DOCUMENT_BYTES = 3_000_000, 5_000
FOLDED = WordOptions(ignore_case=True)
NODES = ("the", "time", "said", "great", "never")


@pytest.fixture(scope="module")
def documents() -> list[str]:
    """Documents of English prose; the first half of the documents is from different texts than the second."""
    text = decompressed(find_shared("corpora/en_prose.txt.zst"), N_BYTES).decode("utf-8", "ignore")
    return [text[at : at + DOCUMENT_BYTES] for at in range(0, len(text), DOCUMENT_BYTES)]


@pytest.fixture(scope="module")
def index(documents: list[str], tmp_path_factory: pytest.TempPathFactory) -> Any:
    half = len(documents) // 2
    tenths = [k * 10 // len(documents) for k in range(len(documents))]
    rows = [{"text": text, "half": int(k >= half), "tenth": tenths[k]} for k, text in enumerate(documents)]
    folder = make(tmp_path_factory.mktemp("peers"), [rows], shard_tokens=1_000_000)
    add_fields(folder, ["half", "tenth"])
    add_words(folder)
    return open_index(folder)


def by_word(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["text"].casefold(): row for row in rows}


# ---------------------------------------------------------------------------------------------------------- conc ---


def conc_corpus(name: str, documents: list[str], folder: Path) -> Any:
    """A corpus of conc whose tokens are our words."""
    corpora, spacy = pytest.importorskip("conc.corpus"), pytest.importorskip("spacy")
    (folder / name).mkdir()
    with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["text", "number"])
        rows.writerows([" ".join(words_of(text.encode())).casefold(), str(k)] for k, text in enumerate(documents))

    corpus = corpora.Corpus(name=name, description=name)
    corpus._nlp = spacy.blank("en")
    corpus._nlp.tokenizer = spacy.tokenizer.Tokenizer(corpus._nlp.vocab)  # divides texts at spaces
    corpus._init_spacy_model = lambda *_, **__: None
    corpus.build_from_csv(
        str(folder / f"{name}.csv"), save_path=str(folder / name), text_column="text", metadata_columns=["number"]
    )
    return corpus


@pytest.fixture(scope="module")
def conc_whole(documents: list[str], tmp_path_factory: pytest.TempPathFactory) -> Any:
    return conc_corpus("whole", documents, tmp_path_factory.mktemp("conc"))


@pytest.mark.parametrize("node", NODES)
def test_collocations_of_conc(index: Any, conc_whole: Any, node: str) -> None:
    from conc.collocates import Collocates

    theirs: dict[str, dict[str, Any]] = {}
    for measure in ("logdice", "mutual_information"):
        found = Collocates(conc_whole).collocates(
            node, effect_size_measure=measure, context_length=5, min_collocate_frequency=3, page_size=0
        )
        for row in found.to_frame().to_dicts():
            theirs.setdefault(row["token"], {}).update(row)
    ours = by_word(collocations(index, node, options=FOLDED, min_count=3).rows)
    assert set(ours) == set(theirs) and len(ours) > 50
    near = sum(row["count"] for row in collocations(index, node, options=FOLDED, min_count=1).rows)
    f_x = int(index.words.count(node, FOLDED))
    for word, row in ours.items():
        other = theirs[word]
        assert (row["count"], row["total"]) == (other["collocate_frequency"], other["frequency"])
        assert row["log_dice"] == pytest.approx(other["logdice"])
        assert row["mi"] + math.log2(10) == pytest.approx(other["mutual_information"])
        rest = max(0, row["total"] - row["count"] - f_x * (word == node))  # outside the windows, excluding the node
        likelihood = keyness(row["count"], rest, near, index.words.n_words - near - f_x)["log_likelihood"]
        assert abs(float(likelihood)) == pytest.approx(other["log_likelihood"], abs=1e-6)


def test_keyness_of_conc(index: Any, documents: list[str], tmp_path: Path) -> None:
    half = len(documents) // 2
    corpora = [conc_corpus(name, part, tmp_path) for name, part in (("a", documents[:half]), ("b", documents[half:]))]
    from conc.keyness import Keyness

    found = Keyness(corpora[0], corpora[1]).keywords(
        min_frequency=3, page_size=0, normalize_by=1_000_000, exclude_negative_keywords=False
    )
    theirs = {row["token"]: row for row in found.to_frame().to_dicts()}
    ours = by_word(key_words(index, ["half=0"], options=FOLDED, min_count=3).rows)
    assert set(ours) == set(theirs) and len(ours) > 1000
    n_without = 0
    for word, row in ours.items():
        other = theirs[word]
        assert (row["count"], row["reference"]) == (other["frequency"], other["frequency_reference"])
        assert row["per_million"] == pytest.approx(other["normalized_frequency"])
        assert abs(row["log_likelihood"]) == pytest.approx(other["log_likelihood"], abs=1e-6)
        if row["reference"]:
            assert row["log_ratio"] == pytest.approx(other["log_ratio"], abs=1e-9)
        else:
            n_without += 1
            assert row["log_ratio"] == math.inf
    assert n_without


# -------------------------------------------------------------------------------------------- formulas, dispersion ---


@pytest.mark.parametrize("node", NODES)
def test_association_measures(index: Any, node: str) -> None:
    """Given f, f1, f2 and N of the windows, the package computes the same log-likelihood, MI and t."""
    measures = pytest.importorskip("association_measures.measures")
    pandas = pytest.importorskip("pandas")
    rows = collocations(index, node, options=FOLDED, min_count=3).rows
    f_x, n = int(index.words.count(node, FOLDED)), index.words.n_words
    frame = pandas.DataFrame({"f": [row["count"] for row in rows], "f2": [row["total"] for row in rows]})
    frame["f1"], frame["N"] = 10 * f_x, n
    names = ["log_likelihood", "mutual_information", "t_score"]
    theirs = measures.score(frame, measures=names, digits=None, freq=False)
    signs = np.where(np.array([row["mi"] for row in rows]) < 0, -1, 1)
    ours = {name: np.array([row[name] for row in rows]) for name in ("log_likelihood", "mi", "t")}
    expected = theirs["log_likelihood"].to_numpy()
    is_regular = np.array([row["count"] <= row["total"] for row in rows])
    assert is_regular.sum() > 50 and not np.isnan(expected[is_regular]).any() and np.isnan(expected[~is_regular]).all()
    found = (ours["log_likelihood"] * signs)[is_regular]
    assert found == pytest.approx(expected[is_regular], rel=1e-9, abs=1e-6)
    assert ours["mi"] * math.log10(2) == pytest.approx(theirs["mutual_information"].to_numpy(), rel=1e-9, abs=1e-9)
    assert ours["t"] == pytest.approx(theirs["t_score"].to_numpy(), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize("parts", [7, 100, "tenth"])
def test_dispersion(index: Any, node: str, parts: int | str) -> None:
    analyzer = pytest.importorskip("corpus_dispersion").CorpusWordAnalyzer
    found = dispersion(index, node, parts, options=FOLDED)
    theirs = analyzer(found.hits.astype(float).tolist(), found.sizes.astype(float).tolist(), float(found.sizes.sum()))
    assert found.dp == pytest.approx(theirs.get_dp())
    assert found.dp_norm == pytest.approx(theirs.get_dp_norm())
    assert found.juilland_d == pytest.approx(theirs.get_juilland_d())
