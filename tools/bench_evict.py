"""Removes mapped files from memory, so that a benchmark reads them from disk. Linux only."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Mapping:
    """A range of this process's memory to which a file is mapped."""

    address: int
    n_bytes: int
    path: str


def mappings(folders: Iterable[Path]) -> list[Mapping]:
    """The mapped files in these folders."""
    prefixes, ret = tuple(f"{folder.resolve()}/" for folder in folders), []
    for line in Path("/proc/self/maps").read_text().splitlines():
        fields = line.split(None, 5)
        if len(fields) == 6 and fields[5].startswith(prefixes):
            begin, end = (int(field, 16) for field in fields[0].split("-"))
            ret.append(Mapping(begin, end - begin, fields[5]))
    return ret


def evict(mapped: list[Mapping]) -> None:
    """Remove the files from the page tables and from the page cache."""
    for part in mapped:
        _call("madvise", part, mmap.MADV_DONTNEED)
    for path in {part.path for part in mapped}:
        with Path(path).open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def pages_in_memory(mapped: list[Mapping]) -> int:
    """The number of the files' pages that are in memory."""
    total = 0
    for part in mapped:
        states = np.zeros(-(-part.n_bytes // mmap.PAGESIZE), np.uint8)
        _call("mincore", part, ctypes.c_void_p(states.ctypes.data))
        total += int((states & 1).sum())
    return total


def _call(name: str, part: Mapping, argument: object) -> None:
    function = getattr(ctypes.CDLL(None, use_errno=True), name)
    if function(ctypes.c_void_p(part.address), ctypes.c_size_t(part.n_bytes), argument):
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}", part.path)
