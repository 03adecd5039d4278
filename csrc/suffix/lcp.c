/* lcp.c - computes common prefixes of neighbours in a suffix array, and checks suffix arrays, both
 * in linear time
 *
 * The lengths of the prefixes are computed in one array and two passes: unitok_suffix_phi fills it
 * in suffix-array order, and unitok_suffix_plcp overwrites it in text order. All functions process
 * one range per call, so that the caller can show progress and stop. */

#include "ground/common.h"
#include "unitok_search.h"

#define LCP_AHEAD 32 /* how many entries ahead the text is prefetched */

#define TEMPLATE "suffix/lcp.h"
#define POSITION_BITS 32
#include "suffix/widths.h"
#undef POSITION_BITS
#define POSITION_BITS 64
#include "suffix/widths.h"

typedef int64_t plcp_function(const void *, int64_t, void *, int64_t, int64_t, int64_t);
typedef int64_t check_function(const void *, int64_t, const uint32_t *, int64_t, const void *,
                               const uint64_t *, uint64_t *, int64_t, int64_t);

/* Indexed by the bytes of a symbol (1, 2, 4) and of a position (4, 8). */
static plcp_function *const plcp_functions[3][2] = ALL_WIDTHS(plcp);
static check_function *const check_functions[3][2] = ALL_WIDTHS(check);

/* Stores the predecessor of each suffix at the text position of the suffix. The positions are in no
 * particular order, so this pass is bound by memory latency. Returns the first entry that is out of
 * range, or -1. */
int64_t unitok_suffix_phi(const void *sa, int64_t n, int32_t position_bytes, void *phi,
                          int64_t begin, int64_t end)
{
    for (int64_t r = begin; r < end; r++) {
        if (position_bytes == 4) {
            const uint32_t *from = sa;
            uint32_t *to = phi;
            if (from[r] >= (uint32_t)n) return r;
            to[from[r]] = r > 0 ? from[r - 1] : (uint32_t)n;
        } else {
            const uint64_t *from = sa;
            uint64_t *to = phi;
            if (from[r] >= (uint64_t)n) return r;
            to[from[r]] = r > 0 ? from[r - 1] : (uint64_t)n;
        }
    }
    return -1;
}

/* symbol_bytes >> 1 is the index of the width in the table: 0, 1 and 2 for 1, 2 and 4 bytes. */
int64_t unitok_suffix_plcp(const void *text, int64_t n, int32_t symbol_bytes, void *phi,
                           int32_t position_bytes, int64_t begin, int64_t end, int64_t common)
{
    return plcp_functions[symbol_bytes >> 1][position_bytes == 8](text, n, phi, begin, end, common);
}

/* It is not enough that `sa` is a permutation: see lcp.h for what is checked. `starts` holds the
 * bucket boundaries, and `heads` a copy of them that the check advances. */
int64_t unitok_suffix_check(const void *text, int64_t n, int32_t symbol_bytes, const uint32_t *rank,
                            int64_t n_symbols, const void *sa, int32_t position_bytes,
                            const uint64_t *starts, uint64_t *heads, int64_t begin, int64_t end)
{
    check_function *check = check_functions[symbol_bytes >> 1][position_bytes == 8];
    return check(text, n, rank, n_symbols, sa, starts, heads, begin, end);
}
