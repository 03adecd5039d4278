/* test_model.c - tests models and encoding between guard pages, with failing allocations and with
 * damaged images */
#define _DEFAULT_SOURCE

#include "test_alloc.h"

#include "guard.h"

#include "ground/common.h"
#include "pieces.h"
#include "models.h"

enum { TEXT_MAX = 4096 + 70 };

static struct pieces pieces;
static unitok_error error;

static int32_t new_model(int engine, int cpu, unitok_model **ret)
{
    error.message = NULL;
    unitok_spec spec = longest_spec(pieces.data, pieces.offsets, pieces.ids, pieces.n, -1,
                                    pieces.fallback_id);
    return build_complete(&spec, engine, cpu, ret, &error);
}

static void small_vocabulary(void)
{
    static const char *const words[] = {
        "the", " the", "the c", "猫", "である", "\xe3\x81", "aaaaaaaaaaaaaaaa", "ab", "猫は"};
    pieces_clear(&pieces);
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        pieces_add(&pieces, words[k], (int64_t)strlen(words[k]));
    pieces_add_bytes(&pieces);
}

/* The native image of the current pieces; the caller frees it. */
static uint8_t *make_image(int64_t *ret_n_bytes)
{
    unitok_model *m = NULL;
    CHECK(new_model(0, UNITOK_CPU_AUTO, &m) == UNITOK_OK);
    int64_t n_bytes = unitok_model_save(m, NULL, 0);
    uint8_t *image = malloc((size_t)n_bytes);
    CHECK(unitok_model_save(m, image, n_bytes - 1) == n_bytes);
    CHECK(unitok_model_save(m, image, n_bytes) == n_bytes);
    unitok_model_free(m);
    *ret_n_bytes = n_bytes;
    return image;
}

/* ----------------------------------------------------------------------------- Guard pages ---- */

static struct guard text_guard, ids_guard, ends_guard, image_guard;

/* Encodes one text with all buffers against guard pages; ids have exactly the documented size. */
static void check_text(const unitok_model *m, unitok_scratch *s, const uint8_t *text,
                       int64_t n_bytes)
{
    static uint16_t expected[TEXT_MAX];
    static int64_t expected_ends[TEXT_MAX];
    int64_t n = pieces_encode(&pieces, text, n_bytes, expected, expected_ends);
    const uint8_t *at_end = guard_copy(&text_guard, text, (size_t)n_bytes);
    size_t room = (size_t)(n_bytes + UNITOK_ENCODE_SLACK) * sizeof(uint16_t);
    uint16_t *ids = (uint16_t *)(void *)guard_copy(&ids_guard, NULL, room);
    int64_t *ends = (int64_t *)(void *)guard_copy(&ends_guard, NULL,
                                                  (size_t)n_bytes * sizeof(int64_t));
    for (int pass = 0; pass < 2; pass++) { /* the second pass finds everything in the memo */
        CHECK(unitok_encode(m, s, at_end, n_bytes, ids, n_bytes + UNITOK_ENCODE_SLACK) == n);
        CHECK(!memcmp(ids, expected, (size_t)n * sizeof *ids));
    }
    /* bytes before the text are not read */
    uint8_t *at_start = text_guard.start + sysconf(_SC_PAGESIZE);
    memmove(at_start, text, (size_t)n_bytes);
    CHECK(unitok_encode(m, s, at_start, n_bytes, ids, n_bytes + UNITOK_ENCODE_SLACK) == n &&
          !memcmp(ids, expected, (size_t)n * sizeof *ids));
    at_end = guard_copy(&text_guard, text, (size_t)n_bytes);
    CHECK(encode_ends(m, s, at_end, n_bytes, ids, ends) == n);
    CHECK(!memcmp(ids, expected, (size_t)n * sizeof *ids));
    CHECK(!memcmp(ends, expected_ends, (size_t)n * sizeof *ends));
    /* a position settled by the start of a text is a boundary in the complete text */
    for (int k = 0; k < 4; k++) {
        int64_t n_start = random_below(n_bytes + 1), at = 0;
        int64_t split = unitok_split(m, guard_copy(&text_guard, text, (size_t)n_start), n_start);
        while (at < n && expected_ends[at] < split) at++;
        CHECK(split >= 0 && split <= n_start && (split == 0 || expected_ends[at] == split));
    }
    guard_copy(&text_guard, text, (size_t)n_bytes);

    int64_t bounds[2] = {0, n_bytes}, id_bounds[2], sizes[2];
    CHECK(!unitok_encode_batch(m, s, at_end, bounds, 1, -1, 0, NULL, ids,
                               n_bytes + UNITOK_ENCODE_SLACK, id_bounds, &error) &&
          id_bounds[1] == n);
    CHECK(!memcmp(ids, expected, (size_t)n * sizeof *ids));
    if (pieces.fallback_id >= 0) return;
    uint16_t *just_ids = (uint16_t *)(void *)guard_copy(&ids_guard, expected,
                                                        (size_t)n * sizeof *ids);
    uint8_t *back = guard_copy(&text_guard, NULL, (size_t)n_bytes);
    memset(back, 0, (size_t)n_bytes);
    CHECK(
        !unitok_decode_batch(m, just_ids, id_bounds, 1, 0, NULL, 0, back, n_bytes, sizes, &error));
    CHECK(sizes[1] == n_bytes && !memcmp(back, text, (size_t)n_bytes));
}

/* Encodes three documents and their eod into a buffer of exactly the documented size. */
static void check_batch(const unitok_model *m, unitok_scratch *s, const uint8_t *text,
                        int64_t n_bytes)
{
    int64_t offsets[4] = {1, n_bytes / 3 + 1, n_bytes / 3 + 1, n_bytes}, id_offsets[4];
    const uint8_t *at_end = guard_copy(&text_guard, text, (size_t)n_bytes);
    for (int flags = 0; flags < 4; flags++) {
        size_t room = (size_t)(n_bytes - 1 + 3 + UNITOK_ENCODE_SLACK) * sizeof(uint16_t);
        uint16_t *ids = (uint16_t *)(void *)guard_copy(&ids_guard, NULL, room);
        CHECK(!unitok_encode_batch(m, s, at_end, offsets, 3, 9999, flags, NULL, ids,
                                   n_bytes - 1 + 3 + UNITOK_ENCODE_SLACK, id_offsets, &error));
        for (int k = 0; k < 3; k++) {
            static uint16_t expected[TEXT_MAX];
            static int64_t ends[TEXT_MAX];
            int has_eod = k < 2 || !(flags & UNITOK_ENCODE_OPEN_END);
            int64_t n = pieces_encode(&pieces, text + offsets[k], offsets[k + 1] - offsets[k],
                                      expected, ends);
            CHECK(id_offsets[k + 1] - id_offsets[k] == n + has_eod);
            CHECK(!memcmp(ids + id_offsets[k], expected, (size_t)n * sizeof *ids));
            CHECK(!has_eod || ids[id_offsets[k] + n] == 9999);
        }
    }
}

static void check_levels(int set)
{
    static uint8_t text[TEXT_MAX];
    for (int engine = 0; engine < 2; engine++) {
        for (int cpu = 0; cpu <= UNITOK_CPU_NEON; cpu++) {
            unitok_model *m = NULL;
            if (!unitok_cpu_supported(cpu)) continue;
            CHECK(new_model(engine, cpu, &m) == UNITOK_OK);
            unitok_scratch *s = unitok_scratch_new(m);
            for (int64_t n = 0; n <= 200; n++) {
                random_symbols(set, text, n);
                check_text(m, s, text, n);
                if (n > 3) check_batch(m, s, text, n);
            }
            for (int64_t n = 4096 - 70; n <= 4096 + 70; n += 1 + random_below(6)) {
                random_symbols(set, text, n);
                /* a segment across the end of the chunk */
                if (n % 2) memset(text + 3000, text[3000], (size_t)(n - 3000));
                check_text(m, s, text, n);
            }
            unitok_scratch_free(s);
            unitok_model_free(m);
        }
    }
}

static void test_guard_pages(void)
{
    text_guard = guard_new(2 * TEXT_MAX);
    ids_guard = guard_new(4 * TEXT_MAX);
    ends_guard = guard_new(8 * TEXT_MAX);
    for (int set = 0; set < N_SYMBOL_SETS; set++) {
        random_pieces(&pieces, set);
        check_levels(set);
    }
    small_vocabulary();
    check_levels(2);
    guard_free(&ends_guard);
    guard_free(&ids_guard);
    guard_free(&text_guard);
}

/* ----------------------------------------------------------------------- Failing allocator ---- */

/* Each allocation fails once: the status reports it, nothing is returned, and nothing leaks.
 * Returns the number of allocations. */
static int test_fail_each(const uint8_t *image, int64_t n_image_bytes, int engine)
{
    int k = 1;
    for (;; k++) {
        unitok_model *m = NULL;
        alloc_fail_at = k;
        int32_t status = image ? load_complete(image, n_image_bytes, engine, UNITOK_CPU_AUTO, &m,
                                               &error)
                               : new_model(engine, UNITOK_CPU_AUTO, &m);
        unitok_scratch *s = status ? NULL : unitok_scratch_new(m);
        int reached = alloc_fail_at == 0;
        alloc_fail_at = 0;
        CHECK(status == UNITOK_OK ||
              (status == UNITOK_ERROR_MEMORY && !m && error.status == status && error.message));
        CHECK(reached == (status || !s));
        unitok_scratch_free(s);
        unitok_model_free(m);
        CHECK(alloc_live_blocks == 0 && alloc_live_bytes == 0);
        if (!reached) return k - 1;
    }
}

static void test_memory(void)
{
    int64_t n_bytes;
    unitok_model_free(NULL);
    unitok_scratch_free(NULL);
    for (int set = 0; set < N_SYMBOL_SETS; set++) {
        random_pieces(&pieces, set);
        uint8_t *image = make_image(&n_bytes);
        for (int engine = 0; engine < 2; engine++) {
            CHECK(test_fail_each(NULL, 0, engine) > 8);
            CHECK(test_fail_each(image, n_bytes, engine) >= 2);
        }
        free(image);
    }
}

/* ----------------------------------------------------------------------------------- Rules ---- */

static void expect(int32_t wanted, int64_t item, const int64_t *offsets, const int64_t *ids,
                   int64_t n, int64_t eod_id, int64_t fallback_id, int engine, int cpu)
{
    const uint8_t *data = (const uint8_t *)"abcab";
    /* the error is optional */
    for (int with_error = 0; with_error < 2; with_error++) {
        unitok_model *m = NULL;
        unitok_error *e = with_error ? &error : NULL;
        memset(&error, 0, sizeof error);
        unitok_spec spec = longest_spec(data, offsets, ids, n, eod_id, fallback_id);
        CHECK(build_complete(&spec, engine, cpu, &m, e) == wanted && !m);
        CHECK(!with_error || (error.status == wanted && error.message && error.item == item));
    }
}

static void test_rules(void)
{
    int64_t good[4] = {0, 1, 2, 3}, empty[4] = {0, 1, 1, 3}, falling[4] = {0, 2, 1, 3},
            twice[4] = {0, 2, 3, 5};
    int64_t ids[3] = {5, 65535, 0}, same[3] = {5, 6, 5}, high[3] = {5, 4194304, 1},
            low[3] = {5, 1, -1};
    enum { V = UNITOK_ERROR_VOCABULARY, A = UNITOK_ERROR_ARGUMENT };
    expect(V, 1, empty, ids, 3, -1, 9, 0, -1);
    expect(A, 1, falling, ids, 3, -1, 9, 0, -1);
    expect(V, 2, twice, ids, 3, -1, 9, 0, -1);
    expect(V, 2, good, same, 3, -1, 9, 0, -1);
    expect(V, 1, good, high, 3, -1, 9, 0, -1);
    expect(V, 2, good, low, 3, -1, 9, 0, -1);
    expect(V, -1, good, ids, 3, 4194304, 9, 0, -1);
    expect(V, -1, good, ids, 3, -2, 9, 0, -1);
    expect(V, -1, good, ids, 3, -1, 4194304, 0, -1);
    expect(V, -1, good, ids, 3, -1, -2, 0, -1);
    expect(V, -1, good, ids, 3, -1, -1, 0, -1); /* 253 bytes have no piece */
    expect(A, -1, good, ids, -1, -1, 9, 0, -1);
    expect(A, -1, good, ids, 3, -1, 9, 2, -1);
    expect(A, -1, good, ids, 3, -1, 9, -1, -1);
    expect(UNITOK_ERROR_CPU, -1, good, ids, 3, -1, 9, 0, 5);
    expect(UNITOK_ERROR_CPU, -1, good, ids, 3, -1, 9, 0, -2);
}

static void test_no_pieces(void)
{
    unitok_model *m = NULL;
    int64_t zero[1] = {0}, n_bytes;
    uint16_t ids[3 + UNITOK_ENCODE_SLACK];
    for (int engine = 0; engine < 2; engine++) {
        unitok_spec spec = longest_spec(NULL, zero, NULL, 0, -1, 3);
        CHECK(!build_complete(&spec, engine, -1, &m, &error));
        unitok_scratch *s = unitok_scratch_new(m);
        CHECK(unitok_encode(m, s, (const uint8_t *)"abc", 3, ids, 3 + UNITOK_ENCODE_SLACK) == 3 &&
              ids[0] == 3 && ids[2] == 3);
        CHECK(unitok_split(m, (const uint8_t *)"abc", 3) > 0);
        CHECK(unitok_model_find(m, (const uint8_t *)"a", 1) == -1 &&
              unitok_model_find(m, NULL, 0) == -1);
        CHECK(!unitok_model_piece(m, 3, &n_bytes) && n_bytes == -1);
        unitok_scratch_free(s);
        unitok_model_free(m);
    }
}

/* A run has no cuts; its tokens are settled up to where the longest piece can extend past the
 * end. */
static void test_split_run(void)
{
    static uint8_t text[100];
    pieces_clear(&pieces);
    pieces.fallback_id = 9000;
    memset(text, 'a', sizeof text);
    pieces_add(&pieces, text, 1);
    pieces_add(&pieces, text, 16);
    for (int engine = 0; engine < 2; engine++) {
        unitok_model *m = NULL;
        CHECK(new_model(engine, UNITOK_CPU_AUTO, &m) == UNITOK_OK);
        for (int64_t n = 0; n < 100; n++) CHECK(unitok_split(m, text, n) == n / 16 * 16);
        unitok_model_free(m);
    }
}

/* Finds every piece, and nothing else. */
static void test_find(void)
{
    for (int set = 0; set < N_SYMBOL_SETS; set++) {
        unitok_model *m = NULL;
        random_pieces(&pieces, set);
        CHECK(new_model(random_below(2) == 1, UNITOK_CPU_AUTO, &m) == UNITOK_OK);
        for (int64_t k = 0; k < pieces.n; k++) {
            int64_t n = pieces.offsets[k + 1] - pieces.offsets[k], n_found;
            const uint8_t *piece = pieces.data + pieces.offsets[k];
            const uint8_t *found = unitok_model_piece(m, pieces.ids[k], &n_found);
            CHECK(unitok_model_find(m, piece, n) == pieces.ids[k] && n_found == n &&
                  !memcmp(found, piece, (size_t)n));
        }
        for (int k = 0; k < 2000; k++) {
            uint8_t other[8];
            int64_t n = 1 + random_below(8);
            random_symbols(set, other, n);
            int64_t at = pieces_find(&pieces, other, n);
            CHECK(unitok_model_find(m, other, n) == (at < 0 ? -1 : pieces.ids[at]));
        }
        unitok_model_free(m);
    }
}

static void test_decode_errors(void)
{
    unitok_model *m = NULL;
    uint16_t ids[4] = {1, 8, 7777, 1};
    int64_t bounds[3] = {0, 2, 4}, falling[3] = {0, 4, 2}, sizes[3];
    uint8_t out[16];
    small_vocabulary();
    CHECK(new_model(0, UNITOK_CPU_AUTO, &m) == UNITOK_OK);
    CHECK(unitok_decode_batch(m, ids, bounds, 2, 0, NULL, 0, out, 16, sizes, &error) ==
          UNITOK_ERROR_ID);
    CHECK(error.item == 7777 && error.position == 2);
    CHECK(unitok_decode_batch(m, ids, falling, 2, 0, NULL, 0, out, 16, sizes, &error) ==
          UNITOK_ERROR_ARGUMENT);
    CHECK(unitok_decode_batch(m, ids, bounds, 1, 2, NULL, 0, out, 16, sizes, &error) ==
          UNITOK_ERROR_ARGUMENT);
    CHECK(unitok_decode_batch(m, ids, bounds, -1, 0, NULL, 0, out, 16, sizes, &error) ==
          UNITOK_ERROR_ARGUMENT);
    bounds[1] = 3; /* drop_last skips the invalid id 7777 */
    CHECK(!unitok_decode_batch(m, ids, bounds, 2, 1, (const uint8_t *)"|", 1, out, 16, sizes,
                               &error));
    unitok_model_free(m);
}

/* ---------------------------------------------------------------------------------- Images ---- */

static int32_t load(const uint8_t *image, int64_t n_bytes, int engine, unitok_model **ret)
{
    *ret = NULL;
    memset(&error, 0, sizeof error);
    return load_complete(image, n_bytes, engine, UNITOK_CPU_AUTO, ret, &error);
}

/* The image ends at a guard page, complete and truncated at every relevant length. */
static void test_image_guarded(void)
{
    static uint8_t text[TEXT_MAX];
    int64_t n_bytes;
    unitok_model *m;
    small_vocabulary();
    uint8_t *image = make_image(&n_bytes);
    image_guard = guard_new((size_t)n_bytes);
    text_guard = guard_new(2 * TEXT_MAX);
    ids_guard = guard_new(4 * TEXT_MAX);
    ends_guard = guard_new(8 * TEXT_MAX);
    for (int engine = 0; engine < 2; engine++) {
        CHECK(load(guard_copy(&image_guard, image, (size_t)n_bytes), n_bytes, engine, &m) ==
              UNITOK_OK);
        unitok_scratch *s = unitok_scratch_new(m);
        for (int k = 0; k < 50; k++) {
            int64_t n = random_below(400);
            random_symbols(2, text, n);
            check_text(m, s, text, n);
        }
        unitok_scratch_free(s);
        unitok_model_free(m);
        for (int64_t n = 0; n < n_bytes;
             n += n < 128 || n > n_bytes - 128 ? 8 : 8 * (1 + random_below(2000))) {
            CHECK(load(guard_copy(&image_guard, image, (size_t)n), n, engine, &m) ==
                      UNITOK_ERROR_FORMAT &&
                  !m);
            CHECK(error.position >= 0 && error.message);
        }
    }
    CHECK(load(image + 4, n_bytes - 4, 0, &m) == UNITOK_ERROR_ARGUMENT);
    guard_free(&ends_guard);
    guard_free(&ids_guard);
    guard_free(&text_guard);
    guard_free(&image_guard);
    free(image);
}

/* A header that contradicts the sections, in each field in turn. */
static void test_image_header(void)
{
    int64_t n_bytes;
    unitok_model *m;
    small_vocabulary();
    uint8_t *image = make_image(&n_bytes);
    for (int64_t at = 0; at < 64; at++) {
        if (at >= 16 && at < 24) continue; /* the caller verifies the checksum */
        for (int bit = 0; bit < 8; bit++) {
            image[at] ^= (uint8_t)(1 << bit);
            int32_t status = load(image, n_bytes, at & 1, &m);
            /* a changed eod is valid */
            CHECK(status == UNITOK_ERROR_FORMAT || (status == UNITOK_OK && at >= 40 && at < 48));
            unitok_model_free(m);
            image[at] ^= (uint8_t)(1 << bit);
        }
    }
    free(image);
}

static void patch(uint8_t *image, int64_t n_bytes, int64_t at, uint64_t value, size_t width)
{
    uint8_t saved[8];
    unitok_model *m;
    memcpy(saved, image + at, width);
    memcpy(image + at, &value, width);
    for (int engine = 0; engine < 2; engine++)
        CHECK(load(image, n_bytes, engine, &m) == UNITOK_ERROR_FORMAT && !m);
    /* the error contains the position */
    CHECK(error.position >= at - 8 && error.position <= at + 8);
    memcpy(image + at, saved, width);
}

/* Triggers every check of every table with the first value that is too large or too small. */
static void test_image_tables(void)
{
    int64_t n_bytes;
    unitok_model *m;
    unitok_model_info info;
    small_vocabulary();
    uint8_t *image = make_image(&n_bytes);
    CHECK(load(image, n_bytes, 0, &m) == UNITOK_OK);
    unitok_model_get_info(m, &info);
    unitok_model_free(m);
    uint64_t n_units = (uint64_t)(info.trie_bytes / 8) - 65536, n_ids = (uint64_t)info.n_ids;
    int64_t units_end = 64 + (int64_t)n_units * 8;
    int64_t lengths = n_bytes - (pieces.offsets[pieces.n] + 7) / 8 * 8 -
                      ((int64_t)n_ids + 7) / 8 * 8;
    for (int k = 0; k < 3; k++) {
        int64_t unit = units_end - 8 - (k ? 8 * random_below((int64_t)n_units) : 0);
        patch(image, n_bytes, unit, n_units << 32, 8);
        patch(image, n_bytes, unit, UINT64_C(0xFFFFFFFF) << 32, 8);
        patch(image, n_bytes, unit, (n_ids + 1) << 9 | 0x100, 8);
    }
    /* the code of a pair that requires a pattern, which the model lacks */
    for (int k = 0; k < 3; k++) patch(image, n_bytes, units_end + random_below(65536), 4, 1);
    /* a length that is off by one moves the end of the pieces */
    for (uint64_t id = 0; id < n_ids; id++) {
        image[lengths + (int64_t)id]++;
        CHECK(load(image, n_bytes, 0, &m) == UNITOK_ERROR_FORMAT && !m);
        image[lengths + (int64_t)id]--;
    }
    free(image);
}

/* Two pieces of 600 KB are joined by a changed length. The result is longer than the HAT-trie
 * supports, which must be reported as an error in the file. */
static void test_image_long_piece(void)
{
    enum { N = 600000 };
    int64_t offsets[3] = {0, N, 2 * N}, ids[2] = {0, 1};
    uint8_t *data = malloc(2 * N);
    unitok_model *m = NULL;
    memset(data, 'a', 2 * N);
    data[0] = 'b';
    unitok_spec spec = longest_spec(data, offsets, ids, 2, -1, 1);
    CHECK(!build_complete(&spec, 0, -1, &m, &error));
    int64_t n_bytes = unitok_model_save(m, NULL, 0);
    uint8_t *image = malloc((size_t)n_bytes);
    unitok_model_save(m, image, n_bytes);
    unitok_model_free(m);
    uint32_t n_pieces = 1, length = 2 * N;
    memcpy(image + 36, &n_pieces, 4);
    memcpy(image + 48, &length, 4);
    memcpy(image + n_bytes - 2 * N - 8, &length, 4); /* the lengths of the two pieces */
    memset(image + n_bytes - 2 * N - 4, 0, 4);
    for (int engine = 0; engine < 2; engine++)
        CHECK(load(image, n_bytes, engine, &m) == UNITOK_ERROR_FORMAT);
    free(image);
    free(data);
}

int main(void)
{
    random_start(20261120);
    RUN(test_rules());
    RUN(test_no_pieces());
    RUN(test_split_run());
    RUN(test_find());
    RUN(test_decode_errors());
    RUN(test_image_guarded());
    RUN(test_image_header());
    RUN(test_image_tables());
    RUN(test_image_long_piece());
    RUN(test_memory());
    RUN(test_guard_pages());
    return 0;
}
