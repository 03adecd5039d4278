/* kind.h - what differs between the kinds of models: each is one table of functions, so that no
 * other file asks for the kind
 *
 * Everything else is the same for all: normalizing, cutting, remembering segments, turning tokens
 * into ids, decoding.
 */
#pragma once

#include "model/model.h"
#include "model/scratch.h"
#include "model/spec.h"

#define TOKENS_PER_BYTE_MAX 3

struct model_kind {
    int32_t flags;           /* enum unitok_model_flags that it takes: spec.c */
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

    /* Builds the encoder's own tables from m->spec, after everything else (NULL: open builds
     * them). Which loop over segments it uses, for ids of 16 bits. The memory of its tables.
     * Frees them, also after a failure. */
    int32_t (*build)(unitok_model *m, unitok_error *error);
    loop_kind (*loop)(const unitok_model *m);
    int64_t (*memory_bytes)(const unitok_model *m);
    void (*free)(unitok_model *m);

    /* The tokens of a text that is encoded by itself, 0 < n_bytes <= TEXT_BYTES_MAX: their
     * number, -1 when memory is short. */
    int64_t (*encode)(const unitok_model *m, unitok_scratch *s, const uint8_t *text,
                      int64_t n_bytes, token *tokens);

    /* The tokens of one way to cut a text, drawn for the document of `key`, in which the text
     * begins at `position`; else like encode. NULL without methods. */
    int64_t (*draw)(const unitok_model *m, unitok_scratch *s, const unitok_sampling *sampling,
                    uint64_t key, const uint8_t *text, int64_t n_bytes, int64_t position,
                    token *tokens);

    /* How much of a text without a cut is settled, whatever follows it. NULL: nothing. */
    int64_t (*settled)(const unitok_model *m, const uint8_t *text, int64_t n_bytes);

    /* See unitok_model_find. */
    int64_t (*find)(const unitok_model *m, const uint8_t *piece, int64_t n_bytes);
};

extern const model_kind kind_longest, kind_unigram, kind_bpe, kind_characters, kind_words;

/* The table of an enum unitok_kind; NULL if the kind does not exist. */
const model_kind *kind_of(int32_t kind);
