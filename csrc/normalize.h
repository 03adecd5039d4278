/* normalize.h - a normalizer from inside: what it looks up, and how it knows what it need not look up
 *
 * Most text normalizes to itself. classes[] says of every character below U+10000, and class_blocks[] of every 64
 * characters above, whether that is so without a look at charsmap or symbols:
 *
 *     0          it begins no key and no symbol that is longer: it stands for itself
 *     STOP       look it up
 *     MORE       it stands for itself unless a SECOND follows: only then can a longer key or symbol begin here
 *     SECOND     it is the second character of some key or symbol; alone it means nothing
 *     SPACE      a space, where a space after a space is removed: each is the other's first and second
 *
 * So text is plain as long as no character is STOP, and no MORE is followed by a SECOND: CLASS_CLASH finds both in
 * one AND. A key or symbol that begins or ends inside a character makes all characters concerned STOP.
 */
#pragma once

#include "charsmap.h"
#include "trie.h"

enum {
    CLASS_MORE = 1,
    CLASS_SECOND = CLASS_MORE << 1,
    CLASS_SPACE = 4, /* and twice that */
    CLASS_STOP = 16,
};

#define CLASS_CLASH(before, here) (((((before) & (CLASS_MORE | CLASS_SPACE)) << 1) | CLASS_STOP) & (here))

enum {
    ITEM_NOTHING = 0xFE, /* the character is removed */
    ITEM_OTHER = 0xFF,   /* look it up: what follows matters, or it gives more than a character of ASCII */
};

#define CLASS_BLOCKS (0x110000 / 64) /* those below U+10000 are not used */
#define CLASS_BLOCK(code_point) ((code_point) / 64)

/* A symbol that has more symbols than this as its beginnings never matches: sentencepiece looks at the 64 shortest that
 * match, and takes the longest of them. */
#define SYMBOL_PREFIXES_MAX 64

typedef struct unitok_normalizer {
    int32_t flags;        /* of enum unitok_model_flags */
    int32_t is_compact;   /* see normalizer_can_compact */
    int32_t is_utf8;      /* all that it makes is whole characters */
    charsmap map;         /* of `blob` */
    uint8_t *blob;        /* 4-byte aligned; NULL: no charsmap */
    uint64_t *symbols;    /* units of trie.h, values all 1; NULL: no user-defined symbols */
    int64_t n_symbol_units;
    int64_t max_match_bytes; /* of keys, symbols and characters */
    int64_t max_step_bytes;  /* of output, for one key, symbol or character and what is held before it */
    uint8_t is_inner[256];   /* some key or symbol has this byte after its first */
    uint8_t is_slow[256];    /* not ASCII, or STOP, or begins a key or symbol with a second character of ASCII */
    uint8_t ascii_items[128]; /* what a character of ASCII gives, whatever follows it; ITEM_NOTHING, ITEM_OTHER */
    uint8_t classes[0x10000];
    uint8_t class_blocks[CLASS_BLOCKS];
} unitok_normalizer;

/* The longest symbol that text begins with; 0: none. */
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
