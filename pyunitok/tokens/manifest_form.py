"""What the JSON of a manifest must look like: the types of its fields, as msgspec checks them."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass, make_dataclass
from functools import cache, reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import msgspec

from pyunitok.corpus.source import Count
from pyunitok.tokens.manifest import MAX_SHARDS

T = TypeVar("T")


@dataclass
class _Shard:
    """What a manifest must say of the part of a run that it describes: the fields of run.shard.Shard.

    max_line_bytes  no line read was longer
    """

    index: Count
    count: Annotated[int, ("ge", 1), ("le", MAX_SHARDS)]
    first_input: Count
    all_inputs: str
    range: tuple[Count, Count | None] | None = None
    max_line_bytes: Count | None = None


@dataclass
class _Exported:
    """What a manifest must say of an export that tokenize --format made, or began (files: None)."""

    wanted: dict[str, Any]
    files: dict[str, Count] | None = None


@dataclass
class _Model:
    """What a manifest must say of its model."""

    name: str | None = None
    path: str | None = None
    sha256: str | None = None


@dataclass
class _Hash:
    """What a manifest must say of the hashes of its files; empty until they are known."""

    algorithm: str = ""
    chunk_bytes: Count = 0
    tokens: list[str] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)


def checked(manifest: type[T], values: Any, record: type[Any]) -> T:
    """A `manifest`, a dataclass, of these values, its `inputs` each a `record`. ValueError says what is wrong."""
    found: Any = _converted(values, manifest)
    known = {f.name: getattr(found, f.name) for f in fields(found)}
    known["inputs"] = [record(**vars(item)) for item in known["inputs"]]
    for name, form in {"model": _Model, "hash": _Hash, "exported": _Exported, "shard": _Shard}.items():
        if known[name] is not None:
            _converted(known[name], form)
    shard = known["shard"]
    if shard is not None and shard["index"] >= shard["count"]:
        raise ValueError(f"shard {shard['index']} of {shard['count']}")
    return manifest(**known)


def _converted(values: Any, cls: Any) -> Any:
    try:
        return msgspec.convert(values, _form(cls))
    except msgspec.ValidationError as error:  # no ValueError before msgspec 0.21
        raise ValueError(str(error)) from None


@cache
def _form(cls: Any) -> type:
    """A dataclass as msgspec takes it: with its limits in place of ours."""
    hints, rows = get_type_hints(cls, include_extras=True), []
    for f in fields(cls):
        rows.append((f.name, _type(hints[f.name]), field(default=f.default, default_factory=f.default_factory)))
    return make_dataclass(cls.__name__, rows)


def _type(hint: Any) -> Any:
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return Annotated[_type(parts[0]), msgspec.Meta(**dict(parts[1:]))]
    if origin in (Union, UnionType):
        return reduce(or_, map(_type, parts))
    if is_dataclass(hint):
        return _form(cast(Any, hint))
    return origin[tuple(map(_type, parts))] if origin else hint
