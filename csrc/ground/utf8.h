/* utf8.h - whole characters of UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF */
#pragma once

#include "ground/common.h"

INLINE int is_continuation(uint8_t byte)
{
    return (byte & 0xC0) == 0x80;
}

/* The bytes of the character that text[0..n_bytes-1] begins with, n_bytes >= 1; 0 if it is
 * malformed or truncated. */
INLINE int utf8_length(const uint8_t *text, int64_t n_bytes)
{
    uint8_t lead = text[0];
    if (lead < 0x80) return 1;
    if (lead < 0xC2 || n_bytes < 2 || !is_continuation(text[1])) return 0;
    if (lead < 0xE0) return 2;
    if (n_bytes < 3 || !is_continuation(text[2])) return 0;
    if (lead < 0xF0) {
        if (lead == 0xE0 && text[1] < 0xA0) return 0;
        return lead == 0xED && text[1] >= 0xA0 ? 0 : 3;
    }
    if (n_bytes < 4 || !is_continuation(text[3]) || lead > 0xF4) return 0;
    if (lead == 0xF0 && text[1] < 0x90) return 0;
    return lead == 0xF4 && text[1] >= 0x90 ? 0 : 4;
}

/* The code point of a character of n_bytes bytes, as utf8_length gave them. */
INLINE uint32_t utf8_code_point(const uint8_t *text, int n_bytes)
{
    switch (n_bytes) {
    case 1:
        return text[0];
    case 2:
        return (text[0] & 0x1Fu) << 6 | (text[1] & 0x3Fu);
    case 3:
        return (text[0] & 0x0Fu) << 12 | (text[1] & 0x3Fu) << 6 | (text[2] & 0x3Fu);
    default:
        return (text[0] & 0x07u) << 18 | (text[1] & 0x3Fu) << 12 | (text[2] & 0x3Fu) << 6 |
               (text[3] & 0x3Fu);
    }
}

/* The bytes of a character below U+10000; returns how many. */
INLINE int utf8_encode(uint32_t code_point, uint8_t ret[3])
{
    uint8_t last = (uint8_t)(0x80 | (code_point & 0x3F));
    if (code_point < 0x80) {
        ret[0] = (uint8_t)code_point;
        return 1;
    }
    if (code_point < 0x800) {
        ret[0] = (uint8_t)(0xC0 | code_point >> 6);
        ret[1] = last;
        return 2;
    }
    ret[0] = (uint8_t)(0xE0 | code_point >> 12);
    ret[1] = (uint8_t)(0x80 | (code_point >> 6 & 0x3F));
    ret[2] = last;
    return 3;
}

/* Is the whole text valid? */
INLINE int utf8_is_valid(const uint8_t *text, int64_t n_bytes)
{
    for (int64_t i = 0; i < n_bytes;) {
        int length = utf8_length(text + i, n_bytes - i);
        if (!length) return 0;
        i += length;
    }
    return 1;
}
