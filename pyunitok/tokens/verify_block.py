"""verify_block() checks that the ids of a block decode to its text or, for a lossy model, to the text's reference."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from pyunitok.corpus.block import Block
from pyunitok.errors import OutputError
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.packed import Offsets

Reference = Callable[[bytes], bytes]


def reference_of(tokenizer: Tokenizer) -> Reference | None:
    """A function from a text to its expected decoding; None for lossless models, whose decoding is the text itself."""
    return None if tokenizer.lossless else tokenizer.codec.reference


def verify_block(
    tokenizer: Tokenizer, block: Block, ids: np.ndarray[Any, Any], id_offsets: Offsets, *, eod: bool, name: str
) -> None:
    """Raise OutputError, naming the input, document and byte, unless these ids decode to the documents of the block.

    ids, id_offsets  the ids of the block's documents; if `eod`, each complete document ends with the eod
    name             the name of the input

    If the model is not lossless, byte positions in messages refer to the reference.
    """
    n_docs = block.n_docs
    whole = n_docs - block.open_end
    texts = block.offsets[: n_docs + 1]
    expected, bounds = block.data[: texts[-1]], texts
    reference = reference_of(tokenizer)
    if reference is not None:
        parts = [reference(block.data[a:b].tobytes()) for a, b in pairwise(texts.tolist())]
        expected = np.frombuffer(b"".join(parts), np.uint8)
        bounds = np.cumsum([0, *map(len, parts)])
    decoded, ends = tokenizer.codec.decode_documents(ids, id_offsets[: whole + 1], drop_last=eod)
    if block.open_end:
        last, last_ends = tokenizer.codec.decode_documents(ids, id_offsets[whole : n_docs + 1])
        decoded, ends = np.concatenate((decoded, last)), np.concatenate((ends, last_ends[1:] + ends[-1]))
    if np.array_equal(ends, bounds) and np.array_equal(decoded, expected):
        return
    for d in range(n_docs):
        text, own = expected[bounds[d] : bounds[d + 1]], decoded[ends[d] : ends[d + 1]]
        n = min(len(text), len(own))
        differs = np.append(text[:n] != own[:n], len(text) != len(own))
        if differs.any():
            at = int(differs.argmax())
            number = block.first_document + d if block.numbers is None else int(block.numbers[d])
            inside = 0 if d else block.inside
            raise OutputError(
                f"{name}: document {number}: byte {inside + at}: the text continues with "
                f"{text[at : at + 12].tobytes()!r}, but its tokens decode to {own[at : at + 12].tobytes()!r}"
            )
