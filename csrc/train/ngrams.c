/* ngrams.c - counting and sorting byte n-grams: see ngrams.h */

#include "train/ngrams.h"

#include "ground/alloc.h"
#include "ground/error.h"
#include "ground/packed.h"
#include "train/chunks.h"

#define FIRST_BITS 12
#define AT_ONCE 64 /* so many cache misses are under way together */

int32_t unitok_ngrams_new(int32_t order, const uint8_t *is_digit, unitok_ngrams **ret, unitok_error *error)
{
    if (order < 1 || order > UNITOK_NGRAM_MAX_ORDER) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "the order is not 1..7");
    unitok_ngrams *ngrams = mem_zalloc(1, sizeof *ngrams);
    if (!ngrams) return fail_memory(error);
    ngrams->bits = FIRST_BITS;
    ngrams->order = order;
    ngrams->is_digit = is_digit;
    ngrams->entries = mem_zalloc((size_t)1 << FIRST_BITS, sizeof *ngrams->entries);
    if (!ngrams->entries) {
        mem_free(ngrams);
        return fail_memory(error);
    }
    *ret = ngrams;
    return UNITOK_OK;
}

void unitok_ngrams_free(unitok_ngrams *ngrams)
{
    if (!ngrams) return;
    mem_free(ngrams->entries);
    mem_free(ngrams);
}

int64_t unitok_ngrams_count(const unitok_ngrams *ngrams)
{
    return ngrams->n;
}

int64_t unitok_ngrams_memory_bytes(const unitok_ngrams *ngrams)
{
    int64_t n = ngrams->is_sorted ? ngrams->n + 1 : INT64_C(1) << ngrams->bits;
    return (int64_t)sizeof *ngrams + n * (int64_t)sizeof *ngrams->entries;
}

INLINE void add(ngram_entry *entries, int bits, uint64_t key, uint64_t count, int64_t *n)
{
    uint64_t mask = (UINT64_C(1) << bits) - 1, at = ngram_hash(key) >> (64 - bits);
    while (entries[at].key != key) {
        if (entries[at].key == 0) {
            entries[at].key = key;
            ++*n;
            break;
        }
        at = (at + 1) & mask;
    }
    entries[at].count += count;
}

/* Room for AT_ONCE more; 0 when memory is short. */
static int make_room(unitok_ngrams *ngrams)
{
    if (3 * (ngrams->n + AT_ONCE) <= INT64_C(2) << ngrams->bits) return 1;
    int bits = ngrams->bits + 1;
    ngram_entry *entries = mem_zalloc((size_t)1 << bits, sizeof *entries);
    if (!entries) return 0;
    int64_t n = 0;
    for (size_t i = 0; i < (size_t)1 << ngrams->bits; i++)
        if (ngrams->entries[i].key) add(entries, bits, ngrams->entries[i].key, ngrams->entries[i].count, &n);
    mem_free(ngrams->entries);
    ngrams->entries = entries;
    ngrams->bits = bits;
    return 1;
}

int32_t unitok_ngrams_clear(unitok_ngrams *ngrams, unitok_error *error)
{
    ngram_entry *entries = mem_zalloc((size_t)1 << FIRST_BITS, sizeof *entries);
    if (!entries) return fail_memory(error);
    mem_free(ngrams->entries);
    ngrams->entries = entries;
    ngrams->bits = FIRST_BITS;
    ngrams->n = 0;
    ngrams->is_sorted = 0;
    return UNITOK_OK;
}

typedef struct batch {
    uint64_t keys[AT_ONCE];
    int n;
} batch;

static int flush(unitok_ngrams *ngrams, batch *keys)
{
    if (!make_room(ngrams)) return 0;
    for (int k = 0; k < keys->n; k++) PREFETCH(&ngrams->entries[ngram_hash(keys->keys[k]) >> (64 - ngrams->bits)]);
    for (int k = 0; k < keys->n; k++) add(ngrams->entries, ngrams->bits, keys->keys[k], 1, &ngrams->n);
    keys->n = 0;
    return 1;
}

/* One n-gram for each byte: the longest that begins there. */
static int count_chunk(unitok_ngrams *ngrams, const uint8_t *text, int64_t n_bytes, batch *keys)
{
    int order = ngrams->order;
    uint64_t bytes = 0;
    for (int64_t i = 0; i < n_bytes; i++) {
        bytes = bytes << 8 | text[i];
        if (i + 1 < order) continue;
        keys->keys[keys->n++] = ngram_key(bytes, order);
        if (keys->n == AT_ONCE && !flush(ngrams, keys)) return 0;
    }
    for (int n = n_bytes < order ? (int)n_bytes : order - 1; n > 0; n--) {
        keys->keys[keys->n++] = ngram_key(bytes, n);
        if (keys->n == AT_ONCE && !flush(ngrams, keys)) return 0;
    }
    return 1;
}

int32_t unitok_ngrams_add(unitok_ngrams *ngrams, const uint8_t *data, const int64_t *offsets, int64_t n_docs,
                          int64_t max_bytes, unitok_cursor *cursor, unitok_error *error)
{
    const char *problem = check_offsets(offsets, n_docs);
    if (ngrams->is_sorted) problem = "the n-grams are sorted: clear them first";
    if (cursor->document < 0) problem = "the cursor is before the first document";
    if (problem) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, problem);
    batch keys;
    keys.n = 0;
    const uint8_t *text;
    int64_t n_bytes;
    while (max_bytes > 0 && (n_bytes = next_chunk(data, offsets, n_docs, ngrams->is_digit, cursor, &text)) > 0) {
        max_bytes -= n_bytes;
        if (!count_chunk(ngrams, text, n_bytes, &keys)) return fail_memory(error);
    }
    return flush(ngrams, &keys) ? UNITOK_OK : fail_memory(error);
}

int32_t unitok_ngrams_merge(unitok_ngrams *ngrams, const unitok_ngrams *other, unitok_error *error)
{
    if (ngrams->is_sorted) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "the n-grams are sorted: clear them first");
    int64_t n = other->is_sorted ? other->n : INT64_C(1) << other->bits;
    for (int64_t i = 0; i < n; i++) {
        if (!other->entries[i].key) continue;
        if (!make_room(ngrams)) return fail_memory(error);
        add(ngrams->entries, ngrams->bits, other->entries[i].key, other->entries[i].count, &ngrams->n);
    }
    return UNITOK_OK;
}

/* ------------------------------------------------------------------------------------------------ Sorting ---- */

static void sort_few(ngram_entry *entries, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        ngram_entry entry = entries[i];
        int64_t k = i;
        for (; k > 0 && entries[k - 1].key > entry.key; k--) entries[k] = entries[k - 1];
        entries[k] = entry;
    }
}

/* Radix sort in place, by the byte at `shift` and those below it: entries move along cycles into their bucket. No two keys
 * are equal, so a bucket of the lowest byte has one. */
static void sort_entries(ngram_entry *entries, int64_t n, int shift)
{
    int64_t ends[256] = {0}, next[256];
    if (n < 48) {
        sort_few(entries, n);
        return;
    }
    for (int64_t i = 0; i < n; i++) ends[entries[i].key >> shift & 0xFF]++;
    for (int64_t b = 0, at = 0; b < 256; b++) {
        next[b] = at;
        at += ends[b];
        ends[b] = at;
    }
    for (int b = 0; b < 256; b++)
        while (next[b] < ends[b]) {
            ngram_entry entry = entries[next[b]];
            int home;
            while ((home = (int)(entry.key >> shift & 0xFF)) != b) {
                ngram_entry other = entries[next[home]];
                entries[next[home]++] = entry;
                entry = other;
            }
            entries[next[b]++] = entry;
        }
    for (int64_t b = 0, begin = 0; shift > 0 && b < 256; begin = ends[b++])
        if (ends[b] - begin > 1) sort_entries(entries + begin, ends[b] - begin, shift - 8);
}

void unitok_ngrams_sort(unitok_ngrams *ngrams)
{
    if (ngrams->is_sorted) return;
    int64_t n = 0;
    for (int64_t i = 0; i < INT64_C(1) << ngrams->bits; i++)
        if (ngrams->entries[i].key) ngrams->entries[n++] = ngrams->entries[i];
    sort_entries(ngrams->entries, n, 56);
    ngrams->is_sorted = 1;
    ngram_entry *less = mem_realloc(ngrams->entries, (size_t)(n + 1) * sizeof *less);
    if (less) ngrams->entries = less;
}

int64_t unitok_ngrams_export(const unitok_ngrams *ngrams, int64_t begin, int64_t end, uint64_t *keys, uint64_t *counts)
{
    if (!ngrams->is_sorted || begin < 0) return 0;
    if (end > ngrams->n) end = ngrams->n;
    for (int64_t i = begin; i < end; i++) {
        keys[i - begin] = ngrams->entries[i].key;
        counts[i - begin] = ngrams->entries[i].count;
    }
    return end > begin ? end - begin : 0;
}
