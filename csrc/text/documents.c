/* documents.c - cuts a text into documents at a separator, in place
 *
 * Occurrences are leftmost and do not overlap: in "aaa" the separator "aa" occurs once, at 0.
 *
 * A naive search is quadratic ("aaaa...b" in "aaaa..."), and Knuth-Morris-Pratt needs a table as long
 * as the separator. The two-way search of Crochemore and Perrin ("Two-way string-matching",
 * 1991) needs three numbers:
 *
 *     separator    a b a a b a a b        cut      its critical factorization: left | right
 *                  left | right           period   its true period if `periodic`, else a shift that is always safe
 *
 * The right part is compared forwards, then the left part backwards. A mismatch at k in the right
 * part shifts the separator by k - cut + 1, and a mismatch in the left part by the period. After a
 * shift by a true period, all but the last `period` bytes of the separator are known to match
 * (`known`) and are not read again. This takes O(n) for any separator.
 *
 * While `known` is 0, memchr skips to the next byte that can begin an occurrence. For a separator of
 * one byte, such as "\n", memchr does all the work. The bound still holds, because the search resumes
 * after the bytes that memchr skipped.
 */
#include "ground/common.h"

typedef struct needle {
    const uint8_t *bytes;
    int64_t n_bytes; /* >= 1 */
    int64_t cut;     /* 0..n_bytes-1 */
    int64_t period;  /* 1..n_bytes */
    int periodic;
} needle;

/* Returns the start of the greatest suffix of x[0..n-1], and its period. With `reversed`, the order
 * of byte values is reversed. `at` is the best start so far, `other` is the start that is compared
 * with it, and the first k bytes of the two suffixes are equal. */
static int64_t needle_greatest_suffix(const uint8_t *x, int64_t n, int reversed,
                                      int64_t *ret_period)
{
    int64_t at = 0, other = 1, k = 0, period = 1;
    while (other + k < n) {
        uint8_t a = x[at + k], b = x[other + k];
        if (a == b) {
            if (++k == period) {
                other += period;
                k = 0;
            }
        } else if ((b < a) != reversed) {
            other += k + 1;
            k = 0;
            period = other - at;
        } else {
            at = other;
            other = at + 1;
            k = 0;
            period = 1;
        }
    }
    *ret_period = period;
    return at;
}

/* The later of the two greatest suffixes is a critical factorization (Crochemore and Perrin,
 * theorem 3.1). */
static needle needle_new(const uint8_t *bytes, int64_t n_bytes)
{
    int64_t period, reversed_period;
    int64_t cut = needle_greatest_suffix(bytes, n_bytes, 0, &period);
    int64_t reversed_cut = needle_greatest_suffix(bytes, n_bytes, 1, &reversed_period);
    if (reversed_cut > cut) {
        cut = reversed_cut;
        period = reversed_period;
    }
    /* The period of the right part is at most its length, so this does not read beyond the
     * separator. */
    int periodic = memcmp(bytes, bytes + period, (size_t)cut) == 0;
    if (!periodic) period = (cut > n_bytes - cut ? cut : n_bytes - cut) + 1;
    needle ret = {bytes, n_bytes, cut, period, periodic};
    return ret;
}

/* Returns the first occurrence in text[0..n_bytes-1] that begins at `at` or later, or -1.
 *
 * 1. Compare the right part forwards. A mismatch at k shifts the start of the right part past k.
 * 2. Compare the left part backwards. A mismatch shifts by the period. */
static int64_t needle_find(const needle *x, const uint8_t *text, int64_t n_bytes, int64_t at)
{
    int64_t known = 0;
    while (n_bytes - at >= x->n_bytes) {
        if (known == 0) {
            const uint8_t *first = memchr(text + at, x->bytes[0],
                                          (size_t)(n_bytes - at - x->n_bytes + 1));
            if (!first) return -1;
            at = first - text;
        }
        const uint8_t *here = text + at;
        int64_t k = known > x->cut ? known : x->cut;
        while (k < x->n_bytes && x->bytes[k] == here[k]) k++;
        if (k < x->n_bytes) {
            at += k - x->cut + 1;
            known = 0;
            continue;
        }
        k = x->cut;
        while (k > known && x->bytes[k - 1] == here[k - 1]) k--;
        if (k <= known) return at;
        at += x->period;
        known = x->periodic ? x->n_bytes - x->period : 0;
    }
    return -1;
}

/* Documents move to the left, over the separators, so the text needs no second buffer. */
int64_t unitok_split_documents(uint8_t *text, int64_t n_bytes, const uint8_t *separator,
                               int64_t n_separator_bytes, int64_t *offsets, int64_t max_docs,
                               int64_t *ret_n_consumed)
{
    needle x = needle_new(separator, n_separator_bytes);
    int64_t n_docs = 0, begin = 0, out = 0, end;
    offsets[0] = 0;
    for (;;) {
        int64_t found = n_docs < max_docs - 1 ? needle_find(&x, text, n_bytes, begin) : begin;
        end = found < 0 ? n_bytes : found;
        if (out != begin && end != begin) memmove(text + out, text + begin, (size_t)(end - begin));
        out += end - begin;
        offsets[++n_docs] = out;
        if (found < 0 || n_docs == max_docs) break;
        begin = found + n_separator_bytes;
    }
    *ret_n_consumed = end;
    return n_docs;
}
