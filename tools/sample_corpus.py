"""Writes tests/data/sample.jsonl.zst, the sample corpus: our own text and always the same."""

from __future__ import annotations

import json
import random
import re
import struct
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import zstandard
from sample_code import CODE
from sample_phrases import PROSE, Grammar

PATH = Path(__file__).resolve().parent.parent / "tests" / "data" / "sample.jsonl.zst"
SEED = 20_240_229
LEVEL = 19
# Documents of each kind; the edge documents come on top.
N_PROSE, N_CODE = 30, 22
# A text is written until it has this many bytes, doubled 0 to 8 times.
SMALLEST, DOUBLINGS = 60, 8.0
NO_SPACES = ("zh", "ja")
SLOT = re.compile(r"<(?:(\d):)?(\w+)>")


class Writer:
    """Expands a grammar with its own random numbers.

    Only Random.random() is drawn from: Python promises the same numbers from it in every version.
    """

    def __init__(self, grammar: Grammar, seed: int) -> None:
        self.grammar = grammar
        self.random = random.Random(seed)
        self.kept: dict[str, str] = {}
        self.numbers: dict[str, Callable[[], str]] = {
            "x": lambda: str(self.between(1, 9)),
            "n": lambda: str(self.between(11, 99)),
            "n5": lambda: str(5 * self.between(2, 199)),
            "big": lambda: str(self.between(1_000, 99_999)),
            "dec": lambda: f"{self.between(0, 999)}.{self.between(0, 999)}",
            "h": lambda: str(self.between(2, 23)),
            "h2": lambda: f"{self.between(0, 23):02}",
            "mm": lambda: f"{self.between(0, 59):02}",
            "d": lambda: str(self.between(2, 28)),
            "d2": lambda: f"{self.between(1, 28):02}",
            "mo": lambda: str(self.between(1, 12)),
            "mo2": lambda: f"{self.between(1, 12):02}",
            "year": lambda: str(self.between(1850, 2024)),
            "hex2": lambda: f"{self.between(0, 255):02x}",
            "hex4": lambda: f"{self.between(0, 0xFFFF):04x}",
            "hex8": lambda: f"{self.between(0, 0xFFFF_FFFF):08x}",
            "hex16": lambda: f"{self.between(0, 0xFFFF_FFFF):08x}{self.between(0, 0xFFFF_FFFF):08x}",
        }

    def between(self, first: int, last: int) -> int:
        return first + int(self.random.random() * (last - first + 1))

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def write(self, symbol: str) -> str:
        """One of the ways to write `symbol`, its slots filled."""
        if symbol in self.numbers:
            return self.numbers[symbol]()
        if symbol not in self.grammar and symbol.lower() in self.grammar:
            return capital(self.write(symbol.lower()))
        ways = self.grammar[symbol]
        return SLOT.sub(self._fill, ways[self.between(0, len(ways) - 1)])

    def block(self, symbol: str) -> str:
        self.kept.clear()
        return self.write(symbol)

    def _fill(self, slot: re.Match[str]) -> str:
        keep, symbol = slot.groups()
        if symbol.isdigit():
            return self.kept[symbol]
        text = self.write(symbol)
        if keep:
            self.kept[keep] = text
        return text


def capital(sentence: str) -> str:
    """With its first letter, which an opening mark may precede, in upper case."""
    at = next((i for i, char in enumerate(sentence[:3]) if char.isalpha()), 0)
    return sentence[:at] + sentence[at : at + 1].upper() + sentence[at + 1 :]


def target(writer: Writer) -> int:
    """How many bytes a text shall have: each size as likely as its double."""
    return int(SMALLEST * 2 ** (DOUBLINGS * writer.random.random()))


def prose(lang: str, seed: int) -> str:
    """Title, paragraphs and lists."""
    writer = Writer(PROSE[lang], seed)
    space = "" if lang in NO_SPACES else " "
    left = target(writer)
    parts: list[str] = []
    if writer.chance(0.6):
        parts.append(("# " if writer.chance(0.5) else "") + capital(writer.write("title")))
    while left > 0:
        if writer.chance(0.15):
            marks = ("- ", "* ", "\u2022 ", "")[writer.between(0, 3)]
            items = [capital(writer.write("item")) for _ in range(writer.between(2, 6))]
            part = "\n".join(f"{marks or f'{i}. '}{item}" for i, item in enumerate(items, 1))
        else:
            part = space.join(capital(writer.write("s")) for _ in range(writer.between(1, 7)))
        parts.append(part)
        left -= len(part.encode())
    return ("\n\n" if writer.chance(0.8) else "\n").join(parts)


def code(kind: str, seed: int) -> str:
    """Blocks of one kind, as a file of it would have them."""
    writer = Writer(CODE[kind], seed)
    gap = "\n" if kind in ("log", "emoji") else "\n\n"
    left = target(writer)
    blocks: list[str] = []
    while left > 0:
        blocks.append(writer.block("block"))
        left -= len(blocks[-1])
    end = "\n" if writer.chance(0.7) else ""
    text = gap.join(blocks) + end
    return text.replace("    ", "\t") if kind == "c" and writer.chance(0.3) else text


def json_text(seed: int) -> str:
    """A JSON document, in one of three layouts."""
    writer = Writer(CODE["python"], seed)
    left = target(writer)

    def value(depth: int) -> Any:
        form = writer.between(0, 9 if depth < 4 else 6)
        if form >= 8:
            return {writer.write("id"): value(depth + 1) for _ in range(writer.between(0, 5))}
        if form == 7:
            return [value(depth + 1) for _ in range(writer.between(0, 6))]
        number, share = writer.between(-9_999, 9_999), float(writer.write("dec"))
        return (None, True, False, number, share, writer.write("why"), writer.write("hex16"))[form]

    parts: list[Any] = []
    while left > 0:
        parts.append({writer.write("id"): value(1) for _ in range(3)})
        left -= len(json.dumps(parts[-1]))
    indent = (None, 2, 4)[writer.between(0, 2)]
    return json.dumps(parts if len(parts) > 1 else parts[0], indent=indent)


def edges(seed: int) -> list[str]:
    """Texts that readers and tokenizers get wrong."""
    writer = Writer(CODE["emoji"], seed)
    alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJ0123456789+/"
    long_line = "".join(alphabet[writer.between(0, len(alphabet) - 1)] for _ in range(10_240))
    return [
        "",
        " ",
        " " * 300,
        "\n",
        "\n\n\n \n\t\n",
        "a",
        "\u0000",
        "before\u0000after\u0000\u0000",
        "".join(map(chr, range(32))) + "\u007f\u0080\u009f",
        long_line,
        "é" * 4_000,
        "林" * 3_000,
        "ab" * 2_000,
        "one\r\ntwo\r\n\r\nthree\rfour\n\rfive",
        "<|endoftext|>",
        "The end<|endoftext|>and a beginning <|endoftext|>\n<|endoftext",
        "\ufeffa mark in front",
        "\u2028 and \u2029 and \u0085 end no line here",
        'quotes " and \\ and \\" and \\\\u0041 and / and \\n',
        "".join(writer.write("e") for _ in range(400)),
        "\U0001f600\U0010ffff\U00010000\U0001f468\u200d\U0001f469\ufffd\uffff\ue000",
        "e\u0301" * 50 + "\u0301\u0302\u0303" * 20,
        "trailing spaces   \n   leading spaces\t\n ",
        "0" * 500 + "1234567890" * 30,
    ]


def documents() -> Iterator[tuple[str, str]]:
    """(kind, text) of each, in the order of the file: all kinds mixed."""
    made: list[tuple[float, str, str]] = []
    order = random.Random(SEED)
    makers: list[tuple[str, int, Callable[[int], str]]] = []
    for lang in PROSE:
        makers.append((lang, N_PROSE, partial(prose, lang)))
    for kind in CODE:
        makers.append((kind, N_CODE, partial(code, kind)))
    makers.append(("json", N_CODE, json_text))
    for number, (kind, count, make) in enumerate(makers, 1):
        made += [(order.random(), kind, make(SEED + 1_000 * number + i)) for i in range(count)]
    made += [(order.random(), "edge", text) for text in edges(SEED)]
    for _, kind, text in sorted(made):
        yield kind, text


def lines() -> Iterator[bytes]:
    """The lines of the file. Every tenth is ASCII, what lies outside it escaped as \\uXXXX."""
    for number, (kind, text) in enumerate(documents()):
        line = {"text": text, "id": number, "meta": {"lang": kind}}
        yield (json.dumps(line, ensure_ascii=number % 10 == 9) + "\n").encode()


def cuts(data: bytes) -> tuple[int, int]:
    """Where the frames part: inside a character of several bytes, and in the middle of a line."""
    first = next(i for i in range(len(data) // 3, len(data)) if 0x80 <= data[i] < 0xC0)
    second = next(i for i in range(2 * len(data) // 3, len(data)) if data[i - 1] != 0x0A and data[i] != 0x0A)
    return first, second


def compress(data: bytes) -> bytes:
    """Three frames, the middle one without its size; before it a frame to skip, which holds no text."""
    first, second = cuts(data)
    sized = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
    unsized = zstandard.ZstdCompressor(level=LEVEL, write_content_size=False)
    note = b"not a part of the text"
    skippable = struct.pack("<II", 0x184D2A53, len(note)) + note
    frames = sized.compress(data[:first]), unsized.compress(data[first:second]), sized.compress(data[second:])
    return frames[0] + skippable + frames[1] + frames[2]


def main() -> None:
    data = b"".join(lines())
    PATH.parent.mkdir(parents=True, exist_ok=True)
    PATH.write_bytes(compress(data))
    size = PATH.stat().st_size
    sys.stdout.write(f"{PATH.name}: {data.count(10)} documents, {len(data):,} bytes, {size:,} compressed\n")


if __name__ == "__main__":
    main()
