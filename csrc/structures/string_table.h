/* string_table.h - the index of a byte string in a fixed set
 *
 * An open-addressed table. The hash of any part of a string follows from the hashes of two prefixes
 * of the string, so all splits of a string are looked up in linear time.
 *
 *     slots   | - | 2 | - | 0 | 1 | - | - | 3 |      tag << 32 | index + 1 of a string, 0: free; at most half are taken
 *
 *     hash(s) = s[0] F^(n-1) + ... + s[n-1]   mod 2^61 - 1
 *     hash(s[i..j)) = hash(s[0..j)) - hash(s[0..i)) F^(j-i)
 *
 * A hash only says where to look: if the tag, its low 32 bits, matches, the bytes are always
 * compared.
 *
 * F is the first number in a fixed list with which every string is stored within
 * STRING_TABLE_PROBES slots of its place. So a file whose strings were chosen to collide takes no
 * more time than any other file, and the same strings always give the same table. (The modulus is a
 * prime: modulo 2^64 there are strings that collide for every F.) */
#pragma once

#include "ground/common.h"
#include "ground/wide.h"

#define STRING_TABLE_PROBES 256

typedef struct string_table {
    /* borrowed, as is offsets: string k is data[offsets[k]..offsets[k + 1]) */
    const uint8_t *data;
    const int64_t *offsets;
    uint64_t *slots; /* [0..1 << n_bits) */
    uint64_t factor; /* F */
    int n_bits;
} string_table;

#define STRING_TABLE_PRIME ((UINT64_C(1) << 61) - 1)

/* a * b + c modulo the prime; a, b and c are below it. */
INLINE uint64_t string_table_multiply_add(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t high, low = multiply_wide(a, b, &high); /* of the product, below 2^122 */
    uint64_t sum = (low & STRING_TABLE_PRIME) + (high << 3 | low >> 61) + c;
    sum = (sum & STRING_TABLE_PRIME) + (sum >> 61);
    return sum >= STRING_TABLE_PRIME ? sum - STRING_TABLE_PRIME : sum;
}

INLINE uint64_t string_table_hash_step(const string_table *t, uint64_t hash, uint8_t byte)
{
    return string_table_multiply_add(hash, t->factor, (uint64_t)byte + 1);
}

INLINE uint64_t string_table_hash(const string_table *t, const uint8_t *bytes, int64_t n_bytes)
{
    uint64_t hash = 0;
    for (int64_t i = 0; i < n_bytes; i++) hash = string_table_hash_step(t, hash, bytes[i]);
    return hash;
}

/* The hash of a part of a string, from the hashes of the two prefixes that end where the part
 * begins and ends. `power` is F^(length of the part). */
INLINE uint64_t string_table_part_hash(uint64_t before, uint64_t all, uint64_t power)
{
    uint64_t gone = string_table_multiply_add(before, power, 0);
    return all >= gone ? all - gone : all + STRING_TABLE_PRIME - gone;
}

/* Builds a table of the strings k < n with take[k] != 0, or of all if take is NULL. Of equal
 * strings, the table holds the first. *ret_twice is the first string that equals an earlier one, or
 * -1. Returns UNITOK_ERROR_VOCABULARY if the strings collide with every factor. O(bytes). */
int32_t string_table_build(string_table *t, const uint8_t *data, const int64_t *offsets, int64_t n,
                           const uint8_t *take, int64_t *ret_twice, unitok_error *error);
void string_table_free(string_table *t);

/* The upper bits of a product depend on all bits of the hash; the tag is the lower 32 bits of
 * the hash itself, so place and tag are nearly independent. */
INLINE uint32_t string_table_place(const string_table *t, uint64_t hash)
{
    return (uint32_t)(hash * UINT64_C(0x9E3779B97F4A7C15) >> (64 - t->n_bits));
}

/* Whether a slot holds this string. The tag rejects nearly all others without comparing their
 * bytes. */
INLINE int string_table_is(const string_table *t, uint64_t slot, const uint8_t *bytes,
                           int64_t n_bytes, uint64_t hash)
{
    if ((uint32_t)(slot >> 32) != (uint32_t)hash) return 0;
    const int64_t *offsets = t->offsets + (uint32_t)slot;
    return offsets[0] - offsets[-1] == n_bytes &&
           memcmp(t->data + offsets[-1], bytes, (size_t)n_bytes) == 0;
}

/* Returns the index of the string with these bytes, whose hash is `hash`, or -1. */
INLINE int64_t string_table_find_hashed(const string_table *t, const uint8_t *bytes,
                                        int64_t n_bytes, uint64_t hash)
{
    uint32_t mask = (UINT32_C(1) << t->n_bits) - 1;
    for (uint32_t at = string_table_place(t, hash), end = at + STRING_TABLE_PROBES; at != end;
         at++) {
        uint64_t slot = t->slots[at & mask];
        if (slot == 0) return -1;
        if (string_table_is(t, slot, bytes, n_bytes, hash)) return (int64_t)(uint32_t)slot - 1;
    }
    return -1;
}

INLINE int64_t string_table_find(const string_table *t, const uint8_t *bytes, int64_t n_bytes)
{
    return string_table_find_hashed(t, bytes, n_bytes, string_table_hash(t, bytes, n_bytes));
}
