/* sort_reduce.h - template: from sorted LMS substrings to sorted LMS suffixes
 *
 * At the start, sa[0..m-1] holds the LMS positions, sorted by substring; the last entry of each
 * group of equal substrings is flagged. Each group gets a name. The names in text order form a
 * shorter text, whose suffixes are in the same order as the LMS suffixes. The caller sorts these
 * suffixes (sort_names.h), and then the LMS positions are put into the same order.
 *
 * The suffix of a group with one member is already sorted, whatever follows. A comparison of two
 * suffixes ends at the first unique name at the latest, so it never reaches a unique name that
 * follows another one; such names are left out of the array of names.
 *
 *     sorted LMS positions    7  2  5 | 9 | 0  4 |         groups end at |
 *     names in text order     4* 0 4 0 0 3*                2, 5 and 7 have the name 0, ...; * marks a unique name
 *
 * The memory, pass by pass. LMS positions are at least two apart, so names stored at position / 2
 * do not collide:
 *
 *     sa  [ positions: m | names, at position / 2: n/2 | ... ]                                CLEAR NAME LOOK
 *         [ positions: m | names kept | ...                 [ left out: m - kept | names: kept ]     COMPACT RENAME
 *         [ suffix array of the names: kept | free ...      [ left out: m - kept | names: kept ]     REPLACE, the level
 *         [ suffix array of the names: kept | marks: n/64 ..[ left out: m - kept | positions ]       MARK POSITIONS
 *         [ its entries as positions: kept  | ...           [ left out: m - kept | positions ]       ORDER
 *         [ all LMS positions, sorted: m | ...                                                       MERGE
 *                                                                                     capacity ^
 */

/* EMPTY marks entries without a name, because LMS positions can be more than two symbols apart. */
static void REDUCE(clear)(POSITION *sa, reduction *x, int64_t *budget)
{
    int64_t end = x->m + x->n / 2, stop = step_up(x->at, end, budget);
    memset(sa + x->at, 0xFF, (size_t)(stop - x->at) * sizeof(POSITION));
    x->at = stop;
    if (stop < end) return;
    x->pass = REDUCE_NAME;
    x->at = x->to = 0;
    x->bit = 1; /* whether the previous entry ends a group */
}

/* The size of the marks for text[0..n-1], in elements of the suffix array: one bit per two symbols,
 * and one more element, because aligning the 64-bit words may skip one. */
INLINE int64_t REDUCE(marks_size)(int64_t n)
{
    return (n / 128 + 1) * (int64_t)(sizeof(uint64_t) / sizeof(POSITION)) + 1;
}

/* n_bytes: the size of is_left_out, or 0 if all names are kept. */
static void REDUCE(start_compact)(reduction *x, int64_t n_bytes)
{
    x->bitmap_bytes -= n_bytes;
    x->pass = REDUCE_COMPACT;
    x->at = x->to = x->bit = 0; /* bit: the last name is unique */
    if (!n_bytes) return;
    x->is_left_out = mem_zalloc(1, (size_t)n_bytes);
    if (!x->is_left_out) x->status = UNITOK_ERROR_MEMORY;
}

/* For now, the name of a group is the index of its first entry, with a flag if the group has one
 * member. These names can be compared for equality; they are numbered consecutively once it is
 * known which are kept. A group has one member if both its first entry and the entry before that
 * end a group. */
static void REDUCE(name)(POSITION *sa, reduction *x, int64_t *budget)
{
    POSITION *names = sa + x->m, name = (POSITION)x->to, ended = (POSITION)x->bit;
    int64_t r = x->at, stop = step_up(r, x->m, budget), n_names = x->n_names;
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
    if (r < x->m) return;
    int64_t n_bytes = (x->m / 64 + 1) * (int64_t)sizeof *x->is_left_out;
    if (n_names == x->m) { /* all substrings are distinct, so the suffixes are sorted */
        x->pass = REDUCE_SORTED;
    } else if (n_bytes > x->bitmap_bytes) {
        REDUCE(start_compact)(x, 0);
    } else if (x->capacity - 2 * x->m >= REDUCE(marks_size)(x->n)) {
        REDUCE(start_compact)(x, n_bytes);
    } else {
        x->pass = REDUCE_LOOK;
        x->at = x->k = x->bit = 0; /* bit: the last name is unique */
    }
}

/* Counts the names that could be left out: unique names that follow a unique name in the text. They
 * are left out only if that frees enough memory for the marks. */
static void REDUCE(look)(POSITION *sa, reduction *x, int64_t *budget)
{
    const POSITION *names = sa + x->m;
    int64_t end = x->n / 2, r = x->at, stop = step_up(r, end, budget), n_out = x->k;
    POSITION was_unique = (POSITION)x->bit;
    for (; r < stop; r++) {
        POSITION name = names[r], is_unique = FLAG_OF(name);
        n_out += (int64_t)((name != EMPTY) & is_unique & was_unique);
        was_unique = name != EMPTY ? is_unique : was_unique;
    }
    x->at = r;
    x->k = n_out;
    x->bit = (int32_t)was_unique;
    if (r < end) return;
    int fits = x->capacity - 2 * x->m + n_out >= REDUCE(marks_size)(x->n);
    REDUCE(start_compact)(x, fits ? (x->m / 64 + 1) * (int64_t)sizeof *x->is_left_out : 0);
}

/* Gathers the kept names, in text order, at the end of the memory. The loop has no branch: every
 * name is written, and `to` advances only past those that are kept. The names left out of a block
 * are collected in the same way, and then the bits at their places in sorted order are set;
 * `rename` and `merge` read these bits. */
static void REDUCE(compact)(POSITION *sa, reduction *x, int64_t *budget)
{
    POSITION *names = sa + x->m;
    int64_t end = x->n / 2, r = x->at, stop = step_up(r, end, budget), to = x->to;
    uint64_t *is_left_out = x->is_left_out, was_unique = (uint64_t)x->bit;
    POSITION out[BLOCK + 1];
    while (r < stop) {
        int64_t block_end = stop - r < BLOCK ? stop : r + BLOCK, n_out = 0;
        for (; r < block_end; r++) {
            POSITION name = names[r];
            uint64_t is_there = name != EMPTY, is_unique = is_there & (uint64_t)FLAG_OF(name);
            uint64_t is_out = is_unique & was_unique & (is_left_out != NULL);
            names[to] = name;
            to += (int64_t)(is_there & ~is_out);
            out[n_out] = name & MASK;
            n_out += (int64_t)is_out;
            was_unique = is_there ? is_unique : was_unique;
        }
        for (int64_t k = 0; k < n_out; k++)
            is_left_out[out[k] >> 6] |= (uint64_t)1 << (out[k] & 63);
    }
    x->at = r;
    x->to = to;
    x->bit = (int32_t)was_unique;
    if (r < end) return;
    x->n_kept = to;
    x->is_tight = x->capacity - x->m - to < x->n_names - (x->m - to);
    memmove(sa + x->capacity - to, names, (size_t)to * sizeof(POSITION));
    if (!x->is_tight) {
        x->group_ends = mem_zalloc((size_t)(to / 64 + 1), sizeof *x->group_ends);
        if (!x->group_ends) x->status = UNITOK_ERROR_MEMORY;
    }
    x->pass = REDUCE_RENAME;
    x->at = x->n_names = x->k = x->group = 0;
    x->to = x->capacity - x->m;
}

/* Moves the positions that are left out to the end of the memory, and replaces every other entry
 * with the number of its group; on a tight level, with the start of the group's bucket. Names that
 * are left out get no number, so the alphabet of the level below has no gaps. The suffixes of a
 * group have the same first name, so the ends of groups are the ends of that level's buckets. */
static void REDUCE(rename)(POSITION *sa, reduction *x, int64_t *budget)
{
    int64_t r = x->at, stop = step_up(r, x->m, budget), to = x->to, n_names = x->n_names;
    int64_t k = x->k, group = x->group;
    const uint64_t *is_left_out = x->is_left_out;
    uint64_t *group_ends = x->group_ends;
    int32_t is_tight = x->is_tight;
    for (; r < stop; r++) {
        POSITION entry = sa[r];
        if (is_left_out && bit_is_set(is_left_out, r)) {
            sa[to++] = entry & MASK;
        } else {
            sa[r] = (POSITION)(is_tight ? group : n_names);
            n_names += (int64_t)FLAG_OF(entry);
            if (!is_tight) group_ends[k >> 6] |= (uint64_t)FLAG_OF(entry) << (k & 63);
            k++;
            group = entry & FLAG ? k : group;
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

/* Replaces each name, which is the index of its group's first entry, with the number that `rename`
 * wrote there. */
static void REDUCE(replace)(POSITION *sa, reduction *x, int64_t *budget)
{
    int64_t r = x->at, stop = step_up(r, x->capacity, budget);
    for (; r < stop; r++) {
        PREFETCH(sa + (sa[r + AHEAD < x->capacity ? r + AHEAD : r] & MASK));
        sa[r] = sa[sa[r] & MASK];
    }
    x->at = r;
    if (r == x->capacity) x->pass = REDUCE_RECURSE;
}

/* Called once the names are sorted. The caller then runs `mark` while it is the current pass, calls
 * add_positions for all LMS positions, and continues with `order`. Marks are 64-bit words, but
 * positions may have 32 bits, so the marks begin at the next multiple of 8 bytes. */
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

/* The positions that were left out are in sorted order, not in text order, so a bitmap marks them;
 * searching a list would take too long. */
static void REDUCE(mark)(POSITION *sa, reduction *x, int64_t *budget)
{
    const POSITION *left_out = sa + x->capacity - x->m;
    uint64_t *is_marked = x->is_marked;
    int64_t end = x->m - x->n_kept, r = x->at, stop = step_up(r, end, budget);
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

/* Takes found[0..n-1], the next LMS positions of the text from right to left, and writes those that
 * are kept. `to` decreases from the end of the memory, so the positions end up in text order. */
static void REDUCE(add_positions)(POSITION *sa, reduction *x, const int64_t *found, int64_t n)
{
    int64_t to = x->to;
    const uint64_t *is_marked = x->is_marked;
    if (!is_marked)
        for (int64_t j = 0; j < n; j++) sa[--to] = (POSITION)found[j];
    else /* The first LMS suffix is always kept, so `to - 1` stays within the array. */
        for (int64_t j = 0; j < n; j++) {
            sa[to - 1] = (POSITION)found[j];
            to -= !bit_is_set(is_marked, found[j] >> 1);
        }
    x->to = to;
}

/* Replaces the sorted suffixes of the array of names with the LMS positions for which they stand.
 * The suffix array of the names holds indexes into the array of names, whose k-th entry belongs to
 * the k-th kept position. */
static void REDUCE(order)(POSITION *sa, reduction *x, int64_t *budget)
{
    POSITION *positions = sa + x->capacity - x->n_kept;
    int64_t r = x->at, stop = step_up(r, x->n_kept, budget);
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
    x->to = x->capacity - x->m;     /* the positions left out */
    x->k = x->capacity - x->n_kept; /* the kept positions */
}

/* Merges the two sorted lists without comparing anything: is_left_out, which is in sorted order,
 * says from which list each entry comes. */
static void REDUCE(merge)(POSITION *sa, reduction *x, int64_t *budget)
{
    int64_t r = x->at, stop = step_up(r, x->m, budget), out = x->to, kept = x->k;
    const uint64_t *is_left_out = x->is_left_out;
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

/* Starts a reduction of m sorted entries of a text of n symbols. A single LMS suffix needs no
 * sorting. */
static void REDUCE(start)(reduction *x, int64_t m, int64_t n, int64_t capacity,
                          int64_t bitmap_bytes)
{
    memset(x, 0, sizeof *x);
    x->m = x->at = m;
    x->n = n;
    x->capacity = capacity;
    x->bitmap_bytes = bitmap_bytes;
    x->pass = m > 1 ? REDUCE_CLEAR : REDUCE_SORTED;
}

/* Runs a part of the current pass. Each pass sets x->pass to the next one when it ends. */
static void REDUCE(reduce)(POSITION *sa, reduction *x, int64_t *budget)
{
    static void (*const passes[REDUCE_SORTED])(POSITION *, reduction *, int64_t *) = {
        [REDUCE_CLEAR] = REDUCE(clear),   [REDUCE_NAME] = REDUCE(name),
        [REDUCE_LOOK] = REDUCE(look),     [REDUCE_COMPACT] = REDUCE(compact),
        [REDUCE_RENAME] = REDUCE(rename), [REDUCE_REPLACE] = REDUCE(replace),
        [REDUCE_MARK] = REDUCE(mark),     [REDUCE_ORDER] = REDUCE(order),
        [REDUCE_MERGE] = REDUCE(merge),
    };
    passes[x->pass](sa, x, budget);
}
