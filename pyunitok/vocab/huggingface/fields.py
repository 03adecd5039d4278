"""Fields of a JSON document, read with checks: what is missing, of another type or not known is refused by its path."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from pyunitok.errors import VocabularyError
from pyunitok.vocab import limits


class Fields:
    """An object of a JSON document, and where it is in it: "file.json: normalizer.normalizers[2]"."""

    def __init__(self, values: Any, where: str) -> None:
        self.where = where
        if not isinstance(values, dict):
            self.refuse("an object is needed here")
        self.values: dict[str, Any] = values

    def refuse(self, problem: str, key: str | None = None) -> NoReturn:
        raise VocabularyError(f"{self.where}{self._dot()}{key}: {problem}" if key else f"{self.where}: {problem}")

    def _dot(self) -> str:
        return "" if self.where.endswith(" ") else "."

    def path(self, key: str) -> str:
        return f"{self.where}{self._dot()}{key}"

    def has(self, key: str) -> bool:
        """Whether it is there and not null."""
        return self.values.get(key) is not None

    def string(self, key: str, default: str | None = None) -> str:
        value = self.values.get(key, default)
        if not isinstance(value, str):
            self.refuse("a string is needed", key)
        try:
            value.encode()
        except UnicodeEncodeError:
            self.refuse("it has a lone surrogate", key)
        return value

    def character(self, key: str) -> str:
        value = self.string(key)
        if len(value) != 1:
            self.refuse("one character is needed", key)
        return value

    def boolean(self, key: str, default: bool | None = None) -> bool:
        value = self.values.get(key)
        if value is None and default is not None:
            return default
        if not isinstance(value, bool):
            self.refuse("true or false is needed", key)
        return value

    def integer(self, key: str) -> int:
        value = self.values.get(key)
        if type(value) is not int or not 0 <= value < 1 << 32:
            self.refuse("a number within 0..4294967295 is needed", key)
        return value

    def number(self, key: str) -> float:
        value = self.values.get(key, 0.0)
        if type(value) not in (int, float):
            self.refuse("a number is needed", key)
        return float(value)

    def choice(self, key: str, choices: tuple[str, ...], default: str | None = None) -> str:
        value = self.string(key, default)
        if value not in choices:
            self.refuse(f"{value[:40]!r} is not supported: only {', '.join(choices)}", key)
        return value

    def list(self, key: str) -> list[Any]:
        value = self.values.get(key)
        if not isinstance(value, list):
            self.refuse("a list is needed", key)
        return value

    def child(self, key: str) -> Fields:
        return Fields(self.values.get(key), self.path(key))

    def children(self, key: str) -> Iterator[Fields]:
        for k, value in enumerate(self.list(key)):
            yield Fields(value, f"{self.path(key)}[{k}]")


def flatten(fields: Fields | None, list_key: str, depth: int = 0) -> list[Fields]:
    """The parts of a component in their order: a Sequence, nested or not, holds others under `list_key`."""
    if fields is None:
        return []
    if fields.string("type") != "Sequence":
        return [fields]
    if depth > 20:
        fields.refuse("it is nested too deeply")
    ret = [part for child in fields.children(list_key) for part in flatten(child, list_key, depth + 1)]
    if len(ret) > limits.components:
        fields.refuse(
            f"{len(ret)} of them; at most {limits.components} are allowed (pyunitok.vocab.limits.components, which may"
            " be raised)", list_key,
        )  # fmt: skip
    return ret


def optional(fields: Fields, key: str) -> Fields | None:
    return fields.child(key) if fields.has(key) else None
