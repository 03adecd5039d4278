/* rank.c - replaces tokens by their ranks and counts them */

#include "ground/common.h"
#include "unitok_search.h"

/* Suffixes are sorted by token rank instead of token id, so that tokens that begin with the same
 * bytes become neighbours: see pieces.h. The counts are the bucket sizes. There are two loops so
 * that `rank` is not tested for every token. */
void unitok_suffix_rank(uint16_t *text, int64_t n, const uint16_t *rank, uint64_t *counts)
{
    if (rank)
        for (int64_t i = 0; i < n; i++) {
            text[i] = rank[text[i]];
            counts[text[i]]++;
        }
    else
        for (int64_t i = 0; i < n; i++) counts[text[i]]++;
}
