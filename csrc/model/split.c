/* split.c - finds where an unfinished document can be divided
 *
 * A document that arrives in blocks is encoded up to a position where nothing that follows can
 * change the ids:
 *
 *     document    ... encoded now ... | encoded later ... end of the text received so far
 *                                     └─ the split: the normalizer and the encoder can both restart here
 *
 * Without a normalizer, this is the last cut. With a normalizer, the split must not be inside a
 * string that the normalizer replaces, and it must be a cut of the normalized text. Normalized text
 * is not kept, so the bytes around a candidate are normalized again. */

#include "model/kind.h"
#include "text/normalize.h"

/* how many bytes on each side are examined to decide whether a candidate is a split */
#define CONTEXT_BYTES 64
#define BUFFER_BYTES 4096
#define SPLIT_TRIES 256
#define SPLIT_BYTES 2048 /* how many bytes from the end are searched */

/* Whether there is a cut between the normalized text[begin..at) and text[at..end). No key or symbol
 * of the normalizer spans any of the three positions. Returns 0 after a space, which normalization
 * may remove. The two sides are normalized with one state, as they would be for encoding, and there
 * must be a cut at the end of the first. */
static int cut_between(const unitok_model *m, const uint8_t *text, int64_t begin, int64_t at,
                       int64_t end)
{
    uint8_t out[BUFFER_BYTES];
    unitok_normalize_state state = {0, 0, 1, 0, 0};
    int64_t n_left = unitok_normalize_some(m->normalizer, &state, text, at, &begin, 0, out,
                                           BUFFER_BYTES / 2);
    if (begin < at || n_left == 0 || state.n_held_bytes || state.is_after_space) return 0;
    int64_t n_right = unitok_normalize_some(m->normalizer, &state, text, end, &at, 0, out + n_left,
                                            BUFFER_BYTES - n_left);
    return n_right > 0 && m->kind->cutter->next(m, out, n_left - 1, n_left + n_right) == n_left;
}

/* Returns the last position at which both the normalizer and the encoder can restart, searching
 * from the end. In the worst case, unitok_normalize_split scans all the text that it is given, so it
 * is given only the end. Returns 0 for a charsmap whose replacements are so long that the normalized
 * form of CONTEXT_BYTES may not fit the buffer. */
static int64_t split_normalized(const unitok_model *m, const uint8_t *text, int64_t n_bytes)
{
    const unitok_normalizer *n = m->normalizer;
    if (n->max_step_bytes > BUFFER_BYTES / 4) return 0;
    /* Searching the last SPLIT_BYTES is enough, because that much text without a cut is rare, and
     * the caller then tries again with more text. */
    int64_t start = n_bytes > SPLIT_BYTES ? unitok_normalize_split(n, text, n_bytes - SPLIT_BYTES)
                                          : 0;
    text += start;
    int64_t end = unitok_normalize_split(n, text, n_bytes - start), at = end;
    /* Candidates are tried from the end, so that as much text as possible is encoded now. Each is
     * checked with CONTEXT_BYTES bytes on each side, or fewer at the ends of the text. */
    for (int tries = 0; tries < SPLIT_TRIES && at > 0; tries++) {
        int64_t begin = at > CONTEXT_BYTES ? unitok_normalize_split(n, text, at - CONTEXT_BYTES)
                                           : 0;
        int64_t context_end = end - at > CONTEXT_BYTES
                                  ? unitok_normalize_split(n, text, at + CONTEXT_BYTES)
                                  : end;
        if (context_end > at && cut_between(m, text, begin, at, context_end)) return start + at;
        at = unitok_normalize_split(n, text, at - 1);
    }
    return 0;
}

/* Even if a text has no cut, as when one letter is repeated, a greedy encoder can determine how
 * much of it is settled. */
int64_t unitok_split(const unitok_model *m, const uint8_t *text, int64_t n_bytes)
{
    if (m->is_whole || !m->info.is_complete) return 0;
    if (m->normalizer) return split_normalized(m, text, n_bytes);
    int64_t cut = m->kind->cutter->last(m, text, n_bytes);
    return cut || !m->kind->settled ? cut : m->kind->settled(m, text, n_bytes);
}
