/* lattice.c - filling lattices: see lattice.h */

#include "train/lattice.h"

#include <math.h>

#include "ground/alloc.h"

static void fill_logs(struct log_terms *logs)
{
    for (int i = 0; i <= LOG_SPAN * LOG_STEPS; i++) {
        double d = (double)i / LOG_STEPS, s = 1 / (1 + exp(d)), u = s * (1 - s);
        double terms[5] = {log1p(exp(-d)), -s, u / 2, -u * (1 - 2 * s) / 6, u * (1 - 6 * u) / 24};
        memcpy(logs[i].of, terms, sizeof terms);
    }
}

unitok_lattice *unitok_lattice_new(void)
{
    unitok_lattice *lattice = mem_zalloc(1, sizeof *lattice);
    if (lattice) fill_logs(lattice->logs);
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

/* Makes room in an array; 0, and the array is as it was, when memory is short. */
static int resize(void *array, int64_t n, size_t item_bytes)
{
    void *p;
    memcpy(&p, array, sizeof p);
    p = mem_realloc(p, (size_t)n * item_bytes);
    if (p) memcpy(array, &p, sizeof p);
    return p != NULL;
}

int lattice_reserve(unitok_lattice *lattice, int64_t n_bytes)
{
    if (n_bytes + 2 <= lattice->bytes_room) return 1;
    int64_t room = n_bytes + n_bytes / 2 + 64;
    if (!resize(&lattice->walk_begin, room, sizeof *lattice->walk_begin) ||
        !resize(&lattice->edge_begin, room, sizeof *lattice->edge_begin) ||
        !resize(&lattice->out, room, sizeof *lattice->out) ||
        !resize(&lattice->unknown, room, sizeof *lattice->unknown) || !resize(&lattice->cells, room, CELL_BYTES))
        return 0;
    lattice->walk_begin[0] = lattice->walk_begin[1] = lattice->edge_begin[0] = lattice->edge_begin[1] = 0;
    lattice->bytes_room = room;
    return 1;
}

static NOINLINE int grow(unitok_lattice *lattice, int64_t n_walks, int64_t n_edges)
{
    int64_t walks_room = n_walks + n_walks / 2 + 64, edges_room = n_edges + n_edges / 2 + 64;
    if (!resize(&lattice->walks, walks_room, sizeof *lattice->walks) ||
        !resize(&lattice->edges, edges_room, sizeof *lattice->edges) ||
        !resize(&lattice->scores, edges_room, sizeof(double)))
        return 0;
    lattice->walks_room = walks_room;
    lattice->edges_room = edges_room;
    return 1;
}

/* How many first bytes a unit has in common with the last one. */
static int64_t common_bytes(const unitok_lattice *lattice, const uint8_t *unit, int64_t n_bytes)
{
    int64_t n = n_bytes < lattice->n_bytes ? n_bytes : lattice->n_bytes, i = 0;
    while (i < n && unit[i] == lattice->unit[i]) i++;
    return i;
}

#define REAL float
#define NAME(x) x##_f32
#include "train/lattice_template.h"
#undef REAL
#undef NAME

#define REAL double
#define NAME(x) x##_f64
#include "train/lattice_template.h"
