/* probing.h - open-addressed tables that stay fast even if a file chooses their keys
 *
 * A key is found at slot (key * factor) >> shift or in the slots after it. Anyone who knows the
 * factor can choose keys that all collide, and every lookup would then probe all of them. So a
 * table tries the factors of a fixed list in order, and uses the first with which no run of taken
 * slots is longer than PROBING_RUN_MAX. Unless the keys were chosen to collide, the first factor in
 * the list works. If no factor works, the table grows. The same keys always give the same table. */
#pragma once

#include "ground/rng.h"

#define PROBING_RUN_MAX 512
#define PROBING_FACTORS 8

/* The k-th factor: any odd number. */
INLINE uint64_t probing_factor(int k) { return rng_key(1, (uint64_t)k) | 1; }

/* Returns whether a run of slots that are not `free` is too long. Slot k is slots[k * stride]; runs
 * wrap around from the end to the start. */
static inline int probing_is_crowded(const uint64_t *slots, int64_t stride, int64_t n_slots,
                                     uint64_t free)
{
    int64_t run = 0;
    for (int64_t k = 0; k < n_slots + PROBING_RUN_MAX && run <= PROBING_RUN_MAX; k++)
        run = slots[k % n_slots * stride] == free ? 0 : run + 1;
    return run > PROBING_RUN_MAX;
}
