"""Index: counts, hits, contexts and documents of text, against the decoded documents."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from oracle import search as oracle
from toys import indexes, text_models

from pyunitok import Tokenizer
from pyunitok.errors import VocabularyError

WORDS = "the cat sat on the mat, the end. natural language processing of a the-then-there 猫は吾輩である 👍🏽 é\u0301"


def toy_tokenizers(rng: random.Random) -> tuple[Tokenizer, str]:
    """A model of a random kind, and the characters it is about."""
    kind = rng.choice(["longest", *text_models.KINDS])
    if kind == "longest":
        pieces = [bytes([byte]) for byte in range(256)]
        pieces += ["".join(rng.choices("ab c日", k=rng.randrange(2, 5))).encode() for _ in range(30)]
        return Tokenizer.from_pieces(list(dict.fromkeys(pieces))), "ab c日"
    while True:
        proto, alphabet = text_models.toy(rng, kind)
        try:
            return text_models.tokenizer(proto), alphabet
        except VocabularyError:
            continue


def random_text(rng: random.Random, alphabet: str) -> bytes:
    return "".join(rng.choice(alphabet + " ") for _ in range(rng.choice([0, 1, 3, 10, 40, 200]))).encode()


def decoded(index: Any) -> list[list[bytes]]:
    """The documents, each in the parts between ids that are no text."""
    ret = []
    for array in index.arrays:
        for document in array:
            ids = document.tolist()[: len(document) - (index.eod is not None)]
            parts = [b""]
            for k, id_ in enumerate(ids):
                text = index.tables.text_of(id_)
                if not text:
                    parts.append(b"")
                parts[-1] += text[1:] if k == 0 and index.tables.drops_space[id_] else text
            ret.append(parts)
    return ret


def plain(index: Any, document: int, text: bytes) -> bool:
    """Whether a document decodes to the texts of its tokens one by one. The first pieces can be unknown and decode to
    nothing; then decoding drops a space further on."""
    array, number = index.locate(document)
    ids = array[number].tolist()[: len(array[number]) - (index.eod is not None)]
    stream = b"".join(index._decoded(id_) for id_ in ids)
    return stream[1 if ids and index.tables.drops_space[ids[0]] else 0 :] == text


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory, rwkv: Tokenizer) -> Any:
    """Two token files of RWKV World, in shards of three documents."""
    rng = random.Random(1)
    words = WORDS.split(" ")
    documents = [" ".join(rng.choices(words, k=rng.choice([0, 1, 5, 80]))).encode() for _ in range(20)]
    ids = indexes.encode(rwkv, [WORDS.encode(), *documents])
    return indexes.make(
        tmp_path_factory.mktemp("small"), rwkv, [ids[:8], ids[8:]], eod=0, documents_a_shard=3
    )


@pytest.mark.parametrize("seed", [*range(10), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(10, 150))])
def test_toy_models_of_every_kind(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    tokenizer, alphabet = toy_tokenizers(rng)
    documents = [random_text(rng, alphabet) for _ in range(8)]
    eods = [None, tokenizer.vocab_size, rng.randrange(tokenizer.vocab_size)]
    index = indexes.make(
        tmp_path, tokenizer, [indexes.encode(tokenizer, documents)], eod=rng.choice(eods),
        order=rng.choice(["id", "bytes"]), left=rng.random() < 0.5, documents_a_shard=rng.choice([1, 3, 100]),
    )  # fmt: skip
    parts = decoded(index)
    texts = [index.text_bytes(d) for d in range(len(documents))]
    queries = []
    for _ in range(25):
        text = rng.choice(rng.choice(parts))
        at = rng.randrange(len(text) + 1)
        queries.append(text[at : at + rng.choice([1, 2, 3, 7, 20])])
    queries += [documents[0] + documents[1], b" ", b"", random_text(rng, alphabet)]
    counts, approx = index.count_batch(queries)
    assert not approx.any()
    for query, count in zip(queries, counts.tolist(), strict=True):
        assert count == index.count(query) == sum(oracle.count(document, query) for document in parts), query
        hits = index.find(query, limit=1000, order="text")
        assert hits.total == len(hits) == count
        if all(some == [text] for some, text in zip(parts, texts, strict=True)):  # no unknown characters
            places = [(d, at) for d, text in enumerate(texts) for at in oracle.starts(text, query)]
            assert list(zip(hits.documents.tolist(), hits.begins.tolist(), strict=True)) == places
        for hit in hits:
            if not plain(index, hit.document, texts[hit.document]):
                continue
            assert texts[hit.document][hit.begin : hit.end] == query
            context = index.context(hit, 5, 1000)
            assert context.match == query
            whole = context.before + context.match + context.after
            assert texts[hit.document][hit.begin - len(context.before) : hit.end + len(context.after)] == whole
            assert len(context.after) == len(texts[hit.document]) - hit.end
        shuffle = index.find(query, limit=1000, order="random", seed=seed)
        pairs = sorted(zip(shuffle.documents.tolist(), shuffle.begins.tolist(), strict=True))
        assert pairs == list(zip(hits.documents.tolist(), hits.begins.tolist(), strict=True))
        found = index.documents(query)
        expected = {d: oracle.count(parts[d], query) for d in range(len(documents))}
        assert dict(zip(found.documents.tolist(), found.counts.tolist(), strict=True)) == {
            d: n for d, n in expected.items() if n
        }
