/* model.h - a model of any kind: the state that all kinds share */
#pragma once

#include "encoders/token.h"
#include "ground/cpu.h"
#include "ground/space.h"
#include "text/cut.h"
#include "text/normalize.h"

typedef struct model_kind model_kind; /* kind.h */
/* run.h */
typedef struct id_width id_width;
typedef struct encode_path encode_path;

/* For models whose paths depend on the running sum: the score that each id adds to it, [0..n_ids),
 * as float32 or float64; the other table is NULL. Both are NULL if segments are independent. */
typedef struct id_scores {
    const float *f32;
    const double *f64;
    double largest_step; /* the most by which one id of a memo entry can change the sum */
} id_scores;

/* A model does not change once it is complete, so threads share it without locks. It owns the
 * memory that its fields named own_* point to; other pointers point into the image:
 *
 *     image     | header | trie or spec ........ | cuts | pieces |       mapped from a file, or `owned`
 *                           ▲                      ▲      ▲
 *                           state, spec            cuts   pieces           greedy: all in the image
 *                                                                          others: cuts and pieces are own_*
 */
struct unitok_model {
    const model_kind *kind;
    void *state;                     /* private to the kind */
    int32_t flags;                   /* the flags in effect; spec.flags are those requested */
    const id_width *width;           /* the functions for the width of its ids */
    const encode_path *const *paths; /* encoding paths, the best first; NULL ends the list */
    id_scores scores;
    const uint8_t *image; /* its native image: image.h */
    int64_t image_bytes;
    uint8_t *owned; /* the image if this model built it, else NULL */
    /* [0..n_ids] into pieces: by id, empty for an id without a piece */
    const uint32_t *piece_offsets;
    const uint8_t *pieces;
    const cut_table *cuts;
    cut_scan scan;
    /* Greedy models leave all of the following empty. The others are built from the spec, whose
     * arrays are in the image. */
    unitok_spec spec;
    unitok_normalizer *normalizer; /* NULL: texts are encoded unchanged */
    pattern *pattern;              /* NULL: a text is not divided before it is encoded */
    cut_table *own_cuts;           /* if there is a pattern, the start of a cut_pattern */
    uint32_t *own_piece_offsets;
    uint8_t *own_pieces;
    uint8_t *types;        /* [n_ids] an enum unitok_piece_type; 0: an id without a piece */
    uint8_t *byte_of_id;   /* [n_ids] the bytes of byte pieces */
    int32_t byte_ids[256]; /* the id of each byte's piece, or -1 */
    int32_t unknown_id;    /* -1: none */
    int compact;           /* normalized text has U+2581 as a space (space.h) */
    int is_whole;          /* a document is one segment, because no cut is safe */
    unitok_model_info info;
};

#define RESTART_FLAGS (UNITOK_RESTART_AT_SPACE | UNITOK_RESTART_AFTER_NEWLINE)

/* Whether a document is split between these two bytes. SentencePiece's models never restart the
 * sum; Hugging Face's restart it at spaces, and BytePiece's after newlines. */
INLINE int restarts(const unitok_model *m, uint8_t before, uint8_t first)
{
    if (m->flags & UNITOK_RESTART_AT_SPACE && first == SPACE_BYTE) return 1;
    int continues = (first & 0xC0) == 0x80; /* possible only in invalid UTF-8 */
    return m->flags & UNITOK_RESTART_AFTER_NEWLINE && before == '\n' && first != '\n' && !continues;
}

/* The end of the part that begins at text[begin]. Without RESTART_FLAGS, the text is one part. */
INLINE int64_t restart_next(const unitok_model *m, const uint8_t *text, int64_t begin,
                            int64_t n_bytes)
{
    int64_t end = m->flags & RESTART_FLAGS ? begin + 1 : n_bytes;
    while (end < n_bytes && !restarts(m, text[end - 1], text[end])) end++;
    return end;
}

/* The piece of an id below n_ids, and its size, which is 0 for an id without one. */
INLINE const uint8_t *piece_of(const unitok_model *m, int64_t id, int64_t *ret_n_bytes)
{
    *ret_n_bytes = (int64_t)m->piece_offsets[id + 1] - m->piece_offsets[id];
    return m->pieces + m->piece_offsets[id];
}

/* Whether the piece of an id below n_ids consists of exactly these bytes. */
INLINE int piece_is(const unitok_model *m, int64_t id, const uint8_t *piece, int64_t n_bytes)
{
    int64_t n;
    const uint8_t *held = piece_of(m, id, &n);
    return n == n_bytes && memcmp(held, piece, (size_t)n) == 0;
}

/* The ids of the byte pieces for one byte of an unknown character; returns their number. */
INLINE int byte_fallback(const unitok_model *m, const uint8_t *byte, int32_t ret[3])
{
    const uint8_t *bytes;
    int n = space_symbol_open(m->compact, byte, &bytes);
    for (int i = 0; i < n; i++) ret[i] = m->byte_ids[bytes[i]];
    return n;
}
