/* bpe_heap.c - a heap with four children per node, which has half the levels of a binary heap, and
 * so half the cache misses: see bpe_heap.h
 *
 *     entries    | 0 | 1 2 3 4 | 5 6 7 8 | 9 10 11 12 | …    the children of k: 4 k + 1 to 4 k + 4
 *
 * The order is total, so the merges depend neither on the order in which pairs were pushed nor on
 * the number of threads. */

#include "train/bpe_heap.h"

/* Byte i of the piece that a pair would make. The two parts are never joined for a comparison. */
INLINE uint8_t pair_byte(const symbol_list *symbols, const pair *p, uint32_t i)
{
    const symbol *a = &symbols->items[p->left], *b = &symbols->items[p->right];
    return i < a->n_bytes ? symbols->bytes[a->begin + i]
                          : symbols->bytes[b->begin + i - a->n_bytes];
}

/* Compares the pieces of two pairs that agree in their first eight bytes. If two different pairs
 * make the same piece, the one with the shorter left part comes first, and only that pair is
 * merged; in sentencepiece, this order is unspecified. */
static int piece_less(const pair *p, const pair *q, const symbol_list *symbols)
{
    uint32_t n_p = symbols->items[p->left].n_bytes + symbols->items[p->right].n_bytes;
    uint32_t n_q = symbols->items[q->left].n_bytes + symbols->items[q->right].n_bytes;
    for (uint32_t i = 8; i < n_p && i < n_q; i++) {
        uint8_t a = pair_byte(symbols, p, i), b = pair_byte(symbols, q, i);
        if (a != b) return a < b;
    }
    if (n_p != n_q) return n_p < n_q;
    return symbols->items[p->left].n_bytes < symbols->items[q->left].n_bytes;
}

/* The order in which sentencepiece merges. Nearly all comparisons end at the count; the first eight
 * bytes decide most of the others without reading the symbols. */
INLINE int comes_before(const bpe_state *state, const heap_entry *x, const heap_entry *y)
{
    if (x->count != y->count) return x->count > y->count;
    if (x->n_chars != y->n_chars) return x->n_chars < y->n_chars;
    if (x->head != y->head) return x->head < y->head;
    return piece_less(&state->pairs.pairs[x->pair], &state->pairs.pairs[y->pair], &state->symbols);
}

/* The sinking entry is kept in a variable, and the others move up into the gap: one copy per level
 * instead of a swap. */
static void sift_down(pair_heap *heap, const bpe_state *state)
{
    heap_entry entry = heap->entries[0];
    int64_t at = 0;
    for (;;) {
        int64_t child = 4 * at + 1, best = child;
        if (child >= heap->n) break;
        int64_t end = child + 4 < heap->n ? child + 4 : heap->n;
        for (int64_t k = child + 1; k < end; k++)
            if (comes_before(state, &heap->entries[k], &heap->entries[best])) best = k;
        if (!comes_before(state, &heap->entries[best], &entry)) break;
        heap->entries[at] = heap->entries[best];
        at = best;
    }
    heap->entries[at] = entry;
}

/* The count of a pair only falls, so the count in its entry is never too low. */
int pair_heap_push(pair_heap *heap, const bpe_state *state, uint32_t index)
{
    const symbol_list *symbols = &state->symbols;
    if (!grow(&heap->entries, heap->n, &heap->capacity, sizeof *heap->entries)) return 0;
    const pair *p = &state->pairs.pairs[index];
    const symbol *a = &symbols->items[p->left], *b = &symbols->items[p->right];
    heap_entry entry = {p->count, 0, 0, index};
    if (state->rules) entry.n_chars = a->n_chars + b->n_chars;
    else
        entry.head = (uint64_t)symbol_rank(&state->reserved, p->left) << 32 |
                     symbol_rank(&state->reserved, p->right);
    for (uint32_t i = 0; state->rules && i < 8; i++)
        entry.head = entry.head << 8 | (i < a->n_bytes + b->n_bytes ? pair_byte(symbols, p, i) : 0);
    int64_t at = heap->n++;
    while (at && comes_before(state, &entry, &heap->entries[(at - 1) / 4])) {
        heap->entries[at] = heap->entries[(at - 1) / 4];
        at = (at - 1) / 4;
    }
    heap->entries[at] = entry;
    return 1;
}

/* An entry with an outdated count gets the current count and sinks. The count in an entry is never
 * below that of its pair, so once the top entry is up to date, its pair is the best. */
uint32_t pair_heap_take(pair_heap *heap, const bpe_state *state, uint64_t min_count)
{
    while (heap->n) {
        heap_entry *top = &heap->entries[0];
        uint64_t count = state->pairs.pairs[top->pair].count;
        if (top->count != count) {
            top->count = count;
            sift_down(heap, state);
            continue;
        }
        if (count < min_count) return NO_PAIR;
        uint32_t best = top->pair;
        heap->entries[0] = heap->entries[--heap->n];
        if (heap->n) sift_down(heap, state);
        return best;
    }
    return NO_PAIR;
}
