/* test_grams.c - compares the n-grams found in documents with a search that compares all units,
 * between guard pages and with failing allocations */
#define _DEFAULT_SOURCE
#include "check.h"
#include "clean/grams.h"
#include "ground/common.h"
#include "guard.h"
#include "random.h"
#include "test_alloc.h"
#include "word_rules.h"

#define MAX_BYTES 600
#define MAX_ITEMS 5
#define MAX_HITS 4000

/* Makes random text from a few different words; it may end inside a character. */
static int64_t random_text(uint8_t *ret, int64_t n_bytes)
{
    static const char *const parts[] = {"a",        "B ",           "b",    " ",       "ss",
                                        "\xC3\x9F", "\xCC\x81",     " a b", "-",       "\n",
                                        "1",        "\xE3\x81\x82", "\xFF", "\xE3\x81"};
    int64_t n = 0;
    while (n < n_bytes) {
        const char *part = parts[random_u64() % (sizeof parts / sizeof *parts)];
        for (; *part && n < n_bytes; part++) ret[n++] = (uint8_t)*part;
    }
    return n;
}

/* Counts the occurrences of n-grams of bytes in a document by comparing all of them. */
static int64_t naive_bytes(const uint8_t *items, const int64_t *bounds, int64_t n_items,
                           const uint8_t *text, int64_t n_text, int64_t n, int64_t min_units)
{
    int64_t found = 0;
    for (int64_t size = min_units; size <= n; size++) {
        for (int64_t i = 0; i + size <= n_text; i++) {
            int is_found = 0;
            for (int64_t k = 0; k < n_items; k++) {
                int64_t n_units = bounds[k + 1] - bounds[k];
                if ((n_units >= n ? n : n_units) != size) continue;
                for (int64_t j = bounds[k]; j + size <= bounds[k + 1]; j++)
                    is_found |= !memcmp(items + j, text + i, (size_t)size);
            }
            found += is_found;
        }
    }
    return found;
}

static int64_t random_bounds(int64_t *bounds, int64_t n_bytes)
{
    int64_t n_items = 1 + (int64_t)(random_u64() % MAX_ITEMS);
    bounds[0] = 0;
    for (int64_t k = 1; k < n_items; k++)
        bounds[k] = bounds[k - 1] +
                    (int64_t)(random_u64() % (uint64_t)(n_bytes - bounds[k - 1] + 1));
    bounds[n_items] = n_bytes;
    return n_items;
}

static void test_random(void)
{
    unitok_word_rules *rules;
    unitok_error error;
    CHECK(toy_word_rules(&rules, &error) == UNITOK_OK);
    struct guard in = guard_new(MAX_BYTES), out = guard_new(MAX_HITS * sizeof(unitok_gram_hit));
    for (round_ = 0; round_ < 2000 * rounds_factor(); round_++) {
        uint8_t items[MAX_BYTES], text[MAX_BYTES];
        int64_t bounds[MAX_ITEMS + 1], starts[MAX_ITEMS + 1], documents[3], n_hits, n_again;
        int64_t n_bytes = random_text(items, (int64_t)(random_u64() % MAX_BYTES));
        int64_t n_items = random_bounds(bounds, n_bytes), n = 1 + (int64_t)(random_u64() % 6);
        int64_t min_units = 1 + (int64_t)(random_u64() % (uint64_t)n);
        unitok_grams *grams;
        const unitok_word_rules *rules_used = random_u64() % 2 ? rules : NULL;
        CHECK(unitok_grams_new(rules_used, guard_copy(&in, items, (size_t)n_bytes), bounds, n_items,
                               n, min_units, random_u64(), starts, &grams, &error) == UNITOK_OK);
        int64_t n_text = random_text(text, (int64_t)(random_u64() % 80));
        documents[0] = 0;
        documents[1] = documents[2] = n_text;
        const uint8_t *searched = guard_copy(&in, text, (size_t)n_text);
        CHECK(unitok_grams_find(grams, searched, documents, 2, NULL, 0, &n_hits, &error) ==
              UNITOK_OK);
        CHECK(n_hits <= MAX_HITS);
        unitok_gram_hit *hits = (void *)guard_copy(&out, NULL, (size_t)n_hits * sizeof *hits);
        CHECK(unitok_grams_find(grams, searched, documents, 2, hits, n_hits, &n_again, &error) ==
              UNITOK_OK);
        CHECK(n_again == n_hits);
        for (int64_t k = 0; k < n_hits; k++) {
            CHECK(hits[k].document == 0 && hits[k].begin < hits[k].end && hits[k].end <= n_text);
            CHECK(hits[k].gram < starts[n_items]);
        }
        if (!rules_used)
            CHECK(n_hits == naive_bytes(items, bounds, n_items, text, n_text, n, min_units));
        unitok_grams_free(grams);
    }
    guard_free(&in);
    guard_free(&out);
    unitok_word_rules_free(rules);
}

/* Hashes depend on the seed, so words that collide with one seed do not collide with another: for
 * each seed, a different one of 1,000 words has the smallest hash. */
static void test_seeds(void)
{
    int smallest[2] = {0, 0};
    uint64_t factors[2];
    for (int s = 0; s < 2; s++) {
        unitok_word_rules *rules;
        unitok_grams *grams;
        unitok_error error;
        int64_t bounds[2] = {0, 4}, starts[2];
        uint64_t least = UINT64_MAX;
        CHECK(toy_word_rules(&rules, &error) == UNITOK_OK);
        rules->seed = (uint64_t)s;
        for (int k = 0; k < 1000; k++) {
            uint8_t text[4] = {(uint8_t)('0' + k / 100), (uint8_t)('0' + k / 10 % 10),
                               (uint8_t)('0' + k % 10), 'x'};
            word w;
            CHECK(word_next(rules, text, 4, 0, &w) && w.end == 4);
            if (w.hash < least) smallest[s] = k;
            if (w.hash < least) least = w.hash;
        }
        CHECK(unitok_grams_new(rules, (const uint8_t *)"a b ", bounds, 1, 2, 2, (uint64_t)s, starts,
                               &grams, &error) == UNITOK_OK);
        factors[s] = grams->factor;
        unitok_grams_free(grams);
        unitok_word_rules_free(rules);
    }
    CHECK(smallest[0] != smallest[1] && factors[0] != factors[1]);
}

/* Each allocation fails in turn: nothing crashes or leaks, and the status reports the failure. */
static void test_without_memory(void)
{
    const char *text = "one two three four five six seven One two THREE four a b c d e f g h i j";
    int64_t bounds[] = {0, (int64_t)strlen(text)}, starts[2], n_hits;
    for (round_ = 1;; round_++) {
        unitok_word_rules *rules = NULL;
        unitok_grams *grams = NULL;
        unitok_error error;
        alloc_fail_at = round_;
        int32_t status = toy_word_rules(&rules, &error);
        if (status == UNITOK_OK)
            status = unitok_grams_new(rules, (const uint8_t *)text, bounds, 1, 3, 2, 5, starts,
                                      &grams, &error);
        if (status == UNITOK_OK)
            status = unitok_grams_find(grams, (const uint8_t *)text, bounds, 1, NULL, 0, &n_hits,
                                       &error);
        int has_failed = alloc_fail_at == 0;
        alloc_fail_at = 0;
        CHECK(status == UNITOK_OK || status == UNITOK_ERROR_MEMORY);
        if (status == UNITOK_OK) CHECK(n_hits == 19);
        unitok_grams_free(grams);
        unitok_word_rules_free(rules);
        CHECK(alloc_live_blocks == 0);
        if (!has_failed) break;
    }
    CHECK(round_ > 8);
}

int main(void)
{
    random_start(20261127);
    RUN(test_without_memory());
    RUN(test_seeds());
    RUN(test_random());
    return 0;
}
