/* vocabulary.h - the pieces of a spec: checked, sorted by bytes, and laid out by id */
#pragma once

#include "structures/hat.h"

#define PIECE_BYTES_MAX (1 << 28)

/* Checks ids, lengths and special ids. *ret_n_ids is 1 + the largest id, *ret_max_piece_bytes the
 * longest piece. The functions below detect pieces that share an id or their bytes. */
int32_t vocabulary_check(const unitok_spec *spec, int64_t *ret_n_ids, int64_t *ret_max_piece_bytes,
                         unitok_error *error);

/* Returns the byte that a piece of type BYTE, such as "<0x41>", stands for, or -1. */
int vocabulary_byte(const uint8_t *piece, int64_t n_bytes);

INLINE int piece_type(const unitok_spec *spec, int64_t k)
{
    return spec->types ? spec->types[k] : UNITOK_PIECE_NORMAL;
}

INLINE const uint8_t *piece_at(const unitok_spec *spec, int64_t k, int64_t *ret_n_bytes)
{
    *ret_n_bytes = spec->offsets[k + 1] - spec->offsets[k];
    return spec->data + spec->offsets[k];
}

/* Pieces in byte order, a packed list with an id for each. Initialize it to zeros, and free it even
 * if a function below fails. */
typedef struct sorted_pieces {
    uint8_t *data;
    int64_t *offsets, *ids;
    int64_t n;
} sorted_pieces;

/* Lists the keys of a HAT-trie, whose values are the ids. They have at most n_bytes in total. */
int32_t sorted_pieces_list(const unitok_hat *hat, int64_t n_bytes, sorted_pieces *ret,
                           unitok_error *error);

/* Sorts n_pieces pieces. Returns UNITOK_ERROR_VOCABULARY, naming the piece, if one occurs twice. */
int32_t vocabulary_sort(const uint8_t *data, const int64_t *offsets, const int64_t *ids,
                        int64_t n_pieces, sorted_pieces *ret, unitok_error *error);
void sorted_pieces_free(sorted_pieces *s);

/* Fills piece_offsets[0..n_ids], zeros on entry, and pieces: piece `id` begins at
 * pieces[piece_offsets[id]]. */
int32_t vocabulary_by_id(const unitok_spec *spec, int64_t n_ids, uint32_t *piece_offsets,
                         uint8_t *pieces, unitok_error *error);
