/* levels.c - ordering units by their counts: see levels.h
 *
 * Counts are sorted by bytes: a radix sort is stable, and it stops after the highest byte that any
 * of them has, which is a low one unless the corpus is huge. */

#include "train/levels.h"

#include "ground/grow.h"

/* The second half of the array is the space into which each pass sorts. The byte is counted from
 * the top (255 - byte), which makes the order descending while equal counts keep theirs. */
int64_t *levels_order(const uint64_t *counts, int64_t n)
{
    int64_t *order = mem_alloc((size_t)(2 * n + 1) * sizeof *order);
    if (!order) return NULL;
    int64_t *spare = order + n;
    uint64_t all = 0;
    for (int64_t i = 0; i < n; i++) {
        order[i] = i;
        all |= counts[i];
    }
    /* A radix sort from the lowest byte, which is stable; it ends at the highest byte in use. */
    for (int shift = 0; shift < 64 && all >> shift; shift += 8) {
        /* Where each value of the byte begins in the result, the largest first. */
        int64_t begins[257] = {0};
        for (int64_t i = 0; i < n; i++) begins[256 - (counts[i] >> shift & 0xFF)]++;
        for (int k = 0; k < 256; k++) begins[k + 1] += begins[k];
        for (int64_t i = 0; i < n; i++)
            spare[begins[255 - (counts[order[i]] >> shift & 0xFF)]++] = order[i];
        memcpy(order, spare, (size_t)n * sizeof *order);
    }
    return order;
}

/* Both arrays grow together and have one capacity. It is set by the second, so that a failure
 * between them leaves it true. */
int levels_open(levels *l, uint64_t count)
{
    if (l->n && l->count[l->n - 1] == count) return 1;
    int64_t capacity = l->capacity; /* of `end`, which grows with `count` */
    if (!grow(&l->end, l->n, &capacity, sizeof *l->end) ||
        !grow(&l->count, l->n, &l->capacity, sizeof *l->count))
        return 0;
    l->count[l->n++] = count;
    return 1;
}

void levels_free(levels *l)
{
    mem_free(l->end);
    mem_free(l->count);
}
