"""Regenerates exemplars.tsv, the letters and punctuation of living languages, from CLDR.

    npm pack cldr-core@48.2.0 cldr-misc-full@48.2.0     # Unicode-3.0
    python tools/default_vocab/exemplars.py cldr-core-48.2.0.tgz cldr-misc-full-48.2.0.tgz

CLDR records how many people in each country use and write a language, and lists the characters of each language: its
main set, its punctuation and its digits. Characters are selected by these rules:

- A script is included if more than a million people write it. Han, Hangul and Yi are excluded, because their thousands
  of characters enter by frequency.
- For alphabets and abugidas, the letters of each language with more than 100,000 writers are included, also in upper
  case; for Ethiopic, a syllabary of several hundred signs, the signs of each language with more than a million writers.
- Cherokee and Canadian syllables are included despite fewer writers: they are official scripts, so texts in many
  languages contain them. Small Cherokee letters, which are very rare, are excluded.
- The punctuation and digits of languages with more than a million writers are included.
"""

from __future__ import annotations

import json
import re
import sys
import tarfile
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("exemplars.tsv")
MIN_WRITERS = 1_000_000  # for a script; for a language's punctuation and for its letters in LARGE scripts
MIN_LETTER_WRITERS = 100_000  # for a language's letters in all other scripts
LARGE = {"Ethi"}  # syllabaries with rare signs
OFFICIAL = {"Cans", "Cher"}
BY_FREQUENCY = {"Hans", "Hant", "Kore", "Yiii"}
# CLDR attributes all writers of Hmong to Nyiakeng Puachue Hmong, though nearly all use Latin letters, and all Copts to
# Coptic, the language of their liturgy.
EXCLUDED = {"Hmnp", "Copt"}
# Scripts for which CLDR lists no exemplars, no writers, or an incomplete set (Malayalam lacks vowel signs). Schools
# teach Pular in Adlam, Javanese in its own script, and bopomofo in Taiwan; Meetei Mayek has been official in Manipur
# since 2021. Korean gets only its letters, no syllables. A range is given by its first and last code point.
ADDED = {
    "Adlm": [(0x1E900, 0x1E94B), (0x1E950, 0x1E959), (0x1E95E, 0x1E95F)],
    "Arab": [(0x06D3, 0x06D3)],
    "Armn": [(0x0587, 0x0587)],
    "Bopo": [(0x3105, 0x3129)],
    "Grek": [(0x1F40, 0x1F45), (0x1FB3, 0x1FB3), (0x1FC3, 0x1FC3), (0x1FF3, 0x1FF3)],
    "Java": [(0xA980, 0xA9CD), (0xA9CF, 0xA9D9)],
    "Kore": [(0x3131, 0x3163)],
    "Mlym": [(0x0D3E, 0x0D44), (0x0D46, 0x0D48), (0x0D4A, 0x0D4D), (0x0D7A, 0x0D7F)],
    "Mong": [(0x1800, 0x180E), (0x1810, 0x1819)],
    "Mtei": [(0xABC0, 0xABED), (0xABF0, 0xABF9)],
    "Nkoo": [(0x07C0, 0x07C9), (0x07F8, 0x07F9)],
}


def read(archives: Iterable[str]) -> dict[str, Any]:
    """The JSON files of npm packages, by path."""
    ret = {}
    for archive in archives:
        with tarfile.open(archive) as tar:
            for member in tar:
                if member.name.endswith(".json") and (file := tar.extractfile(member)):
                    ret[member.name.removeprefix("package/")] = json.load(file)
    return ret


def count_writers(territories: dict[str, Any]) -> Counter[str]:
    """The number of writers of each language tag."""
    ret: Counter[str] = Counter()
    for territory in territories.values():
        for tag, use in territory.get("languagePopulation", {}).items():
            speakers = float(territory["_population"]) * float(use["_populationPercent"]) / 100
            literacy = use.get("_writingPercent") or use.get("_literacyPercent") or territory["_literacyPercent"]
            ret[tag.replace("_", "-")] += round(speakers * float(literacy) / 100)
    return ret


def parse_set(text: str) -> set[str]:
    """The characters of a UnicodeSet such as `[a-c {ch} \\u0301]`, including each character of a sequence."""
    token = re.compile(r"\\u([0-9A-Fa-f]{4})|\\(.)|([^\s{}])", re.S)
    items = [(chr(int(m[1], 16)) if m[1] else m[2] or m[3], m[3] == "-") for m in token.finditer(text.strip()[1:-1])]
    ret: set[str] = set()
    i = 0
    while i < len(items):
        if i + 2 < len(items) and items[i + 1][1]:
            ret |= {chr(code) for code in range(ord(items[i][0]), ord(items[i + 2][0]) + 1)}
            i += 3
        else:
            ret.add(items[i][0])
            i += 1
    return ret


def script_of(locale: str, likely: dict[str, str]) -> str:
    """The script that a locale names, or the default script of its language."""
    language, *tags = locale.split("-")
    usual = likely.get(language, "-?").split("-")[1]
    return next((tag for tag in tags if len(tag) == 4 and tag.isalpha()), usual)


def with_capitals(letters: set[str]) -> set[str]:
    return letters | {c.upper() for c in letters if len(c.upper()) == 1}


def is_kept(character: str) -> bool:
    """Whether a character is assigned and not an ideograph, a small or vertical form, or a small Cherokee letter."""
    name = unicodedata.name(character, "")
    if not name or name.startswith(("CJK UNIFIED", "YI ", "CHEROKEE SMALL")):
        return False
    return not unicodedata.decomposition(character).startswith(("<small>", "<vertical>"))


def collect(files: dict[str, Any]) -> dict[str, tuple[int, set[str]]]:
    """(writers, letters) of each script; "signs" contains the punctuation and digits of all scripts."""
    writers = count_writers(files["supplemental/territoryInfo.json"]["supplemental"]["territoryInfo"])
    likely = files["supplemental/likelySubtags.json"]["supplemental"]["likelySubtags"]
    by_script: Counter[str] = Counter()
    for tag, n in writers.items():
        by_script[script_of(tag, likely)] += n
    letters: dict[str, set[str]] = defaultdict(set)
    others: set[str] = set()
    for path, data in files.items():
        if not path.endswith("/characters.json"):
            continue
        locale = path.split("/")[1]
        language, script = locale.split("-")[0], script_of(locale, likely)
        n = writers[f"{language}-{script}"] + (writers[language] if script_of(language, likely) == script else 0)
        texts = data["main"][locale]["characters"]
        sets = {name: parse_set(text) for name, text in texts.items() if str(text).startswith("[")}
        if script in OFFICIAL:
            letters[script] |= with_capitals(sets.get("exemplarCharacters", set()))
        if by_script[script] <= MIN_WRITERS or script in EXCLUDED:
            continue
        if script not in BY_FREQUENCY and n > (MIN_WRITERS if script in LARGE else MIN_LETTER_WRITERS):
            letters[script] |= with_capitals(sets.get("exemplarCharacters", set()))
        if n > MIN_WRITERS:
            others |= sets.get("punctuation", set()) | sets.get("numbers", set())
    for script, ranges in ADDED.items():
        letters[script] |= {chr(code) for first, last in ranges for code in range(first, last + 1)}
    return {script: (by_script[script], found) for script, found in letters.items()} | {"signs": (0, others)}


def ranges(characters: set[str]) -> str:
    """Code points in hexadecimal: `41-5A 61`."""
    spans: list[list[int]] = []
    for code in sorted(map(ord, characters)):
        if spans and code == spans[-1][1] + 1:
            spans[-1][1] = code
        else:
            spans.append([code, code])
    return " ".join(f"{first:X}" if first == last else f"{first:X}-{last:X}" for first, last in spans)


def main() -> None:
    lines = ["script\twriters, thousands (CLDR)\tcode points"]
    for script, (n, found) in sorted(collect(read(sys.argv[1:])).items()):
        lines.append(f"{script}\t{n // 1000}\t{ranges({c for c in found if is_kept(c)})}")
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
