/* windows.c - finds the windows of tokens that may occur more than once
 *
 *     documents    a b c d e | f g | h a b c      windows of 3: abc, bcd, cde, hab, abc
 *
 *     count   hash of each window ──▶ the counter of that hash, which stops at 2
 *     find    windows whose counter is 2 ──▶ records of all that repeat, and some that do not
 *
 * The hash function is that of string_table.h, applied to tokens instead of bytes. When a window
 * moves by one token, its hash follows from the previous one. Records contain two hashes with
 * different factors, because a few of 2^36 windows would have the same hash of 61 bits by chance.
 *
 * A counter has 2 bits, because it only distinguishes 0, 1 and more. A slot does not record whose
 * counter it is, so a window that occurs once is also found if another one shares its counter; no
 * window that repeats is missed. With 2 bytes (8 counters) per window, 1 - e^(-1/8) = 12 % of the
 * windows that occur once are found needlessly. The caller, pyunitok/index/windows.py, groups the
 * records by their hashes and then compares the tokens, so a needless record costs time but never
 * causes a wrong result.
 *
 *     counters    byte 0             byte 1
 *                 │ 3 │ 2 │ 1 │ 0 │ 7 │ 6 │ 5 │ 4 │ …    slots of 2 bits, the first in the low bits
 *
 * The documents are consecutive in `ids`, in the order of `ends`. Windows neither cross the end of
 * a document nor include the n_after tokens before it:
 *
 *     tokens      a b c d e ^ f g ^ h i j k ^        n_after = 1: ^ is not part of a document
 *     runs        ├───┤             ├─┤           windows of 3 begin here; "f g" is too short */

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

/* A pass over the windows that begin with tokens at..end-1, from run to run. A run consists of the
 * windows of one document, so that within it each hash follows from the one before. */
typedef struct scan {
    const unitok_windows *windows;
    const void *ids;
    const int64_t *ends;
    int64_t n_documents, n_after;
    int64_t d;                 /* the document that contains the next window, or an earlier one */
    int64_t at, stop, end;     /* the next window, and the ends of its run and of the scan */
    uint64_t hashes[N_HASHES]; /* of the window `at`, if at < stop */
} scan;

/* By squaring: a window may have any number of tokens. */
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
        windows->factors[k] = (rng_key(seed, k) >> 4) +
                              1024; /* below 2^60 + 2^10, so below the prime */
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
 * before that window: the first token of the previous window. The hash of n tokens is the sum of
 * (token + 1) factor^(n - 1 - k); multiplying the previous hash by the factor turns the term of
 * `gone` into (gone + 1) factor^n, which is then subtracted. Both operands are below the prime, so
 * adding the prime once prevents a negative difference. */
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

/* The slot of a window whose record has this key is key * n_slots / 2^64. The key is the hash
 * shifted to fill 64 bits, so the product replaces a division, and n_slots can be any number. */
INLINE uint64_t slot_of(const unitok_windows *windows, uint64_t key)
{
    uint64_t slot;
    multiply_wide(key, windows->n_slots, &slot);
    return slot;
}

INLINE int shift_of(uint64_t slot) { return (int)(slot % SLOTS_PER_BYTE) * 2; }

INLINE int counter_at(const unitok_windows *windows, uint64_t slot)
{
    return windows->counters[slot / SLOTS_PER_BYTE] >> shift_of(slot) & 3;
}

/* Moves on to the next run; returns 0 at the end of the scan. `at` never moves backwards, and the
 * documents before `d` end at or before it. */
static int next_run(scan *s)
{
    for (; s->d < s->n_documents; s->d++) {
        int64_t begin = s->d ? s->ends[s->d - 1] : 0;
        int64_t stop = s->ends[s->d] - s->n_after - s->windows->n + 1;
        if (s->at < begin) s->at = begin;
        if (s->at >= s->end) return 0;
        s->stop = stop < s->end ? stop : s->end;
        if (s->at < s->stop) return 1;
    }
    return 0;
}

/* Starts at the first document that ends after `begin`; threads search different ranges of one
 * text, so a range need not begin with a document. */
static scan start(const unitok_windows *windows, const void *ids, const int64_t *ends,
                  int64_t n_documents, int64_t n_after, int64_t begin, int64_t end)
{
    int64_t low = 0, high = n_documents;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (ends[middle] <= begin) low = middle + 1;
        else high = middle;
    }
    return (scan){windows, ids, ends, n_documents, n_after, low, begin, begin, end, {0}};
}

/* Writes records of the next windows, at most BLOCK, and prefetches their counters. Returns their
 * number, 0 at the end. The value of a record is 0 if n_hashes, a constant, is 1.
 *
 * The counters are larger than any cache, and each window has one in a random place. The caller
 * reads them only after BLOCK windows have been hashed, so their cache misses overlap. */
INLINE int64_t next_block(scan *s, int n_hashes, unitok_anchor *block)
{
    const unitok_windows *windows = s->windows;
    if (s->at >= s->stop) {
        if (!next_run(s)) return 0;
        for (int which = 0; which < n_hashes; which++) s->hashes[which] = hash_at(s, which, s->at);
    }
    int64_t at = s->at, n = s->stop - at < BLOCK ? s->stop - at : BLOCK;
    uint64_t hashes[N_HASHES] = {s->hashes[0], s->hashes[1]};
    for (int64_t k = 0; k < n; k++, at++) {
        block[k] = (unitok_anchor){hashes[0] << 3, hashes[1], (uint64_t)at};
        PREFETCH(windows->counters + slot_of(windows, block[k].key) / SLOTS_PER_BYTE);
        if (at + 1 == s->stop) continue; /* the next token may not exist */
        uint64_t gone = token_at(s, at), added = token_at(s, at + windows->n);
        for (int which = 0; which < n_hashes; which++)
            hashes[which] = moved(windows, which, hashes[which], gone, added);
    }
    s->at = at;
    memcpy(s->hashes, hashes, sizeof hashes);
    return n;
}

/* Plain stores: a byte holds four counters, so calls must not overlap. */
void unitok_windows_count(unitok_windows *windows, const void *ids, const int64_t *ends,
                          int64_t n_documents, int64_t n_after, int64_t begin, int64_t end)
{
    scan s = start(windows, ids, ends, n_documents, n_after, begin, end);
    unitok_anchor block[BLOCK];
    for (int64_t n; (n = next_block(&s, 1, block)) > 0;) {
        for (int64_t k = 0; k < n; k++) {
            uint64_t slot = slot_of(windows, block[k].key);
            uint8_t *counters = windows->counters + slot / SLOTS_PER_BYTE;
            if (counter_at(windows, slot) < ENOUGH)
                *counters = (uint8_t)(*counters + (1 << shift_of(slot)));
        }
    }
}

/* Every record is written, and the next record overwrites it if it is not needed, because a branch
 * on the counter would often be mispredicted. Hence `ret` has space for one more record than there
 * are windows. */
int64_t unitok_windows_find(const unitok_windows *windows, const void *ids, const int64_t *ends,
                            int64_t n_documents, int64_t n_after, int64_t begin, int64_t end,
                            unitok_anchor *ret)
{
    scan s = start(windows, ids, ends, n_documents, n_after, begin, end);
    unitok_anchor block[BLOCK];
    int64_t n_found = 0;
    for (int64_t n; (n = next_block(&s, N_HASHES, block)) > 0;) {
        for (int64_t k = 0; k < n; k++) {
            ret[n_found] = block[k];
            n_found += counter_at(windows, slot_of(windows, block[k].key)) >= ENOUGH;
        }
    }
    return n_found;
}

/* If both windows of a pair begin one token after the windows of the previous pair, which were
 * equal, only their last tokens can differ. A long repeat gives a pair for each of its windows, so
 * this compares each of its tokens once instead of n times. */
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
