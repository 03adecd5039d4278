/* charsmap.h - SentencePiece's precompiled_charsmap: which strings are replaced by which
 *
 *     u32 n_trie_bytes | the trie: a double array of u32 units (Darts-clone) | replacements, each ended by NUL
 *
 * A unit for one byte of a key, and a unit for the end of a key:
 *
 *     unit    31  30 ............... 10  9         8      7 ... 0
 *             0   offset                 offset<<8 leaf   label c
 *             1   where the replacement begins
 *
 * The unit of the next byte c is at i XOR offset XOR c, seen from the unit at `i`, if the label
 * there is c; with `leaf`, a key ends here, and the unit of its replacement is at i XOR offset. The
 * root is unit 0. Equal branches may be shared, so the units are a graph, and a hostile one may be
 * shared so often that there are more keys than atoms in the sun: nothing here enumerates keys.
 * charsmap_open proves that every step stays inside and that keys are finite (no unit that leads to
 * a key is below itself).
 */
#pragma once

#include "ground/common.h"

/* A walk considers no more keys than this: sentencepiece considers the 32 shortest that match and
 * takes the longest of them. */
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

/* Where the children of a unit are. An offset has 21 bits; if bit 9 is set, it counts in steps
 * of 256. */
INLINE uint32_t charsmap_base(uint32_t at, uint32_t unit)
{
    return at ^ ((unit >> 10) << ((unit & 0x200) >> 6));
}

INLINE int charsmap_has_leaf(uint32_t unit) { return unit >> 8 & 1; }

/* Finds the longest key that begins the text. Returns its length, or 0, and the replacement up to
 * its NUL. */
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

/* The trie with its edges listed, while a normalizer is built. The subtree of a unit
 * depends only on its base, so lists and heights are indexed by bases:
 *
 *     base  -- first[base] -->  unit  -- next[unit] -->  unit  ...       the children: 0 ends the list
 *
 * Only children that lead to a key are listed. */
typedef struct charsmap_tree {
    /* [0..n_units - 1]; first begins the one block that holds all of this */
    uint32_t *first, *next;
    /* [base]: the most bytes that a key can continue with from there; 0: none */
    int32_t *heights;
} charsmap_tree;

/* Checks blob[0..n_bytes-1], 4-byte aligned, which must outlive *ret, measures it,
 * and lists its edges in *tree, which must be freed whatever the result. UNITOK_ERROR_VOCABULARY says what is
 * wrong with the blob.
 *   inner[0..255]   set to 1 for each byte that some key has after its first
 * O(n_bytes). */
int32_t charsmap_open(const uint8_t *blob, int64_t n_bytes, charsmap_tree *tree, uint8_t *inner,
                      charsmap *ret, unitok_error *error);
void charsmap_tree_free(charsmap_tree *tree);
