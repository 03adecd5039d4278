"""Token files written from ids, without a model, for the tests of exports, verify and stats."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xxhash

import pyunitok
from pyunitok.tokens.manifest import InputRecord, Manifest


def write(path: Path, docs: list[list[int]], *, eod: int | None = None, dtype: str = "<u2", inputs=None):
    """Write a token file of these documents, each followed by `eod`. The inputs are [(path, number of documents)]."""
    full = [[*doc, *([] if eod is None else [eod])] for doc in docs]
    ids = np.array([id_ for doc in full for id_ in doc], dtype)
    ends = np.cumsum([len(doc) for doc in full], dtype="<u8") if full else np.empty(0, "<u8")
    ids.tofile(path)
    ends.tofile(f"{path}.ends")
    inputs = inputs or [("a.txt", len(docs))]
    records, at = [], 0
    for name, n in inputs:
        tokens = sum(map(len, full[at : at + n]))
        sizes = {"tokens": tokens, "bytes": tokens, "text_bytes": tokens}
        records.append(InputRecord(name, "text", "none", documents=n, separator="\n", **sizes))
        at += n
    manifest = Manifest(
        model={"name": "toy", "path": None, "sha256": "0" * 64, "file_sha256": None}, eod=eod, tokens=len(ids),
        documents=len(docs), bytes=len(ids), text_bytes=len(ids), inputs=records, dtype=dtype,
        hash={
            "algorithm": "xxh64", "chunk_bytes": 64 << 20,
            "tokens": [xxhash.xxh64_hexdigest(ids.tobytes())] if len(ids) else [],
            "ends": [xxhash.xxh64_hexdigest(ends.tobytes())] if len(ends) else [],
        },
    )  # fmt: skip
    Path(f"{path}.json").write_bytes(manifest.to_json())
    return pyunitok.open(path)
