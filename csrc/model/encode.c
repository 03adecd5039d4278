/* encode.c - the public functions that encode: one document, a batch, and where a document may be divided */

#include "ground/alloc.h"
#include "ground/error.h"
#include "encoders/memo.h"
#include "model/model.h"
#include "ground/packed.h"
#include "ground/rng.h"

/* How one document is sampled. */
typedef struct draw {
    const unitok_sampling *sampling;
    uint64_t key; /* the document's: rng.h */
} draw;

/* Room for `held` bytes of normalized text and at least as many more; 0 when memory is short. */
static int scratch_buffer(unitok_scratch *s, const unitok_normalizer *normalizer, int64_t held)
{
    int64_t more = held > 2 * CUT_CHUNK_BYTES ? held : 2 * CUT_CHUNK_BYTES;
    int64_t wanted = held + more + unitok_normalizer_step_bytes(normalizer) + CUT_READ_BEYOND;
    if (wanted <= s->buffer_bytes) return 1;
    uint8_t *p = mem_realloc(s->buffer, (size_t)wanted);
    if (!p) return 0;
    s->buffer = p;
    s->buffer_bytes = wanted;
    return 1;
}

token *scratch_tokens(unitok_scratch *s, int64_t n)
{
    if (n <= s->tokens_room) return s->tokens;
    token *p = mem_realloc(s->tokens, (size_t)n * sizeof *p);
    if (!p) return NULL;
    s->tokens = p;
    s->tokens_room = n;
    return p;
}

static int begins_word(const unitok_model *m, const uint8_t *text, int64_t n_bytes)
{
    if (m->compact) return text[0] == SPACE_BYTE;
    return n_bytes >= 3 && !memcmp(text, space_symbol, 3);
}

int64_t encode_alone(const unitok_model *m, unitok_scratch *s, const uint8_t *segment, int64_t n_bytes, token *tokens)
{
    if (n_bytes > TEXT_BYTES_MAX) return -1;
    if (m->kind == UNITOK_KIND_BPE) return bpe_segment(m->bpe, &s->bpe, segment, n_bytes, tokens);
    if (m->kind == UNITOK_KIND_CHAR) return characters_segment(&m->characters, segment, n_bytes, tokens);
    int64_t n = 0;
    for (int64_t begin = 0, end; begin < n_bytes; begin = end) {
        end = begin + char_bytes(segment[begin]);
        while (end < n_bytes && !begins_word(m, segment + end, n_bytes - end)) end += char_bytes(segment[end]);
        if (end > n_bytes) end = n_bytes;
        words_segment(&m->words, segment + begin, end - begin, tokens + n);
        tokens[n++].end = (uint32_t)end;
    }
    return n;
}

/* See segments.h. Most entries serve up to 99,700 or so; a bound beyond FAR_WORD proves little. */
#define AHEAD_IDS 64
#define FAR_WORD ((98304 / UNIGRAM_LIMIT_STEP) << 4)

#define NAME(x) x##_16
#define ID uint16_t
#define SHORT_BITS 16
#include "model/segments.h"

#define NAME(x) x##_32
#define ID uint32_t
#define SHORT_BITS 16
#include "model/segments.h"

#define NAME(x) x##_float_16
#define ID uint16_t
#define SHORT_BITS 17
#define SUM float
#define SUM_SCORES id_scores32
#include "model/segments.h"

#define NAME(x) x##_float_32
#define ID uint32_t
#define SHORT_BITS 17
#define SUM float
#define SUM_SCORES id_scores32
#include "model/segments.h"

#define NAME(x) x##_double_16
#define ID uint16_t
#define SHORT_BITS 17
#define SUM double
#define SUM_SCORES id_scores64
#define RESTARTS 1
#include "model/segments.h"

#define NAME(x) x##_double_32
#define ID uint32_t
#define SHORT_BITS 17
#define SUM double
#define SUM_SCORES id_scores64
#define RESTARTS 1
#include "model/segments.h"

/* ------------------------------------------------------------------------------------------------- scratch ---- */

static int64_t memo_size(loop_kind loop)
{
    switch (loop) {
    case LOOP_16: return sizeof(memo_16);
    case LOOP_32: return sizeof(memo_32);
    case LOOP_FLOAT_16: return sizeof(memo_float_16);
    case LOOP_FLOAT_32: return sizeof(memo_float_32);
    case LOOP_DOUBLE_16: return sizeof(memo_double_16);
    default: return sizeof(memo_double_32);
    }
}

unitok_scratch *unitok_scratch_new(const unitok_model *m)
{
    unitok_scratch *s = mem_zalloc(1, sizeof *s);
    if (!s) return NULL;
    s->model = m;
    s->memo_bytes = memo_size(m->loop);
    s->memo = mem_zalloc(1, (size_t)s->memo_bytes);
    if (s->memo) return s;
    unitok_scratch_free(s);
    return NULL;
}

void unitok_scratch_clear(unitok_scratch *s)
{
    memset(s->memo, 0, (size_t)s->memo_bytes);
}

void unitok_scratch_free(unitok_scratch *s)
{
    if (!s) return;
    lattice_paths_free(&s->paths);
    nbest_free(&s->nbest);
    sampler_free(&s->sampler);
    bpe_scratch_free(&s->bpe);
    unigram_path_free(&s->path);
    long_window_free(&s->window);
    mem_free(s->tokens);
    mem_free(s->buffer);
    mem_free(s->memo);
    mem_free(s);
}

int64_t unitok_scratch_memory_bytes(const unitok_scratch *s)
{
    return (int64_t)sizeof *s + s->memo_bytes + s->buffer_bytes + s->tokens_room * (int64_t)sizeof(token);
}

/* ------------------------------------------------------------------------------------------------ encoding ---- */

/* One document, or the next part of one, into ids[at..]; the number of ids, or an ENCODE_ code. `draw`: NULL, or how to
 * sample this document. */
static int64_t encode(const unitok_model *m, unitok_scratch *s, const draw *draw, unitok_state *state,
                      const uint8_t *text, int64_t n_bytes, int64_t n_readable, int last, int32_t flags, void *ids,
                      int64_t at, int64_t capacity)
{
#define ENCODE(instance, ID) \
    encode_##instance(m, s, draw, state, text, n_bytes, n_readable, last, flags, (ID *)ids + at, capacity - at)
    ASSERT(s->model == m);
    switch (m->loop) {
    case LOOP_16: return ENCODE(16, uint16_t);
    case LOOP_32: return ENCODE(32, uint32_t);
    case LOOP_FLOAT_16: return ENCODE(float_16, uint16_t);
    case LOOP_FLOAT_32: return ENCODE(float_32, uint32_t);
    case LOOP_DOUBLE_16: return ENCODE(double_16, uint16_t);
    default: return ENCODE(double_32, uint32_t);
    }
#undef ENCODE
}

int64_t unitok_encode(const unitok_model *m, unitok_scratch *s, const uint8_t *text, int64_t n_bytes, void *ids,
                      int64_t capacity)
{
    return encode(m, s, NULL, NULL, text, n_bytes, n_bytes, 1, 0, ids, 0, capacity);
}

static void put_id(const unitok_model *m, void *ids, int64_t at, int64_t id)
{
    if (m->info.id_bytes == 2) ((uint16_t *)ids)[at] = (uint16_t)id;
    else ((uint32_t *)ids)[at] = (uint32_t)id;
}

static const char *check_batch(const unitok_model *m, const unitok_scratch *s, const int64_t *offsets, int64_t n_docs,
                               int64_t eod_id)
{
    if (s->model != m) return "the scratch is another model's";
    if (eod_id < -1 || eod_id > (m->info.id_bytes == 2 ? UNITOK_ID_MAX : UNITOK_WIDE_ID_MAX))
        return "the eod id does not fit the ids of this model";
    return check_offsets(offsets, n_docs);
}

static uint64_t document_key(const unitok_sampling *sampling, int64_t k)
{
    uint64_t number = sampling->documents ? (uint64_t)sampling->documents[k] : sampling->document + (uint64_t)k;
    return rng_document_key(sampling->seed, sampling->input, number);
}

/* unitok_encode_batch and, with `sampling`, unitok_sample_batch. */
static int32_t encode_batch(const unitok_model *m, unitok_scratch *s, const unitok_sampling *sampling, const uint8_t *data,
                            const int64_t *offsets, int64_t n_docs, int64_t eod_id, int32_t flags, unitok_state *state,
                            void *ids, int64_t capacity, int64_t *id_offsets, unitok_error *error)
{
    const char *wrong = check_batch(m, s, offsets, n_docs, eod_id);
    if (wrong) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, wrong);
    unitok_state own; /* *state changes only where all went well: the caller may try again with more room */
    memset(&own, 0, sizeof own);
    if (state) own = *state;
    draw draw = {sampling, 0};
    int64_t done = 0;
    id_offsets[0] = 0;
    for (int64_t k = 0; k < n_docs; k++) {
        int opened = k == 0 && flags & UNITOK_ENCODE_OPEN_START, last = k < n_docs - 1 || !(flags & UNITOK_ENCODE_OPEN_END);
        unitok_state *of_this = opened || !last ? &own : NULL;
        if (of_this && !opened) memset(&own, 0, sizeof own);
        if (sampling) draw.key = document_key(sampling, k);
        int64_t n = encode(m, s, sampling ? &draw : NULL, of_this, data + offsets[k], offsets[k + 1] - offsets[k],
                           offsets[n_docs] - offsets[k], last, flags, ids, done, capacity);
        if (n == ENCODE_NO_MEMORY) return fail_memory(error);
        int with_eod = eod_id >= 0 && last;
        if (n == ENCODE_NO_ROOM || done + n + with_eod > capacity)
            return fail(error, UNITOK_ERROR_ROOM, k, -1, "the array for ids is too small");
        done += n;
        if (with_eod) put_id(m, ids, done++, eod_id);
        id_offsets[k + 1] = done;
    }
    if (state) *state = own;
    return UNITOK_OK;
}

int32_t unitok_encode_batch(const unitok_model *m, unitok_scratch *s, const uint8_t *data, const int64_t *offsets,
                            int64_t n_docs, int64_t eod_id, int32_t flags, unitok_state *state, void *ids,
                            int64_t capacity, int64_t *id_offsets, unitok_error *error)
{
    return encode_batch(m, s, NULL, data, offsets, n_docs, eod_id, flags, state, ids, capacity, id_offsets, error);
}

int32_t unitok_sample_batch(const unitok_model *m, unitok_scratch *s, const unitok_sampling *sampling,
                            const uint8_t *data, const int64_t *offsets, int64_t n_docs, int64_t eod_id, int32_t flags,
                            unitok_state *state, void *ids, int64_t capacity, int64_t *id_offsets, unitok_error *error)
{
    if (sample_is_whole(sampling) && flags & (UNITOK_ENCODE_OPEN_START | UNITOK_ENCODE_OPEN_END))
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "this method samples whole documents");
    int32_t status = sample_prepare(m, s, sampling, error);
    if (status) return status;
    return encode_batch(m, s, sampling, data, offsets, n_docs, eod_id, flags, state, ids, capacity, id_offsets, error);
}

/* ------------------------------------------------------------------------------------------------ dividing ---- */

#define CONTEXT_BYTES 64 /* of the text on either side that decides whether it can be divided */
#define ROOM_BYTES 4096
#define SPLIT_TRIES 256
#define SPLIT_BYTES 2048 /* how far from the end a point is looked for */

/* Is there a cut between the normalized text[begin..at) and what text[at..end) becomes? All three are points that nothing
 * reaches across. A space right before `at` might have to go: no. */
static int cut_between(const unitok_model *m, const uint8_t *text, int64_t begin, int64_t at, int64_t end)
{
    uint8_t out[ROOM_BYTES];
    unitok_normalize_state state = {0, 0, 1, 0, 0};
    int64_t n_left = unitok_normalize_some(m->normalizer, &state, text, at, &begin, 0, out, ROOM_BYTES / 2);
    if (begin < at || n_left == 0 || state.n_held_bytes || state.is_after_space) return 0;
    int64_t n_right = unitok_normalize_some(m->normalizer, &state, text, end, &at, 0, out + n_left, ROOM_BYTES - n_left);
    return n_right > 0 && cut_next(m->cuts, out, n_left - 1, n_left + n_right) == n_left;
}

/* The last point, from behind, where normalization and encoder both can be divided. Where nothing marks the beginning of
 * an item, unitok_normalize_split goes through the text from its start: so it gets the end of the text alone. */
static int64_t split_normalized(const unitok_model *m, const uint8_t *text, int64_t n_bytes)
{
    const unitok_normalizer *n = m->normalizer;
    if (unitok_normalizer_step_bytes(n) > ROOM_BYTES / 4) return 0;
    int64_t start = n_bytes > SPLIT_BYTES ? unitok_normalize_split(n, text, n_bytes - SPLIT_BYTES) : 0;
    text += start;
    int64_t end = unitok_normalize_split(n, text, n_bytes - start), at = end;
    for (int tries = 0; tries < SPLIT_TRIES && at > 0; tries++) {
        int64_t begin = at > CONTEXT_BYTES ? unitok_normalize_split(n, text, at - CONTEXT_BYTES) : 0;
        int64_t context_end = end - at > CONTEXT_BYTES ? unitok_normalize_split(n, text, at + CONTEXT_BYTES) : end;
        if (context_end > at && cut_between(m, text, begin, at, context_end)) return start + at;
        at = unitok_normalize_split(n, text, at - 1);
    }
    return 0;
}

int64_t unitok_split(const unitok_model *m, const uint8_t *text, int64_t n_bytes)
{
    if (m->whole) return 0;
    if (m->kind == UNITOK_KIND_LONGEST) {
        int64_t cut = cut_last(m->cuts, text, n_bytes);
        return cut ? cut : longest_settled(&m->longest, text, n_bytes);
    }
    if (!m->normalizer) return cut_last(m->cuts, text, n_bytes);
    return split_normalized(m, text, n_bytes);
}
