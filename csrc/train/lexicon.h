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

/* log1p(exp(-d)) for d from 0 to LOG_SPAN: in each step of 1 / LOG_STEPS a polynomial around its middle. What is left out is
 * less than LOG_ERROR: the fifth derivative is at most 1/4. */
#define LOG_STEPS 32
#define LOG_SPAN 20
#define LOG_ERROR 4e-12

struct log_terms {
    double of[5]; /* coefficients of 1, t, t^2, ... */
};

/* Memory for the lattice of one unit; grows as needed. */
struct unitok_lattice {
    struct log_terms logs[LOG_SPAN * LOG_STEPS];
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
