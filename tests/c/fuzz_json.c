/* fuzz_json.c - a libFuzzer target: the input is JSON lines; all instruction sets must agree, and
 * escaped texts must survive a round trip
 *
 * The input: u8, the number of names in the path, then lines. */
#include <stdlib.h>

#include "ground/common.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n_input_bytes);

static const uint8_t names[] = "atext";
static const int64_t name_offsets[] = {0, 1, 5};

/* The texts of the lines, and a checksum of the positions and reasons of errors. */
typedef struct result {
    uint8_t *out;
    int64_t *offsets;
    int64_t n_docs;
    int64_t errors;
} result;

static void require(int condition)
{
    if (!condition) abort();
}

/* Uses buffers of exactly the documented size, so that the sanitizer detects overruns. */
static result read_lines(const uint8_t *json, size_t n, int64_t first_name, int32_t cpu)
{
    uint8_t *copy = malloc(n + !n);
    unitok_json_place place = {0}, counted;
    if (n) memcpy(copy, json, n);
    unitok_json_count(copy, (int64_t)n, 1000, 1, &counted);
    require(counted.at == (int64_t)n && counted.n_docs <= counted.n_lines);
    result ret = {malloc(n + !n), malloc((size_t)(counted.n_docs + 1) * sizeof *ret.offsets), 0, 0};
    int64_t n_wrong = 0;
    while (!unitok_json_read(cpu, copy, (int64_t)n, names, name_offsets + first_name,
                             2 - first_name, 1000, ret.out, ret.offsets, counted.n_docs, &place)) {
        require(place.error != UNITOK_JSON_OK && place.at < (int64_t)n);
        n_wrong++;
        ret.errors = ret.errors * 31 + place.error * 7 + place.error_at * 3 + place.at;
        ret.errors &= 0xFFFFFFFFFF;
    }
    require(place.at == (int64_t)n && place.n_lines == counted.n_lines &&
            place.n_docs + n_wrong == counted.n_docs);
    ret.n_docs = place.n_docs;
    free(copy);
    return ret;
}

static void require_same(const result *a, const result *b)
{
    require(a->n_docs == b->n_docs);
    require(memcmp(a->offsets, b->offsets, (size_t)(a->n_docs + 1) * sizeof *a->offsets) == 0);
    require(memcmp(a->out, b->out, (size_t)a->offsets[a->n_docs]) == 0);
}

static void result_free(result *x)
{
    free(x->out);
    free(x->offsets);
}

static size_t put(uint8_t *json, const char *text)
{
    memcpy(json, text, strlen(text));
    return strlen(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n_input_bytes)
{
    if (n_input_bytes == 0) return 0;
    static const int32_t levels[] = {UNITOK_CPU_SSE2, UNITOK_CPU_AVX2, UNITOK_CPU_AVX512,
                                     UNITOK_CPU_NEON};
    int64_t first_name = input[0] & 1;
    result want = read_lines(input + 1, n_input_bytes - 1, first_name, UNITOK_CPU_PORTABLE);
    for (size_t k = 0; k < sizeof levels / sizeof *levels; k++) {
        if (!unitok_cpu_supported(levels[k])) continue;
        result got = read_lines(input + 1, n_input_bytes - 1, first_name, levels[k]);
        require_same(&want, &got);
        require(want.errors == got.errors);
        result_free(&got);
    }
    uint8_t *json = malloc(7 * n_input_bytes + 20 * (size_t)want.n_docs);
    size_t n = 0;
    for (int64_t k = 0; k < want.n_docs; k++) {
        n += put(json + n, "{\"text\":\"");
        for (int64_t i = want.offsets[k]; i < want.offsets[k + 1]; i++) {
            uint8_t c = want.out[i];
            if (c < 0x20 || c == '"' || c == '\\') {
                static const char digits[] = "0123456789abcdef";
                n += put(json + n, "\\u00");
                json[n++] = (uint8_t)digits[c >> 4];
                json[n++] = (uint8_t)digits[c & 15];
            } else {
                json[n++] = c;
            }
        }
        n += put(json + n, "\"}\n");
    }
    if (n <= 1000) { /* no line is too long */
        result again = read_lines(json, n, 1, UNITOK_CPU_AUTO);
        require_same(&want, &again);
        result_free(&again);
    }
    free(json);
    result_free(&want);
    return 0;
}
