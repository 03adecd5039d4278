"""Samples lines of the training text by the weights of their sources, to train different tokenizers for comparison.

    python tools/default_vocab/sample.py FOLDER OUT.txt [--megabytes N]

    pyunitok train bpe OUT.txt -o apart.model --vocab-size 65280 --compat sentencepiece \\
        --max-sentence-length 1000000 --normalization-rule-name identity --no-remove-extra-whitespaces \\
        --allow-whitespace-only-pieces --byte-fallback
    pyunitok train bpe OUT.txt -o crossing.model …  --split-by none

A source that is smaller than its share is repeated.
"""

from __future__ import annotations

import argparse
import itertools
import random
from pathlib import Path

import corpus


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--megabytes", type=float, default=100)
    options = parser.parse_args()
    sources = corpus.build(options.folder)
    per_weight = options.megabytes * 1e6 / sum(len(s.documents.data) * s.weight for _, s in sources)
    r = random.Random(1)
    with options.out.open("wb") as file:
        for _, source in sources:
            lines = source.documents.data.tobytes().splitlines(keepends=True)
            r.shuffle(lines)
            wanted = len(source.documents.data) * source.weight * per_weight
            for line in itertools.cycle(lines):
                if wanted <= 0:
                    break
                file.write(line if line.endswith(b"\n") else line + b"\n")
                wanted -= len(line)


if __name__ == "__main__":
    main()
