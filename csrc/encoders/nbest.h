/* nbest.h - finds the n best paths through a lattice, or draws n distinct random ones
 *
 * Both searches run backwards from the end of the text. A hypothesis is a suffix of a path; its
 * priority is that of the best path with this suffix. The search takes the best hypothesis from a
 * heap and extends it by every edge that ends where it begins.
 *
 *     best:     priority = the hypothesis' own score + the best score from the start to it (known from Viterbi)
 *     random:   priority = the best of the scores of its paths, each perturbed by Gumbel noise, drawn top-down (Kool,
 *               van Hoof, Welling, "Stochastic beams and where to find them", 2019): the first n are n samples
 *               without replacement
 *
 * The best paths equal those of sentencepiece 0.2.3's NBestEncode, including rounding and ties.
 * The search uses float32 sums (float64 for a float64 model) in the order of sentencepiece, the
 * heap algorithm of libstdc++, and sentencepiece's limits: at MAX_AGENDA hypotheses in the heap, or
 * after MAX_HYPOTHESES more in memory, only the best few are kept; after MAX_SHRINKS such
 * reductions, or at MAX_TOTAL hypotheses, the result is the Viterbi path alone. For n = 1,
 * sentencepiece runs Viterbi over bytes instead of this lattice: use the encoder to obtain the same
 * ids. */
#pragma once

#include "encoders/lattice.h"

#define NBEST_MAX 1024 /* as in SentencePiece; larger values are reduced to this */

/* An edge of the lattice, with the best path to it. Node 0 is the start of the text; the last node
 * is its end. */
typedef struct nbest_node {
    double score;
    /* the score of the best path from the start of the text to the end of this node */
    double best;
    int32_t before; /* the node before this one on that path */
    int32_t begin, end;
    uint32_t value;
} nbest_node;

typedef struct nbest_hypothesis {
    double priority;
    double score; /* the sum of its nodes, added from the end of the text */
    int32_t node;
    int32_t next; /* the hypothesis that it extends; -1 at the end of the text */
} nbest_hypothesis;

/* One thread's scratch; initialize to zeros. Only one call at a time can use it. Takes O(nodes)
 * memory, plus at most about MAX_TOTAL hypotheses for the n best. */
typedef struct nbest {
    nbest_node *nodes;
    /* nodes by their ends, in order of creation: ending[first_ending[e]..first_ending[e + 1]) */
    int32_t *ending;
    int32_t *first_ending; /* [0..n_bytes + 1] */
    /* random: [0..n_bytes], the logarithm of the total weight of all paths to a position */
    double *log_sums;
    lattice_edge *edges;
    nbest_hypothesis *hypotheses, *kept;
    int32_t *heap, *renamed; /* hypotheses */
    double *priorities;      /* random: of the edges that extend one hypothesis */
    int64_t nodes_capacity, ending_capacity, first_capacity, sums_capacity, edges_capacity,
        hypotheses_capacity, kept_capacity, heap_capacity;
    int64_t renamed_capacity, priorities_capacity;
    int64_t n_nodes, n_hypotheses, n_heap;
} nbest;

void nbest_free(nbest *s);

/* Finds the n best paths of text[0..n_bytes-1], best first, with their scores, or all paths if
 * there are fewer. n_bytes < 2^30. An empty text has one empty path of score 0. Returns 0 if
 * allocation fails. The lattice has O(n_bytes) nodes, and each hypothesis takes O(log
 * hypotheses). */
int nbest_find(nbest *s, const lattice_model *model, const uint8_t *text, int64_t n_bytes,
               int64_t n, lattice_paths *ret);

/* Draws the index of a path with p(path) ~ exp(alpha * score), like SentencePiece's SampleEncode
 * with nbest_size > 1. */
int64_t nbest_choose(const lattice_paths *paths, double alpha, uint64_t key);

/* Draws n distinct random paths, each with p(path) ~ exp(alpha * score) among the paths not drawn
 * yet, or all paths if there are fewer. scores[k] is the log probability that path k is drawn at
 * all, given the threshold set by the first path not drawn (SentencePiece 0.1.9x's
 * SampleEncodeAndScore(wor=true)); 0 if all paths were drawn. With include_best the first path is
 * the best one, with score 0, and the others are drawn as above. Returns 0 if allocation fails. */
int nbest_draw_distinct(nbest *s, const lattice_model *model, const uint8_t *text, int64_t n_bytes,
                        int64_t n, double alpha, int include_best, uint64_t key,
                        lattice_paths *ret);
