"""Native model files of every kind: every later release must open them and give the same ids.

`PYTHONPATH=.:tests python tests/test_golden_models.py` adds missing files; it never changes existing ones.
"""

from __future__ import annotations

import io
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard

from pyunitok import Tokenizer
from pyunitok.vocab import native

FOLDER = Path(__file__).parent / "golden" / "models"
NAMES = [
    "longest", "longest-fallback", "unigram", "unigram-bytes", "bpe", "bpe-unused", "bpe-merges", "char", "word",
    "unigram-float64", "unigram-bytepiece", "longest-wide",
]  # fmt: skip
TEXTS = [
    b"", b"hello world, hello", "  the cat\u2581sat   on é日本 日本".encode(), b"\xff\xe6\x97 broken \x80 \x00bytes",
    "\uff41\uff42\uff43 ABC ab\tabc\n\nabc <sep> ".encode() + b"a" * 50,
]


def opened(name: str) -> Tokenizer:
    data = zstandard.ZstdDecompressor().decompress((FOLDER / f"{name}.utk.zst").read_bytes())
    return Tokenizer(*native.read(np.frombuffer(bytearray(data), np.uint8), name, engine="double-array", cpu=None))


@pytest.mark.parametrize("name", NAMES)
def test_opens_and_gives_the_same_ids(name: str) -> None:
    tok, facts = opened(name), json.loads((FOLDER / "facts.json").read_text(encoding="utf-8"))[name]
    assert facts_of(tok) == facts


def facts_of(tok: Tokenizer) -> dict[str, Any]:
    return {
        "kind": tok.kind, "vocab_size": tok.vocab_size, "eod_id": tok.eod_id, "unk_id": tok.unk_id,
        "ids": [tok.encode(text).tolist() for text in TEXTS],
        "decoded": [tok.decode_bytes(tok.encode(text)).hex() for text in TEXTS],
    }  # fmt: skip


# ------------------------------------------------------------------------------------------------- new files ----


def pieces_of(rng: random.Random) -> list[tuple[bytes, float, int]]:
    from toys.sentencepieces import NORMAL, USER_DEFINED

    texts = ["\u2581", "\u2581the", "\u2581cat", "\u2581日", "日本"]
    texts += ["he", "hel", "lo", "hello", "ab", "abc", "aa", "aaaa"]
    texts += list("helowrdtcasnbé日本,.ABC")
    return [(text.encode(), -5 * rng.random(), NORMAL) for text in texts] + [(b"<sep>", 0.0, USER_DEFINED)]


def of_sentencepiece(kind: str, *, is_unused: bool = False, **options: Any) -> Tokenizer:
    from toys.sentencepieces import UNUSED, charsmap, make
    from toys.text_models import KINDS, tokenizer

    pieces = pieces_of(random.Random(kind))
    if is_unused:
        pieces[pieces.index(next(p for p in pieces if p[0] == b"hel"))] = (b"hel", -0.5, UNUSED)
    proto = make(pieces, model_type=KINDS[kind], **options)
    rules = {"\uff41".encode(): b"a", "\uff42".encode(): b"b", b"\t": b" "}
    proto.normalizer_spec.precompiled_charsmap = charsmap(rules)
    return tokenizer(proto)


def of_entries() -> Tokenizer:
    from pyunitok.vocab import bytepiece

    entries: bytepiece.Entries = {bytes([byte]): (byte + 3, 1) for byte in range(256)}
    for k, text in enumerate(["hello", " the", "日本", "ab", "abc", "lo w"]):
        entries[text.encode()] = (259 + k, 5 + k)
    vocabulary = bytepiece.vocabulary_of(entries, "golden")
    return Tokenizer(vocabulary.build(engine="double-array", cpu=None), vocabulary.about("golden"))


def of_json(model: dict[str, Any]) -> Tokenizer:
    from pyunitok.vocab.huggingface import file as huggingface

    metaspace = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
    document = {"version": "1.0", "added_tokens": [], "normalizer": None, "post_processor": None, "decoder": None,
                "pre_tokenizer": metaspace, "model": model}  # fmt: skip
    vocabulary = huggingface.read(json.dumps(document).encode(), "golden")
    return Tokenizer(vocabulary.build(engine="double-array", cpu=None), vocabulary.about("golden"))


def create(name: str) -> Tokenizer:
    single = [bytes([byte]) for byte in range(256)]
    words = [b"hello", b" the", b" cat", "日本".encode(), b"aaaa", b"\xe6\x97"]
    if name == "longest":
        return Tokenizer.from_pieces([*single, *words], eod=300, name="golden")
    if name == "longest-wide":  # lengths take two bytes
        return Tokenizer.from_pieces([*words, b"a" * 300], fallback=70_000, name="golden")
    if name == "longest-fallback":
        return Tokenizer.from_pieces(words, fallback=70_000, name="golden")
    if name == "unigram-float64":
        vocab = [["<unk>", 0.0], *([text.decode(), score] for text, score, _ in pieces_of(random.Random(3))[:-1])]
        return of_json({"type": "Unigram", "unk_id": 0, "vocab": vocab})
    if name == "bpe-merges":
        merges = ["h e", "l l", "he ll", "hell o", "\u2581 t", "t h", "th e", "日 本"]
        pieces = ["<unk>", *"\u2581thecalo日本", *(merge.replace(" ", "") for merge in merges)]
        vocab = {piece: k for k, piece in enumerate(pieces)}
        return of_json({"type": "BPE", "vocab": vocab, "merges": merges, "unk_token": "<unk>", "fuse_unk": True})
    if name == "unigram-bytepiece":
        return of_entries()
    if name == "unigram-bytes":
        return of_sentencepiece("unigram", byte_fallback=True)
    return of_sentencepiece(name.partition("-")[0], is_unused="unused" in name)


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    facts_path = FOLDER / "facts.json"
    facts = json.loads(facts_path.read_text(encoding="utf-8")) if facts_path.exists() else {}
    for name in NAMES:
        path = FOLDER / f"{name}.utk.zst"
        if path.exists():
            continue
        tok, out = create(name), io.BytesIO()
        out.write(native.write(tok.codec.model, tok.codec.about))
        path.write_bytes(zstandard.ZstdCompressor(level=19).compress(out.getvalue()))
        facts[name] = facts_of(tok)
        print(f"{path.name}: {path.stat().st_size} bytes")
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(fact)}" for name, fact in facts.items())
    facts_path.write_text("{\n" + lines + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
