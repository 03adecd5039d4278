/* lexicon.h - the pieces of a Unigram model in training
 *
 * A piece keeps its number while the model shrinks: a dropped piece stays in the trie, with the
 * score -INFINITY or marked as not alive. So dropping pieces changes neither the trie nor any
 * number. All arrays of scores and counts are indexed by these numbers.
 *
 * The lexicon is used with the lattice (lattice.h). It contains only the pieces; their current
 * scores are in separate arrays. */
#pragma once

#include "structures/trie.h"
#include "train/rules.h"

/* A trie whose values are 1 + the numbers of the pieces. It does not change once built, so threads
 * share it. */
struct unitok_lexicon {
    uint64_t *units; /* a double array */
    int64_t n_units;
    int64_t n_pieces;
    int64_t max_piece_bytes;
};
