/* bpe_tables.h - the tables of a BPE model: bpe_build_tables.c builds them, bpe.c reads them */
#pragma once

#include "encoders/bpe.h"
#include "structures/string_table.h"
#include "encoders/words.h"

/* A pair that can merge. It takes 8 bytes, so the table of a typical model fits in the L2 cache:
 *
 *     63 .... 43 | 42 .... 22 | 21 .... 0
 *     left       | right      | merge          all ones: a free slot
 *
 * Merges are numbered best first; separate tables map them to their results and ranks.
 *
 * Several pairs can make the same piece, but merging from characters uses at most one of them. The
 * merges inside a piece do not depend on its neighbours, so the last of them always joins the same
 * pair as when the piece is encoded alone. Only these pairs, about half of all pairs of a
 * SentencePiece model, are in the main table. The others, which only dropout can reach, are in a
 * second table. */
#define BPE_SYMBOL_BITS 21
#define BPE_MERGE_BITS 22
#define BPE_SYMBOLS_MAX (1 << BPE_SYMBOL_BITS)
#define BPE_NO_MERGE ((UINT32_C(1) << BPE_MERGE_BITS) - 1)
#define BPE_FREE UINT64_MAX
#define BPE_PAIR_BITS_MAX 28 /* the largest table of pairs */

/* The result of a merge. */
typedef struct bpe_made {
    uint32_t symbol;
    uint32_t rank; /* the first merge with the same priority */
} bpe_made;

/* Symbols below BPE_DENSE are the characters of the best merges (see bpe_build_pieces.c). Their
 * pairs are in a square table; the pairs of letters touch only a few lines of the L1 cache. */
#define BPE_DENSE 256

/* With UNITOK_BYTES, characters below this code point, of at most three bytes, can be symbols
 * before any merge (bpe_build_characters.c):
 *
 *     63 .... 21 | 20 .... 0
 *     before     | symbol         0: its bytes are symbols
 *
 * `before` is a set of bytes (bpe_before_bit). After any of these bytes, the bytes of the character
 * are symbols, and the character is not. */
#define BPE_CHARACTERS 0x10000

/* A piece of up to BPE_DIRECT_BYTES bytes whose own text merges into it. A segment equal to it
 * needs no merging.
 *
 *     low    the first 8 bytes, zero-padded
 *     high   63 .... 36 | 35 .. 32 | 31 .... 0
 *            id         | n_bytes  | bytes 8..11       0: a free slot
 */
#define BPE_DIRECT_BYTES 12

/* Small filters of hash bits, 1 << BPE_FILTER_BITS for each slot, reject most segments that are not
 * such pieces, and most neighbours that do not merge. They help when the tables themselves do not
 * fit in the L2 cache. At most one bit in sixteen is set. */
#define BPE_FILTER_BITS 3

typedef struct bpe_direct {
    uint64_t low, high;
} bpe_direct;

typedef struct bpe_pairs {
    uint64_t *slots; /* [0..1 << n_bits), at most half full; NULL if empty */
    uint64_t *filter;
    uint64_t factor; /* see probing.h */
    int n_bits;
} bpe_pairs;

struct bpe {
    symbols symbols;
    bpe_pairs pairs; /* pairs that can occur without dropout */
    bpe_pairs rest;  /* all other pairs */
    /* [0..BPE_DENSE * BPE_DENSE): the merge of two symbols below BPE_DENSE */
    uint32_t *dense;
    uint32_t n_merges;
    /* merges below this have a unique rank, equal to their number */
    uint32_t tied_from;
    bpe_made *made; /* [0..n_merges) */
    /* unless 0: merge k of the main table makes symbol first_made + k, so `made` is not read */
    uint32_t first_made;
    uint32_t n_symbols;
    bpe_direct *direct; /* [0..1 << direct_bits), at most half full; NULL: none */
    int direct_bits;
    uint64_t direct_factor;  /* see probing.h */
    uint64_t *direct_filter; /* indexed by BPE_FILTER_BITS more hash bits than `direct` */
    int32_t *ids;            /* [0..n_symbols): TOKEN_UNKNOWN for a symbol that is not a piece */
    uint32_t *lengths;       /* [0..n_symbols), in bytes; NULL if no piece is unused */
    uint8_t *is_unused;      /* [0..n_symbols); NULL if no piece is unused */
    int32_t traits;          /* enum bpe_traits */
    int has_merges;          /* built by bpe_new_merges */
    int has_all_bytes;       /* UNITOK_BYTES, and every byte has a symbol */
    int32_t flags;           /* enum bpe_merges_flags */
    uint32_t unknown;        /* the symbol of an unknown character; SYMBOL_NONE: dropped */
    uint32_t bytes[256];     /* the symbols of bytes, or SYMBOL_NONE */
    uint64_t *characters;    /* [0..BPE_CHARACTERS); NULL if not every byte has a symbol */
    /* with BPE_IGNORE_MERGES: the pieces that merging their own text does not produce */
    words pieces;
    int64_t n_unmerged;
};

/* The bit of a byte in the set of a character; several bytes share one. */
INLINE uint64_t bpe_before_bit(uint8_t byte)
{
    return UINT64_C(1) << (BPE_SYMBOL_BITS + byte % (64 - BPE_SYMBOL_BITS));
}

/* A pair as a number of 42 bits, as stored above the merge in a slot. */
INLINE uint64_t bpe_pair_key(uint32_t left, uint32_t right)
{
    return (uint64_t)left << BPE_SYMBOL_BITS | right;
}

/* Where the search for a pair begins: the upper bits of the product depend on all bits of the
 * key. */
INLINE uint32_t bpe_pair_place(const bpe_pairs *pairs, uint64_t key)
{
    return (uint32_t)(key * pairs->factor >> (64 - pairs->n_bits));
}

/* The slot of a pair, or the free slot where the search ends. */
INLINE uint64_t *bpe_find_pair(const bpe_pairs *pairs, uint64_t key)
{
    uint32_t mask = (UINT32_C(1) << pairs->n_bits) - 1;
    for (uint32_t at = bpe_pair_place(pairs, key);; at = (at + 1) & mask) {
        uint64_t slot = pairs->slots[at];
        if (slot >> BPE_MERGE_BITS == key || slot == BPE_FREE) return &pairs->slots[at];
    }
}

/* The index of a pair's bit in pairs->filter. */
INLINE uint64_t bpe_pair_bit(const bpe_pairs *pairs, uint64_t key)
{
    return key * pairs->factor >> (64 - pairs->n_bits - BPE_FILTER_BITS);
}

/* The merge of two neighbours, or BPE_NO_MERGE. */
INLINE uint32_t bpe_find_merge(const bpe_pairs *pairs, uint32_t left, uint32_t right)
{
    uint64_t bit = bpe_pair_bit(pairs, bpe_pair_key(left, right));
    if (!(pairs->filter[bit >> 6] >> (bit & 63) & 1)) return BPE_NO_MERGE;
    return (uint32_t)*bpe_find_pair(pairs, bpe_pair_key(left, right)) & BPE_NO_MERGE;
}

#define BPE_DIRECT_KEY ((UINT64_C(1) << 36) - 1) /* the part of `high` without the id */

/* The key of a segment of 1 to BPE_DIRECT_BYTES bytes. */
INLINE bpe_direct bpe_direct_key(const uint8_t *text, int64_t n_bytes)
{
    bpe_direct key = {0, (uint64_t)n_bytes << 32};
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

/* The upper bits choose the slot, and BPE_FILTER_BITS more choose the bit of the filter. So the
 * filter has eight bits per slot, compared with 128 in the table, and mostly stays in the cache. */
INLINE uint64_t bpe_direct_hash(const bpe *m, bpe_direct key)
{
    return (key.low ^ key.high * m->direct_factor) * UINT64_C(0x9E3779B97F4A7C15);
}

/* The slot of a key, or the free slot where the search ends. */
INLINE bpe_direct *bpe_find_direct(const bpe *m, bpe_direct key)
{
    uint32_t mask = (UINT32_C(1) << m->direct_bits) - 1;
    for (uint32_t at = (uint32_t)(bpe_direct_hash(m, key) >> (64 - m->direct_bits));; at++) {
        bpe_direct *slot = &m->direct[at & mask];
        if ((slot->low == key.low && (slot->high & BPE_DIRECT_KEY) == key.high) || slot->high == 0)
            return slot;
    }
}

/* The index of the key's bit in m->direct_filter. */
INLINE uint64_t bpe_filter_bit(const bpe *m, bpe_direct key)
{
    return bpe_direct_hash(m, key) >> (64 - m->direct_bits - BPE_FILTER_BITS);
}

/* Whether the filter has the key's bit. False positives are possible; the table detects
 * them. */
INLINE int bpe_may_be_direct(const bpe *m, bpe_direct key)
{
    uint64_t bit = bpe_filter_bit(m, key);
    return m->direct_filter[bit >> 6] >> (bit & 63) & 1;
}

/* Like bpe_segment for a piece of a model without unused pieces, but always merges. Used by
 * bpe_build_tables.c. *ret_last is the pair that merged last, or BPE_FREE. */
int64_t bpe_last_pair(const bpe *m, bpe_scratch *s, const uint8_t *text, int64_t n_bytes,
                      token *tokens, uint64_t *ret_last);
