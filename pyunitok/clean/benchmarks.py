"""Reads the items of benchmarks: the texts that must not occur in a corpus.

    fields     JSON lines; each of the named fields is a separate text
    decon      JSON lines for Ai2's decon: question, answer, passage, with eval_key and eval_instance_index
    lm-eval    sample logs of lm-evaluation-harness: the strings of `doc`, and `target`
    lighteval  JSON lines with query, choices and gold_index
    text       a text file: each line is an item
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import xxhash

from pyunitok.corpus import inputs
from pyunitok.corpus.json_text import BOM, key_path
from pyunitok.corpus.reading import InputBlocks, Reading, ReadingOptions
from pyunitok.corpus.source import Source
from pyunitok.errors import InputError, OptionError
from pyunitok.packed import Packed

# (benchmark or "" for the file's name, item, texts by field)
Record = tuple[str, str, list[tuple[str, str]]]


@dataclass(frozen=True)
class Items:
    """The texts of all benchmarks.

    texts       the texts; text k belongs to item `items[k]`
    benchmarks  the names of the benchmarks
    benchmark   the number of each text's benchmark
    items       the number of each text's item; the texts of an item are consecutive
    labels      the name of each item in its benchmark
    fields      the field of each text
    sha         XXH64 of all these values, to detect a changed benchmark
    """

    texts: Packed
    benchmarks: list[str]
    benchmark: list[int]
    items: list[int]
    labels: list[str]
    fields: list[str]
    sha: str


def read_items(paths: Iterable[str], format: str, fields: Sequence[str], *, paragraphs: bool = False) -> Items:
    """Read the items in files. Raises InputError, which names the file and the line of an item that cannot be read.

    paragraphs  make each line of a text a separate text
    """
    if format == "fields" and not fields:
        raise OptionError("use --field to name the fields of the benchmark, or --against-format to name its format")
    if format != "fields" and fields:
        raise OptionError("--field requires --against-format fields")
    read = FORMATS[format]
    texts: list[str] = []
    numbers: dict[str, int] = {}
    ret = Items(Packed.from_documents([]), [], [], [], [], [], "")
    for source in inputs.find(paths, input_format="text"):
        stem = Path(source.path).name.partition(".")[0]
        for number, line in enumerate(_lines(source), 1):
            if not line.strip():
                continue
            try:
                benchmark, label, found = read(line, fields)
                if not all(isinstance(text, str) for _, text in found):
                    raise ValueError("a field is not a string")
            except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
                what = f"{error!r} is missing" if isinstance(error, KeyError) else str(error)
                raise InputError(f"{source.name}: line {number}: not an item in {format} format: {what}") from None
            name = benchmark or stem
            ret.labels.append(label or str(number))
            lines = [(field, part) for field, text in found for part in (text.split("\n") if paragraphs else [text])]
            for field, text in lines:
                texts.append(text)
                ret.benchmark.append(numbers.setdefault(name, len(numbers)))
                ret.items.append(len(ret.labels) - 1)
                ret.fields.append(field)
    if not texts:
        raise InputError("the benchmarks contain no items")
    packed = Packed.from_documents(text.encode("utf-8", "replace") for text in texts)
    digest = xxhash.xxh64(packed.data.tobytes())
    digest.update(packed.offsets.tobytes())
    digest.update(json.dumps([list(numbers), ret.benchmark, ret.items, ret.labels, ret.fields]).encode())
    return Items(packed, list(numbers), ret.benchmark, ret.items, ret.labels, ret.fields, digest.hexdigest())


def _lines(source: Source) -> Iterator[bytes]:
    reading = Reading([source], ReadingOptions(separator=b"\n", threads=1))
    first = True
    with contextlib.closing(InputBlocks(reading)) as opened:
        for block in opened.blocks():
            for line in block.texts():
                yield line.removeprefix(BOM) if first else line
                first = False


def _fields(line: bytes, fields: Sequence[str]) -> Record:
    values = _object(line)
    found = []
    for field in fields:
        value: Any = values
        for name in key_path(field):
            value = value[name]
        found += [(field, text) for text in _strings(value, field)]
    return "", _label(values), found


def _decon(line: bytes, _: Sequence[str]) -> Record:
    values = _object(line)
    label = "/".join(str(values[name]) for name in ("split", "eval_instance_index") if values.get(name) is not None)
    fields = [(name, values[name]) for name in ("question", "answer", "passage") if values.get(name)]
    return str(values["eval_key"]), label, [(name, text) for name, value in fields for text in _strings(value, name)]


def _lm_eval(line: bytes, _: Sequence[str]) -> Record:
    values = _object(line)
    doc = values["doc"]
    found = [(f"doc.{name}", text) for name, text in doc.items() if isinstance(text, str) and text]
    if isinstance(values.get("target"), str):
        found.append(("target", values["target"]))
    return "", str(values.get("doc_id", "")), found


def _lighteval(line: bytes, _: Sequence[str]) -> Record:
    values = _object(line)
    gold = values["gold_index"]
    answers = [values["choices"][k] for k in (gold if isinstance(gold, list) else [gold])]
    return "", _label(values), [("query", values["query"]), *(("choices", answer) for answer in answers)]


def _text(line: bytes, _: Sequence[str]) -> Record:
    return "", "", [("text", line.decode("utf-8", "replace"))]


FORMATS: dict[str, Callable[[bytes, Sequence[str]], Record]] = {
    "fields": _fields, "decon": _decon, "lm-eval": _lm_eval, "lighteval": _lighteval, "text": _text,
}  # fmt: skip


def _object(line: bytes) -> dict[str, Any]:
    values = json.loads(line)
    if not isinstance(values, dict):
        raise ValueError("expected an object")
    return values


def _label(values: dict[str, Any]) -> str:
    return next((str(values[name]) for name in ("id", "doc_id", "uid") if name in values), "")


def _strings(value: Any, field: str) -> list[str]:
    """The strings in a list; a string counts as a list of one."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return value
    raise ValueError(f"the field {field!r} is not a string or a list of strings")
