/* bpe_merge.c - performs one merge, in the steps of bpe_merge.h */

#include "train/bpe_merge.h"

#define AHEAD 24

/* The arrays are reused by all merges and only grow. */
void births_free(births *b)
{
    mem_free(b->items);
    mem_free(b->numbers[0]);
    mem_free(b->numbers[1]);
    mem_free(b->events);
}

int64_t births_memory(const births *b)
{
    return b->capacity * (int64_t)sizeof *b->items +
           2 * b->n_numbers * (int64_t)sizeof *b->numbers[0] +
           b->events_capacity * (int64_t)sizeof *b->events;
}

/* Makes space for the numbers of n symbols, and for two events at each of n_positions; returns 0
 * if allocation fails. The numbers are all 0 between merges: keep_born clears only the few that
 * were used. */
static int births_reserve(births *b, int64_t n_symbols, int64_t n_positions)
{
    for (int side = 0; side < 2 && n_symbols > b->n_numbers; side++) {
        uint32_t *numbers = mem_realloc(b->numbers[side],
                                        (size_t)(2 * n_symbols) * sizeof *numbers);
        if (!numbers) return 0;
        memset(numbers + b->n_numbers, 0, (size_t)(2 * n_symbols - b->n_numbers) * sizeof *numbers);
        b->numbers[side] = numbers;
    }
    if (n_symbols > b->n_numbers) b->n_numbers = 2 * n_symbols;
    b->n = b->n_events = 0;
    return grow(&b->events, 2 * n_positions, &b->events_capacity, sizeof *b->events);
}

/* Records that the new symbol has the neighbour `other`, in a pair that begins at `slot`; returns 0
 * if allocation fails. `is_right` is 1 if `other` follows the new symbol. */
INLINE int note(births *b, uint32_t is_right, uint32_t other, uint32_t slot, uint64_t count)
{
    uint32_t number = b->numbers[is_right][other];
    if (UNLIKELY(!number)) {
        if (!grow(&b->items, b->n, &b->capacity, sizeof *b->items)) return 0;
        b->items[b->n++] = (born_pair){.other = other, .is_right = is_right};
        number = b->numbers[is_right][other] = (uint32_t)b->n;
    }
    b->items[number - 1].count += count;
    b->items[number - 1].n_positions++;
    b->events[b->n_events++] = (born_at){number - 1, slot};
    return 1;
}

/* Runs steps 1 to 3 at all positions; returns 0 if allocation fails. Slots are prefetched AHEAD
 * positions early. A position is stale if one of its symbols was taken by another merge or, in a
 * run such as "aaa", by this merge at the previous position. */
static int rewrite(births *b, bpe_state *s, const pair *best, uint32_t made)
{
    const bpe_text *text = &s->text;
    const symbol *symbols = s->symbols.items;
    uint32_t left = best->left, right = best->right, *slots = text->slots;
    uint32_t n_left = symbols[left].n_chars, n_all = symbols[made].n_chars;
    int64_t level = 0, n = best->n_positions;
    for (int64_t i = 0; i < n && i < AHEAD; i++) PREFETCH(&slots[best->positions[i]]);
    for (int64_t i = 0; i < n; i++) {
        uint32_t slot = best->positions[i], before_slot;
        if (i + AHEAD < n) PREFETCH(&slots[best->positions[i + AHEAD]]);
        /* Step 1: the position may be stale. */
        if (slots[slot] != left + 1 || slots[slot + n_left] != right + 1) continue;
        level = levels_from(&text->levels, level, slot);
        uint64_t count = text->levels.count[level];
        uint32_t before = symbol_before(slots, slot, &before_slot), after = slots[slot + n_all];
        /* Step 2, and then step 3 for both sides. */
        slots_join(slots, slot, n_left, n_all, made);
        if (before && !note(b, 0, before - 1, before_slot, count)) return 0;
        if (after && !note(b, 1, after - 1, slot, count)) return 0;
    }
    return 1;
}

/* Lowers the counts of the pairs that the born pairs replace. In "lrlr", the second position
 * replaces (s, l), which was itself born at the first position, so the count of that born pair is
 * lowered. The slots of the pairs are prefetched, because the table is larger than the caches. */
static void lower_counts(births *b, pair_table *pairs, const pair *best, uint32_t made)
{
    for (int64_t i = 0; i < b->n; i++) {
        if (i + AHEAD < b->n) {
            const born_pair *next = &b->items[i + AHEAD];
            uint32_t hash = next->is_right ? pair_hash(best->right, next->other)
                                           : pair_hash(next->other, best->left);
            pair_table_fetch(pairs, hash);
        }
        const born_pair *born = &b->items[i];
        /* The neighbour is the new symbol: this merge itself created the pair that is replaced. */
        if (born->other == made) {
            b->items[b->numbers[1][best->left] - 1].count -= born->count;
            continue;
        }
        uint32_t index = born->is_right ? pair_table_find(pairs, best->right, born->other)
                                        : pair_table_find(pairs, born->other, best->left);
        /* the count of `best` itself no longer matters */
        if (index != NO_PAIR) pairs->pairs[index].count -= born->count;
    }
}

/* Adds the born pairs that may be merged, with space for their positions; returns 0 if allocation
 * fails. born->positions then points to where the next position is written. */
static int keep_born(births *b, bpe_state *state, uint32_t made)
{
    for (int64_t i = 0; i < b->n; i++) {
        born_pair *born = &b->items[i];
        b->numbers[born->is_right][born->other] = 0;
        if (born->count < state->floor) continue;
        uint32_t left = born->is_right ? made : born->other,
                 right = born->is_right ? born->other : made;
        if (bpe_state_add(state, left, right, born->count, born->n_positions, &born->positions) < 0)
            return 0;
    }
    return 1;
}

/* The pair is copied, because adding the born pairs may move the table. The positions are written
 * last, when it is known which born pairs were kept and where their space is. The positions are in
 * text order, because the events are recorded in that order. */
int merge_pair(births *b, bpe_state *state, uint32_t best, uint32_t made)
{
    const pair merged = state->pairs.pairs[best];
    if (!births_reserve(b, state->symbols.n, merged.n_positions)) return 0;
    if (!rewrite(b, state, &merged, made)) return 0;
    lower_counts(b, &state->pairs, &merged, made);
    if (!keep_born(b, state, made)) return 0;
    for (int64_t i = 0; i < b->n_events; i++) {
        born_pair *born = &b->items[b->events[i].born];
        if (born->positions) *born->positions++ = b->events[i].slot;
    }
    return 1;
}
