/* sort_reduce.h - template: from sorted LMS substrings to sorted LMS suffixes, but for sorting the
 * names in between
 *
 *   parameter   example
 *   POSITION    uint32_t
 *   REDUCE(x)   reduce_##x##_32    names of functions
 *
 * sa[0..m-1] are the LMS positions, sorted by their substrings; the last of each group of equal
 * substrings has the flag. A group that has one member is sorted already, whatever follows it. Of
 * the names in text order those are left out that are unique and follow a unique one: no comparison
 * of others gets as far as them.
 *
 *     sorted LMS positions    7  2  5 | 9 | 0  4 |         (groups end at |)
 *     names in text order     4* 0 4 0 0 3*                0 is the name of 2, 5, 7; ...     (* unique)
 *
 *     sa  [ positions: m | names, at position / 2: n/2 | ... ]                                        CLEAR NAME LOOK
 *         [ positions: m | names of those kept | ...         [ left out: m - kept | names: kept ]     COMPACT RENAME
 *         [ suffix array of the names: kept | free ...       [ left out: m - kept | names: kept ]     REPLACE, the level
 *         [ suffix array of the names: kept | marks: n/64 .. [ left out: m - kept | positions ]       MARK POSITIONS
 *         [ its entries as positions: kept  | ...            [ left out: m - kept | positions ]       ORDER
 *         [ all LMS positions, sorted: m | ...                                                        MERGE
 *                                                                                      capacity ^
 */

#define FLAG ((POSITION)1 << (8 * sizeof(POSITION) - 1))
#define MASK (FLAG - 1)
#define EMPTY ((POSITION) - 1)
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

/* The marks of text[0..n-1], in elements of the suffix array; one more for where a word may begin.
 */
INLINE int64_t REDUCE(marks_room)(int64_t n)
{
    return (n / 128 + 1) * (int64_t)(sizeof(uint64_t) / sizeof(POSITION)) + 1;
}

/* n_bytes: of is_left_out, 0 if all names are kept. */
static int32_t REDUCE(start_compact)(reduction *x, int64_t n_bytes)
{
    x->room -= n_bytes;
    x->pass = REDUCE_COMPACT;
    x->at = x->to = x->bit = 0; /* bit: whether the last name is unique */
    if (!n_bytes) return UNITOK_OK;
    x->is_left_out = mem_zalloc(1, (size_t)n_bytes);
    return x->is_left_out ? UNITOK_OK : UNITOK_ERROR_MEMORY;
}

/* The name of a group is, for now, the place of its first entry; that of a unique one has the flag.
 */
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
    int64_t n_bytes = (x->m / 64 + 1) * (int64_t)sizeof *x->is_left_out;
    if (n_bytes > x->room) return REDUCE(start_compact)(x, 0);
    if (x->capacity - 2 * x->m >= REDUCE(marks_room)(x->n))
        return REDUCE(start_compact)(x, n_bytes);
    x->pass = REDUCE_LOOK;
    x->at = x->k = 0;
    x->bit = 0; /* whether the last name is unique */
    return UNITOK_OK;
}

/* Counts the unique names that follow a unique one: leaving them out must make room for the marks.
 */
static int32_t REDUCE(look)(const POSITION *sa, reduction *x, int64_t *budget)
{
    const POSITION *names = sa + x->m;
    int64_t end = x->n / 2, r = x->at, stop = end - r > *budget ? r + *budget : end, n_out = x->k;
    POSITION was_unique = (POSITION)x->bit;
    *budget -= stop - r;
    for (; r < stop; r++) {
        POSITION name = names[r], is_unique = FLAG_OF(name);
        n_out += (int64_t)((name != EMPTY) & is_unique & was_unique);
        was_unique = name != EMPTY ? is_unique : was_unique;
    }
    x->at = r;
    x->k = n_out;
    x->bit = (int32_t)was_unique;
    if (r < end) return UNITOK_OK;
    int has_room = x->capacity - 2 * x->m + n_out >= REDUCE(marks_room)(x->n);
    return REDUCE(start_compact)(x,
                                 has_room ? (x->m / 64 + 1) * (int64_t)sizeof *x->is_left_out : 0);
}

static void REDUCE(compact)(POSITION *sa, reduction *x, int64_t *budget)
{
    POSITION *names = sa + x->m;
    int64_t end = x->n / 2, r = x->at, stop = end - r > *budget ? r + *budget : end, to = x->to;
    uint64_t none = 0, leaves_out = x->is_left_out != NULL, was_unique = (uint64_t)x->bit;
    uint64_t *is_left_out = leaves_out ? x->is_left_out : &none;
    *budget -= stop - r;
    for (; r < stop; r++) {
        POSITION name = names[r];
        uint64_t is_there = name != EMPTY, is_unique = is_there & (uint64_t)FLAG_OF(name);
        uint64_t is_out = is_unique & was_unique & leaves_out, is_in = is_there & ~is_out;
        uint64_t place = is_out ? name & MASK : 0;
        names[to] = name;
        to += (int64_t)is_in;
        is_left_out[place >> 6] |= is_out << (place & 63);
        was_unique = is_there ? is_unique : was_unique;
    }
    x->at = r;
    x->to = to;
    x->bit = (int32_t)was_unique;
    if (r < end) return;
    x->n_kept = to;
    x->is_tight = x->capacity - x->m - to < x->n_names - (x->m - to);
    memmove(sa + x->capacity - to, names, (size_t)to * sizeof(POSITION));
    x->pass = REDUCE_RENAME;
    x->at = x->n_names = x->k = x->group = 0;
    x->to = x->capacity - x->m;
}

/* Moves away the positions left out, and puts at the place of every other group its dense number;
 * or, for a tight level, where its bucket will begin. */
static void REDUCE(rename)(POSITION *sa, reduction *x, int64_t *budget)
{
    int64_t r = x->at, stop = x->m - r > *budget ? r + *budget : x->m, to = x->to,
            n_names = x->n_names;
    int64_t k = x->k, group = x->group;
    const uint64_t *is_left_out = x->is_left_out;
    int32_t is_tight = x->is_tight;
    *budget -= stop - r;
    for (; r < stop; r++) {
        POSITION entry = sa[r];
        if (is_left_out && bit_is_set(is_left_out, r)) {
            sa[to++] = entry & MASK;
        } else {
            sa[r] = (POSITION)(is_tight ? group : n_names);
            n_names += (int64_t)FLAG_OF(entry);
            if (is_tight) {
                k++;
                group = entry & FLAG ? k : group;
            }
        }
    }
    x->at = r;
    x->to = to;
    x->n_names = n_names;
    x->k = k;
    x->group = group;
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

/* The names are sorted. Before `order` the caller calls `mark` while that is the pass, and then
 * add_positions. */
static void REDUCE(start_positions)(POSITION *sa, reduction *x)
{
    x->pass = x->is_left_out ? REDUCE_MARK : REDUCE_POSITIONS;
    x->at = 0;
    x->to = x->capacity;
    x->is_marked = NULL;
    if (!x->is_left_out) return;
    POSITION *marks = sa + x->n_kept;
    marks += (uintptr_t)marks % sizeof(uint64_t) / sizeof(POSITION);
    x->is_marked = (uint64_t *)(void *)marks;
    memset(marks, 0, (size_t)(x->n / 128 + 1) * sizeof(uint64_t));
}

static void REDUCE(mark)(const POSITION *sa, reduction *x, int64_t *budget)
{
    const POSITION *left_out = sa + x->capacity - x->m;
    uint64_t *is_marked = x->is_marked;
    int64_t end = x->m - x->n_kept, r = x->at, stop = end - r > *budget ? r + *budget : end;
    *budget -= stop - r;
    for (; r < stop; r++) {
        int64_t k = (int64_t)left_out[r] >> 1;
        if (r + AHEAD < end) PREFETCH_WRITE(is_marked + (left_out[r + AHEAD] >> 7));
        is_marked[k >> 6] |= (uint64_t)1 << (k & 63);
    }
    x->at = r;
    if (r < end) return;
    x->pass = REDUCE_POSITIONS;
    x->at = 0;
}

/* LMS positions as they are found in the text, from right to left: found[0..n-1]. */

static void REDUCE(add_positions)(POSITION *sa, reduction *x, const int64_t *found, int64_t n)
{
    int64_t to = x->to;
    const uint64_t *is_marked = x->is_marked;
    if (!is_marked)
        for (int64_t j = 0; j < n; j++) sa[--to] = (POSITION)found[j];
    else /* the first LMS suffix is kept, so "to - 1" stays where positions belong */
        for (int64_t j = 0; j < n; j++) {
            sa[to - 1] = (POSITION)found[j];
            to -= !bit_is_set(is_marked, found[j] >> 1);
        }
    x->to = to;
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
    x->to = x->capacity - x->m;     /* those left out */
    x->k = x->capacity - x->n_kept; /* the others */
}

static void REDUCE(merge)(POSITION *sa, reduction *x, int64_t *budget)
{
    int64_t r = x->at, stop = x->m - r > *budget ? r + *budget : x->m, out = x->to, kept = x->k;
    const uint64_t *is_left_out = x->is_left_out;
    *budget -= stop - r;
    for (; r < stop; r++) {
        int is_out = bit_is_set(is_left_out, r);
        sa[r] = sa[is_out ? out : kept];
        out += is_out;
        kept += !is_out;
    }
    x->at = r;
    x->to = out;
    x->k = kept;
    if (r == x->m) x->pass = REDUCE_SORTED;
}

/* Begins with m entries as described above, of a text of n symbols; room: bytes for a bitmap. */
static void REDUCE(start)(reduction *x, int64_t m, int64_t n, int64_t capacity, int64_t room)
{
    memset(x, 0, sizeof *x);
    x->m = x->at = m;
    x->n = n;
    x->capacity = capacity;
    x->room = room;
    x->pass = m > 1 ? REDUCE_CLEAR : REDUCE_SORTED;
}

static int32_t REDUCE(reduce)(POSITION *sa, reduction *x, int64_t *budget)
{
    switch (x->pass) {
    case REDUCE_CLEAR:
        REDUCE(clear)(sa, x, budget);
        break;
    case REDUCE_NAME:
        return REDUCE(name)(sa, x, budget);
    case REDUCE_LOOK:
        return REDUCE(look)(sa, x, budget);
    case REDUCE_COMPACT:
        REDUCE(compact)(sa, x, budget);
        break;
    case REDUCE_RENAME:
        REDUCE(rename)(sa, x, budget);
        break;
    case REDUCE_REPLACE:
        REDUCE(replace)(sa, x, budget);
        break;
    case REDUCE_ORDER:
        REDUCE(order)(sa, x, budget);
        break;
    default:
        REDUCE(merge)(sa, x, budget);
        break;
    }
    return UNITOK_OK;
}
