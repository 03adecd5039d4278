"""Segments Japanese words: decides how many of the hiragana after kanji belong to the word.

    run          食べました   食べたから   日本語の    静かに   美しい    見ることが
    word | rest  食べました   食べた|から  日本語|の   静か|に  美しい    見る|ことが

Japanese does not mark the ends of words, so they are inferred from frequencies in the corpus. Katakana words and kanji
compounds are mostly nouns, so the hiragana after them are mostly particles. A hiragana belongs to the word if it
follows the previous characters of the word much more often than it follows nouns: べ after 食, but not の after 日本語.
Some words follow both nouns and verbs (こと, から, という); a word always ends before these. A dictionary would be more
accurate, but it would add a dependency and lack new words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

Run = tuple[str, int]  # (text, count): kanji or katakana with the hiragana after them, or only hiragana

RUNS = (  # a pattern for the regex package; the script of long-vowel marks is Common
    r"(?:\p{Script=Han}[\p{Script=Han}\p{Script=Inherited}]*+"
    r"|\p{Script=Katakana}[\p{Script=Katakana}\p{Script=Inherited}\u30fc\uff70]*+)"
    r"\p{Script=Hiragana}*+|\p{Script=Hiragana}[\p{Script=Hiragana}\p{Script=Inherited}\u30fc]*+"
)
MAX_RUNS = 1 << 20  # only the most frequent runs are divided; the others hardly change the result
MAX_ENDING = 8  # the maximum number of hiragana in a word that begins with kanji
# A hiragana belongs to a word if it follows the word more than this many times as often as it follows nouns.
FACTOR = 4.0
PRIOR = 2.0  # smoothing: adds this many occurrences of each word, with the average endings of kanji
# A final particle belongs to a word if it follows at least this share of the word's occurrences: 特に, but not 父は.
MOSTLY = 0.6
PARTICLES = "はがのにへともでやか"

# Separate words that follow nouns, verbs and adjectives alike, and separate words that follow て.
_FOLLOWING = re.compile(
    "こと|もの|とき|ところ|ため|ので|のに|のは|のが|のを|のも|のだ|のです|けれど|けど|から|まで|より|ほど|だけ|ばかり"
    "|など|です|でしょ|でし|だろ|という|といっ|とは|とも|ように|ような|ようで|ようだ|はず|わけ|つもり|うち|まま|たび"
    "|ほう|そう|みたい|らし|くらい|ぐらい|かも|かどう|しか|さえ|ながら|には|では|とか|なら"
)
_AFTER_TE = re.compile(
    "いる|いた|いて|いま|いな|いく|いっ|おり|おき|おく|しま|くる|くれ|くだ|みる|みた|もら|ある|あっ|あり|あげ|きた|きま"
    "|から|は|も"
)
_REST = re.compile(f"[をなだ{PARTICLES}]|{_FOLLOWING.pattern}")
_KANJI = re.compile("[\u3005-\u3007\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_PARTS = re.compile("([^\u3041-\u309f]*)([\u3041-\u309f\u30fc]*)")


def divide(runs: Iterable[Run]) -> Iterator[Run]:
    """The words in the runs, and the particles after them, with counts. A word may be returned more than once.

    Runs that are not Japanese are returned unchanged.
    """
    parted = [(*_parts(run), times) for run, times in runs]
    endings = Endings(parted)
    for stem, kana, times in parted:
        n = endings.size(stem, kana) if _is_kanji(stem) else 0
        if stem:
            yield stem + kana[:n], times
        if kana[n:] and (not stem or _REST.match(kana, n)):
            yield kana[n:], times


def _parts(run: str) -> tuple[str, str]:
    match = _PARTS.fullmatch(run)
    return (match[1], match[2]) if match else (run, "")


def _is_katakana(stem: str) -> bool:
    return "\u30a0" <= stem[:1] <= "\u30ff" or "\uff66" <= stem[:1] <= "\uff9f"


def _is_kanji(stem: str) -> bool:
    return _KANJI.match(stem) is not None


class Endings:
    """Decides how many hiragana belong to a word. Built from (stem, hiragana after the stem, count)."""

    def __init__(self, parted: Iterable[tuple[str, str, int]]) -> None:
        # Counts of the first hiragana, and of the first two, after nouns and after single kanji.
        nouns, kanji = Counter[str](), Counter[str]()
        self._prefixes = Counter[str]()  # counts of the prefixes of runs; "$" marks the end of a run
        for stem, kana, times in parted:
            if not _is_kanji(stem) and not _is_katakana(stem):
                continue
            after = kana + "$"
            if len(stem) > 1:  # kanji or katakana; a single kanji is as often a verb as a noun
                nouns[after[:1]] += times
                nouns[after[:2]] += times
            elif _is_kanji(stem):
                kanji[after[:1]] += times
                kanji[after[:2]] += times
            for n in range(min(len(after), MAX_ENDING + 2) + 1 if _is_kanji(stem) else 0):
                self._prefixes[stem + after[:n]] += times
        n_nouns, n_kanji = max(1.0, nouns.total() / 2), max(1.0, kanji.total() / 2)
        self._least = 1 / (1 + n_nouns)
        self._of_nouns = {first: times / n_nouns for first, times in nouns.items()}
        self._of_kanji = {first: times / n_kanji for first, times in kanji.items()}

    def size(self, stem: str, kana: str) -> int:
        """The number of hiragana that belong to the word that begins with these kanji."""
        n = 0
        while n < min(len(kana), MAX_ENDING) and self._belongs(stem, kana, n):
            n += 1
        return n

    def _belongs(self, stem: str, kana: str, n: int) -> bool:
        following, word = kana[n], stem + kana[:n]
        if following == "を":
            return False
        if n and (_FOLLOWING.match(kana, n) or (word[-1] in "てで" and _AFTER_TE.match(kana, n))):
            return False
        both = (kana + "$")[n : n + 2]  # the し shows that the ま in 食べました does not begin まで
        if following not in PARTICLES:
            return self._is_own(word, following) or self._is_own(word, both)
        if n and not (following == "で" and word[-1] in "んい") and following not in "がか":
            return False
        if both[1] == "$" and self._prefixes[word + following] < MOSTLY * self._prefixes[word]:
            return False
        return self._is_own(word, both)

    def _is_own(self, word: str, following: str) -> bool:
        """Whether `following` occurs after the word much more often than after nouns."""
        seen = self._prefixes[word + following] + PRIOR * self._of_kanji.get(following, 0.0)
        share = seen / (self._prefixes[word] + PRIOR)
        return share > FACTOR * max(self._least, self._of_nouns.get(following, 0.0))
