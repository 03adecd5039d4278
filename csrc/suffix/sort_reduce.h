/* sort_reduce.h - template: from sorted LMS substrings to sorted LMS suffixes, but for sorting the names in between
 *
 *   parameter   example
 *   POSITION    uint32_t
 *   REDUCE(x)   reduce_##x##_32    names of functions
 *
 * sa[0..m-1] are the LMS positions, sorted by their substrings; the last of each group of equal substrings has the flag.
 * A group that has one member is sorted already, whatever follows it. Of the names in text order those are left out that
 * are unique and follow a unique one: no comparison of others gets as far as them.
 *
 *     sorted LMS positions    7  2  5 | 9 | 0  4 |         (groups end at |)
 *     names in text order     4* 0 4 0 0 3*                0 is the name of 2, 5, 7; ...     (* unique)
 *
 *     sa  [ positions: m | names, at position / 2: n/2 | ... ]                                        CLEAR NAME
 *         [ positions: m | names of those kept | ...         [ left out: m - kept | names: kept ]     COMPACT RENAME
 *         [ suffix array of the names: kept | free ...       [ left out: m - kept | names: kept ]     REPLACE, the level
 *         [ its entries as positions: kept  | ...            [ left out: m - kept | positions ]       ORDER
 *         [ all LMS positions, sorted: m | ...                                                        MERGE
 *                                                                                      capacity ^
 */

#define FLAG ((POSITION)1 << (8 * sizeof(POSITION) - 1))
#define MASK (FLAG - 1)
#define EMPTY ((POSITION)-1)
#define FLAG_OF(entry) ((entry) >> (8 * sizeof(POSITION) - 1))

static void REDUCE(clear)(POSITION *sa, reduction *x, int64_t *budget)
{
    int64_t end = x->m + x->n / 2, stop = end - x->at > *budget ? x->at + *budget : end;
    memset(sa + x->at, 0xFF, (size_t)(stop - x->at) * sizeof(POSITION));
    *budget -= stop - x->at;
    x->at = stop;
    if (stop < end) return;
    x->pass = REDUCE_NAME;
    x->at = x->to = 0;
    x->bit = 1; /* whether the entry before ends a group */
}

/* The name of a group is, for now, the place of its first entry; that of a unique one has the flag. */
static int32_t REDUCE(name)(POSITION *sa, reduction *x, int64_t *budget)
{
    POSITION *names = sa + x->m, name = (POSITION)x->to, ended = (POSITION)x->bit;
    int64_t r = x->at, stop = x->m - r > *budget ? r + *budget : x->m, n_names = x->n_names;
    *budget -= stop - r;
    for (; r < stop; r++) {
        if (r + AHEAD < x->m) PREFETCH_WRITE(names + ((sa[r + AHEAD] & MASK) >> 1));
        POSITION entry = sa[r], ends = FLAG_OF(entry);
        name = ended ? (POSITION)r : name;
        names[(entry & MASK) >> 1] = name | (ended & ends ? FLAG : 0);
        n_names += (int64_t)ends;
        ended = ends;
    }
    x->at = r;
    x->to = (int64_t)name;
    x->bit = (int32_t)ended;
    x->n_names = n_names;
    if (r < x->m) return UNITOK_OK;
    if (n_names == x->m) { /* all are different */
        x->pass = REDUCE_SORTED;
        return UNITOK_OK;
    }
    x->is_kept = mem_zalloc((size_t)(x->m / 64 + 1), sizeof *x->is_kept);
    x->is_left_out = mem_zalloc((size_t)(x->m / 64 + 1), sizeof *x->is_left_out);
    if (!x->is_kept || !x->is_left_out) return UNITOK_ERROR_MEMORY;
    x->pass = REDUCE_COMPACT;
    x->at = x->to = x->k = 0;
    x->bit = 0; /* whether the last name is unique */
    return UNITOK_OK;
}

static void REDUCE(compact)(POSITION *sa, reduction *x, int64_t *budget)
{
    POSITION *names = sa + x->m;
    int64_t end = x->n / 2, r = x->at, stop = end - r > *budget ? r + *budget : end, to = x->to, k = x->k;
    uint64_t was_unique = (uint64_t)x->bit, *is_kept = x->is_kept, *is_left_out = x->is_left_out;
    *budget -= stop - r;
    for (; r < stop; r++) {
        POSITION name = names[r];
        uint64_t is_there = name != EMPTY, is_unique = is_there & (uint64_t)FLAG_OF(name);
        uint64_t is_out = is_unique & was_unique, is_in = is_there & ~is_out, place = is_out ? name & MASK : 0;
        names[to] = name;
        to += (int64_t)is_in;
        is_kept[k >> 6] |= is_in << (k & 63);
        is_left_out[place >> 6] |= is_out << (place & 63);
        k += (int64_t)is_there;
        was_unique = is_there ? is_unique : was_unique;
    }
    x->at = r;
    x->to = to;
    x->k = k;
    x->bit = (int32_t)was_unique;
    if (r < end) return;
    x->n_kept = to;
    memmove(sa + x->capacity - to, names, (size_t)to * sizeof(POSITION));
    x->pass = REDUCE_RENAME;
    x->at = x->n_names = 0;
    x->to = x->capacity - x->m;
}

/* Moves away the positions left out, and puts at the place of every other group its dense number. */
static void REDUCE(rename)(POSITION *sa, reduction *x, int64_t *budget)
{
    int64_t r = x->at, stop = x->m - r > *budget ? r + *budget : x->m, to = x->to, n_names = x->n_names;
    *budget -= stop - r;
    for (; r < stop; r++) {
        POSITION entry = sa[r];
        if (bit_is_set(x->is_left_out, r)) {
            sa[to++] = entry & MASK;
        } else {
            sa[r] = (POSITION)n_names;
            n_names += (int64_t)FLAG_OF(entry);
        }
    }
    x->at = r;
    x->to = to;
    x->n_names = n_names;
    if (r < x->m) return;
    x->pass = REDUCE_REPLACE;
    x->at = x->capacity - x->n_kept;
}

static void REDUCE(replace)(POSITION *sa, reduction *x, int64_t *budget)
{
    int64_t r = x->at, stop = x->capacity - r > *budget ? r + *budget : x->capacity;
    *budget -= stop - r;
    for (; r < stop; r++) {
        PREFETCH(sa + (sa[r + AHEAD < x->capacity ? r + AHEAD : r] & MASK));
        sa[r] = sa[sa[r] & MASK];
    }
    x->at = r;
    if (r == x->capacity) x->pass = REDUCE_RECURSE;
}

/* The names are sorted. Before `order`, LMS positions as they are found in the text, from right to left: found[0..n-1]. */
static void REDUCE(start_positions)(reduction *x)
{
    x->pass = REDUCE_ORDER;
    x->at = 0;
    x->to = x->capacity;
    x->k = x->m;
}

static void REDUCE(add_positions)(POSITION *sa, reduction *x, const int64_t *found, int64_t n)
{
    int64_t to = x->to, k = x->k;
    for (int64_t j = 0; j < n; j++) { /* the first LMS suffix is kept, so "to - 1" stays where positions belong */
        sa[to - 1] = (POSITION)found[j];
        to -= bit_is_set(x->is_kept, --k);
    }
    x->to = to;
    x->k = k;
}

static void REDUCE(order)(POSITION *sa, reduction *x, int64_t *budget)
{
    POSITION *positions = sa + x->capacity - x->n_kept;
    int64_t r = x->at, stop = x->n_kept - r > *budget ? r + *budget : x->n_kept;
    *budget -= stop - r;
    for (; r < stop; r++) {
        if (r + AHEAD < x->n_kept) PREFETCH(positions + sa[r + AHEAD]);
        sa[r] = positions[sa[r]];
    }
    x->at = r;
    if (r < x->n_kept) return;
    x->pass = REDUCE_SORTED;
    if (x->n_kept == x->m) return;
    memmove(positions, sa, (size_t)x->n_kept * sizeof(POSITION));
    x->pass = REDUCE_MERGE;
    x->at = 0;
    x->to = x->capacity - x->m;      /* those left out */
    x->k = x->capacity - x->n_kept; /* the others */
}

static void REDUCE(merge)(POSITION *sa, reduction *x, int64_t *budget)
{
    int64_t r = x->at, stop = x->m - r > *budget ? r + *budget : x->m, out = x->to, kept = x->k;
    *budget -= stop - r;
    for (; r < stop; r++) {
        int is_out = bit_is_set(x->is_left_out, r);
        sa[r] = sa[is_out ? out : kept];
        out += is_out;
        kept += !is_out;
    }
    x->at = r;
    x->to = out;
    x->k = kept;
    if (r == x->m) x->pass = REDUCE_SORTED;
}

/* Begins with m entries as described above, of a text of n symbols. */
static void REDUCE(start)(reduction *x, int64_t m, int64_t n, int64_t capacity)
{
    memset(x, 0, sizeof *x);
    x->m = x->at = m;
    x->n = n;
    x->capacity = capacity;
    x->pass = m > 1 ? REDUCE_CLEAR : REDUCE_SORTED;
}

static int32_t REDUCE(reduce)(POSITION *sa, reduction *x, int64_t *budget)
{
    switch (x->pass) {
    case REDUCE_CLEAR: REDUCE(clear)(sa, x, budget); break;
    case REDUCE_NAME: return REDUCE(name)(sa, x, budget);
    case REDUCE_COMPACT: REDUCE(compact)(sa, x, budget); break;
    case REDUCE_RENAME: REDUCE(rename)(sa, x, budget); break;
    case REDUCE_REPLACE: REDUCE(replace)(sa, x, budget); break;
    case REDUCE_ORDER: REDUCE(order)(sa, x, budget); break;
    default: REDUCE(merge)(sa, x, budget); break;
    }
    return UNITOK_OK;
}
