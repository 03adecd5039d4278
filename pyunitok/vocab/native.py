"""Reads and writes native model files: the C library's image, which is used in place, and an About as UTF-8 JSON.

csrc/model/image.c and csrc/model/spec_image.c describe the image. The checksum in the image's header also covers the
JSON.
"""

from __future__ import annotations

import json
import mmap
import os
from pathlib import Path
from typing import Any

import xxhash

from pyunitok._c import library
from pyunitok._c import model as c_model
from pyunitok.disk.outfile import check_target, write_whole
from pyunitok.errors import ModelFormatError, VocabularyError
from pyunitok.vocab import json_text
from pyunitok.vocab.vocabulary import About

MAGIC = b"\x89UTK\r\n\x1a\n"
_IMAGE_BYTES_AT = 24


def looks_native(head: bytes) -> bool:
    return head.startswith(MAGIC)


def write(model: c_model.Model, about: About) -> bytearray:
    """The contents of the file."""
    image = model.save()
    image += json_text.dump(about.to_json())
    checksum = xxhash.xxh64_intdigest(memoryview(image)[library.CHECKED_FROM :])
    image[library.CHECKSUM_AT : library.CHECKSUM_AT + 8] = checksum.to_bytes(8, "little")
    return image


def save(path: str | os.PathLike[str], model: c_model.Model, about: About) -> None:
    """Write the file; it appears under its name only when complete."""
    target = Path(path)
    check_target(target, overwrite=True)
    write_whole(target, write(model, about))


def read(data: Any, name: str, *, engine: str, cpu: str | None) -> tuple[c_model.Model, About]:
    """The model in `data`, and the About that follows it. The buffer must not change during the lifetime of the model.

    Raises ModelFormatError, which names the file and the byte, if the file is damaged, truncated or of an unsupported
    version.
    """
    view = memoryview(data)
    if len(view) < _IMAGE_BYTES_AT + 8 or not looks_native(bytes(view[:8])):
        raise ModelFormatError(f"{name}: too short for a native model")
    stored = int.from_bytes(view[library.CHECKSUM_AT : library.CHECKSUM_AT + 8], "little")
    if xxhash.xxh64_intdigest(view[library.CHECKED_FROM :]) != stored:
        raise ModelFormatError(f"{name}: checksum mismatch: the file is damaged or truncated; save it again")
    image_bytes = int.from_bytes(view[_IMAGE_BYTES_AT : _IMAGE_BYTES_AT + 8], "little")
    try:
        model = c_model.Model.load(data, engine=engine, cpu=cpu)
        return model, _read_about(bytes(view[image_bytes:]))
    except (ModelFormatError, VocabularyError) as error:
        raise type(error)(f"{name}: {error}") from None


def _read_about(data: bytes) -> About:
    try:
        return About.from_json(json.loads(data))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelFormatError(f"the JSON after the image is invalid: {error}") from None


def open_file(path: Path, *, engine: str, cpu: str | None) -> tuple[c_model.Model, About]:
    """Map the file and use it in place. Processes share its pages."""
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return read(mapped, str(path), engine=engine, cpu=cpu)
