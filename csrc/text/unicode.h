/* unicode.h - the properties of Unicode 16 that patterns can name */
#pragma once

#include "text/char_set.h"

enum unicode_status { UNICODE_OK, UNICODE_NO_MEMORY, UNICODE_NO_PROPERTY };

/* Fills *ret, an empty set, with the property named name[0..n-1]: a general category ("Lu", "L",
 * "Uppercase_Letter"), a script ("Han"), "White_Space", or the classes of Hugging Face's
 * pre-tokenizers ("HfNumeric" of Digits, "HfPunctuation" of Punctuation). Case, spaces, '_' and '-'
 * in the name do not matter. */
enum unicode_status unicode_property(const uint8_t *name, int64_t n, char_set *ret);

/* The characters that \w matches: Alphabetic, marks, Nd and Pc. onig adds six numbers of Latin-1,
 * except between brackets, and Rust's regex adds U+200C and U+200D. */
enum unicode_word { WORD_ONIG, WORD_ONIG_BRACKETS, WORD_RUST };

/* Fill *ret, an empty set, with \s (White_Space), \d (Nd) or \w. Return 0 if allocation fails. */
int unicode_white_space(char_set *ret);
int unicode_digits(char_set *ret);
int unicode_word(enum unicode_word which, char_set *ret);
