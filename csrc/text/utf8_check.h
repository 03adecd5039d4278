/* utf8_check.h - tables that validate UTF-8 with three lookups by half bytes
 *
 * Whether two bytes may follow each other depends on the first one's halves and on the second one's
 * upper half. Each table has, for a half byte, a bit for every error that it can be part of; an
 * error whose bit is set in all three is present (Keiser and Lemire, "Validating UTF-8 in less than one
 * instruction per byte", 2021). Only whether a third and fourth byte must be a continuation is
 * left: two continuations one behind another are TWO, which is right just behind a lead of 3 or 4
 * bytes.
 *
 *     bit          first byte            second byte       because
 *     SHORT        11xxxxxx              0xxxxxxx 11xxxxxx   a continuation is missing
 *     LONG         0xxxxxxx              10xxxxxx            a continuation too many
 *     TWO          10xxxxxx              10xxxxxx
 *     OVERLONG_2   C0 C1                 10xxxxxx            fits one byte
 *     OVERLONG_3   E0                    100xxxxx            fits two
 *     OVERLONG_4   F0                    1000xxxx            fits three
 *     SURROGATE    ED                    101xxxxx            U+D800..U+DFFF
 *     LARGE        F4..FF                1001xxxx 101xxxxx   above U+10FFFF
 *     LARGE_1000   F5..FF                1000xxxx            the same; shares its bit with OVERLONG_4, as F0 is not F5..FF
 */
#pragma once

#include "ground/common.h"

/* clang-format off */
enum {
    SHORT = 1, LONG = 2, OVERLONG_3 = 4, LARGE = 8, SURROGATE = 16, OVERLONG_2 = 32, LARGE_1000 = 64, OVERLONG_4 = 64,
    TWO = 128, ANY = SHORT | LONG | TWO /* whatever the first byte's lower half */
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
