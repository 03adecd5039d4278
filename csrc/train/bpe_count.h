/* bpe_count.h - all pairs of neighbouring symbols, with their counts and positions, counted by any
 * number of workers
 *
 *   1. a worker counts the pairs in its share of the slots, in a table of its own
 *   2. counters_join adds the tables up; a pair that may be merged gets room for its positions, and each worker the
 *      part of that room where it writes
 *   3. the worker writes its positions there
 *
 *     positions of a pair   | worker 0 ..... | worker 1 .. | worker 2 ........ |      ascending, as the shares are
 *
 * Tables are indexed by the upper bits of the hash. So equal pairs lie at the same part of every
 * table, whatever their sizes, and adding up reads all tables from front to back.
 */
#pragma once

#include "train/bpe_pairs.h"

typedef struct counted_pair {
    uint32_t left, right; /* symbols + 1; left 0: free */
    uint64_t count;
    uint32_t *positions; /* the next is written there; NULL: not kept */
    uint32_t n_positions;
} counted_pair;

typedef struct pair_counter {
    counted_pair *slots;
    int64_t n;
    int bits;
    int64_t begin, end, at; /* of the text's slots */
    int64_t level;
} pair_counter;

/* For share k of n; 0 when memory is short. */
int pair_counter_open(pair_counter *counter, const bpe_text *text, int k, int n);
void pair_counter_close(pair_counter *counter);

/* Step 1, for `work` slots: 1 when done, 0 when not, -1 when memory is short. */
int pair_counter_count(pair_counter *counter, const bpe_state *state, int64_t work);
/* Fills the state's pairs and positions, which are empty, with those that the rules allow and that
 * occur `floor` times; 0 when memory is short. */
int counters_join(pair_counter *counters, int n, bpe_state *state);
/* Step 3, likewise: 1 when done, 0 when not. */
int pair_counter_place(pair_counter *counter, const bpe_state *state, int64_t work);
