/* greedy.h - one round of training a greedy vocabulary: computes the value of each piece and counts
 * the pairs that could be joined
 *
 *     text     "… in the same way …"          the pieces of this round are in a trie
 *     tokens   " in" " the" " same" " way"    the longest pieces, as the finished model will encode
 *
 *     pair     (" in", " the") was seen once more: joined, they would save a token
 *     value    without " the", the text up to the next common boundary takes " t" "he": " the" saves one token here
 *
 * A value is exact if only that piece is removed: the text is encoded without the piece, from its
 * start until both encodings have a boundary at the same position. Values can be negative, because
 * a long piece may leave its right neighbour badly divided.
 *
 * Counts are first collected per source. When a source ends, they are damped, weighted and added to
 * the totals, because a piece that one source repeats is not typical of all text. */
#pragma once

#include "structures/trie.h"
#include "unitok_train.h"

/* The pieces of one round. Immutable, so all threads share it. */
struct unitok_greedy {
    trie trie;
    uint64_t *units, *heads;
    uint32_t *singles;
    const uint8_t *data;    /* the caller's pieces, sorted by bytes */
    const int64_t *offsets; /* [0..n_pieces] */
    int64_t n_pieces;
    unitok_greedy_rules rules;
};

/* A pair of neighbours. key = (left << 32 | right) + 1, so that 0 is a free slot. */
typedef struct greedy_pair {
    uint64_t key;
    int64_t gain;
    int64_t n_sources;
} greedy_pair;

/* Pairs by key, in an open-addressed table that is at most two thirds full. */
typedef struct greedy_pairs {
    greedy_pair *slots; /* [0..2^bits-1] */
    int64_t n;
    int bits;
} greedy_pairs;

/* The counts of one thread. The counts of the current source are kept separate from the totals
 * until the source ends, because damping needs the complete count. */
struct unitok_greedy_counts {
    const unitok_greedy *greedy;
    int64_t *uses, *values, *n_sources;   /* [0..n_pieces-1]: totals of all sources */
    int64_t *source_uses, *source_values; /* of the current source */
    /* source_pairs: the pairs of the current source, in which `gain` is the count of a pair */
    greedy_pairs pairs, source_pairs;
    uint32_t *tokens; /* of the current document: pieces, and the end of each */
    int64_t *ends;
    int64_t tokens_capacity;
    int64_t n_tokens, n_bytes; /* numbers counted so far, without weights */
};
