/* long_pieces.c - builds the automaton of long_pieces.h and reads texts with it
 *
 * Building needs O(bytes of the long pieces); reading O(n_bytes), since each byte is read in at
 * most two windows. Real vocabularies have no such pieces, so the code is kept simple rather than
 * fast. */

#include "encoders/long_pieces.h"

#include "ground/alloc.h"
#include "ground/error.h"
#include "structures/suffix_links.h"
#include "structures/vocabulary.h"

#define WINDOW_BYTES 65536

/* -------------------------------------------------------------------------------- Building ---- */

/* Selects the long pieces of a model and sorts them by their reversed bytes, since texts are read
 * backwards. A piece that is too long for a HAT-trie is an error, and so is a piece that occurs
 * twice. */
static int32_t sort_reversed(const uint8_t *pieces, const uint32_t *offsets, int64_t n_ids,
                             sorted_pieces *ret, unitok_error *error)
{
    unitok_hat *hat = NULL;
    uint8_t *key = mem_alloc(UNITOK_HAT_KEY_MAX_BYTES);
    int64_t n_bytes = 0;
    int32_t status = key ? unitok_hat_new(&hat, error) : fail_memory(error);
    for (int64_t id = 0; id < n_ids && !status; id++) {
        int64_t length = (int64_t)offsets[id + 1] - offsets[id], bounds[2] = {0, length};
        if (length <= LONG_PIECE_BYTES) continue;
        for (int64_t i = 0; i < length && length <= UNITOK_HAT_KEY_MAX_BYTES; i++)
            key[i] = pieces[offsets[id + 1] - 1 - i];
        n_bytes += length;
        status = unitok_hat_insert(hat, key, bounds, &id, 1, UNITOK_HAT_UNIQUE, error);
        if (status == UNITOK_ERROR_ARGUMENT)
            status = fail(error, UNITOK_ERROR_FORMAT, id, -1,
                          length > UNITOK_HAT_KEY_MAX_BYTES ? "this piece is too long"
                                                            : "two ids have the same piece");
    }
    if (!status) status = sorted_pieces_list(hat, n_bytes, ret, error);
    unitok_hat_free(hat);
    mem_free(key);
    return status;
}

/* A node is assigned the piece that ends there or, if there is none, the piece of its longest
 * suffix. Suffixes are shorter, so theirs have already been assigned. */
static int put_links(void *context, const suffix_link *link)
{
    long_pieces *p = context;
    uint32_t value = unit_value(p->units[link->unit]);
    p->fail[link->unit] = link->suffix;
    p->found[link->unit] = value ? value : p->found[link->suffix];
    return 1;
}

/* Builds all tables from the reversed pieces; their values are 1..n. */
static int32_t fill_tables(long_pieces *p, const sorted_pieces *sorted, unitok_error *error)
{
    trie_parts parts = {NULL, 0};
    int32_t status = trie_build(sorted->data, sorted->offsets, NULL, sorted->n, &parts, error);
    if (status) return status;
    trie t = {.units = parts.units, .n_units = parts.n_units};
    p->units = parts.units;
    p->fail = mem_zalloc((size_t)t.n_units, sizeof *p->fail);
    p->found = mem_zalloc((size_t)t.n_units, sizeof *p->found);
    p->ids = mem_alloc((size_t)sorted->n * sizeof *p->ids);
    p->lengths = mem_alloc((size_t)sorted->n * sizeof *p->lengths);
    if (!p->fail || !p->found || !p->ids || !p->lengths ||
        !suffix_links_visit(&t, sorted->data, sorted->offsets, sorted->n, put_links, p))
        return fail_memory(error);
    for (int64_t k = 0; k < sorted->n; k++) {
        int64_t length = sorted->offsets[k + 1] - sorted->offsets[k];
        p->ids[k] = (int32_t)sorted->ids[k];
        p->lengths[k] = (uint32_t)length;
        if (length > p->max_piece_bytes) p->max_piece_bytes = length;
    }
    return UNITOK_OK;
}

/* The values in the double array number the sorted, reversed pieces: value k + 1 stands for piece
 * k, whose id is ids[k]. */
int32_t long_pieces_new(const uint8_t *pieces, const uint32_t *offsets, int64_t n_ids,
                        long_pieces **ret, unitok_error *error)
{
    int64_t n = 0;
    sorted_pieces sorted = {0};
    for (int64_t id = 0; id < n_ids; id++) n += offsets[id + 1] - offsets[id] > LONG_PIECE_BYTES;
    *ret = NULL;
    if (!n) return UNITOK_OK;
    long_pieces *p = mem_zalloc(1, sizeof *p);
    int32_t status = p ? sort_reversed(pieces, offsets, n_ids, &sorted, error) : fail_memory(error);
    if (!status) status = fill_tables(p, &sorted, error);
    sorted_pieces_free(&sorted);
    if (status) long_pieces_free(p);
    else *ret = p;
    return status;
}

void long_pieces_free(long_pieces *p)
{
    if (!p) return;
    mem_free(p->units);
    mem_free(p->fail);
    mem_free(p->found);
    mem_free(p->ids);
    mem_free(p->lengths);
    mem_free(p);
}

/* --------------------------------------------------------------------------------- Reading ---- */

void long_window_free(long_window *w)
{
    mem_free(w->values);
    memset(w, 0, sizeof *w);
}

/* Fills the window from `at` on. A piece that begins in it can extend max_piece_bytes - 1 bytes
 * past its end, so the bytes up to there are read too:
 *
 *     text      … │ at ........ window ........ end │ .. max_piece_bytes - 1 .. │ …
 *     read        ◀─────────────────────────────────────────────────────────────┘ from the right
 *     stored      ◀──── values ─────────────────────┘
 *
 * A window is at least twice as long as the longest piece, so on average every byte is read at most
 * one and a half times. Returns 0 if allocation fails. */
static int fill(const long_pieces *p, long_window *w, const uint8_t *text, int64_t n_bytes,
                int64_t at)
{
    int64_t capacity = 2 * p->max_piece_bytes > WINDOW_BYTES ? 2 * p->max_piece_bytes
                                                             : WINDOW_BYTES;
    if (capacity > n_bytes - at) capacity = n_bytes - at;
    if (capacity > w->capacity) {
        long_window_free(w);
        w->values = mem_alloc((size_t)capacity * sizeof *w->values);
        if (!w->values) return 0;
        w->capacity = capacity;
    }
    w->begin = at;
    w->end = at + capacity;
    int64_t end = w->end + p->max_piece_bytes - 1;
    uint32_t node = 0;
    for (int64_t i = end < n_bytes ? end : n_bytes; i-- > at;) {
        node = suffix_links_next(p->units, p->fail, node, text[i]);
        if (i < w->end) w->values[i - at] = p->found[node];
    }
    return 1;
}

int64_t long_pieces_at(const long_pieces *p, long_window *w, const uint8_t *text, int64_t n_bytes,
                       int64_t at, int32_t *ret_id)
{
    if (at >= w->end && !fill(p, w, text, n_bytes, at)) return -1;
    uint32_t value = w->values[at - w->begin];
    if (!value) return 0;
    *ret_id = p->ids[value - 1];
    return p->lengths[value - 1];
}
