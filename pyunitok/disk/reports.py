"""Writes report files such as those of --json, which may also be pipes or devices."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyunitok.disk.outfile import check_folder, check_target, standard_stream, write_whole
from pyunitok.errors import OutputError


def check_report(path: Path) -> None:
    """Raise OutputError, before any work, if write_report() could not write there."""
    if not _is_stream(path):
        check_target(path, overwrite=True)
        check_folder(path)


def write_report(path: Path, data: bytes) -> None:
    """Like write_whole, but the path may also be a pipe or a device, as in --json >(jq .)."""
    if not _is_stream(path):
        write_whole(path, data)
        return
    try:
        sys.stdout.flush()
        fd = standard_stream(path)
        with open(path if fd is None else os.dup(fd), "wb") as file:  # noqa: PTH123
            file.write(data)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from error


def _is_stream(path: Path) -> bool:
    """Whether the path is a stream to write to, rather than a file to create or replace."""
    if standard_stream(path) is not None:
        return True
    return path.exists() and (path.is_fifo() or path.is_char_device())
