/* pieces_trie.h - builds the frozen trie of pieces.h */
#pragma once

#include "pieces.h"
#include "structures/trie.h"

/* Fills heads[0..TRIE_HEADS-1] and singles[0..255]; the caller frees the units. */
static inline trie_parts pieces_trie(const struct pieces *p, trie *t, uint64_t *heads,
                                     uint32_t *singles)
{
    static uint8_t data[PIECES_BYTES_MAX];
    static int64_t offsets[PIECES_MAX + 1], sorted_ids[PIECES_MAX];
    int order[PIECES_MAX];
    trie_parts parts;
    for (int k = 0; k < p->n; k++) {
        int at = k;
        for (; at > 0; at--) {
            int64_t a = p->offsets[order[at - 1]], b = p->offsets[k];
            int64_t n_a = p->offsets[order[at - 1] + 1] - a, n_b = p->offsets[k + 1] - b;
            int c = memcmp(p->data + a, p->data + b, (size_t)(n_a < n_b ? n_a : n_b));
            if (c < 0 || (c == 0 && n_a < n_b)) break;
            order[at] = order[at - 1];
        }
        order[at] = k;
    }
    for (int k = 0; k < p->n; k++) {
        int64_t n = p->offsets[order[k] + 1] - p->offsets[order[k]];
        memcpy(data + offsets[k], p->data + p->offsets[order[k]], (size_t)n);
        offsets[k + 1] = offsets[k] + n;
        sorted_ids[k] = p->ids[order[k]];
    }
    CHECK(trie_build(data, offsets, sorted_ids, p->n, &parts, NULL) == UNITOK_OK);
    trie_build_heads(parts.units, p->fallback_id < 0 ? 0 : (uint32_t)p->fallback_id + 1, heads,
                     singles);
    *t = (trie){parts.units, heads, singles, parts.n_units};
    return parts;
}
