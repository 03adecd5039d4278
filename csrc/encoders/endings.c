/* endings.c - builds and runs the automaton of endings.h */

#include "encoders/endings.h"

#include <math.h>

#include "ground/grow.h"
#include "ground/pick.h"
#include "structures/suffix_links.h"

/* Limits of the fields of endings_node and endings_list. The number of a list is the index of its
 * first record << 8 | the number of further records; a unit has 23 bits for a base; and the highest
 * bit of a value is VALUE_MARK in unigram.c. A lane begins EARLY bytes before its part. LANES_FEW
 * is the smallest number of lanes that is faster than follow_alone. */
#define LISTS_MAX (1 << 24)
#define LIST_MAX 255
#define LABEL_BITS 9
#define LABEL_MASK 0x1FF
#define UNITS_MAX (1 << 23)
#define ID_MAX ((1 << 23) - 2) /* the highest bit of a value is VALUE_MARK in unigram.c */
#define LANES 64
#define LANES_FEW 4
#define EARLY 8
#define PART_LEAST (4 * EARLY + 16) /* see follow_together */

INLINE uint32_t node_base(const endings_node *node) { return node->unit >> LABEL_BITS; }

/* The state after reading c: the child for c of the node or, if it has none, of its longest suffix
 * that has one. The loop ends at the root, which has a child for every byte and a filter of all
 * ones. A suffix is shorter than its node, and a byte lengthens the state by one, so there are at
 * most two iterations per byte on average. */
INLINE uint32_t next_state(const endings_node *nodes, uint32_t state, uint32_t c)
{
    for (;;) {
        const endings_node *node = &nodes[state];
        uint32_t child = node_base(node) ^ c;
        if (node->bytes >> (c & 31) & 1 && (nodes[child].unit & LABEL_MASK) == (0x100 | c))
            return child;
        state = node->fail;
    }
}

/* -------------------------------------------------------------------------------- Building ---- */

typedef struct builder {
    const trie *trie;
    const endings_pieces *pieces;
    endings *endings;
    int64_t capacity; /* the capacity of lists[] */
} builder;

/* The trie's unit of a node other than the root. */
INLINE uint64_t trie_unit(const trie *t, uint32_t node)
{
    return t->units[node < TRIE_BLOCK ? TRIE_ROOT_BASE ^ node : node];
}

/* Sets the filters of children. This is done first, because leaves later copy the bases of other
 * nodes. */
static void put_bytes(builder *b)
{
    const endings_pieces *pieces = b->pieces;
    endings_node *nodes = b->endings->nodes;
    for (int64_t i = 0; i < pieces->n_pieces; i++) {
        const uint8_t *end = pieces->bytes + pieces->offsets[i + 1];
        uint32_t at = 0;
        for (const uint8_t *byte = pieces->bytes + pieces->offsets[i]; byte < end; byte++) {
            if (at) nodes[at].bytes |= 1u << (*byte & 31);
            at = (at ? unit_base(trie_unit(b->trie, at)) : 0) ^ *byte;
        }
    }
}

/* Fills complete records: the entries after the last piece repeat the first one. A repeated piece
 * offers the same sum again, which changes nothing, so readers always process complete records.
 *
 *     five pieces     │ p0 p1 p2 p3 │ p4 p0 p0 p0 │ */
static void put_list(endings_list *lists, const float *scores, const uint32_t *values, int64_t n)
{
    for (int64_t k = 0; k < n || k % ENDINGS_OUTS; k++) {
        lists[k / ENDINGS_OUTS].scores[k % ENDINGS_OUTS] = scores[k < n ? k : 0];
        lists[k / ENDINGS_OUTS].values[k % ENDINGS_OUTS] = values[k < n ? k : 0];
    }
}

/* Copies the pieces of a node's list; returns their number. */
static int64_t get_list(const endings *a, uint32_t list, float *scores, uint32_t *values)
{
    int64_t n = 0, capacity = ENDINGS_OUTS * ((list & 255) + 1);
    const endings_list *lists = a->lists + (list >> 8);
    for (; list && n < capacity; n++) {
        scores[n] = lists[n / ENDINGS_OUTS].scores[n % ENDINGS_OUTS];
        values[n] = lists[n / ENDINGS_OUTS].values[n % ENDINGS_OUTS];
        if (n && values[n] == values[0]) break;
    }
    return n;
}

/* Gives nodes[at] a list: the piece that ends there, followed by the list of `suffix`. A piece
 * of one ASCII byte goes to `singles` instead, so that lists hold only pieces that end at few
 * positions. Returns 1, or 0 if allocation fails, or -1 if the list is too long. */
static int put_piece(builder *b, uint32_t at, uint32_t value, uint32_t suffix)
{
    endings *a = b->endings;
    float scores[LIST_MAX + 1 + ENDINGS_OUTS];
    uint32_t values[LIST_MAX + 1 + ENDINGS_OUTS];
    uint32_t n_bytes = (uint32_t)(b->pieces->offsets[value] - b->pieces->offsets[value - 1]);
    scores[0] = b->pieces->scores[value];
    values[0] = (uint32_t)(b->pieces->ids[value] + 1) << 8 | (255 - n_bytes);
    if (at < 128) {
        a->singles[at] = (endings_piece){scores[0], values[0]};
        return 1;
    }
    int64_t n = get_list(a, a->nodes[suffix].list, scores + 1, values + 1) + 1;
    int64_t n_lists = (n + ENDINGS_OUTS - 1) / ENDINGS_OUTS;
    if (n > LIST_MAX || a->n_lists + n_lists > LISTS_MAX) return -1;
    if (!grow(&a->lists, a->n_lists + n_lists, &b->capacity, sizeof *a->lists)) return 0;
    a->block = a->lists;
    put_list(a->lists + a->n_lists, scores, values, n);
    a->nodes[at].list = (uint32_t)(a->n_lists << 8 | (n_lists - 1));
    a->n_lists += n_lists;
    return 1;
}

/* The node of a trie unit. A child of the root has its byte as index, so the nodes of the first
 * bytes need no lookup. Only the root has the base TRIE_ROOT_BASE, so a matching label proves
 * that a unit is a child of the root. */
INLINE uint32_t node_of(const trie *t, uint32_t unit)
{
    uint8_t label = (uint8_t)t->units[unit];
    return unit == (TRIE_ROOT_BASE ^ label) ? label : unit;
}

/* Fills a node whose suffix is already filled; returns the same values as put_piece. A leaf copies
 * the base, filter and fail link of its suffix, because the search would go to that suffix whatever
 * byte follows. */
static int put_node(void *context, const suffix_link *link)
{
    builder *b = context;
    endings_node *nodes = b->endings->nodes;
    uint64_t unit = b->trie->units[link->unit];
    uint32_t at = node_of(b->trie, link->unit), suffix = node_of(b->trie, link->suffix),
             base = unit_base(unit);
    uint32_t bytes = base ? nodes[at].bytes : nodes[suffix].bytes,
             fail = base ? suffix : nodes[suffix].fail;
    if (!base) base = node_base(&nodes[suffix]);
    nodes[at] = (endings_node){base << LABEL_BITS | 0x100 | (uint8_t)unit, fail, nodes[suffix].list,
                               bytes};
    return unit_value(unit) ? put_piece(b, at, unit_value(unit), suffix) : 1;
}

/* Fills the root, its children for bytes that no piece begins with, and the empty list. */
static void put_root(builder *b)
{
    endings *a = b->endings;
    for (uint32_t c = 0; c < TRIE_BLOCK; c++)
        if (!c || !unit_has_label(trie_unit(b->trie, c), (uint8_t)c))
            a->nodes[c] = (endings_node){0x100 | c, 0, 0, UINT32_MAX};
    for (int k = 0; k < ENDINGS_OUTS; k++) {
        a->lists[0].scores[k] = -INFINITY;
        a->lists[0].values[k] = 255;
    }
    a->n_lists = 1;
}

/* A piece that begins with a NUL byte is rejected because node 0 is the root, and a child of the
 * root for byte 0 would have the same index. */
static int fits(const trie *t, const endings_pieces *pieces, int64_t *ret_max_piece_bytes)
{
    *ret_max_piece_bytes = 0;
    for (int64_t i = 0; i < pieces->n_pieces; i++) {
        int64_t n_bytes = pieces->offsets[i + 1] - pieces->offsets[i];
        if (n_bytes > *ret_max_piece_bytes) *ret_max_piece_bytes = n_bytes;
        if (pieces->ids[i + 1] > ID_MAX) return 0;
    }
    return *ret_max_piece_bytes <= ENDINGS_PIECE_BYTES && t->n_units <= UNITS_MAX &&
           !unit_has_label(t->units[TRIE_ROOT_BASE], 0);
}

/* Moves the records to a multiple of their size, so that each lies in one cache line; a record
 * is 32 bytes, half a line. Returns 0 if allocation fails. */
static int align_lists(endings *a)
{
    size_t n_bytes = (size_t)a->n_lists * sizeof *a->lists;
    uint8_t *block = mem_alloc(n_bytes + sizeof *a->lists);
    if (!block) return 0;
    endings_list *lists = (endings_list *)(block + (0 - (uintptr_t)block) % sizeof *lists);
    memcpy(lists, a->lists, n_bytes);
    mem_free(a->block);
    a->lists = lists;
    a->block = block;
    return 1;
}

/* The filters and the root come first, because all other nodes copy from them. The other nodes
 * follow in order of depth. */
int endings_new(const trie *t, const endings_pieces *pieces, endings **ret)
{
    int64_t max_piece_bytes;
    *ret = NULL;
    if (!fits(t, pieces, &max_piece_bytes)) return 1;
    endings *a = mem_zalloc(1, sizeof *a);
    builder b = {t, pieces, a, 1};
    int status = 0;
    if (a) a->nodes = mem_zalloc((size_t)t->n_units, sizeof *a->nodes);
    if (a) a->lists = a->block = mem_alloc(sizeof *a->lists);
    if (a && a->nodes && a->lists) {
        a->n_nodes = t->n_units;
        a->max_piece_bytes = max_piece_bytes;
        put_bytes(&b);
        put_root(&b);
        status = suffix_links_visit(t, pieces->bytes, pieces->offsets, pieces->n_pieces, put_node,
                                    &b);
    }
    if (status > 0) status = align_lists(a);
    if (status > 0) *ret = a;
    else endings_free(a);
    return status != 0;
}

void endings_free(endings *a)
{
    if (!a) return;
    mem_free(a->nodes);
    mem_free(a->block);
    mem_free(a);
}

int64_t endings_memory_bytes(const endings *a)
{
    if (!a) return 0;
    return (int64_t)sizeof *a + a->n_nodes * (int64_t)sizeof *a->nodes +
           a->n_lists * (int64_t)sizeof *a->lists;
}

/* ------------------------------------------------------------------------------- Following ---- */

/* `next` is the next node to read: the child for text[at], if its label matches, or (mask 0) a
 * suffix. */
typedef struct lane {
    uint64_t at, end;
    uint32_t next, label, mask, fail;
} lane;

/* One step: reads node x->next, which the previous step prefetched, and computes the next node for
 * both outcomes. The outcome is unpredictable, so `pick` selects without a branch. If the label
 * matches, the byte is consumed; otherwise the suffix is next. */
INLINE void lane_step(const endings_node *nodes, const uint8_t *text, lane *x,
                      endings_place *places)
{
    const endings_node *node = &nodes[x->next];
    uint32_t differs = (node->unit ^ x->label) & x->mask, fail = node->fail;
    places[x->at] = (endings_place){x->next, node->list}; /* the last write is the valid one */
    uint64_t at = (uint64_t)pick(differs, x->at + (x->mask & 1), x->at);
    uint32_t c = text[at], is_child = (uint32_t)pick(differs, node->bytes >> (c & 31) & 1, 0);
    uint32_t suffix = (uint32_t)pick(differs, fail, x->fail);
    x->at = at;
    x->next = (uint32_t)pick(is_child, suffix, node_base(node) ^ c);
    x->label = 0x100 | c;
    x->mask = LABEL_MASK & (0 - is_child);
    x->fail = fail;
    PREFETCH(&nodes[x->next]);
}

/* Follows a single state: used for short texts, and for the last byte after the lanes. */
static void follow_alone(const endings_node *nodes, uint32_t state, const uint8_t *text,
                         int64_t begin, int64_t end, endings_place *places)
{
    for (int64_t i = begin; i < end; i++) {
        state = next_state(nodes, state, text[i]);
        places[i] = (endings_place){state, nodes[state].list};
    }
}

INLINE uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* Corrects places[begin..end-1], starting from the correct `state` before them, and stops at the
 * first place that is already correct, because all later ones are correct too. */
static void join(const endings_node *nodes, uint32_t state, const uint8_t *text, int64_t begin,
                 int64_t end, endings_place *places)
{
    for (int64_t i = begin; i < end; i++) {
        state = next_state(nodes, state, text[i]);
        if (places[i].state == state) break;
        places[i] = (endings_place){state, nodes[state].list};
    }
}

/* Follows n_lanes parts in turn, then joins them. n_left steps cannot move any lane past the end of
 * its part, so the inner loop needs no check. Lanes that finish are removed.
 *
 * A lane first follows the last bytes of the previous part and may write wrong places there. It
 * leaves that stretch within three steps per byte, since each move to a suffix takes two steps and
 * shortens the state. The previous lane needs more steps to get there, so it overwrites the wrong
 * places later. */
static NOINLINE void follow_together(const endings *a, uint32_t state, const uint8_t *text,
                                     int64_t n_bytes, int n_lanes, endings_place *places)
{
    const endings_node *nodes = a->nodes;
    lane lanes[LANES];
    int64_t last = n_bytes - 1; /* a lane reads the byte after its part */
    int n_open = n_lanes;
    for (int k = 0; k < n_lanes; k++)
        lanes[k] = (lane){(uint64_t)(k ? last * k / n_lanes - EARLY : 0),
                          (uint64_t)(last * (k + 1) / n_lanes),
                          k ? 0 : state,
                          0,
                          0,
                          0};
    while (n_open > 0) {
        uint64_t n_left = UINT64_MAX;
        for (int k = 0; k < n_open; k++) n_left = least(n_left, lanes[k].end - lanes[k].at);
        for (; n_left > 0; n_left--)
            for (int k = 0; k < n_open; k++) lane_step(nodes, text, &lanes[k], places);
        for (int k = n_open - 1; k >= 0; k--)
            if (lanes[k].at == lanes[k].end) lanes[k] = lanes[--n_open];
    }
    for (int k = 1; k < n_lanes; k++) {
        int64_t begin = last * k / n_lanes;
        join(nodes, places[begin - 1].state, text, begin, last * (k + 1) / n_lanes, places);
    }
    follow_alone(nodes, places[last - 1].state, text, last, n_bytes, places);
}

/* A part must be long enough that its lane leaves the EARLY bytes before it sooner than the
 * previous lane reaches them: see follow_together. Short texts are followed by few lanes or
 * alone. */
void endings_follow(const endings *a, uint32_t state, const uint8_t *text, int64_t n_bytes,
                    endings_place *places)
{
    int64_t n_lanes = n_bytes / PART_LEAST < LANES ? n_bytes / PART_LEAST : LANES;
    if (n_lanes < LANES_FEW) follow_alone(a->nodes, state, text, 0, n_bytes, places);
    else follow_together(a, state, text, n_bytes, (int)n_lanes, places);
}
