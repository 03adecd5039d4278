/* unitok_search.h - suffix arrays of tokens and the search in them */
#pragma once

#include "unitok.h"

/* ----------------------------------------------------------------------------- Suffix sorting ---- */

/* Suffix arrays of texts of uint8, uint16 or uint32 symbols, by induced sorting: linear time on
 * every text. The array lists where the suffixes begin, smallest first; they compare symbol by
 * symbol as numbers, and a suffix that begins another one is the smaller. Sorting is divided into
 * steps, so that the caller can show progress and stop:
 *
 *     unitok_suffix_new(...);  while (unitok_suffix_progress(s) < 1) unitok_suffix_step(s, budget, &error);
 */
typedef struct unitok_suffix unitok_suffix;

/* The longest text with positions of 4 bytes: the sorter needs their top bit. */
#define UNITOK_SUFFIX_MAX_32 2147483647

/* Begins to sort text[0..n-1] into sa[0..n-1]. Both stay the caller's and must outlive the sorter;
 * the text must not change. sa need not be initialised, and is not a suffix array before all steps
 * are done.
 *   symbol_bytes    1, 2 or 4
 *   n_symbols       symbol_bytes 4: all symbols are below this, at most 2^31; otherwise not read
 *   position_bytes  4 (n <= UNITOK_SUFFIX_MAX_32) or 8
 * Memory besides the two arrays: 8 positions a symbol (2 MiB for uint16, with positions of 4 bytes)
 * and a bit or two a symbol of text. Only where nearly every other suffix is smaller than its
 * neighbours, and most of these occur in several contexts, up to 0.4 * n positions more. */
int32_t unitok_suffix_new(const void *text, int64_t n, int32_t symbol_bytes, int64_t n_symbols,
                          void *sa, int32_t position_bytes, unitok_suffix **ret,
                          unitok_error *error);

/* Sorts on: `budget` suffixes are looked at, 10 to 60 million a second. After a failure the sorter
 * can only be freed: UNITOK_ERROR_MEMORY, or UNITOK_ERROR_ARGUMENT where text[position] is not
 * below n_symbols. */
int32_t unitok_suffix_step(unitok_suffix *suffix, int64_t budget, unitok_error *error);

/* How much is done, by time: below 1 until sa is complete, then exactly 1. */
double unitok_suffix_progress(const unitok_suffix *suffix);
void unitok_suffix_free(unitok_suffix *suffix);

/* text[i] becomes rank[text[i]] (rank NULL: itself), and counts[0..65535] grow by how often each of
 * these occurs. */
void unitok_suffix_rank(uint16_t *text, int64_t n, const uint16_t *rank, uint64_t *counts);

/* Common prefixes, in three steps, each of which may be divided into ranges begin..end-1 (0 <=
 * begin <= end <= n):
 *   1. unitok_suffix_phi      phi[sa[r]] = sa[r - 1], and n for r = 0; phi[0..n-1] must hold n before. Returns -1, or the
 *                             first r whose sa[r] is not below n
 *   2. unitok_suffix_plcp     phi[i] becomes the number of symbols that suffix i has in common with suffix phi[i], in
 *                             order of i. `common` is 0 at first, then what the call before returned
 *   3. the caller             lcp[r] = phi[sa[r]]
 * O(n) in all. Any sa is safe. */
int64_t unitok_suffix_phi(const void *sa, int64_t n, int32_t position_bytes, void *phi,
                          int64_t begin, int64_t end);
int64_t unitok_suffix_plcp(const void *text, int64_t n, int32_t symbol_bytes, void *phi,
                           int32_t position_bytes, int64_t begin, int64_t end, int64_t common);

/* Whether sa[0..n-1] is the suffix array of text[0..n-1], in ranges as above, in order: -1, or the
 * first r where it turns out not to be. Any sa is safe.
 *   rank    NULL, or uint16[65536] with symbol_bytes 2: suffixes compare by rank[symbol]
 *   starts  [0..n_symbols]: starts[c] suffixes begin with a symbol (a rank) below c; not decreasing, at most n
 *   heads   [0..n_symbols-1]: a copy of starts at first; the calls keep it
 * Reads the text in random order, and no more memory than this. */
int64_t unitok_suffix_check(const void *text, int64_t n, int32_t symbol_bytes, const uint16_t *rank,
                            int64_t n_symbols, const void *sa, int32_t position_bytes,
                            const uint64_t *starts, uint64_t *heads, int64_t begin, int64_t end);

/* ---------------------------------------------------------------------------------- Search ---- */

/* A shard of an index: tokens, their suffix array, and the small tables that go with it. The caller
 * keeps all arrays alive; nothing is ever written. Searches may run in any number of threads. The
 * contents of the arrays may be hostile once unitok_search_check has passed: answers are then
 * wrong, but nothing outside the arrays is read. */
typedef struct unitok_search_shard {
    int64_t n;           /* tokens, less than 2^32 */
    const uint16_t *ids; /* [0..n-1] */
    /* [0..n-1]: where the r-th smallest suffix begins, by `rank`, the shorter one first */
    const uint32_t *sa;
    const uint64_t *first; /* [0..65536]: first[k] suffixes begin with a token of rank < k */
    const uint8_t *
        top; /* [0..n_top-1] records of 20 bytes, one for every 4,096th suffix: its position (u32) and the ranks
                            * of its first 8 tokens (u16). NULL with n_top 0: slower */
    int64_t n_top;
    /* [0..n-1]: the token before each suffix; NULL: slower for texts that begin inside a token */
    const uint16_t *left;
    const uint16_t *rank; /* [0..65535]: of each id, a permutation */
    /* [0..n_documents-1]: where each document ends, exclusive, plus `begin` */
    const uint64_t *ends;
    int64_t n_documents;
    uint64_t begin;
    int32_t eod; /* the last token of every document, or -1 */
    /* of unitok_search_inside; NULL: slower for texts of one or two bytes */
    const uint64_t *inside;
} unitok_search_shard;

/* UNITOK_ERROR_ARGUMENT where a size is out of range or `first` is not a list of bucket starts.
 * Call it before anything else. */
int32_t unitok_search_check(const unitok_search_shard *shard, unitok_error *error);

/* The suffixes that begin with ids[begins[q]..ends[q]), for each of n_queries: [lo[q], hi[q]) in
 * `sa`; their number is how often the sequence occurs. An empty sequence: all. Sequences may
 * overlap in ids. O(log n) cache misses each. */
void unitok_search_tokens(const unitok_search_shard *shard, const uint16_t *ids,
                          const int64_t *begins, const int64_t *ends, int64_t n_queries,
                          int64_t *lo, int64_t *hi);

/* The distinct tokens after the first `depth` tokens of the suffixes [lo, hi), which share these,
 * in the order of their ranks, and how often each follows. Returns how many there are; writes the
 * first `capacity`. O(distinct * log n). */
int64_t unitok_search_next(const unitok_search_shard *shard, int64_t lo, int64_t hi, int64_t depth,
                           uint16_t *ids, int64_t *counts, int64_t capacity);

/* Adds to counts[0..65535] how often each token stands before the suffixes [lo, hi). O(hi - lo),
 * sequential with `left`. */
void unitok_search_previous(const unitok_search_shard *shard, int64_t lo, int64_t hi,
                            int64_t *counts);

/* The sequences of n_tokens tokens that occur at least min_count times, in the order of the suffix
 * array: where one occurrence begins, and how many there are. Reads about n_suffixes suffixes from
 * *io_rank on and moves that on; done when it is n. Returns how many it wrote, at most `capacity`
 * (at least 1). */
int64_t unitok_search_ngrams(const unitok_search_shard *shard, int64_t n_tokens, int64_t min_count,
                             int64_t n_suffixes, int64_t *io_rank, uint32_t *positions,
                             int64_t *counts, int64_t capacity);

/* ret[k] = the sum of sizes[id] over ids[begins[k]..ends[k]); sizes has an entry for every id there
 * is in ids. */
void unitok_search_sizes(const uint16_t *ids, const uint32_t *sizes, const int64_t *begins,
                         const int64_t *ends, int64_t n, int64_t *ret);

/* The bytes that each id stands for, sorted: what it takes to search for text. Immutable, shared by
 * shards and threads. */
typedef struct unitok_search_pieces unitok_search_pieces;

/* Builds one.
 *   data, offsets[0..n_ids]  the bytes of ids 0..n_ids-1, n_ids <= 65536; an id without bytes matches nothing
 *   drops_space[0..n_ids-1]  1: decoding drops the first byte, a space, of this id at the start of a document
 *   rank[0..65535]           as in the shards. Fastest where it rises by one from piece to piece in byte order
 *   order                    the suffix array of the pieces as symbols byte + 1, each followed by a 0: as many entries as
 *                            there are bytes and ids
 * Nothing passed in is kept. Memory: some 6 bytes a byte of pieces and 0.5 MB. */
int32_t unitok_search_pieces_new(const uint8_t *data, const int64_t *offsets,
                                 const uint8_t *drops_space, int64_t n_ids, const uint16_t *rank,
                                 const uint32_t *order, unitok_search_pieces **ret,
                                 unitok_error *error);
void unitok_search_pieces_free(unitok_search_pieces *pieces);
int64_t unitok_search_pieces_memory_bytes(const unitok_search_pieces *pieces);

/* Fills sums[0..n], n = unitok_search_inside_sums, for shard.inside. Some ms. */
#define UNITOK_SEARCH_INSIDE_STEP 64
int64_t unitok_search_inside_sums(const unitok_search_pieces *pieces);
void unitok_search_inside(const unitok_search_pieces *pieces, const unitok_search_shard *shard,
                          uint64_t *sums);

#define UNITOK_SEARCH_TEXT_MAX 1073741824

/* Counts texts data[offsets[k]..offsets[k + 1]), k < n, in the documents of a shard, whatever
 * tokens they lie in: inside of one, across several, from and to the middle of one; overlapping
 * occurrences too, and none across documents. counts[k] is exact unless is_approx[k] is set: then
 * the work came to max_work (about a nanosecond a unit) and it is a lower bound. The empty text
 * counts as 0. Typically O(tokens of the text * log n) cache misses. UNITOK_ERROR_MEMORY. */
int32_t unitok_search_count(const unitok_search_pieces *pieces, const unitok_search_shard *shard,
                            const uint8_t *data, const int64_t *offsets, int64_t n,
                            int64_t max_work, int64_t *counts, uint8_t *is_approx,
                            unitok_error *error);

/* Occurrences of a text: for each r of lo..hi-1 one that begins `back` tokens before the suffix
 * sa[r], `skip` bytes into that token. */
typedef struct unitok_search_run {
    int64_t lo, hi;
    int32_t back, skip;
} unitok_search_run;

/* Like unitok_search_count, but says where: (*ret)[0..*ret_n-1], for unitok_search_runs_free. Stops
 * when there are max_hits or more. Each occurrence is in one run; equal calls give equal runs. */
int32_t unitok_search_find(const unitok_search_pieces *pieces, const unitok_search_shard *shard,
                           const uint8_t *text, int64_t n_bytes, int64_t max_hits, int64_t max_work,
                           unitok_search_run **ret, int64_t *ret_n, uint8_t *is_approx,
                           unitok_error *error);
void unitok_search_runs_free(unitok_search_run *runs);

/* Where occurrences of n_bytes bytes end that begin skips[k] bytes into token tokens[k]: in token
 * last[k], whose first used[k] bytes, at least one, are part of it. */
void unitok_search_ends(const unitok_search_pieces *pieces, const unitok_search_shard *shard,
                        const int64_t *tokens, const int64_t *skips, int64_t n_hits,
                        int64_t n_bytes, int64_t *last, int64_t *used);

/* A hit whose surroundings are wanted: n_bytes bytes of decoded text from byte `skip` of token
 * `token` on, in a document of the tokens begin..end-1; decoding drops the first `dropped` bytes of
 * that document. */
typedef struct unitok_search_hit {
    int64_t token, skip, n_bytes, begin, end, dropped;
} unitok_search_hit;

/* Writes for each hit up to `before` characters that precede it in its document, the hit, and up to
 * `after` characters that follow it: out[bounds[3k]..bounds[3k + 1]), ..bounds[3k + 2]),
 * ..bounds[3k + 3]). Only the hit itself can begin or end within a character.
 *   data, offsets[0..65536]  what each id adds to a decoded document
 *   hits[0..n_hits-1]        0 <= begin <= token <= end, all of begin..end-1 in ids; other fields >= 0
 *   out                      room for the sum of n_bytes, and 4 * (before + after) bytes for each hit
 *   bounds[0..3 * n_hits]  */
void unitok_search_contexts(const uint16_t *ids, const uint8_t *data, const int64_t *offsets,
                            const unitok_search_hit *hits, int64_t n_hits, int64_t before,
                            int64_t after, uint8_t *out, int64_t *bounds);

/* Finds every sequence of n_tokens tokens that occurs more than once within documents, in all
 * shards together. */
typedef struct unitok_repeats unitok_repeats;

/* Suffixes lo..hi-1 of a shard begin with the same n_tokens tokens, and `count` times these occur
 * in all; the first time, by the order of shards and of their tokens, at first_position of
 * first_shard. */
typedef struct unitok_repeat {
    int64_t lo, hi, count;
    int32_t shard, first_shard;
    uint32_t first_position;
} unitok_repeat;

/* `shards[0..n_shards-1]`, all of one rank, stay the caller's and must outlive it. n_tokens >= 1.
 */
int32_t unitok_repeats_new(const unitok_search_shard *const *shards, int32_t n_shards,
                           int64_t n_tokens, unitok_repeats **ret, unitok_error *error);
/* Passes about n_suffixes more suffixes and writes what it finds to out[0..capacity-1], capacity >=
 * n_shards: how many. *ret_done: suffixes passed so far; it has finished when these are all. Some
 * million suffixes a second. */
int64_t unitok_repeats_step(unitok_repeats *repeats, int64_t n_suffixes, unitok_repeat *out,
                            int64_t capacity, int64_t *ret_done);
void unitok_repeats_free(unitok_repeats *repeats);
/* Writes records of one shard, the `number`-th, down at the tokens where such a sequence begins:
 * counts[position] and later[position], 1 unless it is the first occurrence or overlaps it. Both
 * [0..n-1], zero before. */
void unitok_repeats_mark(const unitok_search_shard *shard, int32_t number, int64_t n_tokens,
                         const unitok_repeat *records, int64_t n, uint32_t *counts, uint8_t *later);
