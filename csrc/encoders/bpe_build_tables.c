/* bpe_build_tables.c - the tables of a BPE model, built from all its pieces and pairs
 *
 *     lay_out_pairs    all pairs are in m->pairs; those of the first symbols also in m->dense
 *     find_direct      encodes each piece with these tables, and notes the pair that merges last
 *     number_made      new numbers for the symbols of merges
 *     divide_pairs     pairs that were noted stay in m->pairs, and the others move to m->rest
 *     bpe_build_characters     reads the tables in their final state
 *
 * Only the first step is required. The others make encoding faster, and are omitted for models
 * where they would not be correct: see bpe_build_tables. */

#include "encoders/bpe_build.h"

#include "ground/alloc.h"
#include "structures/probing.h"

static void free_pairs(bpe_pairs *pairs)
{
    mem_free(pairs->slots);
    mem_free(pairs->filter);
    pairs->slots = pairs->filter = NULL;
}

/* Builds a table of n pairs: all pairs, or those with is_wanted[k] == `wanted`. If a pair is listed
 * twice, the last one counts. Returns 0 if allocation fails.
 *
 * Each turn tries the next factor; after PROBING_FACTORS turns, the number of slots doubles. A turn
 * ends as soon as a pair is too far from its home slot, so a hostile file costs a few turns, not
 * O(n^2). */
static int fill_pairs(const bpe_builder *b, bpe_pairs *pairs, int64_t n, const uint8_t *is_wanted,
                      int wanted)
{
    pairs->n_bits = 4;
    while (INT64_C(1) << pairs->n_bits < 2 * n) pairs->n_bits++;
    for (int turn = 0; pairs->n_bits <= BPE_PAIR_BITS_MAX; turn++) {
        int64_t n_slots = INT64_C(1) << pairs->n_bits;
        size_t n_filter_bytes = (size_t)n_slots << BPE_FILTER_BITS >> 3;
        if (turn % PROBING_FACTORS == 0) {
            free_pairs(pairs);
            pairs->slots = mem_alloc((size_t)n_slots * sizeof *pairs->slots);
            pairs->filter = mem_alloc(n_filter_bytes);
        }
        if (!pairs->slots || !pairs->filter) return 0;
        memset(pairs->slots, 0xFF, (size_t)n_slots * sizeof *pairs->slots);
        memset(pairs->filter, 0, n_filter_bytes);
        pairs->factor = probing_factor(turn % PROBING_FACTORS);
        int is_crowded = 0;
        for (int64_t k = 0; k < b->n_pairs && !is_crowded; k++) {
            uint64_t key = b->pairs[k] >> BPE_MERGE_BITS, place;
            if (is_wanted && is_wanted[k] != wanted) continue;
            uint64_t *slot = bpe_find_pair(pairs, key);
            *slot = b->pairs[k];
            uint64_t bit = bpe_pair_bit(pairs, key);
            pairs->filter[bit >> 6] |= UINT64_C(1) << (bit & 63);
            place = (uint64_t)(slot - pairs->slots);
            is_crowded = ((place - bpe_pair_place(pairs, key)) & (uint64_t)(n_slots - 1)) >
                         PROBING_RUN_MAX;
        }
        if (!is_crowded && !probing_is_crowded(pairs->slots, 1, n_slots, BPE_FREE)) return 1;
        if (turn % PROBING_FACTORS == PROBING_FACTORS - 1) pairs->n_bits++;
    }
    return 0;
}

/* Fills the square of dense pairs. In a model with fewer than BPE_DENSE characters, it also
 * contains pairs of pieces, so it is filled again when the symbols get other numbers. */
static void fill_dense(bpe_builder *b)
{
    bpe *m = b->m;
    for (int k = 0; k < BPE_DENSE * BPE_DENSE; k++) m->dense[k] = BPE_NO_MERGE;
    for (int64_t k = 0; k < b->n_pairs; k++) {
        uint64_t key = b->pairs[k] >> BPE_MERGE_BITS;
        uint32_t left = (uint32_t)(key >> BPE_SYMBOL_BITS),
                 right = (uint32_t)key & (BPE_SYMBOLS_MAX - 1);
        if ((left | right) < BPE_DENSE)
            m->dense[left * BPE_DENSE + right] = (uint32_t)b->pairs[k] & BPE_NO_MERGE;
    }
}

/* Builds the table of all pairs and the square of dense ones. */
static int lay_out_pairs(bpe_builder *b)
{
    b->m->dense = mem_alloc(BPE_DENSE * BPE_DENSE * sizeof *b->m->dense);
    if (!b->m->dense || !fill_pairs(b, &b->m->pairs, b->n_pairs, NULL, 0)) return 0;
    fill_dense(b);
    return 1;
}

/* Renumbers the symbols that merges of the main table make, in the order of the merges, so that
 * merging need not look them up:
 *
 *     before     0 … first - 1     characters, then pieces
 *     after      0 … first - 1     characters, and pieces that no merge of the main table makes
 *                first + k         the piece that merge k makes
 *
 * The other numbers are no longer used. If the new numbers would exceed the limit, nothing changes.
 * Several merges may make the same piece, but only one of them can be in the main table
 * (bpe_tables.h). With dropout, the others occur too, so merging then looks symbols up in m->made.
 * Returns 0 if allocation fails. */
static int number_made(bpe_builder *b, const uint8_t *met)
{
    bpe *m = b->m;
    uint32_t first = m->n_symbols;
    if ((int64_t)first + m->n_merges >= BPE_SYMBOLS_MAX) return 1;
    uint32_t *numbers = mem_alloc(first * sizeof *numbers);
    int32_t *ids = mem_zalloc((size_t)first + m->n_merges, sizeof *ids);
    if (!numbers || !ids) goto failed;
    memcpy(ids, m->ids, first * sizeof *ids);
    for (uint32_t k = 0; k < first; k++) numbers[k] = k;
    for (int64_t at = 0; at < INT64_C(1) << m->pairs.n_bits; at++) {
        uint32_t merge = (uint32_t)m->pairs.slots[at] & BPE_NO_MERGE;
        if (!met[at]) continue;
        numbers[m->made[merge].symbol] = first + merge;
        ids[first + merge] = m->ids[m->made[merge].symbol];
    }
    for (uint32_t k = 0; k < m->n_merges; k++) m->made[k].symbol = numbers[m->made[k].symbol];
    for (int64_t k = 0; k < b->spec->n_pieces; k++) b->numbers[k] = numbers[b->numbers[k]];
    for (int64_t k = 0; k < b->n_pairs; k++) {
        uint64_t key = b->pairs[k] >> BPE_MERGE_BITS;
        key = bpe_pair_key(numbers[key >> BPE_SYMBOL_BITS], numbers[key & (BPE_SYMBOLS_MAX - 1)]);
        b->pairs[k] = key << BPE_MERGE_BITS | (b->pairs[k] & BPE_NO_MERGE);
    }
    mem_free(m->ids);
    mem_free(numbers);
    m->ids = ids;
    m->n_symbols = first + m->n_merges;
    m->first_made = first;
    fill_dense(b);
    return 1;
failed:
    mem_free(numbers);
    mem_free(ids);
    return 0;
}

/* Keeps the pairs in m->pairs whose slots are set in `met`, and moves the others to m->rest.
 * Without dropout, the pairs in m->rest can never occur (see bpe_tables.h), and a smaller table
 * causes fewer cache misses. */
static int divide_pairs(bpe_builder *b, const uint8_t *met)
{
    bpe *m = b->m;
    int64_t n_met = 0;
    uint8_t *is_met = mem_alloc((size_t)b->n_pairs + 1);
    if (!is_met) return 0;
    for (int64_t k = 0; k < b->n_pairs; k++) {
        is_met[k] = met[bpe_find_pair(&m->pairs, b->pairs[k] >> BPE_MERGE_BITS) - m->pairs.slots];
        n_met += is_met[k];
    }
    int ok = (m->is_unused || number_made(b, met)) && fill_pairs(b, &m->pairs, n_met, is_met, 1) &&
             fill_pairs(b, &m->rest, b->n_pairs - n_met, is_met, 0);
    mem_free(is_met);
    return ok;
}

/* Lengths are used only if there are unused pieces, which are split again. If there are none, both
 * arrays are freed, and a NULL pointer tells the encoder that it need not check any symbol. */
static void drop_unused(bpe *m)
{
    for (uint32_t k = 0; k < m->n_symbols; k++)
        if (m->is_unused[k]) return;
    mem_free(m->lengths);
    mem_free(m->is_unused);
    m->lengths = NULL;
    m->is_unused = NULL;
}

/* Enters the pieces with is_direct[k] into m->direct and its filter. If every factor leaves the
 * table too crowded, the model goes without the table, which would only save time. Returns 0 if
 * allocation fails. */
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

/* Encodes every piece. Pieces that encode to themselves are entered in m->direct. This is valid
 * because m has no unused pieces, so the ids of a segment depend only on its bytes. For each piece,
 * sets met[at] = 1 for the slot of the pair that merged last. */
static int find_direct(bpe *m, const unitok_spec *spec, uint8_t *met, uint8_t *is_direct)
{
    bpe_scratch scratch = {0};
    token *tokens = mem_alloc((size_t)(3 * bpe_longest_bytes(spec) + 1) * sizeof *tokens);
    int64_t n = 0;
    for (int64_t k = 0; tokens && n >= 0 && k < spec->n_pieces; k++) {
        int64_t n_bytes;
        const uint8_t *piece = piece_at(spec, k, &n_bytes);
        uint64_t last;
        n = bpe_last_pair(m, &scratch, piece, n_bytes, tokens, &last);
        if (last != BPE_FREE) met[bpe_find_pair(&m->pairs, last) - m->pairs.slots] = 1;
        is_direct[k] = n == 1 && tokens[0].id == spec->ids[k];
    }
    int ok = tokens && n >= 0 && fill_direct(m, spec, is_direct);
    mem_free(tokens);
    bpe_scratch_free(&scratch);
    return ok;
}

/* Builds the tables derived from all pieces and pairs. With BPE_WHOLE, the pairs are not divided
 * between two tables, since encoding the pieces alone does not look up every pair that can merge in
 * a text. */
int bpe_build_tables(bpe_builder *b)
{
    bpe *m = b->m;
    int ok = lay_out_pairs(b);
    m->has_all_bytes = (b->spec->flags & UNITOK_BYTES) != 0;
    for (int byte = 0; byte < 256; byte++) m->has_all_bytes &= m->symbols.singles[byte] != 0;
    drop_unused(m);
    if (ok && !m->is_unused) {
        uint8_t *met = mem_zalloc((size_t)1 << m->pairs.n_bits, 1);
        ok = met && find_direct(m, b->spec, met, b->is_direct);
        if (ok && !(m->traits & BPE_WHOLE)) ok = divide_pairs(b, met);
        mem_free(met);
        if (ok && m->has_all_bytes) ok = bpe_build_characters(b);
    }
    return ok;
}
