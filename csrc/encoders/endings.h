/* endings.h - all pieces that end at each position of a text, found in one pass (Aho and Corasick)
 *
 * Where pieces cross spaces, walks from every position read each byte about ten times. Here one
 * state follows the text: the longest suffix of what has been read that begins a piece.
 *
 *     pieces  "she" "he" "h" "ers"          text   s  h  e  r  s
 *                                           state  s sh she er ers      "her" begins no piece, "er" does
 *     she   base of its children, as in the trie (trie.h)
 *           fail: he, the longest shorter suffix; its children are tried where "she" has none that fits
 *           list: "she", "he"
 *
 * Nodes have the indexes of the trie's units, but for the root and its children: the root is node
 * 0, its child by byte c is node c. A byte that begins no piece has a node there too, which is like
 * the root, so the root has a child for every byte. A leaf has the base and the fail of the longest
 * suffix that has children, so that nothing is tried in vain. A node where no piece ends shares the
 * list of its suffix. Pieces of one ASCII byte, like "h" here, are in no list but in a table of
 * their own.
 *
 * What takes time is nodes that are in no cache. So 64 parts of a text are followed in turn, a step
 * of each, without a branch, and each step prefetches the one node that the lane's next step reads:
 *
 *     a child by the next byte, if `bytes` does not rule it out: is the label that byte? then the byte is taken
 *     otherwise, or if the label was another one: the suffix
 *
 * Each part but the first begins at the root, EARLY bytes before, which is mostly enough to come to
 * the right state. Then the parts are joined: from the state where the part before ended, places
 * are corrected until one is right already.
 */
#pragma once

#include "structures/trie.h"

#define ENDINGS_PIECE_BYTES 255
#define ENDINGS_OUTS 4

/* Pieces that end at a position, the longest first; where there are fewer, the first of them again.
 * A value is (id + 1) << 8 | 255 - the piece's bytes. A longer list takes several records in a row.
 */
typedef struct endings_list {
    float scores[ENDINGS_OUTS];
    uint32_t values[ENDINGS_OUTS];
} endings_list;

typedef struct endings_node {
    /* the base of its children << 9 | 0x100 | the byte that leads here; the lower bits 0: unused */
    uint32_t unit;
    uint32_t fail;
    /* the index of its first record << 8 | the number of records after that one */
    uint32_t list;
    uint32_t bytes; /* a bit for each child: bit c & 31 */
} endings_node;

typedef struct endings_piece {
    float score;
    uint32_t value; /* as in endings_list; 0: no piece */
} endings_piece;

typedef struct endings {
    endings_node *nodes;
    endings_list *lists; /* lists[0] is empty: scores of -INFINITY */
    void *block;         /* the memory of lists */
    int64_t n_nodes, n_lists;
    int64_t max_piece_bytes;
    endings_piece singles[256]; /* by byte: pieces of one ASCII byte */
} endings;

INLINE int64_t endings_value_bytes(uint32_t value)
{
    return 255 - (int64_t)(value & 255);
}

/* The pieces of a trie, sorted, with the values 1..n_pieces. */
typedef struct endings_pieces {
    const uint8_t *bytes;
    const int64_t *offsets; /* [0..n_pieces] */
    const float *scores;    /* [0..n_pieces], by value */
    const int32_t *ids;     /* [0..n_pieces], by value */
    int64_t n_pieces;
} endings_pieces;

/* *ret is NULL if a piece has more than ENDINGS_PIECE_BYTES or begins with a NUL byte, the trie or
 * an id is too large, or too many pieces are within each other. 0 when memory is short. O(bytes of
 * pieces). */
int endings_new(const trie *t, const endings_pieces *pieces, endings **ret);
void endings_free(endings *a);
int64_t endings_memory_bytes(const endings *a);

/* A position: the state there, and the pieces that end there, as in its node. */
typedef struct endings_place {
    uint32_t state, list;
} endings_place;

/* places[i] becomes that after text[i], 0 <= i < n_bytes; `state` is the one before text[0], 0
 * where a text begins. */
void endings_follow(const endings *a, uint32_t state, const uint8_t *text, int64_t n_bytes,
                    endings_place *places);
