"""Documents → the weighted sources of training, kind by kind; lines that occur twice are dropped.

A kind has the same weight as any other, whatever its size: the objective is the sum over kinds of tokens a byte.
Inside a kind, languages (programming or natural) share its weight, and within each the word list has WORD_LIST_SHARE.
"""

from __future__ import annotations

import hashlib
import io
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import generate
import lists
import prose
import zstandard

from pyunitok.packed import Packed
from pyunitok.train.longest import Source

WORD_LISTS = {"wordfreq", "jieba", "pythainlp"}
N_WORDS = 150_000  # of the prose made from one list
WORD_LIST_SHARE = 0.3
DAMPING = 200  # see Source
MAIN = ["en", "en_prose", "de", "fr", "ru", "ja", "ko", "zh", "zh_trad", "ar", "hi", "json", "latex"]
MARKUP = ["xml", "html", "yaml"]
KIND_WEIGHT = {
    "en_prose": 9.0,
    "en": 1.3,
    "de": 1.1,
    "fr": 1.1,
    "ru": 1.1,
    "ja": 0.9,
    "zh": 0.5,
    "zh_trad": 0.6,
    "ar": 0.6,
    "hi": 0.5,
    "emoji": 0.4,
    "mail": 0.3,
    "csv": 0.2,
    "diff": 0.3,
    "markup": 0.7,
    "json": 1.1,
    "logs": 0.8,
    "multi": 2.2,
    "code": 1.8,
}
LANGUAGE_WEIGHT = {
    "es": 7.0, "pt": 7.0, "hu": 4.0, "uk": 3.5, "it": 2.5, "vi": 2.0, "fi": 2.0, "no": 2.0, "sr": 1.5, "nl": 1.5,
    "gl": 1.3, "et": 1.2, "ca": 1.2, "sq": 1.5, "fur": 3.0,
}  # fmt: skip
MAX_KIND_BYTES = 5_000_000
MAX_LANGUAGE_BYTES = 500_000  # of one of many languages that share a kind
MIN_LANGUAGE_BYTES = 20_000
MIN_LINE_BYTES = 24  # shorter lines may repeat
MIN_PROSE_LINE_BYTES = 3  # in natural languages, whose short lines are headings and menus
# Lines that are no sample of language: licences, credits, the headers of help pages.
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


def load(folder: Path, split: str, kind: str) -> list[Document]:
    path = folder / "text" / split / f"{kind}.jsonl.zst"
    with path.open("rb") as file:
        reader = io.TextIOWrapper(zstandard.ZstdDecompressor().stream_reader(file), encoding="utf-8")
        return [Document(row["source"], row["text"].encode("utf-8", "replace")) for row in map(json.loads, reader)]


def kinds(folder: Path, split: str) -> list[str]:
    return sorted(path.name.removesuffix(".jsonl.zst") for path in (folder / "text" / split).glob("*.jsonl.zst"))


def word_prose(folder: Path, language: str) -> list[Document]:
    """Running text made from each list of the language's words, with capitals as lists of proper nouns have them."""
    there = kinds(folder, "train")
    lists_of = "words-zh" if language == "zh_trad" else f"words-{language}"
    tables = load(folder, "train", lists_of) if lists_of in there else []
    proper = {
        word
        for document in (load(folder, "train", f"proper-{language}") if f"proper-{language}" in there else [])
        for word in document.text.decode().splitlines()
    }
    ret = []
    for document in tables:
        words = lists.rows(document.text.decode())
        if language == "zh_trad":
            forms, variants = (
                [table.text.decode() for table in load(folder, "train", kind)] for kind in ("traditional", "variants")
            )
            words = list(lists.traditional(words, forms, variants))
        ret.append(Document(document.source, prose.prose(words, N_WORDS, language, proper).encode()))
    return ret


def unique(documents: list[Document], seen: set[bytes], min_line_bytes: int = MIN_LINE_BYTES) -> list[Document]:
    """Without boilerplate, and without the lines of min_line_bytes or more that came before; `seen` remembers them."""
    ret = []
    for document in documents:
        lines: list[bytes] = []
        for line in document.text.splitlines(keepends=True):
            if BOILERPLATE.search(line):
                if ADDRESS.fullmatch(line) and lines:
                    lines.pop()  # a name: credits are pairs of lines
                continue
            if len(line) >= min_line_bytes:
                key = hashlib.blake2b(line.strip(), digest_size=8).digest()
                if key in seen:
                    continue
                seen.add(key)
            lines.append(line)
        if lines:
            ret.append(Document(document.source, b"".join(lines)))
    return ret


def take(documents: list[Document], n_bytes: int) -> list[Document]:
    """At most so many bytes, the sources in turn, so that small ones are there whole."""
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


def weighted(name: str, documents: list[Document], weight: float) -> Iterator[tuple[str, Source]]:
    """One Source for each source; all of them together weigh `weight` units of 1 MB."""
    by_source: dict[str, list[bytes]] = defaultdict(list)
    for document in documents:
        by_source[document.source].append(document.text)
    lists = sum(len(t) for s, texts in by_source.items() if s in WORD_LISTS for t in texts)
    running = sum(len(t) for texts in by_source.values() for t in texts) - lists
    share = WORD_LIST_SHARE if lists and running else 1.0 if lists else 0.0
    for source, texts in by_source.items():
        per_byte = share / lists if source in WORD_LISTS else (1 - share) / running
        yield f"{name}/{source}", Source(Packed.from_documents(texts), weight * 1e6 * per_byte, DAMPING)


def build(folder: Path, boost: dict[str, float] | None = None) -> list[tuple[str, Source]]:
    """All sources of training by name, kind/source; `boost` multiplies the weights of kinds."""
    boost = boost or {}
    ret: list[tuple[str, Source]] = []

    def add(kind: str, language: str, documents: list[Document], share: float) -> None:
        weight = KIND_WEIGHT.get(kind, 1.0) * boost.get(language, boost.get(kind, 1.0)) * share
        ret.extend(weighted(language, documents, weight))

    seen: set[bytes] = set()  # lines of all natural languages: what they share is English, code or names

    there = kinds(folder, "train")
    languages = {kind for kind in there if "-" not in kind} | {
        kind.removeprefix("words-") for kind in there if kind.startswith("words-")
    }

    def read(kind: str) -> list[Document]:
        documents = load(folder, "train", kind) if kind in there else []
        if kind.startswith("code-") or kind in [*MARKUP, "json", "latex"]:
            return unique(documents, set())
        return unique(documents, seen, MIN_PROSE_LINE_BYTES) + word_prose(folder, kind)

    english = word_prose(folder, "en")
    for kind in MAIN:
        documents = read(kind) + (english if kind == "en_prose" else [])
        add(kind, kind, take(documents, MAX_KIND_BYTES), 1.0)
    for group, names in {
        "code": [kind for kind in there if kind.startswith("code-")],
        "markup": MARKUP,
        "multi": [
            kind
            for kind in sorted(languages)
            if kind not in [*MAIN, *MARKUP, *lists.WHOLE, "math_formal"]
        ],
    }.items():
        parts = {name: take(read(name), MAX_LANGUAGE_BYTES) for name in names}
        sizes = {name: sum(len(document.text) for document in documents) for name, documents in parts.items()}
        names = [name for name in names if sizes[name] >= MIN_LANGUAGE_BYTES]
        shares = {
            name: LANGUAGE_WEIGHT.get(name, 1.0) * min(1.0, sizes[name] / MAX_LANGUAGE_BYTES) ** 0.5 for name in names
        }
        for name in names:
            add(group, name, parts[name], shares[name] / sum(shares.values()))
    r = random.Random(1)
    emoji = load(folder, "train", "emoji")[0].text.decode().split("\n")
    faces = load(folder, "train", "kaomoji")[0].text.decode().split("\n")
    code = [
        document.text.decode()
        for kind in ("code-c", "code-python", "code-javascript")
        for document in load(folder, "train", kind)[:300]
    ]
    for kind, texts in {
        "logs": generate.logs(r, 3_000_000),
        "mail": generate.emails(r, 500_000),
        "csv": generate.tables(r, 500_000),
        "emoji": [
            *generate.chats(r, 1_500_000, emoji, faces),
            "\n".join(emoji),
            *("\n".join(r.sample(faces, 2000)) for _ in range(5)),
        ],
        "diff": generate.diffs(r, code, 1_000_000),
    }.items():
        add(kind, kind, [Document("generated", text.encode()) for text in texts], 1.0)
    return ret
