/* bpe_heap.h - ranks the pairs of the BPE trainer: larger count first, then fewer characters, then
 * smaller bytes; without rules, larger count first, then smaller ranks of symbols
 *
 * The count of a pair only falls. So each pair has one entry, whose count may be too high. When an
 * entry reaches the top, its count is corrected, and the entry sinks to its place. Updating entries
 * in place would need a table of their positions, and most pairs never come near the top.
 *
 * In the example in bpe.c:
 *
 *     heap              (e, s) 9    (s, t) 9    (w, e) 8    (l, o) 7 ...
 *     take              (e, s) is up to date and is merged; (es, t) 9 is pushed
 *     take              the entry of (s, t) has 9, but the count is 0: the entry is corrected and sinks
 *                       (es, t) is up to date and is merged */
#pragma once

#include "train/bpe_pairs.h"

/* An entry of 24 bytes contains all that most comparisons need, so the heap rarely reads the pairs:
 *
 *     | count 8 | head 8 | n_chars 4 | pair 4 | */
typedef struct heap_entry {
    uint64_t count;
    /* The first eight bytes of the piece, big-endian, so that comparing numbers compares bytes.
     * Without rules: the ranks of the left and the right symbol. */
    uint64_t head;
    uint32_t n_chars; /* without rules: 0 */
    uint32_t pair;
} heap_entry;

/* The children of entry k are entries 4k + 1 to 4k + 4. */
typedef struct pair_heap {
    heap_entry *entries;
    int64_t n, capacity;
} pair_heap;

/* Adds a pair of the state; returns 0 if allocation fails. */
int pair_heap_push(pair_heap *heap, const bpe_state *state, uint32_t index);
/* Removes and returns the best pair; NO_PAIR if no pair occurs at least min_count times. */
uint32_t pair_heap_take(pair_heap *heap, const bpe_state *state, uint64_t min_count);
