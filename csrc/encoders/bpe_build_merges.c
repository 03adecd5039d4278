/* bpe_build_merges.c - the symbols and pairs of a Hugging Face model, whose merges are listed
 *
 *     ids of pieces       5 "l"   6 "o"   7 "w"   8 "lo"   9 "low"
 *     left right merged   5 6 8     merge 0, rank 0: the pair (l,o) makes "lo"
 *                         8 7 9     merge 1, rank 1: the pair (lo,w) makes "low"
 *
 * Unlike in a SentencePiece model, a pair merges only if it is listed, and a piece may have no
 * merge that makes it. Ids come from a file, so all of them are checked. */

#include "encoders/bpe_build.h"

#include "ground/alloc.h"
#include "ground/error.h"

/* Maps each id to its piece + 1, or 0; NULL if allocation fails. *ret_twice becomes a piece whose
 * id occurs twice. The array has an entry for every possible id, since ids need not be dense; it
 * takes 16 MB until the model is built. */
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

/* The piece with this id, or -1. */
static int64_t piece_of_id(const uint32_t *pieces, int64_t id)
{
    return id < 0 || id > UNITOK_WIDE_ID_MAX ? -1 : (int64_t)pieces[id] - 1;
}

/* Whether a merge is the concatenation of its sides. Cutting relies on this, because a token must
 * cover exactly the bytes of its piece. */
static int is_joined(const unitok_spec *spec, int64_t left, int64_t right, int64_t merged)
{
    int64_t n_left, n_right, n_merged;
    const uint8_t *l = piece_at(spec, left, &n_left), *r = piece_at(spec, right, &n_right);
    const uint8_t *m = piece_at(spec, merged, &n_merged);
    return n_left + n_right == n_merged && memcmp(l, m, (size_t)n_left) == 0 &&
           memcmp(r, m + n_left, (size_t)n_right) == 0;
}

/* Merge k has rank k: the order of the list is the order of priority. A pair may be listed
 * twice; then the later rank counts, as in the reference, which enters merges into a map. */
static int32_t add_merges(bpe_builder *b, const uint32_t *pieces, const int64_t *left,
                          const int64_t *right, const int64_t *merged, int64_t n_merges)
{
    if (n_merges < 0 || n_merges >= BPE_NO_MERGE)
        return fail(b->error, UNITOK_ERROR_ARGUMENT, -1, -1, "too many merges");
    if (!bpe_begin_merges(b->m, n_merges)) return fail_memory(b->error);
    for (int64_t k = 0; k < n_merges; k++) {
        int64_t l = piece_of_id(pieces, left[k]), r = piece_of_id(pieces, right[k]),
                m = piece_of_id(pieces, merged[k]);
        if (l < 0 || r < 0 || m < 0)
            return fail(b->error, UNITOK_ERROR_ARGUMENT, k, -1,
                        "a merge uses an id that has no piece");
        if (!is_joined(b->spec, l, r, m))
            return fail(b->error, UNITOK_ERROR_ARGUMENT, k, -1,
                        "the piece that a merge makes is not the concatenation of its sides");
        b->m->made[k].symbol = b->numbers[m];
        if (!bpe_add_pair(b, b->numbers[l], b->numbers[r], k)) return fail_memory(b->error);
    }
    return UNITOK_OK;
}

/* One-character pieces are the symbols of these characters; with byte fallback, "<0x00>" to
 * "<0xFF>" are the symbols of bytes. Characters come first, ASCII before the others: see
 * BPE_DENSE. */
static int32_t add_vocabulary(bpe_builder *b)
{
    static const char digits[] = "0123456789ABCDEF";
    for (int turn = 0; turn < 3; turn++)
        for (int64_t k = 0; k < b->spec->n_pieces; k++) {
            int64_t n_bytes, id = b->spec->ids[k];
            const uint8_t *piece = piece_at(b->spec, k, &n_bytes);
            int is_character = first_bytes(b->spec, piece, n_bytes) == n_bytes;
            if (turn != (is_character ? n_bytes > 1 : 2)) continue;
            b->numbers[k] = is_character ? bpe_add_character(b, piece, n_bytes, id, 0)
                                         : bpe_add_symbol(b, id, n_bytes, 0);
            if (!b->numbers[k]) return fail_memory(b->error);
        }
    for (int byte = 0; byte < 256 && (b->m->flags & BPE_BYTE_FALLBACK); byte++) {
        uint8_t name[6] = {'<', '0', 'x', (uint8_t)digits[byte >> 4], (uint8_t)digits[byte & 15],
                           '>'};
        int64_t k = string_table_find(&b->strings, name, 6);
        b->m->bytes[byte] = k < 0 ? SYMBOL_NONE : b->numbers[k];
    }
    return symbols_settle(&b->m->symbols) ? UNITOK_OK : fail_memory(b->error);
}

/* The unknown symbol encodes to TOKEN_UNKNOWN, unless it is also a character: then that
 * character and unknown characters are the same symbol, merges can involve both, and texts must not
 * be cut. */
static int32_t set_unknown(bpe_builder *b, const uint32_t *pieces, int64_t unknown_id)
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

/* Finds out whether a text can be cut (BPE_WHOLE in bpe.h). It cannot be cut
 *   - if a merge involves unknown characters or fallback bytes, which the table of cuts omits;
 *   - if only some bytes have symbols, because unknown characters then swap places with those bytes
 *     (cut_merges_text in bpe.c);
 *   - if unknown characters are dropped, because their neighbours then become adjacent. */
static void set_merges_traits(bpe_builder *b)
{
    bpe *m = b->m;
    int n_bytes_known = 0;
    for (int byte = 0; byte < 256 && b->spec->flags & UNITOK_BYTES; byte++)
        if (!m->symbols.singles[byte]) m->traits |= BPE_WHOLE;
    if (b->spec->flags & UNITOK_BYTES) return; /* no byte fallback */
    for (int byte = 0; byte < 256; byte++) n_bytes_known += m->bytes[byte] != SYMBOL_NONE;
    if (n_bytes_known != 256 && (n_bytes_known || !m->unknown)) m->traits |= BPE_WHOLE;
    for (int64_t k = 0; k < b->n_pairs; k++) {
        uint64_t key = b->pairs[k] >> BPE_MERGE_BITS;
        uint32_t sides[2] = {(uint32_t)(key >> BPE_SYMBOL_BITS),
                             (uint32_t)key & (BPE_SYMBOLS_MAX - 1)};
        for (int side = 0; side < 2; side++) {
            if (sides[side] == m->unknown) m->traits |= BPE_WHOLE;
            for (int byte = 0; byte < 256; byte++)
                if (sides[side] == m->bytes[byte]) m->traits |= BPE_WHOLE;
        }
    }
}

int32_t bpe_new_merges(const unitok_spec *spec, const int64_t *left, const int64_t *right,
                       const int64_t *merged, int64_t n_merges, int64_t unknown_id, int32_t flags,
                       bpe **ret, unitok_error *error)
{
    bpe_builder b;
    int64_t twice = -1;
    uint32_t *pieces = NULL;
    int32_t status = bpe_build_start(&b, spec, 1, error);
    if (status == UNITOK_OK) {
        b.m->flags = flags;
        pieces = pieces_by_id(spec, &twice);
        if (!pieces) status = fail_memory(error);
        else if (twice >= 0)
            status = fail(error, UNITOK_ERROR_VOCABULARY, twice, -1, "two pieces have the same id");
    }
    if (status == UNITOK_OK) status = add_vocabulary(&b);
    if (status == UNITOK_OK) status = set_unknown(&b, pieces, unknown_id);
    if (status == UNITOK_OK) status = add_merges(&b, pieces, left, right, merged, n_merges);
    if (status == UNITOK_OK) set_merges_traits(&b);
    mem_free(pieces);
    return bpe_build_finish(&b, status, ret);
}
