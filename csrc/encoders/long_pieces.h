/* long_pieces.h - where the pieces of more than LONG_PIECE_BYTES match, in time linear in the text
 *
 * Greedy looks for the longest piece by walking down the trie, and continues from the end of the
 * last piece it met. Where a piece of a million bytes nearly matches everywhere (aaa...ab, in a
 * text of a only), every walk takes a million steps. So walks end after LONG_PIECE_BYTES, and
 * longer pieces, which real vocabularies do not have, are found by an Aho-Corasick automaton
 * ("Efficient string matching", 1975) of the reversed pieces. It reads the text from the end, so
 * that at every position it knows the longest of these pieces that begins there:
 *
 *     text      ... x  a  a  a  b  y ...
 *     read            <--------------      at x's right neighbour the state is "baaa", reversed: the piece "aaab"
 *
 * Nodes are the units of a double array (trie.h); fail[unit] is the node of the longest proper
 * suffix, found[unit] the value of the longest piece that ends the node's string, 0 if none does.
 */
#pragma once

#include "ground/common.h"

#define LONG_PIECE_BYTES 256

typedef struct long_pieces {
    uint64_t *units;
    uint32_t *fail, *found; /* [0..n_units - 1] */
    int32_t *ids;           /* [value - 1] */
    uint32_t *lengths;      /* [value - 1] */
    int64_t max_piece_bytes;
} long_pieces;

/* The values of the pieces that begin at text[begin..end - 1], for a text read window by window.
 * Zeroed memory is a fresh one. */
typedef struct long_window {
    uint32_t *values; /* [0..end - begin) */
    int64_t begin, end, room;
} long_window;

/* Of pieces by id, pieces[offsets[id]..offsets[id + 1]): those of more than LONG_PIECE_BYTES. *ret
 * is NULL if there is none. O(bytes of pieces). */
int32_t long_pieces_new(const uint8_t *pieces, const uint32_t *offsets, int64_t n_ids,
                        long_pieces **ret, unitok_error *error);
void long_pieces_free(long_pieces *p);

/* The length of the longest of them that begins at text[at], and its id; 0 if there is none, -1
 * when memory is short. A window belongs to one text: set its end to 0 before another. `at` must
 * not decrease. O(n_bytes) over all calls. */
int64_t long_pieces_at(const long_pieces *p, long_window *w, const uint8_t *text, int64_t n_bytes,
                       int64_t at, int32_t *ret_id);
void long_window_free(long_window *w);
