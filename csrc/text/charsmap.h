/* charsmap.h - SentencePiece's precompiled_charsmap: a map from strings to their replacements
 *
 *     u32 n_trie_bytes | the trie: a double array of u32 units (Darts-clone) | replacements, each terminated by NUL
 *
 * The unit for a byte of a key, and the unit for the end of a key:
 *
 *     unit    31  30 ............... 10  9         8      7 ... 0
 *             0   offset                 offset<<8 leaf   label c
 *             1   where the replacement begins
 *
 * From the unit at index i, the next byte c leads to the unit at i XOR offset XOR c, if the label of
 * that unit is c. If `leaf` is set, a key ends here, and the unit of its replacement is at i XOR
 * offset. The root is unit 0. Equal branches may be shared, so the units form a graph. No function
 * here enumerates the keys, because a hostile file can share branches so often that their number is
 * astronomical. charsmap_open checks that every step stays inside the array and that keys are
 * finite (no unit that leads to a key is part of a cycle).
 */
#pragma once

#include "ground/common.h"

/* The number of keys that a walk considers: sentencepiece considers the 32 shortest that match and
 * uses the longest of them. */
#define CHARSMAP_KEYS_MAX 32

/* Longer keys are rejected, because every position of a text may have to be compared with the
 * complete key. */
#ifndef CHARSMAP_KEY_BYTES_MAX
#define CHARSMAP_KEY_BYTES_MAX 4096
#endif

typedef struct charsmap {
    const uint32_t *units; /* [0..n_units-1]; NULL: no charsmap, nothing is replaced */
    const uint8_t *replacements;
    int64_t n_units, n_replacement_bytes;
    int64_t max_key_bytes, max_replacement_bytes;
    int32_t is_utf8; /* every replacement consists of complete characters */
} charsmap;

/* Returns the base of the children of the unit at `at`. An offset has 21 bits; if bit 9 is set, it is
 * multiplied by 256. */
INLINE uint32_t charsmap_base(uint32_t at, uint32_t unit)
{
    return at ^ ((unit >> 10) << ((unit & 0x200) >> 6));
}

INLINE int charsmap_has_leaf(uint32_t unit) { return unit >> 8 & 1; }

/* Finds the longest key with which the text begins. Returns its length, or 0, and the replacement
 * up to its NUL. */
INLINE int64_t charsmap_match(const charsmap *m, const uint8_t *text, int64_t n_bytes,
                              const uint8_t **ret)
{
    uint32_t base = charsmap_base(0, m->units[0]);
    int64_t length = 0;
    int n_keys = 0;
    /* also ends a walk in a cycle without keys */
    if (n_bytes > m->max_key_bytes) n_bytes = m->max_key_bytes;
    for (int64_t i = 0; i < n_bytes; i++) {
        uint32_t at = base ^ text[i], unit = m->units[at];
        if ((unit & 0x800000FF) != text[i]) break;
        base = charsmap_base(at, unit);
        if (charsmap_has_leaf(unit)) {
            *ret = m->replacements + (m->units[base] & 0x7FFFFFFF);
            length = i + 1;
            if (++n_keys == CHARSMAP_KEYS_MAX) break;
        }
    }
    return length;
}

/* The trie with lists of its edges, used while a normalizer is built. The subtree of a unit
 * depends only on its base, so lists and heights are indexed by bases:
 *
 *     base  -- first[base] -->  unit  -- next[unit] -->  unit  ...       the children: 0 ends the list
 *
 * Only children that lead to a key are listed. */
typedef struct charsmap_tree {
    /* [0..n_units - 1]; `first` is the start of the block that holds all these arrays */
    uint32_t *first, *next;
    /* [base]: the maximum number of bytes by which a key can continue there; 0: none */
    int32_t *heights;
} charsmap_tree;

/* Checks and measures blob[0..n_bytes-1], and lists its edges in *tree. The blob must be 4-byte
 * aligned and outlive *ret. The tree must be freed even after a failure. UNITOK_ERROR_VOCABULARY if
 * the blob is invalid.
 *   inner[0..255]   set to 1 for each byte that occurs in a key after its first byte
 * O(n_bytes). */
int32_t charsmap_open(const uint8_t *blob, int64_t n_bytes, charsmap_tree *tree, uint8_t *inner,
                      charsmap *ret, unitok_error *error);
void charsmap_tree_free(charsmap_tree *tree);
