/* packed.h - the check that every packed list must pass when it enters the library */
#pragma once

#include "ground/common.h"

/* Returns NULL, or a message that says what is wrong with offsets[0..n]. Functions called after
 * this check trust the offsets: every slice lies between the first and the last one. */
static inline const char *check_offsets(const int64_t *offsets, int64_t n)
{
    if (n < 0) return "the number of documents is negative";
    if (offsets[0] < 0) return "the first offset is negative";
    for (int64_t k = 0; k < n; k++)
        if (offsets[k + 1] < offsets[k]) return "the offsets decrease";
    return NULL;
}
