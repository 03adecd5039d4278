/* double_array.h - places the nodes of a tree in one array, so that one addition finds a child
 *
 * Every node has a base, and its child with label c is in slot base + c, which is marked with c.
 * The slots of different nodes are interleaved:
 *
 *     node A   labels 1 3 4    base 2        slot     0  1  2  3  4  5  6  7  8  9 10
 *     node B   labels 2 5      base 5        label    .  .  .  1  .  3  4  2  .  .  5
 *                                            of node           A     A  A  B        B
 *
 * No two nodes have the same base. So a slot with the label c belongs to the node whose base is the
 * slot minus c, and comparing the label shows whether the slot belongs to the node: A has no child
 * 5, because slot 7 is marked 2.
 *
 * Finding good bases is a packing problem. Nodes with many children are placed first, while the
 * array is empty, and nodes with one child fill the holes that they leave.
 *
 * trie.h uses XOR instead of addition, which keeps all children of a node in one block of 256
 * slots. Here a label has 16 bits, so such a block would have 65,536 slots. */
#pragma once

#include "ground/common.h"

/* Finds a base for each of n_nodes nodes: node k has the labels labels[offsets[k]..offsets[k + 1]),
 * all distinct, in any order. bases[k] becomes 0 for a node without labels; all other bases are
 * distinct and above 0. Slots below n_reserved are left free. *ret_n_slots is 1 + the last slot in
 * use, at least n_reserved.
 *
 * Returns 1, or 0 if allocation fails, or -1 if max_slots slots are not enough, which happens only
 * for trees that were chosen to waste space. O(n_nodes + labels * 1024) in the worst case. */
int double_array_place(const uint16_t *labels, const int64_t *offsets, int64_t n_nodes,
                       int64_t n_reserved, int64_t max_slots, uint32_t *bases,
                       int64_t *ret_n_slots);
