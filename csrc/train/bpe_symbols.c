/* bpe_symbols.c - the lists of bpe_symbols.h */

#include "train/bpe_symbols.h"

#include "ground/grow.h"

void symbol_list_free(symbol_list *list)
{
    mem_free(list->items);
    mem_free(list->bytes);
    mem_free(list->piece);
}

int64_t symbol_list_memory(const symbol_list *list)
{
    return list->room * (int64_t)sizeof *list->items + list->bytes_room + list->piece_room;
}

int64_t symbol_list_add(symbol_list *list, const uint8_t *bytes, int64_t n_bytes, uint32_t n_chars)
{
    if (!grow(&list->items, list->n, &list->room, sizeof *list->items)) return -1;
    if (!grow(&list->bytes, list->n_bytes + n_bytes, &list->bytes_room, 1)) return -1;
    memcpy(list->bytes + list->n_bytes, bytes, (size_t)n_bytes);
    list->items[list->n] = (symbol){(uint64_t)list->n_bytes, (uint32_t)n_bytes, n_chars};
    list->n_bytes += n_bytes;
    return list->n++;
}

int64_t symbol_list_join(symbol_list *list, uint32_t left, uint32_t right)
{
    const symbol *a = &list->items[left], *b = &list->items[right];
    int64_t n = (int64_t)a->n_bytes + b->n_bytes;
    if (!grow(&list->piece, n + 8, &list->piece_room, 1)) return -1;
    memcpy(list->piece, list->bytes + a->begin, a->n_bytes);
    memcpy(list->piece + a->n_bytes, list->bytes + b->begin, b->n_bytes);
    return n;
}

void symbol_list_cut(symbol_list *list, int64_t n)
{
    list->n = n;
    list->n_bytes = n ? (int64_t)(list->items[n - 1].begin + list->items[n - 1].n_bytes) : 0;
}

/* ---------------------------------------------------------------------------------- Pieces ---- */

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
    for (int64_t i = 0; i < n_bytes; i++)
        hash = (hash ^ piece[i]) * UINT64_C(0x9E3779B97F4A7C15) + 1;
    return (uint32_t)((hash ^ hash >> 31) * UINT64_C(0xD6E8FEB86659FD93) >> 32);
}

int piece_set_has(const piece_set *set, const uint8_t *bytes, const uint8_t *piece, int64_t n_bytes)
{
    uint32_t mask = (UINT32_C(1) << set->bits) - 1, hash = hash_piece(piece, n_bytes);
    for (uint32_t at = hash;; at++) {
        const struct piece_place *place = &set->places[at & mask];
        if (!place->n_bytes) return 0;
        if (place->hash == hash && place->n_bytes == n_bytes &&
            !memcmp(bytes + place->begin, piece, (size_t)n_bytes))
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
