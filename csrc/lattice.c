/* lattice.c - the tables of a lattice's model, the edges that leave a position, and lists of paths */
#include "lattice.h"

#include <float.h>

#include "alloc.h"
#include "error.h"

/* How far below the worst piece an unknown character is: SentencePiece's and Hugging Face's constant. */
#define UNKNOWN_PENALTY 10.0

/* ------------------------------------------------------------------------------------------------- Tables ---- */

/* Writes a piece with U+2581 as one byte; returns its size. A space is then no space of the text, and matches nothing: 0. */
static int64_t compact(const uint8_t *piece, int64_t n_bytes, uint8_t *out)
{
    int64_t n = 0;
    for (int64_t i = 0; i < n_bytes; i++) {
        if (piece[i] == SPACE_BYTE) return 0;
        int is_space = i + 2 < n_bytes && piece[i] == 0xE2 && piece[i + 1] == 0x96 && piece[i + 2] == 0x81;
        out[n++] = is_space ? SPACE_BYTE : piece[i];
        i += 2 * is_space;
    }
    return n;
}

static int64_t count_chars(const uint8_t *piece, int64_t n_bytes, int *ret_is_whole)
{
    int64_t n = 0, at = 0;
    for (; at < n_bytes; at += char_bytes(piece[at])) n++;
    *ret_is_whole = at == n_bytes;
    return n;
}

static uint32_t find_value(const trie *t, const uint8_t *piece, int64_t n_bytes)
{
    uint32_t base = TRIE_ROOT_BASE;
    uint64_t unit = 0;
    for (int64_t i = 0; i < n_bytes; i++) {
        unit = t->units[base ^ piece[i]];
        if (!unit_has_label(unit, piece[i])) return 0;
        base = unit_base(unit);
    }
    return unit_value(unit);
}

/* Enters piece k, if it can match; `buffer` has room for it. */
static void enter_piece(const unitok_spec *spec, int64_t k, int type, uint8_t *buffer, lattice_model *model)
{
    const uint8_t *piece = spec->data + spec->offsets[k];
    int64_t n_bytes = spec->offsets[k + 1] - spec->offsets[k];
    int is_whole;
    if (spec->flags & UNITOK_ESCAPE_WHITESPACES) {
        n_bytes = compact(piece, n_bytes, buffer);
        piece = buffer;
    }
    uint32_t value = find_value(&model->trie, piece, n_bytes);
    if (!value) return;
    int64_t n_chars = count_chars(piece, n_bytes, &is_whole);
    double score = lattice_round(model, spec->scores ? spec->scores[k] : 0);
    if (type == UNITOK_PIECE_USER_DEFINED) score = lattice_round(model, 0.1 * (double)(n_chars - 1));
    if (!is_whole && !model->is_bytes) model->is_ragged = 1;
    if (n_bytes > model->max_edge_bytes) model->max_edge_bytes = n_bytes;
    model->scores[value] = score;
    model->id_scores[spec->ids[k] + 1] = score;
}

static void enter_pieces(const unitok_spec *spec, uint8_t *buffer, lattice_model *model)
{
    double worst = FLT_MAX;
    for (int64_t k = 0; k < spec->n_pieces; k++) {
        int type = spec->types ? spec->types[k] : UNITOK_PIECE_NORMAL;
        if (type != UNITOK_PIECE_NORMAL && type != UNITOK_PIECE_USER_DEFINED) continue;
        double score = lattice_round(model, spec->scores ? spec->scores[k] : 0);
        if (type == UNITOK_PIECE_NORMAL && score < worst) worst = score;
        enter_piece(spec, k, type, buffer, model);
    }
    model->scores[0] = model->id_scores[0] = lattice_round(model, worst - UNKNOWN_PENALTY);
}

int32_t lattice_model_init(const unitok_spec *spec, const trie *t, const int32_t *ids, int64_t n_values,
                           lattice_model *ret, unitok_error *error)
{
    lattice_model model = {.trie = *t, .ids = ids, .n_values = n_values, .max_edge_bytes = 4};
    int64_t n_ids = 0, n_buffer = 1;
    model.is_bytes = (spec->flags & UNITOK_BYTES) != 0;
    model.is_float64 = (spec->flags & UNITOK_FLOAT64) != 0;
    for (int64_t k = 0; k < spec->n_pieces; k++) {
        int64_t n_bytes = spec->offsets[k + 1] - spec->offsets[k];
        if (spec->ids[k] >= n_ids) n_ids = spec->ids[k] + 1;
        if (n_bytes > n_buffer) n_buffer = n_bytes;
    }
    uint8_t *buffer = mem_alloc((size_t)n_buffer);
    model.scores = mem_zalloc((size_t)n_values, sizeof *model.scores);
    model.id_scores = mem_zalloc((size_t)n_ids + 1, sizeof *model.id_scores);
    int is_ready = buffer && model.scores && model.id_scores;
    if (is_ready) enter_pieces(spec, buffer, &model);
    if (model.is_ragged) model.max_edge_bytes += 3; /* to the end of the character */
    mem_free(buffer);
    if (!is_ready) {
        lattice_model_free(&model);
        return fail_memory(error);
    }
    *ret = model;
    return UNITOK_OK;
}

void lattice_model_free(lattice_model *model)
{
    mem_free(model->scores);
    mem_free(model->id_scores);
    model->scores = model->id_scores = NULL;
}

/* -------------------------------------------------------------------------------------------------- Edges ---- */

/* Walks the trie byte by byte and knows at each where its character ends: what ends inside it ends there. */
int64_t lattice_edges(const lattice_model *model, const uint8_t *text, int64_t n_bytes, int64_t at, lattice_edge *edges)
{
    int64_t first_end = at + lattice_char(model, text, n_bytes, at), char_end = first_end, n_edges = 0;
    uint32_t base = TRIE_ROOT_BASE;
    int covers_first = 0;
    for (int64_t i = at; i < n_bytes; i++) {
        uint64_t unit = model->trie.units[base ^ text[i]];
        if (!unit_has_label(unit, text[i])) break;
        base = unit_base(unit);
        if (i == char_end) char_end += lattice_char(model, text, n_bytes, i);
        if (!unit_value(unit)) continue;
        edges[n_edges++] = (lattice_edge){unit_value(unit), (uint32_t)(char_end - at)};
        covers_first |= char_end == first_end;
    }
    if (!covers_first) edges[n_edges++] = (lattice_edge){0, (uint32_t)(first_end - at)};
    return n_edges;
}

/* -------------------------------------------------------------------------------------------------- Paths ---- */

/* Makes room for one path more; 0 when memory is short. */
static int reserve_path(lattice_paths *paths)
{
    if (paths->n_paths < paths->paths_room) return 1;
    int64_t room = paths->paths_room ? paths->paths_room * 2 : 8;
    int64_t *offsets = mem_realloc(paths->offsets, (size_t)(room + 1) * sizeof *offsets);
    if (offsets) paths->offsets = offsets;
    double *scores = mem_realloc(paths->scores, (size_t)room * sizeof *scores);
    if (scores) paths->scores = scores;
    if (!offsets || !scores) return 0;
    paths->offsets[0] = 0;
    paths->paths_room = room;
    return 1;
}

token *lattice_paths_add(lattice_paths *paths, int64_t n_tokens, double score)
{
    if (!reserve_path(paths)) return NULL;
    int64_t begin = paths->offsets[paths->n_paths], end = begin + n_tokens;
    if (end > paths->tokens_room || !paths->tokens) {
        int64_t room = end * 2 + 64;
        token *tokens = mem_realloc(paths->tokens, (size_t)room * sizeof *tokens);
        if (!tokens) return NULL;
        paths->tokens = tokens;
        paths->tokens_room = room;
    }
    paths->scores[paths->n_paths++] = score;
    paths->offsets[paths->n_paths] = end;
    return paths->tokens + begin;
}

void lattice_paths_free(lattice_paths *paths)
{
    mem_free(paths->tokens);
    mem_free(paths->offsets);
    mem_free(paths->scores);
    *paths = (lattice_paths){0};
}
