/* test_documents.c - compares unitok_split_documents with a simple version, between guard pages */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../../csrc/ground/common.h"

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s (seed %u)\n", __FILE__, __LINE__, #condition, seed);        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static unsigned seed;

/* Allocates n_bytes that touch an inaccessible page after their end or (`before`) before their
 * start. */
static uint8_t *guarded(size_t n_bytes, int before)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t room = (n_bytes + page) / page * page;
    uint8_t *p = mmap(NULL, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p + page, room, PROT_READ | PROT_WRITE)) abort();
    return before ? p + page : p + page + room - n_bytes;
}

/* Tries every start in turn; writes the documents to `out` and their bounds to `offsets`. */
static int64_t split_obvious(const uint8_t *text, int64_t n, const uint8_t *separator, int64_t m,
                             uint8_t *out, int64_t *offsets, int64_t max_docs, int64_t *consumed)
{
    int64_t n_docs = 0, at = 0, n_out = 0;
    offsets[0] = 0;
    while (at < n && n_docs < max_docs - 1) {
        if (n - at >= m && memcmp(text + at, separator, (size_t)m) == 0) {
            offsets[++n_docs] = n_out;
            at += m;
        } else {
            out[n_out++] = text[at++];
        }
    }
    if (n_docs == max_docs - 1) {
        *consumed = at;
    } else {
        *consumed = n;
    }
    offsets[++n_docs] = n_out;
    return n_docs;
}

#define MAX_BYTES 200
#define MAX_SEPARATOR 24

/* Tests random texts over few letters, so that separators occur, overlap themselves and almost
 * occur. */
static void test_random(int n_rounds)
{
    uint8_t *texts[2] = {guarded(MAX_BYTES, 0), guarded(MAX_BYTES, 1)};
    uint8_t *separators[2] = {guarded(MAX_SEPARATOR, 0), guarded(MAX_SEPARATOR, 1)};
    int64_t *bounds = (int64_t *)guarded((MAX_BYTES + 3) * sizeof(int64_t), 0);
    uint8_t source[MAX_BYTES], want[MAX_BYTES];
    int64_t want_offsets[MAX_BYTES + 3];
    for (seed = 1; seed <= (unsigned)n_rounds; seed++) {
        srand(seed);
        int before = rand() % 2, n_letters = 1 + rand() % 3;
        int64_t n = rand() % (MAX_BYTES + 1), m = 1 + rand() % (rand() % 2 ? 4 : MAX_SEPARATOR);
        int64_t max_docs = rand() % 2 ? n + 2 : 2 + rand() % 5;
        uint8_t *text = before ? texts[1] : texts[0] + MAX_BYTES - n;
        uint8_t *separator = before ? separators[1] : separators[0] + MAX_SEPARATOR - m;
        int64_t *offsets = bounds + (MAX_BYTES + 3) - (max_docs + 1);
        for (int64_t i = 0; i < m; i++) separator[i] = (uint8_t)('a' + rand() % n_letters);
        for (int64_t i = 0; i < n; i++) source[i] = (uint8_t)('a' + rand() % n_letters);
        /* sometimes complete separators, adjacent or nearly so */
        for (int64_t i = rand() % 7; rand() % 4 && i + m <= n; i += m - 1 + rand() % 3)
            memcpy(source + i, separator, (size_t)m);
        memcpy(text, source, (size_t)n);

        int64_t consumed = -1, want_consumed;
        int64_t want_docs = split_obvious(source, n, separator, m, want, want_offsets, max_docs,
                                          &want_consumed);
        int64_t n_docs = unitok_split_documents(text, n, separator, m, offsets, max_docs,
                                                &consumed);
        CHECK(n_docs == want_docs && consumed == want_consumed);
        CHECK(memcmp(offsets, want_offsets, (size_t)(n_docs + 1) * sizeof(int64_t)) == 0);
        CHECK(memcmp(text, want, (size_t)offsets[n_docs]) == 0);
        /* the rest stays in place */
        CHECK(memcmp(text + consumed, source + consumed, (size_t)(n - consumed)) == 0);
    }
}

/* Tests separators that make a naive search quadratic: 64 KiB in 4 MiB would take 2.7e11 steps. */
static void test_linear(void)
{
    const int64_t n = 4 << 20, m = 64 << 10;
    uint8_t *text = guarded((size_t)n, 0), *separator = guarded((size_t)m, 0);
    int64_t offsets[101], consumed;
    for (int64_t odd = -1; odd < m; odd = odd * 3 + 3) {
        memset(text, 'a', (size_t)n);
        memset(separator, 'a', (size_t)m);
        if (odd >= 0) separator[odd] = 'b';
        clock_t start = clock();
        int64_t n_docs = unitok_split_documents(text, n, separator, m, offsets, 100, &consumed);
        CHECK(n_docs == (odd < 0 ? n / m + 1 : 1));
        CHECK((double)(clock() - start) / CLOCKS_PER_SEC < 2);
    }
    /* A periodic separator against a text of the same period, with one wrong byte in every m
     * bytes. */
    for (int64_t i = 0; i < m; i++) separator[i] = "ab"[i & 1];
    for (int64_t i = 0; i < n; i++) text[i] = i % m == m - 1 ? 'a' : "ab"[i & 1];
    CHECK(unitok_split_documents(text, n, separator, m, offsets, 100, &consumed) == 1);
}

int main(int n_arguments, char **arguments)
{
    test_random(n_arguments > 1 ? atoi(arguments[1]) : 300000);
    test_linear();
    puts("test_documents: ok");
    return 0;
}
