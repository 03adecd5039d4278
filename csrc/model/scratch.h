/* scratch.h - what a thread works in: the memo of segments, buffers, and the working memory of each
 * encoder */
#pragma once

#include "encoders/bpe.h"
#include "encoders/nbest.h"
#include "encoders/sampler.h"
#include "model/model.h"

struct unitok_scratch {
    const unitok_model *model; /* whose ids the memo holds */
    void *memo;                /* of the loop's width */
    int64_t memo_bytes;
    uint16_t cuts[CUT_CHUNK_BYTES + CUT_READ_BEYOND];
    /* the end of the text, copied where reading beyond it is safe */
    uint8_t tail[CUT_CHUNK_BYTES + CUT_READ_BEYOND];
    uint8_t *buffer; /* normalized text not yet encoded */
    int64_t buffer_bytes;
    token *tokens; /* of one long segment */
    int64_t tokens_room;
    lanes_work *lanes;         /* NULL where the model has none */
    lanes_turn turn;           /* of the lanes or of the memo */
    automaton_work *automaton; /* NULL where the model has none */
    charwise_work *charwise;   /* NULL where the model has none */
    long_window window;
    unigram_path path;
    bpe_scratch bpe;
    sampler sampler;
    nbest nbest;
    lattice_paths paths;
};

/* Makes s->buffer hold `held` bytes of normalized text and at least as many more; 0 when memory is
 * short. */
int scratch_buffer(unitok_scratch *s, const unitok_normalizer *normalizer, int64_t held);

/* Room for n tokens; NULL when memory is short. */
token *scratch_tokens(unitok_scratch *s, int64_t n);
