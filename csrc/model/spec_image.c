/* spec_image.c - the native image of kinds whose tables are built when a file is opened: the spec,
 * section by section
 *
 * All numbers are little-endian, and every section is 8-byte aligned:
 *
 *      0  magic[8]            as in image.c
 *      8  u32 version = 1     12  u32 kind (enum unitok_kind, not 1)
 *     16  u64 checksum        24  u64 image_bytes
 *     32  u32 flags           36  u32 n_pieces       40  u32 eod_id, or FFFFFFFF     44  u32 surface_bytes
 *     48  u64 piece_bytes     56  u64 charsmap_bytes  64  u64 n_merges
 *     72  i64[n_pieces + 1]   the offsets of the pieces
 *         i64[n_pieces]       their ids
 *         f64[n_pieces]       their scores
 *         u8[n_pieces]        their types (padded to 8)
 *         u8[piece_bytes]     the pieces (padded to 8)
 *         u8[charsmap_bytes]  the normalization rules (padded to 8)
 *         u8[surface_bytes]   the text that the unknown id decodes to (padded to 8)
 *         i64[3][n_merges]    ids: left sides, right sides, results
 *         u64 pattern_bytes   only with UNITOK_PATTERN
 *         u8[pattern_bytes]   the pattern (padded to 8), only with UNITOK_PATTERN
 *
 * The first sections consist of 8-byte numbers, so they are aligned without padding. Opening a file
 * copies none of them: the spec of the model points into the image. An invalid spec causes the same
 * errors as an invalid file, because building from a spec also goes through this image. */

#include "model/image.h"

#include "ground/alloc.h"
#include "model/build.h"
#include "ground/error.h"
#include "model/kind.h"
#include "model/spec.h"
#include "structures/vocabulary.h"

/* The first 72 bytes of the image, as listed above. The fields need no padding, so the structure is
 * copied directly. */
typedef struct spec_header {
    uint8_t magic[8];
    uint32_t version, kind;
    uint64_t checksum, image_bytes;
    uint32_t flags, n_pieces, eod_id, surface_bytes;
    uint64_t piece_bytes, charsmap_bytes, n_merges;
} spec_header;

/* Where each section begins, in bytes from the start of the image. */
typedef struct spec_layout {
    uint64_t offsets, ids, scores, types, pieces, charsmap, surface, merges, pattern, end;
} spec_layout;

/* As in image.c, every section begins where the previous one ends, and sizes are checked before
 * they are added. n_pattern_bytes is 0 without UNITOK_PATTERN. */
static spec_layout lay_out(const spec_header *h, uint64_t n_pattern_bytes)
{
    spec_layout at;
    at.offsets = sizeof *h;
    at.ids = at.offsets + ((uint64_t)h->n_pieces + 1) * 8;
    at.scores = at.ids + (uint64_t)h->n_pieces * 8;
    at.types = at.scores + (uint64_t)h->n_pieces * 8;
    at.pieces = at.types + ((uint64_t)h->n_pieces + 7) / 8 * 8;
    at.charsmap = at.pieces + (h->piece_bytes + 7) / 8 * 8;
    at.surface = at.charsmap + (h->charsmap_bytes + 7) / 8 * 8;
    at.merges = at.surface + ((uint64_t)h->surface_bytes + 7) / 8 * 8;
    at.pattern = at.merges + h->n_merges * 3 * 8;
    at.end = at.pattern;
    if (h->flags & UNITOK_PATTERN) at.end += 8 + (n_pattern_bytes + 7) / 8 * 8;
    return at;
}

/* -------------------------------------------------------------------------------- Building ---- */

/* A spec may omit scores, types, charsmap and surface. For missing scores the image stores zeros,
 * for missing types NORMAL, and for a missing charsmap or surface a size of 0. Offsets are stored
 * relative to the first piece, because the spec's data need not begin with it. */
int32_t spec_image_build(const unitok_spec *spec, uint8_t **ret, int64_t *ret_n_bytes,
                         unitok_error *error)
{
    int64_t n_ids, max_piece_bytes, n = spec->n_pieces;
    int32_t status = vocabulary_check(spec, &n_ids, &max_piece_bytes, error);
    if (status) return status;
    spec_header h;
    memset(&h, 0, sizeof h);
    memcpy(h.magic, image_magic, sizeof image_magic);
    h.version = NATIVE_VERSION;
    h.kind = (uint32_t)spec->kind;
    h.flags = (uint32_t)spec->flags;
    h.n_pieces = (uint32_t)n;
    h.eod_id = spec->eod_id < 0 ? NO_ID : (uint32_t)spec->eod_id;
    h.piece_bytes = n ? (uint64_t)(spec->offsets[n] - spec->offsets[0]) : 0;
    h.charsmap_bytes = spec->charsmap ? (uint64_t)spec->n_charsmap_bytes : 0;
    h.surface_bytes = spec->unknown_surface ? (uint32_t)spec->n_unknown_surface_bytes : 0;
    h.n_merges = (uint64_t)spec->n_merges;
    uint64_t n_pattern_bytes = (uint64_t)spec->n_pattern_bytes;
    spec_layout at = lay_out(&h, n_pattern_bytes);
    h.image_bytes = at.end;
    uint8_t *image = mem_zalloc(1, at.end);
    if (!image) return fail_memory(error);
    memcpy(image, &h, sizeof h);
    int64_t *offsets = (int64_t *)(image + at.offsets);
    for (int64_t k = 0; k < n; k++) {
        offsets[k + 1] = spec->offsets[k + 1] - spec->offsets[0];
        if (spec->scores) ((double *)(image + at.scores))[k] = spec->scores[k];
        image[at.types + (uint64_t)k] = spec->types ? spec->types[k] : UNITOK_PIECE_NORMAL;
    }
    if (n) memcpy(image + at.ids, spec->ids, (size_t)n * sizeof *spec->ids);
    if (h.piece_bytes) memcpy(image + at.pieces, spec->data + spec->offsets[0], h.piece_bytes);
    if (h.charsmap_bytes) memcpy(image + at.charsmap, spec->charsmap, h.charsmap_bytes);
    if (h.surface_bytes) memcpy(image + at.surface, spec->unknown_surface, h.surface_bytes);
    if (h.n_merges) memcpy(image + at.merges, spec->merges, h.n_merges * 3 * sizeof *spec->merges);
    if (n_pattern_bytes) {
        memcpy(image + at.pattern, &n_pattern_bytes, sizeof n_pattern_bytes);
        memcpy(image + at.pattern + 8, spec->pattern, n_pattern_bytes);
    }
    *ret = image;
    *ret_n_bytes = (int64_t)at.end;
    return UNITOK_OK;
}

/* --------------------------------------------------------------------------------- Opening ---- */

/* Returns the size of the pattern; 0 if there is no pattern, or if the image ends before the field
 * with the size. */
static uint64_t pattern_bytes(const spec_header *h)
{
    uint64_t n = 0, at = lay_out(h, 0).pattern;
    if (h->flags & UNITOK_PATTERN && at + sizeof n <= h->image_bytes)
        memcpy(&n, (const uint8_t *)h + at, sizeof n);
    return n;
}

/* The flags are checked by the same rules as those of a spec, so an image cannot contain a
 * combination that the readers of model files reject. */
static const char *check_header(const spec_header *h, int64_t n_bytes, int64_t *position)
{
    *position = 0;
    if (n_bytes < (int64_t)sizeof *h) return "the file is too short for a native model";
    if (memcmp(h->magic, image_magic, sizeof image_magic)) return "this is not a native model";
    *position = 8;
    if (h->version != NATIVE_VERSION)
        return "this release does not support this version of the native format";
    *position = 12;
    if (h->kind == UNITOK_KIND_LONGEST || h->kind > INT32_MAX || !kind_of((int32_t)h->kind))
        return "this release does not support this kind of model";
    *position = 32;
    if (h->flags > UNITOK_FLAGS_ALL)
        return "this release does not support some flags of this native model";
    const char *wrong = spec_check_flags((int32_t)h->kind, (int32_t)h->flags);
    if (wrong) return wrong;
    *position = 36;
    if (h->n_pieces > UNITOK_WIDE_ID_MAX + 1) return "the number of pieces is out of range";
    *position = 48;
    if (h->piece_bytes > PIECE_BYTES_MAX || h->charsmap_bytes > CHARSMAP_BYTES_MAX ||
        h->surface_bytes > SURFACE_BYTES_MAX)
        return "the size of the pieces or of the charsmap is out of range";
    *position = 64;
    if (h->n_merges > MERGES_MAX || (h->n_merges && !(h->flags & UNITOK_LISTED_MERGES)))
        return "the number of merges is out of range";
    *position = 24;
    if (h->image_bytes > (uint64_t)n_bytes) return "the file is truncated";
    *position = (int64_t)lay_out(h, 0).pattern;
    uint64_t n_pattern_bytes = pattern_bytes(h);
    if (n_pattern_bytes > PATTERN_BYTES_MAX || !n_pattern_bytes != !(h->flags & UNITOK_PATTERN))
        return "the size of the pattern is out of range";
    *position = 24;
    if (h->image_bytes != lay_out(h, n_pattern_bytes).end)
        return "the size in the header does not match the sections";
    return NULL;
}

/* Checks that the sections match the header; build_model checks the rest. Offsets must not decrease,
 * because they are used to read pieces, and types must be valid, because they index a table. */
static const char *check_sections(const spec_header *h, const unitok_spec *spec,
                                  const uint8_t *bytes, int64_t *position)
{
    for (int64_t k = 0; k < spec->n_pieces; k++) {
        *position = (const uint8_t *)(spec->offsets + k) - bytes;
        if (spec->offsets[k] < 0 || spec->offsets[k + 1] < spec->offsets[k])
            return "the offsets of the pieces decrease";
        *position = spec->types + k - bytes;
        if (spec->types[k] < UNITOK_PIECE_NORMAL || spec->types[k] > UNITOK_PIECE_BYTE)
            return "a piece has an unknown type";
    }
    *position = (const uint8_t *)spec->offsets - bytes;
    if (spec->offsets[0] != 0 || (uint64_t)spec->offsets[spec->n_pieces] != h->piece_bytes)
        return "the pieces do not fill their section";
    return NULL;
}

/* m->spec points into the image. The charsmap and the pattern are NULL if the model has none. */
int32_t spec_image_open(const uint8_t *bytes, int64_t n_bytes, int32_t engine, int32_t cpu,
                        unitok_model *m, unitok_error *error)
{
    (void)engine; /* only greedy longest prefix has engines */
    const spec_header *h = (const spec_header *)bytes;
    int64_t position;
    const char *wrong = check_header(h, n_bytes, &position);
    if (wrong) return fail(error, UNITOK_ERROR_FORMAT, -1, position, wrong);
    spec_layout at = lay_out(h, pattern_bytes(h));
    unitok_spec *spec = &m->spec;
    spec->kind = (int32_t)h->kind;
    spec->flags = (int32_t)h->flags;
    spec->n_pieces = h->n_pieces;
    spec->offsets = (const int64_t *)(bytes + at.offsets);
    spec->ids = (const int64_t *)(bytes + at.ids);
    spec->scores = (const double *)(bytes + at.scores);
    spec->types = bytes + at.types;
    spec->data = bytes + at.pieces;
    spec->charsmap = h->charsmap_bytes ? bytes + at.charsmap : NULL;
    spec->n_charsmap_bytes = (int64_t)h->charsmap_bytes;
    spec->unknown_surface = bytes + at.surface;
    spec->n_unknown_surface_bytes = h->surface_bytes;
    spec->eod_id = h->eod_id == NO_ID ? -1 : (int64_t)h->eod_id;
    spec->fallback_id = -1;
    spec->merges = (const int64_t *)(bytes + at.merges);
    spec->n_merges = (int64_t)h->n_merges;
    spec->n_pattern_bytes = (int64_t)pattern_bytes(h);
    spec->pattern = spec->n_pattern_bytes ? bytes + at.pattern + 8 : NULL;
    m->image = bytes;
    m->image_bytes = (int64_t)h->image_bytes;
    wrong = check_sections(h, spec, bytes, &position);
    if (wrong) return fail(error, UNITOK_ERROR_FORMAT, -1, position, wrong);
    return build_model(m, cpu, error);
}
