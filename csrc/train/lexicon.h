/* lexicon.h - the pieces of a Unigram model in training
 *
 * A piece keeps its number in the trie while the model shrinks: a dropped piece has the score
 * -INFINITY, or is not alive, and stays in the trie. So dropping pieces changes neither the trie
 * nor any number. All arrays of scores and counts are indexed by these numbers.
 *
 * The lexicon and the lattice (lattice.h) are used together: the lexicon knows the pieces, and
 * arrays of scores beside it say how good they are at present. */
#pragma once

#include "structures/trie.h"
#include "train/rules.h"

/* A trie whose values are the numbers of the pieces + 1. It does not change after it is built, so
 * threads share it. */
struct unitok_lexicon {
    uint64_t *units; /* a double array */
    int64_t n_units;
    int64_t n_pieces;
    int64_t max_piece_bytes;
};
