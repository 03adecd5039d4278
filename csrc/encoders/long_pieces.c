/* long_pieces.c - builds the automaton of long_pieces.h and reads texts with it */

#include "encoders/long_pieces.h"

#include <stdlib.h>

#include "ground/alloc.h"
#include "ground/error.h"
#include "structures/trie.h"

#define WINDOW_BYTES 65536

/* -------------------------------------------------------------------------------- Building ---- */

/* A piece and its end. Strings are compared backwards from the end. */
typedef struct reversed {
    const uint8_t *end;
    int64_t n_bytes, id;
} reversed;

static int by_bytes_from_end(const void *left, const void *right)
{
    const reversed *a = left, *b = right;
    int64_t n = a->n_bytes < b->n_bytes ? a->n_bytes : b->n_bytes;
    for (int64_t i = 1; i <= n; i++)
        if (a->end[-i] != b->end[-i]) return a->end[-i] < b->end[-i] ? -1 : 1;
    return (a->n_bytes > b->n_bytes) - (a->n_bytes < b->n_bytes);
}

/* Lays the reversed pieces out as a trie, with values from 1 in the order of `list`. */
static int32_t lay_out(long_pieces *p, const reversed *list, int64_t n, int64_t n_bytes,
                       int64_t *ret_n_units, unitok_error *error)
{
    uint8_t *data = mem_alloc((size_t)n_bytes);
    int64_t *offsets = mem_zalloc((size_t)(2 * n + 1), sizeof *offsets), *indexes;
    trie_parts parts = {NULL, 0};
    int32_t status = UNITOK_ERROR_MEMORY;
    if (data && offsets) {
        indexes = offsets + n + 1;
        for (int64_t k = 0; k < n; k++) {
            for (int64_t i = 0; i < list[k].n_bytes; i++)
                data[offsets[k] + i] = list[k].end[-1 - i];
            offsets[k + 1] = offsets[k] + list[k].n_bytes;
            indexes[k] = k;
        }
        status = trie_build(data, offsets, indexes, n, &parts, error);
        p->units = parts.units;
        *ret_n_units = parts.n_units;
    } else {
        fail_memory(error);
    }
    mem_free(data);
    mem_free(offsets);
    return status;
}

static uint32_t base_of(const long_pieces *p, uint32_t at)
{
    return at ? unit_base(p->units[at]) : TRIE_ROOT_BASE;
}

/* The node after reading `byte` in node `at`; 0 is the root. */
INLINE uint32_t next_node(const long_pieces *p, uint32_t at, uint8_t byte)
{
    for (;; at = p->fail[at]) {
        uint32_t child = base_of(p, at) ^ byte;
        if (unit_has_label(p->units[child], byte)) return child;
        if (!at) return 0;
    }
}

/* Fills fail and found in breadth-first order, because the suffix of a node is shorter and so must
 * be complete before it. first and next list the children of each base, since a double array can
 * find a child by its byte but cannot enumerate the children. queue has space for all units. */
static void link_nodes(long_pieces *p, int64_t n_units, uint32_t *first, uint32_t *next,
                       uint32_t *queue)
{
    int64_t n_queued = 1;
    for (uint32_t at = TRIE_BLOCK; at < n_units; at++) {
        if (!(p->units[at] & 0x100)) continue;
        uint32_t base = at ^ (uint32_t)(p->units[at] & 0xFF);
        next[at] = first[base];
        first[base] = at;
    }
    queue[0] = 0;
    for (int64_t k = 0; k < n_queued; k++) {
        uint32_t above = queue[k], base = base_of(p, above);
        for (uint32_t at = base ? first[base] : 0; at; at = next[at]) {
            uint32_t value = unit_value(p->units[at]);
            p->fail[at] = above ? next_node(p, p->fail[above], (uint8_t)p->units[at]) : 0;
            p->found[at] = value ? value : p->found[p->fail[at]];
            queue[n_queued++] = at;
        }
    }
}

static int link_all(long_pieces *p, int64_t n_units)
{
    uint32_t *first = mem_zalloc((size_t)n_units, sizeof *first),
             *next = mem_alloc((size_t)n_units * sizeof *next);
    uint32_t *queue = mem_alloc((size_t)n_units * sizeof *queue);
    p->fail = mem_zalloc((size_t)n_units, sizeof *p->fail);
    p->found = mem_zalloc((size_t)n_units, sizeof *p->found);
    int ok = first && next && queue && p->fail && p->found;
    if (ok) link_nodes(p, n_units, first, next, queue);
    mem_free(first);
    mem_free(next);
    mem_free(queue);
    return ok;
}

int32_t long_pieces_new(const uint8_t *pieces, const uint32_t *offsets, int64_t n_ids,
                        long_pieces **ret, unitok_error *error)
{
    int64_t n = 0, n_bytes = 0, n_units;
    for (int64_t id = 0; id < n_ids; id++) n += offsets[id + 1] - offsets[id] > LONG_PIECE_BYTES;
    *ret = NULL;
    if (!n) return UNITOK_OK;
    long_pieces *p = mem_zalloc(1, sizeof *p);
    reversed *list = mem_alloc((size_t)n * sizeof *list);
    if (p) p->ids = mem_alloc((size_t)n * sizeof *p->ids);
    if (p) p->lengths = mem_alloc((size_t)n * sizeof *p->lengths);
    int32_t status = UNITOK_OK;
    if (!p || !list || !p->ids || !p->lengths) {
        status = fail_memory(error);
        goto done;
    }
    n = 0;
    for (int64_t id = 0; id < n_ids; id++) {
        int64_t length = (int64_t)offsets[id + 1] - offsets[id];
        if (length <= LONG_PIECE_BYTES) continue;
        list[n++] = (reversed){pieces + offsets[id + 1], length, id};
        n_bytes += length;
        if (length > p->max_piece_bytes) p->max_piece_bytes = length;
    }
    qsort(list, (size_t)n, sizeof *list, by_bytes_from_end);
    for (int64_t k = 0; k < n; k++) {
        p->ids[k] = (int32_t)list[k].id;
        p->lengths[k] = (uint32_t)list[k].n_bytes;
    }
    for (int64_t k = 1; k < n && !status; k++)
        if (!by_bytes_from_end(&list[k - 1], &list[k]))
            status = fail(error, UNITOK_ERROR_FORMAT, list[k].id, -1,
                          "two ids have the same piece");
    if (!status) status = lay_out(p, list, n, n_bytes, &n_units, error);
    if (!status && !link_all(p, n_units)) status = fail_memory(error);
done:
    mem_free(list);
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
 * past its end, and those bytes are read too. So a window is twice as large as that, and every byte
 * is read at most one and a half times. 0 when memory is short. */
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
        node = next_node(p, node, text[i]);
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
