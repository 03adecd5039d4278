/* compact_lists.h - template over the width of symbols: the passes of a builder that read the text:
 * see compact_build.h. Each visits at most `budget` entries, and returns an error message, or
 * NULL. */

enum { BY_WIDTHS(LISTS_AHEAD) = 32 };

/* Replaces each suffix with the symbol before it. Suffixes are in no particular order, so each symbol
 * is a cache miss, which is prefetched. */
static const char *BY_WIDTHS(take_before)(compact_builder *b, int64_t stop)
{
    const SYMBOL *text = b->text;
    uint32_t others = ((uint32_t)1 << b->rows_shift) - 1;
    for (; b->at < stop; b->at++) {
        int64_t r = b->at, ahead = r + BY_WIDTHS(LISTS_AHEAD);
        if (ahead < b->n && b->sa[ahead] < b->n) PREFETCH(text + b->sa[ahead]);
        uint32_t position = b->sa[r];
        if (position >= b->n) return "not a suffix array: a position is out of range";
        if ((position & others) == 0) b->rows[position >> b->rows_shift] = (uint32_t)r;
        b->sa[r] = position ? text[position - 1] : 0;
    }
    return NULL;
}

/* Moves the symbols to the memory of the text, and counts them. The memory of the suffix array is
 * then free. A row often has the same symbol as the previous row, and incrementing a count that has
 * just been written must wait for that write. So even and odd rows are counted in separate tables,
 * which begin_lists adds. */
static const char *BY_WIDTHS(move_symbols)(compact_builder *b, int64_t stop)
{
    SYMBOL *before = b->text;
    if (b->at == 0 && b->n > 0) {
        b->footer.first_row = b->rows[0];
        b->last_symbol = before[b->n - 1];
        if (b->last_symbol >= b->footer.n_symbols) return "a symbol is not below n_symbols";
        if (b->rows[0] >= b->n || b->sa[b->rows[0]] != 0)
            return "not the suffix array of this text";
    }
    uint32_t *sa = b->sa, *counts[2] = {b->first + 1, b->heads}, n_symbols = b->footer.n_symbols;
    for (int64_t r = b->at; r < stop; r++) {
        uint32_t symbol = sa[r];
        if (symbol >= n_symbols) return "a symbol is not below n_symbols";
        before[r] = (SYMBOL)symbol;
        counts[r & 1][symbol]++;
        sa[r] = NO_SAMPLE;
    }
    b->at = stop;
    return NULL;
}

/* Row r continues a suffix that begins with the symbol before it, so 1 + r becomes the next entry
 * in the list of that symbol. Rows are visited in ascending order, and rows that begin with the
 * same symbol are ordered by how they continue, so each list is filled from its start, and its
 * entries ascend. Two rows are special: nothing precedes the suffix at position 0, and the suffix
 * of the last symbol has no continuation, so its entry is the first one of its list (end_pass in
 * compact_build.c). */
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
    case BUILD_BEFORE:
        return BY_WIDTHS(take_before)(b, stop);
    case BUILD_MOVE:
        return BY_WIDTHS(move_symbols)(b, stop);
    case BUILD_SPREAD:
        return spread_rows(b, stop);
    case BUILD_SAMPLE:
        return take_samples(b, stop);
    default:
        return BY_WIDTHS(fill_lists)(b, stop);
    }
}
