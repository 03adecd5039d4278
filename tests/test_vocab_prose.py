"""tools/default_vocab: word lists, and the text generated from them."""

from __future__ import annotations

import gzip
import random
import re
import statistics
import subprocess
import sys
from collections import Counter
from pathlib import Path

import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools" / "default_vocab"))

import hunspell
import lists
import prose
import sources

TOOLS = Path(__file__).resolve().parents[1] / "tools" / "default_vocab"

WORDS = [(f"{a}{b}{c}", 1 / (a_index + 1)) for a_index, a in enumerate("kmt") for b in "aeo" for c in "ln"]


def words_of(text: str) -> list[str]:
    return re.findall(r"[\w]+", text)


def test_counts_follow_frequencies() -> None:
    counts = Counter(word.lower() for word in words_of(prose.prose(WORDS, 10_000, "en")))
    total = sum(frequency for _, frequency in WORDS)
    for word, frequency in WORDS:
        assert abs(counts[word] - 10_000 * frequency / total) < 1
    assert sum(counts.values()) == 10_000


def test_rare_words_are_sampled_evenly() -> None:
    rare = [(f"w{i}", 1.0) for i in range(1000)]
    found = prose.sample(rare, 100, 0.5)
    assert len(found) == 100
    assert {int(word[1:]) // 10 for word in found} == set(range(100))
    assert prose.sample([("a", 0.0)], 10, 0.5) == []


def test_sentences() -> None:
    text = prose.prose(WORDS, 50_000, "en")
    sentences = re.findall(r"[^.?!…\n]+[.?!…:]+", text)
    lengths = [len(words_of(sentence)) for sentence in sentences]
    assert 13 < statistics.mean(lengths) < 18
    assert min(lengths) >= 3
    assert all(sentence.strip(' "“”(')[0].isupper() for sentence in sentences)
    assert 10 < 50_000 / text.count(",") < 14
    paragraphs = text.splitlines()
    assert all(paragraph[-1] in '.?!…:"”)' and not paragraph.startswith(" ") for paragraph in paragraphs)
    assert 2.5 < len(sentences) / len(paragraphs) < 4.5


def test_capitals_of_proper_words() -> None:
    words = [("haus", 1.0), ("und", 5.0), ("nato", 1.0)]
    counts = Counter(words_of(prose.prose(words, 7000, "de", {"Haus", "NATO"})))
    assert (counts["Haus"], counts["haus"], counts["NATO"], counts["nato"]) == (1000, 0, 1000, 0)
    assert counts["und"] > 4000
    assert {"I", "I'm"} == set(prose.prose([("i", 1.0), ("i'm", 1.0)], 50, "en").strip(".").split()[1:3]) | {"I", "I'm"}
    assert not re.search(r"\bi\b", prose.prose([("i", 1.0), ("am", 1.0)], 500, "en"))
    assert "Türkiye'de" in prose.prose([("türkiye'de", 1.0), ("ve", 1.0)], 50, "tr")
    assert prose.capitalized("iyi", "tr") == "İyi"
    assert prose.capitalized("ქართული", "ka") == "ქართული"


def test_german_compounds_are_nouns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prose, "COMPOUNDED", 3)
    words = [("arbeit", 1.0), ("haus", 1.0), ("besonderheim", 1.0), ("arbeitszimmer", 1.0), ("unzimmer", 1.0)]
    counts = Counter(words_of(prose.prose(words, 5000, "de", {"Arbeit", "Haus", "Zimmer", "Sonderheim"})))
    assert (counts["Arbeitszimmer"], counts["arbeitszimmer"]) == (1000, 0)
    assert counts["besonderheim"] > 900  # frequent
    assert counts["unzimmer"] > 900  # "un" is not a word


def test_languages_without_spaces() -> None:
    text = prose.prose([("中国", 3.0), ("的", 5.0), ("人", 2.0), ("ok", 0.2)], 5000, "zh")
    assert {"，", "。", "？", "！"} <= set(text)
    assert not re.search(r"[^\x00-\x7f] +[^\x00-\x7f]", text)
    assert not re.search(r"[.,?!;]", text)
    assert re.search("[一-鿿] ok [一-鿿]", text)
    thai = prose.prose([("ที่", 1.0), ("การ", 1.0)], 2000, "th")
    assert " " in thai and not re.search(r"[.,。]", thai)


@pytest.mark.parametrize(
    ("language", "there", "missing"),
    [
        ("ar", "،؟", ",?"), ("ur", "۔،؟", ".,"), ("hi", "।,?", "."), ("bn", "।", "."), ("el", ";.", "?"),
        ("es", "¿?¡!", ""), ("am", "።፣", ".,"), ("ja", "、。「」", ",.，"), ("zh_trad", "，。「」", ",."),
        ("hy", "։՞", ".?"), ("ru", "«»—", "“”"), ("de", "„“", "”"), ("km", "។", "."), ("my", "။၊", ".,"),
    ],
)  # fmt: skip
def test_marks_of_languages(language: str, there: str, missing: str) -> None:
    text = prose.prose([("ка", 1.0), ("ма", 1.0)], 20_000, language)
    assert set(there) <= set(text)
    assert not set(missing) & set(text)


def test_elision() -> None:
    words = [("l", 2.0), ("d", 1.0), ("homme", 2.0), ("eau", 2.0), ("le", 3.0), ("chat", 3.0)]
    text = prose.prose(words, 1300, "fr").lower()
    assert len(re.findall("\\bl['’](homme|eau)\\b", text)) == 200
    assert len(re.findall("\\bd['’](homme|eau)\\b", text)) == 100
    assert not re.search("\\b[ld]\\b(?!['’])", text)
    assert {"'", "’"} <= set(text)
    assert re.search("[\u00a0\u202f ][?!:;]", text)


def test_korean_particles_follow_words() -> None:
    text = prose.prose([("나라", 1.0), ("는", 1.0)], 200, "ko")
    assert text.count("나라는") > 40


def test_numbers() -> None:
    text = prose.prose([("0000", 1.0), ("00", 1.0), ("0,000", 1.0), ("5", 1.0), ("7.0", 1.0)], 5000, "en")
    assert not re.search(r"(?<![\d,.])0\d", text)
    assert len(set(re.findall(r"\b\d\d\b", text))) == 90
    assert sum(1900 <= int(year) < 2030 for year in re.findall(r"\b\d{4}\b", text)) > 700
    assert len(set(re.findall(r"\b[1-9],\d{3}\b", text))) > 500
    for date in re.findall(r"[\d.]+\d", prose.prose([("00.0.0000", 1.0)], 100, "de")):
        assert re.fullmatch(r"[012]\d\.[1-9]\.(19|20)\d\d", date)


def test_generated_text_is_reproducible() -> None:
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); import prose, hashlib;"
        "words = [(w, 1.0) for w in 'l homme eau le chat ami 00'.split()];"
        "print(hashlib.sha256(prose.prose(words, 3000, 'fr', {'Ami', 'Eau', 'EAU'}).encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", script, TOOLS], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1
    assert prose.prose(WORDS, 100, "en", seed=1) != prose.prose(WORDS, 100, "en", seed=2)
    assert prose.prose([], 100, "en") == ""


def test_readers_of_lists() -> None:
    data = gzip.compress(msgspec.msgpack.encode([{"format": "cB"}, [], ["the"], ["of", "and"]]))
    assert lists.rows(lists.wordfreq(data)) == [("the", 0.9772), ("and", 0.955), ("of", 0.955)]
    assert lists.counts("的 300 uj\n人 5 n\n稀 2 n\n".encode()) == "的\t300\n人\t5\n"
    assert lists.counts("ที่\t818364\nword\n".encode()) == "ที่\t8.184e+05\n"
    assert lists.proper(b"Haus\nWill\nwill\nnie\nNATO\nX\nA1\n") == "Haus\nNATO\n"
    assert lists.proper("Århus\n".encode("latin-1")) == "Århus\n"


def test_proper_nouns_of_hunspell() -> None:
    aff = b"SET UTF-8\nSFX S Y 1\nSFX S 0 s .\nSFX A Y 1\nSFX A o a o\n"
    dic = b"5\nBerlin/S\nMark\nmark/S\nSegura\nseguro/A\nUSA\n"
    assert hunspell.proper(aff, dic) == "Berlin\nBerlins\nUSA\n"
    assert lists.rows(hunspell.read(aff, dic))[:2] == [("Berlin", 0.5), ("Berlins", 0.5)]


def test_traditional_characters() -> None:
    tables = [lists.opencc("# OpenCC\n发\t發 髮\n头\t頭\n为\t爲\n".encode()), lists.opencc("头发\t頭髮\n".encode())]
    words = [("头发", 2.0), ("发", 1.0), ("为了", 1.0)]
    assert list(lists.traditional(words, tables, ["爲\t為\n"])) == [("頭髮", 2.0), ("發", 1.0), ("為了", 1.0)]


def test_each_wordfreq_language_is_read_once() -> None:
    rules = next(source.rules for source in sources.read_table() if source.package == "wordfreq")
    lists_there = ("large_de", "small_de", "small_vi", "large_nb", "small_fil")
    names = [f"/wordfreq/data/{name}.msgpack.gz" for name in lists_there]
    kinds = [rule.kind_of(match) for name in names for rule in rules if (match := rule.pattern.search(name))]
    assert kinds == ["words-de", "words-vi", "words-no", "words-tl"]
    assert lists.is_whole("words-de") and lists.is_whole("proper-de") and not lists.is_whole("de")


def test_prose_does_not_use_the_global_random_state() -> None:
    state = random.getstate()
    prose.prose(WORDS, 1000, "en")
    assert random.getstate() == state
