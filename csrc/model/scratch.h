/* scratch.h - the memory of one thread: the memo, buffers, and the kind's own state */
#pragma once

#include "encoders/memo.h"
#include "model/model.h"

/* A part of the memory has a fixed size, so that encoding a short text allocates nothing:
 *
 *     memo      | short entries ....... | long entries ....... |     64 KB to 14 MB: memo.h
 *     cuts      of the current chunk
 *     tail      the last chunk of a text, if the bytes after it may not be read
 *     buffer    | held: not encoded yet | new |                  with a normalizer only; grows
 *     tokens    of a segment longer than MEMO_LONG_BYTES         grows
 *     state     the kind's own */
struct unitok_scratch {
    /* the model whose ids the memo holds; may be freed before the scratch */
    const unitok_model *model;
    const model_kind *kind;
    memo memo; /* its entries have the width of the model's ids */
    memo_use memo_use;
    uint16_t cuts[CUT_CHUNK_BYTES + CUT_READ_BEYOND];
    /* a copy of the end of the text, padded for reads past the end */
    uint8_t tail[CUT_CHUNK_BYTES + CUT_READ_BEYOND];
    uint8_t *buffer; /* normalized text that is not encoded yet */
    int64_t buffer_bytes;
    token *tokens; /* the tokens of one long segment */
    int64_t tokens_capacity;
    void *state; /* private to the kind; NULL if it needs none */
};

/* Enlarges a small memo that has missed often. If allocation fails, the memo is unchanged. */
void scratch_grow_memo(unitok_scratch *s);

/* Grows s->buffer for `held` bytes of normalized text and at least as many more. Returns 0 if
 * allocation fails. */
int scratch_buffer(unitok_scratch *s, const unitok_normalizer *normalizer, int64_t held);

/* Returns an array of at least n tokens; NULL if allocation fails. */
token *scratch_tokens(unitok_scratch *s, int64_t n);
