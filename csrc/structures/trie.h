/* trie.h - frozen double array: longest prefix and exact match, with a table for the first two
 * bytes
 *
 * The tree of all pieces is stored in one array of 64-bit units. The child of a node for byte c is
 * unit base(node) XOR c, if that unit has the label c:
 *
 *     unit    63 .............. 32 31 ......... 9  8     7 ... 0
 *             base of the children  value = id+1  used  label c
 *             (0: it has none)      (0: no piece ends here)
 *
 *     "ab" -> 7:   heads['a','b'] --base--> units[base ^ 'c'] --base--> ...
 *                  = {base, value 8, length 2}
 *
 * No two nodes share a base, so a matching label proves that the unit is a child of the node. Units
 * 0..255 are never used, so base 0 leads to no child, and the walk needs no test for leaves. A base
 * and its children lie in one block of 256 units, so that checking base < n_units once, when a file
 * is opened, makes every access safe.
 *
 * Most walks are short. heads[] holds, for every pair of first bytes, the node they lead to and the
 * longest piece found so far (a one-byte piece at worst), so a walk starts at depth two with one
 * load:
 *
 *     head    63 .. 56  55 ........ 32  31 .................. 0
 *             length    value = id+1    base of the children (0: none)
 *             1 or 2
 */
#pragma once

#include "ground/common.h"

#define TRIE_BLOCK 256
#define TRIE_ROOT_BASE 256 /* the root has no unit of its own; its children are here */
#define TRIE_HEADS 65536
#define TRIE_VALUE_MAX 0x7FFFFF /* 23 bits */

typedef struct trie {
    const uint64_t *units;   /* [0..n_units-1], n_units a multiple of TRIE_BLOCK */
    const uint64_t *heads;   /* [0..TRIE_HEADS-1], by first byte + 256 * second byte */
    const uint32_t *singles; /* [0..255] the value of each byte alone: a piece or the fallback */
    int64_t n_units;
} trie;

INLINE uint32_t unit_base(uint64_t unit) { return (uint32_t)(unit >> 32); }

INLINE uint32_t unit_value(uint64_t unit) { return (uint32_t)(unit >> 9) & TRIE_VALUE_MAX; }

INLINE int unit_has_label(uint64_t unit, uint8_t label)
{
    return (unit & 0x1FF) == (0x100u | label);
}

INLINE uint32_t head_base(uint64_t head) { return (uint32_t)head; }

INLINE uint32_t head_value(uint64_t head) { return (uint32_t)(head >> 32) & 0xFFFFFF; }

INLINE int head_length(uint64_t head) { return (int)(head >> 56); }

/* The value of the piece that consists of exactly these two bytes, or 0. Branch-free. */
INLINE uint32_t head_pair_value(uint64_t head)
{
    return head_value(head) & (0 - (uint32_t)(head >> 57));
}

/* Finds the longest piece that is a prefix of text[0..n_bytes-1], n_bytes >= 1. Returns its value,
 * never 0, and its length. The walk continues until no child matches, and keeps the last value
 * seen: a prefix that is not itself a piece must not stop it. */
INLINE uint32_t trie_longest(const trie *t, const uint8_t *text, int64_t n_bytes,
                             int64_t *ret_n_bytes)
{
    if (UNLIKELY(n_bytes < 2)) {
        *ret_n_bytes = 1;
        return t->singles[text[0]];
    }
    uint64_t head = t->heads[text[0] | text[1] << 8];
    uint32_t base = head_base(head), value = head_value(head);
    int64_t length = head_length(head);
    for (int64_t i = 2; i < n_bytes; i++) {
        uint64_t unit = t->units[base ^ text[i]];
        if (!unit_has_label(unit, text[i])) break;
        base = unit_base(unit);
        if (unit_value(unit)) {
            value = unit_value(unit);
            length = i + 1;
        }
    }
    *ret_n_bytes = length;
    return value;
}

/* Prefetch what a walk from text[0] reads in its first, second and third step. The processor does
 * not do this by itself, because the end of the previous walk is hard to predict. */
INLINE void trie_fetch_head(const trie *t, const uint8_t *text)
{
    PREFETCH(&t->heads[text[0] | text[1] << 8]);
}

INLINE void trie_fetch_unit(const trie *t, const uint8_t *text)
{
    PREFETCH(&t->units[head_base(t->heads[text[0] | text[1] << 8]) ^ text[2]]);
}

INLINE void trie_fetch_next_unit(const trie *t, const uint8_t *text)
{
    /* an unrelated unit if this walk has no third step */
    uint64_t unit = t->units[head_base(t->heads[text[0] | text[1] << 8]) ^ text[2]];
    PREFETCH(&t->units[unit_base(unit) ^ text[3]]);
}

/* Prefetches for walks that start some bytes later. At half the distance, the measured gain was
 * half as large. */
INLINE void trie_fetch_ahead(const trie *t, const uint8_t *text, int64_t n_bytes)
{
    if (n_bytes < 14) return;
    trie_fetch_head(t, text + 12);
    trie_fetch_unit(t, text + 7);
    trie_fetch_next_unit(t, text + 4);
}

/* The result of trie_build; the caller frees `units` with mem_free. */
typedef struct trie_parts {
    uint64_t *units;
    int64_t n_units;
} trie_parts;

/* Lays out a packed list of distinct, nonempty pieces, sorted by bytes, with ids[0..n_pieces-1], or
 * 0, 1, ... if ids is NULL. O(bytes of pieces). */
int32_t trie_build(const uint8_t *data, const int64_t *offsets, const int64_t *ids,
                   int64_t n_pieces, trie_parts *ret, unitok_error *error);

/* For parallel builds: each thread lays out a sorted list of pieces, and one thread joins these
 * parts, which must have no first byte in common. The caller still owns the parts. */
int32_t trie_build_part(const uint8_t *data, const int64_t *offsets, const int64_t *ids,
                        int64_t n_pieces, trie_parts *ret, unitok_error *error);
int32_t trie_join(const trie_parts *parts, int64_t n_parts, trie_parts *ret, unitok_error *error);

/* Fills heads[0..TRIE_HEADS-1] and singles[0..255] from the units; a byte that is not a piece gets
 * fallback_value. */
void trie_build_heads(const uint64_t *units, uint32_t fallback_value, uint64_t *heads,
                      uint32_t *singles);

/* Returns NULL if every base lies inside the array and every value is at most max_value; otherwise
 * a message, with the invalid entry in *ret_at. */
const char *trie_check_units(const trie *t, uint32_t max_value, const void **ret_at);

/* Returns NULL if the units are trees in which no path has more than max_depth units, so that every
 * walk ends; otherwise a message, as above. Requires trie_check_units. owners[0..n_units-1] and
 * depths[0..n_units-1] are scratch, all zeros. O(n_units). */
const char *trie_check_shape(const trie *t, int64_t max_depth, uint32_t *owners, uint32_t *depths,
                             const void **ret_at);
