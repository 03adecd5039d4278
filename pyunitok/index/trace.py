"""trace() finds the parts of a text that also occur verbatim in the corpus, and the documents that contain them.

    text ──Index.spans──▶ maximal parts that occur ──▶ the rarest ──▶ up to max_documents occurrences of each, drawn at
                                                                      random ──▶ the text around them, and metadata

Rarity is measured by the product of the corpus frequencies of a part's tokens. A match does not prove that the text
comes from that document.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pyunitok.errors import LimitError
from pyunitok.index.concordance import Line
from pyunitok.index.hit_metadata import metadata_of
from pyunitok.index.hits import Int64s, shuffled
from pyunitok.index.opened import Index
from pyunitok.index.search import Text
from pyunitok.index.words import WordMatches
from pyunitok.vocab.utf8 import readable

LEAST_SPANS = 10  # the minimum number of spans kept, however short the text is
SHARE = 0.05  # spans kept per token of the text
SNIPPET = 40  # characters shown on either side of a span


@dataclass
class TracedSpan:
    """A part of the text that occurs in the corpus.

    begin, end       its byte range in the text
    left, right      the tokens of the text that the part covers completely or partly: left to right - 1
    text             the part's bytes
    ids              the part's tokens, encoded alone
    count            the number of occurrences; if `approx`, a lower bound
    log_probability  the sum of the natural logarithms of its tokens' frequencies in the corpus
    lines            occurrences in different documents, with the text around them
    """

    begin: int
    end: int
    left: int
    right: int
    text: bytes
    ids: Any
    count: int
    approx: bool
    log_probability: float
    lines: list[Line] = field(default_factory=list)


@dataclass
class Trace:
    """The spans of a text, in text order.

    text      the given text, which is normalized if the model normalizes
    bounds    int64[n, 2]: the byte range of each token of the text
    spans     the rarest spans, in text order
    n_found   the number of spans before the rarest were selected
    approx    True if max_work stopped a search early; spans and documents can be missing, and spans too short
    """

    text: bytes
    bounds: Int64s
    spans: list[TracedSpan]
    n_found: int
    approx: bool


def trace(
    index: Index, text: Text, *, min_bytes: int = 24, whole_words: bool = True, max_spans: int | None = None,
    max_documents: int = 10, context: int = 250, seed: int = 42, normalize: bool = False, max_work: int | None = None,
) -> Trace:  # fmt: skip
    """Find the parts of a text that occur in the corpus, and for each part documents that contain it.

    min_bytes, whole_words  as in Index.spans
    max_spans       keep this many spans, the rarest; by default a twentieth of the text's tokens, and at least 10
    max_documents   the maximum number of documents for each span, drawn with `seed`
    context         characters of a document shown on either side of a span
    normalize       as in Index.spans: compare words, ignoring case and everything between them
    max_work        as in Index.spans, and the budget of the search for the documents of each span

    Costs as much as Index.spans, plus about 10 µs for each occurrence shown.
    """
    for name, value in (("max_documents", max_documents), ("context", context), ("max_spans", max_spans or 0)):
        if value < 0:
            raise LimitError(f"{name} must be at least 0, not {value}")
    if normalize and not whole_words:
        raise LimitError("normalize requires whole_words: it compares complete words")
    found = index.spans(text, min_bytes, whole_words=whole_words, normalize=normalize, max_work=max_work)
    bounds = index.tokenizer.encode_with_offsets(found.text)[1].astype(np.int64).reshape(-1, 2)
    if max_spans is None:
        max_spans = max(LEAST_SPANS, math.ceil(SHARE * len(bounds)))
    spans = [
        TracedSpan(
            begin, end, int(np.searchsorted(bounds[:, 1], begin, "right")), int(np.searchsorted(bounds[:, 0], end)),
            found.text[begin:end], index.tokenizer.encode(found.text[begin:end]), count, False, 0.0,
        )
        for begin, end, count in zip(found.begins.tolist(), found.ends.tolist(), found.counts.tolist(), strict=True)
    ]  # fmt: skip
    _weigh(index, spans)
    kept = sorted(sorted(spans, key=lambda span: span.log_probability)[:max_spans], key=lambda span: span.begin)
    for span in kept:
        if found.matches is None:
            span.lines, span.approx = _lines(index, span.text, max_documents, context, seed, max_work)
        else:
            matches = found.matches[int(np.searchsorted(found.begins, span.begin))]
            span.lines = _matched_lines(index, matches, max_documents, context, seed)
    return Trace(found.text, bounds, kept, len(spans), found.approx or any(span.approx for span in kept))


def _weigh(index: Index, spans: list[TracedSpan]) -> None:
    """Set log_probability of each span. A token that does not occur is treated as occurring once."""
    ids = np.unique(np.concatenate([np.empty(0, np.int64), *(np.asarray(span.ids, np.int64) for span in spans)]))
    counts = index.count_tokens_batch([[id_] for id_ in ids.tolist()])
    logs = np.log(np.maximum(counts, 1) / max(1, index.n_tokens))
    for span in spans:
        span.log_probability = float(logs[np.searchsorted(ids, np.asarray(span.ids, np.int64))].sum())


def _lines(
    index: Index, text: bytes, max_documents: int, context: int, seed: int, max_work: int | None
) -> tuple[list[Line], bool]:
    """Occurrences in at most max_documents different documents, and whether a search stopped early."""
    if max_documents == 0 or index.only_counts:
        return [], False
    hits = index.find(text, 4 * max_documents, order="random", seed=seed, max_work=max_work)
    lines: dict[int, Line] = {}
    for hit, around in zip(hits, index.context_batch(hits, context, context), strict=True):
        if hit.document not in lines and len(lines) < max_documents:
            lines[hit.document] = Line(hit, *around.shown())
    return list(lines.values()), hits.approx


def _matched_lines(index: Index, matches: WordMatches, max_documents: int, context: int, seed: int) -> list[Line]:
    """Like _lines, but for the matches of a span of words."""
    if max_documents == 0 or index.only_counts:
        return []
    n = min(4 * max_documents, matches.total)
    shards, begins, ends = matches.take(shuffled(np.arange(n), matches.total, seed))
    _, first = np.unique(index.words.documents_at(shards, begins), return_index=True)
    chosen = np.sort(first)[:max_documents]
    hits = index.words.hits_at(shards[chosen], begins[chosen], ends[chosen], matches.total)
    contexts = index.context_batch(hits, context, context)
    return [Line(hit, *around.shown()) for hit, around in zip(hits, contexts, strict=True)]


def as_json(index: Index, traced: Trace) -> dict[str, Any]:
    """The trace with the field names of OLMoTrace's API. tools/docs/json.md describes the fields."""
    return {
        "index": index.folder.name,
        "text": readable(traced.text),
        "inputTokens": [readable(traced.text[a:b]) for a, b in traced.bounds.tolist()],
        "approx": traced.approx,
        "spansFound": traced.n_found,
        "spans": [_span_json(index, span) for span in traced.spans],
    }


def _span_json(index: Index, span: TracedSpan) -> dict[str, Any]:
    metadata = metadata_of(index, (line.hit.document for line in span.lines))
    return {
        "left": span.left, "right": span.right, "length": span.right - span.left, "beginByte": span.begin,
        "endByte": span.end, "count": span.count, "unigramLogprobSum": span.log_probability,
        "text": readable(span.text), "tokenIds": [int(id_) for id_ in span.ids],
        "documents": [_document_json(index, line, metadata.get(str(line.hit.document))) for line in span.lines],
    }  # fmt: skip


def _document_json(index: Index, line: Line, metadata: dict[str, Any] | None) -> dict[str, Any]:
    array, number = index.locate(line.hit.document)
    snippet = line.before[-SNIPPET:] + line.match + line.after[:SNIPPET]
    return {
        "documentIndex": line.hit.document, "documentLength": len(array[number]),
        "needleOffset": len(line.before), "needleLength": len(line.match),
        "begin": line.hit.begin, "end": line.hit.end, "source": index.source(line.hit.document), "metadata": metadata,
        "text": line.before + line.match + line.after, "textSnippet": snippet,
    }  # fmt: skip
