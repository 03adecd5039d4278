/* unitok_clean.h - finding the n-grams of some texts in others
 *
 *     benchmark items ──▶ unitok_grams_new ──▶ unitok_grams ──▶ unitok_grams_find ◀── documents
 *     (what to look for)                      (immutable)            └─▶ hits
 *
 * An n-gram is n consecutive units of one text. Units are words, bytes or token ids. Words are
 * compared case-folded, and everything between words is ignored.
 *
 * Lifetimes and threads. Word rules and grams are immutable and may be shared by any number of
 * threads; grams borrow their word rules, which must outlive them. The conventions are those of
 * unitok.h, and the section is the module grams.py of pyunitok/_c.
 */
#pragma once

#include "unitok.h"

/* The kinds of characters, by their part in words:
 *     joined   letters and digits: neighbours form a word
 *     mark     belongs to the word before it, or begins one that is continued as after a joined one
 *     alone    a word of its own, with the marks after it */
enum unitok_word_class {
    UNITOK_WORD_NONE = 0,
    UNITOK_WORD_JOINED = 1,
    UNITOK_WORD_MARK = 2,
    UNITOK_WORD_ALONE = 3
};

#define UNITOK_WORD_CODE_POINTS 0x110000

/* Which characters form words, and which of them are equal. */
typedef struct unitok_word_rules unitok_word_rules;

/* Copies the rules.
 *   classes  [0..0x10FFFF]: the enum unitok_word_class of each character
 *   folds    [0..0x10FFFF]: what each character is compared as: a code point, or 0x110000 + k for
 *            the three code points from longer[3 * k] on, of which 0 stands for none
 *   longer   [0..3 * n_longer - 1]: code points
 *   seed     of the hashes of words, see unitok_grams_new
 * UNITOK_ERROR_ARGUMENT if a number is out of range. */
int32_t unitok_word_rules_new(const uint8_t *classes, const uint32_t *folds, const uint32_t *longer,
                              int64_t n_longer, uint64_t seed, unitok_word_rules **ret,
                              unitok_error *error);
void unitok_word_rules_free(unitok_word_rules *rules);

/* The n-grams of some items. */
typedef struct unitok_grams unitok_grams;

/* The longest n-gram, in units. */
#define UNITOK_GRAMS_MAX_UNITS 4096

/* At most this many lengths of n-grams: n - min_units + 1. */
#define UNITOK_GRAMS_MAX_LENGTHS 16

/* Collects the n-grams of items. An item with fewer than n units, but at least min_units, is
 * a single n-gram; shorter items have none.
 *   rules    for words; NULL: units are bytes
 *   data     item k is data[offsets[k]..offsets[k + 1])
 *   seed     of the hashes; results do not depend on it. If the items are not trusted, it and that of
 *            the rules must be secret: otherwise their author can choose units with equal hashes
 *   starts   [0..n_items]: item k has the units starts[k]..starts[k + 1] - 1 of all units
 * The units of all items are numbered from 0; there are less than 2^32. UNITOK_ERROR_ARGUMENT
 * unless 1 <= min_units <= n, n <= UNITOK_GRAMS_MAX_UNITS, and there are few enough lengths.
 * O(bytes), expected. Memory: about 16 bytes for each unit, and the distinct words. */
int32_t unitok_grams_new(const unitok_word_rules *rules, const uint8_t *data,
                         const int64_t *offsets, int64_t n_items, int64_t n, int64_t min_units,
                         uint64_t seed, int64_t *starts, unitok_grams **ret, unitok_error *error);

/* Like unitok_grams_new, but units are ids: item k is ids[offsets[k]..offsets[k + 1]). */
int32_t unitok_grams_new_ids(const uint32_t *ids, const int64_t *offsets, int64_t n_items,
                             int64_t n, int64_t min_units, uint64_t seed, unitok_grams **ret,
                             unitok_error *error);
void unitok_grams_free(unitok_grams *grams);

/* What was collected. An n-gram is known by the number of the unit where it first begins.
 *   repeats  [0..2 * n_repeats - 1]: for each further place of an n-gram, its number and the place,
 *            by ascending place; valid as long as the grams */
typedef struct unitok_grams_info {
    int64_t n_units;
    int64_t n_grams;
    int64_t n_repeats;
    int64_t memory_bytes;
    const uint32_t *repeats;
} unitok_grams_info;

void unitok_grams_get_info(const unitok_grams *grams, unitok_grams_info *ret);

/* An n-gram in a document.
 *   unit        its first unit, counted from 0 in the document
 *   begin, end  its bytes in the document; for ids, the same as its units
 *   gram        its number */
typedef struct unitok_gram_hit {
    int64_t document;
    int64_t unit;
    int64_t begin;
    int64_t end;
    int64_t gram;
} unitok_gram_hit;

/* Finds all n-grams in documents k < n_documents, data[offsets[k]..offsets[k + 1]), in the order of
 * their last units; n-grams that end with the same unit are ordered by length. Every hit has been
 * compared unit by unit. *ret_n is the number of hits, of which the first `capacity` are written. The
 * grams must not be of ids. O(bytes), and the length of each hit. Allocates a few KB, so it fails
 * only with UNITOK_ERROR_MEMORY. */
int32_t unitok_grams_find(const unitok_grams *grams, const uint8_t *data, const int64_t *offsets,
                          int64_t n_documents, unitok_gram_hit *hits, int64_t capacity,
                          int64_t *ret_n, unitok_error *error);

/* Like unitok_grams_find, for grams and documents of ids. */
int32_t unitok_grams_find_ids(const unitok_grams *grams, const uint32_t *ids,
                              const int64_t *offsets, int64_t n_documents, unitok_gram_hit *hits,
                              int64_t capacity, int64_t *ret_n, unitok_error *error);
