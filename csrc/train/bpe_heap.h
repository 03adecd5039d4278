/* bpe_heap.h - the pairs of the BPE trainer by rank: count, then fewer characters, then smaller
 * bytes
 *
 * A pair's count only falls, so it has one entry, which is corrected when it comes to the top.
 */
#pragma once

#include "train/bpe_pairs.h"

typedef struct heap_entry {
    uint64_t count;
    uint64_t head; /* the first bytes of the piece, as a number in their order */
    uint32_t n_chars;
    uint32_t pair;
} heap_entry;

typedef struct pair_heap {
    heap_entry *entries;
    int64_t n, capacity;
} pair_heap;

/* 0: no memory */
int pair_heap_push(pair_heap *heap, const bpe_state *state, uint32_t index);
/* Takes off the best pair; NO_PAIR if none occurs min_count times. */
uint32_t pair_heap_take(pair_heap *heap, const bpe_state *state, uint64_t min_count);
