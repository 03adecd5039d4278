"""pyunitok.compat.tiktoken compared with tiktoken 0.14."""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toys import rank_files
from toys.rank_files import RANKS, SPECIAL, TEXTS

from pyunitok.compat import tiktoken as shim
from pyunitok.compat.tiktoken import core, load, models, registry
from pyunitok.errors import PatternError, VocabularyError
from pyunitok.vocab.patterns import PATTERNS

TOKENS = {"<|endoftext|>": 300, "<|end|>": 301}  # none is a prefix of another
ARGUMENTS: dict[str, Any] = {
    "name": "toy", "pat_str": PATTERNS["cl100k"].tiktoken, "mergeable_ranks": RANKS, "special_tokens": TOKENS,
}  # fmt: skip
WORDS = ["the", " ", "and", "'s", "12", "\n", "\r\n", "日", "é", "<|end|>", "<|", "\ud83d", "\udc4d"]
ALPHABET = st.sampled_from(WORDS)
TEXT = st.lists(ALPHABET, max_size=12).map("".join) | st.text(max_size=20)


@pytest.fixture(scope="module")
def own() -> shim.Encoding:
    return shim.Encoding(**ARGUMENTS)


@pytest.fixture(scope="module")
def reference() -> Any:
    return pytest.importorskip("tiktoken").Encoding(**ARGUMENTS)


def outcome(call: Any, *arguments: Any, **options: Any) -> Any:
    """The result of a call, or the type of its exception."""
    try:
        ret = call(*arguments, **options)
        return ret.tolist() if isinstance(ret, np.ndarray) else ret
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        return type(error)


@given(text=TEXT)
def test_encoding(own: shim.Encoding, reference: Any, text: str) -> None:
    assert own.encode_ordinary(text) == reference.encode_ordinary(text)
    for options in (
        {}, {"allowed_special": "all"}, {"disallowed_special": ()}, {"allowed_special": {"<|end|>"}},
        {"allowed_special": {"<|endoftext|>"}, "disallowed_special": ()}, {"disallowed_special": {"the"}},
    ):  # fmt: skip
        assert outcome(own.encode, text, **options) == outcome(reference.encode, text, **options)
        assert outcome(own.encode_to_numpy, text, **options) == outcome(reference.encode_to_numpy, text, **options)
        batch = [text, "the", text]
        assert outcome(own.encode_batch, batch, **options) == outcome(reference.encode_batch, batch, **options)
    assert own.encode_ordinary_batch([text, ""]) == reference.encode_ordinary_batch([text, ""])


@given(text=TEXT)
def test_pieces_one_by_one(own: shim.Encoding, reference: Any, text: str) -> None:
    pytest.importorskip("regex")  # tiktoken's method requires regex
    if text.isascii():
        assert own._encode_only_native_bpe(text) == own.encode_ordinary(text)
    assert outcome(own._encode_only_native_bpe, text) == outcome(reference._encode_only_native_bpe, text)


@given(text=TEXT)
def test_unstable(own: shim.Encoding, reference: Any, text: str) -> None:
    found, wanted = (
        outcome(encoding.encode_with_unstable, text, allowed_special="all") for encoding in (own, reference)
    )
    if isinstance(wanted, tuple):
        assert found[0] == wanted[0] and sorted(found[1]) == sorted(map(list, wanted[1]))
    else:
        assert found == wanted


@given(data=st.binary(max_size=12) | TEXT.map(lambda text: text.encode("utf-8", "replace")[:-1]))
def test_bytes(own: shim.Encoding, reference: Any, data: bytes) -> None:
    assert own._encode_bytes(data) == reference._encode_bytes(data)
    if data:
        assert own._encode_single_piece(data) == reference._encode_single_piece(data)
        assert outcome(own.encode_single_token, data) == outcome(reference.encode_single_token, data)


@given(tokens=st.lists(st.sampled_from([*RANKS.values(), *TOKENS.values(), 299]), max_size=10))
def test_decoding(own: shim.Encoding, reference: Any, tokens: list[int]) -> None:
    for name in ("decode", "decode_bytes", "decode_tokens_bytes", "decode_with_offsets"):
        assert outcome(getattr(own, name), tokens) == outcome(getattr(reference, name), tokens)
    for name in ("decode_batch", "decode_bytes_batch"):
        assert outcome(getattr(own, name), [tokens, []]) == outcome(getattr(reference, name), [tokens, []])
    for token in tokens:
        assert outcome(own.decode_single_token_bytes, token) == outcome(reference.decode_single_token_bytes, token)
        assert own.is_special_token(token) == reference.is_special_token(token)


@pytest.mark.parametrize("token", [-1, 1 << 32, 1 << 40, "a", b"a", 1.5, None, (1 << 32) - 1])
def test_tokens_that_are_not_ids(own: shim.Encoding, reference: Any, token: Any) -> None:
    """Regression: each of them raised KeyError."""
    for name in ("decode", "decode_bytes", "decode_tokens_bytes", "decode_with_offsets"):
        for tokens in ([token], [97, token], [299, token], [token, 299]):
            wanted = outcome(getattr(reference, name), tokens)
            assert wanted in (KeyError, OverflowError, TypeError)
            assert outcome(getattr(own, name), tokens) == wanted
    for name in ("decode_batch", "decode_bytes_batch"):
        assert outcome(getattr(own, name), [[token]]) == outcome(getattr(reference, name), [[token]])
    assert outcome(own.decode_single_token_bytes, token) == outcome(reference.decode_single_token_bytes, token)


def test_vocabulary(own: shim.Encoding, reference: Any) -> None:
    for name in ("name", "n_vocab", "max_token_value", "eot_token", "special_tokens_set"):
        assert getattr(own, name) == getattr(reference, name)
    assert own.token_byte_values() == reference.token_byte_values()
    assert repr(own) == repr(reference)


def test_messages(own: shim.Encoding) -> None:
    with pytest.raises(ValueError, match=r"disallowed special token '<\|end\|>'(.|\n)*allowed_special"):
        own.encode("a<|end|>")
    with pytest.raises(TypeError, match="expected a string, not bytes"):
        own.encode_ordinary(b"a")  # type: ignore[arg-type]
    with pytest.raises(PatternError, match="toy: the pattern"):
        shim.Encoding(**ARGUMENTS | {"pat_str": "(a"})
    with pytest.raises(VocabularyError, match="byte 0x00 has no piece"):
        shim.Encoding(**ARGUMENTS | {"mergeable_ranks": {b"a": 0}})
    with pytest.raises(AssertionError):
        shim.Encoding(**ARGUMENTS, explicit_n_vocab=3)


def test_the_longest_special_token_matches() -> None:
    encoding = shim.Encoding(**ARGUMENTS | {"special_tokens": SPECIAL})
    assert encoding.encode("<|end|>x<|end|>", allowed_special="all") == [302, 301]
    assert encoding.encode("<|end|>x", allowed_special={"<|end|>"}, disallowed_special=()) == [301, ord("x")]


def test_pickling(own: shim.Encoding, monkeypatch: pytest.MonkeyPatch) -> None:
    again = pickle.loads(pickle.dumps(own))
    assert [again.encode_ordinary(text) for text in TEXTS] == [own.encode_ordinary(text) for text in TEXTS]
    monkeypatch.setitem(core.ENCODINGS, "toy", own)
    assert pickle.loads(pickle.dumps(own)).__dict__ is own.__dict__


def test_named_encodings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(core, "ENCODINGS", {})
    assert shim.list_encoding_names() == [*registry._ROWS]
    with pytest.raises(ValueError, match=r"cl100k_base\.tiktoken is not in .* 9b5ad71b2ce5302211f9c61530b329a4922fc6"):
        shim.get_encoding("cl100k_base")
    with pytest.raises(ValueError, match="unknown encoding x"):
        shim.get_encoding("x")
    file = tmp_path / "cl100k_base.tiktoken"
    file.write_bytes(rank_files.lines())
    with pytest.raises(ValueError, match="its SHA-256 is not"):
        shim.get_encoding("cl100k_base")
    row = registry._ROWS["cl100k_base"]._replace(sha256=hashlib.sha256(file.read_bytes()).hexdigest())
    monkeypatch.setitem(registry._ROWS, "cl100k_base", row)
    encoding = shim.encoding_for_model("gpt-4-32k")
    assert encoding is shim.get_encoding("cl100k_base")
    assert encoding.encode("the<|endoftext|>", allowed_special="all") == [257, 100257]


def test_models() -> None:
    public = pytest.importorskip("tiktoken.model")
    assert models.MODEL_TO_ENCODING == public.MODEL_TO_ENCODING
    assert list(models.MODEL_PREFIX_TO_ENCODING.items()) == list(public.MODEL_PREFIX_TO_ENCODING.items())
    assert shim.encoding_name_for_model("ft:gpt-4o-mini") == "o200k_base"
    with pytest.raises(KeyError, match="no known encoding"):
        shim.encoding_name_for_model("x")


def test_an_id_with_two_names_decodes_to_the_first() -> None:
    tokens = registry._ROWS["o200k_harmony"].special_tokens
    encoding = shim.Encoding(**{**ARGUMENTS, "special_tokens": tokens})
    for token in ("<|endofprompt|>", "<|reserved_200018|>"):
        assert encoding.encode(token, allowed_special="all") == [200018]
    assert encoding.decode([200018]) == "<|endofprompt|>"


def test_named_encodings_match_tiktoken(monkeypatch: pytest.MonkeyPatch) -> None:
    public = pytest.importorskip("tiktoken_ext.openai_public")
    for name in ("load_tiktoken_bpe", "data_gym_to_mergeable_bpe_ranks"):
        monkeypatch.setattr(public, name, lambda *_arguments, **_options: {})
    for name, make in public.ENCODING_CONSTRUCTORS.items():
        values, row = make(), registry._ROWS[name]
        pattern = PATTERNS[row.pattern]
        assert values["pat_str"] == (pattern.tiktoken or pattern.parts[0])
        assert (values["special_tokens"], values.get("explicit_n_vocab")) == (row.special_tokens, row.n_vocab)


def test_rank_files(tmp_path: Path) -> None:
    load.dump_tiktoken_bpe(RANKS, tmp_path / "a.tiktoken")
    assert load.load_tiktoken_bpe(tmp_path / "a.tiktoken") == RANKS
    public = pytest.importorskip("tiktoken.load")
    assert public.load_tiktoken_bpe(str(tmp_path / "a.tiktoken")) == RANKS
