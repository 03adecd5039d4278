/* walk.c - follows the paths of tokens that spell a byte string, as intervals of the suffix array:
 * see text.h
 *
 * For example, let Q be "he ca", and let the pieces include "he", "the", " cat" and " car":
 *
 *     i = 0     "he" begins Q, and " cat" and " car" begin with the rest:      | he | cat        | he | car
 *     i = 2     "the" ends with Q[0..2), and the rest follows as above:        | the | cat       | the | car
 *
 * If no piece has an "e" followed by a space, 2 is a sure border. Then one walk finds the suffixes
 * that begin with " cat" or " car", and the tokens before each must end with "he". This covers both
 * rows, and every other way to spell the part of Q before the border. */

#include "suffix/text.h"

#include "ground/grow.h"

/* At about FOLLOW_MAX suffixes, both ways to continue a path take the same time: following a suffix
 * costs WORK_FOLLOW, and narrowing by one more token costs WORK_NARROW. */
enum {
    FOLLOW_MAX = 16, /* at most this many suffixes are compared with the text one by one */
    /* The most hits of a walk from a sure border that are checked one by one: with the column `left`,
     * and without it. */
    ANCHORED_MAX = 1 << 17,
    ANCHORED_MAX_BARE = 1 << 14
};

/* Records a failure in the state too, so that text_is_over ends the search. */
int text_grow(text_search *t, void *items, int64_t n, int64_t *io_capacity, size_t item_bytes)
{
    int ok = grow(items, n, io_capacity, item_bytes);
    if (!ok) t->out_of_memory = 1;
    return ok;
}

/* ---------------------------------------------------------------------------------- pieces ---- */

/* Skips tokens that never occur, so that no path is followed into an empty bucket. */
static int add_child(text_search *t, text_node *node, uint32_t id)
{
    if (frequency(t->s, id) == 0) return 1;
    if (!text_grow(t, &t->children, t->n_children, &t->children_capacity, sizeof *t->children))
        return 0;
    t->children[t->n_children++] = id;
    node->n_children++;
    return 1;
}

/* Narrows the range of pieces byte by byte. At each depth, the pieces that end there come first in
 * the range and become children. After the last byte of Q, the pieces that remain begin with
 * Q[pos..], and can be the last token of a hit. A node is built once and used by every path that
 * reaches its position. */
const text_node *text_node_at(text_search *t, int64_t pos)
{
    text_node *node = &t->nodes[pos];
    if (node->is_ready) return node;
    const pieces *p = t->p;
    range in = starts_with_byte(p, t->q[pos]);
    t->work_left -= WORK_NODE;
    node->first_child = (uint32_t)t->n_children;
    for (uint32_t depth = 1; in.lo < in.hi; depth++) {
        if (pos + depth == t->m) {
            node->ends = in;
            break;
        }
        for (; in.lo < in.hi && piece_bytes(p, p->starts[in.lo]) == depth; in.lo++)
            if (!add_child(t, node, p->starts[in.lo])) return NULL;
        if (in.lo < in.hi) in = starts_narrow(p, in, depth, t->q[pos + depth]);
    }
    node->is_ready = 1;
    return node;
}

/* -------------------------------------------------------------------------- the last token ---- */

/* Passes on the suffixes with the given last token, if there are any. */
static void take(text_search *t, interval in, int32_t depth, int64_t pos, range ends,
                 int32_t left_id)
{
    if (in.lo >= in.hi) return;
    if (left_id < 0) text_take(t, in, depth, pos, ends);
    else text_emit(t, in, 0, (int32_t)(piece_bytes(t->p, (uint32_t)left_id) - t->i), depth + 1);
}

/* Checks the suffixes one by one, which is faster if the pieces of `ends` are not neighbours and
 * the suffixes are few compared with the pieces. `ends` contains either all pieces that begin with
 * Q[pos..] or one of them. Reads the token at `depth` of each suffix once and compares it with the
 * rest of Q. */
static void scan_ends(text_search *t, interval in, int32_t depth, int64_t pos, range ends,
                      int32_t left_id)
{
    int64_t rest = t->m - pos;
    t->work_left -= (in.hi - in.lo) * WORK_NO_LEFT;
    for (int64_t r = in.lo; r < in.hi; r++) {
        uint64_t position = (uint64_t)t->s->sa[r] + (uint64_t)depth;
        if (position >= (uint64_t)t->s->n) continue;
        uint32_t id = id_at(t->s, position);
        interval one = {r, r + 1};
        int is_one = ends.hi - ends.lo > 1
                         ? piece_bytes(t->p, id) >= rest &&
                               memcmp(piece_data(t->p, id), t->q + pos, (size_t)rest) == 0
                         : id == t->p->starts[ends.lo];
        if (is_one) take(t, one, depth, pos, ends, left_id);
    }
}

/* If the pieces have neighbouring ranks, one search finds all of them. Otherwise each piece is
 * searched for, or each suffix is read, whichever is less work. */
void text_walk_ends(text_search *t, interval in, int32_t depth, int64_t pos, range ends,
                    int32_t left_id)
{
    const uint32_t *starts = t->p->starts, *rank = t->s->rank;
    if (t->p->in_order) {
        t->work_left -= WORK_NARROW;
        take(t,
             search_narrow(t->s, in, depth, (int32_t)rank[starts[ends.lo]],
                           (int32_t)rank[starts[ends.hi - 1]] + 1),
             depth, pos, ends, left_id);
        return;
    }
    if (depth > 0 && (in.hi - in.lo) * WORK_NO_LEFT < (int64_t)(ends.hi - ends.lo) * WORK_NARROW) {
        scan_ends(t, in, depth, pos, ends, left_id);
        return;
    }
    for (uint32_t k = ends.lo; k < ends.hi && !text_is_over(t); k++) {
        if (frequency(t->s, starts[k]) == 0) continue;
        range only = {k, k + 1};
        t->work_left -= depth ? WORK_NARROW : WORK_LEFT;
        take(t,
             search_narrow(t->s, in, depth, (int32_t)rank[starts[k]], (int32_t)rank[starts[k]] + 1),
             depth, pos, only, left_id);
    }
}

/* ----------------------------------------------------------------------------------- walks ---- */

/* Paths are kept on an explicit stack instead of by recursion, because a query can be long, and so
 * can its paths. */
static int push(text_search *t, interval in, int64_t pos, int32_t depth, uint32_t id)
{
    text_frame frame = {in, (int32_t)pos, depth, id};
    if (!text_grow(t, &t->stack, t->n_stack, &t->stack_capacity, sizeof *t->stack)) return 0;
    t->stack[t->n_stack++] = frame;
    return 1;
}

/* For few suffixes, comparing the text is cheaper than two binary searches for each child. */
static void follow_each(text_search *t, const text_frame *f)
{
    range none = {0, 0};
    for (int64_t r = f->in.lo; r < f->in.hi; r++) {
        int32_t n_tokens = text_follow(t, (uint64_t)t->s->sa[r] + (uint64_t)f->depth, f->pos);
        interval one = {r, r + 1};
        t->work_left -= WORK_FOLLOW;
        if (!n_tokens || (t->is_at_start && f->depth == 1 &&
                          !t->p->drops_space[id_at(t->s, (uint64_t)t->s->sa[r] + 1)]))
            continue;
        text_take(t, one, f->depth + n_tokens - 1, f->pos, none);
    }
}

/* Extends the path by each token that can come next in Q. A path with an empty interval ends here:
 * this way to spell Q does not occur in the text. */
static void follow_children(text_search *t, const text_frame *f, const text_node *node)
{
    for (uint32_t k = node->first_child; k < node->first_child + node->n_children; k++) {
        uint32_t id = t->children[k];
        int32_t rank = (int32_t)t->s->rank[id];
        if (t->is_at_start && f->depth == 1 && !t->p->drops_space[id]) continue;
        interval in = search_narrow(t->s, f->in, f->depth, rank, rank + 1);
        t->work_left -= WORK_NARROW;
        if (in.lo < in.hi && !push(t, in, f->pos + piece_bytes(t->p, id), f->depth + 1, id)) return;
    }
}

/* Pops paths from the stack, emits the hits that end in the next token of each, and pushes its
 * continuations. t->path is overwritten from the depth of the frame onwards. The tokens before that
 * still belong to this path, because the stack is last in, first out. */
void text_walk(text_search *t, interval in, int64_t pos, int32_t depth)
{
    int64_t enough = t->s->left ? ANCHORED_MAX : ANCHORED_MAX_BARE;
    t->n_stack = 0;
    if (in.lo < in.hi && !push(t, in, pos, depth, 0)) return;
    while (t->n_stack > 0 && !text_is_over(t)) {
        /* With so many hits, checking the left side of each costs more than the walks from every i,
         * so the caller falls back to those walks. */
        if (t->is_anchored && t->n_anchored_suffixes > enough) return;
        text_frame f = t->stack[--t->n_stack];
        if (!text_grow(t, &t->path, f.depth, &t->path_capacity, sizeof *t->path)) return;
        if (f.depth > 0) t->path[f.depth - 1] = f.id;
        /* Few suffixes are left: compare them with the rest of Q one by one. */
        if (f.depth > 0 && f.in.hi - f.in.lo <= FOLLOW_MAX) {
            follow_each(t, &f);
            continue;
        }
        const text_node *node = text_node_at(t, f.pos);
        if (!node) return;
        if (node->ends.lo < node->ends.hi) text_walk_ends(t, f.in, f.depth, f.pos, node->ends, -1);
        follow_children(t, &f, node);
    }
}

/* ------------------------------------------------------------------------------ the search ---- */

/* Returns the end of the longest piece that begins at Q[pos]; m if a piece can extend past the end
 * of Q; -1 if allocation fails. Children are listed by length, so the last one is the longest. */
static int64_t reach_from(text_search *t, int64_t pos)
{
    const text_node *node = text_node_at(t, pos);
    if (!node) return -1;
    if (node->ends.lo < node->ends.hi) return t->m;
    return node->n_children
               ? pos + piece_bytes(t->p, t->children[node->first_child + node->n_children - 1])
               : pos;
}

/* Returns the first sure border c, 0 < c < m: no token spans Q[c-1] and Q[c]. Returns 0 if there is
 * none nearby. A token that begins before Q extends at most to n_inner. `reach` is how far a token
 * that begins at or before c - 1 can extend; if it is at most c, no token spans the border. */
static int64_t sure_border(text_search *t, int64_t n_inner)
{
    enum { NEARBY = 1024 };
    int64_t reach = n_inner;
    for (int64_t c = 1; c < t->m && c < NEARBY && reach < t->m; c++) {
        int64_t end = reach_from(t, c - 1);
        if (end < 0) return 0;
        if (end > reach) reach = end;
        if (reach <= c) return c;
    }
    return 0;
}

/* Searches from the sure border c; returns 0 if there are too many hits to check the left side of
 * each. `all` is the interval of the empty sequence: every suffix. */
static int search_from_border(text_search *t, int64_t c)
{
    interval all = {0, t->s->n};
    t->is_anchored = 1;
    t->n_anchored = t->n_anchored_suffixes = 0;
    text_walk(t, all, c, 0);
    t->is_anchored = 0;
    if (t->n_anchored_suffixes > (t->s->left ? ANCHORED_MAX : ANCHORED_MAX_BARE)) return 0;
    text_settle_anchored(t, c);
    return 1;
}

/* How often the pieces of inner[lo..hi-1] occur. If there are many, uses the stored sums over
 * blocks and adds only the entries outside complete blocks one by one. */
static int64_t inner_frequency(const text_search *t, range in)
{
    enum { BLOCK = UNITOK_SEARCH_INSIDE_STEP };
    const uint64_t *sums = t->s->inside;
    int64_t total = 0;
    uint32_t k = in.lo;
    if (sums && in.hi - in.lo > 2 * BLOCK) {
        for (; k % BLOCK; k++) total += frequency(t->s, t->p->inner_id[k]);
        total += (int64_t)(sums[in.hi / BLOCK] - sums[k / BLOCK]);
        k = in.hi / BLOCK * BLOCK;
    }
    for (; k < in.hi; k++) total += frequency(t->s, t->p->inner_id[k]);
    return total;
}

/* If only the total is requested and every occurrence counts, adds up frequencies without reading
 * any suffix. */
static void search_inside(text_search *t, range in)
{
    int is_plain = !t->runs && !(t->must_check && t->s->eod >= 0);
    if (is_plain) t->total += inner_frequency(t, in);
    for (uint32_t k = in.lo; k < in.hi && !is_plain && !text_is_over(t); k++) {
        uint32_t id = t->p->inner_id[k];
        t->work_left -= WORK_LEFT;
        text_emit(t, bucket(t->s, (int32_t)t->s->rank[id]), 0,
                  (int32_t)(t->p->inner[k] - t->p->begin[id]), 1);
    }
}

/* Subtracts the hits that begin with the space that decoding drops at the start of a document. Only
 * counts need this: a search for hits checks each hit instead. */
static void subtract_starts(text_search *t)
{
    if (t->q[0] != ' ' || t->runs || t->must_check || t->s->n == 0) return;
    t->n_at_start = t->p->drops_space[id_at(t->s, 0)] && text_follow(t, 0, 0);
    if (t->s->eod >= 0) { /* otherwise there is only one document */
        t->is_at_start = 1;
        t->i = 0;
        text_walk(t, bucket(t->s, (int32_t)t->s->rank[t->s->eod]), 0, 1);
        t->is_at_start = 0;
    }
    /* If the budget is used up, subtract the largest possible number, so that the total remains a
     * lower bound. */
    if (t->work_left < 0) t->n_at_start = t->s->n_documents;
    t->total = t->total > t->n_at_start ? t->total - t->n_at_start : 0;
}

/* Uses the inner strings to find the occurrences inside one token. Finds the others with a walk
 * from a sure border, if there is one and it has few enough hits; otherwise with one walk from each
 * position where a token can end within Q. */
void text_search_all(text_search *t)
{
    const pieces *p = t->p;
    interval all = {0, t->s->n};
    range in = inner_with_byte(p, t->q[0]);
    /* left[i] will be the inner strings equal to Q[0..i); those after them begin with Q[0..i). */
    int64_t n_inner = 0;
    for (; in.lo < in.hi; n_inner++) {
        if (!text_grow(t, &t->left, n_inner + 1, &t->left_capacity, sizeof *t->left)) return;
        range equal = {in.lo, inner_equal_end(p, in, (uint32_t)n_inner + 1)};
        t->left[n_inner + 1] = equal;
        if (n_inner + 1 == t->m) {
            search_inside(t, in);
            n_inner++;
            break;
        }
        in.lo = equal.hi;
        if (in.lo < in.hi) in = inner_narrow(p, in, (uint32_t)n_inner + 1, t->q[n_inner + 1]);
    }
    t->n_inner = n_inner;
    int64_t c = sure_border(t, n_inner);
    if (c == 0 || !search_from_border(t, c)) {
        for (t->i = 0; t->i <= n_inner && t->i < t->m && !text_is_over(t); t->i++) {
            range left = {0, 0};
            if (t->i > 0) left = t->left[t->i];
            t->left_ids = p->inner_id + left.lo;
            t->n_left = left.hi - left.lo;
            if (t->i == 0 || t->n_left > 0) text_walk(t, all, t->i, 0);
        }
    }
    subtract_starts(t);
}
