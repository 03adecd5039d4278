/* normalize_plain.h - the fast path of normalization: text that needs no lookup in charsmap or
 * symbols */
#pragma once

#include "ground/common.h"

/* Text is loaded and stored in complete blocks, which may begin anywhere. */
#define PLAIN_BLOCK_BYTES 64
#define PLAIN_ROOM_BYTES (2 * PLAIN_BLOCK_BYTES)

enum { BYTE_SPACE = 0x40, BYTE_LOOK = 0x80 };

/* What the first byte says about a character, in terms of the classes of normalize.h:
 *
 *     0       all characters that begin with this byte are of class 0 or MORE, except that ASCII may be SECOND after
 *             ASCII; and no ASCII MORE has an ASCII SECOND. So of two characters that begin a longer item at least one is
 *             marked LOOK, and so is every STOP and BECOMES. Continuation bytes are 0 as well
 *     LOOK    classes[] decides
 *     SPACE   where repeated spaces are removed: the character becomes a space, and no longer item begins with it or
 *             has it as its second character. Also LOOK, except for the space itself
 *
 * The sets hold the same for AVX2, by halves of the byte: bit h & 7 of [l] stands for byte h << 4 |
 * l. */
typedef struct plain_tables {
    uint8_t kinds[256];
    uint8_t ascii_look[16], high_look[16], spaces[16];
    int32_t has_spaces;
} plain_tables;

typedef struct plain_run {
    int64_t n_taken; /* of the text */
    int64_t n_out;
    int is_after_space; /* the last byte consumed became a space, written or removed */
} plain_run;

/* Normalizes as much of text[0..n_bytes-1] as needs no lookup, in the form with one byte for a
 * space: characters that stay as they are or become one ASCII character, and repeated spaces where
 * they are removed. It applies rules 3 and 4 of normalize.c, so the first item must already be
 * written, and a space at the end may have to be removed later. It stops at an item that must be
 * looked up, at the end of the text (it does not read beyond), or when less than PLAIN_ROOM_BYTES
 * of out[0..room-1] are left. At least that much room is required, and bytes after the result are
 * overwritten.
 *   is_after_space   the text before ended in a space; always 0 where repeated spaces are kept */
typedef plain_run (*plain_normalize)(const unitok_normalizer *n, const uint8_t *text,
                                     int64_t n_bytes, int is_after_space, uint8_t *out,
                                     int64_t room);

/* Returns the version for an instruction set that this processor supports. SSE2 has none, as it has
 * no byte lookup. */
plain_normalize plain_normalize_for(int32_t cpu);

plain_run plain_normalize_avx2(const unitok_normalizer *n, const uint8_t *text, int64_t n_bytes,
                               int is_after_space, uint8_t *out, int64_t room);
plain_run plain_normalize_neon(const unitok_normalizer *n, const uint8_t *text, int64_t n_bytes,
                               int is_after_space, uint8_t *out, int64_t room);

/* Fills n->plain and the rest of n->classes, once all keys and symbols are classed. Before that,
 * LOOK is set in n->plain.kinds for ASCII that another ASCII character follows in a key or symbol,
 * or that is second in one after a character >= 0x80. */
void plain_build(unitok_normalizer *n);
