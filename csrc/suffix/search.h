/* search.h - reading a shard: the rank of a token, bounds in the suffix array, intervals of token
 * sequences
 *
 *     r       sa[r]   the tokens from ids[sa[r]] on, as ranks
 *     lo-1    ...     3 9 ...
 *     lo      ...     3 5 1 7 ...   |
 *     ...             3 5 2 ...     |  the interval [lo, hi) of the sequence 3 5
 *     hi-1    ...     3 5 8 ...     |
 *     hi      ...     3 6 ...
 *
 * Suffixes that begin with the same tokens are neighbours, so a sequence corresponds to an
 * interval, and two binary searches narrow it by one more token. A probe costs two cache misses,
 * one in `sa` and one in `ids`. `first` gives the interval of the first token without a probe, and
 * `top`, a sample of the suffix array that is small enough to stay in the cache, replaces all but
 * the last 12 probes.
 *
 * Nothing here trusts the files: a position past the end is read as the end of the text, and an
 * unsorted suffix array gives an interval that is wrong but lies within [0, n]. */
#pragma once

#include "ground/common.h"
#include "ground/packed.h"
#include "unitok_search.h"

typedef unitok_search_shard shard;

/* A half-open interval of the suffix array. */
typedef struct interval {
    int64_t lo, hi;
} interval;

enum { RANK_END = -1 }; /* the rank of the end of the text, which is smaller than any token */

/* Entry k of an array of ids. Wide ids come from files, and the tables have an entry for each value
 * below UNITOK_SEARCH_IDS_32, a power of two. The branch takes the same direction throughout an
 * index. */
INLINE uint32_t id_in(const void *ids, int32_t id_bytes, uint64_t k)
{
    return id_bytes == 2 ? ((const uint16_t *)ids)[k]
                         : ((const uint32_t *)ids)[k] & (UNITOK_SEARCH_IDS_32 - 1);
}

/* The token at a position below n. */
INLINE uint32_t id_at(const shard *s, uint64_t position)
{
    return id_in(s->ids, s->id_bytes, position);
}

INLINE void prefetch_id(const shard *s, uint64_t position)
{
    PREFETCH((const uint8_t *)s->ids + position * (uint64_t)s->id_bytes);
}

/* The number of ids in the tables of a shard. */
INLINE int64_t id_count(const shard *s)
{
    return s->id_bytes == 2 ? UNITOK_SEARCH_IDS_16 : UNITOK_SEARCH_IDS_32;
}

/* Queries use this function to read every token that they compare, so no position leads outside the
 * text. */
INLINE int32_t rank_at(const shard *s, uint64_t position)
{
    return position < (uint64_t)s->n ? (int32_t)s->rank[id_at(s, position)] : RANK_END;
}

/* The suffixes whose first token has a rank in [k1, k2). */
INLINE interval bucket_range(const shard *s, int32_t k1, int32_t k2)
{
    interval ret = {(int64_t)s->first[k1], (int64_t)s->first[k2]};
    return ret;
}

INLINE interval bucket(const shard *s, int32_t rank) { return bucket_range(s, rank, rank + 1); }

/* How often a token occurs. */
INLINE int64_t frequency(const shard *s, uint32_t id)
{
    return (int64_t)(s->first[s->rank[id] + 1] - s->first[s->rank[id]]);
}

/* Returns a message if the offsets are invalid or a text is too long, otherwise NULL. */
INLINE const char *check_texts(const int64_t *offsets, int64_t n)
{
    const char *wrong = check_offsets(offsets, n);
    for (int64_t k = 0; k < n && !wrong; k++)
        if (offsets[k + 1] - offsets[k] > UNITOK_SEARCH_TEXT_MAX)
            wrong = "a text is longer than 1 GiB";
    return wrong;
}

/* Returns the document that contains a position of a shard: the first document that ends after the
 * position, or n_documents. The first token of the shard is token `begin` of the token file. */
INLINE int64_t document_at(const uint64_t *ends, int64_t n_documents, uint64_t begin,
                           uint64_t position)
{
    int64_t lo = 0, hi = n_documents;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (ends[mid] - begin <= position) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

/* All suffixes in [lo, hi) share their first `depth` tokens. Returns the first whose next token has
 * a rank >= k, or hi. */
int64_t search_lower(const shard *s, int64_t lo, int64_t hi, int64_t depth, int32_t k);

/* All suffixes of `in` share their first `depth` tokens. Returns those whose next token has a rank
 * in [k1, k2). */
interval search_narrow(const shard *s, interval in, int64_t depth, int32_t k1, int32_t k2);

/* Like search_narrow, for each of n intervals, in place. The cache misses of different searches
 * overlap, which is several times faster. */
void search_narrow_many(const shard *s, interval *io, int64_t n, int64_t depth, int32_t k1,
                        int32_t k2);

/* All suffixes of `in` share their first `depth` tokens. Returns those that continue with
 * ids[0..n-1]. */
interval search_sequence(const shard *s, interval in, int64_t depth, const uint32_t *ids,
                         int64_t n);
