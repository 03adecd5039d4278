"""tokenizer.json files compared with `tokenizers`: published files on the corpora, and random small files."""

from __future__ import annotations

import copy
import json
import os
import pickle
import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import SHARED, decompressed, fewer, find_shared
from hypothesis import example, given
from hypothesis import strategies as st
from toys import huggingface as toy

import pyunitok
from pyunitok import IdError, InputError, Packed, Tokenizer
from pyunitok._c import library
from pyunitok.cli import cli
from pyunitok.errors import LimitError, ModelFormatError, ModelWarning, OutputError, UnitokError, VocabularyError
from pyunitok.index.build import build_index
from pyunitok.model.tokenizer import from_vocabulary
from pyunitok.vocab import native
from pyunitok.vocab.convert import convert
from pyunitok.vocab.huggingface import file as huggingface
from pyunitok.vocab.huggingface import writer
from pyunitok.vocab.huggingface.direct import DirectRules

reference = pytest.importorskip("tokenizers")
pytestmark = pytest.mark.filterwarnings("ignore::pyunitok.errors.ModelWarning")
os.environ.setdefault("RUST_BACKTRACE", "0")  # one line per panic in `tokenizers`

seeds = st.integers(0, 2**32)
MODELS = sorted((SHARED / "data/models/hf").glob("*.json"))
CORPORA = sorted((SHARED / "data/corpora").glob("*.txt.zst"))
EXPENSIVE = os.environ.get("HYPOTHESIS_PROFILE") == "expensive"


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
    """The Tokenizer of `tokenizers`; None if it rejects the document."""
    return answer(reference.Tokenizer.from_str, json.dumps(document))


def answer(call: Any, *arguments: Any, **options: Any) -> Any:
    """The result of a call; None if it fails."""
    try:
        return call(*arguments, **options)
    except BaseException as error:  # Rust's panics are not Exceptions
        if isinstance(error, KeyboardInterrupt):
            raise
        return None


# --------------------------------------------------------------------------------------------- published files ----


def documents(path: Path) -> list[str]:
    text = decompressed(path, 1 << 20)
    sizes, ret, at = [4096, 16384, 8192], [], 0
    while at < len(text):
        size = sizes[len(ret) % 3]
        ret.append(text[at : at + size].decode("utf-8", "ignore"))
        at += size
    return ret if EXPENSIVE else ret[:2]


@pytest.fixture(params=MODELS or [None], ids=lambda path: path.stem if path else "none")
def published(request: pytest.FixtureRequest) -> tuple[Path, Tokenizer, Any]:
    """A published file, its Tokenizer, and that of `tokenizers`."""
    find_shared("models/hf")
    path = request.param
    return path, Tokenizer.from_file(path), reference.Tokenizer.from_file(str(path))


def test_corpora(published: tuple[Path, Tokenizer, Any]) -> None:
    """Encodes a few documents of each corpus, or a hundred with HYPOTHESIS_PROFILE=expensive."""
    _, tokenizer, other = published
    for corpus in CORPORA:
        texts = documents(corpus)
        packed = tokenizer.encode_batch(texts)
        for k, text in enumerate(texts):
            ids = other.encode(text, add_special_tokens=False).ids
            assert packed[k].tolist() == ids, (corpus.stem, k)
            assert tokenizer.decode(ids, errors="replace") == other.decode(ids), (corpus.stem, k)
        assert tokenizer.encode(texts[0], add_special=True).tolist() == other.encode(texts[0]).ids


def test_added_tokens_in_texts(published: tuple[Path, Tokenizer, Any]) -> None:
    path, tokenizer, other = published
    names = [token["content"] for token in json.loads(path.read_bytes())["added_tokens"]]
    parts = [*names, *toy.CHARACTERS, "the ", "日本", " ", "＜unk＞"]
    rng = random.Random(0)
    for _ in range(300):
        text = "".join(rng.choice(parts) for _ in range(rng.randrange(20)))
        for special in (True, False):
            other.encode_special_tokens = not special
            ids = other.encode(text, add_special_tokens=False).ids
            assert tokenizer.encode(text, special=special).tolist() == ids, (text, special)
        expected = other.decode(ids, skip_special_tokens=False)
        assert tokenizer.decode(ids, errors="replace", skip_special=False) == expected


def test_xlnet() -> None:
    tokenizer = Tokenizer.from_file(find_shared("models/hf/kitoken_xlnet_base_cased.json"))
    assert tokenizer.encode_as_pieces("Sesquipedalophobia") == ["▁Se", "s", "qui", "ped", "alo", "phobia"]


# ------------------------------------------------------------------------------------------------ random files ----


def load(document: dict[str, Any]) -> Tokenizer:
    return from_vocabulary(huggingface.read(json.dumps(document).encode(), "t.json"))


def is_for_c(tokenizer: Tokenizer) -> bool:
    return isinstance(tokenizer.codec.rules, DirectRules)


@fewer(2)
@given(seed=seeds, for_c=st.booleans())
def test_random(seed: int, for_c: bool) -> None:
    rng = random.Random(seed)
    document = toy.for_c(rng) if for_c else toy.document(rng)
    other = theirs(document)
    try:
        tokenizer = load(document)
    except VocabularyError as error:
        assert "t.json: " in str(error) and (other is None or "once normalized" in str(error))
        return
    # Some BPE models forbid cuts at spaces; C supports these only with some vocabularies.
    assert is_for_c(tokenizer) or not for_c or document["model"]["type"] == "BPE"
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
                        ids_, spans = tokenizer.encode_with_offsets(text)
                        assert (ids_.tolist(), list(map(tuple, spans.tolist()))) == (ids, found.offsets)
                    _check_decoding(tokenizer, other, ids)
    texts = [text for text in texts if answer(other.encode, text) is not None]
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


@example(text="0.01000000000000001000")  # leading zeros do not count as digits
@given(text=st.from_regex(r"-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,2})?", fullmatch=True))
def test_numbers(text: str) -> None:
    """Scores are parsed as in serde_json, which may be off by one unit in the last place, enough to decide ties."""
    other = theirs(model(model={"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 1], ["a", 0]]}))
    assert other is not None
    if not set(text) & set(".eE"):
        return
    document = model(model={"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["a", 0]]})
    raw = json.dumps(document).replace('["a", 0]', f'["a", {text}]')
    vocab = json.loads(reference.Tokenizer.from_str(raw).to_str())["model"]["vocab"]
    assert writer.serde_float(text) == vocab[1][1] or json.dumps(writer.serde_float(text)) == str(vocab[1][1])


# -------------------------------------------------------------------------------------------------------- files ----

METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}


def test_example(tmp_path: Path) -> None:
    template = {
        "type": "TemplateProcessing",
        "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
        "pair": [], "special_tokens": {"</s>": {"id": "</s>", "ids": [6], "tokens": ["</s>"]}},
    }  # fmt: skip
    tokens = [added("</s>", 6, special=True), added("[X]", 7, rstrip=True)]
    document = model(pre_tokenizer=METASPACE, decoder=METASPACE, post_processor=template, added_tokens=tokens)
    tokenizer = Tokenizer.from_file(save(document, tmp_path / "t.json"))
    assert tokenizer.encode("a ab</s>[X]  b").tolist() == [4, 1, 5, 6, 7, 1, 3]
    assert tokenizer.encode("a</s>", special=False).tolist()[-1] == 6  # </s> is also a piece of the vocabulary
    assert tokenizer.encode("a", add_special=True).tolist() == [4, 6]
    assert tokenizer.encode_as_pieces("a z") == ["▁a", "▁", "z"]
    assert tokenizer.decode([4, 5, 6]) == "aab" and tokenizer.decode([4, 5, 6], skip_special=False) == "aab</s>"
    assert (tokenizer.vocab_size, tokenizer.eod_id, tokenizer.unk_id, tokenizer.id_to_piece(7)) == (8, 6, 0, "[X]")
    assert tokenizer.piece_to_id("[X]") == 7 and not tokenizer.lossless and tokenizer.codec.split(b"a a a a") == 0
    assert tokenizer.encode(b"a\xff\xfe").tolist() == tokenizer.encode("a\ufffd\ufffd").tolist()
    ids, spans = tokenizer.encode_with_offsets("é ab</s>")
    assert (ids.tolist(), spans.tolist()) == ([1, 0, 1, 5, 6], [[0, 1], [0, 1], [1, 2], [2, 4], [4, 8]])
    spans = tokenizer.encode_with_offsets(b"\xff ab")[1]
    assert spans.tolist() == [[0, 1], [0, 1], [1, 2], [2, 4]]
    assert (tokenizer.kind, tokenizer.algorithm) == ("unigram", f"tokenizers {reference.__version__}")
    for call in (
        lambda: tokenizer.nbest("a", 2),
        lambda: tokenizer.sample("a", alpha=1, seed=1),
        lambda: tokenizer.entropy("a", alpha=1),
    ):
        with pytest.raises(UnitokError, match="sampl"):
            call()
    with pytest.raises(IdError):
        tokenizer.decode([8])
    decoded = tokenizer.decode_bytes_batch(Packed(np.array([4, 5], np.uint16), np.array([0, 1, 2])))
    assert [bytes(text) for text in decoded] == [b"a", b"ab"]


def test_invalid_utf8_in_byte_pieces(tmp_path: Path) -> None:
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
        other = theirs(document)
        for text in (text for text in (toy.text(rng, document) for _ in range(5)) if answer(other.encode, text)):
            for special in (True, False):
                ids = tokenizer.encode(text, special=special, add_special=True).tolist()
                assert again.encode(text, special=special, add_special=True).tolist() == ids
            assert again.decode(ids, errors="replace") == tokenizer.decode(ids, errors="replace")


@pytest.mark.parametrize("for_c", [True, False])
def test_batches(tmp_path: Path, for_c: bool) -> None:
    """C or `tokenizers` encodes a batch with an eod."""
    more = {"model": toy.BPE} if for_c else {}
    path = save(model(pre_tokenizer=METASPACE, added_tokens=[added("[X]", 7)], **more), tmp_path / "t.json")
    tokenizer = Tokenizer.from_file(path)
    assert is_for_c(tokenizer) is for_c
    texts = [b"a b", b" a", b"", b"[X]", b"ab[X]a", b"b"]
    data, offsets = np.frombuffer(b"".join(texts), np.uint8), np.cumsum([0, *map(len, texts)])
    ids, bounds = np.empty(99, np.uint16), np.empty(len(texts) + 1, np.int64)
    n_ids = tokenizer.codec.new_scratch().encode_batch(data, offsets, ids, bounds, eod_id=6)
    assert ids[:n_ids].tolist() == [i for text in texts for i in [*tokenizer.encode(text).tolist(), 6]]
    assert bounds.tolist()[-1] == n_ids
    with pytest.raises(library.CapacityError):
        tokenizer.codec.new_scratch().encode_batch(data, offsets, ids[:5], bounds, eod_id=6)


REJECTED = {
    "version": ({"version": "2.0"}, "version"),
    "post_processor": ({"post_processor": {"type": "Other"}}, "post_processor.*Other"),
    "dropout": ({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [], "dropout": 0.1}}, "model.dropout"),
    "alpha": ({"model": {"type": "Unigram", "vocab": [["a", 0]], "unk_id": 0, "alpha": 0.1}}, "model.alpha"),
    "merges": ({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}}, r"model.merges\[0\]"),
    "score": ({"model": {"type": "Unigram", "vocab": [["a", "0"]], "unk_id": 0}}, r"model.vocab\[0\]"),
}  # fmt: skip


@pytest.mark.parametrize("name", REJECTED)
def test_rejected_fields_are_named(name: str) -> None:
    fields, message = REJECTED[name]
    document = model(normalizer={"type": "Replace", "pattern": {"String": " "}, "content": "▁"}, **fields)
    with pytest.raises(VocabularyError, match=f"^t.json: .*{message}"):
        load(document)


WORDS = {"[UNK]": 0, "a": 1, "##b": 2, "ab": 3, "b": 4, "[SEP]": 5, "the": 6, ",": 7}
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
DIGITS = {"type": "Digits", "individual_digits": False}
SPELLED = writer.byte_level.CHARACTERS
DELEGATED = {  # documents that C does not support, and the field that the error names
    "normalizer": ({"normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                                   "strip_accents": None, "lowercase": True}}, "normalizer"),
    "nested": ({"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "NFKC"}]}}, "normalizer"),
    "pre_tokenizer": ({"pre_tokenizer": {"type": "BertPreTokenizer"}}, "pre_tokenizer"),
    "pattern": ({"normalizer": {"type": "Replace", "pattern": {"Regex": r"(?i)\p{L}+B\b"}, "content": "ab"}},
                "normalizer"),
    "decoder": ({"pre_tokenizer": METASPACE, "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True}},
                "decoder"),
    "WordPiece": ({"model": {"type": "WordPiece", "vocab": WORDS, "unk_token": "[UNK]",
                             "continuing_subword_prefix": "##", "max_input_chars_per_word": 20},
                   "pre_tokenizer": {"type": "BertPreTokenizer"}, "normalizer": {"type": "Lowercase"},
                   "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True}}, "model.type.*WordPiece"),
    "WordLevel": ({"model": {"type": "WordLevel", "vocab": WORDS, "unk_token": "[UNK]"},
                   "pre_tokenizer": {"type": "Whitespace"}}, "model.type.*WordLevel"),
    "unk_id": ({"pre_tokenizer": METASPACE,
                "model": {"type": "Unigram", "vocab": [["a", 0.0], ["▁", 0.0]], "unk_id": None}}, "model.unk_id"),
    "prefix": ({"pre_tokenizer": METASPACE,
                "model": {"type": "BPE", "vocab": {"a": 0}, "merges": [], "continuing_subword_prefix": "##"}},
               "continuing_subword"),
    "GPT-2": ({"model": {"type": "BPE", "vocab": {c: k for k, c in enumerate(SPELLED)}, "merges": []},
               "pre_tokenizer": {"type": "Sequence", "pretokenizers": [BYTES, DIGITS]}, "decoder": BYTES},
              "pre_tokenizer"),
}  # fmt: skip


@pytest.mark.parametrize("name", DELEGATED)
def test_delegated_files(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids, pieces, offsets and texts match `tokenizers`; without it, the error names the field and the extra."""
    fields, field = DELEGATED[name]
    document = model(**fields)
    path, other = save(document, tmp_path / "t.json"), theirs(document)
    with pytest.warns(ModelWarning, match="t: tokenizers .* encodes the texts, about 30 times slower than C"):
        tokenizer = Tokenizer.from_file(path)
    tokenizer.save(tmp_path / "t.utk")
    (tmp_path / "folder").mkdir()
    assert Tokenizer.from_file(save(document, tmp_path / "folder/other.json")).sha256 == tokenizer.sha256
    for one in (tokenizer, Tokenizer.from_file(tmp_path / "t.utk")):
        for text in ["", "ab", "the  ab, b aab", "Bab AB xB\n"]:
            found = answer(other.encode, text)
            if found is not None:
                assert (one.encode(text).tolist(), one.encode_as_pieces(text)) == (found.ids, found.tokens)
                assert list(map(tuple, one.encode_with_offsets(text)[1].tolist())) == found.offsets
                assert one.decode(found.ids) == other.decode(found.ids)
    convert(tmp_path / "t.utk", tmp_path / "back.json", "huggingface")
    assert (tmp_path / "back.json").read_bytes() == path.read_bytes()
    with pytest.raises(UnitokError, match="sampl"):
        tokenizer.sample("a", alpha=1)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    for file, reason in ((path, field), (tmp_path / "t.utk", field)):
        with pytest.raises(UnitokError, match=rf"{reason}.* requires?.*: pip install 'pyunitok\[huggingface\]'"):
            Tokenizer.from_file(file)


def test_files_for_c_do_not_need_tokenizers(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = [added("<unk>", 0, special=True)]
    tokenizer = load(model(pre_tokenizer=METASPACE, model=toy.BPE, added_tokens=tokens))
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    again = load(model(pre_tokenizer=METASPACE, model=toy.BPE, added_tokens=tokens))
    assert again.encode(" ab<unk>a").tolist() == tokenizer.encode(" ab<unk>a").tolist()
    with pytest.raises(VocabularyError, match=r"offsets require .*pip install 'pyunitok\[huggingface\]'"):
        again.encode_with_offsets("ab")


def test_invalid_utf8_in_a_byte_level_file() -> None:
    fields, _ = DELEGATED["GPT-2"]
    tokenizer, other = load(model(**fields)), theirs(model(**fields))
    ids = other.encode("é").ids[:1] + other.encode("aé").ids
    assert tokenizer.decode_bytes(ids) == b"\xc3a\xc3\xa9"
    assert tokenizer.decode(ids, "replace") == other.decode(ids) == "\ufffdaé"
    with pytest.raises(UnicodeDecodeError):
        tokenizer.decode(ids)


PANICS = toy.charsmap({})


def test_a_panic_names_the_document(tmp_path: Path) -> None:
    """Regression: a Rust panic is not an Exception, so no handler caught it."""
    path, text = save(model(normalizer=PANICS), tmp_path / "t.json"), tmp_path / "in.txt"
    with pytest.raises(InputError, match=r"t.json: tokenizers .* cannot encode the text that begins with 'ab'"):
        load(model(normalizer=PANICS)).encode_batch(["", "ab"])
    text.write_text("\nab\n")
    command = ["tokenize", str(text), "-m", str(path), "-o", str(tmp_path / "o"), "--doc", "line"]
    result = CliRunner().invoke(cli, command)
    assert isinstance(result.exception, InputError) and "in.txt: document 1: " in str(result.exception)


def test_a_document_that_needs_too_much_memory_is_named(tmp_path: Path) -> None:
    path = save(model(), tmp_path / "t.json")
    (tmp_path / "in.txt").write_text("a\n" + "ab" * 200_000 + "\n")
    options: dict[str, Any] = {"separator": "\n", "model": path, "threads": 2}
    with pytest.raises(LimitError, match=r"in.txt: document 1 has 400,000 bytes.*raise it to 96000000"):
        pyunitok.tokenize(tmp_path / "in.txt", tmp_path / "o", max_memory_bytes=90 << 20, **options)
    pyunitok.tokenize(tmp_path / "in.txt", tmp_path / "o", max_memory_bytes=96_000_000, **options)


def test_another_version_of_tokenizers_does_not_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, out = save(model(), tmp_path / "t.json"), tmp_path / "out.u16"
    (tmp_path / "in.txt").write_text("ab")
    pyunitok.tokenize(tmp_path / "in.txt", out, model=path)
    version = reference.__version__
    assert pyunitok.open(out).manifest.algorithm == f"tokenizers {version}"
    monkeypatch.setattr(reference, "__version__", "9.0")
    with pytest.raises(OutputError, match=f"now \"tokenizers 9.0\" .to continue, pip install tokenizers=={version}"):
        pyunitok.tokenize(tmp_path / "in.txt", out, model=path)


def test_indexes(tmp_path: Path) -> None:
    """Indexes find text by the bytes of pieces; models whose pieces have no fixed bytes are rejected."""
    (tmp_path / "in.txt").write_text("ab the ab")
    for name, is_rejected in (("nested", False), ("GPT-2", False), ("WordPiece", True)):
        out = tmp_path / f"{name}.u16"
        path = save(model(**DELEGATED[name][0]), tmp_path / f"{name}.json")
        pyunitok.tokenize(tmp_path / "in.txt", out, model=path, eod=None)
        if is_rejected:
            problem = "its decoder WordPiece makes the bytes of a piece depend on adjacent pieces"
            with pytest.raises(VocabularyError, match=problem):
                build_index([out], tmp_path / f"{name}.index")
        else:
            build_index([out], tmp_path / f"{name}.index")
            assert pyunitok.open_index(tmp_path / f"{name}.index").count("ab") == 2


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
    """Regression: "first" was rejected with normalizers that move the first character, or after a pre-tokenizer."""
    document = model(
        normalizer={"type": "Sequence", "normalizers": normalizers_}, added_tokens=[added("<s>", 7)],
        pre_tokenizer={"type": "Sequence", "pretokenizers": [*before, METASPACE_FIRST]},
    )  # fmt: skip
    other, tokenizer = theirs(document), load(document)
    for text in FIRST:
        assert tokenizer.encode(text).tolist() == other.encode(text).ids, text


def test_pieces_match_tokenizers() -> None:
    """Regression: unknown characters and whitespace next to added tokens were <unk> or missing."""
    tokens = [added("[M]", 7, lstrip=True, rstrip=True), added("[n]", 8, normalized=True, rstrip=True)]
    for document in [
        model(added_tokens=tokens), model(added_tokens=tokens, pre_tokenizer=METASPACE_FIRST),
        model(added_tokens=tokens, model=toy.bpe(random.Random(3))),
    ]:  # fmt: skip
        for text in ["a  [M]\n b", "xyz日a", "<unk>x", "a[n]  b", "", " [M] [n] "]:
            found = answer(theirs(document).encode, text)
            if found is not None:
                assert load(document).encode_as_pieces(text) == found.tokens, text


@pytest.mark.parametrize("scheme", ["always", "never", "first"])
@pytest.mark.parametrize("words", [False, True])
def test_metaspace_with_normalizers_and_added_tokens(scheme: str, words: bool) -> None:
    space = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": True}
    parts = [{"type": "WhitespaceSplit"}] * words + [space]
    rng = random.Random(1)
    normalizer = toy.charsmap(
        {"e\u0301": "é", "Ａ": "a", "\u3000": " ", "ﬁ": "fi", "¨": " x", "\u200b": "", "c": "▁"}
    )
    some = ["a", "b", "ab", " ", " ", " ", "é", "e\u0301", "日", "я", "<unk>", "[X]", "¨", "\u200b", "\u3000", "c"]
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


def test_limits() -> None:
    """Files that could make encoding take minutes or gigabytes are rejected."""
    double = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
    for fields in (
        {"normalizer": {"type": "Sequence", "normalizers": [double] * 40}},
        {"decoder": {"type": "Sequence", "decoders": [double] * 40}},
        {"normalizer": {**double, "content": "b" * 5000}},
        {"normalizer": toy.charsmap({"a": "a" * 1001})},
    ):
        with pytest.raises(VocabularyError, match=r"t.json: (normalizer|decoder): .* more than 1000 times longer"):
            load(model(**fields))


def test_many_added_tokens() -> None:
    """Regression: loading and searching took time proportional to tokens times positions."""
    tokens = [added(f"<{k}>", 7 + k, lstrip=k % 2 == 0) for k in range(20_000)]
    tokenizer = load(model(added_tokens=tokens))
    assert tokenizer.encode("<" * 20_000 + "a" + " " * 20_000 + "<19998>").tolist()[-2:] == [2, 7 + 19_998]


def test_tokens_with_common_prefixes() -> None:
    """The regular expression of such tokens nests one level for each prefix that they share."""
    tokens = [added("x" * n, 6 + n) for n in range(1, 2000)]
    document = model(pre_tokenizer=METASPACE, model=toy.BPE, added_tokens=tokens)
    assert load(document).encode("a" + "x" * 50 + "b").tolist() == theirs(document).encode("a" + "x" * 50 + "b").ids


def test_added_tokens_are_numbered_as_in_tokenizers() -> None:
    document = model(added_tokens=[added("X", 19), added("Y", 3), added("a", 77)])
    with pytest.warns(ModelWarning, match=r"t.json: added_tokens\[0\].id: 'X' has id 7, as in `tokenizers`, not 19"):
        tokenizer = load(document)
    assert [tokenizer.piece_to_id(c) for c in "XYa"] == [theirs(document).token_to_id(c) for c in "XYa"] == [7, 8, 2]
    assert pickle.loads(pickle.dumps(tokenizer)).encode("XYa").tolist() == theirs(document).encode("XYa").ids


def test_truncation_and_padding_are_ignored_with_a_warning() -> None:
    long = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
    with pytest.warns(ModelWarning, match="t.json: truncation: .* texts are not truncated; set the field to null"):
        assert len(load(model(truncation=long)).encode("ababab")) > 2
    with pytest.warns(ModelWarning, match="t.json: padding: .* texts are not padded; set the field to null"):
        load(model(padding={
            "strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0,
            "pad_type_id": 0, "pad_token": "a",
        }))  # fmt: skip


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
            with pytest.raises(InputError, match=r"(?i)unk token `<unk>` not found in the vocabulary"):
                tokenizer.encode(text)
        else:
            assert tokenizer.encode(text).tolist() == found.ids


def test_a_template_id_without_a_piece_names_its_field() -> None:
    processor = {
        "type": "TemplateProcessing", "pair": [],
        "single": [{"SpecialToken": {"id": "Z", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "special_tokens": {"Z": {"id": "Z", "ids": [99], "tokens": ["Z"]}},
    }  # fmt: skip
    with pytest.raises(VocabularyError, match="post_processor: id 99 has no piece; the largest id is 6"):
        load(model(post_processor=processor))


def test_a_lone_surrogate_in_an_unused_field_is_kept() -> None:
    """Regression: pickling and saving failed."""
    single = [{"Sequence": {"id": "A", "type_id": 0}}]
    processor = {"type": "TemplateProcessing", "single": single, "pair": ["\ud800"], "special_tokens": {}}
    tokenizer = load(model(pre_tokenizer=METASPACE, model=toy.BPE, post_processor=processor))
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
    """After values are changed or bytes damaged, the file either loads or raises an error that names it."""
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
        tokenizer = from_vocabulary(huggingface.read(data, "t.json"))
        tokenizer.encode("a b\r\né<s>")
    except (VocabularyError, ModelFormatError) as error:
        assert str(error).startswith("t.json"), error


@pytest.mark.parametrize(
    "values", [{}, {"format": "huggingface 2"}, {"format": "huggingface 1", "added_tokens": [added("x", 99)]}]
)
def test_damaged_native(values: dict[str, Any], tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_file(save(model(), tmp_path / "t.json"))
    codec = tokenizer.codec
    native.save(tmp_path / "t.unitok", codec.model, replace(codec.about, prepare=values or {"x": 1}))
    with pytest.raises(ModelFormatError, match="prepare"):
        Tokenizer.from_file(tmp_path / "t.unitok")


def test_recognised(tmp_path: Path) -> None:
    assert huggingface.looks_like_json(b' {\n "version": "1.0",') and huggingface.looks_like_json(b'{"added_tokens": [')
    for head in (b'{"a": 1, "version": 2}', b'{"version": 1}'):
        assert not huggingface.looks_like_json(head)
    (tmp_path / "t.json").write_bytes(b'{"version": "1.0", "model"')
    with pytest.raises(ModelFormatError, match=r"t\.json"):
        Tokenizer.from_file(tmp_path / "t.json")


def test_tokenize_and_detokenize(tmp_path: Path) -> None:
    """The ids do not depend on the block size, and detokenize uses the decoders of the file."""
    document = model(
        normalizer={"type": "Lowercase"}, pre_tokenizer=METASPACE, decoder=METASPACE, added_tokens=[added("[X]", 7)]
    )
    path, text, out = save(document, tmp_path / "t.json"), tmp_path / "in.txt", tmp_path / "out.u16"
    lines = ["a b", "A[X] ab", "", "b" * 300, " a", "[X]"] * 20
    text.write_text("\n".join(lines) + "\n")
    command = ["tokenize", str(text), "-m", str(path), "-o", str(out), "--doc", "line", "--block", "1K", "--verify"]
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 0, result.output
    tokenizer = Tokenizer.from_file(path)
    array = pyunitok.open(out)
    expected = [[*tokenizer.encode(line).tolist(), 6] for line in lines]  # 6 is </s>, the end of document
    assert [array[k].tolist() for k in range(len(array))] == expected
    result = CliRunner().invoke(cli, ["detokenize", str(out), "-m", str(path), "-o", str(tmp_path / "back.txt")])
    assert result.exit_code == 0, result.output
    back = (tmp_path / "back.txt").read_text().splitlines()
    assert back == [tokenizer.decode(tokenizer.encode(line)) for line in lines]
