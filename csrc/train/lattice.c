/* lattice.c - fills lattices, and records their edges: see lattice.h
 *
 * A lattice is used for one unit after another. Arrays by position are reserved before it is
 * filled, and arrays of edges grow while it is filled.
 *
 * With the record of edges, later passes need not walk through the trie. For the units "the" and
 * "them", in order:
 *
 *     position     t     h       e            m               "them" shares three bytes with "the": one position is new
 *     n_edges      1     2       3            3
 *     pieces       t     th h    the he e     them em m       an entry for each edge, the longest first
 *     lengths      1     2  1    3   2  1     4    2  1
 *
 * A later pass reads the next entries of these lists for each position that is not shared. */

#include "train/lattice.h"

#include <math.h>

#include "ground/grow.h"

/* The first five terms of the Taylor series of log1p(exp(-d)) around d. With s = 1 / (1 + exp(d))
 * and u = s (1 - s), its derivatives are polynomials in s and u. */
static void fill_logs(struct log_terms *logs)
{
    for (int i = 0; i <= LOG_SPAN * LOG_STEPS; i++) {
        double d = (double)i / LOG_STEPS, s = 1 / (1 + exp(d)), u = s * (1 - s);
        double terms[5] = {log1p(exp(-d)), -s, u / 2, -u * (1 - 2 * s) / 6, u * (1 - 6 * u) / 24};
        memcpy(logs[i].of, terms, sizeof terms);
    }
}

/* The tables are part of every lattice, so there is no global state to initialize. They are small
 * and quick to fill. */
unitok_lattice *unitok_lattice_new(void)
{
    unitok_lattice *lattice = mem_zalloc(1, sizeof *lattice);
    if (!lattice) return NULL;
    fill_logs(lattice->logs);
    for (int i = 0; i < EXP_STEPS; i++) lattice->powers[i] = exp2((double)i / EXP_STEPS);
    return lattice;
}

void unitok_lattice_free(unitok_lattice *lattice)
{
    if (!lattice) return;
    mem_free(lattice->walks);
    mem_free(lattice->edges);
    mem_free(lattice->scores);
    mem_free(lattice->walk_begin);
    mem_free(lattice->edge_begin);
    mem_free(lattice->out);
    mem_free(lattice->unknown);
    mem_free(lattice->cells);
    mem_free(lattice);
}

/* Grows by half. The first entries of the lists are set here, because lattice_fill reads them
 * before it has written any. */
int lattice_reserve(unitok_lattice *lattice, int64_t n_bytes)
{
    if (n_bytes + 2 <= lattice->bytes_capacity) return 1;
    int64_t capacity = n_bytes + n_bytes / 2 + 64;
    if (!resize(&lattice->walk_begin, capacity, sizeof *lattice->walk_begin) ||
        !resize(&lattice->edge_begin, capacity, sizeof *lattice->edge_begin) ||
        !resize(&lattice->out, capacity, sizeof *lattice->out) ||
        !resize(&lattice->unknown, capacity, sizeof *lattice->unknown) ||
        !resize(&lattice->cells, capacity, CELL_BYTES))
        return 0;
    lattice->walk_begin[0] = lattice->walk_begin[1] = lattice->edge_begin[0] =
        lattice->edge_begin[1] = 0;
    lattice->bytes_capacity = capacity;
    return 1;
}

/* Each score gets the space of a double, whether it is a float or a double. */
static NOINLINE int grow_edges(unitok_lattice *lattice, int64_t n_walks, int64_t n_edges)
{
    int64_t walks_capacity = n_walks + n_walks / 2 + 64,
            edges_capacity = n_edges + n_edges / 2 + 64;
    if (!resize(&lattice->walks, walks_capacity, sizeof *lattice->walks) ||
        !resize(&lattice->edges, edges_capacity, sizeof *lattice->edges) ||
        !resize(&lattice->scores, edges_capacity, sizeof(double)))
        return 0;
    lattice->walks_capacity = walks_capacity;
    lattice->edges_capacity = edges_capacity;
    return 1;
}

/* The length of the prefix that a unit shares with the previous unit, in bytes. */
static int64_t common_bytes(const unitok_lattice *lattice, const uint8_t *unit, int64_t n_bytes)
{
    int64_t n = n_bytes < lattice->n_bytes ? n_bytes : lattice->n_bytes, i = 0;
    while (i < n && unit[i] == lattice->unit[i]) i++;
    return i;
}

/* -------------------------------------------------------------------------- Recorded edges ---- */

/* A record starts empty, and the first call that uses it fills it. */
unitok_edges *unitok_edges_new(int64_t max_bytes)
{
    unitok_edges *record = mem_zalloc(1, sizeof *record);
    if (record) record->max_bytes = max_bytes;
    return record;
}

/* Frees everything, and marks the record so that later passes do not try again. */
static void give_up(unitok_edges *record)
{
    mem_free(record->n_edges);
    mem_free(record->pieces);
    mem_free(record->lengths);
    *record = (unitok_edges){.state = EDGES_GIVEN_UP};
}

void unitok_edges_free(unitok_edges *record)
{
    if (!record) return;
    give_up(record);
    mem_free(record);
}

/* A position takes one byte, and an edge five. */
int64_t unitok_edges_memory_bytes(const unitok_edges *record)
{
    return record->positions_capacity + 5 * record->capacity;
}

/* Renumbers the pieces after dropped ones have been removed from the list of pieces; those with a
 * number below 0 are dropped. The record is compacted in the same pass. */
void unitok_edges_renumber(unitok_edges *record, const int64_t *numbers)
{
    int64_t at = 0, n = 0;
    for (int64_t i = 0; i < record->n_positions; i++) {
        /* Each position has a list of edges: the edges that are kept move down, and the length of
         * the list is updated. */
        int64_t end = at + record->n_edges[i], begin = n;
        for (; at < end; at++) {
            if (numbers[record->pieces[at]] < 0) continue;
            record->pieces[n] = (uint32_t)numbers[record->pieces[at]];
            record->lengths[n++] = record->lengths[at];
        }
        record->n_edges[i] = (uint8_t)(n - begin);
    }
    record->n = n;
}

/* Makes space for n edges at one more position. Gives up recording if that exceeds max_bytes or
 * allocation fails. */
static NOINLINE int reserve_edges(unitok_edges *record, int64_t n)
{
    int64_t positions_capacity = record->positions_capacity, capacity = record->capacity;
    if (record->n_positions == positions_capacity)
        positions_capacity += positions_capacity / 2 + 1024;
    if (record->n + n >= capacity) capacity += capacity / 2 + n + 1024;
    if (positions_capacity + 5 * capacity > record->max_bytes ||
        !resize(&record->n_edges, positions_capacity, 1) ||
        !resize(&record->lengths, capacity, 1) ||
        !resize(&record->pieces, capacity, sizeof *record->pieces)) {
        give_up(record);
        return 0;
    }
    record->positions_capacity = positions_capacity;
    record->capacity = capacity;
    return 1;
}

/* Records the edges that end at one more position. */
INLINE void keep(unitok_edges *record, const edge *edges, int64_t n)
{
    if (record->n_positions == record->positions_capacity || record->n + n > record->capacity)
        if (!reserve_edges(record, n)) return;
    record->n_edges[record->n_positions++] = (uint8_t)n;
    for (int64_t k = 0; k < n; k++) {
        record->pieces[record->n] = edges[k].piece;
        record->lengths[record->n++] = (uint8_t)(edges[k].end - edges[k].start);
    }
}

/* A length must fit in a byte, so a vocabulary with longer pieces is not recorded. */
void lattice_begin(unitok_lattice *lattice, unitok_edges *record, const unitok_lexicon *lexicon)
{
    lattice->n_bytes = 0;
    lattice->record = record;
    if (!record) return;
    if (lexicon->max_piece_bytes > UINT8_MAX) give_up(record);
    record->position = record->at = 0;
    if (record->state == EDGES_RECORDED)
        record->n = 0; /* each list is rewritten as it is read, without dropped pieces */
}

/* The first pass trims n_edges to its final size, and any pass shrinks the other arrays if more
 * than a quarter of them is unused. */
void lattice_end(unitok_lattice *lattice)
{
    unitok_edges *record = lattice->record;
    lattice->record = NULL;
    if (!record || record->state == EDGES_GIVEN_UP) return;
    int64_t capacity = record->n + 1;
    if (record->state == EDGES_NEW) {
        if (resize(&record->n_edges, record->n_positions + 1, 1))
            record->positions_capacity = record->n_positions + 1;
        record->state = EDGES_RECORDED;
    }
    /* Releases the memory of dropped pieces. If either resize fails, both arrays are still large
     * enough. */
    if (4 * capacity < 3 * record->capacity && resize(&record->lengths, capacity, 1))
        if (resize(&record->pieces, capacity, sizeof *record->pieces)) record->capacity = capacity;
}

/* --------------------------------------------------------------------------------- Filling ---- */

#define REAL float
#define NAME(x) x##_f32
#include "train/lattice_template.h"
#undef REAL
#undef NAME

#define REAL double
#define NAME(x) x##_f64
#include "train/lattice_template.h"
