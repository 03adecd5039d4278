"""Declares and checks all options of a tokenizing run. pyunitok.tokenize() documents them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyunitok.corpus.formats import FORMATS
from pyunitok.corpus.reading import ReadingOptions
from pyunitok.disk.url import is_url
from pyunitok.errors import OptionError
from pyunitok.model.batch import available_cores
from pyunitok.model.sampling import Sample
from pyunitok.tokens.manifest import MAX_SHARDS

DTYPES = {"uint16": "<u2", "uint32": "<u4"}
CHOICES = {
    "input_format": ("auto", *FORMATS),
    "dtype": ("auto", *DTYPES),
    "on_error": ("raise", "skip", "skip-file"),
}


@dataclass(frozen=True, kw_only=True)
class TokenizeOptions(ReadingOptions):
    """The options of tokenize(). The separator is bytes."""

    input_format: str = "auto"
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    eod: int | str | None = "model"
    dtype: str = "auto"
    sample: Sample | None = None
    verify: bool = False
    shard: tuple[int, int] | None = None
    ray: str | None = None
    unit_bytes: int | None = None
    keep_parts: bool = False
    format: str | None = None
    format_options: Mapping[str, Any] = field(default_factory=dict)
    copy: bool = False
    keep_tokens: bool = False
    overwrite: bool = False
    spool: str | os.PathLike[str] | None = None
    verify_resume: bool = False

    @property
    def n_threads(self) -> int:
        """The number of threads; on a cluster, per task."""
        return self.threads or (1 if self.ray else available_cores())

    @property
    def skip_files(self) -> bool:
        """Whether damaged files are skipped completely."""
        return self.on_error == "skip-file"

    def check(self, out: str) -> None:
        """Raise OptionError if options conflict or a value is invalid."""
        for name, values in CHOICES.items():
            if getattr(self, name) not in values:
                raise OptionError(f"{name} must be one of {', '.join(values)}, not {getattr(self, name)!r}")
        if self.eod not in ("model", None) and (isinstance(self.eod, bool) or not isinstance(self.eod, int)):
            raise OptionError(f'eod must be an id, None or "model", not {self.eod!r}')
        if self.separator == b"":
            raise OptionError("the separator is empty")
        if out == "-":
            raise OptionError("OUT cannot be stdout, because a token file is three files; name a file")
        if self.spool and not is_url(out):
            raise OptionError("--spool requires an OUT that is a URL")
        if self.shard and not 0 <= self.shard[0] < self.shard[1] <= MAX_SHARDS:
            raise OptionError(f"a shard must be I/N with I from 0 to N - 1, and N at most {MAX_SHARDS:,}")
        self._check_cluster(out)
        if self.format and is_url(out):
            raise OptionError("--format writes local files, but OUT is a URL; name a local OUT")
        if not self.format and (self.copy or self.keep_tokens or self.format_options):
            raise OptionError("export options require --format")

    def _check_cluster(self, out: str) -> None:
        if self.ray is None:
            if self.unit_bytes or self.keep_parts:
                raise OptionError("--unit and --keep-parts require --ray")
            return
        check_address(self.ray)
        if self.shard:
            raise OptionError("--ray itself divides the run; remove --shard")
        if self.skip_files:
            raise OptionError("--on-error skip-file requires a run on one machine, because a cluster may divide files")
        if is_url(out):
            raise OptionError("--ray requires an OUT on a file system that all machines see, not a URL")
        if self.format and self.keep_parts:
            raise OptionError("--format converts OUT, but --keep-parts does not write it; use one of them")


def check_address(address: str) -> None:
    """Raise OptionError for an empty address, which Ray would treat as "any cluster"."""
    if not address.strip():
        raise OptionError("the address of the Ray cluster is empty; use auto, local or HOST:PORT")
