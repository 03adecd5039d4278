"""tools/default_vocab/sources.tsv: every row has an SPDX licence expression, and readers yield text."""

from __future__ import annotations

import csv
import json
import re
import struct
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "tools" / "default_vocab"
sys.path.insert(0, str(FOLDER))
import file_readers  # type: ignore[import-not-found, unused-ignore]  # noqa: E402
import hunspell  # type: ignore[import-not-found, unused-ignore]  # noqa: E402
import lists  # type: ignore[import-not-found, unused-ignore]  # noqa: E402
import sources  # type: ignore[import-not-found, unused-ignore]  # noqa: E402

sys.path.remove(str(FOLDER))

IDENTIFIERS = """0BSD Apache-2.0 blessing BSD-2-Clause BSD-3-Clause BSD-4-Clause-UC BSL-1.0 CC-BY-3.0 CC-BY-4.0
    CC-BY-SA-2.0 CC-BY-SA-3.0 CC-BY-SA-4.0 CC0-1.0 CPL-1.0 EPL-1.0 FSFULLRWD GFDL-1.1-no-invariants-or-later
    GFDL-1.2-no-invariants-only GFDL-1.2-no-invariants-or-later GFDL-1.3-no-invariants-or-later GPL-1.0-or-later
    GPL-2.0-only GPL-2.0-or-later GPL-3.0-only GPL-3.0-or-later ISC LGPL-2.0-only LGPL-2.0-or-later LGPL-2.1-only
    LGPL-2.1-or-later LGPL-3.0-only LGPL-3.0-or-later Linux-man-pages-copyleft Linux-man-pages-copyleft-2-para
    LPPL-1.3c MIT MPL-1.1 MPL-2.0 PDDL-1.0 PostgreSQL PSF-2.0 Ruby TCL Unicode-DFS-2016 Vim Zlib
    LicenseRef-GNU-manual LicenseRef-IEL LicenseRef-Lebedev LicenseRef-public-domain LicenseRef-SCOWL"""
EXCEPTIONS = {
    "Autoconf-exception-generic-3.0", "Classpath-exception-2.0", "Independent-modules-exception",
    "OCaml-LGPL-linking-exception",
}  # fmt: skip


def valid(expression: str) -> bool:
    """Whether this is an SPDX expression: licences, with exceptions, joined by AND and OR, possibly in parentheses."""
    words = re.findall(r"[()]|[^\s()]+", expression)

    def operand(at: int) -> int:
        if words[at] == "(":
            end = joined(at + 1)
            return end + 1 if words[end] == ")" else -len(words)
        if words[at] not in IDENTIFIERS.split():
            raise ValueError(words[at])
        if words[at + 1 : at + 2] == ["WITH"]:
            if words[at + 2] not in EXCEPTIONS:
                raise ValueError(words[at + 2])
            return at + 3
        return at + 1

    def joined(at: int) -> int:
        at = operand(at)
        while words[at : at + 1] in (["AND"], ["OR"]):
            at = operand(at + 1)
        return at

    try:
        return joined(0) == len(words)
    except (IndexError, ValueError):
        return False


def rows() -> list[dict[str, str]]:
    with (FOLDER / "sources.tsv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_expressions() -> None:
    assert valid("MIT") and valid("GPL-2.0-only WITH Classpath-exception-2.0 AND (MIT OR Apache-2.0)")
    for wrong in ("", "GPL-3.0+ and others", "MIT AND", "(MIT", "MIT WITH Zlib", "GPL-2.0", "MIT, data CC-BY-4.0"):
        assert not valid(wrong), wrong


def test_every_source_names_its_licence() -> None:
    """Regression: 33 rows had terms such as "GPL-3.0+ and others" and "parts MIT"."""
    assert {row["package"]: row["licence"] for row in rows() if not valid(row["licence"])} == {}
    assert len({(row["registry"], row["package"]) for row in rows()}) == len(rows())


def test_sources_to_credit_are_credited() -> None:
    """NOTICE lists the sources whose licence requires attribution: CC BY and CC BY-SA."""
    notice = (FOLDER.parents[1] / "NOTICE").read_text(encoding="utf-8")
    credits = ("wordfreq", "SUBTLEX", "FontVibe", "GeoNames", "no frequencies", "OpenSubtitles")
    assert [name for name in credits if name not in notice] == []


@pytest.mark.parametrize(
    ("path", "kind", "found"),
    [("/pt_BR.mo", "", "pt"), ("/nb.mo", "words-*", "words-no"), ("/sr@latin.mo", "words-*", "words-sr_latin"),
     ("/pt_BR.mo", "en", "en")],
)  # fmt: skip
def test_kind_of_a_file(path: str, kind: str, found: str) -> None:
    """A `*` in a rule's kind stands for the language."""
    pattern = re.compile(r"/(?P<lang>[\w@]+)\.mo$")
    match = pattern.search(path)
    assert match and sources.Rule(pattern, "catalogue", kind).kind_of(match) == found


def test_rules_are_complete() -> None:
    """Each rule names an existing reader, and has a kind or a group `lang`."""
    known = {*file_readers.READERS, *lists.READERS, *hunspell.READERS}
    for source in sources.read_table():
        for rule in source.rules:
            assert rule.reader in known, (source.package, rule.reader)
            assert "lang" in rule.pattern.groupindex or (rule.kind and "*" not in rule.kind), source.package


def test_hunspell() -> None:
    aff = "SET UTF-8\nNEEDAFFIX X\nNOSUGGEST !\nPFX U Y 1\nPFX U 0 un .\nSFX V Y 2\nSFX V e ive e\nSFX V 0 ive [^e]\n"
    dic = "4\ncreate/UV\nelect/V\nwoll/XU\nbad/!\n"
    words = dict(line.split("\t") for line in hunspell.read(aff.encode(), dic.encode()).splitlines())
    assert {*words} == {"create", "uncreate", "creative", "uncreative", "elect", "elective", "unwoll"}
    assert words["create"] == "0.5"


def compiled(strings: dict[str, str]) -> bytes:
    """A gettext catalogue as msgfmt writes it."""
    rows = [("", "Content-Type: text/plain; charset=UTF-8\n"), *sorted(strings.items())]
    encoded = [(key.encode(), value.encode()) for key, value in rows]
    heads, at, body = b"", 28 + 16 * len(rows), b""
    for side in (0, 1):
        for row in encoded:
            heads += struct.pack("<II", len(row[side]), at + len(body))
            body += row[side] + b"\0"
    return struct.pack("<7I", 0x950412DE, 0, len(rows), 28, 28 + 8 * len(rows), 0, 0) + heads + body


def test_links_in_a_catalogue_become_their_text() -> None:
    """Wesnoth's help contains links of the form `dst='place' text='words'` between tags."""
    data = compiled({"a <b>town</b>": "eine <b>Stadt</b>",
                     "see <ref>dst='x' text='Elves'</ref>": "siehe <ref>dst='x' text='Elfen'</ref>"})  # fmt: skip
    assert file_readers.READERS["catalogue"](data) == "eine Stadt\nsiehe Elfen"
    assert file_readers.READERS["source_strings"](data).splitlines()[-1] == "see Elves"


def test_sentences_of_a_catalogue() -> None:
    """Names, menus and sentences with variables are skipped."""
    data = compiled({
        "Open": "Öffnen", "Nobody here has seen the old king for years.": "Niemand hier hat den alten König gesehen.",
        "You have %d pieces of gold in your pocket, sir.": "Ihr habt %d Stücke Gold in Eurer Tasche, mein Herr.",
    })  # fmt: skip
    assert file_readers.READERS["sentences"](data) == "Niemand hier hat den alten König gesehen."
    assert file_readers.READERS["source_sentences"](data) == "Nobody here has seen the old king for years."


@pytest.mark.parametrize(
    ("reader", "data", "text"),
    [
        ("messages", json.dumps({"@a": {}, "b": "[[Help:X|Help]] for {{PLURAL:$1|page|pages}}"}), "Help for pages"),
        ("properties", "# no\na.b=Ein \\\n  Schiff %unit%\n", "Ein Schiff "),
        ("quoted", 'x "a b c" y\n`d e f`\n"short"\n', "a b c\nd e f"),
        ("entries", "%%%%\nrat\n\nA grey\nanimal with teeth.\n%%%%\nx\n\n{{ 1 }}\n", "A grey animal with teeth."),
        ("paragraphs", "<h1>Rules of the game</h1><p>The <b>king</b> moves one square in any direction.</p>",
         "The king moves one square in any direction."),
        ("signs", "arch sign\nmsg\n@match *\nThe old gate is closed.\nendmsg\nx 3\n", "The old gate is closed."),
        ("dialogues", 'dialogId("a", "b", "Hello")\ndialogStr("Hallo, du")\n', "Hallo, du"),
    ],
)
def test_readers(reader: str, data: str, text: str) -> None:
    assert file_readers.READERS[reader](data.encode()) == text
