/* pattern_class.c - the parts of a regex that denote sets of characters: escapes and brackets
 *
 *     [^\s\p{L}\d]     bracket    a set of ranges, escapes and nested brackets, then negated
 *     [\p{L}&&[^ſ]]    operands   intersected one by one
 *     \p{Han}  \d  \x41  \n  \z   escapes: a set, a code point, or the end of the text
 *
 * The dialects agree on most of this syntax; the differences are handled here, according to
 * p->dialect. If it is not certain which set the original engine would use, the syntax is rejected.
 * (?i) is supported for ASCII letters only.
 *
 * Functions return 0 after a failure. An escape fills *set or *code, depending on its kind
 * (ESCAPE_). */

#include "ground/utf8.h"
#include "text/pattern_build.h"
#include "text/unicode.h"

/* ------------------------------------------------------------------------------------ Sets ---- */

/* Replaces *a with the combination of *a and b, and charges the steps. */
static int combine(pattern_parser *p, char_set *a, const char_set *b, int which)
{
    return pattern_spend(p->b, a->n_borders + b->n_borders + 16) &&
           (char_set_combine(a, b, which) || pattern_no_memory(p->b));
}

static int add_range(pattern_parser *p, char_set *set, uint32_t first, uint32_t last)
{
    return pattern_spend(p->b, set->n_borders + 16) &&
           (char_set_add(set, first, last) || pattern_no_memory(p->b));
}

static int negate(pattern_parser *p, char_set *set)
{
    return combine(p, set, &(char_set){0}, CHAR_SET_NOT_A);
}

/* The long s and the Kelvin sign are the only other characters that fold to an ASCII letter. */
int pattern_fold(pattern_parser *p, char_set *set)
{
    for (uint32_t small = 'a'; small <= 'z'; small++) {
        uint32_t large = small - 0x20;
        if (!char_set_has(set, small) && !char_set_has(set, large)) continue;
        if (!add_range(p, set, small, small) || !add_range(p, set, large, large)) return 0;
        if (small == 's' && !add_range(p, set, 0x17F, 0x17F)) return 0;
        if (small == 'k' && !add_range(p, set, 0x212A, 0x212A)) return 0;
    }
    return 1;
}

uint32_t pattern_parse_literal(pattern_parser *p)
{
    int n = utf8_length(p->text + p->at, p->n_bytes - p->at);
    uint32_t code = utf8_code_point(p->text + p->at, n);
    p->at += n;
    return code;
}

/* ------------------------------------------------------------------------------ Properties ---- */

/* Rust's regex also accepts Script=Han and gc=L. */
static void skip_property_kind(const pattern_parser *p, const uint8_t **name, int64_t *n)
{
    static const char *const KINDS[] = {"Script=", "sc=", "General_Category=", "gc="};
    for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS && p->dialect == DIALECT_TIKTOKEN; k++) {
        int64_t length = (int64_t)strlen(KINDS[k]);
        if (*n <= length || memcmp(*name, KINDS[k], (size_t)length) != 0) continue;
        *name += length, *n -= length;
        return;
    }
}

/* Reads \p{Name}, \P{Name}, \p{^Name}, or \pL, from the name on. */
static int parse_property(pattern_parser *p, int is_negative, char_set *set)
{
    int64_t start = p->at - 2;
    const uint8_t *name = p->text + p->at;
    int64_t n = 1;
    if (parser_sees(p, "{")) {
        name++;
        const uint8_t *end = memchr(name, '}', (size_t)(p->n_bytes - p->at - 1));
        if (!end) return pattern_refuse(p->b, start, "a } is missing");
        n = end - name;
        p->at += n + 2;
        if (n && *name == '^' && p->dialect == DIALECT_ONIG)
            name++, n--, is_negative = !is_negative;
        skip_property_kind(p, &name, &n);
    } else {
        if (p->at >= p->n_bytes || p->dialect == DIALECT_ONIG)
            return pattern_refuse(p->b, start, "the name of a property is missing");
        p->at++;
    }
    if (!pattern_spend(p->b, 4000)) return 0;
    int status = unicode_property(name, n, set);
    if (status == UNICODE_NO_MEMORY) return pattern_no_memory(p->b);
    if (status) return pattern_refuse(p->b, start, "this property is not supported");
    return !is_negative || negate(p, set);
}

/* --------------------------------------------------------------------------------- Escapes ---- */

/* The value of a hexadecimal digit, or -1. */
static int hex_value(uint8_t c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads \xHH, \x{H...} or \uHHHH, from the first digit or brace on; n_digits is for the forms
 * without braces. In onig, \xHH denotes a byte, so from 80 on it is not a character. */
static int parse_hex(pattern_parser *p, int n_digits, uint32_t *code)
{
    int64_t start = p->at - 2;
    int has_braces = parser_sees(p, "{");
    int is_bytes = n_digits == 2 && !has_braces && p->dialect == DIALECT_ONIG;
    if (has_braces && n_digits == 4 && p->dialect == DIALECT_ONIG) n_digits = -1; /* \u{...} */
    if (has_braces) p->at++;
    int n = 0;
    for (*code = 0; p->at < p->n_bytes && n < (has_braces ? 8 : n_digits); p->at++, n++) {
        int digit = hex_value(p->text[p->at]);
        if (digit < 0) break;
        *code = *code << 4 | (uint32_t)digit;
    }
    int ok = has_braces ? n > 0 && parser_sees(p, "}") : n == n_digits;
    if (has_braces) p->at++;
    if (!ok || n_digits < 0 || *code >= CODE_POINTS || (*code >= 0xD800 && *code < 0xE000) ||
        (is_bytes && *code >= 0x80))
        return pattern_refuse(p->b, start, "this hexadecimal escape is not supported");
    return ESCAPE_CODE;
}

/* Reads \d, \s or \w, or the complement if the letter is a capital. */
static int parse_shorthand(pattern_parser *p, uint8_t letter, char_set *set)
{
    uint8_t small = letter | 0x20;
    enum unicode_word word = p->dialect == DIALECT_TIKTOKEN ? WORD_RUST
                             : p->n_brackets                ? WORD_ONIG_BRACKETS
                                                            : WORD_ONIG;
    if (!pattern_spend(p->b, 4000)) return ESCAPE_ERROR;
    int ok = small == 'd'   ? unicode_digits(set)
             : small == 's' ? unicode_white_space(set)
                            : unicode_word(word, set);
    if (!ok) return pattern_no_memory(p->b);
    return letter == small || negate(p, set) ? ESCAPE_SET : ESCAPE_ERROR;
}

/* Reads the escape with this letter or digit, which has been read. Digits would be backreferences
 * or octal numbers, and \b, \A, \G, \K would need a context: all are rejected. */
static int parse_letter_escape(pattern_parser *p, uint8_t letter, char_set *set, uint32_t *code)
{
    static const char LETTERS[] = "nrtfvae", CODES[] = "\n\r\t\f\v\a\x1B";
    const char *found = strchr(LETTERS, letter);
    int64_t start = p->at - 2;
    if (found) {
        *code = (uint32_t)CODES[found - LETTERS];
        return ESCAPE_CODE;
    }
    switch (letter) {
    case 'd':
    case 'D':
    case 's':
    case 'S':
    case 'w':
    case 'W':
        if (p->ignore_case && letter != 'd' && letter != 's')
            return pattern_refuse(p->b, start, "this escape is not supported after (?i)");
        return parse_shorthand(p, letter, set);
    case 'p':
    case 'P':
        if (p->ignore_case)
            return pattern_refuse(p->b, start, "a property is not supported after (?i)");
        return parse_property(p, letter == 'P', set) ? ESCAPE_SET : ESCAPE_ERROR;
    case 'x':
        return parse_hex(p, 2, code);
    case 'u':
        return parse_hex(p, 4, code);
    case 'z':
        return ESCAPE_END;
    default:
        return pattern_refuse(p->b, start, "this escape is not supported");
    }
}

/* Reads what follows a backslash. Before punctuation it means the character itself. */
int pattern_parse_escape(pattern_parser *p, char_set *set, uint32_t *code)
{
    int64_t start = p->at - 1;
    if (p->at >= p->n_bytes)
        return pattern_refuse(p->b, start, "the pattern ends with a backslash");
    uint8_t c = p->text[p->at++];
    int is_letter = ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (c >= '0' && c <= '9');
    if (is_letter) return parse_letter_escape(p, c, set, code);
    /* In Rust's regex, \< and \> are word boundaries. */
    if (c >= 0x7F || c < ' ' || (p->dialect == DIALECT_TIKTOKEN && (c == '<' || c == '>')))
        return pattern_refuse(p->b, start, "this escape is not supported");
    *code = c;
    return ESCAPE_CODE;
}

/* -------------------------------------------------------------------------------- Brackets ---- */

/* A bracket expression being parsed. The operands of && are intersected one by one. */
typedef struct bracket {
    char_set whole; /* the operands before the last && */
    char_set part;  /* the operand being parsed */
    int has_whole;
    int n_items; /* of the part between two && */
} bracket;

/* Ends an operand, at && or at the closing bracket. [a&&b&&c] is evaluated from left to right. */
static int finish_part(pattern_parser *p, bracket *br)
{
    if (br->n_items == 0) return pattern_refuse(p->b, p->at, "a set between brackets is empty");
    if (!br->has_whole) {
        char_set_free(&br->whole);
        br->whole = br->part;
        memset(&br->part, 0, sizeof br->part);
    } else if (!combine(p, &br->whole, &br->part, CHAR_SET_INTERSECTION)) {
        return 0;
    }
    char_set_free(&br->part);
    br->has_whole = 1;
    br->n_items = 0;
    return 1;
}

/* The POSIX classes that are supported, with their meaning in each dialect. */
static const struct posix {
    const char *name;
    int dialects;         /* bits 1 << DIALECT_ */
    const char *property; /* NULL: see ranges */
    uint32_t ranges[8];   /* the first and last character of each range; unused: 0 */
} POSIX[] = {
    {"[:ascii:]", 3, NULL, {0, 0x7F}},
    {"[:xdigit:]", 3, NULL, {'0', '9', 'A', 'F', 'a', 'f'}},
    {"[:digit:]", 1, "Nd", {0}},
    {"[:space:]", 1, "White_Space", {0}},
    {"[:cntrl:]", 1, "Cc", {0}},
    {"[:digit:]", 2, NULL, {'0', '9'}},
    {"[:space:]", 2, NULL, {'\t', '\r', ' ', ' '}},
    {"[:cntrl:]", 2, NULL, {0, 0x1F, 0x7F, 0x7F}},
    {"[:alpha:]", 2, NULL, {'A', 'Z', 'a', 'z'}},
    {"[:alnum:]", 2, NULL, {'0', '9', 'A', 'Z', 'a', 'z'}},
    {"[:upper:]", 2, NULL, {'A', 'Z'}},
    {"[:lower:]", 2, NULL, {'a', 'z'}},
    {"[:punct:]", 2, NULL, {'!', '/', ':', '@', '[', '`', '{', '~'}},
};

/* A range ends the list if its last character is 0, which no range of the table has. */
static int add_posix(pattern_parser *p, const struct posix *posix, char_set *part)
{
    for (int i = 0; i < 8 && posix->ranges[i + 1]; i += 2)
        if (!add_range(p, part, posix->ranges[i], posix->ranges[i + 1])) return 0;
    const char *name = posix->property;
    if (!name) return 1;
    char_set set = {0};
    int status = unicode_property((const uint8_t *)name, (int64_t)strlen(name), &set);
    int ok = (status == UNICODE_OK || pattern_no_memory(p->b)) && pattern_spend(p->b, 4000) &&
             combine(p, part, &set, CHAR_SET_UNION);
    char_set_free(&set);
    return ok;
}

/* Adds [:name:] and moves past it. */
static int parse_posix(pattern_parser *p, char_set *part)
{
    for (size_t k = 0; k < sizeof POSIX / sizeof *POSIX && !p->ignore_case; k++) {
        if (!parser_sees(p, POSIX[k].name) || !(POSIX[k].dialects >> p->dialect & 1)) continue;
        p->at += (int64_t)strlen(POSIX[k].name);
        return add_posix(p, &POSIX[k], part);
    }
    return pattern_refuse(p->b, p->at, "this POSIX class is not supported");
}

/* Adds a nested bracket, from its opening bracket on. */
static int parse_nested(pattern_parser *p, char_set *part)
{
    if (parser_sees(p, "[:")) return parse_posix(p, part);
    if (p->ignore_case)
        return pattern_refuse(p->b, p->at, "nested brackets are not supported after (?i)");
    char_set set = {0};
    p->at++;
    int ok = pattern_parse_bracket(p, &set) && combine(p, part, &set, CHAR_SET_UNION);
    char_set_free(&set);
    return ok;
}

/* Reads a character or an escape. Rejects a hyphen unless it is the first or the last item or part
 * of a range, because its meaning elsewhere differs between the dialects. */
static int parse_item(pattern_parser *p, int is_first, char_set *set, uint32_t *code)
{
    if (parser_sees(p, "\\")) {
        p->at++;
        int64_t start = p->at - 1;
        int kind = pattern_parse_escape(p, set, code);
        if (kind == ESCAPE_END) return pattern_refuse(p->b, start, "this escape is not supported");
        return kind;
    }
    int is_last = p->at + 1 < p->n_bytes && p->text[p->at + 1] == ']';
    int is_doubled = parser_sees(p, "--") || parser_sees(p, "~~");
    if (is_doubled || (parser_sees(p, "-") && !is_first && !is_last))
        return pattern_refuse(p->b, p->at, "put a backslash before the hyphen");
    *code = pattern_parse_literal(p);
    return ESCAPE_CODE;
}

/* Adds a character, a range of characters, or an escape. */
static int parse_range(pattern_parser *p, bracket *br)
{
    char_set set = {0};
    uint32_t first, last;
    int64_t start = p->at;
    int kind = parse_item(p, br->n_items == 0, &set, &first);
    if (kind == ESCAPE_SET) {
        int ok = combine(p, &br->part, &set, CHAR_SET_UNION);
        char_set_free(&set);
        return ok;
    }
    char_set_free(&set);
    if (kind == ESCAPE_ERROR) return 0;
    last = first;
    if (parser_sees(p, "-") && p->at + 1 < p->n_bytes && p->text[p->at + 1] != ']') {
        p->at++;
        if (parser_sees(p, "[") || parser_sees(p, "-") || parser_sees(p, "&&"))
            return pattern_refuse(p->b, p->at - 1, "put a backslash before the hyphen");
        kind = parse_item(p, 1, &set, &last);
        char_set_free(&set);
        if (kind == ESCAPE_ERROR) return 0;
        if (kind == ESCAPE_SET || first > last)
            return pattern_refuse(p->b, start, "the range between brackets is invalid");
    }
    if (p->ignore_case && last >= 0x80)
        return pattern_refuse(p->b, start, "only ASCII letters are supported after (?i)");
    return add_range(p, &br->part, first, last);
}

/* Reads a bracket expression up to its ], which is not consumed. So a ] at the beginning is not a
 * literal, as it is in POSIX, but makes the set empty, which finish_part rejects. */
static int parse_items(pattern_parser *p, bracket *br)
{
    for (int64_t start = p->at; !parser_sees(p, "]");) {
        if (p->at >= p->n_bytes) return pattern_refuse(p->b, start - 1, "a ] is missing");
        if (parser_sees(p, "&&")) {
            if (p->ignore_case)
                return pattern_refuse(p->b, p->at, "&& is not supported after (?i)");
            if (!finish_part(p, br)) return 0;
            p->at += 2;
            continue;
        }
        if (!(parser_sees(p, "[") ? parse_nested(p, &br->part) : parse_range(p, br))) return 0;
        br->n_items++;
    }
    return finish_part(p, br);
}

/* Reads a bracket expression whose opening bracket has been read, including its closing bracket.
 * Folding comes before the negation: (?i)[^a] excludes both cases. */
int pattern_parse_bracket(pattern_parser *p, char_set *set)
{
    bracket br = {0};
    int is_negative = parser_sees(p, "^");
    p->at += is_negative;
    p->n_brackets++;
    if (++p->depth > PATTERN_DEPTH_MAX)
        return pattern_refuse(p->b, p->at, "brackets are nested too deeply");
    int ok = parse_items(p, &br) && (!p->ignore_case || pattern_fold(p, &br.whole)) &&
             (!is_negative || negate(p, &br.whole));
    p->n_brackets--;
    p->depth--;
    p->at++;
    char_set_free(&br.part);
    if (ok) *set = br.whole;
    else char_set_free(&br.whole);
    return ok;
}
