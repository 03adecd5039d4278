"""Formulas of corpus linguistics, computed over arrays: association of words, keyness, and dispersion.

O, E     observed and expected frequency; E = f_x f_y w / N for a window of w words around x in a corpus of N words
MI       log2(O / E). Church and Hanks (1990), Word association norms, mutual information, and lexicography
MI3      log2(O^3 / E). Daille (1994), Approche mixte pour l'extraction automatique de terminologie
t        (O - E) / sqrt(O). Church, Gale, Hanks and Hindle (1991), Using statistics in lexical analysis
logDice  14 + log2(2 O / (f_x + f_y)). Rychlý (2008), A lexicographer-friendly association score
LL       2 sum O_ij ln(O_ij / E_ij) over the contingency table. Dunning (1993), Accurate methods for the statistics of
         surprise and coincidence
keyness  LL for two corpora, summed only over the cells of the counted words. Rayson and Garside (2000), Comparing
         corpora using frequency profiling. %DIFF = 100 (p - q) / q. Gabrielatos and Marchi (2011). Simple maths =
         (p + k) / (q + k). Kilgarriff (2009), Simple maths for keywords. p and q are per million words
DP       sum |v_i - s_i| / 2 over parts that contain the share s_i of all words and v_i of the occurrences; normalized
         DP is DP / (1 - min s). Gries (2008), Dispersions and adjusted frequencies in corpora; Lijffijt and Gries
         (2012)
D        1 - CV / sqrt(parts - 1) with the coefficient of variation of the rates of the parts. Juilland (1964)
ARF      sum min(d_i, v) / v with v = N / f and the cyclic distances d_i of occurrences. Savický and Hlaváčová (2002)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyunitok.index.hits import Int64s

Floats = np.ndarray[Any, np.dtype[np.float64]]

MEASURES = ("log_dice", "mi", "mi3", "t", "log_likelihood")
MILLION = 1e6


def association(together: Floats, f_x: float, f_y: Floats, n: float, window: float = 1) -> dict[str, Floats]:
    """The values of MEASURES for words that occur `together` times (> 0) in a window of `window` words around a word
    or phrase that occurs f_x times.

    f_y  how often each of the words occurs among n words
    """
    o, f_y = np.asarray(together, np.float64), np.asarray(f_y, np.float64)
    e = f_x * f_y * window / n
    near = f_x * window  # the number of words in all windows
    table = ((o, e), (near - o, near - e), (f_y - o, f_y - e), (n - near - f_y + o, n - near - f_y + e))
    likelihood = np.sum([_terms(*cell) for cell in table], axis=0)
    return {
        "log_dice": 14 + np.log2(2 * o / (f_x + f_y)), "mi": np.log2(o / e), "mi3": np.log2(o**3 / e),
        "t": (o - e) / np.sqrt(o), "log_likelihood": 2 * likelihood,
    }  # fmt: skip


def keyness(a: Floats, b: Floats, n_a: float, n_b: float, k: float = 1) -> dict[str, Floats]:
    """Compares the frequencies of words that occur a times among n_a words, and b times among n_b words.

    log_likelihood  negative if a word is rarer in the first corpus
    diff            %DIFF; infinite if b is 0
    simple_maths    with the constant k
    log_ratio       log2(p / q); infinite if a or b is 0
    """
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    p, q = MILLION * a / n_a, MILLION * b / n_b
    share = (a + b) / (n_a + n_b)
    ll = 2 * (_terms(a, n_a * share) + _terms(b, n_b * share))
    with np.errstate(divide="ignore", invalid="ignore"):
        diff, log_ratio = 100 * (p - q) / q, np.log2(p / q)
    return {
        "per_million": p, "per_million_reference": q, "log_likelihood": np.where(p < q, -ll, ll),
        "diff": diff, "log_ratio": log_ratio, "simple_maths": (p + k) / (q + k),
    }  # fmt: skip


def _terms(observed: Floats, expected: Any) -> Floats:
    """O ln(O / E), and 0 where O is 0. Negative cells, which overlapping windows can cause, count as 0."""
    is_positive = (observed > 0) & (np.asarray(expected) > 0)
    ratio = np.divide(observed, expected, out=np.ones_like(observed), where=is_positive)
    ret: Floats = np.where(is_positive, observed * np.log(ratio), 0.0)
    return ret


def deviation_of_proportions(sizes: Int64s, hits: Int64s) -> tuple[float, float]:
    """(DP, normalized DP) for parts with these numbers of words (sizes) and hits. Parts without words are ignored."""
    sizes, hits = sizes[sizes > 0], hits[sizes > 0]
    if len(sizes) == 0 or hits.sum() == 0:
        return float("nan"), float("nan")
    shares = sizes / sizes.sum()
    dp = float(np.abs(hits / hits.sum() - shares).sum() / 2)
    rest = 1 - float(shares.min())
    return dp, dp / rest if rest > 0 else 0.0


def juilland_d(sizes: Int64s, hits: Int64s) -> float:
    """Juilland's D; nan for fewer than two parts with words."""
    sizes, hits = sizes[sizes > 0], hits[sizes > 0]
    if len(sizes) < 2 or hits.sum() == 0:
        return float("nan")
    rates = hits / sizes
    return float(1 - rates.std() / rates.mean() / np.sqrt(len(rates) - 1))


def average_reduced_frequency(places: Int64s, n: int) -> float:
    """ARF of occurrences at ascending places among n words."""
    if len(places) == 0:
        return 0.0
    distances = np.append(np.diff(places), places[0] + n - places[-1])
    v = n / len(places)
    return float(np.minimum(distances, v).sum() / v)
