/* document.h - a document as ids: normalized or not, sampled or not, chunk by chunk
 *
 * A template, included by loops.c once for each loop_kind (model.h). Its parameters, which it
 * undefines at the end:
 *
 *     NAME(x)      x with the instance's suffix
 *     ID           uint16_t or uint32_t
 *     SHORT_BITS   the short table has 2^SHORT_BITS entries, the long one half as many
 *     GREEDY       defined for greedy longest prefix
 *     SUM          the running sum's type, float or double; not defined where segments are independent
 *     SUM_SCORES   with SUM: what an id adds to it, a table of unigram.h
 *     SUM_RESTARTS with SUM: it may restart inside a document (UNITOK_RESTART_...) */

#include "model/walk.h"

#include "model/segments.h"

#include "model/chunks.h"

/* A sample of a text, or of a part between cuts, that begins at r->position. */
static int64_t NAME(draw_part)(NAME(run) *r, const uint8_t *text, int64_t n_bytes, ID *ids)
{
    const unitok_model *m = r->m;
    token *tokens = NAME(room_for)(r, n_bytes);
    if (!tokens) return 0;
    int64_t n = m->kind->draw(m, r->s, r->draw->sampling, r->draw->key, text, n_bytes, r->position,
                              tokens);
    if (n < 0) r->failed = ENCODE_NO_MEMORY;
    return n < 0 ? 0 : NAME(emit)(m, text, tokens, n, ids);
}

/* A sample of text[0..n_bytes-1], in parts between cuts. As encode_run, but without a memo. */
static int64_t NAME(sample_run)(NAME(run) *r, const uint8_t *text, int64_t n_bytes, int closed,
                                ID *ids, int64_t *ret_n_ids)
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

/* The same without cuts and memo, for texts that are one segment. */
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

/* A text that is not normalized here. It has at most as many ids as bytes, or three times as many
 * if compact. */
static int64_t NAME(encode_raw)(NAME(run) *r, const uint8_t *text, int64_t n_bytes,
                                int64_t n_readable, int plain, ID *ids)
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
static int64_t NAME(encode_normalized)(NAME(run) *r, unitok_normalize_state *state,
                                       const uint8_t *text, int64_t n_bytes, int last, int plain,
                                       ID *ids, int64_t capacity)
{
    unitok_scratch *s = r->s;
    const unitok_normalizer *normalizer = r->m->normalizer;
    int64_t consumed = 0, held = 0, n_ids = 0, n;
    int closed;
    do {
        if (!scratch_buffer(s, normalizer, held)) return ENCODE_NO_MEMORY;
        held += unitok_normalize_some(normalizer, state, text, n_bytes, &consumed, last,
                                      s->buffer + held, s->buffer_bytes - held - CUT_READ_BEYOND);
        closed = last ? state->is_ended : consumed == n_bytes;
        if (capacity - n_ids < 3 * held + UNITOK_ENCODE_SLACK) return ENCODE_NO_ROOM;
        int64_t used = 0;
        n = 0;
        if (!plain && r->draw) {
            used = NAME(sample_run)(r, s->buffer, held, closed, ids + n_ids, &n);
        } else if (!plain) {
            used = NAME(encode_run)(r, s->buffer, held, held + CUT_READ_BEYOND, closed, ids + n_ids,
                                    &n);
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
    int plain = m->whole || (r.draw && sample_is_whole(r.draw->sampling));
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
        n = NAME(encode_normalized)(&r, state ? &state->normalize : &start, job->text, job->n_bytes,
                                    job->last, plain, ids, job->capacity);
    } else {
        if (job->capacity < (m->compact ? 3 : 1) * job->n_bytes + UNITOK_ENCODE_SLACK)
            return ENCODE_NO_ROOM;
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
#undef GREEDY
