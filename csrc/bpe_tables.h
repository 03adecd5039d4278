/* bpe_tables.h - what a BPE model holds; bpe_build.c makes it, bpe.c reads it */
#pragma once

#include "bpe.h"
#include "string_table.h"
#include "symbols.h"

/* A pair that may merge, in 8 bytes, so that the table of a usual model fits the second cache:
 *
 *     63 .... 43 | 42 .... 22 | 21 .... 0
 *     left       | right      | merge          all ones: a free slot
 *
 * Merges are numbered best first; what they make and how they rank stands in tables of their own. */
#define BPE_SYMBOL_BITS 21
#define BPE_MERGE_BITS 22
#define BPE_SYMBOLS_MAX (1 << BPE_SYMBOL_BITS)
#define BPE_NO_MERGE ((UINT32_C(1) << BPE_MERGE_BITS) - 1)
#define BPE_FREE UINT64_MAX

/* Symbols below this are characters of the best merges (build numbers them so): their pairs stand in a square, which for
 * letters next to letters is a few lines of the first cache. */
#define BPE_DENSE 256

struct bpe {
    symbols symbols;
    uint64_t *pairs;     /* [0..1 << pair_bits), at most half taken */
    int pair_bits;
    uint32_t *dense;     /* [0..BPE_DENSE * BPE_DENSE): the merge of two symbols below BPE_DENSE */
    uint32_t n_merges;
    uint32_t tied_from;  /* merges below this have a rank of their own, which is their number */
    uint32_t *ranks;     /* [0..n_merges): the first merge that is as good */
    uint32_t *merged;    /* [0..n_merges): the symbol a merge makes */
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
    string_table pieces;      /* and which is which */
};

INLINE uint64_t bpe_pair_key(uint32_t left, uint32_t right)
{
    return (uint64_t)left << BPE_SYMBOL_BITS | right;
}

INLINE uint32_t bpe_pair_hash(uint64_t key, int pair_bits)
{
    return (uint32_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> (64 - pair_bits));
}

/* The merge of two neighbours, BPE_NO_MERGE if they have none. */
INLINE uint32_t bpe_find_merge(const bpe *m, uint32_t left, uint32_t right)
{
    if ((left | right) < BPE_DENSE) return m->dense[left * BPE_DENSE + right];
    uint64_t key = bpe_pair_key(left, right);
    uint32_t mask = (UINT32_C(1) << m->pair_bits) - 1, at = bpe_pair_hash(key, m->pair_bits);
    for (;; at = (at + 1) & mask) {
        uint64_t slot = m->pairs[at];
        if (slot >> BPE_MERGE_BITS == key || slot == BPE_FREE) return (uint32_t)slot & BPE_NO_MERGE;
    }
}
