"""Index: counts, hits, contexts and documents of text, compared with the decoded documents."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import find_shared
from oracle import search as oracle
from toys import indexes, text_models
from toys.models import BYTES

from pyunitok import Tokenizer
from pyunitok.errors import VocabularyError
from pyunitok.index.hits import Count, shuffled

pytestmark = pytest.mark.usefixtures("both_kinds")

WORDS = "the cat sat on the mat, the end. natural language processing of a the-then-there 猫は吾輩である 👍🏽 é\u0301"


def toy_tokenizers(rng: random.Random) -> tuple[Tokenizer, str]:
    """A model of a random kind, and the characters of its pieces."""
    kind = rng.choice(["longest", *text_models.KINDS])
    if kind == "longest":
        pieces = BYTES.copy()
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
    """The documents, each split at the ids that have no text."""
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
    """Whether a document decodes to the joined texts of its tokens. It does not if the first pieces are unknown and
    decode to nothing, because decoding then drops a later space."""
    array, number = index.locate(document)
    ids = array[number].tolist()[: len(array[number]) - (index.eod is not None)]
    stream = b"".join(index.decoded(id_) for id_ in ids)
    return stream[1 if ids and index.tables.drops_space[ids[0]] else 0 :] == text


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory, rwkv: Tokenizer, both_kinds: str) -> Any:
    """An index of two token files of RWKV World, in shards of three documents."""
    rng = random.Random(1)
    words = WORDS.split(" ")
    documents = [" ".join(rng.choices(words, k=rng.choice([0, 1, 5, 80]))).encode() for _ in range(20)]
    ids = indexes.encode(rwkv, [WORDS.encode(), *documents])
    return indexes.make(tmp_path_factory.mktemp("small"), rwkv, [ids[:8], ids[8:]], eod=0, documents_per_shard=3)


@pytest.mark.parametrize("seed", [*range(10), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(10, 150))])
def test_toy_models_of_every_kind(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    tokenizer, alphabet = toy_tokenizers(rng)
    documents = [random_text(rng, alphabet) for _ in range(8)]
    eods = [None, tokenizer.vocab_size, rng.randrange(tokenizer.vocab_size)]
    index = indexes.make(
        tmp_path, tokenizer, [indexes.encode(tokenizer, documents)], eod=rng.choice(eods),
        order=rng.choice(["id", "bytes"]), left=rng.random() < 0.5, documents_per_shard=rng.choice([1, 3, 100]),
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


def letters(tmp_path: Path, documents: list[bytes], **how: Any) -> Any:
    """An index with the pieces aa, aaaa, "a b" and every byte, in which a run of "a" has many tokenizations."""
    tokenizer = Tokenizer.from_pieces(["aa", "aaaa", "a b", *(bytes([byte]) for byte in range(256))])
    return indexes.make(tmp_path, tokenizer, [indexes.encode(tokenizer, documents)], eod=300, **how)


@pytest.mark.parametrize("order", ["id", "bytes"])
@pytest.mark.parametrize("left", [False, True])
def test_hostile_queries_take_bounded_work(tmp_path: Path, order: str, left: bool) -> None:
    documents = [b"a" * 20_000, b"ab" * 3000, b" " * 5000, b"x" + b"a" * 999, b"a b" * 900]
    index = letters(tmp_path, documents, order=order, left=left)
    queries = [b"a" * 1000, b" ", b"a", b"aa", b"a" * 100_000, b"ab" * 2999, b"b" * 9, b" " * 4999]
    queries.append(bytes(range(256)) * 400)
    for query in queries:
        expected = oracle.count(documents, query)
        assert index.count(query) == expected and not index.count(query).approx
        for work in (0, 1000, 100_000):  # stopped early, and marked as a lower bound
            cut = index.count(query, max_work=work)
            assert cut <= expected and (cut.approx or cut == expected)
        assert index.find(query, limit=3, order="random").total == expected
        assert len(index.find(query, limit=3, max_work=1000)) <= 3
    assert index.count(b"a" * 1000, max_work=0).approx


def test_the_memory_of_hits_is_bounded(tmp_path: Path, both_kinds: str) -> None:
    """For "bx" with the tokens "a b" and "b", about every other suffix that begins with "x" is a hit. In a suffix
    array, each hit is a separate run; in a compact index, all hits with the same first token form one run."""
    rng = random.Random(1)
    document = b"".join(rng.choices([b"a bx", b"ybx"], k=20_000))
    index = letters(tmp_path, [document], left=True)
    runs = sum(map(len, index.find_all("bx").runs))
    found = index.find_all("bx", max_work=60_000 if both_kinds == "suffix array" else 0)
    assert runs > 3000 if both_kinds == "suffix array" else runs == 2
    assert found.approx and sum(map(len, found.runs)) <= 60_000 // 25 + 1


def test_concurrent_readers(small: Any) -> None:
    queries = ["the", "a", " ", "cat sat", "は", "é"] * 20
    with ThreadPoolExecutor(8) as pool:
        counts = list(pool.map(small.count, queries))
        found = list(pool.map(lambda query: small.find(query, order="text").begins.tolist(), queries))
    assert counts == [small.count(query) for query in queries]
    assert found == [small.find(query, order="text").begins.tolist() for query in queries]


def test_pages_contain_every_hit_once_in_any_order(small: Any) -> None:
    n = int(small.count("the"))
    for order in ("rank", "text", "random"):
        pages = [small.find("the", 7, offset, order, seed=5) for offset in range(0, n + 7, 7)]
        hits = [(hit.document, hit.begin) for page in pages for hit in page]
        assert len(set(hits)) == len(hits) == n and all(page.total == n for page in pages)
        assert [(hit.document, hit.begin) for hit in small.find("the", 1000, 0, order, seed=5)] == hits
    assert len(small.find("the", 5, n)) == len(small.find("zebra zebra")) == len(small.find("")) == 0


def test_shuffles_are_permutations() -> None:
    for n in (1, 2, 3, 5, 64, 65, 1000):
        for seed in (0, 1):
            assert sorted(shuffled(np.arange(n), n, seed).tolist()) == list(range(n))
    assert shuffled(np.arange(99), 99, 1).tolist() != shuffled(np.arange(99), 99, 2).tolist()


def test_contexts_do_not_split_characters(small: Any) -> None:
    hit = small.find("吾輩", order="text")[0]
    context = small.context(hit, 2, 3)
    assert context.shown() == ("猫は", "吾輩", "である")
    inside = small.find("猫".encode()[1:2], order="text")[0]  # a byte inside a character
    before, match, after = small.context(inside, 3, 2).shown()
    assert match == r"\x8c" and before.endswith(r"\xe7") and after.startswith(r"\xab")
    assert small.text_bytes(hit.document)[hit.begin : hit.end].decode() == "吾輩"
    assert small.source(hit.document) == "a.txt" and small.metadata(hit.document) is None


@pytest.mark.parametrize(
    "path",
    [None, "spm/llama2.model", "spm/t5_base.model", "bytepiece/bytepiece.plus.40k.model", "hf/kitoken_llama2.json"],
)
def test_real_models_count_their_decoded_text(path: str | None, tmp_path: Path, request: Any) -> None:
    rwkv = request.getfixturevalue("rwkv")
    tokenizer = Tokenizer.from_file(find_shared(f"models/{path}")) if path else rwkv
    rng = random.Random(3)
    text = find_shared("README.md").read_bytes()
    documents = [text[at : at + 700] for at in range(0, len(text), 700)] + [WORDS.encode(), b" lead", b""]
    index = indexes.make(
        tmp_path, tokenizer, [indexes.encode(tokenizer, documents)], eod=tokenizer.eos_id or 0, documents_per_shard=5
    )
    texts = [index.text_bytes(d).replace(" \u2047 ".encode(), b"\xff") for d in range(len(documents))]
    for _ in range(300):
        whole = rng.choice(texts)
        at = rng.randrange(len(whole) + 1)
        query = whole[at : at + rng.randrange(1, 20)]
        if b"\xff" not in query:
            assert index.count(query) == oracle.count(texts, query), query


def test_an_eod_with_a_piece_does_not_affect_counting(tmp_path: Path) -> None:
    """If the eod occurs only at the ends of documents, its text is not counted, and counts are sums over pieces."""
    pieces = [b"<eod>", *(bytes([byte]) for byte in range(256)), b"a a", b"o "]
    tokenizer = Tokenizer.from_pieces(pieces, eod=0)
    documents = [[pieces.index(b"o "), pieces.index(b"a a")] * 50_000, [pieces.index(b"a a")]]
    index = indexes.make(tmp_path, tokenizer, [documents], eod=0)
    assert index.count("o") == Count(50_000) and index.count("<e") == Count(0)
    assert index.count(" ", max_work=10_000) == Count(100_001)
    literal = indexes.make(tmp_path, tokenizer, [[*documents, [0]]], eod=0)
    assert literal.count("<e") == Count(1) and literal.count(" ", max_work=10_000).approx
