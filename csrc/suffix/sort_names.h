/* sort_names.h - template: sorts the suffixes of an array of names, which is stored at the end of
 * the suffix array itself
 *
 *     sa   [ suffix array: n | buckets: k | ... ]    [ text: n ]
 *                                     capacity ^      ^ level->text
 *
 * The induction is a plain form of the one in sort_text.h. There may be as many names as suffixes,
 * so a bucket is one counter, and the type of a suffix is stored as the flag of its name in the
 * text: set for S. LMS substrings are compared symbol by symbol. The level below stores its text at
 * the end of this level's capacity, and its suffix array in place of this level's.
 *
 * A tight level has no bucket table; is_tight selects how next_place finds a place. The other
 * differences are described at each pass.
 *
 * A level is done when the suffixes of its names fill sa[0..n-1] in order; it then returns control
 * to the level above. Levels are records in an array instead of recursive calls, so a step can end
 * in the middle of any level:
 *
 *     level 0    names of the LMS substrings of the text          at most n / 2
 *     level 1    names of the LMS substrings of these names       at most n / 4
 *     ...        until all names of a level are different */

/* The buckets are stored after the suffix array. */
INLINE POSITION *LEVEL(buckets)(const struct unitok_suffix *s, const sort_level *level)
{
    return (POSITION *)s->sa + level->n;
}

/* The fields that next_place needs, copied to local variables so that the compiler need not reload
 * them after each write to the suffix array. */
struct LEVEL(places) {
    POSITION *sa, *text, *buckets, *runs;
    int64_t n;
    int is_tight;
};

INLINE struct LEVEL(places) LEVEL(places_of)(struct unitok_suffix *s, const sort_level *level)
{
    POSITION *sa = s->sa;
    return (struct LEVEL(places)){
        sa, sa + level->text, LEVEL(buckets)(s, level), s->tight_runs, level->n, level->is_tight};
}

/* The memory that next_place reads first for suffix i. */
INLINE const POSITION *LEVEL(bucket_of)(struct LEVEL(places) p, POSITION i)
{
    return (p.is_tight ? p.sa : p.buckets) + (p.text[i] & MASK);
}

/* Returns the place for suffix i, which is the next entry of its bucket, from the front (step 1) or
 * from the back (step -1). The entries before sa[floor] have not been placed yet. */
INLINE POSITION *LEVEL(next_place)(struct LEVEL(places) p, POSITION i, int64_t step, int64_t floor)
{
    if (UNLIKELY(p.is_tight))
        return p.sa + TIGHT(place)(p.sa, p.n, p.text, p.runs, p.text[i], step, floor);
    POSITION *next = p.buckets + (p.text[i] & MASK);
    return p.sa + (step > 0 ? (*next)++ : --*next);
}

/* Fills the buckets with their starts or their ends, and sets is_counted when done. The start of a
 * bucket is the end of the previous one. Counting the names would miss the cache for nearly every
 * name. */
static void LEVEL(count)(struct unitok_suffix *s, sort_level *level, int64_t *budget, int ends)
{
    POSITION *buckets = LEVEL(buckets)(s, level);
    int64_t i = level->n_counted, stop = step_up(i, level->n, budget), c = level->k_counted;
    if (i == 0 && !ends) buckets[c++] = 0;
    for (; i < stop; i += 64)
        for (uint64_t word = level->group_ends[i >> 6]; word && c < level->k; word &= word - 1)
            buckets[c++] = (POSITION)(i + lowest_bit(word) + 1);
    level->n_counted = i;
    level->k_counted = c;
    level->is_counted = i >= level->n;
}

/* ----------------------------------------------------------------------------------- types ---- */

/* As in sort_text.h, the type follows from two symbols and the type of the next suffix. Here it is
 * stored in the flag of the name, because names are read in random order later, and the flag saves
 * reading the second symbol. */
static void LEVEL(types)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    POSITION *text = (POSITION *)s->sa + level->text, type = (POSITION)level->type;
    int64_t i = level->at, stop = step_down(i, 0, budget), m = level->m;
    for (; i > stop; i--) {
        POSITION before = text[i - 1] < (text[i] & MASK) + type;
        m += (int64_t)(type & ~before);
        text[i - 1] |= before << (8 * sizeof(POSITION) - 1);
        type = before;
    }
    level->at = i;
    level->m = m;
    level->type = (int32_t)type;
    if (i > 0) return;
    memset(s->sa, level->is_tight ? 0 : 0xFF, (size_t)level->n * sizeof(POSITION));
    LEVEL(go)(level, level->is_tight ? TIGHT_COUNT : LEVEL_PLACE,
              level->is_tight ? 0 : level->n - 1);
}

/* Collects the LMS positions of the next block of the text, right to left, without a branch for
 * each. Returns their number. */
INLINE int64_t LEVEL(gather_lms)(const struct unitok_suffix *s, sort_level *level, int64_t *found,
                                 int64_t *budget)
{
    const POSITION *text = (const POSITION *)s->sa + level->text;
    int64_t n_found = 0, stop = level->at > BLOCK ? level->at - BLOCK : 0;
    for (int64_t i = level->at; i > stop; i--) {
        found[n_found] = i;
        n_found += (int64_t)FLAG_OF(text[i] & ~text[i - 1]);
    }
    *budget -= level->at - stop;
    level->at = stop;
    return n_found;
}

/* Two loops over the block: the first prefetches the buckets, each of which may miss the cache, and
 * the second uses them. */
static void LEVEL(place)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    const struct LEVEL(places) p = LEVEL(places_of)(s, level);
    int64_t found[BLOCK + 1];
    while (level->at > 0 && *budget > 0) {
        int64_t n_found = LEVEL(gather_lms)(s, level, found, budget);
        for (int64_t k = 0; k < n_found; k++)
            PREFETCH_WRITE(LEVEL(bucket_of)(p, (POSITION)found[k]));
        for (int64_t k = 0; k < n_found; k++)
            *LEVEL(next_place)(p, (POSITION)found[k], -1, 0) = (POSITION)found[k];
    }
    if (level->at == 0) LEVEL(go)(level, LEVEL_LEFT, 0);
}

/* ------------------------------------------------------------------------------- induction ---- */

/* The text position just before the suffix of an entry; 0, which is also safe to read, if the entry
 * has not been written yet. The position is only prefetched, so a wrong position costs time but
 * does not change the result. */
INLINE POSITION LEVEL(before)(POSITION entry, int64_t n)
{
    POSITION i = (entry & MASK) - 1;
    return i < (POSITION)n ? i : 0;
}

/* The entry for suffix i, flagged if suffix i - 1 is S. */
INLINE POSITION LEVEL(entry_of)(const POSITION *text, POSITION i)
{
    return i | (i > 0 ? text[i - 1] & FLAG : 0);
}

/* Induces the L suffixes. The first round only has to produce LMS positions, so an entry becomes 0
 * once a suffix has been induced from it, except on a tight level. */
static void LEVEL(left)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    const struct LEVEL(places) p = LEVEL(places_of)(s, level);
    POSITION *sa = p.sa, *text = p.text, last = (POSITION)(level->n - 1);
    int64_t n = level->n, r = level->at, stop = step_up(r, n, budget);
    int is_first = level->pass == LEVEL_LEFT, keeps = !is_first || level->is_tight;
    /* The last suffix is induced from the end of the text, which is smaller than all symbols. */
    if (r == 0) *LEVEL(next_place)(p, last, 1, 0) = LEVEL(entry_of)(text, last);
    for (; r < stop; r++) {
        POSITION later = sa[r + AHEAD < n ? r + AHEAD : r];
        PREFETCH(text + LEVEL(before)(sa[r + 2 * AHEAD < n ? r + 2 * AHEAD : r], n));
        PREFETCH_WRITE(LEVEL(bucket_of)(p, LEVEL(before)(later, n)));
        POSITION entry = sa[r], i = entry - 1;
        if (entry == 0 || entry & FLAG) continue;
        if (!keeps) sa[r] = 0;
        *LEVEL(next_place)(p, i, 1, 0) = LEVEL(entry_of)(text, i);
    }
    level->at = r;
    if (r < n) return;
    if (level->is_tight) LEVEL(go)(level, is_first ? TIGHT_CLEAR : TIGHT_FINAL_CLEAR, 0);
    else LEVEL(go)(level, is_first ? LEVEL_RIGHT : LEVEL_FINAL_RIGHT, n);
}

/* Induces the S suffixes in the same way. */
static void LEVEL(right)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    const struct LEVEL(places) p = LEVEL(places_of)(s, level);
    POSITION *sa = p.sa, *text = p.text;
    int64_t n = level->n, r = level->at, stop = step_down(r, 0, budget);
    int is_first = level->pass == LEVEL_RIGHT, keeps = !is_first || level->is_tight;
    while (r > stop) {
        r--;
        POSITION later = sa[r > AHEAD ? r - AHEAD : 0];
        PREFETCH(text + LEVEL(before)(sa[r > 2 * AHEAD ? r - 2 * AHEAD : 0], n));
        PREFETCH_WRITE(LEVEL(bucket_of)(p, LEVEL(before)(later, n)));
        POSITION entry = sa[r], i = (entry & MASK) - 1;
        if (!(entry & FLAG)) continue;
        sa[r] = keeps ? entry & MASK : 0;
        *LEVEL(next_place)(p, i, -1, 0) = LEVEL(entry_of)(text, i);
    }
    level->at = r;
    if (r > 0) return;
    if (is_first) LEVEL(go)(level, LEVEL_GATHER, 0);
    else s->depth--;
}

/* ----------------------------------------------------------------------------------- names ---- */

/* Moves the LMS positions to the front. All other entries are 0, except on a tight level, which
 * keeps all suffixes. Every entry is copied to sa[to], but `to` advances only past LMS
 * positions. */
static void LEVEL(gather)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    POSITION *sa = s->sa, *text = sa + level->text;
    int64_t r = level->at, stop = step_up(r, level->n, budget), to = level->to;
    for (; r < stop; r++) {
        POSITION entry = sa[r];
        sa[to] = entry;
        to += level->is_tight ? LEVEL(is_lms)(text, (int64_t)(entry & MASK)) : entry != 0;
    }
    level->at = r;
    level->to = to;
    if (r == level->n) LEVEL(go)(level, LEVEL_COMPARE, 1);
}

/* Compares the LMS substrings at i and j; subtracts the number of symbols compared from the budget.
 * Both substrings end at their next LMS position, inclusive. They are equal only if their lengths
 * and all their symbols are equal. The lengths of all LMS substrings add up to at most 2 n, so the
 * comparisons of a level take O(n) in total. */
static int LEVEL(same)(const POSITION *text, int64_t n, int64_t i, int64_t j, int64_t *budget)
{
    for (int64_t k = 0;; k++) {
        if (i + k == n || j + k == n || text[i + k] != text[j + k]) return 0;
        if (k == 0) continue;
        --*budget;
        int i_ends = LEVEL(is_lms)(text, i + k), j_ends = LEVEL(is_lms)(text, j + k);
        if (i_ends | j_ends) return i_ends & j_ends;
    }
}

/* Flags the last entry of each group of equal LMS substrings. The positions are sorted by
 * substring, so equal ones are neighbours. */
static void LEVEL(compare)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    POSITION *sa = s->sa, *text = sa + level->text;
    int64_t r = level->at;
    for (; r < level->m && *budget > 0; r++) {
        if (r + AHEAD < level->m) PREFETCH(text + sa[r + AHEAD]);
        if (!LEVEL(same)(text, level->n, (int64_t)sa[r - 1], (int64_t)sa[r], budget))
            sa[r - 1] |= FLAG;
        --*budget;
    }
    level->at = r;
    if (r < level->m) return;
    if (level->m > 0) sa[level->m - 1] |= FLAG;
    REDUCE(start)(&level->names, level->m, level->n, level->capacity, level->bitmap_bytes);
    LEVEL(go)(level, LEVEL_REDUCE, 0);
}

/* Starts a level with the array of names that a reduction has made. The level may use the memory
 * before the data that the levels above have stored at the end of the suffix array. */
static void LEVEL(start)(struct unitok_suffix *s, sort_level *level, const reduction *names)
{
    memset(level, 0, sizeof *level);
    level->text = names->capacity - names->n_kept;
    level->n = names->n_kept;
    level->k = names->n_names;
    level->capacity = names->capacity - names->m;
    level->is_tight = names->is_tight;
    level->group_ends = names->group_ends;
    level->bitmap_bytes = names->bitmap_bytes;
    level->at = level->n - 1;
    s->depth++;
}

/* Like PASS_REDUCE and PASS_MERGE: first makes the names, and, once the level below has sorted
 * them, sorts the LMS suffixes. The level below overwrites the buckets of this level, but each pass
 * that needs them fills them first. */
static void LEVEL(reduce_names)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    if (level->names.pass == REDUCE_SORTED) {
        free_reduction(&level->names);
        LEVEL(go)(level, LEVEL_SPREAD, level->m);
        return;
    }
    REDUCE(reduce)(s->sa, &level->names, budget);
    s->status = level->names.status;
    if (s->status == UNITOK_OK && level->names.pass == REDUCE_RECURSE) {
        LEVEL(go)(level, LEVEL_POSITIONS, level->n - 1); /* when the next level is done */
        LEVEL(start)(s, level + 1, &level->names);
    }
}

/* Marks any LMS positions that were left out, and collects the others in text order. */
static void LEVEL(positions)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    int64_t found[BLOCK + 1];
    if (level->names.pass == REDUCE_RECURSE) REDUCE(start_positions)(s->sa, &level->names);
    if (level->names.pass == REDUCE_MARK) {
        REDUCE(reduce)(s->sa, &level->names, budget);
        return;
    }
    while (level->at > 0 && *budget > 0) {
        int64_t n_found = LEVEL(gather_lms)(s, level, found, budget);
        REDUCE(add_positions)(s->sa, &level->names, found, n_found);
    }
    if (level->at > 0) return;
    level->names.pass = REDUCE_ORDER;
    LEVEL(go)(level, LEVEL_REDUCE, 0);
}

/* Moves the sorted LMS positions, sa[0..m-1], to the ends of their buckets, the last one first, so
 * that none is overwritten before it has moved. Unlike in sort_text.h, there are no counts by kind,
 * so a pass cannot know which entries have been written. Therefore everything after the LMS
 * positions is set to EMPTY, and an entry becomes EMPTY when its position moves. */
static void LEVEL(spread)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    const struct LEVEL(places) p = LEVEL(places_of)(s, level);
    POSITION *sa = p.sa, *text = p.text;
    if (level->at == level->m)
        memset(sa + level->m, 0xFF, (size_t)(level->n - level->m) * sizeof(POSITION));
    for (; level->at > 0 && *budget > 0; --*budget) {
        int64_t r = --level->at;
        if (r > 2 * AHEAD) PREFETCH(text + (sa[r - 2 * AHEAD] & MASK));
        if (r > AHEAD) PREFETCH_WRITE(LEVEL(bucket_of)(p, sa[r - AHEAD] & MASK));
        POSITION i = sa[r] & MASK;
        sa[r] = EMPTY;
        *LEVEL(next_place)(p, i, -1, r) = i;
    }
    if (level->at == 0) LEVEL(go)(level, LEVEL_FINAL_LEFT, 0);
}

/* -------------------------------------------------------------------------------- one step ---- */

/* Sorts the levels of names as far as the budget allows; s->depth is 0 when all are done. The table
 * lists the passes and what each needs in the buckets. Counting is a separate pass, which runs
 * before each pass that needs it. */
static void LEVEL(sort_levels)(struct unitok_suffix *s, int64_t *budget)
{
    static const struct {
        void (*run)(struct unitok_suffix *, sort_level *, int64_t *);
        enum { NO_BUCKETS, STARTS, ENDS } needs;
    } passes[LEVEL_PASSES] = {
        [LEVEL_TYPES] = {LEVEL(types), NO_BUCKETS},
        [TIGHT_COUNT] = {TIGHT(count), NO_BUCKETS},
        [TIGHT_ENDS] = {TIGHT(ends), NO_BUCKETS},
        [LEVEL_PLACE] = {LEVEL(place), ENDS},
        [LEVEL_LEFT] = {LEVEL(left), STARTS},
        [TIGHT_CLEAR] = {TIGHT(clear), NO_BUCKETS},
        [LEVEL_RIGHT] = {LEVEL(right), ENDS},
        [LEVEL_GATHER] = {LEVEL(gather), NO_BUCKETS},
        [LEVEL_COMPARE] = {LEVEL(compare), NO_BUCKETS},
        [LEVEL_REDUCE] = {LEVEL(reduce_names), NO_BUCKETS},
        [LEVEL_POSITIONS] = {LEVEL(positions), NO_BUCKETS},
        [LEVEL_SPREAD] = {LEVEL(spread), ENDS},
        [LEVEL_FINAL_LEFT] = {LEVEL(left), STARTS},
        [TIGHT_FINAL_CLEAR] = {TIGHT(clear), NO_BUCKETS},
        [LEVEL_FINAL_RIGHT] = {LEVEL(right), ENDS},
    };
    while (s->depth > 0 && *budget > 0 && s->status == UNITOK_OK) {
        sort_level *level = &s->levels[s->depth - 1];
        int needs = passes[level->pass].needs;
        if (needs == NO_BUCKETS || level->is_counted) passes[level->pass].run(s, level, budget);
        else if (level->is_tight) TIGHT(start_runs)(s, level);
        else LEVEL(count)(s, level, budget, needs == ENDS);
    }
}
