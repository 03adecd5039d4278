/* rules.h - which strings may be pieces, and where a text can be cut because no piece may cross the
 * cut
 *
 * The rules are sentencepiece's (IsValidSentencePiece in its trainer_interface.cc):
 *
 * 1. A piece has 1..max_chars characters, none of them NUL, space, U+2585 (unknown) or U+001F (a
 *    boundary).
 * 2. U+2581 (a space) occurs only at the start or, with WHITESPACE_AS_SUFFIX, only at the end;
 *    without SPLIT_BY_WHITESPACE also inside. With WHITESPACE_ONLY a piece may also consist of
 *    U+2581 alone.
 * 3. With SPLIT_DIGITS a digit is always a piece by itself.
 * 4. With SPLIT_BY_SCRIPT neighbouring characters have the same script. U+2581 is ignored,
 *    combining marks continue the script before them, and without SPLIT_BY_NUMBER digits match any
 *    script.
 *
 * With BYTE_LEVEL, which sentencepiece does not have, a text consists of characters that stand for
 * bytes. A piece is then a part of one character, or complete characters to which all of these
 * rules apply.
 *
 * With SPLIT_BY_WHITESPACE, SPLIT_BY_SCRIPT and SPLIT_BY_NUMBER, for example:
 *
 *     ▁the         allowed
 *     the▁         no: U+2581 is not first
 *     ▁the▁cat     no: the second U+2581 is inside
 *     v2           no: digits and letters differ in script; allowed without SPLIT_BY_NUMBER
 *     10           allowed; not with SPLIT_DIGITS
 *     漢字かな      allowed: Han and kana are one script here */
#pragma once

#include "ground/common.h"
#include "unitok_train.h"
#include "ground/utf8.h"
#include "text/script.h"

#define CHAR_SPACE 0x2581u
#define CHAR_UNKNOWN 0x2585u
#define CHAR_BOUNDARY 0x1Fu
#define SCRIPT_ANY 255 /* matches every script */

/* Immutable and shared by all threads. The scripts are defined as in sentencepiece, in which
 * Hiragana, Katakana and Han are one. */
struct unitok_rules {
    int32_t flags; /* of enum unitok_rule_flags */
    int32_t max_chars;
    uint8_t scripts[SCRIPT_CODE_POINTS];
};

/* Reads a character of valid UTF-8. */
INLINE uint32_t char_at(const uint8_t *text, int *ret_n_bytes)
{
    *ret_n_bytes = char_bytes(text[0]);
    return utf8_code_point(text, *ret_n_bytes);
}

/* Every byte that is not a continuation byte begins a character. */
INLINE int64_t count_chars(const uint8_t *text, int64_t n_bytes)
{
    int64_t n = 0;
    for (int64_t i = 0; i < n_bytes; i++) n += !is_continuation(text[i]);
    return n;
}

INLINE int is_digit(uint32_t c) { return (c >= '0' && c <= '9') || (c >= 0xFF10 && c <= 0xFF19); }

/* Whether these bytes, which are valid UTF-8, may be a piece. */
int rules_allow(const unitok_rules *rules, const uint8_t *piece, int64_t n_bytes);

/* The maximum size of a piece, in characters of a unit. At byte level, each character of the text
 * takes up to four of these. */
INLINE int64_t rules_max_symbols(const unitok_rules *rules)
{
    return (rules->flags & UNITOK_RULE_BYTE_LEVEL ? 4 : 1) * (int64_t)rules->max_chars;
}

/* Whether no piece can contain character a followed by b. It may return 0 for a border that no
 * piece crosses, which only makes units longer. */
int rules_cut(const unitok_rules *rules, uint32_t a, uint32_t b);

/* Whether no piece can contain c. */
INLINE int rules_exclude(uint32_t c)
{
    return c == CHAR_UNKNOWN || c == CHAR_BOUNDARY || c == 0 || c == ' ';
}
