"""Writes outputs to URLs: a token file is written to a local spool folder and uploaded when it is complete.

    spool: grows, is interrupted, resumes, is complete ──▶ OUT.ends and others, OUT.json, OUT last ──▶ spool removed

Object stores cannot append, so only complete files are uploaded: a token file or, with --shard, a shard of one. The
spool is kept until the upload is complete. Repeating the command resumes tokenizing or the upload.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pyunitok.disk import remote
from pyunitok.disk.outfile import OutputLock, make_folder, write_whole
from pyunitok.disk.url import is_url, shown
from pyunitok.errors import OutputError, UnitokError
from pyunitok.run.identity import Identity
from pyunitok.run.output import own_files
from pyunitok.run.pipeline import tokenize
from pyunitok.run.plan import SILENT, Callbacks, Plan, Start
from pyunitok.run.tally import Tally
from pyunitok.tokens.manifest import Manifest, sidecars

# These stores upload atomically. In other stores a file is uploaded under a temporary name and then renamed.
ATOMIC_STORES = {"s3", "s3a", "gs", "gcs", "abfs", "az", "adl", "oss", "oci", "hf", "memory"}
REPLACES = "replaces"  # a file in the spool folder, which records that the run was started with --overwrite


class Spool:
    """The local folder for a token file that will be uploaded to a URL.

    url     without secrets
    out     the local path of the token file
    folder  a folder in `parent`, by default the system's temporary folder; its name depends only on the URL
    """

    def __init__(self, url: str, parent: Path | None = None) -> None:
        """Does not create anything. Raises InputError if this kind of URL is not supported."""
        self.url = shown(url)
        name = self.url.rstrip("/").rpartition("/")[2]
        if self.url.endswith("/") or not name:
            raise OutputError(f"{self.url} is a folder; name a file in it")
        self._fs, self._path = remote.file_system(url)
        key = hashlib.sha256(str(self._fs.unstrip_protocol(self._path)).encode()).hexdigest()[:16]
        self.folder = (parent or _own_temporary_folder()) / f"{name}.{key}"
        self.out = self.folder / name

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Create the folder and lock it. Raises OutputError if that fails."""
        make_folder(self.folder, parents=True)
        lock = OutputLock(self.folder)
        try:
            yield
        finally:
            with suppress(OSError):  # if the folder is not empty or already removed
                self.folder.rmdir()
            lock.release()

    def begin(self, run: Identity, *, overwrite: bool) -> Manifest | None:
        """The manifest at the URL if this run is already finished there, otherwise None.

        Raises OutputError if the URL exists but is not from this run, unless `overwrite` is set.
        """
        if overwrite:
            write_whole(self.folder / REPLACES, b"")
        if (self.folder / REPLACES).exists() or self._size("") is None:
            self._try_writing()
            return None
        exists = f"{self.url} exists"
        if self._size(".json") is None:
            raise OutputError(f"{exists}; --overwrite replaces it")
        manifest = Manifest.parse(self._retried(lambda: self._fs.cat_file(self._path + ".json")), self.url + ".json")
        made_by = Identity.of_manifest(manifest)
        unknown = ["its manifest does not record the command"]
        differences = unknown if manifest.run is None else made_by.differences(run)
        if differences:
            what = "; ".join(differences)
            raise OutputError(f"{exists}, and was made by another command ({what}); --overwrite replaces it")
        for suffix, n_bytes in manifest.sizes().items():
            if self._size(suffix) != n_bytes:
                wrong = f"{self.url}{suffix} does not have the {n_bytes} bytes that its manifest records"
                raise OutputError(f"{wrong}; --overwrite starts again")
        self.remove()
        return manifest

    def upload(self, on_upload: Callable[[str, int], None]) -> None:
        """Upload the finished files, OUT last, and remove the folder. on_upload(url, bytes) is called before each file.

        Raises OutputError if one of them fails remote.ATTEMPTS times; the local files are then kept.
        """
        try:
            if self._size("") is not None:  # an older OUT must never exist next to new files
                self._retried(lambda: self._fs.rm_file(self._path))
            for path in self._finished_files():
                suffix = path.name.removeprefix(self.out.name)
                n_bytes = path.stat().st_size
                on_upload(self.url + suffix, n_bytes)
                self._put(path, self._path + suffix)
                if self._size(suffix) != n_bytes:
                    raise OutputError(f"{self.url}{suffix} does not have {n_bytes} bytes after the upload")
        except OutputError as error:
            raise OutputError(f"{error}; {self.advice()}") from error
        self.remove()

    def advice(self) -> str:
        """How to resume an upload that was interrupted."""
        but = " without --overwrite" if (self.folder / REPLACES).exists() else ""
        return f"the finished files are in {self.folder}: run the same command{but} to resume the upload"

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def _finished_files(self) -> list[Path]:
        last = [sidecars(self.out)[1], self.out]
        others = [path for path in self.folder.iterdir() if path not in last and path.name.startswith(self.out.name)]
        return [*sorted(path for path in others if path.suffix != ".partial"), *last]

    def _size(self, suffix: str) -> int | None:
        """The size of the file at URL + suffix; None if it does not exist."""

        def ask() -> Any:
            self._fs.invalidate_cache()
            try:
                return self._fs.info(self._path + suffix)
            except FileNotFoundError:
                return None

        info = self._retried(ask)
        if info is not None and info["type"] != "file":
            raise OutputError(f"{self.url}{suffix} is a folder; name a file in it")
        return None if info is None else int(info["size"])

    def _try_writing(self) -> None:
        """Raise OutputError, before days of work, if the URL is not writable. Does not try if every write creates a
        commit."""
        if "hf" in remote.protocols(self._fs):
            return
        self._retried(lambda: self._fs.pipe_file(self._path + ".probe", b""))
        with suppress(Exception):  # the store may allow writing but not removing
            self._fs.rm_file(self._path + ".probe")

    def _put(self, path: Path, remote_path: str) -> None:
        if not ATOMIC_STORES.isdisjoint(remote.protocols(self._fs)):
            self._retried(lambda: self._fs.put_file(str(path), remote_path))
            return
        self._retried(lambda: self._fs.put_file(str(path), remote_path + ".partial"))
        self._retried(lambda: self._fs.mv(remote_path + ".partial", remote_path))

    def _retried(self, action: Callable[[], Any]) -> Any:
        """Call action(), with retries. Raises OutputError, which names the URL."""
        try:
            return remote.retried(action)
        except (UnitokError, MemoryError):
            raise
        except Exception as error:
            raise OutputError(f"{self.url}: cannot be written: {remote.said(error)}") from remote.cause(error)


def own_urls(out: str) -> list[str]:
    """The URLs of OUT and the files next to it; empty if OUT is not a URL."""
    return [out + path.name[1:] for path in own_files(Path("x")).finished] if is_url(out) else []


def tokenize_to(spool: Spool, plan: Plan, callbacks: Callbacks = SILENT) -> Manifest:
    """Calls pipeline.tokenize with plan.out = spool.out, and then spool.upload()."""
    with spool.locked():
        tally = Tally(plan)
        manifest = spool.begin(plan.identity(), overwrite=plan.options.overwrite)
        if manifest is not None:
            tally.check_pipes(manifest)
            callbacks.on_start(Start(manifest.bytes, manifest.documents, complete=True))
            return manifest
        manifest = tokenize(plan, callbacks)
        spool.upload(callbacks.on_upload)
        return manifest


def _own_temporary_folder() -> Path:
    """A folder inside the system's temporary folder that no other user can write to."""
    if not hasattr(os, "getuid"):
        return Path(tempfile.gettempdir()) / "pyunitok"
    folder = Path(tempfile.gettempdir()) / f"pyunitok-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
    except OSError as error:
        raise OutputError(f"{folder}: cannot be created: {error.strerror}; name another folder with --spool") from error
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise OutputError(f"{folder} belongs to another user; name another folder with --spool")
    return folder
