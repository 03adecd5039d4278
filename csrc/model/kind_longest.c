/* kind_longest.c - greedy longest prefix, as a kind of model */

#include "ground/alloc.h"
#include "ground/error.h"
#include "model/image.h"
#include "model/kind.h"

static loop_kind loop(const unitok_model *m)
{
    (void)m;
    return LOOP_GREEDY_16;
}

static int32_t build(unitok_model *m, unitok_error *error)
{
    if (m->longest.hat || m->longest.longs || m->info.id_bytes > 2) return UNITOK_OK;
    return lanes_new(&m->longest.trie, m->info.cpu, &m->longest.lanes) ? UNITOK_OK
                                                                       : fail_memory(error);
}

static int64_t memory_bytes(const unitok_model *m)
{
    return m->longest.lanes ? m->longest.lanes->memory_bytes : 0;
}

static void free_tables(unitok_model *m)
{
    unitok_hat_free(m->hat);
    mem_free(m->own_heads);
    long_pieces_free(m->longest.longs);
    lanes_free(m->longest.lanes);
}

static int64_t encode(const unitok_model *m, unitok_scratch *s, const uint8_t *text,
                      int64_t n_bytes, token *tokens)
{
    int64_t n = 0, token_bytes;
    s->window.end = 0;
    for (int64_t at = 0; at < n_bytes;) {
        int32_t id = longest_at(&m->longest, &s->window, text, n_bytes, at, &token_bytes);
        if (id < 0) return -1;
        at += token_bytes;
        tokens[n++] = (token){id, (uint32_t)at};
    }
    return n;
}

static int64_t settled(const unitok_model *m, const uint8_t *text, int64_t n_bytes)
{
    return longest_settled(&m->longest, text, n_bytes);
}

static int64_t find(const unitok_model *m, const uint8_t *piece, int64_t n_bytes)
{
    int64_t length;
    int64_t id = (int64_t)trie_longest(&m->longest.trie, piece, n_bytes, &length) - 1;
    if (length != n_bytes) return -1;
    /* a byte that only the fallback covers is not a piece */
    unitok_model_piece(m, id, &length);
    return length == n_bytes &&
                   memcmp(m->pieces + m->piece_offsets[id], piece, (size_t)n_bytes) == 0
               ? id
               : -1;
}

const model_kind kind_longest = {
    .tokens_per_byte = 1,
    .has_engines = 1,
    .make_image = image_build,
    .open = image_open,
    .build = build,
    .loop = loop,
    .memory_bytes = memory_bytes,
    .free = free_tables,
    .encode = encode,
    .settled = settled,
    .find = find,
};
