"""Represents Thrift structs as trees, so that a few fields can be changed and all others written unchanged.

    struct    {number: (type, value)}
    list      (type, [value, …])
    EncodedValue   a value that is written unchanged

thrift.py describes the bytes. Maps, which Parquet footers do not contain, are not supported.
"""

from __future__ import annotations

from typing import Any

from pyunitok.corpus.thrift import BINARY, BYTE, DOUBLE, FALSE, INTEGERS, LIST, SET, STRUCT, TRUE, UUID, ThriftReader

Struct = dict[int, tuple[int, Any]]
FIXED = {BYTE: 1, DOUBLE: 8, UUID: 16}  # the number of bytes of a value of each type


class EncodedValue(bytes):
    """The bytes of a value."""


def read_struct(reader: ThriftReader) -> Struct:
    """Raises IndexError or ValueError if the struct is invalid. Not for untrusted data: the depth is not limited."""
    return {number: (kind, None if kind in (TRUE, FALSE) else _read(reader, kind)) for number, kind in reader.fields()}


def _read(reader: ThriftReader, kind: int) -> Any:
    if kind in INTEGERS:
        return reader.integer(INTEGERS[kind])
    if kind == STRUCT:
        return read_struct(reader)
    if kind in (LIST, SET):
        n, inner = reader.items()
        return inner, [_read(reader, inner) for _ in range(n)]
    if kind not in (*FIXED, BINARY, TRUE, FALSE):
        raise ValueError(f"unsupported type {kind}")
    n_bytes = reader.varint() if kind == BINARY else FIXED.get(kind, 1)
    return reader.take(n_bytes)


def write_struct(struct: Struct) -> EncodedValue:
    """The inverse of read_struct()."""
    ret, before = bytearray(), 0
    for number, (kind, value) in sorted(struct.items()):
        step = number - before
        ret += bytes([step << 4 | kind]) if 0 < step < 16 else bytes([kind]) + _varint(number << 1)
        before = number
        if kind not in (TRUE, FALSE):
            _write(ret, kind, value)
    return EncodedValue(ret + b"\0")


def _write(ret: bytearray, kind: int, value: Any) -> None:
    if isinstance(value, EncodedValue):
        ret += value
    elif kind in INTEGERS:
        ret += _varint(value << 1 if value >= 0 else ~(value << 1))
    elif kind == STRUCT:
        ret += write_struct(value)
    elif kind in (LIST, SET):
        inner, items = value
        ret += bytes([len(items) << 4 | inner]) if len(items) < 15 else bytes([15 << 4 | inner]) + _varint(len(items))
        for item in items:
            _write(ret, inner, item)
    else:
        ret += (_varint(len(value)) if kind == BINARY else b"") + value


def _varint(n: int) -> bytes:
    ret = bytearray()
    while n > 127:
        ret.append(n & 127 | 128)
        n >>= 7
    ret.append(n)
    return bytes(ret)
