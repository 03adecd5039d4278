"""Seeds of a Unigram model compared with their definition."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from functools import reduce

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pyunitok._c import train as c_train
from pyunitok._c import train_seeds as c_train_seeds

END = -1
UNITS = st.dictionaries(st.text("ab\u2581éж東", min_size=1, max_size=7), st.integers(1, 6), max_size=9)


def seeds(units: dict[str, int], rules: c_train.Rules, min_leaf: int) -> Counter[bytes]:
    """A string is a seed if it occurs at several positions and is not always followed by the same byte. Otherwise, a
    complete unit, or the longest beginning of a unit that a piece can hold, is a seed if it is short or frequent; of
    several units with the same beginning, only the most frequent one counts."""
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
            return len(piece.decode()) > 1 and c_train.allowed(rules, piece)
        except UnicodeDecodeError:
            return False

    found = Counter({
        piece: weight for piece, weight in weights.items()
        if weight >= 2 and allowed(piece) and len(followers[piece]) > 1
        and (len(set(followers[piece])) > 1 or END in followers[piece])
    })  # fmt: skip
    leaves: Counter[bytes] = Counter()
    for unit, count in units.items():
        if count >= (min_leaf if len(unit) > 3 else 2):
            starts = [unit[:n].encode() for n in range(min(len(unit), 5), 1, -1)]
            whole = next(filter(allowed, starts), b"")
            if whole and whole not in found:
                leaves[whole] = max(leaves[whole], count)
    return found + leaves


def found(units: dict[str, int], rules: c_train.Rules, min_leaf: int, limit: int, threads: int) -> Counter[bytes]:
    packed = c_train.Units.pack([unit.encode() for unit in units], list(units.values()))
    made = c_train_seeds.Seeds(rules, packed, compat=False)
    while made.step(3) < 1:
        pass
    finders = [c_train_seeds.SeedFinder(made, limit) for _ in range(threads)]
    for part in range(made.n_parts):
        finders[part % threads].add(part)
    counters = [c_train.Counter() for _ in finders]
    for finder, counter in zip(finders, counters, strict=True):
        finder.finish(counter)
    while not made.add_leaves(min_leaf, counters, 3):
        pass
    for counter in counters:
        counter.sort()
    got = reduce(c_train.merge, [counter.export() for counter in counters])
    return Counter(dict(zip(got.items(), got.counts.tolist(), strict=True)))


@given(UNITS, st.integers(2, 5))
@example({"aa\u2581": 2, "aa\u2581a": 3}, 2)
def test_seeds(units: dict[str, int], min_leaf: int) -> None:
    rules = c_train.Rules({"split_by_whitespace"}, 5)
    assert found(units, rules, min_leaf, 0, 1) == seeds(units, rules, min_leaf)


def best(found: Counter[bytes], n: int) -> list[tuple[bytes, int]]:
    """The best seeds by count times characters, then by length and bytes."""
    return sorted(found.items(), key=lambda item: (-item[1] * len(item[0].decode()), -len(item[0]), item[0]))[:n]


@pytest.mark.parametrize("alphabet", ["ab", "\u2581ab", "aéж", "東京カ\u2581", "😀😁a", "\u2581"])
def test_long_repeats_and_a_limit(alphabet: str) -> None:
    rules = c_train.Rules(set(), 16)
    rng = random.Random(alphabet)
    words = ["".join(rng.choices(alphabet, k=rng.randint(1, 60))) for _ in range(60)]
    words += [word[rng.randrange(20) :] + words[0] for word in words] + [alphabet[0] * 300]
    units = {word: rng.randint(1, 40) for word in words if word}
    everything = found(units, rules, 15, 0, 1)
    packed = c_train.Units.pack([unit.encode() for unit in units], list(units.values()))
    assert c_train.allowed(rules, b"ab") and len(packed) == len(units)
    assert best(everything, 10**6) == best(plain_repeats(units, rules), 10**6)
    for threads, limit in ((2, 0), (1, 7), (3, 7), (2, 200)):
        assert best(found(units, rules, 15, limit, threads), limit or 10**6) == best(everything, limit or 10**6)


def plain_repeats(units: dict[str, int], rules: c_train.Rules) -> Counter[bytes]:
    """Like seeds(), for pieces of up to 16 characters."""
    weights: Counter[str] = Counter()
    followers: defaultdict[str, list[bytes]] = defaultdict(list)
    for unit, count in units.items():
        for i in range(len(unit)):
            for j in range(i + 2, min(i + 16, len(unit)) + 1):
                weights[unit[i:j]] += count
                followers[unit[i:j]].append(unit[j : j + 1].encode())
    found = Counter({
        piece.encode(): weight for piece, weight in weights.items()
        if weight >= 2 and c_train.allowed(rules, piece.encode()) and len(followers[piece]) > 1
        and (len({follower[:1] for follower in followers[piece]}) > 1 or b"" in followers[piece])
    })  # fmt: skip
    for unit, count in sorted(units.items(), key=lambda item: -item[1]):  # only the first per prefix counts
        if count >= (15 if len(unit) > 3 else 2):
            starts = [unit[:n].encode() for n in range(min(len(unit), 16), 1, -1)]
            whole = next((start for start in starts if c_train.allowed(rules, start)), b"")
            if whole and whole not in found:
                found[whole] = count
    return found
