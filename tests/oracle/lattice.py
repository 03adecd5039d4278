"""Computes sampling probabilities and entropy from all paths through a small lattice, and finds n-best paths with the
search of the reference implementation.

A text is a normalized string. A path is a tuple of edges.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np


class Edge(NamedTuple):
    begin: int
    end: int
    piece: str | None  # None: an unknown character
    score: float


Path = tuple[Edge, ...]


def edges(scores: Mapping[str, float], unknown: float, text: str) -> list[Edge]:
    """The edges, ordered by start, then length. If a character is not a piece, the last edge that begins there is
    the unknown character."""
    ret = []
    for begin in range(len(text)):
        ends = [end for end in range(begin + 1, len(text) + 1) if text[begin:end] in scores]
        ret += [Edge(begin, end, text[begin:end], scores[text[begin:end]]) for end in ends]
        if begin + 1 not in ends:
            ret.append(Edge(begin, begin + 1, None, unknown))
    return ret


def unknown_score(normal: list[float]) -> float:
    """The score of an unknown character: ten below the worst score of a NORMAL piece, in float32."""
    return float(np.float32(np.float32(min(normal)) - np.float32(10)))


def user_defined_score(piece: str) -> float:
    """The score of a user-defined piece in the lattice of sentencepiece 0.2.3."""
    return float(np.float32(0.1 * (len(piece) - 1)))


def paths(lattice: list[Edge], length: int, begin: int = 0) -> Iterator[Path]:
    """All paths. Their number grows exponentially with the length of the text."""
    if begin == length:
        yield ()
    for edge in lattice:
        if edge.begin == begin:
            yield from ((edge, *rest) for rest in paths(lattice, length, edge.end))


def score(path: Path) -> float:
    return math.fsum(edge.score for edge in path)


def probabilities(all_paths: list[Path], alpha: float) -> list[float]:
    """The distribution of an exact sampler: p ~ exp(alpha * score)."""
    best = max(alpha * score(path) for path in all_paths)
    weights = [math.exp(alpha * score(path) - best) for path in all_paths]
    return [weight / math.fsum(weights) for weight in weights]


def entropy(all_paths: list[Path], alpha: float) -> float:
    """The entropy of the distribution of the paths, in nats."""
    return -math.fsum(p * math.log(p) for p in probabilities(all_paths, alpha) if p > 0)


def viterbi_probabilities(lattice: list[Edge], length: int, alpha: float) -> dict[Path, float]:
    """The distribution of BytePiece's first sampler: an edge replaces the current path with a probability of
    sigmoid(alpha * difference of scores)."""
    states: list[tuple[float, dict[int, Path]]] = [(1.0, {0: ()})]
    for edge in lattice:
        after = []
        for p, reached in states:
            path = (*reached[edge.begin], edge)
            accept = 1.0
            if edge.end in reached:
                accept = 1 / (1 + math.exp(-alpha * (score(path) - score(reached[edge.end]))))
            after.append((p * accept, {**reached, edge.end: path}))
            if accept < 1:
                after.append((p * (1 - accept), reached))
        states = after
    ret: dict[Path, float] = {}
    for p, reached in states:
        ret[reached[length]] = ret.get(reached[length], 0) + p
    return ret


class Hypothesis(NamedTuple):
    priority: np.float32
    score: np.float32
    path: tuple[int, ...]  # the nodes from here to the end


def push(heap: list[Hypothesis], item: Hypothesis) -> None:
    """Push as std::push_heap does: if two items have equal priorities, the older one stays above the newer one."""
    heap.append(item)
    _rise(heap, len(heap) - 1, item)


def pop(heap: list[Hypothesis]) -> Hypothesis:
    """Pop as std::pop_heap does: the hole sinks to a leaf, to the right on ties, and the last item rises from there."""
    top, last = heap[0], heap.pop()
    hole = 0
    while 2 * hole + 1 < len(heap):
        left, right = 2 * hole + 1, 2 * hole + 2
        child = left if right == len(heap) or heap[right].priority < heap[left].priority else right
        heap[hole] = heap[child]
        hole = child
    if heap:
        _rise(heap, hole, last)
    return top


def _rise(heap: list[Hypothesis], hole: int, item: Hypothesis) -> None:
    while hole > 0 and heap[(hole - 1) // 2].priority < item.priority:
        heap[hole] = heap[(hole - 1) // 2]
        hole = (hole - 1) // 2
    heap[hole] = item


def best_sums(nodes: list[Edge]) -> list[np.float32]:
    """For each node, the best float32 sum of a path that ends with it; nodes[0] is the start of the text."""
    ret = [np.float32(0)]
    for node in nodes[1:]:
        before = [ret[k] for k in range(len(ret)) if nodes[k].end == node.begin]
        ret.append(max(np.float32(value + np.float32(node.score)) for value in before))
    return ret


def nbest(lattice: list[Edge], length: int, n: int) -> list[tuple[Path, np.float32]]:
    """The n >= 2 best paths, found as in sentencepiece: A* from the end in float32; the order of its heap decides ties.

    sentencepiece's limits on the number of hypotheses are omitted, because small lattices do not reach them.
    """
    nodes = [Edge(0, 0, None, 0), *lattice, Edge(length, length, None, 0)]
    best = best_sums(nodes)
    heap = [Hypothesis(best[-1], np.float32(0), (len(nodes) - 1,))]
    ret: list[tuple[Path, np.float32]] = []
    while heap and len(ret) < n:
        top = pop(heap)
        if top.path[0] == 0:
            ret.append((tuple(nodes[k] for k in top.path[1:-1]), top.priority))
            continue
        for k in range(len(nodes) - 1):
            if nodes[k].end == nodes[top.path[0]].begin:
                longer = np.float32(np.float32(nodes[k].score) + top.score)
                push(heap, Hypothesis(np.float32(best[k] + top.score), longer, (k, *top.path)))
    return ret
