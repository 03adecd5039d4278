/* ngrams.c - counts and sorts byte n-grams: see ngrams.h
 *
 * The n-grams of the full order are collected 64 at a time: their slots are prefetched together and
 * visited afterwards, so that the cache misses overlap. A table that is being filled has empty
 * slots; sorting removes them, and after that the same array is a sorted list:
 *
 *     filling    | - | "the" 3 | - | "cat" 1 | - | "hec" 1 | …       by hash, 1/2 to 3/4 full
 *     sorted     | "cat" 1 | "hec" 1 | "the" 3 |                     n_slots = n
 *
 * The count is in the low bits of a slot, below the n-gram (ngrams.h), so the sorted slots are in
 * the order of their n-grams. */

#include "train/ngrams.h"

#include "ground/alloc.h"
#include "ground/error.h"
#include "ground/packed.h"
#include "train/chunks.h"

#define FIRST_BITS 11
#define FIRST_OTHER_BITS 6
#define AT_ONCE 64 /* n-grams added in one batch, so that their cache misses overlap */

/* The largest count that a slot can hold. */
INLINE uint64_t most_of(int order) { return (UINT64_C(1) << (64 - 8 * order)) - 1; }

/* Replaces the tables with empty ones of the smallest size. Returns 0 if allocation fails, and then
 * changes nothing. */
static int open_tables(unitok_ngrams *ngrams)
{
    uint64_t *slots = mem_zalloc((size_t)2 << FIRST_BITS, sizeof *slots);
    ngram_entry *others = mem_zalloc((size_t)1 << FIRST_OTHER_BITS, sizeof *others);
    if (!slots || !others) {
        mem_free(slots);
        mem_free(others);
        return 0;
    }
    mem_free(ngrams->slots);
    mem_free(ngrams->others);
    mem_free(ngrams->sorted);
    ngrams->slots = slots;
    ngrams->others = others;
    ngrams->sorted = NULL;
    ngrams->step = 2;
    ngrams->bits = FIRST_BITS;
    ngrams->n_slots = INT64_C(2) << FIRST_BITS;
    ngrams->other_bits = FIRST_OTHER_BITS;
    ngrams->n = ngrams->n_others = ngrams->n_short = 0;
    return 1;
}

/* is_digit must live as long as the counts. */
int32_t unitok_ngrams_new(int32_t order, const uint8_t *is_digit, unitok_ngrams **ret,
                          unitok_error *error)
{
    if (order < 1 || order > UNITOK_NGRAM_MAX_ORDER)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "the order is not 1..7");
    unitok_ngrams *ngrams = mem_zalloc(1, sizeof *ngrams);
    if (!ngrams) return fail_memory(error);
    ngrams->order = order;
    ngrams->is_digit = is_digit;
    if (!open_tables(ngrams)) {
        mem_free(ngrams);
        return fail_memory(error);
    }
    *ret = ngrams;
    return UNITOK_OK;
}

void unitok_ngrams_free(unitok_ngrams *ngrams)
{
    if (!ngrams) return;
    mem_free(ngrams->slots);
    mem_free(ngrams->others);
    mem_free(ngrams->sorted);
    mem_free(ngrams);
}

/* The tables are small again, and grow as needed. */
int32_t unitok_ngrams_clear(unitok_ngrams *ngrams, unitok_error *error)
{
    return open_tables(ngrams) ? UNITOK_OK : fail_memory(error);
}

/* n_others includes n-grams whose counts have overflowed their slots, so n_short is added instead.
 */
int64_t unitok_ngrams_count(const unitok_ngrams *ngrams) { return ngrams->n + ngrams->n_short; }

/* The two tables; the list of sorted numbers is small in comparison. */
int64_t unitok_ngrams_memory_bytes(const unitok_ngrams *ngrams)
{
    int64_t n_bytes = (int64_t)sizeof *ngrams + ngrams->n_slots * (int64_t)sizeof *ngrams->slots;
    return n_bytes + (INT64_C(1) << ngrams->other_bits) * (int64_t)sizeof *ngrams->others;
}

/* The slot where the search for an n-gram begins: the hash as a fraction of the table, as in
 * model_slot, so the number of slots need not be a power of 2. step << bits < 2^62. */
INLINE int64_t home_of(uint64_t ngram, int step, int bits)
{
    return (int64_t)((ngram_hash(ngram) >> 2) * (uint64_t)step >> (62 - bits));
}

/* ---------------------------------------------------------------------------------- Adding ---- */

/* The entry of a number, or the empty entry where it belongs. */
INLINE ngram_entry *find_other(ngram_entry *others, int bits, uint64_t key)
{
    uint64_t mask = (UINT64_C(1) << bits) - 1, at = ngram_hash(key) >> (64 - bits);
    while (others[at].key != key && others[at].key) at = (at + 1) & mask;
    return &others[at];
}

/* Adds to the second table, which has space: see reserve. n_short counts the entries of shorter
 * n-grams, which are not in the slots. */
static void add_other(unitok_ngrams *ngrams, uint64_t key, uint64_t count)
{
    ngram_entry *entry = find_other(ngrams->others, ngrams->other_bits, key);
    if (!entry->key) {
        entry->key = key;
        ngrams->n_others++;
        ngrams->n_short += (int)(key & 7) < ngrams->order;
    }
    entry->count += count;
}

/* Counts an n-gram of the full order. When its count fills the slot, that count moves to the second
 * table, and the slot restarts at 1, for the occurrence that is being counted: a count of 0 would
 * mark the slot as empty. */
INLINE void add(unitok_ngrams *ngrams, uint64_t *slots, int64_t home, uint64_t ngram, uint64_t most)
{
    for (int64_t at = home;;) {
        uint64_t slot = slots[at];
        if (LIKELY(is_slot_of(slot, ngram, most))) {
            slots[at] = slot + 1;
            if (LIKELY((slot & most) != most)) return;
            add_other(ngrams, ngram | (uint64_t)ngrams->order, most);
            slots[at] = ngram + 1;
            return;
        }
        if ((slot & most) == 0) {
            slots[at] = ngram + 1;
            ngrams->n++;
            return;
        }
        if (++at == ngrams->n_slots) at = 0;
    }
}

/* The second table is small: it holds only short and very frequent n-grams. */
static int grow_others(unitok_ngrams *ngrams)
{
    int bits = ngrams->other_bits + 1;
    ngram_entry *others = mem_zalloc((size_t)1 << bits, sizeof *others);
    if (!others) return 0;
    for (int64_t i = 0; i < INT64_C(1) << ngrams->other_bits; i++)
        if (ngrams->others[i].key)
            *find_other(others, bits, ngrams->others[i].key) = ngrams->others[i];
    mem_free(ngrams->others);
    ngrams->others = others;
    ngrams->other_bits = bits;
    return 1;
}

/* Grows alternately by a half and by a third: with 2, 3, 4, 6, 8, ... slots, the table is from half
 * to three quarters full, while doubling would leave it three eighths full. Returns 0 if allocation
 * fails. Every n-gram is hashed again, because its slot depends on the size of the table. */
static int grow(unitok_ngrams *ngrams)
{
    /* The number of slots is step << bits: 2 << b, 3 << b, 2 << (b + 1), and so on. */
    int step = 5 - ngrams->step, bits = ngrams->bits + (step == 2);
    int64_t n_slots = (int64_t)step << bits;
    uint64_t most = most_of(ngrams->order), *slots = mem_zalloc((size_t)n_slots, sizeof *slots);
    if (!slots) return 0;
    for (int64_t i = 0; i < ngrams->n_slots; i++) {
        uint64_t slot = ngrams->slots[i];
        if ((slot & most) == 0) continue;
        int64_t at = home_of(slot & ~most, step, bits);
        while (slots[at] & most)
            if (++at == n_slots) at = 0;
        slots[at] = slot;
    }
    mem_free(ngrams->slots);
    ngrams->slots = slots;
    ngrams->n_slots = n_slots;
    ngrams->step = step;
    ngrams->bits = bits;
    return 1;
}

/* Makes space for AT_ONCE more n-grams in each table; returns 0 if allocation fails. */
static int reserve(unitok_ngrams *ngrams)
{
    if (4 * (ngrams->n + AT_ONCE) > 3 * ngrams->n_slots && !grow(ngrams)) return 0;
    while (3 * (ngrams->n_others + AT_ONCE) > INT64_C(2) << ngrams->other_bits)
        if (!grow_others(ngrams)) return 0;
    return 1;
}

/* N-grams that wait to be counted together, on the stack of the function that reads the text. */
typedef struct batch {
    uint64_t ngrams[AT_ONCE]; /* n-grams of the full order */
    int n;
} batch;

/* reserve makes space for the complete batch, so no table has to grow while the prefetched slots
 * are visited. */
static int flush(unitok_ngrams *ngrams, batch *waiting)
{
    if (!reserve(ngrams)) return 0;
    int64_t homes[AT_ONCE];
    uint64_t *slots = ngrams->slots, most = most_of(ngrams->order);
    for (int k = 0; k < waiting->n; k++) {
        homes[k] = home_of(waiting->ngrams[k], ngrams->step, ngrams->bits);
        PREFETCH(&slots[homes[k]]);
    }
    for (int k = 0; k < waiting->n; k++) add(ngrams, slots, homes[k], waiting->ngrams[k], most);
    waiting->n = 0;
    return 1;
}

/* Counts one n-gram for each byte, the longest that begins there; returns 0 if allocation fails. At
 * the end of the chunk, fewer than `order` bytes remain, so the n-grams there are shorter: one of
 * each length. */
static int count_chunk(unitok_ngrams *ngrams, const uint8_t *text, int64_t n_bytes, batch *waiting)
{
    int order = ngrams->order;
    uint64_t bytes = 0;
    for (int64_t i = 0; i < n_bytes; i++) {
        /* The last eight bytes: a shift gives the n-gram of any length. */
        bytes = bytes << 8 | text[i];
        if (i + 1 < order) continue;
        waiting->ngrams[waiting->n++] = ngram_slot(bytes, order);
        if (waiting->n == AT_ONCE && !flush(ngrams, waiting)) return 0;
    }
    if (!reserve(ngrams)) return 0;
    for (int n = n_bytes < order ? (int)n_bytes : order - 1; n > 0; n--)
        add_other(ngrams, ngram_slot(bytes, n) | (uint64_t)n, 1);
    return 1;
}

/* Counts chunks until about max_bytes are done. Waiting n-grams are counted before the function
 * returns, so between calls the tables are complete. */
int32_t unitok_ngrams_add(unitok_ngrams *ngrams, const uint8_t *data, const int64_t *offsets,
                          int64_t n_docs, int64_t max_bytes, unitok_cursor *cursor,
                          unitok_error *error)
{
    const char *problem = check_offsets(offsets, n_docs);
    if (ngrams->sorted) problem = "the n-grams are sorted: clear them first";
    if (cursor->document < 0) problem = "the cursor is before the first document";
    if (problem) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, problem);
    batch waiting;
    waiting.n = 0;
    const uint8_t *text;
    int64_t n_bytes;
    while (max_bytes > 0 &&
           (n_bytes = next_chunk(data, offsets, n_docs, ngrams->is_digit, cursor, &text)) > 0) {
        max_bytes -= n_bytes;
        if (!count_chunk(ngrams, text, n_bytes, &waiting)) return fail_memory(error);
    }
    return flush(ngrams, &waiting) ? UNITOK_OK : fail_memory(error);
}

/* --------------------------------------------------------------------------------- Sorting ---- */

/* Insertion sort, for lists that are too short for 256 counters. */
static void sort_few(uint64_t *keys, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        uint64_t key = keys[i];
        int64_t k = i;
        for (; k > 0 && keys[k - 1] > key; k--) keys[k] = keys[k - 1];
        keys[k] = key;
    }
}

/* Radix sort in place, by the byte at `shift` and those below it down to the byte at `last`: keys
 * move along cycles into their buckets. No two keys are equal in all these bytes, so a bucket of
 * the last byte has one key. There is at most one level per byte of a key, so the recursion is
 * shallow. */
static void sort_keys(uint64_t *keys, int64_t n, int shift, int last)
{
    int64_t ends[256] = {0}, next[256];
    if (n < 48) {
        sort_few(keys, n);
        return;
    }
    for (int64_t i = 0; i < n; i++) ends[keys[i] >> shift & 0xFF]++;
    for (int64_t b = 0, at = 0; b < 256; b++) {
        next[b] = at;
        at += ends[b];
        ends[b] = at;
    }
    for (int b = 0; b < 256; b++)
        while (next[b] < ends[b]) {
            uint64_t key = keys[next[b]];
            int home;
            /* Swap the key with the one in the bucket where it belongs, until a key of this bucket
             * turns up. */
            while ((home = (int)(key >> shift & 0xFF)) != b) {
                uint64_t other = keys[next[home]];
                keys[next[home]++] = key;
                key = other;
            }
            keys[next[b]++] = key;
        }
    for (int64_t b = 0, begin = 0; shift > last && b < 256; begin = ends[b++])
        if (ends[b] - begin > 1) sort_keys(keys + begin, ends[b] - begin, shift - 8, last);
}

/* Sorts the numbers of the second table, and the slots in place. The counts in the slots need no
 * separate space: slots are compared only down to the last byte of the n-gram, and the count below
 * it moves along. */
int32_t unitok_ngrams_sort(unitok_ngrams *ngrams, unitok_error *error)
{
    if (ngrams->sorted) return UNITOK_OK;
    uint64_t *sorted = mem_alloc((size_t)(ngrams->n_others + 1) * sizeof *sorted);
    if (!sorted) return fail_memory(error);
    int64_t n = 0;
    for (int64_t i = 0; i < INT64_C(1) << ngrams->other_bits; i++)
        if (ngrams->others[i].key) sorted[n++] = ngrams->others[i].key;
    sort_keys(sorted, n, 56, 0);
    ngrams->sorted = sorted;

    uint64_t *slots = ngrams->slots, most = most_of(ngrams->order);
    n = 0;
    for (int64_t i = 0; i < ngrams->n_slots; i++)
        if (slots[i] & most) slots[n++] = slots[i];
    sort_keys(slots, n, 56, 64 - 8 * ngrams->order);
    uint64_t *less = mem_realloc(slots, (size_t)(n + 1) * sizeof *less);
    if (less) ngrams->slots = less;
    ngrams->n_slots = n;
    return UNITOK_OK;
}

/* Merges the two sorted lists. If an n-gram is in both lists, its count is the sum of the two. */
uint64_t ngrams_next(const unitok_ngrams *ngrams, unitok_ngram_place *place, uint64_t *ret_count)
{
    uint64_t most = most_of(ngrams->order), order = (uint64_t)ngrams->order;
    uint64_t slot = place->full < ngrams->n ? ngrams->slots[place->full] : 0;
    uint64_t full = place->full < ngrams->n ? (slot & ~most) | order : UINT64_MAX;
    uint64_t other = place->other < ngrams->n_others ? ngrams->sorted[place->other] : UINT64_MAX;
    if (full < other) {
        *ret_count = slot & most;
        place->full++;
        return full;
    }
    if (other == UINT64_MAX) return 0;
    *ret_count = find_other(ngrams->others, ngrams->other_bits, other)->count +
                 (full == other ? slot & most : 0);
    place->full += full == other;
    place->other++;
    return other;
}

/* Writes the next n n-grams, for a caller that stores them in a file. */
int64_t unitok_ngrams_export(const unitok_ngrams *ngrams, unitok_ngram_place *place, int64_t n,
                             uint64_t *keys, uint64_t *counts)
{
    int64_t k = 0;
    if (!ngrams->sorted || place->full < 0 || place->other < 0) return 0;
    while (k < n && (keys[k] = ngrams_next(ngrams, place, &counts[k])) != 0) k++;
    return k;
}
