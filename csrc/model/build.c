/* build.c - builds a model from its spec (build.h)
 *
 * Building has two steps, because a program that only decodes or looks up pieces should not pay for
 * the encoder:
 *
 *     build_model      checks everything; sets up pieces by id, types, byte pieces, the unknown id,
 *                      the normalizer
 *     build_encoder    builds the cuts and the kind's own encoder
 *
 * The second step is deferred only if it cannot fail except for lack of memory: see is_sound. So a
 * broken file is reported when it is opened, not in the middle of a run. */

#include "model/build.h"

#include <math.h>

#include "encoders/bpe_tables.h"
#include "ground/alloc.h"
#include "ground/error.h"
#include "model/run.h"
#include "structures/distinct.h"
#include "structures/vocabulary.h"
#include "text/normalize.h"

void text_pieces_free(text_pieces *p)
{
    mem_free(p->types);
    mem_free(p->ids);
    mem_free(p->offsets);
    mem_free(p->data);
}

/* Whether an encoder can produce pieces of this type by matching. With listed merges, a merge may
 * use a piece of any type except a control symbol. In all other models, a byte piece is produced
 * for an unknown character, not by matching, unless a flag says that it matches as text. */
static int can_match(uint8_t type, int32_t flags)
{
    if (flags & UNITOK_PATTERN) return type == UNITOK_PIECE_NORMAL;
    if (flags & UNITOK_LISTED_MERGES) return type != UNITOK_PIECE_CONTROL;
    if (type == UNITOK_PIECE_BYTE) return (flags & UNITOK_BYTE_PIECES_MATCH) != 0;
    return type == UNITOK_PIECE_NORMAL || type == UNITOK_PIECE_USER_DEFINED ||
           type == UNITOK_PIECE_UNUSED;
}

/* Writes a piece at out and returns its size. If spaces are escaped, no text contains one, so a
 * piece with a space can never match. Such a piece must not become equal to a piece with U+2581:
 * each of its spaces becomes a NUL, which no piece contains, and *ret_impossible is set to 1. */
static int64_t put_text_piece(const unitok_model *m, const uint8_t *piece, int64_t n_bytes,
                              uint8_t *out, int *ret_impossible)
{
    *ret_impossible = 0;
    memcpy(out, piece, (size_t)n_bytes);
    if (!m->compact) return n_bytes;
    if (!memchr(piece, SPACE_BYTE, (size_t)n_bytes)) return space_symbols_close(out, n_bytes, out);
    for (int64_t i = 0; i < n_bytes; i++) {
        if (out[i] != SPACE_BYTE) continue;
        out[i] = 0;
        *ret_impossible = 1;
    }
    return space_symbols_close(out, n_bytes, out);
}

/* The arrays are large enough for all pieces, even if some are left out: the number of pieces is
 * known only at the end, and the arrays exist only while an encoder is built. A piece that cannot
 * match is turned into a control symbol if it must stay in the list. */
int text_pieces_of(const unitok_model *m, int only_matching, text_pieces *ret,
                   unitok_spec *ret_spec)
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
        n_bytes = put_text_piece(m, spec->data + spec->offsets[k], n_bytes, ret->data + end,
                                 &impossible);
        if (only_matching && (impossible || !can_match(spec->types[k], m->flags))) continue;
        ret->ids[ret->n] = spec->ids[k];
        ret->types[ret->n] = impossible ? UNITOK_PIECE_CONTROL : spec->types[k];
        ret->offsets[++ret->n] = end + n_bytes;
    }
    *ret_spec = *spec;
    if (!m->compact) ret_spec->flags &= ~UNITOK_ESCAPE_WHITESPACES;
    ret_spec->n_pieces = ret->n;
    ret_spec->data = ret->data;
    ret_spec->offsets = ret->offsets;
    ret_spec->ids = ret->ids;
    ret_spec->types = ret->types;
    return 1;
}

/* Uses only pieces that can match, because any other piece would join bytes that no token joins.
 * The cuts that flags add are valid whatever the pieces are. */
int build_cuts(unitok_model *m, cut_pieces unmerged)
{
    text_pieces pieces;
    unitok_spec spec;
    int32_t flags = m->kind->cut_flags;
    if (m->flags & UNITOK_RESTART_AT_SPACE) flags |= CUT_BEFORE_SPACE;
    if (m->flags & UNITOK_RESTART_AFTER_NEWLINE) flags |= CUT_AFTER_NEWLINE;
    cut_pattern *with_pattern = m->pattern ? mem_alloc(sizeof *with_pattern) : NULL;
    m->own_cuts = m->pattern ? (cut_table *)(void *)with_pattern : mem_alloc(sizeof *m->own_cuts);
    int ok = text_pieces_of(m, 1, &pieces, &spec) && m->own_cuts;
    cut_pieces all = {pieces.data, pieces.offsets, pieces.n};
    if (ok && m->pattern) ok = cut_build_pattern(all, unmerged, m->pattern, with_pattern);
    else if (ok) ok = cut_build(pieces.data, pieces.offsets, pieces.n, flags, m->own_cuts);
    text_pieces_free(&pieces);
    if (!ok) {
        mem_free(m->own_cuts);
        m->own_cuts = NULL;
    }
    m->cuts = m->own_cuts;
    return ok;
}

/* Indexes the pieces and their types by id. Decoding looks up pieces by id, but the spec lists them
 * in any order, so they are copied in the order of their ids. */
static int32_t index_pieces(unitok_model *m, unitok_error *error)
{
    const unitok_spec *spec = &m->spec;
    int64_t n_ids = m->info.n_ids;
    m->own_piece_offsets = mem_zalloc((size_t)n_ids + 1, sizeof(uint32_t));
    m->own_pieces = mem_alloc((size_t)spec->offsets[spec->n_pieces] + 1);
    m->types = mem_zalloc((size_t)n_ids + 1, 1);
    m->byte_of_id = mem_zalloc((size_t)n_ids + 1, 1);
    if (!m->own_piece_offsets || !m->own_pieces || !m->types || !m->byte_of_id)
        return fail_memory(error);
    m->piece_offsets = m->own_piece_offsets;
    m->pieces = m->own_pieces;
    int32_t status = vocabulary_by_id(spec, n_ids, m->own_piece_offsets, m->own_pieces, error);
    for (int64_t k = 0; !status && k < spec->n_pieces; k++) m->types[spec->ids[k]] = spec->types[k];
    return status;
}

/* With UNITOK_BYTES, requires a piece for every byte, so that no byte is unknown. Only models with
 * listed merges have a rule for an unknown byte: they drop it. */
static int32_t check_all_bytes_match(const unitok_spec *spec, unitok_error *error)
{
    uint8_t found[256] = {0};
    if (spec->flags & UNITOK_LISTED_MERGES) return UNITOK_OK;
    for (int64_t k = 0; k < spec->n_pieces; k++)
        if (spec->offsets[k + 1] - spec->offsets[k] == 1 && spec->types[k] == UNITOK_PIECE_NORMAL)
            found[spec->data[spec->offsets[k]]] = 1;
    for (int byte = 0; byte < 256; byte++)
        if (!found[byte])
            return fail(error, UNITOK_ERROR_VOCABULARY, -1, byte, "no piece matches this byte");
    return UNITOK_OK;
}

/* Finds the unknown id and the byte pieces, and requires that every unknown character can be
 * encoded. If several pieces stand for one byte, the first is used, as in the references. Removes
 * flags that have no effect in this model from m->flags, so that later code has fewer cases. */
static int32_t find_special(unitok_model *m, unitok_error *error)
{
    const unitok_spec *spec = &m->spec;
    m->unknown_id = -1;
    for (int b = 0; b < 256; b++) m->byte_ids[b] = -1;
    for (int64_t k = 0; k < spec->n_pieces; k++) {
        if (spec->types[k] == UNITOK_PIECE_UNKNOWN) {
            if (m->unknown_id >= 0)
                return fail(error, UNITOK_ERROR_VOCABULARY, k, -1,
                            "there is already an unknown piece");
            m->unknown_id = (int32_t)spec->ids[k];
        }
        if (spec->types[k] != UNITOK_PIECE_BYTE) continue;
        int byte = vocabulary_byte(spec->data + spec->offsets[k],
                                   spec->offsets[k + 1] - spec->offsets[k]);
        if (byte < 0)
            return fail(error, UNITOK_ERROR_VOCABULARY, k, -1,
                        "a byte piece must have the form <0x41>");
        m->byte_of_id[spec->ids[k]] = (uint8_t)byte;
        if (m->byte_ids[byte] < 0) m->byte_ids[byte] = (int32_t)spec->ids[k];
    }
    if (m->unknown_id < 0) m->flags &= ~UNITOK_MERGE_UNKNOWN; /* there is no unknown id to merge */
    if (m->flags & UNITOK_BYTES) return check_all_bytes_match(spec, error);
    if (!(m->flags & UNITOK_BYTE_FALLBACK)) {
        if (m->unknown_id < 0 && !(m->flags & UNITOK_LISTED_MERGES))
            return fail(error, UNITOK_ERROR_VOCABULARY, -1, -1,
                        "there is neither an unknown piece nor byte fallback");
        return UNITOK_OK;
    }
    for (int b = 0; b < 256; b++)
        if (m->byte_ids[b] < 0)
            return fail(error, UNITOK_ERROR_VOCABULARY, -1, b,
                        "byte fallback needs a piece for this byte");
    return UNITOK_OK;
}

/* memory_bytes starts as the memory that every model needs: the image, the cuts, and 16 bytes for
 * each id (its piece, offset, type and byte). Building adds the rest. */
static void fill_info(unitok_model *m, int64_t n_ids, int64_t max_piece_bytes, int32_t cpu)
{
    unitok_model_info *info = &m->info;
    info->kind = m->spec.kind;
    info->flags = m->spec.flags;
    info->n_pieces = m->spec.n_pieces;
    info->n_ids = n_ids;
    info->id_bytes = n_ids > UNITOK_ID_MAX + 1 ? 4 : 2;
    info->eod_id = m->spec.eod_id;
    info->fallback_id = -1;
    info->max_piece_bytes = max_piece_bytes;
    info->cpu = cpu;
    info->memory_bytes = (int64_t)sizeof *m + m->image_bytes + (int64_t)sizeof *m->own_cuts +
                         n_ids * 16;
}

/* m->paths is set before the kind's build(), which may replace it with better paths. is_complete is
 * set last, so the call can be repeated after a failure. */
int32_t build_encoder(unitok_model *m, unitok_error *error)
{
    cut_pieces none = {NULL, NULL, 0};
    if (!m->pattern && !m->cuts && !build_cuts(m, none)) return fail_memory(error);
    m->paths = paths_by_memo;
    int32_t status = m->kind->build(m, error);
    if (status) return status;
    /* Encoders can join a partial character, from a symbol or a normalization rule, to the bytes
     * after it; a cut would separate them. */
    if (m->normalizer && !m->normalizer->is_utf8) m->is_whole = 1;
    m->info.memory_bytes += m->kind->memory_bytes(m);
    m->info.is_whole = m->is_whole;
    m->info.is_complete = 1;
    return UNITOK_OK;
}

/* Whether this id has a piece that an encoder can produce. */
static int has_matching_piece(const unitok_model *m, int64_t id)
{
    return id >= 0 && id < m->info.n_ids && m->piece_offsets[id + 1] > m->piece_offsets[id] &&
           can_match(m->types[id], m->flags);
}

/* Whether each listed merge joins two matching pieces into a third. Models that work on characters
 * have more rules for their merges, and checking these rules takes as long as building. */
static int has_sound_merges(const unitok_model *m)
{
    const unitok_spec *spec = &m->spec;
    int64_t n = spec->n_merges;
    if (!(spec->flags & UNITOK_BYTES) || m->unknown_id >= 0 || n >= BPE_NO_MERGE) return 0;
    for (int64_t k = 0; k < n; k++) {
        int64_t left = spec->merges[k], right = spec->merges[n + k], n_left, n_right, n_bytes;
        int64_t merged = spec->merges[2 * n + k];
        if (!has_matching_piece(m, left) || !has_matching_piece(m, right) ||
            !has_matching_piece(m, merged))
            return 0;
        const uint8_t *l = piece_of(m, left, &n_left), *r = piece_of(m, right, &n_right);
        const uint8_t *both = piece_of(m, merged, &n_bytes);
        if (n_left + n_right != n_bytes || memcmp(both, l, (size_t)n_left) != 0 ||
            memcmp(both + n_left, r, (size_t)n_right) != 0)
            return 0;
    }
    return 1;
}

/* Whether building the encoder of a checked spec can fail only for lack of memory. Each test here
 * corresponds to one in an encoder, and a model that passes all of them can be completed later. A
 * test here may be stricter than the encoder's; a model that fails it is built immediately, and the
 * encoder decides. */
static int is_sound(const unitok_model *m)
{
    const unitok_spec *spec = &m->spec;
    int64_t n = spec->n_pieces;
    /* The encoder needs a symbol for each piece and each character, and all but 256 characters have
     * at least two bytes. */
    if (n + spec->offsets[n] / 2 + 256 >= BPE_SYMBOLS_MAX) return 0;
    if (spec->flags & UNITOK_LISTED_MERGES && !has_sound_merges(m)) return 0;
    for (int64_t k = 0; k < n; k++) {
        double score = spec->scores ? spec->scores[k] : 0;
        if (!(fabs(score) <= UNIGRAM_SCORE_MAX)) return 0;
        if (spec->offsets[k + 1] - spec->offsets[k] > UNIGRAM_PIECE_BYTES_MAX) return 0;
    }
    return distinct_check(spec->data, spec->offsets, n) == DISTINCT_YES;
}

/* The order matters: the spec is checked before its ids are used as indexes, the ids are known
 * before pieces are sorted by them, and the normalizer determines whether texts are compact, which
 * decides the form of all pieces. */
int32_t build_model(unitok_model *m, int32_t cpu, unitok_error *error)
{
    int64_t n_ids, max_piece_bytes;
    m->flags = m->spec.flags;
    /* with listed merges, the encoder applies byte fallback: kind_bpe.c */
    if (m->flags & UNITOK_LISTED_MERGES) m->flags &= ~UNITOK_BYTE_FALLBACK;
    int32_t status = vocabulary_check(&m->spec, &n_ids, &max_piece_bytes, error);
    if (status) return status;
    fill_info(m, n_ids, max_piece_bytes, cpu);
    status = index_pieces(m, error);
    if (!status) status = find_special(m, error);
    if (!status && !(m->flags & UNITOK_BYTES))
        status = unitok_normalizer_new(&m->spec, cpu, &m->normalizer, error);
    if (!status && m->flags & UNITOK_PATTERN)
        status = pattern_new(m->spec.pattern, m->spec.n_pattern_bytes, &m->pattern, error);
    if (status) return status;
    /* Texts are compact only if the normalizer can produce that form, which requires that all
     * replacements and symbols be valid UTF-8 (settle_form in text/normalize_build.c). */
    m->compact = m->normalizer && m->flags & UNITOK_ESCAPE_WHITESPACES && m->normalizer->is_compact;
    m->scan = cut_scan_for(cpu);
    if (m->normalizer) {
        unitok_normalizer_info info;
        unitok_normalizer_get_info(m->normalizer, &info);
        m->info.memory_bytes += info.memory_bytes;
    }
    if (m->pattern)
        m->info.memory_bytes += pattern_memory_bytes(m->pattern) +
                                (int64_t)(sizeof(cut_pattern) - sizeof(cut_table));
    m->info.unknown_id = m->unknown_id;
    m->info.is_compact = m->compact;
    if (!is_sound(m)) return build_encoder(m, error);
    return UNITOK_OK;
}

/* The encoders of these kinds have no table from bytes to ids that covers every piece, so this
 * compares all of them. */
int64_t build_find(const unitok_model *m, const uint8_t *piece, int64_t n_bytes)
{
    for (int64_t id = 0; id < m->info.n_ids; id++)
        if (piece_is(m, id, piece, n_bytes)) return id;
    return -1;
}

/* The arrays named own_* are those that this file allocated; piece_offsets, pieces and cuts of a
 * greedy model point into the image. */
void build_free(unitok_model *m)
{
    unitok_normalizer_free(m->normalizer);
    mem_free(m->byte_of_id);
    mem_free(m->types);
    mem_free(m->own_pieces);
    mem_free(m->own_piece_offsets);
    mem_free(m->own_cuts);
    pattern_free(m->pattern);
}
