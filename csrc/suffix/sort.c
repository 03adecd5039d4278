/* sort.c - suffix sorting by induction, in steps: the public functions, and the templates for each
 * width */

#include "suffix/sort.h"

/* FLAG, MASK, EMPTY, FLAG_OF are of the POSITION of the moment. */
#define POSITION uint32_t
#define REDUCE(x) reduce_##x##_32
#define LEVEL(x) level_##x##_32
#define TIGHT(x) tight_##x##_32
#include "suffix/sort_reduce.h"
#include "suffix/sort_tight.h"
#include "suffix/sort_names.h"
#define SYMBOL uint8_t
#define SUFFIX(x) suffix_##x##_8_32
#include "suffix/sort_text.h"
#undef SYMBOL
#undef SUFFIX
#define SYMBOL uint16_t
#define SUFFIX(x) suffix_##x##_16_32
#include "suffix/sort_text.h"
#undef SYMBOL
#undef SUFFIX
#define SYMBOL uint32_t
#define SUFFIX(x) suffix_##x##_32_32
#include "suffix/sort_text.h"
#undef SYMBOL
#undef SUFFIX
#undef POSITION
#undef REDUCE
#undef LEVEL
#undef TIGHT

#define POSITION uint64_t
#define REDUCE(x) reduce_##x##_64
#define LEVEL(x) level_##x##_64
#define TIGHT(x) tight_##x##_64
#include "suffix/sort_reduce.h"
#include "suffix/sort_tight.h"
#include "suffix/sort_names.h"
#define SYMBOL uint8_t
#define SUFFIX(x) suffix_##x##_8_64
#include "suffix/sort_text.h"
#undef SYMBOL
#undef SUFFIX
#define SYMBOL uint16_t
#define SUFFIX(x) suffix_##x##_16_64
#include "suffix/sort_text.h"
#undef SYMBOL
#undef SUFFIX
#define SYMBOL uint32_t
#define SUFFIX(x) suffix_##x##_32_64
#include "suffix/sort_text.h"
#undef SYMBOL
#undef SUFFIX

static int32_t (*const steps[3][2])(struct unitok_suffix *, int64_t) = {
    {suffix_step_8_32, suffix_step_8_64},
    {suffix_step_16_32, suffix_step_16_64},
    {suffix_step_32_32, suffix_step_32_64},
};

/* 0, 1, 2 for 1, 2, 4 bytes; -1 for anything else. */
static int symbol_width(int32_t n_bytes)
{
    return n_bytes == 1 ? 0 : n_bytes == 2 ? 1 : n_bytes == 4 ? 2 : -1;
}

static const char *check_arguments(int64_t n, int32_t symbol_bytes, int64_t n_symbols,
                                   int32_t position_bytes)
{
    if (symbol_width(symbol_bytes) < 0) return "symbols must have 1, 2 or 4 bytes";
    if (position_bytes != 4 && position_bytes != 8) return "positions must have 4 or 8 bytes";
    if (n < 0 || (position_bytes == 4 && n > UNITOK_SUFFIX_MAX_32))
        return "the text is too long for these positions";
    if (symbol_bytes == 4 && (n_symbols < 1 || n_symbols > (int64_t)1 << 31))
        return "the number of symbols is out of range";
    return NULL;
}

int32_t unitok_suffix_new(const void *text, int64_t n, int32_t symbol_bytes, int64_t n_symbols,
                          void *sa, int32_t position_bytes, unitok_suffix **ret,
                          unitok_error *error)
{
    const char *wrong = check_arguments(n, symbol_bytes, n_symbols, position_bytes);
    if (wrong) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, wrong);
    unitok_suffix *s = mem_zalloc(1, sizeof *s);
    if (!s) return fail_memory(error);
    s->text = text;
    s->sa = sa;
    s->n = n;
    s->n_symbols = symbol_bytes == 4 ? n_symbols : (int64_t)1 << (8 * symbol_bytes);
    s->step = steps[symbol_width(symbol_bytes)][position_bytes == 8];
    s->pass = PASS_COUNT;
    s->at = n - 1;
    if (n < 2) {
        if (n == 1) memset(sa, 0, (size_t)position_bytes);
        s->pass = PASS_DONE;
        *ret = s;
        return UNITOK_OK;
    }
    /* A symbol has four counters, and two buckets of two numbers each. */
    s->counts = mem_zalloc((size_t)s->n_symbols, 4 * (size_t)position_bytes);
    s->buckets = mem_zalloc((size_t)s->n_symbols, 4 * (size_t)position_bytes);
    if (!s->counts || !s->buckets) {
        unitok_suffix_free(s);
        return fail_memory(error);
    }
    *ret = s;
    return UNITOK_OK;
}

int32_t unitok_suffix_step(unitok_suffix *s, int64_t budget, unitok_error *error)
{
    int32_t status = s->step(s, budget);
    if (status == UNITOK_ERROR_MEMORY) return fail_memory(error);
    if (status != UNITOK_OK)
        return fail(error, status, -1, s->at, "a symbol is not below n_symbols");
    return UNITOK_OK;
}

double unitok_suffix_progress(const unitok_suffix *s)
{
    /* Shares of the time that mixed text takes. */
    static const double shares[PASS_DONE + 1] = {
        [PASS_COUNT] = 0.04,      [PASS_PLACE] = 0.06,       [PASS_LEFT] = 0.09,
        [PASS_RIGHT] = 0.08,      [PASS_REDUCE] = 0.11,      [PASS_LEVELS] = 0.34,
        [PASS_POSITIONS] = 0.04,  [PASS_MERGE] = 0.03,       [PASS_SPREAD] = 0.01,
        [PASS_FINAL_LEFT] = 0.10, [PASS_FINAL_RIGHT] = 0.10,
    };
    if (s->pass == PASS_DONE) return 1.0;
    double done = 0;
    for (int32_t pass = 0; pass < s->pass; pass++) done += shares[pass];
    int64_t length = s->pass == PASS_LEVELS ? 20 * s->names.n_kept : s->n;
    double part = (double)s->n_done_in_pass / (double)(length > 0 ? length : 1);
    done += shares[s->pass] * (part < 1 ? part : 1);
    return done < 0.999 ? done : 0.999;
}

void unitok_suffix_free(unitok_suffix *s)
{
    if (!s) return;
    for (int k = 0; k < MAX_LEVELS; k++) free_reduction(&s->levels[k].names);
    free_reduction(&s->names);
    mem_free(s->tight_runs);
    mem_free(s->buckets);
    mem_free(s->counts);
    mem_free(s);
}
