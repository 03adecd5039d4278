/* normalize.h - the tables of a normalizer, and the classes that tell which text needs no lookup
 *
 * Most text normalizes to itself. classes[] tells for every character below U+10000, and
 * class_blocks[] for every block of 64 characters above, whether this is certain without a lookup in
 * the charsmap or the symbols:
 *
 *     0          it is unchanged, and it does not begin a longer key or symbol
 *     STOP       it must be looked up
 *     MORE       it is unchanged unless a SECOND follows: only then can a longer key or symbol begin here
 *     SECOND     it is the second character of some key or symbol, which matters only after a MORE
 *     BECOMES    it becomes the ASCII character in the lower bits, whatever its neighbours are
 *
 * So text is plain if no character is STOP or BECOMES, and no MORE is followed by a SECOND. If a key
 * or symbol begins or ends inside a character, all characters that it can affect are STOP.
 */
#pragma once

#include "text/charsmap.h"
#include "text/normalize_plain.h"
#include "structures/trie.h"

enum {
    CLASS_MORE = 1,
    CLASS_SECOND = 2,
    CLASS_STOP = 4,
    CLASS_BECOMES = 0x80, /* without other flags: the lower bits are the character */
};

#define CLASS_BLOCKS (0x110000 / 64) /* blocks below U+10000 are not used */
#define CLASS_BLOCK(code_point) ((code_point) / 64)

/* A symbol that has this many other symbols as prefixes never matches: sentencepiece considers the 64
 * shortest symbols that match and uses the longest of them. */
#define SYMBOL_PREFIXES_MAX 64

/* Longer symbols are rejected, because every position of a text may have to be compared with the
 * complete symbol. */
#ifndef SYMBOL_BYTES_MAX
#define SYMBOL_BYTES_MAX 4096
#endif

typedef struct unitok_normalizer {
    int32_t flags;      /* of enum unitok_model_flags */
    int32_t is_compact; /* the compact form is available: see settle_form */
    int32_t is_utf8;    /* all output consists of complete characters */
    charsmap map;       /* points into `blob` */
    uint8_t *blob;      /* 4-byte aligned; NULL: no charsmap */
    uint64_t *symbols;  /* units of trie.h, all values 1; NULL: no user-defined symbols */
    int64_t n_symbol_units;
    int64_t max_match_bytes; /* the maximum size of a key, symbol or character */
    /* the maximum output for one key, symbol or character, together with the bytes held before
     * it */
    int64_t max_step_bytes;
    uint8_t is_inner[256]; /* some key or symbol contains this byte after its first byte */
    plain_tables plain;
    plain_normalize run_plain;
    uint8_t classes[0x10000];
    uint8_t class_blocks[CLASS_BLOCKS];
} unitok_normalizer;

/* Tests a flag other than BECOMES, whose lower bits are not flags. */
INLINE int class_has(int class, int flag) { return (class & (CLASS_BECOMES | flag)) == flag; }

/* Returns the length of the longest symbol at the beginning of the text, or 0. */
INLINE int64_t symbols_match(const unitok_normalizer *n, const uint8_t *text, int64_t n_bytes)
{
    uint32_t base = TRIE_ROOT_BASE;
    int64_t length = 0;
    if (!n->symbols) return 0;
    for (int64_t i = 0; i < n_bytes; i++) {
        uint64_t unit = n->symbols[base ^ text[i]];
        if (!unit_has_label(unit, text[i])) break;
        base = unit_base(unit);
        if (unit_value(unit)) length = i + 1;
    }
    return length;
}
