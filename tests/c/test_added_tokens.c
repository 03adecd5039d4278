/* test_added_tokens.c - compares added tokens with a simple search, and tests the NFC check,
 * between guard pages and with an allocator that can fail
 *
 * tests/test_byte_level_files.py and tests/test_unicode9.py compare both with Hugging Face
 * tokenizers. */
#define _DEFAULT_SOURCE

#include "test_alloc.h"

#include "check.h"
#include "ground/utf8.h"
#include "guard.h"
#include "random.h"

#define TOKENS_MAX 40
#define TEXT_MAX 600

static size_t random_below(size_t n) { return (size_t)((random_u64() >> 33) % n); }

typedef struct tokens {
    uint8_t data[TOKENS_MAX * 8];
    int64_t offsets[TOKENS_MAX + 1], ids[TOKENS_MAX], n;
    uint8_t flags[TOKENS_MAX];
} tokens;

/* A byte from a small alphabet, so that tokens overlap; a larger `spread` allows more first
 * bytes. */
static uint8_t random_byte(size_t spread)
{
    static const uint8_t usual[] = {'a', '<', '|', ' ', 0xC3, 0xA9, 0xE2, 0x80};
    return spread > 8 ? (uint8_t)random_below(256) : usual[random_below(spread)];
}

static int64_t find_token(const tokens *t, const uint8_t *text, int64_t n_bytes, int64_t max_bytes)
{
    int64_t best = -1, length = 0;
    for (int64_t k = 0; k < t->n; k++) {
        int64_t n = t->offsets[k + 1] - t->offsets[k];
        int fits = n <= n_bytes && n > length && n <= max_bytes;
        if (!fits || memcmp(text, t->data + t->offsets[k], (size_t)n)) continue;
        best = k;
        length = n;
    }
    return best;
}

static tokens random_tokens(size_t spread)
{
    tokens t = {.n = 0};
    int64_t wanted = 1 + (int64_t)random_below(TOKENS_MAX - 1);
    for (int64_t k = 0; k < wanted; k++) {
        int64_t begin = t.offsets[t.n], n_bytes = 1 + (int64_t)random_below(7);
        for (int64_t i = 0; i < n_bytes; i++) t.data[begin + i] = random_byte(spread);
        int64_t same = find_token(&t, t.data + begin, n_bytes, n_bytes);
        if (same >= 0 && t.offsets[same + 1] - t.offsets[same] == n_bytes) continue;
        t.ids[t.n] = (int64_t)random_below(UNITOK_WIDE_ID_MAX);
        t.flags[t.n] = random_below(3) ? 0 : UNITOK_TOKEN_SPECIAL;
        t.offsets[++t.n] = begin + n_bytes;
    }
    return t;
}

static unitok_finder *finder_of(const tokens *t)
{
    unitok_finder *f = NULL;
    unitok_error error;
    int32_t status = unitok_finder_new(t->data, t->offsets, t->ids, t->flags, t->n, &f, &error);
    CHECK(status == UNITOK_OK || status == UNITOK_ERROR_MEMORY);
    CHECK((f != NULL) == (status == UNITOK_OK));
    return f;
}

/* Compares the sections of items with those that find_token finds. */
static void check_sections(const tokens *t, const uint8_t *data, const int64_t *items, int64_t n,
                           int hide, const int64_t *offsets, const int64_t *given,
                           const int64_t *starts)
{
    int64_t k = 0;
    for (int64_t item = 0; item < n; item++) {
        int64_t done = items[item], end = items[item + 1];
        CHECK(starts[item] == k);
        for (int64_t at = done; at < end;) {
            int64_t found = find_token(t, data + at, end - at, TEXT_MAX);
            int64_t length = found < 0 ? 1 : t->offsets[found + 1] - t->offsets[found];
            int is_hidden = found >= 0 && hide && t->flags[found] & UNITOK_TOKEN_SPECIAL;
            if (found >= 0 && !is_hidden) {
                if (done < at) CHECK(offsets[k] == done && given[k++] == -1);
                CHECK(offsets[k] == at && given[k++] == t->ids[found]);
                done = at + length;
            }
            at += length;
        }
        if (done < end || items[item] == end) CHECK(offsets[k] == done && given[k++] == -1);
        CHECK(starts[item + 1] == k && offsets[k] == end);
    }
}

static void test_sections(void)
{
    struct guard guard = guard_new(TEXT_MAX);
    running = "sections";
    for (round_ = 0; round_ < 3000; round_++) {
        size_t spread = random_below(4) ? 2 + random_below(7) : 256;
        tokens t = random_tokens(spread);
        unitok_finder *f = finder_of(&t);
        uint8_t text[TEXT_MAX];
        int64_t n_bytes = (int64_t)random_below(TEXT_MAX), items[4] = {0, 0, 0, n_bytes};
        for (int64_t i = 0; i < n_bytes; i++)
            text[i] = random_below(30) ? 'x' : random_byte(spread);
        items[1] = (int64_t)random_below((size_t)n_bytes + 1);
        items[2] = items[1] + (int64_t)random_below((size_t)(n_bytes - items[1]) + 1);
        const uint8_t *data = guard_copy(&guard, text, (size_t)n_bytes);
        int64_t offsets[TEXT_MAX + 5], given[TEXT_MAX + 4], starts[4];
        int hide = (int)random_below(2);
        int64_t n = unitok_finder_split(f, data, items, NULL, 3, hide, offsets, given, starts,
                                        TEXT_MAX + 4);
        CHECK(n == starts[3] && n <= TEXT_MAX + 4);
        check_sections(&t, data, items, 3, hide, offsets, given, starts);
        offsets[1] = given[0] = -7;
        CHECK(unitok_finder_split(f, data, items, NULL, 3, hide, offsets, given, starts, 0) == n);
        CHECK(offsets[1] == -7 && given[0] == -7);
        unitok_finder_free(f);
    }
    guard_free(&guard);
}

/* Matches extend over white space, but not past the item or the previous match. */
static void test_strips(void)
{
    static const uint8_t data[] = "a \t<m>  <m>b\xC2\xA0<m>";
    static const int64_t offsets[] = {0, 3}, ids[] = {5}, items[] = {1, 11, 17};
    uint8_t flags[] = {UNITOK_TOKEN_LSTRIP | UNITOK_TOKEN_RSTRIP};
    int64_t bounds[9], given[8], starts[3];
    unitok_finder *f = NULL;
    running = "strips";
    CHECK(!unitok_finder_new((const uint8_t *)"<m>", offsets, ids, flags, 1, &f, NULL));
    CHECK(unitok_finder_split(f, data, items, NULL, 2, 0, bounds, given, starts, 8) == 4);
    CHECK(bounds[0] == 1 && bounds[1] == 8 && bounds[2] == 11 && bounds[3] == 12 &&
          bounds[4] == 17);
    CHECK(given[0] == 5 && given[1] == 5 && given[2] == -1 && given[3] == 5 && starts[1] == 2);
    /* a text is not divided next to a token, after a space, or close to its end */
    for (int64_t at = 1; at < 17; at++)
        if (!is_continuation(data[at]))
            CHECK(unitok_finder_reaches(f, data, 17, at) == (at != 1 && at != 12));
    CHECK(!unitok_finder_reaches(f, (const uint8_t *)"<m>abc<m>", 9, 4));
    CHECK(!unitok_finder_reaches(f, (const uint8_t *)"<m>abc<m>", 9, 5));
    CHECK(unitok_finder_reaches(f, (const uint8_t *)"<m>abc<m>", 9, 3));
    CHECK(unitok_finder_reaches(f, (const uint8_t *)"<m>abc<m>", 9, 6));
    unitok_finder_free(f);
}

static void test_failing_allocations(void)
{
    running = "allocations";
    tokens t = random_tokens(6);
    for (round_ = 1; round_ < 200; round_++) {
        alloc_fail_at = round_;
        unitok_finder *f = finder_of(&t);
        alloc_fail_at = 0;
        unitok_finder_free(f);
        CHECK(alloc_live_blocks == 0);
        if (f) return;
    }
    CHECK(0);
}

/* The check must not read past the end of the text, and must treat invalid UTF-8 as inert. */
static void test_normal(void)
{
    static const uint8_t bytes[] = {'a',  0xCC, 0x81, 0xA3, 0xC3, 0xA9, 0xE3, 0x82, 0x99,
                                    0xE1, 0x84, 0x80, 0xF0, 0x91, 0xED, 0xFF, 0xC4, 0xB0};
    struct guard guard = guard_new(TEXT_MAX);
    running = "NFC";
    for (round_ = 0; round_ < 100000; round_++) {
        uint8_t text[TEXT_MAX];
        size_t n_bytes = random_below(40);
        for (size_t i = 0; i < n_bytes; i++) text[i] = bytes[random_below(sizeof bytes)];
        const uint8_t *data = guard_copy(&guard, text, n_bytes);
        int is_nfc = unitok_is_normal(data, (int64_t)n_bytes, 0);
        CHECK(is_nfc || !unitok_is_normal(data, (int64_t)n_bytes, 1));
        for (int64_t at = 1; at < (int64_t)n_bytes; at++)
            CHECK(!unitok_is_normal_around(data, (int64_t)n_bytes, at, 1, 0) ||
                  (data[at] & 0xC0) != 0x80);
    }
    static const uint8_t composes[] = "xe\xCC\x81", alone[] = "\xCC\x81";
    CHECK(!unitok_is_normal(composes, 4, 0) && unitok_is_normal(composes, 3, 0));
    CHECK(unitok_is_normal(alone, 2, 0));
    CHECK(unitok_is_normal_around((const uint8_t *)"abcd", 4, 2, 1, 0));
    CHECK(!unitok_is_normal_around((const uint8_t *)"ae\xCC\x81xy", 6, 1, 1, 0));
    CHECK(!unitok_is_normal_around((const uint8_t *)"ae\xCC\x81xy", 6, 2, 1, 0));
    CHECK(unitok_is_normal_around((const uint8_t *)"az\xCC\x81xyz", 7, 5, 1, 0));
    guard_free(&guard);
}

int main(void)
{
    random_start(1);
    test_sections();
    test_strips();
    test_failing_allocations();
    test_normal();
    printf("ok\n");
    return 0;
}
