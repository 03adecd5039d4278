/* compact.h - a compact index: a compressed suffix array that contains its text
 *
 * Row r is the r-th smallest suffix of the text, r < n. The rows whose suffixes begin with symbol c
 * are first[c]..first[c + 1]-1. Psi(r) says where row r continues: 0 if the suffix ends after its
 * first symbol; otherwise, 1 + the row of the suffix that begins one symbol later:
 *
 *     text 2 1 2 1 0      r   suffix        Psi(r)
 *                         0   0             0              first  = 0 1 3 5
 *                         1   1 0           1 + 0
 *                         2   1 2 1 0       1 + 3
 *                         3   2 1 0         1 + 1
 *                         4   2 1 2 1 0     1 + 2
 *
 * The rows of a symbol form its list, in which Psi increases. If rows lo..hi-1 are those that begin
 * with a sequence, the rows that begin with c and then this sequence are found by two searches in
 * the list of c, for 1 + lo and 1 + hi. Sequences are therefore searched from their last symbol to
 * their first. Psi is also used to read the text: the list that contains a row determines its
 * symbol, and Psi leads to the next symbol.
 *
 * The lists are concatenated and divided into blocks of 64 or 128 entries. Eight blocks form a bundle,
 * about a kilobyte, which begins with the places of its blocks. The directory lists the bundles and is
 * copied to memory, so a search in a list reads one bundle from disk, usually a single page:
 *
 *     directory[k]   | u32 Psi of the first row | u32 offset of bundle k |
 *     bundle k       | place 0 | ... | place 7 | u16 end | gaps of block 0 | ... | gaps of block 7 |
 *     place          | u16 offset of the gaps in the bundle | u32 Psi of the block's first row |
 *     gaps           | table (4 bits) | class | class | class | ...   ... | low bits | low bits | low bits |
 *                      compact_codes.h  of gap 1   2      3                  of gap 3   2          1
 *
 * If the last bundle has fewer than eight blocks, the others are empty. A gap is the difference,
 * modulo n + 1, from the previous entry, even if that entry is in the previous list. Classes are
 * read forward from the start of a block, and low bits backward from its end.
 *
 * The file, little-endian, every section aligned to 8 bytes:
 *
 *     0        prefix    magic 89 'U' 'T' 'C' 0D 0A 1A 0A, u32 version, zeros up to 512 bytes
 *     512      bundles   one after another
 *              directory u32 first, u32 offset: [0..n_bundles], with the end of the last bundle
 *              first     u32[n_symbols + 1]
 *              groups    u32[n_groups + 1]: samples before each group of 64 * locate_every rows
 *              upper     bits: for every locate_every rows a 1 for each sample, then a 0
 *              lower     the row of each sample modulo locate_every, packed
 *              samples   the position of each sample / locate_every, packed
 *              starts    the row of every extract_every-th position, packed
 *              footer    compact_footer
 *
 * Sections from groups to samples are empty if locate_every is 0; `starts` is empty if extract_every is 0.
 * Packed numbers take as many bits as the largest possible one; packed sections and `upper` end with 8
 * spare bytes.
 *
 * A file may come from an untrusted source. Opening it checks the small sections, but not the
 * bundles. A damaged bundle causes wrong answers, but decoding never leaves the file, because it
 * reads at most COMPACT_BEHIND bytes before and COMPACT_AHEAD bytes after the bundles. The prefix and
 * the footer are at least that large. Every row and position is checked before it is used as an
 * index. */
#pragma once

#include "suffix/compact_codes.h"
#include "unitok_search.h"

enum {
    COMPACT_VERSION = 2,
    COMPACT_PREFIX_BYTES = 512,
    COMPACT_GROUP = 64, /* buckets of locate_every rows in a group */
    COMPACT_SPARE_BYTES = 8,
    COMPACT_MAX_BLOCK = 128,
    BUNDLE_SHIFT = 3,
    BUNDLE_BLOCKS = 1 << BUNDLE_SHIFT,
    PLACE_BYTES = 6,
    PLACES_BYTES = BUNDLE_BLOCKS * PLACE_BYTES + 2,
    COMPACT_LANES = 32, /* interleaved searches */
    /* 127 gaps have at most 31 low bits each, and codewords of at most CODE_BITS bits, which follow
     * the table. A load takes 8 bytes. */
    COMPACT_BEHIND = (127 * 31 + 7) / 8 + 8,
    COMPACT_AHEAD = (4 + 127 * CODE_BITS) / 8 + 8
};

enum compact_section {
    SECTION_BUNDLES,
    SECTION_DIRECTORY,
    SECTION_FIRST,
    SECTION_GROUPS,
    SECTION_UPPER,
    SECTION_LOWER,
    SECTION_SAMPLES,
    SECTION_STARTS,
    COMPACT_SECTIONS
};

/* The last 696 bytes of a file. */
typedef struct compact_footer {
    uint64_t checksums[COMPACT_SECTIONS];   /* XXH64 of each section, including padding */
    uint64_t offsets[COMPACT_SECTIONS + 1]; /* the offset of each section and of the footer */
    uint64_t n;                             /* tokens */
    uint32_t n_symbols, block, locate_every, extract_every;
    uint32_t first_row;    /* the row of the suffix at position 0 */
    uint32_t symbol_bytes; /* 1, 2 or 4: the width of the indexed tokens */
    code_lengths codes;
    uint64_t checksum; /* XXH64 of the preceding fields of the footer */
    uint8_t magic[8];
} compact_footer;

/* The sizes that follow from the footer, in bytes and in bits. */
typedef struct compact_layout {
    int64_t n_blocks, n_bundles, n_samples, n_groups, n_starts;
    int32_t lower_bits, sample_bits, start_bits;
    int64_t bytes[COMPACT_SECTIONS]; /* of each section, without padding; 0 for SECTION_BUNDLES */
} compact_layout;

extern const uint8_t compact_magic[8];

/* Returns whether these numbers are within their ranges; computes the sizes of the sections. */
int compact_lay_out(const compact_footer *f, compact_layout *ret);

/* An entry of the directory. */
typedef struct bundle {
    uint32_t first, offset;
} bundle;

/* An open index. Everything but `directory`, `first`, `symbols` and `entries` is in the file. */
struct unitok_compact {
    int64_t n, n_bundles, n_symbols;
    int32_t block, block_shift, symbol_bytes;
    int64_t first_row;
    const uint8_t *bundles;
    uint64_t bundles_bytes;
    int32_t locate_every, locate_shift, extract_every;
    int64_t n_samples, n_starts;
    int32_t sample_bits, start_bits;
    int64_t upper_bits;
    const uint32_t *groups;
    const uint8_t *upper, *lower, *samples, *starts;
    bundle *directory; /* [0..n_bundles] */
    uint32_t *first;   /* [0..n_symbols] */
    uint32_t *symbols; /* [0..n >> symbol_shift]: the symbol of every 2^symbol_shift-th row */
    int32_t symbol_shift;
    code_entries entries;
};

typedef unitok_compact compact;

/* Rows lo..hi-1. */
typedef struct rows {
    int64_t lo, hi;
} rows;

/* --------------------------------------------------------------------------------- packed ---- */

/* The number of bits required for numbers 0..most. */
INLINE int32_t packed_bits(uint64_t most) { return most ? highest_bit(most) + 1 : 0; }

/* Entry k of packed numbers of `bits` <= 32 bits. */
INLINE uint32_t packed_get(const uint8_t *p, int64_t k, int32_t bits)
{
    uint64_t at = (uint64_t)k * (uint64_t)bits;
    return (uint32_t)(load_u64(p + (at >> 3)) >> (at & 7) & ((UINT64_C(1) << bits) - 1));
}

/* ---------------------------------------------------------------------------------- lists ---- */

INLINE uint64_t bundle_offset(const compact *c, int64_t k)
{
    uint64_t offset = c->directory[k].offset;
    return offset < c->bundles_bytes ? offset : c->bundles_bytes;
}

/* The place of block b, in the bundle at `offset`. */
INLINE const uint8_t *place_of(const compact *c, uint64_t offset, int64_t b)
{
    return c->bundles + offset + PLACE_BYTES * (b & (BUNDLE_BLOCKS - 1));
}

/* Psi of the first row of a block. */
INLINE uint32_t place_first(const uint8_t *place) { return load_u32(place + 2); }

INLINE uint32_t block_first(const compact *c, int64_t b)
{
    return place_first(place_of(c, bundle_offset(c, b >> BUNDLE_SHIFT), b));
}

/* A position in the gaps of a block. */
typedef struct gap_reader {
    const uint8_t *gaps;
    const uint32_t *entries;     /* the entries of the block's table */
    uint64_t at;                 /* in bits: the next codeword */
    int64_t low;                 /* in bits: the beginning of the low bits read last */
    uint32_t classes, n_classes; /* read, but not used yet */
} gap_reader;

/* Starts to read block b. */
INLINE gap_reader gaps_of(const compact *c, int64_t b)
{
    gap_reader ret;
    uint64_t offset = bundle_offset(c, b >> BUNDLE_SHIFT);
    const uint8_t *place = place_of(c, offset, b);
    uint64_t begin = offset + load_u16(place), end = offset + load_u16(place + PLACE_BYTES);
    if (begin > c->bundles_bytes) begin = c->bundles_bytes;
    if (end > c->bundles_bytes) end = c->bundles_bytes;
    ret.gaps = c->bundles;
    ret.entries = c->entries.entry[c->bundles[begin] & (CODE_TABLES - 1)];
    ret.at = 8 * begin + 4;
    ret.low = (int64_t)(8 * end);
    ret.classes = ret.n_classes = 0;
    return ret;
}

/* Reads the classes of the next 1 to 4 gaps: see compact_codes.h. */
INLINE void next_classes(gap_reader *g)
{
    uint64_t word = load_u64(g->gaps + (g->at >> 3)) >> (g->at & 7);
    g->classes = g->entries[word & ((1 << CODE_BITS) - 1)];
    g->n_classes = g->classes >> 20 & 7;
    g->at += g->classes >> 24;
}

INLINE uint64_t low_mask(uint32_t bits) { return (UINT64_C(1) << bits) - 1; }

/* The sum of the gaps whose classes have just been read, or 0 if their low bits do not fit in a word.
 * Their low bits are adjacent, with those of the last gap first. Absent classes are 0 and count as gaps
 * of 1, which are subtracted again. A caller that uses the sum stores *ret_low in g->low and 0 in
 * g->n_classes. */
INLINE uint64_t group_sum(const gap_reader *g, int64_t *ret_low)
{
    uint32_t a = g->classes & (CODE_CLASSES - 1), b = g->classes >> 5 & (CODE_CLASSES - 1),
             c = g->classes >> 10 & (CODE_CLASSES - 1), d = g->classes >> 15 & (CODE_CLASSES - 1);
    uint64_t ones = low_mask(a) + low_mask(b) + low_mask(c) + low_mask(d) + g->n_classes;
    if (a + b + c + d > 56) return 0;
    *ret_low = g->low - (int64_t)(a + b + c + d);
    uint64_t word = load_u64(g->gaps + (*ret_low >> 3)) >> (*ret_low & 7);
    return ones + (word & low_mask(d)) + (word >> d & low_mask(c)) +
           (word >> (d + c) & low_mask(b)) + (word >> (d + c + b) & low_mask(a));
}

/* Reads the next gap. */
INLINE uint64_t next_gap(gap_reader *g)
{
    if (g->n_classes == 0) next_classes(g);
    uint32_t k = g->classes & (CODE_CLASSES - 1);
    g->classes >>= 5;
    g->n_classes--;
    g->low -= k;
    uint64_t bits = load_u64(g->gaps + (g->low >> 3)) >> (g->low & 7);
    return UINT64_C(1) << k | (bits & ((UINT64_C(1) << k) - 1));
}

/* The sum of the next n gaps. */
INLINE uint64_t sum_gaps(gap_reader *g, int64_t n)
{
    uint64_t sum = 0, group;
    int64_t low;
    while (n > 0) {
        if (g->n_classes == 0) next_classes(g);
        if (g->n_classes <= n && (group = group_sum(g, &low)) != 0) {
            sum += group;
            n -= g->n_classes;
            g->low = low;
            g->n_classes = 0;
        } else {
            for (int64_t k = g->n_classes < n ? g->n_classes : n; k > 0; k--, n--)
                sum += next_gap(g);
        }
    }
    return sum;
}

/* Reduces a sum of gaps modulo n + 1. In an intact file it is below 2 * (n + 1), or below 4 billion
 * for a sum over several lists. */
INLINE uint64_t wrapped(const compact *c, uint64_t v)
{
    return v <= (uint64_t)c->n ? v : v % ((uint64_t)c->n + 1);
}

/* Returns Psi(r), which is at most n. 0 <= r < n. */
uint64_t compact_psi(const compact *c, int64_t r);

/* Prefetch what compact_psi reads: first the entry of the directory, and then, when it is in the
 * cache, the block. */
void compact_prefetch_directory(const compact *c, int64_t r);
void compact_prefetch_block(const compact *c, int64_t r);

/* The first symbol of the suffix of row r, 0 <= r < n. */
uint32_t compact_symbol(const compact *c, int64_t r);

/* The number of occurrences of a symbol. */
INLINE int64_t compact_frequency(const compact *c, uint32_t symbol)
{
    return (int64_t)c->first[symbol + 1] - (int64_t)c->first[symbol];
}

/* All rows whose suffixes begin with `symbol` followed by the sequence with which rows `in` begin. */
rows compact_before(const compact *c, uint32_t symbol, rows in);

/* A symbol, and the rows that it must precede. The search replaces these with the rows found. */
typedef struct compact_query {
    uint32_t symbol;
    rows in;
} compact_query;

/* compact_before for n queries. Their cache misses overlap. */
void compact_before_many(const compact *c, compact_query *queries, int64_t n);

/* Requests from disk the pages that compact_before_many will visit, so that it can wait for all of
 * them at once. */
void compact_read_ahead(const compact *c, const compact_query *queries, int64_t n);

/* The position in the text of row r, 0 <= r < n; -1 if the file is damaged. Requires locate_every. */
int64_t compact_locate(const compact *c, int64_t r);

/* The row of the suffix at a position, 0 <= position < n; -1 if the file is damaged. Requires
 * extract_every. */
int64_t compact_row_at(const compact *c, int64_t position);
