"""Exports for numpy.load: NAME.npy and NAME.ends.npy, with headers."""

from __future__ import annotations

import io

import numpy as np

from pyunitok.export.files import Folder
from pyunitok.export.options import Options
from pyunitok.tokens.array import TokenArray
from pyunitok.tokens.manifest import sidecars

TAKES = ()


def names(options: Options) -> list[str]:
    return [f"{options.name}.npy", f"{options.name}.ends.npy"]


def export(array: TokenArray, folder: Folder, options: Options) -> list[str]:
    tokens, ends = names(options)
    folder.copy(ends, sidecars(array.path)[0], 0, 8 * len(array), header("<u8", len(array)))
    width = array.ids.dtype.itemsize
    folder.copy(tokens, array.path, 0, width * len(array.ids), header(array.ids.dtype.str, len(array.ids)))
    return []


def header(dtype: str, n: int) -> bytes:
    """The header that numpy.save writes before a vector."""
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": dtype, "fortran_order": False, "shape": (n,)})
    return out.getvalue()
