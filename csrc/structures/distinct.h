/* distinct.h - checks whether all strings of a list differ
 *
 * An open-addressed table of hashes, at most half full:
 *
 *     slots   | - | 2 | - | 0 | 1 | - | - | 3 |      hash & 0xFFFFFFFF << 32 | index + 1 of a string, 0: free
 */
#pragma once

#include "ground/common.h"

typedef enum distinct {
    DISTINCT_YES,
    DISTINCT_MAYBE, /* two are equal, or the strings were chosen to collide */
    DISTINCT_NO_MEMORY
} distinct;

/* Checks strings data[offsets[k]..offsets[k + 1]), k < n < 2^31. O(bytes) for any strings. */
distinct distinct_check(const uint8_t *data, const int64_t *offsets, int64_t n);
