/* suffix_links.c - visits the nodes of a trie in order of depth, with their suffixes
 *
 * Used by the automata of long_pieces.c, endings.c and automaton.c, each of which stores the links
 * in its own form. Enumerating the nodes requires the pieces as well as the trie. */

#include "structures/suffix_links.h"

#include "ground/alloc.h"

typedef struct node {
    uint32_t unit, parent;
} node;

/* Lists each node once: counts them by depth in starts[depth + 1], or, if `nodes` is given, writes
 * them from index starts[depth] onwards. The pieces are sorted, so the nodes of the prefix that a
 * piece shares with the previous one are already listed. */
static void list_nodes(const trie *t, const uint8_t *data, const int64_t *offsets, int64_t n_pieces,
                       uint32_t *path, node *nodes, int64_t *starts)
{
    int64_t n_before = 0;
    path[0] = 0;
    const uint8_t *before = data;
    for (int64_t k = 0; k < n_pieces; k++) {
        const uint8_t *piece = data + offsets[k];
        int64_t n_bytes = offsets[k + 1] - offsets[k], i = 0;
        while (i < n_before && i < n_bytes && piece[i] == before[i]) i++;
        for (; i < n_bytes; i++) {
            path[i + 1] = suffix_links_base(t->units, path[i]) ^ piece[i];
            if (nodes) nodes[starts[i]++] = (node){path[i + 1], path[i]};
            else starts[i + 1]++;
        }
        before = piece;
        n_before = n_bytes;
    }
}

/* Two passes over the pieces list the nodes by depth, as a counting sort: the first counts the
 * nodes of each depth, the second writes them. A double array cannot list the children of a node
 * without testing all bytes.
 *
 * The suffix of a node continues the suffix of its parent, or the suffix of that suffix, and so on.
 * All of these suffixes are shorter strings, so their own suffixes are already known. Along one
 * piece, the depth of the suffix grows by at most 1 with each byte, and each step to a shorter
 * suffix reduces it, so the time is linear. */
int suffix_links_visit(const trie *t, const uint8_t *data, const int64_t *offsets, int64_t n_pieces,
                       int (*put)(void *, const suffix_link *), void *context)
{
    int64_t depth_max = 0;
    for (int64_t k = 0; k < n_pieces; k++)
        if (offsets[k + 1] - offsets[k] > depth_max) depth_max = offsets[k + 1] - offsets[k];
    int64_t *starts = mem_zalloc((size_t)depth_max + 2, sizeof *starts);
    uint32_t *path = mem_alloc(((size_t)depth_max + 1) * sizeof *path);
    uint32_t *suffixes = mem_zalloc((size_t)t->n_units, sizeof *suffixes);
    node *nodes = NULL;
    if (starts && path && suffixes) {
        list_nodes(t, data, offsets, n_pieces, path, NULL, starts);
        for (int64_t i = 0; i < depth_max; i++) starts[i + 1] += starts[i];
        nodes = mem_alloc((size_t)(starts[depth_max] + 1) * sizeof *nodes);
    }
    int status = nodes != NULL;
    int64_t n_nodes = status ? starts[depth_max] : 0;
    if (status) list_nodes(t, data, offsets, n_pieces, path, nodes, starts);
    for (int64_t k = 0; k < n_nodes && status > 0; k++) {
        suffix_link link = {nodes[k].unit, nodes[k].parent, 0};
        if (link.parent)
            link.suffix = suffix_links_next(t->units, suffixes, suffixes[link.parent],
                                            (uint8_t)t->units[link.unit]);
        suffixes[link.unit] = link.suffix;
        status = put(context, &link);
    }
    mem_free(nodes);
    mem_free(suffixes);
    mem_free(path);
    mem_free(starts);
    return status;
}
