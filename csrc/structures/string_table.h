/* string_table.h - which of a fixed set of byte strings this is
 *
 * An open-addressed table whose hashes are chosen so that the hash of any part of a string comes from those of its
 * beginnings: all splits of a string are looked up in linear time.
 *
 *     slots   | - | 2 | - | 0 | 1 | - | - | 3 |      index + 1 of a string, 0: free; at most half are taken
 *
 *     hash(s) = s[0] F^(n-1) + ... + s[n-1]          so hash(s[i..j)) = hash(s[0..j)) - hash(s[0..i)) F^(j-i)
 *
 * A hash only says where to look: the bytes are always compared. */
#pragma once

#include "ground/common.h"

typedef struct string_table {
    const uint8_t *data;    /* the caller's, like offsets: string k is data[offsets[k]..offsets[k + 1]) */
    const int64_t *offsets;
    uint32_t *slots; /* [0..1 << n_bits) */
    int n_bits;
} string_table;

#define STRING_TABLE_FACTOR UINT64_C(0x9E3779B97F4A7C15)

INLINE uint64_t string_table_hash_step(uint64_t hash, uint8_t byte)
{
    return hash * STRING_TABLE_FACTOR + byte + 1;
}

INLINE uint64_t string_table_hash(const uint8_t *bytes, int64_t n_bytes)
{
    uint64_t hash = 0;
    for (int64_t i = 0; i < n_bytes; i++) hash = string_table_hash_step(hash, bytes[i]);
    return hash;
}

/* A table of those strings k, of n, whose take[k] is not 0. 0 when memory is short. If two taken strings are equal the
 * table holds the first, and *ret_twice, else -1, is the second. */
int string_table_build(string_table *t, const uint8_t *data, const int64_t *offsets, int64_t n, const uint8_t *take,
                  int64_t *ret_twice);
void string_table_free(string_table *t);

/* The index of the string with these bytes, whose hash is `hash`; -1 if it is not there. */
INLINE int64_t string_table_find_hashed(const string_table *t, const uint8_t *bytes, int64_t n_bytes, uint64_t hash)
{
    uint32_t mask = (UINT32_C(1) << t->n_bits) - 1;
    for (uint32_t at = (uint32_t)((hash ^ hash >> 29) * STRING_TABLE_FACTOR >> 32);; at++) {
        uint32_t slot = t->slots[at & mask];
        if (slot == 0) return -1;
        const int64_t *offsets = t->offsets + slot;
        if (offsets[0] - offsets[-1] == n_bytes && memcmp(t->data + offsets[-1], bytes, (size_t)n_bytes) == 0)
            return (int64_t)slot - 1;
    }
}

INLINE int64_t string_table_find(const string_table *t, const uint8_t *bytes, int64_t n_bytes)
{
    return string_table_find_hashed(t, bytes, n_bytes, string_table_hash(bytes, n_bytes));
}
