/* test_json_string.c - unitok_json_unescape on strings whose text is known, and on broken ones, between guard pages */
#define _DEFAULT_SOURCE
#include "check.h"
#include "ground/common.h"
#include "guard.h"
#include "random.h"

#define MAX_STRINGS 6
#define MAX_CHARS 40
#define MAX_BYTES (MAX_STRINGS * (MAX_CHARS * 12 + 2))

static size_t put_utf8(uint8_t *p, uint32_t c)
{
    if (c < 0x80) return p[0] = (uint8_t)c, 1;
    if (c < 0x800) return p[0] = (uint8_t)(0xC0 | c >> 6), p[1] = (uint8_t)(0x80 | (c & 63)), 2;
    if (c < 0x10000) {
        p[0] = (uint8_t)(0xE0 | c >> 12), p[1] = (uint8_t)(0x80 | (c >> 6 & 63)), p[2] = (uint8_t)(0x80 | (c & 63));
        return 3;
    }
    p[0] = (uint8_t)(0xF0 | c >> 18), p[1] = (uint8_t)(0x80 | (c >> 12 & 63));
    p[2] = (uint8_t)(0x80 | (c >> 6 & 63)), p[3] = (uint8_t)(0x80 | (c & 63));
    return 4;
}

static size_t put_hex(uint8_t *p, uint32_t unit, int upper)
{
    char text[8];
    snprintf(text, sizeof text, upper ? "\\u%04X" : "\\u%04x", unit & 0xFFFF);
    memcpy(p, text, 6);
    return 6;
}

/* One character as JSON may write it. */
static size_t put_escaped(uint8_t *p, uint32_t c, uint64_t choice)
{
    static const char shorts[] = "\"\"\\\\//\bb\ff\nn\rr\tt";
    for (size_t k = 0; k + 1 < sizeof shorts; k += 2) {
        if (c == (uint8_t)shorts[k] && choice % 3) {
            p[0] = '\\', p[1] = (uint8_t)shorts[k + 1];
            return 2;
        }
    }
    int must = c < 0x20 || c == '"' || c == '\\';
    if (!must && choice % 4) return put_utf8(p, c);
    if (c < 0x10000) return put_hex(p, c, choice & 8 ? 1 : 0);
    size_t n = put_hex(p, 0xD800 + ((c - 0x10000) >> 10), 0);
    return n + put_hex(p + n, 0xDC00 + ((c - 0x10000) & 0x3FF), 1);
}

static uint32_t any_character(uint64_t choice)
{
    static const uint32_t starts[] = {0, 0x20, 0x61, 0x7F, 0x80, 0x7FF, 0x800, 0xD7F0, 0xE000, 0xFFF0, 0x10000, 0x10FFF0};
    return starts[choice % 12] + (uint32_t)(choice >> 8) % 16;
}

static void test_known(struct guard *in, struct guard *out)
{
    uint8_t json[MAX_BYTES], want[MAX_BYTES];
    int64_t want_offsets[MAX_STRINGS + 1] = {0}, offsets[MAX_STRINGS + 1];
    size_t n_json = 0, n_want = 0;
    int64_t n_strings = (int64_t)(random_u64() % MAX_STRINGS);
    int plain = random_u64() % 3 == 0; /* long runs of ASCII */
    for (int64_t k = 0; k < n_strings; k++) {
        json[n_json++] = '"';
        for (uint64_t n = random_u64() % MAX_CHARS; n > 0; n--) {
            uint32_t c = plain && random_u64() % 20 ? 0x61 + (uint32_t)(random_u64() % 26) : any_character(random_u64());
            n_json += put_escaped(json + n_json, c, random_u64());
            n_want += put_utf8(want + n_want, c);
        }
        json[n_json++] = '"';
        want_offsets[k + 1] = (int64_t)n_want;
    }
    uint8_t *p = guard_copy(in, json, n_json), *q = guard_copy(out, NULL, n_json);
    CHECK(unitok_json_unescape(p, (int64_t)n_json, n_strings, q, offsets) == n_strings);
    CHECK(memcmp(offsets, want_offsets, (size_t)(n_strings + 1) * sizeof *offsets) == 0);
    CHECK(memcmp(q, want, n_want) == 0);
    CHECK(unitok_json_unescape(p, (int64_t)n_json, n_strings + 1, q, offsets) == n_strings);

    for (size_t n = 0; n < n_json; n++) { /* cut short, then with one byte changed */
        p = guard_copy(in, json, n), q = guard_copy(out, NULL, n);
        int64_t n_whole = unitok_json_unescape(p, (int64_t)n, n_strings, q, offsets);
        CHECK(n_whole < n_strings && offsets[n_whole] == want_offsets[n_whole]);
    }
    if (n_json) {
        p = guard_copy(in, json, n_json), q = guard_copy(out, NULL, n_json);
        p[random_u64() % n_json] = (uint8_t)random_u64();
        unitok_json_unescape(p, (int64_t)n_json, n_strings, q, offsets);
    }
}

static void test_broken(struct guard *in, struct guard *out)
{
    static const char *const broken[] = {
        "", "x", "\"", "\"a", "null", "\"\\\"", "\"\\q\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\ud800\"", "\"\\udc00\"",
        "\"\\ud800\\u0041\"", "\"\\ud800x\"", "\"\\ud800\\ud800\"", "\"\n\"", "\"\x1f\"", "\"\xff\"", "\"\x80\"",
        "\"\xc0\x80\"", "\"\xc1\xbf\"", "\"\xc3\"", "\"\xe0\x9f\xbf\"", "\"\xed\xa0\x80\"", "\"\xe3\x81\"",
        "\"\xf0\x8f\xbf\xbf\"", "\"\xf4\x90\x80\x80\"", "\"\xf5\x80\x80\x80\"", "\"\xf0\x9f\x98\"", "\"abcdefgh\x7f\x1f\"",
    };
    for (size_t k = 0; k < sizeof broken / sizeof *broken; k++) {
        int64_t offsets[2];
        size_t n = strlen(broken[k]);
        round_ = (int)k;
        CHECK(unitok_json_unescape(guard_copy(in, broken[k], n), (int64_t)n, 1, guard_copy(out, NULL, n), offsets) == 0);
    }
}

int main(void)
{
    random_start(2026);
    struct guard in = guard_new(MAX_BYTES), out = guard_new(MAX_BYTES);
    test_broken(&in, &out);
    for (round_ = 0; round_ < 3000; round_++) test_known(&in, &out);
    guard_free(&in);
    guard_free(&out);
    printf("json strings: 3000 rounds\n");
    return 0;
}
