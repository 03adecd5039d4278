/* grams.h - the units of some items, and tables to look up the n-grams of these units
 *
 *     items            The cat sat.          A cat sat on it.
 *     ids              0   1   2             3 1   2   4  5       units, numbered by occurrence
 *     n = 2                [1]──┐                  a repeat of 1
 *     slots            │ - │ 0 │ 1 │ - │ 3 │ … │                  the first position of an n-gram
 *     filter           01001011…                                  three bits in one word per n-gram
 *
 * Used by pyunitok/clean, which looks for the n-grams of benchmarks in a corpus; items are the
 * texts of a benchmark, and units are words, bytes or token ids. The tables are built once and then
 * shared by all threads, which only read them.
 *
 * The key of an n-gram is computed from its hash, the sum of hash(unit k) F^(n-1-k) mod 2^64, which
 * is updated when the window moves by one unit. An item shorter than n is a single n-gram, so
 * n-grams may have several lengths. The lengths are numbered, and the number is part of the key. F
 * and the hashes of units depend on a seed, so that nobody can construct items with equal keys.
 *
 *     key      │ 63 … 32 slot │ 39 … 12 tag │ 17 … 0 bits in a word of the filter │
 *     slot     tag << 36 | number of the length << 32 | position; or GRAM_FREE
 *
 * The upper bits of a key also choose the word of the filter.
 *
 * Almost no n-gram of a corpus occurs in an item, so a search is fast if it rejects n-grams
 * quickly. The filter does this with one load, because the three bits of an n-gram are in the same
 * word. With 8 to 16 bits for each n-gram, the filter is at most a fifth of the size of the slots.
 * A slot is loaded only for n-grams that pass the filter. The tag then rejects most other n-grams
 * in the same run of slots; finally, the units are compared. */
#pragma once

#include "clean/words.h"
#include "ground/rng.h"

enum gram_kind { GRAM_WORDS, GRAM_BYTES, GRAM_IDS };

#define GRAM_FREE UINT64_MAX /* larger than any position */
#define GRAM_MAX_UNITS_TOTAL UINT32_MAX

/* One length of n-grams: `power` is F^length. */
typedef struct gram_length {
    int64_t n_units;
    uint64_t power;
} gram_length;

/* A folded word: words[end of the previous word..end - 1]. */
typedef struct gram_word {
    uint64_t hash;
    int64_t end;
} gram_word;

struct unitok_grams {
    const unitok_word_rules *rules; /* borrowed */
    enum gram_kind kind;
    uint64_t seed, factor;
    int64_t n_units, n_units_capacity;
    uint32_t *ids; /* [0..n_units-1]: the ids of words, bytes, or the given ids */
    gram_word *distinct;
    int64_t n_distinct, n_distinct_capacity;
    uint8_t *words;
    int64_t n_word_bytes, n_word_bytes_capacity;
    gram_length lengths[UNITOK_GRAMS_MAX_LENGTHS];
    int64_t n_lengths;
    uint64_t *slots;
    uint64_t n_slots;
    uint64_t *filter; /* [0..1 << filter_bits) */
    int filter_bits;
    int64_t n_grams;
    uint32_t *repeats;
    int64_t n_repeats, n_repeats_capacity;
};

/* The hash of a unit with this id, for bytes and ids; words have the hash of their folded text. */
INLINE uint64_t gram_number_hash(const unitok_grams *grams, uint32_t number)
{
    return rng_key(grams->seed, number);
}

INLINE uint64_t gram_hash_step(const unitok_grams *grams, uint64_t hash, uint64_t unit)
{
    return hash * grams->factor + unit;
}

/* The low bits of a polynomial modulo 2^64 are weak: bit 0 depends only on bit 0 of the hashes. A
 * multiplication moves entropy up and an exclusive or with the upper half moves it down, so all
 * three parts of a key depend on all units. */
INLINE uint64_t gram_key(uint64_t hash, int64_t length)
{
    hash += (uint64_t)length * WORD_FACTOR;
    hash = (hash ^ hash >> 32) * WORD_FACTOR;
    return hash ^ hash >> 29;
}

INLINE uint64_t *gram_filter_word(const unitok_grams *grams, uint64_t key)
{
    return grams->filter + (key >> (64 - grams->filter_bits));
}

INLINE uint64_t gram_filter_mask(uint64_t key)
{
    return UINT64_C(1) << (key & 63) | UINT64_C(1) << (key >> 6 & 63) |
           UINT64_C(1) << (key >> 12 & 63);
}

INLINE uint64_t gram_slot_of(const unitok_grams *grams, uint64_t key)
{
    return (key >> 32) * grams->n_slots >> 32;
}

/* A slot without its position. The number of a length has 4 bits, because there are at most
 * UNITOK_GRAMS_MAX_LENGTHS = 16. The largest head and position are not GRAM_FREE: a position is at
 * most GRAM_MAX_UNITS_TOTAL - 2. */
INLINE uint64_t gram_slot_head(uint64_t key, int64_t length)
{
    return ((key >> 12 & 0xFFFFFFF) << 4 | (uint64_t)length) << 32;
}
