"""tools/default_vocab: the characters, words and generated text from which the default vocabulary is trained."""

from __future__ import annotations

import configparser
import json
import random
import re
import sys
import unicodedata
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools" / "default_vocab"))

import characters
import corpus
import exemplars
import generate
import generate_data
import generate_logs
import names
import sentences
import train
import unwanted
import weights
import zstandard

from pyunitok import Tokenizer


def test_every_letter_of_living_alphabets() -> None:
    required = {piece.decode() for piece in characters.characters()}
    texts = [
        "ÀÉĞıŁőßẠỵƙɓ", "ДжЄіїґЎҚңҰһ", "ΆέςΏὅῶῳ", "Աեօև", "אבגץ", "ابتپچکگیۓڈ", "अआइकखगघङ्ाि",
        "অআকখগৎ", "தமிழ்", "తెలుగు", "ಕನ್ನಡ", "മലയാളം", "ગુજરાતી", "ਪੰਜਾਬੀ", "ଓଡ଼ିଆ", "සිංහල",
        "ไทยกขฃค", "ລາວ", "ខ្មែរ", "မြန်မာ", "བོདཡིག", "ქართული", "አማርኛ", "ߒߞߏ", "ᱥᱟᱱᱛᱟᱲᱤ",
        "ᠮᠣᠩᠭᠣᠯ", "ꦗꦮ", "𞤀𞤣𞤤𞤢𞤥", "ⵜⵉⴼⵉⵏⴰⵖ", "ꯃꯤꯇꯩ", "ᏣᎳᎩ", "ᐃᓄᒃᑎᑐᑦ", "ㄱㅋㅠ", "ひらがなカタカナー",
        "ㄅㄆㄇ", "“”„«»…–—。、،؛؟।€₹₽",
    ]  # fmt: skip
    assert {c for text in texts for c in text if ord(c) > 0x7F} - required == set()


def test_large_and_historic_scripts_are_not_required() -> None:
    names = [unicodedata.name(piece.decode(), "") for piece in characters.characters()]
    for start in ("CJK UNIFIED", "HANGUL SYL", "YI ", "CHEROKEE SMALL", "COPTIC", "GOTHIC LETTER A"):
        assert not [name for name in names if name.startswith(start)]


def test_the_vocabulary_has_no_junk() -> None:
    """All required letters are pieces; no piece has unwanted words or project names, or spans sentences."""
    tok = Tokenizer.default()
    pieces = {tok.id_to_bytes(id_) for id_ in range(1, tok.vocab_size)}
    assert characters.characters() <= pieces
    for junk in (unwanted.is_unwanted, names.is_project, re.compile(rb"[.!?]\s*\n\s*[^\W\d_]").search):
        assert not [piece for piece in pieces if junk(piece)]


def test_cldr_sets() -> None:
    assert exemplars.parse_set(r"[a-c {ch} \- \u0301 \[ \\]") == {*"abch-[\\", "\u0301"}
    assert exemplars.with_capitals({"a", "ß"}) == {"a", "A", "ß"}
    assert exemplars.ranges({"a", "b", "c", "z"}) == "61-63 7A"


def test_generated_text_is_reproducible() -> None:
    first, second = (list(generate.sample(seed=3)) for _ in range(2))
    assert first == second
    assert {kind for kind, _ in first} == {"logs", "data", "csv", "notebook", "mail", "chat", "diff"}
    assert all(text.endswith("\n") and "{r." not in text for _, text in first)


def test_generated_formats_parse() -> None:
    r = random.Random(5)
    for _ in range(30):
        json.loads(generate_data.json_file(r))
        ElementTree.fromstring(generate_data.xml(r))
        configparser.RawConfigParser(strict=False).read_string(generate_data.unit_file(r))
    for text in generate.notebooks(r, ["x = 1\ny = 2\n" * 20], 20_000):
        assert json.loads(text)["nbformat"] == 4
    write = dict(generate_logs.LINES)
    rfc5424 = re.compile(r"<\d{1,3}>1 \S+T\S+ \S+ \S+ \S+ \S+ (-|\[.*\]) .+")
    for _ in range(100):
        assert rfc5424.fullmatch(write["RFC 5424"](r))
        assert re.fullmatch(r'\S+ - \S+ \[.*\] ".*" \d{3} \d+ ".*" ".*"', write["Apache and nginx: combined"](r))
        assert {"time", "level", "msg"} <= {*json.loads(write["Go log/slog: JSONHandler"](r))}


def test_only_sentences_follow_a_sentence_end() -> None:
    """Regression: a generator that capitalized random words led to pieces such as `.\\nBowl`."""
    text = "\n".join(text for kind, text in generate.sample() if kind in ("mail", "chat"))
    starts = {sentence.split()[0] for sentence in [*sentences.SENTENCES, *sentences.CHAT]}
    starts |= {"I", "Can", "We", "It", "See", "On", *" ".join(sentences.GREETINGS + sentences.CLOSINGS).split()}
    assert set(re.findall(r"\.\n+([A-Z]\w+)", text)) <= {re.split(r"\W", word)[0] for word in starts}


UNWANTED = """
.\\nFuck| sluts| porn| hitler|Hitler's| NIGGER|Motherfucker|_fucking_|(shit)| Scheiße|Scheißegal| Hurensöhne| putain|
 MIERDA| kurwa| spierdalaj| пизд|Пиздец| хуй| μαλάκας|siktir| कुतिया| चूतिया| শুধুচোদা চোদা| شرموطة| זונה|เย็ดแม่|你他妈的|
傻逼|おっぱい|개새끼들이| fanculo| vittu| kurva|PornHub|</b>cunt<| puta
"""
INNOCENT = """
 class| assess|Scunthorpe| cockpit| grape| Essex| therapist|Dickens| document| cumulative| hancock| analysis| assassin|
 cum| cu| con| hora| negro| nicht| was| din| hoe| fick| bitte| kar| sitt| laba| кот| педикюр| уебсайт|
 застрахуй| онлайн| лайнер| потребитель| podporný| shiitake| ассортимент| مني| لن| 妈妈的| 异性交往| 出口交货|
 パチンコ| ファックス| ヒエログリフ|
 5개년| 보지| แกงกะหรี่| title| constitution| button| Sussex| pushing| Matsushita| fu| uck| slu| sex|
 technique| xxx|nique|arse| pornit| 同性愛| צ'אנס| Kurve| Sodom| saß|aß
"""


def test_unwanted_words() -> None:
    for text in UNWANTED.replace("\n", "").split("|"):
        assert unwanted.is_unwanted(text.replace("\\n", "\n").encode()), text
    for text in INNOCENT.replace("\n", "").split("|"):
        assert not unwanted.is_unwanted(text.encode()), text
    assert not unwanted.is_unwanted(b"\xe5\x82")  # a prefix of a character


@pytest.fixture
def names_found(tmp_path: Path) -> frozenset[str]:
    """The names read from small imitations of the two packages."""
    faker, mimesis = tmp_path / "faker.whl", tmp_path / "mimesis.whl"
    with zipfile.ZipFile(faker, "w") as archive:
        path = "faker/providers/person/{}/__init__.py"
        archive.writestr(path.format("en_US"), 'first_names = {"Michael": 1, "Rose": 2}\nprefixes = ("Mister",)\n')
        archive.writestr(path.format("de_DE"), 'first_names = ("Konrad",)\nlast_names: tuple = ("Koch",)\n')
    with zipfile.ZipFile(mimesis, "w") as archive:
        person = {"names": {"male": ["Walter", "Famil", "Ali"]}, "surnames": ["Смирнов", "Newton"], "title": ["Herr"]}
        archive.writestr("mimesis/datasets/ru/person.json", json.dumps(person))
    return names.read_names([faker, mimesis])


def test_names_of_packages(names_found: frozenset[str]) -> None:
    expected = {"michael", "rose", "konrad", "walter", "famil", "смирнов", "bakunin"}
    assert names_found >= expected
    assert not names_found & {"mister", "koch", "ali", "newton", "herr"}


def test_names_that_are_ordinary_words_are_kept(names_found: frozenset[str]) -> None:
    text = b"a rose is a rose; my family, our families, a familiar family of Famil and Michael"
    assert names.ordinary_words(names_found, [text]) == {"rose", "famil"}


def test_pieces_with_names(names_found: frozenset[str]) -> None:
    found = names_found - {"rose"}
    for piece in (" Michael", ".\nMichael", " michael", "Michael", ', "Walter', " СМИРНОВ"):
        assert names.is_personal(piece.encode(), found), piece
    for piece in ("michael", " Rose", " Michaela", " newton", "\n"):  # without a space, a piece may end a longer word
        assert not names.is_personal(piece.encode(), found), piece


def test_pieces_with_projects() -> None:
    for text in (" Gtk", "gtk_", '="GTK', "GimpImage", " LibreOffice", "(RCT", "RCTView", "react_native", " Debian"):
        assert names.is_project(text.encode()), text
    for text in (" node", "three", " vue", "Widget", " native", " reaction", "background", " angular", "-webkit-"):
        assert not names.is_project(text.encode()), text


# ---------------------------------------------------------------------------------- text, weights, and allowed pieces


def store(folder: Path, kind: str, **texts: str) -> None:
    """Store one document of a kind for each source."""
    path = folder / "text" / "train" / f"{kind}.jsonl.zst"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [json.dumps({"source": source, "text": text}) + "\n" for source, text in texts.items()]
    path.write_bytes(zstandard.compress("".join(rows).encode()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    words = "".join(f"wort{k}\t{1 / (k + 1)}\n" for k in range(900))
    store(tmp_path, "words-de", wordfreq=words)
    manuals = "".join(f"Satz {k} der Anleitung.\n" for k in range(9000))
    store(tmp_path, "de", manuals=manuals, kolf="Der Ball rollt. " * 900)
    store(tmp_path, "tlh", manuals="".join(f"Qapla' {k}\n" for k in range(30)))
    return tmp_path


def test_the_parts_of_a_language(folder: Path) -> None:
    """The sources share the weight of the language. A word list is divided into three sources."""
    found = dict(corpus.language(folder, "de", set()))
    assert {*found} == {"de/words0.0", "de/words0.1", "de/words0.2", "de.other/manuals", "de.prose/kolf"}
    weight = {name: source.weight * len(source.documents.data) / 1e6 for name, source in found.items()}
    assert sum(weight.values()) == pytest.approx(weights.WEIGHT["de"])
    assert weight["de/words0.0"] > weight["de.prose/kolf"] > 0
    assert {name: source.damping for name, source in found.items()} == {
        name: 0 if "words" in name else corpus.DAMPING for name in found
    }
    assert not list(corpus.language(folder, "tlh", set()))  # there is too little text


def test_languages_are_those_with_text_or_words(folder: Path) -> None:
    store(folder, "words-zh", wordfreq="中\t1\n")
    for kind in ("code-c", "json", "emoji", "proper-de", "en_prose", "xml"):
        store(folder, kind, a="x")
    assert corpus.languages(folder) == ["de", "tlh", "zh", "zh_trad"]


def test_repeated_lines_are_dropped() -> None:
    text = b"A line that is long enough to count\nshort\n"
    documents = [corpus.Document("a", text), corpus.Document("b", text + b"All rights reserved.\n")]
    first, second = corpus.unique(documents, set())
    assert first.text.count(b"\n") == 2 and second.text == b"short\n"


def test_take_alternates_between_the_sources() -> None:
    documents = [corpus.Document("a", b"x" * 10)] * 50 + [corpus.Document("b", b"y" * 10)]
    assert [document.source for document in corpus.take(documents, 35)] == ["a", "b", "a", "a"]


def test_allowed_pieces() -> None:
    people = frozenset({"smith"})
    for piece in (b".\nBowl", b".\n\n  The", b'."\nShe', b" Smith", b"Smith,", b" Gtk", b"gtk_widget", b" Fuck"):
        assert not train.is_allowed(piece, people), piece
    for piece in (b". The", b";\n\treturn", b",\nand", b"smith", b"}\n\nvoid", b".\n\n", b" the"):
        assert train.is_allowed(piece, people), piece
