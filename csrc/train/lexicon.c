/* lexicon.c - building the trie of pieces: see lexicon.h */

#include "train/lexicon.h"

#include "ground/alloc.h"
#include "ground/error.h"
#include "ground/packed.h"

int32_t unitok_lexicon_new(const uint8_t *data, const int64_t *offsets, int64_t n_pieces, unitok_lexicon **ret,
                           unitok_error *error)
{
    const char *problem = check_offsets(offsets, n_pieces);
    if (problem) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, problem);
    if (n_pieces > TRIE_VALUE_MAX - 1) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "more than 8 million pieces");
    unitok_lexicon *lexicon = mem_zalloc(1, sizeof *lexicon);
    int64_t *ids = mem_alloc((size_t)(n_pieces + 1) * sizeof *ids);
    int32_t status = lexicon && ids ? UNITOK_OK : fail_memory(error);
    for (int64_t i = 0; i < n_pieces && !status; i++) {
        int64_t n_bytes = offsets[i + 1] - offsets[i];
        if (n_bytes == 0) status = fail(error, UNITOK_ERROR_ARGUMENT, i, -1, "a piece is empty");
        if (n_bytes > lexicon->max_piece_bytes) lexicon->max_piece_bytes = n_bytes;
        ids[i] = i;
    }
    trie_parts parts;
    if (!status) status = trie_build(data, offsets, ids, n_pieces, &parts, error);
    mem_free(ids);
    if (status) {
        mem_free(lexicon);
        return status;
    }
    lexicon->units = parts.units;
    lexicon->n_units = parts.n_units;
    lexicon->n_pieces = n_pieces;
    *ret = lexicon;
    return UNITOK_OK;
}

void unitok_lexicon_free(unitok_lexicon *lexicon)
{
    if (!lexicon) return;
    mem_free(lexicon->units);
    mem_free(lexicon);
}

int64_t unitok_lexicon_memory_bytes(const unitok_lexicon *lexicon)
{
    return lexicon->n_units * (int64_t)sizeof *lexicon->units;
}
