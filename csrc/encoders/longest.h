/* longest.h - greedy longest prefix: at every position the longest piece, else the byte's own id */
#pragma once

#include "structures/trie.h"

typedef struct longest {
    trie trie;
    const unitok_hat *hat; /* instead of the trie, where it is not NULL */
    int64_t max_piece_bytes;
} longest;

/* One token: its id and its length. n_bytes >= 1. */
INLINE int32_t longest_next(const longest *m, const uint8_t *text, int64_t n_bytes, int64_t *ret_n_bytes)
{
    if (UNLIKELY(m->hat != NULL)) {
        int64_t id = -1, length = unitok_hat_longest_prefix(m->hat, text, n_bytes, &id);
        *ret_n_bytes = length > 0 ? length : 1;
        return length > 0 ? (int32_t)id : (int32_t)(m->trie.singles[text[0]] - 1);
    }
    return (int32_t)(trie_longest(&m->trie, text, n_bytes, ret_n_bytes) - 1);
}

/* How much of text[0..n_bytes-1] is settled where no cut comes: up to the last token boundary that more text cannot move. A
 * token is settled when no piece that begins with it can reach past the bytes at hand. */
INLINE int64_t longest_settled(const longest *m, const uint8_t *text, int64_t n_bytes)
{
    int64_t done = 0, token_bytes;
    while (done + m->max_piece_bytes <= n_bytes) {
        longest_next(m, text + done, n_bytes - done, &token_bytes);
        done += token_bytes;
    }
    return done;
}
