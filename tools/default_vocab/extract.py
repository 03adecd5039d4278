"""Extracts the documents of all packages to FOLDER/text/SPLIT/KIND.jsonl.zst, one line per file: {"source", "text"}.

    python tools/default_vocab/extract.py FOLDER

At most LIMIT bytes are kept per source and kind. Files are taken in the order of the hashes of their names, which is a
reproducible random sample of the package.
"""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
import tarfile
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import file_readers
import hunspell
import lists
import zstandard
from sources import Source, read_table

LIMIT = 6 << 20  # bytes per source and kind
# The SHA-256 of all text that unitok-v1 was trained on.
TEXT_SHA256 = "bc756e6cbe25e27c2a53b3473c3c561076fcc55fc1e2b5f9a4ad8cfa55c937dc"
MAX_FILE = 200_000  # bytes per file, so that a single large file does not dominate its package
READERS = file_readers.READERS | lists.READERS


def members(path: Path, source: Source) -> Iterator[tuple[str, bytes]]:
    """(path, contents) of the files in a package. Opens archives inside the package if a rule refers to their files."""
    if path.suffix == ".deb":
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", path], stdout=subprocess.PIPE) as process:
            yield from _tar(process.stdout, source)  # type: ignore[arg-type]
    elif path.suffix in (".whl", ".zip"):
        yield from _zip(path.read_bytes(), "")
    else:
        with path.open("rb") as file:
            yield from _tar(file, source)


def _tar(file: io.BufferedReader, source: Source, prefix: str = "") -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=file, mode="r|*") as tar:
        for member in tar:
            name = prefix + "/" + member.name.lstrip("./")
            if not member.isfile() or not (opened := tar.extractfile(member)):
                continue
            if "linux-source" in name and name.endswith(".tar.xz"):
                yield from _tar(io.BytesIO(opened.read()), source, name + "!")  # type: ignore[arg-type]
            elif name.endswith((".jar", "/src.zip")) and any("!" in rule.pattern.pattern for rule in source.rules):
                yield from _zip(opened.read(), name + "!")
            elif any(rule.pattern.search(name) for rule in source.rules):
                yield name, opened.read()


def _zip(data: bytes, prefix: str) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            yield prefix + ("" if prefix else "/") + name, archive.read(name)


def documents(path: Path, source: Source) -> dict[str, list[str]]:
    """The texts of one package, by kind."""
    found: dict[str, list[tuple[bytes, str]]] = defaultdict(list)
    halves: dict[tuple[str, str], bytes] = {}

    def hunspell_text(reader: str, name: str, data: bytes) -> str | None:
        """The words of a dictionary, once both of its files, .aff and .dic, have been read."""
        other = halves.pop((reader, name[:-4]), None)
        if other is None:
            halves[reader, name[:-4]] = data
            return None
        return hunspell.READERS[reader](other, data) if name.endswith(".dic") else hunspell.READERS[reader](data, other)

    for name, data in members(path, source):
        for rule in source.rules:
            if match := rule.pattern.search(name):
                reader = rule.reader
                text = hunspell_text(reader, name, data) if reader in hunspell.READERS else READERS[reader](data)
                if text and len(text) > 100:
                    order = hashlib.sha256(name.encode("utf-8", "replace")).digest()
                    found[rule.kind_of(match)].append((order, text))
    ret: dict[str, list[str]] = {}
    for kind, texts in found.items():
        size, kept = 0, []
        for _, text in sorted(texts):
            cut = text if lists.is_whole(kind) else text[:MAX_FILE]
            kept.append(cut)
            size += len(cut.encode("utf-8", "replace"))
            if size > LIMIT:
                break
        ret[kind] = kept
    return ret


def work(job: tuple[str, Source]) -> tuple[Source, dict[str, list[str]]]:
    return job[1], documents(Path(job[0]), job[1])


def main(folder: Path) -> None:
    jobs = []
    for source in read_table():
        path = source.find(folder)
        if path is None:
            raise SystemExit(f"{source.package} is not in {folder}: run sources.py first")
        jobs.append((str(path), source))
    out: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    with ProcessPoolExecutor(2) as pool:
        for source, kinds in pool.map(work, jobs):
            for kind, texts in kinds.items():
                out[source.split, kind] += [(source.package, text) for text in texts]
    digest = hashlib.sha256()
    for (split, kind), found in sorted(out.items()):
        target = folder / "text" / split / f"{kind}.jsonl.zst"
        target.parent.mkdir(parents=True, exist_ok=True)
        lines = "".join(json.dumps({"source": s, "text": t}, ensure_ascii=False) + "\n" for s, t in found)
        data = lines.encode("utf-8", "replace")
        target.write_bytes(zstandard.compress(data, 6))
        if split == "train":
            digest.update(f"{kind} {len(data)}\n".encode() + data)
        print(f"{split} {kind}: {len({s for s, _ in found})} sources, {len(found)} files, {len(data) / 1e6:.2f} MB")
    if digest.hexdigest() != TEXT_SHA256:
        raise SystemExit(f"SHA-256 {digest.hexdigest()}: this is not the text that unitok-v1 was trained on")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
