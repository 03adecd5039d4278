/* trie.c - builds and checks the frozen double array of trie.h */

#include "structures/trie.h"

#include "ground/error.h"
#include "ground/grow.h"

/* The array is built breadth first, so that the nodes nearest the root are close together:
 *
 *   1. A node is a range of the sorted pieces that share their first `depth` bytes. The root's range
 *      is all pieces.
 *   2. Its labels are the bytes that follow at `depth`; each begins a child's range.
 *   3. Find a base that no other node has and whose slots base ^ label are all free, write the
 *      children's units, and queue the children that have children of their own.
 *
 * Only blocks with free slots are searched for bases. Most nodes have one child and fit any free
 * slot, so the array fills up (to 91 % on the RWKV vocabulary) even though at most OPEN_BLOCKS_MAX
 * blocks are tried for each node. */

#define OPEN_BLOCKS_MAX 24

typedef struct block {
    uint64_t used[4];  /* slots taken, one bit each */
    uint64_t based[4]; /* bases taken, one bit each */
    int32_t n_free;
} block;

typedef struct range {
    int64_t begin, end; /* pieces */
    int32_t depth;
    uint32_t unit; /* the unit of this node; 0 for the root */
} range;

typedef struct builder {
    const uint8_t *data;
    const int64_t *offsets;
    const int64_t *ids;
    uint64_t *units;
    block *blocks;
    int64_t n_blocks, blocks_capacity;
    int64_t open[OPEN_BLOCKS_MAX]; /* blocks with free slots, the fullest dropped first */
    int n_open;
    range *queue; /* a ring is not needed: a trie has at most as many inner nodes as bytes */
    int64_t queue_begin, queue_end, queue_capacity;
} builder;

INLINE int bit_get(const uint64_t *bits, uint32_t i) { return (int)(bits[i >> 6] >> (i & 63)) & 1; }

INLINE void bit_set(uint64_t *bits, uint32_t i) { bits[i >> 6] |= 1ULL << (i & 63); }

/* Adds a block to the open ones. If there are too many, it replaces the one with the fewest free
 * slots, which would fit the fewest nodes. */
static void open_block(builder *b, int64_t index)
{
    int at = b->n_open;
    if (at == OPEN_BLOCKS_MAX) {
        at = 0;
        for (int k = 1; k < OPEN_BLOCKS_MAX; k++)
            if (b->blocks[b->open[k]].n_free < b->blocks[b->open[at]].n_free) at = k;
    } else {
        b->n_open++;
    }
    b->open[at] = index;
}

/* Appends an empty block and returns its index, or -1 if an allocation fails. */
static int64_t add_block(builder *b)
{
    int64_t capacity = b->blocks_capacity;
    if (!grow(&b->blocks, b->n_blocks, &capacity, sizeof(block))) return -1;
    if (capacity != b->blocks_capacity &&
        !resize(&b->units, capacity, TRIE_BLOCK * sizeof *b->units))
        return -1;
    b->blocks_capacity = capacity;
    memset(&b->blocks[b->n_blocks], 0, sizeof(block));
    b->blocks[b->n_blocks].n_free = TRIE_BLOCK;
    memset(b->units + b->n_blocks * TRIE_BLOCK, 0, TRIE_BLOCK * sizeof(uint64_t));
    return b->n_blocks++;
}

/* Returns the offset in this block of a base that fits all labels, or -1. The first label must
 * go into some free slot, and each free slot gives one base: base = slot XOR label. So only free
 * slots are tried, not all bases. */
static int fit(const block *block, const uint8_t *labels, int n_labels)
{
    if (block->n_free < n_labels) return -1;
    for (int word = 0; word < 4; word++) {
        for (uint64_t rest = ~block->used[word]; rest; rest &= rest - 1) {
            uint32_t offset = (uint32_t)(word * 64 + lowest_bit(rest)) ^ labels[0];
            if (bit_get(block->based, offset)) continue;
            int k = 1;
            while (k < n_labels && !bit_get(block->used, offset ^ labels[k])) k++;
            if (k == n_labels) return (int)offset;
        }
    }
    return -1;
}

/* Finds and reserves a base for these labels. Returns 0 if an allocation fails. A base is a block
 * and an offset in it: XOR with a label changes only the offset, so all children are in the same
 * block. Block 0 is never open, so a base is never 0, which means "no children". */
static uint32_t place(builder *b, const uint8_t *labels, int n_labels)
{
    int64_t index = -1;
    int offset = -1, k;
    for (k = 0; k < b->n_open && offset < 0; k++) {
        index = b->open[k];
        offset = fit(&b->blocks[index], labels, n_labels);
    }
    if (offset < 0) {
        index = add_block(b);
        if (index < 0) return 0;
        open_block(b, index);
        offset = 0;
    }
    block *block = &b->blocks[index];
    bit_set(block->based, (uint32_t)offset);
    for (int i = 0; i < n_labels; i++) bit_set(block->used, (uint32_t)offset ^ labels[i]);
    block->n_free -= n_labels;
    for (k = 0; k < b->n_open; k++)
        if (b->open[k] == index && block->n_free == 0) b->open[k] = b->open[--b->n_open];
    return (uint32_t)(index * TRIE_BLOCK + offset);
}

/* The byte that follows the first `depth` bytes of a piece. */
INLINE uint8_t byte_at(const builder *b, int64_t piece, int32_t depth)
{
    return b->data[b->offsets[piece] + depth];
}

INLINE int ends_at(const builder *b, int64_t piece, int32_t depth)
{
    return b->offsets[piece + 1] - b->offsets[piece] == depth;
}

/* Writes the children of `node`. Returns 0 if an allocation fails.
 *
 *     node "ab"     │ abc │ abd abde │     pieces node.begin..node.end - 1; the labels are c and d
 *     children      │ c   │ d        │     "abd" ends at the child d; "abde" is left for its range
 *
 * The labels ascend, because the pieces are sorted. */
static int lay_out(builder *b, range node)
{
    uint8_t labels[256];
    int64_t begins[257];
    int n = 0;
    for (int64_t piece = node.begin; piece < node.end; piece++) {
        if (n && byte_at(b, piece, node.depth) == labels[n - 1]) continue;
        labels[n] = byte_at(b, piece, node.depth);
        begins[n++] = piece;
    }
    begins[n] = node.end;

    uint32_t base = place(b, labels, n);
    if (!base) return 0;
    if (node.unit) b->units[node.unit] |= (uint64_t)base << 32;
    for (int k = 0; k < n; k++) {
        uint32_t unit = base ^ labels[k];
        range child = {begins[k], begins[k + 1], node.depth + 1, unit};
        b->units[unit] = 0x100u | labels[k];
        /* the pieces are sorted, so one that ends here comes first */
        if (ends_at(b, child.begin, child.depth)) {
            b->units[unit] |= (uint64_t)((b->ids ? b->ids[child.begin] : child.begin) + 1) << 9;
            child.begin++;
        }
        if (child.begin == child.end) continue;
        if (!grow(&b->queue, b->queue_end, &b->queue_capacity, sizeof(range))) return 0;
        b->queue[b->queue_end++] = child;
    }
    return 1;
}

/* Nodes are laid out in queue order. Block 0 stays empty, because a walk reads units 0..255 if a
 * base is 0; the root's children come right after it, at TRIE_ROOT_BASE. */
static int32_t build(const uint8_t *data, const int64_t *offsets, const int64_t *ids,
                     int64_t n_pieces, int is_part, trie_parts *ret, unitok_error *error)
{
    builder b;
    memset(&b, 0, sizeof b);
    b.data = data;
    b.offsets = offsets;
    b.ids = ids;
    /* block 0 stays empty; the next block begins at TRIE_ROOT_BASE */
    int ok = add_block(&b) == 0;
    if (ok && n_pieces > 0) {
        range root = {0, n_pieces, 0, 0};
        ok = lay_out(&b, root);
        /* the root's block gets no other nodes, because trie_join merges the root blocks */
        if (is_part) b.n_open = 0;
        while (ok && b.queue_begin < b.queue_end) ok = lay_out(&b, b.queue[b.queue_begin++]);
    } else if (ok) {
        ok = add_block(&b) == 1;
    }
    mem_free(b.queue);
    mem_free(b.blocks);
    if (!ok) {
        mem_free(b.units);
        return fail_memory(error);
    }
    ret->units = b.units;
    ret->n_units = b.n_blocks * TRIE_BLOCK;
    return UNITOK_OK;
}

int32_t trie_build(const uint8_t *data, const int64_t *offsets, const int64_t *ids,
                   int64_t n_pieces, trie_parts *ret, unitok_error *error)
{
    return build(data, offsets, ids, n_pieces, 0, ret, error);
}

/* In a part, the root's block contains only the root's children, because all other nodes go to
 * later blocks. Parts have no first byte in common, so their root blocks can be merged. */
int32_t trie_build_part(const uint8_t *data, const int64_t *offsets, const int64_t *ids,
                        int64_t n_pieces, trie_parts *ret, unitok_error *error)
{
    return build(data, offsets, ids, n_pieces, 1, ret, error);
}

/* Copies units begin..end-1 of a part, adding `shift` to their bases, because all blocks except the
 * root's move by `shift`. Labels and values stay the same: moving a block by a multiple of 256 does
 * not change an XOR within the block. */
static void move_units(const trie_parts *part, int64_t begin, int64_t end, int64_t shift,
                       uint64_t *units)
{
    for (int64_t i = begin; i < end; i++) {
        uint64_t unit = part->units[i];
        if (unit) units[i] = unit + (unit_base(unit) ? (uint64_t)shift << 32 : 0);
    }
}

/* The parts follow one another after a shared root block:
 *
 *     part 0     | empty | root 0 | A | B |
 *     part 1     | empty | root 1 | C |
 *     joined     | empty | root 0 and 1 | A | B | C |
 */
int32_t trie_join(const trie_parts *parts, int64_t n_parts, trie_parts *ret, unitok_error *error)
{
    /* where the blocks of a part's other nodes begin */
    const int64_t rest = TRIE_ROOT_BASE + TRIE_BLOCK;
    int64_t n_units = rest;
    for (int64_t i = 0; i < n_parts; i++) n_units += parts[i].n_units - rest;
    if (n_units > UINT32_MAX)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "there are too many pieces");
    uint64_t *units = mem_zalloc((size_t)n_units, sizeof *units);
    if (!units) return fail_memory(error);
    int64_t at = rest;
    for (int64_t i = 0; i < n_parts; at += parts[i++].n_units - rest) {
        move_units(&parts[i], TRIE_ROOT_BASE, rest, at - rest, units);
        move_units(&parts[i], rest, parts[i].n_units, at - rest, units + at - rest);
    }
    ret->units = units;
    ret->n_units = n_units;
    return UNITOK_OK;
}

/* Precomputes the first two steps of every walk. A missing first byte has the base 0, whose units
 * are unused, so the second step needs no test for it. */
void trie_build_heads(const uint64_t *units, uint32_t fallback_value, uint64_t *heads,
                      uint32_t *singles)
{
    uint32_t bases[256];
    for (int first = 0; first < 256; first++) {
        uint64_t one = units[TRIE_ROOT_BASE ^ first];
        int known = unit_has_label(one, (uint8_t)first);
        uint32_t value = known ? unit_value(one) : 0;
        singles[first] = value ? value : fallback_value;
        bases[first] = known ? unit_base(one) : 0;
    }
    for (int second = 0; second < 256; second++) {
        for (int first = 0; first < 256; first++) {
            uint64_t head = (uint64_t)1 << 56 | (uint64_t)singles[first] << 32;
            uint64_t two = units[bases[first] ^ (uint32_t)second];
            if (unit_has_label(two, (uint8_t)second)) {
                if (unit_value(two)) head = (uint64_t)2 << 56 | (uint64_t)unit_value(two) << 32;
                head |= unit_base(two);
            }
            heads[first | second << 8] = head;
        }
    }
}

const char *trie_check_units(const trie *t, uint32_t max_value, const void **ret_at)
{
    /* A base leads to units in its own block only, so base < n_units is enough. */
    for (int64_t i = 0; i < t->n_units; i++) {
        *ret_at = &t->units[i];
        if (unit_base(t->units[i]) >= t->n_units)
            return "a unit of the double array points outside it";
        if (unit_value(t->units[i]) > max_value)
            return "a unit of the double array holds an id that is out of range";
    }
    return NULL;
}

/* The index of a unit XOR its label is a base, whose owner is the parent of the unit. So if no base
 * has two owners, no unit has two parents. Climbing from any unit must then reach one without a
 * parent within max_depth steps. depths[] marks the units that have been checked already. */
const char *trie_check_shape(const trie *t, int64_t max_depth, uint32_t *owners, uint32_t *depths,
                             const void **ret_at)
{
    for (int64_t i = 0; i < t->n_units; i++) {
        uint32_t base = unit_base(t->units[i]);
        *ret_at = &t->units[i];
        if (!(t->units[i] & 0x100)) continue;
        if (i < TRIE_BLOCK) return "a unit of the double array that must be free is in use";
        if (base == 0) continue;
        if (base == TRIE_ROOT_BASE || owners[base])
            return "two units of the double array have the same children";
        owners[base] = (uint32_t)i;
    }
    for (int64_t i = 0; i < t->n_units; i++) {
        int64_t at = i, n_steps = 0;
        *ret_at = &t->units[i];
        while (at && (t->units[at] & 0x100) && !depths[at]) {
            if (n_steps++ == max_depth)
                return "the double array has a path longer than the longest piece, or a cycle";
            /* without a parent: 0, a unit that is never used */
            at = owners[at ^ (int64_t)(t->units[at] & 0xFF)];
        }
        int64_t depth = depths[at] + n_steps;
        if (depth > max_depth) return "the double array has a path longer than the longest piece";
        for (at = i; n_steps > 0; n_steps--, depth--) {
            depths[at] = (uint32_t)depth;
            at = owners[at ^ (int64_t)(t->units[at] & 0xFF)];
        }
    }
    return NULL;
}
