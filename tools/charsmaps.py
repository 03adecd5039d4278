"""Writes pyunitok/vocab/charsmaps.zst, the named normalization rules of the installed sentencepiece package.

    python tools/charsmaps.py          write it
    python tools/charsmaps.py --check  exit 1 if it differs from the rules of the installed sentencepiece

The rules (NFKC and case folding of Unicode 17, and the rules for machine translation) are data that sentencepiece 0.2.3
generates, under the Apache License 2.0. They are copied rather than generated from Python's Unicode tables, because a
trained model contains them byte for byte, and because those tables depend on the version of Python.
"""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

from pyunitok.vocab import charsmap


def installed() -> dict[str, bytes]:
    """The rules in the installed package, by name."""
    files = {item.name: Path(str(item.locate())) for item in metadata.files("sentencepiece") or []}
    return {name: files[f"{name}.bin"].read_bytes() for name in charsmap.NAMES}


def main() -> None:
    rules = installed()
    if "--check" in sys.argv:
        sys.exit(any(charsmap.named(name) != data for name, data in rules.items()))
    charsmap.SHIPPED.write_bytes(charsmap.packed(rules))


if __name__ == "__main__":
    main()
