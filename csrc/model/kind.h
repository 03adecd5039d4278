/* kind.h - what differs between the kinds of models: each is one table of functions, so that no
 * other file asks for the kind
 *
 * Everything else is the same for all: normalizing, cutting, remembering segments, turning tokens
 * into ids, decoding.
 */
#pragma once

#include "encoders/nbest.h"
#include "encoders/sampler.h"
#include "model/model.h"
#include "model/scratch.h"
#include "model/spec.h"

#define TOKENS_PER_BYTE_MAX 3

/* run.h */
typedef struct run run;
typedef struct chunk chunk;

/* Where segments end: in the order of cut.h, which says what each function promises. */
typedef struct cutter {
    int64_t (*scan)(const unitok_model *m, const uint8_t *text, int64_t n_bytes, uint16_t *cuts);
    int64_t (*next)(const unitok_model *m, const uint8_t *text, int64_t begin, int64_t n_bytes);
    int64_t (*last)(const unitok_model *m, const uint8_t *text, int64_t n_bytes);
} cutter;

/* A lattice of all ways to divide a text, and a thread's memory for searching it. */
typedef struct lattice_work {
    const lattice_model *model;
    sampler sampler;
    nbest nbest;
    lattice_paths paths;
} lattice_work;

struct model_kind {
    int32_t flags;           /* enum unitok_model_flags that it takes */
    const flag_rule *rules;  /* how they can be combined: spec.h; NULL: in any way */
    int32_t cut_flags;       /* cuts that it makes whatever its pieces are: cut.h */
    int32_t methods;         /* bits 1 << enum unitok_sample_method: how it can be sampled */
    int32_t tokens_per_byte; /* of a segment, at most */
    int32_t has_engines;     /* takes every enum unitok_engine, not only the first */

    /* Lays out the native image of a spec (mem_free), and opens one where it lies, which fills
     * *m. */
    int32_t (*make_image)(const unitok_spec *spec, uint8_t **ret, int64_t *ret_n_bytes,
                          unitok_error *error);
    int32_t (*open)(const uint8_t *bytes, int64_t n_bytes, int32_t engine, int32_t cpu,
                    unitok_model *m, unitok_error *error);

    /* Builds the encoder into m->state, after everything else, and sets m->paths if it has better
     * ones than the memo; after a failure it can be tried again. The memory that it added. Frees m->state, which may be NULL. */
    int32_t (*build)(unitok_model *m, unitok_error *error);
    int64_t (*memory_bytes)(const unitok_model *m);
    void (*free)(unitok_model *m);

    /* scratch->state: so many bytes, zero at first. Frees what it holds; NULL: nothing. */
    int64_t scratch_bytes;
    void (*free_scratch)(void *state);

    const cutter *cutter; /* how its texts are divided into segments */

    /* The tokens of a text that is encoded by itself, 0 < n_bytes <= TEXT_BYTES_MAX: their
     * number, -1 when memory is short. */
    int64_t (*encode)(const unitok_model *m, unitok_scratch *s, const uint8_t *text,
                      int64_t n_bytes, token *tokens);

    /* The ids of a segment of any length where the run is now. Returns how many; sets r->failed. */
    int64_t (*walk)(run *r, const uint8_t *segment, int64_t n_bytes, void *ids);

    /* With scores: the ids of a segment of up to MEMO_LONG_BYTES as if all sums were exact, and
     * the limit of its path (segments.h). */
    int64_t (*solve)(const unitok_model *m, const uint8_t *segment, int64_t n_bytes, void *ids,
                     uint32_t *ret_limit);

    /* The tokens of one way to cut a text, drawn for the document of `key`, in which the text
     * begins at `position`; else like encode. NULL without methods. */
    int64_t (*draw)(const unitok_model *m, unitok_scratch *s, const unitok_sampling *sampling,
                    uint64_t key, const uint8_t *text, int64_t n_bytes, int64_t position,
                    token *tokens);

    /* NULL without UNITOK_SAMPLE_LATTICE. */
    lattice_work *(*lattice)(const unitok_model *m, unitok_scratch *s);

    /* How much of a text without a cut is settled, whatever follows it. NULL: nothing. */
    int64_t (*settled)(const unitok_model *m, const uint8_t *text, int64_t n_bytes);

    /* See unitok_model_find. */
    int64_t (*find)(const unitok_model *m, const uint8_t *piece, int64_t n_bytes);
};

/* The table of an enum unitok_kind; NULL if the kind does not exist. */
const model_kind *kind_of(int32_t kind);
