/* bpe_build_pieces.c - the symbols and pairs of a SentencePiece model: two symbols merge if their
 * concatenation is a piece, and its score is the priority */

#include "encoders/bpe_build.h"

#include "ground/alloc.h"
#include "ground/error.h"

/* Adds symbols for the characters of a piece that do not have one yet. */
static int add_characters(bpe_builder *b, const uint8_t *piece, int64_t n_bytes)
{
    for (int64_t i = 0, n; i < n_bytes; i += n) {
        n = first_bytes(b->spec, piece + i, n_bytes - i);
        if (symbols_find(&b->m->symbols, piece + i, n)) continue;
        int64_t k = string_table_find(&b->strings, piece + i, n);
        int is_piece = k >= 0 && is_mergeable(b->spec, k);
        int is_unused = is_piece && piece_type(b->spec, k) == UNITOK_PIECE_UNUSED;
        if (!bpe_add_character(b, piece + i, n, is_piece ? b->spec->ids[k] : TOKEN_UNKNOWN,
                               is_unused))
            return 0;
    }
    return 1;
}

/* Adds a symbol for a piece that is not one character. */
static int add_piece(bpe_builder *b, int64_t k)
{
    int64_t n_bytes = b->spec->offsets[k + 1] - b->spec->offsets[k];
    b->numbers[k] = bpe_add_symbol(b, b->spec->ids[k], n_bytes,
                                   piece_type(b->spec, k) == UNITOK_PIECE_UNUSED);
    return b->numbers[k] != SYMBOL_NONE;
}

/* Adds characters first, in the order of the pieces that contain them; pieces are nearly always
 * sorted, the best first (see BPE_DENSE). User-defined symbols get separate numbers that occur in
 * no pair, because these symbols never merge. */
static int32_t add_pieces(bpe_builder *b)
{
    const unitok_spec *spec = b->spec;
    int64_t n_bytes;
    for (int singles = 0; singles < 2; singles++)
        for (int64_t k = 0; k < spec->n_pieces; k++) {
            const uint8_t *piece = piece_at(spec, k, &n_bytes);
            if (!b->take[k] || !is_mergeable(spec, k) ||
                (first_bytes(spec, piece, n_bytes) == n_bytes) != singles)
                continue;
            if (!add_characters(b, piece, n_bytes)) return fail_memory(b->error);
            if (singles) b->numbers[k] = symbols_find(&b->m->symbols, piece, n_bytes);
        }
    for (int64_t k = 0; k < spec->n_pieces; k++) {
        int is_user = piece_type(spec, k) == UNITOK_PIECE_USER_DEFINED, is_taken = b->take[k];
        b->take[k] = (uint8_t)is_user;
        if (is_taken && (is_user || is_mergeable(spec, k)) && !b->numbers[k] && !add_piece(b, k))
            return fail_memory(b->error);
    }
    if (!symbols_settle(&b->m->symbols)) return fail_memory(b->error);
    return symbols_add_user(&b->m->symbols, spec, b->take, b->numbers, b->error);
}

/* Returns the symbol of piece[begin..end) if these bytes are a character or a piece that can merge,
 * otherwise SYMBOL_NONE. b->hashes must be those of the piece. */
static uint32_t part_symbol(const bpe_builder *b, const uint8_t *piece, int64_t begin, int64_t end)
{
    int64_t n_bytes = end - begin;
    if (first_bytes(b->spec, piece + begin, n_bytes) == n_bytes)
        return symbols_find(&b->m->symbols, piece + begin, n_bytes);
    uint64_t hash = string_table_part_hash(b->hashes[begin], b->hashes[end], b->powers[n_bytes]);
    int64_t k = string_table_find_hashed(&b->strings, piece + begin, n_bytes, hash);
    return k >= 0 && is_mergeable(b->spec, k) ? b->numbers[k] : SYMBOL_NONE;
}

/* Adds every split of piece k into two symbols. */
static int add_splits(bpe_builder *b, int64_t k, int64_t merge)
{
    int64_t n_bytes, n_ways = 0;
    const uint8_t *piece = piece_at(b->spec, k, &n_bytes);
    b->hashes[0] = 0;
    for (int64_t i = 0; i < n_bytes; i++)
        b->hashes[i + 1] = string_table_hash_step(&b->strings, b->hashes[i], piece[i]);
    /* The slots of all lookups are prefetched first, because waiting for memory takes most of the
     * time. */
    for (int64_t at = 1; at < n_bytes; at++) {
        uint64_t rest = string_table_part_hash(b->hashes[at], b->hashes[n_bytes],
                                               b->powers[n_bytes - at]);
        PREFETCH(&b->strings.slots[string_table_place(&b->strings, b->hashes[at])]);
        PREFETCH(&b->strings.slots[string_table_place(&b->strings, rest)]);
    }
    for (int64_t at = first_bytes(b->spec, piece, n_bytes); at < n_bytes;
         at += first_bytes(b->spec, piece + at, n_bytes - at)) {
        uint32_t left = part_symbol(b, piece, 0, at),
                 right = left ? part_symbol(b, piece, at, n_bytes) : SYMBOL_NONE;
        if (!right) continue;
        if (!bpe_add_pair(b, left, right, merge)) return 0;
        if (++n_ways == 2 && piece_type(b->spec, k) == UNITOK_PIECE_UNUSED)
            b->m->traits |= BPE_WHOLE;
    }
    return 1;
}

/* Sorts by the high halves with a stable radix sort. `other` has space for n keys. The result is in
 * `keys`, because the number of passes is even. */
static void sort_ranked(uint64_t *keys, uint64_t *other, int64_t n)
{
    for (int shift = 32; shift < 64; shift += 8) {
        int64_t begins[257] = {0};
        uint64_t *from = keys;
        for (int64_t k = 0; k < n; k++) begins[(keys[k] >> shift & 255) + 1]++;
        for (int byte = 0; byte < 256; byte++) begins[byte + 1] += begins[byte];
        for (int64_t k = 0; k < n; k++) other[begins[keys[k] >> shift & 255]++] = keys[k];
        keys = other;
        other = from;
    }
}

/* Numbers the merges by their priority and adds the pairs that make them.
 *
 *     pieces    "lo" -3   "er" -1   "low" -5        the rank orders scores, best first
 *     merges    0: er     1: lo     2: low          numbers
 *     pairs     (e,r) 0   (l,o) 1   (lo,w) 2  (l,ow) 2 if "ow" is a piece too
 *
 * Pieces with equal scores share the rank of the first of them. tied_from is the first rank that
 * several pieces share; most vocabularies have few or no shared ranks, since trainers write the
 * scores -1, -2, -3 and so on. */
static int add_all_splits(bpe_builder *b)
{
    const unitok_spec *spec = b->spec;
    bpe *m = b->m;
    uint64_t *keys = mem_alloc((size_t)(2 * spec->n_pieces + 1) * sizeof *keys);
    int64_t n = 0;
    int ok = keys != NULL, is_sorted = 1; /* trainers write sorted pieces */
    for (int64_t k = 0; ok && k < spec->n_pieces; k++) {
        if (!b->numbers[k] || !is_mergeable(spec, k)) continue;
        /* lower keys merge first; if scores are equal, the first piece is best */
        uint64_t rank = bpe_rank_of_score(spec->scores ? spec->scores[k] : 0);
        keys[n++] = rank << 32 | (uint64_t)k;
        if (n > 1 && keys[n - 2] > keys[n - 1]) is_sorted = 0;
    }
    if (!is_sorted) sort_ranked(keys, keys + n, n);
    ok = ok && bpe_begin_merges(m, n);
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

int32_t bpe_new(const unitok_spec *spec, bpe **ret, unitok_error *error)
{
    bpe_builder b;
    int32_t status = bpe_build_start(&b, spec, 0, error);
    if (status == UNITOK_OK && spec->flags & UNITOK_IGNORE_MERGES) b.m->flags = BPE_IGNORE_MERGES;
    if (status == UNITOK_OK) status = add_pieces(&b);
    if (status == UNITOK_OK && !add_all_splits(&b)) status = fail_memory(error);
    return bpe_build_finish(&b, status, ret);
}
