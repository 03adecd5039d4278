/* walk.h - a segment without the memo, and the running sum of scores
 *
 * A template, part of document.h.
 *
 * Unigram adds scores over a whole text and rounds at every step, so the path through a segment may
 * depend on the sum S before it. Bits 4..15 of a memo entry's word therefore say for which S its
 * path is certain: while unigram_steps(S) is less (unigram_dp.h has the proof). Otherwise the
 * segment is encoded again from S.
 *
 * S itself is computed lazily, from the ids written so far, whose scores are known:
 *
 *     ids    . . . . . . . . . . . | . . . . . . . . . . . . | . . . . . . .  |
 *            these are in `sum` ───┘ summed                  └ out            └ out + AHEAD_IDS
 *
 * An id adds at most largest_step (unigram.h) to |S|, which bounds S for the next ids: an entry
 * that is valid after the last of them is valid before it, so the loop of hits compares one
 * integer. Only where the bound does not prove an entry are the ids from `summed` on added, one by
 * one, as the reference does. With an addition at every hit, the branches of the loop waited for
 * the sum: 25 to 40 % of the time for English. */

/* A run over one document. */
typedef struct NAME(run) {
    const unitok_model *m;
    unitok_scratch *s;
    const draw *draw; /* NULL: no sample */
    int64_t position; /* with `draw`: of what comes next, in the normalized document */
#ifdef SUM
    SUM sum;
    const ID *summed; /* `sum` counts the ids before this one */
#endif
    int32_t last_unknown; /* the last id was the unknown one, which the next may join */
    uint8_t last_byte;    /* before the next segment */
    int failed;           /* an ENCODE_ code, or 0 */
} NAME(run);

/* The ids of a segment's tokens: unknown characters become byte pieces or the unknown id. */
static int64_t NAME(emit)(const unitok_model *m, const uint8_t *segment, const token *tokens,
                          int64_t n, ID *ids)
{
    ID *out = ids;
    int64_t begin = 0;
    for (int64_t k = 0; k < n; begin = tokens[k++].end) {
        if (LIKELY(tokens[k].id != TOKEN_UNKNOWN)) *out++ = (ID)tokens[k].id;
        else if (!(m->flags & UNITOK_BYTE_FALLBACK)) *out++ = (ID)m->unknown_id;
        else {
            for (int64_t i = begin; i < tokens[k].end; i++) {
                int32_t few[3];
                int n_ids = byte_fallback(m, segment + i, few);
                for (int b = 0; b < n_ids; b++) *out++ = (ID)few[b];
            }
        }
    }
    return out - ids;
}

#ifdef SUM
/* The running sum at `out`, where the next id goes. */
INLINE void NAME(set_sum)(NAME(run) *r, SUM sum, const ID *out)
{
    r->sum = sum;
    r->summed = out;
}

static void NAME(catch_up)(NAME(run) *r, const ID *out)
{
    const SUM *scores = r->m->unigram->SUM_SCORES;
    SUM sum = r->sum;
    for (const ID *id = r->summed; id < out; id++) sum += scores[*id];
    NAME(set_sum)(r, sum, out);
}

/* An entry with this word, or a larger one, is valid at `out` and for the next n_ahead ids. */
INLINE uint32_t NAME(least_word)(const NAME(run) *r, const ID *out, int64_t n_ahead)
{
    double size = (double)(r->sum < 0 ? -r->sum : r->sum);
    size += (double)(out - r->summed + n_ahead) * r->m->unigram->largest_step;
    return (unigram_steps(size) + 1) << 4;
}

/* Is an entry with this word valid at `out`? */
static int NAME(serves)(NAME(run) *r, uint32_t word, const ID *out)
{
    if (word >= NAME(least_word)(r, out, 0)) return 1;
    NAME(catch_up)(r, out);
    return word >= NAME(least_word)(r, out, 0);
}

/* least_word for the next AHEAD_IDS; computed from the sum itself where the bound has become too
 * large to prove anything. */
static uint32_t NAME(look_ahead)(NAME(run) *r, const ID *out)
{
    uint32_t least = NAME(least_word)(r, out, AHEAD_IDS);
    if (least < FAR_WORD) return least;
    NAME(catch_up)(r, out);
    return NAME(least_word)(r, out, AHEAD_IDS);
}
#endif

/* Replaces each run of unknown ids by one; returns how many ids remain. */
static int64_t NAME(merge_unknown)(NAME(run) *r, ID *ids, int64_t n)
{
    ID unknown = (ID)r->m->unknown_id;
    int last = r->last_unknown, any = n > 0 && last && ids[0] == unknown;
    for (int64_t k = 1; k < n; k++) any |= (ids[k] == unknown) & (ids[k - 1] == unknown);
    if (n) r->last_unknown = ids[n - 1] == unknown;
    if (!any) return n;
#ifdef SUM
    NAME(catch_up)(r, ids + n);
#endif
    ID *out = ids;
    for (int64_t k = 0; k < n; k++) {
        int is_unknown = ids[k] == unknown;
        if (!(is_unknown && last)) *out++ = ids[k];
        last = is_unknown;
    }
#ifdef SUM
    NAME(set_sum)(r, r->sum, out);
#endif
    return out - ids;
}

#ifdef SUM
/* Can S be computed from the ids instead of the tokens? Not where a byte piece matched as text, or
 * for broken UTF-8. */
static int NAME(ids_tell_scores)(const unitok_model *m, const uint8_t *segment, const token *tokens,
                                 int64_t n)
{
    int64_t begin = 0;
    for (int64_t k = 0; k < n; begin = tokens[k++].end) {
        if (tokens[k].id != TOKEN_UNKNOWN) {
            if (m->flags & UNITOK_BYTE_PIECES_MATCH && m->types[tokens[k].id] == UNITOK_PIECE_BYTE)
                return 0;
            continue;
        }
        if ((segment[begin] & 0xC0) == 0x80) return 0;
        for (int64_t i = begin + 1; i < tokens[k].end; i++)
            if ((segment[i] & 0xC0) != 0x80) return 0;
    }
    return 1;
}
#endif

/* Room for the tokens of n_bytes; NULL, with r->failed set, if there is none. */
static token *NAME(room_for)(NAME(run) *r, int64_t n_bytes)
{
    token *tokens = NULL;
    if (n_bytes > TEXT_BYTES_MAX) r->failed = ENCODE_TOO_LONG;
    else if (!(tokens = scratch_tokens(r->s, r->m->kind->tokens_per_byte * n_bytes + 1)))
        r->failed = ENCODE_NO_MEMORY;
    return tokens;
}

/* A segment of any length without the memo, from the running sum. */
static NOINLINE int64_t NAME(walk)(NAME(run) *r, const uint8_t *segment, int64_t n_bytes, ID *ids)
{
    const unitok_model *m = r->m;
#ifdef SUM
    NAME(catch_up)(r, ids);
    double sum = r->sum;
    if (n_bytes <= UNIGRAM_SEGMENT_BYTES) {
        token few[UNIGRAM_SEGMENT_BYTES];
        int64_t n = unigram_segment(m->unigram, segment, n_bytes, &sum, few);
        n = NAME(emit)(m, segment, few, n, ids);
        NAME(set_sum)(r, (SUM)sum, ids + n);
        return n;
    }
    unigram_path *path = &r->s->path;
    ID *out = ids;
    int64_t given = 0; /* where the tokens given out so far end */
    unigram_begin(path, sum);
    for (int64_t done = 0; done < n_bytes;) {
        int64_t taken = unigram_advance(m->unigram, path, segment + done, n_bytes - done, 1);
        if (taken < 0) {
            r->failed = ENCODE_NO_MEMORY;
            return 0;
        }
        done += taken;
        out += NAME(emit)(m, segment + given, path->tokens, path->n_tokens, out);
        if (path->n_tokens) given += path->tokens[path->n_tokens - 1].end;
    }
    NAME(set_sum)(r, (SUM)path->sum, out);
    return out - ids;
#elif defined(GREEDY)
    int64_t n = 0, token_bytes;
    if (!m->longest.longs) {
        for (int64_t i = 0; i < n_bytes; i += token_bytes)
            ids[n++] = (ID)longest_next(&m->longest, segment + i, n_bytes - i, &token_bytes);
        return n;
    }
    r->s->window.end = 0;
    for (int64_t i = 0; i < n_bytes; i += token_bytes) {
        int32_t id = longest_at(&m->longest, &r->s->window, segment, n_bytes, i, &token_bytes);
        if (id < 0) r->failed = ENCODE_NO_MEMORY;
        if (id < 0) return 0;
        ids[n++] = (ID)id;
    }
    return n;
#else
    token few[TOKENS_PER_BYTE_MAX * MEMO_LONG_BYTES], *tokens = few;
    if (n_bytes > MEMO_LONG_BYTES) tokens = NAME(room_for)(r, n_bytes);
    int64_t n = tokens ? m->kind->encode(m, r->s, segment, n_bytes, tokens) : 0;
    if (n < 0) r->failed = ENCODE_NO_MEMORY;
    return n <= 0 ? 0 : NAME(emit)(m, segment, tokens, n, ids);
#endif
}
