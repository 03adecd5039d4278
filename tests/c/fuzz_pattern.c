/* fuzz_pattern.c - a libFuzzer target: the input is a pattern, the byte FF and a text (without FF,
 * the text is all of PATTERN_ATOMS); dividing the text at a border that the pattern allows must not
 * change the pieces */
#include "patterns.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n_input_bytes);

#define TEXT_MAX 300 /* short, because the text is divided again at every border */

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n_input_bytes)
{
    const uint8_t *end = n_input_bytes ? memchr(input, 0xFF, n_input_bytes) : NULL;
    size_t n_pattern = end ? (size_t)(end - input) : n_input_bytes,
           n_text = end ? n_input_bytes - n_pattern - 1 : 0;
    uint8_t *parts = malloc(n_pattern + 1), text[TEXT_MAX];
    if (n_pattern) memcpy(parts, input, n_pattern);
    if (n_text > TEXT_MAX) n_text = TEXT_MAX;
    if (n_text) memcpy(text, end + 1, n_text);
    for (size_t k = 0; !end && k < sizeof PATTERN_ATOMS / sizeof *PATTERN_ATOMS; k++) {
        memcpy(text + n_text, PATTERN_ATOMS[k], strlen(PATTERN_ATOMS[k]));
        n_text += strlen(PATTERN_ATOMS[k]);
    }
    pattern *p = NULL;
    unitok_error error = {0};
    int64_t counts[3] = {0};
    int32_t status = pattern_new(parts, (int64_t)n_pattern, &p, &error);
    CHECK(status ? p == NULL && error.message && error.position <= (int64_t)n_pattern : p != NULL);
    if (p) check_borders(p, text, (int64_t)n_text, counts);
    pattern_free(p);
    free(parts);
    return 0;
}
