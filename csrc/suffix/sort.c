/* sort.c - suffix sorting by induction, in steps: the public functions
 *
 * The algorithm is induced sorting (Nong, Zhang, Chan, "Two efficient algorithms for linear time
 * suffix array construction", 2011), in five templates:
 *
 *     sort_text.h      sorts the LMS substrings of the text, and later all suffixes from the LMS suffixes
 *     sort_reduce.h    names the LMS substrings, and turns sorted names into sorted LMS suffixes
 *     sort_names.h     sorts the suffixes of an array of names, recursively, in the same memory
 *     sort_tight.h     finds buckets for sort_names.h if there is no memory for a bucket table
 *     widths.h         instantiates all of them
 *
 * The suffix array is the only large block of memory: names, their suffix arrays and their buckets
 * are all stored in the part of it that is not needed yet. Work is divided into passes and passes
 * into steps, so that the caller can show progress and be interrupted after any step. */

#include "suffix/sort.h"

#define TEMPLATE "suffix/sort_text.h"
#define POSITION_BITS 32
#include "suffix/sort_reduce.h"
#include "suffix/sort_tight.h"
#include "suffix/sort_names.h"
#include "suffix/widths.h"
#undef POSITION_BITS
#define POSITION_BITS 64
#include "suffix/sort_reduce.h"
#include "suffix/sort_tight.h"
#include "suffix/sort_names.h"
#include "suffix/widths.h"

static void (*const steps[3][2])(struct unitok_suffix *, int64_t) = ALL_WIDTHS(suffix_step);

/* The index of a width in `steps`: 0, 1, 2 for 1, 2, 4 bytes; -1 for anything else. */
static int symbol_width(int32_t n_bytes)
{
    return n_bytes == 1 ? 0 : n_bytes == 2 ? 1 : n_bytes == 4 ? 2 : -1;
}

/* The top bit of a 32-bit position is a flag, so the text may have at most 2^31 - 1 symbols;
 * UNITOK_SUFFIX_MAX_32 is that limit. Symbols of 8 and 16 bits are not checked, because the tables
 * have an entry for every value. */
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

/* Allocates everything that does not depend on the text. A text of fewer than two symbols needs no
 * sorting, and the passes require two suffixes. */
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
    /* Each symbol has four counters, and two buckets of two numbers each. */
    s->counts = mem_zalloc((size_t)s->n_symbols, 4 * (size_t)position_bytes);
    s->buckets = mem_zalloc((size_t)s->n_symbols, 4 * (size_t)position_bytes);
    if (!s->counts || !s->buckets) {
        unitok_suffix_free(s);
        return fail_memory(error);
    }
    *ret = s;
    return UNITOK_OK;
}

int32_t unitok_suffix_before(unitok_suffix *s, uint32_t *rows, int64_t every, unitok_error *error)
{
    if (every < 1 || every & (every - 1) || s->n > UNITOK_SUFFIX_MAX_32)
        return fail(
            error, UNITOK_ERROR_ARGUMENT, -1, -1,
            "the distance between rows must be a power of two, and the text must be shorter "
            "than 2^31 symbols");
    row_samples samples = {rows, highest_bit((uint64_t)every)};
    s->samples = samples;
    if (s->n == 1) rows[0] = 0;
    return UNITOK_OK;
}

/* The fraction of the sort that is done, for a progress bar. It must never decrease, nor reach 1
 * before the end. PASS_LEVELS takes about as long as 20 passes over the kept names. */
static double progress(const unitok_suffix *s)
{
    /* The fraction of the time that each pass takes on mixed text. */
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

/* An error stops the sort, and later steps return it again. The contents of the caller's array are
 * then unspecified. */
int32_t unitok_suffix_step(unitok_suffix *s, int64_t budget, double *ret_progress,
                           unitok_error *error)
{
    s->step(s, budget);
    *ret_progress = progress(s);
    if (s->status == UNITOK_ERROR_MEMORY) return fail_memory(error);
    return s->status ? fail(error, s->status, -1, s->at, "a symbol is not below n_symbols")
                     : UNITOK_OK;
}

/* A sort can be freed after any step. The suffix array belongs to the caller. */
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
