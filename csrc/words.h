/* words.h - every word or every character is a token */
#pragma once

#include "token.h"

typedef struct words words;
int32_t words_new(const unitok_spec *spec, words **ret, unitok_error *error);
void words_free(words *w);
int64_t words_segment(const words *w, const uint8_t *text, int64_t n_bytes, token *tokens);
