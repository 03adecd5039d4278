"""Native files of models that know text: saved, opened, pickled; damaged ones are refused or work."""

from __future__ import annotations

import pickle
import random
from pathlib import Path

import pytest
from conftest import CPUS, fewer
from hypothesis import given
from hypothesis import strategies as st
from test_native import file_of, read, refused, sign
from toys.text_models import KINDS, text_of, tokenizer, toy

from pyunitok import IdError, ModelFormatError, Tokenizer, VocabularyError

pytest.importorskip("google.protobuf")


@given(st.integers(0, 1 << 48), st.sampled_from(list(KINDS)))
@fewer(4)
def test_save_open_pickle(tmp_path_factory: pytest.TempPathFactory, seed: int, kind: str) -> None:
    rng = random.Random(seed)
    proto, alphabet = toy(rng, kind)
    tok, path = tokenizer(proto), tmp_path_factory.mktemp("native") / "toy.utk"
    texts = [text_of(rng, proto, alphabet)[:2000] for _ in range(4)]
    tok.save(path)
    for again in (pickle.loads(pickle.dumps(tok)), *(Tokenizer.from_file(path, cpu=cpu) for cpu in CPUS)):
        assert (again.kind, again.vocab_size, again.sha256, again.unk_id, again.bos_id, again.eod_id) == (
            tok.kind, tok.vocab_size, tok.sha256, tok.unk_id, tok.bos_id, tok.eod_id
        )  # fmt: skip
        for text in texts:
            ids = tok.encode(text)
            assert again.encode(text).tolist() == ids.tolist()
            assert again.encode_with_offsets(text)[1].tolist() == tok.encode_with_offsets(text)[1].tolist()
            assert again.decode_bytes(ids) == tok.decode_bytes(ids)
        assert again.pieces() == tok.pieces()
        assert bytes(file_of(again)) == path.read_bytes()


@pytest.mark.parametrize("kind", list(KINDS))
def test_cut_short_and_changed(kind: str) -> None:
    good = file_of(tokenizer(toy(random.Random(4), kind)[0]))
    rng = random.Random(kind)
    for _ in range(40):
        n = rng.randrange(len(good))
        refused(good[:n])
        if n >= 32:
            refused(sign(bytearray(good[:n])))
    for _ in range(20):  # the checksum tells
        bad = bytearray(good)
        bad[rng.randrange(24, len(bad))] ^= 1 << rng.randrange(8)
        refused(bad, "")


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("seed", range(4))
def test_hostile_changes(kind: str, seed: int) -> None:
    """The checksum recomputed after the damage: an error that says so, or a model that works."""
    rng = random.Random(seed)
    proto, alphabet = toy(rng, kind)
    good = file_of(tokenizer(proto))
    for _ in range(25):
        bad = bytearray(good)
        for _ in range(rng.choice([1, 1, 2, 10])):
            at = rng.randrange(8, rng.choice([80, len(bad)]))
            new = rng.choice([b"\0", b"\xff", b"\xff" * 8, b"\0" * 8, b"\x7f", rng.randbytes(8)])
            bad[at : at + len(new)] = new[: len(bad) - at]
        try:
            model, about = read(sign(bad))
        except (ModelFormatError, VocabularyError):
            continue
        tok = Tokenizer(model, about)
        for text in (text_of(rng, proto, alphabet)[:500], bytes(range(256))):
            ids = tok.encode(text)
            assert all(id_ < tok.vocab_size for id_ in ids.tolist())
            assert tok.encode_with_offsets(text)[0].tolist() == ids.tolist()
            assert 0 <= tok.split(text) <= len(text)
            try:
                tok.decode_bytes(ids)
                tok.encode_as_pieces(text)
            except IdError:
                pass


def test_a_file_of_a_kind_that_is_not_known(tmp_path: Path) -> None:
    data = file_of(tokenizer(toy(random.Random(1), "bpe")[0]))
    for at, value, word in ((12, 9, "kind"), (8, 7, "version"), (34, 255, "flags")):
        bad = bytearray(data)
        bad[at] = value
        refused(sign(bad), word)
