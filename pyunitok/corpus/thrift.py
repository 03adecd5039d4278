"""ThriftReader parses untrusted Parquet headers, which use a subset of Thrift's compact protocol.

    struct    field, field, …, 0
    field     u8 (step << 4 | type), or u8 type and the field's number as an integer; then its value
    integer   varint, zigzag: 0, -1, 1, -2, …
    binary    varint n, n bytes
    list      u8 (n << 4 | type), or u8 (15 << 4 | type) and varint n; then n values

Bytes that different readers may interpret differently (a repeated field, an integer too large for its type) are an
error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

STRUCT, LIST, SET, _MAP, BINARY, DOUBLE, BYTE, UUID = 12, 9, 10, 11, 8, 7, 3, 13
TRUE, FALSE = 1, 2
INTEGERS = {4: 16, 5: 32, 6: 64}  # the number of bits of each type
_MAX_DEPTH = 16


class ThriftReader:
    """Reads `data`, starting at `at`. Raises IndexError if the data ends too early, ValueError if it is invalid."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    def varint(self) -> int:
        data, at = self.data, self.at
        byte = data[at]
        ret, shift = byte & 127, 0
        while byte > 127:
            at, shift = at + 1, shift + 7
            if shift > 63:
                raise ValueError("an integer of more than 10 bytes")
            byte = data[at]
            ret |= (byte & 127) << shift
        self.at = at + 1
        return ret

    def integer(self, bits: int) -> int:
        n = self.varint()
        if n >> bits:
            raise ValueError(f"an integer of more than {bits} bits")
        return (n >> 1) ^ -(n & 1)

    def fields(self) -> Iterator[tuple[int, int]]:
        """(number, type) of each field of a struct. The caller must read or skip each value before the next field."""
        number, seen = 0, set[int]()
        while True:
            head = self.data[self.at]
            self.at += 1
            if head == 0:
                return
            number = number + (head >> 4) if head >> 4 else self.integer(16)
            if number in seen:
                raise ValueError(f"field {number} is repeated")
            seen.add(number)
            yield number, head & 15

    def items(self) -> tuple[int, int]:
        """Read the beginning of a list: (number of items, their type)."""
        head = self.data[self.at]
        self.at += 1
        return (self.varint() if head >> 4 == 15 else head >> 4), head & 15

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Read a struct: its integers, booleans and structs, by field number."""
        ret = dict[int, Any]()
        for number, kind in self.fields():
            if kind in INTEGERS:
                ret[number] = self.integer(INTEGERS[kind])
            elif kind in (TRUE, FALSE):
                ret[number] = kind == TRUE
            elif kind == STRUCT and depth < _MAX_DEPTH:
                ret[number] = self.struct(depth + 1)
            else:
                self.skip(kind, depth)
        return ret

    @staticmethod
    def get_integer(struct: dict[int, Any], number: int, default: int | None = None) -> int:
        """An integer from a result of struct(). Raises ValueError if it has a different type, or is missing without a
        default."""
        value = struct.get(number, default)
        if not isinstance(value, int):
            raise ValueError(f"field {number} is missing, or not an integer")
        return value

    @staticmethod
    def get_struct(struct: dict[int, Any], number: int) -> dict[int, Any]:
        value = struct.get(number)
        if not isinstance(value, dict):
            raise ValueError(f"field {number} is missing, or not a struct")
        return value

    def skip(self, kind: int, depth: int = 0) -> None:
        """Skip the value of a field of a struct."""
        if kind not in (TRUE, FALSE):
            self._skip_item(kind, depth)

    def _skip_item(self, kind: int, depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise ValueError(f"more than {_MAX_DEPTH} nested structs and lists")
        if kind in INTEGERS:
            self.varint()
        elif kind in (BYTE, TRUE, FALSE):
            self._pass(1)
        elif kind == BINARY:
            self._pass(self.varint())
        elif kind == STRUCT:
            for _, inner in self.fields():
                self.skip(inner, depth + 1)
        elif kind in (LIST, SET):
            n, inner = self.items()
            for _ in range(n):
                self._skip_item(inner, depth + 1)
        elif kind == _MAP:
            n = self.varint()
            kinds = self.data[self.at] if n else 0
            self.at += 1 if n else 0
            for _ in range(n):
                self._skip_item(kinds >> 4, depth + 1)
                self._skip_item(kinds & 15, depth + 1)
        elif kind in (DOUBLE, UUID):
            self._pass(8 if kind == DOUBLE else 16)
        else:
            raise ValueError(f"unknown type {kind}")

    def take(self, n_bytes: int) -> bytes:
        """The next n_bytes."""
        begin = self.at
        self._pass(n_bytes)
        return self.data[begin : self.at]

    def _pass(self, n_bytes: int) -> None:
        if n_bytes > len(self.data) - self.at:
            raise IndexError
        self.at += n_bytes
