"""Identity describes everything that determines the bytes of a run's output."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from pyunitok.corpus.source import InputFile, without_secrets
from pyunitok.tokens.manifest import Manifest

SHOWN = 5  # the number of inputs that a message names


@dataclass(frozen=True)
class Identity:
    """Two runs with equal identities write the same bytes.

    options  JSON values, by the names used in messages
    inputs   in reading order
    """

    options: dict[str, Any]
    inputs: list[InputFile]

    @classmethod
    def of(cls, options: dict[str, Any], inputs: Sequence[InputFile]) -> Identity:
        return cls(options, [_known(file) for file in inputs])

    @classmethod
    def of_manifest(cls, manifest: Manifest) -> Identity:
        """The run that made a finished token file."""
        return cls.of(manifest.run or {}, [record.file for record in manifest.inputs])

    def to_json(self) -> dict[str, Any]:
        inputs = []
        for f in self.inputs:
            values = [f.path, f.format, f.compression, f.size_bytes, f.mtime_ns, f.etag]
            inputs.append(values if f.secrets_sha256 is None else [*values, f.secrets_sha256])
        return {"options": self.options, "inputs": inputs}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Identity:
        """The inverse of to_json(). Raises ValueError, TypeError or KeyError if the values are invalid."""
        if not isinstance(values["options"], dict):
            raise TypeError("the options are not an object")
        files = [InputFile(*item) for item in values["inputs"]]
        for file in files:
            if not all(isinstance(text, str) for text in (file.path, file.format, file.compression)):
                raise TypeError("an input has no path, format or compression")
            if not all(n is None or type(n) is int for n in (file.size_bytes, file.mtime_ns)):
                raise TypeError("the size or modification time of an input is not a number")
        return cls(values["options"], [without_secrets(file) for file in files])

    def differences(self, now: Identity, n_inputs: int | None = None) -> list[str]:
        """A description of each difference from `now`; empty if the runs are equal.

        n_inputs  compare only the first n_inputs inputs
        """
        names = dict.fromkeys([*self.options, *now.options])
        found = [
            f"{name}: was {_shown(before)}, now {_shown(now.options.get(name))}{_advice(before)}"
            for name in names
            if (before := self.options.get(name)) != now.options.get(name)
        ]
        changed = list(self._changed_inputs(now, n_inputs))
        found += changed[:SHOWN]
        if len(changed) > SHOWN:
            found.append(f"and {len(changed) - SHOWN} more inputs")
        return found

    def _changed_inputs(self, now: Identity, n_inputs: int | None) -> Iterator[str]:
        if n_inputs is None and len(self.inputs) != len(now.inputs):
            yield f"number of inputs: was {len(self.inputs)}, now {len(now.inputs)}"
        for k, (old, new) in enumerate(zip_longest(self.inputs[:n_inputs], now.inputs[:n_inputs])):
            if old != new:
                was, is_ = (file.description() if file else "none" for file in (old, new))
                yield f"input {k + 1}: was {was}, now {is_}"


def _known(file: InputFile) -> InputFile:
    """Drop the number from the path of a process substitution, <(command), because the number differs in every call."""
    if "/fd/" not in file.path:
        return file
    return replace(file, path=re.sub(r"^/(dev|proc/self)/fd/\d+$", "/dev/fd", file.path))


def _advice(before: Any) -> str:
    """How to resume a run that used a different version of the tokenizers library."""
    library, _, version = str(before).partition(" ")
    return f" (to continue, pip install {library}=={version})" if library == "tokenizers" else ""


def _shown(value: Any) -> str:
    return "none" if value is None else json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)
