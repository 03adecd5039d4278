/* lexicon.h - the pieces of a Unigram model in training, and the lattice of a unit: every way to make it of pieces
 *
 * Pieces have numbers in the trie that stay while the model shrinks: a piece that is dropped keeps its number and is no
 * longer alive. All arrays of scores and counts go by these numbers.
 *
 *     positions   0       1       2       3          by byte; only where characters begin
 *     edges       a───────▶
 *                 ab──────────────▶
 *                         b───────▶
 *                         bc──────────────▶
 *                                 ?───────▶          no piece is this character alone: an unknown edge
 *     first[]     0       2       4       5          edges that begin at position i: first[i]..first[i + 1] - 1
 */
#pragma once

#include "structures/trie.h"
#include "train/rules.h"

#define EDGE_UNKNOWN UINT32_MAX

typedef struct edge {
    uint32_t piece; /* or EDGE_UNKNOWN */
    uint32_t end;
} edge;

struct unitok_lexicon {
    uint64_t *units; /* a double array */
    int64_t n_units;
    int64_t n_pieces;
    int64_t max_piece_bytes;
};

/* Memory for the lattice of one unit; grows as needed. */
struct unitok_lattice {
    edge *edges;
    int64_t n_edges, edges_room;
    uint32_t *first; /* [0..n_bytes] */
    void *cells;     /* for each position, what the algorithm needs */
    int64_t bytes_room;
};

#define CELL_BYTES 24

/* Room for the cells of a unit of n_bytes; 0 when memory is short. */
int lattice_reserve(unitok_lattice *lattice, int64_t n_bytes);

/* All edges of unit[0..n_bytes), of pieces that are alive, and room for the cells; 0 when memory is short. */
int lattice_fill(unitok_lattice *lattice, const unitok_lexicon *lexicon, const uint8_t *alive, const uint8_t *unit,
                 int64_t n_bytes);
