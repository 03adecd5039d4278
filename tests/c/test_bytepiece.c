/* test_bytepiece.c - tests BytePiece's trainer: totals and counts of n-grams, a failure of each
 * allocation, texts that end at a guard page, and invalid n-grams */
#define _DEFAULT_SOURCE

#include "test_alloc.h"

#include <math.h>

#include "check.h"
#include "guard.h"
#include "random.h"

#include "ground/common.h"
#include "unitok_train.h"

#define N_BYTES 3000
#define STEP 100

static uint8_t is_digit[0x110000];

/* Makes text of a few letters, newlines, digits, and multibyte characters, some of them invalid. */
static void make_text(uint8_t *text, int64_t n)
{
    static const uint8_t bytes[] = {'a',  'b',  'a',  'b',  ' ',  '\n', '1',
                                    0xE7, 0x8C, 0xAB, 0xD9, 0xA3, 0,    0xFF};
    for (int64_t i = 0; i < n; i++) text[i] = bytes[random_u64() % (round_ % 3 ? 5 : sizeof bytes)];
}

typedef struct trained {
    uint64_t total;
    int64_t n_ngrams, n_pieces;
    uint64_t used_bytes;
} trained;

static double logs[UNITOK_NGRAM_LOGS];

static void take_log(uint64_t *place)
{
    double value = log((double)*place);
    memcpy(place, &value, sizeof value);
}

static void take_logs(unitok_ngram_model *model, unitok_ngram_tables *tables)
{
    unitok_ngram_model_get_tables(model, tables);
    unitok_ngram_model_finish(model, log((double)tables->total), logs);
    for (int64_t i = 0; i < 256 + 65536; i++) take_log(&tables->few[i]);
    for (int64_t i = 0; i < tables->n_large_slots; i++) take_log(&tables->large[2 * i + 1]);
}

/* Runs all steps of training on a text, up to recounting the pieces. */
static int32_t train(const uint8_t *text, const int64_t *bounds, int order, int flags,
                     const uint8_t *digits, trained *ret)
{
    unitok_ngrams *ngrams = NULL;
    unitok_ngram_model *model = NULL, *loaded = NULL;
    unitok_counter *counter = NULL;
    unitok_ngram_cutter *cutter = NULL;
    unitok_lexicon *lexicon = NULL;
    unitok_lattice *lattice = NULL;
    unitok_error error;
    unitok_cursor at = {0, 0}, again = {0, 0};
    uint64_t *keys = NULL, *counts = NULL, *used = NULL;
    uint8_t *data = NULL, *alive = NULL;
    int64_t *offsets = NULL, n = 0;
    double *scores = NULL;
    int32_t status = unitok_ngrams_new(order, digits, &ngrams, &error);
    while (!status && at.document < 2)
        status = unitok_ngrams_add(ngrams, text, bounds, 2, STEP, &at, &error);
    if (!status) status = unitok_ngram_model_new(order, 2, &model, &error);
    if (status) goto end;
    status = unitok_ngrams_sort(ngrams, &error);
    if (status) goto end;
    ret->n_ngrams = unitok_ngrams_count(ngrams);
    keys = malloc((size_t)(ret->n_ngrams + 5) * sizeof *keys);
    counts = malloc((size_t)(ret->n_ngrams + 5) * sizeof *counts);
    unitok_ngram_place place = {0, 0};
    for (int64_t i = 0, n_next = 1; n_next; i += n_next) { /* in parts */
        n_next = unitok_ngrams_export(ngrams, &place, 5, keys + i, counts + i);
        CHECK(n_next == (ret->n_ngrams - i < 5 ? ret->n_ngrams - i : 5));
    }
    for (int pass = 0; pass < 2 && !status; pass++) {
        for (int64_t i = 0; i < ret->n_ngrams && !status; i += 7) /* in parts */
            status = unitok_ngram_model_scan(model, keys + i, counts + i,
                                             ret->n_ngrams - i < 7 ? ret->n_ngrams - i : 7, &error);
        if (!status) status = unitok_ngram_model_end_pass(model, &error);
    }
    if (status) goto end;
    unitok_ngram_tables tables;
    take_logs(model, &tables);
    ret->total = tables.total;
    status = unitok_ngram_model_load(order, &tables, log((double)ret->total), logs, &loaded,
                                     &error);
    if (!status) status = unitok_counter_new(0, &counter, &error);
    if (!status) status = unitok_ngram_cutter_new(loaded, counter, digits, flags, &cutter, &error);
    while (!status && again.document < 2)
        status = unitok_ngram_cutter_add(cutter, text, bounds, 2, STEP, &again, &error);
    uint8_t bytes[256];
    int64_t byte_bounds[257];
    for (int i = 0; i < 257; i++) {
        bytes[i & 255] = (uint8_t)i;
        byte_bounds[i] = i;
    }
    if (!status)
        status = unitok_counter_add(counter, &(unitok_units){bytes, byte_bounds, NULL, 256},
                                    &error);
    if (!status) status = unitok_counter_sort(counter, &error);
    if (status) goto end;
    ret->n_pieces = n = unitok_counter_count(counter);
    data = malloc((size_t)unitok_counter_part_bytes(counter, 0, unitok_counter_count(counter)));
    offsets = malloc((size_t)(n + 1) * sizeof *offsets);
    used = calloc((size_t)n + 1, sizeof *used);
    alive = malloc((size_t)n);
    scores = malloc((size_t)n * sizeof *scores);
    uint64_t *weights = realloc(counts, (size_t)n * sizeof *counts);
    counts = weights;
    unitok_counter_export(counter, 0, unitok_counter_count(counter), data, offsets, counts);
    for (int64_t i = 0; i < n; i++) {
        alive[i] = offsets[i + 1] - offsets[i] == 1 || random_u64() % 2;
        scores[i] = -1.0 - (double)(random_u64() % 8);
    }
    status = unitok_lexicon_new(data, offsets, 0, n, 0, &lexicon, &error);
    lattice = status ? NULL : unitok_lattice_new();
    if (!status && !lattice) status = UNITOK_ERROR_MEMORY;
    if (!status)
        status = unitok_unigram_recount(lexicon, lattice, alive, scores,
                                        &(unitok_units){data, offsets, counts, n}, used);
    ret->used_bytes = 0;
    for (int64_t i = 0; i < n && !status; i++) {
        ret->used_bytes += used[i] * (uint64_t)(offsets[i + 1] - offsets[i]);
        CHECK(alive[i] || !used[i]);
    }
end:
    unitok_lattice_free(lattice);
    unitok_lexicon_free(lexicon);
    unitok_ngram_cutter_free(cutter);
    unitok_counter_free(counter);
    unitok_ngram_model_free(loaded);
    unitok_ngram_model_free(model);
    unitok_ngrams_free(ngrams);
    free(keys);
    free(counts);
    free(used);
    free(data);
    free(alive);
    free(offsets);
    free(scores);
    CHECK(alloc_live_blocks == 0);
    return status;
}

/* Trains on a text that ends at a guard page, and checks that no byte is lost. */
static void test_texts(void)
{
    struct guard guard = guard_new(N_BYTES);
    static uint8_t made[N_BYTES];
    for (round_ = 0; round_ < 200; round_++) {
        int64_t n = 1 + (int64_t)(random_u64() % (round_ % 10 ? 200 : N_BYTES));
        int64_t bounds[3] = {0, (int64_t)(random_u64() % (uint64_t)(n + 1)), n};
        make_text(made, n);
        const uint8_t *text = guard_copy(&guard, made, (size_t)n);
        int seen[256] = {0}, n_missing = 256;
        for (int64_t i = 0; i < n; i++) n_missing -= !seen[text[i]]++;
        trained result;
        CHECK(train(text, bounds, 1 + round_ % 7, round_ % 4, round_ % 5 ? NULL : is_digit,
                    &result) == UNITOK_OK);
        CHECK(result.total == (uint64_t)(n + n_missing));
        CHECK(result.used_bytes == (uint64_t)(n + 256));
    }
    guard_free(&guard);
}

/* The counts of a text of one letter are too large for a slot. */
static void test_large_counts(void)
{
    static uint8_t text[70000];
    memset(text, 'a', sizeof text);
    for (int order = 1; order <= 7; order++) {
        unitok_ngrams *ngrams;
        unitok_error error;
        int64_t bounds[2] = {0, sizeof text}, n_chunks = sizeof text / 10000;
        CHECK(unitok_ngrams_new(order, NULL, &ngrams, &error) == UNITOK_OK);
        for (unitok_cursor at = {0, 0}; at.document < 1;)
            CHECK(unitok_ngrams_add(ngrams, text, bounds, 1, 50000, &at, &error) == UNITOK_OK);
        CHECK(unitok_ngrams_sort(ngrams, &error) == UNITOK_OK);
        CHECK(unitok_ngrams_count(ngrams) == order);
        uint64_t keys[8], counts[8];
        unitok_ngram_place place = {0, 0};
        CHECK(unitok_ngrams_export(ngrams, &place, 8, keys, counts) == order);
        for (int n = 1; n <= order; n++) {
            CHECK(keys[n - 1] == ((UINT64_C(0x6161616161616161) << (64 - 8 * n)) | (uint64_t)n));
            CHECK(counts[n - 1] == (uint64_t)(n_chunks * (n < order ? 1 : 10000 - order + 1)));
        }
        unitok_ngrams_free(ngrams);
    }
}

static void test_failing_memory(void)
{
    static uint8_t text[N_BYTES];
    int64_t bounds[3] = {0, 100, N_BYTES};
    trained result;
    round_ = 1;
    make_text(text, N_BYTES);
    int n_forgiven = 0; /* a sorted table that cannot shrink keeps its size */
    for (int k = 1;; k++) {
        alloc_fail_at = k;
        int32_t status = train(text, bounds, 6, 3, NULL, &result);
        if (alloc_fail_at > 0) break; /* every allocation succeeded */
        CHECK(status == UNITOK_ERROR_MEMORY || n_forgiven++ == 0);
    }
    alloc_fail_at = 0;
}

static unitok_ngrams *sorted_ngrams(const uint8_t *text, const int64_t *bounds, int64_t n_docs,
                                    int order)
{
    unitok_ngrams *ngrams;
    unitok_cursor at = {0, 0};
    CHECK(unitok_ngrams_new(order, is_digit, &ngrams, NULL) == UNITOK_OK);
    while (at.document < n_docs)
        CHECK(unitok_ngrams_add(ngrams, text, bounds, n_docs, STEP, &at, NULL) == UNITOK_OK);
    CHECK(unitok_ngrams_sort(ngrams, NULL) == UNITOK_OK);
    return ngrams;
}

static unitok_ngram_model *scanned(int order, const unitok_ngrams *const *tables, int64_t n_tables,
                                   int64_t budget)
{
    unitok_ngram_model *model;
    CHECK(unitok_ngram_model_new(order, 2, &model, NULL) == UNITOK_OK);
    for (int pass = 0; pass < 2; pass++) {
        unitok_ngram_place places[3] = {{0, 0}, {0, 0}, {0, 0}};
        int32_t is_done = 0;
        while (!is_done)
            CHECK(unitok_ngram_model_scan_tables(model, tables, n_tables, places, budget, &is_done,
                                                 NULL) == UNITOK_OK);
        CHECK(unitok_ngram_model_end_pass(model, NULL) == UNITOK_OK);
    }
    return model;
}

/* Checks that several tables, scanned in steps, yield the same model as one table of all texts. */
static void test_tables(void)
{
    static uint8_t text[N_BYTES];
    for (round_ = 0; round_ < 60; round_++) {
        int64_t bounds[4] = {0, N_BYTES / 3, round_ % 5 ? N_BYTES / 2 : N_BYTES / 3, N_BYTES};
        int order = 1 + round_ % 7;
        make_text(text, N_BYTES);
        /* counts too large for a slot */
        if (round_ % 4 == 0) memset(text, 'a', 2 * N_BYTES / 3);
        unitok_ngrams *all = sorted_ngrams(text, bounds, 3, order), *of[3];
        for (int i = 0; i < 3; i++) of[i] = sorted_ngrams(text, bounds + i, 1, order);
        unitok_ngram_model *one = scanned(order, (const unitok_ngrams *const[]){all}, 1, INT64_MAX);
        unitok_ngram_model *three = scanned(
            order, (const unitok_ngrams *const[]){of[0], of[1], of[2]}, 3, 1 + round_ % 9);
        unitok_ngram_tables a, b;
        unitok_ngram_model_get_tables(one, &a);
        unitok_ngram_model_get_tables(three, &b);
        int64_t n_slots = 0;
        for (int n = 0; n <= UNITOK_NGRAM_MAX_ORDER; n++) n_slots += a.n_slots[n];
        CHECK(a.total == b.total);
        CHECK(memcmp(a.n_slots, b.n_slots, sizeof a.n_slots) == 0 &&
              a.n_large_slots == b.n_large_slots);
        CHECK(memcmp(a.few, b.few, (256 + 65536) * sizeof *a.few) == 0);
        CHECK(memcmp(a.slots, b.slots, (size_t)n_slots * sizeof *a.slots) == 0);
        CHECK(memcmp(a.large, b.large, (size_t)(2 * a.n_large_slots) * sizeof *a.large) == 0);
        unitok_ngram_model_free(one);
        unitok_ngram_model_free(three);
        unitok_ngrams_free(all);
        for (int i = 0; i < 3; i++) unitok_ngrams_free(of[i]);
    }
}

/* Rejects invalid n-grams, and n-grams out of order. */
static void test_hostile(void)
{
    unitok_error error;
    for (round_ = 0; round_ < 2000; round_++) {
        unitok_ngram_model *model;
        uint64_t keys[4], counts[4] = {1, 2, 3, UINT64_MAX};
        int order = 1 + round_ % 7;
        CHECK(unitok_ngram_model_new(order, 2, &model, &error) == UNITOK_OK);
        for (int i = 0; i < 4; i++) {
            uint64_t length = random_u64() % (round_ % 2 ? 9 : (uint64_t)order + 1);
            keys[i] = length ? (random_u64() >> (64 - 8 * (length < 8 ? length : 7)))
                                   << (64 - 8 * (length < 8 ? length : 7))
                             : 0;
            keys[i] |= random_u64() % 8 ? length : random_u64() % 256;
        }
        int32_t status = UNITOK_OK;
        for (int pass = 0; pass < 2 && !status; pass++) {
            status = unitok_ngram_model_scan(model, keys, counts, 4, &error);
            if (!status) status = unitok_ngram_model_end_pass(model, &error);
        }
        CHECK(status == UNITOK_OK || status == UNITOK_ERROR_ARGUMENT);
        for (int i = 0; i < 4 && !status; i++)
            CHECK((i == 0 || keys[i] > keys[i - 1]) && keys[i] % 256 <= (uint64_t)order);
        if (!status) CHECK(unitok_ngram_model_end_pass(model, &error) == UNITOK_ERROR_ARGUMENT);
        unitok_ngram_model_free(model);

        /* The second scan has more n-grams than the first one. */
        static const uint64_t two[] = {UINT64_C(0x6161610000000003), UINT64_C(0x6161620000000003)};
        CHECK(unitok_ngram_model_new(3, 2, &model, &error) == UNITOK_OK);
        CHECK(unitok_ngram_model_scan(model, two, counts + 1, round_ % 2, &error) == UNITOK_OK);
        CHECK(unitok_ngram_model_end_pass(model, &error) == UNITOK_OK);
        status = unitok_ngram_model_scan(model, two, counts + 1 + round_ % 2, 2, &error);
        if (!status) status = unitok_ngram_model_end_pass(model, &error);
        CHECK(status == UNITOK_ERROR_ARGUMENT);
        unitok_ngram_model_free(model);
    }
    unitok_ngrams *ngrams;
    CHECK(unitok_ngrams_new(0, NULL, &ngrams, &error) == UNITOK_ERROR_ARGUMENT);
    CHECK(unitok_ngrams_new(8, NULL, &ngrams, &error) == UNITOK_ERROR_ARGUMENT);
    CHECK(unitok_ngrams_new(3, NULL, &ngrams, &error) == UNITOK_OK);
    CHECK(unitok_ngrams_sort(ngrams, &error) == UNITOK_OK);
    int64_t bounds[2] = {0, 1}, wrong[2] = {1, 0};
    unitok_cursor at = {0, 0};
    /* the table is sorted */
    CHECK(unitok_ngrams_add(ngrams, (const uint8_t *)"a", bounds, 1, 1, &at, &error) ==
          UNITOK_ERROR_ARGUMENT);
    CHECK(unitok_ngrams_clear(ngrams, &error) == UNITOK_OK);
    CHECK(unitok_ngrams_add(ngrams, (const uint8_t *)"a", wrong, 1, 1, &at, &error) ==
          UNITOK_ERROR_ARGUMENT);
    CHECK(unitok_ngrams_add(ngrams, (const uint8_t *)"a", bounds, 1, 1, &at, &error) == UNITOK_OK);
    CHECK(unitok_ngrams_count(ngrams) == 1);
    unitok_ngrams_free(ngrams);
}

int main(void)
{
    for (int i = 0; i < UNITOK_NGRAM_LOGS; i++) logs[i] = log(i);
    random_start(88172645463325252u);
    memset(&is_digit['0'], 1, 10);
    memset(&is_digit[0x660], 1, 10);
    RUN(test_texts());
    RUN(test_large_counts());
    RUN(test_failing_memory());
    RUN(test_tables());
    RUN(test_hostile());
    return 0;
}
