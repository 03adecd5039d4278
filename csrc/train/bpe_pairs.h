/* bpe_pairs.h - the state that all phases of the BPE trainer share: pairs that may be merged,
 * their positions, the text and its symbols */
#pragma once

#include "ground/grow.h"
#include "train/bpe_slots.h"
#include "train/rules.h"
#include "unitok_train.h"

#define NO_PAIR UINT32_MAX

/* 32 bytes. `positions` is not kept up to date: a merge checks each position against the slots. */
typedef struct pair {
    uint64_t count;
    uint32_t *positions; /* the slots where the pair began when it was created; some are stale */
    uint32_t n_positions;
    uint32_t left, right; /* symbols */
} pair;

/* Pairs by (left, right), in an open-addressed table. A slot holds the hash of a pair and 1 + its
 * index, so the pair itself, which costs a cache miss, is read only if the hashes are equal.
 *
 *     slots    | hash 32 | index + 1 32 |        0: free
 *     pairs    in the order in which they were added
 */
typedef struct pair_table {
    pair *pairs;
    uint64_t *slots;
    uint32_t n;
    int64_t capacity;
    int bits;
} pair_table;

/* Multiplies twice, because symbols are small consecutive numbers, and one product would leave
 * patterns in the bits that select a slot. */
INLINE uint32_t pair_hash(uint32_t left, uint32_t right)
{
    uint64_t hash = ((uint64_t)left << 32 | right) * UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)((hash ^ hash >> 29) * UINT64_C(0xD6E8FEB86659FD93) >> 32);
}

/* Prefetches the slot where the search for a hash begins. */
INLINE void pair_table_fetch(const pair_table *table, uint32_t hash)
{
    PREFETCH(&table->slots[hash & ((UINT32_C(1) << table->bits) - 1)]);
}

/* Returns the pair's index, or NO_PAIR. Different pairs may have the same hash, so the pairs
 * themselves are compared. */
INLINE uint32_t pair_table_find(const pair_table *table, uint32_t left, uint32_t right)
{
    uint32_t mask = (UINT32_C(1) << table->bits) - 1, hash = pair_hash(left, right);
    for (uint32_t at = hash;; at++) {
        uint64_t slot = table->slots[at & mask];
        if (!slot) return NO_PAIR;
        if (slot >> 32 != hash) continue;
        const pair *p = &table->pairs[(uint32_t)slot - 1];
        if (p->left == left && p->right == right) return (uint32_t)slot - 1;
    }
}

int pair_table_init(pair_table *table); /* 0 if allocation fails */
void pair_table_free(pair_table *table);
int64_t pair_table_memory(const pair_table *table);
/* Adds a pair that is not in the table; returns NO_PAIR if allocation fails. */
uint32_t pair_table_add(pair_table *table, uint32_t left, uint32_t right);
void pair_table_clear(pair_table *table);

/* Positions are allocated in blocks, which are all freed at once: a trainer stores at most three
 * positions per character. */
typedef struct position_block {
    struct position_block *next;
    uint32_t slots[];
} position_block;

/* A list of blocks, of which only the first has free space. */
typedef struct position_store {
    position_block *blocks;
    size_t n_used, capacity; /* of the first block */
    int64_t memory_bytes;
} position_store;

/* Returns space for n positions; NULL if allocation fails. */
uint32_t *position_store_take(position_store *store, uint32_t n);
/* Frees all blocks. The store is then empty and can be reused. */
void position_store_free(position_store *store);

/* A symbol that spells a reserved piece: see unitok_bpe_trainer_reserve. */
typedef struct reserved_symbol {
    uint32_t symbol, piece;
} reserved_symbol;

/* Reserved symbols in ascending order; n_pieces is the number of reserved pieces. */
typedef struct reserved_list {
    reserved_symbol *items;
    int64_t n, capacity;
    uint32_t n_pieces;
} reserved_list;

/* The rank of a symbol among equally frequent pairs without rules. */
INLINE uint32_t symbol_rank(const reserved_list *reserved, uint32_t symbol)
{
    int64_t begin = 0, end = reserved->n;
    while (begin < end) {
        int64_t middle = begin + (end - begin) / 2;
        if (reserved->items[middle].symbol == symbol) return reserved->items[middle].piece;
        if (reserved->items[middle].symbol < symbol) begin = middle + 1;
        else end = middle;
    }
    return symbol + reserved->n_pieces;
}

/* The state that all phases of a training run share. */
typedef struct bpe_state {
    const unitok_rules *rules; /* NULL: any piece is allowed, and pairs are ranked by symbols */
    uint64_t floor;            /* a pair with a smaller count at its creation is dropped */
    bpe_text text;
    symbol_list symbols;
    reserved_list reserved; /* empty if there are rules */
    pair_table pairs;
    position_store positions;
} bpe_state;

/* Adds a pair that is not in the table if the rules allow its piece. Returns 1, with space for
 * n_positions in *ret_positions; 0 if the rules do not allow it; -1 if allocation fails. */
int bpe_state_add(bpe_state *state, uint32_t left, uint32_t right, uint64_t count,
                  uint32_t n_positions, uint32_t **ret_positions);
