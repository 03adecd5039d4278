/* bpe_pairs.c - the tables of bpe_pairs.h */

#include "train/bpe_pairs.h"

/* ----------------------------------------------------------------------------------- Pairs ---- */

int pair_table_init(pair_table *table)
{
    table->bits = 12;
    table->slots = mem_zalloc((size_t)1 << table->bits, sizeof *table->slots);
    return table->slots != NULL;
}

void pair_table_free(pair_table *table)
{
    mem_free(table->slots);
    mem_free(table->pairs);
}

int64_t pair_table_memory(const pair_table *table)
{
    return (int64_t)(sizeof *table->slots << table->bits) +
           (int64_t)table->room * (int64_t)sizeof *table->pairs;
}

static void enter(uint64_t *slots, int bits, uint64_t slot)
{
    uint32_t mask = (UINT32_C(1) << bits) - 1, at = (uint32_t)(slot >> 32);
    while (slots[at & mask]) at++;
    slots[at & mask] = slot;
}

static int grow_slots(pair_table *table)
{
    uint64_t *slots = table->bits < 31 ? mem_zalloc((size_t)2 << table->bits, sizeof *slots) : NULL;
    if (!slots) return 0;
    for (size_t i = 0; i < (size_t)1 << table->bits; i++)
        if (table->slots[i]) enter(slots, table->bits + 1, table->slots[i]);
    mem_free(table->slots);
    table->slots = slots;
    table->bits++;
    return 1;
}

uint32_t pair_table_add(pair_table *table, uint32_t left, uint32_t right)
{
    if (table->n == table->room) {
        uint64_t room = (uint64_t)table->room + table->room / 2 + 1024;
        pair *pairs = room < NO_PAIR ? mem_realloc(table->pairs, (size_t)room * sizeof *pairs)
                                     : NULL;
        if (!pairs) return NO_PAIR;
        table->pairs = pairs;
        table->room = (uint32_t)room;
    }
    if (2 * ((uint64_t)table->n + 1) > UINT64_C(1) << table->bits && !grow_slots(table))
        return NO_PAIR;
    table->pairs[table->n] = (pair){.left = left, .right = right};
    enter(table->slots, table->bits, (uint64_t)pair_hash(left, right) << 32 | (table->n + 1));
    return table->n++;
}

void pair_table_clear(pair_table *table)
{
    table->n = 0;
    memset(table->slots, 0, sizeof *table->slots << table->bits);
}

/* ------------------------------------------------------------------------------------------
 * Positions ---- */

#define BLOCK_POSITIONS ((size_t)1 << 16)

uint32_t *position_store_take(position_store *store, uint32_t n)
{
    if (!store->blocks || store->room - store->n_used < n) {
        size_t room = n > BLOCK_POSITIONS ? n : BLOCK_POSITIONS;
        position_block *block = mem_alloc(sizeof *block + room * sizeof *block->slots);
        if (!block) return NULL;
        block->next = store->blocks;
        store->blocks = block;
        store->n_used = 0;
        store->room = room;
        store->memory_bytes += (int64_t)(sizeof *block + room * sizeof *block->slots);
    }
    uint32_t *taken = store->blocks->slots + store->n_used;
    store->n_used += n;
    return taken;
}

void position_store_free(position_store *store)
{
    while (store->blocks) {
        position_block *next = store->blocks->next;
        mem_free(store->blocks);
        store->blocks = next;
    }
    *store = (position_store){0};
}
