/* rank.c - replacing tokens by their ranks, and counting each */

#include "ground/common.h"
#include "unitok_search.h"

/* Suffixes are sorted by the ranks of their tokens instead of by ids, so that tokens which begin
 * with the same bytes become neighbours: see pieces.h. The counts are the sizes of the buckets.
 * There are two loops because the test would be made for every token. */
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
