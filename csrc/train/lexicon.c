/* lexicon.c - building the trie of pieces and the memory of lattices: see lexicon.h */

#include "train/lexicon.h"

#include <math.h>

#include "ground/alloc.h"
#include "ground/error.h"
#include "ground/packed.h"

int32_t unitok_lexicon_new(const uint8_t *data, const int64_t *offsets, int64_t n_pieces, unitok_lexicon **ret,
                           unitok_error *error)
{
    const char *problem = check_offsets(offsets, n_pieces);
    if (problem) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, problem);
    if (n_pieces > TRIE_VALUE_MAX - 1) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "more than 8 million pieces");
    unitok_lexicon *lexicon = mem_zalloc(1, sizeof *lexicon);
    int64_t *ids = mem_alloc((size_t)(n_pieces + 1) * sizeof *ids);
    int32_t status = lexicon && ids ? UNITOK_OK : fail_memory(error);
    for (int64_t i = 0; i < n_pieces && !status; i++) {
        int64_t n_bytes = offsets[i + 1] - offsets[i];
        if (n_bytes == 0) status = fail(error, UNITOK_ERROR_ARGUMENT, i, -1, "a piece is empty");
        if (n_bytes > lexicon->max_piece_bytes) lexicon->max_piece_bytes = n_bytes;
        ids[i] = i;
    }
    trie_parts parts;
    if (!status) status = trie_build(data, offsets, ids, n_pieces, &parts, error);
    mem_free(ids);
    if (status) {
        mem_free(lexicon);
        return status;
    }
    lexicon->units = parts.units;
    lexicon->n_units = parts.n_units;
    lexicon->n_pieces = n_pieces;
    *ret = lexicon;
    return UNITOK_OK;
}

void unitok_lexicon_free(unitok_lexicon *lexicon)
{
    if (!lexicon) return;
    mem_free(lexicon->units);
    mem_free(lexicon);
}

int64_t unitok_lexicon_memory_bytes(const unitok_lexicon *lexicon)
{
    return lexicon->n_units * (int64_t)sizeof *lexicon->units;
}

static void fill_logs(struct log_terms *logs)
{
    for (int i = 0; i < LOG_SPAN * LOG_STEPS; i++) {
        double d = (i + 0.5) / LOG_STEPS, s = 1 / (1 + exp(d)), u = s * (1 - s);
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
    mem_free(lattice->edges);
    mem_free(lattice->first);
    mem_free(lattice->cells);
    mem_free(lattice);
}

int lattice_reserve(unitok_lattice *lattice, int64_t n_bytes)
{
    if (n_bytes < lattice->bytes_room) return 1;
    int64_t room = n_bytes + n_bytes / 2 + 64;
    uint32_t *first = mem_realloc(lattice->first, (size_t)room * sizeof *first);
    if (first) lattice->first = first;
    void *cells = first ? mem_realloc(lattice->cells, (size_t)room * CELL_BYTES) : NULL;
    if (!cells) return 0;
    lattice->cells = cells;
    lattice->bytes_room = room;
    return 1;
}

static NOINLINE int grow_edges(unitok_lattice *lattice)
{
    int64_t room = lattice->edges_room * 2 + 256;
    edge *edges = mem_realloc(lattice->edges, (size_t)room * sizeof *edges);
    if (!edges) return 0;
    lattice->edges = edges;
    lattice->edges_room = room;
    return 1;
}

int lattice_fill(unitok_lattice *lattice, const unitok_lexicon *lexicon, const uint8_t *alive, const uint8_t *unit,
                 int64_t n_bytes)
{
    if (!lattice_reserve(lattice, n_bytes)) return 0;
    const uint64_t *units = lexicon->units;
    int64_t n = 0;
    for (int64_t at = 0; at < n_bytes; at++) {
        lattice->first[at] = (uint32_t)n;
        if (is_continuation(unit[at])) continue;
        int64_t single = at + char_bytes(unit[at]);
        int has_single = 0;
        uint32_t base = TRIE_ROOT_BASE;
        for (int64_t i = at; i < n_bytes;) {
            uint64_t u = units[base ^ unit[i]];
            if (!unit_has_label(u, unit[i])) break;
            base = unit_base(u);
            i++;
            uint32_t value = unit_value(u);
            if (!value || !alive[value - 1]) continue;
            if (n + 1 >= lattice->edges_room && !grow_edges(lattice)) return 0;
            lattice->edges[n++] = (edge){value - 1, (uint32_t)i};
            has_single |= i == single;
        }
        if (has_single) continue;
        if (n + 1 >= lattice->edges_room && !grow_edges(lattice)) return 0;
        lattice->edges[n++] = (edge){EDGE_UNKNOWN, (uint32_t)single};
    }
    lattice->first[n_bytes] = (uint32_t)n;
    return 1;
}
