/* json.h - shared by the files of the JSON lines reader: strings, and the functions of each CPU level
 * that read them
 *
 *     json.c               lines, objects, numbers: read byte by byte, because they contain few bytes
 *     json_string.c        strings, which contain nearly all bytes: the portable level, and the choice of a level
 *     json_string_run.h    the same for 16 to 64 bytes at a time; json_string_x86.c and json_string_arm.c include it
 *     utf8_check.h         whether text is UTF-8, 16 or 32 bytes at a time
 */
#pragma once

#include "ground/common.h"

/* A string that was read. Positions count from its opening quote.
 *
 *   n_bytes       including both quotes; 0 if the string is invalid: `error` tells why, and
 *                 error_at where
 *   n_out         bytes of text that `take` wrote
 *   any_high      some of its bytes may be outside ASCII
 *   surrogate     the first lone surrogate that is written as an escape, at surrogate_at; 0: none. The
 *                 text does not contain it
 */
typedef struct json_string {
    int64_t n_bytes;
    int64_t n_out;
    int64_t error_at;
    int64_t surrogate_at;
    int32_t error;
    int32_t surrogate;
    int any_high;
} json_string;

/* The functions of a level. in[0..n-1], n >= 1, begins with the opening quote of the string.
 *
 *   take    writes the text to out[0..n-1]; bytes after the text are overwritten
 *   skip    like take, but writes nothing
 *   check   returns whether text[0..n-1] is valid UTF-8
 */
typedef struct json_level {
    void (*take)(const uint8_t *in, int64_t n, uint8_t *out, json_string *ret);
    void (*skip)(const uint8_t *in, int64_t n, json_string *ret);
    int (*check)(const uint8_t *text, int64_t n);
} json_level;

/* Returns the functions of a level that this processor supports. */
const json_level *json_level_of(int32_t cpu);

extern const json_level json_portable;
#if defined(__x86_64__) || defined(_M_X64)
extern const json_level json_sse2, json_avx2, json_avx512;
#elif defined(__aarch64__) || defined(_M_ARM64)
extern const json_level json_neon;
#endif

/* Writes the text of all consecutive escapes at the beginning of p[0..n-1] to out, which may be NULL,
 * and records surrogates and errors in ret, whose string begins at p - i. Returns the number of bytes
 * read, or 0 after an error. */
int64_t json_escapes_take(const uint8_t *p, int64_t n, int64_t i, uint8_t *out, json_string *ret);

/* The character of an escape such as "\n", by its second byte; 0 for \u and for invalid escapes. */
extern const uint8_t json_short_escapes[256];

/* Records the error in the string in[0..n-1], which is invalid at byte i. */
void json_string_fail(const uint8_t *in, int64_t n, int64_t i, json_string *ret);
