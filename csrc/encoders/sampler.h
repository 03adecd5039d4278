/* sampler.h - random paths through a lattice, and its entropy, in one pass over the text
 *
 * Paths are drawn with probability p(path) ~ exp(alpha * score). For every position, from left to
 * right:
 *
 *     sum[e]    = the weights of all paths from the start to e       (weight: exp(alpha * score))
 *     back[e]   = the last edge of one of them, drawn by weight
 *
 * An edge from s to e adds x = sum[s] * exp(alpha * score), the weight of all paths that end with
 * it: sum[e] grows by x, and back[e] becomes this edge with probability x / sum[e]. After the last
 * edge into e, back[e] is each of them with probability x / sum[e], in whatever order they came
 * (Chao, "A general purpose unequal probability sampling plan", 1982, for one item). This is
 * forward filtering; backward sampling would draw from the same probabilities again, edge by edge,
 * but here it only follows back[] from the end. The choices at different positions are independent,
 * so the path is an exact sample. The cost is that of Viterbi plus one random draw per edge.
 * (BytePiece 0.5 and later does the same with logarithms.)
 *
 * Where no edge spans a position (a cut), the sum restarts at 1: what follows does not depend on
 * what precedes. Sums are doubles. In a long stretch without a cut they are scaled by powers of
 * two; a stretch in which even that would lose weight is computed again with logarithms. Both
 * depend on that stretch alone, so a text gives the same samples as a whole and in parts that begin
 * and end at cuts.
 *
 * Every draw is a function of the key and of the position `begin` + s in the document (rng.h).
 */
#pragma once

#include "encoders/lattice.h"

typedef struct sampler_cell {
    double sum; /* 0 where nothing has come yet */
    union {
        uint64_t back; /* value << 32 | start */
        double entropy;
    } u;
} sampler_cell;

/* Scratch of one thread; starts zeroed. Used by one call at a time. */
typedef struct sampler {
    sampler_cell *cells; /* [0..n_cells-1], all zero between calls */
    int64_t n_cells;
    double *weights; /* exp(alpha * score) by value, of `model` and `alpha` */
    int32_t has_tiny_weights;
    lattice_edge *edges; /* of one position */
    const lattice_model *model;
    double alpha;
} sampler;

/* Prepares for a model and an alpha, -SAMPLER_ALPHA_MAX..SAMPLER_ALPHA_MAX. Computes an exp for
 * each piece, unless it was last prepared for the same two; models are compared by address. */
#define SAMPLER_ALPHA_MAX 1e200
int32_t sampler_prepare(sampler *s, const lattice_model *model, double alpha, unitok_error *error);
void sampler_free(sampler *s);

/* Draws a path of text[0..n_bytes-1], p(path) ~ exp(alpha * score): tokens[0..result-1], with room
 * for n_bytes. Returns -1 when memory is short. `key` is the document's, and `begin` is where the
 * text begins in it. O(n_bytes * edges per position); memory: 16 bytes for each byte of the longest
 * stretch without a cut. */
int64_t sampler_draw(sampler *s, const uint8_t *text, int64_t n_bytes, uint64_t key, int64_t begin,
                     token *tokens);

/* Like sampler_draw, but BytePiece's Viterbi Sampling as first published (bytepiece 0.4;
 * kexue.fm/archives/9768): candidates for e come in order of their starts, and each replaces the
 * path held there with probability 1 / (1 + exp(-alpha * (candidate - held))). Not an exact sample.
 * alpha > 0. */
int64_t sampler_draw_viterbi(sampler *s, const uint8_t *text, int64_t n_bytes, uint64_t key,
                             int64_t begin, token *tokens);

/* The entropy of p(path) ~ exp(alpha * score), in nats, and the logarithm of the sum of exp(alpha *
 * score) over all paths: subtracted from a sample's alpha * score, it gives the log probability.
 * Returns 0 when memory is short. */
int sampler_entropy(sampler *s, const uint8_t *text, int64_t n_bytes, double *ret_entropy,
                    double *ret_log_sum);

/* Draws n_samples independent paths, the j-th with rng_key(key, j); scores[k] is the log
 * probability of path k. Returns 0 when memory is short. SentencePiece's
 * SampleEncodeAndScore(wor=false). */
int sampler_draw_scored(sampler *s, const uint8_t *text, int64_t n_bytes, int64_t n_samples,
                        uint64_t key, lattice_paths *ret);
