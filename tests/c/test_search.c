/* test_search.c - compares searches in small shards with a scan; hostile arrays; failing
 * allocations */
#include "shards.h"

#include "check.h"
#include "random.h"
#include "test_alloc.h"

enum { MAX_QUERY = 20 };

static const int64_t no_limit = INT64_C(1) << 60;

static void fill_random(uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) p[i] = (uint8_t)random_u64();
}

static void random_toy(struct toy *toy)
{
    uint8_t data[600];
    struct bytes b = {data, sizeof data};
    unitok_error error;
    fill_random(data, sizeof data);
    toy_shard(toy, &b);
    CHECK(unitok_search_check(&toy->shard, &error) == UNITOK_OK);
    CHECK(toy_pieces(toy, &error) == UNITOK_OK);
}

/* Part of a document, or random letters. */
static int64_t random_query(const struct toy *toy, uint8_t *q)
{
    int64_t m = 0, want = 1 + (int64_t)(random_u64() % 8);
    if (toy->shard.n && random_u64() % 4) {
        int64_t at = (int64_t)(random_u64() % (uint64_t)toy->shard.n), n, skip = 0;
        for (; at < toy->shard.n && m < want; at++, skip = 0) {
            const uint8_t *piece = toy_piece(toy, toy->ids[at], &n);
            if (m == 0 && n) skip = (int64_t)(random_u64() % (uint64_t)n);
            for (int64_t k = skip; k < n && m < want; k++) q[m++] = piece[k];
        }
    }
    for (; m < want; m++) q[m] = (uint8_t)"aab cdx"[random_u64() % 7];
    return m;
}

static int64_t count(const struct toy *toy, const uint8_t *q, int64_t m, int64_t max_work,
                     uint8_t *ret_approx)
{
    int64_t offsets[2] = {0, m}, n;
    unitok_error error;
    CHECK(unitok_search_count(toy->pieces, &toy->shard, q, offsets, 1, max_work, &n, ret_approx,
                              &error) == UNITOK_OK);
    return n;
}

static void check_query(const struct toy *toy, const uint8_t *q, int64_t m)
{
    unitok_search_run *runs;
    unitok_error error;
    int64_t n_runs, total = 0, expected = toy_count(toy, q, m);
    uint8_t approx;
    CHECK(count(toy, q, m, no_limit, &approx) == expected && !approx);
    CHECK(unitok_search_find(toy->pieces, &toy->shard, q, m, no_limit, no_limit, &runs, &n_runs,
                             &approx, &error) == UNITOK_OK);
    for (int64_t k = 0; k < n_runs; k++) total += runs[k].hi - runs[k].lo;
    CHECK(total == expected);
    unitok_search_runs_free(runs);
    for (int64_t work = 0; work < 20000; work = work * 3 + 50)
        CHECK(count(toy, q, m, work, &approx) <= expected);
}

static void test_random(int n_rounds)
{
    for (round_ = 0; round_ < n_rounds; round_++) {
        struct toy toy;
        uint8_t q[MAX_QUERY];
        random_toy(&toy);
        size_t n_sums = (size_t)unitok_search_inside(toy.pieces, &toy.shard, NULL) + 1;
        uint64_t *sums = malloc(n_sums * sizeof *sums);
        unitok_search_inside(toy.pieces, &toy.shard, sums);
        if (random_u64() & 1) toy.shard.inside = sums;
        for (int k = 0; k < 20; k++) check_query(&toy, q, random_query(&toy, q));
        toy.shard.inside = NULL;
        free(sums);
        toy_free(&toy);
    }
}

/* Texts have exactly the promised size, and each context is part of its document. */
static void test_contexts(int n_rounds)
{
    for (round_ = 0; round_ < n_rounds; round_++) {
        struct toy toy;
        random_toy(&toy);
        int64_t *offsets = EXACTLY(toy_id_count(&toy) + 1, int64_t), n_hits = 0, n_bytes = 0;
        for (int64_t id = 0; id <= toy_id_count(&toy); id++)
            offsets[id] = toy.offsets[id < toy.n_ids ? id : toy.n_ids];
        unitok_search_hit hits[32];
        int64_t before = (int64_t)(random_u64() % 6), after = (int64_t)(random_u64() % 6);
        for (int k = 0; k < 32 && toy.shard.n; k++) {
            int64_t d = (int64_t)(random_u64() % (uint64_t)toy.n_documents);
            int64_t begin = d ? (int64_t)toy.ends[d - 1] - 1000 : 0,
                    end = (int64_t)toy.ends[d] - 1000;
            unitok_search_hit hit = {begin + (int64_t)(random_u64() % (uint64_t)(end - begin + 1)),
                                     (int64_t)(random_u64() % 7),
                                     (int64_t)(random_u64() % 9),
                                     begin,
                                     end,
                                     (int64_t)(random_u64() % 2)};
            hits[n_hits++] = hit;
            n_bytes += hit.n_bytes;
        }
        uint8_t *out = EXACTLY(n_bytes + 4 * n_hits * (before + after), uint8_t);
        int64_t *bounds = EXACTLY(3 * n_hits + 1, int64_t);
        unitok_search_contexts(toy.stored, toy.id_bytes, toy.data, offsets, hits, n_hits, before,
                               after, out, bounds);
        for (int64_t k = 0; k < n_hits; k++) {
            uint8_t text[TOY_TOKENS * TOY_PIECE_BYTES];
            int64_t n = 0, at = 0, n_found = bounds[3 * k + 3] - bounds[3 * k], is_part = 0;
            for (int64_t i = hits[k].begin; i < hits[k].end; i++) {
                int64_t n_piece;
                const uint8_t *piece = toy_piece(&toy, (int)toy.ids[i], &n_piece);
                memcpy(text + n, piece, (size_t)n_piece);
                n += n_piece;
            }
            for (; at + n_found <= n && !is_part; at++)
                is_part = memcmp(text + at, out + bounds[3 * k], (size_t)n_found) == 0;
            CHECK(is_part && bounds[3 * k + 1] - bounds[3 * k] <= before &&
                  bounds[3 * k + 3] - bounds[3 * k + 2] <= after);
            CHECK(bounds[3 * k + 2] - bounds[3 * k + 1] <= hits[k].n_bytes);
        }
        free(offsets);
        free(out);
        free(bounds);
        toy_free(&toy);
    }
}

/* Whatever the arrays contain, nothing out of bounds is read; the sanitizer would detect it. */
static void test_hostile(int n_rounds)
{
    for (round_ = 0; round_ < n_rounds; round_++) {
        struct toy toy;
        uint8_t q[MAX_QUERY], approx;
        unitok_error error;
        random_toy(&toy);
        size_t n = (size_t)toy.shard.n;
        int which = (int)(random_u64() % 6);
        size_t size = n * (size_t)toy.id_bytes;
        if (which == 0) fill_random((uint8_t *)toy.sa, n * 4);
        if (which == 1)
            for (size_t r = 0; r < n; r++) toy.sa[r] = (uint32_t)(random_u64() % (n + 2));
        if (which == 2 && toy.left) fill_random(toy.left, size);
        if (which == 3) fill_random((uint8_t *)toy.ends, sizeof toy.ends);
        if (which == 4) fill_random(toy.top, n ? 4 + 8 * (size_t)toy.id_bytes : 0);
        if (which == 5) fill_random(toy.stored, size);
        for (int k = 0; k < 10; k++) {
            static int64_t counts[UNITOK_SEARCH_IDS_32];
            int64_t m = random_query(&toy, q), n_runs, lo, hi, begin = 0, end = 3;
            uint32_t ids[3] = {(uint32_t)(random_u64() % 20), (uint32_t)(random_u64() % 20),
                               (uint32_t)random_u64() % (random_u64() % 2 ? 20 : UINT32_MAX)};
            unitok_search_run *runs;
            count(&toy, q, m, 1000000, &approx);
            CHECK(unitok_search_find(toy.pieces, &toy.shard, q, m, 1000, 1000000, &runs, &n_runs,
                                     &approx, &error) == UNITOK_OK);
            for (int64_t r = 0; r < n_runs; r++)
                CHECK(0 <= runs[r].lo && runs[r].hi <= toy.shard.n);
            unitok_search_runs_free(runs);
            unitok_search_tokens(&toy.shard, ids, &begin, &end, 1, &lo, &hi);
            CHECK(0 <= lo && lo <= hi && hi <= toy.shard.n);
            memset(counts, 0, sizeof counts);
            unitok_search_previous(&toy.shard, 0, toy.shard.n, counts);
            uint32_t next[8];
            unitok_search_next(&toy.shard, 0, toy.shard.n, (int64_t)(random_u64() % 3), next,
                               counts, 8);
        }
        toy_free(&toy);
    }
}

static void test_out_of_memory(int n_rounds)
{
    for (round_ = 0; round_ < n_rounds; round_++) {
        struct toy toy;
        uint8_t q[MAX_QUERY], approx;
        unitok_error error;
        random_toy(&toy);
        int64_t m = random_query(&toy, q), offsets[2] = {0, m}, expected = toy_count(&toy, q, m),
                n = -1, n_runs;
        unitok_search_pieces *held = toy.pieces, *again = NULL;
        unitok_search_run *runs;
        int64_t live = alloc_live_blocks;
        for (int64_t k = 1, n_failed = 1; n_failed; k++) {
            n_failed = 0;
            alloc_fail_at = k;
            int32_t status = unitok_search_count(held, &toy.shard, q, offsets, 1, no_limit, &n,
                                                 &approx, &error);
            CHECK(status == UNITOK_ERROR_MEMORY || n == expected);
            n_failed += status != UNITOK_OK;
            alloc_fail_at = k;
            status = unitok_search_find(held, &toy.shard, q, m, no_limit, no_limit, &runs, &n_runs,
                                        &approx, &error);
            if (status == UNITOK_OK) unitok_search_runs_free(runs);
            n_failed += status != UNITOK_OK;
            alloc_fail_at = k;
            toy.pieces = NULL;
            status = toy_pieces(&toy, &error);
            if (status == UNITOK_OK) again = toy.pieces;
            else CHECK(toy.pieces == NULL && error.status == UNITOK_ERROR_MEMORY);
            unitok_search_pieces_free(again);
            again = NULL;
            n_failed += status != UNITOK_OK;
            alloc_fail_at = 0;
            CHECK(alloc_live_blocks == live);
        }
        toy.pieces = held;
        toy_free(&toy);
    }
}

static void test_arguments(void)
{
    struct toy toy;
    unitok_error error;
    random_toy(&toy);
    int64_t offsets[2] = {3, 1}, n;
    uint8_t approx, q[4] = "aaa";
    CHECK(unitok_search_count(toy.pieces, &toy.shard, q, offsets, 1, 10, &n, &approx, &error) ==
          UNITOK_ERROR_ARGUMENT);
    toy.first[5] = toy.first[65536] + 1;
    CHECK(unitok_search_check(&toy.shard, &error) == UNITOK_ERROR_ARGUMENT);
    toy.shard.eod = 65536;
    CHECK(unitok_search_check(&toy.shard, &error) == UNITOK_ERROR_ARGUMENT);
    toy_free(&toy);
}

int main(void)
{
    random_start(7);
    RUN(test_random(600));
    RUN(test_contexts(600));
    RUN(test_hostile(600));
    RUN(test_out_of_memory(60));
    RUN(test_arguments());
    return 0;
}
