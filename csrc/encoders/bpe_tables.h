/* bpe_tables.h - what a BPE model holds; bpe_build_tables.c makes it, bpe.c reads it */
#pragma once

#include "encoders/bpe.h"
#include "structures/string_table.h"
#include "encoders/symbols.h"

/* A pair that may merge, in 8 bytes, so that the table of a usual model fits the second cache:
 *
 *     63 .... 43 | 42 .... 22 | 21 .... 0
 *     left       | right      | merge          all ones: a free slot
 *
 * Merges are numbered best first; separate tables hold what they make and how they rank.
 *
 * Of all ways to divide a piece in two, merging from characters reaches at most one: what happens
 * inside a piece does not depend on its neighbours, so it is the last pair that merges when the
 * piece alone is encoded. These pairs, about half of SentencePiece's, have a table of their own.
 * Dropout can reach the others too. */
#define BPE_SYMBOL_BITS 21
#define BPE_MERGE_BITS 22
#define BPE_SYMBOLS_MAX (1 << BPE_SYMBOL_BITS)
#define BPE_NO_MERGE ((UINT32_C(1) << BPE_MERGE_BITS) - 1)
#define BPE_FREE UINT64_MAX
#define BPE_PAIR_BITS_MAX 28 /* of a table of pairs */

/* The result of a merge, and which symbols can merge with it: most neighbours cannot, and need no
 * look-up. */
typedef struct bpe_made {
    uint32_t symbol;
    uint32_t rank; /* the first merge that is as good */
    /* bit s & 31 is set for every symbol s that may merge with this one to its right */
    uint32_t lefts;
    uint32_t rights; /* likewise for those to its right */
} bpe_made;

/* Symbols below this are characters of the best merges (bpe_build_pieces.c numbers them so). Their
 * pairs are in a square table, of which pairs of letters use only a few lines of the first cache.
 */
#define BPE_DENSE 256

/* A piece of up to BPE_WHOLE_BYTES whose own text merges to just it: a segment that is one need not
 * be merged.
 *
 *     low    the first 8 bytes, zero-padded
 *     high   63 .... 36 | 35 .. 32 | 31 .... 0
 *            id         | n_bytes  | bytes 8..11       0: a free slot */
#define BPE_WHOLE_BYTES 12

/* For most segments a bit in a small filter already shows that they are not one: at most one bit in
 * sixteen is set. */
#define BPE_FILTER_BITS 3

typedef struct bpe_whole {
    uint64_t low, high;
} bpe_whole;

typedef struct bpe_pairs {
    uint64_t *slots; /* [0..1 << n_bits), at most half taken; NULL: none */
    uint64_t factor; /* see probing.h */
    int n_bits;
} bpe_pairs;

struct bpe {
    symbols symbols;
    bpe_pairs pairs; /* those that can occur where no merge is dropped */
    bpe_pairs rest;  /* all others */
    /* [0..BPE_DENSE * BPE_DENSE): the merge of two symbols below BPE_DENSE */
    uint32_t *dense;
    uint32_t n_merges;
    /* merges below this have a rank of their own, which is their number */
    uint32_t tied_from;
    bpe_made *made; /* [0..n_merges) */
    uint32_t n_symbols;
    bpe_whole *wholes; /* [0..1 << whole_bits), at most half taken; NULL: none */
    int whole_bits;
    uint64_t whole_factor;  /* see probing.h */
    uint64_t *whole_filter; /* a bit for each value of BPE_FILTER_BITS more of the hash */
    int32_t *ids;           /* [0..n_symbols): TOKEN_UNKNOWN for a symbol that is not a piece */
    uint32_t *lengths;      /* [0..n_symbols): bytes; NULL where there are no unused pieces */
    uint8_t *is_unused;     /* likewise */
    int32_t traits;         /* of enum bpe_traits */
    int has_merges;         /* made by bpe_new_merges */
    int32_t flags;          /* of enum bpe_merges_flags */
    uint32_t unknown;       /* the symbol of an unknown character; SYMBOL_NONE: it vanishes */
    uint32_t bytes[256];    /* the symbols of bytes; SYMBOL_NONE where there is none */
    uint8_t *data;          /* with BPE_IGNORE_MERGES, where that matters: all pieces, */
    int64_t *offsets;       /* their bounds, */
    int32_t *piece_ids;     /* their ids, */
    string_table pieces;    /* and which is which */
};

INLINE uint64_t bpe_pair_key(uint32_t left, uint32_t right)
{
    return (uint64_t)left << BPE_SYMBOL_BITS | right;
}

INLINE uint32_t bpe_pair_place(const bpe_pairs *pairs, uint64_t key)
{
    return (uint32_t)(key * pairs->factor >> (64 - pairs->n_bits));
}

/* The slot of a pair, or a free one. */
INLINE uint64_t *bpe_find_pair(const bpe_pairs *pairs, uint64_t key)
{
    uint32_t mask = (UINT32_C(1) << pairs->n_bits) - 1;
    for (uint32_t at = bpe_pair_place(pairs, key);; at = (at + 1) & mask) {
        uint64_t slot = pairs->slots[at];
        if (slot >> BPE_MERGE_BITS == key || slot == BPE_FREE) return &pairs->slots[at];
    }
}

/* The merge of two neighbours, BPE_NO_MERGE if they have none. */
INLINE uint32_t bpe_find_merge(const bpe_pairs *pairs, uint32_t left, uint32_t right)
{
    return (uint32_t)*bpe_find_pair(pairs, bpe_pair_key(left, right)) & BPE_NO_MERGE;
}

#define BPE_WHOLE_KEY ((UINT64_C(1) << 36) - 1) /* of `high`: all but the id */

/* The key of a segment of 1 to BPE_WHOLE_BYTES. */
INLINE bpe_whole bpe_whole_key(const uint8_t *text, int64_t n_bytes)
{
    bpe_whole key = {0, (uint64_t)n_bytes << 32};
    if (n_bytes >= 8) {
        key.low = load_u64(text);
        if (n_bytes > 8) key.high |= load_u64(text + n_bytes - 8) >> 8 * (16 - n_bytes);
    } else if (n_bytes >= 4) {
        key.low = load_u32(text) | (uint64_t)load_u32(text + n_bytes - 4) << 8 * (n_bytes - 4);
    } else {
        key.low = text[0] | (uint64_t)text[n_bytes >> 1] << 8 * (n_bytes >> 1);
        key.low |= (uint64_t)text[n_bytes - 1] << 8 * (n_bytes - 1);
    }
    return key;
}

INLINE uint64_t bpe_whole_hash(const bpe *m, bpe_whole key)
{
    return (key.low ^ key.high * m->whole_factor) * UINT64_C(0x9E3779B97F4A7C15);
}

/* The slot of the key, or a free one. */
INLINE bpe_whole *bpe_find_whole(const bpe *m, bpe_whole key)
{
    uint32_t mask = (UINT32_C(1) << m->whole_bits) - 1;
    for (uint32_t at = (uint32_t)(bpe_whole_hash(m, key) >> (64 - m->whole_bits));; at++) {
        bpe_whole *slot = &m->wholes[at & mask];
        if ((slot->low == key.low && (slot->high & BPE_WHOLE_KEY) == key.high) || slot->high == 0)
            return slot;
    }
}

/* The number of the key's bit in m->whole_filter. */
INLINE uint64_t bpe_filter_bit(const bpe *m, bpe_whole key)
{
    return bpe_whole_hash(m, key) >> (64 - m->whole_bits - BPE_FILTER_BITS);
}

INLINE int bpe_may_be_whole(const bpe *m, bpe_whole key)
{
    uint64_t bit = bpe_filter_bit(m, key);
    return m->whole_filter[bit >> 6] >> (bit & 63) & 1;
}

/* For bpe_build_tables.c: like bpe_segment for a piece of a model without unused ones, but by
 * merging alone; *ret_last is the pair that merged last, BPE_FREE if none did. */
int64_t bpe_last_pair(const bpe *m, bpe_scratch *s, const uint8_t *text, int64_t n_bytes,
                      token *tokens, uint64_t *ret_last);
