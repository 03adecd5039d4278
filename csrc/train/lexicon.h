/* lexicon.h - the pieces of a Unigram model in training
 *
 * Pieces have numbers in the trie that stay while the model shrinks: a piece that is dropped keeps
 * its number, and its score says that it is gone. All arrays of scores and counts go by these
 * numbers.
 */
#pragma once

#include "structures/trie.h"
#include "train/rules.h"

struct unitok_lexicon {
    uint64_t *units; /* a double array */
    int64_t n_units;
    int64_t n_pieces;
    int64_t max_piece_bytes;
};
