/* suffix_links.h - the failure links of Aho and Corasick's automaton, for the nodes of a trie
 *
 * The suffix of a node is the longest proper suffix of its string that is also a node; if no child
 * of a node matches the next byte of a text, the search continues at its suffix. The suffix of a
 * node is found through the suffix of its parent, which is shorter, so nodes are visited in order
 * of depth:
 *
 *     pieces  "she" "he" "ers"       visited   s h e | sh he er | she ers
 *                                    suffix    . . .   h  e  .    he  s          . is the root
 */
#pragma once

#include "structures/trie.h"

/* A node, its parent and its suffix, as indexes of the trie's units; 0 is the root. */
typedef struct suffix_link {
    uint32_t unit, parent, suffix;
} suffix_link;

/* Returns the base of a node's children. */
INLINE uint32_t suffix_links_base(const uint64_t *units, uint32_t unit)
{
    return unit ? unit_base(units[unit]) : TRIE_ROOT_BASE;
}

/* Returns the longest node that is node `at` or one of its suffixes, followed by `byte`; 0, the
 * root, if there is none. suffixes[] must contain those of `at` and of all shorter nodes. */
INLINE uint32_t suffix_links_next(const uint64_t *units, const uint32_t *suffixes, uint32_t at,
                                  uint8_t byte)
{
    for (;; at = suffixes[at]) {
        uint32_t child = suffix_links_base(units, at) ^ byte;
        if (unit_has_label(units[child], byte)) return child;
        if (!at) return 0;
    }
}

/* Calls put(context, link) for every node except the root in the trie of these sorted pieces, until
 * put returns 0 or less. Returns the result of the last call, or 1 if there was none; 0 if
 * allocation fails. O(bytes of pieces). */
int suffix_links_visit(const trie *t, const uint8_t *data, const int64_t *offsets, int64_t n_pieces,
                       int (*put)(void *, const suffix_link *), void *context);
