"""batches() divides the documents of a token file into batches for decoding; long documents span several batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pyunitok.model.tokenizer import Tokenizer
from pyunitok.tokens.array import TokenArray
from pyunitok.tokens.documents import Ints


class Batch(NamedTuple):
    """A batch of documents or a part of one document.

    bounds     int64[n + 1]: item i is ids[bounds[i]:bounds[i + 1]]
    open_end   the last document continues in the next batch
    drop_last  the last id of each document is its eod, which has no text
    """

    bounds: Ints
    open_end: bool
    drop_last: bool


def batches(array: TokenArray, first: int, stop: int, tokenizer: Tokenizer, n_ids: int) -> Iterator[Batch]:
    """Divide documents first..stop-1 into batches of about n_ids ids. A longer document is split if the model can
    decode parts; otherwise it is a batch by itself.

    Raises OutputError, naming the document, if the .ends file is damaged.
    """
    eod = array.eod_id is not None
    for _, bounds in array.runs(first, stop, max_tokens=n_ids):
        begin, end = int(bounds[0]), int(bounds[-1]) - eod
        if len(bounds) > 2 or end - begin <= n_ids or tokenizer.codec.decodes_whole:
            yield Batch(bounds, False, eod)
            continue
        for at in range(begin, end, n_ids):
            to = min(at + n_ids, end)
            yield Batch(np.array([at, to], np.int64), to < end, False)
