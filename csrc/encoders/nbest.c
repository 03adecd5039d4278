/* nbest.c - finds the n best paths through a lattice, and draws n distinct random ones (nbest.h)
 *
 *     1. add_nodes      every edge of the lattice becomes a node
 *     2. sort_nodes     by end: the nodes that can precede a node are one slice
 *     3. find_best      forward: the best path to each node (Viterbi), or sum_paths: their total
 *     4. search         backward from the end, best first (A*): what find_best knows about the part
 *                       before a hypothesis is exact, so paths are completed best first
 *
 *     text          p         i         e
 *     nodes     start  p   pi     i   ie     e     end
 *     hypothesis                      └ ie ──────▶ end         its priority: best(p) + score(ie)
 *
 * Hypotheses that share an ending share its records: each points to the one that it extends. */
#include "encoders/nbest.h"

#include <math.h>

#include "ground/alloc.h"
#include "ground/grow.h"
#include "ground/rng.h"

/* SentencePiece's limits: see nbest.h. */
#define MAX_AGENDA 10000
#define MIN_AGENDA 512
#define MAX_HYPOTHESES 100000
#define MAX_TOTAL 500000
#define MAX_SHRINKS 10

#define FAILED (-1) /* an allocation failed */

/* Reserves space for n items. Returns 0 if allocation fails. */
#define RESERVE(s, items, capacity, n)                                                             \
    grow(&(s)->items, (n) - 1, &(s)->capacity, sizeof *(s)->items)

/* --------------------------------------------------------------------------------- Lattice ---- */

/* Adds a node. Returns 0 if allocation fails or there are too many nodes. */
static int add_node(nbest *s, double score, int64_t begin, int64_t end, uint32_t value)
{
    if (s->n_nodes == INT32_MAX || !RESERVE(s, nodes, nodes_capacity, s->n_nodes + 1)) return 0;
    s->nodes[s->n_nodes++] = (nbest_node){
        .score = score, .before = -1, .begin = (int32_t)begin, .end = (int32_t)end, .value = value};
    return 1;
}

/* Lists all edges in ascending order of start. The first and the last node are the start and the
 * end of the text, so that every path connects these two nodes. */
static int add_nodes(nbest *s, const lattice_model *m, const uint8_t *text, int64_t n_bytes)
{
    s->n_nodes = 0;
    if (!RESERVE(s, edges, edges_capacity, m->max_edge_bytes) || !add_node(s, 0, 0, 0, 0)) return 0;
    for (int64_t at = 0; at < n_bytes; at += lattice_char(m, text, n_bytes, at)) {
        int64_t n_edges = lattice_edges(m, text, n_bytes, at, s->edges);
        for (int64_t k = 0; k < n_edges; k++) {
            lattice_edge edge = s->edges[k];
            if (!add_node(s, m->scores[edge.value], at, at + edge.n_bytes, edge.value)) return 0;
        }
    }
    return add_node(s, 0, n_bytes, n_bytes, 0);
}

/* Sorts all nodes except the last by their ends, with a stable counting sort. So the nodes that can
 * precede a node are one slice of `ending`, in the order in which the reference compares them. */
static int sort_nodes(nbest *s, int64_t n_bytes)
{
    int64_t n = s->n_nodes - 1;
    if (!RESERVE(s, ending, ending_capacity, n) ||
        !RESERVE(s, first_ending, first_capacity, n_bytes + 3))
        return 0;
    int32_t *first = s->first_ending;
    memset(first, 0, (size_t)(n_bytes + 3) * sizeof *first);
    for (int64_t k = 0; k < n; k++) first[s->nodes[k].end + 2]++;
    for (int64_t e = 2; e < n_bytes + 3; e++) first[e] += first[e - 1];
    /* first[e + 1] moves from the first node that ends at e to the end of these nodes */
    for (int64_t k = 0; k < n; k++) s->ending[first[s->nodes[k].end + 1]++] = (int32_t)k;
    return 1;
}

/* Finds the best path to every node. For each node, all nodes that end where it begins are
 * compared, and the first of equal sums wins. Considering only the best node that ends at each
 * position would give different paths, because rounding can make sums equal. */
static void find_best(nbest *s, const lattice_model *m)
{
    for (int64_t k = 1; k < s->n_nodes; k++) {
        nbest_node *node = &s->nodes[k];
        node->before = -1;
        for (int32_t i = s->first_ending[node->begin]; i < s->first_ending[node->begin + 1]; i++) {
            double sum = lattice_round(m, s->nodes[s->ending[i]].best + node->score);
            if (node->before >= 0 && !(sum > node->best)) continue;
            node->before = s->ending[i];
            node->best = sum;
        }
    }
}

/* Builds the lattice and finds the best path to every node. Returns 0 on failure. */
static int build(nbest *s, const lattice_model *m, const uint8_t *text, int64_t n_bytes)
{
    if (n_bytes >= 1 << 30 || !add_nodes(s, m, text, n_bytes) || !sort_nodes(s, n_bytes)) return 0;
    find_best(s, m);
    return 1;
}

/* Computes the logarithm of the total weight of all paths to each position. */
static int sum_paths(nbest *s, double alpha, int64_t n_bytes)
{
    if (!RESERVE(s, log_sums, sums_capacity, n_bytes + 1)) return 0;
    for (int64_t e = 0; e <= n_bytes; e++) {
        s->log_sums[e] = e ? -INFINITY : 0;
        for (int32_t i = s->first_ending[e]; e && i < s->first_ending[e + 1]; i++) {
            const nbest_node *node = &s->nodes[s->ending[i]];
            s->log_sums[e] = log_add(s->log_sums[e],
                                     s->log_sums[node->begin] + alpha * node->score);
        }
    }
    return 1;
}

/* ---------------------------------------------------------------------------------- Agenda ---- */

/* A heap that takes the same steps as libstdc++'s, so that equal priorities are popped in the same
 * order. */

INLINE int is_less(const nbest *s, int32_t a, int32_t b)
{
    return s->hypotheses[a].priority < s->hypotheses[b].priority;
}

/* libstdc++'s __push_heap: the new item rises past parents that are strictly less. */
static void sift_up(nbest *s, int64_t hole, int32_t hypothesis)
{
    for (int64_t parent; hole > 0; hole = parent) {
        parent = (hole - 1) / 2;
        if (!is_less(s, s->heap[parent], hypothesis)) break;
        s->heap[hole] = s->heap[parent];
    }
    s->heap[hole] = hypothesis;
}

static int push(nbest *s, int32_t hypothesis)
{
    if (!RESERVE(s, heap, heap_capacity, s->n_heap + 1)) return 0;
    sift_up(s, s->n_heap++, hypothesis);
    return 1;
}

/* Removes and returns the top.
 *
 * The hole at the top sinks to a leaf, always to the larger child; then the last item rises from
 * there. The textbook algorithm, which compares the last item on the way down, would pop equal
 * priorities in a different order from the reference. */
static int32_t pop(nbest *s)
{
    int32_t top = s->heap[0], last = s->heap[--s->n_heap];
    int64_t hole = 0, n = s->n_heap, child = 2;
    for (; child < n; child = 2 * hole + 2) {
        if (is_less(s, s->heap[child], s->heap[child - 1])) child--;
        s->heap[hole] = s->heap[child];
        hole = child;
    }
    if (child == n) { /* the hole has only a left child */
        s->heap[hole] = s->heap[child - 1];
        hole = child - 1;
    }
    if (n > 0) sift_up(s, hole, last);
    return top;
}

static int32_t add_hypothesis(nbest *s, int32_t node, int32_t next, double score, double priority)
{
    if (!RESERVE(s, hypotheses, hypotheses_capacity, s->n_hypotheses + 1)) return FAILED;
    s->hypotheses[s->n_hypotheses] = (nbest_hypothesis){priority, score, node, next};
    return (int32_t)s->n_hypotheses++;
}

/* Copies a hypothesis and those that it extends to s->kept, unless they are already there. Returns
 * its new index, or FAILED. The chains form a tree whose root is the end of the text, so the walk
 * along a chain stops at the first hypothesis that an earlier chain has copied:
 *
 *     hypotheses    0 end ◀── 1 ie ◀── 4 p          `next` points to the left
 *                     ▲────── 2 e  ◀── 3 pi
 *     keep(4)       copies 4, 1, 0;      keep(3) copies 3 and 2, and stops at 0 */
static int32_t keep(nbest *s, int64_t *n_kept, int32_t hypothesis)
{
    int32_t first = FAILED, before = FAILED;
    for (int32_t h = hypothesis; h >= 0; h = s->hypotheses[h].next) {
        int32_t name = s->renamed[h], is_there = name >= 0;
        if (!is_there) {
            if (!RESERVE(s, kept, kept_capacity, *n_kept + 1)) return FAILED;
            name = s->renamed[h] = (int32_t)(*n_kept)++;
            s->kept[name] = s->hypotheses[h];
        }
        if (before >= 0) s->kept[before].next = name;
        if (first < 0) first = name;
        if (is_there) break;
        before = name;
    }
    return first;
}

/* Keeps the best n_best hypotheses of the heap and those that they extend. Returns 0 if allocation
 * fails. The hypotheses are copied to a second array, which then swaps places with the first, so
 * that chains of extensions stay intact while they are renumbered. */
static int shrink(nbest *s, int64_t n_best)
{
    int64_t n_kept = 0;
    if (!RESERVE(s, renamed, renamed_capacity, s->n_hypotheses)) return 0;
    memset(s->renamed, -1, (size_t)s->n_hypotheses * sizeof *s->renamed);
    int32_t best[NBEST_MAX + 2];
    for (int64_t k = 0; k < n_best; k++) {
        best[k] = keep(s, &n_kept, pop(s));
        if (best[k] < 0) return 0;
    }
    nbest_hypothesis *all = s->hypotheses;
    int64_t capacity = s->hypotheses_capacity;
    s->hypotheses = s->kept;
    s->hypotheses_capacity = s->kept_capacity;
    s->kept = all;
    s->kept_capacity = capacity;
    s->n_hypotheses = n_kept;
    s->n_heap = 0;
    for (int64_t k = 0; k < n_best; k++) push(s, best[k]); /* cannot fail: the heap has space */
    return 1;
}

/* ---------------------------------------------------------------------------------- Search ---- */

/* The state of a search among random paths. */
typedef struct noise {
    double alpha;
    uint64_t stream;
} noise;

static double gumbel(noise *random) { return -log(-log(rng_open(&random->stream))); }

/* Sets s->priorities for the hypotheses that extend `top` by ending[first..last): for each, draws
 * the score of its best perturbed path, given that the best of all these scores is the priority of
 * `top` (the numerically stable form in Kool and others, appendix B.3). */
static int draw_priorities(nbest *s, const nbest_hypothesis *top, int32_t first, int32_t last,
                           noise *random)
{
    double best = -INFINITY, log_sum = s->log_sums[s->nodes[top->node].begin];
    if (!RESERVE(s, priorities, priorities_capacity, last - first)) return 0;
    for (int32_t i = first; i < last; i++) {
        const nbest_node *left = &s->nodes[s->ending[i]];
        double score = top->score +
                       (s->log_sums[left->begin] + random->alpha * left->score - log_sum);
        s->priorities[i - first] = score + gumbel(random);
        if (s->priorities[i - first] > best) best = s->priorities[i - first];
    }
    for (int32_t i = 0; i < last - first; i++) {
        double v = top->priority - s->priorities[i] + log1p(-exp(s->priorities[i] - best));
        s->priorities[i] = top->priority - (v > 0 ? v : 0) - log1p(exp(-fabs(v)));
    }
    return 1;
}

/* Pushes all extensions of hypothesis h; returns their number, or FAILED. The hypothesis is copied
 * first, because adding one can move the array. */
static int64_t extend(nbest *s, const lattice_model *m, int32_t h, noise *random)
{
    nbest_hypothesis top = s->hypotheses[h];
    int64_t at = s->nodes[top.node].begin;
    int32_t first = s->first_ending[at], last = s->first_ending[at + 1];
    if (random && !draw_priorities(s, &top, first, last, random)) return FAILED;
    for (int32_t i = first; i < last; i++) {
        const nbest_node *left = &s->nodes[s->ending[i]];
        double score = lattice_round(m, left->score + top.score);
        double priority = lattice_round(m, left->best + top.score);
        if (random) {
            score = top.score +
                    (s->log_sums[left->begin] + random->alpha * left->score - s->log_sums[at]);
            priority = s->priorities[i - first];
        }
        int32_t longer = add_hypothesis(s, s->ending[i], h, score, priority);
        if (longer < 0 || !push(s, longer)) return FAILED;
    }
    return last - first;
}

/* Adds the path of a hypothesis that reaches the start of the text. Hypotheses are chained from
 * the start to the end, so the tokens are in text order. */
static int add_path(const nbest *s, const lattice_model *m, nbest_hypothesis top,
                    lattice_paths *ret)
{
    const nbest_hypothesis *all = s->hypotheses;
    int64_t n = 0;
    for (int32_t h = top.next; all[h].next >= 0; h = all[h].next) n++;
    token *tokens = lattice_paths_add(ret, n, top.priority);
    if (!tokens) return 0;
    for (int32_t h = top.next; all[h].next >= 0; h = all[h].next) {
        const nbest_node *node = &s->nodes[all[h].node];
        *tokens++ = (token){lattice_id(m, node->value), (uint32_t)node->end};
    }
    return 1;
}

/* Adds the Viterbi path, from the links that find_best has set. */
static int add_best(const nbest *s, const lattice_model *m, lattice_paths *ret)
{
    const nbest_node *end = &s->nodes[s->n_nodes - 1];
    int64_t n = 0;
    for (int32_t k = end->before; k > 0; k = s->nodes[k].before) n++;
    token *tokens = lattice_paths_add(ret, n, end->best);
    if (!tokens) return 0;
    for (int32_t k = end->before; k > 0; k = s->nodes[k].before)
        tokens[--n] = (token){lattice_id(m, s->nodes[k].value), (uint32_t)s->nodes[k].end};
    return 1;
}

/* Runs the search, after build and, with noise, sum_paths. The scores of random paths are their
 * priorities. The limits at which the Viterbi path is returned apply only to the n best: for a
 * random path, the search needs one hypothesis for each edge at each of its tokens. The search
 * remains exact after a reduction, because each of the n + 1 best paths extends one of the n + 1
 * best hypotheses. */
static int search(nbest *s, const lattice_model *m, int64_t n, noise *random, lattice_paths *ret)
{
    int64_t n_least = n * 10 < MIN_AGENDA ? n * 10 : MIN_AGENDA, n_total = 1,
            n_allowed = MAX_HYPOTHESES, n_shrinks = 0;
    if (random && n_least < n) n_least = n;
    int64_t n_paths = ret->n_paths + n;
    s->n_hypotheses = s->n_heap = 0;
    double priority = random ? gumbel(random) : s->nodes[s->n_nodes - 1].best;
    if (add_hypothesis(s, (int32_t)(s->n_nodes - 1), -1, 0, priority) < 0 || !push(s, 0)) return 0;
    while (s->n_heap > 0) {
        int32_t top = pop(s);
        if (s->hypotheses[top].node == 0) {
            if (!add_path(s, m, s->hypotheses[top], ret)) return 0;
            if (ret->n_paths == n_paths) break;
            continue;
        }
        int64_t n_longer = extend(s, m, top, random);
        if (n_longer == FAILED) return 0;
        n_total += n_longer;
        int must_end = !random && (n_total >= MAX_TOTAL || s->n_hypotheses >= MAX_TOTAL);
        if (!must_end && s->n_heap < MAX_AGENDA &&
            (s->n_heap <= n_least || s->n_hypotheses < n_allowed))
            continue;
        if (must_end || (!random && n_shrinks == MAX_SHRINKS)) {
            lattice_paths_clear(ret);
            return add_best(s, m, ret);
        }
        if (!shrink(s, s->n_heap < n_least ? s->n_heap : n_least)) return 0;
        n_shrinks++;
        n_allowed = s->n_hypotheses + MAX_HYPOTHESES;
    }
    return 1;
}

/* ----------------------------------------------------------------------------------- Calls ---- */

static int64_t clamp_n(int64_t n) { return n < 1 ? 1 : n > NBEST_MAX ? NBEST_MAX : n; }

int nbest_find(nbest *s, const lattice_model *model, const uint8_t *text, int64_t n_bytes,
               int64_t n, lattice_paths *ret)
{
    lattice_paths_clear(ret);
    if (n_bytes == 0) return lattice_paths_add(ret, 0, 0) != NULL;
    if (!build(s, model, text, n_bytes)) return 0;
    return n <= 1 ? add_best(s, model, ret) : search(s, model, clamp_n(n), NULL, ret);
}

/* Weights are relative to the best path, so that exp does not overflow. Rounding can leave a small
 * remainder of the sum at the end; then the best path is chosen. */
int64_t nbest_choose(const lattice_paths *paths, double alpha, uint64_t key)
{
    double best = -INFINITY, sum = 0;
    uint64_t stream = rng_stream(key, 0);
    for (int64_t k = 0; k < paths->n_paths; k++) best = fmax(best, alpha * paths->scores[k]);
    for (int64_t k = 0; k < paths->n_paths; k++) sum += exp(alpha * paths->scores[k] - best);
    double left = rng_unit(&stream) * sum;
    for (int64_t k = 0; k < paths->n_paths; k++) {
        left -= exp(alpha * paths->scores[k] - best);
        if (left < 0) return k;
    }
    return 0;
}

/* Whether two paths have the same tokens. */
static int is_same(const lattice_paths *paths, int64_t a, int64_t b)
{
    int64_t n = paths->offsets[a + 1] - paths->offsets[a];
    if (paths->offsets[b + 1] - paths->offsets[b] != n) return 0;
    return memcmp(paths->tokens + paths->offsets[a], paths->tokens + paths->offsets[b],
                  (size_t)n * sizeof(token)) == 0;
}

static void remove_path(lattice_paths *paths, int64_t k)
{
    int64_t first = paths->offsets[k], next = paths->offsets[k + 1],
            end = paths->offsets[paths->n_paths];
    memmove(paths->tokens + first, paths->tokens + next,
            (size_t)(end - next) * sizeof *paths->tokens);
    for (int64_t i = k; i < paths->n_paths; i++)
        paths->offsets[i] = paths->offsets[i + 1] - (next - first);
    for (int64_t i = k; i + 1 < paths->n_paths; i++) paths->scores[i] = paths->scores[i + 1];
    paths->n_paths--;
}

/* Path 0 is the best path, which may also have been drawn. Removes its duplicate or, if there is
 * none, the last of n paths, unless there are fewer than n. */
static void remove_duplicate(lattice_paths *paths, int64_t n)
{
    for (int64_t k = 1; k < paths->n_paths; k++)
        if (is_same(paths, 0, k)) {
            remove_path(paths, k);
            return;
        }
    if (paths->n_paths == n) paths->n_paths--;
}

/* log(1 - exp(-exp(x))): the log probability that noise raises x = log p - threshold above 0. A
 * series replaces the difference if exp(x) is small. */
static double log_inclusion(double x)
{
    double y = exp(x);
    return x > -10 ? log(-expm1(-y)) : x - y / 2 + y * y / 24 - y * y * y * y / 2880;
}

/* One more path than requested is drawn; its priority is the threshold that all others exceed. */
int nbest_draw_distinct(nbest *s, const lattice_model *model, const uint8_t *text, int64_t n_bytes,
                        int64_t n, double alpha, int include_best, uint64_t key, lattice_paths *ret)
{
    noise random = {alpha, rng_stream(key, 0)};
    lattice_paths_clear(ret);
    if (n_bytes == 0) return lattice_paths_add(ret, 0, 0) != NULL;
    n = clamp_n(n);
    if (!build(s, model, text, n_bytes) || !sum_paths(s, alpha, n_bytes)) return 0;
    if (include_best && !add_best(s, model, ret)) return 0;
    if (!search(s, model, n + 1, &random, ret)) return 0;
    if (include_best) remove_duplicate(ret, n + 2);
    double threshold = -INFINITY;
    if (ret->n_paths > n) {
        threshold = ret->scores[n];
        ret->n_paths = n;
    }
    for (int64_t k = 0; k < ret->n_paths; k++) {
        double log_p = -s->log_sums[n_bytes];
        for (int64_t i = ret->offsets[k]; i < ret->offsets[k + 1]; i++)
            log_p += alpha * model->id_scores[ret->tokens[i].id + 1];
        int is_sure = threshold == -INFINITY || (include_best && k == 0);
        ret->scores[k] = is_sure ? 0 : log_inclusion(log_p - threshold);
    }
    return 1;
}

void nbest_free(nbest *s)
{
    mem_free(s->nodes);
    mem_free(s->ending);
    mem_free(s->first_ending);
    mem_free(s->log_sums);
    mem_free(s->edges);
    mem_free(s->hypotheses);
    mem_free(s->kept);
    mem_free(s->heap);
    mem_free(s->renamed);
    mem_free(s->priorities);
    *s = (nbest){0};
}
