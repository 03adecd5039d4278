"""Turns a word list with frequencies into running text with realistic capitals, digits and punctuation.

    prose(words, 1_000_000, "de", proper)

Each word occurs as often as its frequency implies, rounded up or down, so there is no sampling noise; only the order is
random. The tables below describe how languages differ in marks, quotes, spaces and elision.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Set
from itertools import accumulate
from typing import NamedTuple

MEAN_COMMAS = 11  # mean number of words between commas
MAX_PARAGRAPH = 6  # sentences
YEARS = (1900, 2029)
COMPOUNDED = 20_000  # how many frequent words may begin German compounds; they are not compounds themselves
# wordfreq writes each digit of a number with several digits as 0.
_DATE = re.compile(r"(0{1,2})([./-])(0{1,2})\2(0000|00)")
_ZEROS = re.compile(r"0{2,}|0(?=[.,:/-]0)|(?<=0[.,:/-])0")
_VOWEL = frozenset("aeiouyhàáâäæèéêëìíîïòóôöœùúûü")


class Style(NamedTuple):
    """How a language joins words and sentences. A mark includes the space before it."""

    space: str = " "  # between words
    gap: str = " "  # between sentences
    stop: str = "."
    comma: str = ","
    question: str = "?"
    exclamation: str = "!"
    colon: str = ":"
    semicolon: str = ";"
    ellipsis: str = "…"
    dash: str = " –"
    quotes: tuple[tuple[str, str], ...] = (("“", "”"), ('"', '"'))
    brackets: tuple[str, str] = ("(", ")")
    openers: tuple[str, str] = ("", "")  # before a question, before an exclamation
    commas: int = MEAN_COMMAS


def _quotes(*pairs: str) -> tuple[tuple[str, str], ...]:
    """Parse pairs such as `„_“`, and add straight quotes, which are as frequent on the web as typographic ones."""
    return (*((pair.split("_")[0], pair.split("_")[1]) for pair in pairs), ('"', '"'))


_CJK = Style("", "", "。", "，", "？", "！", "：", "；", "……", "——", (("“", "”"),), ("（", "）"))
_ARABIC = Style(comma="،", question="؟", semicolon="؛", quotes=_quotes("«_»", "“_”"))
_DANDA = Style(stop="।")
_ETHIOPIC = Style(stop="።", comma="፣", semicolon="፤", colon="፦", quotes=_quotes("«_»", "“_”"))
_THAI = Style("", " ", "", " ", quotes=_quotes("“_”"), commas=6, colon=" ", semicolon=" ", dash=" ")
_LOW = Style(quotes=_quotes("„_“"))
_LOW_HIGH = Style(quotes=_quotes("„_”"))
_ANGLES = Style(quotes=_quotes("«_»", "“_”"))
_RUSSIAN = Style(quotes=_quotes("«_»"), dash=" —")
_FRENCH = Style(quotes=(("«\u00a0", "\u00a0»"), ("« ", " »"), ("“", "”"), ('"', '"')))
_TIBETAN = Style("་", " ", "།", "། ", "།", "།", "།", "།", "།", " ", _quotes("“_”"))
STYLES: dict[str, Style] = {
    "zh": _CJK,
    "zh_trad": _CJK._replace(quotes=(("「", "」"), ("「", "」"), ("『", "』"), ("“", "”"))),
    "ja": _CJK._replace(comma="、", dash="―", quotes=(("「", "」"), ("「", "」"), ("『", "』"))),
    "ko": Style(quotes=_quotes("“_”", "‘_’"), ellipsis="..."),
    "th": _THAI,
    "lo": _THAI,
    "km": _THAI._replace(stop="។", quotes=_quotes("«_»", "“_”")),
    "my": _THAI._replace(stop="။", comma="၊ ", question="။", exclamation="။"),
    "bo": _TIBETAN,
    "dz": _TIBETAN,
    **dict.fromkeys(["ar", "fa", "ps", "ckb", "ug", "sd", "arz", "azb"], _ARABIC),
    "ur": _ARABIC._replace(stop="۔", quotes=_quotes("“_”")),
    **dict.fromkeys(["hi", "bn", "as", "ne", "or", "pa", "sa", "mai", "bho"], _DANDA),
    **dict.fromkeys(["am", "ti", "gez"], _ETHIOPIC),
    "hy": Style(stop="։", question="՞։", exclamation="՜։", semicolon="․", colon="՝", quotes=_quotes("«_»")),
    "el": Style(question=";", semicolon="·", quotes=_quotes("«_»")),
    **dict.fromkeys(["de", "cs", "sk", "sl", "bg", "is", "lt", "ka", "et", "hr", "bs", "mk", "hsb"], _LOW),
    **dict.fromkeys(["pl", "ro", "hu", "sr", "sh", "sr_latin", "nl"], _LOW_HIGH),
    **dict.fromkeys(["it", "no", "nn", "pt", "ca", "gl", "eu", "sq", "az", "lv"], _ANGLES),
    "es": _ANGLES._replace(openers=("¿", "¡")),
    "ast": _ANGLES._replace(openers=("¿", "¡")),
    **dict.fromkeys(["ru", "uk", "be", "kk", "ky", "tt", "mn", "uz_cyrl", "tg", "ba"], _RUSSIAN),
    "fr": _FRENCH,
    **dict.fromkeys(["sv", "fi"], Style(quotes=_quotes("”_”"))),
    "da": Style(quotes=_quotes("»_«", "”_”")),
    "he": Style(quotes=_quotes('"_"')),
    "yi": Style(quotes=_quotes("„_“")),
}
FRENCH_SPACES = ["\u00a0", "\u00a0", "\u202f", " ", ""]  # before ? ! : ; on web pages
ELISION = {  # tokens that wordfreq separates; they are joined to words that begin with a vowel
    "fr": {"l", "d", "c", "qu", "j", "n", "s", "m", "t", "jusqu", "lorsqu", "puisqu", "quelqu"},
    "it": {"l", "d", "c", "dell", "all", "nell", "sull", "dall", "quest", "quell", "s", "m", "t"},
    "ca": {"l", "d", "s", "m", "t", "n"},
}
# Korean particles and endings, which wordfreq separates; they are joined to the preceding word.
_KOREAN_LIST = """
이 는 을 에 다 의 고 은 가 를 들 도 어 게 에서 으로 로 지 었 아 과 기 와 적 만 거 습니다 니 지만 겠 는데 야
에게 라고 며 까지 세요 다고 면서 부터 라는 어서 다는 으면 죠 니까 된다 아요 네요 해요 으며 한테 처럼 는지 았
였 님 씨 던 면 요 여 자 합니다 한다 했 하 하고 하는 되 된 될 됩니다 보다 마다 조차 이나 랑 이랑 ㅂ니다 어요
어야 아서 려고 도록 거나 든지 군요 네 인 일 입니다
"""
_KOREAN = frozenset(_KOREAN_LIST.split())
_ENDS = ("stop",) * 88 + ("question",) * 6 + ("exclamation",) * 4 + ("ellipsis", "colon")
_MARKS = ("comma",) * 88 + ("dash",) * 5 + ("semicolon",) * 3 + ("colon",) * 4


def sample(words: Iterable[tuple[str, float]], n_words: int, start: float) -> list[str]:
    """Repeat each word floor(c) or ceil(c) times; c is its share of n_words. 0 <= start < 1 decides the rounding."""
    rows = [(word, frequency) for word, frequency in words if word and frequency > 0]
    if not rows:
        return []
    total = sum(frequency for _, frequency in rows)
    ret: list[str] = []
    done = 0
    for (word, _), up_to in zip(rows, accumulate(f * n_words / total for _, f in rows), strict=True):
        count = min(int(up_to + start), n_words) - done
        if count > 0:
            ret += [word] * count
            done += count
    return ret


def prose(
    words: Iterable[tuple[str, float]], n_words: int, language: str, proper: Set[str] = frozenset(), seed: int = 1
) -> str:
    """A text of n_words words in paragraphs. Words are capitalized as in `proper`."""
    rng = random.Random(f"{seed} {language}")
    capital = {word.lower(): word for word in sorted(proper)}  # "Nato" sorts after "NATO", so the usual form wins
    rows = [(capital.get(word) or _capital_always(word, language), frequency) for word, frequency in words]
    if language == "de":
        rows = _with_compounds(rows, capital)
    tokens = sample(rows, n_words, rng.random())
    rng.shuffle(tokens)
    tokens = _joined(tokens, language, rng)
    tokens = [_number(token, rng) if "0" in token else token for token in tokens]
    style = STYLES.get(language, Style())
    if not style.space:  # in a script without spaces, put spaces around words of other scripts
        tokens = [f" {token} " if token.isascii() and token.isalpha() else token for token in tokens]
    out: list[str] = []
    left = 0
    for sentence in _sentences(tokens, style, language, rng):
        if left == 0:
            left = rng.randint(1, MAX_PARAGRAPH)
        left -= 1
        out += (sentence, style.gap if left else "\n")
    text = "".join(out)
    if not style.space:
        text = re.sub(r" {2,}| (?=[，。、？！：；）」』”])", lambda match: " " if len(match[0]) > 1 else "", text)
    return re.sub(r" +\n", "\n", text).rstrip() + "\n" if text else ""


def _capital_always(word: str, language: str) -> str:
    """Capitalize words that are always capitalized: English "I" and "I'm", and Turkish words with an apostrophe, which
    are names with suffixes (Türkiye'de)."""
    if (language == "en" and (word == "i" or word.startswith(("i'", "i’")))) or (language == "tr" and "'" in word[1:]):
        return capitalized(word, language)
    return word


def _with_compounds(rows: list[tuple[str, float]], capital: dict[str, str]) -> list[tuple[str, float]]:
    """Capitalize German compound nouns that are not in a list. A compound is a frequent word, perhaps a linking s, and
    a noun."""
    first = {word.lower() for word, _ in rows[:COMPOUNDED] if len(word) >= 3}

    def is_compound(word: str) -> bool:
        return any(
            word[at:] in capital and (word[:at] in first or (word[at - 1] == "s" and word[: at - 1] in first))
            for at in range(3, len(word) - 4)
        )

    return [
        (capitalized(word, "de") if word.islower() and word not in first and is_compound(word) else word, frequency)
        for word, frequency in rows
    ]


def _joined(tokens: list[str], language: str, rng: random.Random) -> list[str]:
    """Join elided articles and particles to the adjacent words."""
    if language == "ko":
        ret: list[str] = []
        for token in tokens:
            if ret and token in _KOREAN and len(ret[-1]) < 6 and ret[-1][-1] >= "가":
                ret[-1] += token
            else:
                ret.append(token)
        return ret
    elided = ELISION.get(language)
    if not elided:
        return tokens
    short = [token for token in tokens if token in elided]
    tokens = [token for token in tokens if token not in elided]
    vowels = [i for i, token in enumerate(tokens) if token[0].lower() in _VOWEL and len(token) > 1]
    at = rng.sample(vowels, min(len(short), len(vowels)))
    for i, token in zip(at, short, strict=False):
        tokens[i] = token + ("’" if i % 2 else "'") + tokens[i]
    return tokens


def _number(token: str, rng: random.Random) -> str:
    """Replace wordfreq's zeros with digits. Dates become valid dates, and four digits usually become a year."""
    if date := _DATE.fullmatch(token):
        day, month, year = rng.randint(1, 28), rng.randint(1, 12), rng.randint(*YEARS)
        widths = [len(date[i]) for i in (1, 3, 4)]
        if widths[0] == 1:
            day = day % 9 + 1
        if widths[1] == 1:
            month = month % 9 + 1
        return f"{day:0{widths[0]}}{date[2]}{month:0{widths[1]}}{date[2]}{str(year)[-widths[2]:]}"
    first = True

    def digits(match: re.Match[str]) -> str:
        nonlocal first
        n = len(match[0])
        if n == 4 and rng.random() < 0.8:
            return str(rng.randint(1990 if rng.random() < 0.6 else YEARS[0], YEARS[1]))
        low = 10 ** (n - 1) if first and len(token) > 1 + 2 * (n == 1) else 0
        first = False
        return f"{rng.randrange(low, 10**n):0{n}}"

    return _ZEROS.sub(digits, token)


def _sentences(tokens: list[str], style: Style, language: str, rng: random.Random) -> Iterator[str]:
    """Divide the words into sentences of 3 to 40 words, 15 on average, with punctuation."""
    marks = {name: getattr(style, name) for name in (*_ENDS, *_MARKS)}
    low, high = max(1, style.commas // 3), style.commas * 5 // 3
    at, n_tokens = 0, len(tokens)
    comma = rng.randint(low, high)
    while at < n_tokens:
        n = min(40, max(3, int(rng.lognormvariate(2.57, 0.6))))
        if n_tokens - at - n < 3:
            n = n_tokens - at
        sentence = tokens[at : at + n]
        sentence[0] = capitalized(sentence[0], language)
        chance = rng.random()
        if chance < 0.08:  # put a few words in quotes or brackets
            first = rng.randrange(n)
            last = min(n - 1, first + rng.randrange(5))
            left, right = rng.choice(style.quotes) if chance < 0.05 else style.brackets
            sentence[first] = left + sentence[first]
            sentence[last] += right
        while comma < at + n - 1:
            name = rng.choice(_MARKS)
            sentence[comma - at] += _mark(name, marks, language, rng)
            comma += rng.randint(low, high)
        if comma < at + n:  # no comma at the end of the sentence
            comma = at + n + rng.randint(1, low)
        end = rng.choice(_ENDS)
        sentence[-1] += _mark(end, marks, language, rng)
        if end == "question":
            sentence[0] = style.openers[0] + sentence[0]
        elif end == "exclamation":
            sentence[0] = style.openers[1] + sentence[0]
        yield style.space.join(sentence)
        at += n


def _mark(name: str, marks: dict[str, str], language: str, rng: random.Random) -> str:
    if language == "fr" and name in ("question", "exclamation", "colon", "semicolon"):
        return rng.choice(FRENCH_SPACES) + marks[name]
    return marks[name]


def capitalized(word: str, language: str) -> str:
    """Capitalize a word as at the beginning of a sentence, if its script has capitals."""
    first = word[0]
    if language in ("tr", "az", "crh", "tt_latn") and first == "i":
        return "İ" + word[1:]
    upper = first.upper()
    if len(upper) != 1 or "\u10d0" <= first <= "\u10ff":  # ß; Georgian, which uses capitals only in headings
        return word
    return upper + word[1:]
