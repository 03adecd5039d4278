/* split.c - finds where an unfinished document can be divided
 *
 * A document that arrives in blocks is encoded up to a position where nothing that follows can
 * change the ids:
 *
 *     document    ... already here ... | here: a split ... end of what has come
 *                                      └─ both the normalizer and the encoder can begin again
 *
 * Without a normalizer this is the last cut. With one, a position must not divide what the
 * normalizer replaces together, and the cut must be one in the normalized text. Normalized text is
 * not kept, so the bytes around a candidate are normalized again. */

#include "model/kind.h"
#include "text/normalize.h"

/* the text on either side that decides whether it can be divided */
#define CONTEXT_BYTES 64
#define BUFFER_BYTES 4096
#define SPLIT_TRIES 256
#define SPLIT_BYTES 2048 /* how far from the end to search */

/* Whether there is a cut between the normalized text[begin..at) and text[at..end). Nothing extends
 * across any of the three positions. Returns 0 after a space, which normalization may remove. The
 * two sides are normalized as one text with one state, as encoding would do, and the place where
 * the first ends must be a cut. */
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

/* The last position at which both normalization and encoder can be divided, searched from the end.
 * If nothing marks the beginning of an item, unitok_normalize_split would scan the text from its
 * start, so it gets only the end of the text. A charsmap whose replacements are so long that
 * CONTEXT_BYTES of text may not fit the buffer is never split. */
static int64_t split_normalized(const unitok_model *m, const uint8_t *text, int64_t n_bytes)
{
    const unitok_normalizer *n = m->normalizer;
    if (n->max_step_bytes > BUFFER_BYTES / 4) return 0;
    /* Looking at the last SPLIT_BYTES is enough, because text without a cut for so long is rare,
     * and the caller then tries again with more text. */
    int64_t start = n_bytes > SPLIT_BYTES ? unitok_normalize_split(n, text, n_bytes - SPLIT_BYTES)
                                          : 0;
    text += start;
    int64_t end = unitok_normalize_split(n, text, n_bytes - start), at = end;
    /* Candidates are tried from the end, so that as much text as possible is encoded now. Each is
     * judged by CONTEXT_BYTES on either side, or by less at the ends. */
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

/* If a text has no cut at all, such as one letter repeated, a greedy encoder can still say how much
 * of it is settled. */
int64_t unitok_split(const unitok_model *m, const uint8_t *text, int64_t n_bytes)
{
    if (m->is_whole || !m->info.is_complete) return 0;
    if (m->normalizer) return split_normalized(m, text, n_bytes);
    int64_t cut = m->kind->cutter->last(m, text, n_bytes);
    return cut || !m->kind->settled ? cut : m->kind->settled(m, text, n_bytes);
}
