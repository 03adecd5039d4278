"""bench.py train --part greedy: greedy vocabularies beside the pieces of sentencepiece's BPE, on unseen text."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench_timing import Report, fail, verdict

CHUNK_BYTES = 1 << 14
HELD_SHARE = 20  # one chunk of so many is unseen
UNSEEN_BYTES = 2_000_000
TARGET = 1.03
SPARE = 1024  # pieces trained beyond those needed: single characters are pieces of bytes, too
SENTENCEPIECE: dict[str, Any] = {
    "model_type": "bpe", "num_threads": 1, "hard_vocab_limit": False, "minloglevel": 2, "byte_fallback": True,
    "normalization_rule_name": "identity", "add_dummy_prefix": False, "remove_extra_whitespaces": False,
    "allow_whitespace_only_pieces": True, "max_sentence_length": 1 << 24, "bos_id": -1, "eos_id": -1,
}  # fmt: skip
# What sentencepiece does by default, and the same freedom as here: pieces of several scripts, and longer ones.
PEERS: dict[str, dict[str, Any]] = {
    "default": {},
    "free": {"split_by_unicode_script": False, "split_by_number": False, "max_sentencepiece_length": 32},
}


@dataclass(frozen=True)
class Lines:
    """Without line ends, so that only pieces within lines count."""

    seen: Path
    unseen: list[bytes]

    @property
    def n_bytes(self) -> int:
        return sum(map(len, self.unseen))


def divide(text: bytes, path: Path) -> Lines:
    """Writes the lines to train on; every HELD_SHARE-th chunk is unseen."""
    seen, unseen, at, n_unseen = [], [], 0, 0
    for line in text.decode("utf-8", "ignore").encode().split(b"\n"):
        if (at // CHUNK_BYTES) % HELD_SHARE < HELD_SHARE - 1:
            seen.append(line)
        elif line and n_unseen < UNSEEN_BYTES:
            unseen.append(line)
            n_unseen += len(line)
        at += len(line) + 1
    path.write_bytes(b"\n".join(seen))
    return Lines(path, unseen)


def compare_longest(report: Report, name: str, path: Path, size: int) -> None:
    """Rows for pieces that keep to words, and for pieces that cross spaces."""
    lines = divide(path.read_bytes(), path.with_name("seen.txt"))
    for crossing in (False, True):
        ours = density(ours_of(lines, crossing, size), lines)
        for rules, more in PEERS.items():
            theirs = density(theirs_of(lines, crossing, size, more), lines)
            report.add(
                text=name, MB=round(lines.seen.stat().st_size / 1e6, 1), kind="longest",
                pieces="cross spaces" if crossing else "within words", sentencepiece=rules, bytes_a_token=ours,
                peer=theirs, denser=ours / theirs, verdict=verdict(ours / theirs >= TARGET),
            )  # fmt: skip


def ours_of(lines: Lines, crossing: bool, size: int) -> Any:
    """A greedy vocabulary of so many pieces, which has an id more, for the end of documents."""
    import pyunitok

    options: dict[str, Any] = {"split_by": "none" if crossing else "space", "separator": b"\n", "max_memory": 4 << 30}
    return pyunitok.train(lines.seen, kind="longest", vocab_size=size + 1, threads=1, **options)


def theirs_of(lines: Lines, crossing: bool, size: int, more: dict[str, Any]) -> Any:
    """As many pieces of sentencepiece's BPE, the first ones; all 256 bytes and all characters among them."""
    import sentencepiece

    import pyunitok

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        input=str(lines.seen), model_writer=model, vocab_size=size + SPARE, split_by_whitespace=not crossing,
        **SENTENCEPIECE, **more,
    )  # fmt: skip
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    learned = [
        processor.id_to_piece(i).replace("\u2581", " ") for i in range(processor.vocab_size())
        if not (processor.is_byte(i) or processor.is_unknown(i))
    ]  # fmt: skip
    pieces = dict.fromkeys(bytes([byte]) for byte in range(256))
    for piece in [*(piece for piece in learned if len(piece) == 1), *learned]:
        if len(pieces) < size:
            pieces[piece.encode()] = None
    return pyunitok.Tokenizer.from_pieces(list(pieces))


def density(tokenizer: Any, lines: Lines) -> float:
    """Bytes per token of the unseen lines."""
    ids = tokenizer.encode_batch(lines.unseen)
    if tokenizer.decode_bytes(ids.data) != b"".join(lines.unseen):
        raise fail("a vocabulary does not decode what it encodes")
    return lines.n_bytes / len(ids.data)
