/* bpe_symbols.h - the symbols of the BPE trainer: characters first, then a symbol for each merge */
#pragma once

#include "ground/common.h"
#include "unitok_train.h"

typedef struct symbol {
    uint64_t begin; /* of its bytes in `bytes` */
    uint32_t n_bytes;
    uint32_t n_chars;
} symbol;

typedef struct symbol_list {
    symbol *items;
    int64_t n, capacity;
    uint8_t *bytes;
    int64_t n_bytes, bytes_capacity;
    uint8_t *piece; /* two symbols joined, to be looked at */
    int64_t piece_capacity;
} symbol_list;

void symbol_list_free(symbol_list *list);
int64_t symbol_list_memory(const symbol_list *list);
/* A new symbol of these bytes; -1 when memory is short. */
int64_t symbol_list_add(symbol_list *list, const uint8_t *bytes, int64_t n_bytes, uint32_t n_chars);
/* The bytes of two symbols, joined in list->piece; their number, or -1 when memory is short. */
int64_t symbol_list_join(symbol_list *list, uint32_t left, uint32_t right);
void symbol_list_cut(symbol_list *list, int64_t n); /* forgets all but the first n */
