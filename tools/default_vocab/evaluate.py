"""Compares the bytes per token of vocabularies on kinds of text that none of them was trained on.

    python tools/default_vocab/evaluate.py CORPORA A.utk rwkv-world "Llama 3=tokenizer.json" \\
        [--languages FOLDER] [--without FOLDER]

CORPORA is a folder of KIND.txt.zst. A model is a file, a name, or a folder with GPT-2's files, optionally preceded by
"HEADING=". For files that pyunitok does not support, the tokenizers package encodes the text on one thread. Ratios
compare the first model to the second. --languages prints a second table for the files LANGUAGE.txt.zst in its FOLDER.
--without skips lines of 40 bytes or more that are in the training text in its FOLDER, prints their share, and also
measures the packages that were held out for validation.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import corpus
import numpy as np
import zstandard
from corpus import key_of

from pyunitok import Tokenizer
from pyunitok.errors import ModelFormatError, VocabularyError

MIN_LINE_BYTES = 40
DOCUMENT_BYTES = 16_384
BATCH = 64  # documents
MIN_KIND_BYTES = 200_000  # kinds with less validation text are not shown


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
    """Counts the tokens of texts and records which ids they use."""

    def __init__(self, model: str) -> None:
        name, _, file = model.rpartition("=")
        self.name, self.used = name or Path(file).stem, np.zeros(0, bool)
        try:
            if Path(file).is_dir():
                raise ModelFormatError("a folder")
            self._tokenizer = Tokenizer.from_file(file)
            self.n_ids = self._tokenizer.vocab_size
            self.used = np.zeros(self.n_ids, bool)
        except (ModelFormatError, VocabularyError):
            self._other = other(file)
            self.n_ids = self._other.get_vocab_size()

    def rate(self, texts: list[bytes]) -> float:
        """Bytes per token."""
        if len(self.used):
            ids = self._tokenizer.encode_batch(texts).data
            self.used[ids] = True
            return sum(map(len, texts)) / len(ids)
        valid = [text.decode("utf-8", "replace") for text in texts]
        n_bytes, n_ids = sum(len(text.encode()) for text in valid), 0
        for at in range(0, len(valid), BATCH):  # in batches, because encodings take a hundred bytes per token
            encodings = self._other.encode_batch_fast(valid[at : at + BATCH], add_special_tokens=False)
            n_ids += sum(map(len, encodings))
        return n_bytes / n_ids


def other(file: str) -> Any:
    """Open a tokenizer.json, or a folder with encoder.json and vocab.bpe, with the tokenizers package."""
    os.environ.setdefault("RAYON_NUM_THREADS", "1")
    import tokenizers
    from tokenizers import decoders, models, pre_tokenizers

    if not Path(file).is_dir():
        return tokenizers.Tokenizer.from_file(file)
    ret = tokenizers.Tokenizer(models.BPE.from_file(f"{file}/encoder.json", f"{file}/vocab.bpe"))
    ret.pre_tokenizer, ret.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    return ret


def table(folder: Path, heading: str, models: list[Counter], seen: set[bytes]) -> None:
    """Print a row for each file in the folder, and the harmonic mean."""
    rates: list[list[float]] = []
    second = models[min(1, len(models) - 1)].name
    print(f"| {heading} | left out | " + " | ".join(model.name for model in models) + f" | ratio to {second} |")
    print("|---|---|" + "---|" * (len(models) + 1))
    print("| ids |  | " + " | ".join(f"{model.n_ids:,}" for model in models) + " |  |")
    for path in sorted(folder.glob("*.txt.zst")):
        text = zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read()
        kept = clean(text, seen)
        rates.append([model.rate(list(documents(kept))) for model in models])
        show(path.name.removesuffix(".txt.zst"), f"{1 - len(kept) / len(text):.1%}", rates[-1])
    show("harmonic mean", "", [len(rates) / sum(1 / row[k] for row in rates) for k in range(len(models))])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", type=Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--languages", type=Path, metavar="FOLDER")
    parser.add_argument("--without", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    models = [Counter(name) for name in options.models]
    seen = training_lines(options.without) if options.without else set()
    table(options.corpora, "kind", models, seen)
    if options.languages:
        print()
        table(options.languages, "language", models, seen)
    if options.without:
        print("\nheld out for validation, KB:\n")
        for kind in corpus.kinds(options.without, "valid"):
            texts = [document.text for document in corpus.load(options.without, "valid", kind)]
            row, size = [model.rate(texts) for model in models], sum(map(len, texts))
            if size >= MIN_KIND_BYTES:
                show(kind, str(size // 1000), row)
    unused = [f"{model.name} {1 - model.used.mean():.1%}" for model in models if len(model.used)]
    print("\nids that no text above uses: " + ", ".join(unused))


def show(name: str, note: str, row: list[float]) -> None:
    ratio = row[0] / row[min(1, len(row) - 1)]
    print(f"| {name} | {note} | " + " | ".join(f"{x:.3f}" for x in row) + f" | {ratio:.3f} |", flush=True)


if __name__ == "__main__":
    main()
