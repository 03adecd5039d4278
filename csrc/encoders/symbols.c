/* symbols.c - builds the tables of symbols.h
 *
 * The characters come from a model file, which may have been made to slow lookups down: characters
 * that all begin their search at one slot would make each lookup probe thousands of others. So a
 * table is accepted only if no run of taken slots is longer than PROBING_RUN_MAX:
 *
 *     symbols_add       insert; if a character lands too far from its place, lay out again
 *     lay_out_again     try the other factors of probing.h, then twice as many slots
 *     symbols_settle    at the end: lay out again while a run is too long, because the lookup of a
 *                       character that is not in the table reads to the end of a run */

#include "encoders/symbols.h"

#include "ground/alloc.h"
#include "ground/error.h"
#include "structures/probing.h"
#include "structures/vocabulary.h"

#define SYMBOLS_BITS_MAX 26

int symbols_new(symbols *t, int is_bytes)
{
    memset(t, 0, sizeof *t);
    t->first_lead = is_bytes ? 256 : 0xC0;
    t->n_bits = 8;
    t->factor = probing_factor(0);
    t->slots = mem_zalloc((size_t)1 << t->n_bits, sizeof *t->slots);
    return t->slots != NULL;
}

void symbols_free(symbols *t)
{
    mem_free(t->slots);
    mem_free(t->user);
    memset(t, 0, sizeof *t);
}

/* The key of a character, as symbols_next computes it from a text. */
static uint64_t key_of(const uint8_t *character, int64_t n_bytes)
{
    uint64_t key = (uint64_t)n_bytes << 32;
    for (int64_t i = 0; i < n_bytes; i++) key |= (uint64_t)character[i] << 8 * i;
    return key;
}

/* Whether a character belongs in `singles`, which is read first. A lead byte at the end of the text
 * is a truncated character of one byte and does not belong there. */
static int is_single(const symbols *t, const uint8_t *character, int64_t n_bytes)
{
    return n_bytes == 1 && character[0] < t->first_lead;
}

uint32_t symbols_find(const symbols *t, const uint8_t *character, int64_t n_bytes)
{
    if (is_single(t, character, n_bytes)) return t->singles[character[0]];
    return symbols_find_key(t, key_of(character, n_bytes));
}

/* Enters a slot. Returns 0 if it is too far from its place, which would make lookups slow. */
static int put(symbols *t, uint64_t slot)
{
    uint32_t mask = (UINT32_C(1) << t->n_bits) - 1, place = symbols_place(t, slot & 0xFFFFFFFFFF),
             at = place;
    while (t->slots[at]) at = (at + 1) & mask;
    t->slots[at] = slot;
    t->n_used++;
    return ((at - place) & mask) <= PROBING_RUN_MAX;
}

/* Moves everything into 1 << n_bits new slots, with factor `turn`. If this puts a character too far
 * from its place, tries the next factors, and then more slots. If allocation fails, returns 0 and
 * changes nothing. The choice of factor depends only on the characters, so equal models have equal
 * tables. */
static int lay_out_again(symbols *t, int n_bits, int turn)
{
    int64_t n_old = INT64_C(1) << t->n_bits;
    for (;; turn++) {
        symbols new = *t;
        if (turn == PROBING_FACTORS) turn = 0, n_bits++;
        new.slots = n_bits <= SYMBOLS_BITS_MAX ? mem_zalloc((size_t)1 << n_bits, sizeof *new.slots)
                                               : NULL;
        if (!new.slots) return 0;
        new.n_bits = n_bits;
        new.n_turns = turn;
        new.factor = probing_factor(turn);
        new.n_used = 0;
        int is_near = 1;
        for (int64_t i = 0; i < n_old && is_near; i++)
            if (t->slots[i]) is_near = put(&new, t->slots[i]);
        mem_free(is_near ? t->slots : new.slots);
        if (!is_near) continue;
        *t = new;
        return 1;
    }
}

int symbols_add(symbols *t, const uint8_t *character, int64_t n_bytes, uint32_t symbol)
{
    if (is_single(t, character, n_bytes)) {
        t->singles[character[0]] = symbol;
        return 1;
    }
    if (2 * t->n_used >= INT64_C(1) << t->n_bits && !lay_out_again(t, t->n_bits + 1, 0)) return 0;
    return put(t, (uint64_t)symbol << 40 | key_of(character, n_bytes)) ||
           lay_out_again(t, t->n_bits, t->n_turns + 1);
}

int symbols_settle(symbols *t)
{
    while (probing_is_crowded(t->slots, 1, INT64_C(1) << t->n_bits, 0))
        if (!lay_out_again(t, t->n_bits, t->n_turns + 1)) return 0;
    return 1;
}

/* -------------------------------------------------------------------- User-defined symbols ---- */

/* The trie needs the pieces in byte order, each once; the values are their symbols. */
int32_t symbols_add_user(symbols *t, const unitok_spec *spec, const uint8_t *take,
                         const uint32_t *numbers, unitok_error *error)
{
    unitok_hat *hat = NULL;
    sorted_pieces sorted = {0};
    trie_parts parts = {NULL, 0};
    int64_t n_bytes = 0, n;
    int32_t status = unitok_hat_new(&hat, error);
    for (int64_t k = 0; k < spec->n_pieces && !status; k++) {
        if (!take[k]) continue;
        int64_t number = numbers[k];
        t->user_leads[*piece_at(spec, k, &n)] = 1;
        n_bytes += n;
        status = unitok_hat_insert(hat, spec->data, spec->offsets + k, &number, 1,
                                   UNITOK_HAT_UNIQUE, error);
    }
    if (!status && n_bytes) status = sorted_pieces_list(hat, n_bytes, &sorted, error);
    if (!status && n_bytes)
        status = trie_build(sorted.data, sorted.offsets, sorted.ids, sorted.n, &parts, error);
    t->user = parts.units;
    sorted_pieces_free(&sorted);
    unitok_hat_free(hat);
    return status;
}
