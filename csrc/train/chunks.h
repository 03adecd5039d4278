/* chunks.h - the chunks that BytePiece's trainer cuts texts into: no piece crosses their bounds
 *
 *   a line of any length⏎⏎⏎     up to 10,000 characters, with up to 100 newlines after them
 *   ┆12┆ apples⏎                with is_digit every digit is a chunk of its own
 *
 * An invalid byte counts as a character.
 */
#pragma once

#include "ground/common.h"
#include "unitok_train.h"

#define CHUNK_MAX_CHARS 10000
#define CHUNK_MAX_NEWLINES 100
#define CHUNK_MAX_BYTES (4 * CHUNK_MAX_CHARS + CHUNK_MAX_NEWLINES)

/* The bytes of the chunk that text[0..n_bytes-1] begins with, n_bytes >= 1. is_digit[0x110000]: see
 * unitok_ngrams_new. */
int64_t chunk_bytes(const uint8_t *text, int64_t n_bytes, const uint8_t *is_digit);

/* The next chunk of packed documents: text[0..result-1]; 0 after the last one. Chunks are not
 * empty. */
int64_t next_chunk(const uint8_t *data, const int64_t *offsets, int64_t n_docs,
                   const uint8_t *is_digit, unitok_cursor *cursor, const uint8_t **ret_text);
