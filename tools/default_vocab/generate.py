# ruff: noqa: E501 - a template, a line
"""Generates text that no package contains: emails, chats and diffs. generate_logs.py and generate_data.py generate the
other kinds.

Nothing is copied from other text. The formats follow specifications and manuals; words, messages and sentences were
written for this purpose. The output depends only on the random number generator.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence

from generate_data import data as data
from generate_data import notebooks as notebooks
from generate_data import some
from generate_data import tables as tables
from generate_logs import logs as logs
from generate_values import (
    ADJECTIVES,
    DAYS,
    MONTHS,
    NOUNS,
    STATES,
    USERS,
    VERBS,
    Draw,
    clock,
    duration,
    hexes,
    host,
    ip,
    name,
    noun_phrase,
    path,
    plural,
    url,
    uuid,
)  # fmt: skip
from sentences import CHAT, CLOSINGS, GREETINGS, SENTENCES

LABELS = ["news", "team", "help", "music", "sports", "food", "travel", "photo", "art", "code", "games", "random", "general", "announcements"]


def sentence(r: Draw) -> str:
    """One of SENTENCES, or a sentence about the subjects of logs."""
    if r.random() < 0.75:
        return r.choice(SENTENCES)
    return r.choice((
        f"I have {r.choice(('seen', 'checked', 'changed', 'moved', 'read'))} the {r.choice(ADJECTIVES)} {r.choice(NOUNS)}, and it is {r.choice(STATES)} again.",
        f"Can you {r.choice(VERBS)} the {r.choice(NOUNS)} before {clock(r)[:5]}?",
        f"We still need {r.randint(2, 9)} {plural(r.choice(NOUNS))} for the {r.choice(NOUNS)}.",
        f"It took {duration(r)} this time, which is fine.", f"See {url(r)} for details.",
    ))  # fmt: skip


def wrapped(r: Draw, prefix: str) -> str:
    """A paragraph in lines of about 72 columns, each with the prefix of a quotation."""
    lines, line = [], ""
    for word in " ".join(sentence(r) for _ in range(r.randint(1, 6))).split(" "):
        if len(line) + len(word) > 72:
            lines.append(line)
            line = ""
        line += " " * bool(line) + word
    return "\n".join(prefix + line for line in [*lines, line])


def mail(r: Draw) -> str:
    """An email as in RFC 5322."""
    sender, to, day = r.choice(USERS), r.choice(USERS), f"{r.choice(DAYS)}, {r.randint(1, 28)} {r.choice(MONTHS)} {r.randint(1998, 2027)}"
    boundary = f"=_{hexes(r, 24)}"
    head = [
        f"Return-Path: <{sender}@example.com>", f"Received: from {host(r)} ({host(r)} [{ip(r)}])\n\tby {host(r)} with ESMTPS id {hexes(r, 10).upper()}\n\tfor <{to}@example.org>; {day} {clock(r)} +0000 (UTC)",
        f"From: {sender} <{sender}@example.com>", f"To: {to}@example.org", f"Subject: {r.choice(('', '', 'Re: ', 'Fwd: ', f'[{r.choice(LABELS)}] '))}{noun_phrase(r)}",
        f"Date: {day} {clock(r)} {r.choice(('+0000', '+0100', '-0500'))}", f"Message-ID: <{uuid(r)}@mail.example.com>", f"In-Reply-To: <{hexes(r, 12)}.{hexes(r, 8)}@example.org>",
        "MIME-Version: 1.0", r.choice(("Content-Type: text/plain; charset=UTF-8", f'Content-Type: multipart/alternative; boundary="{boundary}"')), f"Content-Transfer-Encoding: {r.choice(('8bit', '7bit', 'quoted-printable', 'base64'))}",
        f"DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=example.com; s={r.choice(LABELS)};", f"X-Mailer: {name(r)}", f"List-Unsubscribe: <{url(r)}>",
    ]  # fmt: skip
    kept = [line for line in head if r.random() < 0.8]
    body = some(r, 1, 6, lambda r: wrapped(r, r.choice(("", "", "> ", "> > "))), "\n\n")
    quoted = f"\n\nOn {day} at {clock(r)[:5]}, {to} wrote:\n> " + r.choice(SENTENCES) if r.random() < 0.3 else ""
    return "\n".join(kept) + f"\n\n{r.choice(GREETINGS)}\n\n{body}\n\n{r.choice(CLOSINGS)}\n{r.choice(('', '-- '))}\n{sender}{quoted}\n"


def emails(r: Draw, n_bytes: int) -> Iterator[str]:
    size = 0
    while size < n_bytes:
        text = mail(r)
        size += len(text)
        yield text


def chat_line(r: Draw, emoji: Sequence[str], kaomoji: Sequence[str]) -> str:
    """One short message."""
    text = r.choice(CHAT) if r.random() < 0.7 else r.choice(SENTENCES)
    if text[-1] not in ".!?" and r.random() < 0.3:
        text += r.choice(["!", "!!", "!!!", "?", "...", " lol", " haha", " :)", " :-)", " ;)", " <3", " xD", " :(", " :D"])
    if r.random() < 0.15:
        text = f"@{r.choice(USERS)} {text}"
    if r.random() < 0.15:
        text += "".join(f" #{r.choice(LABELS)}" for _ in range(r.randint(1, 3)))
    if r.random() < 0.5:
        text += r.choice((" ", " ", "")) + "".join(r.choices(emoji, k=r.choice([1, 1, 1, 2, 3]))) * r.choice((1, 1, 1, 3))
    if r.random() < 0.15:
        text += " " + r.choice(kaomoji)
    if r.random() < 0.1:
        text += f" {url(r)}"
    return text


def chats(r: Draw, n_bytes: int, emoji: Sequence[str], kaomoji: Sequence[str]) -> Iterator[str]:
    """Short messages with emoji, kaomoji, mentions and tags: bare, from IRC, from messengers, and as JSON."""
    forms = (
        lambda text: text,
        lambda text: f"[{clock(r)}] <{r.choice(USERS)}> {text}",
        lambda text: f"{clock(r)[:5]} <{r.choice(USERS)}> {text}",
        lambda text: f"{r.randint(1, 28)}/{r.randint(1, 12)}/{r.randint(15, 27)}, {clock(r)[:5]} - {r.choice(USERS)}: {text}",
        lambda text: f"{r.choice(USERS)}: {text}",
        lambda text: json.dumps({"role": r.choice(("user", "assistant", "system")), "content": text}, ensure_ascii=False),
        lambda text: f"<|im_start|>{r.choice(('user', 'assistant'))}\n{text}<|im_end|>",
        lambda text: f"{r.choice(('User', 'Assistant', 'System'))}: {text}\n",
    )
    size = 0
    while size < n_bytes:
        form = r.choice(forms)
        text = "\n".join(form(chat_line(r, emoji, kaomoji)) for _ in range(100)) + "\n"
        size += len(text.encode())
        yield text


def diffs(r: Draw, texts: Sequence[str], n_bytes: int) -> Iterator[str]:
    """Diffs of source files, with removed and added lines, in git's unified format."""
    size = 0
    while size < n_bytes:
        lines = r.choice(texts).splitlines()[:2000]
        if len(lines) < 20:
            continue
        changed = path(r).lstrip("/.").replace("\\", "/")
        out = [f"diff --git a/{changed} b/{changed}", f"index {hexes(r, 7)}..{hexes(r, 7)} 100644", f"--- a/{changed}", f"+++ b/{changed}"]
        for _ in range(r.randint(1, 4)):
            at = r.randint(0, len(lines) - 10)
            out.append(f"@@ -{at + 1},7 +{at + 1},{r.randint(6, 9)} @@{r.choice(('', '', ' ' + lines[at].strip()[:60]))}")
            out += [r.choice([" ", " ", " ", "-", "+"]) + line for line in lines[at : at + 8]]
        text = "\n".join(out) + "\n"
        size += len(text)
        yield text


def sample(seed: int = 1) -> Iterator[tuple[str, str]]:
    """(kind, text): a small sample of every kind."""
    r, code = random.Random(seed), ["def add(a, b):\n    return a + b\n" * 20]
    for kind, texts in {
        "logs": logs(r, 1), "data": data(r, 1), "csv": tables(r, 1), "notebook": notebooks(r, code, 1), "mail": emails(r, 1),
        "chat": chats(r, 1, ["😀"], ["(^_^)"]), "diff": diffs(r, code, 1),
    }.items():  # fmt: skip
        yield from ((kind, text) for text in texts)
