/* chunks.h - the chunks into which BytePiece's trainer cuts texts
 *
 * No piece crosses the border of two chunks. A chunk is a line with the newlines after it, within
 * limits that bound the memory of a Viterbi pass:
 *
 *     a line of any length⏎⏎⏎     up to 10,000 characters, then up to 100 newlines
 *     ┆1┆2┆ apples⏎               with is_digit, every digit is a separate chunk
 *
 * An invalid byte counts as a character. */
#pragma once

#include "ground/common.h"
#include "unitok_train.h"

#define CHUNK_MAX_CHARS 10000
#define CHUNK_MAX_NEWLINES 100
#define CHUNK_MAX_BYTES (4 * CHUNK_MAX_CHARS + CHUNK_MAX_NEWLINES)

/* The length of the chunk at the start of text[0..n_bytes-1], n_bytes >= 1. For is_digit[0x110000]
 * see unitok_ngrams_new. */
int64_t chunk_bytes(const uint8_t *text, int64_t n_bytes, const uint8_t *is_digit);

/* The next chunk of packed documents: returns its length, and its start in *ret_text. Chunks are
 * not empty; 0 means that there are no more. */
int64_t next_chunk(const uint8_t *data, const int64_t *offsets, int64_t n_docs,
                   const uint8_t *is_digit, unitok_cursor *cursor, const uint8_t **ret_text);
