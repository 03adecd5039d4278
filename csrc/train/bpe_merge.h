/* bpe_merge.h - one merge of the BPE trainer: rewriting its positions, and the pairs that are born
 * in it
 *
 * A pair of symbols is born when all pairs are counted, or while one of its two symbols is made,
 * and at no other time. So all its positions are known then, and are stored together. Later merges
 * only make positions stale, which shows when they are read, and lower the count of the pair.
 *
 * A merge of (l, r) into s does at each position, in order:
 *
 * 1. skip the position if the slots there no longer hold l and r;
 * 2. write s;
 * 3. note a position of (before, s) and of (s, after), and add the count of the unit to both.
 *
 *     before   ... b  l  r  a ...        (b, l) and (r, a) lose the count of this unit,
 *     after    ... b  s     a ...        (b, s) and (s, a) gain it
 *
 * A new pair (b, s) stands wherever (b, l) no longer does. So after the last position, the counts
 * of the old pairs (b, l) and (r, a) fall by the counts of the new ones: one lookup for each new
 * pair instead of two for each position. */
#pragma once

#include "train/bpe_pairs.h"

/* A pair that the current merge creates. It is counted here, and enters the table of pairs only if
 * it is frequent enough. */
typedef struct born_pair {
    uint64_t count;
    uint32_t n_positions;
    uint32_t other;      /* the symbol beside the new one */
    uint32_t is_right;   /* 0: (other, new), 1: (new, other) */
    uint32_t *positions; /* NULL: not kept */
} born_pair;

/* A position of a born pair, until it is known where the positions of that pair are stored. */
typedef struct born_at {
    uint32_t born, slot;
} born_at;

/* Born pairs and their positions during one merge:
 *
 *     text order    ... b l r a ... b l r c ...        merge (l, r) into s
 *     items         0: (b, s) 2    1: (s, a) 1    2: (s, c) 1
 *     events        (0, slot) (1, slot) (0, slot) (2, slot)
 *
 * After the merge, `events` is read once more, and each slot goes to the positions of its pair. */
typedef struct births {
    born_pair *items;
    int64_t n, capacity;
    /* By symbol, for is_right 0 and 1: its index in items + 1. All pairs born in a merge have one
     * symbol in common, so the other one finds a pair without a hash table. */
    uint32_t *numbers[2];
    int64_t n_numbers;
    born_at *events; /* positions of all of them, in the order of the text */
    int64_t n_events, events_capacity;
} births;

void births_free(births *births);
int64_t births_memory(const births *births);

/* Merges the pair `best` into the symbol `made`. New pairs that the rules allow and that occur at
 * least `floor` times are added at the end of the pairs. Returns 0 if allocation fails. */
int merge_pair(births *births, bpe_state *state, uint32_t best, uint32_t made);
