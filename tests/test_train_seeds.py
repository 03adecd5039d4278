"""Seeds of a Unigram model against their definition."""

from __future__ import annotations

from collections import Counter, defaultdict

from hypothesis import given
from hypothesis import strategies as st

from pyunitok.train import native

END = -1
UNITS = st.dictionaries(st.text("ab\u2581éж東", min_size=1, max_size=7), st.integers(1, 6), max_size=9)


def seeds(units: dict[str, int], rules: native.Rules, min_leaf: int) -> Counter[bytes]:
    """A string is a seed if it occurs in two places and not always before the same byte; or it is a whole unit, or as
    much of one as a piece can hold, that is not one already, and is short or frequent."""
    weights: Counter[bytes] = Counter()
    followers: defaultdict[bytes, list[int]] = defaultdict(list)
    for unit, count in units.items():
        data = unit.encode()
        for i in range(len(data)):
            for j in range(i + 1, len(data) + 1):
                weights[data[i:j]] += count
                followers[data[i:j]].append(data[j] if j < len(data) else END)

    def allowed(piece: bytes) -> bool:
        try:
            return len(piece.decode()) > 1 and native.allowed(rules, piece)
        except UnicodeDecodeError:
            return False

    found = Counter({
        piece: weight for piece, weight in weights.items()
        if weight >= 2 and allowed(piece) and len(followers[piece]) > 1
        and (len(set(followers[piece])) > 1 or END in followers[piece])
    })  # fmt: skip
    for unit, count in units.items():
        if count >= (min_leaf if len(unit) > 3 else 2):
            starts = [unit[:n].encode() for n in range(min(len(unit), 5), 1, -1)]
            whole = next(filter(allowed, starts), b"")
            if whole and whole not in found:
                found[whole] = count
    return found


@given(UNITS, st.integers(2, 5))
def test_seeds(units: dict[str, int], min_leaf: int) -> None:
    rules = native.Rules({"split_by_whitespace"}, 5)
    counter = native.Counter()
    packed = native.Units.pack([unit.encode() for unit in units], list(units.values()))
    found = native.Seeds(rules, packed, counter, compat=False, min_leaf=min_leaf)
    while found.step(3) < 1:
        pass
    got = counter.export()
    assert dict(zip(got.items(), got.counts.tolist(), strict=True)) == seeds(units, rules, min_leaf)
