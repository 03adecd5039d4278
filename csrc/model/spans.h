/* spans.h - a document as encoders read it, and the conversion of its tokens into spans */
#pragma once

#include "model/run.h"

/* `text` is the document or its normalized form, compact if the model is (space.h). */
typedef struct document {
    const uint8_t *text;
    int64_t n_bytes;
    uint8_t *normalized;
    /* maps positions in verbatim normalized text to positions in the document; NULL if the document
     * is not normalized */
    int64_t *to_source;
} document;

/* Returns 0 or an ENCODE_ code. */
int document_open(const unitok_model *m, const uint8_t *text, int64_t n_bytes, document *ret);
void document_free(document *d);

/* Converts the tokens of a complete document into spans: unknown characters become byte pieces or
 * the unknown id, and adjacent unknown ids are merged. Returns the number of spans, or
 * ENCODE_CAPACITY. */
int64_t spans_of_tokens(const unitok_model *m, const document *d, const token *tokens, int64_t n,
                        unitok_span *spans, int64_t capacity);
