/* distinct.h - a set of strings that all differ, and which of them this is
 *
 * An open-addressed table of hashes, at most half full:
 *
 *     slots   | - | 2 | - | 0 | 1 | - | - | 3 |      hash & 0xFFFFFFFF << 32 | index + 1 of a string, 0: free
 */
#pragma once

#include "ground/common.h"

typedef struct distinct_table {
    /* the caller's, like offsets: string k is data[offsets[k]..offsets[k + 1]) */
    const uint8_t *data;
    const int64_t *offsets;
    uint64_t *slots; /* [0..1 << n_bits) */
    int n_bits;
} distinct_table;

typedef enum distinct {
    DISTINCT_YES,
    DISTINCT_MAYBE, /* two are the same, or they were chosen to collide */
    DISTINCT_NO_MEMORY
} distinct;

/* Of data[offsets[k]..offsets[k + 1]), k < n < 2^31. The table is to be freed whatever comes back,
 * and of use only after YES. O(bytes), whatever the strings are. */
distinct distinct_build(const uint8_t *data, const int64_t *offsets, int64_t n,
                        distinct_table *ret);
void distinct_free(distinct_table *t);

/* The index of the string with these bytes; -1 if there is none. O(n_bytes). */
int64_t distinct_find(const distinct_table *t, const uint8_t *bytes, int64_t n_bytes);
