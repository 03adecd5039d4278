"""Reads and writes the metadata sidecar OUT.meta.jsonl.zst, which contains one line per document.

    OUT.meta.jsonl.zst   head │ frame │ head │ frame │ … │ index            a zstd frame contains about 64 KiB of lines
    head     skippable frame of 16 bytes: u64 size of the next frame, u64 number of its lines (all little-endian)
    index    skippable frame: n × (u64 offset of the frame, u64 number of its first document), u64 n, "UTMETA1\\n"

`zstd -dc` prints all lines in document order. Metadata looks up the frame of a document in the index at the end of the
file and decompresses only that frame. Files only grow, so the contents at a checkpoint are a prefix of the current
contents. The index of an unfinished file is rebuilt from the heads.
"""

from __future__ import annotations

import json
import operator
import os
import struct
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import zstandard

from pyunitok.disk.outfile import OutFile
from pyunitok.disk.url import shown
from pyunitok.errors import OutputError
from pyunitok.tokens.manifest import ERRORS_SUFFIX, METADATA_SUFFIX

FRAME_BYTES = 1 << 16  # a frame ends with the line that reaches this size
# A hostile frame of 48 KB can decompress to 3 GB, and parsed JSON takes up to about 40 times its size.
MAX_FRAME_BYTES = 257 << 20  # decompressed; enough for the longest line that --max-line allows and the name of its file
MAX_PARSED_BYTES = 96 << 20  # the maximum memory of the objects parsed from a line
OBJECT_BYTES = 96  # the maximum memory of a value, excluding its text
CHARACTER_BYTES = 8  # memory per byte of JSON with an emoji: 4 for the line as str, and 4 for the parsed value
LEVEL = 3
_MAGIC = b"UTMETA1\n"
_SKIPPABLE = 0x184D2A5D  # zstd ignores frames with this magic number
_HEAD_BYTES = _FOOTER_BYTES = 16
_WHOLE_HEAD_BYTES = 8 + _HEAD_BYTES  # including the header of the skippable frame


def metadata_path(out: str | os.PathLike[str]) -> Path:
    """The path of a token file's metadata."""
    return Path(f"{os.fspath(out)}{METADATA_SUFFIX}")


def errors_path(out: str | os.PathLike[str]) -> Path:
    """The path of the list of skipped documents."""
    return Path(f"{os.fspath(out)}{ERRORS_SUFFIX}")


class MetadataFile:
    """A writer of OUT.meta.jsonl.zst.

    A checkpoint stores n_bytes and the waiting lines. To resume, truncate the file to n_bytes, open it as an OutFile at
    its end, pass its path as `begun`, and append the waiting lines. Frames then end where they would have ended without
    the checkpoint, and the file is byte-identical.
    """

    def __init__(self, file: OutFile, begun: Path | None = None) -> None:
        """Raise OutputError if the file at `begun` contains anything but complete frames."""
        self._file = file
        self._lines: list[bytes] = []
        self._n_waiting = 0  # the number of bytes in waiting lines
        self._compressor: Any = None
        self._index, self.n_documents = _read_heads(begun) if begun else ([], 0)

    def append(self, lines: Sequence[bytes]) -> None:
        """Add the lines of the next documents, each without its newline."""
        for line in lines:
            self._lines.append(line)
            self._n_waiting += len(line) + 1
            if self._n_waiting >= FRAME_BYTES:
                self.flush()

    @property
    def waiting(self) -> list[bytes]:
        """The lines that are not in the file yet, fewer than FRAME_BYTES in total."""
        return list(self._lines)

    @property
    def n_appended(self) -> int:
        """The number of documents in the file and in the waiting lines."""
        return self.n_documents + len(self._lines)

    def flush(self) -> None:
        """End the current frame."""
        if not self._lines:
            return
        if self._compressor is None:
            self._compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
        frame = self._compressor.compress(b"\n".join([*self._lines, b""]))
        self._put(frame, len(self._lines))
        self._lines, self._n_waiting = [], 0

    def place_of(self, n_documents: int, path: Path) -> tuple[int, list[bytes]]:
        """Return the frame boundary at which to truncate the file at `path`, and the lines to append to it, so that the
        first n_documents remain."""
        if n_documents >= self.n_documents:
            return self._file.n_bytes, self._lines[: n_documents - self.n_documents]
        k = bisect_right(self._index, n_documents, key=lambda item: item[1]) - 1
        frame_at, first = self._index[k]
        end = self._index[k + 1][0] - _WHOLE_HEAD_BYTES if k + 1 < len(self._index) else self._file.n_bytes
        with path.open("rb") as file:
            file.seek(frame_at)
            frame = file.read(end - frame_at)
        lines = _decompressed(frame, f"{path}: byte {frame_at}").split(b"\n", n_documents - first)
        return frame_at - _WHOLE_HEAD_BYTES, lines[: n_documents - first]

    def append_file(self, path: Path) -> None:
        """Add all documents of a finished file by copying its frames."""
        self.flush()
        for frame, n_lines in Metadata(path).frames():
            self._put(frame, n_lines)

    def _put(self, frame: bytes, n_lines: int) -> None:
        self._file.write(memoryview(_skippable(struct.pack("<QQ", len(frame), n_lines))))
        self._index.append((self._file.n_bytes, self.n_documents))
        self._file.write(memoryview(frame))
        self.n_documents += n_lines

    def end(self) -> None:
        """Write the waiting lines and the index. No further calls are allowed."""
        self.flush()
        index = np.array([*self._index, (self._file.n_bytes, self.n_documents)], "<u8")
        self._file.write(memoryview(_skippable(index.tobytes() + struct.pack("<Q", len(index)) + _MAGIC)))


class Metadata(Sequence[dict[str, Any]]):
    """The metadata of a token file's documents, read on demand from OUT.meta.jsonl.zst.

    metadata[i] contains the "file" of document i and its "line" or other location in the file. For JSON Lines it also
    contains "metadata", the object without its text. The last frame read, about 64 KiB, is cached. Raises OutputError
    if the file is damaged.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._frame, self._lines = -1, list[bytes]()
        try:
            self._data = np.memmap(path, np.uint8, mode="r")
            self._offsets, self._firsts = _read_index(self._data)
        except (OSError, ValueError, struct.error) as error:
            raise OutputError(f"{path}: not a complete metadata file: {error}") from error

    def __len__(self) -> int:
        return self._firsts[-1]

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        line = self.line(i)
        n_values = 1 + sum(map(line.count, (b",", b"[", b"{")))
        if CHARACTER_BYTES * len(line) + OBJECT_BYTES * n_values > MAX_PARSED_BYTES:
            raise OutputError(
                f"{self._path}: document {i}: {len(line):,} bytes of JSON with about {n_values:,} values are too large "
                "to parse; line() returns the JSON"
            )
        try:
            ret = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise OutputError(f"{self._path}: document {i}: invalid JSON: {error}") from error
        if not isinstance(ret, dict) or not isinstance(ret.get("metadata", {}), dict | None):
            raise OutputError(f"{self._path}: document {i}: the line or its metadata is not a JSON object")
        if not isinstance(ret.get("file"), str) or not isinstance(ret.get("line", 1), int):
            raise OutputError(f"{self._path}: document {i}: the file is missing or invalid, or the line is invalid")
        ret["file"] = shown(ret["file"])  # an untrusted file may contain URLs with secrets
        return ret

    def line(self, i: int) -> bytes:
        """The stored line of document i, without its newline."""
        i = operator.index(i)
        if not -len(self) <= i < len(self):
            raise IndexError(f"document {i} is out of range: there are {len(self)}")
        i %= len(self)
        frame = bisect_right(self._firsts, i) - 1
        if frame != self._frame:
            self._lines, self._frame = self._decompress(frame), frame
        return self._lines[i - self._firsts[frame]]

    def frames(self) -> Iterator[tuple[bytes, int]]:
        """Each compressed frame and its number of documents."""
        for frame in range(len(self._offsets) - 1):
            yield self._frame_bytes(frame), self._firsts[frame + 1] - self._firsts[frame]

    def _frame_bytes(self, frame: int) -> bytes:
        begin, end = self._offsets[frame : frame + 2]
        is_last = frame + 2 == len(self._offsets)
        return self._data[begin : end if is_last else end - _WHOLE_HEAD_BYTES].tobytes()

    def _decompress(self, frame: int) -> list[bytes]:
        where = f"{self._path}: byte {self._offsets[frame]}"
        data = _decompressed(self._frame_bytes(frame), where)
        n_lines = self._firsts[frame + 1] - self._firsts[frame]
        # Only the last line may extend beyond FRAME_BYTES, which bounds the number of lines.
        if data.count(b"\n") != n_lines or data.rfind(b"\n", 0, -1) >= FRAME_BYTES or not data.endswith(b"\n"):
            raise OutputError(f"{where}: the number of lines differs from the index")
        return data.split(b"\n")[:-1]


def _decompressed(frame: bytes, where: str) -> bytes:
    """The lines of a frame. Raises OutputError, beginning with `where`, if the frame is damaged or too large."""
    try:
        n_bytes = zstandard.frame_content_size(frame)
        if not 0 <= n_bytes <= MAX_FRAME_BYTES:
            size = "an unknown number of" if n_bytes < 0 else f"{n_bytes:,}"
            raise OutputError(f"{where}: the frame has {size} bytes; at most {MAX_FRAME_BYTES:,} are allowed")
        return zstandard.ZstdDecompressor().decompress(frame)
    except zstandard.ZstdError as error:
        raise OutputError(f"{where}: {error}") from error


def _skippable(content: bytes) -> bytes:
    return struct.pack("<II", _SKIPPABLE, len(content)) + content


def _read_index(data: np.ndarray[Any, np.dtype[np.uint8]]) -> tuple[list[int], list[int]]:
    """Returns the offsets of the frames and the numbers of their first documents. The last entry of both lists is for
    the end of the frames.
    Raises ValueError if the index is missing or invalid."""
    n, magic = struct.unpack("<Q8s", data[-_FOOTER_BYTES:].tobytes())
    at = len(data) - _FOOTER_BYTES - 16 * n
    if magic != _MAGIC or n == 0 or at < 8:
        raise ValueError("it has no index at its end")
    index = np.frombuffer(data[at : at + 16 * n].tobytes(), "<u8").reshape(-1, 2).astype(np.int64)
    offsets, firsts = index[:, 0].tolist(), index[:, 1].tolist()
    if firsts[0] != 0 or offsets[0] < 0 or offsets[-1] != at - 8 or (np.diff(index, axis=0) <= 0).any():
        raise ValueError("its index is damaged")
    return offsets, firsts


def _read_heads(path: Path) -> tuple[list[tuple[int, int]], int]:
    """Returns (offset, first document) of each frame of an unfinished file, and the number of documents."""
    index, n_documents, at = list[tuple[int, int]](), 0, 0
    n_bytes = path.stat().st_size
    with path.open("rb") as file:
        while at < n_bytes:
            file.seek(at)
            head = file.read(_WHOLE_HEAD_BYTES)
            if head[:8] != struct.pack("<II", _SKIPPABLE, _HEAD_BYTES) or len(head) < _WHOLE_HEAD_BYTES:
                raise OutputError(f"{path}: byte {at}: expected the head of a metadata frame")
            n_frame, n_lines = struct.unpack("<QQ", head[8:])
            index.append((at + len(head), n_documents))
            n_documents += n_lines
            at += len(head) + n_frame
    if at != n_bytes:
        raise OutputError(f"{path}: the file ends inside a frame")
    return index, n_documents
