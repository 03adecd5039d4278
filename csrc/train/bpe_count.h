/* bpe_count.h - counts all pairs of neighbouring symbols and lists their positions, with any number
 * of workers
 *
 * 1. Each worker counts the pairs in its share of the slots, in its own table.
 * 2. counters_join adds up the tables. A pair that may be merged gets space for its positions, and
 *    each worker gets the part of that space where it will write.
 * 3. Each worker walks through its share again and writes the positions.
 *
 *     positions of a pair   | worker 0 ..... | worker 1 .. | worker 2 ........ |      ascending, because the shares are
 *
 * The positions are therefore in text order without any sorting, and no two workers write to the
 * same place.
 *
 * A table is indexed by the upper bits of the hash, so equal pairs lie at the same fraction of
 * every table, whatever its size. Step 2 therefore reads all tables from front to back, an access
 * pattern that the hardware prefetcher follows. */
#pragma once

#include "train/bpe_pairs.h"

/* A slot of a worker's table, 32 bytes: half a cache line. */
typedef struct counted_pair {
    uint32_t left, right; /* symbols + 1; left 0: free */
    uint64_t count;
    uint32_t *positions; /* where the next position is written; NULL: the pair is dropped */
    uint32_t n_positions;
} counted_pair;

/* A worker's table and its progress. `level` is the level of `at`: slots are visited in ascending
 * order, so the count of a unit is found without a search. */
typedef struct pair_counter {
    counted_pair *slots;
    int64_t n;
    int bits;
    int64_t begin, end, at; /* slots of the text */
    int64_t level;
} pair_counter;

/* Opens the counter of share k of n; returns 0 if allocation fails. */
int pair_counter_open(pair_counter *counter, const bpe_text *text, int k, int n);
void pair_counter_close(pair_counter *counter);

/* Runs step 1 for `work` slots. Returns 1 if the share is done, 0 if it is not, -1 if allocation
 * fails. A share can be counted in any number of calls. */
int pair_counter_count(pair_counter *counter, const bpe_state *state, int64_t work);
/* Runs step 2: fills the state's pairs and positions, which are empty, with the pairs that the
 * rules allow and that occur at least `floor` times. Returns 0 if allocation fails. */
int counters_join(pair_counter *counters, int n, bpe_state *state);
/* Runs step 3 for `work` slots. Returns 1 if the share is done, else 0. */
int pair_counter_place(pair_counter *counter, const bpe_state *state, int64_t work);
