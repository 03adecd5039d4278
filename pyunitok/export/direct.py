"""Direct implements `tokenize --format`, which writes another tool's files instead of OUT.

    tokenizing ──▶ OUT OUT.ends OUT.json ──▶ files of the format ──▶ recorded in OUT.json ──▶ OUT, OUT.ends removed

OUT.json is kept: it records the origin of the files, and that the export has finished, in case the command is repeated.
Every step can be repeated, so a run that was killed at any point can be resumed. Existing files of the format are
replaced only with --overwrite, or if OUT.json records that the export has begun.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyunitok
from pyunitok.disk.outfile import OutputLock, check_target, sync_folder, write_whole
from pyunitok.errors import OutputError
from pyunitok.export import Exported, export, module
from pyunitok.export.files import WrittenFile
from pyunitok.export.options import Options
from pyunitok.run.identity import Identity
from pyunitok.tokens.manifest import Manifest, sidecars


@dataclass(frozen=True)
class Direct:
    """The export of `tokenize -o OUT --format TO`: files in OUT's folder, named after OUT.

    keep       do not remove OUT and OUT.ends
    overwrite  whether existing files may be replaced
    """

    out: Path
    to: str
    options: Options
    copy: bool = False
    keep: bool = False
    overwrite: bool = False

    def check(self) -> None:
        """Raise OutputError, before any work, if an option is invalid or a file cannot be written or replaced."""
        writer = module(self.to)
        self.options.check(writer.TAKES, self.to)
        own = {self.out, *sidecars(self.out)}
        for path in self.files():
            if path in own:
                raise OutputError(
                    f"{self.to} also writes a file named {path.name}; rename OUT, for example by removing its suffix"
                )
            if not self._begun():
                check_target(path, overwrite=self.overwrite)

    def files(self) -> list[Path]:
        """The files that make() writes, except OUT.json."""
        return [self.out.parent / name for name in module(self.to).names(self.options)]

    def make_folder(self) -> None:
        """Create the folder of OUT, as `export` does."""
        try:
            self.out.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{self.out.parent}: cannot create the folder: {error.strerror}") from error

    def finished(self, run: Identity) -> Manifest | None:
        """The manifest, if this command has finished before; otherwise None.

        Raises OutputError if another command wrote it, or if its files have changed.
        """
        manifest = self._manifest()
        if self.overwrite or manifest is None or self.out.exists() or not (manifest.exported or {}).get("files"):
            return None
        done = manifest.exported or {}
        differences = Identity.of_manifest(manifest).differences(run)
        differences += [] if done["wanted"] == self._wanted() else [f"was {done['wanted']}, now {self._wanted()}"]
        if differences:
            what = f"{sidecars(self.out)[1]} was written by another command ({'; '.join(differences)})"
            raise OutputError(f"{what}; --overwrite starts again")
        for name, n_bytes in done["files"].items():
            path = self.out.parent / name
            if not path.is_file() or path.stat().st_size != n_bytes:
                raise OutputError(f"{path} no longer has {n_bytes} bytes; --overwrite starts again")
        with self._locked():
            self._remove()
        return manifest

    def make(self) -> Exported:
        """Export OUT, which must be complete, and remove OUT and OUT.ends unless `keep` is set."""
        with self._locked():
            manifest = self._manifest()
            assert manifest is not None
            done = (manifest.exported or {}) if self._begun() else {}
            if done.get("files") and all((self.out.parent / name).exists() for name in done["files"]):
                files = [WrittenFile(self.out.parent / name, n, "already present") for name, n in done["files"].items()]
                exported = Exported(files, [])
            else:
                begin = partial(self._record, manifest, None)
                array = pyunitok.open(self.out)
                exported = export(array, self.to, self.out.parent, self.options, copy=self.copy,
                                  overwrite=self.overwrite or self._begun(), before_commit=begin)  # fmt: skip
                self._record(manifest, exported)
            self._remove()
            return exported

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Prevent other processes from writing OUT."""
        lock = OutputLock(self.out)
        try:
            yield
        finally:
            lock.release()

    def _manifest(self) -> Manifest | None:
        path = sidecars(self.out)[1]
        return Manifest.read(path) if path.exists() else None

    def _wanted(self) -> dict[str, Any]:
        return {"format": self.to, **asdict(self.options)}

    def _begun(self) -> bool:
        """Whether OUT.json records that this export has begun."""
        manifest = self._manifest()
        return manifest is not None and (manifest.exported or {}).get("wanted") == self._wanted()

    def _record(self, manifest: Manifest, exported: Exported | None) -> None:
        """Record in OUT.json the files of the export, or, if `exported` is None, that the export has begun."""
        files = {written.path.name: written.n_bytes for written in exported.files} if exported else None
        manifest.exported = {"wanted": self._wanted(), "files": files}
        write_whole(sidecars(self.out)[1], manifest.to_json())

    def _remove(self) -> None:
        if self.keep:
            return
        self.out.unlink(missing_ok=True)  # first: without it, the rest cannot be mistaken for a token file
        sidecars(self.out)[0].unlink(missing_ok=True)
        sync_folder(self.out.parent)
