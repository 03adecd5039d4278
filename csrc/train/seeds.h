/* seeds.h - the text of all units, and the positions of the suffixes that can begin a seed, in
 * parts
 *
 * A seed is a string that repeats; the first Unigram model consists of the best seeds. All units
 * are laid end to end, with 0xFF after each. A seed has at least two characters, so suffixes that
 * differ in the bytes of their first two characters have no seed in common. They are divided into
 * buckets, and any number of threads sort different buckets. Suffixes that cannot begin a seed are
 * left out: those that begin inside a character, at the last character of a unit, and so on.
 *
 *     bucket    of suffixes that begin with          bytes that these share
 *     ASCII     a character and the byte after it     2
 *     2 bytes   a character                           2
 *     3 bytes   a character                           3
 *     U+2581    U+2581 and the byte after it          4
 *     4 bytes   the first two bytes                   2
 *
 *     places    | of bucket 0 | of bucket 1 | ...    positions in the text, ascending in each bucket
 *     begins[]  ^             ^
 *
 * The units "the", seen 5 times, and "there", seen twice:
 *
 *     position    0 1 2 3  4 5 6 7 8 9
 *     text        t h e FF t h e r e FF        suffixes 2 and 8 have no second character
 *     buckets     t h: 0 4     h e: 1 5     e r: 6     r e: 7
 *
 * The first bucket gives the seed "the" with a weight of 7, and the second "he". */
#pragma once

#include "train/counter.h"
#include "train/levels.h"
#include "train/rules.h"

#define TEXT_PADDING 16 /* bytes after the text that can be read */

/* The number of a bucket is computed from the first two bytes or the first character by an
 * addition. There are about 100,000, most of them empty. */
enum {
    BUCKETS_2 = 0x80 << 8, /* where the buckets of 2-byte characters begin, and so on */
    BUCKETS_3 = BUCKETS_2 + (32 << 6),
    BUCKETS_SPACE = BUCKETS_3 + 0x10000,
    BUCKETS_4 = BUCKETS_SPACE + 0x100,
    BUCKETS = BUCKETS_4 + (8 << 6)
};

enum seeds_phase { SEEDS_MEASURE, SEEDS_PLACE, SEEDS_READY };

/* The text and its buckets. After SEEDS_READY only leaf_at changes, so threads can search different
 * parts at the same time. */
struct unitok_seeds {
    const unitok_rules *rules;
    int32_t is_compatible;
    uint8_t *text;
    int64_t n;
    levels levels;
    enum seeds_phase phase;
    int64_t at;       /* progress of the phase */
    int64_t leaf_at;  /* the leaves before this position are done */
    uint32_t *places; /* [0..begins[BUCKETS]-1] */
    uint32_t *begins; /* [0..BUCKETS] */
    int32_t *parts;   /* [0..n_parts]: the first bucket of each */
    int64_t n_parts;
};

/* How many bytes the suffixes of a bucket are known to share. */
INLINE int bucket_depth(int bucket)
{
    return bucket < BUCKETS_3 ? 2 : bucket < BUCKETS_SPACE ? 3 : bucket < BUCKETS_4 ? 4 : 2;
}

/* Checks whether the bytes of text[begin..begin+n_bytes) allow it to be a seed. Returns its length
 * without the NULs at its end, which it may have if is_compatible; 0 if it cannot be a seed. */
int64_t seed_bytes(const unitok_seeds *seeds, int64_t begin, int64_t n_bytes);
