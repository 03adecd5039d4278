/* compact_text.c - searches a compact index for a byte string
 *
 * As in text.h, an occurrence of Q, a string of m bytes, is inside one token, or begins in a token
 * and ends in another one. The lists are searched from right to left, so the search begins with
 * the last token. For Q = "he ca", and the pieces "the", "he", " cat" and " car":
 *
 *     j = 2     " cat" and " car" begin with Q[2..m): the rows of both
 *       whole     "he" equals Q[0..2): these rows, with "he" before        ──▶ hits
 *       left      "the" ends with Q[0..2): the rows with "the" before      ──▶ hits, 1 byte into the token
 *
 * For every j at which the last token can begin, the rows that begin with Q[j..m) are extended to
 * the left by every piece that equals Q[k..j), for some k. Before each extension, tokens that are
 * longer than Q[0..j) and end with it yield hits. Extensions that the text does not contain have no
 * rows, so only the tokenizations of Q that occur are followed: usually one.
 *
 * Each row that is found begins with the first token of a hit. A row begins a document if Psi leads
 * to it from a row that begins with an eod; decoding then drops its space. */

#include "suffix/compact.h"
#include "suffix/pieces.h"
#include "suffix/search.h"

#include "ground/alloc.h"
#include "ground/error.h"
#include "ground/grow.h"
#include "ground/pages.h"

typedef unitok_compact_shard compact_shard;

/* Costs in nanoseconds: see text.h. */
enum { COST_NODE = 300, COST_BEFORE = 800, COST_BEFORE_MANY = 400, COST_PSI = 400, COST_RUN = 25 };

/* If there are few rows, each row is located instead of searching in the long lists of left tokens.
 * Locating a row takes as long as about this many searches; the second number applies if pages are
 * read from disk, where searches are faster because they wait for many pages at once. */
enum { SEARCHES_PER_ROW = 96, DISK_SEARCHES_PER_ROW = 384 };

/* A piece that equals Q[begin..j). The pieces for each j form a chain. */
typedef struct ending {
    int64_t before; /* 1 + the index of the next ending at j; 0: none */
    int64_t begin;
    uint32_t id;
} ending;

/* Position j of Q. */
typedef struct phrase_node {
    range ends;          /* in pieces.starts: the pieces that equal or begin with Q[j..m) */
    int64_t last_ending; /* 1 + the index of the first ending at j; 0: none */
} phrase_node;

/* Rows that spell Q[j..m), in n_tokens tokens. */
typedef struct phrase_frame {
    rows in;
    int64_t j;
    int64_t n_tokens;
} phrase_frame;

typedef struct phrase_search {
    const compact_shard *s;
    const compact *c;
    const pieces *p;
    const uint8_t *q;
    int64_t m, longest; /* the size of the longest piece, in bytes */
    phrase_node *nodes; /* [0..m-1]: complete from `built` on */
    int64_t built, nodes_capacity;
    ending *endings;
    int64_t n_endings, endings_capacity;
    range *left; /* [1..n_inner]: left[i] is the range of pieces.inner equal to Q[0..i) */
    int64_t n_inner, left_capacity;
    phrase_frame *stack;
    int64_t n_stack, stack_capacity;
    compact_query *queries;
    int64_t queries_capacity;
    int64_t work_left, total;
    int out_of_memory, must_check, needs_samples, has_run, waited;
    int64_t waited_before;   /* pages_waited() at the beginning of the query */
    unitok_search_run *runs; /* NULL: only the total is requested */
    int64_t n_runs, runs_capacity, max_hits;
} phrase_search;

static int phrase_grow(phrase_search *t, void *items, int64_t n, int64_t *io_capacity,
                       size_t item_bytes)
{
    int ok = grow(items, n, io_capacity, item_bytes);
    if (!ok) t->out_of_memory = 1;
    return ok;
}

INLINE int is_over(const phrase_search *t)
{
    return t->work_left < 0 || t->out_of_memory || t->needs_samples ||
           (t->runs && t->total >= t->max_hits);
}

INLINE int64_t occurrences(const phrase_search *t, uint32_t id)
{
    return compact_frequency(t->c, t->s->rank[id]);
}

/* The rows that begin with a token whose rank is between the ranks of ids a and b, inclusive. */
INLINE rows rows_of(const phrase_search *t, uint32_t a, uint32_t b)
{
    rows ret = {t->c->first[t->s->rank[a]], t->c->first[t->s->rank[b] + 1]};
    return ret;
}

/* ------------------------------------------------------------------------------------ hits ---- */

static void put_run(phrase_search *t, int64_t lo, int64_t hi, int32_t skip)
{
    if (lo >= hi) return;
    t->total += hi - lo;
    if (!t->runs || !phrase_grow(t, &t->runs, t->n_runs, &t->runs_capacity, sizeof *t->runs))
        return;
    t->work_left -= COST_RUN;
    unitok_search_run run = {lo, hi, 0, skip};
    t->runs[t->n_runs++] = run;
}

/* Whether decoding drops the first byte of the hit that begins with row r, if r begins a
 * document. */
INLINE int drops_at(const phrase_search *t, int64_t r)
{
    return t->p->drops_space[t->s->ids[compact_symbol(t->c, r)]];
}

/* Emits rows that begin with a space, except for those that begin a document with a token whose
 * space is dropped. */
static void put_undropped(phrase_search *t, rows in)
{
    rows eods = {0, 0};
    if (t->s->eod >= 0) {
        eods = compact_before(t->c, t->s->rank[t->s->eod], in);
        t->work_left -= COST_BEFORE;
    }
    int64_t first = t->c->first_row, at = in.lo;
    if (first < in.lo || first >= in.hi || !drops_at(t, first)) first = in.hi;
    for (int64_t r = eods.lo; r < eods.hi && !is_over(t); r++) {
        int64_t row = (int64_t)compact_psi(t->c, r) - 1;
        t->work_left -= COST_PSI;
        if (row < at || row >= in.hi || !drops_at(t, row)) continue;
        if (first >= at && first < row) {
            put_run(t, at, first, 0);
            at = first + 1;
            first = in.hi;
        }
        put_run(t, at, row, 0);
        at = row + 1;
    }
    if (is_over(t)) return;
    if (first >= at && first < in.hi) {
        put_run(t, at, first, 0);
        at = first + 1;
    }
    put_run(t, at, in.hi, 0);
}

/* Whether n_tokens tokens from row r on are in one document, before its eod, and decoding keeps the
 * first byte of the hit. */
static int is_in_document(const phrase_search *t, int64_t r, int32_t skip, int64_t n_tokens)
{
    const compact_shard *s = t->s;
    int64_t position = compact_locate(t->c, r);
    if (position < 0) return 0;
    int64_t d = document_at(s->ends, s->n_documents, s->begin, (uint64_t)position);
    if (d == s->n_documents) return 0;
    if ((uint64_t)(position + n_tokens + (s->eod >= 0)) > s->ends[d] - s->begin) return 0;
    return !(skip == 0 && t->q[0] == ' ' && drops_at(t, r) &&
             (uint64_t)position == (d ? s->ends[d - 1] - s->begin : 0));
}

/* Emits the rows of `in`. Each begins with the first token of an occurrence that begins `skip`
 * bytes into that token. */
static void emit(phrase_search *t, rows in, int64_t skip, int64_t n_tokens)
{
    if (in.lo >= in.hi) return;
    int may_cross = t->must_check && (n_tokens > 1 || t->s->eod >= 0);
    int may_drop = skip == 0 && t->q[0] == ' ';
    if (!may_cross && !(may_drop && t->must_check)) {
        if (may_drop) put_undropped(t, in);
        else put_run(t, in.lo, in.hi, (int32_t)skip);
        return;
    }
    if (!t->c->locate_every) {
        t->needs_samples = 1;
        return;
    }
    for (int64_t r = in.lo; r < in.hi && !is_over(t); r++) {
        t->work_left -= COST_PSI * (t->c->locate_every / 2 + 1);
        if (is_in_document(t, r, (int32_t)skip, may_cross ? n_tokens : 1))
            put_run(t, r, r + 1, (int32_t)skip);
    }
}

/* ------------------------------------------------------------------------------- positions ---- */

/* Finds the pieces that begin at Q[j]: those that end within Q become endings. */
static int visit(phrase_search *t, int64_t j)
{
    const pieces *p = t->p;
    range in = starts_with_byte(p, t->q[j]);
    t->work_left -= COST_NODE;
    for (uint32_t depth = 1; in.lo < in.hi; depth++) {
        if (j + depth == t->m) {
            t->nodes[j].ends = in;
            break;
        }
        for (; in.lo < in.hi && piece_bytes(p, p->starts[in.lo]) == depth; in.lo++) {
            if (!occurrences(t, p->starts[in.lo])) continue;
            if (!phrase_grow(t, &t->endings, t->n_endings, &t->endings_capacity,
                             sizeof *t->endings))
                return 0;
            phrase_node *end = &t->nodes[j + depth];
            ending found = {end->last_ending, j, p->starts[in.lo]};
            t->endings[t->n_endings++] = found;
            end->last_ending = t->n_endings;
        }
        if (in.lo < in.hi) in = starts_narrow(p, in, depth, t->q[j + depth]);
    }
    return 1;
}

/* Completes the endings at j. */
static int build_to(phrase_search *t, int64_t j)
{
    int64_t from = j > t->longest ? j - t->longest : 0;
    while (t->built > from)
        if (is_over(t) || !visit(t, --t->built)) return 0;
    return 1;
}

/* ---------------------------------------------------------------------------------- search ---- */

/* Extensions without rows do not occur in the text, and end here. */
static void push(phrase_search *t, rows in, int64_t j, int64_t n_tokens)
{
    phrase_frame frame = {in, j, n_tokens};
    if (in.lo >= in.hi) return;
    if (phrase_grow(t, &t->stack, t->n_stack, &t->stack_capacity, sizeof *t->stack))
        t->stack[t->n_stack++] = frame;
}

static int add_query(phrase_search *t, int64_t n, uint32_t id, rows in)
{
    compact_query query = {t->s->rank[id], in};
    if (!phrase_grow(t, &t->queries, n, &t->queries_capacity, sizeof *t->queries)) return 0;
    t->queries[n] = query;
    return 1;
}

/* Runs all queries. Once a query has waited for the disk, the pages of the next queries are
 * requested early. The first query that a search runs shows whether this is worthwhile. */
static void run_queries(phrase_search *t, int64_t n)
{
    int64_t n_run = t->has_run || n <= 1 ? 0 : 1;
    compact_before_many(t->c, t->queries, n_run);
    t->has_run = 1;
    if (!t->waited && n > 1) t->waited = pages_waited() != t->waited_before;
    if (t->waited) compact_read_ahead(t->c, t->queries + n_run, n - n_run);
    compact_before_many(t->c, t->queries + n_run, n - n_run);
}

/* Locates each row, and reads the token before it. */
static void emit_left_by_row(phrase_search *t, const phrase_frame *f)
{
    for (int64_t r = f->in.lo; r < f->in.hi && !is_over(t); r++) {
        int64_t position = compact_locate(t->c, r);
        t->work_left -= COST_PSI * (t->c->locate_every + t->c->extract_every) / 2;
        int64_t before = position > 0 ? compact_row_at(t->c, position - 1) : -1;
        if (before < 0) continue;
        uint32_t id = t->s->ids[compact_symbol(t->c, before)];
        int64_t n_bytes = piece_bytes(t->p, id);
        rows one = {before, before + 1};
        if (n_bytes > f->j &&
            memcmp(piece_data(t->p, id) + n_bytes - f->j, t->q, (size_t)f->j) == 0)
            emit(t, one, n_bytes - f->j, f->n_tokens + 1);
    }
}

/* Whether to locate `n_rows` rows instead of searching in `n_lists` lists. The order of hits must
 * not depend on which pages are in memory, so only a count may take into account whether the query
 * has waited for the disk. */
INLINE int should_locate(const phrase_search *t, int64_t n_rows, int64_t n_lists)
{
    int is_from_disk = t->waited && !t->runs;
    return t->c->locate_every && t->c->extract_every &&
           n_rows * (is_from_disk ? DISK_SEARCHES_PER_ROW : SEARCHES_PER_ROW) < n_lists;
}

/* Emits the hits whose first token is longer than Q[0..j) and ends with Q[0..j), and pushes the
 * extensions by pieces that equal Q[k..j). */
static void extend(phrase_search *t, const phrase_frame *f)
{
    int64_t n_left = 0, n = 0;
    range left = {0, 0};
    if (f->j <= t->n_inner) left = t->left[f->j];
    if (should_locate(t, f->in.hi - f->in.lo, left.hi - left.lo)) {
        emit_left_by_row(t, f);
        left.hi = left.lo;
    }
    for (uint32_t k = left.lo; k < left.hi; k++) {
        uint32_t id = t->p->inner_id[k];
        if (occurrences(t, id) && !add_query(t, n++, id, f->in)) return;
    }
    n_left = n;
    if (!build_to(t, f->j)) return;
    for (int64_t k = t->nodes[f->j].last_ending; k > 0; k = t->endings[k - 1].before)
        if (!add_query(t, n++, t->endings[k - 1].id, f->in)) return;
    t->work_left -= n * (n > 8 ? COST_BEFORE_MANY : COST_BEFORE);
    run_queries(t, n);
    for (int64_t k = 0; k < n_left && !is_over(t); k++) {
        int64_t n_bytes = piece_bytes(t->p, t->s->ids[t->queries[k].symbol]);
        emit(t, t->queries[k].in, n_bytes - f->j, f->n_tokens + 1);
    }
    int64_t at = t->nodes[f->j].last_ending;
    for (int64_t k = n_left; k < n && !is_over(t); k++, at = t->endings[at - 1].before) {
        if (t->endings[at - 1].begin > 0)
            push(t, t->queries[k].in, t->endings[at - 1].begin, f->n_tokens + 1);
        else emit(t, t->queries[k].in, 0, f->n_tokens + 1);
    }
}

/* The rows whose first token begins with Q[j..m). Such tokens are adjacent in byte order, and
 * usually also by rank. */
static void start_at_last(phrase_search *t, int64_t j)
{
    const uint32_t *starts = t->p->starts;
    range ends = t->nodes[j].ends;
    for (uint32_t k = ends.lo; k < ends.hi && !is_over(t); k++) {
        uint32_t last = t->p->in_order ? ends.hi - 1 : k;
        rows in = rows_of(t, starts[k], starts[last]);
        if (j == 0) emit(t, in, 0, 1);
        else push(t, in, j, 1);
        k = last;
    }
    while (t->n_stack > 0 && !is_over(t)) {
        phrase_frame f = t->stack[--t->n_stack];
        extend(t, &f);
    }
}

/* Emits the occurrences inside one token, after its first byte. */
static void search_inside(phrase_search *t, range in)
{
    for (uint32_t k = in.lo; k < in.hi && !is_over(t); k++) {
        uint32_t id = t->p->inner_id[k];
        emit(t, rows_of(t, id, id), (int64_t)t->p->inner[k] - t->p->begin[id], 1);
    }
}

/* Sets left[i] for all i, and searches inside tokens. */
static int search_left(phrase_search *t)
{
    const pieces *p = t->p;
    range in = inner_with_byte(p, t->q[0]);
    for (t->n_inner = 0; in.lo < in.hi;) {
        int64_t i = ++t->n_inner;
        if (!phrase_grow(t, &t->left, i, &t->left_capacity, sizeof *t->left)) return 0;
        range equal = {in.lo, inner_equal_end(p, in, (uint32_t)i)};
        t->left[i] = equal;
        if (i == t->m) {
            search_inside(t, in);
            return 1;
        }
        in.lo = equal.hi;
        if (in.lo < in.hi) in = inner_narrow(p, in, (uint32_t)i, t->q[i]);
    }
    return 1;
}

/* The last token of a hit begins at some j, so Q[j..m) is not longer than the longest piece. Nodes
 * are built from right to left: nodes[j].ends is needed before j is searched, and the endings at j
 * before its rows are extended (build_to). */
static int run_query(phrase_search *t, const uint8_t *q, int64_t m, int64_t max_work)
{
    t->q = q;
    t->m = t->built = m;
    t->work_left = max_work;
    t->total = t->n_runs = t->n_endings = t->n_stack = 0;
    t->has_run = t->waited = 0;
    t->waited_before = pages_waited();
    if (m == 0) return 1;
    if (!phrase_grow(t, &t->nodes, m, &t->nodes_capacity, sizeof *t->nodes)) return 0;
    memset(t->nodes, 0, (size_t)m * sizeof *t->nodes);
    if (!search_left(t)) return 0;
    for (int64_t j = m - 1; j >= 0 && m - j <= t->longest && !is_over(t); j--) {
        if (t->built > j && !visit(t, --t->built)) return 0;
        start_at_last(t, j);
    }
    return !t->out_of_memory;
}

/* ---------------------------------------------------------------------------- public calls ---- */

/* Searches use ranks as indexes, so all of them are checked once. */
int32_t unitok_compact_check(const compact_shard *s, unitok_error *error)
{
    int has_size = s->n_ids == UNITOK_SEARCH_IDS_16 || s->n_ids == UNITOK_SEARCH_IDS_32;
    if (!has_size || s->n_documents < 0 || s->eod < -1 || s->eod >= s->n_ids)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "a size in the shard is out of range");
    if (s->compact->n_symbols > s->n_ids)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "the index has more symbols than ids");
    for (int64_t k = 0; k < s->n_ids; k++)
        if (s->rank[k] >= s->compact->n_symbols)
            return fail(error, UNITOK_ERROR_ARGUMENT, k, -1, "a rank is out of range");
    return UNITOK_OK;
}

static phrase_search *phrase_open(const pieces *p, const compact_shard *s)
{
    phrase_search *t = mem_zalloc(1, sizeof *t);
    if (!t) return NULL;
    t->p = p;
    t->s = s;
    t->c = s->compact;
    t->longest = p->longest;
    /* If the eod has no bytes and occurs once per document, no hit can cross documents. */
    if (s->eod < 0) t->must_check = s->n_documents != 1;
    else
        t->must_check = piece_bytes(p, (uint32_t)s->eod) > 0 ||
                        occurrences(t, (uint32_t)s->eod) != s->n_documents;
    return t;
}

/* Frees everything, and returns the status of the call. */
static int32_t phrase_close(phrase_search *t, int has_memory, unitok_error *error)
{
    int needs_samples = t && t->needs_samples;
    if (t) {
        mem_free(t->nodes);
        mem_free(t->endings);
        mem_free(t->left);
        mem_free(t->stack);
        mem_free(t->queries);
        mem_free(t->runs);
    }
    mem_free(t);
    if (!has_memory) return fail_memory(error);
    if (needs_samples)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1,
                    "without samples for locating, documents must end with an eod");
    return UNITOK_OK;
}

int32_t unitok_compact_count(const pieces *p, const compact_shard *s, const uint8_t *data,
                             const int64_t *offsets, int64_t n, int64_t max_work, int64_t *counts,
                             uint8_t *is_approx, unitok_error *error)
{
    const char *wrong = check_texts(offsets, n);
    if (wrong) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, wrong);
    phrase_search *t = phrase_open(p, s);
    int has_memory = t != NULL;
    for (int64_t k = 0; k < n && has_memory; k++) {
        has_memory = run_query(t, data + offsets[k], offsets[k + 1] - offsets[k], max_work);
        counts[k] = t->total;
        is_approx[k] = t->work_left < 0;
    }
    return phrase_close(t, has_memory, error);
}

/* t->runs is allocated even if there are no hits, because NULL means that only the total is
 * requested. */
int32_t unitok_compact_find(const pieces *p, const compact_shard *s, const uint8_t *q, int64_t m,
                            int64_t max_hits, int64_t max_work, unitok_search_run **ret,
                            int64_t *ret_n, uint8_t *is_approx, unitok_error *error)
{
    if (m < 0 || m > UNITOK_SEARCH_TEXT_MAX)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "a text is longer than 1 GiB");
    phrase_search *t = phrase_open(p, s);
    if (!t) return fail_memory(error);
    t->max_hits = max_hits;
    int has_memory = phrase_grow(t, &t->runs, 0, &t->runs_capacity, sizeof *t->runs) &&
                     run_query(t, q, m, max_work);
    if (has_memory && !t->needs_samples) {
        *ret = t->runs;
        *ret_n = t->n_runs;
        *is_approx = t->work_left < 0;
        t->runs = NULL;
    }
    return phrase_close(t, has_memory, error);
}
