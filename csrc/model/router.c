/* router.c - encodes or samples a document, chunk by chunk, and normalizes it if needed (run.h)
 *
 * A document passes through three loops, one inside the other:
 *
 *     router_encode        reads the state of the document, and writes the new one
 *     encode_normalized    some kilobytes of normalized text at a time; skipped without a normalizer
 *     encode_run           4 KB chunks of that text; the first path that accepts a chunk encodes it
 *
 * Only the middle loop writes text. Text that cannot be encoded yet, because the end of the last
 * segment has not been seen, stays at the front of the buffer. So a part of a document may end
 * anywhere without changing the ids.
 *
 * Sampling takes the same route, except that sample_run replaces encode_run: a sample depends on
 * the position in the document, so no part of it can come from the memo. */

#include "model/run.h"

/* ------------------------------------------------------------------------------- paths ---- */

/* These three functions adapt those of cut.h, which take a table, to the interface of a cutter,
 * whose functions take a model. */
static int64_t table_scan(const unitok_model *m, const uint8_t *text, int64_t n_bytes,
                          uint16_t *cuts)
{
    return m->scan(m->cuts, text, n_bytes, cuts);
}

static int64_t table_next(const unitok_model *m, const uint8_t *text, int64_t begin,
                          int64_t n_bytes)
{
    return cut_next(m->cuts, text, begin, n_bytes);
}

static int64_t table_last(const unitok_model *m, const uint8_t *text, int64_t n_bytes)
{
    return cut_last(m->cuts, text, n_bytes);
}

/* The cutter of every kind that has a table of byte pairs. Cutters are tables of functions so that
 * a kind whose segments come from a pattern can provide its own. */
const cutter cuts_by_table = {table_scan, table_next, table_last};

/* The cuts are computed on demand, because a path may take a chunk without them: the lanes encode
 * wide text without any scan.
 *
 * A scan reports only cuts inside the chunk. If the text ends with the chunk and nothing follows,
 * its end is a cut too; the array has space for it beyond CUT_CHUNK_BYTES.
 *
 * The scan is the first to read the text, and the processor itself fetches nothing past the end of
 * a page. So the bytes after the chunk, as many as it contains, are prefetched, even if another
 * document begins there. With a normalizer, the text is in the cache already. */
int64_t chunk_cuts(const run *r, chunk *c)
{
    if (c->n_cuts >= 0) return c->n_cuts;
    for (int64_t k = 0; k < c->n_bytes && !r->m->normalizer; k += 64)
        PREFETCH((const void *)((uintptr_t)c->text + (uintptr_t)(c->n_bytes + k)));
    c->n_cuts = r->m->kind->cutter->scan(r->m, c->padded, c->n_bytes, r->s->cuts);
    if (c->is_closed && c->n_bytes == c->n_text) r->s->cuts[c->n_cuts++] = (uint16_t)c->n_bytes;
    return c->n_cuts;
}

/* A chunk without cuts is part of one segment, which is left to path_walk. */
static int has_cuts(run *r, chunk *c) { return chunk_cuts(r, c) > 0; }

/* Encodes up to the last cut of the chunk. The next chunk begins there, so a segment is never
 * divided by the border of a chunk. */
static int64_t encode_by_memo(run *r, chunk *c, void *ids, int64_t *ret_n_ids)
{
    int64_t n_done = r->s->cuts[c->n_cuts - 1];
    scratch_grow_memo(r->s);
    *ret_n_ids = r->m->width->encode_segments(r, c->padded, r->s->cuts, c->n_cuts, ids);
    r->s->memo_use.tried_bytes += n_done;
    return n_done;
}

const encode_path path_memo = {has_cuts, encode_by_memo};

/* The last path of every list accepts every chunk that the others declined. */
static int is_always_next(run *r, chunk *c)
{
    (void)r;
    (void)c;
    return 1;
}

/* Encodes from here to the first cut after the chunk; the chunk has no cut before its last byte.
 * Without `is_closed`, a segment that has no end yet is left to the next call. The search for the
 * end starts at the last byte of the chunk, because a cut before it would have been found. */
static int64_t encode_walk(run *r, chunk *c, void *ids, int64_t *ret_n_ids)
{
    int64_t end = r->m->kind->cutter->next(r->m, c->text, c->n_bytes - 1, c->n_seen);
    if (end == c->n_seen && !c->is_closed) return 0;
    *ret_n_ids = run_walk(r, c->text, end, ids);
    return end;
}

const encode_path path_walk = {is_always_next, encode_walk};
const encode_path *const paths_by_memo[] = {&path_memo, &path_walk, NULL};

/* A walk begins at a cut or at the start of the text, so the sum may restart there. Also sets
 * last_byte for the next segment. */
int64_t run_walk(run *r, const uint8_t *segment, int64_t n_bytes, void *ids)
{
    run_restart(r, segment[0], ids);
    int64_t n = r->m->kind->walk(r, segment, n_bytes, ids);
    r->last_byte = segment[n_bytes - 1];
    return n;
}

/* Allocates tokens for n_bytes; sets r->failed and returns NULL on failure. TEXT_BYTES_MAX bounds
 * the memory of one call: all tokens of the part are held at once. */
static token *tokens_for(run *r, int64_t n_bytes)
{
    token *tokens = NULL;
    if (n_bytes > TEXT_BYTES_MAX) r->failed = ENCODE_TOO_LONG;
    else if (!(tokens = scratch_tokens(r->s, r->m->kind->tokens_per_byte * n_bytes + 1)))
        r->failed = ENCODE_NO_MEMORY;
    return tokens;
}

/* Emits the n tokens of a text as ids; n < 0 means that allocation failed. Returns the number
 * of ids. */
static int64_t emit_tokens(run *r, const uint8_t *text, const token *tokens, int64_t n, void *ids)
{
    if (n < 0) r->failed = ENCODE_NO_MEMORY;
    return n <= 0 ? 0 : r->m->width->emit(r->m, text, tokens, n, ids);
}

/* Nearly all segments have at most MEMO_LONG_BYTES bytes, and their tokens fit on the stack. Only
 * longer segments use the scratch. */
int64_t walk_tokens(run *r, token_encoder *encode, const uint8_t *segment, int64_t n_bytes,
                    void *ids)
{
    token few[TOKENS_PER_BYTE_MAX * MEMO_LONG_BYTES], *tokens = few;
    if (n_bytes > MEMO_LONG_BYTES) tokens = tokens_for(r, n_bytes);
    int64_t n = tokens ? encode(r->m, r->s, segment, n_bytes, tokens) : 0;
    return emit_tokens(r, segment, tokens, n, ids);
}

int64_t walk_encode(run *r, const uint8_t *segment, int64_t n_bytes, void *ids)
{
    return walk_tokens(r, r->m->kind->encode, segment, n_bytes, ids);
}

/* ------------------------------------------------------------------------------- texts ---- */

/* Returns the next chunk of text[0..n_bytes-1], in which cuts can be found up to text[n_seen-1].
 * Only the last chunk of a text is copied, and only if the bytes after it may not be read. */
static chunk next_chunk(unitok_scratch *s, const uint8_t *text, int64_t n_bytes, int64_t n_seen,
                        int64_t n_readable, int is_closed)
{
    int64_t n_chunk = n_seen < CUT_CHUNK_BYTES ? n_seen : CUT_CHUNK_BYTES;
    chunk c = {text, text, n_chunk, n_bytes, n_seen, is_closed, -1};
    if (n_readable < n_chunk + CUT_READ_BEYOND) {
        /* Includes the bytes after the chunk, because the windows of its last characters reach
         * there. */
        memcpy(s->tail, text, (size_t)n_readable);
        c.padded = s->tail;
    }
    return c;
}

/* Encodes text[0..n_bytes-1], which begins with a segment and is readable to text[n_readable - 1],
 * chunk by chunk. `is_closed`: the end of the text is a cut too; otherwise the part after the last
 * cut is not encoded. Returns the number of bytes encoded. Each iteration offers the chunk to the
 * paths in order of preference until one of them encodes something. A path may encode more than the
 * chunk, so the next chunk begins where it stopped. If no path encodes anything, the rest is a
 * segment whose end has not been seen yet. It waits for more text. */
static int64_t encode_run(run *r, const uint8_t *text, int64_t n_bytes, int64_t n_readable,
                          int is_closed, void *ids, int64_t *ret_n_ids)
{
    int64_t done = 0, n_ids = 0, n_seen = is_closed ? n_bytes : n_bytes - CUT_WINDOW_BYTES;
    while (done < n_seen && !r->failed) {
        /* The first chunk begins at the start of the text, and every later one where a path has
         * stopped. */
        chunk c = next_chunk(r->s, text + done, n_bytes - done, n_seen - done, n_readable - done,
                             is_closed);
        int64_t n_done = 0, n = 0;
        const encode_path *const *path = r->m->paths;
        for (; *path && !n_done; path++)
            if ((*path)->is_next(r, &c))
                n_done = (*path)->encode(r, &c, id_at(r->m, ids, n_ids), &n);
        if (!n_done) break;
        done += n_done;
        n_ids += n;
    }
    *ret_n_ids = n_ids;
    return done;
}

/* Samples a text, or a part between cuts, that begins at r->position. */
static int64_t draw_part(run *r, const uint8_t *text, int64_t n_bytes, void *ids)
{
    const unitok_model *m = r->m;
    token *tokens = tokens_for(r, n_bytes);
    int64_t n = tokens ? m->kind->draw(m, r->s, r->draw->sampling, r->draw->key, text, n_bytes,
                                       r->position, tokens)
                       : 0;
    return emit_tokens(r, text, tokens, n, ids);
}

/* Like encode_run, but samples the parts between cuts, without the memo. Parts end at a cut about
 * two chunks further on, which bounds the memory of the lattice. The sample does not depend on
 * where the parts end: a draw depends on the seed and on the position in the document, and no path
 * of the lattice crosses a cut. The last part of a closed text needs no search for a cut. */
static int64_t sample_run(run *r, const uint8_t *text, int64_t n_bytes, int is_closed, void *ids,
                          int64_t *ret_n_ids)
{
    const unitok_model *m = r->m;
    const cutter *cutter = m->kind->cutter;
    int64_t done = 0, n_ids = 0, n_seen = is_closed ? n_bytes : n_bytes - CUT_WINDOW_BYTES;
    while (done < n_seen && !r->failed) {
        /* A short remainder of a closed text is one part. Otherwise the part ends at the last cut
         * within 2 * CUT_CHUNK_BYTES or, if there is none, at the next one. */
        int64_t end = n_seen, n_near = 2 * CUT_CHUNK_BYTES;
        if (n_seen - done > n_near || !is_closed) {
            if (n_near > n_seen - done) n_near = n_seen - done;
            int64_t cut = cutter->last(m, text + done, n_near);
            end = cut ? done + cut : cutter->next(m, text, done + n_near - 1, n_seen);
            if (end == n_seen && !is_closed) break;
        }
        n_ids += draw_part(r, text + done, end - done, id_at(m, ids, n_ids));
        r->position += end - done;
        done = end;
    }
    *ret_n_ids = n_ids;
    return done;
}

/* Encodes a text that is one segment, without cuts or the memo. The parts at whose start the sum
 * restarts are independent texts, so each is walked separately. */
static int64_t encode_plain(run *r, const uint8_t *text, int64_t n_bytes, void *ids)
{
    int64_t n = 0;
    if (r->draw) return draw_part(r, text, n_bytes, ids);
    for (int64_t begin = 0, end; begin < n_bytes && !r->failed; begin = end) {
        end = restart_next(r->m, text, begin, n_bytes);
        n += run_walk(r, text + begin, end - begin, id_at(r->m, ids, n));
    }
    return n;
}

/* Encodes or samples text that needs no normalization. Returns the number of bytes encoded. A
 * `plain` model's text cannot be divided, so nothing is encoded before all of it is available. */
static int64_t encode_text(run *r, const uint8_t *text, int64_t n_bytes, int64_t n_readable,
                           int is_closed, int plain, void *ids, int64_t *ret_n_ids)
{
    *ret_n_ids = 0;
    if (!plain && r->draw) return sample_run(r, text, n_bytes, is_closed, ids, ret_n_ids);
    if (!plain) return encode_run(r, text, n_bytes, n_readable, is_closed, ids, ret_n_ids);
    if (is_closed) *ret_n_ids = encode_plain(r, text, n_bytes, ids);
    return is_closed ? n_bytes : 0;
}

/* Normalizes a text into the scratch's buffer, some kilobytes at a time, and encodes it:
 *
 *     text    ..... | next: normalize_some ─────┐
 *     buffer  [ held: after the last cut | new ◀┘ ]  ── encode_text ──▶ ids, up to the last cut; the rest moves to the front
 *
 * A normalized byte gives at most 3 ids: U+2581 as byte pieces. Before each step, the capacity is
 * checked for the most ids that the step can write, so the encoders need not check it again. */
static int64_t encode_normalized(run *r, unitok_normalize_state *state, const encode_job *job,
                                 int plain)
{
    unitok_scratch *s = r->s;
    const unitok_model *m = r->m;
    int64_t consumed = 0, held = 0, n_ids = 0, n;
    int is_closed;
    do {
        if (!scratch_buffer(s, m->normalizer, held)) return ENCODE_NO_MEMORY;
        held += unitok_normalize_some(m->normalizer, state, job->text, job->n_bytes, &consumed,
                                      job->last, s->buffer + held,
                                      s->buffer_bytes - held - CUT_READ_BEYOND);
        is_closed = job->last ? state->is_ended : consumed == job->n_bytes;
        if (job->capacity - n_ids < 3 * held + UNITOK_ENCODE_SLACK) return ENCODE_CAPACITY;
        void *ids = id_at(m, job->ids, n_ids);
        /* Encoded text leaves the buffer. Its ids are merged immediately, because the sum must be
         * computed before ids are removed. */
        int64_t used = encode_text(r, s->buffer, held, held + CUT_READ_BEYOND, is_closed, plain,
                                   ids, &n);
        if (m->flags & UNITOK_MERGE_UNKNOWN) n = m->width->merge_unknown(r, ids, n);
        n_ids += n;
        held -= used;
        memmove(s->buffer, s->buffer + used, (size_t)held);
    } while (!is_closed && !r->failed);
    return n_ids;
}

/* Encodes a text that needs no normalization. It has at most one id per byte, or three if it is
 * compact. The text is complete in this call, or its parts end where a document can be split, so
 * its end is always a cut. */
static int64_t encode_prepared(run *r, const encode_job *job, int plain)
{
    const unitok_model *m = r->m;
    int64_t n;
    if (job->capacity < (m->compact ? 3 : 1) * job->n_bytes + UNITOK_ENCODE_SLACK)
        return ENCODE_CAPACITY;
    encode_text(r, job->text, job->n_bytes, job->n_readable, 1, plain, job->ids, &n);
    return m->flags & UNITOK_MERGE_UNKNOWN ? m->width->merge_unknown(r, job->ids, n) : n;
}

/* A complete document needs no state: it begins with an empty state, which is dropped at the end.
 * For a part of a document, the sum is updated at the end, because it is computed from ids that
 * belong to the caller afterwards. */
int64_t router_encode(const unitok_model *m, unitok_scratch *s, const encode_job *job)
{
    ASSERT(s->model == m);
    unitok_state none, *state = job->state;
    memset(&none, 0, sizeof none);
    if (!state) state = &none;
    run r = {m,          s,        job->draw,           state->position,
             state->sum, job->ids, state->last_unknown, (uint8_t)state->last_byte,
             0};
    int plain = m->is_whole || (r.draw && sample_is_whole(r.draw->sampling));
    int64_t n = m->normalizer && !(job->flags & UNITOK_ENCODE_PREPARED)
                    ? encode_normalized(&r, &state->normalize, job, plain)
                    : encode_prepared(&r, job, plain);
    if (r.failed) return r.failed;
    if (!job->state) return n;
    if (has_scores(m) && !r.draw && n >= 0) m->width->catch_up(&r, id_at(m, job->ids, n));
    state->sum = r.sum;
    state->position = r.position;
    state->last_unknown = r.last_unknown;
    state->last_byte = r.last_byte;
    return n;
}
