/* chunks.c - cuts texts into chunks: see chunks.h
 *
 * The chunks do not depend on how the text is divided into calls, because the cursor remembers the
 * position within the document. */

#include "train/chunks.h"

#include "ground/utf8.h"

/* The number of bytes before the first newline, at most CHUNK_MAX_CHARS characters. A character has
 * one to four bytes, so 4 * CHUNK_MAX_CHARS bytes are always enough to find the end, and characters
 * are counted only in a line of more than CHUNK_MAX_CHARS bytes. Other lines cost one memchr. */
static int64_t plain_bytes(const uint8_t *text, int64_t n_bytes)
{
    int64_t most = n_bytes < 4 * CHUNK_MAX_CHARS ? n_bytes : 4 * CHUNK_MAX_CHARS;
    const uint8_t *newline = memchr(text, '\n', (size_t)most);
    int64_t n = newline ? newline - text : most;
    if (n <= CHUNK_MAX_CHARS) return n;
    int64_t at = 0;
    for (int n_chars = 0; at < n && n_chars < CHUNK_MAX_CHARS; n_chars++) {
        int length = utf8_length(text + at, n_bytes - at);
        at += length ? length : 1;
    }
    return at;
}

/* Like plain_bytes, but also stops before the first digit, so it reads every character. Returns 0
 * if the text begins with a digit, which the caller makes a separate chunk. */
static int64_t bytes_before_digit(const uint8_t *text, int64_t n_bytes, const uint8_t *is_digit)
{
    int64_t at = 0;
    for (int n_chars = 0; at < n_bytes && n_chars < CHUNK_MAX_CHARS && text[at] != '\n';
         n_chars++) {
        int length = utf8_length(text + at, n_bytes - at);
        if (length && is_digit[utf8_code_point(text + at, length)]) break;
        at += length ? length : 1;
    }
    return at;
}

/* The newlines after a line belong to its chunk, and a chunk that begins with newlines consists
 * only of newlines. CHUNK_MAX_NEWLINES bounds the chunks of a file that contains only newlines. */
int64_t chunk_bytes(const uint8_t *text, int64_t n_bytes, const uint8_t *is_digit)
{
    int64_t n = is_digit ? bytes_before_digit(text, n_bytes, is_digit) : plain_bytes(text, n_bytes);
    if (n == 0 && text[0] != '\n') return utf8_length(text, n_bytes); /* the chunk is one digit */
    int64_t end = n_bytes - n < CHUNK_MAX_NEWLINES ? n_bytes : n + CHUNK_MAX_NEWLINES;
    while (n < end && text[n] == '\n') n++;
    return n;
}

/* Skips empty documents. The cursor may point to the end of a document, because a call may end
 * there. */
int64_t next_chunk(const uint8_t *data, const int64_t *offsets, int64_t n_docs,
                   const uint8_t *is_digit, unitok_cursor *cursor, const uint8_t **ret_text)
{
    for (; cursor->document < n_docs; cursor->document++) {
        /* A cursor that has just reached a document may still point before it. */
        int64_t begin = offsets[cursor->document], end = offsets[cursor->document + 1];
        if (cursor->position < begin) cursor->position = begin;
        if (cursor->position >= end) continue;
        *ret_text = data + cursor->position;
        int64_t n_bytes = chunk_bytes(*ret_text, end - cursor->position, is_digit);
        cursor->position += n_bytes;
        return n_bytes;
    }
    return 0;
}
