/* longest.h - greedy longest-prefix encoding: each token is the longest piece at its position, or
 * the id of the byte there if no piece matches */
#pragma once

#include "encoders/compact.h"
#include "encoders/lanes.h"
#include "encoders/long_pieces.h"
#include "structures/hat.h"
#include "structures/trie.h"

typedef struct longest {
    trie trie;
    const unitok_hat *hat; /* used instead of the trie, if not NULL */
    int64_t max_piece_bytes;
    long_pieces *longs; /* NULL if no piece has more than LONG_PIECE_BYTES */
    /* Each is NULL if the model has a HAT-trie, long pieces or 32-bit ids, or if it cannot
     * represent the vocabulary. */
    compact_trie *compact;
    lanes *lanes;
} longest;

/* Returns the id of the token at the start of the text, and its length. n_bytes >= 1, and at most
 * LONG_PIECE_BYTES if the model has longer pieces. */
INLINE int32_t longest_next(const longest *m, const uint8_t *text, int64_t n_bytes,
                            int64_t *ret_n_bytes)
{
    if (LIKELY(m->compact != NULL)) return compact_next(m->compact, text, n_bytes, ret_n_bytes);
    if (UNLIKELY(m->hat != NULL)) {
        int64_t id = -1, length = unitok_hat_longest_prefix(m->hat, text, n_bytes, &id);
        *ret_n_bytes = length > 0 ? length : 1;
        return length > 0 ? (int32_t)id : (int32_t)(m->trie.singles[text[0]] - 1);
    }
    return (int32_t)(trie_longest(&m->trie, text, n_bytes, ret_n_bytes) - 1);
}

/* Returns the id of the token at text[at] for any model, or -1 if allocation fails. See
 * long_pieces_at. */
INLINE int32_t longest_at(const longest *m, long_window *w, const uint8_t *text, int64_t n_bytes,
                          int64_t at, int64_t *ret_n_bytes)
{
    int64_t n_left = n_bytes - at;
    if (UNLIKELY(m->longs != NULL)) {
        int32_t id;
        *ret_n_bytes = long_pieces_at(m->longs, w, text, n_bytes, at, &id);
        if (*ret_n_bytes) return *ret_n_bytes < 0 ? -1 : id;
        if (n_left > LONG_PIECE_BYTES) n_left = LONG_PIECE_BYTES;
    }
    return longest_next(m, text + at, n_left, ret_n_bytes);
}

/* Returns how many bytes of text[0..n_bytes-1] are settled even if there is no cut: those up to the
 * last token boundary that further text cannot move. A token is settled if no piece that begins
 * with it can extend past the available bytes. Returns 0 if allocation fails. */
INLINE int64_t longest_settled(const longest *m, const uint8_t *text, int64_t n_bytes)
{
    long_window w = {0};
    int64_t done = 0, token_bytes;
    while (done + m->max_piece_bytes <= n_bytes) {
        if (longest_at(m, &w, text, n_bytes, done, &token_bytes) < 0) {
            done = 0;
            break;
        }
        done += token_bytes;
    }
    long_window_free(&w);
    return done;
}
