/* words.c - builds and runs character and word models (words.h)
 *
 *     word model        " the cat"  →  " the" │ " cat"     one lookup in a table of strings each
 *     character model   " the"      →  " " │ t │ h │ e     one lookup in a table of characters each
 *
 * Neither searches for a best path: a word or character that is not a piece is unknown. */

#include "encoders/words.h"

#include "ground/alloc.h"
#include "ground/error.h"
#include "structures/vocabulary.h"

static int matches(const unitok_spec *spec, int64_t k)
{
    return piece_type(spec, k) == UNITOK_PIECE_NORMAL ||
           piece_type(spec, k) == UNITOK_PIECE_USER_DEFINED;
}

/* --------------------------------------------------------------------------------- Words ---- */

/* Copies the pieces that match and checks that none occurs twice. The table reports the index of
 * the second of two equal pieces; counting the pieces that match up to that index gives its number
 * in the spec. */
static int32_t fill_words(const unitok_spec *spec, words *m, unitok_error *error)
{
    int64_t n = 0, twice;
    m->offsets[0] = 0;
    for (int64_t k = 0; k < spec->n_pieces; k++) {
        if (!matches(spec, k)) continue;
        int64_t n_bytes = spec->offsets[k + 1] - spec->offsets[k];
        memcpy(m->data + m->offsets[n], spec->data + spec->offsets[k], (size_t)n_bytes);
        m->offsets[n + 1] = m->offsets[n] + n_bytes;
        m->ids[n++] = (int32_t)spec->ids[k];
    }
    int32_t status = string_table_build(&m->table, m->data, m->offsets, n, NULL, &twice, error);
    if (status) return status;
    for (int64_t k = 0; twice >= 0 && k < spec->n_pieces; k++)
        if (matches(spec, k) && twice-- == 0)
            return fail(error, UNITOK_ERROR_VOCABULARY, k, -1, "a piece occurs twice");
    return UNITOK_OK;
}

int32_t words_new(const unitok_spec *spec, words *ret, unitok_error *error)
{
    words m;
    int32_t status;
    memset(&m, 0, sizeof m);
    m.data = mem_alloc((size_t)(spec->offsets[spec->n_pieces] - spec->offsets[0]) + 1);
    m.offsets = mem_alloc((size_t)(spec->n_pieces + 1) * sizeof *m.offsets);
    m.ids = mem_alloc((size_t)(spec->n_pieces + 1) * sizeof *m.ids);
    status = m.data && m.offsets && m.ids ? fill_words(spec, &m, error) : fail_memory(error);
    if (status == UNITOK_OK) *ret = m;
    else words_free(&m);
    return status;
}

void words_free(words *m)
{
    string_table_free(&m->table);
    mem_free(m->data);
    mem_free(m->offsets);
    mem_free(m->ids);
    memset(m, 0, sizeof *m);
}

/* The caller has cut the text before every space, so the segment is one word. */
int64_t words_segment(const words *m, const uint8_t *text, int64_t n_bytes, token *tokens)
{
    int64_t k = string_table_find(&m->table, text, n_bytes);
    tokens[0].id = k < 0 ? TOKEN_UNKNOWN : m->ids[k];
    tokens[0].end = (uint32_t)n_bytes;
    return 1;
}

/* ------------------------------------------------------------------------------ Characters ---- */

/* Symbol k + 1 is piece k, and symbol 0 an unknown character. A NORMAL piece of several characters
 * never matches, as in the reference, so only pieces that their lead byte shows to be one character
 * are added; user-defined pieces of any length match. */
static int32_t fill_characters(const unitok_spec *spec, characters *m, uint8_t *take,
                               uint32_t *numbers, unitok_error *error)
{
    m->ids[SYMBOL_NONE] = TOKEN_UNKNOWN;
    for (int64_t k = 0; k < spec->n_pieces; k++) {
        const uint8_t *piece = spec->data + spec->offsets[k];
        int64_t n_bytes = spec->offsets[k + 1] - spec->offsets[k], n_first = char_bytes(piece[0]);
        m->ids[k + 1] = (int32_t)spec->ids[k];
        numbers[k] = (uint32_t)(k + 1);
        take[k] = piece_type(spec, k) == UNITOK_PIECE_USER_DEFINED;
        if (piece_type(spec, k) == UNITOK_PIECE_NORMAL && n_first >= n_bytes &&
            !symbols_add(&m->symbols, piece, n_bytes, numbers[k]))
            return fail_memory(error);
    }
    return symbols_settle(&m->symbols) ? symbols_add_user(&m->symbols, spec, take, numbers, error)
                                       : fail_memory(error);
}

int32_t characters_new(const unitok_spec *spec, characters *ret, unitok_error *error)
{
    words distinct; /* built only to check that the pieces are distinct */
    characters m;
    if (spec->n_pieces >= SYMBOLS_MAX - 1)
        return fail(error, UNITOK_ERROR_VOCABULARY, -1, -1, "too many pieces");
    int32_t status = words_new(spec, &distinct, error);
    if (status != UNITOK_OK) return status;
    words_free(&distinct);
    memset(&m, 0, sizeof m);
    m.ids = mem_alloc((size_t)(spec->n_pieces + 1) * sizeof *m.ids);
    uint8_t *take = mem_alloc((size_t)spec->n_pieces + 1);
    uint32_t *numbers = mem_alloc((size_t)(spec->n_pieces + 1) * sizeof *numbers);
    status = m.ids && take && numbers && symbols_new(&m.symbols, 0)
                 ? fill_characters(spec, &m, take, numbers, error)
                 : fail_memory(error);
    mem_free(take);
    mem_free(numbers);
    if (status == UNITOK_OK) *ret = m;
    else characters_free(&m);
    return status;
}

void characters_free(characters *m)
{
    symbols_free(&m->symbols);
    mem_free(m->ids);
    memset(m, 0, sizeof *m);
}

/* User-defined symbols match first, as in BPE (symbols.h), so both kinds of model divide text in
 * the same way. */
int64_t characters_segment(const characters *m, const uint8_t *text, int64_t n_bytes, token *tokens)
{
    int64_t n = 0;
    for (int64_t i = 0; i < n_bytes; n++) {
        uint32_t symbol;
        i += symbols_next(&m->symbols, text + i, n_bytes - i, &symbol);
        tokens[n].id = m->ids[symbol];
        tokens[n].end = (uint32_t)i;
    }
    return n;
}
