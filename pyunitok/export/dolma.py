"""Exports for dolma and OLMo-core: NAME.npy, which has no header despite its name, and NAME.csv.gz.

    NAME.csv.gz   a row for each document, CSV, CR LF, no header: start, end, id, src, loc
                  start and end count tokens, end is exclusive; src: the input; loc: the line in the input, from 1
"""

from __future__ import annotations

import gzip

from pyunitok.export.files import Folder
from pyunitok.export.options import Options
from pyunitok.export.origins import csv_rows
from pyunitok.tokens.array import TokenArray

TAKES = ()
LEVEL = 1  # the file is small compared with the tokens, and level 9 would take longer than everything else


def names(options: Options) -> list[str]:
    return [f"{options.name}.npy", f"{options.name}.csv.gz"]


def export(array: TokenArray, folder: Folder, options: Options) -> list[str]:
    tokens, csv = names(options)
    with folder.write(csv) as file, gzip.GzipFile("", "wb", LEVEL, file, mtime=0) as packed:
        for first, b in array.runs():
            for part in csv_rows(array, first, b):
                packed.write(part)
    folder.share(tokens, array.path)
    dtype = array.ids.dtype.name
    notes = [f"{tokens} has no header: open it with numpy.memmap({tokens!r}, {dtype!r}), not with numpy.load"]
    if array.eod_id is None:
        notes.append("the token file has no eod: OLMo-core must take boundaries from the .csv.gz")
    return notes
