/* units.c - counts the characters of units, replaces rare ones, and merges sorted lists of units
 *
 * A unit's own bytes may be followed by marks and by the text that follows the unit: segment.h
 * shows the forms. unit_bytes finds where its own bytes end.
 *
 * If "ï" is rare, folding the unit "naïve" gives "na▅ve", or with UNITOK_FOLD_CUT the two units
 * "na" and "ve". */

#include <math.h>

#include "ground/alloc.h"
#include "ground/error.h"
#include "ground/packed.h"
#include "train/counter.h"
#include "train/rules.h"
#include "train/segment.h"

/* Only the units themselves must be valid UTF-8. Bytes after a mark are checked by the functions
 * that use them. */
const char *check_units(const unitok_units *units)
{
    const char *problem = check_offsets(units->offsets, units->n);
    for (int64_t i = 0; i < units->n && !problem; i++) {
        const uint8_t *unit = units->data + units->offsets[i];
        if (!utf8_is_valid(unit, unit_bytes(unit, units->offsets[i + 1] - units->offsets[i])))
            problem = "a unit is invalid UTF-8";
    }
    return problem;
}

/* by_char has a count for each code point. Counts are added to by_char, so each thread needs its
 * own array, or the threads take turns with one array. */
int32_t unitok_units_count_chars(const unitok_units *units, uint64_t *by_char, unitok_error *error)
{
    const char *problem = check_units(units);
    if (problem) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, problem);
    for (int64_t i = 0; i < units->n; i++) {
        const uint8_t *unit = units->data + units->offsets[i];
        int64_t n_bytes = unit_bytes(unit, units->offsets[i + 1] - units->offsets[i]);
        int n;
        for (int64_t at = 0; at < n_bytes; at += n)
            by_char[char_at(unit + at, &n)] += units->counts[i];
    }
    return UNITOK_OK;
}

/* Copies n stretches of `data`, which may be in any order, end to end. The starts are prefetched,
 * because after a sort each is a cache miss. */
void unitok_gather(const uint8_t *data, const int64_t *starts, const int64_t *offsets, int64_t n,
                   uint8_t *ret)
{
    for (int64_t i = 0; i < n; i++) {
        if (i + 16 < n) PREFETCH(data + starts[i + 16]);
        if (offsets[i + 1] > offsets[i])
            memcpy(ret + offsets[i], data + starts[i], (size_t)(offsets[i + 1] - offsets[i]));
    }
}

/* Writes unit[0..n_bytes) to `out` with rare characters replaced; `out` has space for 3 * n_bytes,
 * because U+2585 has three bytes and may replace a character of one byte. Returns the length. */
static int64_t replace_rare(const uint8_t *unit, int64_t n_bytes, const uint8_t *keep, uint8_t *out)
{
    int64_t n_out = 0;
    int n;
    for (int64_t at = 0; at < n_bytes; at += n) {
        uint32_t c = char_at(unit + at, &n);
        if (keep && !keep[c]) {
            n_out += utf8_encode(CHAR_UNKNOWN, out + n_out);
        } else {
            memcpy(out + n_out, unit + at, (size_t)n);
            n_out += n;
        }
    }
    return n_out;
}

/* Counts the parts between characters that no piece can contain; returns 0 if allocation fails.
 * Parts of the same text that occur in several units are added up by the counter. */
static int count_parts(unitok_counter *counter, const uint8_t *unit, int64_t n_bytes,
                       uint64_t count)
{
    int64_t begin = 0;
    int n;
    for (int64_t at = 0; at < n_bytes; at += n) {
        if (!rules_exclude(char_at(unit + at, &n))) continue;
        if (at > begin && counter_add(counter, unit + begin, at - begin, count) < 0) return 0;
        begin = at + n;
    }
    return n_bytes == begin || counter_add(counter, unit + begin, n_bytes - begin, count) >= 0;
}

/* Replaces characters that the vocabulary will not contain with U+2585, which no piece contains.
 * This can make different units equal, so they are counted again:
 *
 *     UNITOK_FOLD_CUT      the unit is cut at such characters, and its parts are counted; the text after it is dropped
 *     UNITOK_FOLD_STRIP    the text after the unit is dropped; counts of copies (two marks) go to the next unit
 *     UNITOK_FOLD_WHOLE    the text after the unit is kept, and folded too */
int32_t unitok_units_fold(const unitok_units *units, const uint8_t *keep, int32_t fold,
                          unitok_counter *counter, unitok_error *error)
{
    const char *problem = check_units(units);
    if (problem) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, problem);
    int64_t longest = 0;
    for (int64_t i = 0; i < units->n; i++)
        if (units->offsets[i + 1] - units->offsets[i] > longest)
            longest = units->offsets[i + 1] - units->offsets[i];
    uint8_t *buffer = mem_alloc((size_t)(3 * longest + 8));
    if (!buffer) return fail_memory(error);
    int ok = 1;
    uint64_t copies = 0; /* the weight of copies, to be added to the next unit */
    for (int64_t i = 0; i < units->n && ok; i++) {
        if (units->counts[i] == 0) continue;
        const uint8_t *unit = units->data + units->offsets[i];
        int64_t n_all = units->offsets[i + 1] - units->offsets[i], n_unit = unit_bytes(unit, n_all);
        int64_t n_marks = mark_bytes(unit + n_unit, n_all - n_unit);
        /* The copies of a line come before the line itself, and belong to it. */
        if (fold == UNITOK_FOLD_STRIP && n_marks == 2) {
            copies += units->counts[i];
            continue;
        }
        int64_t n = replace_rare(unit, n_unit, keep, buffer);
        if (fold == UNITOK_FOLD_CUT) {
            ok = count_parts(counter, buffer, n, units->counts[i]);
            continue;
        }
        /* The unit is followed by marks, perhaps a NUL, and at most one character. */
        if (n_unit < n_all && fold == UNITOK_FOLD_WHOLE) {
            int64_t n_kept = n_unit + n_marks < n_all && unit[n_unit + n_marks] == 0 ? n_marks + 1
                                                                                     : n_marks;
            memcpy(buffer + n, unit + n_unit, (size_t)n_kept);
            n += n_kept;
            if (utf8_is_valid(unit + n_unit + n_kept, n_all - n_unit - n_kept))
                n += replace_rare(unit + n_unit + n_kept, n_all - n_unit - n_kept, keep,
                                  buffer + n);
        }
        ok = counter_add(counter, buffer, n, units->counts[i] + copies) >= 0;
        copies = 0;
    }
    mem_free(buffer);
    return ok ? UNITOK_OK : fail_memory(error);
}

/* Whether UNITOK_FOLD_CUT changes the unit. Most units do not change and can stay in place. */
static int is_folded(const uint8_t *unit, int64_t n_bytes, const uint8_t *keep)
{
    int n;
    for (int64_t at = 0; at < n_bytes; at += n) {
        uint32_t c = char_at(unit + at, &n);
        if (rules_exclude(c) || (keep && !keep[c])) return 1;
    }
    return 0;
}

/* Like unitok_units_fold with UNITOK_FOLD_CUT, but in place: changed units go to the counter, and
 * the others move up to close the gaps. So a sorted list stays sorted, and only the changed units
 * have to be sorted and merged again. */
int32_t unitok_units_fold_out(uint8_t *data, int64_t *offsets, uint64_t *counts, int64_t n_units,
                              const uint8_t *keep, unitok_counter *counter, int64_t *ret_n_left,
                              unitok_error *error)
{
    int64_t n = 0, begin = n_units ? offsets[0] : 0, end_before = begin;
    for (int64_t i = 0; i < n_units; i++) {
        /* The unit as it was before others were moved over it. */
        int64_t bounds[2] = {end_before, offsets[i + 1]}, n_bytes = bounds[1] - bounds[0];
        end_before = bounds[1]; /* offsets[i] may be overwritten by now */
        const unitok_units one = {data, bounds, &counts[i], 1};
        const char *problem = check_units(&one);
        if (problem) return fail(error, UNITOK_ERROR_ARGUMENT, i, -1, problem);
        if (counts[i] == 0 || n_bytes == 0) continue;
        if (unit_bytes(data + bounds[0], n_bytes) < n_bytes ||
            is_folded(data + bounds[0], n_bytes, keep)) {
            int32_t status = unitok_units_fold(&one, keep, UNITOK_FOLD_CUT, counter, error);
            if (status) return status;
            continue;
        }
        memmove(data + offsets[n], data + bounds[0], (size_t)n_bytes);
        counts[n] = counts[i];
        offsets[n + 1] = offsets[n] + n_bytes;
        n++;
    }
    *ret_n_left = n;
    return UNITOK_OK;
}

/* Compares two units by their bytes. A prefix of a unit comes before it. */
static int compare_units(const unitok_units *a, int64_t i, const unitok_units *b, int64_t k)
{
    int64_t n_a = a->offsets[i + 1] - a->offsets[i], n_b = b->offsets[k + 1] - b->offsets[k];
    int64_t n = n_a < n_b ? n_a : n_b;
    int order = n ? memcmp(a->data + a->offsets[i], b->data + b->offsets[k], (size_t)n) : 0;
    return order ? order : n_a < n_b ? -1 : n_a > n_b;
}

/* Merges two sorted lists. Equal units become one, with the sum of their counts. Returns the number
 * of units; the arrays have space for the units of both lists. */
int64_t unitok_units_merge(const unitok_units *a, const unitok_units *b, uint8_t *data,
                           int64_t *offsets, uint64_t *counts)
{
    int64_t n = 0;
    offsets[0] = 0;
    for (int64_t i = 0, k = 0; i < a->n || k < b->n; n++) {
        /* Below 0: the next unit is from a; above 0: from b; 0: the two units are equal. */
        int order = i == a->n ? 1 : k == b->n ? -1 : compare_units(a, i, b, k);
        const unitok_units *from = order <= 0 ? a : b;
        int64_t at = order <= 0 ? i : k, n_bytes = from->offsets[at + 1] - from->offsets[at];
        counts[n] = (order <= 0 ? a->counts[i] : 0) + (order >= 0 ? b->counts[k] : 0);
        if (n_bytes) memcpy(data + offsets[n], from->data + from->offsets[at], (size_t)n_bytes);
        offsets[n + 1] = offsets[n] + n_bytes;
        i += order <= 0;
        k += order >= 0;
    }
    return n;
}

/* Computes the first scores of the pieces, in float32 as in sentencepiece. */
void unitok_log_shares(const uint64_t *counts, int64_t n, uint64_t sum, float *shares)
{
    float log_sum = logf((float)sum);
    for (int64_t i = 0; i < n; i++) shares[i] = logf((float)counts[i]) - log_sum;
}
