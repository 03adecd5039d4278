"""Names of people and of single projects, which are no pieces of the default vocabulary.

People: the given names and surnames of the packages faker and mimesis, in scripts that have upper case. A word of these
lists that the training text also writes in lower case is an ordinary word ("mark", "rose", "hope") and stays, and so do
places, months, and words such as "Newton" and "Alice" that stand for more than a person (`kept` in names.txt). German
surnames are left out: German capitalises every noun, so the text cannot tell the cook from the name.

Projects: the identifiers in names.txt, as a word or as a part of an identifier.
"""

from __future__ import annotations

import ast
import json
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

TABLE = Path(__file__).with_name("names.txt")
MIN_LETTERS = 4  # shorter names are syllables of other words
ORDINARY_SHARE = 0.1  # of the uses of a word in lower case
LONGER = 3  # times as often as alone
_WORD = re.compile(r"[^\W\d_]+")
_PARTS = re.compile(
    r"[^\W\d_a-z]+(?![a-z])|[^\W\d_]?[a-z]+|[^\W\d_]+"
)  # GtkWidget → Gtk, Widget; GLSLCode → GLSL, Code
_ASSIGNED = re.compile(r"(first|last|middle)_?names?", re.I)


@cache
def sections() -> dict[str, frozenset[str]]:
    """names.txt: section → its words, in lower case except literals."""
    ret: dict[str, set[str]] = defaultdict(set)
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            section, *words = line.split()
            ret[section] |= {word if section == "literal" else word.casefold() for word in words}
    return {section: frozenset(words) for section, words in ret.items()}


def is_project(piece: bytes) -> bool:
    """Whether it contains an identifier of a single project."""
    text = piece.decode("utf-8", "replace")
    if any(literal in text for literal in sections()["literal"]):
        return True
    projects = sections()["project"]
    words = _WORD.findall(text)
    return any(part.casefold() in projects for word in words for part in [word, *_PARTS.findall(word)])


def read_names(wheels: Iterable[Path]) -> frozenset[str]:
    """The names in wheels of faker and mimesis, those of names.txt included, in lower case."""
    found: set[str] = set(sections()["person"])
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            for path in archive.namelist():
                if match := re.search(r"faker/providers/person/(\w+)/__init__\.py$", path):
                    strings = _faker(archive.read(path).decode(), is_german=match[1].startswith("de"))
                elif match := re.search(r"mimesis/datasets/([\w-]+)/person\.json$", path):
                    strings = _mimesis(json.loads(archive.read(path)), is_german=match[1].startswith("de"))
                else:
                    continue
                found |= {word.casefold() for text in strings for word in _WORD.findall(text) if word[:1].isupper()}
    return frozenset(name for name in found if len(name) >= MIN_LETTERS) - sections()["kept"]


def _faker(source: str, is_german: bool) -> Iterator[str]:
    """String literals in assignments to first_names_male and the like."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value:
            target = ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
            if _ASSIGNED.match(target) and not (is_german and target.startswith("last")):
                yield from (
                    n.value for n in ast.walk(node.value) if isinstance(n, ast.Constant) and isinstance(n.value, str)
                )


def _mimesis(person: dict[str, object], is_german: bool) -> Iterator[str]:
    for key in ("names", "surnames"):
        if not (is_german and key == "surnames"):
            yield from re.findall(r'"([^"]+)"', json.dumps(person.get(key), ensure_ascii=False))


def ordinary_words(names: frozenset[str], texts: Iterable[bytes]) -> frozenset[str]:
    """The names that stay: those that these texts also write in lower case, and those that are mostly a part of longer
    words, as "famil" is. The texts must be cased: no lists of words in lower case."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(_WORD.findall(text.decode("utf-8", "replace")))
    lower: Counter[str] = Counter()
    upper: Counter[str] = Counter()
    longer: Counter[str] = Counter()
    for word, n in counts.items():
        folded = word.casefold()
        if folded in names:
            (lower if word == folded else upper)[folded] += n
        for end in range(MIN_LETTERS, len(folded)):
            if folded[:end] in names:
                longer[folded[:end]] += n
    ret = {word for word, n in lower.items() if n >= 2 and n > ORDINARY_SHARE * (n + upper[word])}
    return frozenset(ret | {word for word, n in longer.items() if n > LONGER * (lower[word] + upper[word])})


def is_personal(piece: bytes, names: frozenset[str]) -> bool:
    """Whether it has one of the names as a word; lower-case letters at its start may be the end of a longer word."""
    text = piece.decode("utf-8", "replace")
    return any(
        match[0].casefold() in names for match in _WORD.finditer(text) if match.start() > 0 or match[0][:1].isupper()
    )
