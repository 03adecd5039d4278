/* ranges.c - verifies repeated ranges of text, shrinks them to characters, words or lines, and
 * removes them
 *
 *     pair of anchors      begin    at                end
 *                          │ n - k  │ n               │        the context, without other documents
 *     windows in it        ├────────────────┤
 *                           …    ├────────────────┤            begin..end - n
 *
 * Verifying and cutting are separate steps in pyunitok/clean: unitok_anchors_verify compares the
 * texts of pairs, so that nothing is removed only because hashes are equal; unitok_ranges_cut then
 * decides what to remove from each document. Between the two, the caller sorts and joins the
 * ranges. */

#include "clean/anchors.h"
#include "ground/utf8.h"

/* --------------------------------------------------------------------------------- Compare ---- */

typedef struct document {
    int64_t begin;
    int64_t end;
} document;

/* The document that contains position `at`, which is below the end of the last document. An empty
 * document contains no position. */
static document document_at(const int64_t *ends, int64_t n_documents, int64_t at)
{
    int64_t low = 0, high = n_documents - 1; /* the first document that ends after `at` */
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (ends[middle] > at) high = middle;
        else low = middle + 1;
    }
    return (document){low ? ends[low - 1] : 0, ends[low]};
}

INLINE int holds(const document *d, int64_t at) { return d->begin <= at && at < d->end; }

/* The part of the context of anchor `a` that equals the context of `b`; empty if it contains no
 * window. If the anchors are of one class, the hashes of their contexts are equal, so the contexts
 * are nearly always equal too, which a single memcmp confirms. If they are not, or the classes
 * differ, the equal part is extended from the anchor in both directions. */
static document compare_contexts(const unitok_anchors *anchors, const uint8_t *text, document in_a,
                                 document in_b, int64_t a, int64_t b)
{
    int64_t n = anchors->n, left = n - anchors->k, right = n;
    if (left > a - in_a.begin) left = a - in_a.begin;
    if (left > b - in_b.begin) left = b - in_b.begin;
    if (right > in_a.end - a) right = in_a.end - a;
    if (right > in_b.end - b) right = in_b.end - b;
    if (memcmp(text + a - left, text + b - left, (size_t)(left + right)) != 0) {
        int64_t n_equal = 0;
        while (n_equal < left && text[a - n_equal - 1] == text[b - n_equal - 1]) n_equal++;
        left = n_equal;
        n_equal = 0;
        while (n_equal < right && text[a + n_equal] == text[b + n_equal]) n_equal++;
        right = n_equal;
    }
    document ret = {a - left, a + right};
    if (left + right < n) ret.end = ret.begin;
    return ret;
}

/* Appends a range, or merges it with the last range if they touch. Pairs are sorted by their first
 * place, so the ranges of a long repeat, whose anchors are adjacent, become one range here. The
 * rest is left to the caller. */
static int64_t append(int64_t *ranges, int64_t n, int64_t begin, int64_t end, int is_joined)
{
    if (is_joined && n && begin <= ranges[2 * n - 1] && end >= ranges[2 * n - 2]) {
        if (begin < ranges[2 * n - 2]) ranges[2 * n - 2] = begin;
        if (end > ranges[2 * n - 1]) ranges[2 * n - 1] = end;
        return n;
    }
    ranges[2 * n] = begin;
    ranges[2 * n + 1] = end;
    return n + 1;
}

/* A pair of anchors stands for all windows in their common context, so its range consists of the
 * positions at which these windows begin. A pair of windows or documents stands for itself. The
 * pairs come from a file, so places beyond the text are ignored; the documents of the last pair are
 * tried first, because pairs are sorted. */
void unitok_anchors_verify(const unitok_anchors *anchors, int32_t kind, const uint8_t *text,
                           const int64_t *ends, int64_t n_documents, const unitok_anchor *pairs,
                           int64_t n, int64_t *ret, int64_t *ret_n)
{
    int64_t n_text = n_documents ? ends[n_documents - 1] : 0, n_ranges = 0;
    int is_starts = kind != UNITOK_ANCHOR_DOCUMENTS && !anchors->rules;
    document in_a = {0, 0}, in_b = {0, 0};
    for (int64_t i = 0; i < n; i++) {
        if (pairs[i].key >= (uint64_t)n_text || pairs[i].value >= (uint64_t)n_text) continue;
        int64_t a = (int64_t)pairs[i].key, b = (int64_t)pairs[i].value;
        int64_t n_bytes = (int64_t)pairs[i].place;
        if (!holds(&in_a, a)) in_a = document_at(ends, n_documents, a);
        if (!holds(&in_b, b)) in_b = document_at(ends, n_documents, b);
        if (kind == UNITOK_ANCHOR_DOCUMENTS) n_bytes = in_a.end - a;
        if (n_bytes == 0 && kind != UNITOK_ANCHOR_DOCUMENTS) {
            document equal = compare_contexts(anchors, text, in_a, in_b, a, b);
            if (equal.end > equal.begin)
                n_ranges = append(ret, n_ranges, equal.begin, equal.end - anchors->n + 1, 1);
        } else if (n_bytes <= in_a.end - a && n_bytes <= in_b.end - b &&
                   memcmp(text + a, text + b, (size_t)n_bytes) == 0 &&
                   (kind != UNITOK_ANCHOR_DOCUMENTS || n_bytes == in_b.end - b)) {
            n_ranges = append(ret, n_ranges, a, is_starts ? a + 1 : a + n_bytes, is_starts);
        }
    }
    *ret_n = n_ranges;
}

/* ---------------------------------------------------------------------------------- Shrink ---- */

/* The beginning of the character that contains text[i]; an invalid byte is a character. A character
 * has at most four bytes, so three steps back are enough. */
static int64_t character_begin(const uint8_t *text, int64_t n, int64_t i)
{
    for (int64_t k = i; k >= 0 && k > i - 4; k--) {
        if (is_continuation(text[k])) continue;
        return k + utf8_length(text + k, n - k) > i ? k : i;
    }
    return i;
}

/* Shrinks a range to characters. */
static document whole_characters(const uint8_t *text, int64_t n, document range)
{
    if (range.begin < n) {
        int64_t begin = character_begin(text, n, range.begin);
        if (begin < range.begin) range.begin = begin + utf8_length(text + begin, n - begin);
    }
    if (range.end < n) range.end = character_begin(text, n, range.end);
    return range;
}

/* Shrinks a range to complete lines with their newlines; the last line of a text may have none. A
 * line that is repeated only in part stays in the document. */
static document whole_lines(const uint8_t *text, int64_t n, document range)
{
    while (range.begin > 0 && range.begin < range.end && text[range.begin - 1] != '\n')
        range.begin++;
    while (range.end < n && range.end > range.begin && text[range.end - 1] != '\n') range.end--;
    return range;
}

/* Whether the characters before and after a range would be one word if the range were removed. */
static int joins_words(const unitok_word_rules *rules, const uint8_t *text, int64_t n,
                       document range)
{
    if (range.begin == 0 || range.end >= n) return 0;
    int64_t at = character_begin(text, n, range.begin - 1), n_bytes;
    uint32_t before = word_class(word_entry_at(rules, text, n, at, &n_bytes));
    uint32_t after = word_class(word_entry_at(rules, text, n, range.end, &n_bytes));
    if (after == UNITOK_WORD_MARK) return before != 0;
    return after == UNITOK_WORD_JOINED && before != 0 && before != UNITOK_WORD_ALONE;
}

/* The last position in from..at after an ASCII character that is not part of a word; `from` if there
 * is none. Words after it do not depend on the text before it. */
static int64_t border_before(const unitok_word_rules *rules, const uint8_t *text, int64_t from,
                             int64_t at)
{
    while (at > from && (text[at - 1] >= 0x80 || word_class(rules->ascii[text[at - 1]]))) at--;
    return at;
}

/* Shrinks a range of a text of n bytes to words, and then by its first character if the words
 * around the range would otherwise be joined. `io_word` is the last word found; words before it are
 * no longer needed, because the ranges of a document ascend. So each word is read at most once, and
 * only words near the ends of ranges are read. After the last word, `io_word` is an empty word
 * beyond the text. */
static document whole_words(const unitok_word_rules *rules, const uint8_t *text, int64_t n,
                            document range, word *io_word)
{
    range = whole_characters(text, n, range);
    for (int is_end = 0; is_end < 2; is_end++) {
        int64_t at = is_end ? range.end : range.begin;
        if (io_word->end < at) io_word->end = border_before(rules, text, io_word->end, at);
        while (io_word->end <= at)
            if (!word_next(rules, text, n, io_word->end, io_word)) *io_word = (word){n, n + 1, 0};
        if (io_word->begin < at && is_end) range.end = io_word->begin;
        else if (io_word->begin < at) range.begin = io_word->end;
    }
    if (range.begin < range.end && joins_words(rules, text, n, range)) {
        int length = utf8_length(text + range.begin, n - range.begin);
        range.begin += length ? length : 1;
    }
    return range;
}

typedef struct cutter {
    const unitok_word_rules *rules;
    int32_t cut;
    double max_share;
    int64_t min_left;
    int64_t *ret;
    int64_t capacity, n;
} cutter;

static void put_range(cutter *c, int64_t begin, int64_t end)
{
    if (c->n < c->capacity) {
        c->ret[2 * c->n] = begin;
        c->ret[2 * c->n + 1] = end;
    }
    c->n++;
}

/* Computes the cuts of a document; all of the given ranges overlap it. The share of repeated bytes
 * is computed before ranges are shrunk, so it does not depend on `cut`; min_left is compared with
 * the number of bytes that would really remain. */
static void cut_document(cutter *c, const uint8_t *text, document d, const int64_t *ranges,
                         int64_t n)
{
    int64_t n_bytes = d.end - d.begin, n_repeated = 0, n_removed = 0, before = c->n;
    word last = {0, 0, 0};
    for (int64_t i = 0; i < n; i++) {
        document range = {ranges[2 * i] - d.begin, ranges[2 * i + 1] - d.begin};
        if (range.begin < 0) range.begin = 0;
        if (range.end > n_bytes) range.end = n_bytes;
        n_repeated += range.end - range.begin;
        if (c->cut == UNITOK_CUT_CHAR) range = whole_characters(text + d.begin, n_bytes, range);
        else if (c->cut == UNITOK_CUT_LINE) range = whole_lines(text + d.begin, n_bytes, range);
        else range = whole_words(c->rules, text + d.begin, n_bytes, range, &last);
        if (range.begin >= range.end) continue;
        n_removed += range.end - range.begin;
        put_range(c, d.begin + range.begin, d.begin + range.end);
    }
    int is_removed = (double)n_repeated > c->max_share * (double)n_bytes ||
                     (n_removed && n_bytes - n_removed < c->min_left);
    if (is_removed) {
        c->n = before;
        put_range(c, d.begin, d.end);
    }
}

/* Ranges may cross the ends of documents. `at` is the first position that has not been handled, so
 * the rest of a range that continues in the next document is handled with that document. */
void unitok_ranges_cut(const unitok_word_rules *rules, int32_t cut, const uint8_t *text,
                       const int64_t *ends, int64_t n_documents, const int64_t *ranges, int64_t n,
                       double max_share, int64_t min_left, int64_t *ret, int64_t capacity,
                       int64_t *ret_n)
{
    cutter c = {rules, cut, max_share, min_left, ret, capacity, 0};
    int64_t n_text = n_documents ? ends[n_documents - 1] : 0;
    for (int64_t i = 0, at = 0; i < n;) {
        if (at < ranges[2 * i]) at = ranges[2 * i];
        if (at >= n_text) break;
        document d = document_at(ends, n_documents, at);
        int64_t end = i;
        while (end < n && ranges[2 * end] < d.end) end++;
        cut_document(&c, text, d, ranges + 2 * i, end - i);
        at = d.end;
        i = ranges[2 * end - 1] > d.end
                ? end - 1
                : end; /* the last range may extend into the next document */
    }
    *ret_n = c.n;
}

/* Ranges may overlap and may extend beyond begin..end-1: `begin` is the first byte that is neither
 * copied nor removed yet, and never decreases. */
int64_t unitok_ranges_remove(const uint8_t *text, int64_t begin, int64_t end, const int64_t *ranges,
                             int64_t n, uint8_t *ret)
{
    int64_t n_ret = 0;
    for (int64_t i = 0; i <= n && begin < end; i++) {
        int64_t until = i < n && ranges[2 * i] < end ? ranges[2 * i] : end;
        if (until > begin) {
            memcpy(ret + n_ret, text + begin, (size_t)(until - begin));
            n_ret += until - begin;
        }
        if (i < n && ranges[2 * i + 1] > begin) begin = ranges[2 * i + 1];
    }
    return n_ret;
}
