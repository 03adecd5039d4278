"""Words of Japanese: which of the hiragana after kanji are part of the word.

    run          食べました   食べたから   日本語の    静かに   美しい    見ることが
    word | rest  食べました   食べた|から  日本語|の   静か|に  美しい    見る|ことが

Nothing marks where a word ends, so it is found in how often things follow each other in the corpus. What follows nouns
is known from katakana words and from compounds of kanji: particles, mostly. A hiragana belongs to the word if it comes
after the word so far much more often than after nouns: べ after 食, but not の after 日本語. Nouns and verbs are also
followed by some of the same words (こと, から, という); a word ends before those. A dictionary knows more, but it would
have to be installed, and knows no new words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

Run = tuple[str, int]  # kanji or katakana and the hiragana after them, or hiragana, and how often they occur

RUNS = (  # a pattern for the package regex; long vowels are Common in Unicode
    r"(?:\p{Script=Han}[\p{Script=Han}\p{Script=Inherited}]*+"
    r"|\p{Script=Katakana}[\p{Script=Katakana}\p{Script=Inherited}\u30fc\uff70]*+)"
    r"\p{Script=Hiragana}*+|\p{Script=Hiragana}[\p{Script=Hiragana}\p{Script=Inherited}\u30fc]*+"
)
MAX_RUNS = 1 << 20  # to divide, the most frequent ones; the others hardly change what is found
MAX_ENDING = 8  # hiragana in a word that begins with kanji
FACTOR = 4.0  # how much more often than after nouns
PRIOR = 2.0  # as if every word had been seen so many times with the endings that all kanji have
MOSTLY = 0.6  # a word that ends with what may be a particle is followed by it so often: 特に, but not 父は
PARTICLES = "はがのにへともでやか"

# Words of their own after nouns, verbs and adjectives alike; and after て.
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
    """The words of the runs, and the particles after them, each as often as they occur; the same may come twice.

    What is no run of Japanese stays as it is.
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
    """Decides how many hiragana belong to a word. Made of stems, the hiragana after them, and how often they occur."""

    def __init__(self, parted: Iterable[tuple[str, str, int]]) -> None:
        nouns, kanji = Counter[str](), Counter[str]()  # the first one and two hiragana after nouns, and after kanji
        self._prefixes = Counter[str]()  # how often runs begin with a string; "$" is the end of one
        for stem, kana, times in parted:
            if not _is_kanji(stem) and not _is_katakana(stem):
                continue
            after = kana + "$"
            if len(stem) > 1:  # also katakana; one kanji is as often a verb as a noun
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
        """How many of the hiragana are part of the word that begins with these kanji."""
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
        both = (kana + "$")[n : n + 2]  # ま in 食べました is known by the し, not being まで
        if following not in PARTICLES:
            return self._is_own(word, following) or self._is_own(word, both)
        if n and not (following == "で" and word[-1] in "んい") and following not in "がか":
            return False
        if both[1] == "$" and self._prefixes[word + following] < MOSTLY * self._prefixes[word]:
            return False
        return self._is_own(word, both)

    def _is_own(self, word: str, following: str) -> bool:
        """Whether the word is followed by this much more often than nouns are."""
        seen = self._prefixes[word + following] + PRIOR * self._of_kanji.get(following, 0.0)
        share = seen / (self._prefixes[word] + PRIOR)
        return share > FACTOR * max(self._least, self._of_nouns.get(following, 0.0))
