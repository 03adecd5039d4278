/* fuzz_anchors.c - a libFuzzer target: the input defines two documents and pairs of positions;
 * ranges stay within the text, and a second document that equals the first is found as a repeat
 *
 * The input: u8 window size, u8 length of the first document, u8 seed (modulo 3: the kind of cut),
 * text. */
#include "word_rules.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n_input_bytes);

static void require(int condition)
{
    if (!condition) abort();
}

static unitok_anchor *find(const unitok_anchors *anchors, int32_t kind, const uint8_t *text,
                           const int64_t *offsets, const int64_t *marks, int64_t n_marks,
                           int64_t *ret_n)
{
    unitok_error error;
    require(unitok_anchors_find(anchors, kind, text, offsets, 2, 0, marks, n_marks, NULL, 0, ret_n,
                                &error) == UNITOK_OK);
    unitok_anchor *ret = malloc((size_t)*ret_n * sizeof *ret + 1);
    require(unitok_anchors_find(anchors, kind, text, offsets, 2, 0, marks, n_marks, ret, *ret_n,
                                ret_n, &error) == UNITOK_OK);
    return ret;
}

/* Finds, groups and verifies records of one kind; returns the number of ranges. */
static int64_t search(const unitok_anchors *anchors, int32_t kind, const uint8_t *text,
                      const int64_t *offsets, const int64_t *marks, int64_t n_marks)
{
    unitok_error error;
    unitok_anchor_groups groups;
    int64_t n, n_ranges;
    unitok_anchor *records = find(anchors, kind, text, offsets, marks, n_marks, &n);
    size_t n_bytes = UNITOK_ANCHORS_MAX_PAIRED * (size_t)n * sizeof *records + 1;
    unitok_anchor *scratch = malloc(n_bytes), *pairs = malloc(n_bytes);
    int64_t *found = malloc(n_bytes), *ranges = malloc(n_bytes);
    require(unitok_anchors_group(anchors, kind, 0, 0, 0, records, n, scratch, pairs, found, &groups,
                                 &error) == UNITOK_OK);
    require(groups.n_pairs <= UNITOK_ANCHORS_MAX_PAIRED * n && groups.n_marks <= n &&
            groups.n_kept <= n);
    require(unitok_anchors_sort(pairs, groups.n_pairs, scratch, &error) == UNITOK_OK);
    unitok_anchors_verify(anchors, kind, text, offsets + 1, 2, pairs, groups.n_pairs, ranges,
                          &n_ranges);
    require(n_ranges <= groups.n_pairs);
    for (int64_t k = 0; k < n_ranges; k++)
        require(ranges[2 * k] >= 0 && ranges[2 * k] < ranges[2 * k + 1] &&
                ranges[2 * k + 1] <= offsets[2]);
    free(records);
    free(scratch);
    free(pairs);
    free(found);
    free(ranges);
    return n_ranges;
}

/* Cuts ranges that the input chooses, and compares pairs that it chooses. */
static void use_input(const unitok_word_rules *rules, const unitok_anchors *anchors,
                      const uint8_t *input, const uint8_t *text, const int64_t *offsets)
{
    int64_t n_bytes = offsets[2], n, ranges[2] = {input[1] % (n_bytes + 1), n_bytes}, ret[8];
    if (ranges[0] < ranges[1]) {
        unitok_ranges_cut(rules, input[2] % 3, text, offsets + 1, 2, ranges, 1, 2.0, 0, ret, 4, &n);
        require(n <= 2);
        uint8_t *left = malloc((size_t)n_bytes);
        require(unitok_ranges_remove(text, 0, n_bytes, ret, n, left) <= n_bytes);
        free(left);
    }
    unitok_anchor pair = {input[0], input[1], input[2]};
    for (int32_t kind = 0; kind < 3; kind++)
        unitok_anchors_verify(anchors, kind, text, offsets + 1, 2, &pair, 1, ret, &n);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n_input_bytes)
{
    static unitok_word_rules *rules;
    unitok_error error;
    if (!rules) require(toy_word_rules(&rules, &error) == UNITOK_OK);
    if (n_input_bytes < 4) return 0;
    int64_t n_bytes = (int64_t)n_input_bytes - 3, n = 1 + input[0] % 32;
    int64_t twice[3] = {0, n_bytes, 2 * n_bytes}, once[3] = {0, input[1] % (n_bytes + 1), n_bytes};
    uint8_t *text = malloc(2 * (size_t)n_bytes);
    int64_t *marks = malloc((size_t)n_bytes * sizeof *marks);
    memcpy(text, input + 3, (size_t)n_bytes);
    memcpy(text + n_bytes, input + 3, (size_t)n_bytes);
    for (int64_t i = 0; i < n_bytes; i++) marks[i] = UNITOK_MARKS_PER_BYTE * i + i % 4;
    for (int is_words = 0; is_words < 2; is_words++) {
        unitok_anchors *anchors;
        require(unitok_anchors_new(is_words ? rules : NULL, n, input[2], &anchors, &error) ==
                UNITOK_OK);
        require(search(anchors, UNITOK_ANCHOR_DOCUMENTS, text, twice, NULL, 0) == 1);
        int64_t n_found = search(anchors, UNITOK_ANCHOR_GRAMS, text, twice, NULL, 0);
        require(is_words || (n_found > 0) == (n_bytes >= n));
        search(anchors, UNITOK_ANCHOR_GRAMS, text, once, NULL, 0);
        search(anchors, UNITOK_ANCHOR_WINDOWS, text, once, marks, n_bytes);
        use_input(rules, anchors, input, text, once);
        unitok_anchors_free(anchors);
    }
    free(text);
    free(marks);
    return 0;
}
