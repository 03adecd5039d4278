/* test_anchors.c - compares repeats of text with a search that compares all windows, between guard
 * pages and with failing allocations */
#define _DEFAULT_SOURCE
#include "check.h"
#include "clean/anchors.h"
#include "guard.h"
#include "random.h"
#include "test_alloc.h"
#include "word_rules.h"

#define MAX_BYTES 300
#define MAX_DOCUMENTS 4
#define MAX_RECORDS 3000
#define MAX_PAIRS (UNITOK_ANCHORS_MAX_PAIRED * MAX_RECORDS)

/* Makes random text from a few different parts; it may end inside a character. */
static int64_t random_text(uint8_t *ret, int64_t n_bytes)
{
    static const char *const parts[] = {"a", "B ", "b", " ", "ab ab ", "\xC3\x9F", "\n", "\xFF"};
    uint64_t n_parts = 1 + random_u64() % (sizeof parts / sizeof *parts);
    int64_t n = 0;
    while (n < n_bytes) {
        const char *part = parts[random_u64() % n_parts];
        for (; *part && n < n_bytes; part++) ret[n++] = (uint8_t)*part;
    }
    return n;
}

/* The definition: marks the first byte of every window of n bytes that is a repeat. */
static void naive(const uint8_t *text, const int64_t *offsets, int64_t n_documents, int64_t n,
                  int all_copies, int64_t first, uint8_t *ret)
{
    memset(ret, 0, MAX_BYTES);
    for (int64_t d = 0; d < n_documents; d++)
        for (int64_t i = offsets[d]; i + n <= offsets[d + 1]; i++)
            for (int64_t e = 0; e < n_documents; e++)
                for (int64_t j = offsets[e]; j + n <= offsets[e + 1]; j++)
                    if (i >= first && (all_copies ? i != j : j + n <= i) &&
                        !memcmp(text + i, text + j, (size_t)n))
                        ret[i] = 1;
}

static void random_bounds(int64_t *offsets, int64_t n_documents, int64_t n_bytes)
{
    offsets[0] = 0;
    for (int64_t d = 1; d < n_documents; d++)
        offsets[d] = offsets[d - 1] +
                     (int64_t)(random_u64() % (uint64_t)(n_bytes - offsets[d - 1] + 1));
    offsets[n_documents] = n_bytes;
}

/* Runs all steps in memory; returns the number of ranges, or -1 if allocation fails. */
static int64_t find_all(const unitok_anchors *anchors, const uint8_t *text, const int64_t *offsets,
                        int64_t n_documents, int all_copies, int64_t first, int64_t *ranges)
{
    static unitok_anchor records[MAX_RECORDS], scratch[MAX_PAIRS], pairs[MAX_PAIRS];
    static int64_t marks[MAX_RECORDS], more_marks[MAX_RECORDS];
    unitok_anchor_groups found, more;
    unitok_error error;
    int64_t n, n_ranges, n_marks;
    if (unitok_anchors_find(anchors, UNITOK_ANCHOR_GRAMS, text, offsets, n_documents, 0, NULL, 0,
                            records, MAX_RECORDS, &n, &error) != UNITOK_OK)
        return -1;
    CHECK(n <= MAX_RECORDS);
    if (unitok_anchors_group(anchors, UNITOK_ANCHOR_GRAMS, all_copies, random_u64() % 4 == 0, first,
                             records, n, scratch, pairs, marks, &found, &error) != UNITOK_OK)
        return -1;
    n_marks = found.n_marks;
    for (int64_t i = 0; i < n_marks; i++) {
        int64_t k = i, moved = marks[i];
        for (; k && marks[k - 1] > moved; k--) marks[k] = marks[k - 1];
        marks[k] = moved;
    }
    if (unitok_anchors_find(anchors, UNITOK_ANCHOR_WINDOWS, text, offsets, n_documents, 0, marks,
                            n_marks, records, MAX_RECORDS, &n, &error) != UNITOK_OK ||
        unitok_anchors_group(anchors, UNITOK_ANCHOR_WINDOWS, all_copies, 0, first, records, n,
                             scratch, pairs + found.n_pairs, more_marks, &more,
                             &error) != UNITOK_OK)
        return -1;
    int64_t n_pairs = found.n_pairs + more.n_pairs;
    CHECK(n_pairs <= MAX_PAIRS);
    if (unitok_anchors_sort(pairs, n_pairs, scratch, &error) != UNITOK_OK) return -1;
    unitok_anchors_verify(anchors, UNITOK_ANCHOR_GRAMS, text, offsets + 1, n_documents, pairs,
                          n_pairs, ranges, &n_ranges);
    CHECK(n_ranges <= n_pairs);
    return n_ranges;
}

static void test_bytes(void)
{
    static int64_t ranges[2 * MAX_PAIRS];
    struct guard guard = guard_new(MAX_BYTES);
    for (round_ = 0; round_ < 3000 * rounds_factor(); round_++) {
        uint8_t bytes[MAX_BYTES], wanted[MAX_BYTES], found[MAX_BYTES] = {0};
        int64_t offsets[MAX_DOCUMENTS + 1], n = 1 + (int64_t)(random_u64() % 12);
        int64_t n_bytes = random_text(bytes, (int64_t)(random_u64() % MAX_BYTES));
        int64_t n_documents = 1 + (int64_t)(random_u64() % MAX_DOCUMENTS);
        random_bounds(offsets, n_documents, n_bytes);
        const uint8_t *text = guard_copy(&guard, bytes, (size_t)n_bytes);
        int all_copies = (int)(random_u64() % 2);
        int64_t first = offsets[random_u64() % (uint64_t)n_documents];
        unitok_anchors *anchors;
        unitok_error error;
        CHECK(unitok_anchors_new(NULL, n, random_u64(), &anchors, &error) == UNITOK_OK);
        int64_t n_found = find_all(anchors, text, offsets, n_documents, all_copies, first, ranges);
        for (int64_t k = 0; k < n_found; k++)
            memset(found + ranges[2 * k], 1, (size_t)(ranges[2 * k + 1] - ranges[2 * k]));
        naive(text, offsets, n_documents, n, all_copies, first, wanted);
        CHECK(n_found >= 0 && !memcmp(found, wanted, MAX_BYTES));
        unitok_anchors_free(anchors);
    }
    guard_free(&guard);
}

/* Checks that cuts stay within the ranges and documents, and that the remaining text has the right
 * size. */
static void test_cuts(void)
{
    unitok_word_rules *rules;
    unitok_error error;
    CHECK(toy_word_rules(&rules, &error) == UNITOK_OK);
    struct guard guard = guard_new(MAX_BYTES), out = guard_new(MAX_BYTES);
    for (round_ = 0; round_ < 3000 * rounds_factor(); round_++) {
        uint8_t bytes[MAX_BYTES];
        int64_t offsets[MAX_DOCUMENTS + 1], ranges[6], cuts[2 * MAX_BYTES], n_cuts, n_less;
        int64_t n_bytes = random_text(bytes, (int64_t)(random_u64() % MAX_BYTES)), n = 0, at = 0;
        int64_t n_documents = 1 + (int64_t)(random_u64() % MAX_DOCUMENTS), n_removed = 0;
        random_bounds(offsets, n_documents, n_bytes);
        const uint8_t *text = guard_copy(&guard, bytes, (size_t)n_bytes);
        for (; n < 3 && at + 1 < n_bytes; n++) {
            ranges[2 * n] = at + (int64_t)(random_u64() % (uint64_t)(n_bytes - at - 1));
            at = ranges[2 * n] + 1 + (int64_t)(random_u64() % (uint64_t)(n_bytes - ranges[2 * n]));
            ranges[2 * n + 1] = at++;
        }
        int32_t cut = (int32_t)(random_u64() % 3);
        double max_share = random_u64() % 2 ? 2.0 : 0.5;
        unitok_ranges_cut(rules, cut, text, offsets + 1, n_documents, ranges, n, max_share, 3, cuts,
                          MAX_BYTES, &n_cuts);
        unitok_ranges_cut(rules, cut, text, offsets + 1, n_documents, ranges, n, max_share, 3, NULL,
                          0, &n_less);
        CHECK(n_less == n_cuts && n_cuts <= n + n_documents);
        for (int64_t k = 0; k < n_cuts; k++) {
            CHECK(cuts[2 * k] < cuts[2 * k + 1] && cuts[2 * k + 1] <= n_bytes);
            CHECK(k == 0 || cuts[2 * k - 1] <= cuts[2 * k]);
            n_removed += cuts[2 * k + 1] - cuts[2 * k];
        }
        uint8_t *left = guard_copy(&out, NULL, (size_t)(n_bytes - n_removed));
        CHECK(unitok_ranges_remove(text, 0, n_bytes, cuts, n_cuts, left) == n_bytes - n_removed);
    }
    guard_free(&guard);
    guard_free(&out);
    unitok_word_rules_free(rules);
}

/* Pairs whose positions are outside the text, or have no complete window, are ignored. */
static void test_damaged_pairs(void)
{
    unitok_anchors *anchors;
    unitok_error error;
    struct guard guard = guard_new(MAX_BYTES);
    CHECK(unitok_anchors_new(NULL, 4, 1, &anchors, &error) == UNITOK_OK);
    for (round_ = 0; round_ < 3000 * rounds_factor(); round_++) {
        uint8_t bytes[MAX_BYTES];
        int64_t n_bytes = random_text(bytes, (int64_t)(random_u64() % 40)), n, ranges[10];
        int64_t ends[2] = {(int64_t)(random_u64() % (uint64_t)(n_bytes + 1)), n_bytes};
        unitok_anchor pairs[5];
        for (int k = 0; k < 5; k++) {
            uint64_t limit = random_u64() % 4 ? 45 : UINT64_MAX;
            pairs[k] = (unitok_anchor){random_u64() % limit, random_u64() % limit,
                                       random_u64() % 2 ? 0 : random_u64() % 50};
        }
        for (int32_t kind = 0; kind < 3; kind++) {
            unitok_anchors_verify(anchors, kind, guard_copy(&guard, bytes, (size_t)n_bytes), ends,
                                  2, pairs, 5, ranges, &n);
            for (int64_t k = 0; k < 2 * n; k++) CHECK(ranges[k] >= 0 && ranges[k] <= n_bytes);
        }
    }
    unitok_anchors_free(anchors);
    guard_free(&guard);
}

static void test_without_memory(void)
{
    static int64_t ranges[2 * MAX_PAIRS];
    uint8_t text[MAX_BYTES];
    int64_t n_bytes = random_text(text, MAX_BYTES), offsets[2] = {0, n_bytes}, n_failed = 0;
    for (int64_t k = 1;; k++) {
        unitok_anchors *anchors;
        unitok_error error;
        alloc_fail_at = k;
        int32_t status = unitok_anchors_new(NULL, 5, 3, &anchors, &error);
        int64_t n = status == UNITOK_OK ? find_all(anchors, text, offsets, 1, 0, 0, ranges) : -1;
        int is_done = alloc_fail_at > 0;
        alloc_fail_at = 0;
        unitok_anchors_free(anchors);
        if (is_done) break;
        CHECK(n < 0);
        n_failed++;
    }
    CHECK(n_failed >= 12);
    unitok_anchors *anchors;
    unitok_error error;
    CHECK(unitok_anchors_new(NULL, 0, 3, &anchors, &error) == UNITOK_ERROR_ARGUMENT);
    CHECK(unitok_anchors_new(NULL, UNITOK_ANCHORS_MAX_UNITS + 1, 3, &anchors, &error) ==
          UNITOK_ERROR_ARGUMENT);
}

int main(void)
{
    random_start(11);
    RUN(test_bytes());
    RUN(test_cuts());
    RUN(test_damaged_pairs());
    RUN(test_without_memory());
    return 0;
}
