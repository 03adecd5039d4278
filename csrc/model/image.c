/* image.c - the native image of a greedy longest-prefix model: written, checked and opened in place
 *
 * Such a model always uses its image, whether just built or mapped from a file. All numbers are
 * little-endian, and every section is 8-byte aligned:
 *
 *      0  magic[8]            89 'U' 'T' 'K' 0D 0A 1A 0A
 *      8  u32 version = 2     12  u32 kind = 1 (greedy longest prefix)
 *     16  u64 checksum        XXH64 of every byte from 24 to the end of the file (0 as unitok_model_save writes it)
 *     24  u64 image_bytes     any bytes after the image are ignored
 *     32  u32 n_ids           36  u32 n_pieces       40  u32 eod_id, or FFFFFFFF     44  u32 fallback_id, or FFFFFFFF
 *     48  u32 max_piece_bytes 52  u32 n_units        56  u64 piece_bytes
 *     64  u64[n_units]        the double array (trie.h)
 *         cut_table           cut.h
 *         u8[n_ids]           the length of piece `id`, 0 for an id without one (padded to 8); u16 or u32 if max_piece_bytes
 *                             needs it
 *         u8[piece_bytes]     the pieces by id (padded to 8)
 *
 * Opening builds the heads and the single bytes of the double array, and the offsets of the pieces:
 * 0.3 ms and 0.8 MB.
 *
 * The file may come from anywhere. Everything that later code uses as an index or as a size is
 * checked once, while the file is opened, so that encoding needs no test: the header first, then
 * the codes of the cut table, the lengths of the pieces, each unit of the double array, and finally
 * the shape of the trie. A failed check reports the position of the invalid byte.
 *
 * In the cut table only the codes of the pairs are checked, because a code could require a pattern,
 * which these models do not have. Its other bytes may have any values: wrong cuts can change the
 * ids, but nothing is read out of bounds. */

#include "model/image.h"

#include "ground/alloc.h"
#include "ground/error.h"
#include "structures/vocabulary.h"

/* Where each section begins, and where the image ends, in bytes from its start. */
typedef struct image_layout {
    uint64_t units, cuts, lengths, pieces, end;
} image_layout;

/* Nearly all vocabularies have pieces of at most 255 bytes, so the lengths take one byte each. */
static int length_bytes(const image_header *h)
{
    return h->max_piece_bytes <= UINT8_MAX ? 1 : h->max_piece_bytes <= UINT16_MAX ? 2 : 4;
}

/* The positions of the sections follow from the header alone. They are computed in 64 bits, after
 * the numbers in the header have been checked, so no sum overflows. */
static image_layout lay_out(const image_header *h)
{
    image_layout at;
    at.units = sizeof(image_header);
    at.cuts = at.units + (uint64_t)h->n_units * 8;
    at.lengths = at.cuts + sizeof(cut_table);
    at.pieces = at.lengths + ((uint64_t)h->n_ids * (uint64_t)length_bytes(h) + 7) / 8 * 8;
    at.end = at.pieces + (h->piece_bytes + 7) / 8 * 8;
    return at;
}

/* --------------------------------------------------------------------------------- Opening ---- */

/* Checks the numbers first, and then the sum of the sections, which is meaningful only if the
 * numbers are valid. *position is set before each test, so that an error can say where it is. */
static const char *check_header(const image_header *h, int64_t n_bytes, int64_t *position)
{
    *position = 0;
    if (n_bytes < (int64_t)sizeof *h) return "the file is too short for a native model";
    if (memcmp(h->magic, image_magic, sizeof image_magic)) return "this is not a native model";
    *position = 12; /* checked first, because each kind numbers its versions separately */
    if (h->kind != UNITOK_KIND_LONGEST) return "this release does not support this kind of model";
    *position = 8;
    if (h->version != LONGEST_VERSION)
        return "this release does not support this version of the native format";
    *position = 32;
    if (h->n_ids > UNITOK_WIDE_ID_MAX + 1 || h->n_pieces > h->n_ids)
        return "the number of ids is out of range";
    if (h->eod_id != NO_ID && h->eod_id >= h->n_ids) return "the eod id is out of range";
    if (h->fallback_id != NO_ID && h->fallback_id >= h->n_ids)
        return "the fallback id is out of range";
    *position = 52;
    if (h->n_units % TRIE_BLOCK || h->n_units < 2 * TRIE_BLOCK)
        return "the size of the double array is out of range";
    if (h->piece_bytes > PIECE_BYTES_MAX || h->max_piece_bytes > h->piece_bytes ||
        h->max_piece_bytes > UNITOK_HAT_KEY_MAX_BYTES)
        return "the size of the pieces is out of range";
    *position = 24;
    if (h->image_bytes != lay_out(h).end)
        return "the size in the header does not match the sections";
    if (h->image_bytes > (uint64_t)n_bytes) return "the file is truncated";
    return NULL;
}

static const char *check_cuts(const cut_table *cuts, int64_t *position)
{
    for (*position = 0; *position < (int64_t)sizeof cuts->pair; ++*position)
        if (cuts->pair[*position] > CUT_NEVER) return "the code of a pair of bytes is invalid";
    *position = (int64_t)offsetof(cut_table, kind_before) + FLAGS_AT;
    if (cuts->kind_before[FLAGS_AT] > CUTS_NEWLINES) return "the flags of the cuts are invalid";
    return NULL;
}

/* The header repeats numbers that follow from the lengths, so that a program can show them without
 * reading the lengths. The header and the lengths must agree, and the last id must have a piece or
 * a role: n_ids decides the width of the ids. */
static const char *check_pieces(const unitok_model *m, const image_header *h, int64_t *position)
{
    uint32_t longest_piece = 0, n_pieces = 0, ids_end = 0;
    for (uint32_t id = 0; id < h->n_ids; id++) {
        *position = (int64_t)id * length_bytes(h); /* relative to the section */
        uint32_t n = m->piece_offsets[id + 1] - m->piece_offsets[id];
        n_pieces += n > 0;
        if (n > longest_piece) longest_piece = n;
        if (n || id == h->eod_id || id == h->fallback_id) ids_end = id + 1;
    }
    if (m->piece_offsets[h->n_ids] != h->piece_bytes) return "the pieces do not fill their section";
    if (longest_piece != h->max_piece_bytes || n_pieces != h->n_pieces || ids_end != h->n_ids)
        return "the pieces do not match the header";
    return NULL;
}

/* Computes the offsets of the pieces from their lengths. check_header has checked the sum in the
 * header, but in a damaged file the sum of the lengths can exceed 32 bits; then the offsets are
 * wrong, but they are not used. */
static int32_t open_lengths(unitok_model *m, const image_header *h, const uint8_t *lengths,
                            unitok_error *error)
{
    uint32_t *offsets = mem_alloc(((size_t)h->n_ids + 1) * sizeof *offsets);
    if (!offsets) return fail_memory(error);
    uint64_t end = 0;
    int width = length_bytes(h);
    for (uint32_t id = 0; id < h->n_ids; id++) {
        offsets[id] = (uint32_t)end;
        const uint8_t *length = lengths + (size_t)id * (size_t)width;
        end += width == 1 ? *length : width == 2 ? load_u16(length) : load_u32(length);
    }
    offsets[h->n_ids] = (uint32_t)end;
    m->piece_offsets = m->own_piece_offsets = offsets;
    return end <= UINT32_MAX ? UNITOK_OK
                             : fail(error, UNITOK_ERROR_FORMAT, -1, lengths - m->image,
                                    "the pieces do not fill their section");
}

/* Builds the tables for the first two bytes, from units that have been checked. Every byte must
 * lead to an id (of a piece, or the fallback id), so that greedy encoding never gets stuck. */
static int32_t open_heads(longest_model *state, const image_header *h, unitok_error *error)
{
    size_t n_bytes = TRIE_HEADS * sizeof(uint64_t);
    state->heads = mem_alloc(n_bytes + 256 * sizeof(uint32_t));
    if (!state->heads) return fail_memory(error);
    uint32_t *singles = (uint32_t *)((uint8_t *)state->heads + n_bytes);
    trie_build_heads(state->longest.trie.units, h->fallback_id == NO_ID ? 0 : h->fallback_id + 1,
                     state->heads, singles);
    state->longest.trie.heads = state->heads;
    state->longest.trie.singles = singles;
    for (int byte = 0; byte < 256; byte++)
        if (singles[byte] == 0) return fail(error, UNITOK_ERROR_FORMAT, -1, 44, "a byte has no id");
    return UNITOK_OK;
}

/* First checks each unit by itself, so that every base stays within the array; then builds the
 * heads, which reads units; then checks the complete trie: each node has one parent, and no path is
 * longer than the longest piece. The two arrays for the last check are freed immediately. */
static int32_t check_trie(unitok_model *m, const image_header *h, unitok_error *error)
{
    longest_model *state = m->state;
    const void *at = m->image;
    const char *wrong = trie_check_units(&state->longest.trie, h->n_ids, &at);
    if (!wrong) {
        int32_t status = open_heads(state, h, error);
        if (status) return status;
        size_t n_bytes = h->n_units * sizeof(uint32_t);
        uint32_t *owners = mem_zalloc_touched(n_bytes), *depths = mem_zalloc_touched(n_bytes);
        int ok = owners && depths;
        if (ok)
            wrong = trie_check_shape(&state->longest.trie, state->longest.max_piece_bytes, owners,
                                     depths, &at);
        mem_free(depths);
        mem_free(owners);
        if (!ok) return fail_memory(error);
    }
    return wrong ? fail(error, UNITOK_ERROR_FORMAT, -1, (const uint8_t *)at - m->image, wrong)
                 : UNITOK_OK;
}

/* Builds the growable trie of the same pieces, for UNITOK_ENGINE_HAT. This engine exists for
 * comparing the two structures. The trie is built from pieces that have been checked, so building
 * it can fail only for lack of memory. */
static int32_t open_hat(unitok_model *m, unitok_error *error)
{
    longest_model *state = m->state;
    int32_t status = unitok_hat_new(&state->hat, error);
    for (int64_t id = 0; !status && id < m->info.n_ids; id++) {
        int64_t bounds[2] = {m->piece_offsets[id], m->piece_offsets[id + 1]};
        if (bounds[0] < bounds[1])
            status = unitok_hat_insert(state->hat, m->pieces, bounds, &id, 1, UNITOK_HAT_SET,
                                       error);
    }
    state->longest.hat = state->hat;
    return status;
}

/* Computes the facts that the image does not store. memory_bytes counts the image, which is shared
 * by all processes that map the file. */
static void fill_info(unitok_model *m, const image_header *h, int32_t engine, int32_t cpu)
{
    unitok_model_info *info = &m->info;
    info->kind = UNITOK_KIND_LONGEST;
    info->n_pieces = h->n_pieces;
    info->n_ids = h->n_ids;
    info->id_bytes = h->n_ids > UNITOK_ID_MAX + 1 ? 4 : 2;
    info->eod_id = h->eod_id == NO_ID ? -1 : (int64_t)h->eod_id;
    info->fallback_id = h->fallback_id == NO_ID ? -1 : (int64_t)h->fallback_id;
    info->unknown_id = -1;
    info->max_piece_bytes = h->max_piece_bytes;
    info->engine = engine;
    info->cpu = cpu;
    info->memory_bytes = (int64_t)sizeof *m + (int64_t)h->image_bytes + TRIE_HEADS * 8 + 256 * 4 +
                         ((int64_t)h->n_ids + 1) * 4;
    info->trie_bytes = (int64_t)h->n_units * 8 + TRIE_HEADS * 8;
}

/* max_piece_bytes is at least 1, even if the model has no pieces: a token takes at least one byte,
 * and longest_settled relies on that. long_pieces_new reports an invalid length without a position,
 * which is set here. */
int32_t image_open(const uint8_t *bytes, int64_t n_bytes, int32_t engine, int32_t cpu,
                   unitok_model *m, unitok_error *error)
{
    const image_header *h = (const image_header *)bytes;
    int64_t position;
    const char *wrong = check_header(h, n_bytes, &position);
    if (wrong) return fail(error, UNITOK_ERROR_FORMAT, -1, position, wrong);

    image_layout at = lay_out(h);
    longest_model *state = m->state = mem_zalloc(1, sizeof *state);
    if (!state) return fail_memory(error);
    m->image = bytes;
    m->image_bytes = (int64_t)h->image_bytes;
    state->longest.trie.units = (const uint64_t *)(bytes + at.units);
    state->longest.trie.n_units = h->n_units;
    state->longest.max_piece_bytes = h->max_piece_bytes ? h->max_piece_bytes : 1;
    m->cuts = (const cut_table *)(bytes + at.cuts);
    m->scan = cut_scan_for(cpu);
    m->pieces = bytes + at.pieces;
    fill_info(m, h, engine, cpu);

    wrong = check_cuts(m->cuts, &position);
    if (wrong) return fail(error, UNITOK_ERROR_FORMAT, -1, (int64_t)at.cuts + position, wrong);
    int32_t status = open_lengths(m, h, bytes + at.lengths, error);
    if (status) return status;
    wrong = check_pieces(m, h, &position);
    if (wrong) return fail(error, UNITOK_ERROR_FORMAT, -1, (int64_t)at.lengths + position, wrong);
    status = check_trie(m, h, error);
    if (!status)
        status = long_pieces_new(m->pieces, m->piece_offsets, m->info.n_ids, &state->longest.longs,
                                 error);
    if (status == UNITOK_ERROR_FORMAT && error && error->position < 0)
        error->position = (int64_t)at.lengths;
    if (!status && engine == UNITOK_ENGINE_HAT) {
        status = open_hat(m, error);
        m->info.trie_bytes = status ? 0 : unitok_hat_memory_bytes(state->hat);
        m->info.memory_bytes += m->info.trie_bytes;
    }
    return status;
}

/* -------------------------------------------------------------------------------- Building ---- */

/* Fills the header for a spec that vocabulary_check has accepted, without n_units and image_bytes,
 * which are not known yet. Numbers that may be absent are stored as FFFFFFFF. */
static void fill_header(const unitok_spec *spec, int64_t n_ids, int64_t max_piece_bytes,
                        image_header *h)
{
    memset(h, 0, sizeof *h);
    memcpy(h->magic, image_magic, sizeof image_magic);
    h->version = LONGEST_VERSION;
    h->kind = UNITOK_KIND_LONGEST;
    h->n_ids = (uint32_t)n_ids;
    h->n_pieces = (uint32_t)spec->n_pieces;
    h->eod_id = spec->eod_id < 0 ? NO_ID : (uint32_t)spec->eod_id;
    h->fallback_id = spec->fallback_id < 0 ? NO_ID : (uint32_t)spec->fallback_id;
    h->max_piece_bytes = (uint32_t)max_piece_bytes;
    h->piece_bytes = spec->n_pieces ? (uint64_t)(spec->offsets[spec->n_pieces] - spec->offsets[0])
                                    : 0;
}

/* Writes the pieces by id, and their lengths. Lengths are written byte by byte, because their width
 * depends on the longest one. */
static int32_t put_pieces(const unitok_spec *spec, const image_header *h, int64_t n_ids,
                          uint8_t *lengths, uint8_t *pieces, unitok_error *error)
{
    uint32_t *offsets = mem_zalloc((size_t)n_ids + 1, sizeof *offsets);
    int width = length_bytes(h);
    int32_t status = offsets ? vocabulary_by_id(spec, n_ids, offsets, pieces, error)
                             : fail_memory(error);
    for (int64_t id = 0; id < n_ids && !status; id++) {
        uint32_t n = offsets[id + 1] - offsets[id];
        for (int k = 0; k < width; k++) lengths[id * width + k] = (uint8_t)(n >> 8 * k);
    }
    mem_free(offsets);
    return status;
}

/* The double array is built first, because its size is needed for the layout; everything else is
 * then written in place. Without a fallback id, all 256 bytes must be pieces. */
int32_t image_build(const unitok_spec *spec, uint8_t **ret, int64_t *ret_n_bytes,
                    unitok_error *error)
{
    image_header h;
    sorted_pieces sorted = {0};
    trie_parts parts = {NULL, 0};
    uint8_t *image = NULL;
    int64_t n_ids, max_piece_bytes;
    image_layout at;
    int32_t status = vocabulary_check(spec, &n_ids, &max_piece_bytes, error);
    if (status) return status;
    fill_header(spec, n_ids, max_piece_bytes, &h);
    status = vocabulary_sort(spec->data, spec->offsets, spec->ids, spec->n_pieces, &sorted, error);
    if (!status)
        status = trie_build(sorted.data, sorted.offsets, sorted.ids, spec->n_pieces, &parts, error);
    if (status) goto done;

    h.n_units = (uint32_t)parts.n_units;
    at = lay_out(&h);
    h.image_bytes = at.end;
    image = mem_zalloc(1, at.end);
    if (!image) {
        status = fail_memory(error);
        goto done;
    }
    /* The image was allocated zeroed, so padding and the checksum are 0. */
    memcpy(image, &h, sizeof h);
    memcpy(image + at.units, parts.units, (size_t)parts.n_units * 8);
    for (uint32_t byte = 0; byte < 256 && !status && spec->fallback_id < 0; byte++) {
        uint64_t unit = parts.units[TRIE_ROOT_BASE ^ byte];
        if (!unit_has_label(unit, (uint8_t)byte) || !unit_value(unit))
            status = fail(error, UNITOK_ERROR_VOCABULARY, -1, byte,
                          "this byte has no piece, and there is no fallback id");
    }
    if (!status &&
        !cut_build(spec->data, spec->offsets, spec->n_pieces, 0, (cut_table *)(image + at.cuts)))
        status = fail_memory(error);
    if (!status) status = put_pieces(spec, &h, n_ids, image + at.lengths, image + at.pieces, error);
done:
    if (status) {
        mem_free(image);
    } else {
        *ret = image;
        *ret_n_bytes = (int64_t)at.end;
    }
    mem_free(parts.units);
    sorted_pieces_free(&sorted);
    return status;
}
