/* image.h - the native image of a model, in memory and in a file; all kinds share the start of its
 * header */
#pragma once

#include "encoders/longest.h"
#include "model/model.h"

#define NATIVE_VERSION 1  /* the version for all other kinds */
#define LONGEST_VERSION 2 /* the version for greedy longest prefix */
#define NO_ID 0xFFFFFFFFu

/* As in PNG, the first byte is not ASCII, and the last four bytes show whether a transfer has
 * converted line ends. */
static const uint8_t image_magic[8] = {0x89, 'U', 'T', 'K', 0x0D, 0x0A, 0x1A, 0x0A};

/* The header of greedy longest prefix (image.c). The header of all other kinds (spec_image.c) is
 * the same up to image_bytes, so the kind of any image can be read before its header is understood:
 *
 *     bytes  0..7   8..11     12..15   16..23     24..31        32 ...
 *            magic  version   kind     checksum   image_bytes   depends on the kind */
typedef struct image_header {
    uint8_t magic[8];
    uint32_t version, kind;
    uint64_t checksum, image_bytes;
    uint32_t n_ids, n_pieces, eod_id, fallback_id, max_piece_bytes, n_units;
    uint64_t piece_bytes;
} image_header;

/* The state of a greedy model. */
typedef struct longest_model {
    longest longest; /* points into the image */
    uint64_t *heads; /* the heads of the trie, followed by its single bytes */
    unitok_hat *hat;
} longest_model;

/* Lay out the image of a greedy model (to be freed with mem_free), and open such an image in
 * place. */
int32_t image_build(const unitok_spec *spec, uint8_t **ret, int64_t *ret_n_bytes,
                    unitok_error *error);
int32_t image_open(const uint8_t *bytes, int64_t n_bytes, int32_t engine, int32_t cpu,
                   unitok_model *m, unitok_error *error);

/* The same functions for all other kinds. Opening builds their tables. */
int32_t spec_image_build(const unitok_spec *spec, uint8_t **ret, int64_t *ret_n_bytes,
                         unitok_error *error);
int32_t spec_image_open(const uint8_t *bytes, int64_t n_bytes, int32_t engine, int32_t cpu,
                        unitok_model *m, unitok_error *error);
