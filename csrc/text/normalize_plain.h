/* normalize_plain.h - the fast half of normalization: text that needs no look at charsmap or symbols */
#pragma once

#include "ground/common.h"

/* A block of text is loaded and stored at once, at its beginning or anywhere in it. */
#define PLAIN_BLOCK_BYTES 64
#define PLAIN_ROOM_BYTES (2 * PLAIN_BLOCK_BYTES)

enum { BYTE_SPACE = 0x40, BYTE_LOOK = 0x80 };

/* What is known of a character by its first byte, its classes being those of normalize.h:
 *
 *     0       all characters that begin with it are 0 or MORE, but ASCII may be SECOND behind ASCII; and a MORE of
 *             ASCII has no SECOND of ASCII. So a LOOK stands at one of two characters that together begin something
 *             longer, and at all that are STOP or BECOMES. Continuations are 0 too
 *     LOOK    ask classes[]
 *     SPACE   where spaces after spaces are removed: it gives a space, and nothing longer begins with it or has it as
 *             its second character. LOOK too, but for the space itself
 *
 * The sets are the same for AVX2, by halves of the byte: bit h & 7 of [l] speaks of byte h << 4 | l. */
typedef struct plain_tables {
    uint8_t kinds[256];
    uint8_t ascii_look[16], high_look[16], spaces[16];
    int32_t has_spaces;
} plain_tables;

typedef struct plain_run {
    int64_t n_taken; /* of the text */
    int64_t n_out;
    int is_after_space; /* the last byte taken gave a space, put out or not */
} plain_run;

/* Normalizes as much of text[0..n_bytes-1] as needs no look-up, in the form that has one byte for a space: characters
 * that stand for themselves or become one of ASCII, and where spaces after spaces are removed, those. It does rules 3
 * and 4 of normalize.c, so the first item must be out, and a space at the end may have to be taken back. It ends where
 * an item must be looked up, at the end of the text, which is not read beyond, or where less than PLAIN_ROOM_BYTES of
 * out[0..room-1] are left: so many there must be, and what is behind the result is overwritten.
 *   is_after_space   what came before gave a space last; always 0 where they are not removed */
typedef plain_run (*plain_normalize)(const unitok_normalizer *n, const uint8_t *text, int64_t n_bytes,
                                     int is_after_space, uint8_t *out, int64_t room);

/* That for an instruction set that unitok_cpu_supported. SSE2 has none of its own: it cannot look bytes up. */
plain_normalize plain_normalize_for(int32_t cpu);

plain_run plain_normalize_avx2(const unitok_normalizer *n, const uint8_t *text, int64_t n_bytes, int is_after_space,
                               uint8_t *out, int64_t room);
plain_run plain_normalize_neon(const unitok_normalizer *n, const uint8_t *text, int64_t n_bytes, int is_after_space,
                               uint8_t *out, int64_t room);

/* Fills n->plain and what is left of n->classes, after all keys and symbols are classed. In n->plain.kinds, LOOK is
 * set for ASCII that begins a key or symbol with ASCII, or is second in one behind a character from 0x80 on. */
void plain_build(unitok_normalizer *n);
