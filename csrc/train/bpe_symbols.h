/* bpe_symbols.h - the symbols of the BPE trainer: first the characters, then one symbol per merge
 */
#pragma once

#include "ground/common.h"
#include "unitok_train.h"

/* 16 bytes. n_chars is also the number of slots of the symbol. */
typedef struct symbol {
    uint64_t begin; /* of its bytes in `bytes` */
    uint32_t n_bytes;
    uint32_t n_chars;
} symbol;

/* Symbols by number, and their bytes end to end in the same order:
 *
 *     items    | a | b | c | ... | ab | abc |        characters, then merges
 *     bytes      a   b   c   ...   a b  a b c */
typedef struct symbol_list {
    symbol *items;
    int64_t n, capacity;
    uint8_t *bytes;
    int64_t n_bytes, bytes_capacity;
    uint8_t *piece; /* the bytes of two symbols, written by symbol_list_join */
    int64_t piece_capacity;
} symbol_list;

void symbol_list_free(symbol_list *list);
int64_t symbol_list_memory(const symbol_list *list);
/* Adds a symbol of these bytes; returns its number, or -1 if allocation fails. */
int64_t symbol_list_add(symbol_list *list, const uint8_t *bytes, int64_t n_bytes, uint32_t n_chars);
/* Joins the bytes of two symbols in list->piece; returns the number of bytes, or -1 if allocation
 * fails. */
int64_t symbol_list_join(symbol_list *list, uint32_t left, uint32_t right);
/* Removes all symbols except the first n. */
void symbol_list_cut(symbol_list *list, int64_t n);
