/* long_pieces.h - finds where pieces of more than LONG_PIECE_BYTES match, in linear time
 *
 * Greedy encoding walks down the trie to find the longest piece, and continues from the end of the
 * last piece found. If a piece of a million bytes nearly matches everywhere ("aaa...ab" in a text
 * that consists of "a"), every walk takes a million steps. So walks stop after LONG_PIECE_BYTES,
 * and longer pieces, which real vocabularies do not have, are found by an Aho-Corasick automaton
 * ("Efficient string matching", 1975) of the reversed pieces. It reads the text backwards, so at
 * every position it knows the longest of these pieces that begins there:
 *
 *     text      ... x  a  a  a  b  y ...
 *     read            <--------------      after x, the state is "baaa": "aaab" reversed
 *
 * Nodes are the units of a double array (trie.h). fail[unit] is the node of the longest proper
 * suffix; found[unit] is the value of the longest piece that is a suffix of the node's string, or
 * 0. */
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

/* The values of the pieces that begin at text[begin..end - 1]. The text is read window by window.
 * Initialize to zeros. */
typedef struct long_window {
    uint32_t *values; /* [0..end - begin) */
    int64_t begin, end, capacity;
} long_window;

/* Selects the pieces of more than LONG_PIECE_BYTES among pieces[offsets[id]..offsets[id + 1]), by
 * id. *ret is NULL if there are none. O(bytes of pieces). */
int32_t long_pieces_new(const uint8_t *pieces, const uint32_t *offsets, int64_t n_ids,
                        long_pieces **ret, unitok_error *error);
void long_pieces_free(long_pieces *p);

/* Returns the length of the longest of these pieces that begins at text[at], and its id; 0 if none
 * begins there, -1 if allocation fails. A window belongs to one text: set its end to 0 before
 * using it for another. `at` must not decrease from call to call. O(n_bytes) over all calls. */
int64_t long_pieces_at(const long_pieces *p, long_window *w, const uint8_t *text, int64_t n_bytes,
                       int64_t at, int32_t *ret_id);
void long_window_free(long_window *w);
