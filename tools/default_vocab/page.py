"""A page that shows the default vocabulary at work: texts in ten languages, its longest and its least used pieces.

    python tools/default_vocab/page.py CORPORA OUT.html

CORPORA: a folder of KIND.txt.zst that it was not trained on.
"""

from __future__ import annotations

import argparse
import html
from pathlib import Path

import numpy as np
import zstandard

from pyunitok import Tokenizer

N_PIECES = 100
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
    """The text with each token on a colour of its own; a character that is divided shows as its bytes."""
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


def listed(pieces: list[str]) -> str:
    return "<p>" + " ".join(f"<code>{html.escape(repr(piece)[1:-1])}</code>" for piece in pieces) + "</p>"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    tok = Tokenizer.default()
    counts = uses(tok, options.corpora)
    texts = [id_ for id_ in range(257, tok.vocab_size) if len(set(tok.id_to_bytes(id_))) > 4]  # no rules or indentation
    longest = sorted(texts, key=lambda id_: (-len(tok.id_to_bytes(id_)), id_))[:N_PIECES]
    used = sorted((id_ for id_ in texts if counts[id_]), key=lambda id_: (int(counts[id_]), id_))[:N_PIECES]
    rows = "".join(
        f"<tr><th>{name}</th><td>{coloured(tok, text)}</td><td>{len(text.encode()) / tok.count(text):.2f}</td></tr>"
        for name, text in TEXTS.items()
    )
    unused = float((counts[257:] == 0).mean())
    page = (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{tok.name}</title><style>"
        "body{font:16px/1.6 sans-serif;max-width:70em;margin:2em auto;padding:0 1em}td{white-space:pre-wrap}"
        "th{text-align:left;padding-right:1em;vertical-align:top}code{background:#eee;padding:0 .2em}</style>"
        f"<h1>{tok.name}</h1><p>A colour is a token; the number is bytes per token.</p><table>{rows}</table>"
        f"<h2>The {N_PIECES} longest pieces</h2>{listed([tok.id_to_piece(id_) for id_ in longest])}"
        f"<h2>The {N_PIECES} pieces that the evaluation text uses least</h2>"
        f"{listed([tok.id_to_piece(id_) for id_ in used])}<p>{unused:.1%} of the pieces are not used in it.</p>\n"
    )
    options.out.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
