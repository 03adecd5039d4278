"""The parameters of requests to the search page, and their limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyunitok.index.opened import Index

MAX_QUERY_BYTES = 10_000
MAX_LIMIT = 1_000
MAX_CONDITIONS = 10
MAX_CONTEXT = 500  # characters on either side of a hit
MAX_SCANNED = 5_000_000  # the maximum number of hits that a request sorts or counts by source, in about a second
LEAST_WORK = 100_000  # the smallest budget of a search in one shard, about 0.1 ms

Parameters = Mapping[str, Sequence[str]]
Answer = dict[str, Any]


class BadRequest(Exception):
    """A request parameter is invalid; the message says which one and why."""


def text_of(parameters: Parameters, name: str = "q") -> bytes:
    values = parameters.get(name, [])
    if len(values) != 1:
        raise BadRequest(f"expected exactly one {name} parameter")
    data = values[0].encode("utf-8", "surrogatepass")
    if len(data) > MAX_QUERY_BYTES:
        raise BadRequest(f"{name} has {len(data):,} bytes; the limit is {MAX_QUERY_BYTES:,}")
    return data


def number(parameters: Parameters, name: str, default: int, most: int, least: int = 0) -> int:
    values = parameters.get(name, [])
    if not values:
        return default
    word = values[-1]
    if len(word) > 18 or not (word.isascii() and word.isdecimal()) or not least <= int(word) <= most:
        raise BadRequest(f"{name} must be a number from {least} to {most}, not {word[:40]!r}")
    return int(word)


def with_name(index: Index, record: Answer, key: str = "source") -> Answer:
    """The record, with the path of its input replaced by IndexInputs.name_of."""
    return record | {key: index.inputs.name_of(record[key])} if isinstance(record.get(key), str) else record


def conditions_of(parameters: Parameters, name: str = "where") -> list[str]:
    """The conditions on fields."""
    ret = list(parameters.get(name, []))
    if len(ret) > MAX_CONDITIONS:
        raise BadRequest(f"expected at most {MAX_CONDITIONS} {name} parameters")
    return ret


def share_of_work(index: Index, n_searches: int) -> int:
    """The budget of each of many searches, most of which take a few microseconds."""
    return min(index.max_work, max(LEAST_WORK, index.max_work // max(1, n_searches)))


def check_hits(index: Index, n_hits: int, *, samples: bool = False) -> None:
    """Raise BadRequest if a request would read too many hits.

    samples  whether it reads only a sample of the hits in a compact index, which locates them slowly
    """
    most = MAX_SCANNED if samples else index.sample_size(1 << 62, MAX_SCANNED)
    if most is not None and n_hits > most:
        raise BadRequest(f"this query has over {most:,} hits, too many to read; make it more specific")
