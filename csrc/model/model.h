/* model.h - what stands behind the public handles: a model of any kind, and a thread's scratch */
#pragma once

#include "encoders/bpe.h"
#include "ground/cpu.h"
#include "text/cut.h"
#include "encoders/longest.h"
#include "encoders/nbest.h"
#include "encoders/sampler.h"
#include "encoders/token.h"
#include "encoders/unigram.h"
#include "encoders/words.h"

/* Which loop over segments fits: the width of ids, and the type of the running sum. */
typedef enum loop_kind {
    LOOP_16,        /* uint16 ids; segments stand alone */
    LOOP_32,        /* uint32 ids */
    LOOP_FLOAT_16,  /* Unigram that sums in float32: a segment's path can depend on the sum before it */
    LOOP_FLOAT_32,
    LOOP_DOUBLE_16, /* the same in float64 */
    LOOP_DOUBLE_32
} loop_kind;

struct unitok_model {
    int32_t kind, flags;
    loop_kind loop;

    const uint8_t *image; /* its native image: image.h */
    int64_t image_bytes;
    uint8_t *owned;                /* the image, where this model built it; else NULL */
    const uint32_t *piece_offsets; /* [0..n_ids] into pieces: by id, empty where an id has none */
    const uint8_t *pieces;
    const cut_table *cuts;
    cut_scan scan;

    longest longest; /* LONGEST: into the image */
    unitok_hat *hat;

    /* The other kinds: built from the spec, whose arrays lie in the image. */
    unitok_spec spec;
    unitok_normalizer *normalizer; /* NULL: texts are encoded as they are */
    unigram *unigram;
    lattice_model lattice; /* of the unigram */
    bpe *bpe;
    characters characters; /* CHAR */
    words words;           /* WORD */
    cut_table *own_cuts;
    uint32_t *own_piece_offsets;
    uint8_t *own_pieces;
    uint8_t *types;        /* [n_ids] an enum unitok_piece_type; 0: an id without a piece */
    uint8_t *byte_of_id;   /* [n_ids] of the byte pieces */
    int32_t byte_ids[256]; /* of the byte pieces; -1 without */
    int32_t unknown_id;    /* -1: none */
    int compact;           /* normalized text has U+2581 as a space (token.h) */
    int whole;             /* a document is one segment: nothing proves a cut */

    unitok_model_info info;
};

struct unitok_scratch {
    const unitok_model *model; /* whose ids the memo holds */
    void *memo;                /* of the loop's width */
    int64_t memo_bytes;
    uint16_t cuts[CUT_CHUNK_BYTES + CUT_READ_BEYOND];
    uint8_t tail[CUT_CHUNK_BYTES + CUT_READ_BEYOND]; /* the end of the text, copied where reading beyond it is safe */
    uint8_t *buffer;                                 /* normalized text not yet encoded */
    int64_t buffer_bytes;
    token *tokens; /* of one long segment */
    int64_t tokens_room;
    long_window window;
    unigram_path path;
    bpe_scratch bpe;
    sampler sampler;
    nbest nbest;
    lattice_paths paths;
};

/* Does a text of its own begin between these two bytes? */
INLINE int restarts(const unitok_model *m, uint8_t before, uint8_t first)
{
    if (m->flags & UNITOK_RESTART_AT_SPACE && first == SPACE_BYTE) return 1;
    int continues = (first & 0xC0) == 0x80; /* only where a text is no UTF-8 */
    return m->flags & UNITOK_RESTART_AFTER_NEWLINE && before == '\n' && first != '\n' && !continues;
}

/* Room for n tokens; NULL when memory is short. */
token *scratch_tokens(unitok_scratch *s, int64_t n);

/* The tokens of a segment of a kind whose segments stand alone (not LONGEST); -1 when memory is short. There may be three
 * for a byte. */
int64_t encode_alone(const unitok_model *m, unitok_scratch *s, const uint8_t *segment, int64_t n_bytes, token *tokens);

/* What NAME(encode) of segments.h returns instead of a number of ids. */
enum { ENCODE_NO_MEMORY = -1, ENCODE_NO_ROOM = -2 };

/* Draws the tokens of a text, or of a part between two cuts that begins at `position` of the normalized document: their
 * number, -1 when memory is short. */
int64_t sample_tokens(const unitok_model *m, unitok_scratch *s, const unitok_sampling *sampling, uint64_t key,
                      const uint8_t *text, int64_t n_bytes, int64_t position, token *tokens);

/* Does the method need a document whole? */
INLINE int sample_is_whole(const unitok_sampling *sampling)
{
    return sampling->method == UNITOK_SAMPLE_NBEST || sampling->method == UNITOK_SAMPLE_DROPOUT;
}

/* NULL, or why this model cannot sample so. Makes the scratch ready. */
int32_t sample_prepare(const unitok_model *m, unitok_scratch *s, const unitok_sampling *sampling, unitok_error *error);
