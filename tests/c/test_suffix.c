/* test_suffix.c - compares the suffix sorter with qsort, between guard pages, step by step, with
 * failing allocations */
#define _DEFAULT_SOURCE

#include "test_alloc.h"

#include "check.h"
#include "guard.h"
#include "random.h"

#include "ground/common.h"
#include "unitok_search.h"

#define MAX_N 3000

static const uint32_t *compared;
static int64_t n_compared;
static struct guard text_guard, sa_guard;

static int compare(const void *a, const void *b)
{
    int64_t i = *(const int64_t *)a, j = *(const int64_t *)b;
    while (i < n_compared && j < n_compared && compared[i] == compared[j]) i++, j++;
    if (i == n_compared || j == n_compared) return i == n_compared ? -1 : 1;
    return compared[i] < compared[j] ? -1 : 1;
}

/* Stores symbols[0..n-1] in symbol_bytes bytes each, up to a guard page. */
static const void *as_text(const uint32_t *symbols, int64_t n, int32_t symbol_bytes)
{
    uint8_t *text = guard_copy(&text_guard, NULL, (size_t)(n * symbol_bytes));
    for (int64_t i = 0; i < n; i++)
        memcpy(text + i * symbol_bytes, &symbols[i], (size_t)symbol_bytes);
    return text;
}

static int64_t entry(const void *sa, int32_t position_bytes, int64_t r)
{
    return position_bytes == 4 ? (int64_t)((const uint32_t *)sa)[r]
                               : (int64_t)((const uint64_t *)sa)[r];
}

static int32_t sort(const void *text, int64_t n, int32_t symbol_bytes, int64_t n_symbols, void *sa,
                    int32_t position_bytes, int64_t budget)
{
    unitok_suffix *suffix = NULL;
    unitok_error error = {0};
    int32_t status = unitok_suffix_new(text, n, symbol_bytes, n_symbols, sa, position_bytes,
                                       &suffix, &error);
    double done = 0, before = 0;
    while (status == UNITOK_OK && done < 1) {
        status = unitok_suffix_step(suffix, budget, &done, &error);
        CHECK(done >= before);
        before = done;
    }
    CHECK(status == error.status);
    unitok_suffix_free(suffix);
    CHECK(alloc_live_blocks == 0 && alloc_live_bytes == 0);
    return status;
}

static void check_tools(const void *text, const uint32_t *symbols, int64_t n, int32_t symbol_bytes,
                        int64_t n_symbols, void *sa, int32_t position_bytes)
{
    uint64_t *starts = calloc((size_t)n_symbols + 1, sizeof *starts);
    uint64_t *heads = calloc((size_t)n_symbols + 1, sizeof *heads);
    for (int64_t i = 0; i < n; i++) starts[symbols[i] + 1]++;
    for (int64_t c = 0; c < n_symbols; c++) starts[c + 1] += starts[c];
    for (int wrong = 0; wrong < 2; wrong++) {
        memcpy(heads, starts, (size_t)n_symbols * sizeof *starts);
        if (wrong && n > 1) memcpy(sa, (uint8_t *)sa + position_bytes, (size_t)position_bytes);
        int64_t half = n / 2, at;
        at = unitok_suffix_check(text, n, symbol_bytes, NULL, n_symbols, sa, position_bytes, starts,
                                 heads, 0, half);
        if (at < 0)
            at = unitok_suffix_check(text, n, symbol_bytes, NULL, n_symbols, sa, position_bytes,
                                     starts, heads, half, n);
        CHECK(wrong && n > 1 ? at >= 0 : at == -1);
    }
    free(starts);
    free(heads);
    /* The array is damaged now: computing common prefixes must still be safe. */
    uint8_t *phi = malloc((size_t)(n * position_bytes) + 1);
    for (int64_t i = 0; i < n; i++) {
        if (position_bytes == 4) ((uint32_t *)phi)[i] = (uint32_t)n;
        else ((uint64_t *)phi)[i] = (uint64_t)n;
    }
    CHECK(unitok_suffix_phi(sa, n, position_bytes, phi, 0, n) == -1);
    CHECK(unitok_suffix_plcp(text, n, symbol_bytes, phi, position_bytes, 0, n, 0) >= 0);
    free(phi);
}

static void check_sorted(const uint32_t *symbols, int64_t n, uint32_t n_symbols, int64_t budget)
{
    static int64_t expected[MAX_N];
    for (int64_t i = 0; i < n; i++) expected[i] = i;
    compared = symbols;
    n_compared = n;
    qsort(expected, (size_t)n, sizeof *expected, compare);
    /* Tests one width per text; two bytes only sometimes, because their tables are large. */
    int32_t position_bytes = round_ % 2 ? 4 : 8,
            symbol_bytes = n_symbols > 256 || round_ % 4 < 2 ? 4 : 1;
    if (round_ % 64 == 0) symbol_bytes = 2;
    const void *text = as_text(symbols, n, symbol_bytes);
    void *sa = guard_copy(&sa_guard, NULL, (size_t)(n * position_bytes));
    /* need not be initialized */
    memset(sa, round_ % 3 ? 0xFF : 0x5A, (size_t)(n * position_bytes));
    CHECK(sort(text, n, symbol_bytes, n_symbols, sa, position_bytes, budget) == UNITOK_OK);
    for (int64_t r = 0; r < n; r++) CHECK(entry(sa, position_bytes, r) == expected[r]);
    check_tools(text, symbols, n, symbol_bytes, n_symbols, sa, position_bytes);
}

static void test_every_short_text(void)
{
    uint32_t symbols[10];
    for (int64_t n = 0, count = 1; n <= 10; n++, count *= 3)
        for (int64_t number = 0; number < count; number++) {
            int64_t rest = number;
            for (int64_t i = 0; i < n; i++, rest /= 3) symbols[i] = (uint32_t)(rest % 3);
            round_ = (int)number;
            check_sorted(symbols, n, 3, number % 2 ? 1000 : 3);
        }
}

static uint32_t random_below(uint32_t n) { return (uint32_t)((random_u64() >> 33) % n); }

static void make_text(uint32_t *symbols, int64_t n, uint32_t n_symbols)
{
    int64_t period = 1 + random_below((uint32_t)n + 1);
    int shape = (int)random_below(4);
    for (int64_t i = 0; i < n; i++) {
        symbols[i] = random_below(n_symbols);
        if (shape == 1 && i >= period) symbols[i] = symbols[i - period];
        /* nearly every other suffix is LMS */
        if (shape == 2) symbols[i] = symbols[i] / 2 + (uint32_t)(i % 2) * (n_symbols / 2);
        if (shape == 3 && i >= n / 2 && n % 2 == 0) symbols[i] = symbols[i - n / 2];
    }
    if (shape == 2)
        for (int64_t i = n / 2 + (n / 2) % 2; i < n; i++)
            symbols[i] = symbols[i - n / 2 - (n / 2) % 2];
}

static void test_random_texts(int n_rounds)
{
    static uint32_t symbols[MAX_N];
    static const uint32_t alphabets[] = {1, 2, 3, 10, 200, 2000};
    for (round_ = 0; round_ < n_rounds; round_++) {
        uint32_t n_symbols = alphabets[random_below(6)];
        int64_t n = random_below(round_ % 5 ? 300 : MAX_N);
        make_text(symbols, n, n_symbols);
        check_sorted(symbols, n, n_symbols, 1 + random_below(round_ % 3 ? 5000 : 20));
    }
}

/* Texts in which nearly every other suffix is LMS, so that names fill the suffix array. They
 * consist of pairs: all occur twice (shapes 0 and 1), many are equal (2), every other one is
 * smaller (3), or some occur once (4). */
static void make_dense_text(uint32_t *symbols, int64_t n, uint32_t k, int shape)
{
    for (int64_t i = 0; i < n; i++) {
        symbols[i] = random_below(k) + (uint32_t)(i % 2) * 2 * k;
        if (shape == 2 && i > n / 8 && i < n / 3) symbols[i] = (uint32_t)(i % 2) * 2 * k;
        if (shape == 3 && i % 4 == 2) symbols[i] += k;
        if (shape != 4 && i >= n / 4 * 2) symbols[i] = symbols[i - n / 4 * 2];
        if (shape == 4 && i >= n / 4 * 2 && i < n / 4 * 3) symbols[i] = symbols[i - n / 4 * 2];
    }
}

/* Besides the tables of symbols, sorting allocates at most 4 % of the size of a text of 2-byte
 * symbols and its suffix array. */
static void test_memory_is_bounded(int64_t n, int n_rounds)
{
    static const uint32_t alphabets[] = {1, 2, 40, 5000};
    uint32_t *symbols = malloc((size_t)n * 4), *sa = malloc((size_t)n * 4);
    for (round_ = 0; round_ < n_rounds; round_++) {
        uint32_t k = alphabets[round_ / 5 % 4], n_symbols = 3 * k;
        int64_t length = n - round_ % 7;
        make_dense_text(symbols, length, k, round_ % 5);
        alloc_peak_bytes = 0;
        CHECK(sort(symbols, length, 4, n_symbols, sa, 4, 1 << 20) == UNITOK_OK);
        CHECK(alloc_peak_bytes - n_symbols * 32 <= length / 4 + 8000);
        uint64_t *starts = calloc((size_t)n_symbols + 1, 8), *heads = calloc((size_t)n_symbols, 8);
        for (int64_t i = 0; i < length; i++) starts[symbols[i] + 1]++;
        for (uint32_t c = 0; c < n_symbols; c++) starts[c + 1] += starts[c];
        memcpy(heads, starts, (size_t)n_symbols * 8);
        CHECK(unitok_suffix_check(symbols, length, 4, NULL, n_symbols, sa, 4, starts, heads, 0,
                                  length) == -1);
        free(starts);
        free(heads);
    }
    free(symbols);
    free(sa);
}

static void test_memory_that_runs_out(void)
{
    static uint32_t symbols[MAX_N];
    for (round_ = 0; round_ < 200; round_++) {
        int64_t n = 50 + random_below(400);
        make_text(symbols, n, 200);
        const void *text = as_text(symbols, n, 1);
        void *sa = guard_copy(&sa_guard, NULL, (size_t)n * 4);
        for (int64_t fail_at = 1;; fail_at++) {
            alloc_fail_at = fail_at;
            int32_t status = sort(text, n, 1, 0, sa, 4, 1000);
            if (alloc_fail_at > 0) { /* every allocation succeeded */
                CHECK(status == UNITOK_OK);
                alloc_fail_at = 0;
                break;
            }
            CHECK(status == UNITOK_ERROR_MEMORY);
        }
    }
}

static void test_arguments(void)
{
    uint32_t text[2] = {0, 5}, sa[2];
    CHECK(sort(text, 2, 3, 0, sa, 4, 10) == UNITOK_ERROR_ARGUMENT);
    CHECK(sort(text, 2, 4, 6, sa, 2, 10) == UNITOK_ERROR_ARGUMENT);
    CHECK(sort(text, -1, 4, 6, sa, 4, 10) == UNITOK_ERROR_ARGUMENT);
    CHECK(sort(text, (int64_t)UNITOK_SUFFIX_MAX_32 + 1, 4, 6, sa, 4, 10) == UNITOK_ERROR_ARGUMENT);
    CHECK(sort(text, 2, 4, 0, sa, 4, 10) == UNITOK_ERROR_ARGUMENT);
    CHECK(sort(text, 2, 4, 5, sa, 4, 10) == UNITOK_ERROR_ARGUMENT);
    CHECK(sort(text, 2, 4, 6, sa, 4, 10) == UNITOK_OK);
    uint32_t broken[2] = {0, 2}, phi[2] = {2, 2};
    CHECK(unitok_suffix_phi(broken, 2, 4, phi, 0, 2) == 1);
    unitok_suffix_free(NULL);
}

int main(void)
{
    random_start(7);
    text_guard = guard_new(MAX_N * 4);
    sa_guard = guard_new(MAX_N * 8);
    RUN(test_every_short_text());
    RUN(test_random_texts(600));
    RUN(test_memory_is_bounded(300000, 20));
    RUN(test_memory_that_runs_out());
    RUN(test_arguments());
    guard_free(&text_guard);
    guard_free(&sa_guard);
    return 0;
}
