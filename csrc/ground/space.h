/* space.h - U+2581, the character that SentencePiece models use in place of a space, and its
 * compact form
 *
 * In normalized text inside the library, U+2581 is stored as one byte, a space, so pieces are
 * shorter, and cuts are found with the same tables as in raw text. If spaces are escaped,
 * normalized text has no other spaces, so nothing is lost; if they are not escaped, U+2581 is a
 * character like any other. */
#pragma once

#include "ground/common.h"

#define SPACE_BYTE 0x20
static const uint8_t space_symbol[3] = {0xE2, 0x96, 0x81};

/* Returns whether text[0..n_bytes-1] begins with U+2581. */
INLINE int space_symbol_begins(const uint8_t *text, int64_t n_bytes)
{
    return n_bytes >= 3 && text[0] == space_symbol[0] && text[1] == space_symbol[1] &&
           text[2] == space_symbol[2];
}

/* Copies text, replacing each U+2581 with one SPACE_BYTE, and returns the new size. `out` may be
 * `text` itself, or NULL to measure. */
static inline int64_t space_symbols_close(const uint8_t *text, int64_t n_bytes, uint8_t *out)
{
    int64_t n = 0;
    for (int64_t i = 0; i < n_bytes; i++, n++) {
        int is_symbol = space_symbol_begins(text + i, n_bytes - i);
        if (out) out[n] = is_symbol ? SPACE_BYTE : text[i];
        if (is_symbol) i += 2;
    }
    return n;
}

/* Sets *ret to the bytes that one byte of a text stands for: the byte itself, or U+2581 for a space
 * in compact text. Returns their number. */
INLINE int space_symbol_open(int is_compact, const uint8_t *byte, const uint8_t **ret)
{
    int is_space = is_compact && *byte == SPACE_BYTE;
    *ret = is_space ? space_symbol : byte;
    return is_space ? 3 : 1;
}
