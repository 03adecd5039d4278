/* longest.c - the encoder of longest.h: cut, remember, walk */

#include "longest.h"

/* One token: its id and its length. n_bytes >= 1. */
INLINE uint16_t next_token(const longest *m, const uint8_t *text, int64_t n_bytes, int64_t *ret_n_bytes)
{
    if (UNLIKELY(m->hat != NULL)) {
        int64_t id = -1, length = unitok_hat_longest_prefix(m->hat, text, n_bytes, &id);
        *ret_n_bytes = length > 0 ? length : 1;
        return length > 0 ? (uint16_t)id : (uint16_t)(m->trie.singles[text[0]] - 1);
    }
    return (uint16_t)(trie_longest(&m->trie, text, n_bytes, ret_n_bytes) - 1);
}

int64_t longest_walk(const longest *m, const uint8_t *text, int64_t n_bytes, uint16_t *ids, int64_t *ends)
{
    int64_t n = 0, token_bytes;
    for (int64_t i = 0; i < n_bytes; i += token_bytes) {
        ids[n] = next_token(m, text + i, n_bytes - i, &token_bytes);
        if (ends) ends[n] = i + token_bytes;
        n++;
    }
    return n;
}

/* What a segment costs that the memo does not hold. Kept out of line: the loop of hits must stay small. */
static NOINLINE int64_t miss_short(const longest *m, memo_short *slot, memo_short_key key, const uint8_t *segment,
                                   int64_t n_bytes, uint16_t *ids)
{
    int64_t n = longest_walk(m, segment, n_bytes, ids, NULL);
    if (n <= MEMO_SHORT_IDS) {
        memcpy(slot->key, &key, sizeof slot->key);
        memcpy(slot->ids, ids, MEMO_SHORT_IDS * sizeof *ids);
        slot->ids[MEMO_SHORT_IDS] = (uint16_t)n;
    }
    return n;
}

static NOINLINE int64_t encode_long(const longest *m, memo *memo, const uint8_t *segment, int64_t n_bytes,
                                    uint16_t *ids)
{
    if (n_bytes > MEMO_LONG_BYTES) return longest_walk(m, segment, n_bytes, ids, NULL);
    uint64_t key[4];
    memo_long_key(segment, n_bytes, key);
    memo_long *slot = memo_long_slot(memo, key);
    if (LIKELY(memcmp(slot->key, key, sizeof key) == 0)) {
        memcpy(ids, slot->ids, sizeof slot->ids);
        return slot->ids[MEMO_LONG_IDS];
    }
    int64_t n = longest_walk(m, segment, n_bytes, ids, NULL);
    if (n <= MEMO_LONG_IDS) {
        memcpy(slot->key, key, sizeof key);
        memcpy(slot->ids, ids, MEMO_LONG_IDS * sizeof *ids);
        slot->ids[MEMO_LONG_IDS] = (uint16_t)n;
    }
    return n;
}

/* Encodes the segments between the cuts; text is readable 32 bytes beyond the last. */
static int64_t encode_segments(const longest *m, memo *memo, const uint8_t *text, const uint16_t *cuts, int64_t n_cuts,
                               uint16_t *ids)
{
    uint16_t *out = ids;
    int64_t begin = 0;
    for (int64_t k = 0; k < n_cuts; k++) {
        const uint8_t *segment = text + begin;
        int64_t n_bytes = cuts[k] - begin;
        begin = cuts[k];
        if (UNLIKELY(n_bytes > MEMO_SHORT_BYTES)) {
            out += encode_long(m, memo, segment, n_bytes, out);
            continue;
        }
        memo_short_key key = memo_short_key_of(segment, n_bytes);
        memo_short *slot = memo_short_slot(memo, key);
        if (LIKELY(memo_short_has(slot, key))) {
            memcpy(out, slot->ids, sizeof slot->ids);
            out += slot->ids[MEMO_SHORT_IDS];
        } else {
            out += miss_short(m, slot, key, segment, n_bytes, out);
        }
    }
    return out - ids;
}

/* In chunks: find the cuts of the next CUT_CHUNK_BYTES, encode what lies between them, go on from the last cut. The end
 * of the text closes the last segment. A segment longer than a chunk is walked where it stands. */
int64_t longest_encode(const longest *m, longest_scratch *s, const uint8_t *text, int64_t n_bytes, int64_t n_readable,
                       uint16_t *ids)
{
    int64_t done = 0;
    uint16_t *out = ids;
    while (done < n_bytes) {
        int64_t n_chunk = n_bytes - done < CUT_CHUNK_BYTES ? n_bytes - done : CUT_CHUNK_BYTES;
        const uint8_t *chunk = text + done;
        if (n_readable - done < n_chunk + CUT_READ_BEYOND) {
            /* With all that follows the chunk: the windows of its last characters reach there. */
            memcpy(s->tail, chunk, (size_t)(n_readable - done));
            chunk = s->tail;
        }
        int64_t n_cuts = m->scan(m->cuts, chunk, n_chunk, s->cuts);
        if (done + n_chunk == n_bytes) s->cuts[n_cuts++] = (uint16_t)n_chunk;
        if (UNLIKELY(n_cuts == 0)) {
            int64_t end = cut_next(m->cuts, text, done + n_chunk - 1, n_bytes);
            out += longest_walk(m, text + done, end - done, out, NULL);
            done = end;
            continue;
        }
        out += encode_segments(m, &s->memo, chunk, s->cuts, n_cuts, out);
        done += s->cuts[n_cuts - 1];
    }
    return out - ids;
}

int64_t longest_split(const longest *m, const uint8_t *text, int64_t n_bytes)
{
    int64_t done = cut_last(m->cuts, text, n_bytes);
    if (done) return done;
    /* No cut: walk from the start. A token is settled when no piece that begins with it can reach past the bytes at hand. */
    int64_t token_bytes;
    while (done + m->max_piece_bytes <= n_bytes) {
        next_token(m, text + done, n_bytes - done, &token_bytes);
        done += token_bytes;
    }
    return done;
}
