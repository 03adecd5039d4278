/* ngrams.h - byte n-grams as numbers, and tables of how often each was seen
 *
 * A number's order is that of the bytes, and what begins an n-gram comes before it:
 *
 *     "abc"     61 62 63 00 00 00 00 03      bytes from the top, length at the bottom
 *     "abcd"    61 62 63 64 00 00 00 04
 *
 * A table holds n-grams of one length, so what is below their bytes is free for the count. A slot:
 *
 *     "abcdef"  61 62 63 64 65 66│01 07      seen 263 times; 0 times: an empty slot
 *
 * What is too large for that is in a second table, by the number, 64 bits wide.
 *
 * Only n-grams of the full order are counted, and the shorter ones at the end of a chunk; from the
 * sorted table all others follow, for the count of "ab" is the sum over all that begins with it:
 *
 *     chunk "abcab", order 3:   abc bca cab ab b     ─▶  ab = abc + ab = 2
 */
#pragma once

#include "ground/common.h"
#include "unitok_train.h"

typedef struct ngram_entry {
    uint64_t key;   /* a number; 0: empty */
    uint64_t count; /* or the bits of its logarithm, float64 */
} ngram_entry;

struct unitok_ngrams {
    int order;
    const uint8_t *is_digit; /* or NULL */
    /* [n_slots], open addressing: n-grams of the full order; after a sort [0..n-1] */
    uint64_t *slots;
    int64_t n, n_slots; /* n_slots = step << bits, step 2 or 3 */
    int step, bits;
    /* [2^other_bits], open addressing: shorter n-grams, and what slots had no room for */
    ngram_entry *others;
    int64_t n_others, n_short;
    int other_bits;
    uint64_t *sorted; /* [n_others]: the numbers of the others; NULL before a sort */
};

/* The next n-gram of a sorted table, and its count; 0: there are no more. */
uint64_t ngrams_next(const unitok_ngrams *ngrams, unitok_ngram_place *place, uint64_t *ret_count);

#define NGRAMS_WAITING 32 /* for their slots to be fetched */
#define FEW_PAIRS 256
#define N_FEW (256 + 65536)

/* The n-grams of one length in a model. */
typedef struct ngram_slots {
    uint64_t *slots; /* open addressing */
    int64_t n_slots; /* < 2^32 */
    int64_t n;
} ngram_slots;

struct unitok_ngram_model {
    int order;
    uint64_t min_count;
    int n_passes;
    /* [N_FEW]: n-grams of one and of two bytes; 0 (then the logarithm of 0): not there */
    uint64_t *few;
    uint64_t *slots; /* of all lengths from 3 on */
    ngram_slots of[UNITOK_NGRAM_MAX_ORDER + 1];
    ngram_entry *large; /* [n_large_slots], open addressing: those whose slot is full */
    int64_t n_large_slots, n_large;
    uint64_t total; /* of all bytes, once the second pass has ended */
    double log_total;
    const double *logs; /* [UNITOK_NGRAM_LOGS]: of 0, 1, 2, ... */
    /* Of a pass: */
    uint64_t last;                               /* number */
    uint64_t counts[UNITOK_NGRAM_MAX_ORDER + 1]; /* of its first 1, 2, ... bytes so far */
    ngram_entry waiting[NGRAMS_WAITING];
    int n_waiting;
    int is_wrong; /* the second pass differs from the first */
};

/* The last n bytes of a register of bytes as an empty slot, 1 <= n <= 7; with n added it is the
 * number. */
INLINE uint64_t ngram_slot(uint64_t bytes, int n)
{
    return bytes << (64 - 8 * n);
}

INLINE uint64_t ngram_hash(uint64_t key)
{
    return (key ^ key >> 29) * UINT64_C(0x9E3779B97F4A7C15);
}

/* Whether a slot is that of an n-gram, with some count up to `most`; the n-gram is given as an
 * empty slot. */
INLINE int is_slot_of(uint64_t slot, uint64_t ngram, uint64_t most)
{
    return (slot ^ ngram) - 1 < most;
}

/* What a slot of a model has room for; that much means that the n-gram is in model->large. */
INLINE uint64_t model_most(int n)
{
    return n < 7 ? UNITOK_NGRAM_LOGS - 1 : 255;
}

/* Where the search for a number or an n-gram begins among n_slots < 2^32. */
INLINE int64_t model_slot(int64_t n_slots, uint64_t key)
{
    return (int64_t)((ngram_hash(key) >> 32) * (uint64_t)n_slots >> 32);
}

/* What the slot of an n-gram holds, searched from `at` on: its count, or model_most(n); 0: it is
 * not there. */
INLINE uint64_t model_find(const unitok_ngram_model *model, int n, uint64_t ngram, int64_t at)
{
    const ngram_slots *table = &model->of[n];
    uint64_t most = model_most(n);
    for (;;) {
        uint64_t slot = table->slots[at];
        if (LIKELY(is_slot_of(slot, ngram, most))) return slot & most;
        if ((slot & most) == 0) return 0;
        if (++at == table->n_slots) at = 0;
    }
}

INLINE double as_double(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* The logarithm of the count of an n-gram in model->large, by its number; of 0 where it is not
 * there. */
double model_large_log(const unitok_ngram_model *model, uint64_t key);
