/* lcp.h - template: common prefixes of neighbours in a suffix array, and a check that an array is a
 * suffix array
 *
 * plcp and check run in linear time, and arrays may be damaged: plcp treats an entry that is out of
 * range as "no neighbour", and check reports it.
 *
 *     phi[i]     before plcp: the suffix that precedes suffix i in the suffix array; n for the first
 *                after plcp:  how many symbols these two have in common
 *
 * For "banana", in which 6 stands for "no neighbour":
 *
 *     i        0  1  2  3  4  5
 *     text     b  a  n  a  n  a
 *     sa       5  3  1  0  4  2
 *     phi      1  3  4  5  0  6        suffix 1, "anana", follows suffix 3, "ana"
 *     plcp     0  3  2  1  0  0        they share 3 symbols; suffixes 2 and 4, one symbol further on, share at least 2
 */

/* Kasai, Lee, Arimura, Arikawa, Park (2001). Suffixes are visited in text order: if suffix i shares
 * `common` symbols with its neighbour, suffix i + 1 shares at least common - 1 with its own. So
 * `common` falls by at most one at each step, which limits the comparisons to O(n) in total. A call
 * handles suffixes begin..end-1 and returns the `common` to pass to the next call. */
static int64_t BY_WIDTHS(plcp)(const void *text_, int64_t n, void *phi_, int64_t begin, int64_t end,
                               int64_t common)
{
    const SYMBOL *text = text_;
    POSITION *phi = phi_;
    for (int64_t i = begin; i < end; i++) {
        int64_t j = (int64_t)phi[i];
        if (i + LCP_AHEAD < end && phi[i + LCP_AHEAD] < (POSITION)n)
            PREFETCH(text + phi[i + LCP_AHEAD]);
        if (j >= n || j < 0) {
            common = 0; /* the smallest suffix has no neighbour */
        } else {
            int64_t limit = n - (i > j ? i : j);
            if (common > limit) common = limit;
            while (common < limit && text[i + common] == text[j + common]) common++;
        }
        phi[i] = (POSITION)common;
        if (common > 0) common--;
    }
    return common;
}

/* The rank of a symbol; n_symbols or more if the symbol is out of range. */
INLINE int64_t BY_WIDTHS(symbol)(const SYMBOL *text, int64_t i, const uint32_t *rank,
                                 int64_t n_symbols)
{
    return rank && (int64_t)text[i] < n_symbols ? (int64_t)rank[text[i]] : (int64_t)text[i];
}

/* Checks that suffix i is the next entry of its first symbol's bucket, and advances the head of
 * that bucket. If the head has already reached the end of the bucket, the bucket is too small for
 * the text. */
INLINE int BY_WIDTHS(comes_next)(const SYMBOL *text, int64_t i, const uint32_t *rank,
                                 int64_t n_symbols, const POSITION *sa, const uint64_t *starts,
                                 uint64_t *heads)
{
    int64_t c = BY_WIDTHS(symbol)(text, i, rank, n_symbols);
    if (c >= n_symbols || heads[c] >= starts[c + 1]) return 0;
    return sa[heads[c]++] == (POSITION)i;
}

/* A permutation is the suffix array if its buckets are correct and each is in order. When the pass
 * meets suffix i, suffix i - 1, which is one symbol longer, must be the next entry of its own
 * bucket. So one pass over the entries, with a head for each bucket, checks all of them. The last
 * suffix must come first in its bucket, as if an empty suffix preceded all entries. Returns the
 * first entry that is wrong, or -1. */
static int64_t BY_WIDTHS(check)(const void *text_, int64_t n, const uint32_t *rank,
                                int64_t n_symbols, const void *sa_, const uint64_t *starts,
                                uint64_t *heads, int64_t begin, int64_t end)
{
    const SYMBOL *text = text_;
    const POSITION *sa = sa_;
    if (begin == 0 && end > 0 &&
        !BY_WIDTHS(comes_next)(text, n - 1, rank, n_symbols, sa, starts, heads))
        return 0;
    for (int64_t r = begin; r < end; r++) {
        if (r + LCP_AHEAD < end && sa[r + LCP_AHEAD] < (POSITION)n)
            PREFETCH(text + sa[r + LCP_AHEAD] - (sa[r + LCP_AHEAD] > 0));
        if (sa[r] >= (POSITION)n) return r;
        int64_t i = (int64_t)sa[r], c = BY_WIDTHS(symbol)(text, i, rank, n_symbols);
        if (c >= n_symbols || (uint64_t)r < starts[c] || (uint64_t)r >= starts[c + 1]) return r;
        if (i > 0 && !BY_WIDTHS(comes_next)(text, i - 1, rank, n_symbols, sa, starts, heads))
            return r;
    }
    return -1;
}
