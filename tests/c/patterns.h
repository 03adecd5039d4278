/* patterns.h - for C tests of pre-tokenizer patterns: real patterns, parts of difficult texts, and
 * a check of the borders at which a pattern allows dividing a text */
#pragma once

#include "check.h"
#include "ground/utf8.h"
#include "text/pattern.h"

#define CONTRACTION "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define SPACES "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

/* NUL separates the parts, and an empty part ends the pattern. */
static const char *const PATTERNS[] = {
    "o's|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+\0",
    "o" CONTRACTION
    "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" SPACES "\0",
    "i" CONTRACTION
    "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" SPACES
    "\0",
    "o[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" CONTRACTION "?|[^\\r\\n\\p{L}\\p{N}]?" UPPER
    "+" LOWER "*" CONTRACTION "?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" SPACES "\0",
    "o\\p{N}{1,3}\0o[一-龥぀-ゟ゠-ヿ]+\0o[!-/"
    ":-~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| "
    "?[\\p{P}\\p{S}]+[\r\n]*|" SPACES "\0",
    "o\\p{HfNumeric}\0o's|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| "
    "?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
    "\0",
    "o[\r\n]\0o\\s?\\p{L}+\0o\\s?\\p{P}+\0o\\s+$\0o[一-龥ࠀ-一가-퟿]+\0o\\p{HfNumeric}\0",
    "o ?[^(\\s|[.,!?…。，、।۔،])]+\0",
    "t'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|\\p{N}{1,3}+| "
    "?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|"
    "\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s\0",
    "o<a:[0-9]+>\0o(ab|a){1,3}b\0o([\\t\\n]|    |  )\0o(?=[^x])[a-z&&[^q]]{2,}?(?!a)\0",
    "o\\s{16}(?!\\S)|\\s{4}(?!\\S)|\\s{1,2}(?!\\S)|\\s\0",
    "o[\\p{Han}]+|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lm}&&[^\\p{Han}]]*[\\p{Ll}\\p{Lm}&&[^\\p{Han}]]"
    "+|" SPACES "\0",
    "oa(?:\\p{L}\\p{M}*(?: \\p{L}\\p{M}*)*)+\0",
};
enum { N_PATTERNS = sizeof PATTERNS / sizeof *PATTERNS };

static inline int64_t pattern_length(const char *parts)
{
    int64_t n = 0;
    while (parts[n]) n += (int64_t)strlen(parts + n) + 1;
    return n - 1;
}

static const char *const PATTERN_ATOMS[] = {
    "a",
    "b",
    "A",
    "z",
    "s",
    "'s",
    "'LL",
    "'ve",
    "'",
    " ",
    "  ",
    "    ",
    "\n",
    "\r",
    "\r\n",
    "\t",
    "1",
    "12",
    "9",
    ".",
    ",",
    "!",
    "<a:",
    ">",
    "(",
    "|",
    "\xC5\xBF",
    "\xC3\xA9",
    "e\xCC\x81",
    "\xCC\x81",
    "\xD0\x94",
    "\xC2\xA0",
    "\xC2\x85",
    "\xE3\x80\x80",
    "\xE4\xB8\x80",
    "\xE3\x81\x8B",
    "\xE3\x83\xBC",
    "\xEF\xBC\x8C",
    "\xF0\x9F\x98\x80",
    "\xF3\xA0\x84\x80",
    "\xE2\x80\x8B",
    "\xE2\x85\xA7",
    "\xC2\xBD",
    "\xE2\x81\xBA",
    "\xF0\x91\xB7\xA0",
    "\x1C",
    "\x7F",
    "\xC0",
    "\xE4\xB8",
    "\xF0\x9F\x98",
    "\x80",
    "\xFF",
    "\xED\xA0\x80",
    "/",
    "$",
    "-",
    "x",
    "q",
    "\0",
};

/* Sets is_end[k], 1 <= k <= n_bytes, to whether a piece of the text ends at k. */
static inline void find_ends(const pattern *p, const uint8_t *text, int64_t n_bytes,
                             uint8_t *is_end)
{
    pattern_state state;
    memset(&state, 0, sizeof state);
    memset(is_end, 0, (size_t)n_bytes + 1);
    for (int64_t at = 0; at < n_bytes;) {
        int64_t end = pattern_next(p, &state, text, at, n_bytes);
        CHECK(end > at && end <= n_bytes);
        is_end[at = end] = 1;
    }
}

static inline uint8_t class_at(const pattern *p, const uint8_t *text, int64_t n_bytes,
                               int64_t *io_at)
{
    int length = utf8_length(text + *io_at, n_bytes - *io_at);
    uint32_t code = length ? utf8_code_point(text + *io_at, length) : 0xFFFD;
    *io_at += length ? length : 1;
    return pattern_class_of(p, code);
}

/* Divides a text between two characters wherever the pattern allows it, and checks the pieces. */
static inline void check_borders(const pattern *p, const uint8_t *text, int64_t n_bytes,
                                 int64_t *counts)
{
    uint8_t *whole = malloc(2 * (size_t)n_bytes + 2), *part = whole + n_bytes + 1;
    find_ends(p, text, n_bytes, whole);
    uint8_t before = 0;
    for (int64_t at = 0; at < n_bytes;) {
        int64_t border = at;
        uint8_t after = class_at(p, text, n_bytes, &at);
        int kind = border ? pattern_between(p, before, after) : PATTERN_BOUND;
        before = after;
        counts[kind]++;
        if (kind == PATTERN_BOUND) continue;
        if (kind == PATTERN_CUT) CHECK(whole[border]);
        find_ends(p, text, border, part);
        CHECK(!memcmp(part + 1, whole + 1, (size_t)border - 1));
        find_ends(p, text + border, n_bytes - border, part);
        CHECK(!memcmp(part + 1, whole + border + 1, (size_t)(n_bytes - border)));
    }
    free(whole);
}
