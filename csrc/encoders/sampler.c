/* sampler.c - draws random paths through a lattice and computes its entropy (sampler.h)
 *
 * A text is processed in windows, each of which begins and ends at a cut, so that windows are
 * independent:
 *
 *     text      │ window: about WINDOW_BYTES │ window │ …
 *               base     at      frontier    cut at or after stop_at
 *     cells     0 … 0    sum     pending       0 …
 *
 * Positions before `at` are done, and their `back` stays for tracing; those from `at` to
 * `frontier` have received some of their edges. If at == frontier, no edge crosses that position:
 * it is a cut. The functions take_* add one edge and differ by mode; the walk over edges and
 * windows is shared. */
#include "encoders/sampler.h"

#include <math.h>

#include "ground/alloc.h"
#include "ground/error.h"
#include "ground/rng.h"

/* The meaning of `sum`, and how an edge changes it. */
enum {
    LINEAR,  /* the weight of all paths to this position */
    LOG,     /* the logarithm of that weight */
    VITERBI, /* the score of the held path */
    ENTROPY  /* as in LOG, and the entropy of these paths is tracked */
};

/* Why a pass over a window stopped. */
enum { GO_ON, AT_END, AT_CUT, CELLS_FULL, OUT_OF_RANGE };

/* Tokens are written at the first cut after this many bytes, so that the cells (16 KiB) stay in the
 * L1 cache. */
#define WINDOW_BYTES 1024

/* Before edges leave a position, its sum must be in 2^-400..2^400; otherwise it is scaled to 1..2
 * together with all pending sums. With weights of at least 2^-500, each edge adds at least 2^-900,
 * so nothing underflows. A weight below 2^-1074 is 0 as a double. Its edge would add less than
 * 2^-674, which is negligible compared with a sum of 2^-400, but not once pending sums have been
 * scaled up. So a model with a weight below 2^-500 is never scaled. */
#define SUM_EXPONENT_MAX 400
#define SCALABLE_EXPONENT_MAX 600
#define PENDING_EXPONENT_MIN (-900)
#define WEIGHT_MIN 0x1p-500

/* In a byte model, a byte without a piece has the score -1e200, and alpha can be as large as 1e200.
 * Sums of 1e290 do not overflow. */
#define LOG_WEIGHT_MAX 1e290

/* A part of the text that begins at a cut. Positions are relative to its start. */
typedef struct window {
    const uint8_t *text;
    int64_t n_bytes;
    int64_t at;       /* the next position */
    int64_t frontier; /* the furthest end of an edge so far */
    int64_t cut;      /* the last cut found */
    int64_t stop_at;  /* stop at the first cut at or after this position */
    int64_t begin;    /* the start of the window in the document */
    uint64_t key;
} window;

/* The state shared by the edges of one position: a copy of everything that the loops read, so that
 * it stays in registers. */
typedef struct source {
    trie trie;
    const uint8_t *text;
    int64_t n_bytes;
    const double *weights; /* by value; scores unless the mode is LINEAR */
    sampler_cell *cells;
    double alpha, sum, entropy;
    uint64_t stream;
    int64_t at, frontier;
    int n_leads; /* bytes below this are complete characters */
} source;

/* --------------------------------------------------------------------------------- An edge ---- */

/* alpha * score, bounded so that sums of it stay finite. */
INLINE double log_weight(double alpha, double score)
{
    double x = alpha * score;
    return x > LOG_WEIGHT_MAX ? LOG_WEIGHT_MAX : x < -LOG_WEIGHT_MAX ? -LOG_WEIGHT_MAX : x;
}

/* Adds an edge's weight to the sum of its end, and keeps the edge with probability x / sum:
 *
 *     edge       x      sum      back
 *     s1 → e     2      2        s1                           with probability 2 / 2
 *     s2 → e     6      8        s2, or still s1              6 / 8, or 1 * 2 / 8
 *     s3 → e     8      16       s3, or still s2, or s1       8 / 16, 6 / 16, or 2 / 16 */
INLINE void take_linear(source *from, sampler_cell *to, uint64_t back, double weight)
{
    double x = from->sum * weight, sum = to->sum + x;
    uint64_t held = to->u.back;
    to->sum = sum;
    /* u < x / sum, with u in units of 2^-53. Equality accepts a first edge of weight 0. */
    to->u.back = (double)rng_bits53(&from->stream) * sum <= x * 0x1p53 ? back : held;
}

/* The same with logarithms, for stretches whose weights are out of the range of a double. */
INLINE void take_log(source *from, sampler_cell *to, uint64_t back, double score)
{
    double x = from->sum + log_weight(from->alpha, score);
    to->sum = log_add(to->sum, x);
    if (rng_unit(&from->stream) <= exp(x - to->sum)) to->u.back = back;
}

/* u < 1 / (1 + exp(-x)), usually without computing exp: 1 / (1 + exp(-3)) is 0.953, and exp(-40) is
 * below the resolution of u. */
INLINE int is_below_sigmoid(double u, double x)
{
    if (x > 3 && (u < 0.95 || x > 40)) return 1;
    if (x < -3 && (u > 0.05 || x < -40)) return 0;
    return u * (1 + exp(-x)) < 1;
}

INLINE void take_viterbi(source *from, sampler_cell *to, uint64_t back, double score)
{
    /* for the first edge, x is large */
    double sum = from->sum + score, x = log_weight(from->alpha, sum - to->sum);
    if (is_below_sigmoid(rng_unit(&from->stream), x)) {
        to->sum = sum;
        to->u.back = back;
    }
}

/* Two sets of paths have p and 1 - p of the weight. Their joint entropy is p h1 + (1 - p) h2 - p
 * log p - (1 - p) log (1 - p). */
INLINE void take_entropy(source *from, sampler_cell *to, double score)
{
    double x = from->sum + log_weight(from->alpha, score), sum = log_add(to->sum, x);
    double log_p = x - sum, log_q = to->sum - sum;
    double entropy = exp(log_p) * (from->entropy - log_p);
    if (log_q != -INFINITY) entropy += exp(log_q) * (to->u.entropy - log_q);
    to->sum = sum;
    to->u.entropy = entropy;
}

/* Processes an edge. `mode` is a constant wherever this is inlined, so only one of the branches
 * remains. */
INLINE void take(source *from, int mode, uint32_t value, int64_t end)
{
    sampler_cell *to = &from->cells[end];
    uint64_t back = (uint64_t)value << 32 | (uint32_t)from->at;
    double weight = from->weights[value];
    if (mode == LINEAR) {
        take_linear(from, to, back, weight);
    } else {
        /* In these modes an empty cell is -INFINITY. Cells get this value when the frontier passes
         * them. */
        while (from->frontier < end) from->cells[++from->frontier].sum = -INFINITY;
        if (mode == LOG) take_log(from, to, back, weight);
        if (mode == VITERBI) take_viterbi(from, to, back, weight);
        if (mode == ENTROPY) take_entropy(from, to, weight);
    }
}

/* ------------------------------------------------------------------------------ A position ---- */

/* Processes the edges of a position in a model that is not ragged. Returns the end of the first
 * character; *ret_last is the furthest end. Begins as trie_longest does: with a piece of one byte
 * and a piece of two bytes, and then byte by byte. No piece ends inside a longer character, so its
 * first bytes are walked without checking for a piece. */
INLINE int64_t take_edges(source *from, int mode, int64_t *ret_last)
{
    const uint64_t *units = from->trie.units;
    const uint8_t *text = from->text;
    int64_t n_bytes = from->n_bytes, i = from->at + 1, char_end = i, last;
    uint8_t lead = text[from->at];
    uint64_t head = LIKELY(i < n_bytes) ? from->trie.heads[load_u16(text + from->at)] : 0;
    uint32_t base = head_base(head), value;
    if (LIKELY(lead < from->n_leads)) {
        take(from, mode, from->trie.singles[lead], last = char_end);
        i++;
        if (head_length(head) == 2) take(from, mode, head_value(head), last = i);
    } else {
        char_end = from->at + char_bytes(lead);
        if (char_end > n_bytes) char_end = n_bytes;
        value = head_length(head) == 2 ? head_value(head) : 0;
        for (i++; i < char_end; i++) {
            uint64_t unit = units[base ^ text[i]];
            int is_there = unit_has_label(unit, text[i]);
            base = is_there ? unit_base(unit) : 0; /* base 0 has no children */
            value = is_there ? unit_value(unit) : 0;
        }
        take(from, mode, value, last = char_end);
    }
    for (; i < n_bytes; i++) {
        uint64_t unit = units[base ^ text[i]];
        if (!unit_has_label(unit, text[i])) break;
        base = unit_base(unit);
        if (unit_value(unit)) take(from, mode, unit_value(unit), last = i + 1);
    }
    *ret_last = last;
    return char_end;
}

/* Like take_edges, but for any model: it follows the definition and lists the edges first.
 * take_edges relies on pieces ending at character borders, which a ragged model does not
 * guarantee. */
INLINE int64_t take_edges_ragged(source *from, int mode, int64_t *ret_last,
                                 const lattice_model *model, lattice_edge *edges)
{
    int64_t n_edges = lattice_edges(model, from->text, from->n_bytes, from->at, edges);
    int64_t char_end = from->at + lattice_char(model, from->text, from->n_bytes, from->at),
            last = char_end;
    for (int64_t k = 0; k < n_edges; k++) {
        int64_t end = from->at + edges[k].n_bytes;
        take(from, mode, edges[k].value, end);
        if (end > last) last = end;
    }
    *ret_last = last;
    return char_end;
}

/* -------------------------------------------------------------------------------- A window ---- */

/* The binary exponent of a positive number, from its bits: faster than frexp. */
INLINE int64_t exponent_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, 8);
    /* negative numbers, infinity and NaN give values above 1023 */
    return (int64_t)(bits >> 52) - 1023;
}

/* One comparison checks both bounds: below the minimum, the difference wraps around to a large
 * number. */
INLINE int is_within(double x, int64_t exponent_min, int64_t exponent_max)
{
    return (uint64_t)(exponent_of(x) - exponent_min) <= (uint64_t)(exponent_max - exponent_min);
}

/* Returns 1 if `condition`, otherwise x, without a branch: cuts follow word lengths, which are
 * unpredictable. */
INLINE double one_if(int condition, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, 8);
    bits = condition ? UINT64_C(0x3FF0000000000000) : bits;
    memcpy(&x, &bits, 8);
    return x;
}

/* If the sum of `at` is out of range, scales it to 1..2 together with the pending sums, cells[at +
 * 1..frontier]. All of them share the factor, a power of two, so no rounding occurs and the ratios
 * x / sum by which edges are drawn do not change. Returns the sum, which the caller stores; 0 if
 * scaling would lose weight. */
static NOINLINE double scale_pending(const sampler *s, int64_t at, int64_t frontier)
{
    sampler_cell *cells = s->cells;
    double sum = cells[at].sum;
    if (is_within(sum, -SUM_EXPONENT_MAX, SUM_EXPONENT_MAX)) return sum;
    if (s->has_tiny_weights || !is_within(sum, -SCALABLE_EXPONENT_MAX, SCALABLE_EXPONENT_MAX))
        return 0;
    double factor = ldexp(1, (int)-exponent_of(sum));
    for (int64_t e = at + 1; e <= frontier; e++) {
        if (cells[e].sum == 0) continue;
        if (!is_within(cells[e].sum, PENDING_EXPONENT_MIN, SCALABLE_EXPONENT_MAX)) return 0;
        cells[e].sum *= factor;
        if (!is_within(cells[e].sum, PENDING_EXPONENT_MIN, SUM_EXPONENT_MAX)) return 0;
    }
    return sum * factor;
}

/* Returns the reason to stop at `at`, or GO_ON. If `at` is the frontier, no edge spans it: it is a
 * cut. */
static NOINLINE int reason_to_stop(const window *w, int64_t at, int64_t frontier, int64_t n_starts)
{
    if (at == frontier && at >= w->stop_at) return AT_CUT;
    return at >= n_starts ? CELLS_FULL : GO_ON;
}

/* Continues from w->at. Compiled once for each mode, and once for ragged models. */
INLINE int run_mode(const sampler *s, window *w, int mode, int is_ragged)
{
    source from = {.trie = s->model->trie,
                   .text = w->text,
                   .n_bytes = w->n_bytes,
                   .cells = s->cells,
                   .alpha = s->alpha,
                   .weights = mode == LINEAR ? s->weights : s->model->scores,
                   .n_leads = s->model->is_bytes ? 256 : 0xC0};
    int64_t at = w->at, frontier = w->frontier, cut = w->cut, last;
    /* from here on, an edge could end beyond the cells */
    int64_t n_starts = s->n_cells - s->model->max_edge_bytes;
    int64_t look_at = n_starts < w->stop_at ? n_starts : w->stop_at;
    uint64_t origin = rng_origin(w->key, (uint64_t)w->begin);
    int reason = AT_END;
    while (at < from.n_bytes) {
        if (mode == LINEAR &&
            UNLIKELY(!is_within(from.cells[at].sum, -SUM_EXPONENT_MAX, SUM_EXPONENT_MAX))) {
            from.cells[at].sum = scale_pending(s, at, frontier);
            reason = OUT_OF_RANGE;
            if (from.cells[at].sum == 0) break;
        }
        if (UNLIKELY(at >= look_at) &&
            (reason = reason_to_stop(w, at, frontier, n_starts)) != GO_ON)
            break;
        int is_cut = at == frontier;
        cut = is_cut ? at : cut;
        from.sum = mode == LINEAR ? one_if(is_cut, from.cells[at].sum)
                   : is_cut       ? 0
                                  : from.cells[at].sum;
        if (mode == ENTROPY) from.entropy = from.cells[at].u.entropy;
        if (mode != LINEAR) from.frontier = frontier;
        if (mode != ENTROPY) from.stream = rng_stream_from(origin, (uint64_t)at);
        from.cells[at].sum = 0;
        from.at = at;
        at = is_ragged ? take_edges_ragged(&from, mode, &last, s->model, s->edges)
                       : take_edges(&from, mode, &last);
        frontier = last > frontier ? last : frontier;
    }
    w->at = at;
    w->frontier = frontier;
    w->cut = cut;
    if (at < from.n_bytes) return reason;
    return mode == LINEAR && scale_pending(s, at, at) == 0 ? OUT_OF_RANGE : AT_END;
}

/* Each mode is compiled separately, so that its inner loop does not test the mode. */
static NOINLINE int run_linear(const sampler *s, window *w) { return run_mode(s, w, LINEAR, 0); }

static NOINLINE int run_log(const sampler *s, window *w) { return run_mode(s, w, LOG, 0); }

static NOINLINE int run_viterbi(const sampler *s, window *w) { return run_mode(s, w, VITERBI, 0); }

static NOINLINE int run_entropy(const sampler *s, window *w) { return run_mode(s, w, ENTROPY, 0); }

/* Ragged models are rare: one copy serves all modes. */
static NOINLINE int run_ragged(const sampler *s, window *w, int mode)
{
    return run_mode(s, w, mode, 1);
}

static int run(const sampler *s, window *w, int mode)
{
    if (s->model->is_ragged) return run_ragged(s, w, mode);
    return mode == LINEAR    ? run_linear(s, w)
           : mode == LOG     ? run_log(s, w)
           : mode == VITERBI ? run_viterbi(s, w)
                             : run_entropy(s, w);
}

/* -------------------------------------------------------------------------------- The text ---- */

/* Grows the cells to n_cells and zeroes the new ones. Returns 0 if allocation fails. */
static int reserve_cells(sampler *s, int64_t n_cells)
{
    if (n_cells <= s->n_cells) return 1;
    sampler_cell *cells = mem_realloc(s->cells, (size_t)n_cells * sizeof *cells);
    if (!cells) return 0;
    memset(cells + s->n_cells, 0, (size_t)(n_cells - s->n_cells) * sizeof *cells);
    s->cells = cells;
    s->n_cells = n_cells;
    return 1;
}

/* Clears the cells of a window from `first` on, which restores the rule that all cells are zero
 * between calls. */
static void clear_cells(sampler *s, int64_t first, int64_t frontier)
{
    for (int64_t e = first; e <= frontier; e++) s->cells[e].sum = 0;
}

/* Runs to the end of the text or to the cut at which the window stops, growing the cells as needed.
 * If weights go out of range, the window ends at its last cut, and the next window uses logarithms
 * up to its first cut. *io_mode is the mode of the next window. Returns 0 if allocation fails. */
static int run_window(sampler *s, window *w, int *io_mode)
{
    int reason, mode = *io_mode;
    s->cells[0].sum = mode == LINEAR ? 1 : 0;
    if (mode == LOG) w->stop_at = 1;
    while ((reason = run(s, w, mode)) == CELLS_FULL) {
        if (reserve_cells(s, s->n_cells * 2 + s->model->max_edge_bytes)) continue;
        clear_cells(s, 0, w->frontier);
        return 0;
    }
    /* cells inside characters are never read; clear them */
    if (mode != LINEAR) clear_cells(s, 0, w->at - 1);
    if (mode == LOG) *io_mode = LINEAR;
    if (reason == OUT_OF_RANGE) {
        clear_cells(s, w->cut, w->frontier);
        w->at = w->cut;
        *io_mode = LOG;
    }
    return 1;
}

/* Writes the path held at cells[end] to tokens[0..result-1], with `base` added to the ends; tokens
 * has space for `end`. */
static int64_t trace(const sampler *s, int64_t end, int64_t base, token *tokens)
{
    int64_t n = 0;
    for (int64_t e = end, start; e > 0; e = start) {
        uint64_t back = s->cells[e].u.back;
        start = (uint32_t)back;
        ASSERT(start < e);
        tokens[end - ++n] = (token){lattice_id(s->model, (uint32_t)(back >> 32)),
                                    (uint32_t)(base + e)};
    }
    memmove(tokens, tokens + end - n, (size_t)n * sizeof *tokens);
    return n;
}

static window window_at(const uint8_t *text, int64_t n_bytes, int64_t base, int64_t begin,
                        uint64_t key)
{
    return (window){.text = text + base,
                    .n_bytes = n_bytes - base,
                    .stop_at = WINDOW_BYTES,
                    .begin = begin + base,
                    .key = key};
}

/* Draws window by window. Each window begins at a cut, so it is an independent text. */
static int64_t draw(sampler *s, int mode, const uint8_t *text, int64_t n_bytes, uint64_t key,
                    int64_t begin, token *tokens)
{
    int64_t base = 0, n = 0;
    while (base < n_bytes) {
        window w = window_at(text, n_bytes, base, begin, key);
        if (!run_window(s, &w, &mode)) return -1;
        n += trace(s, w.at, base, tokens + n);
        s->cells[w.at].sum = 0;
        base += w.at;
    }
    return n;
}

int64_t sampler_draw(sampler *s, const uint8_t *text, int64_t n_bytes, uint64_t key, int64_t begin,
                     token *tokens)
{
    return draw(s, LINEAR, text, n_bytes, key, begin, tokens);
}

int64_t sampler_draw_viterbi(sampler *s, const uint8_t *text, int64_t n_bytes, uint64_t key,
                             int64_t begin, token *tokens)
{
    return draw(s, VITERBI, text, n_bytes, key, begin, tokens);
}

/* Each stretch between cuts is a factor of the sum over paths, so logarithms and entropies add
 * up. For that reason, the window ends at every cut. */
int sampler_entropy(sampler *s, const uint8_t *text, int64_t n_bytes, double *ret_entropy,
                    double *ret_log_sum)
{
    int mode = ENTROPY;
    *ret_entropy = *ret_log_sum = 0;
    for (int64_t base = 0; base < n_bytes;) {
        window w = window_at(text, n_bytes, base, 0, 0);
        w.stop_at = 1;
        s->cells[0].u.entropy = 0;
        if (!run_window(s, &w, &mode)) return 0;
        *ret_log_sum += s->cells[w.at].sum;
        *ret_entropy += s->cells[w.at].u.entropy;
        s->cells[w.at].sum = 0;
        base += w.at;
    }
    return 1;
}

/* A path's log probability is the sum of alpha * score over its pieces, minus the logarithm of the
 * sum over all paths. */
int sampler_draw_scored(sampler *s, const uint8_t *text, int64_t n_bytes, int64_t n_samples,
                        uint64_t key, lattice_paths *ret)
{
    double entropy, log_sum;
    lattice_paths_clear(ret);
    if (!sampler_entropy(s, text, n_bytes, &entropy, &log_sum)) return 0;
    for (int64_t j = 0; j < n_samples; j++) {
        token *tokens = lattice_paths_add(ret, n_bytes, 0);
        if (!tokens) return 0;
        int64_t n = sampler_draw(s, text, n_bytes, rng_key(key, (uint64_t)j), 0, tokens);
        if (n < 0) return 0;
        double score = 0;
        for (int64_t k = 0; k < n; k++)
            score += log_weight(s->alpha, s->model->id_scores[tokens[k].id + 1]);
        ret->offsets[ret->n_paths] = ret->offsets[ret->n_paths - 1] + n;
        ret->scores[ret->n_paths - 1] = score - log_sum;
    }
    return 1;
}

/* --------------------------------------------------------------------------------- Scratch ---- */

/* s->model is NULL while the tables change, so a sampler never seems prepared after a failure. The
 * comparison is written so that NaN is rejected as well. */
int32_t sampler_prepare(sampler *s, const lattice_model *model, double alpha, unitok_error *error)
{
    if (s->model == model && s->alpha == alpha) return UNITOK_OK;
    if (!(fabs(alpha) <= SAMPLER_ALPHA_MAX))
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "alpha is not a number in -1e200..1e200");
    s->model = NULL;
    double *weights = mem_realloc(s->weights, (size_t)model->n_values * sizeof *weights);
    if (weights) s->weights = weights;
    lattice_edge *edges = mem_realloc(s->edges, (size_t)model->max_edge_bytes * sizeof *edges);
    if (edges) s->edges = edges;
    if (!weights || !edges || !reserve_cells(s, WINDOW_BYTES + 2 * model->max_edge_bytes))
        return fail_memory(error);
    s->has_tiny_weights = 0;
    for (int64_t value = 0; value < model->n_values; value++) {
        weights[value] = exp(log_weight(alpha, model->scores[value]));
        s->has_tiny_weights |= weights[value] < WEIGHT_MIN && (value > 0 || model->has_unknown);
    }
    s->model = model;
    s->alpha = alpha;
    return UNITOK_OK;
}

void sampler_free(sampler *s)
{
    mem_free(s->cells);
    mem_free(s->weights);
    mem_free(s->edges);
    *s = (sampler){0};
}
