/* sort.h - what the parts of the suffix sorter share: its state, and how a pass is cut into steps
 */
#pragma once

#include "ground/alloc.h"
#include "ground/error.h"
#include "unitok_search.h"

/* The passes over the text and its suffix array, in order: see sort_text.h. */
enum sort_pass {
    PASS_COUNT,       /* types of suffixes, bucket sizes */
    PASS_PLACE,       /* LMS positions into their buckets */
    PASS_LEFT,        /* sort LMS substrings: induce L suffixes, left to right */
    PASS_RIGHT,       /* ... and S suffixes, right to left */
    PASS_REDUCE,      /* name the different LMS substrings */
    PASS_LEVELS,      /* sort the suffixes of the array of names */
    PASS_POSITIONS,   /* LMS positions in text order */
    PASS_MERGE,       /* ... in the order found */
    PASS_SPREAD,      /* sorted LMS positions into their buckets */
    PASS_FINAL_LEFT,  /* induce L suffixes from them */
    PASS_FINAL_RIGHT, /* and S suffixes from those */
    PASS_DONE
};

/* The four kinds of suffixes: by their own type, 2 * S, and the type of the suffix before. See
 * sort_text.h. */
enum suffix_kind { L_THEN_L, L_THEN_S, LMS, S_THEN_S };

enum reduce_pass {
    REDUCE_CLEAR,   /* room for names */
    REDUCE_NAME,    /* to their positions */
    REDUCE_LOOK,    /* how many need no sorting, where memory is short */
    REDUCE_COMPACT, /* in text order, without those that need no sorting */
    REDUCE_RENAME,  /* dense numbers for the names that are left */
    REDUCE_REPLACE, /* ... put in their place */
    /* the caller sorts the suffixes of the array of names, and finds the LMS positions again */
    REDUCE_RECURSE,
    REDUCE_MARK,      /* which LMS positions were left out */
    REDUCE_POSITIONS, /* the caller brings all LMS positions */
    REDUCE_ORDER,     /* LMS positions in the order found */
    REDUCE_MERGE,     /* ... together with those left out */
    REDUCE_SORTED
};

/* LMS suffixes on the way from the order of their substrings to their own. See sort_reduce.h. */
typedef struct reduction {
    int32_t pass;
    int32_t bit;      /* carried from entry to entry */
    int64_t at, to;   /* how far the pass is: reads, writes */
    int64_t k;        /* how far it is elsewhere */
    int64_t m, n;     /* LMS suffixes, symbols of the text */
    int64_t capacity; /* sa[0..capacity-1] may be used */
    int64_t n_names;
    int64_t n_kept;   /* LMS suffixes that are sorted by recursion */
    int64_t group;    /* of those, how many are before the group of the entry at hand */
    int64_t room;     /* bytes that is_left_out may have */
    int32_t is_tight; /* the level below has no room for buckets: see sort_tight.h */
    /* bit k: place k among the sorted LMS suffixes belongs to one that is not kept; NULL: all
     * are */
    uint64_t *is_left_out;
    /* in the suffix array; bit k: the LMS suffix at 2k or 2k + 1 is not kept */
    uint64_t *is_marked;
} reduction;

enum level_pass {
    LEVEL_TYPES, /* mark S suffixes in the text */
    TIGHT_COUNT, /* names become ends of buckets where suffixes are S */
    TIGHT_ENDS,
    LEVEL_PLACE, /* LMS positions into their buckets */
    LEVEL_LEFT,  /* sort LMS substrings */
    TIGHT_CLEAR,
    LEVEL_RIGHT,
    LEVEL_GATHER,     /* the LMS positions, sorted */
    LEVEL_COMPARE,    /* mark the different LMS substrings */
    LEVEL_REDUCE,     /* name them; later, sort the LMS suffixes by their names */
    LEVEL_POSITIONS,  /* LMS positions in text order */
    LEVEL_SPREAD,     /* sorted LMS positions into their buckets */
    LEVEL_FINAL_LEFT, /* induce all suffixes */
    TIGHT_FINAL_CLEAR,
    LEVEL_FINAL_RIGHT
};

/* One level of recursion: the suffixes of an array of n names < k, sorted into sa[0..n-1]. See
 * sort_names.h. */
typedef struct sort_level {
    int32_t pass;
    int32_t type;       /* of the suffix at `at` */
    int32_t is_counted; /* the buckets are what the pass needs */
    int32_t has_starts; /* the starts of all buckets are kept behind them */
    int32_t is_tight;   /* there are no buckets: see sort_tight.h */
    int64_t text;       /* where the names begin, in the suffix array of level 0 */
    int64_t n, k;
    int64_t capacity; /* the level may use sa[0..capacity-1] */
    int64_t room;     /* bytes for the bitmap */
    int64_t m;        /* LMS suffixes */
    int64_t at, to;   /* how far the pass is: reads, writes */
    int64_t counted;  /* how far counting the buckets is */
    reduction names;
} sort_level;

/* LMS positions are at least two apart, so each level is at most half as long as the one above. */
#define MAX_LEVELS 64

struct unitok_suffix {
    const void *text;
    void *sa;
    int64_t n, n_symbols;
    /* returns an enum unitok_status */
    int32_t (*step)(struct unitok_suffix *, int64_t budget);

    int32_t pass;
    int32_t type;           /* of the suffix at `at`: 1 S, 0 L */
    int32_t first_type;     /* of suffix 0 */
    int64_t at, to;         /* how far the pass is: reads, and where its run ends */
    int64_t symbol, run;    /* whose run it is in, and which of a symbol's two */
    uint64_t group;         /* the group of equal substrings that it is in */
    int64_t m;              /* LMS suffixes */
    int64_t n_active;       /* entries that PASS_LEFT reads */
    int64_t n_done_in_pass; /* for progress */

    void *counts;  /* POSITION[n_symbols][4]: suffixes by first symbol and enum suffix_kind */
    void *buckets; /* struct bucket[n_symbols][2], see sort_text.h */
    reduction names;

    int32_t depth; /* levels in use */
    /* of the current level, where the suffix array has no room for buckets: see sort_tight.h */
    void *tight_runs;
    sort_level levels[MAX_LEVELS];
};

INLINE int bit_is_set(const uint64_t *bits, int64_t k)
{
    return (int)(bits[k >> 6] >> (k & 63) & 1);
}

static inline void free_reduction(reduction *x)
{
    mem_free(x->is_left_out);
    x->is_left_out = NULL;
}

#if defined(__GNUC__) || defined(__clang__)
#define PREFETCH_WRITE(p) __builtin_prefetch((p), 1)
#else
#define PREFETCH_WRITE(p) PREFETCH(p)
#endif

/* How many elements ahead a random access is asked for. Each of them misses the cache, some 80 ns,
 * and takes 2 to 4 ns of work. */
#define AHEAD 48

/* The bitmaps of all levels together have at most n / 8.5 bytes: 2 % of a text of two bytes a
 * symbol and its suffix array, but for what sort_tight.h needs. Levels that would have more keep
 * all names. The first has n / 16 bytes at most. */
#define BITMAPS_ROOM(n) ((n) * 2 / 17 + 64)

/* LMS positions are first gathered from so many symbols, without a branch, and then used. */
#define BLOCK 1024
