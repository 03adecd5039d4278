"""Determines from the first bytes of a file whether it is text and, if not, what it is ("a PNG image")."""

from __future__ import annotations

from pyunitok.corpus import compressions
from pyunitok.errors import InputError

SNIFF_BYTES = 1 << 16  # as many as why_not_text and share_invalid require
MAX_INVALID = 0.05  # the share of invalid UTF-8 above which to warn

_STARTS = {
    b"\xff\xfe\0\0": "UTF-32 text",
    b"\0\0\xfe\xff": "UTF-32 text",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
    b"\x89PNG\r\n\x1a\n": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF87a": "a GIF image",
    b"GIF89a": "a GIF image",
    b"%PDF-": "a PDF document",
    b"PK\x03\x04": "a ZIP archive (such as .docx, .xlsx, .epub or .npz)",
    b"PK\x05\x06": "an empty ZIP archive",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!\x1a\x07": "a RAR archive",
    b"\x04\x22\x4d\x18": "an lz4 file",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an old Office document",
    b"\x7fELF": "a program",
    b"\x93NUMPY": "a NumPy array",
    b"ARROW1\0\0": "an Arrow file",
    b"PAR1": "a Parquet file",
    b"SQLite format 3\0": "an SQLite database",
    b"\0asm": "a WebAssembly module",
    b"OggS": "an Ogg file",
    b"fLaC": "a FLAC file",
    b"\x1a\x45\xdf\xa3": "a Matroska or WebM video",
    b"wOFF": "a font",
    b"wOF2": "a font",
}
_TAR_AT = 257
# Control characters that text files do not contain. NUL is not among them, because it may separate documents.
_CONTROLS = bytes(byte for byte in [*range(1, 32), 127] if byte not in b"\b\t\n\v\f\r\x1b")


def why_not_text(start: bytes) -> str | None:
    """The type of a file with these first bytes, for messages ("…: a PNG image, not text"); None if it may be text."""
    compression = compressions.by_start(start)
    if compression is not compressions.NONE:
        return f"{compression.title} data"
    for magic, what in _STARTS.items():
        if start.startswith(magic):
            return what
    if start[_TAR_AT : _TAR_AT + 5] == b"ustar":
        return "a tar archive"
    if start[:4] == b"RIFF" and start[8:12] in (b"WAVE", b"WEBP", b"AVI "):
        return "an audio, image or video file"
    sample = start[:SNIFF_BYTES]
    n_even, n_odd = sample[0::2].count(0), sample[1::2].count(0)
    if max(n_even, n_odd) * 5 > len(sample) > 7 and min(n_even, n_odd) * 20 < len(sample):
        return "UTF-16 text, or numbers"
    n_controls = len(sample) - len(sample.translate(None, _CONTROLS))
    return "binary data" if n_controls > 1 and n_controls * 50 > len(sample) else None


class NotTextError(InputError):
    """A file is not text. `plain` is the message without advice, for commands without these options."""

    def __init__(self, plain: str, advice: str) -> None:
        super().__init__(f"{plain}; {advice}")
        self.plain = plain


def not_text(name: str, what: str) -> NotTextError:
    if what.startswith("UTF-16"):
        return NotTextError(f"{name}: {what}, not UTF-8 text", "convert it first: iconv -f UTF-16 -t UTF-8")
    advice = "--exclude skips it; --input-format text reads it anyway"
    return NotTextError(f"{name}: {what}, not text", advice)


def share_invalid(start: bytes) -> float:
    """The share of invalid UTF-8 among the first bytes of a text."""
    sample = start[:SNIFF_BYTES]
    n_valid = len(sample.decode("utf-8", "ignore").encode())
    n_invalid = len(sample) - n_valid
    return n_invalid / len(sample) if n_invalid > 3 else 0.0  # up to 3: the sample may end inside a character
