/* heap.h - a heap of numbers, smallest first; the children of k are 4 k + 1 to 4 k + 4 */
#pragma once

#include "ground/common.h"

/* Moves keys[at] down until no child is smaller.
 *
 *     keys      | 0 | 1  2  3  4 | 5  6  7  8 | 9 10 11 12 | ...
 *               top  its children  those of 1   those of 2
 *
 * Four children instead of two halve the depth, and with it the number of cache misses, because the
 * four are adjacent. The key itself is written once, at the end: until then there is a hole, which
 * moves down. */
static inline void heap_sink(uint64_t *keys, int64_t n, int64_t at)
{
    uint64_t key = keys[at];
    for (;;) {
        int64_t child = 4 * at + 1, end = child + 4 < n ? child + 4 : n, best = child;
        if (child >= n) break;
        for (int64_t k = child + 1; k < end; k++)
            if (keys[k] < keys[best]) best = k;
        if (keys[best] >= key) break;
        keys[at] = keys[best];
        at = best;
    }
    keys[at] = key;
}

/* Turns any n keys into a heap: each inner node sinks, the last one first, so that the subtrees
 * below it are already heaps. O(n), whereas n pushes would take O(n log n). */
static inline void heap_make(uint64_t *keys, int64_t n)
{
    for (int64_t k = (n + 2) / 4 - 1; k >= 0; k--) heap_sink(keys, n, k);
}

/* Adds a key; `keys` must have space for one more. The hole moves up until its parent is not
 * larger. */
static inline void heap_push(uint64_t *keys, int64_t *io_n, uint64_t key)
{
    int64_t at = (*io_n)++;
    while (at > 0 && keys[(at - 1) / 4] > key) {
        keys[at] = keys[(at - 1) / 4];
        at = (at - 1) / 4;
    }
    keys[at] = key;
}

/* Removes and returns the smallest key; n > 0. */
static inline uint64_t heap_pop(uint64_t *keys, int64_t *io_n)
{
    uint64_t key = keys[0];
    keys[0] = keys[--*io_n];
    if (*io_n) heap_sink(keys, *io_n, 0);
    return key;
}
