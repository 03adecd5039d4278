/* bpe_count.c - counts pairs and lists their positions, in the steps of bpe_count.h
 *
 * Both steps that read the text use the same loop over the slots. It passes each pair, with the
 * count of its unit, to an inlined function that does the work of the step. */

#include "train/bpe_count.h"

#define FIRST_BITS 12
#define AHEAD 16 /* pairs that are waiting for their prefetched slots */

/* A share begins at the start of a unit and ends at the start of another, so no pair belongs to two
 * shares. */
int pair_counter_open(pair_counter *counter, const bpe_text *text, int k, int n)
{
    *counter = (pair_counter){.bits = FIRST_BITS};
    counter->begin = counter->at = share_begin(text, k, n);
    counter->end = share_begin(text, k + 1, n);
    counter->slots = mem_zalloc((size_t)1 << FIRST_BITS, sizeof *counter->slots);
    return counter->slots != NULL;
}

void pair_counter_close(pair_counter *counter)
{
    mem_free(counter->slots);
    counter->slots = NULL;
}

/* The slot of a pair, or the free slot where it belongs. The search for a pair that is absent ends
 * at a free slot; at least one slot in three is free. */
INLINE counted_pair *place_of(counted_pair *slots, int bits, uint32_t left, uint32_t right,
                              uint32_t hash)
{
    uint32_t mask = (UINT32_C(1) << bits) - 1, at = hash >> (32 - bits);
    while (slots[at].left && (slots[at].left != left || slots[at].right != right))
        at = (at + 1) & mask;
    return &slots[at];
}

/* Hashes have 32 bits, so a table has fewer than 2^32 slots. Hashes are recomputed rather than
 * stored, because a slot already takes 32 bytes. */
static int grow_counter(pair_counter *counter)
{
    int bits = counter->bits + 1;
    counted_pair *slots = bits < 32 ? mem_zalloc((size_t)1 << bits, sizeof *slots) : NULL;
    if (!slots) return 0;
    for (size_t i = 0; i < (size_t)1 << counter->bits; i++) {
        const counted_pair *p = &counter->slots[i];
        if (p->left) *place_of(slots, bits, p->left, p->right, pair_hash(p->left, p->right)) = *p;
    }
    mem_free(counter->slots);
    counter->slots = slots;
    counter->bits = bits;
    return 1;
}

/* A pair from the text, on its way to the table. */
typedef struct met_pair {
    uint32_t left, right; /* symbols + 1 */
    uint32_t slot, hash;
    uint64_t count;
} met_pair;

/* Step 1. The table never gets more than two thirds full. When it grows, the slot must be searched
 * again. */
INLINE int count_met(pair_counter *counter, const met_pair *met)
{
    counted_pair *p = place_of(counter->slots, counter->bits, met->left, met->right, met->hash);
    if (UNLIKELY(!p->left)) {
        if (3 * (counter->n + 1) > INT64_C(2) << counter->bits) {
            if (!grow_counter(counter)) return 0;
            p = place_of(counter->slots, counter->bits, met->left, met->right, met->hash);
        }
        p->left = met->left;
        p->right = met->right;
        counter->n++;
    }
    p->count += met->count;
    p->n_positions++;
    return 1;
}

/* Step 3. Pairs that were not kept have no space for positions, so they are skipped. */
INLINE int place_met(pair_counter *counter, const met_pair *met)
{
    counted_pair *p = place_of(counter->slots, counter->bits, met->left, met->right, met->hash);
    if (p->positions) *p->positions++ = met->slot;
    return 1;
}

/* Calls `met` for the pairs at the next slots, each AHEAD pairs after its slot of the table was
 * prefetched: the table is far larger than the caches, and otherwise every pair would wait for
 * memory. A unit ends with a 0, which is not a symbol, so no pair crosses units. The pairs that are
 * still waiting when the work is done are passed to `met` before the function returns.
 *
 *     pairs      … │ p - 16: due, passed to met │ … waiting[AHEAD] … │ p: prefetched
 *
 * Step 3 must see the pairs in text order, and does, because the ring is first in, first out. */
INLINE int walk(pair_counter *counter, const bpe_state *state, int64_t work,
                int (*met)(pair_counter *, const met_pair *))
{
    met_pair waiting[AHEAD] = {{0}};
    const bpe_text *text = &state->text;
    const levels *levels = &text->levels;
    if (counter->at >= counter->end) return 1;
    int64_t end = counter->end - counter->at > work ? counter->at + work : counter->end, next = end;
    uint32_t n = 0;
    for (int64_t slot = counter->at; slot < end; slot = next) {
        uint32_t left = text->slots[slot], right;
        next = slot_after(text, &state->symbols, slot);
        if (!left || !(right = text->slots[next])) continue;
        while (slot >= levels->end[counter->level]) counter->level++;
        /* Prefetch the slot of this pair, and process the pair from AHEAD pairs ago, whose slot
         * has arrived. */
        uint32_t hash = pair_hash(left, right);
        PREFETCH(&counter->slots[hash >> (32 - counter->bits)]);
        met_pair due = waiting[n % AHEAD];
        waiting[n % AHEAD] = (met_pair){left, right, (uint32_t)slot, hash,
                                        levels->count[counter->level]};
        if (n++ >= AHEAD && !met(counter, &due)) return -1;
    }
    for (uint32_t i = n < AHEAD ? 0 : n - AHEAD; i < n; i++)
        if (!met(counter, &waiting[i % AHEAD])) return -1;
    counter->at = next;
    return next >= counter->end;
}

/* Both steps are instances of `walk`, with the function inlined. */
int pair_counter_count(pair_counter *counter, const bpe_state *state, int64_t work)
{
    return walk(counter, state, work, count_met);
}

int pair_counter_place(pair_counter *counter, const bpe_state *state, int64_t work)
{
    return walk(counter, state, work, place_met);
}

/* Adds up the counts of a pair in counter `first` and in all later ones, and keeps the pair if it
 * is frequent enough. Does nothing if an earlier counter contains the pair, whose counts have then
 * been added up already. Returns 0 if allocation fails. The other tables are read at nearly the
 * same fraction of their size, so these reads are sequential too. */
static int keep_pair(pair_counter *counters, int first, int n, const counted_pair *p,
                     bpe_state *state)
{
    uint32_t hash = pair_hash(p->left, p->right), *positions;
    uint64_t count = 0, n_positions = 0;
    for (int k = 0; k < first; k++)
        if (place_of(counters[k].slots, counters[k].bits, p->left, p->right, hash)->left) return 1;
    for (int k = first; k < n; k++) {
        const counted_pair *q = place_of(counters[k].slots, counters[k].bits, p->left, p->right,
                                         hash);
        count += q->count; /* 0 in a free slot */
        n_positions += q->n_positions;
    }
    if (count < state->floor) return 1;
    /* Each worker gets its part of the space, in the order of the shares. */
    int added = bpe_state_add(state, p->left - 1, p->right - 1, count, (uint32_t)n_positions,
                              &positions);
    for (int k = first; k < n && added == 1; k++) {
        counted_pair *q = place_of(counters[k].slots, counters[k].bits, p->left, p->right, hash);
        if (!q->left) continue;
        q->positions = positions;
        positions += q->n_positions;
    }
    return added >= 0;
}

/* Also sets every counter back to the start of its share, for step 3. */
int counters_join(pair_counter *counters, int n, bpe_state *state)
{
    for (int k = 0; k < n; k++) {
        counters[k].at = counters[k].begin;
        counters[k].level = 0;
        for (size_t i = 0; i < (size_t)1 << counters[k].bits; i++) {
            const counted_pair *p = &counters[k].slots[i];
            if (p->left && !keep_pair(counters, k, n, p, state)) return 0;
        }
    }
    return 1;
}
