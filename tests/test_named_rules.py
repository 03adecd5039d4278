"""The named normalization rules that the package includes."""

from __future__ import annotations

import unicodedata
from importlib import metadata
from pathlib import Path

import pytest

import pyunitok
from pyunitok.errors import TrainingError
from pyunitok.vocab import charsmap, sentencepiece_proto


@pytest.mark.parametrize("name", charsmap.NAMES)
def test_named_rules_match_sentencepiece(name: str) -> None:
    try:
        files = {item.name: Path(str(item.locate())) for item in metadata.files("sentencepiece") or []}
        version = metadata.version("sentencepiece")
    except metadata.PackageNotFoundError:
        pytest.skip("sentencepiece is not installed")
    if version != "0.2.3":
        pytest.skip(f"sentencepiece {version} may have different rules")
    assert charsmap.named(name) == files[f"{name}.bin"].read_bytes()


@pytest.mark.slow
def test_named_rules_match_unicode() -> None:
    """Rules produce NFKC forms if this Python's version of Unicode assigns their characters."""
    rules = charsmap.decompile(charsmap.named("nfkc") or b"")
    known = [(key, value) for key, value in rules if all(unicodedata.category(c) != "Cn" for c in key)]
    assert len(known) > 200_000
    assert all(unicodedata.normalize("NFKC", key) == value for key, value in known)
    singles = {key for key, _ in rules if len(key) == 1}
    changed = {c for c in map(chr, range(0x110000)) if unicodedata.normalize("NFKC", c) != c}
    assert changed <= singles | {chr(c) for c in range(0xD800, 0xE000)}


def test_training_does_not_require_sentencepiece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "files", none)
    out = tmp_path / "m.model"
    tokenizer = pyunitok.train(iter(["\uff21\uff22\uff23 \u2460 abc"]), kind="char", vocab_size=20, out=out)
    assert tokenizer.decode(tokenizer.encode("\uff21")) == "A"
    model = sentencepiece_proto.message("ModelProto").FromString(out.read_bytes())
    assert model.normalizer_spec.precompiled_charsmap == charsmap.named("nmt_nfkc")


def test_an_unknown_name(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="nmt_nfkc, nfkc, nmt_nfkc_cf, nfkc_cf, identity"):
        pyunitok.train(iter(["a"]), kind="char", vocab_size=20, normalization_rule_name="nfd")
    assert charsmap.named("nfkc", tmp_path) is None
    (tmp_path / "nfkc.bin").write_bytes(b"mine")
    assert charsmap.named("nfkc", tmp_path) == b"mine"
