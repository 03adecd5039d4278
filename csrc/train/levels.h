/* levels.h - units laid end to end by descending count, so that a position in the text determines
 * the count of its unit
 *
 * Units with the same count form a level. There are few levels, and most positions are in the last
 * ones, which have the smallest counts:
 *
 *     text    | count 9120 | count 8001 | ...  | all of count 2 ............ | all of count 1 ................... |
 *     end[]                ^            ^                                    ^                                    ^
 *
 * So no array of counts by position is needed. */
#pragma once

#include "ground/common.h"
#include "unitok_train.h"

/* Two parallel arrays with an entry for each distinct count. */
typedef struct levels {
    int64_t *end;    /* [0..n-1]: where the level ends in the text, increasing */
    uint64_t *count; /* [0..n-1]: decreasing */
    int64_t n, capacity;
} levels;

/* The numbers 0..n-1 by descending count, and in ascending order if counts are equal. The caller
 * frees the array; NULL if allocation fails. */
int64_t *levels_order(const uint64_t *counts, int64_t n);

/* Opens the level of the unit that is laid out next, unless it is already open; the caller then
 * sets end[n - 1]. Returns 0 if allocation fails. */
int levels_open(levels *l, uint64_t count);
void levels_free(levels *l);

/* The first of the levels low..high that ends beyond `place`; level `high` must end beyond it. */
INLINE int64_t levels_find(const levels *l, int64_t low, int64_t high, int64_t place)
{
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (place < l->end[middle]) high = middle;
        else low = middle + 1;
    }
    return low;
}

/* The count of the unit that contains `place`. Most places are in the last levels, so these are
 * tried one by one before the others are searched. If places ascend, levels_from is faster. */
INLINE uint64_t levels_count(const levels *l, int64_t place)
{
    int64_t last = l->n - 1, k = last;
    while (k > 0 && k > last - 8 && place < l->end[k - 1]) k--;
    return l->count[k == 0 || place >= l->end[k - 1] ? k : levels_find(l, 0, k - 1, place)];
}

/* The level that contains `place`, which must be level k or a later one. Use it for places in
 * ascending order, most of which are in level k or soon after it. */
INLINE int64_t levels_from(const levels *l, int64_t k, int64_t place)
{
    for (int near = 0; near < 4; near++, k++)
        if (LIKELY(place < l->end[k])) return k;
    return levels_find(l, k, l->n - 1, place);
}
