/* utf8_check.h - tables for validating UTF-8 with three lookups of half bytes
 *
 * Whether one byte may follow another depends on both halves of the first byte and on the upper
 * half of the second. Each table contains, for a half byte, a bit for every error in which it can
 * take part; an error is present if its bit is set in all three tables (Keiser and Lemire,
 * "Validating UTF-8 in less than one instruction per byte", 2021). The third and fourth bytes of
 * characters need one more check: two continuations in a row set TWO, which is valid only where a
 * lead of 3 or 4 bytes requires it.
 *
 *     bit          first byte            second byte       because
 *     SHORT        11xxxxxx              0xxxxxxx 11xxxxxx   a continuation is missing
 *     LONG         0xxxxxxx              10xxxxxx            an unexpected continuation
 *     TWO          10xxxxxx              10xxxxxx
 *     OVERLONG_2   C0 C1                 10xxxxxx            fits one byte
 *     OVERLONG_3   E0                    100xxxxx            fits two
 *     OVERLONG_4   F0                    1000xxxx            fits three
 *     SURROGATE    ED                    101xxxxx            U+D800..U+DFFF
 *     LARGE        F4..FF                1001xxxx 101xxxxx   above U+10FFFF
 *     LARGE_1000   F5..FF                1000xxxx            the same; shares its bit with OVERLONG_4, whose first byte differs
 */
#pragma once

#include "ground/common.h"

/* clang-format off */
enum {
    SHORT = 1, LONG = 2, OVERLONG_3 = 4, LARGE = 8, SURROGATE = 16, OVERLONG_2 = 32, LARGE_1000 = 64, OVERLONG_4 = 64,
    TWO = 128, ANY = SHORT | LONG | TWO /* for any lower half of the first byte */
};

static const uint8_t first_upper[16] = {
    LONG, LONG, LONG, LONG, LONG, LONG, LONG, LONG, TWO, TWO, TWO, TWO,
    SHORT | OVERLONG_2, SHORT, SHORT | OVERLONG_3 | SURROGATE, SHORT | LARGE | LARGE_1000 | OVERLONG_4,
};

static const uint8_t first_lower[16] = {
    ANY | OVERLONG_2 | OVERLONG_3 | OVERLONG_4, ANY | OVERLONG_2, ANY, ANY, ANY | LARGE,
    ANY | LARGE | LARGE_1000, ANY | LARGE | LARGE_1000, ANY | LARGE | LARGE_1000, ANY | LARGE | LARGE_1000,
    ANY | LARGE | LARGE_1000, ANY | LARGE | LARGE_1000, ANY | LARGE | LARGE_1000, ANY | LARGE | LARGE_1000,
    ANY | LARGE | LARGE_1000 | SURROGATE, ANY | LARGE | LARGE_1000, ANY | LARGE | LARGE_1000,
};

#define CONTINUES (LONG | OVERLONG_2 | TWO)
static const uint8_t second_upper[16] = {
    SHORT, SHORT, SHORT, SHORT, SHORT, SHORT, SHORT, SHORT, CONTINUES | OVERLONG_3 | LARGE_1000 | OVERLONG_4,
    CONTINUES | OVERLONG_3 | LARGE, CONTINUES | SURROGATE | LARGE, CONTINUES | SURROGATE | LARGE,
    SHORT, SHORT, SHORT, SHORT,
};
/* clang-format on */
