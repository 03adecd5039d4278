/* vocabulary.c - implements vocabulary.h
 *
 * A spec lists pieces in any order, with any ids. The rest of the library needs them in two orders:
 *
 *     spec        piece "the" "a" "he"   id 3 7 5
 *     by bytes    a  he  the             for tries: vocabulary_sort, or a HAT-trie and its list
 *     by id       - - - the - he - a     for decoding: vocabulary_by_id; other ids are empty
 *
 * Limits are checked first, so that sizes fit 32 bits in everything built later. */

#include "structures/vocabulary.h"

#include "ground/alloc.h"
#include "ground/error.h"

/* One pass over the pieces; the error names the first invalid one. */
int32_t vocabulary_check(const unitok_spec *spec, int64_t *ret_n_ids, int64_t *ret_max_piece_bytes,
                         unitok_error *error)
{
    int64_t max_id = spec->eod_id > spec->fallback_id ? spec->eod_id : spec->fallback_id,
            longest_piece = 0;
    if (spec->n_pieces < 0)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "the number of pieces is negative");
    if (spec->eod_id < -1 || spec->fallback_id < -1 || max_id > UNITOK_WIDE_ID_MAX)
        return fail(error, UNITOK_ERROR_VOCABULARY, -1, -1,
                    "the eod or fallback id is not in 0..4194303");
    for (int64_t k = 0; k < spec->n_pieces; k++) {
        int64_t n = spec->offsets[k + 1] - spec->offsets[k];
        if (n < 0) return fail(error, UNITOK_ERROR_ARGUMENT, k, -1, "the offsets decrease");
        if (n == 0) return fail(error, UNITOK_ERROR_VOCABULARY, k, -1, "this piece is empty");
        if (n > UNITOK_HAT_KEY_MAX_BYTES ||
            spec->offsets[k + 1] - spec->offsets[0] > PIECE_BYTES_MAX)
            return fail(error, UNITOK_ERROR_VOCABULARY, k, -1, "the pieces are too long");
        if (spec->ids[k] < 0 || spec->ids[k] > UNITOK_WIDE_ID_MAX)
            return fail(error, UNITOK_ERROR_VOCABULARY, k, -1,
                        "the id of this piece is not in 0..4194303");
        if (spec->ids[k] > max_id) max_id = spec->ids[k];
        if (n > longest_piece) longest_piece = n;
    }
    *ret_n_ids = max_id + 1;
    *ret_max_piece_bytes = longest_piece;
    return UNITOK_OK;
}

static int hex_digit(uint8_t c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Accepts only uppercase digits, as SentencePiece writes them. */
int vocabulary_byte(const uint8_t *piece, int64_t n_bytes)
{
    if (n_bytes != 6 || memcmp(piece, "<0x", 3) || piece[5] != '>') return -1;
    int high = hex_digit(piece[3]), low = hex_digit(piece[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

void sorted_pieces_free(sorted_pieces *s)
{
    mem_free(s->ids);
    mem_free(s->offsets);
    mem_free(s->data);
}

int32_t sorted_pieces_list(const unitok_hat *hat, int64_t n_bytes, sorted_pieces *ret,
                           unitok_error *error)
{
    unitok_hat_walk *walk = NULL;
    ret->n = unitok_hat_count(hat);
    ret->data = mem_alloc((size_t)n_bytes + 1);
    ret->offsets = mem_zalloc((size_t)ret->n + 1, sizeof *ret->offsets);
    ret->ids = mem_alloc(((size_t)ret->n + 1) * sizeof *ret->ids);
    if (!ret->data || !ret->offsets || !ret->ids) return fail_memory(error);
    int32_t status = unitok_hat_walk_new(hat, NULL, 0, &walk, error);
    if (!status && ret->n &&
        unitok_hat_walk_next(walk, ret->data, n_bytes, ret->offsets, ret->ids, ret->n) != ret->n)
        status = fail_memory(error);
    unitok_hat_walk_free(walk);
    return status;
}

static int is_same(const struct array_item *a, const struct array_item *b)
{
    return a->n_bytes == b->n_bytes && memcmp(a->key, b->key, a->n_bytes) == 0;
}

/* Copies the pieces in the order of `items`. Equal pieces are neighbours, so comparing each with
 * the one before it finds all duplicates. */
static int32_t put_sorted(const struct array_item *items, const int64_t *ids, int64_t n_bytes,
                          sorted_pieces *ret, unitok_error *error)
{
    ret->data = mem_alloc((size_t)n_bytes + 1);
    ret->offsets = mem_alloc(((size_t)ret->n + 1) * sizeof *ret->offsets);
    ret->ids = mem_alloc(((size_t)ret->n + 1) * sizeof *ret->ids);
    if (!ret->data || !ret->offsets || !ret->ids) return fail_memory(error);
    ret->offsets[0] = 0;
    for (int64_t k = 0; k < ret->n; k++) {
        if (k && is_same(&items[k - 1], &items[k]))
            return fail(error, UNITOK_ERROR_VOCABULARY, items[k].number, -1,
                        "this piece occurs twice");
        memcpy(ret->data + ret->offsets[k], items[k].key, items[k].n_bytes);
        ret->offsets[k + 1] = ret->offsets[k] + items[k].n_bytes;
        ret->ids[k] = ids[items[k].number];
    }
    return UNITOK_OK;
}

/* A merge sort: O(bytes log n) for any pieces, which quicksort does not guarantee. Inserting the
 * pieces into a HAT-trie takes longer. */
int32_t vocabulary_sort(const uint8_t *data, const int64_t *offsets, const int64_t *ids,
                        int64_t n_pieces, sorted_pieces *ret, unitok_error *error)
{
    size_t n = (size_t)n_pieces;
    struct array_item *items = mem_alloc((2 * n + 1) * sizeof *items);
    if (!items) return fail_memory(error);
    for (int64_t k = 0; k < n_pieces; k++)
        items[k] = (struct array_item){data + offsets[k], 0,
                                       (uint32_t)(offsets[k + 1] - offsets[k]), (uint32_t)k};
    array_items_sort(items, items + n, n);
    ret->n = n_pieces;
    int32_t status = put_sorted(items, ids, offsets[n_pieces] - offsets[0], ret, error);
    mem_free(items);
    return status;
}

/* A counting sort: the ids are small numbers, and each has at most one piece. Lengths are at least
 * 1 (vocabulary_check), so a length of 0 means that no piece has used the id yet. */
int32_t vocabulary_by_id(const unitok_spec *spec, int64_t n_ids, uint32_t *piece_offsets,
                         uint8_t *pieces, unitok_error *error)
{
    for (int64_t k = 0; k < spec->n_pieces; k++) { /* first the lengths, shifted by one id */
        uint32_t *length = &piece_offsets[spec->ids[k] + 1];
        if (*length)
            return fail(error, UNITOK_ERROR_VOCABULARY, k, -1, "another piece has the same id");
        *length = (uint32_t)(spec->offsets[k + 1] - spec->offsets[k]);
    }
    for (int64_t id = 0; id < n_ids; id++) piece_offsets[id + 1] += piece_offsets[id];
    for (int64_t k = 0; k < spec->n_pieces; k++)
        memcpy(pieces + piece_offsets[spec->ids[k]], spec->data + spec->offsets[k],
               (size_t)(spec->offsets[k + 1] - spec->offsets[k]));
    return UNITOK_OK;
}
