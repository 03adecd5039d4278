/* model.c - the public functions that build, open, save and query models
 *
 * A model always has an image, even if it was just built: building lays out the image, and opening
 * reads it, whether or not it came from a file. So there is only one way to create a model, and
 * every test exercises it.
 *
 *     unitok_model_new     spec ──▶ make_image ──▶ image ──┐
 *     unitok_model_load    a mapped file ──────────────────┴─▶ open ──▶ model ──(complete)──▶ with encoder
 *
 * The image of unitok_model_new belongs to the model (`owned`); that of unitok_model_load belongs
 * to the caller, who keeps it until the model is freed. */

#include "ground/alloc.h"
#include "ground/error.h"
#include "model/build.h"
#include "model/run.h"
#include "model/spec.h"

/* Returns the kind of an image; if the image is too short or its kind is unknown, a kind whose
 * open() will report the error. */
static const model_kind *kind_of_image(const uint8_t *bytes, int64_t n_bytes)
{
    const model_kind *kind = n_bytes >= 16 ? kind_of((int32_t)load_u32(bytes + 12)) : NULL;
    return kind ? kind : kind_of(UNITOK_KIND_LONGEST);
}

/* An engine is checked after opening, because only the kind knows whether it has more than one. The
 * table of widths is set last: it depends on the number of ids, which opening determines. */
int32_t unitok_model_load(const uint8_t *bytes, int64_t n_bytes, int32_t engine, int32_t cpu,
                          unitok_model **ret, unitok_error *error)
{
    if ((uintptr_t)bytes % 8)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1,
                    "the bytes of a model must be aligned to 8");
    if (engine != UNITOK_ENGINE_DOUBLE_ARRAY && engine != UNITOK_ENGINE_HAT)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "unknown engine");
    if (cpu == UNITOK_CPU_AUTO) cpu = cpu_best();
    if (!unitok_cpu_supported(cpu))
        return fail(error, UNITOK_ERROR_CPU, -1, -1,
                    "this processor or this build does not support that instruction set");

    unitok_model *m = mem_zalloc(1, sizeof *m);
    if (!m) return fail_memory(error);
    m->kind = kind_of_image(bytes, n_bytes);
    int32_t status = m->kind->open(bytes, n_bytes, engine, cpu, m, error);
    if (!status && !m->kind->has_engines && engine != UNITOK_ENGINE_DOUBLE_ARRAY)
        status = fail(error, UNITOK_ERROR_ARGUMENT, -1, -1,
                      "only greedy longest prefix has several engines");
    if (!status) m->width = m->info.id_bytes == 4 ? &id_width_32 : &id_width_16;
    if (status) {
        unitok_model_free(m);
        return status;
    }
    *ret = m;
    return UNITOK_OK;
}

/* Flags and sizes are checked before the image is laid out, because the layout is computed from
 * them. */
int32_t unitok_model_new(const unitok_spec *spec, int32_t engine, int32_t cpu, unitok_model **ret,
                         unitok_error *error)
{
    uint8_t *image = NULL;
    int64_t n_bytes;
    const char *wrong = spec_check_flags(spec->kind, spec->flags);
    if (!wrong) wrong = spec_check_sizes(spec);
    if (wrong) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, wrong);
    int32_t status = kind_of(spec->kind)->make_image(spec, &image, &n_bytes, error);
    if (!status) status = unitok_model_load(image, n_bytes, engine, cpu, ret, error);
    if (status) mem_free(image);
    else (*ret)->owned = image;
    return status;
}

/* Kinds whose encoder takes long to build leave this to the first encoding, so a program that only
 * decodes never pays for it. Two threads must not call this at the same time: the caller holds a
 * lock. */
int32_t unitok_model_complete(unitok_model *m, unitok_error *error)
{
    return m->info.is_complete ? UNITOK_OK : build_encoder(m, error);
}

/* Also frees what a failed unitok_model_load has built so far, so any pointer may still be NULL.
 */
void unitok_model_free(unitok_model *m)
{
    if (!m) return;
    m->kind->free(m);
    build_free(m);
    mem_free(m->owned);
    mem_free(m);
}

/* The checksum is set to 0, because the caller computes it, and includes the bytes that follow the
 * image in the file. */
int64_t unitok_model_save(const unitok_model *m, uint8_t *out, int64_t capacity)
{
    if (capacity < m->image_bytes) return m->image_bytes;
    memcpy(out, m->image, (size_t)m->image_bytes);
    memset(out + UNITOK_NATIVE_CHECKSUM_AT, 0, 8);
    return m->image_bytes;
}

void unitok_model_get_info(const unitok_model *m, unitok_model_info *ret) { *ret = m->info; }

/* An id without a piece has the same offset as the next one. */
const uint8_t *unitok_model_piece(const unitok_model *m, int64_t id, int64_t *ret_n_bytes)
{
    *ret_n_bytes = -1;
    if (id < 0 || id >= m->info.n_ids || m->piece_offsets[id] == m->piece_offsets[id + 1])
        return NULL;
    return piece_of(m, id, ret_n_bytes);
}

/* The image of a greedy model contains a trie instead of a spec. */
const unitok_spec *unitok_model_spec(const unitok_model *m)
{
    return m->spec.offsets ? &m->spec : NULL;
}

/* Greedy models have no types: all their pieces are NORMAL. */
int32_t unitok_model_piece_type(const unitok_model *m, int64_t id)
{
    int64_t n_bytes;
    if (!unitok_model_piece(m, id, &n_bytes)) return 0;
    return m->types ? m->types[id] : UNITOK_PIECE_NORMAL;
}

/* Without a normalizer the text is copied, so callers need no special case. norm_to_orig has one
 * more entry than the text has bytes, for its end. */
int64_t unitok_model_normalize(const unitok_model *m, const uint8_t *text, int64_t n_bytes,
                               uint8_t *out, int64_t *norm_to_orig, int64_t capacity)
{
    if (m->normalizer)
        return unitok_normalize(m->normalizer, text, n_bytes, 0, out, norm_to_orig, capacity);
    if (n_bytes > capacity) return n_bytes;
    memcpy(out, text, (size_t)n_bytes);
    for (int64_t i = 0; norm_to_orig && i <= n_bytes; i++) norm_to_orig[i] = i;
    return n_bytes;
}

/* For callers that need all pieces, such as a search: returns the packed list by id, without
 * copying it. */
void unitok_model_pieces(const unitok_model *m, const uint8_t **ret_data,
                         const uint32_t **ret_offsets)
{
    *ret_data = m->pieces;
    *ret_offsets = m->piece_offsets;
}

/* An empty string is never a piece, and the kinds do not expect one. */
int64_t unitok_model_find(const unitok_model *m, const uint8_t *piece, int64_t n_bytes)
{
    return n_bytes > 0 ? m->kind->find(m, piece, n_bytes) : -1;
}
