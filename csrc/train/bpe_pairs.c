/* bpe_pairs.c - the table of pairs and the store of their positions: see bpe_pairs.h
 *
 * A pair enters the table when it is created and never leaves it; a pair that has been merged is
 * never taken from the heap again. So nothing is ever deleted from the open-addressed slots, and a
 * search can end at the first free slot.
 *
 *     pair_hash(l, r) = 9A3C0012    search from slot 9A3C0012 & mask:
 *     slots    | 41770012, 7 | 9A3C0012, 3 | 0 |        other hash: continue; equal hash: compare pairs[2]; free: absent
 *
 * Positions are stored separately, in blocks: the pairs move when their array grows, but the
 * positions, which take most of the memory, do not. */

#include "train/bpe_pairs.h"

/* ----------------------------------------------------------------------------------- Pairs ---- */

/* The slots are allocated here, so a search need not check for an empty table. */
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
           table->capacity * (int64_t)sizeof *table->pairs;
}

/* Writes a slot at the first free index from its hash on. The pair is known to be absent, so
 * nothing is compared. */
static void enter(uint64_t *slots, int bits, uint64_t slot)
{
    uint32_t mask = (UINT32_C(1) << bits) - 1, at = (uint32_t)(slot >> 32);
    while (slots[at & mask]) at++;
    slots[at & mask] = slot;
}

/* The hashes are in the slots, so the pairs are not read. */
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

/* The table is at most half full, so a search for an absent pair ends after a few slots. Most
 * searches are for absent pairs. */
uint32_t pair_table_add(pair_table *table, uint32_t left, uint32_t right)
{
    if (table->n == NO_PAIR - 1 ||
        !grow(&table->pairs, table->n, &table->capacity, sizeof *table->pairs))
        return NO_PAIR;
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

/* ------------------------------------------------------------------------------- Positions ---- */

#define BLOCK_POSITIONS ((size_t)1 << 16)

/* A request is for anywhere from one position to millions. A large request gets its own block; the
 * rest of the previous block stays unused. */
uint32_t *position_store_take(position_store *store, uint32_t n)
{
    if (!store->blocks || store->capacity - store->n_used < n) {
        size_t capacity = n > BLOCK_POSITIONS ? n : BLOCK_POSITIONS;
        position_block *block = mem_alloc(sizeof *block + capacity * sizeof *block->slots);
        if (!block) return NULL;
        block->next = store->blocks;
        store->blocks = block;
        store->n_used = 0;
        store->capacity = capacity;
        store->memory_bytes += (int64_t)(sizeof *block + capacity * sizeof *block->slots);
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

/* The rules are checked here, once per pair, and not when a pair reaches the top of the heap: pairs
 * that can never be merged cost no memory for positions. */
int bpe_state_add(bpe_state *s, uint32_t left, uint32_t right, uint64_t count, uint32_t n_positions,
                  uint32_t **ret_positions)
{
    int64_t n_bytes = s->rules ? symbol_list_join(&s->symbols, left, right) : 0;
    if (n_bytes < 0) return -1;
    if (s->rules && !rules_allow(s->rules, s->symbols.piece, n_bytes)) return 0;
    uint32_t index = pair_table_add(&s->pairs, left, right);
    if (index == NO_PAIR) return -1;
    *ret_positions = position_store_take(&s->positions, n_positions);
    s->pairs.pairs[index] = (pair){count, *ret_positions, n_positions, left, right};
    return *ret_positions ? 1 : -1;
}
