/* test_lattice.c - compares n-best, samplers and entropy with the enumeration of all paths through
 * small lattices
 *
 * Distributions are compared by chi-square. The bound is at least six standard deviations, so that
 * every seed passes. */
#define _DEFAULT_SOURCE

#include "test_alloc.h"

#include <math.h>

#include "guard.h"

#include "encoders/nbest.h"
#include "pieces.h"
#include "ground/rng.h"
#include "encoders/sampler.h"

enum { PATHS_MAX = 600, TOKENS_MAX = 16, LONG_MAX = 20000 };

static struct pieces pieces;
static double scores[PIECES_MAX];
static uint8_t types[PIECES_MAX];
static int32_t flags;
static struct guard text_guard;
static unitok_error error;

static unigram *engine;
static lattice_model model;
static sampler draws;
static nbest search;
static lattice_paths paths;

/* ------------------------------------------------------------------------------ Definition ---- */

struct path {
    token tokens[TOKENS_MAX];
    int n;
    double score; /* summed from the end as in the search, and rounded as in the model */
    double p;
};

static struct path all[PATHS_MAX];
static int n_all;

static double slow_round(double x) { return flags & UNITOK_FLOAT64 ? x : (double)(float)x; }

static int64_t slow_char(const uint8_t *text, int64_t at, int64_t n_bytes)
{
    int64_t n = flags & UNITOK_BYTES ? 1 : char_bytes(text[at]);
    return n < n_bytes - at ? n : n_bytes - at;
}

/* The first end of a character at or after `end`. */
static int64_t slow_end(const uint8_t *text, int64_t at, int64_t end, int64_t n_bytes)
{
    while (at < end) at += slow_char(text, at, n_bytes);
    return at;
}

static double slow_score(int64_t k)
{
    int64_t n_chars = 0, n_bytes = pieces.offsets[k + 1] - pieces.offsets[k];
    const uint8_t *piece = pieces.data + pieces.offsets[k];
    if (types[k] != UNITOK_PIECE_USER_DEFINED) return slow_round(scores[k]);
    for (int64_t at = 0; at < n_bytes; at += slow_char(piece, at, n_bytes)) n_chars++;
    return slow_round(0.1 * (double)(n_chars - 1));
}

static int slow_matches(int64_t k, const uint8_t *text, int64_t at, int64_t n_bytes)
{
    int64_t n_piece = pieces.offsets[k + 1] - pieces.offsets[k];
    if (types[k] != UNITOK_PIECE_NORMAL && types[k] != UNITOK_PIECE_USER_DEFINED) return 0;
    return n_piece <= n_bytes - at &&
           !memcmp(text + at, pieces.data + pieces.offsets[k], (size_t)n_piece);
}

static double token_score(int32_t id)
{
    for (int64_t k = 0; k < pieces.n; k++)
        if (pieces.ids[k] == id) return slow_score(k);
    return engine->unknown_score;
}

static void enumerate(const uint8_t *text, int64_t at, int64_t n_bytes, struct path *path)
{
    if (n_all > PATHS_MAX - 1) return;
    if (at == n_bytes) {
        path->score = 0;
        for (int i = path->n - 1; i >= 0; i--)
            path->score = slow_round(path->score + token_score(path->tokens[i].id));
        all[n_all++] = *path;
        return;
    }
    int has_single = 0;
    int64_t char_end = at + slow_char(text, at, n_bytes);
    for (int64_t k = 0; k <= pieces.n; k++) {
        int64_t end = char_end;
        if (k == pieces.n && has_single) break;
        if (k < pieces.n) {
            if (!slow_matches(k, text, at, n_bytes)) continue;
            end = slow_end(text, at, at + pieces.offsets[k + 1] - pieces.offsets[k], n_bytes);
            has_single |= end == char_end;
        }
        path->tokens[path->n++] = (token){k < pieces.n ? (int32_t)pieces.ids[k] : TOKEN_UNKNOWN,
                                          (uint32_t)end};
        enumerate(text, end, n_bytes, path);
        path->n--;
    }
}

/* All paths and their probabilities ~ exp(alpha * score); returns the log of the sum. */
static double enumerate_all(const uint8_t *text, int64_t n_bytes, double alpha)
{
    struct path path = {.n = 0};
    double best = -INFINITY, sum = 0;
    n_all = 0;
    enumerate(text, 0, n_bytes, &path);
    double exact[PATHS_MAX];
    for (int i = 0; i < n_all; i++) {
        exact[i] = 0;
        for (int t = 0; t < all[i].n; t++) exact[i] += alpha * token_score(all[i].tokens[t].id);
        if (exact[i] > best) best = exact[i];
    }
    for (int i = 0; i < n_all; i++) sum += exp(exact[i] - best);
    for (int i = 0; i < n_all; i++) all[i].p = exp(exact[i] - best) / sum;
    return best + log(sum);
}

static int find_path(const token *tokens, int64_t n)
{
    for (int i = 0; i < n_all; i++)
        if (all[i].n == n && !memcmp(all[i].tokens, tokens, (size_t)n * sizeof *tokens)) return i;
    CHECK(!"a path of the lattice");
    return -1;
}

/* ------------------------------------------------------------------------------ Chi-square ---- */

/* Checks that counts[0..n-1] of n_draws fit p[0..n-1]. Bins with an expected count below five are
 * merged. */
static void check_counts(const int64_t *counts, const double *p, int64_t n, int64_t n_draws)
{
    double chi = 0, rest_expected = 0, rest = 0, freedom = -1;
    for (int64_t i = 0; i < n; i++) {
        double expected = p[i] * (double)n_draws;
        if (expected < 5) {
            rest_expected += expected;
            rest += (double)counts[i];
            continue;
        }
        chi += ((double)counts[i] - expected) * ((double)counts[i] - expected) / expected;
        freedom++;
    }
    if (rest_expected >= 5) {
        chi += (rest - rest_expected) * (rest - rest_expected) / rest_expected;
        freedom++;
    } else {
        CHECK(rest <= rest_expected + 8 * sqrt(rest_expected) + 12);
    }
    if (freedom < 1) return;
    CHECK(chi < freedom + 6 * sqrt(2 * freedom) + 25);
}

static void check_paths(const int64_t *counts, int64_t n_draws)
{
    double p[PATHS_MAX];
    for (int i = 0; i < n_all; i++) p[i] = all[i].p;
    check_counts(counts, p, n_all, n_draws);
}

/* ---------------------------------------------------------------------------------- Models ---- */

static void forget_model(void)
{
    sampler_free(&draws);
    nbest_free(&search);
    lattice_paths_free(&paths);
    lattice_model_free(&model);
    unigram_free(engine);
    engine = NULL;
    CHECK(alloc_live_blocks == 0 && alloc_live_bytes == 0);
}

static unitok_spec spec_of(void)
{
    return scored_spec(&pieces, UNITOK_KIND_UNIGRAM, flags, scores, types);
}

static void build_model(void)
{
    unitok_spec spec = spec_of();
    forget_model();
    CHECK(unigram_new(&spec, &engine, &error) == UNITOK_OK);
    CHECK(lattice_model_init(engine, &spec, &model, &error) == UNITOK_OK);
}

/* Makes pieces of one set of symbols with random scores, often equal, sometimes far apart. */
static void random_model(int set)
{
    static const int32_t kinds[] = {0, UNITOK_FLOAT64, UNITOK_FLOAT64 | UNITOK_BYTES};
    uint8_t piece[8];
    double spread = random_below(3) ? 3 : 0.01;
    flags = kinds[random_below(3)];
    pieces_clear(&pieces);
    if (flags & UNITOK_BYTES) pieces_add_bytes(&pieces);
    for (int64_t k = random_below(12); k >= 0; k--) {
        int64_t n_bytes = 1 + random_below(7);
        random_symbols(set, piece, n_bytes);
        pieces_add(&pieces, piece, n_bytes);
    }
    for (int64_t k = 0; k < pieces.n; k++) {
        scores[k] = random_below(2) ? -1.5 : -spread * (double)random_below(1000) / 1000;
        types[k] = UNITOK_PIECE_NORMAL;
        if (!(flags & UNITOK_FLOAT64) && random_below(5) == 0)
            types[k] = random_below(2) ? UNITOK_PIECE_USER_DEFINED : UNITOK_PIECE_UNUSED;
    }
    build_model();
}

/* Makes a text that ends at a guard page. */
static const uint8_t *random_text(int set, int64_t n_bytes)
{
    uint8_t *text = guard_copy(&text_guard, NULL, (size_t)n_bytes);
    random_symbols(set, text, n_bytes);
    return text;
}

static void prepare(double alpha)
{
    CHECK(sampler_prepare(&draws, &model, alpha, &error) == UNITOK_OK);
}

/* ----------------------------------------------------------------------------------- Tests ---- */

static void test_rng(void)
{
    uint64_t key = rng_document_key(1, 2, 3), stream = rng_stream(key, 4);
    CHECK(rng_document_key(0, 0, 0) == UINT64_C(0x238275bc38fcbe91));
    CHECK(key == UINT64_C(0x27d1dade99ddf6a4));
    CHECK(stream == UINT64_C(0xa631be4a786db3da));
    CHECK(rng_bits53(&stream) == 2387059878424262);
    CHECK(rng_bits53(&stream) == 5174378387877988);
    CHECK(rng_open(&stream) == 0.97436172725843873);
    CHECK(rng_unit(&stream) == 0.50910346615747892);
}

/* Draws at one position and first draws at adjacent positions are uniform, and pairs of draws are
 * independent. */
static void test_uniform(void)
{
    static int64_t ones[64], pairs[64], across[64];
    static double p[64];
    for (int i = 0; i < 64; i++) p[i] = 1.0 / 64;
    uint64_t before = 0;
    for (uint64_t i = 0; i < 64000; i++) {
        uint64_t stream = rng_stream(rng_document_key(7, 0, i / 1000), i % 1000);
        uint64_t a = (uint64_t)(rng_unit(&stream) * 64), b = (uint64_t)(rng_unit(&stream) * 64);
        double open = rng_open(&stream);
        CHECK(open > 0 && open < 1);
        ones[a]++;
        pairs[(a & 56) | (b >> 3)]++;
        across[(a & 56) | (before >> 3)]++;
        before = a;
    }
    check_counts(ones, p, 64, 64000);
    check_counts(pairs, p, 64, 64000);
    check_counts(across, p, 64, 64000);
}

/* Tolerates rounding errors: the search adds scores from both ends, so nearly equal paths can
 * appear in either order, as in the reference. */
static int is_no_more(double a, double b) { return a <= b + 1e-5 * (1 + fabs(b)); }

static void test_all_paths(const uint8_t *text, int64_t n_bytes)
{
    double alpha = 0.7, entropy, log_sum, expected = 0, best = -INFINITY;
    CHECK(nbest_find(&search, &model, text, n_bytes, 1000, &paths));
    CHECK(paths.n_paths == n_all);
    for (int64_t k = 0; k < n_all; k++) {
        int i = find_path(paths.tokens + paths.offsets[k], paths.offsets[k + 1] - paths.offsets[k]);
        CHECK(paths.scores[k] == all[i].score);
        CHECK(k == 0 || is_no_more(paths.scores[k], paths.scores[k - 1]));
        CHECK(all[i].p >= 0);
        all[i].p = -1; /* found */
        if (all[i].score > best) best = all[i].score;
    }
    CHECK(nbest_find(&search, &model, text, n_bytes, 1, &paths) && paths.n_paths == 1);
    CHECK(is_no_more(paths.scores[0], best) && is_no_more(best, paths.scores[0]));
    prepare(alpha);
    double log_all = enumerate_all(text, n_bytes, alpha);
    for (int i = 0; i < n_all; i++) expected -= all[i].p > 0 ? all[i].p * log(all[i].p) : 0;
    CHECK(sampler_entropy(&draws, text, n_bytes, &entropy, &log_sum));
    CHECK(fabs(entropy - expected) < 1e-9 * (1 + expected));
    CHECK(fabs(log_sum - log_all) < 1e-9 * (1 + fabs(log_all)));
}

/* In random small lattices, every path is found once, with its score; also checks entropy and
 * samples. */
static void test_enumeration(void)
{
    token tokens[TOKENS_MAX];
    for (int round = 0; round < 1500; round++) {
        int set = (int)random_below(N_SYMBOL_SETS);
        random_model(set);
        for (int i = 0; i < 4; i++) {
            int64_t n_bytes = random_below(11);
            const uint8_t *text = random_text(random_below(4) ? set : N_SYMBOL_SETS - 1, n_bytes);
            enumerate_all(text, n_bytes, 1);
            if (n_all == PATHS_MAX) continue;
            test_all_paths(text, n_bytes);
            find_path(tokens, sampler_draw(&draws, text, n_bytes, random_u64(), 0, tokens));
            find_path(tokens, sampler_draw_viterbi(&draws, text, n_bytes, random_u64(), 0, tokens));
        }
    }
}

/* Makes a text with at least n_least and fewer than PATHS_MAX paths. */
static const uint8_t *interesting_text(int64_t n_bytes, int n_least)
{
    for (;;) {
        int set = (int)random_below(3);
        random_model(set);
        const uint8_t *text = random_text(set, n_bytes);
        enumerate_all(text, n_bytes, 1);
        if (n_all >= n_least && n_all < PATHS_MAX) return text;
    }
}

static void draw_and_check(const uint8_t *text, int64_t n_bytes, double alpha)
{
    enum { N = 20000 };
    int64_t counts[PATHS_MAX] = {0};
    token tokens[TOKENS_MAX];
    uint64_t seed = random_u64();
    prepare(alpha);
    enumerate_all(text, n_bytes, alpha);
    for (uint64_t i = 0; i < N; i++)
        counts[find_path(tokens, sampler_draw(&draws, text, n_bytes, rng_document_key(seed, 0, i),
                                              0, tokens))]++;
    check_paths(counts, N);
}

static void test_exact(void)
{
    static const double alphas[] = {0, 0.2, 1, 3, -0.5, 1000, -1000, 1e-200};
    for (int round = 0; round < 5; round++) {
        const uint8_t *text = interesting_text(7, 10);
        for (size_t k = 0; k < sizeof alphas / sizeof *alphas; k++)
            draw_and_check(text, 7, alphas[k]);
    }
}

/* With the largest alphas, a sample must still be a path. */
static void test_extreme(void)
{
    static const double alphas[] = {1e200, -1e200, 1e9};
    token tokens[TOKENS_MAX];
    double entropy, log_sum;
    for (int round = 0; round < 30; round++) {
        const uint8_t *text = interesting_text(7, 10);
        prepare(alphas[round % 3]);
        find_path(tokens, sampler_draw(&draws, text, 7, random_u64(), 0, tokens));
        if (draws.alpha > 0)
            find_path(tokens, sampler_draw_viterbi(&draws, text, 7, random_u64(), 0, tokens));
        CHECK(sampler_entropy(&draws, text, 7, &entropy, &log_sum));
        CHECK(isfinite(entropy) && isfinite(log_sum) && entropy > -1e-6);
    }
    CHECK(sampler_prepare(&draws, &model, NAN, &error) == UNITOK_ERROR_ARGUMENT);
    CHECK(sampler_prepare(&draws, &model, -INFINITY, &error) == UNITOK_ERROR_ARGUMENT);
    CHECK(sampler_prepare(&draws, &model, 1.1e200, &error) == UNITOK_ERROR_ARGUMENT);
}

/* Tests weights that are 0 or infinite as doubles; only their ratio matters. */
static void test_out_of_range(void)
{
    static const double offsets[] = {-1e5, -800, -200, 200, 1000, 1e5};
    for (int round = 0; round < 6; round++) {
        const uint8_t *text = interesting_text(7, 10);
        flags = UNITOK_FLOAT64;
        /* Each byte adds the offset to the score of every path, so the ratios stay the same. */
        for (int64_t k = 0; k < pieces.n; k++) {
            types[k] = UNITOK_PIECE_NORMAL;
            double n_bytes = (double)(pieces.offsets[k + 1] - pieces.offsets[k]);
            scores[k] = offsets[round] * n_bytes - (double)random_below(8) / 4;
        }
        build_model();
        text = guard_copy(&text_guard, text, 7);
        enumerate_all(text, 7, 1);
        if (n_all < PATHS_MAX) draw_and_check(text, 7, 1);
    }
}

/* The distribution of BytePiece's older sampler: every choice at every edge and its probability. */
struct slow_edge {
    int64_t start, end;
    double score;
    int32_t id;
};

static struct slow_edge edges[64];
static int n_edges;

static void list_edges(const uint8_t *text, int64_t n_bytes)
{
    n_edges = 0;
    for (int64_t at = 0; at < n_bytes; at++) {
        for (int64_t k = 0; k < pieces.n; k++) {
            if (!slow_matches(k, text, at, n_bytes) || n_edges == 64) continue;
            int64_t end = at + pieces.offsets[k + 1] - pieces.offsets[k];
            edges[n_edges++] = (struct slow_edge){at, end, slow_score(k), (int32_t)pieces.ids[k]};
        }
    }
}

static void follow(int k, const double *held, const int *back, double p, double alpha,
                   int64_t n_bytes)
{
    double now[16];
    int last[16];
    if (k == n_edges) {
        token tokens[TOKENS_MAX];
        int64_t n = TOKENS_MAX;
        for (int64_t e = n_bytes; e > 0; e = edges[back[e]].start)
            tokens[--n] = (token){edges[back[e]].id, (uint32_t)e};
        all[find_path(tokens + n, TOKENS_MAX - n)].p += p;
        return;
    }
    const struct slow_edge *edge = &edges[k];
    double sum = held[edge->start] + edge->score, accept = 1;
    if (back[edge->end] >= 0) accept = 1 / (1 + exp(-alpha * (sum - held[edge->end])));
    if (accept < 1) follow(k + 1, held, back, p * (1 - accept), alpha, n_bytes);
    memcpy(now, held, sizeof now);
    memcpy(last, back, sizeof last);
    now[edge->end] = sum;
    last[edge->end] = k;
    follow(k + 1, now, last, p * accept, alpha, n_bytes);
}

static void test_viterbi(void)
{
    enum { N = 20000 };
    for (int round = 0; round < 8; round++) {
        const uint8_t *text;
        do {
            random_model(0);
            flags = UNITOK_FLOAT64 | UNITOK_BYTES;
            pieces_clear(&pieces);
            pieces_add(&pieces, "a", 1);
            pieces_add(&pieces, "b", 1);
            for (int k = 0; k < 6; k++) {
                uint8_t piece[4];
                int64_t n_bytes = 2 + random_below(3);
                random_symbols(0, piece, n_bytes);
                pieces_add(&pieces, piece, n_bytes);
            }
            for (int64_t k = 0; k < pieces.n; k++) types[k] = UNITOK_PIECE_NORMAL;
            build_model();
            text = random_text(0, 7);
            enumerate_all(text, 7, 1);
            list_edges(text, 7);
        } while (n_all < 8 || n_edges > 17);
        double alpha = round % 2 ? 0.3 : 1.5, held[16] = {0};
        int back[16];
        memset(back, -1, sizeof back);
        for (int i = 0; i < n_all; i++) all[i].p = 0;
        follow(0, held, back, 1, alpha, 7);
        prepare(alpha);
        int64_t counts[PATHS_MAX] = {0};
        token tokens[TOKENS_MAX];
        uint64_t seed = random_u64();
        for (uint64_t i = 0; i < N; i++)
            counts[find_path(
                tokens,
                sampler_draw_viterbi(&draws, text, 7, rng_document_key(seed, 1, i), 0, tokens))]++;
        check_paths(counts, N);
    }
}

/* Tests samples with their log probabilities, and samples among the n best. */
static void test_scored(void)
{
    enum { N = 20000 };
    for (int round = 0; round < 4; round++) {
        const uint8_t *text = interesting_text(7, 10);
        int64_t counts[PATHS_MAX] = {0};
        prepare(0.5);
        enumerate_all(text, 7, 0.5);
        CHECK(sampler_draw_scored(&draws, text, 7, N, random_u64(), &paths) && paths.n_paths == N);
        for (int64_t k = 0; k < N; k++) {
            int i = find_path(paths.tokens + paths.offsets[k],
                              paths.offsets[k + 1] - paths.offsets[k]);
            CHECK(fabs(paths.scores[k] - log(all[i].p)) < 1e-9 * (1 + fabs(log(all[i].p))));
            counts[i]++;
        }
        check_paths(counts, N);
        int64_t chosen[5] = {0};
        double p[5], sum = 0;
        uint64_t seed = random_u64();
        CHECK(nbest_find(&search, &model, text, 7, 5, &paths) && paths.n_paths == 5);
        for (int k = 0; k < 5; k++) sum += p[k] = exp(0.5 * (paths.scores[k] - paths.scores[0]));
        for (int k = 0; k < 5; k++) p[k] /= sum;
        for (uint64_t i = 0; i < N; i++)
            chosen[nbest_choose(&paths, 0.5, rng_document_key(seed, 0, i))]++;
        check_counts(chosen, p, 5, N);
    }
}

/* Draws two paths without replacement, in order. Inclusion probabilities are correct if the sum of
 * p / inclusion is 1 on average (Horvitz and Thompson). */
static void test_distinct(void)
{
    enum { N = 20000 };
    for (int round = 0; round < 4; round++) {
        const uint8_t *text = interesting_text(6, 6);
        while (n_all > 24) text = interesting_text(6, 6);
        static int64_t counts[24 * 24];
        static double p[24 * 24];
        double sum = 0, squares = 0;
        uint64_t seed = random_u64();
        memset(counts, 0, sizeof counts);
        enumerate_all(text, 6, 0.4);
        for (int i = 0; i < n_all; i++)
            for (int j = 0; j < n_all; j++)
                p[i * n_all + j] = i == j ? 0 : all[i].p * all[j].p / (1 - all[i].p);
        for (uint64_t t = 0; t < N; t++) {
            double estimate = 0;
            int found[2];
            CHECK(nbest_draw_distinct(&search, &model, text, 6, 2, 0.4, 0,
                                      rng_document_key(seed, 0, t), &paths));
            CHECK(paths.n_paths == 2);
            for (int k = 0; k < 2; k++) {
                found[k] = find_path(paths.tokens + paths.offsets[k],
                                     paths.offsets[k + 1] - paths.offsets[k]);
                CHECK(paths.scores[k] <= 0);
                estimate += all[found[k]].p / exp(paths.scores[k]);
            }
            counts[found[0] * n_all + found[1]]++;
            sum += estimate;
            squares += estimate * estimate;
        }
        check_counts(counts, p, n_all * n_all, N);
        double mean = sum / N, deviation = sqrt((squares / N - mean * mean) / N);
        CHECK(fabs(mean - 1) < 6 * deviation + 1e-9);
        CHECK(nbest_draw_distinct(&search, &model, text, 6, 1000, 0.4, 0, seed, &paths) &&
              paths.n_paths == n_all);
        for (int k = 0; k < n_all; k++) CHECK(paths.scores[k] == 0);
        CHECK(nbest_draw_distinct(&search, &model, text, 6, 1000, 0.4, 1, seed, &paths) &&
              paths.n_paths == n_all);
        CHECK(nbest_draw_distinct(&search, &model, text, 6, 3, 0.4, 1, seed, &paths) &&
              paths.n_paths == 3);
        CHECK(paths.scores[0] == 0 && paths.scores[1] <= 0 && paths.scores[2] <= 0);
    }
}

/* The best path is always first, and the others are a sample without replacement of the remaining
 * paths. */
static void test_distinct_with_best(void)
{
    enum { N = 10000 };
    for (int round = 0; round < 3; round++) {
        const uint8_t *text = interesting_text(6, 6);
        int64_t counts[PATHS_MAX] = {0};
        uint64_t seed = random_u64();
        CHECK(nbest_find(&search, &model, text, 6, 1, &paths));
        enumerate_all(text, 6, 0.4);
        int best = find_path(paths.tokens, paths.offsets[1]);
        double p_best = all[best].p;
        for (int i = 0; i < n_all; i++) all[i].p = i == best ? 0 : all[i].p / (1 - p_best);
        for (uint64_t t = 0; t < N; t++) {
            CHECK(nbest_draw_distinct(&search, &model, text, 6, 2, 0.4, 1,
                                      rng_document_key(seed, 0, t), &paths));
            CHECK(paths.n_paths == 2 && find_path(paths.tokens, paths.offsets[1]) == best);
            counts[find_path(paths.tokens + paths.offsets[1],
                             paths.offsets[2] - paths.offsets[1])]++;
        }
        CHECK(counts[best] == 0);
        check_paths(counts, N);
    }
}

/* ------------------------------------------------------------------------------ Long texts ---- */

/* Whether no edge spans position i. */
static int is_cut(const uint8_t *text, int64_t n_bytes, int64_t i)
{
    lattice_edge found[16];
    for (int64_t at = 0; at < i; at += lattice_char(&model, text, n_bytes, at)) {
        if (i - at > 16) continue;
        for (int64_t k = lattice_edges(&model, text, n_bytes, at, found) - 1; k >= 0; k--)
            if (at + found[k].n_bytes > i) return 0;
    }
    return 1;
}

/* A text yields the same samples in one part and in several parts that end at cuts. */
static void test_parts(void)
{
    static token whole[LONG_MAX], parts[LONG_MAX];
    for (int round = 0; round < 120; round++) {
        int set = (int)random_below(N_SYMBOL_SETS);
        int64_t n_bytes = random_below(random_below(4) ? 300 : 5000), n_parts = 0, begin = 0;
        random_model(set);
        const uint8_t *text = random_text(set, n_bytes);
        prepare((double)random_below(30) / 10);
        uint64_t key = random_u64();
        int viterbi = (int)random_below(2) && draws.alpha > 0;
        int64_t (*draw)(sampler *, const uint8_t *, int64_t, uint64_t, int64_t,
                        token *) = viterbi ? sampler_draw_viterbi : sampler_draw;
        int64_t n = draw(&draws, text, n_bytes, key, 1000, whole);
        for (int64_t end = 1; end <= n_bytes; end++) {
            if (end < n_bytes && (random_below(40) || !is_cut(text, n_bytes, end))) continue;
            int64_t n_more = draw(&draws, text + begin, end - begin, key, 1000 + begin,
                                  parts + n_parts);
            for (int64_t k = 0; k < n_more; k++) parts[n_parts + k].end += (uint32_t)begin;
            n_parts += n_more;
            begin = end;
        }
        CHECK(n == n_parts && !memcmp(whole, parts, (size_t)n * sizeof *whole));
        CHECK(n == 0 || whole[n - 1].end == n_bytes);
        for (int64_t k = 1; k < n; k++) CHECK(whole[k].end > whole[k - 1].end);
        for (int64_t k = 0; k < draws.n_cells; k++) CHECK(draws.cells[k].sum == 0);
    }
}

/* A run of one letter with pieces "a" and "aa" has no cut, and its sums grow or shrink without
 * bound. The number of tokens has a known mean and variance, from a recurrence in the same
 * lattice. */
static void test_run(double one, double two, int64_t n_bytes)
{
    enum { N = 60 };
    static token tokens[LONG_MAX];
    static double mean[LONG_MAX + 1], square[LONG_MAX + 1];
    flags = UNITOK_FLOAT64;
    pieces_clear(&pieces);
    pieces_add(&pieces, "a", 1);
    pieces_add(&pieces, "aa", 2);
    types[0] = types[1] = UNITOK_PIECE_NORMAL;
    scores[0] = one;
    scores[1] = two;
    build_model();
    prepare(1);
    uint8_t *text = guard_copy(&text_guard, NULL, (size_t)n_bytes);
    memset(text, 'a', (size_t)n_bytes);
    /* log w(e) - log w(e - 1) converges fast; p is the probability that the last piece before e is
     * "a". */
    double before = one;
    mean[0] = square[0] = 0;
    mean[1] = square[1] = 1;
    for (int64_t e = 2; e <= n_bytes; e++) {
        double p = 1 / (1 + exp(two - before - one)), q = 1 - p;
        before = one - log(p);
        mean[e] = 1 + p * mean[e - 1] + q * mean[e - 2];
        square[e] = p * (square[e - 1] + 2 * mean[e - 1]) + q * (square[e - 2] + 2 * mean[e - 2]) +
                    1;
    }
    double sum = 0;
    for (uint64_t i = 0; i < N; i++)
        sum += (double)sampler_draw(&draws, text, n_bytes, rng_document_key(5, 5, i), 0, tokens);
    double deviation = sqrt((square[n_bytes] - mean[n_bytes] * mean[n_bytes]) / N);
    CHECK(fabs(sum / N - mean[n_bytes]) < 6 * deviation + 1e-6);
}

static void test_runs(void)
{
    test_run(-1, -2, LONG_MAX);
    test_run(0, 0, LONG_MAX);
    test_run(-3, -5, 3000);
    test_run(2, 5, 3000);
    test_run(-250, -500, 2000);     /* scaled at every other position */
    test_run(-1e5, -2e5 + 1, 2000); /* weights are 0, so logarithms are used */
    test_run(700, 1400, 2000);
}

/* ----------------------------------------------------------------------------------- Small ---- */

static void test_edges_of_input(void)
{
    token tokens[4];
    double entropy, log_sum;
    for (int round = 0; round < 300; round++) {
        random_model((int)random_below(N_SYMBOL_SETS));
        prepare(1);
        const uint8_t *text = random_text(N_SYMBOL_SETS - 1, 1);
        CHECK(sampler_draw(&draws, text, 0, 1, 0, tokens) == 0);
        CHECK(sampler_draw(&draws, text, 1, 1, 0, tokens) == 1 && tokens[0].end == 1);
        CHECK(sampler_draw_viterbi(&draws, text, 1, 1, 0, tokens) == 1 && tokens[0].end == 1);
        CHECK(sampler_entropy(&draws, text, 0, &entropy, &log_sum) && entropy == 0 && log_sum == 0);
        CHECK(sampler_draw_scored(&draws, text, 0, 3, 1, &paths) && paths.n_paths == 3 &&
              paths.offsets[3] == 0);
        CHECK(nbest_find(&search, &model, text, 0, 5, &paths) && paths.n_paths == 1 &&
              paths.offsets[1] == 0);
        CHECK(nbest_draw_distinct(&search, &model, text, 0, 5, 1, 0, 1, &paths) &&
              paths.n_paths == 1);
        CHECK(nbest_draw_distinct(&search, &model, text, 1, 5, 1, 1, 1, &paths) &&
              paths.n_paths >= 1);
    }
}

/* A repeated letter has so many equal paths that the agenda shrinks and finally only the best path
 * is returned. */
static void test_limits(void)
{
    flags = 0;
    pieces_clear(&pieces);
    for (int64_t n = 1; n <= 5; n++) pieces_add(&pieces, "aaaaa", n);
    for (int64_t k = 0; k < pieces.n; k++) {
        scores[k] = -1 - (double)k;
        types[k] = UNITOK_PIECE_NORMAL;
    }
    build_model();
    uint8_t *text = guard_copy(&text_guard, NULL, 30000);
    memset(text, 'a', 30000);
    CHECK(nbest_find(&search, &model, text, 200, 600, &paths) && paths.n_paths == 600);
    for (int64_t k = 1; k < 600; k++) CHECK(is_no_more(paths.scores[k], paths.scores[k - 1]));
    CHECK(nbest_find(&search, &model, text, 30000, 200, &paths) && paths.n_paths == 1);
    CHECK(search.n_hypotheses < 500100);
    CHECK(nbest_draw_distinct(&search, &model, text, 2000, 100, 1, 0, 3, &paths) &&
          paths.n_paths == 100);
}

static int run_everything(const uint8_t *text, int64_t n_bytes, token *tokens)
{
    unitok_spec spec = spec_of();
    double entropy, log_sum;
    return unigram_new(&spec, &engine, &error) == UNITOK_OK &&
           lattice_model_init(engine, &spec, &model, &error) == UNITOK_OK &&
           sampler_prepare(&draws, &model, 1, &error) == UNITOK_OK &&
           sampler_draw(&draws, text, n_bytes, 1, 0, tokens) >= 0 &&
           sampler_draw_viterbi(&draws, text, n_bytes, 1, 0, tokens) >= 0 &&
           sampler_entropy(&draws, text, n_bytes, &entropy, &log_sum) &&
           sampler_draw_scored(&draws, text, n_bytes, 3, 1, &paths) &&
           nbest_find(&search, &model, text, n_bytes, 50, &paths) &&
           nbest_draw_distinct(&search, &model, text, n_bytes, 50, 1, 1, 1, &paths);
}

/* Every allocation fails once; nothing leaks, and after a failure the sampler draws as before. */
static void test_memory(void)
{
    static token tokens[LONG_MAX], again[LONG_MAX];
    enum { N = 4000 };
    test_run(-1, -2, N);
    uint8_t *text = guard_copy(&text_guard, NULL, N);
    memset(text, 'a', N);
    int64_t n = sampler_draw(&draws, text, N, 1, 0, tokens);
    forget_model();
    for (int64_t k = 1; k < 400; k++) {
        alloc_fail_at = k;
        int ok = run_everything(text, N, again);
        int is_done = alloc_fail_at > 0;
        alloc_fail_at = 0;
        CHECK(ok == is_done);
        if (draws.model) {
            CHECK(sampler_draw(&draws, text, N, 1, 0, again) == n);
            CHECK(!memcmp(tokens, again, (size_t)n * sizeof *tokens));
        }
        forget_model();
        if (is_done) return;
    }
    CHECK(!"more than 400 allocations");
}

/* Runs a test and frees its model. */
static void alone(void (*test)(void))
{
    test();
    forget_model();
}

int main(void)
{
    random_start(20240611);
    text_guard = guard_new(LONG_MAX * 2);
    RUN(alone(test_rng));
    RUN(alone(test_uniform));
    RUN(alone(test_edges_of_input));
    RUN(alone(test_enumeration));
    RUN(alone(test_exact));
    RUN(alone(test_extreme));
    RUN(alone(test_out_of_range));
    RUN(alone(test_viterbi));
    RUN(alone(test_scored));
    RUN(alone(test_distinct));
    RUN(alone(test_distinct_with_best));
    RUN(alone(test_parts));
    RUN(alone(test_runs));
    RUN(alone(test_limits));
    RUN(alone(test_memory));
    guard_free(&text_guard);
    return 0;
}
