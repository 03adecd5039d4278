/* expect.c - computes the E-step of a Unigram model: the expected number of uses of each piece,
 * over all ways to compose the units from pieces
 *
 *     forward    alpha(k)  = sum over edges j -> k of alpha(j) * p(edge)
 *     backward   beta(j)   = sum over edges j -> k of p(edge) * beta(k)
 *     expected   += count * alpha(j) * p(edge) * beta(k) / alpha(end)
 *
 * There are two forms:
 *
 * - In probabilities, for training that need not match sentencepiece: one multiplication and one
 *   addition per edge, in float64. Numbers that become too small are scaled by 2^256, and each
 *   position stores the number of scalings. Expected counts are sums of integers, in units of 1 /
 *   `unit`, so they do not depend on the order in which threads add them.
 * - In logarithms of float32, step by step as sentencepiece 0.2.3 computes them with one thread, to
 *   the last bit. This form needs log(exp a + exp b) for each edge. Polynomials approximate these
 *   functions with a known error, and libm is called only if, within that error, two float32 values
 *   could be the nearest.
 *
 * alpha is kept for the bytes that a unit shares with the previous unit. The backward pass links
 * the edges that start at each position, nearest end first, except that unknown edges come last, as
 * in sentencepiece.
 *
 * The unit "aba" with p(a) = 0.4, p(b) = 0.2, p(ab) = 0.3 and p(ba) = 0.1:
 *
 *     position    0         1         2         3
 *     alpha       1         0.4       0.38      0.192        0.38 = 1 * p(ab) + 0.4 * p(b)
 *     beta        0.192     0.18      0.4       1            0.18 = p(b) * 0.4 + p(ba) * 1
 *
 *     expected    a 0.375 + 0.792, b 0.167, ab 0.625, ba 0.208
 *
 * At each position exactly one piece covers the next byte, so the expected counts of the edges that
 * cross it add up to 1: 0.375 + 0.625 for the first byte. */

#include <math.h>

#include "train/lattice.h"

#define SCALE 0x1p256
#define SCALE_BELOW 0x1p-256
#define SCALE_UP_TO 0x1p300

/* A position of the lattice in probabilities. exponent is stored for alpha only: beta is never read
 * again after its unit. */
typedef struct cell {
    double alpha, beta;
    int32_t exponent; /* the true value is alpha * 2^(-256 * exponent) */
} cell;

/* Multiplies alpha by SCALE at positions at - window..at, the only ones that later positions will
 * read. Does nothing and returns 0 if one of these alphas is already so large that the small ones
 * are negligible. Only positions within the length of the longest piece are read again, so only
 * these must have one common scale. */
static int scale_alpha(cell *cells, int64_t at, int64_t window)
{
    int64_t begin = at > window ? at - window : 0;
    for (int64_t i = begin; i <= at; i++)
        if (cells[i].alpha > SCALE_UP_TO) return 0;
    for (int64_t i = begin; i <= at; i++) {
        cells[i].alpha *= SCALE;
        cells[i].exponent++;
    }
    return 1;
}

/* Like scale_alpha, for beta at positions at..at + window. beta needs no exponent per position,
 * because betas outside the window are never read again. */
static int scale_beta(cell *cells, int64_t at, int64_t n_bytes, int64_t window)
{
    int64_t end = at + window < n_bytes ? at + window : n_bytes;
    for (int64_t i = at; i <= end; i++)
        if (cells[i].beta > SCALE_UP_TO) return 0;
    for (int64_t i = at; i <= end; i++) cells[i].beta *= SCALE;
    return 1;
}

/* Computes alpha after the first `shared` bytes; returns log(alpha(end)). The earlier alphas are
 * those of the previous unit, which has the same edges there. The exponent of a position is the
 * number of times its alpha has been scaled, so the final logarithm can be corrected for scaling.
 */
static double forward(const unitok_lattice *lattice, int64_t shared, int64_t window)
{
    cell *cells = lattice->cells;
    const edge *edges = lattice->edges;
    const double *p = lattice->scores;
    cells[0].alpha = 1;
    cells[0].exponent = 0;
    int32_t exponent = 0;
    for (int64_t at = shared + 1; at <= lattice->n_bytes; at++) {
        double alpha = 0;
        for (uint32_t k = lattice->edge_begin[at]; k < lattice->edge_begin[at + 1]; k++)
            alpha += cells[edges[k].start].alpha * p[k];
        cells[at].alpha = alpha;
        cells[at].exponent = exponent;
        if (alpha == 0) continue; /* inside a character */
        while (UNLIKELY(cells[at].alpha < SCALE_BELOW) && scale_alpha(cells, at, window))
            exponent++;
    }
    return log(cells[lattice->n_bytes].alpha) - 256 * 0.69314718055994530942 * exponent;
}

/* Computes beta from the end, and adds the expected number of uses of each edge to expected[].
 * alpha and beta are scaled independently. `off` is the difference between the exponent of their
 * product and that of alpha(end), and is 0 unless the unit is long or its pieces improbable.
 * Unknown edges add to beta but to no count, because they are not pieces. */
static void backward(unitok_lattice *lattice, int64_t window, double weight, uint64_t *expected)
{
    cell *cells = lattice->cells;
    const edge *edges = lattice->edges;
    const double *p = lattice->scores;
    int64_t n_bytes = lattice->n_bytes;
    int32_t exponent = 0, total = cells[n_bytes].exponent;
    /* Dividing by alpha(end) makes the sum over all paths the weight of the unit. */
    double share = weight / cells[n_bytes].alpha;
    lattice_unlink(lattice);
    cells[n_bytes].beta = 1;
    for (int64_t at = n_bytes - 1; at >= 0; at--) {
        lattice_link(lattice, at + 1);
        double alpha = cells[at].alpha * share, beta = 0;
        cells[at].beta = 0; /* scale_beta reads it, inside characters too */
        if (alpha == 0) continue;
        /* The scales of alpha, beta and alpha(end) differ if one of them was scaled in between. */
        int32_t off = total - cells[at].exponent - exponent;
        if (UNLIKELY(off != 0)) alpha = ldexp(alpha, 256 * off);
        for (uint32_t k = lattice->out[at]; k != EDGE_NONE; k = edges[k].next) {
            double part = p[k] * cells[edges[k].end].beta, times = alpha * part;
            beta += part;
            /* Only rounding can make `times` larger than the weight. */
            expected[edges[k].piece] += (uint64_t)((times < weight ? times : weight) + 0.5);
        }
        uint32_t unknown = lattice->unknown[at];
        if (UNLIKELY(unknown != EDGE_NONE)) beta += p[unknown] * cells[edges[unknown].end].beta;
        cells[at].beta = beta;
        while (UNLIKELY(cells[at].beta < SCALE_BELOW) && scale_beta(cells, at, n_bytes, window))
            exponent++;
    }
}

/* Nothing is reused after a unit whose alphas were scaled, because these are valid only with the
 * exponents of that unit. */
int32_t unitok_unigram_expect(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                              unitok_edges *record, const double *p, double p_unknown,
                              const unitok_units *units, double unit, uint64_t *expected,
                              double *ret_log_likelihood)
{
    double total = 0;
    int64_t window = lexicon->max_piece_bytes > 4 ? lexicon->max_piece_bytes : 4;
    int was_scaled = 0;
    lattice_begin(lattice, record, lexicon);
    for (int64_t i = 0; i < units->n; i++) {
        int64_t n_bytes = units->offsets[i + 1] - units->offsets[i];
        if (n_bytes == 0) continue;
        int64_t shared = lattice_fill_f64(lattice, lexicon, p, 0, p_unknown,
                                          units->data + units->offsets[i], n_bytes);
        if (shared < 0) return UNITOK_ERROR_MEMORY;
        total += (double)units->counts[i] * forward(lattice, was_scaled ? 0 : shared, window);
        backward(lattice, window, (double)units->counts[i] * unit, expected);
        was_scaled = ((const cell *)lattice->cells)[n_bytes].exponent != 0;
    }
    lattice_end(lattice);
    *ret_log_likelihood += total;
    return UNITOK_OK;
}

/* ------------------------------------------------------------------------ As sentencepiece ---- */

/* The bits of a float. An index is extracted from them without a conversion. */
INLINE uint32_t float_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* log(exp(a) + exp(b)), computed as in sentencepiece: float32 sums, float64 functions, and just the
 * larger number if the two are more than 50 apart. Not inlined, because it is rarely called and
 * would make the loops large. */
static NOINLINE float log_sum_by_libm(float a, float b)
{
    float low = a < b ? a : b, high = a < b ? b : a;
    if (high > low + 50) return high;
    /* The second term is less than half a unit in the last place of the first, so rounding would
     * remove it. */
    if (high - low >= LOG_SPAN && (high > 1 || high < -1)) return high;
    return (float)(high + log1p(exp((double)(low - high))));
}

/* Computes the same sum with a polynomial. If both ends of the error interval round to the same
 * float32, that is the result; otherwise libm decides. Rounding to the nearest step by adding and
 * subtracting `round` needs no conversion to an integer, and the low bits of the sum are the index
 * of the step.
 */
INLINE float log_sum(const struct log_terms *logs, float a, float b)
{
    /* Adding this number to a small one and subtracting it again rounds to an integer. */
    const float round = 0x1.8p23f;
    float high = a < b ? b : a, d = fabsf(a - b);
    if (UNLIKELY(d >= LOG_SPAN)) return log_sum_by_libm(a, b);
    /* d is between 0 and LOG_SPAN, so the index is within the table. */
    float step = d * LOG_STEPS + round;
    double t = d - (step - round) * (1.0f / LOG_STEPS), square = t * t;
    const double *c = logs[float_bits(step) - float_bits(round)].of;
    double sum = high + ((c[0] + c[1] * t) + square * (c[2] + c[3] * t + c[4] * square));
    float nearest = (float)(sum - LOG_ERROR);
    if (LIKELY(nearest == (float)(sum + LOG_ERROR))) return nearest;
    return log_sum_by_libm(a, b);
}

/* sum + count * exp(score), with the product and the sum in float64; computed in the same way as
 * log_sum. It uses exp(x) = 2^(step / EXP_STEPS) * exp(rest): a table gives the fractional power,
 * the integer part is added to the exponent bits, and a polynomial gives exp(rest). */
INLINE float add_exp(const double *powers, float sum, float count, float score)
{
    const double round = 0x1.8p52;
    if (UNLIKELY(score < -80)) return (float)(sum + count * exp((double)score));
    double step = score * (EXP_STEPS * 1.4426950408889634) + round;
    double t = score - (step - round) * (0.69314718055994531 / EXP_STEPS);
    int64_t bits, power;
    memcpy(&bits, &step, sizeof bits);
    bits -= INT64_C(0x4338000000000000); /* the bits of `round` */
    memcpy(&power, &powers[bits & (EXP_STEPS - 1)], sizeof power);
    power += (bits >> EXP_BITS) * (INT64_C(1) << 52);
    double e;
    memcpy(&e, &power, sizeof e);
    double exact = sum + count * (e + e * (t + t * t * (0.5 + t * (1.0 / 6) + t * t * (1.0 / 24))));
    float nearest = (float)(exact * (1 - EXP_ERROR));
    if (LIKELY(nearest == (float)(exact * (1 + EXP_ERROR)))) return nearest;
    return (float)(sum + count * exp((double)score));
}

/* A position of the lattice in logarithms, in float32 as in sentencepiece. */
typedef struct exact_cell {
    float alpha, beta;
} exact_cell;

/* Sums are computed edge by edge in sentencepiece's order, because float32 sums depend on the
 * order. */
static void exact_forward(const unitok_lattice *lattice, int64_t shared)
{
    exact_cell *cells = lattice->cells;
    const edge *edges = lattice->edges;
    const float *scores = lattice->scores;
    const struct log_terms *logs = lattice->logs;
    cells[0].alpha = 0;
    for (int64_t at = shared + 1; at <= lattice->n_bytes; at++) {
        uint32_t k = lattice->edge_begin[at], end = lattice->edge_begin[at + 1];
        if (k == end) continue; /* inside a character */
        float alpha = scores[k] + cells[edges[k].start].alpha;
        for (k++; k < end; k++)
            alpha = log_sum(logs, alpha, scores[k] + cells[edges[k].start].alpha);
        cells[at].alpha = alpha;
    }
}

/* The edges that leave a position are added in the order in which sentencepiece inserts them: the
 * shortest first, and an unknown edge last. Position 0 needs no beta. */
static void exact_backward(unitok_lattice *lattice)
{
    exact_cell *cells = lattice->cells;
    const edge *edges = lattice->edges;
    const float *scores = lattice->scores;
    const struct log_terms *logs = lattice->logs;
    lattice_unlink(lattice);
    cells[lattice->n_bytes].beta = 0;
    lattice_link(lattice, lattice->n_bytes);
    for (int64_t at = lattice->n_bytes - 1; at > 0; at--) {
        uint32_t unknown = lattice->unknown[at],
                 first = lattice->out[at] != EDGE_NONE ? lattice->out[at] : unknown;
        if (first == EDGE_NONE) continue; /* inside a character */
        float beta = scores[first] + cells[edges[first].end].beta;
        for (uint32_t k = edges[first].next; k != EDGE_NONE; k = edges[k].next)
            beta = log_sum(logs, beta, scores[k] + cells[edges[k].end].beta);
        if (UNLIKELY(unknown != EDGE_NONE && unknown != first))
            beta = log_sum(logs, beta, scores[unknown] + cells[edges[unknown].end].beta);
        cells[at].beta = beta;
        lattice_link(lattice, at);
    }
}

/* Adds the expected number of uses of an edge to *sum. An edge is skipped if it is so improbable
 * that the float32 sum would not change: the count times exp(-12), or times exp(-20) for scores
 * below -20, is less than half a unit in the last place of the sum. The shortcut is exact: it skips
 * only additions that would round to the same sum. */
INLINE void exact_add(const double *powers, const exact_cell *cells, const edge *e, float score,
                      float total, float count, float *sum)
{
    score = cells[e->start].alpha + score;
    score = score + cells[e->end].beta;
    score = score - total;
    if (score < -12 && count * (score < -20 ? 2.1e-9f : 6.2e-6f) < *sum * 2.9e-8f) return;
    *sum = add_exp(powers, *sum, count, score);
}

/* Visits the positions and their edges in the same order as sentencepiece, because each expected
 * count is a float32 sum of very many terms. */
static void exact_count(const unitok_lattice *lattice, int64_t unknown_piece, float count,
                        float *expected)
{
    const exact_cell *cells = lattice->cells;
    const edge *edges = lattice->edges;
    const float *scores = lattice->scores;
    float total = cells[lattice->n_bytes].alpha;
    for (int64_t at = 0; at < lattice->n_bytes; at++) {
        uint32_t unknown = lattice->unknown[at];
        for (uint32_t k = lattice->out[at]; k != EDGE_NONE; k = edges[k].next)
            exact_add(lattice->powers, cells, &edges[k], scores[k], total, count,
                      &expected[edges[k].piece]);
        if (UNLIKELY(unknown != EDGE_NONE) && unknown_piece >= 0)
            exact_add(lattice->powers, cells, &edges[unknown], scores[unknown], total, count,
                      &expected[unknown_piece]);
    }
}

/* One thread must call this for all units in order: float32 sums of parts do not add up to the same
 * result. */
int32_t unitok_unigram_expect_exact(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                                    unitok_edges *record, const float *scores, float unknown_score,
                                    int64_t unknown_piece, const unitok_units *units,
                                    float *expected)
{
    lattice_begin(lattice, record, lexicon);
    for (int64_t i = 0; i < units->n; i++) {
        int64_t n_bytes = units->offsets[i + 1] - units->offsets[i];
        if (n_bytes == 0) continue;
        int64_t shared = lattice_fill_f32(lattice, lexicon, scores, -INFINITY, unknown_score,
                                          units->data + units->offsets[i], n_bytes);
        if (shared < 0) return UNITOK_ERROR_MEMORY;
        exact_forward(lattice, shared);
        exact_backward(lattice);
        exact_count(lattice, unknown_piece, (float)units->counts[i], expected);
    }
    lattice_end(lattice);
    return UNITOK_OK;
}
