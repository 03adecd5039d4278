/* anchors_group.c - sorts records, and finds pairs of places with equal text among records with
 * equal keys
 *
 *     anchors with the key of one k-gram:      class    positions
 *                                              ctx A    10  90  140       pairs (90, 10), (140, 10); kept 10
 *                                              ctx B    55  300           pair (300, 55); kept 55
 *                                              ctx C    77                kept 77
 *     among the kept anchors                                             pairs (55, 10), (77, 10), (77, 55)
 *
 * The anchors of a class have equal contexts, so all their windows are equal. Different contexts
 * may have some equal windows, unless the units on both sides differ. If there are several classes,
 * a few kept anchors are therefore paired with each other, and verification finds the equal part of
 * their contexts. If more anchors are kept, they are marked instead: all their windows are then
 * found and grouped, which takes time proportional to the number of windows, not to the square of
 * that number.
 *
 * A copy that overlaps the first one is not in a pair, so that one copy remains of a text like
 * "aaaa…".
 */

#include "clean/anchors.h"
#include "ground/alloc.h"
#include "ground/error.h"

/* A stable counting sort. While records are written, starts[b] moves from the beginning of bucket b
 * to its end, which is the beginning of bucket b + 1. So shifting all entries by one restores the
 * beginnings. */
void unitok_anchors_divide(const unitok_anchor *records, int64_t n, int shift, int64_t n_buckets,
                           int64_t *starts, unitok_anchor *ret)
{
    memset(starts, 0, (size_t)(n_buckets + 1) * sizeof *starts);
    for (int64_t i = 0; i < n; i++) starts[(records[i].key >> shift) + 1]++;
    for (int64_t b = 0; b < n_buckets; b++) starts[b + 1] += starts[b];
    for (int64_t i = 0; i < n; i++) ret[starts[records[i].key >> shift]++] = records[i];
    memmove(starts + 1, starts, (size_t)n_buckets * sizeof *starts);
    starts[0] = 0;
}

/* ------------------------------------------------------------------------------------ Sort ---- */

#define FEW 24 /* insertion sort is faster for at most this many records */

/* Whether record a sorts after record b, by the bits of the key from `shift` on and, if by_value is
 * set, by the value. */
INLINE int is_after(const unitok_anchor *a, const unitok_anchor *b, int shift, int by_value)
{
    uint64_t key_a = a->key >> shift, key_b = b->key >> shift;
    return key_a > key_b || (by_value && key_a == key_b && a->value > b->value);
}

static void sort_few(unitok_anchor *records, int64_t n, int shift, int by_value)
{
    for (int64_t i = 1; i < n; i++) {
        unitok_anchor moved = records[i];
        int64_t k = i;
        for (; k && is_after(&records[k - 1], &moved, shift, by_value); k--)
            records[k] = records[k - 1];
        records[k] = moved;
    }
}

/* A stable bottom-up merge sort. Cells can be large: in a text of one repeated byte, all keys are
 * equal. A merge is skipped if its two runs are in order already, as equal keys always are. */
static void sort_cell(unitok_anchor *records, int64_t n, unitok_anchor *scratch, int shift,
                      int by_value)
{
    for (int64_t i = 0; i < n; i += FEW)
        sort_few(records + i, n - i < FEW ? n - i : FEW, shift, by_value);
    for (int64_t width = FEW; width < n; width *= 2) {
        for (int64_t i = 0; i + width < n; i += 2 * width) {
            int64_t end = i + 2 * width < n ? i + 2 * width : n, a = i, b = i + width;
            if (!is_after(&records[b - 1], &records[b], shift, by_value)) continue;
            memcpy(scratch + i, records + i, (size_t)(end - i) * sizeof *records);
            for (int64_t k = i; k < end; k++) {
                int is_b = a == i + width ||
                           (b < end && is_after(&scratch[a], &scratch[b], shift, by_value));
                records[k] = scratch[is_b ? b++ : a++];
            }
        }
    }
}

/* Divides records into cells of about four by their keys, which are nearly uniform, and sorts each
 * cell. Returns 0 if allocation fails. The sort is stable, so records with equal keys and values
 * stay in the order of their positions, and the first of them is the earliest copy. O(n) for
 * uniform keys, O(n log n) for any keys. */
static int sort_records(unitok_anchor *records, int64_t n, unitok_anchor *scratch, int shift,
                        int by_value)
{
    if (n < 2) return 1;
    uint64_t least = UINT64_MAX, most = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t key = records[i].key >> shift;
        if (key < least) least = key;
        if (key > most) most = key;
    }
    int cell_shift = 0;
    while (cell_shift < 63 && (most - least) >> cell_shift > (uint64_t)n / 4) cell_shift++;
    int64_t n_cells = (int64_t)((most - least) >> cell_shift) + 1, begin = 0;
    int64_t *ends = mem_zalloc((size_t)n_cells + 1, sizeof *ends);
    if (!ends) return 0;
    for (int64_t i = 0; i < n; i++) ends[(((records[i].key >> shift) - least) >> cell_shift) + 1]++;
    for (int64_t c = 0; c < n_cells; c++) ends[c + 1] += ends[c];
    for (int64_t i = 0; i < n; i++)
        scratch[ends[((records[i].key >> shift) - least) >> cell_shift]++] = records[i];
    memcpy(records, scratch, (size_t)n * sizeof *records);
    for (int64_t c = 0; c < n_cells; begin = ends[c++])
        sort_cell(records + begin, ends[c] - begin, scratch, shift, by_value);
    mem_free(ends);
    return 1;
}

int32_t unitok_anchors_sort(unitok_anchor *records, int64_t n, unitok_anchor *scratch,
                            unitok_error *error)
{
    return sort_records(records, n, scratch, 0, 0) ? UNITOK_OK : fail_memory(error);
}

/* ----------------------------------------------------------------------------------- Group ---- */

#define N_SIDES (1 << ANCHOR_SIDE_BITS)

typedef struct grouping {
    const unitok_anchors *anchors;
    int32_t kind;
    int all_copies, mark_all;
    int64_t first;
    unitok_anchor *records, *pairs; /* kept records are moved to the front */
    int64_t *marks;
    unitok_anchor_groups n;
    uint8_t *lefts,
        *rights; /* [0..N_SIDES - 1]: the number of times that each hash occurs in the group, at most 2 */
} grouping;

static void pair(grouping *g, const unitok_anchor *a, const unitok_anchor *b, uint64_t n_bytes)
{
    if (anchor_place(a) < g->first) return;
    g->pairs[g->n.n_pairs++] = (unitok_anchor){(uint64_t)anchor_place(a), (uint64_t)anchor_place(b),
                                               n_bytes};
}

/* Pairs the records i..end-1, which are one class, and keeps the others. The first one is the copy
 * that remains: each later copy is paired with it, unless the two overlap. */
static void group_class(grouping *g, int64_t i, int64_t end)
{
    unitok_anchor first = g->records[i];
    int is_gram = g->kind == UNITOK_ANCHOR_GRAMS;
    int64_t n_bytes = is_gram ? g->anchors->n : anchor_size(&first);
    if (g->all_copies && end > i + 1)
        pair(g, &first, &g->records[i + 1], is_gram ? 0 : (uint64_t)n_bytes);
    g->records[g->n.n_kept++] = first;
    for (i++; i < end; i++) {
        unitok_anchor later = g->records[i];
        if (g->all_copies || anchor_place(&later) - anchor_place(&first) >= n_bytes)
            pair(g, &later, &first, is_gram ? 0 : (uint64_t)n_bytes);
        else g->records[g->n.n_kept++] = later;
    }
}

INLINE void count_side(uint8_t *n, uint32_t value)
{
    if (value && n[value] < 2) n[value]++;
}

/* Among the records i..end-1, which have the same key, marks those that may share a window with
 * another record, because the hash of one side is the same. A hash of 0 means that the side does
 * not exist, and matches nothing. Counts stop at 2, because only "more than one" matters, and are
 * cleared afterwards entry by entry, because most groups are far smaller than the tables. */
static void mark_some(grouping *g, int64_t i, int64_t end)
{
    for (int64_t k = i; k < end; k++) {
        count_side(g->lefts, anchor_left(&g->records[k]));
        count_side(g->rights, anchor_right(&g->records[k]));
    }
    for (int64_t k = i; k < end; k++) {
        const unitok_anchor *record = &g->records[k];
        int sides = (g->lefts[anchor_left(record)] > 1 ? MARK_LEFT : 0) |
                    (g->rights[anchor_right(record)] > 1 ? MARK_RIGHT : 0);
        if (g->mark_all) sides = MARK_LEFT | MARK_RIGHT;
        if (sides) g->marks[g->n.n_marks++] = anchor_place(record) * UNITOK_MARKS_PER_BYTE + sides;
    }
    for (int64_t k = i; k < end; k++)
        g->lefts[anchor_left(&g->records[k])] = g->rights[anchor_right(&g->records[k])] = 0;
}

/* Among the records i..end-1, which have the same key, pairs those that may share a window. The
 * caller limits them to UNITOK_ANCHORS_MAX_PAIRED, because each is compared with every other
 * one. */
static void pair_some(grouping *g, int64_t i, int64_t end)
{
    for (int64_t k = i; k < end; k++) {
        const unitok_anchor *a = &g->records[k];
        for (int64_t m = i; m < end; m++) {
            const unitok_anchor *b = &g->records[m];
            int shares_side = (anchor_left(a) && anchor_left(a) == anchor_left(b)) ||
                              (anchor_right(a) && anchor_right(a) == anchor_right(b));
            int is_copy = g->all_copies ? k != m
                                        : anchor_place(a) - anchor_place(b) >= g->anchors->n;
            if (shares_side && is_copy) pair(g, a, b, 0);
        }
    }
}

static void keep_all(grouping *g, int64_t i, int64_t end)
{
    memmove(g->records + g->n.n_kept, g->records + i, (size_t)(end - i) * sizeof *g->records);
    g->n.n_kept += end - i;
}

/* Handles records i..end-1, which have the same key. Classes of anchors of words are not paired,
 * because the size of their contexts in bytes is unknown; all their windows are found instead. */
static void group_key(grouping *g, int64_t i, int64_t end)
{
    int is_gram = g->kind == UNITOK_ANCHOR_GRAMS;
    int64_t n_before = g->n.n_kept, n_classes = 0;
    if (is_gram && g->anchors->rules) {
        n_classes = end - i;
        keep_all(g, i, end);
    } else {
        for (int64_t next; i < end; i = next, n_classes++) {
            for (next = i + 1; next < end && g->records[next].value == g->records[i].value;) next++;
            group_class(g, i, next);
        }
    }
    if (!is_gram || (n_classes == 1 && !g->mark_all)) return;
    if (g->anchors->rules || g->mark_all || g->n.n_kept - n_before > UNITOK_ANCHORS_MAX_PAIRED)
        mark_some(g, n_before, g->n.n_kept);
    else pair_some(g, n_before, g->n.n_kept);
}

/* Anchors form a group if their k-grams have the same hash, whatever the units on their left (the
 * low bits of the key). Records are sorted by value too, so each class is a range of its group, in
 * the order of positions. */
int32_t unitok_anchors_group(const unitok_anchors *anchors, int32_t kind, int all_copies,
                             int mark_all, int64_t first, unitok_anchor *records, int64_t n,
                             unitok_anchor *scratch, unitok_anchor *pairs, int64_t *marks,
                             unitok_anchor_groups *ret, unitok_error *error)
{
    int shift = kind == UNITOK_ANCHOR_GRAMS ? ANCHOR_SIDE_BITS : 0;
    grouping g = {.anchors = anchors,
                  .kind = kind,
                  .all_copies = all_copies,
                  .mark_all = mark_all,
                  .first = first,
                  .records = records,
                  .pairs = pairs,
                  .marks = marks};
    *ret = g.n;
    g.lefts = mem_zalloc(2 * N_SIDES, 1);
    if (!g.lefts || !sort_records(records, n, scratch, shift, 1)) {
        mem_free(g.lefts);
        return fail_memory(error);
    }
    g.rights = g.lefts + N_SIDES;
    for (int64_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && records[end].key >> shift == records[i].key >> shift;) end++;
        group_key(&g, i, end);
    }
    mem_free(g.lefts);
    *ret = g.n;
    return UNITOK_OK;
}
