/* bpe_tables.h - what a BPE model holds; bpe_build.c makes it, bpe.c reads it */
#pragma once

#include "bpe.h"
#include "strings.h"
#include "symbols.h"

#define BPE_NO_RANK UINT32_MAX

typedef struct bpe_pair {
    uint32_t left, right; /* symbols; both UINT32_MAX in a free slot */
    uint32_t merged;
    uint32_t rank; /* BPE_NO_RANK in a free slot */
} bpe_pair;

struct bpe {
    symbols symbols;
    bpe_pair *pairs; /* [0..1 << pair_bits) */
    int pair_bits;
    uint32_t n_symbols;
    int32_t *ids;       /* [0..n_symbols): TOKEN_UNKNOWN for what is no piece */
    uint32_t *lengths;  /* [0..n_symbols): bytes; NULL where there are no unused pieces */
    uint8_t *is_unused; /* likewise */
    int32_t traits;     /* of enum bpe_traits */
    int has_merges;     /* made by bpe_new_merges */
    int32_t flags;      /* of enum bpe_merges_flags */
    uint32_t unknown;   /* the symbol of an unknown character; SYMBOL_NONE: it vanishes */
    uint32_t bytes[256]; /* the symbols of bytes; SYMBOL_NONE where there is none */
    uint8_t *data;       /* with BPE_IGNORE_MERGES, where that matters: all pieces, */
    int64_t *offsets;    /* their bounds, */
    int32_t *piece_ids;  /* their ids, */
    strings pieces;      /* and which is which */
};

INLINE uint32_t bpe_pair_hash(uint32_t left, uint32_t right, int pair_bits)
{
    return (uint32_t)(((uint64_t)left << 32 | right) * UINT64_C(0x9E3779B97F4A7C15) >> (64 - pair_bits));
}

/* The slot of the pair, or a free one. */
INLINE const bpe_pair *bpe_find_pair(const bpe *m, uint32_t left, uint32_t right)
{
    uint32_t mask = (UINT32_C(1) << m->pair_bits) - 1, at = bpe_pair_hash(left, right, m->pair_bits);
    for (;; at = (at + 1) & mask) {
        const bpe_pair *pair = &m->pairs[at];
        if ((pair->left == left && pair->right == right) || pair->rank == BPE_NO_RANK) return pair;
    }
}
