/* bpe_merge.h - performs one merge of the BPE trainer and counts the pairs that it creates
 *
 * A pair is born, that is, created, either by the initial count or by the merge that makes one of
 * its symbols, never later. So all its positions are known at once and are stored together. Later
 * merges can only lower the count of the pair and make positions stale; a stale position is
 * detected when it is read.
 *
 * To merge (l, r) into s, do the following at each position, in order:
 *
 * 1. skip the position if the slots there no longer hold l and r;
 * 2. write s;
 * 3. record a position of (before, s) and of (s, after), and add the count of the unit to both.
 *
 *     before   ... b  l  r  a ...        (b, l) and (r, a) lose the count of this unit,
 *     after    ... b  s     a ...        (b, s) and (s, a) gain it
 *
 * (b, s) replaces (b, l) at exactly the positions that are merged. So after the last position, the
 * counts of the old pairs (b, l) and (r, a) fall by the counts of the new ones: one lookup for each
 * new pair instead of two for each position. */
#pragma once

#include "train/bpe_pairs.h"

/* A pair that the current merge creates. It is counted here, and enters the table of pairs only if
 * it is frequent enough. */
typedef struct born_pair {
    uint64_t count;
    uint32_t n_positions;
    uint32_t other;      /* the neighbour of the new symbol */
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
    /* numbers[is_right][other] - 1 is the index of the pair in `items`; 0 means that the pair is
     * not born yet. All pairs born in a merge share one symbol, so the other symbol identifies the
     * pair, and no hash table is needed. */
    uint32_t *numbers[2];
    int64_t n_numbers;
    born_at *events; /* positions of all items, in text order */
    int64_t n_events, events_capacity;
} births;

void births_free(births *births);
int64_t births_memory(const births *births);

/* Merges the pair `best` into the symbol `made`. New pairs that the rules allow and that occur at
 * least `floor` times are appended to the pairs. Returns 0 if allocation fails. */
int merge_pair(births *births, bpe_state *state, uint32_t best, uint32_t made);
