/* lanes_build.c - converts the double array of trie.h to that of lanes.h
 *
 * 1. Check that the vocabulary follows the rules and that an id is unused.
 * 2. From each unit in which a piece ends, climb to the root by characters. Every unit on the way
 *    is a node.
 * 3. Store the children of each node next to each other.
 * 4. Place the nodes with most children first, each at a base where its children fit; nodes with
 *    one child fill the holes.
 * 5. Write the units from the root down, so that each knows the longest piece above it.
 *
 * Nodes are identified by their units in the trie. The trie never uses its first units, so 1 stands
 * for the root. */
#include "encoders/lanes.h"

#include "ground/alloc.h"
#include "ground/utf8.h"

#define ROOT 1u
#define SLOTS_PER_WORD 64
#define TRIES_PER_NODE 256    /* on average; real vocabularies need about 2 */
#define TRIES_BEFORE_MOVING 8 /* leaves holes for nodes with one child */

typedef struct node {
    uint32_t parent; /* 0: not a node */
    uint32_t base;   /* of its children; 0: none */
    uint32_t first;  /* children[first .. first + n_children - 1] */
    uint16_t symbol;
    uint16_t n_children;
} node;

typedef struct builder {
    const trie *trie;
    uint32_t *owners; /* [n_units], by base: the node whose children are there; 0: none */
    node *nodes;      /* [n_units] */
    uint32_t *children, *order;
    uint64_t *used, *taken; /* bit sets of slots: has a unit; is a base */
    int64_t n_nodes, n_parents, n_slots, last;
} builder;

INLINE uint32_t unit_above(const builder *b, uint32_t at)
{
    return b->owners[at ^ (uint8_t)b->trie->units[at]];
}

INLINE int is_used(uint64_t unit) { return (unit & 0x100) != 0; }

INLINE int has_bit(const uint64_t *bits, int64_t k)
{
    return (int)(bits[k / SLOTS_PER_WORD] >> (k % SLOTS_PER_WORD)) & 1;
}

INLINE void set_bit(uint64_t *bits, int64_t k)
{
    bits[k / SLOTS_PER_WORD] |= 1ULL << (k % SLOTS_PER_WORD);
}

/* ------------------------------------------------------------------------ 1. fit, 2. nodes ---- */

static void find_owners(builder *b)
{
    const trie *t = b->trie;
    for (int64_t i = TRIE_BLOCK; i < t->n_units; i++)
        if (is_used(t->units[i]) && unit_base(t->units[i]))
            b->owners[unit_base(t->units[i])] = (uint32_t)i;
    b->owners[TRIE_ROOT_BASE] = ROOT;
}

/* Whether `second` can follow this lead byte of a character of three bytes. */
INLINE int is_second_of_three(uint8_t lead, uint8_t second)
{
    const uint8_t bytes[3] = {lead, second, 0x80};
    return lead >= 0xE0 && lead < 0xF0 && utf8_length(bytes, 3) == 3;
}

/* Whether the piece that ends in this unit ends inside a character of two or three bytes that is
 * not its first. */
static int ends_inside(const builder *b, uint32_t at)
{
    uint8_t byte = (uint8_t)b->trie->units[at];
    uint32_t above = unit_above(b, at);
    if (above <= ROOT) return 0; /* of one byte */
    if (byte >= 0xC2 && byte < 0xF0) return 1;
    if (!is_continuation(byte) || !is_second_of_three((uint8_t)b->trie->units[above], byte))
        return 0;
    return unit_above(b, above) != ROOT;
}

/* Whether the piece begins inside a character and extends beyond it with this unit. */
static int leaves_inside(const builder *b, uint32_t at)
{
    const uint64_t *units = b->trie->units;
    if (is_continuation((uint8_t)units[at])) return 0;
    uint32_t above = unit_above(b, at);
    if (above <= ROOT) return 0;
    while (above > ROOT && is_continuation((uint8_t)units[above])) above = unit_above(b, above);
    return above == ROOT;
}

/* Whether the piece that ends in this unit is too long for the `back` field. */
static int is_too_long(const builder *b, uint32_t at)
{
    int n_bytes = 0;
    for (; at > ROOT && n_bytes <= LANES_PIECE_BYTES; at = unit_above(b, at)) n_bytes++;
    return n_bytes > LANES_PIECE_BYTES;
}

static int is_fit(const builder *b)
{
    const trie *t = b->trie;
    for (int64_t i = TRIE_BLOCK; i < t->n_units; i++) {
        if (!is_used(t->units[i])) continue;
        if (leaves_inside(b, (uint32_t)i)) return 0;
        if (unit_value(t->units[i]) && (ends_inside(b, (uint32_t)i) || is_too_long(b, (uint32_t)i)))
            return 0;
    }
    return 1;
}

/* Finds an id that no piece uses, or returns -1. Uses b->children as work space. */
static int32_t find_spare_id(const builder *b, uint8_t *is_id)
{
    memset(is_id, 0, 65536);
    for (int64_t i = TRIE_BLOCK; i < b->trie->n_units; i++) {
        uint64_t unit = b->trie->units[i];
        if (is_used(unit) && unit_value(unit)) is_id[(uint16_t)(unit_value(unit) - 1)] = 1;
    }
    for (int byte = 0; byte < 256; byte++) is_id[(uint16_t)(b->trie->singles[byte] - 1)] = 1;
    const uint8_t *spare = memchr(is_id, 0, 65536);
    return spare ? (int32_t)(spare - is_id) : -1;
}

/* The parent node, with the last symbol on the way from it; 0 if the unit is not reachable from the
 * root. */
static uint32_t climb(const builder *b, uint32_t at, uint16_t *ret_symbol)
{
    const uint64_t *units = b->trie->units;
    uint32_t second = unit_above(b, at), first = second > ROOT ? unit_above(b, second) : 0;
    uint8_t bytes[3] = {(uint8_t)units[first], (uint8_t)units[second], (uint8_t)units[at]};
    *ret_symbol = bytes[2] < 0x80 ? bytes[2] : CODE_POINT_OF_BYTE | bytes[2];
    if (!is_continuation(bytes[2]) || second <= ROOT) return second;
    if (utf8_length(bytes + 1, 2) == 2) {
        *ret_symbol = (uint16_t)utf8_code_point(bytes + 1, 2);
        return first;
    }
    if (first <= ROOT || utf8_length(bytes, 3) != 3) return second;
    *ret_symbol = (uint16_t)utf8_code_point(bytes, 3);
    return unit_above(b, first);
}

static void find_nodes(builder *b)
{
    const trie *t = b->trie;
    for (int64_t i = TRIE_BLOCK; i < t->n_units; i++) {
        if (!is_used(t->units[i]) || !unit_value(t->units[i])) continue;
        for (uint32_t at = (uint32_t)i; at > ROOT && !b->nodes[at].parent;) {
            uint32_t parent = climb(b, at, &b->nodes[at].symbol);
            b->nodes[at].parent = parent;
            if (!parent) break;
            b->nodes[parent].n_children++;
            b->n_nodes++;
            at = parent;
        }
    }
}

/* ------------------------------------------------------------------ 3. children, 4. layout ---- */

#define COUNTS 256

static void put_children(builder *b)
{
    uint32_t first = 0;
    for (int64_t i = ROOT; i < b->trie->n_units; i++) {
        node *n = &b->nodes[i];
        n->first = first;
        first += n->n_children;
        n->n_children = 0; /* counted again below */
    }
    for (int64_t i = TRIE_BLOCK; i < b->trie->n_units; i++) {
        if (!b->nodes[i].parent) continue;
        node *parent = &b->nodes[b->nodes[i].parent];
        b->children[parent->first + parent->n_children++] = (uint32_t)i;
    }
}

INLINE int count_class(const node *n) { return n->n_children < COUNTS ? n->n_children : COUNTS; }

/* Fills `order` with the nodes that have children, except the root, most children first. */
static void put_parents(builder *b)
{
    int64_t starts[COUNTS + 1] = {0};
    for (int64_t i = TRIE_BLOCK; i < b->trie->n_units; i++) starts[count_class(&b->nodes[i])]++;
    for (int k = COUNTS; k > 0; k--) {
        int64_t n = starts[k];
        starts[k] = b->n_parents;
        b->n_parents += n;
    }
    for (int64_t i = TRIE_BLOCK; i < b->trie->n_units; i++)
        if (b->nodes[i].n_children) b->order[starts[count_class(&b->nodes[i])]++] = (uint32_t)i;
}

/* The first slot from `at` on without a unit, or n_slots. */
static int64_t free_slot(const builder *b, int64_t at)
{
    for (int64_t w = at / SLOTS_PER_WORD; w * SLOTS_PER_WORD < b->n_slots; w++) {
        uint64_t bits = ~b->used[w];
        if (w == at / SLOTS_PER_WORD) bits &= ~0ULL << (at % SLOTS_PER_WORD);
        if (bits) return w * SLOTS_PER_WORD + lowest_bit(bits);
    }
    return b->n_slots;
}

static int fits(const builder *b, const node *n, int64_t base)
{
    if (has_bit(b->taken, base)) return 0;
    for (int k = 0; k < n->n_children; k++)
        if (has_bit(b->used, base + b->nodes[b->children[n->first + k]].symbol)) return 0;
    return 1;
}

/* Finds a base for each node; 0 if that takes too long or too much memory. */
static int lay_out(builder *b)
{
    int64_t n_left = TRIES_PER_NODE * b->n_nodes, from = CHAR_SYMBOLS;
    for (int64_t k = 0; k < b->n_parents; k++) {
        node *n = &b->nodes[b->order[k]];
        int64_t lowest = CHAR_SYMBOLS, n_tries = 0, slot, is_alone = n->n_children == 1;
        for (int c = 0; c < n->n_children; c++) {
            int64_t symbol = b->nodes[b->children[n->first + c]].symbol;
            if (symbol < lowest) lowest = symbol;
        }
        if (is_alone && b->nodes[b->order[k - (k > 0)]].n_children != 1) from = CHAR_SYMBOLS;
        for (slot = free_slot(b, from); slot + CHAR_SYMBOLS < b->n_slots;
             slot = free_slot(b, slot + 1)) {
            n_tries++;
            if (fits(b, n, slot - lowest)) break;
        }
        n_left -= n_tries;
        if (n_left < 0 || slot + CHAR_SYMBOLS >= b->n_slots) return 0;
        if (n_tries > TRIES_BEFORE_MOVING) from = slot;
        n->base = (uint32_t)(slot - lowest);
        set_bit(b->taken, n->base);
        for (int c = 0; c < n->n_children; c++) {
            int64_t to = n->base + b->nodes[b->children[n->first + c]].symbol;
            set_bit(b->used, to);
            if (to > b->last) b->last = to;
        }
    }
    return 1;
}

/* -------------------------------------------------------------------------------- 5. units ---- */

/* The unit of a node; `above` is its parent's unit. */
static uint64_t unit_of(const builder *b, uint32_t at, uint64_t above)
{
    const node *n = &b->nodes[at];
    uint32_t value = unit_value(b->trie->units[at]);
    uint64_t longest = above & ((1ULL << CHAR_BASE_SHIFT) - (1 << CHAR_ID_SHIFT));
    if (value) longest = (uint64_t)(value - 1) << CHAR_ID_SHIFT;
    else longest += 1ULL << CHAR_BACK_SHIFT;
    return (uint64_t)n->base << CHAR_BASE_SHIFT | longest | n->symbol;
}

/* Writes the root's children, including symbols that are not nodes. */
static void write_first(const builder *b, lanes *l)
{
    for (uint32_t symbol = 0; symbol < CHAR_SYMBOLS; symbol++) {
        uint64_t id = l->no_id;
        if (code_point_bytes(symbol) == 1) id = (uint16_t)(b->trie->singles[symbol & 0xFF] - 1);
        l->units[symbol] = id << CHAR_ID_SHIFT | CHAR_NO_SYMBOL;
    }
    const node *root = &b->nodes[ROOT];
    for (int c = 0; c < root->n_children; c++) {
        uint32_t at = b->children[root->first + c];
        const node *n = &b->nodes[at];
        uint64_t id = unit_value(b->trie->units[at])
                          ? (uint64_t)(unit_value(b->trie->units[at]) - 1) << CHAR_ID_SHIFT
                          : l->units[n->symbol] & 0xFFFF0000;
        l->units[n->symbol] = (uint64_t)n->base << CHAR_BASE_SHIFT | id | CHAR_NO_SYMBOL;
    }
}

/* Writes all other units, from the root down. Uses b->order as work space. */
static void write_units(const builder *b, lanes *l)
{
    uint32_t *stack = b->order;
    int64_t n_stack = 0;
    for (int64_t i = CHAR_SYMBOLS; i < l->n_units; i++) l->units[i] = CHAR_NO_SYMBOL;
    for (int c = 0; c < b->nodes[ROOT].n_children; c++) {
        uint32_t at = b->children[b->nodes[ROOT].first + c];
        if (b->nodes[at].n_children) stack[n_stack++] = at;
    }
    while (n_stack > 0) {
        uint32_t at = stack[--n_stack];
        const node *n = &b->nodes[at];
        uint32_t unit = n->parent == ROOT ? n->symbol : b->nodes[n->parent].base + n->symbol;
        for (int c = 0; c < n->n_children; c++) {
            uint32_t child = b->children[n->first + c];
            l->units[n->base + b->nodes[child].symbol] = unit_of(b, child, l->units[unit]);
            if (b->nodes[child].n_children) stack[n_stack++] = child;
        }
    }
}

static lanes *write_all(const builder *b, int32_t cpu, uint16_t no_id)
{
    int64_t n_units = b->last + 1 + CHAR_SYMBOLS;
    lanes *l = mem_alloc(sizeof *l + (size_t)n_units * sizeof *l->units);
    if (!l) return NULL;
    l->trie = b->trie;
    l->read = code_points_for(cpu);
    l->units = (uint64_t *)(l + 1);
    l->n_units = n_units;
    l->memory_bytes = (int64_t)sizeof *l + n_units * (int64_t)sizeof *l->units;
    l->no_id = no_id;
    write_first(b, l);
    write_units(b, l);
    return l;
}

/* Steps 3 to 5, after the nodes have been counted. */
static int build(builder *b, int32_t cpu, uint16_t no_id, lanes **ret)
{
    b->n_slots = 2 * CHAR_SYMBOLS + 2 * b->n_nodes;
    b->last = CHAR_SYMBOLS;
    size_t n_words = (size_t)(b->n_slots + CHAR_SYMBOLS) / SLOTS_PER_WORD + 1;
    b->used = mem_zalloc(n_words, sizeof *b->used);
    b->taken = mem_zalloc(n_words, sizeof *b->taken);
    if (!b->used || !b->taken) return 0;
    memset(b->used, 0xFF, CHAR_SYMBOLS / 8);
    b->taken[0] = 1; /* base 0 belongs to the root */
    put_children(b);
    put_parents(b);
    if (b->n_slots + CHAR_SYMBOLS >= 1 << (64 - CHAR_BASE_SHIFT) || !lay_out(b)) return 1;
    *ret = write_all(b, cpu, no_id);
    return *ret != NULL;
}

int lanes_new(const trie *t, int32_t cpu, lanes **ret)
{
    builder b;
    memset(&b, 0, sizeof b);
    b.trie = t;
    b.owners = mem_zalloc((size_t)t->n_units, sizeof *b.owners);
    b.nodes = mem_zalloc((size_t)t->n_units, sizeof *b.nodes);
    b.children = mem_alloc(((size_t)t->n_units + CHAR_SYMBOLS / 4) * sizeof *b.children);
    b.order = mem_alloc((size_t)t->n_units * sizeof *b.order);
    *ret = NULL;
    int ok = b.owners && b.nodes && b.children && b.order;
    if (ok) {
        find_owners(&b);
        int32_t no_id = is_fit(&b) ? find_spare_id(&b, (uint8_t *)b.children) : -1;
        if (no_id >= 0) {
            find_nodes(&b);
            ok = build(&b, cpu, (uint16_t)no_id, ret);
        }
    }
    mem_free(b.taken);
    mem_free(b.used);
    mem_free(b.order);
    mem_free(b.children);
    mem_free(b.nodes);
    mem_free(b.owners);
    return ok;
}

void lanes_free(lanes *l) { mem_free(l); }
