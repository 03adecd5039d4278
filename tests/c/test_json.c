/* test_json.c - tests unitok_json_read on valid lines with known texts and on invalid lines,
 * between guard pages, for every instruction set */
#define _DEFAULT_SOURCE
#include "check.h"
#include "ground/common.h"
#include "guard.h"
#include "random.h"

#define MAX_STRINGS 6
#define MAX_CHARS 40
#define MAX_BYTES (MAX_STRINGS * (MAX_CHARS * 12 + 100))

static size_t put_utf8(uint8_t *p, uint32_t c)
{
    if (c < 0x80) return p[0] = (uint8_t)c, 1;
    if (c < 0x800) return p[0] = (uint8_t)(0xC0 | c >> 6), p[1] = (uint8_t)(0x80 | (c & 63)), 2;
    if (c < 0x10000) {
        p[0] = (uint8_t)(0xE0 | c >> 12), p[1] = (uint8_t)(0x80 | (c >> 6 & 63)),
        p[2] = (uint8_t)(0x80 | (c & 63));
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

/* Writes one character in one of the forms that JSON allows. */
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
    static const uint32_t starts[] = {0,     0x20,   0x61,   0x7F,   0x80,    0x7FF,
                                      0x800, 0xD7F0, 0xE000, 0xFFF0, 0x10000, 0x10FFF0};
    return starts[choice % 12] + (uint32_t)(choice >> 8) % 16;
}

static const int32_t levels[] = {UNITOK_CPU_PORTABLE, UNITOK_CPU_SSE2, UNITOK_CPU_AVX2,
                                 UNITOK_CPU_AVX512,   UNITOK_CPU_NEON, UNITOK_CPU_AUTO};
static const uint8_t names[] = "atext"; /* the field a.text */
static const int64_t name_offsets[] = {0, 1, 5};

/* Reads all lines, skipping invalid ones; both the copy that is read and the output buffer end at a
 * guard page. */
static unitok_json_place read_lines(struct guard *in, struct guard *out, const uint8_t *json,
                                    size_t n, int32_t cpu, int64_t first_name, int64_t *offsets,
                                    uint8_t **ret_out, int *ret_n_wrong)
{
    const uint8_t *p = guard_copy(in, json, n);
    unitok_json_place place = {0}, counted;
    unitok_json_count(p, (int64_t)n, INT64_MAX, 1, &counted);
    *ret_out = guard_copy(out, NULL, n);
    *ret_n_wrong = 0;
    while (!unitok_json_read(cpu, p, (int64_t)n, names, name_offsets + first_name, 2 - first_name,
                             INT64_MAX, *ret_out, offsets, counted.n_docs, &place)) {
        CHECK(place.error != UNITOK_JSON_OK);
        CHECK(place.at < (int64_t)n && place.error_at >= -1 &&
              place.at + place.error_at <= (int64_t)n);
        ++*ret_n_wrong;
    }
    CHECK(place.at == (int64_t)n && place.error == UNITOK_JSON_OK &&
          place.n_lines == counted.n_lines);
    CHECK(place.n_docs + *ret_n_wrong == counted.n_docs);
    return place;
}

static void test_known(struct guard *in, struct guard *out)
{
    static const char *const before[] = {"{\"text\":", " { \"x\": [1, {\"text\": 2}], \"text\" :\t",
                                         "{\"text\":null,\"te\\u0078t\":"};
    static const char *const behind[] = {"}\n", " } \r\n", ",\"n\":-1.5e+3,\"m\":[[],{}]}\n\n"};
    uint8_t json[MAX_BYTES], want[MAX_BYTES];
    int64_t want_offsets[MAX_STRINGS + 1] = {0}, offsets[MAX_STRINGS + 1];
    size_t n_json = 0, n_want = 0;
    int64_t n_lines = (int64_t)(random_u64() % MAX_STRINGS);
    int plain = random_u64() % 3 == 0; /* long runs of ASCII */
    for (int64_t k = 0; k < n_lines; k++) {
        const char *text = before[random_u64() % 3];
        memcpy(json + n_json, text, strlen(text));
        n_json += strlen(text);
        json[n_json++] = '"';
        for (uint64_t n = random_u64() % MAX_CHARS; n > 0; n--) {
            uint32_t c = plain && random_u64() % 20 ? 0x61 + (uint32_t)(random_u64() % 26)
                                                    : any_character(random_u64());
            n_json += put_escaped(json + n_json, c, random_u64());
            n_want += put_utf8(want + n_want, c);
        }
        json[n_json++] = '"';
        text = behind[random_u64() % 3];
        memcpy(json + n_json, text, strlen(text));
        n_json += strlen(text);
        want_offsets[k + 1] = (int64_t)n_want;
    }
    for (size_t k = 0; k < sizeof levels / sizeof *levels; k++) {
        if (levels[k] != UNITOK_CPU_AUTO && !unitok_cpu_supported(levels[k])) continue;
        uint8_t *got;
        int n_wrong;
        unitok_json_place place = read_lines(in, out, json, n_json, levels[k], 1, offsets, &got,
                                             &n_wrong);
        CHECK(n_wrong == 0 && place.n_docs == n_lines);
        CHECK(memcmp(offsets, want_offsets, (size_t)(n_lines + 1) * sizeof *offsets) == 0);
        CHECK(memcmp(got, want, n_want) == 0);
        if (n_json == 0) continue;
        size_t n = random_u64() % n_json; /* truncated, then with one byte changed */
        read_lines(in, out, json, n, levels[k], 1, offsets, &got, &n_wrong);
        CHECK(n_wrong <= 1);
        uint8_t changed[MAX_BYTES];
        int64_t more[MAX_BYTES + 1]; /* the change can add a newline */
        memcpy(changed, json, n_json);
        changed[random_u64() % n_json] = (uint8_t)random_u64();
        read_lines(in, out, changed, n_json, levels[k], (int64_t)(random_u64() % 2), more, &got,
                   &n_wrong);
    }
}

static void test_wrong(struct guard *in, struct guard *out)
{
    static const struct {
        const char *line;
        int32_t error;
        int64_t at;
    } wrong[] = {
        {"x", UNITOK_JSON_NO_OBJECT, 0},
        {"[]", UNITOK_JSON_NO_OBJECT, 0},
        {"{", UNITOK_JSON_LINE_ENDS, 1},
        {"{}", UNITOK_JSON_MISSING, -1},
        {"{\"text\":\"a\"}", UNITOK_JSON_MISSING, -1},
        {"{\"a\":{}}", UNITOK_JSON_MISSING, -1},
        {"{\"a\":{\"text\":\"\"},\"a\":{}}", UNITOK_JSON_MISSING, -1},
        {"{\"a\":[\"text\"]}", UNITOK_JSON_NOT_OBJECT, 5},
        {"{\"a\":{\"text\":1}}", UNITOK_JSON_NOT_STRING, 13},
        {"{\"a\":{\"text\":\"\",\"text\":{}}}", UNITOK_JSON_NOT_STRING, 23},
        {"{\"a\":{\"text\":\"", UNITOK_JSON_STRING_ENDS, 14},
        {"{\"a\":{\"text\":\"\\\"", UNITOK_JSON_STRING_ENDS, 16},
        {"{\"a\":{\"text\":\"\\", UNITOK_JSON_ESCAPE, 14},
        {"{\"a\":{\"text\":\"\\q\"}}", UNITOK_JSON_ESCAPE, 14},
        {"{\"a\":{\"text\":\"\\u12\"}}", UNITOK_JSON_ESCAPE, 14},
        {"{\"a\":{\"text\":\"b\\u12g4\"}}", UNITOK_JSON_ESCAPE, 15},
        {"{\"a\":{\"text\":\"\\ud800\"}}", UNITOK_JSON_SURROGATE, 14},
        {"{\"a\":{\"text\":\"\\n\\udc00\"}}", UNITOK_JSON_SURROGATE, 16},
        {"{\"a\":{\"text\":\"\x1f\"}}", UNITOK_JSON_CONTROL, 14},
        {"{\"a\":{\"text\":\"\xff\"}}", UNITOK_JSON_UTF8, 14},
        {"{\"a\":{\"text\":\"\xc3\xa9\xed\xa0\x80\"}}", UNITOK_JSON_UTF8, 16},
        {"{\"a\":{\"text\":\"\xe3\x81\"}}", UNITOK_JSON_UTF8, 14},
        {"{\"x\":\"\x01\"}", UNITOK_JSON_CONTROL, 6},
        {"{\"x\":tru}", UNITOK_JSON_VALUE, 5},
        {"{\"x\":-}", UNITOK_JSON_NUMBER, 6},
        {"{\"x\":1e}", UNITOK_JSON_NUMBER, 7},
        {"{\"x\":00}", UNITOK_JSON_COMMA, 6},
        {"{\"x\" 1}", UNITOK_JSON_COLON, 5},
        {"{\"x\":[1}", UNITOK_JSON_COMMA, 7},
        {"{\"x\":[1,]}", UNITOK_JSON_VALUE, 8},
        {"{\"x\":1,}", UNITOK_JSON_KEY, 7},
        {"{}{", UNITOK_JSON_TRAILING, 2},
    };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        size_t n = strlen(wrong[k].line);
        int64_t offsets[2];
        unitok_json_place place = {0};
        round_ = (int)k;
        int done = unitok_json_read(UNITOK_CPU_AUTO, guard_copy(in, wrong[k].line, n), (int64_t)n,
                                    names, name_offsets, 2, 100, guard_copy(out, NULL, n), offsets,
                                    1, &place);
        CHECK(!done && place.at == 0 && place.error == wrong[k].error &&
              place.error_at == wrong[k].at);
    }
}

static void test_limits(struct guard *in, struct guard *out)
{
    char json[2000] = "{\"x\":";
    for (int depth = 500; depth < 520; depth++) {
        int64_t offsets[2];
        unitok_json_place place = {0};
        memset(json + 5, '[', (size_t)depth);
        memset(json + 5 + depth, ']', (size_t)depth);
        memcpy(json + 5 + 2 * depth, "}", 2);
        size_t n = strlen(json);
        unitok_json_read(UNITOK_CPU_AUTO, guard_copy(in, json, n), (int64_t)n, names, name_offsets,
                         2, (int64_t)n, guard_copy(out, NULL, n), offsets, 1, &place);
        CHECK(place.error == (depth < 512 ? UNITOK_JSON_MISSING : UNITOK_JSON_DEPTH));
        memset(&place, 0, sizeof place);
        unitok_json_read(UNITOK_CPU_AUTO, guard_copy(in, json, n), (int64_t)n, names, name_offsets,
                         2, (int64_t)n - 1, guard_copy(out, NULL, n), offsets, 1, &place);
        CHECK(place.error == UNITOK_JSON_TOO_LONG && place.error_at == -1);
    }
}

int main(void)
{
    random_start(2026);
    struct guard in = guard_new(MAX_BYTES), out = guard_new(MAX_BYTES);
    test_wrong(&in, &out);
    test_limits(&in, &out);
    for (round_ = 0; round_ < 3000; round_++) test_known(&in, &out);
    guard_free(&in);
    guard_free(&out);
    printf("json lines: 3000 rounds\n");
    return 0;
}
