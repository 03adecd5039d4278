"""Models defined by ranks: tiktoken files, tekken.json, vocab.json with merges.txt, and folders that hold a model."""

from __future__ import annotations

import hashlib
import json
import pickle
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from toys import rank_files
from toys.rank_files import RANKS, SPECIAL, TEXTS

from pyunitok import Tokenizer
from pyunitok.cli import cli
from pyunitok.errors import ModelFormatError, OptionError, UnitokError, VocabularyError
from pyunitok.vocab import merges, patterns, ranks, tekken, tiktoken
from pyunitok.vocab.convert import convert
from pyunitok.vocab.patterns import PATTERNS, ReadOptions


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rank_files.write(tmp_path_factory.mktemp("ranks") / "toy.tiktoken")


@pytest.fixture(scope="module")
def tokenizer(path: Path) -> Tokenizer:
    return Tokenizer.from_file(path, pattern="cl100k", special_tokens=SPECIAL)


@pytest.fixture(scope="module")
def reference() -> Any:
    module = pytest.importorskip("tiktoken")
    return module.Encoding(
        "toy", pat_str=PATTERNS["cl100k"].tiktoken, mergeable_ranks=RANKS, special_tokens=SPECIAL | {"<|end|>x": 302}
    )


@pytest.mark.parametrize("text", TEXTS)
def test_ids_are_those_of_tiktoken(tokenizer: Tokenizer, reference: Any, text: str) -> None:
    assert tokenizer.encode(text, special=False).tolist() == reference.encode_ordinary(text)
    if "<|end|>x" not in text:  # tiktoken may match <|end|> or <|end|>x
        assert tokenizer.encode(text).tolist() == reference.encode(text, allowed_special="all")


@given(text=st.text(st.sampled_from("the and'S12 \n\r\t日é<|>x\u0301"), max_size=60) | st.text(max_size=20))
def test_random_texts(tokenizer: Tokenizer, reference: Any, text: str) -> None:
    ids = tokenizer.encode(text, special=False)
    assert ids.tolist() == reference.encode_ordinary(text)
    assert tokenizer.decode(ids) == text


def test_words_that_share_slots_of_the_memo(tokenizer: Tokenizer, reference: Any) -> None:
    """Each of 50,000 words occurs three times. Entries with many ids are stored outside the 262,144 slots."""
    rng = random.Random(7)
    words = ["".join(rng.choices("thenadqx", k=rng.randint(4, 14))) for _ in range(50_000)] * 3
    rng.shuffle(words)
    text = " ".join(words)
    assert tokenizer.encode(text).tolist() == reference.encode_ordinary(text)


def test_special_tokens(tokenizer: Tokenizer) -> None:
    text = "a<|end|>xyz<|endoftext|><|end|>"
    ids = tokenizer.encode(text).tolist()
    assert [id_ for id_ in ids if id_ >= 300] == [302, 300, 301]  # the longest token matches
    assert tokenizer.decode(ids) == "ayz"
    assert tokenizer.decode(ids, skip_special=False) == text
    assert (tokenizer.eod_id, tokenizer.eos_id, tokenizer.vocab_size) == (300, 300, 303)
    assert [ids.tolist() for ids in tokenizer.encode_batch(["<|end|>", "the"])] == [[301], [257]]
    assert pickle.loads(pickle.dumps(tokenizer)).encode(text).tolist() == ids


def test_offsets(tokenizer: Tokenizer) -> None:
    text = "the日<|end|> and\xff"
    ids, spans = tokenizer.encode_with_offsets(text.encode())
    data = text.encode()
    assert b"".join(data[begin:end] for begin, end in spans.tolist()) == data
    assert ids.tolist() == tokenizer.encode(text).tolist()
    _, spans = tokenizer.encode_with_offsets(text)
    assert spans.tolist()[:2] == [[0, 3], [3, 4]]


def test_without_special_tokens_the_model_is_lossless(path: Path) -> None:
    tokenizer = Tokenizer.from_file(path, pattern="gpt2")
    assert tokenizer.lossless
    data = bytes(random.Random(1).choices(range(256), k=2000))
    assert tokenizer.decode_bytes(tokenizer.encode(data)) == data


def test_a_native_file_keeps_all_settings(tokenizer: Tokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path / "toy.utk")
    again = Tokenizer.from_file(tmp_path / "toy.utk")
    assert again == tokenizer and [again.encode(text).tolist() for text in TEXTS] == [
        tokenizer.encode(text).tolist() for text in TEXTS
    ]


# --------------------------------------------------------------------------------------------------- patterns ----


@pytest.mark.parametrize("name", PATTERNS)
def test_named_patterns_compile_in_both_dialects(name: str) -> None:
    for parts in (patterns.parts_for_tiktoken(name), patterns.parts_for_tokenizers(name)):
        assert patterns.check(parts, name) == parts
        assert patterns.tokenizers_regexes(parts) == list(PATTERNS[name].parts)


def test_pattern_errors(path: Path) -> None:
    with pytest.raises(OptionError, match="pass it with --pattern"):
        Tokenizer.from_file(path)
    with pytest.raises(OptionError, match="did you mean cl100k"):
        Tokenizer.from_file(path, pattern="cl100")
    with pytest.raises(VocabularyError, match=r"toy\.tiktoken: the pattern '\(a': .*"):
        Tokenizer.from_file(path, pattern="(a")
    with pytest.raises(OptionError, match="specifies its own pattern"):
        Tokenizer.from_file(_native(path), pattern="gpt2")
    for tokens in (["x"], {"": 300}, {"x": "1"}, {"\ud800": 300}):
        with pytest.raises(OptionError):
            Tokenizer.from_file(path, pattern="gpt2", special_tokens=tokens)  # type: ignore[arg-type]
    with pytest.raises(VocabularyError, match="the same id, 256"):
        Tokenizer.from_file(path, pattern="gpt2", special_tokens={"x": 256})


def _native(path: Path) -> Path:
    target = path.with_suffix(".utk")
    Tokenizer.from_file(path, pattern="gpt2").save(target)
    return target


# ---------------------------------------------------------------------------------------------------- hostile ----


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"!!!! 300", "line 257: b'!!!!' is not base64"), (b"YWI=", "expected base64, a space and a rank"),
        (b"YWI= x", "b'x' is not a rank"), (b"YWI= -1", "not a rank"), (b"YWI= 1_0", "not a rank"),
        (b"YWI= 99999999999", "not a rank"), (b"YWI= 9999999", "not within 0..4194303"), (b"YQ== 300", "is repeated"),
        (b"YWI= 7", "the same id, 7"), (b"YWI=  300", "expected base64"), (b"YWI 300", "is not base64"),
    ],
)  # fmt: skip
def test_damaged_lines_are_named(line: bytes, message: str) -> None:
    data = rank_files.lines({piece: id_ for piece, id_ in RANKS.items() if id_ < 256}) + line + b"\n"
    with pytest.raises(VocabularyError, match=message.replace("..", r"\.\.")):
        tiktoken.read(data, "x.tiktoken", ReadOptions("gpt2"))


def test_a_byte_without_a_piece() -> None:
    with pytest.raises(VocabularyError, match="byte 0x07 has no piece"):
        tiktoken.read(
            rank_files.lines({piece: id_ for piece, id_ in RANKS.items() if id_ != 7}), "x", ReadOptions("gpt2")
        )


def _damaged(data: bytes, seed: int) -> Iterator[bytes]:
    rng = random.Random(seed)
    for _ in range(150):
        copy = bytearray(data)
        for _ in range(rng.randint(1, 4)):
            copy[rng.randrange(len(copy))] = rng.choice([*b'0 "\n[]{}:,=', rng.randrange(256)])
        yield bytes(copy[: rng.choice([len(copy), rng.randrange(len(copy))])])


def test_damaged_files_raise_only_our_errors() -> None:
    small = tekken.read(json.dumps(rank_files.tekken()).encode(), "x", ReadOptions())
    assert small.build().info.n_ids == 290
    readers = [
        (rank_files.lines(), lambda data: tiktoken.read(data, "x", ReadOptions("gpt2", SPECIAL))),
        (json.dumps(rank_files.tekken()).encode(), lambda data: tekken.read(data, "x", ReadOptions())),
    ]
    for data, read in readers:
        for damaged in _damaged(data, 5):
            try:
                read(damaged).build()
            except UnitokError as error:
                assert str(error).startswith("x")


# ----------------------------------------------------------------------------------------------- other files ----


def test_tekken(tmp_path: Path) -> None:
    (tmp_path / "tekken.json").write_text(json.dumps(rank_files.tekken()))
    tokenizer = Tokenizer.from_pretrained(tmp_path)
    assert tokenizer.encode("the[INST]").tolist() == [20 + RANKS[b"the"], 3]
    assert (tokenizer.vocab_size, tokenizer.bos_id, tokenizer.eos_id) == (290, 1, 2)
    assert Tokenizer.from_file(tmp_path / "tekken.json").name == "tekken"
    named = [{"rank": 0, "token_str": "<unk>"}, {"rank": 2, "token_str": "</s>"}]
    (tmp_path / "tekken.json").write_text(json.dumps(rank_files.tekken(special_tokens=named)))
    assert Tokenizer.from_pretrained(tmp_path).encode("<SPECIAL_1></s>").tolist() == [1, 2]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"config": {}}, "config"), ({"vocab": []}, "expected at least 270 pieces"),
        ({"vocab": [1] * 300}, r"vocab\[0\]"),
        ({"vocab": rank_files.tekken()["vocab"][::-1]}, r"vocab\[0\].rank: expected 0"),
        ({"special_tokens": [{"rank": 99, "token_str": "x"}]}, "special_tokens"),
        ({"special_tokens": [{"rank": 1, "token_str": "<SPECIAL_0>"}]}, "the default name of another id"),
    ],
)  # fmt: skip
def test_damaged_tekken(changes: dict[str, Any], message: str) -> None:
    with pytest.raises((VocabularyError, ModelFormatError), match=message):
        tekken.read(json.dumps(rank_files.tekken(**changes)).encode(), "x.json", ReadOptions())


def test_vocab_merges(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    folder = rank_files.write_vocab_merges(tmp_path / "model")
    for path in (folder, folder / "vocab.json", folder / "merges.txt"):
        tokenizer = Tokenizer.from_file(path)
        assert tokenizer.encode("the the<|endoftext|>a").tolist() == [8, 7, 9, 10]
    assert Tokenizer.from_file(folder, special_tokens={"<x>": 11}).encode("a<x>").tolist() == [10, 11]
    config = {"added_tokens_decoder": {"11": {"content": "<x>"}}, "tokenizer_class": "Qwen2TokenizerFast"}
    folder = rank_files.write_vocab_merges(tmp_path / "qwen", tokenizer_config=config)
    assert Tokenizer.from_pretrained(folder).encode("a<x> the").tolist() == [10, 11, 7]
    folder = rank_files.write_vocab_merges(tmp_path / "old", special_tokens_map={"bos_token": {"content": "<x>"}})
    assert Tokenizer.from_pretrained(folder).encode("<x>a").tolist() == [11, 10]


def test_damaged_vocab_merges(tmp_path: Path) -> None:
    folder = rank_files.write_vocab_merges(tmp_path / "model")
    for text, message in (("t h\nt\n", "line 2: expected two pieces"), ("t h\nh t\n", "line 2: 'ht' is not in")):
        (folder / "merges.txt").write_text(text)
        with pytest.raises(VocabularyError, match=message):
            Tokenizer.from_file(folder)
    (folder / "merges.txt").write_bytes(b"t h\n\xff h\n")
    with pytest.raises(VocabularyError, match="line 2: invalid UTF-8"):
        Tokenizer.from_file(folder)
    (folder / "vocab.json").write_text("[")
    with pytest.raises(ModelFormatError, match="not a valid JSON file"):
        Tokenizer.from_file(folder)
    (folder / "vocab.json").unlink()
    with pytest.raises(ModelFormatError, match="its vocabulary is missing"):
        Tokenizer.from_file(folder / "merges.txt")


def test_prefix_space_in_a_folder(tmp_path: Path) -> None:
    """As in GPT2Tokenizer, the space is added before the text, not before every piece."""
    library = pytest.importorskip("tokenizers")
    rank_files.write(tmp_path / "toy.tiktoken")
    folder = tmp_path / "folder"
    convert(tmp_path / "toy.tiktoken", folder, "vocab-merges", pattern="gpt2")
    config = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(config | {"add_prefix_space": True}))
    other = library.Tokenizer(library.models.BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt")))
    other.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=True)
    for text in ("the then, the\n 12 the", " the", "", "\n"):
        assert Tokenizer.from_file(folder).encode(text).tolist() == other.encode(text).ids


@pytest.mark.parametrize("name", ["r50k_base", "p50k_base", "p50k_edit", "cl100k_base", "o200k_base", "o200k_harmony"])
def test_known_files_match_the_registry_of_tiktoken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The SHA-256, the pattern and the special tokens match; the files themselves are not needed."""
    public = pytest.importorskip("tiktoken_ext.openai_public")
    hashes = []
    monkeypatch.setattr(public, "load_tiktoken_bpe", lambda url, expected_hash: hashes.append(expected_hash) or {})
    theirs = public.ENCODING_CONSTRUCTORS[name]()
    own = tiktoken.KNOWN[hashes[0]]
    pattern = name if name in own.variants else own.pattern
    expected = theirs["special_tokens"]
    if name == "o200k_harmony":
        assert expected["<|reserved_200018|>"] == expected["<|endofprompt|>"] == 200018
    assert own.variants.get(pattern, own.special_tokens)(50256, {}) == expected
    assert patterns.parts_for_tiktoken(pattern) == b"t" + theirs["pat_str"].encode()


def test_two_names_of_one_id(path: Path, tmp_path: Path) -> None:
    """As in tiktoken, both names encode to the id, which decodes to the first."""
    tokens = {"<|one|>": 300, "<|two|>": 300, "<|three|>": 301}
    tokenizer = Tokenizer.from_file(path, pattern="gpt2", special_tokens=tokens)
    tokenizer.save(tmp_path / "saved.utk")
    notes = convert(tmp_path / "saved.utk", tmp_path / "tokenizer.json", "huggingface")
    assert notes == ["only the first special token of each id is kept; lost: '<|two|>'"]
    for each in (tokenizer, Tokenizer.from_file(tmp_path / "saved.utk")):
        assert each.encode("<|two|><|three|><|one|>").tolist() == [300, 301, 300]
        assert each.decode([300, 301], skip_special=False) == "<|one|><|three|>"
    other = Tokenizer.from_file(tmp_path / "tokenizer.json")
    assert other.encode("<|three|><|one|>").tolist() == [301, 300]
    assert other.decode([300], skip_special=False) == "<|one|>"
    library = pytest.importorskip("tiktoken")
    theirs = library.Encoding("toy", pat_str=PATTERNS["gpt2"].tiktoken, mergeable_ranks=RANKS, special_tokens=tokens)
    assert theirs.encode("<|two|><|three|><|one|>", allowed_special="all") == [300, 301, 300]


def test_a_pattern_selects_special_tokens(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = hashlib.sha256(path.read_bytes()).hexdigest()
    whisper = next(known for known in tiktoken.KNOWN.values() if "whisper_v3" in known.variants)
    monkeypatch.setitem(tiktoken.KNOWN, key, whisper)
    n = len(RANKS)
    rows = [(None, "su", n + 106), ("whisper", "su", n + 106), ("whisper_v3", "yue", n + 107)]
    for pattern, language, notimestamps in rows:
        tokenizer = Tokenizer.from_file(path, pattern=pattern)
        assert tokenizer.encode(f"<|endoftext|><|{language}|><|notimestamps|>").tolist()[::2] == [n, notimestamps]
        assert tokenizer.vocab_size == notimestamps + 1502
    assert len(tokenizer.encode("<|yue|>")) == 1
    assert len(Tokenizer.from_file(path, pattern="gpt2").encode("<|yue|>")) > 1
    assert len(Tokenizer.from_file(path, pattern="whisper_v3", special_tokens={}).encode("<|yue|>")) > 1


def test_folders(tmp_path: Path, path: Path) -> None:
    with pytest.raises(ModelFormatError, match="there is no model in this folder"):
        Tokenizer.from_pretrained(tmp_path)
    with pytest.raises(ModelFormatError, match="is not a folder"):
        Tokenizer.from_pretrained(tmp_path / "missing")
    (tmp_path / "tokenizer.model").write_bytes(path.read_bytes())
    config = {"tokenizer_class": "TikTokenTokenizer", "added_tokens_decoder": {"300": {"content": "[EOS]"}}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    tokenizer = Tokenizer.from_pretrained(tmp_path)
    assert tokenizer.encode("the[EOS]").tolist() == [257, 300]
    assert tokenizer.codec.model.spec()["pattern"] == patterns.parts_for_tiktoken("kimi")
    (tmp_path / "tokenizer_config.json").write_text('{"added_tokens_decoder": {"x": {}}}')
    with pytest.raises(VocabularyError, match=r"added_tokens_decoder\.x: expected an id"):
        Tokenizer.from_pretrained(tmp_path)


# ------------------------------------------------------------------------------------------------------- cuts ----


def slow_cut(text: str) -> Iterator[str]:
    """The parts that ranks.cut() returns, computed one character at a time."""
    for begin in range(0, len(text), ranks.CHUNK_CHARACTERS):
        part, run, was_space = "", 0, None
        for character in text[begin : begin + ranks.CHUNK_CHARACTERS]:
            run = run + 1 if character.isspace() == was_space else 1
            was_space = character.isspace()
            if run > ranks.RUN_CHARACTERS:
                yield part
                part, run = "", 1
            part += character
        yield part


def test_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks, "CHUNK_CHARACTERS", 40)
    monkeypatch.setattr(ranks, "RUN_CHARACTERS", 5)
    monkeypatch.setattr(ranks, "_LONG_RUN", ranks.re.compile(r"\S{6,}|\s{6,}"))
    rng = random.Random(2)
    for _ in range(300):
        text = "".join(rng.choice("a日 \x1c\u3000\u200b") * rng.randint(1, 9) for _ in range(rng.randint(1, 12)))
        assert [part.decode() for part in ranks.cut(text.encode())] == list(slow_cut(text))


# ----------------------------------------------------------------------------------------------------- merges ----


def test_last_merges_produce_the_pieces() -> None:
    found = merges.by_rank(RANKS, RANKS)
    assert found[b" the"] == (b" ", b"the")
    assert b"\n \n" not in found  # not the merge of two other pieces
    listed = {pair: rank for rank, pair in enumerate(found.values())}
    assert merges.by_list(listed, RANKS) == found


# -------------------------------------------------------------------------------------------------------- CLI ----


def test_pattern_on_the_command_line(path: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke
    found = run(cli, ["encode", "-m", str(path), "--pattern", "cl100k", "the the"])
    assert (found.exit_code, found.output) == (0, "257 258\n")
    text, out = tmp_path / "a.txt", tmp_path / "a.u16"
    text.write_text("the the\n")
    tokenize = ["tokenize", str(text), "--eod", "0", "-o", str(out), "-m", str(path), "--pattern", "cl100k"]
    assert run(cli, tokenize).exit_code == 0
    assert json.loads((tmp_path / "a.u16.json").read_text())["model"]["read_options"] == {"pattern": "cl100k"}
    back = tmp_path / "b.txt"
    assert run(cli, ["detokenize", str(out), "-o", str(back)]).exit_code == 0  # the manifest contains the pattern
    assert back.read_text() == "the the\n"
    assert "lossless  yes" in run(cli, ["inspect", str(path), "--pattern", "gpt2"]).output
    assert isinstance(run(cli, ["encode", "--pattern", "gpt2", "x"]).exception, OptionError)
