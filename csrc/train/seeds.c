/* seeds.c - lays out the units for the search for seeds, and adds frequent units as seeds: see
 * seeds.h
 *
 * seed_finder.c finds the strings that repeat. Then frequent units that are not among these strings
 * are added: the leaves of the tree of repeats. A unit of more than SHORT_CHARS characters must
 * occur more often than a shorter one, because otherwise the model would memorize strings that only
 * a few texts repeat; a shorter unit is nearly always a word.
 *
 * If is_compatible, the repeats are those that sentencepiece 0.2.3 finds by sorting complete
 * sentences with a NUL after each. Units must carry the text that follows them
 * (UNITOK_SEGMENT_FOLLOWERS), which is added to their own text, so that repeats end at the same
 * places as in sentencepiece. A piece before a NUL is found a second time, as "piece NUL", and
 * counts twice, as in sentencepiece. There are no leaves. */

#include "train/seeds.h"

#include "ground/alloc.h"
#include "ground/error.h"
#include "train/segment.h"

/* The mark of a space counts: "\xE2\x96\x81of", or a Chinese word of three characters. */
#define SHORT_CHARS 3
#define PART_SUFFIXES                                                                              \
    (1 << 18) /* at most this many suffixes per part, unless one bucket has more */

/* ---------------------------------------------------------------------------------- Layout ---- */

/* Units come with the largest counts first, so a position determines the count of its unit
 * (levels.h). Follower marks are left out, and the text that follows a unit becomes part of its
 * text. The 0xFF at the end stops every comparison, and the padding lets readers load eight bytes
 * anywhere. */
static int lay_out(unitok_seeds *s, const unitok_units *units)
{
    int64_t *order = levels_order(units->counts, units->n);
    int ok = order != NULL;
    for (int64_t i = 0; i < units->n && ok; i++) {
        const uint8_t *unit = units->data + units->offsets[order[i]];
        int64_t n_bytes = units->offsets[order[i] + 1] - units->offsets[order[i]];
        ok = levels_open(&s->levels, units->counts[order[i]]);
        if (!ok) break;
        for (int64_t k = 0; k < n_bytes; k++)
            if (unit[k] != FOLLOWER_MARK) s->text[s->n++] = unit[k];
        s->text[s->n++] = 0xFF;
        s->levels.end[s->levels.n - 1] = s->n;
    }
    if (ok) memset(s->text + s->n, 0xFF, TEXT_PADDING);
    mem_free(order);
    return ok;
}

/* Positions have 32 bits, which halves the memory of the suffixes but limits the text to 4 GiB. It
 * is the text of distinct units, which is far smaller than the corpus. */
int32_t unitok_seeds_new(const unitok_rules *rules, const unitok_units *units,
                         int32_t is_compatible, unitok_seeds **ret, unitok_error *error)
{
    const char *problem = check_units(units);
    /* The text that follows a unit is laid out too, so it must also be valid. */
    for (int64_t i = 0; i < units->n && !problem; i++) {
        const uint8_t *unit = units->data + units->offsets[i];
        int64_t n_all = units->offsets[i + 1] - units->offsets[i], n_unit = unit_bytes(unit, n_all);
        int64_t n_marked = n_unit + mark_bytes(unit + n_unit, n_all - n_unit);
        if (!utf8_is_valid(unit + n_marked, n_all - n_marked))
            problem = "the text that follows a unit is invalid UTF-8";
    }
    if (problem) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, problem);
    int64_t n = units->offsets[units->n] - units->offsets[0] + units->n;
    if (n > UINT32_MAX)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1,
                    "the distinct units have more than 4 GiB");
    unitok_seeds *s = mem_zalloc(1, sizeof *s);
    if (!s) return fail_memory(error);
    s->rules = rules;
    s->is_compatible = is_compatible;
    s->text = mem_alloc((size_t)n + TEXT_PADDING);
    s->begins = mem_zalloc(BUCKETS + 1, sizeof *s->begins);
    s->parts = mem_alloc((BUCKETS + 1) * sizeof *s->parts);
    if (s->text && s->begins && s->parts && lay_out(s, units)) {
        *ret = s;
        return UNITOK_OK;
    }
    unitok_seeds_free(s);
    return fail_memory(error);
}

void unitok_seeds_free(unitok_seeds *s)
{
    if (!s) return;
    mem_free(s->text);
    levels_free(&s->levels);
    mem_free(s->places);
    mem_free(s->begins);
    mem_free(s->parts);
    mem_free(s);
}

/* --------------------------------------------------------------------------------- Buckets ---- */

/* The bucket of the suffix at `at`; -1 if it begins no seed. A suffix whose second character is a
 * border, or that begins inside a character, begins no seed, and neither does one that begins with
 * the mark of an unknown character. */
INLINE int bucket_of(const uint8_t *text, int64_t at)
{
    const uint8_t *c = text + at;
    if (c[0] < 0x80)
        return rules_exclude(c[0]) || c[1] == 0xFF || rules_exclude(c[1]) ? -1 : c[0] << 8 | c[1];
    if (c[0] < 0xC0 || c[0] == 0xFF) return -1;
    int n_bytes = char_bytes(c[0]);
    if (c[n_bytes] == 0xFF || rules_exclude(c[n_bytes])) return -1;
    uint32_t code_point = utf8_code_point(c, n_bytes);
    if (n_bytes == 2) return BUCKETS_2 + (int)code_point;
    if (n_bytes == 4) return BUCKETS_4 + ((c[0] & 7) << 6 | (c[1] & 63));
    if (code_point == CHAR_SPACE) return BUCKETS_SPACE + c[3];
    return code_point == CHAR_UNKNOWN ? -1 : BUCKETS_3 + (int)code_point;
}

/* Counts the suffixes of bucket k in begins[k + 1]. The shift by one lets open_buckets replace the
 * counts by starts in place. */
static void measure(unitok_seeds *s, int64_t end)
{
    for (; s->at < end; s->at++) {
        int bucket = bucket_of(s->text, s->at);
        if (bucket >= 0) s->begins[bucket + 1]++;
    }
}

/* Turns the counts into starts, and forms the parts. A part is a run of buckets with at most
 * PART_SUFFIXES suffixes, so that threads share the work evenly; a bucket is never divided. */
static int open_buckets(unitok_seeds *s)
{
    uint32_t n = 0;
    for (int k = 0; k < BUCKETS; k++) {
        uint32_t size = s->begins[k + 1];
        if (s->n_parts == 0 || n - s->begins[s->parts[s->n_parts - 1]] + size > PART_SUFFIXES)
            s->parts[s->n_parts++] = k;
        s->begins[k] = n;
        n += size;
    }
    s->begins[BUCKETS] = n;
    s->parts[s->n_parts] = BUCKETS;
    s->places = mem_alloc(((size_t)n + 1) * sizeof *s->places);
    return s->places != NULL;
}

/* Writes the suffixes into their buckets. begins[k] advances to the start of bucket k + 1.
 * Positions are written in ascending order, so each bucket is in the order of the text. */
static void place(unitok_seeds *s, int64_t end)
{
    for (; s->at < end; s->at++) {
        int bucket = bucket_of(s->text, s->at);
        if (bucket >= 0) s->places[s->begins[bucket]++] = (uint32_t)s->at;
    }
}

/* Each of the two passes is half of the work. The result is 1 only when the buckets are complete.
 */
static double progress(const unitok_seeds *s)
{
    if (s->phase == SEEDS_READY) return 1;
    return (s->n ? 0.5 * (double)s->at / (double)s->n : 0) + (s->phase == SEEDS_PLACE ? 0.499 : 0);
}

/* Two passes over the text: count, then place. A call visits at most `budget` positions. After the
 * second pass, begins[k] is the end of bucket k, so all entries are moved up by one. */
int32_t unitok_seeds_step(unitok_seeds *s, int64_t budget, double *ret_progress,
                          unitok_error *error)
{
    int64_t end = budget < s->n - s->at ? s->at + budget : s->n;
    if (s->phase == SEEDS_MEASURE) measure(s, end);
    else if (s->phase == SEEDS_PLACE) place(s, end);
    if (s->phase != SEEDS_READY && s->at == s->n) {
        if (s->phase == SEEDS_MEASURE) {
            if (!open_buckets(s)) return fail_memory(error);
        } else {
            memmove(s->begins + 1, s->begins, BUCKETS * sizeof *s->begins);
            s->begins[0] = 0;
        }
        s->at = 0;
        s->phase++;
    }
    *ret_progress = progress(s);
    return UNITOK_OK;
}

/* 0 before the buckets are complete. */
int64_t unitok_seeds_parts(const unitok_seeds *s)
{
    return s->phase == SEEDS_READY ? s->n_parts : 0;
}

/* ---------------------------------------------------------------------------------- Leaves ---- */

/* A seed ends where a character ends and has at least two characters. The length in bytes is tested
 * first, because the rules read every character. */
int64_t seed_bytes(const unitok_seeds *s, int64_t begin, int64_t n_bytes)
{
    const uint8_t *piece = s->text + begin;
    if (is_continuation(piece[n_bytes])) return 0;
    while (n_bytes && piece[n_bytes - 1] == 0) n_bytes--;
    if (n_bytes <= char_bytes(piece[0]) || n_bytes > 4 * rules_max_symbols(s->rules)) return 0;
    return rules_allow(s->rules, piece, n_bytes) ? n_bytes : 0;
}

/* Each counter contains the seeds that one thread's finder has found. */
static int is_known(unitok_counter *const *counters, int64_t n_counters, const uint8_t *piece,
                    int64_t n_bytes)
{
    for (int64_t i = 0; i < n_counters; i++)
        if (counter_find(counters[i], piece, n_bytes) >= 0) return 1;
    return 0;
}

/* Adds a unit that is not a seed yet, or as much of it as a piece can hold; returns 0 if allocation
 * fails. A long unit is shortened from the end until it can be a piece: the rest still occurs at
 * least as often as the unit. */
static int add_leaf(const unitok_seeds *s, int64_t begin, int64_t end, uint64_t min_leaf,
                    unitok_counter *const *counters, int64_t n_counters)
{
    uint64_t weight = levels_count(&s->levels, begin);
    int64_t n_chars = 0, n_bytes = 0, at = begin;
    if (weight < 2) return 1;
    /* A rarer unit is a leaf only if it is short. */
    if (weight < min_leaf) {
        while (at < end && n_chars <= SHORT_CHARS) at += char_bytes(s->text[at]), n_chars++;
        if (n_chars > SHORT_CHARS) return 1;
        n_chars = 0;
    }
    while (begin + n_bytes < end && n_chars++ < s->rules->max_chars)
        n_bytes += char_bytes(s->text[begin + n_bytes]);
    /* Shorten by one character at a time. */
    for (; n_chars > 1 && n_bytes > 0; n_chars--) {
        if (seed_bytes(s, begin, n_bytes)) {
            const uint8_t *piece = s->text + begin;
            if (is_known(counters, n_counters, piece, n_bytes)) return 1;
            return counter_add(counters[0], piece, n_bytes, weight) >= 0;
        }
        do n_bytes--;
        while (n_bytes > 0 && is_continuation(s->text[begin + n_bytes]));
    }
    return 1;
}

/* Visits the units, which end at an 0xFF. The leaves are added to the first of the counters, and
 * looked up in all of them. */
int32_t unitok_seeds_leaves(unitok_seeds *s, uint64_t min_leaf, int64_t budget,
                            unitok_counter *const *counters, int64_t n_counters,
                            int32_t *ret_is_done, unitok_error *error)
{
    while (s->leaf_at < s->n && budget > 0) {
        const uint8_t *end = memchr(s->text + s->leaf_at, 0xFF, (size_t)(s->n - s->leaf_at));
        int64_t next = end - s->text;
        if (next > s->leaf_at && !add_leaf(s, s->leaf_at, next, min_leaf, counters, n_counters))
            return fail_memory(error);
        budget -= next + 1 - s->leaf_at;
        s->leaf_at = next + 1;
    }
    *ret_is_done = s->leaf_at >= s->n;
    return UNITOK_OK;
}
