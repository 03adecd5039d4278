"""Exports for nanoGPT: train.bin and optionally val.bin, which contain uint16 ids with the eod after each document."""

from __future__ import annotations

import numpy as np

from pyunitok.errors import OutputError
from pyunitok.export.files import Folder
from pyunitok.export.options import Options
from pyunitok.tokens.array import TokenArray

TAKES = ("val_fraction",)


def names(options: Options) -> list[str]:
    return ["train.bin", "val.bin"] if options.val_fraction else ["train.bin"]


def export(array: TokenArray, folder: Folder, options: Options) -> list[str]:
    """Raises OutputError if ids take four bytes, which nanoGPT would misread, or if there are too few documents for
    val.bin."""
    if array.ids.dtype.itemsize != 2:
        raise OutputError(f"{array.path} has 4-byte ids; nanoGPT reads only uint16")
    notes = [] if array.eod_id is not None else ["the token file has no eod: nothing separates the documents"]
    if not options.val_fraction:
        folder.share("train.bin", array.path)
        return notes
    d = first_of_val(array, options.val_fraction)
    cut, n = int(array.ends[d - 1]), len(array.ids)
    folder.copy("train.bin", array.path, 0, 2 * cut)
    folder.copy("val.bin", array.path, 2 * cut, 2 * n)
    return [*notes, f"val.bin contains the last {len(array) - d:,} documents, {n - cut:,} tokens"]


def first_of_val(array: TokenArray, fraction: float) -> int:
    """The last document that, with all later ones, has at least `fraction` of the tokens."""
    d = int(np.searchsorted(array.ends, np.uint64((1 - fraction) * len(array.ids)), "right"))
    d = min(max(d, 1), len(array) - 1)
    if d < 1:
        raise OutputError(f"{array.path}: --val-fraction requires at least two documents, not {len(array)}")
    return d
