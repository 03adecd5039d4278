/* spans.h - a document in the form that encoders take, and its tokens as spans */
#pragma once

#include "model/run.h"

/* text is the document itself, or what normalization makes of it; see space.h. */
typedef struct document {
    const uint8_t *text;
    int64_t n_bytes;
    uint8_t *normalized;
    /* from verbatim normalized text to the document; NULL where nothing is normalized */
    int64_t *to_source;
} document;

/* 0, or an ENCODE_ code. */
int document_open(const unitok_model *m, const uint8_t *text, int64_t n_bytes, document *ret);
void document_free(document *d);

/* Turns the tokens of a whole document into spans: unknown characters become byte pieces or the
 * unknown id, adjacent ones are merged. Returns how many spans, or ENCODE_NO_ROOM. */
int64_t spans_of_tokens(const unitok_model *m, const document *d, const token *tokens, int64_t n,
                        unitok_span *spans, int64_t capacity);
