/* fuzz_suffix.c - a libFuzzer target: sorts arbitrary text; the checker must accept the array, and
 * reject it after damage
 *
 * The input: u8 options (width of positions, work per step), u8 where the array is damaged, then
 * the text. */
#include <stdlib.h>

#include "ground/common.h"
#include "unitok_search.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n_input_bytes);

static void require(int condition)
{
    if (!condition) abort();
}

static int is_sorted(const uint8_t *text, int64_t n, const void *sa, int32_t position_bytes)
{
    uint64_t starts[257] = {0}, heads[256];
    for (int64_t i = 0; i < n; i++) starts[text[i] + 1]++;
    for (int c = 0; c < 256; c++) starts[c + 1] += starts[c];
    memcpy(heads, starts, sizeof heads);
    return unitok_suffix_check(text, n, 1, NULL, 256, sa, position_bytes, starts, heads, 0, n) ==
           -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n_input_bytes)
{
    if (n_input_bytes < 2) return 0;
    int32_t position_bytes = input[0] & 1 ? 8 : 4;
    int64_t n = (int64_t)n_input_bytes - 2, budget = 1 + (input[0] >> 1) * (input[0] >> 1);
    uint8_t *text = malloc((size_t)n + !n), *sa = malloc((size_t)(n * position_bytes) + !n);
    if (n) memcpy(text, input + 2, (size_t)n);
    unitok_suffix *suffix;
    require(unitok_suffix_new(text, n, 1, 0, sa, position_bytes, &suffix, NULL) == UNITOK_OK);
    for (double progress = 0; progress < 1;)
        require(unitok_suffix_step(suffix, budget, &progress, NULL) == UNITOK_OK);
    unitok_suffix_free(suffix);
    require(is_sorted(text, n, sa, position_bytes));
    if (n > 0) {
        sa[input[1] % (n * position_bytes)] ^= (uint8_t)(1 << (input[1] & 7));
        require(!is_sorted(text, n, sa, position_bytes));
    }
    free(text);
    free(sa);
    return 0;
}
