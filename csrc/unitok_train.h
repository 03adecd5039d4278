/* unitok_train.h - trainers, and the HAT-trie that counts strings
 *
 * The objects, without their prefix unitok_, and the data that passes between them:
 *
 *     lines ──▶ segmenter ──▶ counter ──export──▶ units ──fold──▶ units ──┬──▶ bpe_trainer ──▶ pieces
 *                                                                         ├──▶ seeds, seed_finder ──┐
 *                  scores ◀── EM: lexicon, lattice, edges ◀───────────────┘                         │
 *                                     ▲                                                             │
 *                                     └───────────────────────────────────── pieces ◀── counter ◀───┘
 *
 *     texts ──▶ ngrams ──▶ ngram_model ──▶ ngram_cutter ──▶ counter ──▶ pieces        BytePiece
 *     texts ──▶ greedy_counts, with the pieces of a greedy ──▶ sums, pairs            greedy
 *
 * Lifetimes and threads. Some objects borrow others, which must outlive them: a segmenter its
 * normalizer, rules and counter; a bpe_trainer and seeds their rules; a seed_finder its seeds; a
 * hat_walk its hat; an ngram_cutter its ngram_model and counter; greedy_counts their greedy. Rules,
 * normalizers, lexicons, finished n-gram models and unitok_greedy are immutable and may be shared by
 * any number of threads. Every other object belongs to one call at a time, so each thread has its
 * own and the results are merged. Every object is freed by its own function, which accepts NULL.
 * Long work is divided into calls with a budget, so that the caller can show progress and stop
 * between them. The conventions are those of unitok.h.
 *
 * Each section is bound by a module of pyunitok/_c: Counting units (train.py), BPE (train_bpe.py),
 * Seeds (train_seeds.py), Unigram (train_lexicon.py), BytePiece (train_ngrams.py), Greedy
 * vocabularies (train_greedy.py). The package does not use the HAT-trie from Python.
 */
#pragma once

#include "unitok.h"

/* -------------------------------------------------------------------------------- HAT-trie ---- */

/* A growable ordered map from byte strings to int64: a burst trie over array hashes (Askitis and
 * Sinha, "HAT-trie: a cache-conscious trie-based data structure for strings", 2007). Keys may be
 * empty and may contain any byte. Any number of threads may read it while none inserts. */
typedef struct unitok_hat unitok_hat;

#define UNITOK_HAT_KEY_MAX_BYTES 1048576

enum unitok_hat_mode {
    UNITOK_HAT_SET = 0, /* an existing key gets the new value */
    UNITOK_HAT_ADD = 1, /* the value is added to that of an existing key, modulo 2^64 */
    /* an existing key: UNITOK_ERROR_ARGUMENT, its index in `item`; keys before it are inserted */
    UNITOK_HAT_UNIQUE = 2
};

int32_t unitok_hat_new(unitok_hat **ret, unitok_error *error);
void unitok_hat_free(unitok_hat *hat);
int64_t unitok_hat_count(const unitok_hat *hat);
int64_t unitok_hat_memory_bytes(const unitok_hat *hat);
/* Inserts a packed list of keys with values[0..n_keys-1]. After UNITOK_ERROR_MEMORY the keys before
 * `item` have been inserted and the others have not. Amortised O(bytes of keys). */
int32_t unitok_hat_insert(unitok_hat *hat, const uint8_t *data, const int64_t *offsets,
                          const int64_t *values, int64_t n_keys, int32_t mode, unitok_error *error);
/* Returns the length of the longest key that begins text[0..n_bytes-1], and *ret_value; -1 if there
 * is none. The empty key counts. */
int64_t unitok_hat_longest_prefix(const unitok_hat *hat, const uint8_t *text, int64_t n_bytes,
                                  int64_t *ret_value);

/* Iterates in byte order over the keys that begin with prefix[0..n_prefix_bytes-1]. It borrows the
 * trie, which must not change meanwhile. */
typedef struct unitok_hat_walk unitok_hat_walk;
int32_t unitok_hat_walk_new(const unitok_hat *hat, const uint8_t *prefix, int64_t n_prefix_bytes,
                            unitok_hat_walk **ret, unitok_error *error);
void unitok_hat_walk_free(unitok_hat_walk *walk);
/* Writes the next complete keys as a packed list: data[0..capacity-1], offsets[0..result],
 * values[0..result-1]; at most max_keys >= 1. Returns 0 at the end; -1 if the next key alone does
 * not fit (UNITOK_HAT_KEY_MAX_BYTES always suffice); -2 if an allocation failed. After -1 or -2 the
 * walk has not moved. */
int64_t unitok_hat_walk_next(unitok_hat_walk *walk, uint8_t *data, int64_t capacity,
                             int64_t *offsets, int64_t *values, int64_t max_keys);

/* -------------------------------------------------------------------------- Counting units ---- */

/* The flags that define which strings may be pieces, named after spm_train's options. */
enum unitok_rule_flags {
    UNITOK_RULE_SPLIT_BY_WHITESPACE = 1,
    UNITOK_RULE_WHITESPACE_AS_SUFFIX = 2,
    UNITOK_RULE_WHITESPACE_ONLY = 4,
    UNITOK_RULE_SPLIT_BY_SCRIPT = 8,
    UNITOK_RULE_SPLIT_BY_NUMBER = 16,
    UNITOK_RULE_SPLIT_DIGITS = 32,
    /* A character stands for a byte, as in GPT-2: '!' to '~', U+00A1 to U+00AC and U+00AE to U+00FF
     * for the byte of that number, U+0100 and the next characters for the other bytes, in order.
     * The other rules apply to the text that the bytes spell, where spaces are spaces; a piece may
     * also be a part of one character. max_chars is at most 512. */
    UNITOK_RULE_BYTE_LEVEL = 64
};
#define UNITOK_RULES_ALL 127

/* Immutable; 1.1 MB. */
typedef struct unitok_rules unitok_rules;
int32_t unitok_rules_new(int32_t flags, int32_t max_chars, unitok_rules **ret, unitok_error *error);
void unitok_rules_free(unitok_rules *rules);
/* Returns 1 if these bytes may be a piece; 0 if not, or if they are invalid UTF-8. */
int32_t unitok_rules_allow(const unitok_rules *rules, const uint8_t *piece, int64_t n_bytes);

/* Units are stretches of text that no piece crosses, each with its count: a packed list with
 * counts[0..n-1]. The struct and its arrays belong to the caller. */
typedef struct unitok_units {
    const uint8_t *data;
    const int64_t *offsets;
    const uint64_t *counts;
    int64_t n;
} unitok_units;

/* Counts byte strings of at most UNITOK_KEY_MAX_BYTES. An ordered counter is a list that does not
 * merge equal keys. */
typedef struct unitok_counter unitok_counter;
#define UNITOK_KEY_MAX_BYTES 2147483647
int32_t unitok_counter_new(int32_t is_ordered, unitok_counter **ret, unitok_error *error);
void unitok_counter_free(unitok_counter *counter);
void unitok_counter_clear(unitok_counter *counter);
int64_t unitok_counter_count(const unitok_counter *counter);
int64_t unitok_counter_memory_bytes(const unitok_counter *counter);
/* Adds each count to that of its key; if counts is NULL, each is 1. After UNITOK_ERROR_MEMORY the
 * keys before `item` are counted. */
int32_t unitok_counter_add(unitok_counter *counter, const unitok_units *keys, unitok_error *error);
/* For each of other's keys begin..end-1 that this counter contains, moves its count to this
 * counter; the count becomes 0 in `other`. Neither counter may have been sorted. Several threads
 * may do this at the same time for different keys of one `other`. */
int32_t unitok_counter_absorb(unitok_counter *counter, unitok_counter *other, int64_t begin,
                              int64_t end, unitok_error *error);
/* Removes all keys of count 0. */
void unitok_counter_drop_absorbed(unitok_counter *counter);
/* Sorts the keys by their bytes. Takes 16 bytes per key besides the counter. */
int32_t unitok_counter_sort(unitok_counter *counter, unitok_error *error);
/* Returns the bytes of keys begin..end-1. */
int64_t unitok_counter_part_bytes(const unitok_counter *counter, int64_t begin, int64_t end);
/* Copies keys begin..end-1, in byte order if sort() was called last, otherwise in the order in
 * which they were first counted: data[0..part_bytes-1], offsets[0..end-begin],
 * counts[0..end-begin-1]. */
void unitok_counter_export(const unitok_counter *counter, int64_t begin, int64_t end, uint8_t *data,
                           int64_t *offsets, uint64_t *counts);

enum unitok_segment_flags {
    /* cut wherever no allowed piece can cross; without this flag, only at spaces, if the rules
     * split there */
    UNITOK_SEGMENT_CUT = 1,
    /* a unit is followed by 0xFF and the text after it: see csrc/train/segment.h */
    UNITOK_SEGMENT_FOLLOWERS = 2,
    UNITOK_SEGMENT_TSV = 4,  /* a line is a text, a tab and a count */
    UNITOK_SEGMENT_WHOLE = 8 /* a document is one line, including its newlines */
};

typedef struct unitok_segment_spec {
    const unitok_normalizer *normalizer; /* kept; NULL: lines are normalized, valid UTF-8 */
    const unitok_rules *rules;           /* kept */
    unitok_counter *counter;             /* kept */
    int32_t flags;                       /* of enum unitok_segment_flags */
    int64_t max_line_bytes; /* longer lines are skipped and counted; at most 2^28 - 1 */
    /* become boundaries (U+001F): a packed list sorted by bytes, none empty, all distinct */
    const uint8_t *symbols;
    const int64_t *symbol_offsets;
    int64_t n_symbols;
    const uint8_t *delimiter; /* becomes a boundary too */
    int64_t n_delimiter_bytes;
    /* kept; NULL: none. A document of any bytes is one text, and its units are the pieces of the
     * pattern. Of the other fields only `counter` is used */
    const unitok_pattern *pattern;
} unitok_segment_spec;

typedef struct unitok_segment_stats {
    int64_t n_bytes;    /* read */
    int64_t n_lines;    /* counted, including empty ones */
    int64_t n_empty;    /* empty after normalization */
    int64_t n_too_long; /* longer than max_line_bytes */
    int64_t n_too_long_bytes;
    int64_t n_reserved;   /* contain U+2585, which stands for unknown characters */
    int64_t memory_bytes; /* of the segmenter itself */
} unitok_segment_stats;

/* Cuts lines into units and counts them in spec->counter. */
typedef struct unitok_segmenter unitok_segmenter;
int32_t unitok_segmenter_new(const unitok_segment_spec *spec, unitok_segmenter **ret,
                             unitok_error *error);
void unitok_segmenter_free(unitok_segmenter *segmenter);
/* Counts the lines of a packed list of documents. UNITOK_ERROR_FORMAT: byte `position` of document
 * `item` is invalid. */
int32_t unitok_segmenter_add(unitok_segmenter *segmenter, const uint8_t *data,
                             const int64_t *offsets, int64_t n_docs, unitok_error *error);
/* Adds the counts of frequent units, which a segmenter accumulates, to the counter. */
int32_t unitok_segmenter_flush(unitok_segmenter *segmenter, unitok_error *error);
/* After the last line: like unitok_segmenter_flush, and with FOLLOWERS counts the units that waited
 * for the next line. */
int32_t unitok_segmenter_finish(unitok_segmenter *segmenter, unitok_error *error);
void unitok_segmenter_get_stats(const unitok_segmenter *segmenter, unitok_segment_stats *ret);

/* Adds the count of each unit to by_char[c] for each of its characters c before any 0xFF:
 * by_char[0..0x10FFFF]. */
int32_t unitok_units_count_chars(const unitok_units *units, uint64_t *by_char, unitok_error *error);

enum unitok_fold {
    UNITOK_FOLD_WHOLE = 0, /* units stay complete; the text after an 0xFF is replaced, too */
    /* units are cut at characters that no piece can contain; these are removed */
    UNITOK_FOLD_CUT = 1,
    /* units end at an 0xFF; copies of an ordered counter are added up: csrc/train/segment.h */
    UNITOK_FOLD_STRIP = 2
};

/* Replaces every character c that has keep[c] == 0 with U+2585, and counts the resulting units in
 * `counter`: keep[0..0x10FFFF], or NULL to keep all. Units of count 0 are skipped. */
int32_t unitok_units_fold(const unitok_units *units, const uint8_t *keep, int32_t fold,
                          unitok_counter *counter, unitok_error *error);
/* Like unitok_units_fold with UNITOK_FOLD_CUT, but in place: only units that change are removed and
 * counted in `counter`, and those of count 0 are removed. The other *ret_n_left units are moved
 * together, in the same order. */
int32_t unitok_units_fold_out(uint8_t *data, int64_t *offsets, uint64_t *counts, int64_t n_units,
                              const uint8_t *keep, unitok_counter *counter, int64_t *ret_n_left,
                              unitok_error *error);
/* Merges two lists of units, each sorted by bytes and without duplicates, into data[0..bytes of
 * both - 1], offsets[0..a->n + b->n], counts[0..a->n + b->n - 1]. Returns the number of units; the
 * counts of equal units are added. */
int64_t unitok_units_merge(const unitok_units *a, const unitok_units *b, uint8_t *data,
                           int64_t *offsets, uint64_t *counts);

/* Copies n strings, data[starts[i]..] of offsets[i + 1] - offsets[i] bytes each, to
 * ret[offsets[i]..]. */
void unitok_gather(const uint8_t *data, const int64_t *starts, const int64_t *offsets, int64_t n,
                   uint8_t *ret);

/* shares[i] = log(counts[i]) - log(sum), in float32 throughout. */
void unitok_log_shares(const uint64_t *counts, int64_t n, uint64_t sum, float *shares);

/* ------------------------------------------------------------------------------------- BPE ---- */

/* Byte-pair encoding over characters, as sentencepiece 0.2.3 trains it: the most frequent pair is
 * merged; among equals, the one with fewer characters, then the one with smaller bytes. The merges
 * do not depend on the order of the units, on whether equal units are merged, or on n_workers.
 *
 * Without rules, over bytes, as the BpeTrainer of tokenizers 0.23.3 trains it: among equals, the
 * pair with the smaller left, then right symbol. Bytes are the first symbols, in the order of the
 * characters that GPT-2 shows for them; reserved pieces come before them.
 *
 * A trainer is always in one of two states:
 *   is_shared  each worker 0..n_workers-1 calls work() until it is done, all at once if the workers
 *              are threads. Then one thread calls join().
 *   otherwise  one thread calls every other function
 *
 *     unitok_bpe_trainer_new(...);
 *     share:  while (unitok_bpe_trainer_is_shared(t)) {
 *                 for each worker: unitok_bpe_trainer_work(t, worker, ...) until it is done
 *                 unitok_bpe_trainer_join(t, &error);
 *             }                                     from now on, units and `keep` are not needed
 *     do { share as above; n = unitok_bpe_trainer_step(t, ...); } while (n < n_pieces && !is_done);
 *
 * After an error the trainer can only be freed. */
typedef struct unitok_bpe_trainer unitok_bpe_trainer;
/*   units      valid UTF-8 if there are rules; kept as long as shown above. Units of count 0
 *              are skipped
 *   keep       [0..0x10FFFF]: a character c with keep[c] == 0 ends a unit and belongs to none; NULL
 *              keeps all. Kept as long as the units
 *   n_workers  1..1024 */
int32_t unitok_bpe_trainer_new(const unitok_rules *rules, const unitok_units *units,
                               const uint8_t *keep, int32_t n_workers, unitok_bpe_trainer **ret,
                               unitok_error *error);
void unitok_bpe_trainer_free(unitok_bpe_trainer *trainer);
int64_t unitok_bpe_trainer_memory_bytes(const unitok_bpe_trainer *trainer);
int32_t unitok_bpe_trainer_is_shared(const unitok_bpe_trainer *trainer);
/* Processes about max_work characters of a worker's share. *ret_is_done is 1 once it is done. */
int32_t unitok_bpe_trainer_work(unitok_bpe_trainer *trainer, int32_t worker, int64_t max_work,
                                int32_t *ret_is_done, unitok_error *error);
int32_t unitok_bpe_trainer_join(unitok_bpe_trainer *trainer, unitok_error *error);
/* Merges until there are n_pieces pieces, max_work positions are done, no pair occurs min_count
 * times, or there is work to share. Returns the number of pieces so far; -1 if allocation fails.
 * *ret_is_done is 1 if there can be no more pieces. */
int64_t unitok_bpe_trainer_step(unitok_bpe_trainer *trainer, int64_t n_pieces, uint64_t min_count,
                                int64_t max_work, int32_t *ret_is_done);
/* Copies merges begin..end-1: symbols[0..2*(end-begin)-1], the left and the right one of each, and
 * counts[0..end-begin-1]. */
void unitok_bpe_trainer_merges(const unitok_bpe_trainer *trainer, int64_t begin, int64_t end,
                               uint32_t *symbols, uint64_t *counts);
/* Without rules, before the first step and resume(): copies a packed list of distinct pieces of at
 * least two bytes, the special tokens of a BpeTrainer. A merge that makes piece k counts like any
 * other, but its symbol ranks before all bytes, and before the symbol of piece k + 1. */
int32_t unitok_bpe_trainer_reserve(unitok_bpe_trainer *trainer, const uint8_t *data,
                                   const int64_t *offsets, int64_t n, unitok_error *error);
/* Before the first step: continues after these n merges, all those made by another trainer with the
 * same rules and units. The next steps repeat them in a fraction of the time. */
int32_t unitok_bpe_trainer_resume(unitok_bpe_trainer *trainer, const uint32_t *symbols,
                                  const uint64_t *counts, int64_t n, unitok_error *error);
/* Copies pieces begin..end-1 in the order of their merges: offsets[0..end-begin],
 * counts[0..end-begin-1]. Returns the bytes needed; copies nothing if that exceeds capacity. */
int64_t unitok_bpe_trainer_pieces(const unitok_bpe_trainer *trainer, int64_t begin, int64_t end,
                                  uint8_t *data, int64_t capacity, int64_t *offsets,
                                  uint64_t *counts);

/* ----------------------------------------------------------------------------------- Seeds ---- */

/* The strings from which a Unigram model starts: those that repeat in the units and may be pieces
 * of two characters or more, each with its count. See csrc/train/seeds.c.
 *
 *     unitok_seeds_new(...);
 *     do unitok_seeds_step(seeds, budget, &progress, &error); while (progress < 1);
 *     in each thread: unitok_seed_finder_new(...); unitok_seed_finder_add(...) for some parts
 *     for each finder: unitok_seed_finder_finish(finder, counter, &error);
 *     unless compatible: unitok_seeds_leaves(...) until it is done
 *
 * Memory: 1 byte per byte of units, and 4 per character. A finder takes 32 bytes for each suffix
 * that begins with the most frequent two bytes or character, and 48 to 96 for each of max_seeds. */
typedef struct unitok_seeds unitok_seeds;
/* Copies the units. is_compatible: find the seeds of sentencepiece 0.2.3, from units that carry the
 * text after them (UNITOK_SEGMENT_FOLLOWERS). */
int32_t unitok_seeds_new(const unitok_rules *rules, const unitok_units *units,
                         int32_t is_compatible, unitok_seeds **ret, unitok_error *error);
void unitok_seeds_free(unitok_seeds *seeds);
/* Prepares the parts, `budget` bytes at a time. *ret_progress is 1 once all are ready. */
int32_t unitok_seeds_step(unitok_seeds *seeds, int64_t budget, double *ret_progress,
                          unitok_error *error);
/* Returns the number of parts, once progress is 1. A part has at most about 250,000 suffixes, or is
 * one bucket of csrc/train/seeds.h. */
int64_t unitok_seeds_parts(const unitok_seeds *seeds);

/* Finds the strings that repeat in some of the parts; each part goes to exactly one finder.
 *   max_seeds  finds at least the max_seeds best seeds, by count times characters; 0: all */
typedef struct unitok_seed_finder unitok_seed_finder;
int32_t unitok_seed_finder_new(const unitok_seeds *seeds, int64_t max_seeds,
                               unitok_seed_finder **ret, unitok_error *error);
void unitok_seed_finder_free(unitok_seed_finder *finder);
int32_t unitok_seed_finder_add(unitok_seed_finder *finder, int64_t part, unitok_error *error);
/* Adds the seeds found to a counter. */
int32_t unitok_seed_finder_finish(unitok_seed_finder *finder, unitok_counter *counter,
                                  unitok_error *error);

/* Adds to counters[0] the units that are in none of counters[0..n_counters-1], shortened until they
 * may be pieces, if they occur min_leaf times, or twice if they have up to three characters.
 * Continues for `budget` bytes; *ret_is_done is 1 at the end. */
int32_t unitok_seeds_leaves(unitok_seeds *seeds, uint64_t min_leaf, int64_t budget,
                            unitok_counter *const *counters, int64_t n_counters,
                            int32_t *ret_is_done, unitok_error *error);

/* --------------------------------------------------------------------------------- Unigram ---- */

/* The pieces of a Unigram model in training: a packed list sorted by bytes, none empty, all
 * distinct, at most 2^23 - 2. Piece i of the list has number i in all arrays below. */
typedef struct unitok_lexicon unitok_lexicon;

/* Builds a lexicon of copies of pieces begin..end-1; with is_part 1, it can only be joined. */
int32_t unitok_lexicon_new(const uint8_t *data, const int64_t *offsets, int64_t begin, int64_t end,
                           int32_t is_part, unitok_lexicon **ret, unitok_error *error);
/* Joins parts, which threads may have built, into one lexicon: together they contain all pieces,
 * and no two parts share a first byte. The caller keeps the parts. */
int32_t unitok_lexicon_join(const unitok_lexicon *const *parts, int64_t n_parts,
                            unitok_lexicon **ret, unitok_error *error);
void unitok_lexicon_free(unitok_lexicon *lexicon);

/* The memory of one thread's lattices. Returns NULL if an allocation fails. */
typedef struct unitok_lattice unitok_lattice;
unitok_lattice *unitok_lattice_new(void);
void unitok_lattice_free(unitok_lattice *lattice);

/* A cache for calls with the same units and a model that only shrinks. It takes at most max_bytes;
 * if it would need more, nothing is cached. The first call fills it, and later ones are faster. For
 * one thread at a time; every function accepts NULL instead. */
typedef struct unitok_edges unitok_edges;
unitok_edges *unitok_edges_new(int64_t max_bytes);
void unitok_edges_free(unitok_edges *kept);
int64_t unitok_edges_memory_bytes(const unitok_edges *kept);
/* Tells the cache that piece i now has number numbers[i]; -1: it was dropped. */
void unitok_edges_renumber(unitok_edges *kept, const int64_t *numbers);

/* The functions below take arrays by piece: scores[i] is the logarithm of p[i], the probability of
 * piece i; -infinity and 0 for dropped pieces. A character that no piece covers alone is unknown
 * and has a separate score; it counts as unknown_piece, unless that is -1. Units and pieces must be
 * valid UTF-8. Each returns UNITOK_OK or UNITOK_ERROR_MEMORY, after which the sums are invalid. */

/* Adds to expected[i], in multiples of 1 / unit, the expected number of uses of piece i over all
 * ways to divide the units, and adds the log-likelihood to *ret_log_likelihood. The sums do not
 * depend on the order of calls. */
int32_t unitok_unigram_expect(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                              unitok_edges *kept, const double *p, double p_unknown,
                              const unitok_units *units, double unit, uint64_t *expected,
                              double *ret_log_likelihood);

/* Like unitok_unigram_expect, but in float32, exactly as in sentencepiece 0.2.3 with one thread. */
int32_t unitok_unigram_expect_exact(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                                    unitok_edges *kept, const float *scores, float unknown_score,
                                    int64_t unknown_piece, const unitok_units *units,
                                    float *expected);

enum unitok_prior {
    /* exp(digamma(count)): subtracts about 0.5 from every count, so that rare pieces fade */
    UNITOK_PRIOR_DIGAMMA = 0,
    UNITOK_PRIOR_NONE = 1 /* plain shares */
};

/* Computes new scores from expected counts. Pieces whose count is below min_count (0.5 in float32)
 * are no longer alive. In float32 the sum is taken in `order`, the numbers of the n live pieces. */
void unitok_unigram_maximize_f32(const float *expected, const int64_t *order, int64_t n,
                                 uint8_t *alive, float *scores);
void unitok_unigram_maximize_f64(const double *expected, int64_t n, double min_count, int32_t prior,
                                 uint8_t *alive, double *scores);

/* Adds to used[i] the number of uses of piece i in the best paths of the units, and the score and
 * number of tokens of these paths to *ret_score and *ret_tokens. */
int32_t unitok_unigram_paths_f32(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                                 unitok_edges *kept, const float *scores, float unknown_score,
                                 int64_t unknown_piece, const unitok_units *units, float *used,
                                 double *ret_score, int64_t *ret_tokens);
int32_t unitok_unigram_paths_f64(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                                 unitok_edges *kept, const double *scores, double unknown_score,
                                 int64_t unknown_piece, const unitok_units *units, double *used,
                                 double *ret_score, int64_t *ret_tokens);

/* Like unitok_unigram_paths_f64, but counts are integers, and units and pieces may be any bytes.
 * All 256 bytes must be live pieces; UNITOK_ERROR_ARGUMENT if no pieces spell a unit. */
int32_t unitok_unigram_recount(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                               const uint8_t *alive, const double *scores,
                               const unitok_units *units, uint64_t *used);

/* losses[i], for pieces begin..end-1 of the list: how much the likelihood falls without piece i,
 * given used[] and its sum. -infinity if it is not used or is worth less than its parts, +infinity
 * if nothing can replace it. */
int32_t unitok_unigram_losses_f32(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                                  const float *scores, float unknown_score, int64_t unknown_piece,
                                  const uint8_t *data, const int64_t *offsets, int64_t begin,
                                  int64_t end, const float *used, float sum, float *losses);
int32_t unitok_unigram_losses_f64(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                                  const double *scores, double unknown_score, int64_t unknown_piece,
                                  const uint8_t *data, const int64_t *offsets, int64_t begin,
                                  int64_t end, const double *used, double sum, double *losses);

/* parts[i], for pieces begin..end-1 of the list: the number of pieces on the best path that spells
 * piece i without using it; 0 if there is none, -1 if that path is worth more than the piece. */
int32_t unitok_unigram_parts_f32(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                                 const float *scores, float unknown_score, const uint8_t *data,
                                 const int64_t *offsets, int64_t begin, int64_t end,
                                 int32_t *parts);
int32_t unitok_unigram_parts_f64(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                                 const double *scores, double unknown_score, const uint8_t *data,
                                 const int64_t *offsets, int64_t begin, int64_t end,
                                 int32_t *parts);

/* ------------------------------------------------------------------------------- BytePiece ---- */

/* A model of byte n-grams cuts texts into pieces, whose counts become a Unigram model, exactly as
 * in bytepiece 0.6.3. csrc/train/ngrams.h describes the numbers of n-grams. */
#define UNITOK_NGRAM_MAX_ORDER 7

/* The position where adding packed documents stopped: at byte `position` of the data, in document
 * `document`. It starts at 0, 0; all documents are added once `document` equals their number. */
typedef struct unitok_cursor {
    int64_t document;
    int64_t position;
} unitok_cursor;

/* A table of n-grams of 1..order bytes, counted inside the chunks of texts (csrc/train/chunks.h).
 * is_digit[0..0x10FFFF], which is kept, marks characters that are separate chunks; NULL: none. */
typedef struct unitok_ngrams unitok_ngrams;
int32_t unitok_ngrams_new(int32_t order, const uint8_t *is_digit, unitok_ngrams **ret,
                          unitok_error *error);
void unitok_ngrams_free(unitok_ngrams *ngrams);
int32_t unitok_ngrams_clear(unitok_ngrams *ngrams, unitok_error *error);
int64_t unitok_ngrams_count(const unitok_ngrams *ngrams);
int64_t unitok_ngrams_memory_bytes(const unitok_ngrams *ngrams);
/* Adds chunks from the cursor on, until these have max_bytes or more; after an error, only some are
 * added. */
int32_t unitok_ngrams_add(unitok_ngrams *ngrams, const uint8_t *data, const int64_t *offsets,
                          int64_t n_docs, int64_t max_bytes, unitok_cursor *cursor,
                          unitok_error *error);
/* Sorts in place; nothing can be added before the table is cleared. */
int32_t unitok_ngrams_sort(unitok_ngrams *ngrams, unitok_error *error);

/* Where reading sorted n-grams stopped; starts at 0, 0. */
typedef struct unitok_ngram_place {
    int64_t full; /* among those of the full order */
    int64_t other;
} unitok_ngram_place;

/* Copies up to n of the next sorted n-grams and returns their number. */
int64_t unitok_ngrams_export(const unitok_ngrams *ngrams, unitok_ngram_place *place, int64_t n,
                             uint64_t *keys, uint64_t *counts);

/* All single bytes, and the longer n-grams that occur min_count times. To build it:
 *
 *     twice: scan() all n-grams in order, each once; then end_pass()
 *     get_tables(), finish()
 *     replace every count in tables.few and tables.large by its logarithm, a double; also log 0
 *
 * Between the passes, memory_bytes() includes the memory that the second one will allocate. A
 * finished model is immutable. */
typedef struct unitok_ngram_model unitok_ngram_model;
int32_t unitok_ngram_model_new(int32_t order, uint64_t min_count, unitok_ngram_model **ret,
                               unitok_error *error);
void unitok_ngram_model_free(unitok_ngram_model *model);
int64_t unitok_ngram_model_memory_bytes(const unitok_ngram_model *model);
int32_t unitok_ngram_model_scan(unitok_ngram_model *model, const uint64_t *keys,
                                const uint64_t *counts, int64_t n, unitok_error *error);
/* Like unitok_ngram_model_scan, but merges sorted tables, and scans about `budget` n-grams from
 * places[0..n_tables-1] on. *ret_is_done is 1 at the end. */
int32_t unitok_ngram_model_scan_tables(unitok_ngram_model *model,
                                       const unitok_ngrams *const *tables, int64_t n_tables,
                                       unitok_ngram_place *places, int64_t budget,
                                       int32_t *ret_is_done, unitok_error *error);
int32_t unitok_ngram_model_end_pass(unitok_ngram_model *model, unitok_error *error);
/* The tables of a model, which owns them. */
typedef struct unitok_ngram_tables {
    uint64_t *few;      /* [0..65791]: counts of n-grams of one and of two bytes */
    uint64_t *slots;    /* longer ones, a table for each length: see csrc/train/ngrams.h */
    int64_t n_slots[8]; /* by length */
    uint64_t *large;    /* [0..2 n_large_slots - 1]: very frequent ones, number and count */
    int64_t n_large_slots;
    uint64_t total; /* the count of all bytes; a byte that does not occur counts as 1 */
} unitok_ngram_tables;
void unitok_ngram_model_get_tables(unitok_ngram_model *model, unitok_ngram_tables *ret);

#define UNITOK_NGRAM_LOGS 65536
/* Sets the logarithms of the total and of 0, 1, 2, ...: logs[0..UNITOK_NGRAM_LOGS-1], which is
 * kept. */
void unitok_ngram_model_finish(unitok_ngram_model *model, double log_total, const double *logs);
/* Builds a finished model from a copy of another model's tables, with logarithms. */
int32_t unitok_ngram_model_load(int32_t order, const unitok_ngram_tables *tables, double log_total,
                                const double *logs, unitok_ngram_model **ret, unitok_error *error);

enum unitok_ngram_flags {
    UNITOK_NGRAM_ENSURE_UNICODE = 1, /* no piece begins inside a character, */
    /* except where no other path exists; without this flag, the rest of the chunk is then cut into
     * bytes */
    UNITOK_NGRAM_LENIENT = 2
};

/* Cuts chunks into pieces and counts these in `counter`. Keeps model, counter and is_digit. */
typedef struct unitok_ngram_cutter unitok_ngram_cutter;
int32_t unitok_ngram_cutter_new(const unitok_ngram_model *model, unitok_counter *counter,
                                const uint8_t *is_digit, int32_t flags, unitok_ngram_cutter **ret,
                                unitok_error *error);
void unitok_ngram_cutter_free(unitok_ngram_cutter *cutter);
/* Like unitok_ngrams_add. */
int32_t unitok_ngram_cutter_add(unitok_ngram_cutter *cutter, const uint8_t *data,
                                const int64_t *offsets, int64_t n_docs, int64_t max_bytes,
                                unitok_cursor *cursor, unitok_error *error);

/* --------------------------------------------------------------------- Greedy vocabularies ---- */

/* In a round the text is encoded with the pieces of the round, and the counts show how much each
 * piece saves and how often two pieces are adjacent. The caller then chooses which pieces to drop
 * and which to join, and begins the next round. */
#define UNITOK_GREEDY_MAX_BYTES 256

/* The strings that may be pieces: complete characters or a part of one, never across a blank line,
 * and within these limits. */
typedef struct unitok_greedy_rules {
    int32_t max_piece_bytes; /* at most UNITOK_GREEDY_MAX_BYTES */
    int32_t max_run_bytes;   /* the maximum for pieces that repeat one byte */
    int32_t max_words;       /* 1: white space occurs only at the start, except in runs of it */
    int32_t max_digits;      /* consecutive digits */
    /* 1: in ASCII, only letters follow a letter or a byte that is not ASCII, only digits follow a
     * digit, and only a digit or white space precedes a digit. Words and numbers then end at cuts
     * (csrc/text/cut.h), which makes encoding up to twice as fast */
    int32_t closed_words;
    /* 1: a piece that ends with a space is all white space. A word then occurs only with its space,
     * and not also in a second form after pieces that end with the space */
    int32_t leading_spaces;
} unitok_greedy_rules;

int32_t unitok_greedy_allows(const unitok_greedy_rules *rules, const uint8_t *piece,
                             int64_t n_bytes);
/* The pieces of a round: data and offsets[0..n_pieces], which are kept, sorted by bytes, all
 * distinct, including all 256 single bytes. */
typedef struct unitok_greedy unitok_greedy;
int32_t unitok_greedy_new(const uint8_t *data, const int64_t *offsets, int64_t n_pieces,
                          const unitok_greedy_rules *rules, unitok_greedy **ret,
                          unitok_error *error);
void unitok_greedy_free(unitok_greedy *greedy);

/* The counts of one thread in a round. */
typedef struct unitok_greedy_counts unitok_greedy_counts;
int32_t unitok_greedy_counts_new(const unitok_greedy *greedy, unitok_greedy_counts **ret,
                                 unitok_error *error);
void unitok_greedy_counts_free(unitok_greedy_counts *counts);

enum unitok_greedy_flags {
    UNITOK_GREEDY_VALUES = 1, /* count how much pieces save; doubles the time */
    UNITOK_GREEDY_PAIRS = 2
};

/* Counts documents of one source, which may come in several calls. O(n_bytes). */
int32_t unitok_greedy_count(unitok_greedy_counts *counts, const uint8_t *data,
                            const int64_t *offsets, int64_t n_docs, int32_t flags,
                            unitok_error *error);
/* Ends a source: adds its counts times `weight` to the sums, which do not depend on the order of
 * sources. Counts beyond `damping` grow only logarithmically; 0: no damping. Pairs that occur once
 * in the source are dropped. */
int32_t unitok_greedy_end_source(unitok_greedy_counts *counts, int64_t weight, int64_t damping,
                                 unitok_error *error);
/* Adds the sums of another thread. */
int32_t unitok_greedy_merge(unitok_greedy_counts *into, const unitok_greedy_counts *from,
                            unitok_error *error);
/* The sums, owned by the counts; the arrays are by piece, [0..n_pieces-1]. */
typedef struct unitok_greedy_sums {
    const int64_t *uses;       /* weighted */
    const int64_t *values;     /* weighted: how many more tokens the text has without the piece */
    const int64_t *n_sources;  /* the number of sources that use the piece */
    int64_t n_tokens, n_bytes; /* of the text, without weights */
} unitok_greedy_sums;
void unitok_greedy_get_sums(const unitok_greedy_counts *counts, unitok_greedy_sums *ret);
/* Lists the pairs that may be joined, in no order: both pieces, weighted uses, and the number of
 * sources that repeat the pair. Returns their number, and writes at most `capacity`. */
int64_t unitok_greedy_pairs(const unitok_greedy_counts *counts, uint32_t *lefts, uint32_t *rights,
                            int64_t *gains, int64_t *n_sources, int64_t capacity);
