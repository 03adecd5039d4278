"""stats() computes statistics of a token file: document lengths, frequent pieces, entropy of the ids, and inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pyunitok.errors import ModelFormatError, VocabularyError
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.tokens.array import TokenArray
from pyunitok.tokens.counting import count_ids
from pyunitok.tokens.manifest import InputRecord

QUANTILES = (0.0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)
EXAMPLES = 20  # the number of examples of unused pieces
LENGTH_CHUNK = 1 << 20
MAX_SORTED = 1 << 24  # the maximum number of document lengths sorted for quantiles; larger files are sampled
MAX_SAMPLED = 20_000  # the maximum number of documents whose bytes are counted


@dataclass
class Piece:
    """An id and its piece as text; the piece is None if the model is missing."""

    id: int
    piece: str | None
    count: int
    share: float


@dataclass
class InputStats:
    """One input of the manifest. `bytes` is the size of its documents' text."""

    path: str
    format: str
    documents: int
    bytes: int
    tokens: int
    bytes_per_token: float | None


@dataclass
class Stats:
    """Statistics of a token file. The eod counts as a token only in `tokens`, `bytes_per_token` and `inputs`.

    bytes               size of the documents' text, computed from the ids if the model is lossless, otherwise from the
                        manifest
    bytes_per_token     text bytes per token, eods included
    document_tokens     {quantile: tokens} and "mean" of the documents, without the eod
    document_bytes      {quantile: bytes} and "mean" of up to MAX_SAMPLED documents; None without a lossless model
    entropy_bits        entropy of the distribution of ids, per token
    used, vocabulary    number of ids that occur; number of pieces in the model (None if it is missing)
    never_used          examples of unused pieces, shortest first
    counts              int64[65536], or int64[largest id + 1] for uint32: how often each id occurs
    histogram_tokens    (edges, documents): how many documents have edges[k] <= tokens < edges[k + 1]
    inputs              statistics of each input
    """

    path: str
    model: str | None
    tokens: int
    documents: int
    bytes: int | None
    eod: int | None
    bytes_per_token: float | None
    bytes_per_document: float | None
    document_tokens: dict[str, float]
    document_bytes: dict[str, float] | None
    entropy_bits: float
    used: int
    vocabulary: int | None
    never_used: list[Piece]
    top: list[Piece]
    counts: np.ndarray[Any, np.dtype[np.int64]]
    histogram_tokens: tuple[list[float], list[int]]
    inputs: list[InputStats]

    def to_json(self) -> dict[str, Any]:
        """All fields; `counts` becomes {id: count} for the ids that occur."""
        values = asdict(self)
        values["counts"] = {str(k): int(self.counts[k]) for k in np.flatnonzero(self.counts)}
        return values


def stats(
    array: TokenArray, *, top: int = 20, threads: int | None = None, on_ids: Callable[[int], None] = lambda _: None
) -> Stats:
    """Read the token file once, on several threads. Memory: as in count_ids(), plus at most 8 bytes per document.

    Any thread may call on_ids, with the number of tokens just counted. Raises OutputError if the .ends file is damaged.
    """
    tokenizer = _model(array)
    manifest, eod = array.manifest, array.eod_id
    counts = count_ids(array.ids, threads=threads, on_ids=on_ids)
    if eod is not None and eod < len(counts):
        counts[eod] -= min(len(array), counts[eod])  # one eod per document, which is not text
    sizes = _piece_sizes(tokenizer)
    lengths = _lengths(array)
    n_bytes = manifest.text_bytes if manifest else None
    if sizes is not None:
        n = min(len(sizes), len(counts))
        n_bytes = int(counts[:n] @ sizes[:n])
    n_docs, n_tokens = len(array), len(array.ids)
    text_tokens = int(counts.sum())
    shares = counts[counts > 0] / max(text_tokens, 1)
    order = np.argsort(-counts, kind="stable")[:top]
    unused = _never_used(tokenizer, counts, eod)
    return Stats(
        path=str(array.path),
        model=manifest.model.get("name") if manifest else None,
        tokens=n_tokens,
        documents=n_docs,
        bytes=n_bytes,
        eod=eod,
        bytes_per_token=n_bytes / n_tokens if n_bytes is not None and n_tokens else None,
        bytes_per_document=n_bytes / n_docs if n_bytes is not None and n_docs else None,
        document_tokens=_quantiles(lengths),
        document_bytes=None if sizes is None else _quantiles(_byte_lengths(array, sizes)),
        entropy_bits=float(-(shares * np.log2(shares)).sum()) + 0.0,
        used=len(shares),
        vocabulary=None if tokenizer is None else len(_ids_with_pieces(tokenizer, eod)),
        never_used=[Piece(k, tokenizer.id_to_piece(k), 0, 0.0) for k in unused[:EXAMPLES]] if tokenizer else [],
        top=[
            Piece(int(k), _shown(tokenizer, int(k)), int(counts[k]), int(counts[k]) / max(text_tokens, 1))
            for k in order
            if counts[k]
        ],
        counts=counts,
        histogram_tokens=_histogram(lengths),
        inputs=[_input(record) for record in manifest.inputs] if manifest else [],
    )


def _input(record: InputRecord) -> InputStats:
    ratio = record.text_bytes / record.tokens if record.tokens else None
    return InputStats(record.path, record.format, record.documents, record.text_bytes, record.tokens, ratio)


def _model(array: TokenArray) -> Tokenizer | None:
    try:
        return array.tokenizer
    except (ModelFormatError, VocabularyError, OSError):
        return None


def _shown(tokenizer: Tokenizer | None, id_: int) -> str | None:
    return tokenizer.id_to_piece(id_) if tokenizer is not None and id_ < tokenizer.vocab_size else None


def _piece_sizes(tokenizer: Tokenizer | None) -> np.ndarray[Any, np.dtype[np.int64]] | None:
    """int64[vocab_size]: how many bytes each id decodes to; None if there is no model or it is not lossless."""
    if tokenizer is None or not tokenizer.lossless:
        return None
    return np.diff(tokenizer.pieces().offsets)


def _ids_with_pieces(tokenizer: Tokenizer, eod: int | None) -> np.ndarray[Any, Any]:
    ids = np.flatnonzero(np.diff(tokenizer.pieces().offsets))
    return ids[ids != eod] if eod is not None else ids


def _never_used(tokenizer: Tokenizer | None, counts: np.ndarray[Any, Any], eod: int | None) -> list[int]:
    """Ids of unused pieces, shortest first."""
    if tokenizer is None:
        return []
    ids = _ids_with_pieces(tokenizer, eod)
    ids = ids[(ids >= len(counts)) | (counts[np.minimum(ids, len(counts) - 1)] == 0)] if len(counts) else ids
    sizes = np.diff(tokenizer.pieces().offsets)[ids]
    return [int(k) for k in ids[np.argsort(sizes, kind="stable")]]


def _lengths(array: TokenArray) -> np.ndarray[Any, np.dtype[np.int64]]:
    """int64[n]: the number of tokens, without the eod, of each document; larger files are sampled, at most MAX_SORTED
    documents."""
    lengths = [np.empty(0, np.int64)]
    step = -(-max(len(array), 1) // MAX_SORTED)
    for d, bounds in array.runs():
        lengths.append(np.diff(bounds)[-d % step :: step] - (array.eod_id is not None))
    return np.concatenate(lengths)


def _byte_lengths(array: TokenArray, sizes: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The sizes in bytes of up to MAX_SAMPLED documents, evenly spaced over the file."""
    n = min(len(array), MAX_SAMPLED)
    known = np.append(sizes, 0)
    ret = np.empty(n, np.int64)
    for k in range(n):
        begin, end = array.bounds(k * len(array) // n)
        ids = array.ids[begin : end - (array.eod_id is not None)]
        ret[k] = sum(
            int(known[np.minimum(ids[at : at + LENGTH_CHUNK], len(sizes))].sum())
            for at in range(0, len(ids), LENGTH_CHUNK)
        )
    return ret


def _quantiles(lengths: np.ndarray[Any, Any]) -> dict[str, float]:
    """The quantiles of the lengths, without interpolation ("0.5" is the median), and their "mean"."""
    if not len(lengths):
        return {}
    values = np.quantile(lengths, QUANTILES, method="inverted_cdf")
    return {str(q): int(v) for q, v in zip(QUANTILES, values, strict=True)} | {"mean": float(lengths.mean())}


def _histogram(lengths: np.ndarray[Any, Any]) -> tuple[list[float], list[int]]:
    if not len(lengths):
        return [], []
    edges = bins(int(lengths.max()))
    counts, _ = np.histogram(lengths, edges)
    return edges.tolist(), counts.tolist()


def bins(largest: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Edges 0, 1, 2 … of bins for integers up to `largest`, each about a fifth wider than the previous one.

    Each bin contains an integer and is at least as wide as the previous one; otherwise rounding the edges would make
    the bars uneven.
    """
    edges = [0, 1]
    while edges[-1] <= largest:
        edges.append(edges[-1] + max(1, edges[-1] - edges[-2], edges[-1] // 5))
    return np.array(edges, np.float64)
