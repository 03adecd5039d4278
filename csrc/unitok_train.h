/* unitok_train.h - trainers, and the HAT-trie that counts */
#pragma once

#include "unitok.h"

/* ----------------------------------------------------------------------------------- HAT-trie ---- */

/* A growable ordered map from byte strings to int64: a burst trie over array hashes (Askitis and
 * Sinha, "HAT-trie: a cache-conscious trie-based data structure for strings", 2007). Keys may be
 * empty and may contain any byte; they have at most UNITOK_HAT_KEY_MAX_BYTES. Not safe for
 * concurrent writers. */
typedef struct unitok_hat unitok_hat;
typedef struct unitok_hat_walk unitok_hat_walk;

#define UNITOK_HAT_KEY_MAX_BYTES 1048576

enum unitok_hat_mode {
    UNITOK_HAT_SET = 0, /* an existing key gets the new value */
    UNITOK_HAT_ADD = 1, /* the value is added to that of an existing key (wraps as uint64) */
    /* an existing key is UNITOK_ERROR_ARGUMENT, `item` its index; the keys before it stay */
    UNITOK_HAT_UNIQUE = 2
};

int32_t unitok_hat_new(unitok_hat **ret, unitok_error *error);
void unitok_hat_free(unitok_hat *hat);
int64_t unitok_hat_count(const unitok_hat *hat);
/* All memory that the trie holds. */
int64_t unitok_hat_memory_bytes(const unitok_hat *hat);

/* Inserts keys data, offsets[0..n_keys] with values[0..n_keys-1]. After UNITOK_ERROR_MEMORY the
 * keys before `item` have been inserted, the others have not, and the trie is still valid.
 * Amortised O(key bytes). */
int32_t unitok_hat_insert(unitok_hat *hat, const uint8_t *data, const int64_t *offsets,
                          const int64_t *values, int64_t n_keys, int32_t mode, unitok_error *error);

/* Sets values[i] to the value of key i and found[i] to 1, or both to 0. Returns how many were
 * found. */
int64_t unitok_hat_find(const unitok_hat *hat, const uint8_t *data, const int64_t *offsets,
                        int64_t n_keys, int64_t *values, uint8_t *found);

/* The longest key that text[0..n_bytes-1] begins with: its length and *ret_value; -1 if there is
 * none. The empty key counts. */
int64_t unitok_hat_longest_prefix(const unitok_hat *hat, const uint8_t *text, int64_t n_bytes,
                                  int64_t *ret_value);

/* Iterates over the keys that begin with prefix[0..n_prefix_bytes-1] in byte order. The trie must
 * not change meanwhile. */
int32_t unitok_hat_walk_new(const unitok_hat *hat, const uint8_t *prefix, int64_t n_prefix_bytes,
                            unitok_hat_walk **ret, unitok_error *error);
/* The next keys, whole, as a packed list: data[0..capacity-1], offsets[0..result],
 * values[0..result-1]; at most max_keys, which is at least 1. Returns 0 at the end; -1 if the next
 * key alone does not fit (call again with UNITOK_HAT_KEY_MAX_BYTES of room); -2 if memory is short.
 * After -1 and -2 the walk has not moved. */
int64_t unitok_hat_walk_next(unitok_hat_walk *walk, uint8_t *data, int64_t capacity,
                             int64_t *offsets, int64_t *values, int64_t max_keys);
void unitok_hat_walk_free(unitok_hat_walk *walk);

/* ----------------------------------------------------------------------------------- Training ---- */

/* A trainer works on units: stretches of text that no piece crosses, each with how often it occurs.
 * From lines to pieces:
 *
 *     lines ──segmenter──▶ counter ──export──▶ units ──fold (rare characters)──▶ units ──▶ seeds, EM, merges ──▶ pieces
 *
 * All counts are 64 bits wide. Units are packed lists with counts[0..n-1]. */

/* Which strings may be pieces; the names are spm_train's. */
enum unitok_rule_flags {
    UNITOK_RULE_SPLIT_BY_WHITESPACE = 1,
    UNITOK_RULE_WHITESPACE_AS_SUFFIX = 2,
    UNITOK_RULE_WHITESPACE_ONLY = 4,
    UNITOK_RULE_SPLIT_BY_SCRIPT = 8,
    UNITOK_RULE_SPLIT_BY_NUMBER = 16,
    UNITOK_RULE_SPLIT_DIGITS = 32,
    /* A character stands for a byte, as in GPT-2: '!' to '~', U+00A1 to U+00AC and U+00AE to
     * U+00FF for that number, U+0100 and those after it for the other bytes in turn. The other
     * rules hold for what the bytes spell, in which spaces are spaces; a piece may also be a
     * part of one character. max_chars is at most 512. */
    UNITOK_RULE_BYTE_LEVEL = 64
};
#define UNITOK_RULES_ALL 127

/* Immutable; 1.1 MB. */
typedef struct unitok_rules unitok_rules;
int32_t unitok_rules_new(int32_t flags, int32_t max_chars, unitok_rules **ret, unitok_error *error);
void unitok_rules_free(unitok_rules *rules);
/* Whether these bytes may be a piece; 0 if they are invalid UTF-8. */
int32_t unitok_rules_allow(const unitok_rules *rules, const uint8_t *piece, int64_t n_bytes);

/* Counts byte strings of at most UNITOK_KEY_MAX_BYTES; an ordered one is a list that merges
 * nothing. One thread at a time. */
typedef struct unitok_counter unitok_counter;
#define UNITOK_KEY_MAX_BYTES 2147483647
int32_t unitok_counter_new(int32_t is_ordered, unitok_counter **ret, unitok_error *error);
void unitok_counter_free(unitok_counter *counter);
void unitok_counter_clear(unitok_counter *counter);
int64_t unitok_counter_count(const unitok_counter *counter);
int64_t unitok_counter_key_bytes(const unitok_counter *counter);
int64_t unitok_counter_memory_bytes(const unitok_counter *counter);
/* Adds counts[i] (NULL: 1) to key i. After UNITOK_ERROR_MEMORY the keys before `item` are counted.
 */
int32_t unitok_counter_add(unitok_counter *counter, const uint8_t *data, const int64_t *offsets,
                           const uint64_t *counts, int64_t n_keys, unitok_error *error);
/* Takes over the counts of those of other's keys begin..end-1 that are in this counter, too; they
 * are 0 in the other one then. Neither was sorted. Several threads may do so for different keys of
 * one other counter. */
int32_t unitok_counter_absorb(unitok_counter *counter, unitok_counter *other, int64_t begin,
                              int64_t end, unitok_error *error);
void unitok_counter_drop_absorbed(unitok_counter *counter); /* and all keys of count 0 */
/* Sorts the keys by their bytes. Takes 16 bytes a key beside the counter. */
int32_t unitok_counter_sort(unitok_counter *counter, unitok_error *error);
/* Copies the keys and counts of entries begin..end-1 of those there are out: data[0..part_bytes-1],
 * offsets[0..end-begin], counts[0..end-begin-1]; sorted if they were sorted last, else in the order
 * in which they were first seen. part_bytes() is the size of their keys. */
int64_t unitok_counter_part_bytes(const unitok_counter *counter, int64_t begin, int64_t end);
void unitok_counter_export(const unitok_counter *counter, int64_t begin, int64_t end, uint8_t *data,
                           int64_t *offsets, uint64_t *counts);

enum unitok_segment_flags {
    /* cut wherever the rules let no piece cross; else only at spaces, if the rules split there */
    UNITOK_SEGMENT_CUT = 1,
    /* a unit is followed by 0xFF and what comes next: see csrc/train/segment.h */
    UNITOK_SEGMENT_FOLLOWERS = 2,
    UNITOK_SEGMENT_TSV = 4,  /* a line is a text, a tab and a count */
    UNITOK_SEGMENT_WHOLE = 8 /* a document is one line, newlines included */
};

typedef struct unitok_segment_spec {
    /* NULL: lines are normalized already; they must be valid UTF-8 */
    const unitok_normalizer *normalizer;
    const unitok_rules *rules;
    unitok_counter *counter;
    int32_t flags;          /* of enum unitok_segment_flags */
    int64_t max_line_bytes; /* longer lines are left out and counted; at most 2^28 - 1 */
    /* what becomes a boundary (U+001F): a packed list sorted by bytes, none empty, none twice */
    const uint8_t *symbols;
    const int64_t *symbol_offsets;
    int64_t n_symbols;
    const uint8_t *delimiter; /* becomes a boundary, too */
    int64_t n_delimiter_bytes;
} unitok_segment_spec;

typedef struct unitok_segment_stats {
    int64_t n_bytes;    /* read */
    int64_t n_lines;    /* counted, n_empty included */
    int64_t n_empty;    /* nothing was left of them after normalization */
    int64_t n_too_long; /* over max_line_bytes */
    int64_t n_too_long_bytes;
    int64_t n_reserved;   /* with U+2585 in them, which stands for unknown characters */
    int64_t memory_bytes; /* the segmenter's own */
} unitok_segment_stats;

/* Cuts lines into units and counts them. It keeps pointers to the normalizer, the rules and the
 * counter, which must outlive it, and copies the rest. One thread at a time. */
typedef struct unitok_segmenter unitok_segmenter;
int32_t unitok_segmenter_new(const unitok_segment_spec *spec, unitok_segmenter **ret,
                             unitok_error *error);
void unitok_segmenter_free(unitok_segmenter *segmenter);
/* Counts the lines of a packed list of documents. UNITOK_ERROR_FORMAT: `item` and `position` say
 * where a line is wrong. */
int32_t unitok_segmenter_add(unitok_segmenter *segmenter, const uint8_t *data,
                             const int64_t *offsets, int64_t n_docs, unitok_error *error);
/* A segmenter holds counts of frequent units back; this hands them over to the counter. */
int32_t unitok_segmenter_flush(unitok_segmenter *segmenter, unitok_error *error);
/* After the last line: flush(), and with FOLLOWERS counts the units that waited for the next line.
 */
int32_t unitok_segmenter_finish(unitok_segmenter *segmenter, unitok_error *error);
void unitok_segmenter_get_stats(const unitok_segmenter *segmenter, unitok_segment_stats *ret);

/* Adds counts[i] to by_char[c] for every character c of unit i, up to 0xFF if there is one:
 * by_char[0..0x10FFFF]. */
int32_t unitok_units_count_chars(const uint8_t *data, const int64_t *offsets,
                                 const uint64_t *counts, int64_t n_units, uint64_t *by_char,
                                 unitok_error *error);

enum unitok_fold {
    UNITOK_FOLD_WHOLE = 0, /* units stay whole; what follows an 0xFF is replaced, too */
    UNITOK_FOLD_CUT = 1,   /* units are cut at what no piece can hold, which is left out */
    /* units end at an 0xFF; copies of an ordered counter are added up: csrc/train/segment.h */
    UNITOK_FOLD_STRIP = 2
};

/* Copies n strings, data[starts[i]..] of offsets[i + 1] - offsets[i] bytes each, to
 * ret[offsets[i]..]. */
void unitok_gather(const uint8_t *data, const int64_t *starts, const int64_t *offsets, int64_t n,
                   uint8_t *ret);

/* Replaces every character c with keep[c] == 0 by U+2585 and recounts the units in `counter`:
 * keep[0..0x10FFFF], or NULL to keep all. Units of count 0 are left out. */
int32_t unitok_units_fold(const uint8_t *data, const int64_t *offsets, const uint64_t *counts,
                          int64_t n_units, const uint8_t *keep, int32_t fold,
                          unitok_counter *counter, unitok_error *error);

/* Like unitok_units_fold with UNITOK_FOLD_CUT, but only units that change, and those of count 0,
 * are taken out: their parts are counted in `counter`. The other units are moved together, in their
 * order; *ret_n_left of them are left. */
int32_t unitok_units_fold_out(uint8_t *data, int64_t *offsets, uint64_t *counts, int64_t n_units,
                              const uint8_t *keep, unitok_counter *counter, int64_t *ret_n_left,
                              unitok_error *error);

/* Merges two lists of units, each sorted by bytes and none twice in one: into data[0..bytes of both
 * - 1], offsets[0..n_a + n_b], counts[0..n_a + n_b - 1]. Returns how many units that makes; counts
 * of equal ones are added. */
int64_t unitok_units_merge(const uint8_t *data_a, const int64_t *offsets_a,
                           const uint64_t *counts_a, int64_t n_a, const uint8_t *data_b,
                           const int64_t *offsets_b, const uint64_t *counts_b, int64_t n_b,
                           uint8_t *data, int64_t *offsets, uint64_t *counts);

/* shares[i] = log(counts[i]) - log(sum), in float32 throughout. */
void unitok_log_shares(const uint64_t *counts, int64_t n, uint64_t sum, float *shares);

/* Byte-pair encoding over characters, as sentencepiece 0.2.3 trains it: the pair that occurs most
 * often is merged, of several the one with fewer characters, then with the smaller bytes. What is
 * merged depends neither on the order of the units, nor on whether a unit is given once or in
 * several places, nor on n_workers.
 *
 * A trainer is always in one of two states:
 *   is_shared  each worker 0..n_workers-1 calls work(worker) until it is done; the workers may do so in threads of their
 *              own, all at once. Then one thread calls join().
 *   otherwise  one thread calls resume(), step() and whatever asks
 *
 *     unitok_bpe_trainer_new(...);
 *     while (unitok_bpe_trainer_is_shared(t)) { for each worker: unitok_bpe_trainer_work(t, worker, ...);
 *                                               unitok_bpe_trainer_join(t, &error); }    units are no longer needed
 *     do { share as above; n = unitok_bpe_trainer_step(t, ...); } while (n < n_pieces && !is_done);
 *
 * Units must be valid UTF-8 and stay unchanged until they are no longer needed; those of count 0
 * are left out. keep, which is needed as long: a character c with keep[c] == 0 ends a unit and
 * belongs to none: keep[0..0x10FFFF], or NULL to keep all. After an error the trainer is of no use.
 */
typedef struct unitok_bpe_trainer unitok_bpe_trainer;
int32_t unitok_bpe_trainer_new(const unitok_rules *rules, const uint8_t *data,
                               const int64_t *offsets, const uint64_t *counts, int64_t n_units,
                               const uint8_t *keep, int32_t n_workers, unitok_bpe_trainer **ret,
                               unitok_error *error);
void unitok_bpe_trainer_free(unitok_bpe_trainer *trainer);
int64_t unitok_bpe_trainer_memory_bytes(const unitok_bpe_trainer *trainer);
int32_t unitok_bpe_trainer_is_shared(const unitok_bpe_trainer *trainer);
/* Part of a worker's share, max_work characters or so. *ret_is_done is 1 when there is no more of
 * it. */
int32_t unitok_bpe_trainer_work(unitok_bpe_trainer *trainer, int32_t worker, int64_t max_work,
                                int32_t *ret_is_done, unitok_error *error);
int32_t unitok_bpe_trainer_join(unitok_bpe_trainer *trainer, unitok_error *error);
/* Merges on until there are n_pieces, or max_work positions were looked at, or no pair occurs
 * min_count times, or there is work to share. Returns the number of pieces so far; *ret_is_done is
 * 1 if no more can come. -1 when memory is short: the trainer is of no use then. */
int64_t unitok_bpe_trainer_step(unitok_bpe_trainer *trainer, int64_t n_pieces, uint64_t min_count,
                                int64_t max_work, int32_t *ret_is_done);
/* Merges begin..end-1: symbols[0..2*(end-begin)-1], left and right of each, and
 * counts[0..end-begin-1]. */
void unitok_bpe_trainer_merges(const unitok_bpe_trainer *trainer, int64_t begin, int64_t end,
                               uint32_t *symbols, uint64_t *counts);
/* Before the first step: resume after these merges, all that another trainer of the same rules and
 * units had made. The next steps repeat them, which takes a small part of the time. After an error
 * the trainer is of no use. */
int32_t unitok_bpe_trainer_resume(unitok_bpe_trainer *trainer, const uint32_t *symbols,
                                  const uint64_t *counts, int64_t n, unitok_error *error);
/* Pieces begin..end-1 in the order of their merges: offsets[0..end-begin], counts[0..end-begin-1].
 * Returns the bytes needed; copies nothing if that is over capacity. */
int64_t unitok_bpe_trainer_pieces(const unitok_bpe_trainer *trainer, int64_t begin, int64_t end,
                                  uint8_t *data, int64_t capacity, int64_t *offsets,
                                  uint64_t *counts);

/* The strings that a Unigram model starts from: those that repeat in the units and may be pieces of
 * two characters or more, each with how often it occurs. See csrc/train/seeds.c. The units are
 * copied.
 *   is_compatible   those of sentencepiece 0.2.3, from units that carry what follows them (UNITOK_SEGMENT_FOLLOWERS)
 *
 *     unitok_seeds_new(...);  while (unitok_seeds_progress(seeds) < 1) unitok_seeds_step(seeds, budget, &error);
 *     in each thread: unitok_seed_finder_new(...); some of the parts: unitok_seed_finder_add(finder, part, &error);
 *     for each finder: unitok_seed_finder_finish(finder, counter, &error);
 *     unless compatible: unitok_seeds_leaves(...) until it is done
 *
 * Memory: 5 bytes a byte of units, 4 of which only where a character begins; in a finder 32 bytes
 * for each suffix that begins with the most frequent two bytes or character, and 48 to 96 for each
 * of max_seeds. */
typedef struct unitok_seeds unitok_seeds;
int32_t unitok_seeds_new(const unitok_rules *rules, const uint8_t *data, const int64_t *offsets,
                         const uint64_t *counts, int64_t n_units, int32_t is_compatible,
                         unitok_seeds **ret, unitok_error *error);
int32_t unitok_seeds_step(unitok_seeds *seeds, int64_t budget, unitok_error *error);
double unitok_seeds_progress(const unitok_seeds *seeds);
/* How many there are, once progress is 1. A part is a quarter of a million suffixes, or one bucket
 * of seeds.h. */
int64_t unitok_seeds_parts(const unitok_seeds *seeds);

/* Finds what repeats in parts, each of them given to one finder; finish() adds it to a counter. For
 * one thread at a time; the seeds must outlive it.
 *   max_seeds  all that are among the best of so many, by count times characters, are found, and maybe others; 0: all */
typedef struct unitok_seed_finder unitok_seed_finder;
int32_t unitok_seed_finder_new(const unitok_seeds *seeds, int64_t max_seeds,
                               unitok_seed_finder **ret, unitok_error *error);
void unitok_seed_finder_free(unitok_seed_finder *finder);
int32_t unitok_seed_finder_add(unitok_seed_finder *finder, int64_t part, unitok_error *error);
int32_t unitok_seed_finder_finish(unitok_seed_finder *finder, unitok_counter *counter,
                                  unitok_error *error);

/* Adds to counters[0] units that repeat nothing and are in none of counters[0..n_counters-1], if
 * they occur min_leaf times; those of up to three characters if they occur twice. Goes on for
 * `budget` bytes; *ret_is_done says whether that was all. */
int32_t unitok_seeds_leaves(unitok_seeds *seeds, uint64_t min_leaf, int64_t budget,
                            unitok_counter *const *counters, int64_t n_counters,
                            int32_t *ret_is_done, unitok_error *error);
void unitok_seeds_free(unitok_seeds *seeds);

/* The pieces of a Unigram model in training, sorted by bytes, none empty, none twice: at most 2^23
 * - 2. Piece i of the list has number i in all arrays below. Immutable; shared by threads. */
typedef struct unitok_lexicon unitok_lexicon;
int32_t unitok_lexicon_new(const uint8_t *data, const int64_t *offsets, int64_t n_pieces,
                           unitok_lexicon **ret, unitok_error *error);
/* The same by threads: each part holds pieces begin..end-1 of the list, no two parts have a first
 * byte in common, and parts are only good for being joined. They stay the caller's. */
int32_t unitok_lexicon_new_part(const uint8_t *data, const int64_t *offsets, int64_t begin,
                                int64_t end, unitok_lexicon **ret, unitok_error *error);
int32_t unitok_lexicon_join(const unitok_lexicon *const *parts, int64_t n_parts,
                            unitok_lexicon **ret, unitok_error *error);
int64_t unitok_lexicon_memory_bytes(const unitok_lexicon *lexicon);
void unitok_lexicon_free(unitok_lexicon *lexicon);

/* Memory for one thread's lattices; NULL when memory is short. */
typedef struct unitok_lattice unitok_lattice;
unitok_lattice *unitok_lattice_new(void);
void unitok_lattice_free(unitok_lattice *lattice);

/* What calls with the same units and a model that only shrinks keep of them, so that later ones are
 * faster: at most max_bytes, or nothing. The first call fills it. NULL may be given to any. For one
 * thread at a time. renumber: the model's pieces have new numbers, numbers[i] for what was piece i;
 * -1: it has been dropped. */
typedef struct unitok_edges unitok_edges;
unitok_edges *unitok_edges_new(int64_t max_bytes);
void unitok_edges_renumber(unitok_edges *kept, const int64_t *numbers);
int64_t unitok_edges_memory_bytes(const unitok_edges *kept);
void unitok_edges_free(unitok_edges *kept);

/* The functions below take arrays by piece: scores[i] is the logarithm of a piece's probability
 * p[i]; -infinity, and 0, for pieces that were dropped. A character that no piece covers alone is
 * unknown and has a score of its own. Units and pieces must be valid UTF-8. They return an enum
 * unitok_status: OK, or MEMORY, after which the sums are of no use. */

/* Adds to expected[i], in multiples of 1 / unit, how often piece i is expected in the units over
 * all ways to make them up. The sums do not depend on the order of calls. *ret_log_likelihood is
 * added to. */
int32_t unitok_unigram_expect(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                              unitok_edges *kept, const double *p, double p_unknown,
                              const uint8_t *data, const int64_t *offsets, const uint64_t *counts,
                              int64_t n_units, double unit, uint64_t *expected,
                              double *ret_log_likelihood);

/* The same in float32 logarithms, as sentencepiece 0.2.3 does it with one thread, to the last bit.
 * unknown_piece: which piece unknown characters are counted for, or -1. */
int32_t unitok_unigram_expect_exact(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                                    unitok_edges *kept, const float *scores, float unknown_score,
                                    int64_t unknown_piece, const uint8_t *data,
                                    const int64_t *offsets, const uint64_t *counts, int64_t n_units,
                                    float *expected);

/* New scores from expected counts; pieces below min_count (0.5) are no longer alive. The sum goes
 * in `order`, which has the numbers of the n pieces that are alive. */
void unitok_unigram_maximize_f32(const float *expected, const int64_t *order, int64_t n,
                                 uint8_t *alive, float *scores);
enum unitok_prior {
    /* exp(digamma(count)): takes about a half from every count, so that rare pieces fade */
    UNITOK_PRIOR_DIGAMMA = 0,
    UNITOK_PRIOR_NONE = 1 /* plain shares */
};
void unitok_unigram_maximize_f64(const double *expected, int64_t n, double min_count, int32_t prior,
                                 uint8_t *alive, double *scores);

/* paths: adds to used[i] how often piece i is in the best paths of the units; *ret_score and
 * *ret_tokens are added to. losses: of pieces begin..end-1 of the list (data, offsets), what the
 * likelihood loses without the piece, given used[] and its sum: -infinity if it is not used or is
 * worth less than its parts, +infinity if nothing can take its place. parts: of how many pieces the
 * best path through piece i without itself is made: 0 if there is none, -1 if it is worth more than
 * the piece. */
int32_t unitok_unigram_paths_f32(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                                 unitok_edges *kept, const float *scores, float unknown_score,
                                 int64_t unknown_piece, const uint8_t *data, const int64_t *offsets,
                                 const uint64_t *counts, int64_t n_units, float *used,
                                 double *ret_score, int64_t *ret_tokens);
int32_t unitok_unigram_losses_f32(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                                  const float *scores, float unknown_score, int64_t unknown_piece,
                                  const uint8_t *data, const int64_t *offsets, int64_t begin,
                                  int64_t end, const float *used, float sum, float *losses);
int32_t unitok_unigram_parts_f32(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                                 const float *scores, float unknown_score, const uint8_t *data,
                                 const int64_t *offsets, int64_t begin, int64_t end,
                                 int32_t *parts);
int32_t unitok_unigram_paths_f64(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                                 unitok_edges *kept, const double *scores, double unknown_score,
                                 int64_t unknown_piece, const uint8_t *data, const int64_t *offsets,
                                 const uint64_t *counts, int64_t n_units, double *used,
                                 double *ret_score, int64_t *ret_tokens);
int32_t unitok_unigram_losses_f64(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                                  const double *scores, double unknown_score, int64_t unknown_piece,
                                  const uint8_t *data, const int64_t *offsets, int64_t begin,
                                  int64_t end, const double *used, double sum, double *losses);
int32_t unitok_unigram_parts_f64(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                                 const double *scores, double unknown_score, const uint8_t *data,
                                 const int64_t *offsets, int64_t begin, int64_t end,
                                 int32_t *parts);
/* ------------------------------------------------------------------------- Training BytePiece ---- */

/* Texts are cut by a model of byte n-grams, the pieces counted, and a Unigram model made of them:
 *
 *     texts ──ngrams──▶ counts ──model──▶ cutter ──▶ pieces and counts ──recount──▶ the pieces that are used ──▶ ...
 *
 * All of it is as in bytepiece 0.6.3, to the last bit. See csrc/train/ngrams.h for n-grams as
 * numbers. */

#define UNITOK_NGRAM_MAX_ORDER 7

/* Where adding packed documents stopped: at byte `position` of the data, in document `document`.
 * Begin with 0, 0; all are added when `document` is their number. */
typedef struct unitok_cursor {
    int64_t document;
    int64_t position;
} unitok_cursor;

/* Counts byte n-grams of 1..order bytes within the chunks of texts (csrc/train/chunks.h).
 * is_digit[0x110000]: characters that are chunks of their own; NULL: none; it must outlive the
 * table. One thread at a time. */
typedef struct unitok_ngrams unitok_ngrams;
int32_t unitok_ngrams_new(int32_t order, const uint8_t *is_digit, unitok_ngrams **ret,
                          unitok_error *error);
void unitok_ngrams_free(unitok_ngrams *ngrams);
/* After UNITOK_ERROR_MEMORY all is as it was. */
int32_t unitok_ngrams_clear(unitok_ngrams *ngrams, unitok_error *error);
int64_t unitok_ngrams_count(const unitok_ngrams *ngrams);
int64_t unitok_ngrams_memory_bytes(const unitok_ngrams *ngrams);
/* Adds the chunks from the cursor on until there are max_bytes or more. After an error, part of
 * them. */
int32_t unitok_ngrams_add(unitok_ngrams *ngrams, const uint8_t *data, const int64_t *offsets,
                          int64_t n_docs, int64_t max_bytes, unitok_cursor *cursor,
                          unitok_error *error);
/* Sorts in place; then nothing more is added until it is cleared. */
int32_t unitok_ngrams_sort(unitok_ngrams *ngrams, unitok_error *error);

/* Where reading sorted n-grams stopped; begin with 0, 0. */
typedef struct unitok_ngram_place {
    int64_t full; /* of the full order */
    int64_t other;
} unitok_ngram_place;

/* Copies the next n sorted n-grams, as far as there are; how many. */
int64_t unitok_ngrams_export(const unitok_ngrams *ngrams, unitok_ngram_place *place, int64_t n,
                             uint64_t *keys, uint64_t *counts);

/* The n-grams of two bytes or more that were seen min_count times, and all bytes. To make one:
 *
 *     twice: scan() all n-grams in order, each once; end_pass()
 *     finish()
 *     replace every count in tables.few and tables.large by its logarithm (float64), the log of 0 included
 *
 * Between the passes memory_bytes() says what the second one will allocate. Then it is immutable;
 * shared by threads. */
typedef struct unitok_ngram_model unitok_ngram_model;
int32_t unitok_ngram_model_new(int32_t order, uint64_t min_count, unitok_ngram_model **ret,
                               unitok_error *error);
void unitok_ngram_model_free(unitok_ngram_model *model);
int64_t unitok_ngram_model_memory_bytes(const unitok_ngram_model *model);
int32_t unitok_ngram_model_scan(unitok_ngram_model *model, const uint64_t *keys,
                                const uint64_t *counts, int64_t n, unitok_error *error);
/* Like scan(), of sorted tables that are merged on the way: of about `budget` n-grams from
 * places[0..n_tables-1] on. *ret_is_done says whether that was all. */
int32_t unitok_ngram_model_scan_tables(unitok_ngram_model *model,
                                       const unitok_ngrams *const *tables, int64_t n_tables,
                                       unitok_ngram_place *places, int64_t budget,
                                       int32_t *ret_is_done, unitok_error *error);
int32_t unitok_ngram_model_end_pass(unitok_ngram_model *model, unitok_error *error);
/* After the second pass: the count of all bytes, of which those that were not seen are given a
 * count of 1. */
uint64_t unitok_ngram_model_total(unitok_ngram_model *model);

typedef struct unitok_ngram_tables {
    uint64_t *few;      /* [0..65791]: counts of n-grams of one and of two bytes */
    uint64_t *slots;    /* longer ones, a table for each length: see csrc/train/ngrams.h */
    int64_t n_slots[8]; /* by length */
    /* [0..2 n_large_slots - 1]: those that were seen very often, each a number and a count */
    uint64_t *large;
    int64_t n_large_slots;
} unitok_ngram_tables;
/* The model's own. */
void unitok_ngram_model_get_tables(unitok_ngram_model *model, unitok_ngram_tables *ret);

#define UNITOK_NGRAM_LOGS 65536
/* The logarithms of the total and of 0, 1, 2, ...: logs[0..UNITOK_NGRAM_LOGS - 1] must outlive the
 * model. */
void unitok_ngram_model_finish(unitok_ngram_model *model, double log_total, const double *logs);

/* A finished model from the tables of another, with logarithms; they are copied. */
int32_t unitok_ngram_model_load(int32_t order, const unitok_ngram_tables *tables, double log_total,
                                const double *logs, unitok_ngram_model **ret, unitok_error *error);

enum unitok_ngram_flags {
    UNITOK_NGRAM_ENSURE_UNICODE = 1, /* no piece begins inside a character, */
    /* but where the model knows no other way; without this the rest of the chunk is cut into
     * bytes */
    UNITOK_NGRAM_MENDED = 2
};

/* Cuts chunks into pieces and counts them in `counter`; the model must outlive it. One thread at a
 * time. */
typedef struct unitok_ngram_cutter unitok_ngram_cutter;
int32_t unitok_ngram_cutter_new(const unitok_ngram_model *model, unitok_counter *counter,
                                const uint8_t *is_digit, int32_t flags, unitok_ngram_cutter **ret,
                                unitok_error *error);
void unitok_ngram_cutter_free(unitok_ngram_cutter *cutter);
/* Like unitok_ngrams_add(). */
int32_t unitok_ngram_cutter_add(unitok_ngram_cutter *cutter, const uint8_t *data,
                                const int64_t *offsets, int64_t n_docs, int64_t max_bytes,
                                unitok_cursor *cursor, unitok_error *error);

/* Adds to used[i] how often piece i is in the best paths of the units. Like
 * unitok_unigram_paths_f64(), but pieces and units are any bytes, all 256 bytes are pieces that are
 * alive (else UNITOK_ERROR_ARGUMENT), and all is counted in integers. */
int32_t unitok_unigram_recount(const unitok_lexicon *lexicon, unitok_lattice *lattice,
                               const uint8_t *alive, const double *scores, const uint8_t *data,
                               const int64_t *offsets, const uint64_t *counts, int64_t n_units,
                               uint64_t *used);

/* --------------------------------------------------------------- Training a greedy vocabulary ---- */

/* One round: the text is encoded with the pieces of the round, and counted is what each piece saves
 * and how often two stand side by side. The caller chooses which to drop and which to join, and
 * begins the next round. */

#define UNITOK_GREEDY_MAX_BYTES 256

/* Which strings may be pieces: whole characters, or a part of one; never across a blank line; and
 * at most */
typedef struct unitok_greedy_rules {
    int32_t max_piece_bytes; /* UNITOK_GREEDY_MAX_BYTES at most */
    int32_t max_run_bytes;   /* where all bytes are the same; likewise */
    /* 1: white space begins a piece and stands nowhere else in it, but for runs of it */
    int32_t max_words;
    int32_t max_digits; /* side by side */
    int32_t
        closed_words; /* 1: of ASCII, only letters follow a letter or a byte that is not ASCII, only digits a digit,
                                and before a digit there is a digit or white space. Words and numbers then end at cuts
                                (csrc/text/cut.h), which makes encoding up to twice as fast */
    int32_t
        leading_spaces; /* 1: no piece ends with a space but one that is all white space. Then a word has one form in
                                texts, with its space, and not a second one after pieces that took the space */
} unitok_greedy_rules;

int32_t unitok_greedy_allows(const unitok_greedy_rules *rules, const uint8_t *piece,
                             int64_t n_bytes);

/* The pieces of a round: data, offsets[0..n_pieces], sorted by bytes, none twice, all 256 bytes
 * among them. Both arrays stay the caller's and must outlive it. Immutable; may be shared by
 * threads. */
typedef struct unitok_greedy unitok_greedy;
int32_t unitok_greedy_new(const uint8_t *data, const int64_t *offsets, int64_t n_pieces,
                          const unitok_greedy_rules *rules, unitok_greedy **ret,
                          unitok_error *error);
void unitok_greedy_free(unitok_greedy *greedy);

/* What one thread counts in a round; `greedy` must outlive it. */
typedef struct unitok_greedy_counts unitok_greedy_counts;
int32_t unitok_greedy_counts_new(const unitok_greedy *greedy, unitok_greedy_counts **ret,
                                 unitok_error *error);
void unitok_greedy_counts_free(unitok_greedy_counts *counts);

enum unitok_greedy_flags {
    UNITOK_GREEDY_VALUES = 1, /* what pieces save: takes as long again */
    UNITOK_GREEDY_PAIRS = 2
};

/* Counts documents of one source; a source may come in several calls. O(n_bytes). */
int32_t unitok_greedy_count(unitok_greedy_counts *counts, const uint8_t *data,
                            const int64_t *offsets, int64_t n_docs, int32_t flags,
                            unitok_error *error);

/* The source is complete: its counts, damped (beyond `damping` they grow by their logarithm; 0:
 * never) and times `weight`, go into the sums, which therefore depend on no order. Pairs seen once
 * in it are dropped. */
int32_t unitok_greedy_end_source(unitok_greedy_counts *counts, int64_t weight, int64_t damping,
                                 unitok_error *error);

/* Adds another thread's sums. */
int32_t unitok_greedy_merge(unitok_greedy_counts *into, const unitok_greedy_counts *from,
                            unitok_error *error);

/* By piece, [0..n_pieces-1], in the memory of `counts`: weighted uses; weighted tokens that the
 * text would take more without it (negative: fewer); sources that use it. */
void unitok_greedy_pieces(const unitok_greedy_counts *counts, const int64_t **ret_uses,
                          const int64_t **ret_values, const int64_t **ret_n_sources);
void unitok_greedy_totals(const unitok_greedy_counts *counts, int64_t *ret_n_tokens,
                          int64_t *ret_n_bytes);

/* Pairs that may be joined, in no order: both pieces, weighted uses, sources that repeat it.
 * Returns how many there are, and writes at most `capacity`. */
int64_t unitok_greedy_pairs(const unitok_greedy_counts *counts, uint32_t *lefts, uint32_t *rights,
                            int64_t *gains, int64_t *n_sources, int64_t capacity);
