/* ngram_cut.c - cutting chunks into pieces by an n-gram model: the most probable way, by Viterbi
 *
 * The state is how many bytes of the piece precede the current one, order - 1 standing for all that are more; it is
 * how much the model looks back. With order 4:
 *
 *     state    0 ──▶ 1 ──▶ 2 ──▶ 3 ─┐       a byte more in the piece:
 *              ▲     │     │     │◀─┘       log P(byte | the state's bytes before it)
 *              └─────┴─────┴─────┘          a new piece: log P(byte)
 *
 * All sums and ties are as numpy computes them in bytepiece 0.6.3: float64, and of equal ones the lowest state. A
 * probability is the difference of two logarithms of counts, the second of which is the one before of the byte before:
 *
 *     byte       a      b      c
 *     logs[0]    a      b      c          log P(c | ab) = logs[2] here - logs[1] of the byte before
 *     logs[1]           ab     bc
 *     logs[2]                  abc
 */

#include <math.h>

#include "ground/alloc.h"
#include "ground/error.h"
#include "ground/packed.h"
#include "ground/utf8.h"
#include "train/chunks.h"
#include "train/counter.h"
#include "train/ngrams.h"

#define AT_ONCE 32 /* bytes whose n-grams are fetched together */
#define STATES_MAX UNITOK_NGRAM_MAX_ORDER
#define FROM_LAST 8 /* flag in a route: the last state comes from itself */

struct unitok_ngram_cutter {
    const unitok_ngram_model *model;
    unitok_counter *counter;
    const uint8_t *is_digit;
    int32_t flags;
    uint8_t routes[CHUNK_MAX_BYTES]; /* the state before state 0, and FROM_LAST */
};

int32_t unitok_ngram_cutter_new(const unitok_ngram_model *model, unitok_counter *counter, const uint8_t *is_digit,
                                int32_t flags, unitok_ngram_cutter **ret, unitok_error *error)
{
    if (model->n_passes != 2) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "the model is not complete");
    unitok_ngram_cutter *cutter = mem_zalloc(1, sizeof *cutter);
    if (!cutter) return fail_memory(error);
    cutter->model = model;
    cutter->counter = counter;
    cutter->is_digit = is_digit;
    cutter->flags = flags;
    *ret = cutter;
    return UNITOK_OK;
}

void unitok_ngram_cutter_free(unitok_ngram_cutter *cutter)
{
    mem_free(cutter);
}

INLINE double as_double(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Where the longer n-grams that end at text[begin..end-1] may be found; fetches them. */
INLINE void find_slots(const unitok_ngram_model *model, int order, const uint8_t *text, int64_t begin, int64_t end, uint64_t bytes,
                       int64_t slots[][STATES_MAX])
{
    for (int64_t i = begin; i < end; i++) {
        bytes = bytes << 8 | text[i];
        for (int n = 3; n <= order; n++) {
            int64_t slot = slots[i - begin][n - 1] = model_slot(model, ngram_key(bytes, n));
            PREFETCH(&model->slots[slot]);
        }
    }
}

/* The logarithms of the counts of the n-grams that end with the last of `bytes`, from one byte on; how many are known.
 * Where one is rare, so is every longer one. */
INLINE int find_logs(const unitok_ngram_model *model, int most, uint64_t bytes, const int64_t *slots, double *logs)
{
    logs[0] = as_double(model->few[bytes & 0xFF]);
    if (most < 2) return 1;
    logs[1] = as_double(model->few[FEW_PAIRS + (bytes & 0xFFFF)]);
    if (!(logs[1] >= 0)) return 1; /* the logarithm of 0 */
    for (int n = 3; n <= most; n++) {
        const ngram_entry *entry = model_find(model, ngram_key(bytes, n), slots[n - 1]);
        if (!entry) return n - 1;
        logs[n - 1] = as_double(entry->count);
    }
    return most;
}

/* scores[0] and the route to it, if a piece begins at a byte of this value. */
INLINE uint8_t begin_piece(const double *before, int order, double value, double *ret)
{
    double best = before[0] + value;
    uint8_t route = 0;
    for (int k = 1; k < order; k++) {
        double score = before[k] + value;
        if (score > best) {
            best = score;
            route = (uint8_t)k;
        }
    }
    *ret = best;
    return route;
}

/* The scores of all states at a byte from those before it; the route. known: how many of values[] are. */
INLINE uint8_t step(double *scores, int order, const double *values, int known, int may_begin, int is_mended)
{
    double before[STATES_MAX] = {0};
    uint8_t route = 0;
    for (int k = 0; k < order; k++) before[k] = scores[k];
    for (int k = 1; k < order; k++) scores[k] = k < known ? before[k - 1] + values[k] : -INFINITY;
    if (order > 1 && known == order) {
        double score = before[order - 1] + values[order - 1];
        if (score > scores[order - 1]) {
            scores[order - 1] = score;
            route = FROM_LAST;
        }
    }
    if (!may_begin && is_mended) {
        may_begin = 1;
        for (int k = 1; k < order; k++) may_begin &= scores[k] == -INFINITY;
    }
    if (may_begin) return route | begin_piece(before, order, values[0], &scores[0]);
    scores[0] = -INFINITY;
    return route;
}

static int count_route(unitok_ngram_cutter *cutter, const uint8_t *text, int64_t n_bytes, int order, const double *scores)
{
    int state = 0;
    for (int k = 1; k < order; k++)
        if (scores[k] > scores[state]) state = k;
    int64_t end = n_bytes;
    for (int64_t i = n_bytes - 1; i >= 0; i--) {
        int route = cutter->routes[i];
        if (state == 0) {
            if (counter_add(cutter->counter, text + i, end - i, 1) < 0) return 0;
            end = i;
            state = route & (FROM_LAST - 1);
        } else if (state < order - 1 || !(route & FROM_LAST)) {
            state--;
        }
    }
    return 1;
}

INLINE int cut_chunk(unitok_ngram_cutter *cutter, int order, const uint8_t *text, int64_t n_bytes)
{
    const unitok_ngram_model *model = cutter->model;
    int keeps_characters = cutter->flags & UNITOK_NGRAM_ENSURE_UNICODE, is_mended = cutter->flags & UNITOK_NGRAM_MENDED;
    int64_t slots[AT_ONCE][STATES_MAX];
    double scores[STATES_MAX], logs[2][STATES_MAX], values[STATES_MAX];
    uint64_t bytes = 0;
    scores[0] = 0;
    for (int k = 1; k < order; k++) scores[k] = -INFINITY;
    for (int64_t i = 0; i < n_bytes; i++) {
        if (i % AT_ONCE == 0) find_slots(model, order, text, i, i + AT_ONCE < n_bytes ? i + AT_ONCE : n_bytes, bytes, slots);
        bytes = bytes << 8 | text[i];
        double *now = logs[i & 1];
        const double *last = logs[~i & 1];
        int known = find_logs(model, i + 1 < order ? (int)i + 1 : order, bytes, slots[i % AT_ONCE], now);
        values[0] = now[0] - model->log_total;
        for (int k = 1; k < known; k++) values[k] = now[k] - last[k - 1];
        int may_begin = !keeps_characters || !is_continuation(text[i]);
        cutter->routes[i] = step(scores, order, values, known, may_begin, is_mended);
    }
    return count_route(cutter, text, n_bytes, order, scores);
}

static int cut_any(unitok_ngram_cutter *cutter, const uint8_t *text, int64_t n_bytes)
{
    return cut_chunk(cutter, cutter->model->order, text, n_bytes);
}

static int cut_by_6(unitok_ngram_cutter *cutter, const uint8_t *text, int64_t n_bytes)
{
    return cut_chunk(cutter, 6, text, n_bytes);
}

int32_t unitok_ngram_cutter_add(unitok_ngram_cutter *cutter, const uint8_t *data, const int64_t *offsets, int64_t n_docs,
                                int64_t max_bytes, unitok_cursor *cursor, unitok_error *error)
{
    const char *problem = check_offsets(offsets, n_docs);
    if (cursor->document < 0) problem = "the cursor is before the first document";
    if (problem) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, problem);
    int (*cut)(unitok_ngram_cutter *, const uint8_t *, int64_t) = cutter->model->order == 6 ? cut_by_6 : cut_any;
    const uint8_t *text;
    int64_t n_bytes;
    while (max_bytes > 0 && (n_bytes = next_chunk(data, offsets, n_docs, cutter->is_digit, cursor, &text)) > 0) {
        max_bytes -= n_bytes;
        if (!cut(cutter, text, n_bytes)) return fail_memory(error);
    }
    return UNITOK_OK;
}
