/* loops.h - the loops over segments that document.h makes, one for each loop_kind, and the codes
 * that they return */
#pragma once

#include "model/scratch.h"

/* Returned instead of a number of ids. */
enum { ENCODE_NO_MEMORY = -1, ENCODE_NO_ROOM = -2, ENCODE_TOO_LONG = -3 };

/* How one document is sampled. */
typedef struct draw {
    const unitok_sampling *sampling;
    uint64_t key; /* the document's: rng.h */
} draw;

/* One document, or the next part of one, to be encoded into ids[0..capacity-1]. */
typedef struct encode_job {
    const draw *draw;    /* NULL: no sample */
    unitok_state *state; /* NULL: the document is whole */
    const uint8_t *text;
    int64_t n_bytes;
    int64_t n_readable; /* text is readable up to here; bytes after n_bytes do not matter */
    int last;           /* the document ends with this part */
    int32_t flags;      /* of enum unitok_encode_flags */
    void *ids;          /* uint16_t or uint32_t */
    int64_t capacity;
} encode_job;

/* Encodes it; returns the number of ids, or a code. */
int64_t loop_encode(const unitok_model *m, unitok_scratch *s, const encode_job *job);

int64_t loop_memo_bytes(loop_kind loop);

/* Does the method need a document whole? */
INLINE int sample_is_whole(const unitok_sampling *sampling)
{
    return sampling->method == UNITOK_SAMPLE_NBEST || sampling->method == UNITOK_SAMPLE_DROPOUT;
}
