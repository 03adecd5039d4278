/* test_surfaces.c - the text of ids between guard pages, with ids that have no piece, and without memory
 *
 *   gcc -std=c11 -g -O1 -fsanitize=address,undefined -DUNITOK_TEST_ALLOC -I csrc -I tests/c tests/c/test_surfaces.c \
 *       csrc/[a-z]*.c -o test_surfaces && ./test_surfaces
 *   SEED=7 ./test_surfaces       another seed; the one in use is printed first
 *
 * That the text is right is for tests/test_surfaces.py, which has the oracle.
 */
#define _DEFAULT_SOURCE

#include "test_alloc.h"

#include "common.h"
#include "guard.h"
#include "random.h"

#define CHECK(condition) check(!!(condition), #condition, __LINE__)

static void check(int is_true, const char *what, int line)
{
    if (is_true) return;
    fprintf(stderr, "line %d: not true: %s\n", line, what);
    abort();
}

static uint32_t random_below(uint32_t n)
{
    return (uint32_t)((random_u64() >> 33) % n);
}

#define N_PIECES 40
static const char *const TEXTS[] = {"a",        "\xE2\x96\x81",  "\xE2\x96\x81the",
                                    "\xE2\x96", "b\xE2\x96\x81", "\xE7\x8C\xAB"};
static const char *const BYTES[] = {"<0xE7>", "<0x8C>", "<0xAB>", "<0x41>", "<0xFF>"};

struct pieces {
    uint8_t data[N_PIECES * 8], types[N_PIECES];
    int64_t offsets[N_PIECES + 1], ids[N_PIECES];
};

/* Even ids from 0 to 78. */
static unitok_spec random_spec(struct pieces *p)
{
    p->offsets[0] = 0;
    for (int k = 0; k < N_PIECES; k++) {
        p->types[k] = (uint8_t)(1 + random_below(6));
        const char *text = p->types[k] == UNITOK_PIECE_BYTE ? BYTES[random_below(5)] : TEXTS[random_below(6)];
        memcpy(p->data + p->offsets[k], text, strlen(text));
        p->offsets[k + 1] = p->offsets[k] + (int64_t)strlen(text);
        p->ids[k] = 2 * (N_PIECES - 1 - k);
    }
    return (unitok_spec){.flags = (int32_t)random_below(4), .n_pieces = N_PIECES, .data = p->data,
                         .offsets = p->offsets, .ids = p->ids, .types = p->types};
}

static void check_decode(const unitok_surfaces *s, const struct guard *in, const struct guard *out)
{
    uint32_t ids[30];
    int64_t n = random_below(30), bounds[3] = {0, random_below((uint32_t)n + 1), n}, sizes[3];
    for (int64_t i = 0; i < n; i++) ids[i] = 2 * random_below(N_PIECES);
    int32_t flags = (int32_t)random_below(4);
    if (flags & UNITOK_SURFACE_DROP_LAST && (bounds[1] == 0 || bounds[1] == n)) return; /* no id to leave out */
    const uint32_t *guarded = (const uint32_t *)(const void *)guard_copy(in, ids, (size_t)n * sizeof *ids);
    CHECK(!unitok_surfaces_decode(s, guarded, bounds, 2, flags, (const uint8_t *)"--", 2, NULL, 0, sizes, NULL));
    int64_t n_bytes = sizes[2];
    uint8_t *to = guard_copy(out, NULL, (size_t)n_bytes);
    CHECK(!unitok_surfaces_decode(s, guarded, bounds, 2, flags, (const uint8_t *)"--", 2, to, n_bytes, sizes, NULL));
    CHECK(sizes[2] == n_bytes && !memcmp(to + sizes[1] - 2, "--", 2) && !memcmp(to + n_bytes - 2, "--", 2));
    if (!n) return;
    unitok_error error;
    ids[n / 2] = random_below(2) ? 2 * N_PIECES + random_below(1u << 31) : 1 + 2 * random_below(N_PIECES);
    bounds[1] = n;
    CHECK(unitok_surfaces_decode(s, ids, bounds, 1, 0, NULL, 0, NULL, 0, sizes, &error) == UNITOK_ERROR_ID);
    CHECK(error.item == ids[n / 2] && error.position == n / 2);
}

int main(void)
{
    random_start(20240711);
    struct guard in = guard_new(1 << 12), out = guard_new(1 << 12);
    for (int i = 0; i < 5000; i++) {
        struct pieces pieces;
        unitok_spec spec = random_spec(&pieces);
        unitok_surfaces *s = NULL;
        unitok_error error;
        alloc_fail_at = i % 8;
        int32_t status = unitok_surfaces_new(&spec, (const uint8_t *)" ?? ", random_below(5), &s, &error);
        int has_failed = i % 8 && alloc_fail_at == 0;
        CHECK(status == (has_failed ? UNITOK_ERROR_MEMORY : UNITOK_OK) && (status == UNITOK_OK) == !!s);
        alloc_fail_at = 0;
        if (s) check_decode(s, &in, &out);
        unitok_surfaces_free(s);
        pieces.ids[3] = pieces.ids[7];
        CHECK(unitok_surfaces_new(&spec, NULL, 0, &s, &error) == UNITOK_ERROR_VOCABULARY && error.item == 7);
        CHECK(alloc_live_blocks == 0);
    }
    guard_free(&out);
    guard_free(&in);
    puts("ok");
    return 0;
}
