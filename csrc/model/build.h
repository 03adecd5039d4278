/* build.h - building a model from its spec: what all kinds but greedy have in common */
#pragma once

#include "model/model.h"

/* Builds everything that m->spec asks for; unitok_model_free frees it, also after a failure.
 * The encoder is left to build_encoder if only a lack of memory could make that fail. */
int32_t build_model(unitok_model *m, int32_t cpu, unitok_error *error);

/* The rest, then: what no model needs that only names and decodes ids. After a failure it can be
 * tried again. */
int32_t build_encoder(unitok_model *m, unitok_error *error);

/* Frees everything that is not specific to a kind. */
void build_free(unitok_model *m);

/* The id of exactly these bytes, or -1: compares every piece. */
int64_t build_find(const unitok_model *m, const uint8_t *piece, int64_t n_bytes);

/* Pieces in the form that texts have inside: with U+2581 as a space where texts are compact. */
typedef struct text_pieces {
    uint8_t *data, *types;
    int64_t *offsets, *ids, n;
} text_pieces;

/* All pieces, or only those that can match in a text, and the model's spec with these in place of
 * its own. To be freed whatever comes back; 0 when memory is short. */
int text_pieces_of(const unitok_model *m, int only_matching, text_pieces *ret,
                   unitok_spec *ret_spec);
void text_pieces_free(text_pieces *p);
