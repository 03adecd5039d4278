/* chunks.h - a text chunk by chunk: which way each chunk goes
 *
 * A template, part of document.h. Most chunks go by cuts and memo (segments.h); the encoders have
 * faster ways for text where cuts are few or segments seldom recur, and tell themselves when their
 * turn is. */

#ifdef SUM_RESTARTS
/* Where the sum restarts next, after text[begin]; here only lines restart it. */
INLINE int64_t NAME(line_end)(const unitok_model *m, const uint8_t *text, int64_t begin,
                              int64_t n_bytes)
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
static NOINLINE int64_t NAME(encode_by_automaton)(NAME(run) *r, const uint8_t *text,
                                                  int64_t n_bytes, ID *ids)
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
/* Encodes text[0..n_bytes-1], which begins and ends at a cut, without the memo; 0 if it is not
 * UTF-8. */
static NOINLINE int64_t NAME(encode_charwise)(NAME(run) *r, const uint8_t *text, int64_t n_bytes,
                                              ID *ids)
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
/* A span of text[*done..]; returns how much. */
static int64_t NAME(encode_lanes)(NAME(run) *r, const uint8_t *text, int64_t n_bytes, int64_t *done,
                                  ID **out)
{
    unitok_scratch *s = r->s;
    int64_t n,
        n_done = lanes_encode(r->m->longest.lanes, text, n_bytes, s->lanes, (uint16_t *)*out, &n);
    s->turn.were_last = 1;
    if (s->lanes->n_rare * LANES_RARE > n_done) s->turn.pause = LANES_PAUSE;
    *done += n_done;
    *out += n;
    return n_done;
}
#endif

/* Encodes text[0..n_bytes-1], which begins with a segment and is readable to text[n_readable - 1],
 * chunk by chunk: find the cuts of the next CUT_CHUNK_BYTES, encode the segments between them,
 * continue from the last cut. `closed`: the text's end is a cut too; else the part after the last
 * cut is left. Returns how much was encoded. */
INLINE int64_t NAME(encode_run)(NAME(run) *r, const uint8_t *text, int64_t n_bytes,
                                int64_t n_readable, int closed, ID *ids, int64_t *ret_n_ids)
{
    const unitok_model *m = r->m;
    unitok_scratch *s = r->s;
    int64_t done = 0, seen = closed ? n_bytes : n_bytes - CUT_WINDOW_BYTES;
    ID *out = ids;
    while (done < seen && !r->failed) {
        int64_t n_chunk = seen - done < CUT_CHUNK_BYTES ? seen - done : CUT_CHUNK_BYTES;
#ifdef GREEDY
        int can_go = m->longest.lanes && n_chunk >= LANES_LEAST_BYTES;
        int is_wide = can_go && lanes_are_wide(text + done, n_chunk, s->turn.were_last);
        if (is_wide && lanes_are_korean(text + done, n_chunk)) s->turn.pause = LANES_PAUSE;
        if (is_wide && !s->turn.pause) {
            NAME(encode_lanes)(r, text + done, n_bytes - done, &done, &out);
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
        if ((is_wide && n_cuts * LANES_SHORT_WIDE <= n_chunk) ||
            (can_go && lanes_take(&s->turn, n_chunk, n_cuts))) {
            s->turn.left_bytes -= NAME(encode_lanes)(r, text + done, n_bytes - done, &done, &out);
            continue;
        }
        s->turn.were_last = 0;
        s->turn.pause -= s->turn.pause > 0;
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
