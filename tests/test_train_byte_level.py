"""Byte-level models: lossless, with the ids of Hugging Face tokenizers and the merges of the oracle."""

from __future__ import annotations

import json
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from click.testing import CliRunner
from conftest import decompressed, fewer, find_shared
from hypothesis import given
from hypothesis import strategies as st
from oracle import train_bpe
from test_train_sentencepiece import text

import pyunitok
from pyunitok._c import train as c_train
from pyunitok._c import train_bpe as c_train_bpe
from pyunitok._c.train import Rules, Units
from pyunitok.cli import cli
from pyunitok.errors import OptionError, TrainingError, VocabularyError
from pyunitok.train import byte_level
from pyunitok.vocab.byte_level import CHARACTERS, bytes_of, shown
from pyunitok.vocab.convert import convert

KINDS = ["bpe", "unigram"]
SAMPLE = Path(__file__).parent / "data/sample.jsonl.zst"
LINES = text(3, 300)
TEXTS = st.text("abc the é日本🎉\u2581\u2585\x00\x1f\n\t  <|endoftext>1", max_size=40) | st.sampled_from(LINES)


@cache
def files(folder: str, kind: str, split_by: str = "space") -> tuple[Any, Any, tokenizers.Tokenizer]:
    """A model trained as a tokenizer.json and as a native file, and the tokenizer.json opened with `tokenizers`."""
    path = Path(folder, f"{kind}{split_by}.json")
    options: dict[str, Any] = {"kind": kind, "vocab_size": 400, "byte_level": True, "split_by": split_by, "threads": 1}
    first = pyunitok.train(iter(LINES), out=path, **options)
    second = pyunitok.train(iter(LINES), out=path.with_suffix(".utk"), **options)
    return first, second, tokenizers.Tokenizer.from_file(str(path))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("bytes"))


# ----------------------------------------------------------------------------------------------------- models ----


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("split_by", ["space", "none"])
def test_ids_match_tokenizers(folder: str, kind: str, split_by: str) -> None:
    from_json, from_native, reference = files(folder, kind, split_by)
    assert from_json.vocab_size == from_native.vocab_size == reference.get_vocab_size() == 400

    @given(TEXTS)
    @fewer(2)
    def compare(one: str) -> None:
        encoded = reference.encode(one, add_special_tokens=False)
        assert from_json.encode(one).tolist() == encoded.ids
        assert from_json.encode_as_pieces(one) == encoded.tokens
        assert from_json.decode(encoded.ids, skip_special=False) == one
        assert from_json.decode(encoded.ids) == reference.decode(encoded.ids)
        plain = from_json.encode(one, special=False).tolist()
        assert from_native.encode(one).tolist() == plain
        if 0 not in encoded.ids:
            assert plain == encoded.ids

    compare()


@pytest.mark.parametrize("kind", KINDS)
def test_any_bytes_are_restored(folder: str, kind: str) -> None:
    from_json, from_native, _ = files(folder, kind)
    assert from_native.lossless and not from_json.lossless  # a tokenizer.json skips special tokens

    @given(st.binary(max_size=60), st.binary(max_size=9))
    @fewer(2)
    def compare(data: bytes, more: bytes) -> None:
        data += b"<|endoftext|>" + more
        assert from_native.decode_bytes(from_native.encode(data)) == data
        ids = from_json.encode(data)
        assert (0 in ids) and from_json.decode_bytes(ids) == data.replace(b"<|endoftext|>", b"")
        assert from_native.decode_bytes(from_native.encode_batch([data, more]).data) == data + more

    compare()


def test_pieces_halve_the_tokens(folder: str) -> None:
    for kind in KINDS:
        n_bytes = len("\n".join(LINES).encode())
        assert n_bytes > 2 * len(files(folder, kind)[1].encode("\n".join(LINES)))


@pytest.mark.parametrize("kind", KINDS)
def test_from_native_to_json_and_back(folder: str, tmp_path: Path, kind: str) -> None:
    path = Path(folder, f"{kind}space.json")
    files(folder, kind)
    convert(path.with_suffix(".utk"), tmp_path / "a.json", "huggingface")
    assert (tmp_path / "a.json").read_bytes() == path.read_bytes()
    convert(path, tmp_path / "b.utk", "native")
    one = "the cat " + LINES[0] + "<|endoftext|>"
    again = pyunitok.Tokenizer.from_file(tmp_path / "b.utk")
    assert again.encode(one).tolist() == files(folder, kind)[0].encode(one).tolist()
    with pytest.raises(VocabularyError, match=r"cannot convert .* to a tokenizer\.json: the model must be byte-level"):
        convert("rwkv-world", tmp_path / "c.json", "huggingface")


@pytest.mark.parametrize("kind", KINDS)
def test_a_tokenizer_json_can_be_converted_back(folder: str, tmp_path: Path, kind: str) -> None:
    """Regression: `convert --to huggingface` rejected files of `train --byte-level` and their native versions."""
    path = Path(folder, f"{kind}space.json")
    files(folder, kind)
    convert(path, tmp_path / "a.json", "huggingface")
    assert (tmp_path / "a.json").read_bytes() == path.read_bytes()
    convert(path, tmp_path / "b.utk", "native")
    convert(tmp_path / "b.utk", tmp_path / "b.json", "huggingface")
    before, after = (json.loads(p.read_bytes()) for p in (path, tmp_path / "b.json"))
    if kind == "unigram":  # serde_json may be off by one ulp
        scores = [[score for _, score in values["model"].pop("vocab")] for values in (before, after)]
        assert scores[1] == pytest.approx(scores[0], rel=1e-15)
    assert after == before


def with_tokens(path: Path, out: Path) -> None:
    """Copy the file, adding a template and tokens that the model lacks."""
    values = json.loads(path.read_bytes())
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    for k, (content, more) in enumerate({"<|user|>": {"lstrip": True}, "🙂x": {"special": False}}.items()):
        values["added_tokens"].append({"id": 400 + k, "content": content, **flags, **more})
    values["pre_tokenizer"] = values["decoder"]
    values["post_processor"] = {
        "type": "TemplateProcessing", "pair": [{"Sequence": {"id": "A", "type_id": 0}}],
        "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<|user|>", "type_id": 0}}],
        "special_tokens": {"<|user|>": {"id": "<|user|>", "ids": [400], "tokens": ["<|user|>"]}},
    }  # fmt: skip
    out.write_text(json.dumps(values))


@pytest.mark.parametrize("kind", KINDS)
def test_native_files_of_a_tokenizer_json_with_tokens(folder: str, tmp_path: Path, kind: str) -> None:
    files(folder, kind)
    with_tokens(Path(folder, f"{kind}space.json"), tmp_path / "a.json")
    convert(tmp_path / "a.json", tmp_path / "b.utk", "native")
    convert(tmp_path / "b.utk", tmp_path / "b.json", "huggingface")
    before, after = (tokenizers.Tokenizer.from_file(str(tmp_path / name)) for name in ("a.json", "b.json"))
    ours = pyunitok.Tokenizer.from_file(tmp_path / "b.utk")
    for one in [*LINES[:20], "a  <|user|>b🙂xc<|endoftext|>", ""]:
        ids = before.encode(one).ids
        assert after.encode(one).ids == ids == ours.encode(one, add_special=True).tolist()
        assert after.decode(ids) == before.decode(ids) == ours.decode(ids)


@pytest.mark.parametrize("name", ["en_web", "ja", "code", "ru", "emoji"])
@pytest.mark.parametrize("kind", KINDS)
def test_ids_of_real_text_match_tokenizers(folder: str, tmp_path: Path, kind: str, name: str) -> None:
    """Models of 3,000 pieces, converted both ways, encode text that they were not trained on."""
    trained = real_model(folder, kind)
    convert(trained, tmp_path / "a.json", "huggingface")
    convert(trained, tmp_path / "a.utk", "native")
    convert(tmp_path / "a.utk", tmp_path / "b.json", "huggingface")
    ours = pyunitok.Tokenizer.from_file(trained)
    theirs = [tokenizers.Tokenizer.from_file(str(tmp_path / x)) for x in ("a.json", "b.json")]
    docs = decompressed(find_shared(f"corpora/{name}.txt.zst"), 300_000).decode(errors="ignore").splitlines(True)
    for one, ids in zip(docs, ours.encode_batch(docs), strict=True):
        assert [x.encode(one).ids for x in theirs] == [ids.tolist()] * 2


@cache
def real_model(folder: str, kind: str) -> Path:
    path = Path(folder, f"real-{kind}.json")
    pyunitok.train(SAMPLE, kind=kind, vocab_size=3000, byte_level=True, out=path)
    return path


# --------------------------------------------------------------------------------------------------- training ----


def slowly_allowed(piece: str, max_chars: int = 6) -> bool:
    """Whether a piece is only spaces, complete characters with at most a leading space, or part of a character."""
    data = bytes_of(piece)
    try:
        characters = data.decode()
    except UnicodeDecodeError:
        return any(data in character.encode() for character in "é日本🎉")
    spaces = not characters.strip(" ")
    return len(characters) <= max_chars and (spaces or " " not in characters[1:])


WORDS = st.dictionaries(st.text("ab é日本🎉", min_size=1, max_size=9), st.integers(1, 9), min_size=1, max_size=6)


@given(WORDS)
@fewer(1)
def test_merges_match_the_oracle(words: dict[str, int]) -> None:
    units = byte_level.mapped(Units.pack([w.replace(" ", "\u2581").encode() for w in words], list(words.values())))
    assert [bytes_of(item.decode()) for item in units.items()] == [word.encode() for word in words]
    rules = Rules({"split_by_whitespace", "whitespace_only", "byte_level"}, 6)
    trainer = c_train_bpe.BpeTrainer(rules, units)
    while trainer.step(40, min_count=2, max_work=1 << 20):
        pass
    counted = Counter({shown(word.encode()): count for word, count in words.items()})
    expected = train_bpe.train(counted, 40, min_count=2, allowed=slowly_allowed)
    assert [item.decode() for item in trainer.pieces().items()] == [piece for piece, _ in expected]


def test_allowed_pieces() -> None:
    rules = Rules({"split_by_whitespace", "split_by_script", "byte_level"}, 3)
    for piece, wanted in {
        " ab": True, "a b": False, "abcd": False, "日本語": True, "日本語の": False, "日": True, "a日": False,
        "é": True, "": False, "\x00a": False, "a\x1f": False,
    }.items():  # fmt: skip
        assert c_train.allowed(rules, shown(piece.encode()).encode()) == wanted, piece
    for data, wanted in {
        b"\xe6\x97": True, b"\x97\xa5": True, b"\x97\xa5\x97": True, b"\x97\xa5\x97\x97": False, b"\xe6": True,
        b"a\xe6": False, b"\xa5a": False, b"\xe6\x97\xa5\xe6": False, b"\xff\xfe": False, b"\xc0\x80": False,
        b"\xf0\x9f\x8e": True,
    }.items():  # fmt: skip
        assert c_train.allowed(rules, shown(data).encode()) == wanted, data
    with pytest.raises(ValueError, match="the flags or max_chars of the rules are invalid"):
        Rules({"byte_level"}, 513)


def test_characters_match_tokenizers() -> None:
    assert sorted(CHARACTERS) == sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    cut = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    sample = "".join(map(chr, range(0x250))) + "日本🎉"
    assert "".join(piece for piece, _ in cut.pre_tokenize_str(sample)) == shown(sample.encode())
    assert bytes_of(shown(bytes(range(256)))) == bytes(range(256))


def test_the_result_does_not_depend_on_threads_and_memory(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n".join(LINES))
    made = []
    for kind in KINDS:
        for k, more in enumerate(({}, {"threads": 2}, {"max_memory": 20000})):
            out = tmp_path / f"{kind}{k}.json"
            pyunitok.train(tmp_path / "a.txt", kind=kind, vocab_size=500, byte_level=True, out=out, **more)
            made.append(out.read_bytes())
    assert made[0] == made[1] == made[2] and made[3] == made[4] == made[5]


def test_symbols_and_ids(tmp_path: Path) -> None:
    tok = pyunitok.train(
        iter(LINES), kind="bpe", vocab_size=400, byte_level=True, control_symbols=["<|user|>"], out=tmp_path / "a.json"
    )
    assert tok.eod_id == 0 and tok.token_to_id("<|user|>") == 1
    assert tok.encode("<|user|>\x00!").tolist() == [1, 2, 2 + ord("!")]
    assert tok.decode_bytes(np.array([2 + 255, 0, 1])) == b"\xff"
    values = json.loads((tmp_path / "a.json").read_bytes())
    assert [token["content"] for token in values["added_tokens"]] == ["<|endoftext|>", "<|user|>"]
    assert list(values["model"]["vocab"].values()) == list(range(400))


@pytest.mark.parametrize("options, error, message", [
    ({"kind": "word"}, OptionError, "byte_level is for unigram and bpe models"),
    ({"compat": "sentencepiece"}, OptionError, "byte_level cannot be combined with compat"),
    ({"normalization_rule_name": "nfkc"}, OptionError, "not normalized with byte_level"),
    ({"add_dummy_prefix": True}, OptionError, "leave out add_dummy_prefix"),
    ({"byte_fallback": True}, OptionError, "byte_fallback cannot be combined with byte_level"),
    ({"user_defined_symbols": "a,b"}, OptionError, "user_defined_symbols cannot be combined"),
    ({"unk_id": 3}, OptionError, "unk_id cannot be combined"),
    ({"vocab_size": 256}, TrainingError, "bytes and symbols alone need 257"),
    ({"out": "a.model"}, OptionError, "a.model: name a byte-level model NAME.json"),
    ({"byte_level": False, "to": "native"}, OptionError, r"to= \(--to\) requires byte_level"),
    ({"hard_vocab_limit": True, "vocab_size": 1 << 20}, TrainingError, "vocab_size is too high"),
])  # fmt: skip
def test_invalid_options(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        pyunitok.train(iter(LINES), **{"kind": "bpe", "vocab_size": 400, "byte_level": True, **options})
    assert not Path("a.model").exists()


def test_no_text() -> None:
    with pytest.raises(TrainingError, match="no text to train on"):
        pyunitok.train(iter([""]), kind="bpe", vocab_size=400, byte_level=True)


def test_command(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n".join(LINES))
    out = tmp_path / "t.json"
    arguments = ["train", "unigram", str(tmp_path / "a.txt"), "-o", str(out), "--vocab-size", "500", "--byte-level"]
    done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert done.exit_code == 0 and "256 byte" in done.output and f"written        {out}\n" in done.output
    assert {path.name for path in tmp_path.iterdir()} == {"a.txt", "t.json"}


# ---------------------------------------------------------------------------------------------------- reading ----


@pytest.mark.filterwarnings("ignore::pyunitok.errors.ModelWarning")
@pytest.mark.parametrize("change, message", [
    ({"decoder": None}, "decoder: a decoder other than ByteLevel requires"),
    ({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
        {"type": "WhitespaceSplit"},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}]}},
     r"pre_tokenizer.pretokenizers\[0\]: the pre-tokenizer WhitespaceSplit before ByteLevel requires"),
    ({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
        {"type": "WhitespaceSplit"}]}},
     r"pre_tokenizer.pretokenizers\[1\]: a pre-tokenizer after ByteLevel requires"),
])  # fmt: skip
def test_other_components_are_delegated(folder: str, tmp_path: Path, change: dict[str, Any], message: str) -> None:
    files(folder, "bpe")
    values = json.loads(Path(folder, "bpespace.json").read_bytes())
    path = tmp_path / "a.json"
    path.write_text(json.dumps({**values, **change}))
    delegated(path, message)


@pytest.mark.parametrize("change", [
    {"normalizer": {"type": "NFC"}},
    {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}},
    {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}},
])  # fmt: skip
def test_c_encodes_with_other_components(folder: str, tmp_path: Path, change: dict[str, Any]) -> None:
    files(folder, "bpe")
    path = tmp_path / "a.json"
    path.write_text(json.dumps({**json.loads(Path(folder, "bpespace.json").read_bytes()), **change}))
    encoded_by_c(path)


def encoded_by_c(path: Path) -> None:
    """Assert that the file opens without `tokenizers`, and that the ids match."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "tokenizers", None)
        check_ids(path, pyunitok.Tokenizer.from_file(path))


def check_ids(path: Path, tokenizer: pyunitok.Tokenizer) -> None:
    reference = tokenizers.Tokenizer.from_file(str(path))
    for one in [*LINES[:5], "the  é日<|endoftext|>"]:
        assert tokenizer.encode(one).tolist() == reference.encode(one).ids


def delegated(path: Path, message: str) -> None:
    """Assert that encoding is left to `tokenizers`, and that opening the file without it raises this error."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "tokenizers", None)
        with pytest.raises(VocabularyError, match=message):
            pyunitok.Tokenizer.from_file(path)
    check_ids(path, pyunitok.Tokenizer.from_file(path))


@pytest.mark.filterwarnings("ignore::pyunitok.errors.ModelWarning")
def test_files_with_unusual_pieces(folder: str, tmp_path: Path) -> None:
    for split_by in ("space", "none"):
        files(folder, "bpe", split_by)
    values = json.loads(Path(folder, "bpenone.json").read_bytes())
    path = tmp_path / "a.json"
    values["model"]["vocab"]["日"] = 400  # not the name of any bytes, so it never matches
    path.write_text(json.dumps(values))
    encoded_by_c(path)
    del values["model"]["vocab"]["日"], values["model"]["vocab"]["ÿ"]  # the byte FF is dropped
    path.write_text(json.dumps(values))
    encoded_by_c(path)
    values = json.loads(Path(folder, "bpenone.json").read_bytes())
    values["pre_tokenizer"] = json.loads(Path(folder, "bpespace.json").read_bytes())["pre_tokenizer"]
    path.write_text(json.dumps(values))  # pieces cross the spaces at which Split splits
    encoded_by_c(path)
    values["model"]["byte_fallback"] = True
    path.write_text(json.dumps(values))
    encoded_by_c(path)
