/* sort_names.h - template: sorts the suffixes of an array of names, which lies at the end of the suffix array itself
 *
 *   parameter   example
 *   POSITION    uint32_t           a position, a name; the top bit is a flag
 *   LEVEL(x)    suffix_##x##_32    names of functions
 *
 *     sa   [ suffix array: n | buckets: k, if they fit | ... | text: n ]
 *                                                             ^ capacity
 * The same induction as in sort_text.h, in its plain form: names are as many as suffixes, so buckets are one counter
 * each, and the type of a suffix is stored, as the flag of its name in the text. LMS substrings are compared symbol by
 * symbol. The level below has its text where this one's capacity ends, and its suffix array where this one has its own.
 */

#define FLAG ((POSITION)1 << (8 * sizeof(POSITION) - 1))
#define MASK (FLAG - 1)
#define EMPTY ((POSITION)-1)

/* Fills the buckets with their starts, or with `ends` their ends; sets is_counted when that is done. */
static int32_t LEVEL(count)(struct unitok_suffix *s, sort_level *level, int64_t *budget, int ends)
{
    POSITION *sa = s->sa, *text = sa + level->text, *buckets = s->level_buckets;
    if (level->counted == 0) {
        buckets = sa + level->n;
        if (level->capacity - level->n < level->k) { /* the suffix array is full: n is nearly half of the level above */
            mem_free(s->level_allocated);
            buckets = s->level_allocated = mem_alloc((size_t)level->k * sizeof(POSITION));
            if (!buckets) return UNITOK_ERROR_MEMORY;
        }
        s->level_buckets = buckets;
        memset(buckets, 0, (size_t)level->k * sizeof(POSITION));
    }
    int64_t i = level->counted, stop = level->n - i > *budget ? i + *budget : level->n;
    *budget -= stop - i;
    for (; i < stop; i++) {
        if (i + AHEAD < level->n) PREFETCH_WRITE(buckets + (text[i + AHEAD] & MASK));
        buckets[text[i] & MASK]++;
    }
    level->counted = i;
    if (i < level->n) return UNITOK_OK;
    POSITION end = 0;
    for (int64_t c = 0; c < level->k; c++) {
        POSITION begin = end;
        end += buckets[c];
        buckets[c] = ends ? end : begin;
    }
    level->is_counted = 1;
    return UNITOK_OK;
}

/* Goes on to `pass`; its buckets are still to be counted. */
INLINE void LEVEL(go)(sort_level *level, int32_t pass, int64_t at)
{
    level->pass = pass;
    level->at = at;
    level->to = level->counted = level->is_counted = 0;
}

INLINE int LEVEL(is_lms)(const POSITION *text, int64_t i)
{
    return i > 0 && text[i] & FLAG && !(text[i - 1] & FLAG);
}

static void LEVEL(types)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    POSITION *text = (POSITION *)s->sa + level->text;
    int64_t i = level->at, stop = i > *budget ? i - *budget : 0;
    int32_t type = level->type;
    *budget -= i - stop;
    for (; i > stop; i--) {
        int32_t before = text[i - 1] < (text[i] & MASK) + (POSITION)type;
        level->m += type & ~before;
        text[i - 1] |= before ? FLAG : 0;
        type = before;
    }
    level->at = i;
    level->type = type;
    if (i > 0) return;
    memset(s->sa, 0xFF, (size_t)level->n * sizeof(POSITION));
    LEVEL(go)(level, LEVEL_PLACE, 1);
}

static void LEVEL(place)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    POSITION *sa = s->sa, *text = sa + level->text, *buckets = s->level_buckets;
    int64_t i = level->at, stop = level->n - i > *budget ? i + *budget : level->n;
    *budget -= stop - i;
    for (; i < stop; i++)
        if (LEVEL(is_lms)(text, i)) sa[--buckets[text[i] & MASK]] = (POSITION)i;
    level->at = i;
    if (i == level->n) LEVEL(go)(level, LEVEL_LEFT, 0);
}

/* What lies before the suffix that an entry of the array speaks of: its place in the text, or 0 if that says nothing. */
INLINE POSITION LEVEL(before)(POSITION entry, int64_t n)
{
    POSITION i = (entry & MASK) - 1;
    return i < (POSITION)n ? i : 0;
}

/* Entries that something was induced from become 0 unless they are to be kept: then only LMS positions are left. */
static void LEVEL(left)(struct unitok_suffix *s, sort_level *level, int64_t *budget, int keep)
{
    POSITION *sa = s->sa, *text = sa + level->text, *buckets = s->level_buckets;
    int64_t n = level->n, r = level->at, stop = n - r > *budget ? r + *budget : n;
    if (r == 0) { /* the last suffix, as if induced from an end that is smaller than all */
        int64_t last = n - 1;
        sa[buckets[text[last]]++] = (POSITION)last | (last > 0 ? text[last - 1] & FLAG : 0);
    }
    *budget -= stop - r;
    for (; r < stop; r++) {
        PREFETCH(text + LEVEL(before)(sa[r + 2 * AHEAD < n ? r + 2 * AHEAD : r], n));
        PREFETCH_WRITE(buckets + (text[LEVEL(before)(sa[r + AHEAD < n ? r + AHEAD : r], n)] & MASK));
        POSITION entry = sa[r], i = entry - 1;
        if (entry == 0 || entry & FLAG) continue;
        if (!keep) sa[r] = 0;
        sa[buckets[text[i]]++] = i | (i > 0 ? text[i - 1] & FLAG : 0);
    }
    level->at = r;
    if (r == n) LEVEL(go)(level, level->pass + 1, n);
}

static void LEVEL(right)(struct unitok_suffix *s, sort_level *level, int64_t *budget, int keep)
{
    POSITION *sa = s->sa, *text = sa + level->text, *buckets = s->level_buckets;
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
    if (r < level->n) return;
    memset(sa + level->m, 0xFF, (size_t)(level->n - level->m) * sizeof(POSITION));
    LEVEL(go)(level, LEVEL_NAME, 0);
    level->names = 0;
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

static void LEVEL(name)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    POSITION *sa = s->sa, *text = sa + level->text, *names = sa + level->m;
    int64_t r = level->at;
    for (; r < level->m && *budget > 0; r++) {
        if (r + AHEAD < level->m) PREFETCH(text + sa[r + AHEAD]);
        if (r == 0 || !LEVEL(same)(text, level->n, (int64_t)sa[r - 1], (int64_t)sa[r], budget)) level->names++;
        names[sa[r] >> 1] = (POSITION)level->names - 1;
        --*budget;
    }
    level->at = r;
    if (r < level->m) return;
    if (level->names < level->m) LEVEL(go)(level, LEVEL_COMPACT, 0);
    else LEVEL(go)(level, LEVEL_SPREAD, level->m);
}

/* The names in text order are the text of the next level. */
static void LEVEL(compact)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    POSITION *names = (POSITION *)s->sa + level->m;
    int64_t end = level->n / 2, r = level->at, stop = end - r > *budget ? r + *budget : end, to = level->to;
    *budget -= stop - r;
    for (; r < stop; r++) {
        POSITION name = names[r];
        names[to] = name;
        to += name != EMPTY;
    }
    level->at = r;
    level->to = to;
    if (r < end) return;
    sort_level *next = level + 1;
    memset(next, 0, sizeof *next);
    next->text = level->capacity - level->m;
    next->n = level->m;
    next->k = level->names;
    next->capacity = next->text;
    next->at = next->n - 1;
    memmove((POSITION *)s->sa + next->text, names, (size_t)level->m * sizeof(POSITION));
    s->depth++;
    LEVEL(go)(level, LEVEL_POSITIONS, 1);
}

static void LEVEL(positions)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    POSITION *sa = s->sa, *text = sa + level->text, *positions = sa + level->capacity - level->m;
    int64_t i = level->at, to = level->to;
    for (; to < level->m && *budget > 0; i++) {
        positions[to] = (POSITION)i;
        to += LEVEL(is_lms)(text, i);
        --*budget;
    }
    level->at = i;
    level->to = to;
    if (to < level->m) return;
    LEVEL(go)(level, LEVEL_ORDER, 0);
}

static void LEVEL(order)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    POSITION *sa = s->sa, *positions = sa + level->capacity - level->m;
    int64_t r = level->at, stop = level->m - r > *budget ? r + *budget : level->m;
    *budget -= stop - r;
    for (; r < stop; r++) {
        if (r + AHEAD < level->m) PREFETCH(positions + sa[r + AHEAD]);
        sa[r] = positions[sa[r]];
    }
    level->at = r;
    if (r == level->m) LEVEL(go)(level, LEVEL_SPREAD, r);
}

static void LEVEL(spread)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    POSITION *sa = s->sa, *text = sa + level->text, *buckets = s->level_buckets;
    if (level->at == level->m) memset(sa + level->m, 0xFF, (size_t)(level->n - level->m) * sizeof(POSITION));
    for (; level->at > 0 && *budget > 0; --*budget) {
        int64_t r = --level->at;
        if (r > AHEAD) PREFETCH(text + sa[r - AHEAD]);
        POSITION i = sa[r];
        sa[r] = EMPTY;
        sa[--buckets[text[i] & MASK]] = i;
    }
    if (level->at == 0) LEVEL(go)(level, LEVEL_FINAL_LEFT, 0);
}

static int32_t LEVEL(run)(struct unitok_suffix *s, sort_level *level, int64_t *budget)
{
    switch (level->pass) {
    case LEVEL_PLACE:
    case LEVEL_RIGHT:
    case LEVEL_SPREAD:
    case LEVEL_FINAL_RIGHT:
        if (!level->is_counted) return LEVEL(count)(s, level, budget, 1);
        break;
    case LEVEL_LEFT:
    case LEVEL_FINAL_LEFT:
        if (!level->is_counted) return LEVEL(count)(s, level, budget, 0);
        break;
    default: break;
    }
    switch (level->pass) {
    case LEVEL_TYPES: LEVEL(types)(s, level, budget); break;
    case LEVEL_PLACE: LEVEL(place)(s, level, budget); break;
    case LEVEL_LEFT: LEVEL(left)(s, level, budget, 0); break;
    case LEVEL_RIGHT: LEVEL(right)(s, level, budget, 0); break;
    case LEVEL_GATHER: LEVEL(gather)(s, level, budget); break;
    case LEVEL_NAME: LEVEL(name)(s, level, budget); break;
    case LEVEL_COMPACT: LEVEL(compact)(s, level, budget); break;
    case LEVEL_POSITIONS: LEVEL(positions)(s, level, budget); break;
    case LEVEL_ORDER: LEVEL(order)(s, level, budget); break;
    case LEVEL_SPREAD: LEVEL(spread)(s, level, budget); break;
    case LEVEL_FINAL_LEFT: LEVEL(left)(s, level, budget, 1); break;
    default: LEVEL(right)(s, level, budget, 1); break;
    }
    return UNITOK_OK;
}

int32_t LEVEL(sort_levels)(struct unitok_suffix *s, int64_t *budget)
{
    while (s->depth > 0 && *budget > 0) {
        int32_t status = LEVEL(run)(s, &s->levels[s->depth - 1], budget);
        if (status != UNITOK_OK) return status;
    }
    return UNITOK_OK;
}

#undef FLAG
#undef MASK
#undef EMPTY
