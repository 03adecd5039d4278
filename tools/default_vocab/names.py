"""Finds names of people and of individual projects, which must not be pieces of the default vocabulary.

People: the given names and surnames in the packages faker and mimesis, in scripts with upper case. Names that are also
ordinary words stay: words that the training text also writes in lower case ("mark", "rose", "hope"), places, months,
and words such as "Newton" and "Alice" that mean more than a person (`kept` in names.txt). German surnames are ignored,
because German capitalises every noun, so the text does not distinguish the surname Koch from the cook.

Projects: the identifiers in names.txt, as complete words or as parts of identifiers.
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
MIN_LETTERS = 4  # shorter names also occur as syllables of words
ORDINARY_SHARE = 0.1  # a word is ordinary if a larger share of its uses is in lower case
LONGER = 3  # a name is ordinary if it begins longer words more than this many times as often as it occurs alone
_WORD = re.compile(r"[^\W\d_]+")
# GtkWidget → Gtk, Widget; GLSLCode → GLSL, Code
_PARTS = re.compile(r"[^\W\d_a-z]+(?![a-z])|[^\W\d_]?[a-z]+|[^\W\d_]+")
_ASSIGNED = re.compile(r"(first|last|middle)_?names?", re.I)


@cache
def sections() -> dict[str, frozenset[str]]:
    """The words of each section of names.txt, in lower case except literals."""
    ret: dict[str, set[str]] = defaultdict(set)
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            section, *words = line.split()
            ret[section] |= {word if section == "literal" else word.casefold() for word in words}
    return {section: frozenset(words) for section, words in ret.items()}


def is_project(piece: bytes) -> bool:
    """Whether a piece contains the identifier of a project."""
    text = piece.decode("utf-8", "replace")
    if any(literal in text for literal in sections()["literal"]):
        return True
    projects = sections()["project"]
    words = _WORD.findall(text)
    return any(part.casefold() in projects for word in words for part in [word, *_PARTS.findall(word)])


def read_names(wheels: Iterable[Path]) -> frozenset[str]:
    """The names in the wheels of faker and mimesis and in names.txt, in lower case."""
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
    """The string literals in assignments to variables such as first_names_male."""
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
    """The names that are also ordinary words: those that the texts also write in lower case, and those that mostly
    begin longer words, such as "famil". The texts must be cased, unlike some word lists."""
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
    """Whether a piece contains a name as a word. A lower-case word at the start of the piece may be the end of a longer
    word."""
    text = piece.decode("utf-8", "replace")
    return any(
        match[0].casefold() in names for match in _WORD.finditer(text) if match.start() > 0 or match[0][:1].isupper()
    )
