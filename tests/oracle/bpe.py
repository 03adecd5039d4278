"""BPE, character and word models as the references define them, implemented with strings and linear searches.

A piece is (bytes, score, type), and its id is its position. A token is (bytes, id); an unknown token has the id None.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
SPLIT_DEPTH_MAX = 100

Piece = tuple[bytes, float, int]
Token = tuple[bytes, "int | None"]
Draw = Callable[[], float]  # uniform in [0, 1)


def character_bytes(lead: int) -> int:
    """The length of a character, inferred from its first byte alone."""
    return 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


def score_order(score: float) -> int:
    """A key that orders float32 scores as numbers, with -0 before +0."""
    (bits,) = struct.unpack("<i", struct.pack("<f", score))
    return ~bits & 0xFFFFFFFF if bits < 0 else bits | 1 << 31


def cut_symbols(pieces: Sequence[Piece], text: bytes) -> list[tuple[bytes, bool]]:
    """Repeatedly cut off the longest user-defined symbol (which is frozen: it never merges) or else one character."""
    user = [piece for piece, _, kind in pieces if kind == USER_DEFINED]
    ret = []
    while text:
        longest = max((u for u in user if text.startswith(u)), key=len, default=b"")
        symbol = longest or text[: character_bytes(text[0])]
        ret.append((symbol, bool(longest)))
        text = text[len(symbol) :]
    return ret


def sentencepiece_bpe(
    pieces: Sequence[Piece], text: bytes, dropout: float = 0, draw: Draw | None = None
) -> list[Token]:
    """Merge the pair with the best score first, the leftmost one on ties. `dropout` may skip a pair permanently."""
    ids = {piece: k for k, (piece, _, kind) in enumerate(pieces) if kind in (NORMAL, USER_DEFINED, UNUSED)}
    cut = cut_symbols(pieces, text)
    symbols = [symbol for symbol, _ in cut]
    frozen = [is_frozen for _, is_frozen in cut]
    pairs: dict[int, int] = {}  # position of the left symbol -> id of the merged piece
    splits: dict[bytes, tuple[bytes, bytes]] = {}  # the symbols that were merged into an unused piece
    positions = list(range(len(symbols)))  # the positions of the remaining symbols

    def look_up(left: int, right: int) -> None:
        pairs.pop(left, None)
        if frozen[left] or frozen[right]:
            return
        merged = symbols[left] + symbols[right]
        if merged in ids:
            pairs[left] = ids[merged]
            if pieces[ids[merged]][2] == UNUSED:
                splits[merged] = (symbols[left], symbols[right])

    for left in positions[:-1]:
        look_up(left, left + 1)
    while pairs:
        left = min(pairs, key=lambda at: (-score_order(pieces[pairs[at]][1]), at))
        del pairs[left]
        if dropout and draw is not None and draw() < dropout:
            continue
        k = positions.index(left)
        right = positions.pop(k + 1)
        pairs.pop(right, None)
        symbols[left] += symbols[right]
        if k > 0:
            look_up(positions[k - 1], left)
        if k + 1 < len(positions):
            look_up(left, positions[k + 1])

    def resegment(symbol: bytes, depth: int) -> list[Token]:
        k = ids.get(symbol)
        if k is None or depth > SPLIT_DEPTH_MAX or pieces[k][2] != UNUSED:
            return [(symbol, k)]
        if symbol not in splits:
            return [(symbol, None)]
        return [token for part in splits[symbol] for token in resegment(part, depth + 1)]

    return [token for at in positions for token in resegment(symbols[at], 0)]


def characters(pieces: Sequence[Piece], text: bytes) -> list[Token]:
    ids = {piece: k for k, (piece, _, kind) in enumerate(pieces) if kind in (NORMAL, USER_DEFINED)}
    return [(symbol, ids.get(symbol)) for symbol, _ in cut_symbols(pieces, text)]


def words(pieces: Sequence[Piece], text: bytes, space: bytes = b"\xe2\x96\x81") -> list[Token]:
    ids = {piece: k for k, (piece, _, kind) in enumerate(pieces) if kind in (NORMAL, USER_DEFINED)}
    first, *rest = text.split(space)
    cut = ([first] if first else []) + [space + word for word in rest]
    return [(word, ids.get(word)) for word in cut]


def sentencepiece_ids(pieces: Sequence[Piece], tokens: Sequence[Token], byte_fallback: bool) -> list[int]:
    """The ids of tokens. Unknown tokens become byte pieces or, without byte_fallback, one unknown id per run."""
    unknown = next((k for k, (_, _, kind) in enumerate(pieces) if kind == UNKNOWN), 0)
    of_byte = {piece: k for k, (piece, _, kind) in enumerate(pieces) if kind == BYTE}
    ret: list[int] = []
    was_unknown = False
    for text, k in tokens:
        if k is not None:
            ret.append(k)
        elif byte_fallback:
            ret += [of_byte[b"<0x%02X>" % byte] for byte in text]
        elif not was_unknown:
            ret.append(unknown)
        was_unknown = k is None
    return ret


def huggingface_symbols(
    vocab: Mapping[str, int], word: str, unknown: int | None, byte_fallback: bool, fuse: bool
) -> list[int]:
    """The ids of characters. The unknown id is added only at the next known character, after byte pieces between."""
    ret: list[int] = []
    waiting = False
    for character in word:
        names = [f"<0x{byte:02X}>" for byte in character.encode()]
        if character in vocab:
            if waiting and unknown is not None:
                ret.append(unknown)
            waiting = False
            ret.append(vocab[character])
        elif byte_fallback and all(name in vocab for name in names):
            ret += [vocab[name] for name in names]
        elif unknown is not None:
            if waiting and not fuse:
                ret.append(unknown)
            waiting = True
    if waiting and unknown is not None:
        ret.append(unknown)
    return ret


def huggingface_bpe(
    vocab: Mapping[str, int], merges: Sequence[tuple[str, str]], word: str, *, unknown: int | None = None,
    byte_fallback: bool = False, fuse: bool = False, ignore_merges: bool = False, dropout: float = 0,
    draw: Draw | None = None,
) -> list[int]:  # fmt: skip
    """The ids of one word. The merge with the lowest rank comes first, the leftmost one on ties. A pair that dropout
    skips is queued again as soon as a pair is not skipped, even if the skipped pair is stale by then."""
    if ignore_merges and not dropout and word in vocab:
        return [vocab[word]]
    ranks = {(vocab[a], vocab[b]): (rank, vocab[a + b]) for rank, (a, b) in enumerate(merges)}
    symbols: list[int | None] = list(huggingface_symbols(vocab, word, unknown, byte_fallback, fuse))
    queue: list[tuple[int, int, int]] = []  # rank, position, id of the merged symbol
    skipped: list[tuple[int, int, int]] = []

    def neighbour(at: int, step: int) -> int | None:
        at += step
        while 0 <= at < len(symbols) and symbols[at] is None:
            at += step
        return at if 0 <= at < len(symbols) else None

    def look_up(left: int | None, right: int | None) -> tuple[int, int] | None:
        if left is None or right is None or symbols[left] is None:
            return None
        return ranks.get((symbols[left], symbols[right]))

    def push(left: int | None, right: int | None) -> None:
        found = look_up(left, right)
        if found is not None and left is not None:
            queue.append((found[0], left, found[1]))

    for at in range(len(symbols) - 1):
        push(at, at + 1)
    while queue:
        queue.sort()
        top = queue.pop(0)
        if dropout and draw is not None and draw() < dropout:
            skipped.append(top)
            continue
        queue += skipped
        skipped.clear()
        left = top[1]
        right = neighbour(left, 1)
        found = look_up(left, right)
        if found is None or found[1] != top[2] or right is None:
            continue
        symbols[left], symbols[right] = top[2], None
        push(neighbour(left, -1), left)
        push(left, neighbour(left, 1))
    return [symbol for symbol in symbols if symbol is not None]
