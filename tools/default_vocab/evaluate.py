"""Bytes per token of vocabularies, kind by kind, on texts that none of them was trained on.

    python tools/default_vocab/evaluate.py CORPORA A.utk B.utk [--without FOLDER]

CORPORA: a folder of KIND.txt.zst. A model is a file or a name, or a folder of GPT-2's files. --without leaves out every
line of 40 bytes or more that the training text in FOLDER has too, says how much that was, and measures the packages
held back for validation as well. Ratios are of the first to the last.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterable
from pathlib import Path

import corpus
import numpy as np
import zstandard

from pyunitok import Tokenizer

MIN_LINE_BYTES = 40
DOCUMENT_BYTES = 16_384
MIN_KIND_BYTES = 200_000  # held back, to be shown


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


class Counter:
    """Counts the tokens of texts, and which ids they use; of GPT-2, those of the first megabyte of each text."""

    def __init__(self, model: str) -> None:
        self.name, self.used = Path(model).stem, np.zeros(0, bool)
        if Path(model).is_dir():
            from tokenizers import ByteLevelBPETokenizer

            self._other = ByteLevelBPETokenizer(f"{model}/encoder.json", f"{model}/vocab.bpe")
        else:
            self._tokenizer = Tokenizer.from_file(model)
            self.used = np.zeros(self._tokenizer.vocab_size, bool)

    def rate(self, texts: list[bytes]) -> float:
        """Bytes per token."""
        if len(self.used):
            ids = self._tokenizer.encode_batch(texts).data
            self.used[ids] = True
            return sum(map(len, texts)) / len(ids)
        few = [text.decode("utf-8", "replace") for text in texts[: (1 << 20) // DOCUMENT_BYTES]]
        n_bytes = sum(len(text.encode()) for text in few)
        return n_bytes / sum(len(found.ids) for found in self._other.encode_batch(few))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", type=Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--without", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    models = [Counter(name) for name in options.models]
    seen = training_lines(options.without) if options.without else set()
    rates: list[list[float]] = []
    print("| kind | left out | " + " | ".join(model.name for model in models) + " | ratio |")
    print("|---|---|" + "---|" * (len(models) + 1))
    for path in sorted(options.corpora.glob("*.txt.zst")):
        text = zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read()
        kept = clean(text, seen)
        rates.append([model.rate(list(documents(kept))) for model in models])
        show(path.name.removesuffix(".txt.zst"), f"{1 - len(kept) / len(text):.1%}", rates[-1])
    show("harmonic mean", "", [len(rates) / sum(1 / row[k] for row in rates) for k in range(len(models))])
    if options.without:
        print("\nheld back for validation, KB:\n")
        for kind in corpus.kinds(options.without, "valid"):
            texts = [document.text for document in corpus.load(options.without, "valid", kind)]
            row, size = [model.rate(texts) for model in models], sum(map(len, texts))
            if size >= MIN_KIND_BYTES:
                show(kind, str(size // 1000), row)
    unused = [f"{model.name} {1 - model.used.mean():.1%}" for model in models if len(model.used)]
    print("\nids that no text above uses: " + ", ".join(unused))


def show(name: str, note: str, row: list[float]) -> None:
    print(f"| {name} | {note} | " + " | ".join(f"{x:.3f}" for x in row) + f" | {row[0] / row[-1]:.3f} |", flush=True)


if __name__ == "__main__":
    main()
