/* unigram.c - computes best paths, losses and the M-step of Unigram models in training, in float32
 * as in sentencepiece, and in float64 */

#include <math.h>

#include "ground/alloc.h"
#include "train/lattice.h"

#define REAL float
#define NAME(x) x##_f32
#include "train/unigram_template.h"
#undef REAL
#undef NAME

#define REAL double
#define NAME(x) x##_f64
#include "train/unigram_template.h"

/* ---------------------------------------------------------------------------------- M-step ---- */

/* The logarithmic derivative of the gamma function, with the terms that sentencepiece uses; it is
 * close to log(x - 0.5). Small arguments are raised above 7 by the recurrence digamma(x) =
 * digamma(x + 1) - 1 / x, because the series is only accurate there. */
static double digamma(double x)
{
    double sum = 0;
    for (; x < 7; x++) sum -= 1 / x;
    x -= 0.5;
    double y = 1 / x, y2 = y * y, y4 = y2 * y2;
    return sum + (log(x) + (1.0 / 24) * y2 - (7.0 / 960) * y4 + (31.0 / 8064) * y4 * y2 -
                  (127.0 / 30720) * y4 * y4);
}

/* Pieces with an expected count below 0.5 are dropped. The sum is computed in float32 and in the
 * given order, because rounding depends on both. */
void unitok_unigram_maximize_f32(const float *expected, const int64_t *order, int64_t n,
                                 uint8_t *alive, float *scores)
{
    float sum = 0;
    for (int64_t i = 0; i < n; i++) {
        alive[order[i]] = !(expected[order[i]] < 0.5f);
        if (alive[order[i]]) sum += expected[order[i]];
    }
    float log_sum = (float)digamma(sum);
    for (int64_t i = 0; i < n; i++)
        if (alive[order[i]]) scores[order[i]] = (float)(digamma(expected[order[i]]) - log_sum);
}

/* With sentencepiece's prior (digamma instead of the logarithm), rare pieces lose more than their
 * share; without it, the scores are the plain logarithms of shares. */
void unitok_unigram_maximize_f64(const double *expected, int64_t n, double min_count, int32_t prior,
                                 uint8_t *alive, double *scores)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        alive[i] = alive[i] && expected[i] >= min_count;
        if (alive[i]) sum += expected[i];
    }
    double log_sum = prior == UNITOK_PRIOR_DIGAMMA ? digamma(sum) : log(sum);
    for (int64_t i = 0; i < n; i++)
        if (alive[i])
            scores[i] = (prior == UNITOK_PRIOR_DIGAMMA ? digamma(expected[i]) : log(expected[i])) -
                        log_sum;
}
