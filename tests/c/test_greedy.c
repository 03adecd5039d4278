/* test_greedy.c - runs rounds of greedy training on text that ends at a guard page, with failing
 * allocations
 *
 * tests/test_train_longest.py compares the counts with the definition. This test checks their
 * totals, and that a failure leaks nothing. */
#define _DEFAULT_SOURCE

#include "test_alloc.h"

#include "check.h"
#include "guard.h"
#include "random.h"

#include "train/greedy.h"

#define MAX_TEXT 4096

static const unitok_greedy_rules FREE = {
    UNITOK_GREEDY_MAX_BYTES, UNITOK_GREEDY_MAX_BYTES, 1 << 20, 1 << 20, 0, 0};
static uint8_t pieces[1024];
static int64_t offsets[512];
static int64_t n_pieces;

/* The pieces are all bytes, and some strings that begin with 'a' or 0xFF, in order. */
static void make_pieces(void)
{
    static const char *more[] = {"aa", "ab", "aba", "abab"};
    int64_t n_bytes = 0;
    n_pieces = 0;
    for (int byte = 0; byte < 256; byte++) {
        offsets[n_pieces++] = n_bytes;
        pieces[n_bytes++] = (uint8_t)byte;
        for (size_t k = 0; byte == 'a' && k < sizeof more / sizeof *more; k++) {
            offsets[n_pieces++] = n_bytes;
            memcpy(pieces + n_bytes, more[k], strlen(more[k]));
            n_bytes += (int64_t)strlen(more[k]);
        }
    }
    offsets[n_pieces++] = n_bytes;
    pieces[n_bytes++] = 0xFF;
    pieces[n_bytes++] = 0xFF;
    offsets[n_pieces] = n_bytes;
}

/* Runs one round over `text`, counted twice and merged; returns 0 if allocation fails. */
static int run_round(const uint8_t *text, int64_t n_bytes)
{
    unitok_greedy *greedy = NULL;
    unitok_greedy_counts *counts = NULL, *other = NULL;
    unitok_error error;
    int64_t bounds[3] = {0, n_bytes / 3, n_bytes};
    int32_t status = unitok_greedy_new(pieces, offsets, n_pieces, &FREE, &greedy, &error);
    if (!status) status = unitok_greedy_counts_new(greedy, &counts, &error);
    if (!status) status = unitok_greedy_counts_new(greedy, &other, &error);
    for (int k = 0; !status && k < 2; k++) {
        unitok_greedy_counts *c = k ? other : counts;
        status = unitok_greedy_count(c, text, bounds, 2, UNITOK_GREEDY_VALUES | UNITOK_GREEDY_PAIRS,
                                     &error);
        if (!status) status = unitok_greedy_end_source(c, 3, 10, &error);
    }
    if (!status) status = unitok_greedy_merge(counts, other, &error);
    if (status) {
        CHECK(status == UNITOK_ERROR_MEMORY && error.status == status);
    } else {
        unitok_greedy_sums sums;
        unitok_greedy_get_sums(counts, &sums);
        CHECK(sums.n_bytes == 2 * n_bytes && sums.n_tokens <= sums.n_bytes &&
              unitok_greedy_pairs(counts, NULL, NULL, NULL, NULL, 0) >= 0);
        for (int64_t k = 0; k < n_pieces; k++)
            CHECK(sums.uses[k] >= 0 && sums.n_sources[k] % 2 == 0 && sums.n_sources[k] <= 2);
    }
    unitok_greedy_counts_free(other);
    unitok_greedy_counts_free(counts);
    unitok_greedy_free(greedy);
    return !status;
}

static void test_texts(struct guard *guard)
{
    static uint8_t text[MAX_TEXT];
    for (round_ = 0; round_ < 400; round_++) {
        int64_t n_bytes = (int64_t)(random_u64() % (round_ < 300 ? 20 : MAX_TEXT));
        for (int64_t i = 0; i < n_bytes; i++) text[i] = "ab\xFF\x00"[random_u64() >> 62];
        CHECK(run_round(guard_copy(guard, text, (size_t)n_bytes), n_bytes));
        CHECK(alloc_live_blocks == 0);
    }
}

static void test_memory(void)
{
    static uint8_t text[MAX_TEXT];
    for (int64_t i = 0; i < MAX_TEXT; i++) text[i] = (uint8_t)(random_u64() >> 56);
    for (int64_t k = 1;; k++) {
        alloc_fail_at = k;
        int is_done = run_round(text, MAX_TEXT);
        int was_reached = alloc_fail_at == 0;
        alloc_fail_at = 0;
        CHECK(alloc_live_blocks == 0 && is_done == !was_reached);
        if (is_done) break;
    }
}

static void test_arguments(void)
{
    unitok_greedy *greedy = NULL;
    unitok_error error;
    CHECK(unitok_greedy_new(pieces, offsets, 255, &FREE, &greedy, &error) == UNITOK_ERROR_ARGUMENT);
    CHECK(unitok_greedy_new(pieces, offsets, n_pieces - 2, &FREE, &greedy, &error) ==
          UNITOK_ERROR_VOCABULARY);
    CHECK(error.position == 255 && !greedy && alloc_live_blocks == 0);
}

int main(void)
{
    struct guard guard = guard_new(MAX_TEXT);
    make_pieces();
    RUN(test_texts(&guard));
    RUN(test_memory());
    RUN(test_arguments());
    guard_free(&guard);
    return 0;
}
