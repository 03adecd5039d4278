/* test_compact.c - compares compact indexes with a sorted list of suffixes, between guard pages;
 * also tests damaged indexes and failing allocations */
#define _DEFAULT_SOURCE

#include "test_alloc.h"

#include "guard.h"
#include "random.h"

#include "compacts.h"
#include "shards.h"

static struct guard guard;
static uint8_t built[COMPACT_MAX_BYTES];

struct text {
    uint16_t ids[COMPACT_MAX_N];
    uint32_t sa[COMPACT_MAX_N];
    int64_t n, k;
    int32_t block, locate, extract;
};

static void random_text(struct text *t)
{
    t->n = (int64_t)(random_u64() % (random_u64() % 2 ? 40 : COMPACT_MAX_N));
    t->k = 1 + (int64_t)(random_u64() % (random_u64() % 2 ? 4 : 300));
    int64_t period = 1 + (int64_t)(random_u64() % (random_u64() % 4 ? COMPACT_MAX_N : 40));
    for (int64_t i = 0; i < t->n; i++)
        t->ids[i] = i < period ? (uint16_t)(random_u64() % (uint64_t)t->k) : t->ids[i - period];
    sort_rows(t->ids, t->n, t->sa);
    t->block = random_u64() % 2 ? 64 : 128;
    t->locate = 1 << random_u64() % 8;
    t->extract = 1 + (int32_t)(random_u64() % 90);
}

static int32_t build(const struct text *t, int64_t *ret_bytes, unitok_error *error)
{
    return make_compact(t->ids, t->sa, t->n, t->k, t->block, t->locate, t->extract,
                        1 + (int64_t)(random_u64() % 300), built, ret_bytes, error);
}

static void check_answers(const struct text *t, const unitok_compact *c)
{
    unitok_error error;
    uint32_t symbols[COMPACT_MAX_N], found[COMPACT_MAX_N], wanted[5];
    for (int64_t r = 0; r < t->n; r++) {
        int64_t position;
        CHECK(!unitok_compact_locate(c, &r, 1, &position, &error) && position == t->sa[r]);
        CHECK(compact_symbol(c, r) == t->ids[t->sa[r]]);
    }
    for (int pass = 0; pass < 10; pass++) {
        int64_t begin = (int64_t)(random_u64() % (uint64_t)(t->n + 1)), zero = 0,
                end = begin + (int64_t)(random_u64() % (uint64_t)(t->n + 1 - begin)), lo, hi;
        CHECK(!unitok_compact_extract(c, &begin, &end, 1, symbols, found, &error));
        for (int64_t i = begin; i < end; i++)
            CHECK(symbols[i - begin] == t->ids[i] && t->sa[found[i - begin]] == i);
        int64_t m = end - begin < 5 ? end - begin : 5, expected = 0, first = -1;
        for (int64_t i = 0; i < m; i++) wanted[i] = t->ids[begin + i];
        if (m && random_u64() % 3 == 0) wanted[m - 1] = (uint32_t)(random_u64() % (uint64_t)t->k);
        unitok_compact_tokens(c, wanted, &zero, &m, 1, &lo, &hi);
        for (int64_t r = 0; r < t->n; r++) {
            int64_t i = 0;
            while (i < m && t->sa[r] + i < t->n && t->ids[t->sa[r] + i] == wanted[i]) i++;
            if (i < m) continue;
            if (expected++ == 0) first = r;
        }
        CHECK(hi - lo == expected && (expected == 0 || lo == first));
    }
}

static void test_random(int n_rounds)
{
    for (round_ = 0; round_ < n_rounds; round_++) {
        struct text t;
        unitok_error error;
        unitok_compact *c;
        int64_t n_bytes;
        random_text(&t);
        CHECK(build(&t, &n_bytes, &error) == UNITOK_OK && n_bytes % 8 == 0);
        const uint8_t *image = guard_copy(&guard, built, (size_t)n_bytes);
        CHECK(unitok_compact_open(image, n_bytes, &c, &error) == UNITOK_OK);
        check_answers(&t, c);
        use_compact(c);
        unitok_compact_free(c);
    }
}

/* Places the file before or after a guard page, and changes some bytes at random: a few, or most of
 * a section. */
static void test_damaged(int n_rounds)
{
    for (round_ = 0; round_ < n_rounds; round_++) {
        struct text t;
        unitok_error error;
        unitok_compact *c;
        compact_footer f;
        int64_t n_bytes;
        random_text(&t);
        CHECK(build(&t, &n_bytes, &error) == UNITOK_OK);
        memcpy(&f, built + n_bytes - sizeof f, sizeof f);
        size_t section = (size_t)(random_u64() % COMPACT_SECTIONS);
        if (section == SECTION_FIRST) {
            for (int k = 0; k < 3; k++)
                built[random_u64() % (uint64_t)n_bytes] = (uint8_t)random_u64();
        } else {
            for (uint64_t at = f.offsets[section]; at < f.offsets[section + 1]; at++)
                if (random_u64() % 4) built[at] = (uint8_t)(random_u64() % 2 ? random_u64() : 255);
        }
        if (random_u64() % 8 == 0) n_bytes -= 8 * (int64_t)(random_u64() % 80);
        uint8_t *image = guard_copy(&guard, built, (size_t)n_bytes);
        if (random_u64() % 2) {
            image = guard.start + sysconf(_SC_PAGESIZE);
            memcpy(image, built, (size_t)n_bytes);
        }
        int32_t status = unitok_compact_open(image, n_bytes, &c, &error);
        CHECK(status == UNITOK_OK || status == UNITOK_ERROR_FORMAT);
        if (status != UNITOK_OK) continue;
        use_compact(c);
        unitok_compact_free(c);
    }
}

/* The arrays passed to the builder may be hostile too. */
static void test_wrong_suffix_arrays(int n_rounds)
{
    for (round_ = 0; round_ < n_rounds; round_++) {
        struct text t;
        unitok_error error;
        unitok_compact *c;
        int64_t n_bytes;
        random_text(&t);
        for (int64_t r = 0; r < t.n; r++)
            if (random_u64() % 5 == 0)
                t.sa[r] = (uint32_t)(random_u64() % (uint64_t)(t.n + round_ % 2));
        int32_t status = build(&t, &n_bytes, &error);
        CHECK(status == UNITOK_OK || status == UNITOK_ERROR_ARGUMENT);
        if (status != UNITOK_OK) continue;
        const uint8_t *image = guard_copy(&guard, built, (size_t)n_bytes);
        CHECK(unitok_compact_open(image, n_bytes, &c, &error) == UNITOK_OK);
        use_compact(c);
        unitok_compact_free(c);
    }
}

static void test_out_of_memory(int n_rounds)
{
    for (round_ = 0; round_ < n_rounds; round_++) {
        struct text t;
        unitok_error error;
        unitok_compact *c;
        int64_t n_bytes;
        int32_t status = UNITOK_ERROR_MEMORY;
        random_text(&t);
        for (int64_t k = 1; status != UNITOK_OK; k++) {
            alloc_fail_at = k;
            status = build(&t, &n_bytes, &error);
            alloc_fail_at = 0;
            CHECK(alloc_live_blocks == 0);
            CHECK(status == UNITOK_OK || status == UNITOK_ERROR_MEMORY);
        }
        const uint8_t *image = guard_copy(&guard, built, (size_t)n_bytes);
        for (int64_t k = 1; k <= 5; k++) {
            alloc_fail_at = k;
            status = unitok_compact_open(image, n_bytes, &c, &error);
            alloc_fail_at = 0;
            CHECK(k <= 4 ? status == UNITOK_ERROR_MEMORY : status == UNITOK_OK);
            if (status == UNITOK_OK) unitok_compact_free(c);
            CHECK(alloc_live_blocks == 0);
        }
    }
}

/* Checks that every sequence of bits is a sequence of codewords, whatever the counts. */
static void test_codes(int n_rounds)
{
    for (round_ = 0; round_ < n_rounds; round_++) {
        static code_counts counts[500];
        static code_entries entries;
        uint8_t label[500];
        code_lengths lengths;
        code_words words;
        int64_t n = (int64_t)(random_u64() % 500);
        int n_classes = 2 + (int)(random_u64() % 30);
        memset(counts, 0, sizeof counts);
        for (int64_t b = 0; b < n; b++)
            for (int left = 127; left > 0; left--)
                counts[b].of[random_u64() % (random_u64() % (uint64_t)n_classes + 1)]++;
        codes_choose(counts, n, n_classes, label, &lengths);
        CHECK(codes_are_complete(&lengths, n_classes));
        codes_to_words(&lengths, &words);
        codes_to_entries(&lengths, &entries);
        for (int t = 0; t < CODE_TABLES; t++)
            for (int k = 0; k < n_classes; k++) {
                uint32_t entry = entries.entry[t][words.word[t][k]];
                CHECK((int)(entry & 31) == k && (entry >> 20 & 7) >= 1 && entry >> 24 <= CODE_BITS);
            }
        lengths.bits[3][1]++;
        CHECK(!codes_are_complete(&lengths, n_classes));
    }
}

/* -------------------------------------------------------------------------------- searches ---- */

static const int64_t no_limit = INT64_C(1) << 60;

/* The compact index of a toy shard, whose symbols are ranks; its file is at `guard`. */
struct compact_toy {
    struct toy toy;
    uint32_t ids[UNITOK_SEARCH_IDS_32]; /* the id of each rank */
    unitok_compact_shard shard;
    unitok_compact *c;
    int64_t n_bytes;
};

static void open_toy(struct compact_toy *t)
{
    uint8_t data[600];
    uint16_t ranks[TOY_TOKENS];
    struct bytes b = {data, sizeof data};
    unitok_error error;
    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)random_u64();
    toy_shard(&t->toy, &b);
    CHECK(toy_pieces(&t->toy, &error) == UNITOK_OK);
    int64_t n_ids = toy_id_count(&t->toy);
    for (int64_t id = 0; id < n_ids; id++) t->ids[t->toy.rank[id]] = (uint32_t)id;
    for (int64_t i = 0; i < t->toy.shard.n; i++) ranks[i] = (uint16_t)t->toy.rank[t->toy.ids[i]];
    CHECK(make_compact(ranks, t->toy.sa, t->toy.shard.n, n_ids, random_u64() % 2 ? 64 : 128, 4, 5,
                       1000, built, &t->n_bytes, &error) == UNITOK_OK);
}

/* Opens the file in `built`; returns 0 if it is rejected. */
static int open_built(struct compact_toy *t)
{
    unitok_error error;
    const uint8_t *image = guard_copy(&guard, built, (size_t)t->n_bytes);
    if (unitok_compact_open(image, t->n_bytes, &t->c, &error) != UNITOK_OK) return 0;
    unitok_compact_shard shard = {
        t->c,        toy_id_count(&t->toy), t->toy.rank,        t->ids,
        t->toy.ends, t->toy.n_documents,    t->toy.shard.begin, t->toy.shard.eod};
    t->shard = shard;
    if (unitok_compact_check(&t->shard, &error) == UNITOK_OK) return 1;
    unitok_compact_free(t->c);
    return 0;
}

static void close_toy(struct compact_toy *t)
{
    unitok_compact_free(t->c);
    toy_free(&t->toy);
}

/* Counts and finds a text of letters, which may or may not occur. Returns the status of the first
 * call that fails, or UNITOK_OK. */
static int32_t search_toy(const struct compact_toy *t, const uint8_t *q, int64_t m,
                          int64_t max_work, int64_t *ret_count, int64_t *ret_found)
{
    int64_t offsets[2] = {0, m}, n_runs;
    uint8_t approx;
    unitok_error error;
    unitok_search_run *runs;
    int32_t status = unitok_compact_count(t->toy.pieces, &t->shard, q, offsets, 1, max_work,
                                          ret_count, &approx, &error);
    if (status != UNITOK_OK) return status;
    status = unitok_compact_find(t->toy.pieces, &t->shard, q, m, no_limit, max_work, &runs, &n_runs,
                                 &approx, &error);
    if (status != UNITOK_OK) return status;
    *ret_found = 0;
    for (int64_t k = 0; k < n_runs; k++) {
        CHECK(0 <= runs[k].lo && runs[k].lo < runs[k].hi && runs[k].hi <= t->c->n);
        *ret_found += runs[k].hi - runs[k].lo;
    }
    unitok_search_runs_free(runs);
    return UNITOK_OK;
}

static int64_t random_letters(uint8_t *q)
{
    int64_t m = 1 + (int64_t)(random_u64() % 9);
    for (int64_t i = 0; i < m; i++) q[i] = (uint8_t)"aaab cd"[random_u64() % 7];
    return m;
}

static void test_search(int n_rounds)
{
    for (round_ = 0; round_ < n_rounds; round_++) {
        static struct compact_toy t;
        uint8_t q[16];
        int64_t counted, found;
        open_toy(&t);
        CHECK(open_built(&t));
        for (int k = 0; k < 25; k++) {
            int64_t m = random_letters(q), expected = toy_count(&t.toy, q, m);
            CHECK(search_toy(&t, q, m, no_limit, &counted, &found) == UNITOK_OK);
            CHECK(counted == expected && found == expected);
            CHECK(search_toy(&t, q, m, (int64_t)(random_u64() % 20000), &counted, &found) ==
                  UNITOK_OK);
            CHECK(counted <= expected && found <= expected);
        }
        close_toy(&t);
    }
}

static void test_search_damaged(int n_rounds)
{
    for (round_ = 0; round_ < n_rounds; round_++) {
        static struct compact_toy t;
        uint8_t q[16];
        int64_t counted, found;
        compact_footer f;
        open_toy(&t);
        memcpy(&f, built + t.n_bytes - sizeof f, sizeof f);
        for (int k = 0; k < 300; k++) {
            size_t section = (size_t)(random_u64() % COMPACT_SECTIONS);
            uint64_t size = f.offsets[section + 1] - f.offsets[section];
            if (section != SECTION_FIRST && size)
                built[f.offsets[section] + random_u64() % size] = (uint8_t)random_u64();
        }
        CHECK(open_built(&t));
        for (int k = 0; k < 25; k++) {
            int64_t m = random_letters(q);
            CHECK(search_toy(&t, q, m, 1000000, &counted, &found) == UNITOK_OK);
        }
        close_toy(&t);
    }
}

static void test_search_out_of_memory(int n_rounds)
{
    for (round_ = 0; round_ < n_rounds; round_++) {
        static struct compact_toy t;
        uint8_t q[16];
        int64_t counted, found, m = random_letters(q), live;
        int32_t status = UNITOK_ERROR_MEMORY;
        open_toy(&t);
        CHECK(open_built(&t));
        live = alloc_live_blocks;
        for (int64_t k = 1; status != UNITOK_OK; k++) {
            alloc_fail_at = k;
            status = search_toy(&t, q, m, no_limit, &counted, &found);
            alloc_fail_at = 0;
            CHECK(alloc_live_blocks == live);
            CHECK(status == UNITOK_OK || status == UNITOK_ERROR_MEMORY);
        }
        CHECK(counted == toy_count(&t.toy, q, m) && found == counted);
        close_toy(&t);
    }
}

int main(void)
{
    random_start(7);
    guard = guard_new(COMPACT_MAX_BYTES);
    RUN(test_random(400));
    RUN(test_damaged(1500));
    RUN(test_wrong_suffix_arrays(400));
    RUN(test_out_of_memory(20));
    RUN(test_codes(30));
    RUN(test_search(300));
    RUN(test_search_damaged(300));
    RUN(test_search_out_of_memory(30));
    guard_free(&guard);
    return 0;
}
