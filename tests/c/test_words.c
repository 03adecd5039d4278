/* test_words.c - compares counts of words, and queries with gaps, to a search that tries all ways
 * to place the words; arrays are between guard pages */
#define _DEFAULT_SOURCE

#include "test_alloc.h"

#include "check.h"
#include "guard.h"
#include "random.h"

#include "unitok_search.h"

enum { MAX_N = 300, N_WORDS = 12 };

static struct guard sa_guard, words_guard, places_guard, first_guard;

/* A shard of n words; about one in 8 is the end of a document. */
static const uint32_t *random_words(int64_t n, int64_t n_words)
{
    uint32_t words[MAX_N];
    for (int64_t i = 0; i < n; i++)
        words[i] = random_u64() % 8 ? 1 + (uint32_t)(random_u64() % (uint64_t)(n_words - 1)) : 0;
    return (const uint32_t *)guard_copy(&words_guard, words, (size_t)n * sizeof *words);
}

/* The end of the shortest match of place k and all later ones that begins at `at`, or -1. */
static int64_t shortest(const uint32_t *words, int64_t n, const unitok_words_query *query, int k,
                        int64_t at)
{
    int64_t best = -1, to = at + 1;
    if (at >= n || !(query->places[words[at]] >> k & 1)) return -1;
    if (k == query->n_places - 1) return at + 1;
    for (int32_t gap = 0; gap <= query->most[k] && to < n && words[to]; gap++, to++) {
        int64_t end = gap < query->least[k] ? -1 : shortest(words, n, query, k + 1, to);
        if (end >= 0 && (best < 0 || end < best)) best = end;
    }
    return best;
}

static void test_find(int n_rounds)
{
    for (round_ = 0; round_ < n_rounds; round_++) {
        int64_t n = (int64_t)(random_u64() % MAX_N), n_words = 2 + (int64_t)(random_u64() % 11);
        const uint32_t *words = random_words(n, n_words);
        uint64_t places[N_WORDS] = {0};
        uint8_t first[2] = {0};
        int32_t least[8], most[8];
        unitok_words_query query = {.n_words = n_words,
                                    .n_places = 1 + (int32_t)(random_u64() % 5),
                                    .least = least,
                                    .most = most};
        query.span = query.n_places;
        for (int64_t w = 1; w < n_words; w++) {
            places[w] = random_u64() & random_u64();
            first[w / 8] |= (uint8_t)((places[w] & 1) << (w % 8));
        }
        for (int k = 0; k < query.n_places - 1; k++) {
            least[k] = (int32_t)(random_u64() % 3);
            most[k] = least[k] + (int32_t)(random_u64() % 4);
            query.span += most[k];
        }
        query.places = (const uint64_t *)guard_copy(&places_guard, places,
                                                    (size_t)n_words * sizeof *places);
        query.first = guard_copy(&first_guard, first, (size_t)(n_words + 7) / 8);
        int64_t at = 0, expected = 0, begins[7], ends[7];
        while (at < n) {
            int64_t end = at + 1 + (int64_t)(random_u64() % 99);
            if (end > n) end = n;
            int64_t found = unitok_words_find(words, n, &query, end, &at, begins, ends, 7);
            CHECK(found >= 0 && found <= 7 && (at == end || found == 7));
            for (int64_t k = 0; k < found; k++, expected++) {
                while (shortest(words, n, &query, 0, expected) < 0) expected++;
                CHECK(begins[k] == expected);
                CHECK(ends[k] == shortest(words, n, &query, 0, expected));
            }
            while (expected < at) CHECK(shortest(words, n, &query, 0, expected++) < 0);
        }
    }
}

static const uint32_t *compared;
static int64_t n_compared;

static int compare(const void *a, const void *b)
{
    int64_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    while (i < n_compared && j < n_compared && compared[i] == compared[j]) i++, j++;
    if (i == n_compared || j == n_compared) return i == n_compared ? -1 : 1;
    return compared[i] < compared[j] ? -1 : 1;
}

/* Narrows the interval of all suffixes word by word to the words at a random place. */
static void test_narrow(int n_rounds)
{
    for (round_ = 0; round_ < n_rounds; round_++) {
        int64_t n = 1 + (int64_t)(random_u64() % (MAX_N - 1)), lo = 0, hi = n;
        const uint32_t *words = random_words(n, 4);
        uint32_t sa[MAX_N];
        for (int64_t i = 0; i < n; i++) sa[i] = (uint32_t)i;
        compared = words, n_compared = n;
        qsort(sa, (size_t)n, sizeof *sa, compare);
        const uint32_t *guarded = (const uint32_t *)guard_copy(&sa_guard, sa,
                                                               (size_t)n * sizeof *sa);
        int64_t place = (int64_t)(random_u64() % (uint64_t)n);
        for (int64_t depth = 0; depth < 5; depth++) {
            int64_t word = place + depth < n ? words[place + depth] : 0;
            int64_t first = word, last = word + (depth == 4 ? (int64_t)(random_u64() % 3) : 0);
            int64_t expected_lo = lo, expected_hi = hi;
            for (int64_t r = lo; r < hi; r++) {
                int64_t at = sa[r] + depth, found = at < n ? words[at] : 0;
                expected_lo += found < first;
                expected_hi -= found > last;
            }
            CHECK(unitok_words_narrow(words, guarded, n, depth, &first, &last, 1, &lo, &hi));
            CHECK(lo == expected_lo && hi == expected_hi && lo < hi);
        }
    }
}

static void test_count(int n_rounds)
{
    for (round_ = 0; round_ < n_rounds; round_++) {
        int64_t n = 1 + (int64_t)(random_u64() % (MAX_N - 1));
        int64_t counts[N_WORDS] = {0}, expected[N_WORDS] = {0}, begins[5], ends[5];
        const uint32_t *words = random_words(n, N_WORDS);
        for (int k = 0; k < 5; k++) {
            begins[k] = (int64_t)(random_u64() % (uint64_t)n);
            ends[k] = begins[k] + (int64_t)(random_u64() % (uint64_t)(n - begins[k] + 1));
            for (int64_t i = begins[k]; i < ends[k]; i++) expected[words[i]]++;
        }
        CHECK(unitok_words_count(words, begins, ends, 5, N_WORDS, counts));
        CHECK(!memcmp(counts, expected, sizeof counts));
    }
}

/* Words that are not less than n_words are reported, whether they begin or continue a match. */
static void test_damage(void)
{
    const uint32_t words[] = {1, 9, 1, 1, 1, 2};
    const uint64_t places[] = {0, 3};
    const uint8_t first[] = {2};
    const int32_t gap[] = {0};
    const unitok_words_query query = {.places = places,
                                      .first = first,
                                      .n_words = 2,
                                      .n_places = 2,
                                      .span = 2,
                                      .least = gap,
                                      .most = gap};
    int64_t at = 0, begins[9], ends[9], counts[2] = {0};
    CHECK(unitok_words_find(words, 6, &query, 6, &at, begins, ends, 9) == -1);
    at = 1;
    CHECK(unitok_words_find(words, 6, &query, 6, &at, begins, ends, 9) == -1);
    at = 2;
    CHECK(unitok_words_find(words, 5, &query, 5, &at, begins, ends, 9) == 2 && at == 5);
    at = 2;
    CHECK(unitok_words_find(words, 6, &query, 6, &at, begins, ends, 9) == -1);
    const uint32_t sa[] = {0, 6, 1};
    const int64_t begin = 2, end = 6;
    int64_t lo = 0, hi = 3;
    CHECK(!unitok_words_narrow(words, sa, 6, 1, &begin, &end, 1, &lo, &hi));
    CHECK(!unitok_words_count(words, &begin, &end, 1, 2, counts));
}

int main(void)
{
    random_start(26);
    int rounds = (int)(3000 * rounds_factor());
    sa_guard = guard_new(MAX_N * sizeof(uint32_t));
    words_guard = guard_new(MAX_N * sizeof(uint32_t));
    places_guard = guard_new(N_WORDS * sizeof(uint64_t));
    first_guard = guard_new(2);
    RUN(test_find(rounds));
    RUN(test_narrow(rounds));
    RUN(test_count(rounds));
    RUN(test_damage());
    guard_free(&sa_guard);
    guard_free(&words_guard);
    guard_free(&places_guard);
    guard_free(&first_guard);
    return 0;
}
