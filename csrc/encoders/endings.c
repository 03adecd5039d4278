/* endings.c - the functions of endings.h */

#include "encoders/endings.h"

#include "ground/alloc.h"
#include "ground/pick.h"

#define OUTS_MAX (1 << 24)
#define LIST_MAX 255
#define LABEL_BITS 9
#define LABEL_MASK 0x1FF
#define UNITS_MAX (1 << 23)
#define LANES_PIECES (4 * ENDINGS_LANES) /* a text for the lanes is so many times as long as the longest piece */
#define LANES_LEAST_BYTES 1024

INLINE uint32_t node_base(const endings_node *node)
{
    return node->unit >> LABEL_BITS;
}

/* The state after c. */
INLINE uint32_t next_state(const endings_node *nodes, uint32_t state, uint32_t c)
{
    for (;;) {
        const endings_node *node = &nodes[state];
        uint32_t base = node_base(node), child = base ^ c;
        if (node->bytes >> (c & 31) & 1 && (nodes[child].unit & LABEL_MASK) == (0x100 | c)) return child;
        if (base == TRIE_ROOT_BASE) return 0;
        state = node->fail;
    }
}

/* ------------------------------------------------------------------------------------------------- building ---- */

typedef struct builder {
    const trie *trie;
    const endings_pieces *pieces;
    endings *endings;
    int64_t outs_room;
} builder;

INLINE uint32_t trie_child(const trie *t, uint32_t parent, uint8_t c)
{
    return (parent ? unit_base(t->units[parent]) : TRIE_ROOT_BASE) ^ c;
}

/* Which children a node has must be known before a leaf takes it over. */
static void put_bytes(builder *b)
{
    const endings_pieces *pieces = b->pieces;
    for (int64_t i = 0; i < pieces->n_pieces; i++) {
        uint32_t at = 0;
        for (int64_t k = pieces->offsets[i]; k < pieces->offsets[i + 1]; k++) {
            b->endings->nodes[at].bytes |= 1u << (pieces->bytes[k] & 31);
            at = trie_child(b->trie, at, pieces->bytes[k]);
        }
    }
}

/* Gives nodes[at] its own list: the piece that ends there, then the list of `suffix`. 1; 0 when memory is short; -1 if
 * it is too long. */
static int put_outs(builder *b, uint32_t at, uint32_t value, uint32_t suffix)
{
    endings *a = b->endings;
    uint32_t n_bytes = (uint32_t)(b->pieces->offsets[value] - b->pieces->offsets[value - 1]);
    int64_t n = (a->nodes[suffix].outs & LIST_MAX) + 1;
    if (n > LIST_MAX || a->n_outs + n > OUTS_MAX) return -1;
    if (a->n_outs + n > b->outs_room) {
        int64_t room = (a->n_outs + n) * 3 / 2;
        endings_out *outs = mem_realloc(a->outs, (size_t)room * sizeof *outs);
        if (!outs) return 0;
        a->outs = outs;
        b->outs_room = room;
    }
    endings_out *outs = a->outs + a->n_outs;
    outs[0] = (endings_out){b->pieces->scores[value], value << ENDINGS_BYTES_BITS | n_bytes};
    memcpy(outs + 1, a->outs + (a->nodes[suffix].outs >> 8), (size_t)(n - 1) * sizeof *outs);
    a->nodes[at].outs = (uint32_t)(a->n_outs << 8 | n);
    a->n_outs += n;
    return 1;
}

/* Fills the node of the byte c after `parent`, whose own suffix is known; returns as put_outs. */
static int put_node(builder *b, uint32_t parent, uint32_t at, uint8_t c)
{
    endings_node *nodes = b->endings->nodes, *node = &nodes[at];
    uint64_t unit = b->trie->units[at];
    uint32_t suffix = parent ? next_state(nodes, nodes[parent].fail, c) : 0, base = unit_base(unit);
    uint32_t bytes = base ? node->bytes : nodes[suffix].bytes, fail = base ? suffix : nodes[suffix].fail;
    if (!base) base = node_base(&nodes[suffix]);
    *node = (endings_node){base << LABEL_BITS | 0x100 | c, fail, nodes[suffix].outs, bytes};
    return unit_value(unit) ? put_outs(b, at, unit_value(unit), suffix) : 1;
}

/* Level by level, since a suffix is less deep. at[i] is the node that piece i has come to. Returns as put_outs. */
static int put_nodes(builder *b, uint32_t *at, uint32_t *open)
{
    const endings_pieces *pieces = b->pieces;
    int64_t n_open = pieces->n_pieces;
    int status = 1;
    for (int64_t i = 0; i < n_open; i++) open[i] = (uint32_t)i;
    for (int64_t depth = 0; n_open > 0; depth++) {
        int64_t n = 0;
        for (int64_t k = 0; k < n_open && status > 0; k++) {
            uint32_t i = open[k];
            uint8_t c = pieces->bytes[pieces->offsets[i] + depth];
            uint32_t child = trie_child(b->trie, at[i], c);
            if (!b->endings->nodes[child].unit) status = put_node(b, at[i], child, c);
            at[i] = child;
            if (pieces->offsets[i] + depth + 1 < pieces->offsets[i + 1]) open[n++] = i;
        }
        if (status <= 0) break;
        n_open = n;
    }
    return status;
}

int endings_new(const trie *t, const endings_pieces *pieces, endings **ret)
{
    size_t n_pieces = (size_t)pieces->n_pieces;
    int64_t max_piece_bytes = 0;
    *ret = NULL;
    for (size_t i = 0; i < n_pieces; i++) {
        int64_t n_bytes = pieces->offsets[i + 1] - pieces->offsets[i];
        if (n_bytes > max_piece_bytes) max_piece_bytes = n_bytes;
    }
    if (max_piece_bytes > ENDINGS_PIECE_BYTES || t->n_units > UNITS_MAX) return 1;
    endings *a = mem_zalloc(1, sizeof *a);
    uint32_t *at = mem_zalloc(n_pieces + 1, sizeof *at), *open = mem_alloc((n_pieces + 1) * sizeof *open);
    builder b = {t, pieces, a, 1};
    int status = 0;
    if (a) a->nodes = mem_zalloc((size_t)t->n_units, sizeof *a->nodes);
    if (a) a->outs = mem_alloc(sizeof *a->outs);
    if (a && a->nodes && a->outs && at && open) {
        a->n_nodes = t->n_units;
        a->max_piece_bytes = max_piece_bytes;
        put_bytes(&b);
        a->nodes[0].unit = TRIE_ROOT_BASE << LABEL_BITS;
        a->nodes[0].bytes = UINT32_MAX;
        status = put_nodes(&b, at, open);
    }
    mem_free(at);
    mem_free(open);
    if (status > 0) *ret = a;
    else endings_free(a);
    return status != 0;
}

void endings_free(endings *a)
{
    if (!a) return;
    mem_free(a->nodes);
    mem_free(a->outs);
    mem_free(a);
}

int64_t endings_memory_bytes(const endings *a)
{
    if (!a) return 0;
    return (int64_t)sizeof *a + a->n_nodes * (int64_t)sizeof *a->nodes + a->n_outs * (int64_t)sizeof *a->outs;
}

/* ------------------------------------------------------------------------------------------------ following ---- */

typedef struct lane {
    uint64_t at;
    uint32_t state, base, fail, bytes;
} lane;

INLINE lane lane_begin(const endings_node *nodes, uint32_t state, int64_t at)
{
    const endings_node *node = &nodes[state];
    return (lane){(uint64_t)at, state, node_base(node), node->fail, node->bytes};
}

/* Follows a byte, or only gives up what does not fit it. The root's fail is the root. */
INLINE void lane_step(const endings_node *nodes, const uint8_t *text, lane *x, endings_place *places)
{
    uint32_t c = text[x->at], is_ruled_out = ~x->bytes >> (c & 31) & 1;
    uint32_t child = (uint32_t)pick(is_ruled_out, x->base ^ c, x->state); /* the state's node is in the cache */
    uint32_t differs = is_ruled_out | ((nodes[child].unit & LABEL_MASK) ^ (c | 0x100));
    x->state = (uint32_t)pick(differs, child, x->fail);
    const endings_node *node = &nodes[x->state];
    places[x->at] = (endings_place){x->state, node->outs};
    x->at += (differs == 0) | (x->base == TRIE_ROOT_BASE);
    x->base = node_base(node);
    x->fail = node->fail;
    x->bytes = node->bytes;
    PREFETCH(&nodes[x->base ^ text[x->at]]);
}

INLINE void follow_alone(const endings_node *nodes, uint32_t state, const uint8_t *text, int64_t begin, int64_t end,
                         endings_place *places)
{
    for (int64_t i = begin; i < end; i++) {
        state = next_state(nodes, state, text[i]);
        places[i] = (endings_place){state, nodes[state].outs};
    }
}

INLINE uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* A lane first follows the last bytes of the part before, and writes places there that may be wrong: in at most twice
 * as many steps as the longest piece has bytes, since a step that gives up shortens the state. The lane before comes
 * there after three times as many, and writes the right ones. */
static NOINLINE void follow_together(const endings *a, uint32_t state, const uint8_t *text, int64_t n_bytes,
                                     endings_place *places)
{
    const endings_node *nodes = a->nodes;
    lane lanes[ENDINGS_LANES];
    uint64_t ends[ENDINGS_LANES], n_left;
    for (int k = 0; k < ENDINGS_LANES; k++) {
        int64_t begin = n_bytes * k / ENDINGS_LANES;
        ends[k] = (uint64_t)(n_bytes * (k + 1) / ENDINGS_LANES);
        lanes[k] = k ? lane_begin(nodes, 0, begin - a->max_piece_bytes) : lane_begin(nodes, state, 0);
    }
    do {
        n_left = UINT64_MAX;
        for (int k = 0; k < ENDINGS_LANES; k++) n_left = least(n_left, ends[k] - lanes[k].at);
        for (uint64_t i = 1; i < n_left; i++)
            for (int k = 0; k < ENDINGS_LANES; k++) lane_step(nodes, text, &lanes[k], places);
    } while (n_left > 1);
    for (int k = 0; k < ENDINGS_LANES; k++)
        follow_alone(nodes, lanes[k].state, text, (int64_t)lanes[k].at, (int64_t)ends[k], places);
}

void endings_follow(const endings *a, uint32_t state, const uint8_t *text, int64_t n_bytes, endings_place *places)
{
    if (n_bytes < LANES_LEAST_BYTES || n_bytes < LANES_PIECES * a->max_piece_bytes)
        follow_alone(a->nodes, state, text, 0, n_bytes, places);
    else follow_together(a, state, text, n_bytes, places);
}
