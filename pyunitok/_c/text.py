"""Bindings for the section "Text" of csrc/unitok.h."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from pyunitok._c.library import buffer_of, call, cpu_number, cpu_supported, create, ffi, lib, optional, pointer
from pyunitok.errors import CpuError
from pyunitok.packed import Bytes, Offsets, Packed


class Normalizer:
    """An immutable C normalizer, which normalizes as SentencePiece does."""

    __slots__ = ("handle", "is_compact", "step_bytes")

    def __init__(self, charsmap: bytes, symbols: Sequence[bytes], flags: int, cpu: str | None = None) -> None:
        spec = ffi.new("unitok_spec *")
        packed, map_ = Packed.from_documents(symbols), buffer_of(charsmap)
        data, offsets = pointer(packed.data), pointer(packed.offsets)
        types = np.full(len(symbols), lib.UNITOK_PIECE_USER_DEFINED, np.uint8)
        spec.flags, spec.n_pieces, spec.data, spec.offsets = flags, len(symbols), data, offsets
        spec.types, spec.charsmap, spec.n_charsmap_bytes = pointer(types), map_, len(charsmap)
        self.handle: Any = create("normalizer", spec, cpu_number(cpu))
        info = ffi.new("unitok_normalizer_info *")
        lib.unitok_normalizer_get_info(self.handle, info)
        self.is_compact, self.step_bytes = bool(info.is_compact), int(info.step_bytes)

    def normalize(self, text: bytes, *, compact: bool = False) -> bytes:
        return self._normalize(text, compact, None)[0]

    def normalize_with_offsets(self, text: bytes, *, compact: bool = False) -> tuple[bytes, Offsets]:
        """The normalized text, and int64[len(result) + 1]: for each of its bytes, the offset in `text`. As in
        sentencepiece, there are no offsets if the text consists only of spaces that are removed."""
        out, offsets = self._normalize(text, compact, np.empty(2 * len(text) + 16, np.int64))
        assert offsets is not None
        return out, offsets[:0] if offsets[0] < 0 else offsets[: len(out) + 1].copy()

    def _normalize(self, text: bytes, compact: bool, offsets: Offsets | None) -> tuple[bytes, Offsets | None]:
        out = np.empty(2 * len(text) + 15, np.uint8)
        while True:
            n = lib.unitok_normalize(
                self.handle, text, len(text), compact, pointer(out), optional(offsets), len(out)
            )
            if n <= len(out):
                return out[:n].tobytes(), offsets
            out, offsets = np.empty(n, np.uint8), None if offsets is None else np.empty(n + 1, np.int64)

    def normalize_parts(
        self, parts: Iterable[bytes], *, compact: bool = True, capacity: int = 1 << 16
    ) -> Iterator[bytes]:
        """Normalize a text that arrives in parts. The results have at most step_bytes + `capacity` bytes each.

        Text whose normalization depends on later parts is buffered: at most one part plus the longest key or symbol.
        """
        state, consumed = ffi.new("unitok_normalize_state *"), ffi.new("int64_t *")
        state.is_verbatim = not compact
        out = np.empty(self.step_bytes + capacity, np.uint8)

        def take(text: bytes, n_bytes: int, last: bool) -> Iterator[bytes]:
            consumed[0] = 0
            while consumed[0] < n_bytes or (last and not state.is_ended):
                n = lib.unitok_normalize_some(
                    self.handle, state, text, n_bytes, consumed, last, pointer(out), len(out)
                )
                yield out[:n].tobytes()

        waiting = b""
        for part in parts:
            waiting += part
            n_bytes = self.split(waiting)
            yield from take(waiting, n_bytes, False)
            waiting = waiting[n_bytes:]
        yield from take(waiting, len(waiting), True)

    def split(self, text: bytes) -> int:
        return int(lib.unitok_normalize_split(self.handle, text, len(text)))


class Pattern:
    """An immutable pre-tokenizer pattern.

    parts   the dialect and the regex of each level, separated by NUL: see csrc/text/pattern.h
    """

    __slots__ = ("handle", "memory_bytes")

    def __init__(self, parts: bytes) -> None:
        self.handle: Any = create("pattern", parts, len(parts))
        self.memory_bytes = int(lib.unitok_pattern_memory_bytes(self.handle))

    def split(self, text: bytes) -> Offsets:
        """int64[n + 1]: piece i is text[offsets[i]:offsets[i + 1]]."""
        offsets = np.empty(len(text) // 2 + 2, np.int64)
        while True:
            n = lib.unitok_pattern_split(self.handle, text, len(text), pointer(offsets), len(offsets))
            if n < len(offsets):
                break
            offsets = np.empty(n + 1, np.int64)
        return np.resize(offsets, n + 1)

    def last_cut(self, text: memoryview) -> int:
        """The last position at which the text can be divided, whatever follows the text; 0 if there is none."""
        return int(lib.unitok_pattern_last_cut(self.handle, pointer(text), len(text)))


class Sections(NamedTuple):
    """Texts divided into sections: section k is data[offsets[k]:offsets[k + 1]]; item i has the sections
    starts[i]..starts[i + 1] - 1. given[k] is the id that section k becomes, or -1 if it is to be encoded."""

    data: Bytes
    offsets: Offsets
    given: Offsets
    starts: Offsets


class Finder:
    """An immutable finder of added tokens: see csrc/text/added_tokens.c.

    flags    uint8[n]: bits of enum unitok_token_flags
    longest  the size of the longest token in bytes
    """

    __slots__ = ("handle", "longest")

    def __init__(self, tokens: Sequence[bytes], ids: Sequence[int], flags: Sequence[int]) -> None:
        offsets = np.zeros(len(tokens) + 1, np.int64)
        np.cumsum([len(token) for token in tokens], out=offsets[1:])
        data, numbers, bits = b"".join(tokens), np.array(ids, np.int64), np.array(flags, np.uint8)
        self.longest = max(map(len, tokens), default=0)
        self.handle: Any = create("finder", data, pointer(offsets), pointer(numbers), pointer(bits), len(tokens))

    def matches(self, data: Any) -> bool:
        """Whether any token occurs in the bytes, regardless of its flags."""
        return bool(lib.unitok_finder_matches(self.handle, ffi.from_buffer("uint8_t[]", data), len(data)))

    def reaches(self, text: Any, at: int) -> bool:
        """Whether a token may cross or touch the cut before text[at]: see unitok_finder_reaches."""
        buffer = buffer_of(text)
        return not 0 < at < len(buffer) or bool(lib.unitok_finder_reaches(self.handle, buffer, len(buffer), at))

    def split(self, data: Bytes, offsets: Offsets, given: Offsets | None = None, *, hide_special: bool) -> Sections:
        """given: int64[n] as in Sections; None: all -1"""
        n, n_sections = len(offsets) - 1, 2 * len(offsets) + 64
        if int(offsets[-1]) > len(data) or offsets[0] < 0 or (np.diff(offsets) < 0).any():
            raise ValueError("the offsets decrease, or reach past the data")
        starts = np.empty(n + 1, np.int64)
        while True:
            capacity = n_sections
            bounds, found = np.empty(capacity + 1, np.int64), np.empty(capacity, np.int64)
            n_sections = lib.unitok_finder_split(
                self.handle, pointer(data), pointer(offsets), optional(given), n, hide_special,
                pointer(bounds, writable=True), pointer(found, writable=True), pointer(starts, writable=True), capacity,
            )  # fmt: skip
            if n_sections <= capacity:
                return Sections(data, bounds[: n_sections + 1], found[:n_sections], starts)


def is_normal(text: Any, form: str) -> bool:
    """Whether a text is known to be in "NFC" or "NFKC" of Unicode 9: see unitok_is_normal."""
    return bool(lib.unitok_is_normal(ffi.from_buffer("uint8_t[]", text), len(text), form == "NFKC"))


def is_normal_around(text: Any, at: int, reach: int, form: str = "NFC") -> bool:
    """Whether both sides of text[at] can be normalized independently, and all bytes up to `reach` away are already in
    the form: see unitok_is_normal_around."""
    buffer = buffer_of(text)
    if not 0 < at < len(buffer):
        return False
    return bool(lib.unitok_is_normal_around(buffer, len(buffer), at, reach, form == "NFKC"))


def split_documents(text: Bytes, n_bytes: int, separator: bytes, offsets: Offsets) -> tuple[int, int]:
    """Cut text[:n_bytes] at `separator` in place. Returns the numbers of documents and of bytes consumed."""
    if not 0 <= n_bytes <= len(text) or not separator or len(offsets) < 3 or offsets.itemsize != 8:
        raise ValueError("the separator is empty, a buffer is too small, or the offsets are not int64")
    consumed = ffi.new("int64_t *")
    n_docs = lib.unitok_split_documents(
        pointer(text, writable=True), n_bytes, separator, len(separator), pointer(offsets, writable=True),
        len(offsets) - 1, consumed,
    )  # fmt: skip
    return int(n_docs), int(consumed[0])


JSON_ERRORS = {
    name.removeprefix("UNITOK_JSON_"): int(getattr(lib, name)) for name in dir(lib) if name.startswith("UNITOK_JSON_")
}


class JsonLines:
    """Reads the texts in JSON lines. A unitok_json_place is a position in the lines. Thread-safe.

    names            the field names on the path to the text
    max_line_bytes   a longer line is an error
    """

    def __init__(self, names: Sequence[bytes], max_line_bytes: int, cpu: str | None = None) -> None:
        self._names = ffi.new("uint8_t[]", b"".join(names) or b"\0")
        self._name_offsets = ffi.new("int64_t[]", list(accumulate(map(len, names), initial=0)))
        self._n_names = len(names)
        self._max_line_bytes = max_line_bytes
        if cpu is not None and not cpu_supported(cpu):
            raise CpuError(f"{cpu} is not available in this build or on this processor")
        self._cpu = cpu_number(cpu)

    def new_place(self) -> Any:
        """The start of the first line, for read()."""
        return ffi.new("unitok_json_place *")

    def count(self, lines: Any, *, at_end: bool) -> Any:
        """The place after the complete lines, assuming that all are valid: the end of the last line (.at), and the
        numbers of lines (.n_lines) and of non-blank lines (.n_docs). at_end: text after the last newline is a line."""
        place = self.new_place()
        lib.unitok_json_count(pointer(lines), len(lines), self._max_line_bytes, at_end, place)
        return place

    def read(self, lines: Any, out: Bytes, offsets: Offsets, place: Any) -> bool:
        """Append the texts of the lines, starting at `place`, to the packed list (out, offsets). Returns True once all
        lines have been read, False if the line at `place` is invalid (.error says why); the next call skips it.

        `out` must have at least as many bytes as the lines, and `offsets` one more element than there are texts.
        """
        n_bytes, max_docs = len(lines), len(offsets) - 1
        if len(out) < n_bytes or not 0 <= place.n_docs <= max_docs or not 0 <= place.at <= n_bytes:
            raise ValueError("a buffer is too small for these lines")
        return bool(
            lib.unitok_json_read(
                self._cpu, pointer(lines), n_bytes, self._names, self._name_offsets, self._n_names,
                self._max_line_bytes, pointer(out, writable=True), pointer(offsets, writable=True), max_docs, place,
            )
        )  # fmt: skip


def json_merges(json: bytes) -> tuple[Packed, int] | None:
    """The merges in the list at the start of `json`, as alternating left and right sides, and the size of the list in
    bytes; None if the list is invalid or unusual."""
    text, bounds = np.empty(len(json), np.uint8), np.empty(len(json) // 2 + 1, np.int64)
    n_merges = ffi.new("int64_t *")
    n_bytes = lib.unitok_json_merges(
        json, len(json), pointer(text, writable=True), pointer(bounds, writable=True), n_merges
    )
    return (Packed(text, bounds[: 2 * n_merges[0] + 1]), n_bytes) if n_bytes else None


def find_merges(pieces: Packed, sides: Packed) -> Offsets:
    """int64[3 * n]: the indices of the pieces that are the left sides of n merges, then the right sides, then the two
    sides joined. Raises VocabularyError if one of these strings of merge .item is not a piece."""
    n = len(sides) // 2
    found = np.empty(3 * n, np.int64)
    call(
        lib.unitok_find_merges, pointer(pieces.data), pointer(pieces.offsets), len(pieces), pointer(sides.data),
        pointer(sides.offsets), n, pointer(found, writable=True),
    )  # fmt: skip
    return found
