/* distinct.c - the function of distinct.h: an open-addressed set of hashes */

#include "structures/distinct.h"

#include "ground/alloc.h"

#define FACTOR UINT64_C(0x9E3779B97F4A7C15)
#define RUN_MAX 128 /* a longer run of taken slots: strings chosen to collide */

INLINE uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * FACTOR;
    return hash ^ hash >> 29;
}

/* Never 0, which is a free slot. Eight bytes at a time, the last ones again with those before them. */
static uint64_t hash_of(const uint8_t *bytes, int64_t n_bytes)
{
    uint64_t hash = (uint64_t)n_bytes * FACTOR, last = 0;
    for (int64_t i = 0; i + 8 < n_bytes; i += 8) hash = mix(hash, load_u64(bytes + i));
    if (n_bytes >= 8) last = load_u64(bytes + n_bytes - 8);
    else if (n_bytes >= 4) last = load_u32(bytes) | (uint64_t)load_u32(bytes + n_bytes - 4) << 32;
    else if (n_bytes) last = bytes[0] | (uint64_t)bytes[n_bytes >> 1] << 8 | (uint64_t)bytes[n_bytes - 1] << 16;
    hash = mix(mix(hash, last), 0);
    return hash ? hash : 1;
}

distinct strings_are_distinct(const uint8_t *data, const int64_t *offsets, int64_t n)
{
    int n_bits = 4;
    while (INT64_C(1) << n_bits < 2 * n) n_bits++;
    uint64_t mask = (UINT64_C(1) << n_bits) - 1, *slots = mem_zalloc((size_t)1 << n_bits, sizeof *slots);
    if (!slots) return DISTINCT_NO_MEMORY;
    distinct found = DISTINCT_YES;
    for (int64_t k = 0; k < n && found == DISTINCT_YES; k++) {
        uint64_t hash = hash_of(data + offsets[k], offsets[k + 1] - offsets[k]), at = hash >> (64 - n_bits), run = 0;
        while (slots[at & mask] && slots[at & mask] != hash && run < RUN_MAX) at++, run++;
        if (slots[at & mask]) found = DISTINCT_MAYBE;
        slots[at & mask] = hash;
    }
    mem_free(slots);
    return found;
}
