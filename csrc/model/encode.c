/* encode.c - the public functions that encode or sample a document or a batch
 *
 * A batch is encoded document by document. A document can be shared between batches: the first
 * document of a batch may continue the last one of the previous batch (OPEN_START), and the last
 * may be continued in the next batch (OPEN_END). Only these two need a state, and the documents
 * between them are encoded without one:
 *
 *     batch 0     a, the beginning of b          OPEN_END
 *     batch 1     more of b                      OPEN_START and OPEN_END
 *     batch 2     the end of b, c, d             OPEN_START
 *
 * The caller divides a document only where unitok_split allows it, so the ids are those of the
 * document in one batch. */

#include "ground/error.h"
#include "ground/packed.h"
#include "ground/rng.h"
#include "model/run.h"
#include "model/sample.h"

/* Encodes one complete document; returns the number of ids, or an ENCODE_ code. */
int64_t unitok_encode(const unitok_model *m, unitok_scratch *s, const uint8_t *text,
                      int64_t n_bytes, void *ids, int64_t capacity)
{
    encode_job job = {NULL, NULL, text, n_bytes, n_bytes, 1, 0, ids, capacity};
    return router_encode(m, s, &job);
}

/* Only the eod id is written here; encoders write all others, in the width of the model. */
static void put_id(const unitok_model *m, void *ids, int64_t at, int64_t id)
{
    if (m->info.id_bytes == 2) ((uint16_t *)ids)[at] = (uint16_t)id;
    else ((uint32_t *)ids)[at] = (uint32_t)id;
}

/* Checks everything that the loop assumes. The eod id need not be an id of the model, but it must
 * fit the width of the model's ids. */
static const char *check_batch(const unitok_model *m, const unitok_scratch *s,
                               const int64_t *offsets, int64_t n_docs, int64_t eod_id)
{
    if (s->model != m) return "the scratch belongs to another model";
    if (eod_id < -1 || eod_id > (m->info.id_bytes == 2 ? UNITOK_ID_MAX : UNITOK_WIDE_ID_MAX))
        return "the eod id is too large for the ids of this model";
    return check_offsets(offsets, n_docs);
}

/* The key of a document is derived from its number in the input. So a sample does not depend on how
 * documents are distributed over batches and threads. `documents` gives the numbers if those of a
 * batch are not consecutive. */
static uint64_t document_key(const unitok_sampling *sampling, int64_t k)
{
    uint64_t number = sampling->documents ? (uint64_t)sampling->documents[k]
                                          : sampling->document + (uint64_t)k;
    return rng_document_key(sampling->seed, sampling->input, number);
}

static const char too_long[] = "a part that cannot be cut is longer than 2^29 bytes";
static const char too_small[] = "the array for ids is too small";

/* Implements unitok_encode_batch; with `sampling`, unitok_sample_batch; with `given`,
 * unitok_encode_sections. A document whose ids do not fit in `ids` ends the call with
 * UNITOK_ERROR_CAPACITY and its number; the caller repeats the call with a larger array. */
static int32_t encode_batch(const unitok_model *m, unitok_scratch *s,
                            const unitok_sampling *sampling, const int64_t *given,
                            const uint8_t *data, const int64_t *offsets, int64_t n_docs,
                            int64_t eod_id, int32_t flags, unitok_state *state, void *ids,
                            int64_t capacity, int64_t *id_offsets, unitok_error *error)
{
    const char *wrong = check_batch(m, s, offsets, n_docs, eod_id);
    if (wrong) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, wrong);
    /* *state changes only on success: the caller can retry with a larger array */
    unitok_state own;
    memset(&own, 0, sizeof own);
    if (state) own = *state;
    draw draw = {sampling, 0};
    int64_t done = 0;
    id_offsets[0] = 0;
    for (int64_t k = 0; k < n_docs; k++) {
        if (given && given[k] >= 0) {
            if (done == capacity) return fail(error, UNITOK_ERROR_CAPACITY, k, -1, too_small);
            put_id(m, ids, done++, given[k]);
            id_offsets[k + 1] = done;
            continue;
        }
        int opened = k == 0 && flags & UNITOK_ENCODE_OPEN_START,
            last = k < n_docs - 1 || !(flags & UNITOK_ENCODE_OPEN_END);
        /* A document that is complete in this batch needs no state. A continued document begins
         * with the given state; one that will be continued in the next batch begins with an empty
         * state. */
        unitok_state *of_this = opened || !last ? &own : NULL;
        if (of_this && !opened) memset(&own, 0, sizeof own);
        if (sampling) draw.key = document_key(sampling, k);
        encode_job job = {sampling ? &draw : NULL,
                          of_this,
                          data + offsets[k],
                          offsets[k + 1] - offsets[k],
                          offsets[n_docs] - offsets[k],
                          last,
                          flags,
                          (uint8_t *)ids + done * m->info.id_bytes,
                          capacity - done};
        int64_t n = router_encode(m, s, &job);
        if (n == ENCODE_NO_MEMORY) return fail_memory(error);
        if (n == ENCODE_TOO_LONG) return fail(error, UNITOK_ERROR_LENGTH, k, -1, too_long);
        /* The eod id ends a document, so no eod id follows a part that will be continued. */
        int with_eod = eod_id >= 0 && last;
        if (n == ENCODE_CAPACITY || done + n + with_eod > capacity)
            return fail(error, UNITOK_ERROR_CAPACITY, k, -1, too_small);
        done += n;
        if (with_eod) put_id(m, ids, done++, eod_id);
        id_offsets[k + 1] = done;
    }
    if (state) *state = own;
    return UNITOK_OK;
}

int32_t unitok_encode_batch(const unitok_model *m, unitok_scratch *s, const uint8_t *data,
                            const int64_t *offsets, int64_t n_docs, int64_t eod_id, int32_t flags,
                            unitok_state *state, void *ids, int64_t capacity, int64_t *id_offsets,
                            unitok_error *error)
{
    return encode_batch(m, s, NULL, NULL, data, offsets, n_docs, eod_id, flags, state, ids,
                        capacity, id_offsets, error);
}

int32_t unitok_encode_sections(const unitok_model *m, unitok_scratch *s, const uint8_t *data,
                               const int64_t *offsets, const int64_t *given, int64_t n_sections,
                               void *ids, int64_t capacity, int64_t *id_offsets,
                               unitok_error *error)
{
    for (int64_t k = 0; k < n_sections; k++)
        if (given[k] >= m->info.n_ids)
            return fail(error, UNITOK_ERROR_ARGUMENT, k, -1, "a given id is out of range");
    return encode_batch(m, s, NULL, given, data, offsets, n_sections, -1, 0, NULL, ids, capacity,
                        id_offsets, error);
}

/* n-best and dropout sample complete documents, because a path or a merge can depend on the entire
 * text. The other methods draw part by part. */
int32_t unitok_sample_batch(const unitok_model *m, unitok_scratch *s,
                            const unitok_sampling *sampling, const uint8_t *data,
                            const int64_t *offsets, int64_t n_docs, int64_t eod_id, int32_t flags,
                            unitok_state *state, void *ids, int64_t capacity, int64_t *id_offsets,
                            unitok_error *error)
{
    if (sample_is_whole(sampling) && flags & (UNITOK_ENCODE_OPEN_START | UNITOK_ENCODE_OPEN_END))
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1,
                    "this sampling method needs complete documents");
    int32_t status = sample_prepare(m, s, sampling, error);
    if (status) return status;
    return encode_batch(m, s, sampling, NULL, data, offsets, n_docs, eod_id, flags, state, ids,
                        capacity, id_offsets, error);
}
