/* unitok_search.h - suffix arrays, and searching token files with them
 *
 *     text ──▶ unitok_suffix ──▶ suffix array ──┐
 *                                               ▼
 *     tokens, bounds of documents ──▶ unitok_search_shard
 *                                               │
 *     unitok_search_pieces ──────────────┬──────┘
 *     the bytes of all ids, sorted       ▼
 *                          unitok_search_count, _find: where a text occurs
 *
 * Lifetimes and threads. A sorter and a shard borrow the caller's arrays: the arrays must outlive
 * both and not change, except that the sorter writes the suffix array. A shard is a struct that the
 * caller fills; nothing is freed with it. Shards and pieces are immutable and may be shared by any
 * number of threads, in any combination; a sorter belongs to one call at a time. Every object is
 * freed by its own function, which accepts NULL. The conventions are those of unitok.h.
 *
 * Each section is bound by a module of pyunitok/_c: Suffix sorting (suffix.py), Search (search.py),
 * Compact index (compact.py).
 */
#pragma once

#include "unitok.h"

/* -------------------------------------------------------------------------- Suffix sorting ---- */

/* Sorts the suffixes of a text of uint8, uint16 or uint32 symbols by induced sorting, in linear
 * time for every text. The suffix array lists where the suffixes begin, smallest first. Suffixes
 * are compared symbol by symbol, as numbers, and a suffix that is a prefix of another one is
 * smaller. Sorting is divided into steps, so that the caller can show progress and stop:
 *
 *     unitok_suffix_new(...);
 *     do unitok_suffix_step(suffix, budget, &progress, &error); while (progress < 1); */
typedef struct unitok_suffix unitok_suffix;

/* The maximum length of a text with positions of 4 bytes: the sorter needs their top bit. */
#define UNITOK_SUFFIX_MAX_32 2147483647

/* Begins to sort text[0..n-1] into sa[0..n-1]; the sorter keeps both. sa need not be initialized,
 * and becomes a suffix array only in the last step.
 *   symbol_bytes    1, 2 or 4
 *   n_symbols       if symbol_bytes is 4: all symbols are below this, at most 2^31; else ignored
 *   position_bytes  4 (n <= UNITOK_SUFFIX_MAX_32) or 8
 * Memory besides the two arrays: 8 positions per symbol of the alphabet (2 MiB for uint16 with
 * positions of 4 bytes) and up to two bits per symbol of text. Up to 0.4 * n positions more are
 * needed only if nearly every other suffix is smaller than its neighbours and most of these occur
 * in several contexts. */
int32_t unitok_suffix_new(const void *text, int64_t n, int32_t symbol_bytes, int64_t n_symbols,
                          void *sa, int32_t position_bytes, unitok_suffix **ret,
                          unitok_error *error);

/* Before the first step, asks for what a compact index is built from instead of the suffix array:
 * sa[r] becomes the symbol before suffix r, or 0 for the suffix at position 0, and rows[p / every]
 * the row of the suffix at position p, for every multiple p of `every`, a power of two. The sorter
 * keeps rows[0..(n - 1) / every]. n <= UNITOK_SUFFIX_MAX_32. */
int32_t unitok_suffix_before(unitok_suffix *suffix, uint32_t *rows, int64_t every,
                             unitok_error *error);

/* Continues to sort: visits `budget` suffixes, at 10 to 60 million per second. *ret_progress
 * estimates the fraction of the time that has passed: below 1 until sa is complete, then exactly 1.
 * Fails with UNITOK_ERROR_MEMORY, or with UNITOK_ERROR_ARGUMENT if text[position] is not below
 * n_symbols; the sorter can then only be freed. */
int32_t unitok_suffix_step(unitok_suffix *suffix, int64_t budget, double *ret_progress,
                           unitok_error *error);
void unitok_suffix_free(unitok_suffix *suffix);

/* Ids have 2 or 4 bytes, and are below one of these two limits. Larger ids of 4 bytes are reduced
 * modulo the limit when they are read, so that they stay within the tables. */
#define UNITOK_SEARCH_IDS_16 65536
#define UNITOK_SEARCH_IDS_32 262144

/* Replaces text[i], an id of id_bytes bytes, with rank[text[i]], unless rank is NULL, and adds the
 * number of times that each result occurs to `counts`, which like `rank` has an entry for every id.
 * Returns -1, or stops at the first i whose id is out of range, and returns i. */
int64_t unitok_suffix_rank(void *text, int64_t n, int32_t id_bytes, const uint32_t *rank,
                           uint64_t *counts);

/* Compute common prefixes in three steps, each of which may be divided into ranges begin..end-1, 0
 * <= begin <= end <= n:
 *   1. unitok_suffix_phi   phi[sa[r]] = sa[r - 1], and n for r = 0. All of phi[0..n-1] must be n on
 *                          entry. Returns -1, or the first r whose sa[r] is not below n
 *   2. unitok_suffix_plcp  phi[i] becomes the number of symbols that suffix i has in common with
 *                          suffix phi[i]. The ranges must be in order; `common` is 0 in the first
 *                          call, then the result of the previous call
 *   3. the caller          lcp[r] = phi[sa[r]]
 * O(n) in total. Any sa is safe. */
int64_t unitok_suffix_phi(const void *sa, int64_t n, int32_t position_bytes, void *phi,
                          int64_t begin, int64_t end);
int64_t unitok_suffix_plcp(const void *text, int64_t n, int32_t symbol_bytes, void *phi,
                           int32_t position_bytes, int64_t begin, int64_t end, int64_t common);

/* Checks that sa[0..n-1] is the suffix array of text[0..n-1], in ranges begin..end-1 that must be
 * in order.
 *   rank    NULL, or [0..n_symbols-1]: suffixes are compared by rank[symbol]
 *   starts  [0..n_symbols]: starts[c] suffixes begin with a symbol (a rank) below c; not
 *           decreasing, at most n
 *   heads   [0..n_symbols-1]: initially a copy of starts; the calls update it
 * Returns -1, or the first r at which the array is wrong. Any sa is safe. Reads the text in random
 * order, and allocates nothing. */
int64_t unitok_suffix_check(const void *text, int64_t n, int32_t symbol_bytes, const uint32_t *rank,
                            int64_t n_symbols, const void *sa, int32_t position_bytes,
                            const uint64_t *starts, uint64_t *heads, int64_t begin, int64_t end);

/* ---------------------------------------------------------------------------------- Search ---- */

/* A shard of an index: tokens, their suffix array, and the small tables that belong to it. After
 * unitok_search_check has succeeded, even hostile arrays are safe: answers are then wrong, but
 * nothing outside the arrays is read. */
typedef struct unitok_search_shard {
    int64_t n;          /* tokens, less than 2^32 */
    const void *ids;    /* [0..n-1], each of id_bytes bytes */
    int32_t id_bytes;   /* 2 or 4; n_ids stands for UNITOK_SEARCH_IDS_16 or UNITOK_SEARCH_IDS_32 */
    const uint32_t *sa; /* [0..n-1]: where the r-th smallest suffix begins; compared by `rank` */
    const uint64_t *first; /* [0..n_ids]: first[k] suffixes begin with a token of rank < k */
    /* [0..n_top-1] records of 4 + 8 * id_bytes bytes, one for every 4,096th suffix: its position
     * (u32) and the ranks of its first 8 tokens. NULL with n_top 0: slower */
    const uint8_t *top;
    int64_t n_top;
    /* [0..n-1]: the token before each suffix. NULL: slower for texts that begin inside a token */
    const void *left;
    const uint32_t *rank; /* [0..n_ids-1]: the rank of each id; a permutation */
    const uint64_t *ends; /* [0..n_documents-1]: the end of each document, plus `begin` */
    int64_t n_documents;
    uint64_t begin;
    int32_t eod; /* the last token of every document, or -1 */
    /* from unitok_search_inside. NULL: slower for texts of one or two bytes */
    const uint64_t *inside;
} unitok_search_shard;

/* Must be called before any search. Fails with UNITOK_ERROR_ARGUMENT if a size is out of range or
 * `first` is not a list of bucket starts. */
int32_t unitok_search_check(const unitok_search_shard *shard, unitok_error *error);

/* Finds the suffixes that begin with ids[begins[q]..ends[q]), for each q < n_queries: they are
 * lo[q]..hi[q]-1 in `sa`, and hi[q] - lo[q] is how often the sequence occurs. Every suffix begins
 * with the empty sequence, and none with a sequence that contains an id out of range. Sequences may
 * overlap in ids. Takes O(log n) cache misses per sequence. */
void unitok_search_tokens(const unitok_search_shard *shard, const uint32_t *ids,
                          const int64_t *begins, const int64_t *ends, int64_t n_queries,
                          int64_t *lo, int64_t *hi);

/* Lists the distinct tokens that follow the first `depth` tokens of suffixes lo..hi-1, which must
 * all begin with the same `depth` tokens, in ascending order of rank, and how often each follows. Returns
 * their number, and writes the first `capacity`. O(distinct * log n). */
int64_t unitok_search_next(const unitok_search_shard *shard, int64_t lo, int64_t hi, int64_t depth,
                           uint32_t *ids, int64_t *counts, int64_t capacity);

/* Adds to counts[0..n_ids-1] how often each token precedes suffixes lo..hi-1. O(hi - lo); reads
 * memory sequentially if `left` is set. */
void unitok_search_previous(const unitok_search_shard *shard, int64_t lo, int64_t hi,
                            int64_t *counts);

/* Lists the sequences of n_tokens tokens that occur at least min_count times, in the order of the
 * suffix array: the position of one occurrence, and the count. Reads about n_suffixes suffixes from
 * *io_rank on and advances *io_rank, which is n once all have been read. Returns how many it wrote,
 * at most `capacity`, which is at least 1. */
int64_t unitok_search_ngrams(const unitok_search_shard *shard, int64_t n_tokens, int64_t min_count,
                             int64_t n_suffixes, int64_t *io_rank, uint32_t *positions,
                             int64_t *counts, int64_t capacity);

/* ret[k] = the sum of sizes[id] over ids[begins[k]..ends[k]), k < n. sizes must have n_ids
 * entries. */
void unitok_search_sizes(const void *ids, int32_t id_bytes, const uint32_t *sizes,
                         const int64_t *begins, const int64_t *ends, int64_t n, int64_t *ret);

/* The bytes of every id, sorted: required to search for text. */
typedef struct unitok_search_pieces unitok_search_pieces;

/* Builds the sorted pieces.
 *   data, offsets  the bytes of ids 0..n_pieces-1; an id without bytes matches nothing
 *   n_ids          UNITOK_SEARCH_IDS_16 or UNITOK_SEARCH_IDS_32, as in the shards; at least n_pieces
 *   drops_space    [0..n_pieces-1]: 1 if decoding drops the first byte, a space, of this id at the
 *                  start of a document
 *   rank           [0..n_ids-1]: as in the shards. Searches are fastest if ranks increase by one
 *                  from piece to piece in byte order
 *   order          the suffix array of the pieces, with byte + 1 as the symbol of a byte and a 0
 *                  after each piece: one entry for each byte and each piece
 * Memory: about 9 bytes for each byte of the pieces, and 5 for each of n_ids. */
int32_t unitok_search_pieces_new(const uint8_t *data, const int64_t *offsets,
                                 const uint8_t *drops_space, int64_t n_pieces, int64_t n_ids,
                                 const uint32_t *rank, const uint32_t *order,
                                 unitok_search_pieces **ret, unitok_error *error);
void unitok_search_pieces_free(unitok_search_pieces *pieces);

#define UNITOK_SEARCH_INSIDE_STEP 64
/* Fills sums[0..result] for shard->inside, unless sums is NULL, and returns the last index. Takes a
 * few milliseconds. */
int64_t unitok_search_inside(const unitok_search_pieces *pieces, const unitok_search_shard *shard,
                             uint64_t *sums);

#define UNITOK_SEARCH_TEXT_MAX 1073741824

/* Counts the texts data[offsets[k]..offsets[k + 1]), k < n, in the documents of a shard, however
 * tokens divide them: inside one token, or across several, from the middle of one to the middle of
 * another. Overlapping occurrences count; occurrences across documents do not. counts[k] is exact
 * unless is_approx[k] is set: then the search stopped after max_work units, about a nanosecond
 * each, and the count is a lower bound. The empty text counts as 0. A text of t tokens typically
 * takes O(t * log n) cache misses. Only UNITOK_ERROR_MEMORY is possible. */
int32_t unitok_search_count(const unitok_search_pieces *pieces, const unitok_search_shard *shard,
                            const uint8_t *data, const int64_t *offsets, int64_t n,
                            int64_t max_work, int64_t *counts, uint8_t *is_approx,
                            unitok_error *error);

/* Occurrences of a text: for each r in lo..hi-1, one that begins `back` tokens before the suffix
 * sa[r], `skip` bytes into that token. */
typedef struct unitok_search_run {
    int64_t lo, hi;
    int32_t back, skip;
} unitok_search_run;

/* Like unitok_search_count, but lists the occurrences of one text as runs (*ret)[0..*ret_n-1], to
 * be freed with unitok_search_runs_free. Stops once it has found max_hits or more. Every occurrence
 * is in exactly one run; equal calls return equal runs. */
int32_t unitok_search_find(const unitok_search_pieces *pieces, const unitok_search_shard *shard,
                           const uint8_t *text, int64_t n_bytes, int64_t max_hits, int64_t max_work,
                           unitok_search_run **ret, int64_t *ret_n, uint8_t *is_approx,
                           unitok_error *error);
void unitok_search_runs_free(unitok_search_run *runs);

/* Finds the ends of occurrences of n_bytes bytes that begin skips[k] bytes into token tokens[k], k
 * < n_hits: occurrence k ends in token last[k], whose first used[k] >= 1 bytes belong to it. */
void unitok_search_ends(const unitok_search_pieces *pieces, const unitok_search_shard *shard,
                        const int64_t *tokens, const int64_t *skips, int64_t n_hits,
                        int64_t n_bytes, int64_t *last, int64_t *used);

/* A hit to display: n_bytes bytes of decoded text, from byte `skip` of token `token` on, in the
 * document of tokens begin..end-1. Decoding drops the first `dropped` bytes of that document. */
typedef struct unitok_search_hit {
    int64_t token, skip, n_bytes, begin, end, dropped;
} unitok_search_hit;

/* Writes each hit with up to `before` characters that precede it in its document and up to `after`
 * that follow it: out[bounds[3k]..bounds[3k + 1]) precedes hit k, out[bounds[3k + 1]..bounds[3k +
 * 2]) is the hit, and out[bounds[3k + 2]..bounds[3k + 3]) follows it. Only the hit itself can begin
 * or end inside a character.
 *   data, offsets  [0..n_ids]: the bytes that each id adds to a decoded document
 *   hits           [0..n_hits-1]: 0 <= begin <= token <= end, tokens begin..end-1 are in ids; the
 *                  other fields >= 0
 *   out            the sum of n_bytes, and 4 * (before + after) bytes for each hit
 *   bounds         [0..3 * n_hits] */
void unitok_search_contexts(const void *ids, int32_t id_bytes, const uint8_t *data,
                            const int64_t *offsets, const unitok_search_hit *hits, int64_t n_hits,
                            int64_t before, int64_t after, uint8_t *out, int64_t *bounds);

/* ----------------------------------------------------------------------------------- Words ---- */

/* Adds to counts[w] how often word w occurs in words[begins[k]..ends[k]), k < n_ranges. Returns 1,
 * or 0 if a word is not less than n_words; some words are then not counted. */
int32_t unitok_words_count(const uint32_t *words, const int64_t *begins, const int64_t *ends,
                           int64_t n_ranges, int64_t n_words, int64_t *counts);

/* Narrows the intervals [lo[k], hi[k]) of the suffix array sa[0..n-1] of words[0..n-1], k <
 * n_intervals. All suffixes of an interval have their first `depth` words in common; only those
 * whose next word is in first[k]..last[k] remain. Word 0 is assumed after the last word. Returns 1,
 * or 0 if a suffix begins past the end. */
int32_t unitok_words_narrow(const uint32_t *words, const uint32_t *sa, int64_t n, int64_t depth,
                            const int64_t *first, const int64_t *last, int64_t n_intervals,
                            int64_t *lo, int64_t *hi);

#define UNITOK_WORDS_MAX_PLACES 64
#define UNITOK_WORDS_MAX_SPAN 256

/* A query: words that follow each other, with gaps between them. */
typedef struct unitok_words_query {
    /* [0..n_words-1]: bit k is set if place k accepts the word. No place accepts word 0, the end of
     * a document */
    const uint64_t *places;
    const uint8_t *first; /* bit w % 8 of first[w / 8]: whether place 0 accepts word w */
    int64_t n_words;
    int32_t n_places; /* 1 to UNITOK_WORDS_MAX_PLACES */
    int32_t span;     /* length of the longest match in words, at most UNITOK_WORDS_MAX_SPAN */
    /* [0..n_places-2]: least[k] to most[k] other words are between places k and k + 1 */
    const int32_t *least, *most;
} unitok_words_query;

/* Lists the matches in words[0..n-1] that begin at *io_at to end - 1, only the shortest for each
 * beginning: words begins[i] to ends[i] - 1. Advances *io_at to `end`, or to less if there are
 * `capacity` matches. Returns their number, or -1 if a word is not less than n_words. Takes about a
 * nanosecond per word. */
int64_t unitok_words_find(const uint32_t *words, int64_t n, const unitok_words_query *query,
                          int64_t end, int64_t *io_at, int64_t *begins, int64_t *ends,
                          int64_t capacity);

/* --------------------------------------------------------------------------- Compact index ---- */

/* A compressed suffix array, which also contains the text: see csrc/suffix/compact.h. Symbols are
 * below 2^18. Row r is the r-th smallest suffix, as in a suffix array of the same text. */
typedef struct unitok_compact unitok_compact;
typedef struct unitok_compact_builder unitok_compact_builder;

#define UNITOK_COMPACT_SYMBOLS 262144 /* UNITOK_SEARCH_IDS_32 */
#define UNITOK_COMPACT_SECTIONS 8
#define UNITOK_COMPACT_FOOTER_BYTES 696
#define UNITOK_COMPACT_MIN_CAPACITY 65536

/* Begins to build a compact index of text[0..n-1], n <= UNITOK_SUFFIX_MAX_32, with suffix array
 * sa[0..n-1]. Keeps all arrays, and overwrites text and sa.
 *   rows           NULL; or sa and rows are from unitok_suffix_before with every = rows_every
 *   rows_every     if rows is given: a power of two that divides locate_every and extract_every
 *   symbol_bytes   1, 2 or 4; all symbols are below n_symbols
 *   block          64 or 128 entries: 64 is faster and 6 % larger
 *   locate_every   the distance between the positions stored to locate rows, a power of two up to
 *                  1,024; 0: rows cannot be located
 *   extract_every  the distance between the rows stored to read the text, in positions, at most
 *                  1,024; 0: the text cannot be read
 * Memory besides these arrays, in bytes per symbol of text: 1 / block, up to 5 / locate_every, and
 * 4 / extract_every; if rows is NULL, also 4 / the largest power of two that divides both. */
int32_t unitok_compact_builder_new(void *text, int64_t n, int32_t symbol_bytes, int64_t n_symbols,
                                   uint32_t *sa, uint32_t *rows, int64_t rows_every, int32_t block,
                                   int32_t locate_every, int32_t extract_every,
                                   unitok_compact_builder **ret, unitok_error *error);
void unitok_compact_builder_free(unitok_compact_builder *builder);

/* Continues to build: visits about `budget` suffixes and writes the next bytes of the file, out[0..
 * *ret_bytes-1], capacity >= UNITOK_COMPACT_MIN_CAPACITY. They belong to section *ret_section: -1
 * before the first one, UNITOK_COMPACT_SECTIONS for the footer, which is written by one call. The
 * footer begins with the XXH64 of every section, u64 each, which the caller fills in, and its own
 * XXH64 is 16 bytes before its end. *ret_progress is 1 when the file is complete.
 * UNITOK_ERROR_ARGUMENT if sa is not a suffix array; a wrong array may instead produce a wrong
 * index, which is safe to open. */
int32_t unitok_compact_builder_step(unitok_compact_builder *builder, int64_t budget, uint8_t *out,
                                    int64_t capacity, int64_t *ret_bytes, int32_t *ret_section,
                                    double *ret_progress, unitok_error *error);

/* Opens image[0..n_bytes-1], a file in memory aligned to 8 bytes, and keeps it. Fails with
 * UNITOK_ERROR_FORMAT if it is not a compact index. Checks what it reads: the footer and the starts
 * of the lists, 0.3 to 1 MB. Checksums are not verified. The rest may be hostile: answers are then
 * wrong, but nothing outside the image is read. Memory: 400 KB. */
int32_t unitok_compact_open(const uint8_t *image, int64_t n_bytes, unitok_compact **ret,
                            unitok_error *error);
void unitok_compact_free(unitok_compact *compact);

typedef struct unitok_compact_info {
    int64_t n, n_symbols;
    const uint32_t *first; /* [0..n_symbols]: first[c] suffixes begin with a symbol below c */
    int64_t first_row;     /* the row of the suffix at position 0 */
    int32_t symbol_bytes, block, locate_every, extract_every;
} unitok_compact_info;
void unitok_compact_get_info(const unitok_compact *compact, unitok_compact_info *ret);

/* Like unitok_search_tokens, for symbols. No row begins with a symbol that is out of range. Takes
 * 0.3 to 1 us per symbol; the searches for 32 sequences are interleaved. */
void unitok_compact_tokens(const unitok_compact *compact, const uint32_t *symbols,
                           const int64_t *begins, const int64_t *ends, int64_t n_queries,
                           int64_t *lo, int64_t *hi);

/* Like unitok_search_next and unitok_search_previous, for symbols; unitok_compact_previous fills
 * counts[0..n_symbols-1]. unitok_compact_next takes O(distinct * depth * log n);
 * unitok_compact_previous takes one search for every symbol that occurs. */
int64_t unitok_compact_next(const unitok_compact *compact, int64_t lo, int64_t hi, int64_t depth,
                            uint32_t *symbols, int64_t *counts, int64_t capacity);
void unitok_compact_previous(const unitok_compact *compact, int64_t lo, int64_t hi,
                             int64_t *counts);

/* positions[k] = the position of the suffix of row rows[k], k < n; -1 if the file is damaged or the
 * row is out of range. Takes locate_every / 2 steps of 0.3 to 1 us each. */
int32_t unitok_compact_locate(const unitok_compact *compact, const int64_t *rows, int64_t n,
                              int64_t *positions, unitok_error *error);

/* Writes the symbols at positions begins[k]..ends[k]-1, for each k < n in turn, and the rows of the
 * suffixes that begin there, unless `rows` is NULL: one step per symbol, and extract_every / 2 steps for
 * each k. */
int32_t unitok_compact_extract(const unitok_compact *compact, const int64_t *begins,
                               const int64_t *ends, int64_t n, uint32_t *symbols, uint32_t *rows,
                               unitok_error *error);

/* Reads the text from left to right, which requires no samples: writes the first symbols of the
 * suffix of `row` and of the suffixes that follow it in the text, symbols[0..n-1], and their rows,
 * unless `rows` is NULL. Returns the row after the last one, or -1 at the end of the text; the
 * symbols after it are 0. Begin with first_row. Takes one step per symbol. */
int64_t unitok_compact_walk(const unitok_compact *compact, int64_t row, int64_t n,
                            uint32_t *symbols, uint32_t *rows);

/* A compact index, with the tables that a search for text needs. Its symbols are the ranks of n_ids
 * ids. */
typedef struct unitok_compact_shard {
    const unitok_compact *compact;
    int64_t n_ids;        /* UNITOK_SEARCH_IDS_16 or UNITOK_SEARCH_IDS_32 */
    const uint32_t *rank; /* [0..n_ids-1]: the symbol of each id, a permutation, */
    const uint32_t *ids;  /* [0..n_ids-1]: and its inverse */
    const uint64_t *ends; /* this and the rest: as in unitok_search_shard */
    int64_t n_documents;
    uint64_t begin;
    int32_t eod;
} unitok_compact_shard;

/* Must be called before a search. Fails with UNITOK_ERROR_ARGUMENT if a number is out of range. */
int32_t unitok_compact_check(const unitok_compact_shard *shard, unitok_error *error);

/* Like unitok_search_count and unitok_search_find: the counts and the occurrences are the same. In
 * each run, `back` is 0, and the order of runs is different. Fails with UNITOK_ERROR_ARGUMENT if
 * the index has no samples for locating and hits can cross documents because the documents do not
 * end with an eod. */
int32_t unitok_compact_count(const unitok_search_pieces *pieces, const unitok_compact_shard *shard,
                             const uint8_t *data, const int64_t *offsets, int64_t n,
                             int64_t max_work, int64_t *counts, uint8_t *is_approx,
                             unitok_error *error);
int32_t unitok_compact_find(const unitok_search_pieces *pieces, const unitok_compact_shard *shard,
                            const uint8_t *text, int64_t n_bytes, int64_t max_hits,
                            int64_t max_work, unitok_search_run **ret, int64_t *ret_n,
                            uint8_t *is_approx, unitok_error *error);
