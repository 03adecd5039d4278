"""Greedy models, and small random models for comparisons with SentencePiece and Hugging Face's BPE."""

from __future__ import annotations

import random
from typing import Any

from oracle import bpe as oracle_bpe
from oracle.bpe import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED

from pyunitok import Tokenizer
from toys import sentencepieces

BYTES = [bytes([byte]) for byte in range(256)]
ALPHABETS = ["ab", "abc", "aé日", "ab▁", "ab😀c▁日", "<0x41>ab"]
SCORES = {
    "distinct": lambda rng: -9 * rng.random(),
    "tied": lambda rng: -float(rng.randrange(4)),
    "mixed": lambda rng: rng.choice([-0.0, 0.0, 1.5, -1.5, 2.0, -2.0, rng.uniform(-5, 5)]),
    "positive": lambda rng: float(rng.randrange(9)),
    "zero": lambda rng: 0.0,
}


def greedy(*pieces: str | bytes, eod: int | None = 300, **options: Any) -> Tokenizer:
    """A greedy model of all single bytes, with their values as ids, and these pieces, with ids from 256 on."""
    return Tokenizer.from_pieces([*BYTES, *pieces], eod=eod, **options)


def spm_proto(rng: random.Random, kind: str) -> tuple[Any, str]:
    """A random ModelProto that normalizes only by escaping spaces, and the characters of its pieces."""
    alphabet, score = rng.choice(ALPHABETS), SCORES[rng.choice(list(SCORES))]
    pieces: dict[str, oracle_bpe.Piece] = {}

    def add(piece: str, score: float, type_: int) -> None:
        if piece:
            pieces.setdefault(piece, (piece.encode(), score, type_))

    add("<unk>", 0, UNKNOWN)
    if rng.random() < 0.2:
        add(rng.choice(alphabet), 0, CONTROL)
    byte_fallback = rng.random() < 0.3
    for byte in range(256 if byte_fallback else 0):
        add(f"<0x{byte:02X}>", 0, BYTE)
    unused, user = rng.choice([0, 0, 0.1, 0.4]), rng.choice([0, 0, 0.05, 0.2])
    for _ in range(rng.choice([1, 3, 8, 20, 60])):
        piece = "".join(rng.choice(alphabet) for _ in range(rng.choice([1, 1, 1, 2, 2, 2, 3, 4, 7])))
        known = [text for text, (_, _, type_) in pieces.items() if type_ in (NORMAL, UNUSED)]
        if known and rng.random() < 0.5:  # chains of merges
            piece = rng.choice(known) + rng.choice([*known, *alphabet])
        r = rng.random()
        if len(piece) <= 40:
            add(piece, score(rng), UNUSED if r < unused else USER_DEFINED if r < unused + user else NORMAL)
    proto = sentencepieces.make(pieces.values(), usual=False, model_type=sentencepieces.KINDS[kind])
    proto.trainer_spec.byte_fallback = byte_fallback
    proto.normalizer_spec.name = b"identity"
    proto.normalizer_spec.add_dummy_prefix = proto.normalizer_spec.remove_extra_whitespaces = False
    return proto, alphabet


def spm_pieces(proto: Any) -> list[oracle_bpe.Piece]:
    return [(piece.piece, piece.score, piece.type) for piece in proto.pieces]


def text(rng: random.Random, alphabet: str) -> str:
    """A text in the alphabet, possibly with spaces or unknown characters, or a run of one character."""
    n = rng.choice([0, 1, 2, 3, 5, 9, 20, 40, 70, 150])
    ret = "".join(rng.choice(alphabet + rng.choice(["", "", "Z"])) for _ in range(n))
    if ret and rng.random() < 0.2:
        ret = ret[0] * n
    return ret.replace("▁", " ") if rng.random() < 0.2 else ret


def hf_bpe(rng: random.Random) -> tuple[dict[str, Any], str]:
    """Arguments for tokenizers.models.BPE, and the characters of its pieces."""
    alphabet = rng.choice(ALPHABETS)
    pieces = [character for character in alphabet if rng.random() < 0.85]
    unk_token = rng.choice([None, "<unk>", "<unk>", "?"])
    pieces += [unk_token] if unk_token else []
    byte_fallback, share = rng.random() < 0.5, rng.choice([1, 1, 0.5])
    pieces += [f"<0x{byte:02X}>" for byte in range(256) if byte_fallback and rng.random() < share]
    merges: list[tuple[str, str]] = []
    for _ in range(rng.choice([0, 2, 6, 20, 60]) if pieces else 0):
        sides = [piece for piece in pieces if not piece.startswith("<0x")] if rng.random() < 0.9 else pieces
        left, right = rng.choice(sides or pieces), rng.choice(sides or pieces)
        if len(left + right) <= 30:
            pieces.append(left + right)
            merges.append((left, right))
    rng.shuffle(merges)
    if merges and rng.random() < 0.1:
        merges.append(rng.choice(merges))  # a repeated merge takes the rank of its last occurrence
    pieces += ["".join(rng.choice(alphabet) for _ in range(rng.randrange(2, 5))) for _ in range(rng.choice([0, 0, 3]))]
    pieces = list(dict.fromkeys(pieces))
    rng.shuffle(pieces)
    vocab = {piece: k for k, piece in enumerate(pieces)}
    flags = {name: rng.random() < 0.5 for name in ("fuse_unk", "ignore_merges")}
    return {"vocab": vocab, "merges": merges, "unk_token": unk_token, "byte_fallback": byte_fallback, **flags}, alphabet
