/* recent.h - counts recently seen units without accessing the counter
 *
 *     a unit of up to 15 bytes ──▶ units[hash]   the same unit: its count grows
 *                                                else: the old unit leaves ───┐
 *     a longer unit ───────────────────────────────────────────────────────────┴─▶ waiting ──32 at a time──▶ counter
 *
 * Most units of a text are found here, in a table that fits in the L2 cache. A counter of millions
 * of keys does not fit in any cache, and each access waits for memory three times: for the slot,
 * the entry and the key. So units on their way to the counter wait until there are 32, whose slots
 * and then entries are prefetched together. A unit's place in the table is also accessed only a few
 * units later, after its cache line has arrived from L3.
 *
 * If is_compact, a space stands for U+2581 (ground/space.h), and the counter gets U+2581. */
#pragma once

#include "encoders/memo.h"
#include "ground/space.h"
#include "train/counter.h"

#define RECENT_BITS 15
#define WAITING_MAX 32
#define WAITING_BYTES 4096

/* A place of the table, 24 bytes. */
struct recent_unit {
    uint64_t key[2]; /* see memo_short_key_of; no unit is empty, so 0 marks a free place */
    uint64_t count;
};

#define AHEAD 8
/* A unit whose place in the table is being prefetched. */
struct ahead_unit {
    uint64_t key[2], count; /* count 0: no unit */
    uint64_t index;         /* its place in `units` */
};

/* A unit on its way to the counter; its bytes are in recent.bytes. */
struct waiting_unit {
    uint64_t count;
    int32_t begin, n_bytes;
    uint32_t hash;
};

/* One thread's stages between the text and its counter. All three have a fixed size. */
typedef struct recent {
    unitok_counter *counter;
    /* [1 << RECENT_BITS]; NULL for an ordered counter, which gets units in their order */
    struct recent_unit *units;
    int64_t max_bytes; /* the longest unit in the table */
    int is_compact;
    uint32_t n_ahead; /* the number of units so far; the last AHEAD are not in the table yet */
    struct ahead_unit ahead[AHEAD];
    int n_waiting;
    int32_t n_waiting_bytes;
    struct waiting_unit waiting[WAITING_MAX];
    uint8_t bytes[WAITING_BYTES];
    uint8_t *long_unit; /* for a unit that does not fit in `bytes` */
    int64_t long_capacity;
} recent;

/* 0 if allocation fails. */
int recent_open(recent *r, unitok_counter *counter, int is_compact);
void recent_close(recent *r);
int64_t recent_memory_bytes(const recent *r);

/* Moves everything to the counter; returns 0 if allocation fails. */
int recent_flush(recent *r);

/* Queues a unit for the counter, or counts it at once; returns 0 if allocation fails. */
int recent_pass_on(recent *r, const uint8_t *unit, int64_t n_bytes, uint64_t count);

/* Counts a unit at once, without the table. Returns its entry in the counter, or -1 if allocation
 * fails. */
int64_t recent_count_now(recent *r, const uint8_t *unit, int64_t n_bytes, uint64_t count);

/* Passes on the held unit and puts `key` in its place; returns 0 if allocation fails. */
int recent_replace(recent *r, struct recent_unit *held, const uint64_t key[2], uint64_t count);

/* Compares both halves of the key with one branch, which nearly always goes the same way. */
INLINE int recent_count(recent *r, const struct ahead_unit *unit)
{
    struct recent_unit *held = &r->units[unit->index];
    if (UNLIKELY((held->key[0] ^ unit->key[0]) | (held->key[1] ^ unit->key[1])))
        return unit->count == 0 || recent_replace(r, held, unit->key, unit->count);
    held->count += unit->count;
    return 1;
}

/* Adds `count` to a unit of n_bytes > 0. MEMO_SHORT_BYTES + 1 bytes must be readable from its
 * start. Returns 0 if allocation fails. */
INLINE int recent_add(recent *r, const uint8_t *unit, int64_t n_bytes, uint64_t count)
{
    if (UNLIKELY(n_bytes > r->max_bytes)) return recent_pass_on(r, unit, n_bytes, count);
    uint64_t low = load_u64(unit) & memo_masks[n_bytes][0];
    uint64_t high = (load_u64(unit + 8) & memo_masks[n_bytes][1]) | memo_tags[n_bytes][1];
    uint64_t index = mix(low, high) >> (64 - RECENT_BITS);
    struct ahead_unit *place = &r->ahead[r->n_ahead++ % AHEAD], due = *place;
    PREFETCH(&r->units[index]);
    *place = (struct ahead_unit){{low, high}, count, index};
    return recent_count(r, &due);
}
