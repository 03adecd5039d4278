/* sort_tight.h - template: buckets without a table of buckets, for a level of names that has no
 * memory for a table
 *
 * A level is tight if nearly half of the suffixes of the level above are LMS, nearly all of their
 * names are kept and many of the names differ. This is rare, but a table of buckets would then need
 * as much memory as another quarter of the suffix array. Without a table, the name itself gives the
 * bucket: the name of an L suffix is the place where its bucket begins, and the name of an S suffix
 * is the place where its bucket ends. The entries already in a bucket show where the next one goes:
 *
 *     bucket of c      | L  L  L  .  .  .  .  S  S |         L suffixes, whose name is c: the run that begins here;
 *                       ^ c           c | FLAG ^             S suffixes, whose name is c | FLAG: the run that ends here
 *
 * The end of a run is found by doubling steps and then by binary search. The lengths of runs longer
 * than RUN are stored in `tight_runs`, so that every entry takes constant time: the first RUN + 1
 * places of such a run include a multiple of RUN, which is in no other run and so identifies the
 * run.
 *
 * The search requires runs without gaps, so entries stay in place after suffixes have been induced
 * from them, and a separate pass clears the S suffixes before they are induced again.
 */

#define RUN 1024

/* Starts `pass`, whose buckets have not been counted yet. */
INLINE void LEVEL(go)(sort_level *level, int32_t pass, int64_t at)
{
    level->pass = pass;
    level->at = at;
    level->to = level->n_counted = level->k_counted = 0;
    level->is_counted = 0;
}

/* Whether suffix i is S and the one before it is L, by the flags of their names. */
INLINE int LEVEL(is_lms)(const POSITION *text, int64_t i)
{
    return i > 0 && text[i] & FLAG && !(text[i - 1] & FLAG);
}

/* Whether an entry belongs to the run of a name: the runs of two names can be adjacent. */
INLINE int TIGHT(is_there)(const POSITION *text, POSITION entry, POSITION name)
{
    return entry != EMPTY && text[entry & MASK] == name;
}

/* Returns the place of the next entry of the run at `name`, which grows by `step`, 1 or -1. The
 * place is at least `floor`: the entries before that have not been placed yet. A run of up to RUN
 * entries is measured each time, which takes at most 2 log2(RUN) probes. */
static int64_t TIGHT(place)(const POSITION *sa, int64_t n, const POSITION *text, POSITION *runs,
                            POSITION name, int64_t step, int64_t floor)
{
    int64_t first = (int64_t)(name & MASK), most = step > 0 ? n - first : first + 1 - floor;
    int64_t low = 0, high = 1, number = step > 0 ? first / RUN + 1 : first / RUN;
    if (most > RUN && TIGHT(is_there)(text, sa[first + step * RUN], name))
        return first + step * (int64_t)runs[number]++;
    if (most > RUN) most = RUN;
    while (high <= most && TIGHT(is_there)(text, sa[first + step * (high - 1)], name)) {
        low = high;
        high *= 2;
    }
    high = high - 1 < most ? high - 1 : most;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (TIGHT(is_there)(text, sa[first + step * middle], name)) low = middle + 1;
        else high = middle;
    }
    if (low == RUN) runs[number] = RUN + 1;
    return first + step * low;
}

/* Counts each name in the first entry of its bucket, whose index is the name itself. */
static void TIGHT(count)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    POSITION *sa = s->sa, *text = sa + level->text;
    int64_t i = level->at, stop = step_up(i, level->n, budget);
    for (; i < stop; i++) {
        if (i + AHEAD < level->n) PREFETCH_WRITE(sa + (text[i + AHEAD] & MASK));
        sa[text[i] & MASK]++;
    }
    level->at = i;
    if (i == level->n) LEVEL(go)(level, TIGHT_ENDS, 0);
}

/* Turns the names of S suffixes into the ends of their buckets. The count of a bucket is stored at
 * its beginning, so its end is that place plus the count, minus 1. */
static void TIGHT(ends)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    POSITION *sa = s->sa, *text = sa + level->text;
    int64_t i = level->at, stop = step_up(i, level->n, budget);
    for (; i < stop; i++) {
        if (i + AHEAD < level->n) PREFETCH(sa + (text[i + AHEAD] & MASK));
        if (text[i] & FLAG) text[i] += sa[text[i] & MASK] - 1;
    }
    level->at = i;
    if (i < level->n) return;
    memset(sa, 0xFF, (size_t)level->n * sizeof(POSITION));
    LEVEL(go)(level, LEVEL_PLACE, level->n - 1);
}

/* Without this, the search for the end of a run of S suffixes would find entries of the previous
 * pass. */
static void TIGHT(clear)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    POSITION *sa = s->sa, *text = sa + level->text;
    int64_t r = level->at, stop = step_up(r, level->n, budget);
    for (; r < stop; r++)
        if (sa[r] != EMPTY && text[sa[r] & MASK] & FLAG) sa[r] = EMPTY;
    level->at = r;
    if (r == level->n)
        LEVEL(go)(level, level->pass == TIGHT_CLEAR ? LEVEL_RIGHT : LEVEL_FINAL_RIGHT, level->n);
}

/* Clears the lengths of long runs before a pass. Only runs of more than RUN entries store a length,
 * so n / RUN numbers suffice. */
static void TIGHT(start_runs)(struct unitok_suffix *s, sort_level *level)
{
    mem_free(s->tight_runs);
    s->tight_runs = mem_zalloc((size_t)(level->n / RUN + 2), sizeof(POSITION));
    if (!s->tight_runs) s->status = UNITOK_ERROR_MEMORY;
    level->is_counted = 1;
}
