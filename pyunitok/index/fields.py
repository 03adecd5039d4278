"""Fields of documents, such as lang, year and path: field_build.add_fields() stores them, and Index.fields reads them.

    fields.columns     for field number k of `about`:
        k.codes        uint32[documents]: the number of the document's value; 0: the document has none
        k.offsets      uint64[values + 1]: value v, from 1 on, is text[offsets[v - 1]:offsets[v]]
        k.text         uint8: the values in UTF-8, in code point order

Values are text. If both sides of a comparison are numbers, they are compared as numbers. Lists and objects are stored
as JSON text.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from pyunitok.errors import InputError, LimitError
from pyunitok.index.columns import Columns
from pyunitok.index.hits import Int64s
from pyunitok.index.search import TextSearch
from pyunitok.index.word_shard import state_of

FIELDS_NAME = "fields.columns"
KIND = "fields of documents"
INPUT = "@file"  # the input that a document came from, which needs no stored field
MAX_VALUE_BYTES = 4096
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_CONDITION = re.compile(r"([^=!<>]+)(==|!=|<=|>=|=|<|>)(.*)", re.DOTALL)
# An unknown test, such as =>, << or ===. A value that begins with <, such as <unk>, may follow a single =.
_UNKNOWN_TEST = re.compile(r"[^=!<>]+((?:[=!<>]=|<(?!=)|>(?!=))[=!<>]+|=[<>](?=\s*[-+.\d]))")
_TESTS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "==": operator.eq, "!=": operator.ne,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip

Mask = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass
class Field:
    """The values of one field. codes: int64[documents], v for values[v - 1], or 0 if the document has no value."""

    name: str
    codes: Int64s
    values: list[str]

    @cached_property
    def numbers(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The values as numbers; nan for values that are not numbers."""
        return np.array([as_number(value) for value in self.values], np.float64)

    def matching(self, test: str, value: str) -> Mask:
        """bool[documents]: whether a document's value passes a test. A missing value passes no test."""
        compare, number = _TESTS[test], as_number(value)
        passes = np.array([False, *(bool(compare(other, value)) for other in self.values)], np.bool_)
        if not np.isnan(number):
            is_number = ~np.isnan(self.numbers)
            passes[1:][is_number] = compare(self.numbers[is_number], number)
        ret: Mask = passes[self.codes]
        return ret


def as_number(text: str) -> float:
    """The number that a text represents, or nan."""
    return float(text) if _NUMBER.fullmatch(text) else float("nan")


class FieldIndex:
    """The fields of the documents of an index. All methods are thread-safe."""

    def __init__(self, index: TextSearch) -> None:
        """Internal: use Index.fields."""
        self._index = index
        path = index.folder / FIELDS_NAME
        self._columns = Columns(path, KIND) if path.exists() else None
        empty: dict[str, Any] = {"fields": [], "index": state_of(index.manifest)}
        about = empty if self._columns is None else self._columns.about
        names: Any = about.get("fields")
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise InputError(f"{path}: the names of fields are damaged")
        self.names: list[str] = names
        self.is_current = about.get("index") == state_of(index.manifest)
        self._fields: dict[str, Field] = {}

    def field(self, name: str) -> Field:
        """A stored field, or "@file". Raises LimitError if the field is not stored."""
        if name not in self._fields:
            self._fields[name] = self._inputs() if name == INPUT else self._stored(name)
        return self._fields[name]

    def _inputs(self) -> Field:
        inputs = self._index.inputs
        paths = [inputs.name_of(path) if path else "-" for path in inputs.paths]
        values = sorted(set(paths))
        numbers = np.array([values.index(path) + 1 for path in paths], np.int64)
        codes = numbers[inputs.of(np.arange(self._index.n_documents))] if paths else np.empty(0, np.int64)
        return Field(INPUT, codes, values)

    def _stored(self, name: str) -> Field:
        if name not in self.names or self._columns is None:
            stored = ", ".join(self.names) or "none"
            raise LimitError(
                f"the field {name!r} is not stored (stored are: {stored}); add it with `pyunitok index "
                f"{self._index.folder} -o {self._index.folder} --fields {name}`"
            )
        if not self.is_current:
            raise InputError(
                f"{self._columns.path}: the index has changed since its fields were stored; repeat"
                " `pyunitok index --fields`"
            )
        k, columns = self.names.index(name), self._columns
        codes = columns.column(f"{k}.codes", "<u4", self._index.n_documents).astype(np.int64)
        offsets = columns.column(f"{k}.offsets", "<u8").astype(np.int64)
        data = columns.column(f"{k}.text", "|u1").tobytes()
        is_valid = len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == len(data)
        is_valid = is_valid and not bool((offsets[1:] < offsets[:-1]).any())
        if not is_valid or (len(codes) and int(codes.max()) >= len(offsets)):
            raise InputError(f"{columns.path}: the values of {name!r} are damaged")
        bounds = offsets.tolist()
        values = [data[a:b].decode("utf-8", "replace") for a, b in pairwise(bounds)]
        return Field(name, codes, values)

    def of(self, document: int) -> dict[str, str]:
        """The stored fields of a document."""
        found = ((name, self.field(name)) for name in self.names)
        return {name: field.values[code - 1] for name, field in found if (code := int(field.codes[document]))}

    def where(self, conditions: Sequence[str]) -> Mask:
        """bool[documents]: the documents that satisfy all conditions, such as "lang=de" and "year>=1990"; the tests
        are = (or ==), !=, <, <=, > and >=."""
        chosen = np.ones(self._index.n_documents, np.bool_)
        for condition in conditions:
            if unknown := _UNKNOWN_TEST.match(condition):
                raise LimitError(
                    f"{condition!r}: {unknown[1]} is not a test; use =, !=, <, <=, > or >=, and write a space before a"
                    " value that begins with =, !, < or >"
                )
            found = _CONDITION.fullmatch(condition)
            if found is None:
                raise LimitError(f"{condition!r} is not a condition such as lang=de or year>=1990")
            chosen &= self.field(found[1].strip()).matching(found[2], found[3].strip())
        return chosen


def field_problems(folder: Path) -> list[str]:
    """One sentence for each problem in the stored fields of an index."""
    path = folder / FIELDS_NAME
    try:
        return Columns(path, KIND).problems() if path.exists() else []
    except InputError as error:
        return [str(error)]


def value_of(record: dict[str, Any], name: str) -> str | None:
    """The value of a field in the metadata of a document, as text; None if it is missing or null."""
    found: Any = record
    if name not in record:
        for part in name.split("."):
            if not isinstance(found, dict):
                return None
            found = found.get(part)
    else:
        found = record[name]
    if found is None:
        return None
    text = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
    data = text.encode("utf-8", "replace")[:MAX_VALUE_BYTES]
    return data.decode("utf-8", "ignore")
