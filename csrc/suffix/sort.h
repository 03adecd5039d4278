/* sort.h - what the parts of the suffix sorter share: its state, and how a pass is cut into steps */
#pragma once

#include "ground/alloc.h"
#include "ground/error.h"

/* The passes over the text and its suffix array, in order; see sort_text.h. The names are reduced between the two
 * halves: if they are not all different, the array of names is itself suffix sorted, level by level; see sort_names.h.
 *
 *     COUNT PLACE LEFT RIGHT  NAME COMPACT RENAME | (levels) | POSITIONS ORDER MERGE  SPREAD FINAL_LEFT FINAL_RIGHT DONE
 */
enum sort_pass {
    PASS_COUNT,       /* types of suffixes, bucket sizes */
    PASS_PLACE,       /* LMS positions into their buckets */
    PASS_LEFT,        /* sort LMS substrings: induce L suffixes, left to right */
    PASS_RIGHT,       /* ... and S suffixes, right to left */
    PASS_CLEAR,       /* room for names */
    PASS_NAME,        /* number the different LMS substrings */
    PASS_COMPACT,     /* names in text order, without those that need no further sorting */
    PASS_RENAME,      /* dense numbers for the names that are left */
    PASS_REPLACE,     /* ... written into the array of names */
    PASS_LEVELS,      /* sort the suffixes of that array */
    PASS_POSITIONS,   /* LMS positions in text order */
    PASS_ORDER,       /* ... in the order found */
    PASS_MERGE,       /* ... together with those left out */
    PASS_SPREAD,      /* sorted LMS positions into their buckets */
    PASS_FINAL_LEFT,  /* induce L suffixes from them */
    PASS_FINAL_RIGHT, /* and S suffixes from those */
    PASS_DONE
};

/* The four kinds of suffixes: by their own type, 2 * S, and the type of the suffix before. See sort_text.h. */
enum suffix_kind { L_THEN_L, L_THEN_S, LMS, S_THEN_S };

enum level_pass {
    LEVEL_TYPES,      /* mark S suffixes in the text */
    LEVEL_PLACE,      /* LMS positions into their buckets */
    LEVEL_LEFT,       /* sort LMS substrings */
    LEVEL_RIGHT,
    LEVEL_GATHER,     /* the LMS positions, sorted */
    LEVEL_NAME,       /* number the different LMS substrings */
    LEVEL_COMPACT,    /* names in text order: the text of the level below */
    LEVEL_POSITIONS,  /* that is sorted: LMS positions in text order */
    LEVEL_ORDER,      /* ... in the order found */
    LEVEL_SPREAD,     /* into their buckets */
    LEVEL_FINAL_LEFT, /* induce all suffixes */
    LEVEL_FINAL_RIGHT
};

/* One level of recursion: the suffixes of text[0..n-1], all of them < k, sorted into sa[0..n-1]. */
typedef struct sort_level {
    int32_t pass;
    int64_t text;     /* where the level's text begins, in the whole suffix array */
    int64_t n, k;     /* its length, its alphabet */
    int64_t capacity; /* the level may use sa[0..capacity-1], its text excepted */
    int64_t m;        /* LMS suffixes */
    int64_t names;    /* different LMS substrings */
    int64_t at, to;   /* how far the pass is: reads, writes */
    int64_t counted;  /* how far counting the buckets is that the pass needs */
    int64_t is_counted;
    int32_t type;     /* of the suffix at `at` */
} sort_level;

/* LMS positions are at least two apart, so each level is at most half as long as the one above. */
#define MAX_LEVELS 64

struct unitok_suffix {
    const void *text;
    void *sa;
    int64_t n, n_symbols;
    int32_t (*step)(struct unitok_suffix *, int64_t budget); /* returns an enum unitok_status */

    int32_t pass;
    int64_t at, to;    /* how far the pass is: reads, writes */
    int64_t symbol;    /* whose run it is in */
    int64_t run;       /* which run */
    int32_t type;      /* of the suffix at `at`: 1 S, 0 L */
    int32_t first_type;
    uint64_t group;    /* the group of equal substrings that it is in */
    int64_t n_active;  /* entries that PASS_LEFT reads */
    int64_t m;         /* LMS suffixes */
    int64_t n_names;
    int64_t n_kept;    /* ... that are sorted by recursion */
    int64_t n_left_out;

    void *counts;      /* POS[n_symbols][4]: suffixes by first symbol, own type, type of the suffix before */
    void *buckets;     /* struct bucket[n_symbols][2], see sort_text.h */
    uint64_t *is_kept; /* bit k: LMS suffix k, in text order, is sorted by recursion */
    uint64_t *is_left_out; /* bit k: place k among the sorted LMS suffixes belongs to one that is not */

    int64_t n_done_in_pass; /* for progress */
    int32_t depth;     /* levels in use */
    void *level_buckets;   /* POS[k] of the current level: in the suffix array, or allocated */
    void *level_allocated; /* the latter */
    sort_level levels[MAX_LEVELS];
};

INLINE int bit_is_set(const uint64_t *bits, int64_t k)
{
    return (int)(bits[k >> 6] >> (k & 63) & 1);
}

#if defined(__GNUC__) || defined(__clang__)
#define PREFETCH_WRITE(p) __builtin_prefetch((p), 1)
#else
#define PREFETCH_WRITE(p) PREFETCH(p)
#endif

/* How many elements ahead a random access is asked for. Each of them misses the cache, some 80 ns, and takes 2 to 4 ns
 * of work. */
#define AHEAD 48

int32_t suffix_step_8_32(struct unitok_suffix *s, int64_t budget);
int32_t suffix_step_16_32(struct unitok_suffix *s, int64_t budget);
int32_t suffix_step_32_32(struct unitok_suffix *s, int64_t budget);
int32_t suffix_step_8_64(struct unitok_suffix *s, int64_t budget);
int32_t suffix_step_16_64(struct unitok_suffix *s, int64_t budget);
int32_t suffix_step_32_64(struct unitok_suffix *s, int64_t budget);

/* Sorts levels[0] and the levels below it, as far as the budget goes; when all is done, s->depth is 0. */
int32_t suffix_sort_levels_32(struct unitok_suffix *s, int64_t *budget);
int32_t suffix_sort_levels_64(struct unitok_suffix *s, int64_t *budget);
