/* bpe_pairs.c - the tables of bpe_pairs.h */

#include "train/bpe_pairs.h"

/* ------------------------------------------------------------------------------------------------ Pairs ---- */

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
    return (int64_t)(sizeof *table->slots << table->bits) + (int64_t)table->room * (int64_t)sizeof *table->pairs;
}

static void enter(pair_table *table, uint32_t index)
{
    uint32_t mask = (UINT32_C(1) << table->bits) - 1;
    uint32_t at = pair_hash(table->pairs[index].left, table->pairs[index].right);
    while (table->slots[at & mask]) at++;
    table->slots[at & mask] = index + 1;
}

uint32_t pair_table_add(pair_table *table, uint32_t left, uint32_t right)
{
    if (table->n == table->room) {
        uint64_t room = (uint64_t)table->room + table->room / 2 + 1024;
        pair *pairs = room < NO_PAIR ? mem_realloc(table->pairs, (size_t)room * sizeof *pairs) : NULL;
        if (!pairs) return NO_PAIR;
        table->pairs = pairs;
        table->room = (uint32_t)room;
    }
    if (3 * ((uint64_t)table->n + 1) > UINT64_C(2) << table->bits) {
        uint32_t *slots = table->bits < 31 ? mem_zalloc((size_t)2 << table->bits, sizeof *slots) : NULL;
        if (!slots) return NO_PAIR;
        mem_free(table->slots);
        table->slots = slots;
        table->bits++;
        for (uint32_t i = 0; i < table->n; i++) enter(table, i);
    }
    memset(&table->pairs[table->n], 0, sizeof *table->pairs);
    table->pairs[table->n].left = left;
    table->pairs[table->n].right = right;
    enter(table, table->n);
    return table->n++;
}

/* What was added last was entered last, so it lies behind nothing that others are found by. */
static void leave(pair_table *table, uint32_t index)
{
    uint32_t mask = (UINT32_C(1) << table->bits) - 1;
    uint32_t at = pair_hash(table->pairs[index].left, table->pairs[index].right);
    while (table->slots[at & mask] != index + 1) at++;
    table->slots[at & mask] = 0;
}

void pair_table_drop(pair_table *table, uint32_t begin, uint64_t least, uint32_t *remap)
{
    uint32_t end = table->n;
    for (uint32_t i = end; i > begin; i--) leave(table, i - 1);
    table->n = begin;
    for (uint32_t i = begin; i < end; i++) {
        const pair *p = &table->pairs[i];
        int is_kept = !p->is_dead && p->count >= least;
        if (remap) remap[i - begin] = is_kept ? table->n : NO_PAIR;
        if (!is_kept) continue;
        table->pairs[table->n] = *p;
        enter(table, table->n++);
    }
}

void pair_table_clear(pair_table *table)
{
    table->n = 0;
    memset(table->slots, 0, sizeof *table->slots << table->bits);
}

int pair_table_trim(pair_table *table)
{
    uint32_t room = table->n + table->n / 4 + 1024;
    if (room >= table->room) return 1;
    int bits = 12;
    while (UINT64_C(2) << bits < 3 * ((uint64_t)room + 1)) bits++;
    uint32_t *slots = mem_zalloc((size_t)1 << bits, sizeof *slots);
    pair *pairs = slots ? mem_realloc(table->pairs, (size_t)room * sizeof *pairs) : NULL;
    if (!pairs) {
        mem_free(slots);
        return 0;
    }
    mem_free(table->slots);
    table->slots = slots;
    table->pairs = pairs;
    table->room = room;
    table->bits = bits;
    for (uint32_t i = 0; i < table->n; i++) enter(table, i);
    return 1;
}

/* -------------------------------------------------------------------------------------------- Positions ---- */

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

/* ----------------------------------------------------------------------------------------------- Pieces ---- */

int piece_set_init(piece_set *set)
{
    set->bits = 10;
    set->places = mem_zalloc((size_t)1 << set->bits, sizeof *set->places);
    return set->places != NULL;
}

void piece_set_free(piece_set *set)
{
    mem_free(set->places);
}

void piece_set_clear(piece_set *set)
{
    memset(set->places, 0, sizeof *set->places << set->bits);
    set->n = 0;
}

static uint32_t hash_piece(const uint8_t *piece, int64_t n_bytes)
{
    uint64_t hash = 0;
    for (int64_t i = 0; i < n_bytes; i++) hash = (hash ^ piece[i]) * UINT64_C(0x9E3779B97F4A7C15) + 1;
    return (uint32_t)((hash ^ hash >> 31) * UINT64_C(0xD6E8FEB86659FD93) >> 32);
}

int piece_set_has(const piece_set *set, const uint8_t *bytes, const uint8_t *piece, int64_t n_bytes)
{
    uint32_t mask = (UINT32_C(1) << set->bits) - 1, hash = hash_piece(piece, n_bytes);
    for (uint32_t at = hash;; at++) {
        const struct piece_place *place = &set->places[at & mask];
        if (!place->n_bytes) return 0;
        if (place->hash == hash && place->n_bytes == n_bytes && !memcmp(bytes + place->begin, piece, (size_t)n_bytes))
            return 1;
    }
}

static void settle(piece_set *set, struct piece_place place)
{
    uint32_t mask = (UINT32_C(1) << set->bits) - 1, at = place.hash;
    while (set->places[at & mask].n_bytes) at++;
    set->places[at & mask] = place;
}

int piece_set_add(piece_set *set, const uint8_t *bytes, uint64_t begin, int64_t n_bytes)
{
    if (2 * (set->n + 1) > INT64_C(1) << set->bits) {
        piece_set larger = {NULL, set->n, set->bits + 1};
        larger.places = mem_zalloc((size_t)1 << larger.bits, sizeof *larger.places);
        if (!larger.places) return 0;
        for (int64_t i = 0; i < INT64_C(1) << set->bits; i++)
            if (set->places[i].n_bytes) settle(&larger, set->places[i]);
        mem_free(set->places);
        *set = larger;
    }
    settle(set, (struct piece_place){begin, (uint32_t)n_bytes, hash_piece(bytes + begin, n_bytes)});
    set->n++;
    return 1;
}
