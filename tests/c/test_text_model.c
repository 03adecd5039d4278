/* test_text_model.c - calls every function on models that encode text: hostile bytes before guard
 * pages, saved and damaged images, every allocation failing once */
#define _DEFAULT_SOURCE

#include "test_alloc.h"

#include "guard.h"

#include "text_models.h"

enum { TEXT_MAX = 12000, SEED_MAX = 2000 };

static struct text_model model;
static struct guard text_guard, image_guard;
static uint8_t text[TEXT_MAX], seed[SEED_MAX];

static void read_random_model(int set)
{
    random_symbols(set, seed, SEED_MAX);
    for (int64_t k = 0; k < 4; k++) seed[k] = (uint8_t)random_u64();
    /* bytes that become types, scores and lengths */
    for (int64_t k = 4; k < SEED_MAX; k += 5 + random_below(6)) {
        seed[k] = (uint8_t)random_u64();
        if (k + 1 < SEED_MAX) seed[k + 1] = (uint8_t)random_u64();
    }
    struct bytes in = {seed, seed + SEED_MAX};
    text_model_read(&model, &in);
}

static int64_t random_text(int set)
{
    int64_t n = random_below(8) ? random_below(200) : random_below(TEXT_MAX);
    random_symbols(set, text, n);
    for (int64_t k = random_below(10); k > 0 && n; k--) {
        static const char *const strange[] = {" ",        "  ", "\xe2\x96\x81", "\xff",
                                              "\xe6\x97", "\n", "<s>"};
        const char *s = strange[random_below(7)];
        int64_t at = random_below(n), length = (int64_t)strlen(s);
        for (int64_t i = 0; i < length && at + i < n; i++) text[at + i] = (uint8_t)s[i];
    }
    if (random_below(5) == 0 && n) memset(text, text[0], (size_t)(n / 2));
    return n;
}

/* Completes a model, which can fail only if allocation fails; sometimes retries once. On failure,
 * frees m and returns 0. */
static int complete(unitok_model *m)
{
    unitok_model_info info;
    unitok_model_get_info(m, &info);
    if (!info.is_complete) CHECK(!unitok_scratch_new(m) && unitok_split(m, text, 1) == 0);
    int32_t status = unitok_model_complete(m, NULL);
    CHECK(!status || (status == UNITOK_ERROR_MEMORY && !info.is_complete));
    if (status && random_below(2)) status = unitok_model_complete(m, NULL);
    unitok_model_get_info(m, &info);
    CHECK(info.is_complete == !status);
    if (status) unitok_model_free(m);
    return !status;
}

static unitok_model *make(void)
{
    unitok_model *m = NULL;
    unitok_error error = {0, 0, 0, NULL};
    int32_t cpu = random_below(2) ? UNITOK_CPU_AUTO : UNITOK_CPU_PORTABLE;
    int32_t status = unitok_model_new(&model.spec, 0, cpu, &m, &error);
    CHECK((status == UNITOK_OK) == (m != NULL));
    CHECK(!status || (error.status == status && error.message));
    return m && complete(m) ? m : NULL;
}

static void test_use(int64_t n_rounds)
{
    for (int64_t round = 0; round < n_rounds; round++) {
        int set = (int)random_below(N_SYMBOL_SETS);
        read_random_model(set);
        unitok_model *m = make();
        for (int k = 0; m && k < 4; k++) {
            int64_t n = random_text(set);
            CHECK(use_text_model(m, guard_copy(&text_guard, text, (size_t)n), n));
        }
        unitok_model_free(m);
        CHECK(alloc_live_blocks == 0);
    }
}

/* Fails each allocation in turn, from building the model to its last use. */
static void test_short_memory(int64_t n_rounds)
{
    for (int64_t round = 0; round < n_rounds;) {
        int set = (int)random_below(N_SYMBOL_SETS);
        read_random_model(set);
        unitok_model *m = make();
        if (!m) continue;
        unitok_model_free(m);
        round++;
        int64_t n = random_text(set) % 600;
        for (int64_t k = 1, done = 0; !done; k++) {
            alloc_fail_at = k;
            m = make();
            done = m && use_text_model(m, text, n);
            CHECK(done == (alloc_fail_at > 0) || alloc_fail_at == 0);
            done = alloc_fail_at > 0;
            alloc_fail_at = 0;
            unitok_model_free(m);
            CHECK(alloc_live_blocks == 0);
        }
    }
}

static void test_images(int64_t n_rounds)
{
    for (int64_t round = 0; round < n_rounds;) {
        int set = (int)random_below(N_SYMBOL_SETS);
        read_random_model(set);
        unitok_model *m = make(), *again = NULL;
        if (!m) continue;
        round++;
        int64_t n_bytes = unitok_model_save(m, NULL, 0), n = random_text(set);
        uint8_t *image = malloc((size_t)n_bytes);
        CHECK(unitok_model_save(m, image, n_bytes) == n_bytes && n_bytes % 8 == 0);
        unitok_model_free(m);
        uint8_t *mapped = guard_copy(&image_guard, image, (size_t)n_bytes);
        CHECK(!unitok_model_load(mapped, n_bytes, 0, UNITOK_CPU_AUTO, &again, NULL));
        CHECK(complete(again) && use_text_model(again, text, n));
        unitok_model_free(again);
        for (int k = 0; k < 40; k++) { /* truncated, then changed anywhere */
            int64_t n_left = k < 10 ? random_below(n_bytes) / 8 * 8 : n_bytes;
            mapped = guard_copy(&image_guard, image, (size_t)n_left);
            for (int64_t i = 1 + random_below(4); i > 0 && k >= 10; i--) {
                int64_t at = random_below(random_below(3) ? n_bytes : 96 < n_bytes ? 96 : n_bytes);
                mapped[at] = random_below(2) ? (uint8_t)random_u64()
                                             : (uint8_t)(mapped[at] ^ (1 << random_below(8)));
            }
            again = NULL;
            unitok_error error = {0, 0, 0, NULL};
            int32_t status = unitok_model_load(mapped, n_left, 0, UNITOK_CPU_AUTO, &again, &error);
            CHECK((status == UNITOK_OK) == (again != NULL) &&
                  (k >= 10 || status == UNITOK_ERROR_FORMAT));
            CHECK(!status || error.message);
            if (again) CHECK(complete(again) && use_text_model(again, text, n % 500));
            unitok_model_free(again);
        }
        free(image);
        CHECK(alloc_live_blocks == 0);
    }
}

int main(void)
{
    int64_t rounds = rounds_factor();
    random_start(20251120);
    text_guard = guard_new(TEXT_MAX);
    image_guard = guard_new(1 << 20);
    RUN(test_use(60 * rounds));
    RUN(test_short_memory(4 * rounds));
    RUN(test_images(8 * rounds));
    guard_free(&image_guard);
    guard_free(&text_guard);
    return 0;
}
