/* repeats.c - finds all sequences of m tokens that occur more than once, in any number of shards
 *
 *     shard 0    sa ──▶ ... a b c | a b d | b ...          a heap holds the next suffix of each shard, smallest first,
 *     shard 1    sa ──▶ ... a b d | a b d | c ...          compared by m tokens; equal suffixes form a group:
 *
 *     group a b d:   shard 0, its suffixes [4, 5)          one record per shard, with the group's size (3) and its
 *                    shard 1, its suffixes [9, 11)         first position in the text
 *
 * Each suffix array is read once from front to back. A suffix is compared with the previous one;
 * after a run of equal suffixes, the next suffix enters the heap. This takes O(n log shards)
 * comparisons, most of which end after the few tokens that neighbours share. A second pass over
 * each shard writes the records to text positions: see unitok_repeats_mark. */

#include "ground/alloc.h"
#include "ground/error.h"
#include "suffix/search.h"

typedef unitok_repeat record;

/* The merge of all shards. `group` holds the records of the group that was last removed from the
 * heap; no other results are kept. */
struct unitok_repeats {
    const shard *const *shards;
    int32_t n_shards;
    int64_t m;
    int64_t *next; /* per shard: the suffix in the heap, or the end of the shard */
    int32_t *heap; /* shards, ordered by their next suffix */
    int32_t n_heap;
    record *group;  /* [0..n_shards-1]: the current group */
    int64_t n_done; /* suffixes processed, in all shards */
};

enum { AHEAD = 24 };

/* The text position of the suffix of shard k that is in the heap. */
INLINE uint64_t position_at(const unitok_repeats *f, int32_t k)
{
    return f->shards[k]->sa[f->next[k]];
}

/* Compares the m tokens at two positions: negative, 0 or positive. Tokens are compared by rank,
 * because that is the order of the suffix arrays. The sequence that reaches the end of its shard
 * first is smaller. */
static int compare(const unitok_repeats *f, int32_t a, uint64_t at_a, int32_t b, uint64_t at_b)
{
    const shard *sa = f->shards[a], *sb = f->shards[b];
    for (int64_t t = 0; t < f->m; t++) {
        int32_t x = rank_at(sa, at_a + (uint64_t)t), y = rank_at(sb, at_b + (uint64_t)t);
        if (x != y) return x < y ? -1 : 1;
        if (x == RANK_END) return 0;
    }
    return 0;
}

/* The order of the merge: smaller tokens first; ties go to the earlier shard. */
static int is_before(const unitok_repeats *f, int32_t a, int32_t b)
{
    int order = compare(f, a, position_at(f, a), b, position_at(f, b));
    return order < 0 || (order == 0 && a < b);
}

/* A binary heap of shard numbers. There are few shards, so it stays small, and most of its cost is
 * comparing tokens. */
static void sift_down(unitok_repeats *f, int32_t at)
{
    for (;;) {
        int32_t least = at;
        for (int32_t child = 2 * at + 1; child <= 2 * at + 2 && child < f->n_heap; child++)
            if (is_before(f, f->heap[child], f->heap[least])) least = child;
        if (least == at) return;
        int32_t swapped = f->heap[at];
        f->heap[at] = f->heap[least];
        f->heap[least] = swapped;
        at = least;
    }
}

/* Whether the m tokens at a position belong to one document and do not include its eod. */
static int is_window(const unitok_repeats *f, const shard *s, uint64_t position)
{
    if (position + (uint64_t)f->m > (uint64_t)s->n) return 0;
    int64_t d = document_at(s->ends, s->n_documents, s->begin, position);
    return d < s->n_documents && position + (uint64_t)f->m + (s->eod >= 0) <= s->ends[d] - s->begin;
}

/* Equal ids have equal ranks, so bytes are compared instead of ranks; all shards have ids of the same
 * size. Windows that reach past the end of a shard equal no other window. */
static int same_window(const unitok_repeats *f, const shard *a, uint64_t at_a, const shard *b,
                       uint64_t at_b)
{
    uint64_t m = (uint64_t)f->m, size = (uint64_t)a->id_bytes;
    return at_a + m <= (uint64_t)a->n && at_b + m <= (uint64_t)b->n &&
           memcmp((const uint8_t *)a->ids + at_a * size, (const uint8_t *)b->ids + at_b * size,
                  (size_t)(m * size)) == 0;
}

/* The end of the run of suffixes of shard k whose first m tokens equal those of its next suffix.
 * Most runs have one suffix. The tokens of later suffixes are prefetched, because the array is read
 * from front to back. */
static int64_t run_end(const unitok_repeats *f, int32_t k)
{
    const shard *s = f->shards[k];
    int64_t r = f->next[k];
    uint64_t position = s->sa[r++];
    for (; r < s->n && same_window(f, s, position, s, s->sa[r]); r++) {
        if (r + AHEAD < s->n && s->sa[r + AHEAD] < (uint64_t)s->n) prefetch_id(s, s->sa[r + AHEAD]);
    }
    if (r + AHEAD < s->n && s->sa[r + AHEAD] < (uint64_t)s->n) prefetch_id(s, s->sa[r + AHEAD]);
    return r;
}

/* Counts the suffixes of a run that are windows; *ret_first is the first window in the text. */
static int64_t count_windows(const unitok_repeats *f, int32_t k, int64_t lo, int64_t hi,
                             uint32_t *ret_first)
{
    const shard *s = f->shards[k];
    int64_t n = 0;
    *ret_first = UINT32_MAX;
    for (int64_t r = lo; r < hi; r++) {
        if (!is_window(f, s, s->sa[r])) continue;
        n++;
        if (s->sa[r] < *ret_first) *ret_first = s->sa[r];
    }
    return n;
}

/* Removes the next group from the heap. Returns its number of records, or 0 if it is a single
 * suffix. A record stores an interval of suffixes, so the memory of a group depends on the number
 * of shards and not on the number of suffixes. */
static int32_t next_group(unitok_repeats *f)
{
    /* The smallest suffix of all shards leads the group. All suffixes that equal it come next,
     * shard by shard, because the heap orders equal suffixes by shard. */
    int32_t leader = f->heap[0], n_records = 0;
    uint64_t position = position_at(f, leader);
    do {
        int32_t k = f->heap[0];
        int64_t lo = f->next[k], hi = run_end(f, k);
        record *to = &f->group[n_records++];
        to->shard = k;
        to->lo = lo;
        to->hi = hi;
        f->n_done += hi - lo;
        f->next[k] = hi;
        if (hi == f->shards[k]->n) f->heap[0] = f->heap[--f->n_heap];
        sift_down(f, 0);
    } while (f->n_heap > 0 && same_window(f, f->shards[leader], position, f->shards[f->heap[0]],
                                          position_at(f, f->heap[0])));
    return n_records == 1 && f->group[0].hi - f->group[0].lo == 1 ? 0 : n_records;
}

/* Completes the records of a group: those without windows are removed, and the others get the
 * group's size and first position. Returns how many are left. The first window of the first shard
 * that has one is the first in the corpus, because shards are numbered in corpus order. */
static int32_t settle_group(unitok_repeats *f, int32_t n_records)
{
    int64_t total = 0;
    int32_t n_kept = 0, first_shard = 0;
    uint32_t first_position = 0, first;
    for (int32_t k = 0; k < n_records; k++) { /* in the order of the shards */
        int64_t n = count_windows(f, f->group[k].shard, f->group[k].lo, f->group[k].hi, &first);
        if (n == 0) continue;
        if (total == 0) {
            first_shard = f->group[k].shard;
            first_position = first;
        }
        total += n;
        f->group[n_kept++] = f->group[k];
    }
    if (total < 2) return 0;
    for (int32_t k = 0; k < n_kept; k++) {
        f->group[k].first_shard = first_shard;
        f->group[k].first_position = first_position;
        f->group[k].count = total;
    }
    return n_kept;
}

/* The shards belong to the caller. */
void unitok_repeats_free(unitok_repeats *f)
{
    if (!f) return;
    mem_free(f->next);
    mem_free(f->heap);
    mem_free(f->group);
    mem_free(f);
}

/* Every shard that is not empty enters the heap with its first suffix. The heap is built from the
 * bottom up, which takes linear time. */
int32_t unitok_repeats_new(const shard *const *shards, int32_t n_shards, int64_t n_tokens,
                           unitok_repeats **ret, unitok_error *error)
{
    if (n_shards < 0 || n_tokens < 1)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1,
                    "a sequence must have at least one token");
    unitok_repeats *f = mem_zalloc(1, sizeof *f);
    if (!f) return fail_memory(error);
    f->shards = shards;
    f->n_shards = n_shards;
    f->m = n_tokens;
    f->next = mem_zalloc((size_t)n_shards + 1, sizeof *f->next);
    f->heap = mem_alloc(((size_t)n_shards + 1) * sizeof *f->heap);
    f->group = mem_zalloc((size_t)n_shards + 1, sizeof *f->group);
    if (!f->next || !f->heap || !f->group) {
        unitok_repeats_free(f);
        return fail_memory(error);
    }
    for (int32_t k = 0; k < n_shards; k++)
        if (shards[k]->n > 0) f->heap[f->n_heap++] = k;
    for (int32_t at = f->n_heap / 2; at >= 0; at--)
        if (f->n_heap) sift_down(f, at);
    *ret = f;
    return UNITOK_OK;
}

/* A group has at most one record per shard, so a call stops when `out` has space for fewer. Groups
 * are never split across two calls. */
int64_t unitok_repeats_step(unitok_repeats *f, int64_t n_suffixes, record *out, int64_t capacity,
                            int64_t *ret_done)
{
    int64_t n = 0, stop = f->n_done + n_suffixes;
    while (f->n_heap > 0 && f->n_done < stop && n + f->n_shards <= capacity) {
        int32_t n_records = settle_group(f, next_group(f));
        memcpy(out + n, f->group, (size_t)n_records * sizeof *out);
        n += n_records;
    }
    *ret_done = f->n_done;
    return n;
}

/* At each position of one shard where a repeated sequence begins, stores how often the sequence
 * occurs. `later` is 1 if an earlier occurrence does not overlap this one: the first of several
 * copies is the one to keep. */
void unitok_repeats_mark(const shard *s, int32_t number, int64_t n_tokens, const record *records,
                         int64_t n, uint32_t *counts, uint8_t *later)
{
    unitok_repeats f = {.m = n_tokens};
    for (int64_t k = 0; k < n; k++) {
        uint32_t count = records[k].count > UINT32_MAX ? UINT32_MAX : (uint32_t)records[k].count;
        int64_t hi = records[k].hi < s->n ? records[k].hi : s->n;
        for (int64_t r = records[k].lo; r < hi; r++) {
            uint64_t position = s->sa[r];
            if (!is_window(&f, s, position)) continue;
            counts[position] = count;
            later[position] = records[k].first_shard != number ||
                              position >= (uint64_t)records[k].first_position + (uint64_t)n_tokens;
        }
    }
}
