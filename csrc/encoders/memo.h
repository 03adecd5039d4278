/* memo.h - the memo, which maps previously encoded segments to their ids: its layout and its keys
 *
 * Text is repetitive: about 97 % of English segments have occurred shortly before. The memo has two
 * tables. In the first, a segment of up to 15 bytes is its own key: the bytes, zero-padded, and
 * their number in byte 15. The second stores segments of up to 31 bytes in the same way. A lookup
 * compares the complete key, so a hit is exact. Each segment has one slot, and a new segment
 * replaces the old one; two-way sets, in which both entries are compared, were slower in
 * measurements. Only in models with a pattern does a replaced short entry move to the other entry
 * of its cache line, which is searched after a miss (model/segments.h).
 *
 *     short entry    | 15 bytes of segment .......... n | 7 ids of 16 bits, or 3 of 32 bits .......... word |
 *     long entry     | 31 bytes of segment ........................................ n |
 *                    | 15 ids ........................................................ word |
 *
 * Ids are 16 or 32 bits wide, and so is `word`: its low 4 bits count the ids; the others belong to
 * model/segments.h, which declares the entries. n = 0 marks an empty entry, since no segment is
 * empty. A short entry takes 32 bytes, so it never crosses the border of a cache line. If a short
 * segment has too many ids for a short entry, as runs of spaces do in GPT-2, its entry has the mark
 * MEMO_ELSEWHERE, and the ids are in the long table. A hit copies all ids and the word, whatever
 * the count, and advances the output by the count; a copy of fixed size needs no branch.
 * UNITOK_ENCODE_SLACK reserves the space for this copy. */
#pragma once

#include "ground/cpu.h"

#if defined(UNITOK_X86)
#include <emmintrin.h>
#endif

#define MEMO_SHORT_BYTES 15
#define MEMO_LONG_BYTES 31
#define MEMO_LONG_IDS 15

/* In byte 15 of a short key: the ids are in the long table. */
#define MEMO_ELSEWHERE (UINT64_C(0x80) << 56)

/* Patterns divide texts into many different segments, so their models have the largest memo. Such a
 * memo is small at first and grows after MEMO_SMALL_MISSES misses, so that a scratch for one
 * sentence costs little. Models with more than 65,536 pieces also need more entries than others.
 * There are half as many long entries as short ones, or a quarter with MEMO_BITS_PATTERN. */
#define MEMO_BITS_SMALL 10
#define MEMO_BITS_PATTERN 18
#define MEMO_SMALL_MISSES 256

typedef struct memo {
    void *entries;       /* short entries, then long ones, for the width of the model's ids */
    void *memory;        /* the allocation that contains them */
    int bits, long_bits; /* logarithms of the numbers of short and long entries */
    int64_t n_missed;    /* the number of misses */
} memo;

#define MEMO_BATCH 64 /* the number of segments whose slots are prefetched together */

/* How many bytes went through the memo, and how many of them it missed, since an encoding path last
 * read and reset both counts. */
typedef struct memo_use {
    int64_t tried_bytes, missed_bytes;
} memo_use;

/* Each half of a key is multiplied by a different odd constant: two independent multiplications
 * that the processor overlaps. The index of an entry is taken from the upper bits, which depend on
 * all other bits. */
INLINE uint64_t mix(uint64_t a, uint64_t b)
{
    return a * 0x9E3779B97F4A7C15u ^ b * 0xC2B2AE3D27D4EB4Fu;
}

/* The halves are combined with a rotation, so that equal halves do not cancel. */
INLINE uint64_t memo_long_hash(const uint64_t key[4])
{
    uint64_t half = mix(key[0], key[1]), other = mix(key[2], key[3]);
    return half ^ other >> 1 ^ other << 63;
}

/* memo_masks[n] keeps the first n bytes of 16. */
static const uint64_t memo_masks[17][2] = {
#define M(n) ((1ULL << (n) * 8) - 1)
    {0, 0},        {M(1), 0},     {M(2), 0},     {M(3), 0},     {M(4), 0},      {M(5), 0},
    {M(6), 0},     {M(7), 0},     {~0ULL, 0},    {~0ULL, M(1)}, {~0ULL, M(2)},  {~0ULL, M(3)},
    {~0ULL, M(4)}, {~0ULL, M(5)}, {~0ULL, M(6)}, {~0ULL, M(7)}, {~0ULL, ~0ULL},
#undef M
};

/* memo_tags[n] puts n into byte 15. */
static const uint64_t memo_tags[16][2] = {
#define T(n) {0, (uint64_t)(n) << 56}
    T(0), T(1), T(2),  T(3),  T(4),  T(5),  T(6),  T(7),
    T(8), T(9), T(10), T(11), T(12), T(13), T(14), T(15),
#undef T
};

/* The key of a segment of n_bytes <= MEMO_SHORT_BYTES. Reads 16 bytes. On x86-64 the key stays in
 * an SSE2 register, which makes encoding 3 to 5 % faster. */
#if defined(UNITOK_X86)
typedef __m128i memo_short_key;

INLINE memo_short_key memo_short_key_of(const uint8_t *segment, int64_t n_bytes)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)segment);
    bytes = _mm_and_si128(bytes, _mm_loadu_si128((const __m128i *)memo_masks[n_bytes]));
    return _mm_or_si128(bytes, _mm_loadu_si128((const __m128i *)memo_tags[n_bytes]));
}

INLINE uint64_t memo_short_hash(memo_short_key key)
{
    return mix((uint64_t)_mm_cvtsi128_si64(key),
               (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(key, key)));
}

/* Whether an entry holds this key. */
INLINE int memo_short_is(const uint64_t held[2], memo_short_key key)
{
    return _mm_movemask_epi8(_mm_cmpeq_epi8(key, _mm_loadu_si128((const __m128i *)held))) == 0xFFFF;
}
#else
typedef struct memo_short_key {
    uint64_t low, high;
} memo_short_key;

INLINE memo_short_key memo_short_key_of(const uint8_t *segment, int64_t n_bytes)
{
    memo_short_key key;
    key.low = load_u64(segment) & memo_masks[n_bytes][0];
    key.high = (load_u64(segment + 8) & memo_masks[n_bytes][1]) | memo_tags[n_bytes][1];
    return key;
}

INLINE uint64_t memo_short_hash(memo_short_key key) { return mix(key.low, key.high); }

INLINE int memo_short_is(const uint64_t held[2], memo_short_key key)
{
    return ((held[0] ^ key.low) | (held[1] ^ key.high)) == 0;
}
#endif

/* The hash of the first 15 bytes of a segment, or of all if it is shorter. Reads 16 bytes. */
INLINE uint64_t memo_near_hash(const uint8_t *segment, int64_t n_bytes)
{
    return memo_short_hash(
        memo_short_key_of(segment, n_bytes < MEMO_SHORT_BYTES ? n_bytes : MEMO_SHORT_BYTES));
}

/* The key of a segment of MEMO_SHORT_BYTES < n_bytes <= MEMO_LONG_BYTES; reads 32 bytes. */
INLINE void memo_long_key(const uint8_t *segment, int64_t n_bytes, uint64_t key[4])
{
    key[0] = load_u64(segment);
    key[1] = load_u64(segment + 8);
    key[2] = load_u64(segment + 16) & memo_masks[n_bytes - 16][0];
    key[3] = (load_u64(segment + 24) & memo_masks[n_bytes - 16][1]) | (uint64_t)n_bytes << 56;
}
