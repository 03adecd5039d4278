"""Downloads the packages that the default vocabulary is trained on, with the clients of their registries.

    python tools/default_vocab/sources.py FOLDER        download missing packages, verify every SHA-256

A line of sources.tsv gives the registry, the package, its version and SHA-256, the licence (an SPDX expression for the
files that are read), the split (train, or valid for a package that is held out), and the files to read: rules
`pattern:reader:kind`, separated by spaces. A pattern matches paths inside the package; `a.zip!b` is a file in an
archive. If a rule has no kind, the kind is the language in the named group `lang`; `*` in a kind stands for that
language.
"""

from __future__ import annotations

import csv
import hashlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).with_name("sources.tsv")
LANGUAGES = {  # maps names in packages to kinds
    "c": "en", "en_gb": "en", "en_us": "en", "nb": "no", "nn": "no", "pa_in": "pa", "pt_br": "pt",
    "sr@latin": "sr_latin", "sr_latn": "sr_latin", "sr_el": "sr_latin", "uz@cyrillic": "uz_cyrl", "sat_olck": "sat",
    "tzm": "zgh", "shi": "zgh", "fil": "tl",
    "zh_cn": "zh", "zh_hans": "zh", "zh_hant": "zh_trad", "zh_tw": "zh_trad", "zh_hk": "zh_trad",
    "cmn": "zh", "jp": "ja", "kr": "ko", "iw": "he", "in": "id",
}  # fmt: skip


class Rule(NamedTuple):
    pattern: re.Pattern[str]
    reader: str
    kind: str

    def kind_of(self, match: re.Match[str]) -> str:
        if self.kind and "*" not in self.kind:
            return self.kind
        name = match["lang"].lower().replace("-", "_")
        language = re.split("[_@]", name)[0]
        return (self.kind or "*").replace("*", LANGUAGES.get(name) or LANGUAGES.get(language) or language)


class Source(NamedTuple):
    registry: str
    package: str
    version: str
    sha256: str
    licence: str
    split: str
    rules: tuple[Rule, ...]

    def find(self, folder: Path) -> Path | None:
        """The downloaded file. It is found by its hash, because registries choose the file names."""
        is_debian = self.registry == "debian"
        start = self.package if is_debian else self.package.lstrip("@").replace("/", "-").replace("-", "[-_]")
        files = sorted((folder / self.registry).glob(f"{start}[-_]*"))
        return next((path for path in files if hashlib.sha256(path.read_bytes()).hexdigest() == self.sha256), None)

    def download(self, folder: Path, *options: str) -> None:
        into = folder / self.registry
        into.mkdir(parents=True, exist_ok=True)
        command = {
            "debian": ["apt-get", "download", "-q", f"{self.package}={self.version}"],
            "npm": ["npm", "pack", "--silent", f"{self.package}@{self.version}"],
            "pypi": [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-build-isolation",
                     f"{self.package}=={self.version}"],
        }[self.registry]  # fmt: skip
        subprocess.run([*command, *options], cwd=into, check=True)


def read_table() -> Iterator[Source]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            rules = tuple(Rule(re.compile(pattern), reader, kind) for pattern, reader, kind in
                          (rule.rsplit(":", 2) for rule in row["files"].split()))  # fmt: skip
            yield Source(
                row["registry"], row["package"], row["version"], row["sha256"], row["licence"], row["split"], rules
            )


def fetch(folder: Path) -> None:
    for source in read_table():
        if source.find(folder) is None:
            source.download(folder)
            if source.find(folder) is None and source.registry == "pypi":
                source.download(folder, "--no-binary", ":all:")  # the hash may be that of the source distribution
            if source.find(folder) is None:
                raise SystemExit(f"{source.package} {source.version}: the SHA-256 differs from that in sources.tsv")


if __name__ == "__main__":
    fetch(Path(sys.argv[1]))
