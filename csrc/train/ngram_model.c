/* ngram_model.c - from sorted counts of the longest n-grams to a model of all that are common: see ngrams.h
 *
 * The n-grams come in order, so those with a common beginning come together. What begins the last one is a path of open
 * sums; whatever the next one does not begin with is complete:
 *
 *     abc 2      open: a 2, ab 2, abc 2
 *     abd 3      complete: abc 2.       open: a 5, ab 5, abd 3
 *     b   1      complete: abd 3, ab 5, a 5
 *
 * The first pass counts how many are kept, the second puts them into a table of the right size.
 */

#include "train/ngrams.h"

#include "ground/alloc.h"
#include "ground/error.h"

#define SLOTS_MAX INT64_C(0xFFFFFFFF)

int32_t unitok_ngram_model_new(int32_t order, uint64_t min_count, unitok_ngram_model **ret, unitok_error *error)
{
    if (order < 1 || order > UNITOK_NGRAM_MAX_ORDER) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "the order is not 1..7");
    unitok_ngram_model *model = mem_zalloc(1, sizeof *model);
    uint64_t *few = mem_zalloc(N_FEW, sizeof *few);
    if (!model || !few) {
        mem_free(model);
        mem_free(few);
        return fail_memory(error);
    }
    model->order = order;
    model->min_count = min_count;
    model->few = few;
    *ret = model;
    return UNITOK_OK;
}

void unitok_ngram_model_free(unitok_ngram_model *model)
{
    if (!model) return;
    mem_free(model->few);
    mem_free(model->slots);
    mem_free(model);
}

/* A third of the slots stays empty. */
static int64_t slots_for(int64_t n)
{
    return n + n / 2 + 16;
}

int64_t unitok_ngram_model_memory_bytes(const unitok_ngram_model *model)
{
    return (int64_t)(sizeof *model + N_FEW * sizeof *model->few + (size_t)slots_for(model->n_long) * sizeof *model->slots);
}

static int open_slots(unitok_ngram_model *model)
{
    int64_t n_slots = slots_for(model->n_long);
    if (n_slots > SLOTS_MAX) return 0;
    model->slots = mem_zalloc((size_t)n_slots, sizeof *model->slots);
    model->n_slots = n_slots;
    return model->slots != NULL;
}

/* Puts the waiting n-grams into their slots, which have been fetched meanwhile. */
static void put_waiting(unitok_ngram_model *model)
{
    for (int i = 0; i < model->n_waiting; i++) {
        int64_t slot = model_slot(model, model->waiting[i].key);
        while (model->slots[slot].key)
            if (++slot == model->n_slots) slot = 0;
        model->slots[slot] = model->waiting[i];
    }
    model->n_waiting = 0;
}

static void put(unitok_ngram_model *model, uint64_t key, uint64_t count)
{
    if (model->n_waiting == NGRAMS_WAITING) put_waiting(model);
    PREFETCH(&model->slots[model_slot(model, key)]);
    model->waiting[model->n_waiting++] = (ngram_entry){key, count};
}

/* The first n bytes of the last n-gram were seen so often in all. */
static void complete(unitok_ngram_model *model, int n)
{
    uint64_t count = model->counts[n], bytes = model->last >> (64 - 8 * n);
    if (n > 1 && count < model->min_count) return;
    if (n <= 2) model->few[n == 1 ? bytes : FEW_PAIRS + bytes] = count;
    else if (model->n_passes == 0) model->n_long++;
    else put(model, ngram_key(bytes, n), count);
}

/* How many bytes both begin with. */
static int common_bytes(uint64_t a, uint64_t b)
{
    int n = (int)(a & 7), n_b = (int)(b & 7);
    if (n_b < n) n = n_b;
    while (n && (a ^ b) >> (64 - 8 * n)) n--;
    return n;
}

static void close_path(unitok_ngram_model *model, int n_kept)
{
    for (int n = (int)(model->last & 7); n > n_kept; n--) {
        complete(model, n);
        model->counts[n] = 0;
    }
}

/* Whether it is a number of 1..order bytes with nothing below them. */
static int is_ngram(const unitok_ngram_model *model, uint64_t key)
{
    uint64_t n = key & 0xFF;
    return n >= 1 && n <= (uint64_t)model->order && (key & UINT64_MAX >> 8 * n) == n;
}

int32_t unitok_ngram_model_scan(unitok_ngram_model *model, const uint64_t *keys, const uint64_t *counts, int64_t n,
                                unitok_error *error)
{
    if (model->n_passes > 1) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "a third pass");
    if (model->n_passes == 1 && !model->slots && !open_slots(model)) return fail_memory(error);
    for (int64_t i = 0; i < n; i++) {
        uint64_t key = keys[i];
        if (UNLIKELY(!is_ngram(model, key) || key <= model->last))
            return fail(error, UNITOK_ERROR_ARGUMENT, i, -1, "not n-grams in order");
        close_path(model, common_bytes(model->last, key));
        for (int k = 1; k <= (int)(key & 7); k++) model->counts[k] += counts[i];
        model->last = key;
    }
    return UNITOK_OK;
}

int32_t unitok_ngram_model_end_pass(unitok_ngram_model *model, unitok_error *error)
{
    if (model->n_passes > 1) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "a third pass");
    if (model->n_passes == 1 && !model->slots && !open_slots(model)) return fail_memory(error);
    close_path(model, 0);
    put_waiting(model);
    model->last = 0;
    if (model->n_passes++ == 0) memset(model->few, 0, N_FEW * sizeof *model->few);
    return UNITOK_OK;
}

uint64_t unitok_ngram_model_total(unitok_ngram_model *model)
{
    uint64_t total = 0;
    for (int byte = 0; byte < 256; byte++) {
        if (model->few[byte] == 0) model->few[byte] = 1;
        total += model->few[byte];
    }
    return total;
}

void unitok_ngram_model_tables(unitok_ngram_model *model, uint64_t **ret_few, uint64_t **ret_slots, int64_t *ret_n_slots)
{
    *ret_few = model->few;
    *ret_slots = &model->slots->key;
    *ret_n_slots = model->n_slots;
}

void unitok_ngram_model_finish(unitok_ngram_model *model, double log_total)
{
    model->log_total = log_total;
}

int32_t unitok_ngram_model_load(int32_t order, const uint64_t *few, const uint64_t *slots, int64_t n_slots, double log_total,
                                unitok_ngram_model **ret, unitok_error *error)
{
    int64_t n_empty = 0; /* without one a search would not end */
    for (int64_t i = 0; i < n_slots; i++) n_empty += slots[2 * i] == 0;
    if (n_slots > SLOTS_MAX || n_empty <= 0) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "not the n-grams of a model");
    int32_t status = unitok_ngram_model_new(order, 0, ret, error);
    if (status) return status;
    unitok_ngram_model *model = *ret;
    model->slots = mem_alloc((size_t)n_slots * sizeof *model->slots);
    if (!model->slots) {
        unitok_ngram_model_free(model);
        *ret = NULL;
        return fail_memory(error);
    }
    memcpy(model->few, few, N_FEW * sizeof *few);
    memcpy(model->slots, slots, (size_t)n_slots * sizeof *model->slots);
    model->n_slots = n_slots;
    model->n_long = n_slots - n_empty;
    model->log_total = log_total;
    model->n_passes = 2;
    return UNITOK_OK;
}
