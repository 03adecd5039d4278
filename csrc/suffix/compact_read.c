/* compact_read.c - reads the text of a compact index: the position of a row, the symbols at a
 * position, and the symbols that precede or follow rows
 *
 * Locating. Psi leads from a row to the row of the next position. At most locate_every - 1 steps
 * lead to a position that is a multiple of locate_every, whose row is a sample:
 *
 *     rows      | . . x . | . . . . | x . x . | ...    buckets of locate_every rows; x is a sample
 *     upper       1 0       0         1 1 0            a 1 for each sample, then a 0 for the bucket
 *     lower       2                   0 2              the row within its bucket
 *     samples     7                   1 9              the position, divided by locate_every
 *
 * (This is an Elias-Fano list of the rows.) groups[k] counts the samples before bucket 64 k, so the
 * bits of that bucket begin at 64 k + groups[k].
 *
 * Extracting. The row of every extract_every-th position is stored; Psi leads to the next rows. */

#include "suffix/compact.h"

#include "ground/error.h"

/* -------------------------------------------------------------------------------- locating ---- */

/* The number of 1 bits in each byte of v. */
INLINE uint64_t ones_by_byte(uint64_t v)
{
    const uint64_t fives = UINT64_C(0x5555555555555555), threes = UINT64_C(0x3333333333333333);
    v -= v >> 1 & fives;
    v = (v & threes) + (v >> 2 & threes);
    return (v + (v >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F);
}

/* The position of the k-th set bit of v, counted from 0; v must have at least k + 1 set bits. Uses
 * no special processor instructions: running sums over the bytes show which byte contains the bit.
 *
 *     v         00000101 … 11000000 00000011         bytes, the lowest one on the right
 *     ones             2 …        2        2
 *     sums             n …        4        2         byte i: the ones in bytes 0..i; k = 3 is in byte 1 */
static int nth_one(uint64_t v, int k)
{
    uint64_t sums = ones_by_byte(v) * UINT64_C(0x0101010101010101);
    int shift = 0;
    while ((int)(sums >> shift & 255) <= k) shift += 8;
    if (shift) k -= (int)(sums >> (shift - 8) & 255);
    uint64_t byte = v >> shift & 255;
    for (; k > 0; k--) byte &= byte - 1;
    return shift + lowest_bit(byte);
}

/* The 64 bits of `upper` from bit `at` on, of which the lowest 57 are valid; 0 in the spare bytes
 * past the end. */
INLINE uint64_t upper_at(const compact *c, int64_t at)
{
    return at < c->upper_bits ? load_u64(c->upper + (at >> 3)) >> (at & 7) : 0;
}

/* The position after the k-th 0 in `upper` from bit `at` on (k = 1 is the first); `at` if k is
 * 0. */
static int64_t after_zero(const compact *c, int64_t at, int k)
{
    enum { VALID = 56 };
    const uint64_t mask = (UINT64_C(1) << VALID) - 1;
    while (k > 0 && at < c->upper_bits) {
        uint64_t zeros = ~upper_at(c, at) & mask;
        int n = (int)(ones_by_byte(zeros) * UINT64_C(0x0101010101010101) >> 56);
        if (k <= n) return at + nth_one(zeros, k - 1) + 1;
        k -= n;
        at += VALID;
    }
    return at;
}

/* The number of the sample of row r; -1 if the row has no sample. Before the bits of bucket b there
 * are b zeros, one for each earlier bucket, and a one for each earlier sample. So the position
 * after the b-th zero, minus b, is the number of the bucket's first sample. `groups` stores this
 * number for every 64th bucket, and after_zero counts on from there. */
static int64_t sample_at(const compact *c, int64_t r)
{
    int64_t bucket = r >> c->locate_shift, group = bucket / COMPACT_GROUP;
    int within = (int)(bucket % COMPACT_GROUP);
    uint32_t row = (uint32_t)(r & (c->locate_every - 1));
    int64_t start = group * COMPACT_GROUP + (int64_t)c->groups[group];
    int64_t at = after_zero(c, start, within), k = at - group * COMPACT_GROUP - within;
    /* A bucket usually has one sample, but can have up to locate_every. */
    int64_t lo = k, hi = k;
    for (; upper_at(c, at) & 1; at++) hi++;
    if (hi > c->n_samples) return -1;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        uint32_t found = packed_get(c->lower, mid, c->locate_shift);
        if (found == row) return mid;
        if (found < row) lo = mid + 1;
        else hi = mid;
    }
    return -1;
}

/* Prefetches what sample_at reads, once the group is in the cache: the bits of the bucket begin
 * after those of the buckets before it, which usually have one sample each. */
static void prefetch_sample(const compact *c, int64_t r)
{
    int64_t bucket = r >> c->locate_shift, group = bucket / COMPACT_GROUP;
    uint64_t k = c->groups[group] + (uint64_t)(bucket % COMPACT_GROUP);
    PREFETCH((const void *)((uintptr_t)c->upper + ((uint64_t)bucket + k) / 8));
    PREFETCH((const void *)((uintptr_t)c->lower + k * (uint64_t)c->locate_shift / 8));
}

/* r is the row of the wanted position plus `steps`. If it is a sample, or the end of the text, whose
 * position is known, sets *ret to the wanted position and returns -1. Otherwise returns the row of
 * the next position. */
static int64_t step_to_sample(const compact *c, int64_t r, int64_t steps, int64_t *ret)
{
    int64_t k = sample_at(c, r), position = c->n - 1 - steps;
    if (k >= 0)
        position = ((int64_t)packed_get(c->samples, k, c->sample_bits) << c->locate_shift) - steps;
    uint64_t v = k >= 0 ? 0 : compact_psi(c, r);
    if (v) return (int64_t)v - 1;
    *ret = position >= 0 && position < c->n ? position : -1;
    return -1;
}

/* Locates up to COMPACT_LANES rows together, one step at a time; -1 for a row that is out of range.
 * Each step takes three rounds over all rows. The first two only prefetch, so the cache misses of
 * different rows overlap. In an intact file, a sample or the end of the text comes within
 * locate_every - 1 steps. */
static void locate_lanes(const compact *c, const int64_t *rows_, int n, int64_t *positions)
{
    int64_t r[COMPACT_LANES];
    int lane[COMPACT_LANES], n_active = 0;
    for (int i = 0; i < n; i++) {
        positions[i] = -1;
        r[n_active] = rows_[i];
        lane[n_active] = i;
        n_active += rows_[i] >= 0 && rows_[i] < c->n;
    }
    for (int64_t steps = 0; n_active && steps < c->locate_every; steps++) {
        int n_left = 0;
        for (int k = 0; k < n_active; k++) {
            PREFETCH(c->groups + (r[k] >> c->locate_shift) / COMPACT_GROUP);
            compact_prefetch_directory(c, r[k]);
        }
        for (int k = 0; k < n_active; k++) {
            prefetch_sample(c, r[k]);
            compact_prefetch_block(c, r[k]);
        }
        for (int k = 0; k < n_active; k++) {
            int64_t next = step_to_sample(c, r[k], steps, &positions[lane[k]]);
            r[n_left] = next;
            lane[n_left] = lane[k];
            n_left += next >= 0;
        }
        n_active = n_left;
    }
}

int64_t compact_locate(const compact *c, int64_t r)
{
    int64_t position;
    locate_lanes(c, &r, 1, &position);
    return position;
}

int32_t unitok_compact_locate(const compact *c, const int64_t *rows_, int64_t n, int64_t *positions,
                              unitok_error *error)
{
    if (!c->locate_every)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "the index has no samples for locating");
    for (int64_t k = 0; k < n; k += COMPACT_LANES)
        locate_lanes(c, rows_ + k, (int)(n - k < COMPACT_LANES ? n - k : COMPACT_LANES),
                     positions + k);
    return UNITOK_OK;
}

/* ------------------------------------------------------------------------------ extracting ---- */

/* The row of the suffix at a position that is a multiple of extract_every. */
INLINE int64_t start_at(const compact *c, int64_t position)
{
    int64_t r = packed_get(c->starts, position / c->extract_every, c->start_bits);
    return r < c->n ? r : 0;
}

int64_t compact_row_at(const compact *c, int64_t position)
{
    int64_t steps = position % c->extract_every, r = start_at(c, position - steps);
    for (; steps > 0; steps--) {
        uint64_t v = compact_psi(c, r);
        if (v == 0) return -1;
        r = (int64_t)v - 1;
    }
    return r;
}

/* A part of a range, between two multiples of extract_every. A step of Psi is needed for each of its
 * n symbols, even for the first n_skip, which are not wanted. */
typedef struct part {
    int64_t r;
    int32_t n_skip, n;
    uint32_t *symbols, *rows_; /* of the symbol after the skipped ones; rows_ can be NULL */
} part;

/* Reads up to COMPACT_LANES parts together, one symbol at a time, in rounds as in locate_lanes. A
 * part that is complete is removed from `parts`. */
static void extract_parts(const compact *c, part *parts, int n_parts)
{
    for (int32_t at = 0; n_parts; at++) {
        int n_left = 0;
        for (int k = 0; k < n_parts; k++) compact_prefetch_directory(c, parts[k].r);
        for (int k = 0; k < n_parts; k++) compact_prefetch_block(c, parts[k].r);
        for (int k = 0; k < n_parts; k++) {
            part p = parts[k];
            if (at >= p.n_skip) p.symbols[at - p.n_skip] = compact_symbol(c, p.r);
            if (at >= p.n_skip && p.rows_) p.rows_[at - p.n_skip] = (uint32_t)p.r;
            if (at + 1 == p.n) continue;
            uint64_t v = compact_psi(c, p.r);
            p.r = v ? (int64_t)v - 1 : 0;
            parts[n_left++] = p;
        }
        n_parts = n_left;
    }
}

/* A range is divided at the multiples of extract_every, where the samples are: a part needs no row
 * from the part before it. So a range of n symbols takes less than n + extract_every steps. */
int32_t unitok_compact_extract(const compact *c, const int64_t *begins, const int64_t *ends,
                               int64_t n, uint32_t *symbols, uint32_t *rows_, unitok_error *error)
{
    part parts[COMPACT_LANES];
    int n_parts = 0;
    if (!c->extract_every)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1,
                    "the index has no samples for extracting");
    for (int64_t k = 0; k < n; k++)
        if (begins[k] < 0 || ends[k] < begins[k] || ends[k] > c->n)
            return fail(error, UNITOK_ERROR_ARGUMENT, k, -1, "a range extends past the text");
    for (int64_t k = 0; k < n; k++) {
        for (int64_t at = begins[k], end; at < ends[k]; at = end) {
            int64_t begin = at - at % c->extract_every;
            end = begin + c->extract_every < ends[k] ? begin + c->extract_every : ends[k];
            part p = {start_at(c, begin), (int32_t)(at - begin), (int32_t)(end - begin), symbols,
                      rows_};
            parts[n_parts++] = p;
            symbols += end - at;
            if (rows_) rows_ += end - at;
            if (n_parts < COMPACT_LANES) continue;
            extract_parts(c, parts, n_parts);
            n_parts = 0;
        }
    }
    extract_parts(c, parts, n_parts);
    return UNITOK_OK;
}

/* In a damaged file, Psi can lead to the end early, or never. */
int64_t unitok_compact_walk(const compact *c, int64_t row, int64_t n, uint32_t *symbols,
                            uint32_t *rows_)
{
    for (int64_t k = 0; k < n; k++) {
        int is_row = row >= 0 && row < c->n;
        symbols[k] = is_row ? compact_symbol(c, row) : 0;
        if (rows_) rows_[k] = is_row ? (uint32_t)row : 0;
        row = is_row ? (int64_t)compact_psi(c, row) - 1 : -1;
    }
    return row;
}

/* --------------------------------------------------------------------------------- queries ---- */

/* Whether all symbols are in range. */
static int are_symbols(const compact *c, const uint32_t *symbols, int64_t begin, int64_t end)
{
    for (int64_t k = begin; k < end; k++)
        if (symbols[k] >= c->n_symbols) return 0;
    return 1;
}

/* Sequences are searched from their ends, COMPACT_LANES of them at a time, one symbol per round.
 * Sequences that are complete, or do not occur, leave the round. */
static void find_sequences(const compact *c, const uint32_t *symbols, const int64_t *begins,
                           const int64_t *ends, int n, int64_t *lo, int64_t *hi)
{
    compact_query queries[COMPACT_LANES];
    int64_t at[COMPACT_LANES];
    int lane[COMPACT_LANES], n_active = 0;
    for (int i = 0; i < n; i++) {
        lo[i] = 0;
        hi[i] = begins[i] == ends[i] ? c->n : 0;
        if (begins[i] >= ends[i] || !are_symbols(c, symbols, begins[i], ends[i])) continue;
        at[i] = ends[i] - 1;
        lo[i] = c->first[symbols[at[i]]];
        hi[i] = c->first[symbols[at[i]] + 1];
        if (at[i] > begins[i] && lo[i] < hi[i]) lane[n_active++] = i;
    }
    while (n_active) {
        int n_left = 0;
        for (int k = 0; k < n_active; k++) {
            int i = lane[k];
            compact_query query = {symbols[--at[i]], {lo[i], hi[i]}};
            queries[k] = query;
        }
        compact_before_many(c, queries, n_active);
        for (int k = 0; k < n_active; k++) {
            int i = lane[k];
            lo[i] = queries[k].in.lo;
            hi[i] = queries[k].in.hi;
            if (at[i] > begins[i] && lo[i] < hi[i]) lane[n_left++] = i;
        }
        n_active = n_left;
    }
}

void unitok_compact_tokens(const compact *c, const uint32_t *symbols, const int64_t *begins,
                           const int64_t *ends, int64_t n_queries, int64_t *lo, int64_t *hi)
{
    for (int64_t q = 0; q < n_queries; q += COMPACT_LANES) {
        int n = (int)(n_queries - q < COMPACT_LANES ? n_queries - q : COMPACT_LANES);
        find_sequences(c, symbols, begins + q, ends + q, n, lo + q, hi + q);
    }
}

/* The symbol `depth` symbols after the first one of row r; -1 if the text ends before it. */
static int64_t symbol_after(const compact *c, int64_t r, int64_t depth)
{
    for (; depth > 0; depth--) {
        uint64_t v = compact_psi(c, r);
        if (v == 0) return -1;
        r = (int64_t)v - 1;
    }
    return compact_symbol(c, r);
}

/* Rows that agree in their first `depth` symbols are sorted by the next symbol, so galloping
 * (doubling steps, then a binary search) skips rows with the same next symbol. */
int64_t unitok_compact_next(const compact *c, int64_t lo, int64_t hi, int64_t depth,
                            uint32_t *symbols, int64_t *counts, int64_t capacity)
{
    int64_t n = 0;
    if (lo < 0 || hi > c->n || depth < 0) return 0;
    while (lo < hi) {
        int64_t symbol = symbol_after(c, lo, depth), same = lo, step = 1, other;
        while (same + step < hi && symbol_after(c, same + step, depth) == symbol) {
            same += step;
            step *= 2;
        }
        other = same + step < hi ? same + step : hi;
        while (other - same > 1) {
            int64_t mid = same + (other - same) / 2;
            if (symbol_after(c, mid, depth) == symbol) same = mid;
            else other = mid;
        }
        if (symbol >= 0) {
            if (n < capacity) {
                symbols[n] = (uint32_t)symbol;
                counts[n] = other - lo;
            }
            n++;
        }
        lo = other;
    }
    return n;
}

/* Searches once in the list of each symbol that occurs. */
void unitok_compact_previous(const compact *c, int64_t lo, int64_t hi, int64_t *counts)
{
    compact_query queries[COMPACT_LANES];
    if (lo < 0 || hi > c->n || lo >= hi) return;
    uint32_t symbol = 0;
    while (symbol < c->n_symbols) {
        int64_t n = 0;
        for (; n < COMPACT_LANES && symbol < c->n_symbols; symbol++) {
            compact_query query = {symbol, {lo, hi}};
            if (compact_frequency(c, symbol)) queries[n++] = query;
        }
        compact_before_many(c, queries, n);
        for (int64_t k = 0; k < n; k++)
            counts[queries[k].symbol] += queries[k].in.hi - queries[k].in.lo;
    }
}
