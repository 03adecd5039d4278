"""Bytes per token of vocabularies, kind by kind, on texts that none of them was trained on.

    python tools/default_vocab/evaluate.py CORPORA A.utk B.utk [--without FOLDER]

CORPORA: a folder of KIND.txt.zst. A model is a file or a name, or a folder of GPT-2's files. --without leaves out every
line of 40 bytes or more that the training text in FOLDER has too, and says how much that was. Ratios are of the first
to the last.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path

import corpus
import zstandard

from pyunitok import Tokenizer

MIN_LINE_BYTES = 40
DOCUMENT_BYTES = 16_384


def key_of(line: bytes) -> bytes:
    return hashlib.blake2b(line.strip(), digest_size=8).digest()


def training_lines(folder: Path) -> set[bytes]:
    ret: set[bytes] = set()
    for kind in corpus.kinds(folder, "train"):
        for document in corpus.load(folder, "train", kind):
            ret.update(key_of(line) for line in document.text.splitlines() if len(line) >= MIN_LINE_BYTES)
    return ret


def clean(text: bytes, seen: set[bytes]) -> bytes:
    lines = text.splitlines(keepends=True)
    return b"".join(line for line in lines if len(line) < MIN_LINE_BYTES or key_of(line) not in seen)


def documents(text: bytes) -> Iterable[bytes]:
    at = 0
    while at < len(text):
        end = text.find(b"\n", at + DOCUMENT_BYTES) + 1 or len(text)
        yield text[at:end]
        at = end


def counter(model: str) -> Callable[[list[bytes]], int]:
    """A function that counts the tokens of texts."""
    if not Path(model).is_dir():
        tokenizer = Tokenizer.from_file(model)
        return lambda texts: len(tokenizer.encode_batch(texts).data)
    from tokenizers import ByteLevelBPETokenizer

    other = ByteLevelBPETokenizer(f"{model}/encoder.json", f"{model}/vocab.bpe")


    def count(texts: list[bytes]) -> int:
        return sum(len(found.ids) for found in other.encode_batch([text.decode("utf-8", "replace") for text in texts]))

    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", type=Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--without", type=Path)
    options = parser.parse_args()
    models = [counter(name) for name in options.models]
    seen = training_lines(options.without) if options.without else set()
    rates: list[list[float]] = []
    print("| kind | left out | " + " | ".join(Path(name).stem for name in options.models) + " | ratio |")
    print("|---|---|" + "---|" * (len(models) + 1))
    for path in sorted(options.corpora.glob("*.txt.zst")):
        text = zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read()
        kept = clean(text, seen)
        texts = list(documents(kept))
        row = [len(kept) / model(texts) for model in models]
        rates.append(row)
        share = 1 - len(kept) / len(text)
        print(
            f"| {path.name.removesuffix('.txt.zst')} | {share:.1%} | "
            + " | ".join(f"{x:.3f}" for x in row)
            + f" | {row[0] / row[-1]:.3f} |"
        )
    means = [len(rates) / sum(1 / row[k] for row in rates) for k in range(len(models))]
    print("| harmonic mean | | " + " | ".join(f"{x:.3f}" for x in means) + f" | {means[0] / means[-1]:.3f} |")


if __name__ == "__main__":
    main()
