/* context.c - the text around hits, cut between characters
 *
 *     tokens      ... | the | quick | br own | fox |  jumps | ...
 *     bytes kept        <-- before --><- hit -><-- after -->
 *
 * A character is a lead byte of UTF-8 with all of its continuation bytes; any other byte is a
 * character of its own. A character has at most 4 bytes, so 4 * n bytes on either side contain the
 * n characters that are wanted.
 *
 * Tokens are decoded from the hit outwards, and only as many as the characters need: a hit in a
 * document of a gigabyte costs no more than one in a line. */
#include "ground/utf8.h"
#include "unitok_search.h"

/* Where the character at text[at] ends, at < n. If a continuation byte is missing, the lead byte is
 * a character of its own, and so are the bytes after it. So every byte belongs to exactly one
 * character. */
static int64_t character_end(const uint8_t *text, int64_t n, int64_t at)
{
    int64_t size = char_bytes(text[at]);
    if (at + size > n) return at + 1;
    for (int64_t k = 1; k < size; k++)
        if (!is_continuation(text[at + k])) return at + 1;
    return at + size;
}

/* Where the first n_characters of text[0..n) end. Stops at the end of the text if it has fewer. */
static int64_t first_characters(const uint8_t *text, int64_t n, int64_t n_characters)
{
    int64_t at = 0;
    for (; n_characters > 0 && at < n; n_characters--) at = character_end(text, n, at);
    return at;
}

/* Where the last n_characters of text[0..n) begin. Steps back over continuation bytes to a lead
 * byte, and takes both as a character only if the character really ends where the last one began.
 * Otherwise the last byte is a character of its own. */
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

/* Tokens that are decoded one by one: only those around a hit are ever read. */
typedef struct decoded_text {
    const uint16_t *ids;
    const uint8_t *data;
    const int64_t *offsets;
    /* The document: its tokens, and how many bytes of the first one are not shown. */
    int64_t begin, end, dropped;
} decoded_text;

/* The bytes of token `at`, and their number in *ret_n. */
static const uint8_t *bytes_at(const decoded_text *t, int64_t at, int64_t *ret_n)
{
    const int64_t *bounds = t->offsets + t->ids[at];
    int64_t dropped = at == t->begin && t->dropped <= bounds[1] - bounds[0] ? t->dropped : 0;
    *ret_n = bounds[1] - bounds[0] - dropped;
    return t->data + bounds[0] + dropped;
}

/* Writes the last bytes before byte `skip` of token `at`, at most `capacity`, so that they end at
 * out[capacity]. Returns how many. Fills the space from its end, because what is nearest to the hit
 * comes first. `skip` is 0 at the border of a token: then the token before it is read in full. */
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

/* Writes the bytes from byte `skip` of token `at` on, at most `capacity`. Returns how many. */
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

/* Each hit gives three ranges of bytes in `out`: before, the match, after, whose borders are
 * bounds[3k..3k + 3]. A hit can be damaged, such as one that begins after its document: then the
 * ranges are short or empty. */
void unitok_search_contexts(const uint16_t *ids, const uint8_t *data, const int64_t *offsets,
                            const unitok_search_hit *hits, int64_t n_hits, int64_t before,
                            int64_t after, uint8_t *out, int64_t *bounds)
{
    uint8_t *p = out;
    for (int64_t k = 0; k < n_hits; k++) {
        const unitok_search_hit *hit = hits + k;
        decoded_text t = {ids, data, offsets, hit->begin, hit->end, hit->dropped};
        /* A hit from damaged files may begin past its token or its document; it is moved to where
         * there is text. */
        int64_t skip = hit->token < hit->end ? hit->skip : 0,
                dropped = hit->token == hit->begin ? hit->dropped : 0;
        skip = skip > dropped ? skip - dropped : 0;
        /* Four bytes for each character are decoded, then cut to the characters that are wanted and
         * moved to their place. */
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
