/* distinct.h - whether the strings of a packed list all differ */
#pragma once

#include "ground/common.h"

typedef enum distinct {
    DISTINCT_YES,
    DISTINCT_MAYBE, /* two are the same, or were chosen to look so */
    DISTINCT_NO_MEMORY
} distinct;

/* Of data[offsets[k]..offsets[k + 1]), k < n. Compares hashes alone: so YES is certain, and MAYBE as good as certainly
 * no. O(bytes), whatever the strings are. */
distinct strings_are_distinct(const uint8_t *data, const int64_t *offsets, int64_t n);
