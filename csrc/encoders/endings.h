/* endings.h - finds all pieces that end at each position of a text, in one pass (Aho-Corasick)
 *
 * If pieces cross spaces, trie walks from every position read each byte about ten times. Here one
 * state follows the text: the longest suffix of the text read so far that is a prefix of a piece.
 *
 *     pieces  "she" "he" "h" "ers"          text   s  h  e  r  s
 *                                           state  s sh she er ers      no piece begins with "her"
 *     she   base of its children, as in the trie (trie.h)
 *           fail: he, the longest shorter suffix; its children are tried if no child of "she" matches
 *           list: "she", "he"
 *
 * Nodes have the indexes of the trie's units, except for the root and its children: the root is
 * node 0, and its child for byte c is node c. A byte that no piece begins with also has such a
 * node, equivalent to the root, so the root has a child for every byte. A leaf copies the base and
 * the fail link of its longest suffix that has children, which saves a failing step. A node at
 * which no piece ends shares the list of its suffix. Pieces of one ASCII byte, like "h" here, are
 * in a table and not in the lists.
 *
 * Most of the time is spent waiting for nodes that are not cached. So 64 lanes, each with its own
 * part of the text, take branch-free steps in turn. Each step prefetches the one node that the
 * lane's next step reads:
 *
 *     the child for the next byte, unless `bytes` rules it out: if its label matches, the byte is consumed
 *     otherwise, or after a mismatch, the suffix
 *
 * Every lane but the first begins at the root, EARLY bytes before its part, which is usually enough
 * to reach the correct state. The parts are then joined: starting from the final state of the
 * previous part, places are corrected up to the first that is already correct. */
#pragma once

#include "structures/trie.h"

#define ENDINGS_PIECE_BYTES 255
#define ENDINGS_OUTS 4

/* Pieces that end at a position, the longest first; unused entries repeat the first one. A value is
 * (id + 1) << 8 | (255 - the size of the piece). A longer list takes several consecutive
 * records. */
typedef struct endings_list {
    float scores[ENDINGS_OUTS];
    uint32_t values[ENDINGS_OUTS];
} endings_list;

typedef struct endings_node {
    /* the base of its children << 9 | 0x100 | its label; 0 in the lower bits: unused */
    uint32_t unit;
    uint32_t fail;
    /* the index of its first record << 8 | the number of further records */
    uint32_t list;
    uint32_t bytes; /* a filter: bit c & 31 is set for each child c */
} endings_node;

typedef struct endings_piece {
    float score;
    uint32_t value; /* the same as in endings_list; 0: no piece */
} endings_piece;

typedef struct endings {
    endings_node *nodes;
    endings_list *lists; /* lists[0] is empty: scores of -INFINITY */
    void *block;         /* the allocation that contains `lists` */
    int64_t n_nodes, n_lists;
    int64_t max_piece_bytes;
    endings_piece singles[256]; /* by byte: pieces of one ASCII byte */
} endings;

INLINE int64_t endings_value_bytes(uint32_t value) { return 255 - (int64_t)(value & 255); }

/* The sorted pieces of a trie, with the values 1..n_pieces. */
typedef struct endings_pieces {
    const uint8_t *bytes;
    const int64_t *offsets; /* [0..n_pieces] */
    const float *scores;    /* [0..n_pieces], by value */
    const int32_t *ids;     /* [0..n_pieces], by value */
    int64_t n_pieces;
} endings_pieces;

/* Sets *ret to NULL if a piece has more than ENDINGS_PIECE_BYTES or begins with a NUL byte, if the
 * trie or an id is too large, or if too many pieces end at one position. Returns 0 if allocation
 * fails. O(bytes of pieces). */
int endings_new(const trie *t, const endings_pieces *pieces, endings **ret);
void endings_free(endings *a);
int64_t endings_memory_bytes(const endings *a);

/* The state at a position, and the list of the pieces that end there. */
typedef struct endings_place {
    uint32_t state, list;
} endings_place;

/* Sets places[i] to the place after text[i], 0 <= i < n_bytes. `state` is the state before text[0],
 * 0 at the beginning of a text. */
void endings_follow(const endings *a, uint32_t state, const uint8_t *text, int64_t n_bytes,
                    endings_place *places);
