/* unitok_clean.h - finds the n-grams of some texts in other texts, and repeats within texts
 *
 *     benchmark items ──▶ unitok_grams_new ──▶ unitok_grams ──▶ unitok_grams_find ◀── documents
 *     (what to look for)                      (immutable)            └─▶ hits
 *
 * An n-gram is n consecutive units of one text. Units are words, bytes or token ids. Words are
 * compared case-folded, and everything between words is ignored.
 *
 * Lifetimes and threads. Word rules and grams are immutable and may be shared by any number of
 * threads; grams borrow their word rules, which must outlive them. The conventions are those of
 * unitok.h. Each section is bound by a module of pyunitok/_c: the first one by grams.py.
 */
#pragma once

#include "unitok.h"

/* The classes of characters, by their role in words:
 *     joined   letters and digits: adjacent ones form a word
 *     mark     belongs to the word just before it; if there is none, begins one like a joined character
 *     alone    a separate word, with the marks after it */
enum unitok_word_class {
    UNITOK_WORD_NONE = 0,
    UNITOK_WORD_JOINED = 1,
    UNITOK_WORD_MARK = 2,
    UNITOK_WORD_ALONE = 3
};

#define UNITOK_WORD_CODE_POINTS 0x110000

/* Defines which characters form words, and which of them compare equal. */
typedef struct unitok_word_rules unitok_word_rules;

/* Copies the rules.
 *   classes  [0..0x10FFFF]: the enum unitok_word_class of each character
 *   folds    [0..0x10FFFF]: the folded form of each character: a code point, or 0x110000 + k for
 *            the three code points from longer[3 * k] on, of which those that are 0 are left out
 *   longer   [0..3 * n_longer - 1]: code points
 *   seed     the seed of the hashes of words; see unitok_grams_new
 * Fails with UNITOK_ERROR_ARGUMENT if a number is out of range. */
int32_t unitok_word_rules_new(const uint8_t *classes, const uint32_t *folds, const uint32_t *longer,
                              int64_t n_longer, uint64_t seed, unitok_word_rules **ret,
                              unitok_error *error);
void unitok_word_rules_free(unitok_word_rules *rules);

/* The n-grams of some items. */
typedef struct unitok_grams unitok_grams;

/* The longest n-gram, in units. */
#define UNITOK_GRAMS_MAX_UNITS 4096

/* The maximum number of lengths of n-grams, n - min_units + 1. */
#define UNITOK_GRAMS_MAX_LENGTHS 16

/* Collects the n-grams of items. An item with fewer than n units, but at least min_units, is
 * a single n-gram; shorter items have none.
 *   rules    the rules of words; NULL: units are bytes
 *   data     item k is data[offsets[k]..offsets[k + 1])
 *   seed     the seed of the hashes; results do not depend on it. If the items are not trusted, this
 *            seed and the rules' seed must be secret: otherwise, the author of the items can choose
 *            units with equal hashes
 *   starts   [0..n_items]: item k has the units starts[k]..starts[k + 1] - 1 of all units
 * The units of all items are numbered from 0; there are fewer than 2^32. Fails with
 * UNITOK_ERROR_ARGUMENT unless 1 <= min_units <= n, n <= UNITOK_GRAMS_MAX_UNITS, and there are at
 * most UNITOK_GRAMS_MAX_LENGTHS lengths. Expected time: O(bytes). Memory: about 16 bytes per unit,
 * plus the distinct words. */
int32_t unitok_grams_new(const unitok_word_rules *rules, const uint8_t *data,
                         const int64_t *offsets, int64_t n_items, int64_t n, int64_t min_units,
                         uint64_t seed, int64_t *starts, unitok_grams **ret, unitok_error *error);

/* Like unitok_grams_new, but units are ids: item k is ids[offsets[k]..offsets[k + 1]). */
int32_t unitok_grams_new_ids(const uint32_t *ids, const int64_t *offsets, int64_t n_items,
                             int64_t n, int64_t min_units, uint64_t seed, unitok_grams **ret,
                             unitok_error *error);
void unitok_grams_free(unitok_grams *grams);

/* The collected n-grams. An n-gram is identified by the number of the first unit of its first occurrence.
 *   repeats  [0..2 * n_repeats - 1]: the number and the position of each later occurrence of an n-gram,
 *            in ascending order of position; valid for the lifetime of the grams */
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
 * grams must not consist of ids. O(bytes + the lengths of all hits). Fails only with
 * UNITOK_ERROR_MEMORY: it allocates a few KB. */
int32_t unitok_grams_find(const unitok_grams *grams, const uint8_t *data, const int64_t *offsets,
                          int64_t n_documents, unitok_gram_hit *hits, int64_t capacity,
                          int64_t *ret_n, unitok_error *error);

/* Like unitok_grams_find, for grams and documents of ids. */
int32_t unitok_grams_find_ids(const unitok_grams *grams, const uint32_t *ids,
                              const int64_t *offsets, int64_t n_documents, unitok_gram_hit *hits,
                              int64_t capacity, int64_t *ret_n, unitok_error *error);

/* ---------------------------------------------------------------------------- Repeats (anchors.py)
 *
 * Equal windows are found by their anchors. A window is n consecutive units of a document, bytes or
 * words; a window of words ends with its last word. Each window contains n - k + 1 k-grams, and its
 * anchor is the k-gram with the smallest hash. Equal windows have equal anchors at the same
 * offset, so it is enough to compare windows whose anchors are equal.
 *
 *     documents ──▶ find ──▶ records ──▶ sort by key, group ──▶ pairs of places ──▶ verify ──▶ ranges
 *                    ▲                          └─▶ anchors whose windows must all be found
 *                    └──────────────────────────────────┘
 *
 * Positions are byte offsets in the concatenation of all texts; they are below 2^48. */

/* A record of 24 bytes.
 *   an anchor          key: hash of the k-gram; value: hash of all units that share a window with it
 *   a window           key: its hash; value: hash and size
 *   a document         key: its hash; value: hash and size
 *   a pair of places   key: position; value: an earlier position of the same text, or a later one if
 *                      no copy is kept; place: the size of a window in bytes, or 0 for an anchor
 * Except in pairs, the low 48 bits of `place` are the position. All other bits are private. */
typedef struct unitok_anchor {
    uint64_t key;
    uint64_t value;
    uint64_t place;
} unitok_anchor;

enum unitok_anchor_kind {
    UNITOK_ANCHOR_GRAMS = 0,
    UNITOK_ANCHOR_WINDOWS = 1,
    UNITOK_ANCHOR_DOCUMENTS = 2
};

#define UNITOK_MARKS_PER_BYTE 4

/* The largest window, in units. */
#define UNITOK_ANCHORS_MAX_UNITS 65536

/* The maximum number of anchors with different contexts and equal k-grams that are paired with each
 * other. With 4, deduplication takes about a tenth longer; with 16, it takes the same time. */
#define UNITOK_ANCHORS_MAX_PAIRED 8

/* Defines windows. Immutable; threads may share it. */
typedef struct unitok_anchors unitok_anchors;

/*   rules    windows consist of words; NULL: windows consist of bytes. Borrowed
 *   n_units  units in a window, 1..UNITOK_ANCHORS_MAX_UNITS
 *   seed     the seed of the hashes. If texts are not trusted, it must be secret: otherwise, their
 *            author can choose texts with equal hashes, whose repeats are not found */
int32_t unitok_anchors_new(const unitok_word_rules *rules, int64_t n_units, uint64_t seed,
                           unitok_anchors **ret, unitok_error *error);
void unitok_anchors_free(unitok_anchors *anchors);

/* Finds records of one kind in documents k < n_documents, data[offsets[k]..offsets[k + 1]).
 *   at      the position of data[offsets[0]]
 *   marks   [0..n_marks - 1]: ascending marks of anchors; windows are found only at these
 * Records are in the order of their positions. Documents without text have no record. *ret_n is the
 * number of records, of which the first `capacity` are written. Expected time: O(bytes). Fails only with
 * UNITOK_ERROR_MEMORY: it allocates 100 bytes per unit of a window. */
int32_t unitok_anchors_find(const unitok_anchors *anchors, int32_t kind, const uint8_t *data,
                            const int64_t *offsets, int64_t n_documents, int64_t at,
                            const int64_t *marks, int64_t n_marks, unitok_anchor *ret,
                            int64_t capacity, int64_t *ret_n, unitok_error *error);

/* Divides records into buckets by key >> shift, which is below n_buckets, and keeps their order in
 * each bucket.
 *   starts  [0..n_buckets]: bucket b is ret[starts[b]..starts[b + 1]) */
void unitok_anchors_divide(const unitok_anchor *records, int64_t n, int shift, int64_t n_buckets,
                           int64_t *starts, unitok_anchor *ret);

/* Sorts records by key, stably; scratch[0..n-1] is scratch memory. Fails only with
 * UNITOK_ERROR_MEMORY: it allocates 2 bytes per record. */
int32_t unitok_anchors_sort(unitok_anchor *records, int64_t n, unitok_anchor *scratch,
                            unitok_error *error);

/* The numbers of results from grouping records of one kind.
 *   n_pairs  pairs of places
 *   n_marks  anchors whose windows must all be found
 *   n_kept   records that are in no pair, or are the first of their pairs */
typedef struct unitok_anchor_groups {
    int64_t n_pairs;
    int64_t n_marks;
    int64_t n_kept;
} unitok_anchor_groups;

/* Groups records, which must be in the order of their positions, and sorts them.
 *   all_copies  also pair the first copy (with the second one), and copies that overlap
 *   mark_all    more records with these keys exist, so mark all anchors that are kept
 *   first       pairs whose first place is before this position are left out
 *   scratch     [0..n-1]
 *   pairs       [0..UNITOK_ANCHORS_MAX_PAIRED * n - 1]
 *   marks       [0..n-1]: the position of an anchor times UNITOK_MARKS_PER_BYTE, plus flags for those of
 *               its windows that may be equal to others
 * The kept records are records[0..n_kept-1], ordered by key. Fails only with UNITOK_ERROR_MEMORY: it
 * allocates 2 bytes per record, and 256 KB. */
int32_t unitok_anchors_group(const unitok_anchors *anchors, int32_t kind, int all_copies,
                             int mark_all, int64_t first, unitok_anchor *records, int64_t n,
                             unitok_anchor *scratch, unitok_anchor *pairs, int64_t *marks,
                             unitok_anchor_groups *ret, unitok_error *error);

/* Compares the text of pairs, which are sorted by their first place.
 *   text       [0..ends[n_documents - 1] - 1]: all documents; document k ends at ends[k]
 *   ret        [0..2 * n - 1]: ranges (begin, end), in no particular order, which may overlap. If units
 *              are bytes, each position in a range begins a window that repeats. If units are words,
 *              each range is a window; for documents, each range is a document
 * Pairs with places outside the text are ignored. */
void unitok_anchors_verify(const unitok_anchors *anchors, int32_t kind, const uint8_t *text,
                           const int64_t *ends, int64_t n_documents, const unitok_anchor *pairs,
                           int64_t n, int64_t *ret, int64_t *ret_n);

/* The units to which ranges are shrunk. */
enum unitok_cut { UNITOK_CUT_CHAR = 0, UNITOK_CUT_WORD = 1, UNITOK_CUT_LINE = 2 };

/* Shrinks ranges to complete characters, words or lines, and splits them at document ends.
 *   cut         an enum unitok_cut
 *   text, ends  as above; a byte of invalid UTF-8 counts as a character
 *   ranges      [0..2 * n - 1]: ascending and disjoint
 *   max_share   a document with a larger share of its bytes in ranges is removed
 *   min_left    a document that is cut is removed if fewer bytes remain
 *   ret         [0..2 * capacity - 1]: the ranges to remove
 * *ret_n is the number of ranges, of which the first `capacity` are written. */
void unitok_ranges_cut(const unitok_word_rules *rules, int32_t cut, const uint8_t *text,
                       const int64_t *ends, int64_t n_documents, const int64_t *ranges, int64_t n,
                       double max_share, int64_t min_left, int64_t *ret, int64_t capacity,
                       int64_t *ret_n);

/* Copies text[begin..end-1] without the bytes in ascending ranges [0..2 * n - 1], whose positions are
 * relative to text. Returns the number of bytes. */
int64_t unitok_ranges_remove(const uint8_t *text, int64_t begin, int64_t end, const int64_t *ranges,
                             int64_t n, uint8_t *ret);

/* ------------------------------------------------------------------- Repeats of tokens (windows.py)
 *
 * A window is n_tokens consecutive tokens of a document. All windows are counted before any are
 * found:
 *
 *     ids, ends ──▶ count ──▶ unitok_windows ──▶ find ──▶ records ──▶ group by key ──▶ differ
 *
 * `ids` are the tokens of all documents, uint16 or uint32, and document k ends at ends[k]; the last
 * n_after tokens before ends[k] are not part of the document. */
typedef struct unitok_windows unitok_windows;

/*   n_tokens       tokens in a window, at least 1
 *   id_bytes       2 or 4
 *   seed           the seed of the hashes
 *   counter_bytes  the memory for counters, each 2 bits. With 2 bytes per window, about an eighth of the
 *                  windows that occur once are also found; with less memory, more of them */
int32_t unitok_windows_new(int64_t n_tokens, int32_t id_bytes, uint64_t seed, int64_t counter_bytes,
                           unitok_windows **ret, unitok_error *error);
void unitok_windows_free(unitok_windows *windows);

/* Counts the windows that begin with tokens begin..end-1. Calls must not overlap. */
void unitok_windows_count(unitok_windows *windows, const void *ids, const int64_t *ends,
                          int64_t n_documents, int64_t n_after, int64_t begin, int64_t end);

/* Of the windows that begin with tokens begin..end-1, finds those that may occur more than once;
 * all windows must have been counted. Writes a record of each: key and value are hashes, and place
 * is its first token. Returns the number of records.
 *   ret  [0..end-begin]
 * Threads may share the windows. */
int64_t unitok_windows_find(const unitok_windows *windows, const void *ids, const int64_t *ends,
                            int64_t n_documents, int64_t n_after, int64_t begin, int64_t end,
                            unitok_anchor *ret);

/* For each pair, compares the window that begins with token `key` to the one that begins with token
 * `place`. Returns the number of the first pair whose windows differ or are not inside
 * ids[0..n_ids-1], or n if there is none. Fastest if the pairs are ordered by key. */
int64_t unitok_windows_differ(const unitok_windows *windows, const void *ids, int64_t n_ids,
                              const unitok_anchor *pairs, int64_t n);
