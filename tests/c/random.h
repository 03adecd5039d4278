/* random.h - random numbers for the C tests: an xorshift generator, seeded by SEED= in the
 * environment */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t random_state = 88172645463325252u;

static inline uint64_t random_u64(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state * UINT64_C(0x2545F4914F6CDD1D);
}

/* The factor for numbers of rounds: ROUNDS in the environment, or 1. */
static inline int64_t rounds_factor(void)
{
    const char *factor = getenv("ROUNDS");
    return factor ? strtoll(factor, NULL, 10) : 1;
}

/* Seeds from SEED, or from `usual` if SEED is not set, and prints the seed, so that a failure can
 * be reproduced. */
static inline void random_start(uint64_t usual)
{
    const char *seed = getenv("SEED");
    random_state = seed ? strtoull(seed, NULL, 10) : usual;
    printf("SEED=%llu\n", (unsigned long long)random_state);
    if (random_state == 0) random_state = 1; /* xorshift never leaves 0 */
}
