/* fuzz_json.c - a libFuzzer target: the input is JSON strings; what they give is UTF-8, and escaping it gives it again
 *
 *   clang -std=c11 -g -O2 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -I csrc tests/c/fuzz_json.c \
 *       csrc/[a-z]*.c -o fuzz_json
 *   ./fuzz_json -max_len=2000 -max_total_time=300 [corpus folder]
 *
 * The input: u8 number of strings, then their bytes.
 */
#include <stdlib.h>

#include "ground/common.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n_input_bytes);

static void require(int condition)
{
    if (!condition) abort();
}

/* Buffers of exactly the documented size, so that the sanitizer sees the first byte too far. */
static int64_t unescape(const uint8_t *json, size_t n, int64_t n_strings, uint8_t **ret_out, int64_t **ret_offsets)
{
    uint8_t *copy = malloc(n + !n);
    *ret_out = malloc(n + !n);
    *ret_offsets = malloc((size_t)(n_strings + 1) * sizeof **ret_offsets);
    if (n) memcpy(copy, json, n);
    int64_t n_done = unitok_json_unescape(copy, (int64_t)n, n_strings, *ret_out, *ret_offsets);
    free(copy);
    return n_done;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n_input_bytes)
{
    if (n_input_bytes == 0) return 0;
    uint8_t *out, *again;
    int64_t *offsets, *again_offsets;
    int64_t n_done = unescape(input + 1, n_input_bytes - 1, input[0], &out, &offsets);
    require(0 <= n_done && n_done <= input[0] && offsets[0] == 0);
    require((size_t)offsets[n_done] + 2 * (size_t)n_done <= n_input_bytes - 1);

    uint8_t *json = malloc(6 * n_input_bytes);
    size_t n = 0;
    for (int64_t k = 0; k < n_done; k++) {
        json[n++] = '"';
        for (int64_t i = offsets[k]; i < offsets[k + 1]; i++) {
            if (out[i] < 0x20 || out[i] == '"' || out[i] == '\\') {
                static const char digits[] = "0123456789abcdef";
                memcpy(json + n, "\\u00", 4);
                json[n + 4] = (uint8_t)digits[out[i] >> 4];
                json[n + 5] = (uint8_t)digits[out[i] & 15];
                n += 6;
            } else {
                json[n++] = out[i];
            }
        }
        json[n++] = '"';
    }
    require(unescape(json, n, n_done, &again, &again_offsets) == n_done);
    require(memcmp(offsets, again_offsets, (size_t)(n_done + 1) * sizeof *offsets) == 0);
    require(memcmp(out, again, (size_t)offsets[n_done]) == 0);
    free(json);
    free(out);
    free(again);
    free(offsets);
    free(again_offsets);
    return 0;
}
