/* suffix_links.c - visiting the nodes of a trie by ascending depth, with their suffixes */

#include "structures/suffix_links.h"

#include "ground/alloc.h"

typedef struct node {
    uint32_t unit, parent;
} node;

INLINE uint32_t children_base(const trie *t, uint32_t unit)
{
    return unit ? unit_base(t->units[unit]) : TRIE_ROOT_BASE;
}

/* Lists each node once: counts them by depth in starts[depth + 1], or, if `nodes` is given, writes
 * them where starts[depth] says. Sorted pieces share their beginnings with the piece before, whose
 * nodes are listed already. */
static void list_nodes(const trie *t, const uint8_t *data, const int64_t *offsets, int64_t n_pieces,
                       node *nodes, int64_t *starts)
{
    uint32_t path[SUFFIX_LINKS_DEPTH_MAX + 1] = {0};
    int64_t n_before = 0;
    const uint8_t *before = data;
    for (int64_t k = 0; k < n_pieces; k++) {
        const uint8_t *piece = data + offsets[k];
        int64_t n_bytes = offsets[k + 1] - offsets[k], i = 0;
        while (i < n_before && i < n_bytes && piece[i] == before[i]) i++;
        for (; i < n_bytes; i++) {
            path[i + 1] = children_base(t, path[i]) ^ piece[i];
            if (nodes) nodes[starts[i]++] = (node){path[i + 1], path[i]};
            else starts[i + 1]++;
        }
        before = piece;
        n_before = n_bytes;
    }
}

/* Returns the suffix of a node, given the suffixes of all nodes nearer to the root. */
static uint32_t suffix_of(const trie *t, const uint32_t *suffixes, node x)
{
    uint8_t label = (uint8_t)t->units[x.unit];
    for (uint32_t at = x.parent; at;) {
        at = suffixes[at];
        uint32_t to = children_base(t, at) ^ label;
        if (unit_has_label(t->units[to], label)) return to;
    }
    return 0;
}

int suffix_links_visit(const trie *t, const uint8_t *data, const int64_t *offsets, int64_t n_pieces,
                       int (*put)(void *, const suffix_link *), void *context)
{
    int64_t starts[SUFFIX_LINKS_DEPTH_MAX + 2] = {0};
    list_nodes(t, data, offsets, n_pieces, NULL, starts);
    for (int i = 0; i < SUFFIX_LINKS_DEPTH_MAX; i++) starts[i + 1] += starts[i];
    int64_t n_nodes = starts[SUFFIX_LINKS_DEPTH_MAX];
    node *nodes = mem_alloc((size_t)(n_nodes + 1) * sizeof *nodes);
    uint32_t *suffixes = mem_zalloc((size_t)t->n_units, sizeof *suffixes);
    int status = nodes && suffixes;
    if (status) list_nodes(t, data, offsets, n_pieces, nodes, starts);
    for (int64_t k = 0; k < n_nodes && status > 0; k++) {
        suffix_link link = {nodes[k].unit, nodes[k].parent, suffix_of(t, suffixes, nodes[k])};
        suffixes[link.unit] = link.suffix;
        status = put(context, &link);
    }
    mem_free(nodes);
    mem_free(suffixes);
    return status;
}
