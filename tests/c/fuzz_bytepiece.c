/* fuzz_bytepiece.c - a libFuzzer target: BytePiece's trainer on arbitrary texts, with damaged
 * tables, and with invalid n-grams and pieces
 *
 * The input: u8 order, u8 flags (1, 2: the cutter's flags; 4: split digits; 8: the model's tables
 * are damaged; 16: the second half of the input is used as n-grams), u8 where the text is split
 * into two documents, u8 min_count, then the text. */
#include <math.h>
#include <stdlib.h>

#include "ground/common.h"
#include "unitok_train.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n_input_bytes);

#define N_DAMAGES 16
#define N_KEYS_MAX 4096

static uint8_t is_digit[0x110000];
static double logs[UNITOK_NGRAM_LOGS];

static void require(int condition)
{
    if (!condition) abort();
}

typedef struct texts {
    const uint8_t *data;
    int64_t bounds[3];
    const uint8_t *digits;
} texts;

/* Exports all n-grams of the texts; returns their number. */
static int64_t count_ngrams(const texts *t, int order, uint64_t *keys, uint64_t *counts)
{
    unitok_ngrams *ngrams;
    unitok_cursor at = {0, 0};
    require(unitok_ngrams_new(order, t->digits, &ngrams, NULL) == UNITOK_OK);
    while (at.document < 2)
        require(unitok_ngrams_add(ngrams, t->data, t->bounds, 2, 100, &at, NULL) == UNITOK_OK);
    require(unitok_ngrams_sort(ngrams, NULL) == UNITOK_OK);
    unitok_ngram_place place = {0, 0};
    int64_t n = unitok_ngrams_export(ngrams, &place, N_KEYS_MAX, keys, counts);
    require(n == unitok_ngrams_count(ngrams));
    uint64_t total = 0;
    for (int64_t i = 0; i < n; i++) {
        require(counts[i] > 0 && (i == 0 || keys[i] > keys[i - 1]));
        total += counts[i];
    }
    require(total == (uint64_t)t->bounds[2]);
    unitok_ngrams_free(ngrams);
    return n;
}

/* Returns NULL unless the keys are n-grams in ascending order. */
static unitok_ngram_model *make_model(int order, uint64_t min_count, const uint64_t *keys,
                                      const uint64_t *counts, int64_t n)
{
    unitok_ngram_model *model;
    require(unitok_ngram_model_new(order, min_count, &model, NULL) == UNITOK_OK);
    for (int pass = 0; pass < 2; pass++) {
        int32_t status = unitok_ngram_model_scan(model, keys, counts, n / 2, NULL);
        if (!status)
            status = unitok_ngram_model_scan(model, keys + n / 2, counts + n / 2, n - n / 2, NULL);
        if (!status) status = unitok_ngram_model_end_pass(model, NULL);
        if (status) {
            unitok_ngram_model_free(model);
            return NULL;
        }
    }
    return model;
}

static void take_log(uint64_t *place)
{
    double value = *place < UNITOK_NGRAM_LOGS ? logs[*place] : log((double)*place);
    memcpy(place, &value, sizeof value);
}

/* Loads tables with changes taken from the texts; returns NULL if they are rejected. */
static unitok_ngram_model *load_damaged(int order, unitok_ngram_tables *tables, const texts *t,
                                        int is_damaged)
{
    int64_t n = tables->n_large_slots * 2;
    for (int length = 0; length < 8; length++) n += tables->n_slots[length];
    for (int64_t i = 0; is_damaged && i + 10 < t->bounds[2] && i < 10 * N_DAMAGES; i += 10) {
        int64_t at = (t->data[i] | t->data[i + 1] << 8) % n,
                n_slots = n - tables->n_large_slots * 2;
        uint64_t *place = at < n_slots ? &tables->slots[at] : &tables->large[at - n_slots];
        memcpy(place, t->data + i + 2, sizeof *place);
        tables->few[*place % 65792] ^= *place;
        if (t->data[i] == 0xFF) tables->n_slots[t->data[i + 1] % 8] /= 2;
    }
    unitok_ngram_model *loaded = NULL;
    int32_t status = unitok_ngram_model_load(order, tables, 5.0, logs, &loaded, NULL);
    require(status == UNITOK_OK || is_damaged);
    return status ? NULL : loaded;
}

/* The pieces of the texts, sorted; checks that no byte is lost. */
static unitok_counter *cut(const unitok_ngram_model *model, const texts *t, int flags)
{
    unitok_counter *counter;
    unitok_ngram_cutter *cutter;
    unitok_cursor at = {0, 0};
    require(unitok_counter_new(0, &counter, NULL) == UNITOK_OK);
    require(unitok_ngram_cutter_new(model, counter, t->digits, flags, &cutter, NULL) == UNITOK_OK);
    while (at.document < 2)
        require(unitok_ngram_cutter_add(cutter, t->data, t->bounds, 2, 100, &at, NULL) ==
                UNITOK_OK);
    unitok_ngram_cutter_free(cutter);
    require(unitok_counter_sort(counter, NULL) == UNITOK_OK);
    return counter;
}

/* Recounts the pieces with some of them as the vocabulary, which is rejected if it lacks a byte. */
static void recount(const unitok_counter *pieces, int64_t n_text_bytes)
{
    int64_t n = unitok_counter_count(pieces), *offsets = malloc((size_t)(n + 1) * sizeof *offsets);
    uint8_t *data = malloc(
                (size_t)unitok_counter_part_bytes(pieces, 0, unitok_counter_count(pieces)) + 1),
            *alive = malloc((size_t)n + 1);
    uint64_t *counts = malloc((size_t)(n + 1) * sizeof *counts),
             *used = calloc((size_t)n + 1, sizeof *used);
    uint64_t n_used = 0, n_cut = 0;
    double *scores = malloc((size_t)(n + 1) * sizeof *scores);
    unitok_counter_export(pieces, 0, unitok_counter_count(pieces), data, offsets, counts);
    for (int64_t i = 0; i < n; i++) {
        n_cut += counts[i] * (uint64_t)(offsets[i + 1] - offsets[i]);
        alive[i] = offsets[i + 1] - offsets[i] == 1 || counts[i] > 1;
        scores[i] = log((double)counts[i]) - log((double)n_text_bytes);
    }
    require(n_cut == (uint64_t)n_text_bytes);
    unitok_lexicon *lexicon;
    unitok_lattice *lattice = unitok_lattice_new();
    require(lattice && unitok_lexicon_new(data, offsets, 0, n, 0, &lexicon, NULL) == UNITOK_OK);
    int32_t status = unitok_unigram_recount(lexicon, lattice, alive, scores,
                                            &(unitok_units){data, offsets, counts, n}, used);
    require(status == UNITOK_OK || status == UNITOK_ERROR_ARGUMENT);
    for (int64_t i = 0; i < n; i++) n_used += used[i] * (uint64_t)(offsets[i + 1] - offsets[i]);
    if (!status) require(n_used == (uint64_t)n_text_bytes);
    unitok_lattice_free(lattice);
    unitok_lexicon_free(lexicon);
    free(offsets);
    free(data);
    free(alive);
    free(counts);
    free(used);
    free(scores);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n_input_bytes)
{
    if (n_input_bytes < 5 || n_input_bytes > N_KEYS_MAX) return 0;
    if (logs[2] == 0) { /* the first call */
        for (int i = 0; i < UNITOK_NGRAM_LOGS; i++) logs[i] = log(i);
        memset(&is_digit['0'], 1, 10);
    }
    int order = 1 + input[0] % 7, flags = input[1];
    int64_t n = (int64_t)n_input_bytes - 4;
    uint8_t *copy = malloc((size_t)n);
    memcpy(copy, input + 4, (size_t)n);
    texts t = {copy, {0, n * input[2] / 255, n}, flags & 4 ? is_digit : NULL};
    static uint64_t keys[N_KEYS_MAX], counts[N_KEYS_MAX];
    int64_t n_keys = count_ngrams(&t, order, keys, counts);
    if (flags & 16) { /* used as n-grams, and usually rejected */
        n_keys = n / 16;
        for (int64_t i = 0; i < n_keys; i++) {
            memcpy(&keys[i], copy + 8 * i, sizeof keys[i]);
            counts[i] = copy[n / 2 + i];
        }
    }
    unitok_ngram_model *model = make_model(order, input[3], keys, counts, n_keys);
    require(model || flags & 16);
    if (model) {
        unitok_ngram_tables tables;
        unitok_ngram_model_get_tables(model, &tables);
        unitok_ngram_model_finish(model, log((double)tables.total), logs);
        for (int64_t i = 0; i < 256 + 65536; i++) take_log(&tables.few[i]);
        for (int64_t i = 0; i < tables.n_large_slots; i++) take_log(&tables.large[2 * i + 1]);
        unitok_ngram_model *loaded = load_damaged(order, &tables, &t, flags & 8);
        unitok_counter *pieces = loaded ? cut(loaded, &t, flags & 3) : NULL;
        if (pieces) recount(pieces, n);
        unitok_counter_free(pieces);
        unitok_ngram_model_free(loaded);
        unitok_ngram_model_free(model);
    }
    free(copy);
    return 0;
}
