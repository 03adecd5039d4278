"""Small models by rank, as in tiktoken's files: all bytes, and pieces that merges create."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

PIECES = [
    b"th", b"the", b" the", b"in", b"ing", b"  ", b"\n\n", b"\r\n", b"'s", b"\xe6\x97", b"\xe6\x97\xa5", b"12", b"123",
    b" a", b"an", b" an", b"and", b" and", b"    ", b"\n \n",
]  # fmt: skip
RANKS = {bytes([byte]): byte for byte in range(256)} | {piece: 256 + k for k, piece in enumerate(PIECES)}
SPECIAL = {"<|endoftext|>": 300, "<|end|>": 301, "<|end|>x": 302}
TEXTS = [
    "", "the thing and  the\n\n \n banding's 'S 123456 1234",
    "日本 日日 é e\u0301 👍\u200d the", " <|endoftext|> the<|end|>x",
    "the<|end|>\r\n  \n<|end", "    \n    a    ", "\x00\x1c\u0085\u3000the\u200b", " an'll'LL don't and",
]  # fmt: skip


def lines(ranks: dict[bytes, int] = RANKS) -> bytes:
    return b"".join(b64encode(piece) + b" %d\n" % rank for piece, rank in ranks.items())


def write(path: Path) -> Path:
    path.write_bytes(lines())
    return path


def tekken(**changes: Any) -> dict[str, Any]:
    """A tekken.json with 20 special tokens before the pieces, and more pieces than ids."""
    pattern = r"\p{L}+| ?\p{L}+|\s+|[^\s\p{L}]+"
    config = {"pattern": pattern, "default_vocab_size": 290, "default_num_special_tokens": 20}
    vocab = [
        {"rank": rank, "token_bytes": b64encode(piece).decode(), "token_str": None} for piece, rank in RANKS.items()
    ]
    return {"config": config, "vocab": vocab} | changes


def write_vocab_merges(folder: Path, **files: Any) -> Path:
    """A folder with vocab.json, merges.txt and further files."""
    pieces = ["Ġ", "t", "h", "e", "Ġt", "th", "Ġth", "Ġthe", "the", "<|endoftext|>", "a", "<x>"]
    merges = "#version: 0.2\nĠ t\nt h\nĠt h\nĠth e\nth e\n"
    folder.mkdir(exist_ok=True)
    (folder / "vocab.json").write_text(json.dumps({piece: k for k, piece in enumerate(pieces)}), encoding="utf-8")
    (folder / "merges.txt").write_text(merges, encoding="utf-8")
    for name, values in files.items():
        (folder / f"{name}.json").write_text(json.dumps(values), encoding="utf-8")
    return folder
