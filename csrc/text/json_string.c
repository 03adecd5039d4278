/* json_string.c - JSON strings into the UTF-8 they stand for
 *
 *     in    "caf\u00e9"  "\ud83d\ude00"  "a\nb"           strings with their quotes, laid end to end
 *     out   c a f C3 A9 | F0 9F 98 80 | a 0A b            offsets 0 5 9 12
 *
 * A string's bytes are one of: a closing quote, an escape, a control character (which must be escaped), UTF-8. Runs of
 * ASCII without any of these are copied eight bytes at a time. Nothing grows: the longest text for its escape is \uXXXX,
 * three bytes for six, so the output never catches up with the input, and eight bytes may be stored where eight are read.
 *
 * UTF-8 is what Unicode 15, table 3-7 allows: no overlong forms, no surrogates, nothing above U+10FFFF.
 */
#include "ground/common.h"

#define ONES 0x0101010101010101u
#define HIGHS 0x8080808080808080u

/* Nonzero unless all eight bytes are ASCII, printable, and neither a quote nor a backslash. A byte of x ^ c is 0 where c
 * stands; subtracting 1 then borrows into its high bit. A borrow can mark the byte above it too, never miss one. */
INLINE uint64_t marks(uint64_t x)
{
    uint64_t quotes = (x ^ (ONES * '"')) - ONES, backslashes = (x ^ (ONES * '\\')) - ONES;
    return (x | (x - ONES * 0x20) | quotes | backslashes) & HIGHS;
}

INLINE int is_continuation(uint8_t c)
{
    return (c & 0xC0) == 0x80;
}

/* The length of the UTF-8 sequence that begins p[0..n-1] with a byte >= 0x80; 0 if none does. */
INLINE int sequence_length(const uint8_t *p, int64_t n)
{
    uint8_t c = p[0];
    if (c < 0xE0) return c >= 0xC2 && n >= 2 && is_continuation(p[1]) ? 2 : 0;
    if (c < 0xF0) {
        if (n < 3 || !is_continuation(p[1]) || !is_continuation(p[2])) return 0;
        if (c == 0xE0 && p[1] < 0xA0) return 0;
        if (c == 0xED && p[1] >= 0xA0) return 0;
        return 3;
    }
    if (c > 0xF4 || n < 4 || !is_continuation(p[1]) || !is_continuation(p[2]) || !is_continuation(p[3])) return 0;
    if (c == 0xF0 && p[1] < 0x90) return 0;
    if (c == 0xF4 && p[1] >= 0x90) return 0;
    return 4;
}

/* The number that four hexadecimal digits write, or -1. */
static int32_t hex4(const uint8_t *p)
{
    int32_t v = 0;
    for (int i = 0; i < 4; i++) {
        uint8_t c = p[i], letter = (uint8_t)(c | 0x20);
        if (c >= '0' && c <= '9') v = v << 4 | (c - '0');
        else if (letter >= 'a' && letter <= 'f') v = v << 4 | (letter - 'a' + 10);
        else return -1;
    }
    return v;
}

static int64_t utf8_put(uint8_t *out, int32_t code)
{
    if (code < 0x80) {
        out[0] = (uint8_t)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (uint8_t)(0xC0 | code >> 6);
        out[1] = (uint8_t)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (uint8_t)(0xE0 | code >> 12);
        out[1] = (uint8_t)(0x80 | (code >> 6 & 0x3F));
        out[2] = (uint8_t)(0x80 | (code & 0x3F));
        return 3;
    }
    out[0] = (uint8_t)(0xF0 | code >> 18);
    out[1] = (uint8_t)(0x80 | (code >> 12 & 0x3F));
    out[2] = (uint8_t)(0x80 | (code >> 6 & 0x3F));
    out[3] = (uint8_t)(0x80 | (code & 0x3F));
    return 4;
}

/* Reads the escape that begins p[0..n-1] with a backslash: its length, or 0 if it is none; *code is what it stands for. */
static int64_t escape_read(const uint8_t *p, int64_t n, int32_t *code)
{
    if (n < 2) return 0;
    switch (p[1]) {
    case '"':
    case '\\':
    case '/': *code = p[1]; return 2;
    case 'b': *code = '\b'; return 2;
    case 'f': *code = '\f'; return 2;
    case 'n': *code = '\n'; return 2;
    case 'r': *code = '\r'; return 2;
    case 't': *code = '\t'; return 2;
    case 'u': break;
    default: return 0;
    }
    if (n < 6 || (*code = hex4(p + 2)) < 0) return 0;
    if (*code < 0xD800 || *code > 0xDFFF) return 6;
    if (*code > 0xDBFF || n < 12 || p[6] != '\\' || p[7] != 'u') return 0;
    int32_t low = hex4(p + 8);
    if (low < 0xDC00 || low > 0xDFFF) return 0;
    *code = 0x10000 + ((*code - 0xD800) << 10 | (low - 0xDC00));
    return 12;
}

/* Unescapes the string that begins in[0..n-1]: its length with both quotes, or 0 if none begins there that is whole and
 * right; *ret_n_out bytes went to out. */
static int64_t string_unescape(const uint8_t *in, int64_t n, uint8_t *out, int64_t *ret_n_out)
{
    if (n < 2 || in[0] != '"') return 0;
    int64_t i = 1, o = 0;
    for (;;) {
        while (n - i >= 8) {
            uint64_t x = load_u64(in + i), mark = marks(x);
            memcpy(out + o, &x, 8);
            if (mark) {
                int n_clean = lowest_bit(mark) >> 3;
                i += n_clean;
                o += n_clean;
                break;
            }
            i += 8;
            o += 8;
        }
        if (i >= n) return 0;
        uint8_t c = in[i];
        if (c == '"') {
            *ret_n_out = o;
            return i + 1;
        }
        if (c >= 0x80) {
            /* Text that is not ASCII seldom is for one character only. */
            do {
                int length = sequence_length(in + i, n - i);
                if (length == 0) return 0;
                for (int k = 0; k < length; k++) out[o + k] = in[i + k];
                i += length;
                o += length;
            } while (i < n && in[i] >= 0x80);
        } else if (c == '\\') {
            int32_t code;
            int64_t length = escape_read(in + i, n - i, &code);
            if (length == 0) return 0;
            i += length;
            o += utf8_put(out + o, code);
        } else if (c < 0x20) {
            return 0;
        } else {
            out[o++] = c;
            i++;
        }
    }
}

int64_t unitok_json_unescape(const uint8_t *json, int64_t n_bytes, int64_t n_strings, uint8_t *out, int64_t *offsets)
{
    int64_t at = 0;
    offsets[0] = 0;
    for (int64_t k = 0; k < n_strings; k++) {
        int64_t n_out = 0;
        int64_t length = string_unescape(json + at, n_bytes - at, out + offsets[k], &n_out);
        if (length == 0) return k;
        at += length;
        offsets[k + 1] = offsets[k] + n_out;
    }
    return n_strings;
}
