/* lexicon.c - builds the trie of pieces: see lexicon.h
 *
 * Threads build the trie in parts, each from a range of the sorted pieces whose first bytes occur
 * in no other range, and unitok_lexicon_join puts the parts together:
 *
 *     pieces      | a … │ b … f … │ g … z … |    sorted; ranges end where the first byte changes
 *     parts       | 0   │ 1       │ 2       |        one thread each
 *     joined      one trie with the numbers of the complete list */

#include "train/lexicon.h"

#include "ground/alloc.h"
#include "ground/error.h"
#include "ground/packed.h"

/* Completes a lexicon with its trie, or frees it if `status` is an error. */
static int32_t finish(unitok_lexicon *lexicon, const trie_parts *parts, int32_t status,
                      unitok_lexicon **ret)
{
    if (status) {
        mem_free(lexicon);
        return status;
    }
    lexicon->units = parts->units;
    lexicon->n_units = parts->n_units;
    *ret = lexicon;
    return UNITOK_OK;
}

/* The pieces are sorted by their bytes. Even in a part, a piece has its number in the complete
 * list, so joining changes no number. */
int32_t unitok_lexicon_new(const uint8_t *data, const int64_t *offsets, int64_t begin, int64_t end,
                           int32_t is_part, unitok_lexicon **ret, unitok_error *error)
{
    int64_t n_pieces = end - begin;
    const char *problem = begin < 0 ? "the range begins before the first piece"
                                    : check_offsets(offsets + begin, n_pieces);
    if (problem) return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, problem);
    if (end > TRIE_VALUE_MAX - 1)
        return fail(error, UNITOK_ERROR_ARGUMENT, -1, -1, "more than 8 million pieces");
    unitok_lexicon *lexicon = mem_zalloc(1, sizeof *lexicon);
    int64_t *ids = mem_alloc((size_t)(n_pieces + 1) * sizeof *ids);
    int32_t status = lexicon && ids ? UNITOK_OK : fail_memory(error);
    for (int64_t i = begin; i < end && !status; i++) {
        int64_t n_bytes = offsets[i + 1] - offsets[i];
        if (n_bytes == 0) status = fail(error, UNITOK_ERROR_ARGUMENT, i, -1, "a piece is empty");
        if (n_bytes > lexicon->max_piece_bytes) lexicon->max_piece_bytes = n_bytes;
        ids[i - begin] = i;
    }
    trie_parts parts;
    if (!status)
        status = (is_part ? trie_build_part : trie_build)(data, offsets + begin, ids, n_pieces,
                                                          &parts, error);
    mem_free(ids);
    if (!status) lexicon->n_pieces = end;
    return finish(lexicon, &parts, status, ret);
}

/* The caller keeps the parts. n_pieces is the end of the highest range. */
int32_t unitok_lexicon_join(const unitok_lexicon *const *parts, int64_t n_parts,
                            unitok_lexicon **ret, unitok_error *error)
{
    unitok_lexicon *lexicon = mem_zalloc(1, sizeof *lexicon);
    trie_parts joined, *tries = mem_alloc((size_t)(n_parts + 1) * sizeof *tries);
    int32_t status = lexicon && tries ? UNITOK_OK : fail_memory(error);
    for (int64_t i = 0; i < n_parts && !status; i++) {
        tries[i] = (trie_parts){parts[i]->units, parts[i]->n_units};
        if (parts[i]->n_pieces > lexicon->n_pieces) lexicon->n_pieces = parts[i]->n_pieces;
        if (parts[i]->max_piece_bytes > lexicon->max_piece_bytes)
            lexicon->max_piece_bytes = parts[i]->max_piece_bytes;
    }
    if (!status) status = trie_join(tries, n_parts, &joined, error);
    mem_free(tries);
    return finish(lexicon, &joined, status, ret);
}

/* The trie was allocated by trie_build and belongs to the lexicon alone. */
void unitok_lexicon_free(unitok_lexicon *lexicon)
{
    if (!lexicon) return;
    mem_free(lexicon->units);
    mem_free(lexicon);
}
