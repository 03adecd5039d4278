/* build.c - the functions of build.h: everything but the encoders' own tables */

#include "model/build.h"

#include "ground/alloc.h"
#include "ground/error.h"
#include "text/normalize.h"
#include "structures/vocabulary.h"

/* Pieces in the form that texts have inside: with U+2581 as a space where texts are compact. */
typedef struct text_pieces {
    uint8_t *data, *types;
    int64_t *offsets, *ids, n;
} text_pieces;

static void text_pieces_free(text_pieces *p)
{
    mem_free(p->types);
    mem_free(p->ids);
    mem_free(p->offsets);
    mem_free(p->data);
}

static int can_match(uint8_t type, int32_t flags)
{
    if (flags & UNITOK_LISTED_MERGES) return type != UNITOK_PIECE_CONTROL;
    if (type == UNITOK_PIECE_BYTE) return (flags & UNITOK_BYTE_PIECES_MATCH) != 0;
    return type == UNITOK_PIECE_NORMAL || type == UNITOK_PIECE_USER_DEFINED || type == UNITOK_PIECE_UNUSED;
}

/* Writes a piece at out and returns its size. Where spaces are escaped no text has one, so a piece with a space in it must
 * not turn into another's twin: it gets a NUL there, which no piece has, and *ret_impossible is 1. */
static int64_t put_text_piece(const unitok_model *m, const uint8_t *piece, int64_t n_bytes, uint8_t *out,
                              int *ret_impossible)
{
    int64_t n = 0;
    *ret_impossible = 0;
    for (int64_t i = 0; i < n_bytes; i++) {
        int is_symbol = m->compact && n_bytes - i >= 3 && !memcmp(piece + i, space_symbol, 3);
        int is_space = m->compact && piece[i] == SPACE_BYTE;
        out[n++] = is_symbol ? SPACE_BYTE : is_space ? 0 : piece[i];
        *ret_impossible |= is_space;
        if (is_symbol) i += 2;
    }
    return n;
}

/* All pieces, or only those that can match in a text. 0 when memory is short. */
static int text_pieces_of(const unitok_model *m, int only_matching, text_pieces *ret)
{
    const unitok_spec *spec = &m->spec;
    memset(ret, 0, sizeof *ret);
    ret->data = mem_alloc((size_t)spec->offsets[spec->n_pieces] + 1);
    ret->types = mem_alloc((size_t)spec->n_pieces + 1);
    ret->offsets = mem_zalloc((size_t)spec->n_pieces + 1, sizeof(int64_t));
    ret->ids = mem_alloc(((size_t)spec->n_pieces + 1) * sizeof(int64_t));
    if (!ret->data || !ret->types || !ret->offsets || !ret->ids) return 0;
    for (int64_t k = 0; k < spec->n_pieces; k++) {
        int impossible;
        int64_t end = ret->offsets[ret->n], n_bytes = spec->offsets[k + 1] - spec->offsets[k];
        n_bytes = put_text_piece(m, spec->data + spec->offsets[k], n_bytes, ret->data + end, &impossible);
        if (only_matching && (impossible || !can_match(spec->types[k], m->flags))) continue;
        ret->ids[ret->n] = spec->ids[k];
        ret->types[ret->n] = impossible ? UNITOK_PIECE_CONTROL : spec->types[k];
        ret->offsets[++ret->n] = end + n_bytes;
    }
    return 1;
}

static int build_cuts(unitok_model *m)
{
    text_pieces pieces;
    int32_t flags = 0;
    if (m->flags & UNITOK_RESTART_AT_SPACE) flags |= CUT_BEFORE_SPACE;
    if (m->flags & UNITOK_RESTART_AFTER_NEWLINE) flags |= CUT_AFTER_NEWLINE;
    if (m->kind == UNITOK_KIND_WORD) flags |= CUT_BEFORE_SPACE | CUT_NOWHERE_ELSE;
    m->own_cuts = mem_alloc(sizeof *m->own_cuts);
    int ok = text_pieces_of(m, 1, &pieces) && m->own_cuts &&
             cut_build(pieces.data, pieces.offsets, pieces.n, flags, m->own_cuts);
    text_pieces_free(&pieces);
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

/* With UNITOK_BYTES every byte is a piece, so that no text has an unknown one. */
static int32_t check_all_bytes_match(const unitok_spec *spec, unitok_error *error)
{
    uint8_t found[256] = {0};
    for (int64_t k = 0; k < spec->n_pieces; k++)
        if (spec->offsets[k + 1] - spec->offsets[k] == 1 && spec->types[k] == UNITOK_PIECE_NORMAL)
            found[spec->data[spec->offsets[k]]] = 1;
    for (int byte = 0; byte < 256; byte++)
        if (!found[byte]) return fail(error, UNITOK_ERROR_VOCABULARY, -1, byte, "this byte has no piece that matches");
    return UNITOK_OK;
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
    if (m->unknown_id < 0) m->flags &= ~UNITOK_MERGE_UNKNOWN; /* there is nothing to merge */
    if (m->flags & UNITOK_BYTES) return check_all_bytes_match(spec, error);
    if (!(m->flags & UNITOK_BYTE_FALLBACK)) {
        if (m->unknown_id < 0 && !(m->flags & UNITOK_LISTED_MERGES))
            return fail(error, UNITOK_ERROR_VOCABULARY, -1, -1, "there is no unknown piece and no byte fallback");
        return UNITOK_OK;
    }
    for (int b = 0; b < 256; b++)
        if (m->byte_ids[b] < 0) return fail(error, UNITOK_ERROR_VOCABULARY, -1, -1, "byte fallback lacks a byte piece");
    return UNITOK_OK;
}

/* Hugging Face's BPE. Its encoder does byte fallback itself; it fuses unknown characters within a segment, and what is left
 * at the cuts does merge_unknown, unless texts can reach the unknown piece by merges, which is not fused. */
static int32_t build_merges(unitok_model *m, const unitok_spec *spec, unitok_error *error)
{
    int32_t flags = 0;
    int64_t n = spec->n_merges;
    if (m->spec.flags & UNITOK_BYTE_FALLBACK) flags |= BPE_BYTE_FALLBACK;
    if (m->flags & UNITOK_MERGE_UNKNOWN) flags |= BPE_FUSE_UNKNOWN;
    if (m->flags & UNITOK_IGNORE_MERGES) flags |= BPE_IGNORE_MERGES;
    if (m->compact) flags |= BPE_COMPACT;
    int32_t status = bpe_new_merges(spec, spec->merges, spec->merges + n, spec->merges + 2 * n, n, m->unknown_id, flags,
                                    &m->bpe, error);
    if (status == UNITOK_ERROR_ARGUMENT && error) error->status = UNITOK_ERROR_VOCABULARY; /* of the file, not the caller */
    if (status) return status == UNITOK_ERROR_ARGUMENT ? UNITOK_ERROR_VOCABULARY : status;
    m->whole = (bpe_traits(m->bpe) & BPE_WHOLE) != 0;
    for (int64_t k = 0; k < n; k++) m->whole |= spec->merges[2 * n + k] == m->unknown_id;
    if (m->whole) m->flags &= ~UNITOK_MERGE_UNKNOWN;
    return UNITOK_OK;
}

/* Unigram finds the form that texts have by itself; the others get their pieces in it. */
static int32_t build_encoder(unitok_model *m, unitok_error *error)
{
    unitok_spec spec = m->spec;
    if (!m->compact) spec.flags &= ~UNITOK_ESCAPE_WHITESPACES;
    if (m->kind == UNITOK_KIND_UNIGRAM) {
        int32_t made = unigram_new(&spec, &m->unigram, error);
        return made ? made : lattice_model_init(m->unigram, &spec, &m->lattice, error);
    }
    text_pieces pieces;
    int32_t status = text_pieces_of(m, m->flags & UNITOK_LISTED_MERGES, &pieces) ? UNITOK_OK : fail_memory(error);
    spec.n_pieces = pieces.n;
    spec.data = pieces.data;
    spec.offsets = pieces.offsets;
    spec.ids = pieces.ids;
    spec.types = pieces.types;
    if (!status && m->flags & UNITOK_LISTED_MERGES) {
        status = build_merges(m, &spec, error);
    } else if (!status && m->kind == UNITOK_KIND_BPE) {
        status = bpe_new(&spec, &m->bpe, error);
        m->whole = !status && bpe_traits(m->bpe) & BPE_WHOLE;
    } else if (!status && m->kind == UNITOK_KIND_CHAR) {
        status = characters_new(&spec, &m->characters, error);
    } else if (!status) {
        status = words_new(&spec, &m->words, error);
        m->whole = !m->compact; /* U+2581 is three bytes there, which no cut sees */
    }
    text_pieces_free(&pieces);
    return status;
}

static void fill_info(unitok_model *m, int64_t n_ids, int64_t max_piece_bytes, int32_t cpu)
{
    unitok_model_info *info = &m->info;
    info->kind = m->kind;
    info->flags = m->spec.flags;
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
    if (m->flags & UNITOK_LISTED_MERGES) m->flags &= ~UNITOK_BYTE_FALLBACK; /* see build_merges */
    int32_t status = vocabulary_check(&m->spec, &n_ids, &max_piece_bytes, error);
    if (status) return status;
    fill_info(m, n_ids, max_piece_bytes, cpu);
    status = index_pieces(m, error);
    if (!status) status = find_special(m, error);
    if (!status && !(m->flags & UNITOK_BYTES)) status = unitok_normalizer_new(&m->spec, cpu, &m->normalizer, error);
    if (status) return status;
    m->compact = m->normalizer && m->flags & UNITOK_ESCAPE_WHITESPACES && unitok_normalizer_is_compact(m->normalizer);
    if (!build_cuts(m)) return fail_memory(error);
    m->scan = cut_scan_for(cpu);
    status = build_encoder(m, error);
    if (status) return status;
    /* Half a character, of a symbol or a rule, is a character together with what follows, for encoders; not for cuts. */
    if (m->normalizer ? !m->normalizer->is_utf8 : m->kind != UNITOK_KIND_UNIGRAM) m->whole = 1;
    if (m->unigram) m->info.memory_bytes += unigram_memory_bytes(m->unigram);
    if (m->bpe) m->info.memory_bytes += bpe_memory_bytes(m->bpe);
    if (m->normalizer) m->info.memory_bytes += unitok_normalizer_memory_bytes(m->normalizer);
    int wide = m->info.id_bytes == 4;
    m->loop = !m->unigram ? LOOP_16 + wide : m->flags & UNITOK_FLOAT64 ? LOOP_DOUBLE_16 + wide : LOOP_FLOAT_16 + wide;
    m->info.unknown_id = m->unknown_id;
    m->info.is_compact = m->compact;
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
    words_free(&m->words);
    characters_free(&m->characters);
    bpe_free(m->bpe);
    lattice_model_free(&m->lattice);
    unigram_free(m->unigram);
    unitok_normalizer_free(m->normalizer);
    mem_free(m->byte_of_id);
    mem_free(m->types);
    mem_free(m->own_pieces);
    mem_free(m->own_piece_offsets);
    mem_free(m->own_cuts);
}
