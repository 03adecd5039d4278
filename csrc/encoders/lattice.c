/* lattice.c - fills the tables of a lattice's model, lists the edges that leave a position, and
 * stores paths */
#include "encoders/lattice.h"

#include "ground/error.h"
#include "ground/grow.h"
#include "structures/vocabulary.h"

/* ---------------------------------------------------------------------------------- Tables ---- */

/* Returns the number of characters in piece k, and in *ret_is_whole whether the last one is
 * complete. U+2581 counts as one byte if spaces are escaped, even if it interrupts an incomplete
 * character: compact text has a space there, and the lead byte alone determines how many bytes
 * follow. */
static int64_t count_characters(const unitok_spec *spec, int64_t k, int *ret_is_whole)
{
    int is_escaped = (spec->flags & UNITOK_ESCAPE_WHITESPACES) != 0;
    int64_t n_chars = 0, n_missing = 0; /* bytes still missing from the current character */
    for (int64_t i = spec->offsets[k], end = spec->offsets[k + 1]; i < end; i++, n_missing--) {
        int is_space = is_escaped && space_symbol_begins(spec->data + i, end - i);
        if (is_space) i += 2;
        if (n_missing) continue;
        n_chars++;
        n_missing = is_space ? 1 : char_bytes(spec->data[i]);
    }
    *ret_is_whole = n_missing == 0;
    return n_chars;
}

/* Sets the score of piece k in the lattice; values[id] is its value in the unigram, 0 if it can
 * never match. Also detects whether the model is ragged. */
static void enter_piece(const unigram *m, const unitok_spec *spec, int64_t k,
                        const uint32_t *values, lattice_model *model)
{
    int is_whole, type = piece_type(spec, k);
    uint32_t value = values[spec->ids[k]];
    if ((type != UNITOK_PIECE_NORMAL && type != UNITOK_PIECE_USER_DEFINED) || !value) return;
    int64_t n_chars = count_characters(spec, k, &is_whole);
    double score = m->is_float64 ? m->scores64[value] : (double)m->scores32[value];
    if (type == UNITOK_PIECE_USER_DEFINED)
        score = lattice_round(model, 0.1 * (double)(n_chars - 1));
    if (!is_whole && !model->is_bytes) model->is_ragged = 1;
    model->scores[value] = model->id_scores[m->ids[value] + 1] = score;
}

int32_t lattice_model_init(const unigram *m, const unitok_spec *spec, lattice_model *ret,
                           unitok_error *error)
{
    lattice_model model = {
        .trie = m->trie, .ids = m->ids, .n_values = m->n_pieces + 1, .is_float64 = m->is_float64};
    model.is_bytes = (spec->flags & UNITOK_BYTES) != 0;
    model.scores = mem_zalloc((size_t)model.n_values, sizeof *model.scores);
    model.id_scores = mem_zalloc((size_t)m->n_ids + 1, sizeof *model.id_scores);
    uint32_t *values = mem_zalloc((size_t)m->n_ids + 1, sizeof *values);
    if (!model.scores || !model.id_scores || !values) {
        mem_free(values);
        lattice_model_free(&model);
        return fail_memory(error);
    }
    for (int64_t value = 1; value <= m->n_pieces; value++) values[m->ids[value]] = (uint32_t)value;
    for (int64_t k = 0; k < spec->n_pieces; k++) enter_piece(m, spec, k, values, &model);
    mem_free(values);
    model.scores[0] = model.id_scores[0] = m->unknown_score;
    model.max_edge_bytes = m->max_piece_bytes > 4 ? m->max_piece_bytes : 4;
    if (model.is_ragged) model.max_edge_bytes += 3; /* up to the end of the character */
    model.has_unknown = !model.is_bytes;
    for (int byte = 0; byte < 256; byte++) model.has_unknown |= !m->trie.singles[byte];
    *ret = model;
    return UNITOK_OK;
}

void lattice_model_free(lattice_model *model)
{
    mem_free(model->scores);
    mem_free(model->id_scores);
    model->scores = model->id_scores = NULL;
}

/* ----------------------------------------------------------------------------------- Edges ---- */

/* Walks the trie byte by byte and tracks where each character ends; a piece that ends inside a
 * character is extended to the end of that character:
 *
 *     text       t │ C3 A9 │ …        "té"
 *     pieces     t, t C3              edges: "t" and "té"
 *
 * char_end is the end of the character that contains byte i. If no edge ends at first_end, no piece
 * covers exactly the first character, and the unknown edge is added. */
int64_t lattice_edges(const lattice_model *model, const uint8_t *text, int64_t n_bytes, int64_t at,
                      lattice_edge *edges)
{
    int64_t first_end = at + lattice_char(model, text, n_bytes, at), char_end = first_end,
            n_edges = 0;
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

/* ----------------------------------------------------------------------------------- Paths ---- */

/* A packed list that grows at its end. offsets[] has one item more than scores[], but their
 * capacities stay equal: both grow to hold item n + 1. */
token *lattice_paths_add(lattice_paths *paths, int64_t n_tokens, double score)
{
    int64_t n = paths->n_paths, same = paths->paths_capacity, begin = n ? paths->offsets[n] : 0;
    if (!grow(&paths->offsets, n + 1, &same, sizeof *paths->offsets) ||
        !grow(&paths->scores, n + 1, &paths->paths_capacity, sizeof *paths->scores) ||
        !grow(&paths->tokens, begin + n_tokens, &paths->tokens_capacity, sizeof *paths->tokens))
        return NULL;
    paths->offsets[0] = 0;
    paths->scores[paths->n_paths++] = score;
    paths->offsets[paths->n_paths] = begin + n_tokens;
    return paths->tokens + begin;
}

void lattice_paths_free(lattice_paths *paths)
{
    mem_free(paths->tokens);
    mem_free(paths->offsets);
    mem_free(paths->scores);
    *paths = (lattice_paths){0};
}
