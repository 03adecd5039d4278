/* sort_text.h - template: sorts the suffixes of a text by induction, from LMS suffixes that are
 * sorted first
 *
 *   parameter   example
 *   SYMBOL      uint16_t             an element of the text
 *   POSITION    uint32_t             a position; its top bit is a flag
 *   SUFFIX(x)   suffix_##x##_16_32   names of functions
 *   LEVEL(x), REDUCE(x), FLAG, MASK  see sort_names.h and sort_reduce.h, which are included first
 *
 * Suffix i is S if it is smaller than suffix i + 1, else L; the last one is L. It is LMS if it is S
 * and i - 1 is L. What the suffix i is to the one before it, follows from text[i - 1] and text[i],
 * so types are never stored:
 *     type(i - 1) = text[i - 1] < text[i] + type(i)        (1: S, 0: L)
 * Suffixes of one first symbol fall into four kinds: by their own type, and by the type of the
 * suffix before.
 *
 *                  own type   before                                  a symbol's bucket in the suffix array
 *     L_THEN_L     L          L                                       ┌──────────────────┬───────────────────┐
 *     L_THEN_S     L          S                                       │ L suffixes, both │ S suffixes, both  │
 *     LMS          S          L                                       │ kinds mixed      │ kinds mixed       │
 *     S_THEN_S     S          S                                       └──────────────────┴───────────────────┘
 *
 * A. Sort the LMS substrings (each from one LMS position to the next, inclusive). Only their order
 * matters, so the kinds are kept apart, and every entry read is one that induces another; no branch
 * depends on the data.
 *
 *     sa   [ L_THEN_L of symbol 0 | LMS of 0 | L_THEN_L of 1 | LMS of 1 | ... ][ L_THEN_S of 0 | S_THEN_S of 0 | ... ]
 *           read by LEFT, upwards; it fills L_THEN_L and L_THEN_S                read by RIGHT, downwards
 *     sa   [ sorted LMS ............... ]                                        RIGHT fills S_THEN_S and these
 *
 * An entry's flag says that its substring differs from that of the entry before it in its bucket
 * (in the order of writing). Two entries have equal substrings if their symbols are equal and they
 * were induced from equal ones: so each bucket keeps the number of the group that wrote into it
 * last, and no substring is ever compared.
 *
 * B. Name the LMS substrings in sorted order (sort_reduce.h). If they are not all different, sort
 * the suffixes of the array of names (sort_names.h).
 *
 * C. From the sorted LMS suffixes induce all L suffixes, from these all S suffixes. An entry's flag
 * says that it is for RIGHT to continue from; LEFT continues from those that have none and are not
 * position 0.
 */

/* Where the next entry goes, and the group of the last one. */
typedef struct SUFFIX(bucket) {
    POSITION next, group;
} SUFFIX(bucket);

/* Symbols compare as 64-bit numbers, so that "+ type" cannot overflow. */
INLINE int32_t SUFFIX(type)(const SYMBOL *text, int64_t i, int32_t type_of_next)
{
    return (int64_t)text[i] < (int64_t)text[i + 1] + type_of_next;
}

/* ------------------------------------------------------------------------------------------ A. LMS
 * substrings ---- */

static int32_t SUFFIX(count)(struct unitok_suffix *s, int64_t *budget)
{
    const SYMBOL *text = s->text;
    POSITION(*counts)[4] = s->counts;
    int64_t i = s->at, stop = i > *budget ? i - *budget : 0;
    int32_t type = s->type;
    *budget -= i - stop;
    for (; i > stop; i--) {
        if (sizeof(SYMBOL) > 2 && UNLIKELY((uint64_t)text[i] >= (uint64_t)s->n_symbols)) {
            s->at = i;
            return UNITOK_ERROR_ARGUMENT;
        }
        int32_t before = SUFFIX(type)(text, i - 1, type);
        counts[text[i]][2 * type + before]++;
        type = before;
    }
    s->at = i;
    s->type = type;
    if (i > 0) return UNITOK_OK;
    if (sizeof(SYMBOL) > 2 && UNLIKELY((uint64_t)text[0] >= (uint64_t)s->n_symbols))
        return UNITOK_ERROR_ARGUMENT;
    s->first_type = type;
    s->m = 0;
    SUFFIX(bucket)(*buckets)[2] = s->buckets;
    int64_t end = 0;
    /* LMS positions grow downwards from the end of their run */
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
    return UNITOK_OK;
}

/* The LMS positions of text[stop..from], found right to left, without a branch for each. */
INLINE int64_t SUFFIX(gather)(const SYMBOL *text, int64_t from, int64_t stop, int32_t *io_type,
                              int64_t *found)
{
    int64_t n_found = 0;
    int32_t type = *io_type;
    for (int64_t i = from; i > stop; i--) {
        int32_t before = SUFFIX(type)(text, i - 1, type);
        found[n_found] = i;
        n_found += type & ~before;
        type = before;
    }
    *io_type = type;
    return n_found;
}

static void SUFFIX(start_left)(struct unitok_suffix *s);

static void SUFFIX(place)(struct unitok_suffix *s, int64_t *budget)
{
    const SYMBOL *text = s->text;
    POSITION *sa = s->sa;
    SUFFIX(bucket)(*buckets)[2] = s->buckets;
    int64_t found[BLOCK + 1];
    while (s->at > 0 && *budget > 0) {
        int64_t stop = s->at > BLOCK ? s->at - BLOCK : 0;
        int64_t n_found = SUFFIX(gather)(text, s->at, stop, &s->type, found);
        for (int64_t k = 0; k < n_found; k++)
            sa[buckets[text[found[k]]][0].next++] = (POSITION)found[k];
        *budget -= s->at - stop;
        s->at = stop;
    }
    if (s->at == 0) SUFFIX(start_left)(s);
}

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
    s->group = 1; /* the last suffix, as if induced from an end that is smaller than all */
    SUFFIX(bucket) *bucket = &buckets[text[s->n - 1]][text[s->n - 2] < text[s->n - 1]];
    sa[bucket->next++] = (POSITION)(s->n - 1) | FLAG;
    bucket->group = 1;
    s->pass = PASS_LEFT;
    s->at = 0;
}

/* Where to look for what lies before the suffix of an entry, which may not be written yet: a place
 * in the text. */
INLINE POSITION SUFFIX(before)(POSITION entry, int64_t n)
{
    POSITION i = (entry & MASK) - 1;
    return i < (POSITION)n ? i : 0;
}

static void SUFFIX(start_right)(struct unitok_suffix *s);

static void SUFFIX(left)(struct unitok_suffix *s, int64_t *budget)
{
    const SYMBOL *text = s->text;
    POSITION *sa = s->sa;
    SUFFIX(bucket)(*buckets)[2] = s->buckets;
    POSITION group = (POSITION)s->group;
    int64_t r = s->at, stop = s->n_active - r > *budget ? r + *budget : s->n_active;
    *budget -= stop - r;
    for (; r < stop; r++) {
        PREFETCH(text + SUFFIX(before)(sa[r + 2 * AHEAD < s->n_active ? r + 2 * AHEAD : r], s->n));
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

/* Goes to the next run that PASS_RIGHT reads, sa[to..at-1]; 0 if there is none. */
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

static void SUFFIX(right)(struct unitok_suffix *s, int64_t *budget)
{
    const SYMBOL *text = s->text;
    POSITION *sa = s->sa;
    SUFFIX(bucket)(*buckets)[2] = s->buckets;
    for (;;) {
        int64_t r = s->at, stop = r - s->to > *budget ? r - *budget : s->to;
        POSITION group = (POSITION)s->group;
        /* Flags of S suffixes were written downwards and say that a group begins; those of L
         * suffixes, upwards. */
        int is_s = s->run == 1;
        *budget -= r - stop;
        while (r > stop) {
            r--;
            PREFETCH(text + SUFFIX(before)(sa[r > 2 * AHEAD ? r - 2 * AHEAD : 0], s->n));
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
    REDUCE(start)(&s->names, s->m, s->n, s->n, BITMAPS_ROOM(s->n));
}

/* ------------------------------------------------------------------------------------------ B.
 * names ---- */

static void SUFFIX(start_spread)(struct unitok_suffix *s);

static int32_t SUFFIX(reduce)(struct unitok_suffix *s, int64_t *budget)
{
    if (s->names.pass == REDUCE_SORTED) {
        free_reduction(&s->names);
        SUFFIX(start_spread)(s);
        return UNITOK_OK;
    }
    int32_t status = REDUCE(reduce)(s->sa, &s->names, budget);
    if (status == UNITOK_OK && s->names.pass == REDUCE_RECURSE) {
        LEVEL(start)(s, &s->levels[0], &s->names);
        s->pass = PASS_LEVELS;
    }
    return status;
}

static int32_t SUFFIX(levels)(struct unitok_suffix *s, int64_t *budget)
{
    int32_t status = LEVEL(sort_levels)(s, budget);
    if (status != UNITOK_OK || s->depth > 0) return status;
    mem_free(s->tight_runs);
    s->tight_runs = NULL;
    REDUCE(start_positions)(s->sa, &s->names);
    s->pass = PASS_POSITIONS;
    s->at = s->n - 1;
    s->type = 0;
    return UNITOK_OK;
}

static void SUFFIX(positions)(struct unitok_suffix *s, int64_t *budget)
{
    int64_t found[BLOCK + 1];
    if (s->names.pass == REDUCE_MARK) {
        REDUCE(mark)(s->sa, &s->names, budget);
        return;
    }
    while (s->at > 0 && *budget > 0) {
        int64_t stop = s->at > BLOCK ? s->at - BLOCK : 0;
        int64_t n_found = SUFFIX(gather)(s->text, s->at, stop, &s->type, found);
        REDUCE(add_positions)(s->sa, &s->names, found, n_found);
        *budget -= s->at - stop;
        s->at = stop;
    }
    if (s->at > 0) return;
    s->pass = PASS_MERGE;
    s->names.pass = REDUCE_ORDER;
}

/* ------------------------------------------------------------------------------------------ C. all
 * suffixes ---- */

static void SUFFIX(start_spread)(struct unitok_suffix *s)
{
    POSITION(*counts)[4] = s->counts;
    /* until here left out */
    counts[((const SYMBOL *)s->text)[0]][s->first_type ? S_THEN_S : L_THEN_S]++;
    s->pass = PASS_SPREAD;
    s->at = s->m;
    s->to = s->n;
    s->symbol = s->n_symbols;
}

INLINE int64_t SUFFIX(bucket_size)(const struct unitok_suffix *s, int64_t c)
{
    const POSITION *counts = ((const POSITION(*)[4])s->counts)[c];
    return (int64_t)counts[0] + (int64_t)counts[1] + (int64_t)counts[2] + (int64_t)counts[3];
}

/* The sorted LMS positions, sa[0..m-1], to the ends of their buckets. */
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
    sa[heads[text[last]]++] = (POSITION)last | (text[last - 1] < text[last] ? FLAG : 0);
    s->pass = PASS_FINAL_LEFT;
    s->at = s->to = 0;
    s->symbol = -1;
    s->run = 1;
}

/* PASS_FINAL_LEFT reads sa[at..to-1]: the L suffixes of a symbol (run 0), then its LMS suffixes
 * (run 1). */
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

static void SUFFIX(final_left)(struct unitok_suffix *s, int64_t *budget)
{
    const SYMBOL *text = s->text;
    POSITION *sa = s->sa, *heads = s->buckets;
    for (;;) {
        int64_t r = s->at, stop = s->to - r > *budget ? r + *budget : s->to;
        *budget -= stop - r;
        for (; r < stop; r++) {
            PREFETCH(text + SUFFIX(before)(sa[r + 2 * AHEAD < s->n ? r + 2 * AHEAD : r], s->n));
            POSITION entry = sa[r], i = entry - 1;
            if (entry == 0 || entry & FLAG) continue;
            SYMBOL c = text[i];
            sa[heads[c]++] = i | (text[i - (i > 0)] < c ? FLAG : 0);
        }
        s->at = r;
        if (r < s->to) return; /* the budget is used up */
        if (!SUFFIX(next_run_up)(s)) break;
    }
    SUFFIX(start_final_right)(s);
}

static void SUFFIX(final_right)(struct unitok_suffix *s, int64_t *budget)
{
    const SYMBOL *text = s->text;
    POSITION *sa = s->sa, *tails = s->buckets;
    int64_t r = s->at, stop = r > *budget ? r - *budget : 0;
    *budget -= r - stop;
    while (r > stop) {
        r--;
        PREFETCH(text + SUFFIX(before)(sa[r > 2 * AHEAD ? r - 2 * AHEAD : 0], s->n));
        POSITION entry = sa[r], i = (entry & MASK) - 1;
        sa[r] = entry & MASK;
        if (!(entry & FLAG)) continue;
        SYMBOL c = text[i];
        sa[--tails[c]] = i | (i > 0 && text[i - (i > 0)] <= c ? FLAG : 0);
    }
    s->at = r;
    if (r == 0) s->pass = PASS_DONE;
}

/* ------------------------------------------------------------------------------------------ one
 * step ---- */

static int32_t SUFFIX(run_pass)(struct unitok_suffix *s, int64_t *budget)
{
    switch (s->pass) {
    case PASS_COUNT:
        return SUFFIX(count)(s, budget);
    case PASS_PLACE:
        SUFFIX(place)(s, budget);
        break;
    case PASS_LEFT:
        SUFFIX(left)(s, budget);
        break;
    case PASS_RIGHT:
        SUFFIX(right)(s, budget);
        break;
    case PASS_REDUCE:
        return SUFFIX(reduce)(s, budget);
    case PASS_LEVELS:
        return SUFFIX(levels)(s, budget);
    case PASS_POSITIONS:
        SUFFIX(positions)(s, budget);
        break;
    case PASS_MERGE:
        return SUFFIX(reduce)(s, budget);
    case PASS_SPREAD:
        SUFFIX(spread)(s, budget);
        break;
    case PASS_FINAL_LEFT:
        SUFFIX(final_left)(s, budget);
        break;
    default:
        SUFFIX(final_right)(s, budget);
        break;
    }
    return UNITOK_OK;
}

static int32_t SUFFIX(step)(struct unitok_suffix *s, int64_t budget)
{
    int32_t status = UNITOK_OK;
    while (status == UNITOK_OK && s->pass != PASS_DONE && budget > 0) {
        int64_t before = budget;
        int32_t pass = s->pass;
        status = SUFFIX(run_pass)(s, &budget);
        s->n_done_in_pass = s->pass == pass ? s->n_done_in_pass + before - budget : 0;
    }
    return status;
}
