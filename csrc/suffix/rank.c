/* rank.c - replaces tokens with their ranks and counts them
 *
 *     text      17  4  17  9           ids, overwritten by ranks
 *     rank      [4] = 2  [9] = 0  [17] = 1
 *     counts    1  2  1                by rank: the sizes of the buckets of the suffix array
 *
 * Callers pass one part of the text at a time; counts add up. */

#include "ground/common.h"
#include "unitok_search.h"

/* Suffixes are sorted by token rank instead of token id, so that tokens that begin with the same
 * bytes become neighbours: see pieces.h. The counts are the bucket sizes. There are two loops so
 * that `rank` is not tested for every token. */
static void rank_16(uint16_t *text, int64_t n, const uint32_t *rank, uint64_t *counts)
{
    if (rank)
        for (int64_t i = 0; i < n; i++) {
            text[i] = (uint16_t)rank[text[i]];
            counts[text[i]]++;
        }
    else
        for (int64_t i = 0; i < n; i++) counts[text[i]]++;
}

/* Unlike ids of 16 bits, ids of 32 bits can exceed the tables. */
static int64_t rank_32(uint32_t *text, int64_t n, const uint32_t *rank, uint64_t *counts)
{
    for (int64_t i = 0; i < n; i++) {
        if (text[i] >= UNITOK_SEARCH_IDS_32) return i;
        if (rank) text[i] = rank[text[i]];
        counts[text[i]]++;
    }
    return -1;
}

int64_t unitok_suffix_rank(void *text, int64_t n, int32_t id_bytes, const uint32_t *rank,
                           uint64_t *counts)
{
    if (id_bytes == 4) return rank_32(text, n, rank, counts);
    rank_16(text, n, rank, counts);
    return -1;
}
