/* pattern.h - pre-tokenizer patterns: regular expressions that divide a text into pieces
 *
 * A pattern has levels. The first level divides the text; each further level divides the pieces of
 * the level before it, as in a chain of Split pre-tokenizers with behaviour Isolated. Within a
 * text, matches are found from left to right, and they are the same as those of a backtracking
 * engine. Matches are pieces, and so are the gaps between matches.
 *
 *     level 0  \p{N}{1,3}   a b c d · 1 2 3 · 4 5 · e . f
 *     level 1  \p{L}+       a b c d | 1 2 3 | 4 5 | e | . | f
 *
 * A level is an automaton over classes of characters; all levels share the classes. An automaton
 * reports a match when it reads the character after the match. Each byte that is not part of a
 * valid UTF-8 character is treated as a character of the class of U+FFFD.
 */
#pragma once

#include "ground/common.h"

#define PATTERN_LEVELS_MAX 8
#define PATTERN_CLASSES_MAX 255

typedef struct pattern_classes {
    uint16_t *pages;  /* [0x110000 / 256]: the page with the classes of 256 code points */
    uint8_t *classes; /* the distinct pages */
    int64_t n_pages;
    int32_t n; /* classes */
} pattern_classes;

/* next[state * n_columns + class] is the state after a character of this class, with CELL_MATCH if a
 * match ends before the character. The last column is for the end of the text. */
typedef struct pattern_automaton {
    uint16_t *next;
    int32_t n_states;
    int32_t n_columns; /* classes and the end of the text */
    int32_t
        loop; /* the only state in which several attempts may read the same text, or STATE_DEAD */
} pattern_automaton;

#define STATE_DEAD 0
#define STATE_START 1
#define CELL_MATCH 0x8000
#define CELL_STATE 0x7FFF

/* Borders of a pattern between ASCII bytes that depend on three bytes. Like PATTERN_CUT, each holds
 * for every text:
 *
 *     x;\n   | if (a)      PATTERN_BLANKS    before a blank that a visible byte follows
 *     x = ("|a", b)        PATTERN_MARKS     before a letter after a mark that does not begin a
 *                                            piece, because it follows a space or another mark
 *
 * PATTERN_BLANKS holds no matter which ASCII byte precedes the blank. Without these rules, `if` and
 * every indentation before it would form different segments. */
enum pattern_context { PATTERN_BLANKS = 1, PATTERN_MARKS = 2 };

INLINE int is_blank(uint8_t byte) { return byte == ' ' || byte == '\t'; }
INLINE int is_visible(uint8_t byte) { return byte > ' ' && byte < 0x80; }
INLINE int is_letter(uint8_t byte) { return (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z'; }

/* The slash is left out because some patterns let it follow punctuation and newlines. */
INLINE int is_mark(uint8_t byte)
{
    return is_visible(byte) && !is_letter(byte) && !(byte >= '/' && byte <= '9');
}

typedef struct unitok_pattern {
    pattern_classes classes;
    int32_t n_levels;
    pattern_automaton levels[PATTERN_LEVELS_MAX];
    int32_t context;  /* of enum pattern_context */
    uint8_t *between; /* [before * classes.n + after]: of enum pattern_border */
} pattern;

/* Compiles parts[0..n_bytes-1]: one part for each level, separated by NUL. The first byte of a part is
 * its dialect, and the rest its regex in UTF-8:
 *   'o'  onig, as in a tokenizer.json
 *   'i'  onig, with behaviour Removed and invert set
 *   't'  Rust's fancy-regex, as in tiktoken
 * The original tokenizers of 'i' and 't' drop the gaps, so a regex that leaves gaps is rejected.
 * UNITOK_ERROR_PATTERN: `item` is the level, `position` a byte of its regex, or -1. Takes less than
 * 100 ms for any input. */
int32_t pattern_new(const uint8_t *parts, int64_t n_bytes, pattern **ret, unitok_error *error);
void pattern_free(pattern *p);
int64_t pattern_memory_bytes(const pattern *p);

/* For each level: the end of the current piece, and the text that an attempt read in the
 * automaton's loop state without finding a match later. A later attempt that reaches that state
 * within this text can stop. All zeros at the start of a text. */
typedef struct pattern_state {
    int64_t ends[PATTERN_LEVELS_MAX];
    struct pattern_run {
        int64_t begin, end;
    } failed[PATTERN_LEVELS_MAX];
} pattern_state;

/* Returns the end of the piece that begins at text[begin], begin < n_bytes; the text ends at n_bytes.
 * The first call for a text must begin at its start, and each later call at the end of the previous
 * piece. O(n_bytes) for all calls together. */
int64_t pattern_next(const pattern *p, pattern_state *s, const uint8_t *text, int64_t begin,
                     int64_t n_bytes);

/* The class of a code point, 0..classes.n-1. */
INLINE uint8_t pattern_class_of(const pattern *p, uint32_t code_point)
{
    const pattern_classes *c = &p->classes;
    return c->classes[c->pages[code_point >> 8] << 8 | (code_point & 0xFF)];
}

/* Whether a text may be divided between two characters. */
enum pattern_border {
    /* Dividing the text here may change the pieces. */
    PATTERN_BOUND,
    /* The pieces of both sides are those of the undivided text, except that the last piece on the
     * left and the first piece on the right may be parts of one piece. */
    PATTERN_FREE,
    /* In any text a piece ends here, and the pieces of both sides are those of the undivided
     * text. */
    PATTERN_CUT
};

INLINE int pattern_between(const pattern *p, uint8_t before, uint8_t after)
{
    return p->between[before * p->classes.n + after];
}
