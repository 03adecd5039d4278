"""Builds the files of a release: a source distribution, and a wheel for this machine.

    python tools/release.py build OUT      build both into the folder OUT
    python tools/release.py sbom WHEEL     add the list of bundled data to a wheel (PEP 770)

Builds of the same commit are byte-identical: every time in the files is that of the commit, or SOURCE_DATE_EPOCH.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from email.parser import Parser
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# The projects whose data files in the wheel were generated from: name, version, licence, address.
BUNDLED = [
    ("sentencepiece normalization rules", "0.2.3", "Apache-2.0", "https://github.com/google/sentencepiece"),
    ("Unicode Character Database", "16.0.0", "Unicode-3.0", "https://www.unicode.org/Public/16.0.0/"),
]


def commit_time() -> str:
    """The time of the last commit, in seconds since 1970."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return os.environ["SOURCE_DATE_EPOCH"]
    return subprocess.check_output(["git", "log", "-1", "--format=%ct"], cwd=ROOT, text=True).strip()


def build(out: Path) -> tuple[Path, Path]:
    """Build an sdist, and a wheel from it. Returns both paths."""
    out.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {"SOURCE_DATE_EPOCH": commit_time()}
    subprocess.run([sys.executable, "-m", "build", "--sdist", "--outdir", str(out)], cwd=ROOT, check=True)
    (sdist,) = out.glob("*.tar.gz")
    normalize(sdist, int(environment["SOURCE_DATE_EPOCH"]))
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(out), str(sdist)]
    subprocess.run(pip, env=environment, check=True)
    (wheel,) = out.glob("*.whl")
    add_sbom(wheel, environment)
    return sdist, wheel


def normalize(sdist: Path, time: int) -> None:
    """Sort the members of an sdist, and remove the builder's name and the times that setuptools records."""
    packed = io.BytesIO()
    with tarfile.open(sdist) as old, tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as new:
        for member in sorted(old.getmembers(), key=lambda member: member.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname = time, 0, 0, "", ""
            member.mode, member.pax_headers = (0o755 if member.isdir() or member.mode & 0o100 else 0o644), {}
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    with sdist.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=time) as compressed:
        compressed.write(packed.getvalue())


def add_sbom(wheel: Path, environment: dict[str, str]) -> None:
    """Write .dist-info/sboms/pyunitok.cdx.json into a wheel, in CycloneDX 1.6."""
    with tempfile.TemporaryDirectory() as name:
        silent: dict[str, Any] = {"check": True, "stdout": subprocess.DEVNULL}
        subprocess.run([sys.executable, "-m", "wheel", "unpack", "-d", name, str(wheel)], **silent)
        (tree,) = Path(name).iterdir()
        (folder,) = tree.glob("*.dist-info")
        (folder / "sboms").mkdir(exist_ok=True)
        text = json.dumps(sbom((folder / "METADATA").read_text(encoding="utf-8")), indent=1)
        (folder / "sboms/pyunitok.cdx.json").write_text(text + "\n", encoding="utf-8")
        pack = [sys.executable, "-m", "wheel", "pack", "-d", str(wheel.parent), str(tree)]
        subprocess.run(pack, **silent, env=environment)


def sbom(metadata: str) -> dict[str, object]:
    fields = Parser().parsestr(metadata)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {
            "type": "library", "name": fields["Name"], "version": fields["Version"],
            "purl": f"pkg:pypi/{fields['Name']}@{fields['Version']}", "licenses": [{"license": {"id": "Apache-2.0"}}],
        }},
        "components": [
            {"type": "data", "name": name, "version": version, "licenses": [{"license": {"id": licence}}],
             "externalReferences": [{"type": "website", "url": url}]}
            for name, version, licence, url in BUNDLED
        ],
    }  # fmt: skip


def sbom_of(wheel: Path) -> dict[str, object]:
    """The list of bundled data in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/sboms/pyunitok.cdx.json"))
        ret: dict[str, object] = json.loads(archive.read(name))
    return ret


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["build", "sbom"])
    parser.add_argument("path", type=Path)
    options = parser.parse_args()
    if options.action == "build":
        print("\n".join(map(str, build(options.path))))
    else:
        add_sbom(options.path, os.environ | {"SOURCE_DATE_EPOCH": commit_time()})


if __name__ == "__main__":
    main()
