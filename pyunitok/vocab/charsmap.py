"""Compiles normalization rules into SentencePiece's precompiled charsmaps (double arrays), and decompiles charsmaps.

    | size of the units in bytes, uint32 | units ··· | NUL-terminated replacements ··· |

A unit, little-endian uint32:   offset << 10 | label (8 bits); bit 8: a key ends here; bit 9: offset is in units of 256
The value of a key:             1 << 31 | start of its replacement
Child c of unit `at`:           at ^ offset ^ c
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import zstandard

from pyunitok.vocab import double_array

NAMES = ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf")
SHIPPED = Path(__file__).with_name("charsmaps.zst")
_SIZES = f"<{len(NAMES)}I"
KEYS_MAX = 31  # sentencepiece's longest match considers at most this many keys that are prefixes of one text


def compile_rules(rules: Mapping[str, str]) -> bytes:
    """The charsmap of these rules. Raises ValueError for an empty key, an identity rule or a NUL; RuntimeError if there
    are no rules, or too many keys are prefixes of one key."""
    if not rules:
        raise RuntimeError("there are no rules")
    for key, value in rules.items():
        if not key:
            raise ValueError("Source string cannot be empty.")
        if key == value:
            raise ValueError(f"Identity conversion is not allowed: {key!r}")
        if "\0" in key or "\0" in value:
            raise ValueError(f"a rule contains a NUL: {key!r}")
    starts, replacements = {}, b""
    for value in sorted(set(rules.values())):
        starts[value] = len(replacements)
        replacements += value.encode() + b"\0"
    values = {key.encode(): starts[value] for key, value in rules.items()}
    for text in values:
        if sum(text[:n] in values for n in range(1, len(text) + 1)) > KEYS_MAX:
            raise RuntimeError(f"more than {KEYS_MAX} keys are prefixes of {text.decode()!r}")
    units = double_array.build(values)
    return struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + replacements


def decompile(charsmap: bytes) -> list[tuple[str, str]]:
    """The sorted rules of a valid charsmap. Raises RuntimeError if it is empty."""
    if not charsmap:
        raise RuntimeError("No precompiled charsmap found in model.")
    (n_bytes,) = struct.unpack_from("<I", charsmap)
    units = np.frombuffer(charsmap, "<u4", n_bytes // 4, 4).tolist()
    replacements = charsmap[4 + n_bytes :]
    rules, waiting = [], [(0, b"")]
    while waiting:
        at, key = waiting.pop()
        base = at ^ (units[at] >> 10) << ((units[at] & 0x200) >> 6)
        if units[at] >> 8 & 1:
            begin = units[base] & 0x7FFFFFFF
            value = replacements[begin : replacements.index(b"\0", begin)]
            rules.append((key.decode("utf-8", "replace"), value.decode("utf-8", "replace")))
        for label in range(256):
            child = base ^ label
            if child < len(units) and units[child] & 0x800000FF == label and child != at:
                waiting.append((child, key + bytes([label])))
    return sorted(rules)


def parse_rules(text: bytes, name: str) -> dict[str, str]:
    """Parse rules, one per line: code points in hexadecimal, a tab, their replacement, and an optional comment.

    Raises RuntimeError, which names the invalid line.
    """
    ret = {}
    for number, line in enumerate(text.decode("utf-8", "replace").splitlines(), 1):
        key, value = (_characters(field, f"{name}:{number}") for field in [*line.split("\t"), ""][:2])
        if not key:
            raise RuntimeError(f"{name}:{number}: the rule has no source characters")
        ret[key] = value
    return ret


def _characters(field: str, where: str) -> str:
    try:
        return "".join(chr(int(word.removeprefix("U+"), 16)) for word in field.split(" ") if word)
    except (ValueError, OverflowError):
        raise RuntimeError(f"{where}: Invalid hex codepoint in {field!r}") from None


def named(name: str, folder: Path | None = None) -> bytes | None:
    """The compiled rules named `name`, such as "nmt_nfkc"; None if there are none. They come from NAME.bin in the
    folder or, without a folder, from the rules of sentencepiece 0.2.3 that this package ships (tools/charsmaps.py)."""
    if folder is not None:
        path = folder / f"{name}.bin"
        return path.read_bytes() if path.is_file() else None
    if name not in NAMES:
        return None
    data = zstandard.ZstdDecompressor().decompress(SHIPPED.read_bytes())
    sizes = struct.unpack_from(_SIZES, data)
    begin = struct.calcsize(_SIZES) + sum(sizes[: NAMES.index(name)])
    return data[begin : begin + sizes[NAMES.index(name)]]


def packed(rules: Mapping[str, bytes]) -> bytes:
    """The file that named() reads: the sizes of all NAMES, then their rules, compressed with zstd. With xz, the
    file would be a fifth smaller but take 30 ms to decompress."""
    data = struct.pack(_SIZES, *(len(rules[name]) for name in NAMES)) + b"".join(rules[name] for name in NAMES)
    return zstandard.ZstdCompressor(level=22).compress(data)
