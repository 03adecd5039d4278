/* build.h - builds a model of any kind except greedy from its spec */
#pragma once

#include "model/model.h"

/* Builds everything that m->spec describes. If the encoder can fail only for lack of memory, it is
 * left to build_encoder. unitok_model_free frees the model, even after a failure. */
int32_t build_model(unitok_model *m, int32_t cpu, unitok_error *error);

/* Builds the rest, which is not needed for looking up or decoding ids. Can be called again after a
 * failure. */
int32_t build_encoder(unitok_model *m, unitok_error *error);

/* Frees everything that is not specific to a kind. */
void build_free(unitok_model *m);

/* Builds m->cuts. If the model has a pattern, the kind calls this, as it alone knows the `unmerged`
 * pieces for cut_build_pattern. Returns 0 if allocation fails. */
int build_cuts(unitok_model *m, cut_pieces unmerged);

/* Returns the id of the piece with exactly these bytes, or -1. Compares all pieces. */
int64_t build_find(const unitok_model *m, const uint8_t *piece, int64_t n_bytes);

/* Pieces in the same form as texts: with U+2581 as a space if texts are compact. Encoders compare
 * pieces with texts byte by byte, so both must have the same form. */
typedef struct text_pieces {
    uint8_t *data, *types;
    int64_t *offsets, *ids, n;
} text_pieces;

/* Fills *ret with all pieces, or only those that can match in a text, and *ret_spec with the
 * model's spec for these pieces. Free *ret even after a failure. Returns 0 if allocation fails. */
int text_pieces_of(const unitok_model *m, int only_matching, text_pieces *ret,
                   unitok_spec *ret_spec);
void text_pieces_free(text_pieces *p);
