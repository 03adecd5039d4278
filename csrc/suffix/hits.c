/* hits.c - checks, counts and stores the hits of a search for text: see text.h
 *
 * A hit is counted at its first token. When a path has found its suffixes, three checks remain:
 *
 *     left side       if Q begins within a token, that token must precede the suffix
 *     documents       the tokens must belong to one document, before its eod
 *     the space       at the start of a document, decoding drops a space, so a hit cannot begin with it
 *
 * A check that cannot fail is skipped. This is the common case: complete intervals are then added
 * to the total without reading any suffix.
 *
 * If Q begins within a token, the token before each suffix must end with Q[0..i). There are three
 * ways to find those suffixes:
 *
 *     compare_left        suffix  ──▶ its token to the left ──▶ compare bytes         few suffixes
 *     scan_left           suffix  ──▶ left[r] ──▶ is it in the set of tokens?         some suffixes, many tokens
 *     search_from_left    token   ──▶ the interval of "token, path"                   many suffixes, few tokens
 */

#include "suffix/text.h"

#include "ground/alloc.h"
#include "ground/error.h"
#include "ground/packed.h"

/* --------------------------------------------------------------------------------- one hit ---- */

/* Whether tokens first..first + n_tokens - 1 lie in one document, before its eod, and the hit does
 * not begin with a space that decoding drops. Finding the document takes a binary search over the
 * document ends, so a hit is checked only if the check can fail. */
static int is_within_document(const text_search *t, uint64_t first, int32_t skip, int32_t n_tokens)
{
    const shard *s = t->s;
    int drops = skip == 0 && t->q[0] == ' ' && t->p->drops_space[id_at(s, first)];
    if (!t->must_check && !drops) return 1;
    int64_t d = document_at(s->ends, s->n_documents, s->begin, first);
    if (d == s->n_documents) return 0;
    if (t->must_check && first + (uint64_t)n_tokens + (s->eod >= 0) > s->ends[d] - s->begin)
        return 0;
    return !(drops && first == (d ? s->ends[d - 1] - s->begin : 0));
}

/* Adds suffixes to the total and, if hits are requested, to the last run or to a new one. Adjacent
 * runs are merged if their hits begin at the same offset (`back` and `skip`). */
static void put_run(text_search *t, interval in, int32_t back, int32_t skip)
{
    unitok_search_run *last = t->n_runs ? &t->runs[t->n_runs - 1] : NULL;
    t->total += in.hi - in.lo;
    if (!t->runs) return;
    if (last && last->hi == in.lo && last->back == back && last->skip == skip) {
        last->hi = in.hi;
        return;
    }
    if (!text_grow(t, &t->runs, t->n_runs, &t->runs_capacity, sizeof *t->runs)) return;
    t->work_left -= WORK_RUN;
    unitok_search_run run = {in.lo, in.hi, back, skip};
    t->runs[t->n_runs++] = run;
}

/* Adds hits to the result. If every suffix of the interval is a hit, the complete interval is
 * added. Otherwise suffixes are checked one by one, and those that pass are grouped into runs,
 * which take less memory than single hits. */
void text_emit(text_search *t, interval in, int32_t back, int32_t skip, int32_t n_tokens)
{
    if (in.lo >= in.hi) return;
    enum { AT_ONCE = 4096 }; /* hits between checks of max_hits */
    /* Without an eod, a hit within one token cannot cross documents. If only the count is
     * requested, hits that begin with a dropped space are subtracted at the end. */
    int may_cross = t->must_check && (n_tokens > 1 || t->s->eod >= 0);
    int may_drop = (t->must_check || t->runs) && skip == 0 && t->q[0] == ' ';
    if (!may_cross && !may_drop) {
        put_run(t, in, back, skip);
        return;
    }
    t->work_left -= (in.hi - in.lo) * 5 * WORK_NO_LEFT;
    /* The run of suffixes that have passed the checks and have not been added yet. */
    interval good = {in.lo, in.lo};
    for (int64_t r = in.lo; r < in.hi && !text_is_over(t); r++) {
        uint64_t position = t->s->sa[r];
        int is_good = position >= (uint64_t)back && position - (uint64_t)back < (uint64_t)t->s->n &&
                      is_within_document(t, position - (uint64_t)back, skip, n_tokens);
        if (is_good) {
            good.hi = r + 1;
            if (good.hi - good.lo < AT_ONCE) continue;
        }
        if (good.lo < good.hi) put_run(t, good, back, skip);
        good.lo = good.hi = r + 1;
    }
    if (good.lo < good.hi) put_run(t, good, back, skip);
}

/* ---------------------------------------------------------------------- in the text itself ---- */

/* Compares token by token. The last token may extend past the end of Q. A token without bytes, such
 * as an eod, ends the comparison, because text does not continue across it. */
int32_t text_follow(const text_search *t, uint64_t position, int64_t pos)
{
    for (int32_t n_tokens = 1; position < (uint64_t)t->s->n; position++, n_tokens++) {
        uint32_t id = id_at(t->s, position);
        int64_t n_bytes = piece_bytes(t->p, id), rest = t->m - pos;
        if (n_bytes == 0) return 0;
        if (memcmp(piece_data(t->p, id), t->q + pos, (size_t)(n_bytes < rest ? n_bytes : rest)) !=
            0)
            return 0;
        if (n_bytes >= rest) return n_tokens;
        pos += n_bytes;
    }
    return 0;
}

/* Returns how many tokens before `position` spell Q[0..c), or 0 if the tokens there do not;
 * *ret_skip is where Q begins in the first of them. The first token may begin before Q, so only its
 * end has to match. */
static int32_t follow_left(const text_search *t, uint64_t position, int64_t c, int32_t *ret_skip)
{
    for (int32_t back = 1; position > 0; back++) {
        uint32_t id = id_at(t->s, --position);
        int64_t n_bytes = piece_bytes(t->p, id), n = n_bytes < c ? n_bytes : c;
        if (n_bytes == 0 ||
            memcmp(piece_data(t->p, id) + n_bytes - n, t->q + c - n, (size_t)n) != 0)
            return 0;
        c -= n;
        *ret_skip = (int32_t)(n_bytes - n);
        if (c == 0) return back;
    }
    return 0;
}

/* --------------------------------------------------------------------------- the left side ---- */

/* A set of ids is a bitmap: 8 KB, which stays in the L1 cache, or 32 KB for wide ids. */
INLINE int has_bit(const uint64_t *bits, uint32_t id)
{
    return (int)(bits[id >> 6] >> (id & 63) & 1);
}

INLINE void set_bit(uint64_t *bits, uint32_t id) { bits[id >> 6] |= UINT64_C(1) << (id & 63); }

/* Stores the token before suffix r in *ret_id; returns 0 if there is none. Prefetches the text,
 * unless the column `left` exists, whose entries are read in order. */
INLINE int token_before(const shard *s, int64_t r, uint32_t *ret_id)
{
    enum { AHEAD = 32 };
    if (s->left) {
        *ret_id = id_in(s->left, s->id_bytes, (uint64_t)r);
        return 1; /* wrong for the suffix at position 0, which callers check */
    }
    if (r + AHEAD < s->n && s->sa[r + AHEAD] < (uint64_t)s->n) prefetch_id(s, s->sa[r + AHEAD]);
    uint64_t position = s->sa[r];
    if (position == 0 || position > (uint64_t)s->n) return 0;
    *ret_id = id_at(s, position - 1);
    return 1;
}

/* Emits the suffixes whose left token is one of left_ids, by scanning the column `left`. The set is
 * filled once for each i and reused by all paths that begin there. */
static void scan_left(text_search *t, interval in, int32_t n_tokens)
{
    if (t->left_bits_of != t->i) {
        memset(t->left_bits, 0, (size_t)t->p->n_ids / 8);
        for (int64_t k = 0; k < t->n_left; k++) set_bit(t->left_bits, t->left_ids[k]);
        t->left_bits_of = t->i;
    }
    t->work_left -= (in.hi - in.lo) * (t->s->left ? WORK_LEFT : WORK_NO_LEFT);
    for (int64_t r = in.lo; r < in.hi; r++) {
        uint32_t id;
        if (!token_before(t->s, r, &id) || !has_bit(t->left_bits, id) || t->s->sa[r] == 0) continue;
        interval one = {r, r + 1};
        text_emit(t, one, 1, (int32_t)(piece_bytes(t->p, id) - t->i), n_tokens + 1);
        if (text_is_over(t)) return;
    }
}

/* Like scan_left, but for a few dozen suffixes at most: compares the bytes of their left tokens
 * instead of filling a set. Each suffix costs two cache misses. */
static void compare_left(text_search *t, interval in, int32_t n_tokens)
{
    for (int64_t r = in.lo; r < in.hi; r++) {
        uint64_t position = t->s->sa[r];
        if (position == 0 || position > (uint64_t)t->s->n) continue;
        uint32_t id = id_at(t->s, position - 1);
        int64_t n_bytes = piece_bytes(t->p, id);
        interval one = {r, r + 1};
        if (n_bytes > t->i &&
            memcmp(piece_data(t->p, id) + n_bytes - t->i, t->q, (size_t)t->i) == 0)
            text_emit(t, one, 1, (int32_t)(n_bytes - t->i), n_tokens + 1);
    }
}

/* Searches for the path again after each of left_ids, which are fewer than the suffixes. If the
 * pieces are in rank order, one interval covers all tokens that can end the match, so the searches
 * for all left tokens are interleaved. Otherwise they run one at a time. */
static void search_from_left(text_search *t, int32_t depth, int64_t pos, range ends)
{
    const shard *s = t->s;
    if (!text_grow(t, &t->many, t->n_left, &t->many_capacity, sizeof *t->many)) return;
    for (int64_t k = 0; k < t->n_left; k++) {
        t->many[k] = bucket(s, (int32_t)s->rank[t->left_ids[k]]);
        if (depth > 0) t->many[k] = search_sequence(s, t->many[k], 1, t->path, depth);
    }
    t->work_left -= t->n_left * (depth ? WORK_NARROW : WORK_NARROW_MANY);
    if (!t->p->in_order) {
        for (int64_t k = 0; k < t->n_left && !text_is_over(t); k++)
            if (t->many[k].lo < t->many[k].hi)
                text_walk_ends(t, t->many[k], depth + 1, pos, ends, t->left_ids[k]);
        return;
    }
    const uint32_t *starts = t->p->starts;
    search_narrow_many(s, t->many, t->n_left, depth + 1, (int32_t)s->rank[starts[ends.lo]],
                       (int32_t)s->rank[starts[ends.hi - 1]] + 1);
    for (int64_t k = 0; k < t->n_left && !text_is_over(t); k++)
        text_emit(t, t->many[k], 0, (int32_t)(piece_bytes(t->p, t->left_ids[k]) - t->i), depth + 2);
}

/* Chooses the cheapest of the three ways to find the hits of a path that begins within a token. For
 * up to FEW suffixes, filling a set is not worthwhile. For more, compares the cost of reading every
 * suffix with that of one search per left token. */
static void take_left(text_search *t, interval in, int32_t depth, int64_t pos, range ends)
{
    enum { FEW = 64 };
    int64_t n = in.hi - in.lo, from_left = t->n_left * (depth ? 2 * WORK_NARROW : WORK_NARROW_MANY);
    if (n <= FEW) compare_left(t, in, depth + 1);
    else if (n * (t->s->left ? WORK_LEFT : WORK_NO_LEFT) <= from_left) scan_left(t, in, depth + 1);
    else search_from_left(t, depth, pos, ends);
}

/* Counts the hits that begin a document with a piece whose space decoding drops. They are
 * subtracted later: see subtract_starts in walk.c. */
static void take_at_start(text_search *t, interval in, int32_t depth, range ends)
{
    t->n_at_start += in.hi - in.lo;
    for (uint32_t k = ends.lo; k < ends.hi && depth == 1; k++) {
        uint32_t id = t->p->starts[k];
        if (t->p->drops_space[id]) continue;
        interval other = search_narrow(t->s, in, depth, (int32_t)t->s->rank[id],
                                       (int32_t)t->s->rank[id] + 1);
        t->n_at_start -= other.hi - other.lo;
    }
}

/* Depending on the kind of walk, hits are collected, counted or emitted immediately. */
void text_take(text_search *t, interval in, int32_t depth, int64_t pos, range ends)
{
    if (t->is_anchored) {
        text_frame hit = {in, 0, depth + 1, 0};
        if (!text_grow(t, &t->anchored, t->n_anchored, &t->anchored_capacity, sizeof *t->anchored))
            return;
        t->anchored[t->n_anchored++] = hit;
        t->n_anchored_suffixes += in.hi - in.lo;
    } else if (t->is_at_start) {
        take_at_start(t, in, depth, ends);
    } else if (t->i == 0) {
        text_emit(t, in, 0, 0, depth + 1);
    } else {
        take_left(t, in, depth, pos, ends);
    }
}

/* Adds to the set left_bits the tokens that can precede the sure border c: those that end with
 * Q[0..c), and those that are suffixes of Q[0..c), which are the children that end exactly at c. */
static void set_bits_before(text_search *t, int64_t c)
{
    memset(t->left_bits, 0, (size_t)t->p->n_ids / 8);
    t->left_bits_of = -1;
    for (uint32_t k = c <= t->n_inner ? t->left[c].lo : 0;
         k < (c <= t->n_inner ? t->left[c].hi : 0); k++)
        set_bit(t->left_bits, t->p->inner_id[k]);
    for (int64_t pos = 0; pos < c; pos++) {
        const text_node *node =
            &t->nodes[pos]; /* complete, because the search for c has visited it */
        for (uint32_t k = node->first_child; k < node->first_child + node->n_children; k++)
            if (pos + piece_bytes(t->p, t->children[k]) == c) set_bit(t->left_bits, t->children[k]);
    }
}

/* If there are many hits, the set filters them before their left sides are compared byte by byte.
 * The set covers only the last token before the border, so the comparison is still needed. */
void text_settle_anchored(text_search *t, int64_t c)
{
    enum { FEW = 64 };
    int is_scan = t->n_anchored_suffixes > FEW;
    if (is_scan) set_bits_before(t, c);
    t->work_left -= t->n_anchored_suffixes * (t->s->left ? WORK_LEFT : WORK_NO_LEFT);
    for (int64_t k = 0; k < t->n_anchored; k++) {
        for (int64_t r = t->anchored[k].in.lo; r < t->anchored[k].in.hi && !text_is_over(t); r++) {
            uint32_t id;
            if (is_scan && (!token_before(t->s, r, &id) || !has_bit(t->left_bits, id))) continue;
            int32_t skip = 0, back = t->s->sa[r] <= (uint64_t)t->s->n
                                         ? follow_left(t, t->s->sa[r], c, &skip)
                                         : 0;
            interval one = {r, r + 1};
            if (back) text_emit(t, one, back, skip, t->anchored[k].depth + back);
        }
    }
}

/* ---------------------------------------------------------------------------- public calls ---- */

/* Computes everything that depends only on the shard, once for all queries. Returns NULL if
 * allocation fails. */
static text_search *text_open(const pieces *p, const shard *s)
{
    text_search *t = mem_zalloc(1, sizeof *t);
    if (!t) return NULL;
    t->left_bits = mem_alloc((size_t)p->n_ids / 8);
    if (!t->left_bits) {
        mem_free(t);
        return NULL;
    }
    t->p = p;
    t->s = s;
    /* If the eod has no bytes and occurs once per document, no hit can cross documents. */
    if (s->eod < 0) t->must_check = s->n_documents != 1;
    else
        t->must_check = piece_bytes(p, (uint32_t)s->eod) > 0 ||
                        frequency(s, (uint32_t)s->eod) != s->n_documents;
    return t;
}

/* The arrays grow as needed and are reused by all queries of a call. */
static void text_close(text_search *t)
{
    if (!t) return;
    mem_free(t->left_bits);
    mem_free(t->nodes);
    mem_free(t->children);
    mem_free(t->stack);
    mem_free(t->path);
    mem_free(t->many);
    mem_free(t->anchored);
    mem_free(t->left);
    mem_free(t);
}

/* Runs one query, starting with empty results. The arrays keep their capacity from the previous
 * query. */
static int text_run(text_search *t, const uint8_t *q, int64_t m, int64_t max_work)
{
    t->q = q;
    t->m = m;
    t->work_left = max_work;
    t->total = t->n_runs = t->n_children = 0;
    t->left_bits_of = -1;
    if (m == 0) return 1;
    if (!text_grow(t, &t->nodes, m, &t->nodes_capacity, sizeof *t->nodes)) return 0;
    memset(t->nodes, 0, (size_t)m * sizeof *t->nodes);
    text_search_all(t);
    return !t->out_of_memory;
}

int32_t unitok_search_count(const pieces *p, const shard *s, const uint8_t *data,
                            const int64_t *offsets, int64_t n, int64_t max_work, int64_t *counts,
                            uint8_t *is_approx, unitok_error *error)
{
    const char *wrong = check_texts(offsets, n);
    if (wrong) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, wrong);
    text_search *t = text_open(p, s);
    int has_memory = t != NULL;
    for (int64_t k = 0; k < n && has_memory; k++) {
        has_memory = text_run(t, data + offsets[k], offsets[k + 1] - offsets[k], max_work);
        counts[k] = t->total;
        is_approx[k] = t->work_left < 0;
    }
    text_close(t);
    return has_memory ? UNITOK_OK : fail_memory(error);
}

/* Allocates t->runs even if there are no hits, because NULL means that only the total is
 * requested. */
int32_t unitok_search_find(const pieces *p, const shard *s, const uint8_t *q, int64_t m,
                           int64_t max_hits, int64_t max_work, unitok_search_run **ret,
                           int64_t *ret_n, uint8_t *is_approx, unitok_error *error)
{
    if (m < 0 || m > UNITOK_SEARCH_TEXT_MAX)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "a text is longer than 1 GiB");
    text_search *t = text_open(p, s);
    if (!t) return fail_memory(error);
    t->max_hits = max_hits;
    int has_memory = text_grow(t, &t->runs, 0, &t->runs_capacity, sizeof *t->runs) &&
                     text_run(t, q, m, max_work);
    if (has_memory) {
        *ret = t->runs;
        *ret_n = t->n_runs;
        *is_approx = t->work_left < 0;
    } else {
        mem_free(t->runs);
    }
    text_close(t);
    return has_memory ? UNITOK_OK : fail_memory(error);
}

void unitok_search_runs_free(unitok_search_run *runs) { mem_free(runs); }

/* Stores the sum of the frequencies before every UNITOK_SEARCH_INSIDE_STEP-th inner string. With
 * these sums, a range of any length is added up in a few steps: see inner_frequency in walk.c. If
 * `sums` is NULL, only returns their number. */
int64_t unitok_search_inside(const pieces *p, const shard *s, uint64_t *sums)
{
    int64_t n = (p->n_inner + UNITOK_SEARCH_INSIDE_STEP - 1) / UNITOK_SEARCH_INSIDE_STEP;
    uint64_t sum = 0;
    if (!sums) return n;
    for (int64_t k = 0; k < p->n_inner; k++) {
        if (k % UNITOK_SEARCH_INSIDE_STEP == 0) sums[k / UNITOK_SEARCH_INSIDE_STEP] = sum;
        sum += (uint64_t)frequency(s, p->inner_id[k]);
    }
    sums[n] = sum;
    return n;
}

/* Finds where each hit ends: its last token, and how many bytes of that token belong to the hit. */
void unitok_search_ends(const pieces *p, const shard *s, const int64_t *tokens,
                        const int64_t *skips, int64_t n_hits, int64_t m, int64_t *last,
                        int64_t *used)
{
    for (int64_t k = 0; k < n_hits; k++) {
        int64_t at = tokens[k], rest = m + skips[k];
        while (at < s->n && piece_bytes(p, id_at(s, (uint64_t)at)) < rest)
            rest -= piece_bytes(p, id_at(s, (uint64_t)at++));
        last[k] = at;
        used[k] = rest;
    }
}
