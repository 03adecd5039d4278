/* test_train.c - tests counters and trainers: sorted counts, every allocation failing in turn,
 * hostile units */
#define _DEFAULT_SOURCE

#include "test_alloc.h"

#include "check.h"
#include "random.h"

#include "ground/common.h"
#include "unitok_train.h"

#define N_KEYS 3000

/* --------------------------------------------------------------------------------- Counter ---- */

static int compare(const uint8_t *a, int64_t n_a, const uint8_t *b, int64_t n_b)
{
    int order = memcmp(a, b, (size_t)(n_a < n_b ? n_a : n_b));
    return order ? order : (n_a > n_b) - (n_a < n_b);
}

/* Keys of few letters, including NULs, many with long common prefixes. */
static int64_t make_key(uint8_t *key)
{
    int64_t n = (int64_t)(random_u64() % 20), begin = 0;
    if (random_u64() % 3 == 0) {
        memset(key, 'a', 30);
        begin = 30;
    }
    for (int64_t i = 0; i < n; i++) key[begin + i] = (uint8_t)(random_u64() % 3);
    return begin + n;
}

static void test_counter(void)
{
    static uint8_t data[60 * N_KEYS];
    static int64_t offsets[N_KEYS + 1];
    unitok_counter *counter;
    unitok_error error;
    for (int64_t i = 0; i < N_KEYS; i++) offsets[i + 1] = offsets[i] + make_key(data + offsets[i]);
    CHECK(unitok_counter_new(0, &counter, &error) == UNITOK_OK);
    CHECK(unitok_counter_add(counter, &(unitok_units){data, offsets, NULL, N_KEYS}, &error) ==
          UNITOK_OK);
    CHECK(unitok_counter_sort(counter, &error) == UNITOK_OK);
    /* counting continues after a sort */
    CHECK(unitok_counter_add(counter, &(unitok_units){data, offsets, NULL, N_KEYS}, &error) ==
          UNITOK_OK);
    CHECK(unitok_counter_sort(counter, &error) == UNITOK_OK);
    int64_t n = unitok_counter_count(counter);
    uint8_t *keys = malloc(
        (size_t)unitok_counter_part_bytes(counter, 0, unitok_counter_count(counter)) + 1);
    int64_t *bounds = malloc((size_t)(n + 1) * sizeof *bounds);
    uint64_t *counts = malloc((size_t)(n + 1) * sizeof *counts), total = 0;
    unitok_counter_export(counter, 0, unitok_counter_count(counter), keys, bounds, counts);
    for (int64_t i = 0; i < n; i++) {
        total += counts[i];
        if (i)
            CHECK(compare(keys + bounds[i - 1], bounds[i] - bounds[i - 1], keys + bounds[i],
                          bounds[i + 1] - bounds[i]) < 0);
    }
    CHECK(total == 2 * N_KEYS);
    unitok_counter *other;
    CHECK(unitok_counter_new(0, &other, &error) == UNITOK_OK);
    CHECK(unitok_counter_add(other, &(unitok_units){keys, bounds, NULL, n}, &error) == UNITOK_OK);
    /* the counter is sorted */
    CHECK(unitok_counter_absorb(counter, other, 0, n, &error) == UNITOK_ERROR_ARGUMENT);
    unitok_counter_clear(counter);
    CHECK(unitok_counter_add(counter, &(unitok_units){keys, bounds, counts, n / 2}, &error) ==
          UNITOK_OK);
    CHECK(unitok_counter_absorb(counter, other, 0, n + 1, &error) == UNITOK_ERROR_ARGUMENT);
    CHECK(unitok_counter_absorb(counter, other, 0, n / 3, &error) == UNITOK_OK);
    CHECK(unitok_counter_absorb(counter, other, n / 3, n, &error) == UNITOK_OK);
    unitok_counter_drop_absorbed(other);
    CHECK(unitok_counter_count(counter) == n / 2 && unitok_counter_count(other) == n - n / 2);
    unitok_counter_export(counter, 0, n / 2, keys, bounds, counts);
    unitok_counter_free(other);
    unitok_counter_clear(counter);
    CHECK(unitok_counter_count(counter) == 0);
    free(keys);
    free(bounds);
    free(counts);
    unitok_counter_free(counter);
}

/* -------------------------------------------------------------------------- A training run ---- */

static const char TEXT[] =
    "\xE2\x96\x81the\xE2\x96\x81other\xE2\x96\x81there\xE2\x96\x81the\xE2\x96\x81mother\xE2\x96\x81"
    "caf\xC3\xA9\xE2\x96\x81the\n"
    "\xE2\x96\x81mother\xE2\x96\x81the\x1Fre\xE2\x96\x81<s>the\xE2\x96\x81"
    "caf\xC3\xA9\n\n\xE2\x96\x81there";

/* Does the work of each worker in turn, a few characters at a time. */
static int32_t share(unitok_bpe_trainer *bpe, int32_t n_workers)
{
    int32_t status = UNITOK_OK, done, n_left;
    unitok_error error;
    while (!status && unitok_bpe_trainer_is_shared(bpe)) {
        for (n_left = n_workers; n_left && !status;) {
            n_left = n_workers;
            for (int32_t k = 0; k < n_workers && !status; k++) {
                status = unitok_bpe_trainer_work(bpe, k, 7, &done, &error);
                n_left -= done;
            }
        }
        if (!status) status = unitok_bpe_trainer_join(bpe, &error);
    }
    return status;
}

/* Merges up to 200 pieces; -1 if allocation fails. */
static int64_t merge(unitok_bpe_trainer *bpe, int32_t n_workers, int64_t max_work)
{
    int32_t done = 0;
    int64_t made = 0;
    while (!done && made >= 0 && made < 200) {
        if (share(bpe, n_workers)) return -1;
        made = unitok_bpe_trainer_step(bpe, 200, 0, max_work, &done);
    }
    return made;
}

/* Replays half of a trainer's merges in another one, which then performs the other half. */
static int32_t resume(const unitok_rules *rules, const unitok_units *units,
                      const unitok_bpe_trainer *first, int64_t n_merges)
{
    unitok_bpe_trainer *again = NULL;
    unitok_error error;
    uint32_t symbols[600], resumed[600];
    uint64_t of[300], of_resumed[300];
    int64_t made = 0;
    int32_t status = unitok_bpe_trainer_new(rules, units, NULL, 3, &again, &error);
    CHECK(n_merges > 5 && n_merges <= 300);
    unitok_bpe_trainer_merges(first, 0, n_merges, symbols, of);
    if (!status) status = share(again, 3);
    if (!status) status = unitok_bpe_trainer_resume(again, symbols, of, n_merges / 2, &error);
    if (!status) made = merge(again, 3, 3);
    if (made < 0) status = UNITOK_ERROR_MEMORY;
    if (!status) {
        CHECK(made == n_merges);
        unitok_bpe_trainer_merges(again, 0, made, resumed, of_resumed);
        CHECK(!memcmp(symbols, resumed, (size_t)made * 8) &&
              !memcmp(of, of_resumed, (size_t)made * 8));
    }
    unitok_bpe_trainer_free(again);
    return status;
}

static int can_do_without; /* whether training continues without the allocation that failed */

/* Builds a lexicon in two parts, as two threads would. */
static int32_t make_lexicon(const uint8_t *pieces, const int64_t *bounds, int64_t n,
                            unitok_lexicon **ret, unitok_error *error)
{
    unitok_lexicon *parts[2] = {NULL, NULL};
    int64_t middle = n / 2;
    while (middle < n && pieces[bounds[middle]] == pieces[bounds[middle - 1]]) middle++;
    int32_t status = unitok_lexicon_new(pieces, bounds, 0, middle, 1, &parts[0], error);
    if (!status) status = unitok_lexicon_new(pieces, bounds, middle, n, 1, &parts[1], error);
    if (!status) status = unitok_lexicon_join((const unitok_lexicon *const *)parts, 2, ret, error);
    for (int i = 0; i < 2; i++) unitok_lexicon_free(parts[i]);
    return status;
}

/* Trains every kind of model from lines to pieces. Each step can fail to allocate memory, and
 * then everything is freed. */
static int32_t train(int32_t flags, int is_compatible)
{
    can_do_without = 0;
    unitok_rules *rules = NULL;
    unitok_counter *counter = NULL, *folded = NULL, *found = NULL;
    unitok_segmenter *segmenter = NULL;
    unitok_bpe_trainer *bpe = NULL;
    unitok_seeds *seeds = NULL;
    unitok_seed_finder *finder = NULL;
    unitok_lexicon *lexicon = NULL;
    unitok_lattice *lattice = NULL;
    unitok_edges *kept = NULL;
    unitok_error error;
    uint8_t data[4096], pieces[4096];
    int64_t offsets[300], bounds[300], text_bounds[2] = {0, sizeof TEXT - 1},
                                       symbol_bounds[2] = {0, 3};
    uint64_t counts[300], heavy[300], expected[300] = {0};
    double scores[300], p[300], losses[300], used[300] = {0}, likelihood = 0, score = 0;
    float exact[300] = {0}, exact_scores[300];
    uint8_t alive[300];
    int64_t order[300], tokens = 0, n;
    int32_t done_leaves = 0, status = unitok_rules_new(flags, 16, &rules, &error);
    if (!status) status = unitok_counter_new(0, &counter, &error);
    if (!status) status = unitok_counter_new(0, &folded, &error);
    if (!status) status = unitok_counter_new(0, &found, &error);
    unitok_segment_spec spec = {
        .rules = rules,
        .counter = counter,
        .max_line_bytes = 1000,
        .symbols = (const uint8_t *)"<s>",
        .symbol_offsets = symbol_bounds,
        .n_symbols = 1,
        .flags = is_compatible ? UNITOK_SEGMENT_FOLLOWERS : UNITOK_SEGMENT_CUT,
    };
    if (!status) status = unitok_segmenter_new(&spec, &segmenter, &error);
    if (!status)
        status = unitok_segmenter_add(segmenter, (const uint8_t *)TEXT, text_bounds, 1, &error);
    if (!status) status = unitok_segmenter_finish(segmenter, &error);
    if (status) goto end;
    n = unitok_counter_count(counter);
    CHECK(n > 3 && n < 300 &&
          unitok_counter_part_bytes(counter, 0, unitok_counter_count(counter)) < 4096);
    unitok_counter_export(counter, 0, unitok_counter_count(counter), data, offsets, counts);
    status = unitok_units_fold(&(unitok_units){data, offsets, counts, n}, NULL,
                               is_compatible ? UNITOK_FOLD_WHOLE : UNITOK_FOLD_CUT, folded, &error);
    if (!status) status = unitok_counter_sort(folded, &error);
    if (status) goto end;
    n = unitok_counter_count(folded);
    unitok_counter_export(folded, 0, unitok_counter_count(folded), data, offsets, counts);
    if (!is_compatible) {
        /* so that pairs of the other units are rare */
        for (int64_t i = 0; i < n; i++) heavy[i] = i % 3 ? counts[i] : counts[i] << 20;
        status = unitok_bpe_trainer_new(rules, &(unitok_units){data, offsets, heavy, n}, NULL, 2,
                                        &bpe, &error);
        if (status) goto end;
        int64_t made = merge(bpe, 2, 1);
        status = made < 0 ? UNITOK_ERROR_MEMORY
                          : resume(rules, &(unitok_units){data, offsets, heavy, n}, bpe, made);
        if (status) goto end;
    }
    status = unitok_seeds_new(rules, &(unitok_units){data, offsets, counts, n}, is_compatible,
                              &seeds, &error);
    for (double progress = 0; !status && progress < 1;)
        status = unitok_seeds_step(seeds, 7, &progress, &error);
    if (!status) status = unitok_seed_finder_new(seeds, is_compatible ? 0 : 5, &finder, &error);
    for (int64_t part = 0; !status && part < unitok_seeds_parts(seeds); part++)
        status = unitok_seed_finder_add(finder, part, &error);
    if (!status) status = unitok_seed_finder_finish(finder, found, &error);
    while (!status && !is_compatible && !done_leaves)
        status = unitok_seeds_leaves(seeds, 2, 7, &found, 1, &done_leaves, &error);
    if (!status) status = unitok_counter_sort(found, &error);
    if (status || is_compatible) goto end;
    int64_t n_pieces = unitok_counter_count(found);
    CHECK(n_pieces > 3);
    unitok_counter_export(found, 0, unitok_counter_count(found), pieces, bounds, expected);
    memset(expected, 0, sizeof expected);
    status = make_lexicon(pieces, bounds, n_pieces, &lexicon, &error);
    lattice = status ? NULL : unitok_lattice_new();
    kept = lattice ? unitok_edges_new(1 << 20) : NULL;
    if (!status && !kept) status = UNITOK_ERROR_MEMORY;
    for (int64_t i = 0; i < n_pieces; i++) {
        alive[i] = 1;
        order[i] = i;
        scores[i] = exact_scores[i] = -3.0f;
        p[i] = 0.05;
    }
    int has_memory = alloc_fail_at > 0;
    if (!status)
        status = unitok_unigram_expect(lexicon, lattice, kept, p, 1e-6,
                                       &(unitok_units){data, offsets, counts, n}, 1e6, expected,
                                       &likelihood);
    if (!status)
        status = unitok_unigram_expect_exact(lexicon, lattice, kept, exact_scores, -13, 0,
                                             &(unitok_units){data, offsets, counts, n}, exact);
    if (!status) unitok_unigram_maximize_f32(exact, order, n_pieces, alive, exact_scores);
    if (!status)
        status = unitok_unigram_paths_f64(lexicon, lattice, kept, scores, -13, -1,
                                          &(unitok_units){data, offsets, counts, n}, used, &score,
                                          &tokens);
    /* edges are kept only if allocation succeeds */
    can_do_without = has_memory && alloc_fail_at <= 0;
    if (!status)
        status = unitok_unigram_losses_f64(lexicon, lattice, scores, -13, -1, pieces, bounds, 0,
                                           n_pieces, used, 10, losses);
    if (!status) CHECK(likelihood < 0 && score < 0 && tokens > 3);
end:
    unitok_edges_free(kept);
    unitok_lattice_free(lattice);
    unitok_lexicon_free(lexicon);
    unitok_seed_finder_free(finder);
    unitok_seeds_free(seeds);
    unitok_bpe_trainer_free(bpe);
    unitok_segmenter_free(segmenter);
    unitok_counter_free(found);
    unitok_counter_free(folded);
    unitok_counter_free(counter);
    unitok_rules_free(rules);
    CHECK(alloc_live_blocks == 0);
    return status;
}

static void test_failing_memory(void)
{
    for (int32_t flags = 0; flags <= UNITOK_RULES_ALL; flags++) {
        for (int is_compatible = 0; is_compatible < 2; is_compatible++) {
            running = "training";
            round_ = flags;
            alloc_fail_at = 0;
            CHECK(train(flags, is_compatible) == UNITOK_OK);
            if (flags % 21) continue; /* each flag is set in several of these and clear in others */
            running = "training without memory";
            for (int k = 1;; k++) {
                alloc_fail_at = k;
                int32_t status = train(flags, is_compatible);
                if (alloc_fail_at > 0) break; /* every allocation succeeded */
                CHECK(status == UNITOK_ERROR_MEMORY || (status == UNITOK_OK && can_do_without));
            }
            alloc_fail_at = 0;
        }
    }
}

/* Bytes that are not valid units are rejected, without reading past them. */
static void test_hostile(void)
{
    unitok_rules *rules;
    unitok_counter *counter;
    unitok_error error;
    CHECK(unitok_rules_new(0, 16, &rules, &error) == UNITOK_OK &&
          unitok_counter_new(0, &counter, &error) == UNITOK_OK);
    for (round_ = 0; round_ < 3000; round_++) {
        int64_t n = 1 + (int64_t)(random_u64() % 12), bounds[2] = {0, n};
        uint8_t *unit = malloc((size_t)n);
        uint64_t one = 1, *by_char = calloc(0x110000, sizeof *by_char);
        unitok_bpe_trainer *bpe = NULL;
        unitok_seeds *seeds = NULL;
        for (int64_t i = 0; i < n; i++)
            unit[i] = (uint8_t)(random_u64() % 4 ? 0x80 + random_u64() % 0x80 : random_u64());
        if (round_ % 100 == 0)
            unitok_units_count_chars(&(unitok_units){unit, bounds, &one, 1}, by_char, &error);
        unitok_units_fold(&(unitok_units){unit, bounds, &one, 1}, NULL, (int32_t)(random_u64() % 3),
                          counter, &error);
        int32_t n_workers = (int32_t)(1 + random_u64() % 3);
        CHECK(unitok_bpe_trainer_new(rules, &(unitok_units){unit, bounds, &one, 1}, NULL, n_workers,
                                     &bpe, &error) == UNITOK_OK);
        if (share(bpe, n_workers) == UNITOK_OK) {
            uint32_t merges[12];
            uint64_t heavy[6] = {9, 8, 7, 6, 5, 4};
            for (int i = 0; i < 12; i++)
                merges[i] = random_u64() % 9 ? (uint32_t)(random_u64() % 4)
                                             : (uint32_t)random_u64();
            if (unitok_bpe_trainer_resume(bpe, merges, heavy, (int64_t)(random_u64() % 7),
                                          &error) == UNITOK_OK)
                CHECK(merge(bpe, n_workers, 1) >= 0);
            else CHECK(error.status == UNITOK_ERROR_ARGUMENT);
        }
        unitok_seed_finder *finder = NULL;
        if (unitok_seeds_new(rules, &(unitok_units){unit, bounds, &one, 1}, 0, &seeds, &error) ==
            UNITOK_OK) {
            for (double progress = 0; progress < 1;)
                CHECK(unitok_seeds_step(seeds, 1000, &progress, &error) == UNITOK_OK);
            CHECK(unitok_seed_finder_new(seeds, 0, &finder, &error) == UNITOK_OK);
            for (int64_t part = 0; part < unitok_seeds_parts(seeds); part++)
                CHECK(unitok_seed_finder_add(finder, part, &error) == UNITOK_OK);
            unitok_seed_finder_free(finder);
        }
        unitok_rules_allow(rules, unit, n);
        unitok_bpe_trainer_free(bpe);
        unitok_seeds_free(seeds);
        free(by_char);
        free(unit);
    }
    unitok_counter_free(counter);
    unitok_rules_free(rules);
}

int main(void)
{
    random_start(88172645463325252u);
    RUN(test_counter());
    RUN(test_failing_memory());
    RUN(test_hostile());
    return 0;
}
