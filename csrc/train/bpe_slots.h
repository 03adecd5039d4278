/* bpe_slots.h - the units of the BPE trainer as slots: see bpe.c, which draws them */
#pragma once

#include "ground/common.h"

#define TAIL UINT32_C(0x80000000)

/* The id + 1 of the symbol that ends before `slot`, and where it begins; 0 at a unit's start. */
INLINE uint32_t symbol_before(const uint32_t *slots, uint32_t slot, uint32_t *ret_slot)
{
    uint32_t value = slots[slot - 1];
    *ret_slot = value & TAIL ? slot - (value & ~TAIL) : slot - 1;
    return slots[*ret_slot];
}

/* Joins the symbols at `slot` and at `slot + n_left` into `made`, of n_all characters. */
INLINE void slots_join(uint32_t *slots, uint32_t slot, uint32_t n_left, uint32_t n_all, uint32_t made)
{
    slots[slot] = made + 1;
    slots[slot + n_left] = TAIL; /* begins nothing any more; of a symbol only the ends are read */
    slots[slot + n_all - 1] = TAIL | n_all;
}
