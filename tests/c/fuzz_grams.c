/* fuzz_grams.c - a libFuzzer target: the input defines two items, which are also the documents;
 * every n-gram of an item is found in it, and all hits are within bounds
 *
 * The input: u8 n, u8 min_units, u8 length of the first item, then the text of both. */
#include "word_rules.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n_input_bytes);

static void require(int condition)
{
    if (!condition) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n_input_bytes)
{
    static unitok_word_rules *rules;
    unitok_error error;
    if (!rules) require(toy_word_rules(&rules, &error) == UNITOK_OK);
    if (n_input_bytes < 3) return 0;
    int64_t n = 1 + input[0] % 8, min_units = 1 + input[1] % n,
            n_bytes = (int64_t)n_input_bytes - 3;
    int64_t bounds[3] = {0, input[2] < n_bytes ? input[2] : n_bytes, n_bytes}, starts[3], n_hits;
    for (int is_words = 0; is_words < 2; is_words++) {
        unitok_grams *grams;
        unitok_grams_info info;
        require(unitok_grams_new(is_words ? rules : NULL, input + 3, bounds, 2, n, min_units, 9,
                                 starts, &grams, &error) == UNITOK_OK);
        unitok_grams_get_info(grams, &info);
        require(unitok_grams_find(grams, input + 3, bounds, 2, NULL, 0, &n_hits, &error) ==
                UNITOK_OK);
        require(info.n_units == starts[2] && n_hits >= info.n_grams + info.n_repeats);
        unitok_gram_hit *hits = malloc((size_t)n_hits * sizeof *hits + 1);
        require(unitok_grams_find(grams, input + 3, bounds, 2, hits, n_hits, &n_hits, &error) ==
                UNITOK_OK);
        for (int64_t k = 0; k < n_hits; k++) {
            int64_t n_document = bounds[hits[k].document + 1] - bounds[hits[k].document];
            require(hits[k].begin < hits[k].end && hits[k].end <= n_document);
            require(hits[k].gram < info.n_units && hits[k].unit < info.n_units);
        }
        free(hits);
        unitok_grams_free(grams);
    }
    return 0;
}
