/* bpe_symbols.c - stores the symbols and their bytes: see bpe_symbols.h
 *
 * The trainer refers to a symbol by its number. The bytes are needed only to check a pair against
 * the rules, to rank it, or to export a piece, so they are stored in a separate array. */

#include "train/bpe_symbols.h"

#include "ground/grow.h"

void symbol_list_free(symbol_list *list)
{
    mem_free(list->items);
    mem_free(list->bytes);
    mem_free(list->piece);
}

/* Counts all allocated memory, not only the used part. */
int64_t symbol_list_memory(const symbol_list *list)
{
    return list->capacity * (int64_t)sizeof *list->items + list->bytes_capacity +
           list->piece_capacity;
}

/* The bytes of all symbols are stored end to end: a symbol takes 16 bytes plus the size of its
 * piece. */
int64_t symbol_list_add(symbol_list *list, const uint8_t *bytes, int64_t n_bytes, uint32_t n_chars)
{
    if (!grow(&list->items, list->n, &list->capacity, sizeof *list->items)) return -1;
    if (!grow(&list->bytes, list->n_bytes + n_bytes, &list->bytes_capacity, 1)) return -1;
    memcpy(list->bytes + list->n_bytes, bytes, (size_t)n_bytes);
    list->items[list->n] = (symbol){(uint64_t)list->n_bytes, (uint32_t)n_bytes, n_chars};
    list->n_bytes += n_bytes;
    return list->n++;
}

/* Pairs are checked against the rules far more often than they are merged, so the bytes are joined
 * in a reused buffer. */
int64_t symbol_list_join(symbol_list *list, uint32_t left, uint32_t right)
{
    const symbol *a = &list->items[left], *b = &list->items[right];
    int64_t n = (int64_t)a->n_bytes + b->n_bytes;
    if (!grow(&list->piece, n + 8, &list->piece_capacity, 1)) return -1;
    memcpy(list->piece, list->bytes + a->begin, a->n_bytes);
    memcpy(list->piece + a->n_bytes, list->bytes + b->begin, b->n_bytes);
    return n;
}

/* The bytes of the removed symbols are at the end, and are removed too. */
void symbol_list_cut(symbol_list *list, int64_t n)
{
    list->n = n;
    list->n_bytes = n ? (int64_t)(list->items[n - 1].begin + list->items[n - 1].n_bytes) : 0;
}
