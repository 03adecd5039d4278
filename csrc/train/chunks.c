/* chunks.c - cutting texts into chunks: see chunks.h
 *
 * The chunks do not depend on how the text is divided into calls, because the cursor remembers the
 * position within the document. */

#include "train/chunks.h"

#include "ground/utf8.h"

/* The bytes before the first newline, at most CHUNK_MAX_CHARS characters. Characters are counted
 * only where there are more bytes than that, so that ordinary lines cost one memchr. A character
 * has one to four bytes. So CHUNK_MAX_CHARS bytes are never too many characters, and four times as
 * many are always enough to find the end. */
static int64_t plain_bytes(const uint8_t *text, int64_t n_bytes)
{
    int64_t most = n_bytes < 4 * CHUNK_MAX_CHARS ? n_bytes : 4 * CHUNK_MAX_CHARS;
    const uint8_t *newline = memchr(text, '\n', (size_t)most);
    /* Only a line of more bytes than the limit has characters may have too many characters. */
    int64_t n = newline ? newline - text : most;
    if (n <= CHUNK_MAX_CHARS) return n;
    int64_t at = 0;
    for (int n_chars = 0; at < n && n_chars < CHUNK_MAX_CHARS; n_chars++) {
        int length = utf8_length(text + at, n_bytes - at);
        at += length ? length : 1;
    }
    return at;
}

/* Like plain_bytes, but stops before the first digit too, so it reads every character. A digit at
 * the very start gives 0, and the caller takes it as a chunk of its own. */
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

/* The newlines after the line belong to the chunk, and a chunk that begins with newlines consists
 * of them. The second limit bounds a file of nothing but newlines. */
int64_t chunk_bytes(const uint8_t *text, int64_t n_bytes, const uint8_t *is_digit)
{
    int64_t n = is_digit ? bytes_before_digit(text, n_bytes, is_digit) : plain_bytes(text, n_bytes);
    if (n == 0 && text[0] != '\n') return utf8_length(text, n_bytes); /* a digit */
    int64_t end = n_bytes - n < CHUNK_MAX_NEWLINES ? n_bytes : n + CHUNK_MAX_NEWLINES;
    while (n < end && text[n] == '\n') n++;
    return n;
}

/* Empty documents are passed over. The cursor may point to the end of a document, since a call ends
 * there as well. */
int64_t next_chunk(const uint8_t *data, const int64_t *offsets, int64_t n_docs,
                   const uint8_t *is_digit, unitok_cursor *cursor, const uint8_t **ret_text)
{
    for (; cursor->document < n_docs; cursor->document++) {
        /* A cursor that has just come to a document may still point before it. */
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
