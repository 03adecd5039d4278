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
    int64_t n, room;
    uint8_t *bytes;
    int64_t n_bytes, bytes_room;
    uint8_t *piece; /* two symbols joined, to be looked at */
    int64_t piece_room;
} symbol_list;

void symbol_list_free(symbol_list *list);
int64_t symbol_list_memory(const symbol_list *list);
/* A new symbol of these bytes; -1 when memory is short. */
int64_t symbol_list_add(symbol_list *list, const uint8_t *bytes, int64_t n_bytes, uint32_t n_chars);
/* The bytes of two symbols, joined in list->piece; their number, or -1 when memory is short. */
int64_t symbol_list_join(symbol_list *list, uint32_t left, uint32_t right);
void symbol_list_cut(symbol_list *list, int64_t n); /* forgets all but the first n */

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
int piece_set_has(const piece_set *set, const uint8_t *bytes, const uint8_t *piece,
                  int64_t n_bytes);
/* 0 when memory is short */
int piece_set_add(piece_set *set, const uint8_t *bytes, uint64_t begin, int64_t n_bytes);
