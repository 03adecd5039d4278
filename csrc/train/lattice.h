/* lattice.h - the lattice of a unit: every way to compose it from pieces
 *
 * Edges are grouped by the position where they end, the longest first. They are found by walks
 * through the trie, one from each character, which all take the next byte of the unit together:
 *
 *     unit            a       b       c
 *     positions   0       1       2       3          by byte; only where characters begin
 *     walks               a       ab      abc        those that are still in the trie at that position
 *                                 b       bc
 *                                         c
 *     edges               0 ─a──▶ 0 ─ab─▶ 1 ─bc─▶    the positions where they start
 *                                 1 ─b──▶ 2 ─?──▶    no piece is this character alone: an unknown edge
 *     edge_begin[]    0   0       1       3       5  edges that end at position i: edge_begin[i]..edge_begin[i + 1] - 1
 *
 * So the lattice of a prefix is a prefix of the lattice, and a unit reuses the lattice of the bytes
 * that it shares with the previous unit. Units are sorted by bytes, at least among those with the
 * same count, and share half of their bytes with the previous unit.
 *
 * The trie is larger than the caches, and walks mostly wait for memory. So the edges of all units
 * can be recorded in the second pass over the units, and read back in later ones: see unitok_edges.
 *
 * Three algorithms read the lattice: sums over all paths (expect.c), best paths, and losses (both
 * in unigram_template.h). Each stores its numbers per position in `cells`, so that these are reused
 * together with the edges. */
#pragma once

#include "train/lexicon.h"

#define EDGE_UNKNOWN UINT32_MAX
#define EDGE_NONE UINT32_MAX

/* A piece between two positions of the unit. Edges are listed by `end`; `next` links them by
 * `start` as well. */
typedef struct edge {
    uint32_t piece; /* its number in the lexicon, or EDGE_UNKNOWN */
    uint32_t start, end;
    uint32_t next; /* the next edge from the same start, see lattice_link; or EDGE_NONE */
} edge;

/* A walk through the trie that began at `start` and has reached the node at `base`. */
typedef struct walk {
    uint32_t start, base;
} walk;

/* log1p(exp(-d)) for d from 0 to LOG_SPAN: one polynomial around each multiple of 1 / LOG_STEPS.
 * Its error is less than LOG_ERROR, because the fifth derivative, in the first omitted term, is at
 * most 1/4. */
#define LOG_STEPS 16
#define LOG_SPAN 20
#define LOG_ERROR 1e-10

/* One polynomial: c0 + c1 t + c2 t^2 + c3 t^3 + c4 t^4, for |t| <= 1 / (2 * LOG_STEPS). */
struct log_terms {
    double of[5]; /* coefficients of 1, t, t^2, ... */
};

/* The recorded edges of a list of units: for each unit, the edges that end after the bytes that it
 * shares with the previous unit, except unknown edges.
 *
 *     n_edges[]             for each byte that is not shared: how many edges end after it
 *     pieces[], lengths[]   the pieces and lengths in bytes of these edges, in order
 *
 * The first call writes them, and later calls read them and remove pieces that have been dropped.
 * Recording stops, and the trie is walked as before, when memory or max_bytes is exhausted. */
struct unitok_edges {
    uint8_t *n_edges;
    int64_t n_positions, positions_capacity;
    uint32_t *pieces;
    uint8_t *lengths;
    int64_t n, capacity;
    int64_t max_bytes;
    enum edges_state { EDGES_NEW, EDGES_RECORDED, EDGES_GIVEN_UP } state;
    int64_t position, at; /* the next entries of n_edges and of pieces to read */
};

/* exp(x) is a power of 2, times one of EXP_STEPS steps between two powers, times a polynomial of
 * the rest, which is at most t = log(2) / 2 / EXP_STEPS. The polynomial leaves out t^5 / 120 =
 * 4e-14. */
#define EXP_BITS 6
#define EXP_STEPS (1 << EXP_BITS)
#define EXP_ERROR 1e-12

/* Memory for the lattice of one unit, which grows as needed. It holds the lattice that was filled
 * last. */
struct unitok_lattice {
    struct log_terms logs[LOG_SPAN * LOG_STEPS + 1];
    double powers[EXP_STEPS]; /* 2^(i / EXP_STEPS) */
    const uint8_t *unit;      /* [0..n_bytes-1] */
    int64_t n_bytes;
    unitok_edges *record; /* NULL: none */
    walk *walks;
    int64_t walks_capacity;
    edge *edges;
    void *scores; /* the score of each edge, float or double */
    int64_t edges_capacity;
    uint32_t *walk_begin, *edge_begin; /* [0..n_bytes + 1] */
    uint32_t *out, *unknown;           /* [0..n_bytes]: see lattice_link */
    void *cells; /* [0..n_bytes]: state of the algorithm, at most CELL_BYTES each */
    int64_t bytes_capacity;
};

#define CELL_BYTES 24

/* Makes space for a unit of n_bytes. Cells keep their contents. Returns 0 if allocation fails. This
 * file treats cells as bytes; each algorithm has its own type for them. */
int lattice_reserve(unitok_lattice *lattice, int64_t n_bytes);

/* Called before and after all units of a call. record: the recorded edges of these units, or
 * NULL. */
void lattice_begin(unitok_lattice *lattice, unitok_edges *record, const unitok_lexicon *lexicon);
void lattice_end(unitok_lattice *lattice);

/* Fills the lattice with all edges of unit[0..n_bytes) whose pieces have a score other than `dead`,
 * and makes space for the cells. Returns how many bytes the unit shares with the previous one,
 * whose bytes must still be readable, or -1 if allocation fails. The edges and cells of the shared
 * bytes are unchanged. */
int64_t lattice_fill_f32(unitok_lattice *lattice, const unitok_lexicon *lexicon,
                         const float *scores, float dead, float unknown_score, const uint8_t *unit,
                         int64_t n_bytes);
int64_t lattice_fill_f64(unitok_lattice *lattice, const unitok_lexicon *lexicon,
                         const double *scores, double dead, double unknown_score,
                         const uint8_t *unit, int64_t n_bytes);

/* Lists the edges by their start, nearest end first: out[i], then next. Unknown edges are separate,
 * in unknown[i], because sentencepiece puts them last. Call lattice_unlink, and then lattice_link
 * for each position from the last to the first. Linking is needed only by algorithms that go
 * backwards through the lattice, so filling does not do it. */
INLINE void lattice_unlink(unitok_lattice *lattice)
{
    for (int64_t i = 0; i < lattice->n_bytes; i++)
        lattice->out[i] = lattice->unknown[i] = EDGE_NONE;
}

/* Puts the edges that end at `at` at the front of the lists of their starts. Positions are linked
 * from the last to the first, so each list ends up with the nearest end first. */
INLINE void lattice_link(unitok_lattice *lattice, int64_t at)
{
    for (uint32_t k = lattice->edge_begin[at]; k < lattice->edge_begin[at + 1]; k++) {
        edge *e = &lattice->edges[k];
        if (UNLIKELY(e->piece == EDGE_UNKNOWN)) {
            lattice->unknown[e->start] = k;
        } else {
            e->next = lattice->out[e->start];
            lattice->out[e->start] = k;
        }
    }
}
