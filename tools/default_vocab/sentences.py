"""Provides sentences for generated emails, chats, subtitles and comments. All were written for this purpose.

sentences.txt contains four lists, separated by blank lines, with one entry per line.
"""

from __future__ import annotations

from pathlib import Path

_LISTS = Path(__file__).with_name("sentences.txt").read_text(encoding="utf-8").split("\n\n")
SENTENCES, CHAT, GREETINGS, CLOSINGS = (entries.splitlines() for entries in _LISTS)
