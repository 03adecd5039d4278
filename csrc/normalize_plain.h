/* normalize_plain.h - the fast half of normalization: text that stands for itself, and spaces in a row */
#pragma once

#include "normalize.h"

/* A block of text is loaded and stored at once, at its beginning or anywhere in it. */
#define PLAIN_BLOCK_BYTES 64
#define PLAIN_ROOM_BYTES (2 * PLAIN_BLOCK_BYTES)

typedef struct plain_run {
    int64_t n_taken; /* of the text */
    int64_t n_out;
    int is_after_space; /* the last byte taken gave a space, put out or not */
} plain_run;

/* Normalizes as much of text[0..n_bytes-1] as needs no look at charsmap or symbols, in the form that has one byte for a
 * space: characters that stand for themselves, ASCII that becomes other ASCII, and where spaces after spaces are
 * removed, those. Rules 3 and 4 of normalize.c: the first item is out, and a space at the end may have to be taken
 * back. It stops where an item must be looked up, at the end of the text, or when less than PLAIN_ROOM_BYTES of
 * out[0..room-1] are left, which are needed at the start and used to write in whole blocks. Nothing reaches over
 * text[n_bytes], which must not be read.
 *   is_after_space   what came before gave a space last; always 0 where they are not removed */
plain_run normalize_plain(const unitok_normalizer *n, const uint8_t *text, int64_t n_bytes, int is_after_space,
                          uint8_t *out, int64_t room);

/* Fills n->byte_kinds, n->plain and what is left of n->classes, after all keys and symbols are classed. */
void plain_build(unitok_normalizer *n);
