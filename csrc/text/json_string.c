/* json_string.c - JSON strings: escapes, causes of errors, and the portable level */

#include "text/json.h"
#include "ground/cpu.h"
#include "ground/utf8.h"

#define ONES 0x0101010101010101u
#define HIGHS 0x8080808080808080u

const uint8_t json_short_escapes[256] = {
    ['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
    ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t',
};

/* The value of a hexadecimal digit; 16 for all other bytes. */
static const uint8_t digits[256] = {
#define X 16
#define X16 X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X
    X16, X16, X16, 0,  1,  2, 3, 4, 5, 6, 7,   8,   9,   X,   X,   X,   X,   X,   X,   X,  10,
    11,  12,  13,  14, 15, X, X, X, X, X, X,   X,   X,   X,   X16, X,   10,  11,  12,  13, 14,
    15,  X,   X,   X,  X,  X, X, X, X, X, X16, X16, X16, X16, X16, X16, X16, X16, X16,
#undef X16
#undef X
};

/* Returns the value of four hexadecimal digits, or -1. */
INLINE int32_t hex4(const uint8_t *p)
{
    int32_t a = digits[p[0]], b = digits[p[1]], c = digits[p[2]], d = digits[p[3]];
    return (a | b | c | d) & 16 ? -1 : a << 12 | b << 8 | c << 4 | d;
}

/* Reads the escape at the beginning of p[0..n-1]; p[0] is its backslash. Returns its length, or 0
 * if it is invalid. *ret_code is the character, or a lone surrogate.
 *
 *     \n              2 bytes
 *     \u00e9          6 bytes
 *     \ud83d\ude00    12 bytes: a high and a low surrogate are one character, U+1F600
 *
 * A high surrogate followed by anything else, even by another high one, is lone, and only its own
 * six bytes are read. */
INLINE int64_t escape_read(const uint8_t *p, int64_t n, int32_t *ret_code)
{
    if (n < 2) return 0;
    *ret_code = json_short_escapes[p[1]];
    if (*ret_code) return 2;
    if (p[1] != 'u') return 0;
    int32_t code = n < 6 ? -1 : hex4(p + 2);
    if (code < 0) return 0;
    *ret_code = code;
    if (code < 0xD800 || code > 0xDBFF || n < 12 || p[6] != '\\' || p[7] != 'u') return 6;
    int32_t low = hex4(p + 8);
    if (low < 0xDC00 || low > 0xDFFF) return 6;
    *ret_code = 0x10000 + ((code - 0xD800) << 10 | (low - 0xDC00));
    return 12;
}

/* Escapes often occur in runs, as when all non-ASCII text is escaped, so this reads a complete run.
 * Lone surrogates have no UTF-8; they are left out, and the first one is recorded, so that the
 * caller can report it. */
int64_t json_escapes_take(const uint8_t *p, int64_t n, int64_t i, uint8_t *out, json_string *ret)
{
    int64_t at = 0, o = 0;
    do {
        int32_t code = 0;
        int64_t length = escape_read(p + at, n - at, &code);
        if (length == 0) {
            ret->error = UNITOK_JSON_ESCAPE;
            ret->error_at = i + at;
            return 0;
        }
        if (code >= 0xD800 && code <= 0xDFFF) {
            if (!ret->surrogate) {
                ret->surrogate = code;
                ret->surrogate_at = i + at;
            }
        } else if (out) {
            o += utf8_encode((uint32_t)code, out + o);
        }
        at += length;
    } while (at < n && p[at] == '\\');
    ret->n_out += o;
    return at;
}

/* JSON does not allow newlines in strings, so a newline ends the string, and a missing quote
 * invalidates only one line. n_bytes = 0 tells the caller that the string is invalid. */
void json_string_fail(const uint8_t *in, int64_t n, int64_t i, json_string *ret)
{
    ret->n_bytes = 0;
    ret->error = i >= n || in[i] == '\n' ? UNITOK_JSON_STRING_ENDS : UNITOK_JSON_CONTROL;
    ret->error_at = i;
}

/* -------------------------------------------------------------------------------- Portable ---- */

/* Returns a word that is nonzero in the lowest byte that is a quote, a backslash or below 0x20, and
 * perhaps in bytes above it. A byte of x ^ c is 0 if that byte of x is c; subtracting 1 then
 * borrows into its high bit. A borrow can also mark the byte above, but no quote, backslash or
 * control character is missed, and bytes above 0x7F are excluded. */
INLINE uint64_t specials_portable(const uint8_t *in, uint8_t *out, uint64_t *high)
{
    uint64_t x = load_u64(in);
    uint64_t quotes = (x ^ (ONES * '"')) - ONES, backslashes = (x ^ (ONES * '\\')) - ONES;
    if (out) memcpy(out, &x, 8);
    *high |= x & HIGHS;
    return ((x - ONES * 0x20) | quotes | backslashes) & ~x & HIGHS;
}

/* Checks eight ASCII bytes at a time, and other characters one by one. */
static int check_portable(const uint8_t *text, int64_t n)
{
    int64_t i = 0;
    while (i < n) {
        while (n - i >= 8 && !(load_u64(text + i) & HIGHS)) i += 8;
        if (i >= n) break;
        int length = utf8_length(text + i, n - i);
        if (!length) return 0;
        i += length;
    }
    return 1;
}

#define LEVEL(name) name##_portable
#define LEVEL_TARGET
#define BLOCK 8
#define SPECIALS specials_portable
#define FIRST(specials) (lowest_bit(specials) >> 3)
#include "text/json_string_run.h"

const json_level json_portable = {take_portable, skip_portable, check_portable};

const json_level *json_level_of(int32_t cpu)
{
    if (cpu == UNITOK_CPU_AUTO) cpu = cpu_best();
#if defined(UNITOK_X86)
    if (cpu == UNITOK_CPU_SSE2) return &json_sse2;
    if (cpu == UNITOK_CPU_AVX2) return &json_avx2;
    if (cpu == UNITOK_CPU_AVX512) return &json_avx512;
#elif defined(UNITOK_ARM64)
    if (cpu == UNITOK_CPU_NEON) return &json_neon;
#endif
    return &json_portable;
}
