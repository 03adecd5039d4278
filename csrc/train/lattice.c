/* lattice.c - filling lattices: see lattice.h */

#include "train/lattice.h"

#include <math.h>

#include "ground/grow.h"

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

int lattice_reserve(unitok_lattice *lattice, int64_t n_bytes)
{
    if (n_bytes + 2 <= lattice->bytes_room) return 1;
    int64_t room = n_bytes + n_bytes / 2 + 64;
    if (!resize(&lattice->walk_begin, room, sizeof *lattice->walk_begin) ||
        !resize(&lattice->edge_begin, room, sizeof *lattice->edge_begin) ||
        !resize(&lattice->out, room, sizeof *lattice->out) ||
        !resize(&lattice->unknown, room, sizeof *lattice->unknown) ||
        !resize(&lattice->cells, room, CELL_BYTES))
        return 0;
    lattice->walk_begin[0] = lattice->walk_begin[1] = lattice->edge_begin[0] =
        lattice->edge_begin[1] = 0;
    lattice->bytes_room = room;
    return 1;
}

static NOINLINE int grow_edges(unitok_lattice *lattice, int64_t n_walks, int64_t n_edges)
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

/* ------------------------------------------------------------------------------ Kept edges ---- */

unitok_edges *unitok_edges_new(int64_t max_bytes)
{
    unitok_edges *kept = mem_zalloc(1, sizeof *kept);
    if (kept) kept->max_bytes = max_bytes;
    return kept;
}

static void give_up(unitok_edges *kept)
{
    mem_free(kept->n_edges);
    mem_free(kept->pieces);
    mem_free(kept->lengths);
    *kept = (unitok_edges){.state = EDGES_GIVEN_UP};
}

void unitok_edges_free(unitok_edges *kept)
{
    if (!kept) return;
    give_up(kept);
    mem_free(kept);
}

int64_t unitok_edges_memory_bytes(const unitok_edges *kept)
{
    return kept->positions_room + 5 * kept->room;
}

void unitok_edges_renumber(unitok_edges *kept, const int64_t *numbers)
{
    int64_t at = 0, n = 0;
    for (int64_t i = 0; i < kept->n_positions; i++) {
        int64_t end = at + kept->n_edges[i], begin = n;
        for (; at < end; at++) {
            if (numbers[kept->pieces[at]] < 0) continue;
            kept->pieces[n] = (uint32_t)numbers[kept->pieces[at]];
            kept->lengths[n++] = kept->lengths[at];
        }
        kept->n_edges[i] = (uint8_t)(n - begin);
    }
    kept->n = n;
}

/* Room for n edges at one more position. Gives up where that is too much, or memory is short. */
static NOINLINE int make_room(unitok_edges *kept, int64_t n)
{
    int64_t positions_room = kept->positions_room, room = kept->room;
    if (kept->n_positions == positions_room) positions_room += positions_room / 2 + 1024;
    if (kept->n + n >= room) room += room / 2 + n + 1024;
    if (positions_room + 5 * room > kept->max_bytes || !resize(&kept->n_edges, positions_room, 1) ||
        !resize(&kept->lengths, room, 1) || !resize(&kept->pieces, room, sizeof *kept->pieces)) {
        give_up(kept);
        return 0;
    }
    kept->positions_room = positions_room;
    kept->room = room;
    return 1;
}

/* Keeps the edges that end at one more position. */
INLINE void keep(unitok_edges *kept, const edge *edges, int64_t n)
{
    if (kept->n_positions == kept->positions_room || kept->n + n > kept->room)
        if (!make_room(kept, n)) return;
    kept->n_edges[kept->n_positions++] = (uint8_t)n;
    for (int64_t k = 0; k < n; k++) {
        kept->pieces[kept->n] = edges[k].piece;
        kept->lengths[kept->n++] = (uint8_t)(edges[k].end - edges[k].start);
    }
}

void lattice_begin(unitok_lattice *lattice, unitok_edges *kept, const unitok_lexicon *lexicon)
{
    lattice->n_bytes = 0;
    lattice->kept = kept;
    if (!kept) return;
    if (lexicon->max_piece_bytes > UINT8_MAX) give_up(kept);
    kept->position = kept->at = 0;
    if (kept->state == EDGES_KEPT) kept->n = 0; /* written again as it is read */
}

void lattice_end(unitok_lattice *lattice)
{
    unitok_edges *kept = lattice->kept;
    lattice->kept = NULL;
    if (!kept || kept->state == EDGES_GIVEN_UP) return;
    int64_t room = kept->n + 1;
    if (kept->state == EDGES_NEW) {
        if (resize(&kept->n_edges, kept->n_positions + 1, 1))
            kept->positions_room = kept->n_positions + 1;
        kept->state = EDGES_KEPT;
    }
    /* else both stay, one with too much room */
    if (4 * room < 3 * kept->room && resize(&kept->lengths, room, 1))
        if (resize(&kept->pieces, room, sizeof *kept->pieces)) kept->room = room;
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
