/* lcp.h - template: common prefixes of neighbours in a suffix array, and whether an array is one
 *
 *   parameter   example
 *   SYMBOL      uint16_t
 *   POSITION    uint32_t
 *   NAME(x)     x##_16_32    names of functions
 */

/* Kasai, Lee, Arimura, Arikawa, Park (2001), in text order: the suffix one further has at least one
 * symbol less in common with its own neighbour. Turns neighbours into lengths. */
static int64_t NAME(plcp)(const void *text_, int64_t n, void *phi_, int64_t begin, int64_t end,
                          int64_t common)
{
    const SYMBOL *text = text_;
    POSITION *phi = phi_;
    for (int64_t i = begin; i < end; i++) {
        int64_t j = (int64_t)phi[i];
        if (i + AHEAD < end && phi[i + AHEAD] < (POSITION)n) PREFETCH(text + phi[i + AHEAD]);
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

INLINE int64_t NAME(symbol)(const SYMBOL *text, int64_t i, const uint16_t *rank)
{
    return sizeof(SYMBOL) == 2 && rank ? (int64_t)rank[text[i]] : (int64_t)text[i];
}

/* Whether suffix i comes next among those of its first symbol; takes its place there. */
INLINE int NAME(comes_next)(const SYMBOL *text, int64_t i, const uint16_t *rank, int64_t n_symbols,
                            const POSITION *sa, const uint64_t *starts, uint64_t *heads)
{
    int64_t c = NAME(symbol)(text, i, rank);
    if (c >= n_symbols || heads[c] >= starts[c + 1]) return 0;
    return sa[heads[c]++] == (POSITION)i;
}

static int64_t NAME(check)(const void *text_, int64_t n, const uint16_t *rank, int64_t n_symbols,
                           const void *sa_, const uint64_t *starts, uint64_t *heads, int64_t begin,
                           int64_t end)
{
    const SYMBOL *text = text_;
    const POSITION *sa = sa_;
    if (begin == 0 && end > 0 && !NAME(comes_next)(text, n - 1, rank, n_symbols, sa, starts, heads))
        return 0;
    for (int64_t r = begin; r < end; r++) {
        if (r + AHEAD < end && sa[r + AHEAD] < (POSITION)n)
            PREFETCH(text + sa[r + AHEAD] - (sa[r + AHEAD] > 0));
        if (sa[r] >= (POSITION)n) return r;
        int64_t i = (int64_t)sa[r], c = NAME(symbol)(text, i, rank);
        if (c >= n_symbols || (uint64_t)r < starts[c] || (uint64_t)r >= starts[c + 1]) return r;
        if (i > 0 && !NAME(comes_next)(text, i - 1, rank, n_symbols, sa, starts, heads)) return r;
    }
    return -1;
}
