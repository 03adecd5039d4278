/* charsmap.h - SentencePiece's precompiled_charsmap: which strings are replaced by which, as its file has it
 *
 *     u32 n_trie_bytes | the trie: a double array of u32 units (Darts-clone) | replacements, each ended by NUL
 *
 * A unit that stands for a byte of a key, and one that stands for a key's end:
 *
 *     unit    31  30 ............... 10  9         8      7 ... 0
 *             0   offset                 offset<<8 leaf   label c
 *             1   where the replacement begins
 *
 * From the unit at `i`, the unit of the next byte c stands at i XOR offset XOR c, if the label there is c; with
 * `leaf`, a key ends here and its replacement stands at i XOR offset. The root is unit 0. Equal branches may be
 * shared, so the units are a graph. charsmap_open proves that every step stays inside and that every walk ends (no
 * unit is below itself).
 */
#pragma once

#include "ground/common.h"

/* A walk meets no more keys than this: sentencepiece looks at the 32 shortest that match, and takes the longest of
 * them. */
#define CHARSMAP_KEYS_MAX 32

typedef struct charsmap {
    const uint32_t *units; /* [0..n_units-1]; NULL: no charsmap, nothing is replaced */
    const uint8_t *replacements;
    int64_t n_units, n_replacement_bytes;
    int64_t max_key_bytes, max_replacement_bytes;
    int32_t is_utf8; /* every replacement is whole characters */
} charsmap;

INLINE uint32_t charsmap_base(uint32_t at, uint32_t unit)
{
    return at ^ ((unit >> 10) << ((unit & 0x200) >> 6));
}

INLINE int charsmap_has_leaf(uint32_t unit)
{
    return unit >> 8 & 1;
}

/* The unit of byte `c` below the unit at `at`; 0 (the root is below none) if there is none. */
INLINE uint32_t charsmap_child(const charsmap *m, uint32_t at, uint8_t c)
{
    uint32_t child = charsmap_base(at, m->units[at]) ^ c;
    return (m->units[child] & 0x800000FF) == c ? child : 0;
}

/* The longest key that text begins with: its length, and its replacement (to the NUL). 0: none. */
INLINE int64_t charsmap_match(const charsmap *m, const uint8_t *text, int64_t n_bytes, const uint8_t **ret)
{
    uint32_t base = charsmap_base(0, m->units[0]);
    int64_t length = 0;
    int n_keys = 0;
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

/* Checks blob[0..n_bytes-1], 4-byte aligned, which must outlive *ret, and measures it. UNITOK_ERROR_VOCABULARY says
 * what is wrong with it.
 *   heights[0..n_bytes / 4]   filled for charsmap_open's caller: the longest walk down from each unit, in units,
 *                             itself included; 0 where no walk comes
 *   inner[0..255]             set to 1 for each byte that some key has after its first
 * O(n_bytes), times 256 at worst. */
int32_t charsmap_open(const uint8_t *blob, int64_t n_bytes, int32_t *heights, uint8_t *inner, charsmap *ret,
                      unitok_error *error);
