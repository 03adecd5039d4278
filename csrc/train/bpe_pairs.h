/* bpe_pairs.h - the tables of the BPE trainer: pairs of symbols, their positions, and the pieces made so far */
#pragma once

#include "ground/alloc.h"
#include "ground/common.h"

#define NO_PAIR UINT32_MAX

typedef struct pair {
    uint64_t count;
    uint32_t *positions; /* slots where it began when it was born; some are stale */
    uint32_t n_positions;
    uint32_t left, right; /* symbols */
    uint32_t is_dead;     /* not allowed, merged, or a piece already */
} pair;

/* Pairs by (left, right), open addressing: slots hold index + 1. */
typedef struct pair_table {
    pair *pairs;
    uint32_t *slots;
    uint32_t n, room;
    int bits;
} pair_table;

INLINE uint32_t pair_hash(uint32_t left, uint32_t right)
{
    uint64_t hash = ((uint64_t)left << 32 | right) * UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)((hash ^ hash >> 29) * UINT64_C(0xD6E8FEB86659FD93) >> 32);
}

INLINE uint32_t pair_table_find(const pair_table *table, uint32_t left, uint32_t right)
{
    uint32_t mask = (UINT32_C(1) << table->bits) - 1;
    for (uint32_t at = pair_hash(left, right);; at++) {
        uint32_t slot = table->slots[at & mask];
        if (!slot) return NO_PAIR;
        const pair *p = &table->pairs[slot - 1];
        if (p->left == left && p->right == right) return slot - 1;
    }
}

int pair_table_init(pair_table *table); /* 0 when memory is short */
void pair_table_free(pair_table *table);
int64_t pair_table_memory(const pair_table *table);
/* Adds a pair that is not there; NO_PAIR when memory is short. */
uint32_t pair_table_add(pair_table *table, uint32_t left, uint32_t right);
/* Drops pairs from `begin` on that are dead or occur less than `least` times; begin..n-1 are the last that were added.
 * remap[i - begin], if not NULL: what became of pair i, or NO_PAIR. */
void pair_table_drop(pair_table *table, uint32_t begin, uint64_t least, uint32_t *remap);
void pair_table_clear(pair_table *table);
int pair_table_trim(pair_table *table); /* gives back what it does not need; 0 when memory is short */

/* Positions in blocks that are never given back: a trainer makes at most three per character. */
typedef struct position_block {
    struct position_block *next;
    uint32_t slots[];
} position_block;

typedef struct position_store {
    position_block *blocks;
    size_t n_used, room; /* of the first block */
    int64_t memory_bytes;
} position_store;

uint32_t *position_store_take(position_store *store, uint32_t n); /* NULL when memory is short */
void position_store_free(position_store *store); /* it is empty then, and can be used again */

/* Pieces by their bytes, which are in an array of the caller's: begin and length of each. */
typedef struct piece_set {
    struct piece_place {
        uint64_t begin;
        uint32_t n_bytes, hash; /* n_bytes 0: free */
    } *places;
    int64_t n;
    int bits;
} piece_set;

int piece_set_init(piece_set *set);
void piece_set_free(piece_set *set);
void piece_set_clear(piece_set *set);
int piece_set_has(const piece_set *set, const uint8_t *bytes, const uint8_t *piece, int64_t n_bytes);
int piece_set_add(piece_set *set, const uint8_t *bytes, uint64_t begin, int64_t n_bytes); /* 0 when memory is short */
