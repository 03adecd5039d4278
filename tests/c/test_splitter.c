/* test_splitter.c - counts the pieces of a pattern in texts between guard pages, and merges bytes
 * without rules; every allocation fails in turn */
#define _DEFAULT_SOURCE

#include "test_alloc.h"

#include "check.h"
#include "guard.h"
#include "random.h"

#include "ground/common.h"
#include "unitok_train.h"

#define TEXT_MAX 300
#define N_WORKERS 2
#define N_PIECES 60
#define RESERVED "abaab" /* ab, aab */

static const char *const PATTERNS[] = {
    "o's|'t| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
    "o\\p{N}{1,3}\0o[^\\r\\n\\p{L}]?\\p{L}+|\\s*[\\r\\n]+|\\s+",
    "ta++|\\S|\\s",
};

static unitok_pattern *make_pattern(int k)
{
    unitok_pattern *pattern = NULL;
    unitok_error error;
    int64_t n_bytes = (int64_t)strlen(PATTERNS[k]);
    if (k == 1) n_bytes += 1 + (int64_t)strlen(PATTERNS[k] + n_bytes + 1);
    CHECK(unitok_pattern_new((const uint8_t *)PATTERNS[k], n_bytes, &pattern, &error) == UNITOK_OK);
    return pattern;
}

/* Letters, spaces and digits, and sometimes parts of characters. Returns the length. */
static int64_t make_text(uint8_t *text)
{
    static const char *const parts[] = {"a",        "b",    "aab",  " ",        "  ",
                                        "\n",       "7",    "'s",   "\xC3\xA9", "\xE6\x97\xA5",
                                        "\xE6\x97", "\xFF", "\x80", ".",        "\xE3\x80\x80"};
    int64_t n = 0, wanted = (int64_t)(random_u64() % (TEXT_MAX - 8));
    while (n < wanted) {
        const char *part = parts[random_u64() % (sizeof parts / sizeof *parts)];
        memcpy(text + n, part, strlen(part));
        n += (int64_t)strlen(part);
    }
    return n;
}

/* ------------------------------------------------------------------------------------ Counts ---- */

/* The pieces that the pattern finds in the complete text. */
static unitok_counter *count_slowly(const unitok_pattern *pattern, const uint8_t *text,
                                    int64_t n_bytes)
{
    unitok_counter *counter = NULL;
    unitok_error error;
    int64_t offsets[TEXT_MAX + 1];
    int64_t n = unitok_pattern_split(pattern, text, n_bytes, offsets, TEXT_MAX + 1);
    CHECK(unitok_counter_new(0, &counter, &error) == UNITOK_OK);
    CHECK(unitok_counter_add(counter, &(unitok_units){text, offsets, NULL, n}, &error) ==
          UNITOK_OK);
    return counter;
}

static void check_equal(unitok_counter *a, unitok_counter *b)
{
    unitok_error error;
    uint8_t data[2][TEXT_MAX];
    int64_t offsets[2][TEXT_MAX + 1];
    uint64_t counts[2][TEXT_MAX];
    int64_t n = unitok_counter_count(a);
    CHECK(unitok_counter_count(b) == n);
    CHECK(unitok_counter_sort(a, &error) == UNITOK_OK &&
          unitok_counter_sort(b, &error) == UNITOK_OK);
    unitok_counter_export(a, 0, n, data[0], offsets[0], counts[0]);
    unitok_counter_export(b, 0, n, data[1], offsets[1], counts[1]);
    CHECK(!memcmp(offsets[0], offsets[1], (size_t)(n + 1) * 8));
    CHECK(!memcmp(data[0], data[1], (size_t)offsets[0][n]) &&
          !memcmp(counts[0], counts[1], (size_t)n * 8));
}

/* One segmenter counts many texts. */
static void check_counts(const unitok_pattern *pattern, const struct guard *guard)
{
    unitok_error error;
    unitok_counter *counter = NULL;
    unitok_segmenter *segmenter = NULL;
    unitok_segment_spec spec = {.pattern = pattern};
    CHECK(unitok_counter_new(0, &counter, &error) == UNITOK_OK);
    spec.counter = counter;
    CHECK(unitok_segmenter_new(&spec, &segmenter, &error) == UNITOK_OK);
    for (round_ = 0; round_ < 300; round_++) {
        uint8_t text[TEXT_MAX];
        int64_t offsets[2] = {0, make_text(text)};
        const uint8_t *copy = guard_copy(guard, text, (size_t)offsets[1]);
        CHECK(unitok_segmenter_add(segmenter, copy, offsets, 1, &error) == UNITOK_OK);
        CHECK(unitok_segmenter_flush(segmenter, &error) == UNITOK_OK);
        unitok_counter *expected = count_slowly(pattern, copy, offsets[1]);
        check_equal(counter, expected);
        int64_t cut = unitok_pattern_last_cut(pattern, copy, offsets[1]);
        CHECK(cut == 0 || (cut > 0 && cut < offsets[1]));
        unitok_counter_free(expected);
        unitok_counter_clear(counter);
    }
    unitok_segmenter_free(segmenter);
    unitok_counter_free(counter);
}

static void test_counts(void)
{
    running = "counts of pieces";
    struct guard guard = guard_new(TEXT_MAX);
    for (int k = 0; k < 3; k++) {
        unitok_pattern *pattern = make_pattern(k);
        check_counts(pattern, &guard);
        unitok_pattern_free(pattern);
    }
    guard_free(&guard);
    CHECK(alloc_live_blocks == 0);
}

/* ---------------------------------------------------------------------------------- Training ---- */

static int32_t share(unitok_bpe_trainer *bpe)
{
    int32_t status = UNITOK_OK, done;
    unitok_error error;
    while (!status && unitok_bpe_trainer_is_shared(bpe)) {
        for (int32_t k = 0; k < N_WORKERS && !status; k++)
            for (done = 0; !done && !status;)
                status = unitok_bpe_trainer_work(bpe, k, 9, &done, &error);
        if (!status) status = unitok_bpe_trainer_join(bpe, &error);
    }
    return status;
}

/* Counts a text and merges its pieces. Each step can fail if allocation fails, and then everything
 * is freed. */
static int32_t train(const unitok_pattern *pattern, const uint8_t *text, int64_t n_bytes)
{
    unitok_counter *counter = NULL;
    unitok_segmenter *segmenter = NULL;
    unitok_bpe_trainer *bpe = NULL;
    unitok_error error;
    uint8_t data[TEXT_MAX];
    int64_t bounds[2] = {0, n_bytes}, offsets[TEXT_MAX + 1], made = 0;
    uint64_t counts[TEXT_MAX];
    unitok_segment_spec spec = {.pattern = pattern};
    int32_t done = 0, status = unitok_counter_new(0, &counter, &error);
    spec.counter = counter;
    if (!status) status = unitok_segmenter_new(&spec, &segmenter, &error);
    if (!status) status = unitok_segmenter_add(segmenter, text, bounds, 1, &error);
    if (!status) status = unitok_segmenter_flush(segmenter, &error);
    if (!status) {
        unitok_counter_export(counter, 0, unitok_counter_count(counter), data, offsets, counts);
        unitok_units units = {data, offsets, counts, unitok_counter_count(counter)};
        status = unitok_bpe_trainer_new(NULL, &units, NULL, N_WORKERS, &bpe, &error);
    }
    if (!status) status = share(bpe);
    if (!status) {
        status = unitok_bpe_trainer_reserve(bpe, (const uint8_t *)RESERVED, (int64_t[]){0, 2, 5}, 2,
                                            &error);
        if (!status) /* once only */
            CHECK(unitok_bpe_trainer_reserve(bpe, NULL, (int64_t[]){0}, 0, &error) ==
                  UNITOK_ERROR_ARGUMENT);
    }
    while (!status && !done && made < N_PIECES) {
        status = share(bpe);
        if (!status) made = unitok_bpe_trainer_step(bpe, N_PIECES, 0, 5, &done);
        if (made < 0) status = UNITOK_ERROR_MEMORY;
    }
    if (!status) CHECK(made > 10);
    unitok_bpe_trainer_free(bpe);
    unitok_segmenter_free(segmenter);
    unitok_counter_free(counter);
    return status;
}

static void test_failing_memory(void)
{
    running = "training without memory";
    for (int k = 0; k < 2; k++) {
        uint8_t text[TEXT_MAX];
        unitok_pattern *pattern = make_pattern(k);
        int64_t n_bytes = 0, live = alloc_live_blocks;
        while (n_bytes < TEXT_MAX / 2) n_bytes = make_text(text);
        for (round_ = 1;; round_++) {
            alloc_fail_at = round_;
            int32_t status = train(pattern, text, n_bytes);
            CHECK(alloc_live_blocks == live);
            if (alloc_fail_at > 0) break; /* every allocation succeeded */
            CHECK(status == UNITOK_ERROR_MEMORY);
        }
        alloc_fail_at = 0;
        unitok_pattern_free(pattern);
    }
}

int main(void)
{
    random_start(88172645463325252u);
    test_counts();
    test_failing_memory();
    printf("ok\n");
    return 0;
}
