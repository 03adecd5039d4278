/* bpe_build.c - starts and finishes a BPE model (bpe_build.h)
 *
 * Both kinds of model are built in three steps, of which only the second one differs:
 *
 *     bpe_build_start     the pieces by their bytes; symbol 0
 *     bpe_add_…           first the symbols of characters, then those of pieces, in b->numbers;
 *                         then the pairs, those of the best merge first
 *     bpe_build_finish    the tables; frees the builder, and after a failure also the model
 *
 * Symbols are numbered in the order in which they are added. Pairs of the first BPE_DENSE symbols
 * are found fastest, so the characters of frequent pieces should be among them. */

#include "encoders/bpe_build.h"

#include "ground/alloc.h"
#include "ground/error.h"
#include "ground/grow.h"

/* The three arrays of symbols grow together. Each call to grow changes the capacity that it is
 * passed, so each call gets a copy; the copies are equal afterwards. */
uint32_t bpe_add_symbol(bpe_builder *b, int64_t id, int64_t n_bytes, int is_unused)
{
    bpe *m = b->m;
    int64_t capacity = b->symbols_capacity, same = capacity, again = capacity;
    if (m->n_symbols >= BPE_SYMBOLS_MAX ||
        !grow(&m->ids, m->n_symbols, &capacity, sizeof *m->ids) ||
        !grow(&m->lengths, m->n_symbols, &same, sizeof *m->lengths) ||
        !grow(&m->is_unused, m->n_symbols, &again, sizeof *m->is_unused))
        return SYMBOL_NONE;
    b->symbols_capacity = capacity;
    m->ids[m->n_symbols] = (int32_t)id;
    m->lengths[m->n_symbols] = (uint32_t)n_bytes;
    m->is_unused[m->n_symbols] = (uint8_t)is_unused;
    return m->n_symbols++;
}

/* Characters are also entered in the table that divides texts into symbols (symbols.h). */
uint32_t bpe_add_character(bpe_builder *b, const uint8_t *text, int64_t n_bytes, int64_t id,
                           int is_unused)
{
    uint32_t symbol = bpe_add_symbol(b, id, n_bytes, is_unused);
    return symbol && symbols_add(&b->m->symbols, text, n_bytes, symbol) ? symbol : SYMBOL_NONE;
}

/* Pairs are collected in a list, because the size of the table that will hold them is not known
 * yet. If a pair is listed twice, the last one counts, since the tables are filled in this
 * order. */
int bpe_add_pair(bpe_builder *b, uint32_t left, uint32_t right, int64_t merge)
{
    if (!grow(&b->pairs, b->n_pairs, &b->pairs_capacity, sizeof *b->pairs)) return 0;
    b->pairs[b->n_pairs++] = bpe_pair_key(left, right) << BPE_MERGE_BITS | (uint64_t)merge;
    return 1;
}

/* Initially, the rank of each merge is its own number; see rank_of in bpe.c. */
int bpe_begin_merges(bpe *m, int64_t n)
{
    m->n_merges = m->tied_from = (uint32_t)n;
    m->made = mem_zalloc((size_t)n + 1, sizeof *m->made);
    for (int64_t k = 0; k < n && m->made; k++) m->made[k].rank = (uint32_t)k;
    return m->made != NULL;
}

int64_t bpe_longest_bytes(const unitok_spec *spec)
{
    int64_t longest = 0;
    for (int64_t k = 0; k < spec->n_pieces; k++)
        if (spec->offsets[k + 1] - spec->offsets[k] > longest)
            longest = spec->offsets[k + 1] - spec->offsets[k];
    return longest;
}

/* Whether a piece is ignored, as in the reference. Such a piece can occur several times. */
static int is_nul_piece(const unitok_spec *spec, int64_t k)
{
    return spec->offsets[k + 1] - spec->offsets[k] == 1 && spec->data[spec->offsets[k]] == 0 &&
           piece_type(spec, k) == UNITOK_PIECE_UNUSED;
}

/* Symbol 0 is SYMBOL_NONE, an unknown character. powers[] lets the hash of any part of a piece be
 * computed from the hashes of two prefixes (string_table_part_hash), so testing every split of a
 * piece takes time linear in its length. */
int32_t bpe_build_start(bpe_builder *b, const unitok_spec *spec, int has_merges,
                        unitok_error *error)
{
    int64_t longest = bpe_longest_bytes(spec), twice = -1;
    memset(b, 0, sizeof *b);
    b->spec = spec;
    b->error = error;
    b->take = mem_zalloc((size_t)spec->n_pieces + 1, sizeof *b->take);
    b->numbers = mem_zalloc((size_t)spec->n_pieces + 1, sizeof *b->numbers);
    b->is_direct = mem_zalloc((size_t)spec->n_pieces + 1, sizeof *b->is_direct);
    b->hashes = mem_alloc((size_t)(longest + 1) * sizeof *b->hashes);
    b->powers = mem_alloc((size_t)(longest + 1) * sizeof *b->powers);
    b->m = mem_zalloc(1, sizeof *b->m);
    if (!b->take || !b->numbers || !b->is_direct || !b->hashes || !b->powers || !b->m ||
        !symbols_new(&b->m->symbols, (spec->flags & UNITOK_BYTES) != 0) ||
        bpe_add_symbol(b, TOKEN_UNKNOWN, 0, 0) != SYMBOL_NONE || b->m->n_symbols == 0)
        return fail_memory(error);
    b->m->has_merges = has_merges;
    int32_t status = UNITOK_OK;
    for (int64_t k = 0; k < spec->n_pieces; k++) b->take[k] = has_merges || !is_nul_piece(spec, k);
    if (spec->n_pieces >= BPE_SYMBOLS_MAX)
        status = fail(error, UNITOK_ERROR_VOCABULARY, -1, -1, "too many pieces");
    if (!status)
        status = string_table_build(&b->strings, spec->data, spec->offsets, spec->n_pieces, b->take,
                                    &twice, error);
    if (status) return status;
    b->powers[0] = 1;
    for (int64_t i = 1; i <= longest; i++)
        b->powers[i] = string_table_multiply_add(b->powers[i - 1], b->strings.factor, 0);
    if (twice >= 0) return fail(error, UNITOK_ERROR_VOCABULARY, twice, -1, "a piece occurs twice");
    return UNITOK_OK;
}

/* Keeps the pieces that only BPE_IGNORE_MERGES produces. */
static int32_t keep_unmerged(bpe_builder *b)
{
    unitok_spec unmerged = *b->spec;
    unmerged.types = b->is_direct; /* words_new takes the pieces of type NORMAL */
    for (int64_t k = 0; k < b->spec->n_pieces; k++) {
        b->m->n_unmerged += !b->is_direct[k];
        b->is_direct[k] = b->is_direct[k] ? UNITOK_PIECE_CONTROL : UNITOK_PIECE_NORMAL;
    }
    if (!b->m->n_unmerged) return UNITOK_OK;
    b->m->traits |= BPE_WHOLE;
    return words_new(&unmerged, &b->m->pieces, b->error);
}

/* The pieces and pairs are known; only the tables derived from them remain. */
int32_t bpe_build_finish(bpe_builder *b, int32_t status, bpe **ret)
{
    if (status == UNITOK_OK && !bpe_build_tables(b)) status = fail_memory(b->error);
    if (status == UNITOK_OK && b->m->flags & BPE_IGNORE_MERGES) status = keep_unmerged(b);
    mem_free(b->take);
    mem_free(b->numbers);
    mem_free(b->is_direct);
    mem_free(b->hashes);
    mem_free(b->powers);
    mem_free(b->pairs);
    string_table_free(&b->strings);
    if (status == UNITOK_OK) *ret = b->m;
    else bpe_free(b->m);
    return status;
}

void bpe_free(bpe *m)
{
    if (!m) return;
    symbols_free(&m->symbols);
    words_free(&m->pieces);
    mem_free(m->pairs.slots);
    mem_free(m->pairs.filter);
    mem_free(m->rest.slots);
    mem_free(m->rest.filter);
    mem_free(m->dense);
    mem_free(m->direct);
    mem_free(m->direct_filter);
    mem_free(m->characters);
    mem_free(m->made);
    mem_free(m->ids);
    mem_free(m->lengths);
    mem_free(m->is_unused);
    mem_free(m);
}
