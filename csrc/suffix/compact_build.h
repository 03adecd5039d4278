/* compact_build.h - the state of a builder of compact indexes: see compact_build.c */
#pragma once

#include "suffix/compact.h"
#include "suffix/widths.h"

/* The passes, in order, with the data that they read and write. The caller supplies the text and the
 * suffix array:
 *
 *     BEFORE    suffix array, text         ──▶ rows; the symbol before each suffix, over the suffix array
 *     MOVE      symbols before suffixes    ──▶ over the text, which is no longer needed; first
 *     SPREAD    rows                       ──▶ sampled positions, over the suffix array
 *     SAMPLE    sampled positions          ──▶ samples
 *     LISTS     symbols before suffixes    ──▶ Psi, over the suffix array
 *     CODES     some blocks of Psi         ──▶ codes
 *     BUNDLES   Psi                        ──▶ the file: prefix and bundles; in memory: directory
 *     TABLES    all tables in memory       ──▶ the rest of the file */
enum build_pass {
    BUILD_BEFORE, /* skipped if the sorter has done this */
    BUILD_MOVE,
    BUILD_SPREAD,
    BUILD_SAMPLE,
    BUILD_LISTS,
    BUILD_CODES,
    BUILD_BUNDLES,
    BUILD_TABLES,
    BUILD_DONE
};

struct unitok_compact_builder {
    void *text;
    uint32_t *sa; /* later overwritten by Psi */
    compact_footer footer;
    compact_layout layout;
    int64_t n, at; /* progress of the pass */
    int32_t pass, section;
    uint32_t *rows;     /* rows[k]: the row of position k << rows_shift */
    uint32_t *own_rows; /* the same array if the builder has allocated it, else NULL */
    int32_t rows_shift;
    uint32_t *first, *heads;
    uint32_t
        last_symbol; /* the last symbol of the text: its suffix is the first of its list, and its Psi is 0 */
    int64_t n_samples; /* samples found so far */
    bundle *directory;
    uint32_t *groups;
    uint8_t *upper, *lower, *samples, *starts;
    uint64_t bundles_bytes;
    code_words words;
};

typedef struct unitok_compact_builder compact_builder;
