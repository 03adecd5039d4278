/* longest.h - greedy longest-prefix encoding: at every position the longest piece, else the byte's own id */
#pragma once

#include "cut.h"
#include "memo.h"
#include "trie.h"

typedef struct longest {
    trie trie;
    const unitok_hat *hat; /* instead of the trie, where it is not NULL */
    const cut_table *cuts;
    cut_scan scan;
    int64_t max_piece_bytes;
} longest;

typedef struct longest_scratch {
    memo memo;
    uint16_t cuts[CUT_CHUNK_BYTES + CUT_READ_BEYOND];
    uint8_t tail[CUT_CHUNK_BYTES + CUT_READ_BEYOND]; /* the end of the text, copied where reading beyond it is safe */
} longest_scratch;

/* Encodes text[0..n_bytes-1]; text is readable to text[n_readable - 1]. ids as in unitok_encode; returns their number. */
int64_t longest_encode(const longest *m, longest_scratch *s, const uint8_t *text, int64_t n_bytes, int64_t n_readable,
                       uint16_t *ids);

/* The same ids by the engine alone; ends[k], unless NULL, is where token k ends. */
int64_t longest_walk(const longest *m, const uint8_t *text, int64_t n_bytes, uint16_t *ids, int64_t *ends);

/* See unitok_split. */
int64_t longest_split(const longest *m, const uint8_t *text, int64_t n_bytes);
