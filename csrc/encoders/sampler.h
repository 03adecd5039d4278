/* sampler.h - draws random paths through a lattice, or computes its entropy, in one pass over the
 * text
 *
 * Paths are drawn with probability p(path) ~ exp(alpha * score). For every position, from left to
 * right:
 *
 *     sum[e]    = the total weight of all paths from the start to e  (weight: exp(alpha * score))
 *     back[e]   = the last edge of one of them, drawn by weight
 *
 * An edge from s to e adds x = sum[s] * exp(alpha * score), the weight of all paths that end with
 * it: sum[e] grows by x, and back[e] becomes this edge with probability x / sum[e]. After the last
 * edge into e, each edge is in back[e] with probability x / sum[e], regardless of the order of the
 * edges (Chao, "A general purpose unequal probability sampling plan", 1982, for one item). Forward
 * filtering with backward sampling would draw from the same probabilities in a second pass; here
 * the second pass only follows back[] from the end. The choices at different positions are
 * independent, so the path is an exact sample. The cost is that of Viterbi plus one random draw per
 * edge. (BytePiece 0.5 and later do this with logarithms.)
 *
 * At a position that no edge spans (a cut), the sum restarts at 1, because the text after a cut
 * does not depend on the text before it. Sums are doubles. In a long stretch without a cut they are
 * scaled by powers of two; a stretch in which even scaling would lose weight is computed again with
 * logarithms. Both decisions depend on that stretch alone, so a text that is divided at cuts has
 * the same samples.
 *
 * Every draw is a function of the key and of the position `begin` + s in the document (rng.h). */
#pragma once

#include "encoders/lattice.h"

typedef struct sampler_cell {
    double sum; /* 0 until the first edge arrives */
    union {
        uint64_t back; /* value << 32 | start */
        double entropy;
    } u;
} sampler_cell;

/* One thread's scratch; initialize to zeros. Only one call at a time can use it. */
typedef struct sampler {
    sampler_cell *cells; /* [0..n_cells-1], all zero between calls */
    int64_t n_cells;
    double *weights; /* exp(alpha * score) by value, for `model` and `alpha` */
    int32_t has_tiny_weights;
    lattice_edge *edges; /* the edges of one position */
    const lattice_model *model;
    double alpha;
} sampler;

/* Prepares for a model and an alpha, -SAMPLER_ALPHA_MAX..SAMPLER_ALPHA_MAX. Computes an exp for
 * each piece, unless the last call was for the same model and alpha. Models are compared by
 * address. */
#define SAMPLER_ALPHA_MAX 1e200
int32_t sampler_prepare(sampler *s, const lattice_model *model, double alpha, unitok_error *error);
void sampler_free(sampler *s);

/* Draws a path of text[0..n_bytes-1] with p(path) ~ exp(alpha * score) into tokens[0..result-1],
 * which has space for n_bytes. Returns -1 if allocation fails. `key` belongs to the document;
 * `begin` is the position of the text in it. O(n_bytes * edges per position); takes 16 bytes of
 * memory for each byte of the longest stretch without a cut. */
int64_t sampler_draw(sampler *s, const uint8_t *text, int64_t n_bytes, uint64_t key, int64_t begin,
                     token *tokens);

/* Like sampler_draw, but with BytePiece's Viterbi Sampling as first published (bytepiece 0.4;
 * kexue.fm/archives/9768): the candidates for e are tried in order of their starts, and each
 * replaces the path held at e with probability 1 / (1 + exp(-alpha * (candidate - held))). This is
 * not an exact sample. alpha > 0. */
int64_t sampler_draw_viterbi(sampler *s, const uint8_t *text, int64_t n_bytes, uint64_t key,
                             int64_t begin, token *tokens);

/* Computes the entropy of p(path) ~ exp(alpha * score), in nats, and the logarithm of the sum of
 * exp(alpha * score) over all paths. A sample's alpha * score minus that logarithm is its log
 * probability. Returns 0 if allocation fails. */
int sampler_entropy(sampler *s, const uint8_t *text, int64_t n_bytes, double *ret_entropy,
                    double *ret_log_sum);

/* Draws n_samples independent paths, the j-th with rng_key(key, j), like SentencePiece's
 * SampleEncodeAndScore(wor=false). scores[k] is the log probability of path k. Returns 0 if
 * allocation fails. */
int sampler_draw_scored(sampler *s, const uint8_t *text, int64_t n_bytes, int64_t n_samples,
                        uint64_t key, lattice_paths *ret);
