/* array_hash.h - a small hash table of byte strings whose slots are contiguous arrays: the
 * container of the HAT-trie
 *
 *   struct array_hash (one allocation, slots included)
 *   +------+--------+---------+-----------+-----------+----------+----------+- - -
 *   | node | n_keys | n_slots | heads[64] | slot 0    | slot 1   | slot 2   |
 *   +------+--------+---------+-----------+-|--------++----------+|---------+- - -
 *                                           |  filter |   empty   |
 *                     +---------------------+                     +-> ...
 *                     v
 *   slot   | used u32 | capacity u32 | entry | entry | entry | free space |
 *   entry  | length: 1 byte, or 255 and a u32 | the key's bytes | value i64 |     unaligned, read by memcpy
 *
 * The hash of a key selects a slot, which is read from its start: one cache miss for the slot
 * table, one for the array. `filter` has a bit for each key of the slot, so looking up an absent
 * key seldom reads the array.
 *
 * In a search for the longest key that is a prefix of a text, two things keep the number of probes
 * small. heads[k] has bit L set if a key of L bytes exists whose first two bytes fall in class k,
 * so only lengths that can occur are tried. And only the first LONG_BYTES bytes of a key are
 * hashed, so one pass over the text gives the hashes of all lengths, and all keys of LONG_BYTES or
 * more that can match are in one slot: a key of 1 MiB costs no more probes than one of 63 bytes.
 *
 * The owner of a table limits its size, and thereby the cost of colliding keys. A table never holds
 * the empty key. */
#pragma once

#include "ground/common.h"

#define ARRAY_HASH_LONG_BYTES 63
#define ARRAY_HASH_HEADS 64

/* The beginning of every child of a branch. Tables store it but do not use it. */
struct node {
    uint8_t is_branch;
    /* the first and the last byte that lead from the parent to this container */
    uint8_t low, high;
};

struct slot {
    uint8_t *bytes; /* NULL while empty */
    /* bit h >> 58 is set for each key with hash h */
    uint64_t filter;
};

struct array_hash {
    struct node node;
    uint32_t n_keys;
    uint32_t n_slots;                 /* a power of two */
    uint32_t n_entry_bytes;           /* the size of all entries */
    size_t memory_bytes;              /* everything allocated for this table */
    uint64_t heads[ARRAY_HASH_HEADS]; /* [k]: the lengths of the keys of class k, one bit each */
    struct slot slots[];
};

/* A key in its entry, followed by its value. It may be shortened from the front. */
struct array_item {
    const uint8_t *key;
    uint64_t mark; /* the hash while a table is built; the first 8 bytes while sorting */
    uint32_t n_bytes;
    uint32_t number; /* for the caller of array_items_sort */
};

INLINE int64_t load_i64(const uint8_t *p)
{
    int64_t v;
    memcpy(&v, p, 8);
    return v;
}

/* The length of the common prefix of a and b, both n_bytes long. */
INLINE size_t common_bytes(const uint8_t *a, const uint8_t *b, size_t n_bytes)
{
    size_t i = 0;
    for (; i + 8 <= n_bytes; i += 8) {
        uint64_t differ = load_u64(a + i) ^ load_u64(b + i);
        if (differ) return i + (size_t)(lowest_bit(differ) >> 3);
    }
    while (i < n_bytes && a[i] == b[i]) i++;
    return i;
}

INLINE uint64_t array_hash_step(uint64_t hash, uint8_t byte)
{
    /* Like FNV-1a, but with 2^64 / phi as the multiplier. A product carries bits only upwards, so
     * only the upper half is used. */
    return (hash ^ byte) * UINT64_C(0x9E3779B97F4A7C15);
}

/* Any constant without a zero byte works. It is fixed so that the same keys always give the same
 * trie. */
#define ARRAY_HASH_SEED UINT64_C(0x51ED270B0A5F1D27)

/* Keys that agree in their first LONG_BYTES bytes have the same hash: see the beginning of this
 * file. */
INLINE uint64_t array_hash_of(const uint8_t *key, size_t n_bytes)
{
    uint64_t hash = ARRAY_HASH_SEED;
    size_t n = n_bytes < ARRAY_HASH_LONG_BYTES ? n_bytes : ARRAY_HASH_LONG_BYTES;
    for (size_t i = 0; i < n; i++) hash = array_hash_step(hash, key[i]);
    return hash;
}

/* Bits from 32 upwards select the slot, and those from 58 upwards the bit in its filter. They do
 * not overlap, because no table has 2^26 slots. */
INLINE size_t array_hash_slot(const struct array_hash *table, uint64_t hash)
{
    return (size_t)(hash >> 32) & (table->n_slots - 1);
}

/* Builds a table of these keys, which must be distinct and not empty. Overwrites their marks.
 * Returns NULL if an allocation fails. */
struct array_hash *array_hash_build(struct array_item *items, size_t n_items);
void array_hash_free(struct array_hash *table);

/* Returns the 8 bytes of the key's value, or NULL. `hash` is array_hash_of(key, n_bytes). The
 * pointer is valid until the next change. */
uint8_t *array_hash_find(const struct array_hash *table, const uint8_t *key, size_t n_bytes,
                         uint64_t hash);

/* Adds a key that the table does not contain. Returns 0, with the keys unchanged, if an allocation
 * fails. In either case the table may have moved to *table. */
int array_hash_add(struct array_hash **table, const uint8_t *key, size_t n_bytes, uint64_t hash,
                   int64_t value);

/* Returns the length of the longest key that is a prefix of text[0..n_bytes-1], n_bytes >= 1, or
 * 0. */
size_t array_hash_longest_prefix(const struct array_hash *table, const uint8_t *text,
                                 size_t n_bytes, int64_t *ret_value);

/* Lists the keys in items[0..n_keys-1], in no particular order. */
void array_hash_items(const struct array_hash *table, struct array_item *items);

/* Sorts by bytes; a key comes before the keys of which it is a prefix. buffer[0..n_items-1] is
 * scratch. */
void array_items_sort(struct array_item *items, struct array_item *buffer, size_t n_items);
