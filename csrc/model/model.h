/* model.h - a model of any kind: what all kinds have in common */
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

/* What an id adds to the running sum of a model whose paths depend on one, [0..n_ids - 1]: float32
 * or float64, the other table is NULL. Both are NULL where segments are independent. */
typedef struct id_scores {
    const float *f32;
    const double *f64;
    double largest_step; /* how far one id of a remembered path can move the sum */
} id_scores;

struct unitok_model {
    const model_kind *kind;
    void *state;           /* the kind's own */
    int32_t flags;         /* those in effect; spec.flags are those asked for */
    const id_width *width; /* of its ids */
    const encode_path *const
        *paths; /* what encodes its texts, the best first; NULL ends the list */
    id_scores scores;
    const uint8_t *image; /* its native image: image.h */
    int64_t image_bytes;
    uint8_t *owned; /* the image, where this model built it; else NULL */
    /* [0..n_ids] into pieces: by id, empty where an id has none */
    const uint32_t *piece_offsets;
    const uint8_t *pieces;
    const cut_table *cuts;
    cut_scan scan;
    /* Greedy models leave all that follows empty. The others are built from the spec, whose arrays
     * are in the image. */
    unitok_spec spec;
    unitok_normalizer *normalizer; /* NULL: texts are encoded as they are */
    cut_table *own_cuts;
    uint32_t *own_piece_offsets;
    uint8_t *own_pieces;
    uint8_t *types;        /* [n_ids] an enum unitok_piece_type; 0: an id without a piece */
    uint8_t *byte_of_id;   /* [n_ids] of the byte pieces */
    int32_t byte_ids[256]; /* of the byte pieces; -1 without */
    int32_t unknown_id;    /* -1: none */
    int compact;           /* normalized text has U+2581 as a space (space.h) */
    int whole;             /* a document is one segment: nothing proves a cut */
    unitok_model_info info;
};

#define RESTART_FLAGS (UNITOK_RESTART_AT_SPACE | UNITOK_RESTART_AFTER_NEWLINE)

/* Is a document split between these two bytes? */
INLINE int restarts(const unitok_model *m, uint8_t before, uint8_t first)
{
    if (m->flags & UNITOK_RESTART_AT_SPACE && first == SPACE_BYTE) return 1;
    int continues = (first & 0xC0) == 0x80; /* only where a text is not UTF-8 */
    return m->flags & UNITOK_RESTART_AFTER_NEWLINE && before == '\n' && first != '\n' && !continues;
}

/* Where the part that begins at text[begin] ends. */
INLINE int64_t restart_next(const unitok_model *m, const uint8_t *text, int64_t begin,
                            int64_t n_bytes)
{
    int64_t end = m->flags & RESTART_FLAGS ? begin + 1 : n_bytes;
    while (end < n_bytes && !restarts(m, text[end - 1], text[end])) end++;
    return end;
}

/* The ids of the byte pieces for one byte of an unknown character: returns how many. */
INLINE int byte_fallback(const unitok_model *m, const uint8_t *byte, int32_t ret[3])
{
    const uint8_t *bytes;
    int n = space_symbol_open(m->compact, byte, &bytes);
    for (int i = 0; i < n; i++) ret[i] = m->byte_ids[bytes[i]];
    return n;
}
