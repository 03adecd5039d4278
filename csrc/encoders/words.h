/* words.h - the two simplest models: every character is a token, or every word is; a token's id by
 * exact match */
#pragma once

#include "structures/string_table.h"
#include "encoders/symbols.h"

typedef struct characters {
    symbols symbols;
    int32_t *ids; /* [symbol]; TOKEN_UNKNOWN for symbol 0 */
} characters;

typedef struct words {
    uint8_t *data; /* the pieces that match */
    int64_t *offsets;
    int32_t *ids;
    string_table table;
} words;

/* Both take a spec whose pieces are in the form that texts have. Normal and user-defined pieces
 * match; unused ones and those of other types are unknown. The spec has passed vocabulary_check.
 * UNITOK_ERROR_VOCABULARY: a piece occurs twice, or there are too many. After a failure there is
 * nothing to free. */
int32_t characters_new(const unitok_spec *spec, characters *ret, unitok_error *error);
void characters_free(characters *m);
int32_t words_new(const unitok_spec *spec, words *ret, unitok_error *error);
void words_free(words *m);

/* The tokens of a text that is not cut inside a user-defined symbol: at every position the longest
 * symbol, else one character. At most n_bytes tokens; returns their number. O(n_bytes). */
int64_t characters_segment(const characters *m, const uint8_t *text, int64_t n_bytes,
                           token *tokens);

/* The one token of a word, n_bytes >= 1; returns 1. Words begin at every U+2581 (as SPACE_BYTE or
 * not) and at the start of the text; that is all the reference's word model knows, whatever its
 * options say. */
int64_t words_segment(const words *m, const uint8_t *text, int64_t n_bytes, token *tokens);
