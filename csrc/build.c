/* build.c - the functions of build.h: everything but the encoders' own tables */

#include "build.h"

#include "alloc.h"
#include "error.h"
#include "vocabulary.h"

/* Pieces as the encoders meet them: those that can match in a text, with U+2581 as a space where texts are compact. */
typedef struct matching_pieces {
    uint8_t *data;
    int64_t *offsets, n;
} matching_pieces;

static int matches(uint8_t type, int32_t flags)
{
    if (type == UNITOK_PIECE_BYTE) return (flags & UNITOK_BYTE_PIECES_MATCH) != 0;
    return type == UNITOK_PIECE_NORMAL || type == UNITOK_PIECE_USER_DEFINED || type == UNITOK_PIECE_UNUSED;
}

static int select_matching(const unitok_model *m, matching_pieces *ret)
{
    const unitok_spec *spec = &m->spec;
    ret->data = mem_alloc((size_t)spec->offsets[spec->n_pieces] + 1);
    ret->offsets = mem_alloc(((size_t)spec->n_pieces + 1) * sizeof(int64_t));
    if (!ret->data || !ret->offsets) return 0;
    int64_t end = 0;
    ret->n = 0;
    ret->offsets[0] = 0;
    for (int64_t k = 0; k < spec->n_pieces; k++) {
        if (!matches(spec->types[k], m->flags)) continue;
        const uint8_t *piece = spec->data + spec->offsets[k];
        int64_t n_bytes = spec->offsets[k + 1] - spec->offsets[k];
        for (int64_t i = 0; i < n_bytes; i++) {
            int is_space = m->compact && n_bytes - i >= 3 && !memcmp(piece + i, space_symbol, 3);
            ret->data[end++] = is_space ? SPACE_BYTE : piece[i];
            if (is_space) i += 2;
        }
        ret->offsets[++ret->n] = end;
    }
    return 1;
}

static int build_cuts(unitok_model *m)
{
    matching_pieces pieces = {NULL, NULL, 0};
    int32_t flags = 0;
    if (m->flags & UNITOK_RESTART_AT_SPACE) flags |= CUT_BEFORE_SPACE;
    if (m->flags & UNITOK_RESTART_AFTER_NEWLINE) flags |= CUT_AFTER_NEWLINE;
    if (m->kind == UNITOK_KIND_WORD) flags |= CUT_BEFORE_SPACE | CUT_NOWHERE_ELSE;
    m->own_cuts = mem_alloc(sizeof *m->own_cuts);
    int ok = m->own_cuts && select_matching(m, &pieces) &&
             cut_build(pieces.data, pieces.offsets, pieces.n, flags, m->own_cuts);
    mem_free(pieces.offsets);
    mem_free(pieces.data);
    m->cuts = m->own_cuts;
    return ok;
}

/* The pieces and their types by id. */
static int32_t index_pieces(unitok_model *m, unitok_error *error)
{
    const unitok_spec *spec = &m->spec;
    int64_t n_ids = m->info.n_ids;
    m->own_piece_offsets = mem_zalloc((size_t)n_ids + 1, sizeof(uint32_t));
    m->own_pieces = mem_alloc((size_t)spec->offsets[spec->n_pieces] + 1);
    m->types = mem_zalloc((size_t)n_ids + 1, 1);
    m->byte_of_id = mem_zalloc((size_t)n_ids + 1, 1);
    if (!m->own_piece_offsets || !m->own_pieces || !m->types || !m->byte_of_id) return fail_memory(error);
    m->piece_offsets = m->own_piece_offsets;
    m->pieces = m->own_pieces;
    int32_t status = vocabulary_by_id(spec, n_ids, m->own_piece_offsets, m->own_pieces, error);
    for (int64_t k = 0; !status && k < spec->n_pieces; k++) m->types[spec->ids[k]] = spec->types[k];
    return status;
}

static int hex_digit(uint8_t c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The byte that a piece of type BYTE is for, or -1: "<0x41>". */
static int byte_of_piece(const uint8_t *piece, int64_t n_bytes)
{
    if (n_bytes != 6 || memcmp(piece, "<0x", 3) || piece[5] != '>') return -1;
    int high = hex_digit(piece[3]), low = hex_digit(piece[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* The unknown id and the byte pieces; every unknown character must become something. */
static int32_t find_special(unitok_model *m, unitok_error *error)
{
    const unitok_spec *spec = &m->spec;
    m->unknown_id = -1;
    for (int b = 0; b < 256; b++) m->byte_ids[b] = -1;
    for (int64_t k = 0; k < spec->n_pieces; k++) {
        if (spec->types[k] == UNITOK_PIECE_UNKNOWN) {
            if (m->unknown_id >= 0) return fail(error, UNITOK_ERROR_VOCABULARY, k, -1, "there is an unknown piece already");
            m->unknown_id = (int32_t)spec->ids[k];
        }
        if (spec->types[k] != UNITOK_PIECE_BYTE) continue;
        int byte = byte_of_piece(spec->data + spec->offsets[k], spec->offsets[k + 1] - spec->offsets[k]);
        if (byte < 0) return fail(error, UNITOK_ERROR_VOCABULARY, k, -1, "this byte piece is not of the form <0x41>");
        m->byte_of_id[spec->ids[k]] = (uint8_t)byte;
        if (m->byte_ids[byte] < 0) m->byte_ids[byte] = (int32_t)spec->ids[k];
    }
    if (!(m->flags & UNITOK_BYTE_FALLBACK)) {
        if (m->unknown_id < 0 && !(m->flags & UNITOK_BYTES))
            return fail(error, UNITOK_ERROR_VOCABULARY, -1, -1, "there is no unknown piece and no byte fallback");
        return UNITOK_OK;
    }
    for (int b = 0; b < 256; b++)
        if (m->byte_ids[b] < 0) return fail(error, UNITOK_ERROR_VOCABULARY, -1, -1, "byte fallback lacks a byte piece");
    return UNITOK_OK;
}

/* What an id adds to the running sum: a piece its score, an unknown character its score once, at its first byte. */
static int build_sums(unitok_model *m)
{
    size_t n = (size_t)m->info.n_ids + 1;
    int wide = (m->flags & UNITOK_FLOAT64) != 0;
    if (wide) m->sum_scores64 = mem_zalloc(n, sizeof *m->sum_scores64);
    else m->sum_scores = mem_zalloc(n, sizeof *m->sum_scores);
    if (!m->sum_scores && !m->sum_scores64) return 0;
#define PUT(id, score) (wide ? (void)(m->sum_scores64[id] = (score)) : (void)(m->sum_scores[id] = (float)(score)))
    for (int64_t id = 0; id < m->info.n_ids; id++)
        if (m->types[id] == UNITOK_PIECE_NORMAL || m->types[id] == UNITOK_PIECE_USER_DEFINED)
            PUT(id, unigram_score(m->unigram, id));
    double unknown = unigram_unknown_score(m->unigram);
    if (m->unknown_id >= 0) PUT(m->unknown_id, unknown);
    for (int b = 0; b < 256; b++)
        if (m->byte_ids[b] >= 0) PUT(m->byte_ids[b], (b & 0xC0) == 0x80 ? 0.0 : unknown);
#undef PUT
    return 1;
}

static int32_t build_encoder(unitok_model *m, unitok_error *error)
{
    unitok_spec spec = m->spec;
    if (!m->compact) spec.flags &= ~UNITOK_ESCAPE_WHITESPACES;
    int32_t status;
    switch (m->kind) {
    case UNITOK_KIND_UNIGRAM:
        status = unigram_new(&spec, &m->unigram, error);
        if (!status && !build_sums(m)) status = fail_memory(error);
        return status;
    case UNITOK_KIND_BPE:
        status = bpe_new(&spec, &m->bpe, error);
        if (!status) m->whole = bpe_is_whole(m->bpe);
        return status;
    default:
        if (m->kind == UNITOK_KIND_WORD && !m->compact) m->whole = 1; /* U+2581 is three bytes there, which no cut sees */
        return words_new(&spec, &m->words, error);
    }
}

static void fill_info(unitok_model *m, int64_t n_ids, int64_t max_piece_bytes, int32_t cpu)
{
    unitok_model_info *info = &m->info;
    info->kind = m->kind;
    info->flags = m->flags;
    info->n_pieces = m->spec.n_pieces;
    info->n_ids = n_ids;
    info->id_bytes = n_ids > UNITOK_ID_MAX + 1 ? 4 : 2;
    info->eod_id = m->spec.eod_id;
    info->fallback_id = -1;
    info->max_piece_bytes = max_piece_bytes;
    info->cpu = cpu;
    info->memory_bytes = (int64_t)sizeof *m + m->image_bytes + (int64_t)sizeof *m->own_cuts + n_ids * 16;
}

int32_t build_model(unitok_model *m, int32_t cpu, unitok_error *error)
{
    int64_t n_ids, max_piece_bytes;
    m->kind = m->spec.kind;
    m->flags = m->spec.flags;
    int32_t status = vocabulary_check(&m->spec, &n_ids, &max_piece_bytes, error);
    if (status) return status;
    fill_info(m, n_ids, max_piece_bytes, cpu);
    status = index_pieces(m, error);
    if (!status) status = find_special(m, error);
    if (!status && !(m->flags & UNITOK_BYTES)) status = normalizer_new(&m->spec, &m->normalizer, error);
    if (status) return status;
    m->compact = m->normalizer && m->normalizer->compact && m->flags & UNITOK_ESCAPE_WHITESPACES;
    if (!build_cuts(m)) return fail_memory(error);
    m->scan = cut_scan_for(cpu);
    status = build_encoder(m, error);
    if (status) return status;
    int wide = m->info.id_bytes == 4;
    m->loop = !m->unigram ? LOOP_16 + wide : m->flags & UNITOK_FLOAT64 ? LOOP_DOUBLE_16 + wide : LOOP_FLOAT_16 + wide;
    m->info.unknown_id = m->unknown_id;
    m->info.is_whole = m->whole;
    return UNITOK_OK;
}

int64_t build_find(const unitok_model *m, const uint8_t *piece, int64_t n_bytes)
{
    for (int64_t id = 0; id < m->info.n_ids; id++)
        if ((int64_t)m->piece_offsets[id + 1] - m->piece_offsets[id] == n_bytes &&
            memcmp(m->pieces + m->piece_offsets[id], piece, (size_t)n_bytes) == 0)
            return id;
    return -1;
}

void build_free(unitok_model *m)
{
    words_free(m->words);
    bpe_free(m->bpe);
    unigram_free(m->unigram);
    normalizer_free(m->normalizer);
    mem_free(m->sum_scores64);
    mem_free(m->sum_scores);
    mem_free(m->byte_of_id);
    mem_free(m->types);
    mem_free(m->own_pieces);
    mem_free(m->own_piece_offsets);
    mem_free(m->own_cuts);
}
