/* counter.h - a table of byte strings and how often each was seen, 64 bits wide: what every trainer
 * starts from
 *
 *   slots[2^bits]   u32      entry + 1, or 0: open addressing, at most two thirds full
 *   entries[0..n)   { count, key, n_bytes, hash }   in the order of first sight, or sorted
 *   chunks          the keys' bytes, end to end, in blocks that never move
 *
 * An ordered counter has no slots: every key becomes an entry of its own, a list.
 */
#pragma once

#include "ground/common.h"
#include "unitok_train.h"

struct counter_entry {
    uint64_t count;
    const uint8_t *key;
    uint32_t n_bytes;
    uint32_t hash;
};

struct counter_chunk {
    struct counter_chunk *next;
    size_t n_used, capacity;
    uint8_t bytes[];
};

struct unitok_counter {
    struct counter_entry *entries;
    uint32_t *slots; /* NULL: ordered */
    struct counter_chunk *chunks;
    int64_t n, capacity;
    int64_t memory_bytes;
    int bits;
    int is_moved; /* entries are at other places than the slots say */
};

/* Adds `count` to a key of at most UNITOK_KEY_MAX_BYTES bytes. Its entry, or -1 when memory is
 * short: nothing changed. */
int64_t counter_add(unitok_counter *counter, const uint8_t *key, int64_t n_bytes, uint64_t count);

/* The same in steps, so that the memory it needs can be fetched for many keys at a time: hash,
 * fetch the slot, then the entry, then add. Fetching is only a hint. */
uint32_t counter_hash(const uint8_t *key, int64_t n_bytes);
int64_t counter_add_hashed(unitok_counter *counter, const uint8_t *key, int64_t n_bytes,
                           uint32_t hash, uint64_t count);

INLINE void counter_fetch_slot(const unitok_counter *counter, uint32_t hash)
{
    PREFETCH(&counter->slots[hash & ((UINT32_C(1) << counter->bits) - 1)]);
}

/* And of the next slot, which every third key comes to. */
INLINE void counter_fetch_entry(const unitok_counter *counter, uint32_t hash)
{
    uint32_t mask = (UINT32_C(1) << counter->bits) - 1, slot = counter->slots[hash & mask];
    if (slot) PREFETCH(&counter->entries[slot - 1]);
    if (slot && (slot = counter->slots[(hash + 1) & mask])) PREFETCH(&counter->entries[slot - 1]);
}

/* Adds all of another; 0 when memory is short: then a part of it. */
int counter_merge(unitok_counter *counter, const unitok_counter *other);

/* The entry of a key, or -1; not for ordered counters, nor between a sort and the next addition. */
int64_t counter_find(const unitok_counter *counter, const uint8_t *key, int64_t n_bytes);
