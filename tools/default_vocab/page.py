"""Writes a page that shows the default vocabulary: tokenized texts in ten languages, the longest and the rarest pieces.

    python tools/default_vocab/page.py CORPORA OUT.html

CORPORA is a folder of KIND.txt.zst that the vocabulary was not trained on.
"""

from __future__ import annotations

import argparse
import html
from pathlib import Path

import numpy as np
import zstandard

from pyunitok import Tokenizer
from pyunitok.vocab.lists import escape

N_PIECES = 100
STYLE = """
:root{color-scheme:light dark}body{font:16px/1.6 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em}
.wide{overflow-x:auto}table{border-collapse:collapse}td,th{padding:.2em .6em;vertical-align:top}
th{text-align:left;font-weight:600;padding-left:0}.text{white-space:pre-wrap;min-width:20em}.text span{color:#111}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
code{display:inline-block;white-space:pre-wrap;background:#8883;border-radius:3px;margin:.1em 0}
"""
COLOURS = ["#cfe8ff", "#ffe3c2", "#d6f5d6", "#f6d5f0", "#fff3b0"]
TEXTS = {
    "English": "The committee has agreed to publish its findings this year, although not everyone was happy.",
    "German": "Die Wissenschaftlerinnen haben ihre Ergebnisse in einer Fachzeitschrift veröffentlicht.",
    "French": "Il n’est pas nécessaire d’attendre jusqu’à demain : les élèves peuvent s’inscrire dès aujourd’hui.",
    "Spanish": "Los vecinos del pueblo se reunieron en la plaza para celebrar la llegada de la primavera.",
    "Russian": "Учёные сообщили, что новая библиотека позволяет обрабатывать большие объёмы данных гораздо быстрее.",
    "Chinese": "研究人员发现，这种方法可以在不增加成本的情况下显著提高系统的运行效率。",
    "Japanese": "新しい図書館は来年の春に開館する予定で、誰でも無料で利用することができます。",
    "Korean": "새로운 도서관은 내년 봄에 문을 열 예정이며 누구나 무료로 이용할 수 있습니다.",
    "Arabic": "أعلنت الجامعة عن افتتاح مكتبة جديدة يمكن للجميع استخدامها مجانا.",
    "Hindi": "नया पुस्तकालय अगले साल खुलेगा और सभी लोग इसका उपयोग निःशुल्क कर सकते हैं।",
    "Python": "def mean(values: list[float]) -> float:\n    if not values:\n        raise ValueError(\"no values\")\n"
    "    return sum(values) / len(values)\n",
    "JSON": '{"id": 184467, "name": "Example", "tags": ["one", "two"], "nested": {"value": null, "ok": true}}',
    "Chat": "see you tomorrow!! 😂😂 thanks a lot 👍🏽 (^_^) https://example.com/a?id=12345",
}


def coloured(tok: Tokenizer, text: str) -> str:
    """The text with coloured tokens. A divided character is shown as its bytes."""
    parts = []
    for k, id_ in enumerate(tok.encode(text).tolist()):
        piece = html.escape(tok.id_to_piece(id_)).replace("\n", "⏎\n")
        parts.append(f'<span title="{id_}" style="background:{COLOURS[k % len(COLOURS)]}">{piece}</span>')
    return "".join(parts)


def uses(tok: Tokenizer, corpora: Path) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    ret = np.zeros(tok.vocab_size, np.int64)
    for path in sorted(corpora.glob("*.txt.zst")):
        text = zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read()
        ret += np.bincount(tok.encode(text), minlength=tok.vocab_size)
    return ret


def listed(tok: Tokenizer, ids: list[int]) -> str:
    return "<p>" + " ".join(f"<code>{html.escape(escape(tok.id_to_bytes(id_)))}</code>" for id_ in ids) + "</p>"


def spread(ids: list[int]) -> list[int]:
    """N_PIECES evenly spaced ids."""
    return [ids[k * len(ids) // N_PIECES] for k in range(N_PIECES)] if len(ids) > N_PIECES else ids


def row(name: str, text: str, tok: Tokenizer, other: Tokenizer) -> str:
    n_bytes, n = len(text.encode()), tok.count(text)
    numbers = [str(n), f"{n_bytes / n:.2f}", f"{n_bytes / other.count(text):.2f}"]
    cells = "".join(f"<td class=n>{number}</td>" for number in numbers)
    return f"<tr><th>{name}</th><td dir=auto class=text>{coloured(tok, text)}</td>{cells}</tr>"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    tok, other = Tokenizer.default(), Tokenizer.from_file("rwkv-world")
    counts = uses(tok, options.corpora)
    texts = [id_ for id_ in range(257, tok.vocab_size) if len(set(tok.id_to_bytes(id_))) > 4]  # no rules or indentation
    longest = sorted(texts, key=lambda id_: (-len(tok.id_to_bytes(id_)), id_))[:N_PIECES]
    never, once = ([id_ for id_ in range(257, tok.vocab_size) if counts[id_] == k] for k in (0, 1))
    share = len(never) / (tok.vocab_size - 257)
    page = (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{tok.name}</title>"
        f'<meta name=viewport content="width=device-width"><style>{STYLE}</style>'
        f"<h1>{tok.name}</h1><p>Each colour is a token; point at it to see its id. A character without a piece is shown"
        " as its bytes. The numbers are tokens, bytes per token, and RWKV World's bytes per token.</p>"
        "<div class=wide><table><tr><th>text</th><th></th><th class=n>tokens</th><th class=n>bytes/token</th>"
        "<th class=n>RWKV World</th></tr>"
        + "".join(row(name, text, tok, other) for name, text in TEXTS.items())
        + f"</table></div><h2>The {N_PIECES} longest pieces</h2><p>In bytes, without rules and indentation.</p>"
        + listed(tok, longest)
        + f"<h2>Pieces that the evaluation text uses least</h2><p>Of the pieces of several bytes, {len(never):,}"
        f" ({share:.1%}) do not occur in 17 files of 8 MB, each of a different kind; {N_PIECES} of them, evenly"
        " spread:</p>"
        + listed(tok, spread(never))
        + f"<p>{len(once):,} occur once; {N_PIECES} of them, evenly spread:</p>"
        + listed(tok, spread(once))
        + "\n"
    )
    options.out.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
