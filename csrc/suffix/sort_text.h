/* sort_text.h - template: sorts the suffixes of a text by induction, from LMS suffixes that are
 * sorted first
 *
 * Suffix i is S if it is smaller than suffix i + 1, else L; the last suffix is L. An S suffix i is
 * also LMS ("leftmost S") if suffix i - 1 is L. Types are never stored: with 1 for S and 0 for L,
 * the type of suffix i - 1 follows from two symbols and the type of suffix i:
 *
 *     type(i - 1) = text[i - 1] < text[i] + type(i)
 *
 * Induction: an L suffix i - 1 is larger than suffix i, so an upward pass over the array meets
 * suffix i first, and can then put suffix i - 1 at the front of its bucket. Suffixes are met in
 * ascending order, so each bucket is filled in order. A downward pass does the same for S suffixes
 * and the ends of the buckets.
 *
 * The suffixes with the same first symbol fall into four kinds, by their own type and that of the
 * previous suffix. The latter determines which pass reads an entry: the upward pass reads entries
 * that induce an L suffix, the downward pass entries that induce an S suffix.
 *
 *                  own type   before                                  a symbol's bucket in the suffix array
 *     L_THEN_L     L          L                                       ┌──────────────────┬───────────────────┐
 *     L_THEN_S     L          S                                       │ L suffixes, both │ S suffixes, both  │
 *     LMS          S          L                                       │ kinds mixed      │ kinds mixed       │
 *     S_THEN_S     S          S                                       └──────────────────┴───────────────────┘
 *
 * A. Sort the LMS substrings (each from one LMS position to the next, inclusive). Only the order of
 * the LMS substrings is needed, so the kinds are stored separately. Every entry that a pass reads
 * then induces another, and no branch depends on the data.
 *
 *     sa   [ L_THEN_L of symbol 0 | LMS of 0 | L_THEN_L of 1 | LMS of 1 | ... ][ L_THEN_S of 0 | S_THEN_S of 0 | ... ]
 *           LEFT reads this upwards and fills L_THEN_L and L_THEN_S              RIGHT reads this downwards
 *     sa   [ sorted LMS ............... ]                                        and fills S_THEN_S and sorted LMS
 *
 * A flagged entry has a different substring from the entry that was written to its bucket before
 * it. Two entries have equal substrings if their symbols are equal and they were induced from
 * entries with equal substrings. So each bucket stores the number of the group that wrote to it
 * last, and substrings are never compared.
 *
 * B. Name the LMS substrings in sorted order (sort_reduce.h). If they are not all different, sort
 * the suffixes of the array of names (sort_names.h).
 *
 * C. From the sorted LMS suffixes induce all L suffixes, and from these all S suffixes. RIGHT
 * induces suffixes from flagged entries, and LEFT from entries without a flag, except position 0.
 *
 * C for "mississippi", whose LMS suffixes 1, 4 and 7 have been sorted as 7 4 1:
 *
 *     position    0 1 2 3 4 5 6 7 8 9 10
 *     text        m i s s i s s i p p i
 *     type        L S L L S L L S L L L
 *
 *     bucket      i              m      p        s
 *     spread      .  7  4  1     .      .  .     .  .  .  .
 *     LEFT        10 7  4  1     0      9  8     6  3  5  2        10 comes first: the end is smaller than all symbols
 *     RIGHT       10 7  4  1     0      9  8     6  3  5  2        2, 5 and 8 induce 1, 4 and 7, at the places of the LMS suffixes
 *
 * LEFT reads 10 and writes 9, reads 7, 4, 1 and writes 6, 3, 0, reads 9 and writes 8, and so on:
 * each entry is written before it is read. */

/* Where to write the next entry, and the group of the last one. */
typedef struct SUFFIX(bucket) {
    POSITION next, group;
} SUFFIX(bucket);

/* Symbols are compared as 64-bit numbers, so that "+ type" cannot overflow. */
INLINE int32_t SUFFIX(type)(const SYMBOL *text, int64_t i, int32_t type_of_next)
{
    return (int64_t)text[i] < (int64_t)text[i + 1] + type_of_next;
}

/* ----------------------------------------------------------------------- A. LMS substrings ---- */

/* Counts the suffixes of each symbol by kind, from right to left, because the type of a suffix
 * follows from that of the next one. Symbols of 8 and 16 bits cannot be out of range, because the
 * tables have an entry for each; symbols of 32 bits are checked here, before they are used as
 * indexes. Suffix 0 is not counted: it has no kind, because no suffix precedes it. */
static void SUFFIX(count)(struct unitok_suffix *s, int64_t *budget)
{
    const SYMBOL *text = s->text;
    POSITION(*counts)[4] = s->counts;
    int64_t i = s->at, stop = step_down(i, 0, budget);
    int32_t type = s->type;
    for (; i > stop; i--) {
        if (sizeof(SYMBOL) > 2 && UNLIKELY((uint64_t)text[i] >= (uint64_t)s->n_symbols)) {
            s->at = i;
            s->status = UNITOK_ERROR_ARGUMENT;
            return;
        }
        int32_t before = SUFFIX(type)(text, i - 1, type);
        counts[text[i]][2 * type + before]++;
        type = before;
    }
    s->at = i;
    s->type = type;
    if (i > 0) return;
    if (sizeof(SYMBOL) > 2 && UNLIKELY((uint64_t)text[0] >= (uint64_t)s->n_symbols)) {
        s->status = UNITOK_ERROR_ARGUMENT;
        return;
    }
    s->first_type = type;
    s->m = 0;
    SUFFIX(bucket)(*buckets)[2] = s->buckets;
    int64_t end = 0;
    /* LMS positions follow the L_THEN_L suffixes of their symbol. */
    for (int64_t c = 0; c < s->n_symbols; c++) {
        s->m += counts[c][LMS];
        end += counts[c][L_THEN_L];
        buckets[c][0].next = (POSITION)end;
        end += counts[c][LMS];
    }
    s->n_active = end;
    s->pass = PASS_PLACE;
    s->at = s->n - 1;
    s->type = 0;
}

/* Collects the LMS positions of the next block of the text, right to left, and returns their
 * number. In random text, one position in three is LMS, so a branch would often be mispredicted.
 * Instead, every position is written, and the counter advances only past those that are LMS. The
 * caller then handles the block without testing types. */
INLINE int64_t SUFFIX(gather)(struct unitok_suffix *s, int64_t *found, int64_t *budget)
{
    const SYMBOL *text = s->text;
    int64_t n_found = 0, stop = s->at > BLOCK ? s->at - BLOCK : 0;
    int32_t type = s->type;
    for (int64_t i = s->at; i > stop; i--) {
        int32_t before = SUFFIX(type)(text, i - 1, type);
        found[n_found] = i;
        n_found += type & ~before;
        type = before;
    }
    *budget -= s->at - stop;
    s->at = stop;
    s->type = type;
    return n_found;
}

static void SUFFIX(start_left)(struct unitok_suffix *s);

/* The order within a bucket does not matter yet: all LMS substrings that begin with the same symbol
 * are one group so far. */
static void SUFFIX(place)(struct unitok_suffix *s, int64_t *budget)
{
    const SYMBOL *text = s->text;
    POSITION *sa = s->sa;
    SUFFIX(bucket)(*buckets)[2] = s->buckets;
    int64_t found[BLOCK + 1];
    while (s->at > 0 && *budget > 0) {
        int64_t n_found = SUFFIX(gather)(s, found, budget);
        for (int64_t k = 0; k < n_found; k++) PREFETCH_WRITE(sa + buckets[text[found[k]]][0].next);
        for (int64_t k = 0; k < n_found; k++)
            sa[buckets[text[found[k]]][0].next++] = (POSITION)found[k];
    }
    if (s->at == 0) SUFFIX(start_left)(s);
}

/* Sets the fronts of the runs that LEFT fills. The LMS positions are already in place. The first of
 * each symbol is flagged to begin a new group, because substrings that begin with different symbols
 * differ. */
static void SUFFIX(start_left)(struct unitok_suffix *s)
{
    const SYMBOL *text = s->text;
    POSITION *sa = s->sa, (*counts)[4] = s->counts;
    SUFFIX(bucket)(*buckets)[2] = s->buckets;
    int64_t active = 0, turned = s->n_active;
    for (int64_t c = 0; c < s->n_symbols; c++) {
        buckets[c][0].next = (POSITION)active;
        buckets[c][1].next = (POSITION)turned;
        buckets[c][0].group = buckets[c][1].group = 0;
        active += counts[c][L_THEN_L];
        if (counts[c][LMS]) sa[active] |= FLAG;
        active += counts[c][LMS];
        turned += counts[c][L_THEN_S] + counts[c][S_THEN_S];
    }
    s->group = 1; /* the group of the end of the text */
    /* The last suffix is L. It is induced by the end of the text, which is smaller than all symbols
     * and has no entry. */
    SUFFIX(bucket) *bucket = &buckets[text[s->n - 1]][text[s->n - 2] < text[s->n - 1]];
    sa[bucket->next++] = (POSITION)(s->n - 1) | FLAG;
    bucket->group = 1;
    s->pass = PASS_LEFT;
    s->at = 0;
}

static void SUFFIX(start_right)(struct unitok_suffix *s);

/* Every entry induces the previous suffix, which is L. The type of the suffix before that decides
 * whether the induced entry is read in this pass or in the next, and thus selects one of its
 * symbol's two buckets, without a branch. Position 0, the start of the text, ends a chain. */
static void SUFFIX(left)(struct unitok_suffix *s, int64_t *budget)
{
    const SYMBOL *text = s->text;
    POSITION *sa = s->sa;
    SUFFIX(bucket)(*buckets)[2] = s->buckets;
    POSITION group = (POSITION)s->group;
    int64_t r = s->at, stop = step_up(r, s->n_active, budget);
    for (; r < stop; r++) {
        PREFETCH(text + LEVEL(before)(sa[r + 2 * AHEAD < s->n_active ? r + 2 * AHEAD : r], s->n));
        POSITION entry = sa[r], i = (entry & MASK) - 1;
        group += FLAG_OF(entry);
        if (UNLIKELY(i == 0)) continue;
        SYMBOL c = text[i];
        SUFFIX(bucket) *bucket = &buckets[c][text[i - 1] < c];
        sa[bucket->next++] = i | (bucket->group != group ? FLAG : 0);
        bucket->group = group;
    }
    s->group = group;
    s->at = r;
    if (r == s->n_active) SUFFIX(start_right)(s);
}

/* Sets the ends of the runs that RIGHT fills from the back. LMS positions go to the front of the
 * array, whose entries LEFT has already read. */
static void SUFFIX(start_right)(struct unitok_suffix *s)
{
    POSITION(*counts)[4] = s->counts;
    SUFFIX(bucket)(*buckets)[2] = s->buckets;
    int64_t lms = 0, end = s->n_active;
    for (int64_t c = 0; c < s->n_symbols; c++) {
        lms += counts[c][LMS];
        end += counts[c][L_THEN_S] + counts[c][S_THEN_S];
        buckets[c][0].next = (POSITION)lms;
        buckets[c][1].next = (POSITION)end;
        buckets[c][0].group = buckets[c][1].group = 0;
    }
    s->group = 1;
    s->pass = PASS_RIGHT;
    s->at = s->to = end;
    s->symbol = s->n_symbols;
    s->run = 0;
}

/* Advances to the next run that PASS_RIGHT reads, sa[to..at-1]; returns 0 if there is none. */
INLINE int SUFFIX(next_run)(struct unitok_suffix *s)
{
    POSITION(*counts)[4] = s->counts;
    if (s->run == 1) {
        s->run = 0;
        s->to = s->at - (int64_t)counts[s->symbol][L_THEN_S];
        s->group++;
        return 1;
    }
    if (s->symbol-- == 0) return 0;
    s->run = 1;
    s->to = s->at - (int64_t)counts[s->symbol][S_THEN_S];
    return 1;
}

/* Reads the second half of the array run by run, the largest symbols first. Suffix i is S here, so
 * suffix i - 1 is S even if its symbol is equal: hence <= where LEFT has <. */
static void SUFFIX(right)(struct unitok_suffix *s, int64_t *budget)
{
    const SYMBOL *text = s->text;
    POSITION *sa = s->sa;
    SUFFIX(bucket)(*buckets)[2] = s->buckets;
    for (;;) {
        int64_t r = s->at, stop = step_down(r, s->to, budget);
        POSITION group = (POSITION)s->group;
        /* Flags are read downwards. Flags of S suffixes were written downwards too, so they begin a
         * group; flags of L suffixes were written upwards, so they end a group. */
        int is_s = s->run == 1;
        while (r > stop) {
            r--;
            PREFETCH(text + LEVEL(before)(sa[r > 2 * AHEAD ? r - 2 * AHEAD : 0], s->n));
            POSITION entry = sa[r], i = (entry & MASK) - 1, flag = FLAG_OF(entry);
            group += is_s ? flag : 0;
            if (LIKELY(i != 0)) {
                SYMBOL c = text[i];
                SUFFIX(bucket) *bucket = &buckets[c][text[i - 1] <= c];
                sa[--bucket->next] = i | (bucket->group != group ? FLAG : 0);
                bucket->group = group;
            }
            group += is_s ? 0 : flag;
        }
        s->group = group;
        s->at = r;
        if (r > s->to) return; /* the budget is used up */
        if (!SUFFIX(next_run)(s)) break;
    }
    s->pass = PASS_REDUCE;
    REDUCE(start)(&s->names, s->m, s->n, s->n, BITMAPS_MAX_BYTES(s->n));
}

/* -------------------------------------------------------------------------------- B. names ---- */

static void SUFFIX(start_spread)(struct unitok_suffix *s);

/* Runs the passes of sort_reduce.h: first those that make the array of names, and, once its
 * suffixes are sorted, the others. If all LMS substrings differ, the names need no sorting. */
static void SUFFIX(reduce)(struct unitok_suffix *s, int64_t *budget)
{
    if (s->names.pass == REDUCE_SORTED) {
        free_reduction(&s->names);
        SUFFIX(start_spread)(s);
        return;
    }
    REDUCE(reduce)(s->sa, &s->names, budget);
    s->status = s->names.status;
    if (s->status == UNITOK_OK && s->names.pass == REDUCE_RECURSE) {
        LEVEL(start)(s, &s->levels[0], &s->names);
        s->pass = PASS_LEVELS;
    }
}

/* Sorts the suffixes of the names, and then begins to collect the LMS positions again, because the
 * names have overwritten them. */
static void SUFFIX(levels)(struct unitok_suffix *s, int64_t *budget)
{
    LEVEL(sort_levels)(s, budget);
    if (s->status != UNITOK_OK || s->depth > 0) return;
    mem_free(s->tight_runs);
    s->tight_runs = NULL;
    REDUCE(start_positions)(s->sa, &s->names);
    s->pass = PASS_POSITIONS;
    s->at = s->n - 1;
    s->type = 0;
}

/* A second pass over the text finds the LMS positions again. They were not kept, because there is
 * no memory for them besides the names. */
static void SUFFIX(positions)(struct unitok_suffix *s, int64_t *budget)
{
    int64_t found[BLOCK + 1];
    if (s->names.pass == REDUCE_MARK) {
        REDUCE(reduce)(s->sa, &s->names, budget);
        return;
    }
    while (s->at > 0 && *budget > 0) {
        int64_t n_found = SUFFIX(gather)(s, found, budget);
        REDUCE(add_positions)(s->sa, &s->names, found, n_found);
    }
    if (s->at > 0) return;
    s->pass = PASS_MERGE;
    s->names.pass = REDUCE_ORDER;
}

/* ------------------------------------------------------------------------- C. all suffixes ---- */

/* From here on all suffixes are sorted, not only those that lead to LMS suffixes, so the counts
 * must add up to the sizes of the buckets. */
static void SUFFIX(start_spread)(struct unitok_suffix *s)
{
    POSITION(*counts)[4] = s->counts;
    /* No suffix precedes suffix 0, so `count` has skipped it. */
    counts[((const SYMBOL *)s->text)[0]][s->first_type ? S_THEN_S : L_THEN_S]++;
    s->pass = PASS_SPREAD;
    s->at = s->m;
    s->to = s->n;
    s->symbol = s->n_symbols;
}

/* The number of suffixes that begin with symbol c, of all four kinds. */
INLINE int64_t SUFFIX(bucket_size)(const struct unitok_suffix *s, int64_t c)
{
    const POSITION *counts = ((const POSITION(*)[4])s->counts)[c];
    return (int64_t)counts[0] + (int64_t)counts[1] + (int64_t)counts[2] + (int64_t)counts[3];
}

/* Moves the sorted LMS positions, sa[0..m-1], to the ends of their buckets, the last one first. A
 * position never moves to a smaller index, so none is overwritten before it has moved. The entries
 * between them are not cleared: the next pass knows from the counts which entries have been written
 * and never reads the others. */
static void SUFFIX(spread)(struct unitok_suffix *s, int64_t *budget)
{
    POSITION *sa = s->sa, (*counts)[4] = s->counts;
    while (s->symbol > 0 && *budget > 0) {
        int64_t c = --s->symbol, n = (int64_t)counts[c][LMS], from = s->at - n, to = s->to - n;
        for (int64_t k = n - 1; k >= 0; k--) sa[to + k] = sa[from + k] & MASK;
        s->at = from;
        s->to -= SUFFIX(bucket_size)(s, c);
        *budget -= n + 1;
    }
    if (s->symbol > 0) return;
    POSITION *heads = s->buckets;
    int64_t begin = 0;
    for (int64_t c = 0; c < s->n_symbols; c++) {
        heads[c] = (POSITION)begin;
        begin += SUFFIX(bucket_size)(s, c);
    }
    const SYMBOL *text = s->text;
    int64_t last = s->n - 1;
    POSITION row = heads[text[last]]++;
    sa[row] = (POSITION)last | (text[last - 1] < text[last] ? FLAG : 0);
    if (s->samples.rows) take_row(s->samples, (uint64_t)last, row);
    s->pass = PASS_FINAL_LEFT;
    s->at = s->to = 0;
    s->symbol = -1;
    s->run = 1;
}

/* Advances to the next run that PASS_FINAL_LEFT reads, sa[at..to-1]: the L suffixes of a symbol
 * (run 0), then its LMS suffixes (run 1). */
INLINE int SUFFIX(next_run_up)(struct unitok_suffix *s)
{
    const POSITION(*counts)[4] = s->counts;
    if (s->run == 1) {
        if (++s->symbol == s->n_symbols) return 0;
        s->run = 0;
        s->to = s->at + (int64_t)counts[s->symbol][L_THEN_L] + (int64_t)counts[s->symbol][L_THEN_S];
        return 1;
    }
    s->run = 1;
    s->at += (int64_t)counts[s->symbol][S_THEN_S];
    s->to = s->at + (int64_t)counts[s->symbol][LMS];
    return 1;
}

/* The LMS entries have induced the L suffixes and are no longer needed. The S suffixes overwrite
 * them from the ends of the buckets. */
static void SUFFIX(start_final_right)(struct unitok_suffix *s)
{
    POSITION *tails = s->buckets;
    int64_t end = 0;
    for (int64_t c = 0; c < s->n_symbols; c++) {
        end += SUFFIX(bucket_size)(s, c);
        tails[c] = (POSITION)end;
    }
    s->pass = PASS_FINAL_RIGHT;
    s->at = s->n;
}

/* The flag of an entry tells the last pass whether the previous suffix is S. A run of L suffixes
 * grows while it is read: suffixes induced from an entry with the same symbol are placed after it.
 *
 * takes_before: see unitok_suffix_before. An L suffix from which another one has been induced is
 * replaced with the symbol before it, which has just been read. LMS suffixes are still needed, and
 * later overwritten. */
INLINE void SUFFIX(final_left)(struct unitok_suffix *s, int64_t *budget, int takes_before)
{
    const SYMBOL *text = s->text;
    POSITION *sa = s->sa, *heads = s->buckets;
    const row_samples samples = s->samples;
    for (;;) {
        int64_t r = s->at, stop = step_up(r, s->to, budget);
        int is_lms = s->run == 1;
        for (; r < stop; r++) {
            PREFETCH(text + LEVEL(before)(sa[r + 2 * AHEAD < s->n ? r + 2 * AHEAD : r], s->n));
            POSITION entry = sa[r], i = entry - 1;
            if (entry == 0 || entry & FLAG) continue;
            SYMBOL c = text[i];
            POSITION row = heads[c]++;
            sa[row] = i | (text[i - (i > 0)] < c ? FLAG : 0);
            if (!takes_before) continue;
            take_row(samples, i, row);
            if (!is_lms) sa[r] = c;
        }
        s->at = r;
        if (r < s->to) return; /* the budget is used up */
        if (!SUFFIX(next_run_up)(s)) break;
    }
    SUFFIX(start_final_right)(s);
}

/* Clears the flags, so that the result is a plain array of positions. LMS entries are overwritten
 * before they are read, because LMS suffixes are S suffixes like the others.
 *
 * takes_before: an entry without a flag is already a symbol. Nothing is induced from LMS suffixes
 * here, so they are placed as the symbols before them. */
INLINE void SUFFIX(final_right)(struct unitok_suffix *s, int64_t *budget, int takes_before)
{
    const SYMBOL *text = s->text;
    POSITION *sa = s->sa, *tails = s->buckets;
    const row_samples samples = s->samples;
    int64_t r = s->at, stop = step_down(r, 0, budget);
    while (r > stop) {
        r--;
        PREFETCH(text + LEVEL(before)(sa[r > 2 * AHEAD ? r - 2 * AHEAD : 0], s->n));
        POSITION entry = sa[r], i = (entry & MASK) - 1;
        if (!takes_before) sa[r] = entry & MASK;
        if (!(entry & FLAG)) continue;
        SYMBOL c = text[i], before = text[i - (i > 0)];
        POSITION row = --tails[c], flag = i > 0 && before <= c ? FLAG : 0;
        if (takes_before) {
            sa[r] = c;
            sa[row] = flag ? i | FLAG : i > 0 ? before : 0;
            take_row(samples, i, row);
        } else {
            sa[row] = i | flag;
        }
    }
    s->at = r;
    if (r == 0) s->pass = PASS_DONE;
}

static void SUFFIX(finish_left)(struct unitok_suffix *s, int64_t *budget)
{
    if (s->samples.rows) SUFFIX(final_left)(s, budget, 1);
    else SUFFIX(final_left)(s, budget, 0);
}

static void SUFFIX(finish_right)(struct unitok_suffix *s, int64_t *budget)
{
    if (s->samples.rows) SUFFIX(final_right)(s, budget, 1);
    else SUFFIX(final_right)(s, budget, 0);
}

/* -------------------------------------------------------------------------------- one step ---- */

/* Runs passes until the budget is used up. A pass subtracts its work from the budget, and returns
 * when it is done or the budget is used up. So a step takes about the same time in every pass. */
static void SUFFIX(step)(struct unitok_suffix *s, int64_t budget)
{
    static void (*const passes[PASS_DONE])(struct unitok_suffix *, int64_t *) = {
        [PASS_COUNT] = SUFFIX(count),
        [PASS_PLACE] = SUFFIX(place),
        [PASS_LEFT] = SUFFIX(left),
        [PASS_RIGHT] = SUFFIX(right),
        [PASS_REDUCE] = SUFFIX(reduce),
        [PASS_LEVELS] = SUFFIX(levels),
        [PASS_POSITIONS] = SUFFIX(positions),
        [PASS_MERGE] = SUFFIX(reduce),
        [PASS_SPREAD] = SUFFIX(spread),
        [PASS_FINAL_LEFT] = SUFFIX(finish_left),
        [PASS_FINAL_RIGHT] = SUFFIX(finish_right),
    };
    while (s->status == UNITOK_OK && s->pass != PASS_DONE && budget > 0) {
        int64_t before = budget;
        int32_t pass = s->pass;
        passes[pass](s, &budget);
        s->n_done_in_pass = s->pass == pass ? s->n_done_in_pass + before - budget : 0;
    }
}
