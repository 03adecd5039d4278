/* words.c - counts words in ranges of an index, narrows intervals of its suffix array of words, and
 * searches linearly for words with gaps between them
 *
 * An index numbers its words; 0 ends a document. A search for words without gaps narrows an
 * interval of the suffix array one word at a time; gaps are searched for in the text:
 *
 *     query     place 0: "new"   0 to 2 other words   place 1: "york" or "jersey"
 *     words     … 8  17  4  8  9  0 …           8 is "new", 9 is "york", 0 is the end of a document
 *     match             └────┘                  from 8 to 9; no other word is between them
 *
 * Words, suffix arrays and tables are files, so every entry is checked before it is used as an
 * index; a wrong entry makes a function return 0 or -1, and the caller reports a damaged index. */

#include <string.h>

#include "ground/common.h"
#include "unitok_search.h"

int32_t unitok_words_count(const uint32_t *words, const int64_t *begins, const int64_t *ends,
                           int64_t n_ranges, int64_t n_words, int64_t *counts)
{
    for (int64_t k = 0; k < n_ranges; k++) {
        for (int64_t i = begins[k]; i < ends[k]; i++) {
            if (words[i] >= n_words) return 0;
            counts[words[i]]++;
        }
    }
    return 1;
}

/* Returns the first suffix in [lo, hi) whose word at `depth` is at least `word`; hi if there is
 * none; -1 if a suffix begins past the end of the words. The end of the words counts as word 0, the
 * smallest, as it does when suffixes are sorted. */
static int64_t lower_bound(const uint32_t *words, const uint32_t *sa, int64_t n, int64_t depth,
                           int64_t word, int64_t lo, int64_t hi)
{
    while (lo < hi) {
        int64_t middle = lo + (hi - lo) / 2, begin = sa[middle];
        if (begin >= n) return -1;
        int64_t found = begin + depth < n ? words[begin + depth] : 0;
        if (found < word) lo = middle + 1;
        else hi = middle;
    }
    return lo;
}

/* The suffixes of an interval agree in their first `depth` words, so they are in the order of the
 * word that follows, and two binary searches find those with a word in first..last. */
int32_t unitok_words_narrow(const uint32_t *words, const uint32_t *sa, int64_t n, int64_t depth,
                            const int64_t *first, const int64_t *last, int64_t n_intervals,
                            int64_t *lo, int64_t *hi)
{
    for (int64_t k = 0; k < n_intervals; k++) {
        lo[k] = lower_bound(words, sa, n, depth, first[k], lo[k], hi[k]);
        if (lo[k] < 0) return 0;
        hi[k] = lower_bound(words, sa, n, depth, last[k] + 1, lo[k], hi[k]);
        if (hi[k] < 0) return 0;
    }
    return 1;
}

/* Returns the number of words in the shortest match that begins at words[0], or 0 if there is none.
 * For each place in turn, computes the distances from words[0] at which a match of all places up to
 * this place can end:
 *
 *     words       new  x  york  y  york            query: new, 0 to 3 other words, york
 *     place 0      1   0   0    0   0              is_end before the loop: distance 0
 *     place 1      0   0   1    0   1              both can end a match; the first is shortest
 *
 * A greedy choice of the nearest word for each place would miss matches, since a later place may
 * need a farther one. Takes O(places * span * gap) in the worst case; all three are bounded by
 * constants. */
static int32_t shortest(const uint32_t *words, int32_t n, const unitok_words_query *query)
{
    uint8_t is_end[UNITOK_WORDS_MAX_SPAN] = {1};
    int32_t low = 0, high = 0; /* the smallest and the largest distance in is_end */
    for (int32_t k = 1; k < query->n_places; k++) {
        uint8_t next[UNITOK_WORDS_MAX_SPAN];
        int32_t least = query->least[k - 1], most = query->most[k - 1];
        int32_t first = low + 1 + least, last = high + 1 + most;
        int32_t next_low = -1, next_high = -1;
        if (last > n - 1) last = n - 1;
        memset(next, 0, sizeof next);
        for (int32_t to = first; to <= last; to++) {
            if (!(query->places[words[to]] >> k & 1)) continue;
            int32_t from = to - 1 - most < low ? low : to - 1 - most;
            while (from <= high && from <= to - 1 - least && !is_end[from]) from++;
            if (from > high || from > to - 1 - least) continue;
            next[to] = 1;
            if (next_low < 0) next_low = to;
            next_high = to;
        }
        if (next_low < 0) return 0;
        memcpy(is_end, next, sizeof is_end);
        low = next_low, high = next_high;
    }
    return low + 1;
}

/* Only positions whose word can be at place 0 are examined; `first`, a table of one bit per word
 * that fits in the cache, rejects the others. A match cannot cross the end of its document. */
int64_t unitok_words_find(const uint32_t *words, int64_t n, const unitok_words_query *query,
                          int64_t end, int64_t *io_at, int64_t *begins, int64_t *ends,
                          int64_t capacity)
{
    int64_t n_found = 0, at = *io_at;
    for (; at < end && n_found < capacity; at++) {
        uint32_t word = words[at];
        if (word >= query->n_words) return -1;
        if (!(query->first[word >> 3] >> (word & 7) & 1)) continue;
        int32_t inside = 1; /* the words up to the end of the document, at most the span */
        while (inside < query->span && at + inside < n && words[at + inside]) {
            if (words[at + inside] >= query->n_words) return -1;
            inside++;
        }
        int32_t size = shortest(words + at, inside, query);
        if (!size) continue;
        begins[n_found] = at;
        ends[n_found++] = at + size;
    }
    *io_at = at;
    return n_found;
}
