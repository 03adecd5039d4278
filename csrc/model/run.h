/* run.h - one document on its way to ids, and the paths that can take it there
 *
 * The router (router.c) divides a text into chunks and offers each to the paths of the model's kind,
 * in order of preference:
 *
 *     text    | chunk | chunk | ...      up to CUT_CHUNK_BYTES each, beginning with a segment
 *                │
 *                ├─ a path of the kind: is_next? ── encode ──▶ ids of the chunk, or of part of it, or of more
 *                ├─ path_memo: has it cuts?      ── encode ──▶ ids of the segments between them, from the memo
 *                └─ path_whole                   ── encode ──▶ ids of one long segment
 */
#pragma once

#include "model/kind.h"

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
int64_t router_encode(const unitok_model *m, unitok_scratch *s, const encode_job *job);

/* Does the method need a whole document? */
INLINE int sample_is_whole(const unitok_sampling *sampling)
{
    return sampling->method == UNITOK_SAMPLE_NBEST || sampling->method == UNITOK_SAMPLE_DROPOUT;
}

/* The state of one document. */
struct run {
    const unitok_model *m;
    unitok_scratch *s;
    const draw *draw;     /* NULL: no sample */
    int64_t position;     /* with `draw`: of what comes next, in the normalized document */
    double sum;           /* of scores, rounded to float if these are: see segments.h */
    const void *summed;   /* `sum` counts the ids before this one */
    int32_t last_unknown; /* the last id was the unknown one, which the next may join */
    uint8_t last_byte;    /* before the next segment */
    int failed;           /* an ENCODE_ code, or 0 */
};

/* What comes next in a text. */
struct chunk {
    const uint8_t *text;
    const uint8_t *padded; /* the same bytes, readable CUT_READ_BEYOND beyond the chunk */
    int64_t n_bytes;       /* of the chunk */
    int64_t n_text;        /* of the text from here on */
    int64_t n_seen;        /* of these, in which cuts can be found: windows reach further */
    int is_closed;         /* the end of the text is a cut too */
    int64_t n_cuts;        /* in scratch.cuts; -1: not searched yet */
};

/* The number of its cuts: searches them at the first call. */
int64_t chunk_cuts(const run *r, chunk *c);

struct encode_path {
    /* Does this path take the chunk? */
    int (*is_next)(run *r, chunk *c);
    /* Encodes it, or as much of the text as it likes; returns how many bytes, 0: it could not. */
    int64_t (*encode)(run *r, chunk *c, void *ids, int64_t *ret_n_ids);
};

extern const encode_path path_memo, path_whole;
extern const encode_path *const paths_by_memo[]; /* only these two */

/* Cuts by the model's table of byte pairs (cut.h). */
extern const cutter cuts_by_table;

/* What depends on the width of ids: segments.h for uint16_t and for uint32_t. */
struct id_width {
    int64_t memo_bytes, summing_memo_bytes; /* of models without and with scores */
    /* Writes the ids of a segment's tokens; unknown characters become byte pieces or the unknown
     * id. Returns how many. */
    int64_t (*emit)(const unitok_model *m, const uint8_t *segment, const token *tokens, int64_t n,
                    void *ids);
    void (*put)(const uint32_t *from, int64_t n, void *ids);
    /* Replaces each run of unknown ids by one; returns how many ids remain. */
    int64_t (*merge_unknown)(run *r, void *ids, int64_t n);
    /* Makes r->sum that of all ids before `out`, where the next one goes. */
    void (*catch_up)(run *r, const void *out);
    /* Encodes the segments between the cuts by the memo; text is readable 32 bytes beyond the last
     * cut. Returns the number of ids. */
    int64_t (*encode_segments)(run *r, const uint8_t *text, const uint16_t *cuts, int64_t n_cuts,
                               void *ids);
};

extern const id_width id_width_16, id_width_32;

INLINE void *id_at(const unitok_model *m, void *ids, int64_t k)
{
    return (uint8_t *)ids + k * m->info.id_bytes;
}

INLINE int has_scores(const unitok_model *m)
{
    return m->scores.f32 != NULL || m->scores.f64 != NULL;
}

INLINE void run_set_sum(run *r, double sum, const void *out)
{
    r->sum = sum;
    r->summed = out;
}

/* Restarts the sum where a segment that begins with this byte begins a text of its own. */
INLINE void run_restart(run *r, uint8_t first, const void *out)
{
    if (restarts(r->m, r->last_byte, first)) run_set_sum(r, 0, out);
}

/* A segment of any length without the memo, as the kind walks it; what comes next has not begun. */
int64_t run_walk(run *r, const uint8_t *segment, int64_t n_bytes, void *ids);

/* `walk` of kinds without a running sum: the tokens of kind->encode. */
int64_t walk_tokens(run *r, const uint8_t *segment, int64_t n_bytes, void *ids);
