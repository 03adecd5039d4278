/* bpe_slots.h - the units of the BPE trainer, in 4 bytes per character
 *
 * All units are in one array of slots, one slot per character, with a 0 between units. A symbol of
 * n characters has its id in the first of its n slots and, if n > 1, TAIL | n in the last, so each
 * neighbour of a symbol is found in one step, and a merge moves nothing:
 *
 *     slots   0 | 'l' 'o' 'w' | 0 | [lo] TAIL|2 'w' 'e' 'r' | 0 |           ids are symbol + 1
 *
 * Units are laid out by descending count, so the index of a slot determines the count of its unit:
 * see levels.h. */
#pragma once

#include "train/bpe_symbols.h"
#include "train/levels.h"

#define TAIL UINT32_C(0x80000000)
#define SLOTS_MAX INT64_C(0x7FFFFFF0)

/* The units with all merges so far. Their total size never changes: a merge rewrites slots in
 * place. */
typedef struct bpe_text {
    uint32_t *slots; /* [0..n-1]; the first and the last are 0 */
    int64_t n;
    levels levels;
    int64_t n_characters; /* the number of symbols that are characters; they come first */
} bpe_text;

/* Returns 1 + the number of the symbol that ends before `slot`, and its first slot in *ret_slot; 0
 * at the start of a unit. The previous slot is one of: the only slot of a symbol of one character;
 * the last slot of a longer symbol, which contains its length; the 0 between units. */
INLINE uint32_t symbol_before(const uint32_t *slots, uint32_t slot, uint32_t *ret_slot)
{
    uint32_t value = slots[slot - 1];
    *ret_slot = value & TAIL ? slot - (value & ~TAIL) : slot - 1;
    return slots[*ret_slot];
}

/* Joins the symbols at `slot` and at `slot + n_left` into `made`, of n_all characters. */
INLINE void slots_join(uint32_t *slots, uint32_t slot, uint32_t n_left, uint32_t n_all,
                       uint32_t made)
{
    slots[slot] = made + 1;
    /* The right symbol no longer begins here. Slots inside a symbol are never read. */
    slots[slot + n_left] = TAIL;
    slots[slot + n_all - 1] = TAIL | n_all;
}

/* The slot after the symbol or the 0 at `slot`. */
INLINE int64_t slot_after(const bpe_text *text, const symbol_list *symbols, int64_t slot)
{
    uint32_t value = text->slots[slot];
    return slot + (value > text->n_characters ? symbols->items[value - 1].n_chars : 1);
}

/* The first slot of share k of n: the start of a unit, or the end of the text. */
INLINE int64_t share_begin(const bpe_text *text, int k, int n)
{
    if (k == n) return text->n;
    int64_t begin = 1 + (text->n - 1) / n * k;
    while (begin < text->n && text->slots[begin - 1]) begin++;
    return begin;
}
