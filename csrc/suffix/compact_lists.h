/* compact_lists.h - template over the width of symbols: the passes of a builder that read the text:
 * see compact_build.h. Each visits at most `budget` entries, and returns an error message, or
 * NULL. */

enum { BY_WIDTHS(LISTS_AHEAD) = 32 };

static const char *BY_WIDTHS(count_symbols)(compact_builder *b, int64_t stop)
{
    const SYMBOL *text = b->text;
    for (; b->at < stop; b->at++) {
        if (text[b->at] >= b->footer.n_symbols) return "a symbol is not below n_symbols";
        b->first[text[b->at] + 1]++;
        b->last_symbol = text[b->at];
    }
    return NULL;
}

/* The symbols before suffixes overwrite suffixes that have been read, and take no more space than
 * these: entry r of the symbols ends at byte (r + 1) * sizeof(SYMBOL), which is not beyond entry r
 * of the suffixes. Suffixes are in no particular order, so each symbol is a cache miss, which is
 * prefetched.
 *
 *     sa          7  2  5 │ 0  9 …         r = 3: position 0 has no symbol before it; first_row = 3
 *     before      symbols at 6, 1, 4 │ 0 */
static const char *BY_WIDTHS(sample_rows)(compact_builder *b, int64_t stop)
{
    const SYMBOL *text = b->text;
    SYMBOL *before = (SYMBOL *)b->sa;
    for (; b->at < stop; b->at++) {
        int64_t r = b->at, ahead = r + BY_WIDTHS(LISTS_AHEAD);
        if (ahead < b->n && b->sa[ahead] < b->n) PREFETCH(text + b->sa[ahead]);
        uint32_t position = b->sa[r];
        if (position >= b->n) return "not a suffix array: a position is out of range";
        take_sample(b, r, position);
        if (position == 0) b->footer.first_row = (uint32_t)r;
        before[r] = position ? text[position - 1] : 0;
    }
    return NULL;
}

/* From here on, the symbols are in the memory of the text, and the memory of the suffix array is
 * free for Psi. */
static const char *BY_WIDTHS(move_symbols)(compact_builder *b, int64_t stop)
{
    memcpy((SYMBOL *)b->text + b->at, (SYMBOL *)b->sa + b->at,
           (size_t)(stop - b->at) * sizeof(SYMBOL));
    b->at = stop;
    return NULL;
}

/* Row r continues a suffix that begins with the symbol before it, so 1 + r becomes the next entry
 * in the list of that symbol. Rows are visited in ascending order, and rows that begin with the
 * same symbol are ordered by how they continue, so each list is filled from its start, and its
 * entries ascend. Two rows are special: nothing precedes the suffix at position 0, and the suffix
 * of the last symbol has no continuation, so its entry is the first one of its list (end of
 * BUILD_MOVE in compact_build.c). */
static const char *BY_WIDTHS(fill_lists)(compact_builder *b, int64_t stop)
{
    const SYMBOL *before = b->text;
    uint32_t *psi = b->sa;
    for (; b->at < stop; b->at++) {
        int64_t r = b->at, ahead = r + BY_WIDTHS(LISTS_AHEAD);
        if (ahead < b->n) PREFETCH(psi + b->heads[before[ahead]]);
        if (r == b->footer.first_row) continue;
        uint32_t symbol = before[r], head = b->heads[symbol];
        if (head == b->first[symbol + 1]) return "not the suffix array of this text";
        psi[head] = (uint32_t)r + 1;
        b->heads[symbol]++;
    }
    return NULL;
}

static const char *BY_WIDTHS(build_pass)(compact_builder *b, int64_t stop)
{
    switch (b->pass) {
    case BUILD_COUNT:
        return BY_WIDTHS(count_symbols)(b, stop);
    case BUILD_SAMPLE:
        return BY_WIDTHS(sample_rows)(b, stop);
    case BUILD_MOVE:
        return BY_WIDTHS(move_symbols)(b, stop);
    default:
        return BY_WIDTHS(fill_lists)(b, stop);
    }
}
