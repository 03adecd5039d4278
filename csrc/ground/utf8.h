/* utf8.h - reading and writing UTF-8
 *
 *     bytes of a character     first        second              third, fourth
 *     1                        00..7F
 *     2                        C2..DF       80..BF
 *     3                        E0..EF       80..BF; A0.. after E0, ..9F after ED       80..BF
 *     4                        F0..F4       80..BF; 90.. after F0, ..8F after F4       80..BF
 *
 * These ranges leave out overlong forms, surrogates and everything above U+10FFFF. Untrusted text
 * is read with utf8_length, which checks them. Text that is known to be valid, or whose characters
 * are defined by their first bytes alone, as in SentencePiece, is read with char_bytes. */
#pragma once

#include "ground/common.h"

/* Bytes 80..BF: they never begin a character, so the next character boundary can be found from any
 * position. */
INLINE int is_continuation(uint8_t byte) { return (byte & 0xC0) == 0x80; }

/* The length of the character whose first byte is `lead`. A continuation byte counts as a character
 * of one byte, so that a walk over invalid text always advances. */
INLINE int char_bytes(uint8_t lead)
{
    return lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

/* The length of the character at the start of text[0..n_bytes-1], n_bytes >= 1; 0 if it is
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

/* The code point of a character of n_bytes bytes, which utf8_length or char_bytes returned. */
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

#define UTF8_INVALID 0xFFFD /* stands for an invalid byte */

/* The character at the start of text[0..n_bytes-1], n_bytes >= 1; UTF8_INVALID if no valid
 * character begins there. */
INLINE uint32_t utf8_at(const uint8_t *text, int64_t n_bytes)
{
    int n = utf8_length(text, n_bytes);
    return n ? utf8_code_point(text, n) : UTF8_INVALID;
}

/* The size of the character that utf8_at returns; 1 for an invalid byte. */
INLINE int64_t utf8_bytes_at(const uint8_t *text, int64_t n_bytes)
{
    int n = utf8_length(text, n_bytes);
    return n ? n : 1;
}

/* The size of the character that ends before text[i]; 1 for an invalid byte. */
INLINE int64_t utf8_bytes_before(const uint8_t *text, int64_t i)
{
    int64_t n = 1;
    while (n < 4 && n < i && is_continuation(text[i - n])) n++;
    return utf8_length(text + i - n, n) == n ? n : 1;
}

/* The character that ends before text[i], i >= 1; UTF8_INVALID for an invalid byte. */
INLINE uint32_t utf8_before(const uint8_t *text, int64_t i)
{
    if (text[i - 1] < 0x80) return text[i - 1];
    int64_t n = utf8_bytes_before(text, i);
    return utf8_at(text + i - n, n);
}

/* Writes any code point and returns its number of bytes. The lead byte holds the bits above those
 * of the continuation bytes. */
INLINE int utf8_encode(uint32_t code_point, uint8_t ret[4])
{
    static const uint8_t leads[5] = {0, 0, 0xC0, 0xE0, 0xF0};
    int n = code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
    ret[0] = (uint8_t)(leads[n] | code_point >> 6 * (n - 1));
    if (n > 3) ret[n - 3] = (uint8_t)(0x80 | (code_point >> 12 & 0x3F));
    if (n > 2) ret[n - 2] = (uint8_t)(0x80 | (code_point >> 6 & 0x3F));
    if (n > 1) ret[n - 1] = (uint8_t)(0x80 | (code_point & 0x3F));
    return n;
}

/* Whether text[0..n_bytes-1] consists of complete characters, as defined at the top of this file;
 * text/utf8_check.h is faster. */
INLINE int utf8_is_valid(const uint8_t *text, int64_t n_bytes)
{
    for (int64_t i = 0; i < n_bytes;) {
        int length = utf8_length(text + i, n_bytes - i);
        if (!length) return 0;
        i += length;
    }
    return 1;
}
