"""How fast two vocabularies encode the same text on one thread: medians of turns, in processor time.

    python tools/default_vocab/speed.py CORPORA [A B] [--kinds en_prose,code]

Without names: unitok-v1 and rwkv-world. Every text is decoded again and compared before anything is timed.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

import zstandard

from pyunitok import Packed, Tokenizer

DOCUMENT_BYTES, TURNS = 8192, 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", type=Path)
    parser.add_argument("models", nargs="*", default=["unitok-v1", "rwkv-world"])
    parser.add_argument("--kinds", default="en_prose,en_web,code,zh,ja")
    options = parser.parse_args()
    models = [Tokenizer.from_file(name) for name in options.models]
    print("| kind | " + " | ".join(f"{model.name}, MB/s" for model in models) + " | ratio |")
    print("|---|" + "---|" * (len(models) + 1))
    for kind in options.kinds.split(","):
        data = (options.corpora / f"{kind}.txt.zst").read_bytes()
        text = zstandard.ZstdDecompressor().stream_reader(data).read()
        docs = Packed.from_documents([text[k : k + DOCUMENT_BYTES] for k in range(0, len(text), DOCUMENT_BYTES)])
        for model in models:
            if model.decode_bytes(model.encode_batch(docs, threads=1).data) != text:
                raise SystemExit(f"{model.name} does not give {kind} back")
        seconds: list[list[float]] = [[] for _ in models]
        for _ in range(TURNS):
            for model, taken in zip(models, seconds, strict=True):
                start = time.process_time()
                model.encode_batch(docs, threads=1)
                taken.append(time.process_time() - start)
        rates = [len(text) / 1e6 / statistics.median(taken) for taken in seconds]
        shown = " | ".join(f"{rate:.0f}" for rate in rates)
        print(f"| {kind} | {shown} | {rates[0] / rates[-1]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
