/* ngram_cut.c - cuts chunks into the most probable pieces under an n-gram model, by Viterbi
 *
 * The state is the number of bytes of the piece before the current byte, which is how far the model
 * looks back; order - 1 also stands for all larger numbers. With order 4:
 *
 *     state    0 ──▶ 1 ──▶ 2 ──▶ 3 ─┐       one byte more in the piece:
 *              ▲     │     │     │◀─┘       log P(byte | the state's bytes before it)
 *              └─────┴─────┴─────┘          a new piece: log P(byte)
 *
 * Sums and ties are the same as with numpy in bytepiece 0.6.3: sums are float64, and of several
 * states with equal sums the lowest wins. A probability is the difference of two logarithms of
 * counts, the second of which was looked up at the previous byte:
 *
 *     byte       a      b      c
 *     logs[0]    a      b      c          log P(c | ab) = logs[2] here - logs[1] of the byte before
 *     logs[1]           ab     bc
 *     logs[2]                  abc
 *
 * The model is larger than the caches, so 32 bytes are looked up together: first all slots are
 * prefetched, then all counts are read, and then all values are computed. */

#include <math.h>

#include "ground/alloc.h"
#include "ground/error.h"
#include "ground/packed.h"
#include "ground/utf8.h"
#include "train/chunks.h"
#include "train/counter.h"
#include "train/ngrams.h"

#define AT_ONCE 32 /* bytes whose n-grams are looked up together */
#define STATES_MAX UNITOK_NGRAM_MAX_ORDER
#define FROM_LAST 8 /* in a route: the last state follows itself */

/* The memory of one thread that cuts chunks. It contains the routes of the longest possible chunk:
 * Viterbi needs to remember only one byte per byte of text. */
struct unitok_ngram_cutter {
    const unitok_ngram_model *model;
    unitok_counter *counter;
    const uint8_t *is_digit;
    int32_t flags;
    uint8_t routes[CHUNK_MAX_BYTES]; /* the state before state 0, and FROM_LAST */
};

/* The model is shared by all threads; the counter belongs to one. is_digit must be the table with
 * which the n-grams were counted. */
int32_t unitok_ngram_cutter_new(const unitok_ngram_model *model, unitok_counter *counter,
                                const uint8_t *is_digit, int32_t flags, unitok_ngram_cutter **ret,
                                unitok_error *error)
{
    if (model->n_passes != 2)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "the model is not complete");
    unitok_ngram_cutter *cutter = mem_zalloc(1, sizeof *cutter);
    if (!cutter) return fail_memory(error);
    cutter->model = model;
    cutter->counter = counter;
    cutter->is_digit = is_digit;
    cutter->flags = flags;
    *ret = cutter;
    return UNITOK_OK;
}

void unitok_ngram_cutter_free(unitok_ngram_cutter *cutter) { mem_free(cutter); }

/* A stretch of a text. For each of its bytes, [n - 1] belongs to the n-gram of n bytes that ends
 * there. */
typedef struct stretch {
    int64_t n_bytes;
    int n_known;                          /* no known n-gram that ends at the last byte is longer */
    int64_t slots[AT_ONCE][STATES_MAX];   /* where the search for the n-gram begins */
    uint16_t counts[AT_ONCE][STATES_MAX]; /* the count as in its slot; 0: the n-gram is unknown */
    /* logarithms of the counts, starting at the byte before the stretch */
    double logs[1 + AT_ONCE][STATES_MAX];
    /* log P(last byte | the bytes before it); -INFINITY: unknown */
    double values[AT_ONCE][STATES_MAX];
} stretch;

/* The first round: computes the slot where each search of the next round begins, and prefetches it.
 */
INLINE void find_slots(const unitok_ngram_model *model, int order, const uint8_t *text,
                       uint64_t bytes, stretch *s)
{
    for (int64_t i = 0; i < s->n_bytes; i++) {
        bytes = bytes << 8 | text[i];
        for (int n = 3; n <= order; n++) {
            const ngram_slots *table = &model->of[n];
            int64_t at = s->slots[i][n - 1] = model_slot(table->n_slots, ngram_slot(bytes, n));
            PREFETCH(&table->slots[at]);
        }
    }
}

/* Reads the counts. If an n-gram is unknown, so is every longer n-gram that begins or ends with it.
 * Therefore, the n-grams that end at the next byte can be at most one byte longer. Searches that
 * cannot succeed are skipped, which saves most lookups in text that the model hardly knows. */
INLINE void find_counts(const unitok_ngram_model *model, int order, const uint8_t *text,
                        uint64_t bytes, stretch *s)
{
    int n_known = s->n_known;
    for (int64_t i = 0; i < s->n_bytes; i++) {
        int most = n_known + 1;
        /* Pairs have a separate table, which is read in find_values. */
        n_known = most < 2 ? most : 2;
        bytes = bytes << 8 | text[i];
        for (int n = 3; n <= order; n++) s->counts[i][n - 1] = 0;
        for (int n = 3; n <= order && n <= most; n++) {
            uint64_t count = model_find(model, n, ngram_slot(bytes, n), s->slots[i][n - 1]);
            if (count == 0) break;
            s->counts[i][n - 1] = (uint16_t)count;
            n_known = n;
        }
    }
    s->n_known = n_known;
}

/* The last round: logarithms and their differences. Bytes and pairs are always looked up; an
 * unknown n-gram has the value -INFINITY, which no path takes. */
INLINE void find_values(const unitok_ngram_model *model, int order, const uint8_t *text,
                        int64_t n_before, uint64_t bytes, stretch *s)
{
    for (int64_t i = 0; i < s->n_bytes; i++) {
        const uint16_t *counts = s->counts[i];
        const double *last = s->logs[i];
        double *now = s->logs[i + 1], *values = s->values[i];
        bytes = bytes << 8 | text[i];
        now[0] = as_double(model->few[bytes & 0xFF]);
        values[0] = now[0] - model->log_total;
        if (order > 1) {
            now[1] = n_before + i ? as_double(model->few[FEW_PAIRS + (bytes & 0xFFFF)]) : -INFINITY;
            values[1] = now[1] - last[0];
        }
        for (int n = 3; n <= order; n++) {
            now[n - 1] = model->logs[counts[n - 1]];
            if (UNLIKELY(counts[n - 1] == model_most(n)))
                now[n - 1] = model_large_log(model, ngram_slot(bytes, n) | (uint64_t)n);
            values[n - 1] = counts[n - 1] ? now[n - 1] - last[n - 2] : -INFINITY;
        }
    }
}

/* Computes the scores of all states at a byte from those at the previous byte, and returns the
 * route. A piece that begins here follows the best previous state, or the first of several equal
 * ones. The sum from state 0 is compared last, because it is known last. With LENIENT, a piece may
 * begin inside a character if no piece can continue there, because the text would otherwise have no
 * path. */
INLINE uint8_t step(double *scores, int order, const double *value, int may_begin, int is_lenient)
{
    /* From state k - 1 to k the piece grows by a byte. The last state also follows itself. */
    double before[STATES_MAX] = {0}, sums[STATES_MAX] = {0};
    uint8_t route = 0;
    for (int k = 0; k < order; k++) before[k] = scores[k];
    for (int k = 1; k < order; k++) scores[k] = before[k - 1] + value[k];
    if (order > 1) {
        double score = before[order - 1] + value[order - 1];
        if (score > scores[order - 1]) route = FROM_LAST;
        scores[order - 1] = score > scores[order - 1] ? score : scores[order - 1];
    }
    if (!may_begin && is_lenient) {
        may_begin = 1;
        for (int k = 1; k < order; k++) may_begin &= scores[k] == -INFINITY;
    }
    if (!may_begin) {
        scores[0] = -INFINITY;
        return route;
    }
    for (int k = 0; k < order; k++) sums[k] = before[k] + value[0];
    /* A new piece may follow any state. Of equal sums, the sum of the lowest state is taken; bit
     * operations find it without a branch. */
    double best = sums[order - 1];
    for (int k = order - 2; k >= 0; k--) best = sums[k] > best ? sums[k] : best;
    uint64_t is_best = UINT64_C(1) << (order - 1);
    for (int k = 0; k < order - 1; k++) is_best |= (uint64_t)(sums[k] == best) << k;
    scores[0] = best;
    return route | (uint8_t)lowest_bit(is_best);
}

/* Follows the routes from the end. In state 0 a piece begins: it ends where the next one begins. In
 * the last state, the route tells whether the previous state was the last one, too. */
static int count_route(unitok_ngram_cutter *cutter, const uint8_t *text, int64_t n_bytes, int order,
                       const double *scores)
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
    /* Text is left over only if the tables of the model are damaged. */
    return end == 0 || counter_add(cutter->counter, text, end, 1) >= 0;
}

/* Inlined, so that the loops over states are unrolled where the order is a constant. */
INLINE int cut_chunk(unitok_ngram_cutter *cutter, int order, const uint8_t *text, int64_t n_bytes)
{
    const unitok_ngram_model *model = cutter->model;
    int keeps_characters = cutter->flags & UNITOK_NGRAM_ENSURE_UNICODE,
        is_lenient = cutter->flags & UNITOK_NGRAM_LENIENT;
    double scores[STATES_MAX];
    uint64_t bytes = 0;
    stretch s;
    s.n_known = 0;
    scores[0] = s.logs[0][0] = 0;
    for (int k = 1; k < order; k++) scores[k] = s.logs[0][k] = -INFINITY;
    for (int64_t begin = 0; begin < n_bytes; begin += AT_ONCE) {
        /* One stretch: three rounds of lookups, then the states byte by byte. */
        s.n_bytes = begin + AT_ONCE < n_bytes ? AT_ONCE : n_bytes - begin;
        find_slots(model, order, text + begin, bytes, &s);
        find_counts(model, order, text + begin, bytes, &s);
        find_values(model, order, text + begin, begin, bytes, &s);
        for (int64_t i = 0; i < s.n_bytes; i++) {
            /* With ENSURE_UNICODE no piece begins inside a character. */
            int may_begin = !keeps_characters || !is_continuation(text[begin + i]);
            cutter->routes[begin + i] = step(scores, order, s.values[i], may_begin, is_lenient);
            bytes = bytes << 8 | text[begin + i];
        }
        memcpy(s.logs[0], s.logs[s.n_bytes], sizeof s.logs[0]);
    }
    return count_route(cutter, text, n_bytes, order, scores);
}

/* BytePiece's usual order is 6, for which there is a separate instance. */
static int cut_any(unitok_ngram_cutter *cutter, const uint8_t *text, int64_t n_bytes)
{
    return cut_chunk(cutter, cutter->model->order, text, n_bytes);
}

static int cut_by_6(unitok_ngram_cutter *cutter, const uint8_t *text, int64_t n_bytes)
{
    return cut_chunk(cutter, 6, text, n_bytes);
}

/* Texts are cut chunk by chunk until about max_bytes are done; the cursor records where to resume.
 */
int32_t unitok_ngram_cutter_add(unitok_ngram_cutter *cutter, const uint8_t *data,
                                const int64_t *offsets, int64_t n_docs, int64_t max_bytes,
                                unitok_cursor *cursor, unitok_error *error)
{
    const char *problem = check_offsets(offsets, n_docs);
    if (cursor->document < 0) problem = "the cursor is before the first document";
    if (problem) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, problem);
    int (*cut)(unitok_ngram_cutter *, const uint8_t *,
               int64_t) = cutter->model->order == 6 ? cut_by_6 : cut_any;
    const uint8_t *text;
    int64_t n_bytes;
    while (max_bytes > 0 &&
           (n_bytes = next_chunk(data, offsets, n_docs, cutter->is_digit, cursor, &text)) > 0) {
        max_bytes -= n_bytes;
        if (!cut(cutter, text, n_bytes)) return fail_memory(error);
    }
    return UNITOK_OK;
}
