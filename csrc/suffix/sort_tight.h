/* sort_tight.h - template: the passes of a level of names that has no room for buckets, in place of
 * those in sort_names.h
 *
 *   parameter   example
 *   POSITION    uint32_t
 *   LEVEL(x), TIGHT(x)   level_##x##_32, tight_##x##_32    names of functions
 *
 * A level is tight if nearly every other suffix of the level above is LMS, and nearly all of their
 * names are kept and many differ. That is rare, but buckets would then take up to a quarter of the
 * suffix array again. Without them, a name says where its bucket is: for an L suffix where it
 * begins, for an S suffix where it ends. What the bucket already holds tells where the next entry
 * goes:
 *
 *     bucket of c      | L  L  L  .  .  .  .  S  S |         L suffixes whose name is c: the run that begins here,
 *                       ^ c           c | FLAG ^             S suffixes whose name is c | FLAG: the run that ends here
 *
 * The end of a run is found by steps that double, then by halving. The length of a run longer than
 * RUN is kept in `tight_runs`: one of its first RUN + 1 places is a multiple of RUN, that of no
 * other run, and numbers it. So every entry takes constant time.
 *
 * Entries stay where they are when something was induced from them, and S suffixes are cleared
 * before they are induced from the L suffixes.
 */

#define RUN 1024

/* Goes on to `pass`; its buckets are still to be counted. */
INLINE void LEVEL(go)(sort_level *level, int32_t pass, int64_t at)
{
    level->pass = pass;
    level->at = at;
    level->to = level->counted = 0;
    level->is_counted = 0;
}

INLINE int LEVEL(is_lms)(const POSITION *text, int64_t i)
{
    return i > 0 && text[i] & FLAG && !(text[i - 1] & FLAG);
}

/* The LMS positions of text[stop..from], found right to left, without a branch for each. */
INLINE int64_t LEVEL(gather_lms)(const POSITION *text, int64_t from, int64_t stop, int64_t *found)
{
    int64_t n_found = 0;
    for (int64_t i = from; i > stop; i--) {
        found[n_found] = i;
        n_found += (int64_t)FLAG_OF(text[i] & ~text[i - 1]);
    }
    return n_found;
}

/* What lies before the suffix that an entry of the array speaks of: its place in the text, or 0 if
 * that says nothing. */
INLINE POSITION LEVEL(before)(POSITION entry, int64_t n)
{
    POSITION i = (entry & MASK) - 1;
    return i < (POSITION)n ? i : 0;
}

INLINE int TIGHT(is_there)(const POSITION *text, POSITION entry, POSITION name)
{
    return entry != EMPTY && text[entry & MASK] == name;
}

/* The place of the next entry of the run at name, which grows by `step`, 1 or -1; it stays above
 * sa[floor - 1]. */
static int64_t TIGHT(place)(const sort_level *level, const POSITION *sa, const POSITION *text,
                            POSITION *runs, POSITION name, int64_t step, int64_t floor)
{
    int64_t first = (int64_t)(name & MASK), room = step > 0 ? level->n - first : first + 1 - floor;
    int64_t low = 0, high = 1, number = step > 0 ? first / RUN + 1 : first / RUN;
    if (room > RUN && TIGHT(is_there)(text, sa[first + step * RUN], name))
        return first + step * (int64_t)runs[number]++;
    if (room > RUN) room = RUN;
    while (high <= room && TIGHT(is_there)(text, sa[first + step * (high - 1)], name)) {
        low = high;
        high *= 2;
    }
    high = high - 1 < room ? high - 1 : room;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (TIGHT(is_there)(text, sa[first + step * middle], name)) low = middle + 1;
        else high = middle;
    }
    if (low == RUN) runs[number] = RUN + 1;
    return first + step * low;
}

INLINE void TIGHT(put)(const sort_level *level, POSITION *sa, const POSITION *text, POSITION *runs,
                       int64_t i, POSITION entry, int64_t floor)
{
    POSITION name = text[i];
    sa[TIGHT(place)(level, sa, text, runs, name, name & FLAG ? -1 : 1, floor)] = entry;
}

/* ------------------------------------------------------------------------------------------ the
 * ends ---- */

/* How long each bucket is, at its beginning. */
static void TIGHT(count)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    POSITION *sa = s->sa, *text = sa + level->text;
    int64_t i = level->at, stop = level->n - i > *budget ? i + *budget : level->n;
    *budget -= stop - i;
    for (; i < stop; i++) {
        if (i + AHEAD < level->n) PREFETCH_WRITE(sa + (text[i + AHEAD] & MASK));
        sa[text[i] & MASK]++;
    }
    level->at = i;
    if (i == level->n) LEVEL(go)(level, TIGHT_ENDS, 0);
}

static void TIGHT(ends)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    POSITION *sa = s->sa, *text = sa + level->text;
    int64_t i = level->at, stop = level->n - i > *budget ? i + *budget : level->n;
    *budget -= stop - i;
    for (; i < stop; i++) {
        if (i + AHEAD < level->n) PREFETCH(sa + (text[i + AHEAD] & MASK));
        if (text[i] & FLAG) text[i] += sa[text[i] & MASK] - 1;
    }
    level->at = i;
    if (i < level->n) return;
    memset(sa, 0xFF, (size_t)level->n * sizeof(POSITION));
    LEVEL(go)(level, LEVEL_PLACE, level->n - 1);
}

static int32_t TIGHT(start_runs)(struct unitok_suffix *s, const sort_level *level)
{
    mem_free(s->tight_runs);
    s->tight_runs = mem_zalloc((size_t)(level->n / RUN + 2), sizeof(POSITION));
    return s->tight_runs ? UNITOK_OK : UNITOK_ERROR_MEMORY;
}

/* ------------------------------------------------------------------------------------------
 * induction ---- */

static void TIGHT(place_lms)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    POSITION *sa = s->sa, *text = sa + level->text;
    int64_t found[BLOCK + 1];
    while (level->at > 0 && *budget > 0) {
        int64_t stop = level->at > BLOCK ? level->at - BLOCK : 0;
        int64_t n_found = LEVEL(gather_lms)(text, level->at, stop, found);
        for (int64_t k = 0; k < n_found; k++) PREFETCH_WRITE(sa + (text[found[k]] & MASK));
        for (int64_t k = 0; k < n_found; k++)
            TIGHT(put)(level, sa, text, s->tight_runs, found[k], (POSITION)found[k], 0);
        *budget -= level->at - stop;
        level->at = stop;
    }
    if (level->at == 0) LEVEL(go)(level, LEVEL_LEFT, 0);
}

static void TIGHT(left)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    POSITION *sa = s->sa, *text = sa + level->text;
    int64_t n = level->n, r = level->at, stop = n - r > *budget ? r + *budget : n, last = n - 1;
    if (r == 0) /* the last suffix, as if induced from an end that is smaller than all */
        TIGHT(put)(level, sa, text, s->tight_runs, last,
                   (POSITION)last | (last > 0 ? text[last - 1] & FLAG : 0), 0);
    *budget -= stop - r;
    for (; r < stop; r++) {
        PREFETCH(text + LEVEL(before)(sa[r + 2 * AHEAD < n ? r + 2 * AHEAD : r], n));
        PREFETCH_WRITE(sa + (text[LEVEL(before)(sa[r + AHEAD < n ? r + AHEAD : r], n)] & MASK));
        POSITION entry = sa[r], i = entry - 1;
        if (entry == 0 || entry & FLAG) continue;
        TIGHT(put)(level, sa, text, s->tight_runs, (int64_t)i, i | (i > 0 ? text[i - 1] & FLAG : 0),
                   0);
    }
    level->at = r;
    if (r == n) LEVEL(go)(level, level->pass == LEVEL_LEFT ? TIGHT_CLEAR : TIGHT_FINAL_CLEAR, 0);
}

static void TIGHT(clear)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    POSITION *sa = s->sa, *text = sa + level->text;
    int64_t r = level->at, stop = level->n - r > *budget ? r + *budget : level->n;
    *budget -= stop - r;
    for (; r < stop; r++)
        if (sa[r] != EMPTY && text[sa[r] & MASK] & FLAG) sa[r] = EMPTY;
    level->at = r;
    if (r == level->n)
        LEVEL(go)(level, level->pass == TIGHT_CLEAR ? LEVEL_RIGHT : LEVEL_FINAL_RIGHT, level->n);
}

static void TIGHT(right)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    POSITION *sa = s->sa, *text = sa + level->text;
    int64_t n = level->n, r = level->at, stop = r > *budget ? r - *budget : 0;
    *budget -= r - stop;
    while (r > stop) {
        PREFETCH(text + LEVEL(before)(sa[r > 2 * AHEAD ? r - 2 * AHEAD : 0], n));
        PREFETCH_WRITE(sa + (text[LEVEL(before)(sa[r > AHEAD ? r - AHEAD : 0], n)] & MASK));
        POSITION entry = sa[--r], i = (entry & MASK) - 1;
        sa[r] = entry & MASK;
        if (!(entry & FLAG)) continue;
        TIGHT(put)(level, sa, text, s->tight_runs, (int64_t)i, i | (i > 0 ? text[i - 1] & FLAG : 0),
                   0);
    }
    level->at = r;
    if (r > 0) return;
    if (level->pass == LEVEL_RIGHT) LEVEL(go)(level, LEVEL_GATHER, 0);
    else s->depth--;
}

/* The LMS positions, sorted by their substrings: all suffixes are there. */
static void TIGHT(gather)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    POSITION *sa = s->sa, *text = sa + level->text;
    int64_t r = level->at, stop = level->n - r > *budget ? r + *budget : level->n, to = level->to;
    *budget -= stop - r;
    for (; r < stop; r++) {
        POSITION entry = sa[r];
        sa[to] = entry;
        to += LEVEL(is_lms)(text, (int64_t)entry);
    }
    level->at = r;
    level->to = to;
    if (r == level->n) LEVEL(go)(level, LEVEL_COMPARE, 1);
}

/* Entries not yet spread are below r: the search for a place does not look at them. */
static void TIGHT(spread)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    POSITION *sa = s->sa, *text = sa + level->text;
    if (level->at == level->m)
        memset(sa + level->m, 0xFF, (size_t)(level->n - level->m) * sizeof(POSITION));
    for (; level->at > 0 && *budget > 0; --*budget) {
        int64_t r = --level->at;
        if (r > 2 * AHEAD) PREFETCH(text + (sa[r - 2 * AHEAD] & MASK));
        if (r > AHEAD) PREFETCH_WRITE(sa + (text[sa[r - AHEAD] & MASK] & MASK));
        POSITION i = sa[r] & MASK;
        sa[r] = EMPTY;
        TIGHT(put)(level, sa, text, s->tight_runs, (int64_t)i, i, r);
    }
    if (level->at == 0) LEVEL(go)(level, LEVEL_FINAL_LEFT, 0);
}

/* Runs the pass if it is one that a tight level does in its own way; else 0. */
static int TIGHT(run)(struct unitok_suffix *s, sort_level *level, int64_t *budget, int32_t *status)
{
    switch (level->pass) {
    case LEVEL_PLACE:
    case LEVEL_LEFT:
    case LEVEL_RIGHT:
    case LEVEL_SPREAD:
    case LEVEL_FINAL_LEFT:
    case LEVEL_FINAL_RIGHT:
        if (level->is_counted) break;
        *status = TIGHT(start_runs)(s, level); /* new ones for each pass */
        if (*status != UNITOK_OK) return 1;
        level->is_counted = 1;
        break;
    default:
        break;
    }
    switch (level->pass) {
    case TIGHT_COUNT:
        TIGHT(count)(s, level, budget);
        return 1;
    case TIGHT_ENDS:
        TIGHT(ends)(s, level, budget);
        return 1;
    case LEVEL_PLACE:
        TIGHT(place_lms)(s, level, budget);
        return 1;
    case LEVEL_LEFT:
    case LEVEL_FINAL_LEFT:
        TIGHT(left)(s, level, budget);
        return 1;
    case TIGHT_CLEAR:
    case TIGHT_FINAL_CLEAR:
        TIGHT(clear)(s, level, budget);
        return 1;
    case LEVEL_RIGHT:
    case LEVEL_FINAL_RIGHT:
        TIGHT(right)(s, level, budget);
        return 1;
    case LEVEL_GATHER:
        TIGHT(gather)(s, level, budget);
        return 1;
    case LEVEL_SPREAD:
        TIGHT(spread)(s, level, budget);
        return 1;
    default:
        return 0;
    }
}
