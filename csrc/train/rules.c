/* rules.c - tests pieces and borders against the rules of rules.h
 *
 * rules_allow checks whether a string may be a piece, and rules_cut whether a text may be cut
 * between two characters. They must agree: if rules_cut finds a border, no piece that rules_allow
 * accepts may cross it, or units would lose pieces. The reverse is not required: a missed border
 * only makes units longer. */

#include "train/rules.h"

#include "ground/alloc.h"
#include "ground/error.h"

#define BYTE_LEVEL_CHARS_MAX 512 /* the maximum of max_sentencepiece_length */

/* The script of every code point is looked up once, in a table of 1.1 MB: the rules test a
 * character at each step of every search. */
int32_t unitok_rules_new(int32_t flags, int32_t max_chars, unitok_rules **ret, unitok_error *error)
{
    if (flags < 0 || flags > UNITOK_RULES_ALL || max_chars < 1 ||
        (flags & UNITOK_RULE_BYTE_LEVEL && max_chars > BYTE_LEVEL_CHARS_MAX))
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1,
                    "the flags or max_chars of the rules are invalid");
    unitok_rules *rules = mem_alloc(sizeof *rules);
    if (!rules) return fail_memory(error);
    rules->flags = flags;
    rules->max_chars = max_chars;
    script_fill(rules->scripts);
    *ret = rules;
    return UNITOK_OK;
}

void unitok_rules_free(unitok_rules *rules) { mem_free(rules); }

/* Whether the bytes are U+2581 and nothing else. */
static int is_all_spaces(const uint8_t *piece, int64_t n_bytes)
{
    for (int64_t i = 0; i < n_bytes; i += 3)
        if (piece[i] != 0xE2 || n_bytes - i < 3 || piece[i + 1] != 0x96 || piece[i + 2] != 0x81)
            return 0;
    return 1;
}

/* Rule 2 for a U+2581 that begins at byte `at`. Called for every U+2581 of a piece. */
static int space_allowed(int32_t flags, int64_t at, int64_t n_bytes)
{
    int is_first = at == 0, is_last = at + 3 == n_bytes;
    if (flags & UNITOK_RULE_WHITESPACE_AS_SUFFIX)
        return is_last || (!(flags & UNITOK_RULE_SPLIT_BY_WHITESPACE) && !is_first);
    return is_first || (!(flags & UNITOK_RULE_SPLIT_BY_WHITESPACE) && !is_last);
}

/* Applies the rules character by character. `before` is the script so far. It starts as SCRIPT_ANY,
 * which matches every script. */
static int allow_text(const unitok_rules *rules, const uint8_t *piece, int64_t n_bytes)
{
    int32_t flags = rules->flags;
    int spaces_only = (flags & UNITOK_RULE_WHITESPACE_ONLY) && is_all_spaces(piece, n_bytes);
    int before = SCRIPT_ANY, n;
    int64_t n_chars = 0;
    for (int64_t i = 0; i < n_bytes; i += n) {
        uint32_t c = char_at(piece + i, &n);
        if (rules_exclude(c) || ++n_chars > rules->max_chars) return 0;
        if (c == CHAR_SPACE) {
            if (!spaces_only && !space_allowed(flags, i, n_bytes)) return 0;
            continue;
        }
        int script = rules->scripts[c];
        if (script == SCRIPT_INHERITED) script = before;
        if (is_digit(c)) {
            if (!(flags & UNITOK_RULE_SPLIT_BY_NUMBER)) script = SCRIPT_ANY;
            if ((flags & UNITOK_RULE_SPLIT_DIGITS) && n_bytes > n) return 0;
        }
        if ((flags & UNITOK_RULE_SPLIT_BY_SCRIPT) && script != SCRIPT_ANY && before != SCRIPT_ANY &&
            script != before)
            return 0;
        before = script;
    }
    return n_chars > 0;
}

/* The byte for which a character stands: see UNITOK_RULE_BYTE_LEVEL. Printable bytes stand for
 * themselves, and the others for the characters from U+0100 on, in order. */
INLINE uint8_t byte_of(uint32_t c)
{
    return (uint8_t)(c < 0x100 ? c : c < 0x121 ? c - 0x100 : c < 0x143 ? c - 0x121 + 0x7F : 0xAD);
}

/* Whether bytes lie within one character: continuation bytes alone, or a lead byte with too few of
 * them. */
static int is_part_of_char(const uint8_t *bytes, int64_t n)
{
    int64_t n_all = is_continuation(bytes[0])            ? 4
                    : bytes[0] < 0xC2 || bytes[0] > 0xF4 ? 0
                                                         : char_bytes(bytes[0]);
    for (int64_t i = 1; i < n; i++)
        if (!is_continuation(bytes[i])) return 0;
    return n < n_all;
}

/* At byte level a piece consists of characters that each stand for a byte. They are converted back
 * to bytes, and the rules apply to the text that the bytes encode. Bytes that are invalid UTF-8 can
 * still be a part of one character. */
static int allow_byte_level(const unitok_rules *rules, const uint8_t *piece, int64_t n_bytes)
{
    uint8_t bytes[4 * BYTE_LEVEL_CHARS_MAX], text[4 * BYTE_LEVEL_CHARS_MAX + 3];
    int64_t n = 0, n_text = 0;
    int n_char;
    for (int64_t i = 0; i < n_bytes; i += n_char) {
        uint32_t c = char_at(piece + i, &n_char);
        if (n == 4 * (int64_t)rules->max_chars || rules_exclude(c)) return 0;
        bytes[n++] = byte_of(c);
    }
    if (!n || !utf8_is_valid(bytes, n)) return n && is_part_of_char(bytes, n);
    for (int64_t i = 0; i < n; i++) {
        if (n_text + 3 > (int64_t)sizeof text) return 0;
        if (bytes[i] == ' ') n_text += utf8_encode(CHAR_SPACE, text + n_text);
        else text[n_text++] = bytes[i];
    }
    return allow_text(rules, text, n_text);
}

/* The kind of rules is chosen once for a piece, not at each character. */
int rules_allow(const unitok_rules *rules, const uint8_t *piece, int64_t n_bytes)
{
    return (rules->flags & UNITOK_RULE_BYTE_LEVEL ? allow_byte_level : allow_text)(rules, piece,
                                                                                   n_bytes);
}

/* For external callers, whose bytes need not be valid UTF-8. */
int32_t unitok_rules_allow(const unitok_rules *rules, const uint8_t *piece, int64_t n_bytes)
{
    return utf8_is_valid(piece, n_bytes) && rules_allow(rules, piece, n_bytes);
}

/* A space is first or last in a piece, so the cut is before or after it. */
int rules_cut(const unitok_rules *rules, uint32_t a, uint32_t b)
{
    int32_t flags = rules->flags;
    if (rules_exclude(a) || rules_exclude(b)) return 1;
    if (a == CHAR_SPACE || b == CHAR_SPACE) {
        if (!(flags & UNITOK_RULE_SPLIT_BY_WHITESPACE)) return 0;
        if (a == b) return !(flags & UNITOK_RULE_WHITESPACE_ONLY);
        return (flags & UNITOK_RULE_WHITESPACE_AS_SUFFIX) ? a == CHAR_SPACE : b == CHAR_SPACE;
    }
    if ((flags & UNITOK_RULE_SPLIT_DIGITS) && (is_digit(a) || is_digit(b))) return 1;
    if (!(flags & UNITOK_RULE_SPLIT_BY_SCRIPT)) return 0;
    if (!(flags & UNITOK_RULE_SPLIT_BY_NUMBER) && (is_digit(a) || is_digit(b))) return 0;
    int left = rules->scripts[a], right = rules->scripts[b];
    return left != right && left != SCRIPT_INHERITED && right != SCRIPT_INHERITED;
}
