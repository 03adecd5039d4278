/* distinct.c - implements distinct.h */

#include "structures/distinct.h"

#include "ground/alloc.h"

#define FACTOR UINT64_C(0x9E3779B97F4A7C15)
#define AHEAD 16    /* strings whose slots are prefetched */
#define RUN_MAX 128 /* a longer run of taken slots means that the strings were chosen to collide */

/* Multiplying moves every bit upwards; the shift brings the upper bits back down, so that the
 * next word is mixed with all of them. */
INLINE uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * FACTOR;
    return hash ^ hash >> 29;
}

/* The table of distinct.h while it is filled. A string's place is the upper n_bits of its hash; the
 * lower half of the hash is stored in the slot, so that bytes are seldom compared unless the
 * strings are equal. */
typedef struct table {
    const uint8_t *data;
    const int64_t *offsets;
    uint64_t *slots; /* [0..1 << n_bits) */
    int n_bits;
} table;

/* Hashes eight bytes at a time. The last step overlaps the previous one, so that no loop over
 * single bytes is needed; the hash includes the length, so the overlap does not make strings of
 * different lengths collide. */
static uint64_t hash_of(const uint8_t *bytes, int64_t n_bytes)
{
    uint64_t hash = (uint64_t)n_bytes * FACTOR, last = 0;
    for (int64_t i = 0; i + 8 < n_bytes; i += 8) hash = mix(hash, load_u64(bytes + i));
    if (n_bytes >= 8) last = load_u64(bytes + n_bytes - 8);
    else if (n_bytes >= 4) last = load_u32(bytes) | (uint64_t)load_u32(bytes + n_bytes - 4) << 32;
    else if (n_bytes)
        last = bytes[0] | (uint64_t)bytes[n_bytes >> 1] << 8 | (uint64_t)bytes[n_bytes - 1] << 16;
    return mix(mix(hash, last), 0);
}

/* Returns the slot of the string, or the free slot where it belongs; NULL after RUN_MAX other
 * strings. */
static uint64_t *find_slot(const table *t, const uint8_t *bytes, int64_t n_bytes, uint64_t hash)
{
    uint64_t mask = (UINT64_C(1) << t->n_bits) - 1, at = hash >> (64 - t->n_bits);
    for (int run = 0; run < RUN_MAX; run++, at++) {
        uint64_t *slot = &t->slots[at & mask];
        if (*slot == 0) return slot;
        if ((uint32_t)(*slot >> 32) != (uint32_t)hash) continue;
        const int64_t *offsets = t->offsets + (uint32_t)*slot;
        if (offsets[0] - offsets[-1] == n_bytes &&
            memcmp(t->data + offsets[-1], bytes, (size_t)n_bytes) == 0)
            return slot;
    }
    return NULL;
}

/* Computes the hash of string k and prefetches its slot. */
INLINE uint64_t fetch(const table *t, int64_t k)
{
    uint64_t hash = hash_of(t->data + t->offsets[k], t->offsets[k + 1] - t->offsets[k]);
    PREFETCH(&t->slots[hash >> (64 - t->n_bits)]);
    return hash;
}

/* Returns whether every string gets a slot of its own. Hashes are computed and slots prefetched
 * AHEAD strings before they are needed, so that the cache misses of 16 strings overlap. */
static int fill(const table *t, int64_t n)
{
    uint64_t hashes[AHEAD]; /* the hash of string k is at k % AHEAD */
    for (int64_t k = 0; k < n && k < AHEAD; k++) hashes[k] = fetch(t, k);
    for (int64_t k = 0; k < n; k++) {
        uint64_t hash = hashes[k % AHEAD];
        if (k + AHEAD < n) hashes[k % AHEAD] = fetch(t, k + AHEAD);
        const int64_t *offsets = t->offsets + k;
        uint64_t *slot = find_slot(t, t->data + offsets[0], offsets[1] - offsets[0], hash);
        if (!slot || *slot) return 0;
        *slot = hash << 32 | (uint64_t)(k + 1);
    }
    return 1;
}

/* At most half of the slots are taken, so runs of taken slots are short: a run of RUN_MAX is
 * evidence that the strings were chosen to collide. The caller then compares them in another
 * way. */
distinct distinct_check(const uint8_t *data, const int64_t *offsets, int64_t n)
{
    table t = {data, offsets, NULL, 4};
    while (INT64_C(1) << t.n_bits < 2 * n) t.n_bits++;
    t.slots = mem_zalloc((size_t)1 << t.n_bits, sizeof *t.slots);
    if (!t.slots) return DISTINCT_NO_MEMORY;
    int all_differ = fill(&t, n);
    mem_free(t.slots);
    return all_differ ? DISTINCT_YES : DISTINCT_MAYBE;
}
