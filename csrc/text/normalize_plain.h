/* normalize_plain.h - the fast path of normalization, for text that needs no lookup in the charsmap
 * or the symbols */
#pragma once

#include "ground/common.h"

/* Text is loaded and stored in complete blocks, which need not be aligned. */
#define PLAIN_BLOCK_BYTES 64
#define PLAIN_ROOM_BYTES (2 * PLAIN_BLOCK_BYTES)

enum { BYTE_SPACE = 0x40, BYTE_LOOK = 0x80 };

/* What is known about a character from its first byte, in terms of the classes of normalize.h:
 *
 *     0       all characters that begin with this byte have class 0 or MORE. An ASCII character may also be SECOND
 *             if it is the second character only of items that begin with an ASCII character, which is then LOOK.
 *             So at least one of the first two characters of a longer item is LOOK. Every STOP and BECOMES is LOOK,
 *             too. Continuation bytes are 0
 *     LOOK    classes[] decides
 *     SPACE   only if repeated spaces are removed: the character becomes a space, and it neither begins a longer item nor
 *             is the second character of one. It is also LOOK, unless it is the space itself
 *
 * The sets contain the same information for AVX2, indexed by half bytes: bit h & 7 of [l] stands
 * for byte h << 4 | l. */
typedef struct plain_tables {
    uint8_t kinds[256];
    uint8_t ascii_look[16], high_look[16], spaces[16];
    int32_t has_spaces;
} plain_tables;

typedef struct plain_run {
    int64_t n_taken; /* bytes of the text consumed */
    int64_t n_out;
    int is_after_space; /* the last byte consumed became a space, written or removed */
} plain_run;

/* Normalizes text at the beginning of text[0..n_bytes-1] that needs no lookup, in the form with one
 * byte for a space: characters that are unchanged or become one ASCII character, and repeated
 * spaces if they are removed. Applies rules 3 and 4 of normalize.c, so the first item must already
 * be written, and a space at the end may have to be removed later. Stops at an item that must be
 * looked up, at the end of the text (it does not read beyond it), or when fewer than
 * PLAIN_ROOM_BYTES of out[0..room-1] are left. `room` must be at least PLAIN_ROOM_BYTES, and bytes
 * after the result are overwritten.
 *   is_after_space   the preceding text ended with a space; always 0 if repeated spaces are kept */
typedef plain_run (*plain_normalize)(const unitok_normalizer *n, const uint8_t *text,
                                     int64_t n_bytes, int is_after_space, uint8_t *out,
                                     int64_t room);

/* Returns the version for an instruction set that this processor supports. There is no version for
 * SSE2, which has no byte lookup. */
plain_normalize plain_normalize_for(int32_t cpu);

plain_run plain_normalize_avx2(const unitok_normalizer *n, const uint8_t *text, int64_t n_bytes,
                               int is_after_space, uint8_t *out, int64_t room);
plain_run plain_normalize_neon(const unitok_normalizer *n, const uint8_t *text, int64_t n_bytes,
                               int is_after_space, uint8_t *out, int64_t room);

/* Fills n->plain and the rest of n->classes, after all keys and symbols have been processed. By
 * then, LOOK must be set in n->plain.kinds for each ASCII character that is the first of two ASCII
 * characters at the beginning of a key or symbol, or the second character after a non-ASCII one. */
void plain_build(unitok_normalizer *n);
