/* ngrams.h - represents byte n-grams as numbers, and counts them in tables
 *
 * Numbers are in the order of the bytes, and an n-gram comes before all n-grams that begin with it:
 *
 *     "abc"     61 62 63 00 00 00 00 03      bytes from the top, length at the bottom
 *     "abcd"    61 62 63 64 00 00 00 04
 *
 * A table holds n-grams of one length, so the bits below their bytes are free for the count. A
 * slot:
 *
 *     "abcdef"  61 62 63 64 65 66│01 07      seen 263 times; 0 times: an empty slot
 *
 * Counts that are too large for these bits continue in a second table, which is searched by number
 * and has 64-bit counts.
 *
 * Only n-grams of the full order are counted, and the shorter ones at the end of a chunk. All
 * others follow from the sorted table, because the count of "ab" is the sum over all n-grams that
 * begin with it:
 *
 *     chunk "abcab", order 3:   abc bca cab ab b     ─▶  ab = abc + ab = 2
 *
 * So a byte of text costs one addition to a table of 8 bytes per slot, whatever the order. */
#pragma once

#include "ground/common.h"
#include "unitok_train.h"

/* An entry of a second table: a number with a 64-bit count. */
typedef struct ngram_entry {
    uint64_t key;   /* a number; 0: empty */
    uint64_t count; /* in a finished model: the bits of its logarithm, a float64 */
} ngram_entry;

/* The counts of one thread:
 *
 *     slots     | n-gram, count | 0 | n-gram, count | ...           one word each, of the full order
 *     others    | number | count | 0 | 0 | number | count | ...     two words each
 *     sorted    numbers of the others, ascending                    after unitok_ngrams_sort only
 */
struct unitok_ngrams {
    int order;
    const uint8_t *is_digit; /* or NULL */
    /* [n_slots], open addressing: n-grams of the full order; after a sort [0..n-1] */
    uint64_t *slots;
    int64_t n, n_slots; /* n_slots = step << bits, step 2 or 3 */
    int step, bits;
    /* [2^other_bits], open addressing: shorter n-grams, and counts too large for slots */
    ngram_entry *others;
    int64_t n_others, n_short;
    int other_bits;
    uint64_t *sorted; /* [n_others]: the numbers of the others; NULL before a sort */
};

/* The next n-gram of a sorted table, and its count; 0 when there are no more. */
uint64_t ngrams_next(const unitok_ngrams *ngrams, unitok_ngram_place *place, uint64_t *ret_count);

#define NGRAMS_WAITING 32 /* n-grams that wait for their prefetched slots */
#define FEW_PAIRS 256
#define N_FEW (256 + 65536)

/* The n-grams of one length in a model. */
typedef struct ngram_slots {
    uint64_t *slots; /* open addressing */
    int64_t n_slots; /* < 2^32 */
    int64_t n;
} ngram_slots;

/* The model, and the state of the pass that builds it. All lengths from 3 on have their slots in
 * one allocation, shortest first:
 *
 *     few      [256 of one byte | 65,536 of two bytes]
 *     slots    | of[3].slots ... | of[4].slots ...... | of[5].slots ... |
 *     large    counts that do not fit in the low bits of a slot */
struct unitok_ngram_model {
    int order;
    uint64_t min_count;
    int n_passes;
    /* [N_FEW]: counts of n-grams of one and two bytes, later their logarithms; log 0 if absent */
    uint64_t *few;
    uint64_t *slots; /* the slots of all lengths from 3 on */
    ngram_slots of[UNITOK_NGRAM_MAX_ORDER + 1];
    ngram_entry *large; /* [n_large_slots], open addressing: counts too large for a slot */
    int64_t n_large_slots, n_large;
    uint64_t total; /* the count of all bytes, once the second pass has ended */
    double log_total;
    const double *logs; /* [UNITOK_NGRAM_LOGS]: of 0, 1, 2, ... */
    /* The state of a pass: */
    uint64_t last;                               /* the number of the last n-gram */
    uint64_t counts[UNITOK_NGRAM_MAX_ORDER + 1]; /* sums of its first 1, 2, ... bytes so far */
    ngram_entry waiting[NGRAMS_WAITING];
    int n_waiting;
    int is_wrong; /* the second pass differs from the first */
};

/* The last n of eight bytes, 1 <= n <= 7, as a slot with a count of 0. Adding n gives the
 * number. */
INLINE uint64_t ngram_slot(uint64_t bytes, int n) { return bytes << (64 - 8 * n); }

/* The shift folds the upper bits into the lower ones, so that all of them influence the upper bits
 * of the product, which select the slot. */
INLINE uint64_t ngram_hash(uint64_t key)
{
    return (key ^ key >> 29) * UINT64_C(0x9E3779B97F4A7C15);
}

/* Whether a slot holds this n-gram, with a count of 1..most; the n-gram is given as a slot with a
 * count of 0. One subtraction tests both: it wraps around for a count of 0. */
INLINE int is_slot_of(uint64_t slot, uint64_t ngram, uint64_t most)
{
    return (slot ^ ngram) - 1 < most;
}

/* The largest count in a slot of a model. A slot with this count has its true count in
 * model->large. */
INLINE uint64_t model_most(int n) { return n < 7 ? UNITOK_NGRAM_LOGS - 1 : 255; }

/* The slot where the search for a number or an n-gram begins, among n_slots < 2^32: the upper half
 * of the hash, as a fraction of 2^32, times n_slots, which need not be a power of 2. */
INLINE int64_t model_slot(int64_t n_slots, uint64_t key)
{
    return (int64_t)((ngram_hash(key) >> 32) * (uint64_t)n_slots >> 32);
}

/* The count in the slot of an n-gram, searched from `at` on; 0 if the n-gram is absent. */
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

/* Logarithms are stored in the tables of counts, as their bits. */
INLINE double as_double(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* The logarithm of the count of an n-gram in model->large, by number; -INFINITY if it is absent. */
double model_large_log(const unitok_ngram_model *model, uint64_t key);
