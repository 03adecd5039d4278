"""Provides checked access to the fields of a JSON document. Errors name the path of the field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from pyunitok.errors import VocabularyError


class Fields:
    """An object in a JSON document, and its path for messages: "file.json: normalizer.normalizers[2]"."""

    def __init__(self, values: Any, where: str) -> None:
        self.where = where
        if not isinstance(values, dict):
            self.refuse("expected an object")
        self.values: dict[str, Any] = values

    def refuse(self, problem: str, key: str | None = None) -> NoReturn:
        raise VocabularyError(f"{self.path(key) if key else self.where}: {problem}")

    def path(self, key: str) -> str:
        return f"{self.where}{'' if self.where.endswith(' ') else '.'}{key}"

    def has(self, key: str) -> bool:
        """Whether the key exists and is not null."""
        return self.values.get(key) is not None

    def string(self, key: str, default: str | None = None) -> str:
        value = self.values.get(key, default)
        if not isinstance(value, str):
            self.refuse("expected a string", key)
        try:
            value.encode()
        except UnicodeEncodeError:
            self.refuse("the string contains a lone surrogate", key)
        return value

    def boolean(self, key: str, default: bool | None = None) -> bool:
        value = self.values.get(key)
        if value is None and default is not None:
            return default
        if not isinstance(value, bool):
            self.refuse("expected true or false", key)
        return value

    def integer(self, key: str) -> int:
        value = self.values.get(key)
        if type(value) is not int or not 0 <= value < 1 << 32:
            self.refuse("expected an integer in 0..4294967295", key)
        return value

    def child(self, key: str) -> Fields:
        return Fields(self.values.get(key), self.path(key))

    def children(self, key: str) -> Iterator[Fields]:
        for k, value in enumerate(self.list(key)):
            yield Fields(value, f"{self.path(key)}[{k}]")

    def parts(self, key: str, list_key: str) -> list[Fields]:
        """The parts of a component in order. A Sequence lists them under `list_key`; nested Sequences are flattened."""
        return self.child(key)._parts(list_key, 0) if self.has(key) else []

    def _parts(self, list_key: str, depth: int) -> list[Fields]:
        if self.string("type") != "Sequence":
            return [self]
        if depth > 20:
            self.refuse("Sequences are nested too deeply")
        return [part for child in self.children(list_key) for part in child._parts(list_key, depth + 1)]

    def list(self, key: str) -> list[Any]:
        value = self.values.get(key)
        if not isinstance(value, list):
            self.refuse("expected a list", key)
        return value
