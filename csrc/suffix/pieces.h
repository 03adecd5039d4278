/* pieces.h - the bytes of all pieces, sorted, to find the tokens that begin with, equal, contain or
 * end with a byte string
 *
 * For the pieces "a" (id 7), "the" (id 3) and "he" (id 5):
 *
 *     starts     a  he  the           the pieces in byte order: those that begin with "h" are neighbours
 *     inner      e  e  he             their proper suffixes in byte order, each above its piece: suffixes that begin with
 *                he the the           "h" are neighbours too, and those that equal "h" come first
 *
 * A piece that has Q[0..i) as a proper suffix has an inner string equal to it, and a piece that
 * contains Q[0..i) after its first byte has an inner string that begins with it. Both are found by
 * one walk, byte by byte: each byte takes a binary search within the range of the previous byte. */
#pragma once

#include "ground/common.h"
#include "unitok_search.h"

/* The two lists are indexes into the same bytes, so a piece of n bytes takes n bytes of `data`, one
 * entry of `starts` and n - 1 entries of `inner`:
 *
 *     data     | t h e | h e | a |           by id
 *     begin    0       3     5   6
 *     starts   ids, sorted by all of their bytes
 *     inner    positions in data 1, 2, 4, ..., sorted by the bytes from there to the end of the piece
 */
struct unitok_search_pieces {
    uint8_t *data; /* the pieces, concatenated by id */
    int64_t n_ids;
    /* [0..n_ids]: the bytes of id are data[begin[id]..begin[id + 1]); empty for an id without text */
    uint32_t *begin;
    /* [0..n_ids-1]: 1 if the piece begins with a space that decoding drops at the start of a document */
    uint8_t *drops_space;
    int64_t n_starts;
    uint32_t *starts; /* ids, sorted by their bytes */
    uint32_t longest; /* the size of the longest piece, in bytes */
    /* starts of first byte c: [start_first[c], start_first[c + 1]) */
    uint32_t start_first[257];
    int64_t n_inner;
    uint32_t *inner;    /* where each inner string begins in data */
    uint32_t *inner_id; /* the id of the piece of each inner string */
    uint32_t inner_first[257];
    /* 1: the ranks of starts[] are consecutive, so pieces with a common prefix have consecutive
     * ranks, and one interval of the suffix array holds them all. */
    int in_order;
};

typedef unitok_search_pieces pieces;

/* A range of starts or of inner. */
typedef struct range {
    uint32_t lo, hi;
} range;

/* The size of a piece in bytes; 0 for an id without text. */
INLINE uint32_t piece_bytes(const pieces *p, uint32_t id)
{
    return p->begin[id + 1] - p->begin[id];
}

INLINE const uint8_t *piece_data(const pieces *p, uint32_t id) { return p->data + p->begin[id]; }

/* First bytes are looked up in a table, which replaces eight steps of a binary search. */
INLINE range starts_with_byte(const pieces *p, uint8_t c)
{
    range ret = {p->start_first[c], p->start_first[c + 1]};
    return ret;
}

INLINE range inner_with_byte(const pieces *p, uint8_t c)
{
    range ret = {p->inner_first[c], p->inner_first[c + 1]};
    return ret;
}

/* The strings of `in` that have byte c at index `depth`. All strings of `in` share their first
 * `depth` bytes and are longer than that. */
range starts_narrow(const pieces *p, range in, uint32_t depth, uint8_t c);
range inner_narrow(const pieces *p, range in, uint32_t depth, uint8_t c);

/* All strings of the range begin with the same `depth` bytes. Returns the end of those that have no
 * more bytes. */
uint32_t inner_equal_end(const pieces *p, range in, uint32_t depth);
