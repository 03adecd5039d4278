/* bpe_build.c - the tables of a BPE model, from pieces and scores or from a list of merges */

#include "ground/alloc.h"
#include "encoders/bpe_tables.h"
#include "ground/error.h"
#include "structures/probing.h"

typedef struct builder {
    const unitok_spec *spec;
    bpe *m;
    uint8_t *take;       /* of each piece: whether the step at hand takes it */
    uint32_t *numbers;   /* its symbol */
    string_table strings;     /* all pieces */
    uint64_t *pairs;     /* as they are found, in the form of the table */
    uint64_t *hashes;    /* of the beginnings of a piece */
    uint64_t *powers;    /* of the factor of `strings` */
    int64_t n_pairs, pairs_room, symbols_room;
    unitok_error *error;
} builder;

static const uint8_t *piece_at(const unitok_spec *spec, int64_t k, int64_t *ret_n_bytes)
{
    *ret_n_bytes = spec->offsets[k + 1] - spec->offsets[k];
    return spec->data + spec->offsets[k];
}

static int type_of(const unitok_spec *spec, int64_t k)
{
    return spec->types ? spec->types[k] : UNITOK_PIECE_NORMAL;
}

static int is_mergeable(const unitok_spec *spec, int64_t k)
{
    return type_of(spec, k) == UNITOK_PIECE_NORMAL || type_of(spec, k) == UNITOK_PIECE_UNUSED;
}

/* The bytes of the first character; with UNITOK_BYTES every byte is one. */
static int64_t first_bytes(const unitok_spec *spec, const uint8_t *text, int64_t n_bytes)
{
    if (spec->flags & UNITOK_BYTES) return 1;
    return char_bytes(text[0]) < n_bytes ? char_bytes(text[0]) : n_bytes;
}

static int grow(void **items, int64_t n, int64_t *room, size_t item_bytes)
{
    if (n < *room) return 1;
    int64_t wanted = *room ? *room * 2 : 1024;
    void *grown = mem_realloc(*items, (size_t)wanted * item_bytes);
    if (!grown) return 0;
    *items = grown;
    *room = wanted;
    return 1;
}

/* ------------------------------------------------------------------------------------------- Symbols --------- */

/* A new symbol; SYMBOL_NONE when there is no room. */
static uint32_t add_symbol(builder *b, int64_t id, int64_t n_bytes, int is_unused)
{
    bpe *m = b->m;
    int64_t room = b->symbols_room, same = room, again = room;
    if (m->n_symbols >= BPE_SYMBOLS_MAX || !grow((void **)&m->ids, m->n_symbols, &room, sizeof *m->ids) ||
        !grow((void **)&m->lengths, m->n_symbols, &same, sizeof *m->lengths) ||
        !grow((void **)&m->is_unused, m->n_symbols, &again, sizeof *m->is_unused))
        return SYMBOL_NONE;
    b->symbols_room = room;
    m->ids[m->n_symbols] = (int32_t)id;
    m->lengths[m->n_symbols] = (uint32_t)n_bytes;
    m->is_unused[m->n_symbols] = (uint8_t)is_unused;
    return m->n_symbols++;
}

static uint32_t add_character(builder *b, const uint8_t *text, int64_t n_bytes, int64_t id, int is_unused)
{
    uint32_t symbol = add_symbol(b, id, n_bytes, is_unused);
    return symbol && symbols_add(&b->m->symbols, text, n_bytes, symbol) ? symbol : SYMBOL_NONE;
}

/* Symbols for the characters of a piece that have none yet. */
static int add_characters(builder *b, const uint8_t *piece, int64_t n_bytes)
{
    for (int64_t i = 0, n; i < n_bytes; i += n) {
        n = first_bytes(b->spec, piece + i, n_bytes - i);
        if (symbols_find(&b->m->symbols, piece + i, n)) continue;
        int64_t k = string_table_find(&b->strings, piece + i, n);
        int is_piece = k >= 0 && is_mergeable(b->spec, k);
        int is_unused = is_piece && type_of(b->spec, k) == UNITOK_PIECE_UNUSED;
        if (!add_character(b, piece + i, n, is_piece ? b->spec->ids[k] : TOKEN_UNKNOWN, is_unused)) return 0;
    }
    return 1;
}

/* A symbol for a piece that is not one character. */
static int add_piece(builder *b, int64_t k)
{
    int64_t n_bytes = b->spec->offsets[k + 1] - b->spec->offsets[k];
    b->numbers[k] = add_symbol(b, b->spec->ids[k], n_bytes, type_of(b->spec, k) == UNITOK_PIECE_UNUSED);
    return b->numbers[k] != SYMBOL_NONE;
}

/* Characters first, in the order of the pieces they are in, which is nearly always best first: see BPE_DENSE.
 * User-defined symbols get numbers of their own: no pair has them, as they never merge. */
static int32_t add_pieces(builder *b)
{
    const unitok_spec *spec = b->spec;
    int64_t n_bytes;
    for (int singles = 0; singles < 2; singles++)
        for (int64_t k = 0; k < spec->n_pieces; k++) {
            const uint8_t *piece = piece_at(spec, k, &n_bytes);
            if (!b->take[k] || !is_mergeable(spec, k) || (first_bytes(spec, piece, n_bytes) == n_bytes) != singles) continue;
            if (!add_characters(b, piece, n_bytes)) return fail_memory(b->error);
            if (singles) b->numbers[k] = symbols_find(&b->m->symbols, piece, n_bytes);
        }
    for (int64_t k = 0; k < spec->n_pieces; k++) {
        int is_user = type_of(spec, k) == UNITOK_PIECE_USER_DEFINED, is_taken = b->take[k];
        b->take[k] = (uint8_t)is_user;
        if (is_taken && (is_user || is_mergeable(spec, k)) && !b->numbers[k] && !add_piece(b, k))
            return fail_memory(b->error);
    }
    if (!symbols_settle(&b->m->symbols)) return fail_memory(b->error);
    return symbols_add_user(&b->m->symbols, spec, b->take, b->numbers, b->error);
}

/* --------------------------------------------------------------------------------------------- Pairs --------- */

static int add_pair(builder *b, uint32_t left, uint32_t right, int64_t merge)
{
    if (!grow((void **)&b->pairs, b->n_pairs, &b->pairs_room, sizeof *b->pairs)) return 0;
    b->pairs[b->n_pairs++] = bpe_pair_key(left, right) << BPE_MERGE_BITS | (uint64_t)merge;
    return 1;
}

/* A table of n pairs: of all that were found, or of those whose is_wanted[place] is `wanted`, by their place in `all`.
 * Of equal ones the last counts. 0 when memory is short. */
static int fill_pairs(const builder *b, bpe_pairs *pairs, int64_t n, const bpe_pairs *all, const uint8_t *is_wanted,
                      int wanted)
{
    pairs->n_bits = 4;
    while (INT64_C(1) << pairs->n_bits < 2 * n) pairs->n_bits++;
    for (int turn = 0; pairs->n_bits <= BPE_PAIR_BITS_MAX; turn++) {
        int64_t n_slots = INT64_C(1) << pairs->n_bits;
        if (turn % PROBING_FACTORS == 0) mem_free(pairs->slots);
        if (turn % PROBING_FACTORS == 0) pairs->slots = mem_alloc((size_t)n_slots * sizeof *pairs->slots);
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
            is_crowded = ((place - bpe_pair_place(pairs, key)) & (uint64_t)(n_slots - 1)) > PROBING_RUN_MAX;
        }
        if (!is_crowded && !probing_is_crowded(pairs->slots, 1, n_slots, BPE_FREE)) return 1;
        if (turn % PROBING_FACTORS == PROBING_FACTORS - 1) pairs->n_bits++;
    }
    return 0;
}

/* The table of all pairs found, and the square of the dense ones. */
static int lay_out_pairs(builder *b)
{
    bpe *m = b->m;
    m->dense = mem_alloc(BPE_DENSE * BPE_DENSE * sizeof *m->dense);
    if (!m->dense || !fill_pairs(b, &m->pairs, b->n_pairs, NULL, NULL, 0)) return 0;
    for (int k = 0; k < BPE_DENSE * BPE_DENSE; k++) m->dense[k] = BPE_NO_MERGE;
    for (int64_t k = 0; k < b->n_pairs; k++) {
        uint64_t key = b->pairs[k] >> BPE_MERGE_BITS;
        uint32_t left = (uint32_t)(key >> BPE_SYMBOL_BITS), right = (uint32_t)key & (BPE_SYMBOLS_MAX - 1);
        if ((left | right) < BPE_DENSE) m->dense[left * BPE_DENSE + right] = (uint32_t)b->pairs[k] & BPE_NO_MERGE;
    }
    return 1;
}

/* Leaves those pairs in m->pairs of which `met` has the slot, and puts the others into m->rest. */
static int divide_pairs(builder *b, const uint8_t *met)
{
    bpe *m = b->m;
    bpe_pairs all = m->pairs;
    int64_t n_met = 0;
    m->pairs.slots = NULL;
    for (int64_t at = 0; at < INT64_C(1) << all.n_bits; at++) n_met += met[at];
    int ok = fill_pairs(b, &m->pairs, n_met, &all, met, 1) && fill_pairs(b, &m->rest, b->n_pairs - n_met, &all, met, 0);
    mem_free(all.slots);
    return ok;
}

/* A table of n merges, each with a rank of its own. */
static int begin_merges(bpe *m, int64_t n)
{
    m->n_merges = m->tied_from = (uint32_t)n;
    m->made = mem_zalloc((size_t)n + 1, sizeof *m->made);
    for (int64_t k = 0; k < n && m->made; k++) m->made[k].rank = (uint32_t)k;
    return m->made != NULL;
}

/* Which symbols can merge with the result of a merge: first by symbol, then for every merge. */
static int note_neighbours(bpe *m)
{
    uint32_t *lefts = mem_zalloc((size_t)2 * m->n_symbols, sizeof *lefts), *rights;
    if (!lefts) return 0;
    rights = lefts + m->n_symbols;
    for (int64_t at = 0; at < INT64_C(1) << m->pairs.n_bits; at++) {
        uint64_t key = m->pairs.slots[at] >> BPE_MERGE_BITS;
        uint32_t left = (uint32_t)(key >> BPE_SYMBOL_BITS), right = (uint32_t)key & (BPE_SYMBOLS_MAX - 1);
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

/* The symbol that piece[begin..end) can be, if any: a character, or a piece that merges. b->hashes are the piece's. */
static uint32_t part_symbol(const builder *b, const uint8_t *piece, int64_t begin, int64_t end)
{
    int64_t n_bytes = end - begin;
    if (first_bytes(b->spec, piece + begin, n_bytes) == n_bytes) return symbols_find(&b->m->symbols, piece + begin, n_bytes);
    uint64_t hash = string_table_part_hash(b->hashes[begin], b->hashes[end], b->powers[n_bytes]);
    int64_t k = string_table_find_hashed(&b->strings, piece + begin, n_bytes, hash);
    return k >= 0 && is_mergeable(b->spec, k) ? b->numbers[k] : SYMBOL_NONE;
}

/* Every split of piece k into two symbols. */
static int add_splits(builder *b, int64_t k, int64_t merge)
{
    int64_t n_bytes, n_ways = 0;
    const uint8_t *piece = piece_at(b->spec, k, &n_bytes);
    b->hashes[0] = 0;
    for (int64_t i = 0; i < n_bytes; i++) b->hashes[i + 1] = string_table_hash_step(&b->strings, b->hashes[i], piece[i]);
    for (int64_t at = first_bytes(b->spec, piece, n_bytes); at < n_bytes; at += first_bytes(b->spec, piece + at, n_bytes - at)) {
        uint32_t left = part_symbol(b, piece, 0, at), right = left ? part_symbol(b, piece, at, n_bytes) : SYMBOL_NONE;
        if (!right) continue;
        if (!add_pair(b, left, right, merge)) return 0;
        if (++n_ways == 2 && type_of(b->spec, k) == UNITOK_PIECE_UNUSED) b->m->traits |= BPE_WHOLE;
    }
    return 1;
}

/* Pieces in the order of their merges: the high half is less where the score is better, the low half is the piece. Of equal
 * scores the first piece is best. */
INLINE uint64_t ranked(double score, int64_t piece)
{
    return (uint64_t)bpe_rank_of_score(score) << 32 | (uint64_t)piece;
}

/* Sorts by the high halves, from the lowest byte up; keys of equal ones keep their order. Room is for n more. */
static void sort_ranked(uint64_t *keys, uint64_t *room, int64_t n)
{
    for (int shift = 32; shift < 64; shift += 8) {
        int64_t begins[257] = {0};
        uint64_t *from = keys;
        for (int64_t k = 0; k < n; k++) begins[(keys[k] >> shift & 255) + 1]++;
        for (int byte = 0; byte < 256; byte++) begins[byte + 1] += begins[byte];
        for (int64_t k = 0; k < n; k++) room[begins[keys[k] >> shift & 255]++] = keys[k];
        keys = room;
        room = from;
    }
}

static int add_all_splits(builder *b)
{
    const unitok_spec *spec = b->spec;
    bpe *m = b->m;
    uint64_t *keys = mem_alloc((size_t)(2 * spec->n_pieces + 1) * sizeof *keys);
    int64_t n = 0;
    int ok = keys != NULL, is_sorted = 1; /* as trainers write them */
    for (int64_t k = 0; ok && k < spec->n_pieces; k++) {
        if (!b->numbers[k] || !is_mergeable(spec, k)) continue;
        keys[n++] = ranked(spec->scores ? spec->scores[k] : 0, k);
        if (n > 1 && keys[n - 2] > keys[n - 1]) is_sorted = 0;
    }
    if (!is_sorted) sort_ranked(keys, keys + n, n);
    ok = ok && begin_merges(m, n);
    for (int64_t k = 0; ok && k < n; k++) {
        uint32_t piece = (uint32_t)keys[k];
        m->made[k].symbol = b->numbers[piece];
        if (k && keys[k] >> 32 == keys[k - 1] >> 32) m->made[k].rank = m->made[k - 1].rank;
        if (m->made[k].rank != k && m->made[k].rank < m->tied_from) m->tied_from = m->made[k].rank;
        ok = add_splits(b, piece, k);
    }
    mem_free(keys);
    return ok;
}

/* ---------------------------------------------------------------------------------------------- Builder ------ */

static int64_t longest_bytes(const unitok_spec *spec)
{
    int64_t longest = 0;
    for (int64_t k = 0; k < spec->n_pieces; k++)
        if (spec->offsets[k + 1] - spec->offsets[k] > longest) longest = spec->offsets[k + 1] - spec->offsets[k];
    return longest;
}

/* As the reference: of these there may be many, and they mean nothing. */
static int is_nul_piece(const unitok_spec *spec, int64_t k)
{
    return spec->offsets[k + 1] - spec->offsets[k] == 1 && spec->data[spec->offsets[k]] == 0 &&
           type_of(spec, k) == UNITOK_PIECE_UNUSED;
}

static int32_t start(builder *b, const unitok_spec *spec, int has_merges, unitok_error *error)
{
    int64_t longest = longest_bytes(spec), twice = -1;
    memset(b, 0, sizeof *b);
    b->spec = spec;
    b->error = error;
    b->take = mem_zalloc((size_t)spec->n_pieces + 1, sizeof *b->take);
    b->numbers = mem_zalloc((size_t)spec->n_pieces + 1, sizeof *b->numbers);
    b->hashes = mem_alloc((size_t)(longest + 1) * sizeof *b->hashes);
    b->powers = mem_alloc((size_t)(longest + 1) * sizeof *b->powers);
    b->m = mem_zalloc(1, sizeof *b->m);
    if (!b->take || !b->numbers || !b->hashes || !b->powers || !b->m || !symbols_new(&b->m->symbols, (spec->flags & UNITOK_BYTES) != 0) ||
        add_symbol(b, TOKEN_UNKNOWN, 0, 0) != SYMBOL_NONE || b->m->n_symbols == 0)
        return fail_memory(error);
    b->m->has_merges = has_merges;
    int32_t status = UNITOK_OK;
    for (int64_t k = 0; k < spec->n_pieces; k++) b->take[k] = has_merges || !is_nul_piece(spec, k);
    if (spec->n_pieces >= BPE_SYMBOLS_MAX) status = fail(error, UNITOK_ERROR_VOCABULARY, -1, -1, "too many pieces");
    if (!status)
        status = string_table_build(&b->strings, spec->data, spec->offsets, spec->n_pieces, b->take, &twice, error);
    if (status) return status;
    b->powers[0] = 1;
    for (int64_t i = 1; i <= longest; i++)
        b->powers[i] = string_table_multiply_add(b->powers[i - 1], b->strings.factor, 0);
    if (twice >= 0) return fail(error, UNITOK_ERROR_VOCABULARY, twice, -1, "a piece occurs twice");
    return UNITOK_OK;
}

/* Without unused pieces nothing asks for their lengths. */
static void drop_unused(bpe *m)
{
    for (uint32_t k = 0; k < m->n_symbols; k++)
        if (m->is_unused[k]) return;
    mem_free(m->lengths);
    mem_free(m->is_unused);
    m->lengths = NULL;
    m->is_unused = NULL;
}

/* Enters the pieces with is_whole[k] into m->wholes and its filter. Without them, where they are too crowded whatever
 * the factor: they only save time. 0 when memory is short. */
static int fill_wholes(bpe *m, const unitok_spec *spec, const uint8_t *is_whole)
{
    m->whole_bits = 4;
    while (INT64_C(1) << m->whole_bits < 2 * spec->n_pieces) m->whole_bits++;
    size_t n_slots = (size_t)1 << m->whole_bits, n_words = n_slots << BPE_FILTER_BITS >> 6;
    m->wholes = mem_alloc(n_slots * sizeof *m->wholes);
    m->whole_filter = mem_alloc(n_words * sizeof *m->whole_filter);
    if (!m->wholes || !m->whole_filter) return 0;
    for (int turn = 0; turn < PROBING_FACTORS; turn++) {
        int is_crowded = 0;
        m->whole_factor = probing_factor(turn);
        memset(m->wholes, 0, n_slots * sizeof *m->wholes);
        memset(m->whole_filter, 0, n_words * sizeof *m->whole_filter);
        for (int64_t k = 0; k < spec->n_pieces && !is_crowded; k++) {
            int64_t n_bytes;
            const uint8_t *piece = piece_at(spec, k, &n_bytes);
            if (!is_whole[k] || n_bytes > BPE_WHOLE_BYTES) continue;
            bpe_whole key = bpe_whole_key(piece, n_bytes), *slot = bpe_find_whole(m, key);
            uint64_t bit = bpe_filter_bit(m, key), home = bpe_whole_hash(m, key) >> (64 - m->whole_bits);
            m->whole_filter[bit >> 6] |= UINT64_C(1) << (bit & 63);
            key.high |= (uint64_t)spec->ids[k] << 36;
            *slot = key;
            is_crowded = (((uint64_t)(slot - m->wholes) - home) & (n_slots - 1)) > PROBING_RUN_MAX;
        }
        if (!is_crowded && !probing_is_crowded(&m->wholes[0].high, 2, (int64_t)n_slots, 0)) return 1;
    }
    mem_free(m->wholes);
    mem_free(m->whole_filter);
    m->wholes = NULL;
    m->whole_filter = NULL;
    return 1;
}

/* Encodes every piece. Those that encode to themselves go to m->wholes; *ret_all says whether all did. The ids of a
 * segment depend on its bytes alone, unless m has unused pieces.
 * met[at] = 1 for the slots of pairs that merged last. */
static int find_wholes(bpe *m, const unitok_spec *spec, uint8_t *met, int *ret_all)
{
    bpe_scratch scratch = {0};
    token *tokens = mem_alloc((size_t)(3 * longest_bytes(spec) + 1) * sizeof *tokens);
    uint8_t *is_whole = mem_zalloc((size_t)spec->n_pieces + 1, 1);
    int64_t n = 0;
    for (int64_t k = 0; tokens && is_whole && n >= 0 && k < spec->n_pieces; k++) {
        int64_t n_bytes;
        const uint8_t *piece = piece_at(spec, k, &n_bytes);
        uint64_t last;
        n = bpe_last_pair(m, &scratch, piece, n_bytes, tokens, &last);
        if (last != BPE_FREE) met[bpe_find_pair(&m->pairs, last) - m->pairs.slots] = 1;
        is_whole[k] = n == 1 && tokens[0].id == spec->ids[k];
        if (!is_whole[k]) *ret_all = 0;
    }
    int ok = tokens && is_whole && n >= 0 && fill_wholes(m, spec, is_whole);
    mem_free(is_whole);
    mem_free(tokens);
    bpe_scratch_free(&scratch);
    return ok;
}

/* The tables that come from all pieces and pairs. Where bytes and unknown characters merge, what is left of a piece
 * alone is not all that can be met. */
static int finish_tables(builder *b, int *ret_all)
{
    bpe *m = b->m;
    int ok = lay_out_pairs(b);
    drop_unused(m);
    if (ok && !m->is_unused) {
        uint8_t *met = mem_zalloc((size_t)1 << m->pairs.n_bits, 1);
        ok = met && note_neighbours(m) && find_wholes(m, b->spec, met, ret_all);
        if (ok && !(m->traits & BPE_WHOLE)) ok = divide_pairs(b, met);
        mem_free(met);
    }
    return ok && note_neighbours(m);
}

static int32_t finish(builder *b, int32_t status, bpe **ret, int *ret_all)
{
    *ret_all = 1;
    if (status == UNITOK_OK && !finish_tables(b, ret_all)) status = fail_memory(b->error);
    mem_free(b->take);
    mem_free(b->numbers);
    mem_free(b->hashes);
    mem_free(b->powers);
    mem_free(b->pairs);
    string_table_free(&b->strings);
    if (status == UNITOK_OK) *ret = b->m;
    else bpe_free(b->m);
    return status;
}

/* ------------------------------------------------------------------------------- From a list of merges -------- */

/* Of each id the piece + 1, 0 where there is none; NULL when memory is short. *ret_twice: a piece whose id another
 * has. */
static uint32_t *pieces_by_id(const unitok_spec *spec, int64_t *ret_twice)
{
    uint32_t *pieces = mem_zalloc(UNITOK_WIDE_ID_MAX + 1, sizeof *pieces);
    *ret_twice = -1;
    for (int64_t k = 0; pieces && k < spec->n_pieces; k++) {
        if (pieces[spec->ids[k]]) *ret_twice = k;
        pieces[spec->ids[k]] = (uint32_t)(k + 1);
    }
    return pieces;
}

static int64_t piece_of_id(const uint32_t *pieces, int64_t id)
{
    return id < 0 || id > UNITOK_WIDE_ID_MAX ? -1 : (int64_t)pieces[id] - 1;
}

static int is_joined(const unitok_spec *spec, int64_t left, int64_t right, int64_t merged)
{
    int64_t n_left, n_right, n_merged;
    const uint8_t *l = piece_at(spec, left, &n_left), *r = piece_at(spec, right, &n_right);
    const uint8_t *m = piece_at(spec, merged, &n_merged);
    return n_left + n_right == n_merged && memcmp(l, m, (size_t)n_left) == 0 &&
           memcmp(r, m + n_left, (size_t)n_right) == 0;
}

static int32_t add_merges(builder *b, const uint32_t *pieces, const int64_t *left, const int64_t *right,
                          const int64_t *merged, int64_t n_merges)
{
    if (n_merges < 0 || n_merges >= BPE_NO_MERGE)
        return fail(b->error, UNITOK_ERROR_ARGUMENT, -1, -1, "too many merges");
    if (!begin_merges(b->m, n_merges)) return fail_memory(b->error);
    for (int64_t k = 0; k < n_merges; k++) {
        int64_t l = piece_of_id(pieces, left[k]), r = piece_of_id(pieces, right[k]), m = piece_of_id(pieces, merged[k]);
        if (l < 0 || r < 0 || m < 0)
            return fail(b->error, UNITOK_ERROR_ARGUMENT, k, -1, "a merge has an id without a piece");
        if (!is_joined(b->spec, l, r, m))
            return fail(b->error, UNITOK_ERROR_ARGUMENT, k, -1, "a merge makes a piece that is not its two sides");
        b->m->made[k].symbol = b->numbers[m];
        if (!add_pair(b, b->numbers[l], b->numbers[r], k)) return fail_memory(b->error);
    }
    return UNITOK_OK;
}

/* Pieces of one character match in texts; with fallback, "<0x00>" to "<0xFF>" are the symbols of bytes. Characters
 * first, and of those ASCII: see BPE_DENSE. */
static int32_t add_vocabulary(builder *b)
{
    static const char digits[] = "0123456789ABCDEF";
    for (int turn = 0; turn < 3; turn++)
        for (int64_t k = 0; k < b->spec->n_pieces; k++) {
            int64_t n_bytes, id = b->spec->ids[k];
            const uint8_t *piece = piece_at(b->spec, k, &n_bytes);
            int is_character = first_bytes(b->spec, piece, n_bytes) == n_bytes;
            if (turn != (is_character ? n_bytes > 1 : 2)) continue;
            b->numbers[k] = is_character ? add_character(b, piece, n_bytes, id, 0) : add_symbol(b, id, n_bytes, 0);
            if (!b->numbers[k]) return fail_memory(b->error);
        }
    for (int byte = 0; byte < 256 && (b->m->flags & BPE_BYTE_FALLBACK); byte++) {
        uint8_t name[6] = {'<', '0', 'x', (uint8_t)digits[byte >> 4], (uint8_t)digits[byte & 15], '>'};
        int64_t k = string_table_find(&b->strings, name, 6);
        b->m->bytes[byte] = k < 0 ? SYMBOL_NONE : b->numbers[k];
    }
    return symbols_settle(&b->m->symbols) ? UNITOK_OK : fail_memory(b->error);
}

/* The unknown symbol encodes to TOKEN_UNKNOWN, unless it is also a character of texts. */
static int32_t set_unknown(builder *b, const uint32_t *pieces, int64_t unknown_id)
{
    int64_t k = piece_of_id(pieces, unknown_id), n_bytes;
    if (k < 0 && unknown_id != -1)
        return fail(b->error, UNITOK_ERROR_VOCABULARY, -1, -1, "the unknown id has no piece");
    if (k < 0) return UNITOK_OK;
    const uint8_t *piece = piece_at(b->spec, k, &n_bytes);
    b->m->unknown = b->numbers[k];
    if (first_bytes(b->spec, piece, n_bytes) == n_bytes) b->m->traits |= BPE_WHOLE;
    else b->m->ids[b->numbers[k]] = TOKEN_UNKNOWN;
    return UNITOK_OK;
}

/* See BPE_WHOLE. */
static void set_merges_traits(builder *b)
{
    bpe *m = b->m;
    int n_bytes_known = 0;
    if (b->spec->flags & UNITOK_BYTES) return; /* no text has an unknown character */
    for (int byte = 0; byte < 256; byte++) n_bytes_known += m->bytes[byte] != SYMBOL_NONE;
    if (n_bytes_known != 256 && (n_bytes_known || !m->unknown)) m->traits |= BPE_WHOLE;
    for (int64_t k = 0; k < b->n_pairs; k++) {
        uint64_t key = b->pairs[k] >> BPE_MERGE_BITS;
        uint32_t sides[2] = {(uint32_t)(key >> BPE_SYMBOL_BITS), (uint32_t)key & (BPE_SYMBOLS_MAX - 1)};
        for (int side = 0; side < 2; side++) {
            if (sides[side] == m->unknown) m->traits |= BPE_WHOLE;
            for (int byte = 0; byte < 256; byte++)
                if (sides[side] == m->bytes[byte]) m->traits |= BPE_WHOLE;
        }
    }
}

static int32_t keep_pieces(bpe *m, const unitok_spec *spec, unitok_error *error)
{
    int64_t n = spec->n_pieces, begin = spec->offsets[0], twice;
    size_t n_bytes = (size_t)(spec->offsets[n] - begin);
    m->data = mem_alloc(n_bytes + 1);
    m->offsets = mem_alloc((size_t)(n + 1) * sizeof *m->offsets);
    m->piece_ids = mem_alloc((size_t)(n + 1) * sizeof *m->piece_ids);
    uint8_t *all = mem_alloc((size_t)n + 1);
    int32_t status = UNITOK_OK;
    if (m->data && m->offsets && m->piece_ids && all) {
        memcpy(m->data, spec->data + begin, n_bytes);
        memset(all, 1, (size_t)n);
        for (int64_t k = 0; k <= n; k++) m->offsets[k] = spec->offsets[k] - begin;
        for (int64_t k = 0; k < n; k++) m->piece_ids[k] = (int32_t)spec->ids[k];
        status = string_table_build(&m->pieces, m->data, m->offsets, n, all, &twice, error);
    } else {
        status = fail_memory(error);
    }
    mem_free(all);
    return status;
}

int32_t bpe_new_merges(const unitok_spec *spec, const int64_t *left, const int64_t *right, const int64_t *merged,
                       int64_t n_merges, int64_t unknown_id, int32_t flags, bpe **ret, unitok_error *error)
{
    builder b;
    int64_t twice = -1;
    uint32_t *pieces = NULL;
    bpe *m = NULL;
    int all;
    int32_t status = start(&b, spec, 1, error);
    if (status == UNITOK_OK) {
        b.m->flags = flags;
        pieces = pieces_by_id(spec, &twice);
        if (!pieces) status = fail_memory(error);
        else if (twice >= 0) status = fail(error, UNITOK_ERROR_VOCABULARY, twice, -1, "two pieces have the same id");
    }
    if (status == UNITOK_OK) status = add_vocabulary(&b);
    if (status == UNITOK_OK) status = set_unknown(&b, pieces, unknown_id);
    if (status == UNITOK_OK) status = add_merges(&b, pieces, left, right, merged, n_merges);
    if (status == UNITOK_OK) set_merges_traits(&b);
    mem_free(pieces);
    status = finish(&b, status, &m, &all);
    if (status == UNITOK_OK && flags & BPE_IGNORE_MERGES && !all) {
        m->traits |= BPE_WHOLE;
        status = keep_pieces(m, spec, error);
    }
    if (status == UNITOK_OK) *ret = m;
    else bpe_free(m);
    return status;
}

/* ------------------------------------------------------------------------------ From pieces and scores -------- */

int32_t bpe_new(const unitok_spec *spec, bpe **ret, unitok_error *error)
{
    builder b;
    int all;
    int32_t status = start(&b, spec, 0, error);
    if (status == UNITOK_OK) status = add_pieces(&b);
    if (status == UNITOK_OK && !add_all_splits(&b)) status = fail_memory(error);
    return finish(&b, status, ret, &all);
}

void bpe_free(bpe *m)
{
    if (!m) return;
    symbols_free(&m->symbols);
    string_table_free(&m->pieces);
    mem_free(m->pairs.slots);
    mem_free(m->rest.slots);
    mem_free(m->dense);
    mem_free(m->wholes);
    mem_free(m->whole_filter);
    mem_free(m->made);
    mem_free(m->ids);
    mem_free(m->lengths);
    mem_free(m->is_unused);
    mem_free(m->data);
    mem_free(m->offsets);
    mem_free(m->piece_ids);
    mem_free(m);
}
