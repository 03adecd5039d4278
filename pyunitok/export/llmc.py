"""Exports for llm.c: NAME_000000.bin and so on: a header, then tokens with the end-of-text id before each document.

    0  i32 magic: 20240520 (uint16), 20240801 (uint32)   4  i32 version: 1, 7   8  i32 tokens   12  zeros   1024  tokens

If each document ends with the eod, moving it to the beginning of the document only shifts the tokens by one, so a file
consists of a header and a range of OUT, which the kernel copies. In the first file, one more id precedes the range.
"""

from __future__ import annotations

import glob
import struct
from collections.abc import Iterator

import numpy as np

from pyunitok.errors import OutputError
from pyunitok.export.files import Folder
from pyunitok.export.options import Options
from pyunitok.export.separated import Separated
from pyunitok.tokens.array import TokenArray

TAKES = ("shard_tokens", "eot")
HEADER_BYTES = 1024
MAGIC = {2: (20240520, 1), 4: (20240801, 7)}


def names(options: Options) -> list[str]:
    return [_shard_name(options, 0)]  # the number of further files depends on the tokens


def export(array: TokenArray, folder: Folder, options: Options) -> list[str]:
    """Raises OutputError if there is neither an eod nor an --eot, or if --eot does not fit in the dtype of the ids."""
    dtype, eod = array.ids.dtype, array.eod_id
    eot = eod if options.eot is None else options.eot
    if eot is None:
        raise OutputError(f"{array.path} has no eod, but llm.c requires an id before each document; use --eot ID")
    if not 0 <= eot <= np.iinfo(dtype).max:
        raise OutputError(f"--eot {eot} does not fit in {dtype.name}")
    stream = Separated(array, eot)
    shards = list(_shards(stream, len(array), options.shard_tokens))
    folder.reserve(*(_shard_name(options, k) for k in range(len(shards))))
    own = {_shard_name(options, k) for k in range(len(shards))}
    left = (path for path in folder.path.glob(f"{glob.escape(options.name)}_[0-9][0-9][0-9][0-9][0-9][0-9].bin"))
    folder.discard((path for path in left if path.name not in own), "is a shard of another export")
    width = dtype.itemsize
    for k, (begin, end) in enumerate(shards):
        header = struct.pack("<3i", *MAGIC[width], end - begin).ljust(HEADER_BYTES, b"\0")
        if eot == eod:
            first = np.array([eot], dtype).tobytes() if begin == 0 and end else b""
            folder.copy(_shard_name(options, k), array.path, width * max(begin - 1, 0), width * max(end - 1, 0),
                        header + first)  # fmt: skip
            continue
        with folder.write(_shard_name(options, k)) as file:
            file.write(header)
            for _, tokens, _ in stream.chunks(begin, end, dtype):
                file.write(tokens)
    return [f"{len(shards)} files" if len(shards) > 1 else f"pass this pattern to llm.c: {options.name}_*.bin"]


def _shard_name(options: Options, k: int) -> str:
    return f"{options.name}_{k:06d}.bin"


def _shards(stream: Separated, n_docs: int, limit: int) -> Iterator[tuple[int, int]]:
    """Ranges of the stream, each of as many complete documents as fit; a document longer than the limit is divided."""
    begin = 0
    while begin < len(stream) or begin == 0:
        end = len(stream)
        if end - begin > limit:
            d = stream.first_at(begin + limit + 1) - 1  # the last document that begins in this range
            start = int(stream.starts(d, d + 1)[0])
            end = start if start > begin else begin + limit
        yield begin, end
        begin = end
        if end == len(stream):
            return
