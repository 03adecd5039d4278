/* words.h - character and word models: every character, or every word, is one token */
#pragma once

#include "structures/string_table.h"
#include "encoders/symbols.h"

typedef struct characters {
    symbols symbols;
    int32_t *ids; /* [symbol]: its id; that of symbol 0 is TOKEN_UNKNOWN */
} characters;

typedef struct words {
    uint8_t *data; /* the pieces that can match */
    int64_t *offsets;
    int32_t *ids;
    string_table table;
} words;

/* Both are built from a spec whose pieces have the same form as texts. Normal and user-defined
 * pieces match; all others are unknown. The spec must have passed vocabulary_check.
 * UNITOK_ERROR_VOCABULARY: a piece occurs twice, or there are too many pieces. After a failure
 * there is nothing to free. */
int32_t characters_new(const unitok_spec *spec, characters *ret, unitok_error *error);
void characters_free(characters *m);
int32_t words_new(const unitok_spec *spec, words *ret, unitok_error *error);
void words_free(words *m);

/* Encodes a text that is not cut inside a user-defined symbol: at every position, it takes the
 * longest user-defined symbol that matches or, if none does, one character. Writes at most n_bytes
 * tokens and returns their number. O(n_bytes). */
int64_t characters_segment(const characters *m, const uint8_t *text, int64_t n_bytes,
                           token *tokens);

/* Writes the single token of a word, n_bytes >= 1, and returns 1. Words begin at every U+2581 (or
 * SPACE_BYTE) and at the start of the text: the reference's word model ignores all options. */
int64_t words_segment(const words *m, const uint8_t *text, int64_t n_bytes, token *tokens);
