"""Exports for tokengrams: NAME.bin, the tokens, from which tokengrams builds its index."""

from __future__ import annotations

from pyunitok.export.files import Folder
from pyunitok.export.options import Options
from pyunitok.tokens.array import TokenArray

TAKES = ()


def names(options: Options) -> list[str]:
    return [f"{options.name}.bin"]


def export(array: TokenArray, folder: Folder, options: Options) -> list[str]:
    (tokens,) = names(options)
    folder.share(tokens, array.path)
    vocab = "" if array.ids.dtype.itemsize == 2 else ", vocab=N"
    return [f"build its index: tokengrams.MemmapIndex.build({tokens!r}, {options.name + '.idx'!r}{vocab})"]
