/* sort.h - shared by the templates of the suffix sorter: its state, and how passes are divided into
 * steps */
#pragma once

#include "ground/alloc.h"
#include "ground/error.h"
#include "suffix/widths.h"
#include "unitok_search.h"

/* The passes over the text and its suffix array, in order: see sort_text.h. They read and write:
 *
 *     COUNT, PLACE          the text, right to left          ──▶ counts; LMS positions in the array
 *     LEFT, RIGHT           the array, up and down           ──▶ LMS positions by their substrings
 *     REDUCE, LEVELS        the array                        ──▶ the order of the names
 *     POSITIONS, MERGE      the text again, and that order   ──▶ sorted LMS positions
 *     SPREAD, FINAL_*       the array                        ──▶ the suffix array */
enum sort_pass {
    PASS_COUNT,       /* count suffixes by first symbol and kind */
    PASS_PLACE,       /* put LMS positions into their buckets */
    PASS_LEFT,        /* sort LMS substrings: induce L suffixes, upwards, */
    PASS_RIGHT,       /* and from them S suffixes, downwards */
    PASS_REDUCE,      /* name the distinct LMS substrings */
    PASS_LEVELS,      /* sort the suffixes of the array of names */
    PASS_POSITIONS,   /* collect the LMS positions in text order again */
    PASS_MERGE,       /* put them into the order of the sorted names */
    PASS_SPREAD,      /* move the sorted LMS positions into their buckets */
    PASS_FINAL_LEFT,  /* induce all L suffixes from them, upwards, */
    PASS_FINAL_RIGHT, /* and all S suffixes from those, downwards */
    PASS_DONE
};

/* The types of a suffix and of the previous suffix: 2 * (the suffix is S) + (the previous suffix is
 * S). */
enum suffix_kind { L_THEN_L, L_THEN_S, LMS, S_THEN_S };

/* The passes of sort_reduce.h. */
enum reduce_pass {
    REDUCE_CLEAR,     /* clear the space for names */
    REDUCE_NAME,      /* write each name at its position */
    REDUCE_LOOK,      /* count the names that need no sorting, if memory is scarce */
    REDUCE_COMPACT,   /* gather the other names in text order */
    REDUCE_RENAME,    /* number the remaining names consecutively */
    REDUCE_REPLACE,   /* write these numbers in place of the names */
    REDUCE_RECURSE,   /* the caller sorts the suffixes of the array of names */
    REDUCE_MARK,      /* mark the LMS positions that were left out */
    REDUCE_POSITIONS, /* the caller supplies all LMS positions */
    REDUCE_ORDER,     /* replace the sorted names with LMS positions */
    REDUCE_MERGE,     /* merge them with those left out */
    REDUCE_SORTED
};

/* Turns the order of the LMS substrings into the order of the LMS suffixes. The record outlives the
 * passes that make names: the level below sorts the names, and then the second half of the passes
 * continues from the same record. */
typedef struct reduction {
    int32_t pass;
    int32_t status;   /* enum unitok_status */
    int32_t bit;      /* carried from entry to entry */
    int32_t is_tight; /* the level below has no memory for buckets: see sort_tight.h */
    int64_t at, to;   /* progress of the pass: the next entry to read, and to write */
    int64_t k;        /* a second read position of a pass */
    int64_t m, n;     /* LMS suffixes; symbols of the text */
    int64_t capacity; /* sa[0..capacity-1] may be used */
    int64_t n_names;
    int64_t n_kept;       /* LMS suffixes that are sorted by recursion; the others are left out */
    int64_t group;        /* how many kept suffixes precede the current group of equal substrings */
    int64_t bitmap_bytes; /* the maximum size of is_left_out */
    /* Bit k: the k-th LMS suffix in sorted order is left out. NULL: all are kept. */
    uint64_t *is_left_out;
    /* Bit k: the k-th kept suffix is the last one of its group. NULL if is_tight. */
    uint64_t *group_ends;
    /* Stored in the suffix array. Bit k: the LMS suffix at 2k or 2k + 1 is left out. */
    uint64_t *is_marked;
} reduction;

/* The passes of a level, in order: see sort_names.h, and sort_tight.h for those named TIGHT. */
enum level_pass {
    LEVEL_TYPES, /* mark S suffixes in the text */
    TIGHT_COUNT, /* count each name, */
    TIGHT_ENDS,  /* and replace names of S suffixes with the ends of their buckets */
    LEVEL_PLACE, /* put LMS positions into their buckets */
    LEVEL_LEFT,  /* sort LMS substrings: induce L suffixes */
    TIGHT_CLEAR,
    LEVEL_RIGHT,      /* and from them S suffixes */
    LEVEL_GATHER,     /* gather the LMS positions, which are sorted now */
    LEVEL_COMPARE,    /* mark where LMS substrings differ */
    LEVEL_REDUCE,     /* name them; later, sort the LMS suffixes by their names */
    LEVEL_POSITIONS,  /* collect the LMS positions in text order again */
    LEVEL_SPREAD,     /* move the sorted LMS positions into their buckets */
    LEVEL_FINAL_LEFT, /* induce all L suffixes */
    TIGHT_FINAL_CLEAR,
    LEVEL_FINAL_RIGHT, /* and all S suffixes */
    LEVEL_PASSES
};

/* One level of recursion: sorts the suffixes of an array of n names, all below k, into sa[0..n-1].
 * All levels share one array, so each records where its own part ends. */
typedef struct sort_level {
    int32_t pass;
    int32_t type;       /* the type of the suffix at `at` */
    int32_t is_counted; /* the buckets hold what the pass needs */
    int32_t is_tight;   /* there is no bucket table: see sort_tight.h */
    int64_t text;       /* where the names begin in the suffix array of level 0 */
    int64_t n, k;
    int64_t capacity;     /* the level may use sa[0..capacity-1] */
    int64_t bitmap_bytes; /* the maximum size of its bitmap */
    int64_t m;            /* LMS suffixes */
    int64_t at, to;       /* progress of the pass: the next entry to read, and to write */
    /* The buckets are read from group_ends, as far as suffix n_counted, in bucket k_counted. */
    const uint64_t *group_ends;
    int64_t n_counted, k_counted;
    reduction names;
} sort_level;

/* LMS positions are at least two apart, so each level is at most half as long as the one above. */
#define MAX_LEVELS 64

/* See unitok_suffix_before. */
typedef struct row_samples {
    uint32_t *rows;
    int32_t shift;
} row_samples;

/* Records the row of a suffix if its position is a multiple of 1 << shift. */
INLINE void take_row(row_samples samples, uint64_t position, uint64_t row)
{
    if ((position & ((UINT64_C(1) << samples.shift) - 1)) == 0)
        samples.rows[position >> samples.shift] = (uint32_t)row;
}

/* The state of a sort. The memory that it needs besides the text and the suffix array is small:
 *
 *     counts, buckets    4 numbers each per symbol
 *     names, levels      records of fixed size; their arrays are in the suffix array
 *     is_left_out        one bitmap per level, n / 8.5 bytes in total
 *     group_ends         one bitmap per level, at most n / 8 bytes in total */
struct unitok_suffix {
    const void *text;
    void *sa;
    int64_t n, n_symbols;
    void (*step)(struct unitok_suffix *, int64_t budget);

    int32_t pass;
    int32_t status;      /* enum unitok_status */
    int32_t type;        /* type of the suffix at `at`: 1 S, 0 L */
    int32_t first_type;  /* the type of suffix 0 */
    int64_t at, to;      /* progress of the pass: the next entry to read, and the end of its run */
    int64_t symbol, run; /* the symbol of that run, and which of the symbol's two runs it is */
    uint64_t group;      /* the current group of equal substrings */
    int64_t m;           /* LMS suffixes */
    int64_t n_active;    /* entries that PASS_LEFT reads */
    int64_t n_done_in_pass; /* for progress */

    void *counts;  /* POSITION[n_symbols][4]: suffixes by first symbol and enum suffix_kind */
    void *buckets; /* struct bucket[n_symbols][2], see sort_text.h */
    reduction names;
    row_samples samples; /* rows is NULL if the result is the suffix array */

    int32_t depth;    /* levels in use */
    void *tight_runs; /* POSITION[], of the current level: see sort_tight.h */
    sort_level levels[MAX_LEVELS];
};

/* Bitmaps are words of 64 bits, the lowest bit first. */
INLINE int bit_is_set(const uint64_t *bits, int64_t k)
{
    return (int)(bits[k >> 6] >> (k & 63) & 1);
}

/* Returns where a pass that reads entries at..end-1 upwards must stop in this step. Reduces the
 * budget by the number of entries that the pass will read. Every pass is a loop that may stop at
 * any entry and resume there. */
INLINE int64_t step_up(int64_t at, int64_t end, int64_t *budget)
{
    int64_t n = end - at < *budget ? end - at : *budget;
    *budget -= n;
    return at + n;
}

/* Like step_up, but for entries at-1 down to end. */
INLINE int64_t step_down(int64_t at, int64_t end, int64_t *budget)
{
    return at - (step_up(end, at, budget) - end);
}

/* The bitmaps are the only memory of a reduction that is not in the suffix array. */
static inline void free_reduction(reduction *x)
{
    mem_free(x->is_left_out);
    mem_free(x->group_ends);
    x->is_left_out = x->group_ends = NULL;
}

#if defined(__GNUC__) || defined(__clang__)
#define PREFETCH_WRITE(p) __builtin_prefetch((p), 1)
#else
#define PREFETCH_WRITE(p) PREFETCH(p)
#endif

/* How many entries ahead memory is prefetched. A cache miss takes about 80 ns, and the work for an
 * entry takes 2 to 4 ns. */
#define AHEAD 48

/* The bitmaps is_left_out of all levels together may take n / 8.5 bytes: 2 % of a text with two
 * bytes per symbol and its suffix array. A level whose bitmap would exceed that keeps all names.
 * The bitmap of the first level takes at most n / 16 bytes. */
#define BITMAPS_MAX_BYTES(n) ((n) * 2 / 17 + 64)

/* LMS positions are gathered from this many symbols at a time, without a branch per symbol, and
 * then used. */
#define BLOCK 1024

/* The top bit of an entry, which is a position or a name, is a flag. */
#define FLAG ((POSITION)1 << (8 * sizeof(POSITION) - 1))
#define MASK (FLAG - 1)
#define EMPTY ((POSITION) - 1)
#define FLAG_OF(entry) ((entry) >> (8 * sizeof(POSITION) - 1))
#define REDUCE(x) BY_POSITION(reduce_##x)
#define LEVEL(x) BY_POSITION(level_##x)
#define TIGHT(x) BY_POSITION(tight_##x)
#define SUFFIX(x) BY_WIDTHS(suffix_##x)
