/* anchors.h - the anchors of windows, and the fields of records
 *
 *     a window of n = 7 units, k = 4, n - k + 1 = 4 k-grams
 *
 *     units     … a b c d e f g …
 *     k-grams     └──┬──┘          hash 52
 *                   └──┬──┘             17   the smallest: this k-gram is the anchor
 *                     └──┬──┘           80
 *                       └──┬──┘         39
 *
 * Comparing the windows of a text with each other would need a record for each byte. Anchors need
 * far fewer records, about two per n - k + 1 units, because adjacent windows usually share an
 * anchor.
 *
 * The context of an anchor consists of the units that may share a window with it: the n - k units
 * before it, and n units from its first unit on. Anchors with equal contexts have equal windows.
 * Anchors with the same k-gram but different contexts may have some equal windows, but only if the
 * units on one side of the k-gram are equal: each window contains the `before` units on its left or
 * the n - k + 1 - before units on its right.
 *
 *     context  │      n - k       │ k-gram │      n - k       │
 *     windows  ├───────────────────────────┤                      each contains the k-gram
 *                                 ├───────────────────────────┤   and at least one side
 *     sides              ├─ left ─┤        ├─ right ─┤
 *
 * key of an anchor      │ 63 … 16 hash of the k-gram   │ 15 … 0 hash of the units on the left  │
 * place of an anchor    │ 63 … 48 hash of the units on the right │ 47 … 0 position             │
 *                         0: the document has too few units for such a window
 */
#pragma once

#include "clean/words.h"
#include "structures/string_table.h"

/* Which windows around a mark may be equal to others: those that include the units on its left, or
 * those that include the units on its right. */
#define MARK_LEFT 1
#define MARK_RIGHT 2

#define ANCHOR_SIDE_BITS 16 /* the size of the hash of the units on one side */
#define ANCHOR_PLACE_BITS 48

struct unitok_anchors {
    const unitok_word_rules *rules; /* borrowed; NULL: units are bytes */
    int64_t n, k, before;
    uint64_t seed, factor;
    uint64_t *powers;    /* [0..2 * n]: factor^i */
    uint64_t bytes[256]; /* XORing the numbers of the bytes of a k-gram, each rotated left by the
                            number of bytes after it, gives the hash of the k-gram */
    uint64_t gone[256];  /* the same numbers, rotated left by k */
};

INLINE int64_t anchor_place(const unitok_anchor *record)
{
    return (int64_t)(record->place & ((UINT64_C(1) << ANCHOR_PLACE_BITS) - 1));
}

INLINE uint32_t anchor_left(const unitok_anchor *record)
{
    return (uint32_t)(record->key & ((1 << ANCHOR_SIDE_BITS) - 1));
}

INLINE uint32_t anchor_right(const unitok_anchor *record)
{
    return (uint32_t)(record->place >> ANCHOR_PLACE_BITS);
}

/* The value of a window or document: 32 bits of a hash of the bytes at its ends, and its size
 * modulo 2^32. */
INLINE uint32_t anchor_size(const unitok_anchor *record) { return (uint32_t)record->value; }
