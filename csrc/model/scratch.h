/* scratch.h - what a thread works in: the memo of segments, buffers, and the kind's own memory */
#pragma once

#include "encoders/memo.h"
#include "model/model.h"

struct unitok_scratch {
    const unitok_model *model; /* whose ids the memo holds; may be freed before the scratch */
    const model_kind *kind;
    void *memo; /* of the model's width */
    memo_use memo_use;
    uint16_t cuts[CUT_CHUNK_BYTES + CUT_READ_BEYOND];
    /* the end of the text, copied where reading beyond it is safe */
    uint8_t tail[CUT_CHUNK_BYTES + CUT_READ_BEYOND];
    uint8_t *buffer; /* normalized text not yet encoded */
    int64_t buffer_bytes;
    token *tokens; /* of one long segment */
    int64_t tokens_capacity;
    void *state; /* the kind's own; NULL if it needs none */
};

/* Makes s->buffer hold `held` bytes of normalized text and at least as many more; 0 when memory is
 * short. */
int scratch_buffer(unitok_scratch *s, const unitok_normalizer *normalizer, int64_t held);

/* Capacity for n tokens; NULL when memory is short. */
token *scratch_tokens(unitok_scratch *s, int64_t n);
