/* compacts.h - builds small compact indexes from symbols, and runs every query on an index that may
 * be damaged */
#pragma once

#include <stdlib.h>

#include "check.h"
#include "suffix/compact.h"

enum { COMPACT_MAX_N = 1100, COMPACT_MAX_BYTES = 5 << 18 };

static inline int is_smaller_suffix(const uint16_t *ids, int64_t n, int64_t a, int64_t b)
{
    while (a < n && b < n && ids[a] == ids[b]) a++, b++;
    return b < n && (a == n || ids[a] < ids[b]);
}

/* Insertion sort, because n is small. */
static inline void sort_rows(const uint16_t *ids, int64_t n, uint32_t *sa)
{
    for (int64_t k = 0; k < n; k++) {
        int64_t at = k;
        for (; at > 0 && is_smaller_suffix(ids, n, k, sa[at - 1]); at--) sa[at] = sa[at - 1];
        sa[at] = (uint32_t)k;
    }
}

/* Writes the file to out[0..COMPACT_MAX_BYTES-1], and its size to *ret_bytes. Copies the arguments
 * into memory of exactly their size, because building overwrites them. */
static inline int32_t make_compact(const uint16_t *ids, const uint32_t *sa, int64_t n, int64_t k,
                                   int32_t block, int32_t locate, int32_t extract, int64_t budget,
                                   uint8_t *out, int64_t *ret_bytes, unitok_error *error)
{
    static uint8_t part[UNITOK_COMPACT_MIN_CAPACITY];
    uint16_t *text = malloc((size_t)n * 2 + (n == 0));
    uint32_t *rows_ = malloc((size_t)n * 4 + (n == 0));
    memcpy(text, ids, (size_t)n * 2);
    memcpy(rows_, sa, (size_t)n * 4);
    unitok_compact_builder *b = NULL;
    int32_t section, status = unitok_compact_builder_new(text, n, 2, k, rows_, NULL, 0, block,
                                                         locate, extract, &b, error);
    double done = 0, before = 0;
    *ret_bytes = 0;
    while (status == UNITOK_OK && done < 1) {
        int64_t n_bytes;
        status = unitok_compact_builder_step(b, budget, part, sizeof part, &n_bytes, &section,
                                             &done, error);
        CHECK(done >= before && *ret_bytes + n_bytes <= COMPACT_MAX_BYTES);
        memcpy(out + *ret_bytes, part, (size_t)n_bytes);
        *ret_bytes += n_bytes;
        before = done;
    }
    unitok_compact_builder_free(b);
    free(text);
    free(rows_);
    return status;
}

/* Runs every query. Answers from a damaged index may be wrong, but are always in range. */
static inline void use_compact(const unitok_compact *c)
{
    unitok_compact_info info;
    unitok_error error;
    unitok_compact_get_info(c, &info);
    uint32_t query[6] = {0, 1, 2, 0, 262143, 1}, symbols[4];
    int64_t begins[4] = {0, 1, 3, 2}, ends[4] = {3, 4, 6, 2}, lo[4], hi[4], four[4], position;
    int64_t *counts = calloc((size_t)info.n_symbols, sizeof *counts);
    unitok_compact_tokens(c, query, begins, ends, 4, lo, hi);
    for (int q = 0; q < 4; q++) {
        CHECK(0 <= lo[q] && lo[q] <= hi[q] && hi[q] <= info.n);
        unitok_compact_next(c, lo[q], hi[q], ends[q] - begins[q], symbols, four, 4);
        unitok_compact_previous(c, lo[q], hi[q], counts);
    }
    compact_query ahead[300];
    for (int q = 0; q < 300; q++) {
        rows in = {lo[q % 4], hi[q % 4]};
        compact_query one = {(uint32_t)q % info.n_symbols, in};
        ahead[q] = one;
    }
    compact_read_ahead(c, ahead, 300);
    int64_t n = info.n < COMPACT_MAX_N ? info.n : COMPACT_MAX_N;
    for (int64_t r = -1; r <= n && info.locate_every; r++) {
        CHECK(!unitok_compact_locate(c, &r, 1, &position, &error));
        CHECK(position >= -1 && position < info.n);
    }
    uint32_t *text = malloc((size_t)n * sizeof *text + 1), row;
    for (int64_t at = info.first_row, k = 0; k <= n; k++) {
        at = unitok_compact_walk(c, at, 1, symbols, &row);
        CHECK(at >= -1 && at < info.n && symbols[0] < info.n_symbols);
        CHECK(info.n == 0 || row < info.n);
    }
    int64_t zero = 0;
    if (info.extract_every) {
        CHECK(!unitok_compact_extract(c, &zero, &n, 1, text, NULL, &error));
        for (int64_t i = 0; i < n; i++) CHECK(text[i] < info.n_symbols);
    }
    free(text);
    free(counts);
}
