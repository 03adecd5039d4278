/* endings.h - all pieces that end at each position of a text, found in one pass (Aho and Corasick)
 *
 * Where pieces cross spaces, walks from every position read each byte about ten times. Here one state follows the text:
 * the longest suffix of what has been read that begins a piece.
 *
 *     pieces  "she" "he" "h" "ers"          text   s  h  e  r  s
 *                                           state  s sh she er ers      "her" begins no piece, "er" does
 *     she   base of its children, as in the trie (trie.h)
 *           fail: he, the longest shorter suffix; its children are tried where "she" has none that fits
 *           outs: "she", "he"
 *
 * Nodes have the indexes of the trie's units; the root is node 0, which the trie does not use. A leaf has the base and
 * the fail of the longest suffix that has children, so that nothing is tried in vain. A node where no piece ends shares
 * the list of its suffix.
 *
 * A state depends on no more bytes than the longest piece has. So 32 parts of a text are followed in turn, a step of each,
 * without a branch: each part but the first begins at the root, that many bytes before. What takes time is nodes that
 * are in no cache, and the parts wait for them together. A child that `bytes` rules out is not looked for.
 */
#pragma once

#include "structures/trie.h"

#define ENDINGS_LANES 32
#define ENDINGS_BYTES_BITS 9 /* of an out's value: the lower ones */
#define ENDINGS_PIECE_BYTES ((1 << ENDINGS_BYTES_BITS) - 1)

typedef struct endings_out {
    float score;
    uint32_t value; /* value << ENDINGS_BYTES_BITS | bytes */
} endings_out;

typedef struct endings_node {
    uint32_t unit;   /* the base of its children << 9 | 0x100 | the byte that leads here; the lower bits 0: unused */
    uint32_t fail;
    uint32_t outs;   /* the index of the first << 8 | their number; longest first */
    uint32_t bytes;  /* a bit for each child: bit c & 31 */
} endings_node;

typedef struct endings {
    endings_node *nodes;
    endings_out *outs;
    int64_t n_nodes, n_outs;
    int64_t max_piece_bytes;
} endings;

/* The pieces of a trie, sorted, with the values 1..n_pieces. */
typedef struct endings_pieces {
    const uint8_t *bytes;
    const int64_t *offsets; /* [0..n_pieces] */
    const float *scores;    /* [0..n_pieces], by value */
    int64_t n_pieces;
} endings_pieces;

/* *ret is NULL if a piece has more than ENDINGS_PIECE_BYTES, the trie is too large, or too many pieces are within
 * each other. 0 when memory is short. O(bytes of pieces). */
int endings_new(const trie *t, const endings_pieces *pieces, endings **ret);
void endings_free(endings *a);
int64_t endings_memory_bytes(const endings *a);

/* A position: the state there, and the pieces that end there, as in its node. */
typedef struct endings_place {
    uint32_t state, outs;
} endings_place;

/* places[i] becomes that after text[i], 0 <= i < n_bytes; `state` is the one before text[0], 0 where a text begins. */
void endings_follow(const endings *a, uint32_t state, const uint8_t *text, int64_t n_bytes,
                      endings_place *places);
