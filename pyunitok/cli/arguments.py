"""Arguments that several commands take: sizes, models, separators."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any, ClassVar

import click

from pyunitok.model.sampling import Sample

if TYPE_CHECKING:  # click before 8.4 cannot be subscripted
    IntType = click.ParamType[int]
    ShardType = click.ParamType[tuple[int, int]]
    AnyType = click.ParamType[Any]
else:
    IntType = ShardType = AnyType = click.ParamType



class Size(IntType):
    """Bytes, with an optional K, M or G (powers of 1024)."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        text = value.strip().upper().removesuffix("IB").removesuffix("B")
        factor = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:], 1)
        digits = text[:-1] if factor > 1 else text
        if not digits.isdecimal() or int(digits) == 0:
            self.fail(f"{value!r} is not a valid size; try 1M or 262144", param, ctx)
        return int(digits) * factor


class ShardOf(ShardType):
    """I/N, with I from 0 to N - 1."""

    name = "shard"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        index, slash, count = value.partition("/")
        if not (slash and all(part.isascii() and part.isdecimal() for part in (index, count))):
            self.fail(f"{value!r} is not a valid shard; try 0/8, 1/8 ... 7/8", param, ctx)
        if int(index) >= int(count):
            self.fail(f"{value!r}: the first number goes from 0 to {int(count) - 1}", param, ctx)
        return int(index), int(count)


class SampleOf(AnyType):
    """alpha=A,seed=S[,nbest=N][,method=NAME]: a sampling.Sample."""

    name = "sample"
    KINDS: ClassVar[dict[str, type]] = {"alpha": float, "seed": int, "nbest": int, "method": str}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, Sample):
            return value
        values: dict[str, Any] = {}
        for part in value.split(","):
            name, _, text = part.partition("=")
            if name not in self.KINDS or name in values:
                self.fail(f"{part!r} is not one of alpha=, seed=, nbest=, method=, or is given twice", param, ctx)
            try:
                values[name] = self.KINDS[name](text)
            except ValueError:
                self.fail(f"{text!r} is not a valid {name}", param, ctx)
        if "alpha" not in values or "seed" not in values:
            self.fail("alpha and seed are needed: alpha=0.1,seed=1", param, ctx)
        return Sample(**values)


model_option = click.option(
    "-m", "--model", metavar="MODEL",
    help="A model file, or one of the vocabularies unitok-v1 (the default) and rwkv-world. Many tokenizer.json files"
    " need pip install 'pyunitok[huggingface]'.",
)


def stdin() -> Any:
    """Lines of bytes."""
    if sys.stdin is None:
        raise click.UsageError("stdin is closed: give what to work on as an argument")
    return sys.stdin.buffer


def parse_separator(doc: str) -> bytes | None:
    """The bytes between documents; None if a file is one document."""
    if doc in ("file", "line"):
        return None if doc == "file" else b"\n"
    if not doc:
        raise click.UsageError("--doc takes file, line or a separator, which must not be empty")
    named = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\"}
    parts = re.split(r"\\(x[0-9a-fA-F]{2}|[ntr0\\])", doc)
    return b"".join(
        os.fsencode(part) if k % 2 == 0 else named.get(part) or bytes.fromhex(part[1:]) for k, part in enumerate(parts)
    )
