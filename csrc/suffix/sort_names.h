/* sort_names.h - template: sorts the suffixes of an array of names, which lies at the end of the
 * suffix array itself
 *
 *   parameter   example
 *   POSITION    uint32_t           a position, a name; the top bit is a flag
 *   LEVEL(x)    level_##x##_32    names of functions
 *   REDUCE(x), TIGHT(x)   see sort_reduce.h and sort_tight.h, which are included first
 *
 *     sa   [ suffix array: n | buckets: k | their starts: k | ... ]    [ text: n ]
 *                                                       capacity ^      ^ level->text
 * The same induction as in sort_text.h, in its plain form: there may be as many names as suffixes,
 * so a bucket is one counter, and the type of a suffix is stored, as the flag of its name in the
 * text. LMS substrings are compared symbol by symbol. The level below has its text where this one's
 * capacity ends, and its suffix array where this one has its own.
 */

/* ------------------------------------------------------------------------------------------
 * buckets ---- */

/* The buckets lie behind the suffix array. Where they do not fit, the level is tight and has none.
 */
INLINE POSITION *LEVEL(buckets)(struct unitok_suffix *s, const sort_level *level)
{
    return (POSITION *)s->sa + level->n;
}

/* Fills the buckets with their starts, or with `ends` their ends; sets is_counted when that is
 * done. */
static void LEVEL(count)(struct unitok_suffix *s, sort_level *level, int64_t *budget, int ends)
{
    if (level->counted == 0 && !level->has_starts)
        memset(LEVEL(buckets)(s, level), 0, (size_t)level->k * sizeof(POSITION));
    POSITION *text = (POSITION *)s->sa + level->text, *buckets = LEVEL(buckets)(s, level),
             *starts = buckets + level->k;
    int64_t n = level->n, k = level->k, i = level->has_starts ? n : level->counted;
    int64_t stop = n - i > *budget ? i + *budget : n;
    *budget -= stop - i;
    for (; i < stop; i++) {
        if (i + AHEAD < n) PREFETCH_WRITE(buckets + (text[i + AHEAD] & MASK));
        buckets[text[i] & MASK]++;
    }
    level->counted = i;
    if (i < n) return;
    if (level->has_starts) {
        memcpy(buckets, starts + ends, (size_t)(k - ends) * sizeof(POSITION));
        if (ends) buckets[k - 1] = (POSITION)n;
    } else {
        level->has_starts = level->capacity - n >= 2 * k;
        POSITION end = 0;
        for (int64_t c = 0; c < k; c++) {
            POSITION begin = end;
            end += buckets[c];
            buckets[c] = ends ? end : begin;
            if (level->has_starts) starts[c] = begin;
        }
    }
    level->is_counted = 1;
}

/* ----------------------------------------------------------------------------------- types ---- */

static void LEVEL(types)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    POSITION *text = (POSITION *)s->sa + level->text, type = (POSITION)level->type;
    int64_t i = level->at, stop = i > *budget ? i - *budget : 0, m = level->m;
    *budget -= i - stop;
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

static void LEVEL(place)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    POSITION *sa = s->sa, *text = sa + level->text, *buckets = LEVEL(buckets)(s, level);
    int64_t found[BLOCK + 1];
    while (level->at > 0 && *budget > 0) {
        int64_t stop = level->at > BLOCK ? level->at - BLOCK : 0;
        int64_t n_found = LEVEL(gather_lms)(text, level->at, stop, found);
        for (int64_t k = 0; k < n_found; k++) PREFETCH_WRITE(buckets + (text[found[k]] & MASK));
        for (int64_t k = 0; k < n_found; k++)
            sa[--buckets[text[found[k]] & MASK]] = (POSITION)found[k];
        *budget -= level->at - stop;
        level->at = stop;
    }
    if (level->at == 0) LEVEL(go)(level, LEVEL_LEFT, 0);
}

/* ------------------------------------------------------------------------------------------
 * induction ---- */

/* Entries that something was induced from become 0 unless they are to be kept: then only LMS
 * positions are left. */
static void LEVEL(left)(struct unitok_suffix *s, sort_level *level, int64_t *budget, int keep)
{
    POSITION *sa = s->sa, *text = sa + level->text, *buckets = LEVEL(buckets)(s, level);
    int64_t n = level->n, r = level->at, stop = n - r > *budget ? r + *budget : n;
    if (r == 0) { /* the last suffix, as if induced from an end that is smaller than all */
        int64_t last = n - 1;
        sa[buckets[text[last]]++] = (POSITION)last | (last > 0 ? text[last - 1] & FLAG : 0);
    }
    *budget -= stop - r;
    for (; r < stop; r++) {
        PREFETCH(text + LEVEL(before)(sa[r + 2 * AHEAD < n ? r + 2 * AHEAD : r], n));
        PREFETCH_WRITE(buckets +
                       (text[LEVEL(before)(sa[r + AHEAD < n ? r + AHEAD : r], n)] & MASK));
        POSITION entry = sa[r], i = entry - 1;
        if (entry == 0 || entry & FLAG) continue;
        if (!keep) sa[r] = 0;
        sa[buckets[text[i]]++] = i | (i > 0 ? text[i - 1] & FLAG : 0);
    }
    level->at = r;
    if (r == n) LEVEL(go)(level, level->pass == LEVEL_LEFT ? LEVEL_RIGHT : LEVEL_FINAL_RIGHT, n);
}

static void LEVEL(right)(struct unitok_suffix *s, sort_level *level, int64_t *budget, int keep)
{
    POSITION *sa = s->sa, *text = sa + level->text, *buckets = LEVEL(buckets)(s, level);
    int64_t n = level->n, r = level->at, stop = r > *budget ? r - *budget : 0;
    *budget -= r - stop;
    while (r > stop) {
        r--;
        PREFETCH(text + LEVEL(before)(sa[r > 2 * AHEAD ? r - 2 * AHEAD : 0], n));
        PREFETCH_WRITE(buckets + (text[LEVEL(before)(sa[r > AHEAD ? r - AHEAD : 0], n)] & MASK));
        POSITION entry = sa[r], i = (entry & MASK) - 1;
        if (!(entry & FLAG)) continue;
        sa[r] = keep ? entry & MASK : 0;
        sa[--buckets[text[i] & MASK]] = i | (i > 0 ? text[i - 1] & FLAG : 0);
    }
    level->at = r;
    if (r > 0) return;
    if (level->pass == LEVEL_RIGHT) LEVEL(go)(level, LEVEL_GATHER, 0);
    else s->depth--;
}

/* ----------------------------------------------------------------------------------- names ---- */

static void LEVEL(gather)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    POSITION *sa = s->sa;
    int64_t r = level->at, stop = level->n - r > *budget ? r + *budget : level->n, to = level->to;
    *budget -= stop - r;
    for (; r < stop; r++) {
        POSITION entry = sa[r];
        sa[to] = entry;
        to += entry != 0;
    }
    level->at = r;
    level->to = to;
    if (r == level->n) LEVEL(go)(level, LEVEL_COMPARE, 1);
}

/* Whether the LMS substrings at i and j are equal; takes from *budget what was compared. */
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

/* Gives the flag to the last of each group of equal LMS substrings. */
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
    REDUCE(start)(&level->names, level->m, level->n, level->capacity, level->room);
    LEVEL(go)(level, LEVEL_REDUCE, 0);
}

static void LEVEL(start)(struct unitok_suffix *s, sort_level *level, const reduction *names)
{
    memset(level, 0, sizeof *level);
    level->text = names->capacity - names->n_kept;
    level->n = names->n_kept;
    level->k = names->n_names;
    level->capacity = names->capacity - names->m;
    level->is_tight = names->is_tight;
    level->room = names->room;
    level->at = level->n - 1;
    s->depth++;
}

static int32_t LEVEL(reduce_names)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    int32_t status = REDUCE(reduce)(s->sa, &level->names, budget);
    if (status == UNITOK_OK && level->names.pass == REDUCE_RECURSE) {
        LEVEL(go)(level, LEVEL_POSITIONS, level->n - 1); /* when the next level is done */
        level->has_starts = 0;
        LEVEL(start)(s, level + 1, &level->names);
    }
    return status;
}

static void LEVEL(positions)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    POSITION *sa = s->sa;
    int64_t found[BLOCK + 1];
    if (level->names.pass == REDUCE_RECURSE) REDUCE(start_positions)(sa, &level->names);
    if (level->names.pass == REDUCE_MARK) {
        REDUCE(mark)(sa, &level->names, budget);
        return;
    }
    while (level->at > 0 && *budget > 0) {
        int64_t stop = level->at > BLOCK ? level->at - BLOCK : 0;
        int64_t n_found = LEVEL(gather_lms)(sa + level->text, level->at, stop, found);
        REDUCE(add_positions)(sa, &level->names, found, n_found);
        *budget -= level->at - stop;
        level->at = stop;
    }
    if (level->at > 0) return;
    level->names.pass = REDUCE_ORDER;
    LEVEL(go)(level, LEVEL_REDUCE, 0);
}

static void LEVEL(spread)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    POSITION *sa = s->sa, *text = sa + level->text, *buckets = LEVEL(buckets)(s, level);
    if (level->at == level->m)
        memset(sa + level->m, 0xFF, (size_t)(level->n - level->m) * sizeof(POSITION));
    for (; level->at > 0 && *budget > 0; --*budget) {
        int64_t r = --level->at;
        if (r > 2 * AHEAD) PREFETCH(text + (sa[r - 2 * AHEAD] & MASK));
        if (r > AHEAD) PREFETCH_WRITE(buckets + (text[sa[r - AHEAD] & MASK] & MASK));
        POSITION i = sa[r] & MASK;
        sa[r] = EMPTY;
        sa[--buckets[text[i] & MASK]] = i;
    }
    if (level->at == 0) LEVEL(go)(level, LEVEL_FINAL_LEFT, 0);
}

/* ------------------------------------------------------------------------------------------ one
 * step ---- */

static int32_t LEVEL(run)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    static const int8_t needs_buckets[] = {
        /* 1: starts, 2: ends */
        [LEVEL_PLACE] = 2,  [LEVEL_LEFT] = 1,       [LEVEL_RIGHT] = 2,
        [LEVEL_SPREAD] = 2, [LEVEL_FINAL_LEFT] = 1, [LEVEL_FINAL_RIGHT] = 2,
    };
    if (level->pass == LEVEL_REDUCE && level->names.pass == REDUCE_SORTED) {
        free_reduction(&level->names);
        LEVEL(go)(level, LEVEL_SPREAD, level->m);
    }
    if (level->is_tight) {
        int32_t status = UNITOK_OK;
        if (TIGHT(run)(s, level, budget, &status)) return status;
    } else if (needs_buckets[level->pass] && !level->is_counted) {
        LEVEL(count)(s, level, budget, needs_buckets[level->pass] == 2);
        return UNITOK_OK;
    }
    switch (level->pass) {
    case LEVEL_TYPES:
        LEVEL(types)(s, level, budget);
        break;
    case LEVEL_PLACE:
        LEVEL(place)(s, level, budget);
        break;
    case LEVEL_LEFT:
        LEVEL(left)(s, level, budget, 0);
        break;
    case LEVEL_RIGHT:
        LEVEL(right)(s, level, budget, 0);
        break;
    case LEVEL_GATHER:
        LEVEL(gather)(s, level, budget);
        break;
    case LEVEL_COMPARE:
        LEVEL(compare)(s, level, budget);
        break;
    case LEVEL_REDUCE:
        return LEVEL(reduce_names)(s, level, budget);
    case LEVEL_POSITIONS:
        LEVEL(positions)(s, level, budget);
        break;
    case LEVEL_SPREAD:
        LEVEL(spread)(s, level, budget);
        break;
    case LEVEL_FINAL_LEFT:
        LEVEL(left)(s, level, budget, 1);
        break;
    default:
        LEVEL(right)(s, level, budget, 1);
        break;
    }
    return UNITOK_OK;
}

/* Sorts the levels of names, as far as the budget goes; when all is done, s->depth is 0. */
static int32_t LEVEL(sort_levels)(struct unitok_suffix *s, int64_t *budget)
{
    while (s->depth > 0 && *budget > 0) {
        int32_t status = LEVEL(run)(s, &s->levels[s->depth - 1], budget);
        if (status != UNITOK_OK) return status;
    }
    return UNITOK_OK;
}
