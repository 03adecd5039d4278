/* expect.c - the E-step of a Unigram model: how often each piece is expected over all ways to make up the units
 *
 *   forward    alpha(k)  = sum over edges j -> k of alpha(j) * p(edge)
 *   backward   beta(j)   = sum over edges j -> k of p(edge) * beta(k)
 *   expected   += count * alpha(j) * p(edge) * beta(k) / alpha(end)
 *
 * Two forms. In probabilities, for our own mode: one multiplication and one addition an edge, in float64; numbers that
 * become too small are scaled by 2^256, and how often is kept with the position. And in logarithms of float32, step by
 * step as sentencepiece 0.2.3 computes them with one thread, to the last bit.
 *
 * Expected counts of the first form are sums of integers, multiples of 1 / unit, so that they are the same in whatever
 * order and by however many threads they are added.
 */

#include <math.h>

#include "train/lexicon.h"

#define SCALE 0x1p256
#define SCALE_BELOW 0x1p-256
#define SCALE_UP_TO 0x1p300

typedef struct cell {
    double alpha, beta;
    int32_t exponent; /* alpha is this number times 2^(-256 exponent) */
} cell;

/* Multiplies the numbers of positions at..at + window, which are all that are still needed, by SCALE. 0, and nothing is
 * done, where one of them is so large already that what is small beside it counts for nothing. */
static int scale(cell *cells, int64_t at, int64_t n_bytes, int64_t window, int is_beta)
{
    int64_t end = at + window < n_bytes ? at + window : n_bytes;
    for (int64_t i = at; i <= end; i++)
        if ((is_beta ? cells[i].beta : cells[i].alpha) > SCALE_UP_TO) return 0;
    for (int64_t i = at; i <= end; i++) {
        if (is_beta) cells[i].beta *= SCALE;
        else cells[i].alpha *= SCALE;
    }
    return 1;
}

/* Fills alpha; returns log(alpha(end)). */
static double forward(const unitok_lattice *lattice, const double *p, double p_unknown, int64_t n_bytes, int64_t window)
{
    cell *cells = lattice->cells;
    int32_t exponent = 0;
    for (int64_t i = 0; i <= n_bytes; i++) cells[i] = (cell){0, 0, 0};
    cells[0].alpha = 1;
    for (int64_t at = 0; at <= n_bytes; at++) {
        double alpha = cells[at].alpha;
        if (alpha == 0) continue; /* inside a character */
        while (UNLIKELY(alpha < SCALE_BELOW) && scale(cells, at, n_bytes, window, 0)) {
            alpha = cells[at].alpha;
            exponent++;
        }
        cells[at].exponent = exponent;
        if (at == n_bytes) break;
        for (uint32_t k = lattice->first[at]; k < lattice->first[at + 1]; k++) {
            edge e = lattice->edges[k];
            cells[e.end].alpha += alpha * (e.piece == EDGE_UNKNOWN ? p_unknown : p[e.piece]);
        }
    }
    return log(cells[n_bytes].alpha) - 256 * 0.69314718055994530942 * exponent;
}

/* Fills beta from the end and adds to expected[] what the edges are expected to be used. */
static void backward(const unitok_lattice *lattice, const double *p, double p_unknown, int64_t n_bytes, int64_t window,
                     double weight, uint64_t *expected)
{
    cell *cells = lattice->cells;
    int32_t exponent = 0, whole = cells[n_bytes].exponent;
    double share = weight / cells[n_bytes].alpha;
    cells[n_bytes].beta = 1;
    for (int64_t at = n_bytes - 1; at >= 0; at--) {
        double alpha = cells[at].alpha * share, beta = 0;
        if (alpha == 0) continue;
        int32_t off = whole - cells[at].exponent - exponent;
        if (UNLIKELY(off != 0)) alpha = ldexp(alpha, 256 * off);
        for (uint32_t k = lattice->first[at]; k < lattice->first[at + 1]; k++) {
            edge e = lattice->edges[k];
            if (e.piece == EDGE_UNKNOWN) {
                beta += p_unknown * cells[e.end].beta;
                continue;
            }
            double part = p[e.piece] * cells[e.end].beta;
            beta += part;
            double times = alpha * part;
            expected[e.piece] += (uint64_t)((times < weight ? times : weight) + 0.5); /* over it only by rounding */
        }
        cells[at].beta = beta;
        while (UNLIKELY(cells[at].beta < SCALE_BELOW) && scale(cells, at, n_bytes, window, 1)) exponent++;
    }
}

int32_t unitok_unigram_expect(const unitok_lexicon *lexicon, unitok_lattice *lattice, const uint8_t *alive, const double *p,
                              double p_unknown, const uint8_t *data, const int64_t *offsets, const uint64_t *counts, int64_t n_units,
                              double unit, uint64_t *expected, double *ret_log_likelihood)
{
    double total = 0;
    int64_t window = lexicon->max_piece_bytes > 4 ? lexicon->max_piece_bytes : 4;
    for (int64_t i = 0; i < n_units; i++) {
        int64_t n_bytes = offsets[i + 1] - offsets[i];
        if (n_bytes == 0) continue;
        if (!lattice_fill(lattice, lexicon, alive, data + offsets[i], n_bytes)) return UNITOK_ERROR_MEMORY;
        total += (double)counts[i] * forward(lattice, p, p_unknown, n_bytes, window);
        backward(lattice, p, p_unknown, n_bytes, window, (double)counts[i] * unit, expected);
    }
    *ret_log_likelihood += total;
    return UNITOK_OK;
}

/* ------------------------------------------------------------------------------------- As sentencepiece ---- */

/* log(exp(a) + exp(b)), by the same steps: float32 sums, float64 functions; the larger alone if 50 apart. A polynomial gives
 * the functions nearly; where that leaves open which float32 is nearest, they are called. */
INLINE float log_sum(const struct log_terms *logs, float a, float b)
{
    float low = a < b ? a : b, high = a < b ? b : a, d = high - low;
    if (high > low + 50) return high;
    /* The second term is below half of the first one's last place: it would be rounded away. */
    if (d > 15 && (d > 19 ? high > 1 || high < -1 : high < -8)) return high;
    if (LIKELY(d < LOG_SPAN)) {
        int step = (int)(d * LOG_STEPS);
        const double *c = logs[step].of;
        double t = d - (step + 0.5) / LOG_STEPS, square = t * t;
        double sum = high + ((c[0] + c[1] * t) + square * (c[2] + c[3] * t + c[4] * square));
        float nearest = (float)(sum - LOG_ERROR);
        if (LIKELY(nearest == (float)(sum + LOG_ERROR))) return nearest;
    }
    return (float)(high + log1p(exp((double)(low - high))));
}

typedef struct exact_cell {
    float alpha, beta;
    int32_t has_alpha;
} exact_cell;

static void expect_exact(unitok_lattice *lattice, const float *scores, float unknown_score, int64_t unknown_piece,
                         int64_t n_bytes, float count, float *expected)
{
    exact_cell *cells = lattice->cells;
    const struct log_terms *logs = lattice->logs;
    for (int64_t i = 0; i <= n_bytes; i++) cells[i].has_alpha = 0;
    cells[0] = (exact_cell){0, 0, 1};
    for (int64_t at = 0; at < n_bytes; at++) {
        for (uint32_t k = lattice->first[at]; k < lattice->first[at + 1]; k++) {
            edge e = lattice->edges[k];
            float term = (e.piece == EDGE_UNKNOWN ? unknown_score : scores[e.piece]) + cells[at].alpha;
            exact_cell *end = &cells[e.end];
            end->alpha = end->has_alpha ? log_sum(logs, end->alpha, term) : term;
            end->has_alpha = 1;
        }
    }
    float whole = cells[n_bytes].alpha;
    cells[n_bytes].beta = 0;
    for (int64_t at = n_bytes - 1; at >= 0; at--) {
        float beta = 0;
        for (uint32_t k = lattice->first[at]; k < lattice->first[at + 1]; k++) {
            edge e = lattice->edges[k];
            float term = (e.piece == EDGE_UNKNOWN ? unknown_score : scores[e.piece]) + cells[e.end].beta;
            beta = k > lattice->first[at] ? log_sum(logs, beta, term) : term;
        }
        cells[at].beta = beta;
    }
    for (int64_t at = 0; at < n_bytes; at++) {
        for (uint32_t k = lattice->first[at]; k < lattice->first[at + 1]; k++) {
            edge e = lattice->edges[k];
            int is_unknown = e.piece == EDGE_UNKNOWN;
            if (is_unknown && unknown_piece < 0) continue;
            float score = cells[at].alpha + (is_unknown ? unknown_score : scores[e.piece]);
            score = score + cells[e.end].beta;
            score = score - whole;
            float *sum = &expected[is_unknown ? unknown_piece : (int64_t)e.piece];
            /* exp(-12) and exp(-20) times the count, if that is below half of the sum's last place, change nothing. */
            if (score < -12 && count * (score < -20 ? 2.1e-9f : 6.2e-6f) < *sum * 2.9e-8f) continue;
            *sum = (float)(*sum + count * exp((double)score));
        }
    }
}

int32_t unitok_unigram_expect_exact(const unitok_lexicon *lexicon, unitok_lattice *lattice, const uint8_t *alive,
                                    const float *scores, float unknown_score, int64_t unknown_piece, const uint8_t *data,
                                    const int64_t *offsets, const uint64_t *counts, int64_t n_units, float *expected)
{
    for (int64_t i = 0; i < n_units; i++) {
        int64_t n_bytes = offsets[i + 1] - offsets[i];
        if (n_bytes == 0) continue;
        if (!lattice_fill(lattice, lexicon, alive, data + offsets[i], n_bytes)) return UNITOK_ERROR_MEMORY;
        expect_exact(lattice, scores, unknown_score, unknown_piece, n_bytes, (float)counts[i], expected);
    }
    return UNITOK_OK;
}
