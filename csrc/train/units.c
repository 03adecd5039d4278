/* units.c - the characters of counted units, and their replacement where they are too rare */

#include <math.h>

#include "ground/alloc.h"
#include "ground/error.h"
#include "ground/packed.h"
#include "train/counter.h"
#include "train/rules.h"
#include "train/segment.h"

const char *check_units(const uint8_t *data, const int64_t *offsets, int64_t n_units)
{
    const char *problem = check_offsets(offsets, n_units);
    for (int64_t i = 0; i < n_units && !problem; i++) {
        const uint8_t *unit = data + offsets[i];
        if (!utf8_is_valid(unit, unit_bytes(unit, offsets[i + 1] - offsets[i]))) problem = "a unit is invalid UTF-8";
    }
    return problem;
}

int32_t unitok_units_count_chars(const uint8_t *data, const int64_t *offsets, const uint64_t *counts, int64_t n_units,
                                 uint64_t *by_char, unitok_error *error)
{
    const char *problem = check_units(data, offsets, n_units);
    if (problem) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, problem);
    for (int64_t i = 0; i < n_units; i++) {
        const uint8_t *unit = data + offsets[i];
        int64_t n_bytes = unit_bytes(unit, offsets[i + 1] - offsets[i]);
        int n;
        for (int64_t at = 0; at < n_bytes; at += n) by_char[char_at(unit + at, &n)] += counts[i];
    }
    return UNITOK_OK;
}

void unitok_gather(const uint8_t *data, const int64_t *starts, const int64_t *offsets, int64_t n, uint8_t *ret)
{
    for (int64_t i = 0; i < n; i++) {
        if (i + 16 < n) PREFETCH(data + starts[i + 16]);
        if (offsets[i + 1] > offsets[i]) memcpy(ret + offsets[i], data + starts[i], (size_t)(offsets[i + 1] - offsets[i]));
    }
}

/* unit[0..n_bytes) with rare characters replaced, in out, which has room for three bytes a character. */
static int64_t replace_rare(const uint8_t *unit, int64_t n_bytes, const uint8_t *keep, uint8_t *out)
{
    int64_t n_out = 0;
    int n;
    for (int64_t at = 0; at < n_bytes; at += n) {
        uint32_t c = char_at(unit + at, &n);
        if (keep && !keep[c]) {
            n_out += char_put(CHAR_UNKNOWN, out + n_out);
        } else {
            memcpy(out + n_out, unit + at, (size_t)n);
            n_out += n;
        }
    }
    return n_out;
}

/* Counts what lies between the characters that no piece can hold. */
static int count_parts(unitok_counter *counter, const uint8_t *unit, int64_t n_bytes, uint64_t count)
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

int32_t unitok_units_fold(const uint8_t *data, const int64_t *offsets, const uint64_t *counts, int64_t n_units,
                          const uint8_t *keep, int32_t fold, unitok_counter *counter, unitok_error *error)
{
    const char *problem = check_units(data, offsets, n_units);
    if (problem) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, problem);
    int64_t longest = 0;
    for (int64_t i = 0; i < n_units; i++)
        if (offsets[i + 1] - offsets[i] > longest) longest = offsets[i + 1] - offsets[i];
    uint8_t *buffer = mem_alloc((size_t)(3 * longest + 8));
    if (!buffer) return fail_memory(error);
    int ok = 1;
    for (int64_t i = 0; i < n_units && ok; i++) {
        if (counts[i] == 0) continue;
        const uint8_t *unit = data + offsets[i];
        int64_t n_all = offsets[i + 1] - offsets[i], n_unit = unit_bytes(unit, n_all);
        int64_t n = replace_rare(unit, n_unit, keep, buffer);
        if (fold == UNITOK_FOLD_CUT) {
            ok = count_parts(counter, buffer, n, counts[i]);
            continue;
        }
        if (n_unit < n_all && fold == UNITOK_FOLD_WHOLE) { /* the mark, maybe a NUL, and at most one character */
            int64_t n_kept = n_unit + 1 < n_all && unit[n_unit + 1] == 0 ? 2 : 1;
            memcpy(buffer + n, unit + n_unit, (size_t)n_kept);
            n += n_kept;
            if (utf8_is_valid(unit + n_unit + n_kept, n_all - n_unit - n_kept))
                n += replace_rare(unit + n_unit + n_kept, n_all - n_unit - n_kept, keep, buffer + n);
        }
        ok = counter_add(counter, buffer, n, counts[i]) >= 0;
    }
    mem_free(buffer);
    return ok ? UNITOK_OK : fail_memory(error);
}

void unitok_log_shares(const uint64_t *counts, int64_t n, uint64_t sum, float *shares)
{
    float log_sum = logf((float)sum);
    for (int64_t i = 0; i < n; i++) shares[i] = logf((float)counts[i]) - log_sum;
}
