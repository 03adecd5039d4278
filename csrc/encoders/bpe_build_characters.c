/* bpe_build_characters.c - finds the characters that their bytes always merge into
 *
 * In a byte-level model, most merges of non-ASCII text only reassemble characters. A character can
 * be a symbol from the start if that changes no result:
 *
 *     bytes      .. x | E6 9D B1 | y ..
 *     merges            (9D,B1) rank 300, (E6,9DB1) rank 450       the character E69DB1
 *     outside    (x,E6) ranks above 450    (B1,y) above 300, (9DB1,y) above 450
 *     after      (x,E69DB1), (E69DB1,y) ranks above 450
 *
 * Until the character is complete, the next merge inside it has a better rank than every merge of
 * its first or last symbol with a neighbour. So no neighbour takes one of its bytes, and the bytes
 * merge into the character. Merges inside the character also have better ranks than merges of the
 * complete character, so they come first. All other merges therefore take place in the same order.
 *
 * y is any symbol that does not begin with a continuation byte. x often matters: many vocabularies
 * join a space to a lead byte. So each character has a set of the last bytes of such symbols x:
 * after one of these bytes, the character must be merged from its bytes (bpe_tables.h). */

#include "encoders/bpe_build.h"

#include "ground/alloc.h"
#include "ground/utf8.h"

/* Characters whose first symbols can merge with more preceding symbols than this are left out, to
 * bound the build time. */
#define BEFORE_MAX 4096

typedef struct neighbours {
    uint8_t *first, *last; /* [symbol]: its first and its last byte */
    /* [symbol]: the best rank of its merges with a next symbol that does not begin with a
     * continuation byte */
    uint32_t *after;
    /* with[begins[s]..begins[s + 1]): the merges of a symbol with s: rank << 8 | the symbol's last
     * byte */
    uint32_t *begins;
    uint64_t *with;
} neighbours;

static void find_bytes(const bpe_builder *b, neighbours *near)
{
    for (int64_t k = 0; k < b->spec->n_pieces; k++) {
        int64_t n_bytes;
        const uint8_t *piece = piece_at(b->spec, k, &n_bytes);
        near->first[b->numbers[k]] = piece[0];
        near->last[b->numbers[k]] = piece[n_bytes - 1];
    }
}

INLINE uint32_t right_of(uint64_t slot)
{
    return (uint32_t)(slot >> BPE_MERGE_BITS) & (BPE_SYMBOLS_MAX - 1);
}

/* Fills near->after, and sorts the merges by the symbol on their right with a counting sort:
 * begins[s] first counts the merges with s, then holds the end of their range, and finally its
 * start, because each range is filled from the end. */
static void find_merges(const bpe *m, neighbours *near)
{
    int64_t n_slots = INT64_C(1) << m->pairs.n_bits;
    memset(near->after, 0xFF, m->n_symbols * sizeof *near->after);
    for (int64_t at = 0; at < n_slots; at++)
        if (m->pairs.slots[at] != BPE_FREE) near->begins[right_of(m->pairs.slots[at])]++;
    for (uint32_t s = 0; s < m->n_symbols; s++) near->begins[s + 1] += near->begins[s];
    for (int64_t at = 0; at < n_slots; at++) {
        uint64_t slot = m->pairs.slots[at];
        if (slot == BPE_FREE) continue;
        uint32_t rank = m->made[slot & BPE_NO_MERGE].rank, right = right_of(slot),
                 left = (uint32_t)(slot >> (BPE_SYMBOL_BITS + BPE_MERGE_BITS));
        if (!is_continuation(near->first[right]) && rank < near->after[left])
            near->after[left] = rank;
        near->with[--near->begins[right]] = (uint64_t)rank << 8 | near->last[left];
    }
}

/* Adds to *before the last bytes of the symbols that merge with this one at `rank` or a better
 * rank; returns 0 if there are too many. */
static int add_before(const neighbours *near, uint32_t symbol, uint32_t rank, uint64_t *before)
{
    if (near->begins[symbol + 1] - near->begins[symbol] > BEFORE_MAX) return 0;
    for (uint32_t k = near->begins[symbol]; k < near->begins[symbol + 1]; k++)
        if (near->with[k] >> 8 <= rank) *before |= bpe_before_bit((uint8_t)near->with[k]);
    return 1;
}

/* Returns the entry of the character with these bytes, or 0 if they do not always merge into it.
 * The bytes are merged as if they were the complete text, and each merge is compared with those
 * that the neighbours offer at that moment. If the last symbol can merge with its right neighbour
 * at this rank or a better one, the result is 0. The first symbol can merge with its left neighbour
 * only after certain bytes, which are recorded. There are at most three symbols, so moving the last
 * one closes the gap. */
static uint64_t merge_bytes(const bpe *m, const neighbours *near, const uint8_t *bytes, int n)
{
    uint32_t symbols[3], worst = 0;
    uint64_t before = 0;
    for (int i = 0; i < n; i++) symbols[i] = m->symbols.singles[bytes[i]];
    for (; n > 1; n--) {
        uint32_t merge = BPE_NO_MERGE, rank = UINT32_MAX;
        int at = 0;
        for (int i = 0; i + 1 < n; i++) {
            uint32_t other = bpe_find_merge(&m->pairs, symbols[i], symbols[i + 1]);
            if (other == BPE_NO_MERGE || m->made[other].rank >= rank) continue;
            merge = other;
            rank = m->made[other].rank;
            at = i;
        }
        if (merge == BPE_NO_MERGE || near->after[symbols[n - 1]] <= rank ||
            !add_before(near, symbols[0], rank, &before))
            return 0;
        if (rank > worst) worst = rank;
        symbols[at] = m->made[merge].symbol;
        if (at == 0) symbols[1] = symbols[n - 1];
    }
    if (near->after[symbols[0]] <= worst || !add_before(near, symbols[0], worst, &before)) return 0;
    return before | symbols[0];
}

/* ASCII characters are single bytes, surrogates do not occur in UTF-8, and characters of four bytes
 * have no entry. */
int bpe_build_characters(bpe_builder *b)
{
    bpe *m = b->m;
    size_t n = m->n_symbols;
    neighbours near = {mem_alloc(n), mem_alloc(n), mem_alloc(n * sizeof *near.after),
                       mem_zalloc(n + 1, sizeof *near.begins),
                       mem_alloc(sizeof *near.with << m->pairs.n_bits)};
    m->characters = mem_zalloc(BPE_CHARACTERS, sizeof *m->characters);
    int ok = near.first && near.last && near.after && near.begins && near.with && m->characters;
    if (ok) {
        find_bytes(b, &near);
        find_merges(m, &near);
    }
    for (uint32_t c = 0x80; ok && c < BPE_CHARACTERS; c++) {
        uint8_t bytes[4];
        if (c >> 11 == 0xD800 >> 11) continue;
        m->characters[c] = merge_bytes(m, &near, bytes, utf8_encode(c, bytes));
    }
    mem_free(near.first);
    mem_free(near.last);
    mem_free(near.after);
    mem_free(near.begins);
    mem_free(near.with);
    return ok;
}
