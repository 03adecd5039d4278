"""pyunitok.compat.sentencepiece.SentencePieceNormalizer and its compiled charsmaps, compared with sentencepiece."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sentencepiece_pairs import MAYBE, agree, outcome, reference

import pyunitok.compat.sentencepiece as spm
from pyunitok.vocab import charsmap as charsmaps
from pyunitok.vocab import sentencepiece_proto

RULES = st.dictionaries(
    st.text("ab日😀 x", min_size=1, max_size=3), st.text("ab日😀 y", max_size=3), min_size=1, max_size=6
).map(lambda rules: {key: value for key, value in rules.items() if key != value})


@given(
    rules=RULES.filter(bool),
    texts=st.lists(st.text("ab日😀 xy", max_size=9), max_size=3),
    flags=st.lists(MAYBE, min_size=3, max_size=3),
)
def test_normalizer_with_rules(rules: dict[str, str], texts: list[str], flags: list[bool | None]) -> None:
    names = ["add_dummy_prefix", "escape_whitespaces", "remove_extra_whitespaces"]
    kwargs = {name: flag for name, flag in zip(names, flags, strict=True) if flag is not None}
    pair = tuple(m.SentencePieceNormalizer(norm_map=list(rules.items()), **kwargs) for m in (spm, reference))
    for with_offsets in (False, True):
        agree(pair, "normalize", texts, with_offsets=with_offsets)
    agree(pair, "decompile")
    agree(pair, "serialized_normalizer_spec")
    assert pair[0].decompile() == sorted(rules.items())
    # Each library reads the other's files.
    crossed = (
        spm.SentencePieceNormalizer(model_proto=pair[1].serialized_model_proto()),
        reference.SentencePieceNormalizer(normalizer_spec=pair[0].serialized_normalizer_spec()),
    )
    agree(crossed, "normalize", texts)
    agree((pickle.loads(pickle.dumps(pair[0])), pair[1]), "normalize", texts)


@pytest.mark.parametrize("kwargs", [
    {}, {"model_file": "/missing"}, {"model_proto": b"x"}, {"rule_name": "nonsense"}, {"rule_tsv": "/missing"},
    {"normalizer_spec": b"\n"}, {"norm_map": {"a": "b"}}, {"norm_map": [("a",)]}, {"norm_map": [(1, 2)]},
    {"norm_map": 5}, {"norm_map": [("a", "a")]}, {"norm_map": [("", "a")]}, {"norm_map": [(b"\xff", b"a")]},
    {"norm_map": [("a", "b"), (b"a", b"c")]},
], ids=repr)  # fmt: skip
def test_invalid_arguments(kwargs: dict[str, Any]) -> None:
    ours, theirs = (outcome(lambda m=m: m.SentencePieceNormalizer(**kwargs)) for m in (spm, reference))
    assert isinstance(theirs, Exception) and isinstance(ours, type(theirs))


def test_rules_from_a_file(tmp_path: Path) -> None:
    """Regression: the charsmap of one rule took 4 KB instead of 1 KB."""
    path = tmp_path / "rules.tsv"
    path.write_text("41\t61\n")
    pair = tuple(m.SentencePieceNormalizer(rule_tsv=str(path)) for m in (spm, reference))
    agree(pair, "normalize", ["ABA b"], with_offsets=True)
    spec = sentencepiece_proto.message("NormalizerSpec")
    model = sentencepiece_proto.message("ModelProto")
    found = [
        [spec.FromString(one.serialized_normalizer_spec()), model.FromString(one.serialized_model_proto())]
        for one in pair
    ]
    for one, proto in found:
        assert (one.name, one.normalization_rule_tsv) == (b"user_defined", os.fsencode(path))
        assert proto.normalizer_spec == one
    agree(pair, "serialized_normalizer_spec")


@pytest.mark.parametrize("alphabet", ["abc", "日本語東京都かな", "".join(map(chr, range(0x100, 0xD000, 50)))])
def test_many_rules(alphabet: str) -> None:
    """The charsmaps have several blocks, states shared by many keys, and offsets of more than 21 bits."""
    random = Random(alphabet)
    rules = {
        "".join(random.choices(alphabet, k=random.choice((1, 2, 2, 3, 9)))): random.choice(alphabet) + "x"
        for _ in range(3000)
    }
    pair = tuple(m.SentencePieceNormalizer(norm_map=list(rules.items())) for m in (spm, reference))
    agree(pair, "serialized_normalizer_spec")


@pytest.mark.slow
@pytest.mark.parametrize("name", charsmaps.NAMES)
def test_named_rules_compile_to_the_same_charsmap(name: str) -> None:
    charsmap = charsmaps.named(name)
    assert charsmap and charsmaps.compile_rules(dict(charsmaps.decompile(charsmap))) == charsmap


@pytest.mark.parametrize("name", ["identity", "nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf"])
def test_named_rules(name: str) -> None:
    pair = tuple(m.SentencePieceNormalizer(rule_name=name) for m in (spm, reference))
    agree(pair, "normalize", ["ＡＢＣ　①", "㍻ﾊﾟ\u200b x", "  É  "], with_offsets=True)
    agree(pair, "serialized_normalizer_spec")


def test_syntax_of_a_rules_file(tmp_path: Path) -> None:
    path = tmp_path / "rules.tsv"
    path.write_text("0041\t0042\t# A\nU+61 62\t\n1F600\t78 79\n", encoding="utf-8")
    pair = tuple(m.SentencePieceNormalizer(rule_tsv=str(path)) for m in (spm, reference))
    agree(pair, "normalize", ["A ab a😀", "aab"])
    agree(pair, "decompile")
    path.write_text("zz\t0042\n", encoding="utf-8")
    with pytest.raises(RuntimeError, match=r"rules\.tsv:1"):
        spm.SentencePieceNormalizer(rule_tsv=str(path))


def test_too_many_rules_with_a_common_prefix() -> None:
    rules = {"a" * n: "b" for n in range(1, 40)}
    with pytest.raises(RuntimeError):
        charsmaps.compile_rules(rules)
    with pytest.raises(RuntimeError):
        reference.SentencePieceNormalizer(norm_map=list(rules.items()))
    most = dict(list(rules.items())[: charsmaps.KEYS_MAX])
    assert spm.SentencePieceNormalizer(norm_map=list(most.items()), add_dummy_prefix=False).normalize("a" * 31) == "b"
