/* ngram_model.c - builds a model of all common n-grams from the sorted counts of the longest ones:
 * see ngrams.h
 *
 * The n-grams arrive in order, so those with a common prefix are neighbours. The prefixes of the
 * last n-gram form a path of open sums. The sum of a prefix is complete when the next n-gram does
 * not begin with it:
 *
 *     abc 2      open: a 2, ab 2, abc 2
 *     abd 3      complete: abc 2.       open: a 5, ab 5, abd 3
 *     b   1      complete: abd 3, ab 5, a 5
 *
 * The first pass counts how many n-grams are kept, and the second puts them into tables of exactly
 * the right size. So the memory of the model is known before it is allocated, and no table ever
 * grows. */

#include "train/ngrams.h"

#include <math.h>

#include "ground/alloc.h"
#include "ground/error.h"

#define SLOTS_MAX INT64_C(0xFFFFFFFF)
#define OTHER_NGRAMS "the n-grams of the second pass differ from those of the first"
#define NOT_IN_ORDER "the n-grams are invalid or out of order"
#define FIRST_LENGTH 3 /* the shortest n-grams in slots; shorter ones are indexes of `few` */

/* The next n-gram of a table that is being read. */
struct table_head {
    uint64_t key; /* UINT64_MAX: the table is at its end */
    uint64_t count;
    unitok_ngram_place after;
};

/* N-grams that occur fewer than min_count times are left out, except single bytes, which must
 * always have a probability. */
int32_t unitok_ngram_model_new(int32_t order, uint64_t min_count, unitok_ngram_model **ret,
                               unitok_error *error)
{
    if (order < 1 || order > UNITOK_NGRAM_MAX_ORDER)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "the order is not 1..7");
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
    mem_free(model->large);
    mem_free(model);
}

/* The number of slots for n keys. At least a third of the slots, and always at least one, stay
 * empty, so that every search ends. */
static int64_t slots_for(int64_t n) { return n + n / 2 + 2; }

/* Before the tables are allocated, this is the memory that they will take, so that a caller can
 * reject a model that is too large after the first pass. */
int64_t unitok_ngram_model_memory_bytes(const unitok_ngram_model *model)
{
    int is_open = model->large != NULL;
    int64_t n_slots = 0, n_large_slots = is_open ? model->n_large_slots : slots_for(model->n_large);
    for (int length = FIRST_LENGTH; length <= model->order; length++)
        n_slots += is_open ? model->of[length].n_slots : slots_for(model->of[length].n);
    return (int64_t)(sizeof *model + N_FEW * sizeof *model->few +
                     (size_t)n_slots * sizeof *model->slots +
                     (size_t)n_large_slots * sizeof *model->large);
}

/* Allocates empty tables of the sizes in n_slots; returns 0 if allocation fails. */
static int allocate(unitok_ngram_model *model, const int64_t *n_slots, int64_t n_large_slots)
{
    int64_t n = 0;
    for (int length = FIRST_LENGTH; length <= model->order; length++) n += n_slots[length];
    model->slots = mem_zalloc((size_t)n + 1, sizeof *model->slots);
    model->large = mem_zalloc((size_t)n_large_slots, sizeof *model->large);
    if (!model->slots || !model->large) return 0;
    uint64_t *at = model->slots;
    for (int length = FIRST_LENGTH; length <= model->order; length++) {
        model->of[length].slots = at;
        model->of[length].n_slots = n_slots[length];
        at += n_slots[length];
    }
    model->n_large_slots = n_large_slots;
    return 1;
}

/* Called at the start of the second pass, when the numbers of n-grams are known. */
static int open_slots(unitok_ngram_model *model)
{
    int64_t n_slots[UNITOK_NGRAM_MAX_ORDER + 1], n_large_slots = slots_for(model->n_large);
    for (int length = 0; length <= UNITOK_NGRAM_MAX_ORDER; length++) {
        n_slots[length] = slots_for(model->of[length].n);
        if (n_slots[length] > SLOTS_MAX) return 0;
    }
    return n_large_slots <= SLOTS_MAX && allocate(model, n_slots, n_large_slots);
}

/* The second table is searched like the first. It holds only the few most frequent n-grams. */
static void put_large(unitok_ngram_model *model, ngram_entry entry)
{
    int64_t at = model_slot(model->n_large_slots, entry.key);
    while (model->large[at].key)
        if (++at == model->n_large_slots) at = 0;
    model->large[at] = entry;
}

/* Called only if the slot has the largest count. */
double model_large_log(const unitok_ngram_model *model, uint64_t key)
{
    int64_t at = model_slot(model->n_large_slots, key);
    while (model->large[at].key != key) {
        if (model->large[at].key == 0) return -INFINITY;
        if (++at == model->n_large_slots) at = 0;
    }
    return as_double(model->large[at].count);
}

/* Puts the waiting n-grams into their slots, which have been prefetched meanwhile. A key is written
 * at the first free slot from its home on. Keys are in order, but their homes are not. */
static void put_waiting(unitok_ngram_model *model)
{
    for (int i = 0; i < model->n_waiting; i++) {
        uint64_t key = model->waiting[i].key, count = model->waiting[i].count,
                 ngram = key & ~UINT64_C(7);
        ngram_slots *table = &model->of[key & 7];
        uint64_t most = model_most((int)(key & 7));
        int64_t at = model_slot(table->n_slots, ngram);
        while (table->slots[at] & most)
            if (++at == table->n_slots) at = 0;
        table->slots[at] = ngram | (count < most ? count : most);
        if (count >= most) put_large(model, model->waiting[i]);
    }
    model->n_waiting = 0;
}

/* Adds an n-gram to its table in the second pass. of[].n and n_large, which the first pass counted,
 * are counted down, so a second pass that differs from the first is detected before a table
 * overflows. */
static void put(unitok_ngram_model *model, uint64_t key, uint64_t count)
{
    ngram_slots *table = &model->of[key & 7];
    int is_large = count >= model_most((int)(key & 7));
    if (table->n == 0 || model->n_large < is_large) {
        model->is_wrong = 1;
        return;
    }
    table->n--;
    model->n_large -= is_large;
    if (model->n_waiting == NGRAMS_WAITING) put_waiting(model);
    PREFETCH(&table->slots[model_slot(table->n_slots, key & ~UINT64_C(7))]);
    model->waiting[model->n_waiting++] = (ngram_entry){key, count};
}

/* Records the first n bytes of the last n-gram, whose sum is complete: the first pass only counts
 * such n-grams, and the second puts them into their table. Single bytes and pairs are indexes of an
 * array, because there are few of them. */
static void complete(unitok_ngram_model *model, int n)
{
    uint64_t count = model->counts[n], bytes = model->last >> (64 - 8 * n);
    if (n > 1 && count < model->min_count) return;
    if (n < FIRST_LENGTH) {
        model->few[n == 1 ? bytes : FEW_PAIRS + bytes] = count;
    } else if (count == 0) { /* the n-gram is absent */
    } else if (model->n_passes == 0) {
        model->of[n].n++;
        model->n_large += count >= model_most(n);
    } else {
        put(model, ngram_slot(bytes, n) | (uint64_t)n, count);
    }
}

/* The length of the common prefix of two n-grams, given as numbers: the length of the shorter one
 * if it is a prefix of the longer one. */
static int common_bytes(uint64_t a, uint64_t b)
{
    int n = (int)(a & 7), n_b = (int)(b & 7);
    if (n_b < n) n = n_b;
    while (n && (a ^ b) >> (64 - 8 * n)) n--;
    return n;
}

/* Completes all open sums except those of the first n_kept bytes. The order of the prefixes does
 * not matter, because each length has its own table. */
static void close_path(unitok_ngram_model *model, int n_kept)
{
    for (int n = (int)(model->last & 7); n > n_kept; n--) {
        complete(model, n);
        model->counts[n] = 0;
    }
}

/* Whether a key is the number of an n-gram of 1..order bytes: see ngrams.h. */
static int is_ngram(const unitok_ngram_model *model, uint64_t key)
{
    uint64_t n = key & 0xFF;
    return n >= 1 && n <= (uint64_t)model->order && (key & UINT64_MAX >> 8 * n) == n;
}

/* The tables are allocated at the first scan of the second pass. */
static int32_t begin_scan(unitok_ngram_model *model, unitok_error *error)
{
    if (model->n_passes > 1) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "a third pass");
    return model->n_passes == 0 || model->large || open_slots(model) ? UNITOK_OK
                                                                     : fail_memory(error);
}

/* Adds the next n-gram; returns 0 if it does not come after the last one. Every prefix of the
 * n-gram gets its count, because each occurrence of the n-gram is also one of the prefix. */
INLINE int scan(unitok_ngram_model *model, uint64_t key, uint64_t count)
{
    if (UNLIKELY(!is_ngram(model, key) || key <= model->last)) return 0;
    close_path(model, common_bytes(model->last, key));
    for (int k = 1; k <= (int)(key & 7); k++) model->counts[k] += count;
    model->last = key;
    return 1;
}

/* The caller may pass one sorted list in several calls. */
int32_t unitok_ngram_model_scan(unitok_ngram_model *model, const uint64_t *keys,
                                const uint64_t *counts, int64_t n, unitok_error *error)
{
    int32_t status = begin_scan(model, error);
    if (status) return status;
    for (int64_t i = 0; i < n; i++)
        if (!scan(model, keys[i], counts[i]))
            return fail(error, UNITOK_ERROR_ARGUMENT, i, -1, NOT_IN_ORDER);
    return model->is_wrong ? fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, OTHER_NGRAMS) : UNITOK_OK;
}

/* The smallest key of all heads; UINT64_MAX if all tables are at their ends. */
static uint64_t least_of(const struct table_head *heads, int64_t n_tables)
{
    uint64_t least = UINT64_MAX;
    for (int64_t t = 0; t < n_tables; t++)
        if (heads[t].key < least) least = heads[t].key;
    return least;
}

/* Reads one n-gram ahead, so that the smallest head is known before it is used. The place advances
 * only when the n-gram is used, so a caller can continue from `places`. */
INLINE void read_head(struct table_head *head, const unitok_ngrams *table,
                      const unitok_ngram_place *place)
{
    head->after = *place;
    head->key = ngrams_next(table, &head->after, &head->count);
    if (!head->key) head->key = UINT64_MAX;
}

/* Merges the tables of several threads while they are scanned. The number of tables is small, so
 * the smallest head is found by comparing all of them. */
int32_t unitok_ngram_model_scan_tables(unitok_ngram_model *model,
                                       const unitok_ngrams *const *tables, int64_t n_tables,
                                       unitok_ngram_place *places, int64_t budget,
                                       int32_t *ret_is_done, unitok_error *error)
{
    for (int64_t t = 0; t < n_tables; t++)
        if (!tables[t]->sorted || places[t].full < 0 || places[t].other < 0)
            return fail(error, UNITOK_ERROR_ARGUMENT, t, -1, "the n-grams are not sorted");
    int32_t status = begin_scan(model, error);
    if (status) return status;
    /* One head for each table: its next n-gram. */
    struct table_head *heads = mem_alloc((size_t)(n_tables + 1) * sizeof *heads);
    if (!heads) return fail_memory(error);
    for (int64_t t = 0; t < n_tables; t++) read_head(&heads[t], tables[t], &places[t]);
    uint64_t key = least_of(heads, n_tables);
    for (; key != UINT64_MAX && budget > 0 && !status; budget--) {
        uint64_t count = 0;
        for (int64_t t = 0; t < n_tables; t++) {
            if (heads[t].key != key) continue;
            count += heads[t].count;
            places[t] = heads[t].after;
            read_head(&heads[t], tables[t], &places[t]);
        }
        if (!scan(model, key, count))
            status = fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, NOT_IN_ORDER);
        key = least_of(heads, n_tables);
    }
    mem_free(heads);
    *ret_is_done = key == UINT64_MAX;
    if (!status && model->is_wrong)
        status = fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, OTHER_NGRAMS);
    return status;
}

/* Completes the sums that are still open. After the second pass every byte has a count of at least
 * 1, so that no byte has probability 0, and `total` is the sum of these counts. */
int32_t unitok_ngram_model_end_pass(unitok_ngram_model *model, unitok_error *error)
{
    if (model->n_passes > 1) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "a third pass");
    if (model->n_passes == 1 && !model->large && !open_slots(model)) return fail_memory(error);
    close_path(model, 0);
    put_waiting(model);
    model->last = 0;
    if (model->is_wrong) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, OTHER_NGRAMS);
    if (model->n_passes++ == 0) {
        memset(model->few, 0, N_FEW * sizeof *model->few);
        return UNITOK_OK;
    }
    for (int byte = 0; byte < 256; byte++) {
        if (model->few[byte] == 0) model->few[byte] = 1;
        model->total += model->few[byte];
    }
    return UNITOK_OK;
}

/* Returns the tables themselves, for a checkpoint. */
void unitok_ngram_model_get_tables(unitok_ngram_model *model, unitok_ngram_tables *ret)
{
    memset(ret, 0, sizeof *ret);
    ret->few = model->few;
    ret->slots = model->slots;
    for (int length = FIRST_LENGTH; length <= model->order; length++)
        ret->n_slots[length] = model->of[length].n_slots;
    ret->large = &model->large->key;
    ret->n_large_slots = model->n_large_slots;
    ret->total = model->total;
}

/* The logarithms come from the caller, who computes them with numpy, so that they equal the
 * reference's to the last bit. */
void unitok_ngram_model_finish(unitok_ngram_model *model, double log_total, const double *logs)
{
    model->log_total = log_total;
    model->logs = logs;
}

/* Whether each table has an empty slot. A search ends only at an empty slot or at its key. */
static int are_tables(const unitok_ngram_tables *tables, int order)
{
    const uint64_t *slots = tables->slots;
    for (int length = FIRST_LENGTH; length <= order; length++) {
        int64_t n_empty = 0, n_slots = tables->n_slots[length];
        for (int64_t i = 0; i < n_slots; i++) n_empty += (slots[i] & model_most(length)) == 0;
        if (n_empty == 0 || n_slots > SLOTS_MAX) return 0;
        slots += n_slots;
    }
    int64_t n_empty = 0;
    for (int64_t i = 0; i < tables->n_large_slots; i++) n_empty += tables->large[2 * i] == 0;
    return n_empty > 0 && tables->n_large_slots <= SLOTS_MAX;
}

/* The tables of a damaged file can contain anything. Only the termination of searches must be
 * ensured; wrong counts merely cause wrong probabilities. */
int32_t unitok_ngram_model_load(int32_t order, const unitok_ngram_tables *tables, double log_total,
                                const double *logs, unitok_ngram_model **ret, unitok_error *error)
{
    int32_t status = unitok_ngram_model_new(order, 0, ret, error);
    if (status) return status;
    unitok_ngram_model *model = *ret;
    if (!are_tables(tables, order))
        status = fail(error, UNITOK_ERROR_ARGUMENT, -1, -1,
                      "these are not the tables of an n-gram model");
    else if (!allocate(model, tables->n_slots, tables->n_large_slots)) status = fail_memory(error);
    if (status) {
        unitok_ngram_model_free(model);
        *ret = NULL;
        return status;
    }
    int64_t n = 0;
    for (int length = FIRST_LENGTH; length <= order; length++) n += tables->n_slots[length];
    memcpy(model->few, tables->few, N_FEW * sizeof *model->few);
    if (n) memcpy(model->slots, tables->slots, (size_t)n * sizeof *model->slots);
    memcpy(model->large, tables->large, (size_t)tables->n_large_slots * sizeof *model->large);
    unitok_ngram_model_finish(model, log_total, logs);
    model->n_passes = 2;
    return UNITOK_OK;
}
