/* seeds.c - the strings that a Unigram model starts from: repeats in the units, by a suffix array and its LCP intervals
 *
 * All units are laid end to end, 0xFF after each, and the suffixes sorted. Suffixes l..r that share their first `depth`
 * bytes, and no more, are a string that occurs in at least two contexts: an LCP interval. Its weight is the sum of the
 * counts of their units. They are found by one walk over the array with a stack of open intervals (Abouelhoda, Kurtz,
 * Ohlebusch, "Replacing suffix trees with enhanced suffix arrays", 2004):
 *
 *     rank   suffix                 LCP   open intervals (depth)
 *     3      "the" 0xFF ...          -    0
 *     4      "their" 0xFF ...        3    0 3
 *     5      "there" 0xFF ...        4    0 3 4
 *     6      "tower" 0xFF ...        1    0 1         "the" and "the?" are closed, and "the" is a seed
 *
 * Common prefixes end at an 0xFF, so the end of a unit is a context of its own. Then also units that repeat nothing,
 * but occur often themselves, are added: they are the leaves of that tree. Long ones must occur more often, because
 * what a few texts repeat is learned by heart; a short one, of SHORT_CHARS at most, is a word almost always.
 *
 * IS_COMPATIBLE: the intervals of sentencepiece 0.2.3, which sorts whole sentences with a NUL after each. Units must
 * carry what follows them (UNITOK_SEGMENT_FOLLOWERS); what follows 0xFF goes into the text before it, and closes
 * intervals where it would there. A piece before a NUL is found once more, as "piece NUL", and counts twice, as there.
 * No leaves.
 */

#include "ground/alloc.h"
#include "ground/error.h"
#include "train/counter.h"
#include "train/levels.h"
#include "train/rules.h"
#include "train/segment.h"

#define SHORT_CHARS 3 /* with the mark of a space: "\xE2\x96\x81of", or a Chinese word of three */

struct interval {
    uint64_t weight; /* of the suffixes seen so far */
    int32_t depth;
};

enum phase { SORT, INVERT, COMPARE, WALK, LEAVES, DONE };

struct unitok_seeds {
    const unitok_rules *rules;
    unitok_counter *counter;
    int32_t is_compatible;
    uint64_t min_leaf;
    uint8_t *text;
    int32_t n;
    levels levels;
    int32_t *sa, *lcp; /* lcp: first the suffix before each in the order, then common bytes with it, both by position */
    unitok_suffix *sorter;
    struct interval *stack;
    int64_t n_stack, stack_room;
    enum phase phase;
    int32_t at;     /* in the present phase */
    int32_t common; /* bytes, of the last two suffixes compared */
};

/* ---------------------------------------------------------------------------------------------- Set-up ---- */

static int lay_out(unitok_seeds *s, const uint8_t *data, const int64_t *offsets, const uint64_t *counts, int64_t n_units)
{
    int64_t *order = levels_order(counts, n_units);
    int ok = order != NULL;
    for (int64_t i = 0; i < n_units && ok; i++) {
        const uint8_t *unit = data + offsets[order[i]];
        int64_t n_bytes = offsets[order[i] + 1] - offsets[order[i]];
        ok = levels_open(&s->levels, counts[order[i]]);
        if (!ok) break;
        for (int64_t k = 0; k < n_bytes; k++)
            if (unit[k] != FOLLOWER_MARK) s->text[s->n++] = unit[k];
        s->text[s->n++] = 0xFF;
        s->levels.end[s->levels.n - 1] = s->n;
    }
    mem_free(order);
    return ok;
}

int32_t unitok_seeds_new(const unitok_rules *rules, const uint8_t *data, const int64_t *offsets, const uint64_t *counts,
                         int64_t n_units, int32_t is_compatible, uint64_t min_leaf, unitok_counter *counter,
                         unitok_seeds **ret, unitok_error *error)
{
    const char *problem = check_units(data, offsets, n_units);
    for (int64_t i = 0; i < n_units && !problem; i++) { /* what follows a unit goes into the text, too */
        const uint8_t *unit = data + offsets[i];
        int64_t n_all = offsets[i + 1] - offsets[i], n_unit = unit_bytes(unit, n_all);
        if (n_unit < n_all && !utf8_is_valid(unit + n_unit + 1, n_all - n_unit - 1))
            problem = "what follows a unit is invalid UTF-8";
    }
    if (problem) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, problem);
    int64_t n = offsets[n_units] - offsets[0] + n_units;
    if (n >= UNITOK_SUFFIX_MAX_32)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "the distinct units have more than 2 GiB");
    unitok_seeds *s = mem_zalloc(1, sizeof *s);
    if (!s) return fail_memory(error);
    s->rules = rules;
    s->counter = counter;
    s->is_compatible = is_compatible;
    s->min_leaf = min_leaf;
    s->text = mem_alloc((size_t)n + 1);
    int32_t status = s->text && lay_out(s, data, offsets, counts, n_units) ? UNITOK_OK : fail_memory(error);
    if (!status) {
        s->sa = mem_alloc(((size_t)s->n + 1) * sizeof *s->sa);
        status = s->sa ? unitok_suffix_new(s->text, s->n, 1, 256, s->sa, 4, &s->sorter, error) : fail_memory(error);
    }
    if (status) unitok_seeds_free(s);
    else *ret = s;
    return status;
}

void unitok_seeds_free(unitok_seeds *s)
{
    if (!s) return;
    unitok_suffix_free(s->sorter);
    mem_free(s->text);
    levels_free(&s->levels);
    mem_free(s->sa);
    mem_free(s->lcp);
    mem_free(s->stack);
    mem_free(s);
}

/* ---------------------------------------------------------------------------------------------- Candidates ---- */

/* Counts text[begin..begin+n_bytes) as a candidate if it may be a piece of two characters or more; 0 when memory is
 * short. */
static int propose(unitok_seeds *s, int64_t begin, int64_t n_bytes, uint64_t weight)
{
    const uint8_t *piece = s->text + begin;
    if (n_bytes < 2 || weight < 2 || is_continuation(piece[0]) || is_continuation(piece[n_bytes])) return 1;
    while (n_bytes && piece[n_bytes - 1] == 0) n_bytes--; /* only where is_compatible */
    if (n_bytes <= char_bytes(piece[0]) || n_bytes > 4 * (int64_t)s->rules->max_chars) return 1;
    if (!rules_allow(s->rules, piece, n_bytes)) return 1;
    return counter_add(s->counter, piece, n_bytes, weight) >= 0;
}

static int push(unitok_seeds *s, int32_t depth, uint64_t weight)
{
    if (s->n_stack == s->stack_room) {
        int64_t room = s->stack_room * 2 + 256;
        struct interval *stack = mem_realloc(s->stack, (size_t)room * sizeof *stack);
        if (!stack) return 0;
        s->stack = stack;
        s->stack_room = room;
    }
    s->stack[s->n_stack++] = (struct interval){weight, depth};
    return 1;
}

/* Closes the intervals deeper than `depth`, all of which end with suffix `last`; opens one of that depth if there is
 * none. */
static int close_to(unitok_seeds *s, int32_t depth, int32_t last)
{
    uint64_t weight = 0;
    while (s->stack[s->n_stack - 1].depth > depth) {
        struct interval closed = s->stack[--s->n_stack];
        weight += closed.weight;
        if (!propose(s, last, closed.depth, weight)) return 0;
        if (s->stack[s->n_stack - 1].depth >= depth) {
            s->stack[s->n_stack - 1].weight += weight;
            weight = 0;
        }
    }
    return s->stack[s->n_stack - 1].depth == depth || push(s, depth, weight);
}

/* Suffix by suffix: the top of the stack is the deepest interval that holds the one before. Its own weight goes into
 * the deeper of its two neighbourhoods. */
static int walk(unitok_seeds *s, int32_t end)
{
    for (; s->at < end; s->at++) {
        int32_t position = s->sa[s->at], before = s->at ? s->lcp[position] : 0;
        int32_t after = s->at + 1 < s->n ? s->lcp[s->sa[s->at + 1]] : 0;
        if (s->at && !close_to(s, before, s->sa[s->at - 1])) return 0;
        if (after > before && !push(s, after, 0)) return 0;
        s->stack[s->n_stack - 1].weight += levels_count(&s->levels, position);
    }
    return s->at < s->n || close_to(s, 0, s->sa[s->n - 1]);
}

/* Units that are not candidates yet, or as much of them as a piece can hold. */
static int add_leaf(unitok_seeds *s, int64_t begin, int64_t end)
{
    uint64_t weight = levels_count(&s->levels, begin);
    int64_t n_chars = 0, n_bytes = 0, at = begin;
    if (weight < s->min_leaf) {
        while (at < end && n_chars <= SHORT_CHARS) at += char_bytes(s->text[at]), n_chars++;
        if (n_chars > SHORT_CHARS) return 1;
        n_chars = 0;
    }
    while (begin + n_bytes < end && n_chars++ < s->rules->max_chars) n_bytes += char_bytes(s->text[begin + n_bytes]);
    for (; n_chars > 1 && n_bytes > 0; n_chars--) {
        if (rules_allow(s->rules, s->text + begin, n_bytes))
            return counter_find(s->counter, s->text + begin, n_bytes) >= 0 || propose(s, begin, n_bytes, weight);
        do n_bytes--;
        while (n_bytes > 0 && is_continuation(s->text[begin + n_bytes]));
    }
    return 1;
}

static int add_leaves(unitok_seeds *s, int32_t budget)
{
    while (s->at < s->n && budget > 0) {
        const uint8_t *end = memchr(s->text + s->at, 0xFF, (size_t)(s->n - s->at));
        int32_t next = (int32_t)(end - s->text);
        if (next > s->at && !add_leaf(s, s->at, next)) return 0;
        budget -= next + 1 - s->at;
        s->at = next + 1;
    }
    return 1;
}

/* --------------------------------------------------------------------------------------------------- Steps ---- */

/* The suffix before each one in the order (Karkkainen, Manzini, Puglisi, "Permuted longest-common-prefix array",
 * 2009). */
static void invert(unitok_seeds *s, int32_t end)
{
    for (; s->at < end; s->at++) s->lcp[s->sa[s->at]] = s->at ? s->sa[s->at - 1] : -1;
}

/* In the order of the text a common prefix is at most one byte shorter than the one before. */
static void compare(unitok_seeds *s, int32_t end)
{
    int32_t common = s->common;
    for (; s->at < end; s->at++) {
        int32_t other = s->lcp[s->at];
        if (other < 0) common = 0;
        else while (s->text[s->at + common] == s->text[other + common] && s->text[other + common] != 0xFF) common++;
        s->lcp[s->at] = common;
        if (common > 0) common--;
    }
    s->common = common;
}

static void next_phase(unitok_seeds *s)
{
    s->at = 0;
    s->phase++;
    if (s->phase == LEAVES && s->is_compatible) s->phase = DONE;
}

int32_t unitok_seeds_step(unitok_seeds *s, int64_t budget, unitok_error *error)
{
    int ok = 1;
    int32_t end = budget < s->n - s->at ? s->at + (int32_t)budget : s->n;
    switch (s->phase) {
    case SORT:
        if (unitok_suffix_progress(s->sorter) < 1) return unitok_suffix_step(s->sorter, budget, error);
        unitok_suffix_free(s->sorter);
        s->sorter = NULL;
        s->lcp = mem_alloc(((size_t)s->n + 1) * sizeof *s->lcp);
        if (!s->lcp || !push(s, 0, 0)) return fail_memory(error);
        next_phase(s);
        return UNITOK_OK;
    case INVERT: invert(s, end); break;
    case COMPARE: compare(s, end); break;
    case WALK: ok = s->n == 0 || walk(s, end); break;
    case LEAVES: ok = add_leaves(s, end - s->at); break;
    case DONE: return UNITOK_OK;
    }
    if (!ok) return fail_memory(error);
    if (s->at >= s->n) next_phase(s);
    return UNITOK_OK;
}

double unitok_seeds_progress(const unitok_seeds *s)
{
    static const double begins[] = {0, 0.5, 0.6, 0.75, 0.97, 1};
    if (s->phase == DONE) return 1;
    double part = s->phase == SORT ? unitok_suffix_progress(s->sorter) : s->n ? (double)s->at / s->n : 0;
    return begins[s->phase] + (begins[s->phase + 1] - begins[s->phase]) * part * 0.999;
}
