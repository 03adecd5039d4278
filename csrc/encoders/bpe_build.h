/* bpe_build.h - shared by the files that build a BPE model
 *
 *     bpe_build.c         starts and finishes the model
 *     bpe_build_pieces.c  finds the symbols and pairs of a SentencePiece model
 *     bpe_build_merges.c  finds the symbols and pairs of a Hugging Face model
 *     bpe_build_tables.c  lays out the tables
 *     bpe_build_characters.c  finds the characters that bytes always merge into
 */
#pragma once

#include "encoders/bpe_tables.h"
#include "structures/vocabulary.h"

typedef struct bpe_builder {
    const unitok_spec *spec;
    bpe *m;
    uint8_t *take;        /* [piece]: whether the current step includes it */
    uint32_t *numbers;    /* [piece]: its symbol */
    string_table strings; /* all pieces */
    uint64_t *pairs;      /* the pairs in the order in which they were found, as table slots */
    uint64_t *hashes;     /* the hashes of the prefixes of a piece */
    uint64_t *powers;     /* powers of the hash factor of `strings` */
    uint8_t *is_direct;   /* [piece]: whether its own text merges into it */
    int64_t n_pairs, pairs_capacity, symbols_capacity;
    unitok_error *error;
} bpe_builder;

INLINE int is_mergeable(const unitok_spec *spec, int64_t k)
{
    return piece_type(spec, k) == UNITOK_PIECE_NORMAL || piece_type(spec, k) == UNITOK_PIECE_UNUSED;
}

/* The size of the first character; with UNITOK_BYTES, always 1. */
INLINE int64_t first_bytes(const unitok_spec *spec, const uint8_t *text, int64_t n_bytes)
{
    if (spec->flags & UNITOK_BYTES) return 1;
    return char_bytes(text[0]) < n_bytes ? char_bytes(text[0]) : n_bytes;
}

/* The size of the longest piece. */
int64_t bpe_longest_bytes(const unitok_spec *spec);

/* Starts a model with the pieces of a spec. Call bpe_build_finish even after a failure; it frees
 * the builder. */
int32_t bpe_build_start(bpe_builder *b, const unitok_spec *spec, int has_merges,
                        unitok_error *error);
int32_t bpe_build_finish(bpe_builder *b, int32_t status, bpe **ret);

/* Add a symbol, or the symbol of a character; return SYMBOL_NONE if allocation fails. */
uint32_t bpe_add_symbol(bpe_builder *b, int64_t id, int64_t n_bytes, int is_unused);
uint32_t bpe_add_character(bpe_builder *b, const uint8_t *text, int64_t n_bytes, int64_t id,
                           int is_unused);

/* Allocate n merges, each with its own rank, and add a pair that makes one of them. Return 0 if
 * allocation fails. */
int bpe_begin_merges(bpe *m, int64_t n);
int bpe_add_pair(bpe_builder *b, uint32_t left, uint32_t right, int64_t merge);

/* Builds the tables derived from all pieces and pairs. Returns 0 if allocation fails. */
int bpe_build_tables(bpe_builder *b);

/* Fills m->characters. Returns 0 if allocation fails. Call it after the pairs are in their final
 * places. */
int bpe_build_characters(bpe_builder *b);
