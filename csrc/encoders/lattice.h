/* lattice.h - a graph of all ways to divide a text into pieces, for n-best search and the samplers
 *
 *     text     p       i       e
 *              0───────1───────2───────3           a position: the start of a character (of a byte, with UNITOK_BYTES)
 *              ├──"p"──┼──"i"──┼──"e"──┤           an edge: a piece that matches there, or an unknown character
 *              ├──────"pi"─────┤       │
 *              │       └──────"ie"─────┤           path: "p" "ie"; its score is the sum of those of its edges
 *
 * The text is normalized and compact (token.h). Edges leave a position in order of length. As in
 * SentencePiece, a character that is not itself a piece also has an unknown edge, after the others,
 * and a piece that ends inside a character is extended to the end of that character. (A model with
 * such pieces, which are broken UTF-8, is "ragged".) */
#pragma once

#include <math.h>

#include "encoders/unigram.h"

typedef struct lattice_model {
    trie trie;              /* the trie and the ids belong to the unigram */
    const int32_t *ids;     /* [0..n_values-1], by value; [0] is unused */
    double *scores;         /* [0..n_values-1], by value; [0] belongs to unknown characters */
    double *id_scores;      /* [0..n_ids], by id + 1: TOKEN_UNKNOWN is -1 */
    int64_t n_values;       /* 1 + the number of pieces */
    int64_t max_edge_bytes; /* at least 4 */
    int32_t is_bytes;       /* UNITOK_BYTES */
    int32_t is_float64;     /* with UNITOK_FLOAT64: sums are float64, otherwise float32 */
    int32_t is_ragged;      /* some piece ends inside a character */
    int32_t has_unknown;    /* a text can contain unknown characters */
} lattice_model;

/* Fills *ret from a unigram and the spec it was built from. Scores are those of the unigram, except
 * that a user-defined piece has the score that SentencePiece gives it, 0.1 * (length - 1).
 * SentencePiece measures this length in characters in its lattice, but in bytes in its Viterbi.
 * *ret refers to the unigram, but not to the spec. */
int32_t lattice_model_init(const unigram *m, const unitok_spec *spec, lattice_model *ret,
                           unitok_error *error);
void lattice_model_free(lattice_model *model);

typedef struct lattice_edge {
    uint32_t value; /* its value in the trie; 0: unknown */
    uint32_t n_bytes;
} lattice_edge;

/* Writes the edges that leave position `at` < n_bytes to edges[0..result-1], at least one. `edges`
 * has space for max_edge_bytes edges. */
int64_t lattice_edges(const lattice_model *model, const uint8_t *text, int64_t n_bytes, int64_t at,
                      lattice_edge *edges);

/* The size of the character at `at`; a truncated one ends with the text. */
INLINE int64_t lattice_char(const lattice_model *model, const uint8_t *text, int64_t n_bytes,
                            int64_t at)
{
    int64_t n = model->is_bytes ? 1 : char_bytes(text[at]);
    return n < n_bytes - at ? n : n_bytes - at;
}

/* Rounds a sum as the reference does: to float32, unless the model is float64. Adding two floats in
 * double and rounding once gives the float32 sum, because 53 bits are at least twice 24 plus
 * two. */
INLINE double lattice_round(const lattice_model *model, double sum)
{
    return model->is_float64 ? sum : (double)(float)sum;
}

INLINE int32_t lattice_id(const lattice_model *model, uint32_t value)
{
    return value ? model->ids[value] : TOKEN_UNKNOWN;
}

/* log(exp(x) + exp(y)); -INFINITY is log 0. */
INLINE double log_add(double x, double y)
{
    double low = x < y ? x : y, high = x < y ? y : x;
    return low == -INFINITY ? high : high + log1p(exp(low - high));
}

/* A packed list of paths: path k is tokens[offsets[k]..offsets[k + 1]), with the score scores[k].
 * Initialize to zeros. */
typedef struct lattice_paths {
    token *tokens;
    int64_t *offsets; /* NULL until the first path is reserved */
    double *scores;
    int64_t n_paths, paths_capacity, tokens_capacity;
} lattice_paths;

INLINE void lattice_paths_clear(lattice_paths *paths) { paths->n_paths = 0; }

/* Adds a path of n_tokens tokens and returns them for the caller to fill; NULL if allocation
 * fails. */
token *lattice_paths_add(lattice_paths *paths, int64_t n_tokens, double score);
void lattice_paths_free(lattice_paths *paths);
