"""tokenizer.json against tokenizers: the real files over the corpora, and random small ones in every combination."""

from __future__ import annotations

import base64
import copy
import json
import os
import pickle
import random
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import SHARED, fewer, find_shared
from hypothesis import example, given
from hypothesis import strategies as st
from oracle.huggingface_unigram import Unigram
from toys import huggingface as toy
from toys import sentencepieces

from pyunitok import Packed, Tokenizer
from pyunitok._c import library
from pyunitok._c import scratch as c_scratch
from pyunitok.errors import IdError, ModelFormatError, ModelWarning, UnitokError, VocabularyError
from pyunitok.vocab.huggingface import characters, charsmap, normalizers, patterns, pretokenizers, shortcut
from pyunitok.vocab.huggingface import file as huggingface
from pyunitok.vocab.huggingface import unicode_tables as tables
from pyunitok.vocab.huggingface import unigram as fast
from pyunitok.vocab.huggingface.fields import Fields
from pyunitok.vocab.huggingface.preparation import Plain

reference = pytest.importorskip("tokenizers")
os.environ.setdefault("RUST_BACKTRACE", "0")  # where tokenizers panics, a line is enough

seeds = st.integers(0, 2**32)
MODELS = sorted((SHARED / "data/models/hf").glob("*.json"))
CORPORA = sorted((SHARED / "data/corpora").glob("*.txt.zst"))
EXPENSIVE = os.environ.get("HYPOTHESIS_PROFILE") == "expensive"


def code_points() -> str:
    """All of them in the expensive profile; else the first, some of the others, and where a table begins or ends."""
    everything = [c for c in range(1, 0x110000) if not 0xD800 <= c < 0xE000]
    if EXPENSIVE:
        return "".join(map(chr, everything))
    names = [name for name in vars(tables) if name.isupper() and name != "LOWER"]
    bounds = {int(c, 16) for name in names for item in getattr(tables, name).split() for c in item.split("-")}
    bounds |= {int(c, 16) for pair in tables.LOWER.split() for c in pair.split(":")}
    near = {c + step for c in bounds for step in (-1, 0, 1)}
    return "".join(chr(c) for c in everything if c in near or c < 0x600 or c % 61 == 0)


CODE_POINTS = code_points()


def save(document: dict[str, Any], path: Path) -> Path:
    path.write_text(json.dumps(document))
    return path


def model(**fields: Any) -> dict[str, Any]:
    """A document of a small Unigram model."""
    vocab = [["<unk>", 0.0], ["▁", -1.0], ["a", -2.0], ["b", -2.0], ["▁a", -2.5], ["ab", -3.0], ["</s>", 0.0]]
    none = dict.fromkeys(("normalizer", "pre_tokenizer", "post_processor", "decoder"))
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], **none,
        "model": {"type": "Unigram", "unk_id": 0, "vocab": vocab}, **fields,
    }  # fmt: skip


def added(content: str, id_: int, **flags: bool) -> dict[str, Any]:
    names = ("single_word", "lstrip", "rstrip", "normalized", "special")
    return {"id": id_, "content": content, **dict.fromkeys(names, False), **flags}


def theirs(document: dict[str, Any]) -> Any:
    """None where tokenizers refuses it."""
    try:
        return reference.Tokenizer.from_str(json.dumps(document))
    except BaseException as error:  # Rust's panics are no Exceptions
        if isinstance(error, KeyboardInterrupt):
            raise
        return None


def answer(call: Any, *arguments: Any, **options: Any) -> Any:
    try:
        return call(*arguments, **options)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return None


# -------------------------------------------------------------------------------------------------- real files ----


def documents(path: Path) -> list[str]:
    import zstandard

    with path.open("rb") as file:
        text = zstandard.ZstdDecompressor().stream_reader(file).read(1 << 20)
    sizes, ret, at = [4096, 16384, 8192], [], 0
    while at < len(text):
        size = sizes[len(ret) % 3]
        ret.append(text[at : at + size].decode("utf-8", "ignore"))
        at += size
    return ret if EXPENSIVE else ret[:2]


@pytest.mark.parametrize("path", MODELS or [None], ids=lambda path: path.stem if path else "none")
def test_corpora(path: Path | None) -> None:
    """A few documents of each corpus; HYPOTHESIS_PROFILE=expensive: a hundred of each."""
    find_shared("models/hf")
    assert path
    tokenizer, other = Tokenizer.from_file(path), reference.Tokenizer.from_file(str(path))
    for corpus in CORPORA:
        texts = documents(corpus)
        packed = tokenizer.encode_batch(texts)
        for k, text in enumerate(texts):
            ids = other.encode(text, add_special_tokens=False).ids
            assert packed[k].tolist() == ids, (corpus.stem, k)
            assert tokenizer.decode(ids, errors="replace") == other.decode(ids), (corpus.stem, k)
        assert tokenizer.encode(texts[0], add_special=True).tolist() == other.encode(texts[0]).ids


@pytest.mark.parametrize("path", MODELS or [None], ids=lambda path: path.stem if path else "none")
def test_tokens_in_texts(path: Path | None) -> None:
    find_shared("models/hf")
    assert path
    tokenizer, other = Tokenizer.from_file(path), reference.Tokenizer.from_file(str(path))
    names = [token["content"] for token in json.loads(path.read_bytes())["added_tokens"]]
    rng = random.Random(0)
    for _ in range(300):
        text = "".join(
            rng.choice([*names, *toy.CHARACTERS, "the ", "日本", " ", "＜unk＞"]) for _ in range(rng.randrange(20))
        )
        for special in (True, False):
            other.encode_special_tokens = not special
            ids = other.encode(text, add_special_tokens=False).ids
            assert tokenizer.encode(text, special=special).tolist() == ids, (text, special)
        assert tokenizer.decode(ids, errors="replace", skip_special=False) == other.decode(
            ids, skip_special_tokens=False
        )


def test_xlnet() -> None:
    tokenizer = Tokenizer.from_file(find_shared("models/hf/kitoken_xlnet_base_cased.json"))
    assert tokenizer.encode_as_pieces("Sesquipedalophobia") == ["▁Se", "s", "qui", "ped", "alo", "phobia"]


# ------------------------------------------------------------------------------------------------ random files ----


@fewer(2)
@given(seed=seeds)
def test_random(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    rng = random.Random(seed)
    document = toy.document(rng)
    other = theirs(document)
    try:
        vocabulary = huggingface.read(json.dumps(document).encode(), "t.json")
    except VocabularyError as error:
        assert "t.json: " in str(error)
        return
    if other is None:
        return  # a panic over an empty charsmap
    tokenizer = Tokenizer(vocabulary.build(engine="double-array", cpu=None), vocabulary.about("t"))
    texts = [toy.text(rng, document) for _ in range(6)]
    for special in (True, False):
        other.encode_special_tokens = not special
        for text in texts:
            for add_special in (False, True):
                found = answer(other.encode, text, add_special_tokens=add_special)
                if found is not None:
                    ids = tokenizer.encode(text, special=special, add_special=add_special).tolist()
                    assert ids == found.ids, (text, special, add_special)
                    if special and not add_special:
                        assert tokenizer.encode_as_pieces(text) == found.tokens
                    _check_decoding(tokenizer, other, ids)
    alone = [tokenizer.encode(text) for text in texts]
    assert [item.tolist() for item in tokenizer.encode_batch(texts)] == [ids.tolist() for ids in alone]
    assert [tokenizer.count(text) for text in texts] == [len(ids) for ids in alone]
    again = pickle.loads(pickle.dumps(tokenizer))
    assert [again.encode(text).tolist() for text in texts] == [ids.tolist() for ids in alone]


def _check_decoding(tokenizer: Tokenizer, other: Any, ids: list[int]) -> None:
    for skip in (True, False):
        text = answer(other.decode, ids, skip_special_tokens=skip)
        if text is not None:
            assert tokenizer.decode(ids, errors="replace", skip_special=skip) == text, (ids, skip)


@fewer(4)
@given(seed=seeds)
def test_unigram(seed: int) -> None:
    """Either way gives the ids of the plain one, whatever stands in the text."""
    rng = random.Random(seed)
    document = model(model=toy.unigram(rng))
    vocabulary = huggingface.read(json.dumps(document).encode(), "t.json")
    tokenizer = Tokenizer(vocabulary.build(engine="double-array", cpu=None), vocabulary.about("t"))
    prepare = vocabulary.prepare
    assert prepare is not None
    unknown = vocabulary.special["unk"]
    slow = Unigram(tokenizer._core.model, unknown, prepare["unknown_score"], prepare["byte_fallback"])
    second = fast.Unigram(tokenizer._core.model, unknown, prepare["unknown_score"], prepare["byte_fallback"])
    scratch = c_scratch.Scratch(second.model)
    for _ in range(6):
        text = toy.text(rng, document) + rng.choice(["", "<unk>", "é<unk>ab<unk>x"])
        expected = slow.encode(text.encode())
        assert tokenizer.encode(text).tolist() == expected
        assert second.encode(scratch, text.encode()) == expected
        assert second.tokens(scratch, text.encode()) == slow.tokens(text.encode())


# --------------------------------------------------------------------------------------------------- components ----


def check_all_characters(ours: Any, other: Any, before: str = "", after: str = "") -> None:
    """Every character between `before` and `after`, some thousand at a time, a letter and a newline between."""
    for at in range(0, len(CODE_POINTS), 4096):
        text = "".join(f"{before}{c}{after}q\n" for c in CODE_POINTS[at : at + 4096])
        if ours(text) != other(text):
            for c in CODE_POINTS[at : at + 4096]:
                assert ours(before + c + after) == other(before + c + after), (before, hex(ord(c)), after)
            pytest.fail("characters depend on each other")


@pytest.mark.parametrize("form", normalizers.FORMS)
def test_forms_of_all_characters(form: str) -> None:
    other = getattr(reference.normalizers, form)().normalize_str
    for around in [("", ""), ("a\u0316", "\u0334"), ("\u1100", "\u0301\u0345")]:
        check_all_characters(characters.normal_form(form), other, *around)


@pytest.mark.parametrize("kind", ["StripAccents", "Lowercase", "Nmt"])
def test_other_normalizers_of_all_characters(kind: str) -> None:
    ours = normalizers.read(Fields({"type": kind}, "t"))[0]
    check_all_characters(ours, getattr(reference.normalizers, kind)().normalize_str, "xΣ")


@pytest.mark.parametrize("fields", [
    {"type": "WhitespaceSplit"}, {"type": "Digits", "individual_digits": True}, {"type": "Punctuation"},
    {"type": "Split", "pattern": {"Regex": r"\d"}, "behavior": "Removed", "invert": False},
    {"type": "Split", "pattern": {"Regex": r"[^\s]+"}, "behavior": "Isolated", "invert": False},
    {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated", "invert": False},
])  # fmt: skip
def test_pre_tokenizers_of_all_characters(fields: dict[str, Any]) -> None:
    document = json.loads(reference.Tokenizer(reference.models.BPE()).to_str()) | {"pre_tokenizer": fields}
    other = reference.Tokenizer.from_str(json.dumps(document)).pre_tokenizer
    ours = pretokenizers.read(Fields(fields, "t"))[0]
    check_all_characters(
        ours, lambda text: [piece for piece, _ in other.pre_tokenize_str(text)], "日", "日"
    )


def test_single_words_of_all_characters() -> None:
    other = reference.Tokenizer(reference.models.BPE(vocab={}, merges=[]))
    other.add_tokens([reference.AddedToken("\U000e0001", single_word=True, normalized=False)])
    for at in range(0, len(CODE_POINTS), 4096):
        chunk = CODE_POINTS[at : at + 4096].replace("\U000e0001", "")
        found = other.encode("".join(f"{c}\U000e0001\n" for c in chunk)).offsets
        expected = [3 * k + 1 for k, c in enumerate(chunk) if not characters.is_word(c)]
        assert [begin for begin, _ in found] == expected


def precompiled(rules: dict[str, str]) -> tuple[Any, Any]:
    """(ours, theirs)"""
    import base64

    from toys import sentencepieces

    blob = sentencepieces.charsmap({key.encode(): value.encode() for key, value in rules.items()})
    fields = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(blob).decode()}
    other = theirs(model(normalizer=fields))
    return charsmap.read(Fields(fields, "t")).normalize, other.normalizer.normalize_str


@fewer(1)
@given(seed=seeds)
def test_clusters(seed: int) -> None:
    """Texts of characters of every class that matters to clusters, with maps that show where they begin and end."""
    rng = random.Random(seed)
    classes = [tables.EXTEND, tables.PREPEND, tables.CONTROL, tables.PICTOGRAPHIC, tables.CONSONANT, tables.LINKER]
    chosen = [rng.choice(characters.listed(rng.choice(classes))) for _ in range(8)]
    chosen += rng.sample(
        ["a", "\u0301", "\u0591", "\u200d", "\u1100", "\u1161", "\u11a8", "가", "각", "क", "\u094d", "\r\n", "\n"], 6
    )
    chosen += [rng.choice("❤©🇦👩🏽é日\u0600\u0903\U00016d63")]
    text = "".join(rng.choice(chosen) for _ in range(40))
    keys = [c for c in set(text) if rng.random() < 0.5 and c != "\0"] or ["a"]
    ours, other = precompiled({key: rng.choice(["", "x", "yz"]) for key in keys})
    assert ours(text) == other(text)


def test_a_long_conjunct_takes_linear_time() -> None:
    """A consonant and viramas without another consonant were tried in n * n ways."""
    ours, other = precompiled({"a": "b"})
    for text in ["क" + "\u094d" * 100_000, ("क" + "\u094d" * 1000) * 100, "क" + "\u094d\u200d" * 50_000 + "ष"]:
        assert ours(text + "a") == other(text + "a")


def test_clusters_of_all_characters() -> None:
    rules = {"a": "b", "e": "é", "\u0301": "x", "❤": "h", "क": "k", "가": "g", "\u1161": "v"}
    ours, other = precompiled(rules)
    around = [
        ("a", ""),
        ("", "e"),
        ("", "\u0301\u0301"),
        ("❤\u200d", "\u0301"),
        ("क\u094d", "\u0591"),
        ("가", "\u0301"),
    ]
    for before, after in around:
        check_all_characters(ours, other, before, after)


@pytest.mark.parametrize("pattern", [
    *toy.REGEXES, r"\u00e9|\x41", r"[\u0061-\u0063]", "(a|b)(?:c)??", r"\(\)\[\]", "[a-]", "a{0,2}b", "(?<!a|b)c",
    "é+", r"[.+*]",
])  # fmt: skip
def test_patterns(pattern: str) -> None:
    ours = patterns.read(Fields({"pattern": {"Regex": pattern}}, "t")).replacer("<>")
    other = reference.normalizers.Replace(reference.Regex(pattern), "<>")
    rng = random.Random(1)
    for _ in range(300):
        text = "".join(rng.choice("aabbcé  \n\t.A)(1\u00a0\x1c▁x-") for _ in range(rng.randrange(12)))
        assert ours(text) == other.normalize_str(text), text


@pytest.mark.parametrize("pattern", [
    r"\w", r"\bx", r"\p{L}", "(?i)a", "a++", "a{2}?", "(a*)*", "a**", "[[:alpha:]]", "[a&&b]", r"\1", "(?>a)",
    "a{,2}", "(?<n>a)", "(?#a)",
    r"\h", r"\R", r"\X", r"\K", "(", ")", "[", "[]", "*",
    "a{9999}", r"\x{110000}", r"\ud800", "(?<=a+)b", "\\", r"[\w]",
])  # fmt: skip
def test_patterns_that_may_differ(pattern: str) -> None:
    with pytest.raises(VocabularyError, match="pattern"):
        patterns.read(Fields({"pattern": {"Regex": pattern}}, "t"))


@example(text="0.01000000000000001000")  # zeros in front count for no digits
@given(text=st.from_regex(r"-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,2})?", fullmatch=True))
def test_numbers(text: str) -> None:
    """A score is what serde_json reads, which may be a unit beside the nearest: it decides ties."""
    other = theirs(model(model={"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 1], ["a", 0]]}))
    assert other is not None
    if not set(text) & set(".eE"):
        return
    document = model(model={"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["a", 0]]})
    raw = json.dumps(document).replace('["a", 0]', f'["a", {text}]')
    vocab = json.loads(reference.Tokenizer.from_str(raw).to_str())["model"]["vocab"]
    assert huggingface.serde_float(text) == vocab[1][1] or json.dumps(huggingface.serde_float(text)) == str(vocab[1][1])


# -------------------------------------------------------------------------------------------------------- files ----


def test_example(tmp_path: Path) -> None:
    template = {
        "type": "TemplateProcessing",
        "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
        "pair": [], "special_tokens": {"</s>": {"id": "</s>", "ids": [6], "tokens": ["</s>"]}},
    }  # fmt: skip
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    tokens = [added("</s>", 6, special=True), added("[X]", 7, rstrip=True)]
    path = save(
        model(pre_tokenizer=metaspace, decoder=metaspace, post_processor=template, added_tokens=tokens),
        tmp_path / "t.json",
    )
    tokenizer = Tokenizer.from_file(path)
    assert tokenizer.encode("a ab</s>[X]  b").tolist() == [4, 1, 5, 6, 7, 1, 3]
    assert tokenizer.encode("a</s>", special=False).tolist()[-1] == 6  # a piece of the vocabulary, too
    assert tokenizer.encode("a", add_special=True).tolist() == [4, 6]
    assert tokenizer.encode_as_pieces("a z") == ["▁a", "▁", "z"]
    assert tokenizer.decode([4, 5, 6]) == "aab" and tokenizer.decode([4, 5, 6], skip_special=False) == "aab</s>"
    assert (tokenizer.vocab_size, tokenizer.eod_id, tokenizer.unk_id, tokenizer.id_to_piece(7)) == (8, 6, 0, "[X]")
    assert tokenizer.piece_to_id("[X]") == 7 and not tokenizer.lossless and tokenizer._core.split(b"a a a a") == 0
    assert tokenizer.encode(b"a\xff\xfe").tolist() == tokenizer.encode("a\ufffd\ufffd").tolist()
    with pytest.raises(UnitokError, match="offsets"):
        tokenizer.encode_with_offsets("a")
    for call in (
        lambda: tokenizer.nbest("a", 2),
        lambda: tokenizer.sample("a", alpha=1, seed=1),
        lambda: tokenizer.entropy("a", alpha=1),
    ):
        with pytest.raises(UnitokError, match="sampl"):
            call()
    with pytest.raises(IdError):
        tokenizer.decode([8])
    assert [
        bytes(text) for text in tokenizer.decode_bytes_batch(Packed(np.array([4, 5], np.uint16), np.array([0, 1, 2])))
    ] == [b"a", b"ab"]


def test_broken_bytes(tmp_path: Path) -> None:
    vocab = {"<unk>": 0, "a": 1, **{f"<0x{byte:02X}>": 2 + byte for byte in range(256)}}
    bpe = {"type": "BPE", "unk_token": "<unk>", "byte_fallback": True, "vocab": vocab, "merges": []}
    decoder = {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]}
    path = save(model(model=bpe, decoder=decoder), tmp_path / "t.json")
    tokenizer, other = Tokenizer.from_file(path), reference.Tokenizer.from_file(str(path))
    ids = [1, 2 + 0xC3, 2 + 0x41, 1, 2 + 0xC3, 2 + 0xA9]
    assert tokenizer.decode_bytes(ids) == b"a\xc3A" + "aé".encode()
    assert tokenizer.decode(ids, errors="replace") == other.decode(ids) == "a\ufffd\ufffdaé"
    with pytest.raises(UnicodeDecodeError):
        tokenizer.decode(ids)


def test_native(tmp_path: Path) -> None:
    rng = random.Random(3)
    for _ in range(20):
        document = toy.document(rng)
        try:
            tokenizer = Tokenizer.from_file(save(document, tmp_path / "t.json"))
        except VocabularyError:
            continue
        tokenizer.save(tmp_path / "t.unitok")
        again = Tokenizer.from_file(tmp_path / "t.unitok")
        assert again.sha256 == tokenizer.sha256 and again.vocab_size == tokenizer.vocab_size
        for _ in range(5):
            text = toy.text(rng, document)
            for special in (True, False):
                ids = tokenizer.encode(text, special=special, add_special=True).tolist()
                assert again.encode(text, special=special, add_special=True).tolist() == ids
            assert again.decode(ids, errors="replace") == tokenizer.decode(ids, errors="replace")


def test_batches_of_both_ways(tmp_path: Path) -> None:
    """Documents that the C side does alone and others, in one batch, with an eod."""
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    tokenizer = Tokenizer.from_file(
        save(model(pre_tokenizer=metaspace, added_tokens=[added("[X]", 7)]), tmp_path / "t.json")
    )
    texts = [b"a b", b" a", b"", b"[X]", b"ab[X]a", b"b"]
    data, offsets = np.frombuffer(b"".join(texts), np.uint8), np.cumsum([0, *map(len, texts)])
    ids, bounds = np.empty(99, np.uint16), np.empty(len(texts) + 1, np.int64)
    n_ids = tokenizer._core.new_scratch().encode_batch(data, offsets, ids, bounds, eod_id=6)
    assert ids[:n_ids].tolist() == [i for text in texts for i in [*tokenizer.encode(text).tolist(), 6]]
    assert bounds.tolist()[-1] == n_ids
    with pytest.raises(library.RoomError):
        tokenizer._core.new_scratch().encode_batch(data, offsets, ids[:5], bounds, eod_id=6)


REFUSED = {
    "version": ({"version": "2.0"}, "version"),
    "normalizer": ({"normalizer": {"type": "BertNormalizer"}}, "normalizer.type.*BertNormalizer"),
    "nested": (
        {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "ByteLevel"}]}},
        r"normalizers\[1\].type",
    ),
    "pre_tokenizer": ({"pre_tokenizer": {"type": "BertPreTokenizer"}}, "pre_tokenizer.type.*BertPreTokenizer"),
    "decoder": ({"decoder": {"type": "WordPiece"}}, "decoder.type.*WordPiece"),
    "post_processor": ({"post_processor": {"type": "Other"}}, "post_processor.type.*Other"),
    "model": ({"model": {"type": "WordPiece", "vocab": {}}}, "model.type.*WordPiece"),
    "unk_id": ({"model": {"type": "Unigram", "vocab": [["a", 0.0]], "unk_id": None}}, "model.unk_id"),
    "dropout": ({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [], "dropout": 0.1}}, "model.dropout"),
    "prefix": (
        {"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [], "continuing_subword_prefix": "##"}},
        "continuing_subword",
    ),
    "merges": ({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}}, r"model.merges\[0\]"),
    "score": ({"model": {"type": "Unigram", "vocab": [["a", "0"]], "unk_id": 0}}, r"model.vocab\[0\]"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_name(name: str) -> None:
    fields, message = REFUSED[name]
    with pytest.raises(VocabularyError, match=f"^t.json: .*{message}"):
        huggingface.read(json.dumps(model(**fields)).encode(), "t.json")


def load(document: dict[str, Any]) -> Tokenizer:
    vocabulary = huggingface.read(json.dumps(document).encode(), "t.json")
    return Tokenizer(vocabulary.build(engine="double-array", cpu=None), vocabulary.about("t"))


METASPACE_FIRST = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}
FIRST = ["", "a", "ab a", " a", "\x01a", "\u0301a", "\u0301", "  a  b", "ﬁa b", "½ a", "``a", "a``", "1a2", "<s>a",
         "a <s>a", "\u200da", "日a", "e\u0301a", "a\u00a0b", "\t\na", "😀a", "▁a", "ab"]  # fmt: skip


@pytest.mark.parametrize("normalizers_", [
    [{"type": "Nmt"}], [{"type": "Strip", "strip_left": True, "strip_right": True}], [{"type": "StripAccents"}],
    [toy.precompiled(random.Random(1))], [{"type": "Replace", "pattern": {"String": "``"}, "content": "ba"}],
    [{"type": "NFKC"}, {"type": "Prepend", "prepend": "ab"}],
    [{"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}, toy.precompiled(random.Random(3))],
    [toy.precompiled(random.Random(1)), {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}],
])  # fmt: skip
@pytest.mark.parametrize("before", [
    [], [{"type": "Digits", "individual_digits": True}], [{"type": "WhitespaceSplit"}], [{"type": "Punctuation"}],
    [{"type": "Split", "pattern": {"String": "a"}, "behavior": "MergedWithPrevious", "invert": False}],
])  # fmt: skip
def test_metaspace_first(normalizers_: list[dict[str, Any]], before: list[dict[str, Any]]) -> None:
    """Beside normalizers that move the first character, or behind another pre-tokenizer, "first" was refused."""
    document = model(
        normalizer={"type": "Sequence", "normalizers": normalizers_}, added_tokens=[added("<s>", 7)],
        pre_tokenizer={"type": "Sequence", "pretokenizers": [*before, METASPACE_FIRST]},
    )  # fmt: skip
    other, tokenizer = theirs(document), load(document)
    for text in FIRST:
        assert tokenizer.encode(text).tolist() == other.encode(text).ids, text


def test_pieces_are_those_of_tokenizers() -> None:
    """Unknown characters and the whitespace that added tokens take along showed as <unk>, or not at all."""
    tokens = [added("[M]", 7, lstrip=True, rstrip=True), added("[n]", 8, normalized=True, rstrip=True)]
    for document in [
        model(added_tokens=tokens), model(added_tokens=tokens, pre_tokenizer=METASPACE_FIRST),
        model(added_tokens=tokens, model=toy.bpe(random.Random(3))),
    ]:  # fmt: skip
        for text in ["a  [M]\n b", "xyz日a", "<unk>x", "a[n]  b", "", " [M] [n] "]:
            found = answer(theirs(document).encode, text)
            if found is not None:
                assert load(document).encode_as_pieces(text) == found.tokens, text


@pytest.mark.filterwarnings("ignore::pyunitok.errors.ModelWarning")
@pytest.mark.parametrize("scheme", ["always", "never", "first"])
@pytest.mark.parametrize("words", [False, True])
def test_only_what_is_around_an_odd_place_goes_through_python(
    scheme: str, words: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of a long text did for one <unk> in it."""
    monkeypatch.setattr(shortcut, "SEGMENT", 2)
    space = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": True}
    parts = [{"type": "WhitespaceSplit"}] * words + [space]
    rng = random.Random(1)
    rules = {"e\u0301": "é", "Ａ": "a", "\u3000": " ", "ﬁ": "fi", "¨": " x", "\u200b": "", "c": "▁"}
    blob = sentencepieces.charsmap({key.encode(): value.encode() for key, value in rules.items()})
    normalizer = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(blob).decode()}
    some = ["a", "b", "ab", " ", " ", " ", "é", "e\u0301", "日", "я", "<unk>", "[X]", "¨", "\u200b", "\u3000", "c"]
    n_plain = 0
    for normalizers_ in (None, normalizer, {"type": "Replace", "pattern": {"String": "ab"}, "content": "b"},
                         {"type": "Sequence", "normalizers": [{"type": "NFKD"}, normalizer]}):  # fmt: skip
        for tokens in ([], [added("[X]", 7, special=True, lstrip=True)], [added("<unk>", 0, special=True)],
                       [added("b", 2, normalized=True, single_word=True)], [added("b", 2, rstrip=True)],
                       [added("a b", 7)]):  # fmt: skip
            document = model(pre_tokenizer={"type": "Sequence", "pretokenizers": parts}, normalizer=normalizers_,
                             added_tokens=tokens)  # fmt: skip
            ours, other = load(document), theirs(document)
            for _ in range(30):
                text = "".join(rng.choice(some) for _ in range(rng.randrange(40)))
                if rng.random() < 0.2:
                    text = text.replace("<unk>", "") + " ab"
                assert ours.encode(text).tolist() == other.encode(text, add_special_tokens=False).ids, (document, text)
                n_plain += sum(isinstance(part, Plain) for part in ours._core.preparation.parts(text.encode(), True))
    assert n_plain > 100 or (words and scheme != "always")


def test_limits() -> None:
    """What would take minutes or gigabytes is refused."""
    double = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
    grow = load(model(normalizer={"type": "Sequence", "normalizers": [double] * 40}))
    with pytest.raises(UnitokError, match="more than 1000 times what it had"):
        grow.encode("a")
    grow = load(model(decoder={"type": "Sequence", "decoders": [double] * 40}))
    with pytest.raises(UnitokError, match="more than 1000 times what it had"):
        grow.decode([2])
    refused = {
        "normalizer.normalizers: .*at most 256": {"type": "Sequence", "normalizers": [double] * 300},
        "normalizer.content: 5000 characters; at most 1000": {**double, "content": "b" * 5000},
    }
    for message, normalizer in refused.items():
        with pytest.raises(VocabularyError, match=message):
            load(model(normalizer=normalizer))


def test_many_added_tokens() -> None:
    """Loading and searching took as many steps as tokens and places multiplied."""
    tokens = [added(f"<{k}>", 7 + k, lstrip=k % 2 == 0) for k in range(20_000)]
    tokenizer = load(model(added_tokens=tokens))
    assert tokenizer.encode("<" * 20_000 + "a" + " " * 20_000 + "<19998>").tolist()[-2:] == [2, 7 + 19_998]


def test_added_tokens_are_numbered_as_in_tokenizers() -> None:
    document = model(added_tokens=[added("X", 19), added("Y", 3), added("a", 77)])
    with pytest.warns(ModelWarning, match=r"t.json: added_tokens\[0\].id: 'X' has the id 7, as in tokenizers, not 19"):
        tokenizer = load(document)
    assert [tokenizer.piece_to_id(c) for c in "XYa"] == [theirs(document).token_to_id(c) for c in "XYa"] == [7, 8, 2]
    assert pickle.loads(pickle.dumps(tokenizer)).encode("XYa").tolist() == theirs(document).encode("XYa").ids


def test_truncation_and_padding_are_left_out_with_a_warning() -> None:
    long = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
    with pytest.warns(ModelWarning, match="t.json: truncation: texts are not truncated here"):
        assert len(load(model(truncation=long)).encode("ababab")) > 2
    with pytest.warns(ModelWarning, match="t.json: padding: texts are not padded here"):
        load(model(padding={"strategy": "BatchLongest"}))


@pytest.mark.parametrize("fields", [{}, {"byte_fallback": True}, {"ignore_merges": True}, {"fuse_unk": True}])
def test_a_missing_unk_token_is_an_error_only_when_needed(fields: dict[str, Any]) -> None:
    vocab = {"a": 0, "b": 1, "ab": 2, "<0x63>": 3, "xyz": 4}
    document = model(
        model={"type": "BPE", "vocab": vocab, "merges": [["a", "b"]], "unk_token": "<unk>", **fields},
        added_tokens=[added("[X]", 5)],
    )
    other, tokenizer = theirs(document), load(document)
    for text in ["", "ab", "aab", "c", "d", "xyz", "xy", "a[X]b", "a[X]d", "abxyz"]:
        found = answer(other.encode, text)
        if found is None:
            with pytest.raises(VocabularyError, match="the unk_token '<unk>' that should stand for it is not in"):
                tokenizer.encode(text)
        else:
            assert tokenizer.encode(text).tolist() == found.ids


def test_a_template_id_without_a_piece_names_its_field() -> None:
    processor = {
        "type": "TemplateProcessing", "pair": [],
        "single": [{"SpecialToken": {"id": "Z", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "special_tokens": {"Z": {"id": "Z", "ids": [99], "tokens": ["Z"]}},
    }  # fmt: skip
    with pytest.raises(ModelFormatError, match="post_processor: id 99 has no piece; the largest id is 6"):
        load(model(post_processor=processor))


def test_a_lone_surrogate_that_nothing_reads_is_kept() -> None:
    """Pickling and saving failed."""
    document = model(post_processor={"type": "BertProcessing", "sep": ["\ud800", 6], "cls": ["</s>", 6]})
    tokenizer = load(document)
    again = pickle.loads(pickle.dumps(tokenizer))
    assert again.encode("ab").tolist() == tokenizer.encode("ab").tolist()
    assert again.sha256 == tokenizer.sha256


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from paths_of(item, (*path, key))


@given(seed=seeds)
def test_damaged(seed: int) -> None:
    """One value is another's, or gone, or the file's bytes are broken: an error that names the file, or none."""
    rng = random.Random(seed)
    document = copy.deepcopy(toy.document(rng))
    for _ in range(rng.randrange(1, 4)):
        *parents, last = rng.choice([path for path in paths_of(document) if path])
        place = document
        for key in parents:
            place = place[key]
        values = [None, True, -1, 1 << 40, 1e300, "", "x", "\ud800", [], {}, [[]], {"type": "x"}, "Sequence", 0.5]
        place[last] = rng.choice(values)
    data = json.dumps(document).encode()
    if rng.random() < 0.3:
        at = rng.randrange(len(data))
        data = data[:at] + bytes([rng.randrange(256)]) + data[at + rng.randrange(3) :]
    try:
        vocabulary = huggingface.read(data, "t.json")
        tokenizer = Tokenizer(vocabulary.build(engine="double-array", cpu=None), vocabulary.about("t"))
        tokenizer.encode("a b\r\né<s>")
    except (VocabularyError, ModelFormatError) as error:
        assert str(error).startswith("t.json"), error


@pytest.mark.parametrize(
    "values", [{}, {"format": "huggingface 2"}, {"format": "huggingface 1", "added_tokens": [added("x", 99)]}]
)
def test_damaged_native(values: dict[str, Any], tmp_path: Path) -> None:
    from dataclasses import replace

    from pyunitok.vocab import native

    tokenizer = Tokenizer.from_file(save(model(), tmp_path / "t.json"))
    core = tokenizer._core
    native.save(tmp_path / "t.unitok", core.model, replace(core.about, prepare=values or {"x": 1}))
    with pytest.raises(ModelFormatError, match="prepare"):
        Tokenizer.from_file(tmp_path / "t.unitok")


def test_recognised(tmp_path: Path) -> None:
    assert huggingface.looks_like_json(b' {\n "version": "1.0",') and huggingface.looks_like_json(b'{"added_tokens": [')
    assert not huggingface.looks_like_json(b'{"a": 1, "version": 2}') and not huggingface.looks_like_json(
        b'{"version": 1}'
    )
    (tmp_path / "t.json").write_bytes(b'{"version": "1.0", "model"')
    with pytest.raises(ModelFormatError, match=r"t\.json"):
        Tokenizer.from_file(tmp_path / "t.json")


def test_unicode_of_this_python() -> None:
    """The tables hold for Unicode 13 and later, which is what every Python here has."""
    assert tuple(map(int, unicodedata.unidata_version.split("."))) >= (13, 0)


def test_corpus_and_back(tmp_path: Path) -> None:
    """The pipeline's workers encode the same, whatever the blocks; detokenize decodes by the file's decoders."""
    from click.testing import CliRunner

    import pyunitok
    from pyunitok.cli import cli

    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    document = model(
        normalizer={"type": "Lowercase"}, pre_tokenizer=metaspace, decoder=metaspace, added_tokens=[added("[X]", 7)]
    )
    path, text, out = save(document, tmp_path / "t.json"), tmp_path / "in.txt", tmp_path / "out.u16"
    lines = ["a b", "A[X] ab", "", "b" * 300, " a", "[X]"] * 20
    text.write_text("\n".join(lines) + "\n")
    command = ["tokenize", str(text), "-m", str(path), "-o", str(out), "--doc", "line", "--block", "1K", "--verify"]
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 0, result.output
    tokenizer = Tokenizer.from_file(path)
    array = pyunitok.open(out)
    expected = [[*tokenizer.encode(line).tolist(), 6] for line in lines]  # 6: </s>, its end of document
    assert [array[k].tolist() for k in range(len(array))] == expected
    result = CliRunner().invoke(cli, ["detokenize", str(out), "-m", str(path), "-o", str(tmp_path / "back.txt")])
    assert result.exit_code == 0, result.output
    back = (tmp_path / "back.txt").read_text().splitlines()
    assert back == [tokenizer.decode(tokenizer.encode(line)) for line in lines]
