/* context.c - writes the text before and after each hit, cut at character boundaries
 *
 *     tokens      ... | the | quick | br own | fox |  jumps | ...
 *     bytes kept        <-- before --><- hit -><-- after -->
 *
 * A character is a UTF-8 lead byte with all of its continuation bytes; any other byte counts as a
 * character by itself. A character has at most 4 bytes, so 4 * n bytes on either side contain the n
 * characters requested.
 *
 * Tokens are decoded from the hit outwards, and only as many as are needed: a hit in a document of
 * 1 GB costs no more than a hit in a document of one line. */
#include "ground/utf8.h"
#include "suffix/search.h"

/* Returns the end of the character at text[at], at < n. If a continuation byte is missing, the lead
 * byte is a character by itself, and so are the continuation bytes after it, so every byte belongs
 * to exactly one character. */
static int64_t character_end(const uint8_t *text, int64_t n, int64_t at)
{
    int64_t size = char_bytes(text[at]);
    if (at + size > n) return at + 1;
    for (int64_t k = 1; k < size; k++)
        if (!is_continuation(text[at + k])) return at + 1;
    return at + size;
}

/* Returns the end of the first n_characters characters of text[0..n), or n if there are fewer. */
static int64_t first_characters(const uint8_t *text, int64_t n, int64_t n_characters)
{
    int64_t at = 0;
    for (; n_characters > 0 && at < n; n_characters--) at = character_end(text, n, at);
    return at;
}

/* Returns the start of the last n_characters characters of text[0..n). Steps back over continuation
 * bytes to a lead byte, and accepts these bytes as a character only if this character ends exactly
 * where the next one begins. Otherwise the last byte is a character by itself. */
static int64_t last_characters(const uint8_t *text, int64_t n, int64_t n_characters)
{
    int64_t at = n;
    for (; n_characters > 0 && at > 0; n_characters--) {
        int64_t begin = at - 1;
        while (begin > 0 && at - begin < 4 && is_continuation(text[begin])) begin--;
        at = character_end(text, n, begin) == at ? begin : at - 1;
    }
    return at;
}

/* A document whose tokens are decoded one at a time, because only those around a hit are read. */
typedef struct decoded_text {
    const void *ids;
    int32_t id_bytes;
    const uint8_t *data;
    const int64_t *offsets;
    /* The document's tokens, and the number of bytes of the first token that are not shown. */
    int64_t begin, end, dropped;
} decoded_text;

/* Returns the bytes of token `at`, and stores their number in *ret_n. */
static const uint8_t *bytes_at(const decoded_text *t, int64_t at, int64_t *ret_n)
{
    const int64_t *bounds = t->offsets + id_in(t->ids, t->id_bytes, (uint64_t)at);
    int64_t dropped = at == t->begin && t->dropped <= bounds[1] - bounds[0] ? t->dropped : 0;
    *ret_n = bounds[1] - bounds[0] - dropped;
    return t->data + bounds[0] + dropped;
}

/* Writes the bytes that precede byte `skip` of token `at`, at most `capacity` of them, so that they
 * end at out[capacity]. Returns their number. Fills `out` from its end, because the bytes nearest
 * to the hit are decoded first. If `skip` is 0, starts with the previous token. */
static int64_t copy_before(const decoded_text *t, int64_t at, int64_t skip, uint8_t *out,
                           int64_t capacity)
{
    int64_t n, used = 0;
    const uint8_t *bytes;
    while (used < capacity) {
        if (skip == 0) {
            if (at-- <= t->begin) break;
            bytes = bytes_at(t, at, &skip);
        } else {
            bytes = bytes_at(t, at, &n);
            if (skip > n) skip = n;
        }
        n = skip < capacity - used ? skip : capacity - used;
        used += n;
        memcpy(out + capacity - used, bytes + skip - n, (size_t)n);
        skip = 0;
    }
    return used;
}

/* Writes the bytes from byte `skip` of token `at` onwards, at most `capacity` of them. Returns
 * their number. */
static int64_t copy_from(const decoded_text *t, int64_t at, int64_t skip, uint8_t *out,
                         int64_t capacity)
{
    int64_t used = 0;
    for (; at < t->end && used < capacity; at++) {
        int64_t n;
        const uint8_t *bytes = bytes_at(t, at, &n);
        int64_t from = skip < n ? skip : n;
        n = n - from < capacity - used ? n - from : capacity - used;
        memcpy(out + used, bytes + from, (size_t)n);
        used += n;
        skip = 0;
    }
    return used;
}

/* Each hit produces three ranges of bytes in `out`: before, match and after, bounded by
 * bounds[3k..3k + 3]. If a hit is damaged, for example because it begins after the end of its
 * document, the ranges are short or empty. */
void unitok_search_contexts(const void *ids, int32_t id_bytes, const uint8_t *data,
                            const int64_t *offsets, const unitok_search_hit *hits, int64_t n_hits,
                            int64_t before, int64_t after, uint8_t *out, int64_t *bounds)
{
    uint8_t *p = out;
    for (int64_t k = 0; k < n_hits; k++) {
        const unitok_search_hit *hit = hits + k;
        decoded_text t = {ids, id_bytes, data, offsets, hit->begin, hit->end, hit->dropped};
        /* `skip` includes dropped bytes, which are not decoded. It is ignored if a hit from damaged
         * files begins past the end of its document. */
        int64_t skip = hit->token < hit->end ? hit->skip : 0,
                dropped = hit->token == hit->begin ? hit->dropped : 0;
        skip = skip > dropped ? skip - dropped : 0;
        /* Decode four bytes per character, drop those before the requested characters, and move the
         * rest into place. */
        int64_t n = copy_before(&t, hit->token, skip, p, 4 * before);
        int64_t cut = last_characters(p + 4 * before - n, n, before);
        memmove(p, p + 4 * before - n + cut, (size_t)(n - cut));
        *bounds++ = p - out;
        p += n - cut;
        *bounds++ = p - out;
        n = copy_from(&t, hit->token, skip, p, hit->n_bytes + 4 * after);
        int64_t match = n < hit->n_bytes ? n : hit->n_bytes;
        *bounds++ = p - out + match;
        p += match + first_characters(p + match, n - match, after);
    }
    *bounds = p - out;
}
