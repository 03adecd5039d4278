/* search.c - finds the intervals of token sequences in a suffix array, and answers queries about
 * them: see search.h */

#include "suffix/search.h"

#include "ground/error.h"

/* A record of `top` holds the position of a suffix and the ranks of its first eight tokens, so that
 * a comparison of up to eight tokens needs neither `sa` nor `ids`:
 *
 *     record j    | u32 position | rank 0 | ... | rank 7 |        of suffix j * TOP_STEP
 *
 * Ranks have as many bytes as ids. */
enum {
    TOP_STEP = 4096, /* suffixes between two records of `top` */
    TOP_TOKENS = 8,
    N_LANES = 32 /* interleaved searches: enough to saturate a core's outstanding cache misses */
};

/* --------------------------------------------------------------------------------- the top ---- */

INLINE const uint8_t *top_record(const shard *s, int64_t j)
{
    return s->top + j * (4 + TOP_TOKENS * s->id_bytes);
}

/* The ranks in a record are meaningless past the end of the text. */
INLINE int32_t top_rank(const shard *s, int64_t j, int64_t depth)
{
    const uint8_t *record = top_record(s, j);
    if ((uint64_t)load_u32(record) + (uint64_t)depth >= (uint64_t)s->n) return RANK_END;
    const uint8_t *rank = record + 4 + s->id_bytes * depth;
    return s->id_bytes == 2 ? load_u16(rank)
                            : (int32_t)(load_u32(rank) & (UNITOK_SEARCH_IDS_32 - 1));
}

/* Finds the records of `top` for the suffixes in [lo, hi): [*ret_a, *ret_b). Returns 0 if they
 * would not narrow the interval. An interval of at most TOP_STEP suffixes contains at most one
 * record. */
INLINE int top_covers(const shard *s, int64_t lo, int64_t hi, int64_t *ret_a, int64_t *ret_b)
{
    *ret_a = (lo + TOP_STEP - 1) / TOP_STEP;
    *ret_b = (hi - 1) / TOP_STEP + 1;
    return hi - lo > TOP_STEP && *ret_b <= s->n_top;
}

/* Narrows [lo, hi): if record j is the first of [a, b) at or past a bound, the bound lies after
 * record j - 1 and at or before record j. Record j stands for suffix j * TOP_STEP.
 *
 *     sa           lo … │ 4096 … │ 8192 … │ 12288 … hi
 *     record            1        2        3
 *     below it?         yes      yes      no: j = 3       so the bound is in 8193..12288 */
INLINE void between_records(int64_t j, int64_t a, int64_t b, int64_t *io_lo, int64_t *io_hi)
{
    if (j > a) *io_lo = (j - 1) * TOP_STEP + 1;
    if (j < b) *io_hi = j * TOP_STEP;
}

/* -------------------------------------------------------------------------- one more token ---- */

/* Narrows [lo, hi) with the sample. The search in `top` leaves at most TOP_STEP suffixes, which
 * take 12 probes of the array itself. Records hold only TOP_TOKENS tokens, so deeper searches do
 * not use `top`. */
static void top_lower(const shard *s, int64_t *io_lo, int64_t *io_hi, int64_t depth, int32_t k)
{
    int64_t a, b;
    if (depth >= TOP_TOKENS || !top_covers(s, *io_lo, *io_hi, &a, &b)) return;
    int64_t low = a, high = b;
    while (low < high) {
        int64_t mid = low + (high - low) / 2;
        if (top_rank(s, mid, depth) < k) low = mid + 1;
        else high = mid;
    }
    between_records(low, a, b, io_lo, io_hi);
}

/* An ordinary binary search; each probe reads a position and then the token there, and both usually
 * miss the cache. */
int64_t search_lower(const shard *s, int64_t lo, int64_t hi, int64_t depth, int32_t k)
{
    top_lower(s, &lo, &hi, depth, k);
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (rank_at(s, (uint64_t)s->sa[mid] + (uint64_t)depth) < k) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

/* Like search_lower, but fast if the answer is near lo, because intervals are often short. The
 * steps double, so an answer d suffixes away takes about 2 log2(d) probes, most of them close
 * together. */
static int64_t gallop_lower(const shard *s, int64_t lo, int64_t hi, int64_t depth, int32_t k)
{
    int64_t step = 1;
    while (lo + step < hi && step < TOP_STEP) {
        if (rank_at(s, (uint64_t)s->sa[lo + step] + (uint64_t)depth) >= k)
            return search_lower(s, lo, lo + step, depth, k);
        lo += step;
        step *= 2;
    }
    return search_lower(s, lo, hi, depth, k);
}

/* The search for the upper bound starts at the lower one, because most intervals are short. */
interval search_narrow(const shard *s, interval in, int64_t depth, int32_t k1, int32_t k2)
{
    if (depth == 0) return bucket_range(s, k1, k2);
    interval ret;
    ret.lo = search_lower(s, in.lo, in.hi, depth, k1);
    ret.hi = ret.lo;
    if (ret.lo < in.hi && rank_at(s, (uint64_t)s->sa[ret.lo] + (uint64_t)depth) < k2)
        ret.hi = gallop_lower(s, ret.lo, in.hi, depth, k2);
    return ret;
}

/* search_lower for n interleaved lanes lo[i], hi[i]; the results are in lo. Each round prefetches
 * for all lanes before it reads for any:
 *
 *     1  prefetch sa[middle]                            of every lane
 *     2  read sa[middle], prefetch the token there      of every lane
 *     3  read the token, halve the interval             of every lane
 *
 * So a round takes little longer than the two cache misses of one lane. A lane that has finished is
 * idle while the others continue; the number of rounds is that of the longest search. */
static void lower_lanes(const shard *s, int64_t *lo, int64_t *hi, int n, int64_t depth, int32_t k)
{
    int64_t position[N_LANES];
    for (int i = 0; i < n; i++) top_lower(s, &lo[i], &hi[i], depth, k);
    for (int n_active = 1; n_active > 0;) {
        n_active = 0;
        for (int i = 0; i < n; i++)
            if (lo[i] < hi[i]) PREFETCH(s->sa + lo[i] + (hi[i] - lo[i]) / 2);
        for (int i = 0; i < n; i++) {
            if (lo[i] >= hi[i]) continue;
            position[i] = (int64_t)s->sa[lo[i] + (hi[i] - lo[i]) / 2] + depth;
            if (position[i] < s->n) prefetch_id(s, (uint64_t)position[i]);
        }
        for (int i = 0; i < n; i++) {
            if (lo[i] >= hi[i]) continue;
            int64_t mid = lo[i] + (hi[i] - lo[i]) / 2;
            if (rank_at(s, (uint64_t)position[i]) < k) lo[i] = mid + 1;
            else hi[i] = mid;
            n_active += lo[i] < hi[i];
        }
    }
}

/* Searches for the lower bounds of 32 intervals together, and then for their upper bounds, starting
 * at the lower ones. */
void search_narrow_many(const shard *s, interval *io, int64_t n, int64_t depth, int32_t k1,
                        int32_t k2)
{
    int64_t lo[N_LANES], hi[N_LANES], end[N_LANES];
    for (int64_t at = 0; at < n; at += N_LANES) {
        int n_lanes = (int)(n - at < N_LANES ? n - at : N_LANES);
        for (int i = 0; i < n_lanes; i++) {
            lo[i] = io[at + i].lo;
            hi[i] = end[i] = io[at + i].hi;
        }
        lower_lanes(s, lo, hi, n_lanes, depth, k1);
        for (int i = 0; i < n_lanes; i++) {
            io[at + i].lo = lo[i];
            hi[i] = end[i];
        }
        lower_lanes(s, lo, hi, n_lanes, depth, k2);
        for (int i = 0; i < n_lanes; i++) io[at + i].hi = lo[i];
    }
}

/* ------------------------------------------------------------------------------- sequences ---- */

/* Compares the suffix at `position` with ids[0..n-1]: negative, 0 if it begins with them, or
 * positive. On entry, the first *io_same tokens are known to be equal; on return, *io_same is the
 * number of equal tokens. rank_at makes the end of the text smaller than any token. */
static int compare_suffix(const shard *s, uint64_t position, const uint32_t *ids, int64_t n,
                          int64_t *io_same)
{
    for (int64_t t = *io_same; t < n; t++) {
        int32_t here = rank_at(s, position + (uint64_t)t), there = (int32_t)s->rank[ids[t]];
        if (here == there) continue;
        *io_same = t;
        return here < there ? -1 : 1;
    }
    *io_same = n;
    return 0;
}

/* Like compare_suffix, but for the suffix of record j of `top`, whose first 8 tokens are in the
 * record. Tokens after the eighth are read from the text. */
static int compare_top(const shard *s, int64_t j, int64_t depth, const uint32_t *ids, int64_t n)
{
    int64_t t = 0;
    for (; t < n && depth + t < TOP_TOKENS; t++) {
        int32_t here = top_rank(s, j, depth + t), there = (int32_t)s->rank[ids[t]];
        if (here != there) return here < there ? -1 : 1;
    }
    return compare_suffix(s, (uint64_t)load_u32(top_record(s, j)) + (uint64_t)depth, ids, n, &t);
}

/* The first suffix of [lo, hi) for which the comparison returns `least` or more: the lower bound if
 * `least` is 0, the upper bound if it is 1. The search remembers how many tokens each end of the
 * interval shares with the sequence. A probe starts its comparison after the smaller of the two
 * numbers. */
static int64_t sequence_bound(const shard *s, int64_t lo, int64_t hi, int64_t depth,
                              const uint32_t *ids, int64_t n, int least)
{
    int64_t a, b;
    if (depth < TOP_TOKENS && top_covers(s, lo, hi, &a, &b)) {
        int64_t low = a, high = b;
        while (low < high) {
            int64_t mid = low + (high - low) / 2;
            if (compare_top(s, mid, depth, ids, n) < least) low = mid + 1;
            else high = mid;
        }
        between_records(low, a, b, &lo, &hi);
    }
    /* Every suffix between the two ends shares at least that many tokens with the sequence, so
     * these tokens are not compared again (Manber and Myers, 1990). */
    int64_t low_same = 0, high_same = 0;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2, same = low_same < high_same ? low_same : high_same;
        if (compare_suffix(s, (uint64_t)s->sa[mid] + (uint64_t)depth, ids, n, &same) < least) {
            lo = mid + 1;
            low_same = same;
        } else {
            hi = mid;
            high_same = same;
        }
    }
    return lo;
}

/* Compares all tokens, because nothing is known about this suffix. */
static int begins_with(const shard *s, int64_t r, int64_t depth, const uint32_t *ids, int64_t n)
{
    int64_t same = 0;
    return compare_suffix(s, (uint64_t)s->sa[r] + (uint64_t)depth, ids, n, &same) == 0;
}

/* The first token selects a bucket without a search. The lower bound is found first: if the suffix
 * there does not begin with the sequence, the sequence does not occur. The upper bound is then
 * found by galloping from the lower one. */
interval search_sequence(const shard *s, interval in, int64_t depth, const uint32_t *ids, int64_t n)
{
    if (depth == 0 && n > 0) {
        in = bucket(s, (int32_t)s->rank[ids[0]]);
        depth++;
        ids++;
        n--;
    }
    if (n == 0 || in.lo >= in.hi) return in;
    int64_t lo = sequence_bound(s, in.lo, in.hi, depth, ids, n, 0), at = lo, step = 1;
    interval ret = {lo, lo};
    if (lo == in.hi || !begins_with(s, lo, depth, ids, n)) return ret;
    for (; at + step < in.hi && step < TOP_STEP; step *= 2) {
        if (!begins_with(s, at + step, depth, ids, n)) {
            ret.hi = sequence_bound(s, at + 1, at + step, depth, ids, n, 1);
            return ret;
        }
        at += step;
    }
    ret.hi = sequence_bound(s, at + 1, in.hi, depth, ids, n, 1);
    return ret;
}

/* A shard is read from files. The bucket starts are checked here, because they are used as indexes
 * without further checks. The suffix array has too many entries to check here, so each is checked
 * when it is read. */
int32_t unitok_search_check(const shard *s, unitok_error *error)
{
    if (s->n < 0 || s->n > UINT32_MAX || s->n_top < 0 || s->n_documents < 0 || s->eod < -1 ||
        (s->id_bytes != 2 && s->id_bytes != 4) || s->eod >= id_count(s))
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "a size in the shard is out of range");
    if (s->first[0] != 0 || s->first[id_count(s)] != (uint64_t)s->n)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1,
                    "the bucket starts do not span the shard's tokens");
    for (int64_t k = 0; k < id_count(s); k++)
        if (s->first[k + 1] < s->first[k])
            return fail(error, UNITOK_ERROR_ARGUMENT, k, -1, "the bucket starts decrease");
    return UNITOK_OK;
}

/* Whether all ids have an entry in the tables. */
static int are_ids(const shard *s, const uint32_t *ids, int64_t begin, int64_t end)
{
    for (int64_t k = begin; k < end; k++)
        if (ids[k] >= id_count(s)) return 0;
    return 1;
}

/* Finds the interval of each query; an empty query matches every suffix. */
void unitok_search_tokens(const shard *s, const uint32_t *ids, const int64_t *begins,
                          const int64_t *ends, int64_t n_queries, int64_t *lo, int64_t *hi)
{
    interval all = {0, s->n};
    for (int64_t q = 0; q < n_queries; q++) {
        interval found = {0, 0};
        if (are_ids(s, ids, begins[q], ends[q]))
            found = search_sequence(s, all, 0, ids + begins[q], ends[q] - begins[q]);
        lo[q] = found.lo;
        hi[q] = found.hi;
    }
}

/* --------------------------------------------------------------------------------- queries ---- */

/* The suffixes are sorted, so those with the same next token form a run. Each run is skipped with a
 * search, so the cost depends on the number of distinct next tokens, not on the length of the
 * interval. Returns that number, even if not all fit. */
int64_t unitok_search_next(const shard *s, int64_t lo, int64_t hi, int64_t depth, uint32_t *ids,
                           int64_t *counts, int64_t capacity)
{
    int64_t n = 0;
    while (lo < hi) {
        /* The first suffix gives the next token; the run of suffixes that continue with it starts
         * here. */
        uint64_t position = (uint64_t)s->sa[lo] + (uint64_t)depth;
        int32_t rank = rank_at(s, position);
        int64_t end = depth == 0 ? bucket(s, rank).hi : gallop_lower(s, lo, hi, depth, rank + 1);
        if (end <= lo) end = lo + 1; /* the suffix array is not sorted */
        if (end > hi) end = hi;
        if (rank != RANK_END) {
            if (n < capacity) {
                ids[n] = id_at(s, position);
                counts[n] = end - lo;
            }
            n++;
        }
        lo = end;
    }
    return n;
}

/* The tokens before the suffixes are in no particular order, so every one is read. The column
 * `left` stores them in suffix-array order; without it, each costs two cache misses, which overlap
 * because of prefetching. */
void unitok_search_previous(const shard *s, int64_t lo, int64_t hi, int64_t *counts)
{
    enum { AHEAD = 32 };
    for (int64_t r = lo; r < hi; r++) {
        if (s->left) {
            if (s->sa[r] != 0) counts[id_in(s->left, s->id_bytes, (uint64_t)r)]++;
            continue;
        }
        if (r + AHEAD < hi && s->sa[r + AHEAD] < (uint64_t)s->n) prefetch_id(s, s->sa[r + AHEAD]);
        if (s->sa[r] != 0 && s->sa[r] <= (uint64_t)s->n) counts[id_at(s, s->sa[r] - 1)]++;
    }
}

/* Whether ids[a..a+n) and ids[b..b+n) lie within the shard and are equal. It is enough to check the
 * bounds of the later one. */
INLINE int same_tokens(const shard *s, uint64_t a, uint64_t b, int64_t n)
{
    uint64_t further = a > b ? a : b, size = (uint64_t)s->id_bytes;
    const uint8_t *ids = s->ids;
    return further + (uint64_t)n <= (uint64_t)s->n &&
           memcmp(ids + a * size, ids + b * size, (size_t)n * size) == 0;
}

/* Equal n-grams are neighbours, so one pass over the array finds them all. Each call does a part of
 * the work: it continues from *io_rank, and stops after n_suffixes suffixes or when the arrays are
 * full. */
int64_t unitok_search_ngrams(const shard *s, int64_t n_tokens, int64_t min_count,
                             int64_t n_suffixes, int64_t *io_rank, uint32_t *positions,
                             int64_t *counts, int64_t capacity)
{
    enum { AHEAD = 16 };
    int64_t r = *io_rank, stop = s->n - r < n_suffixes ? s->n : r + n_suffixes, n = 0;
    while (r < stop && n < capacity) {
        int64_t begin = r++;
        uint64_t position = s->sa[begin];
        if (position + (uint64_t)n_tokens > (uint64_t)s->n) continue;
        for (; r < s->n && same_tokens(s, position, s->sa[r], n_tokens); r++)
            if (r + AHEAD < s->n && s->sa[r + AHEAD] < (uint64_t)s->n)
                prefetch_id(s, s->sa[r + AHEAD]);
        if (r - begin < min_count) continue;
        positions[n] = (uint32_t)position;
        counts[n++] = r - begin;
    }
    *io_rank = r;
    return n;
}

/* Adds up the sizes in bytes of the tokens in each range. */
void unitok_search_sizes(const void *ids, int32_t id_bytes, const uint32_t *sizes,
                         const int64_t *begins, const int64_t *ends, int64_t n, int64_t *ret)
{
    for (int64_t k = 0; k < n; k++) {
        int64_t sum = 0;
        for (int64_t i = begins[k]; i < ends[k]; i++)
            sum += sizes[id_in(ids, id_bytes, (uint64_t)i)];
        ret[k] = sum;
    }
}
