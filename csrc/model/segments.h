/* segments.h - the loop over segments: cut, look up, and ask the encoder below where the memo does not know
 *
 * A template, included by loops.c once for each loop_kind (model.h). Its parameters, which it undefines at the end:
 *
 *     NAME(x)      x with the instance's suffix
 *     ID           uint16_t or uint32_t
 *     SHORT_BITS   the short table has 2^SHORT_BITS entries, the long one half as many
 *     GREEDY       defined for greedy longest prefix
 *     SUM          the running sum's type, float or double; not defined where segments are independent
 *     SUM_SCORES   with SUM: what an id adds to it, a table of unigram.h
 *     SUM_RESTARTS with SUM: it may restart inside a document (UNITOK_RESTART_...)
 *     SPLITS       with SUM: a segment that the memo does not hold is looked up in parts (parts.h)
 *
 * Unigram adds scores over a whole text and rounds at every step, so the path through a segment may depend on the sum S
 * before it. Bits 4..15 of a memo entry's word therefore say for which S its path is certain: while unigram_steps(S) is
 * less (unigram_dp.h has the proof). Otherwise the segment is encoded again from S.
 *
 * S itself is computed lazily, from the ids written so far, whose scores are known:
 *
 *     ids    . . . . . . . . . . . | . . . . . . . . . . . . | . . . . . . .  |
 *            these are in `sum` ───┘ summed                  └ out            └ out + AHEAD_IDS
 *
 * An id adds at most largest_step (unigram.h) to |S|, which bounds S for the next ids: an entry that is valid after the last
 * of them is valid before it, so the loop of hits compares one integer. Only where the bound does not prove an entry are the
 * ids from `summed` on added, one by one, as the reference does. With an addition at every hit, the branches of the loop
 * waited for the sum: 25 to 40 % of the time for English. */

typedef struct NAME(short_entry) {
    uint64_t key[2];
    ID ids[MEMO_SHORT_IDS + 1]; /* the last is the word */
} NAME(short_entry);

typedef struct NAME(long_entry) {
    uint64_t key[4];
    ID ids[MEMO_LONG_IDS + 1];
} NAME(long_entry);

typedef struct NAME(memo) {
    NAME(short_entry) shorts[1 << SHORT_BITS];
    NAME(long_entry) longs[1 << (SHORT_BITS - 1)];
} NAME(memo);

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
static int64_t NAME(emit)(const unitok_model *m, const uint8_t *segment, const token *tokens, int64_t n, ID *ids)
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

/* least_word for the next AHEAD_IDS; computed from the sum itself where the bound has become too large to prove anything. */
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
/* Can S be computed from the ids instead of the tokens? Not where a byte piece matched as text, or for broken UTF-8. */
static int NAME(ids_tell_scores)(const unitok_model *m, const uint8_t *segment, const token *tokens, int64_t n)
{
    int64_t begin = 0;
    for (int64_t k = 0; k < n; begin = tokens[k++].end) {
        if (tokens[k].id != TOKEN_UNKNOWN) {
            if (m->flags & UNITOK_BYTE_PIECES_MATCH && m->types[tokens[k].id] == UNITOK_PIECE_BYTE) return 0;
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
    else if (!(tokens = scratch_tokens(r->s, r->m->kind->tokens_per_byte * n_bytes + 1))) r->failed = ENCODE_NO_MEMORY;
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
    if (LIKELY(m->longest.lanes != NULL)) {
        for (int64_t i = 0; i < n_bytes; i += token_bytes)
            ids[n++] = (ID)lanes_next(m->longest.lanes, segment + i, n_bytes - i, &token_bytes);
        return n;
    }
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

#ifdef SPLITS
#include "model/parts.h"
#endif

/* Encodes a segment of up to MEMO_LONG_BYTES that the memo does not hold. Fills `held`, the ids of an entry, of which the
 * last, held[max_ids], is the word; *ret_holds says whether it did. Not inlined: the loop of hits must stay small. */
static NOINLINE int64_t NAME(miss)(NAME(run) *r, NAME(memo) *memo, const uint8_t *segment, int64_t n_bytes, ID *held,
                                   int64_t max_ids, int *ret_holds, ID *ids)
{
#ifdef SPLITS
    uint32_t limit;
    int64_t n = NAME(solve_parts)(r, memo, segment, n_bytes, ids, &limit);
    uint32_t word = limit << 4;
#elif defined(SUM)
    (void)memo;
    const unitok_model *m = r->m;
    token tokens[UNIGRAM_SEGMENT_BYTES];
    uint32_t limit;
    int64_t n_tokens = unigram_exact(m->unigram, segment, n_bytes, tokens, &limit);
    int64_t n = NAME(emit)(m, segment, tokens, n_tokens, ids);
    if (!NAME(ids_tell_scores)(m, segment, tokens, n_tokens)) limit = 0;
    uint32_t word = limit << 4;
#else
    (void)memo;
    int64_t n = NAME(walk)(r, segment, n_bytes, ids);
    uint32_t word = 0;
    r->s->turn.missed_bytes += n_bytes;
#endif
    *ret_holds = n <= max_ids && !r->failed;
    if (*ret_holds) {
        for (int64_t k = 0; k < max_ids; k++) held[k] = k < n ? ids[k] : 0;
        held[max_ids] = (ID)(word | (uint32_t)n);
    }
#ifdef SUM
    if (!NAME(serves)(r, word, ids)) return NAME(walk)(r, segment, n_bytes, ids);
#endif
    return n;
}

static NOINLINE int64_t NAME(encode_long)(NAME(run) *r, NAME(memo) *memo, const uint8_t *segment, int64_t n_bytes, ID *ids)
{
    if (n_bytes > MEMO_LONG_BYTES) {
#ifdef SPLITS
        int64_t n_split = NAME(encode_split)(r, memo, segment, n_bytes, ids);
        if (n_split) return n_split;
#endif
        r->s->turn.missed_bytes += n_bytes;
        return NAME(walk)(r, segment, n_bytes, ids);
    }
    uint64_t key[4];
    memo_long_key(segment, n_bytes, key);
    NAME(long_entry) *slot = &memo->longs[memo_long_hash(key) >> (65 - SHORT_BITS)];
    if (LIKELY(memcmp(slot->key, key, sizeof key) == 0)) {
        uint32_t word = slot->ids[MEMO_LONG_IDS];
#ifdef SUM
        if (!NAME(serves)(r, word, ids)) return NAME(walk)(r, segment, n_bytes, ids);
#endif
        memcpy(ids, slot->ids, sizeof slot->ids);
        return word & 15;
    }
    int holds;
    int64_t n = NAME(miss)(r, memo, segment, n_bytes, slot->ids, MEMO_LONG_IDS, &holds, ids);
    if (holds) memcpy(slot->key, key, sizeof key);
    return n;
}

/* A segment of up to MEMO_SHORT_BYTES that its slot does not hold, or not for this running sum. */
static NOINLINE int64_t NAME(encode_short)(NAME(run) *r, NAME(memo) *memo, NAME(short_entry) *slot, memo_short_key key,
                                           const uint8_t *segment, int64_t n_bytes, ID *ids)
{
#ifdef SUM
    if (memo_short_is(slot->key, key)) {
        uint32_t word = slot->ids[MEMO_SHORT_IDS];
        if (!NAME(serves)(r, word, ids)) return NAME(walk)(r, segment, n_bytes, ids);
        memcpy(ids, slot->ids, sizeof slot->ids);
        return word & 15;
    }
#endif
    int holds;
    int64_t n = NAME(miss)(r, memo, segment, n_bytes, slot->ids, MEMO_SHORT_IDS, &holds, ids);
    if (holds) memcpy(slot->key, &key, sizeof slot->key);
    return n;
}

/* Encodes the segments between the cuts; text is readable 32 bytes beyond the last. LOOK_AHEAD is called whenever the sum
 * may have changed, or more than AHEAD_IDS ids have been written since. */
static int64_t NAME(encode_segments)(NAME(run) *r, NAME(memo) *memo, const uint8_t *text, const uint16_t *cuts,
                                     int64_t n_cuts, ID *ids)
{
    ID *out = ids;
    int64_t begin = 0;
#ifdef SUM
    uint32_t least = 0;
    const ID *looked = out;
#define LOOK_AHEAD() (looked = out, least = NAME(look_ahead)(r, out))
    LOOK_AHEAD();
#else
#define LOOK_AHEAD() ((void)0)
#endif
    for (int64_t k = 0; k < n_cuts; k++) {
        const uint8_t *segment = text + begin;
        int64_t n_bytes = cuts[k] - begin;
#ifdef SUM_RESTARTS
        if (restarts(r->m, begin ? segment[-1] : r->last_byte, segment[0])) NAME(set_sum)(r, 0, out);
#endif
#ifdef SUM
        if (UNLIKELY(out - looked > AHEAD_IDS)) LOOK_AHEAD();
#endif
        begin = cuts[k];
        if (UNLIKELY(n_bytes > MEMO_SHORT_BYTES)) {
            out += NAME(encode_long)(r, memo, segment, n_bytes, out);
            LOOK_AHEAD();
            continue;
        }
        memo_short_key key = memo_short_key_of(segment, n_bytes);
        NAME(short_entry) *slot = &memo->shorts[memo_short_hash(key) >> (64 - SHORT_BITS)];
        uint32_t word = slot->ids[MEMO_SHORT_IDS];
#ifdef SUM
        if (LIKELY(memo_short_is(slot->key, key)) && LIKELY(word >= least)) {
#else
        if (LIKELY(memo_short_is(slot->key, key))) {
#endif
            memcpy(out, slot->ids, sizeof slot->ids);
            out += word & 15;
        } else {
            out += NAME(encode_short)(r, memo, slot, key, segment, n_bytes, out);
            LOOK_AHEAD();
        }
    }
#undef LOOK_AHEAD
    r->last_byte = text[begin - 1];
    return out - ids;
}

#ifdef SUM_RESTARTS
/* Where the sum restarts next, after text[begin]; here only lines restart it. */
INLINE int64_t NAME(line_end)(const unitok_model *m, const uint8_t *text, int64_t begin, int64_t n_bytes)
{
    while (m->flags & UNITOK_RESTART_AFTER_NEWLINE && begin < n_bytes) {
        const uint8_t *newline = memchr(text + begin, '\n', (size_t)(n_bytes - begin));
        if (!newline) break;
        begin = newline - text + 1;
        if (begin < n_bytes && restarts(m, '\n', text[begin])) return begin;
    }
    return n_bytes;
}

/* Encodes text[0..n_bytes-1], which begins and ends at a cut, without the memo. */
static NOINLINE int64_t NAME(encode_by_automaton)(NAME(run) *r, const uint8_t *text, int64_t n_bytes, ID *ids)
{
    const unitok_model *m = r->m;
    const automaton *a = m->unigram->automaton;
    automaton_work *work = r->s->automaton;
    ID *out = ids;
    NAME(catch_up)(r, out);
    automaton_find(a, text, n_bytes, work);
    for (int64_t begin = 0, end; begin < n_bytes; begin = end) {
        end = NAME(line_end)(m, text, begin, n_bytes);
        double sum = restarts(m, begin ? text[begin - 1] : r->last_byte, text[begin]) ? 0 : r->sum;
        int64_t n = automaton_path(a, text, begin, end, &sum, work);
        for (int64_t k = 0; k < n; k++) out[k] = (ID)work->ids[AUTOMATON_CHUNK_BYTES - n + k];
        out += n;
        NAME(set_sum)(r, sum, out);
    }
    r->last_byte = text[n_bytes - 1];
    return out - ids;
}
#endif

#if defined(SUM) && !defined(SUM_RESTARTS)
/* Encodes text[0..n_bytes-1], which begins and ends at a cut, without the memo; 0 if it is not UTF-8. */
static NOINLINE int64_t NAME(encode_charwise)(NAME(run) *r, const uint8_t *text, int64_t n_bytes, ID *ids)
{
    charwise_work *work = r->s->charwise;
    NAME(catch_up)(r, ids);
    SUM sum = r->sum;
    int64_t n = charwise_path(r->m->unigram->charwise, text, n_bytes, &sum, work);
    if (n == 0) return 0;
    n = NAME(emit)(r->m, text, work->tokens + CHARWISE_BYTES - n, n, ids);
    NAME(set_sum)(r, sum, ids + n);
    r->last_byte = text[n_bytes - 1];
    return n;
}
#endif

#ifdef GREEDY
/* A span of text[*done..] by characters; returns how much. */
static int64_t NAME(encode_characters)(NAME(run) *r, const uint8_t *text, int64_t n_bytes, int64_t *done, ID **out)
{
    unitok_scratch *s = r->s;
    int64_t n, n_done = char_lanes_encode(s->char_lanes, text, n_bytes, s->char_work, (uint16_t *)*out, &n);
    s->by_characters = 1;
    if (s->char_work->n_rare * CHAR_LANES_RARE > n_done) s->char_pause = CHAR_LANES_PAUSE;
    *done += n_done;
    *out += n;
    return n_done;
}
#endif

/* Encodes text[0..n_bytes-1], which begins with a segment and is readable to text[n_readable - 1], chunk by chunk: find the
 * cuts of the next CUT_CHUNK_BYTES, encode the segments between them, continue from the last cut. `closed`: the text's end
 * is a cut too; else the part after the last cut is left. Returns how much was encoded. */
INLINE int64_t NAME(encode_run)(NAME(run) *r, const uint8_t *text, int64_t n_bytes, int64_t n_readable, int closed,
                                ID *ids, int64_t *ret_n_ids)
{
    const unitok_model *m = r->m;
    unitok_scratch *s = r->s;
    int64_t done = 0, seen = closed ? n_bytes : n_bytes - CUT_WINDOW_BYTES;
    ID *out = ids;
    while (done < seen && !r->failed) {
        int64_t n_chunk = seen - done < CUT_CHUNK_BYTES ? seen - done : CUT_CHUNK_BYTES;
#ifdef GREEDY
        int is_wide = m->longest.lanes && char_lanes_are_next(text + done, n_chunk, s->by_characters);
        int can_go = is_wide && scratch_char_lanes(s);
        if (can_go && char_lanes_are_korean(text + done, n_chunk)) s->char_pause = CHAR_LANES_PAUSE;
        if (can_go && !s->char_pause) {
            NAME(encode_characters)(r, text + done, n_bytes - done, &done, &out);
            continue;
        }
#endif
        const uint8_t *chunk = text + done;
        if (n_readable - done < n_chunk + CUT_READ_BEYOND) {
            /* With all that follows the chunk: the windows of its last characters reach there. */
            memcpy(s->tail, chunk, (size_t)(n_readable - done));
            chunk = s->tail;
        }
#if defined(SUM) && !defined(SUM_RESTARTS)
        if (s->charwise && s->charwise->left_bytes > 0 && charwise_is_for(chunk, n_chunk)) {
            int is_end = closed && done + n_chunk == n_bytes;
            int64_t n_span = is_end ? n_chunk : cut_last(m->cuts, chunk, n_chunk);
            int64_t n = n_span ? NAME(encode_charwise)(r, chunk, n_span, out) : 0;
            if (n) {
                s->charwise->left_bytes -= n_span;
                out += n;
                done += n_span;
                continue;
            }
        }
#endif
        int64_t n_cuts = m->scan(m->cuts, chunk, n_chunk, s->cuts);
#ifdef SUM
        if (m->unigram->endings && n_cuts * FOLLOW_SEGMENT < n_chunk) {
            int64_t n_span = seen - done < FOLLOW_SPAN ? seen - done : FOLLOW_SPAN;
            if (!closed || done + n_span < n_bytes) n_span = cut_last(m->cuts, text + done, n_span);
            if (n_span) {
#ifdef SUM_RESTARTS
                if (restarts(m, r->last_byte, text[done])) NAME(set_sum)(r, 0, out);
#endif
                out += NAME(walk)(r, text + done, n_span, out);
                done += n_span;
                r->last_byte = text[done - 1];
                continue;
            }
        }
#endif
#ifdef GREEDY
        int is_long = m->longest.lanes && lanes_are_next(&s->turn, n_chunk, n_cuts);
        if ((can_go && n_cuts * CHAR_LANES_MEMO_SEGMENT <= n_chunk) || (is_long && scratch_char_lanes(s))) {
            s->turn.left_bytes -= NAME(encode_characters)(r, text + done, n_bytes - done, &done, &out);
            continue;
        }
        if (is_long) {
            int64_t n, n_done;
            n_done = lanes_encode(m->longest.lanes, text + done, n_bytes - done, s->lane_tokens, (uint16_t *)out, &n);
            s->turn.left_bytes -= n_done;
            s->char_bytes += n_done;
            done += n_done;
            out += n;
            continue;
        }
        s->by_characters = 0;
        s->char_bytes += is_wide ? n_chunk : 0;
        s->char_pause -= s->char_pause > 0;
#endif
        if (closed && done + n_chunk == n_bytes) s->cuts[n_cuts++] = (uint16_t)n_chunk;
        if (UNLIKELY(n_cuts == 0)) {
            int64_t end = cut_next(m->cuts, text, done + n_chunk - 1, seen);
            if (end == seen && !closed) break;
#ifdef SUM_RESTARTS
            if (restarts(m, r->last_byte, text[done])) NAME(set_sum)(r, 0, out);
#endif
            out += NAME(walk)(r, text + done, end - done, out);
            r->last_byte = text[end - 1];
            done = end;
            continue;
        }
#ifdef SUM_RESTARTS
        int64_t n_cut = s->cuts[n_cuts - 1];
        if (s->automaton && automaton_is_next(&s->automaton->turn, n_cut, n_cuts)) {
            out += NAME(encode_by_automaton)(r, chunk, n_cut, out);
            done += n_cut;
            continue;
        }
#endif
#if defined(SUM) && !defined(SUM_RESTARTS)
        if (s->charwise && charwise_is_next(s->charwise, chunk, s->cuts[n_cuts - 1], n_cuts)) {
            int64_t n = NAME(encode_charwise)(r, chunk, s->cuts[n_cuts - 1], out);
            if (n) {
                out += n;
                done += s->cuts[n_cuts - 1];
                continue;
            }
        }
#endif
        out += NAME(encode_segments)(r, (NAME(memo) *)s->memo, chunk, s->cuts, n_cuts, out);
        done += s->cuts[n_cuts - 1];
        s->turn.tried_bytes += s->cuts[n_cuts - 1];
    }
    *ret_n_ids = out - ids;
    return done;
}

/* A sample of a text, or of a part between cuts, that begins at r->position. */
static int64_t NAME(draw_part)(NAME(run) *r, const uint8_t *text, int64_t n_bytes, ID *ids)
{
    const unitok_model *m = r->m;
    token *tokens = NAME(room_for)(r, n_bytes);
    if (!tokens) return 0;
    int64_t n = m->kind->draw(m, r->s, r->draw->sampling, r->draw->key, text, n_bytes, r->position, tokens);
    if (n < 0) r->failed = ENCODE_NO_MEMORY;
    return n < 0 ? 0 : NAME(emit)(m, text, tokens, n, ids);
}

/* A sample of text[0..n_bytes-1], in parts between cuts. As encode_run, but without a memo. */
static int64_t NAME(sample_run)(NAME(run) *r, const uint8_t *text, int64_t n_bytes, int closed, ID *ids, int64_t *ret_n_ids)
{
    const unitok_model *m = r->m;
    int64_t done = 0, seen = closed ? n_bytes : n_bytes - CUT_WINDOW_BYTES;
    ID *out = ids;
    while (done < seen && !r->failed) {
        int64_t end = seen;
        if (seen - done > 2 * CUT_CHUNK_BYTES || !closed) {
            int64_t n_near = seen - done < 2 * CUT_CHUNK_BYTES ? seen - done : 2 * CUT_CHUNK_BYTES;
            int64_t cut = cut_last(m->cuts, text + done, n_near);
            end = cut ? done + cut : cut_next(m->cuts, text, done + n_near - 1, seen);
            if (end == seen && !closed) break;
        }
        out += NAME(draw_part)(r, text + done, end - done, out);
        r->position += end - done;
        done = end;
    }
    *ret_n_ids = out - ids;
    return done;
}

/* The same without cuts and memo, for texts that are one segment, and to be compared with. */
static int64_t NAME(encode_plain)(NAME(run) *r, const uint8_t *text, int64_t n_bytes, ID *ids)
{
    ID *out = ids;
    if (r->draw) return NAME(draw_part)(r, text, n_bytes, ids);
    for (int64_t begin = 0, end; begin < n_bytes && !r->failed; begin = end) {
        end = restart_next(r->m, text, begin, n_bytes);
#ifdef SUM_RESTARTS
        if (restarts(r->m, r->last_byte, text[begin])) NAME(set_sum)(r, 0, out);
#endif
        out += NAME(walk)(r, text + begin, end - begin, out);
        r->last_byte = text[end - 1];
    }
    return out - ids;
}

/* A text that is not normalized here. It has at most as many ids as bytes, or three times as many if compact. */
static int64_t NAME(encode_raw)(NAME(run) *r, const uint8_t *text, int64_t n_bytes, int64_t n_readable, int plain, ID *ids)
{
    int64_t n;
    if (plain) return NAME(encode_plain)(r, text, n_bytes, ids);
    if (r->draw) NAME(sample_run)(r, text, n_bytes, 1, ids, &n);
    else NAME(encode_run)(r, text, n_bytes, n_readable, 1, ids, &n);
    return n;
}

/* A text that is normalized first, some kilobytes at a time, into the scratch's buffer:
 *
 *     text    ..... | next: normalize_some ─────┐
 *     buffer  [ held: after the last cut | new ◀┘ ]  ── encode_run ──▶ ids, up to the last cut; the rest moves to the front
 *
 * A normalized byte gives at most 3 ids: U+2581 as byte pieces. */
static int64_t NAME(encode_normalized)(NAME(run) *r, unitok_normalize_state *state, const uint8_t *text, int64_t n_bytes,
                                       int last, int plain, ID *ids, int64_t capacity)
{
    unitok_scratch *s = r->s;
    const unitok_normalizer *normalizer = r->m->normalizer;
    int64_t consumed = 0, held = 0, n_ids = 0, n;
    int closed;
    do {
        if (!scratch_buffer(s, normalizer, held)) return ENCODE_NO_MEMORY;
        held += unitok_normalize_some(normalizer, state, text, n_bytes, &consumed, last, s->buffer + held,
                                      s->buffer_bytes - held - CUT_READ_BEYOND);
        closed = last ? state->is_ended : consumed == n_bytes;
        if (capacity - n_ids < 3 * held + UNITOK_ENCODE_SLACK) return ENCODE_NO_ROOM;
        int64_t used = 0;
        n = 0;
        if (!plain && r->draw) {
            used = NAME(sample_run)(r, s->buffer, held, closed, ids + n_ids, &n);
        } else if (!plain) {
            used = NAME(encode_run)(r, s->buffer, held, held + CUT_READ_BEYOND, closed, ids + n_ids, &n);
        } else if (closed) {
            n = NAME(encode_plain)(r, s->buffer, held, ids + n_ids);
            used = held;
        }
        if (r->m->flags & UNITOK_MERGE_UNKNOWN) n = NAME(merge_unknown)(r, ids + n_ids, n);
        n_ids += n;
        held -= used;
        memmove(s->buffer, s->buffer + used, (size_t)held);
    } while (!closed && !r->failed);
    return n_ids;
}

/* See loop_encode. */
static int64_t NAME(encode)(const unitok_model *m, unitok_scratch *s, const encode_job *job)
{
    NAME(run) r;
    unitok_state *state = job->state;
    ID *ids = job->ids;
    memset(&r, 0, sizeof r);
    r.m = m;
    r.s = s;
    r.draw = job->draw;
    int plain = (job->flags & UNITOK_ENCODE_PLAIN) != 0 || m->whole || (r.draw && sample_is_whole(r.draw->sampling));
#ifdef SUM
    NAME(set_sum)(&r, state ? (SUM)state->sum : 0, ids);
#endif
    if (state) {
        r.position = state->position;
        r.last_unknown = state->last_unknown;
        r.last_byte = (uint8_t)state->last_byte;
    }
    int64_t n;
    if (m->normalizer && !(job->flags & UNITOK_ENCODE_PREPARED)) {
        unitok_normalize_state start = {0, 0, 0, 0, 0};
        n = NAME(encode_normalized)(&r, state ? &state->normalize : &start, job->text, job->n_bytes, job->last, plain, ids,
                                    job->capacity);
    } else {
        if (job->capacity < (m->compact ? 3 : 1) * job->n_bytes + UNITOK_ENCODE_SLACK) return ENCODE_NO_ROOM;
        n = NAME(encode_raw)(&r, job->text, job->n_bytes, job->n_readable, plain, ids);
        if (m->flags & UNITOK_MERGE_UNKNOWN) n = NAME(merge_unknown)(&r, ids, n);
    }
    if (r.failed) return r.failed;
    if (state) {
#ifdef SUM
        if (!r.draw && n >= 0) NAME(catch_up)(&r, ids + n);
        state->sum = r.sum;
#endif
        state->position = r.position;
        state->last_unknown = r.last_unknown;
        state->last_byte = r.last_byte;
    }
    return n;
}

#undef NAME
#undef ID
#undef SHORT_BITS
#undef SUM
#undef SUM_SCORES
#undef SUM_RESTARTS
#undef SPLITS
#undef GREEDY
