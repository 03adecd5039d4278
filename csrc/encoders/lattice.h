/* lattice.h - all ways to cut a text into pieces, as a graph: what n-best and the samplers need of
 * a Unigram model
 *
 *     text     p       i       e
 *              0───────1───────2───────3           a position: the start of a character (of a byte, with UNITOK_BYTES)
 *              ├──"p"──┼──"i"──┼──"e"──┤           an edge: a piece that matches there, or an unknown character
 *              ├──────"pi"─────┤       │
 *              │       └──────"ie"─────┤           path: "p" "ie"; its score is the sum of its edges'
 *
 * The text is normalized and compact (token.h). Edges leave a position in order of length, and a
 * character that no piece covers alone gets an unknown edge after them, as in SentencePiece. A
 * piece that ends inside a character (broken UTF-8 in the model: a "ragged" model) ends with that
 * character, as there.
 */
#pragma once

#include "encoders/unigram.h"

typedef struct lattice_model {
    trie trie;              /* this and the ids are the unigram's */
    const int32_t *ids;     /* [0..n_values-1], by value; [0] is not read */
    double *scores;         /* [0..n_values-1], by value; [0] is an unknown character's */
    double *id_scores;      /* [0..n_ids], by id + 1: TOKEN_UNKNOWN is -1 */
    int64_t n_values;       /* 1 + the number of pieces */
    int64_t max_edge_bytes; /* at least 4 */
    int32_t is_bytes;       /* UNITOK_BYTES */
    int32_t is_float64;     /* UNITOK_FLOAT64: scores are summed in float64, else in float32 */
    int32_t is_ragged;      /* a piece ends inside a character */
    int32_t has_unknown;    /* there can be unknown characters */
} lattice_model;

/* Fills *ret for a unigram and the spec that it was made of. Scores are the unigram's, but for
 * user-defined pieces: these have SentencePiece's 0.1 * (length - 1), in characters in its lattice
 * and in bytes in its Viterbi. The unigram is kept, the spec is not. */
int32_t lattice_model_init(const unigram *m, const unitok_spec *spec, lattice_model *ret,
                           unitok_error *error);
void lattice_model_free(lattice_model *model);

typedef struct lattice_edge {
    uint32_t value; /* of the trie; 0: unknown */
    uint32_t n_bytes;
} lattice_edge;

/* The edges that leave position `at` < n_bytes: edges[0..result-1], at least one. Room:
 * max_edge_bytes. */
int64_t lattice_edges(const lattice_model *model, const uint8_t *text, int64_t n_bytes, int64_t at,
                      lattice_edge *edges);

/* The bytes of the character at `at`: a cut-off one ends with the text. */
INLINE int64_t lattice_char(const lattice_model *model, const uint8_t *text, int64_t n_bytes,
                            int64_t at)
{
    int64_t n = model->is_bytes ? 1 : char_bytes(text[at]);
    return n < n_bytes - at ? n : n_bytes - at;
}

/* Sums are rounded as the reference's: to float32, unless the model is a float64 one. A float32 sum
 * of two float32 is their float64 sum rounded: 53 bits are more than twice 24 and two. */
INLINE double lattice_round(const lattice_model *model, double sum)
{
    return model->is_float64 ? sum : (double)(float)sum;
}

INLINE int32_t lattice_id(const lattice_model *model, uint32_t value)
{
    return value ? model->ids[value] : TOKEN_UNKNOWN;
}

/* Tokens of paths as a packed list: path k is tokens[offsets[k]..offsets[k + 1]), its score
 * scores[k]. Starts zeroed. */
typedef struct lattice_paths {
    token *tokens;
    int64_t *offsets; /* NULL until there is room for one path */
    double *scores;
    int64_t n_paths, paths_room, tokens_room;
} lattice_paths;

/* Empties the list. */
INLINE void lattice_paths_clear(lattice_paths *paths)
{
    paths->n_paths = 0;
}

/* Adds a path with room for n_tokens: fill the tokens that come back. NULL when memory is short. */
token *lattice_paths_add(lattice_paths *paths, int64_t n_tokens, double score);
void lattice_paths_free(lattice_paths *paths);
