"""Argument types and options shared by several commands."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any, ClassVar

import click

from pyunitok.model.sampling import Sample
from pyunitok.tokens.model import open_model

if TYPE_CHECKING:  # ParamType cannot be subscripted before click 8.4
    IntType = click.ParamType[int]
    ShardType = click.ParamType[tuple[int, int]]
    AnyType = click.ParamType[Any]
else:
    IntType = ShardType = AnyType = click.ParamType



class Size(IntType):
    """A number with an optional suffix K, M or G (powers of 1024)."""

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
    """I/N with 0 <= I < N."""

    name = "shard"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        index, slash, count = value.partition("/")
        if not (slash and all(part.isascii() and part.isdecimal() for part in (index, count))):
            self.fail(f"{value!r} is not a valid shard; try 0/8, 1/8 ... 7/8", param, ctx)
        if int(index) >= int(count):
            self.fail(f"{value!r} is not a valid shard; shards are numbered 0 to {int(count) - 1}", param, ctx)
        return int(index), int(count)


class SampleOf(AnyType):
    """A sampling.Sample, written alpha=A,seed=S[,nbest=N][,method=NAME]."""

    name = "sample"
    KINDS: ClassVar[dict[str, type]] = {"alpha": float, "seed": int, "nbest": int, "method": str}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, Sample):
            return value
        values: dict[str, Any] = {}
        for part in value.split(","):
            name, _, text = part.partition("=")
            if name not in self.KINDS or name in values:
                self.fail(f"{part!r} is repeated or unknown; use alpha=, seed=, nbest= or method=", param, ctx)
            try:
                values[name] = self.KINDS[name](text)
            except ValueError:
                self.fail(f"{text!r} is not a valid {name}", param, ctx)
        if "alpha" not in values or "seed" not in values:
            self.fail("alpha and seed are required, as in alpha=0.1,seed=1", param, ctx)
        return Sample(**values)


model_option = click.option(
    "-m", "--model", metavar="MODEL",
    help="A model file, unitok-v1 (the default) or rwkv-world. Many tokenizer.json files need"
    " pip install 'pyunitok[huggingface]'.",
)
# Commands that read token files get a Tokenizer, or None for the model that the manifest names.
model_override_option = click.option(
    "-m", "--model", metavar="MODEL", callback=lambda _context, _option, name: open_model(name) if name else None,
    help="Use this model instead of the one named in the manifest.",
)  # fmt: skip


def stdin() -> Any:
    """Standard input as an iterable of byte lines."""
    if sys.stdin is None:
        raise click.UsageError("stdin is closed; pass the input as an argument")
    return sys.stdin.buffer


def parse_separator(doc: str) -> bytes | None:
    """Parse --doc; None means that each file is one document."""
    if doc in ("file", "line"):
        return None if doc == "file" else b"\n"
    if not doc:
        raise click.UsageError("--doc is empty; use file, line or a separator")
    named = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\"}
    parts = re.split(r"\\(x[0-9a-fA-F]{2}|[ntr0\\])", doc)
    return b"".join(
        os.fsencode(part) if k % 2 == 0 else named.get(part) or bytes.fromhex(part[1:]) for k, part in enumerate(parts)
    )
