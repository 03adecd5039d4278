/* bpe_build_tables.c - the tables of a BPE model, built from all its pieces and pairs */

#include "encoders/bpe_build.h"

#include "ground/alloc.h"
#include "structures/probing.h"

/* Builds a table of n pairs: all pairs, or those whose is_wanted[place] is `wanted`, by their
 * place in `all`. Of equal pairs the last counts. 0 if allocation fails.
 *
 * Each turn tries another factor, and after PROBING_FACTORS of them twice the slots. A turn ends
 * as soon as a pair is too far from its place, so a hostile file costs a few turns, not O(n^2). */
static int fill_pairs(const bpe_builder *b, bpe_pairs *pairs, int64_t n, const bpe_pairs *all,
                      const uint8_t *is_wanted, int wanted)
{
    pairs->n_bits = 4;
    while (INT64_C(1) << pairs->n_bits < 2 * n) pairs->n_bits++;
    for (int turn = 0; pairs->n_bits <= BPE_PAIR_BITS_MAX; turn++) {
        int64_t n_slots = INT64_C(1) << pairs->n_bits;
        if (turn % PROBING_FACTORS == 0) mem_free(pairs->slots);
        if (turn % PROBING_FACTORS == 0)
            pairs->slots = mem_alloc((size_t)n_slots * sizeof *pairs->slots);
        if (!pairs->slots) return 0;
        memset(pairs->slots, 0xFF, (size_t)n_slots * sizeof *pairs->slots);
        pairs->factor = probing_factor(turn % PROBING_FACTORS);
        int is_crowded = 0;
        for (int64_t k = 0; k < b->n_pairs && !is_crowded; k++) {
            uint64_t key = b->pairs[k] >> BPE_MERGE_BITS, place;
            if (is_wanted && is_wanted[bpe_find_pair(all, key) - all->slots] != wanted) continue;
            uint64_t *slot = bpe_find_pair(pairs, key);
            *slot = b->pairs[k];
            place = (uint64_t)(slot - pairs->slots);
            is_crowded = ((place - bpe_pair_place(pairs, key)) & (uint64_t)(n_slots - 1)) >
                         PROBING_RUN_MAX;
        }
        if (!is_crowded && !probing_is_crowded(pairs->slots, 1, n_slots, BPE_FREE)) return 1;
        if (turn % PROBING_FACTORS == PROBING_FACTORS - 1) pairs->n_bits++;
    }
    return 0;
}

/* Builds the table of all pairs and the square of dense ones, which repeats some of them. */
static int lay_out_pairs(bpe_builder *b)
{
    bpe *m = b->m;
    m->dense = mem_alloc(BPE_DENSE * BPE_DENSE * sizeof *m->dense);
    if (!m->dense || !fill_pairs(b, &m->pairs, b->n_pairs, NULL, NULL, 0)) return 0;
    for (int k = 0; k < BPE_DENSE * BPE_DENSE; k++) m->dense[k] = BPE_NO_MERGE;
    for (int64_t k = 0; k < b->n_pairs; k++) {
        uint64_t key = b->pairs[k] >> BPE_MERGE_BITS;
        uint32_t left = (uint32_t)(key >> BPE_SYMBOL_BITS),
                 right = (uint32_t)key & (BPE_SYMBOLS_MAX - 1);
        if ((left | right) < BPE_DENSE)
            m->dense[left * BPE_DENSE + right] = (uint32_t)b->pairs[k] & BPE_NO_MERGE;
    }
    return 1;
}

/* Keeps the pairs in m->pairs whose slots are set in `met`, and moves the others to m->rest.
 * Without dropout the others can never occur: see bpe_tables.h. A smaller table has fewer cache
 * misses. */
static int divide_pairs(bpe_builder *b, const uint8_t *met)
{
    bpe *m = b->m;
    bpe_pairs all = m->pairs;
    int64_t n_met = 0;
    m->pairs.slots = NULL;
    for (int64_t at = 0; at < INT64_C(1) << all.n_bits; at++) n_met += met[at];
    int ok = fill_pairs(b, &m->pairs, n_met, &all, met, 1) &&
             fill_pairs(b, &m->rest, b->n_pairs - n_met, &all, met, 0);
    mem_free(all.slots);
    return ok;
}

/* Computes which symbols can merge with the result of each merge, first by symbol. A filter has
 * 32 bits, and bit s & 31 stands for all symbols of that remainder, so it errs only to "may
 * merge". */
static int set_neighbours(bpe *m)
{
    uint32_t *lefts = mem_zalloc((size_t)2 * m->n_symbols, sizeof *lefts), *rights;
    if (!lefts) return 0;
    rights = lefts + m->n_symbols;
    for (int64_t at = 0; at < INT64_C(1) << m->pairs.n_bits; at++) {
        uint64_t key = m->pairs.slots[at] >> BPE_MERGE_BITS;
        uint32_t left = (uint32_t)(key >> BPE_SYMBOL_BITS),
                 right = (uint32_t)key & (BPE_SYMBOLS_MAX - 1);
        if (m->pairs.slots[at] == BPE_FREE) continue;
        rights[left] |= UINT32_C(1) << (right & 31);
        lefts[right] |= UINT32_C(1) << (left & 31);
    }
    for (uint32_t k = 0; k < m->n_merges; k++) {
        m->made[k].lefts = lefts[m->made[k].symbol];
        m->made[k].rights = rights[m->made[k].symbol];
    }
    mem_free(lefts);
    return 1;
}

/* Lengths are used only if there are unused pieces, which are split again. Without any, both
 * arrays go, and a NULL pointer tells the encoder that no symbol has to be checked. */
static void drop_unused(bpe *m)
{
    for (uint32_t k = 0; k < m->n_symbols; k++)
        if (m->is_unused[k]) return;
    mem_free(m->lengths);
    mem_free(m->is_unused);
    m->lengths = NULL;
    m->is_unused = NULL;
}

/* Enters the pieces with is_direct[k] into m->direct and its filter. If they are too crowded with
 * every factor, the model has none, since they only save time. 0 if allocation fails. */
static int fill_direct(bpe *m, const unitok_spec *spec, const uint8_t *is_direct)
{
    m->direct_bits = 4;
    while (INT64_C(1) << m->direct_bits < 2 * spec->n_pieces) m->direct_bits++;
    size_t n_slots = (size_t)1 << m->direct_bits, n_words = n_slots << BPE_FILTER_BITS >> 6;
    m->direct = mem_alloc(n_slots * sizeof *m->direct);
    m->direct_filter = mem_alloc(n_words * sizeof *m->direct_filter);
    if (!m->direct || !m->direct_filter) return 0;
    for (int turn = 0; turn < PROBING_FACTORS; turn++) {
        int is_crowded = 0;
        m->direct_factor = probing_factor(turn);
        memset(m->direct, 0, n_slots * sizeof *m->direct);
        memset(m->direct_filter, 0, n_words * sizeof *m->direct_filter);
        for (int64_t k = 0; k < spec->n_pieces && !is_crowded; k++) {
            int64_t n_bytes;
            const uint8_t *piece = piece_at(spec, k, &n_bytes);
            if (!is_direct[k] || n_bytes > BPE_DIRECT_BYTES) continue;
            bpe_direct key = bpe_direct_key(piece, n_bytes), *slot = bpe_find_direct(m, key);
            uint64_t bit = bpe_filter_bit(m, key),
                     home = bpe_direct_hash(m, key) >> (64 - m->direct_bits);
            m->direct_filter[bit >> 6] |= UINT64_C(1) << (bit & 63);
            key.high |= (uint64_t)spec->ids[k] << 36;
            *slot = key;
            is_crowded = (((uint64_t)(slot - m->direct) - home) & (n_slots - 1)) > PROBING_RUN_MAX;
        }
        if (!is_crowded && !probing_is_crowded(&m->direct[0].high, 2, (int64_t)n_slots, 0))
            return 1;
    }
    mem_free(m->direct);
    mem_free(m->direct_filter);
    m->direct = NULL;
    m->direct_filter = NULL;
    return 1;
}

/* Encodes every piece. Pieces that encode to themselves go to m->direct; *ret_all says whether all
 * of them did. This is valid because the ids of a segment depend on its bytes alone, unless m has
 * unused pieces. Sets met[at] = 1 for the slots of the pairs that merged last. */
static int find_direct(bpe *m, const unitok_spec *spec, uint8_t *met, int *ret_all)
{
    bpe_scratch scratch = {0};
    token *tokens = mem_alloc((size_t)(3 * bpe_longest_bytes(spec) + 1) * sizeof *tokens);
    uint8_t *is_direct = mem_zalloc((size_t)spec->n_pieces + 1, 1);
    int64_t n = 0;
    for (int64_t k = 0; tokens && is_direct && n >= 0 && k < spec->n_pieces; k++) {
        int64_t n_bytes;
        const uint8_t *piece = piece_at(spec, k, &n_bytes);
        uint64_t last;
        n = bpe_last_pair(m, &scratch, piece, n_bytes, tokens, &last);
        if (last != BPE_FREE) met[bpe_find_pair(&m->pairs, last) - m->pairs.slots] = 1;
        is_direct[k] = n == 1 && tokens[0].id == spec->ids[k];
        if (!is_direct[k]) *ret_all = 0;
    }
    int ok = tokens && is_direct && n >= 0 && fill_direct(m, spec, is_direct);
    mem_free(is_direct);
    mem_free(tokens);
    bpe_scratch_free(&scratch);
    return ok;
}

/* Builds the tables derived from all pieces and pairs. With BPE_WHOLE, the pairs are not divided,
 * since encoding pieces alone does not meet every pair that texts can. */
int bpe_build_tables(bpe_builder *b, int *ret_all)
{
    bpe *m = b->m;
    int ok = lay_out_pairs(b);
    drop_unused(m);
    if (ok && !m->is_unused) {
        uint8_t *met = mem_zalloc((size_t)1 << m->pairs.n_bits, 1);
        ok = met && set_neighbours(m) && find_direct(m, b->spec, met, ret_all);
        if (ok && !(m->traits & BPE_WHOLE)) ok = divide_pairs(b, met);
        mem_free(met);
    }
    return ok && set_neighbours(m);
}
