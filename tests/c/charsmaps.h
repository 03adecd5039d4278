/* charsmaps.h - builds small charsmaps for the C tests: uncompressed, one block of units per
 * node */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "ground/common.h"

#define CHARSMAP_NODES_MAX 200
#define CHARSMAP_STRINGS_MAX 4096

struct charsmap_maker {
    uint32_t units[256 * (CHARSMAP_NODES_MAX + 2)];
    uint32_t block_of[256 * (CHARSMAP_NODES_MAX + 2)]; /* block_of[u]: the block of u's children */
    uint8_t strings[CHARSMAP_STRINGS_MAX];
    uint32_t n_blocks, n_string_bytes;
};

static inline void maker_start(struct charsmap_maker *m)
{
    memset(m, 0, sizeof *m);
    uint32_t n_units = sizeof m->units / sizeof *m->units;
    /* labels that never match */
    for (uint32_t i = 0; i < n_units; i++) m->units[i] = (i & 0xFF) ^ 0xFF;
    m->units[0] = 256 << 10; /* the root's children are in block 1 */
    m->block_of[0] = 1;
    m->n_blocks = 2;
}

/* Keys and replacements contain no NUL. Rules that exceed the capacity are dropped. */
static inline void maker_add(struct charsmap_maker *m, const uint8_t *key, size_t n_key,
                             const uint8_t *to, size_t n_to)
{
    uint32_t at = 0;
    if (!n_key || m->n_blocks + n_key > CHARSMAP_NODES_MAX) return;
    if (m->n_string_bytes + n_to + 1 > CHARSMAP_STRINGS_MAX) return;
    for (size_t i = 0; i < n_key; i++) {
        at = 256 * m->block_of[at] + key[i];
        if (!m->block_of[at]) {
            m->block_of[at] = m->n_blocks++;
            m->units[at] = (at ^ 256 * m->block_of[at]) << 10 | key[i];
        }
    }
    m->units[at] |= 1 << 8;
    m->units[256 * m->block_of[at]] = 1u << 31 | m->n_string_bytes;
    memcpy(m->strings + m->n_string_bytes, to, n_to);
    m->n_string_bytes += (uint32_t)n_to + 1;
}

/* Returns the blob, allocated with malloc. */
static inline uint8_t *maker_finish(const struct charsmap_maker *m, int64_t *ret_n_bytes)
{
    uint32_t n_trie_bytes = 1024 * m->n_blocks,
             n_string_bytes = m->n_string_bytes ? m->n_string_bytes : 1;
    uint8_t *blob = malloc(4 + n_trie_bytes + n_string_bytes);
    memcpy(blob, &n_trie_bytes, 4);
    memcpy(blob + 4, m->units, n_trie_bytes);
    memcpy(blob + 4 + n_trie_bytes, m->strings, n_string_bytes);
    *ret_n_bytes = 4 + n_trie_bytes + n_string_bytes;
    return blob;
}
