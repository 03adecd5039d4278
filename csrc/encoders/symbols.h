/* symbols.h - splits a text into characters and user-defined symbols, each a number, for BPE and
 * character models
 *
 * At every position it takes the longest user-defined symbol that matches, or else one character:
 * as many bytes as the lead byte indicates (fewer at the end of the text), or one byte with
 * UNITOK_BYTES. Characters that were not added become symbol 0.
 *
 *     singles[256]                                    symbols of one-byte characters
 *     slots   63 .. 40 | 39 .. 32 | 31 ... 0          open-addressed, at most half full: characters of 2 to 4 bytes
 *             symbol   | n_bytes  | bytes             (0: free)
 *     user    a double array of the user-defined symbols; user_leads[byte] = 1 if one begins with the byte
 *
 * Symbols are below SYMBOLS_MAX, so that a symbol fits in a slot and, with 1 added, in a unit of
 * the trie. */
#pragma once

#include "encoders/token.h"
#include "structures/trie.h"

#define SYMBOLS_MAX TRIE_VALUE_MAX
#define SYMBOL_NONE 0

/* Like the reference, considers only the 64 shortest of the user-defined symbols that match at a
 * position. */
#define SYMBOLS_NESTED_MAX 64

typedef struct symbols {
    uint32_t singles[256];
    /* the smallest lead byte of a multibyte character: 0xC0, or 256 if there are none */
    uint32_t first_lead;
    uint64_t *slots;     /* [0..1 << n_bits) */
    uint64_t factor;     /* see probing.h */
    int n_bits, n_turns; /* n_turns: the number of factors tried at this size */
    int64_t n_used;      /* slots in use */
    uint64_t *user;      /* units of a trie; NULL if there are no user-defined symbols */
    uint8_t user_leads[256];
} symbols;

int symbols_new(symbols *t, int is_bytes);
void symbols_free(symbols *t);

/* The symbol of a character of 1 to 4 bytes, or SYMBOL_NONE if it was not added. */
uint32_t symbols_find(const symbols *t, const uint8_t *character, int64_t n_bytes);

/* Adds a character that was not added before. Call symbols_settle after the last character: it
 * bounds the length of every lookup, whatever the characters are. Both functions return 0 if
 * allocation fails. */
int symbols_add(symbols *t, const uint8_t *character, int64_t n_bytes, uint32_t symbol);
int symbols_settle(symbols *t);

/* Adds each piece k of the spec for which take[k] is set as the user-defined symbol numbers[k]. */
int32_t symbols_add_user(symbols *t, const unitok_spec *spec, const uint8_t *take,
                         const uint32_t *numbers, unitok_error *error);

/* The slot at which the search begins: the upper bits of the product. The factor was chosen when
 * the table was laid out (probing.h). */
INLINE uint32_t symbols_place(const symbols *t, uint64_t key)
{
    return (uint32_t)(key * t->factor >> (64 - t->n_bits));
}

/* Compares the 40 bits of the length and the bytes; the symbol is above them. The search ends at
 * a free slot, and at most half of the slots are taken. */
INLINE uint32_t symbols_find_key(const symbols *t, uint64_t key)
{
    uint32_t mask = (UINT32_C(1) << t->n_bits) - 1;
    for (uint32_t at = symbols_place(t, key);; at = (at + 1) & mask) {
        uint64_t slot = t->slots[at];
        if (LIKELY((slot & 0xFFFFFFFFFF) == key)) return (uint32_t)(slot >> 40);
        if (slot == 0) return SYMBOL_NONE;
    }
}

/* Finds the longest user-defined symbol at the start of the text; returns 0 bytes if none
 * matches. */
INLINE int64_t symbols_match_user(const symbols *t, const uint8_t *text, int64_t n_bytes,
                                  uint32_t *ret)
{
    uint32_t base = TRIE_ROOT_BASE;
    int64_t length = 0;
    int n_found = 0;
    for (int64_t i = 0; i < n_bytes && n_found < SYMBOLS_NESTED_MAX; i++) {
        uint64_t unit = t->user[base ^ text[i]];
        if (!unit_has_label(unit, text[i])) break;
        base = unit_base(unit);
        if (unit_value(unit)) {
            *ret = unit_value(unit) - 1;
            length = i + 1;
            n_found++;
        }
    }
    return length;
}

/* Finds the symbol at the start of text[0..n_bytes-1], n_bytes >= 1, and returns its length. */
INLINE int64_t symbols_next(const symbols *t, const uint8_t *text, int64_t n_bytes, uint32_t *ret)
{
    uint8_t lead = text[0];
    if (UNLIKELY(t->user_leads[lead])) {
        int64_t n = symbols_match_user(t, text, n_bytes, ret);
        if (n) return n;
    }
    if (lead < t->first_lead) {
        *ret = t->singles[lead];
        return 1;
    }
    int64_t n = char_bytes(lead);
    if (UNLIKELY(n > n_bytes)) n = n_bytes;
    uint64_t key = (uint64_t)n << 32 | lead;
    for (int64_t i = 1; i < n; i++) key |= (uint64_t)text[i] << 8 * i;
    *ret = symbols_find_key(t, key);
    return n;
}
