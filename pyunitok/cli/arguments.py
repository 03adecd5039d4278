"""Defines argument types and options that several commands share."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pyunitok.model.sampling import Sample
from pyunitok.tokens.model import open_model, open_stated

if TYPE_CHECKING:  # ParamType cannot be subscripted before click 8.4
    AnyType = click.ParamType[Any]
else:
    AnyType = click.ParamType
Command = TypeVar("Command", bound=Callable[..., Any])


class Parsed(AnyType):
    """An argument type whose values are parsed by a function, which raises ValueError for invalid text."""

    def __init__(self, parse: Callable[[str], Any], name: str = "value") -> None:
        self._parse, self.name = parse, name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self._parse(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _parse_size(text: str) -> int:
    number = text.strip().upper().removesuffix("IB").removesuffix("B")
    factor = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(number[-1:], 1)
    digits = number[:-1] if factor > 1 else number
    if not digits.isdecimal() or int(digits) == 0:
        raise ValueError(f"{text!r} is not a valid size; try 1M or 262144")
    return int(digits) * factor


def _parse_shard(text: str) -> tuple[int, int]:
    index, slash, n = text.partition("/")
    if not (slash and all(part.isascii() and part.isdecimal() for part in (index, n))):
        raise ValueError(f"{text!r} is not a valid shard; try 0/8, 1/8 ... 7/8")
    if int(index) >= int(n):
        raise ValueError(f"{text!r} is not a valid shard; shards are numbered 0 to {int(n) - 1}")
    return int(index), int(n)


def _parse_sample(text: str) -> Sample:
    kinds: dict[str, Callable[[str], Any]] = {"alpha": float, "seed": int, "nbest": int, "method": str}
    values: dict[str, Any] = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        if name not in kinds or name in values:
            raise ValueError(f"{part!r} is repeated or unknown; use alpha=, seed=, nbest= or method=")
        try:
            values[name] = kinds[name](value)
        except ValueError:
            raise ValueError(f"{value!r} is not a valid {name}") from None
    if "alpha" not in values or "seed" not in values:
        raise ValueError("alpha and seed are required, as in alpha=0.1,seed=1")
    return Sample(**values)


SIZE = Parsed(_parse_size, "size")  # a number with an optional suffix K, M or G, for powers of 1024
SHARD = Parsed(_parse_shard, "shard")  # I/N with 0 <= I < N
SAMPLE = Parsed(_parse_sample, "sample")  # alpha=A,seed=S[,nbest=N][,method=NAME]

_PATTERN = "pyunitok.pattern"  # the key under which --pattern is stored for the callback of --model
pattern_option = click.option(
    "--pattern", metavar="NAME|REGEX", is_eager=True, expose_value=False,
    callback=lambda context, _option, pattern: context.meta.update({_PATTERN: pattern}),
    help="The pre-tokenizer pattern of a tiktoken file or vocab.json: gpt2, cl100k, llama3, qwen2, o200k, ... or a"
    " regular expression. Known tiktoken files do not need it.",
)  # fmt: skip


def with_pattern(context: click.Context, _option: click.Parameter, name: str | None) -> Any:
    """The model of --model, already opened if --pattern was given."""
    pattern = context.meta.get(_PATTERN)
    return name if pattern is None else open_stated(name, pattern)


def _model_option(**settings: Any) -> Callable[[Command], Command]:
    """The option --model, together with the options for the model file."""
    option = click.option("-m", "--model", metavar="MODEL", **settings)
    return lambda command: option(pattern_option(command))


model_option = _model_option(
    callback=with_pattern,
    help="A model file, a folder that contains one, unitok-v1 (the default) or rwkv-world. Some tokenizer.json files"
    " require `pip install 'pyunitok[huggingface]'`.",
)
# Commands that read token files get a Tokenizer, or None for the model that the manifest names.
model_override_option = _model_option(
    callback=lambda context, option, name: (
        open_model(with_pattern(context, option, name)) if name or context.meta.get(_PATTERN) else None
    ),
    help="Use this model instead of the one named in the manifest.",
)


def stdin() -> Any:
    """Return standard input as an iterable of byte lines."""
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
