/* counter.h - a table of byte strings and how often each was seen: the first step of every
 * trainer
 *
 *     slots[2^bits]   u32      entry + 1, or 0: open addressing, at most two thirds full
 *     entries[0..n)   { count, key, n_bytes, hash }   in order of first occurrence, or sorted
 *     chunks          the bytes of the keys, end to end, in blocks that never move
 *
 * Counts have 64 bits. Entries are separate from slots, so that they can be sorted and exported
 * without the table, and so that growing moves only 4 bytes per key; an entry stores its hash, so
 * growing does not read keys.
 *
 * An ordered counter has no slots: it is a list, in which every added key becomes a new entry. */
#pragma once

#include "ground/common.h"
#include "unitok_train.h"

/* The length and the hash share the third word, so an entry has 24 bytes. */
struct counter_entry {
    uint64_t count;
    const uint8_t *key;
    uint32_t n_bytes;
    uint32_t hash;
};

/* A block of keys. A key longer than a block gets a block of its own. */
struct counter_chunk {
    struct counter_chunk *next;
    size_t n_used, capacity;
    uint8_t bytes[];
};

/* The three arrays drawn above. memory_bytes is updated at every allocation. */
struct unitok_counter {
    struct counter_entry *entries;
    uint32_t *slots; /* NULL: ordered */
    struct counter_chunk *chunks;
    int64_t n, capacity;
    int64_t memory_bytes;
    int bits;
    int is_moved; /* entries were moved, so the slots must be rebuilt before their next use */
};

/* Adds `count` to a key of at most UNITOK_KEY_MAX_BYTES bytes. Returns its entry, or -1 if
 * allocation fails; the counter is then unchanged. The key is copied, so it may be overwritten
 * afterwards. Entries keep their numbers until the counter is sorted or absorbed entries are
 * dropped. */
int64_t counter_add(unitok_counter *counter, const uint8_t *key, int64_t n_bytes, uint64_t count);

/* counter_add in steps, so that the memory for many keys can be prefetched together: hash all keys,
 * prefetch their slots, then their entries, and add them. Prefetching is only a hint. */
uint32_t counter_hash(const uint8_t *key, int64_t n_bytes);
int64_t counter_add_hashed(unitok_counter *counter, const uint8_t *key, int64_t n_bytes,
                           uint32_t hash, uint64_t count);

/* Prefetches the first cache line that a search reads. */
INLINE void counter_fetch_slot(const unitok_counter *counter, uint32_t hash)
{
    PREFETCH(&counter->slots[hash & ((UINT32_C(1) << counter->bits) - 1)]);
}

/* Prefetches the entries of a slot and of the next slot, which one search in three reaches. */
INLINE void counter_fetch_entry(const unitok_counter *counter, uint32_t hash)
{
    uint32_t mask = (UINT32_C(1) << counter->bits) - 1, slot = counter->slots[hash & mask];
    if (slot) PREFETCH(&counter->entries[slot - 1]);
    if (slot && (slot = counter->slots[(hash + 1) & mask])) PREFETCH(&counter->entries[slot - 1]);
}

/* Adds all keys of another counter; returns 0 if allocation fails, with only some of them added. */
int counter_merge(unitok_counter *counter, const unitok_counter *other);

/* The entry of a key, or -1. Must not be called for an ordered counter, nor between a sort and the
 * next addition. */
int64_t counter_find(const unitok_counter *counter, const uint8_t *key, int64_t n_bytes);
