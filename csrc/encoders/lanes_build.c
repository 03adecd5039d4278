/* lanes_build.c - converts the double array of trie.h to that of lanes.h
 *
 * 1. Check that the vocabulary follows the rules of lanes.h and leaves an id unused.
 * 2. From each unit in which a piece ends, climb to the root character by character. Every unit on
 *    the way is a node.
 * 3. Store the children of each node next to each other, and place them (double_array.h).
 * 4. Write the units from the root down, so that each knows the longest piece above it.
 *
 * Nodes are identified by their units in the trie. The trie never uses its first units, so 1 stands
 * for the root. */
#include "encoders/lanes.h"

#include "ground/alloc.h"
#include "ground/utf8.h"
#include "structures/double_array.h"

#define ROOT 1u
typedef struct node {
    uint32_t parent; /* 0: not a node */
    uint16_t symbol;
} node;

typedef struct builder {
    const trie *trie;
    uint32_t *owners; /* [n_units], by base: the node whose children are there; 0: none */
    node *nodes;      /* [n_units] */
    /* [n_units]: where the children of a node are placed; 0: it has none */
    uint32_t *bases;
    /* [n_units + 2]: the children of a node are children[offsets[node]..offsets[node + 1]), and
     * their symbols are at the same places. During counting, the count of a node is in
     * offsets[node + 2]; see put_children. */
    int64_t *offsets;
    uint32_t *children;
    uint16_t *symbols;
    int64_t n_nodes, n_slots;
} builder;

/* The unit above this one. The index of a unit XOR its label is the base that leads to it, and each
 * base has one owner. */
INLINE uint32_t unit_above(const builder *b, uint32_t at)
{
    return b->owners[at ^ (uint8_t)b->trie->units[at]];
}

INLINE int is_used(uint64_t unit) { return (unit & 0x100) != 0; }

/* ------------------------------------------------------------------------ 1. fit, 2. nodes ---- */

/* Records the owner of every base, so that the trie can be climbed. */
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

/* Whether the piece that ends in this unit breaks rule 1 of lanes.h: it ends inside a character
 * of two or three bytes, and does not begin with that character. */
static int ends_inside(const builder *b, uint32_t at)
{
    uint8_t byte = (uint8_t)b->trie->units[at];
    uint32_t above = unit_above(b, at);
    if (above <= ROOT) return 0; /* the piece has one byte */
    if (byte >= 0xC2 && byte < 0xF0) return 1;
    if (!is_continuation(byte) || !is_second_of_three((uint8_t)b->trie->units[above], byte))
        return 0;
    return unit_above(b, above) != ROOT;
}

/* Whether this unit makes its piece break rule 2 of lanes.h: the piece begins with continuation
 * bytes, and this unit adds a byte that is not one. Climbs past the preceding continuation bytes;
 * if they reach the root, the piece begins inside a character. */
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

/* Rule 2 is checked for every unit, even if no piece ends in it, because a piece always ends
 * further down. */
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

/* Finds an id that neither a piece nor a byte uses, to mark the characters that are not pieces;
 * returns -1 if there is none. is_id[0..65535] is scratch. */
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

/* Climbs by one character: returns the parent node, and the symbol that leads from it to this
 * unit; 0 if the unit is not reachable from the root. Up to three units are one step if their
 * bytes form a character; a byte outside any character is a symbol by itself, as in code_points.h.
 *
 *     units     ... ── E3 ── 81 ── AB          climb from AB: symbol U+306B, parent: the unit before E3
 */
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

/* Climbs from every unit in which a piece ends until it reaches a known node, so each node is
 * counted once, as a child of its parent. */
static void find_nodes(builder *b)
{
    const trie *t = b->trie;
    for (int64_t i = TRIE_BLOCK; i < t->n_units; i++) {
        if (!is_used(t->units[i]) || !unit_value(t->units[i])) continue;
        for (uint32_t at = (uint32_t)i; at > ROOT && !b->nodes[at].parent;) {
            uint32_t parent = climb(b, at, &b->nodes[at].symbol);
            b->nodes[at].parent = parent;
            if (!parent) break;
            b->offsets[parent + 2]++;
            b->n_nodes++;
            at = parent;
        }
    }
}

/* -------------------------------------------------------------------------- 3. the layout ---- */

INLINE int64_t n_children(const builder *b, uint32_t at)
{
    return b->offsets[at + 1] - b->offsets[at];
}

/* Turns counts into offsets. offsets[node + 1] starts at the first child of the node and ends one
 * past the last, where the children of the next node begin. */
static void put_children(builder *b)
{
    int64_t n_units = b->trie->n_units;
    for (int64_t i = 0; i <= n_units; i++) b->offsets[i + 1] += b->offsets[i];
    for (int64_t i = TRIE_BLOCK; i < n_units; i++) {
        if (!b->nodes[i].parent) continue;
        int64_t at = b->offsets[b->nodes[i].parent + 1]++;
        b->children[at] = (uint32_t)i;
        b->symbols[at] = b->nodes[i].symbol;
    }
}

/* Places all nodes except the root, whose children are at the start of the array. Returns the same
 * values as double_array_place. */
static int place(builder *b)
{
    int64_t max_slots = 2 * CHAR_SYMBOLS + 2 * b->n_nodes;
    if (max_slots + CHAR_SYMBOLS >= 1 << (64 - CHAR_BASE_SHIFT)) return -1;
    b->bases[ROOT] = 0;
    return double_array_place(b->symbols, b->offsets + TRIE_BLOCK, b->trie->n_units - TRIE_BLOCK,
                              CHAR_SYMBOLS, max_slots, b->bases + TRIE_BLOCK, &b->n_slots);
}

/* -------------------------------------------------------------------------------- 4. units ---- */

/* The unit of a node; `above` is its parent's unit. If a piece ends here, it is the longest so
 * far and `back` is 0. Otherwise the longest piece is the parent's, which ended one symbol further
 * back. */
static uint64_t unit_of(const builder *b, uint32_t at, uint64_t above)
{
    uint32_t value = unit_value(b->trie->units[at]);
    uint64_t longest = above & ((1ULL << CHAR_BASE_SHIFT) - (1 << CHAR_ID_SHIFT));
    if (value) longest = (uint64_t)(value - 1) << CHAR_ID_SHIFT;
    else longest += 1ULL << CHAR_BACK_SHIFT;
    return (uint64_t)b->bases[at] << CHAR_BASE_SHIFT | longest | b->nodes[at].symbol;
}

/* Writes the root's children: a unit for every symbol, whether or not it is a piece, so that a walk
 * can start with any symbol. A symbol of one byte has the id of that byte; a character that is not
 * a piece gets no_id. The symbol stored in these units is NO_SYMBOL, so that a walk from another
 * node never mistakes one of them for a child of that node. */
static void write_first(const builder *b, lanes *l)
{
    for (uint32_t symbol = 0; symbol < CHAR_SYMBOLS; symbol++) {
        uint64_t id = l->no_id;
        if (code_point_bytes(symbol) == 1) id = (uint16_t)(b->trie->singles[symbol & 0xFF] - 1);
        l->units[symbol] = id << CHAR_ID_SHIFT | CHAR_NO_SYMBOL;
    }
    for (int64_t k = b->offsets[ROOT]; k < b->offsets[ROOT + 1]; k++) {
        uint32_t at = b->children[k], value = unit_value(b->trie->units[at]);
        uint64_t *unit = &l->units[b->symbols[k]],
                 id = value ? (uint64_t)(value - 1) << CHAR_ID_SHIFT : *unit & 0xFFFF0000;
        *unit = (uint64_t)b->bases[at] << CHAR_BASE_SHIFT | id | CHAR_NO_SYMBOL;
    }
}

/* Writes all other units, from the root down. Uses b->owners as scratch. */
static void write_units(const builder *b, lanes *l)
{
    uint32_t *stack = b->owners;
    int64_t n_stack = 0;
    for (int64_t i = CHAR_SYMBOLS; i < l->n_units; i++) l->units[i] = CHAR_NO_SYMBOL;
    for (int64_t k = b->offsets[ROOT]; k < b->offsets[ROOT + 1]; k++)
        if (n_children(b, b->children[k])) stack[n_stack++] = b->children[k];
    while (n_stack > 0) {
        uint32_t at = stack[--n_stack], parent = b->nodes[at].parent;
        uint64_t above = l->units[b->bases[parent] + b->nodes[at].symbol];
        for (int64_t k = b->offsets[at]; k < b->offsets[at + 1]; k++) {
            l->units[b->bases[at] + b->symbols[k]] = unit_of(b, b->children[k], above);
            if (n_children(b, b->children[k])) stack[n_stack++] = b->children[k];
        }
    }
}

static lanes *write_all(const builder *b, int32_t cpu, uint16_t no_id)
{
    int64_t n_units = b->n_slots + CHAR_SYMBOLS; /* base + symbol is always an index */
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

/* Performs steps 3 and 4, after the nodes have been counted. Returns 0 if allocation fails. */
static int build(builder *b, int32_t cpu, uint16_t no_id, lanes **ret)
{
    put_children(b);
    int status = place(b);
    if (status <= 0) return status != 0;
    *ret = write_all(b, cpu, no_id);
    return *ret != NULL;
}

/* Some vocabularies do not fit, which is not an error: then *ret stays NULL. `children` is not
 * filled yet when find_spare_id uses it as scratch. */
int lanes_new(const trie *t, int32_t cpu, lanes **ret)
{
    builder b;
    size_t n_units = (size_t)t->n_units;
    memset(&b, 0, sizeof b);
    b.trie = t;
    b.owners = mem_zalloc(n_units, sizeof *b.owners);
    b.nodes = mem_zalloc(n_units, sizeof *b.nodes);
    b.bases = mem_alloc(n_units * sizeof *b.bases);
    b.offsets = mem_zalloc(n_units + 2, sizeof *b.offsets);
    b.children = mem_alloc((n_units + CHAR_SYMBOLS / 4) * sizeof *b.children);
    b.symbols = mem_alloc(n_units * sizeof *b.symbols);
    *ret = NULL;
    int ok = b.owners && b.nodes && b.bases && b.offsets && b.children && b.symbols;
    if (ok) {
        find_owners(&b);
        int32_t no_id = is_fit(&b) ? find_spare_id(&b, (uint8_t *)b.children) : -1;
        if (no_id >= 0) {
            find_nodes(&b);
            ok = build(&b, cpu, (uint16_t)no_id, ret);
        }
    }
    mem_free(b.symbols);
    mem_free(b.children);
    mem_free(b.offsets);
    mem_free(b.bases);
    mem_free(b.nodes);
    mem_free(b.owners);
    return ok;
}

void lanes_free(lanes *l) { mem_free(l); }
