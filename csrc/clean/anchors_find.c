/* anchors_find.c - finds anchors, windows and documents
 *
 * Units are taken from a document one after the other; rings hold those that a window or a context
 * still needs:
 *
 *     prefixes[i]    hash of units 0..i-1, each with what separates it from the next unit
 *     lasts[i]       hash of unit i alone
 *     grams[i]       hash of the k-gram that begins with unit i
 *     bounds[i]      words only: where unit i begins and ends
 *
 * For each unit j that ends a window, the anchor is the last k-gram with the smallest hash. It stays the same until a
 * smaller one comes, or until it is no longer in the window. An anchor becomes a record when its
 * context is complete: n - 1 units later, or at the end of the document.
 */

#include "clean/anchors.h"
#include "ground/alloc.h"
#include "ground/error.h"
#include "ground/rng.h"

void unitok_anchors_free(unitok_anchors *anchors)
{
    if (!anchors) return;
    mem_free(anchors->powers);
    mem_free(anchors);
}

/* A random number below the prime, but not one of the small ones. */
static uint64_t random_factor(uint64_t seed, uint64_t n) { return (rng_key(seed, n) >> 4) + 1024; }

int32_t unitok_anchors_new(const unitok_word_rules *rules, int64_t n_units, uint64_t seed,
                           unitok_anchors **ret, unitok_error *error)
{
    *ret = NULL;
    if (n_units < 1 || n_units > UNITOK_ANCHORS_MAX_UNITS)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "the size of windows is out of range");
    unitok_anchors *anchors = mem_zalloc(1, sizeof *anchors);
    if (!anchors) return fail_memory(error);
    anchors->rules = rules;
    anchors->n = n_units;
    anchors->k = n_units / 2 + 1;
    anchors->before = (n_units - anchors->k + 1) / 2;
    anchors->factor = random_factor(seed, 0);
    anchors->byte_factor = random_factor(seed, 1);
    for (uint64_t byte = 0; byte < 256; byte++)
        anchors->bytes[byte] = random_factor(seed, byte + 2);
    anchors->powers = mem_alloc((size_t)(2 * n_units + 1) * sizeof *anchors->powers);
    if (!anchors->powers) {
        unitok_anchors_free(anchors);
        return fail_memory(error);
    }
    anchors->powers[0] = 1;
    for (int64_t i = 1; i <= 2 * n_units; i++)
        anchors->powers[i] = string_table_multiply_add(anchors->powers[i - 1], anchors->factor, 0);
    *ret = anchors;
    return UNITOK_OK;
}

/* ----------------------------------------------------------------------------------- Units ---- */

typedef struct bounds {
    int64_t begin;
    int64_t end;
} bounds;

typedef struct scan {
    const unitok_anchors *anchors;
    const uint8_t *text; /* of the document */
    int64_t n_bytes;
    int64_t at; /* its position */
    int64_t mask;
    uint64_t *prefixes, *lasts, *grams;
    bounds *bounds;
    int64_t *waiting; /* anchors whose context is not complete: a ring like the others */
    int64_t n_waited, n_done;
    const int64_t *marks;
    int64_t n_marks;
    unitok_anchor *ret;
    int64_t capacity, n;
} scan;

static int new_scan(scan *s)
{
    int64_t n_ring = 4;
    while (n_ring < 2 * s->anchors->n + 2) n_ring *= 2;
    size_t n_bytes = (size_t)n_ring;
    s->mask = n_ring - 1;
    s->prefixes = mem_alloc(n_bytes * sizeof *s->prefixes);
    s->lasts = mem_alloc(n_bytes * sizeof *s->lasts);
    s->grams = mem_alloc(n_bytes * sizeof *s->grams);
    s->bounds = mem_alloc(n_bytes * sizeof *s->bounds);
    s->waiting = mem_alloc(n_bytes * sizeof *s->waiting);
    return s->prefixes && s->lasts && s->grams && s->bounds && s->waiting;
}

static void free_scan(scan *s)
{
    mem_free(s->prefixes);
    mem_free(s->lasts);
    mem_free(s->grams);
    mem_free(s->bounds);
    mem_free(s->waiting);
}

static uint64_t hash_bytes(const unitok_anchors *anchors, const uint8_t *text, int64_t n_bytes)
{
    uint64_t hash = (uint64_t)n_bytes % STRING_TABLE_PRIME;
    for (int64_t i = 0; i < n_bytes; i++)
        hash = string_table_multiply_add(hash, anchors->byte_factor, anchors->bytes[text[i]]);
    return hash;
}

INLINE int64_t unit_begin(int is_words, const scan *s, int64_t i)
{
    return is_words ? s->bounds[i & s->mask].begin : i;
}

INLINE int64_t unit_end(int is_words, const scan *s, int64_t i)
{
    return is_words ? s->bounds[i & s->mask].end : i + 1;
}

/* The hash of units i..i+n-1, n >= 1, without what follows the last of them. */
INLINE uint64_t hash_units(int is_words, const scan *s, int64_t i, int64_t n)
{
    uint64_t before = s->prefixes[i & s->mask];
    if (!is_words)
        return string_table_part_hash(before, s->prefixes[(i + n) & s->mask],
                                      s->anchors->powers[n]);
    uint64_t part = string_table_part_hash(before, s->prefixes[(i + n - 1) & s->mask],
                                           s->anchors->powers[n - 1]);
    return string_table_multiply_add(part, s->anchors->factor, s->lasts[(i + n - 1) & s->mask]);
}

/* Takes the next unit, number j, from the document; returns 0 at its end. */
INLINE int take_unit(int is_words, scan *s, int64_t j)
{
    const unitok_anchors *anchors = s->anchors;
    if (!is_words) {
        if (j == s->n_bytes) return 0;
        s->prefixes[(j + 1) & s->mask] = string_table_multiply_add(
            s->prefixes[j & s->mask], anchors->factor, anchors->bytes[s->text[j]]);
        return 1;
    }
    word next = {0, 0, 0};
    if (j) next.end = s->bounds[(j - 1) & s->mask].end;
    if (!word_next(anchors->rules, s->text, s->n_bytes, next.end, &next)) return 0;
    if (j) {
        int64_t begin = s->bounds[(j - 1) & s->mask].begin;
        s->prefixes[j & s->mask] = string_table_multiply_add(
            s->prefixes[(j - 1) & s->mask], anchors->factor,
            hash_bytes(anchors, s->text + begin, next.begin - begin));
    }
    s->bounds[j & s->mask] = (bounds){next.begin, next.end};
    s->lasts[j & s->mask] = hash_bytes(anchors, s->text + next.begin, next.end - next.begin);
    return 1;
}

/* ---------------------------------------------------------------------------------- Records ---- */

static void put(scan *s, uint64_t key, uint64_t value, uint64_t place)
{
    if (s->n < s->capacity) s->ret[s->n] = (unitok_anchor){key, value, place};
    s->n++;
}

INLINE uint64_t mixed(uint64_t hash)
{
    hash *= RNG_GAMMA;
    return hash ^ hash >> 32;
}

/* 16 bits that are not all 0. */
INLINE uint64_t side(uint64_t hash) { return 1 + (mixed(hash) >> 8) % 65535; }

/* The value of text[begin..end-1]. Where hashes of all bytes collide, the ends still differ. */
static uint64_t value_of(const uint8_t *text, int64_t begin, int64_t end)
{
    uint64_t first = first_eight(text + begin, end - begin), last = 0;
    if (end - begin >= 8) last = load_u64(text + end - 8);
    return rng_key(first, last) >> 32 << 32 | (uint32_t)(end - begin);
}

/* Puts the anchor that begins with unit i, of n_units units so far, or of the document. */
INLINE void put_anchor(int is_words, scan *s, int64_t i, int64_t n_units)
{
    const unitok_anchors *anchors = s->anchors;
    int64_t n = anchors->n, k = anchors->k, before = anchors->before;
    int64_t left = i < n - k ? i : n - k, right = n_units - i < n ? n_units - i : n;
    int64_t n_after = n - k + 1 - before;
    uint64_t key = s->grams[i & s->mask] << 3,
             place = (uint64_t)(s->at + unit_begin(is_words, s, i));
    uint64_t sides = (uint64_t)(left * 2 * n + right);
    uint64_t value = string_table_multiply_add(hash_units(is_words, s, i - left, left + right),
                                               anchors->factor, sides);
    uint64_t before_hash = 0, after_hash = 0;
    if (i >= before) before_hash = side(before ? hash_units(is_words, s, i - before, before) : 0);
    if (before && i + k + n_after <= n_units)
        after_hash = side(hash_units(is_words, s, i + k, n_after));
    put(s, key >> ANCHOR_SIDE_BITS << ANCHOR_SIDE_BITS | before_hash, value,
        after_hash << ANCHOR_PLACE_BITS | place);
}

/* Puts the window of units i..i+n-1, whose anchor is `anchor`, if that is marked. */
INLINE void put_window(int is_words, scan *s, int64_t i, int64_t anchor)
{
    int64_t position = s->at + unit_begin(is_words, s, anchor), n = s->anchors->n;
    while (s->n_marks && *s->marks < position) {
        s->marks++;
        s->n_marks--;
    }
    if (!s->n_marks || *s->marks != position) return;
    int64_t begin = unit_begin(is_words, s, i), end = unit_end(is_words, s, i + n - 1);
    if (end - begin > UINT32_MAX) return;
    put(s, hash_units(is_words, s, i, n) << 3, value_of(s->text, begin, end),
        (uint64_t)(s->at + begin));
}

/* The last of the smallest k-grams from i on, of which `last` is the last one. */
INLINE int64_t smallest_gram(const scan *s, int64_t i, int64_t last)
{
    int64_t best = i;
    for (i++; i <= last; i++)
        if (s->grams[i & s->mask] <= s->grams[best & s->mask]) best = i;
    return best;
}

INLINE void scan_document(int is_words, scan *s, int32_t kind)
{
    int64_t n = s->anchors->n, k = s->anchors->k, best = -1, j = 0;
    s->prefixes[0] = 0;
    s->n_waited = s->n_done = 0;
    for (; take_unit(is_words, s, j); j++) {
        int64_t newest = j - k + 1, first = j - n + 1, was = best;
        if (newest < 0) continue;
        s->grams[newest & s->mask] = hash_units(is_words, s, newest, k);
        if (first < 0) continue;
        if (best < first) best = smallest_gram(s, first, newest);
        else if (s->grams[newest & s->mask] <= s->grams[best & s->mask]) best = newest;
        if (kind == UNITOK_ANCHOR_WINDOWS) {
            put_window(is_words, s, first, best);
            continue;
        }
        if (best != was) s->waiting[s->n_waited++ & s->mask] = best;
        while (s->n_done < s->n_waited && s->waiting[s->n_done & s->mask] <= first)
            put_anchor(is_words, s, s->waiting[s->n_done++ & s->mask], j + 1);
    }
    while (s->n_done < s->n_waited) put_anchor(is_words, s, s->waiting[s->n_done++ & s->mask], j);
}

static void put_document(scan *s)
{
    if (s->n_bytes == 0) return;
    put(s, hash_bytes(s->anchors, s->text, s->n_bytes) << 3, value_of(s->text, 0, s->n_bytes),
        (uint64_t)s->at);
}

int32_t unitok_anchors_find(const unitok_anchors *anchors, int32_t kind, const uint8_t *data,
                            const int64_t *offsets, int64_t n_documents, int64_t at,
                            const int64_t *marks, int64_t n_marks, unitok_anchor *ret,
                            int64_t capacity, int64_t *ret_n, unitok_error *error)
{
    scan s = {
        .anchors = anchors, .marks = marks, .n_marks = n_marks, .ret = ret, .capacity = capacity};
    int32_t status = new_scan(&s) ? UNITOK_OK : fail_memory(error);
    for (int64_t d = 0; d < n_documents && status == UNITOK_OK; d++) {
        s.text = data + offsets[d];
        s.n_bytes = offsets[d + 1] - offsets[d];
        s.at = at + offsets[d] - offsets[0];
        if (kind == UNITOK_ANCHOR_DOCUMENTS) put_document(&s);
        else if (anchors->rules) scan_document(1, &s, kind);
        else scan_document(0, &s, kind);
    }
    free_scan(&s);
    *ret_n = s.n;
    return status;
}
