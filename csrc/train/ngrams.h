/* ngrams.h - byte n-grams as numbers, and a table of how often each was seen
 *
 * A number's order is that of the bytes, and what begins an n-gram comes before it:
 *
 *     "abc"     61 62 63 00 00 00 00 03      bytes from the top, length at the bottom
 *     "abcd"    61 62 63 64 00 00 00 04
 *
 * No number is 0, which marks an empty slot. Only n-grams of the full order are counted, and the shorter ones at the end
 * of a chunk; from the sorted table all others follow, for the count of "ab" is the sum over all that begins with it:
 *
 *     chunk "abcab", order 3:   abc bca cab ab b     ─▶  ab = abc + ab = 2
 */
#pragma once

#include "ground/common.h"

typedef struct ngram_entry {
    uint64_t key;
    uint64_t count; /* or the bits of its logarithm, float64 */
} ngram_entry;

#define NGRAMS_WAITING 32 /* for their slots to be fetched */

struct unitok_ngrams {
    ngram_entry *entries; /* [2^bits], open addressing; after a sort [0..n-1], and no more */
    int64_t n;
    int bits;
    int is_sorted;
    int order;
    const uint8_t *is_digit; /* or NULL */
};

struct unitok_ngram_model {
    int order;
    uint64_t min_count;
    int n_passes;
    uint64_t *few;      /* [256 + 65536]: n-grams of one and of two bytes; 0 (then the logarithm of 0): not there */
    ngram_entry *slots; /* [n_slots], open addressing: longer ones */
    int64_t n_slots;
    int64_t n_long;
    double log_total;
    /* Of a pass: */
    uint64_t last;      /* key */
    uint64_t counts[8]; /* of its first 1, 2, ... bytes so far */
    ngram_entry waiting[NGRAMS_WAITING];
    int n_waiting;
};

#define FEW_PAIRS 256
#define N_FEW (256 + 65536)

/* The last n bytes of a register of bytes, 1 <= n <= 7. */
INLINE uint64_t ngram_key(uint64_t bytes, int n)
{
    return bytes << (64 - 8 * n) | (uint64_t)n;
}

INLINE uint64_t ngram_hash(uint64_t key)
{
    return (key ^ key >> 29) * UINT64_C(0x9E3779B97F4A7C15);
}

/* Where the search for a key begins. n_slots < 2^32. */
INLINE int64_t model_slot(const unitok_ngram_model *model, uint64_t key)
{
    return (int64_t)((ngram_hash(key) >> 32) * (uint64_t)model->n_slots >> 32);
}

/* The entry of a key from its slot on, or NULL. */
INLINE const ngram_entry *model_find(const unitok_ngram_model *model, uint64_t key, int64_t slot)
{
    for (;;) {
        const ngram_entry *entry = &model->slots[slot];
        if (LIKELY(entry->key == key)) return entry;
        if (entry->key == 0) return NULL;
        if (++slot == model->n_slots) slot = 0;
    }
}
