/* kind.h - a kind of model as one table of functions, so that no other file tests the kind
 *
 * Everything else is the same for all kinds: normalizing, cutting, the memo, converting tokens to
 * ids, decoding. */
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

/* Finds where segments end. The order and the contracts of the functions are those of cut.h. */
typedef struct cutter {
    int64_t (*scan)(const unitok_model *m, const uint8_t *text, int64_t n_bytes, uint16_t *cuts);
    int64_t (*next)(const unitok_model *m, const uint8_t *text, int64_t begin, int64_t n_bytes);
    int64_t (*last)(const unitok_model *m, const uint8_t *text, int64_t n_bytes);
} cutter;

/* A lattice of all ways to divide a text, and one thread's scratch for searching it. Sampling and
 * the n-best search both use this lattice, each with its own arrays, which are kept between
 * calls. */
typedef struct lattice_work {
    const lattice_model *model;
    sampler sampler;
    nbest nbest;
    lattice_paths paths;
} lattice_work;

/* Encodes text[0..n_bytes-1], 0 < n_bytes <= TEXT_BYTES_MAX. Returns the number of tokens, or -1
 * if allocation fails. */
typedef int64_t token_encoder(const unitok_model *m, unitok_scratch *s, const uint8_t *text,
                              int64_t n_bytes, token *tokens);

/* A kind is a table of facts and of functions, in the order in which they are used:
 *
 *     facts      flags, rules, cut_flags, methods, ...            what the kind allows
 *     model      make_image ─▶ open ─▶ build ... free              once
 *     scratch    scratch_bytes, free_scratch                       once per thread
 *     text       encode, walk, solve                               for each text or segment
 *     sampling   draw, lattice
 *     queries    settled, find
 *
 * Code outside the kind's own file reads the table and never compares the number of a kind. */
struct model_kind {
    int32_t flags;           /* the unitok_model_flags that the kind supports */
    const flag_rule *rules;  /* how flags can be combined: see spec.h; NULL: no rules */
    int32_t cut_flags;       /* cuts that are made whatever the pieces are: see cut.h */
    int32_t methods;         /* sampling methods: bits 1 << enum unitok_sample_method */
    int32_t tokens_per_byte; /* the most tokens per byte of a segment */
    int32_t has_engines;     /* whether the kind supports every unitok_engine, not only the first */

    /* make_image lays out the native image of a spec (to be freed with mem_free); `open` opens an
     * image in place and fills *m. */
    int32_t (*make_image)(const unitok_spec *spec, uint8_t **ret, int64_t *ret_n_bytes,
                          unitok_error *error);
    int32_t (*open)(const uint8_t *bytes, int64_t n_bytes, int32_t engine, int32_t cpu,
                    unitok_model *m, unitok_error *error);

    /* build creates the encoder in m->state, after everything else, and sets m->paths if the kind
     * has better paths than the memo; it can be called again after a failure. memory_bytes returns
     * the memory that build added. free frees m->state, which may be NULL. */
    int32_t (*build)(unitok_model *m, unitok_error *error);
    int64_t (*memory_bytes)(const unitok_model *m);
    void (*free)(unitok_model *m);

    /* scratch->state has this size and is zeroed at first. free_scratch frees the memory that the
     * state holds; NULL if it holds none. */
    int64_t scratch_bytes;
    void (*free_scratch)(void *state);

    const cutter *cutter; /* how texts are divided into segments */

    token_encoder *encode; /* encodes a complete text */

    /* Encodes a segment of any length at the run's position. Returns the number of ids; on failure,
     * sets r->failed. */
    int64_t (*walk)(run *r, const uint8_t *segment, int64_t n_bytes, void *ids);

    /* For kinds with scores: finds the ids of a segment of up to MEMO_LONG_BYTES as if all sums
     * were exact, and the limit of its path (segments.h). */
    int64_t (*solve)(const unitok_model *m, const uint8_t *segment, int64_t n_bytes, void *ids,
                     uint32_t *ret_limit);

    /* Draws one way to divide a text, which begins at `position` in the document of `key`.
     * Otherwise like encode. NULL if the kind has no sampling methods. */
    int64_t (*draw)(const unitok_model *m, unitok_scratch *s, const unitok_sampling *sampling,
                    uint64_t key, const uint8_t *text, int64_t n_bytes, int64_t position,
                    token *tokens);

    /* Returns the scratch's lattice. NULL if `methods` has no UNITOK_SAMPLE_LATTICE. */
    lattice_work *(*lattice)(const unitok_model *m, unitok_scratch *s);

    /* How many bytes of a text without a cut are settled, whatever follows the text. NULL: none
     * are. */
    int64_t (*settled)(const unitok_model *m, const uint8_t *text, int64_t n_bytes);

    /* See unitok_model_find. */
    int64_t (*find)(const unitok_model *m, const uint8_t *piece, int64_t n_bytes);
};

/* The table of an enum unitok_kind, or NULL. */
const model_kind *kind_of(int32_t kind);
