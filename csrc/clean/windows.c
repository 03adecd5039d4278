/* windows.c - finds the windows of tokens that may occur more than once
 *
 *     documents    a b c d e | f g | h a b c      windows of 3: abc, bcd, cde, hab, abc
 *
 *     count   hash of each window ──▶ the counter of that hash, which stops at 2
 *     find    windows whose counter is 2 ──▶ records of all that repeat, and some that do not
 *
 * The hash function is that of string_table.h, applied to tokens instead of bytes. When a window
 * moves by one token, its hash follows from the previous one. Records contain two hashes with
 * different factors, because 2^36 windows would have a few equal hashes of 61 bits. */

#include "ground/alloc.h"
#include "ground/error.h"
#include "ground/rng.h"
#include "structures/string_table.h"
#include "unitok_clean.h"

enum {
    N_HASHES = 2,
    BLOCK = 32,         /* windows whose counters are prefetched together */
    SLOTS_PER_BYTE = 4, /* counters of 2 bits */
    ENOUGH = 2          /* the largest value of a counter */
};

struct unitok_windows {
    int64_t n;
    int32_t id_bytes;
    uint64_t factors[N_HASHES];
    uint64_t powers[N_HASHES]; /* factor^n */
    uint8_t *counters;
    uint64_t n_slots;
};

/* The documents that a scan reads. `d` is the document that contains the next window. */
typedef struct scan {
    const unitok_windows *windows;
    const void *ids;
    const int64_t *ends;
    int64_t n_documents, n_after;
    int64_t d;
} scan;

static uint64_t power_of(uint64_t factor, int64_t n)
{
    uint64_t ret = 1;
    for (; n; n >>= 1) {
        if (n & 1) ret = string_table_multiply_add(ret, factor, 0);
        factor = string_table_multiply_add(factor, factor, 0);
    }
    return ret;
}

void unitok_windows_free(unitok_windows *windows)
{
    if (!windows) return;
    mem_free(windows->counters);
    mem_free(windows);
}

int32_t unitok_windows_new(int64_t n_tokens, int32_t id_bytes, uint64_t seed, int64_t counter_bytes,
                           unitok_windows **ret, unitok_error *error)
{
    *ret = NULL;
    if (n_tokens < 1 || counter_bytes < 1 || (id_bytes != 2 && id_bytes != 4))
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1,
                    "a window must have at least one token of 2 or 4 bytes, and a counter");
    unitok_windows *windows = mem_zalloc(1, sizeof *windows);
    if (!windows) return fail_memory(error);
    windows->n = n_tokens;
    windows->id_bytes = id_bytes;
    windows->n_slots = (uint64_t)counter_bytes * SLOTS_PER_BYTE;
    windows->counters = mem_zalloc((size_t)counter_bytes, 1);
    if (!windows->counters) {
        unitok_windows_free(windows);
        return fail_memory(error);
    }
    for (uint64_t k = 0; k < N_HASHES; k++) {
        windows->factors[k] = (rng_key(seed, k) >> 4) + 1024; /* less than the prime */
        windows->powers[k] = power_of(windows->factors[k], n_tokens);
    }
    *ret = windows;
    return UNITOK_OK;
}

INLINE uint64_t token_at(const scan *s, int64_t k)
{
    return s->windows->id_bytes == 2 ? ((const uint16_t *)s->ids)[k]
                                     : ((const uint32_t *)s->ids)[k];
}

/* Returns the hash of the next window, which ends with the token `added`. `gone` is the token just
 * before that window. */
INLINE uint64_t moved(const unitok_windows *windows, int which, uint64_t hash, uint64_t gone,
                      uint64_t added)
{
    uint64_t before = string_table_multiply_add(gone + 1, windows->powers[which], 0);
    hash = string_table_multiply_add(hash, windows->factors[which], added + 1);
    return hash >= before ? hash - before : hash + STRING_TABLE_PRIME - before;
}

static uint64_t hash_at(const scan *s, int which, int64_t at)
{
    uint64_t hash = 0;
    for (int64_t k = at; k < at + s->windows->n; k++)
        hash = string_table_multiply_add(hash, s->windows->factors[which], token_at(s, k) + 1);
    return hash;
}

INLINE uint64_t slot_of(const unitok_windows *windows, uint64_t hash)
{
    uint64_t slot;
    multiply_wide(hash << 3, windows->n_slots, &slot);
    return slot;
}

INLINE int shift_of(uint64_t slot) { return (int)(slot % SLOTS_PER_BYTE) * 2; }

INLINE int counter_at(const unitok_windows *windows, uint64_t slot)
{
    return windows->counters[slot / SLOTS_PER_BYTE] >> shift_of(slot) & 3;
}

/* Returns the end of the run of windows that begin at *io_at or later, before `end`, in one document;
 * *io_at becomes the first window of the run. */
static int64_t next_run(scan *s, int64_t *io_at, int64_t end)
{
    for (; s->d < s->n_documents; s->d++) {
        int64_t begin = s->d ? s->ends[s->d - 1] : 0;
        int64_t stop = s->ends[s->d] - s->n_after - s->windows->n + 1;
        if (*io_at < begin) *io_at = begin;
        if (*io_at >= end) break;
        if (*io_at < stop) return stop < end ? stop : end;
    }
    return *io_at = end;
}

static void seek(scan *s, int64_t at)
{
    int64_t low = 0, high = s->n_documents;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (s->ends[middle] <= at) low = middle + 1;
        else high = middle;
    }
    s->d = low;
}

void unitok_windows_count(unitok_windows *windows, const void *ids, const int64_t *ends,
                          int64_t n_documents, int64_t n_after, int64_t begin, int64_t end)
{
    scan s = {windows, ids, ends, n_documents, n_after, 0};
    uint64_t slots[BLOCK];
    seek(&s, begin);
    for (int64_t at = begin, stop; at < end; at = stop) {
        stop = next_run(&s, &at, end);
        if (at >= stop) return;
        uint64_t hash = hash_at(&s, 0, at);
        for (int64_t first = at; first < stop; first += BLOCK) {
            int64_t n = stop - first < BLOCK ? stop - first : BLOCK;
            for (int64_t k = 0; k < n; k++) {
                slots[k] = slot_of(windows, hash);
                PREFETCH(windows->counters + slots[k] / SLOTS_PER_BYTE);
                if (first + k + 1 < stop)
                    hash = moved(windows, 0, hash, token_at(&s, first + k),
                                 token_at(&s, first + k + windows->n));
            }
            for (int64_t k = 0; k < n; k++) {
                uint8_t *counters = windows->counters + slots[k] / SLOTS_PER_BYTE;
                if (counter_at(windows, slots[k]) < ENOUGH)
                    *counters = (uint8_t)(*counters + (1 << shift_of(slots[k])));
            }
        }
    }
}

int64_t unitok_windows_find(const unitok_windows *windows, const void *ids, const int64_t *ends,
                            int64_t n_documents, int64_t n_after, int64_t begin, int64_t end,
                            unitok_anchor *ret)
{
    scan s = {windows, ids, ends, n_documents, n_after, 0};
    unitok_anchor block[BLOCK];
    int64_t n_found = 0;
    seek(&s, begin);
    for (int64_t at = begin, stop; at < end; at = stop) {
        stop = next_run(&s, &at, end);
        if (at >= stop) break;
        uint64_t hash = hash_at(&s, 0, at), other = hash_at(&s, 1, at);
        for (int64_t first = at; first < stop; first += BLOCK) {
            int64_t n = stop - first < BLOCK ? stop - first : BLOCK;
            for (int64_t k = 0; k < n; k++) {
                block[k] = (unitok_anchor){hash << 3, other, (uint64_t)(first + k)};
                PREFETCH(windows->counters + slot_of(windows, hash) / SLOTS_PER_BYTE);
                if (first + k + 1 == stop) break;
                uint64_t gone = token_at(&s, first + k);
                uint64_t added = token_at(&s, first + k + windows->n);
                hash = moved(windows, 0, hash, gone, added);
                other = moved(windows, 1, other, gone, added);
            }
            for (int64_t k = 0; k < n; k++) {
                uint64_t slot = slot_of(windows, block[k].key >> 3);
                ret[n_found] = block[k];
                n_found += counter_at(windows, slot) >= ENOUGH;
            }
        }
    }
    return n_found;
}

/* If the two windows that begin one token before those of a pair are equal, only the last tokens of
 * the pair can differ. */
int64_t unitok_windows_differ(const unitok_windows *windows, const void *ids, int64_t n_ids,
                              const unitok_anchor *pairs, int64_t n)
{
    uint64_t size = (uint64_t)windows->id_bytes, window = (uint64_t)windows->n * size;
    const uint8_t *bytes = ids;
    for (int64_t k = 0; k < n; k++) {
        uint64_t a = pairs[k].key, b = pairs[k].place, skipped = 0;
        if (windows->n > n_ids || a > (uint64_t)(n_ids - windows->n) ||
            b > (uint64_t)(n_ids - windows->n))
            return k;
        if (k && pairs[k - 1].key + 1 == a && pairs[k - 1].place + 1 == b) skipped = window - size;
        if (memcmp(bytes + a * size + skipped, bytes + b * size + skipped,
                   (size_t)(window - skipped)) != 0)
            return k;
    }
    return n;
}
