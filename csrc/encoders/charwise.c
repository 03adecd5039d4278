/* charwise.c - builds and reads the double array of characters (charwise.h)
 *
 *     1. count_chars     is the table useful, and how frequent is each character?
 *     2. number_chars    frequent characters get small numbers
 *     3. list_inners     the nodes with children, breadth first
 *     4. place           a base for each of them (structures/double_array.h)
 *     5. fill            write the nodes
 *
 * Small numbers for frequent characters put the children that most walks read close to their
 * bases. */

#include "encoders/charwise.h"

#include <math.h>

#include "ground/alloc.h"
#include "ground/grow.h"
#include "ground/pick.h"
#include "ground/utf8.h"
#include "structures/double_array.h"

/* The table is built only if at least one piece in LEAST_SHARE joins characters of three bytes,
 * since other models are faster with the memo. */
#define LEAST_SHARE 8    /* one piece in 8 must join characters of three bytes */
#define SLOTS_PER_NODE 8 /* at most; real vocabularies need fewer than 2 */

/* -------------------------------------------------------------------------------- Building ---- */

/* A node with children, which stands for the pieces first..last-1: their first n_bytes bytes are
 * the same. */
typedef struct inner {
    int64_t first, last;
    int32_t n_bytes;
    uint16_t children; /* as in charwise_node */
} inner;

typedef struct builder {
    const charwise_pieces *pieces;
    charwise *charwise;
    inner *inners;
    uint16_t *labels; /* of inner node k: labels[offsets[k]..offsets[k + 1]); the root has none */
    int64_t *offsets;
    uint32_t *bases; /* [0..n_inners) */
    int64_t n_inners, inners_capacity, n_labels, labels_capacity, offsets_capacity;
} builder;

/* Counts the characters in counts[0..0x10FFFF]. Returns whether the table is useful and can be
 * built. */
static int count_chars(builder *b, uint32_t *counts)
{
    const charwise_pieces *p = b->pieces;
    charwise *c = b->charwise;
    int64_t n_joined = 0;
    for (int64_t k = 0; k < p->n_pieces; k++) {
        int64_t n_chars = 0, n_long = 0;
        if (p->ids[k + 1] < 0 || p->ids[k + 1] >= (int32_t)CHARWISE_UNKNOWN) return 0;
        for (int64_t i = p->offsets[k]; i < p->offsets[k + 1]; n_chars++) {
            int n_bytes = utf8_length(p->bytes + i, p->offsets[k + 1] - i);
            if (n_bytes == 0) return 0;
            uint32_t code_point = utf8_code_point(p->bytes + i, n_bytes);
            counts[code_point]++;
            if (code_point >= c->n_code_points) c->n_code_points = code_point + 1;
            n_long += n_bytes >= 3;
            i += n_bytes;
        }
        n_joined += n_long >= 2;
        if (n_chars > c->max_piece_chars) c->max_piece_chars = n_chars;
    }
    return n_joined > 0 && n_joined * LEAST_SHARE >= p->n_pieces &&
           c->max_piece_chars <= CHARWISE_PIECE_CHARS_MAX;
}

/* Descending order. A key is a count << 32 | ~code point, so characters with equal counts are in
 * ascending order of their code points, and the numbers do not depend on the sorting algorithm. */
static int more_frequent(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x < y) - (x > y);
}

/* Numbers the characters, most frequent first. Returns 0 if allocation fails, -1 if there are too
 * many characters. */
static int number_chars(charwise *c, const uint32_t *counts)
{
    int64_t n = 0;
    for (int64_t i = 0; i < c->n_code_points; i++) n += counts[i] != 0;
    if (n >= UINT16_MAX) return -1;
    uint64_t *keys = mem_alloc((size_t)(n + 1) * sizeof *keys);
    c->numbers = mem_zalloc((size_t)c->n_code_points + 1, sizeof *c->numbers);
    if (keys && c->numbers) {
        c->n_numbers = n + 1;
        n = 0;
        for (int64_t i = 0; i < c->n_code_points; i++)
            if (counts[i]) keys[n++] = (uint64_t)counts[i] << 32 | (uint32_t)~i;
        qsort(keys, (size_t)n, sizeof *keys, more_frequent);
        for (int64_t k = 0; k < n; k++) c->numbers[~(uint32_t)keys[k]] = (uint16_t)(k + 1);
    }
    mem_free(keys);
    return keys && c->numbers;
}

/* The pieces of one inner node that continue with the same character. */
typedef struct group {
    int64_t piece;       /* the piece that ends with the character; -1: none */
    int64_t first, last; /* the pieces that continue after the character */
    uint32_t number;
    int32_t n_bytes; /* including the character */
} group;

/* Compares backwards, because the pieces next to each other in a sorted list usually differ in the
 * last byte. */
INLINE int is_same_char(const uint8_t *a, const uint8_t *b, int n_bytes)
{
    for (int k = n_bytes - 1; k >= 0; k--)
        if (a[k] != b[k]) return 0;
    return 1;
}

/* The group that begins with piece `at`: all pieces of the node that continue with the same
 * character. In a sorted list they are neighbours, and the piece that ends with the character is
 * the first.
 *
 *     node "東"      東京  東京都  東京駅  東北         pieces node->first..node->last-1
 *     groups         |------ 京 --------|-- 北 --|
 *                    g.piece = 東京; 東京都 and 東京駅 are left for the inner node "東京"
 */
static group next_group(const builder *b, const inner *node, int64_t at)
{
    const charwise_pieces *p = b->pieces;
    const uint8_t *next = p->bytes + p->offsets[at] + node->n_bytes;
    int n_char = utf8_length(next, p->offsets[at + 1] - p->offsets[at] - node->n_bytes);
    group g = {-1, at, at + 1, b->charwise->numbers[utf8_code_point(next, n_char)],
               node->n_bytes + n_char};
    while (g.last < node->last &&
           is_same_char(p->bytes + p->offsets[g.last] + node->n_bytes, next, n_char))
        g.last++;
    if (p->offsets[at + 1] - p->offsets[at] == g.n_bytes) g.piece = g.first++;
    return g;
}

/* Lists the nodes with children and their labels: the root first, parents before children, in the
 * order of the pieces. Returns 0 if allocation fails. */
static int list_inners(builder *b)
{
    if (!grow(&b->inners, b->n_inners, &b->inners_capacity, sizeof *b->inners)) return 0;
    b->inners[b->n_inners++] = (inner){0, b->pieces->n_pieces, 0, 0};
    for (int64_t k = 0; k < b->n_inners; k++) {
        inner node = b->inners[k];
        if (!grow(&b->offsets, k + 1, &b->offsets_capacity, sizeof *b->offsets)) return 0;
        b->offsets[k] = b->n_labels;
        for (int64_t at = node.first; at < node.last;) {
            group g = next_group(b, &node, at);
            at = g.last;
            node.children |= (uint16_t)(1 << (g.number & 15));
            if (!grow(&b->labels, b->n_labels, &b->labels_capacity, sizeof *b->labels)) return 0;
            if (k) b->labels[b->n_labels++] = (uint16_t)g.number;
            if (g.first == g.last) continue;
            if (!grow(&b->inners, b->n_inners, &b->inners_capacity, sizeof *b->inners)) return 0;
            b->inners[b->n_inners++] = (inner){g.first, g.last, g.n_bytes, 0};
        }
        b->inners[k].children = node.children;
        b->offsets[k + 1] = b->n_labels;
    }
    return 1;
}

/* Assigns bases to the inner nodes except the root, whose children are in a separate table. Returns
 * the same values as double_array_place. */
static int place(builder *b)
{
    int64_t max_slots = SLOTS_PER_NODE * b->n_labels + 2 * UINT16_MAX, n_slots, highest = 0;
    b->bases = mem_alloc((size_t)b->n_inners * sizeof *b->bases);
    if (!b->bases) return 0;
    int status = double_array_place(b->labels, b->offsets, b->n_inners, 0, max_slots, b->bases,
                                    &n_slots);
    if (status <= 0) return status;
    for (int64_t k = 0; k < b->n_inners; k++)
        if (b->bases[k] > highest) highest = b->bases[k];
    /* base + number is always an index */
    b->charwise->n_nodes = highest + b->charwise->n_numbers;
    return 1;
}

/* Fills the nodes and the table of first characters. Returns 0 if allocation fails.
 *
 * Inner nodes were listed breadth first, so a second walk in the same order reaches them in list
 * order, and `child` is the next one. A first character that is not a piece keeps the score and id
 * of an unknown character, so a path always exists. */
static int fill(builder *b)
{
    const charwise_pieces *p = b->pieces;
    charwise *c = b->charwise;
    c->nodes = mem_alloc((size_t)c->n_nodes * sizeof *c->nodes);
    c->firsts = mem_alloc((size_t)c->n_numbers * sizeof *c->firsts);
    if (!c->nodes || !c->firsts) return 0;
    for (int64_t k = 0; k < c->n_nodes; k++) c->nodes[k] = (charwise_node){0, 0, 0, -INFINITY, 0};
    for (int64_t k = 0; k < c->n_numbers; k++)
        c->firsts[k] = (charwise_node){0, (uint16_t)k, 0, p->unknown_score,
                                       CHARWISE_UNKNOWN << 8 | 1};
    for (int64_t k = 0, child = 1, n_chars = 0; k < b->n_inners; k++) {
        const inner *node = &b->inners[k];
        n_chars = 1;
        for (int32_t i = 0; i < node->n_bytes; i++)
            n_chars += !is_continuation(p->bytes[p->offsets[node->first] + i]);
        for (int64_t at = node->first; at < node->last;) {
            group g = next_group(b, node, at);
            charwise_node *made = k ? &c->nodes[b->bases[k] + g.number] : &c->firsts[g.number];
            at = g.last;
            made->label = (uint16_t)g.number;
            if (g.first < g.last) {
                made->children = b->inners[child].children;
                made->base = b->bases[child++];
            }
            if (g.piece < 0) continue;
            made->score = p->scores[g.piece + 1];
            made->piece = (uint32_t)p->ids[g.piece + 1] << 8 | (uint32_t)n_chars;
        }
    }
    return 1;
}

/* `status` is 1, 0 if allocation has failed, or -1 if the table is not useful or cannot be built,
 * which is not an error. */
int charwise_new(const charwise_pieces *pieces, charwise **ret)
{
    *ret = NULL;
    charwise *c = mem_zalloc(1, sizeof *c);
    uint32_t *counts = mem_zalloc(0x110000, sizeof *counts);
    builder b;
    memset(&b, 0, sizeof b);
    b.pieces = pieces;
    b.charwise = c;
    int status = c && counts;
    if (status && !count_chars(&b, counts)) status = -1;
    if (status > 0) status = number_chars(c, counts);
    if (status > 0) status = list_inners(&b) ? place(&b) : 0;
    if (status > 0) status = fill(&b);
    mem_free(b.bases);
    mem_free(b.offsets);
    mem_free(b.labels);
    mem_free(b.inners);
    mem_free(counts);
    if (status > 0) *ret = c;
    else charwise_free(c);
    return status != 0;
}

void charwise_free(charwise *c)
{
    if (!c) return;
    mem_free(c->nodes);
    mem_free(c->firsts);
    mem_free(c->numbers);
    mem_free(c);
}

int64_t charwise_memory_bytes(const charwise *c)
{
    if (!c) return 0;
    return (int64_t)sizeof *c + (c->n_nodes + c->n_numbers) * (int64_t)sizeof *c->nodes +
           c->n_code_points * 2;
}

/* --------------------------------------------------------------------------------- Reading ---- */

/* Returns the code point at the start of text[0..n_bytes-1], with its size in *ret_bytes; 0 if it
 * is not valid. */
static NOINLINE uint32_t any_code_point(const uint8_t *text, int64_t n_bytes, int64_t *ret_bytes)
{
    int n_char = utf8_length(text, n_bytes);
    *ret_bytes = n_char;
    return n_char ? utf8_code_point(text, n_char) : 0;
}

/* Splits a text into characters. Writes their numbers to work->numbers, followed by zeros (0 is a
 * label that no node has), and their starts to work->starts, followed by the end of the text.
 * Returns the number of characters, or 0 if the text is not UTF-8. */
static int64_t number_text(const charwise *c, const uint8_t *text, int64_t n_bytes,
                           charwise_work *work)
{
    uint16_t *numbers = work->numbers, *starts = work->starts;
    const uint16_t *known = c->numbers;
    int64_t n_known = c->n_code_points, n = 0;
    for (int64_t i = 0, n_char; i < n_bytes; i += n_char, n++) {
        uint32_t code_point = text[i];
        n_char = 1;
        if (code_point - 0xE1 < 0xC && i + 3 <= n_bytes && is_continuation(text[i + 1]) &&
            is_continuation(text[i + 2])) {
            code_point = utf8_code_point(text + i, 3);
            n_char = 3;
        } else if (code_point - 0xC2 < 0x1E && i + 2 <= n_bytes && is_continuation(text[i + 1])) {
            code_point = utf8_code_point(text + i, 2);
            n_char = 2;
        } else if (code_point >= 0x80) {
            code_point = any_code_point(text + i, n_bytes - i, &n_char);
            if (UNLIKELY(n_char == 0)) return 0;
        }
        starts[n] = (uint16_t)i;
        numbers[n] = code_point < n_known ? known[code_point] : 0;
    }
    starts[n] = (uint16_t)n_bytes;
    for (int64_t k = 0; k < CHARWISE_AHEAD + 4; k++) numbers[n + k] = 0;
    return n;
}

/* Takes the candidate if it is better. `pick_above` and the conditional expression both compile to
 * moves without a branch; a branch would be as unpredictable as the text. */
INLINE void offer(charwise_cell *best, float sum, const charwise_node *node)
{
    float candidate = sum + node->score;
    best->piece = pick_above(candidate, best->sum, node->piece, best->piece);
    best->sum = candidate > best->sum ? candidate : best->sum;
}

/* Returns the child with this number, or node 0. The filter of children is tested first: without
 * it, every mismatch would load a node of another parent, which is usually not cached. */
INLINE const charwise_node *child_of(const charwise_node *nodes, const charwise_node *node,
                                     uint32_t number)
{
    uint64_t at = pick(~(uint32_t)node->children >> (number & 15) & 1,
                       (uint64_t)node->base + number, 0);
    return &nodes[pick(nodes[at].label ^ number, at, 0)];
}

/* Subtracts the offset from all open cells, as the reference does when a sum passes
 * CHARWISE_RESTART_ABOVE; the other two open cells are in registers. Not inlined, because this is
 * rare. */
static NOINLINE void restart(charwise_cell *cells, int64_t n_cells, float offset)
{
    for (int64_t k = 0; k < n_cells; k++) cells[k].sum -= offset;
}

/* Invariant of the loop: `near` and `next` are the cells i + 1 and i + 2, and every later open cell
 * is in memory. cells[i + 1].piece is written when it is final, because tracing back reads only
 * pieces. Nodes are prefetched in two steps: the node of two characters is prefetched
 * CHARWISE_AHEAD positions ahead; the node of three characters, three positions ahead, when its
 * parent has been loaded.
 *
 *     cells     i      i + 1   i + 2   i + 3   i + 4 …
 *     held in   sum    near    next    far     memory
 *     offers           one     two     three   the loop for longer pieces
 *     then              └▶ sum  └▶ near └▶ next     and i grows by 1 */
int64_t charwise_path(const charwise *c, const uint8_t *text, int64_t n_bytes, float *io_sum,
                      charwise_work *work)
{
    const charwise_node *nodes = c->nodes, *firsts = c->firsts;
    const uint16_t *numbers = work->numbers;
    charwise_cell *cells = work->cells, near = {-INFINITY, 0}, next = near;
    int64_t n = number_text(c, text, n_bytes, work), n_tokens = 0;
    float sum = *io_sum;
    for (int64_t i = 0; i < n + 4; i++) cells[i] = near;
    const charwise_node *twos[3]; /* of the two characters that begin at i, i + 1 and i + 2 */
    for (int64_t i = 0; i < 3; i++) twos[i] = child_of(nodes, &firsts[numbers[i]], numbers[i + 1]);
    for (int64_t i = 0; i < n; i++) {
        if (UNLIKELY(fabsf(sum) > CHARWISE_RESTART_ABOVE)) {
            int64_t n_left = n - i < c->max_piece_chars ? n - i : c->max_piece_chars;
            near.sum -= sum;
            next.sum -= sum;
            restart(cells + i + 3, n_left - 2, sum);
            sum = 0;
        }
        PREFETCH(
            &nodes[firsts[numbers[i + CHARWISE_AHEAD]].base + numbers[i + CHARWISE_AHEAD + 1]]);
        const charwise_node *one = &firsts[numbers[i]], *two = twos[0];
        twos[0] = twos[1];
        twos[1] = twos[2];
        twos[2] = child_of(nodes, &firsts[numbers[i + 3]], numbers[i + 4]);
        PREFETCH(&nodes[twos[2]->base + numbers[i + 5]]);
        const charwise_node *three = child_of(nodes, two, numbers[i + 2]);
        charwise_cell far = cells[i + 3];
        offer(&near, sum, one);
        offer(&next, sum, two);
        offer(&far, sum, three);
        for (int64_t k = i + 3; UNLIKELY(three->children >> (numbers[k] & 15) & 1); k++) {
            three = &nodes[three->base + numbers[k]];
            if (three->label != numbers[k]) break;
            offer(&cells[k + 1], sum, three);
        }
        cells[i + 1].piece = near.piece;
        sum = near.sum;
        near = next;
        next = far;
    }
    *io_sum = sum;
    for (int64_t i = n; i > 0; i -= cells[i].piece & 255) {
        uint32_t id = cells[i].piece >> 8;
        work->tokens[CHARWISE_BYTES - ++n_tokens] = (token){
            id == CHARWISE_UNKNOWN ? TOKEN_UNKNOWN : (int32_t)id, work->starts[i]};
    }
    return n_tokens;
}
