/* test_windows.c - checks that all repeated windows of tokens are found, with arrays between guard
 * pages and with failing allocations */
#define _DEFAULT_SOURCE
#include "check.h"
#include "guard.h"
#include "random.h"
#include "test_alloc.h"
#include "unitok_clean.h"

#define MAX_TOKENS 120
#define MAX_DOCUMENTS 5

struct toy {
    int32_t id_bytes;
    int64_t n_ids, n, n_after, n_documents, ends[MAX_DOCUMENTS];
    const uint8_t *ids;
};

static void random_toy(struct toy *toy, struct guard *guard)
{
    uint8_t bytes[4 * MAX_TOKENS] = {0};
    toy->id_bytes = random_u64() % 2 ? 2 : 4;
    toy->n_ids = (int64_t)(random_u64() % MAX_TOKENS);
    toy->n = 1 + (int64_t)(random_u64() % 9);
    toy->n_after = (int64_t)(random_u64() % 2);
    toy->n_documents = 1 + (int64_t)(random_u64() % MAX_DOCUMENTS);
    uint64_t n_symbols = 1 + random_u64() % 3;
    for (int64_t k = 0; k < toy->n_ids; k++) {
        uint32_t id = (uint32_t)(random_u64() % n_symbols) + (toy->id_bytes == 4 ? 70000 : 0);
        memcpy(bytes + k * toy->id_bytes, &id, (size_t)toy->id_bytes);
    }
    toy->ids = guard_copy(guard, bytes, (size_t)(toy->n_ids * toy->id_bytes));
    int64_t at = 0;
    for (int64_t d = 0; d < toy->n_documents; d++) {
        at += (int64_t)(random_u64() % (uint64_t)(toy->n_ids - at + 1));
        toy->ends[d] = d + 1 < toy->n_documents ? at : toy->n_ids;
    }
}

/* Whether a window inside one document begins at `at`. */
static int is_window(const struct toy *toy, int64_t at)
{
    int64_t d = 0;
    while (d < toy->n_documents && toy->ends[d] <= at) d++;
    return d < toy->n_documents && at + toy->n <= toy->ends[d] - toy->n_after;
}

static int are_equal(const struct toy *toy, int64_t a, int64_t b)
{
    return !memcmp(toy->ids + a * toy->id_bytes, toy->ids + b * toy->id_bytes,
                   (size_t)(toy->n * toy->id_bytes));
}

/* All repeated windows are found, and the hashes of two found windows are equal only if the windows
 * are equal. With many counters, no other window is found. */
static void test_windows(void)
{
    struct guard guard = guard_new(4 * MAX_TOKENS);
    int64_t n_single = 0;
    for (round_ = 0; round_ < 3000 * rounds_factor(); round_++) {
        struct toy toy;
        random_toy(&toy, &guard);
        unitok_windows *windows;
        unitok_error error;
        unitok_anchor found[MAX_TOKENS + 1];
        int64_t middle = (int64_t)(random_u64() % (uint64_t)(toy.n_ids + 1)), n;
        CHECK(unitok_windows_new(toy.n, toy.id_bytes, random_u64(), random_u64() % 2 ? 1 : 100000,
                                 &windows, &error) == UNITOK_OK);
        const int64_t *ends = toy.ends;
        unitok_windows_count(windows, toy.ids, ends, toy.n_documents, toy.n_after, 0, middle);
        unitok_windows_count(windows, toy.ids, ends, toy.n_documents, toy.n_after, middle,
                             toy.n_ids);
        n = unitok_windows_find(windows, toy.ids, ends, toy.n_documents, toy.n_after, 0, middle,
                                found);
        n += unitok_windows_find(windows, toy.ids, ends, toy.n_documents, toy.n_after, middle,
                                 toy.n_ids, found + n);
        int64_t next = 0;
        for (int64_t i = 0; i < toy.n_ids; i++) {
            int64_t n_equal = 0;
            for (int64_t j = 0; j < toy.n_ids && is_window(&toy, i); j++)
                n_equal += is_window(&toy, j) && are_equal(&toy, i, j);
            int is_found = next < n && found[next].place == (uint64_t)i;
            CHECK(is_found ? n_equal >= 1 : n_equal <= 1);
            n_single += is_found && n_equal == 1;
            next += is_found;
        }
        CHECK(next == n);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                int is_same = found[i].key == found[j].key && found[i].value == found[j].value;
                int64_t a = (int64_t)found[i].place, b = (int64_t)found[j].place;
                unitok_anchor pair = {found[i].place, 0, found[j].place};
                CHECK(is_same == are_equal(&toy, a, b));
                CHECK(unitok_windows_differ(windows, toy.ids, toy.n_ids, &pair, 1) == is_same);
            }
        unitok_windows_free(windows);
    }
    CHECK(n_single > 0); /* one byte has 4 counters, which windows share */
    guard_free(&guard);
}

/* The first pair whose windows differ is reported, also among pairs of consecutive windows. A
 * window that is not inside the tokens differs from all others. */
static void test_differ(void)
{
    struct guard guard = guard_new(4 * MAX_TOKENS);
    for (round_ = 0; round_ < 3000 * rounds_factor(); round_++) {
        struct toy toy;
        random_toy(&toy, &guard);
        unitok_windows *windows;
        unitok_error error;
        unitok_anchor pairs[20];
        CHECK(unitok_windows_new(toy.n, toy.id_bytes, 5, 1, &windows, &error) == UNITOK_OK);
        uint64_t a = random_u64() % MAX_TOKENS, b = random_u64() % MAX_TOKENS;
        int64_t first = 20;
        for (int64_t k = 0; k < 20; k++, a++, b++) {
            if (random_u64() % 8 == 0)
                b = random_u64() % 50 ? random_u64() % MAX_TOKENS : UINT64_MAX - 9;
            pairs[k] = (unitok_anchor){a, 7, b};
            int64_t last = toy.n_ids - toy.n;
            int is_inside = last >= 0 && a <= (uint64_t)last && b <= (uint64_t)last;
            if (first == 20 && !(is_inside && are_equal(&toy, (int64_t)a, (int64_t)b))) first = k;
        }
        CHECK(unitok_windows_differ(windows, toy.ids, toy.n_ids, pairs, 20) == first);
        unitok_windows_free(windows);
    }
    guard_free(&guard);
}

static void test_without_memory(void)
{
    unitok_windows *windows;
    unitok_error error;
    for (int64_t k = 1; k <= 2; k++) {
        alloc_fail_at = k;
        CHECK(unitok_windows_new(3, 2, 1, 100, &windows, &error) == UNITOK_ERROR_MEMORY);
        CHECK(windows == NULL && alloc_live_blocks == 0);
    }
    alloc_fail_at = 0;
    CHECK(unitok_windows_new(0, 2, 1, 100, &windows, &error) == UNITOK_ERROR_ARGUMENT);
    CHECK(unitok_windows_new(3, 3, 1, 100, &windows, &error) == UNITOK_ERROR_ARGUMENT);
    CHECK(unitok_windows_new(3, 2, 1, 0, &windows, &error) == UNITOK_ERROR_ARGUMENT);
    unitok_windows_free(NULL);
}

int main(void)
{
    random_start(12);
    RUN(test_windows());
    RUN(test_differ());
    RUN(test_without_memory());
    return 0;
}
