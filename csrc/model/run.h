/* run.h - the encoding of one document, and the interface of encoding paths
 *
 * The router (router.c) divides a text into chunks and offers each to the paths of the model's
 * kind, in order of preference:
 *
 *     text    | chunk | chunk | ...      up to CUT_CHUNK_BYTES each, beginning with a segment
 *                │
 *                ├─ a path of the kind: is_next? ── encode ──▶ ids of the chunk, of a part of it,
 *                │                                             or of more text
 *                ├─ path_memo: any cuts?         ── encode ──▶ ids of the segments between them, from the memo
 *                └─ path_walk                    ── encode ──▶ ids of one long segment
 */
#pragma once

#include "model/kind.h"

/* Error codes, returned instead of a number of ids. */
enum { ENCODE_NO_MEMORY = -1, ENCODE_CAPACITY = -2, ENCODE_TOO_LONG = -3 };

/* How one document is sampled. */
typedef struct draw {
    const unitok_sampling *sampling;
    uint64_t key; /* belongs to the document: rng.h */
} draw;

/* A document, or the next part of one, to be encoded into ids[0..capacity-1]. */
typedef struct encode_job {
    const draw *draw;    /* NULL: encode instead of sampling */
    unitok_state *state; /* NULL: the text is the complete document */
    const uint8_t *text;
    int64_t n_bytes;
    int64_t n_readable; /* text is readable up to here; bytes after n_bytes are ignored */
    int last;           /* the document ends with this part */
    int32_t flags;      /* enum unitok_encode_flags */
    void *ids;          /* uint16_t or uint32_t */
    int64_t capacity;
} encode_job;

/* Returns the number of ids, or an ENCODE_ code. */
int64_t router_encode(const unitok_model *m, unitok_scratch *s, const encode_job *job);

/* Whether the sampling method requires complete documents. */
INLINE int sample_is_whole(const unitok_sampling *sampling)
{
    return sampling->method == UNITOK_SAMPLE_NBEST || sampling->method == UNITOK_SAMPLE_DROPOUT;
}

/* The state of encoding one document. */
struct run {
    const unitok_model *m;
    unitok_scratch *s;
    const draw *draw; /* NULL: encode instead of sampling */
    /* used with `draw`: the position of the next text in the normalized document */
    int64_t position;
    double sum;           /* of scores; rounded to float for float32 models: see segments.h */
    const void *summed;   /* `sum` includes the ids before this one */
    int32_t last_unknown; /* the last id was the unknown id, and the next can merge with it */
    uint8_t last_byte;    /* the byte before the next segment */
    int failed;           /* an ENCODE_ code, or 0 */
};

/* The next part of a text. It begins at the start of a segment. n_seen is less than n_text while
 * more of the document may follow. */
struct chunk {
    const uint8_t *text;
    const uint8_t *padded; /* the same bytes, readable CUT_READ_BEYOND bytes past the chunk */
    int64_t n_bytes;       /* the size of the chunk */
    int64_t n_text;        /* the size of the rest of the text, from the chunk on */
    /* the part of n_text in which cuts can be found: windows need the bytes after it */
    int64_t n_seen;
    int is_closed;  /* the end of the text is a cut too */
    int64_t n_cuts; /* the number of cuts in scratch.cuts; -1: not computed yet */
};

/* The number of cuts in the chunk, computed at the first call. */
int64_t chunk_cuts(const run *r, chunk *c);

/* A path is chosen and run in two calls, so that choosing can be cheap: is_next examines the chunk
 * and the state after earlier chunks, and encode does the work. If a path declines, the router asks
 * the next one. */
struct encode_path {
    /* Whether this path should encode the chunk. */
    int (*is_next)(run *r, chunk *c);
    /* Encodes the chunk, only a part of it, or more text than the chunk. Returns the number of
     * bytes encoded; 0 if the path cannot encode it. */
    int64_t (*encode)(run *r, chunk *c, void *ids, int64_t *ret_n_ids);
};

extern const encode_path path_memo, path_walk;
extern const encode_path *const paths_by_memo[]; /* path_memo and path_walk, and no other paths */

/* Cuts texts by the model's table of byte pairs (cut.h). */
extern const cutter cuts_by_table;

/* The functions that depend on the width of ids: segments.h for uint16_t and for uint32_t. */
struct id_width {
    int memo_bits, memo_bits_summing; /* for models without and with scores: memo.h */
    int64_t short_bytes, long_bytes;  /* the sizes of the memo's entries */
    /* Writes the ids of a segment's tokens; unknown characters become byte pieces or the unknown
     * id. Returns the number of ids. */
    int64_t (*emit)(const unitok_model *m, const uint8_t *segment, const token *tokens, int64_t n,
                    void *ids);
    void (*put)(const uint32_t *from, int64_t n, void *ids);
    /* Replaces each run of unknown ids with one; returns how many ids remain. */
    int64_t (*merge_unknown)(run *r, void *ids, int64_t n);
    /* Adds the scores of all ids before `out` to r->sum. */
    void (*catch_up)(run *r, const void *out);
    /* Encodes the segments between the cuts with the memo; text is readable 32 bytes past the last
     * cut. Returns the number of ids. */
    int64_t (*encode_segments)(run *r, const uint8_t *text, const uint16_t *cuts, int64_t n_cuts,
                               void *ids);
    /* Copies the short entries to an empty memo of another size. */
    void (*move_memo)(const memo *from, memo *to);
};

extern const id_width id_width_16, id_width_32;

/* Ids have 16 or 32 bits, so code that is the same for both widths computes the address of the k-th
 * id from the size of an id.
 */
INLINE void *id_at(const unitok_model *m, void *ids, int64_t k)
{
    return (uint8_t *)ids + k * m->info.id_bytes;
}

/* Models with scores have a running sum, and their segments depend on it. */
INLINE int has_scores(const unitok_model *m)
{
    return m->scores.f32 != NULL || m->scores.f64 != NULL;
}

/* Sets the sum to an exact value that includes all ids before `out`. The scores of ids written
 * afterwards are added lazily: see segments.h. */
INLINE void run_set_sum(run *r, double sum, const void *out)
{
    r->sum = sum;
    r->summed = out;
}

/* Restarts the sum if a segment that begins with this byte begins a new text. r->last_byte is the
 * byte before the segment, even if that byte was encoded in an earlier call. */
INLINE void run_restart(run *r, uint8_t first, const void *out)
{
    if (restarts(r->m, r->last_byte, first)) run_set_sum(r, 0, out);
}

/* Encodes the next segment of the run, of any length, with kind->walk instead of the memo. */
int64_t run_walk(run *r, const uint8_t *segment, int64_t n_bytes, void *ids);

/* Emits the tokens of an encoder for a segment; returns the number of ids. */
int64_t walk_tokens(run *r, token_encoder *encode, const uint8_t *segment, int64_t n_bytes,
                    void *ids);

/* `walk` for kinds without a running sum: emits the tokens of kind->encode. */
int64_t walk_encode(run *r, const uint8_t *segment, int64_t n_bytes, void *ids);
