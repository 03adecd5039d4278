/* grams_build.c - collects the n-grams of some items
 *
 *     1. Number the units: each distinct word gets a number, and its folded form is kept.
 *     2. Find the lengths of n-grams: n, and the lengths of shorter items.
 *     3. Put every n-gram into the slots; an n-gram that is already there is a repeat.
 *
 * Equal words of items have equal ids, so memcmp can compare two n-grams of items. The folded forms
 * are needed to compare the words of documents with those of items:
 *
 *     words       t h e c a t s a t a o n i t          folded, without separators
 *     distinct    end 3, 6, 9, 10, 12, 14              word 1 is words[3..5]
 *     ids         0 1 2   3 1 2 4 5                    the units of all items, one after the other
 *     starts      0       3         8
 *
 * An n-gram is identified by the position in `ids` of its first occurrence, so slots contain no
 * copies of units. */

#include "clean/grams.h"
#include "ground/alloc.h"
#include "ground/error.h"
#include "ground/grow.h"

void unitok_grams_free(unitok_grams *grams)
{
    if (!grams) return;
    mem_free(grams->ids);
    mem_free(grams->distinct);
    mem_free(grams->words);
    mem_free(grams->slots);
    mem_free(grams->filter);
    mem_free(grams->repeats);
    mem_free(grams);
}

void unitok_grams_get_info(const unitok_grams *grams, unitok_grams_info *ret)
{
    ret->n_units = grams->n_units;
    ret->n_grams = grams->n_grams;
    ret->n_repeats = grams->n_repeats;
    ret->repeats = grams->repeats;
    ret->memory_bytes = grams->n_units_capacity * (int64_t)sizeof *grams->ids +
                        grams->n_distinct_capacity * (int64_t)sizeof *grams->distinct +
                        grams->n_word_bytes_capacity + (int64_t)grams->n_slots * 8 +
                        (INT64_C(8) << grams->filter_bits) + grams->n_repeats_capacity * 8;
}

/* --------------------------------------------------------------------------------- Numbers ---- */

/* Maps hashes to numbers of words while words are collected; slots hold a number + 1, and 0 is a
 * free slot. Open addressing with linear probing, at most half full. The table is freed when all
 * items have been added, because documents are searched by n-grams, never by single words. */
typedef struct numbering {
    uint32_t *slots;
    int n_bits;
} numbering;

static void numbering_put(numbering *numbers, const unitok_grams *grams, uint32_t number)
{
    uint64_t mask = (UINT64_C(1) << numbers->n_bits) - 1;
    uint64_t at = grams->distinct[number].hash & mask;
    while (numbers->slots[at]) at = (at + 1) & mask;
    numbers->slots[at] = number + 1;
}

/* Ensures capacity for one more word, with at most half of the slots in use. */
static int numbering_grow(numbering *numbers, const unitok_grams *grams)
{
    if (numbers->slots && grams->n_distinct < INT64_C(1) << (numbers->n_bits - 1)) return 1;
    int n_bits = numbers->slots ? numbers->n_bits + 1 : 10;
    uint32_t *slots = mem_zalloc((size_t)1 << n_bits, sizeof *slots);
    if (!slots) return 0;
    mem_free(numbers->slots);
    numbers->slots = slots;
    numbers->n_bits = n_bits;
    for (int64_t k = 0; k < grams->n_distinct; k++) numbering_put(numbers, grams, (uint32_t)k);
    return 1;
}

static int64_t word_begin(const unitok_grams *grams, uint32_t number)
{
    return number ? grams->distinct[number - 1].end : 0;
}

/* Appends a word to the distinct words. */
static int add_distinct(unitok_grams *grams, const uint8_t *text, const word *w)
{
    if (!grow(&grams->distinct, grams->n_distinct, &grams->n_distinct_capacity,
              sizeof *grams->distinct))
        return 0;
    int64_t n_bytes;
    for (int64_t i = w->begin; i < w->end; i += n_bytes) {
        uint32_t entry = word_entry_at(grams->rules, text, w->end, i, &n_bytes);
        if (!grow(&grams->words, grams->n_word_bytes + WORD_FOLD_BYTES,
                  &grams->n_word_bytes_capacity, 1))
            return 0;
        grams->n_word_bytes += word_fold_encode(grams->rules, entry,
                                                grams->words + grams->n_word_bytes);
    }
    grams->distinct[grams->n_distinct].hash = w->hash;
    grams->distinct[grams->n_distinct++].end = grams->n_word_bytes;
    return 1;
}

/* Returns the number of a word, and adds the word if it is new; -1 if allocation fails. The table
 * grows before the search, so a free slot always ends it. */
static int64_t number_of_word(unitok_grams *grams, numbering *numbers, const uint8_t *text,
                              const word *w)
{
    if (!numbering_grow(numbers, grams)) return -1;
    uint64_t mask = (UINT64_C(1) << numbers->n_bits) - 1;
    for (uint64_t at = w->hash & mask; numbers->slots[at]; at = (at + 1) & mask) {
        uint32_t number = numbers->slots[at] - 1;
        const gram_word *known = &grams->distinct[number];
        int64_t begin = word_begin(grams, number);
        if (known->hash == w->hash &&
            word_is(grams->rules, text, w->begin, w->end, grams->words + begin, known->end - begin))
            return number;
    }
    if (!add_distinct(grams, text, w)) return -1;
    numbering_put(numbers, grams, (uint32_t)(grams->n_distinct - 1));
    return grams->n_distinct - 1;
}

static int add_unit(unitok_grams *grams, uint32_t id)
{
    if (!grow(&grams->ids, grams->n_units, &grams->n_units_capacity, sizeof *grams->ids)) return 0;
    grams->ids[grams->n_units++] = id;
    return 1;
}

/* Appends the words of an item; returns 0 if allocation fails. */
static int add_words(unitok_grams *grams, numbering *numbers, const uint8_t *text, int64_t n)
{
    word w = {0, 0, 0};
    while (word_next(grams->rules, text, n, w.end, &w)) {
        int64_t number = number_of_word(grams, numbers, text, &w);
        if (number < 0 || !add_unit(grams, (uint32_t)number)) return 0;
    }
    return 1;
}

/* ----------------------------------------------------------------------------------- Slots ---- */

/* Must be the value that grams_find.c uses for this unit, or no n-gram would ever be found. */
static uint64_t unit_hash(const unitok_grams *grams, int64_t at)
{
    return grams->kind == GRAM_WORDS ? grams->distinct[grams->ids[at]].hash
                                     : gram_number_hash(grams, grams->ids[at]);
}

/* Returns the number of a length, and adds the length if it is new. check_sizes() limits the
 * lengths to UNITOK_GRAMS_MAX_LENGTHS, so a linear search is enough. */
static int64_t length_of(unitok_grams *grams, int64_t n_units)
{
    int64_t k = 0;
    while (k < grams->n_lengths && grams->lengths[k].n_units != n_units) k++;
    if (k < grams->n_lengths) return k;
    grams->lengths[k].n_units = n_units;
    grams->lengths[k].power = 1;
    for (int64_t i = 0; i < n_units; i++) grams->lengths[k].power *= grams->factor;
    grams->n_lengths++;
    return k;
}

/* Puts the n-gram at `begin` into a slot, or adds it to the repeats; returns 0 if allocation fails.
 * If the head of a slot is equal, its n-gram has the same length, so memcmp stays within the ids.
 * There are more slots than n-grams, so the search always ends. */
static int add_gram(unitok_grams *grams, int64_t begin, int64_t length, uint64_t hash)
{
    uint64_t key = gram_key(hash, length), head = gram_slot_head(key, length);
    size_t n_bytes = (size_t)grams->lengths[length].n_units * sizeof *grams->ids;
    uint64_t at = gram_slot_of(grams, key), slot;
    while ((slot = grams->slots[at]) != GRAM_FREE) {
        uint32_t first = (uint32_t)slot;
        if ((slot ^ head) >> 32 == 0 && !memcmp(grams->ids + first, grams->ids + begin, n_bytes)) {
            if (!grow(&grams->repeats, 2 * grams->n_repeats + 1, &grams->n_repeats_capacity,
                      sizeof *grams->repeats))
                return 0;
            grams->repeats[2 * grams->n_repeats] = first;
            grams->repeats[2 * grams->n_repeats++ + 1] = (uint32_t)begin;
            return 1;
        }
        if (++at == grams->n_slots) at = 0;
    }
    grams->slots[at] = head | (uint64_t)begin;
    *gram_filter_word(grams, key) |= gram_filter_mask(key);
    grams->n_grams++;
    return 1;
}

/* Adds all n-grams of n_units units of the item that has units begin..end-1.
 *
 * After each step, `hash` is the hash of the last n_units units up to i, or of all units of the
 * item if there are fewer: the hash of the unit that leaves the window has been multiplied by F
 * n_units times, so this hash times `power` is subtracted. */
static int add_grams_of(unitok_grams *grams, int64_t begin, int64_t end, int64_t n_units)
{
    int64_t length = length_of(grams, n_units);
    uint64_t hash = 0, power = grams->lengths[length].power;
    for (int64_t i = begin; i < end; i++) {
        hash = gram_hash_step(grams, hash, unit_hash(grams, i));
        if (i - n_units >= begin) hash -= power * unit_hash(grams, i - n_units);
        if (i - n_units + 1 >= begin && !add_gram(grams, i - n_units + 1, length, hash)) return 0;
    }
    return 1;
}

/* The length of the n-grams of an item with n_units units; 0 if the item is too short for any. */
static int64_t size_of_gram(int64_t n_units, int64_t n, int64_t min_units)
{
    return n_units >= n ? n : n_units >= min_units ? n_units : 0;
}

/* Allocates 5 slots for 4 n-grams, and 8 to 16 bits of the filter for each. Repeats take no slot,
 * so the load is at most 80 %. Searches that fail take many steps at such a load, but the filter
 * rejects nearly all of them. */
static int allocate_slots(unitok_grams *grams, int64_t n_grams)
{
    grams->n_slots = (uint64_t)(n_grams + n_grams / 4 + 64);
    grams->filter_bits = 6;
    while ((INT64_C(8) << grams->filter_bits) < n_grams) grams->filter_bits++;
    grams->slots = mem_alloc((size_t)grams->n_slots * sizeof *grams->slots);
    grams->filter = mem_zalloc((size_t)1 << grams->filter_bits, sizeof *grams->filter);
    if (!grams->slots || !grams->filter) return 0;
    memset(grams->slots, 0xFF, (size_t)grams->n_slots * sizeof *grams->slots);
    return 1;
}

/* Two passes over the sizes of the items: the first counts the n-grams, so that the tables are
 * allocated once and never rehashed. */
static int build_slots(unitok_grams *grams, const int64_t *starts, int64_t n_items, int64_t n,
                       int64_t min_units)
{
    int64_t n_grams = 0;
    for (int64_t k = 0; k < n_items; k++) {
        int64_t n_units = starts[k + 1] - starts[k], size = size_of_gram(n_units, n, min_units);
        if (size) n_grams += n_units - size + 1;
    }
    if (!allocate_slots(grams, n_grams)) return 0;
    for (int64_t k = 0; k < n_items; k++) {
        int64_t size = size_of_gram(starts[k + 1] - starts[k], n, min_units);
        if (size && !add_grams_of(grams, starts[k], starts[k + 1], size)) return 0;
    }
    return 1;
}

/* ---------------------------------------------------------------------------------- Public ---- */

static int32_t check_sizes(int64_t n, int64_t min_units, unitok_error *error)
{
    if (min_units < 1 || min_units > n || n > UNITOK_GRAMS_MAX_UNITS)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "n or min_units is out of range");
    if (n - min_units >= UNITOK_GRAMS_MAX_LENGTHS)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1,
                    "n - min_units + 1 exceeds the maximum number of lengths");
    return UNITOK_OK;
}

static int32_t fail_units(unitok_error *error)
{
    return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "too many units");
}

/* Appends the units of all items, and records where each item starts. A unit has at least one byte,
 * so an item has at most as many units as bytes. The limit is checked before an item is read, which
 * keeps positions within 32 bits. */
static int32_t add_items(unitok_grams *grams, const uint8_t *data, const int64_t *offsets,
                         int64_t n_items, int64_t *starts, unitok_error *error)
{
    numbering numbers = {NULL, 0};
    int32_t status = UNITOK_OK;
    for (int64_t k = 0; k < n_items && status == UNITOK_OK; k++) {
        const uint8_t *text = data + offsets[k];
        int64_t n_bytes = offsets[k + 1] - offsets[k], ok = 1;
        starts[k] = grams->n_units;
        if (grams->n_units + n_bytes >= GRAM_MAX_UNITS_TOTAL) {
            status = fail_units(error);
        } else if (grams->kind == GRAM_WORDS) {
            ok = add_words(grams, &numbers, text, n_bytes);
        } else {
            for (int64_t i = 0; i < n_bytes && ok; i++) ok = add_unit(grams, text[i]);
        }
        if (!ok) status = fail_memory(error);
    }
    starts[n_items] = grams->n_units;
    mem_free(numbers.slots);
    return status;
}

static unitok_grams *new_grams(enum gram_kind kind, uint64_t seed)
{
    unitok_grams *grams = mem_zalloc(1, sizeof *grams);
    if (!grams) return NULL;
    grams->kind = kind;
    grams->seed = seed;
    grams->factor = rng_key(seed, UINT64_C(1) << 32) | 1; /* larger than any unit number */
    return grams;
}

int32_t unitok_grams_new(const unitok_word_rules *rules, const uint8_t *data,
                         const int64_t *offsets, int64_t n_items, int64_t n, int64_t min_units,
                         uint64_t seed, int64_t *starts, unitok_grams **ret, unitok_error *error)
{
    *ret = NULL;
    int32_t status = check_sizes(n, min_units, error);
    if (status != UNITOK_OK) return status;
    unitok_grams *grams = new_grams(rules ? GRAM_WORDS : GRAM_BYTES, seed);
    if (!grams) return fail_memory(error);
    grams->rules = rules;
    status = add_items(grams, data, offsets, n_items, starts, error);
    if (status == UNITOK_OK && !build_slots(grams, starts, n_items, n, min_units))
        status = fail_memory(error);
    if (status != UNITOK_OK) {
        unitok_grams_free(grams);
        return status;
    }
    *ret = grams;
    return UNITOK_OK;
}

int32_t unitok_grams_new_ids(const uint32_t *ids, const int64_t *offsets, int64_t n_items,
                             int64_t n, int64_t min_units, uint64_t seed, unitok_grams **ret,
                             unitok_error *error)
{
    *ret = NULL;
    int32_t status = check_sizes(n, min_units, error);
    if (status != UNITOK_OK) return status;
    int64_t n_units = offsets[n_items] - offsets[0];
    if (n_units >= GRAM_MAX_UNITS_TOTAL || offsets[0] != 0) return fail_units(error);
    unitok_grams *grams = new_grams(GRAM_IDS, seed);
    if (!grams) return fail_memory(error);
    grams->n_units = n_units;
    grams->n_units_capacity = n_units + 1;
    grams->ids = mem_alloc((size_t)grams->n_units_capacity * sizeof *ids);
    if (grams->ids && n_units) memcpy(grams->ids, ids, (size_t)n_units * sizeof *ids);
    if (!grams->ids || !build_slots(grams, offsets, n_items, n, min_units)) {
        unitok_grams_free(grams);
        return fail_memory(error);
    }
    *ret = grams;
    return UNITOK_OK;
}
